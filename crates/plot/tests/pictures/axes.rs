//! Tests of scales and ends of value axes, and of thresholds.

use perfset_plot::{Chart, Label, PictureOptions, Threshold, ValueScale};

use super::pixels::{LINES, Pixels, x};
use super::{BLUE, BUSY, RED, SECOND, TEN, chart, runs, some};

fn log() -> PictureOptions {
    PictureOptions { scale: ValueScale::Log, ..PictureOptions::default() }
}

fn between(min: &str, max: &str) -> PictureOptions {
    let end = |text: &str| text.parse().ok().into_iter().collect();
    PictureOptions { min: end(min), max: end(max), ..PictureOptions::default() }
}

fn with_thresholds(texts: &[&str]) -> PictureOptions {
    let thresholds = texts.iter().map(|text| text.parse::<Threshold>().unwrap()).collect();
    PictureOptions { thresholds, ..PictureOptions::default() }
}

/// Checks that equal ratios of values have equal distances on a logarithmic axis.
#[test]
fn logarithmic_places() {
    let svg = chart(&[(BUSY, &some(&[1.0, 10.0, 100.0, 1_000.0]))]).draw(&log()).svg();
    let heights: Vec<f64> = runs(&svg, BLUE)[0].iter().map(|(_, y)| *y).collect();
    let steps: Vec<f64> = heights.windows(2).map(|pair| pair[0] - pair[1]).collect();
    assert!(steps.iter().all(|step| (step - 100.0).abs() < 0.02), "{heights:?}");
    for text in [">1 %<", ">10 %<", ">100 %<", ">1,000 %<", ">Processor Information: % Processor Time<"] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    assert!(!svg.contains("not drawn"), "{svg}");
}

/// Checks that zero and negative values are gaps on a logarithmic axis, and that the picture names their lines.
#[test]
fn no_zero_on_a_logarithmic_axis() {
    let second = Label { instance: "0,1", ..BUSY };
    let values = some(&[1.0, 10.0, 0.0, 10.0, -5.0, 7.0, 1.0]);
    let chart = chart(&[(BUSY, &values), (second, &some(&[3.0; 7]))]);
    let svg = chart.draw(&log()).svg();
    let lengths: Vec<usize> = runs(&svg, BLUE).iter().map(Vec::len).collect();
    assert_eq!((lengths, svg.matches("<circle").count()), (vec![2, 2], 1), "{svg}");
    let note = ">zero and negative values are not drawn, because the axis is logarithmic: 0,0<";
    assert!(svg.contains(note), "{svg}");
    let nothing = super::chart(&[(BUSY, &some(&[0.0, -1.0]))]).draw(&log());
    let svg = nothing.svg();
    assert!(svg.contains(note) && runs(&svg, BLUE).is_empty() && !svg.contains("NaN"), "{svg}");
    let stack = PictureOptions { is_stack: true, ..log() };
    let svg = chart.draw(&stack).svg();
    assert!(!svg.contains("logarithmic") && svg.contains(">0<"), "stacks have a linear axis: {svg}");
}

/// Checks that nothing of a picture is drawn beyond the ends of an axis, except bars at the edges for the times of
/// values there.
#[test]
fn values_beyond_the_ends_are_marked() {
    let mut values = some(&[50.0; 11]);
    values[4..7].fill(Some(90.0));
    values[9] = Some(5.0);
    for is_stack in [false, true] {
        let look = PictureOptions { is_stack, ..between("20%", "70%") };
        let chart = chart(&[(BUSY, &values)]);
        let pixels = Pixels::of(&chart, &look);
        let colour = LINES[0];
        let seen = |from: f64, to: f64, y| pixels.count(colour, (x(from, 10.0), x(to, 10.0)), y);
        let (above, below) = ((60.0, 76.0), (378.0, 388.0));
        assert!(seen(4.0, 6.0, above) > 300, "{is_stack}: the bar");
        assert_eq!((seen(0.0, 3.0, above), seen(7.5, 10.0, above)), (0, 0), "{is_stack}");
        // The whole area is below the lower end in a stack.
        let bars = seen(0.0, 3.0, below);
        assert!(if is_stack { bars > 200 } else { bars == 0 }, "{is_stack}: {bars}");
        assert!(seen(8.8, 9.2, below) > 20, "{is_stack}: a short bar");
        let svg = chart.draw(&look).svg();
        for text in [
            ">above the axis where bars are at its upper edge: 0,0<",
            ">below the axis where bars are at its lower edge: 0,0<",
            ">20<",
            ">70<",
        ] {
            assert!(svg.contains(text), "{is_stack} {text}: {svg}");
        }
    }
    let svg = chart(&[(BUSY, &values)]).draw(&between("0", "100")).svg();
    assert!(!svg.contains(" where bars"), "{svg}");
    // A value at the end is on the axis.
    let svg = chart(&[(BUSY, &some(&[20.0, 70.0]))]).draw(&between("20", "70")).svg();
    assert!(!svg.contains(" where bars") && runs(&svg, BLUE)[0].len() == 2, "{svg}");
}

/// Checks that a threshold is at its value, extends the axis, and has its label inside of the panel.
#[test]
fn thresholds_are_where_they_say() {
    let memory =
        Label { request: 1, counterset: "Memory", counter: "Free", instance: "", unit: "By", ..BUSY };
    let chart = chart(&[(BUSY, &some(&[10.0, 20.0])), (memory, &some(&[2e9, 3e9]))]);
    let look = with_thresholds(&["80%", "<limit>=6GiB", "70%"]);
    assert_eq!(chart.check(&look), Ok(()));
    let svg = chart.draw(&look).svg();
    let dashed: Vec<&str> = svg.lines().filter(|line| line.contains("dasharray=\"5 3\"")).collect();
    assert_eq!(dashed.len(), 3, "{svg}");
    for text in [">80%<", ">70%<", ">&lt;limit&gt; (6GiB)<", ">80<", ">6<"] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    let error = chart.check(&with_thresholds(&["80"])).unwrap_err().to_string();
    assert_eq!(error, "80 needs a unit, because the panels have several: % and B");
    let error = chart.check(&with_thresholds(&["1s"])).unwrap_err().to_string();
    assert_eq!(error, "no panel has the unit of 1s; the units are % and B");
    // Thresholds that the axis does not have are listed.
    for look in [
        PictureOptions { max: vec!["50%".parse().unwrap()], ..with_thresholds(&["a=80%"]) },
        PictureOptions { scale: ValueScale::Log, ..with_thresholds(&["a=0%"]) },
    ] {
        let svg = chart.draw(&look).svg();
        assert!(svg.contains(">thresholds outside of the axis: a (") && !svg.contains("\"5 3\""), "{svg}");
    }
}

/// Checks that labels of thresholds are drawn beside each other if the thresholds are close to each other.
#[test]
fn labels_of_thresholds_do_not_overlap() {
    let look = with_thresholds(&["first=50", "second=51", "third=52", "fourth=100", "fifth=0"]);
    let svg = chart(&[(BUSY, &some(&[10.0, 20.0]))]).draw(&look).svg();
    let labels = svg.lines().filter(|line| line.contains(" (") && line.contains("text-anchor=\"end\""));
    let number = |line: &str, name: &str| -> f64 {
        line.split(name).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    let places: Vec<(f64, f64)> = labels.map(|line| (number(line, " x=\""), number(line, " y=\""))).collect();
    assert_eq!(places.len(), 5, "{svg}");
    for (at, a) in places.iter().enumerate() {
        assert!(a.1 > 77.0 && a.1 < 377.0, "inside of the panel: {places:?}");
        for b in &places[..at] {
            assert!((a.0 - b.0).abs() > 50.0 || (a.1 - b.1).abs() > 11.0, "{places:?}");
        }
    }
}

/// Generator of pseudo-random values that are the same in every run.
struct RandomValues(u64);

impl RandomValues {
    fn below(&mut self, most: u64) -> u64 {
        // Knuth's constants for a generator of 64 bits, of which the upper ones are good.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn value(&mut self) -> f64 {
        let exponent = self.below(40) as i32 - 20;
        match self.below(8) {
            0 => 0.0,
            1 => -(10_f64.powi(exponent)),
            2 => 1e300,
            3 => 50.0,
            _ => {
                self.below(1_000) as f64 / 10.0 * if self.below(3) == 0 { 10_f64.powi(exponent) } else { 1.0 }
            }
        }
    }
}

/// Returns every coordinate in an SVG picture, as x and y.
fn coordinates(svg: &str) -> Vec<(f64, f64)> {
    let attribute = |line: &str, name: &str| {
        Some(line.split_once(&format!(" {name}=\""))?.1.split_once('"')?.0.to_owned())
    };
    let mut found = Vec::new();
    for line in svg.lines() {
        if let Some(path) = attribute(line, "d") {
            let places = path.split(['M', 'L', 'Z']).filter(|place| !place.is_empty());
            found.extend(places.map(|place| {
                let (x, y) = place.split_once(' ').unwrap();
                (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap())
            }));
        }
        for (x, y) in [("x", "y"), ("cx", "cy")] {
            if let (Some(x), Some(y)) = (attribute(line, x), attribute(line, y)) {
                found.push((x.parse().unwrap(), y.parse().unwrap()));
            }
        }
    }
    found
}

/// Checks that everything drawn is inside of the picture for random values, gaps and options. Lines and areas are
/// inside of their panel, with bars of a few pixels around it.
#[test]
fn nothing_is_outside_of_the_picture() {
    let mut random = RandomValues(7);
    for round in 0..80 {
        let count = 1 + random.below(5);
        let names: Vec<String> = (0..count).map(|number| format!("i{number}")).collect();
        let mut chart = Chart::new(300);
        let lines: Vec<_> =
            names.iter().map(|name| chart.line(&Label { instance: name, ..BUSY }).unwrap()).collect();
        let samples = 1 + random.below(if round % 20 == 0 { 3_000 } else { 60 });
        let mut time = TEN;
        for _ in 0..samples {
            time += match random.below(20) {
                0 => 9 * SECOND,
                1 => -SECOND,
                _ => SECOND,
            };
            chart.sample(time);
            for line in &lines {
                if random.below(5) > 0 {
                    chart.value(*line, random.value());
                }
            }
        }
        let mut amount = |texts: &[&str]| -> Vec<perfset_plot::Amount> {
            let text = texts[random.below(texts.len() as u64) as usize];
            text.parse().ok().into_iter().collect()
        };
        let look = PictureOptions {
            width: 480,
            min: amount(&["", "", "1", "20%", "0.001"]),
            max: amount(&["", "", "70", "1e9", "1E"]),
            scale: if round % 3 == 0 { ValueScale::Log } else { ValueScale::Linear },
            is_stack: round % 2 == 0,
            ..with_thresholds(if round % 5 == 0 { &["a=30", "31", "1e12"] } else { &[] })
        };
        let picture = chart.draw(&look);
        let svg = picture.svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "round {round}: {svg}");
        let height: f64 = svg.split(" height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        let places = coordinates(&svg);
        assert!(places.len() > 10);
        for (x, y) in places {
            let is_inside = (0.0..=480.0).contains(&x) && (0.0..=height).contains(&y);
            assert!(is_inside, "round {round}: {x} {y} of {height}: {svg}");
        }
        let bottom = 377.0;
        for (x, y) in runs(&svg, BLUE).into_iter().chain(runs(&svg, RED)).flatten() {
            let is_inside = (20.0..=460.0).contains(&x) && (76.99..=bottom + 0.01).contains(&y);
            assert!(is_inside, "round {round}: {x} {y}: {svg}");
        }
        if round % 16 == 0 {
            picture.png().unwrap();
        }
    }
}
