//! Countersets PhysicalDisk, LogicalDisk and Block I/O, which share `/proc/diskstats`, and File System.

mod block_io;
mod disks;
mod facts;
mod file_system;
mod logical;
mod mount_points;
mod mounts;
mod physical;
mod remote;
mod requests;

#[cfg(test)]
mod tests;

pub(crate) use block_io::BlockIo;
pub(crate) use disks::Disks;
pub(crate) use file_system::FileSystem;
pub(crate) use logical::{AskSpace, LogicalDisk};
pub(crate) use physical::PhysicalDisk;
