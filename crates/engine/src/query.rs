//! A query: entries, and what they give when they are collected together.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use perfset_core::utf16::upper;
use perfset_core::v2::{PERF_AGGREGATE_INSTANCE, PERF_MAX_INSTANCE_NAME};
use perfset_core::{Counterset, Guid, InstanceIdFilter, InstanceType, Status, Utf16};

use crate::aggregate::Shows;
use crate::collect::Plan;
use crate::entry::{Counters, Entry};
use crate::error::SourceError;
use crate::machine::{Machine, Shared};
use crate::pattern::{folded, folded_units};
use crate::provider::Change;
use crate::snapshot::{EntryInfo, Snapshot};

/// A query handle: entries are added and deleted, and collected together.
///
/// ```
/// # use perfset_core::{catalogue::perfset_engine as own, Status};
/// # use perfset_engine::{Entry, Machine, Snapshot, testing::FixedClock};
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
    /// By number of addition, whose order is that of results (R-28).
    entries: BTreeMap<u64, Entry>,
    /// The numbers of the entries.
    numbers: HashMap<Key, u64>,
    /// How many were added so far.
    added: u64,
    plan: Option<Plan>,
}

/// By what an entry is the same as another (R-24).
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    counterset: Guid,
    counters: Counters,
    instance_id: InstanceIdFilter,
    /// In capitals; none of a single instance or aggregate, all of whose names are the same.
    name: Option<Vec<u16>>,
}

impl Key {
    fn new(entry: &Entry, name: Option<&Utf16>) -> Self {
        Self {
            counterset: entry.counterset,
            counters: entry.counters.clone(),
            instance_id: entry.instance_id,
            name: name.map(|name| name.units().iter().map(|unit| upper(*unit)).collect()),
        }
    }

    /// Of the entry for an aggregate, by the other name that it has.
    fn of_total(entry: &Entry) -> Self {
        Self::new(entry, Some(&PERF_AGGREGATE_INSTANCE.into()))
    }
}

impl Query {
    pub(crate) fn new(machine: Machine) -> Self {
        Self { machine, entries: BTreeMap::new(), numbers: HashMap::new(), added: 0, plan: None }
    }

    /// Adds an entry. Whether its instances exist is not checked: they may come later (R-26).
    ///
    /// ERROR_WMI_GUID_NOT_FOUND, ERROR_WMI_ITEMID_NOT_FOUND, ERROR_INVALID_PARAMETER (R-23) and ERROR_ALREADY_EXISTS
    /// (R-24), in this order, or what the provider answers.
    #[must_use]
    pub fn add(&mut self, entry: &Entry) -> Status {
        self.add_checked(entry, Ok(()))
    }

    /// As [`add`](Self::add), for an entry whose name may be corrupt, which is found at its place in the order.
    pub(crate) fn add_checked(&mut self, entry: &Entry, name: Result<(), ()>) -> Status {
        let machine = self.machine.clone();
        let mut shared = machine.lock();
        let (set, slot) = match shared.fresh().find(&entry.counterset) {
            Ok((set, slot)) => (Arc::clone(set), slot),
            Err(error) => return error.status(),
        };
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
        if !set.instance_type.is_multiple() {
            entry.instance = None;
        }
        let answer = shared.with_provider(slot, |provider| Ok(provider.entry(Change::Added, &entry)));
        let status = answer.unwrap_or_else(|error| error.status());
        if status.is_success() {
            self.numbers.insert(Key::new(&entry, entry.instance.as_ref()), self.added);
            if Shows::of(set.instance_type) == Some(Shows::One) {
                self.numbers.insert(Key::of_total(&entry), self.added);
            }
            self.entries.insert(self.added, entry);
            self.added = self.added.wrapping_add(1);
            self.plan.iter_mut().for_each(Plan::outdate);
        }
        status
    }

    /// Deletes an entry. Later entries move up. ERROR_INVALID_PARAMETER if it is not in the query (R-27).
    #[must_use]
    pub fn delete(&mut self, entry: &Entry) -> Status {
        let removed = self.number(entry).and_then(|number| self.entries.remove(&number));
        let Some(removed) = removed else { return Status::ERROR_INVALID_PARAMETER };
        self.numbers.remove(&Key::new(&removed, removed.instance.as_ref()));
        if removed.instance.is_none() {
            self.numbers.remove(&Key::of_total(&removed));
        }
        self.plan.iter_mut().for_each(Plan::outdate);
        removed_from(&self.machine, &removed);
        Status::ERROR_SUCCESS
    }

    /// The entries; the position of each is that of its result.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.entries.values()
    }

    /// Collects all entries once, into a snapshot that may have been used before.
    ///
    /// What fails is inside, entry by entry and value by value.
    ///
    /// # Errors
    /// [`SourceError::TooLarge`] only.
    pub fn collect(&mut self, snapshot: &mut Snapshot) -> Result<(), SourceError> {
        let mut shared = self.machine.lock();
        current_plan(&mut self.plan, &self.entries, shared.fresh()).collect(&mut shared, snapshot)
    }

    /// What the entries mean now.
    #[must_use]
    pub fn infos(&mut self) -> Arc<[EntryInfo]> {
        current_plan(&mut self.plan, &self.entries, self.machine.lock().fresh()).infos()
    }

    /// The number of the same entry (R-24): that of a single instance has no name.
    fn number(&self, entry: &Entry) -> Option<u64> {
        let name = entry.instance.as_ref();
        let find = |name| self.numbers.get(&Key::new(entry, name)).copied();
        let single = if is_single_name(name) { find(None) } else { None };
        single.or_else(|| find(name))
    }
}

/// The plan for the registry as it is now.
fn current_plan<'a>(
    plan: &'a mut Option<Plan>,
    entries: &BTreeMap<u64, Entry>,
    shared: &Shared,
) -> &'a mut Plan {
    if let Some(before) = plan.take_if(|plan| !plan.is_for(shared)) {
        let mut now = Plan::new(shared, entries.values());
        now.follow(before);
        *plan = Some(now);
    }
    plan.get_or_insert_with(|| Plan::new(shared, entries.values()))
}

impl Drop for Query {
    fn drop(&mut self) {
        for entry in self.entries.values() {
            removed_from(&self.machine, entry);
        }
    }
}

fn removed_from(machine: &Machine, entry: &Entry) {
    let mut shared = machine.lock();
    let Ok((_, slot)) = shared.find(&entry.counterset) else { return };
    // The entry is gone whatever the provider says to it.
    let _ = shared.with_provider(slot, |provider| Ok(provider.entry(Change::Removed, entry)));
}

/// Whether a name may stand in an entry for that counterset (R-23).
fn name_fits(set: &Counterset, name: Option<&Utf16>) -> bool {
    if name.is_some_and(|name| name.len() >= PERF_MAX_INSTANCE_NAME || name.units().contains(&0)) {
        return false;
    }
    match set.instance_type.is_multiple() {
        true => name.is_some_and(|name| !name.is_empty()),
        false => names_the_one(set.instance_type, name),
    }
}

/// Whether a name may stand for the one row of a counterset that has one.
pub(crate) fn names_the_one(instance_type: InstanceType, name: Option<&Utf16>) -> bool {
    let is_total = |name: &Utf16| folded_units(name.units()).eq(folded(PERF_AGGREGATE_INSTANCE));
    is_single_name(name) || Shows::of(instance_type) == Some(Shows::One) && name.is_some_and(is_total)
}

/// Whether a name may stand for a single instance: none, the empty one, or `*`.
fn is_single_name(name: Option<&Utf16>) -> bool {
    name.is_none_or(|name| matches!(name.units(), [] | [0x2A]))
}
