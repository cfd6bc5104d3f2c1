//! Collects the entries of a query together: grouped by counterset, laid out once, then only overwritten.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use perfset_core::clock::ClockReading;
use perfset_core::v2::raw::Cell;
use perfset_core::v2::{BlockBuilder, CounterDataType};
use perfset_core::{CounterId, Counterset, Status};

use crate::entry::{Counters, Entry};
use crate::error::SourceError;
use crate::filters::InstanceFilter;
use crate::group::Group;
use crate::pattern::Pattern;
use crate::provider::{CollectionStart, next_number};
use crate::registry::Shared;
use crate::snapshot::{ResolvedEntry, Snapshot};
use target::{ResultForm, Target, Written};

mod metadata;
mod target;

/// Plan of a query's collections: its entries resolved against the current registry, and their rows of the last
/// collection.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Registry revision for which this plan was made; `None` if the query's entries have changed since.
    revision: Option<u64>,
    infos: Arc<[ResolvedEntry]>,
    groups: Vec<Group>,
    entries: Vec<EntryPlan>,
    /// Number of the block layout; changes whenever a block must be laid out again.
    layout: u64,
}

/// Query entry with its target in the plan and the form of its last result.
#[derive(Debug)]
struct EntryPlan {
    target: Result<Target, SourceError>,
    form: ResultForm,
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

    /// Returns `true` if the plan is for the current entries of the query and for this registry.
    pub fn is_for(&self, shared: &Shared) -> bool {
        self.revision == Some(shared.revision)
    }

    /// Marks the collection plan as outdated because the query's entries changed.
    pub fn outdate(&mut self) {
        self.revision = None;
    }

    /// Takes over data of the previous plan: the identity that pairs snapshots, if the entries of both plans mean the
    /// same, and the data about instances that have ended. So a counterset that others registered meanwhile costs no
    /// interval.
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

    pub fn has_aggregates(&self) -> bool {
        !self.groups.iter().all(Group::is_plain)
    }

    pub fn infos(&self) -> Arc<[ResolvedEntry]> {
        Arc::clone(&self.infos)
    }

    pub fn collect(&mut self, shared: &mut Shared, snapshot: &mut Snapshot) -> Result<(), SourceError> {
        // Once, and before any provider is called: all entries of a block have the same time.
        let clocks = shared.clock.read();
        let started = Instant::now();
        let number = next_number();
        let collection = CollectionStart { number, time_100ns: clocks.time_100ns.try_into().unwrap_or(0) };
        // Start all slow sources before waiting for any of them.
        let until = started.checked_add(shared.deadline.length()).unwrap_or(started);
        for group in &self.groups {
            group.begin(shared, collection, until);
        }
        for group in self.groups.iter_mut().filter(|group| !group.in_block) {
            group.collect(shared, collection);
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

    /// Determines the form of the result of every query entry; returns `true` if any form or row changed since the
    /// last collection.
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

    /// Overwrites the existing block, and collects countersets that are written into it directly. Returns `true` if
    /// anything in the block moved.
    fn write(
        &mut self,
        shared: &mut Shared,
        collection: CollectionStart,
        clocks: &ClockReading,
        snapshot: &mut Snapshot,
    ) -> Result<bool, SourceError> {
        // Taken, so that a collection that fails leaves a snapshot whose block is laid out again next time.
        let is_laid_out = std::mem::take(&mut snapshot.layout) == self.layout;
        snapshot.clocks = *clocks;
        snapshot.entries = Arc::clone(&self.infos);
        let mut block = std::mem::take(&mut snapshot.block);
        let structure = std::mem::take(&mut snapshot.structure);
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
        snapshot.structure = if moved || structure == 0 { next_number() } else { structure };
        Ok(moved)
    }

    /// Returns the approximate size of the snapshot's block in bytes.
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

/// Marks a counterset's counters and their bases as wanted.
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
    /// Returns the indexes of the rows in the query entry's result, ascending.
    fn selected<'a>(&'a self, group: &'a Group) -> &'a [usize] {
        match (&self.form, &self.target) {
            (ResultForm::Row(row), _) => std::slice::from_ref(row),
            (ResultForm::Table, Ok(target)) => group.selection(target.filter),
            _ => &[],
        }
    }

    /// Returns the position of a row in the query entry's result.
    fn position(&self, group: &Group, row: usize) -> Option<usize> {
        place(self.selected(group), row)
    }
}

/// Returns the position of a row index in an ascending list of row indexes.
fn place(list: &[usize], number: usize) -> Option<usize> {
    if list.get(number) == Some(&number) {
        return Some(number); // all up to it are there, as is usual
    }
    list.binary_search(&number).ok()
}

#[cfg(test)]
mod tests;
