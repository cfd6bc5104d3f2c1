//! Access to single streams of a segment, and repair of their checksums: for the fuzz targets.

use std::ops::Range;

use super::super::block::{Codec, SEGMENT_TAIL};
use super::super::bytes::{Malformed, PayloadCursor};
use super::super::table::index;
use super::directory::Directory;
use super::read::Decompressor;
use super::rows::{put_runs, runs};
use super::stream::{ColumnReader, RunChange, RunSink, SequenceEncoder, sequence};

/// Returns a stored segment with corrected lengths and checksums of its streams; `None` if its directory is malformed.
pub fn repaired_segment(stored: &[u8], is_plain: bool) -> Option<Vec<u8>> {
    let (before, tail) = stored.split_last_chunk::<SEGMENT_TAIL>()?;
    let [.., l0, l1, l2, l3] = *tail;
    let len = usize::try_from(u32::from_le_bytes([l0, l1, l2, l3])).ok()?;
    let (streams, directory) = before.split_at_checked(before.len().checked_sub(len)?)?;
    let (mut directory, _) = Directory::parse_without_tail(directory).ok()?;
    let mut out = Vec::new();
    let mut decompressor = Decompressor::default();
    for info in directory.streams_mut() {
        // Streams that are cut off have what is left.
        let rest = streams.get(index(info.offset)..).unwrap_or_default();
        let mut stream = rest.get(..index(info.stored)).unwrap_or(rest).to_vec();
        if is_plain && info.codec != Codec::Plain.number() {
            stream = decompressor.decompressed(&stream, index(info.raw)).ok()?;
            info.codec = Codec::Plain.number();
        }
        info.offset = u32::try_from(out.len()).ok()?;
        info.stored = u32::try_from(stream.len()).ok()?;
        info.crc = crc32fast::hash(&stream);
        if info.codec == Codec::Plain.number() {
            info.raw = info.stored;
        }
        out.append(&mut stream);
    }
    let len = u32::try_from(out.len()).ok()?;
    directory.put(&mut out, len)?;
    Some(out)
}

/// Reads a segment's sequence of `len` numbers; bytes after it are an error.
pub fn numbers(bytes: &[u8], len: usize) -> Result<Vec<u64>, Malformed> {
    let mut from = PayloadCursor::new(bytes);
    let numbers = sequence(&mut from, len)?;
    from.end()?;
    Ok(numbers)
}

/// Returns a sequence of numbers in the form in which a segment stores it.
pub fn stored_numbers(numbers: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    SequenceEncoder::default().put_sequence(&mut out, numbers.iter().copied());
    out
}

/// Reads a part of each run of a segment's column, as pairs of value and state number plus 1.
pub fn column(bytes: &[u8], runs: &[usize], part: &Range<usize>) -> Result<Vec<Vec<(u64, u64)>>, Malformed> {
    let mut reader = ColumnReader::new(bytes, runs.len())?;
    let mut all = Vec::new();
    for len in runs {
        let wanted = part.start.min(*len)..part.end.min(*len);
        let mut sink = CellSink { start: wanted.start, ..CellSink::default() };
        reader.next_run(*len, wanted.clone(), &mut sink)?;
        all.push(sink.cells(wanted.len()));
    }
    reader.end()?;
    Ok(all)
}

/// Reads a segment's stored table of runs, and returns the table encoded again. The runs may take as much memory as
/// `room` cells.
pub fn runs_again(bytes: &[u8], columns: usize, readings: u32, room: usize) -> Result<Vec<u8>, Malformed> {
    let (runs, placements) = runs(bytes, columns, readings, room)?;
    let mut out = Vec::new();
    put_runs(&mut out, &runs, &placements, readings);
    Ok(out)
}

/// Receiver of the cells in a part of a run.
#[derive(Debug, Default)]
struct CellSink {
    /// Index in the run of the first received cell.
    start: usize,
    first: u64,
    changes: Vec<(usize, u64)>,
    states: Vec<(usize, u64)>,
}

impl CellSink {
    fn at(&self, index_in_run: u32) -> usize {
        index(index_in_run).saturating_sub(self.start)
    }

    fn cells(&self, len: usize) -> Vec<(u64, u64)> {
        let (mut value, mut state) = (self.first, 0);
        let (mut changes, mut states) = (self.changes.iter().peekable(), self.states.iter().peekable());
        let cells = (0..len).map(|cell| {
            while let Some((_, delta)) = changes.next_if(|(at, _)| *at <= cell) {
                value = value.wrapping_add(*delta);
            }
            while let Some((_, now)) = states.next_if(|(at, _)| *at <= cell) {
                state = *now;
            }
            (value, state)
        });
        cells.collect()
    }
}

impl RunSink for CellSink {
    fn first(&mut self, value: u64) {
        self.first = value;
    }

    fn change(&mut self, change: RunChange) {
        let at = self.at(change.at);
        self.changes.push((at, change.delta));
    }

    fn state(&mut self, at: u32, state: u64) {
        let at = self.at(at);
        self.states.push((at, state));
    }
}

/// Returns three parts of the first table in an uncompressed segment: the encoded runs, their lengths, and the first
/// column.
#[cfg(test)]
pub fn first_runs_and_column(stored: &[u8]) -> ((Vec<u8>, Vec<usize>), Vec<u8>) {
    let len = u32::from_le_bytes(*stored.last_chunk().unwrap());
    let directory = &stored[stored.len() - SEGMENT_TAIL - usize::try_from(len).unwrap()..];
    let table = &Directory::parse(directory).unwrap().tables[0];
    let stream =
        |info: &super::directory::StreamInfo| stored[index(info.offset)..][..index(info.stored)].to_vec();
    let raw = stream(&table.runs);
    let (runs, _) = runs(&raw, table.columns.len(), 6, usize::MAX).unwrap();
    ((raw, runs.iter().map(super::rows::Run::len).collect()), stream(&table.columns[0]))
}
