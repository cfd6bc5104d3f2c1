//! Entries of a query: counters of instances.

use perfset_core::{CounterFilter, CounterId, Guid, InstanceIdFilter, Utf16};

/// Query entry: a counterset, and filters of counters, instance names and instance ids.
///
/// ```
/// use perfset::Entry;
/// use perfset::catalogue::processor_information as cpu;
/// let all = Entry::all(cpu::GUID).instance("*");
/// let busy = Entry::one(cpu::GUID, cpu::PERCENT_PROCESSOR_TIME).instance("_Total");
/// assert_ne!(all, busy);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "PERF_COUNTER_IDENTIFIER")]
pub struct Entry {
    /// GUID of the counterset that the entry selects.
    pub counterset: Guid,
    /// Counters that are collected for the entry.
    pub counters: Counters,
    /// Pattern of the instance names that the entry selects. `None` for a counterset with a single instance.
    pub instance: Option<Utf16>,
    /// Filter of the instance ids that the entry selects.
    pub instance_id: InstanceIdFilter,
}

/// Selection of counters of a counterset: all, or some.
///
/// A PerfLib identifier selects all counters or one. An entry of several counters has a result of the same form as
/// one of all counters, with each instance once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Selected counter ids, ascending and distinct; `None` selects all counters.
    ids: Option<Box<[CounterId]>>,
}

impl Counters {
    /// Selection of all counters of the counterset.
    pub const ALL: Self = Self { ids: None };

    /// Creates a selection of the counters with these ids.
    #[must_use]
    pub fn these(ids: impl IntoIterator<Item = CounterId>) -> Self {
        let mut ids: Vec<_> = ids.into_iter().collect();
        // Sorted and distinct, so that the order of ids does not distinguish entries (R-24).
        ids.sort_unstable();
        ids.dedup();
        Self { ids: Some(ids.into()) }
    }

    /// Returns the counters that `self` or `other` selects.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        match (&self.ids, &other.ids) {
            (Some(these), Some(those)) => Self::these(these.iter().chain(those).copied()),
            _ => Self::ALL,
        }
    }

    /// Returns the selected counter ids, ascending; `None` if all counters are selected.
    #[must_use]
    pub fn ids(&self) -> Option<&[CounterId]> {
        self.ids.as_deref()
    }
}

impl From<CounterFilter> for Counters {
    fn from(filter: CounterFilter) -> Self {
        match filter {
            CounterFilter::All => Self::ALL,
            CounterFilter::One(id) => Self::these([id]),
        }
    }
}

impl Entry {
    /// Creates a query entry for all counters of a counterset.
    #[must_use]
    pub fn all(counterset: Guid) -> Self {
        Self { counterset, counters: Counters::ALL, instance: None, instance_id: InstanceIdFilter::Any }
    }

    /// Creates a query entry for one counter of a counterset.
    #[must_use]
    pub fn one(counterset: Guid, counter: CounterId) -> Self {
        Self::several(counterset, [counter])
    }

    /// Creates a query entry for several counters of a counterset.
    #[must_use]
    pub fn several(counterset: Guid, counters: impl IntoIterator<Item = CounterId>) -> Self {
        Self { counters: Counters::these(counters), ..Self::all(counterset) }
    }

    /// Restricts the query entry to instances whose name matches a pattern.
    #[must_use]
    pub fn instance(self, pattern: &str) -> Self {
        Self { instance: Some(pattern.into()), ..self }
    }

    /// Restricts the query entry to instances with this id.
    #[must_use]
    pub fn instance_id(self, id: InstanceIdFilter) -> Self {
        Self { instance_id: id, ..self }
    }
}
