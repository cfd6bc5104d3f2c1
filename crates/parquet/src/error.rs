//! Errors of exports, and of the roots that users write.

use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

/// Error of an export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParquetExportError {
    /// A file or directory cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// Reason for the failure.
        error: io::Error,
    },
    /// A Parquet file that exists cannot be read, or a new one cannot be written.
    #[error("{}: {error}", path.display())]
    Parquet {
        /// Path of the file.
        path: PathBuf,
        /// Reason for the failure.
        error: ParquetError,
    },
    /// An object store refuses, does not answer, or has an unusable object.
    #[error("{url}: {reason}")]
    Store {
        /// Address of the object or of its directory.
        url: String,
        /// Reason for the failure, without credentials.
        reason: String,
    },
    /// The files of the host are written by another export.
    #[error("{}: the files of host {host} are being exported by {owner}", root.display())]
    Locked {
        /// Root of the files.
        root: PathBuf,
        /// Name of the host.
        host: String,
        /// Description of the other export.
        owner: String,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Source(#[from] perfset_engine::SourceError),
    /// The log cannot be opened again for another machine.
    #[error(transparent)]
    Open(#[from] perfset_log::OpenError),
    /// A counter path of the log cannot be used.
    #[error(transparent)]
    Path(#[from] perfset_engine::path::BindError),
}

impl ParquetExportError {
    /// Returns `true` if a log cannot be read, and `false` if a file cannot be written.
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

/// Reason that an address cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// The scheme of the address is unknown.
    #[error("{0}:// is no known place: use a directory, file://, s3://, az:// or gs://")]
    Scheme(String),
    /// The address is not written as its scheme needs it.
    #[error("{0}")]
    Address(String),
    /// The library is built without object stores.
    #[error("object stores need the feature object-store")]
    Unsupported,
}
