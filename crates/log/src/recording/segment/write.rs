//! Writer of segments, one table at a time.

use perfset_core::NoValue;
use perfset_core::clock::ClockReading;
use perfset_core::sample::Clocks;
use perfset_engine::CellState;

use super::super::block::{BlockHeader, Codec, Compressor};
use super::super::bytes::Malformed;
use super::super::state::put_state;
use super::super::table::{CellStateNumber, Content, RecordedTable, RowIdentity, StateList, index, position};
use super::super::tick::{TableChanges, TickState, TickTrace};
use super::MOST_TICKS;
use super::align::{Alignment, NONE};
use super::column::{ChangeLog, ColumnEncoder, put_own_clocks};
use super::directory::{Directory, Failure, Held, Pattern, StreamInfo, TableEntry};
use super::numbers::StateNumbers;
use super::rows::{Placement, Run, is_readable, no_key, put_runs, take_key};

/// Level of zstd at which the streams of a segment are compressed.
const LEVEL: i32 = 3;

/// Writer of a segment. All tables have the same ticks. Several can be written from one reading of the ticks, which
/// takes least time, or one after the other, so that only the changes of one table are in memory.
#[derive(Debug)]
pub struct SegmentWriter {
    ticks: Vec<(u64, ClockReading)>,
    /// Number of ticks added to the segment since the current tables began.
    tick: usize,
    /// Tables of the segment whose ticks are being added.
    current: Vec<TableBuilder>,
    states: StateList,
    tables: Vec<TableEntry>,
    streams: Streams,
    encoder: ColumnEncoder,
}

/// Returns the error for a segment that would exceed a limit.
fn too_large(what: &str) -> Malformed {
    Malformed { offset: 0, what: format!("segment cannot be made: {what}") }
}

impl SegmentWriter {
    pub fn new() -> Self {
        Self {
            ticks: Vec::new(),
            tick: 0,
            current: Vec::new(),
            states: StateList::default(),
            tables: Vec::new(),
            streams: Streams { bytes: Vec::new(), compressor: Compressor::new(LEVEL) },
            encoder: ColumnEncoder::default(),
        }
    }

    /// Begins a table of the segment in addition to those begun since the last tick. Tables come by ascending number.
    pub fn begin_table(&mut self, number: usize, columns: usize) {
        self.begin_table_of((number, number), columns);
    }

    /// Begins a table of the segment whose number in the ticks differs from its number in the segment.
    pub fn begin_table_of(&mut self, (number, in_ticks): (usize, usize), columns: usize) {
        self.tick = 0;
        self.current.push(TableBuilder { in_ticks, ..TableBuilder::new(number, columns) });
    }

    /// Adds the next tick to the current tables of the segment. All tables have the same ticks. Without a table the
    /// tick itself is added.
    pub fn add_tick(&mut self, now: &TickState) -> Result<(), Malformed> {
        self.add_traced_tick(now, &TickTrace::default())
    }

    /// Adds the next tick to the segment like [`SegmentWriter::add_tick`]. Tables whose changes are in the trace are
    /// not compared.
    pub fn add_traced_tick(&mut self, now: &TickState, trace: &TickTrace) -> Result<(), Malformed> {
        let tick = self.tick;
        match self.ticks.get(tick) {
            Some((sequence, _)) if *sequence != now.sequence => {
                return Err(too_large(&format!("tick {} instead of {sequence}", now.sequence)));
            }
            Some(_) => {}
            None => {
                let is_next = self.ticks.last().is_none_or(|(last, _)| *last < now.sequence);
                if self.ticks.len() >= MOST_TICKS || !self.tables.is_empty() || !is_next {
                    return Err(too_large("too many ticks, or not in their order"));
                }
                self.ticks.push((now.sequence, now.clocks));
            }
        }
        self.tick = tick.saturating_add(1);
        let tick = u16::try_from(tick).unwrap_or(u16::MAX);
        self.current.iter_mut().try_for_each(|table| table.add_tick(tick, (now, trace), &mut self.states))
    }

    /// Writes the streams of the segment's current tables. Tables without contents are left out.
    pub fn finish_tables(&mut self) -> Result<(), Malformed> {
        let current = std::mem::take(&mut self.current);
        if !current.is_empty() && self.tick != self.ticks.len() {
            return Err(too_large("table that has not all ticks"));
        }
        let states = self.states.since(0).iter();
        let is_missing: Vec<bool> = states.map(|state| matches!(state, CellState::Missing(_))).collect();
        for table in current.into_iter().filter(|table| !table.collections.is_empty()) {
            let entry = table.finish(&self.ticks, &mut self.streams, &mut self.encoder, &is_missing)?;
            self.tables.push(entry);
        }
        Ok(())
    }

    /// Returns the stored payload of the finished segment.
    pub fn finish(mut self) -> Result<Vec<u8>, Malformed> {
        self.finish_tables()?;
        if self.states.len() > StateList::MOST {
            return Err(too_large("too many states"));
        }
        let mut raw = Vec::new();
        self.states.since(0).iter().for_each(|state| put_state(&mut raw, state));
        let states = self.streams.put(&raw)?;
        let mut stored = self.streams.bytes;
        let len = u32::try_from(stored.len()).map_err(|_| too_large("streams are too long"))?;
        let directory = Directory { ticks: self.ticks, states, tables: self.tables };
        directory.put(&mut stored, len).ok_or_else(|| too_large("directory is too long"))?;
        if position(stored.len()) > BlockHeader::MOST_STORED {
            return Err(too_large("it is too long"));
        }
        Ok(stored)
    }
}

/// Streams of the segment that is written, one after the other.
#[derive(Debug)]
struct Streams {
    bytes: Vec<u8>,
    compressor: Compressor,
}

impl Streams {
    fn put(&mut self, raw: &[u8]) -> Result<StreamInfo, Malformed> {
        let len = u32::try_from(raw.len()).ok().filter(|len| *len <= BlockHeader::MOST_RAW);
        let len = len.ok_or_else(|| too_large("stream is too long"))?;
        let offset = position(self.bytes.len());
        // A frame of zstd takes at least 12 bytes.
        let (codec, stored) =
            if raw.len() <= 12 { (Codec::Plain, raw) } else { self.compressor.compressed(raw) };
        self.bytes.extend_from_slice(stored);
        Ok(StreamInfo {
            offset,
            stored: position(stored.len()),
            codec: codec.number(),
            raw: len,
            crc: crc32fast::hash(stored),
        })
    }
}

/// Node of the linked list of a table's rows, into which later rows are inserted at their place.
#[derive(Clone, Copy, Debug)]
struct ChangeNode {
    run: u32,
    from: u32,
    until: u32,
    next: u32,
}

/// Table of the written segment, to which ticks are added one by one.
#[derive(Debug)]
struct TableBuilder {
    number: usize,
    /// Number that the table has in the added ticks.
    in_ticks: usize,
    columns: usize,
    /// Index of the tick of each collection of the table; `held` lists those with contents from before their tick.
    collections: Vec<u16>,
    held: Vec<Held>,
    failures: Vec<Failure>,
    /// Sequence number of the tick in which the table was collected last.
    last: Option<u64>,
    /// `true` if the last collection of the table has rows.
    has_rows: bool,
    /// Number of collections of the table that have rows.
    readings: u32,
    runs: Vec<Run>,
    nodes: Vec<ChangeNode>,
    first_node: u32,
    /// Index of the list node of each current row of the table.
    live: Vec<u32>,
    rows: Vec<RowIdentity>,
    values: Vec<u64>,
    /// States of the table's cells, with the segment's state numbers.
    states: Vec<CellStateNumber>,
    numbers: StateNumbers,
    /// First values of each run of the table, one for each column.
    firsts: Vec<u64>,
    changes: Vec<ChangeLog>,
    state_changes: Vec<ChangeLog>,
    clocks: Vec<Option<(Clocks, ClockReading)>>,
    alignment: Alignment,
}

impl TableBuilder {
    fn new(number: usize, columns: usize) -> Self {
        Self {
            number,
            in_ticks: number,
            columns,
            collections: Vec::new(),
            held: Vec::new(),
            failures: Vec::new(),
            last: None,
            has_rows: false,
            readings: 0,
            runs: Vec::new(),
            nodes: Vec::new(),
            first_node: NONE,
            live: Vec::new(),
            rows: Vec::new(),
            values: Vec::new(),
            states: Vec::new(),
            numbers: StateNumbers::default(),
            firsts: Vec::new(),
            changes: vec![ChangeLog::default(); columns],
            state_changes: vec![ChangeLog::default(); columns],
            clocks: Vec::new(),
            alignment: Alignment::default(),
        }
    }

    fn add_tick(
        &mut self,
        tick: u16,
        (now, trace): (&TickState, &TickTrace),
        own: &mut StateList,
    ) -> Result<(), Malformed> {
        let Some(table) = now.tables.get(self.in_ticks) else { return Ok(()) };
        let Some(collected) = table.collected.filter(|collected| self.last != Some(*collected)) else {
            return Ok(());
        };
        let changes = trace.since(self.in_ticks, self.last).filter(|_| self.has_rows);
        self.last = Some(collected);
        self.has_rows = matches!(table.content, Content::Rows(_));
        let collection = position(self.collections.len());
        self.collections.push(tick);
        let age = now.sequence.checked_sub(collected).ok_or_else(|| too_large("table of a later tick"))?;
        if age > 0 {
            self.held.push(Held { tick, age, clocks: table.clocks });
        }
        match &table.content {
            Content::Failed(reason) => self.fail(collection, reason),
            Content::Rows(rows) => {
                if rows.columns != self.columns && !rows.rows.is_empty() {
                    return Err(too_large(&format!("table {} has other columns than before", self.number)));
                }
                self.clocks.push(rows.clocks.map(|clocks| (clocks, table.clocks)));
                match changes {
                    Some(changes) => self.read_changes(rows, changes, (&now.states, own))?,
                    None => self.read(rows, &now.states, own)?,
                }
            }
        }
        Ok(())
    }

    fn fail(&mut self, collection: u32, reason: &NoValue) {
        match self.failures.last_mut() {
            Some(last) if last.reason == *reason && last.first.saturating_add(last.count) == collection => {
                last.count = last.count.saturating_add(1);
            }
            _ => self.failures.push(Failure { first: collection, count: 1, reason: reason.clone() }),
        }
    }

    /// Adds a reading to the table: finds runs that end and begin, then the cells that changed.
    fn read(
        &mut self,
        new: &RecordedTable,
        states: &StateList,
        own: &mut StateList,
    ) -> Result<(), Malformed> {
        let reading = self.readings;
        self.readings = reading.saturating_add(1);
        let mut alignment = std::mem::take(&mut self.alignment);
        let differs = alignment.align(&new.rows, &self.rows);
        if differs {
            self.move_rows(reading, &new.rows, &alignment);
        }
        let same_states = self.numbers.translate(&new.states, states, own)?;
        if differs {
            for (row, old) in (0..new.rows.len()).zip(&alignment.old) {
                match *old {
                    NONE => self.firsts.extend_from_slice(new.row(row)),
                    old => self.compare_row(reading, row, index(old), new),
                }
            }
            self.values.clone_from(&new.values);
        } else {
            let columns = self.columns.max(1);
            for row in 0..new.rows.len() {
                let from = row.saturating_mul(columns);
                let range = from..from.saturating_add(columns);
                let (now, before) = (new.values.get(range.clone()), self.values.get(range.clone()));
                if now != before {
                    self.compare_row(reading, row, row, new);
                    if let (Some(now), Some(before)) = (now, self.values.get_mut(range)) {
                        before.copy_from_slice(now);
                    }
                }
            }
        }
        self.compare_all_states(reading, (differs, same_states), &alignment);
        self.alignment = alignment;
        Ok(())
    }

    /// Logs the changed states of cells that are known to differ from before, including those of new rows.
    fn log_states(&mut self, reading: u32, cells: &[(u32, u32)], is_same: bool) {
        if !is_same {
            std::mem::swap(&mut self.states, &mut self.numbers.now);
        }
        let mut from = 0_usize;
        for (row, column) in cells {
            let run = self.run_of(index(*row));
            let at = (*row, *column);
            let rest = self.states.get(from..).unwrap_or_default();
            from = from.saturating_add(rest.partition_point(|(state, _)| *state < at));
            let state = self.states.get(from).filter(|(state, _)| *state == at);
            let state = state.map_or(0, |(_, number)| u64::from(*number).saturating_add(1));
            if let Some(log) = self.state_changes.get_mut(index(*column)) {
                log.push(reading, run, state);
            }
        }
    }

    /// Logs the states of all cells that differ from the reading before, of moved and unmoved rows.
    fn compare_all_states(&mut self, reading: u32, (differs, same): (bool, bool), alignment: &Alignment) {
        if differs {
            if same {
                self.numbers.now.clone_from(&self.states);
            }
            self.compare_moved_states(reading, alignment);
        } else if !same {
            self.compare_states(reading);
        }
        if differs || !same {
            std::mem::swap(&mut self.states, &mut self.numbers.now);
        }
    }

    /// Adds a reading whose changes are known to the table, so that the time depends on the changes and not on all
    /// cells.
    fn read_changes(
        &mut self,
        new: &RecordedTable,
        changes: &TableChanges,
        (states, own): (&StateList, &mut StateList),
    ) -> Result<(), Malformed> {
        let reading = self.readings;
        self.readings = reading.saturating_add(1);
        let differs = !changes.steps.is_empty();
        let mut alignment = std::mem::take(&mut self.alignment);
        if differs {
            alignment.follow(&changes.steps, &new.rows, &self.rows);
            self.move_rows(reading, &new.rows, &alignment);
        }
        for ((row, column), delta) in &changes.cells {
            // Rows that are new or have moved are read with their values below. A foreign writer may store differences
            // of those, too.
            let is_kept = |row: &u32| {
                let old = alignment.old.get(index(*row)).copied().unwrap_or(NONE);
                old != NONE && alignment.moved.binary_search(row).is_err()
            };
            if differs && !is_kept(row) {
                continue;
            }
            let run = self.run_of(index(*row));
            // A difference of 0 is none, although a foreign writer may store it.
            if let Some(log) = self.changes.get_mut(index(*column)).filter(|_| *delta != 0) {
                log.push(reading, run, *delta);
            }
            let cell = index(*row).saturating_mul(self.columns).saturating_add(index(*column));
            if let Some(value) = self.values.get_mut(cell).filter(|_| !differs) {
                *value = value.wrapping_add(*delta);
            }
        }
        if differs {
            for (row, _) in (0..new.rows.len()).zip(&alignment.old).filter(|(_, old)| **old == NONE) {
                self.firsts.extend_from_slice(new.row(row));
            }
            // Rows that moved are gone and new in the journal.
            for row in &alignment.moved {
                let old = alignment.old.get(index(*row)).copied().unwrap_or(NONE);
                self.compare_row(reading, index(*row), index(old), new);
            }
            self.values.clone_from(&new.values);
        }
        if differs || !changes.states.is_empty() {
            let same_states = self.numbers.translate(&new.states, states, own)?;
            if alignment.moved.is_empty() || !differs {
                self.log_states(reading, &changes.states, same_states);
            } else {
                self.compare_all_states(reading, (differs, same_states), &alignment);
            }
        }
        self.alignment = alignment;
        Ok(())
    }

    fn run_of(&self, row: usize) -> u32 {
        self.live.get(row).and_then(|node| self.nodes.get(index(*node))).map_or(0, |node| node.run)
    }

    #[inline]
    fn compare_row(&mut self, reading: u32, row: usize, old: usize, new: &RecordedTable) {
        let run = self.run_of(row);
        let from = old.saturating_mul(self.columns);
        let before = self.values.get(from..from.saturating_add(self.columns)).unwrap_or_default();
        let now = new.row(row);
        for ((now, before), log) in now.iter().zip(before).zip(&mut self.changes) {
            if now != before {
                log.push(reading, run, now.wrapping_sub(*before));
            }
        }
    }

    /// Ends runs whose rows are gone, begins runs for new rows, and places rows that moved.
    fn move_rows(&mut self, reading: u32, new: &[RowIdentity], alignment: &Alignment) {
        let mut moved = alignment.moved.iter().copied().peekable();
        for old in &alignment.gone {
            let node = self.live.get(index(*old)).and_then(|node| self.nodes.get_mut(index(*node)));
            if let Some(node) = node {
                node.until = reading;
                if let Some(run) = self.runs.get_mut(index(node.run)) {
                    run.end = reading;
                }
            }
        }
        let mut live = Vec::with_capacity(new.len());
        let mut rows = Vec::with_capacity(new.len());
        let mut before = NONE;
        for ((row, key), old) in (0_u32..).zip(new).zip(&alignment.old) {
            let old_node = self.live.get(index(*old)).copied();
            let is_moved = moved.next_if_eq(&row).is_some();
            let (node, key) = match old_node {
                Some(node) => {
                    let key = self.rows.get_mut(index(*old)).map_or_else(no_key, take_key);
                    let node = if is_moved { self.place_again(node, before, reading) } else { node };
                    (node, key)
                }
                None => {
                    let run = position(self.runs.len());
                    self.runs.push(Run { key: key.clone(), first: reading, end: NONE });
                    (self.insert(run, before, reading), key.clone())
                }
            };
            rows.push(key);
            live.push(node);
            before = node;
        }
        (self.live, self.rows) = (live, rows);
    }

    fn place_again(&mut self, node: u32, before: u32, reading: u32) -> u32 {
        let Some(old) = self.nodes.get_mut(index(node)) else { return node };
        old.until = reading;
        let run = old.run;
        self.insert(run, before, reading)
    }

    /// Inserts a node for a run into the list of rows, after the node `before`, or as the first one.
    fn insert(&mut self, run: u32, before: u32, from: u32) -> u32 {
        let node = position(self.nodes.len());
        let next = match self.nodes.get_mut(index(before)) {
            Some(before) => &mut before.next,
            None => &mut self.first_node,
        };
        let after = std::mem::replace(next, node);
        self.nodes.push(ChangeNode { run, from, until: NONE, next: after });
        node
    }

    /// Logs the cell states that differ from the reading before, if all rows are where they were.
    fn compare_states(&mut self, reading: u32) {
        let mut log = |(row, column): (u32, u32), state: u64| {
            let run = self
                .live
                .get(index(row))
                .and_then(|node| self.nodes.get(index(*node)))
                .map_or(0, |node| node.run);
            if let Some(log) = self.state_changes.get_mut(index(column)) {
                log.push(reading, run, state);
            }
        };
        each_difference(&self.numbers.now, &self.states, |(row, column)| (*row, *column), &mut log);
    }

    /// Logs the cell states that differ from the reading before, row by row, if rows have moved.
    fn compare_moved_states(&mut self, reading: u32, alignment: &Alignment) {
        let (now, before) = (&*self.numbers.now, &*self.states);
        if now.is_empty() && before.is_empty() {
            return;
        }
        // Rows stay in their order mostly, so that their states are searched from where the last ones were.
        let mut from = 0_usize;
        let mut now = now;
        for (row, old) in (0_u32..).zip(&alignment.old) {
            let count = now.iter().take_while(|((of, _), _)| *of == row).count();
            let (news, rest) = now.split_at_checked(count).unwrap_or_default();
            now = rest;
            let olds = if *old == NONE { &[][..] } else { states_of(before, *old, &mut from) };
            let run = self
                .live
                .get(index(row))
                .and_then(|node| self.nodes.get(index(*node)))
                .map_or(0, |node| node.run);
            each_difference(news, olds, |(_, column)| (0, *column), &mut |(_, column), state| {
                if let Some(log) = self.state_changes.get_mut(index(column)) {
                    log.push(reading, run, state);
                }
            });
        }
    }

    fn finish(
        mut self,
        ticks: &[(u64, ClockReading)],
        streams: &mut Streams,
        encoder: &mut ColumnEncoder,
        is_missing: &[bool],
    ) -> Result<TableEntry, Malformed> {
        // Runs by name, and their new numbers.
        for run in self.runs.iter_mut().filter(|run| run.end == NONE) {
            run.end = self.readings;
        }
        let mut order: Vec<u32> = (0..position(self.runs.len())).collect();
        let key = |run: &u32| self.runs.get(index(*run)).map(|run| (&run.key, run.first));
        order.sort_by(|a, b| key(a).cmp(&key(b)));
        let mut ranks = vec![0; order.len()];
        for (rank, run) in (0_u32..).zip(&order) {
            if let Some(place) = ranks.get_mut(index(*run)) {
                *place = rank;
            }
        }
        let sorted: Vec<Run> = order.iter().filter_map(|run| self.runs.get(index(*run)).cloned()).collect();
        let mut placements = Vec::with_capacity(self.nodes.len());
        let mut next = self.first_node;
        while let Some(node) = self.nodes.get(index(next)) {
            let run = ranks.get(index(node.run)).copied().unwrap_or(0);
            placements.push(Placement { run, from: node.from, until: node.until.min(self.readings) });
            next = node.next;
        }
        // The journal stays, which has no such limit.
        if !is_readable(&sorted, placements.len(), self.columns, self.readings) {
            return Err(too_large(&format!("table {} has too many rows", self.number)));
        }
        let mut raw = Vec::new();
        put_runs(&mut raw, &sorted, &placements, self.readings);
        let runs = streams.put(&raw)?;
        let clocks = match self.clocks.iter().any(Option::is_some) {
            true => {
                raw.clear();
                put_own_clocks(&mut raw, &self.clocks, &mut encoder.sequences);
                Some(streams.put(&raw)?)
            }
            false => None,
        };
        let mut columns = Vec::with_capacity(self.columns);
        for (column, (changes, states)) in self
            .changes
            .iter_mut()
            .zip(&mut self.state_changes)
            .map(|(a, b)| (std::mem::take(a), std::mem::take(b)))
            .enumerate()
        {
            let firsts = self.firsts.iter().skip(column).step_by(self.columns.max(1)).copied();
            encoder.encode(&self.runs, &order, firsts, (&changes, &states), is_missing)?;
            columns.push(streams.put(&encoder.out)?);
        }
        // Held contents are listed by themselves.
        let is_held = |tick: &u16| self.held.binary_search_by_key(tick, |held| held.tick).is_ok();
        let collected: Vec<u16> = self.collections.iter().copied().filter(|tick| !is_held(tick)).collect();
        let pattern = Pattern::new(&collected, ticks.len());
        let Self { number, held, failures, .. } = self;
        Ok(TableEntry { number, pattern, held, failures, runs, clocks, columns })
    }
}

/// Finds the cell states of a row, beginning the search at the place where they probably are.
fn states_of<'a>(states: &'a [CellStateNumber], row: u32, from: &mut usize) -> &'a [CellStateNumber] {
    let is_there = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| states.get(before));
        before.is_none_or(|((of, _), _)| *of < row) && states.get(at).is_none_or(|((of, _), _)| *of >= row)
    };
    if !is_there(*from) {
        *from = states.partition_point(|((of, _), _)| *of < row);
    }
    let rest = states.get(*from..).unwrap_or_default();
    let count = rest.iter().take_while(|((of, _), _)| *of == row).count();
    *from = from.saturating_add(count);
    rest.get(..count).unwrap_or_default()
}

/// Calls `each` with each cell whose state differs between two readings, and its new state number plus 1, or 0 for no
/// state.
fn each_difference(
    new: &[CellStateNumber],
    old: &[CellStateNumber],
    place: impl Fn(&(u32, u32)) -> (u32, u32),
    each: &mut impl FnMut((u32, u32), u64),
) {
    let (mut news, mut olds) = (new.iter().peekable(), old.iter().peekable());
    loop {
        let (next_new, next_old) = (news.peek().copied(), olds.peek().copied());
        let Some(first) = next_new.into_iter().chain(next_old).map(|(at, _)| place(at)).min() else { break };
        let is_now = news.next_if(|(at, _)| place(at) == first).map(|(_, number)| *number);
        let was = olds.next_if(|(at, _)| place(at) == first).map(|(_, number)| *number);
        if is_now != was {
            each(first, is_now.map_or(0, |number| u64::from(number).saturating_add(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tick::{RowStep, TickTable};
    use super::super::tests::written;
    use super::*;

    /// Checks that a segment's writer ignores a journal's difference for a cell whose row is new at that tick.
    #[test]
    fn differences_of_rows_that_are_new_are_not_added_again() {
        let row = |id: u32| RowIdentity { name: "name".into(), id, birth: 0, owner: None };
        let tick = |sequence: u64, rows: &[(u32, u64)]| {
            let content = Content::Rows(RecordedTable {
                columns: 1,
                rows: rows.iter().map(|(id, _)| row(*id)).collect(),
                values: rows.iter().map(|(_, value)| *value).collect(),
                ..RecordedTable::default()
            });
            let clocks = ClockReading::recorded(i64::try_from(sequence).unwrap());
            let table = TickTable { collected: Some(sequence), clocks, content };
            TickState { sequence, clocks, tables: vec![table], ..TickState::default() }
        };
        let step = |kept, dropped, inserted| RowStep { kept, dropped, inserted };
        for (rows, steps, cells) in [
            (&[(1, 15), (2, 7)][..], vec![step(1, 0, 1)], vec![((0, 0), 5), ((1, 0), 3)]),
            // The first row has moved.
            (&[(3, 9), (1, 15)], vec![step(0, 1, 0), step(1, 0, 1)], vec![((0, 0), 4), ((1, 0), 2)]),
        ] {
            let first: &[(u32, u64)] = if steps.len() == 1 { &[(1, 10)] } else { &[(1, 10), (3, 5)] };
            let ticks = [tick(1, first), tick(2, rows)];
            let mut writer = SegmentWriter::new();
            writer.begin_table(0, 1);
            let mut trace = TickTrace::new(1);
            writer.add_traced_tick(&ticks[0], &trace).unwrap();
            let changes = trace.table(0).unwrap();
            (changes.before, changes.is_known) = (Some(1), true);
            (changes.steps, changes.cells) = (steps, cells);
            writer.add_traced_tick(&ticks[1], &trace).unwrap();
            assert!(writer.finish().unwrap() == written(&ticks, &[1]), "{rows:?}");
        }
    }
}
