//! Tests of the counterset ZFS ARC, collected from trees of test files.

use perfset_catalogue::zfs_arc::{COUNTERSET, HITS_PER_SEC, L2_COMPRESSED_SIZE_BYTES, SIZE_BYTES};

use super::{ROWS, ZfsArc};
use crate::provider::{SingleInstanceProvider, single_instance};
use crate::roots::Roots;
use crate::testing::{CellOutcome, FAULTS, Tree, collect_all, fixture, opened};

fn provider(roots: &Roots) -> SingleInstanceProvider<ZfsArc> {
    single_instance(ZfsArc::new(roots))
}

#[test]
fn every_counter() {
    let tree = Tree::proc_of("servers");
    let text = tree.text("proc/spl/kstat/zfs/arcstats");
    let number = |name: &str| {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
        line.split_whitespace().nth(2).unwrap().parse().unwrap()
    };
    let known = ROWS.map(|(counter, name)| (counter, number(name)));
    assert_eq!(collect_all(&mut provider(&tree.roots())).all_but(&known), []);
    assert_eq!((COUNTERSET.counters.len(), number("size")), (known.len(), 1_000_999));
    let old = text.replace("l2_asize ", "l2_other ");
    tree.write("proc/spl/kstat/zfs/arcstats", &old);
    let collected = collect_all(&mut provider(&tree.roots()));
    let reason = &collected.missing("")[&L2_COMPRESSED_SIZE_BYTES.0];
    assert_eq!(reason, "unavailable: this version of ZFS does not report it");
    let without = collect_all(&mut provider(&fixture("small-vm")));
    assert_eq!(without.missing("").len(), known.len());
}

#[test]
fn faults() {
    for (fault, cause, is_right) in FAULTS {
        let tree = Tree::proc_of("servers");
        cause(&tree, "proc/spl/kstat/zfs/arcstats");
        let collected = collect_all(&mut provider(&tree.roots()));
        let got = collected.get("", HITS_PER_SEC);
        assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{fault}: {got:?}");
    }
    let tree = Tree::proc_of("servers");
    assert_eq!(opened(&tree, provider, &[SIZE_BYTES], &["*"]), ["proc/spl/kstat/zfs/arcstats"]);
}

/// Checks that ids and title indexes of the counterset ZFS ARC never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| c.v1_index.unwrap()).collect();
    assert_eq!(indexes, (25_250..25_312).step_by(2).collect::<Vec<_>>());
    assert_eq!(COUNTERSET.counters.iter().map(|c| c.id.0).collect::<Vec<_>>(), Vec::from_iter(0..31));
    assert_eq!(COUNTERSET.v1_index, Some(25_248));
}
