//! Container of a binary log: an event trace file of Windows, read buffer by buffer and event by event.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

use perfset_core::wire::{Cursor, length};
use zerocopy::FromBytes;

use super::header::Header;
use super::{BlgError, raw};
use crate::damage::Damages;

/// Iterator over the events that the writer of a binary log wrote; events of other event providers are skipped. Only
/// one buffer is in memory.
#[derive(Debug)]
pub(super) struct Events<R> {
    read: R,
    /// Buffer of the binary log that is being read; all buffers of a log have the same size.
    buffer: Vec<u8>,
    /// Offset in the file of the buffer of the binary log that is being read.
    buffer_offset: u64,
    /// Offset in the current buffer of the next event; `end` is the offset of the end of the buffer's data.
    offset: usize,
    end: usize,
    is_ended: bool,
    /// Number of buffers in the file, according to the header of the binary log, if known.
    buffers: Option<u32>,
    pub(super) damages: Damages,
}

/// Event of a binary log, as found in its current buffer.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// Offset of the event in the file of the binary log.
    pub(super) offset: u64,
    pub(super) record_type: u8,
    pub(super) time_stamp: i64,
    pub(super) log: [u8; 16],
    pub(super) part: u32,
    pub(super) parts: u32,
    /// Range of the event's payload in the current buffer of the binary log.
    pub(super) payload: Range<usize>,
}

/// GUID of the Windows component that writes binary logs.
const PROVIDER: [u8; 16] =
    [0xb3, 0x3b, 0x3f, 0x93, 0x3e, 0x94, 0x0d, 0x49, 0x9c, 0xed, 0x3c, 0xbb, 0x14, 0xc1, 0x44, 0x79];
const MARKER: u8 = 0xC0;
const HEADER_LEN: usize = size_of::<raw::BufferHeader>();
const UNIT: usize = 8;
/// Maximum number of bytes of a log record that one event carries.
const LONGEST_PART: usize = 8_000;
/// Fill byte of the unused end of a buffer in a binary log.
const UNUSED: u8 = 0xFF;

/// Returns the size of a log's buffers in bytes if these are the first bytes of a binary log.
pub(super) fn buffer_size(first: &[u8]) -> Option<usize> {
    // The buffer is allocated with the size that the file states, so a hostile file must not choose any size.
    const LEAST: u32 = 1 << 10;
    const MOST: u32 = 16 << 20;
    const HEADER_BUFFER: u16 = 4;
    let (header, rest) = raw::BufferHeader::ref_from_prefix(first).ok()?;
    let (event, _) = raw::SystemHeader::ref_from_prefix(rest).ok()?;
    let size = header.buffer_size.get();
    let is_one = (LEAST..=MOST).contains(&size)
        && size % LEAST == 0
        && header.buffer_type.get() == HEADER_BUFFER
        && event.marker == MARKER
        && matches!(event.header_type, 1 | 2);
    is_one.then_some(length(size))
}

impl<R: Read> Events<R> {
    /// Number of first bytes needed to distinguish a binary log from other files.
    pub(super) const TELLING: usize = HEADER_LEN + size_of::<raw::SystemHeader>();

    /// Opens a binary log: reads the first buffer, whose only event is the log's header.
    pub(super) fn open(mut read: R) -> Result<(Self, Header), BlgError> {
        let mut first = [0; HEADER_LEN + size_of::<raw::SystemHeader>()];
        let len = fill(&mut read, &mut first)?;
        let size = buffer_size(first.get(..len).unwrap_or_default()).ok_or(BlgError::NoLog)?;
        let mut buffer = vec![0; size];
        if let Some(place) = buffer.get_mut(..first.len()) {
            place.copy_from_slice(&first);
        }
        // The bytes already read belong to this buffer, and the input may be a pipe, which cannot seek back.
        let rest = buffer.get_mut(first.len()..).unwrap_or_default();
        let filled = first.len().saturating_add(fill(&mut read, rest)?);
        let (damages, buffers) = Default::default();
        let mut events =
            Self { read, buffer, buffer_offset: 0, offset: 0, end: 0, is_ended: false, buffers, damages };
        events.begin(filled);
        let bytes = events.buffer.get(..events.end).unwrap_or_default();
        let mut cursor = Cursor::starting_at(bytes, first.len());
        let header = Header::parse(&mut cursor).map_err(BlgError::Header)?;
        // The only event of this buffer is the header, so scanning begins with the next buffer.
        events.offset = events.end;
        events.buffers = header.buffers();
        Ok((events, header))
    }

    /// Returns a range of bytes of the current buffer of the binary log.
    pub(super) fn bytes(&self, place: Range<usize>) -> &[u8] {
        self.buffer.get(place).unwrap_or_default()
    }

    /// Returns the next event of the binary log; `None` at the end of the log.
    pub(super) fn next(&mut self) -> io::Result<Option<Event>> {
        loop {
            if let Some(event) = self.next_in_buffer() {
                return Ok(Some(event));
            }
            if self.is_ended {
                return Ok(None);
            }
            self.buffer_offset = self.buffer_offset.saturating_add(count(self.buffer.len()));
            let filled = fill(&mut self.read, &mut self.buffer)?;
            self.begin(filled);
        }
    }

    /// Finds the end of the event data in a newly read buffer of the binary log.
    fn begin(&mut self, filled: usize) {
        self.is_ended = filled < self.buffer.len();
        // An empty range: a buffer whose header cannot be read yields no event.
        (self.offset, self.end) = (HEADER_LEN, 0);
        if filled == 0 {
            return self.count_buffers();
        }
        let bytes = self.buffer.get(..filled).unwrap_or_default();
        let Ok((header, _)) = raw::BufferHeader::ref_from_prefix(bytes) else {
            self.damages
                .add(self.buffer_offset, format!("the file is cut: {filled} bytes of a buffer are left out"));
            return;
        };
        let size = self.buffer.len();
        // The size is that of the first buffer: a damaged one must not shift all that follow.
        if length(header.buffer_size.get()) != size {
            let said = header.buffer_size.get();
            self.damages
                .add(self.buffer_offset, format!("the buffer says that it has {said} bytes, not {size}"));
        }
        // Two fields contain the end of the data; if one is damaged, the other may be right.
        let ends = [header.end, header.saved_offset].map(|end| length(end.get()));
        let fits = |end: &usize| (HEADER_LEN..=size).contains(end);
        let end = ends.into_iter().find(fits);
        if end != Some(length(header.end.get())) {
            self.damages.add(
                self.buffer_offset,
                format!("the buffer says that its data end at {}", header.end.get()),
            );
        }
        // Without a valid end the whole buffer is scanned: its unused end is 0xFF, which begins no event.
        self.end = end.unwrap_or(size);
        self.end = self.end.min(filled);
        // Writers write whole buffers, including the unused end.
        if filled < size {
            let lost = size.saturating_sub(filled);
            self.damages.add(
                self.buffer_offset.saturating_add(count(filled)),
                format!("the file is cut: {lost} bytes of a buffer are missing"),
            );
        }
    }

    /// Records that a binary log is cut at its end, if the header announces more buffers. The file ends after a whole
    /// buffer here.
    fn count_buffers(&mut self) {
        let there = self.buffer_offset.checked_div(count(self.buffer.len())).unwrap_or(0);
        let said = self.buffers.map_or(0, u64::from);
        if there < said {
            let what = format!("the file is cut: only {there} of its {said} buffers are there");
            self.damages.add(self.buffer_offset, what);
        }
    }

    fn next_in_buffer(&mut self) -> Option<Event> {
        loop {
            let rest = self.buffer.get(self.offset..self.end).filter(|rest| rest.len() >= UNIT)?;
            match event(rest) {
                // A damaged size could skip intact events: it is not believed if other events begin within
                // it.
                ScanResult::Own(header) if !swallows(rest, usize::from(header.size.get())) => {
                    let offset = self.buffer_offset.saturating_add(count(self.offset));
                    let size = usize::from(header.size.get());
                    let payload = self.offset.saturating_add(size_of::<raw::EventHeader>())
                        ..self.offset.saturating_add(size);
                    let event = Event {
                        offset,
                        record_type: header.record_type,
                        time_stamp: header.time_stamp.get(),
                        log: header.log,
                        part: header.part.get(),
                        parts: header.parts.get(),
                        payload,
                    };
                    // The size was checked in `event`, so this cannot go back or beyond the data.
                    self.offset = payload_end(&event).next_multiple_of(UNIT);
                    return Some(event);
                }
                // Events of Windows itself, such as time zone and processors, need no reading here.
                ScanResult::Foreign(size) => {
                    self.offset = self.offset.saturating_add(size).next_multiple_of(UNIT)
                }
                ScanResult::Own(_) | ScanResult::Nothing => self.leave_out()?,
            }
        }
    }

    /// Skips invalid bytes up to the next event of the binary log, or to the next buffer. The skipped bytes are
    /// damage unless they are the unused end.
    fn leave_out(&mut self) -> Option<()> {
        let rest = self.buffer.get(self.offset..self.end).unwrap_or_default();
        // Events begin at multiples of 8 bytes, so reading continues at the next place that looks like one.
        let mut places = (UNIT..rest.len()).step_by(UNIT);
        let next = places.find(|at| matches!(event(rest.get(*at..).unwrap_or_default()), ScanResult::Own(_)));
        let len = next.unwrap_or(rest.len());
        let left_out = rest.get(..len).unwrap_or_default();
        // A truncated file is already recorded as damage.
        let is_said = self.is_ended && next.is_none();
        if !is_said && left_out.iter().any(|byte| *byte != UNUSED) {
            let offset = self.buffer_offset.saturating_add(count(self.offset));
            self.damages.add(offset, format!("no event begins here: {len} bytes are left out"));
        }
        self.offset = self.offset.saturating_add(len);
        next.map(|_| ())
    }
}

fn payload_end(event: &Event) -> usize {
    event.payload.end
}

/// Returns `true` if an event's size is wrong because other events begin within it.
fn swallows(bytes: &[u8], size: usize) -> bool {
    // A correct size leads to another event, to the unused end, or to the end of the buffer. Only otherwise
    // are the bytes within the event searched.
    let behind = bytes.get(size.next_multiple_of(UNIT)..).unwrap_or_default();
    let goes_on = behind.len() < UNIT
        || behind.starts_with(&[UNUSED; UNIT])
        || !matches!(event(behind), ScanResult::Nothing);
    let begins = |at: usize| matches!(event(bytes.get(at..).unwrap_or_default()), ScanResult::Own(_));
    !goes_on && (UNIT..size).step_by(UNIT).any(begins)
}

/// Result of looking for an event at an offset in a buffer of a binary log.
enum ScanResult<'a> {
    /// An event that the binary log's own writer wrote.
    Own(&'a raw::EventHeader),
    /// An event of another event provider, with its size in bytes.
    Foreign(usize),
    Nothing,
}

fn event(bytes: &[u8]) -> ScanResult<'_> {
    let &[size_low, size_high, kind, MARKER, system_low, system_high, ..] = bytes else {
        return ScanResult::Nothing;
    };
    // A system event begins with version and type, and has its size at byte 4; others begin with their size.
    let size = usize::from(match kind {
        1 | 2 => u16::from_le_bytes([system_low, system_high]),
        10 | 20 => u16::from_le_bytes([size_low, size_high]),
        _ => return ScanResult::Nothing,
    });
    // A size of 0 would stop the scan at this offset forever.
    if size < UNIT || size > bytes.len() {
        return ScanResult::Nothing;
    }
    match raw::EventHeader::ref_from_prefix(bytes) {
        Ok((header, _)) if matches!(kind, 10 | 20) && header.provider == PROVIDER => {
            let payload = size.checked_sub(size_of::<raw::EventHeader>());
            // Both known logs split records at this length. A larger size is damage, and would hide the
            // events behind it.
            if payload.is_some_and(|len| len <= LONGEST_PART) {
                ScanResult::Own(header)
            } else {
                ScanResult::Nothing
            }
        }
        _ => ScanResult::Foreign(size),
    }
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Reads until the buffer is full or the file ends. Returns the number of bytes read.
fn fill(read: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    // A pipe returns what it has. Only a read of 0 bytes is the end, and a short buffer counts as truncation.
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match read.read(rest) {
            Ok(0) => break,
            Ok(len) => filled = filled.saturating_add(len),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
