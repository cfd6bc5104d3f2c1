//! Differences between the state of the machine now and a minute ago.

use std::collections::VecDeque;

use super::state::{ChangedValue, Changes, MachineState, ProcessState, StateValue, percent};

/// Longest time between a state of the machine and the earlier state with which it is compared, in 100 ns.
const MINUTE: i64 = 600_000_000;

/// Time between two stored states of the machine, in 100 ns.
const STEP: i64 = 50_000_000;

/// Percentages of an earlier state of the machine, by name.
#[derive(Debug)]
pub(super) struct EarlierState {
    time_100ns: i64,
    values: Vec<(String, StateValue)>,
}

impl EarlierState {
    pub fn new(state: &MachineState, time_100ns: i64) -> Self {
        let MachineState { processors, memory, pressure, disks, .. } = state;
        let swapped = memory.swap_used().and_then(|used| percent(used, memory.swap_total.clone()?));
        let values = [
            ("processors busy", processors.busy.clone()),
            ("stolen by the hypervisor", processors.steal.clone()),
            ("memory used", memory.used_percent()),
            ("swap used", swapped),
            ("waiting for memory", pressure.memory.clone()),
            ("waiting for storage", pressure.storage.clone()),
        ];
        let values = values.into_iter().map(|(name, value)| (name.to_owned(), value));
        let disks = disks.iter().map(|disk| (format!("disk {} busy", disk.name), disk.busy.clone()));
        let values = values.chain(disks).collect();
        Self { time_100ns, values }
    }
}

/// Difference in percentage points from which a change of a percentage is remarkable.
const REMARKABLE: f64 = 15.0;

/// Compares the machine's state with the earliest stored state that has rates; also returns the processes that
/// started in the last minute.
pub(super) fn since(history: &VecDeque<EarlierState>, now: &EarlierState, state: &MachineState) -> Changes {
    let started = started(state);
    // The first sample has no rates to compare with.
    let has_rates = |earlier: &&EarlierState| earlier.values.first().is_some_and(|(_, value)| value.is_ok());
    // If the clock was set back or the machine slept, nothing is known of a minute ago.
    let age = |earlier: &EarlierState| now.time_100ns.saturating_sub(earlier.time_100ns);
    let is_recent = |earlier: &&EarlierState| (0..=MINUTE.saturating_add(STEP)).contains(&age(earlier));
    let Some(first) = history.iter().filter(has_rates).find(is_recent) else {
        return Changes { started, ..Changes::default() };
    };
    let earlier = |name: &str| {
        let mut values = first.values.iter().filter(|(other, _)| other == name);
        values.find_map(|(_, value)| value.as_ref().ok().copied())
    };
    let values = now.values.iter().filter_map(|(name, value)| {
        let (before, now) = (earlier(name)?, *value.as_ref().ok()?);
        ((now - before).abs() >= REMARKABLE).then(|| ChangedValue { name: name.clone(), before, now })
    });
    Changes { seconds: super::seconds(age(first)), values: values.collect(), started }
}

/// Returns the busy processes that started in the last minute.
fn started(state: &MachineState) -> Vec<ProcessState> {
    let total = state.memory.total.clone().unwrap_or(f64::INFINITY);
    let is_new = |age: &StateValue| age.as_ref().is_ok_and(|age| *age < super::seconds(MINUTE));
    let is_busy = |value: &StateValue, least: f64| value.as_ref().is_ok_and(|value| *value >= least);
    let started = state.processes.iter().filter(|process| {
        is_new(&process.age)
            && (is_busy(&process.processor_time, 10.0)
                || is_busy(&process.memory, total / 20.0)
                || is_busy(&process.storage(), 1_048_576.0))
    });
    started.cloned().collect()
}

/// Stores a state of the machine, and forgets stored states that are older than a minute.
pub(super) fn remember(history: &mut VecDeque<EarlierState>, now: EarlierState) {
    let age = |summary: &EarlierState| now.time_100ns.saturating_sub(summary.time_100ns);
    // A clock that was set back makes all stored times useless.
    history.retain(|summary| (0..=MINUTE).contains(&age(summary)));
    if history.back().is_none_or(|last| age(last) >= STEP) {
        history.push_back(now);
    }
}
