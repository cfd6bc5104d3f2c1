//! Last sample in PDH's terms: raw counters, formatted values with statuses, and counter information.

use perfset_core::pdh::{CounterValue, Format, PdhStatus, RawCounter, Scale, time_base};
use perfset_core::sample::{Clocks, SampleValues};
use perfset_core::{CounterId, CounterType};

use super::grammar::CounterPath;
use super::query::{BoundPath, PathQuery, PathValue};
use crate::source::NextOutcome;
use crate::values::SampleLookup;

/// Information about one counter of a path.
#[derive(Clone, Debug, PartialEq)]
#[doc(alias = "PDH_COUNTER_INFO")]
pub struct CounterInfo<'a> {
    /// Id of the counter.
    pub counter: CounterId,
    /// Type of the counter.
    pub counter_type: CounterType,
    /// Status of the counter's first value in the last sample: valid, or the reason why not.
    #[doc(alias = "CStatus")]
    pub c_status: PdhStatus,
    /// Factor for formatted values.
    #[doc(alias = "lScale")]
    pub scale: Scale,
    /// Power of ten for charts, from the registration. Not applied.
    #[doc(alias = "lDefaultScale")]
    pub default_scale: i32,
    /// Path with the names of the registration; [`instance_name`](CounterPath::instance_name) parses its instance.
    #[doc(alias = "szFullPath")]
    pub path: CounterPath,
    /// Help text; empty if there is none.
    #[doc(alias = "szExplainText")]
    pub help: &'a str,
    /// Ticks per second of the clock that the counter's type names, if known.
    #[doc(alias = "PdhGetCounterTimeBase")]
    pub time_base: Option<i64>,
}

/// Last sample in PDH's terms.
///
/// Each of these methods recomputes the values of all paths, except [`raw_counters`](Self::raw_counters) and
/// [`formatted`](Self::formatted). To read many paths, call [`values`](Self::values) once, and pass all values to one
/// of those two.
///
/// ```
/// use perfset::path::{Format, FormatKind, Number, PathQuery, PdhStatus};
/// use perfset::{Machine, testing::FixedClock};
///
/// let mut machine = Machine::new(Box::new(FixedClock::default()));
/// let mut query = PathQuery::open(&mut machine)?;
/// query.add(&mut machine, &r"\Perfset Engine\Collections/sec".parse()?)?;
/// let long = Format::new(FormatKind::Long);
/// assert_eq!(query.formatted_value(0, long)?.c_status, PdhStatus::PDH_CSTATUS_ITEM_NOT_VALIDATED);
/// query.collect()?;
/// assert_eq!(query.formatted_value(0, long)?.c_status, PdhStatus::PDH_CSTATUS_INVALID_DATA);
/// query.collect()?;
/// assert_eq!(query.formatted_value(0, long)?.number, Some(Number::Long(1)));
/// let values = query.values();
/// for (value, raw) in values.iter().zip(query.raw_counters(&values)) {
///     println!("{} {} {}: {:?}", value.value.instance, raw.first, raw.second, value.value.value);
/// }
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
impl PathQuery {
    /// Calls [`collect`](Self::collect) and returns PDH's code for the outcome. It is PDH_NO_DATA if there are no
    /// paths or none of the instances exists, PDH_NO_MORE_DATA at the end of a log.
    #[doc(alias = "PdhCollectQueryData")]
    pub fn collect_status(&mut self) -> PdhStatus {
        if self.paths.is_empty() {
            return PdhStatus::PDH_NO_DATA;
        }
        match self.collect() {
            Ok(NextOutcome::End) => PdhStatus::PDH_NO_MORE_DATA,
            Err(error) => error.status().into(),
            Ok(NextOutcome::Sample) => {
                let no_instance = |v: &PathValue<'_>| good_or(v) == Err(PdhStatus::PDH_CSTATUS_NO_INSTANCE);
                let nothing = self.values().iter().all(no_instance);
                if nothing { PdhStatus::PDH_NO_DATA } else { PdhStatus(0) }
            }
        }
    }

    /// Returns the raw counter of each of these values, which are of this query and its last sample.
    #[must_use]
    pub fn raw_counters(&self, values: &[PathValue<'_>]) -> Vec<RawCounter> {
        let mut origins = SampleLookup::new(&self.new, self.older());
        let time = self.new.clocks.time_100ns;
        let raw_counter = |v: &PathValue<'_>| {
            let value = &v.value;
            let (Some(raw), Some(clocks)) = (value.raw, origins.clocks(value, v.row)) else {
                return RawCounter::without_value(
                    good_or(v).err().unwrap_or(PdhStatus::PDH_CSTATUS_INVALID_DATA),
                    time,
                );
            };
            let numbers = SampleValues { raw, base: value.base, clocks: &clocks };
            let raw = RawCounter::new(value.counter.counter_type, time, &numbers);
            match raw.c_status.has_value() {
                true => RawCounter { c_status: self.good(v, &mut origins), ..raw },
                false => raw,
            }
        };
        values.iter().map(raw_counter).collect()
    }

    /// Formats these values, which are of this query and its last sample; from then on they count as read.
    #[must_use]
    pub fn formatted(&self, values: &[PathValue<'_>], format: Format) -> Vec<CounterValue> {
        // Computed before any path counts as read, so that all values of a path are equally new.
        let statuses = self.statuses(values);
        let in_format = |(v, c_status): (&PathValue<'_>, PdhStatus)| {
            let bound = self.paths.get(v.path);
            let (Ok(value), Some(raw)) = (&v.value.value, v.value.raw) else {
                return CounterValue::without_value(c_status);
            };
            if let Some(bound) = bound {
                bound.is_read.set(true);
            }
            let scale = bound.map_or(Scale::ONE, |bound| bound.scale);
            CounterValue { c_status, number: Some(format.number(*value, raw, scale)) }
        };
        values.iter().zip(statuses).map(in_format).collect()
    }

    /// Returns the raw counter of a path that selects one value.
    ///
    /// # Errors
    /// [`PDH_INVALID_HANDLE`](PdhStatus::PDH_INVALID_HANDLE) if there is no such path,
    /// [`PDH_INVALID_ARGUMENT`](PdhStatus::PDH_INVALID_ARGUMENT) if it can have several values.
    #[doc(alias = "PdhGetRawCounterValue")]
    pub fn raw_value(&self, path: usize) -> Result<RawCounter, PdhStatus> {
        let values = self.value(path)?;
        let raw = self.raw_counters(&values).into_iter().next();
        Ok(raw.unwrap_or(RawCounter::without_value(PdhStatus::PDH_CSTATUS_ITEM_NOT_VALIDATED, 0)))
    }

    /// Returns the values of a path with their raw counters. Instances of the same name have the same name,
    /// distinguished by their occurrence.
    ///
    /// # Errors
    /// [`PDH_INVALID_HANDLE`](PdhStatus::PDH_INVALID_HANDLE) if there is no such path,
    /// [`PDH_NO_DATA`](PdhStatus::PDH_NO_DATA) before the first sample.
    #[doc(alias = "PdhGetRawCounterArray")]
    #[doc(alias = "PDH_RAW_COUNTER_ITEM")]
    pub fn raw_array(&self, path: usize) -> Result<Vec<(PathValue<'_>, RawCounter)>, PdhStatus> {
        let values = self.values_of(path)?;
        let raw = self.raw_counters(&values);
        Ok(values.into_iter().zip(raw).collect())
    }

    /// Formats the value of a path that selects one. If there is no value, the status gives the reason, and a C
    /// function returns [`PDH_INVALID_DATA`](PdhStatus::PDH_INVALID_DATA).
    ///
    /// # Errors
    /// As [`raw_value`](Self::raw_value).
    #[doc(alias = "PdhGetFormattedCounterValue")]
    pub fn formatted_value(&self, path: usize, format: Format) -> Result<CounterValue, PdhStatus> {
        let values = self.value(path)?;
        let value = self.formatted(&values, format).into_iter().next();
        Ok(value.unwrap_or(CounterValue::without_value(PdhStatus::PDH_CSTATUS_ITEM_NOT_VALIDATED)))
    }

    /// Formats the values of a path. Instances of the same name have the same name, distinguished by their
    /// occurrence.
    ///
    /// # Errors
    /// Errors of [`raw_array`](Self::raw_array), and the status of the first value if no value has a number.
    #[doc(alias = "PdhGetFormattedCounterArray")]
    #[doc(alias = "PDH_FMT_COUNTERVALUE_ITEM")]
    pub fn formatted_array(
        &self,
        path: usize,
        format: Format,
    ) -> Result<Vec<(PathValue<'_>, CounterValue)>, PdhStatus> {
        let values = self.values_of(path)?;
        let formatted = self.formatted(&values, format);
        if formatted.iter().all(|value| value.number.is_none()) {
            return Err(formatted.first().map_or(PdhStatus::PDH_NO_DATA, |value| value.c_status));
        }
        Ok(values.into_iter().zip(formatted).collect())
    }

    /// Multiplies the formatted values of a path with a power of ten from now on, -7 to 7.
    ///
    /// # Errors
    /// [`PDH_INVALID_HANDLE`](PdhStatus::PDH_INVALID_HANDLE) if there is no such path, then
    /// [`PDH_INVALID_ARGUMENT`](PdhStatus::PDH_INVALID_ARGUMENT) if there is no such scale.
    #[doc(alias = "PdhSetCounterScaleFactor")]
    pub fn set_scale(&mut self, path: usize, power: i32) -> Result<(), PdhStatus> {
        let bound = self.paths.get_mut(path).ok_or(PdhStatus::PDH_INVALID_HANDLE)?;
        // PDH reports an unknown counter before a wrong scale, as Wine's tests show (F-30).
        bound.scale = Scale::try_from(power)?;
        Ok(())
    }

    /// Returns information about each counter of a path.
    ///
    /// # Errors
    /// [`PDH_INVALID_HANDLE`](PdhStatus::PDH_INVALID_HANDLE) if there is no such path.
    #[doc(alias = "PdhGetCounterInfo")]
    pub fn info(&self, path: usize) -> Result<Vec<CounterInfo<'_>>, PdhStatus> {
        let bound = self.bound(path)?;
        let values: Vec<_> = self.values().into_iter().filter(|v| v.path == path).collect();
        let mut origins = SampleLookup::new(&self.new, self.older());
        Ok(self.infos_of(bound, &values, &mut origins))
    }

    /// Returns the [`info`](Self::info) of each path of some values, which are of this query and its last sample,
    /// path by path. The values are visited once.
    #[must_use]
    pub fn infos(&self, values: &[PathValue<'_>]) -> Vec<(usize, Vec<CounterInfo<'_>>)> {
        let mut origins = SampleLookup::new(&self.new, self.older());
        let info = |values: &[PathValue<'_>]| {
            let path = values.first()?.path;
            Some((path, self.infos_of(self.paths.get(path)?, values, &mut origins)))
        };
        values.chunk_by(|a, b| a.path == b.path).filter_map(info).collect()
    }

    fn infos_of<'q>(
        &'q self,
        bound: &'q BoundPath,
        values: &[PathValue<'_>],
        origins: &mut SampleLookup<'_>,
    ) -> Vec<CounterInfo<'q>> {
        let statuses = self.statuses_by(values, origins);
        let mut infos = Vec::new();
        for counter in bound.counters.iter().filter_map(|(id, _)| bound.set.counter(*id)) {
            let first = values.iter().zip(&statuses).find(|(v, _)| v.value.counter.id == counter.id);
            let clocks = first.and_then(|(v, _)| origins.clocks(&v.value, v.row));
            let clocks =
                // Without a value the object's own frequency is unknown: 0 is filtered out below.
                clocks.unwrap_or_else(|| Clocks { object_freq: 0, ..Clocks::from(self.new.clocks()) });
            infos.push(CounterInfo {
                counter: counter.id,
                counter_type: counter.counter_type,
                c_status: first.map_or(PdhStatus::PDH_CSTATUS_ITEM_NOT_VALIDATED, |(_, status)| *status),
                scale: bound.scale,
                default_scale: counter.default_scale,
                path: CounterPath { counter: counter.shown_name().into_owned(), ..bound.path.clone() },
                help: &counter.help,
                time_base: Some(time_base(counter.counter_type, &clocks)).filter(|ticks| *ticks > 0),
            });
        }
        infos
    }

    fn bound(&self, path: usize) -> Result<&BoundPath, PdhStatus> {
        self.paths.get(path).ok_or(PdhStatus::PDH_INVALID_HANDLE)
    }

    /// Returns the value of a path that selects one; empty before the first sample.
    fn value(&self, path: usize) -> Result<Vec<PathValue<'_>>, PdhStatus> {
        match self.bound(path)?.is_several() {
            true => Err(PdhStatus::PDH_INVALID_ARGUMENT),
            false => Ok(self.values().into_iter().filter(|v| v.path == path).collect()),
        }
    }

    /// Returns the values of a path that can have several.
    fn values_of(&self, path: usize) -> Result<Vec<PathValue<'_>>, PdhStatus> {
        self.bound(path)?;
        match self.samples {
            0 => Err(PdhStatus::PDH_NO_DATA),
            _ => Ok(self.values().into_iter().filter(|v| v.path == path).collect()),
        }
    }

    /// Returns the `CStatus` of each formatted value.
    fn statuses(&self, values: &[PathValue<'_>]) -> Vec<PdhStatus> {
        self.statuses_by(values, &mut SampleLookup::new(&self.new, self.older()))
    }

    fn statuses_by(&self, values: &[PathValue<'_>], origins: &mut SampleLookup<'_>) -> Vec<PdhStatus> {
        values.iter().map(|v| good_or(v).err().unwrap_or_else(|| self.good(v, origins))).collect()
    }

    /// Returns the status of an existing value: new if it changed and was not read since, else valid.
    fn good(&self, v: &PathValue<'_>, origins: &mut SampleLookup<'_>) -> PdhStatus {
        let is_read = self.paths.get(v.path).is_some_and(|bound| bound.is_read.get());
        match !is_read && origins.is_new(&v.value, v.row) {
            true => PdhStatus::PDH_CSTATUS_NEW_DATA,
            false => PdhStatus::PDH_CSTATUS_VALID_DATA,
        }
    }
}

/// Returns the status of a missing value as the error.
fn good_or(v: &PathValue<'_>) -> Result<(), PdhStatus> {
    v.value.value.as_ref().map(drop).map_err(PdhStatus::from)
}
