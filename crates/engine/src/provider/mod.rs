//! Interface of providers of countersets, and a kit for writing them.
//!
//! A [`Provider`] supplies the rows of one or more countersets to a [`Machine`](crate::Machine), where it is
//! [registered](crate::Machine::register). The providers of Linux' own counters are written with this kit, too.
//!
//! | to write | implement |
//! |---|---|
//! | a counterset with one instance | [`ValueSource`], for a [`SingleInstanceProvider`] |
//! | a counterset of several instances | [`InstanceSource`], for a [`MultiInstanceProvider`] |
//! | anything else | [`Provider`] |
//!
//! **Shape**: one call of [`Provider::collect`] per collection and counterset. Its [`CollectRequest`] has the requested
//! counters, which are the columns of the [`Rows`] to fill, and filters for instances. A cell gets a raw value, in the
//! unit of the counter's type, or a [reason](perfset_core::NoValue) for having none; a reason affects only its cell. An
//! error affects all entries of the counterset. A panic is an error of that call.
//!
//! **Sources** that several counters or countersets share are read once per collection: a [`CollectionCache`] stores
//! the result under the number of the [`Collection`]. Sources that can hang belong behind a
//! [`DeadlineProvider`](crate::DeadlineProvider).
//!
//! Counters of this program itself need no provider: derive a counterset from a struct, which other programs see as
//! well.

mod collection;
mod group;
mod several;
mod single;
mod value;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use perfset_core::clock::UNIX_EPOCH_100NS;
use perfset_core::{CounterId, Counterset, Guid, Identity, InstanceId, Status, Text};

use crate::entry::Entry;
use crate::error::SourceError;
use crate::facts::{Fact, FactOptions};
use crate::filters::InstanceFilters;

pub use crate::rows::{CellState, RowWriter, Rows};
pub use crate::total::Reading;
pub use collection::{Collection, CollectionCache, elapsed_ns};
pub(crate) use collection::{CollectionStart, next_number};
pub use group::ProviderGroup;
pub use several::{
    InstanceKey, InstanceSource, MultiInstanceProvider, TOTAL_ID, TOTAL_NAME, Total, birth_of_total,
};
pub use single::{SingleInstanceProvider, ValueSource};
pub use value::{MarkedRaw, fill, instance_name, reading};

/// Provider of some countersets: the code that supplies their rows.
///
/// Stores file descriptors, buffers and marked last readings, shared by all queries. It has no state that one query
/// could leave for another.
pub trait Provider: Send {
    /// Returns the catalogue of this provider: its countersets. The same `Arc` as last time means that nothing
    /// changed.
    ///
    /// # Errors
    /// The countersets are then treated as not registered.
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError>;

    /// Adds the active instances of a counterset: names and ids only. `rows` has no columns.
    ///
    /// # Errors
    /// The enumeration fails with this error.
    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError>;

    /// Notifies the provider that a query entry was added or removed. A status other than success refuses the
    /// addition.
    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        let _ = (change, entry);
        Status::ERROR_SUCCESS
    }

    /// Announces a [`collect`](Self::collect) with the same request, so that all slow sources start at once. Waiting
    /// for them ends at `until`, the same for all countersets of a collection.
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

    /// Returns facts about an instance as text, read now; see [`Source::facts`](crate::Source::facts).
    ///
    /// An implementation reads nothing for other instances, and returns no facts of an instance whose birth differs.
    ///
    /// # Errors
    /// If nothing at all can be read.
    fn facts(&mut self, instance: &Identity<'_>, options: FactOptions) -> Result<Vec<Fact>, SourceError> {
        let _ = (instance, options);
        Ok(Vec::new())
    }

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

    /// Returns a line for users for each source that did not respond before the deadline and is not waited for now:
    /// `WHO: SINCE WHEN`.
    fn late(&mut self) -> Vec<Text> {
        Vec::new()
    }

    /// Returns texts for users on data that was found and cannot be used, with the reasons.
    fn problems(&mut self) -> Vec<Text> {
        Vec::new()
    }

    /// Returns problems by counterset, each with the omitted part and the reason. The GUID is that of a counterset of
    /// this provider, or of one that exists in place of another.
    fn left_out(&mut self) -> Vec<(Guid, Text)> {
        Vec::new()
    }
}

/// Calls a function of a provider, and converts a panic to an error. A panic of the provider fails that call only.
pub(crate) fn guarded<T>(
    provider: &mut dyn Provider,
    call: impl FnOnce(&mut dyn Provider) -> Result<T, SourceError>,
) -> Result<T, SourceError> {
    // Rows that a panic left half filled are not delivered: all entries fail with this error.
    catch_unwind(AssertUnwindSafe(|| call(provider)))
        .unwrap_or_else(|_| Err(SourceError::Failed("the provider panicked".into())))
}

/// Returns an error unless the requested counterset is the only counterset of a provider.
fn check_counterset(requested: &Guid, own: &Guid) -> Result<(), SourceError> {
    if requested == own { Ok(()) } else { Err(SourceError::UnknownCounterset(*requested)) }
}

/// Countersets of a provider, and their origin.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Catalogue {
    /// Origin of the countersets' values, for users: an operating system, a program.
    pub origin: Text,
    /// Countersets of the provider, with their counters.
    pub countersets: Vec<Arc<Counterset>>,
}

impl Catalogue {
    /// Creates the catalogue of these countersets, with the origin of their values.
    #[must_use]
    pub fn new(origin: impl Into<Text>, countersets: Vec<Arc<Counterset>>) -> Self {
        Self { origin: origin.into(), countersets }
    }

    /// Creates the catalogue of one counterset, with the name of its provider as the origin.
    fn of_one(counterset: Counterset) -> Self {
        Self::new(counterset.provider.name.clone(), vec![Arc::new(counterset)])
    }
}

/// Kind of change to a query's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An entry was added to a query.
    #[doc(alias = "PERF_ADD_COUNTER")]
    Added,
    /// An entry was removed from a query, or its query was closed.
    #[doc(alias = "PERF_REMOVE_COUNTER")]
    Removed,
}

/// Request of one collection to one counterset: the union of a query's entries.
///
/// The engine creates the requests; [`new`](Self::new) is for tests of a provider.
///
/// ```
/// use perfset::provider::CollectRequest;
/// use perfset::{InstanceFilters, catalogue::perfset_engine as own};
///
/// let (counters, all) = ([own::COLLECTIONS_PER_SEC], InstanceFilters::any());
/// let want = CollectRequest::new(&own::COUNTERSET, &counters, &all);
/// let mut rows = want.rows();
/// // provider.collect(&want, &mut rows)?;
/// rows.end();
/// assert!(rows.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CollectRequest<'a> {
    /// Counterset whose rows are requested.
    pub counterset: &'a Counterset,
    /// Requested counters, in registration order: the columns of the rows.
    pub counters: &'a [CounterId],
    /// Filters of the requested instances; an instance is requested if it passes any of them.
    pub instances: &'a InstanceFilters,
    /// Number that identifies the collection: equal for all countersets of one collection, different for every other
    /// collection. It lets a source that several countersets need be read once. Never 0.
    pub collection: u64,
    /// Start of the collection in terms of PerfTime100NSec: 100 ns since 1601 UTC.
    pub time_100ns: u64,
}

impl<'a> CollectRequest<'a> {
    /// Creates a collection request by itself, at the beginning of 1970.
    #[must_use]
    pub fn new(
        counterset: &'a Counterset,
        counters: &'a [CounterId],
        instances: &'a InstanceFilters,
    ) -> Self {
        Self {
            counterset,
            counters,
            instances,
            collection: next_number(),
            time_100ns: UNIX_EPOCH_100NS.unsigned_abs(),
        }
    }

    /// Sets the number that identifies the collection, for requests to several countersets in one collection.
    #[must_use]
    pub fn collection(self, collection: u64) -> Self {
        Self { collection, ..self }
    }

    /// Sets the start time of the requested collection.
    #[must_use]
    pub fn at(self, time_100ns: u64) -> Self {
        Self { time_100ns, ..self }
    }
}

impl CollectRequest<'_> {
    /// Returns empty rows for the response to this request, with the requested counters as columns.
    #[must_use]
    pub fn rows(&self) -> Rows {
        let mut rows = Rows::new(self.counters.iter().filter_map(|id| self.counterset.counter(*id)));
        rows.start();
        rows
    }

    /// Returns `true` if the request includes an instance. A hint: the engine filters again.
    #[must_use]
    pub fn wants(&self, name: &str, id: InstanceId) -> bool {
        self.instances.wants(name.encode_utf16(), id)
    }

    /// Returns `true` if the request includes a counter.
    #[must_use]
    pub fn has(&self, counter: CounterId) -> bool {
        self.counters.contains(&counter)
    }
}
