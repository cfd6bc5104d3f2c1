//! Values of a snapshot: rows of two snapshots are paired, and values computed from both.

use std::sync::Arc;

use perfset_core::catalogue::adds_up;
use perfset_core::counter_type::Clock;
use perfset_core::formula::Computation;
use perfset_core::sample::{Clocks, PlainSampleValues, SampleValues};
use perfset_core::v2::{self, Block, Body, Values};
use perfset_core::{
    Birth, Counter, CounterId, CounterType, Counterset, FormattedValue, InstanceId, Mark, Name, NoValue,
    Owner, RawValue, Status,
};

use crate::aggregate::names_sum;
use crate::rows::CellState;
use crate::snapshot::{EntryMetadata, ResolvedEntry, Snapshot};
use crate::total::stronger;
use finder::Finder;

mod finder;
mod origins;

pub(crate) use origins::SampleLookup;

/// Value of one counter of one instance, formatted for users.
#[derive(Clone, Debug)]
pub struct Value<'a> {
    /// Position of the entry in the query.
    pub entry: usize,
    /// Counterset of the counter.
    pub counterset: &'a Counterset,
    /// Counter that was collected.
    pub counter: &'a Counter,
    /// Name of the instance; for a failed entry the name that it requested.
    pub instance: Name<'a>,
    /// Id of the instance, if the result contains it.
    pub instance_id: Option<InstanceId>,
    /// Raw value, if it was delivered.
    pub raw: Option<RawValue>,
    /// Raw value of the counter's base, if it has one and it was delivered.
    pub base: Option<RawValue>,
    /// Formatted value, or the reason for none.
    pub value: Result<FormattedValue, NoValue>,
    /// Mark of the value, if any.
    pub mark: Option<Mark>,
}

impl Value<'_> {
    /// Returns the raw value as counted: `None` if the writer of a log formatted it.
    #[must_use]
    pub fn counted(&self) -> Option<RawValue> {
        self.raw.filter(|_| self.mark != Some(Mark::Formatted))
    }
}

/// Location of an input of a formula: index of its entry, and of the column there.
type CellIndex = (usize, usize);

/// Formula of a counter and the locations of its inputs, requested or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormulaInputs {
    computation: Option<Computation>,
    base: Option<CellIndex>,
    /// Clock of the counter itself and that clock's frequency, if it has one. It replaces the block's.
    own_clock: Option<OwnClock>,
    /// `true` if the fast path applies: all inputs are numbers of the same row, and their widths do not matter.
    is_plain: bool,
}

/// Locations of a counter's own clock and its frequency, which are counters themselves.
#[derive(Clone, Copy, Debug)]
struct OwnClock {
    /// Clock that the counter's type names.
    clock: Clock,
    time: Option<CellIndex>,
    freq: Option<CellIndex>,
}

impl OwnClock {
    /// Replaces the named clock in the block's clocks. A clock that was not delivered has no frequency: a formula
    /// that needs it has no value.
    fn over(&self, clocks: &Clocks, number: impl Fn(CellIndex) -> Option<u64>) -> Clocks {
        let ticks = |place: Option<CellIndex>| ticks(place.and_then(&number));
        clocks.with(self.clock, ticks(self.time), ticks(self.freq))
    }
}

/// Converts a counter's value to a clock reading or to ticks per second; 0 if there is none.
pub(crate) fn ticks(number: Option<u64>) -> i64 {
    number.map_or(0, |ticks| i64::try_from(ticks).unwrap_or(i64::MAX))
}

impl FormulaInputs {
    /// Returns the clocks of a value: its entry's, with the counter's own if it has one.
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

/// Returns the rows of an older snapshot in the order of a newer one's entries, which others may have joined or left.
fn aligned<'a>(new: &Snapshot, old: &'a Snapshot) -> Vec<Option<EntryRows<'a>>> {
    let mut rows: Vec<_> = entry_rows(old).into_iter().map(Some).collect();
    if Arc::ptr_eq(&old.entries, &new.entries) {
        return rows;
    }
    let mut take = |info: &ResolvedEntry| {
        let at = old.entries.iter().position(|other| other.means_as(info))?;
        rows.get_mut(at)?.take()
    };
    new.entries.iter().map(&mut take).collect()
}

/// Rows of one result.
struct EntryRows<'a> {
    annex: Option<&'a EntryMetadata>,
    status: Status,
    rows: Vec<ResultRow<'a>>,
    clocks: Clocks,
}

/// Row of a result. Results for one instance contain neither name nor id: the entry has the name.
#[derive(Clone, Copy)]
struct ResultRow<'a> {
    name: Name<'a>,
    id: Option<InstanceId>,
    cells: ResultCells<'a>,
}

impl<'a> From<v2::Instance<'a>> for ResultRow<'a> {
    fn from(row: v2::Instance<'a>) -> Self {
        Self { name: row.name(), id: Some(row.id()), cells: ResultCells::Several(row.values()) }
    }
}

#[derive(Clone, Copy)]
enum ResultCells<'a> {
    One(v2::BlockValue<'a>),
    Several(Values<'a>),
}

impl ResultCells<'_> {
    #[inline]
    fn number(&self, column: usize) -> PackedRaw {
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

/// Compact `Option<RawValue>` that fits into two registers, because there are many of them.
#[derive(Clone, Copy)]
struct PackedRaw {
    /// Width of 8 or 4 bytes; 0 = no value.
    width: u32,
    value: u64,
}

impl PackedRaw {
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

/// Returns the rows of each result of a snapshot's block.
fn entry_rows(snapshot: &Snapshot) -> Vec<EntryRows<'_>> {
    let clocks = Clocks::from(&snapshot.clocks);
    let results = Block::parse(&snapshot.block).map(|block| block.results());
    let mut results = results.into_iter().flatten();
    let infos = snapshot.entries.iter().enumerate();
    infos
        .map(|(index, info)| {
            let annex = snapshot.annex.entries.get(index);
            let name = annex.and_then(EntryMetadata::instance).unwrap_or_else(|| info.instance());
            // Results for one instance contain no id. With the id of the metadata, an instance that took over
            // the name is not compared with the one before.
            let id = annex.and_then(EntryMetadata::instance_id);
            let one = |cells| vec![ResultRow { name, id, cells }];
            let (status, body) = match results.next() {
                Some(Ok(result)) => (result.status, result.body),
                _ => (Status::ERROR_INVALID_DATA, Body::Error),
            };
            let rows = match body {
                Body::SingleCounter(value) => one(ResultCells::One(value)),
                Body::MultipleCounters(_, values) => one(ResultCells::Several(values)),
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

/// Returns `true` if both snapshots have the same rows; see [`Snapshot::has_rows_of`].
pub(crate) fn have_same_rows(a: &Snapshot, b: &Snapshot) -> bool {
    let same = |(a, b): (&EntryRows<'_>, &EntryRows<'_>)| a.has_rows_of(b);
    Arc::ptr_eq(&a.entries, &b.entries) && entry_rows(a).iter().zip(&entry_rows(b)).all(same)
}

impl EntryRows<'_> {
    fn has_rows_of(&self, other: &Self) -> bool {
        let mut pairs = self.rows.iter().zip(&other.rows).enumerate();
        self.rows.len() == other.rows.len()
            && pairs.all(|(at, (row, of_other))| {
                row.is_same(of_other)
                    && (self.birth(at), self.owner(at)) == (other.birth(at), other.owner(at))
            })
    }

    fn birth(&self, row: usize) -> Birth {
        self.annex.and_then(|annex| annex.birth(row))
    }

    fn owner(&self, row: usize) -> Owner {
        self.annex.map_or(Owner::System, |annex| annex.owner(row))
    }

    fn has_totals(&self) -> bool {
        self.annex.is_some_and(EntryMetadata::has_totals)
    }
}

/// Returns the formula inputs of an entry's counters: from the same entry, else from another one with the same
/// instance selection.
pub(crate) fn related(infos: &[ResolvedEntry], entry: usize, peers: &[usize]) -> Vec<FormulaInputs> {
    let Some(own) = infos.get(entry) else { return Vec::new() };
    let in_entry = |at: usize, id: CounterId| {
        Some((at, infos.get(at)?.counters().position(|counter| counter.id == id)?))
    };
    let find = |id| in_entry(entry, id).or_else(|| peers.iter().find_map(|at| in_entry(*at, id)));
    let set = own.counterset.as_deref();
    let of_counter = |counter: &Counter| {
        let base_wraps = set.is_some_and(|set| set.base_wraps(counter));
        let computation = Computation::for_type(counter.counter_type);
        let base = counter.divisor().and_then(find);
        let has_clock = counter.perf_time.is_some() || counter.perf_freq.is_some();
        FormulaInputs {
            computation: computation.map(|computation| computation.wrapping(counter.wraps, base_wraps)),
            base,
            own_clock: has_clock.then(|| OwnClock {
                clock: counter.counter_type.decode().clock,
                time: counter.perf_time.and_then(find),
                freq: counter.perf_freq.and_then(find),
            }),
            // The width decides if a value wraps, and if a double is whole: 4 bytes are half of one.
            is_plain: counter.counter_type != CounterType::PERF_DOUBLE_RAW
                && !counter.wraps
                && !base_wraps
                && !has_clock
                && base.is_none_or(|(of, _)| of == entry),
        }
    };
    let mut all: Vec<FormulaInputs> = own.counters().map(of_counter).collect();
    all.shrink_to_fit(); // most entries have few counters
    all
}

/// Rows of all entries of a snapshot.
type All<'a> = [Option<EntryRows<'a>>];

fn rows_of<'a, 'b>(all: &'b All<'a>, entry: usize) -> Option<&'b EntryRows<'a>> {
    all.get(entry)?.as_ref()
}

/// Iterator over every value of a snapshot, computed on demand: all of them together are far larger than the block.
pub(crate) struct SnapshotValues<'a> {
    infos: &'a [ResolvedEntry],
    new: Vec<Option<EntryRows<'a>>>,
    /// Older rows in the order of `infos`; empty without an older snapshot.
    old: Vec<Option<EntryRows<'a>>>,
    /// Index of the next entry to begin.
    entry: usize,
    current: Option<Current<'a>>,
}

/// Position of [`SnapshotValues`]: an entry, a row of it, and the older row of the same instance.
struct Current<'a> {
    entry: usize,
    info: &'a ResolvedEntry,
    set: &'a Counterset,
    clocks: Clocks,
    old_clocks: Clocks,
    /// Notes of this row and column and of all that follow.
    notes: &'a [((usize, usize), CellState)],
    finder: Finder<'a>,
    row_index: usize,
    /// Mark of this row's values that have no note.
    mark: Option<Mark>,
    /// Current row; `None` if the entry failed.
    row: Option<ResultRow<'a>>,
    older: Option<Older<'a>>,
    /// `true` if there is an older result with rows.
    has_older: bool,
    /// `true` if any value of the newer result is a total, and the same for the older one.
    with_totals: (bool, bool),
    /// `true` if values of this row are totals in either result: they might have births of their own, or lack
    /// instances.
    has_totals: bool,
    column: usize,
}

/// Row of an older result that has name and id of a newer one.
#[derive(Clone, Copy)]
struct Older<'a> {
    row_index: usize,
    row: ResultRow<'a>,
    /// `true` if both have the same birth, and so are the same instance.
    is_same: bool,
}

/// Result of the fast path.
#[derive(Clone, Copy)]
enum FastResult {
    Number(f64),
    NotDisplayable,
    NeedsTwoSamples,
    NewInstance,
    /// The fast path does not apply.
    Unusual,
}

impl<'a> Iterator for SnapshotValues<'a> {
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

    /// Passes on each value where it is computed: it is large, and this copies it less.
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

impl<'a> SnapshotValues<'a> {
    pub(crate) fn new(new: &'a Snapshot, older: Option<&'a Snapshot>) -> Self {
        let infos = new.entries();
        let old = older.map(|older| aligned(new, older)).unwrap_or_default();
        let new = entry_rows(new).into_iter().map(Some).collect();
        Self { infos, new, old, entry: 0, current: None }
    }

    /// Advances to the next row or entry.
    fn next_row(&mut self) -> Option<()> {
        if let Some(current) = &mut self.current {
            let at = current.row_index.saturating_add(1);
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
    fn begin(entry: usize, info: &'a ResolvedEntry, new: &All<'a>, old: &All<'a>) -> Option<Self> {
        let (rows, old_rows) = (rows_of(new, entry)?, rows_of(old, entry));
        let mut current = Self {
            entry,
            info,
            set: info.counterset.as_deref()?,
            clocks: rows.clocks,
            old_clocks: old_rows.map_or(rows.clocks, |old| old.clocks),
            notes: rows.annex.map(|annex| &*annex.notes).unwrap_or_default(),
            finder: Finder::default(),
            row_index: 0,
            mark: None,
            row: None,
            older: None,
            has_older: old_rows.is_some_and(|old| !old.rows.is_empty()),
            with_totals: (rows.has_totals(), old_rows.is_some_and(EntryRows::has_totals)),
            has_totals: false,
            column: 0,
        };
        current.begin_row(0, new, old);
        Some(current)
    }

    /// Begins a row; returns `true` if it exists.
    fn begin_row(&mut self, at: usize, new: &All<'a>, old: &All<'a>) -> bool {
        let Some(rows) = rows_of(new, self.entry) else { return false };
        let Some(row) = rows.rows.get(at).copied() else { return false };
        (self.row_index, self.column, self.row) = (at, 0, Some(row));
        self.mark = rows.annex.and_then(|annex| annex.row_mark(at));
        self.older = rows_of(old, self.entry).and_then(|old| {
            let at_old = self.finder.find(&old.rows, &row)?;
            let row = *old.rows.get(at_old)?;
            Some(Older { row_index: at_old, row, is_same: old.birth(at_old) == rows.birth(at) })
        });
        // Notes of a row are searched only if the result has totals at all: most results have none.
        let (now, then) = self.with_totals;
        let has_totals = |rows: &EntryRows<'_>, at| rows.annex.is_some_and(|annex| annex.has_totals_in(at));
        let older = self.older.as_ref().filter(|_| then).zip(rows_of(old, self.entry));
        self.has_totals =
            now && has_totals(rows, at) || older.is_some_and(|(older, old)| has_totals(old, older.row_index));
        true
    }

    #[inline]
    fn value(
        &mut self,
        column: usize,
        related: &FormulaInputs,
        counter: &'a Counter,
        new: &All<'a>,
        old: &All<'a>,
    ) -> Option<Value<'a>> {
        let note = self.note(column);
        let Some(row) = &self.row else { return Some(self.failure(counter, new)) };
        let raw = row.cells.number(column);
        let base = match related.base {
            Some(place) if raw.width > 0 => row.number(place, self.entry, new, self.row_index),
            _ => PackedRaw { width: 0, value: 0 },
        };
        let mut mark = note.and_then(CellState::mark).or_else(|| self.mark.filter(|_| raw.width > 0));
        if self.has_totals && raw.width > 0 {
            mark = self.mark_of_both(mark, column, related, old);
        }
        // Written in one place and with the value last: it is large, and there are many.
        let with = |value, mark| {
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
        // A value above the counter's maximum is capped and marked.
        let number = |raw: f64| {
            let counter_type = counter.counter_type;
            // A sum over threads reaches 100 for each processor.
            let is_sum = || names_sum(row.name) && adds_up(self.set.guid, counter.id);
            // The kernel counts time in ticks, and collections come between them: in a second of 250 ticks,
            // 251 can be counted.
            match counter.caps && raw > MOST && !is_sum() {
                true => with(Ok(FormattedValue { raw: MOST, counter_type }), capped(mark)),
                false => with(Ok(FormattedValue { raw, counter_type }), mark),
            }
        };
        match self.quick(column, related, raw, base) {
            FastResult::Number(raw) => number(raw),
            FastResult::NotDisplayable => with(Err(NoValue::NotDisplayable), mark),
            FastResult::NeedsTwoSamples => with(Err(NoValue::NeedsTwoSamples), mark),
            FastResult::NewInstance => with(Err(NoValue::NewInstance), mark),
            FastResult::Unusual => match self.slow(column, related, note, row, new, old) {
                Ok(value) => number(value.raw),
                Err(reason) => with(Err(reason), mark),
            },
        }
    }

    /// Returns the mark of a value that might be the difference of a total from an older one.
    ///
    /// If either total lacks instances, so does the difference.
    #[cold]
    fn mark_of_both(
        &self,
        mark: Option<Mark>,
        column: usize,
        related: &FormulaInputs,
        old: &All<'a>,
    ) -> Option<Mark> {
        let takes_difference = related.computation.as_ref().is_some_and(Computation::needs_two_samples);
        let older = self.older.as_ref().filter(|older| takes_difference && older.is_same);
        let annex = older.and_then(|older| Some((older.row_index, rows_of(old, self.entry)?.annex?)));
        let then = annex.and_then(|(at, annex)| annex.mark(at, column));
        stronger(mark, then.filter(|mark| matches!(mark, Mark::Partial(_))))
    }

    /// Returns `true` if a value and its base belong to the same instances as in the older result.
    fn is_same(
        &self,
        older: &Older<'a>,
        column: usize,
        related: &FormulaInputs,
        new: &All<'a>,
        old: &All<'a>,
    ) -> bool {
        if !self.has_totals {
            return older.is_same;
        }
        let birth =
            |all: &All<'a>, (entry, column): CellIndex, at| rows_of(all, entry)?.annex?.birth_of(at, column);
        let mut places = [Some((self.entry, column)), related.base].into_iter().flatten();
        places.all(|place| birth(new, place, self.row_index) == birth(old, place, older.row_index))
    }

    /// Returns the note of that column of the row.
    #[inline]
    fn note(&mut self, column: usize) -> Option<&'a CellState> {
        // Notes have the order of the values, so each is passed once and none is searched for.
        while let [((row, at), note), rest @ ..] = self.notes {
            if (*row, *at) > (self.row_index, column) {
                break;
            }
            self.notes = rest;
            if (*row, *at) == (self.row_index, column) {
                return Some(note);
            }
        }
        None
    }

    /// Computes the value or the reason in the usual case, with the same result as [`slow`](Self::slow).
    #[inline]
    fn quick(&self, column: usize, related: &FormulaInputs, raw: PackedRaw, base: PackedRaw) -> FastResult {
        let number = |value: Option<f64>| value.map_or(FastResult::Unusual, FastResult::Number);
        let (true, Some(raw)) = (related.is_plain, raw.get()) else { return FastResult::Unusual };
        let Some(computation) = &related.computation else { return FastResult::NotDisplayable };
        let now = PlainSampleValues { raw, base: base.get(), clocks: &self.clocks };
        if !computation.needs_two_samples() {
            return number(computation.usual(None, &now));
        }
        match &self.older {
            // A total can have a birth of its own in each column.
            Some(_) if self.has_totals => FastResult::Unusual,
            // If the clock went back, only the slow path finds the reason.
            Some(older) if older.is_same && self.clocks.perf_time >= self.old_clocks.perf_time => {
                let cells = &older.row.cells;
                let Some(raw) = cells.number(column).get() else { return FastResult::Unusual };
                let base = related.base.and_then(|(_, column)| cells.number(column).get());
                let then = PlainSampleValues { raw, base, clocks: &self.old_clocks };
                number(computation.usual(Some(&then), &now))
            }
            None if self.has_older => FastResult::NewInstance,
            None => FastResult::NeedsTwoSamples,
            Some(_) => FastResult::Unusual,
        }
    }

    /// Computes the value in every case.
    #[cold]
    fn slow(
        &self,
        column: usize,
        related: &FormulaInputs,
        note: Option<&CellState>,
        row: &ResultRow<'a>,
        new: &All<'a>,
        old: &All<'a>,
    ) -> Result<FormattedValue, NoValue> {
        let Some(raw) = row.cells.number(column).raw() else {
            let of_column = || rows_of(new, self.entry)?.annex?.column_reason(column);
            let reason = match note {
                Some(CellState::Missing(reason)) => Some(reason),
                _ => of_column(),
            };
            return Err(reason.cloned().unwrap_or(NoValue::NotGiven));
        };
        let base = |all: &All<'a>, at: usize, row: &ResultRow<'a>| {
            related.base.and_then(|place| row.number(place, self.entry, all, at).raw())
        };
        let computation = related.computation.as_ref().ok_or(NoValue::NotDisplayable)?;
        let now_clocks = related.clocks(&self.clocks, row, self.entry, new, self.row_index);
        let now = SampleValues { raw, base: base(new, self.row_index, row), clocks: &now_clocks };
        let Some(older) = &self.older else {
            let reason = if self.has_older { NoValue::NewInstance } else { NoValue::NeedsTwoSamples };
            return match computation.needs_two_samples() {
                true => Err(reason),
                false => computation.value(None, &now),
            };
        };
        let Older { row_index: at, row, .. } = older;
        let then_clocks = related.clocks(&self.old_clocks, row, self.entry, old, *at);
        let is_same = self.is_same(older, column, related, new, old);
        let then = match (row.cells.number(column).raw(), is_same) {
            _ if !computation.needs_two_samples() => None,
            (None, _) => None,
            // Before the formula: a difference of two instances can be positive, and would look valid.
            (Some(_), false) => return Err(NoValue::Replaced),
            (Some(raw), true) => Some(SampleValues { raw, base: base(old, *at, row), clocks: &then_clocks }),
        };
        computation.value(then.as_ref(), &now)
    }

    /// Returns the value of a failed entry: only the reason.
    #[cold]
    fn failure(&self, counter: &'a Counter, new: &All<'a>) -> Value<'a> {
        let rows = rows_of(new, self.entry);
        let name = rows.and_then(|rows| rows.annex).and_then(EntryMetadata::instance);
        let reason = rows.and_then(|rows| rows.annex).and_then(EntryMetadata::failure).cloned();
        let status = rows.map_or(Status::ERROR_INVALID_DATA, |rows| rows.status);
        Value {
            entry: self.entry,
            counterset: self.set,
            counter,
            instance: name.unwrap_or_else(|| self.info.instance()),
            instance_id: None,
            raw: None,
            base: None,
            value: Err(reason.unwrap_or(NoValue::Status(status))),
            mark: None,
        }
    }
}

/// Maximum value of a counter that caps.
const MOST: f64 = 100.0;

/// Returns the mark of a capped value: the one that users are shown already, else [`Mark::Capped`].
fn capped(mark: Option<Mark>) -> Option<Mark> {
    mark.filter(|mark| mark.keyword().is_some()).or(Some(Mark::Capped))
}

impl<'a> ResultRow<'a> {
    fn is_same(&self, other: &ResultRow<'_>) -> bool {
        self.id == other.id && self.name == other.name
    }

    /// Returns an input of a formula from the same row, which is in `entry`.
    #[inline]
    fn number(&self, (place, column): CellIndex, entry: usize, all: &All<'a>, at: usize) -> PackedRaw {
        if place == entry {
            return self.cells.number(column);
        }
        let other = rows_of(all, place).and_then(|rows| rows.rows.get(at));
        let same = other.filter(|other| other.is_same(self));
        same.map_or(PackedRaw { width: 0, value: 0 }, |other| other.cells.number(column))
    }
}
