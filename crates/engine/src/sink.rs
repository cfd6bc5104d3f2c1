//! Interface of receivers of raw samples, such as an exporter of metrics.

use std::io;

use crate::error::SourceError;
use crate::snapshot::{ResolvedEntry, Snapshot};
use crate::source::{NextOutcome, QueryHandle};
use crate::values::Value;

/// Receiver of the samples of a query, one collection after the other.
pub trait Sink {
    /// Receives the query entries, before the first set of samples.
    ///
    /// # Errors
    /// An error ends the run.
    fn begin(&mut self, entries: &[ResolvedEntry]) -> io::Result<()> {
        let _ = entries;
        Ok(())
    }

    /// Receives the samples of one collection of the query.
    ///
    /// # Errors
    /// An error ends the run.
    fn sample_set(&mut self, set: &SampleSet<'_>) -> io::Result<()>;

    /// Ends the output of samples, after the last set of samples.
    ///
    /// # Errors
    /// An error means that the run has failed.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Samples of one collection, and the samples of the collection before.
#[derive(Clone, Copy, Debug)]
pub struct SampleSet<'a> {
    /// Snapshot of the collection from which the samples are.
    pub new: &'a Snapshot,
    /// Snapshot of the previous collection; `None` for the first collection.
    pub old: Option<&'a Snapshot>,
}

impl<'a> SampleSet<'a> {
    /// Returns every formatted value of the collection: see [`Snapshot::values`].
    pub fn values(&self) -> impl Iterator<Item = Value<'a>> {
        self.new.values(self.old)
    }
}

/// Reason that passing samples from a query to a sink ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PumpError {
    /// The source of the samples returned an error.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The sink that receives the samples returned an error.
    #[error("cannot write the samples")]
    Sink(#[from] io::Error),
}

/// Passes samples from a query to a sink until `wait` returns `false` or the source is at its end.
///
/// `wait` is called between two collections: it sleeps until the next is due, and returns `false` to end.
///
/// # Errors
/// The error of the source or the sink.
pub fn pump(
    query: &mut dyn QueryHandle,
    sink: &mut dyn Sink,
    mut wait: impl FnMut() -> bool,
) -> Result<(), PumpError> {
    let (mut new, mut old) = (Snapshot::default(), Snapshot::default());
    let mut first = true;
    sink.begin(&query.info())?;
    while query.next(&mut new)? == NextOutcome::Sample {
        sink.sample_set(&SampleSet { new: &new, old: (!first).then_some(&old) })?;
        first = false;
        std::mem::swap(&mut new, &mut old);
        if !wait() {
            break;
        }
    }
    Ok(sink.finish()?)
}
