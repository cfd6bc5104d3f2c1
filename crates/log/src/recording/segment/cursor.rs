//! Cursor over the ticks of a segment: rows of all wanted tables, tick by tick.

use std::ops::Range;
use std::sync::Arc;

use perfset_core::NoValue;
use perfset_engine::CellState;

use super::super::budget::MOST_STEPS;
use super::super::bytes::Malformed;
use super::super::table::{Content, MOST_CELLS, RecordedTable, RowIdentity, StateList, index, position};
use super::super::tick::{TickState, TickTable, WantedTables};
use super::align::NONE;
use super::changes::{CellChange, Changes, Collector};
use super::read::{Collected, Collections, Decompressor, SegmentTable, StoredSegment};
use super::rows::{Run, cells_of, no_key, take_key};
use super::stream::ColumnReader;
use crate::damage::Damage;

/// Maximum number of cell changes of all tables of a segment together that are decoded at once.
const MOST_CHANGES: usize = 8 << 20;
/// Number of cells that a cursor copies in the time of one work step.
const CELLS_OF_A_STEP: usize = 8;

/// Cursor over the ticks of a segment. Each stream is decoded once, or a few times if a table has very many changes.
///
/// Columns that are not wanted have the value 0. Cells of a damaged column have no value, and a table whose rows are
/// damaged has failed; others are not affected.
#[derive(Debug)]
pub struct SegmentTicks {
    segment: Arc<StoredSegment>,
    state: TickState,
    tables: Vec<TableCursor>,
    /// Index in the segment of the next tick.
    next: usize,
    /// `true` if damage was recorded because reading the segment takes too many work steps.
    is_slow: bool,
    shared: CursorParts,
}

/// Parts of a segment's cursor that all its tables use.
#[derive(Debug)]
struct CursorParts {
    decompressor: Decompressor,
    damages: Vec<Damage>,
    /// List that has `true` for each cell state of the segment whose cells have no value.
    is_missing: Vec<bool>,
    /// `true` if the segment's list of cell states is damaged: all states are the same then.
    lost_states: bool,
    /// Number of work steps left to read through the segment: a few bytes can hold very many changes.
    steps: usize,
    /// Maximum number of work steps to read through the segment.
    most_steps: usize,
}

fn damaged() -> NoValue {
    NoValue::Failed("this part of the recording is damaged".into())
}

impl CursorParts {
    fn take_steps(&mut self, steps: usize) {
        self.steps = self.steps.saturating_sub(steps);
    }

    fn push_state(&mut self, states: &mut StateList, state: CellState) -> u32 {
        let number = position(states.len());
        self.is_missing.push(matches!(state, CellState::Missing(_)));
        states.push(state);
        number
    }
}

impl SegmentTicks {
    /// Creates a cursor before the first tick of a segment; `wanted` selects tables by number, and `column` selects
    /// columns by table and column number.
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
            steps: MOST_STEPS,
            most_steps: MOST_STEPS,
        };
        let mut state = TickState::default();
        match segment.states() {
            Ok(known) => {
                for known in known.since(0) {
                    shared.push_state(&mut state.states, known.clone());
                }
            }
            // Without the list, all states are this one.
            Err(damage) => {
                shared.damages.push(damage);
                shared.lost_states = true;
                shared.push_state(&mut state.states, CellState::Missing(damaged()));
            }
        }
        let mut tables = Vec::new();
        let mut room = MOST_CELLS;
        let entries = segment.directory().map_or(&[][..], |directory| &directory.tables);
        for entry in entries.iter().filter(|entry| wanted(entry.number)) {
            let what = format!("table {}", entry.number);
            let too_large = || segment.damage(&entry.runs, &what, "it does not fit beside the others");
            // Each takes a cell, also if its rows are damaged.
            let Some(left) = room.checked_sub(entry.collections(segment.ticks().len())) else {
                shared.damages.push(too_large());
                continue;
            };
            room = left;
            let table = SegmentTable::read(segment, entry, room, &mut shared.decompressor);
            let table = table.and_then(|table| {
                let readings = position(table.readings());
                let cells = cells_of(&table.runs, table.placements.len(), table.columns.len(), readings);
                room = room.checked_sub(cells).ok_or_else(too_large)?;
                Ok(table)
            });
            let (collections, rows) = match table {
                Ok(table) => (None, Some(TableRows::new(table, column))),
                // The table has failed where it was collected.
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
        share_changes(&mut tables);
        let last = tables.last().map_or(0, |table| table.number.saturating_add(1));
        state.tables.resize_with(last, TickTable::default);
        Self { segment: Arc::clone(segment), state, tables, next: 0, is_slow: false, shared }
    }

    /// Limits the number of readings of each table that the cursor decodes at once.
    pub fn with_readings(mut self, readings: usize) -> Self {
        for rows in self.tables.iter_mut().filter_map(|table| table.rows.as_mut()) {
            rows.width = readings.min(rows.width);
        }
        self
    }

    /// Makes the cursor leave out the rows that `wanted` does not select.
    pub fn with_rows(mut self, wanted: &dyn Fn(&RowIdentity) -> bool) -> Self {
        self.tables.iter_mut().filter_map(|table| table.rows.as_mut()).for_each(|rows| rows.keep(wanted));
        self
    }

    /// Makes the cursor decode ticks after `tick` only on request, because no request for them is expected.
    pub fn with_last(mut self, tick: usize) -> Self {
        for rows in self.tables.iter_mut().filter_map(|table| table.rows.as_mut()) {
            rows.end = rows.table.collections.readings.partition_point(|at| usize::from(*at) <= tick);
        }
        self
    }

    /// Limits the readings and changes of each table that the cursor decodes at once.
    #[cfg(test)]
    pub fn with_window(mut self, readings: usize, changes: usize) -> Self {
        for rows in self.tables.iter_mut().filter_map(|table| table.rows.as_mut()) {
            rows.most_changes = changes;
        }
        self.with_readings(readings)
    }

    /// Limits the work steps that the cursor may take to read through the segment.
    pub fn with_steps(mut self, steps: usize) -> Self {
        (self.shared.steps, self.shared.most_steps) = (steps, steps);
        self
    }

    /// Returns the number of work steps taken so far to read through the segment.
    pub fn steps_taken(&self) -> usize {
        self.shared.most_steps.saturating_sub(self.shared.steps)
    }

    /// Returns the contents of the segment's next tick.
    #[cfg(test)]
    pub fn next_tick(&mut self) -> Option<&TickState> {
        self.seek(self.next)
    }

    /// Returns the contents of a tick by its index in the segment; the next one costs least.
    pub fn seek(&mut self, tick: usize) -> Option<&TickState> {
        let (sequence, clocks) = *self.segment.ticks().get(tick)?;
        (self.state.sequence, self.state.clocks) = (sequence, clocks);
        if tick.saturating_add(1) < self.next {
            self.shared.steps = self.shared.most_steps;
        }
        self.next = tick.saturating_add(1);
        let TickState { tables, states, .. } = &mut self.state;
        for cursor in &mut self.tables {
            if let Some(table) = tables.get_mut(cursor.number) {
                cursor.seek(tick, table, states, &self.segment, &mut self.shared);
            }
        }
        if self.shared.steps == 0 && !std::mem::replace(&mut self.is_slow, true) {
            let what =
                format!("the samples since number {sequence} have too many changes to be read in time");
            let info = self.segment.directory().map(|directory| &directory.states);
            self.shared.damages.extend(info.map(|info| self.segment.damage(info, "segment", what)).ok());
        }
        Some(&self.state)
    }

    /// Returns the damage of the segment that was found since the last call.
    pub fn take_damages(&mut self) -> Vec<Damage> {
        std::mem::take(&mut self.shared.damages)
    }

    /// Returns the contents of the segment's tick at which the cursor is.
    pub fn state(&self) -> &TickState {
        &self.state
    }
}

/// Divides the maximum number of changes decoded at once between the tables of a segment, in proportion to their
/// numbers of values.
fn share_changes(tables: &mut [TableCursor]) {
    let values = |rows: &TableRows| {
        let of_column: usize = rows.table.runs.iter().map(Run::len).sum();
        // Each can have a state, too.
        of_column.saturating_mul(rows.columns.len()).saturating_mul(2)
    };
    let of = |table: &TableCursor| table.rows.as_ref().map_or(0, values);
    let all = tables.iter().fold(0_usize, |sum, table| sum.saturating_add(of(table)));
    let part = all.div_ceil(MOST_CHANGES).max(1);
    for rows in tables.iter_mut().filter_map(|table| table.rows.as_mut()) {
        rows.most_changes = values(rows).checked_div(part).unwrap_or(0);
    }
}

/// Cursor over the collections of one table in a segment.
#[derive(Debug)]
struct TableCursor {
    number: usize,
    /// Collections of the table, if its rows are damaged.
    lost: Option<Collections>,
    rows: Option<TableRows>,
    collection: Option<usize>,
    /// Memory of rows that is kept for reuse while the table's contents are a failure.
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
            Some(Collected::Reading(_)) if self.rows.is_some() && shared.steps > 0 => None,
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
                if shared.steps > 0 {
                    Content::Rows(table)
                } else {
                    // Some columns are not decoded.
                    self.spare = Some(table);
                    Content::Failed(damaged())
                }
            }
            (failure, _) => Content::Failed(failure.unwrap_or_else(damaged)),
        };
    }
}

/// Current rows of a table, which are updated from reading to reading.
#[derive(Debug)]
struct TableRows {
    table: SegmentTable,
    /// Indexes of the table's columns that are wanted.
    columns: Vec<usize>,
    /// List that has `true` for each run whose row is wanted; `None` = all are.
    kept: Option<Vec<bool>>,
    /// Index of the table's reading after the last one that is expected to be requested.
    end: usize,
    /// Indexes of the table's columns whose streams are damaged.
    damaged: Vec<usize>,
    /// Number of the cell state that cells in damaged columns have.
    damage: u32,
    /// List that has `true` for each reading in which rows of the table begin, end or move.
    moves: Vec<bool>,
    reading: Option<usize>,
    /// Range of the readings whose changes are decoded now.
    window: Range<usize>,
    /// Maximum number of readings in the decoded window.
    width: usize,
    /// Maximum number of changes in the decoded window, in addition to the values of its first reading.
    most_changes: usize,
    values: Changes,
    states: Changes,
    /// Indexes of the table's row placements, sorted by the reading in which they begin.
    begins: Vec<u32>,
    /// Number of row placements in `begins` that begin up to the current reading.
    begun: usize,
    /// Index of the current placement of each row of the table, ascending.
    live: Vec<u32>,
    /// Index of the run that each row of the table shows now.
    runs: Vec<u32>,
    /// Row of each run, or [`NONE`] if the run has no row now.
    row_of: Vec<u32>,
    /// Values of the table's cells, in which a missing cell keeps the value before; empty while no cell has a state.
    /// `numbers` has the states.
    held: Vec<u64>,
    numbers: Vec<u32>,
    is_tracking: bool,
}

impl TableRows {
    fn new(table: SegmentTable, wanted: &dyn Fn(usize, usize) -> bool) -> Self {
        let columns = (0..table.columns.len()).filter(|column| wanted(table.number, *column)).collect();
        let readings = table.readings();
        Self {
            begins: begins(&table),
            begun: 0,
            live: Vec::new(),
            row_of: vec![NONE; table.runs.len()],
            moves: moves(&table),
            table,
            columns,
            kept: None,
            end: readings,
            damaged: Vec::new(),
            damage: 0,
            reading: None,
            window: 0..0,
            width: readings,
            most_changes: 0,
            values: Changes::default(),
            states: Changes::default(),
            runs: Vec::new(),
            held: Vec::new(),
            numbers: Vec::new(),
            is_tracking: false,
        }
    }

    /// Leaves out the rows of the table that `wanted` does not select.
    fn keep(&mut self, wanted: &dyn Fn(&RowIdentity) -> bool) {
        let kept: Vec<bool> = self.table.runs.iter().map(|run| wanted(&run.key)).collect();
        self.table.placements.retain(|place| kept.get(index(place.run)).copied().unwrap_or(false));
        (self.moves, self.begins) = (moves(&self.table), begins(&self.table));
        self.kept = Some(kept);
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
            self.apply(reading, into, shared);
        }
        into.clocks = self.table.own_clocks(reading);
        self.reading = Some(reading);
        if shared.steps == 0 {
            // Only after a step back there are more.
            (self.reading, self.window) = (None, 0..0);
        }
    }

    fn clear(&mut self, into: &mut RecordedTable) {
        into.columns = self.table.columns.len();
        into.rows.clear();
        into.values.clear();
        into.states.clear();
        self.held.clear();
        self.numbers.clear();
        self.live.clear();
        self.begun = 0;
        for run in self.runs.drain(..) {
            if let Some(row) = self.row_of.get_mut(index(run)) {
                *row = NONE;
            }
        }
    }

    /// Decodes the cell changes of as many readings of the table as fit, beginning with `reading`.
    fn load(
        &mut self,
        reading: usize,
        states: &mut StateList,
        segment: &StoredSegment,
        shared: &mut CursorParts,
    ) {
        let end = if reading < self.end { self.end } else { self.table.readings() };
        loop {
            let until = reading.saturating_add(self.width).min(end);
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

    /// Decodes the changes of the table's cells in the window of readings. Returns `false` if there are too many.
    fn decode(&mut self, states: &mut StateList, segment: &StoredSegment, shared: &mut CursorParts) -> bool {
        self.values.clear();
        self.states.clear();
        let first = position(self.window.start);
        let rows = self.table.runs.iter().filter(|run| run.first <= first && first < run.end).count();
        let room = match self.window.len() {
            0 | 1 => usize::MAX,
            _ => rows.saturating_mul(self.columns.len()).saturating_add(self.most_changes),
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
                    // Then the whole table has no rows any more.
                    if shared.steps == 0 {
                        break;
                    }
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
    ) -> Result<bool, Damage> {
        let Some(info) = self.table.columns.get(column) else { return Ok(true) };
        let what = format!("column {column} of table {}", self.table.number);
        let stream = segment.stream(info, &what, &mut shared.decompressor)?;
        let in_column = |error: Malformed| segment.damage(info, &what, error);
        shared.take_steps(stream.len());
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
            let kept = self.kept.as_ref().and_then(|kept| kept.get(index(number)));
            let range = match wanted.is_empty() || kept == Some(&false) {
                true => 0..0,
                false => {
                    index(wanted.start.saturating_sub(run.first))..index(wanted.end.saturating_sub(run.first))
                }
            };
            let steps = reader.next_run(run.len(), range, &mut collector).map_err(in_column)?;
            shared.take_steps(steps);
            if shared.steps == 0 {
                return Err(segment.damage(info, &what, "it has too many changes to be read in time"));
            }
            if collector.values.decoded.len().saturating_add(collector.states.decoded.len()) > room {
                return Ok(false);
            }
        }
        if let Some(state) = collector.unknown {
            return Err(segment.damage(info, &what, format!("state {state} is not known")));
        }
        reader.end().map_err(in_column)?;
        Ok(true)
    }

    /// Changes the rows of the table to those of the next reading.
    fn apply(&mut self, reading: usize, into: &mut RecordedTable, shared: &mut CursorParts) {
        let is_first = reading == self.window.start;
        let moves = is_first || self.moves.get(reading).copied().unwrap_or(false);
        if moves {
            self.move_rows(position(reading), into);
            shared.take_steps(into.values.len() / CELLS_OF_A_STEP);
        }
        let is_missing = &shared.is_missing;
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
                shared.take_steps(into.values.len() / CELLS_OF_A_STEP);
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

    /// Updates `live` to the placements that hold a row in a reading: earlier ones that have not ended, and new ones.
    fn move_places(&mut self, reading: u32) {
        let place = |place: &u32| self.table.placements.get(index(*place));
        let is_live = |at: &u32| place(at).is_some_and(|place| reading < place.until);
        let rest = self.begins.get(self.begun..).unwrap_or_default();
        let count = rest.partition_point(|at| place(at).is_some_and(|place| place.from <= reading));
        let new = rest.get(..count).unwrap_or_default();
        self.live.retain(is_live);
        self.live.extend(new.iter().filter(|at| is_live(at)));
        // Two ascending parts: the sort merges them. After a jump there are as many parts as readings.
        self.live.sort();
        self.begun = self.begun.saturating_add(count);
    }

    /// Replaces the rows of the table by those of the runs that a reading has, in their order.
    fn move_rows(&mut self, reading: u32, into: &mut RecordedTable) {
        let columns = into.columns;
        self.move_places(reading);
        let place = |place: &u32| self.table.placements.get(index(*place));
        let runs: Vec<u32> = self.live.iter().filter_map(place).map(|place| place.run).collect();
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

/// Returns the indexes of a table's placements, sorted by the reading in which they begin.
fn begins(table: &SegmentTable) -> Vec<u32> {
    let mut begins: Vec<u32> = (0..position(table.placements.len())).collect();
    begins.sort_by_key(|place| table.placements.get(index(*place)).map(|place| place.from));
    begins
}

/// Finds the readings of a table in which rows begin, end or move.
fn moves(table: &SegmentTable) -> Vec<bool> {
    let mut moves = vec![false; table.readings().saturating_add(1)];
    for placement in &table.placements {
        for at in [placement.from, placement.until] {
            if let Some(moves) = moves.get_mut(index(at)) {
                *moves = true;
            }
        }
    }
    moves
}
