//! Tests of `perfset log cut` and `perfset log convert`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::running::{perfset, run, scratch, testdata};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the times of the samples of a log, without samples that only separate others.
fn times(log: &Path) -> Vec<String> {
    let (_, out, err) = run(
        "small-vm",
        &["get", r"\Memory\Available Bytes", "--log", text(log), "--format", "json", "--raw"],
    );
    assert_eq!(err, "");
    let lines = out.lines().filter(|line| line.contains("\"status\":\"ok\""));
    let lines = lines.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.map(|line| line["time"].as_str().unwrap().to_owned()).collect()
}

/// Records two runs of a recorder into a test's directory, and returns its path.
fn recorded(test: &str) -> PathBuf {
    let folder = scratch(test).join("rec");
    for count in ["6", "7"] {
        let words = ["record", "--dir", text(&folder), "mem", "cpu", r"\Process V2(*)\*", "20ms", count];
        let (code, _, err) = run("small-vm", &words);
        assert_eq!(code, 0, "{err}");
        assert_eq!(run("small-vm", &["mark", "deploy 42", "--dir", text(&folder)]).0, 0);
    }
    folder
}

#[test]
fn a_part_has_the_values_of_its_time() {
    let folder = recorded("log-cut-part");
    let all = times(&folder);
    assert_eq!(all.len(), 13);
    // From the first run into the second: both edges are within files.
    // Times are shown in whole milliseconds.
    let (begin, end) = (&*all[2], &*all[9].replace('Z', "9999Z"));
    let part = folder.with_file_name("part.perfset");
    let cut = ["log", "cut", text(&folder), "-b", begin, "-e", end, "-o", text(&part)];
    let (code, out, err) = run("small-vm", &cut);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""));
    assert_eq!(times(&part), all[2..=9]);
    for (options, paths) in [
        (&["--raw"][..], [r"\Process V2(*)\*", r"\Memory\*"]),
        (&[], [r"\Process V2(*)\*", r"\Processor Information(*)\*"]),
    ] {
        let get = |log: &Path, window: &[&str]| {
            let words = [&["get"][..], &paths, &["--log", text(log), "--format", "json"], options, window];
            run("small-vm", &words.concat())
        };
        let (want, got) = (get(&folder, &["--begin", begin, "--end", end]), get(&part, &[]));
        assert!(want.1.len() > 1_000 && want.0 == 0, "{want:?}");
        assert_eq!(got, want, "{options:?}");
    }
    // Help texts are in it: the file needs no other.
    let describe =
        |log: &Path| run("small-vm", &["describe", "Memory", "--log", text(log)]).1.replace(text(log), "LOG");
    assert_eq!(describe(&part), describe(&folder));
    // It is refused once it is there, unless that is wanted.
    let (code, _, err) = run("small-vm", &cut);
    assert!(code == 2 && err.contains("exists; --force overwrites it"), "{code} {err}");
    assert_eq!(run("small-vm", &[&cut[..], &["--force"]].concat()).0, 0);
    // Everything, and a pipe.
    let whole = perfset("small-vm", &["log", "cut", text(&folder), "-o", "-"]).output().unwrap();
    fs::write(&part, &whole.stdout).unwrap();
    assert_eq!(times(&part), all);
    let (code, out, _) = run("small-vm", &["log", "info", text(&part)]);
    assert!(code == 0 && out.contains("samples   13,") && out.contains("deploy 42"), "{out}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        let other = part.with_file_name("other.perfset");
        assert_eq!(run("small-vm", &["log", "cut", text(&part), "-o", text(&other)]).0, 0);
        assert_eq!(fs::metadata(&other).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn wrong_cuts_say_why() {
    let folder = recorded("log-cut-wrong");
    let part = folder.with_file_name("part.perfset");
    let (part_name, rec) = (text(&part).to_owned(), text(&folder).to_owned());
    let blg = testdata("logs/BasicPerfCounters.blg").display().to_string();
    let inside = folder.join("part.perfset").display().to_string();
    let empty = scratch("log-cut-empty").display().to_string();
    for (words, want, message) in [
        (&[&*rec, "-e", "2001-01-01", "-o", &part_name][..], 3, "the recording has samples from 20"),
        (&[&rec, "-b", "2026-01-02", "-e", "2026-01-01", "-o", &part_name], 2, "--begin is after --end"),
        (&[&blg, "-o", &part_name], 2, "is not a recording\n  perfset relog cuts other logs"),
        (&["-", "-o", &part_name], 2, "name its directory or file"),
        (&["no-such-folder", "-o", &part_name], 4, "no-such-folder"),
        (&[&empty, "-o", &part_name], 5, "no recording: no file of the directory"),
        (&[&rec, "-o", &inside], 2, "the recording's own directory"),
        (&[&rec, "-o", "/no-such-folder/x"], 4, "/no-such-folder/x"),
        (&[&rec], 2, "--output"),
    ] {
        let (code, out, err) = run("small-vm", &[&["log", "cut"], words].concat());
        assert!(code == want && err.contains(message) && out.is_empty(), "{words:?}: {code} {out} {err}");
        assert!(!part.exists(), "{words:?}");
    }
}

#[test]
fn damage_in_the_window_is_told() {
    let folder = recorded("log-cut-damage");
    let all = times(&folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| fs::metadata(path).unwrap().len() > 1_000);
    files.sort();
    let mut bytes = fs::read(&files[0]).unwrap();
    // Within the streams of the first segment, which is the last and longest block.
    let at = bytes.len() / 2;
    bytes[at] ^= 0xFF;
    fs::write(&files[0], bytes).unwrap();
    let part = folder.with_file_name("part.perfset");
    let (code, _, err) = run("small-vm", &["log", "cut", text(&folder), "-o", text(&part)]);
    assert!(code == 5 && err.contains("warning: ") && err.contains("checksum is wrong"), "{code} {err}");
    // The part itself is sound.
    let (code, out, _) = run("small-vm", &["log", "info", text(&part)]);
    assert!(code == 0 && out.contains("samples   13,"), "{out}");
    let later = ["log", "cut", text(&folder), "-b", &all[8], "-o", text(&part), "--force"];
    assert_eq!(run("small-vm", &later), (0, String::new(), String::new()));
}

/// Returns the columns of the PDH-CSV file that a log is converted to, sorted: their order is that of the source.
fn columns(log: &str) -> Vec<Vec<String>> {
    let (code, out, err) = run("small-vm", &["relog", log, "-o", "-", "--format", "csv"]);
    assert_eq!((code, err.as_str()), (0, ""), "{log}");
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split("\",\"").collect()).collect();
    let columns = rows.first().unwrap().len();
    let clean = |cell: &str| cell.trim_matches('"').to_owned();
    let column = |at: usize| rows.iter().map(|row| clean(row.get(at).unwrap())).collect::<Vec<_>>();
    let mut all: Vec<_> = (0..columns).map(column).collect();
    all.sort();
    all
}

/// Checks that a converted log has every time of the source, every value to its last digit, and every blank.
#[test]
fn converted_logs_equal_the_logs() {
    let folder = scratch("log-convert");
    let logs =
        ["BasicPerfCounters.blg", "esxtop.csv", "perfmon.csv", "limits.csv", "french.csv", "relog.tsv"];
    for name in logs {
        let log = testdata("logs").join(name).display().to_string();
        let file = folder.join(name).with_extension("perfset").display().to_string();
        let (code, out, err) = run("small-vm", &["log", "convert", &log, "-o", &file, "--force"]);
        assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""), "{name}");
        assert_eq!(columns(&file), columns(&log), "{name}");
        let (code, out, _) = run("small-vm", &["log", "info", &file]);
        assert!(code == 0 && out.contains(&format!("converted from {name}")), "{out}");
        // And a part of it.
        let part = folder.join("part.perfset").display().to_string();
        assert_eq!(run("small-vm", &["log", "cut", &file, "-o", &part, "--force"]).0, 0);
        assert_eq!(columns(&part), columns(&log), "{name}");
    }
    // Raw values stay raw, and formatted ones are marked.
    let get = |name: &str, path: &str| {
        let file = folder.join(name).display().to_string();
        run("small-vm", &["get", path, "--log", &file, "--format", "json", "--raw"]).1
    };
    let raw = get("BasicPerfCounters.perfset", r"\Processor(0)\% Processor Time");
    let of_log = ["get", r"\Processor(0)\% Processor Time", "--format", "json", "--raw", "--log"];
    let log = testdata("logs/BasicPerfCounters.blg").display().to_string();
    assert_eq!(raw, run("small-vm", &[&of_log[..], &[&log]].concat()).1);
    assert_eq!(raw.lines().count(), 601);
}

#[test]
fn wrong_conversions_say_why() {
    let folder = scratch("log-convert-wrong");
    let two = folder.join("two.csv");
    let header = r#""(PDH-CSV 4.0) (UTC)(0)","\\ONE\Memory\Pages/sec","\\TWO\Memory\Pages/sec""#;
    fs::write(&two, format!("{header}\r\n\"11/05/2026 10:00:00.000\",\"1\",\"2\"\r\n")).unwrap();
    let (two, file) = (two.display().to_string(), folder.join("x.perfset").display().to_string());
    let empty = folder.join("empty.blg").display().to_string();
    fs::write(&empty, "").unwrap();
    let cut = folder.join("cut.blg");
    let blg = testdata("logs/BasicPerfCounters.blg");
    fs::write(&cut, fs::read(&blg).unwrap().get(..200_000).unwrap()).unwrap();
    let cut = cut.display().to_string();
    let convert = |words: &[&str]| run("small-vm", &[&["log", "convert"], words, &["-o", &file]].concat());
    for (words, want, message) in [
        (&[&*two][..], 2, "several machines: ONE, TWO\n  choose one with --machine"),
        (&[&two, "--machine", "THREE"], 3, "no counters of a machine \"THREE\"; it has: ONE, TWO"),
        (&["no-such-file"], 4, "no-such-file"),
        (&[text(&folder)], 2, "is a recording already"),
        (&[&empty], 5, "the file is empty"),
    ] {
        let (code, out, err) = convert(words);
        assert!(code == want && err.contains(message) && out.is_empty(), "{words:?}: {code} {out} {err}");
        assert!(!Path::new(&file).exists(), "{words:?}");
    }
    assert_eq!(convert(&[&two, "--machine", "two"]).0, 0);
    let (code, out, _) = run("small-vm", &["get", r"\Memory\Pages/sec", "--log", &file, "--format", "json"]);
    assert!(code == 0 && out.contains("\"value\":2.0") && out.contains("formatted"), "{out}");
    let (code, _, err) = convert(&[&two, "--machine", "two"]);
    assert!(code == 2 && err.contains("exists; --force overwrites it"), "{code} {err}");
    // What a damaged log has is converted.
    let (code, _, err) = convert(&[&cut, "--force"]);
    assert!(code == 5 && err.contains("the file is cut"), "{code} {err}");
    let (code, out, _) = run("small-vm", &["log", "info", &file]);
    assert!(code == 0 && out.contains("samples   254,"), "{out}");
}
