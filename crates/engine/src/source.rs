//! Interface of every source of countersets that can be queried: this machine, another machine, Windows itself, a
//! log.

use std::ops::ControlFlow;
use std::sync::Arc;

use perfset_core::{CounterId, Guid, Identity, Instance, Mark, NoValue, Sample, Status};

use crate::entry::Entry;
use crate::error::SourceError;
use crate::facts::{Fact, FactOptions};
use crate::machine::Machine;
use crate::query::Query;
use crate::registration::{RegInfo, RegRequest};
use crate::snapshot::{ResolvedEntry, Snapshot};

/// Source of countersets and their values.
pub trait Source {
    /// Returns the GUIDs of all countersets, ascending.
    ///
    /// # Errors
    /// If the source cannot be reached.
    fn countersets(&mut self) -> Result<Vec<Guid>, SourceError>;

    /// Returns the requested part of a counterset's registration.
    ///
    /// # Errors
    /// If the source cannot be reached, or does not have the counterset.
    fn registration(&mut self, counterset: &Guid, request: RegRequest) -> Result<RegInfo, SourceError>;

    /// Returns the active instances of a counterset.
    ///
    /// # Errors
    /// If the source cannot be reached, or there is no instance.
    fn instances(&mut self, counterset: &Guid) -> Result<Vec<Instance>, SourceError>;

    /// Opens an empty query of the source.
    ///
    /// # Errors
    /// If the source cannot be reached.
    fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError>;

    /// Returns facts about an instance as text. They are read now; nothing is stored.
    ///
    /// Returns none if the source knows no facts, if the instance has ended, or if another instance has its name and id
    /// now: then the birth differs.
    ///
    /// # Errors
    /// If the source cannot be reached, or does not have the counterset.
    fn facts(&mut self, instance: &Identity<'_>, options: FactOptions) -> Result<Vec<Fact>, SourceError> {
        let _ = (instance, options);
        Ok(Vec::new())
    }

    /// Passes all samples of one counter of one instance in a time window to `each`, in batches, oldest first, until
    /// `each` breaks off. The samples equal those that a query would compute values from, at a fraction of the cost.
    ///
    /// # Errors
    /// If the source cannot be read, or does not have the counter.
    fn series(
        &mut self,
        counter: CounterId,
        instance: &Identity<'_>,
        window: Window,
        each: &mut dyn FnMut(&[RecordedSample<'_>]) -> ControlFlow<()>,
    ) -> Result<SourceKind, SourceError> {
        let _ = (counter, instance, window, each);
        Ok(SourceKind::Live)
    }
}

/// Recorded sample of one counter of one instance.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedSample<'a> {
    /// Time of the sample in 100 ns since 1601 UTC. Formulas divide by the sample's own clocks.
    pub time: i64,
    /// Recorded sample, or the reason for having none.
    pub sample: Result<Sample<'a>, NoValue>,
    /// Mark of the sample's raw value, if it has one.
    pub mark: Option<Mark>,
}

/// Kind of a source: log or live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// Log source: it has samples of the past.
    Log,
    /// Live source: it has only samples that are collected from now on.
    Live,
}

/// Time range of a source's samples, both ends included, in 100 ns since 1601 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(alias = "PDH_TIME_INFO")]
pub struct Window {
    /// Start of the time range; `None` is the beginning of the source.
    pub begin: Option<i64>,
    /// End of the time range; `None` is the end of the source.
    pub end: Option<i64>,
}

impl Window {
    /// Returns `true` if the time range contains a time.
    #[must_use]
    pub fn contains(&self, time: i64) -> bool {
        self.begin.is_none_or(|begin| begin <= time) && self.end.is_none_or(|end| time <= end)
    }

    /// Returns the intersection of two time ranges.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        // Not `max` and `min` of two `Option`s: `None` is less than every time, and means no limit.
        let begins = self.begin.into_iter().chain(other.begin);
        let ends = self.end.into_iter().chain(other.end);
        Self { begin: begins.max(), end: ends.min() }
    }
}

/// Query of a live source or of a log source.
pub trait QueryHandle: Send {
    /// Adds an entry to the query.
    fn add(&mut self, entry: &Entry) -> Status;

    /// Deletes an entry from the query.
    fn delete(&mut self, entry: &Entry) -> Status;

    /// Returns the resolved entries of the query in the order of their results.
    fn info(&mut self) -> Arc<[ResolvedEntry]>;

    /// Reads the next sample of all query entries: the current sample of a live source, or the next recorded sample
    /// of a log.
    ///
    /// # Errors
    /// If there is nothing to deliver at all.
    fn next(&mut self, snapshot: &mut Snapshot) -> Result<NextOutcome, SourceError>;
}

/// Outcome of a call to [`QueryHandle::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextOutcome {
    /// The snapshot has a new sample.
    Sample,
    /// The log is at its end; the snapshot is unchanged.
    End,
}

impl Source for Machine {
    fn countersets(&mut self) -> Result<Vec<Guid>, SourceError> {
        Ok(Machine::countersets(self))
    }

    fn registration(&mut self, counterset: &Guid, request: RegRequest) -> Result<RegInfo, SourceError> {
        Machine::registration(self, counterset, request)
    }

    fn instances(&mut self, counterset: &Guid) -> Result<Vec<Instance>, SourceError> {
        Machine::instances(self, counterset)
    }

    fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError> {
        Ok(Box::new(self.query()))
    }

    fn facts(&mut self, instance: &Identity<'_>, options: FactOptions) -> Result<Vec<Fact>, SourceError> {
        Machine::facts(self, instance, options)
    }
}

impl QueryHandle for Query {
    fn add(&mut self, entry: &Entry) -> Status {
        Query::add(self, entry)
    }

    fn delete(&mut self, entry: &Entry) -> Status {
        Query::delete(self, entry)
    }

    fn info(&mut self) -> Arc<[ResolvedEntry]> {
        Query::infos(self)
    }

    fn next(&mut self, snapshot: &mut Snapshot) -> Result<NextOutcome, SourceError> {
        self.collect(snapshot).map(|()| NextOutcome::Sample)
    }
}

/// Returns the name that Windows gives a machine called `own`: the first label in capitals, at most 15 characters
/// (MAX_COMPUTERNAME_LENGTH). GetComputerName returns it, and V1 blocks contain it.
#[must_use]
pub fn computer_name(own: &str) -> String {
    const MOST: usize = 15;
    let label = own.split('.').next().filter(|label| !label.is_empty()).unwrap_or("localhost");
    label.chars().take(MOST).collect::<String>().to_ascii_uppercase()
}

/// Checks that a machine name in an argument means this machine, whose name is `own` (R-7).
///
/// The first label of `own` and its [`computer_name`] mean it too.
///
/// # Errors
/// [`SourceError::Remote`] for any other machine.
pub fn local_machine(name: Option<&str>, own: &str) -> Result<(), SourceError> {
    let Some(name) = name else { return Ok(()) };
    let bare = name.strip_prefix(r"\\").unwrap_or(name);
    let label = own.split('.').next().unwrap_or(own);
    let names = ["", ".", "localhost", own, label, &computer_name(own)];
    let local = names.iter().any(|local| bare.eq_ignore_ascii_case(local));
    if local { Ok(()) } else { Err(SourceError::Remote(name.to_string())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computer_names_are_as_windows_has_them() {
        for (own, want) in [
            ("vm", "VM"),
            ("web-01.example.org", "WEB-01"),
            ("a-name-of-more-than-15", "A-NAME-OF-MORE-"),
            ("ümlaut", "üMLAUT"),
            ("", "LOCALHOST"),
            (".x", "LOCALHOST"),
        ] {
            assert_eq!(computer_name(own), want);
            assert!(local_machine(Some(want), own).is_ok(), "{own}");
        }
    }

    #[test]
    fn windows_intersect() {
        let window = |begin, end| Window { begin, end };
        for (a, b, want) in [
            (window(None, None), window(None, None), window(None, None)),
            (window(None, None), window(Some(2), Some(7)), window(Some(2), Some(7))),
            (window(Some(2), None), window(None, Some(7)), window(Some(2), Some(7))),
            (window(Some(2), Some(7)), window(Some(3), Some(11)), window(Some(3), Some(7))),
            (window(Some(2), Some(3)), window(Some(5), Some(7)), window(Some(5), Some(3))),
        ] {
            assert_eq!((a.both(b), b.both(a)), (want, want), "{a:?} {b:?}");
        }
    }
}
