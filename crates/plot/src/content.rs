//! Contents of one panel of a picture, before its position is known.

use crate::axis::{Axis, AxisEnds, ValueScale};
use crate::chart::{Chart, ChartLine};
use crate::choices::{Choices, ThresholdLine};
use crate::equal::equal_lines;
use crate::number::{real, whole};
use crate::options::PictureOptions;
use crate::panels::Panel;
use crate::picture::STROKE;
use crate::stack::{Areas, stacked};

/// Contents of one panel of a picture, before its position is known.
pub struct Plot<'a> {
    pub panel: Panel<'a>,
    scale: ValueScale,
    ends: AxisEnds,
    /// Least and greatest value that the panel shows; `None` if there is no value. With the height, it determines the
    /// axis.
    range: Option<(f64, f64)>,
    pub axis: Axis,
    /// Heading of the panel with the name shared by all lines; the next field has the remaining name of each line.
    pub head: String,
    pub names: Vec<String>,
    /// Thresholds inside of the panel's axis.
    pub thresholds: Vec<ThresholdLine>,
    /// Sentences below the legend of the panel.
    pub notes: Vec<String>,
    pub height: f64,
    /// First and last time on the time axis of the panel.
    pub span: (i64, i64),
    /// Longest interval between two samples that a line of the panel still connects.
    pub longest: f64,
    /// Areas of each line of the panel, if the lines are stacked.
    pub stack: Option<Vec<Areas>>,
}

impl<'a> Plot<'a> {
    pub fn new(chart: &Chart, panel: Panel<'a>, look: &PictureOptions, choices: Choices) -> Self {
        const SECOND: i64 = 1_000_000;
        let (first, last) = chart.span.unwrap_or_default();
        // A single sample would otherwise lie on the left edge.
        let span = match first == last {
            true => (first.saturating_sub(SECOND / 2), last.saturating_add(SECOND / 2)),
            false => (first, last),
        };
        let longest = chart.steps.longest();
        // A value without neighbours is as wide as a line.
        let half = (real(span.1) - real(span.0)) / f64::from(look.width.max(1)) * STROKE / 2.0;
        let stack = look.is_stack.then(|| stacked(&panel.lines, longest, whole(half)));
        let (scale, ends) = (look.value_scale(), choices.ends);
        let ranges: Vec<(f64, f64)> = match &stack {
            Some(stack) => stack.iter().map(levels_range).collect(),
            None => panel.lines.iter().map(|line| values_range(line)).collect(),
        };
        // Thresholds outside of the axis are listed, because a picture without them would be read as one below them.
        let is_inside = |limit: &ThresholdLine| {
            ends.min.is_none_or(|min| limit.value >= min)
                && ends.max.is_none_or(|max| limit.value <= max)
                && (scale == ValueScale::Linear || limit.value > 0.0)
        };
        let (thresholds, outside): (Vec<ThresholdLine>, Vec<ThresholdLine>) =
            choices.thresholds.into_iter().partition(is_inside);
        let (head, names) = names(&panel.lines);
        let mut notes = if stack.is_none() { equal_notes(&panel.lines, &names) } else { Vec::new() };
        let mut note = |text: &str, is_meant: &dyn Fn(&(f64, f64)) -> bool| {
            let meant = ranges.iter().zip(&names).filter(|(range, _)| is_meant(range));
            let meant: Vec<&str> = meant.map(|(_, name)| name.as_str()).collect();
            if !meant.is_empty() {
                notes.push(format!("{text}: {}", meant.join(", ")));
            }
        };
        note("above the axis where bars are at its upper edge", &|(_, greatest)| {
            ends.max.is_some_and(|max| *greatest > max)
        });
        let is_log = scale == ValueScale::Log;
        note("below the axis where bars are at its lower edge", &|(least, _)| {
            ends.min.is_some_and(|min| *least < min && !(is_log && *least <= 0.0))
        });
        note("zero and negative values are not drawn, because the axis is logarithmic", &|(least, _)| {
            is_log && *least <= 0.0
        });
        if !outside.is_empty() {
            let labels: Vec<&str> = outside.iter().map(|limit| limit.label.as_str()).collect();
            notes.push(format!("thresholds outside of the axis: {}", labels.join(", ")));
        }
        let drawn = match scale {
            ValueScale::Linear => ranges,
            ValueScale::Log => panel.lines.iter().filter_map(|line| positive_range(line)).collect(),
        };
        let range = drawn
            .into_iter()
            .chain(thresholds.iter().map(|limit| (limit.value, limit.value)))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let (axis, height) = (Axis::default(), 0.0);
        Self { panel, scale, ends, range, axis, head, names, thresholds, notes, height, span, longest, stack }
    }

    /// Sets the height of the panel in pixels, which determines the numbers of its value axis.
    pub fn set_height(&mut self, height: f64) {
        let most = usize::try_from(whole(height / 42.0)).unwrap_or(0);
        self.height = height;
        self.axis = match self.scale {
            ValueScale::Linear => {
                Axis::linear(&self.panel.unit, self.range.unwrap_or_default(), self.ends, most)
            }
            ValueScale::Log => Axis::log(&self.panel.unit, self.range, self.ends, most),
        };
    }
}

/// Returns the least and the greatest value of a chart's line.
fn values_range(line: &ChartLine) -> (f64, f64) {
    let scaled = |value: f64| value * line.unit.factor;
    line.total.map_or((0.0, 0.0), |total| (scaled(total.least.value), scaled(total.greatest.value)))
}

/// Returns the lowest and the highest edge of the areas of a stacked line.
fn levels_range(areas: &Areas) -> (f64, f64) {
    let levels = areas.iter().flatten().flat_map(|level| [level.below, level.above]);
    levels.fold((0.0, 0.0), |(least, greatest), level| (level.min(least), level.max(greatest)))
}

/// Returns the least and the greatest drawn value above 0 of a chart's line.
fn positive_range(line: &ChartLine) -> Option<(f64, f64)> {
    let points = line.stretches.iter().flat_map(|stretch| {
        [stretch.first, stretch.least, stretch.greatest, stretch.last]
            .map(|point| point.value * line.unit.factor)
    });
    let ranges = points.filter(|value| *value > 0.0).map(|value| (value, value));
    ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Returns a sentence for each group of lines that are equal in every sample: they differ only in their dashes.
fn equal_notes(lines: &[&ChartLine], names: &[String]) -> Vec<String> {
    let note = |members: Vec<usize>| {
        let names: Vec<&str> =
            members.into_iter().filter_map(|member| names.get(member)).map(String::as_str).collect();
        format!("equal in every sample, drawn as dashes in turn: {}", names.join(", "))
    };
    equal_lines(lines).into_iter().map(note).collect()
}

/// Returns the name shared by all lines of a panel, and the remaining name of each line.
fn names(lines: &[&ChartLine]) -> (String, Vec<String>) {
    let all = |same: &dyn Fn(&ChartLine, &ChartLine) -> bool| {
        lines.first().is_some_and(|first| lines.iter().all(|line| same(first, line)))
    };
    let is_one_set = all(&|a, b| a.counterset == b.counterset);
    let is_one_counter = is_one_set && all(&|a, b| a.counter == b.counter);
    let is_one_instance = is_one_set && all(&|a, b| a.instance == b.instance);
    let brackets = |line: &ChartLine| match line.instance.is_empty() {
        true => String::new(),
        false => format!("({})", line.instance),
    };
    let name = |line: &&ChartLine| match (is_one_counter, is_one_set) {
        (true, _) if line.instance.is_empty() => line.counter.clone(),
        (true, _) => line.instance.clone(),
        (_, true) if is_one_instance => line.counter.clone(),
        (_, true) => format!("{}\\{}", brackets(line), line.counter).trim_start_matches('\\').to_owned(),
        _ => format!("\\{}{}\\{}", line.counterset, brackets(line), line.counter),
    };
    let head = match lines.first() {
        Some(first) if is_one_counter => format!("{}: {}", first.counterset, first.counter),
        Some(first) if is_one_instance => format!("{}{}", first.counterset, brackets(first)),
        Some(first) if is_one_set => first.counterset.clone(),
        _ => String::new(),
    };
    (head, lines.iter().map(name).collect())
}
