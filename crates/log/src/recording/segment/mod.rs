//! Segments: some hundred ticks of all tables, stored by column.
//!
//! A stored segment is a sequence of streams, each compressed by itself, then a directory of them, then the offset and
//! the length of that directory. `docs/recording-segments.md` describes every byte.

mod align;
mod changes;
mod column;
mod cursor;
mod directory;
mod instance;
mod numbers;
pub(super) mod parts;
mod read;
mod rows;
mod seen;
mod stream;
mod write;

pub(super) use cursor::SegmentTicks;
pub(super) use directory::{DirectoryHead, TickSpan};
pub(super) use instance::{FoundRow, InstanceColumns, InstanceTick, WantedInstance};
pub(super) use parts::repaired_segment;
pub(super) use read::{Decompressor, StoredSegment};
pub(super) use write::SegmentWriter;

/// Maximum number of ticks in a segment of a recording.
pub(super) const MOST_TICKS: usize = 3_600;

#[cfg(test)]
pub(super) mod tests;
