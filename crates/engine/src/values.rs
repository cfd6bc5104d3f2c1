//! The values of a snapshot: rows of two of them put together, and numbers made of both.

use std::collections::HashMap;
use std::sync::Arc;

use perfset_core::counter_type::Clock;
use perfset_core::formula::Computation;
use perfset_core::sample::{Clocks, Numbers, Plain};
use perfset_core::v2::{self, Block, Body, Values};
use perfset_core::{
    Birth, Counter, CounterId, CounterType, Counterset, FormattedValue, InstanceId, Mark, Name, NoValue,
    RawValue, Status,
};

use crate::rows::Note;
use crate::snapshot::{EntryAnnex, EntryInfo, Snapshot};

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

impl Value<'_> {
    /// The raw value as it was counted: there is none of what a log's writer formatted.
    #[must_use]
    pub fn counted(&self) -> Option<RawValue> {
        self.raw.filter(|_| self.mark != Some(Mark::Formatted))
    }
}

/// Where a value is that another one is computed with: which entry, and which of its columns.
type Place = (usize, usize);

/// How a counter is computed, and with what: wanted or not, and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Related {
    computation: Option<Computation>,
    base: Option<Place>,
    /// Its own clock and that clock's frequency, if it has one: then the block's is not it.
    own_clock: Option<OwnClock>,
    /// Whether the quick way applies: numbers of the same row are all that it takes, and their widths tell nothing.
    is_plain: bool,
}

/// Where the clock of a counter and its frequency are that stand in counters themselves.
#[derive(Clone, Copy, Debug)]
struct OwnClock {
    /// The clock that the counter's type names.
    clock: Clock,
    time: Option<Place>,
    freq: Option<Place>,
}

impl OwnClock {
    /// The clocks of a block with this one in its place. A clock that was not delivered has no frequency: whatever
    /// needs it has no value.
    fn over(&self, clocks: &Clocks, number: impl Fn(Place) -> Option<u64>) -> Clocks {
        let ticks = |place: Option<Place>| ticks(place.and_then(&number));
        clocks.with(self.clock, ticks(self.time), ticks(self.freq))
    }
}

/// A clock's reading, or its ticks a second, that stands in a counter.
pub(crate) fn ticks(number: Option<u64>) -> i64 {
    number.map_or(0, |ticks| i64::try_from(ticks).unwrap_or(i64::MAX))
}

impl Related {
    /// The clocks of a value: its entry's, with the counter's own where it has one.
    fn clocks(
        &self,
        entry_clocks: &Clocks,
        row: &ResultRow<'_>,
        entry: usize,
        all: &All<'_>,
        at: usize,
    ) -> Clocks {
        match &self.own_clock {
            None => *entry_clocks,
            Some(own) => own.over(entry_clocks, |place| row.number(place, entry, all, at).get()),
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
    fn number(&self, column: usize) -> Number {
        let value = match self {
            Self::One(value) => Some(*value).filter(|_| column == 0),
            Self::Several(values) => values.get(column),
        };
        match value.and_then(v2::Value::number) {
            Some(RawValue::U64(value)) => Number { width: 8, value },
            Some(RawValue::U32(value)) => Number { width: 4, value: value.into() },
            None => Number { width: 0, value: 0 },
        }
    }
}

/// An `Option<RawValue>` that fits into two registers: there are many of them.
#[derive(Clone, Copy)]
struct Number {
    /// 8 or 4 bytes; 0 = there is none.
    width: u32,
    value: u64,
}

impl Number {
    #[inline]
    fn raw(self) -> Option<RawValue> {
        match self.width {
            8 => Some(RawValue::U64(self.value)),
            4 => Some(RawValue::U32(u32::try_from(self.value & 0xFFFF_FFFF).unwrap_or(u32::MAX))),
            _ => None,
        }
    }

    #[inline]
    fn get(self) -> Option<u64> {
        (self.width != 0).then_some(self.value)
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
            let id = annex.and_then(EntryAnnex::instance_id);
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
            let clocks = annex.and_then(|annex| annex.clocks).unwrap_or(clocks);
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
pub(crate) fn related(infos: &[EntryInfo], entry: usize, peers: &[usize]) -> Vec<Related> {
    let Some(own) = infos.get(entry) else { return Vec::new() };
    let in_entry = |at: usize, id: CounterId| {
        Some((at, infos.get(at)?.counters().position(|counter| counter.id == id)?))
    };
    let find = |id| in_entry(entry, id).or_else(|| peers.iter().find_map(|at| in_entry(*at, id)));
    let set = own.counterset.as_deref();
    let of_counter = |counter: &Counter| {
        let base_wraps = counter.divisor().and_then(|base| set?.counter(base)).is_some_and(|base| base.wraps);
        let computation = Computation::of(counter.counter_type);
        let base = counter.divisor().and_then(find);
        let has_clock = counter.perf_time.is_some() || counter.perf_freq.is_some();
        Related {
            computation: computation.map(|computation| computation.wrapping(counter.wraps, base_wraps)),
            base,
            own_clock: has_clock.then(|| OwnClock {
                clock: counter.counter_type.decode().clock,
                time: counter.perf_time.and_then(find),
                freq: counter.perf_freq.and_then(find),
            }),
            is_plain: counter.counter_type != CounterType::PERF_DOUBLE_RAW
                && !counter.wraps
                && !base_wraps
                && !has_clock
                && base.is_none_or(|(of, _)| of == entry),
        }
    };
    own.counters().map(of_counter).collect()
}

/// The rows of all entries of a snapshot.
type All<'a> = [Option<EntryRows<'a>>];

fn rows_of<'a, 'b>(all: &'b All<'a>, entry: usize) -> Option<&'b EntryRows<'a>> {
    all.get(entry)?.as_ref()
}

/// Every value of a snapshot, made when it is asked for: all of them together are far larger than the block.
pub(crate) struct AllValues<'a> {
    infos: &'a [EntryInfo],
    new: Vec<Option<EntryRows<'a>>>,
    /// In the order of `infos`; empty without an older snapshot.
    old: Vec<Option<EntryRows<'a>>>,
    /// The next entry to begin.
    entry: usize,
    current: Option<Current<'a>>,
}

/// Where [`AllValues`] is: an entry, a row of it and the one of the older result that is the same thing.
struct Current<'a> {
    entry: usize,
    info: &'a EntryInfo,
    set: &'a Counterset,
    clocks: Clocks,
    old_clocks: Clocks,
    /// Those of this row and column and all that follow.
    notes: &'a [((usize, usize), Note)],
    finder: Finder<'a>,
    at: usize,
    /// What is special about the values of this row that have no note.
    mark: Option<Mark>,
    /// `None`: the entry failed.
    row: Option<ResultRow<'a>>,
    older: Option<Older<'a>>,
    /// Whether there is an older result with rows.
    has_older: bool,
    column: usize,
}

/// The row of an older result that has name and id of a newer one.
#[derive(Clone, Copy)]
struct Older<'a> {
    at: usize,
    row: ResultRow<'a>,
    /// Whether both were born at the same time, and so are the same thing.
    is_same: bool,
}

/// What the usual case gives.
#[derive(Clone, Copy)]
enum Quick {
    Number(f64),
    NotDisplayable,
    NeedsTwoSamples,
    NewInstance,
    /// It takes more to say.
    Unusual,
}

impl<'a> Iterator for AllValues<'a> {
    type Item = Value<'a>;

    #[inline(never)]
    fn next(&mut self) -> Option<Value<'a>> {
        loop {
            if let Some(current) = &mut self.current {
                let column = current.column;
                if let (Some(related), Some(counter)) =
                    (current.info.related.get(column), current.info.counter(current.set, column))
                {
                    current.column = column.saturating_add(1);
                    return current.value(column, related, counter, &self.new, &self.old);
                }
            }
            self.next_row()?;
        }
    }

    /// Hands over each value where it is made: it is large, and copied less so.
    fn fold<B, F: FnMut(B, Value<'a>) -> B>(mut self, init: B, mut f: F) -> B {
        let mut all = init;
        loop {
            if let Some(current) = &mut self.current {
                let (info, set) = (current.info, current.set);
                for (column, related) in info.related.iter().enumerate().skip(current.column) {
                    let Some(counter) = info.counter(set, column) else { break };
                    if let Some(value) = current.value(column, related, counter, &self.new, &self.old) {
                        all = f(all, value);
                    }
                }
            }
            if self.next_row().is_none() {
                return all;
            }
        }
    }
}

impl<'a> AllValues<'a> {
    pub(crate) fn new(new: &'a Snapshot, older: Option<&'a Snapshot>) -> Self {
        let infos = new.entries();
        let old = older.map(|older| aligned(new, older)).unwrap_or_default();
        let new = entry_rows(new).into_iter().map(Some).collect();
        Self { infos, new, old, entry: 0, current: None }
    }

    /// Goes on to the next row or entry.
    fn next_row(&mut self) -> Option<()> {
        if let Some(current) = &mut self.current {
            let at = current.at.saturating_add(1);
            if current.row.is_some() && current.begin_row(at, &self.new, &self.old) {
                return Some(());
            }
        }
        let entry = self.entry;
        self.entry = entry.saturating_add(1);
        self.current = Current::begin(entry, self.infos.get(entry)?, &self.new, &self.old);
        Some(())
    }
}

impl<'a> Current<'a> {
    fn begin(entry: usize, info: &'a EntryInfo, new: &All<'a>, old: &All<'a>) -> Option<Self> {
        let (rows, old_rows) = (rows_of(new, entry)?, rows_of(old, entry));
        let mut current = Self {
            entry,
            info,
            set: info.counterset.as_deref()?,
            clocks: rows.clocks,
            old_clocks: old_rows.map_or(rows.clocks, |old| old.clocks),
            notes: rows.annex.map(|annex| &*annex.notes).unwrap_or_default(),
            finder: Finder::default(),
            at: 0,
            mark: None,
            row: None,
            older: None,
            has_older: old_rows.is_some_and(|old| !old.rows.is_empty()),
            column: 0,
        };
        current.begin_row(0, new, old);
        Some(current)
    }

    /// Whether there is such a row.
    fn begin_row(&mut self, at: usize, new: &All<'a>, old: &All<'a>) -> bool {
        let Some(rows) = rows_of(new, self.entry) else { return false };
        let Some(row) = rows.rows.get(at).copied() else { return false };
        (self.at, self.column, self.row) = (at, 0, Some(row));
        self.mark = rows.annex.and_then(|annex| annex.row_mark(at));
        self.older = rows_of(old, self.entry).and_then(|old| {
            let at_old = self.finder.find(&old.rows, &row)?;
            let row = *old.rows.get(at_old)?;
            Some(Older { at: at_old, row, is_same: old.birth(at_old) == rows.birth(at) })
        });
        true
    }

    #[inline]
    fn value(
        &mut self,
        column: usize,
        related: &Related,
        counter: &'a Counter,
        new: &All<'a>,
        old: &All<'a>,
    ) -> Option<Value<'a>> {
        let note = self.note(column);
        let Some(row) = &self.row else { return Some(self.failure(counter, new)) };
        let raw = row.cells.number(column);
        let base = match related.base {
            Some(place) if raw.width > 0 => row.number(place, self.entry, new, self.at),
            _ => Number { width: 0, value: 0 },
        };
        let mark = match note {
            Some(Note::Marked(mark)) => Some(*mark),
            _ => self.mark.filter(|_| raw.width > 0),
        };
        // Written in one place and with the value last: it is large, and this is done for each of many.
        let with = |value| {
            Some(Value {
                entry: self.entry,
                counterset: self.set,
                counter,
                instance: row.name,
                instance_id: row.id,
                raw: raw.raw(),
                base: base.raw(),
                value,
                mark,
            })
        };
        match self.quick(column, related, raw, base) {
            Quick::Number(raw) => with(Ok(FormattedValue { raw, counter_type: counter.counter_type })),
            Quick::NotDisplayable => with(Err(NoValue::NotDisplayable)),
            Quick::NeedsTwoSamples => with(Err(NoValue::NeedsTwoSamples)),
            Quick::NewInstance => with(Err(NoValue::NewInstance)),
            Quick::Unusual => with(self.slow(column, related, note, row, new, old)),
        }
    }

    /// The note of that column of the row.
    #[inline]
    fn note(&mut self, column: usize) -> Option<&'a Note> {
        while let [((row, at), note), rest @ ..] = self.notes {
            if (*row, *at) > (self.at, column) {
                break;
            }
            self.notes = rest;
            if (*row, *at) == (self.at, column) {
                return Some(note);
            }
        }
        None
    }

    /// The value of the usual case, and the usual reasons for none: the same as [`slow`](Self::slow) says.
    #[inline]
    fn quick(&self, column: usize, related: &Related, raw: Number, base: Number) -> Quick {
        let number = |value: Option<f64>| value.map_or(Quick::Unusual, Quick::Number);
        let (true, Some(raw)) = (related.is_plain, raw.get()) else { return Quick::Unusual };
        let Some(computation) = &related.computation else { return Quick::NotDisplayable };
        let now = Plain { raw, base: base.get(), clocks: &self.clocks };
        if !computation.needs_two_samples() {
            return number(computation.usual(None, &now));
        }
        match &self.older {
            Some(older) if older.is_same && self.clocks.perf_time >= self.old_clocks.perf_time => {
                let cells = &older.row.cells;
                let Some(raw) = cells.number(column).get() else { return Quick::Unusual };
                let base = related.base.and_then(|(_, column)| cells.number(column).get());
                let then = Plain { raw, base, clocks: &self.old_clocks };
                number(computation.usual(Some(&then), &now))
            }
            None if self.has_older => Quick::NewInstance,
            None => Quick::NeedsTwoSamples,
            Some(_) => Quick::Unusual,
        }
    }

    /// The value of every case.
    #[cold]
    fn slow(
        &self,
        column: usize,
        related: &Related,
        note: Option<&Note>,
        row: &ResultRow<'a>,
        new: &All<'a>,
        old: &All<'a>,
    ) -> Result<FormattedValue, NoValue> {
        let Some(raw) = row.cells.number(column).raw() else {
            let of_column = || rows_of(new, self.entry)?.annex?.column_reason(column);
            let reason = match note {
                Some(Note::Missing(reason)) => Some(reason),
                _ => of_column(),
            };
            return Err(reason.cloned().unwrap_or(NoValue::NotGiven));
        };
        let base = |all: &All<'a>, at: usize, row: &ResultRow<'a>| {
            related.base.and_then(|place| row.number(place, self.entry, all, at).raw())
        };
        let computation = related.computation.as_ref().ok_or(NoValue::NotDisplayable)?;
        let now_clocks = related.clocks(&self.clocks, row, self.entry, new, self.at);
        let now = Numbers { raw, base: base(new, self.at, row), clocks: &now_clocks };
        let Some(Older { at, row, is_same }) = &self.older else {
            let reason = if self.has_older { NoValue::NewInstance } else { NoValue::NeedsTwoSamples };
            return match computation.needs_two_samples() {
                true => Err(reason),
                false => computation.value(None, &now),
            };
        };
        let then_clocks = related.clocks(&self.old_clocks, row, self.entry, old, *at);
        let then = match (row.cells.number(column).raw(), is_same) {
            _ if !computation.needs_two_samples() => None,
            (None, _) => None,
            (Some(_), false) => return Err(NoValue::Replaced),
            (Some(raw), true) => Some(Numbers { raw, base: base(old, *at, row), clocks: &then_clocks }),
        };
        computation.value(then.as_ref(), &now)
    }

    /// A value of an entry without rows: the reason.
    #[cold]
    fn failure(&self, counter: &'a Counter, new: &All<'a>) -> Value<'a> {
        let rows = rows_of(new, self.entry);
        let reason = rows.and_then(|rows| rows.annex).and_then(EntryAnnex::failure).cloned();
        let status = rows.map_or(Status::ERROR_INVALID_DATA, |rows| rows.status);
        Value {
            entry: self.entry,
            counterset: self.set,
            counter,
            instance: self.info.instance(),
            instance_id: None,
            raw: None,
            base: None,
            value: Err(reason.unwrap_or(NoValue::Status(status))),
            mark: None,
        }
    }
}

impl<'a> ResultRow<'a> {
    fn is_same(&self, other: &ResultRow<'_>) -> bool {
        self.id == other.id && self.name == other.name
    }

    /// What is in a place of the same row, which is in `entry`.
    #[inline]
    fn number(&self, (place, column): Place, entry: usize, all: &All<'a>, at: usize) -> Number {
        if place == entry {
            return self.cells.number(column);
        }
        let other = rows_of(all, place).and_then(|rows| rows.rows.get(at));
        let same = other.filter(|other| other.is_same(self));
        same.map_or(Number { width: 0, value: 0 }, |other| other.cells.number(column))
    }
}

/// Two snapshots, to look up what values that were made of them do not carry: clocks, and whether they are new.
pub(crate) struct Origins<'a> {
    infos: &'a [EntryInfo],
    new: Vec<Option<EntryRows<'a>>>,
    old: Vec<Option<EntryRows<'a>>>,
    /// Of the entry that was asked last the older row of each row.
    older: Option<(usize, Vec<Option<usize>>)>,
    /// The column that was asked last: many values of one column are asked one after the other.
    column: Option<(usize, CounterId, usize)>,
}

impl<'a> Origins<'a> {
    pub(crate) fn new(new: &'a Snapshot, older: Option<&'a Snapshot>) -> Self {
        let AllValues { infos, new, old, .. } = AllValues::new(new, older);
        Self { infos, new, old, older: None, column: None }
    }

    /// The clocks of a value in a row of its entry.
    pub(crate) fn clocks(&mut self, value: &Value<'_>, row: usize) -> Option<Clocks> {
        let column = self.column(value)?;
        let related = self.infos.get(value.entry)?.related.get(column)?;
        let rows = rows_of(&self.new, value.entry)?;
        Some(related.clocks(&rows.clocks, rows.rows.get(row)?, value.entry, &self.new, row))
    }

    /// Whether a value in a row of its entry is not the one that the same thing had in the older snapshot.
    pub(crate) fn is_new(&mut self, value: &Value<'_>, row: usize) -> bool {
        self.has_same_numbers(value, row) != Some(true)
    }

    fn has_same_numbers(&mut self, value: &Value<'_>, row: usize) -> Option<bool> {
        let column = self.column(value)?;
        let related = self.infos.get(value.entry)?.related.get(column)?;
        let older = *self.older_rows(value.entry)?.get(row)?;
        let older = older?;
        let old = rows_of(&self.old, value.entry)?.rows.get(older)?;
        let base = related.base.map(|place| old.number(place, value.entry, &self.old, older));
        let same_base = base.is_none_or(|base| base.raw() == value.base);
        Some(same_base && old.cells.number(column).raw() == value.raw)
    }

    /// The rows of the older snapshot that are the same things as those of an entry.
    fn older_rows(&mut self, entry: usize) -> Option<&[Option<usize>]> {
        if self.older.as_ref().is_none_or(|(of, _)| *of != entry) {
            let (new, old) = (rows_of(&self.new, entry)?, rows_of(&self.old, entry)?);
            let mut finder = Finder::default();
            let same = |(at, row): (usize, &ResultRow<'a>)| {
                finder.find(&old.rows, row).filter(|older| old.birth(*older) == new.birth(at))
            };
            let rows = new.rows.iter().enumerate().map(same).collect();
            self.older = Some((entry, rows));
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

/// Name and id of a row.
type RowKey<'a> = (&'a [u8], Option<InstanceId>);

/// Finds rows of an older result: close behind the last one first, else by name and id.
#[derive(Default)]
struct Finder<'a> {
    /// Where the next row is if the order is the same.
    next: usize,
    by_key: Option<HashMap<RowKey<'a>, usize>>,
}

impl<'a> Finder<'a> {
    fn find(&mut self, rows: &[ResultRow<'a>], wanted: &ResultRow<'_>) -> Option<usize> {
        /// So many rows that follow one another may be gone before the others are found more slowly.
        const NEAR: usize = 8;
        let near = rows.get(self.next..).unwrap_or_default().iter().take(NEAR);
        let at = match near.zip(self.next..).find(|(row, _)| row.is_same(wanted)) {
            Some((_, at)) => at,
            None => {
                let by_key = self.by_key.get_or_insert_with(|| {
                    rows.iter().enumerate().map(|(at, row)| ((row.name.as_bytes(), row.id), at)).collect()
                });
                *by_key.get(&(wanted.name.as_bytes(), wanted.id))?
            }
        };
        self.next = at.saturating_add(1);
        Some(at)
    }
}
