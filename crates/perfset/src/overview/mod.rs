//! Overview of a machine, from any source: the values to look at first.
//!
//! An [`Overview`] collects the counters and returns a [`MachineState`]: processors, memory, pressure, disks, file
//! systems, networks, the busiest processes and control groups, [`findings`](Finding) such as "sda is 93 % busy, 41 ms
//! per write", and the differences from a minute ago. The screen of the command `perfset` draws it.
//!
//! ```no_run
//! use perfset::overview::Overview;
//!
//! let mut overview = Overview::open(&mut perfset::local())?;
//! overview.collect()?;
//! std::thread::sleep(std::time::Duration::from_secs(1));
//! overview.collect()?; // rates need two samples
//! for finding in overview.state(5).findings {
//!     println!("{}: try {}", finding.text, finding.next);
//! }
//! # Ok::<_, perfset::SourceError>(())
//! ```

mod changes;
mod facts;
mod findings;
mod groups;
mod held;
mod paths;
mod processes;
mod rates;
mod sentence;
mod state;
mod summary;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::path::{PathQuery, PathValue};
use crate::{NextOutcome, NoValue, RawValue, Source, SourceError};

use changes::EarlierState;
use groups::{GroupLists, groups};
use held::{HeldSample, HeldValues};
use paths::{BindingSource, GroupPaths, MachinePaths, ProcessPaths, SampleValues, capped, is_instance};
use processes::ProcessList;
use rates::RateTracker;
use state::{NO_REQUEST, NO_TIME};

pub use facts::{FactCache, InstanceFacts};
pub use findings::{FindingRule, RULES};
pub use sentence::{Sentence, SentencePart};
pub use state::{
    ChangedValue, Changes, DiskState, FileSystemState, Finding, GroupState, InterfaceState, MachineState,
    MemoryState, PressureState, ProcessState, ProcessorState, Severity, StateValue, TcpState, UncheckedRule,
};
pub use summary::FindingsSummary;

/// Collector of the state of a machine for its overview.
///
/// Control groups are read in every fifth collection if that takes more than a millisecond.
#[derive(Debug)]
pub struct Overview {
    query: PathQuery,
    paths: MachinePaths,
    process_query: PathQuery,
    process_paths: ProcessPaths,
    group_query: PathQuery,
    group_paths: GroupPaths,
    /// Duration of the last collection of control groups.
    group_cost: Duration,
    /// Number of collections before the next collection of control groups.
    group_wait: u32,
    /// Error of the last collection of processes.
    process_error: Option<NoValue>,
    /// Error of the last collection of control groups.
    group_error: Option<NoValue>,
    /// Maximum number of control groups listed for each use, and their lists of the last collection.
    groups: Option<(usize, GroupLists)>,
    rates: RateTracker,
    /// Number of collections of control groups so far, counted up to two.
    group_samples: u32,
    /// Times of the last samples of processes and of control groups, if the source is a log, which has these at
    /// separate times.
    past: Option<[Option<i64>; 2]>,
    /// Values of countersets that a log does not have in each sample: of the machine, of processes and of groups.
    held: [HeldValues; 3],
    /// Times of the overview's last two samples, the newer first, in 100 ns.
    times: [Option<i64>; 2],
    /// Earlier states of the machine, the oldest first.
    history: VecDeque<EarlierState>,
}

/// Collects the samples of a log up to and including the first sample after a time. `reached` is the time of the last
/// collected sample, if there is one. A sample at the time itself does not end the reading: the sample that separates
/// two runs of a recorder has the time of the sample after it.
fn catch_up(
    query: &mut PathQuery,
    held: &mut HeldValues,
    reached: &mut Option<i64>,
    time: i64,
) -> Result<NextOutcome, SourceError> {
    while reached.is_none_or(|reached| reached <= time) {
        match query.collect()? {
            NextOutcome::Sample => {
                *reached = Some(query.snapshot().clocks().utc_100ns());
                held.learn(query);
            }
            NextOutcome::End if reached.is_none() => {
                return Err(SourceError::Failed("not recorded at that time".into()));
            }
            NextOutcome::End => break,
        }
    }
    Ok(NextOutcome::Sample)
}

/// Duration of a collection of control groups above which control groups are read less often.
const GROUP_COST: Duration = Duration::from_millis(1);

/// Number of collections that skip control groups if a collection of control groups takes longer than `GROUP_COST`.
const GROUP_WAIT: u32 = 4;

impl Overview {
    /// Creates the overview of a machine or another source. Counters that the source lacks are missing in the state,
    /// with the reason.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn open(source: &mut dyn Source) -> Result<Self, SourceError> {
        Self::with(source, ProcessPaths::bind, GroupPaths::bind)
    }

    /// Creates an overview for its findings alone: it reads neither control groups, nor the age and the storage bytes
    /// of processes. These are the expensive parts of an overview.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn open_for_findings(source: &mut dyn Source) -> Result<Self, SourceError> {
        Self::with(source, ProcessPaths::bind_for_findings, |_, _| GroupPaths::unbound())
    }

    /// Creates the overview of a log, whose samples are collected one after the other. Processes and control groups may
    /// have been recorded at other times than the rest: those of the next such time are in the state, except at the end
    /// of the log, where they are the last ones. So the state after the end is that of an instant. Values of a
    /// counterset that was not due at a sample are those of its last collection.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn open_log(log: &mut dyn Source) -> Result<Self, SourceError> {
        let overview = Self::open(log)?;
        Ok(Self { past: Some([None; 2]), ..overview })
    }

    fn with(
        source: &mut dyn Source,
        process_paths: fn(&mut PathQuery, &mut dyn Source) -> ProcessPaths,
        group_paths: fn(&mut PathQuery, &mut dyn Source) -> GroupPaths,
    ) -> Result<Self, SourceError> {
        let source = &mut BindingSource::new(source);
        let mut query = PathQuery::open(source)?;
        let paths = MachinePaths::bind(&mut query, source);
        let mut process_query = PathQuery::open(source)?;
        let process_paths = process_paths(&mut process_query, source);
        let mut group_query = PathQuery::open(source)?;
        let group_paths = group_paths(&mut group_query, source);
        Ok(Self {
            query,
            paths,
            process_query,
            process_paths,
            process_error: None,
            group_query,
            group_paths,
            group_cost: Duration::ZERO,
            group_wait: 0,
            group_error: None,
            groups: None,
            rates: RateTracker::default(),
            group_samples: 0,
            past: None,
            held: Default::default(),
            times: [None; 2],
            history: VecDeque::new(),
        })
    }

    /// Collects a sample of the overview's source. Rates have values from the second sample on.
    ///
    /// # Errors
    /// If there is nothing to deliver at all. A failing counter is only missing in the state.
    pub fn collect(&mut self) -> Result<NextOutcome, SourceError> {
        let outcome = self.query.collect()?;
        let [of_machine, of_processes, of_groups] = &mut self.held;
        match &mut self.past {
            Some([processes, groups]) => {
                if outcome == NextOutcome::Sample {
                    of_machine.learn(&self.query);
                }
                let now = match outcome {
                    NextOutcome::Sample => self.query.snapshot().clocks().utc_100ns(),
                    // A clock that was set back leaves them behind.
                    NextOutcome::End => i64::MAX,
                };
                self.process_error = failure(catch_up(&mut self.process_query, of_processes, processes, now));
                self.group_error = failure(catch_up(&mut self.group_query, of_groups, groups, now));
                self.groups = None;
            }
            None if outcome == NextOutcome::Sample => self.collect_lists(),
            None => {}
        }
        if outcome == NextOutcome::End {
            return Ok(NextOutcome::End);
        }
        let now = self.query.snapshot().clocks().time_100ns;
        self.times = [Some(now), self.times[0]];
        let counts = || self.paths.drops.iter().chain(&self.paths.errors);
        self.rates.learn(&SampleValues::only(&self.query, counts()), counts(), now);
        Ok(NextOutcome::Sample)
    }

    /// Collects the current values of processes and control groups.
    fn collect_lists(&mut self) {
        self.process_error = failure(self.process_query.collect());
        match self.group_wait.checked_sub(1) {
            Some(left) => self.group_wait = left,
            None => {
                let start = Instant::now();
                self.group_error = failure(self.group_query.collect());
                self.groups = None;
                self.group_cost = start.elapsed();
                self.group_samples = self.group_samples.saturating_add(1).min(2);
                // The second sample comes at once: without it there are no rates.
                let is_costly = self.group_cost > GROUP_COST && self.group_samples > 1;
                self.group_wait = if is_costly { GROUP_WAIT } else { 0 };
            }
        }
    }

    /// Returns the time of the overview's last sample, in 100 ns since 1601 UTC; `None` before the first sample.
    #[must_use]
    pub fn last_time(&self) -> Option<i64> {
        self.times[0].map(|_| self.query.snapshot().clocks().utc_100ns())
    }

    /// Returns the machine's state at the last sample, with this number of processes and control groups for each use:
    /// processor time, memory and storage. To be called once after each collection: the changes are differences from
    /// earlier states that it returned.
    #[must_use]
    pub fn state(&mut self, most: usize) -> MachineState {
        let [of_machine, of_processes, of_groups] = &self.held;
        let (values, paths) = (SampleValues::held(&self.query, of_machine), &self.paths);
        let clocks = self.query.snapshot().clocks();
        let single = |path| values.single(path);
        let processes =
            ProcessList::new(HeldSample::new(&self.process_query, of_processes), &self.process_paths, most);
        let known = |value: StateValue| self.process_error.clone().map_or(value, Err);
        let (process_count, process_time) = (known(processes.count), known(processes.time));
        let listed = match (&self.group_error, self.groups.take()) {
            (Some(error), _) => ([Vec::new(), Vec::new()], Some(error.clone())),
            // One sample of control groups is in the states of several samples of the rest.
            (None, Some((known, listed))) if known == most => listed,
            (None, _) => groups(&SampleValues::held(&self.group_query, of_groups), &self.group_paths, most),
        };
        self.groups = Some((most, listed.clone()));
        let ([groups_by_time, groups_by_memory], no_groups) = listed;
        let mut state = MachineState {
            time: clocks.system_time,
            interval: match self.times {
                [Some(now), Some(before)] => Some(seconds(now.saturating_sub(before))),
                _ => None,
            },
            up_time: single(&paths.up_time),
            load: paths.load.each_ref().map(single),
            process_count,
            running: single(&paths.running),
            blocked: single(&paths.blocked),
            processors: ProcessorState {
                count: instances(&values, &paths.each_busy).count(),
                busy: single(&paths.busy),
                user: single(&paths.user),
                kernel: single(&paths.kernel),
                io_wait: single(&paths.io_wait),
                steal: single(&paths.steal),
            },
            memory: MemoryState {
                total: single(&paths.total),
                available: single(&paths.available),
                swap_total: single(&paths.swap_total),
                swap_free: single(&paths.swap_free),
                swap_in: single(&paths.swap_in),
                swap_out: single(&paths.swap_out),
                kills: single(&paths.kills),
            },
            pressure: PressureState {
                processors: single(&paths.processor_pressure),
                memory: single(&paths.memory_pressure[0]),
                memory_full: single(&paths.memory_pressure[1]),
                storage: single(&paths.storage_pressure[0]),
                storage_full: single(&paths.storage_pressure[1]),
            },
            disks: disks(&values, paths),
            file_systems: file_systems(&values, paths),
            interfaces: interfaces(&values, paths, &self.rates),
            tcp: TcpState {
                sent: values.sum(&paths.tcp_sent),
                retransmitted: values.sum(&paths.tcp_retransmitted),
            },
            processes: processes.listed,
            process_time,
            refused: processes.refused,
            groups_by_time,
            groups_by_memory,
            no_groups,
            findings: Vec::new(),
            unchecked: Vec::new(),
            changes: Changes::default(),
        };
        // The changes are those from earlier states, so this one is stored after them.
        let now = EarlierState::new(&state, clocks.time_100ns);
        state.changes = changes::since(&self.history, &now, &state);
        changes::remember(&mut self.history, now);
        // Rules read the whole state.
        state.findings = findings::findings(&state);
        state.unchecked = findings::unchecked(&state, &no_instances(&values, paths));
        state
    }
}

/// Returns the error of a failed collection as the reason for missing values.
fn failure(collected: Result<NextOutcome, SourceError>) -> Option<NoValue> {
    collected.err().map(|error| NoValue::Failed(error.to_string().into()))
}

/// Returns the rules for findings about disks, file systems and interfaces that cannot be read, with the reasons. A
/// machine that has none of them has nothing to check.
fn no_instances(values: &SampleValues<'_>, paths: &MachinePaths) -> Vec<(&'static str, NoValue)> {
    let rules = [
        ("disk-busy", &paths.disk_idle),
        ("disk-slow", &paths.disk_idle),
        ("file-system-full", &paths.free_percent),
        ("packets-lost", &paths.received),
    ];
    let reason = |path: &paths::BoundPath| match path {
        Err(reason) => Some(reason.clone()),
        Ok(_) if instances(values, path).next().is_some() => None,
        Ok(_) => values.of(path).iter().find_map(|v| v.value.value.clone().err()),
    };
    let is_failure = |reason: &NoValue| !matches!(reason, NoValue::NoInstance);
    rules.into_iter().filter_map(|(rule, path)| Some((rule, reason(path).filter(is_failure)?))).collect()
}

/// Returns the `most` processes or other rows with the greatest values in descending order; rows without a value come
/// last. Equal rows keep their order.
///
/// ```
/// use perfset::overview::busiest;
///
/// let rows = [("a", Ok(1.0)), ("b", Ok(3.0)), ("c", Err(perfset::NoValue::Late))];
/// let names: Vec<_> = busiest(&rows, 2, |row| row.1.clone()).iter().map(|row| row.0).collect();
/// assert_eq!(names, ["b", "a"]);
/// ```
#[must_use]
pub fn busiest<T>(rows: &[T], most: usize, value: impl Fn(&T) -> StateValue) -> Vec<&T> {
    let known = |row: &T| value(row).ok().filter(|value| !value.is_nan());
    let mut sorted: Vec<(&T, f64)> =
        rows.iter().map(|row| (row, known(row).unwrap_or(f64::NEG_INFINITY))).collect();
    sorted.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    sorted.into_iter().take(most).map(|(row, _)| row).collect()
}

fn seconds(time_100ns: i64) -> f64 {
    Duration::from_nanos(u64::try_from(time_100ns).unwrap_or(0).saturating_mul(100)).as_secs_f64()
}

fn name(v: &PathValue<'_>) -> String {
    v.value.instance.to_string()
}

/// Returns the values of single instances of a counter path, with their positions.
fn instances<'v, 'a>(
    values: &'v SampleValues<'a>,
    path: &paths::BoundPath,
) -> impl Iterator<Item = (usize, &'v PathValue<'a>)> {
    values.of(path).iter().enumerate().filter(|(_, v)| is_instance(v))
}

fn disks(values: &SampleValues<'_>, paths: &MachinePaths) -> Vec<DiskState> {
    let disk = |(at, v): (usize, &PathValue<'_>)| {
        let reading = |path| values.reading(path, at, v);
        // Without a request there is no time of one, and the formula gives 0.
        let latency = |bytes, path| match reading(bytes) {
            Ok(bytes) if bytes <= 0.0 => Err(NoValue::Unavailable(NO_REQUEST.into())),
            // The kernel counts whole milliseconds.
            Ok(_) => reading(path).and_then(|time| match time > 0.0 {
                true => Ok(time),
                false => Err(NoValue::Unavailable(NO_TIME.into())),
            }),
            Err(reason) => Err(reason),
        };
        DiskState {
            name: name(v),
            id: v.value.instance_id.map_or(0, |id| id.0),
            birth: values.query().birth(v),
            busy: capped(v).map(|idle| 100.0 - idle),
            read: reading(&paths.disk_read),
            written: reading(&paths.disk_written),
            read_latency: latency(&paths.disk_read, &paths.disk_read_latency),
            write_latency: latency(&paths.disk_written, &paths.disk_write_latency),
            queue: reading(&paths.disk_queue),
        }
    };
    let disks: Vec<_> = instances(values, &paths.disk_idle).map(disk).collect();
    busiest(&disks, disks.len(), |disk| disk.busy.clone()).into_iter().cloned().collect()
}

fn file_systems(values: &SampleValues<'_>, paths: &MachinePaths) -> Vec<FileSystemState> {
    // The raw values of the share are free and all bytes on Linux, and megabytes on Windows: there, Free Megabytes is
    // the same number. It alone is not enough: it is rounded down, to 0 for a small file system.
    let is_in_megabytes = |(at, v): (usize, &PathValue<'_>)| {
        let raw = |v: &PathValue<'_>| v.value.raw.map(RawValue::get).filter(|raw| *raw > 0);
        let megabytes = values.beside(&paths.free_megabytes, at, v).and_then(raw);
        raw(v).is_some_and(|free| Some(free) == megabytes)
    };
    let unit = match instances(values, &paths.free_percent).any(is_in_megabytes) {
        true => 1_048_576.0,
        false => 1.0,
    };
    let bytes = |v: &PathValue<'_>, raw: Option<RawValue>| {
        capped(v)?;
        let raw = v.value.counted().and(raw).ok_or(NoValue::NotGiven)?;
        #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "a size for users")]
        Ok(raw.get() as f64 * unit)
    };
    let file_system = |(_, v): (usize, &PathValue<'_>)| FileSystemState {
        name: name(v),
        free: bytes(v, v.value.raw),
        size: bytes(v, v.value.base),
    };
    let all: Vec<_> = instances(values, &paths.free_percent).map(file_system).collect();
    busiest(&all, all.len(), |one| one.free_percent().map(|free| -free)).into_iter().cloned().collect()
}

fn interfaces(values: &SampleValues<'_>, paths: &MachinePaths, rates: &RateTracker) -> Vec<InterfaceState> {
    let interface = |(at, v): (usize, &PathValue<'_>)| InterfaceState {
        name: name(v),
        received: capped(v),
        sent: values.reading(&paths.sent, at, v),
        drops: rates.sum(values, &paths.drops, at, v),
        errors: rates.sum(values, &paths.errors, at, v),
    };
    let mut all: Vec<_> = instances(values, &paths.received).map(interface).collect();
    // Of interfaces with equal traffic, the first name comes first: eth0 before ifb0.
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let traffic = |one: &InterfaceState| {
        // The loopback interface carries what stays inside the machine.
        let penalty = if one.name == "lo" { f64::MAX } else { 0.0 };
        Ok(one.received.clone()? + one.sent.clone()? - penalty)
    };
    busiest(&all, all.len(), traffic).into_iter().cloned().collect()
}

/// Returns the number of a counter's value without a limit, or 0 for a missing value: for a ranking only.
fn number(v: &PathValue<'_>) -> f64 {
    v.value.value.as_ref().map_or(0.0, |value| value.nocap())
}

/// Returns the positions of the greatest numbers, the greatest first. Equal numbers keep their order.
fn greatest(numbers: &mut Vec<(f64, usize)>, most: usize) -> Vec<usize> {
    let order = |(a, at_a): &(f64, usize), (b, at_b): &(f64, usize)| b.total_cmp(a).then(at_a.cmp(at_b));
    if let Some(last) = most.checked_sub(1).filter(|last| *last < numbers.len()) {
        numbers.select_nth_unstable_by(last, order);
    }
    numbers.truncate(most);
    numbers.sort_unstable_by(order);
    numbers.iter().map(|(_, at)| *at).collect()
}

#[cfg(test)]
mod tests;
