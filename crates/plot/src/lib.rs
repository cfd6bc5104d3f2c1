//! Pictures of counters over time, as SVG and PNG.
//!
//! **Shape**: a [`Chart`] receives lines, samples and values, however many, and stores as much as a picture of its
//! width can show. [`Chart::draw`] lays out a [`Picture`]: one panel per unit, and below it a legend with name, last
//! value, average, minimum and maximum of each line. A picture is a list of shapes; [`Picture::svg`] and
//! [`Picture::png`] write it.
//!
//! A missing value is a gap, never 0 and never a line across.
//!
//! ```
//! use perfset_plot::{Chart, Label, PictureOptions};
//!
//! let mut chart = Chart::new(800);
//! let label = Label { counterset: "Memory", counter: "Available Bytes", unit: "By", ..Label::default() };
//! let line = chart.line(&label).unwrap();
//! for second in 0..60 {
//!     chart.sample(second * 1_000_000);
//!     chart.value(line, 1e9 + second as f64);
//! }
//! let svg = chart.draw(&PictureOptions::default()).svg();
//! assert!(svg.starts_with("<svg") && svg.contains("Memory: Available Bytes"));
//! ```

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

mod amount;
mod axis;
mod chart;
mod choices;
mod content;
mod curves;
mod panels;
mod equal;
mod font;
mod frame;
mod glyphs;
mod layout;
mod number;
mod options;
mod picture;
mod png;
mod bucket;
mod stack;
mod svg;
mod theme;
mod time;
mod unit;

pub use amount::{Amount, AmountError, ParseAmountError, Threshold};
pub use axis::ValueScale;
pub use chart::{Chart, Label, LineId};
pub use glyphs::font_directories;
pub use options::PictureOptions;
pub use picture::{Picture, PictureTooLarge};
pub use png::Png;
pub use theme::Theme;
