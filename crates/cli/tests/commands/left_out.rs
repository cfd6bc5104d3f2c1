//! Tests that `--top`, `--where`, `--summary` and `plot` count the missing values that they leave out, with their
//! reasons.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::running::{outcome, perfset, run, scratch, testdata};

/// Counter path that selects values of several processes, of which some are missing, for different counters.
const PATH: &str = "/Process V2(*)/{Working Set,Handle Count,Thread Count,IO Data Bytes/sec,Elapsed Time}";
const WARMUP: [&str; 2] = ["--warmup", "10ms"];

/// Number of instances, and of instances without a value, by counter.
type Counts = BTreeMap<String, (usize, usize)>;

/// Runs `perfset get` on a machine on which two processes have no readable `io`.
fn get(args: &[&str]) -> (i32, String, String) {
    let tree = scratch(&format!("left-out-{}", args.join("").replace(['/', '*', ' '], "")));
    let copied = std::process::Command::new("cp")
        .args(["-r", "--no-preserve=mode"])
        .arg(testdata("linux/processes/proc"))
        .arg(&tree)
        .status()
        .unwrap();
    assert!(copied.success());
    for process in ["1", "300"] {
        let io = tree.join("proc").join(process).join("io");
        fs::remove_file(&io).unwrap();
        fs::create_dir(&io).unwrap();
    }
    let mut command = perfset("processes", &[&["get", PATH], &WARMUP[..], args].concat());
    outcome(command.env("PERFSET_PROC", tree.join("proc")).output().unwrap())
}

fn rows(json: &str) -> Vec<Value> {
    json.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the expected counts of missing values from the unfiltered output; for a ranking, without `_Total` and
/// `Idle`.
fn wanted(is_ranking: bool) -> Counts {
    let (code, out, err) = get(&["--format", "json", if is_ranking { "--raw" } else { "--all" }]);
    assert_eq!((code, err.as_str()), (0, ""));
    // Raw and formatted values are missing for the same reasons here.
    let mut counts = Counts::new();
    for row in rows(&out) {
        let is_sum = ["_Total", "Idle:0"].contains(&row["instance"].as_str().unwrap());
        if is_ranking && is_sum {
            continue;
        }
        let counter = counts.entry(row["counter"].as_str().unwrap().to_owned()).or_default();
        counter.0 += 1;
        counter.1 += usize::from(row["raw"].is_null());
    }
    assert_eq!(counts.len(), 5, "{counts:?}");
    let missing: usize = counts.values().map(|(_, missing)| missing).sum();
    assert!(missing >= 3 && counts["Working Set"].1 < counts["IO Data Bytes/sec"].1, "{counts:?}");
    counts.retain(|_, (_, missing)| *missing > 0);
    counts
}

/// Parses the counts of missing values in sentences such as `2 of 11 instances of \Process V2(*)\IO Data Bytes/sec
/// …`.
fn told(text: &str) -> Counts {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut counts = Counts::new();
    for (at, _) in text.match_indices(r" instances of \Process V2(*)\") {
        let before: Vec<_> = text[..at].rsplit(' ').take(3).collect();
        let [of, "of", missing] = before[..] else { panic!("{text}") };
        let path = &text[at + r" instances of \Process V2(*)\".len()..];
        let counter = path.split(" ha").next().unwrap();
        counts.insert(counter.to_owned(), (of.parse().unwrap(), missing.parse().unwrap()));
    }
    counts
}

#[test]
fn top_counts_what_has_no_value() {
    let want = wanted(true);
    let (code, out, err) = get(&["--top", "2"]);
    assert_eq!((code, err.as_str(), told(&out)), (0, "", want.clone()), "{out}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("io: cannot be read: ") && words.contains("the process has ended"), "{out}");
    let (code, out, err) = get(&["--top", "2", "--format", "csv"]);
    assert_eq!((code, told(&out), told(&err)), (0, Counts::new(), want.clone()), "{err}");
    assert!(err.starts_with("warning: "), "{err}");
    assert_eq!(get(&["--top", "2", "--strict"]).0, 1);
}

#[test]
fn json_has_a_line_for_each_reason() {
    let (code, out, err) = get(&["--top", "2", "--format", "json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let mut found = Counts::new();
    for row in rows(&out) {
        for field in ["time", "path", "counterset", "instance", "value", "status", "raw", "unit", "mark"] {
            assert!(row.get(field).is_some(), "{row} has no {field}");
        }
        let Some(instances) = row.get("instances") else {
            assert_eq!(row["status"], "ok");
            continue;
        };
        assert_eq!((&row["value"], &row["raw"], &row["instance"]), (&Value::Null, &Value::Null, &"*".into()));
        assert!(["unavailable", "failed"].contains(&row["status"].as_str().unwrap()), "{row}");
        assert!(!row["reason"].as_str().unwrap().is_empty());
        let counter = found.entry(row["counter"].as_str().unwrap().to_owned()).or_default();
        counter.0 = row["of"].as_u64().unwrap() as usize;
        counter.1 += instances.as_u64().unwrap() as usize;
    }
    assert_eq!(found, wanted(true));
}

/// Checks that conditions and statistics count missing values, also those of sums.
#[test]
fn tests_and_summaries_count_what_has_no_value() {
    let want = wanted(false);
    let (code, out, err) = get(&["--where", "<0"]);
    assert_eq!((code, told(&out)), (0, want.clone()), "{out}");
    assert_eq!(err, "note: no value matches the --where condition\n");
    let (code, out, err) = get(&["--summary", "10ms", "3"]);
    let summary = out.split_once("greatest  samples").unwrap().1;
    assert_eq!((code, err.as_str(), told(summary)), (0, "", want.clone()), "{out}");
}

/// Checks that outputs without space for marks count the marked values of each counter.
#[test]
fn marks_are_counted_where_an_output_has_no_place_for_them() {
    let marked = |number: u32, are: &str| {
        format!(
            "{number} of \\Process V2(_Total)\\IO Data Bytes/sec {are} partial: up to 2 instances could not be read"
        )
        .replacen(" of", if number == 1 { " value of" } else { " values of" }, 1)
    };
    let (code, out, err) = get(&["10ms", "3", "--format", "pdh-csv"]);
    assert_eq!((code, out.lines().count()), (0, 4));
    assert!(err.contains(&format!("warning: {}\n", marked(3, "are"))), "{err}");
    let (_, _, err) = get(&["--format", "pdh-csv"]);
    assert!(err.contains(&format!("warning: {}\n", marked(1, "is"))), "{err}");
    let (code, out, err) = get(&["--summary", "10ms", "2"]);
    let summary = out.split_once("greatest  samples").unwrap().1;
    let words = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == 0 && err.is_empty() && words.contains(&marked(2, "are")), "{summary}");
    // Those that have a place for marks do not repeat them.
    for format in ["json", "csv", "table"] {
        let (_, out, err) = get(&["--format", format]);
        assert!(err.is_empty() && out.contains("partial"), "{format}: {err}");
    }
}

/// Checks that sentences about missing values are printed again only if they change.
#[test]
fn sentences_are_not_repeated() {
    let (_, out, _) = get(&["--top", "2", "10ms", "4"]);
    assert_eq!(
        out.matches("Working Set have no value").count() + out.matches("Working Set has no").count(),
        1
    );
    assert_eq!(out.matches("  Process V2\n").count(), 4, "{out}");
}

#[test]
fn path_without_instances_reports_none_omitted() {
    let path = r"\Process V2(nothing*)\Working Set";
    for args in [&["--top", "1"][..], &["--where", ">0"]] {
        let (_, out, _) = run("processes", &[&["get", path], args].concat());
        let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.ends_with(&format!("{path} has no value: no active instance matches")), "{out}");
        let (_, out, _) = run("processes", &[&["get", path, "--format", "json"], args].concat());
        let row = &rows(&out)[0];
        assert_eq!(
            (&row["status"], &row["instances"], &row["of"]),
            (&"no_instance".into(), &0.into(), &0.into())
        );
    }
}

#[test]
fn pictures_say_what_they_lack() {
    let args = ["plot", "-o", "-", "/Process V2(*)/Working Set", "10ms", "2", "--top", "2"];
    let (code, out, err) = run("processes", &args);
    assert!(code == 0 && out.starts_with("<svg"));
    let want = r"warning: 2 of 13 instances of \Process V2(*)\Working Set have no value: ";
    assert!(err.starts_with(want), "{err}");
    // Where nothing of a path has a value, the picture itself says why.
    let args = ["plot", "-o", "-", "/Process V2(gone*)/Working Set", "10ms", "2"];
    let (code, out, err) = run("processes", &args);
    assert!(code == 0 && err.is_empty() && out.contains("the process has ended"), "{err}");
}
