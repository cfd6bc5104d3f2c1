//! Instrumentation manifests: the XML files (`.man`) in which a provider declares its countersets, as on Windows.
//!
//! ```no_run
//! use perfset::manifest::Manifest;
//!
//! let manifest = Manifest::parse(&std::fs::read("harbour.man")?)?;
//! for set in manifest.countersets() {
//!     println!("{}: {} counters", set.name, set.counters.len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Manifest::check`] returns all problems of a file, each [`Problem`] with its position, a description and a
//! suggestion. [`Manifest::export`] converts countersets to a manifest, [`Manifest::write`] formats a manifest as a
//! file, and [`generate`] generates code from it. A [`Store`](store::Store) contains the registered providers, read
//! from directories of manifests.
//!
//! Source: MS Learn, "Performance Counters Schema" and "Providing Counter Data Using Version 2.0".

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

pub mod model;
pub mod problem;
pub mod generate;
pub mod store;
mod decode;
mod xml;
mod read;
mod relation;
mod rules;
mod symbol;
mod write;
mod export;

pub use export::ExportError;
pub use model::Manifest;
pub use problem::{Problem, Problems, Rule, Severity};
