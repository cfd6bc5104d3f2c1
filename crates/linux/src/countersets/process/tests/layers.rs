//! Tests that all collection methods give the same numbers as each other and as `/proc`. Meanwhile processes begin,
//! end, change names and priorities, and threads come and go.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::*;
use crate::clock::start_100ns;
use crate::sources::pid::stat::Stat;
use linux_process as lp;
use perfset_core::Birth;
use process_v2 as v2;

/// Counters of a process that other processes can change while it is idle: the CPU-clock gate reads them at every
/// tenth collection.
const IN_TURN: [(&Counterset, CounterId); 9] = [
    (&v2::COUNTERSET, v2::PRIORITY_BASE),
    (&v2::COUNTERSET, v2::WORKING_SET),
    (&v2::COUNTERSET, v2::WORKING_SET_PRIVATE),
    (&v2::COUNTERSET, v2::PRIVATE_BYTES),
    (&v2::COUNTERSET, v2::PAGE_FILE_BYTES),
    (&lp::COUNTERSET, lp::SWAP_BYTES),
    (&lp::COUNTERSET, lp::PROPORTIONAL_SET_BYTES),
    (&lp::COUNTERSET, lp::OOM_SCORE),
    (&lp::COUNTERSET, lp::PERCENT_RUN_QUEUE_WAIT_TIME),
];
/// Counters of a process's memory that the CPU-clock gate reads at every hundredth collection, unless `stat` shows a
/// change.
const HUNDREDTH: [(&Counterset, CounterId); 2] =
    [(&v2::COUNTERSET, v2::WORKING_SET), (&v2::COUNTERSET, v2::WORKING_SET_PRIVATE)];
/// Counters of user and kernel time, into which the processor time of a process is divided.
const SHARES: [(&Counterset, CounterId); 2] =
    [(&v2::COUNTERSET, v2::PERCENT_USER_TIME), (&v2::COUNTERSET, v2::PERCENT_PRIVILEGED_TIME)];
/// Counters of a process that never fall while the process is running.
const GROWS: [(&Counterset, CounterId); 19] = [
    (&v2::COUNTERSET, v2::PERCENT_PROCESSOR_TIME),
    (&v2::COUNTERSET, v2::PERCENT_USER_TIME),
    (&v2::COUNTERSET, v2::PERCENT_PRIVILEGED_TIME),
    (&v2::COUNTERSET, v2::PAGE_FAULTS_PER_SEC),
    (&v2::COUNTERSET, v2::VIRTUAL_BYTES_PEAK),
    (&v2::COUNTERSET, v2::IO_READ_OPERATIONS_PER_SEC),
    (&v2::COUNTERSET, v2::IO_WRITE_OPERATIONS_PER_SEC),
    (&v2::COUNTERSET, v2::IO_DATA_OPERATIONS_PER_SEC),
    (&v2::COUNTERSET, v2::IO_READ_BYTES_PER_SEC),
    (&v2::COUNTERSET, v2::IO_WRITE_BYTES_PER_SEC),
    (&v2::COUNTERSET, v2::IO_DATA_BYTES_PER_SEC),
    (&lp::COUNTERSET, lp::STORAGE_READ_BYTES_PER_SEC),
    (&lp::COUNTERSET, lp::STORAGE_WRITE_BYTES_PER_SEC),
    (&lp::COUNTERSET, lp::MINOR_FAULTS_PER_SEC),
    (&lp::COUNTERSET, lp::MAJOR_FAULTS_PER_SEC),
    (&lp::COUNTERSET, lp::PERCENT_RUN_QUEUE_WAIT_TIME),
    (&lp::COUNTERSET, lp::TIMESLICES_PER_SEC),
    (&lp::COUNTERSET, lp::VOLUNTARY_CONTEXT_SWITCHES_PER_SEC),
    (&lp::COUNTERSET, lp::INVOLUNTARY_CONTEXT_SWITCHES_PER_SEC),
];

/// Child processes that begin, end and change all the time, and that end when this value is dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn start() -> Self {
        let scripts = [
            // begins and ends processes, and has children whose parent ends
            "while :; do (sleep 0.05 & exec true) ; /bin/true; done",
            // changes its name
            "while :; do for name in one two three; do echo -n $name > /proc/self/comm; sleep 0.01; done; done",
            // reads and writes, and grows
            "while :; do text=$(cat /proc/self/maps /proc/self/smaps); echo \"$text\" > /dev/null; done",
            // others change its priority
            "sleep 1000 & while :; do for nice in 1 5 11; do renice -n $nice -p $!; sleep 0.05; done; done",
        ];
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.arg("-c").arg(script).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            command.spawn().unwrap()
        };
        Self(scripts.map(shell).into())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
            if let Some(group) = group {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL); // may have ended
            }
            let _ = child.wait(); // nothing hangs on how
        }
    }
}

fn layered(way: ProcessSource) -> Processes {
    layered_on(&Roots::default(), way)
}

pub(super) fn layered_on(roots: &Roots, way: ProcessSource) -> Processes {
    let stat = SharedFile::new(roots.proc.join("stat"), SeqFileKind::Single);
    let units = (rustix::param::clock_ticks_per_second(), u64::try_from(rustix::param::page_size()).unwrap());
    Processes::new(roots, (stat, vmstat(roots)), units, start_100ns, way)
}

type Cells = BTreeMap<(String, u32, Birth), BTreeMap<(bool, u32), CellOutcome>>;

/// Returns all cells of Process V2 (with `false`) and Linux Process (with `true`), by process.
fn everything(processes: &mut Processes) -> Cells {
    let mut all = Cells::new();
    for (set, is_linux) in [(&v2::COUNTERSET, false), (&lp::COUNTERSET, true)] {
        let collected = collect_of(processes, set, &all_of(set), &["*"]);
        for (name, id, birth) in &collected.rows {
            if *id == TOTAL_ID.0 || name == "Idle:0" {
                continue;
            }
            let cells = all.entry((name.clone(), *id, *birth)).or_default();
            for counter in &*set.counters {
                cells.insert((is_linux, counter.id.0), collected.get(name, counter.id).clone());
            }
        }
    }
    all
}

fn listed(list: &[(&Counterset, CounterId)], counter: (bool, u32)) -> bool {
    list.iter().any(|(set, id)| (set.guid == lp::GUID, id.0) == counter)
}

/// Returns the raw value of a cell, whatever its mark; `None` for a partial sum.
fn value(got: &CellOutcome) -> Option<u64> {
    match got {
        CellOutcome::Value(value) | CellOutcome::Held(value) | CellOutcome::Reused(value) => Some(*value),
        CellOutcome::None(_) | CellOutcome::Partial(..) => None,
    }
}

#[test]
fn the_gate_says_what_plain_reading_says() {
    let _ = conforms(ProcessSource::Gate, layered(ProcessSource::Gate), 1_000, Duration::ZERO);
}

#[test]
fn the_walk_says_what_plain_reading_says() {
    let _ = conforms(ProcessSource::Bpf, layered(ProcessSource::Bpf), 0, Duration::ZERO);
}

/// Checks the task iterator's values while processes begin and end: in half a minute as many as in an hour on a
/// server.
#[test]
#[ignore = "half a minute of load, and the right to walk: cargo xtask live"]
fn the_walk_says_so_through_an_hour_of_churn() {
    let churn = |script: &'static str| {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().unwrap()
    };
    let _churn = Busy((0..2).map(|_| churn("while :; do (:); (: & :); /bin/true; done")).collect());
    let stop = Arc::new(AtomicBool::new(false));
    let threads = Arc::clone(&stop);
    let threads = std::thread::spawn(move || {
        while !threads.load(Relaxed) {
            let some: Vec<_> = (0..8).map(|n| std::thread::spawn(move || n)).collect();
            some.into_iter().for_each(|thread| assert!(thread.join().is_ok()));
        }
    });
    let begun = || -> u64 {
        let stat = fs::read_to_string("/proc/stat").unwrap();
        let line = stat.lines().find_map(|line| line.strip_prefix("processes ")).unwrap();
        line.parse().unwrap()
    };
    let before = begun();
    let mut walk = layered(ProcessSource::Bpf);
    let _ = everything(&mut walk);
    assert!(walk.describe()[0].1.starts_with("BPF task iterator"), "{:?}", walk.describe());
    let compared = conforms(ProcessSource::Bpf, walk, 0, Duration::from_secs(30));
    stop.store(true, Relaxed);
    threads.join().unwrap();
    let begun = begun() - before;
    println!("{compared}, {begun} processes and threads begun");
    assert!(begun >= 10_000, "{begun} processes and threads begun");
}

/// Compares every value of a collection method with a full `/proc` scan before and after, if nothing changed in
/// between. At least `least_reused` values must be reused from an earlier collection.
pub(super) fn conforms(
    way: ProcessSource,
    mut gate: Processes,
    least_reused: u32,
    at_least: Duration,
) -> String {
    let _busy = Busy::start();
    let mut plain = layered(ProcessSource::Proc);
    let time = (false, v2::PERCENT_PROCESSOR_TIME.0);
    let (mut resting, mut running, mut reused) = (0, 0, 0);
    let mut late: BTreeMap<(String, (bool, u32)), u32> = BTreeMap::new();
    // Fifteen rounds at least, so that every process has its turn; more where few could be compared. A walk reads all
    // processes each time.
    let least_rounds = if way == ProcessSource::Bpf { 6 } else { 15 };
    let (mut rounds, start) = (0, Instant::now());
    let until = start + Duration::from_secs(60);
    while (rounds < least_rounds
        || start.elapsed() < at_least
        || resting < 200
        || running < 20
        || reused < least_reused)
        && Instant::now() < until
    {
        rounds += 1;
        let before = everything(&mut plain);
        let between = everything(&mut gate);
        let after = everything(&mut plain);
        // The same processes, whatever they are called.
        let who =
            |cells: &Cells| -> BTreeSet<(u32, Birth)> { cells.keys().map(|key| (key.1, key.2)).collect() };
        let [first, met, last] = [&before, &between, &after].map(who);
        let passed_over: Vec<_> =
            first.intersection(&last).filter(|process| !met.contains(process)).collect();
        assert_eq!(passed_over, [] as [&(u32, Birth); 0]);
        for (pid, birth) in met.difference(&first).filter(|process| !last.contains(process)) {
            // Only the same process counts: its pid may belong to another one now.
            let Ok(text) = fs::read(format!("/proc/{pid}/stat")) else { continue };
            let start = Stat::parse(&text).unwrap().starttime;
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let is_same = birth.is_some_and(|birth| birth.get() == start + 1);
            assert!(!is_same, "{pid} {birth:?} exists, and the last reading lacks it:\n{status}");
        }
        for (process, got) in &between {
            let (Some(first), Some(last)) = (before.get(process), after.get(process)) else { continue };
            // One that began or ended between the countersets is in one of them only.
            let whole = v2::COUNTERSET.counters.len() + lp::COUNTERSET.counters.len();
            if [first, got, last].iter().any(|cells| cells.len() != whole) {
                continue;
            }
            let rested = first[&time] == last[&time];
            *if rested { &mut resting } else { &mut running } += 1;
            let sum = |cells: &BTreeMap<(bool, u32), CellOutcome>| -> Option<u64> {
                SHARES.iter().map(|(_, id)| value(&cells[&(false, id.0)])).sum()
            };
            if let [Some(a), Some(b), Some(c)] = [first, got, last].map(sum) {
                let rounding = 2 * 10_000_000 / rustix::param::clock_ticks_per_second();
                assert!(a <= b + rounding && b <= c + rounding, "{process:?}: {a}, {b}, {c}");
            }
            for (counter, got) in got {
                let (first, last) = (&first[counter], &last[counter]);
                let place = || format!("{process:?} {counter:?}: {first:?}, {got:?}, {last:?}");
                reused += u32::from(matches!(got, CellOutcome::Reused(_)));
                let in_turn = listed(&IN_TURN, *counter);
                let key = (process.0.clone(), *counter);
                if in_turn && value(first) == value(last) && value(got) != value(first) {
                    let times = late.entry(key).or_default();
                    *times += 1;
                    let most = if listed(&HUNDREDTH, *counter) { 100 } else { 10 };
                    assert!(*times <= most, "{}: for the {times}th time", place());
                    continue;
                }
                late.remove(&key);
                let is_stale = in_turn && matches!(got, CellOutcome::Reused(_));
                if listed(&GROWS, *counter) && !is_stale {
                    let [Some(a), Some(b), Some(c)] = [first, got, last].map(value) else {
                        assert!(!rested || value(first).is_some() == value(got).is_some(), "{}", place());
                        continue;
                    };
                    // The kernel computes the shares of user and kernel time at each request, and does not know the
                    // shares that the BPF task iterator reported in between.
                    let is_share = way == ProcessSource::Bpf && listed(&SHARES, *counter);
                    assert!(a <= b && (b <= c || is_share), "{}", place());
                }
                // Nor can it show less than it has shown before, where the kernel divides otherwise later.
                let is_held = listed(&SHARES, *counter) && matches!(got, CellOutcome::Held(_));
                if rested && !in_turn && !is_held && value(first) == value(last) {
                    assert_eq!(value(got), value(first), "{}", place());
                }
            }
        }
    }
    assert!(resting >= 200 && running >= 20 && reused >= least_reused, "{resting} {running} {reused}");
    format!("{rounds} rounds, {resting} times a process at rest, {running} times one that ran")
}

/// Checks that every counter of processes, if requested alone, has the same value in all collection methods.
#[test]
fn every_counter_alone_says_the_same_in_all_layers() {
    // The child only waits, so its values do not change.
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let pid = child.id();
    while cpu_clock_ns(pid).is_ok() && fs::read(format!("/proc/{pid}/comm")).unwrap() != b"cat\n" {}
    std::thread::sleep(Duration::from_millis(100));
    let name = format!("cat:{pid}");
    for set in [&v2::COUNTERSET, &lp::COUNTERSET] {
        for counter in all_of(set) {
            let ways = [ProcessSource::Proc, ProcessSource::Gate, ProcessSource::Bpf];
            let said = ways.map(|way| {
                let collected = collect_of(&mut layered(way), set, &[counter], &[&name]);
                match collected.get(&name, counter) {
                    CellOutcome::None(reason) => Err(reason.clone()),
                    _ if counter == lp::PROPORTIONAL_SET_BYTES => Ok(None), // others share it
                    got => Ok(value(got)),
                }
            });
            assert_eq!([&said[1], &said[2]], [&said[0]; 2], "{:?}", set.counter(counter));
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Returns the values of a process from its files in `/proc`, read and parsed in the simplest way.
fn by_hand(pid: u32) -> Option<BTreeMap<(bool, u32), u64>> {
    let text = |file: &str| {
        fs::read(format!("/proc/{pid}/{file}")).ok().map(|b| String::from_utf8_lossy(&b).into_owned())
    };
    let stat = text("stat")?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields[number - 3].parse::<u64>().unwrap_or(0);
    let ticks = |number: usize| field(number) * 10_000_000 / rustix::param::clock_ticks_per_second();
    let statm: Vec<u64> = text("statm")?.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let page = u64::try_from(rustix::param::page_size()).unwrap();
    let mut all = BTreeMap::from([
        ((false, v2::PERCENT_USER_TIME.0), ticks(14)),
        ((false, v2::PERCENT_PRIVILEGED_TIME.0), ticks(15)),
        ((false, v2::PAGE_FAULTS_PER_SEC.0), field(10) + field(12)),
        ((false, v2::CREATING_PROCESS_ID.0), field(4)),
        ((false, v2::THREAD_COUNT.0), field(20)),
        ((true, lp::SESSION_ID.0), field(6)),
        ((true, lp::MAJOR_FAULTS_PER_SEC.0), field(12)),
    ]);
    if !fields[0].starts_with('Z') {
        all.insert((false, v2::VIRTUAL_BYTES.0), field(23));
        all.insert((false, v2::WORKING_SET.0), statm[1] * page);
    }
    let mut lines = |file: &str, wanted: &[(&str, bool, CounterId, u64)]| {
        for line in text(file).unwrap_or_default().lines() {
            for (name, is_linux, counter, unit) in wanted {
                let number = line.strip_prefix(name).and_then(|rest| rest.split_whitespace().next());
                if let Some(number) = number.and_then(|number| number.parse::<u64>().ok()) {
                    all.insert((*is_linux, counter.0), number * unit);
                }
            }
        }
    };
    lines(
        "io",
        &[
            ("rchar:", false, v2::IO_READ_BYTES_PER_SEC, 1),
            ("wchar:", false, v2::IO_WRITE_BYTES_PER_SEC, 1),
            ("syscr:", false, v2::IO_READ_OPERATIONS_PER_SEC, 1),
            ("syscw:", false, v2::IO_WRITE_OPERATIONS_PER_SEC, 1),
            ("write_bytes:", true, lp::STORAGE_WRITE_BYTES_PER_SEC, 1),
        ],
    );
    lines(
        "status",
        &[
            ("VmHWM:", false, v2::WORKING_SET_PEAK, 1_024),
            ("VmPeak:", false, v2::VIRTUAL_BYTES_PEAK, 1_024),
            ("VmSwap:", true, lp::SWAP_BYTES, 1_024),
            ("voluntary_ctxt_switches:", true, lp::VOLUNTARY_CONTEXT_SWITCHES_PER_SEC, 1),
            ("Uid:", true, lp::USER_ID, 1),
        ],
    );
    Some(all)
}

#[test]
fn all_say_what_the_files_say() {
    let _busy = Busy::start();
    let mut layers = [ProcessSource::Gate, ProcessSource::Proc, ProcessSource::Bpf].map(layered);
    let mut compared = 0;
    for _ in 0..3 {
        for layer in &mut layers {
            let clocks: BTreeMap<u32, _> =
                everything(layer).keys().map(|key| (key.1, cpu_clock_ns(key.1))).collect();
            let all = everything(layer);
            for ((name, pid, _), got) in &all {
                let Some(files) = by_hand(*pid) else { continue };
                if clocks.get(pid) != Some(&cpu_clock_ns(*pid)) {
                    continue; // it ran meanwhile
                }
                for (counter, want) in files {
                    if listed(&IN_TURN, counter) && matches!(got[&counter], CellOutcome::Reused(_)) {
                        continue;
                    }
                    assert_eq!(value(&got[&counter]), Some(want), "{name} {counter:?}: {:?}", got[&counter]);
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 1_000, "{compared}");
}

/// Checks that the list of thread instances has the names and ids of the collected rows, though listing reads fewer
/// files.
#[test]
fn listed_threads_are_those_of_a_collection() {
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let waiting = std::thread::spawn(move || stopped.recv().is_err());
    let own = std::process::id();
    for source in [ProcessSource::Gate, ProcessSource::Proc] {
        let mut provider = layered(source);
        let mut instances = Rows::default();
        instances.start();
        provider.instances(&thread::GUID, &mut instances).unwrap();
        instances.end();
        let listed: Vec<_> = instances.to_instances().iter().map(|i| (i.name.to_string(), i.id.0)).collect();
        let collected = collect_of(&mut provider, &thread::COUNTERSET, &[thread::ID_THREAD], &["*"]);
        let rows: BTreeSet<_> = collected.rows.iter().map(|(name, id, _)| (name.clone(), *id)).collect();
        // Other tests and programs begin and end threads in the meantime.
        let common = listed.iter().filter(|row| rows.contains(row)).count();
        assert!(common >= 3 && common + 64 >= listed.len().max(rows.len()), "{common}: {listed:?}, {rows:?}");
        // This process has several threads, and is listed with the first one only once.
        assert_eq!(listed.iter().filter(|(_, id)| *id == own).count(), 1);
        let comm = fs::read_to_string("/proc/self/comm").unwrap();
        let of_this = listed.iter().filter(|(name, _)| name.starts_with(&format!("{}/", comm.trim_end())));
        assert!(of_this.count() >= 2, "{listed:?}");
    }
    drop(stop);
    assert!(waiting.join().unwrap());
}

#[test]
fn threads_of_all_layers() {
    let mut layers = [ProcessSource::Gate, ProcessSource::Proc, ProcessSource::Bpf].map(layered);
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let own = std::process::id();
    let waiting = std::thread::spawn(move || stopped.recv().is_err());
    let all = all_of(&thread::COUNTERSET);
    for _ in 0..3 {
        let clock = cpu_clock_ns(2);
        let all_of_them = layers.each_mut().map(|layer| collect_of(layer, &thread::COUNTERSET, &all, &["*"]));
        for collected in &all_of_them {
            let tids = collected.cells.iter().filter(|((_, counter), got)| {
                *counter == thread::ID_PROCESS.0 && value(got) == Some(own.into())
            });
            let shown = tids.count();
            let listed = fs::read_dir("/proc/self/task").unwrap().count();
            assert!(shown.abs_diff(listed) <= 64 && shown >= 2, "{shown} of {listed}"); // other tests have threads too
        }
        let [gate, plain, walk] = &all_of_them;
        let kernel = "kthreadd/2";
        if gate.names().contains(&kernel) && cpu_clock_ns(2) == clock {
            for counter in &all {
                let of = |collected: &Collected| value(collected.get(kernel, *counter));
                assert_eq!([of(gate), of(walk)], [of(plain); 2], "{counter:?}");
            }
        }
    }
    drop(stop);
    assert!(waiting.join().unwrap());
}
