//! Counters of the operating system on Linux, with one module for each kernel source.
//!
//! Parsers, the [`sources`], parse text and compile on every platform:
//!
//! ```
//! use perfset_linux::sources::proc_stat::ProcStat;
//!
//! let mut stat = ProcStat::default();
//! stat.parse(b"cpu  5 0 3 90\ncpu0 2 0 1 45\ncpu1 3 0 2 45\nintr 7 7 0\n")?;
//! for line in &stat.cpus {
//!     let ticks = line.ticks.clone()?;
//!     println!("cpu{}: {} ticks in programs, {} at rest", line.cpu, ticks.user, ticks.resting());
//! }
//! # Ok::<_, perfset_linux::TextError>(())
//! ```
//!
//! On Linux [`providers`] reads the files, below the given [`Roots`]: [`KeptFile`] keeps their file descriptors and
//! buffers. A provider for each counterset, such as [`ProcessorInformation`], converts the data to rows. A file that
//! is missing or invalid affects only the counters that use it.

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

pub mod inventory;
pub mod sources;

#[cfg(target_os = "linux")]
mod adjtimex;
#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod countersets;
#[cfg(target_os = "linux")]
mod cpu_clock;
#[cfg(target_os = "linux")]
#[cfg(test)]
#[path = "../tests/faults/mod.rs"]
mod faults;
#[cfg(target_os = "linux")]
mod heap;
#[cfg(target_os = "linux")]
mod may_trace;
#[cfg(target_os = "linux")]
mod provider;
mod roots;
#[cfg(target_os = "linux")]
#[cfg(test)]
#[path = "../tests/testing/mod.rs"]
mod testing;

#[cfg(target_os = "linux")]
pub use capabilities::{drop_walk_capabilities, has_more_rights};
#[cfg(target_os = "linux")]
pub use clock::{SystemClock, elapsed_ns, hostname, perf_time, start_100ns, time_100ns};
#[cfg(target_os = "linux")]
pub use countersets::{ProcessSource, ProcessorInformation, prepare_walks, providers, providers_within};
#[cfg(target_os = "linux")]
pub use heap::{release_memory, return_large_pieces};
#[cfg(target_os = "linux")]
pub use provider::{KeptFile, ReadError, SeqFileKind};
pub use roots::Roots;
pub use sources::text::TextError;
