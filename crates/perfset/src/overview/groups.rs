//! Control groups with the greatest use.

use crate::NoValue;

use super::paths::{BoundPath, GroupPaths, SampleValues};
use super::state::{GroupState, StateValue};
use super::{greatest, instances, name, number};

/// Share of a control group's use from which the group below it that has this share is shown instead.
const NEARLY_ALL: f64 = 0.9;

/// Function that returns one kind of use of a control group: processor time or memory.
type UseOf = fn(&GroupState) -> StateValue;

/// Control groups with most processor time and control groups with most memory, and the reason if processor times are
/// missing.
pub(super) type GroupLists = ([Vec<GroupState>; 2], Option<NoValue>);

/// Returns the control groups with most processor time and those with most memory, and the reason for having no
/// processor time.
pub(super) fn groups(values: &SampleValues<'_>, paths: &GroupPaths, most: usize) -> GroupLists {
    let uses: [(&BoundPath, UseOf); 2] = [(&paths.time, time), (&paths.memory, memory)];
    let found = uses.map(|(path, use_of)| {
        // Some are left out below, because a group below them says more.
        let numbers = instances(values, path).map(|(at, v)| (number(v), at));
        let mut numbers: Vec<_> = numbers.filter(|(number, _)| *number > 0.0).collect();
        let rows = greatest(&mut numbers, most.saturating_mul(4).saturating_add(1));
        let rows = rows.into_iter().filter_map(|at| Some((at, values.of(path).get(at)?)));
        let rows = rows.map(|(at, v)| GroupState {
            name: name(v),
            processor_time: values.reading(&paths.time, at, v),
            memory: values.reading(&paths.memory, at, v),
        });
        let rows: Vec<_> = rows.filter(|group| group.name != "/").collect();
        let shown = rows.iter().filter(|group| !is_explained(group, &rows, use_of));
        shown.take(most).cloned().collect::<Vec<_>>()
    });
    let missing = || instances(values, &paths.time).find_map(|(_, v)| v.value.value.clone().err());
    let reason = found[0].is_empty().then(|| match &paths.time {
        Err(reason) => reason.clone(),
        Ok(_) => missing().unwrap_or(NoValue::NoInstance),
    });
    (found, reason)
}

fn time(group: &GroupState) -> StateValue {
    group.processor_time.clone()
}

fn memory(group: &GroupState) -> StateValue {
    group.memory.clone()
}

/// Returns `true` if a control group below `group` uses nearly all that `group` uses.
fn is_explained(group: &GroupState, all: &[GroupState], use_of: UseOf) -> bool {
    let Ok(whole) = use_of(group) else { return false };
    let is_below =
        |other: &&GroupState| other.name.strip_prefix(&*group.name).is_some_and(|rest| rest.starts_with('/'));
    all.iter().filter(is_below).any(|other| use_of(other).is_ok_and(|part| part >= whole * NEARLY_ALL))
}
