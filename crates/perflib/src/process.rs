//! What the library keeps for a process: its machine and its query handles.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};

use perfset::{Machine, Query, Snapshot};

use crate::handles::Table;

/// The process's own.
#[derive(Debug)]
pub struct Process {
    /// This machine.
    pub machine: Machine,
    /// What query handles name.
    pub queries: Table<OpenQuery>,
    /// The parent's, of a process that was forked: never used, but here no leak checker takes it for lost.
    _inherited: AtomicPtr<Process>,
}

/// What a query handle names.
#[derive(Debug)]
pub struct OpenQuery {
    /// Its entries.
    pub query: Query,
    /// Its last collection, used again by the next.
    pub snapshot: Snapshot,
    /// The same with UTF-32 names, if those are asked.
    pub utf32: Vec<u8>,
}

/// Handles that may be open at once.
const MOST_HANDLES: usize = 65_536;

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(null_mut());
static INHERITED: AtomicPtr<Process> = AtomicPtr::new(null_mut());

/// Those of this process, made by its first call.
///
/// Without a lock. A process that is forked begins anew: what it inherited may be locked by threads that it does not
/// have, and is left alone.
pub fn process() -> &'static Process {
    let mut now = PROCESS.load(Acquire);
    if now.is_null() {
        forget_at_fork();
        let ours = Box::into_raw(Box::new(Process {
            machine: perfset::separate(!has_more_rights()),
            queries: Table::new(MOST_HANDLES),
            _inherited: AtomicPtr::new(INHERITED.load(Acquire)),
        }));
        now = match PROCESS.compare_exchange(null_mut(), ours, AcqRel, Acquire) {
            Ok(_) => ours,
            Err(theirs) => {
                // SAFETY: `ours` came from `Box::into_raw` above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(ours) });
                theirs
            }
        };
    }
    // SAFETY: it is not null, came from `Box::into_raw`, and is never freed once it stands in `PROCESS`.
    unsafe { &*now }
}

/// Whether the program runs with more rights than who started it.
fn has_more_rights() -> bool {
    // SAFETY: it reads what the kernel told the process when it began.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Registered before there is anything to forget. Two threads may both do it, which does no harm.
fn forget_at_fork() {
    static IS_REGISTERED: AtomicBool = AtomicBool::new(false);
    extern "C" fn forget() {
        let parents = PROCESS.swap(null_mut(), AcqRel);
        if !parents.is_null() {
            INHERITED.store(parents, Release);
        }
    }
    if !IS_REGISTERED.load(Acquire) {
        // SAFETY: `forget` may be called at any fork: it touches two atomics and nothing else.
        let failed = unsafe { libc::pthread_atfork(None, None, Some(forget)) };
        IS_REGISTERED.store(failed == 0, Release);
    }
}
