//! Requests of a query to one counterset.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use perfset_core::v2::TableBuilder;
use perfset_core::{CounterId, Counterset, Instance, InstanceId};

use crate::aggregate::{AggregateView, Aggregates, is_total, wants_total};
use crate::error::SourceError;
use crate::filters::{InstanceFilter, InstanceFilters};
use crate::provider::{CollectRequest, CollectionStart};
use crate::registry::Shared;
use crate::rows::{RowMetadata, Rows};

/// All requests of a query to one counterset, which is read once for all query entries.
#[derive(Debug)]
pub(crate) struct Group {
    pub set: Arc<Counterset>,
    slot: usize,
    pub counters: Vec<CounterId>,
    pub filters: InstanceFilters,
    /// Instance filters for the provider, if more instances are needed than `filters` select.
    provider_filters: Option<InstanceFilters>,
    /// Aggregation of the instances, if the counterset has aggregates.
    aggregates: Option<Aggregates>,
    /// Indexes of the rows that each instance filter selects, ascending; for a name without wildcards, only the first
    /// row of that name.
    pub selections: Vec<Vec<usize>>,
    /// Metadata of the rows that each filter selects, while the metadata of a snapshot is written.
    pub shared: Vec<Option<Arc<RowMetadata>>>,
    /// Number of instance rows at the time when the rows of the filters were found; `None` if the rows must be found
    /// again.
    selected: Option<usize>,
    /// `true` if one of the collected instances has the name of a total.
    has_total: bool,
    pub rows: Rows,
    /// Query entries that want each column of the counterset, each with the index of the column in the entry's table.
    pub wanted_by: Vec<Vec<(usize, usize)>>,
    /// `true` if the counterset's rows are written directly into the block, as the table of the only entry. Otherwise
    /// they are collected in `rows`, and copied from there.
    pub in_block: bool,
    pub outcome: Result<(), SourceError>,
    /// Time that the provider took for the last collection of the counterset.
    pub took: Duration,
}

impl Group {
    pub fn new(set: &Arc<Counterset>, slot: usize) -> Self {
        Self {
            set: Arc::clone(set),
            slot,
            counters: Vec::new(),
            filters: InstanceFilters::default(),
            provider_filters: None,
            aggregates: None,
            selections: Vec::new(),
            shared: Vec::new(),
            selected: None,
            has_total: false,
            rows: Rows::default(),
            wanted_by: Vec::new(),
            in_block: false,
            outcome: Ok(()),
            took: Duration::ZERO,
        }
    }

    /// Sets the counters and instances that the query requests; counters by their positions in the counterset.
    pub fn prepare(&mut self, filters: Vec<InstanceFilter>, wanted: &[bool]) {
        let counters = self.set.counters.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        let counters = counters.map(|(counter, _)| counter);
        self.counters = counters.clone().map(|counter| counter.id).collect();
        self.rows = Rows::new(counters);
        self.aggregates = Aggregates::new(&self.set, &self.counters);
        let asked = |of: &Aggregates| filters.iter().map(|filter| of.shows.asked(filter)).collect();
        self.provider_filters = self.aggregates.as_ref().map(asked);
        self.selections = vec![Vec::new(); filters.len()];
        self.shared = vec![None; filters.len()];
        self.filters = filters.into_iter().collect();
    }

    /// Moves the data about ended instances here from an earlier group, which is no longer used.
    pub fn follow(&mut self, before: &mut Self) {
        let (Some(now), Some(aggregates)) = (&mut self.aggregates, &mut before.aggregates) else { return };
        let source = |id| before.counters.iter().position(|before| before == id);
        now.take_over(aggregates, &self.counters.iter().map(source).collect::<Vec<_>>());
    }

    /// Returns `true` if the counterset's rows can be written directly into a block, because no rows are added to
    /// them.
    pub fn is_plain(&self) -> bool {
        self.aggregates.is_none()
    }

    /// Collects the rows of the counterset, and adds the rows of its aggregates.
    pub fn collect(&mut self, shared: &mut Shared, collection: CollectionStart) {
        self.rows.start();
        if let Some(aggregates) = &mut self.aggregates {
            aggregates.start(collection.time_100ns);
            self.rows.set_totals_at(collection.time_100ns);
        }
        self.ask(shared, collection);
        self.select();
        self.rows.end();
    }

    /// Collects all rows of the counterset directly into a table of the block.
    pub fn collect_in(
        &mut self,
        table: &mut TableBuilder<'_>,
        shared: &mut Shared,
        collection: CollectionStart,
    ) {
        self.rows.start_in(table.lend());
        self.ask(shared, collection);
        table.take_back(self.rows.end_in(), self.rows.len());
        let count = self.rows.len();
        // The sole filter selects every row here, so no name is compared.
        if let Some(all) = self.selections.first_mut().filter(|all| all.len() != count) {
            all.clear();
            all.extend(0..count);
        }
        self.selected = None; // they are not here
    }

    /// Announces the collection to the provider, which then starts its requests to slow sources. Waiting for them ends
    /// at `until`.
    pub fn begin(&self, shared: &mut Shared, collection: CollectionStart, until: Instant) {
        let instances = self.provider_filters.as_ref().unwrap_or(&self.filters);
        let CollectionStart { number: collection, time_100ns } = collection;
        let (counterset, counters) = (&*self.set, &*self.counters);
        let want = CollectRequest { counterset, counters, instances, collection, time_100ns };
        // A provider that panics here fails again when it is collected, and the error is reported there.
        let _ = shared.with_provider(self.slot, |provider| {
            provider.begin(&want, until);
            Ok(())
        });
    }

    fn ask(&mut self, shared: &mut Shared, collection: CollectionStart) {
        let Self { set, slot, counters, filters, provider_filters, rows, outcome, took, .. } = self;
        let instances = provider_filters.as_ref().unwrap_or(filters);
        let CollectionStart { number: collection, time_100ns } = collection;
        let want = CollectRequest { counterset: set, counters, instances, collection, time_100ns };
        let started = Instant::now();
        *outcome = shared.with_provider(*slot, |provider| provider.collect(&want, rows));
        *took = started.elapsed();
    }

    /// Returns the instances of the counterset that consumers see.
    pub fn instances(mut self, shared: &mut Shared) -> Result<Vec<Instance>, SourceError> {
        self.prepare(vec![InstanceFilter::any()], &[]);
        self.rows.start();
        let Self { set, slot, rows, .. } = &mut self;
        shared.with_provider(*slot, |provider| provider.instances(&set.guid, rows))?;
        self.select();
        self.rows.end();
        let instance =
            |row: &usize| Some(Instance { name: self.rows.name(*row).into(), id: self.rows.id(*row)? });
        Ok(self.selection(0).iter().filter_map(instance).collect())
    }

    /// Adds the rows that stand for several instances, and finds the rows of every filter if they can have changed.
    fn select(&mut self) {
        let Self { aggregates, filters, selections, rows, selected, has_total, .. } = self;
        let before = selected.take();
        // Rows of a failed collection can be incomplete, so the next one finds all selections again.
        if self.outcome.is_err() {
            return;
        }
        let count = rows.len();
        match aggregates {
            Some(aggregates) if aggregates.shows == AggregateView::One => {
                let all = aggregates.add_one(rows);
                for (selection, filter) in selections.iter_mut().zip(filters.iter()) {
                    selection.clear();
                    selection.extend(all.clone().filter(|_| filter.id.matches(InstanceId(0))));
                }
                return;
            }
            Some(aggregates) if aggregates.shows == AggregateView::Names => {
                let all = aggregates.add(rows, 0..count, usize::MAX, None);
                find(filters, selections, rows, all);
                return;
            }
            _ => {}
        }
        // Finding the rows of all filters costs more than comparing them with the last collection, which is
        // done anyway.
        if before != Some(count) || rows.changed() {
            find(filters, selections, rows, 0..count);
            *has_total = aggregates.is_some() && (0..count).any(|row| is_total(rows.name(row)));
        }
        *selected = Some(count);
        let Some(aggregates) = aggregates else { return };
        for (selection, filter) in selections.iter_mut().zip(filters.iter()).filter(|(_, f)| wants_total(f)) {
            // A selection of the last collection still ends with its totals: their rows come last.
            selection.truncate(selection.partition_point(|row| *row < count));
            if *has_total {
                continue; // an instance's own
            }
            let totals = match filter.pattern.has_wildcard() {
                true => aggregates.add(rows, selection.iter().copied(), usize::MAX, Some(filter)),
                // The name `_Total` is the aggregate over all instances, whatever others select.
                false => aggregates.add(rows, 0..count, 1, None),
            };
            selection.extend(totals);
        }
    }

    /// Returns the metadata of the rows `selected`, in the memory of `kept` if no snapshot shares that memory.
    pub fn metadata(&self, kept: Option<Arc<RowMetadata>>, selected: &[usize]) -> Arc<RowMetadata> {
        // A snapshot that another thread still holds must not change.
        let mut about = kept.filter(|kept| Arc::strong_count(kept) == 1).unwrap_or_default();
        if let Some(about) = Arc::get_mut(&mut about) {
            about.select(self.rows.metadata(), selected);
        }
        about
    }

    /// Returns the indexes of the rows that an instance filter selects.
    pub fn selection(&self, filter: usize) -> &[usize] {
        self.selections.get(filter).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Finds the rows that every instance filter selects.
fn find(filters: &InstanceFilters, selections: &mut [Vec<usize>], rows: &Rows, all: Range<usize>) {
    selections.iter_mut().for_each(Vec::clear);
    for row in all {
        let Some(id) = rows.id(row) else { continue };
        for at in filters.matching(rows.name(row).units(), id) {
            let (Some(selection), Some(filter)) = (selections.get_mut(at), filters.get(at)) else { continue };
            // A name without wildcards selects one instance; of several with that name, the first.
            if selection.is_empty() || filter.pattern.has_wildcard() {
                selection.push(row);
            }
        }
    }
}
