//! Fuzz target for V2 blocks that the builder wrote, whole and damaged.

use perfset_core::clock::ClockReading;
use perfset_core::v2::raw::Cell;
use perfset_core::v2::{Block, BlockBuilder, BlockFormat, BlockValue, Body, PatchResult, Values, read};
use perfset_core::visit::Mode;
use perfset_core::{CounterId, InstanceId, Status};

use crate::blocks;
use crate::input::InputBytes;

/// Recipe of an entry that the block builder writes.
#[derive(Debug)]
enum EntryRecipe {
    Error(Status),
    Single(Cell),
    Counters(Vec<(CounterId, Cell)>),
    Instances(Vec<RowRecipe>),
    Counterset(Vec<CounterId>, Vec<RowRecipe>),
}

#[derive(Debug)]
struct RowRecipe {
    name: Vec<u16>,
    id: InstanceId,
    cells: Vec<Cell>,
}

/// Builds the block entries that the input describes, reads them back, and writes new values over them. Then it
/// damages the block as the rest of the input says, and reads the damaged block.
pub fn check(input: &[u8]) {
    let mut input = InputBytes(input);
    let clocks = ClockReading { perf_time: 7, perf_freq: 11, ..ClockReading::default() };
    let mut entries: Vec<EntryRecipe> = (0..input.below(6)).map(|_| entry(&mut input)).collect();
    let mut bytes = build(&entries, &clocks);
    assert_reads_back(&entries, &bytes);

    let later = ClockReading { perf_time: 13, ..clocks };
    let change = input.u64();
    entries.iter_mut().for_each(|entry| cells_of(entry).for_each(|cell| *cell = changed(*cell, change)));
    bytes = patch(bytes, &later, change);
    assert_eq!(bytes, build(&entries, &later), "patching is building anew");

    while input.has_more() && !bytes.is_empty() {
        damage(&mut bytes, &mut input);
    }
    assert_eq!(
        build_over(bytes.clone(), &entries, &later),
        build(&entries, &later),
        "whatever is written over"
    );
    blocks::check_data(&bytes);
    for format in BlockFormat::ALL {
        blocks::check(format, bytes.get(48..).unwrap_or_default());
    }
}

fn entry(input: &mut InputBytes<'_>) -> EntryRecipe {
    match input.below(5) {
        0 => EntryRecipe::Error(Status(input.u32().max(1))),
        1 => EntryRecipe::Single(cell(input)),
        2 => EntryRecipe::Counters(
            (0..input.below(9)).map(|_| (CounterId(input.u32()), cell(input))).collect(),
        ),
        3 => EntryRecipe::Instances((0..input.below(9)).map(|_| row(input, 1)).collect()),
        _ => {
            let ids: Vec<_> = (0..input.below(9)).map(|_| CounterId(input.u32())).collect();
            let rows = (0..input.below(9)).map(|_| row(input, ids.len())).collect();
            EntryRecipe::Counterset(ids, rows)
        }
    }
}

fn row(input: &mut InputBytes<'_>, columns: usize) -> RowRecipe {
    let name = (0..input.below(20)).map(|_| input.unit()).collect();
    RowRecipe { name, id: InstanceId(input.u32()), cells: (0..columns).map(|_| cell(input)).collect() }
}

fn cell(input: &mut InputBytes<'_>) -> Cell {
    match input.below(4) {
        0 => Cell::EMPTY,
        1 => Cell::from_u32(input.u32()),
        _ => Cell::from_u64(input.u64()),
    }
}

fn build(entries: &[EntryRecipe], clocks: &ClockReading) -> Vec<u8> {
    build_over(Vec::new(), entries, clocks)
}

fn build_over(bytes: Vec<u8>, entries: &[EntryRecipe], clocks: &ClockReading) -> Vec<u8> {
    let mut builder = BlockBuilder::over(bytes, clocks);
    for entry in entries {
        let (mut table, rows) = match entry {
            EntryRecipe::Error(status) => {
                builder.error(*status);
                continue;
            }
            EntryRecipe::Single(cell) => {
                builder.single(*cell);
                continue;
            }
            EntryRecipe::Counters(values) => {
                builder.multiple_counters(values.iter().copied());
                continue;
            }
            EntryRecipe::Instances(rows) => (builder.multiple_instances(), rows),
            EntryRecipe::Counterset(ids, rows) => (builder.counterset(ids.iter().copied()), rows),
        };
        for row in rows {
            table.row(row.name.iter().copied(), row.id, row.cells.iter().copied());
        }
        table.finish();
    }
    builder.finish().unwrap()
}

fn assert_reads_back(entries: &[EntryRecipe], bytes: &[u8]) {
    let (block, _) = read(bytes, Mode::Strict).unwrap();
    let results: Vec<_> = block.results().map(Result::unwrap).collect();
    assert_eq!(results.len(), entries.len());
    for (result, entry) in results.iter().zip(entries) {
        match (entry, result.body) {
            (EntryRecipe::Error(status), Body::Error) => assert_eq!(result.status, *status),
            (EntryRecipe::Single(cell), Body::SingleCounter(value)) => assert_eq!(value, value_of(cell)),
            (EntryRecipe::Single(Cell::EMPTY), Body::Error) => {}
            (EntryRecipe::Instances(rows) | EntryRecipe::Counterset(_, rows), Body::Error) => {
                assert!(rows.is_empty())
            }
            (EntryRecipe::Counters(wanted), Body::MultipleCounters(ids, values)) => {
                assert!(ids.iter().eq(wanted.iter().map(|(id, _)| *id)));
                assert_values(values, wanted.iter().map(|(_, cell)| *cell));
            }
            (EntryRecipe::Instances(rows), Body::MultipleInstances(table)) => assert_rows(&table, rows),
            (EntryRecipe::Counterset(wanted, rows), Body::Counterset(ids, table)) => {
                assert!(ids.iter().eq(wanted.iter().copied()));
                assert_rows(&table, rows);
            }
            (wanted, body) => panic!("{body:?} instead of {wanted:?}"),
        }
    }
    assert_eq!(Block::parse(bytes).unwrap().clocks().perf_time, 7);
}

fn assert_rows(table: &perfset_core::v2::InstanceTable<'_>, rows: &[RowRecipe]) {
    let read: Vec<_> = table.rows().map(Result::unwrap).collect();
    assert_eq!(read.len(), rows.len());
    for (read, row) in read.iter().zip(rows) {
        assert!(read.name().units().eq(row.name.iter().copied()));
        assert_eq!(read.id(), row.id);
        assert_values(read.values(), row.cells.iter().copied());
    }
}

fn assert_values(values: Values<'_>, cells: impl Iterator<Item = Cell>) {
    let cells: Vec<_> = cells.collect();
    assert!(values.iter().eq(cells.iter().map(value_of)));
}

fn value_of<'a>(cell: &Cell) -> BlockValue<'a> {
    match cell.header.data_size.get() {
        0 => BlockValue::Empty,
        4 => BlockValue::U32(u32::try_from(cell.value.get()).unwrap()),
        _ => BlockValue::U64(cell.value.get()),
    }
}

fn cells_of(entry: &mut EntryRecipe) -> Box<dyn Iterator<Item = &mut Cell> + '_> {
    match entry {
        EntryRecipe::Error(_) => Box::new(std::iter::empty()),
        EntryRecipe::Single(cell) => Box::new(std::iter::once(cell)),
        EntryRecipe::Counters(values) => Box::new(values.iter_mut().map(|(_, cell)| cell)),
        EntryRecipe::Instances(rows) | EntryRecipe::Counterset(_, rows) => {
            Box::new(rows.iter_mut().flat_map(|row| &mut row.cells))
        }
    }
}

/// Returns another cell value of the same width. A missing value stays missing, so that an entry keeps its kind.
fn changed(cell: Cell, by: u64) -> Cell {
    match value_of(&cell) {
        BlockValue::U32(value) => Cell::from_u32(value ^ (by & 0xFFFF_FFFF) as u32),
        BlockValue::U64(value) => Cell::from_u64(value ^ by),
        _ => cell,
    }
}

fn patch(bytes: Vec<u8>, clocks: &ClockReading, change: u64) -> Vec<u8> {
    let count = Block::parse(&bytes).unwrap().result_count();
    let mut builder = BlockBuilder::over(bytes, clocks);
    let renew = |cells: &mut [Cell]| cells.iter_mut().for_each(|cell| *cell = changed(*cell, change));
    for _ in 0..count {
        let kept = builder.keep(|result| {
            match result {
                PatchResult::Error => {}
                PatchResult::Cells(cells) => renew(cells),
                PatchResult::Table(mut table) => {
                    while let Some(cells) = table.row() {
                        renew(cells);
                    }
                }
            }
            Some(())
        });
        kept.unwrap();
    }
    assert!(builder.is_kept());
    builder.finish().unwrap()
}

/// Changes, cuts off, removes or repeats some bytes of a block, or changes a length a little. `bytes` must not be
/// empty.
pub(crate) fn damage(bytes: &mut Vec<u8>, input: &mut InputBytes<'_>) {
    let at = usize::from(input.u16()) % bytes.len();
    let field = at & !3;
    match input.below(6) {
        0 => bytes[at] = input.byte(),
        1 => bytes[at] ^= 1 << input.below(8),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..(at + input.below(32)).min(bytes.len()))),
        4 => {
            let copy = bytes[at..(at + input.below(32)).min(bytes.len())].to_vec();
            bytes.splice(at..at, copy);
        }
        _ => {
            let near = u32::from(input.byte()).wrapping_sub(128);
            if let Some(field) = bytes.get_mut(field..field + 4) {
                let old = u32::from_le_bytes(field.try_into().unwrap());
                field.copy_from_slice(&old.wrapping_add(near).to_le_bytes());
            }
        }
    }
}
