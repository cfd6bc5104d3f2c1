//! The operating system's counters on Linux, one module a kernel source.
//!
//! Parsers take text and compile everywhere:
//!
//! ```
//! use perfset_linux::proc_stat::ProcStat;
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
//! On Linux [`providers`] reads the files, below the [`Roots`] that it is given: [`KeptFile`] keeps their descriptors
//! and buffers, and [`ProcessorInformation`] turns what they say into the rows of a counterset. A file that is missing
//! or makes no sense costs the counters that it feeds and no others.

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

mod columns;
mod text;

pub mod attribute;
pub mod cppc;
pub mod cpuidle;
pub mod cpuinfo;
pub mod cpulist;
pub mod interrupts;
pub mod proc_stat;
pub mod softirqs;
pub mod topology;

#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod kept_file;
#[cfg(target_os = "linux")]
mod pass;
#[cfg(target_os = "linux")]
mod processor_information;
#[cfg(target_os = "linux")]
mod providers;
mod roots;
#[cfg(test)]
mod sweeps;

#[cfg(target_os = "linux")]
pub use clock::{SystemClock, elapsed_ns, hostname};
#[cfg(target_os = "linux")]
pub use kept_file::{KeptFile, Printed, ReadError};
#[cfg(target_os = "linux")]
pub use processor_information::ProcessorInformation;
#[cfg(target_os = "linux")]
pub use providers::providers;
pub use roots::Roots;
pub use text::TextError;
