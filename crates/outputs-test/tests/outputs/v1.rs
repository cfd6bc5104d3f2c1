//! Check of V1 blocks, read only by the object and counter definitions in them.

use std::collections::HashMap;
use std::sync::Arc;

use perfset::Language;
use perfset::v1::{ValueName, query};

use crate::check::{Check, Found, Tally, path};
use crate::play::Play;
use crate::world::World;

/// Bytes of a V1 or V2 block, with reads at offsets.
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    pub fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().expect("eight bytes"))
    }

    pub fn at(&self, at: usize) -> usize {
        self.u32(at) as usize
    }

    pub fn from(&self, at: usize) -> Bytes<'a> {
        Bytes(&self.0[at..])
    }

    /// Returns UTF-16 text of a block up to its NUL, from at most `len` bytes.
    pub fn text(&self, at: usize, len: usize) -> String {
        let units = self.0[at..at + len].chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        String::from_utf16(&units.take_while(|unit| *unit != 0).collect::<Vec<_>>()).expect("text")
    }
}

pub fn check(world: &Arc<World>) -> Result<Tally, String> {
    let machine = Play::new(world).machine();
    let mut check = Check::new(world, "v1 block").expect(0..world.steps.len(), true, false, &path);
    write_for_nothing(world, &mut check);
    for step in 0..world.steps.len() {
        let names =
            names(&query(&machine, &ValueName::Names(Language::ENGLISH), "HOST").expect("names").bytes);
        let block = query(&machine, &ValueName::Global, "HOST").expect("a block").bytes;
        read(world, step, &block, &names, &mut check);
    }
    check.finish()
}

/// Changes the expected values for V1, a format without missing values. A missing value is 0 if another row has one;
/// else the counter is absent.
fn write_for_nothing(world: &World, check: &mut Check<'_>) {
    let is_there = |step: usize, set: usize, column: usize| {
        let rows = world.rows(step, set).unwrap_or_default();
        let has = |column: usize| rows.iter().any(|row| row.cells[column].raw.is_ok());
        has(column) && world.sets[set].columns[column].base.is_none_or(has)
    };
    let place = |name: &str| {
        let set = world.sets.iter().position(|set| name.split(['(', '\\']).nth(1) == Some(set.name));
        let set = set.expect("a set");
        let counter = name.rsplit('\\').next();
        let columns = &world.sets[set].columns;
        (set, columns.iter().position(|column| Some(column.name) == counter).expect("a column"))
    };
    check.retain(|(step, name), _| {
        let (set, column) = place(name);
        is_there(*step, set, column)
    });
    check.each_due_mut(|_, due| {
        due.want.raw = Some(due.want.raw.unwrap_or(0));
        due.want.base = due.has_base.then_some(due.base.unwrap_or(0));
    });
}

/// Parses a V1 table of title indexes and names.
fn names(table: &[u8]) -> HashMap<u32, String> {
    let units = table.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect::<Vec<_>>();
    let texts: Vec<_> =
        units.split(|unit| *unit == 0).map(|text| String::from_utf16(text).expect("text")).collect();
    let pairs = texts.chunks_exact(2).take_while(|pair| !pair[0].is_empty());
    pairs.map(|pair| (pair[0].parse().expect("an index"), pair[1].clone())).collect()
}

fn read(world: &World, step: usize, block: &[u8], names: &HashMap<u32, String>, check: &mut Check<'_>) {
    let block = Bytes(block);
    assert_eq!(block.text(0, 8), "PERF");
    assert_eq!(block.at(20), block.0.len(), "TotalByteLength");
    assert_eq!(block.u64(72) as i64, world.steps[step].time, "PerfTime100nSec");
    assert_eq!(block.u64(56) as i64, world.steps[step].perf_time, "PerfTime");
    let mut object = block.from(block.at(24));
    for _ in 0..block.u32(28) {
        read_object(step, &object, names, check);
        object = object.from(object.at(0));
    }
    assert!(object.0.is_empty(), "bytes behind the last object");
}

fn read_object(step: usize, object: &Bytes<'_>, names: &HashMap<u32, String>, check: &mut Check<'_>) {
    let set = &names[&object.u32(12)];
    let (count, instances) = (object.at(32), object.u32(40) as i32);
    // Index, size and place of each.
    let mut definitions = Vec::new();
    let mut definition = object.from(object.at(8));
    for _ in 0..count {
        definitions.push((definition.u32(4), definition.u32(32), definition.at(36)));
        definition = definition.from(definition.at(0));
    }
    let mut values = |block: &Bytes<'_>, instance: &str, occurrence: usize| {
        let value = |(_, size, at): (u32, u32, usize)| match size {
            8 => block.u64(at),
            4 => u64::from(block.u32(at)),
            size => panic!("{size} bytes"),
        };
        let mut left = definitions.as_slice();
        while let [first, rest @ ..] = left {
            // A base stands behind what it divides, and has its index.
            let base = rest.first().filter(|base| base.0 == first.0);
            let found = Found {
                raw: Some(Some(value(*first))),
                base: Some(base.map(|base| value(*base))),
                ..Found::default()
            };
            check.found((step, path(set, instance, occurrence, &names[&first.0])), found);
            left = if base.is_some() { &rest[1..] } else { rest };
        }
    };
    let mut at = object.from(object.at(4));
    if instances == -1 {
        return values(&at, "", 0);
    }
    let mut seen: Vec<String> = Vec::new();
    for _ in 0..instances {
        let name = at.text(at.at(16), at.at(20));
        let folded = crate::world::fold(&name);
        let occurrence = seen.iter().filter(|other| **other == folded).count();
        seen.push(folded);
        at = at.from(at.at(0));
        values(&at, &name, occurrence);
        at = at.from(at.at(0));
    }
}
