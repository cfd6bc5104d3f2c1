//! Strip of small charts above the table of an interactive screen: counters with their history.

use perfset::output::human;
use perfset::output::text::escaped;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::{Look, WIDE, fitted, right};
use crate::timeline::StripSample;
use crate::viewer::{StripCounter, Viewer};

/// Bar glyphs of eight heights for the chart strip's history, for terminals with UTF-8; the next constant is for
/// others.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII_BARS: [char; 8] = ['_', '.', '-', '=', '+', '*', '%', '#'];

/// Width of a counter's label on the chart strip in characters, on narrow and on wide screens.
const LABEL: (usize, usize) = (8, 24);
/// Width in characters of a counter's current value on the chart strip; the next constant is the width of its
/// greatest, mean and least value.
const VALUE: usize = 13;
const PEAK: usize = 17;

/// Minimum screen size at which each counter of the chart strip has three rows.
const TALL: (u16, u16) = (100, 40);
const TALL_ROWS: u16 = 3;

/// Factor of the usual distance between two samples above which the chart strip shows a gap.
const GAP: i64 = 3;

/// Samples that one bar of the chart strip shows, or a gap.
enum BarSpan<'a> {
    Samples(&'a [&'a StripSample]),
    Gap,
}

/// Returns the number of lines that each counter of the chart strip has on a screen of this size.
pub fn rows_of_a_counter(area: Rect) -> u16 {
    if area.width >= TALL.0 && area.height >= TALL.1 { TALL_ROWS } else { 1 }
}

/// Returns the lines of the chart strip, and the line with the times below it; nothing if the height is 0. `height`
/// is that of all counters, `rows` that of each.
pub fn lines(
    viewer: &Viewer,
    look: Look,
    width: usize,
    (height, rows): (usize, usize),
) -> Vec<Line<'static>> {
    if height == 0 {
        return Vec::new();
    }
    let samples: Vec<&StripSample> = viewer.timeline.strip().collect();
    let bars = bars(width);
    let places = places(&samples, bars);
    let mut lines: Vec<Line<'static>> = Vec::new();
    for (number, counter) in viewer.strip.iter().take(height.div_euclid(rows.max(1))).enumerate() {
        let drawn = DrawnCounter::of(viewer, (number, counter), &places);
        lines.extend((0..rows).map(|row| drawn.line(look, (row, rows), width)));
    }
    lines.push(axis(viewer, look, &places, width));
    lines
}

/// Returns the width of the counters' labels on the chart strip, for a screen of this width.
fn label_width(width: usize) -> usize {
    if width >= usize::from(WIDE) { LABEL.1 } else { LABEL.0 }
}

/// Returns the number of bars of the chart strip on a screen of this width.
fn bars(width: usize) -> usize {
    width.saturating_sub(label_width(width)).saturating_sub(VALUE).saturating_sub(PEAK).max(1)
}

/// Returns the time of the last sample in the chart strip's bar at a column of the screen.
pub fn time_at(viewer: &Viewer, width: usize, column: usize) -> Option<i64> {
    let samples: Vec<&StripSample> = viewer.timeline.strip().collect();
    let places = places(&samples, bars(width));
    let first =
        label_width(width).saturating_add(VALUE).saturating_add(bars(width)).saturating_sub(places.len());
    match places.get(column.checked_sub(first)?)? {
        BarSpan::Samples(samples) => samples.last().map(|(time, _)| *time),
        BarSpan::Gap => None,
    }
}

/// Divides samples among the bars of the chart strip, the newest one at the right edge. A gap between samples has a
/// bar of its own.
fn places<'a>(samples: &'a [&'a StripSample], bars: usize) -> Vec<BarSpan<'a>> {
    let mut distances: Vec<i64> =
        samples.windows(2).filter_map(|pair| Some(pair.get(1)?.0.saturating_sub(pair.first()?.0))).collect();
    distances.sort_unstable();
    let usual = distances.get(distances.len() / 2).copied().unwrap_or(i64::MAX);
    let is_gap = |a: &&StripSample, b: &&StripSample| b.0.saturating_sub(a.0) > usual.saturating_mul(GAP);
    let runs: Vec<&[&StripSample]> = samples.chunk_by(|a, b| !is_gap(a, b)).collect();
    let each = samples.len().div_ceil(bars.saturating_sub(runs.len().saturating_sub(1)).max(1)).max(1);
    let mut places = Vec::new();
    for (number, run) in runs.into_iter().enumerate() {
        if number > 0 {
            places.push(BarSpan::Gap);
        }
        places.extend(run.chunks(each).map(BarSpan::Samples));
    }
    let surplus = places.len().saturating_sub(bars);
    places.drain(..surplus);
    places
}

/// Returns the greatest value of a counter in the samples of a chart strip's bar.
fn greatest(place: &BarSpan<'_>, number: usize) -> Option<f64> {
    let BarSpan::Samples(samples) = place else { return None };
    samples.iter().filter_map(|(_, values)| *values.get(number)?).reduce(f64::max)
}

/// Texts and bars of a counter on the chart strip.
struct DrawnCounter {
    label: String,
    now: String,
    /// Texts of the counter's greatest, mean and least value on the chart strip.
    ends: [String; 3],
    /// Height of each bar of the chart strip as a share of the maximum height; `None` without a value.
    shares: Vec<Option<f64>>,
}

impl DrawnCounter {
    fn of(viewer: &Viewer, (number, counter): (usize, &StripCounter), places: &[BarSpan<'_>]) -> Self {
        let text = |value: Option<f64>| {
            value.map_or_else(|| "-".to_owned(), |value| escaped(&human(value, &counter.unit)))
        };
        let shown = viewer.timeline.now();
        let now = viewer.timeline.strip().find(|(time, _)| Some(*time) == shown);
        let now = now.and_then(|(_, values)| *values.get(number)?);
        let values: Vec<Option<f64>> = places.iter().map(|place| greatest(place, number)).collect();
        let peak = values.iter().flatten().copied().reduce(f64::max);
        let (mut sum, mut count, mut least) = (0.0, 0_u32, None);
        for place in places {
            let BarSpan::Samples(samples) = place else { continue };
            for value in samples.iter().filter_map(|(_, values)| *values.get(number)?) {
                (sum, count) = (sum + value, count.saturating_add(1));
                least = Some(least.map_or(value, |least: f64| least.min(value)));
            }
        }
        let mean = (count > 0).then(|| sum / f64::from(count));
        // Percentages have a fixed scale, others that of their greatest value.
        let most = if counter.unit == "%" { 100.0 } else { peak.unwrap_or(0.0) };
        let share = |value: f64| if most > 0.0 { (value / most).clamp(0.0, 1.0) } else { 0.0 };
        Self {
            label: counter.label.clone(),
            now: text(now),
            ends: [peak, mean, least].map(text),
            shares: values.into_iter().map(|value| value.map(share)).collect(),
        }
    }

    /// Returns one of the lines of a counter on the chart strip, numbered from above.
    fn line(&self, look: Look, (row, rows): (usize, usize), width: usize) -> Line<'static> {
        let glyphs = if look.is_utf8 { BARS } else { ASCII_BARS };
        let is_first = row == 0;
        let below = rows.saturating_sub(row).saturating_sub(1);
        let missing = if look.is_utf8 && below == 0 { '░' } else { ' ' };
        let bar = |share: &Option<f64>| share.map_or(missing, |share| glyph(&glyphs, share, (below, rows)));
        let drawn: String = self.shares.iter().map(bar).collect();
        let label = if is_first { self.label.as_str() } else { "" };
        let now = if is_first { self.now.as_str() } else { "" };
        let [greatest, mean, least] = &self.ends;
        let end = match (rows, row) {
            (1, _) => format!("peak {greatest}"),
            (_, 0) => format!("max {greatest}"),
            (_, 1) => format!("mean {mean}"),
            _ => format!("min {least}"),
        };
        let blanks = bars(width).saturating_sub(self.shares.len());
        Line::from(vec![
            Span::styled(fitted(&format!(" {label}"), label_width(width)), look.head()),
            Span::raw(right(now, VALUE.saturating_sub(1))),
            Span::raw(format!(" {}", " ".repeat(blanks))),
            Span::styled(
                drawn,
                look.colour(ratatui_core::style::Style::new(), ratatui_core::style::Color::Green),
            ),
            Span::styled(right(&end, PEAK), look.dim()),
        ])
    }
}

/// Returns the glyph of a chart strip's bar in one of the counter's lines, given by the number of lines below.
fn glyph(glyphs: &[char; 8], share: f64, (below, rows): (usize, usize)) -> char {
    let eighths = rows.saturating_mul(8);
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    // The least height that the share does not exceed; 0 has one, too, because it is a value.
    let height = (1..=eighths).find(|height| share <= number(*height) / number(eighths)).unwrap_or(eighths);
    match height.checked_sub(below.saturating_mul(8)) {
        None | Some(0) => ' ',
        Some(own) => glyphs.get(own.min(8).saturating_sub(1)).copied().unwrap_or(' '),
    }
}

/// Returns the line below the chart strip, with the first and last time, the cursor and the marks.
fn axis(viewer: &Viewer, look: Look, places: &[BarSpan<'_>], width: usize) -> Line<'static> {
    let bars = bars(width);
    let times = |place: &BarSpan<'_>| match place {
        BarSpan::Samples(samples) => Some((samples.first()?.0, samples.last()?.0)),
        BarSpan::Gap => None,
    };
    let blanks = bars.saturating_sub(places.len());
    let mut text: Vec<char> = vec![' '; bars];
    let put = |text: &mut Vec<char>, at: usize, what: &str| {
        for (place, c) in text.iter_mut().skip(at).zip(what.chars()) {
            *place = c;
        }
    };
    let (first, last) = (places.iter().find_map(times), places.iter().rev().find_map(times));
    if let (Some((first, _)), Some((_, last))) = (first, last) {
        let (begin, end) = (viewer.shown_time(first, "%H:%M:%S"), viewer.shown_time(last, "%H:%M:%S"));
        // Both have room, or only the newer one.
        if places.len() > begin.width().saturating_add(end.width()) {
            put(&mut text, blanks, &begin);
        }
        put(&mut text, bars.saturating_sub(end.width()), &end);
    }
    let position = |time: i64| {
        let at = places.iter().position(|place| times(place).is_some_and(|(_, last)| time <= last))?;
        let begins = first.is_some_and(|(first, _)| time >= first);
        begins.then(|| blanks.saturating_add(at))
    };
    let (mark, cursor) = if look.is_utf8 { ("▼", "┃") } else { ("v", "|") };
    for (time, _) in &viewer.marks {
        if let Some(at) = position(*time) {
            put(&mut text, at, mark);
        }
    }
    if let Some(at) = viewer.timeline.now().filter(|_| !viewer.timeline.is_live()).and_then(position) {
        put(&mut text, at, cursor);
    }
    let before = " ".repeat(label_width(width).saturating_add(VALUE));
    Line::styled(format!("{before}{}", text.into_iter().collect::<String>()), look.dim())
}
