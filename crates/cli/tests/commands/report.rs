//! Tests of `perfset report`: the page and the commands in it.

#![cfg(feature = "serve")]

use std::fs;

use crate::running::{outcome, perfset, run, scratch, testdata};

fn basic() -> String {
    testdata("logs/BasicPerfCounters.blg").display().to_string()
}

/// Returns the words of a command in a report, which has it as HTML, quoted for a shell.
fn words(command: &str) -> Vec<String> {
    let command = [("&#39;", "'"), ("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")]
        .iter()
        .fold(command.to_owned(), |text, (from, to)| text.replace(from, to));
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => word.extend(chars.next()),
            ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words
}

#[test]
fn a_windows_log_becomes_one_file() {
    let folder = scratch("report of a log");
    let file = folder.join("r.html");
    let file = file.to_str().unwrap();
    let args = ["report", "--log", &basic(), "-o", file];
    let (code, out, err) = run("small-vm", &args);
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    assert!(err.starts_with(&format!("{file}: ")), "{err}");
    assert!(err.ends_with(" KiB, 6 charts of 601 samples, 0 findings\n"), "{err}");
    let html = fs::read_to_string(file).unwrap();
    for text in [
        "<h1>Performance of GEORGIS3</h1>",
        "binary log of Windows build 9200, 64-bit",
        "601, one every 1 s",
        "12 of 13 rules lack a value",
        r#""path":"\\PhysicalDisk(0 C:)\\Avg. Disk Queue Length""#,
    ] {
        assert!(html.contains(text), "{text}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    // An existing file is not lost without a request.
    let (code, _, err) = run("small-vm", &args);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("exists; --force overwrites it"), "{err}");
    let (code, ..) = run("small-vm", &[&args[..], &["--force", "--title", "Ten minutes"]].concat());
    assert_eq!(code, 0);
    assert!(fs::read_to_string(file).unwrap().contains("<h1>Ten minutes</h1>"));
    // Nothing is left of files that were written under another name.
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

/// Checks that every command in a report works as it is printed there, except for `serve`, which would not end.
#[test]
fn commands_in_a_report_work() {
    let folder = scratch("commands of a report");
    let log = folder.join("it's a log.csv");
    let line = |second: i64| {
        let busy = if second > 30 { 97 } else { 5 };
        format!("\"11/05/2026 10:00:{second:02}.000\",\"{busy}\",\"{second}\",\"1\"\n")
    };
    let counters = [r"Processor(_Total)\% Processor Time", r"Shop(a b)\Orders", r"Shop(c)\Orders"];
    let columns = counters.map(|counter| format!(",\"\\\\HOST\\{counter}\"")).concat();
    let head = format!("\"(PDH-CSV 4.0) (UTC)(0)\"{columns}");
    fs::write(&log, format!("{head}\n{}", (0..60).map(line).collect::<String>())).unwrap();
    let log = log.to_str().unwrap();
    let args = ["report", "--log", log, "-o", "-", "--begin", "10:00:10", "-c", r"\Shop(*)\Orders"];
    let (code, html, err) = run("small-vm", &args);
    assert_eq!(code, 0, "{err}");
    assert!(err.starts_with("report: ") && err.contains("2 charts of 50 samples, 1 finding\n"), "{err}");
    let found =
        html.split("<code class=\"command\">").skip(1).map(|rest| rest.split("</code>").next().unwrap());
    let commands: Vec<Vec<String>> = found.map(words).collect();
    let mut first_words: Vec<&str> = Vec::new();
    for command in &commands {
        assert_eq!(command[0], "perfset");
        first_words.push(&command[1]);
        if command[1] == "serve" {
            continue;
        }
        let mut args: Vec<&str> = command[1..].iter().map(String::as_str).collect();
        if command[1] == "view" {
            args.push("--plain");
        }
        let mut perfset = perfset("small-vm", &args);
        let (code, out, err) = outcome(perfset.current_dir(&folder).output().unwrap());
        assert_eq!(code, 0, "{command:?}: {out}{err}");
    }
    assert_eq!(first_words, ["proc", "--log", "view", "get", "plot", "serve", "report"]);
    // The last one wrote the same report again: only its secret differs.
    let again = fs::read_to_string(folder.join("report.html")).unwrap();
    let without_secret = |html: &str| {
        let secret = html.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap().to_owned();
        html.replace(&secret, "")
    };
    let data = |html: &str| html.split("id=\"data\">").nth(1).unwrap().to_owned();
    assert_eq!(data(&without_secret(&html)), data(&without_secret(&again)));
}

#[test]
fn errors_say_what_to_do() {
    let log = basic();
    let folder = scratch("errors of a report");
    let file = folder.join("r.html");
    let file = file.to_str().unwrap();
    for (args, code, text) in [
        (&["--begin", "2013-02-19 20:00:00"][..], 3, "no sample in that time"),
        (&["--begin", "18:59", "--end", "18:52"], 3, "the end is before the begin"),
        (&[r"\Processor(*)\Nothing"], 3, "has no counter \"Nothing\""),
        (&["--counter", r"\Nothing\x"], 3, "no counterset is named \"Nothing\""),
        (&["--counter", "x"], 2, "\"x\" is not a counter path"),
        (&[r"\Processor(*)\*", "5"], 2, "a report has no interval"),
        (&["--machine", "OTHER"], 3, "no counters of a machine \"OTHER\""),
    ] {
        let (got, _, err) = run("small-vm", &[&["report", "--log", &log, "-o", file], args].concat());
        assert!(got == code && err.contains(text), "{args:?}: {got} {err}");
        assert!(!fs::exists(file).unwrap(), "{args:?}");
    }
    let (code, _, err) = run("small-vm", &["report", "-o", file]);
    assert!(code == 2 && err.contains("--log"), "{err}");
    let (code, _, err) = run("small-vm", &["report", "--log", &log, "-o", "/nowhere/r.html"]);
    assert!(code != 0 && err.contains("cannot write /nowhere/r.html"), "{err}");
}

/// Checks that a report shows the intact part of a damaged log, and that the exit code says so.
#[test]
fn damage_is_named() {
    let folder = scratch("damage of a report");
    let log = folder.join("cut.blg");
    let bytes = fs::read(basic()).unwrap();
    fs::write(&log, &bytes[..200_000]).unwrap();
    let args = ["report", "--log", log.to_str().unwrap(), "-o", "-"];
    let (code, html, err) = run("small-vm", &args);
    assert_eq!(code, 5, "{err}");
    assert!(err.contains("warning: ") && html.contains("Damage: data that could not be used"), "{err}");
}
