//! Layout of this kernel's task structures, parsed from its BTF type description.

use crate::asm::Width;
use crate::btf::{Btf, BtfError};
use crate::column::{Column, ColumnSet, StartStruct};

/// Offsets of the task data in this kernel, and its functions that iterate over tasks.
///
/// Takes some hundred bytes, built from a description of some megabytes. Valid until the machine reboots.
#[derive(Debug)]
pub struct Kernel {
    sources: [Option<ColumnSource>; Column::ALL.len()],
    pub(crate) signal: u32,
    pub(crate) memory: u32,
    pub(crate) iterator: Option<OpenCodedIter>,
    /// Type id of the kernel function to which programs of the classic iterator are attached.
    pub(crate) classic: Option<u32>,
    /// `true` if the kernel also counts resident memory by CPU.
    pub(crate) counts_by_cpu: bool,
    pub(crate) exact: Option<PercpuSum>,
}

/// Type ids of the kernel functions for the open-coded iterator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenCodedIter {
    pub new: u32,
    pub next: u32,
    pub destroy: u32,
    pub lock: u32,
    pub unlock: u32,
    /// Size of the open-coded iterator's state, in bytes.
    pub size: u32,
}

/// Functions and offsets needed to sum up the parts of per-CPU counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PercpuSum {
    pub cast: u32,
    /// Type id of the structure as which per-CPU parts are read: one that begins with a number of four bytes.
    pub cast_type: u32,
    /// Offsets of the pointers to the per-CPU parts of the memory counters, in the memory structure.
    pub counters: [u32; 4],
    /// Offset of the pointer to the per-CPU memory, in the structure of a per-CPU BPF map.
    pub of_map: u32,
}

/// Location of a task record's column in the kernel's structures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnSource {
    pub from: StartStruct,
    pub paths: FieldOffset,
    /// Location of the column's field in the task structure, for [`StartStruct::SignalOrTask`].
    pub of_thread: Option<FieldOffset>,
    /// Offset of the pointer to the column's structure, for a column behind a pointer.
    pub pointer: Option<u32>,
    /// Location of the column's sum over ended threads, in the signal structure.
    pub ended: Option<FieldOffset>,
}

/// Offset and width of a field in a kernel structure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldOffset {
    pub offset: u32,
    pub width: Width,
}

/// Reason that the type description of a kernel cannot be used for a task iterator.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The file of the kernel's type description cannot be read.
    #[error("cannot read the kernel's type description (BTF)")]
    File(#[source] std::sync::Arc<std::io::Error>),
    /// The kernel's type description is not valid BTF.
    #[error(transparent)]
    Btf(#[from] BtfError),
    /// The kernel's type description lacks something that every task iterator needs.
    #[error("the kernel's types have no {0}")]
    Lacks(&'static str),
}

const TASK: &str = "task_struct";
const SIGNAL: &str = "signal_struct";
const MEMORY: &str = "mm_struct";

/// Names of the kernel structures and functions that are looked up in BTF.
const WANTED: [&str; 14] = [
    TASK,
    SIGNAL,
    MEMORY,
    "cred",
    "pid",
    "task_delay_info",
    "bpf_array",
    ITERATOR,
    "bpf_iter_task_new",
    "bpf_iter_task_next",
    "bpf_iter_task_destroy",
    "bpf_rcu_read_lock",
    "bpf_rcu_read_unlock",
    "bpf_rdonly_cast",
];
/// Name of both a structure and a function of the kernel, for task iterators.
const ITERATOR: &str = "bpf_iter_task";

impl Kernel {
    /// Reads a kernel's BTF type description from a file; that of the running kernel is `/sys/kernel/btf/vmlinux`.
    ///
    /// # Errors
    /// If the file cannot be read, or as for [`from_btf`](Self::from_btf).
    #[cfg(target_os = "linux")]
    pub fn read(path: &std::path::Path) -> Result<Self, KernelError> {
        Self::from_btf(
            &crate::call::Buffer::from_file(path).map_err(|error| KernelError::File(error.into()))?,
        )
    }

    /// Parses a kernel's BTF type description, such as the contents of `/sys/kernel/btf/vmlinux`.
    ///
    /// # Errors
    /// If `btf` is no type description, or lacks something that every task iterator needs.
    pub fn from_btf(btf: &[u8]) -> Result<Self, KernelError> {
        let btf = Btf::parse(btf, &WANTED)?;
        let place = |structure: &str, path: &str| -> Option<FieldOffset> {
            let member = btf.member(btf.structure(structure)?, path)?;
            Some(FieldOffset { offset: member.offset, width: Width::from_bytes(member.size)? })
        };
        let pointer = |structure: &str, path: &str| Some(btf.member(btf.structure(structure)?, path)?.offset);
        let mut sources = [const { None }; Column::ALL.len()];
        for (column, source) in Column::ALL.into_iter().zip(&mut sources) {
            *source = Self::source(column, &place, &btf);
        }
        let kernel = Self {
            sources,
            signal: pointer(TASK, "signal").ok_or(KernelError::Lacks("task_struct.signal"))?,
            memory: pointer(TASK, "mm").ok_or(KernelError::Lacks("task_struct.mm"))?,
            iterator: Self::iterator(&btf),
            classic: btf.function(ITERATOR),
            counts_by_cpu: pointer(MEMORY, "rss_stat[0].counters").is_some(),
            exact: Self::exact(&btf, &pointer),
        };
        const NEEDED: [(Column, &str); 9] = [
            (Column::Pid, "task_struct.pid"),
            (Column::Tgid, "task_struct.tgid"),
            (Column::Flags, "task_struct.flags"),
            (Column::Start, "task_struct.start_boottime"),
            (Column::Name, "task_struct.comm"),
            (Column::NameEnd, "task_struct.comm"),
            (Column::Runtime, "task_struct.se.sum_exec_runtime"),
            (Column::Threads, "signal_struct.nr_threads"),
            (Column::Sequence, "signal_struct.stats_lock"),
        ];
        for (column, name) in NEEDED {
            kernel.source_of(column).ok_or(KernelError::Lacks(name))?;
        }
        if kernel.iterator.is_none() && kernel.classic.is_none() {
            return Err(KernelError::Lacks("iterator over tasks"));
        }
        Ok(kernel)
    }

    fn source(
        column: Column,
        place: &dyn Fn(&str, &str) -> Option<FieldOffset>,
        btf: &Btf<'_>,
    ) -> Option<ColumnSource> {
        let definition = column.definition();
        let first = |structure: &str| definition.paths.iter().find_map(|path| place(structure, path));
        let structure = match definition.from {
            StartStruct::Task => TASK,
            StartStruct::Signal | StartStruct::SignalOrTask => SIGNAL,
            StartStruct::Memory => MEMORY,
            StartStruct::Pointer(.., structure) => structure,
            StartStruct::Made => return None,
        };
        let paths = match column {
            Column::Name | Column::NameEnd => {
                const HALF: u32 = 8;
                let name = btf.member(btf.structure(TASK)?, "comm").filter(|name| name.size == 2 * HALF)?;
                let behind = if column == Column::NameEnd { HALF } else { 0 };
                FieldOffset { offset: name.offset.checked_add(behind)?, width: Width::W8 }
            }
            _ => first(structure)?,
        };
        Some(ColumnSource {
            from: definition.from,
            paths,
            of_thread: match definition.from {
                StartStruct::SignalOrTask => Some(first(TASK)?),
                _ => None,
            },
            pointer: match definition.from {
                StartStruct::Pointer(holder, path, _) => Some(place(holder, path)?.offset),
                _ => None,
            },
            ended: match definition.ended {
                Some(path) => Some(place(SIGNAL, path)?),
                None => None,
            },
        })
    }

    fn iterator(btf: &Btf<'_>) -> Option<OpenCodedIter> {
        Some(OpenCodedIter {
            new: btf.function("bpf_iter_task_new")?,
            next: btf.function("bpf_iter_task_next")?,
            destroy: btf.function("bpf_iter_task_destroy")?,
            lock: btf.function("bpf_rcu_read_lock")?,
            unlock: btf.function("bpf_rcu_read_unlock")?,
            // The state is stored in the frame, which has 512 bytes, at a multiple of eight.
            size: btf
                .size(btf.structure(ITERATOR)?)
                .filter(|size| (8..=256).contains(size) && size % 8 == 0)?,
        })
    }

    fn exact(btf: &Btf<'_>, pointer: &dyn Fn(&str, &str) -> Option<u32>) -> Option<PercpuSum> {
        let counters = |path| pointer(MEMORY, path);
        Some(PercpuSum {
            cast: btf.function("bpf_rdonly_cast")?,
            // The function casts to structures only. `kuid_t` consists of one number, as wide as the part of
            // a counter that belongs to one CPU.
            cast_type: btf.member(btf.structure("cred")?, "uid").filter(|uid| uid.size == 4)?.type_id,
            counters: [
                counters("rss_stat[0].counters")?,
                counters("rss_stat[1].counters")?,
                counters("rss_stat[2].counters")?,
                counters("rss_stat[3].counters")?,
            ],
            of_map: pointer("bpf_array", "pptrs")?,
        })
    }

    /// Returns the location of a column in the kernel's structures; `None` if this kernel lacks it.
    pub(crate) fn source_of(&self, column: Column) -> Option<&ColumnSource> {
        self.sources.get(column.index())?.as_ref()
    }

    /// Returns the subset of `columns` that this kernel has.
    #[must_use]
    pub fn has(&self, columns: ColumnSet) -> ColumnSet {
        let is_there = |column: &Column| {
            self.source_of(*column).is_some() || column.definition().from == StartStruct::Made
        };
        columns.iter().filter(is_there).fold(ColumnSet::NONE, |all, column| all | column.into())
    }

    /// Returns `true` if this kernel also counts resident memory by CPU. Exact numbers then need all parts.
    #[must_use]
    pub fn counts_memory_by_cpu(&self) -> bool {
        self.counts_by_cpu
    }
}
