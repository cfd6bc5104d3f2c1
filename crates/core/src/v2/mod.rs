//! PerfLib V2 blocks.

pub mod raw;
