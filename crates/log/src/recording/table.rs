//! Tables: rows of one counterset at one tick, as a recording stores them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::num::NonZeroU64;

use perfset_core::sample::Clocks;
use perfset_core::v2::{Block, BlockValue, Body};
use perfset_core::{Birth, InstanceId, Mark, NoValue, Owner, RawValue, Utf16};
use perfset_engine::{CellState, EntryMetadata, Snapshot};

/// Identity of a row in a recorded table: its instance, and the instance's owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct RowIdentity {
    pub name: Utf16,
    pub id: u32,
    /// Birth (start time) of the row's instance; 0 = unknown.
    pub birth: u64,
    /// Process id and user of the instance's owner; `None` is the system.
    pub owner: Option<(u32, u32)>,
}

impl RowIdentity {
    pub fn birth(&self) -> Birth {
        NonZeroU64::new(self.birth)
    }

    pub fn owner(&self) -> Owner {
        self.owner.map_or(Owner::System, |(pid, user)| Owner::Process { pid, user })
    }
}

/// Row and column of a cell, and the number of its state in a [`StateList`].
pub(super) type CellStateNumber = ((u32, u32), u32);

/// List of cell states, each stored once, because many cells share few states.
#[derive(Clone, Debug, Default)]
pub(super) struct StateList {
    states: Vec<CellState>,
    numbers: HashMap<CellState, u32>,
    /// Number of bytes of the texts in all cell states of the list.
    text: usize,
}

impl PartialEq for StateList {
    fn eq(&self, other: &Self) -> bool {
        self.states == other.states
    }
}

impl StateList {
    /// Maximum number of cell states of a list, far more than a recorder makes between two whole ticks.
    pub const MOST: usize = 1 << 20;
    /// Maximum number of bytes of the texts in all cell states of a list: a whole tick, which has them all, is no
    /// longer.
    pub const MOST_TEXT: usize = 64 << 20;

    /// Returns the number of a cell state in the list, which is added if it is new.
    pub fn number(&mut self, state: CellState) -> u32 {
        match self.numbers.entry(state) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let number = position(self.states.len());
                self.text = self.text.saturating_add(text_len(place.key()));
                self.states.push(place.key().clone());
                *place.insert(number)
            }
        }
    }

    /// Appends a cell state that was read from a tick. The number of the state is its index.
    pub fn push(&mut self, state: CellState) {
        self.text = self.text.saturating_add(text_len(&state));
        self.states.push(state);
    }

    /// Returns `true` if the list of cell states is so long that a reader adds no further state.
    pub fn is_full(&self) -> bool {
        self.states.len() >= Self::MOST || self.text >= Self::MOST_TEXT
    }

    /// Returns the cell state with this number.
    pub fn get(&self, number: u32) -> Option<&CellState> {
        self.states.get(index(number))
    }

    /// Returns the cell state with this number, and all later states of the list.
    pub fn since(&self, number: usize) -> &[CellState] {
        self.states.get(number..).unwrap_or_default()
    }

    pub fn len(&self) -> usize {
        self.states.len()
    }
}

/// Maximum number of cells of all tables together that a reader has in memory: 256 MiB.
pub(super) const MOST_CELLS: usize = 4 * RecordedTable::MOST_CELLS;
/// Memory that a row's identity takes, as a number of cells.
pub(super) const CELLS_OF_A_KEY: usize = 8;
/// Memory that the state of a cell takes, as a number of cells.
const CELLS_OF_A_STATE: usize = 2;

fn text_len(state: &CellState) -> usize {
    match state {
        CellState::Missing(NoValue::Unavailable(text) | NoValue::Denied(text)) => text.len(),
        CellState::Missing(NoValue::Failed(text)) => text.len(),
        _ => 0,
    }
}

/// Rows of a counterset, or of some counters of it, at one tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RecordedTable {
    /// Number of counters in each row of the table.
    pub columns: usize,
    pub rows: Vec<RowIdentity>,
    /// Raw values of the table, row by row; 0 for a missing value.
    pub values: Vec<u64>,
    /// Numbers of the states of the table's cells that have one, by row and column, ascending.
    pub states: Vec<CellStateNumber>,
    /// Clocks of the table's counterset itself, if its source has some.
    pub clocks: Option<Clocks>,
}

/// Contents of a recorded table at a tick: rows, or the reason for none.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Rows(RecordedTable),
    Failed(NoValue),
}

impl Default for Content {
    fn default() -> Self {
        Self::Rows(RecordedTable::default())
    }
}

impl RecordedTable {
    /// Maximum number of rows of a table, far more than any machine has instances.
    pub const MOST_ROWS: usize = 1_000_000;
    /// Maximum number of cells of a recorded table: 64 MiB of values.
    pub const MOST_CELLS: usize = 8 << 20;

    /// Returns the memory that the rows of the table take, as a number of cells.
    pub fn memory(&self) -> usize {
        let names: usize = self.rows.iter().map(|row| row.name.len() / 4).sum();
        let rows = self.rows.len().saturating_mul(CELLS_OF_A_KEY).saturating_add(names);
        let states = self.states.len().saturating_mul(CELLS_OF_A_STATE);
        rows.saturating_add(self.values.len()).saturating_add(states)
    }

    /// Returns the raw values of a row of the table.
    #[inline]
    pub fn row(&self, row: usize) -> &[u64] {
        let from = row.saturating_mul(self.columns);
        self.values.get(from..from.saturating_add(self.columns)).unwrap_or_default()
    }

    /// Returns the numbers of the states of a row's cells, each with row and column.
    pub fn states_of(&self, row: usize) -> &[CellStateNumber] {
        let from = self.states.partition_point(|((at, _), _)| index(*at) < row);
        let rest = self.states.get(from..).unwrap_or_default();
        rest.get(..rest.partition_point(|((at, _), _)| index(*at) == row)).unwrap_or_default()
    }
}

/// Widens the index of a table's row or column, which is never larger than a `usize`.
#[inline]
pub(super) fn index(position: u32) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// Shortens the index of a table's row or column to 32 bits; the index is never larger than
/// [`RecordedTable::MOST_CELLS`].
#[inline]
pub(super) fn position(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

impl Content {
    /// Returns the memory that the rows of the contents take, as a number of cells.
    pub fn memory(&self) -> usize {
        match self {
            Self::Rows(table) => table.memory(),
            Self::Failed(_) => 0,
        }
    }

    /// Replaces the contents of a recorded table by those of an entry of a snapshot. The allocations of `self` are
    /// used again.
    pub fn take(&mut self, snapshot: &Snapshot, entry: usize, states: &mut StateList) {
        let annex = snapshot.annex().get(entry);
        let result = Block::parse(snapshot.block()).ok().and_then(|block| block.results().nth(entry)?.ok());
        let failure = match (annex.and_then(EntryMetadata::failure), result) {
            (Some(reason), _) => Err(reason.clone()),
            (None, None) => Err(NoValue::NotGiven),
            (None, Some(result)) if !result.status.is_success() => Err(NoValue::Status(result.status)),
            (None, Some(result)) => Ok(result),
        };
        match failure {
            Err(reason) => *self = Self::Failed(reason),
            Ok(result) => {
                if matches!(self, Self::Failed(_)) {
                    *self = Self::default();
                }
                let columns = snapshot.entries().get(entry).map_or(0, |entry| entry.counters().count());
                if let Self::Rows(table) = self {
                    table.take(&result.body, annex, columns, states);
                }
            }
        }
    }
}

impl RecordedTable {
    fn take(
        &mut self,
        body: &Body<'_>,
        annex: Option<&EntryMetadata>,
        columns: usize,
        states: &mut StateList,
    ) {
        // Names are compared before they are copied: mostly the same instances come again.
        let mut known = std::mem::take(&mut self.rows);
        self.columns = columns;
        self.values.clear();
        self.states.clear();
        self.clocks = annex.and_then(EntryMetadata::clocks);
        let mut cells = RowCells {
            table: self,
            annex,
            notes: annex.map(EntryMetadata::notes).unwrap_or_default(),
            states,
        };
        let table = match body {
            Body::SingleCounter(value) => {
                cells.table.rows.push(single_key(annex));
                return cells.push(0, std::iter::once(*value));
            }
            Body::MultipleCounters(_, values) => {
                cells.table.rows.push(single_key(annex));
                return cells.push(0, values.iter());
            }
            Body::MultipleInstances(table) | Body::Counterset(_, table) => table,
            Body::Error => return,
        };
        for (row, instance) in table.rows().map_while(Result::ok).enumerate() {
            let birth = annex.and_then(|annex| annex.birth(row)).map_or(0, NonZeroU64::get);
            let owner = annex.and_then(|annex| stored_owner(annex.owner(row)));
            let InstanceId(id) = instance.id();
            let known = known.get_mut(row).filter(|known| {
                (known.id, known.birth, known.owner) == (id, birth, owner)
                    && instance.name().units().eq(known.name.units().iter().copied())
            });
            let name = known.map_or_else(|| instance.name().into(), |known| std::mem::take(&mut known.name));
            cells.table.rows.push(RowIdentity { name, id, birth, owner });
            cells.push(row, instance.values().iter());
        }
    }
}

fn stored_owner(owner: Owner) -> Option<(u32, u32)> {
    match owner {
        Owner::System => None,
        Owner::Process { pid, user } => Some((pid, user)),
    }
}

/// Cells of a recorded table that is filled row by row.
struct RowCells<'a> {
    table: &'a mut RecordedTable,
    annex: Option<&'a EntryMetadata>,
    /// States of the table's cells that are not filled yet, by row and column.
    notes: &'a [((usize, usize), CellState)],
    states: &'a mut StateList,
}

impl RowCells<'_> {
    fn push<'v>(&mut self, row: usize, values: impl Iterator<Item = BlockValue<'v>>) {
        let row_mark = self.annex.and_then(|annex| annex.row_mark(row)).and_then(stored_mark);
        let has_note = self.notes.first().is_some_and(|((at, _), _)| *at == row);
        let is_plain = row_mark.is_none() && !has_note;
        self.table.values.reserve(self.table.columns);
        // A row of a foreign block can have fewer values.
        let values = values.chain(std::iter::repeat(BlockValue::Empty)).take(self.table.columns);
        for (column, value) in values.enumerate() {
            let value = value.number().map(RawValue::get);
            self.table.values.push(value.unwrap_or(0));
            // Nearly all values are numbers without a state.
            if is_plain && value.is_some() {
                continue;
            }
            let note = match self.notes.split_first() {
                Some(((at, note), rest)) if *at == (row, column) => {
                    self.notes = rest;
                    Some(note)
                }
                _ => None,
            };
            let state = match (value, note) {
                (Some(_), None) => row_mark.clone(),
                (None, Some(CellState::Missing(reason))) => Some(CellState::Missing(reason.clone())),
                (None, _) => {
                    let reason = self.annex.and_then(|annex| annex.reason(row, column)).cloned();
                    Some(CellState::Missing(reason.unwrap_or(NoValue::NotGiven)))
                }
                (Some(_), Some(CellState::Marked(mark))) => stored_mark(*mark),
                (Some(_), Some(CellState::Counted(since, mark))) => {
                    Some(CellState::Counted(*since, mark.filter(|mark| *mark != Mark::Reused)))
                }
                // A value that has a reason for its absence is a value.
                (Some(_), Some(CellState::Missing(_))) => row_mark.clone(),
            };
            if let Some(state) = state {
                self.table.states.push(((position(row), position(column)), self.states.number(state)));
            }
        }
    }
}

/// Returns the cell state that a recording stores for a value with this mark. Returns `None` for a value proven
/// unchanged, which is as good as any other.
fn stored_mark(mark: Mark) -> Option<CellState> {
    (mark != Mark::Reused).then_some(CellState::Marked(mark))
}

fn single_key(annex: Option<&EntryMetadata>) -> RowIdentity {
    RowIdentity {
        name: annex.and_then(EntryMetadata::instance).map(Utf16::from).unwrap_or_default(),
        id: annex.and_then(EntryMetadata::instance_id).map_or(0, |InstanceId(id)| id),
        birth: annex.and_then(|annex| annex.birth(0)).map_or(0, NonZeroU64::get),
        owner: annex.and_then(|annex| stored_owner(annex.owner(0))),
    }
}
