//! Walk over the blocks of a recording's file, past damage.

use std::io;

use super::block::{ALIGNMENT, BlockHeader, BlockKind, ReadAt, SEGMENT_TAIL, decompressed};
use super::bytes::Malformed;
use crate::damage::Damages;

/// Block of a recording's file whose checksum is right.
#[derive(Clone, Debug)]
pub struct Block {
    /// Offset of the block in its file.
    pub offset: u64,
    /// Header of the block that the walk found.
    pub header: BlockHeader,
    /// Stored payload of the block; for a segment, only the directory.
    stored: Vec<u8>,
}

impl Block {
    /// Returns the payload of the block as it is stored.
    pub(super) fn stored(&self) -> &[u8] {
        &self.stored
    }

    /// Returns the decompressed payload of the block; for a segment, the directory.
    pub(super) fn into_payload(self) -> Result<Vec<u8>, Malformed> {
        match self.header.kind {
            BlockKind::Segment => Ok(self.stored),
            _ => decompressed(self.header.codec, self.stored, self.header.raw),
        }
    }

    /// Returns the offset in the file of the first byte after the block's header.
    pub(super) fn stored_offset(&self) -> u64 {
        self.offset.saturating_add(HEADER)
    }

    /// Returns the offset in the file at which the next block begins.
    pub(super) fn end(&self) -> u64 {
        end_of(self.offset, &self.header)
    }
}

const HEADER: u64 = 28;
const STEP: u64 = 8;
const _: () = assert!(BlockHeader::LEN == 28 && ALIGNMENT == 8);

fn end_of(offset: u64, header: &BlockHeader) -> u64 {
    let end = offset.saturating_add(HEADER).saturating_add(header.stored.into());
    end.checked_next_multiple_of(STEP).unwrap_or(u64::MAX)
}

/// Walk over the blocks of a recording's file. Damaged blocks are left out and recorded; after them, the walk
/// continues at the next block whose checksum is right.
///
/// A block that the end of the file cuts off is no damage: a recorder may be writing it, or was ended while it wrote.
/// The walk stops before it, and continues there when it is called again.
pub struct BlockWalker<R> {
    from: R,
    offset: u64,
    damages: Damages,
    /// Number of bytes with wrong checksums that may still be read: a hostile file can have a false header at every 8
    /// bytes.
    patience: u64,
    /// Length of the walked file when it was read last. It can grow.
    length: u64,
    window: ReadWindow,
}

/// Bytes of a recording's file that are read at once, because a file has many small blocks.
#[derive(Debug, Default)]
pub(super) struct ReadWindow {
    bytes: Vec<u8>,
    offset: u64,
    /// Number of bytes that the window reads at once; 0 to read only the requested bytes.
    len: usize,
}

impl ReadWindow {
    /// Number of bytes that a read window has after the requested ones, if the requested bytes are far from the
    /// previous window.
    const AFTER: u64 = 256;

    /// Creates a read window of `len` bytes.
    pub fn new(len: usize) -> Self {
        Self { len, ..Self::default() }
    }

    /// Returns the number of bytes that the window reads at once.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Empties the read window, for another file.
    fn cleared(mut self) -> Self {
        self.bytes.clear();
        self
    }

    /// Reads bytes of a file through the window at an offset until `into` is full or the file ends. Returns the
    /// number of bytes read.
    fn read(&mut self, from: &impl ReadAt, into: &mut [u8], offset: u64) -> io::Result<usize> {
        if into.len() >= self.len {
            return from.read_at_most(into, offset);
        }
        if !self.copy(into, offset) {
            let window_end = self.offset.saturating_add(u64::try_from(self.bytes.len()).unwrap_or(u64::MAX));
            let len = u64::try_from(self.len).unwrap_or(u64::MAX);
            let end = offset.saturating_add(u64::try_from(into.len()).unwrap_or(u64::MAX));
            // Far from what was read before is the end of a segment, whose directory is before it.
            let is_near = offset < window_end.saturating_add(len);
            self.offset = if is_near { offset } else { end.saturating_add(Self::AFTER).saturating_sub(len) };
            self.bytes.resize(self.len, 0);
            let read = from.read_at_most(&mut self.bytes, self.offset);
            self.bytes.truncate(read.as_ref().copied().unwrap_or(0));
            read?;
            if !self.copy(into, offset) {
                return from.read_at_most(into, offset);
            }
        }
        Ok(into.len())
    }

    fn copy(&self, into: &mut [u8], offset: u64) -> bool {
        let start = offset.checked_sub(self.offset).and_then(|start| usize::try_from(start).ok());
        let bytes = start.and_then(|start| self.bytes.get(start..)?.get(..into.len()));
        bytes.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }
}

impl<R> std::fmt::Debug for BlockWalker<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockWalker").field("offset", &self.offset).finish_non_exhaustive()
    }
}

/// Result of an attempt to read a block at an offset of the walked file.
enum Attempt {
    Block(Block),
    /// No block: no header, or a wrong checksum.
    Wrong,
    /// Incomplete block, which the end of the file cuts off.
    Cut,
    /// No block: the file ends at the offset.
    End,
}

impl<R: ReadAt> BlockWalker<R> {
    /// Begins a walk at the first block of a recording's file.
    ///
    /// # Errors
    /// If the length of the file cannot be found.
    pub fn new(from: R) -> io::Result<Self> {
        Self::with_window(from, ReadWindow::default())
    }

    /// Begins a walk over the blocks of a file that reads many bytes at once.
    pub(super) fn with_window(from: R, window: ReadWindow) -> io::Result<Self> {
        let length = from.length()?;
        let patience = length.saturating_mul(4).saturating_add(1 << 20);
        Ok(Self { from, offset: 0, damages: Damages::default(), patience, length, window: window.cleared() })
    }

    /// Ends the walk over a file's blocks. Returns the damage that was found, the number of bytes after the last
    /// whole block, and the window.
    pub(super) fn into_parts(self) -> (Damages, u64, ReadWindow) {
        (self.damages, self.length.saturating_sub(self.offset), self.window)
    }

    /// Returns the damage that the walk has found so far.
    pub fn damages(&self) -> &Damages {
        &self.damages
    }

    /// Records damage of a block of the walked file.
    pub(super) fn damaged(&mut self, offset: u64, what: impl Into<String>) {
        self.damages.add(offset, what);
    }

    /// Returns the offset in the file at which the walk continues.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Continues the walk at the block with this offset.
    pub(super) fn seek(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// Returns the number of bytes of the file after its last whole block.
    ///
    /// # Errors
    /// If the length of the file cannot be found.
    pub fn torn(&self) -> io::Result<u64> {
        Ok(self.from.length()?.saturating_sub(self.offset))
    }

    /// Returns the next block of the file; `None` at its end.
    ///
    /// # Errors
    /// If reading the bytes fails.
    pub fn next_block(&mut self) -> io::Result<Option<Block>> {
        let mut attempt = self.attempt(self.offset, self.length)?;
        if !matches!(attempt, Attempt::Block(_)) {
            let before = std::mem::replace(&mut self.length, self.from.length()?);
            if self.length != before {
                attempt = self.attempt(self.offset, self.length)?;
            }
        }
        let end = self.length;
        let is_cut = match attempt {
            Attempt::Block(block) => {
                self.offset = block.end();
                return Ok(Some(block));
            }
            Attempt::End => return Ok(None),
            Attempt::Cut => true,
            Attempt::Wrong => false,
        };
        let damaged = self.offset;
        let Some(block) = self.search(damaged.saturating_add(STEP), end)? else {
            if !is_cut {
                let left_out = end.saturating_sub(damaged);
                self.damages
                    .add(damaged, format!("the last {left_out} bytes are left out: they are no block"));
                self.offset = end;
            }
            return Ok(None);
        };
        let left_out = block.offset.saturating_sub(damaged);
        self.damages.add(
            damaged,
            format!("{left_out} bytes are left out: they are no block, or its checksum is wrong"),
        );
        self.offset = block.end();
        Ok(Some(block))
    }

    /// Finds the first valid block of the file at or after an offset.
    fn search(&mut self, mut offset: u64, end: u64) -> io::Result<Option<Block>> {
        /// Maximum number of bytes that are searched for a block after damage: twice the longest block. A sparse file
        /// can have any length.
        const LONGEST: u64 = 128 << 20;
        let end = end.min(offset.saturating_add(LONGEST));
        let mut chunk = vec![0; 1 << 16];
        while offset < end {
            let len = self.from.read_at_most(&mut chunk, offset)?;
            let words = chunk.get(..len).unwrap_or_default().chunks_exact(ALIGNMENT);
            for (at, _) in (0_u64..).zip(words).filter(|(_, word)| word.starts_with(&BlockHeader::MAGIC)) {
                let at = offset.saturating_add(at.saturating_mul(STEP));
                if let Attempt::Block(block) = self.attempt(at, end)? {
                    return Ok(Some(block));
                }
                if self.patience == 0 {
                    self.damages.add(at, "the rest is left out: it has too many wrong checksums");
                    self.offset = end;
                    return Ok(None);
                }
            }
            let whole = u64::try_from(len).unwrap_or(0) / STEP;
            if whole == 0 {
                break;
            }
            offset = offset.saturating_add(whole.saturating_mul(STEP));
        }
        Ok(None)
    }

    fn attempt(&mut self, offset: u64, end: u64) -> io::Result<Attempt> {
        let left = end.saturating_sub(offset);
        if left == 0 {
            return Ok(Attempt::End);
        }
        let mut bytes = [0; BlockHeader::LEN];
        if self.window.read(&self.from, &mut bytes, offset)? < bytes.len() {
            return Ok(Attempt::Cut);
        }
        let Some(header) = BlockHeader::from_bytes(&bytes) else { return Ok(Attempt::Wrong) };
        if header.stored > BlockHeader::MOST_STORED || header.raw > BlockHeader::MOST_RAW {
            return Ok(Attempt::Wrong);
        }
        // Only a length that the file really has is allocated.
        if HEADER.saturating_add(header.stored.into()) > left {
            return Ok(Attempt::Cut);
        }
        let stored_at = offset.saturating_add(HEADER);
        let Some(stored) = self.checked_part(&header, stored_at)? else { return Ok(Attempt::Cut) };
        self.patience = self.patience.saturating_sub(u64::try_from(stored.len()).unwrap_or(u64::MAX));
        match header.checksum(&stored) == header.crc {
            true => {
                self.patience = self.patience.saturating_add(u64::try_from(stored.len()).unwrap_or(0));
                Ok(Attempt::Block(Block { offset, header, stored }))
            }
            false => Ok(Attempt::Wrong),
        }
    }

    /// Reads the stored payload of a block; for a segment, only the directory with its tail. `None` if the file ends
    /// before.
    fn checked_part(&mut self, header: &BlockHeader, at: u64) -> io::Result<Option<Vec<u8>>> {
        let (mut from, mut len) = (at, usize::try_from(header.stored).unwrap_or(usize::MAX));
        if header.kind == BlockKind::Segment {
            let mut tail = vec![0; SEGMENT_TAIL.min(len)];
            let end = at.saturating_add(header.stored.into());
            let tail_at = end.saturating_sub(u64::try_from(tail.len()).unwrap_or(0));
            if self.window.read(&self.from, &mut tail, tail_at)? < tail.len() {
                return Ok(None);
            }
            let [.., l0, l1, l2, l3] = *tail else { return Ok(Some(tail)) };
            let directory = usize::try_from(u32::from_le_bytes([l0, l1, l2, l3])).unwrap_or(usize::MAX);
            let wanted = directory.saturating_add(SEGMENT_TAIL);
            if wanted > len {
                return Ok(Some(tail));
            }
            let skipped = len.saturating_sub(wanted);
            (from, len) = (at.saturating_add(u64::try_from(skipped).unwrap_or(0)), wanted);
        }
        let mut stored = vec![0; len];
        Ok((self.window.read(&self.from, &mut stored, from)? == len).then_some(stored))
    }
}
