//! Tests of BPF task iterators on this machine: their records where they are permitted, their errors elsewhere.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use perfset_bpf::{
    Column, ColumnSet, IterKind, Kernel, PercpuOffsets, RecordKind, TaskIter, TaskIterError, TaskIterRequest,
};

const BTF: &str = "/sys/kernel/btf/vmlinux";

/// Returns this machine's kernel and its per-CPU offsets; `None` if this process may not load BPF task iterators.
fn allowed() -> Option<(Kernel, PercpuOffsets)> {
    let kernel = Kernel::read(BTF.as_ref()).ok()?;
    let possible = fs::read_to_string("/sys/devices/system/cpu/possible").unwrap();
    let last: u32 = possible.trim().rsplit(['-', ',']).next().unwrap().parse().unwrap();
    match PercpuOffsets::find(&kernel, last + 1) {
        Ok(offsets) => Some((kernel, offsets)),
        Err(error) => {
            let refused = [libc::EPERM, libc::EACCES, libc::ENOSYS];
            assert!(error.os_error().is_some_and(|code| refused.contains(&code)), "{error:?}");
            None
        }
    }
}

fn request(
    each: RecordKind,
    way: IterKind,
    room: u32,
    offsets: Option<&PercpuOffsets>,
) -> TaskIterRequest<'_> {
    TaskIterRequest { each, way, columns: ColumnSet::new(&Column::ALL), room, offsets }
}

/// Returns the columns of all task records of one run whose data is of one moment, by the id of the process or
/// thread.
fn walked(walk: &mut TaskIter) -> BTreeMap<u64, BTreeMap<Column, u64>> {
    let records = walk.run().unwrap();
    let torn = records.torn();
    let columns: Vec<_> =
        Column::ALL.iter().filter_map(|column| Some((*column, records.place(*column)?))).collect();
    let whole = records.iter().filter(|record| !torn.is(record));
    whole
        .map(|record| {
            let all: BTreeMap<Column, u64> =
                columns.iter().map(|(column, place)| (*column, record.get(*place))).collect();
            (all[&Column::Pid], all)
        })
        .collect()
}

/// Returns the fields behind the name in a `stat` file of a process, from field 3 on.
fn stat(path: &str) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.rsplit_once(')').unwrap().1.split_whitespace().map(str::to_owned).collect()
}

/// Checks that loading a task iterator makes a process not dumpable, so that other processes of its user cannot take
/// the map. A process that may not load stays as it is.
#[test]
fn a_process_that_loads_is_not_dumpable() {
    use rustix::process::{DumpableBehavior, dumpable_behavior};
    use rustix::thread::{CapabilitySet, capabilities};

    let before = dumpable_behavior().unwrap();
    let is_loaded = allowed().is_some();
    let effective = capabilities(None).unwrap().effective;
    let can_load = effective.intersects(CapabilitySet::BPF | CapabilitySet::SYS_ADMIN);
    assert!(can_load || !is_loaded, "it loads without the capabilities that protect it: {effective:?}");
    if is_loaded {
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    } else if !can_load {
        assert_eq!(dumpable_behavior().unwrap(), before);
    }
}

#[test]
fn both_ways_say_what_the_files_say() {
    let Some((kernel, offsets)) = allowed() else { return };
    // The child only waits, so its values do not change.
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    let pid = child.id();
    for way in [IterKind::OpenCoded, IterKind::Classic] {
        let mut processes =
            TaskIter::load(&kernel, &request(RecordKind::Process, way, 50_000, Some(&offsets))).unwrap();
        let mut threads = TaskIter::load(&kernel, &request(RecordKind::Thread, way, 50_000, None)).unwrap();
        let all = walked(&mut processes);
        let of = |column: Column| all[&u64::from(pid)][&column];
        let fields = stat(&format!("/proc/{pid}/stat"));
        let field = |number: usize| fields[number - 3].parse::<u64>().unwrap();
        assert_eq!(of(Column::Tgid), u64::from(pid), "{way:?}");
        assert_eq!(of(Column::Parent), u64::from(std::process::id()));
        assert_eq!(&[of(Column::Name), of(Column::NameEnd)].map(u64::to_ne_bytes).concat()[..4], b"cat\0");
        assert_eq!(of(Column::Session), field(6));
        assert_eq!(of(Column::Flags), field(9));
        assert_eq!((of(Column::MinorFaults), of(Column::MajorFaults)), (field(10), field(12)));
        assert_eq!(of(Column::StaticPriority), field(19) + 120);
        assert_eq!(of(Column::Threads), 1);
        assert_eq!(of(Column::Start) / 10_000_000, field(22));
        assert_eq!(of(Column::TotalVm) * 4_096, field(23));
        assert_eq!((of(Column::RealTimePriority), of(Column::Policy)), (field(40), field(41)));
        let text = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
        let statm: Vec<u64> = text("statm").split_whitespace().map(|word| word.parse().unwrap()).collect();
        let shared = of(Column::FilePages) + of(Column::SharedPages);
        assert_eq!((of(Column::AnonymousPages) + shared, shared), (statm[1], statm[2]), "{way:?}");
        let io: Vec<u64> =
            text("io").lines().map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap()).collect();
        let ours = [
            Column::ReadChars,
            Column::WriteChars,
            Column::ReadCalls,
            Column::WriteCalls,
            Column::ReadBytes,
            Column::WriteBytes,
            Column::CancelledWriteBytes,
        ];
        assert_eq!(ours.map(of).as_slice(), io);
        let schedstat: Vec<u64> =
            text("schedstat").split_whitespace().map(|word| word.parse().unwrap()).collect();
        assert_eq!([of(Column::Runtime), of(Column::RunDelay), of(Column::RunCount)].as_slice(), schedstat);
        let status = text("status");
        let line = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        assert_eq!(of(Column::User), line("Uid:"));
        assert_eq!(of(Column::VoluntarySwitches), line("voluntary_ctxt_switches:"));
        assert_eq!(of(Column::InvoluntarySwitches), line("nonvoluntary_ctxt_switches:"));
        assert_eq!(of(Column::PeakVm).max(of(Column::TotalVm)) * 4, line("VmPeak:"));
        assert_eq!(of(Column::PeakResident).max(statm[1]) * 4, line("VmHWM:"));
        assert_eq!(of(Column::AnonymousPages) * 4, line("RssAnon:"));
        assert_eq!(of(Column::SwapPages) * 4, line("VmSwap:"));

        let listed = fs::read_dir("/proc").unwrap().flatten();
        let listed = listed.filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit()).count();
        assert!(all.len().abs_diff(listed) < 100, "{} of {listed}", all.len());
        let all = walked(&mut threads);
        let of_child = all.values().filter(|of| of[&Column::Tgid] == u64::from(pid)).count();
        let ours = all.values().filter(|of| of[&Column::Tgid] == u64::from(std::process::id())).count();
        assert!(of_child == 1 && ours > 1, "{of_child}, {ours}");
        assert_eq!(all[&u64::from(pid)][&Column::Runtime], schedstat[0]);
    }
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn many_threads_are_one_process() {
    let Some((kernel, _)) = allowed() else { return };
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let stopped = std::sync::Mutex::new(stopped);
    std::thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| stopped.lock().unwrap().recv().is_err());
        }
        for way in [IterKind::OpenCoded, IterKind::Classic] {
            let mut walk = TaskIter::load(&kernel, &request(RecordKind::Process, way, 50_000, None)).unwrap();
            // Other tests have threads too, which may just begin or end.
            let threads = (0..100).find_map(|_| {
                let all = walked(&mut walk);
                assert!(!all.contains_key(&0), "{way:?}: what a processor does while it rests is no process");
                let before = fs::read_dir("/proc/self/task").unwrap().count();
                let own = all.get(&std::process::id().into())?;
                assert_eq!(own[&Column::Threads], own[&Column::ThreadsMet]);
                (own[&Column::Threads] == u64::try_from(before).unwrap()).then_some(before)
            });
            assert!(threads.is_some_and(|threads| threads > 50), "{way:?}: {threads:?}");
        }
        drop(stop);
    });
}

/// Checks that a process's numbers that only count up never fall from run to run. Returns the number of runs, and of
/// runs with a torn record.
fn never_falls(walk: &mut TaskIter, pid: u32, mut goes_on: impl FnMut() -> bool) -> (u64, u64) {
    let (mut walks, mut torn_walks, mut calls, mut ran) = (0, 0, 0, 0);
    while goes_on() {
        let records = walk.run().unwrap();
        let torn = records.torn();
        let place = |column| records.place(column).unwrap();
        let (number, read_calls, runtime) =
            (place(Column::Pid), place(Column::ReadCalls), place(Column::Runtime));
        walks += 1;
        for record in records.iter().filter(|record| record.get(number) == u64::from(pid)) {
            if torn.is(&record) {
                torn_walks += 1;
                continue;
            }
            let now = (record.get(read_calls), record.get(runtime));
            assert!(now.0 >= calls, "walk {walks}: {} read calls, then {}", calls, now.0);
            assert!(now.1 >= ran, "walk {walks}: ran {ran} ns, then {}", now.1);
            (calls, ran) = now;
        }
    }
    (walks, torn_walks)
}

/// Checks that the sums of a process never fall while its threads end, also if a thread is both met and among the
/// ended ones.
#[test]
fn sums_stay_whole_while_threads_end() {
    let Some((kernel, offsets)) = allowed() else { return };
    for way in [IterKind::OpenCoded, IterKind::Classic] {
        let mut walk =
            TaskIter::load(&kernel, &request(RecordKind::Process, way, 50_000, Some(&offsets))).unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        let (walks, torn) = std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..STORM {
                    let reads = || {
                        let mut bytes = [0; 1];
                        let mut zero = fs::File::open("/dev/zero").unwrap();
                        (0..200).for_each(|_| std::io::Read::read_exact(&mut zero, &mut bytes).unwrap());
                    };
                    let some: Vec<_> = (0..20).map(|_| std::thread::spawn(reads)).collect();
                    some.into_iter().for_each(|thread| thread.join().unwrap());
                }
                done.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            let goes_on = || !done.load(std::sync::atomic::Ordering::Relaxed);
            never_falls(&mut walk, std::process::id(), goes_on)
        });
        assert!(walks > 20 && torn < walks, "{way:?}: {torn} of {walks} torn");
    }
}

/// Number of rounds of threads that read and end, and number of times that a program executes itself.
const STORM: u32 = 200;

/// Checks the task records of a process that executes itself from a thread: this test, started as a program, with a
/// number of repetitions left.
#[test]
fn one_process_executes_from_its_threads() {
    const LEFT: &str = "STORM_LEFT";
    let again = |left: u32| {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "one_process_executes_from_its_threads"]).env(LEFT, left.to_string());
        again
    };
    if let Ok(left) = std::env::var(LEFT) {
        let Some(left) = left.parse::<u32>().unwrap().checked_sub(1) else { return };
        panic!("{}", std::os::unix::process::CommandExt::exec(&mut again(left)));
    }
    let Some((kernel, offsets)) = allowed() else { return };
    for way in [IterKind::OpenCoded, IterKind::Classic] {
        let mut walk =
            TaskIter::load(&kernel, &request(RecordKind::Process, way, 50_000, Some(&offsets))).unwrap();
        let mut storm = again(STORM).stdout(Stdio::null()).spawn().unwrap();
        let (walks, torn) = never_falls(&mut walk, storm.id(), || storm.try_wait().unwrap().is_none());
        assert!(storm.wait().unwrap().success());
        assert!(walks > 20 && torn < walks, "{way:?}: {torn} of {walks} torn");
    }
}

#[test]
fn too_little_room_says_how_much_it_takes() {
    let Some((kernel, _)) = allowed() else { return };
    for way in [IterKind::OpenCoded, IterKind::Classic] {
        let mut walk = TaskIter::load(&kernel, &request(RecordKind::Process, way, 3, None)).unwrap();
        match walk.run() {
            Err(TaskIterError::Full { met, room: 3 }) => assert!(met > 3),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn no_room_at_all_and_too_much() {
    let Some((kernel, _)) = allowed() else { return };
    let mut walk =
        TaskIter::load(&kernel, &request(RecordKind::Thread, IterKind::OpenCoded, 0, None)).unwrap();
    assert!(matches!(walk.run(), Err(TaskIterError::Full { room: 1, .. })));
    for room in [u32::MAX, i32::MAX.unsigned_abs(), 20_000_000] {
        let error = TaskIter::load(&kernel, &request(RecordKind::Thread, IterKind::OpenCoded, room, None))
            .unwrap_err();
        assert!(matches!(error, TaskIterError::Lacks | TaskIterError::Call { .. }), "{error:?}");
    }
}
