//! Processes of a generated host.

use std::num::NonZeroU64;

use crate::plan::{HostPlan, HostRole};
use crate::random::Random;

/// Size of a memory page of a generated host, in bytes.
const PAGE: u64 = 4_096;

/// Number of processes that a generated host shows, of all that it has.
const SHOWN: usize = 50;

/// Programs that run as long as the generated host: name, usual share of a processor, pages, share of the samples in
/// which they are busy.
const LASTING: [(&str, f64, u64, f64); 12] = [
    ("systemd", 0.001, 3_000, 0.2),
    ("sshd", 0.0005, 2_000, 0.05),
    ("systemd-journald", 0.004, 9_000, 0.6),
    ("dbus-daemon", 0.0005, 1_200, 0.1),
    ("cron", 0.0002, 800, 0.02),
    ("containerd", 0.006, 14_000, 0.9),
    ("chronyd", 0.0003, 900, 0.3),
    ("rsyslogd", 0.002, 1_500, 0.5),
    ("agetty", 0.0, 500, 0.0),
    ("perfset", 0.008, 2_200, 1.0),
    ("haproxy", 0.03, 20_000, 0.9),
    ("redis-server", 0.05, 180_000, 1.0),
];

/// Process of a generated host.
#[derive(Clone, Debug)]
pub struct HostProcess {
    pub name: String,
    pub id: u32,
    /// Start time of the process in 100 ns since 1601; `None` if the time is 0.
    pub birth: Option<NonZeroU64>,
    pub is_others: bool,
    /// Usual share of a processor that the process uses while it is busy.
    usual: f64,
    busy: f64,
    /// Number of memory pages that the process takes each second and never gives back.
    leak: f64,
    leaked: f64,
    /// Sample before which the process ends.
    ends: u64,
    pub user_100ns: u64,
    pub system_100ns: u64,
    pub faults: u64,
    pub pages: u64,
    pub peak_pages: u64,
    pub private_pages: u64,
    pub virtual_bytes: u64,
    pub threads: u64,
    pub handles: u64,
    pub parent: u32,
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// Processes of a generated host.
#[derive(Debug)]
pub struct HostProcesses {
    pub all: Vec<HostProcess>,
    next_id: u32,
    births_per_second: f64,
    load: f64,
}

impl HostProcesses {
    /// Starts the processes of a generated host that starts.
    pub fn start(plan: HostPlan, load: f64, now_100ns: u64, random: &mut Random) -> Self {
        let births_per_second = match plan.role() {
            HostRole::Web => 0.02,
            HostRole::Database => 0.004,
            HostRole::Batch => 0.25,
        };
        let mut processes = Self { all: Vec::new(), next_id: 1, births_per_second, load };
        for (name, usual, pages, busy) in LASTING {
            processes.begin(name, (usual, pages, busy), u64::MAX, now_100ns, random);
        }
        let (workers, name, usual, pages) = match plan.role() {
            HostRole::Web => (24, "nginx", 0.10, 12_000),
            HostRole::Database => (32, "postgres", 0.06, 40_000),
            HostRole::Batch => (8, "dispatcher", 0.04, 9_000),
        };
        for _ in 0..workers {
            let (usual, busy) = (usual * random.between(0.2, 1.8), random.between(0.1, 1.0));
            processes.begin(name, (usual, pages, busy), u64::MAX, now_100ns, random);
        }
        let more = SHOWN + 6 - processes.all.len() - 2;
        for number in 0..more {
            let name = format!("kworker/{number}:1");
            processes.begin(&name, (0.002, 0, 0.3), u64::MAX, now_100ns, random);
        }
        // The application whose versions are compared.
        for _ in 0..2 {
            let usual = if plan.is_new_version() { 0.55 } else { 0.40 };
            let process = processes.begin("shop", (usual, 90_000, 1.0), u64::MAX, now_100ns, random);
            process.leak = if plan.is_new_version() { 9.0 } else { 0.0 };
        }
        processes
    }

    fn begin(
        &mut self,
        name: &str,
        (usual, pages, busy): (f64, u64, f64),
        ends: u64,
        now_100ns: u64,
        random: &mut Random,
    ) -> &mut HostProcess {
        self.next_id += 1 + random.below(40) as u32;
        let pages = (pages as f64 * random.between(0.7, 1.4)) as u64;
        let process = HostProcess {
            name: name.to_owned(),
            id: self.next_id,
            birth: NonZeroU64::new(now_100ns + random.below(9) * 100_000),
            is_others: random.happens(0.6),
            usual: usual * self.load,
            busy,
            leak: 0.0,
            leaked: 0.0,
            ends,
            user_100ns: 0,
            system_100ns: 0,
            faults: pages + random.below(2_000),
            pages,
            peak_pages: pages,
            private_pages: pages * 3 / 5,
            virtual_bytes: (pages * 3 + random.below(100_000)) * PAGE,
            threads: 1 + random.below(12),
            handles: 4 + random.below(60),
            parent: if random.happens(0.5) { 1 } else { self.next_id - 1 },
            reads: 0,
            writes: 0,
            read_bytes: 0,
            written_bytes: 0,
        };
        let at = self.all.len();
        self.all.push(process);
        &mut self.all[at]
    }

    /// Adds the work of the last `seconds` to the counts of all processes. Returns the time of all processes in user
    /// and in kernel mode, in 100 ns.
    pub fn pass(&mut self, sample: u64, seconds: f64, now_100ns: u64, random: &mut Random) -> (u64, u64) {
        self.all.retain(|process| process.ends > sample);
        for _ in 0..random.events(self.births_per_second * seconds) {
            let Some(name) = random.choose(&["python3", "gzip", "cc1plus", "tar", "curl"]) else { continue };
            let ends = sample + 1 + random.below(12);
            let about = (random.between(0.3, 1.0), 30_000, 1.0);
            self.begin(name, about, ends, now_100ns, random).is_others = false;
        }
        let (mut user, mut system) = (0, 0);
        for process in &mut self.all {
            if !random.happens(process.busy) {
                continue;
            }
            let share = (process.usual * random.between(0.5, 1.5)).min(process.threads as f64);
            let used = (share * seconds * 1e7) as u64;
            let in_system = (used as f64 * random.between(0.15, 0.35)) as u64;
            (user, system) = (user + used - in_system, system + in_system);
            process.user_100ns += used - in_system;
            process.system_100ns += in_system;
            process.faults += random.events(share * 900.0);
            process.leaked += process.leak * seconds;
            let steps = random.below(9).saturating_sub(4) + process.leaked as u64;
            process.leaked -= process.leaked.floor();
            let back = if random.happens(0.4) && process.leak == 0.0 { random.below(6) } else { 0 };
            process.pages = (process.pages + steps).saturating_sub(back);
            process.private_pages = (process.private_pages + steps).saturating_sub(back);
            process.peak_pages = process.peak_pages.max(process.pages);
            process.virtual_bytes = process.virtual_bytes.max(process.pages * PAGE * 2);
            if random.happens(0.03) {
                process.threads = 1 + (process.threads + random.below(3)).saturating_sub(2);
                process.handles = (process.handles + random.below(5)).saturating_sub(2).max(3);
            }
            let (reads, writes) = (random.events(share * 400.0), random.events(share * 150.0));
            process.reads += reads;
            process.writes += writes;
            process.read_bytes += reads * (200 + random.below(3_000));
            process.written_bytes += writes * (100 + random.below(2_000));
        }
        (user, system)
    }

    /// Returns the largest processes of the host, in the order in which they started.
    pub fn largest(&self) -> Vec<&HostProcess> {
        let mut sizes: Vec<(u64, usize)> = self.all.iter().map(|process| process.pages).zip(0..).collect();
        sizes.sort_unstable_by_key(|(pages, at)| (std::cmp::Reverse(*pages), *at));
        sizes.truncate(SHOWN);
        let mut places: Vec<usize> = sizes.into_iter().map(|(_, at)| at).collect();
        places.sort_unstable();
        places.into_iter().map(|at| &self.all[at]).collect()
    }
}

impl HostProcess {
    /// Returns the raw value of a process for a counter of Process V2; `None` if the counter has no source.
    pub fn value(&self, id: u32) -> Option<u64> {
        Some(match id {
            0 => self.user_100ns + self.system_100ns,
            // The kernel tells both in clock ticks.
            1 => self.user_100ns / 100_000 * 100_000,
            2 => self.system_100ns / 100_000 * 100_000,
            3 | 4 => self.virtual_bytes,
            5 => self.faults,
            6 => self.peak_pages * PAGE,
            7 => self.pages * PAGE,
            9 | 10 => self.private_pages * PAGE,
            11 => self.threads,
            12 => 8,
            13 => self.birth?.get(),
            14 => self.id.into(),
            15 => self.parent.into(),
            18 => self.handles,
            19 => self.reads,
            20 => self.writes,
            21 => self.reads + self.writes,
            23 => self.read_bytes,
            24 => self.written_bytes,
            25 => self.read_bytes + self.written_bytes,
            27 => (self.pages - self.pages / 8) * PAGE,
            _ => return None,
        })
    }
}
