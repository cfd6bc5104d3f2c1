//! Columns of task records: numbers about a process or thread, and their location in the kernel's structures.

use std::ops::BitOr;

/// Column of a task record: a number that describes a process or thread.
///
/// **Units**: times in ns, memory sizes in pages, all others as the kernel stores them. For a process, CPU times,
/// faults, and bytes and calls of I/O are sums over all its threads, including ended ones. Everything else is that of
/// its first thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Column {
    /// Id of the process or thread, in the first PID namespace.
    Pid,
    /// Id of the process that a thread belongs to.
    Tgid,
    /// Task flags of the process or thread: the kernel's `PF_*`.
    Flags,
    /// Start time of the process or thread, counted from the start of the machine, including sleep.
    Start,
    /// First half of the command name of the process or thread: 8 bytes.
    Name,
    /// Second half of the command name of the process or thread: 8 bytes.
    NameEnd,
    /// Time that the process or thread spent running on a processor.
    Runtime,
    /// Scheduling state of a thread: the kernel's `TASK_*`.
    State,
    /// Exit state of a thread, not 0 after its end: the kernel's `EXIT_*`.
    ExitState,
    /// Id of the parent process.
    Parent,
    /// Static priority of the process or thread: `nice` plus 120.
    StaticPriority,
    /// Real-time priority of the process or thread: 1 to 99, or 0 if there is none.
    RealTimePriority,
    /// Scheduling policy of the process or thread: the kernel's `SCHED_*`.
    Policy,
    /// Number of threads of the process.
    Threads,
    /// Time that the process or thread spent in user mode, as counted at ticks.
    UserTime,
    /// Time that the process or thread spent in kernel mode, as counted at ticks.
    SystemTime,
    /// Time of the process or thread in user mode that the kernel last reported to any reader.
    UserTimeShown,
    /// Time of the process or thread in kernel mode that the kernel last reported to any reader.
    SystemTimeShown,
    /// Number of page faults of the process or thread that read nothing from disk.
    MinorFaults,
    /// Number of page faults of the process or thread that read from disk.
    MajorFaults,
    /// Id of the session that the process belongs to, in the first PID namespace.
    Session,
    /// Time that the process or thread spent waiting for block I/O.
    BlockDelay,
    /// Number of bytes that the process or thread read from any source, not only from storage.
    ReadChars,
    /// Number of bytes that the process or thread wrote to any target, not only to storage.
    WriteChars,
    /// Number of system calls that the process or thread made to read.
    ReadCalls,
    /// Number of system calls that the process or thread made to write.
    WriteCalls,
    /// Number of bytes that the process or thread read from storage.
    ReadBytes,
    /// Number of bytes of the process or thread that were to be written to storage.
    WriteBytes,
    /// Part of [`WriteBytes`](Self::WriteBytes) that was never written.
    CancelledWriteBytes,
    /// User id of the process's owner: the real user.
    User,
    /// Number of times that the task gave up a processor.
    VoluntarySwitches,
    /// Number of times that a processor was taken from the task.
    InvoluntarySwitches,
    /// Time that runnable threads spent waiting for a processor.
    RunDelay,
    /// Number of times that the task was given a processor.
    RunCount,
    /// Virtual memory of a process: all memory with an address in it.
    TotalVm,
    /// Largest virtual memory of a process that the kernel has stored; the kernel updates it late, so
    /// [`TotalVm`](Self::TotalVm) may be larger.
    PeakVm,
    /// Largest resident memory of a process that the kernel has stored; the kernel updates it late, so the current
    /// one may be larger.
    PeakResident,
    /// Resident memory of a process that belongs to files.
    FilePages,
    /// Resident memory of a process that belongs to no file (anonymous).
    AnonymousPages,
    /// Memory of a process that was moved to disk (swap).
    SwapPages,
    /// Resident memory of a process that is shared.
    SharedPages,
    /// Number of threads of a process that the iterator met and added to the sums of the process.
    ThreadsMet,
    /// Flag that is 1 if a thread of the process is executing a program and takes the place and id of the first
    /// thread, or else 0.
    Executing,
    /// Sequence counter of a process, which changes when its threads end.
    Sequence,
    /// Sequence counter of a process, read again after the other columns.
    SequenceEnd,
    /// Flag that is 1 if the process lost its memory while the record was written, or else 0.
    MemoryGone,
}

/// Kernel structure that the members on the way to the value of a task record's column begin at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartStruct {
    Task,
    Signal,
    /// Signal structure for a process, task structure for a thread.
    SignalOrTask,
    Memory,
    /// Structure behind a pointer of the kernel. Contains the structure that has the pointer (task or signal), the
    /// pointer's path, and the structure that it points to.
    Pointer(&'static str, &'static str, &'static str),
    /// No kernel structure: the BPF program computes the column's number.
    Made,
}

/// Definition of a column of task records that is the same for all kernels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition {
    pub from: StartStruct,
    /// Alternative paths of the column's field in its kernel structure; the first one that exists is used.
    pub paths: &'static [&'static str],
    /// Path of the column's sum over ended threads, in the signal structure.
    pub ended: Option<&'static str>,
    /// `true` if the column takes eight bytes of a task record, `false` if four.
    pub is_wide: bool,
}

impl Column {
    /// All columns of task records, in the order of their definition.
    pub const ALL: [Self; 46] = [
        Self::Pid,
        Self::Tgid,
        Self::Flags,
        Self::Start,
        Self::Name,
        Self::NameEnd,
        Self::Runtime,
        Self::State,
        Self::ExitState,
        Self::Parent,
        Self::StaticPriority,
        Self::RealTimePriority,
        Self::Policy,
        Self::Threads,
        Self::UserTime,
        Self::SystemTime,
        Self::UserTimeShown,
        Self::SystemTimeShown,
        Self::MinorFaults,
        Self::MajorFaults,
        Self::Session,
        Self::BlockDelay,
        Self::ReadChars,
        Self::WriteChars,
        Self::ReadCalls,
        Self::WriteCalls,
        Self::ReadBytes,
        Self::WriteBytes,
        Self::CancelledWriteBytes,
        Self::User,
        Self::VoluntarySwitches,
        Self::InvoluntarySwitches,
        Self::RunDelay,
        Self::RunCount,
        Self::TotalVm,
        Self::PeakVm,
        Self::PeakResident,
        Self::FilePages,
        Self::AnonymousPages,
        Self::SwapPages,
        Self::SharedPages,
        Self::ThreadsMet,
        Self::Executing,
        Self::Sequence,
        Self::SequenceEnd,
        Self::MemoryGone,
    ];

    #[expect(clippy::as_conversions, reason = "the number of a variant")]
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    pub(crate) fn definition(self) -> Definition {
        const fn one(from: StartStruct, paths: &'static [&'static str], is_wide: bool) -> Definition {
            Definition { from, paths, ended: None, is_wide }
        }
        const fn sum(paths: &'static [&'static str], ended: &'static str) -> Definition {
            Definition { from: StartStruct::Task, paths, ended: Some(ended), is_wide: true }
        }
        // `seqlock_t` contains a `seqcount_spinlock_t`, in older kernels a `seqcount_t`.
        const SEQUENCE: &[&str] = &["stats_lock.seqcount.seqcount.sequence", "stats_lock.seqcount.sequence"];
        // Of several paths, the first that a kernel has is read: fields were moved or renamed, newer names first.
        match self {
            Self::Pid => one(StartStruct::Task, &["pid"], false),
            Self::Tgid => one(StartStruct::Task, &["tgid"], false),
            Self::Flags => one(StartStruct::Task, &["flags"], false),
            Self::Start => one(StartStruct::Task, &["start_boottime", "real_start_time"], true),
            Self::Name | Self::NameEnd => one(StartStruct::Task, &["comm"], true),
            // The counts of ended threads are in `signal_struct`, so a process's sum needs both.
            Self::Runtime => sum(&["se.sum_exec_runtime"], "sum_sched_runtime"),
            Self::State => one(StartStruct::Task, &["__state", "state"], false),
            Self::ExitState => one(StartStruct::Task, &["exit_state"], false),
            Self::Parent => {
                one(StartStruct::Pointer("task_struct", "real_parent", "task_struct"), &["tgid"], false)
            }
            Self::StaticPriority => one(StartStruct::Task, &["static_prio"], false),
            Self::RealTimePriority => one(StartStruct::Task, &["rt_priority"], false),
            Self::Policy => one(StartStruct::Task, &["policy"], false),
            Self::Threads => one(StartStruct::Signal, &["nr_threads"], false),
            Self::UserTime => sum(&["utime"], "utime"),
            Self::SystemTime => sum(&["stime"], "stime"),
            // The times as `/proc` shows them: the kernel scales them so that neither ever falls.
            Self::UserTimeShown => one(StartStruct::SignalOrTask, &["prev_cputime.utime"], true),
            Self::SystemTimeShown => one(StartStruct::SignalOrTask, &["prev_cputime.stime"], true),
            Self::MinorFaults => sum(&["min_flt"], "min_flt"),
            Self::MajorFaults => sum(&["maj_flt"], "maj_flt"),
            // `PIDTYPE_SID` is 3, and the first number of a `struct pid` is that in the first PID namespace.
            Self::Session => {
                one(StartStruct::Pointer("signal_struct", "pids[3]", "pid"), &["numbers[0].nr"], false)
            }
            Self::BlockDelay => {
                one(StartStruct::Pointer("task_struct", "delays", "task_delay_info"), &["blkio_delay"], true)
            }
            Self::ReadChars => sum(&["ioac.rchar"], "ioac.rchar"),
            Self::WriteChars => sum(&["ioac.wchar"], "ioac.wchar"),
            Self::ReadCalls => sum(&["ioac.syscr"], "ioac.syscr"),
            Self::WriteCalls => sum(&["ioac.syscw"], "ioac.syscw"),
            Self::ReadBytes => sum(&["ioac.read_bytes"], "ioac.read_bytes"),
            Self::WriteBytes => sum(&["ioac.write_bytes"], "ioac.write_bytes"),
            Self::CancelledWriteBytes => sum(&["ioac.cancelled_write_bytes"], "ioac.cancelled_write_bytes"),
            Self::User => one(StartStruct::Pointer("task_struct", "real_cred", "cred"), &["uid"], false),
            Self::VoluntarySwitches => one(StartStruct::Task, &["nvcsw"], true),
            Self::InvoluntarySwitches => one(StartStruct::Task, &["nivcsw"], true),
            Self::RunDelay => one(StartStruct::Task, &["sched_info.run_delay"], true),
            Self::RunCount => one(StartStruct::Task, &["sched_info.pcount"], true),
            Self::TotalVm => one(StartStruct::Memory, &["total_vm"], true),
            Self::PeakVm => one(StartStruct::Memory, &["hiwater_vm"], true),
            Self::PeakResident => one(StartStruct::Memory, &["hiwater_rss"], true),
            // The indexes are `MM_FILEPAGES`, `MM_ANONPAGES`, `MM_SWAPENTS` and `MM_SHMEMPAGES`. Newer
            // kernels have an array of `percpu_counter`, older ones a structure with an array of atomic
            // numbers.
            Self::FilePages => {
                one(StartStruct::Memory, &["rss_stat[0].count", "rss_stat.count[0].counter"], true)
            }
            Self::AnonymousPages => {
                one(StartStruct::Memory, &["rss_stat[1].count", "rss_stat.count[1].counter"], true)
            }
            Self::SwapPages => {
                one(StartStruct::Memory, &["rss_stat[2].count", "rss_stat.count[2].counter"], true)
            }
            Self::SharedPages => {
                one(StartStruct::Memory, &["rss_stat[3].count", "rss_stat.count[3].counter"], true)
            }
            Self::Executing => one(StartStruct::Signal, &["group_exec_task", "group_exit_task"], false),
            Self::Sequence => one(StartStruct::Signal, SEQUENCE, false),
            Self::ThreadsMet | Self::SequenceEnd | Self::MemoryGone => one(StartStruct::Made, &[], false),
        }
    }

    /// Returns the index of this column among the four memory counters in `rss_stat`; `None` for other columns.
    pub(crate) fn part_of_memory(self) -> Option<usize> {
        let parts = [Self::FilePages, Self::AnonymousPages, Self::SwapPages, Self::SharedPages];
        parts.iter().position(|part| *part == self)
    }
}

/// Set of columns that a task record contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnSet(u64);

impl ColumnSet {
    /// Column set without any column.
    pub const NONE: Self = Self(0);

    /// Returns the set of the given columns of task records.
    #[must_use]
    pub fn new(columns: &[Column]) -> Self {
        columns.iter().fold(Self::NONE, |all, column| all | Self::from(*column))
    }

    /// Returns `true` if this set contains all columns of `others`.
    #[must_use]
    pub fn contain(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns this column set without the columns of `others`.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Returns the number of columns in this column set.
    #[must_use]
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Returns the columns of this column set, in the order of their definition.
    pub fn iter(self) -> impl Iterator<Item = Column> {
        Column::ALL.into_iter().filter(move |column| self.contain((*column).into()))
    }
}

impl std::convert::From<Column> for ColumnSet {
    fn from(column: Column) -> Self {
        let bit = u32::try_from(column.index()).ok().and_then(|place| 1_u64.checked_shl(place));
        Self(bit.unwrap_or(0))
    }
}

impl BitOr for ColumnSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_its_place_and_bit() {
        for (place, column) in Column::ALL.into_iter().enumerate() {
            assert_eq!(column.index(), place);
            assert_eq!(ColumnSet::from(column).iter().collect::<Vec<_>>(), [column]);
        }
        let all = ColumnSet::new(&Column::ALL);
        assert_eq!(all.count(), 46);
        assert!(all.contain(ColumnSet::new(&[Column::Pid, Column::MemoryGone])));
        assert!(!ColumnSet::NONE.contain(Column::Pid.into()));
    }
}
