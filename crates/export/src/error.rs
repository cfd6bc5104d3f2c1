//! Errors of creating an exporter.

use perfset_engine::SourceError;
use perfset_engine::path::{BindError, PathError};

/// Reason why an exporter of the given paths cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A path cannot be bound on this source.
    #[error("{path}: {error}")]
    Path {
        /// Counter path that cannot be exported.
        path: String,
        /// Reason for the failure.
        error: BindError,
    },
    /// No counter that a path names has a number to export: bases and texts have none, and flags must be named in
    /// full.
    #[error("{path} has no number to export")]
    NoNumber {
        /// Counter path that cannot be exported.
        path: String,
    },
    /// Two counters would have the same metric.
    #[error("{first} and {second} would both be {metric}: leave one out")]
    Collision {
        /// Name of the metric.
        metric: String,
        /// Path of the first counter with this metric.
        first: String,
        /// Path of the second counter that would have the same metric.
        second: String,
    },
    /// The prefix, which this variant contains, cannot begin the name of a metric.
    #[error("\"{0}\" cannot begin the name of a metric: use letters, digits and _, with no digit first")]
    Prefix(String),
    /// The source of the counters failed.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Reason why a file with counter paths cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryFileError {
    /// The file cannot be opened or read.
    #[error("cannot read {file}")]
    File {
        /// Name of the file, as the caller gave it.
        file: String,
        /// Reason for the failure.
        #[source]
        error: std::io::Error,
    },
    /// A line of the file is not UTF-8.
    #[error("{file}:{line}: the line is not UTF-8")]
    Text {
        /// Name of the file, as the caller gave it.
        file: String,
        /// Line number, from 1.
        line: usize,
    },
    /// A line is not a counter path.
    #[error("{file}:{line}: {error}")]
    Path {
        /// Name of the file, as the caller gave it.
        file: String,
        /// Line number, from 1.
        line: usize,
        /// Reason for the failure.
        error: PathError,
    },
    /// The file contains no path.
    #[error("{file}: the file contains no counter path")]
    Empty {
        /// Name of the file, as the caller gave it.
        file: String,
    },
    /// The file is larger than a file of counter paths can sensibly be.
    #[error("{file}: the file has more than {most} bytes")]
    TooLarge {
        /// Name of the file, as the caller gave it.
        file: String,
        /// Maximum number of bytes that are read.
        most: usize,
    },
}
