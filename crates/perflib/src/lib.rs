//! Microsoft's PerfLib functions for C and C++ on Linux: `libperflib.so` and `libperflib.a`.
//!
//! The headers are in `include/`, and the other files that Windows source includes in `include/windows/`. `docs/c.md`
//! describes their use. Rust programs use the crate `perfset` instead.
//!
//! The engine is the same as everywhere. This crate adds the size protocol of C's buffers, handles, the two kinds of
//! wide text, and pointers. No data that a caller passes is stored after a call, except a provider's callback and the
//! addresses of its values. No panic leaves a function; a forked process begins again.

#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "a test may overflow"))]

#[cfg(target_endian = "big")]
compile_error!("a block is little-endian, and C reads it as its own structures");

mod boundary;
mod handles;
mod past;
mod process;

pub mod consumer;
#[cfg(target_os = "linux")]
pub mod provider;
pub mod registry;
pub mod wide;
pub mod windows;

#[doc(hidden)]
pub use process::begin_with;
