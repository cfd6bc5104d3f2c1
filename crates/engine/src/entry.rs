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
    pub counter: CounterFilter,
    /// Which instances, by name: a pattern. `None` for a counterset with a single instance.
    pub instance: Option<Utf16>,
    /// Which instances, by id.
    pub instance_id: InstanceIdFilter,
}

impl Entry {
    /// All counters of a counterset.
    #[must_use]
    pub fn all(counterset: Guid) -> Self {
        Self { counterset, counter: CounterFilter::All, instance: None, instance_id: InstanceIdFilter::Any }
    }

    /// One counter of a counterset.
    #[must_use]
    pub fn one(counterset: Guid, counter: CounterId) -> Self {
        Self { counter: CounterFilter::One(counter), ..Self::all(counterset) }
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
