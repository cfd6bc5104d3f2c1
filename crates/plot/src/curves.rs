//! Drawing of the lines, areas and thresholds of a panel.

use crate::content::Plot;
use crate::equal::{Coinciding, coinciding};
use crate::frame::{Clipped, Frame};
use crate::layout::{Drawing, GAP, SMALL};
use crate::number::real_count;
use crate::picture::{Anchor, Position, STROKE, Shape};
use crate::stack::{Areas, Level};
use crate::theme::Colour;

/// Width in pixels of the dashes of lines that coincide.
const WIDE: f64 = 2.5;
/// Radius in pixels of the dot for a value without neighbours.
const DOT: f64 = 2.0;
/// Width in pixels of a bar at the edge of a panel, and the distance between bars.
const BAR: (f64, f64) = (2.0, 3.0);
/// Maximum number of bars beside each other at the edge of a panel; more bars share their places.
const BARS: usize = 3;

impl Drawing {
    /// Draws the lines of a panel, the first on top.
    pub fn lines(&mut self, plot: &Plot<'_>, frame: &Frame<'_>) {
        let clipped = |line| {
            let mut clipped = Clipped::default();
            let sections = frame.sections(line, plot.longest);
            sections.into_iter().for_each(|section| frame.clip(section, &mut clipped));
            clipped
        };
        let lines: Vec<Clipped> = plot.panel.lines.iter().map(|line| clipped(line)).collect();
        self.bars(&lines, frame);
        let (runs, dots): (Vec<_>, Vec<_>) = lines.into_iter().map(|line| (line.runs, line.dots)).unzip();
        let coinciding = coinciding(&runs);
        let radii: Vec<Vec<f64>> = (0..dots.len()).map(|number| radii(&dots, number)).collect();
        let drawn = runs.into_iter().zip(dots.into_iter().zip(radii));
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

    /// Draws the stacked lines of a panel as areas, the first at the bottom.
    pub fn areas(&mut self, stack: &[Areas], frame: &Frame<'_>) {
        // The area of a value at an end of the time must not extend beyond the panel.
        let x = |level: &Level| frame.x(level.time).clamp(frame.left, frame.right);
        // Every value has a place: stacks have linear axes.
        let y = |value: f64| frame.y(value).unwrap_or(frame.bottom);
        let above = |run: &Vec<Level>| run.iter().map(|level| (x(level), y(level.above))).collect::<Vec<_>>();
        let below = |run: &Vec<Level>| run.iter().map(|level| (x(level), y(level.below))).collect::<Vec<_>>();
        let around = |run: &Vec<Level>| -> Vec<Position> {
            let mut around: Vec<Position> =
                above(run).into_iter().chain(below(run).into_iter().rev()).collect();
            around.dedup();
            frame.clip_area(around)
        };
        let clipped = |areas: &Areas| {
            let (mut upper, mut lower) = (Clipped::default(), Clipped::default());
            for run in areas {
                frame.clip(above(run), &mut upper);
                frame.clip(below(run), &mut lower);
            }
            Clipped { above: upper.above, below: lower.below, ..Clipped::default() }
        };
        self.bars(&stack.iter().map(clipped).collect::<Vec<_>>(), frame);
        for (number, areas) in stack.iter().enumerate() {
            let (colour, opacity) = self.area(number);
            let runs: Vec<_> = areas.iter().map(around).filter(|run| !run.is_empty()).collect();
            if !runs.is_empty() {
                self.shapes.push(Shape::Area { runs, colour, opacity });
            }
        }
    }

    /// Draws bars outside of the edges of a panel, for the times at which lines are beyond the ends of the axis.
    fn bars(&mut self, lines: &[Clipped], frame: &Frame<'_>) {
        let ((width, step), mut counts) = (BAR, [0_usize; 2]);
        for (number, line) in lines.iter().enumerate() {
            let (colour, _) = self.palette.line(number);
            let edges = [(&line.above, frame.top, -1.0), (&line.below, frame.bottom, 1.0)];
            for ((intervals, edge, side), count) in edges.into_iter().zip(&mut counts) {
                if intervals.is_empty() {
                    continue;
                }
                let place = real_count(count.checked_rem(BARS).unwrap_or(0));
                *count = count.saturating_add(1);
                let y = edge + side * (width + step * place);
                // A moment must be visible, too.
                let bar = |(from, to): &(f64, f64)| {
                    vec![((from - 1.5).max(frame.left), y), ((to + 1.5).min(frame.right), y)]
                };
                let runs = intervals.iter().map(bar).collect();
                self.shapes.push(Shape::Line { runs, colour, width, dashes: Vec::new(), offset: 0.0 });
            }
        }
    }

    /// Draws the thresholds of a panel with their labels.
    pub fn thresholds(&mut self, plot: &Plot<'_>, frame: &Frame<'_>) {
        let (text, background) = (self.palette.text, self.palette.background);
        let places = plot.thresholds.iter().filter_map(|limit| Some((frame.y(limit.value)?, limit)));
        let mut places: Vec<_> = places.collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Right edge that is left for labels in each row of texts.
        let mut rooms: Vec<(f64, f64)> = Vec::new();
        for (y, limit) in places {
            let runs = vec![vec![(frame.left, y), (frame.right, y)]];
            let dashes = vec![5.0, 3.0];
            self.shapes.push(Shape::Line { runs, colour: text, width: 1.0, dashes, offset: 0.0 });
            // Above the line, unless that is outside of the panel.
            let base = if y - SMALL - 4.0 < frame.top { y + SMALL + 2.0 } else { y - 4.0 };
            let label = self.font.fitted(&limit.label, SMALL, (frame.right - frame.left) / 2.0);
            let width = self.font.width(&label, SMALL);
            // Labels of lines that are close to each other stand beside each other, as long as there is room.
            let is_close = |room: &&(f64, f64)| (room.0 - base).abs() < SMALL + 2.0;
            let right =
                rooms.iter().filter(is_close).map(|room| room.1).fold(frame.right - GAP / 2.0, f64::min);
            let right = right.max(frame.left + width + GAP);
            rooms.push((base, right - width - 2.0 * GAP));
            let (left, top, bottom) = (right - width - 2.0, base - SMALL + 1.0, base + 2.5);
            let around = vec![(left, top), (right + 2.0, top), (right + 2.0, bottom), (left, bottom)];
            self.shapes.push(Shape::Area { runs: vec![around], colour: background, opacity: 0.75 });
            self.text((right, base), Anchor::End, SMALL, text, label);
        }
    }

    /// Returns the colour and the opacity of the area of a stacked line. Opacity replaces the dashes of a line, which
    /// an area cannot show.
    pub fn area(&self, number: usize) -> (Colour, f64) {
        let (colour, dashes) = self.palette.line(number);
        let opacity = crate::theme::DASHES.iter().zip([0.9, 0.6, 0.35]).find(|(known, _)| **known == dashes);
        (colour, opacity.map_or(1.0, |(_, opacity)| opacity))
    }
}

/// Returns the radius of each dot of a line, which shows a value without neighbours. A dot that others hide is
/// larger, so that its edge is visible.
fn radii(dots: &[Vec<Position>], line: usize) -> Vec<f64> {
    let is_near = |a: &Position, b: &Position| (a.0 - b.0).abs() < 1.0 && (a.1 - b.1).abs() < 1.0;
    let radius = |dot: &Position| {
        let over = dots.iter().take(line).filter(|dots| dots.iter().any(|other| is_near(other, dot))).count();
        DOT + STROKE * real_count(over)
    };
    dots.get(line).map(|dots| dots.iter().map(radius).collect()).unwrap_or_default()
}
