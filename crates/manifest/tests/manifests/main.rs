//! Tests of manifests from end to end: the samples, the rules, generated code, and the store.

#![allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

mod both_ways;
mod generated;
mod rules;
mod samples;
mod store;
