//! What the kernel answers without a file, as the model says: clocks, CPU clocks of processes, and that a file is gone.
//!
//! It holds for the thread that [`install`]s it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use perfset_core::clock::{Anchor, UNIX_EPOCH_100NS};
use rustix::io::Errno;
use rustix::time::ClockId;

/// The answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    pub(crate) monotonic_ns: i64,
    pub(crate) slept_ns: i64,
    /// How far the wall clock was set.
    pub(crate) wall_ns: i64,
    /// What the CPU clocks of this namespace show, by pid.
    pub(crate) cpu_clocks: BTreeMap<u32, u64>,
}

thread_local! {
    static ANSWERS: RefCell<Option<Answers>> = const { RefCell::new(None) };
}

/// 2026-01-01, when the monotonic clock was 0.
const ZERO_100NS: i64 = UNIX_EPOCH_100NS + 17_672_256_000_000_000;

pub(crate) fn install(answers: Option<Answers>) {
    ANSWERS.set(answers);
}

fn with<T>(ask: impl FnOnce(&Answers) -> T) -> Option<T> {
    ANSWERS.with_borrow(|answers| answers.as_ref().map(ask))
}

/// What a clock shows, in ns.
pub(crate) fn clock_ns(clock: ClockId) -> Option<i64> {
    with(|answers| match clock {
        ClockId::Realtime => {
            (ZERO_100NS - UNIX_EPOCH_100NS) * 100 + answers.monotonic_ns + answers.slept_ns + answers.wall_ns
        }
        ClockId::Boottime => answers.monotonic_ns + answers.slept_ns,
        _ => answers.monotonic_ns,
    })
}

/// The anchor of the process.
pub(crate) fn anchor() -> Option<Anchor> {
    with(|_| Anchor { zero_100ns: ZERO_100NS })
}

/// What the CPU clock of a process shows.
pub(crate) fn cpu_clock_ns(pid: u32) -> Option<Result<u64, Errno>> {
    with(|answers| answers.cpu_clocks.get(&pid).copied().ok_or(Errno::INVAL))
}

/// Whether the tree of the model stands for the kernel's `/proc`.
pub(crate) fn is_model() -> bool {
    with(|_| ()).is_some()
}

/// Fails as the kernel does where what a file told of is gone: a file of a tree stays readable when it was removed.
pub(crate) fn refuses(file: &File) -> io::Result<()> {
    match with(|_| file.metadata()) {
        Some(Ok(metadata)) if metadata.nlink() == 0 => Err(Errno::NODEV.into()),
        _ => Ok(()),
    }
}
