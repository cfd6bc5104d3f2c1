//! Statistics over a run: least, greatest and mean of each counter of each instance.

use std::collections::HashMap;

use perfset_core::{CounterId, InstanceId, Utf16};

use super::query::PathValue;

/// What the values of one counter of one instance were over a run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(alias = "PDH_STATISTICS")]
pub struct Statistics {
    /// Samples that had a value.
    pub count: u64,
    /// The least value.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
    /// The sum of all values.
    sum: f64,
}

impl Statistics {
    fn of(value: f64) -> Self {
        Self { count: 1, min: value, max: value, sum: value }
    }

    fn add(&mut self, value: f64) {
        self.count = self.count.saturating_add(1);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += value;
    }

    /// The mean of the samples that had a value.
    #[must_use]
    pub fn mean(&self) -> f64 {
        #[expect(clippy::as_conversions, reason = "no run has 2^53 samples")]
        let count = self.count as f64;
        self.sum / count
    }
}

/// What tells one series of a run from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Series {
    /// Position of the path.
    pub path: usize,
    /// The counter.
    pub counter: CounterId,
    /// The instance's name.
    pub instance: Utf16,
    /// The instance's id, where results carry it.
    pub instance_id: Option<InstanceId>,
}

/// Collects the statistics of a run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    places: HashMap<Series, usize>,
    all: Vec<(Series, Statistics)>,
}

impl Run {
    /// Adds a sample: every value that there is; what is missing counts nowhere.
    pub fn add(&mut self, values: &[PathValue<'_>]) {
        for PathValue { path, value, .. } in values {
            let Ok(formatted) = &value.value else { continue };
            let series = Series {
                path: *path,
                counter: value.counter.id,
                instance: Utf16::from(value.instance),
                instance_id: value.instance_id,
            };
            let number = formatted.nocap();
            match self.places.get(&series).and_then(|at| self.all.get_mut(*at)) {
                Some((_, statistics)) => statistics.add(number),
                None => {
                    self.places.insert(series.clone(), self.all.len());
                    self.all.push((series, Statistics::of(number)));
                }
            }
        }
    }

    /// All series, in the order in which they first had a value.
    #[must_use]
    pub fn series(&self) -> &[(Series, Statistics)] {
        &self.all
    }
}
