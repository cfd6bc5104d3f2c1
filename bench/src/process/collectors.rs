//! Collectors of processes: this project and the crates procfs and sysinfo, each as a program would use it.

use std::hint::black_box;

use anyhow::{Context, Result, anyhow, ensure};
use perfset_catalogue::{process_v2, thread};
use perfset_core::{CounterId, Guid};
use perfset_engine::{Entry, Query, Snapshot};
use perfset_linux::ProcessSource;
use procfs::process::{Io, Schedstat, Stat, StatM, all_processes};
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

use crate::collect::{Values, machine_by, values};

/// Counters of Process V2 that need files which no other compared crate reads: `status` and the list of open files.
const OF_OTHER_FILES: [CounterId; 5] = [
    process_v2::VIRTUAL_BYTES_PEAK,
    process_v2::WORKING_SET_PEAK,
    process_v2::PAGE_FILE_BYTES,
    process_v2::PRIVATE_BYTES,
    process_v2::HANDLE_COUNT,
];

/// Returns the counters of Process V2 that Linux reads from `stat`, `statm` and `io`.
pub fn counters() -> impl Iterator<Item = CounterId> {
    let counters = process_v2::COUNTERSET.counters.iter();
    let counters = counters.filter(|counter| !counter.source.is_empty());
    counters.map(|counter| counter.id).filter(|id| !OF_OTHER_FILES.contains(id))
}

const GUID: Guid = process_v2::GUID;

/// Collector that uses this project: a query and its latest snapshots.
#[derive(Debug)]
pub struct Perfset {
    query: Query,
    /// Snapshots of the collector's latest collections, the newest first.
    snapshots: Vec<Snapshot>,
}

impl Perfset {
    /// Creates a collector of all processes with the counters that the compared crates have too, which keeps `held`
    /// collections.
    pub fn new(held: usize, source: ProcessSource) -> Result<Self> {
        Self::of(Entry::several(GUID, counters()), held, source)
    }

    /// Collects all processes once with a new machine, and returns the length of the block.
    pub fn first(source: ProcessSource) -> Result<u64> {
        let mut query = machine_by(source).query();
        let status = query.add(&Entry::several(GUID, counters()).instance("*"));
        ensure!(status.is_success(), "the query refuses it: {status}");
        let mut snapshot = Snapshot::default();
        query.collect(&mut snapshot)?;
        Ok(snapshot.block().len() as u64)
    }

    /// Creates a collector of all counters of all threads, which uses this project.
    pub fn of_threads(source: ProcessSource) -> Result<Self> {
        Self::of(Entry::all(thread::GUID), 2, source)
    }

    fn of(entry: Entry, held: usize, source: ProcessSource) -> Result<Self> {
        let machine = machine_by(source);
        let mut perfset = Self { query: machine.query(), snapshots: Vec::new() };
        let status = perfset.query.add(&entry.instance("*"));
        ensure!(status.is_success(), "the query refuses it: {status}");
        perfset.snapshots.resize_with(held, Snapshot::default);
        for _ in 0..held + 1 {
            perfset.collect()?;
        }
        let walks = machine.describe().iter().any(|(_, what)| what.starts_with("BPF task iterator"));
        ensure!(walks == (source == ProcessSource::Bpf), "`perfset doctor` says how processes are read");
        Ok(perfset)
    }

    /// Collects processes or threads once, and returns the length of the block.
    pub fn collect(&mut self) -> Result<u64> {
        self.snapshots.rotate_right(1);
        let latest = self.snapshots.first_mut().context("none is held")?;
        self.query.collect(black_box(latest))?;
        Ok(latest.block().len() as u64)
    }

    /// Returns the number and the sum of the values in the collector's last collection.
    pub fn values(&self) -> Result<Values> {
        Ok(values(self.snapshots[0].block())?)
    }
}

/// Collector that reads `/proc` with the procfs crate.
#[derive(Debug)]
pub struct Procfs {
    /// Data of processes in the latest collections, the newest first.
    collections: Vec<Vec<OfProcess>>,
}

type OfProcess = (Option<Stat>, Option<StatM>, Option<Io>);

impl Procfs {
    /// Creates a collector with the procfs crate that keeps `held` collections.
    pub fn new(held: usize) -> Self {
        Self { collections: vec![Vec::new(); held] }
    }

    /// Reads `stat`, `statm` and `io` of each process with the procfs crate.
    pub fn collect(&mut self) -> Result<u64> {
        self.collections.rotate_right(1);
        let latest = self.collections.first_mut().context("none is held")?;
        latest.clear();
        for process in all_processes()? {
            let Ok(process) = process else { continue }; // it has ended
            latest.push((process.stat().ok(), process.statm().ok(), process.io().ok()));
        }
        Ok(latest.len() as u64)
    }
}

/// Reads `stat` and `schedstat` of each thread with the procfs crate, and returns the number of threads.
pub fn procfs_threads(latest: &mut Vec<(Option<Stat>, Option<Schedstat>)>) -> Result<u64> {
    latest.clear();
    for process in all_processes()? {
        let Some(tasks) = process.ok().and_then(|process| process.tasks().ok()) else { continue }; // it has ended
        latest.extend(tasks.flatten().map(|task| (task.stat().ok(), task.schedstat().ok())));
    }
    Ok(latest.len() as u64)
}

/// Collector of processes that uses the sysinfo crate.
#[derive(Debug)]
pub struct Sysinfo(System);

impl Sysinfo {
    /// Creates a collector with the sysinfo crate that has read nothing yet.
    pub fn new() -> Result<Self> {
        Ok(Self(System::new().map_err(|error| anyhow!("sysinfo: {error:?}"))?))
    }

    /// Reads CPU time, memory and disk usage of each process with the sysinfo crate, without its threads.
    pub fn collect(&mut self) -> u64 {
        let what = ProcessRefreshKind::nothing().with_cpu().with_memory().with_disk_usage().without_tasks();
        self.0.refresh_processes_specifics(ProcessesToUpdate::All, true, what) as u64
    }

    /// Reads the CPU time of each process and each of its threads with the sysinfo crate.
    pub fn collect_threads(&mut self) -> u64 {
        let what = ProcessRefreshKind::nothing().with_cpu().with_tasks();
        self.0.refresh_processes_specifics(ProcessesToUpdate::All, true, what) as u64
    }
}
