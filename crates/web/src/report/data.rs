//! Data of a report's charts, as the JSON that its script reads.

use std::collections::HashMap;

use serde::{Serialize, Serializer};

use super::axis::TimeAxis;
use super::bucket::{Keywords, RowBucket};
use super::charts::ChosenChart;
use super::lines::ReportLines;
use super::reading::{ReportSeries, SeriesBook, seconds};
use crate::log::to_unix_ms;
use crate::overview::ChartKind;

/// Data of all charts of a report.
#[derive(Serialize)]
pub struct DataJson {
    from: i64,
    to: i64,
    /// Number of milliseconds between two rows of the report.
    interval: f64,
    /// `true` if a row of the report can stand for several samples.
    is_bucketed: bool,
    times: Vec<i64>,
    /// Indexes of the rows in gaps, in which no line has a value.
    gaps: Vec<usize>,
    marks: Vec<MarkJson>,
    lines: Vec<LineJson>,
    charts: Vec<ChartJson>,
}

/// Mark of the log in a report, such as a deployment.
#[derive(Clone, Serialize)]
pub struct MarkJson {
    pub time: i64,
    pub text: String,
}

#[derive(Serialize)]
struct ChartJson {
    title: String,
    kind: &'static str,
    paths: Vec<String>,
    /// Indexes of the chart's lines in the list of all lines of the report.
    lines: Vec<usize>,
    notes: Vec<NoteJson>,
}

#[derive(Serialize)]
struct NoteJson {
    name: String,
    text: String,
}

#[derive(Serialize)]
struct LineJson {
    path: String,
    counterset: String,
    counter: String,
    instance: String,
    unit: String,
    range: &'static str,
    total: bool,
    /// Mean value of the line in each row.
    values: Vec<ShortNumber>,
    /// Least, greatest and last value of the line in each row, and the number of values, if a row can have several.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<RowsJson>,
    /// Reasons for missing values of the line: first row, last row, keyword.
    why: Vec<Stretch>,
    /// Marks of the line's values: first row, last row, keyword.
    marks: Vec<Stretch>,
}

#[derive(Serialize)]
struct RowsJson {
    least: Vec<ShortNumber>,
    greatest: Vec<ShortNumber>,
    last: Vec<ShortNumber>,
    counts: Vec<u32>,
}

/// Consecutive rows with the same keyword of a reason or mark: first row, last row, keyword.
type Stretch = (usize, usize, &'static str);

/// Number in the JSON of a report with six digits; `None` for a missing value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ShortNumber(Option<f64>);

impl ShortNumber {
    fn new(value: Option<f64>) -> Self {
        // Enough for a chart, and half of the bytes.
        let short = |value: f64| format!("{value:.5e}").parse().unwrap_or(value);
        Self(value.filter(|value| value.is_finite()).map(short))
    }
}

impl Serialize for ShortNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXACT: f64 = 9e15;
        match self.0 {
            #[expect(
                clippy::as_conversions,
                clippy::cast_possible_truncation,
                reason = "it is whole and small"
            )]
            Some(value) if value.fract() == 0.0 && value.abs() < EXACT => {
                serializer.serialize_i64(value as i64)
            }
            Some(value) => serializer.serialize_f64(value),
            None => serializer.serialize_none(),
        }
    }
}

impl DataJson {
    /// Collects the data of a report's charts for its script. `line_of` has the index of the line of each series.
    pub fn new(
        axis: &TimeAxis,
        (charts, book): (&[ChosenChart], &SeriesBook),
        (all, line_of, lines): (&[usize], &HashMap<usize, usize>, &ReportLines),
        marks: Vec<MarkJson>,
    ) -> Self {
        let points = axis.points();
        let rows: Vec<Option<usize>> = points.iter().map(|(_, row)| *row).collect();
        let line = |(series, buckets): (&usize, &Vec<RowBucket>)| {
            let series = book.series.get(*series)?;
            Some(LineJson::new(series, buckets, (&rows, axis.cell.is_some()), &lines.keywords))
        };
        let chart = |chart: &ChosenChart| ChartJson {
            title: chart.title.clone(),
            kind: match chart.kind {
                ChartKind::Stack => "stack",
                ChartKind::Cores => "heat",
                ChartKind::Lines | ChartKind::Rank => "lines",
            },
            paths: chart.paths.clone(),
            lines: chart.series.iter().filter_map(|series| line_of.get(series).copied()).collect(),
            notes: (chart.notes.iter())
                .map(|(name, text)| NoteJson { name: name.clone(), text: text.clone() })
                .collect(),
        };
        let step = axis.cell.or(axis.interval).unwrap_or(10_000_000);
        Self {
            from: to_unix_ms(axis.span.0),
            to: to_unix_ms(axis.span.1),
            interval: seconds(step) * 1e3,
            is_bucketed: axis.cell.is_some(),
            times: points.iter().map(|(time, _)| *time).collect(),
            gaps: rows.iter().enumerate().filter(|(_, row)| row.is_none()).map(|(at, _)| at).collect(),
            marks,
            lines: all.iter().zip(&lines.buckets).filter_map(line).collect(),
            charts: charts.iter().map(chart).collect(),
        }
    }
}

impl LineJson {
    fn new(
        series: &ReportSeries,
        buckets: &[RowBucket],
        (rows, is_bucketed): (&[Option<usize>], bool),
        keywords: &Keywords,
    ) -> Self {
        let of_row =
            |row: &Option<usize>| row.and_then(|row| buckets.get(row)).copied().unwrap_or(RowBucket::EMPTY);
        let all: Vec<RowBucket> = rows.iter().map(of_row).collect();
        let numbers = |of: fn(&RowBucket) -> f64| {
            let number = |bucket: &RowBucket| ShortNumber::new(bucket.has_value().then(|| of(bucket)));
            all.iter().map(number).collect::<Vec<_>>()
        };
        let why = |bucket: &RowBucket| if bucket.has_value() { None } else { keywords.get(bucket.reason) };
        let mark = |bucket: &RowBucket| if bucket.has_value() { keywords.get(bucket.mark) } else { None };
        Self {
            path: series.path.clone(),
            counterset: series.counterset.clone(),
            counter: series.counter.clone(),
            instance: series.instance.clone(),
            unit: series.unit.clone(),
            range: series.range,
            total: series.is_total,
            values: numbers(|bucket| bucket.mean),
            rows: is_bucketed.then(|| RowsJson {
                least: numbers(|bucket| bucket.least),
                greatest: numbers(|bucket| bucket.greatest),
                last: numbers(|bucket| bucket.last),
                counts: all.iter().map(|bucket| bucket.count).collect(),
            }),
            why: stretches(all.iter().map(why)),
            marks: stretches(all.iter().map(mark)),
        }
    }
}

/// Returns the stretches of consecutive rows with the same keyword of a reason or mark.
fn stretches(keywords: impl Iterator<Item = Option<&'static str>>) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = Vec::new();
    for (row, keyword) in keywords.enumerate() {
        let Some(keyword) = keyword else { continue };
        match all.last_mut() {
            Some((_, last, known)) if *known == keyword && last.saturating_add(1) == row => *last = row,
            _ => all.push((row, row, keyword)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, want) in [
            (Some(1.0), "1"),
            (Some(0.0), "0"),
            (Some(-0.0), "0"),
            (Some(123_456_789.0), "123457000"),
            (Some(0.123_456_789), "0.123457"),
            (Some(1e300), "1e+300"),
            (Some(f64::NAN), "null"),
            (Some(f64::INFINITY), "null"),
            (None, "null"),
        ] {
            assert_eq!(serde_json::to_string(&ShortNumber::new(value)).unwrap(), want, "{value:?}");
        }
    }

    #[test]
    fn stretches_of_rows() {
        let rows = [None, Some("a"), Some("a"), Some("b"), None, Some("b")];
        assert_eq!(stretches(rows.into_iter()), [(1, 2, "a"), (3, 3, "b"), (5, 5, "b")]);
        assert!(stretches(std::iter::empty()).is_empty());
    }
}
