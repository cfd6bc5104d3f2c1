//! PerfLib V2 blocks: bytes to checked views, and back.
//!
//! [`Block::parse`] reads what a query returned, ours, Windows' or a stranger's; [`BlockBuilder`] writes it. The other
//! lists of the interface have a view and a writer each: [`identifier`], [`identity`], [`registration`], [`strings`],
//! [`instances`]. What a provider says of its countersets is only read: [`template`].
//!
//! [`walk()`] visits every field of any of them and knows the rules that writers keep;
//! [`read`] is strict with it, or lists what it forgives; [`walk::dump`](crate::walk::dump) prints it.
//!
//! ```
//! use perfset_core::v2::{Block, BlockBuilder, Body, raw::Cell};
//! use perfset_core::{InstanceId, RawValue, clock::ClockReading};
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
mod over;
pub mod raw;
pub mod registration;
mod rows;
pub mod strings;
pub mod template;
#[cfg(test)]
mod tests;
mod walk;

pub use block::{
    Block, Body, Ids, Instance, InstanceRows, InstanceTable, Kind, QueryResult, Results, Value, Values,
    ValuesIter,
};
pub use build::{BlockBuilder, PatchResult, TableBuilder, TablePatch, TooLarge};
pub use rows::TableRows;
pub use walk::{Format, read, walk};

/// The next multiple of 8.
pub(crate) fn align8(len: usize) -> usize {
    len.saturating_add(7) & !7
}

/// PERF_MAX_INSTANCE_NAME: characters of an instance name, the NUL included.
pub const PERF_MAX_INSTANCE_NAME: usize = 1024;

/// PERF_AGGREGATE_INSTANCE: the name of the instance that stands for all of a counterset.
pub const PERF_AGGREGATE_INSTANCE: &str = "_Total";
