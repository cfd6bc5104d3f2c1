//! The seam to whoever takes samples: a screen, a pipe, a log, an exporter.

use std::io;

use crate::error::SourceError;
use crate::snapshot::{EntryInfo, Snapshot};
use crate::source::{Next, QueryHandle};
use crate::values::Value;

/// Takes the samples of a query, one set after the other.
pub trait Sink {
    /// Before the first set: what the query asks for.
    ///
    /// # Errors
    /// Ends the run.
    fn begin(&mut self, entries: &[EntryInfo]) -> io::Result<()> {
        let _ = entries;
        Ok(())
    }

    /// One set of samples.
    ///
    /// # Errors
    /// Ends the run.
    fn sample_set(&mut self, set: &SampleSet<'_>) -> io::Result<()>;

    /// After the last set.
    ///
    /// # Errors
    /// The run has failed.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All samples of one collection, and those before it.
#[derive(Clone, Copy, Debug)]
pub struct SampleSet<'a> {
    /// This collection.
    pub new: &'a Snapshot,
    /// The one before; `None` for the first.
    pub old: Option<&'a Snapshot>,
}

impl<'a> SampleSet<'a> {
    /// Every value: see [`Snapshot::values`].
    pub fn values(&self) -> impl Iterator<Item = Value<'a>> {
        self.new.values(self.old)
    }
}

/// A run ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PumpError {
    /// The source failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The sink failed.
    #[error("cannot write the samples")]
    Sink(#[from] io::Error),
}

/// Carries samples from a query to a sink until `wait` or the source says that it is over.
///
/// `wait` is called between two collections: it sleeps until the next is due, and returns false to end.
///
/// # Errors
/// What the source or the sink answers.
pub fn pump(
    query: &mut dyn QueryHandle,
    sink: &mut dyn Sink,
    mut wait: impl FnMut() -> bool,
) -> Result<(), PumpError> {
    let (mut new, mut old) = (Snapshot::default(), Snapshot::default());
    let mut first = true;
    sink.begin(&query.info())?;
    while query.next(&mut new)? == Next::Sample {
        sink.sample_set(&SampleSet { new: &new, old: (!first).then_some(&old) })?;
        first = false;
        std::mem::swap(&mut new, &mut old);
        if !wait() {
            break;
        }
    }
    Ok(sink.finish()?)
}
