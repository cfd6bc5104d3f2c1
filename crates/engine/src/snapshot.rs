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

/// The annex of one entry.
#[derive(Debug, Default)]
pub struct EntryAnnex {
    /// Why the whole entry has no value.
    pub(crate) failure: Option<NoValue>,
    /// The birth and the owner of each row.
    pub(crate) rows: Vec<(Birth, Owner)>,
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
        self.rows.get(row).and_then(|(birth, _)| *birth)
    }

    /// Whose a row is.
    #[must_use]
    pub fn owner(&self, row: usize) -> Owner {
        self.rows.get(row).map_or(Owner::System, |(_, owner)| *owner)
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
    /// The instance that it names, as a block would hold it.
    name: Vec<u8>,
}

impl EntryInfo {
    pub(crate) fn new(entry: Entry, counterset: Option<Arc<Counterset>>, counters: Vec<usize>) -> Self {
        let units = entry.instance.as_ref().map(|name| name.units()).unwrap_or_default();
        let name = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        Self { entry, counterset, counters, name }
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
        let older = older.filter(|older| Arc::ptr_eq(&older.entries, &self.entries));
        let (new, old) = (entry_rows(self), older.map(entry_rows));
        (0..self.entries.len()).flat_map(move |entry| {
            entry_values(entry, &self.entries, &new, old.as_deref().unwrap_or_default())
        })
    }
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
            let one = |cells| vec![ResultRow { name, id: None, cells }];
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
            EntryRows { annex: snapshot.annex.entries.get(index), status, rows, clocks }
        })
        .collect()
}

impl EntryRows<'_> {
    fn birth(&self, row: usize) -> Birth {
        self.annex.and_then(|annex| annex.birth(row))
    }
}

/// Where the value is that another one is divided by: which entry, and which of its columns.
type Base = (usize, usize);

/// The base of a counter: in the same entry, else in another one that asks for the same instances.
fn find_base(infos: &[EntryInfo], entry: usize, base: CounterId) -> Option<Base> {
    let same_instances = |other: &EntryInfo| {
        let of = |info: &EntryInfo| (info.entry.counterset, info.entry.instance_id);
        infos.get(entry).is_some_and(|own| of(own) == of(other) && own.entry.instance == other.entry.instance)
    };
    let in_entry = |at: usize| {
        let other = infos.get(at).filter(|other| same_instances(other))?;
        Some((at, other.counters().position(|counter| counter.id == base)?))
    };
    in_entry(entry).or_else(|| (0..infos.len()).find_map(in_entry))
}

fn entry_values<'a>(
    entry: usize,
    infos: &'a [EntryInfo],
    all_new: &[EntryRows<'a>],
    all_old: &[EntryRows<'a>],
) -> Vec<Value<'a>> {
    let (Some(info), Some(new)) = (infos.get(entry), all_new.get(entry)) else { return Vec::new() };
    let old = all_old.get(entry);
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
                value,
                mark: None,
            });
        }
        return values;
    }
    let columns: Vec<_> = info.counters().collect();
    let bases: Vec<_> =
        columns.iter().map(|c| c.base.and_then(|base| find_base(infos, entry, base))).collect();
    let mut finder = old.map(Finder::new);
    for (at, row) in new.rows.iter().enumerate() {
        let older = finder.as_mut().and_then(|finder| finder.find(at, row));
        for (column, counter) in columns.iter().enumerate() {
            let base = bases.get(column).copied().flatten();
            let sample = |all: &[EntryRows<'a>], at: usize, row: &ResultRow<'a>| {
                let rows = all.get(entry)?;
                let base_number = |(entry, column): Base| {
                    let other = all.get(entry)?.rows.get(at)?;
                    let same = other.name == row.name && other.id == row.id;
                    other.cells.number(column).filter(|_| same)
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
                    base: base.and_then(base_number),
                    wraps: counter.wraps,
                    clocks: rows.clocks,
                })
            };
            let note = new.annex.and_then(|annex| annex.note(at, column));
            let now = sample(all_new, at, row);
            let then = older.and_then(|(at, row)| sample(all_old, at, row));
            let value = match (&now, note) {
                (Some(now), _) => match formula::format(then.as_ref(), now) {
                    Err(NoValue::NeedsTwoSamples) if old.is_some() => Err(NoValue::NewInstance),
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
