//! The countersets of Linux, one module each or for several that belong together, and their providers.

use perfset_engine::Provider;

use crate::clock::{elapsed_ns, start_100ns};
use crate::kept_file::Printed;
use crate::pass::SharedFile;
use crate::roots::Roots;

mod cgroup;
mod linux_system;
mod memory;
mod pressure_stall;
mod processor_information;
mod several;
mod single;
mod system;
mod value;

use cgroup::CGroup;
use linux_system::LinuxSystem;
use memory::Memory;
use pressure_stall::PressureStall;
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
    let loadavg = SharedFile::new(roots.proc.join("loadavg"), Printed::AtOnce);
    vec![
        Box::new(Single::new(System::new(&roots, stat.clone(), loadavg.clone(), start_100ns))),
        Box::new(Single::new(LinuxSystem::new(&roots, stat.clone(), loadavg))),
        Box::new(Single::new(Memory::new(&roots, page_size))),
        Box::new(Several::new(PressureStall::new(&roots))),
        Box::new(Several::new(CGroup::new(&roots, clock_ticks))),
        Box::new(ProcessorInformation::sharing(roots, stat, clock_ticks, elapsed_ns)),
    ]
}
