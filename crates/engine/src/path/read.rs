//! Last sample of a query in PDH's terms: raw counters, formatted values with statuses, and counter information.

use perfset_core::pdh::{CounterValue, Format, PdhStatus, RawCounter, Scale, time_base};
use perfset_core::sample::{Clocks, SampleValues};
use perfset_core::{CounterId, CounterType};

use super::grammar::CounterPath;
use super::query::{BoundPath, PathQuery, PathValue};
use crate::source::NextOutcome;
use crate::values::SampleReader;

/// Information about one counter of a path.
#[derive(Clone, Debug, PartialEq)]
#[doc(alias = "PDH_COUNTER_INFO")]
pub struct CounterInfo<'a> {
    /// Id of the counter in its counterset.
    pub counter: CounterId,
    /// Type of the counter, which selects its formula.
    pub counter_type: CounterType,
    /// Status of the counter's first value in the last sample: valid, or the reason for having no valid value.
    #[doc(alias = "CStatus")]
    pub c_status: PdhStatus,
    /// Scale factor of the counter's formatted values.
    #[doc(alias = "lScale")]
    pub scale: Scale,
    /// Power of ten by which charts multiply the counter's values, from the registration. Values are not scaled by it.
    #[doc(alias = "lDefaultScale")]
    pub default_scale: i32,
    /// Counter path with the names of the registration; [`instance_name`](CounterPath::instance_name) parses its
    /// instance.
    #[doc(alias = "szFullPath")]
    pub path: CounterPath,
    /// Help text of the counter; empty if there is none.
    #[doc(alias = "szExplainText")]
    pub help: &'a str,
    /// Ticks per second of the clock that the counter's type names, if known.
    #[doc(alias = "PdhGetCounterTimeBase")]
    pub time_base: Option<i64>,
}

/// Readings of a query's last sample in the terms of PDH.
///
/// Reading many paths one by one costs about as much as reading all at once, which [`values`](Self::values) does:
/// [`raw_counters`](Self::raw_counters) and [`formatted`](Self::formatted) convert its results.
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
    /// Collects a sample like [`collect`](Self::collect) and returns PDH's code for the outcome. It is PDH_NO_DATA if
    /// there are no paths or none of the instances exists, PDH_NO_MORE_DATA at the end of a log.
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

    /// Returns the raw counter of each given value. The values must be of this query and its last sample.
    #[must_use]
    pub fn raw_counters(&self, values: &[PathValue<'_>]) -> Vec<RawCounter> {
        let mut reader = self.reader();
        values.iter().map(|v| self.raw_counter(v, &mut reader)).collect()
    }

    fn raw_counter<'a>(&'a self, v: &PathValue<'_>, reader: &mut SampleReader<'a>) -> RawCounter {
        let value = &v.value;
        let time = self.new.clocks.time_100ns;
        let (row, column) = v.cell;
        let entry = value.raw.and_then(|raw| Some((raw, reader.entry(value.entry)?)));
        let of_row = entry.and_then(|(raw, entry)| {
            entry.stay_at(row);
            Some((raw, entry.clocks(column)?))
        });
        let Some((raw, clocks)) = of_row else {
            return RawCounter::without_value(
                good_or(v).err().unwrap_or(PdhStatus::PDH_CSTATUS_INVALID_DATA),
                time,
            );
        };
        let numbers = SampleValues { raw, base: value.base, clocks: &clocks };
        let raw = RawCounter::new(value.counter.counter_type, time, &numbers);
        match raw.c_status.has_value() {
            true => RawCounter { c_status: self.good(v, reader), ..raw },
            false => raw,
        }
    }

    /// Formats the given values, which must be of this query and its last sample; afterwards they count as read.
    #[must_use]
    pub fn formatted(&self, values: &[PathValue<'_>], format: Format) -> Vec<CounterValue> {
        // Computed before any path counts as read, so that all values of a path are equally new.
        let statuses = self.statuses(values);
        values.iter().zip(statuses).map(|(v, c_status)| self.in_format(v, c_status, format)).collect()
    }

    fn in_format(&self, v: &PathValue<'_>, c_status: PdhStatus, format: Format) -> CounterValue {
        let bound = self.paths.get(v.path);
        let (Ok(value), Some(raw)) = (&v.value.value, v.value.raw) else {
            return CounterValue::without_value(c_status);
        };
        if let Some(bound) = bound {
            bound.is_read.set(true);
        }
        let scale = bound.map_or(Scale::ONE, |bound| bound.scale);
        CounterValue { c_status, number: Some(format.number(*value, raw, scale)) }
    }

    /// Returns the raw counter of a path that selects one value.
    ///
    /// # Errors
    /// [`PDH_INVALID_HANDLE`](PdhStatus::PDH_INVALID_HANDLE) if there is no such path,
    /// [`PDH_INVALID_ARGUMENT`](PdhStatus::PDH_INVALID_ARGUMENT) if it can have several values.
    #[doc(alias = "PdhGetRawCounterValue")]
    pub fn raw_value(&self, path: usize) -> Result<RawCounter, PdhStatus> {
        let mut reader = self.reader();
        let raw = self.value(path, &mut reader)?.map(|v| self.raw_counter(&v, &mut reader));
        Ok(raw.unwrap_or(RawCounter::without_value(PdhStatus::PDH_CSTATUS_ITEM_NOT_VALIDATED, 0)))
    }

    /// Returns the values of a path with their raw counters. Instances with equal names are distinguished by their
    /// occurrence.
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

    /// Formats the value of a counter path that selects one value. If there is no value, the status gives the reason,
    /// and a C function returns [`PDH_INVALID_DATA`](PdhStatus::PDH_INVALID_DATA).
    ///
    /// # Errors
    /// As [`raw_value`](Self::raw_value).
    #[doc(alias = "PdhGetFormattedCounterValue")]
    pub fn formatted_value(&self, path: usize, format: Format) -> Result<CounterValue, PdhStatus> {
        let mut reader = self.reader();
        let value = self.value(path, &mut reader)?.map(|v| {
            let c_status = self.status(&v, &mut reader);
            self.in_format(&v, c_status, format)
        });
        Ok(value.unwrap_or(CounterValue::without_value(PdhStatus::PDH_CSTATUS_ITEM_NOT_VALIDATED)))
    }

    /// Formats the values of a counter path. Instances with equal names are distinguished by their occurrence.
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

    /// Sets the power of ten, from -7 to 7, by which the formatted values of a path are multiplied from now on.
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

    /// Returns information about each counter that a path selects.
    ///
    /// # Errors
    /// [`PDH_INVALID_HANDLE`](PdhStatus::PDH_INVALID_HANDLE) if there is no such path.
    #[doc(alias = "PdhGetCounterInfo")]
    pub fn info(&self, path: usize) -> Result<Vec<CounterInfo<'_>>, PdhStatus> {
        let bound = self.bound(path)?;
        let mut reader = self.reader();
        let values = self.values_with(path, &mut reader);
        Ok(self.infos_of(bound, &values, &mut reader))
    }

    /// Returns the [`info`](Self::info) of each path of the given values, which must be of this query and its last
    /// sample, path by path. The values are visited once.
    #[must_use]
    pub fn infos(&self, values: &[PathValue<'_>]) -> Vec<(usize, Vec<CounterInfo<'_>>)> {
        let mut reader = self.reader();
        let info = |values: &[PathValue<'_>]| {
            let path = values.first()?.path;
            Some((path, self.infos_of(self.paths.get(path)?, values, &mut reader)))
        };
        values.chunk_by(|a, b| a.path == b.path).filter_map(info).collect()
    }

    fn infos_of<'q>(
        &'q self,
        bound: &'q BoundPath,
        values: &[PathValue<'_>],
        reader: &mut SampleReader<'q>,
    ) -> Vec<CounterInfo<'q>> {
        let statuses: Vec<_> = values.iter().map(|v| self.status(v, reader)).collect();
        let mut infos = Vec::new();
        for counter in bound.counters.iter().filter_map(|(id, _)| bound.set.counter(*id)) {
            let first = values.iter().zip(&statuses).find(|(v, _)| v.value.counter.id == counter.id);
            let clocks = first.and_then(|(v, _)| {
                let ((row, column), entry) = (v.cell, reader.entry(v.value.entry)?);
                entry.stay_at(row);
                entry.clocks(column)
            });
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

    /// Returns the value of a path that selects one value; `None` before the first sample.
    fn value<'a>(
        &'a self,
        path: usize,
        reader: &mut SampleReader<'a>,
    ) -> Result<Option<PathValue<'a>>, PdhStatus> {
        if self.bound(path)?.is_several {
            return Err(PdhStatus::PDH_INVALID_ARGUMENT);
        }
        let mut first = None;
        self.each_value(path, reader, |value| {
            first.get_or_insert(value);
        });
        Ok(first)
    }

    /// Returns the values of a path that can have several.
    fn values_of(&self, path: usize) -> Result<Vec<PathValue<'_>>, PdhStatus> {
        self.bound(path)?;
        match self.samples {
            0 => Err(PdhStatus::PDH_NO_DATA),
            _ => Ok(self.values_with(path, &mut self.reader())),
        }
    }

    fn values_with<'a>(&'a self, path: usize, reader: &mut SampleReader<'a>) -> Vec<PathValue<'a>> {
        let mut values = Vec::new();
        self.each_value(path, reader, |value| values.push(value));
        values
    }

    /// Returns the PDH status (`CStatus`) of each formatted value.
    fn statuses(&self, values: &[PathValue<'_>]) -> Vec<PdhStatus> {
        let mut reader = self.reader();
        values.iter().map(|v| self.status(v, &mut reader)).collect()
    }

    fn status<'a>(&'a self, v: &PathValue<'_>, reader: &mut SampleReader<'a>) -> PdhStatus {
        good_or(v).err().unwrap_or_else(|| self.good(v, reader))
    }

    /// Returns the PDH status of an existing value: new if the value changed and was not read since then, else valid.
    fn good<'a>(&'a self, v: &PathValue<'_>, reader: &mut SampleReader<'a>) -> PdhStatus {
        let is_read = self.paths.get(v.path).is_some_and(|bound| bound.is_read.get());
        let (row, column) = v.cell;
        let mut is_new = || {
            reader.entry(v.value.entry).is_none_or(|entry| {
                entry.stay_at(row);
                entry.is_new(&v.value, column)
            })
        };
        match !is_read && is_new() {
            true => PdhStatus::PDH_CSTATUS_NEW_DATA,
            false => PdhStatus::PDH_CSTATUS_VALID_DATA,
        }
    }
}

/// Returns `Ok` if a value exists, and otherwise the PDH status of the missing value as the error.
fn good_or(v: &PathValue<'_>) -> Result<(), PdhStatus> {
    v.value.value.as_ref().map(drop).map_err(PdhStatus::from)
}
