//! State of a machine at one time: plain data, for a screen, a page or a report.

use crate::clock::SystemTime;
use crate::{Birth, NoValue};

use super::sentence::Sentence;

/// Value of a counter in the state of a machine, or the reason why the counter has no value.
pub type StateValue = Result<f64, NoValue>;

/// State of a machine over the last interval.
///
/// Names come from the machine unchanged: a screen must escape them. Percentages of processors, disks and pressure are
/// 0 to 100; those of processes and control groups are 100 for each processor that they use.
#[derive(Clone, Debug)]
pub struct MachineState {
    /// Time of the sample that the state shows.
    pub time: SystemTime,
    /// Seconds between the state's sample and the previous sample; `None` for the first sample.
    pub interval: Option<f64>,
    /// Time since the machine was started, in seconds.
    pub up_time: StateValue,
    /// Mean number of threads that run or wait, over 1, 5 and 15 minutes.
    pub load: [StateValue; 3],
    /// Number of processes of the machine.
    pub process_count: StateValue,
    /// Number of threads that run or wait for a processor.
    pub running: StateValue,
    /// Number of processes that wait for storage.
    pub blocked: StateValue,
    /// Use of all processors of the machine together.
    pub processors: ProcessorState,
    /// Use of the machine's memory and swap.
    pub memory: MemoryState,
    /// Time that tasks lost to waiting for processors, memory and storage.
    pub pressure: PressureState,
    /// Disks of the machine, the busiest first.
    pub disks: Vec<DiskState>,
    /// File systems of the machine, the fullest first.
    pub file_systems: Vec<FileSystemState>,
    /// Network interfaces, the busiest first; the loopback interface, whose traffic stays inside the machine, is
    /// last.
    pub interfaces: Vec<InterfaceState>,
    /// TCP traffic over both versions of IP.
    pub tcp: TcpState,
    /// Processes with the greatest use of processors, memory or storage: see [`busiest`](super::busiest).
    pub processes: Vec<ProcessState>,
    /// Processor time of all processes that existed in the whole interval, in percent of one processor. Time of other
    /// processes, and of interrupts outside of processes, is not included.
    pub process_time: StateValue,
    /// Number of processes whose storage bytes were refused, and the reason.
    pub refused: Option<(usize, NoValue)>,
    /// Control groups with most processor time, the busiest first. A group is left out if a group below it uses
    /// nearly all of that time.
    pub groups_by_time: Vec<GroupState>,
    /// Control groups with most memory, the greatest first. A group is left out if a group below it uses nearly all
    /// of that memory.
    pub groups_by_memory: Vec<GroupState>,
    /// Reason why no control group is listed by processor time; `None` if there are such groups.
    pub no_groups: Option<NoValue>,
    /// Remarkable facts about the machine, the most urgent first.
    pub findings: Vec<Finding>,
    /// Rules whose findings are not known, because a value is missing.
    pub unchecked: Vec<UncheckedRule>,
    /// Differences between the machine's state now and a minute ago, or at the first sample.
    pub changes: Changes,
}

/// Use of all processors together, in percent of all their time.
#[derive(Clone, Debug)]
pub struct ProcessorState {
    /// Number of logical processors of the machine.
    pub count: usize,
    /// Time in which the processors were busy.
    pub busy: StateValue,
    /// Processor time that programs used outside of the kernel.
    pub user: StateValue,
    /// Processor time in the kernel.
    pub kernel: StateValue,
    /// Idle processor time in which the disks had unfinished requests of this machine.
    pub io_wait: StateValue,
    /// Processor time that the hypervisor gave to other machines.
    pub steal: StateValue,
}

/// Memory and swap of a machine, in bytes.
#[derive(Clone, Debug)]
pub struct MemoryState {
    /// Size of the machine's memory, in bytes.
    pub total: StateValue,
    /// Memory that programs can still get without swapping, in bytes.
    pub available: StateValue,
    /// Size of the swap areas, in bytes.
    pub swap_total: StateValue,
    /// Unused part of the swap areas, in bytes.
    pub swap_free: StateValue,
    /// Pages read from swap, per second.
    pub swap_in: StateValue,
    /// Pages written to swap, per second.
    pub swap_out: StateValue,
    /// Processes that the kernel ended for lack of memory, per second.
    pub kills: StateValue,
}

impl MemoryState {
    /// Returns the memory in use, in bytes: the total without the available part.
    ///
    /// # Errors
    /// The reason why either is not known.
    pub fn used(&self) -> StateValue {
        Ok(self.total.clone()? - self.available.clone()?)
    }

    /// Returns the share of memory in use, in percent.
    ///
    /// # Errors
    /// The reason why it is not known.
    pub fn used_percent(&self) -> StateValue {
        percent(self.used()?, self.total.clone()?)
    }

    /// Returns the used part of the swap areas, in bytes.
    ///
    /// # Errors
    /// The reason why it is not known.
    pub fn swap_used(&self) -> StateValue {
        Ok(self.swap_total.clone()? - self.swap_free.clone()?)
    }
}

/// Returns a part of a whole in percent, or a reason if the whole is 0.
pub(super) fn percent(part: f64, whole: f64) -> StateValue {
    if whole > 0.0 { Ok(part / whole * 100.0) } else { Err(NoValue::NegativeDenominator) }
}

/// Time that tasks lost to waiting in the last interval, in percent: the kernel's pressure stall information.
#[derive(Clone, Debug)]
pub struct PressureState {
    /// Time in which at least one task waited for a processor, in percent of the interval.
    pub processors: StateValue,
    /// Time in which at least one task waited for memory, in percent of the interval.
    pub memory: StateValue,
    /// Time in which all tasks waited for memory, in percent of the interval.
    pub memory_full: StateValue,
    /// Time in which at least one task waited for storage, in percent of the interval.
    pub storage: StateValue,
    /// Time in which all tasks waited for storage, in percent of the interval.
    pub storage_full: StateValue,
}

/// Disk of a machine, with its use in the last interval.
#[derive(Clone, Debug)]
pub struct DiskState {
    /// Name of the disk.
    pub name: String,
    /// Instance id of the disk.
    pub id: u32,
    /// Start time of the disk, if known; name, id and birth are its identity.
    pub birth: Birth,
    /// Share of the time in which the disk had a request, in percent.
    pub busy: StateValue,
    /// Bytes read from the disk per second.
    pub read: StateValue,
    /// Bytes written to the disk per second.
    pub written: StateValue,
    /// Mean time of a read from the disk, in seconds; no value if there was no read.
    pub read_latency: StateValue,
    /// Mean time of a write to the disk, in seconds; no value if there was no write.
    pub write_latency: StateValue,
    /// Mean number of requests to the disk that waited or were served.
    pub queue: StateValue,
}

/// Reason for the missing latency of a disk without requests.
pub(super) const NO_REQUEST: &str = "no request in this interval";

/// Reason for the missing latency of a disk's requests that were too short for the kernel to measure.
pub(super) const NO_TIME: &str = "shorter than the kernel measures";

/// Returns `true` if a disk's latency is missing because there were no requests or they took no measurable time. Such
/// a latency is known not to be long.
pub(super) fn is_no_time(latency: &StateValue) -> bool {
    matches!(latency, Err(NoValue::Unavailable(why)) if [NO_REQUEST, NO_TIME].contains(&&**why))
}

/// File system on a block device.
#[derive(Clone, Debug)]
pub struct FileSystemState {
    /// Mount point of the file system; on Windows the drive.
    pub name: String,
    /// Space of the file system that is free for programs, in bytes.
    pub free: StateValue,
    /// Size of the file system, in bytes.
    pub size: StateValue,
}

impl FileSystemState {
    /// Returns the free share of the file system's space, in percent.
    ///
    /// # Errors
    /// The reason why it is not known.
    pub fn free_percent(&self) -> StateValue {
        percent(self.free.clone()?, self.size.clone()?)
    }
}

/// Network interface with its traffic.
#[derive(Clone, Debug)]
pub struct InterfaceState {
    /// Name of the network interface.
    pub name: String,
    /// Bytes that the network interface received per second.
    pub received: StateValue,
    /// Bytes that the network interface sent per second.
    pub sent: StateValue,
    /// Packets that the network interface dropped per second, of both directions.
    pub drops: StateValue,
    /// Packets with errors at the network interface per second, of both directions.
    pub errors: StateValue,
}

/// TCP traffic of a machine, in segments per second.
#[derive(Clone, Debug)]
pub struct TcpState {
    /// TCP segments sent per second.
    pub sent: StateValue,
    /// TCP segments sent again because no acknowledgement came, per second.
    pub retransmitted: StateValue,
}

impl TcpState {
    /// Returns the share of TCP segments that were sent again, in percent.
    ///
    /// # Errors
    /// The reason why it is not known. The same, if nothing was sent.
    pub fn retransmitted_percent(&self) -> StateValue {
        // The kernel does not count retransmissions as segments sent.
        let again = self.retransmitted.clone()?;
        percent(again, self.sent.clone()? + again)
    }
}

/// Process with its use of the machine.
#[derive(Clone, Debug)]
pub struct ProcessState {
    /// Instance name of the process: the program's name, with the process id on systems whose names contain it.
    pub name: String,
    /// Id of the process.
    pub id: u32,
    /// Start time of the process, if known; name, id and birth are its identity.
    pub birth: Birth,
    /// Processor time of the process, in percent of one processor.
    pub processor_time: StateValue,
    /// Memory of the process in RAM, in bytes.
    pub memory: StateValue,
    /// Bytes that the process reads from storage per second.
    pub read: StateValue,
    /// Bytes that the process writes to storage per second.
    pub written: StateValue,
    /// Time since the process started, in seconds.
    pub age: StateValue,
}

impl ProcessState {
    /// Returns the bytes that the process reads from and writes to storage, per second.
    ///
    /// # Errors
    /// The reason why either is not known.
    pub fn storage(&self) -> StateValue {
        Ok(self.read.clone()? + self.written.clone()?)
    }
}

/// Control group with its use of the machine, which includes the groups below it.
#[derive(Clone, Debug)]
pub struct GroupState {
    /// Path of the control group below the mount.
    pub name: String,
    /// Processor time of the control group, in percent of one processor.
    pub processor_time: StateValue,
    /// Memory of the control group, in bytes.
    pub memory: StateValue,
}

/// Remarkable fact about a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Name of the rule that found the remarkable fact.
    pub rule: &'static str,
    /// Urgency of the remarkable fact.
    pub severity: Severity,
    /// Disk, file system or interface that the finding is about; `None` for the machine, or several of them. It is a
    /// name from the machine: a screen must escape it.
    pub subject: Option<String>,
    /// Sentence for users about the finding, with names apart from the words.
    pub text: Sentence,
    /// Command that shows more about the finding.
    pub next: &'static str,
}

/// Rule for findings whose condition could not be checked, because a value is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct UncheckedRule {
    /// Name of the unchecked rule for findings, such as `file-system-full`; it is never translated.
    pub rule: &'static str,
    /// Condition of the unchecked rule, in words for users.
    pub condition: &'static str,
    /// Disk, file system or interface whose value is missing; `None` for a value of the machine, or if no instance can
    /// be read. It is a name from the machine: a screen must escape it.
    pub subject: Option<String>,
    /// Reason why the value that the rule needs is missing.
    pub reason: NoValue,
}

/// Urgency of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Finding that is worth knowing, and is no problem by itself.
    Note,
    /// Finding that work is slowed down, or will be soon.
    Warning,
    /// Finding that work fails, or will fail soon.
    Critical,
}

/// Differences of a machine's state from an earlier state of the machine.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Seconds between the two compared states: at most about a minute, less if the overview began later.
    pub seconds: f64,
    /// Values of the machine's state that changed remarkably.
    pub values: Vec<ChangedValue>,
    /// Busy processes that started in the last minute.
    pub started: Vec<ProcessState>,
}

/// Value of a machine's state that changed remarkably.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedValue {
    /// Displayed name of the changed value, such as "processors busy".
    pub name: String,
    /// Earlier number of the changed value, in percent.
    pub before: f64,
    /// Present number of the changed value, in percent.
    pub now: f64,
}
