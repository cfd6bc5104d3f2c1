//! Limit for the bytes of responses and events that were written for clients and are not read yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;

use crate::answer::ApiError;

/// Number of bytes above the limit of unread bytes that may wait while a sample is sent. Beyond it, the sample's
/// other clients are cut off too.
const MORE: usize = 8 << 20;

/// Counter of the bytes of texts that wait to be read by clients, with their limit.
#[derive(Clone, Debug)]
pub struct UnreadBytes {
    most: usize,
    level: Arc<Level>,
}

#[derive(Debug, Default)]
struct Level {
    /// Number of bytes that wait to be read by clients.
    waiting: AtomicUsize,
}

/// Text for clients that waits to be read, and is counted until then.
struct Waiting {
    text: Box<[u8]>,
    level: Arc<Level>,
}

impl UnreadBytes {
    /// Creates a counter of unread bytes, of which at most `most` may wait.
    pub fn new(most: usize) -> Self {
        Self { most, level: Arc::default() }
    }

    /// Counts the bytes of a text as unread until its clients have read it or are gone, and returns the text.
    pub fn hold(&self, text: impl Into<Vec<u8>>) -> Bytes {
        let text = text.into().into_boxed_slice(); // what waits has no room to grow
        // Only a sum is needed, and no other memory depends on it, so no stronger order.
        self.level.waiting.fetch_add(text.len(), Relaxed);
        Bytes::from_owner(Waiting { text, level: Arc::clone(&self.level) })
    }

    /// Counts a text like [`hold`](Self::hold), or returns an error if too many bytes are unread already.
    pub fn take(&self, text: impl Into<Vec<u8>>) -> Result<Bytes, ApiError> {
        if self.is_too_much() { Err(ApiError::busy()) } else { Ok(self.hold(text)) }
    }

    /// Returns the number of bytes that wait to be read by clients.
    pub fn waiting(&self) -> usize {
        self.level.waiting.load(Relaxed)
    }

    /// Returns `true` if clients with unread bytes should receive no more.
    pub fn is_too_much(&self) -> bool {
        self.waiting() >= self.most
    }

    /// Returns `true` if so much is unread that no client can receive more.
    pub fn is_full(&self) -> bool {
        self.waiting() >= self.most.saturating_add(MORE)
    }
}

impl AsRef<[u8]> for Waiting {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.level.waiting.fetch_sub(self.text.len(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_counts_until_the_last_reader_has_it() {
        const MOST: usize = 1 << 20;
        let unread = UnreadBytes::new(MOST);
        let text = unread.take("some text").unwrap();
        let part = text.slice(5..);
        drop(text);
        assert_eq!((unread.waiting(), &part[..]), (9, &b"text"[..]));
        let much = unread.hold(vec![0; MOST]);
        assert!(unread.is_too_much() && !unread.is_full());
        assert_eq!(unread.take("more"), Err(ApiError::busy()));
        let more = unread.hold(vec![0; MORE]);
        assert!(unread.is_full());
        drop((part, much, more));
        assert_eq!((unread.waiting(), unread.take("more").is_ok()), (0, true));
    }
}
