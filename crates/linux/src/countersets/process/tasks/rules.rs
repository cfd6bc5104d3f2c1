//! Who may see what: a walk in the kernel sees everything, and `/proc` does not show everything to everybody.

use std::fs;
use std::io::ErrorKind;

use rustix::thread::{CapabilitySet, capabilities};

use crate::roots::Roots;

/// How many processes there are, as the kernel counts its folders in `/proc`.
pub(in super::super) fn process_count(roots: &Roots) -> u32 {
    let count = rustix::fs::stat(&roots.proc).map_or(0, |stat| stat.st_nlink);
    u32::try_from(count).unwrap_or(0)
}

/// How many tasks there are.
pub(super) fn task_count(roots: &Roots) -> u32 {
    let text = fs::read_to_string(roots.proc.join("loadavg")).unwrap_or_default();
    let tasks = text.split([' ', '/']).nth(4).and_then(|tasks| tasks.parse().ok());
    tasks.unwrap_or(0)
}

/// # Errors
/// Why all that a walk meets must not be shown: it meets processes of all PID namespaces, and under the numbers that
/// they have in the first; and whoever mounted this `/proc` wanted it to hide some.
pub(super) fn may_show_all(roots: &Roots) -> Result<(), &'static str> {
    /// The number of the first PID namespace is the same in every kernel.
    const FIRST: &str = "pid:[4026531836]";
    let namespace = fs::read_link(roots.proc.join("self/ns/pid"));
    if namespace.is_ok_and(|name| name.as_os_str() != FIRST) {
        return Err("a walk over the tasks would show more than this PID namespace");
    }
    let first = fs::read(roots.proc.join("1/stat"));
    if first.is_err_and(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied)) {
        return Err("this /proc hides processes (hidepid), and a walk over the tasks would show them");
    }
    Ok(())
}

/// Whether this thread may read what only the owner of a process and the privileged may.
pub(super) fn may_trace_all() -> bool {
    has(CapabilitySet::SYS_PTRACE)
}

/// Whether this thread may load walks, as far as its capabilities say.
pub(super) fn may_load() -> bool {
    has(CapabilitySet::SYS_ADMIN) || has(CapabilitySet::BPF) && has(CapabilitySet::PERFMON)
}

fn has(capability: CapabilitySet) -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(capability))
}
