//! Differences between now and a minute ago.

use std::collections::VecDeque;

use super::state::{ChangedValue, Changes, MachineState, StateValue, percent};

/// Time that changes look back, in 100 ns.
const MINUTE: i64 = 600_000_000;

/// Time between two stored states, in 100 ns.
const STEP: i64 = 50_000_000;

/// Percentages of a state, by name.
#[derive(Debug)]
pub(super) struct EarlierState {
    time_100ns: i64,
    values: Vec<(&'static str, StateValue)>,
}

impl EarlierState {
    pub fn new(state: &MachineState, time_100ns: i64) -> Self {
        let MachineState { processors, memory, pressure, disks, .. } = state;
        let swapped = memory.swap_used().and_then(|used| percent(used, memory.swap_total.clone()?));
        let values = vec![
            ("processors busy", processors.busy.clone()),
            ("stolen by the hypervisor", processors.steal.clone()),
            ("memory used", memory.used_percent()),
            ("swap used", swapped),
            ("busiest disk", disks.first().map_or(Err(crate::NoValue::NoInstance), |disk| disk.busy.clone())),
            ("waiting for memory", pressure.memory.clone()),
            ("waiting for storage", pressure.storage.clone()),
        ];
        Self { time_100ns, values }
    }
}

/// Difference in percentage points from which a change is remarkable.
const REMARKABLE: f64 = 15.0;

/// Returns the differences of a state from the earliest stored one.
pub(super) fn since(history: &VecDeque<EarlierState>, now: &EarlierState, state: &MachineState) -> Changes {
    let Some(first) = history.front() else { return Changes::default() };
    let seconds = super::seconds(now.time_100ns.saturating_sub(first.time_100ns));
    // The first sample has no rates: the next one that has them is what they are compared with.
    let earlier = |name| {
        let values = history.iter().flat_map(|summary| &summary.values);
        values.filter(|(other, _)| *other == name).find_map(|(_, value)| value.as_ref().ok().copied())
    };
    let changes = now.values.iter().filter_map(|(name, value)| {
        let (before, now) = (earlier(*name)?, *value.as_ref().ok()?);
        ((now - before).abs() >= REMARKABLE).then_some(ChangedValue { name, before, now })
    });
    let total = state.memory.total.clone().unwrap_or(f64::INFINITY);
    let is_new = |age: &StateValue| age.as_ref().is_ok_and(|age| *age < super::seconds(MINUTE));
    let is_busy = |value: &StateValue, least: f64| value.as_ref().is_ok_and(|value| *value >= least);
    let started = state.processes.iter().filter(|process| {
        is_new(&process.age)
            && (is_busy(&process.processor_time, 10.0)
                || is_busy(&process.memory, total / 20.0)
                || is_busy(&process.storage(), 1_048_576.0))
    });
    Changes {
        seconds,
        values: changes.collect(),
        started: started.map(|process| (process.name.clone(), process.processor_time.clone())).collect(),
    }
}

/// Stores a state, and forgets those that are older than a minute.
pub(super) fn remember(history: &mut VecDeque<EarlierState>, now: EarlierState) {
    let age = |summary: &EarlierState| now.time_100ns.saturating_sub(summary.time_100ns);
    // A clock that was set back makes all stored times useless.
    history.retain(|summary| (0..=MINUTE).contains(&age(summary)));
    if history.back().is_none_or(|last| age(last) >= STEP) {
        history.push_back(now);
    }
}
