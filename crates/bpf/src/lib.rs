//! Walks over the processes and threads of a Linux machine inside the kernel, at a fiftieth of what reading `/proc`
//! costs.
//!
//! ```no_run
//! use perfset_bpf::{Column, Columns, Each, Kernel, Request, Walk, Way};
//!
//! let kernel = Kernel::read("/sys/kernel/btf/vmlinux".as_ref())?;
//! let columns = Columns::of(&[Column::Pid, Column::Runtime]);
//! let request = Request { each: Each::Process, way: Way::OpenCoded, columns, room: 10_000, offsets: None };
//! let mut walk = Walk::load(&kernel, &request)?; // takes CAP_BPF and CAP_PERFMON
//! let records = walk.run()?; // takes no rights
//! if let (Some(pid), Some(runtime)) = (records.place(Column::Pid), records.place(Column::Runtime)) {
//!     for process in records.iter() {
//!         println!("{} has run {} ns", process.get(pid), process.get(runtime));
//!     }
//! }
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! **Shape**: [`Btf`] reads the kernel's description of its types, [`Kernel`] is what of it matters here. A [`Walk`] is
//! a BPF program that was made from that, instruction by instruction, for the [`Columns`] that are wanted, and that
//! runs when it is told to; what it writes is [`Records`]. No compiler, no library and no version of the kernel is
//! asked: what the kernel has by its own description is there, what it has not is not.
//!
//! What is read is what the kernel has: no permission of files, no PID namespace and no `hidepid` stands between. Who
//! shows it to others has to.
//!
//! **Not dumpable**: before its first program is loaded, a process with the capability to load it is made not dumpable
//! (`PR_SET_DUMPABLE` of `prctl(2)`), for good. Otherwise another process of the same user could take a map with
//! `pidfd_getfd(2)`, or read it with `ptrace(2)`, once the capabilities are given up. This is a setting of the whole
//! process: the kernel writes no core dump of it, only root can attach a debugger, and its files in `/proc` whose
//! permissions are for the owner alone, such as `io`, are root's. A program that sets it back does so at its own risk.

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
mod walk;

pub use btf::{Btf, BtfError, Member};
pub use column::{Column, Columns};
pub use kernel::{Kernel, KernelError};
pub use program::{Each, Way};
#[cfg(target_os = "linux")]
pub use walk::{Offsets, Place, Record, Records, Request, Torn, Walk, WalkError};
