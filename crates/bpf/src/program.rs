//! Builder of the BPF programs: the task iterator, and the program that finds the memory of each CPU.

use crate::asm::{Assembler, Instruction, Reg, Width};
use crate::column::{Column, ColumnSet, StartStruct};
use crate::kernel::{ColumnSource, Kernel};

/// Subject of a task record: a process or a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// Process as the subject of a record, with the sums over all its threads.
    Process,
    /// Thread as the subject of a record, with only its own numbers.
    Thread,
}

/// Kind of BPF iterator that visits the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IterKind {
    /// Open-coded iterator, with which the BPF program itself visits all tasks, at one moment. Since Linux 6.7. The
    /// threads of a process follow one another.
    OpenCoded,
    /// Classic iterator of the kernel, which calls the BPF program for each task. Since Linux 5.8. The threads of a
    /// process come in any order, and are summed up afterwards.
    Classic,
}

/// Offsets of the columns in a task record.
#[derive(Clone, Debug)]
pub(crate) struct RecordLayout {
    offsets: [Option<RecordOffset>; Column::ALL.len()],
    /// Size of a task record in bytes, rounded up to whole words.
    pub size: u32,
}

/// Offset and width of a column in a task record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordOffset {
    /// Offset of the column in the task record, in bytes.
    pub offset: u16,
    pub is_wide: bool,
}

impl RecordLayout {
    pub fn new(columns: ColumnSet) -> Option<Self> {
        let mut offsets = [None; Column::ALL.len()];
        let mut next = 0_u16;
        // Wide columns first, so that each column lies at a multiple of its width.
        for is_wide in [true, false] {
            for column in columns.iter().filter(|column| column.definition().is_wide == is_wide) {
                *offsets.get_mut(column.index())? = Some(RecordOffset { offset: next, is_wide });
                next = next.checked_add(if is_wide { 8 } else { 4 })?;
            }
        }
        Some(Self { offsets, size: u32::from(next).checked_next_multiple_of(8)? })
    }

    pub fn offset(&self, column: Column) -> Option<RecordOffset> {
        *self.offsets.get(column.index())?
    }
}

/// Number of bytes in the output map before the records; the first word is the number of tasks met. The spare record,
/// for tasks without room, follows.
pub(crate) const HEADER: u32 = 64;

/// Parameters of a task-iterator program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan<'a> {
    pub each: RecordKind,
    pub way: IterKind,
    pub columns: ColumnSet,
    pub layout: &'a RecordLayout,
    /// Number of task records that have room in the output map.
    pub room: u32,
    /// Distance of each CPU's memory from the per-CPU address that is the same for all CPUs.
    pub offsets: Option<&'a [u64]>,
    /// File descriptor of the output map for task records.
    pub map: i32,
}

const RECORD: Reg = Reg::R6;
const TASK: Reg = Reg::R7;
const SIGNAL: Reg = Reg::R8;
const MEMORY: Reg = Reg::R9;

/// Task-iterator program under construction.
struct ProgramBuilder<'a> {
    kernel: &'a Kernel,
    plan: Plan<'a>,
    asm: Assembler,
}

/// Builds a task-iterator program; returns `None` if the kernel lacks something that it needs.
pub(crate) fn walk(kernel: &Kernel, plan: Plan<'_>) -> Option<Vec<Instruction>> {
    let mut walk = ProgramBuilder { kernel, plan, asm: Assembler::default() };
    match plan.way {
        IterKind::OpenCoded => walk.open_coded()?,
        IterKind::Classic => walk.classic()?,
    }
    walk.asm.finish()
}

impl ProgramBuilder<'_> {
    /// Builds a program that visits all tasks in one call of the open-coded iterator.
    fn open_coded(&mut self) -> Option<()> {
        let iterator = self.kernel.iterator?;
        let state = i32::try_from(iterator.size).ok()?.checked_neg()?;
        let [next, done, thread] = [(); 3].map(|()| self.asm.label());
        let sums = self.sums();
        // The kernel permits this iterator only under the RCU read lock.
        self.asm.call(iterator.lock);
        self.asm.copy(Reg::R1, Reg::Frame);
        self.asm.add_number(Reg::R1, state);
        self.asm.set(Reg::R2, 0);
        const PROCESSES: i32 = 0;
        const THREADS: i32 = 1;
        let all_threads = sums || self.plan.each == RecordKind::Thread;
        self.asm.set(Reg::R3, if all_threads { THREADS } else { PROCESSES });
        self.asm.call(iterator.new);
        self.asm.map_value(Reg::R1, self.plan.map, 0);
        self.asm.set(Reg::R2, 0);
        self.asm.store(Width::W8, Reg::R1, 0, Reg::R2);
        // First values: a signal structure, so that the register has the right type from now on, and a record that is
        // never read.
        const GET_CURRENT_TASK_BTF: i32 = 158;
        self.asm.call_helper(GET_CURRENT_TASK_BTF);
        self.asm.load(Width::W8, SIGNAL, Reg::R0, self.kernel.signal);
        self.asm.map_value(RECORD, self.plan.map, HEADER);

        self.asm.place(next);
        self.asm.copy(Reg::R1, Reg::Frame);
        self.asm.add_number(Reg::R1, state);
        self.asm.call(iterator.next);
        self.asm.if_zero(Reg::R0, done);
        self.asm.copy(TASK, Reg::R0);
        self.load_task(Reg::R1, Column::Pid)?;
        self.asm.if_zero(Reg::R1, next); // what a processor does while it rests
        if sums {
            self.load_task(Reg::R2, Column::Tgid)?;
            self.asm.if_other(Reg::R1, Reg::R2, thread);
        }
        // `SIGNAL` and `RECORD` are still those of the process before, all of whose threads have been visited
        // by now.
        self.end_sequence()?;
        self.take_record()?;
        self.asm.load(Width::W8, SIGNAL, TASK, self.kernel.signal);
        self.fill(true)?;
        self.asm.go(next);
        if sums {
            // Otherwise there might be no jump to this code, and the kernel rejects unreachable code.
            self.asm.place(thread);
            let pid = self.plan.layout.offset(Column::Pid)?;
            self.asm.load(Width::W4, Reg::R1, RECORD, pid.offset.into());
            // A thread counts only if the current record is that of its process.
            self.asm.if_other(Reg::R1, Reg::R2, next);
            self.add_thread()?;
            self.asm.go(next);
        }
        self.asm.place(done);
        self.end_sequence()?;
        self.asm.copy(Reg::R1, Reg::Frame);
        self.asm.add_number(Reg::R1, state);
        self.asm.call(iterator.destroy);
        self.asm.call(iterator.unlock);
        self.asm.set(Reg::R0, 0);
        self.asm.exit();
        Some(())
    }

    /// Builds a program that visits one task for each call by the classic iterator.
    fn classic(&mut self) -> Option<()> {
        let [done, thread] = [(); 2].map(|()| self.asm.label());
        let sums = self.plan.each == RecordKind::Process;
        const TASK_OF_CONTEXT: u32 = 8;
        self.asm.load(Width::W8, TASK, Reg::R1, TASK_OF_CONTEXT);
        // At its end, the iterator calls the program once without a task.
        self.asm.if_zero(TASK, done);
        self.take_record()?;
        self.asm.load(Width::W8, SIGNAL, TASK, self.kernel.signal);
        if sums {
            self.load_task(Reg::R1, Column::Pid)?;
            self.load_task(Reg::R2, Column::Tgid)?;
            self.asm.if_other(Reg::R1, Reg::R2, thread);
        }
        self.fill(true)?;
        self.asm.go(done);
        if sums {
            self.asm.place(thread);
            self.fill(false)?;
        }
        self.asm.place(done);
        self.asm.set(Reg::R0, 0);
        self.asm.exit();
        Some(())
    }

    /// Returns `true` if the program adds threads to the task records of their processes.
    fn sums(&self) -> bool {
        self.plan.each == RecordKind::Process
            && self.plan.columns.iter().any(|c| c.definition().ended.is_some())
    }

    fn load_task(&mut self, to: Reg, column: Column) -> Option<()> {
        let place = self.kernel.source_of(column)?.paths;
        self.asm.load(place.width, to, TASK, place.offset);
        Some(())
    }

    fn store(&mut self, column: Column, from: Reg) -> Option<()> {
        let place = self.plan.layout.offset(column)?;
        let width = if place.is_wide { Width::W8 } else { Width::W4 };
        self.asm.store(width, RECORD, i16::try_from(place.offset).ok()?, from);
        Some(())
    }

    /// Selects the next task record, or the spare record if there is no room.
    ///
    /// The index is stored in the map and loaded from there. The verifier then takes it for any number, and the loop
    /// looks the same in the second round. In a register, it would differ in each round, and loading would take ten
    /// seconds.
    fn take_record(&mut self) -> Option<()> {
        let [has_room, taken] = [(); 2].map(|()| self.asm.label());
        let size = self.plan.layout.size;
        self.asm.map_value(Reg::R2, self.plan.map, 0);
        self.asm.load(Width::W8, Reg::R1, Reg::R2, 0);
        self.asm.copy(Reg::R3, Reg::R1);
        self.asm.add_number(Reg::R3, 1);
        self.asm.store(Width::W8, Reg::R2, 0, Reg::R3);
        self.asm.map_value(RECORD, self.plan.map, HEADER);
        self.asm.if_below(Reg::R1, i32::try_from(self.plan.room).ok()?, has_room);
        self.asm.go(taken);
        self.asm.place(has_room);
        self.asm.multiply(Reg::R1, i32::try_from(size).ok()?);
        self.asm.map_value(RECORD, self.plan.map, HEADER.checked_add(size)?);
        self.asm.add(RECORD, Reg::R1);
        self.asm.place(taken);
        Some(())
    }

    /// Stores the current sequence counter of the process in the task record that was selected last.
    fn end_sequence(&mut self) -> Option<()> {
        if self.plan.layout.offset(Column::SequenceEnd).is_none() {
            return Some(());
        }
        let sequence = self.kernel.source_of(Column::Sequence)?.paths;
        self.asm.load(sequence.width, Reg::R1, SIGNAL, sequence.offset);
        self.store(Column::SequenceEnd, Reg::R1)
    }

    /// Fills the task record of a process or of a separate thread. If `is_whole` is `false`, the record is of a
    /// thread that is to be added to its process: only the numbers to add and those that identify the process are
    /// stored.
    fn fill(&mut self, is_whole: bool) -> Option<()> {
        let for_sum = [Column::Pid, Column::Tgid, Column::Executing];
        let columns = self.plan.columns;
        // The sequence comes first, before anything that an ending thread changes.
        let first = columns.iter().filter(|column| *column == Column::Sequence);
        let others = columns.iter().filter(|column| {
            *column != Column::Sequence && (is_whole || for_sum.contains(column) || is_sum(*column))
        });
        for column in first.chain(others) {
            let Some(source) = self.kernel.source_of(column) else { continue }; // what the program makes
            if source.from != StartStruct::Memory {
                self.copy(column, source, is_whole)?;
            }
        }
        if self.plan.layout.offset(Column::ThreadsMet).is_some() {
            self.begin_count(is_whole)?;
        }
        if self.plan.way == IterKind::Classic && self.plan.layout.offset(Column::SequenceEnd).is_some() {
            self.end_sequence()?;
        }
        if is_whole { self.fill_memory() } else { Some(()) }
    }

    /// Stores 1 as a task record's number of threads met, for the first thread. If another thread has just taken its
    /// place and id, stores more than there can be. Stores 0 in the record of another thread.
    fn begin_count(&mut self, is_first: bool) -> Option<()> {
        const TOO_MANY: i32 = 1 << 30;
        self.asm.set(Reg::R3, i32::from(is_first));
        if is_first {
            let same = self.asm.label();
            self.load_task(Reg::R1, Column::Pid)?;
            self.load_task(Reg::R2, Column::Tgid)?;
            self.asm.if_equal(Reg::R1, Reg::R2, same);
            self.asm.set(Reg::R3, TOO_MANY);
            self.asm.place(same);
        }
        self.store(Column::ThreadsMet, Reg::R3)
    }

    /// Copies the number of one column from the kernel's structures into the task record.
    fn copy(&mut self, column: Column, source: &ColumnSource, is_whole: bool) -> Option<()> {
        let paths = source.paths;
        match (source.from, source.pointer) {
            (StartStruct::Signal, _) => self.asm.load(paths.width, Reg::R1, SIGNAL, paths.offset),
            (StartStruct::SignalOrTask, _) => match (self.plan.each, source.of_thread) {
                (RecordKind::Thread, Some(task)) => self.asm.load(task.width, Reg::R1, TASK, task.offset),
                _ => self.asm.load(paths.width, Reg::R1, SIGNAL, paths.offset),
            },
            (StartStruct::Pointer("signal_struct", ..), Some(pointer)) => {
                self.asm.load(Width::W8, Reg::R2, SIGNAL, pointer);
                self.asm.load(paths.width, Reg::R1, Reg::R2, paths.offset);
            }
            (StartStruct::Pointer(..), Some(pointer)) => {
                self.asm.load(Width::W8, Reg::R2, TASK, pointer);
                self.asm.load(paths.width, Reg::R1, Reg::R2, paths.offset);
            }
            // The id of a process stays the same, whichever thread is the first.
            (StartStruct::Task, _)
                if column == Column::Pid && is_whole && self.plan.each == RecordKind::Process =>
            {
                self.load_task(Reg::R1, Column::Tgid)?;
            }
            _ => self.asm.load(paths.width, Reg::R1, TASK, paths.offset),
        }
        if column == Column::Executing {
            let nobody = self.asm.label();
            self.asm.set(Reg::R2, 0);
            self.asm.if_zero(Reg::R1, nobody);
            self.asm.set(Reg::R2, 1);
            self.asm.place(nobody);
            self.asm.copy(Reg::R1, Reg::R2);
        }
        if let Some(ended) = source.ended.filter(|_| is_whole && self.plan.each == RecordKind::Process) {
            self.asm.load(ended.width, Reg::R2, SIGNAL, ended.offset);
            self.asm.add(Reg::R1, Reg::R2);
        }
        self.store(column, Reg::R1)
    }

    /// Adds the numbers of a thread to the task record of its process.
    fn add_thread(&mut self) -> Option<()> {
        for column in self.plan.columns.iter().filter(|column| is_sum(*column)) {
            let place = self.plan.layout.offset(column)?;
            self.load_task(Reg::R1, column)?;
            self.asm.load(Width::W8, Reg::R2, RECORD, place.offset.into());
            self.asm.add(Reg::R1, Reg::R2);
            self.store(column, Reg::R1)?;
        }
        let met = self.plan.layout.offset(Column::ThreadsMet)?;
        self.asm.load(Width::W4, Reg::R1, RECORD, met.offset.into());
        self.asm.add_number(Reg::R1, 1);
        self.store(Column::ThreadsMet, Reg::R1)
    }

    /// Stores the memory columns of a task record; zeros for a task that has no memory.
    fn fill_memory(&mut self) -> Option<()> {
        let (kernel, columns) = (self.kernel, self.plan.columns);
        let of_memory = |column: &Column| column.definition().from == StartStruct::Memory;
        if !columns.iter().any(|column| of_memory(&column)) {
            return Some(());
        }
        let [none, done, same] = [(); 3].map(|()| self.asm.label());
        self.asm.load(Width::W8, MEMORY, TASK, kernel.memory);
        self.asm.if_zero(MEMORY, none);
        let mut uses_signal = false;
        for column in columns.iter().filter(of_memory) {
            let source = kernel.source_of(column)?;
            let paths = source.paths;
            match (column.part_of_memory(), kernel.exact, self.plan.offsets) {
                (Some(part), Some(exact), Some(offsets)) => {
                    // The register of the signal structure is used for the sum.
                    uses_signal = true;
                    self.asm.load(paths.width, SIGNAL, MEMORY, paths.offset);
                    for offset in offsets {
                        self.asm.load(Width::W8, Reg::R1, MEMORY, *exact.counters.get(part)?);
                        self.asm.set_wide(Reg::R2, *offset);
                        self.asm.add(Reg::R1, Reg::R2);
                        self.asm.set(Reg::R2, i32::try_from(exact.cast_type).ok()?);
                        self.asm.call(exact.cast);
                        self.asm.load(Width::W4, Reg::R1, Reg::R0, 0);
                        // The part of one CPU can be negative.
                        self.asm.extend_sign(Reg::R1);
                        self.asm.add(SIGNAL, Reg::R1);
                    }
                    self.store(column, SIGNAL)?;
                }
                _ => {
                    self.asm.load(paths.width, Reg::R1, MEMORY, paths.offset);
                    self.store(column, Reg::R1)?;
                }
            }
        }
        if uses_signal {
            // Loaded again, because `end_sequence` needs it for this process.
            self.asm.load(Width::W8, SIGNAL, TASK, kernel.signal);
        }
        // Memory that still belongs to the task belonged to it all the time. The memory of a task that ends meanwhile
        // may be another's.
        let notes = self.plan.layout.offset(Column::MemoryGone).is_some();
        if notes {
            self.asm.set(Reg::R2, 0);
            self.asm.load(Width::W8, Reg::R1, TASK, kernel.memory);
            self.asm.if_equal(Reg::R1, MEMORY, same);
            self.asm.set(Reg::R2, 1);
            self.asm.place(same);
            self.store(Column::MemoryGone, Reg::R2)?;
        }
        self.asm.go(done);
        self.asm.place(none);
        self.asm.set(Reg::R1, 0);
        for column in columns.iter().filter(|column| of_memory(column) || *column == Column::MemoryGone) {
            self.store(column, Reg::R1)?;
        }
        self.asm.place(done);
        Some(())
    }
}

fn is_sum(column: Column) -> bool {
    column.definition().ended.is_some()
}

/// Builds a program that writes the address of a per-CPU map's number for each CPU into another map. The word before
/// these is the address for a CPU without memory of its own, so that the differences are valid for all per-CPU
/// memory.
pub(crate) fn offsets(kernel: &Kernel, map: i32, by_cpu: i32, cpus: u32) -> Option<Vec<Instruction>> {
    const LOOKUP_PERCPU_ELEM: i32 = 195;
    const PROBE_READ_KERNEL: i32 = 113;
    const KEY: i16 = -8;
    let mut asm = Assembler::default();
    asm.set(Reg::R1, 0);
    asm.store(Width::W8, Reg::Frame, KEY, Reg::R1);
    for cpu in 0..cpus {
        asm.map(Reg::R1, by_cpu);
        asm.copy(Reg::R2, Reg::Frame);
        asm.add_number(Reg::R2, KEY.into());
        asm.set(Reg::R3, i32::try_from(cpu).ok()?);
        asm.call_helper(LOOKUP_PERCPU_ELEM);
        asm.map_value(Reg::R1, map, cpu.checked_add(1)?.checked_mul(8)?);
        asm.store(Width::W8, Reg::R1, 0, Reg::R0);
    }
    // The map's own address as a number, then the contents of its field for the per-CPU memory.
    asm.map(Reg::R2, by_cpu);
    // The detour through memory makes the address a plain number for the verifier, which permits no
    // arithmetic with the address of a map.
    asm.map_value(Reg::R1, map, 0);
    asm.store(Width::W8, Reg::R1, 0, Reg::R2);
    asm.load(Width::W8, Reg::R3, Reg::R1, 0);
    asm.add_number(Reg::R3, i32::try_from(kernel.exact?.of_map).ok()?);
    asm.set(Reg::R2, 8);
    asm.call_helper(PROBE_READ_KERNEL);
    asm.exit();
    asm.finish()
}
