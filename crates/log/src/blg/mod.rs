//! Reader for the binary logs of Performance Monitor, relog, logman and typeperf.
//!
//! Microsoft publishes no layout of these logs. This layout was derived from the bytes of two public files, written
//! by Windows Vista and Windows 8. A log is an event trace file, whose container is documented. Its events contain
//! the records of the log, each record in parts of at most 8,000 bytes. Everything that no file has shown is
//! UNVERIFIED and is skipped by its size: circular and appended logs, logs of Windows 10 and 11, several machines,
//! text counters.
//!
//! Record times are local, and the log contains the bias. Times that are raw values of counters are UTC.
//!
//! ```no_run
//! use perfset::log::blg::{CounterBlock, BlgReader, Record};
//!
//! let mut log = BlgReader::open(std::fs::File::open("customer.blg")?)?;
//! while let Some(record) = log.next_record()? {
//!     if let Record::Sample(sample) = record {
//!         let counters = sample.blocks().filter(|block| matches!(block, Ok(CounterBlock::Counter(_)))).count();
//!         println!("{}: {counters}", sample.time);
//!     }
//! }
//! println!("{} places are damaged", log.damages().count());
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

#[cfg(test)]
pub(crate) mod building;
mod container;
mod counters;
mod header;
mod names;
mod raw;
mod sample;
#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::ops::Range;

use perfset_core::wire::WireError;

use crate::damage::Damages;
use container::{Event, Events};
pub use counters::{CounterRecord, EntryScope};
pub use header::Header;
pub use names::BlgNames;
pub use sample::{CounterBlock, InstanceValues, Sample, Summary};
pub(crate) use sample::{OwnedSample, SampleBytes};

/// Error for a file that cannot be read as a binary log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlgError {
    /// The file is not a binary log.
    #[error("the file is not a binary log: its beginning is not that of a log")]
    NoLog,
    /// The file begins as a binary log, but its header is invalid.
    #[error("the header of the binary log is invalid: {0}")]
    Header(WireError),
    /// The file of the binary log cannot be read.
    #[error("cannot read the log")]
    Io(#[from] io::Error),
}

/// Returns `true` if these are the first bytes of a binary log. At least [`TELLING`] bytes are needed.
#[must_use]
pub fn is_one(first: &[u8]) -> bool {
    container::buffer_size(first).is_some()
}

/// Number of first bytes of a file that [`is_one`] needs to recognize a binary log.
pub const TELLING: usize = Events::<&[u8]>::TELLING;

/// Sequential reader of a binary log. Only one buffer and one record are in memory.
#[derive(Debug)]
pub struct BlgReader<R> {
    events: Events<R>,
    header: Header,
    counters: Vec<CounterRecord>,
    names: BlgNames,
    summary: Option<Summary>,
    joined: PartialRecord,
}

/// Record of a binary log.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Record<'a> {
    /// The log's counter list was read: see [`BlgReader::counters`].
    Counters,
    /// A part of the name table was read: see [`BlgReader::names`].
    Names,
    /// A sample of all counters of the log.
    Sample(Sample<'a>),
    /// The summary at the end of the log was read: see [`BlgReader::summary`].
    Summary,
    /// A record of a type that no known log contains.
    Unknown {
        /// Offset of the unknown record in the file of the binary log.
        offset: u64,
        /// Type of the unknown record of the binary log, as a number.
        record_type: u8,
    },
}

const COUNTERS: u8 = 0x20;
const SAMPLE: u8 = 0x22;
const SUMMARY: u8 = 0x23;
const NAMES: u8 = 0x24;

/// Record of a binary log that is being assembled from its parts.
#[derive(Debug, Default)]
struct PartialRecord {
    /// Event that has the last part read of the record; `None` if no record is incomplete.
    last: Option<Event>,
    /// Offset of the assembled record in the file.
    offset: u64,
    bytes: Vec<u8>,
}

/// Location in memory of the payload of a complete record of a binary log.
enum Payload {
    Buffer(Range<usize>),
    Joined,
}

impl<R: Read> BlgReader<R> {
    /// Maximum length in bytes of a record of a binary log. A sample of all processes and threads of a large machine
    /// has a few MiB.
    const LONGEST: usize = 64 << 20;

    /// Opens a binary log and reads its header.
    ///
    /// # Errors
    /// If the file is not a binary log, or cannot be read.
    pub fn open(read: R) -> Result<Self, BlgError> {
        let (events, header) = Events::open(read)?;
        let (counters, names, joined) = Default::default();
        Ok(Self { events, header, counters, names, summary: None, joined })
    }

    /// Returns the header of the binary log.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the counter list of the binary log, as far as it has been read. It precedes the first sample and
    /// describes the blocks of every sample.
    #[must_use]
    pub fn counters(&self) -> &[CounterRecord] {
        &self.counters
    }

    /// Returns the name table of the recorded machine, as far as the table has been read. Only logs of whole objects
    /// contain one.
    #[must_use]
    pub fn names(&self) -> &BlgNames {
        &self.names
    }

    /// Returns the summary at the end of the binary log, if it has been read.
    #[must_use]
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// Returns the damage of the binary log that was found so far.
    #[must_use]
    pub fn damages(&self) -> &Damages {
        &self.events.damages
    }

    /// Returns the next record of the binary log; `None` at the end of the log. Damaged data is omitted and recorded
    /// as [damage](Self::damages).
    ///
    /// # Errors
    /// If reading the file fails.
    pub fn next_record(&mut self) -> io::Result<Option<Record<'_>>> {
        loop {
            let Some((event, payload)) = self.next_payload()? else { return Ok(None) };
            let record_type = event.record_type;
            // Checked in a step of its own: a borrow that may be returned lasts to the end of the function,
            // and the damage list needs `self`.
            if record_type == SAMPLE {
                if let Err(error) = Sample::check(self.payload(&payload)) {
                    self.events.damages.add(event.offset, format!("a sample is left out: {error}"));
                    continue;
                }
                let sample = Sample::new(event.offset, event.time_stamp, self.payload(&payload));
                return Ok(Some(Record::Sample(sample)));
            }
            return Ok(Some(match record_type {
                COUNTERS => {
                    let (counters, fault) = counters::parse(self.payload(&payload));
                    if let Some(fault) = fault {
                        let what =
                            format!("the counter list is left out behind entry {}: {fault}", counters.len());
                        self.events.damages.add(event.offset, what);
                    }
                    // A later list replaces the earlier one, as in appended logs: B-9. An invalid list does
                    // so up to its first error.
                    self.counters = counters;
                    Record::Counters
                }
                NAMES => {
                    // Taken out, because the payload borrows the reader.
                    let mut names = std::mem::take(&mut self.names);
                    if !names.add(self.payload(&payload)) {
                        self.events.damages.add(event.offset, "names are left out: no system has so many");
                    }
                    self.names = names;
                    Record::Names
                }
                SUMMARY => match Summary::parse(self.payload(&payload)) {
                    Ok(summary) => {
                        self.summary = Some(summary);
                        Record::Summary
                    }
                    Err(error) => {
                        self.events.damages.add(event.offset, format!("the summary is left out: {error}"));
                        continue;
                    }
                },
                record_type => Record::Unknown { offset: event.offset, record_type },
            }));
        }
    }

    fn payload(&self, payload: &Payload) -> &[u8] {
        match payload {
            Payload::Buffer(place) => self.events.bytes(place.clone()),
            Payload::Joined => &self.joined.bytes,
        }
    }

    /// Returns the next complete record of the binary log: its last event, with the offset of its first event.
    fn next_payload(&mut self) -> io::Result<Option<(Event, Payload)>> {
        loop {
            let Some(event) = self.events.next()? else {
                self.leave_out();
                return Ok(None);
            };
            // Each record of the name table is independent, however its parts are numbered.
            if event.parts <= 1 || event.record_type == NAMES {
                self.leave_out();
                let payload = Payload::Buffer(event.payload.clone());
                return Ok(Some((event, payload)));
            }
            if event.part == 1 {
                self.leave_out();
                self.joined.bytes.clear();
                self.joined.offset = event.offset;
            } else if !self.joined.last.as_ref().is_some_and(|last| follows(&event, last)) {
                self.leave_out();
                let what = format!(
                    "part {} of {} is left out: it does not go on with a record",
                    event.part, event.parts
                );
                self.events.damages.add(event.offset, what);
                continue;
            }
            let part = self.events.bytes(event.payload.clone());
            if self.joined.bytes.len().saturating_add(part.len()) > Self::LONGEST {
                self.joined.last = None;
                // `clear` would keep 64 MiB for the rest of the log.
                self.joined.bytes = Vec::new();
                let what = format!("a record is left out: it has more than {} MiB", Self::LONGEST >> 20);
                self.events.damages.add(self.joined.offset, what);
                continue;
            }
            self.joined.bytes.extend_from_slice(part);
            if event.part >= event.parts {
                self.joined.last = None;
                // Damage of a record is reported at its first part, where it begins in the file.
                return Ok(Some((Event { offset: self.joined.offset, ..event }, Payload::Joined)));
            }
            self.joined.last = Some(event);
        }
    }

    /// Discards an incomplete record of the binary log, and records it as damage.
    fn leave_out(&mut self) {
        if let Some(last) = self.joined.last.take() {
            let what =
                format!("a record is left out: only {} of its {} parts are there", last.part, last.parts);
            self.events.damages.add(self.joined.offset, what);
        }
    }
}

fn follows(event: &Event, last: &Event) -> bool {
    event.part == last.part.saturating_add(1)
        && (event.parts, event.record_type, event.log) == (last.parts, last.record_type, last.log)
}
