//! Synthetic machine: about 500 processes with births and deaths, their threads, control groups and system counters.
//!
//! Its values have the statistics of a real machine that was recorded for ten minutes: about 26,000 of them, of which
//! 4 % differ from the sample before. The same calls give the same values on every machine.

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perfset_core::clock::{ClockReading, SystemTime};
use perfset_core::{Counter, CounterId, CounterType, Counterset, Guid, InstanceId, InstanceType, NoValue};
use perfset_engine::{
    Catalogue, Clock, CollectRequest, Entry, Machine, Provider, Query, Rows, Snapshot, SourceError,
};

/// Time of the synthetic machine's first sample, in 100 ns since 1601 UTC.
const BEGIN_100NS: i64 = 134_400_000_000_000_000;
/// Monotonic time of the synthetic machine's first sample, in ns.
const BEGIN_NS: i64 = 5_000_000_000_000;

/// Number of instances that begin in 10 samples, in each synthetic counterset whose instances begin and end.
const BIRTHS_IN_10: u64 = 44;

/// Names of the synthetic machine's processes; the last five are for processes that end soon.
const NAMES: [&str; 16] = [
    "systemd",
    "kworker/0:1",
    "kworker/u4:3",
    "sshd",
    "nginx",
    "postgres",
    "node",
    "dockerd",
    "java",
    "rcu_preempt",
    "bash",
    "cc1",
    "rustc",
    "sh",
    "ld",
    "sed",
];

/// Generator of deterministic random numbers (SplitMix64).
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Returns a random number whose size varies by powers of two, as amounts of work do.
    fn amount(&mut self, usual: u64) -> u64 {
        let doublings = self.next().trailing_zeros().min(8);
        self.below((usual << doublings) / 2 + 2)
    }
}

/// Behaviour of a counter's values in a sample in which its instance is busy.
#[derive(Clone, Copy, Debug)]
enum Column {
    /// Behaviour of a value that never changes: an id, a limit, a start time.
    Constant,
    /// Behaviour of a value that changes in one of 50 samples: the number of threads or handles.
    Rare,
    /// Behaviour of a value that rises by about this amount.
    Total(u64),
    /// Behaviour of a value that goes up or down by multiples of this amount.
    Level(u64),
}

/// Behaviours of the counters of processes, repeated until a counterset has enough of them.
const PROCESS: [Column; 13] = [
    Column::Constant,
    Column::Total(20_000),
    Column::Total(10_000_000),
    Column::Constant,
    Column::Level(4_096),
    Column::Rare,
    Column::Total(300),
    Column::Level(4_096),
    Column::Constant,
    Column::Total(4_096),
    Column::Rare,
    Column::Total(7),
    Column::Constant,
];

/// Behaviours of the counters of the system, repeated until a counterset has enough of them.
const SYSTEM: [Column; 6] = [
    Column::Total(50_000),
    Column::Constant,
    Column::Level(4_096),
    Column::Total(12),
    Column::Constant,
    Column::Total(1_000_000_000),
];

/// Counterset of the synthetic machine.
#[derive(Debug)]
struct SyntheticSet {
    set: Arc<Counterset>,
    columns: Vec<Column>,
    rows: Vec<SyntheticRow>,
    /// `true` if instances of the synthetic counterset begin and end between samples.
    churns: bool,
}

/// Instance of a counterset of the synthetic machine.
#[derive(Debug)]
struct SyntheticRow {
    name: String,
    id: u32,
    birth: Option<NonZeroU64>,
    /// Share of the samples in which the synthetic instance is busy, in thousandths.
    busy: u64,
    /// Number of the sample before which the synthetic instance ends.
    ends: u64,
    /// `true` if the instance's last two counters cannot be read, as for other users' processes.
    is_denied: bool,
    values: Vec<u64>,
}

/// State of the synthetic machine at the current sample.
#[derive(Debug)]
struct State {
    random: Random,
    sample: u64,
    next_id: u32,
    sets: Vec<SyntheticSet>,
    clocks: ClockReading,
    changes: u64,
    /// Catalogue of the synthetic countersets, kept because it is requested before each collection.
    catalogue: Option<Arc<Catalogue>>,
}

/// Machine whose values are invented by a generator, for benches. Clones share the same state.
#[derive(Clone, Debug)]
pub struct SyntheticMachine(Arc<Mutex<State>>);

/// Checksum of samples: the number of values, and their sum modulo 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    /// Number of cells in the samples that have a value.
    pub values: u64,
    /// Sum of the samples' values, modulo 2^64.
    pub sum: u64,
}

impl Checksum {
    /// Adds one value of a sample to the checksum.
    pub fn add(&mut self, value: u64) {
        self.values += 1;
        self.sum = self.sum.wrapping_add(value);
    }

    /// Adds the values of another checksum to this one.
    pub fn add_all(&mut self, other: Self) {
        self.values += other.values;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// Size of a synthetic machine.
#[derive(Clone, Copy, Debug)]
pub enum Size {
    /// Size of a synthetic machine with all instances of each counterset.
    Whole,
    /// Size of a synthetic machine with one or two instances of each counterset, for directories of very many files.
    Small,
}

impl SyntheticMachine {
    /// Creates a synthetic machine, in the state before its first sample.
    pub fn new(size: Size) -> Self {
        let clocks = ClockReading::default();
        let mut state = State {
            random: Random(26),
            sample: 0,
            next_id: 1,
            sets: Vec::new(),
            clocks,
            changes: 0,
            catalogue: None,
        };
        let all = |count: u32| match size {
            Size::Whole => count,
            Size::Small => count.min(1),
        };
        state.add_set("Process", &PROCESS, 26, all(480), true);
        state.add_set("Thread", &PROCESS, 13, all(720), true);
        state.add_set("Control Group", &PROCESS, 16, all(90), false);
        for number in 0..29 {
            let name = format!("System {number:02}");
            state.add_set(
                &name,
                &SYSTEM,
                8 + number % 3 * 8,
                all(1 + u32::try_from(number % 5).unwrap_or(0)),
                false,
            );
        }
        if matches!(size, Size::Small) {
            state.sets.iter_mut().for_each(|set| set.churns = false);
        }
        Self(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the values of the synthetic machine to those of the next sample.
    pub fn step(&self) {
        self.state().step();
    }

    /// Returns the checksum of the synthetic machine's current sample.
    pub fn checksum(&self) -> Checksum {
        let mut checksum = Checksum::default();
        for set in &self.state().sets {
            for row in &set.rows {
                let read = row.values.len() - if row.is_denied { DENIED } else { 0 };
                row.values[..read].iter().for_each(|value| checksum.add(*value));
            }
        }
        checksum
    }

    /// Returns the number of values in all samples so far that differed from the previous sample.
    pub fn changes(&self) -> u64 {
        self.state().changes
    }

    /// Returns the countersets of the synthetic machine.
    pub fn sets(&self) -> Vec<Arc<Counterset>> {
        self.state().sets.iter().map(|set| Arc::clone(&set.set)).collect()
    }

    /// Returns a process of the synthetic machine that always exists and is mostly busy, and one of its counters. The
    /// process is given as its counterset, name, id and birth.
    pub fn busy_process(&self) -> Option<(Arc<Counterset>, String, u32, Option<NonZeroU64>, CounterId)> {
        let state = self.state();
        let set = state.sets.first()?;
        let row = set.rows.iter().find(|row| row.busy > 500)?;
        Some((Arc::clone(&set.set), row.name.clone(), row.id, row.birth, CounterId(3)))
    }

    /// Returns a query of all counters of all instances of the synthetic machine.
    pub fn query(&self) -> Query {
        let machine = Machine::bare(Box::new(self.clone()));
        machine.register(Box::new(self.clone()));
        let mut query = machine.query();
        for set in self.sets() {
            let _ = query.add(&Entry::all(set.guid).instance("*")); // this machine has them all
        }
        query
    }

    /// Changes the synthetic machine to its next sample, and collects that sample.
    pub fn collect(&self, query: &mut Query, snapshot: &mut Snapshot) -> Result<(), SourceError> {
        self.step();
        query.collect(snapshot).map(|_| ())
    }
}

/// Number of counters that cannot be read for other users' processes.
const DENIED: usize = 2;

impl State {
    fn add_set(&mut self, name: &str, columns: &[Column], count: usize, rows: u32, churns: bool) {
        let columns: Vec<Column> = columns.iter().copied().cycle().take(count).collect();
        let counters = (1..).zip(&columns).map(|(id, column)| {
            let counter_type = match column {
                Column::Total(_) => CounterType::PERF_COUNTER_BULK_COUNT,
                _ => CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
            };
            Counter::new(CounterId(id), counter_type).name(format!("Counter {id} of the set"))
        });
        let guid = Guid::from_u128(0x5e7_0000_0000 + self.sets.len() as u128);
        let set = Counterset::new(guid, name.to_owned(), InstanceType::Multiple).counters(counters);
        let mut set = SyntheticSet { set: Arc::new(set), columns, rows: Vec::new(), churns };
        for number in 0..rows {
            let row = if name.starts_with("System") {
                // Disks, networks and processors have no id and no birth.
                let values = self.first_values(&set.columns);
                let name = format!("part{number}");
                SyntheticRow { name, id: 0, birth: None, busy: 650, ends: u64::MAX, is_denied: false, values }
            } else {
                let busy = match self.random.below(100) {
                    0 => 950,
                    1..12 => 40,
                    _ => 2,
                };
                self.born(&set.columns, busy, u64::MAX)
            };
            set.rows.push(row);
        }
        self.sets.push(set);
    }

    fn first_values(&mut self, columns: &[Column]) -> Vec<u64> {
        let random = &mut self.random;
        let first = |column: &Column| match column {
            Column::Constant => random.amount(4_000),
            Column::Rare => random.amount(8),
            Column::Total(usual) => random.amount(usual.saturating_mul(1_000)),
            Column::Level(unit) => random.amount(20_000).saturating_mul(*unit),
        };
        columns.iter().map(first).collect()
    }

    fn born(&mut self, columns: &[Column], busy: u64, ends: u64) -> SyntheticRow {
        self.next_id += 1 + u32::try_from(self.random.below(3)).unwrap_or(0);
        let names = if ends == u64::MAX { &NAMES[..11] } else { &NAMES[11..] };
        let name = names[usize::try_from(self.random.below(names.len() as u64)).unwrap_or(0)].to_owned();
        let birth =
            NonZeroU64::new(u64::try_from(self.clocks.time_100ns).unwrap_or(0) + u64::from(self.next_id));
        let is_denied = self.random.below(5) == 0;
        SyntheticRow {
            name,
            id: self.next_id,
            birth,
            busy,
            ends,
            is_denied,
            values: self.first_values(columns),
        }
    }

    /// Changes the values of the synthetic machine's state to those of the next sample.
    fn step(&mut self) {
        self.sample += 1;
        // Samples are a second apart, and at most a fifth of a millisecond late.
        let late_ns = i64::try_from(self.random.below(200_000)).unwrap_or(0);
        let passed = i64::try_from(self.sample).unwrap_or(0) * 1_000_000_000 + late_ns;
        let time_100ns = BEGIN_100NS + passed / 100;
        self.clocks = ClockReading {
            perf_time: BEGIN_NS + passed,
            time_100ns,
            perf_freq: 1_000_000_000,
            system_time: SystemTime::from_100ns(time_100ns),
        };
        let mut sets = std::mem::take(&mut self.sets);
        for set in &mut sets {
            for row in &mut set.rows {
                if self.random.below(1_000) < row.busy {
                    for (column, value) in set.columns.iter().zip(&mut row.values) {
                        let changed = self.changed(*column, *value);
                        self.changes += u64::from(std::mem::replace(value, changed) != changed);
                    }
                }
            }
            if set.churns {
                set.rows.retain(|row| row.ends > self.sample);
                let births = (BIRTHS_IN_10 + self.random.below(10)) / 10;
                for _ in 0..births {
                    let ends = self.sample + 1 + self.random.amount(3);
                    let row = self.born(&set.columns, 400, ends);
                    self.changes += row.values.len() as u64;
                    set.rows.push(row);
                }
            }
        }
        self.sets = sets;
    }

    fn changed(&mut self, column: Column, value: u64) -> u64 {
        let random = &mut self.random;
        match column {
            Column::Constant => value,
            Column::Rare if random.below(50) > 0 => value,
            Column::Rare => random.amount(8),
            Column::Total(usual) => value.wrapping_add(random.amount(usual)),
            Column::Level(unit) => {
                let by = random.amount(10).saturating_mul(unit);
                if random.below(2) == 0 { value.saturating_add(by) } else { value.saturating_sub(by) }
            }
        }
    }
}

impl Clock for SyntheticMachine {
    fn read(&mut self) -> ClockReading {
        self.state().clocks
    }
}

impl Provider for SyntheticMachine {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        let sets = self.sets();
        let catalogue = &mut self.state().catalogue;
        Ok(Arc::clone(catalogue.get_or_insert_with(|| Arc::new(Catalogue::new("synthetic", sets)))))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let guid = want.counterset.guid;
        let state = self.state();
        let set = state.sets.iter().find(|set| set.set.guid == guid);
        for row in set.map(|set| &*set.rows).unwrap_or_default() {
            let mut writer = rows.push(&row.name, InstanceId(row.id), row.birth);
            let read = row.values.len() - if row.is_denied { DENIED } else { 0 };
            for (column, value) in row.values.iter().enumerate() {
                match column < read {
                    true => writer.set(column, *value),
                    false => writer.set_unavailable(column, NoValue::NotGiven),
                }
            }
        }
        Ok(())
    }
}
