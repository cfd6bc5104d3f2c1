//! Tests of an exporter during which the wall clock is set, as NTP does on a machine that started without a battery.

use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use perfset_core::CounterId;
use perfset_core::clock::{ClockReading, SystemTime, UNIX_EPOCH_100NS};
use perfset_engine::Clock;
use perfset_engine::testing::FixedClock;

use super::machines::{counter, machine_with, scripted, set};
use super::{T, scraped};
use crate::{ExportOptions, Exporter};

/// Clock of a test whose wall clock is ahead by a number of 100 ns.
struct Stepped(FixedClock, Arc<AtomicI64>);

impl Clock for Stepped {
    fn read(&mut self) -> ClockReading {
        let now = self.0.read();
        let wall = now.time_100ns + self.1.load(Relaxed) + 4_567; // read a little later
        ClockReading { system_time: SystemTime::from_100ns(wall), ..now }
    }
}

#[test]
fn start_times_before_a_clock_step_use_the_new_clock() {
    const SECOND: i64 = 10_000_000;
    let counters = vec![
        counter(5, "Elapsed Time", T::PERF_ELAPSED_TIME),
        counter(11, "Laps", T::PERF_COUNTER_LARGE_RAWCOUNT),
        counter(12, "Lap Freq", T::PERF_COUNTER_LARGE_RAWCOUNT),
        counter(13, "Lap Elapsed Time", T::PERF_ELAPSED_TIME).clock(CounterId(11), CounterId(12)),
    ];
    let script = scripted(set(0, "Set", counters));
    let step = Arc::new(AtomicI64::new(0));
    let ahead = |seconds: i64| step.store(seconds * SECOND, Relaxed);
    let clock = Stepped(FixedClock::default(), Arc::clone(&step));
    let machine = machine_with(Box::new(clock), slice::from_ref(&script));
    let mut exporter =
        Exporter::open(machine, &[r"\Set(*)\*".parse().unwrap()], ExportOptions::default()).unwrap();
    let mut say = |now: i64| {
        let began = u64::try_from(UNIX_EPOCH_100NS).unwrap(); // when the clocks began, too
        let laps = 1_000 + 4 * u64::try_from(now).unwrap();
        script.with(|script| {
            script.rows = vec![("a", 1, [began, laps, 4, 1_000].map(Ok).to_vec())];
        });
        let read = scraped(&mut exporter);
        ["start_time_seconds", "lap_start_time_seconds"].map(|name| {
            let value = read.value(&format!("perf_set_{name}"), &[("instance_name", "a")]);
            value.unwrap().parse::<f64>().unwrap()
        })
    };
    assert_eq!(say(0), [0.0, 0.0]);
    ahead(86_400);
    assert_eq!(say(1), [86_400.0, 86_400.0]);
    assert_eq!(say(2), [86_400.0, 86_400.0], "the same until the next step");
    ahead(3_600);
    assert_eq!(say(3), [3_600.0, 3_600.0], "set back");
}
