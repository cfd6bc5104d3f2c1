//! Selection of the lines that a picture shows, and their distribution to panels.

use crate::chart::{Chart, ChartLine};
use crate::number::real;
use crate::unit::Unit;

/// Maximum number of lines of a panel; more cannot be told apart.
// Seven colours in three dash patterns distinguish 21 lines.
pub const LINES: usize = 20;
/// Maximum number of panels of a picture.
const PANELS: usize = 12;

/// Panel of a picture: lines that share a unit and a range.
#[derive(Debug)]
pub struct Panel<'a> {
    pub unit: Unit,
    pub lines: Vec<&'a ChartLine>,
}

/// Returns the panels to draw, and the number of lines that are omitted because there are too many. With `top`, only
/// that many greatest lines of each counter are drawn. With `top` or stacking, total lines are omitted if their
/// counter has other lines.
pub fn panels(chart: &Chart, top: Option<usize>, is_stack: bool) -> (Vec<Panel<'_>>, usize) {
    let mut lines: Vec<&ChartLine> = chart.lines.iter().collect();
    // A line that never had a value is omitted, unless it belongs to a request without any values.
    keep(&mut lines, |line, other| line.request == other.request, |line| line.total.is_some());
    // After lines without values are removed: a total stays if it is the only line with values.
    if top.is_some() || is_stack {
        keep(&mut lines, is_same_counter, |line| !line.is_sum);
    }
    if let Some(top) = top {
        lines = groups(lines, is_same_counter).into_iter().flat_map(|group| greatest(group, top)).collect();
    }
    let mut left_out = chart.refused;
    // By the symbol: bytes and KiB, for example, have the same symbol and differ only in their factors.
    let is_one_panel = |line: &ChartLine, other: &ChartLine| {
        (&line.unit.symbol, &line.range) == (&other.unit.symbol, &other.range)
    };
    let of_one_unit = groups(lines, is_one_panel);
    let mut panels = Vec::new();
    for lines in of_one_unit {
        let Some(unit) = lines.first().map(|line| line.unit.clone()) else { continue };
        let room = if panels.len() < PANELS { LINES } else { 0 };
        left_out = left_out.saturating_add(lines.len().saturating_sub(room));
        let lines = if lines.len() > room { greatest(lines, room) } else { lines };
        if !lines.is_empty() {
            panels.push(Panel { unit, lines });
        }
    }
    (panels, left_out)
}

fn is_same_counter(line: &ChartLine, other: &ChartLine) -> bool {
    (line.request, &line.counterset, &line.counter) == (other.request, &other.counterset, &other.counter)
}

/// Removes unwanted lines from each group of lines that also has wanted ones.
fn keep<'a>(
    lines: &mut Vec<&'a ChartLine>,
    is_one_group: impl Fn(&ChartLine, &ChartLine) -> bool,
    is_wanted: impl Fn(&ChartLine) -> bool,
) {
    let wanted: Vec<&'a ChartLine> =
        firsts(lines.iter().copied().filter(|line| is_wanted(line)), &is_one_group);
    lines.retain(|line| is_wanted(line) || !wanted.iter().any(|other| is_one_group(line, other)));
}

/// Returns the first line of each group of a chart's lines.
fn firsts<'a>(
    lines: impl Iterator<Item = &'a ChartLine>,
    is_one_group: impl Fn(&ChartLine, &ChartLine) -> bool,
) -> Vec<&'a ChartLine> {
    let mut firsts: Vec<&ChartLine> = Vec::new();
    for line in lines {
        if !firsts.iter().any(|first| is_one_group(first, line)) {
            firsts.push(line);
        }
    }
    firsts
}

/// Divides a chart's lines into groups, in the order of the first line of each group.
fn groups(
    lines: Vec<&ChartLine>,
    is_one_group: impl Fn(&ChartLine, &ChartLine) -> bool,
) -> Vec<Vec<&ChartLine>> {
    let mut groups: Vec<Vec<&ChartLine>> = Vec::new();
    for line in lines {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| is_one_group(first, line))) {
            Some(group) => group.push(line),
            None => groups.push(vec![line]),
        }
    }
    groups
}

/// Returns the `most` lines with the largest sums over the whole time, in descending order. A line that exists only
/// for a moment has a small sum, however large its values are.
fn greatest(mut lines: Vec<&ChartLine>, most: usize) -> Vec<&ChartLine> {
    let most_of_all = |line: &ChartLine| {
        line.total.map_or(f64::NEG_INFINITY, |total| total.mean * real(total.count) * line.unit.factor)
    };
    lines.sort_by(|a, b| most_of_all(b).total_cmp(&most_of_all(a)));
    lines.truncate(most);
    lines
}
