//! Data model, formulas and binary formats of performance counters. No I/O.
//!
//! A [`Counterset`] is a set of [`Counter`]s that share the same [`Instance`]s. A [`Sample`] is one counter of one
//! instance at one time. [`formula::format`] computes a formatted value from two samples, or returns a [`NoValue`]
//! with the reason why there is none.
//!
//! ```
//! use perfset::formula::{Reading, counter_rate};
//!
//! let old = Reading { raw: 5, time: 0, freq: 10 };
//! let new = Reading { raw: 15, time: 20, freq: 10 };
//! assert_eq!(counter_rate(old, new), Ok(5.0)); // ten events in two seconds
//! ```
//!
//! [`pdh`] contains the statuses, raw counters and formats of PDH, and computes values from raw counters of the
//! caller.
//!
//! [`v2`] parses PerfLib V2 blocks into checked views and builds them; [`v1`] does the same for the performance data
//! format.

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

pub mod status;
pub mod guid;
pub mod utf16;
mod code_page;
pub mod likeness;
pub mod counter_type;
pub mod counterset;
pub mod instance;
pub mod clock;
pub mod value;
pub mod sample;
pub mod formula;
pub mod pdh;
pub mod wire;
pub mod visit;
pub mod v2;
pub mod v1;

// Files of tests/ name this crate as examples do.
#[cfg(test)]
extern crate self as perfset_core;
#[cfg(test)]
#[path = "../tests/vectors/mod.rs"]
mod vectors;

pub use counter_type::CounterType;
pub use counterset::{
    Aggregate, Attributes, CostClass, Counter, CounterFilter, CounterId, CounterSource, Counterset,
    DetailLevel, InstanceType, Language, ProviderIdentity, Text, Translation,
};
pub use guid::Guid;
pub use instance::{Birth, Identity, Instance, InstanceId, InstanceIdFilter, Owner};
pub use sample::Sample;
pub use status::Status;
pub use utf16::{Name, Utf16};
pub use value::{FormattedValue, Mark, NoValue, RawValue};
