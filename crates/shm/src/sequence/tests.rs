//! Tests of all interleavings of a writer and a reader, and of all stores that a load may return, by the model
//! checker loom.
//!
//! The functions are those of the library, with the checker's words. Each of their orderings is also left out once, to
//! show that the checker then finds values of two instances mixed.

use std::panic::catch_unwind;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed};

use loom::sync::Arc;

use super::*;

/// Maximum number of times that the model checker interrupts a thread.
const PREEMPTIONS: usize = 3;
/// Flaw of a model in which no memory ordering is left out.
const NONE: u8 = 0;
const RELAXED_STORES: u8 = 1;
const NO_RELEASE_FENCES: u8 = 2;
const NO_ACQUIRE_FENCES: u8 = 3;
const RELAXED_LOADS: u8 = 4;
const NO_SECOND_LOAD: u8 = 5;

/// Word of the model checker. One of the memory orderings may be left out.
struct ModelWord<const FLAW: u8> {
    word: loom::sync::atomic::AtomicU64,
    /// Value that the last load with acquire ordering returned.
    first: AtomicU64,
}

impl<const FLAW: u8> ModelWord<FLAW> {
    fn new(value: u64) -> Self {
        Self { word: loom::sync::atomic::AtomicU64::new(value), first: AtomicU64::new(value) }
    }

    fn get(&self) -> u64 {
        self.word.load(Relaxed)
    }

    fn set(&self, value: u64) {
        self.word.store(value, Relaxed);
    }
}

impl<const FLAW: u8> Word for ModelWord<FLAW> {
    fn load(&self, order: Ordering) -> u64 {
        if order == Acquire {
            let value = self.word.load(if FLAW == RELAXED_LOADS { Relaxed } else { Acquire });
            self.first.store(value, Relaxed);
            return value;
        }
        if FLAW == NO_SECOND_LOAD { self.first.load(Relaxed) } else { self.word.load(order) }
    }

    fn store(&self, value: u64, order: Ordering) {
        self.word.store(value, if FLAW == RELAXED_STORES { Relaxed } else { order });
    }

    fn fence(order: Ordering) {
        match order {
            Acquire if FLAW == NO_ACQUIRE_FENCES => {}
            Release if FLAW == NO_RELEASE_FENCES => {}
            order => loom::sync::atomic::fence(order),
        }
    }
}

/// Model of a slot with an instance named 1, and of the file's change word.
struct Slot<const FLAW: u8> {
    change: ModelWord<FLAW>,
    sequence: ModelWord<FLAW>,
    name: ModelWord<FLAW>,
    value: ModelWord<FLAW>,
}

impl<const FLAW: u8> Slot<FLAW> {
    fn new() -> Arc<Self> {
        let word = ModelWord::new;
        Arc::new(Self { change: word(2), sequence: word(2), name: word(1), value: word(100) })
    }

    /// Replaces the slot's instance by the next one, and counts for that instance.
    fn replace(&self) {
        change(&self.change, || free(&self.sequence));
        change(&self.change, || {
            self.value.set(0);
            self.name.set(2);
            publish(&self.sequence, 4);
        });
        self.value.set(200);
    }
}

/// Runs a writer and a reader of a model slot in all interleavings.
fn model<const FLAW: u8>(write: fn(&Slot<FLAW>), read: fn(&Slot<FLAW>)) {
    let mut all = loom::model::Builder::new();
    all.preemption_bound = Some(PREEMPTIONS);
    all.check(move || {
        let slot = Slot::<FLAW>::new();
        // Both are spawned: the checker does not schedule another thread before the first load of the main thread.
        let threads = [write, read].map(|work| {
            let slot = slot.clone();
            loom::thread::spawn(move || work(&slot))
        });
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// Reads the instance in a slot once, while the next instance is put into it.
fn values<const FLAW: u8>() {
    model::<FLAW>(Slot::replace, |slot| {
        let mut read = (0, 0);
        let sequence = while_same(&slot.sequence, || read = (slot.name.get(), slot.value.get()));
        if let Some(sequence) = sequence.filter(|sequence| sequence % 2 == 0) {
            let (name, value) = read;
            assert_eq!(sequence, 2 * name, "the name belongs to another instance");
            assert!([0, 100 * name].contains(&value), "{name} has {value}");
        }
    });
}

/// Reads two words that are changed together, as `Index::refresh` reads all slots between two loads of the change word.
fn changes<const FLAW: u8>() {
    let write = |slot: &Slot<FLAW>| {
        change(&slot.change, || {
            slot.name.set(2);
            slot.value.set(200);
        });
    };
    model::<FLAW>(write, |slot| {
        let mut read = (0, 0);
        let change = while_same(&slot.change, || read = (slot.name.get(), slot.value.get()));
        if let Some(change) = change.filter(|change| change % 2 == 0) {
            let (name, value) = read;
            assert_eq!((2 * name, 100 * name), (change, value), "a change was seen in part");
        }
    });
}

#[test]
fn no_interleaving_mixes_two_instances() {
    values::<NONE>();
    changes::<NONE>();
}

#[test]
fn every_ordering_is_needed() {
    let flawed: [(&str, fn()); 10] = [
        ("values, relaxed stores", values::<RELAXED_STORES>),
        ("values, no release fences", values::<NO_RELEASE_FENCES>),
        ("values, no acquire fences", values::<NO_ACQUIRE_FENCES>),
        ("values, relaxed loads", values::<RELAXED_LOADS>),
        ("values, no second load", values::<NO_SECOND_LOAD>),
        ("changes, relaxed stores", changes::<RELAXED_STORES>),
        ("changes, no release fences", changes::<NO_RELEASE_FENCES>),
        ("changes, no acquire fences", changes::<NO_ACQUIRE_FENCES>),
        ("changes, relaxed loads", changes::<RELAXED_LOADS>),
        ("changes, no second load", changes::<NO_SECOND_LOAD>),
    ];
    for (name, model) in flawed {
        assert!(catch_unwind(model).is_err(), "{name}: harms nobody");
    }
}
