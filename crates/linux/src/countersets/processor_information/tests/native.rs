//! Tests of Linux Processor and Scheduler, which have the rows of Processor Information.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use perfset_catalogue::{linux_processor, scheduler};
use perfset_core::{Counterset, Guid};
use perfset_engine::{Catalogue, CollectRequest};

use super::*;

/// Provider of only one of the countersets of processors.
#[derive(Debug)]
pub(super) struct Only(ProcessorInformation, Guid);

impl Provider for Only {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        let all = self.0.catalogue()?;
        let countersets: Vec<Arc<Counterset>> =
            all.countersets.iter().filter(|set| set.guid == self.1).cloned().collect();
        Ok(Arc::new(Catalogue::new(all.origin.clone(), countersets)))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.0.instances(counterset, rows)
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.0.collect(want, rows)
    }
}

pub(super) fn linux(roots: Roots) -> Only {
    Only(provider(roots), linux_processor::GUID)
}

fn sched(roots: Roots) -> Only {
    Only(provider(roots), scheduler::GUID)
}

/// Raw values of Linux Processor for CPU 3, which is row "1,1", in the fixture `two-nodes`, in the order of the ids.
const OF_1_1: [u64; 25] = [
    149 * 40_000,
    163 * 40_000,
    167 * 40_000,
    173 * 40_000,
    127 * 40_000,
    131 * 40_000,
    137 * 40_000,
    139 * 40_000,
    151 * 40_000,
    157 * 40_000,
    751,
    811,
    859,
    919,
    977,
    1039,
    1103,
    1187,
    1259,
    1319,
    30_000_287,
    30_000_293,
    30_000_301,
    30_000_307,
    30_000_317,
];

/// Raw values of Linux Processor for NUMA node 1, the CPUs 1, 3 and 7, in the fixture `two-nodes`.
const OF_NODE_1: [u64; 25] = [
    (47 + 149 + 313) * 40_000 / 3,
    (61 + 163 + 337) * 40_000 / 3,
    (67 + 167 + 347) * 40_000 / 3,
    (71 + 173 + 349) * 40_000 / 3,
    (31 + 127 + 283) * 40_000 / 3,
    (37 + 131 + 293) * 40_000 / 3,
    (41 + 137 + 307) * 40_000 / 3,
    (43 + 139 + 311) * 40_000 / 3,
    (53 + 151 + 317) * 40_000 / 3,
    (59 + 157 + 331) * 40_000 / 3,
    739 + 751 + 773,
    797 + 811 + 829,
    853 + 859 + 883,
    907 + 919 + 947,
    967 + 977 + 1019,
    1031 + 1039 + 1069,
    1093 + 1103 + 1153,
    1171 + 1187 + 1223,
    1237 + 1259 + 1291,
    1303 + 1319 + 1367,
    30_000_079 + 30_000_287 + 30_000_589,
    30_000_083 + 30_000_293 + 30_000_611,
    30_000_109 + 30_000_301 + 30_000_637,
    30_000_133 + 30_000_307 + 30_000_647,
    30_000_137 + 30_000_317 + 30_000_683,
];

#[test]
fn every_counter_of_linux_processor() {
    let roots = fixture("two-nodes");
    let collected = collect_all(&mut linux(roots.clone()));
    assert_eq!(collected.rows, collect_all(&mut provider(roots)).rows);
    for (row, values) in [("1,1", OF_1_1), ("1,_Total", OF_NODE_1)] {
        for (counter, value) in (0..).map(CounterId).zip(values) {
            assert_eq!(*collected.get(row, counter), CellOutcome::Value(value), "{row} {counter:?}");
        }
    }
    let others = linux_processor::COUNTERSET.counters.iter().filter(|counter| counter.id.0 < 25);
    assert_eq!(others.count(), OF_1_1.len());
    let hi = linux_processor::HIGH_PRIORITY_TASKLET_SOFT_INTERRUPTS_PER_SEC;
    let of_all = 733 + 739 + 743 + 751 + 757 + 769 + 773;
    assert_eq!(*collected.get("_Total", hi), CellOutcome::Value(of_all), "CPU 5 is offline");
}

/// Checks the frequency limits in Hz of one CPU, and the mean of the CPUs that have limits.
#[test]
fn limits_of_the_frequency() {
    use linux_processor::{MAXIMUM_FREQUENCY, MINIMUM_FREQUENCY};
    let tree = Tree::copy_of("two-nodes");
    let collected = collect_all(&mut linux(tree.roots()));
    assert_eq!(*collected.get("1,1", MAXIMUM_FREQUENCY), CellOutcome::Value(3_070_003_000));
    assert_eq!(*collected.get("1,1", MINIMUM_FREQUENCY), CellOutcome::Value(800_011_000));
    assert_eq!(*collected.get("_Total", MINIMUM_FREQUENCY), CellOutcome::Value(800_080_000));
    for cpu in [0, 1, 2, 4, 6, 7] {
        tree.remove(&format!("cpu/cpu{cpu}/cpufreq/scaling_min_freq"));
    }
    let collected = collect_all(&mut linux(tree.roots()));
    assert_eq!(*collected.get("_Total", MINIMUM_FREQUENCY), CellOutcome::Value(800_011_000));
    let reason = &collected.missing("0,0")[&MINIMUM_FREQUENCY.0];
    assert_eq!(reason, "unavailable: this machine has no cpufreq");
    let indexes = [MAXIMUM_FREQUENCY, MINIMUM_FREQUENCY].map(|id| {
        let counter = linux_processor::COUNTERSET.counter(id).unwrap();
        (counter.id.0, counter.v1_index)
    });
    assert_eq!(indexes, [(25, Some(25_174)), (26, Some(25_176))], "never to change");
}

/// Numbers in `/proc/schedstat` of CPU 3 and of the CPUs 1 and 7, in the order of the ids of Scheduler's counters.
const QUEUES: [[u64; 3]; 8] = [
    [5_005_057, 5_001_653, 5_009_909],
    [5_005_067, 5_001_671, 5_009_947],
    [5_005_087, 5_001_679, 5_009_957],
    [5_004_977, 5_001_559, 5_009_857],
    [5_004_991, 5_001_593, 5_009_881],
    [5_005_001, 5_001_629, 5_009_891],
    [5_005_031, 5_001_643, 5_009_897],
    [5_004_971, 5_001_547, 5_009_839],
];

#[test]
fn every_counter_of_scheduler() {
    let roots = fixture("two-nodes");
    let collected = collect_all(&mut sched(roots.clone()));
    assert_eq!(collected.rows, collect_all(&mut provider(roots)).rows);
    for (counter, queues) in (0..).map(CounterId).zip(QUEUES) {
        let sum: u64 = queues.iter().sum();
        let (one, node) = if counter.0 < 2 { (queues[0] / 100, sum / 3 / 100) } else { (queues[0], sum) };
        assert_eq!(*collected.get("1,1", counter), CellOutcome::Value(one), "{counter:?}");
        assert_eq!(*collected.get("1,_Total", counter), CellOutcome::Value(node), "{counter:?}");
    }
    assert_eq!(scheduler::COUNTERSET.counters.len(), QUEUES.len());
}

/// Checks that ids and title indexes of Linux Processor and Scheduler never change: programs and logs hold these
/// numbers.
#[test]
fn ids_and_title_indexes() {
    let of = |set: &Counterset| -> Vec<u32> { set.counters.iter().map(|c| c.v1_index.unwrap()).collect() };
    let own: Vec<u32> = (22_898..22_934).chain(24_144..24_154).step_by(2).collect();
    let linux = of(&linux_processor::COUNTERSET);
    assert_eq!((linux[4], linux[7]), (142, 1_746), "as Processor has them");
    assert_eq!([&linux[..4], &linux[5..7], &linux[8..25]].concat(), own);
    assert_eq!(of(&scheduler::COUNTERSET), (22_936..22_952).step_by(2).collect::<Vec<_>>());
    let sets = [&linux_processor::COUNTERSET, &scheduler::COUNTERSET];
    assert_eq!(sets.map(|set| set.v1_index), [Some(22_896), Some(22_934)]);
}

#[test]
fn only_what_is_needed_is_read() {
    let tree = Tree::copy_of("two-nodes");
    let files = |provider: &mut Only, counters: &[CounterId], row: &str| {
        collect(provider, &[], &["*"]);
        tree.opened(|| drop(collect(provider, counters, &[row])))
    };
    let (times, runs) = (linux_processor::PERCENT_STEAL_TIME, linux_processor::RCU_SOFT_INTERRUPTS_PER_SEC);
    assert_eq!(files(&mut linux(tree.roots()), &[runs], "_Total"), ["proc/softirqs"]);
    assert_eq!(files(&mut linux(tree.roots()), &[runs], "9,9"), [""; 0]);
    let packets = linux_processor::FLOW_LIMIT_DROPS_PER_SEC;
    assert_eq!(files(&mut linux(tree.roots()), &[packets], "0,1"), ["proc/net/softnet_stat"]);
    assert_eq!(files(&mut sched(tree.roots()), &[scheduler::PERCENT_RUN_TIME], "0,1"), ["proc/schedstat"]);
    let len = |file: &str| fs::metadata(tree.path(file)).unwrap().len();
    let mut provider = linux(tree.roots());
    collect(&mut provider, &[times], &["*"]);
    let bytes = collect(&mut provider, &[times], &["*"]).bytes_read;
    assert_eq!(bytes, len("proc/stat"));
}

#[test]
fn a_fault_costs_only_the_counters_that_the_file_feeds() {
    for (fault, cause, is_right) in FAULTS {
        for (file, provider, feeds) in [
            ("proc/stat", linux as fn(Roots) -> Only, 0..10),
            ("proc/softirqs", linux, 10..20),
            ("proc/net/softnet_stat", linux, 20..25),
            ("proc/schedstat", sched, 0..8),
        ] {
            let tree = Tree::copy_of("two-nodes");
            cause(&tree, file);
            let missing: Vec<_> =
                collect_all(&mut provider(tree.roots())).missing("0,1").into_keys().collect();
            let want: Vec<u32> = match (file, fault) {
                ("proc/stat", "cut") => Vec::new(), // its last line feeds nothing
                ("proc/softirqs", "cut") => vec![19],
                _ => feeds.collect(),
            };
            assert_eq!(missing, want, "{file} {fault}");
            let collected = collect_all(&mut provider(tree.roots()));
            for counter in want {
                let got = collected.get("0,1", CounterId(counter));
                // Without any row of a kind there is none of that kind.
                let fits = |reason| is_right(reason) || matches!(reason, NoValue::Unavailable(_));
                assert!(matches!(got, CellOutcome::None(reason) if fits(reason)), "{file} {fault}: {got:?}");
            }
        }
    }
}

#[test]
fn old_kernels() {
    let old = collect_all(&mut linux(fixture("old-kernel"))).missing("0,0");
    let have: Vec<u32> = (0..10).filter(|counter| !old.contains_key(counter)).collect();
    assert_eq!(have, [4, 5, 6, 7], "four columns");
    let none = collect_all(&mut sched(fixture("small-vm"))).missing("_Total");
    let why = "unavailable: there is no /proc/schedstat: the kernel was built without CONFIG_SCHEDSTATS";
    assert_eq!(none.into_values().collect::<Vec<_>>(), [why; 8]);
    let tree = Tree::copy_of("two-nodes");
    tree.write("proc/schedstat", &tree.text("proc/schedstat").replace("version 17", "version 14"));
    let missing = collect_all(&mut sched(tree.roots())).missing("0,0");
    let path = tree.path("proc/schedstat").display().to_string();
    assert_eq!(missing[&0], format!("{path}:1: expected a version from 15 to 17, found \"14\""));
    tree.write("proc/softirqs", &tree.text("proc/softirqs").replace("IRQ_POLL", "NEW_KIND"));
    let missing = collect_all(&mut linux(tree.roots())).missing("0,0");
    assert_eq!(
        missing,
        [(15, "unavailable: the kernel has no soft interrupts of that kind".to_owned())].into()
    );
}

/// Checks packet counts of old kernels, whose `softnet_stat` has no CPU numbers and lists the online CPUs in order.
#[test]
fn packets_of_old_kernels() {
    use linux_processor::*;

    let packets = [
        PACKETS_PROCESSED_PER_SEC,
        PACKETS_DROPPED_PER_SEC,
        PACKET_BUDGET_EXHAUSTED_PER_SEC,
        STEERED_PACKETS_RECEIVED_PER_SEC,
    ];
    let collected = collect(&mut linux(fixture("old-kernel")), &packets, &["*"]);
    for (row, want) in [("0,0", [701, 709, 719]), ("0,1", [727, 733, 739]), ("_Total", [1_428, 1_442, 1_458])]
    {
        for (counter, want) in packets.into_iter().zip(want) {
            assert_eq!(*collected.get(row, counter), CellOutcome::Value(want), "{row} {counter:?}");
        }
        let why = "unavailable: this kernel does not report it";
        assert_eq!(collected.missing(row), [(STEERED_PACKETS_RECEIVED_PER_SEC.0, why.to_owned())].into());
    }
    // A line that belongs to no known processor costs all: each may be that of another one.
    let tree = Tree::proc_of("old-kernel");
    let text = tree.text("proc/net/softnet_stat");
    tree.write("proc/net/softnet_stat", text.split_inclusive('\n').next().unwrap());
    let missing = collect(&mut linux(tree.roots()), &packets, &["*"]).missing("0,0");
    let path = tree.path("proc/net/softnet_stat").display().to_string();
    assert_eq!(missing[&packets[0].0], format!("{path}: nothing about cpu0"));
}

/// Checks that sums of packet counts have 32 bits, as the kernel's counts do.
#[test]
fn packets_beyond_32_bits() {
    let tree = Tree::copy_of("small-vm");
    let line = |count: u32, cpu: u32| format!("{count:08x} 0 0 0 0 0 0 0 0 0 0 0 {cpu:08x}\n");
    tree.write("proc/net/softnet_stat", &[line(u32::MAX, 0), line(7, 1)].concat());
    let packets = linux_processor::PACKETS_PROCESSED_PER_SEC;
    let collected = collect(&mut linux(tree.roots()), &[packets], &["*"]);
    for (row, want) in [("0,0", u32::MAX), ("0,1", 7), ("0,_Total", 6), ("_Total", 6)] {
        assert_eq!(*collected.get(row, packets), CellOutcome::Value(want.into()), "{row}");
    }
}

#[test]
fn idle_and_iowait_that_step_back_are_held_each() {
    let tree = Tree::copy_of("small-vm");
    let mut provider = linux(tree.roots());
    let (idle, iowait) = (linux_processor::PERCENT_IDLE_TIME, linux_processor::PERCENT_I_O_WAIT_TIME);
    for (text, want_idle, want_iowait) in [
        ("100 200", CellOutcome::Value(100 * 40_000), CellOutcome::Value(200 * 40_000)),
        ("103 199", CellOutcome::Value(103 * 40_000), CellOutcome::Held(200 * 40_000)),
        ("102 207", CellOutcome::Held(103 * 40_000), CellOutcome::Value(207 * 40_000)),
    ] {
        tree.write("proc/stat", &format!("cpu  0 0 0 0\ncpu0 2 3 5 {text}\ncpu1 2 3 5 0 0\n"));
        let collected = collect_all(&mut provider);
        let got = (collected.get("0,0", idle).clone(), collected.get("0,0", iowait).clone());
        assert_eq!(got, (want_idle, want_iowait), "{text}");
    }
}

/// Returns a tree of test files with this number of CPUs on four NUMA nodes; in all three files every CPU has other
/// numbers.
fn many_cpus(count: u32) -> Tree {
    let tree = Tree::proc_of("nothing");
    let mut stat = String::from("cpu  0 0 0 0\n");
    let mut schedstat = String::from("version 16\ntimestamp 7\n");
    let (mut heads, mut runs) = (String::new(), String::from("RCU:"));
    for cpu in 0..count {
        writeln!(stat, "cpu{cpu} {} 0 0 {} 0 0 0 {} 0 0", cpu + 2, cpu + 3, cpu + 5).unwrap();
        let lines = "domain0 00ff 1 2 3 4 5 6 7 8\ndomain1 ffff 1 2 3 4 5 6 7 8";
        writeln!(schedstat, "cpu{cpu} 0 0 0 0 0 0 {} {} {}\n{lines}", cpu + 7, cpu + 11, cpu + 13).unwrap();
        write!(heads, " CPU{cpu}").unwrap();
        write!(runs, " {}", cpu + 17).unwrap();
    }
    stat.push_str("intr 7 0\nctxt 11\n");
    tree.write("proc/stat", &stat);
    tree.write("proc/schedstat", &schedstat);
    tree.write("proc/softirqs", &format!("{heads}\n{runs}\n"));
    tree.write("cpu/online", &format!("0-{}\n", count - 1));
    tree.write("node/online", "0-3\n");
    for node in 0..4 {
        let (first, after) = (count / 4 * node, count / 4 * (node + 1));
        tree.write(&format!("node/node{node}/cpulist"), &format!("{first}-{}\n", after - 1));
    }
    tree
}

#[test]
fn four_thousand_cpus() {
    const COUNT: u32 = 4_096;
    let steal = linux_processor::PERCENT_STEAL_TIME;
    let rcu = linux_processor::RCU_SOFT_INTERRUPTS_PER_SEC;
    let slices = scheduler::TIMESLICES_PER_SEC;
    let took = |count: u32| {
        let tree = many_cpus(count);
        let (mut info, mut linux, mut sched) =
            (provider(tree.roots()), linux(tree.roots()), sched(tree.roots()));
        let mut times = Vec::new();
        for _ in 0..5 {
            let started = Instant::now();
            let busy = collect(&mut info, &[id::PERCENT_PROCESSOR_TIME], &["*"]);
            let linux = collect(&mut linux, &[steal, rcu], &["*"]);
            let queues = collect(&mut sched, &[slices], &["*"]);
            times.push(started.elapsed());
            let rows = usize::try_from(count).unwrap() + 5;
            assert_eq!([busy.rows.len(), linux.rows.len(), queues.rows.len()], [rows; 3]);
            let last = format!("3,{}", count / 4 - 1);
            let cpu = u64::from(count - 1);
            assert_eq!(*busy.get(&last, id::PERCENT_PROCESSOR_TIME), CellOutcome::Value((cpu + 3) * 40_000));
            assert_eq!(*linux.get(&last, steal), CellOutcome::Value((cpu + 5) * 40_000));
            assert_eq!(*linux.get(&last, rcu), CellOutcome::Value(cpu + 17));
            assert_eq!(*queues.get(&last, slices), CellOutcome::Value(cpu + 13));
            let all = u64::from(count) * (cpu + 2 * 13) / 2;
            assert_eq!(*queues.get("_Total", slices), CellOutcome::Value(all));
        }
        times.into_iter().min().unwrap_or(Duration::MAX)
    };
    let (few, many) = (took(COUNT / 8), took(COUNT));
    // Eight times as many take eight times as long; that it is not sixty-four times is what a busy machine shows too.
    assert!(many < few * 32, "{few:?} for {}, {many:?} for {COUNT}", COUNT / 8);
    assert!(many < Duration::from_secs(5), "{many:?}");
}
