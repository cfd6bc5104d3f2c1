//! Samples of counter paths: live, or from a log.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::Duration;

use perfset::clock::{ClockReading, SystemTime};
use perfset::log::Pick;
use perfset::output::text::escaped;
use perfset::path::{BindError, CounterPath, PathQuery, PathValue};
use perfset::{
    CostClass, Counter, Counterset, Identity, NextOutcome, NoValue, RecordedSample, SeriesValues, Source,
    SourceError, SourceKind, Value, Window,
};

use crate::args::{LogFiles, LogWindow};
use crate::bpf_capabilities;
use crate::exit::{Exit, Failure};
use crate::named_instances;
use crate::operands::Operands;
use crate::pace::{BRIEFLY, Pace};
use crate::query_source::QuerySource;
use crate::resolve::{near_line, no_counterset};

/// Options of a command for taking samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct SamplingOptions {
    /// `true` if raw values are requested, which need only one collection.
    pub is_raw: bool,
    /// Time to wait for the second collection that a rate needs; `None` is the interval between samples.
    pub warmup: Option<Duration>,
    /// Number of live samples, unless the operands contain a count; `None` continues until Ctrl+C.
    pub live_count: Option<u64>,
}

/// Function called with the clocks and values of each sample.
pub type SampleCallback<'a> = dyn FnMut(&ClockReading, &mut Vec<PathValue<'_>>) -> io::Result<()> + 'a;

/// Function called with the query after each sample. It also has what is not in the values, such as births. Returns
/// `Break` to take no more samples.
pub type QueryCallback<'a> = dyn FnMut(&PathQuery) -> Result<ControlFlow<()>, Failure> + 'a;

/// Counter paths of a command, bound to a machine or to logs, to take their samples.
pub struct Samples {
    query_source: QuerySource,
    source: Box<dyn Source>,
    query: PathQuery,
    operands: Operands,
    /// Cost class above which counters are left out if only a pattern selects them.
    most_costly: CostClass,
    /// Timer of live samples, which ends at Ctrl+C.
    pace: Option<Pace>,
    /// `true` if the user has ended the command while samples were taken.
    is_stopped: bool,
    /// Errors for counter paths whose instance this machine does not have.
    absent: Vec<Failure>,
}

impl Samples {
    /// Binds the operands' paths to this machine, or to the logs if `files` names any. Expensive counters that only a
    /// pattern selects are left out, unless `all`.
    pub fn open(
        operands: Operands,
        files: &LogFiles,
        window: &LogWindow,
        all: bool,
    ) -> Result<Self, Failure> {
        let (source, operands) = source_for(operands, files, window)?;
        Self::opened(source, operands, all)
    }

    /// Opens samples as [`open`](Self::open) does, and searches on this machine for each instance that a path names.
    /// Instances that the machine lacks are [`absent`](Self::absent). With `is_waiting`, waits until the machine has
    /// all counters and instances.
    pub fn open_named(
        operands: Operands,
        files: &LogFiles,
        window: &LogWindow,
        all: bool,
        is_waiting: bool,
    ) -> Result<Self, Failure> {
        let (source, mut operands) = source_for(operands, files, window)?;
        if matches!(source, QuerySource::Logs { .. }) {
            return Self::opened(source, operands, all);
        }
        let mut is_told = false;
        loop {
            operands.settle(source.machine());
            let absent = bound(&source, &operands.paths, CostClass::Expensive)
                .map(|_| named_instances::absent(&source, &operands.paths));
            let missing = match &absent {
                Err(failure) => Some(failure),
                Ok(absent) => absent.first(),
            };
            match missing {
                Some(failure) if is_waiting && failure.exit == Exit::NothingMatched => {
                    if !std::mem::replace(&mut is_told, true) {
                        let text = failure.text();
                        let reason = text.lines().next().unwrap_or_default();
                        // Standard error is the last place to report to, so a failure of it is ignored.
                        let _ = writeln!(io::stderr(), "note: {reason}; waiting for it");
                    }
                    // Ctrl+C ends the process: there is no sample yet that could be incomplete.
                    std::thread::sleep(operands.interval.unwrap_or(Duration::from_secs(1)));
                }
                _ => return Ok(Self { absent: absent?, ..Self::opened(source, operands, all)? }),
            }
        }
    }

    fn opened(source: QuerySource, operands: Operands, all: bool) -> Result<Self, Failure> {
        // What a log contains costs nothing more.
        let is_free = all || matches!(source, QuerySource::Logs { .. });
        let samples =
            Self::bound(source, operands, if is_free { CostClass::Expensive } else { CostClass::Moderate })?;
        samples.note_costly();
        Ok(samples)
    }

    /// Binds the operands' counter paths to a machine or to logs.
    pub fn new(query_source: QuerySource, operands: Operands) -> Result<Self, Failure> {
        Self::bound(query_source, operands, CostClass::Expensive)
    }

    fn bound(
        query_source: QuerySource,
        mut operands: Operands,
        most_costly: CostClass,
    ) -> Result<Self, Failure> {
        operands.settle(query_source.machine());
        let (source, query) = bound(&query_source, &operands.paths, most_costly)?;
        Ok(Self {
            query_source,
            source,
            query,
            operands,
            most_costly,
            pace: None,
            is_stopped: false,
            absent: Vec::new(),
        })
    }

    /// Returns an error for each path whose instance this machine did not have when the samples were opened.
    pub fn absent(&mut self) -> Vec<Failure> {
        std::mem::take(&mut self.absent)
    }

    /// Prints to standard error the expensive counters that were left out.
    fn note_costly(&self) {
        let path = |(set, counter): (&Counterset, &Counter)| {
            escaped(&format!("\\{}\\{}", set.name, counter.shown_name()))
        };
        let paths: Vec<_> = self.query.left_out().map(path).collect();
        if !paths.is_empty() {
            let (paths, s) = (paths.join(", "), if paths.len() == 1 { "" } else { "s" });
            // Standard error is the last place to report to, so a failure of it is ignored.
            let _ = writeln!(io::stderr(), "note: expensive counter{s} left out unless named: {paths}");
        }
    }

    /// Restarts the query at the first sample of a log.
    pub fn rewind(&mut self) -> Result<(), Failure> {
        (self.source, self.query) = bound(&self.query_source, &self.operands.paths, self.most_costly)?;
        Ok(())
    }

    /// Returns `true` if samples of the log can have different instances.
    pub fn comes_and_goes(&self) -> bool {
        matches!(&self.query_source, QuerySource::Logs { logs, .. } if !logs.is_steady())
    }

    /// Returns the source of the samples: this machine, or logs.
    pub fn query_source(&self) -> &QuerySource {
        &self.query_source
    }

    /// Returns the operands that the samples were opened with.
    pub fn operands(&self) -> &Operands {
        &self.operands
    }

    /// Returns `true` if the samples come from logs.
    pub fn is_log(&self) -> bool {
        matches!(self.query_source, QuerySource::Logs { .. })
    }

    /// Takes the samples of a command, and calls `each` for every sample.
    pub fn take(&mut self, how: SamplingOptions, each: &mut SampleCallback<'_>) -> Result<(), Failure> {
        if self.is_log() {
            return self.recorded(how, each);
        }
        self.live(how, &mut |query| {
            each(query.snapshot().clocks(), &mut query.values())?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Takes formatted samples, and calls `each` with the query after every sample.
    pub fn take_queries(
        &mut self,
        how: SamplingOptions,
        each: &mut QueryCallback<'_>,
    ) -> Result<(), Failure> {
        if !self.is_log() {
            return self.live(how, each);
        }
        let Self { query, operands, .. } = self;
        let (mut left, mut is_first) = (operands.count, true);
        while left != Some(0) && query.collect().map_err(source_failed)? == NextOutcome::Sample {
            // The first sample of rates is only the base of the second one.
            if std::mem::take(&mut is_first) && query.values().iter().all(waits) {
                continue;
            }
            if each(query)?.is_break() {
                return Ok(());
            }
            left = left.map(|left| left.saturating_sub(1));
        }
        if is_first && left != Some(0) { Err(no_sample()) } else { Ok(()) }
    }

    /// Returns `true` if the user has ended the command while samples were taken.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Waits until `is_done` returns `true`, or until the user ends the command. Returns `false` if the user ends the
    /// command first.
    pub fn wait_for(&mut self, is_done: &mut dyn FnMut() -> bool) -> bool {
        while !is_done() {
            match &mut self.pace {
                _ if self.is_stopped => return false,
                Some(pace) => self.is_stopped = !pace.wait_briefly(),
                None => std::thread::sleep(BRIEFLY), // Ctrl+C ends the process
            }
        }
        true
    }

    /// Prints warnings to standard error about damage of the logs. Returns the exit code of a command that succeeded
    /// otherwise.
    #[must_use]
    pub fn finish(self) -> Exit {
        // Damage is stored when the query is closed.
        drop(self.query);
        if self.query_source.warn_of_damage() { Exit::InvalidData } else { Exit::Ok }
    }

    /// Takes live samples of the counter paths at regular intervals.
    fn live(&mut self, how: SamplingOptions, each: &mut QueryCallback<'_>) -> Result<(), Failure> {
        let Self { query, operands, pace, is_stopped, .. } = self;
        // The first collection is the start of all rates; it precedes the first requested sample.
        query.collect().map_err(source_failed)?;
        let needs_two =
            !how.is_raw && query.values().iter().any(|v| v.value.counter.counter_type.needs_two_samples());
        let every = operands.interval.unwrap_or(Duration::from_secs(1));
        // Samples are counted below and not by the timer, because the wait for the second collection of a
        // rate precedes the first sample.
        let first = how.warmup.filter(|_| needs_two).unwrap_or(every);
        let timer = Pace::new(first, None).map_err(|error| Failure::new(Exit::SourceFailed, error))?;
        let pace = pace.insert(timer);
        if needs_two {
            if !pace.wait() {
                *is_stopped = true;
                return Ok(());
            }
            query.collect().map_err(source_failed)?;
        }
        // The warmup may differ from the interval, so the grid starts again with the first sample shown.
        pace.every(every);
        let (most, mut taken) = (operands.count.or(how.live_count), 0_u64);
        loop {
            if each(query)?.is_break() {
                return Ok(());
            }
            taken = taken.saturating_add(1);
            if most.is_some_and(|most| taken >= most) {
                return Ok(());
            }
            if !pace.wait() {
                *is_stopped = true;
                return Ok(());
            }
            query.collect().map_err(source_failed)?;
        }
    }

    /// Takes the recorded samples of the counter paths from a log.
    fn recorded(&mut self, how: SamplingOptions, each: &mut SampleCallback<'_>) -> Result<(), Failure> {
        let Self { source, query, operands, .. } = self;
        let mut passed = 0_u64;
        let mut taker = Taker { each, left: operands.count, is_first: true, is_raw: how.is_raw };
        while taker.left != Some(0) && query.collect().map_err(source_failed)? == NextOutcome::Sample {
            let (mut values, clocks) = (query.values(), *query.snapshot().clocks());
            // A single series is read without a query from its first value on.
            if let (true, [only], [path]) = (taker.is_first, values.as_slice(), operands.paths.as_slice()) {
                if series(&mut **source, path, passed, &clocks, only, &mut taker)? == SourceKind::Log {
                    return Ok(());
                }
            }
            taker.take(&clocks, &mut values)?;
            passed = passed.saturating_add(1);
        }
        match passed {
            0 if taker.left != Some(0) => Err(no_sample()),
            _ => Ok(()),
        }
    }
}

/// Returns the source of the operands' counter paths: this machine, or the logs if `files` names any.
fn source_for(
    operands: Operands,
    files: &LogFiles,
    window: &LogWindow,
) -> Result<(QuerySource, Operands), Failure> {
    files.processes.apply()?;
    // Before the source is opened: threads that it starts would keep the capabilities.
    if files.log.is_empty() && operands.interval.is_some() {
        bpf_capabilities::settle_for(&operands.paths, operands.count);
    }
    let source = QuerySource::for_paths(files, window, pick(operands.interval), &operands.paths)?;
    Ok((source, operands))
}

/// Returns the source of a command's counters, and a query of these counter paths on that source.
fn bound(
    asked: &QuerySource,
    paths: &[CounterPath],
    most_costly: CostClass,
) -> Result<(Box<dyn Source>, PathQuery), Failure> {
    let mut source = asked.source();
    let mut query = PathQuery::open(&mut *source).map_err(source_failed)?;
    query.leave_out_above(most_costly);
    for path in paths {
        query.add(&mut *source, path).map_err(|error| asked.failed(unbound(asked, path, error)))?;
    }
    Ok((source, query))
}

/// Receiver of a log's samples, which counts them and ends at a maximum.
struct Taker<'a, 'b> {
    each: &'a mut SampleCallback<'b>,
    /// Number of samples of the log still to be taken; `None` is all.
    left: Option<u64>,
    is_first: bool,
    is_raw: bool,
}

impl Taker<'_, '_> {
    fn take(&mut self, clocks: &ClockReading, values: &mut Vec<PathValue<'_>>) -> io::Result<()> {
        // The first sample of rates is only the base of the second one, so it is not delivered.
        if std::mem::take(&mut self.is_first) && values.iter().all(waits) && !self.is_raw {
            return Ok(());
        }
        (self.each)(clocks, values)?;
        self.left = self.left.map(|left| left.saturating_sub(1));
        Ok(())
    }
}

/// Returns `true` if a value is missing until its counter has a second sample.
fn waits(v: &PathValue<'_>) -> bool {
    matches!(v.value.value, Err(NoValue::NeedsTwoSamples))
}

/// Returns the error for a log without samples.
fn no_sample() -> Failure {
    Failure::new(Exit::NothingMatched, anyhow::anyhow!("no sample in the log, or none in that time"))
}

/// Takes the samples of one counter of one instance from a log, after the first `passed` samples. `first` is its
/// first value. Takes nothing if the source cannot return single series.
fn series(
    source: &mut dyn Source,
    path: &CounterPath,
    mut passed: u64,
    clocks: &ClockReading,
    first: &PathValue<'_>,
    taker: &mut Taker<'_, '_>,
) -> Result<SourceKind, Failure> {
    let is_pattern = |text: &str| text.contains(['*', '?', '{', '!', '#']);
    let Value { counterset, counter, instance, instance_id, raw, .. } = first.value;
    // If the first value is missing, the instance id is unknown, and with it the identity of the series.
    let (Some(_), Some(instance_id)) = (raw, instance_id) else { return Ok(SourceKind::Live) };
    // A pattern that selects one instance now may select more of them in a later sample.
    if is_pattern(&path.counter) || path.instance.as_deref().is_some_and(is_pattern) {
        return Ok(SourceKind::Live);
    }
    // Without a birth, the series continues when the instance restarts; a value is of one birth.
    let identity = Identity { counterset: counterset.guid, instance, instance_id, birth: None };
    let mut computed = SeriesValues::new(counterset, counter, identity);
    let (mut values, mut failed): (Vec<PathValue<'_>>, _) = (Vec::with_capacity(1), None);
    let mut each = |batch: &[RecordedSample<'_>]| {
        for past in batch {
            // Samples are skipped by number and not by time, because the clock might have been set back.
            if let Some(left) = passed.checked_sub(1) {
                passed = left;
                continue;
            }
            let now = past.sample.as_ref().ok();
            let (value, mark) = computed.next(&past.sample, past.mark);
            let value = Value {
                raw: now.map(|now| now.raw),
                base: now.and_then(|now| now.base),
                instance_id: if matches!(value, Err(NoValue::NoInstance)) { None } else { Some(instance_id) },
                value,
                mark,
                ..first.value.clone()
            };
            values.clear();
            values.push(first.with(value));
            let system_time = SystemTime::from_100ns(past.time);
            let clocks = ClockReading { time_100ns: past.time, system_time, ..*clocks };
            if let Err(error) = taker.take(&clocks, &mut values) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
            if taker.left == Some(0) {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    };
    let has_past =
        source.series(counter.id, &identity, Window::default(), &mut each).map_err(source_failed)?;
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(has_past),
    }
}

/// Returns the selection of a log's samples for an interval between them.
fn pick(interval: Option<Duration>) -> Pick {
    let in_100ns =
        |interval: Duration| i64::try_from(interval.as_nanos().wrapping_div(100)).unwrap_or(i64::MAX);
    interval.map_or(Pick::All, |interval| Pick::Every(in_100ns(interval)))
}

pub fn source_failed(error: SourceError) -> Failure {
    Failure::new(Exit::SourceFailed, error)
}

/// Returns the error for a counter path that matches no counter of the source.
pub fn unbound(asked: &QuerySource, path: &CounterPath, error: BindError) -> Failure {
    let text = match &error {
        BindError::NoCounterset { name, nearest } => {
            return no_counterset(asked, name, nearest);
        }
        BindError::NoCounter { counterset, nearest, .. } => {
            let near = near_line(nearest);
            let left_out = asked.machine().left_out();
            let is_of_set = |guid| asked.machine().counterset(guid).is_ok_and(|set| set.name == **counterset);
            let why = left_out.iter().filter(|(guid, _)| is_of_set(guid)).take(1);
            let why: String = why.map(|(_, text)| format!("\n  problem: {}", escaped(text))).collect();
            format!(
                "{}{near}{why}\n  perfset describe '{}'{} shows all",
                escaped(&error.to_string()),
                escaped(counterset),
                asked.options()
            )
        }
        BindError::NeedsInstance { counterset } => {
            let counter = escaped(&path.counter);
            let set = escaped(counterset);
            format!("{}\n  all of them: '\\{set}(*)\\{counter}'", escaped(&error.to_string()))
        }
        BindError::NoInstances { counterset } => {
            let counter = escaped(&path.counter);
            let set = escaped(counterset);
            format!("{}\n  without brackets: '\\{set}\\{counter}'", escaped(&error.to_string()))
        }
        BindError::Source(_) => return Failure::new(Exit::SourceFailed, error),
        other => escaped(&other.to_string()),
    };
    Failure::new(Exit::NothingMatched, anyhow::anyhow!(text))
}
