//! Test with injected faults: a model of a machine writes its files, with faults that real machines have. Every value
//! of a query must be one that the model allows.
//!
//! The model has what really happened, so it has a rule for each value. Without a fault it is exactly one number. A
//! count that was reset, wrapped or fell is never more than what happened. A value is missing only if its source is at
//! fault.
//!
//! A module of the unit tests: the library asks [`kernel`] there instead of the kernel.
//!
//! A [`World`] is the machine, a [`Tree`] has its files, and a [`Judge`] compares. The code under test computes no
//! expected value.

pub(crate) mod basics;
mod cpus;
mod devices;
mod judge;
pub(crate) mod kernel;
mod memory;
mod processes;
mod totals;
mod tree;
mod world;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use perfset_engine::{Entry, Machine, Snapshot};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use crate::SystemClock;
use crate::countersets::{ProcessSource, providers};
use basics::{Random, Tally};
use judge::{Judge, Truth};
use tree::Tree;
use world::{SETS, World};

/// Number of samples of one model machine.
const SAMPLES: u64 = 100;

/// Names of the faults that must have been injected, and of the outcomes that must have been seen.
const KINDS: [&str; 56] = [
    "carrier of a network changes",
    "clock goes back",
    "clock jumps ahead",
    "clock stands still",
    "control group is made",
    "control group is made again",
    "control group is removed",
    "count of a disk falls a little",
    "count of a disk passes the end of 32 bits",
    "count of memory falls a little",
    "counts of a network begin anew",
    "counts of memory begin anew",
    "disk is added",
    "disk is removed",
    "disk is replaced by another",
    "file becomes a folder",
    "file is another one",
    "file is cut",
    "file is empty",
    "file is refused",
    "file is well again",
    "file is written over",
    "file makes no sense",
    "file vanishes",
    "files of a process are denied",
    "files of a process are permitted",
    "idle time steps back",
    "machine sleeps",
    "memory of a process is taken",
    "network is added",
    "network is removed",
    "network is replaced by another of its name",
    "networks are those of the first process",
    "pressure falls",
    "priority is changed by others",
    "process becomes a zombie",
    "process begins",
    "process changes its name",
    "process ends",
    "process ends and another has its number",
    "process hands on what it read and wrote",
    "process is hidden",
    "process is shown again",
    "processes are all of the machine",
    "processes are of another namespace",
    "processor begins to count anew",
    "processor comes online",
    "processor goes offline",
    "thread begins",
    "thread ends",
    "time of a process steps back",
    "volume is on another device",
    "wall clock is set",
    "value is marked",
    "value is missing",
    "value is ok",
];

/// Returns the number in an environment variable.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.replace('_', "").parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Wrong values of a model machine by counterset and counter: their number, and a description of the first.
type Wrong = BTreeMap<String, (u64, String)>;

/// Checks random model machines. `PERFSET_SAMPLES` is the number of samples; `PERFSET_SEED` selects one machine.
#[test]
fn no_value_that_the_model_does_not_allow() {
    let seed = variable("PERFSET_SEED");
    let samples = variable("PERFSET_SAMPLES").unwrap_or(1_000);
    let machines = if seed.is_some() { 1 } else { samples.div_ceil(SAMPLES).max(10) };
    let (next, result) = (AtomicU64::new(0), Mutex::new((Tally::default(), Wrong::default())));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                // Files that deny access must deny it to root, too.
                let mut sets = capabilities(None).unwrap();
                sets.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
                set_capabilities(None, sets).unwrap();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= machines || !result.lock().unwrap().1.is_empty() {
                        return;
                    }
                    let (tally, wrong) = machine(seed.unwrap_or(at));
                    let mut result = result.lock().unwrap();
                    result.0.add(tally);
                    result.1.extend(wrong);
                }
            });
        }
    });
    let (tally, wrong) = result.into_inner().unwrap();
    for (what, count) in &tally.0 {
        println!("{count:>12} {what}");
    }
    let shown = wrong.iter().map(|(what, (count, first))| format!("{count} x {what}{first}"));
    assert!(wrong.is_empty(), "{}", shown.collect::<Vec<_>>().join("\n"));
    if seed.is_none() {
        for kind in KINDS {
            assert!(tally.0.contains_key(kind), "nothing of this kind: {kind}");
        }
    }
}

/// Runs the model machine of a seed, and returns the tally of faults and outcomes, and the wrong values.
fn machine(seed: u64) -> (Tally, Wrong) {
    let (mut tally, mut wrong) = (Tally::default(), Wrong::default());
    let mut random = Random(seed);
    let mut world = World::new(&mut random);
    let mut tree = Tree::new();
    if !world.processes.is_gated {
        tally.note("processes are of another namespace");
    }
    if world.networks.of_first {
        tally.note("networks are those of the first process");
    }
    if world.processes.is_first {
        tally.note("processes are all of the machine");
    }
    let (path, name) = world.namespace();
    tree.link(path, name);
    let roots = tree.roots();
    let mut write = |world: &World, random: &mut Random, tally: &mut Tally| {
        tree.write(&world.folders(), &world.files(), &world.faults(), random, tally);
        kernel::install(Some(world.clocks.clone()));
    };
    write(&world, &mut random, &mut tally);
    let machine = Machine::new(Box::new(SystemClock));
    for provider in providers(roots, ProcessSource::Gate) {
        machine.register(provider);
    }
    let mut query = machine.query();
    for set in SETS {
        assert!(query.add(&Entry::all(set).instance("*")).is_success());
    }
    let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
    let (mut older, mut before): (Option<Truth>, Option<Truth>) = (None, None);
    for _ in 0..SAMPLES {
        world.step(&mut random, &mut tally);
        write(&world, &mut random, &mut tally);
        query.collect(&mut new).unwrap();
        tally.note("sample");
        let truth = Truth::new(world.clone());
        let judge = Judge { older: older.as_ref(), old: before.as_ref(), new: &truth };
        for (what, why) in judge.all(new.values(before.is_some().then_some(&old)), &mut tally) {
            let about = || (0, format!(", PERFSET_SEED={seed}, sample {}: {why}", world.sample));
            wrong.entry(what).or_insert_with(about).0 += 1;
        }
        older = before.replace(truth);
        std::mem::swap(&mut old, &mut new);
    }
    kernel::install(None);
    (tally, wrong)
}
