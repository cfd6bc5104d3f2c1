//! Readers and writers of performance counter logs. Logs recorded by other tools are readable on any system.
//!
//! [`blg`] reads the binary logs of Windows; [`text`] reads and writes PDH-CSV and PDH-TSV; [`records`] reads CSV and
//! JSON lines of perfset. [`Log`] opens a log of any format, and [`Info`] summarizes it. With
//! the feature `sqlite` the module `sql` writes the tables of perfmon's SQL logs, and [`Log::open_file`] reads them.
//!
//! [`recording`] writes and reads recordings of perfset: every counter, with its identity and its reasons.
//!
//! Logs are untrusted input: every reader reads in chunks, and its memory does not grow with the length of the log.
//! Damaged data is omitted and reported, each [`Damage`] with its offset.

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

pub mod blg;
pub mod damage;
mod existing;
pub mod info;
pub mod open;
mod pick;
pub mod recording;
pub mod records;
pub mod source;
#[cfg(feature = "sqlite")]
pub mod sql;
pub mod text;

pub use damage::{Damage, Damages};
pub use existing::Existing;
pub use info::Info;
pub use open::{Log, LogError};
pub use pick::Pick;
pub use source::{Input, Logs, MachineLogs, OpenError};
