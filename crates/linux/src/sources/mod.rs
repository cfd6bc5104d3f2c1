//! What kernel files say: one module a file, which takes its text and compiles on every system.

mod columns;
pub(crate) mod named;
#[cfg(test)]
mod sweeps;
pub(crate) mod text;

pub mod attribute;
pub mod cgroup;
pub mod cppc;
pub mod cpuidle;
pub mod cpuinfo;
pub mod cpulist;
pub mod file_nr;
pub mod interrupts;
pub mod loadavg;
pub mod meminfo;
pub mod modules;
pub mod pressure;
pub mod proc_stat;
pub mod processes;
pub mod schedstat;
pub mod softirqs;
pub mod topology;
pub mod vmstat;

pub use named::Number;
