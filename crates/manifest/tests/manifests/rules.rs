//! Tests of manifests that break each rule, with the position and the message of the problem.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use perfset_manifest::{Manifest, Problems, Rule, Severity};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/manifests").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap()
}

fn problems(text: &str) -> Problems {
    let (manifest, problems) = Manifest::check(text.as_bytes());
    assert_eq!(manifest.is_none(), problems.errors().count() > 0);
    problems
}

fn said(text: &str) -> String {
    problems(text).list().iter().map(|problem| format!("{problem}\n")).collect()
}

/// Replaces the first occurrence of a text that a manifest must contain.
fn with(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

/// Checks the cases in a file: each line is a valid manifest, or a change of that manifest; the expected problems are
/// indented below.
#[test]
fn each_rule_is_said_where_it_is_broken() {
    let want = read("rules.txt");
    let (mut text, mut good, mut broken) = (String::new(), String::new(), BTreeSet::new());
    for line in want.lines().filter(|line| !line.starts_with("    ")) {
        text += &format!("{line}\n");
        if let Some(name) = line.strip_prefix("== ") {
            good = read(name);
            assert_eq!(said(&good), "", "{name}");
            continue;
        }
        let (from, to) = line.split_once(" -> ").unwrap();
        let changed = with(&good, &from.replace("\\n", "\n"), &to.replace("\\n", "\n"));
        for problem in problems(&changed).list() {
            text += &format!("    {problem}\n");
            broken.insert(problem.rule);
        }
    }
    let untold: Vec<_> = Rule::ALL.into_iter().filter(|rule| !broken.contains(rule)).collect();
    assert_eq!(untold, [], "no line breaks these");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(file("rules.txt"), &text).unwrap();
        return;
    }
    for (is, want) in text.lines().zip(want.lines()) {
        assert_eq!(is, want, "UPDATE_SNAPSHOTS=1 writes it anew");
    }
    assert_eq!(text.len(), want.len());
}

#[test]
fn amounts() {
    let good = read("rules-user.man");
    let counters = |count: usize| -> String {
        let rest = "description='' type='perf_counter_rawcount' detailLevel='standard'";
        (0..count).map(|i| format!("<counter id='{}' uri='u{i}' name='n{i}' {rest}/>", i + 100)).collect()
    };
    let most = 65_536 - 6;
    assert_eq!(said(&with(&good, "</counterSet>", &(counters(most) + "</counterSet>"))), "");
    let too_many = with(&good, "</counterSet>", &(counters(most + 1) + "</counterSet>"));
    assert_eq!(said(&too_many), "5:1: error: counterSet has 65537 counters; 65536 are the most [limit]\n");

    let name = |len| said(&with(&good, "name=\"One\"", &format!("name=\"{}\"", "é".repeat(len))));
    assert_eq!(name(1_023), "");
    assert_eq!(name(1_024), "7:45: error: this name has 1024 characters; 1023 are the most [name]\n");
    let astral = said(&with(&good, "name=\"Set\"", &format!("name=\"{}\"", "𝄞".repeat(512))));
    assert_eq!(astral, "5:86: error: this name has 1024 characters; 1023 are the most [name]\n");
}

#[test]
fn reported_problems_are_limited() {
    let attributes: String = (0..100_000).map(|i| format!(" a{i}=''")).collect();
    let problems = problems(&with(&read("rules-user.man"), " symbol=\"P\"", &attributes));
    assert_eq!((problems.list().len(), problems.more()), (1_000, 99_001));
    assert!(problems.list().iter().all(|problem| problem.severity == Severity::Error && problem.line == 4));
}

/// Checks that reading a manifest stops at a maximum number of errors: a hostile file costs no more memory than its
/// elements.
#[test]
fn reading_stops_after_too_many_problems() {
    let counters = "<counter/>".repeat(50_000) + "</counterSet>";
    let problems = problems(&with(&read("rules-user.man"), "</counterSet>", &counters));
    assert_eq!(problems.list().len(), 1_000);
    assert!(problems.more() < 100, "{}", problems.more());
}
