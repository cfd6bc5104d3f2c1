//! What is known of each process.

use std::num::NonZeroU64;
use std::ops::BitOr;

use perfset_core::{Birth, NoValue};

use crate::countersets::value::instance_name;
use crate::pass::Pass;
use crate::sources::named::Number;
use crate::sources::pid::schedstat::SchedStat;
use crate::sources::pid::stat::Stat;
use crate::sources::pid::statm::Statm;
use crate::sources::text::TextError;

/// Everything that is known of processes, by pid.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Ascending by pid.
    pub(super) processes: Vec<Process>,
    /// Their places in order of start and pid: the order of the rows.
    order: Vec<usize>,
    /// The collection that listed them last, and how often they were listed.
    listed_in: u64,
    turn: u64,
}

/// A process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// Its name and pid, as in `bash:42`; the name alone has so many bytes.
    name: String,
    comm_len: usize,
    /// What its CPU clock showed in this collection, in ns, where that clock can be had.
    pub(super) clock_ns: u64,
    birth: Birth,
    /// Most ticks so far, in the program and in the kernel: the kernel may step back.
    pub(super) most_utime: u64,
    pub(super) most_stime: u64,
    pub(super) stat: Part<Stat>,
    pub(super) statm: Part<Statm>,
    pub(super) io: Part<Numbers<7>>,
    pub(super) seldom: Option<Box<Seldom>>,
}

/// What is hardly ever asked.
#[derive(Debug, Default)]
pub(super) struct Seldom {
    pub(super) status: Part<Numbers<7>>,
    pub(super) schedstat: Part<SchedStat>,
    pub(super) smaps_rollup: Part<Numbers<1>>,
    pub(super) fd: Part<u64>,
    pub(super) oom_score: Part<u64>,
    pub(super) threads: Part<Vec<Thread>>,
}

/// A thread of a process.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) tid: u32,
    pub(super) most_utime: u64,
    pub(super) most_stime: u64,
    pub(super) stat: Result<Stat, NoValue>,
    pub(super) schedstat: Result<SchedStat, NoValue>,
}

/// What one file said of a process, and when.
#[derive(Debug, Default)]
pub(super) struct Part<T> {
    pub(super) value: T,
    pub(super) state: State,
    /// What the process's CPU clock showed before the file was read.
    clock_ns: u64,
    /// Which listing it was read after.
    turn: u64,
    /// When it is to be read again whatever the clock shows: at the earlier of these.
    due: Moment,
}

/// Whether a part has a value.
#[derive(Clone, Debug, Default)]
pub(super) enum State {
    #[default]
    Unread,
    Read,
    None(Box<NoValue>),
}

/// When something is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    /// Counts listings of all processes.
    turn: u64,
    /// Of the monotonic clock.
    second: u64,
}

impl<T> Part<T> {
    /// What others can change of a process that does not run is read again in every tenth collection, or after ten
    /// seconds.
    const TURNS: u64 = 10;
    const SECONDS: u64 = 10;

    pub(super) fn get(&self) -> Result<&T, NoValue> {
        match &self.state {
            State::Read => Ok(&self.value),
            State::Unread => Err(NoValue::NotGiven),
            State::None(reason) => Err((**reason).clone()),
        }
    }

    /// Whether it was read in this collection.
    pub(super) fn is_new(&self, now: Moment) -> bool {
        !matches!(self.state, State::Unread) && self.turn == now.turn
    }

    /// Whether what it says is as it was: the process has not run since, so that nothing it does by itself changed.
    /// What could not be read is unknown: this process may have had no descriptor left.
    pub(super) fn is_unchanged(&self, clock_ns: u64) -> bool {
        let failed = |reason: &NoValue| matches!(reason, NoValue::Failed(_));
        let known = match &self.state {
            State::Unread => false,
            State::Read => true,
            State::None(reason) => !failed(reason),
        };
        known && self.clock_ns == clock_ns
    }

    /// Whether it is its turn to be read again.
    pub(super) fn is_due(&self, now: Moment) -> bool {
        now.turn >= self.due.turn || now.second >= self.due.second
    }

    /// Takes over what was read. The turns of processes that were seen first together are spread by their pids.
    pub(super) fn set(&mut self, read: Result<T, NoValue>, pid: u32, clock_ns: u64, now: Moment) {
        let (turns, seconds) = match self.state {
            State::Unread => (u64::from(pid) % Self::TURNS, u64::from(pid) % Self::SECONDS),
            _ => (Self::TURNS, Self::SECONDS),
        };
        self.due = Moment {
            turn: now.turn.saturating_add(turns.max(1)),
            second: now.second.saturating_add(seconds.max(1)),
        };
        self.clock_ns = clock_ns;
        self.turn = now.turn;
        self.state = match read {
            Ok(value) => {
                self.value = value;
                State::Read
            }
            Err(reason) => State::None(Box::new(reason)),
        };
    }
}

/// The numbers of a file's lines: one word each, as long as there is one in every line.
#[derive(Debug)]
pub(super) struct Numbers<const N: usize> {
    words: [u64; N],
    unusual: Option<Box<[Number; N]>>,
}

impl<const N: usize> Default for Numbers<N> {
    fn default() -> Self {
        Self { words: [0; N], unusual: None }
    }
}

impl<const N: usize> From<[Number; N]> for Numbers<N> {
    fn from(numbers: [Number; N]) -> Self {
        let mut words = [0; N];
        for (word, number) in words.iter_mut().zip(&numbers) {
            match number {
                Some(Ok(number)) => *word = *number,
                _ => return Self { words, unusual: Some(Box::new(numbers)) },
            }
        }
        Self { words, unusual: None }
    }
}

impl<const N: usize> Numbers<N> {
    /// The number of a line; `Ok(None)` if there is no such line.
    pub(super) fn get(&self, at: usize) -> Result<Option<u64>, &TextError> {
        match &self.unusual {
            None => Ok(self.words.get(at).copied()),
            Some(numbers) => match numbers.get(at) {
                Some(Some(Ok(number))) => Ok(Some(*number)),
                Some(Some(Err(error))) => Err(error),
                _ => Ok(None),
            },
        }
    }
}

/// Tells a process or thread from others that had its number before: when it started.
pub(super) fn birth(stat: &Stat) -> Birth {
    NonZeroU64::new(stat.starttime.saturating_add(1))
}

impl Process {
    pub(super) fn new(pid: u32) -> Self {
        Self {
            pid,
            name: String::new(),
            comm_len: 0,
            clock_ns: 0,
            birth: None,
            most_utime: 0,
            most_stime: 0,
            stat: Part::default(),
            statm: Part::default(),
            io: Part::default(),
            seldom: None,
        }
    }

    /// Its name and pid.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Its name alone.
    pub(super) fn comm(&self) -> &str {
        self.name.get(..self.comm_len).unwrap_or_default()
    }

    fn set_name(&mut self, comm: &[u8]) {
        if self.comm().as_bytes() == comm && !self.name.is_empty() {
            return;
        }
        let comm = instance_name(comm);
        self.comm_len = comm.len();
        self.name = format!("{comm}:{}", self.pid);
    }

    /// Tells it from others that had its pid before: when it started. None until its `stat` could be read.
    pub(super) fn birth(&self) -> Birth {
        self.birth
    }

    /// Whether all of these parts were read in this collection.
    pub(super) fn is_new(&self, parts: Parts, now: Moment) -> bool {
        let seldom = self.seldom.as_deref();
        let new = |part, is_new: &dyn Fn(&Seldom) -> bool| !parts.has(part) || seldom.is_some_and(is_new);
        (!parts.has(Parts::STAT) || self.stat.is_new(now))
            && (!parts.has(Parts::STATM) || self.statm.is_new(now))
            && (!parts.has(Parts::IO) || self.io.is_new(now))
            && (!parts.has(Parts::SELDOM)
                || new(Parts::STATUS, &|seldom| seldom.status.is_new(now))
                    && new(Parts::SCHEDSTAT, &|seldom| seldom.schedstat.is_new(now))
                    && new(Parts::SMAPS_ROLLUP, &|seldom| seldom.smaps_rollup.is_new(now))
                    && new(Parts::FD, &|seldom| seldom.fd.is_new(now))
                    && new(Parts::OOM_SCORE, &|seldom| seldom.oom_score.is_new(now))
                    && new(Parts::TASK, &|seldom| seldom.threads.is_new(now)))
    }

    /// Takes over name and `stat`. Whether it is another process than before, with the same pid: then nothing else is
    /// known of it.
    pub(super) fn begins(&mut self, name: &[u8], stat: &Stat) -> bool {
        let birth = birth(stat);
        let other = self.birth.is_some() && self.birth != birth;
        if other {
            *self = Self { clock_ns: self.clock_ns, ..Self::new(self.pid) };
        }
        self.birth = birth;
        self.set_name(name);
        self.most_utime = self.most_utime.max(stat.utime);
        self.most_stime = self.most_stime.max(stat.stime);
        other
    }

    /// Notes that its `stat` makes no sense. It has a name all the same.
    pub(super) fn stays_unknown(&mut self) {
        if self.name.is_empty() {
            self.set_name(b"?");
        }
    }
}

impl Table {
    /// Whether they were listed in this collection.
    pub(super) fn is_listed(&self, pass: &Pass) -> bool {
        self.listed_in == pass.number
    }

    /// Begins a listing in this collection.
    pub(super) fn start(&mut self, pass: &Pass) {
        self.listed_in = pass.number;
        self.turn = self.turn.saturating_add(1);
    }

    /// Now.
    pub(super) fn moment(&self, pass: &Pass) -> Moment {
        Moment { turn: self.turn, second: pass.elapsed_ns / 1_000_000_000 }
    }

    /// All processes in the order of their rows.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &Process> {
        self.order.iter().filter_map(|at| self.processes.get(*at))
    }

    /// Adds new processes, removes what ended and puts all in order.
    pub(super) fn arrange(&mut self, new: &mut Vec<Process>) {
        self.processes.append(new);
        self.processes.sort_unstable_by_key(|process| process.pid); // which moves few: pids grow
        let Self { processes, order, .. } = self;
        order.clear();
        order.extend(0..processes.len());
        order.sort_unstable_by_key(|at| {
            processes.get(*at).map(|process| (process.stat.value.starttime, process.pid))
        });
    }
}

/// Files of a process, of which each counter needs some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts(u16);

impl Parts {
    pub(super) const NONE: Self = Self(0);
    pub(super) const BEYOND_STAT: Self = Self(!1);
    pub(super) const STAT: Self = Self(1);
    pub(super) const STATM: Self = Self(1 << 1);
    pub(super) const IO: Self = Self(1 << 2);
    pub(super) const SELDOM: Self = Self(!7);
    pub(super) const STATUS: Self = Self(1 << 3);
    pub(super) const SCHEDSTAT: Self = Self(1 << 4);
    pub(super) const SMAPS_ROLLUP: Self = Self(1 << 5);
    pub(super) const FD: Self = Self(1 << 6);
    pub(super) const OOM_SCORE: Self = Self(1 << 7);
    pub(super) const TASK: Self = Self(1 << 8);

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Parts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
