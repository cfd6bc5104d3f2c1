//! Provider of the counterset System.

use perfset_catalogue::system as id;
use perfset_core::{CounterId, Counterset, NoValue};

use crate::countersets::process_count::ProcessCount;
use crate::provider::{Collection, ParsedFile, SharedFile, ValueSource};
use crate::sources::loadavg::LoadAvg;
use crate::sources::proc_stat::SystemTotals;

#[cfg(test)]
mod tests;

/// Values of the counterset System, from `/proc/stat`, `/proc/loadavg`, the names in `/proc`, and a clock.
#[derive(Debug)]
pub(crate) struct System {
    start_100ns: fn() -> u64,
    stat: ParsedFile<SystemTotals>,
    loadavg: ParsedFile<LoadAvg>,
    processes: ProcessCount,
}

impl System {
    /// Creates the values of the counterset System from files that other countersets share. `start_100ns` returns the
    /// start time of the machine, as PerfTime100NSec.
    pub(crate) fn new(
        stat: SharedFile,
        loadavg: SharedFile,
        processes: ProcessCount,
        start_100ns: fn() -> u64,
    ) -> Self {
        Self {
            start_100ns,
            stat: ParsedFile::from_file(stat, "there is no /proc/stat", SystemTotals::parse),
            loadavg: ParsedFile::from_file(loadavg, "there is no /proc/loadavg", LoadAvg::parse),
            processes,
        }
    }
}

impl ValueSource for System {
    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        Ok(match counter {
            id::CONTEXT_SWITCHES_PER_SEC => self.stat.number(|stat| &stat.ctxt, pass)?,
            id::PROCESSOR_QUEUE_LENGTH => {
                // The kernel also counts threads that run. Windows counts only those that wait, so one for
                // each processor is subtracted.
                let runnable = self.stat.number(|stat| &stat.procs_running, pass)?;
                runnable.saturating_sub(self.stat.get(pass)?.online_cpus)
            }
            // A start time, from which the formula of the counter computes the age.
            id::SYSTEM_UP_TIME => (self.start_100ns)(),
            id::THREADS => self.loadavg.get(pass)?.threads,
            id::PROCESSES => self.processes.get(pass)?,
            _ => return Err(never(counter)),
        })
    }
}

/// Returns the reason why a counter of System has no value on any Linux.
fn never(counter: CounterId) -> NoValue {
    let why = match counter {
        id::FILE_READ_OPERATIONS_PER_SEC
        | id::FILE_WRITE_OPERATIONS_PER_SEC
        | id::FILE_DATA_OPERATIONS_PER_SEC
        | id::FILE_READ_BYTES_PER_SEC
        | id::FILE_WRITE_BYTES_PER_SEC => {
            "the kernel counts it by process only, pipes and terminals included"
        }
        id::FILE_CONTROL_OPERATIONS_PER_SEC
        | id::FILE_CONTROL_BYTES_PER_SEC
        | id::FLOATING_EMULATIONS_PER_SEC => "the kernel does not count them",
        id::SYSTEM_CALLS_PER_SEC => "the kernel counts them only while they are traced",
        id::ALIGNMENT_FIXUPS_PER_SEC => "there is no such count for all architectures and all programs",
        id::EXCEPTION_DISPATCHES_PER_SEC => "the kernel does not count signals",
        id::PERCENT_REGISTRY_QUOTA_IN_USE | id::PERCENT_REGISTRY_QUOTA_IN_USE_BASE => "Linux has no registry",
        _ => return NoValue::NotGiven,
    };
    NoValue::Unavailable(why.into())
}
