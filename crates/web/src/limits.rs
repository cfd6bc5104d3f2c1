//! Limits of the HTTP server: numbers, sizes and times.

use std::time::Duration;

use crate::error::ServeError;

/// Maximum number of bytes in one piece of a log that a client uploads.
pub(crate) const PIECE_MOST: u64 = 1 << 20;

/// Limits of the HTTP server: numbers, sizes and times.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of series of the server, running or ended.
    pub series: usize,
    /// Maximum number of stored values of each series.
    pub values: usize,
    /// Maximum number of open event streams.
    pub streams: usize,
    /// Maximum number of different counter paths that the server collects.
    pub paths: usize,
    /// Maximum number of open connections to the server.
    pub connections: usize,
    /// Maximum number of connections without a valid token, if one is required, or without any request yet. These are
    /// part of `connections`; a new one takes the place of the oldest.
    pub strangers: usize,
    /// Time in which a connection must send its first request, with a valid token if the server requires one.
    pub first_time: Duration,
    /// Maximum time for a further request to arrive, and for a connection to wait for it: longer than the pause
    /// between scrapes.
    pub header_time: Duration,
    /// Maximum time for which a write waits for a client that does not read.
    pub patience: Duration,
    /// Maximum number of bytes of responses and events that wait to be read by clients. Above it, the slowest clients
    /// are cut off.
    pub unread: usize,
    /// Maximum number of bytes of scrapes that wait to be read by clients. Scrapes continue while other clients do
    /// not read.
    pub unread_scrapes: usize,
    /// Length of time for which values are stored. `None` is one hour, or less if [`Limits::values`] samples do not
    /// cover it.
    pub history: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            series: 4_000,
            values: 3_600,
            streams: 256,
            paths: 512,
            connections: 512,
            strangers: 64,
            first_time: Duration::from_secs(10),
            // Longer than one minute, the default scrape interval of Prometheus.
            header_time: Duration::from_secs(75),
            patience: Duration::from_secs(20),
            unread: 32 << 20,
            unread_scrapes: 16 << 20,
            history: None,
        }
    }
}

impl Limits {
    /// Returns the number of samples for which the server stores values.
    ///
    /// # Errors
    /// If the history needs more samples than can be stored.
    pub(crate) fn depth(&self, interval: Duration) -> Result<usize, ServeError> {
        let history = self.history.unwrap_or(Duration::from_secs(3_600));
        let samples = history.as_nanos().checked_div(interval.as_nanos()).unwrap_or(u128::MAX);
        let samples = usize::try_from(samples).unwrap_or(usize::MAX);
        let most = self.values.max(1);
        let longest = interval.saturating_mul(u32::try_from(most).unwrap_or(u32::MAX));
        match self.history {
            Some(history) if samples > most && !interval.is_zero() => {
                Err(ServeError::History { history, interval, samples, most, longest })
            }
            _ => Ok(samples.clamp(1, most)),
        }
    }
}
