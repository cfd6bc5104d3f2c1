//! Layout of a picture: positions of panels, axes, lines and texts.

use jiff::tz::TimeZone;

use crate::axis::Axis;
use crate::bucket::{Bucket, Point};
use crate::chart::{Chart, ChartLine};
use crate::equal::{Coinciding, coinciding, equal_lines};
use crate::font::Font;
use crate::number::{real, real_count, whole};
use crate::panels::{Panel, panels};
use crate::picture::{Anchor, Picture, Position, Shape};
use crate::stack::{Areas, Level, stacked};
use crate::theme::{Colour, Palette, Theme};
use crate::time;
use crate::unit::Unit;

/// Appearance of a picture.
#[derive(Clone, Debug)]
pub struct PictureOptions {
    /// Title above the picture.
    pub title: String,
    /// Name of the recorded host, shown below the title, before the times.
    pub host: String,
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height in pixels; the picture becomes higher if its texts need more. If `None`, panels and texts determine the
    /// height.
    pub height: Option<u32>,
    /// Colours of the picture.
    pub theme: Theme,
    /// `true` if each line is drawn on top of the lines before it, as an area.
    pub is_stack: bool,
    /// Maximum number of lines of each counter: those with the largest sums over the whole time.
    pub top: Option<usize>,
    /// Time zone of the times shown.
    pub zone: TimeZone,
}

impl Default for PictureOptions {
    fn default() -> Self {
        Self {
            title: String::new(),
            host: String::new(),
            width: 1_000,
            height: None,
            theme: Theme::default(),
            is_stack: false,
            top: None,
            zone: TimeZone::UTC,
        }
    }
}

/// Pixels at each side, and between elements.
const MARGIN: f64 = 20.0;
const GAP: f64 = 8.0;
/// Font sizes of texts, in pixels.
const TITLE: f64 = 18.0;
const HEAD: f64 = 13.0;
const TEXT: f64 = 12.0;
const SMALL: f64 = 11.0;
/// Height of a line of the legend.
const ROW: f64 = 18.0;
/// Widths in the legend, in pixels: a column of numbers, the picture width below which columns are narrower and the
/// narrower column width, and the colour sample of a line.
const COLUMN: f64 = 86.0;
const NARROW: (f64, f64) = (700.0, 68.0);
const SWATCH: f64 = 22.0;
/// Height in pixels of the time labels below a panel: one line for the time of day, one for the day.
const TIMES: f64 = 34.0;
/// Heights of a panel in pixels if the user requests none: the only panel, one of several panels, and the minimum.
const ALONE: f64 = 300.0;
const AMONG: f64 = 180.0;
const LEAST: f64 = 60.0;
/// Width of a drawn line.
const STROKE: f64 = 1.5;
/// Width of the dashes of lines that coincide.
const WIDE: f64 = 2.5;
/// Radius of a value without neighbours.
const DOT: f64 = 2.0;

impl Chart {
    /// Lays out a picture of the samples added so far.
    #[must_use]
    pub fn draw(&self, look: &PictureOptions) -> Picture {
        let (panels, left_out) = panels(self, look.top, look.is_stack);
        let mut drawing = Drawing {
            font: Font::new(),
            palette: Palette::for_theme(look.theme),
            width: f64::from(look.width),
            y: MARGIN,
            shapes: Vec::new(),
        };
        drawing.head(self, look);
        let count = real_count(panels.len().max(1));
        let mut plots: Vec<Plot<'_>> = panels.into_iter().map(|panel| Plot::new(self, panel, look)).collect();
        let rows = |plot: &Plot<'_>| {
            real_count(plot.panel.lines.len().saturating_add(plot.notes.len()).saturating_add(1)) * ROW
        };
        let texts: f64 = plots.iter().map(|plot| HEAD + 2.0 * GAP + TIMES + rows(plot) + MARGIN).sum();
        let note = if left_out > 0 { ROW } else { 0.0 };
        let wanted = match look.height {
            Some(height) => (f64::from(height) - drawing.y - texts - note) / count,
            None if plots.len() > 1 => AMONG,
            None => ALONE,
        };
        let height = wanted.max(LEAST).floor();
        // All panels are prepared before the first is drawn: they share the left edge, which the widest label
        // of all determines.
        plots.iter_mut().for_each(|plot| plot.set_height(height));
        let labels =
            plots.iter().flat_map(|plot| &plot.axis.ticks).map(|(_, label)| drawing.font.width(label, SMALL));
        let left = MARGIN + labels.fold(24.0, f64::max) + GAP;
        match plots.is_empty() {
            true => drawing.nothing(height),
            false => plots.iter().for_each(|plot| drawing.panel(plot, look, left)),
        }
        if left_out > 0 {
            let text = format!("{left_out} more lines are left out");
            drawing.text((MARGIN, drawing.y), Anchor::Begin, TEXT, drawing.palette.faint, text);
            drawing.y += ROW;
        }
        let bottom = u32::try_from(whole(drawing.y.ceil())).unwrap_or(u32::MAX);
        Picture {
            width: look.width,
            height: bottom.max(look.height.unwrap_or(0)),
            title: if look.title.is_empty() { "Performance counters".to_owned() } else { look.title.clone() },
            background: drawing.palette.background,
            shapes: drawing.shapes,
            left_out,
        }
    }
}

/// Contents of one panel, before its position is known.
struct Plot<'a> {
    panel: Panel<'a>,
    /// Least and greatest value to draw, and the axis for them. The height determines the axis.
    range: (f64, f64),
    axis: Axis,
    /// Heading with the name shared by all lines, then the remaining name of each line.
    head: String,
    names: Vec<String>,
    /// Sentences below the legend.
    notes: Vec<String>,
    height: f64,
    /// First and last time on the time axis.
    span: (i64, i64),
    /// Longest interval between two samples that a line still connects.
    longest: f64,
    /// Areas of each line, if the lines are stacked.
    stack: Option<Vec<Areas>>,
}

impl<'a> Plot<'a> {
    fn new(chart: &Chart, panel: Panel<'a>, look: &PictureOptions) -> Self {
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
        let scaled = |line: &ChartLine, value: f64| value * line.unit.factor;
        let values: Vec<f64> = match &stack {
            Some(stack) => {
                stack.iter().flatten().flatten().flat_map(|level| [level.below, level.above]).collect()
            }
            None => (panel.lines.iter())
                .filter_map(|line| line.total.map(|total| (line, total)))
                .flat_map(|(line, total)| {
                    [scaled(line, total.least.value), scaled(line, total.greatest.value)]
                })
                .collect(),
        };
        let range = (values.iter().copied().fold(0.0, f64::min), values.iter().copied().fold(0.0, f64::max));
        let (head, names) = names(&panel.lines);
        let notes = if stack.is_none() { equal_notes(&panel.lines, &names) } else { Vec::new() };
        let (axis, height) = (Axis::default(), 0.0);
        Self { panel, range, axis, head, names, notes, height, span, longest, stack }
    }

    /// Sets the height in pixels, for which the axis has numbers.
    fn set_height(&mut self, height: f64) {
        let most = usize::try_from(whole(height / 42.0)).unwrap_or(0);
        self.height = height;
        self.axis = Axis::new(&self.panel.unit, self.range.0, self.range.1, most);
    }
}

/// Returns a sentence for each group of lines that are equal in every sample, since only their dashes can be seen.
fn equal_notes(lines: &[&ChartLine], names: &[String]) -> Vec<String> {
    let note = |members: Vec<usize>| {
        let names: Vec<&str> =
            members.into_iter().filter_map(|member| names.get(member)).map(String::as_str).collect();
        format!("equal in every sample, drawn as dashes in turn: {}", names.join(", "))
    };
    equal_lines(lines).into_iter().map(note).collect()
}

/// Returns the name shared by all lines, and the remaining name of each line.
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

/// A picture being drawn, from top to bottom.
struct Drawing {
    font: Font,
    palette: Palette,
    width: f64,
    y: f64,
    shapes: Vec<Shape>,
}

impl Drawing {
    fn text(&mut self, position: Position, anchor: Anchor, size: f64, colour: Colour, text: String) {
        if !text.is_empty() {
            self.shapes.push(Shape::Text { position, anchor, size, colour, text });
        }
    }

    /// Draws a text, shortened to the available width.
    fn fitted(&mut self, position: Position, size: f64, colour: Colour, text: &str, room: f64) {
        let text = self.font.fitted(text, size, room);
        self.text(position, Anchor::Begin, size, colour, text);
    }

    /// Draws the title, and below it the host, the times and the number of samples.
    fn head(&mut self, chart: &Chart, look: &PictureOptions) {
        let (text, faint, room) = (self.palette.text, self.palette.faint, self.width - 2.0 * MARGIN);
        if !look.title.is_empty() {
            self.y += TITLE;
            self.fitted((MARGIN, self.y), TITLE, text, &look.title, room);
            self.y += GAP;
        }
        let mut told = Vec::from_iter((!look.host.is_empty()).then(|| look.host.clone()));
        if let Some((first, last)) = chart.span {
            if let (Some(from), Some(to)) = (time::civil(first, &look.zone), time::civil(last, &look.zone)) {
                let format = if from.date() == to.date() { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
                let (from, to) = (from.strftime("%Y-%m-%d %H:%M:%S"), to.strftime(format));
                told.push(format!("{from} to {to}, {}", time::offset(first, &look.zone)));
            }
        }
        told.push(match chart.samples {
            1 => "1 sample".to_owned(),
            samples => format!("{} samples", grouped(samples)),
        });
        self.y += TEXT;
        self.fitted((MARGIN, self.y), TEXT, faint, &told.join(" · "), room);
        self.y += MARGIN;
    }

    /// Draws the note for a picture without panels.
    fn nothing(&mut self, height: f64) {
        let (middle, faint) = ((self.width / 2.0, self.y + height / 2.0), self.palette.faint);
        self.text(middle, Anchor::Middle, TEXT, faint, "no values".to_owned());
        self.y += height + MARGIN;
    }

    fn panel(&mut self, plot: &Plot<'_>, look: &PictureOptions, left: f64) {
        let Palette { text, faint, grid, .. } = self.palette;
        let right = self.width - MARGIN;
        let head = match (plot.head.as_str(), plot.axis.unit.as_str()) {
            ("", unit) => unit.to_owned(),
            // Names of percentages and rates usually contain the unit.
            (head, "%") if head.contains('%') => head.to_owned(),
            (head, "/s") if head.ends_with("/sec") => head.to_owned(),
            (head, "") => head.to_owned(),
            (head, unit) => format!("{head}, {unit}"),
        };
        self.y += HEAD;
        self.fitted((MARGIN, self.y), HEAD, text, &head, right - MARGIN);
        let top = self.y + GAP + GAP / 2.0;
        let frame = Frame {
            left,
            right,
            top,
            bottom: top + plot.height,
            span: plot.span,
            least: plot.axis.least,
            greatest: plot.axis.greatest,
        };
        for (at, label) in &plot.axis.ticks {
            let y = frame.y(*at);
            self.rule(vec![(left, y), (right, y)], if *at == 0.0 { faint } else { grid });
            self.text((left - GAP, y + 4.0), Anchor::End, SMALL, faint, label.clone());
        }
        self.times(&frame, look, faint);
        self.y = frame.bottom + TIMES;
        match &plot.stack {
            Some(stack) => self.areas(stack, &frame),
            None => self.lines(plot, &frame),
        }
        if plot.panel.lines.iter().all(|line| line.total.is_none()) {
            let middle = (f64::midpoint(left, right), f64::midpoint(frame.top, frame.bottom));
            self.text(middle, Anchor::Middle, TEXT, faint, "no values".to_owned());
        }
        self.legend(plot, left, right);
        self.y += MARGIN;
    }

    fn rule(&mut self, run: Vec<Position>, colour: Colour) {
        self.shapes.push(Shape::Line {
            runs: vec![run],
            colour,
            width: 1.0,
            dashes: Vec::new(),
            offset: 0.0,
        });
    }

    /// Draws the time labels below a panel.
    fn times(&mut self, frame: &Frame, look: &PictureOptions, faint: Colour) {
        let (from, to) = frame.span;
        let width = self.font.width("2026-11-22", SMALL) + 5.0 * GAP;
        let most = usize::try_from(whole((frame.right - frame.left) / width)).unwrap_or(0).clamp(1, 50);
        for tick in time::ticks(from, to, &look.zone, most) {
            let x = frame.x(tick.time);
            self.rule(vec![(x, frame.bottom), (x, frame.bottom + 4.0)], faint);
            for (line, label) in [(1.0, Some(tick.label)), (2.0, tick.day)] {
                let Some(label) = label else { continue };
                // A text at an edge of the picture is moved inside.
                let half = self.font.width(&label, SMALL) / 2.0;
                let x = x.clamp(MARGIN + half, (self.width - 4.0 - half).max(MARGIN + half));
                self.text((x, frame.bottom + 3.0 + 14.0 * line), Anchor::Middle, SMALL, faint, label);
            }
        }
    }

    /// Draws the lines of a panel, the first on top.
    fn lines(&mut self, plot: &Plot<'_>, frame: &Frame) {
        let (mut all_runs, mut all_dots) = (Vec::new(), Vec::new());
        for line in &plot.panel.lines {
            let (mut runs, mut dots): (Vec<Vec<Position>>, Vec<Position>) = Default::default();
            for run in runs_of(&columns(line, frame), plot.longest) {
                let place = |point: &Point| (frame.x(point.time), frame.y(point.value * line.unit.factor));
                match run.as_slice() {
                    [only] => dots.push(place(only)),
                    run => runs.push(run.iter().map(place).collect()),
                }
            }
            all_runs.push(runs);
            all_dots.push(dots);
        }
        let coinciding = coinciding(&all_runs);
        let radii: Vec<Vec<f64>> = (0..all_dots.len()).map(|number| radii(&all_dots, number)).collect();
        let drawn = all_runs.into_iter().zip(all_dots.into_iter().zip(radii));
        for (number, (runs, (dots, radii))) in drawn.enumerate().rev() {
            let (colour, dashes) = self.palette.line(number);
            if !runs.is_empty() {
                let dashes = dashes.to_vec();
                self.shapes.push(Shape::Line { runs, colour, width: STROKE, dashes, offset: 0.0 });
            }
            // A point without neighbours is drawn as a dot.
            for (dot, radius) in dots.into_iter().zip(radii) {
                self.shapes.push(Shape::Dots { positions: vec![dot], colour, radius });
            }
        }
        // Over all lines, and wider, so that the colours of the short dashes can be told apart.
        for Coinciding { line, runs, dashes, offset } in coinciding {
            let (colour, _) = self.palette.line(line);
            self.shapes.push(Shape::Line { runs, colour, width: WIDE, dashes, offset });
        }
    }

    /// Draws stacked lines as areas, the first at the bottom.
    fn areas(&mut self, stack: &[Areas], frame: &Frame) {
        for (number, areas) in stack.iter().enumerate() {
            let (colour, opacity) = self.area(number);
            let around = |run: &Vec<Level>| -> Vec<Position> {
                // The area of a value at an end of the time must not extend beyond the panel.
                let x = |level: &Level| frame.x(level.time).clamp(frame.left, frame.right);
                let above = run.iter().map(|level| (x(level), frame.y(level.above)));
                let below = run.iter().rev().map(|level| (x(level), frame.y(level.below)));
                let mut around: Vec<Position> = above.chain(below).collect();
                around.dedup();
                around
            };
            let runs: Vec<_> = areas.iter().map(around).collect();
            if !runs.is_empty() {
                self.shapes.push(Shape::Area { runs, colour, opacity });
            }
        }
    }

    /// Returns colour and opacity of an area. Opacity replaces the dashes of a line, which an area cannot show.
    fn area(&self, number: usize) -> (Colour, f64) {
        let (colour, dashes) = self.palette.line(number);
        let opacity = crate::theme::DASHES.iter().zip([0.9, 0.6, 0.35]).find(|(known, _)| **known == dashes);
        (colour, opacity.map_or(1.0, |(_, opacity)| opacity))
    }

    /// Draws the legend: name, last value, average, minimum and maximum of each line.
    fn legend(&mut self, plot: &Plot<'_>, left: f64, right: f64) {
        let Palette { text, faint, .. } = self.palette;
        let width = if self.width < NARROW.0 { NARROW.1 } else { COLUMN };
        let column = |number: f64| right - (3.0 - number) * width;
        self.y += ROW - 4.0;
        for (number, head) in [(0.0, "last"), (1.0, "average"), (2.0, "minimum"), (3.0, "maximum")] {
            self.text((column(number), self.y), Anchor::End, SMALL, faint, head.to_owned());
        }
        let room = column(0.0) - width - left - SWATCH - GAP;
        for (number, (line, name)) in plot.panel.lines.iter().zip(&plot.names).enumerate() {
            self.y += ROW;
            self.swatch(number, left, plot.stack.is_some());
            let begin = left + SWATCH + GAP;
            match &line.total {
                Some(total) => {
                    self.fitted((begin, self.y), TEXT, text, name, room);
                    let values = [total.last.value, total.mean, total.least.value, total.greatest.value];
                    for (number, value) in [0.0, 1.0, 2.0, 3.0].into_iter().zip(values) {
                        let value = shown(&line.unit, value);
                        self.text((column(number), self.y), Anchor::End, TEXT, text, value);
                    }
                }
                None => {
                    let why = line.why.as_deref().map(|why| format!("{name}: {why}"));
                    let all = right - begin;
                    self.fitted(
                        (begin, self.y),
                        TEXT,
                        faint,
                        &why.unwrap_or_else(|| format!("{name}: no values")),
                        all,
                    );
                }
            }
        }
        for note in &plot.notes {
            self.y += ROW;
            self.fitted((left, self.y), SMALL, faint, note, right - left);
        }
        self.y += 4.0;
    }

    fn swatch(&mut self, number: usize, left: f64, is_area: bool) {
        let y = self.y - 4.0;
        if is_area {
            let (colour, opacity) = self.area(number);
            let around =
                vec![(left, y - 5.0), (left + SWATCH, y - 5.0), (left + SWATCH, y + 5.0), (left, y + 5.0)];
            self.shapes.push(Shape::Area { runs: vec![around], colour, opacity });
        } else {
            let (colour, dashes) = self.palette.line(number);
            let runs = vec![vec![(left, y), (left + SWATCH, y)]];
            let dashes = dashes.to_vec();
            self.shapes.push(Shape::Line { runs, colour, width: 2.0, dashes, offset: 0.0 });
        }
    }
}

/// Formats a count with separators between thousands.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (left, digit) in (0..digits.len()).rev().zip(digits.chars()) {
        out.push(digit);
        if left > 0 && left % 3 == 0 {
            out.push(',');
        }
    }
    out
}

fn shown(unit: &Unit, value: f64) -> String {
    unit.text(value * unit.factor)
}

/// Rectangle of a panel in which values are drawn, and the ranges that it shows.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    span: (i64, i64),
    least: f64,
    greatest: f64,
}

impl Frame {
    fn x(&self, time: i64) -> f64 {
        let (first, last) = self.span;
        let share = (real(time) - real(first)) / (real(last) - real(first)).max(1.0);
        self.left + share * (self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value - self.least) / (self.greatest - self.least);
        self.bottom - share * (self.bottom - self.top)
    }
}

/// Returns the radius of each dot of a line. A dot that others hide is larger, so that its edge is visible.
fn radii(dots: &[Vec<Position>], line: usize) -> Vec<f64> {
    let is_near = |a: &Position, b: &Position| (a.0 - b.0).abs() < 1.0 && (a.1 - b.1).abs() < 1.0;
    let radius = |dot: &Position| {
        let over = dots.iter().take(line).filter(|dots| dots.iter().any(|other| is_near(other, dot))).count();
        DOT + STROKE * real_count(over)
    };
    dots.get(line).map(|dots| dots.iter().map(radius).collect()).unwrap_or_default()
}

/// Merges adjacent stretches of a line that begin in the same column of pixels.
fn columns(line: &ChartLine, frame: &Frame) -> Vec<Bucket> {
    let column = |stretch: &Bucket| whole(frame.x(stretch.first.time).floor());
    let mut columns: Vec<Bucket> = Vec::new();
    for stretch in &line.stretches {
        match columns.last_mut() {
            Some(last) if last.cell == column(stretch) => last.add(stretch),
            _ => columns.push(Bucket { cell: column(stretch), ..*stretch }),
        }
    }
    columns
}

/// Returns the points of each continuous section of a line, in order.
fn runs_of(columns: &[Bucket], longest: f64) -> Vec<Vec<Point>> {
    let mut runs: Vec<Vec<Point>> = Vec::new();
    let mut last: Option<Point> = None;
    for column in columns {
        let step = last.map_or(0.0, |last| real(column.first.time.saturating_sub(last.time)));
        let points = column.points();
        match runs.last_mut() {
            Some(run) if column.is_joined && step <= longest => run.extend(points),
            _ => runs.push(points),
        }
        last = Some(column.last);
    }
    runs
}
