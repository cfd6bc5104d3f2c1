//! BPF task iterators, loaded and ready to run.

use std::ffi::CStr;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::asm::Instruction;
use crate::call::{self, MapType, MapView, ProgramType};
use crate::column::{Column, ColumnSet};
use crate::kernel::Kernel;
use crate::program::{self, HEADER, IterKind, Plan, RecordKind, RecordLayout, RecordOffset};
use crate::protect;

/// Licence of the BPF programs, as one of the strings that the kernel knows. See `LICENSE.md`.
const LICENCE: &CStr = c"Dual MIT/GPL";

/// Parameters of a BPF task iterator.
#[derive(Clone, Copy, Debug)]
pub struct TaskIterRequest<'a> {
    /// Subject of each task record: process or thread.
    pub each: RecordKind,
    /// Kind of BPF iterator that visits the tasks.
    pub way: IterKind,
    /// Columns of each task record; columns that the kernel lacks are left out.
    pub columns: ColumnSet,
    /// Maximum number of task records. With [`IterKind::Classic`], a process takes one for each thread.
    pub room: u32,
    /// Offsets of the CPUs' own memory, for exact numbers of resident memory; `None` if they need not be exact.
    pub offsets: Option<&'a PercpuOffsets>,
}

/// Error while loading or running a task iterator.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskIterError {
    /// The kernel lacks something that the task iterator needs.
    #[error("this kernel or machine lacks something that the BPF task iterator needs")]
    Lacks,
    /// A system call for the task iterator failed.
    #[error("{what} failed")]
    Call {
        /// Description of the action that failed, such as "running the BPF task iterator".
        what: &'static str,
        /// Error of the failed system call.
        source: io::Error,
    },
    /// The kernel rejects the BPF program.
    #[error("the kernel rejects the BPF program{}{said}", if said.is_empty() { "" } else { ": " })]
    Refused {
        /// Last message of the kernel about the rejected BPF program.
        said: String,
        /// Error of the system call that loads the program.
        source: io::Error,
    },
    /// There are more tasks than task records in the output map.
    #[error("the BPF task iterator found {met} tasks, but its output map has room for {room}")]
    Full {
        /// Number of tasks that the iterator has met.
        met: u64,
        /// Number of tasks for which the output map has room.
        room: u32,
    },
    /// The task iterator was loaded by the process from which this one was forked, and which may be using it.
    #[error("the BPF program belongs to the parent process; load it again after fork")]
    Forked,
}

impl TaskIterError {
    /// Returns the operating system's code of the failed call, if there is one.
    #[must_use]
    pub fn os_error(&self) -> Option<i32> {
        match self {
            Self::Call { source, .. } | Self::Refused { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}

fn failed(what: &'static str) -> impl FnOnce(io::Error) -> TaskIterError {
    move |source| TaskIterError::Call { what, source }
}

/// BPF task iterator that can be run again and again.
///
/// Loading takes `CAP_BPF` and `CAP_PERFMON`; running takes no capability. The first load makes this process not
/// dumpable.
#[derive(Debug)]
pub struct TaskIter {
    map: OwnedFd,
    /// File descriptor of the BPF program, or of its link to the iterator.
    runs: OwnedFd,
    view: MapView,
    layout: RecordLayout,
    each: RecordKind,
    way: IterKind,
    room: u32,
    owner: u32,
    /// Pids of processes with the indexes of their task records, used to add up threads.
    leaders: Vec<(u64, usize)>,
}

impl TaskIter {
    /// Builds the BPF program of a task iterator and loads it into the kernel.
    ///
    /// # Errors
    /// If the kernel lacks something or rejects the program, or this process has no permission.
    pub fn load(kernel: &Kernel, request: &TaskIterRequest<'_>) -> Result<Self, TaskIterError> {
        let TaskIterRequest { each, way, columns, room, offsets } = *request;
        let room = room.max(1);
        if size_of::<usize>() != size_of::<u64>() {
            return Err(TaskIterError::Lacks); // pointers in the kernel are taken for eight bytes
        }
        let is_memory = |column: Column| column.definition().from == crate::column::StartStruct::Memory;
        let mut columns = columns | Column::Pid.into();
        if each == RecordKind::Thread {
            columns = columns.without(Column::ThreadsMet.into());
        } else {
            let of_sums = [Column::Threads, Column::ThreadsMet, Column::Sequence, Column::SequenceEnd];
            // Needed to detect a record that is not of one moment, whatever was requested.
            columns = columns | ColumnSet::new(&of_sums);
            if way == IterKind::Classic {
                columns = columns | ColumnSet::new(&[Column::Tgid, Column::Executing]);
            }
        }
        if columns.iter().any(is_memory) {
            columns = columns | Column::MemoryGone.into();
        }
        let columns = kernel.has(columns);
        let layout = RecordLayout::new(columns).ok_or(TaskIterError::Lacks)?;
        // One record more than room: tasks that find no room are written to a spare record.
        let bytes =
            room.checked_add(1).and_then(|records| records.checked_mul(layout.size)?.checked_add(HEADER));
        // Offsets in the map are signed numbers of 32 bits.
        let bytes = bytes.filter(|bytes| i32::try_from(*bytes).is_ok()).ok_or(TaskIterError::Lacks)?;
        let map = call::new_map(MapType::Mapped, bytes)
            .map_err(failed("creating the output map of the BPF task iterator"))?;
        let plan = Plan {
            each,
            way,
            columns,
            layout: &layout,
            room,
            offsets: offsets.map(|offsets| offsets.0.as_slice()),
            map: map.as_raw_fd(),
        };
        let code = program::walk(kernel, plan).ok_or(TaskIterError::Lacks)?;
        let runs = match way {
            IterKind::OpenCoded => load(&code, ProgramType::Called)?,
            IterKind::Classic => {
                let program =
                    load(&code, ProgramType::Iterator(kernel.classic.ok_or(TaskIterError::Lacks)?))?;
                call::link(&program).map_err(failed("attaching the BPF task iterator"))?
            }
        };
        let view = MapView::new(&map, HEADER_BYTES)
            .map_err(failed("mapping the output of the BPF task iterator"))?;
        Ok(Self { map, runs, view, layout, each, way, room, owner: std::process::id(), leaders: Vec::new() })
    }

    /// Visits all tasks once, and returns their task records.
    ///
    /// # Errors
    /// If there are more tasks than room, or a system call fails.
    pub fn run(&mut self) -> Result<Records<'_>, TaskIterError> {
        // Parent and child share the map: both running the program at once would mix their records.
        if self.owner != std::process::id() {
            return Err(TaskIterError::Forked);
        }
        match self.way {
            IterKind::OpenCoded => call::run(&self.runs).map_err(failed("running the BPF task iterator"))?,
            // The open-coded program resets the counter itself; the classic one is called once per task, and
            // cannot.
            IterKind::Classic => {
                if let Some(met) = self.view.words().first() {
                    met.store(0, Relaxed);
                }
                call::iterate(&self.runs).map_err(failed("iterating over the tasks"))?;
            }
        }
        let met = self.view.words().first().map_or(0, |met| met.load(Relaxed));
        let count = u32::try_from(met).ok().filter(|met| *met <= self.room);
        let count = count.ok_or(TaskIterError::Full { met, room: self.room })?;
        self.reach(count)?;
        let count = usize::try_from(count).unwrap_or(0);
        if self.way == IterKind::Classic && self.each == RecordKind::Process {
            self.add_up(count);
        }
        Ok(self.records(count))
    }

    /// Maps the memory of `count` task records and somewhat more, unless it is already mapped.
    fn reach(&mut self, count: u32) -> Result<(), TaskIterError> {
        let bytes = |count: u32| {
            let records = usize::try_from(count.saturating_add(1)).unwrap_or(usize::MAX);
            records.saturating_mul(self.record_bytes()).saturating_add(HEADER_BYTES)
        };
        if self.view.words().len().saturating_mul(WORD) < bytes(count) {
            let most = bytes(self.room);
            // Only what is used is mapped, because mapped pages count as memory of this process.
            let ample = bytes(count.saturating_add(count / 16)).min(most);
            self.view = MapView::new(&self.map, ample)
                .map_err(failed("mapping the output of the BPF task iterator"))?;
        }
        Ok(())
    }

    fn record_bytes(&self) -> usize {
        usize::try_from(self.layout.size).unwrap_or(usize::MAX)
    }

    fn records(&self, count: usize) -> Records<'_> {
        let words = self.record_bytes() / WORD;
        let start = (HEADER_BYTES / WORD).saturating_add(words); // behind that for what had no place
        let end = start.saturating_add(words.saturating_mul(count));
        Records {
            words: self.view.words().get(start..end).unwrap_or_default(),
            size: words.max(1),
            layout: &self.layout,
        }
    }

    /// Adds the task records of threads to those of their processes. If the sequence counter changed between two
    /// threads of a process, the record of the process is made to look torn.
    fn add_up(&mut self, count: usize) {
        let mut leaders = std::mem::take(&mut self.leaders);
        leaders.clear();
        let records = self.records(count);
        let place = |column| records.place(column);
        let (Some(pid), Some(tgid), Some(met)) =
            (place(Column::Pid), place(Column::Tgid), place(Column::ThreadsMet))
        else {
            return;
        };
        let (Some(sequence), Some(end)) = (place(Column::Sequence), place(Column::SequenceEnd)) else {
            return;
        };
        let executing = place(Column::Executing);
        let is_sum = |column: &Column| column.definition().ended.is_some();
        let all = records.all();
        leaders.extend(all.enumerate().filter(|(_, r)| r.get(met) != 0).map(|(at, r)| (r.get(pid), at)));
        leaders.sort_unstable();
        for record in records.all() {
            let of = record.get(tgid);
            if record.get(met) != 0 {
                continue;
            }
            let leader = leaders.binary_search_by_key(&of, |leader| leader.0);
            let leader = leader.ok().and_then(|at| leaders.get(at)).and_then(|(_, at)| records.at(*at));
            let Some(leader) = leader else { continue };
            leader.set(met, leader.get(met).wrapping_add(1));
            if record.get(sequence) != leader.get(sequence) {
                // Any unequal number makes the record torn.
                leader.set(end, !leader.get(sequence));
            }
            if let Some(executing) = executing.filter(|executing| record.get(*executing) != 0) {
                leader.set(executing, 1);
            }
            for column in Column::ALL.iter().filter(|column| is_sum(column)) {
                if let Some(place) = records.place(*column) {
                    leader.set(place, leader.get(place).wrapping_add(record.get(place)));
                }
            }
        }
        self.leaders = leaders;
    }
}

const WORD: usize = 8;
const HEADER_BYTES: usize = 64;
const _: () = assert!(HEADER == 64 && HEADER_BYTES == 64);

/// Loads a BPF program into the kernel. If the kernel rejects it, loads it once more with a log, to get the reason.
///
/// Makes this process not dumpable first, so that other processes of the same user cannot read what the program
/// writes.
fn load(code: &[Instruction], kind: ProgramType) -> Result<OwnedFd, TaskIterError> {
    protect::from_same_user().map_err(failed("making this process not dumpable"))?;
    let source = match call::load(code, kind, LICENCE, &mut []) {
        Ok(program) => return Ok(program),
        Err(source) => source,
    };
    // Without permission the verifier did not run, so there is no log to request.
    if source.kind() == io::ErrorKind::PermissionDenied && source.raw_os_error() == Some(libc::EPERM) {
        return Err(failed("loading the BPF task iterator")(source));
    }
    /// Size of the verifier's log in bytes: enough for the messages on a rejected program of this size.
    const LOG: usize = 4 << 20;
    let mut log = vec![0; LOG];
    let said = match call::load(code, kind, LICENCE, &mut log) {
        Ok(program) => return Ok(program),
        Err(_) => last_said(&log),
    };
    Err(TaskIterError::Refused { said, source })
}

/// Returns the last line of a verifier log that is neither empty nor the statistics.
fn last_said(log: &[u8]) -> String {
    let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut lines = text.rsplit(|byte| *byte == b'\n');
    let says = |line: &&[u8]| !line.is_empty() && !line.starts_with(b"processed ");
    String::from_utf8_lossy(lines.find(says).unwrap_or_default()).into_owned()
}

/// Task records of one run of a task iterator.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    words: &'a [AtomicU64],
    /// Size of a task record in words.
    size: usize,
    layout: &'a RecordLayout,
}

impl<'a> Records<'a> {
    /// Returns the position of a column in each task record; `None` if it was not requested, or the kernel lacks it.
    #[must_use]
    pub fn place(&self, column: Column) -> Option<ColumnOffset> {
        let RecordOffset { offset: at, is_wide } = self.layout.offset(column)?;
        let at = usize::from(at);
        let is_behind = at % WORD != 0;
        let shift = if is_behind == cfg!(target_endian = "little") { 32 } else { 0 };
        Some(match is_wide {
            true => ColumnOffset { word: at / WORD, shift: 0, mask: u64::MAX },
            false => ColumnOffset { word: at / WORD, shift, mask: u32::MAX.into() },
        })
    }

    /// Returns the maximum number of task records.
    #[must_use]
    pub fn most(&self) -> usize {
        self.words.len().checked_div(self.size).unwrap_or(0)
    }

    /// Returns the task records, in the order in which their tasks were met.
    pub fn iter(&self) -> impl Iterator<Item = Record<'a>> + use<'a> {
        let of_first = self.place(Column::ThreadsMet);
        self.all().filter(move |record| of_first.is_none_or(|met| record.get(met) != 0))
    }

    fn all(&self) -> impl Iterator<Item = Record<'a>> + use<'a> {
        self.words.chunks_exact(self.size).map(|words| Record { words })
    }

    fn at(&self, at: usize) -> Option<Record<'a>> {
        let start = at.checked_mul(self.size)?;
        Some(Record { words: self.words.get(start..start.checked_add(self.size)?)? })
    }

    /// Returns the check for task records that are [torn](ConsistencyCheck::is).
    #[must_use]
    pub fn torn(&self) -> ConsistencyCheck {
        ConsistencyCheck {
            sequence: self.place(Column::Sequence).zip(self.place(Column::SequenceEnd)),
            threads: self.place(Column::Threads).zip(self.place(Column::ThreadsMet)),
            executing: self.place(Column::Executing),
            gone: self.place(Column::MemoryGone),
        }
    }
}

impl fmt::Debug for Records<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("most", &self.most()).finish_non_exhaustive()
    }
}

/// Position of a column in a task record.
#[derive(Clone, Copy, Debug)]
pub struct ColumnOffset {
    word: usize,
    shift: u32,
    mask: u64,
}

/// Task record: the columns of one process or thread.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    words: &'a [AtomicU64],
}

impl Record<'_> {
    /// Returns the number in a column of the task record.
    #[must_use]
    pub fn get(&self, place: ColumnOffset) -> u64 {
        let word = self.words.get(place.word).map_or(0, |word| word.load(Relaxed));
        word.wrapping_shr(place.shift) & place.mask
    }

    fn set(&self, place: ColumnOffset, value: u64) {
        if let Some(word) = self.words.get(place.word) {
            let others = word.load(Relaxed) & !place.mask.wrapping_shl(place.shift);
            word.store(others | (value & place.mask).wrapping_shl(place.shift), Relaxed);
        }
    }
}

/// Check for task records whose data is not of one moment.
#[derive(Clone, Copy, Debug)]
pub struct ConsistencyCheck {
    /// Positions in a task record of the sequence counters that were read before and after the data was summed up.
    sequence: Option<(ColumnOffset, ColumnOffset)>,
    /// Positions in a task record of the number of threads that exist, and of the number that were met.
    threads: Option<(ColumnOffset, ColumnOffset)>,
    executing: Option<ColumnOffset>,
    gone: Option<ColumnOffset>,
}

impl ConsistencyCheck {
    /// Returns `true` if the task record is not of one moment: threads began or ended while their process was summed
    /// up, or its memory was lost.
    ///
    /// The iterator is one task ahead. A thread that it already holds may end, be in the sum of ended threads, and
    /// still be met. The sequence counter has changed by then, and only the number of threads shows it.
    #[must_use]
    pub fn is(&self, record: &Record<'_>) -> bool {
        let ended = self.sequence.is_some_and(|(start, end)| {
            let start = record.get(start);
            start & 1 == 1 || start != record.get(end)
        });
        let lacks = self.threads.is_some_and(|(are, met)| record.get(are) != record.get(met));
        let executing = self.executing.is_some_and(|executing| record.get(executing) != 0);
        ended || lacks || executing || self.gone.is_some_and(|gone| record.get(gone) != 0)
    }
}

/// Distance of each CPU's memory from the per-CPU address that is the same for all CPUs. Valid until the machine
/// reboots.
///
/// The distances are kernel addresses, and are not shown.
pub struct PercpuOffsets(Vec<u64>);

impl PercpuOffsets {
    /// Finds the per-CPU offsets of the first `cpus` CPUs.
    ///
    /// # Errors
    /// The same as for [`TaskIter::load`].
    pub fn find(kernel: &Kernel, cpus: u32) -> Result<Self, TaskIterError> {
        let bytes = cpus.checked_add(1).and_then(|words| words.checked_mul(8)).ok_or(TaskIterError::Lacks)?;
        let what = "finding the memory of each CPU";
        let map = call::new_map(MapType::Mapped, bytes).map_err(failed(what))?;
        let by_cpu = call::new_map(MapType::ByCpu, 8).map_err(failed(what))?;
        let code = program::offsets(kernel, map.as_raw_fd(), by_cpu.as_raw_fd(), cpus)
            .ok_or(TaskIterError::Lacks)?;
        call::run(&load(&code, ProgramType::Called)?).map_err(failed(what))?;
        let view = MapView::new(&map, usize::try_from(bytes).unwrap_or(0)).map_err(failed(what))?;
        // Kernel addresses must not stay in memory that the map's descriptor gives access to.
        let mut words = view.words().iter().map(|word| word.swap(0, Relaxed));
        let base = words.next().unwrap_or(0);
        let count = usize::try_from(cpus).unwrap_or(0);
        let offsets: Vec<_> = words.by_ref().take(count).map(|address| address.wrapping_sub(base)).collect();
        if base == 0 || offsets.len() != count || offsets.iter().any(|offset| offset.wrapping_add(base) == 0)
        {
            return Err(TaskIterError::Lacks); // a CPU that cannot be
        }
        Ok(Self(offsets))
    }
}

impl fmt::Debug for PercpuOffsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Offsets({} CPUs)", self.0.len())
    }
}
