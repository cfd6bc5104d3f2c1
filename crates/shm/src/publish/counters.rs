//! The kinds of counters that a program can have.
//!
//! A value is the sum of its slot and of one row a thread, where a counterset has rows (`stripes`): a thread adds to a
//! row of its own by a load and a store, which costs a third of what adding to a shared word costs, and a tenth where
//! several threads do it at once. What is set rather than added to is in the slot alone.

use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime};

use perfset_core::CounterType;

use super::definition::{CellPlace, Cells, Field};
use crate::stripe;

/// A sum that threads add to.
#[derive(Debug)]
struct Sum(CellPlace);

impl Sum {
    #[inline]
    fn add(&self, n: u64) {
        let CellPlace { slot, rows, row } = self.0;
        if !rows.is_empty() {
            let at = stripe::own().saturating_mul(row);
            if let Some(cell) = rows.get(at) {
                cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
                return;
            }
        }
        slot.fetch_add(n, Relaxed);
    }

    fn mine(&self) -> Mine<'_> {
        let CellPlace { slot, rows, row } = self.0;
        let own = (!rows.is_empty()).then(|| rows.get(stripe::own().saturating_mul(row))).flatten();
        Mine { cell: own.unwrap_or(slot), is_own: own.is_some(), of_this_thread: PhantomData }
    }

    fn get(&self) -> u64 {
        let CellPlace { slot, rows, row } = self.0;
        let cells = rows.iter().step_by(row.max(1));
        cells.fold(slot.load(Relaxed), |sum, cell| sum.wrapping_add(cell.load(Relaxed)))
    }
}

/// A counter as one thread has it: where that thread has a row of its own, adding is a load and a store.
#[derive(Clone, Debug)]
pub struct Mine<'a> {
    cell: &'a AtomicU64,
    is_own: bool,
    of_this_thread: PhantomData<*const ()>,
}

impl Mine<'_> {
    /// Adds `n`.
    #[inline]
    pub fn add(&self, n: u64) {
        if self.is_own {
            self.cell.store(self.cell.load(Relaxed).wrapping_add(n), Relaxed);
        } else {
            self.cell.fetch_add(n, Relaxed);
        }
    }

    /// Adds 1.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }
}

macro_rules! sums {
    ($($(#[$doc:meta])* $name:ident: $own:ident, $len:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(Sum);

        impl $name {
            /// Adds `n`.
            #[inline]
            pub fn add(&self, n: u64) {
                self.0.add(n);
            }

            /// Adds 1.
            #[inline]
            pub fn increment(&self) {
                self.0.add(1);
            }

            /// The counter for a loop of this thread.
            pub fn mine(&self) -> Mine<'_> {
                self.0.mine()
            }

            /// What was counted so far.
            pub fn get(&self) -> u64 {
                self.0.get()
            }
        }

        impl Field for $name {
            const TYPE: CounterType = CounterType::$own;
            const LEN: u32 = $len;

            fn attach(cells: &mut Cells) -> Self {
                Self(Sum(cells.next()))
            }
        }
    )*};
}

sums! {
    /// Counts events; shown is how many there are a second (PERF_COUNTER_BULK_COUNT).
    Counter64: PERF_COUNTER_BULK_COUNT, 8;
    /// Counts events in 32 bits; shown is how many there are a second (PERF_COUNTER_COUNTER).
    Counter32: PERF_COUNTER_COUNTER, 4;
}

macro_rules! gauges {
    ($($(#[$doc:meta])* $name:ident: $own:ident, $len:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(&'static AtomicU64);

        impl $name {
            /// Makes it `value`.
            #[inline]
            pub fn set(&self, value: u64) {
                self.0.store(value, Relaxed);
            }

            /// Adds `n`.
            #[inline]
            pub fn add(&self, n: u64) {
                self.0.fetch_add(n, Relaxed);
            }

            /// Subtracts `n`. Below zero it goes on at the upper end.
            #[inline]
            pub fn sub(&self, n: u64) {
                self.0.fetch_sub(n, Relaxed);
            }

            /// Adds 1 until what is returned is dropped.
            pub fn enter(&self) -> Entered<'_> {
                self.add(1);
                Entered(self.0)
            }

            /// What it shows.
            pub fn get(&self) -> u64 {
                self.0.load(Relaxed)
            }
        }

        impl Field for $name {
            const TYPE: CounterType = CounterType::$own;
            const LEN: u32 = $len;

            fn attach(cells: &mut Cells) -> Self {
                Self(cells.next().slot)
            }
        }
    )*};
}

gauges! {
    /// A number as it is now (PERF_COUNTER_LARGE_RAWCOUNT).
    Gauge: PERF_COUNTER_LARGE_RAWCOUNT, 8;
    /// A number of 32 bits as it is now (PERF_COUNTER_RAWCOUNT).
    Gauge32: PERF_COUNTER_RAWCOUNT, 4;
}

/// One more of what a [`Gauge`] shows, until it is dropped.
#[derive(Debug)]
pub struct Entered<'a>(&'a AtomicU64);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// How long something takes: shown are the seconds of one time on average (PERF_AVERAGE_TIMER with its base).
#[derive(Debug)]
pub struct AverageTimer {
    ticks: Sum,
    count: Sum,
}

impl AverageTimer {
    /// It happened once more, and took that long.
    #[inline]
    pub fn record(&self, elapsed: Duration) {
        self.ticks.add(nanoseconds(elapsed));
        self.count.add(1);
    }

    /// Records the time until what is returned is dropped.
    pub fn start(&self) -> Timing<'_> {
        Timing { timer: self, start: Instant::now() }
    }

    /// Records how long `work` takes.
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let _timing = self.start();
        work()
    }

    /// The timer for a loop of this thread.
    pub fn mine(&self) -> MineTimer<'_> {
        MineTimer { ticks: self.ticks.mine(), count: self.count.mine() }
    }

    /// How often it happened so far, and how long all of it took together.
    pub fn get(&self) -> (u64, Duration) {
        (self.count.get(), Duration::from_nanos(self.ticks.get()))
    }
}

impl Field for AverageTimer {
    const TYPE: CounterType = CounterType::PERF_AVERAGE_TIMER;
    const BASE: Option<CounterType> = Some(CounterType::PERF_AVERAGE_BASE);
    const LEN: u32 = 8;

    fn attach(cells: &mut Cells) -> Self {
        Self { ticks: Sum(cells.next()), count: Sum(cells.next()) }
    }
}

/// PerfTime is CLOCK_MONOTONIC in ns.
#[inline]
fn nanoseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

/// A time that is being taken; recorded when it is dropped.
#[derive(Debug)]
#[must_use = "dropped at once it takes no time"]
pub struct Timing<'a> {
    timer: &'a AverageTimer,
    start: Instant,
}

impl Timing<'_> {
    /// Forgets it: nothing is recorded.
    pub fn cancel(self) {
        std::mem::forget(self);
    }
}

impl Drop for Timing<'_> {
    fn drop(&mut self) {
        self.timer.record(self.start.elapsed());
    }
}

/// An [`AverageTimer`] as one thread has it.
#[derive(Clone, Debug)]
pub struct MineTimer<'a> {
    ticks: Mine<'a>,
    count: Mine<'a>,
}

impl MineTimer<'_> {
    /// It happened once more, and took that long.
    #[inline]
    pub fn record(&self, elapsed: Duration) {
        self.ticks.add(nanoseconds(elapsed));
        self.count.add(1);
    }
}

/// How much there is of something each time: shown is the average of one time (PERF_AVERAGE_BULK with its base).
#[derive(Debug)]
pub struct Average {
    amount: Sum,
    count: Sum,
}

impl Average {
    /// It happened once more, with that much of it.
    #[inline]
    pub fn record(&self, amount: u64) {
        self.amount.add(amount);
        self.count.add(1);
    }

    /// How often it happened so far, and how much of it there was together.
    pub fn get(&self) -> (u64, u64) {
        (self.count.get(), self.amount.get())
    }
}

impl Field for Average {
    const TYPE: CounterType = CounterType::PERF_AVERAGE_BULK;
    const BASE: Option<CounterType> = Some(CounterType::PERF_AVERAGE_BASE);
    const LEN: u32 = 8;

    fn attach(cells: &mut Cells) -> Self {
        Self { amount: Sum(cells.next()), count: Sum(cells.next()) }
    }
}

/// How many of something are such and such: shown are the percents of those since the sample before
/// (PERF_SAMPLE_FRACTION with its base).
#[derive(Debug)]
pub struct Ratio {
    such: Sum,
    all: Sum,
}

impl Ratio {
    /// There is one more, and whether it is such.
    #[inline]
    pub fn record(&self, is_such: bool) {
        self.such.add(is_such.into());
        self.all.add(1);
    }

    /// How many are such so far, and how many there are.
    pub fn get(&self) -> (u64, u64) {
        (self.such.get(), self.all.get())
    }
}

impl Field for Ratio {
    const TYPE: CounterType = CounterType::PERF_SAMPLE_FRACTION;
    const BASE: Option<CounterType> = Some(CounterType::PERF_SAMPLE_BASE);
    const LEN: u32 = 4;

    fn attach(cells: &mut Cells) -> Self {
        Self { such: Sum(cells.next()), all: Sum(cells.next()) }
    }
}

/// A part of a whole as it is now, in percent (PERF_LARGE_RAW_FRACTION with its base).
#[derive(Debug)]
pub struct Fraction {
    part: &'static AtomicU64,
    whole: &'static AtomicU64,
}

impl Fraction {
    /// Makes it `part` of `whole`. Who reads between the two stores sees one of them old.
    #[inline]
    pub fn set(&self, part: u64, whole: u64) {
        self.part.store(part, Relaxed);
        self.whole.store(whole, Relaxed);
    }

    /// The part and the whole.
    pub fn get(&self) -> (u64, u64) {
        (self.part.load(Relaxed), self.whole.load(Relaxed))
    }
}

impl Field for Fraction {
    const TYPE: CounterType = CounterType::PERF_LARGE_RAW_FRACTION;
    const BASE: Option<CounterType> = Some(CounterType::PERF_LARGE_RAW_BASE);
    const LEN: u32 = 8;

    fn attach(cells: &mut Cells) -> Self {
        Self { part: cells.next().slot, whole: cells.next().slot }
    }
}

/// How long something is busy: shown are the percents of the time (PERF_100NSEC_TIMER).
#[derive(Debug)]
pub struct BusyTimer(Sum);

impl BusyTimer {
    /// It was busy for so long. What is less than 100 ns is lost.
    #[inline]
    pub fn record(&self, busy: Duration) {
        const NS: u128 = 100;
        self.0.add(u64::try_from(busy.as_nanos() / NS).unwrap_or(u64::MAX));
    }

    /// How long it was busy so far.
    pub fn get(&self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_mul(100))
    }
}

impl Field for BusyTimer {
    const TYPE: CounterType = CounterType::PERF_100NSEC_TIMER;
    const LEN: u32 = 8;

    fn attach(cells: &mut Cells) -> Self {
        Self(Sum(cells.next()))
    }
}

/// How long the instance has existed, or what it stands for: shown are seconds (PERF_ELAPSED_TIME).
#[derive(Debug)]
pub struct ElapsedTime(&'static AtomicU64);

impl ElapsedTime {
    /// It began now.
    pub fn restart(&self) {
        self.set(SystemTime::now());
    }

    /// It began then.
    pub fn set(&self, start: SystemTime) {
        const NS: u128 = 100;
        const FROM_1601: u128 = 116_444_736_000_000_000;
        let since = start.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let ticks = (since.as_nanos() / NS).saturating_add(FROM_1601);
        self.0.store(u64::try_from(ticks).unwrap_or(u64::MAX), Relaxed);
    }
}

impl Field for ElapsedTime {
    const TYPE: CounterType = CounterType::PERF_ELAPSED_TIME;
    const LEN: u32 = 8;

    fn attach(cells: &mut Cells) -> Self {
        let elapsed = Self(cells.next().slot);
        elapsed.restart();
        elapsed
    }
}
