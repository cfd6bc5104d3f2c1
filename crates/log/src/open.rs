//! Opened log of any format, detected by its first bytes.

use std::error::Error;
use std::fs::File;
use std::io::{self, Chain, Cursor, Read};
use std::path::Path;

use perfset_engine::SourceError;

use crate::recording::RecordingError;
use crate::{blg, records, text};

/// Opened log of any format.
#[derive(Debug)]
#[non_exhaustive]
pub enum Log<R> {
    /// Binary log of Windows.
    Blg(blg::BlgReader<PrefixedReader<R>>),
    /// Text log: PDH-CSV or PDH-TSV.
    Text(text::TextLogReader<PrefixedReader<R>>),
    /// Record log: CSV or JSON lines of perfset.
    Records(records::RecordLogReader<PrefixedReader<R>>),
}

/// Reader of a log that begins with the bytes already read to detect the log's format.
pub type PrefixedReader<R> = Chain<Cursor<Vec<u8>>, R>;

/// Error for a file that cannot be read as a log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file that was named as a log is empty.
    #[error("the file is empty")]
    Empty,
    /// The path leads to a pipe or a device, which cannot be read more than once.
    #[error(
        "the log is not a regular file: it is read more than once, so write the data of a pipe to a file first"
    )]
    NotAFile,
    /// The file has no known format of a log.
    #[error(
        "the file is not a log: expected a binary log of Windows, PDH-CSV, PDH-TSV, or CSV or JSON of perfset"
    )]
    Unknown,
    /// The file is a binary log without a valid header.
    #[error(transparent)]
    Blg(#[from] blg::BlgError),
    /// The file is a text log without a valid header.
    #[error(transparent)]
    Text(#[from] text::TextLogError),
    /// The file is a record log without the required fields.
    #[error(transparent)]
    Records(#[from] records::RecordLogError),
    /// The file or directory is no recording that can be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A recording was named together with other logs, which cannot be merged with it.
    #[error("a recording is read alone: name one directory or one file of a recording, and no other logs")]
    RecordingAmongOthers,
    /// The file of the log cannot be read.
    #[error("cannot read the log")]
    Io(#[from] io::Error),
}

impl LogError {
    /// Returns `true` if reading the log's file failed; `false` if its contents are invalid.
    #[must_use]
    pub fn is_io(&self) -> bool {
        matches!(
            self,
            Self::Io(_)
                | Self::Recording(RecordingError::Io(_))
                | Self::Blg(blg::BlgError::Io(_))
                | Self::Text(text::TextLogError::Io { .. })
                | Self::Records(records::RecordLogError::Io { .. })
        )
    }
}

/// Converts the error of a log and its causes to one text.
impl From<LogError> for SourceError {
    fn from(error: LogError) -> Self {
        let causes = std::iter::successors(error.source(), |&cause| cause.source());
        Self::Failed(causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}")).into())
    }
}

/// First bytes of a SQLite file.
const SQLITE: &[u8] = b"SQLite format 3\0";

impl Log<Box<dyn Read + Send>> {
    /// Opens a log file as [`open`](Log::open) does, and also a SQLite file if the feature `sqlite` is enabled.
    ///
    /// # Errors
    /// Errors of [`open`](Log::open).
    pub fn open_file(file: &Path) -> Result<Self, LogError> {
        let opened: Box<dyn Read + Send> = Box::new(File::open(file)?);
        Self::open_named(file, opened)
    }

    /// Opens a log of any format from its path and the opened file.
    pub(crate) fn open_named(file: &Path, opened: Box<dyn Read + Send>) -> Result<Self, LogError> {
        match Self::open(opened) {
            #[cfg(feature = "sqlite")]
            Err(LogError::Records(records::RecordLogError::Database)) => {
                Ok(Self::Records(records::RecordLogReader::open_sqlite(file)?))
            }
            opened => {
                let _ = file; // only SQLite opens it again
                opened
            }
        }
    }
}

impl<R: Read> Log<R> {
    /// Opens a log of any format: detects the format and reads the log's header.
    ///
    /// ```
    /// use perfset::log::Log;
    ///
    /// let csv = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\\\\\HOST\\\\Memory\\\\Available Bytes\"\r\n";
    /// assert!(matches!(Log::open(csv.as_bytes()), Ok(Log::Text(_))));
    /// assert!(Log::open(&b"something else"[..]).is_err());
    /// ```
    ///
    /// # Errors
    /// If the file is empty, is not a log, or cannot be read.
    pub fn open(mut read: R) -> Result<Self, LogError> {
        // The headers of a binary log need 104 bytes; a text log may begin with blank lines.
        const TELLING: u64 = 512;
        let mut first = Vec::new();
        // Read and chained before the rest, because a pipe cannot be read again from its beginning.
        read.by_ref().take(TELLING).read_to_end(&mut first)?;
        if first.is_empty() {
            return Err(LogError::Empty);
        }
        if first.starts_with(SQLITE) {
            return Err(records::RecordLogError::Database.into());
        }
        let (is_blg, is_text) = (blg::is_one(&first), text::is_one(&first));
        let (is_records, is_wide) = (records::is_one(&first), records::is_wide(&first));
        let begun = Cursor::new(first).chain(read);
        match (is_blg, is_text) {
            (true, _) => Ok(Self::Blg(blg::BlgReader::open(begun)?)),
            (_, true) => Ok(Self::Text(text::TextLogReader::new(begun)?)),
            _ if is_wide => Err(records::RecordLogError::Wide.into()),
            _ if is_records => Ok(Self::Records(records::RecordLogReader::new(begun)?)),
            _ => Err(LogError::Unknown),
        }
    }
}
