//! Collects data of the processes and threads of a Linux machine inside the kernel, with a BPF task iterator. Costs a
//! fiftieth of reading `/proc`.
//!
//! ```no_run
//! use perfset_bpf::{Column, ColumnSet, IterKind, Kernel, RecordKind, TaskIter, TaskIterRequest};
//!
//! let kernel = Kernel::read("/sys/kernel/btf/vmlinux".as_ref())?;
//! let columns = ColumnSet::new(&[Column::Pid, Column::Runtime]);
//! let (each, way) = (RecordKind::Process, IterKind::OpenCoded);
//! let request = TaskIterRequest { each, way, columns, room: 10_000, offsets: None };
//! let mut tasks = TaskIter::load(&kernel, &request)?; // needs CAP_BPF and CAP_PERFMON
//! let records = tasks.run()?; // needs no capability
//! if let (Some(pid), Some(runtime)) = (records.place(Column::Pid), records.place(Column::Runtime)) {
//!     for process in records.iter() {
//!         println!("{} has run {} ns", process.get(pid), process.get(runtime));
//!     }
//! }
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! **Shape**: [`Btf`] parses the kernel's description of its types. [`Kernel`] contains the parts of it that matter
//! here. A [`TaskIter`] is a BPF program, built from a [`Kernel`] instruction by instruction for the requested
//! [`ColumnSet`], that runs on request. Its output is [`Records`]. No compiler, library or kernel version is consulted:
//! a feature exists if the kernel's own description contains it.
//!
//! The data is as the kernel has it: no file permission, PID namespace or `hidepid` limits it. A program that shows
//! it to other users must limit it.
//!
//! **Not dumpable**: before a process with the capability to load programs loads its first one, it is made not
//! dumpable (`PR_SET_DUMPABLE` of `prctl(2)`), permanently. Otherwise another process of the same user could take a
//! map with `pidfd_getfd(2)`, or read it with `ptrace(2)`, once the capabilities are given up. The setting applies to
//! the whole process: the kernel writes no core dump of it, and only root can attach a debugger. Its files in `/proc`
//! with permissions for the owner alone, such as `io`, belong to root. A program that resets the setting does so at
//! its own risk.

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

mod asm;
mod btf;
#[cfg(target_os = "linux")]
mod call;
mod column;
mod kernel;
mod program;
#[cfg(target_os = "linux")]
mod protect;
#[cfg(target_os = "linux")]
mod task_iter;

pub use btf::{Btf, BtfError, Member};
pub use column::{Column, ColumnSet};
pub use kernel::{Kernel, KernelError};
pub use program::{IterKind, RecordKind};
#[cfg(target_os = "linux")]
pub use task_iter::{
    ColumnOffset, ConsistencyCheck, PercpuOffsets, Record, Records, TaskIter, TaskIterError, TaskIterRequest,
};
