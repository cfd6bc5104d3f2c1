//! Order of loads and stores by which readers validate words that a writer changes meanwhile.
//!
//! Both sides are here, for any type of word: a test runs these functions with words of a model checker.

use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// Word of a publisher's file that writers and readers share.
pub(crate) trait Word {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    fn fence(order: Ordering);
}

impl Word for AtomicU64 {
    #[inline]
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }

    #[inline]
    fn store(&self, value: u64, order: Ordering) {
        self.store(value, order);
    }

    #[inline]
    fn fence(order: Ordering) {
        fence(order);
    }
}

/// Runs `work` while a change word is odd, and then gives the word another even number. Only one thread may do this
/// at a time.
pub(crate) fn change<W: Word, T>(word: &W, work: impl FnOnce() -> T) -> T {
    // A sequence lock of one writer. The fence orders the odd number before the changes, the release store orders
    // them before the next even number.
    let before = word.load(Relaxed);
    word.store(before.wrapping_add(1), Relaxed);
    W::fence(Release);
    let result = work();
    word.store(before.wrapping_add(2), Release);
    result
}

/// Marks a filled slot as used, by storing the sequence number of its instance.
pub(crate) fn publish<W: Word>(sequence: &W, number: u64) {
    // With release: a reader that sees the number sees the whole slot.
    sequence.store(number, Release);
}

/// Marks a slot as free, which ends the instance in it.
pub(crate) fn free<W: Word>(sequence: &W) {
    sequence.store(sequence.load(Relaxed) | 1, Relaxed);
    // Orders this store before any store of the next owner of the slot.
    W::fence(Release);
}

/// Runs `read`, which loads words of an instance's slot. Returns the sequence word; `None` if it changed meanwhile.
#[inline]
pub(crate) fn while_same<W: Word>(sequence: &W, read: impl FnOnce()) -> Option<u64> {
    let before = sequence.load(Acquire);
    read();
    W::fence(Acquire);
    (sequence.load(Relaxed) == before).then_some(before)
}

#[cfg(test)]
mod tests;
