//! Tests of paths whose countersets appear later.

use std::slice;
use std::sync::Arc;

use perfset_core::{CounterType, Counterset, Status};
use perfset_engine::Catalogue;
use perfset_engine::testing::Scripted;

use super::checker::Read;
use super::machines::{counter, scripted, set};
use super::{open, scraped};
use crate::{ExportOptions, Exporter};

const NUMBER: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
/// Number of scrapes after which missing countersets are searched for again: the clock advances a second at each
/// reading.
const A_WHILE: usize = 12;

/// Replaces the countersets of a scripted provider by these.
fn register(script: &Scripted, sets: Vec<Counterset>) {
    let countersets = sets.into_iter().map(Arc::new).collect();
    script.with(|script| script.catalogue = Arc::new(Catalogue::new("Script", countersets)));
}

fn later(exporter: &mut Exporter) -> Read {
    (1..A_WHILE).for_each(|_| drop(scraped(exporter)));
    scraped(exporter)
}

fn waiting(exporter: &Exporter) -> Vec<String> {
    exporter.waiting().map(ToString::to_string).collect()
}

fn success<'a>(read: &'a Read, set: &str) -> Option<&'a str> {
    read.value("perf_exporter_collector_success", &[("counterset", set)])
}

#[test]
fn a_program_that_starts_later() {
    let here = scripted(set(0, "Here", vec![counter(2, "A/sec", CounterType::PERF_COUNTER_COUNTER)]));
    let width = |a: u64| here.with(|script| script.rows = vec![("x", 1, vec![Ok(a)])]);
    let program = scripted(set(1, "Other", Vec::new()));
    register(&program, Vec::new());
    let paths = [r"\http example(*)\*", r"\Here(*)\*", r"\http example(y)\Bees", r#"\No "Such"\A"#];
    let mut exporter = open(&[here.clone(), program.clone()], &paths, ExportOptions::default()).unwrap();
    assert_eq!(waiting(&exporter), [paths[0], paths[2], paths[3]]);
    width(u64::from(u32::MAX));
    scraped(&mut exporter);
    width(2);
    let before = scraped(&mut exporter);
    let wide = [("instance_name=x".to_owned(), "4294967298")];
    assert_eq!(before.of("perf_here_a_total"), wide);
    let of = |read: &Read| {
        (success(read, "http example").map(str::to_owned), success(read, "Here").map(str::to_owned))
    };
    let (no, yes) = (Some("0".to_owned()), Some("1".to_owned()));
    assert_eq!(of(&before), (no.clone(), yes.clone()));
    assert_eq!(success(&before, r#"No "Such""#), Some("0"));

    register(
        &program,
        vec![set(1, "Http Example", vec![counter(2, "Bees", NUMBER), counter(3, "Drones", NUMBER)])],
    );
    program.with(|script| script.rows = vec![("y", 1, vec![Ok(5), Ok(7)])]);
    assert_eq!(of(&scraped(&mut exporter)), (no, yes), "it is not looked at each scrape");
    let after = later(&mut exporter);
    assert_eq!(waiting(&exporter), [paths[3]]);
    assert_eq!((success(&after, "Http Example"), success(&after, "http example")), (Some("1"), None));
    assert_eq!(after.of("perf_http_example_bees"), [("instance_name=y".to_owned(), "5")]);
    assert_eq!(after.of("perf_http_example_drones"), [("instance_name=y".to_owned(), "7")]);
    assert_eq!(after.of("perf_here_a_total"), wide, "what was there goes on");

    // Once bound it is like any other.
    register(&program, Vec::new());
    let gone = scraped(&mut exporter);
    assert_eq!((success(&gone, "Http Example"), gone.of("perf_http_example_bees").len()), (Some("0"), 0));
    assert_eq!(waiting(&exporter), [paths[3]]);
}

/// Checks that a path that cannot be bound when its counterset appears is tried again, without loss of other metrics.
#[test]
fn unbindable_new_path_is_retried() {
    let here = scripted(set(0, "A", vec![counter(2, "B C", NUMBER)]));
    here.with(|script| script.rows = vec![("x", 1, vec![Ok(3)])]);
    let program = scripted(set(1, "Other", Vec::new()));
    register(&program, Vec::new());
    let paths = [r"\A(*)\B C", r"\A B(*)\C", r"\Bees(*)\Queens", r"\Bees(*)\Drones", r"\Bees(y)\*"];
    let mut exporter = open(&[here, program.clone()], &paths, ExportOptions::default()).unwrap();
    // Its metric would be perf_a_b_c, which is taken; and there are no queens.
    let bees = |counters| set(2, "Bees", counters);
    let (drones, queens) = (counter(2, "Drones", NUMBER), counter(3, "Queens", NUMBER));
    let clash = set(1, "A B", vec![counter(2, "C", NUMBER)]);
    register(&program, vec![clash.clone(), bees(vec![drones.clone()])]);
    program.with(|script| script.rows = vec![("y", 1, vec![Ok(5)])]);
    program.with(|script| script.answer = Some(Status::ERROR_ACCESS_DENIED));
    let read = later(&mut exporter);
    assert_eq!(success(&read, "Bees"), Some("0"), "the query refuses it");
    program.with(|script| script.answer = None);
    let read = later(&mut exporter);
    assert_eq!(waiting(&exporter), [r"\A B(*)\C", r"\Bees(*)\Queens"]);
    assert_eq!(read.of("perf_a_b_c"), [("instance_name=x".to_owned(), "3")]);
    assert_eq!(read.of("perf_bees_drones"), [("instance_name=y".to_owned(), "5")]);
    assert_eq!((success(&read, "A B"), success(&read, "Bees")), (Some("0"), Some("1")));

    register(&program, vec![clash, bees(vec![drones, queens])]);
    program.with(|script| script.rows = vec![("y", 1, vec![Ok(5), Ok(7)])]);
    let read = later(&mut exporter);
    assert_eq!(waiting(&exporter), [r"\A B(*)\C"]);
    assert_eq!(read.of("perf_bees_queens"), [("instance_name=y".to_owned(), "7")]);
    assert_eq!(read.of("perf_bees_drones"), [("instance_name=y".to_owned(), "5")]);
    assert_eq!(read.of("perf_a_b_c"), [("instance_name=x".to_owned(), "3")]);
}

#[test]
fn all_of_them_wait() {
    let program = scripted(set(1, "Bees", vec![counter(2, "Drones", NUMBER)]));
    let mut exporter = open(&[], &[r"\Bees(*)\Drones"], ExportOptions::default()).unwrap();
    assert_eq!(success(&later(&mut exporter), "Bees"), Some("0"));
    program.with(|script| script.rows = vec![("y", 1, vec![Ok(5)])]);
    let mut exporter =
        open(slice::from_ref(&program), &[r"\Bees(*)\Drones"], ExportOptions::default()).unwrap();
    assert_eq!(success(&scraped(&mut exporter), "Bees"), Some("1"));
}
