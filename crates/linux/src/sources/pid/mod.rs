//! What `/proc/PID` says about one process, and `/proc/PID/task/TID` about one thread: one module a file.

pub mod io;
pub mod schedstat;
pub mod smaps_rollup;
pub mod stat;
pub mod statm;
pub mod status;
