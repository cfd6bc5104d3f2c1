//! Tests that processes are told apart: over time, among processes of the same name, and after a pid was reused.

use perfset_core::InstanceId;
use perfset_engine::testing::FixedClock;
use perfset_engine::{Entry, Machine, Snapshot};
use proptest::prelude::*;

use super::*;
use crate::sources::pid::stat::Stat;
use crate::sources::pid::statm::Statm;
use process_v2 as v2;

const COUNTERS: [CounterId; 2] = [v2::PAGE_FAULTS_PER_SEC, v2::THREAD_COUNT];

#[test]
fn a_pid_that_is_used_again_is_another_process() {
    let tree = Tree::proc_of("processes");
    let mut provider = provider(&tree.roots());
    let before = collect_of(&mut provider, &v2::COUNTERSET, &COUNTERS, &["same:401"]);
    let stat = tree.text("proc/401/stat");
    tree.write("proc/401/stat", &stat.replace(" 9103 ", " 9109 "));
    let after = collect_of(&mut provider, &v2::COUNTERSET, &COUNTERS, &["same:401"]);
    assert_eq!((before.names(), before.rows[0].1), (after.names(), after.rows[0].1));
    assert_ne!(before.birth("same:401"), after.birth("same:401"));
    assert!(before.birth("same:401").is_some());
}

/// Checks that files that are read after a pid was reused give no values to the ended process, whose `stat` was read
/// before.
#[test]
fn files_of_the_next_process_with_a_pid_are_not_of_this_one() {
    let tree = Tree::proc_of("processes");
    let stat = tree.text("proc/401/stat");
    let clocks = |ns| {
        let cpu_clocks = [(401, ns)].into();
        crate::faults::kernel::install(Some(crate::faults::kernel::Answers {
            cpu_clocks,
            ..Default::default()
        }));
    };
    let read = |start: &str, ns: u64| {
        let mut files = files::ProcFiles::new(&tree.roots(), true, method::ProcessMethod::Proc);
        let (mut pass, now) = (Collection::new(1, 1), moments()[0]);
        tree.write("proc/401/stat", &stat);
        let mut process = table::ProcessEntry::new(401);
        process.clock_ns = 5_000;
        assert!(files.pids(&mut pass).contains(&401) && files.read_stat(&mut process, now, &mut pass));
        tree.write("proc/401/stat", &stat.replace(" 9103 ", start));
        clocks(ns);
        files.read_parts(table::FileSet::SCHEDSTAT | table::FileSet::STATM, &mut process, now, &mut pass);
        crate::faults::kernel::install(None);
        let seldom = process.seldom.as_ref().unwrap();
        assert_eq!(process.statm.get().is_ok(), seldom.schedstat.get().is_ok());
        assert_eq!(process.stat.get().unwrap().starttime, 9_103);
        process.statm.get().is_ok()
    };
    assert!(read(" 9103 ", 5_000), "nothing ran");
    assert!(read(" 9103 ", 6_000), "it has run since");
    assert!(!read(" 9109 ", 1_000), "another process has its pid");
}

#[test]
fn a_new_name_is_another_instance() {
    let tree = Tree::proc_of("processes");
    let mut provider = provider(&tree.roots());
    let mut names = |name: &str| {
        tree.write(
            "proc/300/stat",
            &tree.text("proc/403/stat").replace("403 (same)", &format!("300 ({name})")),
        );
        let collected = collect_of(&mut provider, &v2::COUNTERSET, &[], &["*:300"]);
        collected.names()[0].to_owned()
    };
    for (name, want) in
        [("one", "one:300"), ("one", "one:300"), ("two", "two:300"), ("", ":300"), ("a\0b", "a_b:300")]
    {
        assert_eq!(names(name), want);
    }
}

#[test]
fn nobody_can_pass_for_the_sum() {
    let tree = Tree::proc_of("processes");
    let text = tree.text("proc/403/stat").replace("(same)", "(_TOTAL)");
    tree.write("proc/403/stat", &text);
    let counters = [process::THREAD_COUNT];
    let collected = collect_of(&mut provider(&tree.roots()), &process::COUNTERSET, &counters, &["_total*"]);
    assert_eq!(collected.names(), ["_TOTAL:403", "_Total"]);
}

#[test]
fn failed_read_is_repeated() {
    let [first, second, third] = moments();
    let set = |read| {
        let mut part = table::FileReading::<u64>::default();
        assert!(!part.is_unchanged(table::CollectionTime::default()), "never read");
        part.set(read, second);
        [first, second, third].map(|changed| part.is_unchanged(changed))
    };
    assert_eq!(set(Ok(5)), [true, true, false]);
    assert_eq!(set(Err(NoValue::Denied("needs it".into()))), [true, true, false]);
    assert_eq!(set(Err(NoValue::Failed("too many open files".into()))), [false, false, false]);
}

/// Returns the times of three collections that list the processes, one second apart.
fn moments() -> [table::CollectionTime; 3] {
    let mut table = ProcessTable::default();
    [1, 2, 3].map(|number| {
        let pass = Collection::new(number, number * 1_000_000_000);
        table.start(&pass);
        table.moment(&pass)
    })
}

#[test]
fn memory_that_stays_by_stat_is_not_read_again() {
    let [first, second, third] = moments();
    let stat = Stat { minflt: 3, majflt: 5, vsize: 7, rss: 11, utime: 13, ..Stat::default() };
    for (changed, stays) in [
        (stat, true),
        (Stat { utime: 17, state: b'R', ..stat }, true),
        (Stat { minflt: 4, ..stat }, false),
        (Stat { majflt: 6, ..stat }, false),
        (Stat { vsize: 8, ..stat }, false),
        (Stat { rss: 10, ..stat }, false),
    ] {
        let mut process = ProcessEntry::new(42);
        process.set_stat(Ok(stat), first);
        assert!(!process.memory_stays(), "never read");
        process.statm.set(Ok(Statm { resident: 11, shared: 2 }), first);
        process.set_stat(Ok(changed), second);
        assert_eq!(process.memory_stays(), stays, "{changed:?}");
        assert_eq!(
            process.is_new(table::FileSet::STAT | table::FileSet::STATM, second),
            stays,
            "{changed:?}"
        );
        process.statm.set(Ok(Statm { resident: 11, shared: 2 }), second);
        process.set_stat(Ok(changed), third);
        assert!(process.memory_stays(), "read since");
        process.set_stat(Err(NoValue::NotGiven), third);
        assert!(!process.memory_stays(), "nobody knows");
    }
}

#[test]
fn turns_come_every_so_many_listings_or_seconds() {
    let mut table = ProcessTable::default();
    let mut moment = |second: u64| {
        let pass = Collection::new(second, second * 1_000_000_000);
        table.start(&pass);
        table.moment(&pass)
    };
    for pid in [7, 40, 4_194_303] {
        let mut part = table::FileReading::<u64>::default();
        part.set(Ok(1), moment(100));
        let mut due_after = |part: &mut table::FileReading<u64>, second: u64, most: u32| {
            (1..=most).find(|_| {
                let now = moment(second);
                let due = part.is_due(table::RefreshInterval::TENTH, pid, now);
                if due {
                    part.set(Ok(1), now);
                }
                due
            })
        };
        assert!(due_after(&mut part, 100, 10).is_some(), "{pid}");
        assert_eq!(due_after(&mut part, 100, 20), Some(10), "{pid}: by listings");
        assert_eq!(due_after(&mut part, 110, 1), Some(1), "{pid}: by seconds");
        let now = moment(110);
        assert!(
            !part.is_due(table::RefreshInterval::HUNDREDTH, 0, now)
                && part.is_due(table::RefreshInterval::HUNDREDTH, 0, moment(300))
        );
    }
}

#[test]
fn times_that_step_back_are_held() {
    let tree = Tree::proc_of("processes");
    let mut provider = provider(&tree.roots());
    let (name, counters) =
        ("a) b(:300", [v2::PERCENT_USER_TIME, v2::PERCENT_PRIVILEGED_TIME, v2::PERCENT_PROCESSOR_TIME]);
    let text = tree.text("proc/300/stat");
    let mut times = |user: u64| {
        tree.write("proc/300/stat", &text.replace(" 2039 2053 ", &format!(" {user} 2053 ")));
        let collected = collect_of(&mut provider, &v2::COUNTERSET, &counters, &[name, "_Total"]);
        counters.map(|counter| collected.get(name, counter).clone())
    };
    let plain = |user: u64| {
        [
            CellOutcome::Value(user * 40_000),
            CellOutcome::Value(2_053 * 40_000),
            CellOutcome::Value((user + 2_053) * 40_000),
        ]
    };
    assert_eq!(times(2_039), plain(2_039));
    let held = [
        CellOutcome::Held(2_039 * 40_000),
        CellOutcome::Value(2_053 * 40_000),
        CellOutcome::Held((2_039 + 2_053) * 40_000),
    ];
    assert_eq!(times(2_038), held);
    assert_eq!(times(2_040), plain(2_040));
}

/// Made-up `/proc` of several processes, each with its own number of page faults, and a query of their rates.
struct World {
    tree: Tree,
    machine: Machine,
    snapshots: [Snapshot; 2],
    query: perfset_engine::Query,
}

impl World {
    fn new() -> Self {
        let tree = Tree::proc_of("processes");
        let machine = Machine::new(Box::new(FixedClock::default()));
        machine.register(Box::new(provider(&tree.roots())));
        let mut query = machine.query();
        let entry = Entry::one(process::GUID, process::PAGE_FAULTS_PER_SEC).instance("*");
        assert!(query.add(&entry).is_success());
        Self { tree, machine, snapshots: Default::default(), query }
    }

    fn set(&self, pid: u32, start: u64, faults: u64) {
        let text = format!("{pid} (same) S 1 1 1 0 -1 0 {faults} 0 0 0 0 0 0 0 20 0 1 0 {start} 4096 1\n");
        self.tree.write(&format!("proc/{pid}/stat"), &text);
    }

    fn end(&self, pid: u32) {
        let _ = std::fs::remove_dir_all(self.tree.path(&format!("proc/{pid}"))); // it may not have begun
    }

    /// Returns the rates of page faults per second of the processes called `same`, with their pids, in the order of
    /// rows.
    fn rates(&mut self) -> Vec<(u32, Result<f64, NoValue>)> {
        self.snapshots.swap(0, 1);
        let [old, new] = &mut self.snapshots;
        self.query.collect(new).unwrap();
        let values = new.values(Some(old)).filter(|value| value.instance == "same");
        let rates = values
            .map(|value| (value.instance_id.map_or(0, |InstanceId(id)| id), value.value.map(|v| v.raw)));
        rates.collect()
    }
}

#[test]
fn the_end_of_the_first_of_three_moves_no_other() {
    let mut world = World::new();
    world.rates();
    for (pid, faults) in [(401, 10), (402, 20), (403, 30)] {
        world.set(pid, u64::from(pid), faults);
    }
    world.rates();
    world.end(401);
    world.set(402, 402, 27);
    world.set(403, 403, 41);
    assert_eq!(world.rates(), [(402, Ok(7.0)), (403, Ok(11.0))]);
    drop(world.machine);
}

/// Change of a made-up process between two collections.
#[derive(Clone, Copy, Debug)]
enum Event {
    Runs(u64),
    Ends,
    /// End of a process whose pid another process gets, which has this number of page faults.
    IsReplaced(u64),
    Begins(u64),
}

fn event() -> impl Strategy<Value = (u32, Event)> {
    let event = prop_oneof![
        4 => (0..1_000_u64).prop_map(Event::Runs),
        1 => Just(Event::Ends),
        1 => (0..1_000_u64).prop_map(Event::IsReplaced),
        2 => (0..1_000_u64).prop_map(Event::Begins),
    ];
    (401..408_u32, event)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// Checks that a process's rate is that of its own page faults, whatever happens to others, and that a new
    /// process has none.
    #[test]
    fn rates_belong_to_their_process(steps in prop::collection::vec(prop::collection::vec(event(), 0..6), 1..8)) {
        let mut world = World::new();
        for pid in 401..=403 {
            world.end(pid);
        }
        let mut alive: std::collections::BTreeMap<u32, (u64, u64)> = Default::default(); // start, faults
        let mut clock = 1_000_u64;
        world.rates();
        for step in steps {
            let before = alive.clone();
            for (pid, event) in step {
                clock += 1;
                match (event, alive.get(&pid).copied()) {
                    (Event::Runs(more), Some((start, faults))) => {
 alive.insert(pid, (start, faults + more));
 },
                    (Event::Ends, Some(_)) => {
                        alive.remove(&pid);
                        world.end(pid);
                    }
                    (Event::IsReplaced(faults), Some(_)) | (Event::Begins(faults), None) => {
                        alive.insert(pid, (clock, faults));
                    }
                    _ => {}
                }
            }
            for (pid, (start, faults)) in &alive {
                world.set(*pid, *start, *faults);
            }
            let mut want: Vec<_> = alive.iter().collect();
            want.sort_by_key(|(_, (start, _))| *start);
            let rates = world.rates();
            prop_assert_eq!(rates.len(), want.len());
            for ((pid, rate), (want, (start, faults))) in rates.into_iter().zip(want) {
                prop_assert_eq!(pid, *want);
                match before.get(&pid).filter(|old| old.0 == *start) {
                    Some(old) => prop_assert_eq!(rate, Ok((*faults - old.1) as f64)),
                    None => prop_assert!(matches!(rate, Err(NoValue::NewInstance | NoValue::Replaced)), "{:?}", rate),
                }
            }
        }
    }
}
