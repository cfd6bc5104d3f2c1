//! The ways in which the numbers of all processes can be had, and which one is taken.

use std::borrow::Cow;

use perfset_core::NoValue;
use rustix::time::{ClockId, clock_gettime};

use super::files::Files;
use super::table::{Parts, Process, Table};
use super::tasks::{Left, Tasks, prepared, rules};
use crate::pass::Pass;
use crate::roots::Roots;

/// How processes and threads are to be read. What is wished for and cannot be had is replaced by the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessSource {
    /// The cheapest way that can be had, all in all: a walk costs to load as much as reading thousands of files.
    #[default]
    Auto,
    /// By a walk over the kernel's tasks, from the first collection on.
    Bpf,
    /// From files, read again only of processes whose CPU clock moved.
    Gate,
    /// From files, read each time.
    Proc,
}

impl ProcessSource {
    /// The words for them.
    pub const WORDS: [(&'static str, Self); 4] =
        [("auto", Self::Auto), ("bpf", Self::Bpf), ("gate", Self::Gate), ("proc", Self::Proc)];

    /// What the variable `PERFSET_PROCESS_SOURCE` says: [`Auto`](Self::Auto) if it is not there or empty.
    ///
    /// # Errors
    /// What it says, if that is none of the words.
    pub fn from_env() -> Result<Self, String> {
        let Some(variable) = std::env::var_os("PERFSET_PROCESS_SOURCE").filter(|said| !said.is_empty())
        else {
            return Ok(Self::Auto);
        };
        let known = Self::WORDS.iter().find(|(word, _)| variable == *word).map(|(_, source)| *source);
        known.ok_or_else(|| variable.to_string_lossy().into_owned())
    }
}

/// The ways, the cheapest first. The numbers are those of the counter Source Layer of Perfset Engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// Has a program in the kernel walk over the tasks.
    Tasks,
    /// Reads again what ran since, as the CPU clocks of the processes tell.
    Gate,
    /// Reads everything.
    Plain,
}

impl Layer {
    /// For the counter.
    pub(super) fn number(self) -> u32 {
        match self {
            Self::Tasks => 1,
            Self::Gate => 2,
            Self::Plain => 3,
        }
    }

    /// For people.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Tasks => "a walk over the kernel's tasks",
            Self::Gate => "files of processes whose CPU clock moved, of the others in turn",
            Self::Plain => "files of all processes, each time",
        }
    }
}

/// All ways. Each collection takes the cheapest that can be had.
#[derive(Debug)]
pub(super) struct Ways {
    roots: Roots,
    wish: ProcessSource,
    files: Files,
    walk: Walk,
    /// CPU time that files have cost so far, in ns.
    spent_ns: u64,
    /// The way that the last collection took.
    taken: Layer,
}

/// The walk over the tasks.
#[derive(Debug)]
enum Walk {
    /// Nobody has tried.
    Untried,
    Open(Box<Tasks>),
    /// It could not be had, and is tried again after so many collections.
    Resting {
        tasks: Box<Tasks>,
        collections: u32,
        why: String,
    },
    /// It cannot be had, or not any more.
    Closed(Cow<'static, str>),
}

impl Ways {
    /// CPU time that it takes to load a walk. Files that cost no more together are cheaper.
    const LOAD_NS: u64 = 50_000_000;
    /// What the first reading of a process costs at least.
    const FIRST_NS: u64 = 10_000;
    /// After so many collections a walk is tried again.
    const REST: u32 = 60;

    /// Below `roots`. `clocks`: whether the CPU clocks of these processes can be had.
    pub(super) fn new(roots: &Roots, clocks: bool, wish: ProcessSource) -> Self {
        let layer = if clocks && wish != ProcessSource::Proc { Layer::Gate } else { Layer::Plain };
        let walk = match (wish, clocks) {
            (ProcessSource::Gate | ProcessSource::Proc, _) => Walk::Closed("files were asked for".into()),
            (_, false) => Walk::Closed(
                "these processes are not of this PID namespace, so their clocks cannot be read".into(),
            ),
            _ => Walk::Untried,
        };
        let files = Files::new(roots, clocks, layer);
        Self { roots: roots.clone(), wish, files, walk, spent_ns: 0, taken: layer }
    }

    /// With these walks.
    #[cfg(test)]
    pub(super) fn walking(roots: &Roots, tasks: Tasks) -> Self {
        Self { walk: Walk::Open(Box::new(tasks)), ..Self::new(roots, true, ProcessSource::Auto) }
    }

    /// The way that the last collection took.
    pub(super) fn layer(&self) -> Layer {
        self.taken
    }

    /// Lists the processes, if nobody did in this collection, and brings those parts of the `wanted` ones up to date.
    ///
    /// # Errors
    /// If the processes cannot be listed. What is wrong with one of them is said where its part would be.
    pub(super) fn refresh(
        &mut self,
        parts: Parts,
        wanted: &dyn Fn(&Process) -> bool,
        table: &mut Table,
        pass: &mut Pass,
    ) -> Result<(), NoValue> {
        if matches!(self.walk, Walk::Untried) && self.pays() {
            self.open();
        }
        self.rest(table.is_listed(pass));
        let Self { walk, files, .. } = self;
        if let Walk::Open(tasks) = walk {
            let left = match tasks.refresh(parts, wanted, table, pass, files) {
                Ok(()) => {
                    self.taken = Layer::Tasks;
                    return Ok(());
                }
                Err(left) => left,
            };
            *walk = match (left, std::mem::replace(walk, Walk::Untried)) {
                (Left::ForNow(why), Walk::Open(tasks)) => {
                    Walk::Resting { tasks, collections: Self::REST, why }
                }
                (left, _) => Walk::Closed(left.why().into()),
            };
        }
        self.taken = self.files.layer();
        let is_counted = matches!(self.walk, Walk::Untried);
        let before = if is_counted { cpu_ns() } else { 0 };
        let done = self.files.refresh(parts, wanted, table, pass);
        if is_counted {
            self.spent_ns = self.spent_ns.saturating_add(cpu_ns().saturating_sub(before));
        }
        done
    }

    /// Tries a walk that rests again once it is time.
    fn rest(&mut self, is_listed: bool) {
        let Walk::Resting { collections, .. } = &mut self.walk else { return };
        *collections = collections.saturating_sub(u32::from(!is_listed));
        if *collections == 0 {
            if let Walk::Resting { tasks, .. } = std::mem::replace(&mut self.walk, Walk::Untried) {
                self.walk = Walk::Open(tasks);
            }
        }
    }

    /// Whether a walk costs less than files, its loading included: there are many processes, or this goes on for long.
    fn pays(&self) -> bool {
        let first = || u64::from(rules::process_count(&self.roots)).saturating_mul(Self::FIRST_NS);
        self.wish == ProcessSource::Bpf
            || prepared::is_there(&self.roots)
            || self.spent_ns >= Self::LOAD_NS
            || (self.spent_ns == 0 && first() >= Self::LOAD_NS)
    }

    fn open(&mut self) {
        self.walk = match prepared::take(&self.roots).map_or_else(|| Tasks::open(&self.roots), Ok) {
            Ok(tasks) => Walk::Open(Box::new(tasks)),
            Err(why) => Walk::Closed(why.into()),
        };
    }

    /// Which way was taken last, and why no cheaper one. Tries whether a walk could be had.
    pub(super) fn about(&mut self) -> String {
        let what = self.taken.what();
        if matches!(self.walk, Walk::Untried) {
            self.open();
        }
        match &self.walk {
            Walk::Open(tasks) if self.taken == Layer::Tasks => format!("{what} ({})", tasks.about()),
            Walk::Open(_) => {
                format!("{what}; {} takes over once it has paid for its loading", Layer::Tasks.what())
            }
            Walk::Resting { why, .. } => format!("{what}; {why}; it is tried again"),
            Walk::Closed(why) => format!("{what}; {why}"),
            Walk::Untried => what.to_owned(),
        }
    }
}

/// CPU time of this thread.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, ns) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(ns.unwrap_or(0))
}
