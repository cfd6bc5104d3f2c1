//! Tables over a span of time: totals of a range, the difference of two instants, and instances that began or ended.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use perfset::{Counter, CounterType, NoValue};

use crate::sample::{RowChange, RowIdentity, SampleRow, TableSample, TableValue};

/// Maximum number of instances in the totals of a time range, because a log can have any number of them.
const MOST_ROWS: usize = 100_000;

/// Factor of the usual distance between neighbouring samples above which samples are missing between them.
const GAP: f64 = 3.0;

/// Number of distances between samples, before and after a distance, that decide if it is a gap. If two of them are
/// about as long, the interval of the recording has changed.
const NEIGHBOURS: usize = 3;
const ENOUGH: usize = 2;

/// Kind of numbers that a table over a span of time shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Mean of a counter's values over the time in which there are values.
    Mean,
    /// Greatest value of a counter in any sample of the span.
    Greatest,
    /// Total of a counter over the span, if it shows something per second.
    Total,
    /// Last value of a counter in the span minus the first one.
    Difference,
    /// Last values of the instances that began or ended in the span.
    Changes,
}

impl SpanKind {
    /// Returns the words that the screen shows before the times of the span.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Mean => "mean from",
            Self::Greatest => "greatest from",
            Self::Total => "total from",
            Self::Difference => "difference from",
            Self::Changes => "began + or ended - from",
        }
    }

    /// Returns the unit of the numbers in a table over a span, derived from the unit of the counter.
    #[must_use]
    pub fn unit(self, counter: &Counter) -> &str {
        match self {
            Self::Total if is_rate(counter) => counter.unit.strip_suffix("/s").unwrap_or(&counter.unit),
            _ => &counter.unit,
        }
    }

    /// Returns the title of a column in a table over a span, derived from the title that the counter has at an
    /// instant.
    #[must_use]
    pub fn title<'a>(self, counter: &Counter, title: &'a str) -> &'a str {
        match self {
            Self::Total if is_rate(counter) => {
                title.strip_suffix("/s").or_else(|| title.strip_suffix("/sec")).unwrap_or(title)
            }
            _ => title,
        }
    }
}

/// Returns `true` if a counter shows something per second, so that its sum over time is a total. Text logs do not say
/// the type, and some counters, such as a bandwidth, are no rates.
fn is_rate(counter: &Counter) -> bool {
    let types = [CounterType::PERF_COUNTER_COUNTER, CounterType::PERF_COUNTER_BULK_COUNT];
    counter.unit.ends_with("/s")
        && (types.contains(&counter.counter_type) || counter.shown_name().contains("/sec"))
}

/// Span of time that the table shows instead of an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSpan {
    /// Kind of the numbers that the table over the span shows.
    pub kind: SpanKind,
    /// Time at the end of the span that stays while the time cursor moves the other end; `None` stands for the sample
    /// before the cursor's.
    pub from: Option<i64>,
}

/// Totals of a table's row over a span of time.
#[derive(Debug)]
struct RowTotals {
    first: Option<Arc<SampleRow>>,
    last: Arc<SampleRow>,
    /// Number of the last sample that contains the row.
    last_sample: usize,
    /// Number of seconds of the span in which the row existed.
    seconds: f64,
    columns: Box<[ColumnTotals]>,
}

/// Totals of a table's cell over a span of time.
#[derive(Clone, Copy, Debug, Default)]
struct ColumnTotals {
    /// Sum of all values of the cell, each multiplied by the seconds that it covers.
    sum: f64,
    seconds: f64,
    /// Least and greatest value of the table's cell in the span.
    ends: Option<(f64, f64)>,
}

impl ColumnTotals {
    fn greatest(self) -> Option<f64> {
        self.ends.map(|(_, greatest)| greatest)
    }

    /// Returns the mean of the cell over the time in which there are values; it is exact if all values are equal.
    fn mean(self) -> Option<f64> {
        match self.ends {
            Some((least, greatest)) if least.total_cmp(&greatest).is_eq() => Some(least),
            _ => (self.seconds > 0.0).then(|| self.sum / self.seconds),
        }
    }

    /// Returns the combined totals of two table cells.
    fn and(self, other: Self) -> Self {
        let ends = [self.ends, other.ends].into_iter().flatten();
        let ends = ends.reduce(|(least, greatest), (l, g)| (least.min(l), greatest.max(g)));
        Self { sum: self.sum + other.sum, seconds: self.seconds + other.seconds, ends }
    }
}

/// Sample of a span that is counted once the distances between the samples after it are known.
#[derive(Debug)]
struct WaitingSample {
    sample: TableSample,
    /// Number of seconds between the waiting sample and the previous one.
    distance: f64,
    /// `true` for the sample after the first one of a query, which follows sooner than usual.
    is_soon: bool,
}

/// Totals of all rows of a table over a span, to which samples are added one after the other.
#[derive(Debug, Default)]
pub struct SpanTotals {
    rows: HashMap<RowIdentity, RowTotals>,
    /// First and last sample of the span, without their rows.
    ends: Option<(TableSample, TableSample)>,
    /// Number of the span's counted samples, except for samples in which the table's counterset could not be
    /// collected.
    samples: usize,
    /// Newest samples of the span, which are not counted yet, the oldest first.
    waiting: VecDeque<WaitingSample>,
    /// Distances in seconds before the last counted samples of the span.
    passed: VecDeque<f64>,
    /// Number of seconds of the span that the counted values cover.
    seconds: f64,
    has_gap: bool,
    /// `true` if the span has more instances than the totals have space for.
    is_full: bool,
}

impl SpanTotals {
    /// Adds the next sample of the span to the totals. The values of the first one belong to the time before the
    /// span, so only those of the others count. A sample in which the counterset could not be collected is left out.
    pub fn add(&mut self, sample: &TableSample) {
        if sample.is_missing {
            return;
        }
        let mark = sample.without_rows();
        let Some((_, last)) = &mut self.ends else {
            self.ends = Some((mark.clone(), mark));
            return self.count(sample, 0.0);
        };
        let distance = sample.seconds_since(last);
        let is_soon = std::mem::replace(last, mark).begins;
        self.waiting.push_back(WaitingSample { sample: sample.clone(), distance, is_soon });
        while self.waiting.len() > NEIGHBOURS {
            self.count_oldest();
        }
    }

    /// Counts the oldest waiting sample of the span. If there is a gap before it, its values count for the usual
    /// distance only.
    fn count_oldest(&mut self) {
        let Some(WaitingSample { sample, distance, is_soon }) = self.waiting.pop_front() else { return };
        if is_soon {
            return self.count(&sample, distance);
        }
        let after = self.waiting.iter().filter(|later| !later.is_soon).map(|later| later.distance);
        let mut around: Vec<f64> = self.passed.iter().copied().chain(after.take(NEIGHBOURS)).collect();
        around.sort_by(f64::total_cmp);
        let as_long = around.iter().filter(|other| **other >= distance / GAP).count();
        // At an end there are fewer.
        let is_gap = as_long < around.len().div_ceil(2).min(ENOUGH);
        let usual = around.get(around.len().saturating_sub(1) / 2).copied().unwrap_or(distance);
        self.has_gap |= is_gap;
        self.passed.push_back(distance);
        if self.passed.len() > NEIGHBOURS {
            self.passed.pop_front();
        }
        self.count(&sample, if is_gap { usual } else { distance });
    }

    /// Counts a sample of the span whose values cover this number of seconds.
    fn count(&mut self, sample: &TableSample, seconds: f64) {
        let is_first = self.samples == 0;
        self.samples = self.samples.saturating_add(1);
        self.seconds += seconds;
        for row in &sample.rows {
            if self.rows.len() >= MOST_ROWS && !self.rows.contains_key(&row.identity) {
                self.is_full = true;
                continue;
            }
            let totals = self.rows.entry(row.identity.clone()).or_insert_with(|| RowTotals {
                first: is_first.then(|| Arc::clone(row)),
                last: Arc::clone(row),
                last_sample: self.samples,
                seconds: 0.0,
                columns: vec![ColumnTotals::default(); row.values.len()].into(),
            });
            (totals.last, totals.last_sample) = (Arc::clone(row), self.samples);
            if is_first {
                continue;
            }
            totals.seconds += seconds;
            for (column, value) in totals.columns.iter_mut().zip(&row.values) {
                let Some(value) = value.number() else { continue };
                *column =
                    column.and(ColumnTotals { sum: value * seconds, seconds, ends: Some((value, value)) });
            }
        }
    }

    /// Returns the number of the span's added samples, except for samples in which the table's counterset could not
    /// be collected.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples.saturating_add(self.waiting.len())
    }

    /// Returns the table over the span with one kind of numbers; `None` without samples. `counters` are those of the
    /// columns. Columns of `numbers` have numbers of processes, which are shown as they are.
    #[must_use]
    pub fn table(mut self, kind: SpanKind, counters: &[&Counter], numbers: &[usize]) -> Option<SpanTable> {
        self.count_waiting();
        let (begin, end) = self.ends.as_ref().map(|(first, last)| (first.time, last.time))?;
        let mut sample = TableSample { time: end, ..TableSample::default() };
        let (mut began, mut ended) = (0_usize, 0_usize);
        for totals in self.rows.values() {
            let is_there = totals.last_sample == self.samples;
            let change = match (totals.first.is_some(), is_there) {
                (true, true) => None,
                (false, true) => Some(RowChange::Began),
                (true, false) => Some(RowChange::Ended),
                (false, false) => Some(RowChange::BeganAndEnded),
            };
            began = began.saturating_add(usize::from(totals.first.is_none()));
            ended = ended.saturating_add(usize::from(!is_there));
            if kind == SpanKind::Changes && change.is_none() {
                continue;
            }
            let value = |(at, value): (usize, &TableValue)| {
                if numbers.contains(&at) {
                    return value.clone();
                }
                let is_rate = counters.get(at).is_some_and(|counter| is_rate(counter));
                self.value(totals, kind, at, (value, is_rate, is_there))
            };
            let values = totals.last.values.iter().enumerate().map(value).collect();
            sample.rows.push(Arc::new(SampleRow { change, values, ..SampleRow::clone(&totals.last) }));
        }
        // A map has no fixed order.
        sample.rows.sort_by_cached_key(|row| {
            (row.identity.name.clone(), row.identity.id, row.identity.birth, row.number)
        });
        let (samples, has_gap, is_full) = (self.samples, self.has_gap, self.is_full);
        Some(SpanTable {
            kind,
            begin,
            end,
            samples,
            of: samples,
            began,
            ended,
            has_gap,
            is_full,
            sample: Arc::new(sample),
        })
    }

    /// Returns the mean values over the span of each group of rows with the same name; `None` without samples. With
    /// `sums`, rows of one name are added in the columns for which it is `true`.
    #[must_use]
    pub fn means(
        mut self,
        name_of: impl Fn(&SampleRow) -> String,
        sums: Option<&[bool]>,
    ) -> Option<SpanMeans> {
        self.count_waiting();
        let (begin, end) = self.ends.as_ref().map(|(first, last)| (first.time, last.time))?;
        let mut groups: HashMap<String, Vec<&RowTotals>> = HashMap::new();
        for totals in self.rows.values() {
            groups.entry(name_of(&totals.last)).or_default().push(totals);
        }
        let mean_row = |(name, group): (String, Vec<&RowTotals>)| {
            let columns = group.iter().map(|row| row.columns.len()).max().unwrap_or(0);
            let is_sum = |at: usize| sums.map(|sums| sums.get(at).copied().unwrap_or(false));
            let values = (0..columns).map(|at| self.mean(&group, at, is_sum(at))).collect();
            (name, MeanRow { sums_up: group.iter().any(|row| row.last.sums_up), values })
        };
        let rows = groups.into_iter().map(mean_row).collect();
        let (samples, has_gap, is_full) = (self.samples, self.has_gap, self.is_full);
        Some(SpanMeans { begin, end, samples, of: samples, has_gap, is_full, rows })
    }

    /// Returns the mean of a table column over a group of rows. It is the mean of their sum over the whole span, or
    /// over the time in which there are values.
    fn mean(&self, group: &[&RowTotals], at: usize, is_sum: Option<bool>) -> TableValue {
        if is_sum == Some(false) && group.len() > 1 {
            return missing("the processes of this name have no common value");
        }
        let columns = group.iter().filter_map(|row| row.columns.get(at).copied());
        let totals = columns.reduce(ColumnTotals::and).unwrap_or_default();
        let there: f64 = group.iter().map(|row| row.seconds).sum();
        let is_whole = totals.seconds >= there * (1.0 - 1e-9);
        // One process that was there all the time has the mean of its values.
        let is_added = is_sum == Some(true) && (group.len() > 1 || !is_whole || there < self.seconds);
        let number = match is_added {
            true => (totals.seconds > 0.0).then(|| totals.sum / self.seconds),
            false => totals.mean(),
        };
        match number {
            Some(number) if !number.is_finite() => return missing(TOO_LARGE),
            Some(number) if is_added && !is_whole => return TableValue::AtLeast(number),
            Some(value) => return TableValue::Number { value, raw: None },
            None => {}
        }
        let reason = group.iter().find_map(|row| match row.last.values.get(at) {
            Some(TableValue::Missing(reason)) => Some(TableValue::Missing(Arc::clone(reason))),
            _ => None,
        });
        reason.unwrap_or_else(|| missing("there is no value in the range"))
    }

    /// Counts all waiting samples of the span, because no further samples follow.
    fn count_waiting(&mut self) {
        while !self.waiting.is_empty() {
            self.count_oldest();
        }
    }

    fn value(
        &self,
        row: &RowTotals,
        kind: SpanKind,
        at: usize,
        (last, is_rate, is_there): (&TableValue, bool, bool),
    ) -> TableValue {
        let totals = row.columns.get(at).copied().unwrap_or_default();
        // A sum of 600 parts is not exact to the last digit.
        let is_whole = !self.has_gap && totals.seconds >= self.seconds * (1.0 - 1e-9);
        let number = match kind {
            SpanKind::Changes => return last.clone(),
            SpanKind::Mean => totals.mean(),
            SpanKind::Greatest => totals.greatest(),
            SpanKind::Total if !is_rate => return missing("totals are those of counters per second"),
            SpanKind::Total if totals.seconds > 0.0 && !is_whole => return TableValue::AtLeast(totals.sum),
            SpanKind::Total => (totals.seconds > 0.0).then_some(totals.sum),
            SpanKind::Difference if self.samples < 2 => {
                return missing("the two instants have one sample of this table");
            }
            SpanKind::Difference => {
                let Some(first) = row.first.as_ref().filter(|_| is_there) else {
                    return missing("the instance is not in both samples");
                };
                match (first.values.get(at), last.number()) {
                    (Some(TableValue::Missing(reason)), _) => return TableValue::Missing(Arc::clone(reason)),
                    (Some(first), Some(last)) => first.number().map(|first| last - first),
                    _ => None,
                }
            }
        };
        match (number, last) {
            (Some(value), _) if value.is_finite() => TableValue::Number { value, raw: None },
            (Some(_), _) => missing(TOO_LARGE),
            (None, TableValue::Missing(reason)) => TableValue::Missing(Arc::clone(reason)),
            (None, _) => missing("there is no value in the range"),
        }
    }
}

/// Reason why a cell over a span has no number if the sum of its values is infinite.
const TOO_LARGE: &str = "the values are too large to be added";

fn missing(reason: &str) -> TableValue {
    TableValue::Missing(Arc::new(NoValue::Failed(reason.into())))
}

/// Mean values over a span of time of all rows with the same name.
#[derive(Debug)]
pub struct MeanRow {
    /// `true` for a row with a sum over other rows, or with idle time.
    pub sums_up: bool,
    /// Mean values of the row, in the order of the table's columns.
    pub values: Box<[TableValue]>,
}

/// Mean values of a table's rows over a span of time.
#[derive(Debug)]
pub struct SpanMeans {
    /// Time of the span's first sample in 100 ns since 1601 UTC.
    pub begin: i64,
    /// Time of the span's last sample in 100 ns since 1601 UTC.
    pub end: i64,
    /// Number of samples from which the mean values are computed.
    pub samples: usize,
    /// Number of samples in the span, including those that were not read.
    pub of: usize,
    /// `true` if samples are missing within the span.
    pub has_gap: bool,
    /// `true` if the span has too many instances, so that some are left out.
    pub is_full: bool,
    /// Mean values over the span, by row name.
    pub rows: HashMap<String, MeanRow>,
}

/// Table with one kind of numbers over a span of time.
#[derive(Clone, Debug)]
pub struct SpanTable {
    /// Kind of the numbers that the table shows.
    pub kind: SpanKind,
    /// Time of the span's first sample in 100 ns since 1601 UTC.
    pub begin: i64,
    /// Time of the span's last sample in 100 ns since 1601 UTC.
    pub end: i64,
    /// Number of samples from which the table over the span is computed.
    pub samples: usize,
    /// Number of samples in the span, including those that were not read.
    pub of: usize,
    /// Number of instances that did not exist at the start of the span.
    pub began: usize,
    /// Number of instances that did not exist at the end of the span.
    pub ended: usize,
    /// `true` if samples are missing within the span.
    pub has_gap: bool,
    /// `true` if the span has too many instances, so that some are left out.
    pub is_full: bool,
    /// Rows of the table over the span.
    pub sample: Arc<TableSample>,
}

impl SpanTable {
    /// Exchanges start and end of the span, for samples that were added in reverse order of time.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        std::mem::swap(&mut self.began, &mut self.ended);
        let reverse = |row: &Arc<SampleRow>| {
            let change = row.change.map(RowChange::reversed);
            Arc::new(SampleRow { change, ..SampleRow::clone(row) })
        };
        let rows = self.sample.rows.iter().map(reverse).collect();
        self.sample = Arc::new(TableSample { rows, ..TableSample::clone(&self.sample) });
        self
    }
}

#[cfg(test)]
mod tests {
    use perfset::CounterId;

    use super::*;

    fn sample(second: i64, rows: &[(&str, f64)]) -> TableSample {
        let row = |(name, value): &(&str, f64)| {
            let identity = RowIdentity { name: (*name).into(), id: None, birth: None, occurrence: 0 };
            let values = [TableValue::Number { value: *value, raw: None }].into();
            Arc::new(SampleRow { identity, number: 0, sums_up: false, change: None, values })
        };
        TableSample {
            time: second * 10_000_000,
            rows: rows.iter().map(row).collect(),
            ..TableSample::default()
        }
    }

    fn totals(samples: &[TableSample]) -> SpanTotals {
        let mut totals = SpanTotals::default();
        samples.iter().for_each(|sample| totals.add(sample));
        totals
    }

    fn counter(kind: CounterType, unit: &'static str) -> Counter {
        Counter::new(CounterId(1), kind).name("A").unit(unit)
    }

    /// Returns the rows of a table over a span: name, change, number, and `true` if it is a lower bound.
    fn rows(table: &SpanTable) -> Vec<(&str, Option<RowChange>, Option<f64>, bool)> {
        let row = |row: &Arc<SampleRow>| {
            let (value, is_least) = (row.values[0].number(), matches!(row.values[0], TableValue::AtLeast(_)));
            (row.change, value, is_least)
        };
        let names = table.sample.rows.iter().map(|row| &*row.identity.name);
        names.zip(table.sample.rows.iter().map(row)).map(|(name, row)| (name, row.0, row.1, row.2)).collect()
    }

    const STAYS: [&str; 4] = ["begins", "ends", "short", "stays"];

    fn changing() -> [TableSample; 4] {
        [
            sample(0, &[("stays", 100.0), ("ends", 7.0)]),
            sample(1, &[("stays", 10.0), ("ends", 5.0), ("short", 3.0)]),
            // Nothing was collected.
            TableSample { is_missing: true, ..sample(2, &[("*", 0.0)]) },
            // Two seconds after the one before: its values count twice.
            sample(3, &[("stays", 40.0), ("begins", 2.0)]),
        ]
    }

    #[test]
    fn numbers_of_a_span() {
        let (rate, amount) = (
            counter(CounterType::PERF_COUNTER_BULK_COUNT, "By/s"),
            counter(CounterType::PERF_COUNTER_LARGE_RAWCOUNT, "By"),
        );
        for (kind, counter, want, is_least) in [
            (SpanKind::Mean, &rate, [Some(2.0), Some(5.0), Some(3.0), Some(30.0)], [false; 4]),
            (SpanKind::Greatest, &rate, [Some(2.0), Some(5.0), Some(3.0), Some(40.0)], [false; 4]),
            (
                SpanKind::Total,
                &rate,
                [Some(4.0), Some(5.0), Some(3.0), Some(90.0)],
                [true, true, true, false],
            ),
            (SpanKind::Total, &amount, [None; 4], [false; 4]),
            (SpanKind::Difference, &amount, [None, None, None, Some(-60.0)], [false; 4]),
        ] {
            let table = totals(&changing()).table(kind, &[counter], &[]).unwrap();
            assert_eq!((table.begin, table.end, table.samples), (0, 30_000_000, 3));
            assert_eq!((table.began, table.ended, table.has_gap), (2, 2, false));
            let rows = rows(&table);
            assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), STAYS);
            assert_eq!(rows.iter().map(|row| row.2).collect::<Vec<_>>(), want, "{kind:?}");
            assert_eq!(rows.iter().map(|row| row.3).collect::<Vec<_>>(), is_least, "{kind:?}");
        }
    }

    #[test]
    fn instances_that_began_and_ended() {
        let amount = counter(CounterType::PERF_COUNTER_LARGE_RAWCOUNT, "By");
        let table = totals(&changing()).table(SpanKind::Changes, &[&amount], &[]).unwrap();
        let want = [
            ("begins", Some(RowChange::Began), Some(2.0), false),
            ("ends", Some(RowChange::Ended), Some(5.0), false),
            ("short", Some(RowChange::BeganAndEnded), Some(3.0), false),
        ];
        assert_eq!(rows(&table), want);
        let reversed = table.reversed();
        let changes: Vec<_> = reversed.sample.rows.iter().map(|row| row.change).collect();
        assert_eq!(changes, [RowChange::Ended, RowChange::Began, RowChange::BeganAndEnded].map(Some));
    }

    #[test]
    fn no_value_is_multiplied_over_a_gap() {
        let rate = counter(CounterType::PERF_COUNTER_BULK_COUNT, "By/s");
        for seconds in [[0, 1, 2, 7_200], [0, 7_198, 7_199, 7_200]] {
            let samples = seconds.map(|second| sample(second, &[("web", 1_000.0)]));
            let table = totals(&samples).table(SpanKind::Total, &[&rate], &[]).unwrap();
            assert_eq!(rows(&table), [("web", None, Some(3_000.0), true)], "{seconds:?}");
            assert!(table.has_gap);
        }
        // Two gaps are no interval.
        let samples = [0, 3_600, 7_200, 7_201, 7_202].map(|second| sample(second, &[("web", 1_000.0)]));
        let table = totals(&samples).table(SpanKind::Total, &[&rate], &[]).unwrap();
        assert_eq!(rows(&table), [("web", None, Some(4_000.0), true)]);
        // Two samples have no usual distance.
        let samples = [0, 7_200].map(|second| sample(second, &[("web", 1.0)]));
        assert_eq!(
            rows(&totals(&samples).table(SpanKind::Total, &[&rate], &[]).unwrap())[0].2,
            Some(7_200.0)
        );
    }

    #[test]
    fn the_second_sample_of_a_query_follows_soon() {
        let rate = counter(CounterType::PERF_COUNTER_BULK_COUNT, "By/s");
        let mut samples = [0, 1, 11, 21].map(|second| sample(second, &[("web", 10.0)]));
        samples[0].begins = true;
        let table = totals(&samples).table(SpanKind::Total, &[&rate], &[]).unwrap();
        assert_eq!(rows(&table), [("web", None, Some(210.0), false)]);
        // Before it are samples of a recorder: nothing is known of the rates until the query began.
        let mut samples = [0, 10, 20, 21, 31].map(|second| sample(second, &[("web", 10.0)]));
        samples[2].begins = true;
        let values = [missing("two samples are needed")].into();
        samples[2].rows[0] = Arc::new(SampleRow { values, ..SampleRow::clone(&samples[2].rows[0]) });
        let table = totals(&samples).table(SpanKind::Total, &[&rate], &[]).unwrap();
        assert_eq!(rows(&table), [("web", None, Some(210.0), true)]);
    }

    #[test]
    fn distances_may_differ() {
        let rate = counter(CounterType::PERF_COUNTER_BULK_COUNT, "By/s");
        for (times, want, has_gap) in [
            // The interval becomes ten times as long, or a tenth.
            (vec![0, 10, 20, 30, 130, 230, 330], 330.0, false),
            (vec![0, 100, 200, 300, 310, 320, 330], 330.0, false),
            // Two samples that are close, or of the same time, and a clock that is set back.
            (vec![0, 20, 40, 41, 60, 80], 80.0, false),
            (vec![0, 20, 40, 40, 60, 80], 80.0, false),
            (vec![0, 20, 40, 30, 50, 70], 80.0, false),
            (vec![0, 10, 20, 500, 510, 520], 50.0, true),
        ] {
            let samples: Vec<_> = times.iter().map(|second| sample(*second, &[("web", 1.0)])).collect();
            let table = totals(&samples).table(SpanKind::Total, &[&rate], &[]).unwrap();
            assert_eq!((rows(&table)[0].2, table.has_gap), (Some(want), has_gap), "{times:?}");
        }
    }

    #[test]
    fn infinite_sums_are_no_numbers() {
        let rate = counter(CounterType::PERF_COUNTER_BULK_COUNT, "By/s");
        let samples = [0, 100, 200].map(|second| sample(second, &[("web", 1e308 + second as f64 * 1e305)]));
        for kind in [SpanKind::Mean, SpanKind::Total] {
            assert_eq!(rows(&totals(&samples).table(kind, &[&rate], &[]).unwrap())[0].2, None);
        }
        let means = totals(&samples).means(|row| row.path_name(), Some(&[true])).unwrap();
        assert_eq!(means.rows["web"].values[0].number(), None);
    }

    #[test]
    fn clocks_that_are_set_do_not_matter() {
        let rate = counter(CounterType::PERF_COUNTER_BULK_COUNT, "By/s");
        let clock = |second: i64| Some((second * 1_000_000_000, 1_000_000_000));
        let mut samples = [0, 1, 3_601, 2].map(|second| sample(second, &[("web", 10.0)]));
        samples.iter_mut().zip(0..).for_each(|(sample, second)| sample.perf = clock(second));
        let table = totals(&samples).table(SpanKind::Total, &[&rate], &[]).unwrap();
        assert_eq!(rows(&table), [("web", None, Some(30.0), false)]);
    }

    #[test]
    fn spans_without_samples_have_no_table() {
        assert!(SpanTotals::default().table(SpanKind::Mean, &[], &[]).is_none());
        let missing = TableSample { is_missing: true, ..TableSample::default() };
        assert!(totals(&[missing]).table(SpanKind::Mean, &[], &[]).is_none());
        let amount = counter(CounterType::PERF_COUNTER_LARGE_RAWCOUNT, "By");
        let table =
            totals(&[sample(0, &[("web", 1.0)])]).table(SpanKind::Difference, &[&amount], &[]).unwrap();
        assert_eq!(rows(&table)[0].2, None, "one sample has no difference");
    }

    #[test]
    fn too_many_instances_are_not_kept() {
        let mut totals = SpanTotals::default();
        let names: Vec<String> = (0..MOST_ROWS + 1).map(|at| at.to_string()).collect();
        let rows: Vec<(&str, f64)> = names.iter().map(|name| (&**name, 1.0)).collect();
        totals.add(&sample(0, &rows[..MOST_ROWS]));
        totals.add(&sample(1, &rows));
        totals.add(&sample(2, &rows));
        let table = totals.table(SpanKind::Mean, &[], &[]).unwrap();
        assert_eq!((table.sample.rows.len(), table.samples, table.is_full), (MOST_ROWS, 3, true));
        assert!(table.sample.rows.iter().all(|row| row.values[0].number() == Some(1.0)));
    }

    #[test]
    fn titles_and_units_of_totals() {
        let rate = counter(CounterType::PERF_COUNTER_BULK_COUNT, "By/s");
        let bandwidth = counter(CounterType::PERF_COUNTER_LARGE_RAWCOUNT, "bit/s");
        for (kind, counter, title, want) in [
            (SpanKind::Total, &rate, "WRITE/s", ("By", "WRITE")),
            (SpanKind::Total, &rate, "Disk Bytes/sec", ("By", "Disk Bytes")),
            (SpanKind::Total, &bandwidth, "Current Bandwidth", ("bit/s", "Current Bandwidth")),
            (SpanKind::Mean, &rate, "WRITE/s", ("By/s", "WRITE/s")),
        ] {
            assert_eq!((kind.unit(counter), kind.title(counter, title)), want);
        }
    }
}
