//! Logs of counters: what others recorded, read on any system.
//!
//! `blg` reads the binary logs of Windows. [`text`] reads and writes PDH-CSV and PDH-TSV.
//!
//! A log is hostile: every reader takes it piece by piece, its memory does not grow with the length of the log, and
//! what is damaged is left out and said, each [`Damage`] with its place.

pub mod damage;
pub mod text;

pub use damage::{Damage, Damages};
