//! Record logs: values as `perfset get --format csv`, `get --format json` and `relog --format json` write them, one
//! record per value.
//!
//! [`RecordLogReader`] reads them sample by sample. Records of one sample follow each other and have the same time.
//!
//! ```
//! use perfset::log::records::{RecordLogReader, is_one};
//!
//! let log = b"time,path,counterset,instance,counter,value,status\n\
//!             2026-11-21T21:04:30.894Z,\\Memory\\Pages/sec,Memory,,Pages/sec,2.5,ok\n";
//! assert!(is_one(log));
//! let mut reader = RecordLogReader::new(&log[..])?;
//! while let Some(sample) = reader.next_sample()? {
//!     assert_eq!(sample.values, [Some(2.5)]);
//! }
//! assert_eq!(reader.paths()[0].to_string(), r"\Memory\Pages/sec");
//! # Ok::<(), perfset::log::records::RecordLogError>(())
//! ```
//!
//! **Shape**: each record names its counter, and a sample has the values of those counters that had a record so far.
//! Values are formatted by the writer. Times are UTC.

use std::error::Error;
use std::io;

use memchr::memchr;

mod csv;
mod json;
mod raw;
mod reader;
mod record;
#[cfg(test)]
mod tests;

pub use reader::{RecordLogReader, RecordSample};
pub(crate) use reader::{RecordSeries, SampleRecords};
#[cfg(feature = "sqlite")]
pub(crate) use record::{RecordedValue, number, time};

/// Maximum number of bytes of a record in a record log; a longer one is left out. Names of instances have at most
/// 1,023 units.
pub const RECORD_LIMIT: usize = 1 << 20;

/// Maximum number of pairs of counter and instance in a record log; records of further pairs are left out.
pub const SERIES_LIMIT: usize = 1 << 20;

/// Format of a record log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordFormat {
    /// CSV with a header.
    Csv,
    /// JSON lines: one object per record.
    Json,
    /// SQLite file with perfmon's tables.
    Sqlite,
}

impl RecordFormat {
    /// Returns the name of the record log's format.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Json => "JSON",
            Self::Sqlite => "SQLite",
        }
    }

    /// Returns the format of a log that begins with these bytes; `None` if it is no record log.
    fn detect(first_bytes: &[u8]) -> Option<Self> {
        let text = without_mark(first_bytes);
        if text.starts_with(b"time,path,counterset,") {
            return Some(Self::Csv);
        }
        let (key, value) = json_key(text, b'{')?;
        let is_json = [&b"time"[..], b"machine"].contains(&key) && value.starts_with(b"\"");
        (is_json && !is_wide(first_bytes)).then_some(Self::Json)
    }
}

/// Returns `true` if these first bytes of a file are those of a record log.
#[must_use]
pub fn is_one(first_bytes: &[u8]) -> bool {
    RecordFormat::detect(first_bytes).is_some()
}

/// Returns `true` if these are the first bytes of output of `get --wide`, which has no paths.
pub(crate) fn is_wide(first_bytes: &[u8]) -> bool {
    let text = without_mark(first_bytes);
    let second_key = || {
        let (_, value) = json_key(text, b'{').filter(|(key, _)| *key == b"time")?;
        let value = value.strip_prefix(b"\"")?;
        let behind = value.get(memchr(b'"', value)?.saturating_add(1)..)?;
        json_key(behind, b',').map(|(key, _)| key)
    };
    text.starts_with(b"time,counterset,instance,") || second_key() == Some(b"counterset")
}

fn without_mark(first_bytes: &[u8]) -> &[u8] {
    first_bytes.strip_prefix(raw::BYTE_ORDER_MARK).unwrap_or(first_bytes)
}

/// Returns the key of a JSON object after the brace or comma `before`, and the text after its colon.
fn json_key(text: &[u8], before: u8) -> Option<(&[u8], &[u8])> {
    let text = without_blanks(without_blanks(text).strip_prefix(&[before])?).strip_prefix(b"\"")?;
    let (key, behind) = text.split_at_checked(memchr(b'"', text)?)?;
    let behind = without_blanks(behind.strip_prefix(b"\"")?);
    Some((key, without_blanks(behind.strip_prefix(b":")?)))
}

/// Returns a text without its leading blanks and tabs.
fn without_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    text.get(blanks..).unwrap_or_default()
}

/// Error for a record log that cannot be read at all. A local error is [damage](crate::Damages) instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordLogError {
    /// The file does not begin as a record log.
    #[error("at byte 0: expected the header of CSV, or a JSON object with a time")]
    NoRecord,
    /// The file is output of `get --wide`.
    #[error("this is output of --wide, which cannot be read back; write it without --wide")]
    Wide,
    /// The CSV header of the record log lacks a field.
    #[error("at byte 0: the header has no field \"{field}\"")]
    NoField {
        /// Name of the field that the CSV header lacks.
        field: &'static str,
    },
    /// The file is a SQLite file, which is not read from a stream.
    #[error("the log is a SQLite file: it is opened by its path, and only with the feature sqlite")]
    Database,
    /// The SQLite file is no SQL log, or is damaged.
    #[error("cannot read the SQLite file")]
    Sqlite(#[source] Box<dyn Error + Send + Sync>),
    /// Reading the input of the record log failed.
    #[error("cannot read the log from byte {offset} on")]
    Io {
        /// Offset of the first byte of the record log that could not be read.
        offset: u64,
        /// Error of the system that reading the record log returned.
        #[source]
        error: io::Error,
    },
}
