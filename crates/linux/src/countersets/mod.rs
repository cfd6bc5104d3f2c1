//! The countersets of Linux, one module each or for several that belong together, and their providers.

use perfset_engine::Provider;

use crate::clock::{elapsed_ns, start_100ns};
use crate::kept_file::Printed;
use crate::pass::SharedFile;
use crate::roots::Roots;

mod cache;
mod energy;
mod linux_memory;
mod memory;
mod numa;
mod objects;
mod processes;
mod processor_information;
mod sensors;
mod several;
mod single;
mod slow;
mod system;
mod thermal;
mod value;

use cache::Cache;
use energy::EnergyMeter;
use linux_memory::LinuxMemory;
use memory::Memory;
use numa::{LinuxNuma, NodeMemory};
use objects::Objects;
use processes::Processes;
pub use processor_information::ProcessorInformation;
use sensors::LinuxSensors;
use several::Several;
use single::Single;
use slow::WhenAsked;
use system::System;
use thermal::ThermalZones;

/// The providers of the operating system's counters, reading below `roots`.
#[must_use]
pub fn providers(roots: Roots) -> Vec<Box<dyn Provider>> {
    let clock_ticks = rustix::param::clock_ticks_per_second();
    let page_size = u64::try_from(rustix::param::page_size()).unwrap_or(u64::MAX);
    let file = |name, printed| SharedFile::new(roots.proc.join(name), printed);
    let stat = file("stat", Printed::AtOnce);
    let loadavg = file("loadavg", Printed::AtOnce);
    let meminfo = file("meminfo", Printed::AtOnce);
    let vmstat = file("vmstat", Printed::InRecords);
    let processes = Processes::new(&roots.proc);
    let nodes = numa::online(&roots);
    vec![
        Box::new(Single::new(System::new(stat.clone(), loadavg.clone(), processes.clone(), start_100ns))),
        Box::new(Single::new(Memory::new(&roots, meminfo.clone(), vmstat.clone(), page_size))),
        Box::new(Single::new(LinuxMemory::new(meminfo, vmstat.clone()))),
        Box::new(Single::new(Cache::new(vmstat))),
        Box::new(Several::new(NodeMemory::new(&roots, nodes.clone()))),
        Box::new(Several::new(LinuxNuma::new(&roots, nodes))),
        Box::new(Single::new(Objects::new(&roots, processes, loadavg))),
        Box::new(WhenAsked::new(Several::new(ThermalZones::new(&roots)))),
        Box::new(Several::new(EnergyMeter::new(&roots))),
        Box::new(WhenAsked::new(Several::new(LinuxSensors::new(&roots)))),
        Box::new(ProcessorInformation::sharing(roots, stat, clock_ticks, elapsed_ns)),
    ]
}
