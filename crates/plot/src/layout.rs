//! Layout of a picture: positions of panels, axes, lines and texts.

use crate::chart::Chart;
use crate::choices::choices;
use crate::content::Plot;
use crate::font::Font;
use crate::frame::Frame;
use crate::number::{real_count, whole};
use crate::options::PictureOptions;
use crate::panels::panels;
use crate::picture::{Anchor, Picture, Position, Shape};
use crate::theme::{Colour, Palette};
use crate::time;
use crate::unit::Unit;

/// Margin of a picture in pixels, at each side and between elements.
const MARGIN: f64 = 20.0;
pub const GAP: f64 = 8.0;
/// Font size of the title in pixels; the next constants are those of other texts.
const TITLE: f64 = 18.0;
const HEAD: f64 = 13.0;
const TEXT: f64 = 12.0;
pub const SMALL: f64 = 11.0;
/// Height of a line of the legend in pixels.
const ROW: f64 = 18.0;
/// Width of a column of numbers in the legend, in pixels. The next constants are the picture width below which
/// columns are narrower with their narrower width, and the width of a line's colour sample.
const COLUMN: f64 = 86.0;
const NARROW: (f64, f64) = (700.0, 68.0);
const SWATCH: f64 = 22.0;
/// Height in pixels of the time labels below a panel: one line for the time of day, one for the day.
const TIMES: f64 = 34.0;
/// Height in pixels of a picture's only panel, if the user requests none. The next constants are the height of one of
/// several panels, and the minimum.
const ALONE: f64 = 300.0;
const AMONG: f64 = 180.0;
const LEAST: f64 = 60.0;

impl Chart {
    /// Lays out a picture of the samples that the chart has received so far.
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
        let (choices, _) = choices(look, &panels.iter().map(|panel| &panel.unit).collect::<Vec<_>>());
        let mut plots: Vec<Plot<'_>> = panels
            .into_iter()
            .zip(choices)
            .map(|(panel, choices)| Plot::new(self, panel, look, choices))
            .collect();
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

/// Picture that is being drawn, from top to bottom.
pub struct Drawing {
    pub font: Font,
    pub palette: Palette,
    width: f64,
    y: f64,
    pub shapes: Vec<Shape>,
}

impl Drawing {
    pub fn text(&mut self, position: Position, anchor: Anchor, size: f64, colour: Colour, text: String) {
        if !text.is_empty() {
            self.shapes.push(Shape::Text { position, anchor, size, colour, room: f64::INFINITY, text });
        }
    }

    /// Draws a text that is shortened to the available width. The writer of a file shortens it, because letters of
    /// other fonts have other widths.
    fn fitted(&mut self, position: Position, size: f64, colour: Colour, text: &str, room: f64) {
        let text = text.to_owned();
        self.shapes.push(Shape::Text { position, anchor: Anchor::Begin, size, colour, room, text });
    }

    /// Draws the title of a picture, and below it the host, the times and the number of samples.
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

    /// Draws the note that stands in place of panels in a picture without panels.
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
        let frame = Frame { left, right, top, bottom: top + plot.height, span: plot.span, axis: &plot.axis };
        for (at, label) in &plot.axis.ticks {
            let Some(y) = frame.y(*at) else { continue };
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
        self.thresholds(plot, &frame);
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
    fn times(&mut self, frame: &Frame<'_>, look: &PictureOptions, faint: Colour) {
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

    /// Draws the legend of a panel: name, last value, average, minimum and maximum of each line.
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

/// Formats the count of a picture's samples with separators between thousands.
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
