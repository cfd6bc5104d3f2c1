//! Log source: one or several log files, queried like a machine.

mod copying;
mod logs;
mod merged;
mod path_countersets;
mod overlap;
mod selection;
mod series;
mod table;
mod log_reader;
mod logged_machine;
mod machine_logs;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perfset_core::clock::ClockReading;
use perfset_core::{CounterId, Counterset, Guid, Identity, Instance};
use perfset_engine::path::CounterPath;
use perfset_engine::{
    Catalogue, Clock, CollectRequest, Machine, Player, Provider, QueryHandle, RecordedSample, RegInfo,
    RegRequest, Replay, Rows, SampleForm, Source, SourceError, SourceKind, Window,
};

use crate::damage::Damages;
use crate::open::LogError;
use crate::pick::Pick;
pub use log_reader::Input;
use log_reader::{LogEntryKind, LogReader, TextLists};
pub use logs::Logs;
pub use machine_logs::MachineLogs;
use merged::{MergedLogs, ONLY};
use selection::{SampleChoice, Selection};
use series::series;

/// Logs of other programs as one source: each step of a query is the next sample.
#[derive(Clone)]
pub(crate) struct MergedSource {
    selection: Arc<Selection>,
    machines: Arc<BTreeSet<String>>,
    /// Offset that turns local times of the first log into UTC, in 100 ns.
    offset: i64,
    /// Countersets of the machine before the first sample of the logs.
    first: RestingMachine,
    /// Machine of the logs for requests that do not depend on the current sample.
    machine: Machine,
    damages: Arc<Mutex<Vec<Damages>>>,
}

impl fmt::Debug for MergedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergedSource")
            .field("inputs", &self.selection.inputs)
            .field("machine", &self.machine_name())
            .finish_non_exhaustive()
    }
}

/// Error for a log that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("log {number}: {error}")]
pub struct OpenError {
    /// Index among the named logs of the log that cannot be opened, from 0.
    pub number: usize,
    /// Reason for which the log cannot be opened.
    #[source]
    pub error: LogError,
}

impl From<OpenError> for SourceError {
    fn from(error: OpenError) -> Self {
        error.error.into()
    }
}

impl MergedSource {
    /// Opens logs as one source, and reads a few samples of each.
    ///
    /// # Errors
    /// If a file is not a log or cannot be read.
    pub fn from_inputs(inputs: Vec<Input>) -> Result<Self, OpenError> {
        /// Number of intervals between consecutive samples of a log that are examined to find the shortest one.
        const STEPS: usize = 16;
        let mut shortest = i64::MAX;
        let (mut machines, mut known) = (Vec::new(), HashSet::new());
        let (mut offset, mut damages) = (None, Vec::new());
        let (read, lists) = (Arc::default(), TextLists::default());
        for (number, input) in inputs.iter().enumerate() {
            let failed = |error| OpenError { number, error };
            let mut reader = LogReader::open((number, input), &read, &lists).map_err(failed)?;
            // The user gives times in the zone of the first log; each log converts its own times.
            offset.get_or_insert(reader.offset());
            // A log cut before its first sample may have no counters. No query would then report the damage.
            damages.push(reader.damages());
            let mut last: Option<&str> = None;
            for listed in
                reader.ahead().list.iter().filter(|listed| !matches!(listed.what, LogEntryKind::Unknown))
            {
                let name = listed.path.machine.as_deref().unwrap_or_default();
                if last.replace(name) != Some(name) && known.insert(name.to_ascii_lowercase()) {
                    machines.push(name.to_owned());
                }
            }
            let mut before = reader.next_time();
            for _ in 0..STEPS {
                reader.advance().map_err(failed)?;
                let now = reader.next_time();
                let step = before.zip(now).map(|(before, now)| now.saturating_sub(before));
                shortest = step.filter(|step| *step > 0).map_or(shortest, |step| shortest.min(step));
                before = now;
            }
        }
        // Within half of the shortest interval, a sample is near at most one sample of another log.
        let tolerance = if shortest == i64::MAX { 0 } else { shortest / 2 };
        let machine_name: Arc<str> = machines.first().cloned().unwrap_or_default().into();
        let selection = Selection::new(inputs, (read, lists), machine_name, tolerance);
        let (catalogue, is_steady) = before_the_first(&selection)?;
        let first = RestingMachine { catalogue, is_steady, all: Arc::clone(&selection) };
        Ok(Self {
            machine: first.machine(),
            first,
            selection,
            machines: Arc::new(machines.into_iter().collect()),
            offset: offset.unwrap_or(0),
            damages: Arc::new(Mutex::new(damages)),
        })
    }

    /// Returns the same logs with the counters of another machine. `name` has no backslashes.
    ///
    /// # Errors
    /// If a file has been removed meanwhile.
    pub fn for_machine(&self, name: &str) -> Result<Self, OpenError> {
        let known = self.machines.iter().find(|known| known.eq_ignore_ascii_case(name));
        let selection = self.selection.for_machine(known.map_or(name, String::as_str).into());
        let (catalogue, is_steady) = before_the_first(&selection)?;
        Ok(self.resting(selection, catalogue, is_steady))
    }

    /// Returns the same logs, restricted to the samples in a window.
    #[must_use]
    pub fn within(&self, window: Window) -> Self {
        self.choosing(SampleChoice { window, ..self.selection.choice })
    }

    /// Returns the same logs, restricted to some samples. Rates are computed from one of these samples to the next.
    #[must_use]
    pub fn picking(&self, pick: Pick) -> Self {
        self.choosing(SampleChoice { pick, ..self.selection.choice })
    }

    fn choosing(&self, choice: SampleChoice) -> Self {
        let selection = self.selection.choosing(choice);
        self.resting(selection, Arc::clone(&self.first.catalogue), self.first.is_steady)
    }

    fn resting(&self, selection: Arc<Selection>, catalogue: Arc<Catalogue>, is_steady: bool) -> Self {
        let first = RestingMachine { catalogue, is_steady, all: Arc::clone(&selection) };
        Self { machine: first.machine(), first, selection, ..self.clone() }
    }

    /// Returns the machines whose counters the logs contain, without backslashes.
    #[must_use]
    pub fn machines(&self) -> &BTreeSet<String> {
        &self.machines
    }

    /// Returns the name of the machine whose counters are played.
    #[must_use]
    pub fn machine_name(&self) -> &str {
        &self.selection.machine_name
    }

    /// Returns the countersets of the played machine, with their names. Enumerated instances are those of all
    /// samples.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns the offset that turns local times of the first log into UTC, in 100 ns.
    #[must_use]
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Returns counter paths for everything in the logs.
    #[must_use]
    pub fn paths(&self) -> Vec<CounterPath> {
        counterset_paths(&self.first.catalogue.countersets)
    }

    /// Returns `true` if all samples of the logs have the same instances. That requires a single log whose list names
    /// each instance.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.selection.inputs.len() == 1 && self.first.is_steady
    }

    /// Returns the number of bytes read from the logs so far, by all queries.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.selection.read.load(Relaxed)
    }

    /// Returns the damage of each log, up to its first sample and as far as closed queries have read.
    #[must_use]
    pub fn damages(&self) -> Vec<Damages> {
        self.damages.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens merged logs to play a selection of these logs.
    fn play(&self, selection: &Arc<Selection>) -> Result<MergedLogs, SourceError> {
        Ok(selection.merged(Arc::clone(&self.first.catalogue), Arc::clone(&self.damages))?)
    }
}

impl Source for MergedSource {
    fn countersets(&mut self) -> Result<Vec<Guid>, SourceError> {
        Ok(self.machine.countersets())
    }

    fn registration(&mut self, counterset: &Guid, request: RegRequest) -> Result<RegInfo, SourceError> {
        self.machine.registration(counterset, request)
    }

    /// Returns the instances that a counterset has in all samples of the logs.
    fn instances(&mut self, counterset: &Guid) -> Result<Vec<Instance>, SourceError> {
        self.machine.instances(counterset)
    }

    fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError> {
        let deck = self.play(&self.selection)?;
        Ok(Box::new(Replay::new(LogPlayer { deck: Arc::new(Mutex::new(deck)), machine: ONLY })))
    }

    fn series(
        &mut self,
        counter: CounterId,
        instance: &Identity<'_>,
        window: Window,
        each: &mut dyn FnMut(&[RecordedSample<'_>]) -> ControlFlow<()>,
    ) -> Result<SourceKind, SourceError> {
        let window = self.selection.choice.window.both(window);
        // The selection of this source applies as well: a series has the samples that a query has (B-22).
        let selection = self.selection.choosing(SampleChoice { window, ..self.selection.choice });
        series(&mut self.play(&selection)?, counter, instance, each)?;
        Ok(SourceKind::Log)
    }
}

/// Returns counter paths for all counters and instances of some countersets, which are named by GUID.
fn counterset_paths(countersets: &[Arc<Counterset>]) -> Vec<CounterPath> {
    let path = |set: &Arc<Counterset>| CounterPath {
        machine: None,
        counterset: format!("{{{}}}", set.guid),
        instance: (set.instance_type.is_multiple()).then(|| "*".to_owned()),
        counter: "*".to_owned(),
    };
    countersets.iter().map(path).collect()
}

/// Returns the countersets of a machine before the logs' first sample, and `true` if all samples have the same
/// instances. Damage found meanwhile is discarded.
fn before_the_first(selection: &Arc<Selection>) -> Result<(Arc<Catalogue>, bool), OpenError> {
    // Opening the logs has counted this damage already.
    let mut deck = selection.merged(Arc::default(), Arc::default())?;
    Ok((deck.catalogue(ONLY), deck.is_steady(ONLY)))
}

/// Machine of logs that are not played: its countersets, and the instances of all samples.
#[derive(Clone)]
struct RestingMachine {
    catalogue: Arc<Catalogue>,
    /// `true` if all samples of the logs have the same instances.
    is_steady: bool,
    /// Selection of the logs' samples whose instances are enumerated.
    all: Arc<Selection>,
}

impl RestingMachine {
    fn machine(&self) -> Machine {
        let machine = Machine::bare(Box::new(self.clone()));
        machine.register(Box::new(self.clone()));
        machine
    }
}

impl Clock for RestingMachine {
    fn read(&mut self) -> ClockReading {
        // No sample is current, so there is no time.
        merged::clocks_at(0)
    }
}

impl Provider for RestingMachine {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        for instance in self.all.instances(counterset)?.iter() {
            rows.push_units(instance.name.units().iter().copied(), instance.id, None);
        }
        Ok(())
    }

    fn collect(&mut self, _: &CollectRequest<'_>, _: &mut Rows) -> Result<(), SourceError> {
        Err(SourceError::Failed("no sample of it was taken at that time".into()))
    }
}

/// Player of one machine of merged logs, used for queries.
#[derive(Clone)]
struct LogPlayer {
    deck: Arc<Mutex<MergedLogs>>,
    /// Index in the merged logs of the machine that is played.
    machine: usize,
}

impl LogPlayer {
    fn deck(&self) -> MutexGuard<'_, MergedLogs> {
        self.deck.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Player for LogPlayer {
    fn step(&mut self) -> Result<bool, SourceError> {
        self.deck().step(self.machine)
    }

    fn form(&mut self) -> Option<SampleForm> {
        self.deck().form()
    }

    fn renumber(&mut self, first: Option<u32>) -> bool {
        self.deck().renumber(first)
    }

    fn numbers(&mut self, form: u64, read: &mut dyn FnMut(&[u8], &ClockReading)) {
        self.deck().numbers(form, read);
    }
}

impl Clock for LogPlayer {
    fn read(&mut self) -> ClockReading {
        self.deck().clocks()
    }
}

impl Provider for LogPlayer {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(self.deck().catalogue(self.machine))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.deck().instances(self.machine, counterset, rows)
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.deck().collect(self.machine, want, rows)
    }
}
