//! Tests of the liveness of publishers, and of state inherited by forked children.

use std::path::Path;
use std::time::{Duration, Instant};

use perfset_core::Owner;
use perfset_engine::{Machine, Snapshot};

use super::program::{Program, Stray};
use super::{Honest, complaints};
use crate::tests::{Place, query, raw};

/// Returns name and value of each published instance.
fn rows(machine: &Machine) -> Vec<(String, u64)> {
    if machine.countersets().is_empty() {
        return Vec::new();
    }
    let rows = raw(&mut query(machine, Honest::GUID));
    rows.into_iter().filter_map(|(name, _, value)| Some((name, value?))).collect()
}

/// Returns the ids of the processes that own the published rows.
fn owners(machine: &Machine) -> Vec<u32> {
    let mut query = query(machine, Honest::GUID);
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    let owner = |row| match snapshot.annex()[0].owner(row) {
        Owner::Process { pid, .. } => pid,
        other => panic!("{other:?}"),
    };
    (0..snapshot.values(None).count()).map(owner).collect()
}

/// Waits until a machine has no published rows: a signal takes time to arrive.
fn until_nothing_is_left(machine: &Machine) {
    let start = Instant::now();
    while !rows(machine).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?} is still there", rows(machine));
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

fn one(name: &str, value: u64) -> (String, u64) {
    (name.into(), value)
}

#[test]
fn killed() {
    let place = Place::new("killed");
    let machine = place.machine();
    let mut program = Program::start("obedient", place.path());
    program.tell("publish a");
    program.tell("add 5");
    assert_eq!(rows(&machine), [one("a", 5)]);
    program.kill();
    assert_eq!(rows(&machine), []);
    assert_eq!(files(place.path()), 1, "nobody took it away");
    let next = place.publisher();
    assert_eq!(files(place.path()), 1, "its own");
    drop(next);
    assert_eq!(files(place.path()), 0);
}

/// Checks a publisher that has exited while no process collected, and whose file still exists.
#[test]
fn a_dead_program_is_not_listed_for_long() {
    let place = Place::new("unlisted");
    let machine = place.machine();
    let mut program = Program::start("obedient", place.path());
    program.tell("publish a");
    assert_eq!(machine.countersets(), [Honest::GUID]);
    program.kill();
    let start = Instant::now();
    while !machine.countersets().is_empty() {
        assert!(start.elapsed() < Duration::from_secs(20), "it is still listed");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(files(place.path()), 1, "nobody took it away");
    let mut next = Program::start("obedient", place.path());
    next.tell("publish b");
    assert_eq!(machine.countersets(), [Honest::GUID], "another one is");
}

#[test]
fn other_descriptors_of_the_file_come_and_go() {
    let place = Place::new("reopened");
    let machine = place.machine();
    let mut program = Program::start("obedient", place.path());
    program.tell("publish a");
    program.tell("reopen");
    assert_eq!(rows(&machine), [one("a", 0)]);
    assert_eq!(rows(&place.machine()), [one("a", 0)], "also for who sees it for the first time");
    program.kill();
    assert_eq!(rows(&machine), []);
}

#[test]
fn a_forked_child_counts_for_itself() {
    let place = Place::new("forked");
    let machine = place.machine();
    let mut program = Program::start("obedient", place.path());
    program.tell("publish a");
    program.tell("add 5");
    let child = Stray(program.tell("fork").parse().unwrap());
    let both = [one("a", 5), one("child", 7)];
    assert_eq!(rows(&machine), both, "what it stored where its parent's values were is its own");
    assert_eq!(owners(&machine), [program.pid(), child.0]);
    program.tell("add 2");
    assert_eq!(rows(&machine), [one("a", 7), one("child", 7)]);

    program.kill();
    assert_eq!(rows(&machine), [one("child", 7)], "the child does not keep its parent alive");
    let next = place.publisher();
    assert_eq!(files(place.path()), 2, "that of the parent is cleaned up, that of the child is not");
    drop(next);
    child.kill();
    until_nothing_is_left(&machine);
}

#[test]
fn a_child_that_ends_takes_nothing_with_it() {
    let place = Place::new("child-ends");
    let machine = place.machine();
    let mut program = Program::start("obedient", place.path());
    program.tell("publish a");
    for _ in 0..3 {
        let child = Stray(program.tell("fork").parse().unwrap());
        child.kill();
        let start = Instant::now();
        while rows(&machine) != [one("a", 0)] {
            assert!(start.elapsed() < Duration::from_secs(20), "{:?}", rows(&machine));
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    program.tell("add 3");
    assert_eq!(rows(&machine), [one("a", 3)]);
}

#[test]
fn programs_that_it_starts_do_not_keep_it_alive() {
    let place = Place::new("spawned");
    let machine = place.machine();
    let mut program = Program::start("obedient", place.path());
    program.tell("publish a");
    let _other = Stray(program.tell("spawn").parse().unwrap());
    assert_eq!(rows(&machine), [one("a", 0)]);
    program.kill();
    assert_eq!(rows(&machine), []);
}

#[test]
fn a_program_that_becomes_another_is_gone() {
    let place = Place::new("exec");
    let machine = place.machine();
    let mut program = Program::start("obedient", place.path());
    program.tell("publish a");
    assert_eq!(rows(&machine), [one("a", 0)]);
    program.order("exec");
    until_nothing_is_left(&machine);
    assert_eq!(rows(&place.machine()), []);
}

/// Checks a child started without fork handlers, which shares the memory and holds the lock. After its parent's exit,
/// the lock shows a running publisher, and the header names the parent.
#[test]
fn orphaned() {
    let place = Place::new("orphaned");
    let machine = place.machine();
    let mut program = Program::start("obedient", place.path());
    program.tell("publish a");
    let child = Stray(program.tell("clone").parse().unwrap());
    assert_eq!(rows(&machine), [one("a", 0)]);
    program.kill();
    assert_eq!(rows(&machine), []);
    let complaints = complaints(&mut place.applications());
    let expected =
        format!("publisher {} has exited, but a process that it forked holds its lock", program.pid());
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert!(complaints[0].ends_with(&expected), "{complaints:?}");
    drop(place.publisher());
    assert_eq!(files(place.path()), 1, "who cleans up cannot know");
    child.kill();
    let start = Instant::now();
    while files(place.path()) > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "it is never taken away");
        drop(place.publisher());
    }
}

#[test]
fn forks_while_another_thread_makes_instances() {
    let place = Place::new("storm");
    let mut program = Program::start("storm", place.path());
    assert_eq!(program.hear(), "100 forks, level 0");
}
