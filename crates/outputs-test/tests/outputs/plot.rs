//! Check of the output of `perfset plot`: coordinates of each point of each line, and the numbers of the legend.

use std::collections::BTreeMap;
use std::sync::Arc;

use perfset_cli::plot::draw;
use perfset_plot::PictureOptions;

use crate::check::{Check, Due, Found, Number, Tally};
use crate::get::samples_of;
use crate::world::{Event, Want, World};

pub fn check(world: &Arc<World>) -> Result<Tally, String> {
    let mut tally = Tally::default();
    for set in 0..world.sets.len() {
        // One counter a picture: numbers of others would make its own small.
        let columns: Vec<_> =
            world.sets[set].at(0).filter(|(_, column)| !column.kind.is_base()).map(|(at, _)| at).collect();
        tally.add(&picture(world, set, columns[world.seed as usize / 3 % columns.len()])?);
    }
    Ok(tally)
}

/// Checks a picture of one counter of all instances.
fn picture(world: &Arc<World>, set: usize, column: usize) -> Result<Tally, String> {
    let (about, counter) = (&world.sets[set], &world.sets[set].columns[column]);
    let instances = if about.is_single { "" } else { "(*)" };
    let path = format!("\\{}{instances}\\{}", about.name, counter.name).parse().expect("a path");
    let first = usize::from(counter.kind.needs_two());
    let mut samples = samples_of(world, vec![path], first);
    let look = PictureOptions { width: 4_000, height: Some(4_000), ..PictureOptions::default() };
    let picture = match draw(&mut samples, 1, &look) {
        Ok(drawn) => drawn.picture,
        Err(failure) => panic!("seed {}: {:#}", world.seed, failure.error),
    };
    let mut check = Check::new(world, "plot");
    let lines = expect(world, set, column, first, &mut check);
    if lines == 0 {
        return check.finish(); // it says that there are no values
    }
    let svg = picture.svg();
    let panel = Panel::read(&svg, world, first);
    assert_eq!(panel.names.len(), lines, "seed {}: lines of the legend", world.seed);
    for (name, points) in panel.names.iter().zip(&panel.points) {
        for run in points {
            for (x, y) in run {
                let step = panel.step(*x);
                check.found((step, name.clone()), Found::number(Some(panel.number(*y))));
            }
            // A line goes over no sample in which there is nothing.
            let steps: Vec<_> = run.iter().map(|(x, _)| panel.step(*x)).collect();
            if steps.windows(2).any(|pair| pair[1] != pair[0] + 1) {
                return Err(format!("plot: seed {}: {name} has a line over {steps:?}", world.seed));
            }
        }
    }
    for (name, numbers) in panel.names.iter().zip(&panel.numbers) {
        for (what, number) in ["last", "average", "minimum", "maximum"].into_iter().zip(numbers) {
            check.found((usize::MAX, format!("{what} of {name}")), Found::number(Some(*number)));
        }
    }
    check.finish()
}

/// Expects the points and the legend of a picture in the output. Returns the number of lines.
fn expect(world: &World, set: usize, column: usize, first: usize, check: &mut Check<'_>) -> usize {
    let due = |value: f64, events: &[Event]| Due {
        want: Want { value: Ok(value), raw: None, base: None, mark: None },
        id: None,
        birth: 0,
        has_base: false,
        base: None,
        events: events.to_vec(),
    };
    let mut lines: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for step in first..world.steps.len() {
        check.events_of_set(step, set);
        for (at, row) in world.rows(step, set).unwrap_or_default().iter().enumerate() {
            let seen = world.events(step, set, at, column);
            let Ok(value) = world.want(step, step.checked_sub(1), set, at, column).value else {
                // That there is no point is checked, too: were there one, it would be one too many.
                check.seen(&seen);
                continue;
            };
            let name = match (row.name, row.occurrence) {
                ("", _) => world.sets[set].columns[column].name.to_owned(),
                (name, 0) => name.to_owned(),
                (name, number) => format!("{name}#{number}"),
            };
            check.must((step, name.clone()), due(value, &seen));
            lines.entry(name).or_default().push(value);
        }
    }
    for (name, values) in &lines {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let last = *values.last().expect("there is one");
        for (what, value) in [("last", last), ("average", mean), ("minimum", least), ("maximum", greatest)] {
            check.must((usize::MAX, format!("{what} of {name}")), due(value, &[]));
        }
    }
    lines.len()
}

type Place = (f64, f64);

/// Single panel of a checked picture: its axes, legend and lines.
struct Panel {
    /// Step and x coordinate of each sample in the picture.
    xs: Vec<(usize, f64)>,
    /// Two ticks of the picture's y axis: coordinate and number.
    ticks: [(f64, f64); 2],
    /// Name of each line in the picture's legend. `numbers` has its numbers there, and `points` its points, run by
    /// run.
    names: Vec<String>,
    numbers: Vec<Vec<Number>>,
    points: Vec<Vec<Vec<Place>>>,
}

/// Shape in a picture, parsed from SVG.
#[derive(Clone, Debug)]
enum Shape {
    /// Line of the picture with its width, its colour and dashes, and its runs of points.
    Line {
        width: String,
        look: (String, String),
        runs: Vec<Vec<Place>>,
    },
    Dot {
        colour: String,
        position: Place,
    },
    Text(String),
}

impl Panel {
    fn read(svg: &str, world: &World, first: usize) -> Self {
        let shapes: Vec<Shape> = svg.lines().filter_map(shape).collect();
        // Rules from left to right have their number behind them.
        let mut ticks = Vec::new();
        let (mut left, mut right) = (0.0, 0.0);
        let mut looks = Vec::new();
        let (mut names, mut numbers): (Vec<String>, Vec<Vec<Number>>) = (Vec::new(), Vec::new());
        for (at, one) in shapes.iter().enumerate() {
            let Shape::Line { width, look, runs } = one else { continue };
            let text = |at: usize| match shapes.get(at) {
                Some(Shape::Text(text)) => text.as_str(),
                other => panic!("seed {}: {other:?} is no text", world.seed),
            };
            match (width.as_str(), runs.as_slice()) {
                ("1", [run]) if run[0].1 == run[1].1 => {
                    (left, right) = (run[0].0, run[1].0);
                    ticks.push((run[0].1, shown(text(at + 1)).value));
                }
                ("2", _) => {
                    looks.push(look.clone());
                    names.push(text(at + 1).to_owned());
                    numbers.push((at + 2..at + 6).map(|at| shown(text(at))).collect());
                }
                _ => {}
            }
        }
        let (begin, end) = (world.ms(first), world.ms(world.steps.len() - 1));
        // One sample alone is in the middle of a second.
        let x = |ms: i64| match begin == end {
            true => (left + right) / 2.0,
            false => left + (ms - begin) as f64 / (end - begin) as f64 * (right - left),
        };
        let xs = (first..world.steps.len()).map(|step| (step, x(world.ms(step)))).collect();
        let ticks = [ticks[0], ticks[ticks.len() - 1]];
        // The last line is drawn first: its runs, and then its points that have no neighbour.
        let mut drawn = shapes.iter().peekable();
        let mut points = vec![Vec::new(); names.len()];
        for number in (0..names.len()).rev() {
            let is_begin = |one: &&&Shape| match one {
                Shape::Line { width, .. } => width == "1.5",
                Shape::Dot { .. } => true,
                Shape::Text(_) => false,
            };
            while drawn.peek().is_some_and(|one| !is_begin(&one)) {
                drawn.next();
            }
            if let Some(Shape::Line { runs, .. }) =
                drawn.next_if(|one| matches!(one, Shape::Line { look, .. } if *look == looks[number]))
            {
                points[number].extend(runs.iter().cloned());
            }
            while let Some(Shape::Dot { position, .. }) =
                drawn.next_if(|one| matches!(one, Shape::Dot { colour, .. } if *colour == looks[number].0))
            {
                points[number].push(vec![*position]);
            }
        }
        let left_over = drawn.any(|one| matches!(one, Shape::Dot { .. }));
        assert!(!left_over, "seed {}: points of no line", world.seed);
        Self { xs, ticks, names, numbers, points }
    }

    fn step(&self, x: f64) -> usize {
        let found = self.xs.iter().find(|(_, at)| (at - x).abs() < 0.011);
        found.unwrap_or_else(|| panic!("no step is at {x}: {:?}", self.xs)).0
    }

    fn number(&self, y: f64) -> Number {
        let [(from, low), (to, high)] = self.ticks;
        let a_pixel = (high - low) / (to - from);
        Number { value: low + (y - from) * a_pixel, within: (a_pixel * 0.021).abs() + 1e-12 }
    }
}

/// Parses a number shown in a picture, such as `735M`, `12.0` or `1.00e9`.
fn shown(text: &str) -> Number {
    const SIZES: [(char, f64); 6] =
        [('k', 1e3), ('M', 1e6), ('G', 1e9), ('T', 1e12), ('P', 1e15), ('E', 1e18)];
    let size = SIZES.iter().find(|(letter, _)| text.ends_with(*letter));
    let (digits, one) = size.map_or((text, 1.0), |(letter, one)| (text.trim_end_matches(*letter), *one));
    let (digits, one) = match digits.split_once('e') {
        Some((digits, power)) => {
            let power: i32 = power.replace('\u{2212}', "-").parse().expect("a power");
            (digits, 10_f64.powi(power))
        }
        None => (digits, one),
    };
    let number = Number::shown(digits).unwrap_or_else(|| panic!("\"{text}\" is no number"));
    Number { value: number.value * one, within: number.within * one }
}

/// Returns the value of an attribute of an SVG element.
fn attribute<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    line.split_once(&format!(" {name}=\""))?.1.split('"').next()
}

fn shape(line: &str) -> Option<Shape> {
    let number = |name: &str| attribute(line, name).and_then(|text| text.parse::<f64>().ok());
    let text = |name: &str| attribute(line, name).unwrap_or_default().to_owned();
    if line.starts_with("<path") {
        let place = |text: &str| {
            let (x, y) = text.split_once(' ').expect("a place");
            (x.parse().expect("a number"), y.parse().expect("a number"))
        };
        let runs = attribute(line, "d")?.split('M').skip(1);
        return Some(Shape::Line {
            width: text("stroke-width"),
            look: (text("stroke"), text("stroke-dasharray")),
            runs: runs.map(|run| run.split('L').map(place).collect()).collect(),
        });
    }
    if line.starts_with("<circle") {
        return Some(Shape::Dot { colour: text("fill"), position: (number("cx")?, number("cy")?) });
    }
    let content = line.strip_prefix("<text")?.split_once('>')?.1.strip_suffix("</text>")?;
    let content =
        content.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    Some(Shape::Text(content))
}
