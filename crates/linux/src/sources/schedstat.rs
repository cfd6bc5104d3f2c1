//! Parser of `/proc/schedstat`: activity of the scheduler on each CPU.
//!
//! Source: "Scheduler Statistics" in the kernel's documents.

use crate::sources::cpulist::CPU_LIMIT;
use crate::sources::text::{Text, TextError};

/// Statistics of the run queue of one CPU since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunQueue {
    /// Number of calls of `sched_yield` on this CPU.
    pub yields: u64,
    /// Number of calls of the kernel's `schedule` on this CPU.
    pub schedule_calls: u64,
    /// Number of calls of the kernel's `schedule` that left the CPU idle.
    pub left_idle: u64,
    /// Number of times that a task was woken up on this CPU.
    pub wakeups: u64,
    /// Number of wake-ups of a task that was to run on this CPU.
    pub local_wakeups: u64,
    /// Time that tasks ran on this CPU, in ns.
    pub run_ns: u64,
    /// Time that tasks waited for this CPU although they could have run, in ns.
    pub wait_ns: u64,
    /// Number of times that a task was given this CPU.
    pub timeslices: u64,
}

impl RunQueue {
    fn parse(line: &mut Text<'_>) -> Result<Self, TextError> {
        let yields = line.number()?;
        line.number()?; // of a scheduler that is gone: always 0
        let queue = Self {
            yields,
            schedule_calls: line.number()?,
            left_idle: line.number()?,
            wakeups: line.number()?,
            local_wakeups: line.number()?,
            run_ns: line.number()?,
            wait_ns: line.number()?,
            timeslices: line.number()?,
        };
        line.end_of_line()?; // with more columns it would be another version
        Ok(queue)
    }
}

/// Line `cpuN` of one CPU in `/proc/schedstat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuLine {
    /// Number of the CPU, from the name of its line.
    pub cpu: u32,
    /// Run queue of the CPU, or the error in its line of `/proc/schedstat`.
    pub queue: Result<RunQueue, TextError>,
}

/// Lines of all CPUs in `/proc/schedstat`, which are the same in versions 15, 16 and 17. A malformed line does not
/// affect the others; lines of domains are skipped.
///
/// ```
/// use perfset_linux::sources::schedstat::SchedStat;
///
/// let mut stat = SchedStat::default();
/// stat.parse(b"version 17\ntimestamp 4294\ncpu0 2 0 3 5 7 11 13 17 19\ndomain0 SMT 3 0 0\n").unwrap();
/// assert_eq!(stat.cpu(0).unwrap().queue.as_ref().unwrap().wait_ns, 17);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedStat {
    /// Lines of the online CPUs in `/proc/schedstat`, in ascending order.
    cpus: Vec<CpuLine>,
}

impl SchedStat {
    /// Versions of `/proc/schedstat` that have the same lines of CPUs; Linux 2.6.34 and newer print them.
    const VERSIONS: std::ops::RangeInclusive<u64> = 15..=17;

    /// Parses `/proc/schedstat`, replacing all previous contents.
    ///
    /// # Errors
    /// If the file is of another version, or malformed as a whole.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.cpus.clear();
        let mut text = Text::new(text);
        if !text.take(b"version ") {
            return Err(text.expected("the line \"version\""));
        }
        let before = text;
        // The columns have no names. In another version they may mean something else, and nothing would show
        // it.
        if !Self::VERSIONS.contains(&text.number()?) {
            return Err(before.expected("a version from 15 to 17"));
        }
        text.end_of_line()?;
        let mut lowest = 0;
        while !text.is_at_end() {
            if !text.take(b"cpu") {
                text.line()?; // the clock, or a domain
                continue;
            }
            let cpu = text.id(lowest..CPU_LIMIT)?;
            lowest = cpu.saturating_add(1);
            let mut line = text;
            self.cpus.push(CpuLine { cpu, queue: RunQueue::parse(&mut line) });
            if text.line().is_err() {
                return Ok(()); // cut: that line has its error
            }
        }
        Ok(())
    }

    /// Returns the line of one CPU in `/proc/schedstat`.
    #[must_use]
    pub fn cpu(&self, cpu: u32) -> Option<&CpuLine> {
        self.cpus.binary_search_by_key(&cpu, |line| line.cpu).ok().and_then(|at| self.cpus.get(at))
    }

    /// Returns the lines of all online CPUs in `/proc/schedstat`.
    #[must_use]
    pub fn cpus(&self) -> &[CpuLine] {
        &self.cpus
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SchedStat, TextError> {
        let mut stat = SchedStat { cpus: vec![CpuLine { cpu: 97, queue: Ok(RunQueue::default()) }] };
        stat.parse(text.as_bytes()).map(|()| stat)
    }

    #[test]
    fn versions_with_their_domains() {
        let queue = RunQueue {
            yields: 2,
            schedule_calls: 5,
            left_idle: 7,
            wakeups: 11,
            local_wakeups: 13,
            run_ns: 17,
            wait_ns: 19,
            timeslices: 23,
        };
        for (version, domain) in
            [(15, "domain0 3 0 0"), (16, "domain0 00000003 1 2"), (17, "domain0 SMT 3 1")]
        {
            let text =
                format!("version {version}\ntimestamp 7\ncpu0 2 3 5 7 11 13 17 19 23 \n{domain}\ncpu4 x\n");
            let stat = parse(&text).unwrap();
            assert_eq!(stat.cpu(0).unwrap().queue, Ok(queue), "{version}");
            assert_eq!(stat.cpu(4).unwrap().queue.clone().unwrap_err().line, 5, "{version}");
            assert_eq!((stat.cpu(1), stat.cpu(97)), (None, None));
        }
    }

    #[test]
    fn errors() {
        for (name, text, line, found) in [
            ("empty", "", 1, "the end of the file"),
            ("another file", "cpu0 1\n", 1, "\"cpu0\""),
            ("an old version", "version 14\n", 1, "\"14\""),
            ("a new version", "version 18\ncpu0 2 0 3 5 7 11 13 17 19\n", 1, "\"18\""),
            ("twice", "version 15\ncpu1 2\ncpu1 2\n", 3, "\"1\""),
            ("cut in a domain", "version 15\ncpu1 2\ndomain0 3", 3, "the end of the file"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.line, error.found.as_str()), (line, found), "{name}");
        }
        for line in
            ["cpu1 2 0 3 5 7 11 13 17", "cpu1 2 0 3 5 7 11 13 17\n", "cpu1 2 0 3 5 7 11 13 17 19 23\n"]
        {
            let stat = parse(&format!("version 16\n{line}")).unwrap();
            assert_eq!(stat.cpu(1).unwrap().queue.clone().unwrap_err().line, 2, "{line:?}");
        }
    }
}
