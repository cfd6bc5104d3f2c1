//! Tests of `perfset find`: its table, its formats, and its messages.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Map, Value};

use crate::publishing::Published;
use crate::running::{outcome, perfset, repository, run, scratch};

/// Returns the output of a successful `perfset find` on the kernel files of `small-vm`.
fn find(args: &[&str]) -> String {
    let (code, out, err) = run("small-vm", &[&["find"], args].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    out
}

#[test]
fn the_best_counter_comes_first_and_a_command_for_it_last() {
    for (words, first) in [
        (vec!["cpu", "usage"], r"\Processor Information(*)\% Processor Time"),
        (vec!["iowait"], r"\Linux Processor(*)\% I/O Wait Time"),
        (vec!["rss"], r"\Process V2(*)\Working Set"),
        (vec!["latency"], r"\LogicalDisk(*)\Avg. Disk sec/Transfer"),
        (vec!["disk full"], r"\LogicalDisk(*)\% Free Space"),
        (vec![r"\Memory\Available Bytes"], r"\Memory\Available Bytes"),
        (vec!["AVAILABLE bytes"], r"\Memory\Available Bytes"),
    ] {
        let out = find(&words);
        assert!(out.starts_with(first), "{words:?}: {out}");
        let last = out.lines().last().unwrap();
        assert_eq!(last, format!("Values: perfset get '{first}' 1"));
    }
}

#[test]
fn the_table_has_twenty_lines_of_whole_words() {
    let out = find(&["memory"]);
    let (table, below) = out.split_once("\n\n").unwrap();
    assert_eq!(table.lines().count(), 20);
    let more = below.lines().next().unwrap().strip_suffix(" more: --all").unwrap();
    let all = find(&["memory", "--all"]);
    let all = all.split_once("\n\n").unwrap().0;
    assert_eq!(all.lines().count(), 20 + more.parse::<usize>().unwrap());
    let helps = fs::read_to_string(repository("docs/countersets/memory.md")).unwrap();
    for line in all.lines() {
        let (path, help) = line.split_once("  ").unwrap_or((line, ""));
        let is_long = path.chars().count() > 64;
        assert!(line.chars().count() <= 80 || is_long && help.is_empty(), "{line}");
        let help = help.trim().strip_prefix("Not on this system: ").unwrap_or(help.trim());
        if let (Some(help), true) = (help.strip_suffix(" …"), path.starts_with(r"\Memory\")) {
            let ends_word =
                |(at, part): (usize, &str)| helps[at + part.len()..].starts_with([' ', ',', ':', '.']);
            assert!(helps.match_indices(help).any(ends_word), "a word is cut: {line}");
        }
    }
}

#[test]
fn a_mistyped_word_is_answered_with_the_nearest() {
    let (code, out, err) = run("small-vm", &["find", "disk", "latncy"]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert_eq!(err, "error: nothing has 'latncy'; did you mean 'latency'?\n");
    let (code, _, err) = run("small-vm", &["find", "\u{1b} xyzzyplugh"]);
    assert!(code == 3 && err.contains("nothing has 'xyzzyplugh'") && !err.contains('\u{1b}'), "{err}");
    let (code, _, err) = run("small-vm", &["find", "\u{1b}\u{202e}"]);
    assert_eq!((code, err.as_str()), (3, "error: nothing has '\\u{1b}\\u{202e}'\n"));
}

#[test]
fn a_search_without_a_full_match_says_so() {
    let (code, out, err) = run("small-vm", &["find", "throttled", "periods", "joules"]);
    assert_eq!(code, 0);
    assert_eq!(err, "note: no counter has all of: throttled periods joules; these have most of them\n");
    assert!(out.starts_with(r"\CGroup(*)\Throttled Periods/sec"), "{out}");
}

#[test]
fn counters_without_a_value_need_all() {
    let (code, out, err) = run("small-vm", &["find", "Data Map Hits %"]);
    let notes = "note: no counter has all of: data map hits; these have most of them\n\
        note: --all shows counters with all of them, without a value here\n";
    assert_eq!((code, err.as_str()), (0, notes));
    assert!(!out.contains("Data Map"), "{out}");
    let (code, _, err) = run("small-vm", &["find", "MDL"]);
    assert_eq!(code, 3);
    assert_eq!(
        err,
        "error: no counter with a value on this system has: MDL
  --all shows those without
"
    );
    let out = find(&["Data Map Hits %", "--all"]);
    let first = out.lines().next().unwrap();
    assert!(
        first.starts_with(r"\Cache\Data Map Hits % ") && first.contains("  Not on this system: "),
        "{out}"
    );
    assert!(!out.contains(" more: "), "{out}");
}

/// Returns the names in the table of fields in the documentation of `perfset find`.
fn documented_fields() -> Vec<String> {
    let document = fs::read_to_string(repository("docs/output.md")).unwrap();
    let section = document.split_once("\n### `find`, version 1\n").unwrap().1;
    let rows = section.lines().skip_while(|line| !line.starts_with('|')).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('|').nth(1).unwrap().trim().trim_matches('`').to_owned()).collect()
}

#[test]
fn json_and_csv_have_the_documented_fields() {
    let fields = documented_fields();
    let csv = find(&["swap", "--format", "csv"]);
    assert_eq!(csv.lines().next().unwrap(), fields.join(","));
    let json = find(&["swap", "--format", "json"]);
    assert!(json.lines().count() > 20, "all counters found");
    assert_eq!(json.lines().count(), csv.lines().count() - 1);
    for (number, line) in (1..).zip(json.lines()) {
        let object: Map<String, Value> = serde_json::from_str(line).unwrap();
        assert_eq!(object.keys().collect::<BTreeSet<_>>(), fields.iter().collect(), "{line}");
        assert_eq!((&object["rank"], &object["is_available"]), (&Value::from(number), &Value::Bool(true)));
        assert_eq!(object["matched"], serde_json::json!(["swap"]), "{line}");
        let texts = ["path", "counterset", "counter", "type", "unit", "help"];
        assert!(texts.iter().all(|field| object[*field].is_string()), "{line}");
    }
    let all = find(&["swap", "--format", "json", "--all"]);
    assert!(all.lines().any(|line| line.contains("\"is_available\":false")), "{all}");
    let (_, out, _) = run("small-vm", &["find", "processor clock", "--format", "csv"]);
    assert!(out.lines().nth(1).unwrap().contains(",processor clock,true"), "{out}");
}

#[test]
fn counters_of_programs_are_found_by_names_and_help_texts() {
    let published = Published::new("found");
    for (words, path) in [
        ("orders/sec", r"\Billing Orders(*)\Orders/sec"),
        ("billing", r"\Billing Orders(*)\"),
        ("wait payment", r"\Billing Orders(*)\Waiting Orders"),
    ] {
        let mut command = perfset("small-vm", &["find", words]);
        let (code, out, err) =
            outcome(command.env("PERFSET_RUNTIME_DIR", published.folder()).output().unwrap());
        assert!(code == 0 && out.starts_with(path), "{words}: {out}{err}");
    }
}

#[test]
fn names_of_others_control_nothing() {
    let file = scratch("find-names").join("names.csv");
    let header = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\m\\Disk(a)\\Ev'il \u{1b}[31m\u{202e}Bytes\"\r\n";
    fs::write(
        &file,
        format!("{header}\"11/21/2026 21:00:00.000\",\"1\"\r\n\"11/21/2026 21:00:01.000\",\"2\"\r\n"),
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let out = find(&["bytes", "--log", file, "--format", "json"]);
    assert!(!out.contains(['\u{1b}', '\u{202e}']), "{out}");
    let out = find(&["ev", "bytes", "--log", file]);
    assert!(!out.contains(['\u{1b}', '\u{202e}']), "{out}");
    let last = out.lines().last().unwrap();
    let quoted = r"Values: perfset get '\Disk(*)\Ev'\''il \u{1b}[31m\u{202e}Bytes' --log '";
    assert!(last.starts_with(quoted), "{last}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_query_may_be_any_bytes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    for query in [&b"\xff\xfe\x1b[2J"[..], b"\x80", b"*?[]{}()\\", b"--", b"''"] {
        let mut command = perfset("small-vm", &["find", "--"]);
        let (code, out, err) = outcome(command.arg(OsStr::from_bytes(query)).output().unwrap());
        assert!([2, 3].contains(&code) && out.is_empty(), "{query:?}: {code}: {out}{err}");
        assert!(!err.contains('\u{1b}') && !err.contains("panicked"), "{query:?}: {err}");
    }
    let long = "memory ".repeat(15_000);
    assert!(find(&[&long]).starts_with(r"\Memory\"));
}
