//! Tests of the library as programs use it: catalogue, collections, recordings, and the code of the guides.

#![allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")]
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

mod collection;
mod disks;
mod fixture;
mod generated;
mod guides;
mod new_output;
mod recordings;
mod relations;
mod windows_definitions;
