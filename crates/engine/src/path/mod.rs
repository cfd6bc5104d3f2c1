//! Counter paths: parsing, binding, querying and formatting. They are to PerfLib what PDH is on Windows.
//!
//! A path names a counterset, instances and counters: `\Processor Information(_Total)\% Processor Time`.
//! [`CounterPath`] is its grammar. [`PathQuery`] converts paths to as few query entries as possible, and values to
//! rows of paths.

mod bind;
mod expand;
mod find;
mod grammar;
mod greatest;
mod instance_name;
mod names;
mod query;
mod query_file;
mod read;
mod select;
mod statistics;
mod values;
#[cfg(test)]
mod tests;

pub use bind::{BindError, ResolvedPath, resolve};
pub use expand::{ExpandOptions, ObjectItems, expand, object_items, objects, validate};
pub use find::{CounterMatch, SearchResult, UnknownWord, find, path_of};
pub use grammar::{CounterPath, PathError};
pub use greatest::keep_greatest;
pub use instance_name::{InstanceName, substituted};
pub use names::nearest;
pub use perfset_core::pdh::{
    Calculation, CounterValue, Format, FormatKind, Number, PdhStatus, RawCounter, Scale, time_base,
};
pub use query::{PathQuery, PathValue, sums_up};
pub use query_file::{QueryFileError, query_file, query_paths};
pub use read::CounterInfo;
pub use select::Selector;
pub use statistics::{Run, SeriesKey, Statistics};
