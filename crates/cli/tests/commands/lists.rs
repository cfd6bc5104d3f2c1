//! Tests that the JSON and CSV of every command that prints a list have the fields in `docs/output.md`.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Map, Value};

use crate::running::{repository, run, scratch, testdata};

/// Row of a table of fields in the documentation.
#[derive(Debug)]
struct Field {
    name: String,
    kind: String,
    meaning: String,
}

/// Returns the rows of the table of fields below a heading of the documentation.
fn rows(heading: &str) -> Vec<Field> {
    let document = fs::read_to_string(repository("docs/output.md")).unwrap();
    let section =
        document.split_once(&format!("\n### {heading}\n")).unwrap_or_else(|| panic!("no {heading}")).1;
    let rows = section.lines().skip_while(|line| !line.starts_with('|')).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let mut next = || cells.next().unwrap_or_default().to_owned();
        Field { name: next().trim_matches('`').to_owned(), kind: next(), meaning: next() }
    })
    .collect()
}

/// Returns the versions of the printed fields, by command, as `perfset --version` prints them.
fn versions() -> Vec<(String, String)> {
    let (_, out, _) = run("small-vm", &["--version"]);
    let versions = out.lines().find_map(|line| line.strip_prefix("JSON and CSV: ")).unwrap();
    versions.split(", ").map(|one| one.rsplit_once(' ').unwrap()).map(|(a, b)| (a.into(), b.into())).collect()
}

/// Returns `true` if a JSON value has the documented type.
fn has_type(kind: &str, value: &Value) -> bool {
    kind.split(", or ").any(|kind| match kind {
        "null" => value.is_null(),
        "text" => value.is_string(),
        "whole number" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "true or false" => value.is_boolean(),
        "array of texts" => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
        "array of objects" => value.as_array().is_some_and(|all| all.iter().all(Value::is_object)),
        other => panic!("no type is named {other}"),
    })
}

/// Returns the records of a CSV text, parsed by RFC 4180.
fn csv(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut cell, mut is_quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(std::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                record.push(std::mem::take(&mut cell));
                records.push(std::mem::take(&mut record));
            }
            c => cell.push(c),
        }
    }
    assert!(record.is_empty() && cell.is_empty() && !is_quoted, "the last line has no end");
    records
}

/// Returns a JSON value as a cell of CSV contains it.
fn as_cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => format!("'{text}"),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap().to_string(),
        other => other.to_string(),
    }
}

/// Returns the arguments of each documented command, for outputs that together have every kind of value.
fn commands(test: &str) -> Vec<(&'static str, Vec<Vec<String>>)> {
    let words = |all: &[&str]| all.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let file = |path: &str| testdata(path).display().to_string();
    let folder = scratch(&format!("{test}-providers"));
    let waves = testdata("manifests/waves.man").display().to_string();
    let install = ["provider", "install", &waves, "--dir", folder.to_str().unwrap()];
    assert_eq!(run("small-vm", &install).0, 0);
    fs::write(folder.join("broken.man"), "<no manifest").unwrap();
    let mistyped = scratch(&format!("{test}-manifests")).join("mistyped.man");
    let waves = fs::read_to_string(testdata("manifests/waves.man")).unwrap();
    fs::write(&mistyped, waves.replacen("perf_average_timer", "perf_averge_timer", 1)).unwrap();
    let mistyped = mistyped.display().to_string();
    let cut = scratch(&format!("{test}-logs")).join("cut.blg");
    let whole = testdata("logs/BasicPerfCounters.blg");
    fs::write(&cut, &fs::read(&whole).unwrap()[..200_000]).unwrap();
    let gap = scratch(&format!("{test}-gaps")).join("gap.csv");
    let line = |second: u32| format!("\"11/21/2026 21:00:{second:02}.000\",\"1\"\r\n");
    let lines: String = [1, 2, 3, 40].map(line).concat();
    fs::write(&gap, format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\m\\A\\B\"\r\n{lines}")).unwrap();
    let gap = gap.display().to_string();
    let recording = scratch(&format!("{test}-recording")).join("recording").display().to_string();
    assert_eq!(run("small-vm", &["record", "--dir", &recording, "mem", "10ms", "1"]).0, 0);
    vec![
        ("list", vec![words(&["list"]), words(&["list", "mem"])]),
        ("find", vec![words(&["find", "swap"])]),
        (
            "describe",
            vec![
                words(&["describe", "--all", "processor information"]),
                words(&["describe", "memory", "% Committed Bytes In Use"]),
                words(&["describe", "physicaldisk"]),
            ],
        ),
        ("instances", vec![words(&["instances", "processor inf"]), words(&["instances", "memory"])]),
        ("doctor", vec![words(&["doctor"])]),
        ("log info", vec![words(&["log", "info", &cut.display().to_string(), &gap, &recording])]),
        (
            "dump",
            vec![
                words(&["dump", &file("v2/small-vm.bin")]),
                words(&["dump", "--lenient", &file("v1/wine8_global_as_returned.bin")]),
                words(&["dump", "--lenient", &file("v1/samba417_global.bin")]),
            ],
        ),
        ("manifest check", vec![words(&["manifest", "check", &file("manifests/waves.man"), &mistyped])]),
        ("provider list", vec![words(&["provider", "list", "--dir", &folder.display().to_string()])]),
    ]
}

fn printed(args: &[String], more: &[&str]) -> String {
    let args: Vec<_> = args.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let (code, out, err) = run("small-vm", &args);
    assert!([0, 5].contains(&code), "{args:?}: {code}: {err}");
    out
}

#[test]
fn every_schema_of_the_documentation_is_that_of_the_command() {
    let commands = commands("schemas");
    let mut names: Vec<_> = commands.iter().map(|(name, _)| *name).collect();
    names.insert(0, "get");
    let versions = versions();
    assert_eq!(versions.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
    for (name, runs) in commands {
        let version = &versions.iter().find(|(known, _)| known == name).unwrap().1;
        let fields = rows(&format!("`{name}`, version {version}"));
        let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
        assert!(fields.iter().all(|field| !field.meaning.is_empty()), "{name}: {fields:?}");
        // Fields that had a value other than null in some entry: a field that never has one would not be checked.
        let mut filled = BTreeSet::new();
        for args in &runs {
            let json = printed(args, &["--format", "json"]);
            let objects: Vec<Map<String, Value>> =
                json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert!(!objects.is_empty(), "{args:?}");
            for object in &objects {
                let keys: BTreeSet<_> = object.keys().map(String::as_str).collect();
                assert_eq!(keys, names.iter().copied().collect(), "{args:?}");
                for field in &fields {
                    let value = &object[&field.name];
                    assert!(has_type(&field.kind, value), "{name}: {field:?}: {value}");
                    if !value.is_null() && *value != serde_json::json!([]) {
                        filled.insert(field.name.clone());
                    }
                }
            }
            let lines = csv(&printed(args, &["--format", "csv"]));
            assert_eq!(lines[0], names, "{args:?}");
            assert_eq!(lines.len() - 1, objects.len(), "{args:?}");
            // The cost of a collection differs from run to run.
            let is_same_each_time = name != "doctor";
            for (line, object) in lines[1..].iter().zip(&objects).filter(|_| is_same_each_time) {
                let cell = |name: &&str| match object.get(*name) {
                    Some(Value::Array(words)) if *name == "matched" => {
                        words.iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(" ")
                    }
                    value => as_cell(value.unwrap()),
                };
                assert_eq!(*line, names.iter().map(cell).collect::<Vec<_>>(), "{args:?}");
            }
        }
        let never = |name: &&&str| !filled.contains(**name);
        let unfilled: Vec<_> = names.iter().filter(never).collect();
        let excused: &[&str] = if name == "doctor" { &["counterset", "instances", "counters"] } else { &[] };
        assert!(unfilled.iter().all(|name| excused.contains(name)), "{name}: never a value: {unfilled:?}");
    }
}

#[test]
fn objects_inside_arrays_have_the_documented_fields() {
    for (name, runs) in commands("arrays") {
        let fields = rows(&format!("`{name}`, version 1"));
        for field in fields.iter().filter(|field| field.kind == "array of objects") {
            let mut seen = BTreeSet::new();
            for args in &runs {
                let json = printed(args, &["--format", "json"]);
                for line in json.lines() {
                    let object: Map<String, Value> = serde_json::from_str(line).unwrap();
                    for inner in object[&field.name].as_array().unwrap() {
                        seen.extend(inner.as_object().unwrap().keys().cloned());
                    }
                }
            }
            let lacks = |key: &&String| !field.meaning.contains(&format!("`{key}`"));
            // What is unusual has the fields of what is broken.
            let missing: Vec<_> = seen.iter().filter(lacks).filter(|_| field.name != "unusual").collect();
            assert!(missing.is_empty(), "{name}: {}: {missing:?}", field.name);
            assert!(!seen.is_empty(), "{name}: {} is always empty", field.name);
        }
    }
}

#[test]
fn keywords_are_documented() {
    let column = |heading: &str| rows(heading).into_iter().map(|row| row.name).collect::<BTreeSet<_>>();
    let values = |args: &[&str], name: &str| {
        let (code, out, err) = run("small-vm", &[args, &["--format", "json"]].concat());
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        let of = |line: &str| {
            let object: Map<String, Value> = serde_json::from_str(line).unwrap();
            object[name].as_str().unwrap().to_owned()
        };
        out.lines().map(of).collect::<BTreeSet<_>>()
    };
    let types = values(&["list"], "instance_type");
    assert!(types.len() > 1 && types.is_subset(&column("Instance types")), "{types:?}");
    let checks = values(&["doctor"], "check");
    assert!(checks.len() > 4 && checks.is_subset(&column("Checks")), "{checks:?}");
    // The rest is read from the source, because no machine has every problem.
    let source = fs::read_to_string(repository("crates/cli/src/doctor.rs")).unwrap();
    let source = source.split_once("#[cfg(test)]").unwrap().0.replace(['\n', ' '], "");
    let calls = source.split("CheckResult::").skip(1).filter_map(|call| call.split_once('"'));
    let named = calls.filter(|(before, _)| before.len() < 30);
    let named: BTreeSet<_> = named.map(|(_, rest)| rest.split('"').next().unwrap().to_owned()).collect();
    assert_eq!(named, column("Checks"));
}

#[test]
fn json_is_a_short_form() {
    for args in [&["list", "mem"][..], &["instances", "memory"], &["find", "swap"]] {
        let short = run("small-vm", &[args, &["--json"]].concat());
        assert_eq!(short, run("small-vm", &[args, &["--format", "json"]].concat()), "{args:?}");
        assert_eq!(run("small-vm", &[args, &["--json", "--format", "csv"]].concat()).0, 2);
    }
    let (code, out, err) = run("small-vm", &["doctor", "--capture", "x", "--json"]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
}

#[test]
fn names_of_others_control_neither_format() {
    let file = scratch("lists-names").join("names.csv");
    let header = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\m\\Disk(=a\u{1b}[31m)\\By,tes\u{202e}\"\r\n";
    fs::write(&file, format!("{header}\"11/21/2026 21:00:00.000\",\"1\"\r\n")).unwrap();
    let file = file.to_str().unwrap();
    let json = run("small-vm", &["instances", "disk", "--log", file, "--json"]).1;
    assert!(json.contains(r#""instance":"=a\u001b[31m""#), "{json}");
    let table = run("small-vm", &["instances", "disk", "--log", file, "--format", "csv"]).1;
    assert!(table.ends_with(",\"'=a\u{1b}[31m\",0\n"), "{table:?}");
    let table = run("small-vm", &["describe", "disk", "--log", file, "--format", "csv"]).1;
    assert!(table.contains("\"By,tes\u{202e}\""), "{table:?}");
}

/// Checks that a command which finds no entry prints nothing, not even a header.
#[test]
fn an_error_prints_no_header() {
    for args in
        [&["list", "xyzzy"][..], &["instances", "xyzzy"], &["describe", "xyzzy"], &["find", "xyzzyplugh"]]
    {
        let (code, out, _) = run("small-vm", &[args, &["--format", "csv"]].concat());
        assert_eq!((code, out.as_str()), (3, ""), "{args:?}");
    }
}

/// Checks that only tables have units for people, such as B/s; output for programs has the unit of UCUM.
#[test]
fn units_are_for_people_in_tables_alone() {
    let table = run("small-vm", &["describe", "physicaldisk", "Disk Bytes/sec"]).1;
    assert!(table.contains("\nunit  B/s\n"), "{table}");
    let table = run("small-vm", &["describe", "physicaldisk"]).1;
    assert!(table.contains("  B/s   ") && !table.contains("By/s"), "{table}");
    let json = run("small-vm", &["describe", "physicaldisk", "Disk Bytes/sec", "--json"]).1;
    assert!(json.contains(r#""unit":"By/s""#), "{json}");
}
