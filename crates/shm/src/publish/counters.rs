//! Types of counters that a published struct can contain as fields.
//!
//! If a counterset has rows (`stripes`), a value is the sum of its slot and of one row per thread. A thread adds to
//! its own row with a load and a store. This costs a third of adding to a shared word, and a tenth if several threads
//! add at once. Values that are set, not added to, are in the slot alone.

use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime};

use perfset_core::CounterType;

use super::definition::{CellPlace, Cells, CounterField};
use crate::stripe;

/// Value of a published counter that several threads add to.
#[derive(Debug)]
struct Sum(CellPlace);

impl Sum {
    #[inline]
    fn add(&self, n: u64) {
        let CellPlace { slot, rows, row } = self.0;
        if !rows.is_empty() {
            let at = stripe::own().saturating_mul(row);
            if let Some(cell) = rows.get(at) {
                // No other thread writes to this row, so nothing is lost between the two.
                cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
                return;
            }
        }
        slot.fetch_add(n, Relaxed);
    }

    fn mine(&self) -> ThreadCounter<'_> {
        let CellPlace { slot, rows, row } = self.0;
        let own = (!rows.is_empty()).then(|| rows.get(stripe::own().saturating_mul(row))).flatten();
        ThreadCounter { cell: own.unwrap_or(slot), is_own: own.is_some(), of_this_thread: PhantomData }
    }

    fn get(&self) -> u64 {
        let CellPlace { slot, rows, row } = self.0;
        let cells = rows.iter().step_by(row.max(1));
        cells.fold(slot.load(Relaxed), |sum, cell| sum.wrapping_add(cell.load(Relaxed)))
    }
}

/// Handle to a published counter for use by one thread. If the thread has its own stripe, adding is a load and a
/// store.
#[derive(Clone, Debug)]
pub struct ThreadCounter<'a> {
    cell: &'a AtomicU64,
    is_own: bool,
    // Prevents `Send`: another thread must not write to the row of this one.
    of_this_thread: PhantomData<*const ()>,
}

impl ThreadCounter<'_> {
    /// Adds `n` to the counter.
    #[inline]
    pub fn add(&self, n: u64) {
        if self.is_own {
            self.cell.store(self.cell.load(Relaxed).wrapping_add(n), Relaxed);
        } else {
            self.cell.fetch_add(n, Relaxed);
        }
    }

    /// Adds 1 to the counter.
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
            /// Adds `n` to the counter.
            #[inline]
            pub fn add(&self, n: u64) {
                self.0.add(n);
            }

            /// Adds 1 to the counter.
            #[inline]
            pub fn increment(&self) {
                self.0.add(1);
            }

            /// Returns a handle to the counter for use in a loop of this thread.
            pub fn mine(&self) -> ThreadCounter<'_> {
                self.0.mine()
            }

            /// Returns the current value of the counter: the sum over the stripes of all threads.
            pub fn get(&self) -> u64 {
                self.0.get()
            }
        }

        impl CounterField for $name {
            const TYPE: CounterType = CounterType::$own;
            const LEN: u32 = $len;

            fn attach(cells: &mut Cells) -> Self {
                Self(Sum(cells.next()))
            }
        }
    )*};
}

sums! {
    /// Counter of events, shown as events per second (PERF_COUNTER_BULK_COUNT).
    Counter64: PERF_COUNTER_BULK_COUNT, 8;
    /// Counter of events in 32 bits, shown as events per second (PERF_COUNTER_COUNTER).
    Counter32: PERF_COUNTER_COUNTER, 4;
}

macro_rules! gauges {
    ($($(#[$doc:meta])* $name:ident: $own:ident, $len:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(&'static AtomicU64);

        impl $name {
            /// Sets the gauge to `value`.
            #[inline]
            pub fn set(&self, value: u64) {
                self.0.store(value, Relaxed);
            }

            /// Adds `n` to the gauge.
            #[inline]
            pub fn add(&self, n: u64) {
                self.0.fetch_add(n, Relaxed);
            }

            /// Subtracts `n` from the gauge. Below zero the value wraps around.
            #[inline]
            pub fn sub(&self, n: u64) {
                self.0.fetch_sub(n, Relaxed);
            }

            /// Adds 1 to the gauge until the returned guard is dropped.
            pub fn enter(&self) -> GaugeGuard<'_> {
                self.add(1);
                GaugeGuard(self.0)
            }

            /// Returns the current value of the gauge.
            pub fn get(&self) -> u64 {
                self.0.load(Relaxed)
            }
        }

        impl CounterField for $name {
            const TYPE: CounterType = CounterType::$own;
            const LEN: u32 = $len;

            fn attach(cells: &mut Cells) -> Self {
                Self(cells.next().slot)
            }
        }
    )*};
}

gauges! {
    /// Gauge: a current value, shown as it is (PERF_COUNTER_LARGE_RAWCOUNT).
    Gauge: PERF_COUNTER_LARGE_RAWCOUNT, 8;
    /// Gauge in 32 bits: a current value, shown as it is (PERF_COUNTER_RAWCOUNT).
    Gauge32: PERF_COUNTER_RAWCOUNT, 4;
}

/// Guard that keeps a [`Gauge`] increased by 1 until it is dropped.
#[derive(Debug)]
pub struct GaugeGuard<'a>(&'a AtomicU64);

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Timer for the duration of an operation, shown as average seconds per operation (PERF_AVERAGE_TIMER with its base).
#[derive(Debug)]
pub struct AverageTimer {
    ticks: Sum,
    count: Sum,
}

impl AverageTimer {
    /// Records one operation that took the given time.
    #[inline]
    pub fn record(&self, elapsed: Duration) {
        self.ticks.add(nanoseconds(elapsed));
        self.count.add(1);
    }

    /// Starts timing an operation; the time until the returned guard is dropped is recorded.
    pub fn start(&self) -> TimerGuard<'_> {
        TimerGuard { timer: self, start: Instant::now() }
    }

    /// Runs `work` and records the time that it takes as one operation.
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let _timing = self.start();
        work()
    }

    /// Returns a handle to the timer for use in a loop of this thread.
    pub fn mine(&self) -> ThreadTimer<'_> {
        ThreadTimer { ticks: self.ticks.mine(), count: self.count.mine() }
    }

    /// Returns the number of recorded operations so far, and their total duration.
    pub fn get(&self) -> (u64, Duration) {
        (self.count.get(), Duration::from_nanos(self.ticks.get()))
    }
}

impl CounterField for AverageTimer {
    const TYPE: CounterType = CounterType::PERF_AVERAGE_TIMER;
    const BASE: Option<CounterType> = Some(CounterType::PERF_AVERAGE_BASE);
    const LEN: u32 = 8;

    fn attach(cells: &mut Cells) -> Self {
        Self { ticks: Sum(cells.next()), count: Sum(cells.next()) }
    }
}

/// Converts a duration to ticks of PerfTime, which is CLOCK_MONOTONIC in ns.
#[inline]
fn nanoseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

/// Running measurement of an [`AverageTimer`], recorded when it is dropped.
#[derive(Debug)]
#[must_use = "dropped at once it takes no time"]
pub struct TimerGuard<'a> {
    timer: &'a AverageTimer,
    start: Instant,
}

impl TimerGuard<'_> {
    /// Ends the measurement without recording it.
    pub fn cancel(self) {
        std::mem::forget(self);
    }
}

impl Drop for TimerGuard<'_> {
    fn drop(&mut self) {
        self.timer.record(self.start.elapsed());
    }
}

/// Handle to an [`AverageTimer`] for use by one thread.
#[derive(Clone, Debug)]
pub struct ThreadTimer<'a> {
    ticks: ThreadCounter<'a>,
    count: ThreadCounter<'a>,
}

impl ThreadTimer<'_> {
    /// Records one operation that took the given time.
    #[inline]
    pub fn record(&self, elapsed: Duration) {
        self.ticks.add(nanoseconds(elapsed));
        self.count.add(1);
    }
}

/// Counter of an amount per operation, shown as the average (PERF_AVERAGE_BULK with its base).
#[derive(Debug)]
pub struct Average {
    amount: Sum,
    count: Sum,
}

impl Average {
    /// Records one operation with an amount, such as its number of bytes.
    #[inline]
    pub fn record(&self, amount: u64) {
        self.amount.add(amount);
        self.count.add(1);
    }

    /// Returns the number of recorded operations so far, and their total amount.
    pub fn get(&self) -> (u64, u64) {
        (self.count.get(), self.amount.get())
    }
}

impl CounterField for Average {
    const TYPE: CounterType = CounterType::PERF_AVERAGE_BULK;
    const BASE: Option<CounterType> = Some(CounterType::PERF_AVERAGE_BASE);
    const LEN: u32 = 8;

    fn attach(cells: &mut Cells) -> Self {
        Self { amount: Sum(cells.next()), count: Sum(cells.next()) }
    }
}

/// Counter of the share of events with some property, shown in percent since the previous sample
/// (PERF_SAMPLE_FRACTION with its base).
#[derive(Debug)]
pub struct Ratio {
    such: Sum,
    all: Sum,
}

impl Ratio {
    /// Records one event; `is_such` is `true` if it has the property.
    #[inline]
    pub fn record(&self, is_such: bool) {
        self.such.add(is_such.into());
        self.all.add(1);
    }

    /// Returns the number of events with the property so far, and the number of all events.
    pub fn get(&self) -> (u64, u64) {
        (self.such.get(), self.all.get())
    }
}

impl CounterField for Ratio {
    const TYPE: CounterType = CounterType::PERF_SAMPLE_FRACTION;
    const BASE: Option<CounterType> = Some(CounterType::PERF_SAMPLE_BASE);
    const LEN: u32 = 4;

    fn attach(cells: &mut Cells) -> Self {
        Self { such: Sum(cells.next()), all: Sum(cells.next()) }
    }
}

/// Gauge of the current part of a whole, shown in percent (PERF_LARGE_RAW_FRACTION with its base).
#[derive(Debug)]
pub struct Fraction {
    part: &'static AtomicU64,
    whole: &'static AtomicU64,
}

impl Fraction {
    /// Sets the current part and whole of the fraction. A reader between the two stores sees one old value.
    #[inline]
    pub fn set(&self, part: u64, whole: u64) {
        self.part.store(part, Relaxed);
        self.whole.store(whole, Relaxed);
    }

    /// Returns the current part and the current whole of the fraction.
    pub fn get(&self) -> (u64, u64) {
        (self.part.load(Relaxed), self.whole.load(Relaxed))
    }
}

impl CounterField for Fraction {
    const TYPE: CounterType = CounterType::PERF_LARGE_RAW_FRACTION;
    const BASE: Option<CounterType> = Some(CounterType::PERF_LARGE_RAW_BASE);
    const LEN: u32 = 8;

    fn attach(cells: &mut Cells) -> Self {
        Self { part: cells.next().slot, whole: cells.next().slot }
    }
}

/// Counter of busy time, shown in percent of elapsed time (PERF_100NSEC_TIMER).
#[derive(Debug)]
pub struct BusyTimer(Sum);

impl BusyTimer {
    /// Adds busy time to the counter. Each call is rounded down to 100 ns.
    #[inline]
    pub fn record(&self, busy: Duration) {
        const NS: u128 = 100;
        self.0.add(u64::try_from(busy.as_nanos() / NS).unwrap_or(u64::MAX));
    }

    /// Returns the busy time that was recorded so far.
    pub fn get(&self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_mul(100))
    }
}

impl CounterField for BusyTimer {
    const TYPE: CounterType = CounterType::PERF_100NSEC_TIMER;
    const LEN: u32 = 8;

    fn attach(cells: &mut Cells) -> Self {
        Self(Sum(cells.next()))
    }
}

/// Counter of the time since the start of the instance, or of what it represents, shown in seconds
/// (PERF_ELAPSED_TIME).
#[derive(Debug)]
pub struct ElapsedTime(&'static AtomicU64);

impl ElapsedTime {
    /// Sets the start of the elapsed time to the current time.
    pub fn restart(&self) {
        self.set(SystemTime::now());
    }

    /// Sets the start of the elapsed time to the given time.
    pub fn set(&self, start: SystemTime) {
        const NS: u128 = 100;
        // Number of 100 ns from 1601, the epoch of Windows, to 1970.
        const FROM_1601: u128 = 116_444_736_000_000_000;
        let since = start.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let ticks = (since.as_nanos() / NS).saturating_add(FROM_1601);
        self.0.store(u64::try_from(ticks).unwrap_or(u64::MAX), Relaxed);
    }
}

impl CounterField for ElapsedTime {
    const TYPE: CounterType = CounterType::PERF_ELAPSED_TIME;
    const LEN: u32 = 8;

    fn attach(cells: &mut Cells) -> Self {
        let elapsed = Self(cells.next().slot);
        elapsed.restart();
        elapsed
    }
}
