//! What can be had of a process or thread, and where the kernel has it.

use std::ops::BitOr;

/// One number of a process or thread.
///
/// **Units**: times in ns, sizes of memory in pages, all others as the kernel has them. Of a process, times, faults and
/// what was read and written are those of all its threads, also of ended ones; everything else is that of its first
/// thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Column {
    /// Its number, in the first PID namespace.
    Pid,
    /// The number of its process.
    Tgid,
    /// The kernel's `PF_*`.
    Flags,
    /// When it started, since the machine did, sleep included.
    Start,
    /// The first half of its name.
    Name,
    /// The second half of its name.
    NameEnd,
    /// How long it has run.
    Runtime,
    /// What it does: the kernel's `TASK_*`.
    State,
    /// Whether it has ended: the kernel's `EXIT_*`.
    ExitState,
    /// The number of its parent.
    Parent,
    /// `nice` and 120.
    StaticPriority,
    /// 1 to 99, or 0.
    RealTimePriority,
    /// The kernel's `SCHED_*`.
    Policy,
    /// How many threads the process has.
    Threads,
    /// Time in the program, as counted at ticks.
    UserTime,
    /// Time in the kernel, as counted at ticks.
    SystemTime,
    /// Time in the program that was last shown to anybody.
    UserTimeShown,
    /// Time in the kernel that was last shown to anybody.
    SystemTimeShown,
    /// Page faults that read nothing from disk.
    MinorFaults,
    /// Page faults that did.
    MajorFaults,
    /// The number of its session, in the first PID namespace.
    Session,
    /// How long it waited for blocks.
    BlockDelay,
    /// Bytes that were read, of anything.
    ReadChars,
    /// Bytes that were written, to anything.
    WriteChars,
    /// Calls that read.
    ReadCalls,
    /// Calls that write.
    WriteCalls,
    /// Bytes that were read from storage.
    ReadBytes,
    /// Bytes that were to be written to storage.
    WriteBytes,
    /// Of these, bytes that never were.
    CancelledWriteBytes,
    /// Who owns it: the real user.
    User,
    /// How often it gave up a processor.
    VoluntarySwitches,
    /// How often one was taken from it.
    InvoluntarySwitches,
    /// How long it waited for a processor.
    RunDelay,
    /// How often it was given one.
    RunCount,
    /// Memory that it has addresses for.
    TotalVm,
    /// The most of that, unless [`TotalVm`](Self::TotalVm) is more.
    PeakVm,
    /// The most that was in memory, unless more is now.
    PeakResident,
    /// In memory: of files.
    FilePages,
    /// In memory: of no file.
    AnonymousPages,
    /// Not in memory but on disk.
    SwapPages,
    /// In memory: shared.
    SharedPages,
    /// Of a process, how many of its threads were met and added to its sums.
    ThreadsMet,
    /// Whether one of its threads is executing a program and takes the first one's place and number.
    Executing,
    /// Changes when threads end.
    Sequence,
    /// The same, at the end.
    SequenceEnd,
    /// Whether its memory went away meanwhile.
    MemoryGone,
}

/// The structure that a path begins in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Task,
    Signal,
    /// That of a process, or the task of a thread.
    SignalOrTask,
    Memory,
    /// What a pointer in the task or in its signals leads to: the pointer, and the structure there.
    Pointer(&'static str, &'static str, &'static str),
    /// No structure: the program makes it.
    Made,
}

/// What is known of a column before the kernel is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition {
    pub from: From,
    /// The first that there is counts.
    pub paths: &'static [&'static str],
    /// Where the structure of signals has the sum of ended threads.
    pub ended: Option<&'static str>,
    /// Whether it takes eight bytes of a record, or four.
    pub is_wide: bool,
}

impl Column {
    /// All of them.
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
    pub(crate) fn place(self) -> usize {
        self as usize
    }

    pub(crate) fn definition(self) -> Definition {
        const fn one(from: From, paths: &'static [&'static str], is_wide: bool) -> Definition {
            Definition { from, paths, ended: None, is_wide }
        }
        const fn sum(paths: &'static [&'static str], ended: &'static str) -> Definition {
            Definition { from: From::Task, paths, ended: Some(ended), is_wide: true }
        }
        const SEQUENCE: &[&str] = &["stats_lock.seqcount.seqcount.sequence", "stats_lock.seqcount.sequence"];
        match self {
            Self::Pid => one(From::Task, &["pid"], false),
            Self::Tgid => one(From::Task, &["tgid"], false),
            Self::Flags => one(From::Task, &["flags"], false),
            Self::Start => one(From::Task, &["start_boottime", "real_start_time"], true),
            Self::Name | Self::NameEnd => one(From::Task, &["comm"], true),
            Self::Runtime => sum(&["se.sum_exec_runtime"], "sum_sched_runtime"),
            Self::State => one(From::Task, &["__state", "state"], false),
            Self::ExitState => one(From::Task, &["exit_state"], false),
            Self::Parent => one(From::Pointer("task_struct", "real_parent", "task_struct"), &["tgid"], false),
            Self::StaticPriority => one(From::Task, &["static_prio"], false),
            Self::RealTimePriority => one(From::Task, &["rt_priority"], false),
            Self::Policy => one(From::Task, &["policy"], false),
            Self::Threads => one(From::Signal, &["nr_threads"], false),
            Self::UserTime => sum(&["utime"], "utime"),
            Self::SystemTime => sum(&["stime"], "stime"),
            Self::UserTimeShown => one(From::SignalOrTask, &["prev_cputime.utime"], true),
            Self::SystemTimeShown => one(From::SignalOrTask, &["prev_cputime.stime"], true),
            Self::MinorFaults => sum(&["min_flt"], "min_flt"),
            Self::MajorFaults => sum(&["maj_flt"], "maj_flt"),
            Self::Session => one(From::Pointer("signal_struct", "pids[3]", "pid"), &["numbers[0].nr"], false),
            Self::BlockDelay => {
                one(From::Pointer("task_struct", "delays", "task_delay_info"), &["blkio_delay"], true)
            }
            Self::ReadChars => sum(&["ioac.rchar"], "ioac.rchar"),
            Self::WriteChars => sum(&["ioac.wchar"], "ioac.wchar"),
            Self::ReadCalls => sum(&["ioac.syscr"], "ioac.syscr"),
            Self::WriteCalls => sum(&["ioac.syscw"], "ioac.syscw"),
            Self::ReadBytes => sum(&["ioac.read_bytes"], "ioac.read_bytes"),
            Self::WriteBytes => sum(&["ioac.write_bytes"], "ioac.write_bytes"),
            Self::CancelledWriteBytes => sum(&["ioac.cancelled_write_bytes"], "ioac.cancelled_write_bytes"),
            Self::User => one(From::Pointer("task_struct", "real_cred", "cred"), &["uid"], false),
            Self::VoluntarySwitches => one(From::Task, &["nvcsw"], true),
            Self::InvoluntarySwitches => one(From::Task, &["nivcsw"], true),
            Self::RunDelay => one(From::Task, &["sched_info.run_delay"], true),
            Self::RunCount => one(From::Task, &["sched_info.pcount"], true),
            Self::TotalVm => one(From::Memory, &["total_vm"], true),
            Self::PeakVm => one(From::Memory, &["hiwater_vm"], true),
            Self::PeakResident => one(From::Memory, &["hiwater_rss"], true),
            Self::FilePages => one(From::Memory, &["rss_stat[0].count", "rss_stat.count[0].counter"], true),
            Self::AnonymousPages => {
                one(From::Memory, &["rss_stat[1].count", "rss_stat.count[1].counter"], true)
            }
            Self::SwapPages => one(From::Memory, &["rss_stat[2].count", "rss_stat.count[2].counter"], true),
            Self::SharedPages => one(From::Memory, &["rss_stat[3].count", "rss_stat.count[3].counter"], true),
            Self::Executing => one(From::Signal, &["group_exec_task", "group_exit_task"], false),
            Self::Sequence => one(From::Signal, SEQUENCE, false),
            Self::ThreadsMet | Self::SequenceEnd | Self::MemoryGone => one(From::Made, &[], false),
        }
    }

    /// Of the four parts of what is in memory, which one it is.
    pub(crate) fn part_of_memory(self) -> Option<usize> {
        let parts = [Self::FilePages, Self::AnonymousPages, Self::SwapPages, Self::SharedPages];
        parts.iter().position(|part| *part == self)
    }
}

/// Several columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns(u64);

impl Columns {
    /// None.
    pub const NONE: Self = Self(0);

    /// Those.
    #[must_use]
    pub fn of(columns: &[Column]) -> Self {
        columns.iter().fold(Self::NONE, |all, column| all | Self::from(*column))
    }

    /// Whether all of others are among them.
    #[must_use]
    pub fn contain(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// These, but not the others.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// How many they are.
    #[must_use]
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Each, in the order of their definition.
    pub fn iter(self) -> impl Iterator<Item = Column> {
        Column::ALL.into_iter().filter(move |column| self.contain((*column).into()))
    }
}

impl std::convert::From<Column> for Columns {
    fn from(column: Column) -> Self {
        let bit = u32::try_from(column.place()).ok().and_then(|place| 1_u64.checked_shl(place));
        Self(bit.unwrap_or(0))
    }
}

impl BitOr for Columns {
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
            assert_eq!(column.place(), place);
            assert_eq!(Columns::from(column).iter().collect::<Vec<_>>(), [column]);
        }
        let all = Columns::of(&Column::ALL);
        assert_eq!(all.count(), 46);
        assert!(all.contain(Columns::of(&[Column::Pid, Column::MemoryGone])));
        assert!(!Columns::NONE.contain(Column::Pid.into()));
    }
}
