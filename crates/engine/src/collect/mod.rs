//! Collects the entries of a query together: grouped by counterset, laid out once, then only overwritten.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;
use std::sync::Arc;
use std::time::Instant;

use perfset_core::clock::ClockReading;
use perfset_core::v2::raw::Cell;
use perfset_core::v2::{BlockBuilder, CounterDataType, PatchResult, TableBuilder};
use perfset_core::{CounterId, Counterset, InstanceId, NoValue, Status};

use crate::engine_counters::CollectionCost;
use crate::entry::{Counters, Entry};
use crate::error::SourceError;
use crate::filters::InstanceFilter;
use crate::group::Group;
use crate::machine::Shared;
use crate::pattern::Pattern;
use crate::snapshot::{EntryMetadata, ResolvedEntry, Snapshot};

/// Entries of a query resolved against the current registry, and their rows of the last collection.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Registry revision of this plan; `None` if the entries have changed since.
    revision: Option<u64>,
    infos: Arc<[ResolvedEntry]>,
    groups: Vec<Group>,
    entries: Vec<EntryPlan>,
    /// Number of the block layout; changes whenever a block must be laid out again.
    layout: u64,
}

/// Entry with its place in the plan and the form of its last result.
#[derive(Debug)]
struct EntryPlan {
    target: Result<Target, SourceError>,
    form: ResultForm,
}

#[derive(Debug)]
struct Target {
    group: usize,
    /// Index of each of the entry's columns in the group's rows.
    columns: Vec<usize>,
    /// `true` if `columns` are all the group's columns in their order.
    all_columns: bool,
    /// Index of the entry's filter in the group's filters.
    filter: usize,
    kind: CounterDataType,
    /// `true` if the entry's table has all rows of the group, and no other entry has any of them.
    is_whole: bool,
}

/// Current form of an entry's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResultForm {
    Failed(Status),
    /// Values of one row.
    Row(usize),
    /// Values of all selected rows.
    Table,
}

/// Position of the first single-counter table with the same instances, by group and filter.
type Written = HashMap<(usize, usize), usize>;

impl Plan {
    pub fn new<'a>(shared: &Shared, entries: impl Iterator<Item = &'a Entry>) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let mut wanted: Vec<Vec<bool>> = Vec::new(); // by group, by position in the counterset
        let mut infos = Vec::new();
        let mut targets = Vec::new();
        let mut filters: Vec<Vec<InstanceFilter>> = Vec::new(); // by group
        let mut known: HashMap<(usize, InstanceFilter), usize> = HashMap::new(); // by group; places there
        for entry in entries {
            // An entry that cannot be resolved stays in the plan, so that results keep the order of the
            // entries.
            let found = shared
                .find(&entry.counterset)
                .and_then(|(set, slot)| Ok((set, slot, positions(set, &entry.counters)?)));
            let (set, slot, counters) = match found {
                Ok(found) => found,
                Err(error) => {
                    let set = shared.find(&entry.counterset).ok().map(|(set, _)| Arc::clone(set));
                    infos.push(ResolvedEntry::new(entry.clone(), set, Vec::new()));
                    targets.push(Err(error));
                    continue;
                }
            };
            // One group per counterset: its provider is requested once for all entries.
            let at = match groups.iter().position(|group| group.set.guid == set.guid) {
                Some(at) => at,
                None => {
                    groups.push(Group::new(set, slot));
                    wanted.push(vec![false; set.counters.len()]);
                    filters.push(Vec::new());
                    groups.len().saturating_sub(1)
                }
            };
            let (pattern, wild) = match &entry.instance {
                Some(name) => (Pattern::new(name), Pattern::new(name).has_wildcard()),
                // The only row of the counterset: its result has the form of one instance.
                None => (Pattern::any(), false),
            };
            // Equal filters of a group are stored once, so that their rows are found once.
            let filter = InstanceFilter { pattern, id: entry.instance_id };
            let mut place = 0;
            if let (Some(filters), Some(wanted)) = (filters.get_mut(at), wanted.get_mut(at)) {
                mark_wanted(set, &counters, wanted);
                place = *known.entry((at, filter.clone())).or_insert_with(|| {
                    filters.push(filter);
                    filters.len().saturating_sub(1)
                });
            }
            let one_counter = entry.counters.ids().is_some_and(|ids| ids.len() == 1);
            // The four kinds of results that PerfLib V2 has: one or several counters, of one or several
            // instances.
            let kind = match (one_counter, wild) {
                (true, false) => CounterDataType::SingleCounter,
                (false, false) => CounterDataType::MultipleCounters,
                (true, true) => CounterDataType::MultipleInstances,
                (false, true) => CounterDataType::Counterset,
            };
            targets.push(Ok((at, counters.clone(), place, kind)));
            infos.push(ResolvedEntry::new(entry.clone(), Some(Arc::clone(set)), counters));
        }
        for ((group, wanted), filters) in groups.iter_mut().zip(&wanted).zip(filters) {
            group.prepare(filters, wanted);
        }
        // A column is the position among the wanted counters. It is known only now, when all entries have
        // marked theirs.
        let planned = |target: Result<(usize, Vec<usize>, usize, CounterDataType), SourceError>| EntryPlan {
            target: target.map(|(group, counters, filter, kind)| {
                let wanted = wanted.get(group).map(Vec::as_slice).unwrap_or_default();
                let column = |at: usize| wanted.iter().take(at).filter(|wanted| **wanted).count();
                let columns: Vec<_> = counters.into_iter().map(column).collect();
                let all_columns = columns.len() == wanted.iter().filter(|wanted| **wanted).count();
                Target { group, columns, all_columns, filter, kind, is_whole: false }
            }),
            form: ResultForm::Failed(Status::ERROR_SUCCESS), // not a form that any collection gives
        };
        let mut entries: Vec<_> = targets.into_iter().map(planned).collect();
        let mut entry_counts = vec![0_usize; groups.len()];
        for target in entries.iter().flat_map(|planned| &planned.target) {
            if let Some(count) = entry_counts.get_mut(target.group) {
                *count = count.saturating_add(1);
            }
        }
        for (entry, planned) in entries.iter_mut().enumerate() {
            let Ok(target) = &mut planned.target else { continue };
            let Some(group) = groups.get_mut(target.group) else { continue };
            // A sole entry that selects every row is written straight into the block. Any other entry needs
            // the rows in the group, and rows of aggregates are added there.
            target.is_whole = entry_counts.get(target.group) == Some(&1)
                && target.is_of_several()
                && target.all_columns
                && group.is_plain()
                && group.filters.first().is_some_and(InstanceFilter::is_any);
            group.in_block = target.is_whole;
            group.wanted_by.resize(group.counters.len(), Vec::new());
            // Only tables need the way from a column to its entries: the notes of a single row are found by
            // its index.
            if !target.is_of_several() {
                continue;
            }
            for (at, column) in target.columns.iter().enumerate() {
                if let Some(wanted_by) = group.wanted_by.get_mut(*column) {
                    wanted_by.push((entry, at));
                }
            }
        }
        ResolvedEntry::relate(&mut infos);
        Self { revision: Some(shared.revision), infos: infos.into(), groups, entries, layout: next_number() }
    }

    /// Returns `true` if the plan is for the current entries and this registry.
    pub fn is_for(&self, shared: &Shared) -> bool {
        self.revision == Some(shared.revision)
    }

    /// Marks the plan as outdated because the entries changed.
    pub fn outdate(&mut self) {
        self.revision = None;
    }

    /// Copies the identity that pairs snapshots from another plan, if the entries mean the same there. So a
    /// counterset that others registered meanwhile costs no interval. Also copies the data about instances that have
    /// ended.
    pub fn follow(&mut self, mut before: Self) {
        let same = |(a, b): (&ResolvedEntry, &ResolvedEntry)| a.means_as(b);
        if self.infos.len() == before.infos.len() && self.infos.iter().zip(before.infos.iter()).all(same) {
            // Two snapshots with the same `Arc` are paired without a comparison of their entries.
            self.infos = Arc::clone(&before.infos);
        }
        for group in &mut self.groups {
            let same_set = |other: &&mut Group| Arc::ptr_eq(&other.set, &group.set);
            if let Some(before) = before.groups.iter_mut().find(same_set) {
                group.follow(before);
            }
        }
    }

    pub fn infos(&self) -> Arc<[ResolvedEntry]> {
        Arc::clone(&self.infos)
    }

    pub fn collect(&mut self, shared: &mut Shared, snapshot: &mut Snapshot) -> Result<(), SourceError> {
        // Once, and before any provider is called: all entries of a block have the same time.
        let clocks = shared.clock.read();
        let started = Instant::now();
        let collection = next_number();
        // Start all slow sources before waiting for any of them.
        let until = started.checked_add(shared.deadline).unwrap_or(started);
        for group in &self.groups {
            group.begin(shared, collection, until);
        }
        for group in self.groups.iter_mut().filter(|group| !group.in_block) {
            group.collect(shared, collection, clocks.time_100ns);
        }
        if self.shape() {
            self.layout = next_number();
        }
        let written = self.write(shared, collection, &clocks, snapshot);
        for EntryPlan { target, form } in &self.entries {
            let Ok(target) = target else { continue };
            if let Some(group) = self.groups.get_mut(target.group) {
                // After a failure the rows stay in the group, so that a provider that goes on failing moves
                // nothing in the block.
                group.in_block = target.is_whole && *form == ResultForm::Table;
            }
        }
        let laid_out = written?;
        let mut account = self.annotate(snapshot);
        account.laid_out = laid_out;
        account.took = started.elapsed();
        account.perf_freq = clocks.perf_freq;
        account.block_bytes = u64::try_from(snapshot.block.len()).unwrap_or(u64::MAX);
        shared.ledger.add(&account);
        Ok(())
    }

    /// Determines the form of every entry whose rows are collected; returns `true` if any form or row changed since
    /// the last collection.
    fn shape(&mut self) -> bool {
        let Self { groups, entries, .. } = self;
        let mut changed = false;
        for group in groups.iter().filter(|group| !group.in_block) {
            changed |= group.rows.changed();
        }
        for EntryPlan { target, form } in entries {
            let now = match target {
                Err(error) => ResultForm::Failed(error.status()),
                Ok(target) => match groups.get(target.group) {
                    Some(group) if group.in_block => continue,
                    Some(group) => target.form(group),
                    None => ResultForm::Failed(Status::ERROR_NO_DATA),
                },
            };
            changed |= now != *form;
            *form = now;
        }
        changed
    }

    /// Overwrites the existing block, and collects groups that are written into it directly. Returns `true` if
    /// anything in the block moved.
    fn write(
        &mut self,
        shared: &mut Shared,
        collection: u64,
        clocks: &ClockReading,
        snapshot: &mut Snapshot,
    ) -> Result<bool, SourceError> {
        // Taken, so that a collection that fails leaves a snapshot whose block is laid out again next time.
        let is_laid_out = std::mem::take(&mut snapshot.layout) == self.layout;
        snapshot.clocks = *clocks;
        snapshot.entries = Arc::clone(&self.infos);
        let mut block = std::mem::take(&mut snapshot.block);
        if !is_laid_out {
            // Exact, because the snapshot keeps this memory: growth by doubling can leave half of it unused.
            block.reserve_exact(self.block_len().saturating_sub(block.len()));
        }
        let mut builder = BlockBuilder::over(block, clocks);
        let Self { groups, entries, infos, layout, .. } = self;
        let mut written = Written::new();
        for (planned, info) in entries.iter_mut().zip(infos.iter()) {
            let EntryPlan { target, form } = planned;
            let target = match target {
                Ok(target) => target,
                Err(error) => {
                    builder.error(error.status());
                    continue;
                }
            };
            let Some(group) = groups.get_mut(target.group) else { continue };
            if group.in_block {
                let now = target.collect(group, info, &mut builder, |group, table| {
                    group.collect_in(table, shared, collection)
                });
                if now != *form {
                    *layout = next_number();
                }
                *form = now;
                continue;
            }
            let kept =
                is_laid_out.then(|| builder.keep(|result| target.patch(group, *form, result))).flatten();
            if kept.is_none() {
                target.build(group, *form, info, &mut builder, &mut written);
            }
        }
        let moved = !builder.is_kept();
        snapshot.block = builder.finish().map_err(|_| SourceError::TooLarge)?;
        snapshot.layout = *layout;
        Ok(moved)
    }

    /// Returns the approximate size of the block in bytes.
    fn block_len(&self) -> usize {
        const HEADERS: usize = 64; // of the block, of a result
        const ROW: usize = 16; // its header, and what a name is padded with
        let mut len = HEADERS;
        for planned in &self.entries {
            let Ok(target) = &planned.target else { continue };
            let Some(group) = self.groups.get(target.group).filter(|group| !group.in_block) else { continue };
            let selected = planned.selected(group);
            let names = selected.iter().map(|row| group.rows.name(*row).units().len()).sum::<usize>();
            let of_row = size_of::<Cell>().saturating_mul(target.columns.len()).saturating_add(ROW);
            len = len.saturating_add(HEADERS).saturating_add(target.columns.len().saturating_mul(4));
            len = len
                .saturating_add(names.saturating_mul(2))
                .saturating_add(selected.len().saturating_mul(of_row));
        }
        len
    }

    /// Writes the metadata of the entries, and counts missing values.
    fn annotate(&mut self, snapshot: &mut Snapshot) -> CollectionCost {
        let mut account = CollectionCost::default();
        for group in &self.groups {
            account.source_bytes = account.source_bytes.saturating_add(group.rows.bytes_read());
            account.missing_values = account.missing_values.saturating_add(group.rows.missing());
            let late = group.rows.is_late() || group.outcome == Err(SourceError::Late);
            account.source_layer = account.source_layer.max(group.rows.layer());
            account.late_providers = account.late_providers.saturating_add(u64::from(late));
            let failed = group.outcome.is_err() && !late;
            account.provider_failures = account.provider_failures.saturating_add(u64::from(failed));
        }
        let annexes = &mut snapshot.annex.entries;
        annexes.reserve_exact(self.entries.len().saturating_sub(annexes.len())); // there can be many queries of one
        annexes.resize_with(self.entries.len(), EntryMetadata::default);
        self.note_rows(annexes);
        for (planned, annex) in self.entries.iter().zip(annexes.iter_mut()) {
            annex.failure = self.failure(planned);
            annex.notes.clear();
            annex.reasons.clear();
            annex.clocks = None;
            annex.took = None;
            annex.instance_id = None;
            annex.instance.clear();
            account.failed_entries =
                account.failed_entries.saturating_add(u64::from(annex.failure.is_some()));
            let Ok(target) = &planned.target else { continue };
            let Some(group) = self.groups.get(target.group) else { continue };
            let rows = &group.rows;
            annex.clocks = rows.clocks();
            annex.took = Some(group.took);
            if rows.has_column_reasons() {
                let reason = |column: &usize| rows.column_reason(*column).cloned();
                annex.reasons.extend(target.columns.iter().map(reason));
            }
            // If its only value is missing, the entry fails, and its instance still has a name.
            let named = group.selection(target.filter).first().filter(|_| group.outcome.is_ok());
            let is_one = group.set.instance_type.is_multiple() && !target.is_of_several();
            if let (Some(row), true) = (named, is_one) {
                annex.instance.extend_from_slice(rows.name(*row).as_bytes());
            }
            if let ResultForm::Row(row) = planned.form {
                annex.instance_id = rows.id(row);
                for (column, note) in rows.notes(row) {
                    if let Some(at) = place(&target.columns, column) {
                        annex.notes.push(((0, at), note.clone()));
                    }
                }
            }
        }
        // For entries of several instances, visit note by note instead of entry by entry: there may be many, and this
        // avoids searches.
        for group in &self.groups {
            for (row, column, note) in group.rows.all_notes() {
                for (entry, column) in group.wanted_by.get(column).map(Vec::as_slice).unwrap_or_default() {
                    let at = self.entries.get(*entry).and_then(|planned| planned.position(group, row));
                    let (Some(at), Some(annex)) = (at, annexes.get_mut(*entry)) else { continue };
                    annex.notes.push(((at, *column), note.clone()));
                }
            }
        }
        account
    }

    /// Writes the row metadata: once for all entries that select the same rows.
    fn note_rows(&mut self, annexes: &mut [EntryMetadata]) {
        let Self { groups, entries, .. } = self;
        for (planned, annex) in entries.iter().zip(annexes.iter_mut()) {
            let kept = annex.rows.take();
            let Ok(target) = &planned.target else { continue };
            let Some(group) = groups.get_mut(target.group) else { continue };
            match planned.form {
                ResultForm::Failed(_) => {}
                ResultForm::Row(row) => annex.rows = Some(group.metadata(kept, &[row])),
                ResultForm::Table => {
                    // The first entry with this filter lends its memory. The others drop their handles, so
                    // that no entry shares it.
                    if let Some(shared @ None) = group.shared.get_mut(target.filter) {
                        *shared = Some(kept.unwrap_or_default());
                    }
                }
            }
        }
        // No entry shares the stored metadata now, so it can be overwritten.
        for group in groups.iter_mut() {
            for at in 0..group.shared.len() {
                let kept = group.shared.get_mut(at).and_then(Option::take);
                let notes = kept.map(|kept| {
                    let selection = group.selections.get(at).map(Vec::as_slice).unwrap_or_default();
                    group.metadata(Some(kept), selection)
                });
                if let Some(shared) = group.shared.get_mut(at) {
                    *shared = notes;
                }
            }
        }
        for (planned, annex) in entries.iter().zip(annexes.iter_mut()) {
            if let (ResultForm::Table, Ok(target)) = (planned.form, &planned.target) {
                let group = groups.get(target.group);
                annex.rows = group.and_then(|group| group.shared.get(target.filter)?.clone());
            }
        }
        // Memory that the groups share with the snapshot could not be overwritten next time.
        groups.iter_mut().for_each(|group| group.shared.fill(None));
    }

    fn failure(&self, planned: &EntryPlan) -> Option<NoValue> {
        let ResultForm::Failed(status) = planned.form else { return None };
        let target = match &planned.target {
            Ok(target) => target,
            Err(error) => return Some(error.reason()),
        };
        let group = self.groups.get(target.group)?;
        if let Err(error) = &group.outcome {
            return Some(error.reason());
        }
        let row = group.selection(target.filter).first();
        let cell = row.zip(target.columns.first());
        Some(match cell.and_then(|(row, column)| group.rows.reason(*row, *column)) {
            Some(reason) => reason.clone(),
            None if row.is_none() && status == Status::ERROR_NO_DATA => NoValue::NoInstance,
            None => NoValue::Status(status),
        })
    }
}

/// Returns the positions of counters in their counterset, ascending. Unregistered counters are skipped if any other
/// is registered, because another version of the program might have replaced the old one.
fn positions(set: &Counterset, counters: &Counters) -> Result<Vec<usize>, SourceError> {
    let Some(ids) = counters.ids() else { return Ok((0..set.counters.len()).collect()) };
    let position = |id: &CounterId| set.counters.iter().position(|counter| counter.id == *id);
    let mut positions: Vec<_> = ids.iter().filter_map(position).collect();
    match ids.first().filter(|_| positions.is_empty()) {
        Some(counter) => Err(SourceError::UnknownCounter { counterset: set.guid, counter: *counter }),
        None => {
            // Results have the ids in registration order.
            positions.sort_unstable();
            Ok(positions)
        }
    }
}

/// Marks these counters and their bases as wanted.
fn mark_wanted(set: &Counterset, counters: &[usize], wanted: &mut [bool]) {
    for counter in counters.iter().filter_map(|at| set.counters.get(*at)) {
        for id in counter.needed() {
            let at = set.counters.iter().position(|c| c.id == id);
            if let Some(wanted) = at.and_then(|at| wanted.get_mut(at)) {
                *wanted = true;
            }
        }
    }
}

impl EntryPlan {
    /// Returns the rows in the entry's result, ascending.
    fn selected<'a>(&'a self, group: &'a Group) -> &'a [usize] {
        match (&self.form, &self.target) {
            (ResultForm::Row(row), _) => std::slice::from_ref(row),
            (ResultForm::Table, Ok(target)) => group.selection(target.filter),
            _ => &[],
        }
    }

    /// Returns the index of a row in the entry's result.
    fn position(&self, group: &Group, row: usize) -> Option<usize> {
        place(self.selected(group), row)
    }
}

/// Returns the index of a number in an ascending list.
fn place(list: &[usize], number: usize) -> Option<usize> {
    if list.get(number) == Some(&number) {
        return Some(number); // all up to it are there, as is usual
    }
    list.binary_search(&number).ok()
}

impl Target {
    /// Returns `true` if the result has a row for each selected instance, not only the values of one.
    fn is_of_several(&self) -> bool {
        matches!(self.kind, CounterDataType::MultipleInstances | CounterDataType::Counterset)
    }

    /// Returns the form of the result.
    fn form(&self, group: &Group) -> ResultForm {
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

    /// Collects the group's rows directly into the entry's table.
    fn collect(
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

    /// Writes the entry's values over those of a result with the same layout.
    fn patch(&self, group: &Group, form: ResultForm, result: PatchResult<'_>) -> Option<()> {
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

    /// Appends the entry's result to a block.
    fn build(
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

/// Returns a number that no layout and no collection of this process has had.
fn next_number() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    // One sequence for the process, because a snapshot can be passed from one query to another. Only
    // uniqueness matters, so `Relaxed` is enough.
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}

#[cfg(test)]
mod tests;
