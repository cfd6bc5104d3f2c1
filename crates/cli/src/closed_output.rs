//! State of standard output when the program was started.
//!
//! Before `main`, Rust's runtime opens `/dev/null` in place of a closed standard output. All output would then be lost
//! without an error, so the state is stored earlier.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::{Errno, fcntl_getfd};
use rustix::stdio::stdout;

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Function that stores the state of standard output; the dynamic loader or the static C library calls it before
/// `main`.
// SAFETY: the section contains pointers to C functions, and this is one. It uses nothing that Rust's runtime prepares:
// it makes one system call and stores a flag.
#[used]
#[unsafe(link_section = ".init_array")]
#[expect(unsafe_code, reason = "Rust has no safe way to run code before its runtime")]
static BEFORE_MAIN: extern "C" fn() = store_state;

extern "C" fn store_state() {
    IS_CLOSED.store(fcntl_getfd(stdout()) == Err(Errno::BADF), Ordering::Relaxed);
}

/// Returns `true` if standard output was closed when the program was started.
pub fn is_closed() -> bool {
    IS_CLOSED.load(Ordering::Relaxed)
}
