//! What one collection returned: the block, and what a block has no place for.

use std::collections::HashMap;
use std::sync::Arc;

use perfset_core::clock::ClockReading;
use perfset_core::formula::Computation;
use perfset_core::sample::{Clocks, Numbers};
use perfset_core::v2::{self, Block, Body, Values};
use perfset_core::{
    Birth, Counter, CounterId, Counterset, FormattedValue, InstanceId, Mark, Name, NoValue, Owner, RawValue,
    Status,
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
    /// For each of its counters, how and with what it is computed.
    related: Vec<Related>,
    /// The instance that it names, as a block would hold it.
    name: Vec<u8>,
}

/// Where a value is that another one is computed with: which entry, and which of its columns.
type Place = (usize, usize);

/// How a counter is computed, and with what: wanted or not, and where it is.
#[derive(Clone, Copy, Debug, Default)]
struct Related {
    computation: Option<Computation>,
    base: Option<Place>,
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
        Formatted {
            infos: &self.entries,
            new: entry_rows(self).into_iter().map(Some).collect(),
            old: older.map(|older| aligned(self, older)).unwrap_or_default(),
            at: At::default(),
            older: Err(NoValue::NeedsTwoSamples),
            by_key: None,
        }
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
    #[inline]
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
    let of_counter = |counter: &Counter| {
        let base_wraps = counter.divisor().and_then(|base| set?.counter(base)).is_some_and(|base| base.wraps);
        let computation = Computation::of(counter.counter_type);
        Related {
            computation: computation.map(|computation| computation.wrapping(counter.wraps, base_wraps)),
            base: counter.divisor().and_then(find),
            object_clock: (counter.perf_time.is_some() || counter.perf_freq.is_some())
                .then(|| (counter.perf_time.and_then(find), counter.perf_freq.and_then(find))),
        }
    };
    own.counters().map(of_counter).collect()
}

/// Formats the values of a snapshot, one after the other: nothing is kept of what has been delivered.
struct Formatted<'a> {
    infos: &'a [EntryInfo],
    new: Vec<Option<EntryRows<'a>>>,
    old: Vec<Option<EntryRows<'a>>>,
    /// Of the next value.
    at: At,
    /// The older row of the thing of the current one, or why there is none.
    older: Result<usize, NoValue>,
    /// The older rows of the entry, once one of them is not where it was.
    by_key: Option<HashMap<RowKey<'a>, usize>>,
}

/// Where a value is.
#[derive(Clone, Copy, Debug, Default)]
struct At {
    entry: usize,
    row: usize,
    column: usize,
}

/// Name and id of a row.
type RowKey<'a> = (&'a [u8], Option<InstanceId>);

impl<'a> Iterator for Formatted<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        loop {
            let At { entry, row, column } = self.at;
            let info = self.infos.get(entry)?;
            let rows = self.new.get(entry).and_then(Option::as_ref).map_or(0, |new| new.rows.len());
            let counter = info.counterset.as_deref().and_then(|set| {
                let counter = set.counters.get(*info.counters.get(column)?)?;
                Some((set, counter))
            });
            // An entry that failed has a value for each of its counters, as if it had one row.
            match counter {
                _ if row >= rows.max(1) => {
                    self.at = At { entry: entry.saturating_add(1), ..At::default() };
                    self.by_key = None;
                }
                None => self.at = At { entry, row: row.saturating_add(1), column: 0 },
                Some((set, counter)) => {
                    self.at.column = column.saturating_add(1);
                    if rows == 0 {
                        return Some(self.failed(entry, set, counter));
                    }
                    if column == 0 {
                        self.older = self.find_older(entry, row);
                    }
                    return self.value(At { entry, row, column }, set, counter);
                }
            }
        }
    }
}

impl<'a> Formatted<'a> {
    fn failed(&self, entry: usize, counterset: &'a Counterset, counter: &'a Counter) -> Value<'a> {
        let new = self.new.get(entry).and_then(Option::as_ref);
        let reason = new.and_then(|new| new.annex).and_then(EntryAnnex::failure).cloned();
        let status = new.map_or(Status::ERROR_INVALID_DATA, |new| new.status);
        Value {
            entry,
            counterset,
            counter,
            instance: self.infos.get(entry).map(EntryInfo::instance).unwrap_or_default(),
            instance_id: None,
            raw: None,
            base: None,
            value: Err(reason.unwrap_or(NoValue::Status(status))),
            mark: None,
        }
    }

    /// The row of the older sample that is of the same thing: at the same position first, else by name and id.
    fn find_older(&mut self, entry: usize, row: usize) -> Result<usize, NoValue> {
        let (Some(new), Some(old)) =
            (self.new.get(entry).and_then(Option::as_ref), self.old.get(entry).and_then(Option::as_ref))
        else {
            return Err(NoValue::NeedsTwoSamples);
        };
        let wanted = new.rows.get(row).ok_or(NoValue::NeedsTwoSamples)?;
        let is_same = |old: &ResultRow<'a>| old.name == wanted.name && old.id == wanted.id;
        let found = if old.rows.get(row).is_some_and(is_same) {
            row
        } else {
            let by_key = self.by_key.get_or_insert_with(|| {
                let keys = old.rows.iter().enumerate();
                keys.map(|(at, row)| ((row.name.as_bytes(), row.id), at)).collect()
            });
            match by_key.get(&(wanted.name.as_bytes(), wanted.id)) {
                Some(found) => *found,
                None if old.rows.is_empty() => return Err(NoValue::NeedsTwoSamples),
                None => return Err(NoValue::NewInstance),
            }
        };
        if old.birth(found) == new.birth(row) { Ok(found) } else { Err(NoValue::Replaced) }
    }

    #[inline]
    fn value(&self, at: At, counterset: &'a Counterset, counter: &'a Counter) -> Option<Value<'a>> {
        let related = self.infos.get(at.entry)?.related.get(at.column)?;
        let new = self.new.get(at.entry)?.as_ref()?;
        let row = new.rows.get(at.row)?;
        let note = new.annex.and_then(|annex| annex.note(at.row, at.column));
        let raw = row.cells.number(at.column);
        let base = related.base.and_then(|place| number(&self.new, at, place));
        let value = match (raw, note) {
            (Some(raw), _) => self.formatted(at, related, raw, base),
            (None, Some(Note::Missing(reason))) => Err(reason.clone()),
            (None, _) => Err(NoValue::NotGiven),
        };
        Some(Value {
            entry: at.entry,
            counterset,
            counter,
            instance: row.name,
            instance_id: row.id,
            raw,
            base: base.filter(|_| raw.is_some()),
            value,
            mark: match note {
                Some(Note::Marked(mark)) => Some(*mark),
                _ => None,
            },
        })
    }

    #[inline]
    fn formatted(
        &self,
        at: At,
        related: &Related,
        raw: RawValue,
        base: Option<RawValue>,
    ) -> Result<FormattedValue, NoValue> {
        let computation = related.computation.as_ref().ok_or(NoValue::NotDisplayable)?;
        let own = clocks(&self.new, at, related);
        let clocks_now = own.as_ref().or(shared_clocks(&self.new, at)).ok_or(NoValue::NotGiven)?;
        let now = Numbers { raw, base, clocks: clocks_now };
        if !computation.needs_two_samples() {
            return computation.value(None, &now);
        }
        let row = match &self.older {
            Ok(row) => *row,
            Err(reason) => return Err(reason.clone()),
        };
        let at = At { row, ..at };
        let old = self.old.get(at.entry).and_then(Option::as_ref).and_then(|old| old.rows.get(row));
        let raw = old.and_then(|old| old.cells.number(at.column)).ok_or(NoValue::NeedsTwoSamples)?;
        let base = related.base.and_then(|place| number(&self.old, at, place));
        let own = clocks(&self.old, at, related);
        let clocks = own.as_ref().or(shared_clocks(&self.old, at)).ok_or(NoValue::NotGiven)?;
        computation.value(Some(&Numbers { raw, base, clocks }), &now)
    }
}

/// A number that belongs to the value there: of the same row, else of the same instance in another entry.
#[inline]
fn number(all: &[Option<EntryRows<'_>>], at: At, (entry, column): Place) -> Option<RawValue> {
    let row = all.get(at.entry)?.as_ref()?.rows.get(at.row)?;
    if entry == at.entry {
        return row.cells.number(column);
    }
    let other = all.get(entry)?.as_ref()?.rows.get(at.row)?;
    other.cells.number(column).filter(|_| other.name == row.name && other.id == row.id)
}

/// The clocks of all values of an entry.
#[inline]
fn shared_clocks<'b>(all: &'b [Option<EntryRows<'_>>], at: At) -> Option<&'b Clocks> {
    all.get(at.entry)?.as_ref().map(|rows| &rows.clocks)
}

/// The clocks of a value whose counterset has clocks of its own among its counters.
#[inline]
fn clocks(all: &[Option<EntryRows<'_>>], at: At, related: &Related) -> Option<Clocks> {
    let (time, freq) = related.object_clock?;
    let ticks =
        |place: Option<Place>| Some(i64::try_from(number(all, at, place?)?.get()).unwrap_or(i64::MAX));
    // A clock that was not delivered has no frequency: whatever needs it has no value.
    let (object_time, object_freq) = (ticks(time).unwrap_or(0), ticks(freq).unwrap_or(0));
    Some(Clocks { object_time, object_freq, ..*shared_clocks(all, at)? })
}
