//! Scrapes: one collection for all who ask while it runs.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use perfset_export::Format;
use tokio::sync::oneshot;

use crate::answer::Problem;
use crate::sampler::Handle;

type Answer = Result<Bytes, Problem>;

/// Who waits for a scrape that is under way, by its format.
#[derive(Debug, Default)]
pub struct Scrapes {
    waiting: Mutex<HashMap<Format, Vec<oneshot::Sender<Answer>>>>,
}

impl Scrapes {
    /// The text of a scrape: of the one under way, or of one that begins now.
    pub async fn text(&self, format: Format, sampler: &Handle) -> Answer {
        if let Some(under_way) = self.join(format) {
            return under_way.await.unwrap_or_else(|_| Err(Problem::busy()));
        }
        // Should who began it go away meanwhile, those who wait are not left behind.
        let mut begun = Begun { scrapes: self, format, answer: Err(Problem::busy()) };
        begun.answer = sampler.ask(move |sampler| sampler.scrape(format)).await.and_then(|answer| answer);
        begun.answer.clone()
    }

    /// What comes of the scrape under way; if there is none, one begins.
    fn join(&self, format: Format) -> Option<oneshot::Receiver<Answer>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting.get_mut(&format) {
            Some(others) => {
                let (sender, receiver) = oneshot::channel();
                others.push(sender);
                Some(receiver)
            }
            None => {
                waiting.insert(format, Vec::new());
                None
            }
        }
    }
}

/// A scrape that somebody waits for.
struct Begun<'a> {
    scrapes: &'a Scrapes,
    format: Format,
    answer: Answer,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let mut waiting = self.scrapes.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for waiting in waiting.remove(&self.format).unwrap_or_default() {
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
        let mut one = pin!(scrapes.text(Format::Prometheus, &sampler));
        let mut two = pin!(scrapes.text(Format::Prometheus, &sampler));
        let mut other = pin!(scrapes.text(Format::OpenMetrics, &sampler));
        assert!(one.as_mut().poll(context).is_pending());
        assert!(two.as_mut().poll(context).is_pending());
        assert!(other.as_mut().poll(context).is_pending());
        assert_eq!(jobs.try_iter().count(), 2, "one of each format");
        // Nobody did them: all get the same answer, and the next one begins anew.
        assert_eq!(one.as_mut().poll(context), Poll::Ready(Err(Problem::busy())));
        assert_eq!(two.as_mut().poll(context), Poll::Ready(Err(Problem::busy())));
        let mut next = pin!(scrapes.text(Format::Prometheus, &sampler));
        assert!(next.as_mut().poll(context).is_pending());
        assert_eq!(jobs.try_iter().count(), 1);
    }
}
