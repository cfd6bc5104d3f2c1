//! Interactive screens over any source: a table of any counterset, a strip of charts with the history of counters,
//! and a cursor in time.
//!
//! A [`Viewer`] has the state and handles keys, [`screen::draw`] draws it, and [`run`] connects both with a terminal.

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

use std::time::Duration;

pub use comparison::Baseline;
pub use feed::{Feed, FeedError, TablePlan};
pub use run::{RunError, RunOptions, run};
pub use tab::TableChoice;
pub use viewer::{KeyOutcome, Viewer};

mod comparison;
mod feed;
mod filter;
mod presets;
mod run;
mod sample;
pub mod screen;
mod spans;
mod tab;
mod timeline;
mod tree;
mod viewer;

/// Time between the first two samples of a table, because rates need two samples.
const WARMUP: Duration = Duration::from_millis(120);
