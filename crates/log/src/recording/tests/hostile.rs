//! Tests of recordings that only an attacker makes, and of limits for the work that they cause.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use allocation_counter::measure;
use perfset_engine::Player;

use super::super::block::{Compressor, ReadAt, directory, put_block};
use super::super::budget::{MOST_STEPS, StepBudget};
use super::super::bytes::{put_int, put_len, put_text, put_uint};
use super::super::files::{RecordingFile, WantedContents};
use super::super::player::RecordingPlayer;
use super::super::segment::SegmentTicks;
use super::super::segment::tests::{cpu_time, opened, written};
use super::super::table::{Content, RecordedTable, RowIdentity};
use super::super::tick::{TickState, TickTable, key};
use super::*;

const MILLION: usize = 1_000_000;

/// Returns the payload of a tick: its clocks, its states, and tables in which each row has no name and no counter.
fn tick_of(states: &[u8], tables: &[(usize, usize)], is_whole: bool) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend_from_slice(states);
    put_len(&mut out, tables.len());
    for (number, rows) in tables {
        put_len(&mut out, *number);
        if is_whole {
            put_uint(&mut out, 0);
        }
        // Form, no clocks of its own, columns.
        let mut body = vec![2, 0, 0];
        put_len(&mut body, *rows);
        body.resize(body.len() + 4 * rows, 0);
        put_len(&mut body, 0);
        put_len(&mut out, body.len());
        out.append(&mut body);
    }
    out
}

/// Checks that a tick is refused if each table has as many rows as it can, and all tables together too many.
#[test]
fn rows_of_all_tables_of_a_tick_are_limited() {
    let tables: Vec<_> = (0..12).map(|number| (number, MILLION)).collect();
    let payload = tick_of(&[0], &tables, true);
    let mut error = String::new();
    let cost = measure(|| error = key(&payload, 7, &|_| true).unwrap_err().to_string());
    assert!(error.starts_with("tables have too many rows or cells together"), "{error}");
    assert!(cost.bytes_max < 300 << 20, "{} bytes", cost.bytes_max);
    // A reader of a few tables has only theirs.
    assert!(key(&payload, 7, &|number| number < 2).is_ok());
}

/// Checks that tables of several ticks are limited together, as those of one tick are.
#[test]
fn rows_of_all_tables_of_many_ticks_are_limited() {
    let mut state = key(&tick_of(&[0], &[], true), 7, &|_| true).unwrap();
    let read = (0..12).take_while(|number| {
        let payload = tick_of(&[0], &[(*number, MILLION)], false);
        state.apply(&payload, 8, &|_| true).is_ok()
    });
    assert_eq!(read.count(), 4);
}

/// Checks that the texts of cell states are limited, which stay in memory from tick to tick.
#[test]
fn texts_of_states_are_limited() {
    let mut states = Vec::new();
    put_len(&mut states, 700);
    for _ in 0..700 {
        states.extend([0, 15]);
        put_text(&mut states, &"x".repeat(60_000));
    }
    let mut state = key(&tick_of(&states, &[], true), 7, &|_| true).unwrap();
    let error = state.apply(&tick_of(&states, &[], false), 8, &|_| true).unwrap_err();
    assert!(error.to_string().starts_with("too many states"), "{error}");
}

/// Checks that runs and placements of rows are counted before memory is taken for them.
#[test]
fn runs_that_do_not_fit_take_no_memory() {
    let mut many_runs = Vec::new();
    put_len(&mut many_runs, 2 * MILLION);
    many_runs.resize(15 * MILLION, 0);
    // One run in one reading, and its place very often.
    let mut many_places = vec![1, 0, 0, 0, 0, 0, 0];
    put_len(&mut many_places, 15 * MILLION);
    many_places.resize(many_places.len() + 16 * MILLION, 0);
    for (stream, what) in [(many_runs, "2000000 runs"), (many_places, "15000000 places")] {
        let mut error = String::new();
        let cost = measure(|| {
            let read = super::super::segment::parts::runs_again(&stream, 0, 1, 20 * MILLION);
            error = read.unwrap_err().to_string();
        });
        assert!(error.starts_with(what) && error.contains("do not fit"), "{error}");
        assert!(cost.bytes_max < 10_000, "{} bytes", cost.bytes_max);
    }
}

fn row(id: u32) -> RowIdentity {
    RowIdentity { name: "row".into(), id, birth: 0, owner: None }
}

/// Returns ticks of a recording that has one table, from the table's contents.
fn ticks_of(tables: impl Iterator<Item = RecordedTable>) -> Vec<TickState> {
    let ticks = (0..).zip(tables).map(|(sequence, table)| {
        let clocks = at(i64::try_from(sequence).unwrap());
        let table = TickTable { collected: Some(sequence), clocks, content: Content::Rows(table) };
        TickState { sequence, clocks, tables: vec![table], ..TickState::default() }
    });
    ticks.collect()
}

/// Checks that a reading costs as much as its own rows, if each row is in one reading only.
#[test]
fn rows_of_other_readings_cost_nothing() {
    let rows_of_a_tick = 40;
    let tables = (0..3_600_u32).map(|tick| {
        let rows: Vec<_> = (0..rows_of_a_tick).map(|at| row(tick * rows_of_a_tick + at)).collect();
        RecordedTable { rows, ..RecordedTable::default() }
    });
    let ticks = ticks_of(tables);
    let segment = opened(written(&ticks, &[0]));
    let mut cursor = SegmentTicks::new(&segment, &|_| true, &|_, _| true);
    let begin = cpu_time();
    for tick in &ticks {
        assert_eq!(cursor.next_tick().unwrap().tables, tick.tables);
    }
    // Some tenths of a second; the places of all rows, at each tick, are half a billion.
    let time = cpu_time() - begin;
    assert!(time.as_secs() < 2, "{time:?}");
}

/// Checks that a reader of a segment ends after a number of work steps if a few bytes are very many changes of
/// values.
#[test]
fn changes_that_take_too_long_are_damage() {
    let rows = 50_u32;
    let tables = (0..1_000_u64).map(|tick| RecordedTable {
        columns: 1,
        rows: (0..rows).map(row).collect(),
        values: (0..rows).map(|row| u64::from(row) * tick).collect(),
        ..RecordedTable::default()
    });
    let ticks = ticks_of(tables);
    let stored = written(&ticks, &[1]);
    assert!(stored.len() < 6_000, "{} bytes", stored.len());
    let segment = opened(stored);
    // Two readings at once: each time, all changes before these are added up.
    let cursor = || SegmentTicks::new(&segment, &|_| true, &|_, _| true).with_window(usize::MAX, 100);
    let mut patient = cursor();
    assert!(ticks.iter().all(|tick| patient.next_tick().unwrap().tables == tick.tables));
    assert!(patient.take_damages().is_empty());
    let mut cursor = cursor().with_steps(MILLION);
    let same: Vec<bool> = ticks
        .iter()
        .map(|tick| {
            let tables = &cursor.next_tick().unwrap().tables;
            let is_failed = matches!(&tables[0].content, Content::Failed(_));
            assert!(is_failed || *tables == tick.tables, "tick {}", tick.sequence);
            !is_failed
        })
        .collect();
    let good = same.iter().take_while(|same| **same).count();
    assert!((10..900).contains(&good) && !same[good..].contains(&true), "{good}");
    let damages = cursor.take_damages();
    assert!(damages.iter().any(|damage| damage.what.contains("in time")), "{damages:?}");
    assert!(damages.len() <= 2, "{damages:?}");
    // A reader that steps back begins again.
    assert_eq!(cursor.seek(3).unwrap().tables, ticks[3].tables);
}

/// Checks that the work steps through all segments of a directory are limited together, because very many can take
/// long.
#[test]
fn steps_through_many_segments_are_limited() {
    let folder = TestFolder::new("many-steps");
    record(&folder, &some_samples(), "boot", 1);
    unsealed(&folder.0, None).unwrap().iter().for_each(|journal| drop(seal(journal).unwrap()));
    let play = |steps: usize| {
        let recording = Recording::open(&folder.0).unwrap();
        let files = recording.shared_files();
        let mut player = RecordingPlayer::new(files, Window::default(), crate::Pick::All)
            .with_budget(StepBudget::of(steps));
        player.want(Guid::from_u128(1));
        let ticks = std::iter::from_fn(|| player.step().unwrap().then_some(())).count();
        assert_eq!(ticks, some_samples().len());
        (steps - player.budget().left(), recording.all_damages())
    };
    let (taken, damages) = play(MOST_STEPS);
    assert!(taken > 10 && damages.is_empty(), "{taken} {damages:?}");
    assert!(play(taken + 1).1.is_empty());
    // As with half of the directory: the other half is damage.
    let (_, damages) = play(taken / 2);
    assert!((2..=8).contains(&damages.count()), "{damages:?}");
    assert!(damages.first().iter().all(|damage| damage.what.contains("in time")), "{damages:?}");
}

/// Bytes of a recording's file, with a count of the calls that read them.
struct CountedReads(Vec<u8>, Arc<AtomicUsize>);

impl ReadAt for CountedReads {
    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }

    fn read_some_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.read_some_at(into, offset)
    }
}

/// Checks that a malformed tick costs those after it up to the next whole tick, which are not read repeatedly.
#[test]
fn ticks_after_a_malformed_one_are_not_read() {
    let mut bytes = Vec::new();
    let mut compressor = Compressor::new(3);
    let mut put = |kind, sequence, payload: &[u8]| {
        put_block(&mut bytes, kind, sequence, payload, &mut compressor).unwrap();
    };
    let mut payload = Vec::new();
    about(("boot", "run")).put(&mut payload);
    put(BlockKind::About, 0, &payload);
    put(BlockKind::Key, 0, &tick_of(&[0], &[], true));
    for sequence in 1..600 {
        let mut tick = Vec::new();
        (0..4).for_each(|_| put_int(&mut tick, 1));
        tick.extend(if sequence == 300 { &[9][..] } else { &[0, 0] });
        put(BlockKind::Tick, sequence, &tick);
    }
    put(BlockKind::Key, 600, &tick_of(&[0], &[], true));
    let reads = Arc::new(AtomicUsize::new(0));
    let file = RecordingFile::read("a".into(), Arc::new(CountedReads(bytes, Arc::clone(&reads)))).unwrap();
    assert_eq!((file.ticks().len(), file.damages.count()), (601, 0));
    reads.store(0, Ordering::Relaxed);
    let mut reached = None;
    let wanted = WantedContents {
        tables: &|_| true,
        columns: &|_, _| true,
        rows: None,
        last: usize::MAX,
        steps: MOST_STEPS,
    };
    let good: Vec<usize> = (0..601).filter(|tick| file.reach(*tick, &mut reached, wanted).is_ok()).collect();
    assert_eq!(good, (0..300).chain([600]).collect::<Vec<_>>());
    let reads = reads.load(Ordering::Relaxed);
    assert!(reads < 2_000, "{reads} reads");
}

/// Checks that damage of a stream has the offset at which that stream begins in its file.
#[test]
fn damage_of_a_stream_has_its_place() {
    let folder = TestFolder::new("place-of-damage");
    record(&folder, &some_samples(), "boot", 100);
    let journal = unsealed(&folder.0, None).unwrap().remove(0);
    let sealed = std::fs::read(seal(&journal).unwrap()).unwrap();
    let mut walker = BlockWalker::new(sealed.clone()).unwrap();
    let mut blocks = std::iter::from_fn(|| walker.next_block().unwrap());
    let segment = blocks.find(|block| block.header.kind == BlockKind::Segment).unwrap();
    let start = usize::try_from(segment.stored_offset()).unwrap();
    let stored = &sealed[start..][..usize::try_from(segment.header.stored).unwrap()];
    let mut places = Vec::new();
    for byte in start..start + stored.len() - directory(stored).unwrap().len() {
        let mut sealed = sealed.clone();
        sealed[byte] ^= 1;
        let recording = Recording::from_bytes(&sealed).unwrap();
        play(&recording);
        let damages = recording.all_damages();
        assert_eq!(damages.count(), 1, "{damages:?}");
        assert!(damages.first()[0].what.contains("checksum is wrong"), "{damages:?}");
        places.push((byte, usize::try_from(damages.first()[0].offset).unwrap()));
    }
    // Each stream begins with the first byte that costs it.
    assert_eq!(places[0], (start, start));
    for pair in places.windows(2) {
        let [(_, before), (byte, place)] = *pair else { panic!() };
        assert!(place == before || place == byte, "byte {byte}: {place}, after {before}");
    }
    let mut streams: Vec<usize> = places.iter().map(|(_, place)| *place).collect();
    streams.dedup();
    // Runs and three columns of each of two tables, and the states.
    assert_eq!(streams.len(), 9);
}
