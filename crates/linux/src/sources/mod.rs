//! Parsers for kernel files: one module for each file. A parser takes the file's text, and compiles on every system.

mod columns;
mod escapes;
mod mib;
pub(crate) mod named;
#[cfg(test)]
mod sweeps;
pub(crate) mod text;

pub mod arcstats;
pub mod attribute;
pub mod bonding;
pub mod cgroup;
pub mod cppc;
pub mod cpuidle;
pub mod cpuinfo;
pub mod cpulist;
pub mod diskstats;
pub mod drm_fdinfo;
pub mod drm_nodes;
pub mod file_nr;
pub mod hwmon;
pub mod interrupt_rows;
pub mod interrupts;
pub mod link_speed;
pub mod loadavg;
pub mod mdstat;
pub mod meminfo;
pub mod modules;
pub mod mountinfo;
pub mod net_dev;
pub mod netstat;
pub mod nfs_client;
pub mod node_meminfo;
pub mod numastat;
pub mod passwd;
pub mod pci_address;
pub mod pid;
pub mod powercap;
pub mod pressure;
pub mod proc_stat;
pub mod processes;
pub mod rtnetlink;
pub mod schedstat;
pub mod snmp6;
pub mod snmp;
pub mod sockstat;
pub mod softirqs;
pub mod swaps;
pub mod sysvipc;
pub mod tcp_sockets;
pub mod thermal;
pub mod topology;
pub mod uevent;
pub mod vmstat;
pub mod workload;

pub use named::{NamedLines, Number};
