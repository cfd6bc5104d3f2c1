//! Requested counters of a path counterset, and their columns.

use std::collections::HashMap;

use perfset_core::{CounterId, CounterType};

use super::PathCounter;
use super::raw_fields::RawField;

/// Requested counters of a path counterset, and their columns.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub of: Vec<CounterId>,
    /// Counter and PDH field for each requested id in `of`; `None` for an id that the counterset lacks.
    pub parts: Vec<Option<(usize, RawField)>>,
    /// Requested counters without duplicates: the index of each one in the counterset, and its type.
    pub counters: Vec<(usize, CounterType)>,
    /// Index in `counters` for each counter of the counterset; `None` for a counter that is not requested.
    pub columns: Vec<Option<usize>>,
    /// `true` if all requested counters were formatted by the log's writer.
    pub is_formatted: bool,
}

impl Wanted {
    pub fn new(ids: &[CounterId], all: &[PathCounter]) -> Self {
        let mut wanted = Self { of: ids.to_vec(), columns: vec![None; all.len()], ..Self::default() };
        let mut by_id = HashMap::new();
        for (at, counter) in all.iter().enumerate() {
            // All fields get an id, because a query may request a hidden field without its counter.
            for part in [RawField::First, RawField::Second, RawField::Items, RawField::TimeBase] {
                by_id.entry(part.id(counter, at)).or_insert((at, part));
            }
        }
        for id in ids {
            let part = by_id.get(id).and_then(|(at, part)| {
                let counter_type = all.get(*at)?.counter_type;
                let next = wanted.counters.len();
                let column = wanted.columns.get_mut(*at)?;
                if column.is_none() {
                    wanted.counters.push((*at, counter_type));
                }
                Some((*column.get_or_insert(next), *part))
            });
            wanted.parts.push(part);
        }
        let is_formatted = |at: usize| all.get(at).is_some_and(|counter| counter.is_formatted);
        wanted.is_formatted = wanted.counters.iter().all(|(at, _)| is_formatted(*at));
        wanted
    }

    /// Creates a request for the instances of a path counterset, without values.
    pub fn names(all: &[PathCounter]) -> Self {
        let counters: Vec<_> = all.iter().map(|counter| counter.counter_type).enumerate().collect();
        let columns = (0..all.len()).map(Some).collect();
        Self { counters, columns, ..Self::default() }
    }

    pub fn column(&self, counter: usize) -> Option<usize> {
        self.columns.get(counter).copied().flatten()
    }
}
