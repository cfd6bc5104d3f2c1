//! What is where in a file: `docs/shm-layout.md`, in numbers.
//!
//! Everything is a word of 8 bytes in the machine's byte order, on a multiple of 8. Places in a file or a segment are
//! counted in words here.

use std::ops::Range;

use thiserror::Error;

/// Bytes of a word.
pub const WORD: usize = 8;
/// The first word: "PERFSET" and the version of the layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"PERFSET\x01");

/// Words of the header of a file, by place.
pub mod header {
    /// [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// Bytes of the header: [`BYTES`].
    pub const LEN: usize = 1;
    /// Bits: [`HAS_SOCKET`].
    pub const FLAGS: usize = 2;
    /// 16 random bytes: the same file in two samples.
    pub const FILE_ID: usize = 3;
    /// The process that writes.
    pub const PID: usize = 5;
    /// Inode of the PID namespace that this pid is of; 0 = unknown.
    pub const PID_NAMESPACE: usize = 6;
    /// When that process started: field 22 of `/proc/PID/stat`; 0 = unknown.
    pub const START_TIME: usize = 7;
    /// The kernel's boot id, 16 bytes: a file of an earlier boot is dead.
    pub const BOOT_ID: usize = 8;
    /// When the file was made: CLOCK_MONOTONIC in ns.
    pub const CREATED: usize = 10;
    /// How many instances exist that found no space here.
    pub const UNPUBLISHED: usize = 11;
    /// Inode of the time namespace that [`START_TIME`] and [`CREATED`] are of; 0 = unknown.
    pub const TIME_NAMESPACE: usize = 12;
    /// Odd while instances or segments change; another number after each change.
    pub const CHANGE: usize = 16;
    /// Bytes of the file that hold something; it only grows.
    pub const COMMITTED: usize = 24;
    /// How many entries of the table are filled; it only grows.
    pub const SEGMENTS: usize = 25;
    /// Bytes of the program's name.
    pub const PROGRAM_LEN: usize = 32;
    /// The program's name, UTF-8.
    pub const PROGRAM: usize = 33;
    /// Bytes that it may have.
    pub const PROGRAM_MAX: usize = 248;
    /// The table of segments: [`ENTRY`](super::entry::WORDS) words each.
    pub const TABLE: usize = 512;
    /// Entries of the table.
    pub const TABLE_MAX: usize = 128;
    /// Bytes of the whole header.
    pub const BYTES: usize = 8192;

    /// A flag: the program listens on a socket beside the file, named like it with `.sock` at the end.
    pub const HAS_SOCKET: u64 = 1;
}

/// Words of an entry of the table of segments, by place.
pub mod entry {
    /// Where the segment begins, in bytes; a multiple of 4096.
    pub const AT: usize = 0;
    /// Its bytes; a multiple of 4096.
    pub const LEN: usize = 1;
    /// What it is: [`DEFINITION`] or [`INSTANCES`].
    pub const KIND: usize = 2;
    /// Of instances: which entry of the table has their counterset.
    pub const COUNTERSET: usize = 3;
    /// Words of an entry.
    pub const WORDS: usize = 4;

    /// The definition of a counterset.
    pub const DEFINITION: u64 = 1;
    /// Instances of a counterset.
    pub const INSTANCES: u64 = 2;
}

/// Segments begin and end on multiples of it.
pub const PAGE: usize = 4096;
/// Blocks begin on multiples of it: instances share no cache line.
pub const LINE: usize = 64;
/// Counters of a counterset.
pub const MAX_COUNTERS: usize = 65_536;
/// Rows of an instance that threads add to.
pub const MAX_STRIPES: usize = 64;
/// Bytes of a block of an instance before its values: PERF_COUNTERSET_INSTANCE.
pub const INSTANCE_HEADER: usize = 32;

/// The places in a segment of instances, all of which follow from five numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Instances that it has room for.
    pub slots: usize,
    /// Counters of each.
    pub counters: usize,
    /// Words from one block to the next.
    pub stride: usize,
    /// Words from one row to the next.
    pub row: usize,
    /// Rows of each instance.
    pub stripes: usize,
}

/// A segment cannot be what its head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{what} is {value}, {why}")]
pub struct BadShape {
    /// The number that is wrong.
    pub what: &'static str,
    /// What it is.
    pub value: u64,
    /// What is wrong with it.
    pub why: &'static str,
}

impl Shape {
    /// Words of a segment's head.
    pub const HEAD: usize = 8;

    /// The shape of segments for instances with so many counters, names of up to so many UTF-16 units, and rows.
    #[must_use]
    pub fn new(counters: usize, name_units: usize, stripes: usize) -> Self {
        let values = WORD.saturating_mul(counters);
        let name = name_units.saturating_add(1).saturating_mul(2);
        let block = INSTANCE_HEADER.saturating_add(values).saturating_add(name);
        let row = if stripes == 0 { 0 } else { values.next_multiple_of(LINE) };
        Self { slots: 0, counters, stride: words(block.next_multiple_of(LINE)), row: words(row), stripes }
    }

    /// With as many slots as so many bytes have room for.
    #[must_use]
    pub fn filling(self, bytes: usize) -> Self {
        let an_instance = self.stride.saturating_add(self.row.saturating_mul(self.stripes)).saturating_add(1);
        // The words before the blocks and the rows are rounded up to a line.
        let room = words(bytes).saturating_sub(Self::HEAD).saturating_sub(2 * (LINE / WORD));
        Self { slots: room.checked_div(an_instance).unwrap_or(0), ..self }
    }

    /// Bytes that a segment of one slot needs at least.
    #[must_use]
    pub fn one(self) -> usize {
        let an_instance = self.stride.saturating_add(self.row.saturating_mul(self.stripes)).saturating_add(1);
        an_instance.saturating_add(Self::HEAD).saturating_add(2 * (LINE / WORD)).saturating_mul(WORD)
    }

    /// From a segment's head, if that is possible in so many bytes.
    ///
    /// # Errors
    /// Which number is wrong, and why.
    pub fn parse(head: [u64; Self::HEAD], bytes: usize) -> Result<Self, BadShape> {
        let [slots, counters, stride, row, stripes, ..] = head;
        let number = |what, value: u64, most: usize| {
            let number = usize::try_from(value).ok().filter(|number| *number <= most);
            number.ok_or(BadShape { what, value, why: "which is too large" })
        };
        let shape = Self {
            slots: number("slots", slots, words(bytes))?,
            counters: number("counters", counters, MAX_COUNTERS)?,
            stride: words(number("stride", stride, bytes)?),
            row: words(number("row", row, bytes)?),
            stripes: number("stripes", stripes, MAX_STRIPES)?,
        };
        let least = Self::new(shape.counters, 0, 0).stride;
        if shape.stride < least || shape.stride % (LINE / WORD) != 0 {
            let why = "which is too small for its counters, or no multiple of 64";
            return Err(BadShape { what: "stride", value: stride, why });
        }
        if shape.stripes > 0 && (shape.row < shape.counters || shape.row % (LINE / WORD) != 0) {
            let why = "which is too small for its counters, or no multiple of 64";
            return Err(BadShape { what: "row", value: row, why });
        }
        if shape.words() > words(bytes) {
            return Err(BadShape { what: "slots", value: slots, why: "for which it has no room" });
        }
        Ok(shape)
    }

    /// The head that says so.
    #[must_use]
    pub fn head(&self) -> [u64; Self::HEAD] {
        let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let bytes = |n: usize| number(n.saturating_mul(WORD));
        [
            number(self.slots),
            number(self.counters),
            bytes(self.stride),
            bytes(self.row),
            number(self.stripes),
            0,
            0,
            0,
        ]
    }

    /// Where the word is that tells whether a slot is taken.
    #[must_use]
    pub fn sequence(&self, slot: usize) -> usize {
        Self::HEAD.saturating_add(slot)
    }

    fn blocks(&self) -> usize {
        self.sequence(self.slots).next_multiple_of(LINE / WORD)
    }

    /// Where the block of a slot is.
    #[must_use]
    pub fn block(&self, slot: usize) -> Range<usize> {
        let at = self.blocks().saturating_add(slot.saturating_mul(self.stride));
        at..at.saturating_add(self.stride)
    }

    /// Where the values in the block of a slot are.
    #[must_use]
    pub fn values(&self, slot: usize) -> Range<usize> {
        let at = self.block(slot).start.saturating_add(words(INSTANCE_HEADER));
        at..at.saturating_add(self.counters)
    }

    /// Where the rows of a slot are: one behind the other.
    #[must_use]
    pub fn rows(&self, slot: usize) -> Range<usize> {
        let of_one = self.row.saturating_mul(self.stripes);
        let start = self.block(self.slots).start.next_multiple_of(LINE / WORD);
        let at = start.saturating_add(slot.saturating_mul(of_one));
        at..at.saturating_add(of_one)
    }

    /// Words from its beginning to behind its last one.
    #[must_use]
    pub fn words(&self) -> usize {
        self.rows(self.slots).start
    }
}

/// So many bytes in words, rounded down.
#[must_use]
pub fn words(bytes: usize) -> usize {
    bytes / WORD
}

/// Whether a sequence word says that its slot is taken: an even number, that no other instance of the file has had.
#[must_use]
pub fn is_live(sequence: u64) -> bool {
    sequence != 0 && sequence & 1 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_are_filled_fit() {
        for counters in [1, 2, 10, 1000] {
            for name in [0, 11, 31, 1023] {
                for stripes in [0, 1, 8, 64] {
                    for bytes in [4096, 65536, 1 << 20] {
                        let shape = Shape::new(counters, name, stripes).filling(bytes);
                        assert!(shape.words() * 8 <= bytes, "{shape:?} in {bytes}");
                        assert!(shape.stride * 8 >= 32 + 8 * counters + 2 * (name + 1));
                        if shape.slots > 0 {
                            assert_eq!(Shape::parse(shape.head(), bytes), Ok(shape));
                            let one_more = Shape { slots: shape.slots + 1, ..shape };
                            let an_instance = 8 * (shape.stride + stripes * shape.row + 1);
                            assert!(
                                one_more.words() * 8 + an_instance + 192 > bytes,
                                "wasteful: {shape:?} in {bytes}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn parts_do_not_overlap() {
        let shape = Shape::new(10, 20, 3).filling(65536);
        assert!(shape.sequence(shape.slots) <= shape.block(0).start);
        assert_eq!(shape.block(0).end, shape.block(1).start);
        assert!(shape.block(shape.slots - 1).end <= shape.rows(0).start);
        assert_eq!(shape.rows(0).end, shape.rows(1).start);
        assert_eq!(shape.rows(shape.slots - 1).end, shape.words());
        assert!(
            (0..shape.slots).all(|slot| shape.block(slot).start % 8 == 0 && shape.rows(slot).start % 8 == 0)
        );
    }

    #[test]
    fn lying_heads() {
        let good = Shape::new(10, 20, 8).filling(65536).head();
        let with = |at: usize, value: u64| {
            let mut head = good;
            head[at] = value;
            Shape::parse(head, 65536).map_err(|error| error.what)
        };
        assert!(with(0, 1).is_ok());
        for (at, value, what) in [
            (0, good[0] + 100, "slots"),
            (0, u64::MAX, "slots"),
            (1, 65_537, "counters"),
            (1, 1000, "stride"),
            (2, 0, "stride"),
            (2, good[2] + 8, "stride"),
            (2, u64::MAX, "stride"),
            (3, 8, "row"),
            (3, good[3] + 8, "row"),
            (4, 65, "stripes"),
            (4, 64, "slots"),
        ] {
            assert_eq!(with(at, value), Err(what), "{at} {value}");
        }
        assert!(Shape::parse([0; 8], 4096).is_err());
    }

    #[test]
    fn sequence_words() {
        assert_eq!([0, 1, 2, 3, 4].map(is_live), [false, false, true, false, true]);
    }
}
