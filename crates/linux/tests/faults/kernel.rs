//! Responses of the model's kernel that come from no file: clocks, CPU clocks of processes, and the error for a
//! removed file.
//!
//! [`install`] sets them for the calling thread.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use perfset_core::clock::{Anchor, UNIX_EPOCH_100NS};
use rustix::io::Errno;
use rustix::time::ClockId;

/// Responses of the test's model that replace the kernel's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    pub(crate) monotonic_ns: i64,
    pub(crate) slept_ns: i64,
    /// Amount by which the wall clock of the model was set, in ns.
    pub(crate) wall_ns: i64,
    /// CPU clocks of the processes in the model's PID namespace in ns, by pid.
    pub(crate) cpu_clocks: BTreeMap<u32, u64>,
}

thread_local! {
    static ANSWERS: RefCell<Option<Answers>> = const { RefCell::new(None) };
}

/// Time at which the monotonic clock of the model was 0: 2026-01-01.
const ZERO_100NS: i64 = UNIX_EPOCH_100NS + 17_672_256_000_000_000;

pub(crate) fn install(answers: Option<Answers>) {
    ANSWERS.set(answers);
}

fn with<T>(ask: impl FnOnce(&Answers) -> T) -> Option<T> {
    ANSWERS.with_borrow(|answers| answers.as_ref().map(ask))
}

/// Returns the model's time of a clock in ns.
pub(crate) fn clock_ns(clock: ClockId) -> Option<i64> {
    with(|answers| match clock {
        ClockId::Realtime => {
            (ZERO_100NS - UNIX_EPOCH_100NS) * 100 + answers.monotonic_ns + answers.slept_ns + answers.wall_ns
        }
        ClockId::Boottime => answers.monotonic_ns + answers.slept_ns,
        _ => answers.monotonic_ns,
    })
}

/// Returns the model's anchor, which ties the monotonic clock to the wall clock.
pub(crate) fn anchor() -> Option<Anchor> {
    with(|_| Anchor { zero_100ns: ZERO_100NS })
}

/// Returns the model's CPU clock of a process in ns.
pub(crate) fn cpu_clock_ns(pid: u32) -> Option<Result<u64, Errno>> {
    with(|answers| answers.cpu_clocks.get(&pid).copied().ok_or(Errno::INVAL))
}

/// Returns `true` if the files of the model stand for the kernel's `/proc`.
pub(crate) fn is_model() -> bool {
    with(|_| ()).is_some()
}

/// Returns the kernel's error for an open file whose subject, such as a process, no longer exists. A removed file of
/// the model could still be read.
pub(crate) fn refuses(file: &File) -> io::Result<()> {
    match with(|_| file.metadata()) {
        Some(Ok(metadata)) if metadata.nlink() == 0 => Err(Errno::NODEV.into()),
        _ => Ok(()),
    }
}
