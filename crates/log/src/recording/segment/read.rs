//! Reader of segments: reads the directory first, then only the requested streams.

use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use perfset_core::clock::ClockReading;
use perfset_core::sample::Clocks;

#[cfg(feature = "zstd")]
use super::super::block::WINDOW_LOG;
use super::super::block::{BlockHeader, Codec, ReadAt};
use super::super::bytes::{Malformed, PayloadCursor};
use super::super::state::state;
use super::super::table::{StateList, index, position};
use super::column::own_clocks;
use super::directory::{Directory, DirectoryHead, Failure, Held, StreamInfo, TableEntry};
pub use super::rows::Run;
use super::rows::{Placement, runs};
use crate::damage::Damage;

/// Segment of a recording's file, whose directory is read on request.
pub struct StoredSegment {
    source: Arc<dyn ReadAt>,
    /// Offset in the file of the segment's first stream.
    offset: u64,
    /// Length in bytes of the segment's streams and directory.
    stored: u32,
    /// Length and checksum of the segment's directory with its tail.
    checked: (usize, u32),
    directory: OnceLock<Result<Directory, Damage>>,
    states: OnceLock<Result<StateList, Damage>>,
}

impl std::fmt::Debug for StoredSegment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredSegment").field("offset", &self.offset).finish_non_exhaustive()
    }
}

impl StoredSegment {
    /// Opens a segment from its directory with the tail; `stored_offset` is the file offset of the first byte after the
    /// block header.
    pub fn open(
        directory: &[u8],
        source: Arc<dyn ReadAt>,
        (stored_offset, stored): (u64, u32),
    ) -> Result<Arc<Self>, Malformed> {
        let segment = Self::new(directory, source, (stored_offset, stored));
        let parsed = segment.parsed(directory)?;
        drop(segment.directory.set(Ok(parsed))); // it is new
        Ok(Arc::new(segment))
    }

    /// Opens a segment as [`StoredSegment::open`] does, without the entries of its streams. Returns its head, too.
    pub(in super::super) fn open_head(
        directory: &[u8],
        source: Arc<dyn ReadAt>,
        place: (u64, u32),
    ) -> Result<(Arc<Self>, DirectoryHead), Malformed> {
        let head = DirectoryHead::parse(directory)?;
        Ok((Arc::new(Self::new(directory, source, place)), head))
    }

    fn new(directory: &[u8], source: Arc<dyn ReadAt>, (offset, stored): (u64, u32)) -> Self {
        let checked = (directory.len(), crc32fast::hash(directory));
        let (directory, states) = (OnceLock::new(), OnceLock::new());
        Self { source, offset, stored, checked, directory, states }
    }

    fn parsed(&self, directory: &[u8]) -> Result<Directory, Malformed> {
        let parsed = Directory::parse(directory)?;
        // Streams and directory are the whole block: no stream is that of another segment.
        let streams = parsed.states.offset.saturating_add(parsed.states.stored);
        let of_block =
            usize::try_from(self.stored).ok().and_then(|stored| stored.checked_sub(directory.len()));
        if of_block != Some(index(streams)) {
            let what = format!("streams of {streams} bytes, which the block does not have");
            return Err(Malformed { offset: 0, what });
        }
        Ok(parsed)
    }

    /// Returns the directory of the segment, after reading it from the file if necessary.
    pub(in super::super) fn directory(&self) -> Result<&Directory, Damage> {
        let read = || {
            let bytes = self.directory_bytes()?;
            self.parsed(&bytes).map_err(|error| self.directory_failed(&error))
        };
        self.directory.get_or_init(read).as_ref().map_err(Damage::clone)
    }

    /// Returns the times of all ticks of the segment, in 100 ns since 1601 UTC. The directory does not stay in memory
    /// for them.
    pub(in super::super) fn times(&self) -> Vec<i64> {
        let ticks = match self.directory.get() {
            Some(_) => self.ticks().to_vec(),
            None => {
                let bytes = self.directory_bytes();
                bytes.ok().and_then(|bytes| DirectoryHead::ticks(&bytes).ok()).unwrap_or_default()
            }
        };
        ticks.iter().map(|(_, clocks)| clocks.utc_100ns()).collect()
    }

    /// Reads the bytes of the segment's directory with its tail. The file may have been changed or removed since it
    /// was opened.
    fn directory_bytes(&self) -> Result<Vec<u8>, Damage> {
        let (len, crc) = self.checked;
        let mut bytes = vec![0; len];
        let read = self.source.read_at_most(&mut bytes, self.directory_offset());
        match read.map_err(|error| self.directory_failed(&error))? {
            read if read == len && crc32fast::hash(&bytes) == crc => Ok(bytes),
            _ => Err(self.directory_failed(&"it has changed since")),
        }
    }

    fn directory_offset(&self) -> u64 {
        let skipped = index(self.stored).saturating_sub(self.checked.0);
        self.offset.saturating_add(u64::try_from(skipped).unwrap_or(u64::MAX))
    }

    fn directory_failed(&self, error: &dyn Display) -> Damage {
        Damage { offset: self.directory_offset(), what: format!("directory of a segment: {error}") }
    }

    /// Returns the damage of the segment's directory, if damage was found.
    pub(in super::super) fn directory_damage(&self) -> Option<&Damage> {
        self.directory.get()?.as_ref().err()
    }

    /// Returns the offset in the file at which the segment's streams begin.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the length in bytes of the segment's streams and directory.
    pub fn len(&self) -> usize {
        index(self.stored)
    }

    /// Returns the decompressed length in bytes of the rows, the clocks and these columns of a table in the segment.
    pub fn raw_len(&self, table: usize, columns: &[usize]) -> usize {
        let entries = self.directory().map_or(&[][..], |directory| &*directory.tables);
        let entry = entries.iter().find(|entry| entry.number == table);
        entry.map_or(0, |entry| entry.raw_len(columns))
    }

    /// Returns the damage for a segment that is not read because no work steps are left.
    pub(in super::super) fn too_long(&self) -> Damage {
        let what = "it and those before have too much to be read in time".to_owned();
        Damage { offset: self.offset, what }
    }

    /// Returns the sequence numbers and clocks of the segment's ticks.
    pub fn ticks(&self) -> &[(u64, ClockReading)] {
        self.directory().map_or(&[], |directory| &directory.ticks)
    }

    /// Returns the number of each table of the segment, ascending, with the count of its columns.
    pub fn tables(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let tables = self.directory().map_or(&[][..], |directory| &directory.tables);
        tables.iter().map(|table| (table.number, table.columns.len()))
    }

    /// Returns the stored bytes of the segment; `None` if any of them are damaged.
    pub fn whole(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; index(self.stored)];
        let read = self.source.read_at_most(&mut bytes, self.offset).ok()?;
        let directory = self.directory().ok()?;
        let Directory { states, tables, .. } = directory;
        let of_table = |table: &TableEntry| -> Vec<StreamInfo> {
            table.columns.iter().chain([&table.runs]).chain(&table.clocks).cloned().collect()
        };
        let mut streams = tables.iter().flat_map(of_table).chain([*states]);
        let is_right = |info: StreamInfo| {
            let end = index(info.offset).saturating_add(index(info.stored));
            let stored = bytes.get(index(info.offset)..end);
            stored.is_some_and(|stored| crc32fast::hash(stored) == info.crc)
        };
        // The file may have been changed since it was opened.
        let of_directory = bytes.get(index(states.offset.saturating_add(states.stored))..)?;
        let is_whole = read == bytes.len()
            && streams.all(is_right)
            && Directory::parse(of_directory).is_ok_and(|other| other == *directory);
        is_whole.then_some(bytes)
    }

    /// Returns the list of cell states of the segment.
    pub fn states(&self) -> Result<&StateList, Damage> {
        let states = self.states.get_or_init(|| {
            let (info, what) = (&self.directory()?.states, "list of states");
            let raw = self.stream(info, what, &mut Decompressor::default())?;
            list_of_states(&raw).map_err(|error| self.damage(info, what, error))
        });
        states.as_ref().map_err(Damage::clone)
    }

    /// Returns a damage record for a stream of the segment, at the offset in the file at which the stream begins.
    pub(super) fn damage(&self, info: &StreamInfo, what: &str, error: impl Display) -> Damage {
        Damage { offset: self.offset.saturating_add(info.offset.into()), what: format!("{what}: {error}") }
    }

    /// Reads, checks and decompresses a stream of the segment.
    pub(super) fn stream(
        &self,
        info: &StreamInfo,
        what: &str,
        decompressor: &mut Decompressor,
    ) -> Result<Vec<u8>, Damage> {
        let failed = |error: String| self.damage(info, what, error);
        if info.raw > BlockHeader::MOST_RAW {
            return Err(failed(format!("stream of {} bytes", info.raw)));
        }
        let mut stored = vec![0; index(info.stored)];
        let from = self.offset.saturating_add(info.offset.into());
        let read = self.source.read_at_most(&mut stored, from).map_err(|error| failed(error.to_string()))?;
        if read != stored.len() {
            return Err(failed("the file ends before it".to_owned()));
        }
        if crc32fast::hash(&stored) != info.crc {
            return Err(failed("its checksum is wrong".to_owned()));
        }
        match Codec::from_number(info.codec) {
            Some(Codec::Plain) => Ok(stored),
            Some(Codec::Zstd) => decompressor.decompressed(&stored, index(info.raw)).map_err(failed),
            None => Err(failed(format!("codec {} is of a later version", info.codec))),
        }
    }
}

fn list_of_states(raw: &[u8]) -> Result<StateList, Malformed> {
    let mut from = PayloadCursor::new(raw);
    let mut list = StateList::default();
    while !from.is_at_end() {
        if list.is_full() {
            return Err(from.error("too many states"));
        }
        list.push(state(&mut from)?);
    }
    Ok(list)
}

/// Rows of a table in a segment, as runs and placements, and the collections that have rows.
#[derive(Debug)]
pub struct SegmentTable {
    pub number: usize,
    pub(super) columns: Vec<StreamInfo>,
    pub(super) collections: Collections,
    /// Runs of the table, each of them one instance in consecutive samples, sorted by name, id and birth.
    pub runs: Vec<Run>,
    /// Placements of runs among the rows of the table, in the order of rows.
    pub(super) placements: Vec<Placement>,
    clocks: Option<Vec<Option<Clocks>>>,
}

impl SegmentTable {
    /// Reads the rows of a segment's table, which may take as much memory as `room` cells.
    pub(super) fn read(
        segment: &StoredSegment,
        entry: &TableEntry,
        room: usize,
        decompressor: &mut Decompressor,
    ) -> Result<Self, Damage> {
        let collections = Collections::new(entry, segment.ticks());
        let what = format!("rows of table {}", entry.number);
        let stream = segment.stream(&entry.runs, &what, decompressor)?;
        let in_rows = |error: Malformed| segment.damage(&entry.runs, &what, error);
        let readings = position(collections.readings.len());
        let (runs, placements) = runs(&stream, entry.columns.len(), readings, room).map_err(in_rows)?;
        let clocks = match &entry.clocks {
            None => None,
            Some(info) => {
                let what = format!("clocks of table {}", entry.number);
                let stream = segment.stream(info, &what, decompressor)?;
                let clocks = collections.own_clocks(&stream, segment);
                Some(clocks.map_err(|error| segment.damage(info, &what, error))?)
            }
        };
        let columns = entry.columns.clone();
        Ok(Self { number: entry.number, columns, collections, runs, placements, clocks })
    }

    /// Returns the number of readings of the table: collections that have rows.
    pub fn readings(&self) -> usize {
        self.collections.readings.len()
    }

    pub(super) fn own_clocks(&self, reading: usize) -> Option<Clocks> {
        self.clocks.as_ref()?.get(reading).copied().flatten()
    }
}

/// Ticks of a segment in which a table was collected, with the collections that have rows.
#[derive(Debug, Default)]
pub(super) struct Collections {
    /// Index of the tick in which each collection happened.
    pub ticks: Vec<u16>,
    /// Index of the tick for each reading: collection that has rows.
    pub(super) readings: Vec<u16>,
    /// For each collection, the index of its values in `readings`; [`Self::FAILED`] for a failed collection.
    reading_of: Vec<u16>,
    held: Vec<Held>,
    failures: Vec<Failure>,
}

/// Result of a table's collection in a segment: a reading with rows, or a failure.
pub(super) enum Collected<'a> {
    Reading(u16),
    Failed(&'a Failure),
}

impl Collections {
    const FAILED: u16 = u16::MAX;

    pub(super) fn new(entry: &TableEntry, ticks: &[(u64, ClockReading)]) -> Self {
        let mut all: Vec<u16> = entry.pattern.ticks(ticks.len()).collect();
        if !entry.held.is_empty() {
            all.extend(entry.held.iter().map(|held| held.tick));
            all.sort_unstable();
        }
        let mut failed = vec![false; all.len()];
        for failure in &entry.failures {
            let (first, count) = (index(failure.first), index(failure.count));
            failed.iter_mut().skip(first).take(count).for_each(|failed| *failed = true);
        }
        let mut readings = Vec::with_capacity(all.len());
        let mut reading_of = Vec::with_capacity(all.len());
        for (tick, failed) in all.iter().zip(failed) {
            if failed {
                reading_of.push(Self::FAILED);
            } else {
                reading_of.push(u16::try_from(readings.len()).unwrap_or(Self::FAILED));
                readings.push(*tick);
            }
        }
        let (held, failures) = (entry.held.clone(), entry.failures.clone());
        Self { ticks: all, readings, reading_of, held, failures }
    }

    /// Returns the index of the table's last collection at or before a tick.
    pub(super) fn at(&self, tick: usize) -> Option<usize> {
        self.ticks.partition_point(|at| usize::from(*at) <= tick).checked_sub(1)
    }

    /// Returns the result of a collection of the table.
    pub(super) fn collected(&self, collection: usize) -> Option<Collected<'_>> {
        let reading = *self.reading_of.get(collection)?;
        if reading != Self::FAILED {
            return Some(Collected::Reading(reading));
        }
        let after = self.failures.partition_point(|failure| index(failure.first) <= collection);
        after.checked_sub(1).and_then(|at| self.failures.get(at)).map(Collected::Failed)
    }

    /// Returns the sequence number and the clocks of a table's collection by the index of its tick.
    pub(super) fn collection_at(&self, tick: u16, segment: &StoredSegment) -> (u64, ClockReading) {
        let (sequence, clocks) = segment.ticks().get(usize::from(tick)).copied().unwrap_or_default();
        match self.held.binary_search_by_key(&tick, |held| held.tick).ok().and_then(|at| self.held.get(at)) {
            Some(held) => (sequence.saturating_sub(held.age), held.clocks),
            None => (sequence, clocks),
        }
    }

    /// Reads the own clocks that a segment's table has in its readings.
    pub(super) fn own_clocks(
        &self,
        stream: &[u8],
        segment: &StoredSegment,
    ) -> Result<Vec<Option<Clocks>>, Malformed> {
        let at: Vec<ClockReading> =
            self.readings.iter().map(|tick| self.collection_at(*tick, segment).1).collect();
        own_clocks(stream, &at)
    }
}

/// Decompressor of block payloads and segment streams, with its buffers.
#[derive(Default)]
pub struct Decompressor {
    #[cfg(feature = "zstd")]
    zstd: Option<zstd::stream::raw::Decoder<'static>>,
}

impl std::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decompressor").finish_non_exhaustive()
    }
}

/// Number of bytes that are allocated at once, before decompressed bytes fill them.
#[cfg(feature = "zstd")]
const STEP: usize = 1 << 20;

impl Decompressor {
    #[cfg(feature = "zstd")]
    pub fn decompressed(&mut self, stored: &[u8], raw: usize) -> Result<Vec<u8>, String> {
        use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

        let failed = |error: std::io::Error| format!("zstd: {error}");
        let mut decoder = match self.zstd.take() {
            Some(decoder) => decoder,
            None => {
                let mut decoder = Decoder::new().map_err(failed)?;
                decoder
                    .set_parameter(zstd::zstd_safe::DParameter::WindowLogMax(WINDOW_LOG))
                    .map_err(failed)?;
                decoder
            }
        };
        decoder.reinit().map_err(failed)?;
        let mut payload: Vec<u8> = Vec::with_capacity(raw.min(STEP));
        let mut input = InBuffer::around(stored);
        let hint = loop {
            let filled = payload.len();
            let mut output = OutBuffer::around_pos(&mut payload, filled);
            let hint = decoder.run(&mut input, &mut output).map_err(failed)?;
            let is_full = output.pos() == output.capacity();
            if hint == 0 || (!is_full && input.pos() == stored.len()) {
                break hint;
            }
            if is_full {
                let more = raw.saturating_sub(payload.len()).min(payload.len().max(STEP));
                if more == 0 {
                    return Err(format!("it has more than {raw} bytes"));
                }
                payload.reserve_exact(more);
            }
        };
        if hint != 0 || input.pos() != stored.len() || payload.len() != raw {
            return Err(format!("it has not the {raw} bytes that it must have"));
        }
        self.zstd = Some(decoder);
        Ok(payload)
    }

    #[cfg(not(feature = "zstd"))]
    #[allow(clippy::unused_self, reason = "with zstd there are buffers")]
    pub fn decompressed(&mut self, _stored: &[u8], _raw: usize) -> Result<Vec<u8>, String> {
        Err("it is compressed by zstd, which this build does not have".to_owned())
    }
}
