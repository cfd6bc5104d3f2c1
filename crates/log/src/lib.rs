//! Logs of counters: what others recorded, read on any system.
//!
//! [`blg`] reads the binary logs of Windows, [`text`] reads and writes PDH-CSV and PDH-TSV; [`Log`] opens either, and
//! [`Info`] sums it up. With the feature `sqlite` the module `sql` writes the tables of perfmon's SQL logs.
//!
//! A log is hostile: every reader takes it piece by piece, its memory does not grow with the length of the log, and
//! what is damaged is left out and said, each [`Damage`] with its place.

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

pub mod blg;
pub mod damage;
pub mod info;
pub mod open;
pub mod source;
#[cfg(feature = "sqlite")]
pub mod sql;
pub mod text;

pub use damage::{Damage, Damages};
pub use info::Info;
pub use open::{Log, LogError};
pub use source::{Input, Logs, OpenError, Pick};
