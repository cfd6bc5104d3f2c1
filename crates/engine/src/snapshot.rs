//! Result of one collection: the V2 block, and the metadata that a block cannot contain.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use perfset_core::clock::ClockReading;
use perfset_core::sample::Clocks;
use perfset_core::{
    Birth, Counter, CounterId, Counterset, Guid, InstanceId, InstanceIdFilter, Mark, Name, NoValue, Owner,
    Utf16,
};

use crate::entry::Entry;
use crate::rows::{CellState, RowMetadata};
use crate::values::{FormulaInputs, SnapshotValues, Value, have_same_rows, related};

/// Result of one collection of a query: a V2 block and its metadata.
///
/// A snapshot reused from collection to collection allocates nothing while the same instances come. Two snapshots,
/// swapped, give [`values`](Self::values) of everything.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// V2 block in the form that a C caller gets.
    pub(crate) block: Vec<u8>,
    pub(crate) annex: SnapshotMetadata,
    pub(crate) entries: Arc<[ResolvedEntry]>,
    pub(crate) clocks: ClockReading,
    /// Number that identifies the layout of the block; 0 if there is no block.
    pub(crate) layout: u64,
    /// Number that identifies the structure of the block and stays the same while only values change; 0 if it is
    /// unknown.
    pub(crate) structure: u64,
}

impl Clone for Snapshot {
    fn clone(&self) -> Self {
        Self {
            block: self.block.clone(),
            annex: self.annex.clone(),
            entries: Arc::clone(&self.entries),
            clocks: self.clocks,
            layout: self.layout,
            // One number belongs to one snapshot: the metadata of the clone will be others.
            structure: 0,
        }
    }
}

/// Metadata of a snapshot that a block cannot contain: births, owners, reasons and marks.
#[derive(Clone, Debug, Default)]
pub struct SnapshotMetadata {
    pub(crate) entries: Vec<EntryMetadata>,
}

/// Metadata of one query entry in a snapshot.
#[derive(Clone, Debug, Default)]
pub struct EntryMetadata {
    /// Reason that the whole query entry has no value.
    pub(crate) failure: Option<NoValue>,
    /// Metadata of the rows that the query entry selects. All entries that select the same instances share it, because
    /// there can be many entries and many rows.
    pub(crate) rows: Option<Arc<RowMetadata>>,
    /// Id of the only instance that the entry selects; the result in the block contains no id then.
    pub(crate) instance_id: Option<InstanceId>,
    /// Name of the only instance that the entry selects, in its provider's spelling: the entry might use another case.
    /// Empty if there is no such instance.
    pub(crate) instance: Vec<u8>,
    /// Clocks of the entry's counterset itself, if its source has clocks.
    pub(crate) clocks: Option<Clocks>,
    /// Time that the provider took for all requests to the counterset.
    pub(crate) took: Option<Duration>,
    /// Reasons for missing values by column, for cells without a reason of their own; empty if no column has a
    /// reason.
    pub(crate) reasons: Vec<Option<NoValue>>,
    /// Reasons, marks and starts of counts of single cells, by row and column, ascending.
    pub(crate) notes: Vec<((usize, usize), CellState)>,
}

impl SnapshotMetadata {
    /// Returns `true` if the metadata of two samples is equal and contains no clocks of countersets, which differ from
    /// sample to sample.
    pub(crate) fn is_lasting(&self, other: &Self) -> bool {
        self.entries.len() == other.entries.len()
            && self.entries.iter().zip(&other.entries).all(|(a, b)| a.is_lasting(b))
    }
}

impl EntryMetadata {
    /// Returns `true` if the metadata of both entries describes the same rows; marks can differ.
    pub(crate) fn has_rows_of(&self, other: &Self) -> bool {
        let same_rows = match (&self.rows, &other.rows) {
            (Some(a), Some(b)) => a.has_rows_of(b),
            (None, None) => true,
            _ => false,
        };
        same_rows && (&self.instance, self.instance_id) == (&other.instance, other.instance_id)
    }

    fn is_lasting(&self, other: &Self) -> bool {
        // How long the provider took says nothing about the sample.
        let Self { failure, rows, instance_id, instance, clocks, took: _, reasons, notes } = self;
        (failure, rows, instance_id, instance)
            == (&other.failure, &other.rows, &other.instance_id, &other.instance)
            && (reasons, notes) == (&other.reasons, &other.notes)
            && clocks.is_none()
            && other.clocks.is_none()
    }

    /// Returns the reason that the whole query entry has no value.
    #[must_use]
    pub fn failure(&self) -> Option<&NoValue> {
        self.failure.as_ref()
    }

    /// Returns the birth of the instance in a row of the entry.
    #[must_use]
    pub fn birth(&self, row: usize) -> Birth {
        self.rows.as_ref()?.birth(row)
    }

    /// Returns the owner of the instance in a row of the entry.
    #[must_use]
    pub fn owner(&self, row: usize) -> Owner {
        self.rows.as_ref().map_or(Owner::System, |rows| rows.owner(row))
    }

    /// Returns the id of the only instance that a query entry selects, if its result contains neither name nor id.
    #[must_use]
    pub fn instance_id(&self) -> Option<InstanceId> {
        self.instance_id
    }

    /// Returns the name of the only instance that a query entry selects, in the provider's spelling. The entry's
    /// result contains no name.
    #[must_use]
    pub fn instance(&self) -> Option<Name<'_>> {
        (!self.instance.is_empty()).then(|| Name::until_nul(&self.instance))
    }

    /// Returns the clocks of the entry's counterset itself, if its source has clocks.
    #[must_use]
    pub fn clocks(&self) -> Option<Clocks> {
        self.clocks
    }

    /// Returns the time that the provider took for all requests of the query to the counterset; `None` if the provider
    /// was not called.
    #[must_use]
    pub fn took(&self) -> Option<Duration> {
        self.took
    }

    /// Returns the reason for a missing value of the entry, if its source gave one.
    #[must_use]
    pub fn reason(&self, row: usize, column: usize) -> Option<&NoValue> {
        match self.note(row, column) {
            Some(CellState::Missing(reason)) => Some(reason),
            _ => self.column_reason(column),
        }
    }

    /// Returns the mark of an existing value of the entry.
    #[must_use]
    pub fn mark(&self, row: usize, column: usize) -> Option<Mark> {
        self.note(row, column).and_then(CellState::mark).or_else(|| self.row_mark(row))
    }

    /// Returns the time at which counting of a value began in terms of PerfTime100NSec, if it is not the birth of its
    /// row.
    ///
    /// Only values with exactly the same start are compared with it.
    #[must_use]
    pub fn counted_since(&self, row: usize, column: usize) -> Option<NonZeroU64> {
        self.note(row, column).and_then(CellState::counted_since)
    }

    /// Returns all values of the entry whose counting began at a separate time: row, column and that time, ascending.
    pub fn counts(&self) -> impl Iterator<Item = (usize, usize, NonZeroU64)> + '_ {
        let counted = |((row, column), note): &((usize, usize), CellState)| {
            Some((*row, *column, note.counted_since()?))
        };
        self.notes.iter().filter_map(counted)
    }

    /// Returns the birth of a value: the time at which its counting began, if that is separate, else the birth of its
    /// row.
    ///
    /// The birth distinguishes its instance from others with the same name and id.
    #[must_use]
    pub fn birth_of(&self, row: usize, column: usize) -> Birth {
        self.counted_since(row, column).or_else(|| self.birth(row))
    }

    /// Returns the largest number of instances that a total of this entry lacks; 0 if no total is
    /// [`Mark::Partial`].
    #[must_use]
    pub fn missing_instances(&self) -> u32 {
        let missing = self.notes.iter().filter_map(|(_, note)| match note.mark() {
            Some(Mark::Partial(missing)) => Some(missing.get()),
            _ => None,
        });
        missing.max().unwrap_or_default()
    }

    /// Returns `true` if any value of the entry is a total: a count with a separate start time, or a sum that lacks
    /// instances.
    pub(crate) fn has_totals(&self) -> bool {
        self.notes.iter().any(|(_, note)| note.is_of_total())
    }

    /// Returns `true` if any value of a row is a total.
    pub(crate) fn has_totals_in(&self, row: usize) -> bool {
        let from = self.notes.partition_point(|((at, _), _)| *at < row);
        let mut rest = self.notes.get(from..).unwrap_or_default().iter();
        rest.by_ref().take_while(|((at, _), _)| *at == row).any(|(_, note)| note.is_of_total())
    }

    /// Returns the reasons, marks and starts of counts of the entry's single cells, by row and column, ascending.
    #[must_use]
    pub fn notes(&self) -> &[((usize, usize), CellState)] {
        &self.notes
    }

    /// Returns the mark of a row's values that have no mark of their own.
    #[must_use]
    #[inline]
    pub fn row_mark(&self, row: usize) -> Option<Mark> {
        self.rows.as_ref()?.mark(row)
    }

    /// Returns the reason for the missing values of a column, which applies to cells without a reason of their own.
    pub(crate) fn column_reason(&self, column: usize) -> Option<&NoValue> {
        self.reasons.get(column)?.as_ref()
    }

    fn note(&self, row: usize, column: usize) -> Option<&CellState> {
        let at = self.notes.binary_search_by_key(&(row, column), |(at, _)| *at).ok()?;
        self.notes.get(at).map(|(_, note)| note)
    }
}

/// Entry of a query whose counterset and counters have been looked up among those of the registered providers.
#[derive(Debug)]
pub struct ResolvedEntry {
    /// Query entry as it was added.
    pub entry: Entry,
    /// Counterset of the entry; `None` if it was uninstalled after the entry was added.
    pub counterset: Option<Arc<Counterset>>,
    /// Positions of the entry's counters in the counterset: the columns of its result.
    pub(crate) counters: Vec<usize>,
    /// Formula of each of the entry's counters, with its inputs.
    pub(crate) related: Vec<FormulaInputs>,
    /// `true` if this query entry contains all inputs of its counters' formulas.
    pub(crate) is_alone: bool,
    /// Column of each of the entry's counters, ascending by counter id; empty if the entry has few counters.
    by_id: Vec<(CounterId, usize)>,
    /// Instance name of the entry, encoded as in a block.
    name: Vec<u8>,
}

impl ResolvedEntry {
    pub(crate) fn new(entry: Entry, counterset: Option<Arc<Counterset>>, counters: Vec<usize>) -> Self {
        let units = entry.instance.as_ref().map(|name| name.units()).unwrap_or_default();
        let name = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let mut resolved = Self {
            entry,
            counterset,
            counters,
            related: Vec::new(),
            is_alone: false,
            by_id: Vec::new(),
            name,
        };
        if resolved.counters.len() > Self::FEW {
            let mut by_id: Vec<_> = resolved.counters().map(|counter| counter.id).zip(0..).collect();
            by_id.sort_unstable();
            resolved.by_id = by_id;
        }
        resolved
    }

    /// Maximum number of counters of an entry that are searched one after the other.
    const FEW: usize = 8;

    /// Returns the column that a counter has in the entry's result.
    pub(crate) fn column(&self, id: CounterId) -> Option<usize> {
        if self.by_id.is_empty() {
            return self.counters().position(|counter| counter.id == id);
        }
        let at = self.by_id.partition_point(|(known, _)| *known < id);
        self.by_id.get(at).filter(|(known, _)| *known == id).map(|(_, column)| *column)
    }

    /// Finds the formula inputs of the counters of all entries of a query.
    pub(crate) fn relate(infos: &mut [Self]) {
        // Grouped by selection, because comparing each entry with all others would be quadratic.
        let mut peers: HashMap<_, Vec<usize>> = HashMap::new();
        for (entry, info) in infos.iter().enumerate() {
            peers.entry(info.instances()).or_default().push(entry);
        }
        let related = |(entry, info): (usize, &Self)| {
            related(infos, entry, peers.get(&info.instances()).map_or(&[], Vec::as_slice))
        };
        let related: Vec<Vec<FormulaInputs>> = infos.iter().enumerate().map(related).collect();
        for (entry, (info, related)) in infos.iter_mut().zip(related).enumerate() {
            info.is_alone = related.iter().all(|inputs| inputs.is_within(entry));
            info.related = related;
        }
    }

    /// Returns the counterset and instance selection of the query entry. Formulas can use counters of another entry
    /// with an equal selection.
    fn instances(&self) -> (Guid, InstanceIdFilter, Option<&Utf16>) {
        (self.entry.counterset, self.entry.instance_id, self.entry.instance.as_ref())
    }

    /// Returns the instance name that the query entry selects.
    #[must_use]
    pub fn instance(&self) -> Name<'_> {
        Name::until_nul(&self.name)
    }

    /// Returns `true` if results of two query entries can be compared: the entries are equal and have the very same
    /// registration.
    pub(crate) fn means_as(&self, other: &Self) -> bool {
        let same_set = match (&self.counterset, &other.counterset) {
            // A counterset that was registered again can have the same ids for other counters.
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        same_set && self.entry == other.entry && self.counters == other.counters
    }

    /// Returns the counters of the entry's result, in the order of its columns.
    pub fn counters(&self) -> impl Iterator<Item = &Counter> {
        let all = self.counterset.as_deref().map(|set| &*set.counters).unwrap_or_default();
        self.counters.iter().filter_map(|at| all.get(*at))
    }
}

impl Snapshot {
    /// Returns the V2 block of the snapshot.
    #[must_use]
    pub fn block(&self) -> &[u8] {
        &self.block
    }

    /// Returns the clocks at the time of the collection.
    #[must_use]
    pub fn clocks(&self) -> &ClockReading {
        &self.clocks
    }

    /// Returns the entries of the query, in the order of the block's results.
    #[must_use]
    pub fn entries(&self) -> &[ResolvedEntry] {
        &self.entries
    }

    /// Returns the entries of the query. Collections share them until an entry is added, removed or resolved again.
    #[must_use]
    pub fn shared_entries(&self) -> Arc<[ResolvedEntry]> {
        Arc::clone(&self.entries)
    }

    /// Returns the metadata of the query entries, in the order of the entries.
    #[must_use]
    pub fn annex(&self) -> &[EntryMetadata] {
        &self.annex.entries
    }

    /// Returns `true` if two snapshots have the same rows. The entries must be the same, and their rows must have the
    /// same order, names, ids, births and owners. Values, reasons and marks can differ.
    ///
    /// Compares the delivered values row by row, however they were written; nothing is computed from them.
    #[must_use]
    pub fn has_rows_of(&self, other: &Self) -> bool {
        have_same_rows(self, other)
    }

    /// Returns every value of the snapshot, in the order of entries, instances and counters. A failed entry has a
    /// value for each counter, which contains the reason.
    ///
    /// A counter that takes a difference has a value if `older` contains the same counter of the same instance.
    pub fn values<'a>(&'a self, older: Option<&'a Self>) -> impl Iterator<Item = Value<'a>> {
        SnapshotValues::new(self, older)
    }
}
