//! Ticks: samples of all tables that were due at one time, stored whole or as the difference from the tick before.

use std::collections::HashMap;

use perfset_core::Utf16;
use perfset_core::clock::{ClockReading, SystemTime};
use perfset_core::sample::Clocks;
use perfset_engine::CellState;

use super::bytes::{Malformed, PayloadCursor, put_bytes, put_int, put_len, put_uint, zigzag};
use super::state::{put_reason, put_state, state};
use super::table::{CellStateNumber, Content, RecordedTable, RowIdentity, StateList, index, position};
pub(super) use read::{WantedTables, key};
pub(super) use trace::{TableChanges, TickTrace};

/// Contents of all tables of a recording after a tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TickState {
    /// Sequence number of the tick, counted over all files of the recording's directory.
    pub sequence: u64,
    pub clocks: ClockReading,
    /// Contents of each table, by the table's number; a table that was never collected has no contents.
    pub tables: Vec<TickTable>,
    /// List of the cell states that occur in all tables.
    pub states: StateList,
}

/// Contents of a recorded table at its last collection.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TickTable {
    /// Number of the tick in which the table was collected last; `None` before the first collection.
    pub collected: Option<u64>,
    /// Clocks of the tick in which the table was collected last.
    pub clocks: ClockReading,
    pub content: Content,
}

/// Maximum number of tables of a recording.
pub(super) const MOST_TABLES: usize = 8_192;

/// Form in which a tick stores a table.
#[derive(Clone, Copy)]
enum Form {
    /// Contents that are the same as at the table's collection before.
    Same,
    /// Difference of the rows from those of the table's collection before.
    Difference,
    /// All rows of the table, with all values.
    Whole,
    /// No rows, because the collection failed; the reason is stored instead.
    Failed,
}

impl Form {
    const fn number(self) -> u8 {
        match self {
            Self::Same => 0,
            Self::Difference => 1,
            Self::Whole => 2,
            Self::Failed => 3,
        }
    }
}

fn put_clocks(out: &mut Vec<u8>, now: &ClockReading, before: &ClockReading) {
    put_int(out, now.perf_time.wrapping_sub(before.perf_time));
    put_int(out, now.time_100ns.wrapping_sub(before.time_100ns));
    put_int(out, now.perf_freq.wrapping_sub(before.perf_freq));
    // The wall clock: its distance from the other, which stays the same until it is set.
    put_int(out, wall(now).wrapping_sub(now.time_100ns));
}

fn wall(clocks: &ClockReading) -> i64 {
    // A foreign block may hold no date.
    clocks.system_time.to_100ns().unwrap_or(clocks.time_100ns)
}

fn clocks(from: &mut PayloadCursor<'_>, before: &ClockReading) -> Result<ClockReading, Malformed> {
    let perf_time = before.perf_time.wrapping_add(from.int("performance clock")?);
    let time_100ns = before.time_100ns.wrapping_add(from.int("time")?);
    let perf_freq = before.perf_freq.wrapping_add(from.int("frequency")?);
    let system_time = SystemTime::from_100ns(time_100ns.wrapping_add(from.int("wall clock")?));
    Ok(ClockReading { perf_time, time_100ns, perf_freq, system_time })
}

/// Appends the payload of a whole tick: every table that was ever collected.
pub(super) fn put_key(out: &mut Vec<u8>, now: &TickState) {
    put_clocks(out, &now.clocks, &ClockReading::default());
    put_new_states(out, now.states.since(0));
    let tables =
        now.tables.iter().enumerate().filter_map(|(number, table)| Some((number, table.collected?, table)));
    put_len(out, tables.clone().count());
    for (number, collected, table) in tables {
        put_len(out, number);
        put_uint(out, now.sequence.saturating_sub(collected));
        if collected != now.sequence {
            put_clocks(out, &table.clocks, &now.clocks);
        }
        put_sized_content(out, &table.content, None, &table.clocks);
    }
}

/// Appends the payload of a tick: the tables collected in it, each as the difference from its contents before, and the
/// states that are new.
pub(super) fn put_tick<'a>(
    out: &mut Vec<u8>,
    now: &TickState,
    before: &ClockReading,
    old: &dyn Fn(usize) -> Option<&'a Content>,
    known_states: usize,
) {
    put_clocks(out, &now.clocks, before);
    put_new_states(out, now.states.since(known_states));
    let due =
        |(number, table): (usize, &TickTable)| (table.collected == Some(now.sequence)).then_some(number);
    let due: Vec<usize> = now.tables.iter().enumerate().filter_map(due).collect();
    put_len(out, due.len());
    let mut next = 0_usize;
    for number in due {
        // Mostly 0: the next table.
        put_len(out, number.saturating_sub(next));
        next = number.saturating_add(1);
        if let Some(table) = now.tables.get(number) {
            put_sized_content(out, &table.content, old(number), &table.clocks);
        }
    }
}

/// Reads the clocks of a tick; `before` has those of the tick before, and is `None` for a whole tick.
pub(super) fn clocks_of(payload: &[u8], before: Option<&ClockReading>) -> Result<ClockReading, Malformed> {
    clocks(&mut PayloadCursor::new(payload), before.unwrap_or(&ClockReading::default()))
}

/// Appends the contents of a table after their length, so that a reader of other tables can skip them.
fn put_sized_content(out: &mut Vec<u8>, content: &Content, old: Option<&Content>, at: &ClockReading) {
    let mut body = Vec::new();
    put_content(&mut body, content, old, at);
    put_bytes(out, &body);
}

fn put_new_states(out: &mut Vec<u8>, new: &[CellState]) {
    put_len(out, new.len());
    new.iter().for_each(|state| put_state(out, state));
}

fn new_states(from: &mut PayloadCursor<'_>, states: &mut StateList) -> Result<(), Malformed> {
    let count = from.count(2, "states")?;
    for _ in 0..count {
        if states.is_full() {
            return Err(from.error("too many states"));
        }
        states.push(state(from)?);
    }
    Ok(())
}

fn put_content(out: &mut Vec<u8>, content: &Content, old: Option<&Content>, at: &ClockReading) {
    match (content, old) {
        (Content::Failed(reason), Some(Content::Failed(old))) if reason == old => put_form(out, Form::Same),
        (Content::Failed(reason), _) => {
            put_form(out, Form::Failed);
            put_reason(out, reason);
        }
        (Content::Rows(table), Some(Content::Rows(old))) if table.columns == old.columns => {
            // Clocks of its own go on, although nothing else changes.
            if table == old && table.clocks.is_none() {
                put_form(out, Form::Same);
            } else {
                put_form(out, Form::Difference);
                put_own_clocks(out, table.clocks, at);
                put_difference(out, table, old);
            }
        }
        (Content::Rows(table), _) => {
            put_form(out, Form::Whole);
            put_own_clocks(out, table.clocks, at);
            put_whole(out, table);
        }
    }
}

fn put_form(out: &mut Vec<u8>, form: Form) {
    out.push(form.number());
}

/// Appends a counterset's own clocks to a tick as distances from those of the tick; 0 if it has none.
fn put_own_clocks(out: &mut Vec<u8>, own: Option<Clocks>, at: &ClockReading) {
    let Some(own) = own else { return out.push(0) };
    let of_tick = Clocks::from(at);
    out.push(1);
    put_int(out, own.perf_time.wrapping_sub(of_tick.perf_time));
    put_int(out, own.perf_freq.wrapping_sub(of_tick.perf_freq));
    put_int(out, own.time_100ns.wrapping_sub(of_tick.time_100ns));
    put_int(out, own.object_time.wrapping_sub(of_tick.object_time));
    put_int(out, own.object_freq.wrapping_sub(of_tick.object_freq));
}

fn own_clocks(from: &mut PayloadCursor<'_>, at: &ClockReading) -> Result<Option<Clocks>, Malformed> {
    match from.byte("clocks of a table")? {
        0 => return Ok(None),
        1 => {}
        number => return Err(from.error(format!("clocks of the unknown kind {number}"))),
    }
    let of_tick = Clocks::from(at);
    let mut next = |base: i64| from.int("clock of a table").map(|distance| base.wrapping_add(distance));
    Ok(Some(Clocks {
        perf_time: next(of_tick.perf_time)?,
        perf_freq: next(of_tick.perf_freq)?,
        time_100ns: next(of_tick.time_100ns)?,
        object_time: next(of_tick.object_time)?,
        object_freq: next(of_tick.object_freq)?,
    }))
}

pub(super) fn put_row_key(out: &mut Vec<u8>, key: &RowIdentity) {
    put_name(out, &key.name);
    put_uint(out, key.id.into());
    put_uint(out, key.birth);
    put_owner(out, key.owner);
}

/// Appends the name of an instance to the payload of a tick.
pub(super) fn put_name(out: &mut Vec<u8>, name: &Utf16) {
    put_len(out, name.len());
    // Nearly all names are ASCII, of which each unit has one byte here.
    name.units().iter().for_each(|unit| put_uint(out, (*unit).into()));
}

/// Appends the owner of an instance to the payload of a tick: process and user, or the system.
pub(super) fn put_owner(out: &mut Vec<u8>, owner: Option<(u32, u32)>) {
    match owner {
        None => out.push(0),
        Some((pid, user)) => {
            out.push(1);
            put_uint(out, pid.into());
            put_uint(out, user.into());
        }
    }
}

/// Maximum length of an instance name in a tick, in UTF-16 units.
const LONGEST_NAME: usize = 1_024;
/// Minimum size in bytes of a row identity that is encoded in a tick.
pub(super) const ROW_KEY: usize = 4;

pub(super) fn row_key(from: &mut PayloadCursor<'_>) -> Result<RowIdentity, Malformed> {
    let name = name(from)?;
    let id = from.small("id of an instance")?;
    let birth = from.uint("birth of an instance")?;
    Ok(RowIdentity { name, id, birth, owner: owner(from)? })
}

/// Reads the name of an instance from the payload of a tick.
pub(super) fn name(from: &mut PayloadCursor<'_>) -> Result<Utf16, Malformed> {
    let len = from.count(1, "units of a name")?;
    if len > LONGEST_NAME {
        return Err(from.error(format!("name of {len} units")));
    }
    let mut units = Vec::with_capacity(len);
    for _ in 0..len {
        units.push(from.small::<u16>("unit of a name")?);
    }
    Ok(Utf16::from(&*units))
}

/// Reads the owner of an instance from the payload of a tick.
pub(super) fn owner(from: &mut PayloadCursor<'_>) -> Result<Option<(u32, u32)>, Malformed> {
    match from.byte("owner of an instance")? {
        0 => Ok(None),
        1 => Ok(Some((from.small("process of an owner")?, from.small("user of an owner")?))),
        number => Err(from.error(format!("owner of the unknown kind {number}"))),
    }
}

fn put_whole(out: &mut Vec<u8>, table: &RecordedTable) {
    put_len(out, table.columns);
    put_len(out, table.rows.len());
    for (row, key) in table.rows.iter().enumerate() {
        put_row_key(out, key);
        put_values(out, table.row(row));
    }
    put_states(out, table, &[]);
}

fn put_values(out: &mut Vec<u8>, values: &[u64]) {
    values.iter().for_each(|value| put_uint(out, *value));
}

/// Appends the difference between two tables: new and gone rows, then changed values, then changed states.
fn put_difference(out: &mut Vec<u8>, new: &RecordedTable, old: &RecordedTable) {
    let steps = steps(&new.rows, &old.rows);
    put_len(out, steps.len());
    let mut inserted_at = 0_usize;
    for step in &steps {
        put_len(out, step.kept);
        put_len(out, step.dropped);
        put_len(out, step.inserted);
        inserted_at = inserted_at.saturating_add(step.kept);
        for row in inserted_at..inserted_at.saturating_add(step.inserted) {
            if let Some(key) = new.rows.get(row) {
                put_row_key(out, key);
                put_values(out, new.row(row));
            }
        }
        inserted_at = inserted_at.saturating_add(step.inserted);
    }
    put_changed(out, new, old, &steps);
    // States of rows that stay are compared where these are now.
    match steps.is_empty() {
        true => put_states(out, new, &old.states),
        false => put_states(out, new, &moved(old, &steps, new.rows.len())),
    }
}

/// Step from the old rows of a table to the new ones: rows that stay, then rows that are gone, then new rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowStep {
    pub kept: usize,
    pub dropped: usize,
    pub inserted: usize,
}

/// Number of a table's rows that are searched after a difference, before all rows are searched.
const NEAR: usize = 16;

/// Returns `true` if two identities of rows are equal. Numbers are compared first, because names take longest.
#[inline]
fn same(a: &RowIdentity, b: &RowIdentity) -> bool {
    (a.id, a.birth) == (b.id, b.birth) && a == b
}

/// Finds the steps from the old rows of a table to its new ones; none if all rows stay. Rows after the last step
/// stay.
fn steps(new: &[RowIdentity], old: &[RowIdentity]) -> Vec<RowStep> {
    let mut steps = Vec::new();
    if new == old {
        return steps;
    }
    // Made only if rows are far from where they were: it costs more than all comparisons.
    let mut known: Option<HashMap<&RowIdentity, usize>> = None;
    let (mut at, mut before, mut step) = (0_usize, 0_usize, RowStep::default());
    while let Some(next) = new.get(at) {
        if old.get(before).is_some_and(|old| same(next, old)) {
            // What is gone and what is new ends a step.
            if step.dropped > 0 || step.inserted > 0 {
                steps.push(std::mem::take(&mut step));
            }
            step.kept = step.kept.saturating_add(1);
            (at, before) = (at.saturating_add(1), before.saturating_add(1));
            continue;
        }
        let rest = old.get(before..).unwrap_or_default();
        let near = |rows: &[RowIdentity], row: &RowIdentity| {
            rows.iter()
                .take(NEAR)
                .skip(1)
                .position(|other| same(other, row))
                .map(|skipped| skipped.saturating_add(1))
        };
        let dropped = match (near(rest, next), rest.first()) {
            (Some(dropped), _) => Some(dropped),
            (None, Some(old)) if near(new.get(at..).unwrap_or_default(), old).is_some() => None,
            (None, None) => None,
            (None, Some(_)) => {
                let known = known.get_or_insert_with(|| old.iter().zip(0..).collect());
                known.get(next).and_then(|later| later.checked_sub(before)).filter(|dropped| *dropped > 0)
            }
        };
        match dropped {
            Some(dropped) => {
                step.dropped = step.dropped.saturating_add(dropped);
                before = before.saturating_add(dropped);
            }
            // A row that moved up is gone where it was, and new here.
            None => {
                step.inserted = step.inserted.saturating_add(1);
                at = at.saturating_add(1);
            }
        }
    }
    step.dropped = step.dropped.saturating_add(old.len().saturating_sub(before));
    if step.dropped > 0 || step.inserted > 0 {
        steps.push(step);
    }
    steps
}

/// Calls `each` with the new and the old index of every row that stays in the table.
fn each_kept(steps: &[RowStep], len: usize, mut each: impl FnMut(usize, usize)) {
    let (mut at, mut before) = (0_usize, 0_usize);
    for step in steps {
        for _ in 0..step.kept {
            each(at, before);
            (at, before) = (at.saturating_add(1), before.saturating_add(1));
        }
        before = before.saturating_add(step.dropped);
        at = at.saturating_add(step.inserted);
    }
    while at < len {
        each(at, before);
        (at, before) = (at.saturating_add(1), before.saturating_add(1));
    }
}

/// Appends the changed values of rows that stay in the table: rows skipped, a bitmap of columns, and the differences.
fn put_changed(out: &mut Vec<u8>, new: &RecordedTable, old: &RecordedTable, steps: &[RowStep]) {
    let mut body = Vec::new();
    let (mut changed, mut next) = (0_usize, 0_usize);
    each_kept(steps, new.rows.len(), |row, before| {
        let (values, values_before) = (new.row(row), old.row(before));
        if values == values_before {
            return;
        }
        changed = changed.saturating_add(1);
        put_len(&mut body, row.saturating_sub(next));
        next = row.saturating_add(1);
        let pairs = values.iter().zip(values_before);
        for (values, before) in values.chunks(8).zip(values_before.chunks(8)) {
            let bits = values.iter().zip(before).enumerate();
            body.push(bits.fold(0, |bits, (at, (a, b))| bits | (u8::from(a != b) << at)));
        }
        for (value, before) in pairs.filter(|(a, b)| a != b) {
            put_uint(&mut body, zigzag(i64::from_ne_bytes(value.wrapping_sub(*before).to_ne_bytes())));
        }
    });
    put_len(out, changed);
    out.append(&mut body);
}

/// Returns the old cell states of a table with the current indexes of their rows; states of rows that are gone are
/// left out.
fn moved(old: &RecordedTable, steps: &[RowStep], rows: usize) -> Vec<CellStateNumber> {
    let mut all = Vec::with_capacity(old.states.len());
    let mut states = old.states.iter().peekable();
    each_kept(steps, rows, |row, before| {
        // Rows come in order, and so do their states.
        while states.next_if(|((of, _), _)| index(*of) < before).is_some() {}
        while let Some(((_, column), number)) = states.next_if(|((of, _), _)| index(*of) == before) {
            all.push(((position(row), *column), *number));
        }
    });
    all
}

/// Appends the cell states of a table that differ from `old`. Each state has the cells skipped, and the number of its
/// state plus 1, or 0 if the cell has none any more.
fn put_states(out: &mut Vec<u8>, new: &RecordedTable, old: &[CellStateNumber]) {
    if new.states == old {
        return put_len(out, 0);
    }
    let mut body = Vec::new();
    let (mut count, mut next) = (0_usize, 0_usize);
    let mut put = |(row, column): (u32, u32), state: usize| {
        let cell = index(row).saturating_mul(new.columns).saturating_add(index(column));
        put_len(&mut body, cell.saturating_sub(next));
        put_len(&mut body, state);
        next = cell.saturating_add(1);
        count = count.saturating_add(1);
    };
    let (mut news, mut olds) = (new.states.iter().peekable(), old.iter().peekable());
    loop {
        let (next_new, next_old) = (news.peek().copied(), olds.peek().copied());
        let Some(first) = next_new.into_iter().chain(next_old).map(|(at, _)| *at).min() else { break };
        let is_now = news.next_if(|(at, _)| *at == first).map(|(_, number)| *number);
        let was = olds.next_if(|(at, _)| *at == first).map(|(_, number)| *number);
        if is_now != was {
            put(first, is_now.map_or(0, |number| index(number).saturating_add(1)));
        }
    }
    put_len(out, count);
    out.append(&mut body);
}

mod read;
#[cfg(test)]
pub(super) mod tests;
mod trace;
