//! Collects the values of all processes and threads with BPF task iterators.
//!
//! The values equal those of the files in `/proc`: computations of the kernel for these files are repeated here. Data
//! that an iterator lacks, and inconsistent records, are read from the files.

use std::path::PathBuf;

use perfset_bpf::{
    ColumnSet, IterKind, Kernel, KernelError, PercpuOffsets, RecordKind, Records, TaskIter, TaskIterError,
    TaskIterRequest,
};

use super::files::ProcFiles;
use super::own_io;
use super::table::{CollectionTime, FileSet, ProcessEntry, ProcessTable};
use crate::cpu_clock::cpu_clock_ns;
use crate::provider::Collection;
use crate::roots::Roots;
use crate::sources::cpulist;

mod check;
mod columns;
pub(super) mod prepared;
pub(super) mod rules;
mod take;

use columns::{columns_of, columns_of_threads};
use take::{ProcUnits, RecordDecoder};

/// Reason for reading files of processes instead of using task iterators.
#[derive(Debug)]
pub(super) enum Fallback {
    /// Temporary reason for not using task iterators, such as a lack of memory.
    Temporary(String),
    /// Permanent reason for not using task iterators: another attempt would fail too.
    Permanent(String),
}

impl Fallback {
    pub(super) fn why(self) -> String {
        match self {
            Self::Temporary(why) | Self::Permanent(why) => why,
        }
    }
}

/// Collector of processes by BPF task iterators, which are loaded for the requested files.
#[derive(Debug)]
pub(super) struct TaskIterCollector {
    roots: Roots,
    kernel: Kernel,
    offsets: Option<PercpuOffsets>,
    way: IterKind,
    /// Files of a process that task iterators replace on this kernel.
    provides: FileSet,
    /// Task iterators over processes, each with the files that it replaces.
    walks: Vec<(FileSet, TaskIter)>,
    threads: Option<TaskIter>,
    /// `true` if no more task iterators can be loaded.
    is_settled: bool,
    units: ProcUnits,
    /// Path of a file that shows if `/proc` hides processes.
    first: PathBuf,
    /// Number of runs of the task iterators since they were last compared with `/proc`.
    unchecked: u32,
    /// Pids of the processes that `/proc` lists and task iterators do not return: they are read from files.
    unmet: Vec<u32>,
    /// `true` for each process of the table that the task iterator returned, in the table's order.
    met: Vec<bool>,
    new: Vec<ProcessEntry>,
}

impl TaskIterCollector {
    /// Maximum number of task iterators over processes: one for each kind of request, and one for all others.
    const MOST: usize = 4;
    /// Maximum number of CPUs for the exact sum of resident memory; with more CPUs, reading files is cheaper.
    const MOST_CPUS: u32 = 16;
    /// Maximum number of tasks for an uninterrupted pass of a task iterator, during which one CPU does nothing else.
    const MANY: u32 = 50_000;
    /// Number of runs after which task iterators are compared with `/proc` again.
    const CHECK: u32 = 256;
    /// Minimum number of tasks for which space is reserved before the permission to load iterators is given up.
    const PREPARED_ROOM: u32 = 65_536;

    /// Loads the smallest task iterator, and compares its record of this process with `/proc`.
    ///
    /// # Errors
    /// The reason why task iterators are unavailable.
    pub(super) fn open(roots: &Roots) -> Result<Self, String> {
        Self::with_room(roots, None).map_err(Fallback::why)
    }

    /// Loads all task iterators that may be needed, with space for many more tasks than there are, and checks them as
    /// [`open`](Self::open) does.
    pub(super) fn prepare(roots: &Roots) -> Result<Self, String> {
        let room = Some(rules::task_count(roots).saturating_mul(2).max(Self::PREPARED_ROOM));
        let load_all = || {
            let mut tasks = Self::with_room(roots, room)?;
            tasks.load(tasks.provides, room)?;
            tasks.load_threads(room)?;
            tasks.check(1)?;
            Ok(tasks)
        };
        load_all().map_err(Fallback::why)
    }

    /// Loads the smallest task iterator as [`open`](Self::open) does, with space for `room` tasks at first.
    #[cfg(test)]
    pub(super) fn open_for(roots: &Roots, room: u32) -> Result<Self, String> {
        Self::with_room(roots, Some(room)).map_err(Fallback::why)
    }

    /// Simulates the loss of the permission to load more task iterators.
    #[cfg(test)]
    pub(super) fn settle(&mut self) {
        self.is_settled = true;
    }

    fn with_room(roots: &Roots, room: Option<u32>) -> Result<Self, Fallback> {
        rules::may_show_all(roots).map_err(|why| Fallback::Permanent(why.to_owned()))?;
        let path = roots.sys.join("kernel/btf/vmlinux");
        let kernel = Kernel::read(&path).map_err(|error| {
            let why = match &error {
                KernelError::File(error) => format!("{error} (CONFIG_DEBUG_INFO_BTF)"),
                error => error.to_string(),
            };
            Fallback::Permanent(format!("BPF unavailable: {}: {why}", path.display()))
        })?;
        // Loading makes this process not dumpable, and then its own `io` belongs to root: it is opened
        // before.
        if rules::may_load() {
            own_io::keep(&roots.proc);
        }
        let units = ProcUnits::read();
        let many = rules::task_count(roots) > Self::MANY;
        // The open-coded iterator visits all tasks without a pause. With very many tasks, that would hold up
        // one CPU noticeably.
        let ways = if many {
            [IterKind::Classic, IterKind::OpenCoded]
        } else {
            [IterKind::OpenCoded, IterKind::Classic]
        };
        let offsets = match possible_cpus(roots) {
            Some(cpus) if cpus <= Self::MOST_CPUS && kernel.counts_memory_by_cpu() => {
                PercpuOffsets::find(&kernel, cpus).ok()
            }
            _ => None,
        };
        let mut tasks = Self {
            roots: roots.clone(),
            offsets,
            way: IterKind::OpenCoded,
            provides: FileSet::NONE,
            walks: Vec::new(),
            threads: None,
            is_settled: false,
            units,
            first: rules::first_process(roots),
            unchecked: 0,
            unmet: Vec::new(),
            met: Vec::new(),
            new: Vec::new(),
            kernel,
        };
        tasks.provides = columns::provides(&tasks.kernel, tasks.counts_roughly());
        let mut first = None;
        for way in ways {
            tasks.way = way;
            match tasks.load(FileSet::NONE, room) {
                Ok(()) => {
                    tasks.check(0)?;
                    return Ok(tasks);
                }
                Err(why) => {
                    // The reason of the preferred iterator is the one that a user can act on.
                    first.get_or_insert(why);
                }
            }
        }
        Err(first.unwrap_or_else(|| Fallback::Permanent(String::new())))
    }

    /// Returns the kind of task iterator in words for users.
    pub(super) fn describe(&self) -> &'static str {
        match self.way {
            IterKind::OpenCoded => "open-coded",
            IterKind::Classic => "classic",
        }
    }

    /// Returns `true` if the task iterators count resident memory less exactly than the files in `/proc`.
    fn counts_roughly(&self) -> bool {
        self.kernel.counts_memory_by_cpu() && self.offsets.is_none()
    }

    /// Lists the processes, unless this collection has listed them already, and updates the files `parts`. Data that
    /// a task iterator provides comes from the iterator; the rest, for the `wanted` processes, from `files`.
    ///
    /// # Errors
    /// The reason why task iterators have become unavailable.
    pub(super) fn refresh(
        &mut self,
        parts: FileSet,
        wanted: &dyn Fn(&ProcessEntry) -> bool,
        table: &mut ProcessTable,
        pass: &mut Collection,
        files: &mut ProcFiles,
    ) -> Result<(), Fallback> {
        let mut of_walk = parts.and(self.provides);
        if self.counts_roughly() && parts.has(FileSet::STATM) {
            of_walk = of_walk | FileSet::STAT; // which tells whether memory may have changed
        }
        let is_listed = table.is_listed(pass);
        let now = if is_listed { table.moment(pass) } else { table.next_moment(pass) };
        let has = |process: &ProcessEntry| process.is_new(of_walk, now);
        if !is_listed || !of_walk.is_none() && !table.processes.iter().all(has) {
            // Before each run: a process that `/proc` hides from now on must not be shown once more.
            if rules::hides(&self.first) {
                return Err(Fallback::Permanent(rules::HIDES.to_owned()));
            }
            self.unchecked = self.unchecked.saturating_add(1);
            if self.unchecked >= Self::CHECK {
                self.check(0)?;
                self.unchecked = 0;
            }
            let whole = self.walk(of_walk, is_listed, table, pass, files)?;
            if whole && parts.without(of_walk).is_none() {
                return Ok(());
            }
        }
        if parts.has(FileSet::TASK) {
            self.walk_threads(table, now)?;
        }
        let unlike_stat = parts.has(FileSet::RARE) && !of_walk.has(FileSet::RARE);
        for process in table.processes.iter_mut().filter(|process| wanted(process)) {
            let stat_is_old = parts.has(FileSet::STAT) && !process.stat.is_new(now);
            if (stat_is_old || unlike_stat) && !files.read_stat(process, now, pass) {
                continue; // it ended since, and is not listed next time
            }
            if parts.has(FileSet::BEYOND_STAT) && !process.is_new(parts, now) {
                files.read_parts(parts, process, now, pass);
            }
        }
        Ok(())
    }

    /// Runs a task iterator, which lists the processes and updates the files `parts`. Returns `true` if all data is
    /// up to date.
    fn walk(
        &mut self,
        parts: FileSet,
        is_listed: bool,
        table: &mut ProcessTable,
        pass: &mut Collection,
        files: &mut ProcFiles,
    ) -> Result<bool, Fallback> {
        let at = self.walk_of(parts)?;
        // Each attempt has twice the room that the last run needed. Tasks that grow faster are read from
        // files.
        for _ in 0..3 {
            let Self { walks, met, new, units, unmet, .. } = self;
            let Some((parts, walk)) = walks.get_mut(at) else { break };
            let records = match walk.run() {
                Ok(records) => records,
                Err(TaskIterError::Full { met, .. }) => {
                    let met = u32::try_from(met).unwrap_or(u32::MAX);
                    let parts = *parts;
                    self.replace(at, parts, met.saturating_mul(2))?;
                    continue;
                }
                Err(error) => return Err(said(&error)),
            };
            let Some(taker) = RecordDecoder::new(&records, *parts, *units) else { break };
            // The rows of this collection are fixed already: records only add data to known processes.
            if is_listed {
                take_more(&records, &taker, table, table.moment(pass));
                return Ok(false); // some may have ended since
            }
            table.start(pass);
            table.hidden.clear(); // this listing hides none
            return Ok(take_all(&records, &taker, table, (met, new, unmet), pass, files));
        }
        Err(Fallback::Temporary(GROW.to_owned()))
    }

    /// Replaces the task iterator at index `at` by one with space for `room` tasks.
    fn replace(&mut self, at: usize, parts: FileSet, room: u32) -> Result<(), Fallback> {
        let walk = match self.may_load() {
            false => Err(Fallback::Temporary(NO_MORE.to_owned())),
            true => self.loaded(RecordKind::Process, columns_of(parts, self.counts_roughly()), Some(room)),
        };
        let walk = walk.map_err(|left| too_many("processes", left))?;
        if let Some(place) = self.walks.get_mut(at) {
            *place = (parts, walk);
        }
        Ok(())
    }

    /// Returns the index of the task iterator that provides these files of a process and the fewest others; loads an
    /// iterator if there is none.
    fn walk_of(&mut self, parts: FileSet) -> Result<usize, Fallback> {
        let exact = self.walks.iter().position(|(of, _)| *of == parts);
        if let Some(exact) = exact {
            return Ok(exact);
        }
        // Each kind of request gets the iterator with the fewest columns. After some kinds, one for
        // everything limits the memory in the kernel.
        let is_full = self.walks.len() >= Self::MOST;
        if (!is_full || self.wider(parts).is_none()) && self.may_load() {
            let done = self.load(if is_full { self.provides } else { parts }, None);
            match (done, self.wider(parts)) {
                (Ok(()), _) => {
                    let last = self.walks.len().saturating_sub(1);
                    self.check(last)?;
                    return Ok(last);
                }
                // A wider iterator has the same data at a higher cost. Another attempt at each collection
                // would cost more.
                (Err(_), Some(_)) => self.is_settled = true,
                (Err(left), None) => return Err(left),
            }
        }
        let lacks =
            || Fallback::Permanent("BPF unavailable: no iterator provides all that is requested".to_owned());
        self.wider(parts).ok_or_else(lacks)
    }

    /// Returns `true` if loading more task iterators can succeed.
    fn may_load(&self) -> bool {
        !self.is_settled && rules::may_load()
    }

    /// Returns the index of the task iterator that provides these files of a process and the fewest others.
    fn wider(&self, parts: FileSet) -> Option<usize> {
        let wider = self.walks.iter().enumerate().filter(|(_, (of, _))| of.and(parts) == parts);
        wider.min_by_key(|(_, (of, _))| of.count()).map(|(at, _)| at)
    }

    fn load(&mut self, parts: FileSet, room: Option<u32>) -> Result<(), Fallback> {
        let walk = self.loaded(RecordKind::Process, columns_of(parts, self.counts_roughly()), room)?;
        self.walks.push((parts, walk));
        Ok(())
    }

    fn load_threads(&mut self, room: Option<u32>) -> Result<(), Fallback> {
        self.threads = Some(self.loaded(RecordKind::Thread, columns_of_threads(), room)?);
        Ok(())
    }

    /// Loads a task iterator, with space for `room` tasks, or for somewhat more tasks than there are.
    fn loaded(&self, each: RecordKind, columns: ColumnSet, room: Option<u32>) -> Result<TaskIter, Fallback> {
        let count = match (each, self.way) {
            (RecordKind::Process, IterKind::OpenCoded) => rules::process_count(&self.roots),
            _ => rules::task_count(&self.roots),
        };
        // Room for a quarter more, so that ordinary growth needs no second loading.
        let ample = count.saturating_add(count / 4).saturating_add(512);
        let offsets = self.offsets.as_ref();
        let room = room.unwrap_or(ample);
        let request = TaskIterRequest { each, way: self.way, columns, room, offsets };
        TaskIter::load(&self.kernel, &request).map_err(|error| said(&error))
    }

    /// Runs the task iterator over threads, unless the threads were read in this collection.
    fn walk_threads(&mut self, table: &mut ProcessTable, now: CollectionTime) -> Result<(), Fallback> {
        if table.processes.iter().all(|process| process.is_new(FileSet::TASK, now)) {
            return Ok(());
        }
        if self.threads.is_none() {
            self.load_threads(None)?;
            self.check(self.walks.len())?;
        }
        for _ in 0..3 {
            let Some(walk) = &mut self.threads else { break };
            let records = match walk.run() {
                Ok(records) => records,
                Err(TaskIterError::Full { met, .. }) => {
                    let room = u32::try_from(met).unwrap_or(u32::MAX).saturating_mul(2);
                    let more = match self.may_load() {
                        false => Err(Fallback::Temporary(NO_MORE.to_owned())),
                        true => self.load_threads(Some(room)),
                    };
                    more.map_err(|left| too_many("threads", left))?;
                    continue;
                }
                Err(error) => return Err(said(&error)),
            };
            take::threads(&records, self.units, table, now);
            return Ok(());
        }
        Err(Fallback::Temporary(GROW.to_owned()))
    }
}

const GROW: &str = "BPF unavailable: the number of tasks grows faster than the space for them";
const NO_MORE: &str = "the capabilities to load a larger one were dropped";

fn too_many(of: &str, left: Fallback) -> Fallback {
    let with = |why| format!("more {of} than the BPF task iterator has space for; {why}");
    match left {
        Fallback::Temporary(why) => Fallback::Temporary(with(why)),
        Fallback::Permanent(why) => Fallback::Permanent(with(why)),
    }
}

/// Converts an error of a task iterator to the reason for using files, with a remedy if there is one.
fn said(error: &TaskIterError) -> Fallback {
    const EPERM: i32 = 1;
    const EACCES: i32 = 13;
    const ENOSYS: i32 = 38;
    let what = match std::error::Error::source(error) {
        Some(source) => format!("BPF unavailable: {error}: {source}"),
        None => format!("BPF unavailable: {error}"),
    };
    let refused = error.os_error().is_some_and(|code| matches!(code, EPERM | EACCES));
    match (refused, rules::may_load()) {
        (true, false) => {
            let program = std::env::current_exe();
            let program = program.map_or("PROGRAM".to_owned(), |path| path.display().to_string());
            Fallback::Permanent(format!(
                "BPF unavailable: needs CAP_BPF and CAP_PERFMON; grant them with \
                 `setcap cap_bpf,cap_perfmon+ep {program}`"
            ))
        }
        (true, true) => Fallback::Permanent(format!(
            "{what}: the capabilities are granted, so seccomp or a security module forbids bpf(2)"
        )),
        _ if matches!(error, TaskIterError::Call { .. }) && error.os_error() != Some(ENOSYS) => {
            Fallback::Temporary(what)
        }
        _ => Fallback::Permanent(what),
    }
}

/// Returns the number of possible CPUs of the machine, if their numbers have no gaps.
fn possible_cpus(roots: &Roots) -> Option<u32> {
    let text = std::fs::read(roots.sys.join("devices/system/cpu/possible")).ok()?;
    let mut ranges = Vec::new();
    cpulist::ranges(&text, cpulist::CPU_LIMIT, &mut ranges).ok()?;
    match ranges.as_slice() {
        [only] if *only.start() == 0 => only.end().checked_add(1),
        _ => None,
    }
}

/// Copies all records of a task iterator, and updates the list of processes. Returns `true` if all records are
/// consistent.
fn take_all(
    records: &Records<'_>,
    taker: &RecordDecoder,
    table: &mut ProcessTable,
    (met, new, unmet): (&mut Vec<bool>, &mut Vec<ProcessEntry>, &mut Vec<u32>),
    pass: &mut Collection,
    files: &mut ProcFiles,
) -> bool {
    let now = table.moment(pass);
    met.clear();
    met.resize(table.processes.len(), false);
    let (mut last, mut count, mut changed, mut whole) = (None, 0_usize, false, true);
    for record in records.iter() {
        let pid = taker.pid(&record);
        // Records usually arrive in the order of the table, so the entry after the last one is tried before a
        // search.
        let found = table.find(pid, last);
        if let Some((at, process)) = found {
            last = Some(at);
            let taken = taker.take(&record, process, now, pass, files);
            changed |= taken.other;
            whole &= taken.whole;
            // Counted once, even if two records have this pid.
            if let Some(met) = met.get_mut(at).filter(|met| !**met) {
                *met = true;
                count = count.saturating_add(1);
            }
        } else {
            // A process that executes a program has two first threads for a moment.
            let is_again = new.last().is_some_and(|process| process.pid == pid);
            let known = if is_again { new.pop() } else { None };
            let mut process = known.unwrap_or_else(|| ProcessEntry::new(pid));
            whole &= taker.take(&record, &mut process, now, pass, files).whole;
            new.push(process);
        }
    }
    // Some kernels omit processes that `/proc` lists. These are read from their files until they end or a
    // record has them.
    unmet.retain(|pid| {
        let Ok(clock_ns) = cpu_clock_ns(*pid) else { return false }; // it has ended
        let mut added = None;
        let process = match table.find(*pid, None) {
            Some((at, process)) => {
                match met.get_mut(at) {
                    Some(met) if !*met => *met = true,
                    _ => return false, // it is met now
                }
                count = count.saturating_add(1);
                process
            }
            None if new.iter().any(|process| process.pid == *pid) => return false,
            None => added.insert(ProcessEntry::new(*pid)),
        };
        if process.clock_ns != clock_ns {
            (process.clock_ns, process.ran) = (clock_ns, now);
        }
        let is_there = files.read_stat(process, now, pass);
        files.read_parts(taker.parts(), process, now, pass);
        new.extend(added.filter(|_| is_there));
        is_there
    });
    // A process that neither a record nor its CPU clock confirmed has ended.
    if count != table.processes.len() {
        let mut met = met.iter();
        table.processes.retain(|_| met.next().is_some_and(|met| *met));
        changed = true;
    }
    // In the usual case nothing began or ended, and the order stays.
    if changed || !new.is_empty() {
        table.arrange(new);
    }
    whole
}

/// Copies the records of a task iterator to the processes that are already in the table.
fn take_more(records: &Records<'_>, taker: &RecordDecoder, table: &mut ProcessTable, now: CollectionTime) {
    let mut last = None;
    for record in records.iter() {
        let Some((at, process)) = table.find(taker.pid(&record), last) else { continue };
        last = Some(at);
        if taker.is_same(&record, process) {
            taker.take_parts(&record, process, now);
        }
    }
}
