//! Text logs: PDH-CSV 4.0 and PDH-TSV 4.0.
//!
//! What perfmon, relog, logman, typeperf and VMware's esxtop write, read line by line with [`Reader`]; the same from
//! us with [`Writer`].
//!
//! ```
//! use perfset_log::text::{Reader, is_one};
//!
//! let log = b"\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\HOST\\Memory\\Available MBytes\"\r\n\
//!             \"10/29/2017 01:59:44.562\",\"2048\"\r\n";
//! assert!(is_one(log));
//! let mut reader = Reader::new(&log[..])?;
//! while let Some(line) = reader.next_line()? {
//!     assert_eq!((line.time, line.values), (131_537_159_845_620_000, &[Some(2048.0)][..]));
//! }
//! assert!(reader.damages().is_empty());
//! # Ok::<(), perfset_log::text::TextLogError>(())
//! ```
//!
//! **Shape**: a header has the paths of all counters; a line has a time, and a value or none for each path.

use std::io;

mod fields;
mod lines;
mod reader;
mod writer;
#[cfg(test)]
mod tests;

pub use reader::Reader;
pub use writer::{Number, Writer};

/// So many bytes a line may have. A longer one is left out.
pub const LINE_LIMIT: usize = 64 << 20;

/// So many paths are taken from a header. The values of more are left out.
pub const PATH_LIMIT: usize = 1 << 20;

/// What stands between two fields. It tells the two formats apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Separator {
    /// PDH-CSV.
    Comma,
    /// PDH-TSV.
    Tab,
}

impl Separator {
    /// What the header begins with.
    /// The name of the format.
    #[must_use]
    pub const fn format(self) -> &'static str {
        match self {
            Self::Comma => "PDH-CSV",
            Self::Tab => "PDH-TSV",
        }
    }

    const fn mark(self) -> &'static str {
        match self {
            Self::Comma => "(PDH-CSV 4.0)",
            Self::Tab => "(PDH-TSV 4.0)",
        }
    }

    const fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Tab => b'\t',
        }
    }

    /// Of the log that this line is the header of.
    fn of_header(line: &[u8]) -> Option<Self> {
        let line = line.strip_prefix(b"\"").unwrap_or(line);
        [Self::Comma, Self::Tab].into_iter().find(|separator| line.starts_with(separator.mark().as_bytes()))
    }
}

/// The time zone that the times of a log are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// As Windows shows it to people, in the language of that machine. It may contradict the minutes; trust those.
    pub name: String,
    /// What is added to a time of the log to get UTC: 300 is US Eastern standard time, -60 an hour east of UTC.
    ///
    /// It is what held when the log was opened. If daylight saving began or ended later, times from then on are an
    /// hour off, and nothing in the log says so.
    pub minutes: i32,
}

impl Zone {
    /// UTC, as we and esxtop write it.
    #[must_use]
    pub fn utc() -> Self {
        Self { name: "UTC".into(), minutes: 0 }
    }

    /// UTC of a time of the log, both in 100 ns since 1601.
    #[must_use]
    pub fn to_utc(&self, time: i64) -> i64 {
        time.saturating_add(self.offset())
    }

    /// The time of the log at this time in UTC, both in 100 ns since 1601.
    #[must_use]
    pub fn from_utc(&self, time: i64) -> i64 {
        time.saturating_sub(self.offset())
    }

    fn offset(&self) -> i64 {
        i64::from(self.minutes).saturating_mul(600_000_000)
    }

    /// The `(name)(minutes)` of a header. The name may have brackets too.
    fn parse(text: &str) -> Option<Self> {
        let (name, minutes) = text.strip_prefix('(')?.strip_suffix(')')?.rsplit_once(")(")?;
        Some(Self { name: name.into(), minutes: minutes.parse().ok()? })
    }
}

/// The first line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The format.
    pub separator: Separator,
    /// None on typeperf's standard output: what zone its times are of is unknown.
    pub zone: Option<Zone>,
    /// Counter paths with their machine, as they stand there, in the order of the values.
    pub paths: Vec<String>,
    /// What a person called the log. Written last, and told from a path by not beginning with a backslash.
    pub caption: Option<String>,
}

impl Header {
    /// A PDH-CSV log in UTC.
    #[must_use]
    pub fn new(paths: Vec<String>) -> Self {
        Self { separator: Separator::Comma, zone: Some(Zone::utc()), paths, caption: None }
    }
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line<'a> {
    /// In 100 ns since 1601, in the zone of the log.
    pub time: i64,
    /// One for each path of the header, in its order; never NaN or infinite.
    pub values: &'a [Option<f64>],
}

/// A text log could not be read at all. What is wrong with a part of it is [damage](crate::Damages).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextLogError {
    /// The first line that is not empty is no header.
    #[error("at byte {at}: expected \"(PDH-CSV 4.0)\" or \"(PDH-TSV 4.0)\", found {found:?}")]
    NoHeader {
        /// Where that line begins.
        at: u64,
        /// Its beginning. Empty if there is no such line.
        found: String,
    },
    /// The header is longer than any line may be.
    #[error("at byte {at}: the header is longer than {limit} bytes")]
    LongHeader {
        /// Where it begins.
        at: u64,
        /// So long a line may be.
        limit: usize,
    },
    /// The input failed.
    #[error("cannot read on from byte {at}")]
    Io {
        /// Where.
        at: u64,
        /// Why.
        #[source]
        error: io::Error,
    },
}

/// Whether these are the first bytes of a text log, in any encoding that [`Reader`] reads.
///
/// A few hundred bytes do: what counts is the beginning of the first line that is not empty.
#[must_use]
pub fn is_one(first_bytes: &[u8]) -> bool {
    /// A quote and the mark of a format.
    const HEADER_LEN: usize = 14;
    let (encoding, mark_len) = lines::Encoding::of(first_bytes);
    let text = first_bytes.get(mark_len..).unwrap_or_default();
    let first = encoding.ascii(text).skip_while(u8::is_ascii_whitespace).take(HEADER_LEN);
    Separator::of_header(&first.collect::<Vec<_>>()).is_some()
}

/// The beginning of a text that is not what it should be, for people.
fn shown(text: &[u8]) -> String {
    const CHARS: usize = 40;
    let start = text.get(..text.len().min(CHARS.saturating_mul(4))).unwrap_or_default();
    String::from_utf8_lossy(start).chars().take(CHARS).collect()
}
