//! Who writes a file: what a header says of its process, and whether that process is still there.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Pid, test_kill_process};

/// A process, so that no other one is taken for it. What is unknown is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub pid: u64,
    /// Inode of its PID namespace.
    pub namespace: u64,
    /// When it started: clock ticks after the kernel.
    pub start_time: u64,
    /// Inode of the time namespace that this time is of: in another one the same process started at another time.
    pub time_namespace: u64,
    /// Of which run of the kernel.
    pub boot_id: [u8; 16],
    /// Its program.
    pub program: String,
}

impl Process {
    /// This process.
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

    /// Whether it is surely gone: not there, or another one has its pid. `namespace` is the asker's, to whom pids of
    /// other namespaces say nothing.
    pub fn is_gone(&self, namespace: u64) -> bool {
        if self.namespace != namespace || namespace == 0 {
            return false;
        }
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        // Only "no such process" says that it is gone: one of another user may not be asked.
        pid.is_none_or(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
    }

    /// Whether times that it says of itself are those of the asker, whose namespaces these are.
    pub fn has_clock_of(&self, namespace: u64, own_time: u64) -> bool {
        let time = match self.time_namespace {
            // Files of older programs do not say it. Their namespace can be seen from the same namespace of pids.
            0 if self.namespace == namespace => time_namespace(&self.pid.to_string()),
            time => time,
        };
        time == own_time || time == 0 || own_time == 0
    }

    /// Whether the process that has its pid now is another one, where that can be told. Dearer than
    /// [`is_gone`](Self::is_gone). The namespaces are the asker's, of pids and of time.
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

/// Inode of this process's PID namespace.
pub(crate) fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

/// Inode of the time namespace of a process; 0 if the kernel has none, or does not say.
pub(crate) fn time_namespace(pid: &str) -> u64 {
    fs::metadata(format!("/proc/{pid}/ns/time")).map_or(0, |namespace| namespace.ino())
}

/// The kernel's boot id.
pub(crate) fn boot_id() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let id: Option<perfset_core::Guid> = text.trim().parse().ok();
    id.map_or([0; 16], perfset_core::Guid::to_wire)
}

/// Field 22 of `/proc/PID/stat`.
fn start_time(pid: &str) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(after_name..)?).ok()?;
    rest.split_ascii_whitespace().nth(20)?.parse().ok() // the name was field 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there() {
        let own = Process::own();
        assert_eq!(own.pid, u64::from(std::process::id()));
        assert!(own.namespace != 0 && own.start_time != 0 && own.boot_id != [0; 16], "{own:?}");
        assert!(own.program.starts_with("perfset_shm"), "{own:?}");
        assert!(!own.is_gone(own.namespace) && !own.is_another(own.namespace, own.time_namespace));
        let younger = Process { start_time: own.start_time + 1, ..own.clone() };
        assert!(younger.is_another(own.namespace, own.time_namespace));
        assert!(!younger.is_another(own.namespace + 1, own.time_namespace), "its pid says nothing there");
    }

    /// The start time of a process is another one in each time namespace, so it tells nothing in another.
    #[test]
    fn start_times_of_other_time_namespaces() {
        let own = Process::own();
        if own.time_namespace == 0 {
            return; // a kernel without them
        }
        let (pid, time) = (own.namespace, own.time_namespace);
        let elsewhere =
            Process { start_time: own.start_time + 100_000, time_namespace: time + 1, ..own.clone() };
        assert!(!elsewhere.is_another(pid, time) && !elsewhere.has_clock_of(pid, time));
        let here = Process { time_namespace: time, ..elsewhere.clone() };
        assert!(here.is_another(pid, time) && here.has_clock_of(pid, time));
        let of_old_layout = Process { time_namespace: 0, ..elsewhere };
        assert!(of_old_layout.is_another(pid, time), "it is seen to be in this one");
        assert!(!of_old_layout.is_another(pid, time + 1), "it is seen to be in another");
    }

    #[test]
    fn a_process_that_ended_is_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = Process { pid: child.id().into(), ..Process::own() };
        child.wait().unwrap();
        assert!(process.is_gone(process.namespace));
        assert!(!process.is_gone(process.namespace + 1));
        assert!(Process { pid: u64::MAX, ..process.clone() }.is_gone(process.namespace));
    }
}
