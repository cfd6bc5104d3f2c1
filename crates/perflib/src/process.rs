//! State of the library in a consumer's process: its machine and its query handles.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};

use perfset::{Machine, Query, Snapshot, Status};

use crate::handles::HandleTable;
use crate::past::{PastLog, PastQuery};

/// State of PerfLib's consumer functions in one process.
#[derive(Debug)]
pub struct ProcessState {
    /// Machine on which the process runs, or the recorded machine.
    pub machine: Machine,
    /// Log that is read instead of the machine, or the error code that all functions return because the log cannot be
    /// opened.
    past: Option<Result<PastLog, Status>>,
    /// Open queries of the process, by query handle.
    pub queries: HandleTable<OpenQuery>,
    /// State of the parent process, in a forked process. Never used; stored here only so that no leak checker reports
    /// it as lost.
    _inherited: AtomicPtr<ProcessState>,
}

/// Open PerfLib query, which a query handle names.
#[derive(Debug)]
pub struct OpenQuery {
    /// PerfLib query with its entries.
    pub query: Query,
    /// Query of the log with the same entries, if a log is read instead of the machine.
    pub past: Option<PastQuery>,
    /// Buffer of the query's last collection, reused by the next.
    pub snapshot: Snapshot,
    /// Buffer of the query's last collection with UTF-32 names, if these are requested.
    pub utf32: Vec<u8>,
}

/// Maximum number of query handles that may be open at once.
const MOST_HANDLES: usize = 65_536;

/// Returns the library's state of this process, and creates it at the first call.
///
/// Uses no lock. A forked process begins again: the inherited state may be locked by threads that the child does not
/// have, and is not touched.
pub fn process() -> &'static ProcessState {
    process_of(|| {
        // A program with more privileges than its user must not read files that the user names.
        let path = std::env::var_os("PERFSET_LOG").filter(|path| !path.is_empty() && trusts_environment());
        let past = path.map(|path| PastLog::open(path.into()));
        let recorded = past.as_ref().and_then(|past| past.as_ref().ok()).map(|past| past.machine().clone());
        (recorded.unwrap_or_else(|| perfset::separate(trusts_environment())), past)
    })
}

impl ProcessState {
    /// Returns the log that this process reads instead of the machine, if there is one.
    ///
    /// # Errors
    /// If it cannot be opened: then no function may show the machine instead.
    pub fn past(&self) -> Result<Option<&PastLog>, Status> {
        self.past.as_ref().map(|past| past.as_ref().map_err(|code| *code)).transpose()
    }
}

/// Makes the PerfLib functions of this process use `machine`, unless one of them was called already. For tests.
pub fn begin_with(machine: Machine) {
    process_of(|| (machine, None));
}

/// Returns the library's state of this process, and creates it at the first call from the machine and the log that
/// `begin` returns.
fn process_of(begin: impl FnOnce() -> (Machine, Option<Result<PastLog, Status>>)) -> &'static ProcessState {
    static LATEST: AtomicPtr<ProcessState> = AtomicPtr::new(null_mut());
    let own = own_place();
    let mut now = own.load(Acquire);
    if now.is_null() {
        let (machine, past) = begin();
        let ours = Box::into_raw(Box::new(ProcessState {
            machine,
            past,
            queries: HandleTable::new(MOST_HANDLES),
            _inherited: AtomicPtr::new(LATEST.load(Acquire)),
        }));
        now = match own.compare_exchange(null_mut(), ours, AcqRel, Acquire) {
            Ok(_) => {
                LATEST.store(ours, Release);
                ours
            }
            Err(theirs) => {
                // SAFETY: `ours` came from `Box::into_raw` above, and no other thread has seen it.
                drop(unsafe { Box::from_raw(ours) });
                theirs
            }
        };
    }
    // SAFETY: it is not null, came from `Box::into_raw`, and is never freed once it stands in its place.
    unsafe { &*now }
}

/// Returns `true` if the process has no more privileges than the user who started it.
#[cfg(target_os = "linux")]
fn trusts_environment() -> bool {
    !perfset_shm::folder::has_more_rights()
}

/// Returns `true`: on Windows a process has no more privileges than the user who started it, unless the user agreed to
/// them.
#[cfg(not(target_os = "linux"))]
fn trusts_environment() -> bool {
    true
}

/// Returns the location of the pointer to the library's state, on systems where processes cannot be forked.
#[cfg(not(unix))]
fn own_place() -> &'static AtomicPtr<ProcessState> {
    static PLACE: AtomicPtr<ProcessState> = AtomicPtr::new(null_mut());
    &PLACE
}

/// Returns the location of the pointer to the library's state: a page that the kernel empties in any forked process,
/// however it is forked. Linux before 4.14 does not; there a forked process continues with its parent's state.
#[cfg(unix)]
fn own_place() -> &'static AtomicPtr<ProcessState> {
    const LEN: usize = size_of::<AtomicPtr<ProcessState>>();
    static WITHOUT_PAGE: AtomicPtr<ProcessState> = AtomicPtr::new(null_mut());
    static PLACE: AtomicPtr<AtomicPtr<ProcessState>> = AtomicPtr::new(null_mut());
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
                // SAFETY: no other thread has seen the page.
                unsafe { libc::munmap(page, LEN) };
                theirs
            }
        };
    }
    // SAFETY: a page that is never unmapped once it stands in `PLACE`; it begins with zeros, which are a null pointer.
    unsafe { &*place }
}
