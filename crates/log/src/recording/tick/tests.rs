use std::num::NonZeroU64;

use perfset_core::{Mark, NoValue};
use proptest::prelude::*;

use super::super::state::tests::reasons;
use super::*;

fn any_clocks() -> impl Strategy<Value = ClockReading> {
    (any::<i64>(), 0..i64::MAX / 2, 0..1_000_000_000_i64, 0..1_000_000_000_000_i64).prop_map(
        |(perf_time, time, perf_freq, wall)| ClockReading {
            perf_time,
            time_100ns: time,
            perf_freq,
            system_time: SystemTime::from_100ns(time + wall),
        },
    )
}

pub fn any_state() -> impl Strategy<Value = CellState> {
    prop_oneof![
        proptest::sample::select(reasons()).prop_map(CellState::Missing),
        Just(CellState::Marked(Mark::Held)),
        any::<NonZeroU64>().prop_map(|since| CellState::Counted(since, Some(Mark::Formatted))),
    ]
}

fn any_key() -> impl Strategy<Value = RowIdentity> {
    let owner = proptest::option::of((0..3_u32, any::<u32>()));
    ("[a-c\u{e4}]{0,2}", 0..3_u32, prop_oneof![Just(0), Just(7), any::<u64>()], owner)
        .prop_map(|(name, id, birth, owner)| RowIdentity { name: Utf16::from(&*name), id, birth, owner })
}

/// Contents of a recorded table, with the cell states themselves and not their numbers.
pub type ContentAndStates = (Content, Vec<((u32, u32), CellState)>);

/// Returns a strategy for any contents of a table with this number of columns.
fn any_content(columns: usize) -> impl Strategy<Value = ContentAndStates> {
    let value = prop_oneof![3 => 0..4_u64, 1 => any::<u64>()];
    let cell = (value, proptest::option::weighted(0.2, any_state()));
    let row = (any_key(), proptest::collection::vec(cell, columns));
    let clocks = proptest::option::of(any_clocks().prop_map(|clocks| Clocks::from(&clocks)));
    let rows = (proptest::collection::vec(row, 0..6), clocks).prop_map(move |(rows, clocks)| {
        let mut table = RecordedTable { columns, clocks, ..RecordedTable::default() };
        let mut states = Vec::new();
        for (row, (key, cells)) in rows.into_iter().enumerate() {
            table.rows.push(key);
            for (column, (value, state)) in cells.into_iter().enumerate() {
                table.values.push(value);
                states.extend(state.map(|state| ((position(row), position(column)), state)));
            }
        }
        (Content::Rows(table), states)
    });
    let failed = proptest::sample::select(reasons()).prop_map(|reason| (Content::Failed(reason), Vec::new()));
    prop_oneof![6 => rows, 1 => failed]
}

/// Collection that becomes a tick: contents of the tables that are due, and clocks.
pub type CollectedTick = (ClockReading, Vec<Option<ContentAndStates>>);

pub fn any_collected() -> impl Strategy<Value = CollectedTick> {
    let tables =
        (0..3_usize).map(|columns| proptest::option::weighted(0.8, any_content(columns))).collect::<Vec<_>>();
    (any_clocks(), tables)
}

/// Appends the payload of a tick as the difference from the tick before.
pub fn put_next(out: &mut Vec<u8>, now: &TickState, before: &TickState) {
    let old = |number: usize| {
        let table = before.tables.get(number).filter(|table| table.collected.is_some());
        table.map(|table| &table.content)
    };
    put_tick(out, now, &before.clocks, &old, before.states.len());
}

/// Returns the contents of all tables after a further collection.
pub fn next(before: &TickState, (clocks, tables): CollectedTick, sequence: u64) -> TickState {
    let mut now = TickState { sequence, clocks, ..before.clone() };
    now.tables.resize_with(now.tables.len().max(tables.len()), TickTable::default);
    for (number, due) in tables.into_iter().enumerate() {
        let Some((mut content, states)) = due else { continue };
        if let Content::Rows(table) = &mut content {
            table.states = states.into_iter().map(|(at, state)| (at, now.states.number(state))).collect();
        }
        now.tables[number] = TickTable { collected: Some(sequence), clocks, content };
    }
    now
}

proptest! {
    /// Checks that a whole tick and the differences after it give the collected tables, cell by cell.
    #[test]
    fn ticks_round_trip(ticks in proptest::collection::vec(any_collected(), 1..6), first in 0..1_000_u64) {
        let mut now = TickState::default();
        let mut read: Option<TickState> = None;
        for (tick, sequence) in ticks.into_iter().zip(first..) {
            let before = now;
            now = next(&before, tick, sequence);
            let mut payload = Vec::new();
            match &mut read {
                None => {
                    put_key(&mut payload, &now);
                    read = Some(key(&payload, sequence, &|_| true).unwrap());
                }
                Some(read) => {
                    put_next(&mut payload, &now, &before);
                    read.apply(&payload, sequence, &|_| true).unwrap();
                }
            }
            let mut got = read.clone().unwrap();
            // Tables after the last one that was collected are not stored.
            got.tables.resize_with(now.tables.len(), TickTable::default);
            prop_assert_eq!(&got, &now);
            // Also in the middle of a journal, where tables may not be due.
            let mut whole = Vec::new();
            put_key(&mut whole, &now);
            // A reader of one table gets what a reader of all has.
            let one = key(&whole, sequence, &|number| number == 1).unwrap();
            let is_there = |table: &&TickTable| table.collected.is_some();
            prop_assert_eq!(one.tables.get(1).filter(is_there), now.tables.get(1).filter(is_there));
            let mut got = key(&whole, sequence, &|_| true).unwrap();
            got.tables.resize_with(now.tables.len(), TickTable::default);
            prop_assert_eq!(&got, &now);
        }
    }

    /// Checks that damaged payloads of ticks are errors or other values, never a panic.
    #[test]
    fn damaged_ticks(
        ticks in (any_collected(), any_collected()), at in any::<proptest::sample::Index>(), with in any::<u8>()
    ) {
        let before = next(&TickState::default(), ticks.0, 0);
        let now = next(&before, ticks.1, 1);
        let (mut whole, mut difference) = (Vec::new(), Vec::new());
        put_key(&mut whole, &before);
        put_next(&mut difference, &now, &before);
        for len in 0..whole.len() {
            prop_assert!(key(&whole[..len], 0, &|_| true).is_err());
        }
        for len in 0..difference.len() {
            prop_assert!(key(&whole, 0, &|_| true).unwrap().apply(&difference[..len], 1, &|_| true).is_err());
        }
        for payload in [&mut whole, &mut difference] {
            let at = at.index(payload.len());
            payload[at] ^= with;
        }
        if let Ok(mut read) = key(&whole, 0, &|_| true) {
            let _ = read.apply(&difference, 1, &|_| true);
        }
    }
}

#[test]
fn steps_from_old_rows_to_new_ones() {
    let rows = |names: &str| -> Vec<RowIdentity> {
        names
            .chars()
            .map(|name| RowIdentity { name: Utf16::from(&*name.to_string()), id: 0, birth: 0, owner: None })
            .collect()
    };
    let step = |kept, dropped, inserted| RowStep { kept, dropped, inserted };
    for (old, new, want) in [
        ("abc", "abc", vec![]),
        ("abc", "ac", vec![step(1, 1, 0)]),
        ("abc", "abcd", vec![step(3, 0, 1)]),
        ("abc", "axc", vec![step(1, 1, 1)]),
        ("abcde", "acxe", vec![step(1, 1, 0), step(1, 1, 1)]),
        ("", "ab", vec![step(0, 0, 2)]),
        ("ab", "", vec![step(0, 2, 0)]),
    ] {
        assert_eq!(steps(&rows(new), &rows(old)), want, "{old} {new}");
    }
}

#[test]
fn an_unchanged_tick_is_small() {
    let mut before = TickState { tables: vec![TickTable::default()], ..TickState::default() };
    let state = before.states.number(CellState::Missing(NoValue::Late));
    let table = RecordedTable {
        columns: 10,
        rows: (0..1_000).map(|id| RowIdentity { name: "p".into(), id, birth: 9, owner: None }).collect(),
        values: vec![7; 10_000],
        states: (0..1_000).map(|row| ((row, 3), state)).collect(),
        clocks: None,
    };
    before.tables[0] = TickTable { collected: Some(0), clocks: before.clocks, content: Content::Rows(table) };
    let mut now = before.clone();
    now.sequence = 1;
    now.tables[0].collected = Some(1);
    let mut payload = Vec::new();
    put_next(&mut payload, &now, &before);
    assert_eq!(payload.len(), 9);
    let Content::Rows(table) = &mut now.tables[0].content else { panic!() };
    table.values[5_003] += 1;
    payload.clear();
    put_next(&mut payload, &now, &before);
    assert!(payload.len() < 22, "{}", payload.len());
}
