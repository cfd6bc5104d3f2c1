//! Columns in the records of a BPF task iterator that replace each file of a process.

use perfset_bpf::{Column, ColumnSet, Kernel};

use super::super::table::FileSet;

/// Columns of a task iterator that identify a process, and the column of its processor time.
const BASE: [Column; 6] =
    [Column::Pid, Column::Flags, Column::Start, Column::Name, Column::NameEnd, Column::Runtime];
const STAT: [Column; 12] = [
    Column::State,
    Column::ExitState,
    Column::Parent,
    Column::StaticPriority,
    Column::RealTimePriority,
    Column::Policy,
    Column::Threads,
    Column::UserTime,
    Column::SystemTime,
    Column::MinorFaults,
    Column::MajorFaults,
    Column::TotalVm,
];
/// Columns of a task iterator with the user and kernel time that the kernel last reported to any reader; some kernels
/// lack both.
const SHOWN: [Column; 2] = [Column::UserTimeShown, Column::SystemTimeShown];
const RARE: [Column; 2] = [Column::Session, Column::BlockDelay];
const RESIDENT: [Column; 3] = [Column::FilePages, Column::AnonymousPages, Column::SharedPages];
const IO: [Column; 7] = [
    Column::ReadChars,
    Column::WriteChars,
    Column::ReadCalls,
    Column::WriteCalls,
    Column::ReadBytes,
    Column::WriteBytes,
    Column::CancelledWriteBytes,
];
const STATUS: [Column; 9] = [
    Column::User,
    Column::VoluntarySwitches,
    Column::InvoluntarySwitches,
    Column::TotalVm,
    Column::PeakVm,
    Column::PeakResident,
    Column::FilePages,
    Column::AnonymousPages,
    Column::SharedPages,
];
const SCHEDSTAT: [Column; 2] = [Column::RunDelay, Column::RunCount];

/// Returns the files of a process that a task iterator can replace, with the columns that each file needs.
fn walked() -> [(FileSet, ColumnSet); 6] {
    [
        (FileSet::STAT, ColumnSet::new(&STAT)),
        (FileSet::RARE, ColumnSet::new(&RARE)),
        (FileSet::STATM, ColumnSet::new(&RESIDENT)),
        (FileSet::IO, ColumnSet::new(&IO)),
        (FileSet::STATUS, ColumnSet::new(&STATUS) | Column::SwapPages.into()),
        (FileSet::SCHEDSTAT, ColumnSet::new(&SCHEDSTAT)),
    ]
}

/// Returns the files of a process that task iterators replace on this kernel. `roughly`: `true` if the iterator
/// counts resident memory less exactly than the files.
pub(super) fn provides(kernel: &Kernel, roughly: bool) -> FileSet {
    let is_exact = |part: &FileSet| !roughly || *part != FileSet::STATM && *part != FileSet::STATUS;
    let walked = walked().into_iter();
    let there = walked.filter(|(part, columns)| is_exact(part) && kernel.has(*columns) == *columns);
    there.fold(FileSet::NONE, |all, (part, _)| all | part)
}

/// Returns the columns that a task iterator needs to replace the files `parts` of a process.
pub(super) fn columns_of(parts: FileSet, roughly: bool) -> ColumnSet {
    let asked = walked().into_iter().filter(|(part, _)| parts.has(*part));
    let mut columns = asked.fold(ColumnSet::new(&BASE), |all, (_, columns)| all | columns);
    if parts.has(FileSet::STAT) {
        columns = columns | ColumnSet::new(&SHOWN);
        if roughly {
            columns = columns | ColumnSet::new(&RESIDENT); // as `stat` counts them
        }
    }
    columns
}

pub(super) fn columns_of_threads() -> ColumnSet {
    ColumnSet::new(&[
        Column::Tgid,
        Column::Start,
        Column::Runtime,
        Column::State,
        Column::ExitState,
        Column::StaticPriority,
        Column::RealTimePriority,
        Column::Policy,
        Column::UserTime,
        Column::SystemTime,
        Column::RunDelay,
        Column::RunCount,
    ]) | ColumnSet::new(&SHOWN)
}
