//! Choice among the collection methods for processes.

use std::borrow::Cow;

use perfset_core::NoValue;
use rustix::time::{ClockId, clock_gettime};

use super::files::ProcFiles;
use super::method::ProcessMethod;
use super::table::{FileSet, ProcessEntry, ProcessTable};
use super::tasks::{Fallback, TaskIterCollector, prepared, rules};
use crate::provider::Collection;
use crate::roots::Roots;

/// Requested collection method for processes and threads. If the requested method is unavailable, the next one in the
/// order of these variants is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessSource {
    /// Cheapest available collection method: loading a BPF task iterator costs as much as reading thousands of files.
    #[default]
    Auto,
    /// BPF task iterator, used from the first collection on.
    Bpf,
    /// CPU-clock gate: files of `/proc`, read again only for processes whose CPU clock has moved.
    Gate,
    /// Full `/proc` scan: files of all processes, read at each collection.
    Proc,
}

impl ProcessSource {
    /// Names of the collection methods for processes in the environment variable `PERFSET_PROCESS_SOURCE`.
    pub const WORDS: [(&'static str, Self); 4] =
        [("auto", Self::Auto), ("bpf", Self::Bpf), ("gate", Self::Gate), ("proc", Self::Proc)];

    /// Returns the collection method in the variable `PERFSET_PROCESS_SOURCE`: [`Auto`](Self::Auto) if it is unset or
    /// empty.
    ///
    /// # Errors
    /// The value, if it is none of the names.
    pub fn from_env() -> Result<Self, String> {
        let Some(variable) = std::env::var_os("PERFSET_PROCESS_SOURCE").filter(|said| !said.is_empty())
        else {
            return Ok(Self::Auto);
        };
        let known = Self::WORDS.iter().find(|(word, _)| variable == *word).map(|(_, source)| *source);
        known.ok_or_else(|| variable.to_string_lossy().into_owned())
    }
}

/// Collector of processes that has all collection methods. Each collection uses the cheapest available one.
#[derive(Debug)]
pub(super) struct ProcessCollector {
    roots: Roots,
    wish: ProcessSource,
    files: ProcFiles,
    walk: TaskIterState,
    /// CPU time spent on reading files of processes so far, in ns.
    spent_ns: u64,
    /// Collection method for processes that the last collection used.
    method: ProcessMethod,
}

/// State of the BPF task iterator.
#[derive(Debug)]
enum TaskIterState {
    /// State of a BPF task iterator that is not loaded yet: no attempt was made.
    Untried,
    Open(Box<TaskIterCollector>),
    /// State of a BPF task iterator that is unavailable for now: another attempt follows after this number of
    /// collections.
    Resting {
        tasks: Box<TaskIterCollector>,
        collections: u32,
        why: String,
    },
    /// State of a BPF task iterator that is unavailable for good, with the reason.
    Closed(Cow<'static, str>),
}

impl ProcessCollector {
    /// CPU time to load a BPF task iterator, in ns. Files of processes are read while their total cost is lower.
    const LOAD_NS: u64 = 50_000_000;
    /// Minimum CPU time of reading a process's files the first time, in ns.
    const FIRST_NS: u64 = 10_000;
    /// Number of collections after which an unavailable BPF task iterator is tried again.
    const REST: u32 = 60;

    /// Creates the collector of the processes below `roots`. `clocks`: `true` if the CPU clocks of these processes are
    /// readable.
    pub(super) fn new(roots: &Roots, clocks: bool, wish: ProcessSource) -> Self {
        // Without readable CPU clocks nothing shows which processes ran, so all files are read.
        let layer =
            if clocks && wish != ProcessSource::Proc { ProcessMethod::Gate } else { ProcessMethod::Proc };
        let walk = match (wish, clocks) {
            (ProcessSource::Gate | ProcessSource::Proc, _) => {
                TaskIterState::Closed("files were requested".into())
            }
            (_, false) => TaskIterState::Closed(
                "these processes belong to another PID namespace, so their clocks cannot be read".into(),
            ),
            _ => TaskIterState::Untried,
        };
        let files = ProcFiles::new(roots, clocks, layer);
        Self { roots: roots.clone(), wish, files, walk, spent_ns: 0, method: layer }
    }

    /// Creates a collector of processes that uses these BPF task iterators.
    #[cfg(test)]
    pub(super) fn walking(roots: &Roots, tasks: TaskIterCollector) -> Self {
        Self { walk: TaskIterState::Open(Box::new(tasks)), ..Self::new(roots, true, ProcessSource::Auto) }
    }

    /// Returns the collection method for processes that the last collection used.
    pub(super) fn layer(&self) -> ProcessMethod {
        self.method
    }

    /// Lists the processes, unless this collection has listed them already, and updates the files `parts` of the
    /// `wanted` processes.
    ///
    /// # Errors
    /// If the processes cannot be listed. An error of a single process is reported in the fields that it affects.
    pub(super) fn refresh(
        &mut self,
        parts: FileSet,
        wanted: &dyn Fn(&ProcessEntry) -> bool,
        table: &mut ProcessTable,
        pass: &mut Collection,
    ) -> Result<(), NoValue> {
        if matches!(self.walk, TaskIterState::Untried) && self.pays() {
            self.open();
        }
        // Several countersets of one collection share the listing: only the first of them counts as a
        // collection.
        self.rest(table.is_listed(pass));
        let Self { walk, files, .. } = self;
        if let TaskIterState::Open(tasks) = walk {
            // After a failure the files are read in this same collection, so no collection is lost.
            let left = match tasks.refresh(parts, wanted, table, pass, files) {
                Ok(()) => {
                    self.method = ProcessMethod::Bpf;
                    return Ok(());
                }
                Err(left) => left,
            };
            *walk = match (left, std::mem::replace(walk, TaskIterState::Untried)) {
                (Fallback::Temporary(why), TaskIterState::Open(tasks)) => {
                    TaskIterState::Resting { tasks, collections: Self::REST, why }
                }
                (left, _) => TaskIterState::Closed(left.why().into()),
            };
        }
        self.method = self.files.layer();
        // Once the iterator was tried, the cost of files decides nothing any more, and two system calls are
        // saved.
        let is_counted = matches!(self.walk, TaskIterState::Untried);
        let before = if is_counted { cpu_ns() } else { 0 };
        let done = self.files.refresh(parts, wanted, table, pass);
        if is_counted {
            self.spent_ns = self.spent_ns.saturating_add(cpu_ns().saturating_sub(before));
        }
        done
    }

    /// Returns the reader of files if it reads threads of listed processes: task iterators are not in use, and
    /// loading them costs more.
    pub(super) fn files_of_threads(&mut self) -> Option<&mut ProcFiles> {
        let is_by_files = match self.walk {
            TaskIterState::Open(_) => false,
            TaskIterState::Untried => !self.pays(),
            TaskIterState::Resting { .. } | TaskIterState::Closed(_) => true,
        };
        is_by_files.then_some(&mut self.files)
    }

    /// Counts down the collections until an unavailable BPF task iterator is tried again.
    fn rest(&mut self, is_listed: bool) {
        let TaskIterState::Resting { collections, .. } = &mut self.walk else { return };
        *collections = collections.saturating_sub(u32::from(!is_listed));
        if *collections == 0 {
            if let TaskIterState::Resting { tasks, .. } =
                std::mem::replace(&mut self.walk, TaskIterState::Untried)
            {
                self.walk = TaskIterState::Open(tasks);
            }
        }
    }

    /// Returns `true` if a BPF task iterator costs less than files, its loading included: there are many processes,
    /// or collecting has gone on for long.
    fn pays(&self) -> bool {
        let first = || u64::from(rules::process_count(&self.roots)).saturating_mul(Self::FIRST_NS);
        // Before anything was spent, the number of processes is the best estimate. Later the time that was
        // spent decides.
        self.wish == ProcessSource::Bpf
            || prepared::is_there(&self.roots)
            || self.spent_ns >= Self::LOAD_NS
            || (self.spent_ns == 0 && first() >= Self::LOAD_NS)
    }

    fn open(&mut self) {
        self.walk = match prepared::take(&self.roots).map_or_else(|| TaskIterCollector::open(&self.roots), Ok)
        {
            Ok(tasks) => TaskIterState::Open(Box::new(tasks)),
            Err(why) => TaskIterState::Closed(why.into()),
        };
    }

    /// Returns a description of the collection method last used, and the reason for not using a cheaper one. Tries to
    /// load a task iterator to find the reason.
    pub(super) fn describe(&mut self) -> String {
        let what = self.method.what();
        if matches!(self.walk, TaskIterState::Untried) {
            self.open();
        }
        match &self.walk {
            TaskIterState::Open(tasks) if self.method == ProcessMethod::Bpf => {
                format!("{what} ({})", tasks.describe())
            }
            TaskIterState::Open(_) => format!("{what}; switches to BPF when that becomes cheaper"),
            TaskIterState::Resting { why, .. } => format!("{what}; {why}; BPF is tried again later"),
            TaskIterState::Closed(why) => format!("{what}; {why}"),
            TaskIterState::Untried => what.to_owned(),
        }
    }
}

/// Returns the CPU time of this thread, in ns.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, ns) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(ns.unwrap_or(0))
}
