//! The entries of a query: which counters of which instances.

use perfset_core::{CounterFilter, CounterId, Guid, InstanceIdFilter, Utf16};

/// One entry of a query: a counterset and three filters.
///
/// ```
/// use perfset_engine::Entry;
/// use perfset_core::catalogue::processor_information as cpu;
/// let all = Entry::all(cpu::GUID).instance("*");
/// let busy = Entry::one(cpu::GUID, cpu::PERCENT_PROCESSOR_TIME).instance("_Total");
/// assert_ne!(all, busy);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "PERF_COUNTER_IDENTIFIER")]
pub struct Entry {
    /// The counterset.
    pub counterset: Guid,
    /// Which counters.
    pub counters: Counters,
    /// Which instances, by name: a pattern. `None` for a counterset with a single instance.
    pub instance: Option<Utf16>,
    /// Which instances, by id.
    pub instance_id: InstanceIdFilter,
}

/// Which counters of a counterset: all, or some.
///
/// An identifier of PerfLib means all or one. Several in one entry give a result of the shape that all give, with
/// each instance once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Ascending, each once; `None` is all.
    ids: Option<Box<[CounterId]>>,
}

impl Counters {
    /// All that the counterset has.
    pub const ALL: Self = Self { ids: None };

    /// These.
    #[must_use]
    pub fn these(ids: impl IntoIterator<Item = CounterId>) -> Self {
        let mut ids: Vec<_> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self { ids: Some(ids.into()) }
    }

    /// These and those.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        match (&self.ids, &other.ids) {
            (Some(these), Some(those)) => Self::these(these.iter().chain(those).copied()),
            _ => Self::ALL,
        }
    }

    /// Their ids, ascending; `None` is all.
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
    /// All counters of a counterset.
    #[must_use]
    pub fn all(counterset: Guid) -> Self {
        Self { counterset, counters: Counters::ALL, instance: None, instance_id: InstanceIdFilter::Any }
    }

    /// One counter of a counterset.
    #[must_use]
    pub fn one(counterset: Guid, counter: CounterId) -> Self {
        Self::several(counterset, [counter])
    }

    /// Several counters of a counterset.
    #[must_use]
    pub fn several(counterset: Guid, counters: impl IntoIterator<Item = CounterId>) -> Self {
        Self { counters: Counters::these(counters), ..Self::all(counterset) }
    }

    /// Of the instances that this pattern matches.
    #[must_use]
    pub fn instance(self, pattern: &str) -> Self {
        Self { instance: Some(pattern.into()), ..self }
    }

    /// Of the instances with this id.
    #[must_use]
    pub fn instance_id(self, id: InstanceIdFilter) -> Self {
        Self { instance_id: id, ..self }
    }
}
