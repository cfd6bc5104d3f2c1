//! Streams of samples that are taken when somebody says so, without threads and connections: for tests.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use http_body::Body as _;
use perfset::Machine;
use perfset_export::Exporter;

use crate::request;
use crate::sampler::Sampler;
use crate::server::Limits;
use crate::stream::Events;
use crate::unread::Unread;

/// What collects, and is told when.
#[derive(Debug)]
pub struct Stepped(Sampler);

/// Who reads a stream.
#[derive(Debug)]
pub struct Reader(Events);

impl Stepped {
    /// Of a machine, whose page shows nothing by itself.
    ///
    /// # Errors
    /// If the machine cannot be asked.
    pub fn new(machine: Machine, interval: Duration) -> io::Result<Self> {
        let exporter = Exporter::open(machine.clone(), &[], perfset_export::Options::default());
        let exporter = exporter.map_err(io::Error::other)?;
        let sampler = Sampler::new(machine, exporter, &[], interval, Limits::default(), Unread::default());
        sampler.map(Self).map_err(|problem| io::Error::other(problem.to_json()))
    }

    /// What `/api/stream` with this query string gives, to somebody who has read up to the event `last`.
    ///
    /// # Errors
    /// What the request is answered instead.
    pub fn join(&mut self, query: &str, last: Option<i64>) -> io::Result<Reader> {
        let request = request::stream(query).map_err(io::Error::other)?;
        let history_ms = i64::from(request.history_s).saturating_mul(1_000);
        let events = self.0.join(&request.asks, last, history_ms);
        events.map(Reader).map_err(|problem| io::Error::other(problem.to_json()))
    }

    /// Takes a sample, and sends it to all who read.
    pub fn sample(&mut self) {
        self.0.sample(Instant::now());
    }
}

impl Reader {
    /// All that was sent since it was read last.
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
