//! Decoder of task iterators' records, which converts them to the units of the files in `/proc`.

use perfset_bpf::{Column, ColumnOffset, ConsistencyCheck, Record, Records};
use perfset_core::NoValue;

use super::super::files::ProcFiles;
use super::super::table::{
    CollectionTime, FileSet, ProcessEntry, ProcessTable, RefreshInterval, SchedWaits, Thread,
};
use super::rules::{IoVisibility, tells};
use crate::cpu_clock::cpu_clock_ns;
use crate::may_trace::may_trace;
use crate::provider::{Collection, unavailable};
use crate::sources::pid::schedstat::SchedStat;
use crate::sources::pid::stat::Stat;
use crate::sources::pid::statm::Statm;

/// Units of the numbers in `/proc` files: clock ticks and memory pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcUnits {
    ns_in_tick: u64,
    page_size: u64,
}

impl ProcUnits {
    pub(super) fn read() -> Self {
        const NS: u64 = 1_000_000_000; // in a second
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        Self {
            ns_in_tick: NS.checked_div(ticks).unwrap_or(1).max(1),
            page_size: u64::try_from(rustix::param::page_size()).unwrap_or(4_096),
        }
    }

    fn ticks(self, ns: u64) -> u64 {
        const USUAL: u64 = 10_000_000;
        match self.ns_in_tick {
            USUAL => ns / USUAL, // a multiplication
            other => ns.checked_div(other).unwrap_or(0),
        }
    }

    fn kib(self, pages: u64) -> u64 {
        pages.saturating_mul(self.page_size) >> 10
    }
}

/// Flag `PF_KTHREAD` of the kernel: a thread of the kernel, which has no memory of its own.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// Decoder of the records that a task iterator returns for processes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordDecoder {
    parts: FileSet,
    units: ProcUnits,
    torn: ConsistencyCheck,
    pid: ColumnOffset,
    flags: ColumnOffset,
    start: ColumnOffset,
    name: ColumnOffset,
    name_end: ColumnOffset,
    runtime: ColumnOffset,
    stat: Option<StatPlaces>,
    rare: Option<(ColumnOffset, ColumnOffset)>,
    /// Offsets of the record's columns of resident pages: file pages, anonymous pages, shared pages.
    resident: Option<[ColumnOffset; 3]>,
    io: Option<[ColumnOffset; 7]>,
    status: Option<StatusPlaces>,
    schedstat: Option<(ColumnOffset, ColumnOffset)>,
    /// Method of determining if the I/O of a process may be displayed.
    tells: IoVisibility,
}

/// Result of decoding a task iterator's record of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecodeOutcome {
    /// `true` if the record belongs to another process than before, with the same pid.
    pub(super) other: bool,
    /// `true` if the process's data from all requested files is up to date.
    pub(super) whole: bool,
}

/// Offsets of the record columns that make up `/proc/PID/stat`, for processes and threads.
#[derive(Clone, Copy, Debug)]
struct StatPlaces {
    state: ColumnOffset,
    exit_state: ColumnOffset,
    priority: ColumnOffset,
    real_time: ColumnOffset,
    policy: ColumnOffset,
    user: ColumnOffset,
    system: ColumnOffset,
    /// Offsets of the record columns of user and kernel time that the kernel last reported; a kernel that measures
    /// both times has none.
    shown: Option<(ColumnOffset, ColumnOffset)>,
    /// Offsets of the record columns that make up the fields of `stat` that only processes have.
    process: Option<ProcessPlaces>,
}

#[derive(Clone, Copy, Debug)]
struct ProcessPlaces {
    parent: ColumnOffset,
    threads: ColumnOffset,
    minor: ColumnOffset,
    major: ColumnOffset,
    vm: ColumnOffset,
}

#[derive(Clone, Copy, Debug)]
struct StatusPlaces {
    user: ColumnOffset,
    voluntary: ColumnOffset,
    involuntary: ColumnOffset,
    vm: ColumnOffset,
    peak_vm: ColumnOffset,
    peak_resident: ColumnOffset,
    swap: ColumnOffset,
}

impl StatPlaces {
    fn new(records: &Records<'_>) -> Option<Self> {
        let place = |column| records.place(column);
        let process = || {
            Some(ProcessPlaces {
                parent: place(Column::Parent)?,
                threads: place(Column::Threads)?,
                minor: place(Column::MinorFaults)?,
                major: place(Column::MajorFaults)?,
                vm: place(Column::TotalVm)?,
            })
        };
        Some(Self {
            state: place(Column::State)?,
            exit_state: place(Column::ExitState)?,
            priority: place(Column::StaticPriority)?,
            real_time: place(Column::RealTimePriority)?,
            policy: place(Column::Policy)?,
            user: place(Column::UserTime)?,
            system: place(Column::SystemTime)?,
            shown: place(Column::UserTimeShown).zip(place(Column::SystemTimeShown)),
            process: process(),
        })
    }

    /// Returns the fields of `/proc/PID/stat` that both processes and threads have.
    fn stat(&self, record: &Record<'_>, (start, runtime): (u64, u64), units: ProcUnits) -> Stat {
        let times = (record.get(self.user), record.get(self.system));
        let (utime, stime) = match self.shown {
            Some((user, system)) => shown_times(times, runtime, (record.get(user), record.get(system))),
            None => times,
        };
        // Static priorities of the kernel are nice values plus 120.
        const NICE_0: i64 = 120;
        let nice = i64::from(number(record, self.priority)).saturating_sub(NICE_0);
        Stat {
            state: state(number(record, self.state), number(record, self.exit_state)),
            utime: units.ticks(utime),
            stime: units.ticks(stime),
            nice: i8::try_from(nice).unwrap_or(0),
            starttime: units.ticks(start),
            rt_priority: u8::try_from(number(record, self.real_time)).ok(),
            policy: u8::try_from(number(record, self.policy)).ok(),
            ..Stat::default()
        }
    }
}

impl RecordDecoder {
    /// Creates a decoder of records; returns `None` if the records lack a column of the files `parts`.
    pub(super) fn new(records: &Records<'_>, parts: FileSet, units: ProcUnits) -> Option<Self> {
        let place = |column| records.place(column);
        let io = || {
            Some([
                place(Column::ReadChars)?,
                place(Column::WriteChars)?,
                place(Column::ReadCalls)?,
                place(Column::WriteCalls)?,
                place(Column::ReadBytes)?,
                place(Column::WriteBytes)?,
                place(Column::CancelledWriteBytes)?,
            ])
        };
        let resident =
            || Some([place(Column::FilePages)?, place(Column::AnonymousPages)?, place(Column::SharedPages)?]);
        let status = || {
            Some(StatusPlaces {
                user: place(Column::User)?,
                voluntary: place(Column::VoluntarySwitches)?,
                involuntary: place(Column::InvoluntarySwitches)?,
                vm: place(Column::TotalVm)?,
                peak_vm: place(Column::PeakVm)?,
                peak_resident: place(Column::PeakResident)?,
                swap: place(Column::SwapPages)?,
            })
        };
        Some(Self {
            parts,
            units,
            torn: records.torn(),
            pid: place(Column::Pid)?,
            flags: place(Column::Flags)?,
            start: place(Column::Start)?,
            name: place(Column::Name)?,
            name_end: place(Column::NameEnd)?,
            runtime: place(Column::Runtime)?,
            stat: if parts.has(FileSet::STAT) { Some(StatPlaces::new(records)?) } else { None },
            rare: if parts.has(FileSet::RARE) {
                Some((place(Column::Session)?, place(Column::BlockDelay)?))
            } else {
                None
            },
            resident: resident(),
            io: if parts.has(FileSet::IO) { Some(io()?) } else { None },
            status: if parts.has(FileSet::STATUS) { Some(status()?) } else { None },
            schedstat: if parts.has(FileSet::SCHEDSTAT) {
                Some((place(Column::RunDelay)?, place(Column::RunCount)?))
            } else {
                None
            },
            tells: if parts.has(FileSet::IO) { tells() } else { IoVisibility::ByTracing },
        })
    }

    /// Returns the files of a process whose data the records contain.
    pub(super) fn parts(&self) -> FileSet {
        self.parts
    }

    /// Returns the pid of the process in the record.
    pub(super) fn pid(&self, record: &Record<'_>) -> u32 {
        number(record, self.pid)
    }

    fn comm(&self, record: &Record<'_>) -> Comm {
        Comm::of(record.get(self.name), record.get(self.name_end))
    }

    fn start_ticks(&self, record: &Record<'_>) -> u64 {
        self.units.ticks(record.get(self.start))
    }

    /// Returns `true` if the task iterator's record is inconsistent: its values are from different moments.
    pub(super) fn is_torn(&self, record: &Record<'_>) -> bool {
        self.torn.is(record)
    }

    /// Returns `true` if the record belongs to this process, and not to another process with the same pid.
    pub(super) fn is_same(&self, record: &Record<'_>, process: &ProcessEntry) -> bool {
        process.started(self.start_ticks(record))
    }

    /// Copies all data of a task iterator's record to the process in the table.
    pub(super) fn take(
        &self,
        record: &Record<'_>,
        process: &mut ProcessEntry,
        now: CollectionTime,
        pass: &mut Collection,
        files: &mut ProcFiles,
    ) -> DecodeOutcome {
        let flags = number(record, self.flags);
        let comm = self.comm(record);
        let lasting = Stat { flags, ..Stat::default() };
        let name = lasting.lasting_name(comm.bytes());
        let may_be_cut = flags & KERNEL_THREAD != 0 && name.len() == Comm::LONGEST;
        let other = match may_be_cut && !process.comm().as_bytes().starts_with(name) {
            // Only the file has the full name. If the file does not exist, the process is not listed next time.
            true => {
                let other = process.begins(name, self.start_ticks(record));
                files.read_stat(process, now, pass);
                other
            }
            false if may_be_cut => process.restarts(self.start_ticks(record)),
            false => process.begins(name, self.start_ticks(record)),
        };
        let runtime = match self.torn.is(record) {
            true => {
                process.ran = now; // so that what it has is read from its files
                cpu_clock_ns(process.pid).unwrap_or(process.clock_ns)
            }
            false => record.get(self.runtime),
        };
        if runtime != process.clock_ns {
            process.ran = now;
        }
        if other {
            // The clock of the earlier process must not hold that of the new one.
            process.clock_ns = 0;
        }
        // The clock of a running process may have shown more than the kernel has recorded.
        process.held = runtime < process.clock_ns;
        process.clock_ns = process.clock_ns.max(runtime);
        DecodeOutcome { other, whole: self.take_parts(record, process, now) }
    }

    /// Returns `true` if the kernel would let this thread read the I/O of the process. The check takes place at each
    /// collection; for a thread that may read nearly everything, at the first collection and at periodic refreshes.
    /// `None` if no refresh is due and the earlier result was a refusal.
    fn may_show_io(&self, process: &ProcessEntry, now: CollectionTime) -> Option<bool> {
        let io = &process.io;
        match self.tells {
            IoVisibility::ByFile => Some(false),
            IoVisibility::All if io.is_known() && !io.is_due(RefreshInterval::TENTH, process.pid, now) => {
                io.get().is_ok().then_some(true)
            }
            IoVisibility::ByTracing if process.pid == std::process::id() => Some(false),
            _ => Some(may_trace(process.pid)),
        }
    }

    /// Copies the data of a task iterator's record, unless it is inconsistent: then the process is unchanged. Returns
    /// `true` if all files are up to date.
    pub(super) fn take_parts(
        &self,
        record: &Record<'_>,
        process: &mut ProcessEntry,
        now: CollectionTime,
    ) -> bool {
        // A record with values of two moments is not used. With `ran` set, the process is read from its
        // files.
        if self.torn.is(record) {
            process.ran = now;
            return false;
        }
        let units = self.units;
        let flags = number(record, self.flags);
        // A thread of the kernel can borrow the memory of a process, which `/proc` does not show as its own.
        let has_memory = flags & KERNEL_THREAD == 0;
        let pages = |place: ColumnOffset| if has_memory { amount(record.get(place)) } else { 0 };
        let resident = self.resident.map(|resident| resident.map(pages));
        if let Some(places) = &self.stat {
            let old = &process.stat.value;
            let mut stat = Stat {
                flags,
                // Few requests include these two columns; otherwise the last values read stay.
                session: old.session,
                delayacct_blkio_ticks: old.delayacct_blkio_ticks,
                rss: match resident {
                    Some([file, anonymous, shared]) => file.saturating_add(anonymous).saturating_add(shared),
                    None => old.rss,
                },
                ..places.stat(record, (record.get(self.start), record.get(self.runtime)), units)
            };
            if let Some(of) = &places.process {
                stat.ppid = number(record, of.parent);
                stat.num_threads = number(record, of.threads);
                stat.minflt = record.get(of.minor);
                stat.majflt = record.get(of.major);
                stat.vsize = pages(of.vm).saturating_mul(units.page_size);
            }
            if let Some((session, delay)) = self.rare {
                stat.session = number(record, session);
                stat.delayacct_blkio_ticks = Some(units.ticks(record.get(delay)));
            }
            process.holds(&stat);
            process.set_stat(Ok(stat), now);
        }
        if let Some([file, anonymous, shared]) = resident.filter(|_| self.parts.has(FileSet::STATM)) {
            let shared = file.saturating_add(shared);
            *process.statm.renew(now) = Statm { resident: shared.saturating_add(anonymous), shared };
        }
        let mut whole = true;
        // The iterator reads the I/O of every process. It is shown only if the kernel would let this thread
        // read the file.
        if let Some(io) = self.io {
            match self.may_show_io(process, now) {
                Some(true) => process.io.renew(now).set_words(io.map(|place| record.get(place))),
                Some(false) => whole = false, // its file says why
                None => {}
            }
        }
        if let Some((delay, count)) = self.schedstat {
            let waits = SchedWaits { wait_ns: record.get(delay), timeslices: record.get(count) };
            *process.seldom.get_or_insert_default().schedstat.renew(now) = waits;
        }
        // The kernel updates both peaks only before a size decreases. `status` therefore prints the larger of
        // peak and current size, and so does this.
        if let (Some(places), Some([file, anonymous, shared])) = (&self.status, resident) {
            let vm = pages(places.vm);
            let in_memory = file.saturating_add(anonymous).saturating_add(shared);
            // Without memory, `status` has none of these lines.
            let kib = |pages: u64| (vm != 0).then(|| Ok(units.kib(pages)));
            let numbers = [
                Some(Ok(record.get(places.user))),
                kib(vm.max(pages(places.peak_vm))),
                kib(in_memory.max(pages(places.peak_resident))),
                kib(anonymous),
                kib(pages(places.swap)),
                Some(Ok(record.get(places.voluntary))),
                Some(Ok(record.get(places.involuntary))),
            ];
            process.seldom.get_or_insert_default().status.renew(now).set(numbers);
        }
        whole
    }
}

/// Copies the thread iterator's records, each to the process of its thread.
pub(super) fn threads(
    records: &Records<'_>,
    units: ProcUnits,
    table: &mut ProcessTable,
    now: CollectionTime,
) {
    let place = |column| records.place(column);
    let (Some(tid), Some(tgid), Some(start), Some(runtime), Some(places)) = (
        place(Column::Pid),
        place(Column::Tgid),
        place(Column::Start),
        place(Column::Runtime),
        StatPlaces::new(records),
    ) else {
        return;
    };
    let waits = place(Column::RunDelay).zip(place(Column::RunCount));
    let mut last = None;
    for record in records.iter() {
        let Some((at, process)) = table.find(number(&record, tgid), last) else { continue };
        last = Some(at);
        let tid = number(&record, tid);
        let times = (record.get(start), record.get(runtime));
        if tid == process.pid && !process.started(units.ticks(times.0)) {
            continue; // another process since
        }
        let stat = places.stat(&record, times, units);
        let schedstat = match waits {
            Some((delay, count)) => {
                Ok(SchedStat { run_ns: times.1, wait_ns: record.get(delay), timeslices: record.get(count) })
            }
            None => Err(no_schedstat()),
        };
        let part = &mut process.seldom.get_or_insert_default().threads;
        let threads = part.renew(now);
        let place = match threads.binary_search_by_key(&tid, |thread| thread.tid) {
            Ok(place) => place,
            Err(place) => {
                threads.insert(place, Thread::new(tid));
                place
            }
        };
        if let Some(thread) = threads.get_mut(place) {
            thread.store(Ok(stat), schedstat, now);
        }
    }
    for process in &mut table.processes {
        let Some(seldom) = process.seldom.as_deref_mut().filter(|seldom| seldom.threads.is_new(now)) else {
            continue;
        };
        seldom.threads.value.retain(|thread| thread.is_of(now)); // the others have ended
    }
}

fn no_schedstat() -> NoValue {
    unavailable("this kernel does not report it")
}

/// Returns a number of four bytes from a task iterator's record.
fn number(record: &Record<'_>, place: ColumnOffset) -> u32 {
    u32::try_from(record.get(place)).unwrap_or(u32::MAX)
}

/// Returns a number of memory pages, at least 0: counts that the kernel keeps per CPU may be below zero for a moment.
fn amount(pages: u64) -> u64 {
    if i64::from_ne_bytes(pages.to_ne_bytes()) < 0 { 0 } else { pages }
}

/// Name of a process, as the kernel stores it in 16 bytes.
#[derive(Clone, Copy)]
struct Comm {
    bytes: [u8; 16],
    len: usize,
}

impl Comm {
    /// Maximum length of a process name in bytes, before the terminating NUL.
    const LONGEST: usize = 15;

    fn of(start: u64, end: u64) -> Self {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(start.to_ne_bytes().into_iter().chain(end.to_ne_bytes())) {
            *to = from;
        }
        let len = bytes.iter().position(|byte| *byte == 0).unwrap_or(Self::LONGEST);
        Self { bytes, len }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// Returns the letter that the file `stat` shows for a process state.
fn state(state: u32, exit_state: u32) -> u8 {
    // `TASK_IDLE`, `TASK_RTLOCK_WAIT` and `TASK_FROZEN` of the kernel, which `/proc` maps to letters in this
    // way.
    const IDLE: u32 = 0x402;
    const LOCK: u32 = 0x1000;
    const FROZEN: u32 = 0x8000;
    if state & IDLE == IDLE {
        return b'I';
    }
    if state & (LOCK | FROZEN) != 0 {
        return b'D';
    }
    match ((state | exit_state) & 0x7F).checked_ilog2() {
        None => b'R',
        Some(0) => b'S',
        Some(1) => b'D',
        Some(2) => b'T',
        Some(3) => b't',
        Some(4) => b'X',
        Some(5) => b'Z',
        Some(_) => b'P',
    }
}

/// Returns the user and kernel times that `/proc/PID/stat` shows, in ns. The measured sum is divided in the ratio of
/// the ticks. Neither time is less than the time that was shown before.
fn shown_times(
    (user, system): (u64, u64),
    runtime: u64,
    (user_shown, system_shown): (u64, u64),
) -> (u64, u64) {
    // The steps are those of the kernel's `cputime_adjust`, in the same order, so that the results are the
    // same.
    if user_shown.saturating_add(system_shown) >= runtime {
        return (user_shown, system_shown);
    }
    let in_kernel = match (user, system) {
        (_, 0) => 0,
        (0, _) => runtime,
        (user, system) => {
            let all = u128::from(user).saturating_add(system.into());
            let share = u128::from(system).saturating_mul(runtime.into()).checked_div(all);
            share.and_then(|share| u64::try_from(share).ok()).unwrap_or(runtime).min(runtime)
        }
    };
    let in_kernel = in_kernel.max(system_shown);
    let in_program = runtime.saturating_sub(in_kernel);
    match in_program < user_shown {
        true => (user_shown, runtime.saturating_sub(user_shown)),
        false => (in_program, in_kernel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states() {
        for (bits, exit, want) in [
            (0, 0, b'R'),
            (1, 0, b'S'),
            (2, 0, b'D'),
            (0x402, 0, b'I'),
            (4, 0, b'T'),
            (0x104, 0, b'T'),
            (8, 0, b't'),
            (0x80, 0x10, b'X'),
            (0x80, 0x20, b'Z'),
            (0x40, 0, b'P'),
            (0x1000, 0, b'D'),
            (0x8000, 0, b'D'),
            (0x2000, 0, b'R'),
        ] {
            assert_eq!(char::from(state(bits, exit)), char::from(want), "{bits:#x} {exit:#x}");
        }
    }

    #[test]
    fn times_of_program_and_kernel() {
        for (name, ticks, runtime, shown, want) in [
            ("nothing yet", (0, 0), 0, (0, 0), (0, 0)),
            ("too short for a tick", (0, 0), 700, (0, 0), (700, 0)),
            ("all in the program", (30, 0), 700, (0, 0), (700, 0)),
            ("all in the kernel", (0, 30), 700, (0, 0), (0, 700)),
            ("a third in the kernel", (20, 10), 900, (0, 0), (600, 300)),
            ("the same as before", (20, 10), 900, (500, 400), (500, 400)),
            ("no less in the kernel", (20, 10), 900, (100, 400), (500, 400)),
            ("no less in the program", (0, 30), 900, (800, 50), (800, 100)),
            ("large", (1 << 62, 1 << 62), 1 << 63, (0, 0), (1 << 62, 1 << 62)),
        ] {
            assert_eq!(shown_times(ticks, runtime, shown), want, "{name}");
        }
    }

    #[test]
    fn names() {
        let word = |text: &[u8; 8]| u64::from_ne_bytes(*text);
        for (start, end, want) in [
            (b"bash\0\0\0\0", b"\0\0\0\0\0\0\0\0", "bash"),
            (b"12345678", b"9abcdef\0", "123456789abcdef"),
            (b"12345678", b"9abcdefg", "123456789abcdef"), // without its NUL, for a moment
            (b"\0old\0\0\0\0", b"\0\0\0\0\0\0\0\0", ""),
        ] {
            assert_eq!(Comm::of(word(start), word(end)).bytes(), want.as_bytes());
        }
    }

    #[test]
    fn negative_per_cpu_sum_is_zero() {
        assert_eq!([0, 7, u64::MAX, 1 << 63].map(amount), [0, 7, 0, 0]);
    }
}
