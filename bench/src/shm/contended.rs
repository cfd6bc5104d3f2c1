//! Bench of two threads that update the same published counter.

use std::cell::Cell;
use std::hint::spin_loop;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::thread;
use std::time::Instant;

use anyhow::{Result, ensure};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use super::{Place, Shared, Striped};
use crate::measure::{Comparison, Report};
use crate::{Options, Out};

/// Number of updates of each thread in a run: so few that a thread is usually not interrupted.
const UPDATES: usize = 100_000;
const THREADS: usize = 2;

/// Measures updates of a published counter by two threads at once, in CPU time and in elapsed time.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    let all = sched_getaffinity(None)?;
    let mut processors = (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu));
    let [Some(one), Some(other)] = [processors.next(), processors.next()] else {
        return out(&format_args!("shm: no two threads count at once: there is one processor.\n"));
    };
    let processors = [one, other];
    out(&report("CPU time", |took| took.processors, processors, rounds)?)?;
    out(&report("time on the wall, for both", |took| took.wall, processors, rounds)?)
}

fn report(what: &str, time: fn(Took) -> f64, on: [usize; THREADS], rounds: usize) -> Result<Report> {
    let place = Place::new()?;
    let publisher = place.publisher()?;
    let (shared, striped) = (publisher.instance::<Shared>("a"), publisher.instance::<Striped>("a"));
    let atomic = AtomicU64::new(0);
    let of_prometheus = prometheus::IntCounter::new("a", "A")?;
    let (spent, alone) = (Cell::new(0.0), Cell::new(0_u32));
    let run = |count: &(dyn Fn() + Sync)| {
        let took = at_once(on, count);
        alone.set(alone.get() + u32::from(took.is_none()));
        spent.set(spent.get() + time(took.unwrap_or(Took { processors: 1e9, wall: 1e9 })));
        0
    };
    fn repeat(update: impl Fn()) {
        for _ in 0..UPDATES {
            update();
        }
    }
    let title = format!("shm: an update while another thread counts the same, {what}");
    let comparison = Comparison::new(title, UPDATES * THREADS)
        .per("update")
        .variant("one atomic of both", || run(&|| repeat(|| _ = atomic.fetch_add(1, Relaxed))))
        .timed_by(|| spent.get())
        .reference("atomic")
        .variant("prometheus IntCounter::inc", || run(&|| repeat(|| of_prometheus.inc())))
        .timed_by(|| spent.get())
        .variant("Counter64::increment, no stripes", || run(&|| repeat(|| shared.a.increment())))
        .timed_by(|| spent.get())
        .variant("Counter64::increment, stripes", || run(&|| repeat(|| striped.a.increment())))
        .timed_by(|| spent.get())
        .goal("atomic", 0.125)
        .variant("Mine::increment, each thread's row", || {
            run(&|| {
                let own = striped.b.mine();
                repeat(|| own.increment());
            })
        })
        .timed_by(|| spent.get())
        .goal("atomic", 0.125);
    let report = comparison.run(rounds);
    ensure!(alone.get() == 0, "the two threads did not run at once: the machine is too busy");
    Ok(report)
}

/// Time that both updating threads took together, in ns: CPU time and elapsed time.
#[derive(Clone, Copy, Debug)]
struct Took {
    processors: f64,
    wall: f64,
}

/// Runs `count` in two threads on two processors, and repeats until both ran at the same time. Returns the times of
/// that run.
fn at_once(on: [usize; THREADS], count: &(dyn Fn() + Sync)) -> Option<Took> {
    const TRIES: usize = 1_000;
    const MOST_OF: f64 = 0.9;
    (0..TRIES).find_map(|_| {
        let ready = &AtomicUsize::new(0);
        let thread = move |processor| {
            let mut only = CpuSet::new();
            only.set(processor);
            let _ = sched_setaffinity(None, &only); // without it they may share one, which is seen below
            ready.fetch_add(1, AcqRel);
            while ready.load(Acquire) < THREADS {
                spin_loop();
            }
            let (start, before) = (Instant::now(), cpu_ns());
            count();
            (start, cpu_ns() - before, Instant::now())
        };
        let threads = thread::scope(|scope| {
            let threads = on.map(|processor| scope.spawn(move || thread(processor)));
            threads.map(|thread| thread.join().ok())
        });
        let [Some((start, cpu, end)), Some((other_start, other_cpu, other_end))] = threads else {
            return None;
        };
        let ns = |from: Instant, to: Instant| to.saturating_duration_since(from).as_nanos() as f64;
        let wall = ns(start.min(other_start), end.max(other_end));
        let both = ns(start.max(other_start), end.min(other_end));
        let processors = cpu + other_cpu;
        let is_at_once = both >= MOST_OF * wall && processors >= MOST_OF * wall * THREADS as f64;
        is_at_once.then_some(Took { processors, wall })
    })
}

fn cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
