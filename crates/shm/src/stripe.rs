//! Assignment of a stripe of counter values to each thread.
//!
//! A thread that counts in a striped counterset for the first time takes a number that no other running thread has.
//! The number is returned when the thread ends. Row `n` of each instance is then written by that thread alone, so a
//! load and a store suffice.

use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Bit set of the numbers of stripes that running threads use.
static TAKEN: AtomicU64 = AtomicU64::new(0);

const NOT_ASKED: u32 = u32::MAX;
const NONE: u32 = u32::MAX - 1;

thread_local! {
    // Two variables, because access to one with a destructor is more expensive.
    static OWN: Cell<u32> = const { Cell::new(NOT_ASKED) };
    static GIVES_BACK: GivesBack = const { GivesBack };
}

/// Returns the number of this thread's stripe; a value larger than all stripe numbers if the thread has none.
#[inline]
pub(crate) fn own() -> usize {
    let own = OWN.get();
    let own = if own == NOT_ASKED { take() } else { own };
    usize::try_from(own).unwrap_or(usize::MAX)
}

#[cold]
fn take() -> u32 {
    // A thread that is ending has returned its number, and gets no other.
    let can_give_back = GIVES_BACK.try_with(|_| ()).is_ok();
    let free = |taken: u64| (taken != u64::MAX && can_give_back).then(|| taken | lowest_free(taken));
    // Acquire: this thread must see the rows as the number's previous owner stored them.
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

/// Frees the stripe numbers of all other threads in a forked child, where these threads do not exist.
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
