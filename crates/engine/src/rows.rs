//! What a provider fills: one row an instance, one column a wanted counter.

use std::ops::Range;

use perfset_core::sample::{Clocks, Sample};
use perfset_core::v2::PERF_MAX_INSTANCE_NAME;
use perfset_core::v2::raw::Cell;
use perfset_core::{
    Birth, Counter, CounterId, Identity, Instance, InstanceId, Mark, NoValue, Owner, RawValue, Utf16,
};

use crate::values::ticks;

/// The values of one counterset at one time, ready to be copied into a block, with what a block has no place for.
///
/// Kept from collection to collection: as long as the same instances come in the same order nothing is allocated,
/// and [`changed`](Self::changed) is false.
#[derive(Debug, Default)]
pub struct Rows {
    columns: Vec<Column>,
    keys: Vec<Key>,
    names: Vec<u16>,
    /// By row and column; 0 where there is no value.
    numbers: Vec<u64>,
    /// How many bytes each of `numbers` has in a block: 8 or 4, or 0 if there is no value.
    widths: Vec<u8>,
    notes: Vec<CellNote>,
    /// By column: why cells without a value and a note have none. Empty if that was said of no column.
    reasons: Vec<Option<NoValue>>,
    /// By row: what is special about its values. Ends with the last row that is marked.
    marks: Vec<Option<Mark>>,
    /// Rows filled since [`start`](Self::start); `keys` beyond it are of the collection before.
    filled: usize,
    changed: bool,
    bytes_read: u64,
    late: bool,
    owner: Owner,
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
    /// Whether its values have 4 bytes.
    short: bool,
}

#[derive(Clone, Copy, Debug)]
struct Key {
    /// The name in `names`; it ends where the next begins.
    name_at: usize,
    name_len: u16,
    id: InstanceId,
    birth: Birth,
    owner: Owner,
}

/// What is special about one cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// There is no value.
    Missing(NoValue),
    /// There is one, marked.
    Marked(Mark),
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
        let column = |c: &Counter| Column { counter: c.id, short: c.counter_type.value_len() == 4 };
        Self { columns: counters.into_iter().map(column).collect(), ..Self::default() }
    }

    /// Begins a collection: all rows are to be filled again.
    pub fn start(&mut self) {
        self.notes.clear();
        self.reasons.clear();
        self.marks.clear();
        self.filled = 0;
        self.changed = false;
        self.bytes_read = 0;
        self.late = false;
        self.owner = Owner::System;
        self.clocks = None;
        self.layer = 0;
        self.delivered = 0;
    }

    /// Ends a collection: rows that did not come again are gone.
    pub fn end(&mut self) {
        if self.filled < self.keys.len() {
            self.truncate();
        }
        self.notes.sort_unstable_by_key(|note| note.at); // as good as sorted; and it allocates nothing
    }

    fn truncate(&mut self) {
        let names_len = self.keys.get(self.filled).map_or(self.names.len(), |key| key.name_at);
        self.names.truncate(names_len);
        self.keys.truncate(self.filled);
        let len = self.filled.saturating_mul(self.columns.len());
        self.numbers.truncate(len);
        self.widths.truncate(len);
        self.changed = true;
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
    pub fn push_units(
        &mut self,
        name: impl Iterator<Item = u16> + Clone,
        id: InstanceId,
        birth: Birth,
    ) -> Row<'_> {
        let row = self.filled;
        let name = name.take(PERF_MAX_INSTANCE_NAME.saturating_sub(1));
        let same = self.keys.get(row).is_some_and(|key| key.id == id)
            && name.clone().eq(self.name(row).iter().copied());
        if !same {
            self.truncate();
            let name_at = self.names.len();
            self.names.extend(name);
            let name_len = u16::try_from(self.names.len().saturating_sub(name_at)).unwrap_or(0); // at most 1023
            self.keys.push(Key { name_at, name_len, id, birth, owner: self.owner });
        } else if let Some(key) = self.keys.get_mut(row) {
            (key.birth, key.owner) = (birth, self.owner);
        }
        self.filled = row.saturating_add(1);
        let place = self.place(row);
        if self.widths.len() < place.end {
            self.numbers.resize(place.end, 0);
            self.widths.resize(place.end, 0);
        }
        let widths = self.widths.get_mut(place.clone()).unwrap_or_default();
        widths.fill(0);
        Row {
            row,
            numbers: self.numbers.get_mut(place).unwrap_or_default(),
            widths,
            columns: &self.columns,
            notes: &mut self.notes,
            marks: &mut self.marks,
            delivered: &mut self.delivered,
        }
    }

    /// Where the cells of a row are.
    fn place(&self, row: usize) -> Range<usize> {
        let from = row.saturating_mul(self.columns.len());
        from..from.saturating_add(self.columns.len())
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
        self.owner = owner;
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

    /// Whether names, ids, order or number of the rows differ from the collection before.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// How many cells have no value.
    #[must_use]
    pub fn missing(&self) -> u64 {
        let cells = self.filled.saturating_mul(self.columns.len());
        u64::try_from(cells).unwrap_or(u64::MAX).saturating_sub(self.delivered)
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// A row's name; empty if there is no such row.
    #[must_use]
    pub fn name(&self, row: usize) -> &[u16] {
        let Some(key) = self.keys.get(row) else { return &[] };
        self.names.get(key.name_at..key.name_at.saturating_add(key.name_len.into())).unwrap_or_default()
    }

    /// A row's id.
    #[must_use]
    pub fn id(&self, row: usize) -> Option<InstanceId> {
        self.keys.get(row).map(|key| key.id)
    }

    /// A row's birth.
    #[must_use]
    pub fn birth(&self, row: usize) -> Birth {
        self.keys.get(row).and_then(|key| key.birth)
    }

    /// Whose a row is.
    #[must_use]
    pub fn owner(&self, row: usize) -> Owner {
        self.keys.get(row).map_or(Owner::System, |key| key.owner)
    }

    /// A row's cells, one a column; empty if there is no such row.
    #[must_use]
    #[inline]
    pub fn cells(&self, row: usize) -> Cells<'_> {
        let place = self.place(row);
        Cells {
            numbers: self.numbers.get(place.clone()).unwrap_or_default(),
            widths: self.widths.get(place).unwrap_or_default(),
        }
    }

    /// The value of a cell, if it has one.
    #[must_use]
    pub fn number(&self, row: usize, column: usize) -> Option<u64> {
        let Cells { numbers, widths } = self.cells(row);
        widths.get(column).filter(|width| **width > 0).and_then(|_| numbers.get(column)).copied()
    }

    /// The value of a cell in the width that it has, if it has one.
    #[must_use]
    pub fn raw(&self, row: usize, column: usize) -> Option<RawValue> {
        let Cells { numbers, widths } = self.cells(row);
        let number = *numbers.get(column)?;
        match widths.get(column)? {
            0 => None,
            4 => Some(RawValue::U32(low_32(number))),
            _ => Some(RawValue::U64(number)),
        }
    }

    /// The sample of a counter of an instance, with these clocks if its counterset has none of its own.
    ///
    /// # Errors
    /// Why there is none: no row has its name and id, or there is no value in it.
    pub fn sample<'a>(
        &self,
        counter: &Counter,
        identity: &Identity<'a>,
        clocks: impl FnOnce() -> Clocks,
    ) -> Result<Sample<'a>, NoValue> {
        let is_it = |row: &usize| {
            let same = self.name(*row).iter().copied().eq(identity.instance.units());
            same && self.id(*row) == Some(identity.instance_id)
        };
        let row = (0..self.len()).find(is_it).ok_or(NoValue::NoInstance)?;
        let column = self.columns().position(|column| column == counter.id);
        let of = |id: CounterId| self.raw(row, self.columns().position(|column| column == id)?);
        let number = |id: CounterId| of(id).map(RawValue::get);
        let mut clocks = self.clocks.unwrap_or_else(clocks);
        if counter.perf_time.is_some() || counter.perf_freq.is_some() {
            let (time, freq) = (counter.perf_time.and_then(number), counter.perf_freq.and_then(number));
            clocks = clocks.with(counter.counter_type.decode().clock, ticks(time), ticks(freq));
        }
        let reason =
            || column.and_then(|column| self.reason(row, column)).cloned().unwrap_or(NoValue::NotGiven);
        Ok(Sample {
            identity: Identity { birth: self.birth(row), ..*identity },
            counter: counter.id,
            counter_type: counter.counter_type,
            raw: column.and_then(|column| self.raw(row, column)).ok_or_else(reason)?,
            base: counter.divisor().and_then(of),
            wraps: counter.wraps,
            base_wraps: false,
            clocks,
        })
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
        match self.note(row, column) {
            Some(Note::Marked(mark)) => Some(*mark),
            _ => self.row_mark(row),
        }
    }

    /// What is special about the values of a row that have no mark of their own.
    #[must_use]
    pub fn row_mark(&self, row: usize) -> Option<Mark> {
        self.marks.get(row).copied().flatten()
    }

    fn note(&self, row: usize, column: usize) -> Option<&Note> {
        let at = self.notes.binary_search_by_key(&(row, column), |note| note.at).ok()?;
        self.notes.get(at).map(|note| &note.note)
    }

    /// What was said of any single cell: row, column and note, in order of rows and columns.
    pub(crate) fn all_notes(&self) -> impl Iterator<Item = (usize, usize, &Note)> {
        self.notes.iter().map(|CellNote { at: (row, column), note }| (*row, *column, note))
    }

    /// Names and ids of all rows.
    #[must_use]
    pub fn to_instances(&self) -> Vec<Instance> {
        let keys = self.keys.iter().take(self.filled).enumerate();
        keys.map(|(row, key)| Instance { name: Utf16::from(self.name(row)), id: key.id }).collect()
    }
}

/// The cells of a row, as they are in a block.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a> {
    numbers: &'a [u64],
    widths: &'a [u8],
}

impl<'a> Cells<'a> {
    /// That of a column; [`Cell::EMPTY`] if there is no value.
    #[inline]
    #[must_use]
    pub fn get(self, column: usize) -> Cell {
        match (self.numbers.get(column), self.widths.get(column)) {
            (Some(number), Some(width)) => cell(*number, *width),
            _ => Cell::EMPTY,
        }
    }

    /// All, one a column.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Cell> + 'a {
        self.numbers.iter().zip(self.widths).map(|(number, width)| cell(*number, *width))
    }
}

#[inline]
fn cell(number: u64, width: u8) -> Cell {
    match width {
        8 => Cell::from_u64(number),
        0 => Cell::EMPTY,
        _ => Cell::from_u32(low_32(number)),
    }
}

/// One row, to be filled. A cell that is not touched has no value, and the reason of its column if that has one.
#[derive(Debug)]
pub struct Row<'a> {
    row: usize,
    numbers: &'a mut [u64],
    widths: &'a mut [u8],
    columns: &'a [Column],
    notes: &'a mut Vec<CellNote>,
    marks: &'a mut Vec<Option<Mark>>,
    delivered: &'a mut u64,
}

impl Row<'_> {
    /// The value of a column. Counters of 4 bytes keep its low 32 bits.
    pub fn set(&mut self, column: usize, value: u64) {
        let Some(kind) = self.columns.get(column) else { return };
        match kind.short {
            true => self.put(column, low_32(value).into(), 4),
            false => self.put(column, value, 8),
        }
    }

    fn put(&mut self, column: usize, value: u64, value_width: u8) {
        if let (Some(number), Some(width)) = (self.numbers.get_mut(column), self.widths.get_mut(column)) {
            *self.delivered = self.delivered.saturating_add(u64::from(*width == 0));
            (*number, *width) = (value, value_width);
        }
    }

    /// The value of a column in the width that its source has, whatever the counter's type says.
    pub fn set_raw(&mut self, column: usize, value: RawValue) {
        match value {
            RawValue::U32(value) => self.put(column, value.into(), 4),
            RawValue::U64(value) => self.put(column, value, 8),
        }
    }

    /// The value of a column, and what is special about it.
    pub fn set_marked(&mut self, column: usize, value: u64, mark: Mark) {
        self.set(column, value);
        self.notes.push(CellNote { at: (self.row, column), note: Note::Marked(mark) });
    }

    /// Marks all values of this row that are not marked themselves, whether they are there yet or not.
    pub fn mark(&mut self, mark: Mark) {
        self.marks.resize(self.row, None);
        self.marks.push(Some(mark));
    }

    /// A column has no value here, and why.
    pub fn none(&mut self, column: usize, reason: NoValue) {
        self.notes.push(CellNote { at: (self.row, column), note: Note::Missing(reason) });
    }
}

fn low_32(value: u64) -> u32 {
    u32::try_from(value & 0xFFFF_FFFF).unwrap_or(u32::MAX)
}
