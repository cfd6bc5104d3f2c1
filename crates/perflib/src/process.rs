//! What the library keeps for a process that consumes: its machine and its query handles.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};

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

/// Those of this process, made by its first call.
///
/// Without a lock. A process that is forked begins anew: what it inherited may be locked by threads that it does not
/// have, and is left alone.
pub fn process() -> &'static Process {
    process_of(|| perfset::separate(trusts_environment()))
}

/// Makes the functions of this process use `machine`, unless one was called already. For tests.
pub fn begin_with(machine: Machine) {
    process_of(|| machine);
}

/// Returns the state of this process, which its first call makes from a machine.
fn process_of(machine: impl FnOnce() -> Machine) -> &'static Process {
    static LATEST: AtomicPtr<Process> = AtomicPtr::new(null_mut());
    let own = own_place();
    let mut now = own.load(Acquire);
    if now.is_null() {
        let ours = Box::into_raw(Box::new(Process {
            machine: machine(),
            queries: Table::new(MOST_HANDLES),
            _inherited: AtomicPtr::new(LATEST.load(Acquire)),
        }));
        now = match own.compare_exchange(null_mut(), ours, AcqRel, Acquire) {
            Ok(_) => {
                LATEST.store(ours, Release);
                ours
            }
            Err(theirs) => {
                // SAFETY: `ours` came from `Box::into_raw` above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(ours) });
                theirs
            }
        };
    }
    // SAFETY: it is not null, came from `Box::into_raw`, and is never freed once it stands in its place.
    unsafe { &*now }
}

/// Whether who started the process has the rights that it has.
#[cfg(target_os = "linux")]
fn trusts_environment() -> bool {
    !perfset_shm::folder::has_more_rights()
}

/// On Windows a process has no more rights than who started it, unless they were asked.
#[cfg(not(target_os = "linux"))]
fn trusts_environment() -> bool {
    true
}

/// Where a process keeps its own: it is never forked.
#[cfg(not(unix))]
fn own_place() -> &'static AtomicPtr<Process> {
    static PLACE: AtomicPtr<Process> = AtomicPtr::new(null_mut());
    &PLACE
}

/// Where a process keeps its own: in a page that the kernel empties for whoever is forked, however that is done. Linux
/// before 4.14 does not; there a forked process goes on with its parent's.
#[cfg(unix)]
fn own_place() -> &'static AtomicPtr<Process> {
    const LEN: usize = size_of::<AtomicPtr<Process>>();
    static WITHOUT_PAGE: AtomicPtr<Process> = AtomicPtr::new(null_mut());
    static PLACE: AtomicPtr<AtomicPtr<Process>> = AtomicPtr::new(null_mut());
    let mut place = PLACE.load(Acquire);
    if place.is_null() {
        let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, where nothing is.
        let page = unsafe { libc::mmap(null_mut(), LEN, rights, kind, -1, 0) };
        if page == libc::MAP_FAILED {
            return &WITHOUT_PAGE;
        }
        // SAFETY: the page that was mapped above.
        unsafe { libc::madvise(page, LEN, libc::MADV_WIPEONFORK) };
        place = match PLACE.compare_exchange(null_mut(), page.cast(), AcqRel, Acquire) {
            Ok(_) => page.cast(),
            Err(theirs) => {
                // SAFETY: nobody else has seen the page.
                unsafe { libc::munmap(page, LEN) };
                theirs
            }
        };
    }
    // SAFETY: a page that is never unmapped once it stands in `PLACE`; it begins with zeros, which are a null pointer.
    unsafe { &*place }
}
