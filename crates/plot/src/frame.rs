//! Rectangle of a panel in which values are drawn: positions of values, and parts of lines inside.

use crate::axis::Axis;
use crate::bucket::{Bucket, Point};
use crate::chart::ChartLine;
use crate::number::{real, whole};
use crate::picture::Position;

/// Rectangle of a panel in which values are drawn, and the ranges of time and values that it shows.
pub struct Frame<'a> {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    pub span: (i64, i64),
    pub axis: &'a Axis,
}

/// Parts of a line inside of a panel's frame, and the intervals of x in which the line is above or below.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clipped {
    pub runs: Vec<Vec<Position>>,
    pub dots: Vec<Position>,
    pub above: Vec<(f64, f64)>,
    pub below: Vec<(f64, f64)>,
}

/// Vertical position relative to a panel's frame.
#[derive(Clone, Copy, PartialEq)]
enum FrameZone {
    Above,
    Inside,
    Below,
}

impl Frame<'_> {
    pub fn x(&self, time: i64) -> f64 {
        let (first, last) = self.span;
        let share = (real(time) - real(first)) / (real(last) - real(first)).max(1.0);
        self.left + share * (self.right - self.left)
    }

    /// Returns the vertical position of a value, which may be outside of the frame; `None` if the axis has none for
    /// it.
    pub fn y(&self, value: f64) -> Option<f64> {
        // Farther outside, only the direction counts; the limit keeps differences of places exact.
        const FAR: f64 = 1e6;
        let share = self.axis.share(value)?.clamp(-FAR, FAR);
        Some(self.bottom - share * (self.bottom - self.top))
    }

    /// Returns the zone of a vertical position: above, inside or below the frame. A place at the edge is inside,
    /// whatever the rounding.
    fn zone(&self, y: f64) -> FrameZone {
        const ROUNDING: f64 = 1e-6;
        match y {
            _ if y < self.top - ROUNDING => FrameZone::Above,
            _ if y > self.bottom + ROUNDING => FrameZone::Below,
            _ => FrameZone::Inside,
        }
    }

    /// Adds a continuous section of a line: its parts inside of the frame, and the intervals in which it is outside.
    pub fn clip(&self, section: Vec<Position>, into: &mut Clipped) {
        if let [(x, y)] = section.as_slice() {
            match self.zone(*y) {
                FrameZone::Inside => into.dots.push((*x, *y)),
                FrameZone::Above => extend(&mut into.above, (*x, *x)),
                FrameZone::Below => extend(&mut into.below, (*x, *x)),
            }
            return;
        }
        if section.iter().all(|(_, y)| self.zone(*y) == FrameZone::Inside) {
            into.runs.push(section);
            return;
        }
        // Sections that begin here must not be joined to those of the line before.
        let mut run: Vec<Position> = Vec::new();
        for (from, to) in section.iter().zip(section.iter().skip(1)) {
            for (begin, end, zone) in self.parts(*from, *to) {
                match zone {
                    FrameZone::Above => extend(&mut into.above, (begin.0, end.0)),
                    FrameZone::Below => extend(&mut into.below, (begin.0, end.0)),
                    FrameZone::Inside if run.last() == Some(&begin) => run.push(end),
                    FrameZone::Inside => {
                        into.runs.extend(Some(std::mem::replace(&mut run, vec![begin, end])));
                    }
                }
            }
        }
        into.runs.push(run);
        into.runs.retain(|run| !run.is_empty());
    }

    /// Divides a line's segment at the upper and lower edges of the frame.
    fn parts(&self, from: Position, to: Position) -> Vec<(Position, Position, FrameZone)> {
        let crossing = |edge: f64| (edge - from.1) / (to.1 - from.1);
        let is_between = |share: &f64| *share > 0.0 && *share < 1.0;
        let mut shares: Vec<f64> =
            [self.top, self.bottom].map(crossing).into_iter().filter(is_between).collect();
        shares.sort_by(f64::total_cmp);
        let within = |share: f64| {
            let y = from.1 + share * (to.1 - from.1);
            (from.0 + share * (to.0 - from.0), y.clamp(self.top, self.bottom))
        };
        let places = [from].into_iter().chain(shares.into_iter().map(within)).chain([to]);
        let places: Vec<Position> = places.collect();
        let part = |(a, b): (&Position, &Position)| (*a, *b, self.zone(f64::midpoint(a.1, b.1)));
        places.iter().zip(places.iter().skip(1)).map(part).collect()
    }

    /// Returns the part of a polygon inside of the frame, after Sutherland and Hodgman.
    pub fn clip_area(&self, around: Vec<Position>) -> Vec<Position> {
        if around.iter().all(|(_, y)| self.zone(*y) == FrameZone::Inside) {
            return around;
        }
        let below_top = cut(&around, self.top, |y| y >= self.top);
        cut(&below_top, self.bottom, |y| y <= self.bottom)
    }

    /// Returns the continuous sections of a line as positions in the frame. A value without a place on the axis is a
    /// gap.
    pub fn sections(&self, line: &ChartLine, longest: f64) -> Vec<Vec<Position>> {
        let place = |point: &Point| Some((self.x(point.time), self.y(point.value * line.unit.factor)?));
        let mut sections = Vec::new();
        for run in runs_of(&columns(line, self), longest) {
            let places: Vec<Option<Position>> = run.iter().map(place).collect();
            let pieces = places.split(Option::is_none).filter(|piece| !piece.is_empty());
            sections.extend(pieces.map(|piece| piece.iter().copied().flatten().collect::<Vec<_>>()));
        }
        sections
    }
}

/// Adds an interval of x coordinates to a list; the interval may continue the last one.
fn extend(intervals: &mut Vec<(f64, f64)>, (from, to): (f64, f64)) {
    match intervals.last_mut() {
        Some(last) if from <= last.1 => last.1 = last.1.max(to),
        _ => intervals.push((from, to)),
    }
}

/// Returns the part of a polygon on one side of a frame's horizontal edge.
fn cut(around: &[Position], edge: f64, is_inside: impl Fn(f64) -> bool) -> Vec<Position> {
    let mut part = Vec::with_capacity(around.len());
    let before = around.last().into_iter().chain(around);
    for (from, to) in before.zip(around) {
        if is_inside(from.1) != is_inside(to.1) {
            let share = (edge - from.1) / (to.1 - from.1);
            part.push((from.0 + share * (to.0 - from.0), edge));
        }
        if is_inside(to.1) {
            part.push(*to);
        }
    }
    part
}

/// Merges adjacent buckets, which summarize the values of a line, if they begin in the same column of pixels.
fn columns(line: &ChartLine, frame: &Frame<'_>) -> Vec<Bucket> {
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

/// Returns the points of each continuous section of a line, in order of time.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::AxisEnds;
    use crate::unit::Unit;

    /// Returns the axis of a test frame of 100 by 100 pixels, for values from 0 to 10.
    fn axis() -> Axis {
        Axis::linear(&Unit::from_ucum(""), (0.0, 10.0), AxisEnds::default(), 5)
    }

    fn clipped(values: &[f64]) -> Clipped {
        let frame = Frame { left: 0.0, right: 100.0, top: 0.0, bottom: 100.0, span: (0, 100), axis: &axis() };
        let places = values.iter().enumerate();
        let places =
            places.map(|(at, value)| (real(i64::try_from(at).unwrap()) * 10.0, frame.y(*value).unwrap()));
        let mut clipped = Clipped::default();
        frame.clip(places.collect(), &mut clipped);
        clipped
    }

    #[test]
    fn lines_end_at_the_edges() {
        type Case<'a> = (&'a [f64], &'a [&'a [Position]], &'a [(f64, f64)], &'a [(f64, f64)]);
        let cases: [Case<'_>; 7] = [
            (&[0.0, 10.0], &[&[(0.0, 100.0), (10.0, 0.0)]], &[], &[]),
            (&[5.0, 15.0], &[&[(0.0, 50.0), (5.0, 0.0)]], &[(5.0, 10.0)], &[]),
            (
                &[5.0, 15.0, 5.0],
                &[&[(0.0, 50.0), (5.0, 0.0)], &[(15.0, 0.0), (20.0, 50.0)]],
                &[(5.0, 15.0)],
                &[],
            ),
            (&[20.0, 30.0], &[], &[(0.0, 10.0)], &[]),
            (&[-5.0, 15.0], &[&[(2.5, 100.0), (7.5, 0.0)]], &[(7.5, 10.0)], &[(0.0, 2.5)]),
            (&[30.0], &[], &[(0.0, 0.0)], &[]),
            (&[-1.0, -1.0, -1.0], &[], &[], &[(0.0, 20.0)]),
        ];
        for (values, runs, above, below) in cases {
            let found = clipped(values);
            assert_eq!(found.runs, runs, "{values:?}");
            assert_eq!((found.above.as_slice(), found.below.as_slice()), (above, below), "{values:?}");
        }
        assert_eq!(clipped(&[5.0]).dots, [(0.0, 50.0)]);
    }

    #[test]
    fn areas_end_at_the_edges() {
        let frame = Frame { left: 0.0, right: 100.0, top: 0.0, bottom: 100.0, span: (0, 100), axis: &axis() };
        let inside = vec![(0.0, 0.0), (10.0, 0.0), (10.0, 100.0)];
        assert_eq!(frame.clip_area(inside.clone()), inside);
        let triangle = vec![(0.0, 100.0), (10.0, -100.0), (20.0, 100.0)];
        assert_eq!(frame.clip_area(triangle), [(0.0, 100.0), (5.0, 0.0), (15.0, 0.0), (20.0, 100.0)]);
        assert_eq!(frame.clip_area(vec![(0.0, -1.0), (1.0, -5.0), (2.0, -3.0)]), []);
    }
}
