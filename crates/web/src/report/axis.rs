//! Time axis of a report: rows that all lines share, one for each sample or for each time cell.

use crate::log::to_unix_ms;

/// Maximum number of rows on the time axis of a report; a log with more samples has a row for each time cell.
pub const ROWS_MOST: usize = 1_500;

/// Maximum number of gaps that a report lists; the longest are listed.
const GAPS_MOST: usize = 20;

/// Number of units of 100 ns in a millisecond.
const MS: i64 = 10_000;

/// Time without a sample in a report, in 100 ns since 1601 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleGap {
    /// Time of the last sample before the gap.
    pub from: i64,
    /// Time of the first sample after the gap.
    pub to: i64,
}

/// Time axis of a report: the rows that all lines share, and the times of their samples.
#[derive(Clone, Debug, Default)]
pub struct TimeAxis {
    /// Beginning of each row of the time axis in 100 ns: of the sample's own millisecond, or of the row's time cell.
    starts: Vec<i64>,
    /// Times of the first and the last sample of each row of the time axis.
    spans: Vec<(i64, i64)>,
    /// Length of the time cells of the axis in 100 ns; `None` if each sample has its own row.
    pub cell: Option<i64>,
    /// Median distance of two neighbouring samples of the log in 100 ns; `None` for fewer than two samples.
    pub interval: Option<i64>,
    /// Times of the first and the last sample of the report.
    pub span: (i64, i64),
    /// Number of samples of the report with different times.
    pub samples: usize,
    /// Longest gaps between samples, above one and a half intervals, in the order of time.
    pub gaps: Vec<SampleGap>,
    /// Number of all gaps above one and a half intervals.
    pub gap_count: usize,
}

impl TimeAxis {
    /// Creates the time axis of samples at these times; `None` without samples.
    pub fn new(mut times: Vec<i64>) -> Option<Self> {
        // A clock that was set back has some times twice.
        times.sort_unstable();
        times.dedup();
        let span = (*times.first()?, *times.last()?);
        let interval = median_distance(&times);
        let cell = (times.len() > ROWS_MOST).then(|| cell_length(span, interval.unwrap_or(MS)));
        let mut axis = Self { cell, interval, span, samples: times.len(), ..Self::default() };
        for time in &times {
            let start = match cell {
                Some(cell) => grid(*time, cell),
                // Times of the page are whole milliseconds.
                None => grid(*time, MS),
            };
            match axis.spans.last_mut().filter(|_| axis.starts.last() == Some(&start)) {
                Some(span) => span.1 = *time,
                None => {
                    axis.starts.push(start);
                    axis.spans.push((*time, *time));
                }
            }
        }
        axis.find_gaps(&times);
        Some(axis)
    }

    fn find_gaps(&mut self, times: &[i64]) {
        let Some(interval) = self.interval else { return };
        let limit = interval.saturating_mul(3) / 2;
        let pairs = times.windows(2).filter_map(|pair| match pair {
            [from, to] => Some(SampleGap { from: *from, to: *to }),
            _ => None,
        });
        let mut gaps: Vec<SampleGap> = pairs.filter(|gap| gap.to.saturating_sub(gap.from) > limit).collect();
        self.gap_count = gaps.len();
        gaps.sort_by_key(|gap| gap.from.saturating_sub(gap.to));
        gaps.truncate(GAPS_MOST);
        gaps.sort_by_key(|gap| gap.from);
        self.gaps = gaps;
    }

    /// Returns the number of rows of the time axis.
    pub fn rows(&self) -> usize {
        self.starts.len()
    }

    /// Returns the row of the time axis that contains a time; `None` before the first row.
    pub fn row_of(&self, time: i64) -> Option<usize> {
        self.starts.partition_point(|start| *start <= time).checked_sub(1)
    }

    /// Returns the time of the first sample in a row of the time axis.
    pub fn first_of(&self, row: usize) -> Option<i64> {
        self.spans.get(row).map(|(first, _)| *first)
    }

    /// Returns the time of the last sample in a row of the time axis.
    pub fn last_of(&self, row: usize) -> Option<i64> {
        self.spans.get(row).map(|(_, last)| *last)
    }

    /// Returns the distance of two neighbouring samples, in 100 ns, above which lines are interrupted.
    fn break_length(&self) -> i64 {
        // As the page of a server does.
        self.interval.map_or(i64::MAX, |interval| interval.saturating_mul(5) / 2)
    }

    /// Returns the time of a row of the axis in milliseconds since 1970: of the row's sample, or the middle of the
    /// row's samples.
    fn row_ms(&self, row: usize) -> i64 {
        let (first, last) = self.spans.get(row).copied().unwrap_or_default();
        to_unix_ms(match self.cell {
            Some(_) => first.saturating_add(last.saturating_sub(first) / 2),
            None => first,
        })
    }

    /// Returns the points of the time axis in milliseconds since 1970, with the row of each. `None` is a row in a
    /// gap, in which no line has a value.
    pub fn points(&self) -> Vec<(i64, Option<usize>)> {
        let mut points: Vec<(i64, Option<usize>)> = Vec::with_capacity(self.rows());
        for row in 0..self.rows() {
            let now = self.row_ms(row);
            let before = row.checked_sub(1).and_then(|before| self.last_of(before));
            let distance =
                before.zip(self.first_of(row)).map_or(0, |(before, now)| now.saturating_sub(before));
            if let Some((last, _)) = points.last().copied().filter(|_| distance > self.break_length()) {
                let step = self.interval.unwrap_or(MS).max(self.cell.unwrap_or(0)) / MS;
                let middle = last.saturating_add(now.saturating_sub(last) / 2);
                let gap = last.saturating_add(step.max(1)).min(middle);
                if last < gap && gap < now {
                    points.push((gap, None));
                }
            }
            points.push((now, Some(row)));
        }
        points
    }
}

/// Returns the greatest multiple of `step` that is not above a number, such as a time.
fn grid(number: i64, step: i64) -> i64 {
    number.saturating_sub(number.checked_rem_euclid(step).unwrap_or(0))
}

/// Returns the median of the distances between neighbouring sample times.
fn median_distance(times: &[i64]) -> Option<i64> {
    let distance = |pair: &[i64]| match pair {
        [from, to] => to.saturating_sub(*from),
        _ => 0,
    };
    let mut all: Vec<i64> = times.windows(2).map(distance).collect();
    let middle = all.len() / 2;
    (middle < all.len()).then(|| *all.select_nth_unstable(middle).1)
}

/// Lengths of time cells that readers of a report expect, in 100 ns.
const CELLS: [i64; 20] = {
    const SECOND: i64 = 1_000 * MS;
    const MINUTE: i64 = 60 * SECOND;
    const HOUR: i64 = 60 * MINUTE;
    [
        SECOND,
        2 * SECOND,
        5 * SECOND,
        10 * SECOND,
        15 * SECOND,
        20 * SECOND,
        30 * SECOND,
        MINUTE,
        2 * MINUTE,
        5 * MINUTE,
        10 * MINUTE,
        15 * MINUTE,
        20 * MINUTE,
        30 * MINUTE,
        HOUR,
        2 * HOUR,
        4 * HOUR,
        6 * HOUR,
        12 * HOUR,
        24 * HOUR,
    ]
};

/// Returns the length of a report's time cells: whole intervals, and as few cells as [`ROWS_MOST`] allows.
fn cell_length((first, last): (i64, i64), interval: i64) -> i64 {
    // Cells begin at round times, so the first and the last one may be partly in the range.
    let rows = i64::try_from(ROWS_MOST).unwrap_or(i64::MAX).saturating_sub(2);
    let least = last.saturating_sub(first).checked_div(rows).unwrap_or(0).saturating_add(1);
    // An interval of a recorder is not exact; cells of whole milliseconds have about equally many samples.
    let interval = grid(interval.saturating_add(MS / 2), MS).max(MS);
    let is_whole = |cell: &&i64| **cell >= least && grid(**cell, interval) == **cell;
    if let Some(cell) = CELLS.iter().find(is_whole) {
        return *cell;
    }
    let intervals = least.saturating_add(interval.saturating_sub(1)).checked_div(interval).unwrap_or(1);
    interval.saturating_mul(intervals.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::from_unix_ms;

    fn axis(ms: &[i64]) -> TimeAxis {
        TimeAxis::new(ms.iter().map(|ms| from_unix_ms(*ms)).collect()).unwrap()
    }

    #[test]
    fn few_samples_have_a_row_each() {
        let axis = axis(&[3_000, 1_000, 2_000, 2_000]);
        assert_eq!((axis.rows(), axis.samples, axis.cell), (3, 3, None));
        assert_eq!(axis.points(), [(1_000, Some(0)), (2_000, Some(1)), (3_000, Some(2))]);
        assert_eq!((axis.interval, axis.gap_count), (Some(10_000_000), 0));
        let row = |ms| axis.row_of(from_unix_ms(ms));
        assert_eq!([row(999), row(1_000), row(2_999), row(9_000)], [None, Some(0), Some(1), Some(2)]);
        assert!(TimeAxis::new(Vec::new()).is_none());
    }

    #[test]
    fn gaps_are_rows_without_values() {
        let axis = axis(&[0, 1_000, 2_000, 60_000, 61_000, 63_000]);
        let gaps: Vec<_> = axis.gaps.iter().map(|gap| (to_unix_ms(gap.from), to_unix_ms(gap.to))).collect();
        assert_eq!((gaps, axis.gap_count), (vec![(2_000, 60_000), (61_000, 63_000)], 2));
        // Two intervals are listed as a gap, as `log info` does; lines go on.
        assert_eq!(axis.points().iter().filter(|(_, row)| row.is_none()).count(), 1);
        assert_eq!(axis.points()[3], (3_000, None));
    }

    #[test]
    fn many_samples_share_cells() {
        for samples in [1_501_i64, 3_000, 3_001, 86_400] {
            let times: Vec<i64> = (0..samples).map(|at| at * 1_000).collect();
            let axis = axis(&times);
            assert!(axis.rows() <= ROWS_MOST && axis.rows() > ROWS_MOST / 4, "{samples}: {}", axis.rows());
            let cell = axis.cell.unwrap();
            assert!(CELLS.contains(&cell), "{samples}: {cell}");
            // Each sample is in the row whose cell has its time.
            for ms in times {
                let time = from_unix_ms(ms);
                let row = axis.row_of(time).unwrap();
                assert_eq!(i64::try_from(row).unwrap(), ms * 10_000 / cell, "{samples} {ms}"); // from midnight on
                assert!(axis.first_of(row).unwrap() <= time && time <= axis.last_of(row).unwrap());
            }
            let points = axis.points();
            assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0) && points.len() == axis.rows());
        }
    }

    #[test]
    fn extreme_times_do_no_harm() {
        for times in [vec![i64::MIN, i64::MAX], vec![i64::MAX], vec![i64::MIN, 0, 1, 2, i64::MAX]] {
            let axis = TimeAxis::new(times).unwrap();
            assert!(axis.rows() > 0 && !axis.points().is_empty());
        }
    }
}
