//! Recordings as Parquet files for SQL engines.
//!
//! [`export()`] writes the samples of any log, one file per counterset, host, day and boot:
//!
//! ```text
//! ROOT/counterset=SLUG/date=2026-11-23/host=HOST/BOOT-SEQUENCE.parquet
//! ```
//!
//! The page `docs/parquet.md` describes the columns.

#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "a test may overflow"))]

mod buffer;
mod error;
mod export;
mod file;
mod folder;
mod info;
mod layout;
mod names;
mod place;
mod range;
mod root;
mod rows;
#[cfg(any(test, feature = "object-store"))]
mod store;
mod views;
#[cfg(test)]
mod tests;

pub use error::{ParquetExportError, RootError};
pub use export::{ExportOptions, ExportSummary, Exporter, SampleOrigin, export};
pub use info::{file_info, is_parquet};
pub use layout::{ColumnKind, CounterColumn, CountersetLayout};
pub use names::{counterset_slug, host_partition};
pub use root::ExportRoot;
pub use views::{SqlDialect, view};
