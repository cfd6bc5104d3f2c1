//! Tests of the command as its users run it: what each subcommand prints and writes, and how it ends.

#![allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")]
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

mod command;
mod complete;
mod export;
mod facts;
mod find;
mod identity;
mod left_out;
mod lists;
mod log;
mod log_part;
mod manifest;
mod named;
mod output;
mod own_logs;
mod plot;
mod published;
mod publishing;
mod record;
mod releases;
mod relog;
mod report;
mod running;
mod serve;
mod streams;
mod tables;
mod v1;
mod versions;
mod watch;
