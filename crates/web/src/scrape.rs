//! Scrapes of metrics: one collection for all clients that request metrics while the collection runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use perfset_export::ExpositionFormat;
use tokio::sync::oneshot;

use crate::answer::ApiError;
use crate::sampler::Handle;

type Answer = Result<Bytes, ApiError>;

/// Clients that wait for a scrape of metrics, by its format and the names of its collectors.
type Waiting = Arc<Mutex<WaitingClients>>;

type WaitingClients = HashMap<(ExpositionFormat, Vec<String>), Vec<oneshot::Sender<Answer>>>;

/// Scrapes of metrics that are in progress.
#[derive(Debug, Default)]
pub struct Scrapes(Waiting);

impl Scrapes {
    /// Returns the metrics of some collectors as text, or of all if `names` is empty. Joins the scrape of this format
    /// and these collectors that is in progress, or begins a new one.
    pub async fn text(&self, format: ExpositionFormat, names: Vec<String>, sampler: &Handle) -> Answer {
        let (sender, receiver) = oneshot::channel();
        let is_under_way = {
            let mut waiting = lock(&self.0);
            let others = waiting.entry((format, names.clone())).or_default();
            others.push(sender);
            others.len() > 1
        };
        if !is_under_way {
            // The collecting thread responds to all clients, because the first client may disconnect meanwhile.
            // If the queue is full or the thread ends, the job is dropped unrun, and `Drop` sends this error.
            let asked = (format, names);
            let begun = Begun { waiting: Arc::clone(&self.0), asked, answer: Err(ApiError::busy()) };
            sampler.send(move |sampler| {
                let answer = sampler.scrape(format, &begun.asked.1);
                begun.end(answer);
            })?;
        }
        receiver.await.unwrap_or_else(|_| Err(ApiError::busy()))
    }
}

fn lock(waiting: &Waiting) -> MutexGuard<'_, WaitingClients> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Scrape of metrics in progress. When it ends, successfully or not, all waiting clients get their response.
struct Begun {
    waiting: Waiting,
    /// Format of the scrape, and names of its collectors.
    asked: (ExpositionFormat, Vec<String>),
    answer: Answer,
}

impl Begun {
    fn end(mut self, answer: Answer) {
        self.answer = answer;
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        // Removed together: clients that come from now on begin another scrape.
        for waiting in lock(&self.waiting).remove(&self.asked).unwrap_or_default() {
            let _ = waiting.send(self.answer.clone()); // who asked may be gone
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn scrapes_that_are_asked_together_are_one() {
        let (sampler, jobs) = Handle::new();
        let scrapes = Scrapes::default();
        let context = &mut Context::from_waker(Waker::noop());
        let mut one = pin!(scrapes.text(ExpositionFormat::Prometheus, Vec::new(), &sampler));
        let mut two = pin!(scrapes.text(ExpositionFormat::Prometheus, Vec::new(), &sampler));
        let mut other = pin!(scrapes.text(ExpositionFormat::OpenMetrics, Vec::new(), &sampler));
        assert!(one.as_mut().poll(context).is_pending());
        assert!(two.as_mut().poll(context).is_pending());
        assert!(other.as_mut().poll(context).is_pending());
        assert_eq!(jobs.try_iter().count(), 2, "one of each format");
        // The jobs were dropped: all callers get the same response, and the next request creates a new job.
        assert_eq!(one.as_mut().poll(context), Poll::Ready(Err(ApiError::busy())));
        assert_eq!(two.as_mut().poll(context), Poll::Ready(Err(ApiError::busy())));
        let mut next = pin!(scrapes.text(ExpositionFormat::Prometheus, Vec::new(), &sampler));
        assert!(next.as_mut().poll(context).is_pending());
        assert_eq!(jobs.try_iter().count(), 1);
    }

    #[test]
    fn dropped_scrape_does_not_cancel_others() {
        let (sampler, jobs) = Handle::new();
        let scrapes = Scrapes::default();
        let context = &mut Context::from_waker(Waker::noop());
        let mut other = pin!(scrapes.text(ExpositionFormat::Prometheus, Vec::new(), &sampler));
        {
            let mut first = pin!(scrapes.text(ExpositionFormat::Prometheus, Vec::new(), &sampler));
            assert!(first.as_mut().poll(context).is_pending());
            assert!(other.as_mut().poll(context).is_pending());
        }
        assert!(other.as_mut().poll(context).is_pending(), "its scrape is under way still");
        assert_eq!(jobs.try_iter().count(), 1);
    }
}
