//! Counters of processes: the files that each counter needs, and its value.

use perfset_catalogue::{linux_process, process, process_v2};
use perfset_core::{Birth, CounterId, Guid, Mark, NoValue};

use super::table::{FileSet, ProcessEntry, RareFields};
use crate::provider::{MarkedRaw, unavailable};
use crate::sources::pid::stat::Stat;
use crate::sources::text::TextError;

/// Quantity of a process that a counter displays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessField {
    ProcessorTime,
    UserTime,
    PrivilegedTime,
    VirtualBytes,
    VirtualBytesPeak,
    PageFaults,
    MinorFaults,
    MajorFaults,
    WorkingSet,
    WorkingSetPeak,
    WorkingSetPrivate,
    PrivateBytes,
    SwapBytes,
    ProportionalSetBytes,
    ThreadCount,
    PriorityBase,
    ElapsedTime,
    ProcessId,
    CreatingProcessId,
    SessionId,
    UserId,
    HandleCount,
    Io(IoLine),
    IoDataOperations,
    IoDataBytes,
    RunQueueWaitTime,
    Timeslices,
    VoluntaryContextSwitches,
    InvoluntaryContextSwitches,
    BlockIoDelay,
    OomScore,
    Never(&'static str),
}

/// Line of `/proc/PID/io`, as an index in the parsed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IoLine(usize);

impl IoLine {
    const RCHAR: Self = Self(0);
    const WCHAR: Self = Self(1);
    const SYSCR: Self = Self(2);
    const SYSCW: Self = Self(3);
    const READ_BYTES: Self = Self(4);
    const WRITE_BYTES: Self = Self(5);
    const CANCELLED_WRITE_BYTES: Self = Self(6);
}

/// Line of `/proc/PID/status`, as an index in the parsed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StatusLine(usize);

impl StatusLine {
    const UID: Self = Self(0);
    const VM_PEAK: Self = Self(1);
    const VM_HWM: Self = Self(2);
    const RSS_ANON: Self = Self(3);
    const VM_SWAP: Self = Self(4);
    const VOLUNTARY_CTXT_SWITCHES: Self = Self(5);
    const NONVOLUNTARY_CTXT_SWITCHES: Self = Self(6);
}

/// Units and settings of the machine, used to compute values of processes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    /// Clock ticks per second, the unit of times in `/proc/PID/stat`.
    pub(super) clock_ticks: u64,
    /// Size of a memory page, in bytes.
    pub(super) page_size: u64,
    /// Start time of the machine, as PerfTime100NSec.
    pub(super) start_100ns: u64,
    /// `true` if the CPU clocks of processes are readable; otherwise processor times come from `/proc/PID/stat`.
    pub(super) clocks: bool,
    /// `true` if the kernel measures how long threads wait for block I/O.
    pub(super) delays: bool,
}

impl Units {
    pub(super) fn ticks_to_100ns(self, ticks: u64) -> u64 {
        const UNITS: u128 = 10_000_000; // of 100 ns in a second
        let in_100ns = u128::from(ticks).saturating_mul(UNITS).checked_div(u128::from(self.clock_ticks));
        u64::try_from(in_100ns.unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// Returns the start time of a process or thread as PerfTime100NSec, for adding its counts to a total.
    ///
    /// Without a birth it is 0: the process may have counted before, which must not be added.
    pub(super) fn began_or_before(self, birth: Birth) -> Option<u64> {
        let Some(birth) = birth else { return Some(0) };
        let ticks = birth.get().saturating_sub(1);
        Some(self.start_100ns.saturating_add(self.ticks_to_100ns(ticks)))
    }

    pub(super) fn start_of(self, stat: &Stat) -> u64 {
        self.start_100ns.saturating_add(self.ticks_to_100ns(stat.starttime))
    }
}

impl ProcessField {
    /// Returns the quantity of a process that a counter of one of the countersets displays.
    pub(super) fn for_counter(counterset: Guid, counter: CounterId) -> Self {
        match counterset {
            process_v2::GUID => Self::for_process_v2(counter),
            process::GUID => Self::for_process(counter),
            _ => Self::for_linux_process(counter),
        }
    }

    fn for_process_v2(counter: CounterId) -> Self {
        use process_v2 as id;
        match counter {
            id::PERCENT_PROCESSOR_TIME => Self::ProcessorTime,
            id::PERCENT_USER_TIME => Self::UserTime,
            id::PERCENT_PRIVILEGED_TIME => Self::PrivilegedTime,
            id::VIRTUAL_BYTES_PEAK => Self::VirtualBytesPeak,
            id::VIRTUAL_BYTES => Self::VirtualBytes,
            id::PAGE_FAULTS_PER_SEC => Self::PageFaults,
            id::WORKING_SET_PEAK => Self::WorkingSetPeak,
            id::WORKING_SET => Self::WorkingSet,
            id::PAGE_FILE_BYTES_PEAK => Self::Never("the kernel keeps no such maximum"),
            id::PAGE_FILE_BYTES | id::PRIVATE_BYTES => Self::PrivateBytes,
            id::THREAD_COUNT => Self::ThreadCount,
            id::PRIORITY_BASE => Self::PriorityBase,
            id::ELAPSED_TIME => Self::ElapsedTime,
            id::PROCESS_ID => Self::ProcessId,
            id::CREATING_PROCESS_ID => Self::CreatingProcessId,
            id::POOL_PAGED_BYTES | id::POOL_NONPAGED_BYTES => {
                Self::Never("the kernel does not count its own memory by process")
            }
            id::HANDLE_COUNT => Self::HandleCount,
            id::IO_READ_OPERATIONS_PER_SEC => Self::Io(IoLine::SYSCR),
            id::IO_WRITE_OPERATIONS_PER_SEC => Self::Io(IoLine::SYSCW),
            id::IO_DATA_OPERATIONS_PER_SEC => Self::IoDataOperations,
            id::IO_READ_BYTES_PER_SEC => Self::Io(IoLine::RCHAR),
            id::IO_WRITE_BYTES_PER_SEC => Self::Io(IoLine::WCHAR),
            id::IO_DATA_BYTES_PER_SEC => Self::IoDataBytes,
            id::IO_OTHER_OPERATIONS_PER_SEC | id::IO_OTHER_BYTES_PER_SEC => {
                Self::Never("the kernel counts reads and writes only")
            }
            id::WORKING_SET_PRIVATE => Self::WorkingSetPrivate,
            _ => Self::Never("there is no such counter"),
        }
    }

    /// Returns the field of a process that a counter of Process displays: that of the same-named Process V2 counter.
    /// Only the process id's counter has another name.
    fn for_process(counter: CounterId) -> Self {
        if counter == process::ID_PROCESS {
            return Self::ProcessId;
        }
        let name = process::COUNTERSET.counter(counter).and_then(|counter| counter.name.as_deref());
        let of_v2 = process_v2::COUNTERSET.counters.iter().find(|other| other.name.as_deref() == name);
        of_v2.map_or(Self::Never("there is no such counter"), |other| Self::for_process_v2(other.id))
    }

    fn for_linux_process(counter: CounterId) -> Self {
        use linux_process as id;
        match counter {
            id::STORAGE_READ_BYTES_PER_SEC => Self::Io(IoLine::READ_BYTES),
            id::STORAGE_WRITE_BYTES_PER_SEC => Self::Io(IoLine::WRITE_BYTES),
            id::CANCELLED_WRITE_BYTES_PER_SEC => Self::Io(IoLine::CANCELLED_WRITE_BYTES),
            id::MINOR_FAULTS_PER_SEC => Self::MinorFaults,
            id::MAJOR_FAULTS_PER_SEC => Self::MajorFaults,
            id::SWAP_BYTES => Self::SwapBytes,
            id::PROPORTIONAL_SET_BYTES => Self::ProportionalSetBytes,
            id::PERCENT_RUN_QUEUE_WAIT_TIME => Self::RunQueueWaitTime,
            id::TIMESLICES_PER_SEC => Self::Timeslices,
            id::VOLUNTARY_CONTEXT_SWITCHES_PER_SEC => Self::VoluntaryContextSwitches,
            id::INVOLUNTARY_CONTEXT_SWITCHES_PER_SEC => Self::InvoluntaryContextSwitches,
            id::PERCENT_BLOCK_I_O_DELAY_TIME => Self::BlockIoDelay,
            id::OOM_SCORE => Self::OomScore,
            id::SESSION_ID => Self::SessionId,
            id::USER_ID => Self::UserId,
            _ => Self::Never("there is no such counter"),
        }
    }

    /// Returns the files of a process that are needed for the value of this field.
    pub(super) fn parts(self, units: Units) -> FileSet {
        match self {
            // The CPU clock is known from listing the processes.
            Self::ProcessorTime if units.clocks => FileSet::NONE,
            Self::ProcessId | Self::Never(_) => FileSet::NONE,
            Self::ProcessorTime
            | Self::UserTime
            | Self::PrivilegedTime
            | Self::VirtualBytes
            | Self::PageFaults
            | Self::MinorFaults
            | Self::MajorFaults
            | Self::ThreadCount
            | Self::PriorityBase
            | Self::ElapsedTime
            | Self::CreatingProcessId => FileSet::STAT,
            Self::SessionId | Self::BlockIoDelay => FileSet::STAT | FileSet::RARE,
            // `stat` shows if the process still has memory.
            Self::WorkingSet | Self::WorkingSetPrivate => FileSet::STAT | FileSet::STATM,
            Self::VirtualBytesPeak | Self::WorkingSetPeak | Self::PrivateBytes | Self::SwapBytes => {
                FileSet::STAT | FileSet::STATUS
            }
            Self::ProportionalSetBytes => FileSet::STAT | FileSet::SMAPS_ROLLUP,
            Self::UserId | Self::VoluntaryContextSwitches | Self::InvoluntaryContextSwitches => {
                FileSet::STATUS
            }
            Self::HandleCount => FileSet::FD,
            Self::Io(_) | Self::IoDataOperations | Self::IoDataBytes => FileSet::IO,
            Self::RunQueueWaitTime | Self::Timeslices => FileSet::SCHEDSTAT,
            Self::OomScore => FileSet::OOM_SCORE,
        }
    }

    /// Returns `true` if a sum of the field over all processes is meaningful.
    pub(super) fn adds_up(self) -> bool {
        !matches!(
            self,
            Self::PriorityBase
                | Self::ElapsedTime
                | Self::ProcessId
                | Self::CreatingProcessId
                | Self::SessionId
                | Self::UserId
                | Self::OomScore
                | Self::Never(_)
        )
    }

    /// Returns `true` if the value of this field of a process only grows, `false` if it is a level.
    pub(super) fn is_count(self) -> bool {
        matches!(
            self,
            Self::ProcessorTime
                | Self::UserTime
                | Self::PrivilegedTime
                | Self::PageFaults
                | Self::MinorFaults
                | Self::MajorFaults
                | Self::Io(_)
                | Self::IoDataOperations
                | Self::IoDataBytes
                | Self::RunQueueWaitTime
                | Self::Timeslices
                | Self::VoluntaryContextSwitches
                | Self::InvoluntaryContextSwitches
                | Self::BlockIoDelay
        )
    }

    /// Returns the one or two fields of a process whose sum is this field; a field that is no sum is returned itself.
    /// `_Total` adds them up separately, so that the sum is right there too, even if one of them was kept for longer.
    pub(super) fn summands(self) -> (Self, Option<Self>) {
        match self {
            Self::IoDataOperations => (Self::Io(IoLine::SYSCR), Some(Self::Io(IoLine::SYSCW))),
            Self::IoDataBytes => (Self::Io(IoLine::RCHAR), Some(Self::Io(IoLine::WCHAR))),
            Self::PageFaults => (Self::MinorFaults, Some(Self::MajorFaults)),
            _ => (self, None),
        }
    }

    /// Returns the field's raw value for a process.
    pub(super) fn value(self, of: &ProcessEntry, units: Units) -> Result<MarkedRaw, NoValue> {
        let raw = match self {
            // The CPU clock has ns and needs no file; `stat` has ticks.
            Self::ProcessorTime if units.clocks => {
                return Ok(MarkedRaw::new(of.clock_ns / 100, of.held.then_some(Mark::Held)));
            }
            Self::ProcessorTime => {
                let user = held(of.stat.get()?.utime, of.most_utime, units);
                let privileged = held(of.stat.get()?.stime, of.most_stime, units);
                let raw = user.raw.saturating_add(privileged.raw);
                return Ok(MarkedRaw::new(raw, user.mark.or(privileged.mark)));
            }
            // The kernel's count of either share can fall a little: the most so far is reported, marked
            // `Held`.
            Self::UserTime => return Ok(held(of.stat.get()?.utime, of.most_utime, units)),
            Self::PrivilegedTime => return Ok(held(of.stat.get()?.stime, of.most_stime, units)),
            Self::VirtualBytes => living(of)?.vsize,
            Self::PageFaults => {
                let stat = of.stat.get()?;
                stat.minflt.wrapping_add(stat.majflt)
            }
            Self::MinorFaults => of.stat.get()?.minflt,
            Self::MajorFaults => of.stat.get()?.majflt,
            // A zombie has given up its memory. Its `statm` has zeros, which are no measurement, so `living`
            // comes first.
            Self::WorkingSet => {
                living(of)?;
                of.statm.get()?.resident.saturating_mul(units.page_size)
            }
            Self::WorkingSetPrivate => {
                living(of)?;
                let statm = of.statm.get()?;
                statm.resident.saturating_sub(statm.shared).saturating_mul(units.page_size)
            }
            // `status` has no memory lines for threads of the kernel: these have a reason, not 0.
            Self::VirtualBytesPeak => memory(of, StatusLine::VM_PEAK)?,
            Self::WorkingSetPeak => memory(of, StatusLine::VM_HWM)?,
            Self::SwapBytes => memory(of, StatusLine::VM_SWAP)?,
            Self::PrivateBytes => {
                memory(of, StatusLine::RSS_ANON)?.saturating_add(memory(of, StatusLine::VM_SWAP)?)
            }
            Self::ProportionalSetBytes => {
                if living(of)?.vsize == 0 {
                    return Err(kernel_process());
                }
                let pss =
                    seldom(of)?.smaps_rollup.get()?.get(0).map_err(|text| fault(of, "smaps_rollup", text))?;
                pss.ok_or_else(kernel_process)?.saturating_mul(BYTES_IN_KIB)
            }
            Self::ThreadCount => of.stat.get()?.num_threads.into(),
            Self::PriorityBase => priority_base(of.stat.get()?).into(),
            // A start time, from which the formula of the counter computes the age.
            Self::ElapsedTime => units.start_of(of.stat.get()?),
            Self::ProcessId => of.pid.into(),
            Self::CreatingProcessId => of.stat.get()?.ppid.into(),
            Self::SessionId => of.stat.get()?.session.into(),
            Self::UserId => status(of, StatusLine::UID)?.ok_or_else(no_line)?,
            Self::VoluntaryContextSwitches => {
                status(of, StatusLine::VOLUNTARY_CTXT_SWITCHES)?.ok_or_else(no_line)?
            }
            Self::InvoluntaryContextSwitches => {
                status(of, StatusLine::NONVOLUNTARY_CTXT_SWITCHES)?.ok_or_else(no_line)?
            }
            Self::HandleCount => *seldom(of)?.fd.get()?,
            Self::Io(line) => io(of, line)?,
            Self::IoDataOperations => io(of, IoLine::SYSCR)?.wrapping_add(io(of, IoLine::SYSCW)?),
            Self::IoDataBytes => io(of, IoLine::RCHAR)?.wrapping_add(io(of, IoLine::WCHAR)?),
            Self::RunQueueWaitTime => seldom(of)?.schedstat.get()?.wait_ns / 100,
            Self::Timeslices => seldom(of)?.schedstat.get()?.timeslices,
            // Without delay accounting the field exists and stays 0, which would look like a measurement.
            Self::BlockIoDelay => {
                if !units.delays {
                    return Err(unavailable("the kernel measures it with kernel.task_delayacct=1 only"));
                }
                let ticks = of.stat.get()?.delayacct_blkio_ticks.ok_or_else(no_line)?;
                units.ticks_to_100ns(ticks)
            }
            Self::OomScore => *seldom(of)?.oom_score.get()?,
            Self::Never(why) => return Err(unavailable(why)),
        };
        Ok(raw.into())
    }
}

const BYTES_IN_KIB: u64 = 1_024;

/// Converts a CPU time from ticks to units of 100 ns. If the kernel's count has fallen below `most`, returns `most`,
/// marked `Held`.
pub(super) fn held(ticks: u64, most: u64, units: Units) -> MarkedRaw {
    let mark = (ticks < most).then_some(Mark::Held);
    MarkedRaw::new(units.ticks_to_100ns(ticks.max(most)), mark)
}

/// Returns the parsed `/proc/PID/stat` of a process, if the process has not ended and still has memory.
fn living(of: &ProcessEntry) -> Result<&Stat, NoValue> {
    let stat = of.stat.get()?;
    match stat.num_threads {
        _ if !stat.is_zombie() => Ok(stat),
        0 | 1 => Err(unavailable("the process has ended, and its parent has not taken note of it")),
        _ => Err(unavailable("the first thread of the process has ended, which alone shows its memory")),
    }
}

fn seldom(of: &ProcessEntry) -> Result<&RareFields, NoValue> {
    of.seldom.as_deref().ok_or(NoValue::NotGiven)
}

fn io(of: &ProcessEntry, line: IoLine) -> Result<u64, NoValue> {
    let number = of.io.get()?.get(line.0).map_err(|text| fault(of, "io", text))?;
    number.ok_or_else(no_line)
}

fn status(of: &ProcessEntry, line: StatusLine) -> Result<Option<u64>, NoValue> {
    seldom(of)?.status.get()?.get(line.0).map_err(|text| fault(of, "status", text))
}

/// Returns a memory size from a line of `/proc/PID/status`, in bytes.
fn memory(of: &ProcessEntry, line: StatusLine) -> Result<u64, NoValue> {
    living(of)?;
    Ok(status(of, line)?.ok_or_else(kernel_process)?.saturating_mul(BYTES_IN_KIB))
}

fn no_line() -> NoValue {
    unavailable("this kernel does not report it")
}

fn kernel_process() -> NoValue {
    unavailable("a thread of the kernel has no memory of its own, or this kernel does not report it")
}

/// Returns the reason for a missing value if a line in a file of the process is invalid.
fn fault(of: &ProcessEntry, file: &str, text: &TextError) -> NoValue {
    let TextError { line, expected, found } = text;
    NoValue::Failed(format!("/proc/{}/{file}:{line}: expected {expected}, found {found}", of.pid).into())
}

/// Returns the priority that Windows would give to the process, 0 to 31.
pub(super) fn priority_base(stat: &Stat) -> u8 {
    const FIFO: u8 = 1;
    const RR: u8 = 2;
    const IDLE: u8 = 5;
    const DEADLINE: u8 = 6;
    match stat.policy {
        // Windows has 16 real-time priorities from 16 to 31, Linux 99.
        Some(FIFO | RR) => {
            let priority = u16::from(stat.rt_priority.unwrap_or(0).min(99));
            u8::try_from(priority.saturating_mul(15) / 99).unwrap_or(15).saturating_add(16)
        }
        // On Windows, 0 belongs to the zero page thread alone.
        Some(IDLE) => 1,
        // A deadline task preempts all other tasks.
        Some(DEADLINE) => 31,
        _ => match stat.nice {
            // The five classes of Windows from Idle to High, in the order of nice values.
            10.. => 4,
            1..=9 => 6,
            0 => 8,
            -10..=-1 => 10,
            ..=-11 => 13,
        },
    }
}
