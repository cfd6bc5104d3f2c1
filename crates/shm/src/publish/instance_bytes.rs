//! Bytes of an instance's block: its header, and its name in one or two encodings.

use std::sync::atomic::AtomicU64;

use perfset_core::Guid;

use crate::layout::{INSTANCE_HEADER, WORD, words};
use crate::memory::store_bytes;

/// Name and id of an instance to be published.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameParts<'a> {
    /// Name of the instance as readers see it, in UTF-16.
    pub name: &'a [u16],
    /// Name of the instance as the program reads it in its block, NUL included, if the program does not use UTF-16.
    pub own: Option<&'a [u8]>,
    pub id: u32,
}

impl NameParts<'_> {
    /// Returns the offset of the program's own copy of the instance name, in bytes from the start of the name.
    fn own_at(&self) -> usize {
        self.name.len().saturating_add(1).saturating_mul(2).next_multiple_of(4)
    }

    /// Returns the number of UTF-16 units, without a NUL, that an instance name of the same size would have.
    pub fn units(&self) -> usize {
        match self.own {
            None => self.name.len(),
            Some(own) => (self.own_at().saturating_add(own.len()) / 2).saturating_sub(1),
        }
    }
}

/// Writes a PERF_COUNTERSET_INSTANCE block, without its values.
///
/// The name in UTF-16 follows the values, independent of the header. The header belongs to the program, and refers to
/// the name that the program reads.
pub(super) fn write_block(block: &[AtomicU64], guid: &Guid, counters: usize, called: NameParts<'_>) {
    let name_at = INSTANCE_HEADER.saturating_add(counters.saturating_mul(WORD));
    let name_len = called.name.len().saturating_add(1).saturating_mul(2);
    let own = called.own.unwrap_or_default();
    let (own_at, own_len) = match called.own {
        None => (name_at, name_len),
        Some(own) => (name_at.saturating_add(called.own_at()), own.len()),
    };
    let size = own_at.saturating_add(own_len).next_multiple_of(WORD);
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    let fields = [number(size), called.id.to_le_bytes(), number(own_at), number(own_len)];
    store_bytes(block, guid.to_wire().into_iter().chain(fields.into_iter().flatten()));
    let name_words = block.get(words(name_at)..).unwrap_or_default();
    let zeros = |len: usize| std::iter::repeat_n(0, len);
    let gap = called.own_at().saturating_sub(called.name.len().saturating_mul(2));
    let name = called.name.iter().flat_map(|unit| unit.to_le_bytes()).chain(zeros(gap));
    // Zeros to the end of the block: the slot may have had a longer name.
    let padding = zeros(name_words.len().saturating_mul(WORD));
    store_bytes(name_words, name.chain(own.iter().copied()).chain(padding));
}
