//! What one collection returned: the block, and what a block has no place for.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use perfset_core::clock::ClockReading;
use perfset_core::sample::Clocks;
use perfset_core::{
    Birth, Counter, Counterset, Guid, InstanceId, InstanceIdFilter, Mark, Name, NoValue, Owner, Utf16,
};

use crate::entry::Entry;
use crate::rows::{AboutRows, Note};
use crate::values::{AllValues, Related, Value, have_same_rows, related};

/// What one collection of a query returned: a V2 block and its annex.
///
/// Reused from collection to collection it allocates nothing while the same instances come; two of them, swapped,
/// give [`values`](Self::values) of everything.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The V2 block: what a C caller gets.
    pub(crate) block: Vec<u8>,
    pub(crate) annex: Annex,
    pub(crate) entries: Arc<[EntryInfo]>,
    pub(crate) clocks: ClockReading,
    /// The layout that `block` has; 0 = none.
    pub(crate) layout: u64,
}

/// What a block has no place for: births, owners, reasons and marks.
#[derive(Debug, Default)]
pub struct Annex {
    pub(crate) entries: Vec<EntryAnnex>,
}

/// The annex of one entry.
#[derive(Debug, Default)]
pub struct EntryAnnex {
    /// Why the whole entry has no value.
    pub(crate) failure: Option<NoValue>,
    /// What is known of each row: the same for all entries that select the same instances, which may be many of both.
    pub(crate) rows: Option<Arc<AboutRows>>,
    /// The id of the one instance that the entry asks for: its result carries none.
    pub(crate) instance_id: Option<InstanceId>,
    /// The name of that instance as its provider spells it: the entry may spell it in another case. Empty if there is
    /// no such instance.
    pub(crate) instance: Vec<u8>,
    /// The counterset's own clocks, if its source has some.
    pub(crate) clocks: Option<Clocks>,
    /// How long the provider took for all that is asked of the counterset.
    pub(crate) took: Option<Duration>,
    /// By column: why its cells have no value, where they have none and no note; empty if no column says so.
    pub(crate) reasons: Vec<Option<NoValue>>,
    /// What is special, by row and column, ascending.
    pub(crate) notes: Vec<((usize, usize), Note)>,
}

impl EntryAnnex {
    /// Why the whole entry has no value.
    #[must_use]
    pub fn failure(&self) -> Option<&NoValue> {
        self.failure.as_ref()
    }

    /// The birth of a row.
    #[must_use]
    pub fn birth(&self, row: usize) -> Birth {
        self.rows.as_ref()?.birth(row)
    }

    /// Whose a row is.
    #[must_use]
    pub fn owner(&self, row: usize) -> Owner {
        self.rows.as_ref().map_or(Owner::System, |rows| rows.owner(row))
    }

    /// The id of the one instance of a result that carries neither name nor id.
    #[must_use]
    pub fn instance_id(&self) -> Option<InstanceId> {
        self.instance_id
    }

    /// Returns the provider's own spelling of the one instance that an entry asks for. Its result carries no name.
    #[must_use]
    pub fn instance(&self) -> Option<Name<'_>> {
        (!self.instance.is_empty()).then(|| Name::until_nul(&self.instance))
    }

    /// The counterset's own clocks, where its source has some.
    #[must_use]
    pub fn clocks(&self) -> Option<Clocks> {
        self.clocks
    }

    /// How long the provider of its counterset took for all that the query asks of that; `None` if nobody was asked.
    #[must_use]
    pub fn took(&self) -> Option<Duration> {
        self.took
    }

    /// Why a value that is missing is, as far as its source said.
    #[must_use]
    pub fn reason(&self, row: usize, column: usize) -> Option<&NoValue> {
        match self.note(row, column) {
            Some(Note::Missing(reason)) => Some(reason),
            _ => self.column_reason(column),
        }
    }

    /// What is special about a value that is there.
    #[must_use]
    pub fn mark(&self, row: usize, column: usize) -> Option<Mark> {
        self.note(row, column).and_then(Note::mark).or_else(|| self.row_mark(row))
    }

    /// Returns the start of counting a value in terms of PerfTime100NSec, if it is not the birth of its row.
    ///
    /// Only values with exactly the same start are compared with it.
    #[must_use]
    pub fn counted_since(&self, row: usize, column: usize) -> Option<NonZeroU64> {
        self.note(row, column).and_then(Note::counted_since)
    }

    /// Returns all values that are counted since a time of their own: row, column and that time, ascending.
    pub fn counts(&self) -> impl Iterator<Item = (usize, usize, NonZeroU64)> + '_ {
        let counted =
            |((row, column), note): &((usize, usize), Note)| Some((*row, *column, note.counted_since()?));
        self.notes.iter().filter_map(counted)
    }

    /// Returns the birth of a value: its own, else that of its row.
    ///
    /// The birth tells its instance from others with the same name and id.
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

    /// Returns `true` if any value is a total: it has a birth of its own, or lacks instances.
    pub(crate) fn has_totals(&self) -> bool {
        self.notes.iter().any(|(_, note)| note.is_of_total())
    }

    /// Returns `true` if any value of a row is a total.
    pub(crate) fn has_totals_in(&self, row: usize) -> bool {
        let from = self.notes.partition_point(|((at, _), _)| *at < row);
        let mut rest = self.notes.get(from..).unwrap_or_default().iter();
        rest.by_ref().take_while(|((at, _), _)| *at == row).any(|(_, note)| note.is_of_total())
    }

    /// What is special about the values of a row of which nothing else was said.
    #[inline]
    pub(crate) fn row_mark(&self, row: usize) -> Option<Mark> {
        self.rows.as_ref()?.mark(row)
    }

    /// Why values of a column are missing where nothing else was said.
    pub(crate) fn column_reason(&self, column: usize) -> Option<&NoValue> {
        self.reasons.get(column)?.as_ref()
    }

    fn note(&self, row: usize, column: usize) -> Option<&Note> {
        let at = self.notes.binary_search_by_key(&(row, column), |(at, _)| *at).ok()?;
        self.notes.get(at).map(|(_, note)| note)
    }
}

/// An entry of the query, and what it means.
#[derive(Debug)]
pub struct EntryInfo {
    /// The entry.
    pub entry: Entry,
    /// Its counterset; `None` if that was uninstalled after the entry was added.
    pub counterset: Option<Arc<Counterset>>,
    /// Its counters, as positions in the counterset: the columns of its result.
    pub(crate) counters: Vec<usize>,
    /// For each of its counters, how and with what it is computed.
    pub(crate) related: Vec<Related>,
    /// The instance that it names, as a block would hold it.
    name: Vec<u8>,
}

impl EntryInfo {
    pub(crate) fn new(entry: Entry, counterset: Option<Arc<Counterset>>, counters: Vec<usize>) -> Self {
        let units = entry.instance.as_ref().map(|name| name.units()).unwrap_or_default();
        let name = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        Self { entry, counterset, counters, related: Vec::new(), name }
    }

    /// Finds for all entries of a query what their counters are computed with.
    pub(crate) fn relate(infos: &mut [Self]) {
        let mut peers: HashMap<_, Vec<usize>> = HashMap::new();
        for (entry, info) in infos.iter().enumerate() {
            peers.entry(info.instances()).or_default().push(entry);
        }
        let related = |(entry, info): (usize, &Self)| {
            related(infos, entry, peers.get(&info.instances()).map_or(&[], Vec::as_slice))
        };
        let related: Vec<Vec<Related>> = infos.iter().enumerate().map(related).collect();
        for (info, related) in infos.iter_mut().zip(related) {
            info.related = related;
        }
    }

    /// Which instances it asks for: entries that have these in common can be computed with each other.
    fn instances(&self) -> (Guid, InstanceIdFilter, Option<&Utf16>) {
        (self.entry.counterset, self.entry.instance_id, self.entry.instance.as_ref())
    }

    /// The instance name that the entry asks for.
    #[must_use]
    pub fn instance(&self) -> Name<'_> {
        Name::until_nul(&self.name)
    }

    /// Whether results of both can be compared: the same entry, of the very same registration.
    pub(crate) fn means_as(&self, other: &Self) -> bool {
        let same_set = match (&self.counterset, &other.counterset) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        same_set && self.entry == other.entry && self.counters == other.counters
    }

    /// The counter of a column.
    #[inline]
    pub(crate) fn counter<'a>(&self, set: &'a Counterset, column: usize) -> Option<&'a Counter> {
        set.counters.get(*self.counters.get(column)?)
    }

    /// The counters of its result, in order.
    pub fn counters(&self) -> impl Iterator<Item = &Counter> {
        let all = self.counterset.as_deref().map(|set| &*set.counters).unwrap_or_default();
        self.counters.iter().filter_map(|at| all.get(*at))
    }
}

impl Snapshot {
    /// The V2 block.
    #[must_use]
    pub fn block(&self) -> &[u8] {
        &self.block
    }

    /// When it was collected.
    #[must_use]
    pub fn clocks(&self) -> &ClockReading {
        &self.clocks
    }

    /// The entries of the query, in the order of the block's results.
    #[must_use]
    pub fn entries(&self) -> &[EntryInfo] {
        &self.entries
    }

    /// What the block has no place for, in the same order.
    #[must_use]
    pub fn annex(&self) -> &[EntryAnnex] {
        &self.annex.entries
    }

    /// Returns `true` if both have the same rows: of the same entries, in the same order, each with the name, id, birth
    /// and owner that it has in the other one. Their values, notes and marks may differ.
    ///
    /// Compares the delivered values row by row, however they were written; nothing is computed from them.
    #[must_use]
    pub fn has_rows_of(&self, other: &Self) -> bool {
        have_same_rows(self, other)
    }

    /// Every value, in the order of entries, instances and counters; of an entry that failed each counter with the
    /// reason.
    ///
    /// Counters that take a difference have a value if `older` holds the same counter of the same thing.
    pub fn values<'a>(&'a self, older: Option<&'a Self>) -> impl Iterator<Item = Value<'a>> {
        AllValues::new(self, older)
    }
}
