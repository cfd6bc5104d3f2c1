//! What a query asks of one counterset.

use std::sync::Arc;

use perfset_core::v2::TableBuilder;
use perfset_core::{CounterId, Counterset};

use crate::error::SourceError;
use crate::filters::InstanceFilters;
use crate::machine::Shared;
use crate::provider::Want;
use crate::rows::{AboutRows, Rows};

/// All that is asked of one counterset: read once, however many entries want it.
#[derive(Debug)]
pub(crate) struct Group {
    pub set: Arc<Counterset>,
    slot: usize,
    pub counters: Vec<CounterId>,
    pub filters: InstanceFilters,
    /// By filter: the rows that it selects, ascending; of a name without wildcards the first only.
    pub selections: Vec<Vec<usize>>,
    /// By filter, while an annex is written: what it says of those rows.
    pub shared: Vec<Option<Arc<AboutRows>>>,
    /// Whether `selections` are not those of `rows`.
    unselected: bool,
    pub rows: Rows,
    /// By column: the entries of several instances that want it, and its place among their columns.
    pub wanted_by: Vec<Vec<(usize, usize)>>,
    /// Whether the rows are written into the block at once, as the table of the only entry: else they stay here, and
    /// are copied.
    pub in_block: bool,
    pub outcome: Result<(), SourceError>,
}

impl Group {
    pub fn new(set: &Arc<Counterset>, slot: usize) -> Self {
        Self {
            set: Arc::clone(set),
            slot,
            counters: Vec::new(),
            filters: InstanceFilters::default(),
            selections: Vec::new(),
            shared: Vec::new(),
            unselected: true,
            rows: Rows::default(),
            wanted_by: Vec::new(),
            in_block: false,
            outcome: Ok(()),
        }
    }

    /// Collects the rows.
    pub fn collect(&mut self, shared: &mut Shared, collection: u64) {
        self.rows.start();
        self.ask(shared, collection);
        self.rows.end();
    }

    /// Collects the rows into a table, which has all of them.
    pub fn collect_in(&mut self, table: &mut TableBuilder<'_>, shared: &mut Shared, collection: u64) {
        self.rows.start_in(table.lend());
        self.ask(shared, collection);
        table.take_back(self.rows.end_in(), self.rows.len());
        let count = self.rows.len();
        if let Some(all) = self.selections.first_mut().filter(|all| all.len() != count) {
            all.clear();
            all.extend(0..count);
        }
        self.unselected = true; // they are not here
    }

    fn ask(&mut self, shared: &mut Shared, collection: u64) {
        let Self { set, slot, counters, filters, rows, outcome, .. } = self;
        let want = Want { counterset: set, counters, instances: filters, collection };
        *outcome = shared.with_provider(*slot, |provider| provider.collect(&want, rows));
    }

    /// Finds the rows of every filter if they may have changed; true if they may.
    pub fn select(&mut self) -> bool {
        let changed = self.rows.changed();
        self.unselected |= changed;
        if self.outcome.is_err() || !self.unselected {
            return changed;
        }
        let Self { filters, selections, rows, .. } = self;
        selections.iter_mut().for_each(Vec::clear);
        for row in 0..rows.len() {
            let Some(id) = rows.id(row) else { continue };
            for at in filters.matching(rows.name(row).units(), id) {
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
    pub fn about(&self, kept: Option<Arc<AboutRows>>, selected: &[usize]) -> Arc<AboutRows> {
        let mut about = kept.filter(|kept| Arc::strong_count(kept) == 1).unwrap_or_default();
        if let Some(about) = Arc::get_mut(&mut about) {
            about.select(self.rows.about(), selected);
        }
        about
    }

    /// The rows that a filter selects.
    pub fn selection(&self, filter: usize) -> &[usize] {
        self.selections.get(filter).map(Vec::as_slice).unwrap_or_default()
    }
}
