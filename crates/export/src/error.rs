//! Why an exporter could not be made.

use perfset_engine::SourceError;
use perfset_engine::path::{BindError, PathError};

/// An exporter of these paths cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A path means nothing on this source.
    #[error("{path}: {error}")]
    Path {
        /// The path.
        path: String,
        /// Why.
        error: BindError,
    },
    /// Nothing that a path names has a number to export: bases and texts have none, and flags are named in full.
    #[error("{path} has no number to export")]
    NoNumber {
        /// The path.
        path: String,
    },
    /// Two counters would have the same metric.
    #[error("{first} and {second} would both be {metric}: leave one out")]
    Collision {
        /// The name of the metric.
        metric: String,
        /// The path of the counter that has it.
        first: String,
        /// The path of the other.
        second: String,
    },
    /// No metric may begin like that.
    #[error("\"{0}\" cannot begin the name of a metric: letters, digits and _, no digit first")]
    Prefix(String),
    /// The source failed.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// A file with counter paths cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryFileError {
    /// The file cannot be opened or read.
    #[error("cannot read {file}")]
    File {
        /// Its name.
        file: String,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// It is no text.
    #[error("{file}:{line}: not UTF-8")]
    Text {
        /// Its name.
        file: String,
        /// The line, from 1.
        line: usize,
    },
    /// A line is no counter path.
    #[error("{file}:{line}: {error}")]
    Path {
        /// Its name.
        file: String,
        /// The line, from 1.
        line: usize,
        /// Why.
        error: PathError,
    },
    /// It has no path at all.
    #[error("{file}: no counter path is in it")]
    Empty {
        /// Its name.
        file: String,
    },
    /// It is larger than such a file can sensibly be.
    #[error("{file}: more than {most} bytes")]
    TooLarge {
        /// Its name.
        file: String,
        /// As many are read at most.
        most: usize,
    },
}
