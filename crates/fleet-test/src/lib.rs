//! Generated hosts for tests of fleets: machines whose counters follow from a seed, and look like those of servers.
//!
//! A host has Processor Information of 16 processors, Memory, PhysicalDisk, Network Interface, and the 50 largest
//! processes of Process V2: nearly 2,000 values a sample. Its counts are consistent: processors are as busy as
//! processes make them, and sums are sums. [`HostPlan`] says what a host is for and what happens to it.
//! [`write_recording`] writes a recording as `perfset record` does, which [`perfset_parquet::export()`] exports.

mod disks;
mod host;
mod plan;
mod processes;
mod random;
mod recording;

pub use host::GeneratedHost;
pub use plan::{HostPlan, HostRole};
pub use recording::{RecordedHost, RecordingPlan, write_recording};
