//! Clocks and host name of this machine.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use perfset_core::clock::{Anchor, ClockReading, UNIX_EPOCH_100NS};
use perfset_engine::Clock;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Clocks of this machine. All instances share the anchor of the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn read(&mut self) -> ClockReading {
        let anchor = anchor();
        // The wall clock is read between two readings of the monotonic clock, which bound the time of the
        // pair.
        let before = monotonic_ns();
        let wall = wall_100ns();
        anchor.reading(before, wall, monotonic_ns())
    }
}

/// Returns the anchor of this process, which ties the monotonic clock to the wall clock, taken at the first call.
/// Uses no lock: a process that forks at that moment would inherit a held lock.
fn anchor() -> Anchor {
    #[cfg(test)]
    if let Some(anchor) = crate::faults::kernel::anchor() {
        return anchor;
    }
    const UNTAKEN: i64 = i64::MIN;
    static ZERO_100NS: AtomicI64 = AtomicI64::new(UNTAKEN);
    let zero_100ns = match ZERO_100NS.load(Relaxed) {
        UNTAKEN => {
            let ours = Anchor::take(monotonic_ns, wall_100ns).zero_100ns;
            // The first thread that stores its anchor sets the anchor of the whole process.
            ZERO_100NS.compare_exchange(UNTAKEN, ours, Relaxed, Relaxed).err().unwrap_or(ours)
        }
        taken => taken,
    };
    Anchor { zero_100ns }
}

/// Returns the start time of this machine: PerfTime100NSec less the time since the start, sleep included.
///
/// The result is the same at every call, unless the machine sleeps: the monotonic clock stands still then, and
/// PerfTime100NSec with it.
#[must_use]
pub fn start_100ns() -> u64 {
    let start = anchor().time_100ns(0).saturating_sub(slept_ns() / 100);
    u64::try_from(start).unwrap_or(0)
}

/// Returns [`start_100ns`] rounded to 10 ms, the resolution of process start times in the kernel.
///
/// Every program takes its own anchor, so its start time differs by some 100 ns. The start time of a process
/// identifies it and must be the same in all programs; otherwise two recordings by two programs would share no
/// process.
#[must_use]
pub(crate) fn start_in_ticks_100ns() -> u64 {
    const TICK: u64 = 100_000; // of 100 ns
    (start_100ns().saturating_add(TICK / 2) / TICK).saturating_mul(TICK)
}

/// Returns the time that the machine has slept: the boot-time clock less the monotonic clock. Exactly 0 if it never
/// slept.
fn slept_ns() -> i64 {
    let least = |_| {
        // The boot-time clock lies between both readings, so the true difference lies between these two
        // bounds. Anything that interrupts only widens them.
        let before = monotonic_ns();
        let boot = clock_ns(ClockId::Boottime);
        let after = monotonic_ns();
        0.max(boot.saturating_sub(after)).min(boot.saturating_sub(before))
    };
    (0..4).map(least).max().unwrap_or(0) // whatever comes between two readings makes it less
}

/// Returns `PerfTimeStamp` alone, without reading the other clocks.
#[must_use]
pub fn perf_time() -> i64 {
    monotonic_ns()
}

/// Returns `PerfTime100NSec` alone, in units of 100 ns.
#[must_use]
pub fn time_100ns() -> i64 {
    anchor().time_100ns(monotonic_ns())
}

/// Returns `PerfTime100NSec` for the moment at which the monotonic clock showed `elapsed_ns`.
#[must_use]
pub(crate) fn time_100ns_at(elapsed_ns: u64) -> u64 {
    let time = anchor().time_100ns(i64::try_from(elapsed_ns).unwrap_or(i64::MAX));
    u64::try_from(time).unwrap_or(0)
}

/// Returns the time of the monotonic clock, in ns since it began.
#[must_use]
pub fn elapsed_ns() -> u64 {
    u64::try_from(monotonic_ns()).unwrap_or(0)
}

/// Returns the host name of this machine.
#[must_use]
pub fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn monotonic_ns() -> i64 {
    clock_ns(ClockId::Monotonic)
}

fn wall_100ns() -> i64 {
    // FILETIME begins in 1601, the wall clock of the kernel in 1970.
    (clock_ns(ClockId::Realtime) / 100).saturating_add(UNIX_EPOCH_100NS)
}

fn clock_ns(clock: ClockId) -> i64 {
    #[cfg(test)]
    if let Some(ns) = crate::faults::kernel::clock_ns(clock) {
        return ns;
    }
    ns(clock_gettime(clock))
}

/// Converts a kernel time to ns; an `i64` of ns lasts until the year 2262.
fn ns(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_advance_together() {
        let old = SystemClock.read();
        let new = SystemClock.read();
        assert_eq!(old.perf_freq, 1_000_000_000);
        assert!(new.perf_time >= old.perf_time);
        let ns = new.perf_time - old.perf_time;
        let in_100ns = new.time_100ns - old.time_100ns;
        assert!((in_100ns - ns / 100).abs() <= 1, "{ns} ns are not {in_100ns} x 100 ns");
        assert!(new.time_100ns > UNIX_EPOCH_100NS);
        assert!((2020..=2100).contains(&new.system_time.year));
    }

    #[test]
    fn the_start_stays_where_it_is() {
        let start = start_100ns();
        assert!(start_100ns().abs_diff(start) < 100, "to 10 us, also on a machine that has slept");
        let up_100ns = i128::from(SystemClock.read().time_100ns) - i128::from(start);
        let boottime_100ns = i128::from(ns(clock_gettime(ClockId::Boottime))) / 100;
        assert!((-1..10_000_000).contains(&(boottime_100ns - up_100ns)), "{up_100ns} of {boottime_100ns}");
    }

    #[test]
    fn the_start_of_processes_is_whole_ticks() {
        let start = start_in_ticks_100ns();
        assert_eq!(start % 100_000, 0);
        assert!(start.abs_diff(start_100ns()) <= 50_100, "{start}");
    }

    #[test]
    fn one_clock_in_two_units() {
        let (before, at, after) = (time_100ns(), time_100ns_at(elapsed_ns()), time_100ns());
        assert!((before..=after).contains(&i64::try_from(at).unwrap()));
    }

    #[test]
    fn this_machine_has_a_name() {
        assert_eq!(hostname().as_bytes(), rustix::system::uname().nodename().to_bytes());
    }
}
