//! What was written for readers and is not read yet, of which there may be so much.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;

use crate::answer::Problem;

/// How many bytes may wait to be read. Readers that do not read are cut off, but not at once.
const MOST: usize = 128 << 20;

/// How many bytes wait.
#[derive(Clone, Debug, Default)]
pub struct Unread(Arc<AtomicUsize>);

/// A text that waits.
struct Waiting {
    text: Vec<u8>,
    among: Unread,
}

impl Unread {
    /// A text for readers. It counts until they have it, or are gone.
    pub fn hold(&self, text: impl Into<Vec<u8>>) -> Bytes {
        let text = text.into();
        self.0.fetch_add(text.len(), Relaxed);
        Bytes::from_owner(Waiting { text, among: self.clone() })
    }

    /// The same, unless too much waits already.
    pub fn take(&self, text: impl Into<Vec<u8>>) -> Result<Bytes, Problem> {
        if self.is_too_much() { Err(Problem::busy()) } else { Ok(self.hold(text)) }
    }

    /// Whether nobody should be given more who has not read what he has.
    pub fn is_too_much(&self) -> bool {
        self.0.load(Relaxed) >= MOST
    }
}

impl AsRef<[u8]> for Waiting {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.among.0.fetch_sub(self.text.len(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_counts_until_the_last_reader_has_it() {
        let unread = Unread::default();
        let text = unread.take("some text").unwrap();
        let part = text.slice(5..);
        drop(text);
        assert_eq!((unread.0.load(Relaxed), &part[..]), (9, &b"text"[..]));
        let much = unread.hold(vec![0; MOST]);
        assert!(unread.is_too_much());
        assert_eq!(unread.take("more"), Err(Problem::busy()));
        drop((part, much));
        assert_eq!((unread.0.load(Relaxed), unread.take("more").is_ok()), (0, true));
    }
}
