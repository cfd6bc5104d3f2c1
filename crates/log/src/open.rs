//! A log of any kind, told by its first bytes.

use std::error::Error;
use std::io::{self, Chain, Cursor, Read};

use perfset_engine::SourceError;

use crate::{blg, text};

/// A log of any kind.
#[derive(Debug)]
#[non_exhaustive]
pub enum Log<R> {
    /// A binary log of Windows.
    Blg(blg::Reader<Begun<R>>),
    /// PDH-CSV or PDH-TSV.
    Text(text::Reader<Begun<R>>),
}

/// What was read to tell the kind, and the rest.
pub type Begun<R> = Chain<Cursor<Vec<u8>>, R>;

/// A file cannot be read as a log at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The path is that of a pipe or a device, which cannot be read more than once.
    #[error("not a regular file: a log is read more than once, so write what a pipe carries to a file first")]
    NotAFile,
    /// The file has another format.
    #[error("not a log: it begins neither as a binary log of Windows nor as PDH-CSV or PDH-TSV")]
    Unknown,
    /// It is a binary log that says nothing of itself.
    #[error(transparent)]
    Blg(#[from] blg::BlgError),
    /// It is a text log without a header.
    #[error(transparent)]
    Text(#[from] text::TextLogError),
    /// It could not be read.
    #[error("cannot be read")]
    Io(#[from] io::Error),
}

impl LogError {
    /// Whether the file could not be read, rather than made no sense.
    #[must_use]
    pub fn is_io(&self) -> bool {
        matches!(
            self,
            Self::Io(_) | Self::Blg(blg::BlgError::Io(_)) | Self::Text(text::TextLogError::Io { .. })
        )
    }
}

/// As a text, with all that caused it.
impl From<LogError> for SourceError {
    fn from(error: LogError) -> Self {
        let causes = std::iter::successors(error.source(), |&cause| cause.source());
        Self::Failed(causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}")).into())
    }
}

impl<R: Read> Log<R> {
    /// Reads what a log says of itself.
    ///
    /// ```
    /// use perfset_log::Log;
    ///
    /// let csv = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\\\\\HOST\\\\Memory\\\\Available Bytes\"\r\n";
    /// assert!(matches!(Log::open(csv.as_bytes()), Ok(Log::Text(_))));
    /// assert!(Log::open(&b"something else"[..]).is_err());
    /// ```
    ///
    /// # Errors
    /// If it is empty or no log, or cannot be read.
    pub fn open(mut read: R) -> Result<Self, LogError> {
        const TELLING: u64 = 512;
        let mut first = Vec::new();
        read.by_ref().take(TELLING).read_to_end(&mut first)?;
        if first.is_empty() {
            return Err(LogError::Empty);
        }
        let (is_blg, is_text) = (blg::is_one(&first), text::is_one(&first));
        let begun = Cursor::new(first).chain(read);
        match (is_blg, is_text) {
            (true, _) => Ok(Self::Blg(blg::Reader::open(begun)?)),
            (_, true) => Ok(Self::Text(text::Reader::new(begun)?)),
            _ => Err(LogError::Unknown),
        }
    }
}
