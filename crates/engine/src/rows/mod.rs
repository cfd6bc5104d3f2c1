//! Rows that a provider fills: one row per instance, one column per requested counter.

use std::num::NonZeroU64;

use perfset_core::sample::Clocks;
use perfset_core::v2::TableRows;
use perfset_core::v2::raw::Cell;
use perfset_core::{Birth, Counter, CounterId, Instance, InstanceId, Mark, Name, NoValue, Owner, RawValue};

use crate::runs::Runs;

/// Rows of one counterset at one time: values encoded as in a block, with metadata that a block cannot contain.
///
/// Reused from collection to collection. While the same instances come in the same order, nothing is allocated, and
/// [`changed`](Self::changed) is false.
#[derive(Debug, Default)]
pub struct Rows {
    columns: Vec<RowColumn>,
    /// Names, ids and values of the rows.
    table: TableRows,
    /// Offset of each row in the table of rows.
    positions: Vec<usize>,
    about: RowMetadata,
    /// Start of the collection in terms of PerfTime100NSec, if totals are made of the rows.
    totals_at_100ns: Option<u64>,
    /// Earliest possible start of each row's instance, where it is known.
    began: Runs<Option<u64>>,
    notes: Vec<CellNote>,
    /// Reason of each column for its missing values, for cells without a reason of their own. Empty if no column has
    /// a reason.
    reasons: Vec<Option<NoValue>>,
    bytes_read: u64,
    late: bool,
    /// Clocks of the counterset itself, if its source has clocks.
    clocks: Option<Clocks>,
    /// Number of the collection method that the source used; 0 if the source has only one method.
    layer: u32,
    /// Number of cells of the rows that have a value.
    delivered: u64,
}

#[derive(Clone, Copy, Debug)]
struct RowColumn {
    counter: CounterId,
    /// Cell of this column with value 0.
    zero: Cell,
    /// Mask of the bits that values of the column can have.
    mask: u64,
}

impl RowColumn {
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

/// Metadata of rows, which a block cannot contain: births, owners and marks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RowMetadata {
    births: Vec<Birth>,
    owners: Runs<Owner>,
    /// Mark of each row's values that have no mark of their own.
    marks: Runs<Option<Mark>>,
}

impl RowMetadata {
    /// Removes the births, owners and marks of all rows.
    pub fn clear(&mut self) {
        self.births.clear();
        self.owners.clear();
        self.marks.clear();
    }

    /// Returns `true` if the births and owners of all rows are the same in `other`.
    pub fn has_rows_of(&self, other: &Self) -> bool {
        self.births == other.births && self.owners == other.owners
    }

    /// Appends the birth, owner and mark of a row.
    pub fn push(&mut self, birth: Birth, owner: Owner, mark: Option<Mark>) {
        let row = self.births.len();
        self.births.push(birth);
        self.owners.set(row, owner);
        self.marks.set(row, mark);
    }

    /// Replaces the metadata of all rows by that of the given rows of `from`; the rows ascend.
    pub fn select(&mut self, from: &Self, rows: &[usize]) {
        // The rows are ascending and distinct, so if there are as many, they are all rows.
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

    /// Returns the birth of a row's instance.
    pub fn birth(&self, row: usize) -> Birth {
        self.births.get(row).copied().flatten()
    }

    /// Returns the owner of a row's instance; the system if there is no such row.
    pub fn owner(&self, row: usize) -> Owner {
        if row < self.births.len() { self.owners.get(row) } else { Owner::System }
    }

    /// Returns the mark of a row's values that have no mark of their own.
    #[inline]
    pub fn mark(&self, row: usize) -> Option<Mark> {
        if row < self.births.len() { self.marks.get(row) } else { None }
    }
}

/// State of a single cell that its value does not show: a reason, a mark, or the start of a count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CellState {
    /// The cell has no value, for this reason.
    Missing(NoValue),
    /// The cell has a value with this mark.
    Marked(Mark),
    /// The cell has a count that began at its own start time, in terms of PerfTime100NSec, perhaps with a mark. It is
    /// not compared with a count that began at another time.
    Counted(NonZeroU64, Option<Mark>),
}

impl CellState {
    /// Returns the mark of the cell's value, if it has one.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        match self {
            Self::Missing(_) => None,
            Self::Marked(mark) => Some(*mark),
            Self::Counted(_, mark) => *mark,
        }
    }

    /// Returns `true` if the cell's value is a total: a count with a separate start time, or a sum that lacks
    /// instances.
    pub(crate) fn is_of_total(&self) -> bool {
        matches!(self, Self::Counted(..)) || matches!(self, Self::Marked(Mark::Partial(_)))
    }

    /// Returns the start of the cell's count in terms of PerfTime100NSec, if it is not the birth of the row.
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
    /// Row and column of the cell with this state; states are sorted by this position in ascending order.
    position: (usize, usize),
    note: CellState,
}

impl Rows {
    /// Creates rows with these counters as columns.
    pub fn new<'a>(counters: impl IntoIterator<Item = &'a Counter>) -> Self {
        let columns: Vec<_> = counters.into_iter().map(RowColumn::new).collect();
        Self { table: TableRows::new(columns.len()), columns, ..Self::default() }
    }

    /// Begins a collection of rows: all rows must be filled again.
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

    /// Ends a collection of rows: rows that were not pushed again are removed.
    pub fn end(&mut self) {
        self.table.end();
        self.sort_notes();
    }

    /// Begins a collection like [`start`](Self::start), with rows that are written directly into a block.
    pub(crate) fn start_in(&mut self, table: TableRows) {
        // `start` restarts its table at offset 0, and this one continues inside a block.
        self.table = TableRows::default();
        self.start();
        self.table = table;
    }

    /// Ends a collection like [`end`](Self::end), after [`start_in`](Self::start_in), and returns the block's table.
    /// Names, ids and values are then only in the block.
    pub(crate) fn end_in(&mut self) -> TableRows {
        // Not `TableRows::end`, which drops the bytes after the rows: here they are the next results.
        let table = std::mem::replace(&mut self.table, TableRows::new(self.columns.len()));
        self.sort_notes();
        table
    }

    /// Sorts the reasons and marks of single cells by row and column, an order that lookups need.
    pub(crate) fn sort_notes(&mut self) {
        self.notes.sort_unstable_by_key(|note| note.position); // as good as sorted; and it allocates nothing
    }

    /// Returns the counters that are the columns of the rows.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = CounterId> + '_ {
        self.columns.iter().map(|column| column.counter)
    }

    /// Adds the next row: an instance that exists now. Its name is cut to 1023 units.
    pub fn push(&mut self, name: &str, id: InstanceId, birth: Birth) -> RowWriter<'_> {
        self.push_units(name.encode_utf16(), id, birth)
    }

    /// Adds a row like [`push`](Self::push), with a name that is UTF-16 already.
    pub fn push_units(
        &mut self,
        name: impl Iterator<Item = u16>,
        id: InstanceId,
        birth: Birth,
    ) -> RowWriter<'_> {
        self.push_with(birth, |table| table.row(name, id))
    }

    /// Adds a row like [`push`](Self::push), for the instance at `position` of `names`. A provider that stores its
    /// names then need not encode a name each time.
    #[inline]
    pub fn push_of(&mut self, names: &TableRows, position: usize, birth: Birth) -> RowWriter<'_> {
        self.push_with(birth, |table| {
            let cells = table.row_of(names, position);
            cells.fill(Cell::EMPTY);
            cells
        })
    }

    /// Adds a row like [`push_of`](Self::push_of), with a value for each column, in their order.
    #[inline]
    pub fn push_values(
        &mut self,
        names: &TableRows,
        position: usize,
        birth: Birth,
        values: impl ExactSizeIterator<Item = u64>,
    ) {
        let RowWriter { cells, columns, delivered, .. } =
            self.push_with(birth, |table| table.row_of(names, position));
        let count = cells.len().min(values.len());
        for ((cell, column), value) in cells.iter_mut().zip(columns).zip(values) {
            *cell = column.cell(value);
        }
        cells.get_mut(count..).unwrap_or_default().fill(Cell::EMPTY);
        *delivered = delivered.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// Removes the last row: its instance ended while it was read.
    pub fn pop(&mut self) {
        let Some(position) = self.positions.pop() else { return };
        let row = self.positions.len();
        // Counted before `back_to`, while this row is the last one.
        let values = self.table.last().iter().filter(|cell| !cell.is_empty()).count();
        self.delivered = self.delivered.saturating_sub(u64::try_from(values).unwrap_or(u64::MAX));
        self.table.back_to(position);
        // Owner and start stay: they are set for all rows that are pushed from now on.
        self.about.births.truncate(row);
        self.about.marks.truncate(row);
        self.about.marks.set(row, None); // what was said of a row before is not said of the next one
        while self.notes.last().is_some_and(|note| note.position.0 == row) {
            self.notes.pop();
        }
    }

    #[inline]
    fn push_with(
        &mut self,
        birth: Birth,
        cells: impl FnOnce(&mut TableRows) -> &mut [Cell],
    ) -> RowWriter<'_> {
        let row = self.positions.len();
        self.positions.push(self.table.position());
        self.about.births.push(birth);
        RowWriter {
            row,
            cells: cells(&mut self.table),
            columns: &self.columns,
            delivered: &mut self.delivered,
            notes: &mut self.notes,
            marks: &mut self.about.marks,
        }
    }

    /// Sets the reason for the missing values of a column, for all rows whose cells have no reason. A counter that no
    /// row can have needs only this one reason.
    pub fn none_in_column(&mut self, column: usize, reason: NoValue) {
        self.reasons.resize(self.columns.len(), None);
        if let Some(known) = self.reasons.get_mut(column) {
            *known = Some(reason);
        }
    }

    /// Sets the owner of the rows that are pushed from now on; until the first call, the owner is the system.
    pub fn set_owner(&mut self, owner: Owner) {
        self.about.owners.set(self.len(), owner);
    }

    /// Records that totals are computed from the rows, in a collection that began at this time.
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
    /// A total that contained all instances at that time adds all that these have counted. Without a call the start
    /// is unknown.
    pub fn set_began(&mut self, began_100ns: Option<u64>) {
        self.began.set(self.len(), began_100ns);
    }

    /// Sets the clocks of the counterset itself, read together with its source.
    pub fn set_clocks(&mut self, clocks: Clocks) {
        self.clocks = Some(clocks);
    }

    /// Returns the clocks of the counterset itself, if its source has clocks.
    #[must_use]
    pub fn clocks(&self) -> Option<Clocks> {
        self.clocks
    }

    /// Sets the number of the collection method that the source used, if the source has several: a higher number is a
    /// more expensive method.
    pub fn set_layer(&mut self, layer: u32) {
        self.layer = layer;
    }

    /// Returns the number of the collection method that the source used; 0 if the source has only one method.
    #[must_use]
    pub fn layer(&self) -> u32 {
        self.layer
    }

    /// Adds to the number of bytes that were read from the source for this collection.
    pub fn count_bytes_read(&mut self, bytes: usize) {
        self.bytes_read = self.bytes_read.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// Returns the number of bytes that were read from the source for this collection.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Marks the rows as data of an earlier time, because the source did not respond before the deadline.
    pub fn set_late(&mut self) {
        self.late = true;
    }

    /// Returns `true` if the source of the rows did not respond before the deadline.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.late
    }

    /// Returns `true` if names, ids, order or number of the rows differ from the last collection. Before the collection
    /// ends, only the rows pushed so far are compared.
    #[must_use]
    pub fn changed(&self) -> bool {
        !self.table.is_kept()
    }

    /// Returns the number of cells of the rows that have no value.
    #[must_use]
    pub fn missing(&self) -> u64 {
        let cells = self.len().saturating_mul(self.columns.len());
        u64::try_from(cells).unwrap_or(u64::MAX).saturating_sub(self.delivered)
    }

    /// Returns the number of rows that the provider has added.
    #[must_use]
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Returns `true` if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    fn instance(&self, row: usize) -> Option<(Name<'_>, InstanceId)> {
        self.table.instance(*self.positions.get(row)?)
    }

    /// Returns the instance name of a row; empty if there is no such row.
    #[must_use]
    pub fn name(&self, row: usize) -> Name<'_> {
        self.instance(row).map_or(Name::until_nul(&[]), |(name, _)| name)
    }

    /// Returns the instance id of a row.
    #[must_use]
    pub fn id(&self, row: usize) -> Option<InstanceId> {
        self.instance(row).map(|(_, id)| id)
    }

    /// Returns the birth of a row's instance.
    #[must_use]
    pub fn birth(&self, row: usize) -> Birth {
        self.about.birth(row)
    }

    /// Returns the owner of a row's instance.
    #[must_use]
    pub fn owner(&self, row: usize) -> Owner {
        self.about.owner(row)
    }

    /// Returns the earliest start of the instance of a row in terms of PerfTime100NSec, if it is known.
    #[must_use]
    pub fn began_100ns(&self, row: usize) -> Option<u64> {
        if row < self.len() { self.began.get(row) } else { None }
    }

    /// Returns the births, owners and marks of the rows.
    pub(crate) fn metadata(&self) -> &RowMetadata {
        &self.about
    }

    /// Returns the cells of a row, one per column; empty if there is no such row.
    #[must_use]
    #[inline]
    pub fn cells(&self, row: usize) -> &[Cell] {
        self.positions.get(row).map_or(&[], |position| self.table.cells(*position))
    }

    /// Returns the value of a cell, if it has one.
    #[must_use]
    pub fn number(&self, row: usize, column: usize) -> Option<u64> {
        self.raw(row, column).map(RawValue::get)
    }

    /// Returns the value of a cell in its stored width of 4 or 8 bytes, if the cell has a value.
    #[must_use]
    pub fn raw(&self, row: usize, column: usize) -> Option<RawValue> {
        self.cells(row).get(column)?.number()
    }

    /// Returns a number as a cell of this column stores the number: for counters of 4 bytes, the low 32 bits.
    pub(crate) fn as_stored(&self, column: usize, number: u64) -> Option<RawValue> {
        self.columns.get(column)?.cell(number).number()
    }

    /// Returns the reasons, marks and starts of counts of a row's cells, each with its column, in order of the
    /// columns.
    pub fn notes(&self, row: usize) -> impl Iterator<Item = (usize, &CellState)> {
        let from = self.notes.partition_point(|note| note.position.0 < row);
        let rest = self.notes.get(from..).unwrap_or_default();
        rest.iter().take_while(move |note| note.position.0 == row).map(|note| (note.position.1, &note.note))
    }

    /// Returns the reason for a cell's missing value: the cell's own reason, else that of the column.
    #[must_use]
    pub fn reason(&self, row: usize, column: usize) -> Option<&NoValue> {
        match self.note(row, column) {
            Some(CellState::Missing(reason)) => Some(reason),
            _ => self.column_reason(column),
        }
    }

    /// Returns the reason for the missing values of a column, which applies to cells without a reason of their own.
    #[must_use]
    pub fn column_reason(&self, column: usize) -> Option<&NoValue> {
        self.reasons.get(column)?.as_ref()
    }

    /// Returns `true` if any column has a reason for missing values.
    pub(crate) fn has_column_reasons(&self) -> bool {
        !self.reasons.is_empty()
    }

    /// Returns the mark of a cell's value: the cell's own mark, else that of the row.
    #[must_use]
    pub fn mark(&self, row: usize, column: usize) -> Option<Mark> {
        self.note(row, column).and_then(CellState::mark).or_else(|| self.row_mark(row))
    }

    /// Returns the time at which counting of a cell's value began in terms of PerfTime100NSec, if it is not the row's
    /// birth.
    #[must_use]
    pub fn counted_since(&self, row: usize, column: usize) -> Option<NonZeroU64> {
        self.note(row, column).and_then(CellState::counted_since)
    }

    /// Returns the mark of a row's values that have no mark of their own.
    #[must_use]
    pub fn row_mark(&self, row: usize) -> Option<Mark> {
        self.about.mark(row)
    }

    fn note(&self, row: usize, column: usize) -> Option<&CellState> {
        let at = self.notes.binary_search_by_key(&(row, column), |note| note.position).ok()?;
        self.notes.get(at).map(|note| &note.note)
    }

    /// Returns the reasons, marks and starts of counts of all cells, each with its row and column, in order of rows
    /// and columns.
    pub(crate) fn all_notes(&self) -> impl Iterator<Item = (usize, usize, &CellState)> {
        self.notes.iter().map(|CellNote { position: (row, column), note }| (*row, *column, note))
    }

    /// Returns instance names and ids of all rows.
    #[must_use]
    pub fn to_instances(&self) -> Vec<Instance> {
        let rows = (0..self.len()).filter_map(|row| self.instance(row));
        rows.map(|(name, id)| Instance { name: name.into(), id }).collect()
    }
}

/// Writer of the cells of one row. An unset cell has no value, and the reason of its column if there is one.
#[derive(Debug)]
pub struct RowWriter<'a> {
    row: usize,
    cells: &'a mut [Cell],
    columns: &'a [RowColumn],
    delivered: &'a mut u64,
    notes: &'a mut Vec<CellNote>,
    marks: &'a mut Runs<Option<Mark>>,
}

impl RowWriter<'_> {
    /// Sets the value of a column in this row. Counters of 4 bytes store the low 32 bits of the value.
    #[inline]
    pub fn set(&mut self, column: usize, value: u64) {
        let Some(kind) = self.columns.get(column) else { return };
        self.put(column, kind.cell(value));
    }

    #[inline]
    fn put(&mut self, column: usize, value: Cell) {
        if let Some(cell) = self.cells.get_mut(column) {
            // A cell that is set twice counts once.
            *self.delivered = self.delivered.saturating_add(cell.is_empty().into());
            *cell = value;
        }
    }

    /// Sets the value of a column in this row in the width that its source has, regardless of the counter's type.
    pub fn set_raw(&mut self, column: usize, value: RawValue) {
        match value {
            RawValue::U32(value) => self.put(column, Cell::from_u32(value)),
            RawValue::U64(value) => self.put(column, Cell::from_u64(value)),
        }
    }

    /// Sets the value of a column in this row, and its mark.
    pub fn set_marked(&mut self, column: usize, value: u64, mark: Mark) {
        self.set(column, value);
        self.notes.push(CellNote { position: (self.row, column), note: CellState::Marked(mark) });
    }

    /// Sets the value of a column in this row that has been counted since a time in terms of PerfTime100NSec, with its
    /// mark.
    ///
    /// That time replaces the row's birth for this value.
    pub fn set_counted(&mut self, column: usize, value: u64, mark: Option<Mark>, since_100ns: NonZeroU64) {
        self.set(column, value);
        self.notes
            .push(CellNote { position: (self.row, column), note: CellState::Counted(since_100ns, mark) });
    }

    /// Marks all values of this row that have no mark of their own, whether they are set already or later.
    pub fn mark(&mut self, mark: Mark) {
        self.marks.set(self.row, Some(mark));
        // A run continues to the last row, so the mark must end after this one.
        self.marks.set(self.row.saturating_add(1), None);
    }

    /// Sets the reason that a column has no value in this row.
    pub fn set_unavailable(&mut self, column: usize, reason: NoValue) {
        self.notes.push(CellNote { position: (self.row, column), note: CellState::Missing(reason) });
    }
}

#[cfg(test)]
mod tests;
