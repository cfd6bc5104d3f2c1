//! Table of all processes, with the data read for each.

use std::num::{NonZeroU32, NonZeroU64};
use std::ops::BitOr;

use perfset_core::{Birth, NoValue};

use super::reader::gone;
use crate::provider::{Collection, instance_name};
use crate::sources::named::Number;
use crate::sources::pid::schedstat::SchedStat;
use crate::sources::pid::stat::Stat;
use crate::sources::pid::statm::Statm;
use crate::sources::text::TextError;

/// Table of all known processes, with the data read for each process.
#[derive(Debug, Default)]
pub(super) struct ProcessTable {
    /// Known processes, ascending by pid.
    pub(super) processes: Vec<ProcessEntry>,
    /// Indexes of the processes in the order of start and pid, which is the order of the rows.
    order: Vec<usize>,
    /// Processes that still exist and were listed before, and that `/proc` does not list now.
    pub(super) hidden: Vec<Hidden>,
    /// Number of the collection that listed the processes last; `turn` counts the listings.
    listed_in: u64,
    turn: u32,
}

/// Process that still exists and was listed before, and that `/proc` does not list now.
///
/// `/proc` mounted with `hidepid=2` hides a process of this user that executes a program of another user, such as
/// `sudo`. Totals lack what the process counts while it is hidden, and are marked.
///
/// Known limit: without CPU clocks, as for a `/proc` of another PID namespace, a hidden process cannot be
/// distinguished from an ended one. When its parent waits for it, the total includes its I/O twice, without a mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hidden {
    pub(super) pid: u32,
    pub(super) birth: Birth,
    /// Pid of the hidden process's parent when the process was last seen.
    pub(super) ppid: u32,
    /// CPU time of the hidden process when it was last seen, in ns. A process with a lower CPU time is another
    /// process with the same pid.
    pub(super) clock_ns: u64,
}

/// Process in the table of processes, with the data read from its files.
#[derive(Debug)]
pub(super) struct ProcessEntry {
    pub(super) pid: u32,
    /// Name and pid of the process, as in `bash:42`.
    name: Box<str>,
    /// CPU clock of the process in this collection, in ns, if that clock is readable.
    pub(super) clock_ns: u64,
    /// `true` if the process's CPU clock stepped back, so that `clock_ns` is its earlier value.
    pub(super) held: bool,
    /// Time at which the process's CPU clock was last seen to have moved: the process has executed something.
    pub(super) ran: CollectionTime,
    /// Time at which `/proc/PID/stat` last showed a change of the process's memory.
    pub(super) memory_moved: CollectionTime,
    birth: Birth,
    /// Highest number of ticks so far that the process spent in user mode: the kernel's count may fall.
    pub(super) most_utime: u64,
    pub(super) most_stime: u64,
    pub(super) stat: FileReading<Stat>,
    pub(super) statm: FileReading<Statm>,
    pub(super) io: FileReading<LineValues<7>>,
    pub(super) seldom: Option<Box<RareFields>>,
}

/// Data of a process that is rarely requested.
#[derive(Debug, Default)]
pub(super) struct RareFields {
    pub(super) status: FileReading<LineValues<7>>,
    pub(super) schedstat: FileReading<SchedWaits>,
    pub(super) smaps_rollup: FileReading<LineValues<1>>,
    pub(super) fd: FileReading<u64>,
    pub(super) oom_score: FileReading<u64>,
    pub(super) threads: FileReading<Vec<Thread>>,
}

/// Values of `schedstat` of a process's first thread, except the run time, which the CPU clock has for all threads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SchedWaits {
    pub(super) wait_ns: u64,
    pub(super) timeslices: u64,
}

impl From<SchedStat> for SchedWaits {
    fn from(SchedStat { run_ns: _, wait_ns, timeslices }: SchedStat) -> Self {
        Self { wait_ns, timeslices }
    }
}

/// Thread of a process, with the data read from its files.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) tid: u32,
    /// Number of the last listing of processes that contained the thread.
    turn: u32,
    pub(super) most_utime: u64,
    pub(super) most_stime: u64,
    pub(super) stat: Result<Stat, NoValue>,
    pub(super) schedstat: Result<SchedStat, NoValue>,
    /// `true` if the thread's time is counted in ticks, because this kernel has no finer count; `None` until the time
    /// was read.
    pub(super) in_ticks: Option<bool>,
}

impl Thread {
    /// Creates a thread whose data is not read yet.
    pub(super) fn new(tid: u32) -> Self {
        let (most_utime, most_stime) = (0, 0);
        let (stat, schedstat) = (Err(NoValue::NotGiven), Err(NoValue::NotGiven));
        Self { tid, turn: 0, most_utime, most_stime, stat, schedstat, in_ticks: None }
    }

    /// Stores the data that was just read for the thread. If the start time differs, the thread is another one with the
    /// same id.
    pub(super) fn store(
        &mut self,
        stat: Result<Stat, NoValue>,
        schedstat: Result<SchedStat, NoValue>,
        now: CollectionTime,
    ) {
        if let (Ok(old), Ok(new)) = (&self.stat, &stat) {
            // Another thread has the id: what the earlier one reached must not hold its counts.
            if old.starttime != new.starttime {
                (self.most_utime, self.most_stime) = (0, 0);
                self.in_ticks = None;
            }
        }
        // Decided once: a difference between two methods of counting is not a time.
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

    /// Returns `true` if the thread was listed in this collection.
    pub(super) fn is_of(&self, now: CollectionTime) -> bool {
        self.turn == now.turn
    }
}

/// Data from one file of a process, and the time of reading.
#[derive(Debug, Default)]
pub(super) struct FileReading<T> {
    pub(super) value: T,
    /// Reason for the missing data, if the last reading of the process's file failed.
    reason: Option<Box<NoValue>>,
    /// Time of the last reading of the process's file.
    read: CollectionTime,
}

/// Time of a reading or an event, as the number of a listing of processes and a second; the default means never.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CollectionTime {
    /// Number of the listing of all processes since the first, which is 1.
    turn: u32,
    /// Time in seconds on the monotonic clock.
    second: u32,
}

/// Interval of a periodic refresh, in collections or seconds, for data of a process that other processes can change
/// while it is idle.
#[derive(Clone, Copy, Debug)]
pub(super) struct RefreshInterval(NonZeroU32);

impl RefreshInterval {
    /// Refresh interval of ten collections or seconds, for data of a process whose changes cannot be detected.
    pub(super) const TENTH: Self = Self(NonZeroU32::new(10).unwrap());
    /// Refresh interval of a hundred collections or seconds, for data whose changes `/proc/PID/stat` shows
    /// approximately. `stat` has its own periodic refresh.
    pub(super) const HUNDREDTH: Self = Self(NonZeroU32::new(100).unwrap());

    /// Returns the number of the refresh interval that contains the collection or second `number`. Intervals of
    /// different processes are shifted by their pids.
    fn interval(self, pid: u32, number: u32) -> u32 {
        // Without the shift, all processes would be due in the same collection.
        number.wrapping_add(pid % self.0) / self.0
    }
}

impl<T> FileReading<T> {
    pub(super) fn get(&self) -> Result<&T, NoValue> {
        match &self.reason {
            _ if self.read.turn == 0 => Err(NoValue::NotGiven),
            Some(reason) => Err((**reason).clone()),
            None => Ok(&self.value),
        }
    }

    /// Returns `true` if the process's file was read before, with or without success.
    pub(super) fn is_known(&self) -> bool {
        self.read.turn != 0
    }

    /// Returns `true` if the process's file was read in this collection.
    pub(super) fn is_new(&self, now: CollectionTime) -> bool {
        self.read.turn == now.turn
    }

    /// Returns `true` if the file's data is current: it was read after the time `changed`. After a failed reading the
    /// data is not current: this process may have had no file descriptor left.
    pub(super) fn is_unchanged(&self, changed: CollectionTime) -> bool {
        let failed = matches!(self.reason.as_deref(), Some(NoValue::Failed(_)));
        self.read.turn != 0 && !failed && self.read.turn >= changed.turn
    }

    /// Returns `true` if the process's file is due for its periodic refresh.
    pub(super) fn is_due(&self, turn: RefreshInterval, pid: u32, now: CollectionTime) -> bool {
        // Whichever comes first. Ten collections would be too long at intervals of minutes.
        turn.interval(pid, self.read.turn) != turn.interval(pid, now.turn)
            || turn.interval(pid, self.read.second) != turn.interval(pid, now.second)
    }

    /// Returns the data of a process's file for overwriting, and sets `now` as the time of reading.
    pub(super) fn renew(&mut self, now: CollectionTime) -> &mut T {
        (self.read, self.reason) = (now, None);
        &mut self.value
    }

    /// Marks the data of a process's file as missing if the file was read in this collection.
    fn lose(&mut self, now: CollectionTime) {
        if self.is_new(now) {
            self.reason = Some(Box::new(gone()));
        }
    }

    /// Stores the result of reading a file of a process.
    pub(super) fn set(&mut self, read: Result<T, NoValue>, now: CollectionTime) {
        self.read = now;
        self.reason = match read {
            Ok(value) => {
                self.value = value;
                None
            }
            Err(reason) => Some(Box::new(reason)),
        };
    }
}

/// Numbers from the lines of a process's file, stored as one word for each line as long as every line has a number.
#[derive(Debug)]
pub(super) struct LineValues<const N: usize> {
    words: [u64; N],
    unusual: Option<Box<[Number; N]>>,
}

impl<const N: usize> Default for LineValues<N> {
    fn default() -> Self {
        Self { words: [0; N], unusual: None }
    }
}

impl<const N: usize> From<[Number; N]> for LineValues<N> {
    fn from(numbers: [Number; N]) -> Self {
        let mut words = [0; N];
        for (word, number) in words.iter_mut().zip(&numbers) {
            match number {
                Some(Ok(number)) => *word = *number,
                // One line without a number is enough: words cannot represent a missing or malformed one.
                _ => return Self { words, unusual: Some(Box::new(numbers)) },
            }
        }
        Self { words, unusual: None }
    }
}

impl<const N: usize> LineValues<N> {
    /// Sets the numbers of a process's file, one for each line.
    pub(super) fn set_words(&mut self, words: [u64; N]) {
        (self.words, self.unusual) = (words, None);
    }

    /// Sets the numbers of a process's file, of which some may be missing or invalid; reuses the allocated memory.
    pub(super) fn set(&mut self, numbers: [Number; N]) {
        match &mut self.unusual {
            Some(unusual) if numbers.iter().any(|number| !matches!(number, Some(Ok(_)))) => {
                **unusual = numbers
            }
            _ => *self = numbers.into(),
        }
    }

    /// Returns the number in a line of a process's file; `Ok(None)` if there is no such line.
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

/// Returns the birth of a process or thread from its start time, in ticks. The birth distinguishes a reused id.
pub(super) fn birth(start: u64) -> Birth {
    // Processes of the first tick need a birth as well, and 0 is none.
    NonZeroU64::new(start.saturating_add(1))
}

impl ProcessEntry {
    pub(super) fn new(pid: u32) -> Self {
        Self {
            pid,
            name: Box::default(),
            clock_ns: 0,
            held: false,
            ran: CollectionTime::default(),
            memory_moved: CollectionTime::default(),
            birth: None,
            most_utime: 0,
            most_stime: 0,
            stat: FileReading::default(),
            statm: FileReading::default(),
            io: FileReading::default(),
            seldom: None,
        }
    }

    /// Returns the name and pid of the process.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the process, without the pid.
    pub(super) fn comm(&self) -> &str {
        // From the end: the name may contain colons, and the pid does not.
        self.name.rsplit_once(':').map_or("", |(comm, _)| comm)
    }

    fn set_name(&mut self, comm: &[u8]) {
        // Names hardly ever change, and a new one must be allocated.
        if self.comm().as_bytes() != comm || self.name.is_empty() {
            self.name = format!("{}:{}", instance_name(comm), self.pid).into();
        }
    }

    /// Returns the birth of the process, which distinguishes a reused pid. `None` until its `stat` could be read.
    pub(super) fn birth(&self) -> Birth {
        self.birth
    }

    /// Returns `true` if all of these files of the process were read in this collection.
    pub(super) fn is_new(&self, parts: FileSet, now: CollectionTime) -> bool {
        let seldom = self.seldom.as_deref();
        let new = |part, is_new: &dyn Fn(&RareFields) -> bool| !parts.has(part) || seldom.is_some_and(is_new);
        // If `stat` of this collection shows unchanged memory, the earlier `statm` is as good as a new one.
        let statm_is_new = || self.statm.is_new(now) || self.stat.is_new(now) && self.memory_stays();
        (!parts.has(FileSet::STAT) || self.stat.is_new(now))
            && (!parts.has(FileSet::STATM) || statm_is_new())
            && (!parts.has(FileSet::IO) || self.io.is_new(now))
            && (!parts.has(FileSet::SELDOM)
                || new(FileSet::STATUS, &|seldom| seldom.status.is_new(now))
                    && new(FileSet::SCHEDSTAT, &|seldom| seldom.schedstat.is_new(now))
                    && new(FileSet::SMAPS_ROLLUP, &|seldom| seldom.smaps_rollup.is_new(now))
                    && new(FileSet::FD, &|seldom| seldom.fd.is_new(now))
                    && new(FileSet::OOM_SCORE, &|seldom| seldom.oom_score.is_new(now))
                    && new(FileSet::TASK, &|seldom| seldom.threads.is_new(now)))
    }

    /// Returns `true` if the start time of the process is the tick `start`.
    pub(super) fn started(&self, start: u64) -> bool {
        self.birth == birth(start)
    }

    /// Sets the process's name and start time. Returns `true` if they belong to another process with the same pid:
    /// then all other data is discarded.
    pub(super) fn begins(&mut self, name: &[u8], start: u64) -> bool {
        let other = self.restarts(start);
        self.set_name(name);
        other
    }

    /// Sets the start time of the process as [`begins`](Self::begins) does, without a name. The same process keeps
    /// its name.
    pub(super) fn restarts(&mut self, start: u64) -> bool {
        let birth = birth(start);
        let other = self.birth.is_some() && self.birth != birth;
        if other {
            // Clock and time of the last run were read for the new process already.
            *self = Self { clock_ns: self.clock_ns, ran: self.ran, ..Self::new(self.pid) };
        }
        self.birth = birth;
        other
    }

    /// Stores the process's CPU times from `stat`, below which later values must not fall.
    pub(super) fn holds(&mut self, stat: &Stat) {
        self.most_utime = self.most_utime.max(stat.utime);
        self.most_stime = self.most_stime.max(stat.stime);
    }

    /// Returns `true` if `stat` shows that `statm` of the process is unchanged: no page faults, no memory mapped or
    /// unmapped, the same resident size. A few freed pages may be missed, because `stat` counts pages approximately.
    pub(super) fn memory_stays(&self) -> bool {
        self.statm.is_unchanged(self.memory_moved)
    }

    /// Stores the result of reading the process's file `stat`.
    pub(super) fn set_stat(&mut self, read: Result<Stat, NoValue>, now: CollectionTime) {
        let memory = |stat: &Stat| (stat.minflt, stat.majflt, stat.vsize, stat.rss);
        if read.as_ref().map_or(true, |stat| memory(stat) != memory(&self.stat.value)) {
            self.memory_moved = now;
        }
        self.stat.set(read, now);
    }

    /// Marks the process's files read in this collection, except `stat`, as missing: they may be those of another
    /// process that got the pid since.
    pub(super) fn lose_files(&mut self, now: CollectionTime) {
        self.statm.lose(now);
        self.io.lose(now);
        if let Some(seldom) = &mut self.seldom {
            seldom.status.lose(now);
            seldom.schedstat.lose(now);
            seldom.smaps_rollup.lose(now);
            seldom.fd.lose(now);
            seldom.oom_score.lose(now);
            seldom.threads.lose(now);
        }
    }

    /// Gives the name `?` to a process whose `stat` is invalid.
    pub(super) fn stays_unknown(&mut self) {
        if self.name.is_empty() {
            self.set_name(b"?");
        }
    }
}

impl ProcessTable {
    /// Returns `true` if the processes were listed in this collection.
    pub(super) fn is_listed(&self, pass: &Collection) -> bool {
        self.listed_in == pass.number()
    }

    /// Starts a listing of the processes in this collection.
    pub(super) fn start(&mut self, pass: &Collection) {
        self.listed_in = pass.number();
        self.turn = self.turn.saturating_add(1);
    }

    /// Returns the time of this collection: the number of its listing of processes, and the second.
    pub(super) fn moment(&self, pass: &Collection) -> CollectionTime {
        let seconds = pass.elapsed_ns() / 1_000_000_000;
        CollectionTime { turn: self.turn, second: u32::try_from(seconds).unwrap_or(u32::MAX) }
    }

    /// Returns the result that [`moment`](Self::moment) will have once this collection has started to list the
    /// processes.
    pub(super) fn next_moment(&self, pass: &Collection) -> CollectionTime {
        CollectionTime { turn: self.turn.saturating_add(1), ..self.moment(pass) }
    }

    /// Finds the process with that pid, and its index in the table. The element after index `last` is checked first.
    pub(super) fn find(&mut self, pid: u32, last: Option<usize>) -> Option<(usize, &mut ProcessEntry)> {
        let next = last.map_or(0, |last| last.saturating_add(1));
        let at = match self.processes.get(next) {
            Some(process) if process.pid == pid => next,
            _ => self.processes.binary_search_by_key(&pid, |process| process.pid).ok()?,
        };
        Some((at, self.processes.get_mut(at)?))
    }

    /// Returns all processes in the order of their rows.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &ProcessEntry> {
        self.order.iter().filter_map(|at| self.processes.get(*at))
    }

    /// Adds new processes to the table, and restores the order of all processes.
    pub(super) fn arrange(&mut self, new: &mut Vec<ProcessEntry>) {
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

/// Set of files of a process, such as `stat` and `io`; each counter needs some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileSet(u16);

impl FileSet {
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
    /// Fields of `/proc/PID/stat` that only one counterset requests, such as the session.
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

impl BitOr for FileSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
