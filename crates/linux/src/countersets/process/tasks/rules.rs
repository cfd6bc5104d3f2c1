//! Who may see what: a walk in the kernel sees everything, and `/proc` does not show everything to everybody.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
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
    if hides(&first_process(roots)) {
        return Err(HIDES);
    }
    Ok(())
}

pub(super) const HIDES: &str =
    "this /proc hides processes (hidepid), and a walk over the tasks would show them";

/// Where [`hides`] looks.
pub(super) fn first_process(roots: &Roots) -> PathBuf {
    roots.proc.join("1/stat")
}

/// Whether whoever mounted a `/proc`, maybe just now, wants it to hide others' processes from this thread.
pub(super) fn hides(first: &Path) -> bool {
    matches!(rustix::fs::stat(first), Err(Errno::NOENT | Errno::ACCESS | Errno::PERM))
}

/// Who tells whether `/proc` would show what a process has read and written: that file is its owner's alone, and takes
/// the right to trace the process besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tells {
    /// This thread may see nearly everything.
    Nothing,
    /// Who may trace a process without further rights has its user, and so owns its files. This one's own may be
    /// another's: then the file tells.
    Tracing,
    /// The file, because this thread may trace the processes of others, and not open their files.
    File,
}

/// What holds for this thread.
pub(super) fn tells() -> Tells {
    let opens = has(CapabilitySet::DAC_OVERRIDE) || has(CapabilitySet::DAC_READ_SEARCH);
    match (has(CapabilitySet::SYS_PTRACE), opens) {
        (true, true) => Tells::Nothing,
        (true, false) => Tells::File,
        (false, _) => Tells::Tracing,
    }
}

/// Whether this thread may load walks, as far as its capabilities say.
pub(super) fn may_load() -> bool {
    has(CapabilitySet::SYS_ADMIN) || has(CapabilitySet::BPF) && has(CapabilitySet::PERFMON)
}

fn has(capability: CapabilitySet) -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(capability))
}
