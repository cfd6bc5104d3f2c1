//! Microsoft's PerfLib functions for C and C++ on Linux: `libperflib.so` and `libperflib.a`.
//!
//! The headers are in `include/`, what Windows source includes besides in `include/windows/`, and how they are used is
//! in `docs/c.md`. Rust programs use the crate `perfset` instead.
//!
//! The engine is the same as everywhere: this crate has the size protocol of C's buffers, handles, the two kinds of
//! wide text, and pointers. Nothing that a caller passes is kept after a call, but a provider's callback and the
//! addresses of its values; no panic leaves a function; a process that forks begins anew.

#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "a test may overflow"))]

#[cfg(target_endian = "big")]
compile_error!("a block is little-endian, and C reads it as its own structures");

mod boundary;
mod handles;
mod process;

pub mod consumer;
#[cfg(target_os = "linux")]
pub mod provider;
pub mod registry;
pub mod wide;
pub mod windows;

#[doc(hidden)]
pub use process::begin_with;
