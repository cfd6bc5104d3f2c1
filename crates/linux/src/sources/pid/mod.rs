//! Parsers for the files of one process in `/proc/PID`, and of one thread in `/proc/PID/task/TID`: one module for
//! each file.

pub mod cgroup;
pub mod cmdline;
pub mod io;
pub mod schedstat;
pub mod smaps_rollup;
pub mod stat;
pub mod statm;
pub mod status;
