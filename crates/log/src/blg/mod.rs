//! The binary logs of Performance Monitor, relog, logman and typeperf.
//!
//! Microsoft publishes no layout of them; this one was found out from the bytes of two public files, of Windows Vista
//! and of Windows 8. A log is an event trace file, whose container is documented; its events hold the records of the
//! log, a record in parts of at most 8,000 bytes. What no file has shown is UNVERIFIED and is passed over by its size:
//! circular and appended logs, logs of Windows 10 and 11, several machines, counters that are texts.
//!
//! Times of records are local, and the log says by how much; times that are raw values of counters are UTC.
//!
//! ```no_run
//! use perfset_log::blg::{Block, Reader, Record};
//!
//! let mut log = Reader::open(std::fs::File::open("customer.blg")?)?;
//! while let Some(record) = log.next_record()? {
//!     if let Record::Sample(sample) = record {
//!         let counters = sample.blocks().filter(|block| matches!(block, Ok(Block::Counter(_)))).count();
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
pub use counters::{Recorded, What};
pub use header::Header;
pub use names::Names;
pub(crate) use sample::TakenSample;
pub use sample::{Block, Instances, Sample, Summary};

/// A file cannot be read as a binary log at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlgError {
    /// It is something else.
    #[error("not a binary log: it does not begin as one")]
    NoLog,
    /// It says nothing of itself.
    #[error("not a valid binary log: {0}")]
    Header(WireError),
    /// It could not be read.
    #[error("cannot be read")]
    Io(#[from] io::Error),
}

/// Whether these are the first bytes of a binary log: [`TELLING`] of them tell.
#[must_use]
pub fn is_one(first: &[u8]) -> bool {
    container::buffer_size(first).is_some()
}

/// As many of the first bytes as [`is_one`] looks at.
pub const TELLING: usize = Events::<&[u8]>::TELLING;

/// Reads a log from its beginning to its end. In memory are one buffer and one record.
#[derive(Debug)]
pub struct Reader<R> {
    events: Events<R>,
    header: Header,
    counters: Vec<Recorded>,
    names: Names,
    summary: Option<Summary>,
    joined: Joined,
}

/// A record of a log.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Record<'a> {
    /// The counter list has come: see [`Reader::counters`].
    Counters,
    /// A part of the name table has come: see [`Reader::names`].
    Names,
    /// A sample.
    Sample(Sample<'a>),
    /// The summary has come: see [`Reader::summary`].
    Summary,
    /// A record of a type that no log seen so far has.
    Unknown {
        /// Where it is in the file.
        at: u64,
        /// Its type.
        record_type: u8,
    },
}

const COUNTERS: u8 = 0x20;
const SAMPLE: u8 = 0x22;
const SUMMARY: u8 = 0x23;
const NAMES: u8 = 0x24;

/// The parts of a record that have come so far.
#[derive(Debug, Default)]
struct Joined {
    /// That of the last part; `None` if no record is begun.
    last: Option<Event>,
    /// Where the record begins in the file.
    at: u64,
    bytes: Vec<u8>,
}

/// Where the payload of a whole record is.
enum Payload {
    Buffer(Range<usize>),
    Joined,
}

impl<R: Read> Reader<R> {
    /// The longest record. A sample of all processes and threads of a large machine has some MiB.
    const LONGEST: usize = 64 << 20;

    /// Reads what a log says of itself.
    ///
    /// # Errors
    /// If it is no log, or cannot be read.
    pub fn open(read: R) -> Result<Self, BlgError> {
        let (events, header) = Events::open(read)?;
        let (counters, names, joined) = Default::default();
        Ok(Self { events, header, counters, names, summary: None, joined })
    }

    /// What the log says of itself.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What each block of a sample holds, as far as it has been read: the list comes before the first sample.
    #[must_use]
    pub fn counters(&self) -> &[Recorded] {
        &self.counters
    }

    /// The name table of the machine, as far as it has been read. Only logs of whole objects have one.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// What the log says of itself at its end, if it does.
    #[must_use]
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// What could not be used so far.
    #[must_use]
    pub fn damages(&self) -> &Damages {
        &self.events.damages
    }

    /// The next record; `None` at the end of the log. What is damaged is left out and noted.
    ///
    /// # Errors
    /// If the file cannot be read on.
    pub fn next_record(&mut self) -> io::Result<Option<Record<'_>>> {
        loop {
            let Some((event, payload)) = self.next_payload()? else { return Ok(None) };
            let record_type = event.record_type;
            if record_type == SAMPLE {
                if let Err(error) = Sample::check(self.payload(&payload)) {
                    self.events.damages.add(event.at, format!("a sample is left out: {error}"));
                    continue;
                }
                let sample = Sample::new(event.at, event.time_stamp, self.payload(&payload));
                return Ok(Some(Record::Sample(sample)));
            }
            return Ok(Some(match record_type {
                COUNTERS => {
                    let (counters, fault) = counters::parse(self.payload(&payload));
                    if let Some(fault) = fault {
                        let what =
                            format!("the counter list is left out behind entry {}: {fault}", counters.len());
                        self.events.damages.add(event.at, what);
                    }
                    self.counters = counters;
                    Record::Counters
                }
                NAMES => {
                    let mut names = std::mem::take(&mut self.names);
                    if !names.add(self.payload(&payload)) {
                        self.events.damages.add(event.at, "names are left out: no system has so many");
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
                        self.events.damages.add(event.at, format!("the summary is left out: {error}"));
                        continue;
                    }
                },
                record_type => Record::Unknown { at: event.at, record_type },
            }));
        }
    }

    fn payload(&self, payload: &Payload) -> &[u8] {
        match payload {
            Payload::Buffer(place) => self.events.bytes(place.clone()),
            Payload::Joined => &self.joined.bytes,
        }
    }

    /// The next record whose parts are all there: its last event, placed where the first one is.
    fn next_payload(&mut self) -> io::Result<Option<(Event, Payload)>> {
        loop {
            let Some(event) = self.events.next()? else {
                self.leave_out();
                return Ok(None);
            };
            // Each record of the name table stands for itself, however its parts are numbered.
            if event.parts <= 1 || event.record_type == NAMES {
                self.leave_out();
                let payload = Payload::Buffer(event.payload.clone());
                return Ok(Some((event, payload)));
            }
            if event.part == 1 {
                self.leave_out();
                self.joined.bytes.clear();
                self.joined.at = event.at;
            } else if !self.joined.last.as_ref().is_some_and(|last| follows(&event, last)) {
                self.leave_out();
                let what = format!(
                    "part {} of {} is left out: it does not go on with a record",
                    event.part, event.parts
                );
                self.events.damages.add(event.at, what);
                continue;
            }
            let part = self.events.bytes(event.payload.clone());
            if self.joined.bytes.len().saturating_add(part.len()) > Self::LONGEST {
                self.joined.last = None;
                self.joined.bytes = Vec::new();
                let what = format!("a record is left out: it has more than {} MiB", Self::LONGEST >> 20);
                self.events.damages.add(self.joined.at, what);
                continue;
            }
            self.joined.bytes.extend_from_slice(part);
            if event.part >= event.parts {
                self.joined.last = None;
                return Ok(Some((Event { at: self.joined.at, ..event }, Payload::Joined)));
            }
            self.joined.last = Some(event);
        }
    }

    /// Gives up the record that is begun.
    fn leave_out(&mut self) {
        if let Some(last) = self.joined.last.take() {
            let what =
                format!("a record is left out: only {} of its {} parts are there", last.part, last.parts);
            self.events.damages.add(self.joined.at, what);
        }
    }
}

fn follows(event: &Event, last: &Event) -> bool {
    event.part == last.part.saturating_add(1)
        && (event.parts, event.record_type, event.log) == (last.parts, last.record_type, last.log)
}
