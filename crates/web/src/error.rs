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
    /// Error for an address on which the server cannot listen.
    #[error("cannot listen on {address}")]
    Listen {
        /// Address on which the server cannot listen.
        address: SocketAddr,
        /// Error of the operating system for the address.
        source: io::Error,
    },
    /// Error for metrics that cannot be exported with these paths and options.
    #[error(transparent)]
    Metrics(#[from] ExportError),
    /// Error for a history that needs more samples than can be stored.
    #[error(
        "a history of {} s needs {samples} samples, one per {interval:?}; {most} fit: the longest is {} s",
        history.as_secs_f64(), longest.as_secs_f64()
    )]
    History {
        /// Length of time that the requested history covers.
        history: Duration,
        /// Time between two samples of the history.
        interval: Duration,
        /// Number of samples in the requested history.
        samples: usize,
        /// Maximum number of samples that can be stored.
        most: usize,
        /// Longest history that is possible at this interval.
        longest: Duration,
    },
    /// Error for a log that has no data to show.
    #[error("the log cannot be shown: {0}")]
    Log(String),
    /// Error for secrets of browser logins that cannot be created, because the system has no random numbers.
    #[error("cannot create random numbers for logins")]
    Login(#[source] TokenError),
    /// Error of the operating system at the start of the server.
    #[error("cannot start the server")]
    Start(#[source] io::Error),
    /// Error for a collecting thread that ended although the server was not stopped.
    #[error("the collecting thread ended unexpectedly")]
    Ended,
}
