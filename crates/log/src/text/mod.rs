//! Text logs: PDH-CSV 4.0 and PDH-TSV 4.0.
//!
//! [`TextLogReader`] reads, line by line, the logs of perfmon, relog, logman, typeperf and VMware's esxtop.
//! [`TextLogWriter`] writes the same format.
//!
//! ```
//! use perfset::log::text::{TextLogReader, is_one};
//!
//! let log = b"\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\HOST\\Memory\\Available MBytes\"\r\n\
//!             \"10/29/2017 01:59:44.562\",\"2048\"\r\n";
//! assert!(is_one(log));
//! let mut reader = TextLogReader::new(&log[..])?;
//! while let Some(line) = reader.next_line()? {
//!     assert_eq!((line.time, line.values), (131_537_159_845_620_000, &[Some(2048.0)][..]));
//! }
//! assert!(reader.damages().is_empty());
//! # Ok::<(), perfset::log::text::TextLogError>(())
//! ```
//!
//! **Shape**: a header has the paths of all counters. A line has a time, and for each path a value or none.

use std::io;

mod fields;
mod lines;
mod reader;
mod writer;
#[cfg(test)]
mod tests;

pub use reader::TextLogReader;
pub use writer::{TextLogWriter, TextNumber};

/// Maximum number of bytes of a line in a text log; a longer line is omitted.
pub const LINE_LIMIT: usize = 64 << 20;

/// Maximum number of counter paths read from a text log's header; values of further paths are omitted.
pub const PATH_LIMIT: usize = 1 << 20;

/// Separator between two fields of a text log, which distinguishes the formats PDH-CSV and PDH-TSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Separator {
    /// A comma, as in PDH-CSV.
    Comma,
    /// A tab, as in PDH-TSV.
    Tab,
}

impl Separator {
    /// Returns the name of the format as it is in the header of a log: `PDH-CSV` or `PDH-TSV`.
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

    /// Returns the separator of a log with this header line; `None` if the line is no header.
    fn from_header(line: &[u8]) -> Option<Self> {
        // Fields may be without quotes.
        let line = line.strip_prefix(b"\"").unwrap_or(line);
        [Self::Comma, Self::Tab].into_iter().find(|separator| line.starts_with(separator.mark().as_bytes()))
    }
}

/// Time zone of the times in a text log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Display name of the time zone in the language of the recorded machine. If the name contradicts the minutes,
    /// trust the minutes.
    pub name: String,
    /// Minutes added to a time of the log to get UTC: 300 is US Eastern standard time, -60 an hour east of UTC.
    ///
    /// The value was correct when the log was opened. If daylight saving began or ended later, subsequent times are
    /// wrong by an hour, and the log does not show it.
    pub minutes: i32,
}

impl Zone {
    /// Returns the time zone UTC with the name that perfset and esxtop write.
    #[must_use]
    pub fn utc() -> Self {
        Self { name: "UTC".into(), minutes: 0 }
    }

    /// Converts a time of the log to UTC, both in 100 ns since 1601.
    #[must_use]
    pub fn to_utc(&self, time: i64) -> i64 {
        time.saturating_add(self.offset())
    }

    /// Converts a UTC time to a time of the log, both in 100 ns since 1601.
    #[must_use]
    pub fn from_utc(&self, time: i64) -> i64 {
        time.saturating_sub(self.offset())
    }

    fn offset(&self) -> i64 {
        i64::from(self.minutes).saturating_mul(600_000_000)
    }

    /// Parses the time zone in the header of a log, `(name)(minutes)`. The name may contain brackets.
    fn parse(text: &str) -> Option<Self> {
        let (name, minutes) = text.strip_prefix('(')?.strip_suffix(')')?.rsplit_once(")(")?;
        Some(Self { name: name.into(), minutes: minutes.parse().ok()? })
    }
}

/// Header: the first line of a text log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Separator of the log, which identifies its format.
    pub separator: Separator,
    /// Time zone of the text log. `None` for typeperf's standard output, whose time zone is unknown.
    pub zone: Option<Zone>,
    /// Counter paths of the log, unchanged and with their machine, in the order of the values.
    pub paths: Vec<String>,
    /// User-defined name of the log. The last field of the header is a caption if it does not begin with a backslash.
    pub caption: Option<String>,
}

impl Header {
    /// Creates the header of a PDH-CSV log in UTC.
    #[must_use]
    pub fn new(paths: Vec<String>) -> Self {
        Self { separator: Separator::Comma, zone: Some(Zone::utc()), paths, caption: None }
    }
}

/// Sample of a text log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line<'a> {
    /// Time of the sample in 100 ns since 1601, in the zone of the log.
    pub time: i64,
    /// Values of the sample in the order of the header's paths, one per path; never NaN or infinite.
    pub values: &'a [Option<f64>],
}

/// Error for a text log that cannot be read at all. A local error is [damage](crate::Damages) instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextLogError {
    /// The first nonempty line of the file is not the header of a text log.
    #[error("at byte {offset}: expected \"(PDH-CSV 4.0)\" or \"(PDH-TSV 4.0)\", found {found:?}")]
    NoHeader {
        /// Offset in the file of the first nonempty line.
        offset: u64,
        /// Beginning of the file's first nonempty line; empty if there is none.
        found: String,
    },
    /// The header of the text log is longer than the limit for lines.
    #[error("at byte {offset}: the header is longer than {limit} bytes")]
    LongHeader {
        /// Offset of the header in the file of the text log.
        offset: u64,
        /// Maximum number of bytes that a line of a text log may have.
        limit: usize,
    },
    /// Reading the input of the text log failed.
    #[error("cannot read the log from byte {offset} on")]
    Io {
        /// Offset of the first byte of the text log that could not be read.
        offset: u64,
        /// Error of the system that reading the text log returned.
        #[source]
        error: io::Error,
    },
}

/// Returns `true` if these are the first bytes of a text log, in any encoding that [`TextLogReader`] supports.
///
/// A few hundred bytes are enough: only the beginning of the first nonempty line is checked.
#[must_use]
pub fn is_one(first_bytes: &[u8]) -> bool {
    /// Length in bytes of an opening quote and a format mark such as `(PDH-CSV 4.0)`.
    const HEADER_LEN: usize = 14;
    let (encoding, mark_len) = lines::Encoding::detect(first_bytes);
    let text = first_bytes.get(mark_len..).unwrap_or_default();
    let first = encoding.ascii(text).skip_while(u8::is_ascii_whitespace).take(HEADER_LEN);
    Separator::from_header(&first.collect::<Vec<_>>()).is_some()
}

/// Returns the beginning of an invalid text in a log for a message.
fn shown(text: &[u8]) -> String {
    const CHARS: usize = 40;
    // Four bytes per character are enough, and an invalid line may have 64 MiB.
    let start = text.get(..text.len().min(CHARS.saturating_mul(4))).unwrap_or_default();
    String::from_utf8_lossy(start).chars().take(CHARS).collect()
}
