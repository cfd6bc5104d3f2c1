//! Tests of the counterset Bonding, collected from trees of test files.

use perfset_catalogue::bonding::{ACTIVE_SLAVES, COUNTERSET, SLAVES};

use super::Bonding;
use crate::provider::{MultiInstanceProvider, multi_instance};
use crate::roots::Roots;
use crate::testing::{CellOutcome, FAULTS, Tree, collect_all, fixture, opened, try_collect};

fn provider(roots: &Roots) -> MultiInstanceProvider<Bonding> {
    multi_instance(Bonding::new(roots))
}

#[test]
fn every_counter() {
    let tree = Tree::copy_of("servers");
    let mut provider = provider(&tree.roots());
    let collected = collect_all(&mut provider);
    assert_eq!(collected.names(), ["bond0", "bond1"]);
    for (bond, slaves, active) in [("bond0", 3, 2), ("bond1", 0, 0)] {
        assert_eq!(*collected.get(bond, SLAVES), CellOutcome::Value(slaves));
        assert_eq!(*collected.get(bond, ACTIVE_SLAVES), CellOutcome::Value(active));
    }
    tree.write("sys/class/net/bonding_masters", "bond1\n");
    assert_eq!(collect_all(&mut provider).names(), ["bond1"]);
    assert_eq!(collect_all(&mut multi_instance(Bonding::new(&fixture("small-vm")))).names(), [""; 0]);
}

#[test]
fn faults() {
    for (fault, cause, is_right) in FAULTS {
        let tree = Tree::copy_of("servers");
        cause(&tree, "sys/class/net/eth3/bonding_slave/mii_status");
        let collected = collect_all(&mut provider(&tree.roots()));
        assert_eq!(*collected.get("bond0", SLAVES), CellOutcome::Value(3));
        let got = collected.get("bond0", ACTIVE_SLAVES);
        match fault {
            // Any word except `up` is a slave that is not up.
            "malformed" => assert_eq!(*got, CellOutcome::Value(1)),
            _ => assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{fault}: {got:?}"),
        }
        let tree = Tree::copy_of("servers");
        cause(&tree, "sys/class/net/bonding_masters");
        let got = try_collect(&mut provider(&tree.roots()), &[], &["*"]);
        match fault {
            "empty" | "missing" => assert_eq!(got.unwrap().names(), [""; 0]),
            "malformed" => assert_eq!(got.unwrap().names(), ["x"]),
            _ => assert!(got.is_err(), "{fault}"),
        }
    }
    let tree = Tree::copy_of("servers");
    let class = "sys/class/net";
    let want = [format!("{class}/bond0/bonding/slaves"), format!("{class}/bonding_masters")];
    assert_eq!(opened(&tree, provider, &[SLAVES], &["bond0"]), want);
}

/// Checks that ids and title indexes of the counterset Bonding never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| (c.id.0, c.v1_index.unwrap())).collect();
    assert_eq!(indexes, [(0, 25_314), (1, 25_316)]);
    assert_eq!(COUNTERSET.v1_index, Some(25_312));
}
