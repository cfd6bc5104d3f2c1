//! Query: entries that are collected together.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use perfset_core::utf16::upper;
use perfset_core::v2::{PERF_AGGREGATE_INSTANCE, PERF_MAX_INSTANCE_NAME};
use perfset_core::{Counterset, Guid, InstanceIdFilter, InstanceType, Status, Utf16};

use crate::aggregate::AggregateView;
use crate::collect::Plan;
use crate::entry::{Counters, Entry};
use crate::error::SourceError;
use crate::machine::Machine;
use crate::pattern::{folded, folded_units};
use crate::provider::Change;
use crate::registry::Shared;
use crate::snapshot::{ResolvedEntry, Snapshot};

/// Query whose entries are added and deleted, and collected together.
///
/// ```
/// # use perfset::{catalogue::perfset_engine as own, Status};
/// # use perfset::{Entry, Machine, Snapshot, testing::FixedClock};
/// # let machine = Machine::new(Box::new(FixedClock::default()));
/// let mut query = machine.query();
/// let entry = Entry::one(own::GUID, own::LAST_BLOCK_BYTES);
/// assert_eq!(query.add(&entry), Status::ERROR_SUCCESS);
/// let mut snapshot = Snapshot::default();
/// query.collect(&mut snapshot).unwrap();
/// assert_eq!(snapshot.values(None).next().unwrap().value.unwrap().raw, 0.0);
/// ```
#[derive(Debug)]
pub struct Query {
    machine: Machine,
    /// Entries of the query by their numbers, in the order of addition, which is the order of results (R-28).
    entries: BTreeMap<u64, Entry>,
    /// Number of each query entry, by its identity.
    numbers: HashMap<EntryKey, u64>,
    /// Number of entries that were added to the query so far.
    added: u64,
    plan: Option<Plan>,
}

/// Key of a query entry: two entries with equal keys are the same entry (R-24).
#[derive(Debug, PartialEq, Eq, Hash)]
struct EntryKey {
    counterset: Guid,
    counters: Counters,
    instance_id: InstanceIdFilter,
    /// Instance name of the entry in capitals; `None` for a single instance or an aggregate, where all valid names are
    /// equal.
    name: Option<Vec<u16>>,
}

impl EntryKey {
    fn new(entry: &Entry, name: Option<&Utf16>) -> Self {
        Self {
            counterset: entry.counterset,
            counters: entry.counters.clone(),
            instance_id: entry.instance_id,
            name: name.map(|name| name.units().iter().map(|unit| upper(*unit)).collect()),
        }
    }

    /// Creates the key of the query entry for an aggregate, with its other valid name `_Total`.
    fn for_total(entry: &Entry) -> Self {
        Self::new(entry, Some(&PERF_AGGREGATE_INSTANCE.into()))
    }
}

impl Query {
    pub(crate) fn new(machine: Machine) -> Self {
        Self { machine, entries: BTreeMap::new(), numbers: HashMap::new(), added: 0, plan: None }
    }

    /// Adds an entry to the query. Its instances need not exist: they can appear later (R-26).
    ///
    /// Returns ERROR_WMI_GUID_NOT_FOUND, ERROR_WMI_ITEMID_NOT_FOUND, ERROR_INVALID_PARAMETER (R-23) and
    /// ERROR_ALREADY_EXISTS (R-24), checked in this order, or the provider's status.
    #[must_use]
    pub fn add(&mut self, entry: &Entry) -> Status {
        self.add_checked(entry, Ok(()))
    }

    /// Adds an entry to the query like [`add`](Self::add), with an instance name that may be corrupt. Reports a
    /// corrupt name at the place of the name check in the order of checks.
    pub(crate) fn add_checked(&mut self, entry: &Entry, name: Result<(), ()>) -> Status {
        let machine = self.machine.clone();
        let mut shared = machine.lock();
        let (set, slot) = match shared.fresh().find(&entry.counterset) {
            Ok((set, slot)) => (Arc::clone(set), slot),
            Err(error) => return error.status(),
        };
        // The order of the checks is part of the interface: callers see the first status.
        let ids = entry.counters.ids();
        if ids.is_some_and(|ids| ids.iter().any(|id| set.counter(*id).is_none())) {
            return Status::ERROR_WMI_ITEMID_NOT_FOUND;
        }
        if ids.is_some_and(<[_]>::is_empty) || name.is_err() || !name_fits(&set, entry.instance.as_ref()) {
            return Status::ERROR_INVALID_PARAMETER;
        }
        if self.number(entry).is_some() {
            return Status::ERROR_ALREADY_EXISTS;
        }
        let mut entry = entry.clone();
        // All names of a single instance are the same, so the entry is stored without one.
        if !set.instance_type.is_multiple() {
            entry.instance = None;
        }
        let answer = shared.with_provider(slot, |provider| Ok(provider.entry(Change::Added, &entry)));
        let status = answer.unwrap_or_else(|error| error.status());
        if status.is_success() {
            self.numbers.insert(EntryKey::new(&entry, entry.instance.as_ref()), self.added);
            if AggregateView::for_type(set.instance_type) == Some(AggregateView::One) {
                // `_Total` is another name of the only row, so both names must find the same entry (R-24).
                self.numbers.insert(EntryKey::for_total(&entry), self.added);
            }
            self.entries.insert(self.added, entry);
            // Numbers are never reused: deleting an entry must not change the order of the others.
            self.added = self.added.wrapping_add(1);
            self.plan.iter_mut().for_each(Plan::outdate);
        }
        status
    }

    /// Deletes an entry of the query. Later entries move up. Returns ERROR_INVALID_PARAMETER if the entry is not in
    /// the query (R-27).
    #[must_use]
    pub fn delete(&mut self, entry: &Entry) -> Status {
        let removed = self.number(entry).and_then(|number| self.entries.remove(&number));
        let Some(removed) = removed else { return Status::ERROR_INVALID_PARAMETER };
        self.numbers.remove(&EntryKey::new(&removed, removed.instance.as_ref()));
        // The type is not looked up, because the counterset may no longer be registered (R-27).
        if removed.instance.is_none() {
            self.numbers.remove(&EntryKey::for_total(&removed));
        }
        self.plan.iter_mut().for_each(Plan::outdate);
        removed_from(&self.machine, &removed);
        Status::ERROR_SUCCESS
    }

    /// Returns the entries of the query, in the order of their results.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.entries.values()
    }

    /// Collects all entries of the query once, into a new or reused snapshot.
    ///
    /// Failures are inside the snapshot, entry by entry and value by value.
    ///
    /// # Errors
    /// [`SourceError::TooLarge`] only.
    pub fn collect(&mut self, snapshot: &mut Snapshot) -> Result<(), SourceError> {
        let mut shared = self.machine.lock();
        // A provider can gain or lose countersets at any time, so the registry is checked in each collection.
        current_plan(&mut self.plan, &self.entries, shared.fresh()).collect(&mut shared, snapshot)
    }

    /// Returns `true` if the query's plan adds aggregate rows to those of a provider. Such rows can depend on earlier
    /// collections.
    pub(crate) fn has_aggregates(&self) -> bool {
        self.plan.as_ref().is_some_and(Plan::has_aggregates)
    }

    /// Returns the entries of the query, resolved against the current registry.
    #[must_use]
    pub fn infos(&mut self) -> Arc<[ResolvedEntry]> {
        current_plan(&mut self.plan, &self.entries, self.machine.lock().fresh()).infos()
    }

    /// Returns the number of the equal entry in this query (R-24). An entry for a single instance has no name.
    fn number(&self, entry: &Entry) -> Option<u64> {
        let name = entry.instance.as_ref();
        let find = |name| self.numbers.get(&EntryKey::new(entry, name)).copied();
        let single = if is_single_name(name) { find(None) } else { None };
        // `*` is a name of its own if the counterset has several instances.
        single.or_else(|| find(name))
    }
}

/// Returns the collection plan for the current registry, and rebuilds it if it is outdated.
fn current_plan<'a>(
    plan: &'a mut Option<Plan>,
    entries: &BTreeMap<u64, Entry>,
    shared: &Shared,
) -> &'a mut Plan {
    if let Some(before) = plan.take_if(|plan| !plan.is_for(shared)) {
        let mut now = Plan::new(shared, entries.values());
        // A new registry must not cost an interval: what is the same keeps its identity.
        now.follow(before);
        *plan = Some(now);
    }
    plan.get_or_insert_with(|| Plan::new(shared, entries.values()))
}

impl Drop for Query {
    fn drop(&mut self) {
        // A provider receives PERF_REMOVE_COUNTER for each entry, also if a query is closed with its entries.
        for entry in self.entries.values() {
            removed_from(&self.machine, entry);
        }
    }
}

fn removed_from(machine: &Machine, entry: &Entry) {
    let mut shared = machine.lock();
    let Ok((_, slot)) = shared.find(&entry.counterset) else { return };
    // The entry is deleted whatever the provider returns.
    let _ = shared.with_provider(slot, |provider| Ok(provider.entry(Change::Removed, entry)));
}

/// Returns `true` if an instance name is valid in a query entry for that counterset (R-23).
fn name_fits(set: &Counterset, name: Option<&Utf16>) -> bool {
    // A block ends a name at its first NUL, so such a name would be read back as another one.
    if name.is_some_and(|name| name.len() >= PERF_MAX_INSTANCE_NAME || name.units().contains(&0)) {
        return false;
    }
    match set.instance_type.is_multiple() {
        true => name.is_some_and(|name| !name.is_empty()),
        false => names_the_one(set.instance_type, name),
    }
}

/// Returns `true` if an instance name selects the row of a counterset that has only one row.
pub(crate) fn names_the_one(instance_type: InstanceType, name: Option<&Utf16>) -> bool {
    let is_total = |name: &Utf16| folded_units(name.units()).eq(folded(PERF_AGGREGATE_INSTANCE));
    is_single_name(name)
        || AggregateView::for_type(instance_type) == Some(AggregateView::One) && name.is_some_and(is_total)
}

/// Returns `true` if an instance name selects the single instance of a counterset: no name, the empty name, or `*`.
fn is_single_name(name: Option<&Utf16>) -> bool {
    name.is_none_or(|name| matches!(name.units(), [] | [0x2A]))
}
