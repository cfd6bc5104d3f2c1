//! Protection of the task iterator's BPF maps from other processes of the same user.
//!
//! A map contains numbers of every process of the machine. While this process has `CAP_BPF`, the kernel protects its
//! file descriptors from `pidfd_getfd(2)` and its memory from `ptrace(2)`. Only processes that have `CAP_BPF`, too,
//! are exempt. Once the capability is given up, any process of the same user could use both, and read what `/proc`
//! refuses it. A process that is not dumpable is protected from both.
//!
//! Source: `PR_SET_DUMPABLE` of `prctl(2)`; "Ptrace access mode checking" of `ptrace(2)`.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, capabilities};

/// Makes this process not dumpable, before it loads its first BPF program.
///
/// Nothing happens if this thread has no capability with which the kernel would take a program: such a process stays
/// as it is. Nor does anything happen from the second time on, so that a program can decide otherwise afterwards.
///
/// # Errors
/// If the kernel refuses it, such as by seccomp. No program may be loaded then.
pub(crate) fn from_same_user() -> io::Result<()> {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    if IS_DONE.load(Relaxed) || !can_load()? {
        return Ok(());
    }
    // The flag is stored only after the call succeeded: a failed attempt is made again.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    IS_DONE.store(true, Relaxed);
    Ok(())
}

/// Returns `true` if this thread has a capability with which some BPF programs can be loaded.
fn can_load() -> io::Result<bool> {
    let effective = capabilities(None)?.effective;
    Ok(effective.intersects(CapabilitySet::BPF | CapabilitySet::SYS_ADMIN))
}
