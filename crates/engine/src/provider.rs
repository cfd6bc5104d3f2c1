//! The seam to whoever knows values: the operating system's modules, applications, the engine itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use perfset_core::{CounterId, Counterset, Guid, InstanceId, Status, Text};

use crate::entry::Entry;
use crate::error::SourceError;
use crate::filters::InstanceFilters;
use crate::rows::Rows;

/// Fills rows of its countersets.
///
/// Keeps descriptors, buffers and marked last readings, shared by all queries; no state that one query could leave
/// for another.
pub trait Provider: Send {
    /// What it provides. The same `Arc` as last time says that nothing changed.
    ///
    /// # Errors
    /// Its countersets are then treated as not registered.
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError>;

    /// The active instances of a counterset: names and ids only. `rows` has no columns.
    ///
    /// # Errors
    /// The enumeration fails with this.
    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError>;

    /// An entry was added to a query or removed from one. An answer other than success refuses the addition.
    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        let _ = (change, entry);
        Status::ERROR_SUCCESS
    }

    /// Announces a [`collect`](Self::collect) with the same request, so that all who must be waited for are asked at
    /// once. `until` is the end of waiting for others, the same for all countersets of a collection.
    ///
    /// The engine calls this for every counterset of a collection before it collects the first one. An implementation
    /// sends its requests and returns; it never waits.
    fn begin(&mut self, want: &Want<'_>, until: Instant) {
        let _ = (want, until);
    }

    /// The values of one counterset: a row for each instance that `want` asks for; more rows do no harm.
    ///
    /// Reads what the wanted counters need and nothing else. What cannot be had gets its reason in its cell.
    ///
    /// # Errors
    /// Only if there is nothing at all to deliver; every entry of the counterset then fails with this.
    fn collect(&mut self, want: &Want<'_>, rows: &mut Rows) -> Result<(), SourceError>;

    /// Where the values of one of its countersets come from, for people, if that is not what its catalogue says.
    fn origin(&mut self, counterset: &Guid) -> Option<Text> {
        let _ = counterset;
        None
    }

    /// What there is to say of how it gets its values here, for people: a topic, as `process source`, and a sentence.
    fn about(&mut self) -> Vec<(Text, Text)> {
        Vec::new()
    }

    /// Data that is there and not delivered, for people: how much, why, and what shows it. Of one of its countersets,
    /// or of all.
    fn not_shown(&mut self, counterset: Option<&Guid>) -> Vec<Text> {
        let _ = counterset;
        Vec::new()
    }

    /// Sources that have not answered in time and are not waited for now, for people: a line each, `WHO: SINCE WHEN`.
    fn late(&mut self) -> Vec<Text> {
        Vec::new()
    }

    /// What it found and cannot use, for people: what, and why.
    fn problems(&mut self) -> Vec<Text> {
        Vec::new()
    }

    /// Those of its problems that concern a counterset that it serves, or that is there in place of another: which,
    /// what is left out, and why.
    fn left_out(&mut self) -> Vec<(Guid, Text)> {
        Vec::new()
    }
}

/// Calls a provider. A panic there is that call's failure and nobody else's.
pub(crate) fn guarded<T>(
    provider: &mut dyn Provider,
    call: impl FnOnce(&mut dyn Provider) -> Result<T, SourceError>,
) -> Result<T, SourceError> {
    catch_unwind(AssertUnwindSafe(|| call(provider)))
        .unwrap_or_else(|_| Err(SourceError::Failed("the provider panicked".into())))
}

/// What a provider provides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue {
    /// Where its values come from, for people: an operating system, a program.
    pub origin: Text,
    /// Its countersets.
    pub countersets: Vec<Arc<Counterset>>,
}

/// What happened to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was added to a query.
    #[doc(alias = "PERF_ADD_COUNTER")]
    Added,
    /// It was removed, or its query was closed.
    #[doc(alias = "PERF_REMOVE_COUNTER")]
    Removed,
}

/// What one collection asks of one counterset: the union of a query's entries.
#[derive(Clone, Copy, Debug)]
pub struct Want<'a> {
    /// The counterset.
    pub counterset: &'a Counterset,
    /// Its counters, in registration order: the columns of the rows.
    pub counters: &'a [CounterId],
    /// Instances that pass any of these are asked for.
    pub instances: &'a InstanceFilters,
    /// Which collection it is for: the same number for all countersets of one collection, another for every other. A
    /// source that several of them need is read once.
    pub collection: u64,
}

impl Want<'_> {
    /// Whether an instance is asked for. A hint: the engine filters again.
    #[must_use]
    pub fn wants(&self, name: &str, id: InstanceId) -> bool {
        self.instances.wants(name.encode_utf16(), id)
    }

    /// Whether a counter is asked for.
    #[must_use]
    pub fn has(&self, counter: CounterId) -> bool {
        self.counters.contains(&counter)
    }
}
