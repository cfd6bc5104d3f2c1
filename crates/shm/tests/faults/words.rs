//! Test of the protocol words by which readers validate data, in a memory model weaker than this machine's.
//!
//! The model has one slot, with a word each for its name and its value. The writer's operations are those of
//! `File::change`, `PublishedSet::write` and `PublishedSet::free`; the reader's are `Index::refresh`, `Index::look` and
//! `Segment::load`. Their order and memory orderings are the same as in the code: a change there must be repeated
//! here. Everything that Rust's memory model allows is tried: a load may return any store that is not older than one
//! the reader must have seen. The stores it must have seen follow from releases and acquires alone.

use std::ops::ControlFlow;

const CHANGE: usize = 0;
const SEQUENCE: usize = 1;
const NAME: usize = 2;
const VALUE: usize = 3;
const WORDS: usize = 4;

/// Index of the oldest store that a thread may still see, for each word of the model.
type View = [usize; WORDS];

fn join(one: &mut View, other: &View) {
    for (a, b) in one.iter_mut().zip(other) {
        *a = (*a).max(*b);
    }
}

/// Step of the protocol that is left out or weakened, one at a time, to check that the model detects it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Flaw {
    /// `true` if the slot's sequence word changes to the next instance without being odd in between.
    never_odd: bool,
    no_release_fences: bool,
    relaxed_sequence: bool,
    relaxed_change: bool,
    /// `true` if the reader's acquire fences are left out.
    no_acquire_fences: bool,
    relaxed_loads: bool,
    no_second_look_at_names: bool,
    no_second_look_at_values: bool,
    remembers_what_is_after: bool,
}

/// Model of the writer: all stores that it ever makes, by word.
struct Writer {
    stores: [Vec<(u64, View)>; WORDS],
    view: View,
    released: View,
    flaw: Flaw,
}

#[derive(PartialEq)]
enum Order {
    Relaxed,
    Ordered,
}

impl Writer {
    fn store(&mut self, word: usize, value: u64, order: Order) {
        self.view[word] = self.stores[word].len();
        let mut carried = if order == Order::Ordered { self.view } else { self.released };
        carried[word] = self.view[word];
        self.stores[word].push((value, carried));
    }

    fn fence(&mut self) {
        if !self.flaw.no_release_fences {
            self.released = self.view;
        }
    }

    fn last(&self, word: usize) -> u64 {
        self.stores[word].last().unwrap().0
    }

    fn change(&mut self, work: impl FnOnce(&mut Self)) {
        let before = self.last(CHANGE);
        self.store(CHANGE, before + 1, Order::Relaxed);
        self.fence();
        work(self);
        let order = if self.flaw.relaxed_change { Order::Relaxed } else { Order::Ordered };
        self.store(CHANGE, before + 2, order);
    }

    fn delete(&mut self) {
        if self.flaw.never_odd {
            return;
        }
        self.change(|this| {
            let odd = this.last(SEQUENCE) | 1;
            this.store(SEQUENCE, odd, Order::Relaxed);
            this.fence();
        });
    }

    fn create(&mut self, key: u64) {
        self.change(|this| {
            this.store(VALUE, 0, Order::Relaxed);
            this.store(NAME, key, Order::Relaxed);
            let order = if this.flaw.relaxed_sequence { Order::Relaxed } else { Order::Ordered };
            this.store(SEQUENCE, 2 * key, order);
        });
    }

    /// Creates the writer's stores for one instance after the other, each with one key.
    fn program(keys: u64, flaw: Flaw) -> Self {
        let stores = [2, 0, 0, 0].map(|value| vec![(value, [0; WORDS])]);
        let mut writer = Self { stores, view: [0; WORDS], released: [0; WORDS], flaw };
        for key in 1..=keys {
            if key > 1 {
                writer.delete();
            }
            writer.create(key);
            writer.store(VALUE, 100 * key, Order::Relaxed); // the program counts
        }
        writer
    }
}

/// Choices of the store that each load of the reader returns. Enumerates all combinations.
#[derive(Default)]
struct Ways {
    /// Chosen index and number of possible stores, for each load.
    choices: Vec<(usize, usize)>,
    index: usize,
}

impl Ways {
    fn one_of(&mut self, count: usize) -> usize {
        if self.index == self.choices.len() {
            self.choices.push((0, count));
        }
        let (way, of) = self.choices[self.index];
        assert_eq!(of, count, "the same ways lead to the same place");
        self.index += 1;
        way
    }

    /// Advances to the next combination of choices; `false` if there is none.
    fn next(&mut self) -> bool {
        self.index = 0;
        while let Some((way, count)) = self.choices.pop() {
            if way + 1 < count {
                self.choices.push((way + 1, count));
                return true;
            }
        }
        false
    }
}

struct Reader<'a> {
    writer: &'a Writer,
    ways: &'a mut Ways,
    /// Index, for each word, of the oldest store that the reader may still see. `pending` are those it must see after
    /// the next fence.
    view: View,
    pending: View,
    /// Change word with which the reader's index was complete. `rows` are names by sequence; `last_sequence` is the
    /// sequence seen last.
    change: u64,
    rows: Vec<(u64, u64)>,
    last_sequence: u64,
}

impl Reader<'_> {
    fn load(&mut self, word: usize, order: Order) -> u64 {
        let stores = &self.writer.stores[word];
        let oldest = self.view[word];
        let at = oldest + self.ways.one_of(stores.len() - oldest);
        let (value, carried) = stores[at];
        self.view[word] = at;
        join(&mut self.pending, &carried);
        if order == Order::Ordered && !self.writer.flaw.relaxed_loads {
            join(&mut self.view, &carried);
        }
        value
    }

    fn fence(&mut self) {
        if !self.writer.flaw.no_acquire_fences {
            let pending = self.pending;
            join(&mut self.view, &pending);
        }
    }

    /// Runs the model of the reader's `Index::refresh`, which finds the instances.
    fn refresh(&mut self) {
        let before = self.load(CHANGE, Order::Ordered);
        if before == self.change && before & 1 == 0 {
            return;
        }
        let mut kept = Vec::new();
        for row in std::mem::take(&mut self.rows) {
            if self.load(SEQUENCE, Order::Relaxed) == row.0 {
                kept.push(row);
            }
        }
        self.rows = kept;
        self.look();
        self.fence();
        let after = self.load(CHANGE, Order::Relaxed);
        self.change = match () {
            () if self.writer.flaw.remembers_what_is_after => after,
            () if after == before => before,
            () => 1,
        };
    }

    /// Runs the model of `Index::look`, which finds the instance in one slot.
    fn look(&mut self) {
        const TRIES: usize = 3;
        for _ in 0..TRIES {
            let sequence = self.load(SEQUENCE, Order::Ordered);
            if sequence == self.last_sequence || !crate::layout::is_live(sequence) {
                return;
            }
            let name = self.load(NAME, Order::Relaxed);
            self.fence();
            if !self.writer.flaw.no_second_look_at_names && self.load(SEQUENCE, Order::Relaxed) != sequence {
                continue;
            }
            self.last_sequence = sequence;
            self.rows.push((sequence, name));
            return;
        }
    }

    /// Runs the model of `Segment::load`, which reads the values of all known instances. Returns names and values.
    fn values(&mut self) -> Vec<(u64, u64)> {
        let mut values = Vec::new();
        for (sequence, name) in self.rows.clone() {
            if self.load(SEQUENCE, Order::Ordered) != sequence {
                continue;
            }
            let value = self.load(VALUE, Order::Relaxed);
            self.fence();
            if self.writer.flaw.no_second_look_at_values || self.load(SEQUENCE, Order::Relaxed) == sequence {
                values.push((name, value));
            }
        }
        values
    }
}

/// Tries all combinations of choices for `keys` successive instances and `collections` collections. Returns their
/// number, and the first error found.
fn all_ways(keys: u64, collections: usize, flaw: Flaw) -> (u64, ControlFlow<String>) {
    let writer = Writer::program(keys, flaw);
    let mut ways = Ways::default();
    let mut count = 0;
    loop {
        let mut reader = Reader {
            writer: &writer,
            ways: &mut ways,
            view: [0; WORDS],
            pending: [0; WORDS],
            change: 1,
            rows: Vec::new(),
            last_sequence: 0,
        };
        for collection in 0..collections {
            reader.refresh();
            if let Some((sequence, name)) = reader.rows.iter().find(|(sequence, name)| *sequence != 2 * name)
            {
                let what = format!("{name} is listed as number {sequence}, in way {count}");
                return (count, ControlFlow::Break(what));
            }
            for (name, value) in reader.values() {
                // The value must belong to the same instance, or be 0 at first.
                if name == 0 || (value != 0 && value != 100 * name) {
                    let what = format!("{name} has {value} in collection {collection} of way {count}");
                    return (count, ControlFlow::Break(what));
                }
            }
        }
        // When the writer has finished and all its stores are visible, exactly the last instance exists.
        reader.view = writer.view;
        reader.refresh();
        let last = reader.values();
        if last != [(keys, 100 * keys)] {
            return (count, ControlFlow::Break(format!("in the end there is {last:?}, in way {count}")));
        }
        count += 1;
        if !ways.next() {
            return (count, ControlFlow::Continue(()));
        }
    }
}

#[test]
fn no_way_leads_to_a_mix() {
    for (keys, collections) in [(1, 1), (1, 2), (2, 1), (3, 1), (2, 2)] {
        let (ways, result) = all_ways(keys, collections, Flaw::default());
        assert_eq!(result, ControlFlow::Continue(()), "{keys} instances, {collections} collections");
        println!("{keys} instances, {collections} collections: {ways} ways");
        assert!(ways > 10);
    }
}

#[test]
fn every_part_of_it_is_needed() {
    let none = Flaw::default();
    let flaws = [
        Flaw { never_odd: true, ..none },
        Flaw { no_release_fences: true, ..none },
        Flaw { relaxed_sequence: true, ..none },
        Flaw { relaxed_change: true, ..none },
        Flaw { no_acquire_fences: true, ..none },
        Flaw { relaxed_loads: true, ..none },
        Flaw { no_second_look_at_names: true, ..none },
        Flaw { no_second_look_at_values: true, ..none },
        Flaw { remembers_what_is_after: true, ..none },
    ];
    for flaw in flaws {
        let found = [(1, 1), (2, 1), (3, 1), (2, 2)]
            .into_iter()
            .any(|(keys, collections)| all_ways(keys, collections, flaw).1.is_break());
        assert!(found, "{flaw:?} harms nobody");
    }
}
