//! The countersets of Linux, one module each or for several that belong together, and their providers.

use perfset_engine::Provider;

use crate::clock::{elapsed_ns, start_100ns, time_100ns_at};
use crate::kept_file::Printed;
use crate::pass::SharedFile;
use crate::roots::Roots;

mod disk;
mod memory;
mod process;
mod paging_file;
mod processor_information;
mod several;
mod single;
mod system;
mod value;

use disk::{AskSpace, BlockIo, Disks, LogicalDisk, PhysicalDisk};
use memory::Memory;
use paging_file::PagingFile;
use process::Processes;
pub use processor_information::ProcessorInformation;
use several::Several;
use single::Single;
use system::System;

/// The providers of the operating system's counters, reading below `roots`.
#[must_use]
pub fn providers(roots: Roots) -> Vec<Box<dyn Provider>> {
    let clock_ticks = rustix::param::clock_ticks_per_second();
    let page_size = u64::try_from(rustix::param::page_size()).unwrap_or(u64::MAX);
    let stat = SharedFile::new(roots.proc.join("stat"), Printed::AtOnce);
    let disks = Disks::new(&roots, time_100ns_at);
    let space: Option<AskSpace> = roots.are_own().then_some(|path| rustix::fs::statvfs(path));
    vec![
        Box::new(Single::new(System::new(&roots, stat.clone(), start_100ns))),
        Box::new(Single::new(Memory::new(&roots, page_size))),
        Box::new(Processes::new(&roots, stat.clone(), (clock_ticks, page_size), start_100ns)),
        Box::new(Several::new(PhysicalDisk::new(disks.clone()))),
        Box::new(Several::new(LogicalDisk::new(&roots, disks.clone(), space))),
        Box::new(Several::new(BlockIo::new(disks))),
        Box::new(Several::new(PagingFile::new(&roots))),
        Box::new(ProcessorInformation::sharing(roots, stat, clock_ticks, elapsed_ns)),
    ]
}
