//! Result of one query entry: the rows that it selects, its form, and how it is written into a block.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;

use perfset_core::v2::raw::Cell;
use perfset_core::v2::{BlockBuilder, CounterDataType, PatchResult, TableBuilder};
use perfset_core::{InstanceId, Status};

use crate::group::Group;
use crate::snapshot::ResolvedEntry;

#[derive(Debug)]
pub(super) struct Target {
    pub group: usize,
    /// Index of each of the entry's columns in the rows that are collected for all entries of the counterset.
    pub columns: Vec<usize>,
    /// `true` if the entry requests all columns that are collected for its counterset, in their order.
    pub all_columns: bool,
    /// Index of the entry's instance filter among those of its counterset.
    pub filter: usize,
    pub kind: CounterDataType,
    /// `true` if the entry's table has all rows of the counterset, and no other entry has any of them.
    pub is_whole: bool,
}

/// Current form of a query entry's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultForm {
    Failed(Status),
    /// Result with the values of one row.
    Row(usize),
    /// Result with a table of all selected rows.
    Table,
}

/// Offsets of tables in the block: for each counterset and instance filter, the first table with one counter.
pub(super) type Written = HashMap<(usize, usize), usize>;

impl Target {
    /// Returns `true` if the result of an entry has a row for each selected instance, not only the values of one row.
    pub fn is_of_several(&self) -> bool {
        matches!(self.kind, CounterDataType::MultipleInstances | CounterDataType::Counterset)
    }

    /// Returns the form that the entry's result has with the present rows.
    pub fn form(&self, group: &Group) -> ResultForm {
        if let Err(error) = &group.outcome {
            return ResultForm::Failed(error.status());
        }
        let rows = &group.rows;
        match group.selection(self.filter).first() {
            None => ResultForm::Failed(Status::ERROR_NO_DATA),
            Some(_) if self.is_of_several() => ResultForm::Table,
            Some(row) if self.kind == CounterDataType::SingleCounter && self.is_empty(rows.cells(*row)) => {
                // PERF_SINGLE_COUNTER cannot express a missing value, so the whole entry fails.
                ResultForm::Failed(Status::ERROR_NO_DATA)
            }
            Some(row) => ResultForm::Row(*row),
        }
    }

    fn is_empty(&self, cells: &[Cell]) -> bool {
        self.columns.first().and_then(|at| cells.get(*at)).is_some_and(Cell::is_empty)
    }

    /// Collects the rows of a counterset directly into the entry's table.
    pub fn collect(
        &self,
        group: &mut Group,
        info: &ResolvedEntry,
        builder: &mut BlockBuilder,
        collect: impl FnOnce(&mut Group, &mut TableBuilder<'_>),
    ) -> ResultForm {
        let mut table = self.table(info, builder);
        collect(group, &mut table);
        let form = self.form(group);
        match form {
            ResultForm::Failed(status) => table.fail(status),
            _ => table.finish(),
        }
        form
    }

    fn table<'a>(&self, info: &ResolvedEntry, builder: &'a mut BlockBuilder) -> TableBuilder<'a> {
        match self.kind {
            CounterDataType::Counterset => builder.counterset(info.counters().map(|counter| counter.id)),
            _ => builder.multiple_instances(),
        }
    }

    /// Writes the entry's values over those of an existing result with the same layout.
    pub fn patch(&self, group: &Group, form: ResultForm, result: PatchResult<'_>) -> Option<()> {
        match (result, form) {
            (PatchResult::Error, ResultForm::Failed(_)) => {}
            (PatchResult::Cells(cells), ResultForm::Row(row)) => self.copy(group.rows.cells(row), cells),
            (PatchResult::Table(mut table), ResultForm::Table) => {
                for row in group.selection(self.filter) {
                    self.copy(group.rows.cells(*row), table.row()?);
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Appends the query entry's result to a block.
    pub fn build(
        &self,
        group: &Group,
        form: ResultForm,
        info: &ResolvedEntry,
        builder: &mut BlockBuilder,
        written: &mut Written,
    ) {
        let rows = &group.rows;
        let selection = group.selection(self.filter);
        let cells = |row: usize| {
            let cells = rows.cells(row);
            self.columns.iter().map(move |at| cells.get(*at).copied().unwrap_or(Cell::EMPTY))
        };
        match (self.kind, form) {
            (_, ResultForm::Failed(status)) => return builder.error(status),
            (CounterDataType::SingleCounter, ResultForm::Row(row)) => {
                return builder.single(cells(row).next().unwrap_or(Cell::EMPTY));
            }
            (_, ResultForm::Row(row)) => {
                let ids = info.counters().map(|counter| counter.id);
                return builder.multiple_counters(ids.zip(cells(row)).collect::<Vec<_>>());
            }
            (CounterDataType::MultipleInstances, ResultForm::Table) => {
                // Another counter of these instances: copying its table costs less than encoding all names.
                match written.entry((self.group, self.filter)) {
                    Place::Occupied(before) => {
                        let values = selection.iter().filter_map(|row| cells(*row).next());
                        return builder.again(*before.get(), values);
                    }
                    Place::Vacant(place) => {
                        place.insert(builder.position());
                    }
                }
            }
            (_, ResultForm::Table) => {}
        }
        let mut table = self.table(info, builder);
        for row in selection {
            let id = rows.id(*row).unwrap_or(InstanceId(0));
            table.row(rows.name(*row).units(), id, cells(*row));
        }
        table.finish();
    }

    #[inline]
    fn copy(&self, from: &[Cell], to: &mut [Cell]) {
        if self.all_columns && from.len() == to.len() {
            return to.copy_from_slice(from);
        }
        for (column, cell) in self.columns.iter().zip(to) {
            *cell = from.get(*column).copied().unwrap_or(Cell::EMPTY);
        }
    }
}
