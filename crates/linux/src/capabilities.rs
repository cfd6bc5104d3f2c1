//! The rights that loading walks takes.

use std::io;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Gives up `CAP_BPF` and `CAP_PERFMON` for good, and no other capability: walks that are loaded go on. No more can be
/// loaded, unless there is `CAP_SYS_ADMIN`, which contains both rights, as root has it. For programs that go on
/// collecting; a library has no business with its program's capabilities.
///
/// Capabilities are a thread's: those of other threads could not be given up. Call it at the start of `main`.
///
/// # Errors
/// If there are other threads, or `/proc` does not tell: then nothing happened. If the kernel refuses, which it does
/// not.
pub fn drop_walk_capabilities() -> io::Result<()> {
    let sets = capabilities(None)?;
    let unneeded = CapabilitySet::BPF | CapabilitySet::PERFMON;
    let has = sets.permitted | sets.effective | sets.inheritable;
    if !has.intersects(unneeded) {
        return Ok(());
    }
    if std::fs::read_dir("/proc/self/task")?.count() > 1 {
        return Err(io::Error::other("there are other threads, which would keep CAP_BPF and CAP_PERFMON"));
    }
    let mut sets = sets;
    for set in [&mut sets.effective, &mut sets.permitted, &mut sets.inheritable] {
        set.remove(unneeded);
    }
    Ok(set_capabilities(None, sets)?)
}
