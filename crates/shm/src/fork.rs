//! What happens to shared memory and locks in a forked child: it has neither.
//!
//! A child that kept the lock would make its parent look alive after its death, and one that kept the memory would
//! count for its parent. So the child closes the lock and finds its own memory, all zero, in the place of what was
//! shared: its pointers stay valid. Children of `vfork` and `posix_spawn` need nothing of that.

#![expect(unsafe_code, reason = "handlers of forks")]

use std::ffi::c_void;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr::{null, null_mut};
use std::sync::Once;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, AtomicUsize};

use crate::memory::replace;
use crate::stripe;

/// Which process this is: another number after each fork.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Relaxed)
}

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Places for something that a child must not have: a mapping, and a descriptor. A list of them that only grows needs
/// no lock, which a child could not take; free places are taken again.
struct Held {
    next: *const Self,
    start: AtomicPtr<c_void>,
    /// 0: the place for a mapping is free.
    len: AtomicUsize,
    /// Less than 0: the place for a descriptor is free.
    lock: AtomicI32,
}

static FIRST: AtomicPtr<Held> = AtomicPtr::new(null_mut());

/// In a child this mapping is replaced by memory of its own.
pub(crate) fn replace_in_child(start: *mut c_void, len: usize) {
    let take = |held: &Held| held.len.compare_exchange(0, len, AcqRel, Relaxed).is_ok();
    let held = all().find(|held| take(held));
    match held {
        Some(held) => held.start.store(start, Release),
        None => hold(start, len, -1),
    }
}

/// The mapping at that place is the process's own now, and a child's copy is the child's.
pub(crate) fn keep_in_child(start: *const c_void) {
    if let Some(held) = all().find(|held| std::ptr::eq(held.start.load(Relaxed), start)) {
        held.start.store(null_mut(), Release);
        held.len.store(0, Release);
    }
}

/// In a child this descriptor is closed.
pub(crate) fn close_in_child(lock: BorrowedFd<'_>) {
    let lock = lock.as_raw_fd();
    if !all().any(|held| held.lock.compare_exchange(-1, lock, AcqRel, Relaxed).is_ok()) {
        hold(null_mut(), 0, lock);
    }
}

/// The descriptor is about to be closed: its number may soon be another's.
pub(crate) fn is_closed(lock: BorrowedFd<'_>) {
    if let Some(held) = all().find(|held| held.lock.load(Relaxed) == lock.as_raw_fd()) {
        held.lock.store(-1, Release);
    }
}

fn hold(start: *mut c_void, len: usize, lock: RawFd) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: `child` is a function of the right kind that lives as long as the process, and may be called there.
        let registered = unsafe { libc::pthread_atfork(None, None, Some(child)) };
        debug_assert_eq!(registered, 0, "there is memory for a handler");
    });
    let held = Held {
        next: null(),
        start: AtomicPtr::new(start),
        len: AtomicUsize::new(len),
        lock: AtomicI32::new(lock),
    };
    let held = Box::leak(Box::new(held));
    let mut first = FIRST.load(Acquire);
    loop {
        held.next = first;
        match FIRST.compare_exchange_weak(first, held, Release, Acquire) {
            Ok(_) => break,
            Err(other) => first = other,
        }
    }
}

fn all() -> impl Iterator<Item = &'static Held> {
    // SAFETY: pointers in the list are those of leaked boxes, which nobody changes but through atomics.
    let follow = |held: *const Held| unsafe { held.as_ref() };
    std::iter::successors(follow(FIRST.load(Acquire)), move |held| follow(held.next))
}

/// Makes system calls and nothing else: all that is allowed here.
extern "C" fn child() {
    GENERATION.fetch_add(1, Relaxed);
    stripe::keep_own();
    for held in all() {
        let lock: RawFd = held.lock.swap(-1, Relaxed);
        if lock >= 0 {
            // SAFETY: it is a descriptor of this process that only the parent's store knew, which is not used here.
            let closed = unsafe { libc::close(lock) };
            debug_assert_eq!(closed, 0, "it was open");
        }
        let start = held.start.swap(null_mut(), Relaxed);
        if !start.is_null() {
            replace(start, held.len.load(Relaxed));
            held.len.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::memory::Memory;

    #[test]
    fn what_is_held_no_more_leaves_its_place() {
        let before = all().count();
        for _ in 0..1000 {
            let memory = Memory::own(4096).unwrap();
            let file = std::fs::File::open("/dev/null").unwrap();
            close_in_child(file.as_fd());
            assert!(all().any(|held| held.lock.load(Relaxed) == file.as_raw_fd()));
            is_closed(file.as_fd());
            memory.leave();
        }
        let after = all().count();
        assert!(after < before + 1000, "{before} places before, {after} after"); // other tests have some
    }
}
