//! Which instances a counterset of a mapped file has, and where their values are.

use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU64, fence};

use perfset_core::v2::TableRows;
use perfset_core::{Birth, Guid, InstanceId};
use perfset_engine::InstanceFilters;

use crate::layout::{INSTANCE_HEADER, Shape, WORD, is_live};
use crate::memory::load_bytes;
use crate::read::table::word;

/// A mapped segment of instances.
#[derive(Clone, Copy)]
pub(crate) struct Segment<'a> {
    pub words: &'a [AtomicU64],
    pub shape: Shape,
    /// Where the values of the first slot are, and its rows: the others follow.
    values: usize,
    rows: usize,
}

impl<'a> Segment<'a> {
    pub fn new(words: &'a [AtomicU64], shape: Shape) -> Self {
        Self { words, shape, values: shape.values(0).start, rows: shape.rows(0).start }
    }

    /// The word that tells whether a slot is taken.
    #[inline]
    pub fn sequence(&self, slot: usize) -> Option<&'a AtomicU64> {
        self.words.get(self.shape.sequence(slot))
    }

    /// The words with the values of counters that follow each other, if nothing is to be added to them.
    #[inline]
    pub fn values(&self, slot: usize, places: &Range<usize>) -> Option<&'a [AtomicU64]> {
        let at = self.block(slot);
        let words = at.wrapping_add(places.start)..at.wrapping_add(places.end);
        if self.shape.stripes == 0 { self.words.get(words) } else { None }
    }

    /// The value of a counter: the sum of its slot and of what threads added in rows of their own.
    #[inline]
    pub fn value(&self, slot: usize, place: usize) -> u64 {
        let Shape { row, stripes, .. } = self.shape;
        let len = row.wrapping_mul(stripes);
        let rows = self.rows.wrapping_add(len.wrapping_mul(slot));
        let rows = self.words.get(rows..rows.wrapping_add(len)).unwrap_or_default();
        let block = self.words.get(self.block(slot).wrapping_add(place));
        let mut sum = block.map_or(0, |word| word.load(Relaxed));
        let mut at = place;
        while let Some(word) = rows.get(at) {
            sum = sum.wrapping_add(word.load(Relaxed));
            at = at.wrapping_add(row);
        }
        sum
    }

    /// Where the values in the block of a slot are. Nothing wraps: a segment of that shape is in memory, and the slot
    /// is one of it.
    #[inline]
    fn block(&self, slot: usize) -> usize {
        self.values.wrapping_add(self.shape.stride.wrapping_mul(slot))
    }
}

/// What is known of the instances of a counterset in a file: oldest first.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// The file's change word when this was all of them; odd if it was not.
    change: u64,
    rows: Vec<Indexed>,
    /// What a block says of instances, those of `rows` and some that are no more.
    names: TableRows,
    /// How many there are.
    named: usize,
    /// By segment and slot: the word of what was looked at last.
    seen: Vec<Vec<u64>>,
    copy: Vec<u8>,
    /// The last time at which all that there were was known, in terms of PerfTime100NSec.
    complete_100ns: Option<u64>,
}

/// An instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexed {
    /// The number of its segment.
    pub segment: usize,
    pub slot: usize,
    pub sequence: u64,
    /// Where [`Index::names`] has its name and id.
    pub name: usize,
    /// Earliest possible start time, as PerfTime100NSec; `None` if unknown.
    pub began_100ns: Option<u64>,
}

impl Indexed {
    /// Tells it from others of its name and id.
    pub fn birth(&self, file_id: [u64; 2]) -> Birth {
        birth(self.sequence, file_id)
    }
}

/// Tells instances of one name and id apart: no two of a file have the same word, and no two files the same id.
pub(crate) fn birth(sequence: u64, file_id: [u64; 2]) -> Birth {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15; // different numbers stay different, multiplied by an odd one
    let [low, high] = file_id;
    NonZeroU64::new(low ^ high.rotate_left(32) ^ sequence.wrapping_mul(ODD))
}

impl Index {
    /// Looks for what changed, if something did, in the segments that a file has of a counterset: each with its number.
    /// `change` is the file's word, and `now_100ns` a time before this call, if the segments are all that there were
    /// then.
    pub fn refresh<'a>(
        &mut self,
        guid: &Guid,
        segments: impl Iterator<Item = (usize, Segment<'a>)> + Clone,
        change: &AtomicU64,
        now_100ns: Option<u64>,
    ) {
        let before = change.load(Acquire);
        if before == self.change && before & 1 == 0 {
            self.complete_100ns = now_100ns.or(self.complete_100ns);
            return;
        }
        let last = segments.clone().last().map_or(0, |(number, _)| number.saturating_add(1));
        let mut found: Vec<Option<Segment<'a>>> = vec![None; last];
        for (number, segment) in segments {
            if let Some(place) = found.get_mut(number) {
                *place = Some(segment);
            }
        }
        let sequence = |row: &Indexed| found.get(row.segment)?.as_ref()?.sequence(row.slot);
        self.rows.retain(|row| sequence(row).is_some_and(|word| word.load(Relaxed) == row.sequence));
        let old = self.rows.len();
        self.seen.resize_with(last.max(self.seen.len()), Vec::new);
        for (number, segment) in found.iter().enumerate() {
            if let Some(segment) = segment {
                self.look(number, segment, guid);
            }
        }
        let tail = self.rows.get(old.saturating_sub(1)..).unwrap_or_default();
        if !tail.is_sorted_by_key(|row| row.sequence) {
            self.rows.sort_unstable_by_key(|row| row.sequence);
        }
        if self.named > self.rows.len().saturating_mul(2).saturating_add(1024) {
            self.compact();
        }
        fence(Acquire);
        let after = change.load(Relaxed);
        self.change = if after == before { before } else { 1 };
        if self.change & 1 == 0 {
            self.complete_100ns = now_100ns.or(self.complete_100ns);
        }
    }

    /// Has it looked for again next time, whether something changes or not.
    pub fn doubt(&mut self) {
        self.change = 1;
    }

    /// Forgets the names of what is gone.
    fn compact(&mut self) {
        let mut names = TableRows::new(0);
        for row in &mut self.rows {
            let name = names.position();
            names.row_of(&self.names, row.name);
            row.name = name;
        }
        (self.names, self.named) = (names, self.rows.len());
    }

    /// Adds what is in the slots of a segment that were not seen with those words.
    fn look(&mut self, number: usize, segment: &Segment<'_>, guid: &Guid) {
        const TRIES: usize = 3;
        let Some(mut seen) = self.seen.get_mut(number).map(std::mem::take) else { return };
        seen.resize(segment.shape.slots, 0);
        for (slot, seen) in seen.iter_mut().enumerate() {
            let Some(word) = segment.sequence(slot) else { break };
            for _ in 0..TRIES {
                let sequence = word.load(Acquire);
                if sequence == *seen || !is_live(sequence) {
                    break; // known, or not there: it is never waited for
                }
                self.copy.clear();
                load_bytes(segment.words.get(segment.shape.block(slot)).unwrap_or_default(), &mut self.copy);
                fence(Acquire);
                if word.load(Relaxed) != sequence {
                    continue;
                }
                *seen = sequence; // also of what is not valid: it will not be looked at again
                if let Some((id, name)) = block(&self.copy, guid, segment.shape.counters) {
                    let at = self.names.position();
                    self.names.row(name, InstanceId(id));
                    self.named = self.named.saturating_add(1);
                    let began_100ns = self.complete_100ns;
                    self.rows.push(Indexed { segment: number, slot, sequence, name: at, began_100ns });
                }
                break;
            }
        }
        if let Some(place) = self.seen.get_mut(number) {
            *place = seen;
        }
    }

    /// All instances, oldest first.
    pub fn rows(&self) -> &[Indexed] {
        &self.rows
    }

    /// Whether any of the filters asks for an instance.
    pub fn is_wanted(&self, row: &Indexed, filters: &InstanceFilters) -> bool {
        let found = self.names.instance(row.name);
        found.is_some_and(|(name, id)| filters.wants(name.units(), id))
    }

    /// The names and ids of all.
    pub fn names(&self) -> &TableRows {
        &self.names
    }
}

/// Id and name of a copied PERF_COUNTERSET_INSTANCE block, if it is one of that counterset. Where its header says that
/// the name is does not count: that is for its program, which may have a copy of another width.
pub(crate) fn block<'a>(
    block: &'a [u8],
    guid: &Guid,
    counters: usize,
) -> Option<(u32, impl Iterator<Item = u16> + 'a)> {
    const ID: usize = 20;
    const MOST_UNITS: usize = 1024;
    let id = block.get(ID..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))?;
    let values_end = INSTANCE_HEADER.saturating_add(counters.saturating_mul(WORD));
    let name = block.get(values_end..).filter(|_| block.starts_with(&guid.to_wire()))?;
    let units = name.chunks_exact(2).take(MOST_UNITS).map(|unit| match unit {
        [low, high] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    });
    // It ends at its NUL, and has one.
    units.clone().any(|unit| unit == 0).then(|| (id, units.take_while(|unit| *unit != 0)))
}

/// The shape of a segment, from a copy of its head.
pub(crate) fn shape(head: &[u8], len: usize) -> Result<Shape, crate::layout::BadShape> {
    Shape::parse(std::array::from_fn(|at| word(head, at)), len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::store_bytes;

    /// Names of what is gone are forgotten some time, and those of what is there are not.
    #[test]
    fn instances_that_come_and_go() {
        const GUID: Guid = Guid::from_u128(0x0203_0507_1113_1719_2329_3137_4143_4753);
        let shape = Shape::new(3, 31, 0).filling(4096);
        let words: Vec<_> = (0..512).map(|_| AtomicU64::new(0)).collect();
        let change = AtomicU64::new(2);
        let put = |slot: usize, sequence: u64| {
            let block = &words[shape.block(slot)];
            let id = u32::try_from(sequence).unwrap();
            let fields = [0, id, 0, 0].into_iter().flat_map(u32::to_le_bytes);
            store_bytes(block, GUID.to_wire().into_iter().chain(fields));
            let name = format!("instance {sequence}\0");
            let name: Vec<_> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
            store_bytes(&block[(INSTANCE_HEADER + 3 * WORD) / WORD..], name);
            words[shape.sequence(slot)].store(sequence, Relaxed);
            change.fetch_add(2, Relaxed);
        };
        let mut index = Index::default();
        let mut living = vec![0; shape.slots];
        let mut most = 0;
        for turn in 0..5000 {
            let (slot, sequence) = (turn % (shape.slots - 1), 2 * turn as u64 + 10);
            put(slot, sequence);
            living[slot] = sequence;
            index.refresh(
                &GUID,
                std::iter::once((7, Segment::new(&words, shape))),
                &change,
                Some(turn as u64),
            );
            let mut expected: Vec<_> = living.iter().copied().filter(|sequence| *sequence > 0).collect();
            expected.sort_unstable();
            let named = |row: &Indexed| {
                let (name, id) = index.names().instance(row.name).unwrap();
                (name.to_string(), u64::from(id.0))
            };
            let found: Vec<_> = index.rows().iter().map(named).collect();
            let expected: Vec<_> =
                expected.iter().map(|sequence| (format!("instance {sequence}"), *sequence)).collect();
            assert_eq!(found, expected, "{turn}");
            let began = index.rows().last().unwrap().began_100ns;
            assert_eq!(began, (turn as u64).checked_sub(1), "not before it was looked for the last time");
            most = most.max(index.names().position());
        }
        assert!(most < 100_000, "{most} bytes of names");
    }
}
