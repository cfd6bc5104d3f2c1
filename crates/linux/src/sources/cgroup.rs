//! Parsers of the files of a control group (cgroup), of version 2 and of version 1.
//!
//! Source: "Control Group v2" in the kernel's admin guide, and the documents of the controllers of version 1 there.

use crate::sources::named::{Number, numbers};
use crate::sources::text::{Text, TextError};

/// CPU times and limits of a control group, from `cpu.stat`. Version 1 uses the same name for another file.
///
/// ```
/// use perfset_linux::sources::cgroup::CpuStat;
///
/// let mut stat = CpuStat::default();
/// stat.parse(b"usage_usec 5\nuser_usec 2\nsystem_usec 3\n").unwrap();
/// assert_eq!((stat.usage_usec, stat.nr_periods), (Some(Ok(5)), None));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuStat {
    /// Time that the control group ran on processors, in µs.
    pub usage_usec: Number,
    /// Time that the control group ran in user mode, in µs.
    pub user_usec: Number,
    /// Time that the control group ran in kernel mode, in µs.
    pub system_usec: Number,
    /// Number of periods in which the control group had a limit of CPU time and work to do.
    pub nr_periods: Number,
    /// Number of periods in which the control group reached its limit of CPU time.
    pub nr_throttled: Number,
    /// Time for which the control group was stopped by its limit of CPU time, in µs.
    pub throttled_usec: Number,
    /// Time for which the control group was stopped by its limit of CPU time, in ns, from version 1.
    pub throttled_time: Number,
    /// Number of periods in which the control group ran beyond its limit of CPU time. Since Linux 5.14.
    pub nr_bursts: Number,
    /// Time that the control group ran beyond its limit of CPU time, in µs.
    pub burst_usec: Number,
    /// Time that the control group ran beyond its limit of CPU time, in ns, from version 1.
    pub burst_time: Number,
}

impl CpuStat {
    /// Parses a control group's `cpu.stat`, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut wanted = [
            ("usage_usec ", &mut self.usage_usec),
            ("user_usec ", &mut self.user_usec),
            ("system_usec ", &mut self.system_usec),
            ("nr_periods ", &mut self.nr_periods),
            ("nr_throttled ", &mut self.nr_throttled),
            ("throttled_usec ", &mut self.throttled_usec),
            ("throttled_time ", &mut self.throttled_time),
            ("nr_bursts ", &mut self.nr_bursts),
            ("burst_usec ", &mut self.burst_usec),
            ("burst_time ", &mut self.burst_time),
        ];
        numbers(&mut Text::new(text), Text::last_number, &mut wanted)
    }
}

/// CPU times of a control group in `cpuacct.stat` of version 1. Unit: clock ticks (`sysconf(_SC_CLK_TCK)` a second).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuAcctStat {
    /// Time that the control group ran in user mode, in clock ticks.
    pub user: Number,
    /// Time that the control group ran in kernel mode, in clock ticks.
    pub system: Number,
}

impl CpuAcctStat {
    /// Parses a control group's `cpuacct.stat`, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut wanted = [("user ", &mut self.user), ("system ", &mut self.system)];
        numbers(&mut Text::new(text), Text::last_number, &mut wanted)
    }
}

/// Numbers of memory events of a control group in `memory.events`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryEvents {
    /// Number of times that memory was taken from the part of the control group that `memory.low` protects.
    pub low: Number,
    /// Number of times that the control group's memory was above `memory.high`.
    pub high: Number,
    /// Number of times that the control group's memory was about to exceed `memory.max`.
    pub max: Number,
    /// Number of times that no memory could be freed for the control group.
    pub oom: Number,
    /// Number of processes of the control group that were killed for lack of memory.
    pub oom_kill: Number,
}

impl MemoryEvents {
    /// Parses a control group's `memory.events`, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut wanted = [
            // The blank is part of the name: `oom` is also the beginning of `oom_kill` and `oom_group_kill`.
            ("low ", &mut self.low),
            ("high ", &mut self.high),
            ("max ", &mut self.max),
            ("oom ", &mut self.oom),
            ("oom_kill ", &mut self.oom_kill),
        ];
        numbers(&mut Text::new(text), Text::last_number, &mut wanted)
    }

    /// Parses a control group's `memory.oom_control` of version 1. That file has only [`oom_kill`](Self::oom_kill),
    /// since Linux 4.13.
    ///
    /// # Errors
    /// If `text` is another file.
    pub fn parse_v1(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        // Requested although no counter needs it. A kernel before 4.13 prints no `oom_kill`, and a text
        // without any known line would be an error.
        let mut always_there = None;
        let mut wanted = [("under_oom ", &mut always_there), ("oom_kill ", &mut self.oom_kill)];
        numbers(&mut Text::new(text), Text::last_number, &mut wanted)
    }
}

/// Memory use and events in a control group's `memory.stat`, including the groups below. Unit: bytes, and events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryStat {
    /// Memory of the control group that belongs to no file (anonymous).
    pub anon: Number,
    /// Cached contents of files that the control group is charged for.
    pub file: Number,
    /// All memory of the kernel that the control group is charged for. Since Linux 5.18.
    pub kernel: Number,
    /// Memory of socket buffers that the control group is charged for.
    pub sock: Number,
    /// Memory of slab caches that the control group is charged for.
    pub slab: Number,
    /// Number of anonymous pages of the control group that were needed again soon. Since Linux 5.9.
    pub workingset_refault_anon: Number,
    /// Number of pages of files of the control group that were needed again soon. Since Linux 5.9.
    pub workingset_refault_file: Number,
    /// Number of page faults in the control group.
    pub pgfault: Number,
    /// Number of page faults in the control group that read from disk.
    pub pgmajfault: Number,
}

impl MemoryStat {
    /// Parses a control group's `memory.stat` of version 2, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut wanted = [
            ("anon ", &mut self.anon),
            ("file ", &mut self.file),
            ("kernel ", &mut self.kernel),
            ("sock ", &mut self.sock),
            ("slab ", &mut self.slab),
            ("workingset_refault_anon ", &mut self.workingset_refault_anon),
            ("workingset_refault_file ", &mut self.workingset_refault_file),
            ("pgfault ", &mut self.pgfault),
            ("pgmajfault ", &mut self.pgmajfault),
        ];
        numbers(&mut Text::new(text), Text::last_number, &mut wanted)
    }

    /// Parses a control group's `memory.stat` of version 1, which has no lines for `kernel`, `sock` and `slab`.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse_v1(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut wanted = [
            // The lines without `total_` omit the groups below, which version 2 always includes.
            ("total_cache ", &mut self.file),
            ("total_rss ", &mut self.anon),
            ("total_workingset_refault_anon ", &mut self.workingset_refault_anon),
            ("total_workingset_refault_file ", &mut self.workingset_refault_file),
            ("total_pgfault ", &mut self.pgfault),
            ("total_pgmajfault ", &mut self.pgmajfault),
        ];
        numbers(&mut Text::new(text), Text::last_number, &mut wanted)
    }
}

/// I/O of a control group with block devices, as sums over all devices. A device without any I/O yet counts as 0.
///
/// ```
/// use perfset_linux::sources::cgroup::IoSums;
///
/// let mut sums = IoSums::default();
/// sums.parse(b"8:0 rbytes=2 wbytes=3 rios=5 wios=7\n8:16 rbytes=11 wbytes=0 rios=1 wios=0\n").unwrap();
/// assert_eq!((sums.read_bytes, sums.reads), (13, 6));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoSums {
    /// Number of bytes that the control group read, `rbytes`.
    pub read_bytes: u64,
    /// Number of bytes that the control group wrote, `wbytes`.
    pub write_bytes: u64,
    /// Number of bytes that the control group discarded, `dbytes`.
    pub discard_bytes: u64,
    /// Number of reads by the control group, `rios`.
    pub reads: u64,
    /// Number of writes by the control group, `wios`.
    pub writes: u64,
    /// Number of discards by the control group, `dios`.
    pub discards: u64,
}

impl IoSums {
    /// Parses a control group's `io.stat`, replacing all previous contents. Some kernels print several device numbers
    /// before the fields of one device.
    ///
    /// # Errors
    /// If a number is malformed, because the sums would be wrong.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut text = Text::new(text);
        while !text.is_at_end() {
            // A line may have no fields, and even no device. Both mean that nothing was counted.
            let device = text;
            if !text.is_at_line_end() && !text.word()?.contains(&b':') {
                return Err(device.expected("a device's number"));
            }
            while !text.is_at_line_end() {
                let sum = if text.take(b"rbytes=") {
                    &mut self.read_bytes
                } else if text.take(b"wbytes=") {
                    &mut self.write_bytes
                } else if text.take(b"dbytes=") {
                    &mut self.discard_bytes
                } else if text.take(b"rios=") {
                    &mut self.reads
                } else if text.take(b"wios=") {
                    &mut self.writes
                } else if text.take(b"dios=") {
                    &mut self.discards
                } else {
                    text.word()?; // another device, or the field of a policy
                    continue;
                };
                *sum = sum.wrapping_add(text.digits()?);
            }
            text.end_of_line()?;
        }
        Ok(())
    }
}

/// Sums over all block devices in a control group's file of version 1, such as `blkio.throttle.io_serviced`.
///
/// ```
/// use perfset_linux::sources::cgroup::BlkioSums;
///
/// let mut sums = BlkioSums::default();
/// sums.parse(b"8:0 Read 2\n8:0 Write 3\n8:0 Total 5\n8:16 Read 7\nTotal 12\n").unwrap();
/// assert_eq!((sums.read, sums.write), (9, 3));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlkioSums {
    /// Sum of the lines `Read` in the block I/O file.
    pub read: u64,
    /// Sum of the lines `Write` in the block I/O file.
    pub write: u64,
    /// Sum of the lines `Discard` in the block I/O file. Since Linux 4.18.
    pub discard: u64,
}

impl BlkioSums {
    /// Parses a control group's block I/O file of version 1, replacing all previous contents.
    ///
    /// # Errors
    /// If a number is malformed, because the sums would be wrong.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut text = Text::new(text);
        while !text.is_at_end() {
            text.word()?; // a device, or Total of all of them
            text.skip_blanks();
            let sum = if text.take(b"Read ") {
                &mut self.read
            } else if text.take(b"Write ") {
                &mut self.write
            } else if text.take(b"Discard ") {
                &mut self.discard
            } else {
                text.line()?; // what these add up to, or divided otherwise
                continue;
            };
            *sum = sum.wrapping_add(text.last_number()?);
        }
        Ok(())
    }
}

/// Parses a control group's limit in bytes, as in `memory.max`; returns `None` if there is no limit.
///
/// Version 1 prints the largest signed number that is a multiple of a page if there is no limit.
///
/// ```
/// use perfset_linux::sources::cgroup::limit;
///
/// assert_eq!(limit(b"1048576\n"), Ok(Some(1_048_576)));
/// assert_eq!(limit(b"max\n"), Ok(None));
/// assert_eq!(limit(b"9223372036854771712\n"), Ok(None));
/// ```
///
/// # Errors
/// If `text` is anything else.
pub fn limit(text: &[u8]) -> Result<Option<u64>, TextError> {
    // The number that stands for no limit depends on the size of a page. No architecture has base pages above
    // 1 MiB, so no real limit is this large.
    const LARGEST_PAGE: u64 = 1 << 20;
    const NONE_FROM: u64 = (1 << 63) - LARGEST_PAGE;
    let mut text = Text::new(text);
    let limit = if text.take(b"max") { None } else { Some(text.number()?) };
    text.end_of_only_line()?;
    Ok(limit.filter(|limit| *limit < NONE_FROM))
}

/// Controllers of a control group hierarchy of version 2, from `cgroup.controllers` of its root.
///
/// ```
/// use perfset_linux::sources::cgroup::Controllers;
///
/// let controllers = Controllers::parse(b"cpuset cpu io\n").unwrap();
/// assert_eq!(controllers, Controllers { cpu: true, io: true, ..Controllers::default() });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Controllers {
    /// `true` if the hierarchy has the controller `cpu`.
    pub cpu: bool,
    /// `true` if the hierarchy has the controller `memory`.
    pub memory: bool,
    /// `true` if the hierarchy has the controller `io`.
    pub io: bool,
    /// `true` if the hierarchy has the controller `pids`.
    pub pids: bool,
}

impl Controllers {
    /// Parses the names of controllers in `cgroup.controllers`.
    ///
    /// # Errors
    /// If `text` is not one line.
    pub fn parse(text: &[u8]) -> Result<Self, TextError> {
        let mut all = Text::new(text);
        let line = all.line()?;
        // Whole words are compared: `cpu` is also the beginning of `cpuset`.
        let has = |name: &[u8]| line.split(|byte| *byte == b' ').any(|word| word == name);
        Ok(Self { cpu: has(b"cpu"), memory: has(b"memory"), io: has(b"io"), pids: has(b"pids") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyed_lines() {
        let mut stat = CpuStat::default();
        stat.parse(b"nr_throttled 3\nthrottled_time 5\nnr_periods x\n").unwrap();
        assert_eq!(
            (stat.nr_throttled, stat.throttled_time, stat.throttled_usec),
            (Some(Ok(3)), Some(Ok(5)), None)
        );
        assert_eq!(stat.nr_periods.unwrap().unwrap_err().line, 3);
        let mut events = MemoryEvents::default();
        events.parse(b"oom 2\noom_group_kill 3\noom_kill 5\n").unwrap();
        assert_eq!((&events.oom, &events.oom_kill), (&Some(Ok(2)), &Some(Ok(5))));
        events.parse_v1(b"oom_kill_disable 2\nunder_oom 3\noom_kill 7\n").unwrap();
        assert_eq!((&events.oom, &events.oom_kill), (&None, &Some(Ok(7))));
        events.parse_v1(b"oom_kill_disable 2\nunder_oom 3\n").unwrap();
        assert_eq!(events.oom_kill, None);
        let mut memory = MemoryStat::default();
        memory.parse(b"anon_thp 2\nanon 3\nfile_mapped 5\nslab_reclaimable 7\nslab 11\n").unwrap();
        assert_eq!((&memory.anon, &memory.file, &memory.slab), (&Some(Ok(3)), &None, &Some(Ok(11))));
        memory.parse_v1(b"rss 2\ntotal_rss_huge 3\ntotal_rss 5\ncache 7\n").unwrap();
        assert_eq!((&memory.anon, &memory.file, &memory.slab), (&Some(Ok(5)), &None, &None));
        assert_eq!(memory.parse_v1(b"anon 3\n").unwrap_err().expected, "a line with a known name");
        let mut times = CpuAcctStat::default();
        times.parse(b"user 2\nsystem 3\n").unwrap();
        assert_eq!((&times.user, &times.system), (&Some(Ok(2)), &Some(Ok(3))));
    }

    #[test]
    fn devices_of_version_2() {
        let sums = |read_bytes, write_bytes, discard_bytes, reads, writes, discards| {
            Ok(IoSums { read_bytes, write_bytes, discard_bytes, reads, writes, discards })
        };
        for (name, text, want) in [
            ("none", "", sums(0, 0, 0, 0, 0, 0)),
            ("one", "8:0 rbytes=2 wbytes=3 rios=5 wios=7 dbytes=11 dios=13\n", sums(2, 3, 11, 5, 7, 13)),
            ("two", "8:0 rbytes=2 wbytes=3\n9:1 wbytes=5 rbytes=7\n", sums(9, 8, 0, 0, 0, 0)),
            ("without fields", "8:0 \n9:1 rios=2\n\n", sums(0, 0, 0, 2, 0, 0)),
            ("run together", "8:0 9:1 rios=2 cost.usage=3 (x)\n", sums(0, 0, 0, 2, 0, 0)),
            ("wrapping", "8:0 rios=18446744073709551615\n8:1 rios=3\n", sums(0, 0, 0, 2, 0, 0)),
            ("no number", "8:0 rios=2\n9:1 wios=-3\n", Err((2, "\"-3\""))),
            ("no device", "8:0 rios=2\nx\n", Err((2, "\"x\""))),
            ("cut", "8:0 rios=2", Err((1, "the end of the file"))),
            ("cut in a name", "8:0 rio", Err((1, "the end of the file"))),
        ] {
            let mut sums = IoSums { reads: 97, ..IoSums::default() };
            let got = sums.parse(text.as_bytes()).map(|()| sums).map_err(|e| (e.line, e.found));
            assert_eq!(got, want.map_err(|(line, found)| (line, found.to_owned())), "{name}");
        }
    }

    #[test]
    fn devices_of_version_1() {
        let sums = |read, write, discard| Ok(BlkioSums { read, write, discard });
        for (name, text, want) in [
            ("nothing", "Total 0\n", sums(0, 0, 0)),
            ("one", "8:0 Read 2\n8:0 Write 3\n8:0 Sync 5\n8:0 Async 7\n8:0 Discard 11\n8:0 Total 5\n", {
                sums(2, 3, 11)
            }),
            ("two", "8:0 Read 2\n8:1 Read 3\n8:1 Write 7\nTotal 12\n", sums(5, 7, 0)),
            ("no number", "8:0 Read 2\n8:0 Write x\n", Err((2, "\"x\""))),
            ("empty line", "8:0 Read 2\n\n", Err((2, "the end of the line"))),
            ("cut", "8:0 Read 2", Err((1, "the end of the file"))),
            ("cut in a total", "8:0 Tot", Err((1, "the end of the file"))),
        ] {
            let mut sums = BlkioSums { read: 97, ..BlkioSums::default() };
            let got = sums.parse(text.as_bytes()).map(|()| sums).map_err(|e| (e.line, e.found));
            assert_eq!(got, want.map_err(|(line, found)| (line, found.to_owned())), "{name}");
        }
    }

    #[test]
    fn limits() {
        for (text, want) in [
            ("0\n", Ok(Some(0))),
            ("max\n", Ok(None)),
            ("9223372036854771712\n", Ok(None)),
            ("9223372036854710272\n", Ok(None)), // pages of 64 KiB
            ("18446744073709551615\n", Ok(None)),
            ("9007199254740992\n", Ok(Some(1 << 53))),
            ("maximum\n", Err("\"imum\"")),
            ("max", Err("the end of the file")),
            ("-1\n", Err("\"-1\"")),
            ("", Err("the end of the file")),
        ] {
            assert_eq!(limit(text.as_bytes()).map_err(|e| e.found), want.map_err(str::to_owned), "{text:?}");
        }
    }
}
