//! Handling of shared memory and locks in a forked child, which gets neither.
//!
//! If a child kept the lock, its parent would seem to run after its exit. If the child kept the memory, it would
//! count for its parent. So the child closes the lock, and its shared mappings are replaced by private memory, all
//! zero: pointers stay valid. Children of `vfork` and `posix_spawn` need no handling.

#![expect(unsafe_code, reason = "handlers of forks")]

use std::ffi::c_void;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr::{null, null_mut};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, AtomicUsize};

use crate::memory::replace;
use crate::stripe;

/// Returns a number that identifies this process: it differs after each fork.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Relaxed)
}

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Slot for resources that a child must not keep: a mapping and a file descriptor. The list of slots only grows, so
/// it needs no lock, which a child could not take. Free slots are reused.
struct ForkSlot {
    next: *const Self,
    start: AtomicPtr<c_void>,
    /// Length in bytes of the slot's mapping; 0 if the slot has none.
    len: AtomicUsize,
    /// File descriptor in the slot that holds a lock; negative if the slot has none.
    lock: AtomicI32,
}

static FIRST: AtomicPtr<ForkSlot> = AtomicPtr::new(null_mut());

/// Registers a mapping that a forked child replaces by private memory.
pub(crate) fn replace_in_child(start: *mut c_void, len: usize) {
    let take = |held: &ForkSlot| held.len.compare_exchange(0, len, AcqRel, Relaxed).is_ok();
    // Length 0 marks a free slot, and taking it is one atomic step, because a lock could be held at the fork.
    let held = all().find(|held| take(held));
    match held {
        Some(held) => held.start.store(start, Release),
        None => hold(start, len, -1),
    }
}

/// Unregisters a mapping from replacement in a child: it is private to the process now, so a child may keep its copy.
pub(crate) fn keep_in_child(start: *const c_void) {
    if let Some(held) = all().find(|held| std::ptr::eq(held.start.load(Relaxed), start)) {
        // The start first: between the two stores, a child must find no mapping rather than one of length 0.
        held.start.store(null_mut(), Release);
        held.len.store(0, Release);
    }
}

/// Registers a file descriptor that a forked child closes.
pub(crate) fn close_in_child(lock: BorrowedFd<'_>) {
    let lock = lock.as_raw_fd();
    if !all().any(|held| held.lock.compare_exchange(-1, lock, AcqRel, Relaxed).is_ok()) {
        hold(null_mut(), 0, lock);
    }
}

/// Unregisters the file descriptor of a lock that is about to be closed, because its number may be reused soon.
pub(crate) fn is_closed(lock: BorrowedFd<'_>) {
    if let Some(held) = all().find(|held| held.lock.load(Relaxed) == lock.as_raw_fd()) {
        held.lock.store(-1, Release);
    }
}

fn hold(start: *mut c_void, len: usize, lock: RawFd) {
    // No lock, which a forked process might wait for. If threads race, the handler runs twice, which does no harm.
    static IS_REGISTERED: AtomicBool = AtomicBool::new(false);
    if !IS_REGISTERED.load(Acquire) {
        // SAFETY: `child` has the right signature, exists as long as the process, and makes only calls that are
        // allowed there.
        let registered = unsafe { libc::pthread_atfork(None, None, Some(child)) };
        debug_assert_eq!(registered, 0, "there is memory for a handler");
        IS_REGISTERED.store(true, Release);
    }
    let held = ForkSlot {
        next: null(),
        start: AtomicPtr::new(start),
        len: AtomicUsize::new(len),
        lock: AtomicI32::new(lock),
    };
    let held = Box::leak(Box::new(held));
    let mut first = FIRST.load(Acquire);
    loop {
        // The element is complete before the list contains it, because a fork can happen at any time.
        held.next = first;
        match FIRST.compare_exchange_weak(first, held, Release, Acquire) {
            Ok(_) => break,
            Err(other) => first = other,
        }
    }
}

fn all() -> impl Iterator<Item = &'static ForkSlot> {
    // SAFETY: pointers in the list are those of leaked boxes, which are modified only through atomics.
    let follow = |held: *const ForkSlot| unsafe { held.as_ref() };
    std::iter::successors(follow(FIRST.load(Acquire)), move |held| follow(held.next))
}

/// Replaces mappings and closes locks in the child after a fork. Makes only system calls: nothing else is allowed
/// here.
extern "C" fn child() {
    // First, so that nothing below can use the parent's store. The child has only this thread, so no order is
    // needed.
    GENERATION.fetch_add(1, Relaxed);
    stripe::keep_own();
    for held in all() {
        let lock: RawFd = held.lock.swap(-1, Relaxed);
        if lock >= 0 {
            // SAFETY: a file descriptor of this process that only the parent's store uses; the store is not used
            // here.
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
    use crate::memory::SharedMemory;

    #[test]
    fn closed_files_free_their_slots() {
        let before = all().count();
        for _ in 0..1000 {
            let memory = SharedMemory::own(4096).unwrap();
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
