//! Counter paths of the overview, and their values in a sample.

use std::collections::HashMap;

use crate::path::{PathQuery, PathValue};
use crate::{Guid, Instance, Mark, NoValue, QueryHandle, RegInfo, RegRequest, Source, SourceError};

use super::held::HeldValues;
use super::state::StateValue;

/// Position of a counter path in its query, or the reason why the source does not have the path.
pub(super) type BoundPath = Result<usize, NoValue>;

/// Counter paths of the overview for everything except processes and control groups.
#[derive(Debug)]
pub(super) struct MachinePaths {
    pub up_time: BoundPath,
    pub load: [BoundPath; 3],
    pub running: BoundPath,
    pub blocked: BoundPath,
    pub each_busy: BoundPath,
    pub busy: BoundPath,
    pub user: BoundPath,
    pub kernel: BoundPath,
    pub io_wait: BoundPath,
    pub steal: BoundPath,
    pub total: BoundPath,
    pub available: BoundPath,
    pub swap_total: BoundPath,
    pub swap_free: BoundPath,
    pub swap_in: BoundPath,
    pub swap_out: BoundPath,
    pub kills: BoundPath,
    pub processor_pressure: BoundPath,
    pub memory_pressure: [BoundPath; 2],
    pub storage_pressure: [BoundPath; 2],
    pub disk_idle: BoundPath,
    pub disk_read: BoundPath,
    pub disk_written: BoundPath,
    pub disk_read_latency: BoundPath,
    pub disk_write_latency: BoundPath,
    pub disk_queue: BoundPath,
    pub free_percent: BoundPath,
    pub free_megabytes: BoundPath,
    pub received: BoundPath,
    pub sent: BoundPath,
    pub drops: [BoundPath; 2],
    pub errors: [BoundPath; 2],
    pub tcp_sent: [BoundPath; 2],
    pub tcp_retransmitted: [BoundPath; 2],
}

impl MachinePaths {
    pub fn bind(query: &mut PathQuery, source: &mut dyn Source) -> Self {
        let mut path = |text: &str| bind(query, source, text);
        // Windows before 7 has Processor only, and so have its logs.
        let each_busy = path(r"\Processor Information(*)\% Processor Time")
            .or_else(|_| path(r"\Processor(*)\% Processor Time"));
        let mut processor = |counter: &str| {
            path(&format!(r"\Processor Information(_Total)\{counter}"))
                .or_else(|_| path(&format!(r"\Processor(_Total)\{counter}")))
        };
        let (busy, user) = (processor("% Processor Time"), processor("% User Time"));
        let kernel = processor("% Privileged Time");
        // On Linux, TCPv4 counts both versions.
        let mut tcp = |counter: &str| ["TCPv4", "TCPv6"].map(|set| path(&format!(r"\{set}\{counter}")));
        let tcp_sent = tcp("Segments Sent/sec");
        let tcp_retransmitted = tcp("Segments Retransmitted/sec");
        let mut pressure = |resource: &str| {
            ["Some", "Full"].map(|kind| path(&format!(r"\Pressure Stall({resource})\% {kind} Stalled Time")))
        };
        let (memory_pressure, storage_pressure) = (pressure("memory"), pressure("io"));
        Self {
            up_time: path(r"\System\System Up Time"),
            load: ["1 Minute", "5 Minutes", "15 Minutes"]
                .map(|time| path(&format!(r"\Linux System\Load Average {time}"))),
            running: path(r"\Linux System\Running Threads"),
            blocked: path(r"\Linux System\Blocked Processes"),
            each_busy,
            busy,
            user,
            kernel,
            io_wait: path(r"\Linux Processor(_Total)\% I/O Wait Time"),
            steal: path(r"\Linux Processor(_Total)\% Steal Time"),
            // Windows has no counter of the size of the memory.
            total: path(r"\Linux Memory\MemTotal"),
            available: path(r"\Memory\Available Bytes"),
            swap_total: path(r"\Linux Memory\SwapTotal"),
            swap_free: path(r"\Linux Memory\SwapFree"),
            swap_in: path(r"\Linux Memory\pswpin"),
            swap_out: path(r"\Linux Memory\pswpout"),
            kills: path(r"\Linux Memory\oom_kill"),
            processor_pressure: path(r"\Pressure Stall(cpu)\% Some Stalled Time"),
            memory_pressure,
            storage_pressure,
            disk_idle: path(r"\PhysicalDisk(*)\% Idle Time"),
            disk_read: path(r"\PhysicalDisk(*)\Disk Read Bytes/sec"),
            disk_written: path(r"\PhysicalDisk(*)\Disk Write Bytes/sec"),
            disk_read_latency: path(r"\PhysicalDisk(*)\Avg. Disk sec/Read"),
            disk_write_latency: path(r"\PhysicalDisk(*)\Avg. Disk sec/Write"),
            disk_queue: path(r"\PhysicalDisk(*)\Avg. Disk Queue Length"),
            free_percent: path(r"\LogicalDisk(*)\% Free Space"),
            free_megabytes: path(r"\LogicalDisk(*)\Free Megabytes"),
            received: path(r"\Network Interface(*)\Bytes Received/sec"),
            sent: path(r"\Network Interface(*)\Bytes Sent/sec"),
            drops: ["Received", "Outbound"]
                .map(|way| path(&format!(r"\Network Interface(*)\Packets {way} Discarded"))),
            errors: ["Received", "Outbound"]
                .map(|way| path(&format!(r"\Network Interface(*)\Packets {way} Errors"))),
            tcp_sent,
            tcp_retransmitted,
        }
    }
}

/// Counter paths of processes, in a query of their own because there can be tens of thousands of values.
#[derive(Debug)]
pub(super) struct ProcessPaths {
    pub time: BoundPath,
    pub memory: BoundPath,
    pub age: BoundPath,
    pub read: BoundPath,
    pub written: BoundPath,
}

impl ProcessPaths {
    pub fn bind(query: &mut PathQuery, source: &mut dyn Source) -> Self {
        let used = Self::bind_for_findings(query, source);
        Self {
            age: bind_process(query, source, "Elapsed Time"),
            read: bind(query, source, r"\Linux Process(*)\Storage Read Bytes/sec"),
            written: bind(query, source, r"\Linux Process(*)\Storage Write Bytes/sec"),
            ..used
        }
    }

    /// Binds the counters that the texts of findings contain: processor time and memory.
    pub fn bind_for_findings(query: &mut PathQuery, source: &mut dyn Source) -> Self {
        Self {
            time: bind_process(query, source, "% Processor Time"),
            memory: bind_process(query, source, "Working Set"),
            age: Err(NoValue::NotGiven),
            read: Err(NoValue::NotGiven),
            written: Err(NoValue::NotGiven),
        }
    }
}

/// Counter paths of control groups, in a query of their own because they can be read less often.
#[derive(Debug)]
pub(super) struct GroupPaths {
    pub time: BoundPath,
    pub memory: BoundPath,
}

impl GroupPaths {
    pub fn bind(query: &mut PathQuery, source: &mut dyn Source) -> Self {
        let mut path = |text: &str| bind(query, source, text);
        Self { time: path(r"\CGroup(*)\% Processor Time"), memory: path(r"\CGroup(*)\Memory Bytes") }
    }

    /// Returns the counter paths of an overview that reads no control groups.
    pub fn unbound() -> Self {
        Self { time: Err(NoValue::NotGiven), memory: Err(NoValue::NotGiven) }
    }
}

/// Source that reads its countersets once while counter paths are bound, because each of dozens of paths needs the
/// names of all countersets.
pub(super) struct BindingSource<'s> {
    source: &'s mut dyn Source,
    guids: Option<Vec<Guid>>,
    sets: HashMap<Guid, RegInfo>,
}

impl<'s> BindingSource<'s> {
    pub fn new(source: &'s mut dyn Source) -> Self {
        Self { source, guids: None, sets: HashMap::new() }
    }
}

impl Source for BindingSource<'_> {
    fn countersets(&mut self) -> Result<Vec<Guid>, SourceError> {
        match &self.guids {
            Some(guids) => Ok(guids.clone()),
            None => Ok(self.guids.insert(self.source.countersets()?).clone()),
        }
    }

    fn registration(&mut self, counterset: &Guid, request: RegRequest) -> Result<RegInfo, SourceError> {
        if request != RegRequest::Counterset {
            return self.source.registration(counterset, request);
        }
        if let Some(set) = self.sets.get(counterset) {
            return Ok(set.clone());
        }
        let set = self.source.registration(counterset, request)?;
        self.sets.insert(*counterset, set.clone());
        Ok(set)
    }

    fn instances(&mut self, counterset: &Guid) -> Result<Vec<Instance>, SourceError> {
        self.source.instances(counterset)
    }

    fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError> {
        self.source.open()
    }
}

fn bind_process(query: &mut PathQuery, source: &mut dyn Source, counter: &str) -> BoundPath {
    // Windows before 11 has Process only, and so have its logs.
    bind(query, source, &format!(r"\Process V2(*)\{counter}"))
        .or_else(|_| bind(query, source, &format!(r"\Process(*)\{counter}")))
}

fn bind(query: &mut PathQuery, source: &mut dyn Source, text: &str) -> BoundPath {
    let path = text.parse().map_err(|_| NoValue::NotGiven)?;
    query.add(source, &path).map_err(|error| NoValue::Unavailable(error.to_string().into()))
}

/// Values of a sample, by counter path.
pub(super) struct SampleValues<'a> {
    query: &'a PathQuery,
    /// Values of the sample in the order of the counter paths.
    values: Vec<PathValue<'a>>,
}

impl<'a> SampleValues<'a> {
    /// Reads the last values of some counter paths of a query, and no others.
    pub fn only<'p>(query: &'a PathQuery, paths: impl Iterator<Item = &'p BoundPath>) -> Self {
        let mut paths: Vec<usize> = paths.filter_map(|path| path.as_ref().ok().copied()).collect();
        paths.sort_unstable();
        let mut values = Vec::new();
        for path in paths {
            query.for_each_value(path, |v| values.push(v));
        }
        Self { query, values }
    }

    /// Reads the last values of all counter paths of a query. A value of an earlier collection is replaced by the
    /// stored value of that collection.
    pub fn held(query: &'a PathQuery, held: &HeldValues) -> Self {
        let mut values = query.values();
        values.iter_mut().for_each(|v| held.replace(query, v));
        Self { query, values }
    }

    /// Returns the values of a counter path in the sample; no values if the path is not bound.
    pub fn of(&self, path: &BoundPath) -> &[PathValue<'a>] {
        let Ok(path) = path else { return &[] };
        let start = self.values.partition_point(|v| v.path < *path);
        let end = self.values.partition_point(|v| v.path <= *path);
        self.values.get(start..end).unwrap_or_default()
    }

    /// Returns the value of a counter path without wildcards.
    pub fn single(&self, path: &BoundPath) -> StateValue {
        path.clone()?;
        self.of(path).first().map_or(Err(NoValue::NoInstance), capped)
    }

    /// Returns the sum of the values of those counter paths that this system has: Linux counts TCP over both versions
    /// of IP together.
    pub fn sum(&self, paths: &[BoundPath]) -> StateValue {
        let is_there = |value: &StateValue| !matches!(value, Err(NoValue::Unavailable(_)));
        let values = paths.iter().map(|path| self.single(path)).filter(is_there);
        values.reduce(|a, b| Ok(a? + b?)).unwrap_or(Err(NoValue::NoInstance))
    }

    /// Returns the value that a counter path has for the instance of the value `of`; `at` is the position of `of` in
    /// its own path.
    pub fn beside(&self, path: &BoundPath, at: usize, of: &PathValue<'_>) -> Option<&PathValue<'a>> {
        let values = self.of(path);
        let is_it = |v: &&PathValue<'_>| is_same_instance(self.query, v, of);
        values.get(at).filter(is_it).or_else(|| values.iter().find(is_it))
    }

    /// Returns the number that a counter path has for the instance of the value `of`, or the reason why the number is
    /// missing.
    pub fn reading(&self, path: &BoundPath, at: usize, of: &PathValue<'_>) -> StateValue {
        path.clone()?;
        self.beside(path, at, of).map_or(Err(NoValue::NoInstance), uncapped)
    }

    /// Returns the path query to which the values of this sample belong.
    pub fn query(&self) -> &'a PathQuery {
        self.query
    }
}

/// Returns `true` if two values of a query belong to the same instance. Name and id alone can be those of another
/// process by now.
pub(super) fn is_same_instance(query: &PathQuery, v: &PathValue<'_>, of: &PathValue<'_>) -> bool {
    v.value.instance == of.value.instance
        && v.value.instance_id == of.value.instance_id
        && query.birth(v) == query.birth(of)
}

/// Returns `true` if a value belongs to a single instance, not to a total.
pub(super) fn is_instance(v: &PathValue<'_>) -> bool {
    v.value.instance_id.is_some() && !v.sums_up()
}

/// Returns the formatted number of a counter's value, with percentages of one resource limited to 100.
pub(super) fn capped(v: &PathValue<'_>) -> StateValue {
    current(v)?;
    v.value.value.clone().map(crate::FormattedValue::capped)
}

/// Returns the formatted number of a counter's value without a limit, because a process can use several processors.
pub(super) fn uncapped(v: &PathValue<'_>) -> StateValue {
    current(v)?;
    v.value.value.clone().map(crate::FormattedValue::nocap)
}

/// Returns an error for a value that is not current, because its source did not respond before the deadline.
fn current(v: &PathValue<'_>) -> Result<(), NoValue> {
    match v.value.mark {
        Some(Mark::Stale(_)) => Err(NoValue::Late),
        _ => Ok(()),
    }
}
