//! PerfLib V2 blocks: parses bytes into checked views, and writes them.
//!
//! [`Block::parse`] reads a query result of perfset, Windows or any other program; [`BlockBuilder`] writes one. The
//! other lists of the interface each have a view and a writer: [`identifier`], [`identity`], [`registration`],
//! [`strings`], [`instances`]. Descriptions of countersets by a provider are only read: [`template`].
//!
//! [`visit()`] visits every field of any of these formats and checks the rules for writers. [`read`] fails at the
//! first violation, or lists the violations that it ignores. [`visit::dump`](crate::visit::dump) prints a block.
//!
//! ```
//! use perfset::v2::{Block, BlockBuilder, Body, raw::Cell};
//! use perfset::{InstanceId, RawValue, clock::ClockReading};
//!
//! let mut builder = BlockBuilder::new(&ClockReading::default());
//! let mut table = builder.multiple_instances();
//! table.row("0,0".encode_utf16(), InstanceId(0), [Cell::from_u64(5000)]);
//! table.finish();
//! let bytes = builder.finish().unwrap();
//!
//! let block = Block::parse(&bytes).unwrap();
//! let result = block.results().next().unwrap().unwrap();
//! let Body::MultipleInstances(table) = result.body else { panic!() };
//! let row = table.rows().next().unwrap().unwrap();
//! assert_eq!(row.name(), "0,0");
//! assert_eq!(row.values().get(0).unwrap().number(), Some(RawValue::U64(5000)));
//! ```

mod block;
mod build;
pub mod identifier;
pub mod identity;
pub mod instances;
mod patch;
pub mod raw;
pub mod registration;
mod rows;
pub mod strings;
mod system_time;
pub mod template;
#[cfg(test)]
mod tests;
mod values;
mod visit;

pub use block::{
    Block, Body, CounterDataType, Ids, Instance, InstancePlace, InstanceRows, InstanceTable, QueryResult,
    Results, ValuesPlace,
};
pub use build::{BlockBuilder, PatchResult, TableBuilder, TablePatch, TooLarge, set_clocks};
pub use rows::TableRows;
pub use values::{BlockValue, Values, ValuesIter};
pub use visit::{BlockFormat, read, visit};

/// Rounds a length in bytes up to the next multiple of 8.
pub(crate) fn align8(len: usize) -> usize {
    len.saturating_add(7) & !7
}

/// PERF_MAX_INSTANCE_NAME: maximum number of characters of an instance name, including the NUL.
pub const PERF_MAX_INSTANCE_NAME: usize = 1024;

/// PERF_AGGREGATE_INSTANCE: name of the instance that aggregates all instances of a counterset.
pub const PERF_AGGREGATE_INSTANCE: &str = "_Total";
