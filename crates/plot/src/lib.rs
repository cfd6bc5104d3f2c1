//! Pictures of counters over time, as SVG and PNG.
//!
//! **Shape**: a [`Chart`] is told of lines, samples and values, of whatever number, and keeps what a picture of its
//! width can show. [`Chart::draw`] lays a [`Picture`] out: one panel a unit, below it what its lines are and their last
//! value, average, minimum and maximum. A picture is a list of shapes; [`Picture::svg`] and [`Picture::png`] write
//! them.
//!
//! A value that is not there is a gap, never 0 and never a line over it.
//!
//! ```
//! use perfset_plot::{Chart, Label, Look};
//!
//! let mut chart = Chart::new(800);
//! let label = Label { counterset: "Memory", counter: "Available Bytes", unit: "By", ..Label::default() };
//! let line = chart.line(&label).unwrap();
//! for second in 0..60 {
//!     chart.sample(second * 1_000_000);
//!     chart.value(line, 1e9 + second as f64);
//! }
//! let svg = chart.draw(&Look::default()).svg();
//! assert!(svg.starts_with("<svg") && svg.contains("Memory: Available Bytes"));
//! ```

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

mod axis;
mod chart;
mod choice;
mod font;
mod layout;
mod number;
mod picture;
mod png;
mod stretch;
mod svg;
mod theme;
mod time;
mod unit;

pub use chart::{Chart, Label, LineId};
pub use layout::Look;
pub use picture::{Picture, TooLarge};
pub use theme::Theme;
