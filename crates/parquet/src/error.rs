//! Errors of exports to Parquet files, and of the addresses to which users export.

use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

/// Error of an export to Parquet files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParquetExportError {
    /// A file or directory of the export cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file or directory that cannot be read or written.
        path: PathBuf,
        /// Error of the system for the file or directory.
        error: io::Error,
    },
    /// A Parquet file that exists cannot be read, or a new one cannot be written.
    #[error("{}: {error}", path.display())]
    Parquet {
        /// Path of the Parquet file that cannot be read or written.
        path: PathBuf,
        /// Error that the Parquet reader or writer returned.
        error: ParquetError,
    },
    /// An object store refuses a request, does not respond, or has an unusable object.
    #[error("{url}: {reason}")]
    Store {
        /// Address of the object or of its directory.
        url: String,
        /// Reason for the failed request to the object store, without credentials.
        reason: String,
    },
    /// Parquet files of the same host are being written by another export.
    #[error("{}: the files of host {host} are being exported by {owner}", root.display())]
    Locked {
        /// Root directory of the exported files.
        root: PathBuf,
        /// Name of the host whose files are being written.
        host: String,
        /// Description that the other export wrote about itself.
        owner: String,
    },
    /// The exported log cannot be read.
    #[error(transparent)]
    Source(#[from] perfset_engine::SourceError),
    /// The exported log cannot be opened again for another machine.
    #[error(transparent)]
    Open(#[from] perfset_log::OpenError),
    /// A counter path of the exported log cannot be used.
    #[error(transparent)]
    Path(#[from] perfset_engine::path::BindError),
}

impl ParquetExportError {
    /// Returns `true` if the exported log cannot be read; `false` if a file cannot be written.
    #[must_use]
    pub fn is_of_source(&self) -> bool {
        matches!(self, Self::Source(_) | Self::Open(_) | Self::Path(_))
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |error| Self::Io { path: path.to_owned(), error }
    }

    pub(crate) fn parquet(path: &Path) -> impl FnOnce(ParquetError) -> Self + '_ {
        |error| match error {
            // The system's own text says most.
            ParquetError::External(error) => match error.downcast::<io::Error>() {
                Ok(error) => Self::Io { path: path.to_owned(), error: *error },
                Err(error) => Self::Parquet { path: path.to_owned(), error: ParquetError::External(error) },
            },
            error => Self::Parquet { path: path.to_owned(), error },
        }
    }
}

/// Reason that a root address for exported files cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// The scheme of the root address, such as `s3`, is unknown.
    #[error("{0}:// is no known place: use a directory, file://, s3://, az:// or gs://")]
    Scheme(String),
    /// The root address does not have the form that its scheme requires.
    #[error("{0}")]
    Address(String),
    /// The root is an object store, and the library is built without them.
    #[error("object stores need the feature object-store")]
    Unsupported,
}
