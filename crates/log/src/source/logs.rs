//! Logs of any format as a source that runs queries.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use perfset_core::{CounterId, Guid, Identity, Instance};
use perfset_engine::path::CounterPath;
use perfset_engine::{
    Fact, FactOptions, Machine, NextOutcome, QueryHandle, RecordedSample, RegInfo, RegRequest, Snapshot,
    Source, SourceError, SourceKind, Window,
};

use super::selection::INSTANCES;
use super::{Input, MergedSource, OpenError, counterset_paths};
use crate::damage::Damages;
use crate::open::LogError;
use crate::pick::Pick;
use crate::recording::{BlockHeader, Recording, is_recording};

/// Log source of any format: each step of a query is the next sample.
///
/// Recorded counters are registered under their names in the log. An object known to the catalogue has the
/// catalogue's GUID, and its counters have the catalogue's ids. Instance names are those of counter paths, including
/// parent and index.
///
/// Logs of the same time are merged: a step takes the sample of that time from each log, so that counters of several
/// logs stand side by side. Samples of nearly the same time are merged only if their logs have no counter in common,
/// so no value replaces another. If two logs have different values of a counter at exactly the same time, the value
/// of the first log is played. The other value is [damage](Self::damages).
///
/// Values of binary logs are raw values. The formulas of live values convert them, each with the clock recorded
/// beside it. Values of text logs were formatted by their writer, and are marked
/// [`Mark::Formatted`](perfset_core::Mark::Formatted).
///
/// ```
/// use perfset::{NextOutcome, path::PathQuery};
/// use perfset::log::Logs;
///
/// let log = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\HOST\\Memory\\Pages/sec\"\n\
///            \"11/05/2026 10:00:00.000\",\"12.5\"\n\"11/05/2026 10:00:01.000\",\"40\"\n";
/// let mut logs = Logs::from_bytes(log.as_bytes())?;
/// let mut query = PathQuery::open(&mut logs)?;
/// query.add(&mut logs, &r"\Memory\Pages/sec".parse()?)?;
/// let mut values = Vec::new();
/// while query.collect()? == NextOutcome::Sample {
///     values.push(query.values()[0].value.value.clone()?.raw);
/// }
/// assert_eq!(values, [12.5, 40.0]);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Logs(Kind);

/// Kind of opened logs: a recording, or merged logs of other programs.
#[derive(Clone, Debug)]
enum Kind {
    Merged(MergedSource),
    Recording(Recording),
}

impl Logs {
    /// Maximum number of instances of a counterset that logs enumerate.
    pub const INSTANCES: usize = INSTANCES;

    /// Opens several log files as one source, and reads a few samples of each. A recording is opened alone: its path is
    /// that of a directory or of a file.
    ///
    /// If the logs contain several machines, the first machine named by a log is played: see
    /// [`for_machine`](Self::for_machine).
    ///
    /// # Errors
    /// If a file is not a log or cannot be read.
    pub fn open(files: &[impl AsRef<Path>]) -> Result<Self, OpenError> {
        Self::from_inputs(files.iter().map(|file| Input::File(file.as_ref().to_owned())).collect())
    }

    /// Opens a log of any format from bytes in memory.
    ///
    /// # Errors
    /// If the bytes are not a log.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, OpenError> {
        Self::from_inputs(vec![Input::Bytes(bytes.into())])
    }

    /// Opens log files and logs in memory as one source, like [`open`](Self::open).
    ///
    /// # Errors
    /// Errors of [`open`](Self::open).
    pub fn from_inputs(inputs: Vec<Input>) -> Result<Self, OpenError> {
        let Some(number) = inputs.iter().position(has_recording) else {
            return MergedSource::from_inputs(inputs).map(Kind::Merged).map(Self);
        };
        let failed = |error| OpenError { number, error };
        let [input] = &*inputs else { return Err(failed(LogError::RecordingAmongOthers)) };
        let opened = match input {
            Input::File(path) => Recording::open(path),
            Input::Bytes(bytes) => Recording::from_bytes(bytes),
        };
        opened.map(Kind::Recording).map(Self).map_err(|error| failed(error.into()))
    }

    /// Returns the same logs with the counters of another machine. `name` has no backslashes. The logs are read up to
    /// their first sample each time; [`for_machines`](Self::for_machines) reads them once for many machines.
    ///
    /// # Errors
    /// If a file has been removed meanwhile.
    pub fn for_machine(&self, name: &str) -> Result<Self, OpenError> {
        match &self.0 {
            Kind::Merged(logs) => logs.for_machine(name).map(Kind::Merged).map(Self),
            // A recording has one machine.
            Kind::Recording(_) => Ok(self.clone()),
        }
    }

    /// Returns the same logs, restricted to the samples in a window.
    #[must_use]
    pub fn within(&self, window: Window) -> Self {
        Self(match &self.0 {
            Kind::Merged(logs) => Kind::Merged(logs.within(window)),
            Kind::Recording(recording) => Kind::Recording(recording.within(window)),
        })
    }

    /// Returns the same logs, restricted to some samples. Rates are computed from one of these samples to the next.
    #[must_use]
    pub fn picking(&self, pick: Pick) -> Self {
        Self(match &self.0 {
            Kind::Merged(logs) => Kind::Merged(logs.picking(pick)),
            Kind::Recording(recording) => Kind::Recording(recording.picking(pick)),
        })
    }

    /// Returns the recording, if the logs are a recording.
    #[must_use]
    pub fn recording(&self) -> Option<&Recording> {
        match &self.0 {
            Kind::Merged(_) => None,
            Kind::Recording(recording) => Some(recording),
        }
    }

    /// Returns the logs of other programs; `None` if this source is a recording.
    pub(super) fn merged(&self) -> Option<&MergedSource> {
        match &self.0 {
            Kind::Merged(logs) => Some(logs),
            Kind::Recording(_) => None,
        }
    }

    /// Returns the machines whose counters the logs contain, without backslashes.
    #[must_use]
    pub fn machines(&self) -> Cow<'_, BTreeSet<String>> {
        match &self.0 {
            Kind::Merged(logs) => Cow::Borrowed(logs.machines()),
            Kind::Recording(recording) => Cow::Owned(BTreeSet::from([recording.machine_name().to_owned()])),
        }
    }

    /// Returns the name of the machine whose counters are played.
    #[must_use]
    pub fn machine_name(&self) -> &str {
        match &self.0 {
            Kind::Merged(logs) => logs.machine_name(),
            Kind::Recording(recording) => recording.machine_name(),
        }
    }

    /// Returns the countersets of the played machine, with their names. Enumerated instances are those of all
    /// samples.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        match &self.0 {
            Kind::Merged(logs) => logs.machine(),
            Kind::Recording(recording) => recording.machine(),
        }
    }

    /// Returns the offset that turns local times of the first log into UTC, in 100 ns. That of a recording was valid
    /// when its newest file was begun.
    #[must_use]
    pub fn offset(&self) -> i64 {
        match &self.0 {
            Kind::Merged(logs) => logs.offset(),
            Kind::Recording(recording) => recording.offset(),
        }
    }

    /// Returns the times of all samples of the logs, in 100 ns since 1601 UTC, in their order. Logs that are no
    /// recording are read to their end.
    ///
    /// # Errors
    /// If a log cannot be read.
    pub fn times(&self) -> Result<Vec<i64>, SourceError> {
        match &self.0 {
            Kind::Merged(logs) => {
                let (mut query, mut sample) = (logs.clone().open()?, Snapshot::default());
                let mut times = Vec::new();
                while query.next(&mut sample)? == NextOutcome::Sample {
                    times.push(sample.clocks().utc_100ns());
                }
                Ok(times)
            }
            Kind::Recording(recording) => Ok(recording.times().collect()),
        }
    }

    /// Returns counter paths for everything in the logs, with countersets by GUID, in the order of the counter lists.
    #[must_use]
    pub fn paths(&self) -> Vec<CounterPath> {
        match &self.0 {
            Kind::Merged(logs) => logs.paths(),
            Kind::Recording(recording) => counterset_paths(recording.countersets()),
        }
    }

    /// Returns `true` if all samples of the logs have the same instances. That requires a single log whose list names
    /// each instance.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.merged().is_some_and(MergedSource::is_steady)
    }

    /// Returns the number of bytes read from the logs so far, by all queries. It is 0 for a recording, which is not
    /// read from its beginning to its end.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.merged().map_or(0, MergedSource::bytes_read)
    }

    /// Returns the damage of each log, up to its first sample and as far as closed queries have read.
    #[must_use]
    pub fn damages(&self) -> Vec<Damages> {
        match &self.0 {
            Kind::Merged(logs) => logs.damages(),
            // One log, of several files.
            Kind::Recording(recording) => vec![recording.all_damages()],
        }
    }
}

/// Returns `true` if an input is a recording: a directory, or a file that begins with a block.
fn has_recording(input: &Input) -> bool {
    match input {
        Input::Bytes(bytes) => bytes.starts_with(&BlockHeader::MAGIC),
        Input::File(path) => is_recording(path),
    }
}

impl From<MergedSource> for Logs {
    fn from(logs: MergedSource) -> Self {
        Self(Kind::Merged(logs))
    }
}

impl Source for Logs {
    fn countersets(&mut self) -> Result<Vec<Guid>, SourceError> {
        self.source().countersets()
    }

    fn registration(&mut self, counterset: &Guid, request: RegRequest) -> Result<RegInfo, SourceError> {
        self.source().registration(counterset, request)
    }

    /// Returns the instances that a counterset has in all samples of the logs.
    fn instances(&mut self, counterset: &Guid) -> Result<Vec<Instance>, SourceError> {
        self.source().instances(counterset)
    }

    fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError> {
        self.source().open()
    }

    fn facts(&mut self, instance: &Identity<'_>, options: FactOptions) -> Result<Vec<Fact>, SourceError> {
        self.source().facts(instance, options)
    }

    fn series(
        &mut self,
        counter: CounterId,
        instance: &Identity<'_>,
        window: Window,
        each: &mut dyn FnMut(&[RecordedSample<'_>]) -> ControlFlow<()>,
    ) -> Result<SourceKind, SourceError> {
        self.source().series(counter, instance, window, each)
    }
}

impl Logs {
    fn source(&mut self) -> &mut dyn Source {
        match &mut self.0 {
            Kind::Merged(logs) => logs,
            Kind::Recording(recording) => recording,
        }
    }
}
