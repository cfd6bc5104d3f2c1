//! Reader of ticks: whole ones, and differences that are applied to the tick before.

use std::vec::IntoIter;

use perfset_core::clock::ClockReading;

use super::super::bytes::{Malformed, PayloadCursor, unzigzag};
use super::super::state::reason;
use super::super::table::{
    CellStateNumber, Content, MOST_CELLS, RecordedTable, RowIdentity, StateList, index, position,
};
use super::{
    Form, MOST_TABLES, ROW_KEY, RowStep, TableChanges, TickState, TickTable, TickTrace, clocks, new_states,
    own_clocks, row_key,
};

fn whole(from: &mut PayloadCursor<'_>, known: &StateList) -> Result<RecordedTable, Malformed> {
    let columns = from.small("number of columns")?;
    let count = from.count(ROW_KEY, "rows")?;
    let mut table = RecordedTable { columns, ..RecordedTable::default() };
    for _ in 0..count {
        let key = row_key(from)?;
        insert(from, &mut table, key)?;
    }
    states(from, &mut table, Vec::new(), known, |_| {})?;
    Ok(table)
}

/// Reads all values of a row from a tick, and appends the row to the table.
fn insert(
    from: &mut PayloadCursor<'_>,
    table: &mut RecordedTable,
    key: RowIdentity,
) -> Result<(), Malformed> {
    room(from, table)?;
    table.rows.push(key);
    for _ in 0..table.columns {
        table.values.push(from.uint("value")?);
    }
    Ok(())
}

fn room(from: &PayloadCursor<'_>, table: &RecordedTable) -> Result<(), Malformed> {
    let is_full = table.rows.len() >= RecordedTable::MOST_ROWS
        || table.values.len().saturating_add(table.columns) > RecordedTable::MOST_CELLS;
    if is_full { Err(from.error("table has too many rows or cells")) } else { Ok(()) }
}

/// Checks that the tables of a tick together fit into memory: there can be thousands, each within its own limits.
fn check_memory(from: &PayloadCursor<'_>, memory: usize) -> Result<(), Malformed> {
    if memory > MOST_CELLS { Err(from.error("tables have too many rows or cells together")) } else { Ok(()) }
}

/// Reads the changed values that [`put_changed`] writes. Calls `each` with row and column of each cell that differs,
/// and the difference.
#[inline]
fn changed(
    from: &mut PayloadCursor<'_>,
    table: &mut RecordedTable,
    mut each: impl FnMut((u32, u32), u64),
) -> Result<(), Malformed> {
    let count = from.count(2, "changed rows")?;
    let mut row = 0_usize;
    let bitmap = table.columns.div_ceil(8);
    for _ in 0..count {
        row = row.saturating_add(from.small("number of rows")?);
        if row >= table.rows.len() {
            return Err(from.error("changed row that the table does not have"));
        }
        let bits = from.take(bitmap, "bitmap of columns")?;
        let start = row.saturating_mul(table.columns);
        let values = table.values.get_mut(start..start.saturating_add(table.columns)).unwrap_or_default();
        for (first, (values, bits)) in (0_usize..).step_by(8).zip(values.chunks_mut(8).zip(bits)) {
            let mut bits = *bits;
            // Most columns of a changed row are as before.
            while bits != 0 {
                let bit = index(bits.trailing_zeros());
                bits &= bits.wrapping_sub(1);
                let Some(value) = values.get_mut(bit) else { break };
                let delta = unzigzag(from.uint("difference of a value")?);
                let delta = u64::from_ne_bytes(delta.to_ne_bytes());
                *value = value.wrapping_add(delta);
                each((position(row), position(first.saturating_add(bit))), delta);
            }
        }
        row = row.saturating_add(1);
    }
    Ok(())
}

/// Reads the changed states that [`put_states`] writes. Calls `each` with row and column of each cell whose state
/// differs.
fn states(
    from: &mut PayloadCursor<'_>,
    table: &mut RecordedTable,
    old: Vec<CellStateNumber>,
    known: &StateList,
    mut each: impl FnMut((u32, u32)),
) -> Result<(), Malformed> {
    let count = from.count(2, "states of cells")?;
    if count == 0 {
        table.states = old;
        return Ok(());
    }
    let mut olds = old.into_iter().peekable();
    let mut all = Vec::with_capacity(count.max(olds.len()));
    let mut next = 0_usize;
    for _ in 0..count {
        let cell = next.saturating_add(from.small("number of cells")?);
        if cell >= table.values.len() {
            return Err(from.error("state of a cell that the table does not have"));
        }
        next = cell.saturating_add(1);
        let row = cell.checked_div(table.columns).unwrap_or(0);
        let at = (position(row), position(cell.saturating_sub(row.saturating_mul(table.columns))));
        while let Some(old) = olds.next_if(|(old, _)| *old < at) {
            all.push(old);
        }
        olds.next_if(|(old, _)| *old == at);
        each(at);
        let number: usize = from.small("number of a state")?;
        if let Some(number) = number.checked_sub(1).map(position) {
            known.get(number).ok_or_else(|| from.error(format!("state {number} is not known")))?;
            all.push((at, number));
        }
    }
    all.extend(olds);
    table.states = all;
    Ok(())
}

/// Function that selects the tables that a reader wants, by number.
pub(in super::super) type WantedTables<'a> = &'a dyn Fn(usize) -> bool;

/// Reads the payload of a whole tick. Tables that are not wanted have no contents.
pub(in super::super) fn key(
    payload: &[u8],
    sequence: u64,
    wanted: WantedTables<'_>,
) -> Result<TickState, Malformed> {
    let mut from = PayloadCursor::new(payload);
    let mut all = TickState { sequence, ..TickState::default() };
    all.clocks = clocks(&mut from, &ClockReading::default())?;
    new_states(&mut from, &mut all.states)?;
    let mut memory = 0_usize;
    let count = from.count(3, "tables")?;
    for _ in 0..count {
        let number = from.small("number of a table")?;
        if number >= MOST_TABLES || number < all.tables.len() {
            return Err(from.error(format!("table {number} is too high, or not after the table before")));
        }
        let age = from.uint("age of a table")?;
        let collected =
            sequence.checked_sub(age).ok_or_else(|| from.error("table is older than the recording"))?;
        let clocks = if age == 0 { all.clocks } else { clocks(&mut from, &all.clocks)? };
        let mut body = from.nested("contents of a table")?;
        all.tables.resize_with(number, TickTable::default);
        let content = match wanted(number) {
            true => Some(content(&mut body, None, &clocks, &all.states, None)?),
            false => None,
        };
        memory = memory.saturating_add(content.as_ref().map_or(0, Content::memory));
        check_memory(&from, memory)?;
        let collected = content.as_ref().map(|_| collected);
        all.tables.push(TickTable { collected, clocks, content: content.unwrap_or_default() });
    }
    from.end()?;
    Ok(all)
}

impl TickState {
    /// Applies the payload of the next tick to the contents of the tables. After an error the state has no meaning: a
    /// whole tick must follow.
    ///
    /// The same tables must be wanted from a whole tick on.
    pub fn apply(
        &mut self,
        payload: &[u8],
        sequence: u64,
        wanted: WantedTables<'_>,
    ) -> Result<(), Malformed> {
        self.apply_traced(payload, sequence, wanted, &mut TickTrace::default())
    }

    /// Applies a payload like [`TickState::apply`], and stores the changes in `trace`.
    pub fn apply_traced(
        &mut self,
        payload: &[u8],
        sequence: u64,
        wanted: WantedTables<'_>,
        trace: &mut TickTrace,
    ) -> Result<(), Malformed> {
        trace.clear();
        let mut from = PayloadCursor::new(payload);
        self.sequence = sequence;
        self.clocks = clocks(&mut from, &self.clocks)?;
        new_states(&mut from, &mut self.states)?;
        let count = from.count(2, "tables")?;
        let mut next = 0_usize;
        let mut memory = self.tables.iter().map(|table| table.content.memory()).sum::<usize>();
        for _ in 0..count {
            let number = next.saturating_add(from.small("number of tables")?);
            if number >= MOST_TABLES {
                return Err(from.error(format!("table {number} is too high")));
            }
            next = number.saturating_add(1);
            let mut body = from.nested("contents of a table")?;
            if !wanted(number) {
                continue;
            }
            if self.tables.len() <= number {
                self.tables.resize_with(next, TickTable::default);
            }
            let Self { clocks, states, tables, .. } = self;
            let Some(table) = tables.get_mut(number) else { continue };
            let old = table.collected.is_some().then(|| std::mem::take(&mut table.content));
            memory = memory.saturating_sub(old.as_ref().map_or(0, Content::memory));
            let mut changes = trace.table(number);
            table.content = content(&mut body, old, clocks, states, changes.as_deref_mut())?;
            if let Some(changes) = changes {
                changes.before = table.collected;
            }
            memory = memory.saturating_add(table.content.memory());
            check_memory(&from, memory)?;
            (table.collected, table.clocks) = (Some(sequence), *clocks);
        }
        from.end()
    }
}

fn content(
    from: &mut PayloadCursor<'_>,
    old: Option<Content>,
    at: &ClockReading,
    known: &StateList,
    mut changes: Option<&mut TableChanges>,
) -> Result<Content, Malformed> {
    const SAME: u8 = Form::Same.number();
    const DIFFERENCE: u8 = Form::Difference.number();
    const WHOLE: u8 = Form::Whole.number();
    const FAILED: u8 = Form::Failed.number();
    let content = match (from.byte("form of a table")?, old) {
        (SAME, Some(old)) => {
            if let Some(changes) = &mut changes {
                changes.is_known = true;
            }
            old
        }
        (DIFFERENCE, Some(Content::Rows(mut table))) => {
            table.clocks = own_clocks(from, at)?;
            difference(from, &mut table, known, changes)?;
            Content::Rows(table)
        }
        (SAME | DIFFERENCE, _) => {
            return Err(from.error("table is stored as a difference, and had no rows before"));
        }
        (WHOLE, _) => {
            let clocks = own_clocks(from, at)?;
            Content::Rows(RecordedTable { clocks, ..whole(from, known)? })
        }
        (FAILED, _) => Content::Failed(reason(from)?),
        (form, _) => return Err(from.error(format!("table of the unknown form {form}"))),
    };
    from.end()?;
    Ok(content)
}

/// Applies to a table the difference that [`put_difference`] writes.
fn difference(
    from: &mut PayloadCursor<'_>,
    table: &mut RecordedTable,
    known: &StateList,
    mut changes: Option<&mut TableChanges>,
) -> Result<(), Malformed> {
    let count = from.count(3, "steps")?;
    let mut old = std::mem::take(&mut table.states);
    if count > 0 {
        let RecordedTable { columns, clocks, .. } = *table;
        let before = std::mem::replace(table, RecordedTable { columns, clocks, ..RecordedTable::default() });
        table.rows.reserve(before.rows.len());
        table.values.reserve(before.values.len());
        // States have the places of the rows before: they move with their rows.
        let mut states = old.into_iter().peekable();
        old = Vec::with_capacity(states.len());
        let mut rows = before.rows.into_iter();
        let mut next = 0_usize;
        // Rows that stay are copied together: mostly there are some hundred between two that come or go.
        let mut keep =
            |table: &mut RecordedTable, rows: &mut IntoIter<RowIdentity>, (was, count): (usize, usize)| {
                let first = table.rows.len();
                table.rows.extend(rows.take(count));
                let (start, end) =
                    (was.saturating_mul(columns), was.saturating_add(count).saturating_mul(columns));
                table.values.extend_from_slice(before.values.get(start..end).unwrap_or_default());
                let end = was.saturating_add(count);
                while let Some(((of, column), number)) = states.next_if(|((of, _), _)| index(*of) < end) {
                    // States of rows that are gone are left out.
                    if let Some(row) = index(of).checked_sub(was) {
                        old.push(((position(first.saturating_add(row)), column), number));
                    }
                }
            };
        for _ in 0..count {
            let kept: usize = from.small("number of rows that stay")?;
            let dropped: usize = from.small("number of rows that are gone")?;
            let inserted = from.count(ROW_KEY, "new rows")?;
            if kept.saturating_add(dropped) > rows.len() {
                return Err(from.error("more rows stay and go than there are"));
            }
            if let Some(changes) = &mut changes {
                changes.steps.push(RowStep { kept, dropped, inserted });
            }
            keep(table, &mut rows, (next, kept));
            rows.by_ref().take(dropped).for_each(drop);
            next = next.saturating_add(kept).saturating_add(dropped);
            for _ in 0..inserted {
                let key = row_key(from)?;
                insert(from, table, key)?;
            }
        }
        let left = rows.len();
        keep(table, &mut rows, (next, left));
        room(from, table)?;
    }
    match changes {
        Some(changes) => {
            changed(from, table, |cell, delta| changes.cells.push((cell, delta)))?;
            states(from, table, old, known, |cell| changes.states.push(cell))?;
            changes.is_known = true;
        }
        None => {
            changed(from, table, |_, _| {})?;
            states(from, table, old, known, |_| {})?;
        }
    }
    Ok(())
}
