//! Tables over a span of time: totals of a range, the difference of two instants, and what began or ended.

use std::collections::HashMap;
use std::sync::Arc;

use perfset::NoValue;

use crate::sample::{RowChange, RowIdentity, SampleRow, TableSample, TableValue};

/// Units of a clock reading in a second.
const SECOND: f64 = 1e7;

/// Most instances of a range. A log can have any number of them.
const MOST_ROWS: usize = 100_000;

/// Computation of the numbers of a table over a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Mean over the time in which there are values.
    Mean,
    /// Greatest value of a sample.
    Greatest,
    /// Sum of counters per second over the time.
    Total,
    /// Last value minus the first one.
    Difference,
    /// Last values of the instances that began or ended.
    Changes,
}

impl SpanKind {
    /// Returns the word before the times of the span.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Greatest => "greatest value",
            Self::Total => "total",
            Self::Difference => "difference",
            Self::Changes => "began + or ended -",
        }
    }

    /// Returns the unit of the numbers, from that of the counter.
    #[must_use]
    pub fn unit(self, unit: &str) -> &str {
        match self {
            Self::Total => unit.strip_suffix("/s").unwrap_or(unit),
            _ => unit,
        }
    }

    /// Returns the title of a column, from that of the counter.
    #[must_use]
    pub fn title(self, title: &str) -> &str {
        match self {
            Self::Total => title.strip_suffix("/s").unwrap_or(title),
            _ => title,
        }
    }
}

/// Span of time that the table shows instead of an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSpan {
    /// Computation of the numbers.
    pub kind: SpanKind,
    /// Time of the end that stays while the cursor moves; `None` is the sample before that of the cursor.
    pub from: Option<i64>,
}

/// Numbers of a row over a span.
#[derive(Debug)]
struct RowTotals {
    first: Option<Arc<SampleRow>>,
    last: Arc<SampleRow>,
    last_time: i64,
    columns: Box<[ColumnTotals]>,
}

/// Numbers of a cell over a span.
#[derive(Clone, Copy, Debug, Default)]
struct ColumnTotals {
    /// Sum of the values, each times the seconds that it is of.
    sum: f64,
    seconds: f64,
    greatest: Option<f64>,
}

/// Numbers of all rows over a span, sample by sample.
#[derive(Debug, Default)]
pub struct SpanTotals {
    rows: HashMap<RowIdentity, RowTotals>,
    first_time: Option<i64>,
    last_time: i64,
    /// `true` if there are more instances than fit.
    is_full: bool,
}

impl SpanTotals {
    /// Adds the next sample. The values of the first one belong to the time before the span, so only those of the
    /// others count. Returns `false` if no further sample has room.
    pub fn add(&mut self, sample: &TableSample) -> bool {
        let is_first = self.first_time.is_none();
        let seconds = if is_first { 0.0 } else { seconds_between(self.last_time, sample.time) };
        self.first_time.get_or_insert(sample.time);
        self.last_time = sample.time;
        for row in &sample.rows {
            if self.rows.len() >= MOST_ROWS && !self.rows.contains_key(&row.identity) {
                self.is_full = true;
                continue;
            }
            let totals = self.rows.entry(row.identity.clone()).or_insert_with(|| RowTotals {
                first: is_first.then(|| Arc::clone(row)),
                last: Arc::clone(row),
                last_time: sample.time,
                columns: vec![ColumnTotals::default(); row.values.len()].into(),
            });
            (totals.last, totals.last_time) = (Arc::clone(row), sample.time);
            if is_first {
                continue;
            }
            for (column, value) in totals.columns.iter_mut().zip(&row.values) {
                let Some(value) = value.number() else { continue };
                column.sum += value * seconds;
                column.seconds += seconds;
                column.greatest = Some(column.greatest.map_or(value, |greatest| greatest.max(value)));
            }
        }
        !self.is_full
    }

    /// Returns the table of a kind. `units` are those of the columns' counters.
    #[must_use]
    pub fn table(&self, kind: SpanKind, units: &[&str]) -> SpanTable {
        let mut sample = TableSample { time: self.last_time, ..TableSample::default() };
        let (mut began, mut ended) = (0_usize, 0_usize);
        for totals in self.rows.values() {
            let change = match (totals.first.is_some(), totals.last_time == self.last_time) {
                (true, true) => None,
                (false, true) => Some(RowChange::Began),
                (true, false) => Some(RowChange::Ended),
                (false, false) => Some(RowChange::BeganAndEnded),
            };
            began = began.saturating_add(usize::from(totals.first.is_none()));
            ended = ended.saturating_add(usize::from(totals.last_time != self.last_time));
            if kind == SpanKind::Changes && change.is_none() {
                continue;
            }
            let value = |(at, value): (usize, &TableValue)| {
                let unit = units.get(at).copied().unwrap_or_default();
                let is_there = totals.last_time == self.last_time;
                totals.value(kind, at, value, (unit, is_there))
            };
            let values = totals.last.values.iter().enumerate().map(value).collect();
            sample.rows.push(Arc::new(SampleRow { change, values, ..SampleRow::clone(&totals.last) }));
        }
        // The order of a map is another one each time.
        sample.rows.sort_by(|a, b| {
            let key = |row: &SampleRow| {
                (row.identity.name.clone(), row.identity.id, row.identity.birth, row.number)
            };
            key(a).cmp(&key(b))
        });
        SpanTable {
            begin: self.first_time.unwrap_or(self.last_time),
            end: self.last_time,
            every: 1,
            began,
            ended,
            is_full: self.is_full,
            sample: Arc::new(sample),
        }
    }
}

impl RowTotals {
    fn value(
        &self,
        kind: SpanKind,
        at: usize,
        last: &TableValue,
        (unit, is_there): (&str, bool),
    ) -> TableValue {
        let totals = self.columns.get(at).copied().unwrap_or_default();
        let number = match kind {
            SpanKind::Changes => return last.clone(),
            SpanKind::Mean if totals.seconds > 0.0 => Some(totals.sum / totals.seconds),
            SpanKind::Mean => None,
            SpanKind::Greatest => totals.greatest,
            SpanKind::Total if !unit.ends_with("/s") => {
                return missing(NoValue::Failed("totals are those of counters per second".into()));
            }
            SpanKind::Total => (totals.seconds > 0.0).then_some(totals.sum),
            SpanKind::Difference => match (&self.first, last.number()) {
                (Some(first), Some(last)) if is_there => {
                    let first = first.values.get(at).and_then(TableValue::number);
                    first.map(|first| last - first)
                }
                (Some(_), None) if is_there => None,
                _ => return missing(NoValue::Failed("the instance is not in both samples".into())),
            },
        };
        match (number, last) {
            (Some(value), _) => TableValue::Number { value, raw: None },
            (None, TableValue::Missing(reason)) => TableValue::Missing(Arc::clone(reason)),
            (None, _) => missing(NoValue::Failed("there was no value in the span".into())),
        }
    }
}

fn missing(reason: NoValue) -> TableValue {
    TableValue::Missing(Arc::new(reason))
}

fn seconds_between(begin: i64, end: i64) -> f64 {
    // A clock that was set back makes no negative time.
    i32::try_from(end.saturating_sub(begin).max(0) / 10_000).map_or_else(|_| f64::from(i32::MAX), f64::from)
        * (1e4 / SECOND)
}

/// Table over a span of time.
#[derive(Clone, Debug)]
pub struct SpanTable {
    /// Time of the first sample.
    pub begin: i64,
    /// Time of the last sample.
    pub end: i64,
    /// Distance of the samples that it is computed from: 1 for all samples.
    pub every: usize,
    /// Number of instances that were not there at the begin.
    pub began: usize,
    /// Number of instances that were not there at the end.
    pub ended: usize,
    /// `true` if there were too many instances: the table ends before the cursor.
    pub is_full: bool,
    /// Rows of the table.
    pub sample: Arc<TableSample>,
}

#[cfg(test)]
mod tests {
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

    fn totals() -> SpanTotals {
        let mut totals = SpanTotals::default();
        for sample in [
            sample(0, &[("stays", 100.0), ("ends", 7.0)]),
            sample(1, &[("stays", 10.0), ("ends", 5.0), ("short", 3.0)]),
            // Two seconds after the one before: its values count twice.
            sample(3, &[("stays", 40.0), ("begins", 2.0)]),
        ] {
            assert!(totals.add(&sample));
        }
        totals
    }

    /// Returns the rows of a kind: name, change, and value.
    fn rows(kind: SpanKind, unit: &str) -> Vec<(String, Option<RowChange>, Option<f64>)> {
        let table = totals().table(kind, &[unit]);
        assert_eq!((table.begin, table.end, table.began, table.ended), (0, 30_000_000, 2, 2));
        let row = |row: &Arc<SampleRow>| (row.identity.name.to_string(), row.change, row.values[0].number());
        table.sample.rows.iter().map(row).collect()
    }

    #[test]
    fn numbers_of_a_span() {
        let values = |kind, unit| rows(kind, unit).into_iter().map(|row| row.2).collect::<Vec<_>>();
        // begins, ends, short, stays
        assert_eq!(values(SpanKind::Mean, "By/s"), [2.0, 5.0, 3.0, 30.0].map(Some));
        assert_eq!(values(SpanKind::Greatest, "By/s"), [2.0, 5.0, 3.0, 40.0].map(Some));
        assert_eq!(values(SpanKind::Total, "By/s"), [4.0, 5.0, 3.0, 90.0].map(Some));
        assert_eq!(values(SpanKind::Total, "By"), [None; 4]);
        assert_eq!(values(SpanKind::Difference, "By"), [None, None, None, Some(-60.0)]);
    }

    #[test]
    fn instances_that_began_and_ended() {
        let changes = rows(SpanKind::Changes, "By");
        let want = [
            ("begins", Some(RowChange::Began), Some(2.0)),
            ("ends", Some(RowChange::Ended), Some(5.0)),
            ("short", Some(RowChange::BeganAndEnded), Some(3.0)),
        ];
        assert_eq!(changes, want.map(|(name, change, value)| (name.to_owned(), change, value)));
    }

    #[test]
    fn too_many_instances_are_not_kept() {
        let mut totals = SpanTotals::default();
        let names: Vec<String> = (0..MOST_ROWS + 1).map(|at| at.to_string()).collect();
        let rows: Vec<(&str, f64)> = names.iter().map(|name| (&**name, 1.0)).collect();
        assert!(totals.add(&sample(0, &rows[..MOST_ROWS])));
        assert!(!totals.add(&sample(1, &rows)));
        assert_eq!(totals.table(SpanKind::Mean, &["By"]).sample.rows.len(), MOST_ROWS);
    }
}
