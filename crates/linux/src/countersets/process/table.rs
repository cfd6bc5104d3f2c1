//! What is known of each process.

use std::num::{NonZeroU32, NonZeroU64};
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
    /// Processes that were listed before and still exist, but are not listed now.
    pub(super) hidden: Vec<Hidden>,
    /// The collection that listed them last, and how often they were listed.
    listed_in: u64,
    turn: u32,
}

/// Process that was listed before and still exists, but is not listed now.
///
/// `/proc` mounted with `hidepid=2` hides a process of this user that executes a program of another user, such as
/// `sudo`. Totals lack what such a process counts meanwhile, and are marked.
///
/// Known limit: without CPU clocks, as for a `/proc` of another PID namespace, a hidden process cannot be told from one
/// that ended. When its parent waits for it, the total then has its I/O a second time, without a mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hidden {
    pub(super) pid: u32,
    pub(super) birth: Birth,
    /// Parent when the process was last seen.
    pub(super) ppid: u32,
    /// CPU time when the process was last seen, in ns. A process with less is another one with its pid.
    pub(super) clock_ns: u64,
}

/// A process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// Its name and pid, as in `bash:42`.
    name: Box<str>,
    /// What its CPU clock showed in this collection, in ns, where that clock can be had.
    pub(super) clock_ns: u64,
    /// Whether that clock stepped back, and this is what it showed before.
    pub(super) held: bool,
    /// When that clock was last seen to have moved: something was executed.
    pub(super) ran: Moment,
    /// When `stat` last said something else of its memory.
    pub(super) memory_moved: Moment,
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
    pub(super) schedstat: Part<Waits>,
    pub(super) smaps_rollup: Part<Numbers<1>>,
    pub(super) fd: Part<u64>,
    pub(super) oom_score: Part<u64>,
    pub(super) threads: Part<Vec<Thread>>,
}

/// What the first thread of a process has of `schedstat` that is not in the clock of all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waits {
    pub(super) wait_ns: u64,
    pub(super) timeslices: u64,
}

impl From<SchedStat> for Waits {
    fn from(SchedStat { run_ns: _, wait_ns, timeslices }: SchedStat) -> Self {
        Self { wait_ns, timeslices }
    }
}

/// A thread of a process.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) tid: u32,
    /// The listing that it was last seen in.
    turn: u32,
    pub(super) most_utime: u64,
    pub(super) most_stime: u64,
    pub(super) stat: Result<Stat, NoValue>,
    pub(super) schedstat: Result<SchedStat, NoValue>,
    /// `true` if its time is counted in ticks, because this kernel has nothing finer; `None` until it was read.
    pub(super) in_ticks: Option<bool>,
}

impl Thread {
    /// One of which nothing is known.
    pub(super) fn new(tid: u32) -> Self {
        let (most_utime, most_stime) = (0, 0);
        let (stat, schedstat) = (Err(NoValue::NotGiven), Err(NoValue::NotGiven));
        Self { tid, turn: 0, most_utime, most_stime, stat, schedstat, in_ticks: None }
    }

    /// Takes over what is known now. One that started at another time is another one.
    pub(super) fn take(
        &mut self,
        stat: Result<Stat, NoValue>,
        schedstat: Result<SchedStat, NoValue>,
        now: Moment,
    ) {
        if let (Ok(old), Ok(new)) = (&self.stat, &stat) {
            if old.starttime != new.starttime {
                (self.most_utime, self.most_stime) = (0, 0);
                self.in_ticks = None;
            }
        }
        // Once and for all: a difference of two ways to count is no time.
        self.in_ticks = self.in_ticks.or(match &schedstat {
            Ok(_) => Some(false),
            Err(NoValue::Unavailable(_)) => Some(true),
            Err(_) => None,
        });
        let (utime, stime) = stat.as_ref().map_or((0, 0), |stat| (stat.utime, stat.stime));
        self.most_utime = self.most_utime.max(utime);
        self.most_stime = self.most_stime.max(stime);
        (self.turn, self.stat, self.schedstat) = (now.turn, stat, schedstat);
    }

    /// Whether it was there in this collection.
    pub(super) fn is_of(&self, now: Moment) -> bool {
        self.turn == now.turn
    }
}

/// What one file said of a process, and when.
#[derive(Debug, Default)]
pub(super) struct Part<T> {
    pub(super) value: T,
    /// Why there is no value, if it was read last without success.
    none: Option<Box<NoValue>>,
    /// When it was read.
    read: Moment,
}

/// When something was read, or happened; the default is never.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    /// Counts listings of all processes, from 1.
    turn: u32,
    /// Of the monotonic clock.
    second: u32,
}

/// Every so many collections, or seconds, something is read again that others can change while a process rests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn(NonZeroU32);

impl Turn {
    /// What nothing tells of.
    pub(super) const TENTH: Self = Self(NonZeroU32::new(10).unwrap());
    /// What `stat`, which is read in its turn, tells of roughly.
    pub(super) const HUNDREDTH: Self = Self(NonZeroU32::new(100).unwrap());

    /// Which turn of a process a number is in. The turns of processes are spread by their pids.
    fn of(self, pid: u32, number: u32) -> u32 {
        number.wrapping_add(pid % self.0) / self.0
    }
}

impl<T> Part<T> {
    pub(super) fn get(&self) -> Result<&T, NoValue> {
        match &self.none {
            _ if self.read.turn == 0 => Err(NoValue::NotGiven),
            Some(reason) => Err((**reason).clone()),
            None => Ok(&self.value),
        }
    }

    /// Whether it was read before, with or without success.
    pub(super) fn is_known(&self) -> bool {
        self.read.turn != 0
    }

    /// Whether it was read in this collection.
    pub(super) fn is_new(&self, now: Moment) -> bool {
        self.read.turn == now.turn
    }

    /// Whether what it says is as it was: what it is about has not changed since.
    /// What could not be read is unknown: this process may have had no descriptor left.
    pub(super) fn is_unchanged(&self, changed: Moment) -> bool {
        let failed = matches!(self.none.as_deref(), Some(NoValue::Failed(_)));
        self.read.turn != 0 && !failed && self.read.turn >= changed.turn
    }

    /// Whether it is its turn to be read again.
    pub(super) fn is_due(&self, turn: Turn, pid: u32, now: Moment) -> bool {
        turn.of(pid, self.read.turn) != turn.of(pid, now.turn)
            || turn.of(pid, self.read.second) != turn.of(pid, now.second)
    }

    /// The value, which is made anew.
    pub(super) fn renew(&mut self, now: Moment) -> &mut T {
        (self.read, self.none) = (now, None);
        &mut self.value
    }

    /// Takes over what was read.
    pub(super) fn set(&mut self, read: Result<T, NoValue>, now: Moment) {
        self.read = now;
        self.none = match read {
            Ok(value) => {
                self.value = value;
                None
            }
            Err(reason) => Some(Box::new(reason)),
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
    /// Makes it anew of numbers, one for each line.
    pub(super) fn set_words(&mut self, words: [u64; N]) {
        (self.words, self.unusual) = (words, None);
    }

    /// Makes it anew, in the memory that it has.
    pub(super) fn set(&mut self, numbers: [Number; N]) {
        match &mut self.unusual {
            Some(unusual) if numbers.iter().any(|number| !matches!(number, Some(Ok(_)))) => {
                **unusual = numbers
            }
            _ => *self = numbers.into(),
        }
    }

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

/// Tells a process or thread from others that had its number before: when it started, in ticks.
pub(super) fn birth(start: u64) -> Birth {
    NonZeroU64::new(start.saturating_add(1))
}

impl Process {
    pub(super) fn new(pid: u32) -> Self {
        Self {
            pid,
            name: Box::default(),
            clock_ns: 0,
            held: false,
            ran: Moment::default(),
            memory_moved: Moment::default(),
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
        self.name.rsplit_once(':').map_or("", |(comm, _)| comm)
    }

    fn set_name(&mut self, comm: &[u8]) {
        if self.comm().as_bytes() != comm || self.name.is_empty() {
            self.name = format!("{}:{}", instance_name(comm), self.pid).into();
        }
    }

    /// Tells it from others that had its pid before: when it started. None until its `stat` could be read.
    pub(super) fn birth(&self) -> Birth {
        self.birth
    }

    /// Whether all of these parts were read in this collection.
    pub(super) fn is_new(&self, parts: Parts, now: Moment) -> bool {
        let seldom = self.seldom.as_deref();
        let new = |part, is_new: &dyn Fn(&Seldom) -> bool| !parts.has(part) || seldom.is_some_and(is_new);
        let statm_is_new = || self.statm.is_new(now) || self.stat.is_new(now) && self.memory_stays();
        (!parts.has(Parts::STAT) || self.stat.is_new(now))
            && (!parts.has(Parts::STATM) || statm_is_new())
            && (!parts.has(Parts::IO) || self.io.is_new(now))
            && (!parts.has(Parts::SELDOM)
                || new(Parts::STATUS, &|seldom| seldom.status.is_new(now))
                    && new(Parts::SCHEDSTAT, &|seldom| seldom.schedstat.is_new(now))
                    && new(Parts::SMAPS_ROLLUP, &|seldom| seldom.smaps_rollup.is_new(now))
                    && new(Parts::FD, &|seldom| seldom.fd.is_new(now))
                    && new(Parts::OOM_SCORE, &|seldom| seldom.oom_score.is_new(now))
                    && new(Parts::TASK, &|seldom| seldom.threads.is_new(now)))
    }

    /// Whether it started at that tick.
    pub(super) fn started(&self, start: u64) -> bool {
        self.birth == birth(start)
    }

    /// Takes over its name and when it started. Whether it is another process than before, with the same pid: then
    /// nothing else is known of it.
    pub(super) fn begins(&mut self, name: &[u8], start: u64) -> bool {
        let other = self.restarts(start);
        self.set_name(name);
        other
    }

    /// The same without a name, which it keeps if it is no other.
    pub(super) fn restarts(&mut self, start: u64) -> bool {
        let birth = birth(start);
        let other = self.birth.is_some() && self.birth != birth;
        if other {
            *self = Self { clock_ns: self.clock_ns, ran: self.ran, ..Self::new(self.pid) };
        }
        self.birth = birth;
        other
    }

    /// Notes its times, which must not be shown less later.
    pub(super) fn holds(&mut self, stat: &Stat) {
        self.most_utime = self.most_utime.max(stat.utime);
        self.most_stime = self.most_stime.max(stat.stime);
    }

    /// Whether `statm` says what it said: by `stat` there were no page faults since, nothing was mapped or unmapped,
    /// and as much is in memory. That leaves a few pages which were given back, and which `stat` counts roughly.
    pub(super) fn memory_stays(&self) -> bool {
        self.statm.is_unchanged(self.memory_moved)
    }

    /// Takes over what was read of `stat`.
    pub(super) fn set_stat(&mut self, read: Result<Stat, NoValue>, now: Moment) {
        let memory = |stat: &Stat| (stat.minflt, stat.majflt, stat.vsize, stat.rss);
        if read.as_ref().map_or(true, |stat| memory(stat) != memory(&self.stat.value)) {
            self.memory_moved = now;
        }
        self.stat.set(read, now);
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
        let seconds = pass.elapsed_ns / 1_000_000_000;
        Moment { turn: self.turn, second: u32::try_from(seconds).unwrap_or(u32::MAX) }
    }

    /// What [`moment`](Self::moment) is once a listing in this collection has begun.
    pub(super) fn next_moment(&self, pass: &Pass) -> Moment {
        Moment { turn: self.turn.saturating_add(1), ..self.moment(pass) }
    }

    /// The process with that pid, and its place. It is looked for behind the `last` that was found first.
    pub(super) fn find(&mut self, pid: u32, last: Option<usize>) -> Option<(usize, &mut Process)> {
        let next = last.map_or(0, |last| last.saturating_add(1));
        let at = match self.processes.get(next) {
            Some(process) if process.pid == pid => next,
            _ => self.processes.binary_search_by_key(&pid, |process| process.pid).ok()?,
        };
        Some((at, self.processes.get_mut(at)?))
    }

    /// All processes in the order of their rows.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &Process> {
        self.order.iter().filter_map(|at| self.processes.get(*at))
    }

    /// Adds new processes, removes what ended and puts all in order.
    pub(super) fn arrange(&mut self, new: &mut Vec<Process>) {
        match self.processes.is_empty() {
            true => std::mem::swap(&mut self.processes, new),
            false => self.processes.append(new),
        }
        self.processes.sort_unstable_by_key(|process| process.pid); // which moves few: pids grow
        let Self { processes, order, .. } = self;
        order.clear();
        order.extend(0..processes.len());
        order.sort_unstable_by_key(|at| processes.get(*at).map(|process| (process.birth, process.pid)));
    }
}

/// Files of a process, of which each counter needs some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts(u16);

impl Parts {
    pub(super) const NONE: Self = Self(0);
    pub(super) const BEYOND_STAT: Self = Self(!Self::STAT.0 & !Self::RARE.0);
    pub(super) const STAT: Self = Self(1);
    pub(super) const STATM: Self = Self(1 << 1);
    pub(super) const IO: Self = Self(1 << 2);
    pub(super) const SELDOM: Self = Self(Self::BEYOND_STAT.0 & !Self::STATM.0 & !Self::IO.0);
    pub(super) const STATUS: Self = Self(1 << 3);
    pub(super) const SCHEDSTAT: Self = Self(1 << 4);
    pub(super) const SMAPS_ROLLUP: Self = Self(1 << 5);
    pub(super) const FD: Self = Self(1 << 6);
    pub(super) const OOM_SCORE: Self = Self(1 << 7);
    pub(super) const TASK: Self = Self(1 << 8);
    /// What is asked of `stat` in one counterset alone.
    pub(super) const RARE: Self = Self(1 << 9);

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn is_none(self) -> bool {
        self == Self::NONE
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) fn count(self) -> u32 {
        self.0.count_ones()
    }
}

impl BitOr for Parts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
