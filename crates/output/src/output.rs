//! Interface of outputs: receivers of formatted values.

use std::io;

use perfset_core::clock::ClockReading;
use perfset_engine::path::{PathQuery, PathValue};
use perfset_engine::{NextOutcome, SourceError};

use crate::left_out::LeftOut;

/// Receiver of the formatted values of a query, one sample after the other.
///
/// ```
/// use std::io::{self, Write};
///
/// use perfset::output::{Output, OutputSample, write_samples};
/// use perfset::path::PathQuery;
///
/// /// Prints `path value` lines.
/// struct Lines<W>(W);
///
/// impl<W: Write> Output for Lines<W> {
///     fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
///         for v in sample.values() {
///             match &v.value.value {
///                 Ok(value) => writeln!(self.0, "{} {}", v.pdh_path(None), value.nocap())?,
///                 Err(reason) => writeln!(self.0, "{} - ({reason})", v.pdh_path(None))?,
///             }
///         }
///         Ok(())
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut machine = perfset::local();
/// let mut query = PathQuery::open(&mut machine)?;
/// query.add(&mut machine, &r"\System\Processes".parse()?)?;
/// let mut lines = Lines(Vec::new());
/// write_samples(&mut query, &mut lines, || false)?;
/// assert!(String::from_utf8(lines.0)?.starts_with(r"\System\Processes "));
/// # Ok(())
/// # }
/// ```
pub trait Output {
    /// Returns `true` if all series must be known before the first sample, because the head of the file names them.
    fn needs_series(&self) -> bool {
        false
    }

    /// Learns the series of a sample that will be written later. Called by [`learn_series`], and only if
    /// [`needs_series`](Self::needs_series).
    ///
    /// Without these calls, the series of the first sample are the series of the file.
    fn learn(&mut self, sample: &OutputSample<'_>) {
        let _ = sample;
    }

    /// Receives the values of one sample.
    ///
    /// # Errors
    /// An error ends the run.
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()>;

    /// Completes the output after the last sample.
    ///
    /// # Errors
    /// An error means that the output is not complete.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Returns `true` if the output contains [`OutputSample::left_out`].
    fn shows_left_out(&self) -> bool {
        false
    }

    /// Returns the number of values that the output could not contain, because it has no column for them.
    fn without_column(&self) -> u64 {
        0
    }

    /// Returns sentences about properties of the values that the output cannot contain, such as marks. For users, after
    /// the last sample.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Formatted values of one sample, which an output receives.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OutputSample<'a> {
    /// Clock readings at the time of the sample.
    pub clocks: &'a ClockReading,
    /// Values of each machine in the sample; live samples have one machine.
    pub machines: &'a [MachineValues<'a>],
    /// Missing values of the sample that a filter or ranking removed; `None` without such a selection.
    pub left_out: Option<&'a LeftOut<'a>>,
}

impl<'a> OutputSample<'a> {
    /// Creates a sample for outputs from which nothing was removed.
    #[must_use]
    pub fn new(clocks: &'a ClockReading, machines: &'a [MachineValues<'a>]) -> Self {
        Self { clocks, machines, left_out: None }
    }

    /// Returns the same sample with the missing values that a filter or ranking removed.
    #[must_use]
    pub fn without(self, left_out: Option<&'a LeftOut<'a>>) -> Self {
        Self { left_out, ..self }
    }

    /// Returns the values of all machines in the sample.
    pub fn values(&self) -> impl Iterator<Item = &'a PathValue<'a>> + Clone + use<'a> {
        self.machines.iter().flat_map(|machine| machine.values)
    }
}

/// Formatted values of one machine in a sample.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MachineValues<'a> {
    /// Name of the machine; `None` if the output can contain one machine only, which the reader knows.
    pub name: Option<&'a str>,
    /// Values of the machine, in the order of the requested paths.
    pub values: &'a [PathValue<'a>],
    /// Query that returned the machine's values, for raw counters and births; `None` if they were read without a
    /// query.
    pub query: Option<&'a PathQuery>,
}

impl<'a> MachineValues<'a> {
    /// Creates the values of a machine without its name, because the reader knows the machine.
    #[must_use]
    pub fn new(values: &'a [PathValue<'a>]) -> Self {
        Self { name: None, values, query: None }
    }

    /// Returns the same values with the name of their machine.
    #[must_use]
    pub fn named(self, name: &'a str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Returns the same values with the query that returned them.
    #[must_use]
    pub fn of_query(self, query: &'a PathQuery) -> Self {
        Self { query: Some(query), ..self }
    }
}

/// Reason for which [`write_samples`] ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The source of the samples returned an error.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The output that receives the samples returned an error.
    #[error("cannot write the samples")]
    Output(#[from] io::Error),
}

/// Collects samples and passes their values to an output, until `wait` returns `false` or the source is at its end.
///
/// `wait` is called between two collections: it sleeps until the next is due, and returns `false` to end. Rates have
/// values from the second sample on. For an output that [needs the series](Output::needs_series) of a log, call
/// [`learn_series`] before, with another query of the same paths; otherwise series that appear after the first sample
/// have no place.
///
/// # Errors
/// The error of the source or the output.
pub fn write_samples(
    query: &mut PathQuery,
    output: &mut dyn Output,
    mut wait: impl FnMut() -> bool,
) -> Result<(), OutputError> {
    while query.collect()? == NextOutcome::Sample {
        let values = query.values();
        let machine = [MachineValues::new(&values).of_query(query)];
        output.sample(&OutputSample::new(query.snapshot().clocks(), &machine))?;
        if !wait() {
            break;
        }
    }
    Ok(output.finish()?)
}

/// Passes the series of all samples of a log to an output. The query is at its end then.
///
/// # Errors
/// The error of the source.
pub fn learn_series(query: &mut PathQuery, output: &mut dyn Output) -> Result<(), SourceError> {
    while query.collect()? == NextOutcome::Sample {
        // Series of rows that are known already are known, too.
        if !query.has_same_rows() {
            let values = query.values();
            let machine = [MachineValues::new(&values).of_query(query)];
            output.learn(&OutputSample::new(query.snapshot().clocks(), &machine));
        }
    }
    Ok(())
}
