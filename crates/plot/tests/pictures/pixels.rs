//! Tests of the pixels of pictures: values that a reader must see, whatever the shapes are.

use perfset_plot::{Chart, Label, PictureOptions, Theme};
use tiny_skia::Pixmap;

use super::{BUSY, SECOND, TEN, chart, some};

/// Pixels of a picture, decoded from its PNG.
pub struct Pixels(Pixmap);

impl Pixels {
    pub fn of(chart: &Chart, look: &PictureOptions) -> Self {
        Self::from_png(&chart.draw(look).png().unwrap())
    }

    pub fn from_png(bytes: &[u8]) -> Self {
        Self(Pixmap::decode_png(bytes).unwrap())
    }

    /// Returns the number of pixels in a rectangle of a picture whose colour satisfies a condition.
    fn matching(&self, x: (f64, f64), y: (f64, f64), is_wanted: impl Fn([u8; 3]) -> bool) -> usize {
        let pixel = |x, y| self.0.pixel(x, y).unwrap();
        let rows = y.0 as u32..(y.1 as u32).min(self.0.height());
        let all = rows.flat_map(|row| (x.0 as u32..x.1 as u32).map(move |column| pixel(column, row)));
        all.filter(|pixel| is_wanted([pixel.red(), pixel.green(), pixel.blue()])).count()
    }

    /// Returns the number of pixels of about this colour in a rectangle of a picture.
    pub fn count(&self, colour: u32, x: (f64, f64), y: (f64, f64)) -> usize {
        self.matching(x, y, |found| distance(found, colour) < 68)
    }

    /// Returns the number of pixels in a rectangle of a picture that are most similar to each of these colours.
    fn shares<const N: usize>(&self, colours: [u32; N], x: (f64, f64), y: (f64, f64)) -> [usize; N] {
        let nearest = |found| colours.into_iter().min_by_key(|colour| distance(found, *colour));
        colours.map(|colour| self.matching(x, y, |found| nearest(found) == Some(colour)))
    }
}

/// Returns the greatest difference between two colours in red, green or blue.
fn distance(found: [u8; 3], colour: u32) -> u8 {
    let [_, rest @ ..] = colour.to_be_bytes();
    found.iter().zip(rest).map(|(a, b)| a.abs_diff(b)).max().unwrap()
}

/// Colours of the first two lines on white: as lines, and as areas of an opacity of 0.9.
pub const LINES: [u32; 2] = [0x0072B2, 0xD55E00];
const AREAS: [u32; 2] = [0x1980BA, 0xD96E19];

/// Left and right edge of the panel in a picture of 1,000 pixels with two digits at its axis.
const EDGES: (f64, f64) = (52.0, 980.0);

pub fn x(second: f64, of: f64) -> f64 {
    EDGES.0 + second / of * (EDGES.1 - EDGES.0)
}

/// Checks that nine seconds without a value are empty in a picture, if the sampling paused or only one line has no
/// values.
#[test]
fn nine_seconds_without_values_are_empty() {
    let mut values = some(&[40.0; 61]);
    values[26..34].fill(None);
    let mut paused = Chart::new(1_000);
    let line = paused.line(&BUSY).unwrap();
    for second in (0..=25).chain(34..=60) {
        paused.sample(TEN + second * SECOND);
        paused.value(line, 40.0);
    }
    for (what, chart) in [("no values", chart(&[(BUSY, &values)])), ("no samples", paused)] {
        for (is_stack, colour) in [(false, LINES[0]), (true, AREAS[0])] {
            let look = PictureOptions { is_stack, ..PictureOptions::default() };
            let pixels = Pixels::of(&chart, &look);
            let count = |from: f64, to: f64| {
                pixels.count(colour, (x(from, 60.0) + 2.0, x(to, 60.0) - 2.0), (60.0, 380.0))
            };
            assert_eq!(count(25.0, 34.0), 0, "{what} {is_stack}");
            assert!(count(0.0, 25.0) > 100 && count(34.0, 60.0) > 100, "{what} {is_stack}");
        }
    }
}

/// Checks that the area above a stacked line that begins late neither rises slowly nor leaves a wedge of background.
#[test]
fn a_late_line_begins_without_a_wedge() {
    let mut late = some(&[30.0; 11]);
    late[..5].fill(None);
    let second = Label { instance: "0,1", ..BUSY };
    let steady = some(&[30.0; 11]);
    let look = PictureOptions { is_stack: true, ..PictureOptions::default() };
    for (what, lines, late, steady) in [
        ("above", [(BUSY, steady.as_slice()), (second, &late)], AREAS[1], AREAS[0]),
        ("below", [(BUSY, late.as_slice()), (second, &steady)], AREAS[0], AREAS[1]),
    ] {
        let pixels = Pixels::of(&chart(&lines), &look);
        let whole = (60.0, 380.0);
        let before = (x(4.0, 10.0) + 1.0, x(5.0, 10.0) - 1.0);
        assert_eq!(pixels.count(late, before, whole), 0, "{what}: nothing of the late one");
        // Values of 30 of an axis to 60, in a panel of 300 pixels.
        let width = (before.1 as u32 - before.0 as u32) as usize;
        // The lower half is full and the upper one empty: nothing rises before the late line is there.
        let of_steady =
            [pixels.count(steady, before, (60.0, 226.0)), pixels.count(steady, before, (226.0, 380.0))];
        let is_right = of_steady[0] == 0 && of_steady[1].abs_diff(width * 150) < width * 4;
        assert!(is_right, "{what}: {of_steady:?} of {}", width * 150);
        let after = (x(5.0, 10.0) + 1.0, x(6.0, 10.0) - 1.0);
        let areas = [pixels.count(late, after, whole), pixels.count(steady, after, whole)];
        assert!(areas.iter().all(|found| found.abs_diff(width * 150) < width * 4), "{what}: {areas:?}");
    }
}

/// Checks that a single value of a stacked line is drawn with its height, also below other lines.
#[test]
fn a_single_value_in_a_stack_is_seen() {
    let mut single = vec![None; 11];
    single[5] = Some(40.0);
    let second = Label { instance: "0,1", ..BUSY };
    let look = PictureOptions { is_stack: true, theme: Theme::Dark, ..PictureOptions::default() };
    let pixels = Pixels::of(&chart(&[(BUSY, &single), (second, &some(&[20.0; 11]))]), &look);
    let at = (x(5.0, 10.0) - 2.0, x(5.0, 10.0) + 3.0);
    let above = pixels.count(0xD19100, at, (60.0, 380.0));
    assert!(above >= 500, "the line above covers no part of it: {above}");
    let found = pixels.count(0x4DA4D4, at, (60.0, 380.0));
    assert!(found >= 150, "{found}");
}

/// Checks that lines of a picture that coincide are all visible: alone where they differ, as dashes in turn where
/// they are equal.
#[test]
fn equal_lines_are_all_seen() {
    let second = Label { instance: "0,1", ..BUSY };
    let third = Label { instance: "0,2", ..BUSY };
    let same = some(&[40.0; 11]);
    let mut half = some(&[40.0; 11]);
    half[6..].fill(Some(10.0));
    let lines = [(BUSY, same.as_slice()), (second, &same), (third, &half)];
    let pixels = Pixels::of(&chart(&lines), &PictureOptions::default());
    let seen = |from: f64, to: f64| {
        let colours = [LINES[0], LINES[1], 0x008F6B, 0xFFFFFF];
        let [first, second, third, _] =
            pixels.shares(colours, (x(from, 10.0) + 4.0, x(to, 10.0) - 4.0), (72.0, 82.0));
        [first, second, third]
    };
    let shares = seen(0.0, 5.0);
    assert!(shares.iter().all(|found| found.abs_diff(shares[0]) < 60 && *found > 150), "{shares:?}");
    let shares = seen(6.0, 10.0);
    assert!(shares[0].abs_diff(shares[1]) < 60 && shares[0] > 150 && shares[2] == 0, "{shares:?}");
    let svg = chart(&lines).draw(&PictureOptions::default()).svg();
    assert!(svg.contains(">equal in every sample, drawn as dashes in turn: 0,0, 0,1<"), "{svg}");
    let stacked = PictureOptions { is_stack: true, ..PictureOptions::default() };
    assert!(!chart(&lines).draw(&stacked).svg().contains("equal"), "areas hide nothing");
}

/// Checks that single values of several lines that coincide are drawn as rings around each other.
#[test]
fn equal_dots_are_all_seen() {
    let second = Label { instance: "0,1", ..BUSY };
    let single = [None, Some(5.0), None];
    let pixels = Pixels::of(&chart(&[(BUSY, &single), (second, &single)]), &PictureOptions::default());
    let around = (x(1.0, 2.0) - 20.0, x(1.0, 2.0) + 20.0);
    let seen = LINES.map(|colour| pixels.count(colour, around, (60.0, 100.0)));
    assert!(seen.iter().all(|pixels| *pixels >= 6), "{seen:?}");
}
