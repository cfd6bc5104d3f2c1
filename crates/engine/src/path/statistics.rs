//! Statistics over many samples: minimum, maximum and mean of each counter of each instance.

use std::collections::HashMap;

use perfset_core::pdh::{Calculation, PdhStatus, RawCounter};
use perfset_core::{CounterId, InstanceId, Utf16};

use super::query::PathValue;

/// Statistics of one counter of one instance over a run of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(alias = "PDH_STATISTICS")]
pub struct Statistics {
    /// Number of values in the run of samples.
    pub count: u64,
    /// Minimum of the values in the run of samples.
    pub min: f64,
    /// Maximum of the values in the run of samples.
    pub max: f64,
    /// Sum of all values in the run of samples.
    sum: f64,
}

impl Statistics {
    /// Computes the statistics of raw counters in a caller's ring buffer. `first` is the index of the oldest raw
    /// counter; the newest is before it. Counter types that take a difference have one value less than raw counters.
    /// Values are capped and scaled as in the calculation; [`FormatKind::number`](super::FormatKind::number) converts
    /// the results to integers.
    ///
    /// ```
    /// use perfset::CounterType;
    /// use perfset::path::{Calculation, Format, FormatKind, PdhStatus, RawCounter, Statistics};
    ///
    /// let size = |first| RawCounter { first, ..RawCounter::without_value(PdhStatus(0), 0) };
    /// let calculation =
    ///     Calculation::new(CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 0, Format::new(FormatKind::Double))?;
    /// let statistics = Statistics::from_ring(&calculation, 1, &[size(7), size(2), size(3)])?;
    /// assert_eq!((statistics.count, statistics.min, statistics.max, statistics.mean()), (3, 2.0, 7.0, 4.0));
    /// # Ok::<_, PdhStatus>(())
    /// ```
    ///
    /// # Errors
    /// [`PDH_INVALID_ARGUMENT`](PdhStatus::PDH_INVALID_ARGUMENT) if the oldest is not in the ring,
    /// [`PDH_INVALID_DATA`](PdhStatus::PDH_INVALID_DATA) if there is no value.
    #[doc(alias = "PdhComputeCounterStatistics")]
    pub fn from_ring(
        calculation: &Calculation,
        first: usize,
        ring: &[RawCounter],
    ) -> Result<Self, PdhStatus> {
        let halves = ring.split_at_checked(first).filter(|(_, older)| !older.is_empty());
        let (newer, older) = halves.ok_or(PdhStatus::PDH_INVALID_ARGUMENT)?;
        let mut statistics: Option<Self> = None;
        let mut before = None;
        for raw in older.iter().chain(newer) {
            if let Ok(value) = calculation.double(raw, before) {
                match &mut statistics {
                    Some(statistics) => statistics.add(value),
                    none => *none = Some(Self::from_value(value)),
                }
            }
            // Also without a value: a difference across the gap would cover two intervals.
            before = Some(raw);
        }
        statistics.ok_or(PdhStatus::PDH_INVALID_DATA)
    }

    fn from_value(value: f64) -> Self {
        Self { count: 1, min: value, max: value, sum: value }
    }

    fn add(&mut self, value: f64) {
        self.count = self.count.saturating_add(1);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += value;
    }

    /// Returns the mean of the values in the run of samples; samples without a value do not count.
    #[must_use]
    pub fn mean(&self) -> f64 {
        #[expect(clippy::as_conversions, reason = "no run has 2^53 samples")]
        let count = self.count as f64;
        self.sum / count
    }
}

/// Identity of a series of values: counter path, counter and instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SeriesKey {
    /// Position of the series' counter path in the query.
    pub path: usize,
    /// Id of the counter of the series.
    pub counter: CounterId,
    /// Name of the instance of the series.
    pub instance: Utf16,
    /// Id of the instance of the series, if results contain it.
    pub instance_id: Option<InstanceId>,
}

/// Collector of the statistics of all series over a run of samples.
#[derive(Clone, Debug, Default)]
pub struct Run {
    indexes: HashMap<SeriesKey, usize>,
    all: Vec<(SeriesKey, Statistics)>,
}

impl Run {
    /// Adds every existing value of a sample to the statistics; a missing value is not counted.
    pub fn add(&mut self, values: &[PathValue<'_>]) {
        for PathValue { path, value, .. } in values {
            let Ok(formatted) = &value.value else { continue };
            let series = SeriesKey {
                path: *path,
                counter: value.counter.id,
                instance: Utf16::from(value.instance),
                instance_id: value.instance_id,
            };
            // As in tables, percentages can exceed 100 (F-21).
            let number = formatted.nocap();
            match self.indexes.get(&series).and_then(|at| self.all.get_mut(*at)) {
                Some((_, statistics)) => statistics.add(number),
                None => {
                    self.indexes.insert(series.clone(), self.all.len());
                    self.all.push((series, Statistics::from_value(number)));
                }
            }
        }
    }

    /// Returns all series with their statistics, in the order in which they first had a value.
    #[must_use]
    pub fn series(&self) -> &[(SeriesKey, Statistics)] {
        &self.all
    }
}
