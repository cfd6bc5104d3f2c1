//! Lines of a report: the values of the chosen series in the rows of the time axis.

use std::collections::HashSet;

use super::ReportError;
use super::axis::TimeAxis;
use super::bucket::{Keywords, RowBucket};
use super::reading::{GroupSample, LogReader, SeriesBook, number};

/// Maximum time, in 100 ns, for which a value stands for samples in which its counterset was not recorded. A recorder
/// that keeps a CPU budget records some countersets only every 300 s.
const HELD_MOST: i64 = 6_200_000_000;

/// Mark of a report's value that stands for samples in which its counterset was not recorded.
const HELD: &str = "not recorded at this time: the last value before";

/// Reason for a missing value of an instance that a sample of its counterset does not have.
const NO_INSTANCE: &str = "not there";

/// Values of the series that a report's charts show.
pub struct ReportLines {
    /// Summaries of each line's rows, in the order in which the series were chosen.
    pub buckets: Vec<Vec<RowBucket>>,
    pub keywords: Keywords,
}

/// Last sample of a group of counter paths, and its row.
#[derive(Clone, Debug, Default)]
struct LastSample {
    row: usize,
    time: i64,
    /// Indexes of the lines with a value in the sample, each with this value.
    values: Vec<(usize, f64)>,
}

impl ReportLines {
    /// Reads the values of the series that a report's charts show, given by the indexes of the series in the list of
    /// all series.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn read(
        reader: &LogReader<'_>,
        book: &mut SeriesBook,
        chosen: &[usize],
        (axis, holds): (&TimeAxis, bool),
    ) -> Result<Self, ReportError> {
        let mut line_of = vec![None; book.series.len()];
        for (line, series) in chosen.iter().enumerate() {
            if let Some(place) = line_of.get_mut(*series) {
                *place = Some(line);
            }
        }
        let mut lines = Self {
            buckets: vec![vec![RowBucket::EMPTY; axis.rows()]; chosen.len()],
            keywords: Keywords::default(),
        };
        let mut last: Vec<Option<LastSample>> = vec![None; reader.groups()];
        // Rows in which a group has a sample, and the lines of the group.
        let mut is_there = vec![vec![false; axis.rows()]; reader.groups()];
        let mut of_group = vec![Vec::new(); reader.groups()];
        let read: HashSet<usize> =
            chosen.iter().filter_map(|series| Some(book.series.get(*series)?.asked)).collect();
        book.restart();
        reader.each(&|path| read.contains(&path), &mut |sample| {
            let Some(row) = axis.row_of(sample.time) else { return };
            if let Some(there) = is_there.get_mut(sample.group).and_then(|rows| rows.get_mut(row)) {
                *there = true;
            }
            let Some(before) = last.get_mut(sample.group) else { return };
            if let Some(before) = before.as_ref().filter(|_| holds) {
                lines.hold(before, row, axis);
            }
            let mut now = before.take().unwrap_or_default();
            (now.row, now.time) = (row, sample.time);
            lines.add(sample, book.of_sample(sample), (row, &line_of), &mut now.values);
            if let Some(known) = of_group.get_mut(sample.group) {
                let new = now.values.iter().map(|(line, _)| *line).filter(|line| !known.contains(line));
                let new: Vec<usize> = new.collect();
                known.extend(new);
            }
            *before = Some(now);
        })?;
        for before in last.iter().flatten().filter(|_| holds) {
            lines.hold(before, axis.rows(), axis);
        }
        let reason = lines.keywords.number(NO_INSTANCE);
        for (rows, known) in is_there.iter().zip(&of_group) {
            for at in known {
                let Some(line) = lines.buckets.get_mut(*at) else { continue };
                for (bucket, _) in line.iter_mut().zip(rows).filter(|(_, is_there)| **is_there) {
                    if !bucket.has_value() && bucket.reason == 0 {
                        bucket.reason = reason;
                    }
                }
            }
        }
        Ok(lines)
    }

    /// Adds the values of a sample to a row of the report, and stores them in `values`.
    fn add(
        &mut self,
        sample: &GroupSample<'_>,
        series: &[Option<usize>],
        (row, line_of): (usize, &[Option<usize>]),
        values: &mut Vec<(usize, f64)>,
    ) {
        values.clear();
        let Self { buckets, keywords } = self;
        for (v, series) in sample.values.iter().zip(series) {
            let line = series.and_then(|series| line_of.get(series).copied().flatten());
            let Some(line) = line else { continue };
            let Some(bucket) = buckets.get_mut(line).and_then(|rows| rows.get_mut(row)) else { continue };
            match number(v) {
                Ok(value) => {
                    bucket.add(value);
                    values.push((line, value));
                }
                Err(reason) => bucket.reason = keywords.number(reason.keyword()),
            }
            if let Some(mark) =
                v.value.mark.and_then(|mark| mark.keyword()).filter(|mark| *mark != "formatted")
            {
                bucket.mark = keywords.number(mark);
            }
        }
    }

    /// Stores the values of a sample again in the rows of the report before the next sample of its group.
    fn hold(&mut self, before: &LastSample, until: usize, axis: &TimeAxis) {
        for row in before.row.saturating_add(1)..until {
            let first = axis.first_of(row).unwrap_or(i64::MAX);
            if first.saturating_sub(before.time) > HELD_MOST {
                break;
            }
            let mark = self.keywords.number(HELD);
            for (line, value) in &before.values {
                if let Some(bucket) = self.buckets.get_mut(*line).and_then(|rows| rows.get_mut(row)) {
                    bucket.add(*value);
                    bucket.mark = mark;
                }
            }
        }
    }
}
