//! Tests of the tables of `get` with a row per instance, their wide forms for programs, and paths from files.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::running::{outcome, perfset, run, scratch};

const PROCESSES: &str = r"\Process V2(*)\{Working Set,Process ID,Thread Count}";

/// Returns the output of a successful `get` on processes that never change. It must succeed.
fn get(args: &[&str]) -> String {
    let (code, out, err) = run("processes", &[&["get"], args, &["--warmup", "10ms"]].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    out
}

/// Returns the lines of a printed table below its first one, which has the time.
fn block(out: &str) -> Vec<&str> {
    out.lines().skip(1).collect()
}

/// Returns the name of the instance of each row of a printed table, up to the notes.
fn names(block: &[&str]) -> Vec<String> {
    let at = block[0].chars().count() - "instance".len();
    let is_row = |line: &&&str| line.chars().nth(at - 3).is_some_and(|c| c != ' ') && !line.contains(" of ");
    let name = |row: &&str| row.chars().skip(at).collect();
    block
        .iter()
        .skip(1)
        .filter(|line| !line.trim().is_empty())
        .filter(is_row)
        .map(name)
        .filter(|name: &String| !name.is_empty())
        .collect()
}

/// Returns processes and their working sets, largest first, from the JSON output.
fn working_sets() -> Vec<(String, f64)> {
    let json = get(&["/Process V2(*)/Working Set", "--format", "json"]);
    let rows = json.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let value = |row: Value| Some((row["instance"].as_str()?.to_owned(), row["value"].as_f64()?));
    let mut all: Vec<_> =
        rows.filter_map(value).filter(|(name, _)| name != "_Total" && name != "Idle:0").collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    assert!(all.len() > 5, "{all:?}");
    all
}

#[test]
fn rows_are_instances_and_columns_are_counters() {
    let want = working_sets();
    let out = get(&[PROCESSES, "--top", "3"]);
    assert!(out.lines().next().unwrap().ends_with("  Process V2"), "{out}");
    let lines = block(&out);
    let heads: Vec<_> = lines[0].split("  ").filter(|head| !head.is_empty()).map(str::trim).collect();
    assert_eq!(heads, ["Working Set", "Process ID", "Thread Count", "instance"], "{out}");
    assert_eq!(lines[1].trim(), "B", "the unit below the head: {out}");
    assert_eq!(lines[1].len(), lines[0].find("Working Set").unwrap() + "Working Set".len(), "{out}");
    let top: Vec<_> = want.iter().take(3).map(|(name, _)| name.as_str()).collect();
    assert_eq!(names(&lines), top, "{out}");
    // The same counters, of several paths.
    let paths = ["/Process V2(*)/Working Set", "/Process V2(*)/Process ID", "/Process V2(*)/Thread Count"];
    let of_paths = get(&[&paths[..], &["--top", "3"]].concat());
    assert_eq!(block(&of_paths)[..5], lines[..5]);
    // Missing ones are counted in the last lines, with the reason.
    assert!(lines[5..].concat().contains(r"instances of \Process V2(*)\Working Set has no value: "), "{out}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{out}");
}

/// Checks that processes of one name have rows of their own, with their own values.
#[test]
fn rows_do_not_mix_instances() {
    let out = get(&[
        "/Process V2(*)/Process ID",
        "/Process V2(*)/{Thread Count,Working Set}",
        "--sort",
        "instance",
    ]);
    let lines = block(&out);
    let names = names(&lines);
    for (row, name) in lines[2..].iter().zip(&names) {
        assert!(row.ends_with(name.as_str()), "{name}: {out}");
        let (id, pid) = (row.split_whitespace().next().unwrap(), name.rsplit(':').next().unwrap());
        assert!(
            id == pid || name == "_Total" || id == "-",
            "an id is that of its row, without commas: {out}"
        );
    }
    assert!(names.len() > 8 && names.contains(&"same:401".to_owned()), "{out}");
    let (code, out, _) = run("processes", &["get", r"\Process(*)\{ID Process,Thread Count}", "--raw"]);
    let rows: Vec<_> =
        block(&out).into_iter().skip(1).take_while(|row| !row.contains(" instances: ")).collect();
    let ids: Vec<_> = rows.iter().map(|row| row.split_whitespace().next().unwrap()).collect();
    let mut distinct = ids.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(code == 0 && distinct.len() + 1 >= ids.len() && ids.len() > 5, "{out}");
}

#[test]
fn instances_are_sorted_by_any_counter() {
    let first = |args: &[&str]| {
        let out = get(&[&[PROCESSES], args].concat());
        names(&block(&out))
    };
    let by_name = first(&["--sort", "instance"]);
    let mut sorted = by_name.clone();
    sorted.sort();
    assert_eq!(by_name, sorted);
    let by_id = first(&["--sort", "process id", "--top", "3"]);
    let ids: Vec<u32> = by_id.iter().map(|name| name.rsplit(':').next().unwrap().parse().unwrap()).collect();
    assert!(ids.len() == 3 && ids.is_sorted_by(|a, b| a >= b), "{by_id:?}");
    let error = |args: &[&str]| run("processes", &[&["get", PROCESSES], args].concat());
    let (code, out, err) = error(&["--sort", "threads"]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(
        err.starts_with("error: --sort: the paths have no counter \"threads\"\n  nearest: Thread"),
        "{err}"
    );
    let (code, _, err) = error(&["--where", "s>5"]);
    assert!(code == 3 && err.contains("--where: \"s\" is part of several counters: "), "{err}");
}

#[test]
fn conditions_select_instances_by_a_counter() {
    let want = working_sets();
    let limit = want[2].1;
    let more = want.iter().filter(|(_, value)| *value > limit).count();
    let condition = format!("working set>{limit}");
    let out = get(&[PROCESSES, "--where", &condition, "--format", "json"]);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for line in out.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        if row.get("instances").is_none() {
            *seen.entry(row["instance"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    seen.remove("_Total");
    assert_eq!(seen.len(), more, "{out}");
    assert!(seen.values().all(|counters| *counters == 3), "all counters of an instance: {seen:?}");
    // Both must hold.
    let none = ["--where", &condition, "--where", "Thread Count<0"];
    let (code, out, err) = run("processes", &[&["get", PROCESSES], &none[..]].concat());
    assert!(code == 0 && err.contains("no value matches the --where condition"), "{out}{err}");
    // Without a counter, a condition is about each value.
    let out = get(&["/Process V2(*)/{Thread Count,Working Set}", "--where", ">1000"]);
    let rows: Vec<_> = out.lines().filter(|line| line.starts_with("    ") && line.contains(':')).collect();
    assert!(!rows.is_empty(), "{out}");
}

#[test]
fn short_numbers_have_prefixes() {
    let out = get(&[PROCESSES, "--top", "1", "--human"]);
    let row = block(&out)[2];
    assert!(row.contains("iB  ") || row.contains(" B  "), "{out}");
    let (name, bytes) = &working_sets()[0];
    let short = perfset::output::human(*bytes, "By");
    assert!(row.trim_start().starts_with(&short) && row.ends_with(name), "{short}: {out}");
    let (_, memory, _) = run("two-nodes", &["get", "/Memory/Available Bytes", "--human"]);
    assert_eq!(block(&memory), ["           8.4 GiB  Available Bytes"]);
    let (_, memory, _) = run("two-nodes", &["get", "/Memory/Available Bytes", "--exact"]);
    assert_eq!(block(&memory), ["     9,000,911,872 B  Available Bytes"]);
    let (_, summary, _) = run("two-nodes", &["get", "/Memory/Available Bytes", "--summary", "--human"]);
    let line = summary.lines().last().unwrap();
    assert_eq!(line.split_whitespace().take(2).collect::<Vec<_>>(), ["8.4", "GiB"], "{summary}");
    assert!(line.ends_with("  B    Available Bytes"), "{summary}");
}

/// Checks that columns that do not fit into the width of a table follow below, and that nothing is cut.
#[test]
fn wide_tables_are_divided() {
    let out = get(&["/Process V2(*)/*", "--sort", "instance"]);
    let heads: Vec<&str> = out.lines().filter(|line| line.ends_with("  instance")).collect();
    assert!(heads.len() > 3, "{out}");
    let json = get(&["/Process V2(*)/*", "--format", "json"]);
    for line in json.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let counter = row["counter"].as_str().unwrap();
        assert_eq!(
            heads.iter().filter(|head| format!("{head}  ").contains(&format!("  {counter}  "))).count(),
            1
        );
    }
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
}

#[test]
fn wide_json_has_an_object_per_instance() {
    let out = get(&[PROCESSES, "--format", "json", "--wide"]);
    let rows: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<_> = rows.iter().map(|row| row["instance"].as_str().unwrap()).collect();
    for (name, value) in working_sets() {
        let row = &rows[names.iter().position(|known| *known == name).unwrap()];
        assert_eq!(row["values"]["Working Set"].as_f64(), Some(value), "{row}");
        let id = name.rsplit(':').next().unwrap().parse::<f64>().unwrap();
        assert_eq!(row["values"]["Process ID"].as_f64(), Some(id), "{row}");
        assert_eq!(row["counterset"], "Process V2");
    }
    let missing = rows.iter().filter(|row| row["values"]["Working Set"].is_null());
    assert!(
        missing.clone().count() > 0 && missing.clone().all(|row| row["status"]["Working Set"].is_string())
    );
}

#[test]
fn wide_csv_has_a_line_per_instance() {
    let out = get(&[PROCESSES, "--format", "csv", "--wide"]);
    let lines: Vec<_> = out.lines().collect();
    let head = "time,counterset,instance,instance_id,Working Set,Process ID,Thread Count,status,mark,missing";
    assert_eq!(lines[0], head);
    let (name, value) = &working_sets()[0];
    let row = lines.iter().find(|line| line.contains(&format!(",{name},"))).unwrap();
    assert!(row.contains(&format!(",{value},")), "{row}");
    let bad = lines.iter().find(|line| line.contains("\"{\"\"")).unwrap();
    assert!(bad.contains("\"\"Working Set\"\":\"\"unavailable\"\""), "{bad}");
    // Two countersets with a counter of the same name.
    let paths = ["/Process(*)/Thread Count", "/Process V2(*)/Thread Count", "/Memory/Available Bytes"];
    let out = get(&[&paths[..], &["--format", "csv", "--wide"]].concat());
    let head = r"instance_id,\Process\Thread Count,\Process V2\Thread Count,Available Bytes,status";
    assert!(out.lines().next().unwrap().contains(head), "{out}");
}

#[test]
fn paths_come_from_files_and_standard_input() {
    let folder = scratch("paths-from");
    let file = folder.join("paths.txt");
    fs::write(&file, "# of a test\n\n/Memory/Available Bytes\n\"\\System\\Processes\"\n").unwrap();
    let file = file.to_str().unwrap();
    let (code, out, err) = run("two-nodes", &["get", "-f", file, "--format", "csv"]);
    assert!(code == 0 && err.is_empty() && out.lines().count() == 3, "{out}{err}");
    let (_, out, _) =
        run("two-nodes", &["get", "/System/Threads", "-f", file, "10ms", "2", "--format", "csv"]);
    assert_eq!(out.lines().count(), 1 + 2 * 3, "{out}");
    let mut get = perfset("two-nodes", &["get", "-f", "-", "--format", "csv"]);
    let mut get = get.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    get.stdin.take().unwrap().write_all(b"/Memory/Available Bytes\n").unwrap();
    let (code, out, _) = outcome(get.wait_with_output().unwrap());
    assert!(code == 0 && out.lines().count() == 2, "{out}");
    fs::write(file, "/Memory/Available Bytes\nMemory\n").unwrap();
    let (code, _, err) = run("two-nodes", &["get", "-f", file]);
    assert_eq!((code, err), (2, format!("error: {file}:2: \"Memory\" does not begin with \\ or /\n")));
    fs::write(file, "# nothing\n").unwrap();
    let (code, _, err) = run("two-nodes", &["get", "-f", file]);
    assert_eq!((code, err), (2, format!("error: {file}: the file contains no counter path\n")));
}

#[test]
fn named_paths_come_from_the_settings_file() {
    let folder = scratch("settings");
    let file = folder.join("perfset/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "[paths]\nweb = ['/Memory/Available Bytes', '/System/Processes']\n").unwrap();
    let get = |args: &[&str]| {
        let mut command = perfset("two-nodes", &[&["get"], args, &["--format", "csv"]].concat());
        outcome(command.env("XDG_CONFIG_HOME", &folder).output().unwrap())
    };
    let (code, out, err) = get(&["@web"]);
    assert!(code == 0 && err.is_empty() && out.lines().count() == 3, "{out}{err}");
    assert_eq!(get(&["@web", "/System/Threads", "10ms", "2"]).1.lines().count(), 1 + 2 * 3);
    let (code, _, err) = get(&["@wep"]);
    assert_eq!(
        (code, err.as_str()),
        (2, "error: no settings file has paths named \"wep\"\n  nearest: web\n")
    );
    fs::write(&file, "[paths]\nweb = [1]\n").unwrap();
    let (code, _, err) = get(&["@web"]);
    let want = format!("error: {}:2: invalid type: integer `1`, expected a string\n", file.display());
    assert_eq!((code, err), (2, want));
    assert_eq!(get(&["/Memory/Available Bytes"]).0, 0, "a broken file matters only if it is used");
}
