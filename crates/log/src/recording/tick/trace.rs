//! Changes that a tick made to tables: a writer of columns needs these alone, and not all cells again.

use super::RowStep;

/// Trace of the changes that the last applied tick made to all tables.
#[derive(Debug, Default)]
pub(in super::super) struct TickTrace {
    /// Changes of each table, by the table's number; empty if they are not wanted.
    tables: Vec<TableChanges>,
}

/// Changes of a table from its collection before the last one to the last one.
#[derive(Debug, Default)]
pub(in super::super) struct TableChanges {
    /// Number of the tick in which the table was collected before the last collection.
    pub before: Option<u64>,
    /// `true` if the trace has everything that differs from the table's rows before.
    pub is_known: bool,
    pub steps: Vec<RowStep>,
    /// Row and column of each cell whose value differs, in the rows as they are now, and the difference. New rows
    /// have none.
    pub cells: Vec<((u32, u32), u64)>,
    /// Row and column of each cell whose state differs, in the rows as they are now, ascending.
    pub states: Vec<(u32, u32)>,
}

impl TickTrace {
    /// Creates a trace of the changes of this number of tables.
    pub fn new(tables: usize) -> Self {
        let mut trace = Self::default();
        trace.tables.resize_with(tables, TableChanges::default);
        trace
    }

    /// Returns the entry for the changes of the table with this number.
    pub fn table(&mut self, number: usize) -> Option<&mut TableChanges> {
        self.tables.get_mut(number)
    }

    /// Returns the changes of a table if they lead from its collection at the tick `before` to the last one.
    pub fn since(&self, number: usize, before: Option<u64>) -> Option<&TableChanges> {
        let changes = self.tables.get(number)?;
        (changes.is_known && before.is_some() && changes.before == before).then_some(changes)
    }

    /// Removes the changes of all tables from the trace.
    pub fn clear(&mut self) {
        for table in &mut self.tables {
            (table.before, table.is_known) = (None, false);
            table.steps.clear();
            table.cells.clear();
            table.states.clear();
        }
    }
}
