//! Errors of creating an exporter of metrics.

use perfset_engine::SourceError;
use perfset_engine::path::BindError;

/// Reason why an exporter of the given counter paths cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A counter path cannot be bound on the source.
    #[error("{path}: {error}")]
    Path {
        /// Counter path that cannot be bound.
        path: String,
        /// Reason for which the counter path cannot be bound.
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
        /// Name of the metric that two counters would have.
        metric: String,
        /// Path of the first counter with this metric.
        first: String,
        /// Path of the second counter that would have the same metric.
        second: String,
    },
    /// The prefix, which this variant contains, cannot begin the name of a metric.
    #[error("\"{0}\" cannot begin the name of a metric: use letters, digits and _, with no digit first")]
    Prefix(String),
    /// The source of the exported counters failed.
    #[error(transparent)]
    Source(#[from] SourceError),
}
