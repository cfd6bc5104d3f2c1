//! Where this kernel has everything: what a walk needs of its description of types.

use crate::asm::Width;
use crate::btf::{Btf, BtfError};
use crate::column::{Column, Columns, From};

/// Where this kernel has the numbers of its tasks, and the functions that walk over them.
///
/// Some hundred bytes, made of a description of some millions. It holds for this boot of the kernel alone.
#[derive(Debug)]
pub struct Kernel {
    sources: [Option<Source>; Column::ALL.len()],
    pub(crate) signal: u32,
    pub(crate) memory: u32,
    pub(crate) iterator: Option<Iterator>,
    /// The function that the classic iterator's programs are attached to.
    pub(crate) classic: Option<u32>,
    /// Whether it counts what is in memory by CPU too.
    pub(crate) counts_by_cpu: bool,
    pub(crate) exact: Option<Exact>,
}

/// The functions of the open-coded iterator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Iterator {
    pub new: u32,
    pub next: u32,
    pub destroy: u32,
    pub lock: u32,
    pub unlock: u32,
    /// Of its state, in bytes.
    pub size: u32,
}

/// What summing up the parts of counters by CPU takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    pub cast: u32,
    /// A structure that begins with a number of four bytes.
    pub cast_type: u32,
    /// Where the memory's structure has the pointers to these parts.
    pub counters: [u32; 4],
    /// Where a map by CPU has the same kind of pointer.
    pub of_map: u32,
}

/// Where a column comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub from: From,
    pub paths: Place,
    /// In the task, where the structure is that of signals or the task.
    pub of_thread: Option<Place>,
    /// Where the pointer is, if it is behind one.
    pub pointer: Option<u32>,
    /// In the structure of signals.
    pub ended: Option<Place>,
}

/// A place in a structure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub offset: u32,
    pub width: Width,
}

/// Why a kernel cannot be walked over by its description.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// Its file cannot be read.
    #[error("cannot be read")]
    File(#[source] std::sync::Arc<std::io::Error>),
    /// It makes no sense.
    #[error(transparent)]
    Btf(#[from] BtfError),
    /// It lacks something that no walk can do without.
    #[error("the kernel's types have no {0}")]
    Lacks(&'static str),
}

const TASK: &str = "task_struct";
const SIGNAL: &str = "signal_struct";
const MEMORY: &str = "mm_struct";

/// The names that are looked up.
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
/// A structure, and a function too.
const ITERATOR: &str = "bpf_iter_task";

impl Kernel {
    /// Reads the description of types in a file, by default that of this kernel, `/sys/kernel/btf/vmlinux`.
    ///
    /// # Errors
    /// If the file cannot be read, or as [`of`](Self::of).
    #[cfg(target_os = "linux")]
    pub fn read(path: &std::path::Path) -> Result<Self, KernelError> {
        Self::of(&crate::call::Buffer::of_file(path).map_err(|error| KernelError::File(error.into()))?)
    }

    /// Reads a description of types, as in `/sys/kernel/btf/vmlinux`.
    ///
    /// # Errors
    /// If it is none, or lacks what no walk can do without.
    pub fn of(btf: &[u8]) -> Result<Self, KernelError> {
        let btf = Btf::parse(btf, &WANTED)?;
        let place = |structure: &str, path: &str| -> Option<Place> {
            let member = btf.member(btf.structure(structure)?, path)?;
            Some(Place { offset: member.offset, width: Width::of(member.size)? })
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

    fn source(column: Column, place: &dyn Fn(&str, &str) -> Option<Place>, btf: &Btf<'_>) -> Option<Source> {
        let definition = column.definition();
        let first = |structure: &str| definition.paths.iter().find_map(|path| place(structure, path));
        let structure = match definition.from {
            From::Task => TASK,
            From::Signal | From::SignalOrTask => SIGNAL,
            From::Memory => MEMORY,
            From::Pointer(.., structure) => structure,
            From::Made => return None,
        };
        let paths = match column {
            Column::Name | Column::NameEnd => {
                const HALF: u32 = 8;
                let name = btf.member(btf.structure(TASK)?, "comm").filter(|name| name.size == 2 * HALF)?;
                let behind = if column == Column::NameEnd { HALF } else { 0 };
                Place { offset: name.offset.checked_add(behind)?, width: Width::W8 }
            }
            _ => first(structure)?,
        };
        Some(Source {
            from: definition.from,
            paths,
            of_thread: match definition.from {
                From::SignalOrTask => Some(first(TASK)?),
                _ => None,
            },
            pointer: match definition.from {
                From::Pointer(holder, path, _) => Some(place(holder, path)?.offset),
                _ => None,
            },
            ended: match definition.ended {
                Some(path) => Some(place(SIGNAL, path)?),
                None => None,
            },
        })
    }

    fn iterator(btf: &Btf<'_>) -> Option<Iterator> {
        Some(Iterator {
            new: btf.function("bpf_iter_task_new")?,
            next: btf.function("bpf_iter_task_next")?,
            destroy: btf.function("bpf_iter_task_destroy")?,
            lock: btf.function("bpf_rcu_read_lock")?,
            unlock: btf.function("bpf_rcu_read_unlock")?,
            // Its place in the frame, which has 512 bytes, is a multiple of eight.
            size: btf
                .size(btf.structure(ITERATOR)?)
                .filter(|size| (8..=256).contains(size) && size % 8 == 0)?,
        })
    }

    fn exact(btf: &Btf<'_>, pointer: &dyn Fn(&str, &str) -> Option<u32>) -> Option<Exact> {
        let counters = |path| pointer(MEMORY, path);
        Some(Exact {
            cast: btf.function("bpf_rdonly_cast")?,
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

    /// Where it has a column.
    pub(crate) fn source_of(&self, column: Column) -> Option<&Source> {
        self.sources.get(column.place())?.as_ref()
    }

    /// Those of the columns that it has.
    #[must_use]
    pub fn has(&self, columns: Columns) -> Columns {
        let is_there =
            |column: &Column| self.source_of(*column).is_some() || column.definition().from == From::Made;
        columns.iter().filter(is_there).fold(Columns::NONE, |all, column| all | column.into())
    }

    /// Whether it counts what is in memory by CPU too, so that exact numbers take all parts.
    #[must_use]
    pub fn counts_memory_by_cpu(&self) -> bool {
        self.counts_by_cpu
    }
}
