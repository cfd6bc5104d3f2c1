//! Tests that values stay with the names that they were recorded under: random logs and the output of `relog` and
//! `get`.
//!
//! The expected values come from the generator, never from a reader of this project.

#[path = "../../../log/src/blg/building.rs"]
mod building;
#[path = "../../../log/src/blg/raw.rs"]
#[allow(dead_code, missing_docs, reason = "the builder takes what it needs")]
mod raw;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use perfset_core::CounterType;
use rusqlite::Connection;
use serde_json::Value;

use crate::running::{self, scratch};

fn run(args: &[&str]) -> (i32, String, String) {
    running::run("small-vm", args)
}

fn good(args: &[&str]) -> String {
    let (code, out, err) = run(args);
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    out
}

/// Returns a PDH-CSV log of these counter paths, with one line for each time in milliseconds.
fn csv(paths: &[&str], lines: &[(i64, &[Option<i64>])]) -> String {
    let mut text = "\"(PDH-CSV 4.0) (UTC)(0)\"".to_owned();
    for path in paths {
        text += &format!(",\"{path}\"");
    }
    text += "\r\n";
    for (ms, values) in lines {
        text += &format!("\"{}\"", time_of(*ms));
        for value in *values {
            text += &value.map_or(",\" \"".to_owned(), |value| format!(",\"{value}\""));
        }
        text += "\r\n";
    }
    text
}

/// Returns the time that a text log has for a number of milliseconds after 10:00.
fn time_of(ms: i64) -> String {
    let (s, ms) = (ms / 1_000, ms % 1_000);
    format!("11/05/2026 {:02}:{:02}:{:02}.{ms:03}", 10 + s / 3_600, s / 60 % 60, s % 60)
}

/// Returns the milliseconds after 10:00 of a text log's time, which ends in `HH:MM:SS.mmm`.
fn ms_of(time: &str) -> i64 {
    let time = &time[time.len() - 12..];
    let n = |range: std::ops::Range<usize>| time[range].parse::<i64>().unwrap();
    ((n(0..2) - 10) * 3_600 + n(3..5) * 60 + n(6..8)) * 1_000 + n(9..12)
}

/// Values of logs by counter path in lower case, each with its time in milliseconds after 10:00.
type Values = BTreeMap<String, BTreeSet<(i64, i64)>>;

fn add(all: &mut Values, path: &str, ms: i64, value: i64) {
    assert!(all.entry(path.to_lowercase()).or_default().insert((ms, value)), "{path} {ms} {value} twice");
}

/// Returns the counter paths and the values of a text log that a command has written.
fn of_text(text: &str, separator: char) -> (Vec<String>, Values) {
    let mut lines = text.lines().map(|line| {
        line.trim_matches('"').split(&format!("\"{separator}\"")).map(str::to_owned).collect::<Vec<_>>()
    });
    let head = lines.next().unwrap();
    let mut all = Values::new();
    for line in lines {
        assert_eq!(line.len(), head.len());
        for (path, cell) in head.iter().zip(&line).skip(1).filter(|(_, cell)| !cell.trim().is_empty()) {
            add(&mut all, path, ms_of(&line[0]), cell.parse::<f64>().unwrap() as i64);
        }
    }
    (head[1..].to_vec(), all)
}

fn of_json(text: &str) -> Values {
    let mut all = Values::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let time = record["time"].as_str().unwrap().trim_end_matches('Z').to_owned();
        let path = format!(r"\\H{}", record["path"].as_str().unwrap());
        if let Some(value) = record["value"].as_f64() {
            add(&mut all, &path, ms_of(&time), value as i64);
        }
    }
    all
}

fn of_sqlite(file: &Path) -> Values {
    let db = Connection::open(file).unwrap();
    let mut rows = db
        .prepare(
            "SELECT MachineName, ObjectName, ParentName, InstanceName, InstanceIndex, CounterName, CounterDateTime,
             CounterValue FROM CounterData JOIN CounterDetails USING (CounterID)",
        )
        .unwrap();
    let mut rows = rows.query([]).unwrap();
    let mut all = Values::new();
    while let Some(row) = rows.next().unwrap() {
        let text = |at: usize| row.get::<_, Option<String>>(at).unwrap();
        let index = row.get::<_, Option<i64>>(4).unwrap().unwrap_or(0);
        let instance = text(3).map(|name| {
            let parent = text(2).map(|parent| format!("{parent}/")).unwrap_or_default();
            let index = if index == 0 { String::new() } else { format!("#{index}") };
            format!("({parent}{name}{index})")
        });
        let path = format!(
            r"{}\{}{}\{}",
            text(0).unwrap(),
            text(1).unwrap(),
            instance.unwrap_or_default(),
            text(5).unwrap()
        );
        let time = text(6).unwrap();
        if let Some(value) = row.get::<_, Option<f64>>(7).unwrap() {
            add(&mut all, &path, ms_of(&time), value as i64);
        }
    }
    all
}

/// Returns the values that relog writes in each format, after checking the paths that it lists.
fn relogged(folder: &Path, files: &[String]) -> Vec<(&'static str, Values)> {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let write = |name: &str| {
        let to = folder.join(name);
        good(&[&["relog"], &files[..], &["--force", "-o", to.to_str().unwrap()]].concat());
        to
    };
    let text = |name: &str| fs::read_to_string(write(name)).unwrap();
    let (paths, csv) = of_text(&text("out.csv"), ',');
    let listed = good(&[&["relog"], &files[..], &["--list"]].concat());
    assert_eq!(listed.lines().collect::<Vec<_>>(), paths);
    let json = good(&[&["relog"], &files[..], &["-o", "-", "--format", "json"]].concat());
    vec![
        ("csv", csv),
        ("tsv", of_text(&text("out.tsv"), '\t').1),
        ("json", of_json(&json)),
        ("sqlite", of_sqlite(&write("out.db"))),
    ]
}

/// Writes logs into a directory, and returns the paths of their files.
fn written(folder: &Path, logs: &[Vec<u8>]) -> Vec<String> {
    let write = |(number, log): (usize, &Vec<u8>)| {
        let file = folder.join(format!("{number}.log"));
        fs::write(&file, log).unwrap();
        file.display().to_string()
    };
    logs.iter().enumerate().map(write).collect()
}

#[test]
fn values_stay_with_instances_that_come_and_go() {
    let folder = scratch("identity-come-and-go");
    let logs = [
        csv(&[r"\\H\P(x)\V", r"\\H\P(y)\V"], &[(0, &[Some(1), Some(2)])]),
        csv(&[r"\\H\P(y)\V", r"\\H\P(z)\V"], &[(1_000, &[Some(3), Some(4)])]),
    ];
    let files = written(&folder, &logs.map(String::into_bytes));
    let mut want = Values::new();
    for (path, ms, value) in [("x", 0, 1), ("y", 0, 2), ("y", 1_000, 3), ("z", 1_000, 4)] {
        add(&mut want, &format!(r"\\H\P({path})\V"), ms, value);
    }
    for (format, got) in relogged(&folder, &files) {
        assert_eq!(got, want, "{format}");
    }
    let get =
        |format: &str| good(&["get", "--log", &files[0], "--log", &files[1], r"\P(*)\V", "--format", format]);
    assert_eq!(of_text(&get("pdh-csv"), ',').1, want);
    assert_eq!(of_json(&get("json")), want);
}

#[test]
fn the_first_sample_of_the_next_log_is_there() {
    let folder = scratch("identity-next-log");
    let x = [r"\\H\P(x)\V"];
    let logs = [
        csv(&x, &[(0, &[Some(1)]), (10_000, &[Some(2)]), (20_000, &[Some(3)])]),
        csv(&x, &[(21_000, &[Some(4)]), (81_000, &[Some(5)])]),
    ];
    let files = written(&folder, &logs.map(String::into_bytes));
    let want: BTreeSet<(i64, i64)> =
        [(0, 1), (10, 2), (20, 3), (21, 4), (81, 5)].map(|(s, v)| (s * 1_000, v)).into();
    for (format, got) in relogged(&folder, &files) {
        assert_eq!(got[r"\\h\p(x)\v"], want, "{format}");
    }
}

/// Checks that two spellings of a name are one instance by one rule everywhere. These differ as small letters and
/// have one capital. When one place took them for two, the samples were put together and values of one of them were
/// lost.
#[test]
fn letters_with_one_capital_are_one_name() {
    let folder = scratch("identity-letters");
    let logs = [
        csv(&["\\\\H\\P(\u{3c2})\\V"], &[(0, &[Some(1)]), (10_000, &[Some(2)]), (20_000, &[Some(3)])]),
        csv(&["\\\\H\\P(\u{3a3})\\V"], &[(1_000, &[Some(1)]), (11_000, &[Some(5)]), (21_000, &[Some(3)])]),
    ];
    let files = written(&folder, &logs.map(String::into_bytes));
    let want: BTreeSet<(i64, i64)> =
        [(0, 1), (1, 1), (10, 2), (11, 5), (20, 3), (21, 3)].map(|(s, v)| (s * 1_000, v)).into();
    for (format, got) in relogged(&folder, &files) {
        let all: BTreeSet<_> = got.into_values().flatten().collect();
        assert_eq!(all, want, "{format}");
    }
}

/// Checks that two different values of one counter at one time are reported. So is a value that is raw in one log and
/// formatted in the other.
#[test]
fn values_that_contradict_are_reported() {
    let folder = scratch("identity-contradict");
    let x = [r"\\H\P(x)\V"];
    let log = |value| csv(&x, &[(0, &[Some(value)])]).into_bytes();
    let mut random = Random(1);
    let binary = loop {
        let log = binary_log(&mut random, "P", &[1_000], &mut Events::default());
        if log.values.iter().any(|(path, ..)| path == x[0]) {
            break log;
        }
    };
    let cases = csv(&[x[0], r"\\h\p(X)\v"], &[(0, &[Some(1), Some(2)])]);
    for (logs, reported) in [
        (vec![log(1), log(1)], ""),
        (vec![log(1), log(2)], r"1.log: at byte 39: two values of \\H\P(x)\V at 2026-11-05 10:00:00.000 UTC"),
        (vec![cases.into_bytes()], "names compared without case: 1 is used, 2 is left out\n"),
        (vec![log(1), binary.bytes.clone()], "the counter's type changed from PERF_DOUBLE_RAW to"),
        (vec![binary.bytes, log(1)], "the counter's type changed from PERF_COUNTER_LARGE_RAWCOUNT to"),
    ] {
        let files = written(&folder, &logs);
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        for format in ["csv", "json"] {
            let (code, out, err) = run(&[&["relog"], &files[..], &["-o", "-", "--format", format]].concat());
            assert_eq!(code, if reported.is_empty() { 0 } else { 5 }, "{reported}: {err}");
            assert!(!out.is_empty() && err.contains(reported), "{err}, not {reported}");
        }
    }
}

/// Generator of pseudo-random numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.next(100) < percent
    }
}

/// Number of times that each kind of event was put into a random log.
#[derive(Debug, Default)]
struct Events {
    begins: u32,
    ends: u32,
    returns: u32,
    twins: u32,
    other_case: u32,
    missing: u32,
    follows_soon: u32,
    parallel: u32,
    same_time: u32,
}

/// Randomly generated log: its bytes, and its values with counter path and time.
struct OneLog {
    bytes: Vec<u8>,
    values: Vec<(String, i64, i64)>,
}

const NAMES: [&str; 7] = ["x", "y", "long name", "p/child", "_Total", "x#7", "0,1"];
const STEP: i64 = 1_000;

/// Returns a value that is a different one for each counter path and time.
fn value_of(path: &str, ms: i64) -> i64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for byte in path.to_lowercase().bytes().chain(ms.to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    }
    (hash >> 24) as i64 & 0xFFFF_FFFF
}

fn text_log(random: &mut Random, set: &str, times: &[i64], events: &mut Events) -> OneLog {
    let mut paths: Vec<String> = Vec::new();
    for name in NAMES {
        for counter in ["V", "% W"] {
            if random.chance(40) {
                let name = if random.chance(10) {
                    events.other_case += 1;
                    name.to_uppercase()
                } else {
                    name.to_owned()
                };
                paths.push(format!(r"\\H\{set}({name})\{counter}"));
            }
        }
    }
    if paths.is_empty() {
        paths.push(format!(r"\\H\{set}(x)\V"));
    }
    let mut values = Vec::new();
    let mut lines = Vec::new();
    for ms in times {
        let mut line = Vec::new();
        for path in &paths {
            let value = (!random.chance(10)).then(|| value_of(path, *ms));
            events.missing += u32::from(value.is_none());
            values.extend(value.map(|value| (path.clone(), *ms, value)));
            line.push(value);
        }
        lines.push((*ms, line));
    }
    let lines: Vec<(i64, &[Option<i64>])> = lines.iter().map(|(ms, line)| (*ms, &**line)).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    OneLog { bytes: csv(&paths, &lines).into_bytes(), values }
}

fn binary_log(random: &mut Random, set: &str, times: &[i64], events: &mut Events) -> OneLog {
    const LIST: u8 = 0x20;
    const SAMPLE: u8 = 0x22;
    /// Time of 10:00 UTC on the day of the text logs, as local time where the real binary log was written: its reader
    /// takes it so.
    const START: i64 = 134_383_464_000_000_000 - 7 * 3_600 * 10_000_000;
    let counter = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let list = ["V", "% W"].map(|name| building::entry(1, counter, 0, &format!(r"\\H\{set}(*)\{name}")));
    let mut builder = building::Builder::new().record(LIST, &building::list_of(&list));
    let mut values = Vec::new();
    let mut there: Vec<&str> = Vec::new();
    let mut ended: BTreeSet<&str> = BTreeSet::new();
    for ms in times {
        for name in NAMES {
            if random.chance(35) {
                if let Some(at) = there.iter().position(|known| *known == name) {
                    there.remove(at);
                    ended.insert(name);
                    events.ends += 1;
                } else {
                    there.insert(random.next(there.len() as u64 + 1) as usize, name);
                    events.begins += 1;
                    events.returns += u32::from(ended.contains(name));
                }
            } else if random.chance(5) && there.contains(&name) {
                there.push(name);
                events.twins += 1;
            }
        }
        let mut blocks = Vec::new();
        for counter in ["V", "% W"] {
            let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
            let mut items = Vec::new();
            for name in &there {
                let occurrence = seen.entry(name).or_default();
                let number = if *occurrence == 0 { String::new() } else { format!("#{occurrence}") };
                *occurrence += 1;
                let path = format!(r"\\H\{set}({name}{number})\{counter}");
                let value = value_of(&path, *ms);
                items.push((*name, value, 0));
                values.push((path, *ms, value));
            }
            blocks.push(building::several(&items));
        }
        let blocks: Vec<(u8, &[u8])> = blocks.iter().map(|body| (2, &**body)).collect();
        builder = builder.at(START + ms * 10_000).record(SAMPLE, &building::sample(&blocks));
    }
    OneLog { bytes: builder.finish(), values }
}

/// Generates random logs of the same counters that follow each other, and sometimes one of other counters beside
/// them.
fn random_logs(random: &mut Random, events: &mut Events) -> Vec<OneLog> {
    let mut logs = Vec::new();
    let mut begin = 0;
    // Values that are raw in one log and formatted in another one are not those of one counter.
    let log = if random.chance(50) { text_log } else { binary_log };
    for _ in 0..1 + random.next(3) {
        let times: Vec<i64> = (0..1 + random.next(5) as i64).map(|n| begin + n * STEP).collect();
        logs.push(log(random, "P", &times, events));
        // The next one begins at once, soon, at the usual step, or late.
        let gap = [1, 200, 450, STEP, 5 * STEP][random.next(5) as usize];
        events.follows_soon += u32::from(gap < STEP / 2);
        begin = times.last().unwrap() + gap;
    }
    if random.chance(50) {
        events.parallel += 1;
        let offset = [0, 0, 100, 300][random.next(4) as usize];
        events.same_time += u32::from(offset == 0);
        let times: Vec<i64> = (0..1 + random.next(8) as i64).map(|n| offset + n * STEP).collect();
        let log = if random.chance(50) { text_log } else { binary_log };
        let at = random.next(logs.len() as u64 + 1) as usize;
        logs.insert(at, log(random, "Q", &times, events));
    }
    logs
}

/// Checks that every output has each value of each log under its own counter path, and no other value. The time is
/// the value's own, or that of a sample of another log taken at nearly the same time.
#[test]
fn every_value_of_every_log_is_in_every_output() {
    let folder = scratch("identity-random");
    let mut random = Random(20);
    let mut events = Events::default();
    for round in 0..60 {
        let logs = random_logs(&mut random, &mut events);
        let mut want = Values::new();
        for (path, ms, value) in logs.iter().flat_map(|log| &log.values) {
            add(&mut want, path, *ms, *value);
        }
        let bytes: Vec<Vec<u8>> = logs.into_iter().map(|log| log.bytes).collect();
        let files = written(&folder, &bytes);
        for (format, got) in relogged(&folder, &files) {
            assert_eq!(got.keys().collect::<Vec<_>>(), want.keys().collect::<Vec<_>>(), "{round} {format}");
            for (path, want) in &want {
                let values =
                    |of: &BTreeSet<(i64, i64)>| of.iter().map(|(_, value)| *value).collect::<Vec<_>>();
                let got = &got[path];
                assert_eq!(values(got), values(want), "{round} {format} {path}: {got:?}, not {want:?}");
                for ((got, _), (want, _)) in got.iter().zip(want) {
                    assert!((got - want).abs() < STEP / 2, "{round} {format} {path}: at {got}, not {want}");
                }
            }
        }
    }
    let Events { begins, ends, returns, twins, other_case, missing, follows_soon, parallel, same_time } =
        events;
    println!("{events:?}");
    let all = [begins, ends, returns, twins, other_case, missing, follows_soon, parallel, same_time];
    assert!(all.iter().all(|count| *count > 0), "{all:?}");
}

/// Checks that names in every output are those of the source, in whatever case the counter path was typed.
#[test]
fn names_are_canonical_in_every_output() {
    let typed = [
        r"\PROCESSOR information(_total)\% c1 TIME",
        r"\memory\AVAILABLE bytes",
        r"\processor(0)\% IDLE time",
    ];
    for options in [
        &["--format", "json"][..],
        &["--format", "csv"],
        &["--format", "pdh-csv"],
        &["--format", "table"],
        &["--format", "table", "--raw"],
        &["--summary"],
        &["--top", "1"],
    ] {
        let (code, out, err) = run(&[&["get", "--warmup", "0.01"], &typed[..], options].concat());
        assert_eq!((code, err.as_str()), (0, ""), "{options:?}");
        for wrong in ["_total", "PROCESSOR", "c1", " TIME", r"\memory", "AVAILABLE", "IDLE"] {
            assert!(!out.contains(wrong), "{options:?} has {wrong}: {out}");
        }
        assert!(options[0] == "--top" || out.contains("_Total"), "{options:?}: {out}");
    }
    let log = running::testdata("logs/BasicPerfCounters.blg").display().to_string();
    for path in [r"\processor(_TOTAL)\% processor TIME", r"\physicaldisk(0 c:)\avg. disk bytes/READ"] {
        for format in ["json", "csv", "pdh-csv", "table"] {
            let out = good(&["get", "--log", &log, path, "--format", format]);
            for wrong in ["_TOTAL", "% processor", " TIME", "0 c:", "avg.", "READ"] {
                assert!(!out.contains(wrong), "{format} has {wrong}: {}", out.lines().next().unwrap());
            }
        }
        let out = good(&["relog", &log, "-c", path, "-o", "-", "--every", "300"]);
        assert!(
            out.contains(r"(_Total)\% Processor Time") || out.contains(r"(0 C:)\Avg. Disk Bytes/Read"),
            "{out}"
        );
    }
}

/// Checks that a file which is not regular is refused as a log without waiting: a pipe gives its bytes once, and a
/// log is read twice.
#[test]
fn a_device_is_no_log() {
    for command in [&["relog", "/dev/null", "-o", "-"][..], &["list", "--log", "/dev/null"]] {
        let (code, out, err) = run(command);
        assert_eq!((code, out.as_str()), (5, ""), "{err}");
        assert!(
            err.starts_with("error: /dev/null: the log is not a regular file: it is read more than once"),
            "{err}"
        );
    }
}

/// Checks that a cut log is reported at any length, with exit code 5.
#[test]
fn a_cut_of_any_length_is_reported() {
    const BUFFER: usize = 64 << 10;
    let folder = scratch("identity-cut");
    let file = folder.join("cut").display().to_string();
    let [blg, csv] = ["BasicPerfCounters.blg", "perfmon.csv"]
        .map(|name| fs::read(running::testdata("logs").join(name)).unwrap());
    let lens = [1, 200, 2_000, 30_000, BUFFER - 1, BUFFER, BUFFER + 1, 3 * BUFFER, blg.len() - 1];
    let cuts = lens.map(|len| &blg[..len]).into_iter().chain([&csv[..100], &csv[..csv.len() - 10]]);
    for cut in cuts {
        fs::write(&file, cut).unwrap();
        let (code, out, err) = run(&["log", "info", &file]);
        assert!(code == 5 && !out.contains("damage    none"), "{}: {code} {out} {err}", cut.len());
        let commands: [&[&str]; 2] =
            [&["relog", &file, "-o", "-"], &["get", "--log", &file, r"\Processor(*)\*"]];
        for command in commands {
            let (code, _, err) = run(command);
            assert!(code == 5 && err.contains(&file), "{command:?}, {}: {code} {err}", cut.len());
            // A file without a whole header is no log at all: what it lacks is named then.
            let is_named = err.contains("the file is cut") || err.contains(": at byte ") || cut.len() <= 200;
            assert!(is_named, "{command:?}, {}: {err}", cut.len());
        }
    }
    for name in ["empty.blg", "empty.csv"] {
        let file = folder.join(name).display().to_string();
        fs::write(&file, "").unwrap();
        for command in [&["log", "info", &file][..], &["relog", &file, "-o", "-"], &["list", "--log", &file]]
        {
            assert_eq!(run(command), (5, String::new(), format!("error: {file}: the file is empty\n")));
        }
    }
    fs::write(&file, &blg).unwrap();
    assert_eq!(run(&["log", "info", &file]).0, 0);
}
