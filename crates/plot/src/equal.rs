//! Lines of a picture with equal values, which would hide each other.

use std::collections::{BTreeMap, HashMap};

use crate::chart::ChartLine;
use crate::number::{real_count, whole};
use crate::picture::Position;

/// Length in pixels of a dash where lines coincide.
const DASH: f64 = 12.0;
/// Largest distance in pixels at which a line hides another one.
const NEAR: f64 = 0.5;

/// Sections in which a line coincides with others, so that one would hide the others. There, the lines are drawn as
/// dashes in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Coinciding {
    /// Number of the coinciding line in its panel.
    pub line: usize,
    pub runs: Vec<Vec<Position>>,
    /// Lengths of a dash and of the space between two dashes; the next field is the position in this pattern at which
    /// a section begins.
    pub dashes: Vec<f64>,
    pub offset: f64,
}

/// Segment of a line, and the numbers of all lines that have this segment too, in ascending order.
struct SharedSegment {
    heights: (f64, f64),
    members: Vec<usize>,
}

/// Segments of all lines of a panel, by their begin and end on the time axis.
type Segments = HashMap<(i64, i64), Vec<SharedSegment>>;

/// Returns the sections in which lines of a panel coincide.
pub fn coinciding(lines: &[Vec<Vec<Position>>]) -> Vec<Coinciding> {
    let mut segments = Segments::new();
    for (number, runs) in lines.iter().enumerate() {
        runs.iter().flat_map(|run| run.windows(2)).for_each(|segment| add(&mut segments, number, segment));
    }
    let mut found: BTreeMap<(usize, usize, usize), Vec<Vec<Position>>> = BTreeMap::new();
    for (number, runs) in lines.iter().enumerate() {
        for run in runs {
            let mut before: &[usize] = &[];
            for segment in run.windows(2) {
                let members = members(&segments, number, segment);
                let place = members.iter().position(|member| *member == number).unwrap_or(0);
                let (true, [from, to]) = (members.len() > 1, segment) else {
                    before = &[];
                    continue;
                };
                let sections = found.entry((number, members.len(), place)).or_default();
                match sections.last_mut() {
                    // All members begin a section where the members change, so that their dashes take turns.
                    Some(section) if before == members => section.push(*to),
                    _ => sections.push(vec![*from, *to]),
                }
                before = members;
            }
        }
    }
    for ((_, count, _), sections) in &mut found {
        // Lines that cross or touch hide nothing, and a narrow section has no room for a dash of each line.
        sections.retain(|section| width(section) >= DASH * real_count(*count));
    }
    found.retain(|_, sections| !sections.is_empty());
    let pattern = |((line, count, place), runs): ((usize, usize, usize), Vec<Vec<Position>>)| Coinciding {
        line,
        runs,
        dashes: vec![DASH, DASH * real_count(count.saturating_sub(1))],
        offset: if place == 0 { 0.0 } else { DASH * real_count(count.saturating_sub(place)) },
    };
    found.into_iter().map(pattern).collect()
}

fn width(section: &[Position]) -> f64 {
    section.first().zip(section.last()).map_or(0.0, |(first, last)| last.0 - first.0)
}

/// Returns the key of a line's segment by its times, in hundredths of a pixel, and its heights.
fn key(segment: &[Position]) -> Option<((i64, i64), (f64, f64))> {
    let [(left, from), (right, to)] = segment else { return None };
    Some(((whole((left * 100.0).round()), whole((right * 100.0).round())), (*from, *to)))
}

fn is_near(a: (f64, f64), b: (f64, f64)) -> bool {
    (a.0 - b.0).abs() <= NEAR && (a.1 - b.1).abs() <= NEAR
}

fn add(segments: &mut Segments, line: usize, segment: &[Position]) {
    let Some((key, heights)) = key(segment) else { return };
    let here = segments.entry(key).or_default();
    match here.iter_mut().find(|shared| is_near(shared.heights, heights)) {
        // In one column of pixels, several segments of a line can have the same key.
        Some(shared) if shared.members.last() == Some(&line) => {}
        Some(shared) => shared.members.push(line),
        None => here.push(SharedSegment { heights, members: vec![line] }),
    }
}

fn members<'a>(segments: &'a Segments, line: usize, segment: &[Position]) -> &'a [usize] {
    let Some((key, heights)) = key(segment) else { return &[] };
    let here = segments.get(&key).map(Vec::as_slice).unwrap_or_default();
    let shared =
        here.iter().find(|shared| is_near(shared.heights, heights) && shared.members.contains(&line));
    shared.map(|shared| shared.members.as_slice()).unwrap_or_default()
}

/// Returns groups of lines that are equal in every sample, as the lines' numbers.
pub fn equal_lines(lines: &[&ChartLine]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(&ChartLine, Vec<usize>)> = Vec::new();
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| line.total.is_some()) {
        match groups.iter_mut().find(|(first, _)| first.digest == line.digest) {
            Some((_, members)) => members.push(number),
            None => groups.push((line, vec![number])),
        }
    }
    groups.into_iter().map(|(_, members)| members).filter(|members| members.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sections in which lines coincide: line, begin and end, number of lines. The lines are given by
    /// their heights, 100 pixels apart.
    fn sections(lines: &[&[f64]]) -> Vec<(usize, f64, f64, f64)> {
        let run = |line: &&[f64]| {
            vec![line.iter().enumerate().map(|(x, y)| (real_count(x) * 100.0, *y)).collect::<Vec<_>>()]
        };
        let found = coinciding(&lines.iter().map(run).collect::<Vec<_>>());
        let section = |found: &Coinciding, run: &Vec<Position>| {
            (found.line, run[0].0, run[run.len() - 1].0, found.dashes[1] / DASH + 1.0)
        };
        found.iter().flat_map(|found| found.runs.iter().map(|run| section(found, run))).collect()
    }

    #[test]
    fn sections_where_lines_coincide() {
        let line = [5.0, 6.0, 7.0, 7.0, 5.0];
        let whole = [(0, 0.0, 400.0, 2.0), (1, 0.0, 400.0, 2.0)];
        for (what, lines, want) in [
            ("one line", &[&line[..]][..], &[][..]),
            ("equal", &[&line, &line], &whole),
            ("as good as equal", &[&line, &[5.2, 5.8, 7.0, 6.9, 5.0]], &whole),
            ("different", &[&line, &[5.0, 8.0, 7.0, 9.0, 5.0]], &[]),
            (
                "in the middle",
                &[&line, &[1.0, 6.0, 7.0, 7.0, 9.0]],
                &[(0, 100.0, 300.0, 2.0), (1, 100.0, 300.0, 2.0)],
            ),
            (
                "three, then two",
                &[&line, &line, &[5.0, 6.0, 7.0, 9.0, 9.0]],
                &[
                    (0, 200.0, 400.0, 2.0),
                    (0, 0.0, 200.0, 3.0),
                    (1, 200.0, 400.0, 2.0),
                    (1, 0.0, 200.0, 3.0),
                    (2, 0.0, 200.0, 3.0),
                ],
            ),
        ] {
            assert_eq!(sections(lines), want, "{what}");
        }
    }

    /// Checks that exactly one line has a dash at each place of a section in which lines coincide.
    #[test]
    fn dashes_take_turns() {
        for count in 2..6 {
            let lines = vec![vec![vec![(0.0, 0.0), (1_000.0, 0.0)]]; count];
            let found = coinciding(&lines);
            for step in 0..50 {
                let at = f64::from(step) * 7.0;
                let has_dash = |line: &&Coinciding| {
                    (at + line.offset) % line.dashes.iter().sum::<f64>() < line.dashes[0]
                };
                assert_eq!(found.iter().filter(has_dash).count(), 1, "{count} lines at {at}");
            }
        }
    }
}
