//! Interface of providers: the operating system's modules, publishers, the engine itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use perfset_core::{CounterId, Counterset, Guid, InstanceId, Status, Text};

use crate::entry::Entry;
use crate::error::SourceError;
use crate::filters::InstanceFilters;
use crate::rows::Rows;

/// Source of the values of some countersets.
///
/// Stores file descriptors, buffers and marked last readings, shared by all queries. It has no state that one query
/// could leave for another.
pub trait Provider: Send {
    /// Returns the countersets of this provider. The same `Arc` as last time means that nothing changed.
    ///
    /// # Errors
    /// The countersets are then treated as not registered.
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError>;

    /// Adds the active instances of a counterset: names and ids only. `rows` has no columns.
    ///
    /// # Errors
    /// The enumeration fails with this error.
    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError>;

    /// Notifies the provider that an entry was added to a query or removed from one. A status other than success
    /// refuses the addition.
    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        let _ = (change, entry);
        Status::ERROR_SUCCESS
    }

    /// Announces a [`collect`](Self::collect) with the same request, so that all slow sources start at once. `until`
    /// is the end of waiting for others, the same for all countersets of a collection.
    ///
    /// The engine calls this for every counterset of a collection before it collects the first one. An implementation
    /// sends its requests and returns; it never waits.
    fn begin(&mut self, want: &CollectRequest<'_>, until: Instant) {
        let _ = (want, until);
    }

    /// Collects the values of one counterset: a row for each instance that `want` requests; more rows do no harm.
    ///
    /// Reads only the data that the wanted counters need. An unavailable value gets its reason in its cell.
    ///
    /// # Errors
    /// Only if there is nothing at all to deliver; every entry of the counterset then fails with this error.
    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError>;

    /// Returns a text for users: the origin of a counterset's values, if it differs from the catalogue's.
    fn origin(&mut self, counterset: &Guid) -> Option<Text> {
        let _ = counterset;
        None
    }

    /// Returns texts for users on how this provider collects its values: a topic, such as `process collection`, and a
    /// sentence.
    fn describe(&mut self) -> Vec<(Text, Text)> {
        Vec::new()
    }

    /// Returns sentences for users about existing data that is not delivered: how much, why, and how to see it. They
    /// concern one counterset, or all.
    fn not_shown(&mut self, counterset: Option<&Guid>) -> Vec<Text> {
        let _ = counterset;
        Vec::new()
    }

    /// Returns a line for users for each source that did not respond in time and is not waited for now: `WHO: SINCE
    /// WHEN`.
    fn late(&mut self) -> Vec<Text> {
        Vec::new()
    }

    /// Returns texts for users: data that was found and cannot be used, and why.
    fn problems(&mut self) -> Vec<Text> {
        Vec::new()
    }

    /// Returns the problems that concern a counterset of this provider, or one that exists in place of another: its
    /// GUID, the omitted part, and the reason.
    fn left_out(&mut self) -> Vec<(Guid, Text)> {
        Vec::new()
    }
}

/// Calls a provider. A panic of the provider fails that call only.
pub(crate) fn guarded<T>(
    provider: &mut dyn Provider,
    call: impl FnOnce(&mut dyn Provider) -> Result<T, SourceError>,
) -> Result<T, SourceError> {
    // Rows that a panic left half filled are not delivered: all entries fail with this error.
    catch_unwind(AssertUnwindSafe(|| call(provider)))
        .unwrap_or_else(|_| Err(SourceError::Failed("the provider panicked".into())))
}

/// Countersets of a provider, and their origin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue {
    /// Origin of the values, for users: an operating system, a program.
    pub origin: Text,
    /// Countersets of the provider.
    pub countersets: Vec<Arc<Counterset>>,
}

/// Kind of change to a query's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The entry was added to a query.
    #[doc(alias = "PERF_ADD_COUNTER")]
    Added,
    /// The entry was removed, or its query was closed.
    #[doc(alias = "PERF_REMOVE_COUNTER")]
    Removed,
}

/// Request of one collection to one counterset: the union of a query's entries.
#[derive(Clone, Copy, Debug)]
pub struct CollectRequest<'a> {
    /// Counterset that is collected.
    pub counterset: &'a Counterset,
    /// Requested counters, in registration order: the columns of the rows.
    pub counters: &'a [CounterId],
    /// Filters of the requested instances; an instance is requested if it passes any of them.
    pub instances: &'a InstanceFilters,
    /// Number of the collection: the same for all countersets of one collection, different for every other. It lets a
    /// source that several countersets need be read once.
    pub collection: u64,
}

impl CollectRequest<'_> {
    /// Returns `true` if an instance is requested. A hint: the engine filters again.
    #[must_use]
    pub fn wants(&self, name: &str, id: InstanceId) -> bool {
        self.instances.wants(name.encode_utf16(), id)
    }

    /// Returns `true` if a counter is requested.
    #[must_use]
    pub fn has(&self, counter: CounterId) -> bool {
        self.counters.contains(&counter)
    }
}
