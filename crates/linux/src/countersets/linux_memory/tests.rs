//! Tests of the counterset Linux Memory, collected from trees of test files.

use std::collections::BTreeMap;

use perfset_catalogue::linux_memory as id;
use perfset_core::{CounterId, CounterType};

use super::LinuxMemory;
use crate::countersets::vmstat;
use crate::provider::{SeqFileKind, SharedFile, SingleInstanceProvider, single_instance};
use crate::roots::Roots;
use crate::testing::{
    CellOutcome, ChangedLine, Collected, FAULTS, Tree, check_line, collect, collect_all, fixture, opened,
};

use id::*;

fn provider(roots: &Roots) -> SingleInstanceProvider<LinuxMemory> {
    let meminfo = SharedFile::new(roots.proc.join("meminfo"), SeqFileKind::Single);
    single_instance(LinuxMemory::new(meminfo, vmstat(roots)))
}

/// Returns the lines of a file in `/proc`, parsed in the simplest way: name, number, and `true` if in KiB.
fn lines(roots: &Roots, file: &str) -> Vec<(String, u64, bool)> {
    let text = std::fs::read_to_string(roots.proc.join(file)).unwrap();
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap().trim_end_matches(':').to_owned();
        (name, words.next().unwrap().parse().unwrap(), words.next() == Some("kB"))
    };
    text.lines().map(line).collect()
}

fn is_of_meminfo(counter: CounterId) -> bool {
    COUNTERSET.counter(counter).unwrap().source.file == "/proc/meminfo"
}

/// Returns the counters of Linux Memory without a value in a collection, although the fixture `two-nodes` has their
/// lines.
fn lost(collected: &Collected) -> Vec<CounterId> {
    let roots = fixture("two-nodes");
    let there: BTreeMap<_, _> = [lines(&roots, "meminfo"), lines(&roots, "vmstat")]
        .concat()
        .into_iter()
        .map(|(name, number, _)| (name, number))
        .collect();
    let missing = collected.missing("").into_keys().map(CounterId);
    missing
        .filter(|counter| there.contains_key(COUNTERSET.counter(*counter).unwrap().name.as_deref().unwrap()))
        .collect()
}

#[test]
fn every_line_has_a_counter() {
    for machine in ["two-nodes", "small-vm"] {
        let roots = fixture(machine);
        let collected = collect_all(&mut provider(&roots));
        assert_eq!(collected.rows, [(String::new(), 0, None)]);
        let mut known = 0;
        for file in ["meminfo", "vmstat"] {
            for (name, number, is_kib) in lines(&roots, file) {
                let counter = COUNTERSET.counters.iter().find(|c| c.name.as_deref() == Some(&name)).unwrap();
                let number = if is_kib { number * 1_024 } else { number };
                assert_eq!(*collected.get("", counter.id), CellOutcome::Value(number), "{name}");
                let source = format!("/proc/{file}: {name}{}", if is_kib { " x 1024" } else { "" });
                assert_eq!(counter.source.to_string(), source);
                assert_eq!(counter.unit == "By", is_kib, "{name}");
                known += 1;
            }
        }
        let missing = collected.missing("");
        assert_eq!(known + missing.len(), COUNTERSET.counters.len());
        let reason = "unavailable: this kernel does not report it";
        assert!(missing.values().all(|why| why == reason), "{missing:?}");
    }
}

/// Checks that Linux Memory's counters of states may fall, and that its counters of events may not fall and are shown
/// per second.
#[test]
fn states_and_events() {
    for counter in COUNTERSET.counters.iter() {
        let name = counter.name.as_deref().unwrap();
        let counts_events = [
            "nr_dirtied",
            "nr_written",
            "nr_vmscan_write",
            "nr_vmscan_immediate_reclaim",
            "nr_throttled_written",
            "nr_foll_pin_acquired",
            "nr_foll_pin_released",
        ];
        let is_state = is_of_meminfo(counter.id)
            || name == "workingset_nodes"
            || name.starts_with("nr_") && !counts_events.contains(&name) && !name.starts_with("nr_tlb_");
        let want = if is_state {
            CounterType::PERF_COUNTER_LARGE_RAWCOUNT
        } else {
            CounterType::PERF_COUNTER_BULK_COUNT
        };
        assert_eq!(counter.counter_type, want, "{name}");
    }
}

/// Checks that ids and title indexes of Linux Memory never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("9a316cd0-de1c-5abc-8fe2-0d93dcf2e91c", Some(21624))
    );
    let mut next = 21626;
    for (place, counter) in COUNTERSET.counters.iter().enumerate() {
        assert_eq!(counter.id.0 as usize, place);
        let shared = match counter.id {
            NUMA_HIT => Some(21612),
            NUMA_MISS => Some(21614),
            NUMA_FOREIGN => Some(21616),
            _ => None,
        };
        assert_eq!(counter.v1_index, shared.or(Some(next)), "{:?}", counter.name);
        next += if shared.is_some() { 0 } else { 2 };
    }
    assert_eq!((MEMTOTAL.0, NR_FREE_PAGES.0, NR_UNSTABLE.0), (0, 66, 280));
    assert!(is_of_meminfo(CounterId(NR_FREE_PAGES.0 - 1)) && !is_of_meminfo(NR_FREE_PAGES));
}

#[test]
fn only_the_files_that_are_needed_are_opened() {
    let tree = Tree::proc_of("two-nodes");
    for (counters, want) in [
        (&[MEMTOTAL, DIRTY][..], &["proc/meminfo"][..]),
        (&[PGFAULT, NR_DIRTY], &["proc/vmstat"]),
        (&[SLAB, OOM_KILL], &["proc/meminfo", "proc/vmstat"]),
        (&[], &[]),
    ] {
        assert_eq!(opened(&tree, provider, counters, &["*"]), want, "{counters:?}");
    }
}

#[test]
fn a_fault_costs_only_the_counters_that_the_file_feeds() {
    for file in ["meminfo", "vmstat"] {
        for (fault, cause, is_right) in FAULTS {
            let tree = Tree::proc_of("two-nodes");
            cause(&tree, &format!("proc/{file}"));
            let collected = collect_all(&mut provider(&tree.roots()));
            let want: Vec<_> = match (file, fault) {
                ("meminfo", "cut") => vec![DIRECTMAP1G],
                ("vmstat", "cut") => vec![NR_UNSTABLE],
                _ => {
                    let all = lost(&collected);
                    assert_eq!(all.len(), lines(&fixture("two-nodes"), file).len(), "{file} {fault}");
                    assert!(all.iter().all(|counter| is_of_meminfo(*counter) == (file == "meminfo")));
                    all
                }
            };
            assert_eq!(lost(&collected), want, "{file} {fault}");
            for counter in want {
                let got = collected.get("", counter);
                assert!(
                    matches!(got, CellOutcome::None(reason) if is_right(reason)),
                    "{file} {fault}: {got:?}"
                );
            }
        }
    }
}

#[test]
fn a_line_costs_only_its_counter() {
    let cases: [ChangedLine<'_>; 4] = [
        ("meminfo", "Percpu: ", "PerCPU: ", &[PERCPU], "unavailable: this kernel does not report it"),
        ("meminfo", "7669723 kB", "7669723 MB", &[DIRTY], ":19: expected the end of the line, found \"MB\""),
        ("meminfo", "5779349", "-5", &[HUGEPAGES_FREE], ":47: expected a number, found \"-5\""),
        ("vmstat", "oom_kill 3248701", "oom_kill 3248701 7", &[OOM_KILL], {
            ":125: expected the end of the line, found \"7\""
        }),
    ];
    for case in cases {
        check_line(case, provider, lost);
    }
}

#[test]
fn lines_come_and_go() {
    let tree = Tree::proc_of("two-nodes");
    let mut provider = provider(&tree.roots());
    let mut get = |text: &str| {
        tree.write("proc/vmstat", text);
        let collected = collect(&mut provider, &[PGFAULT, OOM_KILL, PSWPIN], &["*"]);
        [PGFAULT, OOM_KILL, PSWPIN].map(|counter| match collected.get("", counter) {
            CellOutcome::Value(value) => Some(*value),
            _ => None,
        })
    };
    assert_eq!(get("pgfault 2\noom_kill 3\n"), [Some(2), Some(3), None]);
    assert_eq!(get("pgfault 5\noom_kill 7\n"), [Some(5), Some(7), None]);
    assert_eq!(get("new 1\npgfault 11\nmore 1\npswpin 13\n"), [Some(11), None, Some(13)]);
    assert_eq!(get("oom_kill 17\n"), [None, Some(17), None]);
}

#[test]
fn an_old_kernel() {
    let collected = collect_all(&mut provider(&fixture("old-kernel")));
    let missing = collected.missing("");
    assert_eq!(*collected.get("", MEMFREE), CellOutcome::Value(69 * 1_024));
    assert_eq!(missing[&PGFAULT.0], "unavailable: there is no /proc/vmstat");
    assert_eq!(missing[&MEMAVAILABLE.0], "unavailable: this kernel does not report it");
}
