//! Files of a control group, converted to raw values of the counters of CGroup.

use std::path::Path;

use perfset_catalogue::cgroup as id;
use perfset_core::{CounterId, NoValue};

use super::ControlGroup;
use super::mounts::{Hierarchy, Mounts};
use crate::countersets::pressure_stall::{self, FULL, Line, SOME, StallReading, in_100ns};
use crate::provider::{
    Collection, CollectionCache, KeptFile, ReadError, ReadFiles, SeqFileKind, unavailable,
};
use crate::sources::attribute;
use crate::sources::cgroup::{BlkioSums, CpuAcctStat, CpuStat, IoSums, MemoryEvents, MemoryStat, limit};
use crate::sources::named::Number;
use crate::sources::text::TextError;

/// Reason for a missing value if a control group lacks the counter's file. The possible causes cannot be told apart.
const NO_FILE: &str = "the group has no such file: it is the root, the controller is not enabled for it, the kernel is \
    older than the counter, or the group is gone";

const MICROSECOND_100NS: u64 = 10;
const NS_IN_100NS: u64 = 100;
const SECOND_100NS: u64 = 10_000_000;

/// Files of one control group at a time. Rows are filled one after the other, so thousands of groups share one buffer.
#[derive(Debug)]
pub(super) struct CgroupFiles {
    clock_ticks: u64,
    /// Index of the control group that the cached files belong to, and the number of the collection that read them.
    of: Option<(usize, u64)>,
    file: KeptFile,
    cpu: CollectionCache<CpuStat>,
    cpu_v1: CollectionCache<CpuStat>,
    cpuacct: CollectionCache<CpuAcctStat>,
    memory: CollectionCache<MemoryStat>,
    events: CollectionCache<MemoryEvents>,
    io: CollectionCache<IoSums>,
    io_bytes_v1: CollectionCache<BlkioSums>,
    io_events_v1: CollectionCache<BlkioSums>,
    pressure: [CollectionCache<StallReading>; 4],
}

/// Directory of a control group in one hierarchy: path of the hierarchy's root, and path of the group below that
/// root.
#[derive(Clone, Copy, Debug)]
struct GroupPath<'a> {
    root: &'a Path,
    group: &'a Path,
    is_v2: bool,
}

impl CgroupFiles {
    pub(super) fn new(clock_ticks: u64) -> Self {
        Self {
            clock_ticks,
            of: None,
            // One descriptor for each file of thousands of groups would be more than a process may have.
            file: KeptFile::new("", SeqFileKind::Single).keep(false),
            cpu: CollectionCache::default(),
            cpu_v1: CollectionCache::default(),
            cpuacct: CollectionCache::default(),
            memory: CollectionCache::default(),
            events: CollectionCache::default(),
            io: CollectionCache::default(),
            io_bytes_v1: CollectionCache::default(),
            io_events_v1: CollectionCache::default(),
            pressure: Default::default(),
        }
    }

    /// Switches to the control group at index `at`, and drops the cached files of the previous group.
    pub(super) fn turn_to(&mut self, at: usize, pass: &Collection) {
        if self.of != Some((at, pass.number())) {
            // The caches know only the collection, in which many groups are read. They begin empty for each
            // group; the buffer stays.
            let file = std::mem::replace(&mut self.file, KeptFile::new("", SeqFileKind::Single));
            *self = Self { of: Some((at, pass.number())), file, ..Self::new(self.clock_ticks) };
        }
    }

    /// Returns the raw value of a counter of the control group. Reads only the files that the counter needs.
    pub(super) fn value(
        &mut self,
        group: &ControlGroup,
        mounts: &Mounts,
        counter: CounterId,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        let at = |controller| place(group, mounts, controller);
        let by_version = |place: GroupPath<'_>, v2, v1| if place.is_v2 { v2 } else { v1 };
        match counter {
            // Time. Version 2 prints microseconds, version 1 ns; counters have units of 100 ns.
            id::PERCENT_PROCESSOR_TIME => match at(Hierarchy::CpuAcct)? {
                place if place.is_v2 => self.cpu_usec(place, |stat| &stat.usage_usec, pass),
                place => self.ns(place, "cpuacct.usage", pass),
            },
            id::PERCENT_USER_TIME => match at(Hierarchy::CpuAcct)? {
                place if place.is_v2 => self.cpu_usec(place, |stat| &stat.user_usec, pass),
                place => self.cpuacct(place, "cpuacct.usage_user", |stat| &stat.user, pass),
            },
            id::PERCENT_PRIVILEGED_TIME => match at(Hierarchy::CpuAcct)? {
                place if place.is_v2 => self.cpu_usec(place, |stat| &stat.system_usec, pass),
                place => self.cpuacct(place, "cpuacct.usage_sys", |stat| &stat.system, pass),
            },
            // Bandwidth control has the same file in both versions, with other names for times.
            id::PROCESSOR_LIMIT_PERIODS_PER_SEC => {
                self.cpu(at(Hierarchy::Cpu)?, |stat| &stat.nr_periods, pass)
            }
            id::THROTTLED_PERIODS_PER_SEC => self.cpu(at(Hierarchy::Cpu)?, |stat| &stat.nr_throttled, pass),
            id::BURSTS_PER_SEC => self.cpu(at(Hierarchy::Cpu)?, |stat| &stat.nr_bursts, pass),
            id::PERCENT_THROTTLED_TIME => match at(Hierarchy::Cpu)? {
                place if place.is_v2 => self.cpu_usec(place, |stat| &stat.throttled_usec, pass),
                place => Ok(self.cpu(place, |stat| &stat.throttled_time, pass)? / NS_IN_100NS),
            },
            id::PERCENT_BURST_TIME => match at(Hierarchy::Cpu)? {
                place if place.is_v2 => self.cpu_usec(place, |stat| &stat.burst_usec, pass),
                place => Ok(self.cpu(place, |stat| &stat.burst_time, pass)? / NS_IN_100NS),
            },

            // Memory. The kernel's own peak and limit are read, because a peak between two samples would be
            // missed.
            id::MEMORY_BYTES => {
                let place = at(Hierarchy::Memory)?;
                self.number(place, by_version(place, "memory.current", "memory.usage_in_bytes"), pass)
            }
            id::MEMORY_BYTES_PEAK => {
                let place = at(Hierarchy::Memory)?;
                self.number(place, by_version(place, "memory.peak", "memory.max_usage_in_bytes"), pass)
            }
            id::MEMORY_LIMIT_BYTES => {
                let place = at(Hierarchy::Memory)?;
                let file = by_version(place, "memory.max", "memory.limit_in_bytes");
                let limit = self.read(place, file, pass, limit)?;
                limit.ok_or(unavailable("unlimited"))
            }
            // Version 1 has only the sum of memory and swap space. Both files are read one after the other,
            // so the difference may be below 0.
            id::SWAP_BYTES => match at(Hierarchy::Memory)? {
                place if place.is_v2 => self.number(place, "memory.swap.current", pass),
                place => {
                    let both = self.number(place, "memory.memsw.usage_in_bytes", pass)?;
                    Ok(both.saturating_sub(self.number(place, "memory.usage_in_bytes", pass)?))
                }
            },
            id::MEMORY_LOW_EVENTS_PER_SEC => self.event(at(Hierarchy::Memory)?, |events| &events.low, pass),
            id::MEMORY_HIGH_EVENTS_PER_SEC => self.event(at(Hierarchy::Memory)?, |events| &events.high, pass),
            // `memory.oom_control` of version 1 has no such event; its own file counts how often the limit
            // was reached.
            id::MEMORY_LIMIT_EVENTS_PER_SEC => match at(Hierarchy::Memory)? {
                place if place.is_v2 => self.event(place, |events| &events.max, pass),
                place => self.number(place, "memory.failcnt", pass),
            },
            id::OUT_OF_MEMORY_EVENTS_PER_SEC => {
                self.event(at(Hierarchy::Memory)?, |events| &events.oom, pass)
            }
            id::OUT_OF_MEMORY_KILLS_PER_SEC => {
                self.event(at(Hierarchy::Memory)?, |events| &events.oom_kill, pass)
            }
            // Parts of the memory are in `memory.stat`; kernel memory and sockets have files of their own in
            // version 1.
            id::ANONYMOUS_BYTES => self.memory(at(Hierarchy::Memory)?, |stat| &stat.anon, pass),
            id::FILE_BYTES => self.memory(at(Hierarchy::Memory)?, |stat| &stat.file, pass),
            id::KERNEL_BYTES => match at(Hierarchy::Memory)? {
                place if place.is_v2 => self.memory(place, |stat| &stat.kernel, pass),
                place => self.number(place, "memory.kmem.usage_in_bytes", pass),
            },
            id::SLAB_BYTES => self.memory(at(Hierarchy::Memory)?, |stat| &stat.slab, pass),
            id::SOCKET_BYTES => match at(Hierarchy::Memory)? {
                place if place.is_v2 => self.memory(place, |stat| &stat.sock, pass),
                place => self.number(place, "memory.kmem.tcp.usage_in_bytes", pass),
            },
            id::PAGE_FAULTS_PER_SEC => self.memory(at(Hierarchy::Memory)?, |stat| &stat.pgfault, pass),
            id::MAJOR_PAGE_FAULTS_PER_SEC => {
                self.memory(at(Hierarchy::Memory)?, |stat| &stat.pgmajfault, pass)
            }
            id::ANONYMOUS_REFAULTS_PER_SEC => {
                self.memory(at(Hierarchy::Memory)?, |stat| &stat.workingset_refault_anon, pass)
            }
            id::FILE_REFAULTS_PER_SEC => {
                self.memory(at(Hierarchy::Memory)?, |stat| &stat.workingset_refault_file, pass)
            }

            // I/O is summed up over all devices: an instance is a group, not a pair of group and device.
            id::STORAGE_READ_BYTES_PER_SEC => self.io_or_blkio(
                at(Hierarchy::BlkIo)?,
                |io| io.read_bytes,
                (Blkio::Bytes, |io| io.read),
                pass,
            ),
            id::STORAGE_WRITE_BYTES_PER_SEC => self.io_or_blkio(
                at(Hierarchy::BlkIo)?,
                |io| io.write_bytes,
                (Blkio::Bytes, |io| io.write),
                pass,
            ),
            id::STORAGE_DISCARD_BYTES_PER_SEC => self.io_or_blkio(
                at(Hierarchy::BlkIo)?,
                |io| io.discard_bytes,
                (Blkio::Bytes, |io| io.discard),
                pass,
            ),
            id::STORAGE_READS_PER_SEC => {
                self.io_or_blkio(at(Hierarchy::BlkIo)?, |io| io.reads, (Blkio::Events, |io| io.read), pass)
            }
            id::STORAGE_WRITES_PER_SEC => {
                self.io_or_blkio(at(Hierarchy::BlkIo)?, |io| io.writes, (Blkio::Events, |io| io.write), pass)
            }
            id::STORAGE_DISCARDS_PER_SEC => self.io_or_blkio(
                at(Hierarchy::BlkIo)?,
                |io| io.discards,
                (Blkio::Events, |io| io.discard),
                pass,
            ),

            // Both versions have the same files; the peak exists since Linux 6.1.
            id::TASK_COUNT => self.number(at(Hierarchy::Pids)?, "pids.current", pass),
            id::TASK_COUNT_PEAK => self.number(at(Hierarchy::Pids)?, "pids.peak", pass),

            // All remaining counters are of pressure, which only version 2 measures by group.
            _ => {
                let (resource, line) = stalled(counter).ok_or(NoValue::NotGiven)?;
                self.stall(at(Hierarchy::Unified)?, resource, line, pass)
            }
        }
    }

    /// Reads the file `name` of a control group, and parses the text with `parse`.
    fn read<T>(
        &mut self,
        place: GroupPath<'_>,
        name: &str,
        pass: &mut Collection,
        parse: impl FnOnce(&[u8]) -> Result<T, TextError>,
    ) -> Result<T, NoValue> {
        place.go(&mut self.file, name);
        pass.read(&mut self.file, NO_FILE, parse)
    }

    fn number(&mut self, place: GroupPath<'_>, name: &str, pass: &mut Collection) -> Result<u64, NoValue> {
        self.read(place, name, pass, attribute::number)
    }

    /// Returns the time in a file of a version 1 control group, in units of 100 ns; the file has ns.
    fn ns(&mut self, place: GroupPath<'_>, name: &str, pass: &mut Collection) -> Result<u64, NoValue> {
        Ok(self.number(place, name, pass)? / NS_IN_100NS)
    }

    fn cpu(
        &mut self,
        place: GroupPath<'_>,
        of: fn(&CpuStat) -> &Number,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        let Self { file, cpu, cpu_v1, .. } = self;
        // On a hybrid system both versions have this file. Times may come from version 2 and limits from
        // version 1.
        let latest = if place.is_v2 { cpu } else { cpu_v1 };
        place.keyed("cpu.stat", file, latest, CpuStat::parse, of, pass)
    }

    fn cpu_usec(
        &mut self,
        place: GroupPath<'_>,
        of: fn(&CpuStat) -> &Number,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        Ok(self.cpu(place, of, pass)?.saturating_mul(MICROSECOND_100NS))
    }

    /// Returns the user or kernel time of a version 1 control group: exact, or counted in ticks before Linux 4.7.
    fn cpuacct(
        &mut self,
        place: GroupPath<'_>,
        exact: &str,
        of: fn(&CpuAcctStat) -> &Number,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        match self.ns(place, exact, pass) {
            // Only a missing file is replaced. Another error is the value: ticks after ns would look like a
            // step back.
            Err(NoValue::Unavailable(_)) => {}
            known => return known,
        }
        let Self { file, cpuacct, clock_ticks, .. } = self;
        let ticks = place.keyed("cpuacct.stat", file, cpuacct, CpuAcctStat::parse, of, pass)?;
        let in_100ns =
            u128::from(ticks).saturating_mul(SECOND_100NS.into()).checked_div((*clock_ticks).into());
        Ok(u64::try_from(in_100ns.unwrap_or(0)).unwrap_or(u64::MAX))
    }

    fn memory(
        &mut self,
        place: GroupPath<'_>,
        of: fn(&MemoryStat) -> &Number,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        let Self { file, memory, .. } = self;
        let parse = if place.is_v2 { MemoryStat::parse } else { MemoryStat::parse_v1 };
        place.keyed("memory.stat", file, memory, parse, of, pass)
    }

    fn event(
        &mut self,
        place: GroupPath<'_>,
        of: fn(&MemoryEvents) -> &Number,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        let Self { file, events, .. } = self;
        match place.is_v2 {
            true => place.keyed("memory.events", file, events, MemoryEvents::parse, of, pass),
            false => place.keyed("memory.oom_control", file, events, MemoryEvents::parse_v1, of, pass),
        }
    }

    fn io(
        &mut self,
        place: GroupPath<'_>,
        of: fn(&IoSums) -> u64,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        let Self { file, io, .. } = self;
        io.get(pass, |pass| place.read("io.stat", file, IoSums::parse, pass)).map(of)
    }

    fn io_or_blkio(
        &mut self,
        place: GroupPath<'_>,
        of: fn(&IoSums) -> u64,
        (what, of_v1): (Blkio, fn(&BlkioSums) -> u64),
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        if place.is_v2 {
            return self.io(place, of, pass);
        }
        let (names, latest) = match what {
            Blkio::Bytes => (
                ["blkio.throttle.io_service_bytes_recursive", "blkio.throttle.io_service_bytes"],
                &mut self.io_bytes_v1,
            ),
            Blkio::Events => (
                ["blkio.throttle.io_serviced_recursive", "blkio.throttle.io_serviced"],
                &mut self.io_events_v1,
            ),
        };
        place.blkio(names, &mut self.file, latest, pass).map(of_v1)
    }

    /// Returns the stalled time in `line` of a control group's pressure file; if `line` is `None`, the time of
    /// reading the file.
    fn stall(
        &mut self,
        place: GroupPath<'_>,
        resource: Resource,
        line: Option<Line>,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        let Self { file, pressure: [cpu, memory, io, irq], .. } = self;
        let (name, latest) = match resource {
            Resource::Cpu => ("cpu.pressure", cpu),
            Resource::Memory => ("memory.pressure", memory),
            Resource::Io => ("io.pressure", io),
            Resource::Irq => ("irq.pressure", irq),
        };
        // One reading for all lines and for the time: shares are computed from values of the same moment.
        let reading = latest.get(pass, |pass| {
            place.go(file, name);
            pressure_stall::read(file, pass, NO_FILE)
        })?;
        match line {
            Some(line) => pressure_stall::stall(line(&reading.pressure), || place.path(name), in_100ns),
            None => Ok(reading.time_100ns),
        }
    }
}

/// Kind of a block I/O file of a version 1 control group: bytes or events.
#[derive(Clone, Copy, Debug)]
enum Blkio {
    Bytes,
    Events,
}

/// Resource that stalled tasks of a control group wait for: processors, memory, I/O or interrupts.
#[derive(Clone, Copy, Debug)]
enum Resource {
    Cpu,
    Memory,
    Io,
    Irq,
}

/// Returns the resource and the pressure-file line that a stalled-time counter of CGroup comes from; timestamps have
/// no line.
fn stalled(counter: CounterId) -> Option<(Resource, Option<Line>)> {
    Some(match counter {
        id::PERCENT_PROCESSOR_SOME_STALLED_TIME => (Resource::Cpu, Some(SOME)),
        id::PERCENT_PROCESSOR_FULL_STALLED_TIME => (Resource::Cpu, Some(FULL)),
        id::PERCENT_MEMORY_SOME_STALLED_TIME => (Resource::Memory, Some(SOME)),
        id::PERCENT_MEMORY_FULL_STALLED_TIME => (Resource::Memory, Some(FULL)),
        id::PERCENT_STORAGE_SOME_STALLED_TIME => (Resource::Io, Some(SOME)),
        id::PERCENT_STORAGE_FULL_STALLED_TIME => (Resource::Io, Some(FULL)),
        id::PERCENT_INTERRUPT_FULL_STALLED_TIME => (Resource::Irq, Some(FULL)),
        id::PROCESSOR_STALLED_TIME_TIMESTAMP => (Resource::Cpu, None),
        id::MEMORY_STALLED_TIME_TIMESTAMP => (Resource::Memory, None),
        id::STORAGE_STALLED_TIME_TIMESTAMP => (Resource::Io, None),
        id::INTERRUPT_STALLED_TIME_TIMESTAMP => (Resource::Irq, None),
        _ => return None,
    })
}

/// Returns the directory of a control group with a controller's files: in version 2 if the controller belongs to that
/// version, else in version 1.
fn place<'a>(
    group: &'a ControlGroup,
    mounts: &'a Mounts,
    controller: Hierarchy,
) -> Result<GroupPath<'a>, NoValue> {
    let enabled = mounts.controllers;
    let (is_in_v2, none) = match controller {
        Hierarchy::Unified => {
            (true, "the group is not in a hierarchy of version 2, which alone has pressure")
        }
        // Version 2 counts time without a controller.
        Hierarchy::CpuAcct => (true, "the group is in no hierarchy that counts time on processors"),
        Hierarchy::Cpu => (enabled.cpu, "the group is in no hierarchy with the controller cpu"),
        Hierarchy::Memory => (enabled.memory, "the group is in no hierarchy with the controller memory"),
        Hierarchy::BlkIo => (enabled.io, "the group is in no hierarchy with the controller io or blkio"),
        Hierarchy::Pids => (enabled.pids, "the group is in no hierarchy with the controller pids"),
    };
    let root = |hierarchy| mounts.root(hierarchy, &group.inodes);
    // A controller is in one version at a time, so a group has its files in only one of the two.
    let v2 = Some(Hierarchy::Unified).filter(|_| is_in_v2).and_then(root).map(|root| (root, true));
    let found = v2.or_else(|| Some((root(controller)?, false)));
    let (root, is_v2) = found.ok_or(unavailable(none))?;
    Ok(GroupPath { root, group: &group.path, is_v2 })
}

impl GroupPath<'_> {
    fn path(self, name: &str) -> std::path::PathBuf {
        self.root.join(self.group).join(name)
    }

    /// Switches the reader `file` to the file `name` of the control group.
    fn go(self, file: &mut KeptFile, name: &str) {
        file.move_to(|path| {
            self.root.clone_into(path);
            path.push(self.group);
            path.push(name);
        });
    }

    /// Reads and parses the file `name` of the control group.
    fn read<T: Default>(
        self,
        name: &str,
        file: &mut KeptFile,
        parse: fn(&mut T, &[u8]) -> Result<(), TextError>,
        pass: &mut Collection,
    ) -> Result<T, NoValue> {
        self.go(file, name);
        pass.read(file, NO_FILE, |text| {
            let mut parsed = T::default();
            parse(&mut parsed, text).map(|()| parsed)
        })
    }

    /// Returns the number in one line of the control group's file `name`, which is read once per collection.
    fn keyed<T: Default>(
        self,
        name: &str,
        file: &mut KeptFile,
        latest: &mut CollectionCache<T>,
        parse: fn(&mut T, &[u8]) -> Result<(), TextError>,
        of: fn(&T) -> &Number,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        match of(latest.get(pass, |pass| self.read(name, file, parse, pass))?) {
            Some(Ok(number)) => Ok(*number),
            Some(Err(text)) => Err(ReadError::Text { path: self.path(name), text: text.clone() }.into()),
            None => Err(unavailable("the kernel does not report it for this group")),
        }
    }

    /// Returns the sums over all devices in a block I/O file of a version 1 control group. The file has two names;
    /// the second, of older kernels, omits groups below.
    fn blkio<'a>(
        self,
        names: [&str; 2],
        file: &mut KeptFile,
        latest: &'a mut CollectionCache<BlkioSums>,
        pass: &mut Collection,
    ) -> Result<&'a BlkioSums, NoValue> {
        latest.get(pass, |pass| {
            let [recursive, own] = names;
            match self.read(recursive, file, BlkioSums::parse, pass) {
                Err(NoValue::Unavailable(_)) => self.read(own, file, BlkioSums::parse, pass),
                known => known,
            }
        })
    }
}
