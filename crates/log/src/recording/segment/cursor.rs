//! Cursor over the ticks of a segment: rows of all wanted tables, tick by tick.

use std::ops::Range;
use std::sync::Arc;

use perfset_core::NoValue;
use perfset_engine::CellState;

use super::super::bytes::Malformed;
use super::super::table::{Content, RecordedTable, StateList, index, position};
use super::super::tick::{TickState, TickTable, WantedTables};
use super::align::NONE;
use super::read::{Collected, Collections, Decompressor, SegmentTable, StoredSegment, column_name};
use super::rows::{most_rows, no_key, take_key};
use super::stream::{ColumnReader, RunChange, RunSink};

/// Most cells of all tables together.
const MOST_CELLS: usize = 4 * RecordedTable::MOST_CELLS;
/// Memory of a row's identity, as a number of cells.
const CELLS_OF_A_KEY: usize = 8;
/// Most changes of all tables together that are decoded at once.
const MOST_CHANGES: usize = 8 << 20;
/// Memory of a run, as a number of cells: its identity, and its place among the rows.
const CELLS_OF_A_RUN: usize = 16;

/// Cursor over the ticks of a segment. Each stream is decoded once, or a few times if a table has very many changes.
///
/// Columns that are not wanted have the value 0. Cells of a damaged column have no value, and a table whose rows are
/// damaged has failed; others are not affected.
#[derive(Debug)]
pub struct SegmentTicks {
    segment: Arc<StoredSegment>,
    state: TickState,
    tables: Vec<TableCursor>,
    /// Index of the next tick.
    next: usize,
    shared: CursorParts,
}

/// Parts of a cursor that all its tables use.
#[derive(Debug)]
struct CursorParts {
    decompressor: Decompressor,
    damages: Vec<Malformed>,
    /// For each state, whether cells that have it have no value.
    is_missing: Vec<bool>,
    /// `true` if the list of states is damaged: all states are the same then.
    lost_states: bool,
    /// Changes of a table that are in memory, besides the values of a reading.
    most_changes: usize,
}

fn damaged() -> NoValue {
    NoValue::Failed("this part of the recording is damaged".into())
}

impl CursorParts {
    fn push_state(&mut self, states: &mut StateList, state: CellState) -> u32 {
        let number = position(states.len());
        self.is_missing.push(matches!(state, CellState::Missing(_)));
        states.push(state);
        number
    }
}

impl SegmentTicks {
    /// Makes a cursor before the first tick, for tables by number, and for columns by the table's number and their own.
    pub fn new(
        segment: &Arc<StoredSegment>,
        wanted: WantedTables<'_>,
        column: &dyn Fn(usize, usize) -> bool,
    ) -> Self {
        let mut shared = CursorParts {
            decompressor: Decompressor::default(),
            damages: Vec::new(),
            is_missing: Vec::new(),
            lost_states: false,
            most_changes: 0,
        };
        let mut state = TickState::default();
        match segment.states() {
            Ok(known) => {
                for known in known.since(0) {
                    shared.push_state(&mut state.states, known.clone());
                }
            }
            Err(damage) => {
                shared.damages.push(damage);
                shared.lost_states = true;
                shared.push_state(&mut state.states, CellState::Missing(damaged()));
            }
        }
        let count = segment.directory.tables.iter().filter(|entry| wanted(entry.number)).count();
        shared.most_changes = MOST_CHANGES.checked_div(count).unwrap_or(0);
        let mut tables = Vec::new();
        let mut room = MOST_CELLS;
        for entry in segment.directory.tables.iter().filter(|entry| wanted(entry.number)) {
            let table = SegmentTable::read(segment, entry, &mut shared.decompressor);
            let table = table.and_then(|table| {
                let rows = most_rows(&table.runs, position(table.readings()));
                let cells = rows.saturating_mul(table.columns.len().saturating_add(CELLS_OF_A_KEY));
                let cells = cells.saturating_add(table.runs.len().saturating_mul(CELLS_OF_A_RUN));
                let too_large = || format!("table {} does not fit beside the others", entry.number);
                room = room.checked_sub(cells).ok_or_else(|| Malformed { offset: 0, what: too_large() })?;
                Ok(table)
            });
            let (collections, rows) = match table {
                Ok(table) => (None, Some(TableRows::new(table, column))),
                Err(damage) => {
                    shared.damages.push(damage);
                    (Some(Collections::new(entry, segment.ticks())), None)
                }
            };
            tables.push(TableCursor {
                number: entry.number,
                lost: collections,
                rows,
                collection: None,
                spare: None,
            });
        }
        let last = tables.last().map_or(0, |table| table.number.saturating_add(1));
        state.tables.resize_with(last, TickTable::default);
        Self { segment: Arc::clone(segment), state, tables, next: 0, shared }
    }

    /// Limits what is decoded at once, to readings and changes of each table.
    #[cfg(test)]
    pub(super) fn with_window(mut self, readings: usize, changes: usize) -> Self {
        for rows in self.tables.iter_mut().filter_map(|table| table.rows.as_mut()) {
            rows.width = readings.min(rows.width);
        }
        self.shared.most_changes = changes;
        self
    }

    /// Returns the next tick.
    #[cfg(test)]
    pub fn next_tick(&mut self) -> Option<&TickState> {
        self.seek(self.next)
    }

    /// Returns a tick by its index; the next one costs least.
    pub fn seek(&mut self, tick: usize) -> Option<&TickState> {
        let (sequence, clocks) = *self.segment.ticks().get(tick)?;
        (self.state.sequence, self.state.clocks) = (sequence, clocks);
        self.next = tick.saturating_add(1);
        let TickState { tables, states, .. } = &mut self.state;
        for cursor in &mut self.tables {
            if let Some(table) = tables.get_mut(cursor.number) {
                cursor.seek(tick, table, states, &self.segment, &mut self.shared);
            }
        }
        Some(&self.state)
    }

    /// Returns the damage found since the last call.
    pub fn take_damages(&mut self) -> Vec<Malformed> {
        std::mem::take(&mut self.shared.damages)
    }

    /// Returns the contents of the tick at which the cursor is.
    pub fn state(&self) -> &TickState {
        &self.state
    }
}

/// Cursor over the collections of one table.
#[derive(Debug)]
struct TableCursor {
    number: usize,
    /// Collections of a table whose rows are damaged.
    lost: Option<Collections>,
    rows: Option<TableRows>,
    collection: Option<usize>,
    /// Rows while the table's contents are a failure.
    spare: Option<RecordedTable>,
}

impl TableCursor {
    fn seek(
        &mut self,
        tick: usize,
        into: &mut TickTable,
        states: &mut StateList,
        segment: &StoredSegment,
        shared: &mut CursorParts,
    ) {
        let of_rows = self.rows.as_ref().map(|rows| &rows.table.collections);
        let Some(collections) = of_rows.or(self.lost.as_ref()) else { return };
        let collection = collections.at(tick);
        if collection == self.collection {
            return;
        }
        self.collection = collection;
        if let Content::Rows(table) = std::mem::take(&mut into.content) {
            // Rows come back when the table is collected again. The default has none.
            self.spare.get_or_insert(table);
        }
        let Some(collection) = collection else { return *into = TickTable::default() };
        let tick = collections.ticks.get(collection).copied().unwrap_or(0);
        let (sequence, clocks) = collections.collection_at(tick, segment);
        (into.collected, into.clocks) = (Some(sequence), clocks);
        let failure = match collections.collected(collection) {
            Some(Collected::Failed(failure)) => Some(failure.reason.clone()),
            Some(Collected::Reading(_)) if self.rows.is_some() => None,
            _ => Some(damaged()),
        };
        let reading = match collections.collected(collection) {
            Some(Collected::Reading(reading)) => reading.into(),
            _ => 0,
        };
        into.content = match (failure, &mut self.rows) {
            (None, Some(rows)) => {
                let mut table = self.spare.take().unwrap_or_default();
                rows.seek(reading, &mut table, states, segment, shared);
                Content::Rows(table)
            }
            (failure, _) => Content::Failed(failure.unwrap_or_else(damaged)),
        };
    }
}

/// Value or state of a cell that changes, in the row of a run.
#[derive(Clone, Copy, Debug, Default)]
struct CellChange {
    run: u32,
    column: u32,
    /// Difference of the value; or number of the state plus 1, or 0 for none.
    number: u64,
}

/// Changes of cells, by reading.
#[derive(Debug, Default)]
struct Changes {
    /// For each reading the index of its first change; and one more.
    starts: Vec<usize>,
    sorted: Vec<CellChange>,
    /// Changes as they were decoded, and their readings.
    decoded: Vec<CellChange>,
    readings: Vec<u16>,
}

impl Changes {
    fn clear(&mut self) {
        self.decoded.clear();
        self.readings.clear();
    }

    fn truncate(&mut self, len: usize) {
        self.decoded.truncate(len);
        self.readings.truncate(len);
    }

    fn push(&mut self, reading: u32, change: CellChange) {
        self.readings.push(u16::try_from(reading).unwrap_or(u16::MAX));
        self.decoded.push(change);
    }

    /// Sorts what was decoded by reading.
    fn sort(&mut self, readings: usize) {
        self.starts.clear();
        self.starts.resize(readings.saturating_add(2), 0);
        for reading in &self.readings {
            if let Some(count) = self.starts.get_mut(usize::from(*reading).saturating_add(2)) {
                *count = count.saturating_add(1);
            }
        }
        let mut sum = 0_usize;
        for start in &mut self.starts {
            sum = sum.saturating_add(*start);
            *start = sum;
        }
        self.sorted.clear();
        self.sorted.resize(self.decoded.len(), CellChange::default());
        for (reading, change) in self.readings.iter().zip(&self.decoded) {
            let Some(next) = self.starts.get_mut(usize::from(*reading).saturating_add(1)) else { continue };
            if let Some(place) = self.sorted.get_mut(*next) {
                *place = *change;
            }
            *next = next.saturating_add(1);
        }
        self.clear();
    }

    fn of(&self, reading: usize) -> &[CellChange] {
        // After sorting each start has become the next one.
        let range = self.starts.get(reading).zip(self.starts.get(reading.saturating_add(1)));
        range.and_then(|(from, until)| self.sorted.get(*from..*until)).unwrap_or_default()
    }
}

/// Rows of a table that are moved from reading to reading.
#[derive(Debug)]
struct TableRows {
    table: SegmentTable,
    /// Columns that are wanted.
    columns: Vec<usize>,
    /// Columns whose streams are damaged.
    damaged: Vec<usize>,
    /// Number of the state of their cells.
    damage: u32,
    /// For each reading `true` if other rows begin, end or move there.
    moves: Vec<bool>,
    reading: Option<usize>,
    /// Readings whose changes are decoded.
    window: Range<usize>,
    /// Most readings of a window.
    width: usize,
    values: Changes,
    states: Changes,
    /// Run of each row.
    runs: Vec<u32>,
    /// For each run its row, or [`NONE`].
    row_of: Vec<u32>,
    /// Values of cells as if none were missing, and their states; empty while no cell has a state.
    held: Vec<u64>,
    numbers: Vec<u32>,
    is_tracking: bool,
}

impl TableRows {
    fn new(table: SegmentTable, wanted: &dyn Fn(usize, usize) -> bool) -> Self {
        let columns = (0..table.columns.len()).filter(|column| wanted(table.number, *column)).collect();
        let readings = table.readings();
        let mut moves = vec![false; readings.saturating_add(1)];
        for placement in &table.placements {
            for at in [placement.from, placement.until] {
                if let Some(moves) = moves.get_mut(index(at)) {
                    *moves = true;
                }
            }
        }
        Self {
            row_of: vec![NONE; table.runs.len()],
            table,
            columns,
            damaged: Vec::new(),
            damage: 0,
            moves,
            reading: None,
            window: 0..0,
            width: readings,
            values: Changes::default(),
            states: Changes::default(),
            runs: Vec::new(),
            held: Vec::new(),
            numbers: Vec::new(),
            is_tracking: false,
        }
    }

    fn seek(
        &mut self,
        reading: usize,
        into: &mut RecordedTable,
        states: &mut StateList,
        segment: &StoredSegment,
        shared: &mut CursorParts,
    ) {
        let from = match self.reading {
            Some(at) if at == reading => return,
            Some(at) if at < reading && self.window.contains(&reading) => at.saturating_add(1),
            _ => {
                self.load(reading, states, segment, shared);
                self.clear(into);
                reading
            }
        };
        for reading in from..=reading {
            self.apply(reading, into, &shared.is_missing);
        }
        into.clocks = self.table.own_clocks(reading);
        self.reading = Some(reading);
    }

    fn clear(&mut self, into: &mut RecordedTable) {
        into.columns = self.table.columns.len();
        into.rows.clear();
        into.values.clear();
        into.states.clear();
        self.held.clear();
        self.numbers.clear();
        for run in self.runs.drain(..) {
            if let Some(row) = self.row_of.get_mut(index(run)) {
                *row = NONE;
            }
        }
    }

    /// Decodes the changes of as many readings as fit, from one on.
    fn load(
        &mut self,
        reading: usize,
        states: &mut StateList,
        segment: &StoredSegment,
        shared: &mut CursorParts,
    ) {
        loop {
            let until = reading.saturating_add(self.width).min(self.table.readings());
            self.window = reading..until;
            if self.decode(states, segment, shared) {
                break;
            }
            self.width = (self.window.len() / 2).max(1);
        }
        let readings = self.window.len();
        self.values.sort(readings);
        self.states.sort(readings);
    }

    /// Decodes the changes of the window. Returns `false` if there are too many.
    fn decode(&mut self, states: &mut StateList, segment: &StoredSegment, shared: &mut CursorParts) -> bool {
        self.values.clear();
        self.states.clear();
        let first = position(self.window.start);
        let rows = self.table.runs.iter().filter(|run| run.first <= first && first < run.end).count();
        let room = match self.window.len() {
            0 | 1 => usize::MAX,
            _ => rows.saturating_mul(self.columns.len()).saturating_add(shared.most_changes),
        };
        for column in self.columns.clone() {
            if self.damaged.contains(&column) {
                continue;
            }
            let known = (self.values.decoded.len(), self.states.decoded.len());
            match self.decode_column(column, room, segment, shared) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(damage) => {
                    self.values.truncate(known.0);
                    self.states.truncate(known.1);
                    shared.damages.push(damage);
                    if self.damaged.is_empty() {
                        self.damage = shared.push_state(states, CellState::Missing(damaged()));
                    }
                    self.damaged.push(column);
                    self.is_tracking = true;
                }
            }
        }
        if !self.states.decoded.is_empty() {
            self.is_tracking = true;
        }
        true
    }

    fn decode_column(
        &mut self,
        column: usize,
        room: usize,
        segment: &StoredSegment,
        shared: &mut CursorParts,
    ) -> Result<bool, Malformed> {
        let stream = segment.column(&self.table, column, &mut shared.decompressor)?;
        let in_column = |error: Malformed| Malformed {
            what: format!("{}: {}", column_name(self.table.number, column), error.what),
            ..error
        };
        let mut reader = ColumnReader::new(&stream, self.table.runs.len()).map_err(in_column)?;
        let (from, until) = (position(self.window.start), position(self.window.end));
        let known = shared.is_missing.len();
        let mut collector = Collector {
            values: &mut self.values,
            states: &mut self.states,
            run: 0,
            column: position(column),
            begin: 0,
            base: 0,
            known: u64::try_from(known).unwrap_or(u64::MAX),
            lost_states: shared.lost_states,
            unknown: None,
        };
        for (number, run) in (0_u32..).zip(&self.table.runs) {
            let wanted = run.first.max(from)..run.end.min(until);
            // Runs that begin inside of the window have readings after its start.
            collector.run = number;
            collector.base = run.first.wrapping_sub(from);
            collector.begin = wanted.start.saturating_sub(from);
            let range = match wanted.is_empty() {
                true => 0..0,
                false => {
                    index(wanted.start.saturating_sub(run.first))..index(wanted.end.saturating_sub(run.first))
                }
            };
            reader.next_run(run.len(), range, &mut collector).map_err(in_column)?;
            if collector.values.decoded.len().saturating_add(collector.states.decoded.len()) > room {
                return Ok(false);
            }
        }
        if let Some(state) = collector.unknown {
            let what = format!("{}: state {state} is not known", column_name(self.table.number, column));
            return Err(Malformed { offset: 0, what });
        }
        reader.end().map_err(in_column)?;
        Ok(true)
    }

    /// Makes the rows those of the next reading.
    fn apply(&mut self, reading: usize, into: &mut RecordedTable, is_missing: &[bool]) {
        let is_first = reading == self.window.start;
        let moves = is_first || self.moves.get(reading).copied().unwrap_or(false);
        if moves {
            self.move_rows(position(reading), into);
        }
        let columns = into.columns;
        let at = reading.saturating_sub(self.window.start);
        let is_without_value = |number: u32| {
            let number = number.checked_sub(1).and_then(|number| is_missing.get(index(number)));
            number.copied().unwrap_or(false)
        };
        let row_of = &self.row_of;
        let cell_of = |change: &CellChange| {
            let row = row_of.get(index(change.run)).copied().unwrap_or(NONE);
            index(row).saturating_mul(columns).saturating_add(index(change.column))
        };
        if self.is_tracking {
            for change in self.values.of(at) {
                let cell = cell_of(change);
                let Some(held) = self.held.get_mut(cell) else { continue };
                *held = held.wrapping_add(change.number);
                let number = self.numbers.get(cell).copied().unwrap_or(0);
                if let Some(value) = into.values.get_mut(cell) {
                    *value = if is_without_value(number) { 0 } else { *held };
                }
            }
            let states = self.states.of(at);
            for change in states {
                let cell = cell_of(change);
                let number = u32::try_from(change.number).unwrap_or(0);
                let Some(place) = self.numbers.get_mut(cell) else { continue };
                *place = number;
                let held = self.held.get(cell).copied().unwrap_or(0);
                if let Some(value) = into.values.get_mut(cell) {
                    *value = if is_without_value(number) { 0 } else { held };
                }
            }
            if moves || !states.is_empty() {
                self.collect_states(into);
            }
        } else {
            for change in self.values.of(at) {
                if let Some(value) = into.values.get_mut(cell_of(change)) {
                    *value = value.wrapping_add(change.number);
                }
            }
        }
    }

    fn collect_states(&self, into: &mut RecordedTable) {
        into.states.clear();
        for (row, numbers) in (0_u32..).zip(self.numbers.chunks(into.columns.max(1))) {
            if numbers.iter().all(|number| *number == 0) {
                continue;
            }
            let with_state =
                (0_u32..).zip(numbers).filter_map(|(column, number)| Some((column, number.checked_sub(1)?)));
            into.states.extend(with_state.map(|(column, number)| ((row, column), number)));
        }
    }

    /// Makes rows of the runs that a reading has, in their order.
    fn move_rows(&mut self, reading: u32, into: &mut RecordedTable) {
        let columns = into.columns;
        let placements = self.table.placements.iter();
        let live = placements.filter(|place| place.from <= reading && reading < place.until);
        let runs: Vec<u32> = live.map(|place| place.run).collect();
        let same = runs.iter().zip(&self.runs).take_while(|(new, old)| new == old).count();
        let from = same.saturating_mul(columns);
        let mut old_rows = into.rows.split_off(same.min(into.rows.len()));
        let old_values = into.values.split_off(from.min(into.values.len()));
        let old_held = self.held.split_off(from.min(self.held.len()));
        let old_numbers = self.numbers.split_off(from.min(self.numbers.len()));
        for run in runs.iter().skip(same) {
            let old = self.row_of.get(index(*run)).copied().filter(|row| *row != NONE);
            match old.and_then(|row| index(row).checked_sub(same)) {
                Some(old) => {
                    into.rows.push(old_rows.get_mut(old).map_or_else(no_key, take_key));
                    let start = old.saturating_mul(columns);
                    let range = start..start.saturating_add(columns);
                    into.values.extend_from_slice(old_values.get(range.clone()).unwrap_or_default());
                    if self.is_tracking {
                        self.held.extend_from_slice(old_held.get(range.clone()).unwrap_or_default());
                        self.numbers.extend_from_slice(old_numbers.get(range).unwrap_or_default());
                    }
                }
                None => {
                    let key = self.table.runs.get(index(*run)).map(|run| run.key.clone());
                    into.rows.push(key.unwrap_or_else(no_key));
                    let len = into.rows.len().saturating_mul(columns);
                    into.values.resize(len, 0);
                    if self.is_tracking {
                        self.held.resize(len, 0);
                        self.numbers.resize(len, 0);
                        for column in &self.damaged {
                            let cell = len.saturating_sub(columns).saturating_add(*column);
                            if let Some(number) = self.numbers.get_mut(cell) {
                                *number = self.damage.saturating_add(1);
                            }
                        }
                    }
                }
            }
        }
        for run in self.runs.drain(..) {
            if let Some(row) = self.row_of.get_mut(index(run)) {
                *row = NONE;
            }
        }
        for (row, run) in (0_u32..).zip(&runs) {
            if let Some(place) = self.row_of.get_mut(index(*run)) {
                *place = row;
            }
        }
        self.runs = runs;
    }
}

/// Receiver of a column's changes.
struct Collector<'a> {
    values: &'a mut Changes,
    states: &'a mut Changes,
    run: u32,
    column: u32,
    /// First reading of the range, from the window's start on.
    begin: u32,
    /// Reading of the run's beginning, from the window's start on, modulo 2^32.
    base: u32,
    /// Number of known states.
    known: u64,
    lost_states: bool,
    unknown: Option<u64>,
}

impl RunSink for Collector<'_> {
    #[inline]
    fn first(&mut self, value: u64) {
        // New rows have zeros.
        if value != 0 {
            self.values.push(self.begin, CellChange { run: self.run, column: self.column, number: value });
        }
    }

    #[inline]
    fn change(&mut self, change: RunChange) {
        let reading = self.base.wrapping_add(change.at);
        self.values.push(reading, CellChange { run: self.run, column: self.column, number: change.delta });
    }

    fn state(&mut self, at: u32, state: u64) {
        let state = if self.lost_states { state.min(1) } else { state };
        if state > self.known {
            self.unknown = Some(state.saturating_sub(1));
        }
        let reading = self.base.wrapping_add(at);
        self.states.push(reading, CellChange { run: self.run, column: self.column, number: state });
    }
}
