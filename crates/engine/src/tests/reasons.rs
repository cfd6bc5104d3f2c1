//! Tests of the reasons of missing values, and of marks of values.

use std::time::Duration;

use super::*;

#[test]
fn missing_values_carry_their_reasons() {
    let (machine, provider) = machine();
    let reason = NoValue::Unavailable("not here".into());
    provider.with(|s| {
        s.rows[0].2[1] = Err(reason.clone());
        s.rows[1].2.truncate(2);
    });
    let mut query = machine.query();
    let entries = [
        Entry::all(MULTI).instance("*"),
        Entry::one(MULTI, CounterId(3)).instance("a"),
        Entry::one(MULTI, CounterId(7)).instance("*"),
    ];
    assert!(entries.iter().all(|entry| query.add(entry).is_success()));
    let old = collected(&mut query);
    assert_eq!(
        shapes(&old),
        [
            "counterset 7,3,5,9 a/1: U64(100) Empty U64(20) U32(4) b/2: U64(200) U32(30) Empty Empty",
            "error 232",
            "instances a/1: U64(100) b/2: U64(200)",
        ]
    );
    let new = collected(&mut query);
    assert_eq!(
        lines(&new, Some(&old)),
        [
            "a 7=100",
            "a 3=unavailable",
            "a 5=0",
            "a 9=not_displayable",
            "b 7=200",
            "b 3=0",
            "b 5=not_given",
            "b 9=not_given",
            "a 3=unavailable",
            "a 7=100",
            "b 7=200",
        ]
    );
    assert_eq!(old.annex()[1].failure(), Some(&reason));
    assert_eq!(lines(&new, None)[4..6], ["b 7=200", "b 3=needs_two_samples"]);
}

/// A reason set once for a column applies to every cell without a value and without its own reason.
#[test]
fn a_column_has_a_reason() {
    let (machine, provider) = machine();
    let (never, denied) = (NoValue::Unavailable("never".into()), NoValue::Denied("here".into()));
    provider.with(|s| {
        s.reasons = vec![(2, never.clone()), (9, never.clone())];
        s.rows[0].2 = vec![Ok(100), Err(denied.clone())];
        s.rows[1].2 = vec![Ok(200), Ok(30), Ok(50)];
        s.rows.push(("c", 3, vec![Ok(300), Ok(31), Err(denied.clone())]));
    });
    let mut query = machine.query();
    let one = |id, name| Entry::one(MULTI, CounterId(id)).instance(name);
    let entries = [Entry::all(MULTI).instance("*"), one(5, "a"), one(5, "c"), one(5, "*"), one(7, "a")];
    assert!(entries.iter().all(|entry| query.add(entry).is_success()));
    let old = collected(&mut query);
    let new = collected(&mut query);
    let all = lines(&new, Some(&old));
    let want =
        ["a 7=100", "a 3=denied", "a 5=unavailable", "a 9=not_given", "b 7=200", "b 3=0", "b 5=missing_base"];
    assert_eq!(all[..7], want);
    assert_eq!(all[8..12], ["c 7=300", "c 3=0", "c 5=denied", "c 9=not_given"]);
    assert_eq!(all[12..14], ["a 5=unavailable", "c 5=denied"]);
    assert_eq!(all[14..], ["a 5=unavailable", "b 5=missing_base", "c 5=denied", "a 7=100"]);
    let failures: Vec<_> = new.annex().iter().map(|annex| annex.failure().cloned()).collect();
    assert_eq!(failures, [None, Some(never.clone()), Some(denied.clone()), None, None]);
    let annex = &new.annex()[0];
    assert_eq!(
        [annex.reason(0, 1), annex.reason(0, 2), annex.reason(0, 3)],
        [Some(&denied), Some(&never), None]
    );
    provider.with(|s| s.reasons.clear());
    assert_eq!(lines(&collected(&mut query), None)[2], "a 5=not_given", "said anew each time");
}

/// A share of one resource above 100 is capped and marked; a mark that users already see stays.
#[test]
fn value_over_maximum_is_capped_and_marked() {
    let share = CounterType::PERF_LARGE_RAW_FRACTION;
    let set = set(SINGLE, InstanceType::Single).counters([
        counter(1, "Share", share, Some(3)).caps(true),
        counter(2, "Free", share, Some(3)),
        counter(3, "", CounterType::PERF_LARGE_RAW_BASE, None),
    ]);
    let (machine, provider) = machine_with(vec![set]);
    for (raw, mark, want, want_mark) in [
        (99, None, 99.0, None),
        (100, None, 100.0, None),
        (103, None, 100.0, Some(Mark::Capped)),
        (103, Some(Mark::Reused), 100.0, Some(Mark::Capped)),
        (103, Some(Mark::Held), 100.0, Some(Mark::Held)),
    ] {
        provider.with(|s| {
            s.rows = vec![("", 0, vec![Ok(raw), Ok(raw), Ok(100)])];
            s.marks = mark.map(|mark| (0, mark)).into_iter().collect();
        });
        let mut query = machine.query();
        assert!(query.add(&Entry::all(SINGLE)).is_success());
        let snapshot = collected(&mut query);
        let values: Vec<_> = snapshot.values(None).collect();
        let found = |at: usize| (values[at].value.clone().unwrap().raw, values[at].mark);
        assert_eq!(found(0), (want, want_mark), "{raw} {mark:?}");
        assert_eq!(found(1), (f64::from(u32::try_from(raw).unwrap()), mark), "another counter");
        assert_eq!(values[0].raw, Some(RawValue::U64(raw)), "the raw value stays");
    }
}

/// A sum of shares over instances is not capped at 100; a mean of shares is capped.
#[test]
fn a_sum_of_shares_is_not_cut() {
    use perfset_catalogue::{processor_information, thread};
    let sets = [thread::COUNTERSET.clone(), processor_information::COUNTERSET.clone()];
    let (machine, provider) = machine_with(sets.to_vec());
    for (set, counter, rows) in [
        (
            &sets[0],
            thread::PERCENT_PROCESSOR_TIME,
            [("bash/7", true), ("x_Total", true), ("_Total/_Total", false)],
        ),
        (
            &sets[1],
            processor_information::PERCENT_USER_TIME,
            [("0,0", true), ("0,_Total", true), ("_Total", true)],
        ),
    ] {
        let mut query = machine.query();
        assert!(query.add(&Entry::one(set.guid, counter).instance("*")).is_success());
        let mut at = |raw: u64| {
            provider.with(|s| {
                let row = |(id, (name, _)): (u32, (&'static str, bool))| {
                    (name, id, vec![Ok(raw); set.counters.len()])
                };
                s.rows = (1..).zip(rows).map(row).collect();
            });
            collected(&mut query)
        };
        let (old, new) = (at(1_000), at(1_000 + 15_000_000)); // one and a half seconds in one
        let values: Vec<_> = new.values(Some(&old)).collect();
        assert_eq!(values.len(), rows.len());
        for (value, (name, is_cut)) in values.iter().zip(rows) {
            let want = if is_cut { (100.0, Some(Mark::Capped)) } else { (150.0, None) };
            assert_eq!((value.value.clone().unwrap().raw, value.mark), want, "{} {name}", set.name);
        }
    }
}

/// A mark set once for a row applies to its values that have no mark of their own.
#[test]
fn a_row_is_marked() {
    let (machine, provider) = machine();
    let denied = NoValue::Denied("here".into());
    let held = |rows: &mut Rows| {
        let mut row = rows.push("d", InstanceId(4), None);
        row.mark(Mark::Held);
        row.set_marked(1, 9, Mark::Reused);
        row.mark(Mark::Stale(Duration::ZERO));
        row.set(0, 8);
    };
    let mut rows = Rows::new(&*set(MULTI, InstanceType::Multiple).counters);
    for _ in 0..2 {
        rows.start();
        rows.push("a", InstanceId(1), None).set(0, 7);
        held(&mut rows);
        rows.end();
        let marks = [(0, 0), (1, 0), (1, 1)].map(|(row, column)| rows.mark(row, column));
        assert_eq!(
            marks,
            [None, Some(Mark::Stale(Duration::ZERO)), Some(Mark::Reused)],
            "the last word on a row"
        );
    }
    rows.start();
    rows.push("a", InstanceId(1), None).set(0, 7);
    rows.push("d", InstanceId(4), None).set(0, 8);
    rows.end();
    assert!(!rows.changed() && rows.mark(1, 0).is_none(), "said anew each time");

    provider.with(|s| {
        s.marks = vec![(2, Mark::Reused)];
        s.rows[1].2 = vec![Ok(200), Ok(30), Err(denied)];
        s.rows.push(("c", 3, vec![Ok(300)]));
    });
    let mut query = machine.query();
    let one = |id, name| Entry::one(MULTI, CounterId(id)).instance(name);
    for entry in [Entry::all(MULTI).instance("*"), one(7, "b"), one(7, "c"), one(5, "b")] {
        assert!(query.add(&entry).is_success());
    }
    let snapshot = collected(&mut query);
    let all = lines(&snapshot, None);
    let want = ["b 7=200 Reused", "b 3=needs_two_samples Reused", "b 5=denied", "b 9=not_given", "c 7=300"];
    assert_eq!(all[4..9], want);
    assert_eq!(all[12..], ["b 7=200 Reused", "c 7=300", "b 5=denied"]);
    let marks: Vec<_> = snapshot.annex()[..3].iter().map(|annex| annex.mark(0, 0)).collect();
    assert_eq!(marks, [None, Some(Mark::Reused), None]);
}
