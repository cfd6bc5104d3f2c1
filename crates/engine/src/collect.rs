//! How a query's entries are collected together: grouped by counterset, laid out once, then only written over.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;
use std::sync::Arc;
use std::time::Instant;

use perfset_core::clock::ClockReading;
use perfset_core::v2::raw::Cell;
use perfset_core::v2::{BlockBuilder, Kind, Patch, PatchResult, TableBuilder};
use perfset_core::{CounterId, Counterset, InstanceId, NoValue, Status};

use crate::entry::{Counters, Entry};
use crate::error::SourceError;
use crate::filters::{InstanceFilter, InstanceFilters};
use crate::machine::Shared;
use crate::own::Account;
use crate::pattern::Pattern;
use crate::provider::Want;
use crate::rows::{Cells, Rows};
use crate::snapshot::{EntryAnnex, EntryInfo, RowNote, Snapshot};

/// What a query's entries mean for the registry as it is, and their rows of the last collection.
#[derive(Debug)]
pub(crate) struct Plan {
    revision: u64,
    infos: Arc<[EntryInfo]>,
    groups: Vec<Group>,
    entries: Vec<Planned>,
    /// Changes whenever a block has to be laid out anew.
    layout: u64,
}

/// All that is asked of one counterset: read once, however many entries want it.
#[derive(Debug)]
struct Group {
    set: Arc<Counterset>,
    slot: usize,
    counters: Vec<CounterId>,
    filters: InstanceFilters,
    /// By filter: the rows that it selects, ascending; of a name without wildcards the first only.
    selections: Vec<Vec<usize>>,
    /// By filter, while an annex is written: what it says of those rows.
    shared_notes: Vec<Option<Arc<Vec<RowNote>>>>,
    /// Whether `selections` are not those of `rows`.
    unselected: bool,
    rows: Rows,
    /// By column: the entries of several instances that want it, and its place among their columns.
    wanted_by: Vec<Vec<(usize, usize)>>,
    outcome: Result<(), SourceError>,
}

/// One entry.
#[derive(Debug)]
struct Planned {
    target: Result<Target, SourceError>,
    form: Form,
}

#[derive(Debug)]
struct Target {
    group: usize,
    /// Its columns in the group's rows.
    columns: Vec<usize>,
    /// Whether those are all the group's columns in their order.
    all_columns: bool,
    /// Its filter in the group's filters.
    filter: usize,
    kind: Kind,
}

/// What an entry's result looks like now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Failed(Status),
    /// The values of one row.
    Row(usize),
    /// The values of all selected rows.
    Table,
}

impl Plan {
    pub fn new<'a>(shared: &Shared, entries: impl Iterator<Item = &'a Entry>) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let mut wanted: Vec<Vec<bool>> = Vec::new(); // by group, by position in the counterset
        let mut infos = Vec::new();
        let mut targets = Vec::new();
        let mut filters: Vec<Vec<InstanceFilter>> = Vec::new(); // by group
        let mut known: HashMap<(usize, InstanceFilter), usize> = HashMap::new(); // by group; places there
        for entry in entries {
            let found = shared
                .find(&entry.counterset)
                .and_then(|(set, slot)| Ok((set, slot, positions(set, &entry.counters)?)));
            let (set, slot, counters) = match found {
                Ok(found) => found,
                Err(error) => {
                    let set = shared.find(&entry.counterset).ok().map(|(set, _)| Arc::clone(set));
                    infos.push(EntryInfo::new(entry.clone(), set, Vec::new()));
                    targets.push(Err(error));
                    continue;
                }
            };
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
                None => (Pattern::any(), false),
            };
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
            let kind = match (one_counter, wild) {
                (true, false) => Kind::SingleCounter,
                (false, false) => Kind::MultipleCounters,
                (true, true) => Kind::MultipleInstances,
                (false, true) => Kind::Counterset,
            };
            targets.push(Ok((at, counters.clone(), place, kind)));
            infos.push(EntryInfo::new(entry.clone(), Some(Arc::clone(set)), counters));
        }
        for ((group, wanted), filters) in groups.iter_mut().zip(&wanted).zip(filters) {
            group.selections = vec![Vec::new(); filters.len()];
            group.shared_notes = vec![None; filters.len()];
            group.filters = filters.into_iter().collect();
            let counters = group.set.counters.iter().zip(wanted).filter(|(_, wanted)| **wanted);
            group.counters = counters.clone().map(|(counter, _)| counter.id).collect();
            group.rows = Rows::new(counters.map(|(counter, _)| counter));
        }
        let planned = |target: Result<(usize, Vec<usize>, usize, Kind), SourceError>| Planned {
            target: target.map(|(group, counters, filter, kind)| {
                let wanted = wanted.get(group).map(Vec::as_slice).unwrap_or_default();
                let column = |at: usize| wanted.iter().take(at).filter(|wanted| **wanted).count();
                let columns: Vec<_> = counters.into_iter().map(column).collect();
                let all_columns = columns.len() == wanted.iter().filter(|wanted| **wanted).count();
                Target { group, columns, all_columns, filter, kind }
            }),
            form: Form::Failed(Status::ERROR_SUCCESS), // not a form that any collection gives
        };
        let entries: Vec<_> = targets.into_iter().map(planned).collect();
        for (entry, planned) in entries.iter().enumerate() {
            let Ok(target) = &planned.target else { continue };
            let Some(group) = groups.get_mut(target.group) else { continue };
            group.wanted_by.resize(group.counters.len(), Vec::new());
            if !target.is_of_several() {
                continue;
            }
            for (at, column) in target.columns.iter().enumerate() {
                if let Some(wanted_by) = group.wanted_by.get_mut(*column) {
                    wanted_by.push((entry, at));
                }
            }
        }
        EntryInfo::relate(&mut infos);
        Self { revision: shared.revision, infos: infos.into(), groups, entries, layout: next_number() }
    }

    /// The registry that it was made for.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Takes over what another plan's snapshots are paired by, if the entries mean the same as there: a counterset
    /// that others registered meanwhile costs no interval.
    pub fn follow(&mut self, before: &Self) {
        let same = |(a, b): (&EntryInfo, &EntryInfo)| a.means_as(b);
        if self.infos.len() == before.infos.len() && self.infos.iter().zip(before.infos.iter()).all(same) {
            self.infos = Arc::clone(&before.infos);
        }
    }

    pub fn infos(&self) -> Arc<[EntryInfo]> {
        Arc::clone(&self.infos)
    }

    pub fn collect(&mut self, shared: &mut Shared, snapshot: &mut Snapshot) -> Result<(), SourceError> {
        let clocks = shared.clock.read();
        let started = Instant::now();
        let collection = next_number();
        for group in &mut self.groups {
            group.collect(shared, collection);
        }
        if self.shape() {
            self.layout = next_number();
        }
        let laid_out = self.write(&clocks, snapshot)?;
        let mut account = self.annotate(snapshot);
        account.laid_out = laid_out;
        account.took = started.elapsed();
        account.perf_freq = clocks.perf_freq;
        account.block_bytes = u64::try_from(snapshot.block.len()).unwrap_or(u64::MAX);
        shared.ledger.add(&account);
        Ok(())
    }

    /// Finds the rows and the form of every entry; true if any differs from the collection before.
    fn shape(&mut self) -> bool {
        let mut changed = false;
        for group in &mut self.groups {
            changed |= group.select();
        }
        for Planned { target, form } in &mut self.entries {
            let now = match target {
                Err(error) => Form::Failed(error.status()),
                Ok(target) => match self.groups.get(target.group) {
                    Some(group) => target.form(group),
                    None => Form::Failed(Status::ERROR_NO_DATA),
                },
            };
            changed |= now != *form;
            *form = now;
        }
        changed
    }

    /// Writes the block; true if it was laid out anew.
    fn write(&self, clocks: &ClockReading, snapshot: &mut Snapshot) -> Result<bool, SourceError> {
        snapshot.clocks = *clocks;
        if snapshot.layout == self.layout && self.patch(clocks, &mut snapshot.block).is_some() {
            return Ok(false);
        }
        snapshot.layout = 0;
        snapshot.entries = Arc::clone(&self.infos);
        snapshot.block = self.build(clocks, std::mem::take(&mut snapshot.block))?;
        snapshot.layout = self.layout;
        Ok(true)
    }

    fn build(&self, clocks: &ClockReading, buffer: Vec<u8>) -> Result<Vec<u8>, SourceError> {
        let mut buffer = buffer;
        buffer.clear();
        buffer.reserve_exact(self.block_len());
        let mut builder = BlockBuilder::reuse(buffer, clocks);
        let mut written: HashMap<(usize, usize), usize> = HashMap::new(); // by group and filter: one counter of all
        for (planned, info) in self.entries.iter().zip(self.infos.iter()) {
            let (group, target) = match (&planned.target, planned.form) {
                (_, Form::Failed(status)) => {
                    builder.error(status);
                    continue;
                }
                (Err(error), _) => {
                    builder.error(error.status());
                    continue;
                }
                (Ok(target), _) => (self.groups.get(target.group), target),
            };
            let Some(group) = group else { continue };
            let rows = &group.rows;
            let cells = |row| {
                let cells = rows.cells(row);
                target.columns.iter().map(move |at| cells.get(*at))
            };
            let ids = info.counters().map(|counter| counter.id);
            let fill = |mut table: TableBuilder<'_>| {
                for row in group.selection(target) {
                    table.row(
                        rows.name(*row).iter().copied(),
                        rows.id(*row).unwrap_or(InstanceId(0)),
                        cells(*row),
                    );
                }
                table.finish();
            };
            match (target.kind, planned.form) {
                (Kind::SingleCounter, Form::Row(row)) => {
                    builder.single(cells(row).next().unwrap_or(Cell::EMPTY))
                }
                (_, Form::Row(row)) => {
                    builder.multiple_counters(ids.zip(cells(row)).collect::<Vec<_>>());
                }
                (Kind::Counterset, _) => fill(builder.counterset(ids)),
                (_, _) => match written.entry((target.group, target.filter)) {
                    Place::Occupied(before) => {
                        let values = group.selection(target).iter().filter_map(|row| cells(*row).next());
                        builder.again(*before.get(), values);
                    }
                    Place::Vacant(place) => {
                        place.insert(builder.position());
                        fill(builder.multiple_instances());
                    }
                },
            }
        }
        builder.finish().map_err(|_| SourceError::TooLarge)
    }

    /// About as many bytes as a block has.
    fn block_len(&self) -> usize {
        const HEADERS: usize = 64; // of the block, of a result
        const ROW: usize = 16; // its header, and what a name is padded with
        let mut len = HEADERS;
        for planned in &self.entries {
            let Ok(target) = &planned.target else { continue };
            let Some(group) = self.groups.get(target.group) else { continue };
            let selected = planned.selected(group);
            let names = selected.iter().map(|row| group.rows.name(*row).len()).sum::<usize>();
            let of_row = size_of::<Cell>().saturating_mul(target.columns.len()).saturating_add(ROW);
            len = len.saturating_add(HEADERS).saturating_add(target.columns.len().saturating_mul(4));
            len = len
                .saturating_add(names.saturating_mul(2))
                .saturating_add(selected.len().saturating_mul(of_row));
        }
        len
    }

    /// Writes values and clocks over those of a block with this layout.
    fn patch(&self, clocks: &ClockReading, block: &mut [u8]) -> Option<()> {
        let mut patch = Patch::new(block, clocks)?;
        for planned in &self.entries {
            match (patch.result()?, planned.form) {
                (PatchResult::Error, Form::Failed(_)) => {}
                (PatchResult::Cells(cells), Form::Row(row)) => {
                    let target = planned.target.as_ref().ok()?;
                    target.copy(self.groups.get(target.group)?.rows.cells(row), cells);
                }
                (PatchResult::Table(mut table), Form::Table) => {
                    let target = planned.target.as_ref().ok()?;
                    let group = self.groups.get(target.group)?;
                    for row in group.selection(target) {
                        target.copy(group.rows.cells(*row), table.row()?);
                    }
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Writes the annex, and counts what is missing.
    fn annotate(&mut self, snapshot: &mut Snapshot) -> Account {
        let mut account = Account::default();
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
        annexes.resize_with(self.entries.len(), EntryAnnex::default);
        self.note_rows(annexes);
        for (planned, annex) in self.entries.iter().zip(annexes.iter_mut()) {
            annex.failure = self.failure(planned);
            annex.notes.clear();
            annex.reasons.clear();
            annex.clocks = None;
            account.failed_entries =
                account.failed_entries.saturating_add(u64::from(annex.failure.is_some()));
            let Ok(target) = &planned.target else { continue };
            let Some(group) = self.groups.get(target.group) else { continue };
            let rows = &group.rows;
            annex.clocks = rows.clocks();
            if rows.has_column_reasons() {
                let reason = |column: &usize| rows.column_reason(*column).cloned();
                annex.reasons.extend(target.columns.iter().map(reason));
            }
            if let Form::Row(row) = planned.form {
                for (column, note) in rows.notes(row) {
                    if let Ok(at) = target.columns.binary_search(&column) {
                        annex.notes.push(((0, at), note.clone()));
                    }
                }
            }
        }
        // Those of several instances note by note, not entry by entry: there may be many, and none should search.
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

    /// Writes what the annex says of rows: once for all entries that select the same ones.
    fn note_rows(&mut self, annexes: &mut [EntryAnnex]) {
        let Self { groups, entries, .. } = self;
        for (planned, annex) in entries.iter().zip(annexes.iter_mut()) {
            let kept = annex.rows.take();
            let Ok(target) = &planned.target else { continue };
            let Some(group) = groups.get_mut(target.group) else { continue };
            match planned.form {
                Form::Failed(_) => {}
                Form::Row(row) => annex.rows = Some(group.notes(kept, &[row])),
                Form::Table => {
                    if let Some(shared @ None) = group.shared_notes.get_mut(target.filter) {
                        *shared = Some(kept.unwrap_or_default());
                    }
                }
            }
        }
        // Now nobody else holds what is kept.
        for group in groups.iter_mut() {
            for at in 0..group.shared_notes.len() {
                let kept = group.shared_notes.get_mut(at).and_then(Option::take);
                let notes = kept.map(|kept| {
                    let selection = group.selections.get(at).map(Vec::as_slice).unwrap_or_default();
                    group.notes(Some(kept), selection)
                });
                if let Some(shared) = group.shared_notes.get_mut(at) {
                    *shared = notes;
                }
            }
        }
        for (planned, annex) in entries.iter().zip(annexes.iter_mut()) {
            if let (Form::Table, Ok(target)) = (planned.form, &planned.target) {
                let group = groups.get(target.group);
                annex.rows = group.and_then(|group| group.shared_notes.get(target.filter)?.clone());
            }
        }
        groups.iter_mut().for_each(|group| group.shared_notes.fill(None));
    }

    fn failure(&self, planned: &Planned) -> Option<NoValue> {
        let Form::Failed(status) = planned.form else { return None };
        let target = match &planned.target {
            Ok(target) => target,
            Err(error) => return Some(error.reason()),
        };
        let group = self.groups.get(target.group)?;
        if let Err(error) = &group.outcome {
            return Some(error.reason());
        }
        let row = group.selection(target).first();
        let cell = row.zip(target.columns.first());
        Some(match cell.and_then(|(row, column)| group.rows.reason(*row, *column)) {
            Some(reason) => reason.clone(),
            None if row.is_none() && status == Status::ERROR_NO_DATA => NoValue::NoInstance,
            None => NoValue::Status(status),
        })
    }
}

/// Where those counters are in their counterset, ascending.
fn positions(set: &Counterset, counters: &Counters) -> Result<Vec<usize>, SourceError> {
    let Some(ids) = counters.ids() else { return Ok((0..set.counters.len()).collect()) };
    let position = |id: &CounterId| {
        let at = set.counters.iter().position(|counter| counter.id == *id);
        at.ok_or(SourceError::UnknownCounter { counterset: set.guid, counter: *id })
    };
    let mut positions: Vec<_> = ids.iter().map(position).collect::<Result<_, _>>()?;
    positions.sort_unstable();
    Ok(positions)
}

/// Marks those counters and what they are divided by.
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

impl Group {
    fn new(set: &Arc<Counterset>, slot: usize) -> Self {
        Self {
            set: Arc::clone(set),
            slot,
            counters: Vec::new(),
            filters: InstanceFilters::default(),
            selections: Vec::new(),
            shared_notes: Vec::new(),
            unselected: true,
            rows: Rows::default(),
            wanted_by: Vec::new(),
            outcome: Ok(()),
        }
    }

    fn collect(&mut self, shared: &mut Shared, collection: u64) {
        let Self { set, slot, counters, filters, rows, outcome, .. } = self;
        let want = Want { counterset: set, counters, instances: filters, collection };
        rows.start();
        *outcome = shared.with_provider(*slot, |provider| provider.collect(&want, rows));
        rows.end();
    }

    /// Finds the rows of every filter if they may have changed; true if they may.
    fn select(&mut self) -> bool {
        let changed = self.rows.changed();
        self.unselected |= changed;
        if self.outcome.is_err() || !self.unselected {
            return changed;
        }
        let Self { filters, selections, rows, .. } = self;
        selections.iter_mut().for_each(Vec::clear);
        for row in 0..rows.len() {
            let Some(id) = rows.id(row) else { continue };
            for at in filters.matching(rows.name(row).iter().copied(), id) {
                let (Some(selection), Some(filter)) = (selections.get_mut(at), filters.get(at)) else {
                    continue;
                };
                if selection.is_empty() || filter.pattern.has_wildcard() {
                    selection.push(row);
                }
            }
        }
        self.unselected = false;
        changed
    }

    /// What an annex says of these rows, in memory that is kept.
    fn notes(&self, kept: Option<Arc<Vec<RowNote>>>, selected: &[usize]) -> Arc<Vec<RowNote>> {
        let mut notes = kept.filter(|kept| Arc::strong_count(kept) == 1).unwrap_or_default();
        if let Some(notes) = Arc::get_mut(&mut notes) {
            let rows = &self.rows;
            notes.clear();
            notes.extend(selected.iter().map(|row| RowNote {
                id: rows.id(*row),
                birth: rows.birth(*row),
                owner: rows.owner(*row),
                mark: rows.row_mark(*row),
            }));
        }
        notes
    }

    /// The rows that a target's filter selects.
    fn selection(&self, target: &Target) -> &[usize] {
        self.selections.get(target.filter).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Planned {
    /// The rows that are in its result, ascending.
    fn selected<'a>(&'a self, group: &'a Group) -> &'a [usize] {
        match (&self.form, &self.target) {
            (Form::Row(row), _) => std::slice::from_ref(row),
            (Form::Table, Ok(target)) => group.selection(target),
            _ => &[],
        }
    }

    /// Where a row is in its result.
    fn position(&self, group: &Group, row: usize) -> Option<usize> {
        let selected = self.selected(group);
        if selected.get(row) == Some(&row) {
            return Some(row); // all rows up to it are selected, as is usual
        }
        selected.binary_search(&row).ok()
    }
}

impl Target {
    /// Whether its result has a row for each selected instance, not only the values of one.
    fn is_of_several(&self) -> bool {
        matches!(self.kind, Kind::MultipleInstances | Kind::Counterset)
    }

    /// The form of the result.
    fn form(&self, group: &Group) -> Form {
        if let Err(error) = &group.outcome {
            return Form::Failed(error.status());
        }
        let rows = &group.rows;
        match group.selection(self).first() {
            None => Form::Failed(Status::ERROR_NO_DATA),
            Some(_) if self.is_of_several() => Form::Table,
            Some(row) if self.kind == Kind::SingleCounter && self.is_empty(rows.cells(*row)) => {
                Form::Failed(Status::ERROR_NO_DATA)
            }
            Some(row) => Form::Row(*row),
        }
    }

    fn is_empty(&self, cells: Cells<'_>) -> bool {
        self.columns.first().is_some_and(|at| cells.get(*at) == Cell::EMPTY)
    }

    #[inline]
    fn copy(&self, from: Cells<'_>, to: &mut [Cell]) {
        if self.all_columns {
            to.iter_mut().zip(from.iter()).for_each(|(to, from)| *to = from);
            return;
        }
        for (column, cell) in self.columns.iter().zip(to) {
            *cell = from.get(*column);
        }
    }
}

/// A number that no layout and no collection of this process had.
fn next_number() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}
