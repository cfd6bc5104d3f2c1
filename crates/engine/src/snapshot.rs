//! What one collection returned: the block, and what a block has no place for.

use std::collections::HashMap;
use std::sync::Arc;

use perfset_core::clock::ClockReading;
use perfset_core::sample::Clocks;
use perfset_core::v2::{self, Block, Body, Values};
use perfset_core::{
    Birth, Counter, CounterId, Counterset, FormattedValue, Identity, InstanceId, Mark, Name, NoValue, Owner,
    RawValue, Sample, Status, formula,
};

use crate::entry::Entry;
use crate::rows::Note;

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

/// What the annex says of a row as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowNote {
    pub id: Option<InstanceId>,
    pub birth: Birth,
    pub owner: Owner,
}

/// The annex of one entry.
#[derive(Debug, Default)]
pub struct EntryAnnex {
    /// Why the whole entry has no value.
    pub(crate) failure: Option<NoValue>,
    /// What is known of each row.
    pub(crate) rows: Vec<RowNote>,
    /// The counterset's own clock and its ticks a second, if its source has one.
    pub(crate) clock: Option<(i64, i64)>,
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
        self.rows.get(row).and_then(|row| row.birth)
    }

    /// Whose a row is.
    #[must_use]
    pub fn owner(&self, row: usize) -> Owner {
        self.rows.get(row).map_or(Owner::System, |row| row.owner)
    }

    /// The id of a row: results for one instance carry none in the block.
    #[must_use]
    pub fn instance_id(&self, row: usize) -> Option<InstanceId> {
        self.rows.get(row).and_then(|row| row.id)
    }

    /// The counterset's own clock and its ticks a second, where it has one.
    #[must_use]
    pub fn clock(&self) -> Option<(i64, i64)> {
        self.clock
    }

    /// What is special about a value.
    #[must_use]
    pub fn note(&self, row: usize, column: usize) -> Option<&Note> {
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
    /// For each of its counters, what it is computed with.
    related: Vec<Related>,
    /// The instance that it names, as a block would hold it.
    name: Vec<u8>,
}

/// Where a value is that another one is computed with: which entry, and which of its columns.
type Place = (usize, usize);

/// What a counter is computed with: wanted or not, and where it is.
#[derive(Clone, Copy, Debug, Default)]
struct Related {
    base: Option<Place>,
    base_wraps: bool,
    /// The counterset's own clock and its frequency, if it has one: then 100 ns time is not it.
    object_clock: Option<(Option<Place>, Option<Place>)>,
}

impl EntryInfo {
    pub(crate) fn new(entry: Entry, counterset: Option<Arc<Counterset>>, counters: Vec<usize>) -> Self {
        let units = entry.instance.as_ref().map(|name| name.units()).unwrap_or_default();
        let name = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        Self { entry, counterset, counters, related: Vec::new(), name }
    }

    /// Finds for all entries of a query what their counters are computed with.
    pub(crate) fn relate(infos: &mut [Self]) {
        let related: Vec<Vec<Related>> = (0..infos.len()).map(|entry| related(infos, entry)).collect();
        for (info, related) in infos.iter_mut().zip(related) {
            info.related = related;
        }
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

    /// The counters of its result, in order.
    pub fn counters(&self) -> impl Iterator<Item = &Counter> {
        let all = self.counterset.as_deref().map(|set| &*set.counters).unwrap_or_default();
        self.counters.iter().filter_map(|at| all.get(*at))
    }
}

/// One counter of one instance, for people.
#[derive(Clone, Debug)]
pub struct Value<'a> {
    /// Position of its entry in the query.
    pub entry: usize,
    /// The counterset.
    pub counterset: &'a Counterset,
    /// The counter.
    pub counter: &'a Counter,
    /// The instance's name; of an entry that failed the name it asked for.
    pub instance: Name<'a>,
    /// The instance's id, where a result carries it.
    pub instance_id: Option<InstanceId>,
    /// The raw value.
    pub raw: Option<RawValue>,
    /// The raw value of its base, if it has one and it was delivered.
    pub base: Option<RawValue>,
    /// The formatted value, or why there is none.
    pub value: Result<FormattedValue, NoValue>,
    /// What is special about it.
    pub mark: Option<Mark>,
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

    /// Every value, in the order of entries, instances and counters; of an entry that failed each counter with the
    /// reason.
    ///
    /// Counters that take a difference have a value if `older` holds the same counter of the same thing.
    pub fn values<'a>(&'a self, older: Option<&'a Self>) -> impl Iterator<Item = Value<'a>> {
        let new: Vec<_> = entry_rows(self).into_iter().map(Some).collect();
        let old = older.map(|older| aligned(self, older)).unwrap_or_default();
        (0..self.entries.len()).flat_map(move |entry| entry_values(entry, &self.entries, &new, &old))
    }
}

/// The rows of an older snapshot, in the order of a newer one's entries: whatever was added or deleted meanwhile.
fn aligned<'a>(new: &Snapshot, old: &'a Snapshot) -> Vec<Option<EntryRows<'a>>> {
    let mut rows: Vec<_> = entry_rows(old).into_iter().map(Some).collect();
    if Arc::ptr_eq(&old.entries, &new.entries) {
        return rows;
    }
    let mut take = |info: &EntryInfo| {
        let at = old.entries.iter().position(|other| other.means_as(info))?;
        rows.get_mut(at)?.take()
    };
    new.entries.iter().map(&mut take).collect()
}

/// The rows of one result.
struct EntryRows<'a> {
    annex: Option<&'a EntryAnnex>,
    status: Status,
    rows: Vec<ResultRow<'a>>,
    clocks: Clocks,
}

/// One row of one result. Results for one instance carry neither name nor id: the entry has the name.
#[derive(Clone, Copy)]
struct ResultRow<'a> {
    name: Name<'a>,
    id: Option<InstanceId>,
    cells: Cells<'a>,
}

impl<'a> From<v2::Instance<'a>> for ResultRow<'a> {
    fn from(row: v2::Instance<'a>) -> Self {
        Self { name: row.name(), id: Some(row.id()), cells: Cells::Several(row.values()) }
    }
}

#[derive(Clone, Copy)]
enum Cells<'a> {
    One(v2::Value<'a>),
    Several(Values<'a>),
}

impl Cells<'_> {
    fn number(&self, column: usize) -> Option<RawValue> {
        match self {
            Self::One(value) => value.number().filter(|_| column == 0),
            Self::Several(values) => values.get(column)?.number(),
        }
    }
}

/// The rows of each result of a snapshot's block.
fn entry_rows(snapshot: &Snapshot) -> Vec<EntryRows<'_>> {
    let clocks = Clocks::from(&snapshot.clocks);
    let results = Block::parse(&snapshot.block).map(|block| block.results());
    let mut results = results.into_iter().flatten();
    let infos = snapshot.entries.iter().enumerate();
    infos
        .map(|(index, info)| {
            let name = info.instance();
            let annex = snapshot.annex.entries.get(index);
            let id = annex.and_then(|annex| annex.instance_id(0));
            let one = |cells| vec![ResultRow { name, id, cells }];
            let (status, body) = match results.next() {
                Some(Ok(result)) => (result.status, result.body),
                _ => (Status::ERROR_INVALID_DATA, Body::Error),
            };
            let rows = match body {
                Body::SingleCounter(value) => one(Cells::One(value)),
                Body::MultipleCounters(_, values) => one(Cells::Several(values)),
                Body::MultipleInstances(table) | Body::Counterset(_, table) => {
                    table.rows().flatten().map(ResultRow::from).collect()
                }
                Body::Error => Vec::new(),
            };
            let clocks = match annex.and_then(|annex| annex.clock) {
                Some((object_time, object_freq)) => Clocks { object_time, object_freq, ..clocks },
                None => clocks,
            };
            EntryRows { annex, status, rows, clocks }
        })
        .collect()
}

impl EntryRows<'_> {
    fn birth(&self, row: usize) -> Birth {
        self.annex.and_then(|annex| annex.birth(row))
    }
}

/// What the counters of one entry are computed with: from the same entry, else from another one that asks for the same
/// instances.
fn related(infos: &[EntryInfo], entry: usize) -> Vec<Related> {
    let Some(own) = infos.get(entry) else { return Vec::new() };
    let in_entry = |at: usize, id: CounterId| {
        let of = |info: &EntryInfo| (info.entry.counterset, info.entry.instance_id);
        let other = infos
            .get(at)
            .filter(|other| of(own) == of(other) && own.entry.instance == other.entry.instance)?;
        Some((at, other.counters().position(|counter| counter.id == id)?))
    };
    let find = |id| in_entry(entry, id).or_else(|| (0..infos.len()).find_map(|at| in_entry(at, id)));
    let set = own.counterset.as_deref();
    let of_counter = |counter: &Counter| Related {
        base: counter.divisor().and_then(find),
        base_wraps: counter.divisor().and_then(|base| set?.counter(base)).is_some_and(|base| base.wraps),
        object_clock: (counter.perf_time.is_some() || counter.perf_freq.is_some())
            .then(|| (counter.perf_time.and_then(find), counter.perf_freq.and_then(find))),
    };
    own.counters().map(of_counter).collect()
}

fn entry_values<'a>(
    entry: usize,
    infos: &'a [EntryInfo],
    all_new: &[Option<EntryRows<'a>>],
    all_old: &[Option<EntryRows<'a>>],
) -> Vec<Value<'a>> {
    let (Some(info), Some(Some(new))) = (infos.get(entry), all_new.get(entry)) else { return Vec::new() };
    let old = all_old.get(entry).and_then(Option::as_ref);
    let Some(set) = info.counterset.as_deref() else { return Vec::new() };
    let mut values = Vec::new();
    if new.rows.is_empty() {
        let reason = new.annex.and_then(EntryAnnex::failure).cloned();
        let reason = reason.unwrap_or(NoValue::Status(new.status));
        for counter in info.counters() {
            let instance = info.instance();
            let value = Err(reason.clone());
            values.push(Value {
                entry,
                counterset: set,
                counter,
                instance,
                instance_id: None,
                raw: None,
                base: None,
                value,
                mark: None,
            });
        }
        return values;
    }
    let mut finder = old.map(Finder::new);
    for (at, row) in new.rows.iter().enumerate() {
        let older = finder.as_mut().and_then(|finder| finder.find(at, row));
        let is_new = older.is_none() && old.is_some_and(|old| !old.rows.is_empty());
        for (column, counter) in info.counters().enumerate() {
            let related = info.related.get(column).copied().unwrap_or_default();
            let sample = |all: &[Option<EntryRows<'a>>], at: usize, row: &ResultRow<'a>| {
                let rows = all.get(entry)?.as_ref()?;
                let number = |(entry, column): Place| {
                    let other = all.get(entry)?.as_ref()?.rows.get(at)?;
                    let same = other.name == row.name && other.id == row.id;
                    other.cells.number(column).filter(|_| same)
                };
                let ticks =
                    |place: Option<Place>| Some(i64::try_from(number(place?)?.get()).unwrap_or(i64::MAX));
                let clocks = match related.object_clock {
                    None => rows.clocks,
                    // A clock that was not delivered has no frequency: whatever needs it has no value.
                    Some((time, freq)) => Clocks {
                        object_time: ticks(time).unwrap_or(0),
                        object_freq: ticks(freq).unwrap_or(0),
                        ..rows.clocks
                    },
                };
                Some(Sample {
                    identity: Identity {
                        counterset: set.guid,
                        instance: row.name,
                        instance_id: row.id.unwrap_or(InstanceId(0)),
                        birth: rows.birth(at),
                    },
                    counter: counter.id,
                    counter_type: counter.counter_type,
                    raw: row.cells.number(column)?,
                    base: related.base.and_then(number),
                    wraps: counter.wraps,
                    base_wraps: related.base_wraps,
                    clocks,
                })
            };
            let note = new.annex.and_then(|annex| annex.note(at, column));
            let now = sample(all_new, at, row);
            let then = older.and_then(|(at, row)| sample(all_old, at, row));
            let value = match (&now, note) {
                (Some(now), _) => match formula::format(then.as_ref(), now) {
                    Err(NoValue::NeedsTwoSamples) if is_new => Err(NoValue::NewInstance),
                    value => value,
                },
                (None, Some(Note::Missing(reason))) => Err(reason.clone()),
                (None, _) => Err(NoValue::NotGiven),
            };
            values.push(Value {
                entry,
                counterset: set,
                counter,
                instance: row.name,
                instance_id: row.id,
                raw: now.map(|sample| sample.raw),
                base: now.and_then(|sample| sample.base),
                value,
                mark: match note {
                    Some(Note::Marked(mark)) => Some(*mark),
                    _ => None,
                },
            });
        }
    }
    values
}

/// Name and id of a row.
type RowKey<'a> = (&'a [u8], Option<InstanceId>);

/// Finds rows of the older result: at the same position first, else by name and id.
struct Finder<'a, 'b> {
    rows: &'b [ResultRow<'a>],
    by_key: Option<HashMap<RowKey<'a>, usize>>,
}

impl<'a, 'b> Finder<'a, 'b> {
    fn new(old: &'b EntryRows<'a>) -> Self {
        Self { rows: &old.rows, by_key: None }
    }

    fn find(&mut self, hint: usize, wanted: &ResultRow<'_>) -> Option<(usize, &'b ResultRow<'a>)> {
        let rows = self.rows;
        let same = |row: &&ResultRow<'a>| row.name == wanted.name && row.id == wanted.id;
        if let Some(row) = rows.get(hint).filter(same) {
            return Some((hint, row));
        }
        let by_key = self.by_key.get_or_insert_with(|| {
            rows.iter().enumerate().map(|(at, row)| ((row.name.as_bytes(), row.id), at)).collect()
        });
        let at = *by_key.get(&(wanted.name.as_bytes(), wanted.id))?;
        Some((at, rows.get(at)?))
    }
}
