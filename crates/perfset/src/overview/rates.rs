//! Rates of counts that have no rate of their own, such as the dropped packets of an interface.

use std::collections::HashMap;

use crate::path::PathValue;
use crate::{Birth, NoValue};

use super::paths::{BoundPath, SampleValues, uncapped};
use super::state::StateValue;

/// Tracker that computes rates from the last two samples of counts.
#[derive(Debug, Default)]
pub(super) struct RateTracker {
    counts: HashMap<CountKey, TrackedCount>,
    /// Time of the last sample of the counts, in 100 ns.
    time: Option<i64>,
}

/// Key of a count: the position of its counter path, its instance name and its instance id.
type CountKey = (usize, String, Option<u32>);

#[derive(Debug)]
struct TrackedCount {
    birth: Birth,
    count: StateValue,
    rate: StateValue,
}

impl RateTracker {
    /// Reads the counts of these counter paths in the next sample.
    pub fn learn<'p>(
        &mut self,
        values: &SampleValues<'_>,
        paths: impl Iterator<Item = &'p BoundPath>,
        time_100ns: i64,
    ) {
        let seconds = self.time.map(|before| super::seconds(time_100ns.saturating_sub(before)));
        let mut counts = HashMap::new();
        for v in paths.flat_map(|path| values.of(path)) {
            let (count, birth) = (uncapped(v), values.query().birth(v));
            let rate = rate(self.counts.get(&key(v)), birth, &count, seconds);
            counts.insert(key(v), TrackedCount { birth, count, rate });
        }
        (self.counts, self.time) = (counts, Some(time_100ns));
    }

    /// Returns the sum of the rates of these counter paths for the instance of a value; `at` is the position of that
    /// value.
    pub fn sum(
        &self,
        values: &SampleValues<'_>,
        paths: &[BoundPath],
        at: usize,
        of: &PathValue<'_>,
    ) -> StateValue {
        let rate = |path: &BoundPath| {
            path.clone()?;
            let v = values.beside(path, at, of).ok_or(NoValue::NoInstance)?;
            self.counts.get(&key(v)).map_or(Err(NoValue::NoInstance), |count| count.rate.clone())
        };
        paths.iter().map(rate).reduce(|a, b| Ok(a? + b?)).unwrap_or(Err(NoValue::NoInstance))
    }
}

fn key(v: &PathValue<'_>) -> CountKey {
    (v.path, v.value.instance.to_string(), v.value.instance_id.map(|id| id.0))
}

fn rate(before: Option<&TrackedCount>, birth: Birth, now: &StateValue, seconds: Option<f64>) -> StateValue {
    let seconds = seconds.ok_or(NoValue::NeedsTwoSamples)?;
    let before = before.ok_or(NoValue::NewInstance)?;
    if before.birth != birth {
        return Err(NoValue::Replaced);
    }
    let grown = now.clone()? - before.count.clone()?;
    if seconds <= 0.0 {
        return Err(NoValue::NegativeDenominator);
    }
    // A count that falls was reset: its rate is not known.
    if grown < 0.0 { Err(NoValue::NotGiven) } else { Ok(grown / seconds) }
}
