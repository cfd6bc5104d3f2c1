//! Tests of the counterset Sockets, collected from trees of test files.

use perfset_catalogue::sockets as id;
use perfset_core::CounterId;

use super::Sockets;
use crate::provider::{MultiInstanceProvider, SeqFileKind, SharedFile, TOTAL_NAME, multi_instance};
use crate::roots::Roots;
use crate::sources::sockstat::PROTOCOLS;
use crate::testing::{
    CellOutcome, Collected, FAULTS, Tree, collect, collect_all, fixture, opened, try_collect,
};

use id::*;

/// Size of a memory page in these tests: not 4,096, because no code may assume that value.
const PAGE_SIZE: u64 = 16_384;

fn provider(roots: &Roots) -> MultiInstanceProvider<Sockets> {
    let sockstat = SharedFile::new(roots.net("sockstat"), SeqFileKind::Single);
    multi_instance(Sockets::new(roots, sockstat, PAGE_SIZE))
}

/// Returns the values of a row of Sockets in the order of the counter ids; `None` for a missing value.
fn row(collected: &Collected, name: &str) -> [Option<u64>; 6] {
    [IN_USE, ORPHANED, TIME_WAIT, ALLOCATED, MEMORY_PAGES, MEMORY_BYTES].map(|counter| {
        match collected.get(name, counter) {
            CellOutcome::Value(value) => Some(*value),
            _ => None,
        }
    })
}

#[test]
fn every_counter() {
    let collected = collect_all(&mut provider(&fixture("two-nodes")));
    let in_use = |number| [Some(number), None, None, None, None, None];
    let (tcp, udp) = (20_004_773, 20_004_821);
    let want = [
        ("TCP", {
            let [tcp, bytes] = [tcp, tcp * PAGE_SIZE].map(Some);
            [Some(20_004_713), Some(20_004_727), Some(20_004_731), Some(20_004_749), tcp, bytes]
        }),
        ("UDP", [Some(20_004_811), None, None, None, Some(udp), Some(udp * PAGE_SIZE)]),
        ("UDPLITE", in_use(20_004_823)),
        ("RAW", in_use(20_004_833)),
        ("FRAG", [Some(20_004_851), None, None, None, None, Some(20_004_883)]),
        ("TCP6", in_use(20_004_893)),
        ("UDP6", in_use(20_004_923)),
        ("UDPLITE6", in_use(20_004_931)),
        ("RAW6", in_use(20_004_947)),
        ("FRAG6", [Some(20_004_973), None, None, None, None, Some(20_004_977)]),
        (
            TOTAL_NAME,
            [
                Some(20_004_709),
                Some(20_004_727),
                Some(20_004_731),
                Some(20_004_749),
                Some(tcp + udp),
                Some((tcp + udp) * PAGE_SIZE + 20_004_883 + 20_004_977),
            ],
        ),
    ];
    assert_eq!(collected.names(), want.map(|(name, _)| name));
    for (name, want) in want {
        assert_eq!(row(&collected, name), want, "{name}");
    }
    let ids: Vec<_> = collected.rows.iter().map(|row| row.1).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xFFFF_FFFE]);
    let why = "unavailable: this protocol does not count it";
    assert!(
        collected
            .missing("UDP")
            .values()
            .chain(collected.missing("RAW6").values())
            .all(|reason| reason == why)
    );
}

/// Checks that ids and title indexes of the counterset Sockets never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let counters = COUNTERSET.counters.iter().map(|counter| (counter.id.0, counter.v1_index.unwrap()));
    let want = [(0, 21_440), (1, 21_442), (2, 21_444), (3, 21_446), (4, 21_012), (5, 21_448)];
    assert_eq!(counters.collect::<Vec<_>>(), want);
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("7c12eb30-137d-5e13-b192-0e9097715cf7", Some(21_438))
    );
}

#[test]
fn only_the_files_that_there_are_are_opened() {
    let tree = Tree::proc_of("two-nodes");
    assert_eq!(opened(&tree, provider, &[IN_USE], &["*"]), ["proc/net/sockstat", "proc/net/sockstat6"]);
}

#[test]
fn a_fault_costs_only_the_rows_that_the_file_feeds() {
    let is_of_v6 = |name: &&str| name.ends_with('6');
    for file in ["proc/net/sockstat", "proc/net/sockstat6"] {
        for (fault, cause, is_right) in FAULTS {
            let tree = Tree::proc_of("two-nodes");
            cause(&tree, file);
            let collected = collect_all(&mut provider(&tree.roots()));
            let (of_file, others): (Vec<_>, Vec<_>) =
                PROTOCOLS.into_iter().partition(|name| is_of_v6(name) == file.ends_with('6'));
            let whole = collect_all(&mut provider(&fixture("two-nodes")));
            for name in others {
                assert_eq!(row(&collected, name), row(&whole, name), "{file} {fault} {name}");
            }
            for name in of_file {
                match fault {
                    "missing" => assert!(!collected.names().contains(&name), "{name}"),
                    "cut" if !name.starts_with("FRAG") => {
                        assert_eq!(row(&collected, name), row(&whole, name), "{file} {name}");
                    }
                    "cut" => {
                        let got = collected.get(name, MEMORY_BYTES);
                        assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{got:?}");
                    }
                    _ => {
                        assert_eq!(row(&collected, name), [None; 6], "{file} {fault} {name}");
                        let got = collected.get(name, IN_USE);
                        assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{got:?}");
                    }
                }
            }
            let total = row(&collected, TOTAL_NAME)[0];
            let has_total = file.ends_with('6') || fault == "cut";
            assert_eq!(total, has_total.then_some(20_004_709), "{file} {fault}");
        }
    }
    let tree = Tree::proc_of("two-nodes");
    tree.remove("proc/net/sockstat");
    tree.remove("proc/net/sockstat6");
    let error = try_collect(&mut provider(&tree.roots()), &[IN_USE], &["*"]).unwrap_err();
    assert_eq!(error.to_string(), "unavailable: there is no /proc/net/sockstat");
}

#[test]
fn protocols_come_and_go() {
    let tree = Tree::proc_of("two-nodes");
    let mut provider = provider(&tree.roots());
    for (text, want) in [
        ("TCP: inuse 2 mem 3\nRAW: inuse 5\n", &["TCP", "RAW", TOTAL_NAME][..]),
        ("RAW: inuse 5\nUDP: inuse 7\nMPTCP: inuse 11\n", &["UDP", "RAW", TOTAL_NAME]),
        ("UDP: inuse 7\n", &["UDP", TOTAL_NAME]),
        ("sockets: used 7\n", &[]),
    ] {
        tree.write("proc/net/sockstat", text);
        let _ = std::fs::remove_file(tree.path("proc/net/sockstat6")); // only the first time
        let wanted: [CounterId; 2] = [IN_USE, MEMORY_PAGES];
        let collected = collect(&mut provider, &wanted, &["*"]);
        let names: Vec<_> = collected.names().into_iter().filter(|name| !name.ends_with('6')).collect();
        assert_eq!(names, want, "{text:?}");
    }
}

#[test]
fn an_old_kernel() {
    let collected = collect_all(&mut provider(&fixture("old-kernel")));
    assert_eq!(collected.names(), ["TCP", "UDP", "RAW", "FRAG", TOTAL_NAME]);
    assert_eq!(row(&collected, TOTAL_NAME)[0], Some(647));
    assert_eq!(row(&collected, "TCP")[4], Some(677));
    assert_eq!(row(&collected, "UDP"), [Some(683), None, None, None, None, None]);
}

#[test]
fn a_small_virtual_machine() {
    let collected = collect_all(&mut provider(&fixture("small-vm")));
    assert_eq!(collected.names().len(), 11);
    assert_eq!(collected.missing(TOTAL_NAME).len(), 0);
}
