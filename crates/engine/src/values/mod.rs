//! Formatted values of a snapshot, computed from its rows and the paired rows of an older snapshot.

use perfset_catalogue::adds_up;
use perfset_core::formula::{ClockedComputation, Computation};
use perfset_core::sample::{Clocks, SampleValues};
use perfset_core::{
    Counter, CounterType, Counterset, FormattedValue, InstanceId, Mark, Name, NoValue, RawValue,
};

use crate::aggregate::names_sum;
use crate::rows::CellState;
use crate::snapshot::{EntryMetadata, ResolvedEntry, Snapshot};
use crate::total::stronger;
use entry_rows::{
    All, CellIndex, EntryRows, OldRow, PackedRaw, ResultHead, ResultRow, RowIter, aligned, entry_rows,
    rows_of,
};
use pairing::Pairing;

mod entry_rows;
mod index;
mod inputs;
mod pairing;
mod series;

pub(crate) use entry_rows::have_same_rows;
pub(crate) use index::{EntryReader, RowPosition, SampleIndex, SamplePair, SampleReader};
pub(crate) use inputs::{FormulaInputs, related, ticks};
pub use series::SeriesValues;

/// Value of one counter of one instance, formatted for users.
#[derive(Clone, Debug)]
pub struct Value<'a> {
    /// Position, in the query, of the entry that has the value.
    pub entry: usize,
    /// Counterset to which the value's counter belongs.
    pub counterset: &'a Counterset,
    /// Counter whose value was collected.
    pub counter: &'a Counter,
    /// Name of the value's instance; for a failed entry, the name that the entry requested.
    pub instance: Name<'a>,
    /// Id of the value's instance, if the result contains it.
    pub instance_id: Option<InstanceId>,
    /// Raw value of the counter, if it was delivered.
    pub raw: Option<RawValue>,
    /// Raw value of the counter's base, if it has one and it was delivered.
    pub base: Option<RawValue>,
    /// Formatted value, or the reason for having none.
    pub value: Result<FormattedValue, NoValue>,
    /// Mark of the value, such as `Held`, if it has one.
    pub mark: Option<Mark>,
}

impl Value<'_> {
    /// Returns the raw value as the source counted it; `None` if the writer of a log stored a formatted value instead.
    #[must_use]
    pub fn counted(&self) -> Option<RawValue> {
        self.raw.filter(|_| match self.mark {
            None => true,
            Some(Mark::Formatted) => false,
            // A value of a log can have the mark that its writer had. Only logs have this type.
            Some(_) => self.counter.counter_type != CounterType::PERF_DOUBLE_RAW,
        })
    }
}

/// Iterator over every value of a snapshot, computed on demand, because all values together are far larger than the
/// block.
pub(crate) struct SnapshotValues<'a> {
    infos: &'a [ResolvedEntry],
    new: Vec<Option<EntryRows<'a>>>,
    /// Rows of the older snapshot, in the order of the newer snapshot's entries; empty without an older snapshot.
    old: Vec<Option<EntryRows<'a>>>,
    /// Index of the query entry that the iteration begins next.
    entry: usize,
    current: Option<EntryWalk<'a>>,
    /// Counters of the current query entry.
    columns: Vec<Column<'a>>,
}

/// Counter of a query entry, with the data that is the same for all rows.
#[derive(Clone, Copy)]
pub(crate) struct Column<'a> {
    pub counter: &'a Counter,
    related: &'a FormulaInputs,
    formula: ColumnFormula,
}

/// Formula of a counter in the form that the fast computation of values uses.
#[derive(Clone, Copy)]
enum ColumnFormula {
    /// Formula that needs the newer of two samples only.
    Newest(ClockedComputation),
    /// Formula that needs the older and the newer sample.
    Difference(ClockedComputation),
    /// Formula with the counter's own clock.
    OwnClock(ClockedComputation, OwnColumns),
    /// Counter without a formula.
    NotDisplayable,
    /// Formula that the fast computation does not support.
    Unusual,
}

/// Columns of a counter's own clock and that clock's frequency.
#[derive(Clone, Copy)]
struct OwnColumns {
    time: usize,
    freq: usize,
    /// `true` if the formula needs the older and the newer sample.
    is_difference: bool,
    /// `true` if the counter's own clock replaces PerfTime. The samples are then out of order if this clock decreased.
    is_perf_time: bool,
}

impl ColumnFormula {
    fn new(related: &FormulaInputs, old: &Clocks, new: &Clocks) -> Self {
        if !related.is_plain {
            return Self::Unusual;
        }
        let Some(computation) = &related.computation else { return Self::NotDisplayable };
        let (clocked, is_difference) = (computation.at(old, new), computation.needs_two_samples());
        // If the clock went back, only the slow path finds the reason.
        let is_in_order = !is_difference || new.perf_time >= old.perf_time;
        match (clocked, related.own_columns()) {
            (Some(clocked), Some((time, freq))) => {
                let is_perf_time = computation.uses_perf_time();
                match is_perf_time || is_in_order {
                    true => Self::OwnClock(clocked, OwnColumns { time, freq, is_difference, is_perf_time }),
                    false => Self::Unusual,
                }
            }
            (Some(clocked), None) if is_in_order && !related.has_own_clock() => match is_difference {
                true => Self::Difference(clocked),
                false => Self::Newest(clocked),
            },
            _ => Self::Unusual,
        }
    }
}

/// Current position of [`SnapshotValues`] in a query entry, and the remaining rows of the entry.
struct EntryWalk<'a> {
    current: Current<'a>,
    rows: RowIter<'a>,
    pairing: Pairing<'a>,
}

/// Position in a snapshot: a query entry, a row of it, and the older row of the same instance.
struct Current<'a> {
    entry: usize,
    set: &'a Counterset,
    head: ResultHead<'a>,
    /// Older result of the query entry, if there is one.
    old_head: Option<ResultHead<'a>>,
    /// Reasons and marks of the entry's cells that the iteration has not reached yet, in the order of rows and
    /// columns.
    notes: &'a [((usize, usize), CellState)],
    row_index: usize,
    /// Mark of the current row's values that have no mark of their own.
    mark: Option<Mark>,
    /// Current row of the entry's result; `None` if the entry failed.
    row: Option<ResultRow<'a>>,
    older: Option<Older<'a>>,
    /// `true` if the older snapshot has a result of the entry with rows.
    has_older: bool,
    /// Two flags: `true` if any value of the newer result is a total, and the same for the older result.
    with_totals: (bool, bool),
    /// `true` if values of the current row are totals in the newer or the older result: they might have their own
    /// births, or lack instances.
    has_totals: bool,
    column: usize,
}

/// Row of an older result that has the same name and id as the current row.
#[derive(Clone, Copy)]
struct Older<'a> {
    row_index: usize,
    row: ResultRow<'a>,
    /// `true` if the older and the newer row have the same birth, and so are of the same instance.
    is_same: bool,
}

/// Result of the fast computation of a value.
#[derive(Clone, Copy)]
enum FastResult {
    Number(f64),
    Missing(MissingReason),
    /// Value that the fast computation does not support.
    Unusual,
}

/// Reason for a missing value that the fast computation can find.
#[derive(Clone, Copy)]
enum MissingReason {
    NotDisplayable,
    NeedsTwoSamples,
    NewInstance,
}

impl From<MissingReason> for NoValue {
    fn from(reason: MissingReason) -> Self {
        match reason {
            MissingReason::NotDisplayable => Self::NotDisplayable,
            MissingReason::NeedsTwoSamples => Self::NeedsTwoSamples,
            MissingReason::NewInstance => Self::NewInstance,
        }
    }
}

impl<'a> Iterator for SnapshotValues<'a> {
    type Item = Value<'a>;

    #[inline(never)]
    fn next(&mut self) -> Option<Value<'a>> {
        loop {
            if let Some(EntryWalk { current, .. }) = &mut self.current {
                if let Some(column) = self.columns.get(current.column) {
                    return Some(current.value(column, &self.new, &self.old, |value| value));
                }
            }
            self.next_row()?;
        }
    }

    /// Passes each value of the snapshot to `f` where it is computed, because a value is large and this avoids copies.
    fn fold<B, F: FnMut(B, Value<'a>) -> B>(mut self, init: B, mut f: F) -> B {
        let mut all = init;
        loop {
            if let Some(EntryWalk { current, .. }) = &mut self.current {
                for column in self.columns.get(current.column..).unwrap_or_default() {
                    all = current.value(column, &self.new, &self.old, |value| f(all, value));
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
        Self { infos, new, old, entry: 0, current: None, columns: Vec::new() }
    }

    /// Advances to the next row of the query entry, or to the next entry.
    fn next_row(&mut self) -> Option<()> {
        if let Some(walk) = &mut self.current {
            let at = walk.current.row_index.saturating_add(1);
            if walk.current.row.is_some() && walk.begin_row(at, &self.new, &self.old) {
                return Some(());
            }
        }
        let entry = self.entry;
        self.entry = entry.saturating_add(1);
        let info = self.infos.get(entry)?;
        self.columns.clear();
        self.current = self.begin(entry, info);
        Some(())
    }

    /// Begins a query entry; `None` if it has no values.
    fn begin(&mut self, entry: usize, info: &'a ResolvedEntry) -> Option<EntryWalk<'a>> {
        let (rows, old_rows) = (rows_of(&self.new, entry)?, rows_of(&self.old, entry));
        let set = info.counterset.as_deref()?;
        let has_older = old_rows.is_some_and(|old| !old.is_empty());
        let current = Current::new((entry, set), rows.head, old_rows.map(|old| old.head), has_older);
        self.columns.extend((0..).map_while(|at| current.column(at)));
        let mut walk = EntryWalk { current, rows: rows.iter(), pairing: Pairing::new(old_rows) };
        walk.begin_row(0, &self.new, &self.old);
        Some(walk)
    }
}

impl<'a> EntryWalk<'a> {
    /// Begins the next row of the entry, which is at position `at`. Returns `true` if the row exists.
    fn begin_row(&mut self, at: usize, new: &All<'a>, old: &All<'a>) -> bool {
        let Self { current, rows, pairing } = self;
        let Some(row) = rows.next() else { return false };
        let entries = rows_of(new, current.entry).zip(rows_of(old, current.entry));
        let older = entries.and_then(|(new, old)| pairing.find((at, &row), new, old));
        current.set_row((at, row), older);
        true
    }
}

impl<'a> Current<'a> {
    /// Begins a query entry, before its first row.
    #[inline]
    fn new(
        (entry, set): (usize, &'a Counterset),
        head: ResultHead<'a>,
        old_head: Option<ResultHead<'a>>,
        has_older: bool,
    ) -> Self {
        Self {
            entry,
            set,
            head,
            old_head,
            notes: head.annex.map(|annex| &*annex.notes).unwrap_or_default(),
            row_index: 0,
            mark: None,
            row: None,
            older: None,
            has_older,
            with_totals: (head.has_totals(), old_head.is_some_and(|old| old.has_totals())),
            has_totals: false,
            column: 0,
        }
    }

    fn old_clocks(&self) -> &Clocks {
        self.old_head.as_ref().map_or(&self.head.clocks, |old| &old.clocks)
    }

    /// Returns a counter of the entry by its column.
    fn counter(&self, at: usize) -> Option<&'a Counter> {
        self.set.counters.get(*self.head.info.counters.get(at)?)
    }

    /// Returns a counter of the entry by its column, with the data that is the same for all rows.
    fn column(&self, at: usize) -> Option<Column<'a>> {
        let related = self.head.info.related.get(at)?;
        let counter = self.counter(at)?;
        let formula = ColumnFormula::new(related, self.old_clocks(), &self.head.clocks);
        Some(Column { counter, related, formula })
    }

    /// Begins the row of the entry at a position, together with the older row of the same name and id.
    #[inline]
    fn set_row(&mut self, (at, row): (usize, ResultRow<'a>), older: Option<OldRow<'a>>) {
        (self.row_index, self.column, self.row) = (at, 0, Some(row));
        let Self { head, old_head, .. } = self;
        self.mark = head.annex.and_then(|annex| annex.row_mark(at));
        self.older = older.map(|older| Older {
            row_index: older.at,
            row: older.row,
            is_same: older.birth == head.birth(at),
        });
        // Notes of a row are searched only if the result has totals at all: most results have none.
        let (now, then) = self.with_totals;
        let older = self.older.as_ref().filter(|_| then).zip(old_head.as_ref());
        self.has_totals = now && head.has_totals_in(at)
            || older.is_some_and(|(older, old)| old.has_totals_in(older.row_index));
    }

    /// Computes the next value of the current row and passes it to `each`.
    #[inline]
    fn value<R>(
        &mut self,
        column: &Column<'a>,
        new: &All<'a>,
        old: &All<'a>,
        each: impl FnOnce(Value<'a>) -> R,
    ) -> R {
        let Column { counter, related, formula } = column;
        let at = self.column;
        self.column = at.saturating_add(1);
        let note = self.note(at);
        let Some(row) = &self.row else { return each(self.failure(counter)) };
        let raw = row.cells.number(at);
        let base = match related.base {
            Some(place) if raw.width > 0 => row.number(place, self.entry, new, self.row_index),
            _ => PackedRaw { width: 0, value: 0 },
        };
        let mut mark = note.and_then(CellState::mark).or_else(|| self.mark.filter(|_| raw.width > 0));
        if self.has_totals && raw.width > 0 {
            mark = self.mark_of_both(mark, at, related, new, old);
        }
        // Built where it is passed on. A value is large, and there are many: if it were stored first, the processor
        // would wait for its parts before it could copy it.
        let with = |value, mark| Value {
            entry: self.entry,
            counterset: self.set,
            counter,
            instance: row.name,
            instance_id: row.id,
            raw: raw.raw(),
            base: base.raw(),
            value,
            mark,
        };
        match self.quick(at, formula, related, raw, base) {
            FastResult::Number(number) if number <= MOST || !counter.caps => {
                each(with(Ok(FormattedValue { raw: number, counter_type: counter.counter_type }), mark))
            }
            FastResult::Missing(reason) => each(with(Err(reason.into()), mark)),
            unusual => {
                let value = match unusual {
                    FastResult::Number(raw) => Ok(FormattedValue { raw, counter_type: counter.counter_type }),
                    _ => self.slow(at, related, note, row, new, old),
                };
                match value {
                    Ok(value) if counter.caps && value.raw > MOST => {
                        let (value, mark) = self.cap(counter, row, value, mark);
                        each(with(Ok(value), mark))
                    }
                    value => each(with(value, mark)),
                }
            }
        }
    }

    /// Limits a value above the counter's maximum to the maximum, and marks it.
    #[cold]
    fn cap(
        &self,
        counter: &Counter,
        row: &ResultRow<'a>,
        value: FormattedValue,
        mark: Option<Mark>,
    ) -> (FormattedValue, Option<Mark>) {
        // A sum over threads reaches 100 for each processor.
        let is_sum = || names_sum(row.name) && adds_up(self.set.guid, counter.id);
        match is_sum() {
            true => (value, mark),
            // The kernel counts time in ticks, and collections come between them: in a second of 250 ticks,
            // 251 can be counted.
            false => (FormattedValue { raw: MOST, ..value }, capped(mark)),
        }
    }

    /// Returns the mark of a value that might be the difference between a total and an older total.
    ///
    /// If either total lacks instances, so does the difference. Totals of different instances have no difference.
    #[cold]
    fn mark_of_both(
        &self,
        mark: Option<Mark>,
        column: usize,
        related: &FormulaInputs,
        new: &All<'a>,
        old: &All<'a>,
    ) -> Option<Mark> {
        let takes_difference = related.computation.as_ref().is_some_and(Computation::needs_two_samples);
        let older = self.older.as_ref().filter(|_| takes_difference);
        let older = older.filter(|older| self.is_same(older, column, related, new, old));
        let annex = older.and_then(|older| Some((older.row_index, self.old_head?.annex?)));
        let then = annex.and_then(|(at, annex)| annex.mark(at, column));
        stronger(mark, then.filter(|mark| matches!(mark, Mark::Partial(_))))
    }

    /// Returns `true` if a value and its base cover the same instances as in the older result.
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
        let birth = |own: Option<&ResultHead<'a>>, all: &All<'a>, (entry, column): CellIndex, at| {
            let head = if entry == self.entry { own } else { rows_of(all, entry).map(|rows| &rows.head) };
            head?.annex?.birth_of(at, column)
        };
        let is_same = |place| {
            birth(Some(&self.head), new, place, self.row_index)
                == birth(self.old_head.as_ref(), old, place, older.row_index)
        };
        [Some((self.entry, column)), related.base].into_iter().flatten().all(is_same)
    }

    /// Returns the reason, mark or start of counting of a cell in the current row; `None` for a cell without any of
    /// them.
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

    /// Computes a value in the usual case, or the reason for having none, with the same result as
    /// [`slow`](Self::slow).
    #[inline]
    fn quick(
        &self,
        column: usize,
        formula: &ColumnFormula,
        related: &FormulaInputs,
        raw: PackedRaw,
        base: PackedRaw,
    ) -> FastResult {
        let number = |value: Option<f64>| value.map_or(FastResult::Unusual, FastResult::Number);
        let Some(raw) = raw.get() else { return FastResult::Unusual };
        let now = (raw, base.get());
        match (formula, &self.older) {
            (ColumnFormula::Unusual, _) => FastResult::Unusual,
            (ColumnFormula::NotDisplayable, _) => FastResult::Missing(MissingReason::NotDisplayable),
            (ColumnFormula::Newest(clocked), _) => number(clocked.value(None, now)),
            // A total can have a birth of its own in each column.
            (ColumnFormula::Difference(clocked), Some(older)) if older.is_same && !self.has_totals => {
                let cells = &older.row.cells;
                let Some(raw) = cells.number(column).get() else { return FastResult::Unusual };
                let base = related.base.and_then(|(_, column)| cells.number(column).get());
                number(clocked.value(Some((raw, base)), now))
            }
            (ColumnFormula::OwnClock(clocked, own), older) if !own.is_difference || older.is_some() => {
                number(self.by_own_clock(column, clocked, own, related, now))
            }
            (ColumnFormula::Difference(_), Some(_)) => FastResult::Unusual,
            (ColumnFormula::Difference(_) | ColumnFormula::OwnClock(..), None) if self.has_older => {
                FastResult::Missing(MissingReason::NewInstance)
            }
            (ColumnFormula::Difference(_) | ColumnFormula::OwnClock(..), _) => {
                FastResult::Missing(MissingReason::NeedsTwoSamples)
            }
        }
    }

    /// Computes the value of a counter with its own clock in the usual case, where the clock is in the same row.
    #[inline]
    fn by_own_clock(
        &self,
        column: usize,
        clocked: &ClockedComputation,
        own: &OwnColumns,
        related: &FormulaInputs,
        now: (u64, Option<u64>),
    ) -> Option<f64> {
        let clock = |row: &ResultRow<'a>| {
            (ticks(row.cells.number(own.time).get()), ticks(row.cells.number(own.freq).get()))
        };
        let now_clock = clock(self.row.as_ref()?);
        if !own.is_difference {
            return clocked.value_by_own_clock([now_clock; 2], None, now);
        }
        let older = self.older.as_ref().filter(|older| older.is_same && !self.has_totals)?;
        let then_clock = clock(&older.row);
        // Only the slow path finds the reason of that.
        if own.is_perf_time && now_clock.0 < then_clock.0 {
            return None;
        }
        let cells = &older.row.cells;
        let then = cells.number(column).get()?;
        let base = related.base.and_then(|(_, column)| cells.number(column).get());
        clocked.value_by_own_clock([then_clock, now_clock], Some((then, base)), now)
    }

    /// Computes a value in every case, also in the cases that [`quick`](Self::quick) does not support.
    #[inline(never)]
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
            let of_column = || self.head.annex?.column_reason(column);
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
        let now_clocks = related.clocks(&self.head.clocks, row, self.entry, new, self.row_index);
        let now = SampleValues { raw, base: base(new, self.row_index, row), clocks: &now_clocks };
        let Some(older) = &self.older else {
            let reason = if self.has_older { NoValue::NewInstance } else { NoValue::NeedsTwoSamples };
            return match computation.needs_two_samples() {
                true => Err(reason),
                false => computation.value(None, &now),
            };
        };
        let Older { row_index: at, row, .. } = older;
        let then_clocks = related.clocks(self.old_clocks(), row, self.entry, old, *at);
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

    /// Returns the value of a failed query entry, which contains only the reason.
    #[cold]
    fn failure(&self, counter: &'a Counter) -> Value<'a> {
        let ResultHead { info, annex, status, .. } = self.head;
        let name = annex.and_then(EntryMetadata::instance);
        let reason = annex.and_then(EntryMetadata::failure).cloned();
        Value {
            entry: self.entry,
            counterset: self.set,
            counter,
            instance: name.unwrap_or_else(|| info.instance()),
            instance_id: None,
            raw: None,
            base: None,
            value: Err(reason.unwrap_or(NoValue::Status(status))),
            mark: None,
        }
    }
}

/// Maximum value of a counter whose values are capped.
const MOST: f64 = 100.0;

/// Returns the mark of a capped value: its present mark if users see that mark, else [`Mark::Capped`].
fn capped(mark: Option<Mark>) -> Option<Mark> {
    mark.filter(|mark| mark.keyword().is_some()).or(Some(Mark::Capped))
}
