//! Tests of `perfset plot`: pictures of logs and of fixtures.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::running::{perfset, repository, run, scratch, testdata};

const TOTAL: &str = r"\Processor(_Total)\% Processor Time";

fn basic() -> String {
    testdata("logs/BasicPerfCounters.blg").display().to_string()
}

/// Returns the SVG picture that a successful `perfset plot` writes to standard output.
fn svg(args: &[&str]) -> String {
    let (code, out, err) = run("small-vm", &[&["plot", "-o", "-"], args].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    out
}

/// Writes a log of two instances with values at these seconds past ten; an empty text is a missing value.
fn log(name: &str, lines: &[(u32, &str, &str)]) -> String {
    let file = scratch(name).join("log.csv");
    let head = r#""(PDH-CSV 4.0) (UTC)(0)","\\HOST\Disk(<b>)\Bytes","\\HOST\Disk(x)\Bytes""#;
    let line = |(second, a, b): &(u32, &str, &str)| {
        format!(
            "\"11/22/2026 {:02}:{:02}:{:02}.000\",\"{a}\",\"{b}\"\n",
            10 + second / 3_600,
            second / 60 % 60,
            second % 60
        )
    };
    fs::write(&file, format!("{head}\n{}", lines.iter().map(line).collect::<String>())).unwrap();
    file.display().to_string()
}

/// Returns the number of points in each continuous section of the picture's lines.
fn runs(svg: &str) -> Vec<usize> {
    let lines = svg.lines().filter(|line| line.contains("stroke-width=\"1.5\""));
    let paths = lines.flat_map(|line| line.split('"').nth(1).unwrap().split('M').skip(1));
    paths.map(|run| run.split('L').count()).collect()
}

/// Checks that the picture of a log has the numbers that `get --summary` prints.
#[test]
fn a_log_is_drawn_whole() {
    let svg = svg(&["--log", &basic(), TOTAL]);
    for text in [
        "GEORGIS3 · 2013-02-19 18:50:18 to 19:00:17, UTC−08:00 · 600 samples",
        ">Processor: % Processor Time<",
        ">_Total<",
        ">18:54<",
        ">2013-02-19<",
    ] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    assert_eq!(runs(&svg), [600]);
    let (_, out, _) = run("small-vm", &["get", "--log", &basic(), TOTAL, "--summary"]);
    let numbers: Vec<f64> =
        out.lines().last().unwrap().split_whitespace().map_while(|n| n.parse().ok()).collect();
    let shown = |text: &str| text.split('%').next().unwrap().trim().parse::<f64>().unwrap();
    let legend: Vec<f64> = svg.split('>').filter(|text| text.contains(" %</text")).map(shown).collect();
    let near = |a: f64, b: f64| (a - b).abs() < 0.06;
    assert!(
        near(legend[1], numbers[1]) && near(legend[2], numbers[0]) && near(legend[3], numbers[4]),
        "{legend:?} {numbers:?}"
    );
}

/// Checks that the picture in the guide is the one that its command draws; with `UPDATE_SNAPSHOTS=1`, writes it.
#[test]
fn the_picture_of_the_guide() {
    let paths = [r"\Processor(*)\% Processor Time", r"\PhysicalDisk(*)\Avg. Disk Bytes/*"];
    let svg = svg(&[&["--log", &basic(), "--title", "Ten minutes of GEORGIS3"], &paths[..]].concat());
    let file = repository("docs/guides/windows-logs.svg");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&file, &svg).unwrap();
    }
    assert_eq!(svg, fs::read_to_string(file).unwrap());
}

#[test]
fn a_part_of_a_log() {
    let window = ["--begin", "2013-02-19 18:52:00", "--end", "2013-02-19 18:52:59"];
    let part = svg(&[&["--log", &basic(), TOTAL], &window[..]].concat());
    assert!(part.contains("2013-02-19 18:52:01 to 18:52:58") && part.contains("58 samples"), "{part}");
    let thin = svg(&["--log", &basic(), TOTAL, "60", "3"]);
    assert_eq!(runs(&thin), [3]);
    let none = ["--begin", "2030-01-01"];
    let (code, out, err) =
        run("small-vm", &[&["plot", "-o", "-", "--log", &basic(), TOTAL], &none[..]].concat());
    assert_eq!(
        (code, out.as_str(), err.as_str()),
        (3, "", "error: no sample in the log, or none in that time\n")
    );
}

/// Checks that missing values of a log are gaps in its picture, and that another user's name is text, not markup.
#[test]
fn missing_log_values_leave_gaps() {
    let file = log("plot-gaps", &[(0, "1", "5"), (1, "2", "5"), (2, " ", "5"), (3, "4", "5"), (4, "5", "5")]);
    let svg = svg(&["--log", &file, r"\Disk(*)\Bytes", "--title", "a\u{1b}[31m<i>"]);
    assert_eq!(runs(&svg), [5, 2, 2], "the first line is drawn last, and in two");
    assert!(
        svg.contains(">&lt;b&gt;<") && !svg.contains("<b>") && svg.contains("a\\u{1b}[31m&lt;i&gt;"),
        "{svg}"
    );
    let file = log("plot-empty", &[(0, " ", " "), (1, " ", " ")]);
    let svg = self::svg(&["--log", &file, r"\Disk(x)\Bytes"]);
    assert!(svg.contains(">no values<") && runs(&svg).is_empty(), "{svg}");
}

/// Checks that the picture of a log with far more samples than pixels is no larger than one of few. It takes little
/// time and memory.
#[test]
fn a_long_log_is_no_larger_a_picture() {
    let values: Vec<String> = (0..40_000).map(|n| format!("{}", n % 100)).collect();
    let lines: Vec<_> = (0..40_000).map(|n| (n, values[n as usize].as_str(), "1")).collect();
    let file = log("plot-long", &lines);
    let svg = svg(&["--log", &file, r"\Disk(*)\Bytes", "--width", "500"]);
    assert!(svg.contains("40,000 samples") && svg.len() < 60_000, "{}", svg.len());
    assert!(svg.contains(">49.5<") && svg.contains(">99.0<"), "{svg}");
}

#[test]
fn live_values_are_drawn_and_ctrl_c_draws_what_there_is() {
    let svg = svg(&["/Memory/Available Bytes", "/System/Processes", "10ms", "3"]);
    assert!(svg.contains("3 samples") && svg.contains(">Memory: Available Bytes, GiB<"), "{svg}");
    assert_eq!(runs(&svg), [3, 3]);
    let file = scratch("plot-ended").join("early.svg");
    let args = ["plot", "/Memory/Available Bytes", "50ms", "100000", "-o", file.to_str().unwrap()];
    let mut child = perfset("small-vm", &args).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id().to_string();
    until_it_takes_ctrl_c(&pid);
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let code = child.wait().unwrap().code();
    let mut err = String::new();
    child.stderr.unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let svg = fs::read_to_string(file).unwrap();
    assert!(svg.contains("<circle") || runs(&svg)[0] > 1, "one sample at least: {svg}");
}

/// Waits until a process has a handler for SIGINT: `SigCgt` of `proc_pid_status(5)`.
fn until_it_takes_ctrl_c(pid: &str) {
    const SIGINT: u64 = 1 << 1;
    let is_taken = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap() & SIGINT != 0
    };
    let begun = Instant::now();
    while !is_taken() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never does");
        std::thread::yield_now();
    }
}

#[test]
fn the_ending_says_the_format_and_nothing_is_written_over() {
    let folder = scratch("plot-files");
    let path = |name: &str| folder.join(name).display().to_string();
    let plot = |file: &str, more: &[&str]| {
        run("small-vm", &[&["plot", "--log", &basic(), TOTAL, "-o", file], more].concat())
    };
    assert_eq!(plot(&path("a.PNG"), &["--width", "480"]), (0, String::new(), String::new()));
    let png = fs::read(path("a.PNG")).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert_eq!(u32::from_be_bytes(png[16..20].try_into().unwrap()), 480);
    let (code, _, err) = plot(&path("a.PNG"), &[]);
    assert!(code == 2 && err.ends_with("a.PNG exists; --force overwrites it\n"), "{err}");
    assert_eq!(plot(&path("a.PNG"), &["--force"]).0, 0);
    for (file, code, want) in [
        ("a.gif", 2, "\"a.gif\" has no known ending: use .svg or .png, or give --format"),
        ("chart", 2, "has no known ending"),
        ("/no/such/a.svg", 4, "cannot write /no/such/a.svg: No such file"),
    ] {
        let (found, out, err) = plot(file, &[]);
        assert_eq!((found, out.as_str()), (code, ""), "{file}: {err}");
        assert!(err.contains(want), "{file}: {err}");
    }
    let (code, _, err) = plot("/dev/full", &[]);
    assert!(code == 2, "a device has no ending: {err}");
    assert_eq!(plot("/dev/null", &["--format", "png"]), (0, String::new(), String::new()));
    let (code, out, err) = plot("/dev/stdout", &["--format", "svg"]);
    assert!(
        code == 0 && out.starts_with("<svg ") && out.ends_with("</svg>\n") && err.is_empty(),
        "{out}{err}"
    );
    let (code, _, err) = plot(&path("a.PNG"), &["--format", "svg", "--force"]);
    assert!(
        code == 0 && fs::read(path("a.PNG")).unwrap().starts_with(b"<svg "),
        "whatever its ending: {err}"
    );
    let (code, _, _) = run("small-vm", &["plot", TOTAL]);
    assert_eq!(code, 2, "where to is to be said");
    let (code, _, err) = run("small-vm", &["plot", r"\Nothing\x", "-o", &path("b.svg")]);
    assert!(code == 3 && err.contains("no counterset is named"), "{err}");
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["a.PNG"]);
}

#[test]
fn too_many_lines_are_said() {
    let all = ["plot", "-o", "-", "/Linux Memory/*", "10ms", "2"];
    let (code, out, err) = run("small-vm", &all);
    assert_eq!(code, 0);
    let left_out: usize = err.strip_prefix("warning: ").unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(out.contains(&format!(">{left_out} more lines are left out<")), "{err}");
    let (code, out, err) = run("small-vm", &["plot", "-o", "-", "cpu", "--top", "1", "10ms", "2"]);
    assert_eq!((code, err.as_str(), out.matches(" %</text>").count()), (0, "", 4), "one line of a legend");
    assert!(!out.contains("_Total"));
}

/// Checks that values with units select their panels, and that mistakes are reported before all samples are taken.
#[test]
fn ends_and_thresholds_have_units() {
    let file = log("plot-limits", &[(0, "1", "500"), (1, "20", "5000"), (2, "0", "50000")]);
    let plot = |more: &[&str]| {
        run("small-vm", &[&["plot", "-o", "-", "--log", &file, r"\Disk(*)\Bytes"], more].concat())
    };
    let (code, svg, err) =
        plot(&["--max", "1k", "--min=-1", "--threshold", "limit=0.5k", "--threshold", "-0.5"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for text in
        [">limit (0.5k)<", ">-0.5<", ">above the axis where bars are at its upper edge: x<", ">1,000<"]
    {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    let (code, svg, err) = plot(&["--scale", "log", "--min", "1"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for text in [
        ">10<",
        ">100k<",
        ">zero and negative values are not drawn, because the axis is logarithmic: &lt;b&gt;<",
    ] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    for (options, want) in [
        (&["--threshold", "5GiB"][..], "error: no panel has the unit of 5GiB; the units are none\n"),
        (
            &["--min", "5", "--max", "5"],
            "error: the lower end of an axis, 5, is not below its upper end, 5\n",
        ),
        (
            &["--min", "1", "--min", "2"],
            "error: 1 and 2 are for the same end of one axis; give one of them\n",
        ),
        (
            &["--scale", "log", "--min", "0"],
            "error: a logarithmic axis has only values above 0, which 0 is not\n",
        ),
        (&["--scale", "log", "--stack"], "error: --stack needs a linear scale"),
        (&["--threshold", "a=%"], "\"%\" is not a number with a unit, like 80%, 2GiB, 1.5k or 0.2"),
    ] {
        let (code, out, err) = plot(options);
        assert_eq!((code, out.as_str()), (2, ""), "{options:?}: {err}");
        assert!(err.contains(want), "{options:?}: {err}");
    }
    // Hours of samples would be taken.
    let live = ["plot", "-o", "-", "cpu", "/Memory/Available Bytes", "10ms", "1000000", "--threshold", "5W"];
    let (code, _, err) = run("small-vm", &live);
    assert_eq!((code, err.as_str()), (2, "error: no panel has the unit of 5W; the units are % and B\n"));
}

/// Checks that a PNG has letters of installed fonts, and code points in place of letters that no font has, which are
/// reported.
#[test]
fn letters_without_a_font_are_said() {
    let folder = scratch("plot-letters");
    // No font can have a letter for a code point that is not assigned.
    let title = "a\u{2FE0}";
    let plot = |file: &str| {
        let file = folder.join(file).display().to_string();
        run("small-vm", &["plot", "--log", &basic(), TOTAL, "--title", title, "-o", &file])
    };
    let (code, _, err) = plot("a.png");
    let want = format!("warning: no font of this system has all letters of \"{title}\"; the picture has");
    assert!(code == 0 && err.starts_with(&want) && err.lines().count() == 1, "{err}");
    assert_eq!(plot("a.svg"), (0, String::new(), String::new()), "a viewer might have one");
}
