//! Countersets PhysicalDisk, LogicalDisk and Block I/O, which share `/proc/diskstats`.

mod block_io;
mod disks;
mod facts;
mod logical;
mod mounts;
mod physical;
mod remote;
mod requests;

#[cfg(test)]
mod tests;

pub(crate) use block_io::BlockIo;
pub(crate) use disks::Disks;
pub(crate) use logical::{AskSpace, LogicalDisk};
pub(crate) use physical::PhysicalDisk;
