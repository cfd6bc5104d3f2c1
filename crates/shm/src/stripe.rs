//! Which row of a striped counter is a thread's own.
//!
//! A thread that counts in a striped counterset for the first time takes a number that no other living thread has, and
//! gives it back when it ends. Row `n` of each instance is then written by it alone, so that a load and a store do.

use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Numbers that threads have, by bit.
static TAKEN: AtomicU64 = AtomicU64::new(0);

const NOT_ASKED: u32 = u32::MAX;
const NONE: u32 = u32::MAX - 1;

thread_local! {
    // Two, because one that is given back when the thread ends is dearer to look at.
    static OWN: Cell<u32> = const { Cell::new(NOT_ASKED) };
    static GIVES_BACK: GivesBack = const { GivesBack };
}

/// This thread's number, larger than all if it has none.
#[inline]
pub(crate) fn own() -> usize {
    let own = OWN.get();
    let own = if own == NOT_ASKED { take() } else { own };
    usize::try_from(own).unwrap_or(usize::MAX)
}

#[cold]
fn take() -> u32 {
    // A thread that is ending has given its number back, and gets no other.
    let can_give_back = GIVES_BACK.try_with(|_| ()).is_ok();
    let free = |taken: u64| (taken != u64::MAX && can_give_back).then(|| taken | lowest_free(taken));
    // Acquire: what the thread that had it before stored in its rows is seen.
    let own = match TAKEN.fetch_update(AcqRel, Acquire, free) {
        Ok(taken) => lowest_free(taken).trailing_zeros(),
        Err(_) => NONE,
    };
    OWN.set(own);
    own
}

fn lowest_free(taken: u64) -> u64 {
    !taken & taken.wrapping_add(1)
}

struct GivesBack;

impl Drop for GivesBack {
    fn drop(&mut self) {
        let own = OWN.replace(NONE);
        if let Some(bit) = 1_u64.checked_shl(own) {
            TAKEN.fetch_and(!bit, Release);
        }
    }
}

/// In a forked child: the numbers of threads that are not there are free.
pub(crate) fn keep_own() {
    TAKEN.store(1_u64.checked_shl(OWN.get()).unwrap_or(0), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn living_threads_have_different_numbers_and_leave_them() {
        for _ in 0..100 {
            let all = std::sync::Barrier::new(16);
            let numbers: Vec<_> = std::thread::scope(|scope| {
                let count = || {
                    let own = own();
                    all.wait(); // all live
                    own
                };
                let threads: Vec<_> = (0..16).map(|_| scope.spawn(count)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let different: std::collections::HashSet<_> = numbers.iter().filter(|n| **n < 64).collect();
            assert_eq!(different.len(), numbers.iter().filter(|n| **n < 64).count(), "{numbers:?}");
            assert!(different.len() >= 16 - 4, "other tests have few threads that count: {numbers:?}");
        }
    }

    #[test]
    fn the_lowest_free_bit() {
        for (taken, free) in [(0, 1), (1, 2), (0b1011, 0b100), (u64::MAX >> 1, 1 << 63)] {
            assert_eq!(lowest_free(taken), free, "{taken:#b}");
        }
    }
}
