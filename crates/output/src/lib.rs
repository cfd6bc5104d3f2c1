//! Outputs: values of counters as tables, CSV, JSON, PDH-CSV, SQLite and statistics.
//!
//! **Shape**: an [`Output`] receives samples of formatted values, one after the other. Each format is one file of this
//! crate with one implementation. [`Record`] contains the fields of one value; CSV and JSON write them. [`series`]
//! identifies what belongs to one column or line. [`text`] escapes names of other users and formats numbers.
//!
//! Receivers of raw samples implement [`Sink`](perfset_engine::Sink) instead.
//!
//! ```
//! use perfset::output::{JsonLines, SampleWriter, write_samples};
//! use perfset::path::PathQuery;
//!
//! let mut machine = perfset::local();
//! let mut query = PathQuery::open(&mut machine)?;
//! query.add(&mut machine, &r"\System\Processes".parse()?)?;
//! let mut lines = Vec::new();
//! write_samples(&mut query, &mut JsonLines::new(SampleWriter::buffered(&mut lines)), || false)?;
//! assert!(String::from_utf8(lines)?.contains("\"counter\":\"Processes\""));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

mod blocks;
mod csv;
mod form;
mod found;
mod human;
mod influx;
pub mod json;
mod left_out;
mod marked;
mod notes;
mod output;
mod path_names;
mod pdh_csv;
mod percentiles;
mod record;
mod rows;
mod selection;
pub mod series;
#[cfg(feature = "sqlite")]
mod sqlite;
mod summary;
mod table;
pub mod text;
mod wide;
mod writer;

pub use csv::CsvLines;
pub use form::NumberForm;
pub use found::FoundRecord;
pub use human::{human, push_human, unit_name};
pub use influx::InfluxLines;
pub use jiff::tz::TimeZone;
pub use json::JsonLines;
pub use left_out::{LeftOut, LeftOutRecord, NeverThere, first_sentences};
pub use marked::MarkedValues;
pub use output::{MachineValues, Output, OutputError, OutputSample, learn_series, write_samples};
pub use path_names::{PathNames, counter_name, instance_name};
pub use pdh_csv::{PdhCsv, PdhCsvColumns, PdhCsvOptions};
pub use record::{Record, utc_text};
pub use rows::{RowOrder, named_counter};
pub use selection::{ValueFilter, ValueSelection};
#[cfg(feature = "sqlite")]
pub use sqlite::SqlLog;
pub use summary::Summary;
pub use table::{Table, TableOptions};
pub use wide::{WideCsv, WideJson, WideOptions};
pub use writer::SampleWriter;
