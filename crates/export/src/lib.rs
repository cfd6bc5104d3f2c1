//! Counters for Prometheus: raw cumulative values as text; the server computes rates from them.
//!
//! ```
//! use perfset_engine::{Machine, testing::FixedClock};
//! use perfset_export::{Exporter, ExpositionFormat, ExportOptions};
//!
//! let machine = Machine::new(Box::new(FixedClock::default()));
//! let paths = [r"\Perfset Engine\Collections/sec".parse()?];
//! let mut exporter = Exporter::open(machine, &paths, ExportOptions::default())?;
//! let mut text = Vec::new();
//! exporter.scrape(ExpositionFormat::Prometheus, &mut text)?;
//! let text = String::from_utf8(text)?;
//! assert!(text.contains("\n# TYPE perf_perfset_engine_collections_total counter\n"));
//! assert!(text.contains("\nperf_perfset_engine_collections_total 0\n"));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! **Structure**: a counter becomes one metric or two, by its type; a metric has a name and a line for each instance.
//! Metrics of one name are a family. Text that is equal in every scrape is created once.
//!
//! Source: Prometheus, "Exposition formats" and "Metric and label naming"; OpenMetrics 1.0.

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

mod options;
mod error;
mod unit;
mod kind;
mod name;
mod windows_exporter;
mod node_exporter;
mod catalogue;
mod text;
mod wrap;
mod labels;
mod table;
mod family;
mod limit;
mod own;
mod inventory;
mod binding;
mod exporter;
mod selection;
mod defaults;
#[cfg(test)]
mod tests;

pub use defaults::default_paths;
pub use error::ExportError;
pub use exporter::Exporter;
pub use options::{ExportOptions, ExpositionFormat, Profile};
pub use selection::MetricSelection;
pub use text::escaped_label;
