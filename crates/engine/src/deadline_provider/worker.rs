//! Provider with its queue of requests, and the thread that calls it.

use std::sync::atomic::{AtomicUsize, Ordering::AcqRel};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::requests::{WorkerReply, WorkerRequest};
use crate::provider::{Provider, guarded};

/// Provider with its queues of requests and replies, for the thread that calls the provider.
pub(super) struct Work {
    inner: Mutex<Inner>,
    /// Number of requests that the provider has not processed yet.
    pub waiting: AtomicUsize,
}

struct Inner {
    provider: Box<dyn Provider>,
    inbox: Receiver<WorkerRequest>,
    outbox: Sender<WorkerReply>,
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl Work {
    /// Creates a provider with its queues, in which no request waits.
    pub fn new(
        provider: Box<dyn Provider>,
        inbox: Receiver<WorkerRequest>,
        outbox: Sender<WorkerReply>,
    ) -> Self {
        Self { inner: Mutex::new(Inner { provider, inbox, outbox }), waiting: AtomicUsize::new(0) }
    }

    /// Processes all waiting requests to the provider, one after the other.
    pub fn work(&self) {
        // Panics of the provider are caught inside.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { provider, inbox, outbox } = &mut *inner;
        while let Ok(request) = inbox.try_recv() {
            let began = Instant::now();
            // The catalogue is sent with every response: a provider may learn of new countersets by working.
            let reply = guarded(&mut **provider, |provider| request.answer(provider));
            let catalogue = guarded(&mut **provider, |provider| provider.catalogue());
            // The receiver might be dropped; requests that were sent before are processed all the same.
            let _ = outbox.send(WorkerReply { catalogue, reply, took: began.elapsed() });
            // The counter decides, not the inbox: the sender of a request that is not counted yet starts the
            // next run itself.
            if self.waiting.fetch_sub(1, AcqRel) == 1 {
                return; // whoever sends another one has it worked on
            }
        }
    }
}
