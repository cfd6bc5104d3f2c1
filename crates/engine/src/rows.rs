//! What a provider fills: one row an instance, one column a wanted counter.

use std::num::NonZeroU64;

use perfset_core::sample::Clocks;
use perfset_core::v2::TableRows;
use perfset_core::v2::raw::Cell;
use perfset_core::{Birth, Counter, CounterId, Instance, InstanceId, Mark, Name, NoValue, Owner, RawValue};

use crate::runs::Runs;

/// The values of one counterset at one time, as they are in a block, with what a block has no place for.
///
/// Kept from collection to collection: as long as the same instances come in the same order nothing is allocated,
/// and [`changed`](Self::changed) is false.
#[derive(Debug, Default)]
pub struct Rows {
    columns: Vec<Column>,
    /// Names, ids and values.
    table: TableRows,
    /// By row: where it is in `table`.
    positions: Vec<usize>,
    about: AboutRows,
    /// Start of the collection in terms of PerfTime100NSec, if totals are made of the rows.
    totals_at_100ns: Option<u64>,
    /// Earliest possible start of each instance, where it is known.
    began: Runs<Option<u64>>,
    notes: Vec<CellNote>,
    /// By column: why cells without a value and a note have none. Empty if that was said of no column.
    reasons: Vec<Option<NoValue>>,
    bytes_read: u64,
    late: bool,
    /// The counterset's own clocks, if its source has some.
    clocks: Option<Clocks>,
    /// Which of its ways the source took, if it has several.
    layer: u32,
    /// Cells that were given a value.
    delivered: u64,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    counter: CounterId,
    /// One of its cells, with 0.
    zero: Cell,
    /// The bits that its values have.
    mask: u64,
}

impl Column {
    fn new(counter: &Counter) -> Self {
        let is_short = counter.counter_type.value_len() == 4;
        let (zero, mask) =
            if is_short { (Cell::from_u32(0), 0xFFFF_FFFF) } else { (Cell::from_u64(0), u64::MAX) };
        Self { counter: counter.id, zero, mask }
    }

    #[inline]
    fn cell(&self, value: u64) -> Cell {
        self.zero.with_value(value & self.mask)
    }
}

/// What is known of rows as a whole and a block has no place for.
#[derive(Clone, Debug, Default)]
pub(crate) struct AboutRows {
    births: Vec<Birth>,
    owners: Runs<Owner>,
    /// What is special about their values that have no note.
    marks: Runs<Option<Mark>>,
}

impl AboutRows {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.births.clear();
        self.owners.clear();
        self.marks.clear();
    }

    /// Adds a row.
    pub fn push(&mut self, birth: Birth, owner: Owner, mark: Option<Mark>) {
        let row = self.births.len();
        self.births.push(birth);
        self.owners.set(row, owner);
        self.marks.set(row, mark);
    }

    /// Becomes what is known of some rows, ascending, of others.
    pub fn select(&mut self, from: &Self, rows: &[usize]) {
        if rows.len() == from.births.len() {
            self.births.clone_from(&from.births);
            self.owners.copy(&from.owners);
            self.marks.copy(&from.marks);
            return;
        }
        self.clear();
        for row in rows {
            self.push(from.birth(*row), from.owner(*row), from.mark(*row));
        }
    }

    /// When a row began.
    pub fn birth(&self, row: usize) -> Birth {
        self.births.get(row).copied().flatten()
    }

    /// Whose a row is; the system's if there is no such row.
    pub fn owner(&self, row: usize) -> Owner {
        if row < self.births.len() { self.owners.get(row) } else { Owner::System }
    }

    /// What is special about the values of a row that have no note.
    #[inline]
    pub fn mark(&self, row: usize) -> Option<Mark> {
        if row < self.births.len() { self.marks.get(row) } else { None }
    }
}

/// Note about one cell: a reason, a mark, or the start of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The cell has no value, for this reason.
    Missing(NoValue),
    /// The cell has a value with this mark.
    Marked(Mark),
    /// The cell has a count that began at a time of its own, in terms of PerfTime100NSec, perhaps with a mark. It is
    /// not compared with a count that began at another time.
    Counted(NonZeroU64, Option<Mark>),
}

impl Note {
    /// Returns the mark of the value, if it has one.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        match self {
            Self::Missing(_) => None,
            Self::Marked(mark) => Some(*mark),
            Self::Counted(_, mark) => *mark,
        }
    }

    /// Returns `true` if the value is a total: it has a birth of its own, or lacks instances.
    pub(crate) fn is_of_total(&self) -> bool {
        matches!(self, Self::Counted(..)) || matches!(self, Self::Marked(Mark::Partial(_)))
    }

    /// Returns the start of counting in terms of PerfTime100NSec, if it is not the birth of the row.
    #[must_use]
    pub fn counted_since(&self) -> Option<NonZeroU64> {
        match self {
            Self::Counted(since, _) => Some(*since),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
struct CellNote {
    /// Row and column: notes are in ascending order of it.
    at: (usize, usize),
    note: Note,
}

impl Rows {
    /// Rows with these counters as columns.
    pub fn new<'a>(counters: impl IntoIterator<Item = &'a Counter>) -> Self {
        let columns: Vec<_> = counters.into_iter().map(Column::new).collect();
        Self { table: TableRows::new(columns.len()), columns, ..Self::default() }
    }

    /// Begins a collection: all rows are to be filled again.
    pub fn start(&mut self) {
        self.positions.clear();
        self.about.clear();
        self.began.clear();
        self.totals_at_100ns = None;
        self.notes.clear();
        self.reasons.clear();
        self.table.restart();
        self.bytes_read = 0;
        self.late = false;
        self.clocks = None;
        self.layer = 0;
        self.delivered = 0;
    }

    /// Ends a collection: rows that did not come again are gone.
    pub fn end(&mut self) {
        self.table.end();
        self.sort_notes();
    }

    /// As [`start`](Self::start), for rows that are written into a block at once.
    pub(crate) fn start_in(&mut self, table: TableRows) {
        self.table = TableRows::default();
        self.start();
        self.table = table;
    }

    /// As [`end`](Self::end), after that: names, ids and values are in the block now, and not here.
    pub(crate) fn end_in(&mut self) -> TableRows {
        let table = std::mem::replace(&mut self.table, TableRows::new(self.columns.len()));
        self.sort_notes();
        table
    }

    /// Sorts the notes about single cells. Before that they cannot be found.
    pub(crate) fn sort_notes(&mut self) {
        self.notes.sort_unstable_by_key(|note| note.at); // as good as sorted; and it allocates nothing
    }

    /// The counters of the columns.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = CounterId> + '_ {
        self.columns.iter().map(|column| column.counter)
    }

    /// The next row: an instance that exists now. Its name is cut to 1023 units.
    pub fn push(&mut self, name: &str, id: InstanceId, birth: Birth) -> Row<'_> {
        self.push_units(name.encode_utf16(), id, birth)
    }

    /// As [`push`](Self::push), for a name that is UTF-16 already.
    pub fn push_units(&mut self, name: impl Iterator<Item = u16>, id: InstanceId, birth: Birth) -> Row<'_> {
        self.push_with(birth, |table| table.row(name, id))
    }

    /// As [`push`](Self::push), for the instance that the row at `position` of `names` has: a provider that keeps them
    /// so need not spell out a name each time.
    #[inline]
    pub fn push_of(&mut self, names: &TableRows, position: usize, birth: Birth) -> Row<'_> {
        self.push_with(birth, |table| {
            let cells = table.row_of(names, position);
            cells.fill(Cell::EMPTY);
            cells
        })
    }

    /// As [`push_of`](Self::push_of), with a value for each column, in their order.
    #[inline]
    pub fn push_values(
        &mut self,
        names: &TableRows,
        position: usize,
        birth: Birth,
        values: impl ExactSizeIterator<Item = u64>,
    ) {
        let Row { cells, columns, delivered, .. } =
            self.push_with(birth, |table| table.row_of(names, position));
        let count = cells.len().min(values.len());
        for ((cell, column), value) in cells.iter_mut().zip(columns).zip(values) {
            *cell = column.cell(value);
        }
        cells.get_mut(count..).unwrap_or_default().fill(Cell::EMPTY);
        *delivered = delivered.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// Takes the last row back: its instance went while it was read.
    pub fn pop(&mut self) {
        let Some(position) = self.positions.pop() else { return };
        let row = self.positions.len();
        let values = self.table.last().iter().filter(|cell| !cell.is_empty()).count();
        self.delivered = self.delivered.saturating_sub(u64::try_from(values).unwrap_or(u64::MAX));
        self.table.back_to(position);
        self.about.births.truncate(row);
        self.about.marks.truncate(row);
        self.about.marks.set(row, None); // what was said of a row before is not said of the next one
        while self.notes.last().is_some_and(|note| note.at.0 == row) {
            self.notes.pop();
        }
    }

    #[inline]
    fn push_with(&mut self, birth: Birth, cells: impl FnOnce(&mut TableRows) -> &mut [Cell]) -> Row<'_> {
        let row = self.positions.len();
        self.positions.push(self.table.position());
        self.about.births.push(birth);
        Row {
            row,
            cells: cells(&mut self.table),
            columns: &self.columns,
            delivered: &mut self.delivered,
            notes: &mut self.notes,
            marks: &mut self.about.marks,
        }
    }

    /// Why a column has no value, in all rows that say nothing else: one note for a counter that no row can have.
    pub fn none_in_column(&mut self, column: usize, reason: NoValue) {
        self.reasons.resize(self.columns.len(), None);
        if let Some(known) = self.reasons.get_mut(column) {
            *known = Some(reason);
        }
    }

    /// Says whose the rows are that are pushed from now on: at first the system's.
    pub fn set_owner(&mut self, owner: Owner) {
        self.about.owners.set(self.len(), owner);
    }

    /// Notes that totals are made of the rows, in a collection that began at this time.
    pub(crate) fn set_totals_at(&mut self, time_100ns: u64) {
        self.totals_at_100ns = Some(time_100ns);
    }

    /// Returns the start of the collection in terms of PerfTime100NSec, if totals are made of the rows.
    ///
    /// If it is `None`, no start of an instance is needed.
    #[must_use]
    pub fn totals_at_100ns(&self) -> Option<u64> {
        self.totals_at_100ns
    }

    /// Sets the earliest start of the instances whose rows are pushed from now on, in terms of PerfTime100NSec.
    ///
    /// A total that knew all instances at that time adds all that these have counted. Without a call it is unknown.
    pub fn set_began(&mut self, began_100ns: Option<u64>) {
        self.began.set(self.len(), began_100ns);
    }

    /// Gives the counterset clocks of its own, read when its source was.
    pub fn set_clocks(&mut self, clocks: Clocks) {
        self.clocks = Some(clocks);
    }

    /// The counterset's own clocks.
    #[must_use]
    pub fn clocks(&self) -> Option<Clocks> {
        self.clocks
    }

    /// Says which of its ways the source took, if it has several: the higher, the dearer.
    pub fn set_layer(&mut self, layer: u32) {
        self.layer = layer;
    }

    /// Which of its ways the source took; 0 if it has one only.
    #[must_use]
    pub fn layer(&self) -> u32 {
        self.layer
    }

    /// Adds to the bytes that were read from the source for this collection.
    pub fn count_bytes_read(&mut self, bytes: usize) {
        self.bytes_read = self.bytes_read.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// The bytes that were read from the source for this collection.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Says that these are older rows, because the source did not answer in time.
    pub fn set_late(&mut self) {
        self.late = true;
    }

    /// Whether the source did not answer in time.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.late
    }

    /// Whether names, ids, order or number of the rows differ from the collection before; of the rows so far, before
    /// the collection ends.
    #[must_use]
    pub fn changed(&self) -> bool {
        !self.table.is_kept()
    }

    /// How many cells have no value.
    #[must_use]
    pub fn missing(&self) -> u64 {
        let cells = self.len().saturating_mul(self.columns.len());
        u64::try_from(cells).unwrap_or(u64::MAX).saturating_sub(self.delivered)
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    fn instance(&self, row: usize) -> Option<(Name<'_>, InstanceId)> {
        self.table.instance(*self.positions.get(row)?)
    }

    /// A row's name; empty if there is no such row.
    #[must_use]
    pub fn name(&self, row: usize) -> Name<'_> {
        self.instance(row).map_or(Name::until_nul(&[]), |(name, _)| name)
    }

    /// A row's id.
    #[must_use]
    pub fn id(&self, row: usize) -> Option<InstanceId> {
        self.instance(row).map(|(_, id)| id)
    }

    /// A row's birth.
    #[must_use]
    pub fn birth(&self, row: usize) -> Birth {
        self.about.birth(row)
    }

    /// Whose a row is.
    #[must_use]
    pub fn owner(&self, row: usize) -> Owner {
        self.about.owner(row)
    }

    /// Returns the earliest start of the instance of a row in terms of PerfTime100NSec, if it is known.
    #[must_use]
    pub fn began_100ns(&self, row: usize) -> Option<u64> {
        if row < self.len() { self.began.get(row) } else { None }
    }

    /// What is known of the rows as a whole.
    pub(crate) fn about(&self) -> &AboutRows {
        &self.about
    }

    /// A row's cells, one a column; empty if there is no such row.
    #[must_use]
    #[inline]
    pub fn cells(&self, row: usize) -> &[Cell] {
        self.positions.get(row).map_or(&[], |position| self.table.cells(*position))
    }

    /// The value of a cell, if it has one.
    #[must_use]
    pub fn number(&self, row: usize, column: usize) -> Option<u64> {
        self.raw(row, column).map(RawValue::get)
    }

    /// The value of a cell in the width that it has, if it has one.
    #[must_use]
    pub fn raw(&self, row: usize, column: usize) -> Option<RawValue> {
        self.cells(row).get(column)?.number()
    }

    /// What was said of single cells of a row: column and note, in order of the columns.
    pub fn notes(&self, row: usize) -> impl Iterator<Item = (usize, &Note)> {
        let from = self.notes.partition_point(|note| note.at.0 < row);
        let rest = self.notes.get(from..).unwrap_or_default();
        rest.iter().take_while(move |note| note.at.0 == row).map(|note| (note.at.1, &note.note))
    }

    /// Why a cell without a value has none, as far as was said of it or of its column.
    #[must_use]
    pub fn reason(&self, row: usize, column: usize) -> Option<&NoValue> {
        match self.note(row, column) {
            Some(Note::Missing(reason)) => Some(reason),
            _ => self.column_reason(column),
        }
    }

    /// Why the cells of a column have no value, where they have none and say nothing else.
    #[must_use]
    pub fn column_reason(&self, column: usize) -> Option<&NoValue> {
        self.reasons.get(column)?.as_ref()
    }

    /// Whether any column has such a reason.
    pub(crate) fn has_column_reasons(&self) -> bool {
        !self.reasons.is_empty()
    }

    /// What is special about the value of a cell, as far as was said of it or of its row.
    #[must_use]
    pub fn mark(&self, row: usize, column: usize) -> Option<Mark> {
        self.note(row, column).and_then(Note::mark).or_else(|| self.row_mark(row))
    }

    /// Returns the start of counting a value in terms of PerfTime100NSec, if it is not the row's birth.
    #[must_use]
    pub fn counted_since(&self, row: usize, column: usize) -> Option<NonZeroU64> {
        self.note(row, column).and_then(Note::counted_since)
    }

    /// What is special about the values of a row that have no mark of their own.
    #[must_use]
    pub fn row_mark(&self, row: usize) -> Option<Mark> {
        self.about.mark(row)
    }

    fn note(&self, row: usize, column: usize) -> Option<&Note> {
        let at = self.notes.binary_search_by_key(&(row, column), |note| note.at).ok()?;
        self.notes.get(at).map(|note| &note.note)
    }

    /// Returns all notes about single cells: row, column and note, in order of rows and columns.
    pub(crate) fn all_notes(&self) -> impl Iterator<Item = (usize, usize, &Note)> {
        self.notes.iter().map(|CellNote { at: (row, column), note }| (*row, *column, note))
    }

    /// Names and ids of all rows.
    #[must_use]
    pub fn to_instances(&self) -> Vec<Instance> {
        let rows = (0..self.len()).filter_map(|row| self.instance(row));
        rows.map(|(name, id)| Instance { name: name.into(), id }).collect()
    }
}

/// One row, to be filled. A cell that is not touched has no value, and the reason of its column if that has one.
#[derive(Debug)]
pub struct Row<'a> {
    row: usize,
    cells: &'a mut [Cell],
    columns: &'a [Column],
    delivered: &'a mut u64,
    notes: &'a mut Vec<CellNote>,
    marks: &'a mut Runs<Option<Mark>>,
}

impl Row<'_> {
    /// The value of a column. Counters of 4 bytes keep its low 32 bits.
    #[inline]
    pub fn set(&mut self, column: usize, value: u64) {
        let Some(kind) = self.columns.get(column) else { return };
        self.put(column, kind.cell(value));
    }

    #[inline]
    fn put(&mut self, column: usize, value: Cell) {
        if let Some(cell) = self.cells.get_mut(column) {
            *self.delivered = self.delivered.saturating_add(cell.is_empty().into());
            *cell = value;
        }
    }

    /// The value of a column in the width that its source has, whatever the counter's type says.
    pub fn set_raw(&mut self, column: usize, value: RawValue) {
        match value {
            RawValue::U32(value) => self.put(column, Cell::from_u32(value)),
            RawValue::U64(value) => self.put(column, Cell::from_u64(value)),
        }
    }

    /// The value of a column, and what is special about it.
    pub fn set_marked(&mut self, column: usize, value: u64, mark: Mark) {
        self.set(column, value);
        self.notes.push(CellNote { at: (self.row, column), note: Note::Marked(mark) });
    }

    /// Sets the value of a column that has been counted since a time in terms of PerfTime100NSec, with its mark.
    ///
    /// That time replaces the row's birth for this value.
    pub fn set_counted(&mut self, column: usize, value: u64, mark: Option<Mark>, since_100ns: NonZeroU64) {
        self.set(column, value);
        self.notes.push(CellNote { at: (self.row, column), note: Note::Counted(since_100ns, mark) });
    }

    /// Marks all values of this row that are not marked themselves, whether they are there yet or not.
    pub fn mark(&mut self, mark: Mark) {
        self.marks.set(self.row, Some(mark));
        self.marks.set(self.row.saturating_add(1), None);
    }

    /// A column has no value here, and why.
    pub fn none(&mut self, column: usize, reason: NoValue) {
        self.notes.push(CellNote { at: (self.row, column), note: Note::Missing(reason) });
    }
}

#[cfg(test)]
mod tests;
