//! Tests of counter paths that are added and removed, and of the greatest of many values.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::*;
use crate::path::{find, keep_greatest};
use crate::{Entry, NextOutcome, Query, QueryHandle, ResolvedEntry, Snapshot, SourceError};

/// Query of a machine that can be told to deliver no sample: 1 is the end of a log, 2 an error.
struct Interrupted {
    query: Query,
    outcome: Arc<AtomicU8>,
}

impl QueryHandle for Interrupted {
    fn add(&mut self, entry: &Entry) -> Status {
        self.query.add(entry)
    }

    fn delete(&mut self, entry: &Entry) -> Status {
        self.query.delete(entry)
    }

    fn info(&mut self) -> Arc<[ResolvedEntry]> {
        self.query.infos()
    }

    fn next(&mut self, snapshot: &mut Snapshot) -> Result<NextOutcome, SourceError> {
        match self.outcome.load(Ordering::Relaxed) {
            0 => self.query.collect(snapshot).map(|()| NextOutcome::Sample),
            1 => Ok(NextOutcome::End),
            _ => Err(SourceError::UnknownCounterset(own::GUID)),
        }
    }
}

/// Step of a test: a change of a query by paths, or a collection.
#[derive(Clone, Copy, Debug)]
enum Step {
    Add(usize),
    Remove(usize),
    /// Collection of the query with an outcome of [`Interrupted`].
    Collect(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..5_usize).prop_map(Step::Add),
        2 => (0..6_usize).prop_map(Step::Remove),
        4 => (0..3_u8).prop_map(Step::Collect),
    ]
}

proptest! {
    #[test]
    fn a_path_shows_its_own_value_after_every_step(steps in proptest::collection::vec(step(), 1..40)) {
        const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
        let (mut machine, provider) = machine();
        let outcome = Arc::new(AtomicU8::new(0));
        let handle = Interrupted { query: machine.query(), outcome: Arc::clone(&outcome) };
        let mut query = PathQuery::from_handle(Box::new(handle));
        // The instance of each path, and whether the last sample has it.
        let mut paths: Vec<(usize, bool)> = Vec::new();
        let mut second = 0_u64;
        for step in steps {
            match step {
                Step::Add(name) => {
                    let path = format!(r"\Test Set({})\Size", NAMES[name]);
                    query.add(&mut machine, &path.parse().unwrap()).unwrap();
                    let has_twin = paths.iter().any(|(other, is_sampled)| *other == name && *is_sampled);
                    paths.push((name, has_twin));
                }
                Step::Remove(at) => {
                    query.remove(at);
                    if at < paths.len() {
                        paths.remove(at);
                    }
                }
                Step::Collect(how) => {
                    outcome.store(how, Ordering::Relaxed);
                    if how == 0 {
                        second += 1;
                        paths.iter_mut().for_each(|(_, is_sampled)| *is_sampled = true);
                    }
                    let row = |(id, name): (u32, &&'static str)| (*name, id, vec![Ok(second * 10 + u64::from(id))]);
                    provider.with(|s| s.rows = (0..).zip(&NAMES).map(row).collect());
                    let _ = query.collect();
                }
            }
            for (path, (name, is_sampled)) in paths.iter().enumerate() {
                let want = (second * 10 + u64::try_from(*name).unwrap()) as f64;
                let found: Vec<_> = query.values().into_iter().filter(|v| v.path == path).collect();
                for value in found.iter().filter(|v| v.value.value.is_ok()) {
                    prop_assert_eq!(value.value.instance.to_string(), NAMES[*name]);
                    prop_assert_eq!(value.value.value.as_ref().unwrap().raw, want);
                }
                prop_assert!(!*is_sampled || found.iter().any(|v| v.value.value.is_ok()), "{:?}", found);
            }
        }
    }
}

fn lines(query: &PathQuery) -> Vec<String> {
    query.values().iter().map(|v| format!("{} {}", v.path, line(v))).collect()
}

/// A removed path is no longer collected; the other paths keep their older sample, and move up to their new positions.
#[test]
fn paths_can_be_taken_out() {
    let (mut machine, provider) = machine();
    let mut query = PathQuery::open(&mut machine).unwrap();
    let add = |query: &mut PathQuery, machine: &mut Machine, path: &str| {
        query.add(machine, &path.parse().unwrap()).unwrap()
    };
    for path in [r"\Test Set(a)\Size", r"\Test Set(b)\Size", r"\Test Set(*)\Bytes/sec"] {
        add(&mut query, &mut machine, path);
    }
    // The provider is asked for both counters of all rows; every value says its row and its second.
    let mut second = 0;
    let mut collect = |query: &mut PathQuery| {
        second += 1;
        let row = |name, id: u32| (name, id, (1..=2).map(|n| Ok(second * n * u64::from(id))).collect());
        provider.with(|s| {
            s.rows = vec![row("a", 1), row("b", 2)];
            s.log.clear();
        });
        query.collect().unwrap();
    };
    collect(&mut query);
    collect(&mut query);
    assert_eq!(lines(&query), ["0 a#0 2=2", "1 b#0 2=4", "2 a#0 3=2", "2 b#0 3=4"]);

    query.remove(0);
    assert_eq!(lines(&query), ["0 b#0 2=4", "1 a#0 3=2", "1 b#0 3=4"], "the last sample is what it was");
    assert_eq!(query.entries_len(), 3, "until the next one");
    collect(&mut query);
    assert_eq!(lines(&query), ["0 b#0 2=6", "1 a#0 3=2", "1 b#0 3=4"], "rates go on");
    assert_eq!(query.entries_len(), 2);

    // What is asked again before it is forgotten is still there.
    query.remove(0);
    assert_eq!(add(&mut query, &mut machine, r"\Test Set(b)\Size"), 1);
    assert_eq!(query.entries_len(), 2);
    collect(&mut query);
    assert_eq!(lines(&query), ["0 a#0 3=2", "0 b#0 3=4", "1 b#0 2=8"]);

    query.remove(7);
    query.remove(0);
    query.remove(0);
    collect(&mut query);
    assert_eq!((query.values().len(), query.entries_len()), (0, 0));
    assert!(!provider.with(|s| s.log.iter().any(|line| line.starts_with("Collect"))));
}

#[test]
fn births_are_those_of_the_values() {
    let (mut machine, provider) = machine();
    let mut query = PathQuery::open(&mut machine).unwrap();
    query.add(&mut machine, &r"\Test Set({b,c})\Size".parse().unwrap()).unwrap();
    provider.with(|s| {
        s.rows = vec![("a", 1, vec![Ok(2)]), ("b", 2, vec![Ok(3)]), ("c", 3, vec![Ok(5)])];
        s.births = vec![(1, 7), (2, 11)];
    });
    query.collect().unwrap();
    let births: Vec<_> = query.values().iter().map(|v| query.birth(v).map(u64::from)).collect();
    assert_eq!(births, [Some(11), None]);
}

#[test]
fn the_greatest_are_kept() {
    let rows =
        [("_Total", 9, 60), ("a", 1, 10), ("0,_Total", 8, 60), ("b", 2, 30), ("Idle:0", 0, 50), ("c", 3, 20)];
    let greatest = |rows: &[(&'static str, u32, u64)], most| {
        let (mut machine, provider) = machine();
        let mut query = PathQuery::open(&mut machine).unwrap();
        query.add(&mut machine, &r"\Test Set(*)\Size".parse().unwrap()).unwrap();
        provider.with(|s| s.rows = rows.iter().map(|(name, id, n)| (*name, *id, vec![Ok(*n)])).collect());
        query.collect().unwrap();
        let mut values = query.values();
        keep_greatest(&mut values, most, |v| v.value.value.as_ref().ok().map(|value| value.raw));
        values.iter().map(|v| v.value.instance.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(greatest(&rows, 2), ["b", "c"]);
    assert_eq!(greatest(&rows, 9), ["b", "c", "a"], "sums and what is idle are left out");
    assert_eq!(greatest(&rows[..1], 9), ["_Total"], "where there are others");
    // A program may be called like what is idle.
    assert_eq!(greatest(&[("Idle", 4, 1), ("my_Total", 5, 2)], 9), ["my_Total", "Idle"]);
}

#[test]
fn counters_are_found_by_words() {
    let (machine, _) = machine();
    let sets: Vec<_> =
        machine.countersets().iter().filter_map(|guid| machine.counterset(guid).ok()).collect();
    let found = |query| find(&sets, query).matches.iter().map(|f| f.path()).collect::<Vec<_>>();
    assert_eq!(found("SIZE test"), [r"\Test Set(*)\Size", r"\Test Set(*)\Mean Size"]);
    assert_eq!(found("nothing like it"), [""; 0]);
    // By name before by help.
    let collections = found("collections");
    assert!(collections[0].contains("Collections"), "{collections:?}");
}

#[test]
fn expensive_counters_are_left_out_unless_meant() {
    use perfset_catalogue::linux_process::{COUNTERSET, PROPORTIONAL_SET_BYTES};

    let mut machine = Machine::new(Box::new(FixedClock::default()));
    machine.register(Box::new(Scripted::new(vec![COUNTERSET.clone()])));
    let selected = |machine: &mut Machine, limit, path: &str| {
        let mut query = PathQuery::open(machine).unwrap();
        query.leave_out_above(limit);
        query.add(machine, &path.parse().unwrap()).unwrap();
        let left_out: Vec<_> = query.left_out().map(|(set, counter)| (set.guid, counter.id)).collect();
        let is_read = query.paths[0].counters.iter().any(|(id, _)| *id == PROPORTIONAL_SET_BYTES);
        assert_ne!(is_read, left_out == [(COUNTERSET.guid, PROPORTIONAL_SET_BYTES)], "{path}");
        (is_read, query.paths[0].all_counters)
    };
    for (limit, path, want) in [
        (CostClass::Expensive, r"\Linux Process(*)\*", (true, true)),
        (CostClass::Moderate, r"\Linux Process(*)\*", (false, false)),
        (CostClass::Moderate, r"\Linux Process(*)\*Bytes", (false, false)),
        (CostClass::Moderate, r"\Linux Process(*)\Prop*", (true, false)),
        (CostClass::Moderate, r"\Linux Process(*)\Proportional Set Bytes", (true, false)),
    ] {
        assert_eq!(selected(&mut machine, limit, path), want, "{path}");
    }
}
