//! Generator of instances over time: they begin, end, are renamed, return, and count.

use std::time::Duration;

use perfset::Mark;

use crate::random::Random;
use crate::world::{BEGIN, Cell, Event, Kind, Lack, Row, Set};

/// Names of generated instances, some with characters that an output must escape. They stay distinct when PDH's
/// grammar replaces characters; `b` and `B` differ only in case.
const NAMES: [&str; 10] = ["a", "b", "c", "a b", "n,1", "q\"t", "\u{e9}\u{4e2d}", "e/1", "k[2]", "B"];

/// Generated instance that exists, or is away for a while.
#[derive(Clone, Debug)]
struct Thing {
    name: &'static str,
    id: u32,
    birth: u64,
    counts: Vec<u64>,
    is_away: bool,
}

/// Generator of the instances of one counterset over time.
pub struct Lives {
    things: Vec<Thing>,
    next_id: u32,
    births: bool,
}

impl Lives {
    pub fn new(random: &mut Random, set: &Set) -> Self {
        let mut lives = Self { things: Vec::new(), next_id: 1, births: !random.once_in(4) };
        let count = if set.is_single { 1 } else { random.within(1, 3) };
        (0..count).for_each(|_| lives.begin(random, set));
        lives
    }

    fn begin(&mut self, random: &mut Random, set: &Set) {
        let name = if set.is_single { "" } else { *random.of(&NAMES) };
        let id = if set.is_single { 0 } else { self.next_id };
        self.next_id += random.within(1, 3) as u32;
        let birth = if self.births { random.within(1, 1 << 40) } else { 0 };
        let counts = set.columns.iter().map(|column| first_count(random, column.kind)).collect();
        self.things.push(Thing { name, id, birth, counts, is_away: false });
    }

    /// Advances the instances to the next step and returns their rows.
    pub fn step(&mut self, random: &mut Random, set: &Set, at: usize, ms: u64) -> Vec<Row> {
        let mut notes: Vec<(u32, Event)> = Vec::new();
        if at > 0 && !set.is_single {
            self.change(random, set, &mut notes);
        }
        for thing in &mut self.things {
            for (count, column) in thing.counts.iter_mut().zip(&set.columns) {
                *count = next_count(random, column.kind, *count, ms);
            }
        }
        let mut rows = Vec::new();
        for thing in self.things.iter().filter(|thing| !thing.is_away) {
            let own = notes.iter().filter(|(id, _)| *id == thing.id).map(|(_, event)| *event);
            rows.push(row(random, thing, own.collect()));
        }
        rows
    }

    fn change(&mut self, random: &mut Random, set: &Set, notes: &mut Vec<(u32, Event)>) {
        for thing in &mut self.things {
            let is_here = !thing.is_away;
            match random.below(24) {
                0 | 1 if is_here => thing.is_away = true, // it comes again, or it ended
                2 | 3 if is_here => {
                    let name = *random.of(&NAMES);
                    if name != thing.name {
                        thing.name = name;
                        notes.push((thing.id, Event::Renamed));
                    }
                }
                4 | 5 if is_here && self.births => {
                    // Another one with its name and id.
                    thing.birth += random.within(1, 1 << 20);
                    thing.counts = set.columns.iter().map(|c| first_count(random, c.kind)).collect();
                }
                6..12 if !is_here => {
                    thing.is_away = false;
                    if self.births && random.once_in(2) {
                        thing.birth += random.within(1, 1 << 20);
                        thing.counts = set.columns.iter().map(|c| first_count(random, c.kind)).collect();
                    }
                    notes.push((thing.id, Event::Returns));
                }
                _ => {}
            }
        }
        // What has ended may leave its place to others.
        if random.once_in(5) && !self.things.is_empty() {
            let at = random.below(self.things.len());
            self.things.remove(at);
        }
        let living = self.things.iter().filter(|thing| !thing.is_away).count();
        if random.once_in(3) && living < 5 {
            self.begin(random, set);
            if random.once_in(2) {
                // In front of others: what stands by position is wrong from here on.
                self.things.rotate_right(1);
            }
        }
        if random.once_in(6) && self.things.len() > 1 {
            let at = random.below(self.things.len() - 1);
            self.things.swap(at, at + 1);
        }
        if random.once_in(40) {
            self.things.iter_mut().for_each(|thing| thing.is_away = true);
        }
    }
}

fn row(random: &mut Random, thing: &Thing, events: Vec<Event>) -> Row {
    let row_mark = random.once_in(10).then(|| match random.below(3) {
        0 => Mark::Stale(Duration::from_millis(77)),
        1 => Mark::Reused,
        _ => Mark::Partial(std::num::NonZeroU32::MIN),
    });
    let mut cells = Vec::new();
    for count in &thing.counts {
        let raw = match random.once_in(12) {
            true => Err(*random.of(&[Lack::Unavailable, Lack::Denied, Lack::Failed, Lack::NotGiven])),
            false => Ok(*count),
        };
        let mark = if random.once_in(14) { Some(Mark::Held) } else { row_mark };
        cells.push(Cell { raw, mark });
    }
    Row { name: thing.name, id: thing.id, birth: thing.birth, occurrence: 0, cells, events }
}

fn first_count(random: &mut Random, kind: Kind) -> u64 {
    match kind {
        Kind::Level | Kind::Rate => random.within(1, 1 << 30),
        Kind::Short => random.within(1, u64::from(u32::MAX)),
        Kind::Timer => random.within(1, 1 << 40),
        Kind::Share => random.within(1, 900_000),
        Kind::ShareBase => random.within(900_000, 1_000_000),
        Kind::Average => random.within(1, 1 << 30),
        Kind::AverageBase => random.within(1, 1 << 20),
        Kind::Elapsed => (BEGIN - random.within(1, 1 << 50) as i64) as u64,
    }
}

fn next_count(random: &mut Random, kind: Kind, count: u64, ms: u64) -> u64 {
    match kind {
        Kind::Level | Kind::Short | Kind::Share | Kind::ShareBase => first_count(random, kind),
        Kind::Elapsed => count,
        Kind::AverageBase => count + random.within(1, 5_000),
        _ if random.once_in(30) => random.within(0, count),
        Kind::Timer => count + random.within(0, ms * 10_000),
        _ => count + random.within(0, 1 << 22),
    }
}
