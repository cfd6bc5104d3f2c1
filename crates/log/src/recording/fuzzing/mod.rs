//! Access to single parts of a recording's format, one at a time. For the fuzz targets alone: no other program may
//! use them.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;

use super::block::{ALIGNMENT, BlockHeader, BlockKind, Codec, decompressed, put_stored};
use super::bytes::Malformed;
use super::segment::{SegmentTicks, StoredSegment, parts, repaired_segment};
use super::table::{Content, RecordedTable};
use super::tick::{TickState, TickTable, key, put_key, put_tick};
use crate::damage::Damage;

/// Returns the bytes of a recording's file with correct lengths and checksums in its blocks; each block extends to
/// the next header.
///
/// Changed bytes then reach the readers of payloads. Bytes before the first header stay as they are.
#[must_use]
pub fn repaired(bytes: &[u8]) -> Vec<u8> {
    rebuilt(bytes, false)
}

/// Returns the bytes of a recording's file without compression, so that fuzzing seeds do not depend on the version of
/// zstd.
#[must_use]
pub fn plain(bytes: &[u8]) -> Vec<u8> {
    rebuilt(bytes, true)
}

fn rebuilt(bytes: &[u8], is_plain: bool) -> Vec<u8> {
    let starts: Vec<usize> = memmem::find_iter(bytes, &BlockHeader::MAGIC).collect();
    let first = starts.first().copied().unwrap_or(bytes.len());
    let mut out = bytes.get(..first).unwrap_or_default().to_vec();
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    for (from, until) in starts.iter().zip(ends) {
        let piece = bytes.get(*from..until).unwrap_or_default();
        out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
        if rebuild_block(&mut out, piece, is_plain).is_none() {
            out.extend_from_slice(piece);
        }
    }
    out
}

/// Appends a valid block made from the bytes `piece`; `None` if they lack a whole header, or are too long.
fn rebuild_block(out: &mut Vec<u8>, piece: &[u8], is_plain: bool) -> Option<()> {
    let (header, rest) = piece.split_first_chunk::<{ BlockHeader::LEN }>()?;
    let header = BlockHeader::from_bytes(header)?;
    let len = usize::try_from(header.stored).ok()?;
    // The rest of a block is padding, unless bytes were inserted or cut out.
    let is_right = rest.len().checked_sub(len).is_some_and(|padding| padding < ALIGNMENT);
    let mut stored = if is_right { rest.get(..len)? } else { rest }.to_vec();
    let mut header = header;
    if header.kind == BlockKind::Segment {
        stored = repaired_segment(&stored, is_plain).unwrap_or(stored);
    } else if is_plain {
        stored = decompressed(header.codec, stored, header.raw).ok()?;
        header.codec = Codec::Plain.number();
    }
    if header.codec == Codec::Plain.number() {
        header.raw = u32::try_from(stored.len()).ok()?;
    }
    put_stored(out, header, &stored).ok()
}

/// Contents of all tables of a recording, to which the payloads of ticks are applied.
#[derive(Clone, Debug)]
pub struct AppliedTicks(TickState);

impl AppliedTicks {
    /// Reads the contents of all tables, or only of one, from the payload of a whole tick.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn whole(payload: &[u8], sequence: u64, only: Option<usize>) -> Result<Self, Malformed> {
        key(payload, sequence, &|number| only.is_none_or(|only| only == number)).map(Self)
    }

    /// Applies the payload of the next tick to the contents of the tables.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn apply(&mut self, payload: &[u8], sequence: u64, only: Option<usize>) -> Result<(), Malformed> {
        self.0.apply(payload, sequence, &|number| only.is_none_or(|only| only == number))
    }

    /// Returns the same contents of a tick with one table only.
    #[must_use]
    pub fn only(&self, table: usize) -> Self {
        let mut state = self.0.clone();
        let others = state.tables.iter_mut().enumerate().filter(|(number, _)| *number != table);
        others.for_each(|(_, table)| *table = TickTable::default());
        Self(state)
    }

    /// Returns the contents of all tables as the payload of a whole tick.
    #[must_use]
    pub fn to_whole(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_key(&mut out, &self.0);
        out
    }

    /// Returns the payload of this tick, encoded as the difference from the tick `before`.
    #[must_use]
    pub fn to_difference(&self, before: &Self) -> Vec<u8> {
        let old = |number: usize| {
            let table = before.0.tables.get(number).filter(|table| table.collected.is_some());
            table.map(|table| &table.content)
        };
        let mut out = Vec::new();
        put_tick(&mut out, &self.0, &before.0.clocks, &old, before.0.states.len());
        out
    }

    /// Returns the number of rows and of cells of all tables together.
    #[must_use]
    pub fn rows_and_cells(&self) -> (usize, usize) {
        let tables = self.0.tables.iter().filter_map(|table| match &table.content {
            Content::Rows(rows) => Some((rows.rows.len(), rows.values.len())),
            Content::Failed(_) => None,
        });
        tables.fold((0, 0), |(rows, cells), (more_rows, more_cells)| {
            (rows.saturating_add(more_rows), cells.saturating_add(more_cells))
        })
    }
}

/// Opened segment of a recording, with a cursor over its ticks.
#[derive(Debug)]
pub struct OpenSegment {
    segment: Arc<StoredSegment>,
    ticks: SegmentTicks,
}

impl OpenSegment {
    /// Returns the stored payload of a segment with these streams and this directory. Lengths and checksums are
    /// corrected; `None` if the directory is malformed.
    #[must_use]
    pub fn stored(directory: &[u8], streams: &[u8]) -> Option<Vec<u8>> {
        let len = u32::try_from(directory.len()).ok()?;
        let all = [streams, directory, &[0; 4], &len.to_le_bytes()].concat();
        repaired_segment(&all, false)
    }

    /// Opens a stored segment, and limits the number of readings that are decoded at once.
    ///
    /// # Errors
    /// If its directory is malformed.
    pub fn open(stored: &[u8], readings: usize) -> Result<Self, Malformed> {
        let directory = super::block::directory(stored).unwrap_or_default();
        let len = u32::try_from(stored.len()).unwrap_or(u32::MAX);
        let segment = StoredSegment::open(directory, Arc::new(stored.to_vec()), (0, len))?;
        let ticks = SegmentTicks::new(&segment, &|_| true, &|_, _| true);
        Ok(Self { segment, ticks: ticks.with_readings(readings) })
    }

    /// Returns the number of ticks in the segment.
    #[must_use]
    pub fn len(&self) -> usize {
        self.segment.ticks().len()
    }

    /// Returns `true` if the segment has no ticks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads a tick of the segment, and returns a hash of its contents.
    pub fn tick(&mut self, tick: usize) -> Option<u64> {
        self.ticks.seek(tick).map(hash_of)
    }

    /// Returns the damage of the segment that was found since the last call.
    pub fn take_damages(&mut self) -> Vec<Damage> {
        self.ticks.take_damages()
    }
}

/// Returns a hash of the contents of a tick, in which each cell has its state in place of the state's number.
fn hash_of(state: &TickState) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut clocks = Vec::new();
    for table in &state.tables {
        (table.collected, table.clocks.perf_time, table.clocks.time_100ns).hash(&mut hasher);
        match &table.content {
            Content::Failed(reason) => reason.hash(&mut hasher),
            Content::Rows(rows) => {
                let RecordedTable { columns, rows, values, states, clocks: own } = rows;
                (columns, rows, values).hash(&mut hasher);
                for (place, number) in states {
                    (place, state.states.get(*number)).hash(&mut hasher);
                }
                clocks.extend(own.map(|own| (own.perf_time, own.time_100ns, own.object_time)));
            }
        }
    }
    (state.sequence, state.clocks.perf_time, state.clocks.time_100ns, clocks).hash(&mut hasher);
    hasher.finish()
}

/// Reads a stored sequence of `len` numbers from a segment's stream; bytes after it are an error.
///
/// # Errors
/// If it is malformed.
pub fn numbers(bytes: &[u8], len: usize) -> Result<Vec<u64>, Malformed> {
    parts::numbers(bytes, len)
}

/// Returns a sequence of numbers in the form in which a segment stores it.
#[must_use]
pub fn stored_numbers(numbers: &[u64]) -> Vec<u8> {
    parts::stored_numbers(numbers)
}

/// Reads a segment's column with runs of these lengths, and returns a part of each run: pairs of value and state
/// number plus 1.
///
/// # Errors
/// If it is malformed.
pub fn column(bytes: &[u8], runs: &[usize], part: &Range<usize>) -> Result<Vec<Vec<(u64, u64)>>, Malformed> {
    parts::column(bytes, runs, part)
}

/// Reads a segment's stored table of runs, and returns the table encoded again.
///
/// # Errors
/// If it is malformed.
pub fn runs(bytes: &[u8], columns: usize, readings: u32) -> Result<Vec<u8>, Malformed> {
    parts::runs_again(bytes, columns, readings, usize::MAX)
}

#[cfg(test)]
mod tests;
