//! Lists of the processes with the greatest use, and sums over all processes.

use std::collections::HashSet;

use crate::NoValue;
use crate::path::PathValue;

use super::held::HeldSample;
use super::paths::{BoundPath, ProcessPaths, is_instance, is_same_instance, uncapped};
use super::state::{ProcessState, StateValue};
use super::{greatest, name, number};

/// List of the busiest processes of a sample, and sums over all processes.
///
/// There can be tens of thousands of values. They are visited as numbers, and only the listed processes get names and
/// values of their own.
pub(super) struct ProcessList {
    /// Processes with the greatest use of processors, memory or storage, each process once.
    pub listed: Vec<ProcessState>,
    /// Number of processes in the sample.
    pub count: StateValue,
    /// Processor time of all processes together, in percent of one processor.
    pub time: StateValue,
    /// Number of processes whose storage bytes were refused, and the reason.
    pub refused: Option<(usize, NoValue)>,
}

/// Values above 0 of a counter path, each with the row of its process, for a ranking.
type RowNumbers = Vec<(f64, usize)>;

impl ProcessList {
    /// Lists up to `most` processes for each use: processor time, memory and storage.
    pub fn new(sample: HeldSample<'_>, paths: &ProcessPaths, most: usize) -> Self {
        let (mut by_time, count, time) = times(sample, &paths.time);
        let mut by_memory = RowNumbers::new();
        each(sample, &paths.memory, |v| {
            let number = number(&v);
            if number > 0.0 && is_instance(&v) {
                by_memory.push((number, v.row()));
            }
        });
        let (mut by_storage, refused) = storage(sample, paths);
        let ranked = [
            (&paths.time, greatest(&mut by_time, most)),
            (&paths.memory, greatest(&mut by_memory, most)),
            (&paths.read, greatest(&mut by_storage, most)),
        ];
        let values = ranked.into_iter().flat_map(|(path, rows)| {
            let path = path.as_ref().ok();
            rows.into_iter().filter_map(move |row| sample.value_in_row(*path?, row))
        });
        let (mut listed, mut known): (Vec<ProcessState>, HashSet<_>) = (Vec::new(), HashSet::new());
        for v in values {
            let birth = sample.query.birth(&v);
            let id = v.value.instance_id.map_or(0, |id| id.0);
            if !known.insert((name(&v), id, birth)) {
                continue;
            }
            let reading = |path| reading(sample, path, &v);
            listed.push(ProcessState {
                name: name(&v),
                id,
                birth,
                processor_time: reading(&paths.time),
                memory: reading(&paths.memory),
                read: reading(&paths.read),
                written: reading(&paths.written),
                age: reading(&paths.age),
            });
        }
        Self { listed, count, time, refused }
    }
}

/// Returns the processor times of processes by row, the number of processes, and the sum of the times. Without any
/// process, number and sum are unknown: the machine runs at least one.
fn times(sample: HeldSample<'_>, path: &BoundPath) -> (RowNumbers, StateValue, StateValue) {
    let (mut numbers, mut count, mut sum) = (RowNumbers::new(), 0_u32, None);
    let mut missing = path.clone().err();
    each(sample, path, |v| {
        if let (None, Err(reason)) = (&missing, &v.value.value) {
            missing = Some(reason.clone());
        }
        if !is_instance(&v) {
            return;
        }
        count = count.saturating_add(1);
        let number = number(&v);
        if number > 0.0 {
            numbers.push((number, v.row()));
        }
        if let Ok(time) = uncapped(&v) {
            sum = Some(sum.unwrap_or(0.0) + time);
        }
    });
    let missing = missing.unwrap_or(NoValue::NoInstance);
    let count = if count == 0 { Err(missing.clone()) } else { Ok(count.into()) };
    (numbers, count, sum.ok_or(missing))
}

/// Returns the storage bytes of processes by row, and the number of processes whose bytes were refused.
fn storage(sample: HeldSample<'_>, paths: &ProcessPaths) -> (RowNumbers, Option<(usize, NoValue)>) {
    let mut written = Vec::new();
    each(sample, &paths.written, |v| written.push(number(&v)));
    let (mut numbers, mut refused) = (RowNumbers::new(), None::<(usize, NoValue)>);
    each(sample, &paths.read, |v| {
        if !is_instance(&v) {
            return;
        }
        if let Err(reason @ NoValue::Denied(_)) = &v.value.value {
            let (count, _) = refused.get_or_insert_with(|| (0, reason.clone()));
            *count = count.saturating_add(1);
        }
        // Nearly all processes write nothing, and the values at a position are those of one row. Only the others are
        // looked up by their identity, which is slow for 10,000 processes.
        let written = match written.get(v.row()) {
            Some(0.0) => 0.0,
            _ => reading(sample, &paths.written, &v).unwrap_or(0.0),
        };
        let number = number(&v) + written;
        if number > 0.0 {
            numbers.push((number, v.row()));
        }
    });
    (numbers, refused)
}

/// Passes each value of a counter path to `each`, if the source has the path.
fn each<'a>(sample: HeldSample<'a>, path: &BoundPath, each: impl FnMut(PathValue<'a>)) {
    if let Ok(path) = path {
        sample.for_each_value(*path, each);
    }
}

/// Returns the number that a counter path has for the instance of the value `of`, or the reason why the number is
/// missing.
fn reading(sample: HeldSample<'_>, path: &BoundPath, of: &PathValue<'_>) -> StateValue {
    let at = path.clone()?;
    let is_it = |v: &PathValue<'_>| is_same_instance(sample.query, v, of);
    // Two countersets of processes differ only in the sums at the beginning.
    let row = of.row();
    let near = [Some(row), row.checked_sub(1), row.checked_add(1)].into_iter().flatten();
    if let Some(v) = near.filter_map(|row| sample.value_in_row(at, row)).find(is_it) {
        return uncapped(&v);
    }
    let mut found = None;
    sample.for_each_value(at, |v| {
        if found.is_none() && is_it(&v) {
            found = Some(uncapped(&v));
        }
    });
    found.unwrap_or(Err(NoValue::NoInstance))
}
