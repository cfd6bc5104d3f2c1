//! Tests of shares of a processor's time, which the kernel's units may push above 100 %.

use perfset_catalogue::{processor, scheduler, thread};
use perfset_core::{Guid, Mark};
use perfset_engine::testing::FixedClock;
use perfset_engine::{Entry, Machine, Snapshot};

use super::*;
use id::*;

/// Returns a counter's formatted values, by instance, after one second in which one column of each CPU in
/// `/proc/stat` grew by `ticks`. The time of every idle state of a CPU grew by `ticks` units of 4 ms.
fn after_a_second(set: Guid, counter: CounterId, ticks: u64) -> BTreeMap<String, (f64, Option<Mark>)> {
    let tree = Tree::copy_of("two-nodes");
    let machine = Machine::new(Box::new(FixedClock::default()));
    machine.register(Box::new(provider(tree.roots())));
    let mut query = machine.query();
    assert!(query.add(&Entry::one(set, counter).instance("*")).is_success());
    let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
    for (ticks, snapshot) in [(0, &mut old), (ticks, &mut new)] {
        // user, nice, system, idle, iowait, irq, softirq: a counter is made of some of them, of which one advances.
        let column = match counter {
            PERCENT_PRIVILEGED_TIME => 2,
            PERCENT_IDLE_TIME => 3,
            PERCENT_INTERRUPT_TIME => 5,
            PERCENT_DPC_TIME => 6,
            _ => 0,
        };
        let times: String =
            (0..10).map(|at| format!(" {}", 1_000 + if at == column { ticks } else { 0 })).collect();
        let lines: String =
            ["", "0", "1", "2", "3", "4", "6", "7"].map(|cpu| format!("cpu{cpu} {times}\n")).concat();
        tree.write("proc/stat", &format!("{lines}intr 7 0\n"));
        for cpu in [0, 1, 2, 3, 4, 6, 7] {
            for state in 0..4 {
                let file = format!("cpu/cpu{cpu}/cpuidle/state{state}/time");
                tree.write(&file, &format!("{}\n", 20_000 + ticks * 4_000));
            }
        }
        query.collect(snapshot).unwrap();
    }
    let values = new.values(Some(&old)).map(|value| {
        let number = value.value.unwrap_or_else(|reason| panic!("{counter:?} {}: {reason}", value.instance));
        (value.instance.to_string(), (number.raw, value.mark))
    });
    values.collect()
}

/// Checks that a share of CPU time above 100 % is cut and marked: one second has 250 ticks, and the kernel may count
/// 251.
#[test]
fn a_share_above_100_is_cut_and_marked() {
    const SHARES: [CounterId; 8] = [
        PERCENT_USER_TIME,
        PERCENT_PRIVILEGED_TIME,
        PERCENT_DPC_TIME,
        PERCENT_INTERRUPT_TIME,
        PERCENT_IDLE_TIME,
        PERCENT_C1_TIME,
        PERCENT_C2_TIME,
        PERCENT_C3_TIME,
    ];
    for counter in SHARES {
        let name = id::COUNTERSET.counter(counter).and_then(|counter| counter.name.clone());
        let of_view = processor::COUNTERSET.counters.iter().find(|counter| counter.name == name).unwrap();
        assert_eq!(of_view.id, counter, "the view has the same ids");
        for (set, rows) in [(id::GUID, 10), (processor::GUID, 8)] {
            for (ticks, want) in
                [(125, (50.0, None)), (250, (100.0, None)), (251, (100.0, Some(Mark::Capped)))]
            {
                let found = after_a_second(set, counter, ticks);
                assert_eq!(found.len(), rows, "{name:?}");
                assert!(found.values().all(|value| *value == want), "{name:?}, {ticks} ticks: {found:?}");
            }
        }
    }
}

/// Checks that the counters that are cut at 100 % are exactly the shares of one processor's time.
#[test]
fn every_share_of_one_processor_is_cut() {
    for set in [&id::COUNTERSET, &processor::COUNTERSET, &scheduler::COUNTERSET, &thread::COUNTERSET] {
        for counter in set.counters.iter().filter(|counter| counter.counter_type.needs_two_samples()) {
            let name = counter.name.as_deref().unwrap_or_default();
            let is_share =
                name.starts_with("% ") && name.ends_with(" Time") && name != "% Run Queue Wait Time";
            assert_eq!(counter.caps, is_share, "{} {name}", set.name);
        }
    }
}
