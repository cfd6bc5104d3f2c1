//! Countersets that applications publish, in shared memory: [`publish`] writes them, [`read`] serves them, and
//! [`callback`] asks their programs what the memory does not say.
//!
//! One file a program, on a file system in memory; `docs/shm-layout.md` has its layout. No daemon, no port: who may
//! read the file sees the counters, as they are now.

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
mod users;
pub mod folder;
pub mod definition;
mod merge;
pub mod publish;
pub mod callback;
pub mod read;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod faults;

pub use folder::Folders;
