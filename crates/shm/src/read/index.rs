//! Index of the instances of a counterset in a publisher's file, and of the locations of their values.

use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use perfset_core::v2::TableRows;
use perfset_core::{Birth, Guid, InstanceId};
use perfset_engine::InstanceFilters;

use super::lines::Lines;
use super::stamp::Stamp;
use crate::guard::Inside;
use crate::layout::{INSTANCE_HEADER, LINE, SegmentLayout, WORD, is_live};
use crate::memory::MappedView;
use crate::read::table::word;
use crate::sequence::while_same;

/// Values of a segment of instances: loaded from the mapping into private memory, and read there.
#[derive(Debug)]
pub(crate) struct Segment {
    view: MappedView,
    shape: SegmentLayout,
    /// Sequence word of each slot, followed by the values of each slot. Each value is already the sum of its slot and
    /// stripes.
    words: Vec<AtomicU64>,
}

impl Segment {
    /// Allocates memory for the values of a segment, without loading any.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(view: MappedView, shape: SegmentLayout) -> io::Result<Self> {
        let len = shape.slots.saturating_mul(shape.counters.saturating_add(1));
        let mut words = Vec::new();
        words.try_reserve_exact(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        words.resize_with(len, AtomicU64::default);
        Ok(Self { view, shape, words })
    }

    /// Loads the values of a slot in the segment: those at `places`, or all if `places` is empty. If the instance
    /// ends meanwhile, or another one takes the slot, the sequence word becomes 0.
    #[inline]
    pub fn load(&self, slot: usize, places: &[usize], inside: &Inside) {
        let from = self.view.words(inside);
        let (Some(word), Some(to)) = (from.get(self.shape.sequence(slot)), self.words.get(slot)) else {
            return;
        };
        let into = self.slot(slot);
        let sequence = while_same(word, || {
            if places.is_empty() && self.shape.stripes == 0 {
                let values = from.get(self.shape.values(slot)).unwrap_or_default();
                for (to, value) in into.iter().zip(values) {
                    to.store(value.load(Relaxed), Relaxed);
                }
            } else if places.is_empty() {
                for (place, to) in into.iter().enumerate() {
                    to.store(self.sum(from, slot, place), Relaxed);
                }
            } else {
                for place in places {
                    if let Some(to) = into.get(*place) {
                        to.store(self.sum(from, slot, *place), Relaxed);
                    }
                }
            }
        });
        to.store(sequence.unwrap_or(0), Relaxed);
    }

    /// Returns the sum of a counter's value in a slot and in the stripes to which threads added.
    #[inline]
    fn sum(&self, from: &[AtomicU64], slot: usize, place: usize) -> u64 {
        let block = from.get(self.shape.values(slot)).unwrap_or_default();
        let rows = from.get(self.shape.rows(slot)).unwrap_or_default();
        let mut sum = block.get(place).map_or(0, |word| word.load(Relaxed));
        for word in rows.iter().skip(place).step_by(self.shape.row.max(1)).take(self.shape.stripes) {
            sum = sum.wrapping_add(word.load(Relaxed));
        }
        sum
    }

    /// Returns the sequence word with which the values of a slot were loaded.
    #[inline]
    pub fn sequence(&self, slot: usize) -> Option<&AtomicU64> {
        self.words.get(..self.shape.slots)?.get(slot)
    }

    /// Returns the loaded values of consecutive counters in a slot.
    #[inline]
    pub fn values(&self, slot: usize, places: &Range<usize>) -> Option<&[AtomicU64]> {
        self.slot(slot).get(places.clone())
    }

    /// Returns the loaded value of a counter in a slot.
    #[inline]
    pub fn value(&self, slot: usize, place: usize) -> u64 {
        self.slot(slot).get(place).map_or(0, |word| word.load(Relaxed))
    }

    /// Returns all loaded values of a slot. The index arithmetic cannot overflow, because the values are in memory.
    #[inline]
    fn slot(&self, slot: usize) -> &[AtomicU64] {
        let SegmentLayout { slots, counters, .. } = self.shape;
        let at = slots.wrapping_add(slot.wrapping_mul(counters));
        self.words.get(at..at.wrapping_add(counters)).unwrap_or_default()
    }
}

/// Location of a segment of instances in its file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub offset: u64,
    pub shape: SegmentLayout,
}

impl Part {
    /// Copies the sequence words of some slots of the segment from the file.
    fn sequences(&self, file: BorrowedFd<'_>, slots: &Range<usize>, to: &mut Vec<u64>) -> io::Result<()> {
        const IN_LINE: usize = LINE / WORD;
        let (from, end) = (self.shape.sequence(slots.start), self.shape.sequence(slots.end));
        let line = (from / IN_LINE).saturating_mul(IN_LINE);
        let lines = Lines::read(file, self.byte(line), end.saturating_sub(line).saturating_mul(WORD))?;
        to.clear();
        to.extend((from..end).map(|at| word(&lines, at.saturating_sub(line))));
        Ok(())
    }

    /// Returns the byte offset in the file of a word of the segment.
    fn byte(&self, word: usize) -> u64 {
        self.offset.saturating_add(u64::try_from(word.saturating_mul(WORD)).unwrap_or(u64::MAX))
    }
}

/// Index of the known instances of a counterset in a file, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Change word of the file when the index was complete; odd if it was incomplete.
    change: u64,
    /// Metadata stamp of the file before it was indexed: a hole, read as zeros, looks as if there were no instances.
    stamp: Option<Stamp>,
    rows: Vec<IndexEntry>,
    /// Previous rows of the index, kept until it is confirmed that the file did not change while the new ones were
    /// read.
    before: Option<Vec<IndexEntry>>,
    /// Names and ids of the indexed instances in `rows`, and of some that no longer exist.
    names: TableRows,
    /// Number of names and ids of instances in `names`.
    named: usize,
    /// Last sequence word that was read of each slot, by segment.
    sequences: Vec<Vec<u64>>,
    copy: Lines,
    /// Last time, as PerfTime100NSec, at which the index had all instances.
    complete_100ns: Option<u64>,
    /// Highest sequence word of any indexed instance so far.
    newest: u64,
}

/// Indexed instance of a counterset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexEntry {
    /// Index in the file's segment table of the segment that has the instance.
    pub segment: usize,
    pub slot: usize,
    pub sequence: u64,
    /// Position of the instance's name and id in [`Index::names`].
    pub name: usize,
    /// Earliest possible start time of the instance, as PerfTime100NSec; `None` if unknown.
    pub began_100ns: Option<u64>,
}

impl IndexEntry {
    /// Returns the value that distinguishes the instance from others of the same name and id.
    pub fn birth(&self, file_id: [u64; 2]) -> Birth {
        birth(self.sequence, file_id)
    }
}

/// Returns a value that distinguishes instances of one name and id. No two instances of a file have the same sequence
/// word, and no two files the same id.
pub(crate) fn birth(sequence: u64, file_id: [u64; 2]) -> Birth {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15; // different numbers stay different, multiplied by an odd one
    let [low, high] = file_id;
    NonZeroU64::new(low ^ high.rotate_left(32) ^ sequence.wrapping_mul(ODD))
}

impl Index {
    /// Returns `true` if the index of instances is complete for this change word and stamp. `now_100ns` is a time
    /// before the change word was read, or `None` if some segments may be unknown.
    pub fn is_current(&mut self, change: u64, stamp: Option<Stamp>, now_100ns: Option<u64>) -> bool {
        let is_current = change == self.change && change & 1 == 0 && stamp == self.stamp;
        if is_current {
            self.complete_100ns = now_100ns.or(self.complete_100ns);
        }
        is_current
    }

    /// Updates the index from the segments of a counterset, each with its table index. `before` is the file's change
    /// word, read before this call together with its stamp; `after` reads it again. `now_100ns` is as in
    /// [`is_current`](Self::is_current). If the file was changed by system calls, everything is read again: previous
    /// data may come from a hole.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn refresh(
        &mut self,
        guid: &Guid,
        segments: impl Iterator<Item = (usize, Part)> + Clone,
        file: BorrowedFd<'_>,
        (before, stamp): (u64, Option<Stamp>),
        after: impl FnOnce() -> u64,
        now_100ns: Option<u64>,
    ) -> io::Result<()> {
        // Orders the load of the change word, by the caller, before the copies below.
        fence(Ordering::Acquire);
        let is_changed = stamp != self.stamp;
        let known = self.before.take().unwrap_or_else(|| self.rows.clone());
        if is_changed {
            self.rows.clear();
            self.sequences.clear();
        }
        self.before = Some(known);
        // If this call ends early, the index counts as incomplete.
        self.doubt();
        let last = segments.clone().last().map_or(0, |(number, _)| number.saturating_add(1));
        let mut found: Vec<Option<(Part, Vec<u64>)>> = vec![None; last];
        for (number, part) in segments {
            let mut words = Vec::new();
            part.sequences(file, &(0..part.shape.slots), &mut words)?;
            if let Some(place) = found.get_mut(number) {
                *place = Some((part, words));
            }
        }
        let sequence = |row: &IndexEntry| found.get(row.segment)?.as_ref()?.1.get(row.slot).copied();
        // Sequence words are unique in a file: another word is another instance, or none.
        self.rows.retain(|row| sequence(row) == Some(row.sequence));
        let old = self.rows.len();
        self.sequences.resize_with(last.max(self.sequences.len()), Vec::new);
        for (number, found) in found.into_iter().enumerate() {
            if let Some((part, words)) = found {
                let mut seen = self.sequences.get_mut(number).map(std::mem::take).unwrap_or_default();
                let looked = self.look(number, part, &words, &mut seen, file, guid);
                if let Some(place) = self.sequences.get_mut(number) {
                    *place = seen;
                }
                looked?;
            }
        }
        // Instances known before the full read keep their start times. For older instances that were hidden, the
        // start time is unknown.
        if let (true, Some(known)) = (is_changed, &self.before) {
            for row in self.rows.iter_mut().filter(|row| row.sequence <= self.newest) {
                let found = known.binary_search_by_key(&row.sequence, |known| known.sequence).ok();
                row.began_100ns = found.and_then(|at| known.get(at)?.began_100ns);
            }
        }
        // Sequence words ascend, so new rows are usually in order already, behind the old ones.
        let tail = self.rows.get(old.saturating_sub(1)..).unwrap_or_default();
        if !tail.is_sorted_by_key(|row| row.sequence) {
            self.rows.sort_unstable_by_key(|row| row.sequence);
        }
        // Orders the copies before the second load of the change word: if both are equal, nothing changed
        // between.
        fence(Ordering::Acquire);
        self.change = if after() == before { before } else { 1 };
        self.stamp = stamp;
        self.newest = self.rows.last().map_or(0, |row| row.sequence).max(self.newest);
        if self.change & 1 == 0 {
            self.complete_100ns = now_100ns.or(self.complete_100ns);
        }
        Ok(())
    }

    /// Marks the index of instances to be read again completely next time, even without a change.
    pub fn doubt(&mut self) {
        self.change = 1;
        self.stamp = None;
    }

    /// Confirms that the file did not change by system calls while its instances were indexed.
    pub fn confirm(&mut self) {
        if self.before.take().is_some() && self.named > self.rows.len().saturating_mul(2).saturating_add(1024)
        {
            self.compact();
        }
    }

    /// Returns the indexed instances as of the last time the file was intact, oldest first.
    pub fn confirmed(&self) -> &[IndexEntry] {
        self.before.as_deref().unwrap_or(&self.rows)
    }

    /// Forgets the names of instances that no longer exist.
    fn compact(&mut self) {
        let mut names = TableRows::new(0);
        for row in &mut self.rows {
            let name = names.position();
            names.row_of(&self.names, row.name);
            row.name = name;
        }
        (self.names, self.named) = (names, self.rows.len());
    }

    /// Adds to the index the instances in slots of a segment whose sequence word is new.
    fn look(
        &mut self,
        number: usize,
        part: Part,
        words: &[u64],
        seen: &mut Vec<u64>,
        file: BorrowedFd<'_>,
        guid: &Guid,
    ) -> io::Result<()> {
        const TRIES: usize = 3;
        /// Maximum number of bytes of sequence words that are copied at once.
        const AT_ONCE: usize = 256 << 10;
        let shape = part.shape;
        seen.resize(shape.slots, 0);
        // Large segments are copied in steps: an owner decides on their size, and this process pays for the
        // memory.
        let at_once = AT_ONCE.checked_div(shape.stride.saturating_mul(WORD)).unwrap_or(0).max(1);
        let (mut slot, mut before, mut after) = (0, Vec::new(), Vec::new());
        while let Some(rest) = words.get(slot..) {
            // Slots that are known or empty are never waited for.
            let is_new = |(word, seen): (&u64, &u64)| is_live(*word) && word != seen;
            let known = seen.get(slot..).unwrap_or_default();
            let Some(next) = rest.iter().zip(known).position(is_new) else { break };
            slot = slot.saturating_add(next);
            let slots = slot..slot.saturating_add(at_once).min(shape.slots);
            slot = slots.end;
            before.clear();
            before.extend_from_slice(words.get(slots.clone()).unwrap_or_default());
            for _ in 0..TRIES {
                let blocks = shape.block(slots.start).start..shape.block(slots.end).start;
                let mut copy = std::mem::take(&mut self.copy);
                // The copy of a block counts only if its sequence word is the same before and after.
                let copied = copy
                    .copy(file, part.byte(blocks.start), blocks.len().saturating_mul(WORD))
                    .and_then(|_| {
                        fence(Ordering::Acquire);
                        part.sequences(file, &slots, &mut after)
                    });
                self.copy = copy;
                copied?;
                let mut again = false;
                for (at, ((slot, before), after)) in slots.clone().zip(&before).zip(&after).enumerate() {
                    let Some(seen) = seen.get_mut(slot) else { break };
                    if !is_live(*before) || *before == *seen {
                        continue;
                    }
                    // Another instance took the slot: it is tried again with that word. A slot that was freed
                    // is left out.
                    if before != after {
                        again |= is_live(*after);
                        continue;
                    }
                    *seen = *before; // also of what is not valid: it will not be looked at again
                    let len = shape.stride.saturating_mul(WORD);
                    let block = self.copy.get(at.saturating_mul(len)..);
                    let block = block.and_then(|block| block.get(..len)).unwrap_or_default();
                    if let Some((id, name)) = self::block(block, guid, shape.counters) {
                        let at = self.names.position();
                        self.names.row(name, InstanceId(id));
                        self.named = self.named.saturating_add(1);
                        let (sequence, began_100ns) = (*before, self.complete_100ns);
                        self.rows.push(IndexEntry { segment: number, slot, sequence, name: at, began_100ns });
                    }
                }
                if !again {
                    break;
                }
                // The words read last are those before the next copy.
                std::mem::swap(&mut before, &mut after);
            }
        }
        self.copy = Lines::default(); // it is large, and as a rule not needed again
        Ok(())
    }

    /// Returns all indexed instances, oldest first.
    pub fn rows(&self) -> &[IndexEntry] {
        &self.rows
    }

    /// Returns `true` if any of the filters selects an indexed instance.
    pub fn is_wanted(&self, row: &IndexEntry, filters: &InstanceFilters) -> bool {
        let found = self.names.instance(row.name);
        found.is_some_and(|(name, id)| filters.wants(name.units(), id))
    }

    /// Returns the names and ids of all indexed instances.
    pub fn names(&self) -> &TableRows {
        &self.names
    }
}

/// Parses the id and name of a copied PERF_COUNTERSET_INSTANCE block, if it belongs to that counterset. The name's
/// offset in the header is ignored: it is meant for the publisher, whose copy may have wider characters.
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
    // The name ends at its NUL; without a NUL it is invalid.
    units.clone().any(|unit| unit == 0).then(|| (id, units.take_while(|unit| *unit != 0)))
}

/// Parses the layout of a segment of instances from a copy of its head.
pub(crate) fn shape(head: &[u8], len: usize) -> Result<SegmentLayout, crate::layout::LayoutError> {
    SegmentLayout::parse(std::array::from_fn(|at| word(head, at)), len)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::memory::store_bytes;

    /// Checks that the index forgets the names of ended instances after some time, and keeps the names of existing
    /// ones.
    #[test]
    fn instances_that_come_and_go() {
        const GUID: Guid = Guid::from_u128(0x0203_0507_1113_1719_2329_3137_4143_4753);
        let shape = SegmentLayout::new(3, 31, 0).filling(4096);
        let words: Vec<_> = (0..512).map(|_| AtomicU64::new(0)).collect();
        let change = AtomicU64::new(2);
        let place = crate::tests::Place::new("index");
        let path = place.path().join("file");
        let file = std::fs::File::options().read(true).write(true).create_new(true).open(path).unwrap();
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
            let mut bytes = Vec::new();
            crate::memory::load_bytes(&words, &mut bytes);
            file.write_all_at(&bytes, 0).unwrap();
        };
        let mut index = Index::default();
        let mut living = vec![0; shape.slots];
        let mut most = 0;
        let stamp = Some([0; 5]);
        for turn in 0..5000 {
            let (slot, sequence) = (turn % (shape.slots - 1), 2 * turn as u64 + 10);
            put(slot, sequence);
            living[slot] = sequence;
            let (change, now) = (change.load(Relaxed), Some(turn as u64));
            assert!(!index.is_current(change, stamp, now));
            let part = std::iter::once((7, Part { offset: 0, shape }));
            index.refresh(&GUID, part, file.as_fd(), (change, stamp), || change, now).unwrap();
            assert!(index.is_current(change, stamp, now));
            index.confirm();
            let mut expected: Vec<_> = living.iter().copied().filter(|sequence| *sequence > 0).collect();
            expected.sort_unstable();
            let named = |row: &IndexEntry| {
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
