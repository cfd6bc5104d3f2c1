//! Property test of all outputs. A value found under a name and a time is the value that the generator put there.
//! Each value of the generator is found, or is missing for the reason for which the generator left it out.
//!
//! Random machines are played through every output. The generator computes the expected values. Each output has its own
//! reader here, written from the documented format and without the code that writes it.
//!
//! `PERFSET_MACHINES=N` sets the number of machines, and `PERFSET_FIRST=N` the seed of the first, to divide a long run.
//! `PERFSET_SEED=N` plays one machine alone, the one that a failure names.

mod c;
mod check;
mod get;
mod lives;
mod logs;
mod play;
mod plot;
mod prometheus;
mod random;
mod relog;
mod text;
mod v1;
mod web;
mod wide;
mod world;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use check::Tally;
use world::World;

/// Allocator of these tests, which allocate the names of 20 million values: a run takes two thirds of the time that it
/// takes with glibc's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Number of generated machines if `PERFSET_MACHINES` is not set.
const MACHINES: u64 = 100;

/// Checks all outputs of one generated machine.
fn check(seed: u64) -> Result<Tally, String> {
    let world = Arc::new(World::new(seed));
    let mut tally = Tally::default();
    let outputs = [
        get::check,
        relog::check,
        logs::check,
        prometheus::check,
        web::check,
        v1::check,
        c::check,
        plot::check,
    ];
    for output in outputs {
        tally.add(&output(&world)?);
    }
    Ok(tally)
}

/// Checks all outputs of one generated machine; a panic becomes a fault.
fn caught(seed: u64) -> Result<Tally, String> {
    catch_unwind(AssertUnwindSafe(|| check(seed))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("seed {seed}: panicked: {}", text.unwrap_or_default()))
    })
}

/// Guard that discards standard error until it is dropped: commands write their warnings there, 27 lines a machine.
struct Silence(OwnedFd);

impl Silence {
    fn begin() -> io::Result<Self> {
        let kept = rustix::io::dup(io::stderr())?;
        rustix::stdio::dup2_stderr(File::options().write(true).open("/dev/null")?)?;
        Ok(Self(kept))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = rustix::stdio::dup2_stderr(&self.0); // nothing can be printed if this fails
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

#[test]
fn values_are_found_where_they_were_put() {
    if let Some(seed) = number("PERFSET_SEED") {
        let tally = check(seed).unwrap_or_else(|fault| panic!("{fault}"));
        return tally.print();
    }
    let silence = Silence::begin().unwrap();
    let machines = number("PERFSET_MACHINES").unwrap_or(MACHINES);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let first = number("PERFSET_FIRST").unwrap_or(0);
    let next = AtomicU64::new(first);
    let work = || {
        let (mut tally, mut faults) = (Tally::default(), Vec::new());
        for seed in
            std::iter::repeat_with(|| next.fetch_add(1, Relaxed)).take_while(|seed| *seed < first + machines)
        {
            match caught(seed) {
                Ok(of_seed) => tally.add(&of_seed),
                Err(fault) => faults.push((seed, fault)),
            }
        }
        (tally, faults)
    };
    let all: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|thread| thread.join().expect("it catches what panics")).collect()
    });
    drop(silence);
    let (mut tally, mut faults) = (Tally::default(), Vec::new());
    for (of_thread, some) in all {
        tally.add(&of_thread);
        faults.extend(some);
    }
    tally.print();
    faults.sort();
    let shown: Vec<_> = faults.iter().take(12).map(|(_, fault)| fault.as_str()).collect();
    assert!(
        faults.is_empty(),
        "{} of {machines} machines have faults; PERFSET_SEED=N takes one alone\n{}",
        faults.len(),
        shown.join("\n")
    );
    tally.assert_complete();
}
