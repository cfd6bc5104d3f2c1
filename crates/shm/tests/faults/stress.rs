//! Stress tests of a publisher that creates, ends and replaces instances continually. All data of an instance follow
//! from one key, so a reader can detect any mix of two instances.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use perfset_core::Guid;
use perfset_derive::Counterset;
use perfset_engine::{Machine, Query, Snapshot};
use rustix::process::Signal;

use super::program::Program;
use super::{Bystander, Random, own_user, share};
use crate::folder::Folders;
use crate::publish::{Counter64, Counterset, Gauge, PublishedInstance, Publisher};
use crate::tests::{Place, query, raw};

#[derive(Counterset, Debug)]
#[counterset(crate = crate, provider = "Test", name = "Test Keyed", instances = "multiple")]
struct Keyed {
    #[counter(name = "1")]
    one: Gauge,
    #[counter(name = "2")]
    two: Gauge,
    #[counter(name = "3")]
    three: Gauge,
    #[counter(name = "4")]
    four: Gauge,
}

#[derive(Counterset, Debug)]
#[counterset(crate = crate, provider = "Test", name = "Test Keyed Rows", instances = "multiple", stripes = 3)]
struct KeyedRows {
    #[counter(name = "1")]
    one: Counter64,
    #[counter(name = "2")]
    two: Counter64,
    #[counter(name = "3")]
    three: Counter64,
}

/// Returns an instance name whose length selects one of two size classes.
fn name(key: u64) -> String {
    let padding = usize::try_from(key % 90).unwrap();
    format!("{key}.{}", "x".repeat(padding))
}

fn id(key: u64) -> u32 {
    u32::try_from(key.wrapping_mul(0x9E37_79B9) & 0xFFFF_FFFF).unwrap()
}

/// Returns a counter value that is never 0, and below 2^56: torn copies are tested elsewhere.
fn value(key: u64, counter: u64) -> u64 {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(u32::try_from(counter).unwrap() * 11) >> 8) | 1
}

trait Derived: Counterset {
    fn fill(&self, key: u64);
}

impl Derived for Keyed {
    fn fill(&self, key: u64) {
        for (counter, gauge) in (1..).zip([&self.one, &self.two, &self.three, &self.four]) {
            gauge.set(value(key, counter));
        }
    }
}

impl Derived for KeyedRows {
    fn fill(&self, key: u64) {
        for (counter, count) in (1..).zip([&self.one, &self.two, &self.three]) {
            count.add(value(key, counter));
        }
    }
}

/// Runs the publisher: creates and replaces instances until it is stopped.
pub fn churn(role: &str, folder: &Path, stop: &AtomicBool) {
    let publisher = Publisher::in_folders(Folders::only(folder));
    assert_eq!(publisher.problem(), None);
    match role {
        "churn" => churn_of::<Keyed>(&publisher, stop),
        "churn rows" => churn_of::<KeyedRows>(&publisher, stop),
        role => panic!("what is {role}?"),
    }
}

fn churn_of<T: Derived>(publisher: &Publisher, stop: &AtomicBool) {
    const MOST: u64 = 40;
    let mut random = Random(std::process::id().into());
    let mut all: Vec<Option<PublishedInstance<T>>> = (0..MOST).map(|_| None).collect();
    let mut key = 0;
    while !stop.load(Relaxed) {
        let at = usize::try_from(random.below(MOST)).unwrap();
        all[at] = None;
        if random.below(8) == 0 {
            continue; // it stays away for a while
        }
        key += 1;
        let instance = publisher.instance_with_id::<T>(&name(key), id(key));
        instance.fill(key);
        all[at] = Some(instance);
    }
}

/// Statistics of the rows that a reader of the stress test saw.
#[derive(Default)]
struct Seen {
    keys: HashSet<u64>,
    values: u64,
    unset: u64,
    missing: u64,
}

impl Seen {
    /// Collects, and checks that all data of a row follow from one key.
    fn look<T: Derived>(&mut self, query: &mut Query, prefix: &str) {
        let mut snapshot = Snapshot::default();
        query.collect(&mut snapshot).unwrap();
        for found in snapshot.values(None) {
            let instance = found.instance.to_string();
            if instance == "*" {
                continue; // it has none yet; or all that were listed were gone before their values were read
            }
            let Some(number) = instance.strip_prefix(prefix).and_then(|name| name.split('.').next()) else {
                panic!("{instance:?} is no name");
            };
            let key: u64 = number.parse().unwrap_or_else(|_| panic!("{instance:?} is no name"));
            assert_eq!(instance, format!("{prefix}{}", name(key)));
            assert_eq!(found.instance_id.unwrap().0, id(key), "{instance}");
            let expected = value(key, found.counter.id.0.into());
            match found.raw {
                None => self.missing += 1,
                Some(raw) if raw.get() == 0 => self.unset += 1, // it was just made
                Some(raw) => {
                    assert_eq!(raw.get(), expected, "{instance}, counter {}", found.counter.id.0);
                    self.values += 1;
                }
            }
            self.keys.insert(key);
        }
    }
}

fn guid_query<T: Derived>(machine: &Machine) -> Query {
    let guid: Guid = T::definition().counterset().guid;
    let start = Instant::now();
    while machine.counterset(&guid).is_err() {
        assert!(start.elapsed() < Duration::from_secs(20), "it publishes nothing");
        std::thread::sleep(Duration::from_millis(1));
    }
    query(machine, guid)
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    Mapped,
    Copied,
    /// Mapping of a file whose publisher is stopped and continued.
    Stopped,
}

fn check<T: Derived>(role: &str, test: &str, how: How) {
    const ENOUGH: (u64, usize) = (20_000, 2_000);
    let place = Place::new(test);
    let program = Program::start(role, place.path());
    let mut prefix = String::new();
    if how == How::Copied {
        let start = Instant::now();
        let file = loop {
            assert!(start.elapsed() < Duration::from_secs(20), "it has no file");
            if let Some(Ok(file)) = std::fs::read_dir(place.path()).unwrap().next() {
                break file;
            }
        };
        share(&file.path());
        prefix = own_user();
    }
    let machine = place.machine();
    let mut query = guid_query::<T>(&machine);
    let mut random = Random(7);
    let mut seen = Seen::default();
    let start = Instant::now();
    while seen.values < ENOUGH.0 || seen.keys.len() < ENOUGH.1 {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{} values of {} instances, {} not set, {} missing",
            seen.values,
            seen.keys.len(),
            seen.unset,
            seen.missing
        );
        let is_stopped = how == How::Stopped && random.below(4) == 0;
        if is_stopped {
            std::thread::sleep(Duration::from_micros(random.below(300)));
            program.signal(Signal::STOP);
        }
        seen.look::<T>(&mut query, &prefix);
        if is_stopped {
            seen.look::<T>(&mut query, &prefix);
            program.signal(Signal::CONT);
        }
    }
    assert!(seen.missing * 100 <= seen.values, "{} of {} are missing", seen.missing, seen.values);
}

#[test]
fn no_mix_where_the_file_is_mapped() {
    check::<Keyed>("churn", "stress-mapped", How::Mapped);
}

#[test]
fn no_mix_where_the_file_is_copied() {
    check::<Keyed>("churn", "stress-copied", How::Copied);
}

#[test]
fn no_mix_where_the_program_is_stopped() {
    check::<Keyed>("churn", "stress-stopped", How::Stopped);
}

#[test]
fn no_mix_of_rows_where_the_file_is_mapped() {
    check::<KeyedRows>("churn rows", "stress-rows", How::Mapped);
}

#[test]
fn no_mix_of_rows_where_the_file_is_copied() {
    check::<KeyedRows>("churn rows", "stress-rows-copied", How::Copied);
}

/// Checks that if a publisher is killed at any point, only its own rows disappear, immediately.
#[test]
fn killed_at_any_time() {
    const ROUNDS: u64 = 15;
    let place = Place::new("stress-killed");
    let machine = place.machine();
    let _bystander = Bystander::new(&place);
    let mut random = Random(11);
    for round in 0..ROUNDS {
        let mut program = Program::start("churn", place.path());
        let mut query = guid_query::<Keyed>(&machine);
        std::thread::sleep(Duration::from_micros(random.below(3_000)));
        let mut seen = Seen::default();
        for _ in 0..3 {
            seen.look::<Keyed>(&mut query, "");
        }
        program.kill();
        assert!(raw(&mut query).iter().all(|(.., value)| value.is_none()), "it is still there");
        assert!(machine.counterset(&Keyed::GUID).is_err(), "it is still listed");
        Bystander::is_unharmed(&machine, round);
    }
    assert!(std::fs::read_dir(place.path()).unwrap().count() <= 2, "the next one cleans up");
}
