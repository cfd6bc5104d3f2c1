//! Stacked lines of a panel, drawn as areas on top of one another.

use std::collections::BTreeMap;

use crate::chart::ChartLine;
use crate::number::real;

/// Lower and upper edge of a stacked line at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    pub time: i64,
    pub below: f64,
    pub above: f64,
}

/// Areas of a stacked line: the edges of each section in which the line has values, in order of time.
pub type Areas = Vec<Vec<Level>>;

/// Mean value of a line in one time cell.
#[derive(Clone, Copy)]
struct CellMean {
    value: f64,
    /// `true` if an area connects this mean with that of the previous cell.
    is_connected: bool,
}

/// Interval of time in which the same lines of a stacked panel have values.
struct Slab {
    from: i64,
    to: i64,
    /// Heights of each stacked line at both ends of the interval; `None` for a line that has no area in it.
    heights: Vec<Option<(f64, f64)>>,
}

/// Stacks lines by the means of their time cells, which have the same times in all lines. Between two cells, only
/// lines that have values in both are stacked: a line that begins or ends moves the lines above it by a vertical
/// step, not by a slope, which would look like values between the samples.
///
/// An interval above `longest` is a gap. A value without neighbours gets an area that extends by `half` to each side.
pub fn stacked(lines: &[&ChartLine], longest: f64, half: i64) -> Vec<Areas> {
    let times = cell_times(lines);
    let means: Vec<Vec<Option<CellMean>>> = lines.iter().map(|line| means(line, &times, longest)).collect();
    let mut areas: Vec<Areas> = vec![Areas::new(); lines.len()];
    for slab in slabs(&times, &means, half) {
        let (mut begin, mut end) = (0.0, 0.0);
        for (areas, height) in areas.iter_mut().zip(&slab.heights) {
            let Some((first, last)) = *height else { continue };
            let from = Level { time: slab.from, below: begin, above: begin + first };
            let to = Level { time: slab.to, below: end, above: end + last };
            (begin, end) = (from.above, to.above);
            match areas.last_mut() {
                Some(run) if run.last().is_some_and(|last| last.time == slab.from) => run.extend([from, to]),
                _ => areas.push(vec![from, to]),
            }
        }
    }
    areas.iter_mut().flatten().for_each(Vec::dedup);
    areas
}

/// Returns the time cells in which any line has values, and the middle time of the values of all lines in each.
fn cell_times(lines: &[&ChartLine]) -> Vec<(i64, i64)> {
    let mut spans: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for stretch in lines.iter().flat_map(|line| &line.stretches) {
        let (first, last) = (stretch.first.time, stretch.last.time);
        let span = spans.entry(stretch.cell).or_insert((first, last));
        *span = (span.0.min(first), span.1.max(last));
    }
    let middle = |(first, last): (i64, i64)| first.saturating_add(last.saturating_sub(first) / 2);
    spans.into_iter().map(|(cell, span)| (cell, middle(span))).collect()
}

/// Returns the mean value of a line in each of these time cells.
fn means(line: &ChartLine, times: &[(i64, i64)], longest: f64) -> Vec<Option<CellMean>> {
    let mut stretches = line.stretches.iter().peekable();
    let mut before: Option<i64> = None;
    let mut mean = |&(cell, time): &(i64, i64)| {
        let stretch = stretches.next_if(|stretch| stretch.cell == cell);
        let found = stretch.map(|stretch| CellMean {
            value: stretch.mean * line.unit.factor,
            is_connected: stretch.is_joined
                && before.is_some_and(|before| real(time.saturating_sub(before)) <= longest),
        });
        before = found.map(|_| time);
        found
    };
    times.iter().map(&mut mean).collect()
}

/// Divides the time into intervals in which the same lines have values and are stacked.
fn slabs(times: &[(i64, i64)], means: &[Vec<Option<CellMean>>], half: i64) -> Vec<Slab> {
    let mean = |line: &[Option<CellMean>], cell: usize| line.get(cell).copied().flatten();
    let is_connected =
        |line: &[Option<CellMean>], cell| mean(line, cell).is_some_and(|mean| mean.is_connected);
    let is_alone = |line: &[Option<CellMean>], cell: usize| {
        mean(line, cell).is_some() && !is_connected(line, cell) && !is_connected(line, cell.saturating_add(1))
    };
    let mut slabs = Vec::new();
    let mut begin = 0;
    for (cell, &(_, time)) in times.iter().enumerate() {
        let last = cell.saturating_sub(1);
        let before = times.get(last).filter(|_| cell > 0).map(|(_, time)| *time);
        let after = times.get(cell.saturating_add(1)).map(|(_, time)| *time);
        // At most half of the way to the neighbours, so that slabs do not overlap.
        let room = |other: Option<i64>| match other {
            Some(other) => half.min(other.saturating_sub(time).saturating_abs() / 2),
            None => half,
        };
        let has_alone = means.iter().any(|line| is_alone(line, cell));
        let (from, to) = match has_alone {
            true => (time.saturating_sub(room(before)), time.saturating_add(room(after))),
            false => (time, time),
        };
        let connected = |line: &Vec<Option<CellMean>>| {
            let mean_here = mean(line, cell).filter(|mean| mean.is_connected)?;
            Some((mean(line, last)?.value, mean_here.value))
        };
        if means.iter().any(|line| is_connected(line, cell)) {
            let heights = means.iter().map(connected).collect();
            slabs.push(Slab { from: begin, to: from, heights });
        }
        if has_alone {
            // All lines with a value here, because the single value is stacked on those below it.
            let here = |line: &Vec<Option<CellMean>>| mean(line, cell).map(|mean| (mean.value, mean.value));
            slabs.push(Slab { from, to, heights: means.iter().map(here).collect() });
        }
        begin = to;
    }
    slabs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chart, Label};

    /// Returns the areas of stacked lines with a value per second; `.` is a missing one.
    fn areas(lines: &[&str]) -> Vec<String> {
        let mut chart = Chart::new(100);
        let ids: Vec<_> = lines.iter().map(|_| chart.line(&Label::default()).unwrap()).collect();
        for second in 0..lines[0].len() {
            chart.sample(i64::try_from(second).unwrap() * 1_000_000);
            for (id, line) in ids.iter().zip(lines) {
                if let Some(digit) = char::from(line.as_bytes()[second]).to_digit(10) {
                    chart.value(*id, f64::from(digit));
                }
            }
        }
        let lines: Vec<&ChartLine> = chart.lines.iter().collect();
        let level = |level: &Level| format!("{}:{}-{}", real(level.time) / 1e6, level.below, level.above);
        let run = |run: &Vec<Level>| run.iter().map(level).collect::<Vec<_>>().join(" ");
        let line = |areas: &Areas| areas.iter().map(run).collect::<Vec<_>>().join(" | ");
        stacked(&lines, chart.steps.longest(), 100_000).iter().map(line).collect()
    }

    #[test]
    fn lines_begin_and_end_in_steps() {
        for (what, lines, want) in [
            ("all there", &["12", "34"][..], &["0:0-1 1:0-2", "0:1-4 1:2-6"][..]),
            ("a late one", &["222", ".33"], &["0:0-2 1:0-2 2:0-2", "1:2-5 2:2-5"]),
            ("a late one below", &[".33", "222"], &["1:0-3 2:0-3", "0:0-2 1:0-2 1:3-5 2:3-5"]),
            (
                "a gap below",
                &["33..33", "111111"],
                &["0:0-3 1:0-3 | 4:0-3 5:0-3", "0:3-4 1:3-4 1:0-1 2:0-1 3:0-1 4:0-1 4:3-4 5:3-4"],
            ),
            (
                "a single value below",
                &[".3.", "111"],
                &["0.9:0-3 1.1:0-3", "0:0-1 0.9:0-1 0.9:3-4 1.1:3-4 1.1:0-1 2:0-1"],
            ),
            ("a single sample", &["3", "1"], &["-0.1:0-3 0.1:0-3", "-0.1:3-4 0.1:3-4"]),
            ("nothing", &["..", ".."], &["", ""]),
        ] {
            assert_eq!(areas(lines), want, "{what}");
        }
    }
}
