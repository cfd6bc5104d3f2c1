//! Paths that come and go, and the greatest of many values.

use super::*;
use crate::path::{find, keep_greatest};

fn lines(query: &PathQuery) -> Vec<String> {
    query.values().iter().map(|v| format!("{} {}", v.path, line(v))).collect()
}

/// What is taken out is asked no more; what stays keeps its interval, and is where its position says.
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
