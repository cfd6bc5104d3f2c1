//! Writer of V2 blocks that overwrites existing bytes.

use super::raw::InstanceHeader;
use super::{PERF_MAX_INSTANCE_NAME, align8};
use crate::instance::InstanceId;

/// Writer of V2 blocks that overwrites existing bytes. Structure (names, ids, sizes) that is equal is kept, and values
/// always change. From the first structural difference on, the existing bytes are dropped.
///
/// The result therefore does not depend on the existing bytes, and with the same instances nothing moves.
#[derive(Debug, Default)]
pub(super) struct PatchWriter {
    pub(super) bytes: Vec<u8>,
    /// Offset of the end of the bytes that are written.
    pub(super) offset: usize,
    /// `true` if existing bytes were dropped or missing, so that later offsets can differ.
    pub(super) is_moved: bool,
}

impl PatchWriter {
    /// Creates a writer that overwrites `bytes` from the start.
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, offset: 0, is_moved: false }
    }

    /// Creates a writer that appends to `bytes`.
    pub(super) fn behind(bytes: Vec<u8>) -> Self {
        Self { offset: bytes.len(), bytes, is_moved: false }
    }

    /// Drops the existing bytes that follow the bytes written so far.
    pub(super) fn cut(&mut self) {
        self.bytes.truncate(self.offset);
        self.is_moved = true;
    }

    /// Writes structural bytes of a V2 block; if the existing bytes differ, they and everything after them are
    /// dropped.
    #[inline]
    pub(super) fn expect(&mut self, bytes: &[u8]) {
        let end = self.offset.saturating_add(bytes.len());
        if !self.bytes.get(self.offset..end).is_some_and(|there| same(there, bytes)) {
            self.differ(bytes);
        }
        self.offset = end;
    }

    #[cold]
    fn differ(&mut self, bytes: &[u8]) {
        self.cut();
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes value bytes of a V2 block; if they differ from the existing bytes, nothing is dropped or moved.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let start = self.offset;
        self.leave(bytes.len());
        if let Some(there) = self.bytes.get_mut(start..self.offset) {
            there.copy_from_slice(bytes);
        }
    }

    /// Reserves `len` bytes of a V2 block, to be written later.
    #[inline]
    pub(super) fn leave(&mut self, len: usize) {
        let end = self.offset.saturating_add(len);
        if self.bytes.len() < end {
            self.lengthen(end);
        }
        self.offset = end;
    }

    #[cold]
    fn lengthen(&mut self, end: usize) {
        self.cut();
        self.bytes.resize(end, 0);
    }

    /// Writes a reserved 4-byte field of a V2 block; returns `true` if its value changed.
    #[inline]
    pub(super) fn put(&mut self, at: usize, value: u32) -> bool {
        let Some(field) = self.bytes.get_mut(at..at.saturating_add(4)) else { return false };
        let differs = *field != value.to_le_bytes();
        field.copy_from_slice(&value.to_le_bytes());
        differs
    }

    /// Returns the number of bytes since `start`, for a size field. A size that does not fit is detected at the end:
    /// the whole block is larger still.
    #[inline]
    pub(super) fn size_since(&self, start: usize) -> u32 {
        u32::try_from(self.offset.saturating_sub(start)).unwrap_or(u32::MAX)
    }

    /// Writes zeros up to the next multiple of 8 bytes, counted from the offset `start`.
    #[inline]
    pub(super) fn pad(&mut self, start: usize) {
        let len = self.offset.saturating_sub(start);
        self.expect([0; 8].get(..align8(len).saturating_sub(len)).unwrap_or_default());
    }

    /// Writes an instance name, its NUL and zeros up to the next multiple of 8, counted from the offset `start`.
    #[inline]
    pub(super) fn name(&mut self, start: usize, name: impl IntoIterator<Item = u16>) {
        const UNIT: usize = size_of::<u16>();
        const PIECE: usize = 32; // a unit at a time would cost more than all else
        let mut name = name.into_iter();
        loop {
            let mut piece = [0; PIECE + 8]; // with room for NUL and padding
            let mut len = 0_usize;
            for (place, unit) in piece.chunks_exact_mut(UNIT).take(PIECE / UNIT).zip(&mut name) {
                place.copy_from_slice(&unit.to_le_bytes());
                len = len.saturating_add(UNIT);
            }
            // A name that fills its last piece exactly gets one more, with the NUL alone.
            let is_last = len < PIECE;
            if is_last {
                let before = self.offset.saturating_sub(start);
                len = align8(before.saturating_add(len).saturating_add(UNIT)).saturating_sub(before);
            }
            self.expect(piece.get(..len).unwrap_or_default());
            if is_last {
                break;
            }
        }
    }

    /// Writes an instance: a PERF_INSTANCE_HEADER block. The name is truncated at the first NUL and to 1023 units.
    #[inline]
    pub(super) fn instance(&mut self, name: impl IntoIterator<Item = u16>, id: InstanceId) {
        let start = self.offset;
        // The size is written last: it is known after the name, whose iterator is read once.
        self.leave(size_of::<InstanceHeader>().saturating_sub(size_of::<InstanceId>()));
        self.expect(&id.0.to_le_bytes());
        // Readers end the name at its NUL: units after it would be padding that is not zero.
        let name = name.into_iter().take_while(|unit| *unit != 0);
        self.name(start, name.take(PERF_MAX_INSTANCE_NAME.saturating_sub(1)));
        let size = self.size_since(start);
        if self.put(start, size) {
            self.cut(); // what follows does not begin here
        }
    }

    /// Writes a copy of the `len` bytes at the offset `start` of the block.
    pub(super) fn repeat(&mut self, start: usize, len: usize) {
        self.cut();
        let end = start.saturating_add(len).min(self.offset);
        self.bytes.extend_from_within(start.min(end)..end);
        self.offset = self.bytes.len();
    }
}

/// Returns `true` if two slices of bytes are equal. Both are short: the call of a comparison function would cost
/// more.
#[inline]
fn same(these: &[u8], those: &[u8]) -> bool {
    const WORD: usize = 8;
    let (words, others) = (these.chunks_exact(WORD), those.chunks_exact(WORD));
    let (rest, other) = (words.remainder(), others.remainder());
    these.len() == those.len()
        && words.zip(others).all(|(word, other)| word == other)
        && rest.iter().zip(other).all(|(byte, other)| byte == other)
}
