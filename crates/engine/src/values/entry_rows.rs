//! Rows of a snapshot's block, by query entry, with the metadata of the entry.

use std::cell::OnceCell;
use std::sync::Arc;

use perfset_core::sample::Clocks;
use perfset_core::v2::{self, Block, Body, InstanceRows, InstanceTable, Values};
use perfset_core::{Birth, InstanceId, Name, Owner, RawValue, Status};

use crate::snapshot::{EntryMetadata, ResolvedEntry, Snapshot};

/// Location of an input of a formula: index of a query entry, and of the column in that entry's result.
pub(super) type CellIndex = (usize, usize);

/// Returns the position in an older snapshot of each query entry of a newer snapshot. Entries may have been added or
/// removed in between; each position is returned once.
pub(super) fn alignment(new: &Snapshot, old: &Snapshot) -> Vec<Option<usize>> {
    if Arc::ptr_eq(&old.entries, &new.entries) {
        return (0..new.entries.len()).map(Some).collect();
    }
    let mut is_taken = vec![false; old.entries.len()];
    let mut position = |info: &ResolvedEntry| {
        let at = old.entries.iter().position(|other| other.means_as(info))?;
        let is_free = is_taken.get_mut(at).is_some_and(|taken| !std::mem::replace(taken, true));
        is_free.then_some(at)
    };
    new.entries.iter().map(&mut position).collect()
}

/// Returns the rows of an older snapshot's query entries, in the order of the entries of a newer snapshot.
pub(super) fn aligned<'a>(new: &Snapshot, old: &'a Snapshot) -> Vec<Option<EntryRows<'a>>> {
    let mut rows: Vec<_> = entry_rows(old).into_iter().map(Some).collect();
    if Arc::ptr_eq(&old.entries, &new.entries) {
        return rows;
    }
    let mut take = |at: Option<usize>| rows.get_mut(at?)?.take();
    alignment(new, old).into_iter().map(&mut take).collect()
}

/// Properties of one query result in a block, apart from its rows.
#[derive(Clone, Copy)]
pub(super) struct ResultHead<'a> {
    pub info: &'a ResolvedEntry,
    pub annex: Option<&'a EntryMetadata>,
    pub status: Status,
    pub clocks: Clocks,
}

impl<'a> ResultHead<'a> {
    pub fn new(snapshot: &'a Snapshot, entry: usize, info: &'a ResolvedEntry, status: Status) -> Self {
        let annex = snapshot.annex.entries.get(entry);
        let clocks = annex.and_then(|annex| annex.clocks).unwrap_or_else(|| Clocks::from(&snapshot.clocks));
        Self { info, annex, status, clocks }
    }

    /// Returns the row, with the given cells, of a query result for one instance.
    pub fn row(&self, cells: ResultCells<'a>) -> ResultRow<'a> {
        let name = self.annex.and_then(EntryMetadata::instance).unwrap_or_else(|| self.info.instance());
        // Results for one instance contain no id. With the id of the metadata, an instance that took over
        // the name is not compared with the one before.
        ResultRow { name, id: self.annex.and_then(EntryMetadata::instance_id), cells }
    }

    #[inline]
    pub fn birth(&self, row: usize) -> Birth {
        self.annex.and_then(|annex| annex.birth(row))
    }

    fn owner(&self, row: usize) -> Owner {
        self.annex.map_or(Owner::System, |annex| annex.owner(row))
    }

    pub fn has_totals(&self) -> bool {
        self.annex.is_some_and(EntryMetadata::has_totals)
    }

    /// Returns `true` if any value of a row is a total.
    pub fn has_totals_in(&self, row: usize) -> bool {
        self.annex.is_some_and(|annex| annex.has_totals_in(row))
    }
}

/// Rows of one query entry's result.
pub(super) struct EntryRows<'a> {
    pub head: ResultHead<'a>,
    rows: ResultRows<'a>,
    /// Offset of each row of the result in the block, set when keys are read to pair rows that have another order.
    offsets: OnceCell<Vec<usize>>,
    /// All rows of the result, read when single values are requested: reading them again for each value would be
    /// quadratic.
    kept: OnceCell<Vec<ResultRow<'a>>>,
}

/// Rows of one query result, in the form that they have in the block: a table, or one row.
enum ResultRows<'a> {
    One(Option<ResultRow<'a>>),
    Table(InstanceTable<'a>),
}

/// Iterator over the rows of one query result.
pub(super) enum RowIter<'a> {
    One(Option<ResultRow<'a>>),
    Table(InstanceRows<'a>),
}

impl RowIter<'_> {
    pub const NONE: Self = Self::One(None);
}

impl<'a> Iterator for RowIter<'a> {
    type Item = ResultRow<'a>;

    #[inline]
    fn next(&mut self) -> Option<ResultRow<'a>> {
        match self {
            Self::One(row) => row.take(),
            Self::Table(rows) => rows.next()?.ok().map(ResultRow::from),
        }
    }
}

/// Key of a row in its query result: instance id and name. Ids are compared first, because most differ, while names
/// must be read from the block.
pub(super) type RowKey<'a> = (Option<InstanceId>, &'a [u8]);

/// Row of a query result: the name and id of an instance, and its cells. Results for one instance contain neither name
/// nor id: the entry has the name.
#[derive(Clone, Copy)]
pub(super) struct ResultRow<'a> {
    pub name: Name<'a>,
    pub id: Option<InstanceId>,
    pub cells: ResultCells<'a>,
}

impl<'a> From<v2::Instance<'a>> for ResultRow<'a> {
    fn from(row: v2::Instance<'a>) -> Self {
        Self { name: row.name(), id: Some(row.id()), cells: ResultCells::Several(row.values()) }
    }
}

/// Row of an older query result.
#[derive(Clone, Copy)]
pub(super) struct OldRow<'a> {
    /// Position of the row in the older result.
    pub at: usize,
    pub row: ResultRow<'a>,
    pub birth: Birth,
}

#[derive(Clone, Copy)]
pub(super) enum ResultCells<'a> {
    One(v2::BlockValue<'a>),
    Several(Values<'a>),
}

impl ResultCells<'_> {
    #[inline]
    pub fn number(&self, column: usize) -> PackedRaw {
        let value = match self {
            Self::One(value) => Some(*value).filter(|_| column == 0),
            Self::Several(values) => values.get(column),
        };
        match value.and_then(v2::BlockValue::number) {
            Some(RawValue::U64(value)) => PackedRaw { width: 8, value },
            Some(RawValue::U32(value)) => PackedRaw { width: 4, value: value.into() },
            None => PackedRaw { width: 0, value: 0 },
        }
    }
}

/// Compact form of an optional raw value that fits into two registers, because many values are processed.
#[derive(Clone, Copy)]
pub(super) struct PackedRaw {
    /// Width of the raw value, 8 or 4 bytes; 0 = no value.
    pub width: u32,
    pub value: u64,
}

impl PackedRaw {
    #[inline]
    pub fn raw(self) -> Option<RawValue> {
        match self.width {
            8 => Some(RawValue::U64(self.value)),
            4 => Some(RawValue::U32(u32::try_from(self.value & 0xFFFF_FFFF).unwrap_or(u32::MAX))),
            _ => None,
        }
    }

    #[inline]
    pub fn get(self) -> Option<u64> {
        (self.width != 0).then_some(self.value)
    }
}

/// Returns the rows of each result of a snapshot's block.
pub(super) fn entry_rows(snapshot: &Snapshot) -> Vec<EntryRows<'_>> {
    let results = Block::parse(&snapshot.block).map(|block| block.results());
    let mut results = results.into_iter().flatten();
    let entries = snapshot.entries.iter().enumerate();
    entries
        .map(|(index, info)| EntryRows::new(snapshot, index, info, results.next().and_then(Result::ok)))
        .collect()
}

/// Returns `true` if both snapshots have the same instances in the same order, whatever their values are; see
/// [`Snapshot::has_rows_of`].
pub(crate) fn have_same_rows(a: &Snapshot, b: &Snapshot) -> bool {
    let same = |(a, b): (&EntryRows<'_>, &EntryRows<'_>)| a.has_rows_of(b);
    Arc::ptr_eq(&a.entries, &b.entries) && entry_rows(a).iter().zip(&entry_rows(b)).all(same)
}

impl<'a> EntryRows<'a> {
    /// Returns the rows of a query entry's result; `result` is `None` if the result cannot be read.
    pub fn new(
        snapshot: &'a Snapshot,
        entry: usize,
        info: &'a ResolvedEntry,
        result: Option<v2::QueryResult<'a>>,
    ) -> Self {
        let (status, body) = match result {
            Some(result) => (result.status, result.body),
            None => (Status::ERROR_INVALID_DATA, Body::Error),
        };
        let head = ResultHead::new(snapshot, entry, info, status);
        let one = |cells| ResultRows::One(Some(head.row(cells)));
        let rows = match body {
            Body::SingleCounter(value) => one(ResultCells::One(value)),
            Body::MultipleCounters(_, values) => one(ResultCells::Several(values)),
            Body::MultipleInstances(table) | Body::Counterset(_, table) => ResultRows::Table(table),
            Body::Error => ResultRows::One(None),
        };
        EntryRows { head, rows, offsets: OnceCell::new(), kept: OnceCell::new() }
    }

    /// Returns the table of instances in the query result, if it has one.
    pub fn table(&self) -> Option<&InstanceTable<'a>> {
        match &self.rows {
            ResultRows::One(_) => None,
            ResultRows::Table(table) => Some(table),
        }
    }

    /// Returns an iterator over the rows of the query result, in the order of the block. The iterator ends at a row
    /// that cannot be read.
    #[inline]
    pub fn iter(&self) -> RowIter<'a> {
        match &self.rows {
            ResultRows::One(row) => RowIter::One(*row),
            ResultRows::Table(table) => RowIter::Table(table.rows()),
        }
    }

    /// Returns the row of the result at a position, for reading single values of the row.
    pub fn get(&self, at: usize) -> Option<ResultRow<'a>> {
        self.kept.get_or_init(|| self.iter().collect()).get(at).copied()
    }

    /// Reads the row of the result at a position, for reading all values of the row. Needs less memory than
    /// [`get`](Self::get).
    #[inline]
    pub fn read(&self, at: usize) -> Option<OldRow<'a>> {
        let row = match &self.rows {
            ResultRows::One(row) => row.filter(|_| at == 0)?,
            ResultRows::Table(table) => {
                let offset = *self.offsets.get_or_init(|| Self::keys_and_offsets(table).1).get(at)?;
                table.row_starting_at(offset)?.into()
            }
        };
        Some(OldRow { at, row, birth: self.head.birth(at) })
    }

    /// Returns the keys of all rows of the result, in order.
    pub fn keys(&self) -> Vec<RowKey<'a>> {
        let ResultRows::Table(table) = &self.rows else {
            return self.iter().map(|row| row.key()).collect();
        };
        let (keys, offsets) = Self::keys_and_offsets(table);
        self.offsets.get_or_init(|| offsets); // found on the way, and needed next
        keys
    }

    fn keys_and_offsets(table: &InstanceTable<'a>) -> (Vec<RowKey<'a>>, Vec<usize>) {
        let rows = table.rows().map_while(Result::ok);
        rows.map(|row| ((Some(row.id()), row.name().as_bytes()), row.offset())).unzip()
    }

    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    fn has_rows_of(&self, other: &EntryRows<'_>) -> bool {
        let is_same = |at, row: &ResultRow<'_>, of_other: &ResultRow<'_>| {
            row.is_same(of_other)
                && (self.head.birth(at), self.head.owner(at)) == (other.head.birth(at), other.head.owner(at))
        };
        let (mut rows, mut others) = (self.iter(), other.iter());
        let mut at = 0_usize..;
        loop {
            match (rows.next(), others.next(), at.next()) {
                (Some(row), Some(of_other), Some(at)) if is_same(at, &row, &of_other) => {}
                (None, None, _) => return true,
                _ => return false,
            }
        }
    }
}

/// Rows of all query entries of a snapshot.
pub(super) type All<'a> = [Option<EntryRows<'a>>];

#[inline]
pub(super) fn rows_of<'a, 'b>(all: &'b All<'a>, entry: usize) -> Option<&'b EntryRows<'a>> {
    all.get(entry)?.as_ref()
}

impl<'a> ResultRow<'a> {
    /// Returns the key of the row: the instance's id and name.
    #[inline]
    pub fn key(&self) -> RowKey<'a> {
        (self.id, self.name.as_bytes())
    }

    #[inline]
    pub fn is_same(&self, other: &ResultRow<'_>) -> bool {
        self.id == other.id && self.name == other.name
    }

    /// Returns an input of a formula for this row's instance, whose row belongs to the entry `entry`.
    #[inline]
    pub fn number(&self, (place, column): CellIndex, entry: usize, all: &All<'_>, at: usize) -> PackedRaw {
        if place == entry {
            return self.cells.number(column);
        }
        let other = rows_of(all, place).and_then(|rows| rows.get(at));
        let same = other.filter(|other| other.is_same(self));
        same.map_or(PackedRaw { width: 0, value: 0 }, |other| other.cells.number(column))
    }
}
