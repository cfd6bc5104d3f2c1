//! Generated host: the counts of a machine at one instant, as a provider.

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perfset_catalogue::{memory, network_interface, physical_disk, process_v2, processor_information};
use perfset_core::clock::{ClockReading, SystemTime};
use perfset_core::{CounterId, Guid, InstanceId, NoValue};
use perfset_engine::provider::{TOTAL_ID, TOTAL_NAME};
use perfset_engine::{Catalogue, Clock, CollectRequest, Entry, Machine, Provider, Query, Rows, SourceError};

use crate::disks::{HostDisk, HostInterface};
use crate::plan::{HostPlan, HostRole};
use crate::processes::{HostProcess, HostProcesses};
use crate::random::Random;

/// Number of processors of a generated host.
const CPUS: usize = 16;

const PAGE: u64 = 4_096;
const GIB: u64 = 1 << 30;

/// Countersets that a generated host has.
const SETS: [Guid; 5] = [
    processor_information::GUID,
    memory::GUID,
    physical_disk::GUID,
    network_interface::GUID,
    process_v2::GUID,
];

/// Counts of a generated host's processor since the machine started; times in 100 ns.
#[derive(Clone, Debug, Default)]
struct HostCpu {
    user: u64,
    system: u64,
    softirq: u64,
    irq: u64,
    idle: u64,
    interrupts: u64,
    clock_interrupts: u64,
    softirqs: u64,
    wakeups: u64,
    megahertz: u64,
}

/// State of a generated host.
#[derive(Debug)]
struct HostState {
    plan: HostPlan,
    random: Random,
    catalogue: Arc<Catalogue>,
    clocks: ClockReading,
    sample: u64,
    cpus: Vec<HostCpu>,
    disks: Vec<HostDisk>,
    interfaces: Vec<HostInterface>,
    processes: HostProcesses,
    faults: u64,
    paged_in: u64,
    paged_out: u64,
    cached: u64,
    dirty: u64,
    load: f64,
    /// `true` while the disks of the host respond too late.
    is_late: bool,
}

/// Generated host: a machine whose counters follow from a seed. Clones share one state.
#[derive(Clone, Debug)]
pub struct GeneratedHost(Arc<Mutex<HostState>>);

impl GeneratedHost {
    /// Starts a generated host at a time, in 100 ns since 1601.
    #[must_use]
    pub fn start(plan: HostPlan, begin_100ns: i64) -> Self {
        let mut random = Random::new(plan.seed << 32 ^ plan.number);
        let load = if plan.is_hot() { 2.6 } else { random.between(0.4, 1.3) };
        let sets = SETS.iter().filter_map(|guid| perfset_catalogue::by_guid(*guid));
        let sets = sets.map(|set| Arc::new(set.clone())).collect();
        let processes = HostProcesses::start(plan, load, begin_100ns.cast_unsigned(), &mut random);
        let mut state = HostState {
            plan,
            random,
            catalogue: Arc::new(Catalogue::new("generated", sets)),
            clocks: ClockReading::default(),
            sample: 0,
            cpus: Vec::new(),
            disks: Vec::new(),
            interfaces: Vec::new(),
            processes,
            faults: 0,
            paged_in: 0,
            paged_out: 0,
            cached: 0,
            dirty: 0,
            load,
            is_late: false,
        };
        state.boot(begin_100ns, 86_400.0);
        Self(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, HostState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the generated host again: all counts begin at 0.
    pub fn reboot(&self, now_100ns: i64) {
        let state = &mut *self.state();
        let begun = now_100ns.cast_unsigned();
        state.processes = HostProcesses::start(state.plan, state.load, begun, &mut state.random);
        state.boot(now_100ns, 20.0);
    }

    /// Lets time pass until the host's next sample. The wall clock differs by `wall_100ns` from the time that passes.
    pub fn pass(&self, now_100ns: i64, wall_100ns: i64, is_late: bool) {
        let state = &mut *self.state();
        state.is_late = is_late;
        state.pass(now_100ns, wall_100ns);
    }

    /// Returns the clocks of the host's current sample.
    #[must_use]
    pub fn clocks(&self) -> ClockReading {
        self.state().clocks
    }

    /// Returns a query of all counters of all instances of the host.
    #[must_use]
    pub fn query(&self) -> Query {
        let machine = Machine::bare(Box::new(self.clone()));
        machine.register(Box::new(self.clone()));
        let mut query = machine.query();
        for guid in SETS {
            let entry = Entry::all(guid);
            let is_multiple =
                perfset_catalogue::by_guid(guid).is_some_and(|set| set.instance_type.is_multiple());
            let _ = query.add(&if is_multiple { entry.instance("*") } else { entry }); // the host has them all
        }
        query
    }
}

impl HostState {
    /// Sets all counts of the host to those of a machine that started some time ago.
    fn boot(&mut self, now_100ns: i64, up_seconds: f64) {
        let (plan, random) = (self.plan, &mut self.random);
        let up = (up_seconds * 1e7) as u64;
        self.clocks = ClockReading {
            perf_time: up.cast_signed() * 100,
            time_100ns: now_100ns,
            perf_freq: 1_000_000_000,
            system_time: SystemTime::from_100ns(now_100ns),
        };
        // Some counts of 4 bytes pass their end within the hour.
        let near_end = (1 << 32) - 50_000;
        self.cpus = (0..CPUS)
            .map(|cpu| HostCpu {
                idle: up,
                interrupts: if cpu == 3 { near_end } else { random.below(1 << 28) },
                megahertz: 2_400,
                ..HostCpu::default()
            })
            .collect();
        let usual = match plan.role() {
            HostRole::Web => 15.0,
            HostRole::Database => 450.0,
            HostRole::Batch => 90.0,
        };
        let names = if plan.is_virtual() { ["vda", "vdb", "vdc"] } else { ["nvme0n1", "nvme1n1", "sda"] };
        self.disks = (0..)
            .zip(names)
            .map(|(number, name)| HostDisk {
                name: format!("{number} {name}"),
                usual: usual / f64::from(1 << (2 * number)) * self.load,
                ..HostDisk::default()
            })
            .collect();
        self.interfaces = [("lo", 20.0), ("eth0", 900.0), ("eth1", 0.5)]
            .map(|(name, usual)| HostInterface { name, usual: usual * self.load, ..HostInterface::default() })
            .into();
        (self.faults, self.paged_in, self.paged_out) = (1 << 20, 1 << 18, 1 << 19);
        (self.cached, self.dirty) = (6 * GIB / PAGE + random.below(1 << 18), 900);
    }

    fn pass(&mut self, now_100ns: i64, wall_100ns: i64) {
        let passed = (now_100ns - self.clocks.time_100ns).max(1);
        let seconds = passed as f64 / 1e7;
        self.sample += 1;
        self.clocks.perf_time += passed * 100;
        self.clocks.time_100ns = now_100ns;
        self.clocks.system_time = SystemTime::from_100ns(now_100ns + wall_100ns);
        let random = &mut self.random;
        let now = now_100ns.cast_unsigned();
        let (user, system) = self.processes.pass(self.sample, seconds, now, random);
        let weights: Vec<f64> = self.cpus.iter().map(|_| random.between(0.4, 1.6)).collect();
        let all: f64 = weights.iter().sum();
        for (cpu, weight) in self.cpus.iter_mut().zip(weights) {
            let of = |time: u64| time as f64 * weight / all;
            let irq = passed as f64 * 0.002 * random.between(0.2, 2.0);
            let softirq = passed as f64 * 0.004 * random.between(0.2, 2.0);
            let (user, system) = (of(user), of(system));
            let busy = user + system + irq + softirq;
            let fits = (passed as f64 / busy).min(1.0);
            let ticks = |time: f64| (time * fits / 100_000.0) as u64 * 100_000;
            let (user, system, irq, softirq) = (ticks(user), ticks(system), ticks(irq), ticks(softirq));
            cpu.user += user;
            cpu.system += system;
            cpu.irq += irq;
            cpu.softirq += softirq;
            cpu.idle +=
                passed.cast_unsigned().saturating_sub(user + system + irq + softirq) / 100_000 * 100_000;
            cpu.interrupts += random.events(seconds * 400.0);
            cpu.clock_interrupts += random.events(seconds * 110.0);
            cpu.softirqs += random.events(seconds * 180.0);
            cpu.wakeups += random.events(seconds * 250.0);
            cpu.megahertz = 1_200 + random.below(20) * 100;
        }
        self.disks.iter_mut().for_each(|disk| disk.pass(seconds, random));
        self.interfaces.iter_mut().for_each(|interface| interface.pass(seconds, random));
        self.faults += random.events(seconds * 800.0);
        self.paged_in += random.events(seconds * 40.0);
        self.paged_out += random.events(seconds * 120.0);
        self.cached += random.below(300);
        self.dirty = 400 + random.below(2_000);
    }

    fn processors(&self, want: &CollectRequest<'_>, rows: &mut Rows) {
        let frequency = !self.plan.is_virtual();
        let mut total = HostCpu::default();
        let count = self.cpus.len() as u64;
        for cpu in &self.cpus {
            total.user += cpu.user;
            total.system += cpu.system;
            total.irq += cpu.irq;
            total.softirq += cpu.softirq;
            total.idle += cpu.idle;
            total.interrupts += cpu.interrupts;
            total.clock_interrupts += cpu.clock_interrupts;
            total.softirqs += cpu.softirqs;
            total.wakeups += cpu.wakeups;
            total.megahertz += cpu.megahertz;
        }
        total.megahertz /= count;
        let up = self.clocks.perf_time.cast_unsigned() / 100;
        let mut push = |name: &str, id: InstanceId, cpu: &HostCpu, count: u64| {
            let value = |id: u32| {
                let in_kernel = cpu.system + cpu.irq + cpu.softirq;
                Some(match id {
                    0 | 8 => cpu.idle / count,
                    1 => cpu.user / count,
                    2 => in_kernel / count,
                    3 => cpu.interrupts & u64::from(u32::MAX),
                    4 => cpu.softirq / count,
                    5 => cpu.irq / count,
                    6 => cpu.softirqs & u64::from(u32::MAX),
                    15 => cpu.idle / count,
                    20 => cpu.clock_interrupts & u64::from(u32::MAX),
                    9..=14 | 17 | 18 | 21..=28 | 30 if !frequency => return None,
                    9 => cpu.idle / count / 4,
                    10 => cpu.idle / count / 4,
                    11 => cpu.idle / count / 2,
                    12 | 13 => cpu.wakeups / 4,
                    14 => cpu.wakeups / 2,
                    17 => 2_400,
                    18 => cpu.megahertz * 100 / 3_200,
                    21 => cpu.idle,
                    22 | 23 => cpu.wakeups,
                    24 | 26 => (cpu.user + in_kernel) / count * 100 * cpu.megahertz / 100,
                    25 => (cpu.user + in_kernel) / count * 24,
                    27 => up * 24,
                    28 => in_kernel / count * 2_400,
                    30 => 100,
                    _ => return None,
                })
            };
            fill(rows, want, (name, id, None), value, "this virtual machine has no idle states", &[]);
        };
        for (number, cpu) in (0..).zip(&self.cpus) {
            push(&format!("0,{number}"), InstanceId(number), cpu, 1);
        }
        push("0,_Total", InstanceId(1_000), &total, count);
        push(TOTAL_NAME, TOTAL_ID, &total, count);
    }

    fn memory(&self, want: &CollectRequest<'_>, rows: &mut Rows) {
        let total = 64 * GIB;
        let used: u64 = self.processes.all.iter().map(|process| process.private_pages * PAGE).sum();
        let cached = self.cached * PAGE;
        let available = total.saturating_sub(used + GIB);
        let free = available.saturating_sub(cached);
        let value = |id: u32| {
            Some(match id {
                0 => self.faults,
                1 => available,
                2 => used * 2,
                3 | 36 => total / 2,
                8 => self.paged_in + self.paged_out,
                9 => self.paged_in,
                10 => self.paged_in / 16,
                11 => self.paged_out,
                12 | 20 => cached / 16,
                13 => GIB / 2,
                17 => 8_589_934_591,
                18 => cached + cached / 16,
                23 => 3_817_472,
                25 => cached,
                26 => used * 2,
                27 => available >> 10,
                28 => available >> 20,
                29 => self.paged_in / 8,
                30 => free,
                31 => self.dirty * PAGE,
                33 => available - free,
                _ => return None,
            })
        };
        fill(rows, want, ("", InstanceId(0), None), value, "", &[]);
    }

    fn processes(&self, want: &CollectRequest<'_>, rows: &mut Rows) {
        const REFUSED: [u32; 7] = [18, 19, 20, 21, 23, 24, 25];
        let up = self.clocks.perf_time.cast_unsigned() / 100;
        let idle: u64 = self.cpus.iter().map(|cpu| cpu.idle).sum();
        let of_idle = |id: u32| (id == 0 || id == 2).then_some(idle);
        fill(rows, want, ("Idle:0", InstanceId(0), None), of_idle, "it is no process", &[]);
        for process in self.processes.largest() {
            let is_refused = self.plan.is_refused() && process.is_others;
            let refused: &[u32] = if is_refused { &REFUSED } else { &[] };
            let HostProcess { name, id, birth, .. } = process;
            let name = format!("{name}:{id}");
            let key = (&*name, InstanceId(*id), *birth);
            fill(rows, want, key, |id| process.value(id), "it has none", refused);
        }
        // The times are those of the machine, other counts the sum over the processes that are there.
        let busy = |read: fn(&HostCpu) -> u64| self.cpus.iter().map(read).sum::<u64>();
        let total = |id: u32| match id {
            0 => Some(busy(|cpu| cpu.user + cpu.system)),
            1 => Some(busy(|cpu| cpu.user)),
            2 => Some(busy(|cpu| cpu.system)),
            5 => Some(self.faults),
            7 | 10 | 11 => self.processes.all.iter().map(|process| process.value(id)).sum(),
            13 => Some(self.clocks.time_100ns.cast_unsigned() - up),
            _ => None,
        };
        fill(rows, want, (TOTAL_NAME, TOTAL_ID, None), total, "processes end", &[]);
    }
}

/// Adds a row with the values of its counters, and the reasons for missing values.
fn fill(
    rows: &mut Rows,
    want: &CollectRequest<'_>,
    (name, id, birth): (&str, InstanceId, Option<NonZeroU64>),
    value: impl Fn(u32) -> Option<u64>,
    reason: &'static str,
    refused: &[u32],
) {
    let mut row = rows.push(name, id, birth);
    for (column, CounterId(counter)) in want.counters.iter().enumerate() {
        let counter = *counter;
        match value(counter) {
            _ if refused.contains(&counter) => {
                row.set_unavailable(column, NoValue::Denied("not readable for this user".into()));
            }
            Some(value) => row.set(column, value),
            None => {
                let of_set = want.counterset.counter(CounterId(counter));
                let never = of_set.filter(|counter| counter.is_never_there());
                let text = never.map_or(reason, |counter| &counter.availability);
                row.set_unavailable(column, NoValue::Unavailable(text.to_owned().into()));
            }
        }
    }
}

impl Clock for GeneratedHost {
    fn read(&mut self) -> ClockReading {
        self.clocks()
    }
}

impl Provider for GeneratedHost {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.state().catalogue))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let state = &*self.state();
        let guid = want.counterset.guid;
        if guid == processor_information::GUID {
            state.processors(want, rows);
        } else if guid == memory::GUID {
            state.memory(want, rows);
        } else if guid == process_v2::GUID {
            state.processes(want, rows);
        } else if guid == network_interface::GUID {
            for (number, interface) in (0..).zip(&state.interfaces) {
                let value = |id| interface.value(id, state.plan.is_virtual());
                let key = (interface.name, InstanceId(number), None);
                fill(rows, want, key, value, "the interface has no speed", &[]);
            }
        } else {
            if state.is_late {
                return Err(NoValue::Late.into());
            }
            let up_ns = state.clocks.perf_time.cast_unsigned();
            let now = state.clocks.time_100ns.cast_unsigned();
            let mut total = HostDisk::default();
            for (number, disk) in (0..).zip(&state.disks) {
                total.add(disk);
                let value = |id| disk.value(id, 1, now, up_ns);
                fill(rows, want, (&disk.name, InstanceId(number), None), value, "", &[]);
            }
            let count = state.disks.len() as u64;
            let value = |id| total.value(id, count, now, up_ns);
            fill(rows, want, (TOTAL_NAME, TOTAL_ID, None), value, "", &[]);
        }
        Ok(())
    }
}
