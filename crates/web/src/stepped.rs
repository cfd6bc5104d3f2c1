//! Streams of samples that are taken on request, without threads and connections, for tests.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use http_body::Body as _;
use perfset::Machine;
use perfset_export::Exporter;

use crate::limits::Limits;
use crate::request;
use crate::sampler::Sampler;
use crate::stream::StreamBody;
use crate::unread::UnreadBytes;

/// Sampler of a server that takes a sample only when [`Stepped::sample`] is called.
#[derive(Debug)]
pub struct Stepped(Sampler);

/// Client that reads an event stream of a test's sampler.
#[derive(Debug)]
pub struct StepReader(StreamBody);

impl Stepped {
    /// Creates a sampler of a machine for a test; the sampler collects only counter paths that clients request.
    ///
    /// # Errors
    /// If the machine cannot be queried.
    pub fn new(machine: Machine, interval: Duration) -> io::Result<Self> {
        let exporter = Exporter::open(machine.clone(), &[], perfset_export::ExportOptions::default());
        let exporter = exporter.map_err(io::Error::other)?;
        let limits = Limits::default();
        let sampler = Sampler::new(machine, exporter, &[], interval, limits, UnreadBytes::new(limits.unread));
        sampler.map(Self).map_err(|problem| io::Error::other(problem.to_json()))
    }

    /// Begins the event stream of `/api/stream` with this query string, for a client that has read up to the event
    /// `last`.
    ///
    /// # Errors
    /// The error response to the request.
    pub fn join(&mut self, query: &str, last: Option<i64>) -> io::Result<StepReader> {
        let request = request::stream(query).map_err(io::Error::other)?;
        let history_ms = i64::from(request.history_s).saturating_mul(1_000);
        let events = self.0.join(&request.asks, &request.range, last, history_ms);
        events.map(StepReader).map_err(|problem| io::Error::other(problem.to_json()))
    }

    /// Returns the number of bytes of events that wait to be read by clients.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.0.unread()
    }

    /// Takes a sample and sends it to the clients of all streams.
    pub fn sample(&mut self) {
        self.0.sample(Instant::now());
    }
}

impl StepReader {
    /// Returns all events that were sent to the client since the last call.
    pub fn read(&mut self) -> String {
        let mut text = Vec::new();
        while let Poll::Ready(Some(Ok(frame))) =
            Pin::new(&mut self.0).poll_frame(&mut Context::from_waker(Waker::noop()))
        {
            text.extend_from_slice(&frame.into_data().unwrap_or_default());
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}
