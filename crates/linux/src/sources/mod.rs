//! What kernel files say: one module a file, which takes its text and compiles on every system.

mod columns;
pub(crate) mod named;
#[cfg(test)]
mod sweeps;
pub(crate) mod text;

pub mod attribute;
pub mod cppc;
pub mod cpuidle;
pub mod cpuinfo;
pub mod cpulist;
pub mod interrupts;
pub mod link_speed;
pub mod loadavg;
pub mod meminfo;
pub mod modules;
pub mod net_dev;
pub mod netstat;
pub mod proc_stat;
pub mod processes;
pub mod rtnetlink;
pub mod sockstat;
pub mod softirqs;
pub mod topology;
pub mod vmstat;

pub use named::Number;
