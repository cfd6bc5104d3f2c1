//! Tests of the counterset Connection Tracking, collected from trees of test files.

use perfset_catalogue::connection_tracking::*;

use super::ConnectionTracking;
use crate::provider::{SingleInstanceProvider, single_instance};
use crate::roots::Roots;
use crate::testing::{CellOutcome, FAULTS, Tree, collect_all, fixture, opened};

fn provider(roots: &Roots) -> SingleInstanceProvider<ConnectionTracking> {
    single_instance(ConnectionTracking::new(roots))
}

const FILES: [&str; 2] =
    ["proc/sys/net/netfilter/nf_conntrack_count", "proc/sys/net/netfilter/nf_conntrack_max"];

#[test]
fn every_counter() {
    let known = [(ENTRIES, 10_000_079), (ENTRIES_LIMIT, 10_000_103)];
    assert_eq!(collect_all(&mut provider(&fixture("two-nodes"))).all_but(&known), []);
    assert_eq!(COUNTERSET.counters.len(), known.len());
}

/// Checks that ids and title indexes of Connection Tracking never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let ids: Vec<_> = COUNTERSET.counters.iter().map(|c| (c.id.0, c.v1_index.unwrap())).collect();
    assert_eq!(ids, [(0, 24_156), (1, 24_158)]);
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("f9ce5c6a-9786-5f1d-b75b-a40fc3b09480", Some(24_154))
    );
}

#[test]
fn only_the_file_that_is_needed_is_opened() {
    let tree = Tree::proc_of("two-nodes");
    assert_eq!(opened(&tree, provider, &[], &["*"]), [""; 0]);
    assert_eq!(opened(&tree, provider, &[ENTRIES], &["*"]), [FILES[0]]);
    assert_eq!(opened(&tree, provider, &[ENTRIES_LIMIT], &["*"]), [FILES[1]]);
}

#[test]
fn a_fault_costs_only_its_counter() {
    for (file, counter) in FILES.into_iter().zip([ENTRIES, ENTRIES_LIMIT]) {
        for (fault, cause, is_right) in FAULTS {
            let tree = Tree::proc_of("two-nodes");
            cause(&tree, file);
            let collected = collect_all(&mut provider(&tree.roots()));
            assert_eq!(collected.missing("").into_keys().collect::<Vec<_>>(), [counter.0], "{file} {fault}");
            let got = collected.get("", counter);
            assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{file} {fault}: {got:?}");
        }
    }
}

#[test]
fn without_the_module() {
    let missing = collect_all(&mut provider(&fixture("old-kernel"))).missing("");
    let why = "unavailable: the kernel does not track connections: its module nf_conntrack is not loaded";
    assert_eq!(missing.into_values().collect::<Vec<_>>(), [why; 2]);
}
