use std::sync::Arc;
use std::time::Duration;

use perfset_core::clock::ClockReading;
use perfset_core::{Mark, NoValue};
use perfset_engine::CellState;
use proptest::prelude::*;

use super::super::block::{ReadAt, SEGMENT_TAIL};
use super::super::bytes::PayloadCursor;
use super::super::table::{Content, RecordedTable, RowIdentity, StateList, position};
use super::super::tick::tests::{any_collected, any_state, next, put_next};
use super::super::tick::{TickState, TickTable, TickTrace, key, put_key};
use super::stream::{
    CONSTANT, DELTAS, DOUBLE_DELTAS, EMPTY, RunChange, SPARSE, SequenceEncoder, WITH_STATES, each_change,
    sequence,
};
use super::*;

/// Returns the bytes of a segment made of ticks, for tables of these columns.
pub fn written(ticks: &[TickState], columns: &[usize]) -> Vec<u8> {
    let mut writer = SegmentWriter::new();
    if columns.is_empty() {
        ticks.iter().for_each(|tick| writer.add_tick(tick).unwrap());
    }
    for (number, columns) in columns.iter().enumerate() {
        writer.begin_table(number, *columns);
        ticks.iter().for_each(|tick| writer.add_tick(tick).unwrap());
        writer.finish_tables().unwrap();
    }
    writer.finish().unwrap()
}

/// Makes a segment of the same ticks from a journal, for tables of these columns: changes are not compared again.
fn written_from_journal(ticks: &[TickState], columns: &[usize]) -> Vec<u8> {
    let mut writer = SegmentWriter::new();
    columns.iter().enumerate().for_each(|(number, columns)| writer.begin_table(number, *columns));
    let mut trace = TickTrace::new(columns.len());
    let mut read: Option<TickState> = None;
    for (at, now) in ticks.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &ticks[at]);
        // Another list of states begins with a whole tick.
        let before = before.filter(|before| now.states.since(0).starts_with(before.states.since(0)));
        let mut payload = Vec::new();
        match (&mut read, before) {
            (Some(read), Some(before)) => {
                put_next(&mut payload, now, before);
                read.apply_traced(&payload, now.sequence, &|_| true, &mut trace).unwrap();
            }
            (read, _) => {
                put_key(&mut payload, now);
                trace.clear();
                *read = Some(key(&payload, now.sequence, &|_| true).unwrap());
            }
        }
        writer.add_traced_tick(read.as_ref().unwrap(), &trace).unwrap();
    }
    writer.finish().unwrap()
}

/// Returns the directory of a stored segment with its tail.
fn directory_of(stored: &[u8]) -> &[u8] {
    let len = u32::from_le_bytes(stored[stored.len() - 4..].try_into().unwrap());
    &stored[stored.len() - usize::try_from(len).unwrap() - SEGMENT_TAIL..]
}

fn length(stored: &[u8]) -> u32 {
    u32::try_from(stored.len()).unwrap()
}

pub fn opened(stored: Vec<u8>) -> Arc<StoredSegment> {
    let directory = directory_of(&stored).to_vec();
    StoredSegment::open(&directory, Arc::new(stored.clone()), (0, length(&stored))).unwrap()
}

type TickCells = Vec<(RowIdentity, Vec<(u64, Option<CellState>)>)>;
type SeenTable = (Option<u64>, ClockReading, Result<(TickCells, String), NoValue>);
type Seen = (u64, ClockReading, Vec<SeenTable>);

/// Returns a tick with cell states in place of their numbers, and without values of missing cells.
fn seen(tick: &TickState) -> Seen {
    let tables = tick.tables.iter().map(|table| {
        let content = match &table.content {
            Content::Failed(reason) => Err(reason.clone()),
            Content::Rows(rows) => Ok((cells(rows, &tick.states), format!("{:?}", rows.clocks))),
        };
        (table.collected, table.clocks, content)
    });
    (tick.sequence, tick.clocks, tables.collect())
}

fn cells(table: &RecordedTable, states: &StateList) -> TickCells {
    let rows = table.rows.iter().enumerate().map(|(row, key)| {
        let mut cells: Vec<_> = table.row(row).iter().map(|value| (*value, None)).collect();
        for ((_, column), number) in table.states_of(row) {
            let state = states.get(*number).unwrap().clone();
            let cell = &mut cells[usize::try_from(*column).unwrap()];
            *cell = (if matches!(state, CellState::Missing(_)) { 0 } else { cell.0 }, Some(state));
        }
        (key.clone(), cells)
    });
    rows.collect()
}

/// Returns the same tick with its list of cell states in another order, as after a whole tick.
fn with_other_numbers(tick: &TickState) -> TickState {
    let mut tick = tick.clone();
    let count = position(tick.states.len());
    let mut list = StateList::default();
    tick.states.since(0).iter().rev().for_each(|state| list.push(state.clone()));
    tick.states = list;
    for table in &mut tick.tables {
        if let Content::Rows(rows) = &mut table.content {
            rows.states.iter_mut().for_each(|(_, number)| *number = count - 1 - *number);
        }
    }
    tick
}

/// Checks that a segment has these ticks: by a cursor, and at single ticks.
fn check(ticks: &[TickState], stored: Vec<u8>, jumps: &[usize]) {
    let segment = opened(stored);
    assert_eq!(segment.ticks().len(), ticks.len());
    let mut cursor = SegmentTicks::new(&segment, &|_| true, &|_, _| true);
    // Tables that never had contents are not stored.
    let stored_tables = |tick: &TickState| {
        let (sequence, clocks, mut tables) = seen(tick);
        while tables.last().is_some_and(|table| table.0.is_none()) {
            tables.pop();
        }
        (sequence, clocks, tables)
    };
    for tick in ticks {
        assert_eq!(stored_tables(cursor.next_tick().unwrap()), stored_tables(tick));
    }
    assert!(cursor.next_tick().is_none());
    for jump in jumps {
        let at = jump % ticks.len();
        assert_eq!(stored_tables(cursor.seek(at).unwrap()), stored_tables(&ticks[at]));
    }
    assert_eq!(cursor.take_damages(), vec![]);
    // Also if few changes are decoded at once.
    for (readings, changes) in [(1, 0), (7, 0), (usize::MAX, 5)] {
        let cursor = SegmentTicks::new(&segment, &|_| true, &|_, _| true);
        let mut cursor = cursor.with_window(readings, changes);
        for tick in ticks {
            assert_eq!(stored_tables(cursor.next_tick().unwrap()), stored_tables(tick));
        }
    }
    // Also if only some rows are wanted, and no tick after one of them.
    let is_wanted = |key: &RowIdentity| key.id % 2 == 1;
    for last in [0, ticks.len() / 2, ticks.len()] {
        let cursor = SegmentTicks::new(&segment, &|_| true, &|_, _| true).with_last(last);
        let mut cursor = cursor.with_rows(&is_wanted);
        for tick in ticks {
            let (sequence, clocks, mut tables) = stored_tables(tick);
            for (_, _, content) in &mut tables {
                content.iter_mut().for_each(|(rows, _)| rows.retain(|(key, _)| is_wanted(key)));
            }
            assert_eq!(stored_tables(cursor.next_tick().unwrap()), (sequence, clocks, tables));
        }
        assert_eq!(cursor.take_damages(), vec![]);
    }
    for at in [0, ticks.len() / 2] {
        let mut cursor = SegmentTicks::new(&segment, &|number| number == 1, &|_, _| true);
        let state = cursor.seek(at).unwrap().clone();
        assert_eq!(cursor.take_damages(), vec![]);
        let table = |state: &TickState| seen(state).2.get(1).filter(|table| table.0.is_some()).cloned();
        assert_eq!(table(&state), table(&ticks[at]));
    }
}

/// Change of a table from one reading to the next.
#[derive(Clone, Debug)]
enum TestStep {
    Add {
        cell: prop::sample::Index,
        value: u64,
    },
    /// Adds a number to all cells of a column.
    Grow {
        column: prop::sample::Index,
        by: u64,
    },
    State {
        cell: prop::sample::Index,
        state: Option<CellState>,
    },
    Birth {
        row: prop::sample::Index,
        id: u32,
    },
    Death {
        row: prop::sample::Index,
    },
    Move {
        from: prop::sample::Index,
        to: prop::sample::Index,
    },
    Reverse,
    Fail,
    Skip,
    NewNumbers,
}

fn any_step() -> impl Strategy<Value = TestStep> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        6 => (index(), prop_oneof![3 => 0..9_u64, 1 => any::<u64>()])
            .prop_map(|(cell, value)| TestStep::Add { cell, value }),
        6 => (index(), prop_oneof![0..3_u64, any::<u64>()]).prop_map(|(column, by)| TestStep::Grow { column, by }),
        4 => (index(), proptest::option::of(any_state())).prop_map(|(cell, state)| TestStep::State { cell, state }),
        3 => (index(), 0..12_u32).prop_map(|(row, id)| TestStep::Birth { row, id }),
        2 => index().prop_map(|row| TestStep::Death { row }),
        1 => (index(), index()).prop_map(|(from, to)| TestStep::Move { from, to }),
        1 => Just(TestStep::Reverse),
        1 => Just(TestStep::Fail),
        1 => Just(TestStep::Skip),
        1 => Just(TestStep::NewNumbers),
    ]
}

/// Returns ticks of one table, made by several steps at each tick.
fn stepped(ticks: Vec<Vec<TestStep>>, columns: usize) -> Vec<TickState> {
    let mut rows: TickCells = Vec::new();
    let mut now = TickState { tables: vec![TickTable::default()], ..TickState::default() };
    let mut all = Vec::new();
    for (sequence, steps) in (100..).zip(ticks) {
        now.sequence = sequence;
        now.clocks = ClockReading::recorded(i64::try_from(sequence).unwrap() * 10_000_017);
        let (mut fails, mut skips, mut renumbers) = (false, false, false);
        for step in steps {
            let width = rows.len() * columns;
            let at = |cell: prop::sample::Index| (cell.index(width) / columns, cell.index(width) % columns);
            match step {
                TestStep::Add { cell, value } if width > 0 => {
                    let (row, column) = at(cell);
                    rows[row].1[column].0 ^= value;
                }
                TestStep::State { cell, state } if width > 0 => {
                    let (row, column) = at(cell);
                    rows[row].1[column].1 = state;
                }
                TestStep::Grow { column, by } if columns > 0 => {
                    let column = column.index(columns);
                    rows.iter_mut().for_each(|(_, cells)| cells[column].0 = cells[column].0.wrapping_add(by));
                }
                TestStep::Birth { row, id } => {
                    let name = if id % 3 == 0 { "" } else { "worker" }.into();
                    let key = RowIdentity { name, id, birth: (id % 2).into(), owner: None };
                    rows.insert(row.index(rows.len() + 1), (key, vec![(id.into(), None); columns]));
                }
                TestStep::Death { row } if !rows.is_empty() => drop(rows.remove(row.index(rows.len()))),
                TestStep::Move { from, to } if !rows.is_empty() => {
                    let row = rows.remove(from.index(rows.len()));
                    rows.insert(to.index(rows.len() + 1), row);
                }
                TestStep::Reverse => rows.reverse(),
                TestStep::Fail => fails = true,
                TestStep::Skip => skips = true,
                TestStep::NewNumbers => renumbers = true,
                _ => {}
            }
        }
        if renumbers {
            now = with_other_numbers(&now);
            // The list is read again, so that it has numbers of its own.
            let mut list = StateList::default();
            now.states.since(0).iter().for_each(|state| {
                list.number(state.clone());
            });
            now.states = list;
        }
        if !skips {
            let mut table = RecordedTable { columns, ..RecordedTable::default() };
            for (row, (key, cells)) in (0..).zip(&rows) {
                table.rows.push(key.clone());
                for (column, (value, state)) in (0..).zip(cells) {
                    let is_missing = matches!(state, Some(CellState::Missing(_)));
                    table.values.push(if is_missing { 0 } else { *value });
                    table.states.extend(state.clone().map(|state| ((row, column), now.states.number(state))));
                }
            }
            let content = if fails { Content::Failed(NoValue::Late) } else { Content::Rows(table) };
            now.tables[0] = TickTable { collected: Some(sequence), clocks: now.clocks, content };
        }
        all.push(now.clone());
    }
    all
}

proptest! {
    /// Checks that a segment returns randomly generated tables, cell by cell.
    #[test]
    fn segments_round_trip(
        collected in proptest::collection::vec((any_collected(), any::<bool>()), 1..8),
        first in 0..1_000_u64,
        from in 0..3_usize,
        jumps in proptest::collection::vec(any::<usize>(), 0..4),
    ) {
        let mut now = TickState::default();
        let mut ticks = Vec::new();
        for ((tick, other_numbers), sequence) in collected.into_iter().zip(first..) {
            now = next(&now, tick, sequence);
            ticks.push(if other_numbers { with_other_numbers(&now) } else { now.clone() });
        }
        // The segment can begin after tables were collected.
        let ticks = &ticks[from.min(ticks.len() - 1)..];
        check(ticks, written(ticks, &[0, 1, 2]), &jumps);
        check(ticks, written_from_journal(ticks, &[0, 1, 2]), &jumps);
    }

    /// Checks that a segment returns a table whose rows begin, end and move, and whose cell states get other numbers.
    #[test]
    fn stepped_tables_round_trip(
        // Mostly short; a long one crosses blocks of numbers.
        steps in prop_oneof![
            7 => proptest::collection::vec(proptest::collection::vec(any_step(), 0..6), 1..20),
            1 => proptest::collection::vec(proptest::collection::vec(any_step(), 0..6), 20..150),
        ],
        columns in 0..4_usize,
        jumps in proptest::collection::vec(any::<usize>(), 0..4),
    ) {
        let ticks = stepped(steps, columns);
        check(&ticks, written(&ticks, &[columns]), &jumps);
        check(&ticks, written_from_journal(&ticks, &[columns]), &jumps);
    }

    /// Checks that number sequences in a segment's stream are read as they were written.
    #[test]
    fn sequences_round_trip(
        numbers in prop_oneof![
            proptest::collection::vec(any::<u64>(), 0..200),
            proptest::collection::vec(0..3_u64, 0..200),
            (any::<u64>(), 0..1_000_u64, proptest::collection::vec(0..2_u64, 0..200)).prop_map(|(first, step, noise)| {
                (0_u64..).zip(noise).map(|(at, noise)| first.wrapping_add(at * step + noise)).collect()
            }),
        ]
    ) {
        let mut out = Vec::new();
        SequenceEncoder::default().put_sequence(&mut out, numbers.iter().copied());
        let mut from = PayloadCursor::new(&out);
        prop_assert_eq!(sequence(&mut from, numbers.len()).unwrap(), numbers);
        prop_assert!(from.end().is_ok());
        for len in 0..out.len() {
            prop_assert!(sequence(&mut PayloadCursor::new(&out[..len]), 200).is_err());
        }
    }

    /// Checks that damaged streams of a segment are errors or other values, never a panic.
    #[test]
    fn damaged_sequences(bytes in proptest::collection::vec(any::<u8>(), 0..64), len in 0..300_usize) {
        let _ = sequence(&mut PayloadCursor::new(&bytes), len);
        let _ = super::rows::runs(&bytes, 1, 7, usize::MAX);
        let _ = super::directory::Directory::parse(&bytes);
    }
}

/// Checks the modes (encodings) that a segment's writer chooses for some number sequences.
#[test]
fn smallest_mode_of_a_sequence() {
    let mode = |numbers: &[u64]| {
        let mut out = Vec::new();
        SequenceEncoder::default().put_sequence(&mut out, numbers.iter().copied());
        (out[0], out.len())
    };
    let of = |number: fn(u64) -> u64| (0..300).map(number).collect::<Vec<_>>();
    for (numbers, want) in [
        (of(|_| 7), (CONSTANT, 2)),
        // 5 blocks of width 2 or 0.
        (of(|at| at), (DOUBLE_DELTAS, 2 + 5 + 16)),
        (of(|at| at * at), (DOUBLE_DELTAS, 2 + 5 + 4 * 24 + 17)),
        // One bit and the sign.
        (of(|at| at % 2), (DELTAS, 2 + 5 + 4 * 16 + 11)),
        (of(|at| at / 100), (SPARSE, 2 + 1 + 4)),
        (of(|at| if at == 299 { u64::MAX } else { 0 }), (SPARSE, 2 + 1 + 3)),
    ] {
        assert_eq!(mode(&numbers), want, "{numbers:?}");
    }
}

/// Checks that bytes which the mode (encoding) of a number sequence does not allow are errors.
#[test]
fn malformed_modes() {
    let read = |mode, bytes: &[u8], len| {
        let mut from = PayloadCursor::new(bytes);
        let mut found = Vec::new();
        each_change(&mut from, mode, len, len, |change| found.push(change)).map(|_| found)
    };
    let change = |at, delta| RunChange { at, delta };
    assert_eq!(read(SPARSE, &[4, 0, 2, 3, 4], 6).unwrap(), vec![change(1, 1), change(5, 2)]);
    assert_eq!(read(DELTAS, &[3, 0b0001_0010], 3).unwrap(), vec![change(1, 1), change(2, 1)]);
    assert_eq!(read(DOUBLE_DELTAS, &[3, 0b0001_0010], 3).unwrap(), vec![change(1, 1), change(2, 2)]);
    for (mode, bytes, len, want) in [
        (SPARSE, &[4, 0, 2, 3, 4][..], 5, "change after the end of its run at byte 4"),
        (SPARSE, &[3, 0, 2, 3], 6, "no difference at byte 4"),
        (SPARSE, &[5, 0, 2], 6, "5 changes, and 2 bytes are left at byte 1"),
        (DELTAS, &[65], 3, "width of 65 bits at byte 1"),
        (DELTAS, &[64, 0], 2, "block of numbers of 8 bytes, and 1 are left at byte 1"),
        (EMPTY, &[], 3, "mode 0 of numbers is not known at byte 0"),
        (WITH_STATES, &[], 3, "mode 8 of numbers is not known at byte 0"),
        (5, &[], 3, "mode 5 of numbers is not known at byte 0"),
    ] {
        assert_eq!(
            read(mode, bytes, len).unwrap_err().to_string(),
            format!("{want} of its payload"),
            "{bytes:?}"
        );
    }
}

/// Returns the ticks and the bytes of a small segment that has everything that a segment can have.
fn small() -> (Vec<TickState>, Vec<u8>) {
    let mut ticks = Vec::new();
    let mut now =
        TickState { tables: vec![TickTable::default(), TickTable::default()], ..TickState::default() };
    let late = now.states.number(CellState::Missing(NoValue::Late));
    let held = now.states.number(CellState::Marked(Mark::Held));
    for sequence in 5..25_u64 {
        now.sequence = sequence;
        now.clocks = ClockReading::recorded(i64::try_from(sequence * 10_000_000).unwrap());
        let rows: Vec<RowIdentity> = (0..4)
            .filter(|id| *id != sequence % 7)
            .map(|id| RowIdentity {
                name: "name".into(),
                id: u32::try_from(id).unwrap(),
                birth: id,
                owner: Some((1, 2)),
            })
            .collect();
        let values = rows.iter().flat_map(|row| [sequence, sequence * row.birth, sequence / 9, 0]).collect();
        let states = (0..3).flat_map(|row| [((row, 2), held), ((row, 3), late)]).collect();
        let clocks = Some((&ClockReading::recorded(7)).into());
        let content = Content::Rows(RecordedTable { columns: 4, rows, values, states, clocks });
        now.tables[0] = TickTable { collected: Some(sequence), clocks: now.clocks, content };
        if sequence % 5 == 0 {
            let content = Content::Failed(NoValue::Failed("no file".into()));
            now.tables[1] = TickTable { collected: Some(sequence), clocks: now.clocks, content };
        }
        ticks.push(now.clone());
    }
    let stored = written(&ticks, &[4, 1]);
    (ticks, stored)
}

#[test]
fn small_segment_round_trips() {
    let (ticks, stored) = small();
    check(&ticks, stored, &[3, 19, 0, 7]);
}

/// Reads all ticks of a segment. Returns the ticks with the number of damages, or `None` if it cannot be opened.
fn read_all(stored: &[u8], directory: &[u8]) -> Option<(Vec<Seen>, usize)> {
    let segment = StoredSegment::open(directory, Arc::new(stored.to_vec()), (0, length(stored))).ok()?;
    let mut cursor = SegmentTicks::new(&segment, &|_| true, &|_, _| true);
    let mut ticks = Vec::new();
    while let Some(tick) = cursor.next_tick() {
        ticks.push(seen(tick));
    }
    Some((ticks, cursor.take_damages().len()))
}

/// Checks that a segment that is cut off anywhere, or of which a byte is wrong, is damage. A wrong byte of a stream
/// costs that stream alone.
#[test]
fn damaged_segments() {
    let (_, stored) = small();
    let directory = directory_of(&stored).to_vec();
    let (want, damages) = read_all(&stored, &directory).unwrap();
    assert_eq!(damages, 0);
    for len in 0..directory.len() {
        assert!(
            StoredSegment::open(&directory[..len], Arc::new(stored.clone()), (0, length(&stored))).is_err()
        );
        assert!(
            StoredSegment::open(
                &directory[directory.len() - len..],
                Arc::new(stored.clone()),
                (0, length(&stored))
            )
            .is_err()
        );
    }
    let streams = stored.len() - directory.len();
    for len in 0..streams {
        assert!(
            StoredSegment::open(&directory, Arc::new(stored[..len].to_vec()), (0, length(&stored[..len])))
                .is_err()
        );
    }
    for at in 0..streams {
        for with in [1, 0x80, 0xFF] {
            let mut stored = stored.clone();
            stored[at] ^= with;
            let (ticks, damages) = read_all(&stored, &directory).unwrap();
            assert_eq!(damages, 1, "byte {at}");
            let same =
                |cell: &dyn Fn(&Seen) -> String| ticks.iter().zip(&want).all(|(a, b)| cell(a) == cell(b));
            assert!(same(&|tick| format!("{:?} {:?}", tick.0, tick.2[1])), "byte {at}");
            let columns = (0..4).filter(|column| {
                same(&|tick| match &tick.2[0].2 {
                    Ok((rows, _)) => {
                        format!("{:?}", rows.iter().map(|row| &row.1[*column]).collect::<Vec<_>>())
                    }
                    Err(reason) => reason.to_string(),
                })
            });
            // One column; the two that have states; the rows; or those of the table that has none.
            let columns = columns.count();
            assert!(matches!(columns, 0 | 2 | 3 | 4), "byte {at}: {columns}");
        }
    }
    // The directory is covered by the block's checksum, which is not here: it must not panic.
    for at in 0..directory.len() {
        for with in [1, 2, 0x7F, 0x80, 0xFF] {
            let mut directory = directory.clone();
            directory[at] ^= with;
            read_all(&stored, &directory);
        }
    }
}

/// Checks streams of a segment with the right checksum and wrong bytes, which only an attacker makes.
#[test]
fn hostile_streams() {
    let (_, stored) = small();
    let directory = directory_of(&stored).to_vec();
    let parsed = super::directory::Directory::parse(&directory).unwrap();
    let mut infos = vec![parsed.states];
    for table in &parsed.tables {
        infos.extend([table.runs].into_iter().chain(table.clocks).chain(table.columns.iter().copied()));
    }
    let segment = opened(stored.clone());
    for info in infos {
        let raw = segment.stream(&info, "stream", &mut Default::default()).unwrap();
        for at in 0..raw.len() {
            for with in [1, 2, 0x7F, 0x80, 0xFF] {
                let mut raw = raw.clone();
                raw[at] ^= with;
                let from = usize::try_from(info.offset).unwrap();
                let until = from + usize::try_from(info.stored).unwrap();
                let mut parsed = parsed.clone();
                let new = u32::try_from(raw.len()).unwrap();
                let replace = |place: &mut super::directory::StreamInfo| {
                    if *place == info {
                        let crc = crc32fast::hash(&raw);
                        *place =
                            super::directory::StreamInfo { stored: new, raw: new, codec: 0, crc, ..*place };
                    }
                };
                replace(&mut parsed.states);
                for table in &mut parsed.tables {
                    replace(&mut table.runs);
                    table.clocks.iter_mut().for_each(replace);
                    table.columns.iter_mut().for_each(replace);
                }
                let mut streams = stored[..stored.len() - directory.len()].to_vec();
                streams.splice(from..until, raw);
                let len = u32::try_from(streams.len()).unwrap();
                let mut end = Vec::new();
                parsed.put(&mut end, len).unwrap();
                let _ = read_all(&[streams, end.clone()].concat(), &end).unwrap();
            }
        }
    }
}

/// Returns ticks of a table like that of processes: counters of few rows go on, one row in a hundred is new each
/// second.
fn processes(rows: u32, columns: usize, ticks: u64) -> Vec<TickState> {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let mut now = TickState { tables: vec![TickTable::default()], ..TickState::default() };
    let denied = now.states.number(CellState::Missing(NoValue::Denied("needs CAP_SYS_PTRACE".into())));
    let key = |id: u32, birth| RowIdentity {
        name: format!("process-{}", id % 97).as_str().into(),
        id,
        birth,
        owner: None,
    };
    let mut table = RecordedTable { columns, ..RecordedTable::default() };
    for id in 0..rows {
        table.rows.push(key(id, u64::from(id) * 1_000));
        table.values.extend((0..columns).map(|_| next(1 << 20) * next(100)));
    }
    let mut all = Vec::new();
    let mut id = rows;
    for sequence in 0..ticks {
        for _ in 0..rows / 100 {
            let row = usize::try_from(next(rows.into())).unwrap();
            table.rows.remove(row);
            table.values.drain(row * columns..(row + 1) * columns);
            table.rows.push(key(id, u64::from(id) * 1_000 + sequence));
            table.values.extend((0..columns).map(|_| next(1_000)));
            id += 1;
        }
        for row in 0..table.rows.len() {
            // A tenth of the rows are active, in two fifths of their columns: 4 % of all cells.
            if table.rows[row].id % 10 != 3 {
                continue;
            }
            for column in (0..columns).filter(|column| column % 5 < 2) {
                let value = &mut table.values[row * columns + column];
                *value = value.wrapping_add(if column % 2 == 0 { 1 + next(40) } else { 4096 * next(8) });
            }
        }
        table.states.clear();
        for (row, key) in (0..).zip(&table.rows) {
            if key.id % 4 == 0 {
                table.states.extend([(row, 20), (row, 21)].map(|at| (at, denied)));
            }
        }
        for ((row, column), _) in &table.states {
            table.values[usize::try_from(*row).unwrap() * columns + usize::try_from(*column).unwrap()] = 0;
        }
        now.sequence = sequence;
        let jitter = i64::try_from(next(3_000)).unwrap();
        now.clocks = ClockReading::recorded(i64::try_from(sequence).unwrap() * 10_000_000 + jitter);
        let content = Content::Rows(table.clone());
        now.tables[0] = TickTable { collected: Some(sequence), clocks: now.clocks, content };
        all.push(now.clone());
    }
    all
}

fn per_value(number: usize, values: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap()) / f64::from(u32::try_from(values).unwrap())
}

#[test]
fn size_of_a_table_of_processes() {
    let ticks = processes(500, 22, 300);
    let stored = written(&ticks, &[22]);
    let size = per_value(stored.len(), 500 * 22 * 300);
    println!("{size:.3} bytes a value, directory of {} bytes", directory_of(&stored).len());
    assert!(size < 0.35, "{size}");
    let segment = opened(stored);
    let mut cursor = SegmentTicks::new(&segment, &|_| true, &|_, _| true);
    for tick in ticks.iter().step_by(50) {
        assert_eq!(seen(cursor.seek(usize::try_from(tick.sequence).unwrap()).unwrap()), seen(tick));
    }
}

/// Returns the CPU time of this thread, without other work of the machine.
pub fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

/// Prints the CPU times of writing and reading segments, which depend on the machine. Run it with `--release`.
#[test]
#[ignore = "prints times, which depend on the machine, and checks nothing: run it with --release"]
fn times_of_segments() {
    for (rows, ticks) in [(500, 300), (10_000, 60)] {
        let states = processes(rows, 22, ticks);
        let values = usize::try_from(rows).unwrap() * 22 * states.len();
        let report = |what: &str, begin: Duration| {
            let ns = usize::try_from((cpu_time() - begin).as_nanos()).unwrap();
            println!("{rows} rows, {what}: {:.2} ns a value", per_value(ns / 16, values / 16));
        };
        let mut stored = Vec::new();
        for _ in 0..3 {
            let begin = cpu_time();
            stored = written(&states, &[22]);
            report("write", begin);
        }
        println!("{rows} rows: {:.4} bytes a value", per_value(stored.len(), values));
        let directory = directory_of(&stored).to_vec();
        let stored_len = length(&stored);
        let source: Arc<dyn ReadAt> = Arc::new(stored);
        for _ in 0..3 {
            let begin = cpu_time();
            let segment = StoredSegment::open(&directory, Arc::clone(&source), (0, stored_len)).unwrap();
            let mut cursor = SegmentTicks::new(&segment, &|_| true, &|_, _| true);
            let mut sum = 0;
            while let Some(tick) = cursor.next_tick() {
                let Content::Rows(table) = &tick.tables[0].content else { panic!() };
                sum += table.values[5] & 1;
            }
            report("read all ticks", begin);
            let begin_one = cpu_time();
            let segment = StoredSegment::open(&directory, Arc::clone(&source), (0, stored_len)).unwrap();
            let mut cursor = SegmentTicks::new(&segment, &|_| true, &|_, _| true).with_window(1, 0);
            let sequence = cursor.seek(states.len() / 2).unwrap().sequence;
            println!("{rows} rows, one instant: {:?} {sum} {sequence}", cpu_time() - begin_one);
            let begin_series = cpu_time();
            let segment = StoredSegment::open(&directory, Arc::clone(&source), (0, stored_len)).unwrap();
            let mut cursor = SegmentTicks::new(&segment, &|_| true, &|_, column| column == 5);
            while cursor.next_tick().is_some() {}
            println!("{rows} rows, one counter: {:?}", cpu_time() - begin_series);
        }
    }
}
