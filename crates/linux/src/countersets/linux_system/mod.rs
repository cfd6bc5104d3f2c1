//! Provider of the counterset Linux System.

use perfset_catalogue::linux_system as id;
use perfset_core::{CounterId, Counterset, Mark, NoValue};

use crate::provider::{
    Attribute, Collection, MarkedRaw, ParsedFile, SeqFileKind, SharedFile, ValueSource, unavailable,
};
use crate::roots::Roots;
use crate::sources::file_nr::FileNr;
use crate::sources::loadavg::{LoadAvg, Loads};
use crate::sources::proc_stat::SystemTotals;

#[cfg(test)]
mod tests;

/// Values of the counterset Linux System, from `/proc/stat`, `/proc/loadavg` and files of `/proc/sys`.
#[derive(Debug)]
pub(crate) struct LinuxSystem {
    stat: ParsedFile<SystemTotals>,
    loads: ParsedFile<Loads>,
    threads: ParsedFile<LoadAvg>,
    files: ParsedFile<FileNr>,
    entropy: Attribute,
    pool_size: Attribute,
    pid_max: Attribute,
    threads_max: Attribute,
    hung_tasks: Attribute,
}

/// Base of the load-average counters, whose raw values are hundredths. The counter type displays the raw value, times
/// 100, divided by the base.
const LOAD_BASE: u64 = 10_000;

impl LinuxSystem {
    /// Creates the values of Linux System from files below `roots`, and a `/proc/stat` and a `/proc/loadavg` that
    /// other countersets share.
    pub(crate) fn new(roots: &Roots, stat: SharedFile, loadavg: SharedFile) -> Self {
        let sys = |name| roots.proc.join("sys").join(name);
        let (no_loadavg, no_files) = ("there is no /proc/loadavg", "there is no /proc/sys/fs/file-nr");
        let no_entropy = "there is no /proc/sys/kernel/random/entropy_avail";
        let no_pool_size = "there is no /proc/sys/kernel/random/poolsize";
        let no_threads_max = "there is no /proc/sys/kernel/threads-max";
        let no_hung_tasks = "this kernel does not count hung tasks";
        Self {
            stat: ParsedFile::from_file(stat, "there is no /proc/stat", SystemTotals::parse),
            loads: ParsedFile::from_file(loadavg.clone(), no_loadavg, Loads::parse),
            threads: ParsedFile::from_file(loadavg, no_loadavg, LoadAvg::parse),
            files: ParsedFile::new(sys("fs/file-nr"), SeqFileKind::Single, no_files, FileNr::parse),
            entropy: Attribute::new(sys("kernel/random/entropy_avail"), true, no_entropy),
            pool_size: Attribute::new(sys("kernel/random/poolsize"), true, no_pool_size),
            pid_max: Attribute::new(sys("kernel/pid_max"), true, "there is no /proc/sys/kernel/pid_max"),
            threads_max: Attribute::new(sys("kernel/threads-max"), true, no_threads_max),
            hung_tasks: Attribute::new(sys("kernel/hung_task_detect_count"), true, no_hung_tasks),
        }
    }

    /// Returns a count of open files, at most 10 s old: the kernel adds it up over the CPUs, which costs as much as all
    /// other values together.
    fn files(&mut self, of: fn(&FileNr) -> Option<u64>, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let (files, reused) = self.files.in_turn(pass)?;
        let raw = of(files).ok_or(unavailable("there is no limit"))?;
        Ok(MarkedRaw::new(raw, reused.then_some(Mark::Reused)))
    }
}

impl ValueSource for LinuxSystem {
    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        Ok(match counter {
            id::LOAD_AVERAGE_1_MINUTE => self.loads.get(pass)?.minutes_1,
            id::LOAD_AVERAGE_5_MINUTES => self.loads.get(pass)?.minutes_5,
            id::LOAD_AVERAGE_15_MINUTES => self.loads.get(pass)?.minutes_15,
            id::LOAD_AVERAGE_BASE => LOAD_BASE,
            id::PROCESSES_CREATED_PER_SEC => self.stat.number(|stat| &stat.processes, pass)?,
            id::INTERRUPTS_PER_SEC => self.stat.number(|stat| &stat.intr, pass)?,
            id::RUNNING_THREADS => self.stat.number(|stat| &stat.procs_running, pass)?,
            id::BLOCKED_PROCESSES => self.stat.number(|stat| &stat.procs_blocked, pass)?,
            id::ENTROPY_AVAILABLE => self.entropy.get(pass)?,
            id::ENTROPY_POOL_SIZE => self.pool_size.get(pass)?,
            id::THREADS_LIMIT => self.threads_max.get(pass)?,
            id::HUNG_TASKS => self.hung_tasks.get(pass)?,
            // Every thread has an id of the same range.
            id::PERCENT_PROCESS_IDS_IN_USE => self.threads.get(pass)?.threads,
            id::PERCENT_PROCESS_IDS_IN_USE_BASE | id::PROCESS_ID_LIMIT => self.pid_max.get(pass)?,
            _ => return Err(NoValue::NotGiven),
        })
    }

    fn marked_value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        match counter {
            id::OPEN_FILES => self.files(|files| Some(files.open()), pass),
            id::OPEN_FILES_LIMIT => self.files(FileNr::limit, pass),
            _ => self.value(counter, pass).map(MarkedRaw::from),
        }
    }
}
