//! Identity of the process that writes a file, and checks whether that process is still running.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Pid, test_kill_process};

/// Identity of a process, which distinguishes it from any other process. Unknown fields are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcessIdentity {
    pub pid: u64,
    /// Inode of the PID namespace of the process.
    pub namespace: u64,
    /// Start time of the process in clock ticks since boot.
    pub start_time: u64,
    /// Inode of the time namespace of `start_time`: in another time namespace, the same process has another start
    /// time.
    pub time_namespace: u64,
    /// Boot ID of the kernel on which the process runs.
    pub boot_id: [u8; 16],
    /// Name of the program that the process runs.
    pub program: String,
}

impl ProcessIdentity {
    /// Returns the identity of this process.
    pub fn own() -> Self {
        let program = fs::read_link("/proc/self/exe").ok().or_else(|| std::env::current_exe().ok());
        let name =
            program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        Self {
            pid: std::process::id().into(),
            namespace: namespace(),
            start_time: start_time("self").unwrap_or(0),
            time_namespace: time_namespace("self"),
            boot_id: boot_id(),
            program: name.unwrap_or_default(),
        }
    }

    /// Returns `true` if no process has the identity's pid any more. `namespace` is the caller's PID namespace; pids
    /// of other namespaces are unknown there.
    pub fn is_gone(&self, namespace: u64) -> bool {
        if self.namespace != namespace || namespace == 0 {
            return false;
        }
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        // Only "no such process" proves that it has exited: a process of another user may refuse the signal.
        pid.is_none_or(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
    }

    /// Returns `true` if times in this identity use the clocks of the caller, whose PID and time namespaces are
    /// given.
    pub fn has_clock_of(&self, namespace: u64, own_time: u64) -> bool {
        let time = match self.time_namespace {
            // Files of older programs do not contain their time namespace. It can be looked up from the same PID
            // namespace.
            0 if self.namespace == namespace => time_namespace(&self.pid.to_string()),
            time => time,
        };
        time == own_time || time == 0 || own_time == 0
    }

    /// Returns `true` if another process has the identity's pid now, as far as can be determined. More expensive than
    /// [`is_gone`](Self::is_gone). The arguments are the caller's PID and time namespaces.
    pub fn is_another(&self, namespace: u64, own_time: u64) -> bool {
        if self.namespace != namespace || namespace == 0 || self.start_time == 0 {
            return false;
        }
        if !self.has_clock_of(namespace, own_time) {
            return false; // each of both sees another start time of the same process
        }
        start_time(&self.pid.to_string()).is_some_and(|start| start != self.start_time)
    }
}

/// Returns the inode of this process's PID namespace.
pub(crate) fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

/// Returns the inode of a process's time namespace; 0 if the kernel has none, or does not show it.
pub(crate) fn time_namespace(pid: &str) -> u64 {
    fs::metadata(format!("/proc/{pid}/ns/time")).map_or(0, |namespace| namespace.ino())
}

/// Returns the boot ID of the running kernel.
pub(crate) fn boot_id() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let id: Option<perfset_core::Guid> = text.trim().parse().ok();
    id.map_or([0; 16], perfset_core::Guid::to_wire)
}

/// Returns the start time of a process: field 22 of `/proc/PID/stat`.
fn start_time(pid: &str) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets, and can itself contain blanks and brackets. Only the last bracket is
    // certain.
    let after_name = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(after_name..)?).ok()?;
    rest.split_ascii_whitespace().nth(20)?.parse().ok() // the name was field 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there() {
        let own = ProcessIdentity::own();
        assert_eq!(own.pid, u64::from(std::process::id()));
        assert!(own.namespace != 0 && own.start_time != 0 && own.boot_id != [0; 16], "{own:?}");
        assert!(own.program.starts_with("perfset_shm"), "{own:?}");
        assert!(!own.is_gone(own.namespace) && !own.is_another(own.namespace, own.time_namespace));
        let younger = ProcessIdentity { start_time: own.start_time + 1, ..own.clone() };
        assert!(younger.is_another(own.namespace, own.time_namespace));
        assert!(!younger.is_another(own.namespace + 1, own.time_namespace), "its pid says nothing there");
    }

    /// Checks that a start time of another time namespace is not compared, because the same process has another start
    /// time there.
    #[test]
    fn start_times_of_other_time_namespaces() {
        let own = ProcessIdentity::own();
        if own.time_namespace == 0 {
            return; // a kernel without them
        }
        let (pid, time) = (own.namespace, own.time_namespace);
        let elsewhere =
            ProcessIdentity { start_time: own.start_time + 100_000, time_namespace: time + 1, ..own.clone() };
        assert!(!elsewhere.is_another(pid, time) && !elsewhere.has_clock_of(pid, time));
        let here = ProcessIdentity { time_namespace: time, ..elsewhere.clone() };
        assert!(here.is_another(pid, time) && here.has_clock_of(pid, time));
        let of_old_layout = ProcessIdentity { time_namespace: 0, ..elsewhere };
        assert!(of_old_layout.is_another(pid, time), "it is seen to be in this one");
        assert!(!of_old_layout.is_another(pid, time + 1), "it is seen to be in another");
    }

    #[test]
    fn a_process_that_ended_is_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = ProcessIdentity { pid: child.id().into(), ..ProcessIdentity::own() };
        child.wait().unwrap();
        assert!(process.is_gone(process.namespace));
        assert!(!process.is_gone(process.namespace + 1));
        assert!(ProcessIdentity { pid: u64::MAX, ..process.clone() }.is_gone(process.namespace));
    }
}
