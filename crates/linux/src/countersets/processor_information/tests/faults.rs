//! Tests of processor counters with files that are malformed, empty, cut, missing, refused or no files.

use super::*;
use id::*;

/// Ids of counters of Processor Information that never have a value on Linux.
const NEVER: [u32; 4] = [7, 16, 19, 31];
const TIMES: [u32; 7] = [0, 1, 2, 4, 5, 8, 15];

/// Returns the counters of Processor Information without a value in one instance, except counters that never have a
/// value on Linux.
fn lost(collected: &Collected, instance: &str) -> Vec<u32> {
    collected.missing(instance).into_keys().filter(|counter| !NEVER.contains(counter)).collect()
}

fn with(counters: &[u32], more: &[u32]) -> Vec<u32> {
    let mut all = [counters, more].concat();
    all.sort_unstable();
    all
}

#[test]
fn a_fault_costs_only_the_counters_that_the_file_feeds() {
    // (file, counters of CPU "0,1" (kernel number 2) that it feeds, the same of "1,0")
    let cases: [(&str, Vec<u32>, Vec<u32>); 11] = [
        ("proc/stat", with(&TIMES, &[28]), with(&TIMES, &[28])),
        ("proc/interrupts", vec![3, 20], vec![3, 20]),
        ("proc/softirqs", vec![6], vec![6]),
        ("cpu/cpu2/cpuidle/state2/time", vec![10, 21], vec![]),
        ("cpu/cpu2/cpuidle/state3/usage", vec![14, 22, 23], vec![]),
        ("cpu/cpu2/cpufreq/scaling_cur_freq", vec![18], vec![]),
        ("cpu/cpu2/cpufreq/scaling_max_freq", vec![30], vec![]),
        ("cpu/cpu2/cpufreq/cpuinfo_max_freq", vec![18, 30], vec![]),
        ("cpu/cpu2/acpi_cppc/feedback_ctrs", vec![24, 25, 26], vec![]),
        ("cpu/cpu2/acpi_cppc/nominal_freq", vec![26, 27, 28], vec![]),
        ("proc/cpuinfo", vec![], vec![]),
    ];
    for (file, of_0_1, of_1_0) in &cases {
        for (fault, cause, is_right) in &FAULTS {
            if (*file, *fault) == ("proc/stat", "cut") {
                continue; // its last line feeds nothing
            }
            let tree = Tree::copy_of("two-nodes");
            cause(&tree, file);
            let collected = collect_all(&mut provider(tree.roots()));
            assert_eq!(lost(&collected, "0,1"), *of_0_1, "{file} {fault}");
            assert_eq!(lost(&collected, "1,0"), *of_1_0, "{file} {fault}");
            for counter in of_0_1 {
                match collected.get("0,1", CounterId(*counter)) {
                    CellOutcome::None(reason) => {
                        assert!(is_right(reason), "{file} {fault} {counter}: {reason:?}")
                    }
                    got => panic!("{file} {fault} {counter}: {got:?}"),
                }
            }
        }
    }
}

#[test]
fn reasons_name_file_line_and_what() {
    let tree = Tree::copy_of("two-nodes");
    let reason = |file: &str, counter: CounterId, row: &str| {
        let got = collect(&mut provider(tree.roots()), &[counter], &[row]).get(row, counter).clone();
        let CellOutcome::None(reason) = got else { panic!("{file}: {got:?}") };
        let path = tree.path(file).display().to_string();
        reason
            .to_string()
            .strip_prefix(&path)
            .map(str::to_owned)
            .unwrap_or_else(|| panic!("{path}: {reason}"))
    };
    tree.write("proc/stat", &tree.text("proc/stat").replace("cpu2 73 79", "cpu2 73 \u{1b}79"));
    let why = ":4: expected a number, found \"\\u{1b}79\"";
    assert_eq!(reason("proc/stat", PERCENT_USER_TIME, "0,1"), why);
    assert_eq!(
        reason("proc/stat", PERCENT_USER_TIME, "_Total"),
        why,
        "a total lacks what one of its CPUs lacks"
    );
    let lines = fixture_stat();
    tree.write("proc/stat", "cpu  2 3 5 7\n");
    assert_eq!(reason("proc/stat", PERCENT_USER_TIME, "1,1"), ": nothing about cpu3", "nor about any other");
    tree.write("proc/stat", &lines.replace("cpu3 127", "cpu2 127"));
    let why = ":5: expected a number in ascending order and below the limit, found \"2\"";
    assert_eq!(reason("proc/stat", PERCENT_USER_TIME, "0,0"), why, "the whole file makes no sense");
    tree.write("cpu/cpu2/cpufreq/scaling_max_freq", "<unknown>\n");
    let why = ":1: expected a number, found \"<unknown>\"";
    assert_eq!(reason("cpu/cpu2/cpufreq/scaling_max_freq", PERCENT_PERFORMANCE_LIMIT, "0,1"), why);
}

#[test]
fn a_gauge_of_several_cpus_leaves_out_those_without() {
    let tree = Tree::copy_of("two-nodes");
    for cpu in [1, 3] {
        tree.remove(&format!("cpu/cpu{cpu}/cpufreq/scaling_cur_freq"));
    }
    let collected = collect_all(&mut provider(tree.roots()));
    let of_7 = collected.get("1,2", PERCENT_OF_MAXIMUM_FREQUENCY).clone();
    assert!(matches!(of_7, CellOutcome::Value(_)));
    assert_eq!(*collected.get("1,_Total", PERCENT_OF_MAXIMUM_FREQUENCY), of_7);
    tree.remove("cpu/cpu7/cpufreq/scaling_cur_freq");
    let collected = collect_all(&mut provider(tree.roots()));
    assert_eq!(collected.missing("1,_Total")[&18], "unavailable: this machine has no cpufreq");
}

#[test]
fn nominal_frequency_has_three_sources() {
    let tree = Tree::copy_of("two-nodes");
    let mhz = || collect(&mut provider(tree.roots()), &[PROCESSOR_FREQUENCY], &["*"]);
    assert_eq!(*mhz().get("1,1", PROCESSOR_FREQUENCY), CellOutcome::Value(2_115));
    tree.remove("cpu/cpu3/cpufreq/base_frequency");
    assert_eq!(*mhz().get("1,1", PROCESSOR_FREQUENCY), CellOutcome::Value(3_515));
    tree.remove("cpu/cpu3/cpufreq/cpuinfo_max_freq");
    assert_eq!(*mhz().get("1,1", PROCESSOR_FREQUENCY), CellOutcome::Value(1_801));
    tree.write("proc/cpuinfo", "processor : 3\ncpu MHz : x\n");
    let cpuinfo = tree.path("proc/cpuinfo").display().to_string();
    let why = format!("{cpuinfo}:2: expected a number, found \"x\"");
    assert_eq!(mhz().missing("1,1")[&17], why);
    assert_eq!(mhz().missing("1,2"), BTreeMap::new(), "nobody reads it for the others");
    tree.remove("proc/cpuinfo");
    assert_eq!(mhz().missing("1,1")[&17], "unavailable: neither cpufreq nor /proc/cpuinfo knows a frequency");
}

#[test]
fn numbers_that_say_unknown() {
    let tree = Tree::copy_of("two-nodes");
    tree.write("cpu/cpu2/acpi_cppc/nominal_freq", "0\n");
    tree.write("cpu/cpu2/cpufreq/cpuinfo_max_freq", "0\n");
    let missing = collect_all(&mut provider(tree.roots())).missing("0,1");
    assert_eq!(missing[&26], "unavailable: the firmware does not say how fast the reference counter runs");
    assert_eq!(missing[&18], "unavailable: cpufreq gives the highest frequency as 0");
    assert!(!missing.contains_key(&24));
}

#[test]
fn hostile_numbers_saturate_or_wrap() {
    let tree = Tree::copy_of("two-nodes");
    let max = u64::MAX;
    let columns = vec![max.to_string(); 10].join(" ");
    tree.write("proc/stat", &format!("cpu  {columns}\ncpu2 {columns}\n"));
    tree.write("proc/interrupts", &format!("CPU2\nLOC: {max} x\n5: {max} x\n"));
    for file in
        ["cpufreq/base_frequency", "cpufreq/scaling_cur_freq", "cpuidle/state1/time", "cpuidle/state2/time"]
    {
        tree.write(&format!("cpu/cpu2/{file}"), &format!("{max}\n"));
    }
    tree.write("cpu/cpu2/acpi_cppc/feedback_ctrs", &format!("ref:{max} del:{max}\n"));
    let collected = collect_all(&mut provider(tree.roots()));
    assert_eq!(*collected.get("0,1", PERCENT_USER_TIME), CellOutcome::Value(max));
    assert_eq!(*collected.get("0,1", PERCENT_C1_TIME), CellOutcome::Value(max));
    assert_eq!(*collected.get("0,1", INTERRUPTS_PER_SEC), CellOutcome::Value(0xFFFF_FFFE));
    assert_eq!(*collected.get("_Total", INTERRUPTS_PER_SEC), CellOutcome::Value(0xFFFF_FFFE));
    let cycles = u64::try_from((100 * u128::from(max)) >> 10).unwrap();
    assert_eq!(*collected.get("0,1", PERCENT_PROCESSOR_PERFORMANCE), CellOutcome::Value(cycles));
}

#[test]
fn clock_interrupts_without_a_row() {
    let tree = Tree::copy_of("two-nodes");
    tree.write("proc/interrupts", &tree.text("proc/interrupts").replace("LOC:", "COL:"));
    let collected = collect_all(&mut provider(tree.roots()));
    let why = "unavailable: /proc/interrupts has no row of clock interrupts: LOC, arch_timer";
    assert_eq!(collected.missing("0,1")[&20], why);
    assert_eq!(lost(&collected, "0,1"), [20]);
}

#[test]
fn the_list_of_online_cpus_has_a_second_source() {
    for (name, text) in
        [("malformed", "0-\n"), ("too large", "0-4294967295\n"), ("empty", ""), ("none", "\n")]
    {
        let tree = Tree::copy_of("two-nodes");
        let whole = collect_all(&mut provider(tree.roots()));
        tree.write("cpu/online", text);
        let collected = collect_all(&mut provider(tree.roots()));
        assert_eq!((&collected.rows, &collected.cells), (&whole.rows, &whole.cells), "{name}");
    }
}

#[test]
fn nodes_that_cannot_be_read_are_node_0() {
    let tree = Tree::copy_of("two-nodes");
    tree.write("node/node1/cpulist", "x\n");
    let names = |tree: &Tree| {
        let collected = collect(&mut provider(tree.roots()), &[], &["*"]);
        collected.rows.into_iter().map(|row| (row.0, row.1)).filter(|row| row.1 < 8).collect::<Vec<_>>()
    };
    let of = |rows: [(&str, u32); 7]| rows.map(|(name, id)| (name.to_owned(), id));
    assert_eq!(
        names(&tree),
        of([("0,0", 0), ("0,1", 2), ("0,2", 4), ("0,3", 6), ("0,4", 1), ("0,5", 3), ("0,6", 7)])
    );
    tree.remove("node/online");
    assert_eq!(
        names(&tree),
        of([("0,0", 0), ("0,1", 1), ("0,2", 2), ("0,3", 3), ("0,4", 4), ("0,5", 6), ("0,6", 7)])
    );
}

#[test]
fn without_any_cpu_there_is_nothing_to_deliver() {
    let tree = Tree::copy_of("old-kernel");
    tree.write("proc/stat", "cpu  2 3 5 7\n");
    let error = try_collect(&mut provider(tree.roots()), &[PERCENT_USER_TIME], &["*"]).unwrap_err();
    let online = tree.path("cpu/online").display().to_string();
    let why = format!("no CPU can be listed. {online}: unavailable: it does not exist; stat: it lists none");
    assert_eq!(error, SourceError::Failed(why.into()));
}

#[test]
fn cpus_that_proc_stat_lacks_have_no_row() {
    let tree = Tree::copy_of("two-nodes");
    let whole = collect_all(&mut provider(tree.roots()));
    let lines: Vec<_> = fixture_stat().lines().map(str::to_owned).collect();
    let without = |cpus: [&str; 3]| {
        let of_these = |line: &&String| !cpus.iter().any(|cpu| line.starts_with(cpu));
        lines.iter().filter(of_these).map(|line| format!("{line}\n")).collect::<String>()
    };

    tree.write("proc/stat", &without(["cpu1 ", "cpu6 ", "cpu7 "]));
    let collected = collect_all(&mut provider(tree.roots()));
    let rows = ["_Total", "0,0", "0,1", "0,2", "0,_Total", "1,1", "1,_Total"];
    assert_eq!(collected.names(), rows, "an index is the place in the node, whoever else is there");
    for row in rows {
        assert_eq!(lost(&collected, row), [0; 0], "{row}");
    }
    let user = |cpus: [u64; 4]| CellOutcome::Value(cpus.iter().sum::<u64>() * 40_000 / 4);
    assert_eq!(*collected.get("_Total", PERCENT_USER_TIME), user([2 + 3, 73 + 79, 127 + 131, 179 + 181]));
    assert_ne!(collected.birth("_Total"), whole.birth("_Total"), "sums over others");

    tree.write("cpu/online", "6-7\n");
    let collected = collect_all(&mut provider(tree.roots()));
    assert_eq!(collected.names(), rows, "none in common: those of /proc/stat");
}

#[test]
fn without_proc_stat_the_list_of_sysfs_stands() {
    let not_at_all = ":1: expected the line \"cpu\", found the end of the file";
    for (text, why) in [("", not_at_all), ("cpu  2 3 5 7\nintr 11\n", ": nothing about cpu0")] {
        let tree = Tree::copy_of("two-nodes");
        let whole = collect_all(&mut provider(tree.roots()));
        tree.write("proc/stat", text);
        let collected = collect_all(&mut provider(tree.roots()));
        assert_eq!(collected.rows, whole.rows, "{text:?}");
        let why = format!("{}{why}", tree.path("proc/stat").display());
        for row in ["_Total", "0,0", "0,_Total"] {
            for counter in TIMES {
                assert_eq!(collected.missing(row)[&counter], why, "{row} {counter}");
            }
        }
    }
}

fn fixture_stat() -> String {
    fs::read_to_string(fixture("two-nodes").proc.join("stat")).unwrap()
}

/// Checks that CPU lists with far more CPUs than exist can be read: their cost depends on the text, not on the number
/// of CPUs.
#[test]
fn long_lists_of_cpus() {
    let tree = Tree::copy_of("two-nodes");
    tree.write("node/online", "0-1023\n");
    for node in 0..8 {
        tree.write(&format!("node/node{node}/cpulist"), "0-65535\n");
    }
    tree.write("cpu/online", "0-65535\n");
    let collected = collect(&mut provider(tree.roots()), &[PERCENT_USER_TIME], &["*"]);
    let names = ["_Total", "0,0", "0,1", "0,2", "0,3", "0,4", "0,6", "0,7", "0,_Total"];
    assert_eq!(collected.names(), names, "the first node has them all");
}
