//! Tests of the counterset Paging File, collected from trees of test files.

use perfset_catalogue::paging_file as id;
use perfset_core::NoValue;
use perfset_engine::SourceError;

use super::PagingFile;
use crate::provider::{MultiInstanceProvider, multi_instance};
use crate::roots::Roots;
use crate::testing::{CellOutcome, FAULTS, Tree, collect, collect_all, fixture, opened, try_collect};

use id::*;

fn provider(roots: &Roots) -> MultiInstanceProvider<PagingFile> {
    multi_instance(PagingFile::new(roots))
}

#[test]
fn every_counter() {
    let collected = collect_all(&mut provider(&fixture("many-disks")));
    let names = ["/dev/dm-1", "/swap file", "/old (deleted)", "/old (deleted)", "_Total"];
    assert_eq!(collected.names(), names);
    for (name, used, size) in [
        ("/dev/dm-1", 1_048_573, 8_388_587),
        ("/swap file", 524_287, 4_194_301),
        ("_Total", 1_048_573 + 524_287 + 262_139 + 131_071, 8_388_587 + 4_194_301 + 2_097_143 + 1_048_571),
    ] {
        assert_eq!(*collected.get(name, PERCENT_USAGE), CellOutcome::Value(used), "{name}");
        assert_eq!(*collected.get(name, PERCENT_USAGE_BASE), CellOutcome::Value(size), "{name}");
        let missing = collected.missing(name);
        assert_eq!(missing.keys().collect::<Vec<_>>(), [&PERCENT_USAGE_PEAK.0, &PERCENT_USAGE_PEAK_BASE.0]);
        assert!(missing.values().all(|why| why == "unavailable: the kernel keeps no such maximum"));
    }
    let mut ids: Vec<_> = collected.rows.iter().map(|row| row.1).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), names.len());
}

#[test]
fn an_id_stays_when_others_go() {
    let tree = Tree::proc_of("many-disks");
    let mut provider = provider(&tree.roots());
    let id = |collected: &crate::testing::Collected| {
        collected.rows.iter().find(|row| row.0 == "/swap file").map(|row| row.1)
    };
    let before = id(&collect(&mut provider, &[], &["*"]));
    let text = tree.text("proc/swaps");
    tree.write(
        "proc/swaps",
        &text
            .lines()
            .filter(|line| !line.contains("dm-1"))
            .fold(String::new(), |all, line| all + line + "\n"),
    );
    let after = collect(&mut provider, &[], &["*"]);
    assert_eq!(after.names(), ["/swap file", "/old (deleted)", "/old (deleted)", "_Total"]);
    assert!(before.is_some() && id(&after) == before);
}

#[test]
fn no_swap() {
    assert_eq!(collect_all(&mut provider(&fixture("small-vm"))).names(), [""; 0]);
    assert_eq!(collect_all(&mut provider(&fixture("two-nodes"))).names(), [""; 0], "a kernel without swap");
    let old = collect_all(&mut provider(&fixture("old-disks")));
    assert_eq!(old.names(), ["/dev/sdc2", "/a b/swap", "_Total"]);
    assert_eq!(*old.get("/a b/swap", PERCENT_USAGE), CellOutcome::Value(109));
}

#[test]
fn faults() {
    for (fault, cause, _) in FAULTS {
        let tree = Tree::proc_of("many-disks");
        cause(&tree, "proc/swaps");
        let collected = try_collect(&mut provider(&tree.roots()), &[PERCENT_USAGE], &["*"]);
        match fault {
            "missing" => assert_eq!(collected.unwrap().names(), [""; 0]),
            "cut" => {
                let collected = collected.unwrap();
                assert!(matches!(collected.get("_Total", PERCENT_USAGE), CellOutcome::Partial(_, 1)));
                assert!(collected.missing("/dev/dm-1").is_empty());
            }
            _ => assert!(matches!(collected.unwrap_err(), SourceError::Failed(_)), "{fault}"),
        }
    }
    let tree = Tree::proc_of("many-disks");
    tree.write("proc/swaps", &tree.text("proc/swaps").replace("4194301", "-"));
    let collected = collect(&mut provider(&tree.roots()), &[PERCENT_USAGE], &["*"]);
    let CellOutcome::None(NoValue::Failed(why)) = collected.get("/swap file", PERCENT_USAGE) else {
        panic!("{collected:?}")
    };
    assert!(why.ends_with("/swaps:3: expected a number, found \"-\""), "{why}");
    assert_eq!(opened(&tree, provider, &[PERCENT_USAGE], &["*"]), ["proc/swaps"]);
}

/// Checks that ids and title indexes of the counterset Paging File never change: programs and logs hold these
/// numbers.
#[test]
fn ids_and_title_indexes() {
    let numbers = COUNTERSET.counters.iter().map(|c| (c.id.0, c.v1_index.unwrap()));
    assert_eq!(numbers.collect::<Vec<_>>(), [(0, 702), (1, 20222), (2, 704), (3, 20224)]);
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("f3ecbeff-f1e7-5e3e-b75d-4814eb315526", Some(700))
    );
}
