//! The V1 performance data format: a machine as V1 blocks, and V1 blocks as a source.
//!
//! [`Blocks`] is a [`Source`](crate::Source) of recorded or received blocks, so that queries, paths and screens read
//! them like a machine. [`query`] responds as HKEY_PERFORMANCE_DATA does: `Global`, title indexes, name tables.

mod answer;
mod blocks;
mod object_counterset;
mod objects;
mod value_name;
#[cfg(test)]
mod tests;
mod titles;

pub use answer::{OmittedObject, V1Response, query};
pub use blocks::{BlockProblem, Blocks};
pub use object_counterset::{guid_of_object, unit_of};
pub use objects::{ObjectProblem, ObjectSets, Recording};
pub use titles::{BASE_INDEX, Titles, windows_names};
pub use value_name::{ParseValueNameError, ValueName};
