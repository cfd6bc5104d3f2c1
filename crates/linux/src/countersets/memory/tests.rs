//! Tests of the counterset Memory, collected from trees of test files.

use std::fs;

use perfset_catalogue::memory as id;
use perfset_core::{CounterId, Guid, NoValue};
use perfset_engine::{Provider, Rows, SourceError};

use super::Memory;
use crate::countersets::vmstat;
use crate::provider::{SeqFileKind, SharedFile, SingleInstanceProvider, single_instance};
use crate::roots::Roots;
use crate::testing::{
    CellOutcome, ChangedLine, Collected, FAULTS, Tree, check_line, collect, collect_all, fixture, opened,
};

use id::*;

/// Size of a memory page in these tests: not 4,096, because no code may assume that value.
const PAGE_SIZE: u64 = 16_384;

fn provider(roots: &Roots) -> SingleInstanceProvider<Memory> {
    let meminfo = SharedFile::new(roots.proc.join("meminfo"), SeqFileKind::Single);
    single_instance(Memory::new(roots, meminfo, vmstat(roots), PAGE_SIZE))
}

/// Counters of Memory that never have a value on Linux.
const NEVER: [CounterId; 14] = [
    WRITE_COPIES_PER_SEC,
    TRANSITION_FAULTS_PER_SEC,
    CACHE_FAULTS_PER_SEC,
    DEMAND_ZERO_FAULTS_PER_SEC,
    PAGE_WRITES_PER_SEC,
    POOL_PAGED_ALLOCS,
    POOL_NONPAGED_ALLOCS,
    CACHE_BYTES_PEAK,
    SYSTEM_CODE_TOTAL_BYTES,
    SYSTEM_CODE_RESIDENT_BYTES,
    SYSTEM_DRIVER_RESIDENT_BYTES,
    STANDBY_CACHE_RESERVE_BYTES,
    STANDBY_CACHE_CORE_BYTES,
    LONG_TERM_AVERAGE_STANDBY_CACHE_LIFETIME,
];

/// Counters of Memory that have a value on Linux, with their raw values in the fixture `two-nodes`.
const KNOWN: [(CounterId, u64); 23] = [
    (PAGE_FAULTS_PER_SEC, 4_119_053),
    (AVAILABLE_BYTES, 8_789_953 * 1_024),
    (COMMITTED_BYTES, 6_549_511 * 1_024),
    (COMMIT_LIMIT, 6_619_519 * 1_024),
    (PAGES_PER_SEC, 300_584 + 298_709),
    (PAGES_INPUT_PER_SEC, 300_584), // 4,809,347 / 16
    (PAGE_READS_PER_SEC, 4_089_037),
    (PAGES_OUTPUT_PER_SEC, 298_709), // 4,779,347 / 16
    (POOL_PAGED_BYTES, 7_179_647 * 1_024),
    (POOL_NONPAGED_BYTES, (7_109_639 + 7_039_607 + 6_969_607 + 6_339_451) * 1_024),
    (FREE_SYSTEM_PAGE_TABLE_ENTRIES, 2_147_078_676), // (34,359,738,337 - 6,479,509) / 16
    (CACHE_BYTES, (8_649_937 + 8_719_951 - 7_389_703 + 7_179_647) * 1_024),
    (POOL_PAGED_RESIDENT_BYTES, 7_179_647 * 1_024),
    (SYSTEM_DRIVER_TOTAL_BYTES, 54_983 + 49_957 + 44_953 + 39_953 + 34_949),
    (SYSTEM_CACHE_RESIDENT_BYTES, (8_649_937 + 8_719_951 - 7_389_703) * 1_024),
    (PERCENT_COMMITTED_BYTES_IN_USE, 6_549_511 * 1_024),
    (AVAILABLE_KBYTES, 8_789_953),
    (AVAILABLE_MBYTES, 8_583), // 8,789,953 / 1,024
    (TRANSITION_PAGES_REPURPOSED_PER_SEC, 3_969_001 + 3_938_999 + 3_908_921 + 3_878_921),
    (FREE_ZERO_PAGE_LIST_BYTES, 8_859_967 * 1_024),
    (MODIFIED_PAGE_LIST_BYTES, (7_669_723 + 7_599_707) * 1_024),
    (STANDBY_CACHE_NORMAL_PRIORITY_BYTES, 0), // less is available than free
    (PERCENT_COMMITTED_BYTES_IN_USE_BASE, 6_619_519 * 1_024),
];

const OF_VMSTAT: [CounterId; 6] = [
    PAGE_FAULTS_PER_SEC,
    PAGES_PER_SEC,
    PAGES_INPUT_PER_SEC,
    PAGE_READS_PER_SEC,
    PAGES_OUTPUT_PER_SEC,
    TRANSITION_PAGES_REPURPOSED_PER_SEC,
];
const OF_MODULES: [CounterId; 1] = [SYSTEM_DRIVER_TOTAL_BYTES];

/// Returns the counters of Memory without a value in a collection, except counters that never have a value on Linux.
fn lost(collected: &Collected) -> Vec<CounterId> {
    let missing = collected.missing("").into_keys().map(CounterId);
    missing.filter(|counter| !NEVER.contains(counter)).collect()
}

#[test]
fn every_counter() {
    let missing = collect_all(&mut provider(&fixture("two-nodes"))).all_but(&KNOWN);
    assert_eq!(missing, NEVER);
    assert_eq!(KNOWN.len() + NEVER.len(), COUNTERSET.counters.len());
}

/// Checks that ids and title indexes of the counterset Memory never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| c.v1_index.unwrap()).collect();
    let of_microsoft = [
        28, 24, 26, 30, 32, 34, 36, 38, 40, 822, 42, 48, 56, 58, 50, 60, 64, 678, 818, 820, 66, 68, 70, 72,
        74, 76, 1406, 1380, 1382, 824, 1676, 1678, 1680, 1682, 1684,
    ];
    let ours = [20102, 20104];
    assert_eq!(indexes, [&of_microsoft[..], &ours].concat());
    assert_eq!(COUNTERSET.counters.iter().map(|c| c.id.0).collect::<Vec<_>>(), Vec::from_iter(0..37));
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("41245ce2-c4b6-5542-b6e8-efa18d5b8827", Some(4))
    );
}

#[test]
fn one_instance_without_a_name() {
    let mut provider = provider(&fixture("two-nodes"));
    let mut rows = Rows::new([]);
    rows.start();
    provider.instances(&GUID, &mut rows).unwrap();
    rows.end();
    assert_eq!((rows.len(), rows.name(0).is_empty(), rows.bytes_read()), (1, true, 0));
    assert_eq!(collect(&mut provider, &[COMMIT_LIMIT], &["x*"]).names(), [""; 0]);
    let other = Guid::from_u128(7);
    assert_eq!(provider.instances(&other, &mut rows), Err(SourceError::UnknownCounterset(other)));
}

#[test]
fn only_the_files_that_are_needed_are_read() {
    let tree = Tree::proc_of("two-nodes");
    let len = |file: &str| fs::metadata(tree.path(file)).unwrap().len();
    let (meminfo, vmstat, modules) = (len("proc/meminfo"), len("proc/vmstat"), len("proc/modules"));
    let all = KNOWN.map(|known| known.0);
    let is_of_meminfo = |counter: &CounterId| !OF_VMSTAT.contains(counter) && !OF_MODULES.contains(counter);
    let of_meminfo: Vec<_> = all.into_iter().filter(is_of_meminfo).collect();
    for (name, counters, want) in [
        ("nothing", &[][..], 0),
        ("never there", &NEVER, 0),
        ("sizes", &of_meminfo, meminfo),
        ("events", &OF_VMSTAT, vmstat),
        ("modules", &OF_MODULES, modules),
        ("a fraction", &[PERCENT_COMMITTED_BYTES_IN_USE, PERCENT_COMMITTED_BYTES_IN_USE_BASE], meminfo),
        ("everything", &all, meminfo + vmstat + modules),
    ] {
        let mut provider = provider(&tree.roots());
        for time in 1..=2 {
            assert_eq!(collect(&mut provider, counters, &["*"]).bytes_read, want, "{name}, time {time}");
        }
    }
}

#[test]
fn only_the_files_that_are_needed_are_opened() {
    let tree = Tree::proc_of("two-nodes");
    for (counters, want) in [
        (&NEVER[..], &[][..]),
        (&[AVAILABLE_BYTES, COMMIT_LIMIT], &["proc/meminfo"]),
        (&OF_VMSTAT, &["proc/vmstat"]),
        (&OF_MODULES, &["proc/modules"]),
        (&[PAGE_READS_PER_SEC, CACHE_BYTES], &["proc/meminfo", "proc/vmstat"]),
    ] {
        assert_eq!(opened(&tree, provider, counters, &["*"]), want, "{counters:?}");
    }
    assert_eq!(opened(&tree, provider, &OF_VMSTAT, &["no such instance"]), [""; 0]);
}

#[test]
fn a_fault_costs_only_the_counters_that_the_file_feeds() {
    for file in ["proc/meminfo", "proc/vmstat", "proc/modules"] {
        let feeds = |counter: &CounterId| match file {
            "proc/vmstat" => OF_VMSTAT.contains(counter),
            "proc/modules" => OF_MODULES.contains(counter),
            _ => !OF_VMSTAT.contains(counter) && !OF_MODULES.contains(counter),
        };
        for (fault, cause, is_right) in FAULTS {
            let tree = Tree::proc_of("two-nodes");
            cause(&tree, file);
            let collected = collect_all(&mut provider(&tree.roots()));
            let want: Vec<_> = match (file, fault) {
                ("proc/meminfo" | "proc/vmstat", "cut") => Vec::new(), // the last line feeds nothing
                ("proc/modules", "empty") => Vec::new(),               // no module is loaded
                _ => KNOWN.iter().map(|known| known.0).filter(feeds).collect(),
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
fn a_line_costs_only_the_counters_that_it_feeds() {
    let cases: [ChangedLine<'_>; 9] = [
        (
            "meminfo",
            "Percpu: ",
            "PerCPU: ",
            &[POOL_NONPAGED_BYTES],
            "unavailable: this kernel does not report it",
        ),
        (
            "meminfo",
            "8649937 kB",
            "8649937 MB",
            &[CACHE_BYTES, SYSTEM_CACHE_RESIDENT_BYTES],
            ":5: expected \"kB\", found \"MB\"",
        ),
        ("meminfo", "7669723", "x", &[MODIFIED_PAGE_LIST_BYTES], ":19: expected a number, found \"x\""),
        ("meminfo", "VmallocUsed:", "\nVmallocUsed:-", &[FREE_SYSTEM_PAGE_TABLE_ENTRIES], {
            ":38: expected a number, found \"-\""
        }),
        (
            "vmstat",
            "pgpgin 4809347",
            "pgpgin 18446744073709551616",
            &[PAGES_PER_SEC, PAGES_INPUT_PER_SEC],
            ":73: expected a number below 2^64, found \"18446744073709551616\"",
        ),
        (
            "vmstat",
            "pgmajfault ",
            "pgmajfault",
            &[PAGE_READS_PER_SEC],
            "unavailable: this kernel does not report it",
        ),
        ("vmstat", "3938999", "3938999 7", &[TRANSITION_PAGES_REPURPOSED_PER_SEC], {
            ":102: expected the end of the line, found \"7\""
        }),
        ("modules", "xfs 49957", "xfs -49957", &OF_MODULES, ":2: expected a number, found \"-49957\""),
        ("modules", "zram", "\nzram", &OF_MODULES, ":5: expected a word, found the end of the line"),
    ];
    for case in cases {
        check_line(case, provider, lost);
    }
}

#[test]
fn standby_is_what_is_available_and_not_free() {
    let tree = Tree::proc_of("two-nodes");
    tree.write("proc/meminfo", &tree.text("proc/meminfo").replace("8789953", "9789953"));
    let collected = collect_all(&mut provider(&tree.roots()));
    let want = (9_789_953 - 8_859_967) * 1_024;
    assert_eq!(*collected.get("", STANDBY_CACHE_NORMAL_PRIORITY_BYTES), CellOutcome::Value(want));
}

/// Checks the count of reclaimed pages on kernels that lack `pgsteal` lines in `/proc/vmstat`. Before 6.1, the line
/// of programs includes pages that are reclaimed for huge pages.
#[test]
fn reclaimed_pages_of_kernels_with_fewer_lines() {
    let tree = Tree::proc_of("two-nodes");
    for (line, want) in [
        ("pgsteal_proactive 3878921\n", Some(3_969_001 + 3_938_999 + 3_908_921)),
        ("pgsteal_khugepaged 3908921\n", Some(3_969_001 + 3_938_999)),
        ("pgsteal_direct 3938999\n", None),
    ] {
        let text = tree.text("proc/vmstat");
        assert_eq!(text.matches(line).count(), 1, "{line}");
        tree.write("proc/vmstat", &text.replace(line, ""));
        let collected = collect_all(&mut provider(&tree.roots()));
        match (collected.get("", TRANSITION_PAGES_REPURPOSED_PER_SEC), want) {
            (CellOutcome::Value(found), Some(want)) => assert_eq!(*found, want, "without {line}"),
            (CellOutcome::None(NoValue::Unavailable(_)), None) => {}
            (found, want) => panic!("without {line}: {found:?}, not {want:?}"),
        }
    }
}

#[test]
fn another_order_of_lines() {
    let tree = Tree::proc_of("two-nodes");
    for file in ["proc/meminfo", "proc/vmstat", "proc/modules"] {
        let text = tree.text(file);
        let reversed: Vec<_> = text.lines().rev().map(|line| format!("{line}\n")).collect();
        tree.write(file, &reversed.concat());
    }
    let collected = collect_all(&mut provider(&tree.roots()));
    for (counter, value) in KNOWN {
        assert_eq!(*collected.get("", counter), CellOutcome::Value(value), "{counter:?}");
    }
}

#[test]
fn values_are_those_of_now() {
    let tree = Tree::proc_of("two-nodes");
    let mut provider = provider(&tree.roots());
    collect_all(&mut provider);
    tree.write("proc/meminfo", &tree.text("proc/meminfo").replace("8859967", "5"));
    tree.write("proc/vmstat", &tree.text("proc/vmstat").replace("4119053", "40000000003"));
    tree.write("proc/modules", "a 2 0\n");
    let collected = collect_all(&mut provider);
    assert_eq!(*collected.get("", FREE_ZERO_PAGE_LIST_BYTES), CellOutcome::Value(5 * 1_024));
    assert_eq!(*collected.get("", PAGE_FAULTS_PER_SEC), CellOutcome::Value(40_000_000_003));
    assert_eq!(*collected.get("", SYSTEM_DRIVER_TOTAL_BYTES), CellOutcome::Value(2));
}

#[test]
fn hostile_numbers_saturate() {
    let tree = Tree::proc_of("two-nodes");
    let max = u64::MAX;
    let meminfo = tree.text("proc/meminfo");
    let lines = meminfo.lines().filter_map(|line| line.split_once(':'));
    let huge =
        lines.map(|(name, _)| format!("{name}: {} kB\n", if name == "VmallocTotal" { 2 } else { max }));
    tree.write("proc/meminfo", &huge.collect::<String>());
    tree.write("proc/vmstat", &format!("pgpgin {max}\npgpgout {max}\npgfault 2\npgmajfault 3\n"));
    let collected = collect_all(&mut provider(&tree.roots()));
    for (counter, want) in [
        (AVAILABLE_BYTES, max),
        (AVAILABLE_KBYTES, max),
        (POOL_NONPAGED_BYTES, max),
        (MODIFIED_PAGE_LIST_BYTES, max),
        (SYSTEM_CACHE_RESIDENT_BYTES, 0),
        (STANDBY_CACHE_NORMAL_PRIORITY_BYTES, 0),
        (FREE_SYSTEM_PAGE_TABLE_ENTRIES, 0),
        (PAGES_PER_SEC, max / PAGE_SIZE * 2),
    ] {
        assert_eq!(*collected.get("", counter), CellOutcome::Value(want), "{counter:?}");
    }
}

#[test]
fn an_old_kernel() {
    let collected = collect_all(&mut provider(&fixture("old-kernel")));
    assert_eq!(*collected.get("", FREE_ZERO_PAGE_LIST_BYTES), CellOutcome::Value(69 * 1_024));
    assert_eq!(*collected.get("", SYSTEM_DRIVER_TOTAL_BYTES), CellOutcome::Value(137 + 139 + 149));
    let missing = collected.missing("");
    assert_eq!(missing[&AVAILABLE_BYTES.0], "unavailable: this kernel does not report it");
    assert_eq!(missing[&CACHE_BYTES.0], "unavailable: this kernel does not report it");
    assert_eq!(missing[&PAGE_FAULTS_PER_SEC.0], "unavailable: there is no /proc/vmstat");
    assert_eq!(missing.len(), 37 - 2);
}

#[test]
fn a_small_virtual_machine() {
    let collected = collect_all(&mut provider(&fixture("small-vm")));
    assert_eq!(lost(&collected), OF_MODULES);
    assert_eq!(collected.missing("")[&SYSTEM_DRIVER_TOTAL_BYTES.0], "unavailable: there is no /proc/modules");
}
