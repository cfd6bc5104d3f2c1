//! Countersets that applications publish in shared memory: [`publish`] writes them, [`read`] serves them.
//! [`callback`] requests from publishers what the memory does not contain.
//!
//! Each publisher has one file, on a file system in memory; `docs/shm-layout.md` documents its layout. There is no
//! daemon and no port: every user with read permission for the file sees the current counters.

#![cfg(target_os = "linux")]
#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

pub mod layout;
mod memory;
mod fork;
mod guard;
mod stripe;
mod lock;
mod process;
mod random;
mod users;
mod allowance;
mod sequence;
pub mod folder;
pub mod definition;
mod merge;
pub mod publish;
pub mod callback;
pub mod read;
#[cfg(test)]
mod tests;
#[cfg(test)]
#[path = "../tests/faults/mod.rs"]
mod faults;

pub use folder::Folders;
