//! Tests of several collections of processors: the files read in each, and the changes between them.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use id::*;

#[test]
fn only_the_files_that_are_needed_are_read() {
    let tree = Tree::copy_of("two-nodes");
    let len = |file: &str| fs::metadata(tree.path(file)).unwrap().len();
    let cpus = [0, 1, 2, 3, 4, 6, 7];
    let each = |files: &[&str]| -> u64 {
        cpus.iter()
            .flat_map(|cpu| files.iter().map(move |file| format!("cpu/cpu{cpu}/{file}")))
            .map(|f| len(&f))
            .sum()
    };
    let idle = |file: &str| {
        each(&[0, 1, 2, 3].map(|state| format!("cpuidle/state{state}/{file}")).each_ref().map(|f| f.as_str()))
    };
    let (stat, interrupts, softirqs) = (len("proc/stat"), len("proc/interrupts"), len("proc/softirqs"));
    let current = each(&["cpufreq/scaling_cur_freq", "cpufreq/cpuinfo_max_freq"]);
    let feedback = each(&["acpi_cppc/feedback_ctrs"]);
    let cases: [(&str, &[CounterId], &[&str], u64); 22] = [
        ("nothing", &[], &["*"], 0),
        ("no row", &[PERCENT_PROCESSOR_TIME, CLOCK_INTERRUPTS_PER_SEC], &["9,9"], 0),
        ("one time", &[PERCENT_PROCESSOR_TIME], &["*"], stat),
        ("all times", &[PERCENT_USER_TIME, PERCENT_DPC_TIME, PERCENT_PRIORITY_TIME], &["*"], stat),
        ("interrupts of the machine", &[INTERRUPTS_PER_SEC], &["_Total"], interrupts),
        ("interrupts of a CPU", &[INTERRUPTS_PER_SEC], &["0,0"], interrupts),
        ("interrupts of a node", &[INTERRUPTS_PER_SEC], &["1,_Total"], interrupts),
        ("all interrupts", &[INTERRUPTS_PER_SEC], &["*"], interrupts),
        ("clock interrupts of the machine", &[CLOCK_INTERRUPTS_PER_SEC], &["_Total"], interrupts),
        ("soft interrupts", &[DPCS_QUEUED_PER_SEC], &["*"], softirqs),
        (
            "never there",
            &[DPC_RATE, PARKING_STATUS, PROCESSOR_STATE_FLAGS, PERFORMANCE_LIMIT_FLAGS],
            &["*"],
            0,
        ),
        (
            "times of idle states",
            &[PERCENT_C1_TIME, PERCENT_C2_TIME, PERCENT_C3_TIME, AVERAGE_IDLE_TIME],
            &["*"],
            { idle("time") },
        ),
        (
            "stays in idle states",
            &[AVERAGE_IDLE_TIME_BASE, IDLE_BREAK_EVENTS_PER_SEC],
            &["_Total"],
            idle("usage"),
        ),
        ("one class of idle states", &[PERCENT_C2_TIME], &["0,1"], len("cpu/cpu2/cpuidle/state2/time")),
        ("nominal frequency", &[PROCESSOR_FREQUENCY], &["*"], each(&["cpufreq/base_frequency"])),
        ("current frequency", &[PERCENT_OF_MAXIMUM_FREQUENCY], &["*"], current),
        ("frequency of one CPU", &[PROCESSOR_FREQUENCY], &["1,1"], len("cpu/cpu3/cpufreq/base_frequency")),
        (
            "performance",
            &[PERCENT_PROCESSOR_PERFORMANCE, PERCENT_PROCESSOR_PERFORMANCE_BASE],
            &["*"],
            feedback,
        ),
        ("utility", &[PERCENT_PROCESSOR_UTILITY], &["*"], feedback),
        ("base of utility", &[UTILITY_BASE], &["*"], 0),
        ("privileged utility", &[PERCENT_PRIVILEGED_UTILITY], &["*"], stat),
        ("both", &[PERCENT_PROCESSOR_TIME, DPCS_QUEUED_PER_SEC], &["*"], stat + softirqs),
    ];
    let mut provider = provider(tree.roots());
    collect_all(&mut provider); // what never changes is known from now on
    // With the times come the CPUs that have them: the list of those online is not read again.
    let times = [PERCENT_PROCESSOR_TIME, PERCENT_USER_TIME, PERCENT_PRIVILEGED_UTILITY];
    for (name, counters, patterns, want) in cases {
        let collected = collect(&mut provider, counters, patterns);
        let has_times = name != "no row" && times.iter().any(|counter| counters.contains(counter));
        let online = if has_times { 0 } else { len("cpu/online") };
        assert_eq!(collected.bytes_read, online + want, "{name}");
    }
}

#[test]
fn a_first_collection_reads_the_topology_and_what_is_asked() {
    let tree = Tree::copy_of("two-nodes");
    let collected = collect(&mut provider(tree.roots()), &[PERCENT_PROCESSOR_TIME], &["_Total"]);
    let files = ["cpu/online", "node/online", "node/node0/cpulist", "node/node1/cpulist", "proc/stat"];
    let want: u64 = files.iter().map(|file| fs::metadata(tree.path(file)).unwrap().len()).sum();
    assert_eq!(collected.bytes_read, want);
}

#[test]
fn values_are_those_of_now() {
    let tree = Tree::copy_of("two-nodes");
    let mut provider = provider(tree.roots());
    collect_all(&mut provider);
    tree.write("proc/stat", &tree.text("proc/stat").replace("cpu3 127 131", "cpu3 1270 131"));
    tree.write("cpu/cpu3/cpufreq/base_frequency", "3000000\n");
    tree.write("cpu/cpu3/cpuidle/state2/usage", "100000000000\n");
    let collected = collect_all(&mut provider);
    assert_eq!(*collected.get("1,1", PERCENT_USER_TIME), CellOutcome::Value((1_270 + 131) * 40_000));
    assert_eq!(*collected.get("1,1", PROCESSOR_FREQUENCY), CellOutcome::Value(3_000));
    assert_eq!(*collected.get("1,1", C2_TRANSITIONS_PER_SEC), CellOutcome::Value(100_000_000_000));
}

#[test]
fn cpus_come_and_go() {
    let tree = Tree::copy_of("two-nodes");
    let mut provider = provider(tree.roots());
    let before = collect_all(&mut provider);
    assert_eq!(before.rows.len(), 10);

    // As long as /proc/stat lists it still, as in a container whose own that is, it is missed a hundred collections
    // later at the latest.
    tree.write("cpu/online", "0-4,7\n");
    tree.write("node/node0/cpulist", "0,2,4\n");
    let times = |provider: &mut ProcessorInformation| collect(provider, &[PERCENT_PROCESSOR_TIME], &["*"]);
    let missed = (1..=102).find(|_| times(&mut provider).rows.len() != before.rows.len());
    assert_eq!(missed, Some(101));
    let without_6 = collect_all(&mut provider);
    assert_eq!(
        without_6.names(),
        ["_Total", "0,0", "0,1", "0,2", "0,_Total", "1,0", "1,1", "1,2", "1,_Total"]
    );
    let changed = |name: &str| before.birth(name) != without_6.birth(name);
    assert!(changed("_Total") && changed("0,_Total") && !changed("1,_Total"));
    assert_eq!(
        *without_6.get("0,_Total", PERCENT_DPC_TIME),
        CellOutcome::Value((17 + 103 + 211) * 40_000 / 3)
    );

    tree.write("cpu/online", "0-4,6-7\n");
    tree.write("node/node0/cpulist", "0,2,4,6\n");
    (0..100).for_each(|_| drop(times(&mut provider)));
    let after = collect_all(&mut provider);
    assert_eq!((&after.rows, &after.cells), (&before.rows, &before.cells), "as if nothing had been");
}

/// Checks that CPUs come and go with their lines in `/proc/stat`, though the list of online CPUs stays the same. For
/// example, a container got other CPUs, or one was off for a moment.
#[test]
fn cpus_come_and_go_in_proc_stat() {
    let tree = Tree::copy_of("two-nodes");
    let mut provider = provider(tree.roots());
    let before = collect_all(&mut provider);
    let stat = tree.text("proc/stat");

    tree.write("proc/stat", &stat.replace("cpu7 283 293 307 311 313 317 331 337 347 349\n", ""));
    let rows = |collected: &Collected| collected.names().contains(&"1,2");
    assert!(rows(&collect(&mut provider, &[PROCESSOR_FREQUENCY], &["*"])), "nobody looked");
    let without_7 = collect(&mut provider, &[PERCENT_USER_TIME], &["*"]);
    assert!(!rows(&without_7), "{:?}", without_7.names());
    assert!(without_7.cells.values().all(|got| matches!(got, CellOutcome::Value(_))), "{without_7:?}");
    let changed = |name: &str| before.birth(name) != without_7.birth(name);
    assert!(changed("_Total") && changed("1,_Total") && !changed("0,_Total"));
    assert!(!rows(&collect(&mut provider, &[PROCESSOR_FREQUENCY], &["*"])), "as it was known last");

    tree.write("proc/stat", "");
    let unreadable = collect(&mut provider, &[PERCENT_USER_TIME], &["*"]);
    assert_eq!(unreadable.rows, without_7.rows, "it says nothing about CPUs");
    tree.write("proc/stat", &stat);
    assert_eq!(collect(&mut provider, &[PERCENT_USER_TIME], &["*"]).rows, before.rows);
}

#[test]
fn without_sysfs_cpus_come_and_go_in_proc_stat() {
    let tree = Tree::copy_of("old-kernel");
    let mut provider = provider(tree.roots());
    let before = collect(&mut provider, &[PERCENT_USER_TIME], &["*"]);
    tree.write("proc/stat", "cpu  0 0 0 0\ncpu1 11 13 17 19\n");
    let after = collect(&mut provider, &[PERCENT_USER_TIME], &["*"]);
    assert_eq!(after.names(), ["_Total", "0,0", "0,_Total"]);
    assert_eq!(after.rows[1].1, 1, "CPU 1 is now the first");
    assert_ne!(after.birth("_Total"), before.birth("_Total"));
    assert_eq!(after.bytes_read, tree.text("proc/stat").len().try_into().unwrap(), "read once");
}

#[test]
fn files_that_appear_are_found() {
    static SECONDS: AtomicU64 = AtomicU64::new(7);
    let tree = Tree::copy_of("small-vm");
    let now = || SECONDS.load(Ordering::Relaxed) * 1_000_000_000;
    let mut provider = ProcessorInformation::new(tree.roots(), CLOCK_TICKS, now);
    let mut percent = |seconds| {
        SECONDS.store(seconds, Ordering::Relaxed);
        collect(&mut provider, &[PERCENT_OF_MAXIMUM_FREQUENCY], &["0,0"])
            .get("0,0", PERCENT_OF_MAXIMUM_FREQUENCY)
            .clone()
    };
    assert!(matches!(percent(7), CellOutcome::None(NoValue::Unavailable(_))));
    tree.write("cpu/cpu0/cpufreq/scaling_cur_freq", "700000\n");
    tree.write("cpu/cpu0/cpufreq/cpuinfo_max_freq", "1000000\n");
    assert!(
        matches!(percent(16), CellOutcome::None(NoValue::Unavailable(_))),
        "it is not looked for each time"
    );
    assert_eq!(percent(17), CellOutcome::Value(70));
}

#[test]
fn frequencies_of_cpuinfo_are_read_in_turn() {
    static SECONDS: AtomicU64 = AtomicU64::new(7);
    let tree = Tree::copy_of("small-vm");
    let now = || SECONDS.load(Ordering::Relaxed) * 1_000_000_000;
    let mut provider = ProcessorInformation::new(tree.roots(), CLOCK_TICKS, now);
    let mut mhz = |seconds| {
        SECONDS.store(seconds, Ordering::Relaxed);
        let collected = collect(&mut provider, &[PROCESSOR_FREQUENCY], &["*"]);
        (
            collected.get("0,1", PROCESSOR_FREQUENCY).clone(),
            collected.get("_Total", PROCESSOR_FREQUENCY).clone(),
        )
    };
    assert_eq!(mhz(7), (CellOutcome::Value(2_445), CellOutcome::Value(2_445)));
    tree.write("proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 100.0\nprocessor\t: 1\ncpu MHz\t\t: 300.0\n");
    assert_eq!(mhz(16), (CellOutcome::Reused(2_445), CellOutcome::Reused(2_445)));
    assert_eq!(mhz(17), (CellOutcome::Value(300), CellOutcome::Value(200)));
}

#[test]
fn idle_time_that_steps_back_is_held() {
    let tree = Tree::copy_of("old-kernel");
    let mut provider = provider(tree.roots());
    let a_tick = 10_000_000 / CLOCK_TICKS;
    let limit = 60 * CLOCK_TICKS;
    let idle = 1_000_000;
    // (idle of CPU 0, what is delivered for it, whether that is held)
    for (now, want, held) in [
        (idle, idle, false),
        (idle - 1, idle, true),
        (idle - limit + 1, idle, true),
        (idle + 3, idle + 3, false),
        (idle + 3, idle + 3, false),
        (idle + 3 - limit, idle + 3 - limit, false), // a new beginning
        (idle + 2 - limit, idle + 3 - limit, true),
        (0, 0, false),
        (5, 5, false),
    ] {
        tree.write("proc/stat", &format!("cpu  0 0 0 0\ncpu0 2 3 5 {now}\ncpu1 11 13 17 0\n"));
        let collected = collect_all(&mut provider);
        let got = |raw: u64| if held { CellOutcome::Held(raw) } else { CellOutcome::Value(raw) };
        assert_eq!(*collected.get("0,0", PERCENT_PROCESSOR_TIME), got(want * a_tick), "{now}");
        assert_eq!(*collected.get("0,0", PERCENT_IDLE_TIME), got(want * a_tick), "{now}");
        assert_eq!(*collected.get("0,0", PERCENT_PRIORITY_TIME), got((want + 3) * a_tick), "{now}");
        assert_eq!(*collected.get("_Total", PERCENT_IDLE_TIME), got(want * a_tick / 2), "{now}");
        assert_eq!(*collected.get("0,0", PERCENT_USER_TIME), CellOutcome::Value(5 * a_tick), "{now}");
        assert_eq!(*collected.get("0,1", PERCENT_IDLE_TIME), CellOutcome::Value(0), "{now}");
    }
}

#[test]
fn held_value_survives_offline_of_other_cpu() {
    let tree = Tree::copy_of("old-kernel");
    let mut provider = provider(tree.roots());
    tree.write("proc/stat", "cpu  0 0 0 0\ncpu0 2 3 5 100\ncpu1 2 3 5 200\n");
    collect_all(&mut provider);
    tree.write("proc/stat", "cpu  0 0 0 0\ncpu1 2 3 5 199\n");
    assert_eq!(*collect_all(&mut provider).get("0,0", PERCENT_IDLE_TIME), CellOutcome::Held(200 * 40_000));
    tree.write("proc/stat", "cpu  0 0 0 0\ncpu0 2 3 5 99\ncpu1 2 3 5 199\n");
    let both = collect_all(&mut provider);
    assert_eq!(*both.get("0,0", PERCENT_IDLE_TIME), CellOutcome::Value(99 * 40_000), "it is another start");
    assert_eq!(*both.get("0,1", PERCENT_IDLE_TIME), CellOutcome::Held(200 * 40_000));
}
