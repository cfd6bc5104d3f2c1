//! Memory, pressure and control groups of the test's model of a machine.

use perfset_catalogue::{cache, cgroup, linux_memory, memory, pressure_stall};
use perfset_core::CounterId;

use super::basics::{Count, Expected, KnownValue, Random, Source, Tally};

#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// Levels of the model's memory in `/proc/meminfo`, in KiB.
    levels: [(&'static str, u64); 6],
    /// Counts in the model's `/proc/vmstat` that only grow.
    counts: [(&'static str, Count); 6],
    /// Levels in the model's `/proc/vmstat`, which also fall.
    gauges: [(&'static str, u64); 3],
}

const MEMINFO: Source = Source::File("proc/meminfo");
const VMSTAT: Source = Source::File("proc/vmstat");

impl Memory {
    pub(crate) fn new(random: &mut Random) -> Self {
        let mut count = |name| (name, Count::from(random.below(1 << 40)));
        Self {
            counts: ["pgpgin", "pgpgout", "pgfault", "pgmajfault", "pswpin", "nr_written"].map(&mut count),
            levels: ["MemTotal", "MemFree", "MemAvailable", "Committed_AS", "CommitLimit", "Dirty"]
                .map(|name| (name, 8)),
            gauges: ["nr_free_pages", "nr_dirty", "nr_dirty_threshold"].map(|name| (name, 1)),
        }
    }

    pub(crate) fn step(&mut self, sample: u32, random: &mut Random, tally: &mut Tally) {
        self.levels.iter_mut().for_each(|(_, level)| *level = 1 + random.below(1 << 30));
        self.gauges.iter_mut().for_each(|(_, level)| *level = 1 + random.below(1 << 30));
        for (_, count) in &mut self.counts {
            count.add(random.below(100_000), sample);
            if random.once_in(150) {
                tally.note("count of memory falls a little");
                count.fall(1 + random.below(200_000), sample);
            }
        }
        if random.once_in(150) {
            tally.note("counts of memory begin anew");
            self.counts.iter_mut().for_each(|(_, count)| count.reset(sample));
        }
    }

    pub(crate) fn meminfo(&self) -> String {
        self.levels.map(|(name, kib)| format!("{name}: {kib} kB\n")).concat()
    }

    pub(crate) fn vmstat(&self) -> String {
        self.gauges.map(|(name, level)| format!("{name} {level}\n")).concat()
            + &self.counts.map(|(name, count)| format!("{name} {}\n", count.shown)).concat()
    }

    /// Returns the model's counts of all page faults and of those that read from disk.
    pub(crate) fn faults(&self) -> [Count; 2] {
        ["pgfault", "pgmajfault"].map(|name| self.count(name).unwrap_or_default())
    }

    fn level(&self, name: &str) -> Option<u64> {
        self.levels.iter().chain(&self.gauges).find(|(known, _)| *known == name).map(|(_, level)| *level)
    }

    fn count(&self, name: &str) -> Option<Count> {
        self.counts.iter().find(|(known, _)| *known == name).map(|(_, count)| *count)
    }

    pub(crate) fn linux(&self, counter: CounterId) -> KnownValue {
        let name = linux_memory::COUNTERSET.counter(counter).and_then(|counter| counter.name.clone());
        let name = name.unwrap_or_default();
        let is_count = self.count(&name).is_some() || self.gauges.iter().any(|(known, _)| *known == name);
        let wanted = match (self.count(&name), self.level(&name)) {
            (Some(count), _) => Expected::Count(count),
            (_, Some(level)) => Expected::Level(level * if is_count { 1 } else { 1_024 }),
            _ => Expected::Never,
        };
        KnownValue::new(wanted, &[if is_count { VMSTAT } else { MEMINFO }])
    }

    pub(crate) fn memory(&self, counter: CounterId) -> KnownValue {
        use memory as id;
        let level = |name, bytes: u64| {
            KnownValue::new(Expected::Level(self.level(name).unwrap() * bytes), &[MEMINFO])
        };
        match counter {
            id::AVAILABLE_BYTES => level("MemAvailable", 1_024),
            id::AVAILABLE_KBYTES => level("MemAvailable", 1),
            id::COMMITTED_BYTES => level("Committed_AS", 1_024),
            id::COMMIT_LIMIT => level("CommitLimit", 1_024),
            id::PAGE_FAULTS_PER_SEC => {
                KnownValue::new(Expected::Count(self.count("pgfault").unwrap()), &[VMSTAT])
            }
            _ => KnownValue::new(Expected::Unknown, &[MEMINFO, VMSTAT]),
        }
    }

    pub(crate) fn cache(&self, counter: CounterId) -> KnownValue {
        use cache as id;
        let wanted = match counter {
            id::DIRTY_PAGES => Expected::Level(self.level("nr_dirty").unwrap()),
            id::DIRTY_PAGE_THRESHOLD => Expected::Level(self.level("nr_dirty_threshold").unwrap()),
            id::LAZY_WRITE_PAGES_PER_SEC | id::DATA_FLUSH_PAGES_PER_SEC => {
                Expected::MayLack(Box::new(Expected::Count(self.count("nr_written").unwrap())))
            }
            _ => return KnownValue::new(Expected::Never, &[]),
        };
        KnownValue::new(wanted, &[VMSTAT])
    }
}

/// Time that tasks of the model lost by waiting, in µs.
#[derive(Clone, Debug)]
pub(crate) struct Pressure {
    /// Waiting time of some and of all tasks, for processors, memory and storage.
    total: [[Count; 2]; 3],
    average: u64,
}

const RESOURCES: [&str; 3] = ["proc/pressure/cpu", "proc/pressure/memory", "proc/pressure/io"];
pub(crate) const PRESSURE_NAMES: [&str; 3] = ["cpu", "memory", "io"];

impl Pressure {
    pub(crate) fn new(random: &mut Random) -> Self {
        Self { total: [[(); 2]; 3].map(|both| both.map(|()| Count::from(random.below(1 << 40)))), average: 0 }
    }

    pub(crate) fn step(&mut self, passed_ns: u64, sample: u32, random: &mut Random, tally: &mut Tally) {
        self.average = random.below(100);
        for total in self.total.as_flattened_mut() {
            total.add(random.below(passed_ns / 1_000 + 1), sample);
            if random.once_in(150) {
                tally.note("pressure falls");
                total.fall(1 + random.below(1_000_000), sample);
            }
        }
    }

    pub(crate) fn files(&self, mut give: impl FnMut(String, String)) {
        for (path, both) in RESOURCES.iter().zip(&self.total) {
            let lines = ["some", "full"].iter().zip(both).map(|(kind, total)| {
                format!("{kind} avg10={}.50 avg60=0.00 avg300=0.00 total={}\n", self.average, total.shown)
            });
            give((*path).to_owned(), lines.collect());
        }
    }

    pub(crate) fn known(&self, at: usize, counter: CounterId) -> KnownValue {
        use pressure_stall as id;
        let [some, full] = self.total[at].map(|total| Expected::Count(total.times(10)));
        let wanted = match counter {
            id::PERCENT_SOME_STALLED_TIME => some,
            id::PERCENT_FULL_STALLED_TIME => full,
            id::PERCENT_SOME_STALLED_TIME_10_SECONDS | id::PERCENT_FULL_STALLED_TIME_10_SECONDS => {
                Expected::Level(self.average * 100 + 50)
            }
            id::STALLED_TIME_BASE => Expected::Level(10_000),
            id::STALLED_TIME_TIMESTAMP => Expected::Unknown,
            _ => Expected::Level(0),
        };
        KnownValue::new(wanted, &[Source::File(RESOURCES[at])])
    }
}

/// Control group of the test's model of a machine.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) serial: u64,
    pub(crate) path: &'static str,
    usage: Count,
    user: Count,
    system: Count,
    memory: u64,
    faults: Count,
    read: Count,
    tasks: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Groups {
    pub(crate) all: Vec<Group>,
    next_serial: u64,
}

impl Groups {
    pub(crate) fn new() -> Self {
        let mut groups = Self { all: Vec::new(), next_serial: 1 };
        groups.begin("a");
        groups.begin("a/b");
        groups
    }

    fn begin(&mut self, path: &'static str) {
        let none = Count::default();
        self.all.push(Group {
            serial: self.next_serial,
            path,
            usage: none,
            user: none,
            system: none,
            memory: 0,
            faults: none,
            read: none,
            tasks: 1,
        });
        self.next_serial += 1;
    }

    pub(crate) fn step(&mut self, passed_ns: u64, sample: u32, random: &mut Random, tally: &mut Tally) {
        for group in &mut self.all {
            let (user, system) = (random.below(passed_ns / 1_000 + 1), random.below(passed_ns / 1_000 + 1));
            group.user.add(user, sample);
            group.system.add(system, sample);
            group.usage.add(user + system, sample);
            group.memory = random.below(1 << 30);
            group.faults.add(random.below(1_000), sample);
            group.read.add(random.below(100_000), sample);
            group.tasks = 1 + random.below(10);
        }
        let names = ["a", "a/b", "c"];
        let free = names.iter().find(|name| self.all.iter().all(|group| group.path != **name));
        match (random.below(50), free) {
            (0, _) if self.all.len() > 1 => {
                tally.note("control group is removed");
                self.all.pop();
            }
            (1 | 2, Some(name)) if *name != "a/b" || self.all.iter().any(|group| group.path == "a") => {
                tally.note("control group is made");
                self.begin(name);
            }
            (3, _) => {
                let last = self.all.pop().map_or("a", |group| group.path);
                tally.note("control group is made again");
                self.begin(last);
            }
            _ => {}
        }
    }

    pub(crate) fn files(&self, mut give: impl FnMut(String, String)) {
        give("sys/fs/cgroup/cgroup.controllers".to_owned(), "cpu io memory pids\n".to_owned());
        for group in &self.all {
            let path = |name| format!("sys/fs/cgroup/{}/{name}", group.path);
            let (usage, user, system) = (group.usage.shown, group.user.shown, group.system.shown);
            let stat = format!("usage_usec {usage}\nuser_usec {user}\nsystem_usec {system}\n");
            give(path("cpu.stat"), stat);
            give(path("memory.current"), format!("{}\n", group.memory));
            give(path("memory.stat"), format!("anon 5\npgfault {}\n", group.faults.shown));
            give(
                path("io.stat"),
                format!("8:0 rbytes={} wbytes=0 rios=0 wios=0 dbytes=0 dios=0\n", group.read.shown),
            );
            give(path("pids.current"), format!("{}\n", group.tasks));
        }
    }

    pub(crate) fn known(&self, group: &Group, counter: CounterId) -> KnownValue {
        use cgroup as id;
        let of = |wanted, file| KnownValue::new(wanted, &[Source::Group(group.serial, file)]);
        let time = |count: Count| of(Expected::Count(count.times(10)), "cpu.stat");
        match counter {
            id::PERCENT_PROCESSOR_TIME => time(group.usage),
            id::PERCENT_USER_TIME => time(group.user),
            id::PERCENT_PRIVILEGED_TIME => time(group.system),
            id::MEMORY_BYTES => of(Expected::Level(group.memory), "memory.current"),
            id::ANONYMOUS_BYTES => of(Expected::Level(5), "memory.stat"),
            id::PAGE_FAULTS_PER_SEC => of(Expected::Count(group.faults), "memory.stat"),
            id::STORAGE_READ_BYTES_PER_SEC => of(Expected::Count(group.read), "io.stat"),
            id::STORAGE_WRITE_BYTES_PER_SEC
            | id::STORAGE_READS_PER_SEC
            | id::STORAGE_WRITES_PER_SEC
            | id::STORAGE_DISCARD_BYTES_PER_SEC
            | id::STORAGE_DISCARDS_PER_SEC => of(Expected::Count(Count::default()), "io.stat"),
            id::TASK_COUNT => of(Expected::Level(group.tasks), "pids.current"),
            _ => KnownValue::new(Expected::Never, &[]),
        }
    }
}
