//! What was written for readers and is not read yet, of which there may be so much.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;

use crate::answer::Problem;

/// How many bytes more may wait while a sample is sent: after that its other readers are cut off, too.
const MORE: usize = 8 << 20;

/// How many bytes wait.
#[derive(Clone, Debug)]
pub struct Unread {
    most: usize,
    level: Arc<Level>,
}

#[derive(Debug, Default)]
struct Level {
    /// Bytes that wait.
    waiting: AtomicUsize,
}

/// A text that waits.
struct Waiting {
    text: Box<[u8]>,
    level: Arc<Level>,
}

impl Unread {
    /// Counts texts of which so many bytes may wait.
    pub fn new(most: usize) -> Self {
        Self { most, level: Arc::default() }
    }

    /// A text for readers. It counts until they have it, or are gone.
    pub fn hold(&self, text: impl Into<Vec<u8>>) -> Bytes {
        let text = text.into().into_boxed_slice(); // what waits has no room to grow
        self.level.waiting.fetch_add(text.len(), Relaxed);
        Bytes::from_owner(Waiting { text, level: Arc::clone(&self.level) })
    }

    /// The same, unless too much waits already.
    pub fn take(&self, text: impl Into<Vec<u8>>) -> Result<Bytes, Problem> {
        if self.is_too_much() { Err(Problem::busy()) } else { Ok(self.hold(text)) }
    }

    /// Returns the number of bytes that wait.
    pub fn waiting(&self) -> usize {
        self.level.waiting.load(Relaxed)
    }

    /// Whether nobody should be given more who has not read what he has.
    pub fn is_too_much(&self) -> bool {
        self.waiting() >= self.most
    }

    /// Returns `true` if nobody can be given more.
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
        let unread = Unread::new(MOST);
        let text = unread.take("some text").unwrap();
        let part = text.slice(5..);
        drop(text);
        assert_eq!((unread.waiting(), &part[..]), (9, &b"text"[..]));
        let much = unread.hold(vec![0; MOST]);
        assert!(unread.is_too_much() && !unread.is_full());
        assert_eq!(unread.take("more"), Err(Problem::busy()));
        let more = unread.hold(vec![0; MORE]);
        assert!(unread.is_full());
        drop((part, much, more));
        assert_eq!((unread.waiting(), unread.take("more").is_ok()), (0, true));
    }
}
