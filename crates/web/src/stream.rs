//! The body of a stream: events as they come, from a queue that is never long.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Receiver, Sender, channel, error::TrySendError};

use crate::answer::Problem;

/// How many events may wait for a reader.
const QUEUE_LEN: usize = 16;

/// Why a stream ends, once it does.
type Reason = Arc<OnceLock<&'static str>>;

/// Who sends: one viewer of a feed.
#[derive(Debug)]
pub struct Viewer {
    events: Sender<Bytes>,
    reason: Reason,
}

/// Who reads.
#[derive(Debug)]
pub struct Events {
    events: Receiver<Bytes>,
    reason: Reason,
    is_over: bool,
    /// One of so many streams that there may be.
    place: Option<OwnedSemaphorePermit>,
}

/// A queue of events, both its ends.
pub fn queue() -> (Viewer, Events) {
    let (sender, receiver) = channel(QUEUE_LEN);
    let reason = Reason::default();
    let viewer = Viewer { events: sender, reason: Arc::clone(&reason) };
    (viewer, Events { events: receiver, reason, is_over: false, place: None })
}

impl Viewer {
    /// Sends events without waiting; false if the viewer is gone, or is cut off because it reads too slowly.
    pub fn send(&self, events: Bytes) -> bool {
        match self.events.try_send(events) {
            Ok(()) => true,
            Err(TrySendError::Closed(_)) => false,
            Err(TrySendError::Full(_)) => self.cut_off(),
        }
    }

    /// Whether not all was read that was sent.
    pub fn has_unread(&self) -> bool {
        self.events.capacity() < self.events.max_capacity()
    }

    /// Ends it, because it reads too slowly; false, as after [`send`](Self::send).
    pub fn cut_off(&self) -> bool {
        self.end("the reader is too slow: events were lost from here on");
        false
    }

    /// Says why the stream ends, which it does when the viewer is dropped.
    pub fn end(&self, reason: &'static str) {
        let _ = self.reason.set(reason); // the first reason is it
    }

    /// Whether nobody reads any more.
    pub fn is_gone(&self) -> bool {
        self.events.is_closed()
    }
}

impl Events {
    /// The same, in a place that is free again when it ends.
    pub fn at(self, place: OwnedSemaphorePermit) -> Self {
        Self { place: Some(place), ..self }
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        self.events.poll_recv(context).map(|events| {
            let events = events.unwrap_or_else(|| {
                self.is_over = true;
                self.place = None;
                let reason = self.reason.get().copied().unwrap_or("the server ends");
                let problem = Problem::new(axum::http::StatusCode::SERVICE_UNAVAILABLE, reason);
                format!("event: end\ndata: {}\n\n", problem.to_json()).into()
            });
            Some(Ok(Frame::data(events)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(events: &mut Events) -> Option<String> {
        match Pin::new(events).poll_frame(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(Some(Ok(frame))) => {
                Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
            }
            Poll::Ready(_) => Some("over".to_owned()),
            Poll::Pending => None,
        }
    }

    #[test]
    fn who_reads_too_slowly_is_told_so() {
        let (viewer, mut events) = queue();
        assert!(!viewer.has_unread());
        for n in 0..QUEUE_LEN {
            assert!(viewer.send(n.to_string().into()) && viewer.has_unread());
        }
        assert!(!viewer.send("one too many".into()));
        drop(viewer);
        let read: Vec<_> = std::iter::from_fn(|| next(&mut events)).take(QUEUE_LEN + 2).collect();
        let end =
            "event: end\ndata: {\"error\":\"the reader is too slow: events were lost from here on\"}\n\n";
        assert_eq!((read[0].as_str(), read[QUEUE_LEN - 1].as_str()), ("0", "15"));
        assert_eq!((read[QUEUE_LEN].as_str(), read[QUEUE_LEN + 1].as_str()), (end, "over"));
    }

    #[test]
    fn a_queue_waits_and_a_reader_may_leave() {
        let (viewer, mut events) = queue();
        assert_eq!(next(&mut events), None);
        assert!(viewer.send("a".into()) && !viewer.is_gone());
        assert_eq!(next(&mut events).as_deref(), Some("a"));
        drop(events);
        assert!(viewer.is_gone() && !viewer.send("b".into()));
    }
}
