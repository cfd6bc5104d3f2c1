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

    /// Whether the process that has its pid now is another one. Dearer than [`is_gone`](Self::is_gone).
    pub fn is_another(&self, namespace: u64) -> bool {
        if self.namespace != namespace || namespace == 0 || self.start_time == 0 {
            return false;
        }
        start_time(&self.pid.to_string()).is_some_and(|start| start != self.start_time)
    }
}

/// Inode of this process's PID namespace.
pub(crate) fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
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
        assert!(!own.is_gone(own.namespace) && !own.is_another(own.namespace));
        let younger = Process { start_time: own.start_time + 1, ..own.clone() };
        assert!(younger.is_another(own.namespace));
        assert!(!younger.is_another(own.namespace + 1), "its pid says nothing there");
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
