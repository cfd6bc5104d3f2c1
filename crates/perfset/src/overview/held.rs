//! Held values of a log: values of a counterset's last collection, used in samples for which the counterset was not
//! due.

use std::collections::HashMap;

use crate::path::{PathQuery, PathValue};
use crate::{Birth, FormattedValue, Mark, NoValue};

/// Last values of a log's query, by counter path and instance. A recorder reads some countersets less often than
/// others; in between, rates of such a counterset are those of its last two collections.
#[derive(Debug, Default)]
pub(super) struct HeldValues(HashMap<HeldKey, HeldValue>);

/// Key of a held value: the position of its counter path, its instance name and its instance id.
type HeldKey = (usize, Vec<u8>, Option<u32>);

#[derive(Debug)]
struct HeldValue {
    birth: Birth,
    value: Result<FormattedValue, NoValue>,
}

impl HeldValues {
    /// Stores the values of the next sample of a log's query.
    pub fn learn(&mut self, query: &PathQuery) {
        let mut before = std::mem::take(&mut self.0);
        for v in query.values() {
            let (key, birth) = (key(&v), query.birth(&v));
            let held = before.remove(&key).filter(|held| is_older(&v) && held.birth == birth);
            let value = held.map_or_else(|| first(&v), |held| held.value);
            self.0.insert(key, HeldValue { birth, value });
        }
    }

    /// Replaces a value of the last sample by the held value of the same instance, if the sample's value is of an
    /// earlier collection.
    pub fn replace(&self, query: &PathQuery, v: &mut PathValue<'_>) {
        // A live query has none.
        if self.0.is_empty() || !is_older(v) {
            return;
        }
        let birth = query.birth(v);
        if let Some(held) = self.0.get(&key(v)).filter(|held| held.birth == birth) {
            (v.value.value, v.value.mark) = (held.value.clone(), None);
        }
    }
}

/// Last sample of a query, in which values of an earlier collection are replaced by the stored values of that
/// collection.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldSample<'a> {
    /// Path query of the sample.
    pub query: &'a PathQuery,
    held: &'a HeldValues,
}

impl<'a> HeldSample<'a> {
    pub fn new(query: &'a PathQuery, held: &'a HeldValues) -> Self {
        Self { query, held }
    }

    /// Passes each value of a counter path to `each`, with held values in the place of stale values.
    pub fn for_each_value(&self, path: usize, mut each: impl FnMut(PathValue<'a>)) {
        self.query.for_each_value(path, |mut v| {
            self.held.replace(self.query, &mut v);
            each(v);
        });
    }

    /// Returns the value of a counter path in a row; a stale value is replaced by the held value.
    pub fn value_in_row(&self, path: usize, row: usize) -> Option<PathValue<'a>> {
        let mut v = self.query.value_in_row(path, row)?;
        self.held.replace(self.query, &mut v);
        Some(v)
    }
}

fn key(v: &PathValue<'_>) -> HeldKey {
    (v.path, v.value.instance.as_bytes().to_vec(), v.value.instance_id.map(|id| id.0))
}

fn is_older(v: &PathValue<'_>) -> bool {
    matches!(v.value.mark, Some(Mark::Stale(_)))
}

/// Returns the value to hold for an instance of which no earlier value is stored. The earlier collection that a rate
/// needs can be before the first sample.
fn first(v: &PathValue<'_>) -> Result<FormattedValue, NoValue> {
    match is_older(v) && v.value.counter.counter_type.needs_two_samples() {
        true => Err(NoValue::NeedsTwoSamples),
        false => v.value.value.clone(),
    }
}
