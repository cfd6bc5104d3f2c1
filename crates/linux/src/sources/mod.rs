//! What kernel files say: one module a file, which takes its text and compiles on every system.

mod columns;
mod escapes;
pub(crate) mod named;
#[cfg(test)]
mod sweeps;
pub(crate) mod text;

pub mod attribute;
pub mod cppc;
pub mod cpuidle;
pub mod cpuinfo;
pub mod cpulist;
pub mod diskstats;
pub mod interrupts;
pub mod loadavg;
pub mod meminfo;
pub mod modules;
pub mod pid;
pub mod mountinfo;
pub mod proc_stat;
pub mod processes;
pub mod softirqs;
pub mod swaps;
pub mod topology;
pub mod vmstat;

pub use named::Number;
