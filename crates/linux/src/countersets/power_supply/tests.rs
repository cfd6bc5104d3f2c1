//! Tests of the counterset Power Supply, collected from trees of test files.

use perfset_catalogue::power_supply::{CAPACITY, COUNTERSET, ONLINE};

use super::PowerSupplies;
use crate::provider::{MultiInstanceProvider, multi_instance};
use crate::roots::Roots;
use crate::testing::{CellOutcome, FAULTS, Tree, collect, collect_all, fixture, opened};

fn provider(roots: &Roots) -> MultiInstanceProvider<PowerSupplies> {
    multi_instance(PowerSupplies::new(roots))
}

#[test]
fn every_counter() {
    let collected = collect_all(&mut provider(&fixture("two-nodes")));
    assert_eq!(collected.names(), ["AC", "BAT0"]);
    assert_eq!(*collected.get("AC", ONLINE), CellOutcome::Value(1));
    assert_eq!(*collected.get("BAT0", CAPACITY), CellOutcome::Value(89));
    let missing = |name, counter: perfset_core::CounterId| collected.missing(name).remove(&counter.0);
    assert_eq!(
        missing("AC", CAPACITY).unwrap(),
        "unavailable: this supply stores no energy, or does not tell how much"
    );
    assert_eq!(
        missing("BAT0", ONLINE).unwrap(),
        "unavailable: this supply cannot be connected or disconnected"
    );
    assert_eq!(collect_all(&mut provider(&fixture("small-vm"))).names(), [""; 0]);
}

#[test]
fn a_fault_costs_only_its_value() {
    for (fault, cause, is_right) in FAULTS {
        let tree = Tree::copy_of("two-nodes");
        cause(&tree, "sys/class/power_supply/AC/online");
        let collected = collect_all(&mut provider(&tree.roots()));
        let got = collected.get("AC", ONLINE);
        assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{fault}: {got:?}");
        assert_eq!(*collected.get("BAT0", CAPACITY), CellOutcome::Value(89));
    }
}

#[test]
fn supplies_come_and_go() {
    let tree = Tree::copy_of("two-nodes");
    let mut provider = provider(&tree.roots());
    let before = collect(&mut provider, &[], &["*"]).rows;
    tree.write("sys/class/power_supply/hid-1/capacity", "31\n");
    std::fs::remove_dir_all(tree.path("sys/class/power_supply/AC")).unwrap();
    let collected = collect(&mut provider, &[CAPACITY], &["*"]);
    assert_eq!(collected.names(), ["BAT0", "hid-1"]);
    assert_eq!(collected.rows[0], before[1], "it keeps its id");
    assert_eq!(*collected.get("hid-1", CAPACITY), CellOutcome::Value(31));
}

#[test]
fn only_what_is_needed_is_read() {
    let tree = Tree::copy_of("two-nodes");
    let folder = "sys/class/power_supply/".to_owned();
    assert_eq!(opened(&tree, provider, &[], &["*"]), std::slice::from_ref(&folder));
    let files = [folder.clone(), format!("{folder}AC/online")];
    assert_eq!(opened(&tree, provider, &[ONLINE], &["AC"]), files);
}

/// Checks that ids and title indexes of Power Supply never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| (c.id.0, c.v1_index.unwrap())).collect();
    assert_eq!(indexes, [(0, 25_196), (1, 25_198)]);
    assert_eq!(COUNTERSET.v1_index, Some(25_194));
}
