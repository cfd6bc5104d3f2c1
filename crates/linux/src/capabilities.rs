//! Capabilities for loading BPF task iterators, and elevated privileges.

use std::io;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Gives up `CAP_BPF` and `CAP_PERFMON` for good, and no other capability. Task iterators that are loaded keep
/// working. No more can be loaded, except with `CAP_SYS_ADMIN`, which root has and which includes both capabilities.
/// Meant for programs that keep collecting; a library must not change its program's capabilities.
///
/// Capabilities belong to a thread: those of other threads could not be given up. Call it at the start of `main`.
///
/// # Errors
/// If there are other threads, or `/proc` does not show their number: then nothing was changed. If the kernel
/// refuses, which does not happen in practice.
pub fn drop_walk_capabilities() -> io::Result<()> {
    let sets = capabilities(None)?;
    let unneeded = CapabilitySet::BPF | CapabilitySet::PERFMON;
    let has = sets.permitted | sets.effective | sets.inheritable;
    // Without them there is nothing to give up, and the number of threads does not matter.
    if !has.intersects(unneeded) {
        return Ok(());
    }
    if std::fs::read_dir("/proc/self/task")?.count() > 1 {
        return Err(io::Error::other("there are other threads, which would keep CAP_BPF and CAP_PERFMON"));
    }
    let mut sets = sets;
    // All three sets: from the permitted set a thread can raise a capability again, and from the inheritable
    // set a program that it executes can get one.
    for set in [&mut sets.effective, &mut sets.permitted, &mut sets.inheritable] {
        set.remove(unneeded);
    }
    Ok(set_capabilities(None, sets)?)
}

/// Returns `true` if the program runs with elevated privileges (`AT_SECURE`): then its environment is not trusted.
#[must_use]
pub fn has_more_rights() -> bool {
    #![expect(unsafe_code, reason = "rustix has it for programs without libc only")]
    // SAFETY: it reads what the kernel passed to the process at its start.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
