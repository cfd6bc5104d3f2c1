//! Countersets of Linux and their providers, with one module for each counterset or group of related countersets.

use perfset_engine::{Deadline, Provider};

use crate::clock::{elapsed_ns, start_100ns, start_in_ticks_100ns, time_100ns_at};
use crate::provider::{
    LazyProvider, ParsedFile, SeqFileKind, SharedFile, SharedParsedFile, multi_instance, single_instance,
};
use crate::roots::Roots;
use crate::sources::vmstat::VmStat;

mod bonding;
mod cache;
mod cgroup;
mod conntrack;
mod clock_discipline;
mod disk;
mod energy;
mod gpu;
mod interrupts;
mod linux_memory;
mod linux_system;
mod linux_udp;
mod memory;
mod netstat;
mod network_interface;
mod nfs;
pub(crate) mod numa;
mod objects;
mod paging_file;
mod power_supply;
mod pressure_stall;
mod process;
mod process_count;
mod processor_information;
mod protocols;
mod raid;
mod sensors;
mod sockets;
mod system;
mod tcp_states;
mod thermal;
mod zfs_arc;

use bonding::Bonding;
use cache::Cache;
use cgroup::CGroup;
use clock_discipline::{AskDiscipline, ClockDiscipline};
use conntrack::ConnectionTracking;
use disk::{AskSpace, BlockIo, Disks, FileSystem, LogicalDisk, PhysicalDisk};
use energy::EnergyMeter;
use interrupts::Interrupts;
use linux_memory::LinuxMemory;
use linux_system::LinuxSystem;
use linux_udp::LinuxUdp;
use memory::Memory;
use netstat::{LinuxIp, LinuxTcp};
use network_interface::{LinuxNetworkInterface, NetworkInterface};
use nfs::{NfsClient, NfsOperations};
use numa::{LinuxNuma, NodeMemory};
use objects::Objects;
use paging_file::PagingFile;
use power_supply::PowerSupplies;
use pressure_stall::PressureStall;
pub use process::{ProcessSource, prepare_walks};
use process::{ProcessStates, Processes};
use process_count::ProcessCount;
pub use processor_information::ProcessorInformation;
use raid::SoftwareRaid;
use sensors::LinuxSensors;
use sockets::Sockets;
use system::System;
use tcp_states::TcpStates;
use thermal::{CoolingDevices, ThermalZones};
use zfs_arc::ZfsArc;

/// Returns the providers of the operating system's counters, reading below `roots`. `processes` selects the
/// collection method for processes. Sources that may block have the default deadline.
#[must_use]
pub fn providers(roots: Roots, processes: ProcessSource) -> Vec<Box<dyn Provider>> {
    providers_within(roots, processes, &Deadline::default())
}

/// Returns the same providers as [`providers`], with another deadline for sources that may block: thermal firmware,
/// sensors, NVIDIA's library, file systems. Give the machine the same deadline.
#[must_use]
pub fn providers_within(
    roots: Roots,
    processes: ProcessSource,
    deadline: &Deadline,
) -> Vec<Box<dyn Provider>> {
    let clock_ticks = rustix::param::clock_ticks_per_second();
    let page_size = u64::try_from(rustix::param::page_size()).unwrap_or(u64::MAX);
    // Files that several countersets parse are shared: each is read once per collection.
    let file = |name, printed| SharedFile::new(roots.proc.join(name), printed);
    let stat = file("stat", SeqFileKind::Single);
    let loadavg = file("loadavg", SeqFileKind::Single);
    let meminfo = file("meminfo", SeqFileKind::Single);
    let vmstat = vmstat(&roots);
    let netstat = SharedFile::new(roots.net("netstat"), SeqFileKind::Single);
    let sockstat = SharedFile::new(roots.net("sockstat"), SeqFileKind::Single);
    let net_dev = SharedFile::new(roots.net("dev"), SeqFileKind::Lines);
    let [snmp, snmp6] = ["snmp", "snmp6"].map(|name| SharedFile::new(roots.net(name), SeqFileKind::Single));
    let nfs = SharedFile::new(roots.net("rpc/nfs"), SeqFileKind::Single);
    let count = ProcessCount::new(&roots.proc);
    let nodes = numa::online(&roots);
    let disks = Disks::new(&roots, time_100ns_at);
    // Below other roots the mount points are paths of another tree, where `statvfs` would return the space of
    // unrelated file systems.
    let space: Option<AskSpace> = roots.are_own().then_some(|path| rustix::fs::statvfs(path));
    let discipline: Option<AskDiscipline> = roots.are_own().then_some(crate::adjtimex::discipline);
    let mut all: Vec<Box<dyn Provider>> = vec![
        Box::new(single_instance(System::new(stat.clone(), loadavg.clone(), count.clone(), start_100ns))),
        Box::new(single_instance(Objects::new(&roots, count, loadavg.clone()))),
        Box::new(single_instance(LinuxSystem::new(&roots, stat.clone(), loadavg))),
        Box::new(single_instance(ClockDiscipline::new(discipline))),
        Box::new(multi_instance(PressureStall::new(&roots))),
        Box::new(multi_instance(CGroup::new(&roots, clock_ticks))),
        Box::new(single_instance(Memory::new(&roots, meminfo.clone(), vmstat.clone(), page_size))),
        Box::new(single_instance(LinuxMemory::new(meminfo, vmstat.clone()))),
        Box::new(single_instance(Cache::new(vmstat.clone()))),
        Box::new(multi_instance(NodeMemory::new(&roots, nodes.clone()))),
        Box::new(multi_instance(LinuxNuma::new(&roots, nodes))),
        Box::new(Processes::new(
            &roots,
            (stat.clone(), vmstat.clone()),
            (clock_ticks, page_size),
            start_in_ticks_100ns,
            processes,
        )),
        Box::new(multi_instance(ProcessStates::new(&roots))),
        // Disks and volumes use one parsed `/proc/diskstats`.
        Box::new(multi_instance(PhysicalDisk::new(disks.clone()))),
        Box::new(multi_instance(LogicalDisk::new(&roots, disks.clone(), space).within(deadline.length()))),
        Box::new(multi_instance(FileSystem::new(&roots, space).within(deadline.length()))),
        Box::new(multi_instance(BlockIo::new(disks))),
        Box::new(multi_instance(PagingFile::new(&roots))),
        Box::new(multi_instance(NetworkInterface::new(roots.clone(), net_dev.clone()))),
        Box::new(multi_instance(LinuxNetworkInterface::new(roots.clone(), net_dev))),
        Box::new(single_instance(LinuxTcp::new(netstat.clone(), snmp.clone(), sockstat.clone()))),
        Box::new(single_instance(LinuxIp::new(netstat, snmp.clone(), snmp6.clone()))),
        Box::new(single_instance(LinuxUdp::new(&roots, snmp.clone(), snmp6.clone()))),
        Box::new(multi_instance(TcpStates::new(&roots))),
        Box::new(single_instance(ConnectionTracking::new(&roots))),
        Box::new(multi_instance(SoftwareRaid::new(&roots))),
        Box::new(single_instance(ZfsArc::new(&roots))),
        Box::new(single_instance(NfsClient::new(nfs.clone()))),
        Box::new(multi_instance(NfsOperations::new(nfs))),
        Box::new(multi_instance(Bonding::new(&roots))),
        Box::new(multi_instance(Interrupts::new(&roots))),
        Box::new(multi_instance(Sockets::new(&roots, sockstat, page_size))),
        // Firmware and sensors can block for seconds in the kernel, so they run on threads with a deadline.
        Box::new(LazyProvider::for_directory(
            roots.sys.join("class/thermal"),
            multi_instance(ThermalZones::new(&roots)),
            deadline,
        )),
        Box::new(LazyProvider::for_directory(
            roots.sys.join("class/thermal"),
            multi_instance(CoolingDevices::new(&roots)),
            deadline,
        )),
        Box::new(LazyProvider::for_directory(
            roots.sys.join("class/power_supply"),
            multi_instance(PowerSupplies::new(&roots)),
            deadline,
        )),
        Box::new(multi_instance(EnergyMeter::new(&roots))),
        Box::new(LazyProvider::for_directory(
            roots.sys.join("class/hwmon"),
            multi_instance(LinuxSensors::new(&roots)),
            deadline,
        )),
    ];
    // Each of these returns several countersets, which share their sources.
    all.push(gpu::provider(&roots, deadline));
    all.extend(protocols::providers(&roots, snmp, snmp6));
    all.push(Box::new(ProcessorInformation::sharing(roots, stat, clock_ticks, elapsed_ns)));
    all
}

/// Creates the parsed `/proc/vmstat`, which several providers share.
fn vmstat(roots: &Roots) -> SharedParsedFile<VmStat> {
    let path = roots.proc.join("vmstat");
    SharedParsedFile::new(ParsedFile::new(
        path,
        SeqFileKind::Lines,
        "there is no /proc/vmstat",
        VmStat::parse,
    ))
}
