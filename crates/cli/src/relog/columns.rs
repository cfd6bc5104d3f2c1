//! The columns of a text log: every counter of every instance that any sample has.

use std::collections::HashMap;

use perfset::path::PathValue;
use perfset::{CounterId, Guid, NoValue};

use super::progress::Progress;
use super::{Machine, number, step};
use crate::exit::Failure;

/// The columns of a text log, and where the values of a sample go.
#[derive(Default)]
pub struct Columns {
    paths: Vec<String>,
    by_key: HashMap<Key, usize>,
    /// By machine: the column of each value, while the same come in the same order.
    places: Vec<Vec<Option<usize>>>,
    line: Vec<Option<f64>>,
}

/// What tells one column from another: of which machine, and what.
type Key = (usize, Guid, CounterId, Box<[u8]>, usize);

fn key(machine: usize, v: &PathValue<'_>) -> Key {
    let guid = v.value.counterset.guid;
    (machine, guid, v.value.counter.id, v.value.instance.as_bytes().into(), v.occurrence)
}

impl Columns {
    /// Reads the logs once, unless all samples have the same.
    pub fn find(machines: &mut [Machine], is_steady: bool, progress: &mut Progress) -> Result<Self, Failure> {
        let mut columns = Self::default();
        while step(machines)?.is_some() {
            for (number, machine) in machines.iter().enumerate() {
                if machine.query.is_as_before() {
                    continue;
                }
                // If all samples have the same, what this one does not have no other one has.
                let is_there = |v: &&PathValue<'_>| {
                    let never = is_steady && matches!(v.value.value, Err(NoValue::Unavailable(_)));
                    v.value.instance_id.is_some() && !never
                };
                for v in machine.query.values().iter().filter(is_there) {
                    let next = columns.paths.len();
                    if let std::collections::hash_map::Entry::Vacant(place) =
                        columns.by_key.entry(key(number, v))
                    {
                        place.insert(next);
                        columns.paths.push(v.own_path(Some(machine.logs.machine_name())).to_string());
                    }
                }
            }
            if is_steady {
                break;
            }
            progress.show();
        }
        Ok(columns)
    }

    /// The path of each.
    pub fn paths(&self) -> Vec<String> {
        self.paths.clone()
    }

    /// The values of the last sample, a column each.
    pub fn line(&mut self, machines: &[Machine]) -> &[Option<f64>] {
        let Self { paths, by_key, places, line } = self;
        line.clear();
        line.resize(paths.len(), None);
        places.resize_with(machines.len(), Vec::new);
        for (machine_number, (machine, places)) in machines.iter().zip(places).enumerate() {
            let values = machine.query.values();
            if !machine.query.is_as_before() {
                places.clear();
                places.extend(values.iter().map(|v| by_key.get(&key(machine_number, v)).copied()));
            }
            for (v, place) in values.iter().zip(places.iter()) {
                if let Some(cell @ None) = place.and_then(|place| line.get_mut(place)) {
                    *cell = number(v);
                }
            }
        }
        line
    }
}
