//! Tests of the counterset Software RAID, collected from trees of test files.

use perfset_catalogue::software_raid::*;

use super::SoftwareRaid;
use crate::provider::{MultiInstanceProvider, multi_instance};
use crate::roots::Roots;
use crate::testing::{CellOutcome, FAULTS, Tree, collect_all, fixture, opened, try_collect};

fn provider(roots: &Roots) -> MultiInstanceProvider<SoftwareRaid> {
    multi_instance(SoftwareRaid::new(roots))
}

const COUNTERS: [perfset_core::CounterId; 11] = [
    ACTIVE,
    ACTIVE_DISKS,
    FAILED_DISKS,
    SPARE_DISKS,
    REQUIRED_DISKS,
    BLOCKS,
    BLOCKS_SYNCED,
    RECOVERING,
    RESYNCING,
    RESHAPING,
    CHECKING,
];

#[test]
fn every_counter() {
    let collected = collect_all(&mut provider(&fixture("servers")));
    let (v, none) = (Some, None);
    for (array, want) in [
        ("md127", [v(1), v(2), v(0), v(0), v(2), v(488_254_464), v(488_254_464), v(0), v(0), v(0), v(0)]),
        ("md0", [v(1), v(2), v(1), v(1), v(3), v(1_953_260_544), v(123_457), v(1), v(0), v(0), v(0)]),
        ("md5", [v(1), v(3), v(0), v(0), v(3), v(262_144), v(262_144), v(0), v(0), v(0), v(0)]),
        ("md6", [v(0), none, v(0), v(1), none, v(1_048_576), v(1_048_576), v(0), v(0), v(0), v(0)]),
        ("md7", [v(1), v(2), v(0), v(0), v(2), v(7_823), none, v(0), v(1), v(0), v(0)]),
    ] {
        let got = COUNTERS.map(|counter| match collected.get(array, counter) {
            CellOutcome::Value(value) => Some(*value),
            _ => None,
        });
        assert_eq!(got, want, "{array}");
    }
    assert_eq!(collected.names().len(), 5);
    assert_eq!(collected.missing("md6")[&ACTIVE_DISKS.0], "unavailable: the array does not run");
    assert_eq!(COUNTERSET.counters.len(), COUNTERS.len());
}

#[test]
fn faults_and_machines_without_arrays() {
    for (fault, cause, _) in FAULTS {
        let tree = Tree::proc_of("servers");
        cause(&tree, "proc/mdstat");
        let got = try_collect(&mut provider(&tree.roots()), &[ACTIVE], &["*"]);
        match fault {
            "missing" => assert_eq!(got.unwrap().names(), [""; 0]),
            "cut" => assert!(got.is_err(), "the last line has no end"),
            _ => assert!(got.is_err(), "{fault}"),
        }
    }
    let tree = Tree::proc_of("servers");
    assert_eq!(opened(&tree, provider, &[ACTIVE], &["*"]), ["proc/mdstat"]);
}

/// Checks that ids and title indexes of Software RAID never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| c.v1_index.unwrap()).collect();
    assert_eq!(indexes, (25_206..25_228).step_by(2).collect::<Vec<_>>());
    assert_eq!(COUNTERSET.counters.iter().map(|c| c.id.0).collect::<Vec<_>>(), Vec::from_iter(0..11));
    assert_eq!(COUNTERSET.v1_index, Some(25_204));
}
