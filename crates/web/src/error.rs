//! Reasons why a server cannot start or continue.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use perfset_export::ExportError;

use crate::token::TokenError;

/// Reason why a server cannot start or continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The server cannot listen on an address.
    #[error("cannot listen on {address}")]
    Listen {
        /// Address that cannot be used.
        address: SocketAddr,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The metrics cannot be exported with these paths and options.
    #[error(transparent)]
    Metrics(#[from] ExportError),
    /// The history needs more samples than can be stored.
    #[error(
        "a history of {} s needs {samples} samples, one per {interval:?}; {most} fit: the longest is {} s",
        history.as_secs_f64(), longest.as_secs_f64()
    )]
    History {
        /// Requested time of history.
        history: Duration,
        /// Time between two samples.
        interval: Duration,
        /// Number of samples in that history.
        samples: usize,
        /// Maximum number of samples stored.
        most: usize,
        /// Longest history that is possible at this interval.
        longest: Duration,
    },
    /// The log has no data to show.
    #[error("the log cannot be shown: {0}")]
    Log(String),
    /// No login numbers for browsers can be created.
    #[error("cannot create random numbers for logins")]
    Login(#[source] TokenError),
    /// The server cannot start.
    #[error("cannot start the server")]
    Start(#[source] io::Error),
    /// The collecting thread ended although the server was not stopped.
    #[error("the collecting thread ended unexpectedly")]
    Ended,
}
