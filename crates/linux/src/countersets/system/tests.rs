//! Tests of the counterset System, collected from trees of test files.

use std::fs;

use perfset_catalogue::system as id;
use perfset_core::CounterId;

use super::System;
use crate::countersets::process_count::ProcessCount;
use crate::provider::{SeqFileKind, SharedFile, SingleInstanceProvider, single_instance};
use crate::roots::Roots;
use crate::testing::{
    CellOutcome, ChangedLine, Collected, FAULTS, Tree, check_line, collect, collect_all, fixture,
};

use id::*;

const START_100NS: u64 = 133_456_789_012_345_678;

fn provider(roots: &Roots) -> SingleInstanceProvider<System> {
    let file = |name| SharedFile::new(roots.proc.join(name), SeqFileKind::Single);
    let processes = ProcessCount::new(&roots.proc);
    single_instance(System::new(file("stat"), file("loadavg"), processes, || START_100NS))
}

/// Counters of System that may have a value on Linux, with their raw values in the fixture `two-nodes`.
const KNOWN: [(CounterId, u64); 5] = [
    (CONTEXT_SWITCHES_PER_SEC, 379),
    (SYSTEM_UP_TIME, START_100NS),
    (PROCESSOR_QUEUE_LENGTH, 389 - 7),
    (PROCESSES, 5),
    (THREADS, 3_041),
];

/// Returns the counters of System without a value in a collection, except counters that never have a value on Linux.
fn lost(collected: &Collected) -> Vec<CounterId> {
    let missing = collected.missing("").into_keys().map(CounterId);
    missing.filter(|counter| KNOWN.iter().any(|known| known.0 == *counter)).collect()
}

#[test]
fn every_counter() {
    let missing = collect_all(&mut provider(&fixture("two-nodes"))).all_but(&KNOWN);
    assert_eq!(missing.len() + KNOWN.len(), COUNTERSET.counters.len());
}

/// Checks that ids and title indexes of the counterset System never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| c.v1_index.unwrap()).collect();
    let of_microsoft = [10, 12, 14, 16, 18, 20, 146, 150, 406, 674, 44, 248, 250, 686, 688, 690, 1350];
    assert_eq!(indexes, [&of_microsoft[..], &[20106]].concat());
    assert_eq!(COUNTERSET.counters.iter().map(|c| c.id.0).collect::<Vec<_>>(), Vec::from_iter(0..18));
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("d24fdff8-62b6-5185-af26-e3db4500a2c3", Some(2))
    );
}

#[test]
fn only_what_is_needed_is_read() {
    let tree = Tree::proc_of("two-nodes");
    let len = |file: &str| fs::metadata(tree.path(file)).unwrap().len();
    let names = fs::read_dir(tree.roots().proc).unwrap().map(|entry| entry.unwrap().file_name().len());
    let names = u64::try_from(names.sum::<usize>() + "...".len()).unwrap();
    let (stat, loadavg) = (len("proc/stat"), len("proc/loadavg"));
    let never: Vec<_> = COUNTERSET
        .counters
        .iter()
        .map(|c| c.id)
        .filter(|id| !KNOWN.iter().any(|known| known.0 == *id))
        .collect();
    for (name, counters, want) in [
        ("nothing", &[][..], 0),
        ("never there", &never, 0),
        ("up time", &[SYSTEM_UP_TIME], 0),
        ("context switches", &[CONTEXT_SWITCHES_PER_SEC], stat),
        ("the queue", &[CONTEXT_SWITCHES_PER_SEC, PROCESSOR_QUEUE_LENGTH], stat),
        ("threads", &[THREADS], loadavg),
        ("processes", &[PROCESSES], names),
        ("everything", &KNOWN.map(|known| known.0), stat + loadavg + names),
    ] {
        let mut provider = provider(&tree.roots());
        for time in 1..=2 {
            assert_eq!(collect(&mut provider, counters, &["*"]).bytes_read, want, "{name}, time {time}");
        }
    }
}

#[test]
fn a_fault_costs_only_the_counters_that_the_file_feeds() {
    let cases: [(&str, &[CounterId]); 2] =
        [("proc/stat", &[CONTEXT_SWITCHES_PER_SEC, PROCESSOR_QUEUE_LENGTH]), ("proc/loadavg", &[THREADS])];
    for (file, feeds) in cases {
        for (fault, cause, is_right) in FAULTS {
            let tree = Tree::proc_of("two-nodes");
            cause(&tree, file);
            let collected = collect_all(&mut provider(&tree.roots()));
            // The last line of /proc/stat feeds nothing.
            let want = if (file, fault) == ("proc/stat", "cut") { &[] } else { feeds };
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
    let cases: [ChangedLine<'_>; 5] = [
        ("stat", "ctxt ", "ctxt x", &[CONTEXT_SWITCHES_PER_SEC], ":10: expected a number, found \"x379\""),
        ("stat", "procs_running ", "procs_running -", &[PROCESSOR_QUEUE_LENGTH], {
            ":13: expected a number, found \"-389\""
        }),
        ("stat", "procs_running", "procs", &[PROCESSOR_QUEUE_LENGTH], {
            "unavailable: this kernel does not report it"
        }),
        (
            "stat",
            "cpu  ",
            "cpus ",
            &[CONTEXT_SWITCHES_PER_SEC, PROCESSOR_QUEUE_LENGTH],
            ":1: expected the line \"cpu\", found \"cpus\"",
        ),
        ("loadavg", "/3041", "", &[THREADS], ":1: expected \"/\", found \" 3049\\n\""),
    ];
    for case in cases {
        check_line(case, provider, lost);
    }
}

#[test]
fn processes_come_and_go() {
    let tree = Tree::proc_of("two-nodes");
    let mut provider = provider(&tree.roots());
    let mut count = || collect(&mut provider, &[PROCESSES], &["*"]).get("", PROCESSES).clone();
    assert_eq!(count(), CellOutcome::Value(5));
    for pid in [1, 11, 4_194_304] {
        fs::create_dir(tree.path(&format!("proc/{pid}"))).unwrap();
    }
    tree.write("proc/7a", "");
    assert_eq!(count(), CellOutcome::Value(8));
    fs::remove_dir(tree.path("proc/11")).unwrap();
    assert_eq!(count(), CellOutcome::Value(7));
    fs::remove_dir_all(tree.roots().proc).unwrap();
    let CellOutcome::None(reason) = count() else { panic!("there is no /proc") };
    let proc = tree.roots().proc.display().to_string();
    assert_eq!(reason.to_string(), format!("{proc}: cannot be read: No such file or directory (os error 2)"));
}

#[test]
fn nobody_waits_while_there_are_enough_processors() {
    let tree = Tree::proc_of("two-nodes");
    let stat = tree.text("proc/stat");
    for (running, want) in [(0, 0), (1, 0), (7, 0), (8, 1), (u64::MAX, u64::MAX - 7)] {
        tree.write("proc/stat", &stat.replace("procs_running 389", &format!("procs_running {running}")));
        let collected = collect(&mut provider(&tree.roots()), &[PROCESSOR_QUEUE_LENGTH], &["*"]);
        assert_eq!(*collected.get("", PROCESSOR_QUEUE_LENGTH), CellOutcome::Value(want), "{running}");
    }
}

#[test]
fn other_machines() {
    let old = collect_all(&mut provider(&fixture("old-kernel")));
    assert_eq!(*old.get("", CONTEXT_SWITCHES_PER_SEC), CellOutcome::Value(53));
    assert_eq!(
        (old.get("", THREADS), old.get("", PROCESSES)),
        (&CellOutcome::Value(127), &CellOutcome::Value(1))
    );
    assert_eq!(lost(&old), [PROCESSOR_QUEUE_LENGTH]);
    let small = collect_all(&mut provider(&fixture("small-vm")));
    assert_eq!(*small.get("", CONTEXT_SWITCHES_PER_SEC), CellOutcome::Value(732_725));
    assert_eq!(*small.get("", PROCESSOR_QUEUE_LENGTH), CellOutcome::Value(0));
    assert_eq!(
        (small.get("", THREADS), small.get("", PROCESSES)),
        (&CellOutcome::Value(97), &CellOutcome::Value(3))
    );
}
