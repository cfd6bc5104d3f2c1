//! Permission checks for displaying processes: a task iterator in the kernel returns all processes, and `/proc` hides
//! some from other users.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capabilities};

use crate::roots::Roots;

/// Returns the number of processes: the kernel's link count of `/proc`.
pub(in super::super) fn process_count(roots: &Roots) -> u32 {
    let count = rustix::fs::stat(&roots.proc).map_or(0, |stat| stat.st_nlink);
    u32::try_from(count).unwrap_or(0)
}

/// Returns the number of tasks (threads) of the machine, from `/proc/loadavg`.
pub(super) fn task_count(roots: &Roots) -> u32 {
    let text = fs::read_to_string(roots.proc.join("loadavg")).unwrap_or_default();
    // The text is like `0.20 0.18 0.12 2/80 11206`: the fifth part is the number of tasks.
    let tasks = text.split([' ', '/']).nth(4).and_then(|tasks| tasks.parse().ok());
    tasks.unwrap_or(0)
}

/// Checks that all processes that a task iterator returns may be displayed.
///
/// # Errors
/// The reason why the processes of a task iterator must not be displayed. An iterator returns processes of all PID
/// namespaces, with their pids of the first namespace. A `/proc` mounted with `hidepid` must keep hiding its
/// processes.
pub(super) fn may_show_all(roots: &Roots) -> Result<(), &'static str> {
    /// Name of the first PID namespace, the same in every kernel.
    const FIRST: &str = "pid:[4026531836]";
    let namespace = fs::read_link(roots.proc.join("self/ns/pid"));
    if namespace.is_ok_and(|name| name.as_os_str() != FIRST) {
        return Err("BPF would show processes outside this PID namespace");
    }
    if hides(&first_process(roots)) {
        return Err(HIDES);
    }
    Ok(())
}

pub(super) const HIDES: &str = "this /proc hides processes (hidepid), and BPF would show them";

/// Returns the path of the file of process 1 by which [`hides`] detects that `/proc` hides processes.
pub(super) fn first_process(roots: &Roots) -> PathBuf {
    roots.proc.join("1/stat")
}

/// Returns `true` if this `/proc`, which may just have been mounted again, hides processes of other users from this
/// thread.
pub(super) fn hides(first: &Path) -> bool {
    // Process 1 always exists and belongs to root. If it cannot be seen, other processes are hidden, too.
    matches!(rustix::fs::stat(first), Err(Errno::NOENT | Errno::ACCESS | Errno::PERM))
}

/// Method of determining if `/proc` would let this thread read the I/O of a process. Only the owner may read
/// `/proc/PID/io`, and only with permission to trace the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IoVisibility {
    /// Periodic check of a process's I/O file: this thread may read nearly everything.
    All,
    /// Check of the permission to trace a process: a thread without capabilities may trace only processes of its own
    /// user, who also owns their files. The files of this process itself may belong to another user: then the file
    /// decides.
    ByTracing,
    /// Access to the I/O file itself, because this thread may trace processes of other users, and not open their
    /// files.
    ByFile,
}

/// Returns the method of determining if this thread may read the I/O of a process.
pub(super) fn tells() -> IoVisibility {
    let opens = has(CapabilitySet::DAC_OVERRIDE) || has(CapabilitySet::DAC_READ_SEARCH);
    match (has(CapabilitySet::SYS_PTRACE), opens) {
        (true, true) => IoVisibility::All,
        (true, false) => IoVisibility::ByFile,
        (false, _) => IoVisibility::ByTracing,
    }
}

/// Returns `true` if this thread has the capabilities to load task iterators.
pub(super) fn may_load() -> bool {
    // The first one includes the two others.
    has(CapabilitySet::SYS_ADMIN) || has(CapabilitySet::BPF) && has(CapabilitySet::PERFMON)
}

fn has(capability: CapabilitySet) -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(capability))
}
