//! Constants of the layout of publishers' files, as documented in `docs/shm-layout.md`.
//!
//! All data are words of 8 bytes in the machine's byte order, aligned to 8. Offsets in a file or a segment are
//! counted in words here.

use std::ops::Range;

use thiserror::Error;

/// Size in bytes of a word of a publisher's file.
pub const WORD: usize = 8;
/// First word of a publisher's file: "PERFSET" and the version of the layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"PERFSET\x01");

/// Word offsets in the header of a publisher's file.
pub mod header {
    /// Offset of [`MAGIC`](super::MAGIC), which identifies the layout.
    pub const MAGIC: usize = 0;
    /// Offset of the size of the header in bytes: [`BYTES`].
    pub const LEN: usize = 1;
    /// Offset of the flag bits of the file: [`HAS_SOCKET`].
    pub const FLAGS: usize = 2;
    /// Offset of the file ID: 16 random bytes, by which two samples recognise the same file.
    pub const FILE_ID: usize = 3;
    /// Offset of the process ID of the publisher.
    pub const PID: usize = 5;
    /// Offset of the inode of the PID namespace of [`PID`]; 0 = unknown.
    pub const PID_NAMESPACE: usize = 6;
    /// Offset of the start time of the publisher: field 22 of `/proc/PID/stat`; 0 = unknown.
    pub const START_TIME: usize = 7;
    /// Offset of the boot ID of the kernel, 16 bytes: a file of an earlier boot is dead.
    pub const BOOT_ID: usize = 8;
    /// Offset of the creation time of the file: CLOCK_MONOTONIC in ns.
    pub const CREATED: usize = 10;
    /// Offset of the number of existing instances that found no space in the file.
    pub const UNPUBLISHED: usize = 11;
    /// Offset of the inode number of the time namespace in which [`START_TIME`] and [`CREATED`] were read. The number 0
    /// stands for an unknown namespace.
    pub const TIME_NAMESPACE: usize = 12;
    /// Offset of the change counter: odd while instances or segments change; different after each change.
    pub const CHANGE: usize = 16;
    /// Offset of the number of bytes of the file in use, which only grows.
    pub const COMMITTED: usize = 24;
    /// Offset of the number of filled entries of the segment table, which only grows.
    pub const SEGMENTS: usize = 25;
    /// Offset of the length of the publishing program's name in bytes.
    pub const PROGRAM_LEN: usize = 32;
    /// Offset of the name of the publishing program, UTF-8.
    pub const PROGRAM: usize = 33;
    /// Maximum length of the publishing program's name in bytes.
    // 31 words: the name ends with word 64, 512 bytes from the start.
    pub const PROGRAM_MAX: usize = 248;
    /// Offset of the segment table, with [`ENTRY`](super::entry::WORDS) words per entry.
    pub const TABLE: usize = 512;
    /// Maximum number of entries of the segment table.
    // 128 entries of 32 bytes fill the second page of the header.
    pub const TABLE_MAX: usize = 128;
    /// Size in bytes of the whole header of a publisher's file.
    pub const BYTES: usize = 8192;

    /// Flag in the file header: the program listens on a socket beside the file, with the same name except for the
    /// extension `.sock`.
    pub const HAS_SOCKET: u64 = 1;
}

/// Word offsets in an entry of the segment table.
pub mod entry {
    /// Offset of the word with the segment's position in the file, in bytes; a multiple of 4096.
    pub const AT: usize = 0;
    /// Offset of the word with the segment's length in bytes; a multiple of 4096.
    pub const LEN: usize = 1;
    /// Offset of the word with the kind of the segment: [`DEFINITION`] or [`INSTANCES`].
    pub const KIND: usize = 2;
    /// Offset of the word with the index of the table entry that defines the counterset, for a segment of instances.
    pub const COUNTERSET: usize = 3;
    /// Number of words of an entry of the segment table.
    pub const WORDS: usize = 4;

    /// Segment kind: definition of a counterset.
    pub const DEFINITION: u64 = 1;
    /// Segment kind: instances of a counterset.
    pub const INSTANCES: u64 = 2;
}

/// Alignment in bytes of the start and end of segments in a publisher's file.
pub const PAGE: usize = 4096;
/// Alignment in bytes of instance blocks: instances share no cache line.
pub const LINE: usize = 64;
/// Maximum number of counters of a published counterset.
pub const MAX_COUNTERS: usize = 65_536;
/// Maximum number of stripes of a published instance, to which threads add.
pub const MAX_STRIPES: usize = 64;
/// Size of an instance block before its values (PERF_COUNTERSET_INSTANCE), in bytes.
pub const INSTANCE_HEADER: usize = 32;

/// Layout of an instances segment: all offsets follow from these five numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentLayout {
    /// Number of slots in the segment: instances that it has room for.
    pub slots: usize,
    /// Number of counters of each instance in the segment.
    pub counters: usize,
    /// Number of words from one instance block of the segment to the next.
    pub stride: usize,
    /// Number of words from one stripe of an instance to the next.
    pub row: usize,
    /// Number of stripes of each instance in the segment.
    pub stripes: usize,
}

/// Error for the head of a segment that contains an impossible number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{what} is {value}, {why}")]
pub struct LayoutError {
    /// Name of the invalid number in the head of a publisher's segment.
    pub what: &'static str,
    /// Value of the wrong number, as found in the segment's head.
    pub value: u64,
    /// Reason why the value of the number is wrong.
    pub why: &'static str,
}

impl SegmentLayout {
    /// Number of words of the head of a segment of instances.
    pub const HEAD: usize = 8;

    /// Creates the layout of a segment for instances with `counters` counters, names of up to `name_units` UTF-16
    /// units, and this number of stripes. It has no slots yet.
    #[must_use]
    pub fn new(counters: usize, name_units: usize, stripes: usize) -> Self {
        let values = WORD.saturating_mul(counters);
        let name = name_units.saturating_add(1).saturating_mul(2);
        let block = INSTANCE_HEADER.saturating_add(values).saturating_add(name);
        let row = if stripes == 0 { 0 } else { values.next_multiple_of(LINE) };
        Self { slots: 0, counters, stride: words(block.next_multiple_of(LINE)), row: words(row), stripes }
    }

    /// Sets the number of the segment's slots to the number that fits into `bytes`.
    #[must_use]
    pub fn filling(self, bytes: usize) -> Self {
        let an_instance = self.stride.saturating_add(self.row.saturating_mul(self.stripes)).saturating_add(1);
        // The words before the blocks and before the rows are rounded up to a cache line.
        let room = words(bytes).saturating_sub(Self::HEAD).saturating_sub(2 * (LINE / WORD));
        Self { slots: room.checked_div(an_instance).unwrap_or(0), ..self }
    }

    /// Returns the minimum number of bytes of a segment of this layout with one slot.
    #[must_use]
    pub fn one(self) -> usize {
        let an_instance = self.stride.saturating_add(self.row.saturating_mul(self.stripes)).saturating_add(1);
        an_instance.saturating_add(Self::HEAD).saturating_add(2 * (LINE / WORD)).saturating_mul(WORD)
    }

    /// Parses the head of a segment of `bytes` bytes.
    ///
    /// # Errors
    /// If a number is impossible for that size; the error names the number and the reason.
    pub fn parse(head: [u64; Self::HEAD], bytes: usize) -> Result<Self, LayoutError> {
        let [slots, counters, stride, row, stripes, ..] = head;
        let number = |what, value: u64, most: usize| {
            let number = usize::try_from(value).ok().filter(|number| *number <= most);
            number.ok_or(LayoutError { what, value, why: "which is too large" })
        };
        // Each number is limited before the sizes are computed: with the numbers of a hostile writer these
        // would overflow.
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
            return Err(LayoutError { what: "stride", value: stride, why });
        }
        if shape.stripes > 0 && (shape.row < shape.counters || shape.row % (LINE / WORD) != 0) {
            let why = "which is too small for its counters, or no multiple of 64";
            return Err(LayoutError { what: "row", value: row, why });
        }
        if shape.words() > words(bytes) {
            return Err(LayoutError { what: "slots", value: slots, why: "for which it has no room" });
        }
        Ok(shape)
    }

    /// Encodes the segment layout as the head of a segment.
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

    /// Returns the word offset of a slot's sequence word, which shows whether the slot is used.
    #[must_use]
    pub fn sequence(&self, slot: usize) -> usize {
        Self::HEAD.saturating_add(slot)
    }

    fn blocks(&self) -> usize {
        self.sequence(self.slots).next_multiple_of(LINE / WORD)
    }

    /// Returns the word range of the instance block in a slot.
    #[must_use]
    pub fn block(&self, slot: usize) -> Range<usize> {
        let at = self.blocks().saturating_add(slot.saturating_mul(self.stride));
        at..at.saturating_add(self.stride)
    }

    /// Returns the word range of the values in the instance block of a slot.
    #[must_use]
    pub fn values(&self, slot: usize) -> Range<usize> {
        let at = self.block(slot).start.saturating_add(words(INSTANCE_HEADER));
        at..at.saturating_add(self.counters)
    }

    /// Returns the word range of the stripes of a slot, which follow each other.
    #[must_use]
    pub fn rows(&self, slot: usize) -> Range<usize> {
        let of_one = self.row.saturating_mul(self.stripes);
        let start = self.block(self.slots).start.next_multiple_of(LINE / WORD);
        let at = start.saturating_add(slot.saturating_mul(of_one));
        at..at.saturating_add(of_one)
    }

    /// Returns the number of words of a segment of this layout, up to the end of the last stripe.
    #[must_use]
    pub fn words(&self) -> usize {
        self.rows(self.slots).start
    }
}

/// Converts a number of bytes to a number of words, rounded down.
#[must_use]
pub fn words(bytes: usize) -> usize {
    bytes / WORD
}

/// Returns `true` if a sequence word marks its slot as used: a nonzero even number, unique among all instances of the
/// file.
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
                        let shape = SegmentLayout::new(counters, name, stripes).filling(bytes);
                        assert!(shape.words() * 8 <= bytes, "{shape:?} in {bytes}");
                        assert!(shape.stride * 8 >= 32 + 8 * counters + 2 * (name + 1));
                        if shape.slots > 0 {
                            assert_eq!(SegmentLayout::parse(shape.head(), bytes), Ok(shape));
                            let one_more = SegmentLayout { slots: shape.slots + 1, ..shape };
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
        let shape = SegmentLayout::new(10, 20, 3).filling(65536);
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
        let good = SegmentLayout::new(10, 20, 8).filling(65536).head();
        let with = |at: usize, value: u64| {
            let mut head = good;
            head[at] = value;
            SegmentLayout::parse(head, 65536).map_err(|error| error.what)
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
        assert!(SegmentLayout::parse([0; 8], 4096).is_err());
    }

    #[test]
    fn sequence_words() {
        assert_eq!([0, 1, 2, 3, 4].map(is_live), [false, false, true, false, true]);
    }
}
