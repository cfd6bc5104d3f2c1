//! Counter paths: what people type, and what it stands for. To PerfLib what PDH is to it on Windows.
//!
//! A path names a counterset, instances and counters: `\Processor Information(_Total)\% Processor Time`.
//! [`CounterPath`] is its grammar; [`PathQuery`] turns paths into as few entries of a query as it takes, and values
//! into rows of paths.

mod bind;
mod grammar;
mod names;
mod query;
mod select;
mod statistics;
#[cfg(test)]
mod tests;

pub use bind::BindError;
pub use grammar::{CounterPath, PathError};
pub use names::nearest;
pub use query::{PathQuery, PathValue};
pub use statistics::{Run, Series, Statistics};
