//! Tests of every value of the processor countersets in the fixtures.

use super::*;

/// Numbers of one CPU in the fixture `two-nodes`, as they are in its files.
struct Known {
    name: &'static str,
    cpu: u32,
    stat: [u64; 10],
    /// Counts of the CPU's interrupts in the rows 0, 8, 24, NMI, LOC, RES and PIN.
    interrupts: [u64; 7],
    softirqs: [u64; 10],
    /// Times of the CPU in the idle states POLL, C1, C6 and C8.
    idle_time: [u64; 4],
    idle_usage: [u64; 4],
    base_frequency: u64,
    cpuinfo_max_freq: u64,
    scaling_cur_freq: u64,
    scaling_max_freq: u64,
    feedback_ref: u64,
    feedback_del: u64,
    reference_perf: u64,
    nominal_perf: u64,
    nominal_freq: u64,
}

/// Numbers of all CPUs in the fixture `two-nodes`, ordered by node and index.
const KNOWN: [Known; 7] = [
    Known {
        name: "0,0",
        cpu: 0,
        stat: [2, 3, 5, 7, 11, 13, 17, 19, 23, 29],
        interrupts: [401, 443, 487, 541, 587, 619, 677],
        softirqs: [733, 787, 839, 887, 953, 1021, 1091, 1163, 1229, 1301],
        idle_time: [10007, 20011, 30011, 40009],
        idle_usage: [5003, 5501, 6007, 6521],
        base_frequency: 2_100_001,
        cpuinfo_max_freq: 3_500_017,
        scaling_cur_freq: 1_200_007,
        scaling_max_freq: 2_800_001,
        feedback_ref: 900_000_000_013,
        feedback_del: 1_100_000_000_003,
        reference_perf: 1433,
        nominal_perf: 1439,
        nominal_freq: 2411,
    },
    Known {
        name: "0,1",
        cpu: 2,
        stat: [73, 79, 83, 89, 97, 101, 103, 107, 109, 113],
        interrupts: [419, 457, 499, 557, 599, 641, 691],
        softirqs: [743, 809, 857, 911, 971, 1033, 1097, 1181, 1249, 1307],
        idle_time: [12007, 22003, 32003, 42013],
        idle_usage: [5101, 5623, 6101, 6607],
        base_frequency: 2_110_001,
        cpuinfo_max_freq: 3_510_029,
        scaling_cur_freq: 1_660_007,
        scaling_max_freq: 2_980_001,
        feedback_ref: 914_000_000_033,
        feedback_del: 1_118_000_000_009,
        reference_perf: 1453,
        nominal_perf: 1459,
        nominal_freq: 2441,
    },
    Known {
        name: "0,2",
        cpu: 4,
        stat: [179, 181, 191, 193, 197, 199, 211, 223, 227, 229],
        interrupts: [431, 463, 509, 569, 607, 647, 709],
        softirqs: [757, 821, 863, 929, 991, 1049, 1109, 1193, 1279, 1321],
        idle_time: [14009, 24001, 34019, 44017],
        idle_usage: [5209, 5701, 6203, 6701],
        base_frequency: 2_120_009,
        cpuinfo_max_freq: 3_520_007,
        scaling_cur_freq: 2_120_017,
        scaling_max_freq: 3_160_007,
        feedback_ref: 928_000_000_009,
        feedback_del: 1_136_000_000_029,
        reference_perf: 1483,
        nominal_perf: 1487,
        nominal_freq: 2503,
    },
    Known {
        name: "0,3",
        cpu: 6,
        stat: [233, 239, 241, 251, 257, 263, 269, 271, 277, 281],
        interrupts: [433, 467, 521, 571, 613, 653, 719],
        softirqs: [769, 827, 881, 941, 1009, 1063, 1129, 1217, 1289, 1361],
        idle_time: [16001, 26003, 36007, 46021],
        idle_usage: [5303, 5801, 6301, 6803],
        base_frequency: 2_130_001,
        cpuinfo_max_freq: 3_530_011,
        scaling_cur_freq: 2_580_031,
        scaling_max_freq: 3_340_009,
        feedback_ref: 942_000_000_023,
        feedback_del: 1_154_000_000_011,
        reference_perf: 1489,
        nominal_perf: 1493,
        nominal_freq: 2521,
    },
    Known {
        name: "1,0",
        cpu: 1,
        stat: [31, 37, 41, 43, 47, 53, 59, 61, 67, 71],
        interrupts: [409, 449, 491, 547, 593, 631, 683],
        softirqs: [739, 797, 853, 907, 967, 1031, 1093, 1171, 1237, 1303],
        idle_time: [11003, 21001, 31013, 41011],
        idle_usage: [5051, 5557, 6053, 6551],
        base_frequency: 2_105_003,
        cpuinfo_max_freq: 3_505_031,
        scaling_cur_freq: 1_430_027,
        scaling_max_freq: 2_890_001,
        feedback_ref: 907_000_000_003,
        feedback_del: 1_109_000_000_029,
        reference_perf: 1447,
        nominal_perf: 1451,
        nominal_freq: 2423,
    },
    Known {
        name: "1,1",
        cpu: 3,
        stat: [127, 131, 137, 139, 149, 151, 157, 163, 167, 173],
        interrupts: [421, 461, 503, 563, 601, 643, 701],
        softirqs: [751, 811, 859, 919, 977, 1039, 1103, 1187, 1259, 1319],
        idle_time: [13001, 23003, 33013, 43003],
        idle_usage: [5153, 5651, 6151, 6653],
        base_frequency: 2_115_007,
        cpuinfo_max_freq: 3_515_011,
        scaling_cur_freq: 1_890_019,
        scaling_max_freq: 3_070_003,
        feedback_ref: 921_000_000_029,
        feedback_del: 1_127_000_000_083,
        reference_perf: 1471,
        nominal_perf: 1481,
        nominal_freq: 2467,
    },
    Known {
        name: "1,2",
        cpu: 7,
        stat: [283, 293, 307, 311, 313, 317, 331, 337, 347, 349],
        interrupts: [439, 479, 523, 577, 617, 659, 727],
        softirqs: [773, 829, 883, 947, 1019, 1069, 1153, 1223, 1291, 1367],
        idle_time: [17011, 27011, 37003, 47017],
        idle_usage: [5351, 5851, 6353, 6857],
        base_frequency: 2_135_017,
        cpuinfo_max_freq: 3_535_001,
        scaling_cur_freq: 2_810_009,
        scaling_max_freq: 3_430_027,
        feedback_ref: 949_000_000_019,
        feedback_del: 1_163_000_000_003,
        reference_perf: 1499,
        nominal_perf: 1523,
        nominal_freq: 2543,
    },
];

/// Returns the expected raw value of a counter in a row over these CPUs, by the definitions of the counterset.
fn expected(counter: u32, cpus: &[Known]) -> Option<u64> {
    let count = u128::try_from(cpus.len()).unwrap();
    let sum = |of: &dyn Fn(&Known) -> u64| cpus.iter().map(|cpu| u128::from(of(cpu))).sum::<u128>();
    let mean = |of: &dyn Fn(&Known) -> u64| sum(of) / count;
    let time = |of: &dyn Fn(&Known) -> u64| sum(of) * 10_000_000 / (u128::from(CLOCK_TICKS) * count);
    let cycles = |of: &dyn Fn(&Known) -> u128| cpus.iter().map(of).sum::<u128>() / count / 1024;
    let privileged = |cpu: &Known| cpu.stat[2] + cpu.stat[5] + cpu.stat[6];
    let reference_cycles = |cpu: &Known, ns: u64| {
        let cycles_a_us = u128::from(cpu.reference_perf * cpu.nominal_freq);
        u128::from(ns) * cycles_a_us / (u128::from(cpu.nominal_perf) * 1_000)
    };
    let value = match counter {
        0 | 8 => time(&|cpu| cpu.stat[3] + cpu.stat[4]),
        1 => time(&|cpu| cpu.stat[0] + cpu.stat[1]),
        2 => time(&privileged),
        3 => sum(&|cpu| cpu.interrupts.iter().sum()),
        4 => time(&|cpu| cpu.stat[6]),
        5 => time(&|cpu| cpu.stat[5]),
        6 => sum(&|cpu| cpu.softirqs.iter().sum()),
        9 => sum(&|cpu| cpu.idle_time[1]) * 10 / count,
        10 => sum(&|cpu| cpu.idle_time[2]) * 10 / count,
        11 => sum(&|cpu| cpu.idle_time[3]) * 10 / count,
        12 => sum(&|cpu| cpu.idle_usage[1]),
        13 => sum(&|cpu| cpu.idle_usage[2]),
        14 => sum(&|cpu| cpu.idle_usage[3]),
        15 => time(&|cpu| cpu.stat[3] + cpu.stat[4] + cpu.stat[1]),
        17 => (mean(&|cpu| cpu.base_frequency) + 500) / 1_000,
        18 => mean(&|cpu| 100 * cpu.scaling_cur_freq / cpu.cpuinfo_max_freq),
        20 => sum(&|cpu| cpu.interrupts[4]),
        21 => sum(&|cpu| cpu.idle_time.iter().sum()) * 10,
        22 | 23 => sum(&|cpu| cpu.idle_usage.iter().sum()),
        24 | 26 => cycles(&|cpu| 100 * u128::from(cpu.feedback_del)),
        25 => cycles(&|cpu| u128::from(cpu.feedback_ref)),
        27 => cycles(&|cpu| reference_cycles(cpu, ELAPSED_NS)),
        28 => cycles(&|cpu| {
            let ns = privileged(cpu) * 1_000_000_000 / CLOCK_TICKS;
            100 * reference_cycles(cpu, ns)
        }),
        30 => mean(&|cpu| 100 * cpu.scaling_max_freq / cpu.cpuinfo_max_freq),
        7 | 16 | 19 | 31 => return None,
        other => panic!("no definition of counter {other}"),
    };
    Some(u64::try_from(value).unwrap())
}

#[test]
fn every_counter_of_every_row() {
    let collected = collect_all(&mut provider(fixture("two-nodes")));
    let (node_0, node_1) = KNOWN.split_at(4);
    let mut rows: Vec<(&str, u32, &[Known])> = vec![("_Total", 0xFFFF_FFFE, &KNOWN)];
    rows.extend(node_0.iter().map(|cpu| (cpu.name, cpu.cpu, std::slice::from_ref(cpu))));
    rows.push(("0,_Total", 0xFFFF_0000, node_0));
    rows.extend(node_1.iter().map(|cpu| (cpu.name, cpu.cpu, std::slice::from_ref(cpu))));
    rows.push(("1,_Total", 0xFFFF_0001, node_1));

    let order: Vec<_> = collected.rows.iter().map(|row| (row.0.as_str(), row.1)).collect();
    assert_eq!(order, rows.iter().map(|row| (row.0, row.1)).collect::<Vec<_>>());
    for (name, _, cpus) in rows {
        for counter in id::COUNTERSET.counters.iter() {
            let what = format!("{name} {:?}", counter.name);
            let want = expected(counter.id.0, cpus);
            match (collected.get(name, counter.id), want) {
                (CellOutcome::Value(got), Some(want)) if counter.counter_type.value_len() == 4 => {
                    assert_eq!(*got, want & 0xFFFF_FFFF, "{what}");
                }
                (CellOutcome::Value(got), Some(want)) => assert_eq!(*got, want, "{what}"),
                (CellOutcome::None(NoValue::Unavailable(_)), None) => {}
                (got, want) => panic!("{what}: {got:?}, not {want:?}"),
            }
        }
    }
}

/// Checks that % Privileged Utility grows with the system and softirq time of a CPU, not with user time or the
/// processor's speed.
#[test]
fn privileged_utility_is_cumulative() {
    let tree = Tree::copy_of("two-nodes");
    let mut provider = provider(tree.roots());
    let mut cycles = |user: u64, system: u64, softirq: u64, delivered: u64| {
        tree.write("proc/stat", &format!("cpu  0 0 0 0\ncpu0 {user} 0 {system} 0 0 0 {softirq} 0 0 0\n"));
        tree.write("cpu/cpu0/acpi_cppc/feedback_ctrs", &format!("ref:1000000 del:{delivered}\n"));
        let collected = collect(&mut provider, &[id::PERCENT_PRIVILEGED_UTILITY], &["0,0"]);
        let CellOutcome::Value(raw) = *collected.get("0,0", id::PERCENT_PRIVILEGED_UTILITY) else { panic!() };
        raw
    };
    let before = cycles(1_000, 500, 10, 1_000_000);
    assert_eq!(cycles(90_000, 500, 10, 2_000_000), before, "a busy program takes nothing from it");
    let second = cycles(90_000, 500 + CLOCK_TICKS / 2, 10 + CLOCK_TICKS / 2, 9_000_000) - before;
    let reference_hz: u64 = 2_411_000_000 * 1_433 / 1_439;
    assert!((100 * reference_hz / 1024).abs_diff(second) <= 4, "{second}");
}

#[test]
fn births_belong_to_sums() {
    let collected = collect_all(&mut provider(fixture("two-nodes")));
    let births = |names: &[&str]| -> Vec<_> { names.iter().map(|name| collected.birth(name)).collect() };
    assert_eq!(births(&["0,0", "0,3", "1,0", "1,2"]), [None; 4]);
    let totals = births(&["_Total", "0,_Total", "1,_Total"]);
    assert!(totals.iter().all(Option::is_some));
    assert!(totals[0] != totals[1] && totals[1] != totals[2] && totals[2] != totals[0]);
    let again = collect_all(&mut provider(fixture("two-nodes")));
    assert_eq!(again.rows, collected.rows, "stable");
}

#[test]
fn instances_are_the_rows() {
    let mut provider = provider(fixture("two-nodes"));
    let mut rows = Rows::default();
    rows.start();
    provider.instances(&id::GUID, &mut rows).unwrap();
    rows.end();
    let instances: Vec<_> = rows.to_instances().iter().map(|i| (i.name.to_string(), i.id.0)).collect();
    let collected = collect_all(&mut provider);
    assert_eq!(instances, collected.rows.iter().map(|row| (row.0.clone(), row.1)).collect::<Vec<_>>());

    let other = perfset_core::Guid::from_u128(7);
    assert_eq!(provider.instances(&other, &mut rows), Err(SourceError::UnknownCounterset(other)));
}

#[test]
fn only_the_rows_that_are_asked_for() {
    let mut provider = provider(fixture("two-nodes"));
    let names = |collected: Collected| collected.rows.into_iter().map(|row| row.0).collect::<Vec<_>>();
    assert_eq!(
        names(collect(&mut provider, &[id::PERCENT_USER_TIME], &["1,*"])),
        ["1,0", "1,1", "1,2", "1,_Total"]
    );
    assert_eq!(
        names(collect(&mut provider, &[id::PERCENT_USER_TIME], &["_total", "0,1"])),
        ["_Total", "0,1"]
    );
}

#[test]
fn an_old_kernel() {
    let collected = collect_all(&mut provider(fixture("old-kernel")));
    assert_eq!(collected.names(), ["_Total", "0,0", "0,1", "0,_Total"]);
    for (counter, of_0, of_1) in [
        (id::PERCENT_PROCESSOR_TIME, 7, 19),
        (id::PERCENT_USER_TIME, 2 + 3, 11 + 13),
        (id::PERCENT_PRIVILEGED_TIME, 5, 17),
        (id::PERCENT_PRIORITY_TIME, 7 + 3, 19 + 13),
    ] {
        let a_tick = 10_000_000 / CLOCK_TICKS;
        assert_eq!(*collected.get("0,0", counter), CellOutcome::Value(of_0 * a_tick));
        assert_eq!(*collected.get("0,1", counter), CellOutcome::Value(of_1 * a_tick));
        assert_eq!(*collected.get("_Total", counter), CellOutcome::Value((of_0 + of_1) * a_tick / 2));
    }
    assert_eq!(collected.missing("_Total")[&3], "unavailable: there is no /proc/interrupts");
    let missing = collected.missing("0,0");
    assert_eq!(missing[&4], "unavailable: this kernel does not count it apart");
    assert_eq!(missing[&3], "unavailable: there is no /proc/interrupts");
    assert_eq!(missing[&6], "unavailable: there is no /proc/softirqs");
    assert_eq!(missing[&9], "unavailable: this machine has no cpuidle");
    assert_eq!(missing[&17], "unavailable: neither cpufreq nor /proc/cpuinfo knows a frequency");
    assert_eq!(missing[&18], "unavailable: this machine has no cpufreq");
    assert_eq!(missing[&26], "unavailable: this machine has no feedback counters of ACPI CPPC");
}

#[test]
fn a_small_virtual_machine() {
    let collected = collect_all(&mut provider(fixture("small-vm")));
    assert_eq!(collected.names(), ["_Total", "0,0", "0,1", "0,_Total"]);
    assert_eq!(
        *collected.get("0,0", id::PROCESSOR_FREQUENCY),
        CellOutcome::Value(2_445),
        "2445.430 of /proc/cpuinfo"
    );
    let missing: Vec<u32> = collected.missing("0,1").into_keys().collect();
    assert_eq!(missing, [5, 7, 10, 11, 13, 14, 16, 18, 19, 24, 25, 26, 27, 28, 30, 31]);
    assert_eq!(collected.missing("0,0")[&10], "unavailable: this CPU has no idle state of that class");
}
