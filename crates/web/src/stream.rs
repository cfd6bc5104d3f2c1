//! Event stream for a client: the body of a response that receives events through a queue of limited length.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::OwnedSemaphorePermit;

use crate::answer::ApiError;

/// Maximum number of events of a stream that wait for its client.
const QUEUE_LEN: usize = 16;

/// Reason for ending a stream whose client reads too slowly.
const TOO_SLOW: &str = "the reader is too slow: events were lost from here on";

/// Queue of events from the sending end to the receiving end of a stream.
#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<Bytes>,
    /// Reason for the end of the event stream; `None` while it continues.
    end: Option<&'static str>,
    /// Task that is woken for the next event of the stream. Set while the connection waits for events and has taken
    /// all earlier ones.
    waiting: Option<Waker>,
    /// `true` if the client of the stream does not read any more.
    is_gone: bool,
}

/// Sending end of an event stream, which has one viewer.
#[derive(Debug)]
pub struct StreamSender(Arc<Mutex<Queue>>);

/// Receiving end of an event stream, used as the body of the response.
#[derive(Debug)]
pub struct StreamBody {
    queue: Arc<Mutex<Queue>>,
    is_over: bool,
    /// Permit for one of the limited number of event streams.
    permit: Option<OwnedSemaphorePermit>,
    /// Log whose samples the stream sends; it counts as in use while this value exists.
    kept: Option<Arc<dyn Debug + Send + Sync>>,
}

/// Creates the queue of an event stream, and returns both its ends.
pub fn queue() -> (StreamSender, StreamBody) {
    let queue = Arc::<Mutex<Queue>>::default();
    (StreamSender(Arc::clone(&queue)), StreamBody { queue, is_over: false, permit: None, kept: None })
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StreamSender {
    /// Adds events to the stream's queue without waiting. Returns `false` if the viewer is gone, or is cut off
    /// because it reads too slowly.
    pub fn send(&self, events: Bytes) -> bool {
        let mut queue = lock(&self.0);
        if queue.is_gone || queue.end.is_some() {
            return false;
        }
        // Waiting would delay the other viewers, so a client that does not read loses its stream.
        if queue.events.len() >= QUEUE_LEN {
            drop(queue);
            return self.cut_off();
        }
        queue.events.push_back(events);
        wake(queue);
        true
    }

    /// Returns the number of events that wait for the stream's client, and the number of their bytes.
    pub fn behind(&self) -> (usize, usize) {
        let queue = lock(&self.0);
        (queue.events.len(), queue.events.iter().map(Bytes::len).fold(0, usize::saturating_add))
    }

    /// Returns `true` if the connection has taken all events of the stream and waits for the next.
    pub fn is_waiting(&self) -> bool {
        lock(&self.0).waiting.is_some()
    }

    /// Ends the event stream because its client reads too slowly, and discards the waiting events. Returns `false`,
    /// like [`send`](Self::send) afterwards.
    pub fn cut_off(&self) -> bool {
        lock(&self.0).events.clear();
        self.end(TOO_SLOW);
        false
    }

    /// Ends the event stream with a reason, after the events that wait. Only the first reason is used.
    pub fn end(&self, reason: &'static str) {
        let mut queue = lock(&self.0);
        let _ = queue.end.get_or_insert(reason);
        wake(queue);
    }

    /// Returns `true` if the client does not read any more, or the event stream has ended.
    pub fn is_gone(&self) -> bool {
        let queue = lock(&self.0);
        queue.is_gone || queue.end.is_some()
    }
}

impl Drop for StreamSender {
    fn drop(&mut self) {
        self.end("the server ends");
    }
}

/// Unlocks the queue of a stream and wakes its reader.
fn wake(mut queue: MutexGuard<'_, Queue>) {
    // The waker is called without the lock, because it may run the reader at once.
    let waiting = queue.waiting.take();
    drop(queue);
    if let Some(waker) = waiting {
        waker.wake();
    }
}

impl StreamBody {
    /// Adds a permit to the stream that is released when the stream ends.
    pub fn with_permit(mut self, permit: OwnedSemaphorePermit) -> Self {
        self.permit = Some(permit);
        self
    }

    /// Adds a value to the stream that is dropped when the stream ends.
    pub fn keeping<T: Debug + Send + Sync + 'static>(mut self, kept: Option<Arc<T>>) -> Self {
        self.kept = kept.map(|kept| -> Arc<dyn Debug + Send + Sync> { kept });
        self
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        let mut queue = lock(&self.queue);
        queue.is_gone = true;
        queue.events.clear();
    }
}

impl Body for StreamBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let mut queue = lock(&self.queue);
        if let Some(events) = queue.events.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(events))));
        }
        let Some(reason) = queue.end else {
            // Under the lock, so no event can be added unnoticed between the check and this.
            queue.waiting = Some(context.waker().clone());
            return Poll::Pending;
        };
        drop(queue);
        self.is_over = true;
        // Released before the last event is read: the client may open its next stream meanwhile.
        (self.permit, self.kept) = (None, None);
        let problem = ApiError::new(axum::http::StatusCode::SERVICE_UNAVAILABLE, reason);
        let end = format!("event: end\ndata: {}\n\n", problem.to_json());
        Poll::Ready(Some(Ok(Frame::data(end.into()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(events: &mut StreamBody) -> Option<String> {
        match Pin::new(events).poll_frame(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(Some(Ok(frame))) => {
                Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
            }
            Poll::Ready(_) => Some("over".to_owned()),
            Poll::Pending => None,
        }
    }

    const END: &str =
        "event: end\ndata: {\"error\":\"the reader is too slow: events were lost from here on\"}\n\n";

    #[test]
    fn a_reader_that_is_too_slow_is_told_so_and_nothing_waits_for_it_any_more() {
        let (viewer, mut events) = queue();
        assert_eq!((viewer.behind(), viewer.is_waiting()), ((0, 0), false));
        for n in 1..=QUEUE_LEN {
            assert!(viewer.send("four".into()));
            assert_eq!(viewer.behind(), (n, 4 * n));
        }
        assert_eq!(next(&mut events).as_deref(), Some("four"));
        assert!(viewer.send("four".into()) && !viewer.send("one too many".into()));
        assert_eq!((viewer.behind(), viewer.is_gone()), ((0, 0), true));
        assert!(!viewer.send("later".into()), "it has ended");
        drop(viewer);
        assert_eq!([next(&mut events), next(&mut events)], [Some(END.to_owned()), Some("over".to_owned())]);
    }

    #[test]
    fn an_end_comes_behind_what_was_sent() {
        let (viewer, mut events) = queue();
        assert!(viewer.send("a".into()));
        viewer.end("because");
        viewer.end("of something else");
        drop(viewer);
        let end = "event: end\ndata: {\"error\":\"because\"}\n\n".to_owned();
        assert_eq!([next(&mut events), next(&mut events)], [Some("a".to_owned()), Some(end)]);
    }

    #[test]
    fn a_queue_waits_and_a_reader_may_leave() {
        let (viewer, mut events) = queue();
        assert_eq!(next(&mut events), None);
        assert!(viewer.is_waiting());
        assert!(viewer.send("a".into()) && !viewer.is_gone() && !viewer.is_waiting());
        assert_eq!(next(&mut events).as_deref(), Some("a"));
        drop(events);
        assert!(viewer.is_gone() && !viewer.send("b".into()));
    }
}
