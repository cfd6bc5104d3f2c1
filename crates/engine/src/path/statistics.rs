//! Statistics over a run: least, greatest and mean of each counter of each instance.

use std::collections::HashMap;

use perfset_core::pdh::{Calculation, PdhStatus, RawCounter};
use perfset_core::{CounterId, InstanceId, Utf16};

use super::query::PathValue;

/// What the values of one counter of one instance were over a run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(alias = "PDH_STATISTICS")]
pub struct Statistics {
    /// Values that there were.
    pub count: u64,
    /// The least value.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
    /// The sum of all values.
    sum: f64,
}

impl Statistics {
    /// Of raw counters that a caller holds in a ring: `first` is the position of the oldest, the one before it the
    /// newest. Counted are values, of which types that take a difference have one less than raw counters. They are
    /// capped and scaled as the calculation says; [`FormatKind::number`](super::FormatKind::number) makes integers of
    /// the results.
    ///
    /// ```
    /// use perfset_core::CounterType;
    /// use perfset_engine::path::{Calculation, Format, FormatKind, PdhStatus, RawCounter, Statistics};
    ///
    /// let size = |first| RawCounter { first, ..RawCounter::none(PdhStatus(0), 0) };
    /// let calculation =
    ///     Calculation::new(CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 0, Format::new(FormatKind::Double))?;
    /// let statistics = Statistics::of_ring(&calculation, 1, &[size(7), size(2), size(3)])?;
    /// assert_eq!((statistics.count, statistics.min, statistics.max, statistics.mean()), (3, 2.0, 7.0, 4.0));
    /// # Ok::<_, PdhStatus>(())
    /// ```
    ///
    /// # Errors
    /// [`PDH_INVALID_ARGUMENT`](PdhStatus::PDH_INVALID_ARGUMENT) if the oldest is not in the ring,
    /// [`PDH_INVALID_DATA`](PdhStatus::PDH_INVALID_DATA) if there is no value.
    #[doc(alias = "PdhComputeCounterStatistics")]
    pub fn of_ring(calculation: &Calculation, first: usize, ring: &[RawCounter]) -> Result<Self, PdhStatus> {
        let halves = ring.split_at_checked(first).filter(|(_, older)| !older.is_empty());
        let (newer, older) = halves.ok_or(PdhStatus::PDH_INVALID_ARGUMENT)?;
        let mut statistics: Option<Self> = None;
        let mut before = None;
        for raw in older.iter().chain(newer) {
            if let Ok(value) = calculation.double(raw, before) {
                match &mut statistics {
                    Some(statistics) => statistics.add(value),
                    none => *none = Some(Self::of(value)),
                }
            }
            before = Some(raw);
        }
        statistics.ok_or(PdhStatus::PDH_INVALID_DATA)
    }

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
