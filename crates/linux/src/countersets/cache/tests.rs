//! Tests of the counterset Cache, collected from trees of test files.

use perfset_catalogue::cache as id;
use perfset_core::{CounterId, CounterType};

use super::Cache;
use crate::countersets::vmstat;
use crate::provider::{SingleInstanceProvider, single_instance};
use crate::roots::Roots;
use crate::testing::{
    CellOutcome, ChangedLine, Collected, FAULTS, Tree, check_line, collect, collect_all, fixture, opened,
};

use id::*;

fn provider(roots: &Roots) -> SingleInstanceProvider<Cache> {
    single_instance(Cache::new(vmstat(roots)))
}

/// Counters of Cache that may have a value on Linux, with their raw values in the fixture `two-nodes`.
const KNOWN: [(CounterId, u64); 3] =
    [(DATA_FLUSH_PAGES_PER_SEC, 5_529_611), (DIRTY_PAGES, 5_859_661), (DIRTY_PAGE_THRESHOLD, 4_929_427)];

const OF_KNOWN: [CounterId; 3] = [KNOWN[0].0, KNOWN[1].0, KNOWN[2].0];

/// Returns the counters of Cache without a value in a collection, except counters that never have a value on Linux.
fn lost(collected: &Collected) -> Vec<CounterId> {
    let missing = collected.missing("").into_keys().map(CounterId);
    missing.filter(|counter| OF_KNOWN.contains(counter)).collect()
}

fn never() -> Vec<CounterId> {
    let all = COUNTERSET.counters.iter().map(|counter| counter.id);
    all.filter(|counter| !OF_KNOWN.contains(counter)).collect()
}

#[test]
fn every_counter() {
    let missing = collect_all(&mut provider(&fixture("two-nodes"))).all_but(&KNOWN);
    assert_eq!(missing, never());
}

/// Checks that the catalogue gives a source for each counter of Cache that may have a value, and "Never on Linux" for
/// others.
#[test]
fn the_catalogue_knows_which() {
    for counter in COUNTERSET.counters.iter() {
        let has_source = !counter.source.is_empty();
        assert_eq!(has_source, OF_KNOWN.contains(&counter.id), "{:?}", counter.name);
        let help = &counter.help;
        assert_eq!(help.contains("Never on Linux: "), !has_source, "{help}");
    }
}

/// Checks that ids and title indexes of the counterset Cache never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let is_base = |type_: CounterType| type_ == CounterType::PERF_SAMPLE_BASE;
    let (mut of_microsoft, mut ours) = (86, 22212);
    for (place, counter) in COUNTERSET.counters.iter().enumerate() {
        assert_eq!(counter.id.0 as usize, place);
        let is_new = [DIRTY_PAGES, DIRTY_PAGE_THRESHOLD].contains(&counter.id);
        let last = if is_new || is_base(counter.counter_type) { &mut ours } else { &mut of_microsoft };
        *last += 2;
        assert_eq!(counter.v1_index, Some(*last), "{:?}", counter.name);
    }
    assert_eq!((of_microsoft, ours), (140, 22224));
    let published = [ASYNC_DATA_MAPS_PER_SEC, ASYNC_COPY_READS_PER_SEC, ASYNC_FAST_READS_PER_SEC];
    let indexes = published.map(|counter| COUNTERSET.counter(counter).unwrap().v1_index.unwrap());
    assert_eq!(indexes, [92, 110, 128]);
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("23948caa-a6fb-5b33-93db-c47f18515e3d", Some(86))
    );
}

#[test]
fn only_what_is_needed_is_opened() {
    let tree = Tree::proc_of("two-nodes");
    for (counters, patterns, want) in [
        (&never()[..], "*", &[][..]),
        (&OF_KNOWN, "no such instance", &[]),
        (&[DIRTY_PAGES], "*", &["proc/vmstat"]),
        (&OF_KNOWN, "*", &["proc/vmstat"]),
    ] {
        assert_eq!(opened(&tree, provider, counters, &[patterns]), want, "{counters:?}");
    }
    let len = std::fs::metadata(tree.path("proc/vmstat")).unwrap().len();
    let mut provider = provider(&tree.roots());
    for time in 1..=2 {
        assert_eq!(collect(&mut provider, &OF_KNOWN, &["*"]).bytes_read, len, "time {time}");
    }
}

#[test]
fn a_fault_costs_only_the_counters_that_the_file_feeds() {
    for (fault, cause, is_right) in FAULTS {
        let tree = Tree::proc_of("two-nodes");
        cause(&tree, "proc/vmstat");
        let collected = collect_all(&mut provider(&tree.roots()));
        // The last line feeds nothing.
        let want = if fault == "cut" { &[][..] } else { &OF_KNOWN };
        assert_eq!(lost(&collected), want, "{fault}");
        for counter in want {
            let got = collected.get("", *counter);
            assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{fault}: {got:?}");
        }
        assert_eq!(collected.missing("").len(), want.len() + never().len(), "{fault}");
    }
}

#[test]
fn a_line_costs_only_the_counters_that_it_feeds() {
    const WRITTEN: &[CounterId] = &[DATA_FLUSH_PAGES_PER_SEC];
    const UNKNOWN: &str = "unavailable: this kernel does not report it";
    let cases: [ChangedLine<'_>; 6] = [
        ("vmstat", "nr_written ", "nr_write ", WRITTEN, UNKNOWN),
        ("vmstat", "nr_dirty_threshold ", "nr_dirty_limit ", &[DIRTY_PAGE_THRESHOLD], UNKNOWN),
        ("vmstat", "nr_dirty ", "nr_dirty: ", &[DIRTY_PAGES], UNKNOWN),
        ("vmstat", "5529611", "x", WRITTEN, ":49: expected a number, found \"x\""),
        ("vmstat", "5859661", "5859661 7", &[DIRTY_PAGES], {
            ":38: expected the end of the line, found \"7\""
        }),
        (
            "vmstat",
            "nr_dirty_threshold 4929427",
            "nr_dirty_threshold 18446744073709551616",
            &[DIRTY_PAGE_THRESHOLD],
            ":69: expected a number below 2^64, found \"18446744073709551616\"",
        ),
    ];
    for case in cases {
        check_line(case, provider, lost);
    }
}

#[test]
fn values_are_those_of_now_in_any_order() {
    let tree = Tree::proc_of("two-nodes");
    let mut provider = provider(&tree.roots());
    collect_all(&mut provider);
    tree.write("proc/vmstat", "nr_dirty_threshold 2\nnr_written 40000000003\npgfault 7\nnr_dirty 5\n");
    let collected = collect(&mut provider, &OF_KNOWN, &["*"]);
    let values = OF_KNOWN.map(|counter| collected.get("", counter).clone());
    assert_eq!(values, [40_000_000_003, 5, 2].map(CellOutcome::Value));
}

#[test]
fn other_machines() {
    let small = collect_all(&mut provider(&fixture("small-vm")));
    let values = OF_KNOWN.map(|counter| small.get("", counter).clone());
    assert_eq!(values, [3_504_465, 2_929, 1_186_940].map(CellOutcome::Value));

    let old = collect_all(&mut provider(&fixture("old-kernel"))).missing("");
    assert_eq!(old.len(), COUNTERSET.counters.len());
    assert_eq!(old[&DIRTY_PAGES.0], "unavailable: there is no /proc/vmstat");

    // Linux 2.6.36 counts what is changed, not yet what was written.
    let tree = Tree::proc_of("two-nodes");
    tree.write("proc/vmstat", "nr_free_pages 2\nnr_dirty 3\nnr_writeback 5\npgpgin 7\n");
    let collected = collect_all(&mut provider(&tree.roots()));
    assert_eq!(*collected.get("", DIRTY_PAGES), CellOutcome::Value(3));
    assert_eq!(lost(&collected), [DATA_FLUSH_PAGES_PER_SEC, DIRTY_PAGE_THRESHOLD]);
}
