//! Tests of pictures as their readers see them: positions of values, gaps, and texts.

#![allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")]
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

mod axes;
mod fonts;
mod pixels;

use std::fs;
use std::path::Path;

use perfset_plot::{Chart, Label, LineId, PictureOptions, Theme};

const SECOND: i64 = 1_000_000;
/// Time of the first sample: 2026-11-22 10:00:00 UTC, in µs since 1970.
const TEN: i64 = 1_795_341_600 * SECOND;

const BUSY: Label<'_> = Label {
    request: 0,
    counterset: "Processor Information",
    counter: "% Processor Time",
    instance: "0,0",
    unit: "%",
    range: "0..100",
    is_sum: false,
};

/// Returns a chart of lines with one value per second; `None` is a missing value.
fn chart(lines: &[(Label<'_>, &[Option<f64>])]) -> Chart {
    let mut chart = Chart::new(1_000);
    let ids: Vec<LineId> = lines.iter().map(|(label, _)| chart.line(label).unwrap()).collect();
    let most = lines.iter().map(|(_, values)| values.len()).max().unwrap();
    for second in 0..most {
        chart.sample(TEN + second as i64 * SECOND);
        for (id, (_, values)) in ids.iter().zip(lines) {
            match values.get(second).copied().flatten() {
                Some(value) => chart.value(*id, value),
                None => chart.missing(*id, || "needs a second sample".to_owned()),
            }
        }
    }
    chart
}

fn some(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(Some).collect()
}

fn svg(chart: &Chart) -> String {
    chart.draw(&PictureOptions::default()).svg()
}

/// Returns the positions in each continuous section of the lines that an SVG picture draws in this colour.
fn runs(svg: &str, colour: &str) -> Vec<Vec<(f64, f64)>> {
    let stroke = format!("stroke=\"{colour}\" stroke-width=\"1.5\"");
    let lines = svg.lines().filter(|line| line.contains(&stroke));
    let path = |line: &str| line.split('"').nth(1).unwrap().to_owned();
    let place = |text: &str| {
        let (x, y) = text.split_once(' ').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    lines
        .map(path)
        .flat_map(|path| {
            let runs = path.split('M').skip(1).map(|run| run.split('L').map(place).collect());
            runs.collect::<Vec<Vec<_>>>()
        })
        .collect()
}

const BLUE: &str = "#0072b2";
const RED: &str = "#d55e00";

/// Returns the numbers at the value axis of an SVG picture, each with its vertical position.
fn axis(svg: &str) -> Vec<(f64, f64)> {
    let is_label = |line: &&str| line.contains("font-size=\"11\"") && line.contains("text-anchor=\"end\"");
    let part = |line: &str, before: &str| {
        line.split(before).nth(1).unwrap().split(['"', '<']).next().unwrap().to_owned()
    };
    let labels =
        svg.lines().filter(is_label).map(|line| (part(line, "anchor=\"end\">"), part(line, " y=\"")));
    labels.filter_map(|(number, y)| Some((number.parse().ok()?, y.parse::<f64>().unwrap() - 4.0))).collect()
}

/// Returns the values of a line, read from an SVG picture by the numbers at its axis.
fn read(svg: &str, colour: &str) -> Vec<Vec<f64>> {
    let axis = axis(svg);
    let ((low, bottom), (high, top)) = (axis[0], axis[axis.len() - 1]);
    let value = |(_, y): &(f64, f64)| low + (bottom - y) / (bottom - top) * (high - low);
    runs(svg, colour).iter().map(|run| run.iter().map(value).collect()).collect()
}

fn assert_near(found: &[f64], want: &[f64], most: f64) {
    assert!(
        found.len() == want.len() && found.iter().zip(want).all(|(a, b)| (a - b).abs() <= most),
        "{found:?} is not {want:?}"
    );
}

#[test]
fn values_are_where_the_numbers_say() {
    let values = [3.0, 97.0, 50.0, 13.0, 0.0, 61.0];
    let svg = svg(&chart(&[(BUSY, &some(&values))]));
    assert_near(&read(&svg, BLUE)[0], &values, 0.02);
    let places: Vec<f64> = runs(&svg, BLUE)[0].iter().map(|(x, _)| *x).collect();
    let step = places[1] - places[0];
    assert!(places.windows(2).all(|pair| (pair[1] - pair[0] - step).abs() < 0.02), "{places:?}");
    assert_eq!(places.last(), Some(&980.0), "the last sample is at the right edge");
    for text in
        [">Processor Information: % Processor Time<", ">0,0<", ">61.0 %<", ">37.3 %<", ">97.0 %<", ">0 %<"]
    {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    for text in ["2026-11-22 10:00:00 to 10:00:05, UTC · 6 samples", ">10:00:03<", ">2026-11-22<"] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
}

/// Checks that a missing value is a gap in its line and not 0.
#[test]
fn missing_value_is_a_gap() {
    let values = [Some(1.0), Some(2.0), None, Some(4.0), None, Some(3.0), Some(2.0), Some(1.0)];
    let svg = svg(&chart(&[(BUSY, &values)]));
    let found = read(&svg, BLUE);
    assert_eq!(found.len(), 2);
    assert_near(&found[0], &[1.0, 2.0], 0.01);
    assert_near(&found[1], &[3.0, 2.0, 1.0], 0.01);
    assert_eq!(svg.matches("<circle").count(), 1, "one value between gaps is a dot");
    assert!(svg.contains(">2.17 %<"), "the mean is of the values that there are: {svg}");
}

/// Checks that a long pause between samples is a gap in a line, and that one late sample is none.
#[test]
fn long_pause_between_samples_is_a_gap() {
    let mut chart = Chart::new(1_000);
    let line = chart.line(&BUSY).unwrap();
    for (number, second) in [0, 1, 2, 4, 5, 65, 66, 67].into_iter().enumerate() {
        chart.sample(TEN + second * SECOND);
        chart.value(line, number as f64);
    }
    let found = read(&svg(&chart), BLUE);
    assert_eq!(found.len(), 2);
    assert_near(&found[0], &[0.0, 1.0, 2.0, 3.0, 4.0], 0.02);
    assert_near(&found[1], &[5.0, 6.0, 7.0], 0.02);
}

/// Checks that an instance which ends has no line in later samples, though no value is reported as missing.
#[test]
fn instance_is_drawn_only_while_it_exists() {
    let mut chart = Chart::new(1_000);
    let stays = chart.line(&BUSY).unwrap();
    let mut comes = None;
    for second in 0..9 {
        chart.sample(TEN + second * SECOND);
        chart.value(stays, 1.0);
        if [3, 4, 7, 8].contains(&second) {
            let line = *comes.get_or_insert_with(|| chart.line(&Label { instance: "0,1", ..BUSY }).unwrap());
            chart.value(line, second as f64);
        }
    }
    let svg = svg(&chart);
    assert_eq!(runs(&svg, BLUE)[0].len(), 9);
    let found = read(&svg, RED);
    assert_eq!(found.len(), 2);
    assert_near(&found[0], &[3.0, 4.0], 0.02);
    assert_near(&found[1], &[7.0, 8.0], 0.02);
}

/// Checks that a million samples take the memory of a few thousand, and that their outline stays the same.
#[test]
fn a_long_log_is_reduced_to_what_is_seen() {
    let mut chart = Chart::new(1_000);
    let line = chart.line(&BUSY).unwrap();
    for second in 0..1_000_000 {
        chart.sample(TEN + second * SECOND);
        let value = match second {
            333_333 => 99.0,
            666_666 => 1.0,
            _ => 40.0 + (second % 10) as f64,
        };
        chart.value(line, value);
    }
    let svg = svg(&chart);
    let found = &read(&svg, BLUE)[0];
    assert!(found.len() < 4_000, "{}", found.len());
    let extremes = |test: &dyn Fn(f64) -> bool| found.iter().filter(|value| test(**value)).count();
    assert_eq!((extremes(&|v| v > 50.0), extremes(&|v| v < 39.0)), (1, 1), "each is there once");
    let spike = runs(&svg, BLUE)[0].iter().copied().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let (left, right) = (runs(&svg, BLUE)[0][0].0, 980.0);
    assert!((spike.0 - (left + (right - left) / 3.0)).abs() < 0.05, "at its own time: {spike:?}");
    let columns: std::collections::BTreeSet<i64> =
        runs(&svg, BLUE)[0].iter().map(|(x, _)| *x as i64).collect();
    assert!(columns.len() > 900, "every column has something: {}", columns.len());
    assert!(
        svg.contains(">44.5 %<") && svg.contains(">99.0 %<") && svg.contains("1,000,000 samples"),
        "{svg}"
    );
}

/// Checks that many lines of many samples become coarser together, and keep their values.
#[test]
fn memory_is_bounded_for_many_lines() {
    let mut chart = Chart::new(4_000);
    let names: Vec<String> = (0..1_000).map(|number| format!("p{number}")).collect();
    let lines: Vec<LineId> =
        names.iter().map(|name| chart.line(&Label { instance: name, ..BUSY }).unwrap()).collect();
    for second in 0..3_000 {
        chart.sample(TEN + second * SECOND);
        lines.iter().enumerate().for_each(|(number, line)| chart.value(*line, number as f64));
    }
    let picture = chart.draw(&PictureOptions { top: Some(3), ..PictureOptions::default() });
    let svg = picture.svg();
    assert!(svg.contains(">p999<") && svg.contains(">p997<") && !svg.contains(">p996<"), "{svg}");
    assert_near(&read(&svg, BLUE)[0][..2], &[999.0, 999.0], 0.5);
    assert_eq!(picture.left_out(), 0, "what was not asked for is not left out");
    let all = chart.draw(&PictureOptions::default());
    assert_eq!(all.left_out(), 980);
    assert!(all.svg().contains(">980 more lines are left out<"));
}

/// Checks that a line that exists only for a moment is not among the greatest lines.
#[test]
fn the_greatest_are_those_of_the_whole_time() {
    let label = |instance| Label { instance, ..BUSY };
    let total = Label { instance: "_Total", is_sum: true, ..BUSY };
    let mut moment = vec![None; 20];
    moment[7] = Some(100.0);
    let chart = chart(&[
        (label("little"), &some(&[1.0; 20])),
        (label("moment"), &moment),
        (label("much"), &some(&[9.0; 20])),
        (label("most"), &some(&[10.0; 20])),
        (total, &some(&[90.0; 20])),
    ]);
    let svg = chart.draw(&PictureOptions { top: Some(2), ..PictureOptions::default() }).svg();
    let at = |name: &str| svg.find(&format!(">{name}<"));
    assert!(at("most") < at("much") && at("most").is_some(), "{svg}");
    assert_eq!((at("moment"), at("little"), at("_Total")), (None, None, None));
}

#[test]
fn names_of_strangers_are_texts() {
    let hostile = "</text><script>alert(1)</script>\0\u{1b}[31m\u{FFFF}";
    let label = Label { instance: hostile, counterset: "A&B", counter: "\"C\"", ..BUSY };
    let other = Label { instance: "x", ..label };
    let chart = chart(&[(label, &some(&[1.0, 2.0])), (other, &some(&[1.0, 2.0]))]);
    let look = PictureOptions { title: "<b>".into(), host: "<host>".into(), ..PictureOptions::default() };
    let svg = chart.draw(&look).svg();
    assert!(!svg.contains("<script") && !svg.contains("<b>") && !svg.contains("<host>"), "{svg}");
    assert!(!svg.chars().any(|c| c.is_control() && c != '\n'), "{svg:?}");
    assert!(svg.contains("&lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt;"), "{svg}");
    assert!(svg.contains("A&amp;B: &quot;C&quot;, %"), "{svg}");
    chart.draw(&look).png().unwrap();
}

#[test]
fn long_names_leave_room_for_numbers() {
    let name = "n".repeat(100_000);
    let long = Label { instance: &name, ..BUSY };
    let chart = chart(&[(long, &some(&[1.0])), (BUSY, &some(&[1.0]))]);
    let svg = chart.draw(&PictureOptions { title: "t".repeat(100_000), ..PictureOptions::default() }).svg();
    assert!(svg.len() < 120_000, "{}", svg.len());
    assert!(svg.contains("nnn…nnn") && svg.contains("ttt…ttt"));
}

/// Case of a test: its name, the values of a line, and texts that the picture must have.
type Case<'a> = (&'a str, &'a [Option<f64>], &'a [&'a str]);

/// Checks that all unusual values that a log may have are drawn without an invalid number.
#[test]
fn every_set_of_values_has_a_picture() {
    let many = vec![Some(7.0); 500];
    let cases: [Case<'_>; 8] = [
        ("one sample", &[Some(5.0)], &["<circle", ">1 sample<|1 sample"]),
        ("all missing", &[None, None], &[">no values<", ">0,0: needs a second sample<"]),
        ("constant", &many, &[">7.00 %<"]),
        ("all zero", &[Some(0.0), Some(0.0)], &[">0 %<", ">1.0<"]),
        ("huge", &[Some(1e299), Some(1e300)], &[">1.00e300 %<"]),
        (
            "beyond what can be drawn",
            &[Some(f64::MAX), Some(f64::NAN), Some(f64::INFINITY)],
            &["1.7976931348623157e308 cannot be drawn"],
        ),
        ("tiny", &[Some(1e-300), Some(2e-300)], &[">2.00e−300 %<"]),
        ("negative", &[Some(-3.0), Some(3.0)], &[">−3.00 %<", ">−2<"]),
    ];
    for (name, values, texts) in cases {
        for is_stack in [false, true] {
            let look = PictureOptions { is_stack, width: 400, ..PictureOptions::default() };
            let picture = chart(&[(BUSY, values)]).draw(&look);
            let svg = picture.svg();
            for text in texts {
                let found = is_stack && *text == "<circle" || text.split('|').any(|text| svg.contains(text));
                assert!(found, "{name}: {text}: {svg}");
            }
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}: {svg}");
            assert!(picture.png().unwrap().starts_with(b"\x89PNG"), "{name}");
        }
    }
    let nothing = Chart::new(1_000).draw(&PictureOptions::default()).svg();
    assert!(nothing.contains(">no values<") && nothing.contains("0 samples"), "{nothing}");
}

/// Checks that the times of a damaged log, which may be any, are drawn without an invalid number.
#[test]
fn no_time_is_too_much() {
    for times in
        [[0, i64::MAX], [i64::MIN, i64::MAX], [i64::MAX, 0], [i64::MIN, i64::MIN + 1], [5, 3], [5, 5]]
    {
        let mut chart = Chart::new(1);
        let line = chart.line(&BUSY).unwrap();
        for time in times {
            chart.sample(time);
            chart.value(line, 1.0);
        }
        for is_stack in [false, true] {
            let picture = chart.draw(&PictureOptions { is_stack, width: 300, ..PictureOptions::default() });
            assert!(!picture.svg().contains("NaN"), "{times:?}");
            picture.png().unwrap();
        }
    }
}

#[test]
fn units_have_panels_of_their_own() {
    let memory = Label { counterset: "Memory", counter: "Free", instance: "", unit: "By", ..BUSY };
    let kilobytes = Label { counter: "Used", unit: "KiBy", ..memory };
    let chart = chart(&[
        (BUSY, &some(&[10.0, 20.0])),
        (memory, &some(&[1_073_741_824.0, 2_147_483_648.0])),
        (kilobytes, &some(&[1_048_576.0, 3_145_728.0])),
    ]);
    let svg = svg(&chart);
    assert_eq!(svg.matches(">maximum<").count(), 2, "bytes and kilobytes are one unit: {svg}");
    for text in
        [">Processor Information: % Processor Time<", ">Memory, GiB<", ">Used<", ">3.00 GiB<", ">2.00 GiB<"]
    {
        assert!(svg.contains(text), "{text}: {svg}");
    }
}

/// Checks that percentages up to 100 and percentages without a limit are not drawn on the same scale.
#[test]
fn ranges_have_panels_of_their_own() {
    let queue = Label { counterset: "PhysicalDisk", counter: "% Disk Time", range: "unbounded", ..BUSY };
    let second = Label { counterset: "PhysicalDisk", counter: "% Idle Time", ..BUSY };
    let lines = chart(&[
        (BUSY, &some(&[10.0, 20.0])),
        (queue, &some(&[1_280.0, 640.0])),
        (second, &some(&[92.0, 8.0])),
    ]);
    let svg = svg(&lines);
    assert_eq!(svg.matches(">maximum<").count(), 2, "{svg}");
    // The lines of one range share a panel: 10 of 100 is as high above the bottom in it as 92 is below the top.
    let [busy, idle] = [BLUE, RED].map(|colour| runs(&svg, colour)[0].clone());
    assert!(busy[0].1 - idle[0].1 > 50.0, "{busy:?} {idle:?}");
    assert!(svg.contains(">1,280 %<") && svg.contains(">PhysicalDisk: % Disk Time"), "{svg}");
}

#[test]
fn lines_on_top_of_one_another() {
    let total = Label { instance: "_Total", is_sum: true, ..BUSY };
    let second = Label { instance: "0,1", ..BUSY };
    let chart = chart(&[
        (BUSY, &some(&[10.0, 20.0, 30.0])),
        (second, &[Some(40.0), None, Some(20.0)]),
        (total, &some(&[50.0, 20.0, 50.0])),
    ]);
    let look = PictureOptions { is_stack: true, ..PictureOptions::default() };
    let svg = chart.draw(&look).svg();
    assert!(!svg.contains("_Total"), "what sums others up is not on top of them: {svg}");
    let axis = axis(&svg);
    let ((low, bottom), (high, top)) = (axis[0], axis[axis.len() - 1]);
    let area = |colour: &str| -> Vec<f64> {
        let line =
            svg.lines().find(|line| line.contains(&format!("fill=\"{colour}\" fill-opacity"))).unwrap();
        let path = line.split('"').nth(1).unwrap().replace(['M', 'Z'], "L");
        let y = |place: &str| place.split_once(' ').unwrap().1.parse::<f64>().unwrap();
        let value = |y: f64| low + (bottom - y) / (bottom - top) * (high - low);
        path.split('L').filter(|place| !place.is_empty()).map(|place| value(y(place))).collect()
    };
    let mut below = area(BLUE);
    below.dedup();
    assert_near(&below, &[10.0, 20.0, 30.0, 0.0], 0.05);
    let above = area(RED);
    let greatest = above.iter().copied().fold(0.0, f64::max);
    assert!((greatest - 50.0).abs() < 0.05, "{above:?}");
    assert!(
        !above.iter().any(|value| (value - 20.0).abs() < 0.5),
        "no area where there is no value: {above:?}"
    );
}

#[test]
fn sizes_are_kept_unless_texts_take_more() {
    let chart = chart(&[(BUSY, &some(&[1.0, 2.0]))]);
    for (width, height, want) in
        [(640, Some(480), "width=\"640\" height=\"480\""), (640, Some(10), "width=\"640\" height=\"2")]
    {
        let svg = chart.draw(&PictureOptions { width, height, ..PictureOptions::default() }).svg();
        assert!(svg.contains(want), "{height:?}: {}", &svg[..200]);
    }
    let too_large = chart
        .draw(&PictureOptions { width: u32::MAX, height: Some(u32::MAX), ..PictureOptions::default() })
        .png();
    assert!(too_large.unwrap_err().to_string().contains("is too large"));
}

/// Compares a whole picture with its file, byte for byte; a changed picture is looked at before it is accepted.
#[test]
fn a_picture_is_as_it_was() {
    let second = Label { instance: "0,1", ..BUSY };
    let memory = Label {
        request: 1,
        counterset: "Memory",
        counter: "Available Bytes",
        instance: "",
        unit: "By",
        ..BUSY
    };
    let chart = chart(&[
        (BUSY, &some(&[12.0, 30.5, 99.0, 61.0, 4.0])),
        (second, &[Some(5.0), Some(6.0), None, Some(7.0), Some(8.0)]),
        (memory, &some(&[6.0e9, 6.1e9, 5.2e9, 5.5e9, 6.0e9])),
    ]);
    for (name, theme, is_stack) in [("light.svg", Theme::Light, false), ("dark-stack.svg", Theme::Dark, true)]
    {
        let look = PictureOptions {
            title: "What the machine did".into(),
            host: "GEORGIS3".into(),
            width: 800,
            theme,
            is_stack,
            ..PictureOptions::default()
        };
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures").join(name);
        let svg = chart.draw(&look).svg();
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            fs::write(&file, &svg).unwrap();
        }
        assert_eq!(svg, fs::read_to_string(&file).unwrap(), "{name}");
    }
}

/// Checks that the pixels at the positions of shapes have the shapes' colours.
#[test]
fn pixels_are_what_the_shapes_say() {
    let chart = chart(&[(BUSY, &some(&[50.0, 50.0, 50.0]))]);
    let picture = chart.draw(&PictureOptions { width: 400, ..PictureOptions::default() });
    let run = runs(&picture.svg(), BLUE)[0].clone();
    let pixels = tiny_skia::Pixmap::decode_png(&picture.png().unwrap()).unwrap();
    let (x, y) = ((run[0].0 + run[1].0) / 2.0, run[0].1);
    let pixel = pixels.pixel(x as u32, (y - 0.25) as u32).unwrap();
    let rgb = [pixel.red(), pixel.green(), pixel.blue()];
    let is_near = |a: [u8; 3], b: [u8; 3]| a.iter().zip(b).all(|(a, b)| a.abs_diff(b) < 90);
    assert!(is_near(rgb, [0x00, 0x72, 0xB2]), "{rgb:?}");
    let corner = pixels.pixel(1, 1).unwrap();
    assert_eq!([corner.red(), corner.green(), corner.blue()], [0xFF; 3]);
    let dark = pixels.pixels().iter().filter(|pixel| pixel.red() < 0x60 && pixel.blue() < 0x60).count();
    assert!(dark > 200, "there are letters: {dark}");
}
