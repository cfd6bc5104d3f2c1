//! Origins of values that were made of two snapshots.

use perfset_core::CounterId;
use perfset_core::sample::Clocks;

use super::entry_rows::{All, EntryRows, rows_of};
use super::pairing::pair_rows;
use super::{SnapshotValues, Value};
use crate::snapshot::{ResolvedEntry, Snapshot};

/// Lookup of data that values made of two snapshots do not contain: their clocks, and if they are new.
pub(crate) struct SampleLookup<'a> {
    infos: &'a [ResolvedEntry],
    new: Vec<Option<EntryRows<'a>>>,
    old: Vec<Option<EntryRows<'a>>>,
    /// Entry of the last lookup, and the older row of each of its rows.
    older: Option<(usize, Vec<Option<u32>>)>,
    /// Column of the last lookup: many values of one column are looked up one after the other.
    column: Option<(usize, CounterId, usize)>,
}

impl<'a> SampleLookup<'a> {
    pub(crate) fn new(new: &'a Snapshot, older: Option<&'a Snapshot>) -> Self {
        let SnapshotValues { infos, new, old, .. } = SnapshotValues::new(new, older);
        Self { infos, new, old, older: None, column: None }
    }

    /// Returns the clocks of a value in a row of its entry.
    pub(crate) fn clocks(&mut self, value: &Value<'_>, row: usize) -> Option<Clocks> {
        let column = self.column(value)?;
        let related = self.infos.get(value.entry)?.related.get(column)?;
        let rows = rows_of(&self.new, value.entry)?;
        Some(related.clocks(&rows.clocks, &rows.get(row)?, value.entry, &self.new, row))
    }

    /// Returns `true` if a value in a row of its entry differs from that of the same instance in the older snapshot.
    pub(crate) fn is_new(&mut self, value: &Value<'_>, row: usize) -> bool {
        self.has_same_numbers(value, row) != Some(true)
    }

    fn has_same_numbers(&mut self, value: &Value<'_>, row: usize) -> Option<bool> {
        let column = self.column(value)?;
        let related = self.infos.get(value.entry)?.related.get(column)?;
        let older = *self.older_rows(value.entry)?.get(row)?;
        let older = usize::try_from(older?).ok()?;
        let old = rows_of(&self.old, value.entry)?.get(older)?;
        let birth = |all: &All<'a>, at| rows_of(all, value.entry)?.annex?.birth_of(at, column);
        // A value of another instance with the same name is new, even if the numbers are equal (F-28).
        if birth(&self.new, row) != birth(&self.old, older) {
            return Some(false);
        }
        let base = related.base.map(|place| old.number(place, value.entry, &self.old, older));
        let same_base = base.is_none_or(|base| base.raw() == value.base);
        Some(same_base && old.cells.number(column).raw() == value.raw)
    }

    /// Returns for each row of an entry the row of the same instance in the older snapshot.
    fn older_rows(&mut self, entry: usize) -> Option<&[Option<u32>]> {
        if self.older.as_ref().is_none_or(|(of, _)| *of != entry) {
            let (new, old) = (rows_of(&self.new, entry)?, rows_of(&self.old, entry)?);
            self.older = Some((entry, pair_rows(new, old)));
        }
        self.older.as_ref().map(|(_, rows)| rows.as_slice())
    }

    fn column(&mut self, value: &Value<'_>) -> Option<usize> {
        match self.column {
            Some((entry, counter, column)) if (entry, counter) == (value.entry, value.counter.id) => {
                Some(column)
            }
            _ => {
                let column =
                    self.infos.get(value.entry)?.counters().position(|c| c.id == value.counter.id)?;
                self.column = Some((value.entry, value.counter.id, column));
                Some(column)
            }
        }
    }
}
