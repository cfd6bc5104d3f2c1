//! Tests of what a server answers on loopback: the machine, logs, streams, and requests that it refuses.

#![allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")]
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

mod documents;
mod findings;
mod log;
mod logs;
mod openapi;
mod running;
mod server;
mod slow_readers;
mod table;
