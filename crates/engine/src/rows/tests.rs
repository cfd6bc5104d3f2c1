use perfset_core::{CounterType, Text};

use super::*;
use crate::tests::counter;

const OWNER: Owner = Owner::Process { pid: 7, user: 5 };
const MARK: Mark = Mark::Reused;

/// Returns counters for columns of 8, 4 and 8 bytes.
fn counters() -> Vec<Counter> {
    [
        CounterType::PERF_COUNTER_BULK_COUNT,
        CounterType::PERF_COUNTER_COUNTER,
        CounterType::PERF_COUNTER_BULK_COUNT,
    ]
    .into_iter()
    .zip(2..)
    .map(|(counter_type, id)| counter(id, "counter", counter_type, None))
    .collect()
}

fn missing(why: &'static str) -> NoValue {
    NoValue::Unavailable(Text::from(why))
}

/// Returns everything that rows contain as text: a line for all rows, then a line for each row.
fn said(rows: &Rows) -> Vec<String> {
    let columns = rows.columns().len();
    let row = |row: usize| {
        let cell = |column: usize| {
            let (reason, mark) = (rows.reason(row, column), rows.mark(row, column));
            format!("{:?} {reason:?} {mark:?}", rows.raw(row, column))
        };
        let cells: Vec<_> = (0..columns).map(cell).collect();
        let (name, id, birth, owner) = (rows.name(row), rows.id(row), rows.birth(row), rows.owner(row));
        format!("{name} {id:?} {birth:?} {owner:?}: {cells:?}")
    };
    let whole = format!("{} rows, {} missing, changed: {}", rows.len(), rows.missing(), rows.changed());
    std::iter::once(whole).chain((0..rows.len()).map(row)).collect()
}

/// A row copied from a table of names, with all its values, equals a row that is pushed and set value by value.
#[test]
fn rows_at_once() {
    const WIDE: u64 = 0x1_0000_0003;
    let counters = counters();
    let mut names = TableRows::new(0);
    let positions = ["a", "b", "c"].map(|name| {
        let position = names.position();
        names.row(name.encode_utf16(), InstanceId(11));
        position
    });
    let birth = std::num::NonZeroU64::new(13);
    let [mut one, mut other] = [Rows::new(&counters), Rows::new(&counters)];
    for _ in 0..2 {
        for rows in [&mut one, &mut other] {
            rows.start();
            rows.set_owner(OWNER);
        }
        for (name, values) in [("a", &[17, WIDE, 19][..]), ("b", &[23]), ("c", &[29, 31, 37, 41])] {
            let mut row = one.push(name, InstanceId(11), birth);
            values.iter().zip(0..3).for_each(|(value, column)| row.set(column, *value));
        }
        other.push_values(&names, positions[0], birth, [17, WIDE, 19].into_iter());
        other.push_values(&names, positions[1], birth, [23].into_iter());
        let mut row = other.push_of(&names, positions[2], birth);
        [29, 31, 37].into_iter().enumerate().for_each(|(column, value)| row.set(column, value));
        one.end();
        other.end();
        assert_eq!(said(&other), said(&one));
        assert_eq!(other.raw(0, 1), Some(RawValue::U32(3)), "its low half");
        assert_eq!((other.missing(), other.number(1, 0), other.number(1, 1)), (2, Some(23), None));
    }
    assert!(!other.changed());
}

/// Removed rows leave no owner, mark or reason behind.
#[test]
fn rows_that_are_taken_back() {
    let counters = counters();
    let fill = |rows: &mut Rows, with_others: bool| {
        rows.start();
        let other = |rows: &mut Rows| {
            if with_others {
                let mut row = rows.push("went", InstanceId(3), std::num::NonZeroU64::new(5));
                row.set_marked(0, 7, MARK);
                row.set_unavailable(1, missing("it went"));
                row.mark(MARK);
                rows.pop();
            }
        };
        other(rows);
        rows.push("a", InstanceId(2), None).set(0, 11);
        rows.set_owner(OWNER);
        other(rows);
        let mut row = rows.push("b", InstanceId(2), None);
        row.mark(MARK);
        row.set(1, 13);
        row.set_unavailable(2, missing("why not"));
        other(rows);
        rows.push("c", InstanceId(2), None).set(2, 17);
        other(rows);
        rows.end();
    };
    let [mut one, mut other] = [Rows::new(&counters), Rows::new(&counters)];
    for turn in 0..2 {
        fill(&mut one, false);
        fill(&mut other, true);
        let (one, other) = (said(&one), said(&other));
        assert_eq!(other[1..], one[1..], "{turn}");
        assert!(other[0].starts_with("3 rows, 6 missing"), "{}", other[0]);
    }
    Rows::default().pop();
}

/// An owner applies to all rows that follow, a mark to one row.
#[test]
fn owners_and_marks() {
    let counters = counters();
    let mut rows = Rows::new(&counters);
    for _ in 0..2 {
        rows.start();
        rows.push("a", InstanceId(0), None);
        rows.set_owner(OWNER);
        rows.push("b", InstanceId(0), None).mark(MARK);
        rows.push("c", InstanceId(0), None).mark(MARK);
        rows.push("d", InstanceId(0), None);
        rows.set_owner(Owner::System);
        rows.push("e", InstanceId(0), None);
        rows.end();
        let owners: Vec<_> = (0..6).map(|row| rows.owner(row)).collect();
        assert_eq!(owners, [Owner::System, OWNER, OWNER, OWNER, Owner::System, Owner::System]);
        let marks: Vec<_> = (0..6).map(|row| rows.row_mark(row)).collect();
        assert_eq!(marks, [None, Some(MARK), Some(MARK), None, None, None]);
    }
}
