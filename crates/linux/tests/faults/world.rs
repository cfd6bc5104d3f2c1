//! Machine of the test's model: its true state, the files that show it, and their faults.

use std::collections::BTreeMap;

use perfset_catalogue::{
    block_io, cache, cgroup, file_system, linux_memory, linux_network_interface, linux_process,
    linux_processor, linux_system, logical_disk, memory, network_interface, paging_file, physical_disk,
    pressure_stall, process, process_v2, processor, processor_information, scheduler, system, thread,
};
use perfset_core::{CounterId, Guid};

use super::basics::{Expected, KnownValue, Random, Source, Tally};
use super::cpus::{Cpus, STAT};
use super::devices::{Disks, Networks};
use super::kernel::Answers;
use super::memory::{Groups, Memory, PRESSURE_NAMES, Pressure};
use super::processes::{Access, Process, Processes};
use super::tree::Fault;

#[derive(Clone, Debug)]
pub(crate) struct World {
    /// Number of the model's sample, from 1.
    pub(crate) sample: u32,
    pub(crate) clocks: Answers,
    /// Time by the model's clock since the previous sample, in ns.
    passed_ns: i64,
    /// Latest time that the model's clock has shown.
    pub(crate) latest_ns: i64,
    pub(crate) cpus: Cpus,
    pub(crate) processes: Processes,
    pub(crate) disks: Disks,
    pub(crate) networks: Networks,
    pub(crate) memory: Memory,
    pub(crate) pressure: Pressure,
    pub(crate) groups: Groups,
    /// Used KiB of the model's swap file.
    swapped: u64,
    load: u64,
    /// Fault of each file of the model, by path, and the sample from which the file has no fault again.
    faults: BTreeMap<String, (Fault, u32)>,
    /// Last sample with a fault of each file, by path, and the time when the file was last absent.
    bad: BTreeMap<String, (u32, i64)>,
}

/// Thing that a row of the model is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    Single,
    /// Sum over all processors of the model, or over those of its one NUMA node.
    Cpus,
    Cpu(usize),
    Idle,
    ProcessTotal,
    Process(usize),
    Thread(usize, usize),
    ThreadTotal,
    Disk(usize),
    DiskTotal,
    RootMount,
    Network(usize),
    Pressure(usize),
    RootGroup,
    Group(usize),
    Swap,
}

/// Instance of a counterset that exists in the model.
#[derive(Clone, Debug)]
pub(crate) struct ModelRow {
    pub(crate) name: String,
    /// Id of the model's row; `None` if any id is right.
    pub(crate) id: Option<u32>,
    pub(crate) thing: Thing,
    /// Serial number of the row's thing: a row with another number is another thing, whatever its name.
    pub(crate) serial: u64,
    /// `true` if the reader can see that another thing has the row's name.
    pub(crate) has_birth: bool,
    /// Kernel files that decide if the row exists.
    pub(crate) from: [Option<Source>; 2],
}

/// Countersets that the test's model has.
pub(crate) const SETS: [Guid; 22] = [
    processor_information::GUID,
    processor::GUID,
    linux_processor::GUID,
    scheduler::GUID,
    process_v2::GUID,
    process::GUID,
    linux_process::GUID,
    thread::GUID,
    physical_disk::GUID,
    logical_disk::GUID,
    file_system::GUID,
    block_io::GUID,
    network_interface::GUID,
    linux_network_interface::GUID,
    memory::GUID,
    linux_memory::GUID,
    cache::GUID,
    system::GUID,
    linux_system::GUID,
    pressure_stall::GUID,
    cgroup::GUID,
    paging_file::GUID,
];

/// Paths of the file about received packets, in the network namespaces of the reader and of the first process.
const SOFTNET: [&str; 2] = ["proc/net/softnet_stat", "proc/1/net/softnet_stat"];

const TOTAL: u32 = 0xFFFF_FFFE;
const SECOND: i64 = 1_000_000_000;

impl World {
    pub(crate) fn new(random: &mut Random) -> Self {
        let clocks = Answers { monotonic_ns: 1_000_000 * SECOND, ..Answers::default() };
        let is_gated = random.once_in(2);
        let mut world = Self {
            sample: 0,
            clocks,
            passed_ns: 0,
            latest_ns: 0,
            cpus: Cpus::new(random),
            processes: Processes::new(is_gated, random),
            disks: Disks::new(random),
            networks: Networks::new(random),
            memory: Memory::new(random),
            pressure: Pressure::new(random),
            groups: Groups::new(),
            swapped: 1,
            load: 1,
            faults: BTreeMap::new(),
            bad: BTreeMap::new(),
        };
        world.clocks.cpu_clocks = world.cpu_clocks();
        world
    }

    /// Advances the model machine to the next sample.
    pub(crate) fn step(&mut self, random: &mut Random, tally: &mut Tally) {
        self.sample += 1;
        let sample = self.sample;
        let usual = SECOND / 100 + random.below(2 * SECOND as u64) as i64;
        self.passed_ns = match random.below(100) {
            0 => {
                tally.note("clock stands still");
                0
            }
            1 => {
                tally.note("clock goes back");
                -(random.below(5 * SECOND as u64) as i64)
            }
            2 => {
                tally.note("clock jumps ahead");
                usual + random.below(3_600) as i64 * SECOND
            }
            3 => {
                tally.note("wall clock is set");
                self.clocks.wall_ns += random.below(20_000) as i64 * SECOND - 10_000 * SECOND;
                usual
            }
            4 => {
                tally.note("machine sleeps");
                self.clocks.slept_ns += random.below(10_000) as i64 * SECOND;
                usual
            }
            _ => usual,
        };
        self.latest_ns = self.latest_ns.max(self.clocks.monotonic_ns);
        self.clocks.monotonic_ns += self.passed_ns;
        let passed_ns = self.passed_ns.max(0) as u64;
        let ran = self.cpus.step(passed_ns, sample, random, tally);
        let before = self.processes.all.len();
        self.processes.step(&ran, self.up_ticks(), sample, random, tally);
        self.cpus.forks.add(self.processes.all.len().saturating_sub(before) as u64, sample);
        self.disks.step(passed_ns, self.clocks.monotonic_ns, sample, random, tally);
        self.networks.step(sample, random, tally);
        self.memory.step(sample, random, tally);
        self.pressure.step(passed_ns, sample, random, tally);
        self.groups.step(passed_ns, sample, random, tally);
        (self.swapped, self.load) = (random.below(1_000), random.below(100));
        self.clocks.cpu_clocks = self.cpu_clocks();
        self.go_wrong(random, tally);
        let [stats, mounts] =
            ["proc/diskstats", "proc/1/mountinfo"].map(|path| self.is_at_fault(Source::File(path)));
        let is_cut = self.faults.get("proc/diskstats").is_some_and(|(fault, _)| *fault == Fault::Cut);
        self.disks.read([stats, mounts, is_cut], tally);
        let is_listed =
            |process: &Process| !process.is_hidden && !self.is_at_fault(Source::Process(process.pid, "stat"));
        let listed: Vec<bool> = self.processes.all.iter().map(is_listed).collect();
        self.processes.list(&listed, sample);
    }

    fn up_ticks(&self) -> u64 {
        ((self.clocks.monotonic_ns + self.clocks.slept_ns) / 10_000_000) as u64
    }

    /// Returns the start time of the model machine as PerfTime100NSec, in whole ticks as in the start times of
    /// processes.
    fn start_100ns(&self) -> u64 {
        let start = super::kernel::anchor().unwrap().zero_100ns - self.clocks.slept_ns / 100;
        ((start + 50_000) / 100_000 * 100_000) as u64
    }

    fn cpu_clocks(&self) -> BTreeMap<u32, u64> {
        let own = std::process::id();
        match self.processes.is_gated {
            true => {
                let of = self.processes.all.iter().map(|process| (process.pid, process.clock_ns));
                of.chain([(own, 1)]).collect()
            }
            // CPU clocks of another namespace: the same pids belong to other processes.
            false => (0..200).map(|pid| (pid, u64::from(pid) * 1_000_000_007)).chain([(own, 1)]).collect(),
        }
    }

    fn go_wrong(&mut self, random: &mut Random, tally: &mut Tally) {
        let sample = self.sample;
        let before = self.faults.len();
        self.faults.retain(|_, (_, until)| *until > sample);
        (self.faults.len()..before).for_each(|_| tally.note("file is well again"));
        if random.once_in(3) {
            let (fault, name) = Fault::ALL[random.place(Fault::ALL.len())];
            let paths: Vec<String> =
                self.files().into_iter().map(|(path, _)| path).filter(|path| may_fail(path)).collect();
            let path = paths[random.place(paths.len())].clone();
            // A directory would be another group, and an empty list of devices is valid.
            // A thread that has no such file when it is seen first is counted in ticks.
            let is_ticks = path.contains("/task/") && path.ends_with("schedstat") && fault == Fault::Absent;
            let is_none = is_ticks
                || path.starts_with("sys/fs/cgroup") && fault == Fault::Folder
                || path.ends_with("io.stat") && fault == Fault::Empty;
            if !is_none {
                tally.note(name);
                self.faults.insert(path, (fault, sample + 1 + random.below(3) as u32));
            }
        }
        let refused = self.processes.all.iter().filter(|process| process.is_denied);
        let of_refused: Vec<_> = refused
            .flat_map(|process| {
                ["io", "fd", "smaps_rollup"].map(|file| format!("proc/{}/{file}", process.pid))
            })
            .collect();
        let now = self.clocks.monotonic_ns;
        let late = self.is_at_fault(STAT);
        if late
            || self.faults.keys().any(|path| {
                path == "proc/stat"
                    || path.starts_with("proc/") && path.contains(|c: char| c.is_ascii_digit())
            })
        {
            self.processes.unsettled = sample;
        }
        for path in self.faults.keys().chain(&of_refused) {
            let absent = self.faults.get(path).is_some_and(|(fault, _)| *fault == Fault::Absent);
            let bad = self.bad.entry(path.clone()).or_insert((0, i64::MIN));
            bad.0 = sample;
            if absent {
                bad.1 = bad.1.max(now);
            }
        }
    }

    /// Returns the current faults of the model's files, by path.
    pub(crate) fn faults(&self) -> BTreeMap<String, Fault> {
        let refused = self.processes.all.iter().filter(|process| process.is_denied && !process.is_hidden);
        let of_refused = refused.flat_map(|process| {
            ["io", "fd", "smaps_rollup"].map(|file| (format!("proc/{}/{file}", process.pid), Fault::Denied))
        });
        let chosen = self.faults.iter().map(|(path, (fault, _))| (path.clone(), *fault));
        of_refused.chain(chosen).collect()
    }

    /// Returns the file that names the PID namespace of the model's processes, and that name.
    pub(crate) fn namespace(&self) -> (&'static str, &'static str) {
        let whose = if self.processes.is_gated { "proc/self/ns/pid" } else { "proc/1/ns/pid" };
        (whose, if self.processes.is_first { "pid:[4026531836]" } else { "pid:[4026532000]" })
    }

    /// Returns the directories of the model with the serial numbers of the things that they stand for.
    pub(crate) fn folders(&self) -> Vec<(String, u64)> {
        let mut folders = Vec::new();
        for process in self.processes.listed() {
            folders.push((format!("proc/{}", process.pid), process.serial));
        }
        folders.extend(self.disks.all.iter().map(|disk| (format!("sys/block/{}", disk.name()), disk.serial)));
        let networks = self.networks.all.iter();
        folders.extend(networks.map(|network| (format!("sys/class/net/{}", network.name()), network.serial)));
        let groups = self.groups.all.iter();
        folders.extend(groups.map(|group| (format!("sys/fs/cgroup/{}", group.path), group.serial)));
        folders
    }

    /// Returns all files of the model with their texts, as they are without faults.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        let mut give = |path: String, text: String| files.push((path, text));
        for (path, text) in [
            ("proc/stat", self.cpus.stat()),
            ("proc/interrupts", self.cpus.interrupts()),
            ("proc/softirqs", self.cpus.softirqs()),
            ("proc/schedstat", self.cpus.schedstat()),
            ("sys/devices/system/cpu/online", self.cpus.online_list()),
            ("proc/self/status", self.processes.own_status()),
            ("proc/diskstats", self.disks.diskstats()),
            ("proc/1/mountinfo", self.disks.mounts()),
            ("proc/meminfo", self.memory.meminfo()),
            ("proc/vmstat", self.memory.vmstat()),
            ("proc/loadavg", format!("{}.00 0.00 0.00 1/77 9\n", self.load)),
            ("proc/sys/kernel/pid_max", "32768\n".to_owned()),
            (
                "proc/swaps",
                format!(
                    "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/swap file 2000 {} -2\n",
                    self.swapped
                ),
            ),
        ] {
            give(path.to_owned(), text);
        }
        give(self.networks.path(SOFTNET).to_owned(), self.cpus.softnet());
        self.networks.files(&mut give);
        self.disks.files(&mut give);
        self.pressure.files(&mut give);
        self.groups.files(&mut give);
        self.processes.listed().for_each(|process| process.files(&mut give));
        files
    }

    fn path(&self, source: Source) -> String {
        match source {
            Source::File(path) => path.to_owned(),
            Source::Process(pid, file) => format!("proc/{pid}/{file}"),
            Source::Thread(pid, tid) => format!("proc/{pid}/task/{tid}/stat"),
            Source::Link(serial, file) => {
                let network = self.networks.all.iter().find(|network| network.serial == serial);
                format!("sys/class/net/{}/{file}", network.map_or("", |network| network.name()))
            }
            Source::Group(serial, file) => {
                let group = self.groups.all.iter().find(|group| group.serial == serial);
                format!("sys/fs/cgroup/{}/{file}", group.map_or("", |group| group.path))
            }
        }
    }

    /// Returns `true` if a reader might get nothing from a kernel file in this sample.
    pub(crate) fn is_at_fault(&self, source: Source) -> bool {
        let excused = |path: &str, seconds: i64| {
            self.bad.get(path).is_some_and(|(sample, absent)| {
                // An absent file is looked for again only later.
                *sample == self.sample || absent.saturating_add(seconds * SECOND) > self.clocks.monotonic_ns
            })
        };
        let path = self.path(source);
        match source {
            Source::Process(pid, _) | Source::Thread(pid, _) => {
                let process = self.processes.all.iter().find(|process| process.pid == pid);
                // An idle process is not read again at once; a thread is known from the list and both its files.
                let lag = |path: &str| {
                    let bad = self.bad.get(path).map_or(0, |(sample, _)| *sample);
                    bad > 0 && process.is_some_and(|process| process.last_ran <= bad)
                };
                let is_late = |path: &str| excused(path, 0) || self.processes.is_gated && lag(path);
                match source {
                    Source::Thread(..) => is_late(&path) || is_late(&path.replace("/stat", "/schedstat")),
                    _ => is_late(&path),
                }
            }
            Source::File(path) if path.starts_with("proc/pressure") => excused(path, 20),
            _ => excused(&path, 10),
        }
    }

    /// Returns the reader's access to a file of a process.
    fn access(&self, pid: u32, file: &'static str) -> Access {
        let source = Source::Process(pid, file);
        if !self.is_at_fault(source) {
            return Access::Granted;
        }
        let path = self.path(source);
        let is_denied = |process: &Process| process.pid == pid && process.is_denied;
        let is_refused = match self.faults.get(&path) {
            // A file that is cut or empty may still contain enough.
            Some((fault, _)) => matches!(fault, Fault::Denied | Fault::Folder | Fault::Garbage),
            None => {
                let is_private = ["io", "fd", "smaps_rollup"].contains(&file);
                is_private && self.bad.contains_key(&path) && self.processes.all.iter().any(is_denied)
            }
        };
        if is_refused && !self.processes.is_gated { Access::Refused } else { Access::Doubtful }
    }

    /// Returns the rows that the model has for a counterset.
    pub(crate) fn rows(&self, set: Guid) -> Vec<ModelRow> {
        let row = |name: String, id: Option<u32>, thing, serial: u64, from: &[Source]| {
            let from = [from.first().copied(), from.get(1).copied()];
            ModelRow { name, id, thing, serial, has_birth: true, from }
        };
        // A sum over processors is another one whenever their set changes, so its serial is the sample of
        // that change.
        let cpus = |is_view: bool| {
            let from = [STAT, Source::File("sys/devices/system/cpu/online")];
            let rows = self.cpus.rows(is_view).into_iter().map(|(name, at)| {
                let serial = u64::from(self.cpus.changed);
                match at {
                    Some(at) => row(name, Some(at as u32), Thing::Cpu(at), at as u64, &from),
                    None => row(name, None, Thing::Cpus, serial, &from),
                }
            });
            rows.collect::<Vec<_>>()
        };
        // Idle time and totals are always listed, so their rows depend on no file.
        let processes = |is_v2: bool, idle: Option<&str>| {
            let idle = idle.map(|name| row(name.to_owned(), Some(0), Thing::Idle, 0, &[]));
            let each = self.processes.all.iter().enumerate().filter(|(_, process)| !process.is_hidden);
            let each = each.map(|(at, process)| {
                let from = Source::Process(process.pid, "stat");
                row(process.name(is_v2), Some(process.pid), Thing::Process(at), process.serial, &[from])
            });
            let total = row("_Total".to_owned(), Some(TOTAL), Thing::ProcessTotal, 0, &[]);
            idle.into_iter().chain(each).chain([total]).collect::<Vec<_>>()
        };
        let single = || vec![row(String::new(), Some(0), Thing::Single, 0, &[])];
        // The kernel has no start time of a disk, so a reader cannot see every replacement.
        let disks = |is_logical: bool, has_total: bool| {
            let stats = Source::File("proc/diskstats");
            let from = [if is_logical { Source::File("proc/1/mountinfo") } else { stats }];
            let each = self.disks.all.iter().enumerate().map(|(at, disk)| {
                let name = if is_logical { disk.mount_point() } else { disk.name() };
                ModelRow {
                    has_birth: false,
                    ..row(name, Some(disk.id()), Thing::Disk(at), disk.serial, &from)
                }
            });
            let total = row("_Total".to_owned(), Some(TOTAL), Thing::DiskTotal, 0, &from);
            each.chain(has_total.then_some(total)).collect::<Vec<_>>()
        };
        match set {
            processor_information::GUID | linux_processor::GUID | scheduler::GUID => cpus(false),
            processor::GUID => cpus(true),
            process_v2::GUID => processes(true, Some("Idle:0")),
            process::GUID => processes(false, Some("Idle")),
            linux_process::GUID => processes(true, None),
            // A thread is listed if both its process and itself can be read.
            thread::GUID => {
                let mut rows = Vec::new();
                for (at, process) in self.processes.all.iter().enumerate().filter(|(_, p)| !p.is_hidden) {
                    for (of, thread) in process.threads.iter().enumerate() {
                        let from =
                            [Source::Process(process.pid, "stat"), Source::Thread(process.pid, thread.tid)];
                        let name = format!("{}/{}", process.comm, thread.tid);
                        rows.push(row(name, Some(thread.tid), Thing::Thread(at, of), thread.serial, &from));
                    }
                }
                rows.push(row("_Total/_Total".to_owned(), Some(TOTAL), Thing::ThreadTotal, 0, &[]));
                rows
            }
            physical_disk::GUID => disks(false, true),
            logical_disk::GUID => disks(true, true),
            file_system::GUID => {
                let from = Source::File("proc/1/mountinfo");
                let root = row("/".to_owned(), Some(21), Thing::RootMount, 0, &[from]);
                [root].into_iter().chain(disks(true, false)).collect()
            }
            block_io::GUID => disks(false, false),
            network_interface::GUID | linux_network_interface::GUID => {
                let from = |serial| [Source::File(self.networks.file()), Source::Link(serial, "ifindex")];
                let each = self.networks.all.iter().enumerate().map(|(at, network)| {
                    let name = network.name().replace('\\', "_");
                    row(name, Some(network.id()), Thing::Network(at), network.serial, &from(network.serial))
                });
                each.collect()
            }
            pressure_stall::GUID => {
                let each = PRESSURE_NAMES.iter().enumerate().map(|(at, name)| {
                    let path = ["proc/pressure/cpu", "proc/pressure/memory", "proc/pressure/io"][at];
                    row((*name).to_owned(), Some(at as u32), Thing::Pressure(at), 0, &[Source::File(path)])
                });
                each.collect()
            }
            // The root is a row of its own, which no change of the groups removes.
            cgroup::GUID => {
                let from = Source::File("sys/fs/cgroup/cgroup.controllers");
                let root = row("/".to_owned(), None, Thing::RootGroup, 0, &[from]);
                let each = self.groups.all.iter().enumerate();
                let each = each.map(|(at, group)| {
                    row(group.path.to_owned(), None, Thing::Group(at), group.serial, &[from])
                });
                [root].into_iter().chain(each).collect()
            }
            paging_file::GUID => {
                let from = Source::File("proc/swaps");
                let swap = row("/swap".to_owned(), None, Thing::Swap, 0, &[from]);
                vec![swap, row("_Total".to_owned(), Some(TOTAL), Thing::Swap, 0, &[from])]
            }
            _ => single(),
        }
    }

    /// Returns the model's rule for a counter of a row.
    pub(crate) fn known(&self, set: Guid, thing: Thing, counter: CounterId) -> KnownValue {
        let is_linux = set == linux_process::GUID;
        let of_process = if set == process::GUID { Processes::of_view(counter) } else { counter };
        let start = self.start_100ns();
        match thing {
            Thing::Cpu(at) => self.of_cpus(set, Some(at), counter),
            Thing::Cpus => self.of_cpus(set, None, counter),
            Thing::Idle => self.processes.idle_known(is_linux, of_process, &self.cpus),
            Thing::ProcessTotal => {
                let about = (&self.cpus, self.memory.faults(), self.sample);
                self.processes.total(is_linux, of_process, about, |pid, file| self.access(pid, file))
            }
            Thing::Process(at) => self.processes.known(&self.processes.all[at], is_linux, of_process, start),
            Thing::Thread(at, of) => {
                let process = &self.processes.all[at];
                self.processes.thread_known(process, &process.threads[of], counter, start)
            }
            Thing::ThreadTotal | Thing::RootGroup => {
                KnownValue::new(Expected::Unknown, &[Source::File("sys/fs/cgroup/cgroup.controllers")])
            }
            Thing::RootMount => Self::mounted(counter),
            Thing::Disk(_) if set == file_system::GUID => Self::mounted(counter),
            Thing::Disk(at) if set == block_io::GUID => self.disks.block_io(&self.disks.all[at], counter),
            Thing::Disk(at) => match physical(set, counter) {
                Some(counter) => self.disks.physical(&self.disks.all[at], counter, set == logical_disk::GUID),
                None => KnownValue::new(Expected::Never, &[]),
            },
            Thing::DiskTotal => match physical(set, counter) {
                Some(counter) => self.disks.physical_total(counter, set == logical_disk::GUID),
                None => KnownValue::new(Expected::Never, &[]),
            },
            Thing::Network(at) if set == linux_network_interface::GUID => {
                self.networks.linux_known(&self.networks.all[at], counter)
            }
            Thing::Network(at) => self.networks.known(&self.networks.all[at], counter),
            Thing::Pressure(at) => self.pressure.known(at, counter),
            Thing::Group(at) => self.groups.known(&self.groups.all[at], counter),
            Thing::Swap => {
                let wanted = match counter {
                    paging_file::PERCENT_USAGE => Expected::Level(self.swapped),
                    paging_file::PERCENT_USAGE_BASE => Expected::Level(2_000),
                    _ => Expected::Never,
                };
                KnownValue::new(wanted, &[Source::File("proc/swaps")])
            }
            Thing::Single => self.single(set, counter),
        }
    }

    /// Returns the model's rule for a counter of a mount point. Nothing is mounted for reading only, and the mount
    /// points are those of another tree.
    fn mounted(counter: CounterId) -> KnownValue {
        let wanted = if counter == file_system::READ_ONLY { Expected::Level(0) } else { Expected::Never };
        KnownValue::new(wanted, &[Source::File("proc/1/mountinfo")])
    }

    fn of_cpus(&self, set: Guid, at: Option<usize>, counter: CounterId) -> KnownValue {
        match set {
            processor_information::GUID => self.cpus.information(at, counter),
            processor::GUID => self.cpus.view(at, counter),
            linux_processor::GUID => self.cpus.linux(at, counter, Source::File(self.networks.path(SOFTNET))),
            _ => self.cpus.scheduler(at, counter),
        }
    }

    fn single(&self, set: Guid, counter: CounterId) -> KnownValue {
        let loadavg = Source::File("proc/loadavg");
        match set {
            memory::GUID => self.memory.memory(counter),
            linux_memory::GUID => self.memory.linux(counter),
            cache::GUID => self.memory.cache(counter),
            system::GUID => match counter {
                system::CONTEXT_SWITCHES_PER_SEC => {
                    KnownValue::new(Expected::Count(self.cpus.switches), &[STAT])
                }
                system::PROCESSOR_QUEUE_LENGTH => {
                    let online = self.cpus.online().count() as u64;
                    KnownValue::new(Expected::Level(self.cpus.running.saturating_sub(online)), &[STAT])
                }
                system::THREADS => KnownValue::new(Expected::Level(77), &[loadavg]),
                system::PROCESSES => KnownValue::new(
                    Expected::Level(self.processes.listed().count() as u64),
                    &[Source::File("proc")],
                ),
                _ => KnownValue::new(Expected::Unknown, &[STAT]),
            },
            _ => match counter {
                linux_system::LOAD_AVERAGE_1_MINUTE => {
                    KnownValue::new(Expected::Level(self.load * 100), &[loadavg])
                }
                linux_system::LOAD_AVERAGE_5_MINUTES | linux_system::LOAD_AVERAGE_15_MINUTES => {
                    KnownValue::new(Expected::Level(0), &[loadavg])
                }
                linux_system::LOAD_AVERAGE_BASE => KnownValue::new(Expected::Level(10_000), &[]),
                linux_system::PROCESSES_CREATED_PER_SEC => {
                    KnownValue::new(Expected::Count(self.cpus.forks), &[STAT])
                }
                linux_system::INTERRUPTS_PER_SEC => {
                    KnownValue::new(Expected::Count(self.cpus.interrupts), &[STAT])
                }
                linux_system::RUNNING_THREADS => KnownValue::new(Expected::Level(self.cpus.running), &[STAT]),
                linux_system::BLOCKED_PROCESSES => {
                    KnownValue::new(Expected::Level(self.cpus.blocked), &[STAT])
                }
                linux_system::PERCENT_PROCESS_IDS_IN_USE => {
                    KnownValue::new(Expected::Level(77), &[loadavg, Source::File("proc/sys/kernel/pid_max")])
                }
                linux_system::PERCENT_PROCESS_IDS_IN_USE_BASE | linux_system::PROCESS_ID_LIMIT => {
                    KnownValue::new(Expected::Level(32_768), &[Source::File("proc/sys/kernel/pid_max")])
                }
                _ => KnownValue::new(Expected::Never, &[]),
            },
        }
    }
}

/// Returns `true` if the test may inject a fault into a file. Files that stand for a directory, or that identify a
/// device, have none.
fn may_fail(path: &str) -> bool {
    let stays = ["/fd/", "sys/block/", "proc/self/", "/type", "cgroup.controllers", "/ifindex"];
    !(stays.iter().any(|part| path.contains(part)) || path.starts_with("proc/net/") || path == "proc/1/stat")
}

/// Returns the counter of PhysicalDisk that is the same as one of PhysicalDisk or LogicalDisk.
fn physical(set: Guid, counter: CounterId) -> Option<CounterId> {
    if set == physical_disk::GUID {
        return Some(counter);
    }
    let name = logical_disk::COUNTERSET.counter(counter).and_then(|counter| counter.name.clone());
    let first = logical_disk::CURRENT_DISK_QUEUE_LENGTH.0;
    let place = counter.0.checked_sub(first)?;
    let same = physical_disk::COUNTERSET.counter(CounterId(place))?;
    (name.is_none() || same.name == name).then_some(same.id)
}
