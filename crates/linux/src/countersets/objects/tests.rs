//! Tests of the counterset Objects, collected from trees of test files.

use perfset_catalogue::objects as id;
use perfset_core::CounterId;

use super::Objects;
use crate::countersets::process_count::ProcessCount;
use crate::provider::{SeqFileKind, SharedFile, SingleInstanceProvider, single_instance};
use crate::roots::Roots;
use crate::testing::{
    CellOutcome, ChangedLine, Collected, FAULTS, Tree, check_line, collect, collect_all, fixture, opened,
};

use id::*;

fn provider(roots: &Roots) -> SingleInstanceProvider<Objects> {
    let loadavg = SharedFile::new(roots.proc.join("loadavg"), SeqFileKind::Single);
    single_instance(Objects::new(roots, ProcessCount::new(&roots.proc), loadavg))
}

/// Counters of Objects that may have a value on Linux, with their raw values in the fixture `two-nodes`.
const KNOWN: [(CounterId, u64); 4] = [(PROCESSES, 5), (THREADS, 3_041), (SEMAPHORES, 3), (SECTIONS, 2)];

/// Returns the counters of Objects without a value in a collection, except counters that never have a value on Linux.
fn lost(collected: &Collected) -> Vec<CounterId> {
    let missing = collected.missing("").into_keys().map(CounterId);
    missing.filter(|counter| KNOWN.iter().any(|known| known.0 == *counter)).collect()
}

#[test]
fn every_counter() {
    let missing = collect_all(&mut provider(&fixture("two-nodes"))).all_but(&KNOWN);
    assert_eq!(missing, [EVENTS, MUTEXES]);
}

/// Checks that ids and title indexes of the counterset Objects never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| c.v1_index.unwrap()).collect();
    assert_eq!(indexes, [248, 250, 252, 254, 256, 258]);
    assert_eq!(COUNTERSET.counters.iter().map(|c| c.id.0).collect::<Vec<_>>(), Vec::from_iter(0..6));
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("850b8425-cd9e-59d0-81bd-4ac48ffff6d1", Some(260))
    );
}

#[test]
fn only_what_is_needed_is_opened() {
    let tree = Tree::proc_of("two-nodes");
    for (counters, want) in [
        (&[EVENTS, MUTEXES][..], &[][..]),
        (&[PROCESSES], &["proc/"]),
        (&[THREADS], &["proc/loadavg"]),
        (&[SEMAPHORES], &["proc/sysvipc/sem"]),
        (&[SECTIONS], &["proc/sysvipc/shm"]),
    ] {
        assert_eq!(opened(&tree, provider, counters, &["*"]), want, "{counters:?}");
    }
}

#[test]
fn a_fault_costs_only_the_counters_that_the_file_feeds() {
    let cases = [("proc/loadavg", THREADS), ("proc/sysvipc/sem", SEMAPHORES), ("proc/sysvipc/shm", SECTIONS)];
    for (file, feeds) in cases {
        for (fault, cause, is_right) in FAULTS {
            let tree = Tree::proc_of("two-nodes");
            cause(&tree, file);
            let collected = collect_all(&mut provider(&tree.roots()));
            assert_eq!(lost(&collected), [feeds], "{file} {fault}");
            let got = collected.get("", feeds);
            assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{file} {fault}: {got:?}");
        }
    }
}

#[test]
fn reasons_name_file_line_and_what() {
    let cases: [ChangedLine<'_>; 2] = [
        ("sysvipc/sem", "       key", "         y", &[SEMAPHORES], ":1: expected \"key\", found \"y\""),
        ("sysvipc/shm", "3257", "-3257", &[SECTIONS], ":3: expected a number, found \"-3257\""),
    ];
    for case in cases {
        check_line(case, provider, lost);
    }
}

#[test]
fn processes_are_counted_once_a_collection() {
    let tree = Tree::proc_of("two-nodes");
    let processes = ProcessCount::new(&tree.roots().proc);
    let mut pass = crate::provider::Collection::new(u64::MAX / 2, 0);
    assert_eq!(processes.get(&mut pass), Ok(5));
    let listed = pass.bytes_read();
    std::fs::create_dir(tree.path("proc/11")).unwrap();
    assert_eq!((processes.clone().get(&mut pass), pass.bytes_read()), (Ok(5), listed));
    let mut next = crate::provider::Collection::new(u64::MAX / 2 + 1, 0);
    assert_eq!(processes.get(&mut next), Ok(6));
}

#[test]
fn other_machines() {
    let small = collect_all(&mut provider(&fixture("small-vm")));
    assert_eq!(
        (small.get("", SEMAPHORES), small.get("", SECTIONS)),
        (&CellOutcome::Value(0), &CellOutcome::Value(0))
    );
    let old = collect(&mut provider(&fixture("old-kernel")), &[SEMAPHORES], &["*"]);
    assert_eq!(old.missing("")[&SEMAPHORES.0], "unavailable: this kernel has no System V IPC");
}
