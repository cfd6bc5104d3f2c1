//! Counter paths: what people type, and what it stands for. To PerfLib what PDH is to it on Windows.
//!
//! A path names a counterset, instances and counters: `\Processor Information(_Total)\% Processor Time`.
//! [`CounterPath`] is its grammar; [`PathQuery`] turns paths into as few entries of a query as it takes, and values
//! into rows of paths.

mod bind;
mod expand;
mod find;
mod grammar;
mod greatest;
mod instance_name;
mod names;
mod query;
mod read;
mod select;
mod statistics;
#[cfg(test)]
mod tests;

pub use bind::{BindError, Resolved, resolve};
pub use expand::{ObjectItems, Unexpanded, expand, object_items, objects, validate};
pub use find::{Found, find, path_of};
pub use grammar::{CounterPath, PathError};
pub use greatest::keep_greatest;
pub use instance_name::{InstanceName, substituted};
pub use names::nearest;
pub use perfset_core::pdh::{
    Calculation, CounterValue, Format, FormatKind, Number, PdhStatus, RawCounter, Scale, time_base,
};
pub use query::{PathQuery, PathValue};
pub use read::CounterInfo;
pub use select::Selector;
pub use statistics::{Run, Series, Statistics};
