//! Loads from mapped files, whose memory other processes can take away, in a child process.
//!
//! Any process with write permission can truncate a file. A load from a mapping beyond the end raises SIGBUS, which
//! ends the process. No owner can be trusted because of its user ID: root in a container owns files as root does. So
//! a reader loads from mapped files only in a child that shares its memory, like that of `vfork`. The calling thread
//! waits until the child exits. The child has its own SIGBUS handler, which ends only the child. The handlers of the
//! program that uses this library stay unchanged.
//!
//! Measured: ns per value, 100,000 instances x 10 counters on tmpfs, AMD EPYC, Linux 6.18, best of 31:
//!
//! | method | ns | remark |
//! |---|---|---|
//! | loads from the mapping into the block | 1.8 | a truncated file ends the reader |
//! | **loads into private memory, which is read then** | 2.6 | |
//! | the same in a child that shares the memory | 3.4 | includes 22 us for the child, however many files it reads |
//! | `pread`, twice, chunks of 64 KiB | 14.9 | too expensive, and the rule below is not guaranteed |
//! | `process_vm_readv` of the own process, twice, 64 KiB | 18.5 | the same |
//!
//! Copies by system calls must be made twice, because they tear values. On this processor values tear at any byte if
//! the buffer begins 8 to 24 bytes behind the source's offset in a cache line. They do not tear at all if both begin
//! on a line. On other processors they tear before the highest byte. A sealed memfd is unavailable to processes that
//! may not trace the publisher. A handler in the reader's process is not acceptable for a library.
//!
//! If no such child can be started (a sandbox, Valgrind, the process limit), [`run`] returns [`Ran::Refused`], and
//! files are copied until the next attempt.

#![expect(unsafe_code, reason = "a child that shares this process's memory")]

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

/// Proof that code runs in a child process that may load from mapped files.
#[derive(Debug)]
pub(crate) struct Inside(());

/// Outcome of work done in a child process that loads from mapped files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    /// The work in the child is complete.
    Whole,
    /// The mapped memory that the child loaded was gone. Work before that load was done.
    Gone,
    /// The child process could not be started here, or was ended from outside.
    Refused,
}

/// Exit status of the loading child process if mapped memory was gone. No other exit has this status.
const GONE: c_int = 77;

/// Runs `work` in a child process that shares this process's memory. The work must not allocate, free, lock or panic:
/// the child can be ended at any point.
pub(crate) fn run(work: &mut dyn FnMut(&Inside)) -> Ran {
    thread_local! {
        static STACK: RefCell<Option<Stack>> = const { RefCell::new(None) };
    }
    #[cfg(test)]
    if REFUSES.get() {
        return Ran::Refused;
    }
    // A thread that is already ending has no stack for a child.
    let ran = STACK.try_with(|stack| {
        // One stack per thread, so that threads can load at the same time; borrowed while a child runs on it.
        let Ok(mut stack) = stack.try_borrow_mut() else { return Ran::Refused };
        if stack.is_none() {
            *stack = Stack::new().ok();
        }
        stack.as_ref().map_or(Ran::Refused, |stack| run_on(stack, work))
    });
    ran.unwrap_or(Ran::Refused)
}

#[cfg(test)]
thread_local! {
    static REFUSES: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs `work` in this thread as if no child process could be started.
#[cfg(test)]
pub(crate) fn refuse_children<T>(work: impl FnOnce() -> T) -> T {
    REFUSES.set(true);
    let done = work();
    REFUSES.set(false);
    done
}

struct Call<'a> {
    work: &'a mut dyn FnMut(&Inside),
    is_done: AtomicBool,
}

fn run_on(stack: &Stack, work: &mut dyn FnMut(&Inside)) -> Ran {
    let mut call = Call { work, is_done: AtomicBool::new(false) };
    let argument: *mut Call<'_> = &raw mut call;
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: valid memory for a signal set.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // No handler of the program may run in the child, which inherits this mask.
    // SAFETY: a set that was filled above, and valid memory for the previous set.
    if unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) } != 0 {
        return Ran::Refused;
    }
    // No exit signal: the program must not be notified of a child that it did not start.
    let flags = libc::CLONE_VM | libc::CLONE_VFORK;
    // SAFETY: only this child uses the stack, and `child` exits without returning to frames outside it. `call` is
    // valid until this thread continues, which is after the child's exit.
    let pid = unsafe { libc::clone(child, stack.top(), flags, argument.cast()) };
    let mut status = 0;
    let mut waited = -1;
    if pid > 0 {
        // No signal interrupts the wait, because all are blocked.
        // SAFETY: valid memory for a status.
        waited = unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) };
    }
    // SAFETY: the set that was stored above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut()) };
    if call.is_done.load(Acquire) {
        return Ran::Whole; // somebody else may have waited for it
    }
    // Another thread that waits for any child with `__WALL` can take the status. Then the outcome is unknown,
    // and counts as refused.
    let is_gone = waited == pid && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == GONE;
    if pid > 0 && is_gone { Ran::Gone } else { Ran::Refused }
}

extern "C" fn child(call: *mut c_void) -> c_int {
    // SAFETY: `call` belongs to the caller, who waits for this child and does not use it meanwhile.
    let call = unsafe { &mut *call.cast::<Call<'_>>() };
    // Without the handler, a SIGBUS would end the child with a core dump.
    if ends_with_the_child() {
        (call.work)(&Inside(()));
        call.is_done.store(true, Release);
    }
    // SAFETY: it ends this process without running exit handlers of the program.
    unsafe { libc::_exit(0) }
}

/// Installs a SIGBUS handler that ends this process with status [`GONE`].
fn ends_with_the_child() -> bool {
    #[expect(clippy::as_conversions, reason = "a handler is given as a number")]
    let handler = gone as extern "C" fn(c_int) as libc::sighandler_t;
    let action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zero is a valid action: no flags, no signals, the default handler.
    let mut action = unsafe { action.assume_init() };
    action.sa_sigaction = handler;
    let mut bus = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: valid memory for a signal set.
    unsafe { libc::sigemptyset(bus.as_mut_ptr()) };
    // SAFETY: a set that was emptied above.
    unsafe { libc::sigaddset(bus.as_mut_ptr(), libc::SIGBUS) };
    // SAFETY: the handler has the right signature, and this process shares no handlers with another.
    let is_set = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, null_mut()) } == 0;
    // SAFETY: the set that was filled above.
    is_set && unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, bus.as_ptr(), null_mut()) } == 0
}

extern "C" fn gone(_: c_int) {
    // SAFETY: as above; signal handlers may call it.
    unsafe { libc::_exit(GONE) }
}

/// Stack on which the loading child process runs.
struct Stack(NonNull<c_void>);

impl Stack {
    const BYTES: usize = 128 << 10;
    const PAGE: usize = 4096;

    fn new() -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address chosen by the kernel touches no existing memory.
        let start =
            unsafe { mmap_anonymous(null_mut(), Self::BYTES, ProtFlags::READ | ProtFlags::WRITE, flags) }?;
        let stack = Self(NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?);
        // A guard page: an overflow ends the child, instead of overwriting memory that it shares with the
        // reader.
        // SAFETY: the lowest page of the new mapping, which is not in use.
        unsafe { mprotect(start, Self::PAGE, MprotectFlags::empty()) }?;
        Ok(stack)
    }

    /// Returns the start of the stack, which grows downwards.
    fn top(&self) -> *mut c_void {
        // SAFETY: the end of the mapping.
        unsafe { self.0.as_ptr().byte_add(Self::BYTES) }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: no running child uses it.
        let _ = unsafe { munmap(self.0.as_ptr(), Self::BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::memory::MappedView;
    use crate::tests::Place;

    fn file(place: &Place, len: u64) -> File {
        let path = place.path().join("file");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap();
        file.set_len(len).unwrap();
        file
    }

    #[test]
    fn writes_of_the_child_are_visible() {
        for round in 0..100_u64 {
            let mut done = 0;
            let mut sum = Vec::with_capacity(1);
            let ran = run(&mut |_| {
                done = round;
                sum.push(2 * round);
            });
            assert_eq!((ran, done, sum), (Ran::Whole, round, vec![2 * round]));
        }
    }

    #[test]
    fn memory_that_is_gone_ends_the_child_alone() {
        let place = Place::new("guard");
        let file = file(&place, 3 << 12);
        let view = MappedView::map(&file, 0, 3 << 12).unwrap();
        for _ in 0..20 {
            file.set_len(1 << 12).unwrap();
            let at = AtomicUsize::new(0);
            let mut load = |inside: &Inside| {
                for word in view.words(inside) {
                    assert_eq!(word.load(Relaxed), 0);
                    at.fetch_add(1, Relaxed);
                }
            };
            assert_eq!(run(&mut load), Ran::Gone);
            assert_eq!(at.load(Relaxed), 512, "what is there was loaded");
            file.set_len(3 << 12).unwrap();
            assert_eq!(run(&mut load), Ran::Whole);
        }
    }

    /// Checks that several threads load values at the same time, each in a child process of its own.
    #[test]
    fn children_of_many_threads() {
        let place = Place::new("guard-threads");
        let file = file(&place, 1 << 12);
        let view = MappedView::map(&file, 0, 2 << 12).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let view = &view;
                scope.spawn(move || {
                    for _ in 0..50 {
                        let mut last = 1;
                        let first = run(&mut |inside| last = view.words(inside)[0].load(Relaxed));
                        assert_eq!((first, last), (Ran::Whole, 0), "{thread}");
                        let behind = run(&mut |inside| last = view.words(inside)[600].load(Relaxed));
                        assert_eq!(behind, Ran::Gone, "{thread}");
                    }
                });
            }
        });
    }

    /// Checks that running work in a child process leaves the program's own SIGBUS handler unchanged.
    #[test]
    fn the_programs_own_handlers_stay() {
        let current = || {
            let mut action = MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: a place for an action; nothing is set.
            let asked = unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), action.as_mut_ptr()) };
            assert_eq!(asked, 0);
            // SAFETY: it was stored above.
            unsafe { action.assume_init() }.sa_sigaction
        };
        let before = current();
        assert_eq!(run(&mut |_| {}), Ran::Whole);
        assert_eq!(current(), before);
    }
}
