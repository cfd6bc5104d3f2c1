//! Provider of the counterset Objects.

use perfset_catalogue::objects as id;
use perfset_core::{CounterId, Counterset, NoValue};

use crate::countersets::process_count::ProcessCount;
use crate::provider::{Collection, ParsedFile, SeqFileKind, SharedFile, ValueSource, unavailable};
use crate::roots::Roots;
use crate::sources::loadavg::LoadAvg;
use crate::sources::sysvipc;

#[cfg(test)]
mod tests;

/// Values of the counterset Objects, from the names in `/proc`, `/proc/loadavg` and `/proc/sysvipc`.
#[derive(Debug)]
pub(crate) struct Objects {
    processes: ProcessCount,
    loadavg: ParsedFile<LoadAvg>,
    semaphores: ParsedFile<sysvipc::IpcObjects>,
    shared_memory: ParsedFile<sysvipc::IpcObjects>,
}

impl Objects {
    /// Creates the values of the counterset Objects from files below `roots`, and files that other countersets share.
    pub(crate) fn new(roots: &Roots, processes: ProcessCount, loadavg: SharedFile) -> Self {
        let sysvipc = |name| {
            let path = roots.proc.join("sysvipc").join(name);
            ParsedFile::new(
                path,
                SeqFileKind::Records,
                "this kernel has no System V IPC",
                sysvipc::IpcObjects::parse,
            )
        };
        Self {
            processes,
            loadavg: ParsedFile::from_file(loadavg, "there is no /proc/loadavg", LoadAvg::parse),
            semaphores: sysvipc("sem"),
            shared_memory: sysvipc("shm"),
        }
    }
}

impl ValueSource for Objects {
    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        match counter {
            id::PROCESSES => self.processes.get(pass),
            id::THREADS => Ok(self.loadavg.get(pass)?.threads),
            id::SEMAPHORES => Ok(self.semaphores.get(pass)?.count),
            id::SECTIONS => Ok(self.shared_memory.get(pass)?.count),
            id::EVENTS => Err(unavailable("the kernel has no count of eventfds")),
            id::MUTEXES => Err(unavailable("mutexes are memory of programs")),
            _ => Err(NoValue::NotGiven),
        }
    }
}
