//! Tests of the counterset Linux System, collected from trees of test files.

use perfset_catalogue::linux_system as id;
use perfset_core::CounterId;
use perfset_engine::{Provider, Rows};

use super::LinuxSystem;
use crate::provider::{
    Collection, SeqFileKind, SharedFile, SingleInstanceProvider, ValueSource, single_instance,
};
use crate::roots::Roots;
use crate::testing::{
    CellOutcome, ChangedLine, Collected, FAULTS, Tree, check_line, collect, collect_all, fixture, opened,
};

use id::*;

fn values(roots: &Roots) -> LinuxSystem {
    let shared = |name| SharedFile::new(roots.proc.join(name), SeqFileKind::Single);
    LinuxSystem::new(roots, shared("stat"), shared("loadavg"))
}

fn provider(roots: &Roots) -> SingleInstanceProvider<LinuxSystem> {
    single_instance(values(roots))
}

/// Counters of Linux System with their raw values in the fixture `two-nodes`.
const KNOWN: [(CounterId, u64); 17] = [
    (LOAD_AVERAGE_1_MINUTE, 3_011),
    (LOAD_AVERAGE_5_MINUTES, 3_023),
    (LOAD_AVERAGE_15_MINUTES, 3_041),
    (LOAD_AVERAGE_BASE, 10_000),
    (PROCESSES_CREATED_PER_SEC, 383),
    (RUNNING_THREADS, 389),
    (BLOCKED_PROCESSES, 397),
    (OPEN_FILES, 4_001),
    (OPEN_FILES_LIMIT, 4_003),
    (ENTROPY_AVAILABLE, 4_007),
    (PERCENT_PROCESS_IDS_IN_USE, 3_041),
    (PERCENT_PROCESS_IDS_IN_USE_BASE, 4_013),
    (PROCESS_ID_LIMIT, 4_013),
    (THREADS_LIMIT, 104_729),
    (ENTROPY_POOL_SIZE, 104_743),
    (HUNG_TASKS, 104_759),
    (INTERRUPTS_PER_SEC, 100_003),
];

fn lost(collected: &Collected) -> Vec<CounterId> {
    collected.missing("").into_keys().map(CounterId).collect()
}

#[test]
fn every_counter() {
    assert_eq!(collect_all(&mut provider(&fixture("two-nodes"))).all_but(&KNOWN), []);
    assert_eq!(KNOWN.len(), COUNTERSET.counters.len());
}

/// Checks that ids and title indexes of Linux System never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| c.v1_index.unwrap()).collect();
    assert_eq!(indexes[..13], (22_954..22_980).step_by(2).collect::<Vec<_>>());
    // Interrupts/sec shares the index of the counters with this name in other countersets.
    assert_eq!(indexes[13..], [25_168, 25_170, 25_172, 148]);
    assert_eq!(COUNTERSET.counters.iter().map(|c| c.id.0).collect::<Vec<_>>(), Vec::from_iter(0..17));
    assert_eq!(COUNTERSET.v1_index, Some(22_952));
}

#[test]
fn only_what_is_needed_is_read() {
    let tree = Tree::proc_of("two-nodes");
    for (counters, want) in [
        (&[][..], &[][..]),
        (&[LOAD_AVERAGE_BASE], &[]),
        (&[LOAD_AVERAGE_1_MINUTE, LOAD_AVERAGE_15_MINUTES], &["proc/loadavg"]),
        (&[PROCESSES_CREATED_PER_SEC, BLOCKED_PROCESSES], &["proc/stat"]),
        (&[OPEN_FILES, OPEN_FILES_LIMIT], &["proc/sys/fs/file-nr"]),
        (&[ENTROPY_AVAILABLE], &["proc/sys/kernel/random/entropy_avail"]),
        (&[PERCENT_PROCESS_IDS_IN_USE], &["proc/loadavg"]),
        (&[PERCENT_PROCESS_IDS_IN_USE_BASE, PROCESS_ID_LIMIT], &["proc/sys/kernel/pid_max"]),
        (&[THREADS_LIMIT], &["proc/sys/kernel/threads-max"]),
        (&[ENTROPY_POOL_SIZE], &["proc/sys/kernel/random/poolsize"]),
        (&[HUNG_TASKS], &["proc/sys/kernel/hung_task_detect_count"]),
    ] {
        assert_eq!(opened(&tree, provider, counters, &["*"]), want, "{counters:?}");
    }
    let len = tree.text("proc/loadavg").len().try_into().unwrap();
    let both = [LOAD_AVERAGE_5_MINUTES, PERCENT_PROCESS_IDS_IN_USE];
    assert_eq!(collect(&mut provider(&tree.roots()), &both, &["*"]).bytes_read, len, "once");
}

#[test]
fn a_fault_costs_only_the_counters_that_the_file_feeds() {
    let cases: [(&str, &[CounterId]); 8] = [
        ("proc/stat", &[PROCESSES_CREATED_PER_SEC, RUNNING_THREADS, BLOCKED_PROCESSES, INTERRUPTS_PER_SEC]),
        (
            "proc/loadavg",
            &[
                LOAD_AVERAGE_1_MINUTE,
                LOAD_AVERAGE_5_MINUTES,
                LOAD_AVERAGE_15_MINUTES,
                PERCENT_PROCESS_IDS_IN_USE,
            ],
        ),
        ("proc/sys/fs/file-nr", &[OPEN_FILES, OPEN_FILES_LIMIT]),
        ("proc/sys/kernel/random/entropy_avail", &[ENTROPY_AVAILABLE]),
        ("proc/sys/kernel/pid_max", &[PERCENT_PROCESS_IDS_IN_USE_BASE, PROCESS_ID_LIMIT]),
        ("proc/sys/kernel/threads-max", &[THREADS_LIMIT]),
        ("proc/sys/kernel/random/poolsize", &[ENTROPY_POOL_SIZE]),
        ("proc/sys/kernel/hung_task_detect_count", &[HUNG_TASKS]),
    ];
    for (file, feeds) in cases {
        for (fault, cause, is_right) in FAULTS {
            let tree = Tree::proc_of("two-nodes");
            cause(&tree, file);
            let collected = collect_all(&mut provider(&tree.roots()));
            let want = if (file, fault) == ("proc/stat", "cut") { &[BLOCKED_PROCESSES][..] } else { feeds };
            assert_eq!(lost(&collected), want, "{file} {fault}");
            for counter in want {
                let got = collected.get("", *counter);
                assert!(
                    matches!(got, CellOutcome::None(reason) if is_right(reason)),
                    "{file} {fault}: {got:?}"
                );
            }
        }
    }
}

#[test]
fn reasons_name_file_line_and_what() {
    let cases: [ChangedLine<'_>; 4] = [
        ("stat", "processes ", "processes -", &[PROCESSES_CREATED_PER_SEC], {
            ":12: expected a number, found \"-383\""
        }),
        (
            "stat",
            "procs_blocked",
            "procs",
            &[BLOCKED_PROCESSES],
            "unavailable: this kernel does not report it",
        ),
        (
            "sys/fs/file-nr",
            "4003",
            "9223372036854775807",
            &[OPEN_FILES_LIMIT],
            "unavailable: there is no limit",
        ),
        ("sys/fs/file-nr", "\t0", "", &[OPEN_FILES, OPEN_FILES_LIMIT], {
            ":1: expected a number, found the end of the line"
        }),
    ];
    for case in cases {
        check_line(case, provider, lost);
    }
}

#[test]
fn open_files_are_read_in_turn() {
    let tree = Tree::proc_of("two-nodes");
    let mut values = values(&tree.roots());
    let mut passes = 7..;
    let mut open = |seconds: u64| {
        let mut pass = Collection::new(passes.next().unwrap(), seconds * 1_000_000_000);
        let value = values.marked_value(OPEN_FILES, &mut pass).unwrap();
        (value.raw, value.mark.is_some())
    };
    assert_eq!(open(20), (4_001, false));
    tree.write("proc/sys/fs/file-nr", "11\t0\t13\n");
    assert_eq!(open(29), (4_001, true));
    assert_eq!(open(30), (11, false));
}

#[test]
fn other_machines() {
    let old = collect_all(&mut provider(&fixture("old-kernel")));
    assert_eq!(*old.get("", PERCENT_PROCESS_IDS_IN_USE), CellOutcome::Value(127));
    assert!(lost(&old).contains(&OPEN_FILES));
    let mut rows = Rows::default();
    provider(&fixture("old-kernel")).instances(&id::GUID, &mut rows).unwrap();
    assert_eq!(rows.len(), 1);
}
