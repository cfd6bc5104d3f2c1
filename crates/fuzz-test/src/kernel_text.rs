//! Fuzz target that parses arbitrary bytes as the text of a kernel file.

use std::fmt::Debug;

use perfset_linux::TextError;
use perfset_linux::sources::arcstats::ArcStats;
use perfset_linux::sources::arp::ArpTable;
use perfset_linux::sources::cgroup::{
    BlkioSums, Controllers, CpuAcctStat, CpuStat, IoSums, MemoryEvents, MemoryStat, limit,
};
use perfset_linux::sources::cpuinfo::CpuInfo;
use perfset_linux::sources::cpulist::{CPU_LIMIT, NODE_LIMIT};
use perfset_linux::sources::diskstats::{DiskStats, DiskStatsField};
use perfset_linux::sources::drm_fdinfo::{DrmFdinfo, Engine, Region};
use perfset_linux::sources::file_nr::FileNr;
use perfset_linux::sources::interrupt_rows::InterruptRows;
use perfset_linux::sources::interrupts::Interrupts;
use perfset_linux::sources::loadavg::{LoadAvg, Loads};
use perfset_linux::sources::mdstat::{MdArray, MdStat};
use perfset_linux::sources::meminfo::{self, MemInfo};
use perfset_linux::sources::modules::Modules;
use perfset_linux::sources::mountinfo::MountInfo;
use perfset_linux::sources::net_dev::NetDev;
use perfset_linux::sources::netstat::Netstat;
use perfset_linux::sources::nfs_client::NfsClient;
use perfset_linux::sources::node_meminfo::NodeMemInfo;
use perfset_linux::sources::numastat::NumaStat;
use perfset_linux::sources::pci_address::PciAddress;
use perfset_linux::sources::pid::io::Io;
use perfset_linux::sources::pid::schedstat::SchedStat as ThreadStat;
use perfset_linux::sources::pid::smaps_rollup::SmapsRollup;
use perfset_linux::sources::pid::stat::{Stat, comm};
use perfset_linux::sources::pid::statm::Statm;
use perfset_linux::sources::pid::status::Status;
use perfset_linux::sources::powercap::{self, Domain};
use perfset_linux::sources::pressure::Pressure;
use perfset_linux::sources::proc_stat::{ProcStat, SystemTotals};
use perfset_linux::sources::rtnetlink::Qdiscs;
use perfset_linux::sources::schedstat::SchedStat;
use perfset_linux::sources::snmp::{Icmp, Ip, Tcp, TcpLimit, Udp, UdpLite};
use perfset_linux::sources::snmp6::{Icmp6, Ip6, Udp6};
use perfset_linux::sources::sockstat::{PROTOCOLS, SockStat};
use perfset_linux::sources::softirqs::{SoftirqKinds, Softirqs};
use perfset_linux::sources::softnet_stat::SoftnetStat;
use perfset_linux::sources::swaps::Swaps;
use perfset_linux::sources::sysvipc::IpcObjects;
use perfset_linux::sources::tcp_sockets::TcpSockets;
use perfset_linux::sources::udp_sockets::UdpSockets;
use perfset_linux::sources::uevent::Uevent;
use perfset_linux::sources::vmstat::VmStat;
use perfset_linux::sources::workload::Workload;
use perfset_linux::sources::{
    Number, attribute, bonding, cppc, cpuidle, cpulist, hwmon, link_speed, operstate, os_release, passwd,
    pid, processes, thermal, topology,
};

/// Parses a text as a kernel file: the first line of the fuzz input names the file, and the rest is its text.
pub fn check(input: &[u8]) {
    let line_end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (file, text) = input.split_at(line_end);
    let text = text.strip_prefix(b"\n").unwrap_or(text);
    let lines = text.split(|byte| *byte == b'\n').count();
    // Texts of some names cannot be wrong: any of them is a name, or none.
    let error = match file {
        b"net/snmp" => snmp(text).err(),
        b"net/snmp6" => snmp6(text).err(),
        b"net/tcp6" => sockets(text).err(),
        b"net/udp" => udp_sockets(text).err(),
        // Each function compares with other code, or with the text itself; what remains is the error of the text.
        b"number" => number(text).err(),
        b"pid/stat" => Stat::parse(text).and_then(|stat| of_stat(stat, text)).err(),
        b"pid/statm" => Statm::parse(text).err(),
        b"pid/cgroup" => pid::cgroup::path(text).map(of_workload).err(),
        b"pid/cmdline" => {
            let words = pid::cmdline::text(text);
            assert!(words.is_none_or(|words| words.len() <= 8 * pid::cmdline::MAX_LEN));
            None
        }
        b"passwd" => {
            let name = passwd::name_of(text, 1_000);
            assert!(name.is_none_or(|name| !name.is_empty() && !name.contains(&b':')));
            None
        }
        b"os_release" => {
            let value = os_release::value(text, "NAME");
            assert!(value.is_none_or(|value| value.len() <= 3 * text.len()));
            None
        }
        b"pid/io" => Io::parse(text).err(),
        b"pid/status" => Status::parse(text).err(),
        b"pid/schedstat" => ThreadStat::parse(text).err(),
        b"pid/smaps_rollup" => SmapsRollup::parse(text).err(),
        b"cpuinfo" => again(text, CpuInfo::parse).err(),
        b"cpuidle/name" => cpuidle::depth(text).err(),
        b"diskstats" => again(text, DiskStats::parse).and_then(of_diskstats).err(),
        b"mountinfo" => again(text, MountInfo::parse).err(),
        b"swaps" => again(text, Swaps::parse).and_then(of_swaps).err(),
        b"line" => attribute::line(text).err(),
        b"feedback_ctrs" => cppc::FeedbackCounters::parse(text).err(),
        b"signed" => signed(text).err(),
        b"sensor" => {
            names(text);
            None
        }
        b"arcstats" => again(text, ArcStats::parse).err(),
        b"bonding" => bonding::interfaces(text).map(drop).err(),
        b"mdstat" => again(text, MdStat::parse).and_then(of_arrays).err(),
        b"net/rpc/nfs" => again(text, NfsClient::parse).err(),
        b"interrupts/rows" => again(text, InterruptRows::parse).err(),
        b"interrupts" => again(text, Interrupts::parse).err(),
        b"cpulist" => list(text, CPU_LIMIT).err(),
        b"meminfo/all" => again(text, meminfo::AllLines::parse).err(),
        b"meminfo" => again(text, MemInfo::parse).and_then(of_meminfo).err(),
        b"nodes" => nodes(text).err(),
        b"modules" => again(text, Modules::parse).err(),
        b"pid" => {
            pid(text);
            None
        }
        b"softirqs" => again(text, Softirqs::parse).err(),
        b"node/meminfo" => again(text, NodeMemInfo::parse).err(),
        b"node/numastat" => again(text, NumaStat::parse).err(),
        b"stat" => again(text, ProcStat::parse).and_then(faults).err(),
        b"stat/totals" => again(text, SystemTotals::parse).and_then(of_totals).err(),
        b"sysvipc" => again(text, IpcObjects::parse).err(),
        b"vmstat" => again(text, VmStat::parse).and_then(of_vmstat).err(),
        b"loadavg" => again(text, LoadAvg::parse).err(),
        b"drm_fdinfo" => again(text, DrmFdinfo::parse).and_then(of_client).err(),
        b"pci_address" => {
            pci_address(text);
            None
        }
        b"uevent" => again(text, Uevent::parse).err(),
        b"net/dev" => again(text, NetDev::parse).and_then(of_net_dev).err(),
        b"net/arp" => neighbours(text).err(),
        b"operstate" => operstate::is_up(text).err(),
        b"net/sockstat" => again(text, SockStat::parse).and_then(of_sockstat).err(),
        b"link_speed" => link_speed::megabits(text).err(),
        b"net/netstat" => again(text, |netstat: &mut Netstat, text| netstat.parse(text).map(drop))
            .and_then(of_netstat)
            .err(),
        b"rtnetlink" => {
            queues(text);
            None
        }
        b"cgroup/cpu.stat" => {
            again(text, CpuStat::parse).and_then(|stat| any([stat.usage_usec, stat.nr_periods])).err()
        }
        b"cgroup/cpuacct.stat" => {
            again(text, CpuAcctStat::parse).and_then(|stat| each([stat.user, stat.system])).err()
        }
        b"cgroup/memory.stat" => {
            again(text, MemoryStat::parse).and_then(|stat| any([stat.anon, stat.pgfault])).err()
        }
        b"cgroup/memory.stat/v1" => {
            again(text, MemoryStat::parse_v1).and_then(|stat| any([stat.anon, stat.pgfault])).err()
        }
        b"cgroup/memory.events" => {
            again(text, MemoryEvents::parse).and_then(|it| any([it.low, it.oom_kill])).err()
        }
        b"cgroup/memory.events/v1" => {
            again(text, MemoryEvents::parse_v1).and_then(|it| any([it.oom_kill])).err()
        }
        b"cgroup/io.stat" => again(text, IoSums::parse).err(),
        b"cgroup/blkio" => again(text, BlkioSums::parse).err(),
        b"cgroup/limit" => limit(text).err(),
        b"cgroup/controllers" => Controllers::parse(text).err(),
        b"file-nr" => again(text, FileNr::parse).err(),
        b"net/softnet_stat" => again(text, SoftnetStat::parse).err(),
        b"schedstat" => again(text, SchedStat::parse).and_then(of_schedstat).err(),
        b"softirqs/kinds" => again(text, SoftirqKinds::parse).err(),
        b"loadavg/loads" => again(text, Loads::parse).err(),
        b"pressure" => again(text, Pressure::parse).and_then(of_pressure).err(),
        _ => None,
    };
    // An error names one of the text's lines, and shows a part of it.
    if let Some(error) = error {
        assert!((1..=lines).contains(&error.line), "{error}, of {lines}");
        assert!(error.found.chars().count() <= 40 * 10, "{error}"); // each may be escaped
    }
}

/// Parses a kernel text twice into the same value and once into a new one, and checks that nothing of the first
/// parsing is left.
fn again<T: Default + Debug + PartialEq>(
    text: &[u8],
    parse: fn(&mut T, &[u8]) -> Result<(), TextError>,
) -> Result<T, TextError> {
    let (mut used, mut new) = (T::default(), T::default());
    let _ = parse(&mut used, text);
    let (second, first) = (parse(&mut used, text), parse(&mut new, text));
    assert_eq!(second, first);
    first?;
    assert_eq!(used, new);
    Ok(new)
}

/// Checks that unit, container and pod are parts of a control group's path.
fn of_workload(path: &[u8]) {
    assert!(path.starts_with(b"/"));
    let path = String::from_utf8_lossy(path);
    let Workload { unit, container, pod } = Workload::from_path(&path);
    assert!(unit.is_none_or(|unit| path.contains(&unit)));
    assert!(container.is_none_or(|container| path.contains(&container.id) && !container.shown().is_empty()));
    assert!(pod.is_none_or(|pod| pod.len() >= 32));
}

/// Checks that the process name in `/proc/PID/stat` is part of the text in parentheses.
fn of_stat(stat: Stat, text: &[u8]) -> Result<(), TextError> {
    let comm = comm(text)?;
    assert!(comm.starts_with(stat.lasting_name(comm)));
    Ok(())
}

/// Returns the error of the first processor line of `/proc/stat` that cannot be parsed.
fn faults(stat: ProcStat) -> Result<(), TextError> {
    assert!(stat.cpus.is_sorted_by_key(|line| line.cpu));
    for line in &stat.cpus {
        assert_eq!(stat.cpu(line.cpu), Some(line));
        line.ticks.clone()?;
    }
    Ok(())
}

/// Returns the error of the first wanted line of a kernel file whose number cannot be parsed.
fn each<const N: usize>(numbers: [Number; N]) -> Result<(), TextError> {
    assert!(numbers.iter().any(Option::is_some), "else it is an error of the whole file");
    numbers.into_iter().flatten().try_for_each(|number| number.map(drop))
}

fn of_meminfo(meminfo: MemInfo) -> Result<(), TextError> {
    each([
        meminfo.mem_free,
        meminfo.mem_available,
        meminfo.buffers,
        meminfo.cached,
        meminfo.active_file,
        meminfo.inactive_file,
        meminfo.dirty,
        meminfo.writeback,
        meminfo.shmem,
        meminfo.s_reclaimable,
        meminfo.s_unreclaim,
        meminfo.kernel_stack,
        meminfo.page_tables,
        meminfo.commit_limit,
        meminfo.committed_as,
        meminfo.vmalloc_total,
        meminfo.vmalloc_used,
        meminfo.percpu,
    ])
}

/// Returns the error of the first chosen number of `/proc/vmstat` that cannot be parsed. All chosen lines may be
/// missing.
fn of_vmstat(vmstat: VmStat) -> Result<(), TextError> {
    any([
        vmstat.nr_dirty,
        vmstat.nr_written,
        vmstat.nr_dirty_threshold,
        vmstat.pgpgin,
        vmstat.pgpgout,
        vmstat.pgfault,
        vmstat.pgmajfault,
        vmstat.pgsteal_kswapd,
        vmstat.pgsteal_direct,
    ])
}

fn of_totals(totals: SystemTotals) -> Result<(), TextError> {
    each([totals.intr, totals.ctxt, totals.processes, totals.procs_running, totals.procs_blocked])
}

/// Returns the error of the first line of `/proc/diskstats` whose numbers cannot be parsed. A line has 11, 15 or 17
/// numbers.
fn of_diskstats(stats: DiskStats) -> Result<(), TextError> {
    for device in stats.devices {
        assert!(!device.name.is_empty());
        let numbers = device.numbers?;
        let there = DiskStatsField::ALL.iter().take_while(|field| numbers.get(**field).is_some()).count();
        assert!([11, 15, 17].contains(&there));
    }
    Ok(())
}

/// Returns the error of the first swap area whose numbers cannot be parsed.
fn of_swaps(swaps: Swaps) -> Result<(), TextError> {
    for area in swaps.areas {
        assert!(!area.path.is_empty());
        area.space?;
    }
    Ok(())
}

/// Checks that no RAID array has more failed or spare disks than disks.
fn of_arrays(mdstat: MdStat) -> Result<(), TextError> {
    for MdArray { listed, failed, spare, work, done, .. } in mdstat.arrays {
        assert!(failed <= listed && spare <= listed);
        assert!(done.is_none() || work.is_some());
    }
    Ok(())
}

/// Parses all sections of `net/snmp`, each separately.
fn snmp(text: &[u8]) -> Result<(), TextError> {
    let results = [
        again(text, Ip::parse).map(drop),
        again(text, Icmp::parse).map(drop),
        again(text, Tcp::parse).map(drop),
        again(text, Udp::parse).map(drop),
        again(text, UdpLite::parse).map(drop),
        again(text, TcpLimit::parse).map(drop),
    ];
    results.into_iter().collect()
}

/// Parses all protocols of `net/snmp6`, each separately.
fn snmp6(text: &[u8]) -> Result<(), TextError> {
    let results = [
        again(text, Ip6::parse).map(drop),
        again(text, Icmp6::parse).map(drop),
        again(text, Udp6::parse).map(drop),
    ];
    results.into_iter().collect()
}

/// Checks that parsing TCP sockets line by line gives the same result as parsing the whole text.
fn sockets(text: &[u8]) -> Result<(), TextError> {
    let (mut whole, mut by_line) = (TcpSockets::default(), TcpSockets::default());
    let added = whole.add(text);
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    assert_eq!(lines.try_for_each(|line| by_line.add(line)), added);
    added?;
    assert_eq!(whole, by_line);
    let (connections, by_state) = (whole.connections()?, whole.by_state()?);
    assert!(connections <= by_state.iter().sum());
    Ok(())
}

/// Checks that parsing UDP sockets line by line gives the same sums as parsing the whole text.
fn udp_sockets(text: &[u8]) -> Result<(), TextError> {
    let (mut whole, mut by_line) = (UdpSockets::default(), UdpSockets::default());
    let added = whole.add(text);
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    assert_eq!(lines.try_for_each(|line| by_line.add(line)), added);
    added?;
    assert_eq!(whole, by_line);
    whole.queues().map(drop)
}

/// Checks that parsing ARP neighbours line by line finds the same interfaces as parsing the whole text.
fn neighbours(text: &[u8]) -> Result<(), TextError> {
    let (mut whole, mut by_line) = (ArpTable::default(), ArpTable::default());
    let (mut devices, mut of_lines) = (Vec::new(), Vec::new());
    let added = whole.add(text, |device| devices.push(device.to_vec()));
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    assert_eq!(lines.try_for_each(|line| by_line.add(line, |device| of_lines.push(device.to_vec()))), added);
    assert_eq!((&whole, &devices), (&by_line, &of_lines));
    added?;
    assert!(devices.iter().all(|device| !device.is_empty()));
    assert_eq!(whole.entries()?, devices.len());
    Ok(())
}

/// Checks that a name in `/proc` is a process if and only if it is a number.
fn pid(name: &[u8]) {
    let digit = |byte: &u8| char::from(*byte).to_digit(10);
    let number =
        name.iter().try_fold(0_u32, |number, byte| number.checked_mul(10)?.checked_add(digit(byte)?));
    assert_eq!(processes::pid(name), number.filter(|_| !name.is_empty()));
}

/// Checks that the number of a sysfs attribute is parsed as the standard library parses it.
fn number(text: &[u8]) -> Result<(), TextError> {
    let line = text.strip_suffix(b"\n").unwrap_or_default().trim_ascii();
    let digits = std::str::from_utf8(line).ok().filter(|line| line.bytes().all(|byte| byte.is_ascii_digit()));
    let parsed = attribute::number(text);
    if let Ok(number) = parsed {
        assert_eq!(digits.and_then(|digits| digits.parse().ok()), Some(number));
    }
    parsed.map(|_| ())
}

/// Checks that the signed number of a sysfs attribute is parsed as the standard library parses it.
fn signed(text: &[u8]) -> Result<(), TextError> {
    let parsed = attribute::signed(text);
    if let Ok(number) = parsed {
        let line = std::str::from_utf8(text).map(str::trim);
        assert_eq!(line.map(str::parse), Ok(Ok(number)));
    }
    parsed.map(|_| ())
}

/// Parses a text as names of directories and attributes in `/sys/class`, and checks the results against the text.
fn names(name: &[u8]) {
    if let Some(sensor) = hwmon::sensor(name) {
        assert!(name.starts_with(sensor.kind.prefix().as_bytes()));
    }
    if let Some(zone) = powercap::zone(name) {
        assert_eq!(zone.part.is_some(), name.iter().filter(|byte| **byte == b':').count() == 2);
    }
    if let Domain::Other(other) = powercap::domain(name) {
        assert_eq!(other, name);
    }
    let _ = thermal::slows_processors(name); // any answer will do
}

fn list(text: &[u8], limit: u32) -> Result<Vec<u32>, TextError> {
    let (mut ids, mut ranges) = (vec![u32::MAX], vec![7..=u32::MAX]);
    let parsed = cpulist::parse(text, limit, &mut ids);
    assert_eq!(cpulist::ranges(text, limit, &mut ranges), parsed);
    assert!(ids.iter().copied().eq(ranges.into_iter().flatten()));
    parsed?;
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]) && ids.last().is_none_or(|last| *last < limit));
    Ok(ids)
}

/// Parses up to four lists of CPUs, one in each line: the online CPUs, then the CPUs of each NUMA node.
fn nodes(text: &[u8]) -> Result<(), TextError> {
    let mut lines = text.split_inclusive(|byte| *byte == b'\n').take(4);
    let online = lines.next().map_or(Ok(Vec::new()), |line| list(line, NODE_LIMIT))?;
    let ranges = |line| {
        let mut ranges = Vec::new();
        cpulist::ranges(line, CPU_LIMIT, &mut ranges).map(|()| ranges)
    };
    let nodes = (0..).zip(lines).map(|(node, line)| Ok((node, ranges(line)?)));
    let nodes = nodes.collect::<Result<Vec<_>, TextError>>()?;
    let places = topology::places(&online, &nodes);
    assert!(places.is_sorted());
    let mut cpus: Vec<_> = places.iter().map(|place| place.cpu).collect();
    cpus.sort_unstable();
    assert_eq!(cpus, online, "every online CPU has one place");
    assert!(places.windows(2).all(|pair| (pair[0].node, pair[0].index) != (pair[1].node, pair[1].index)));
    Ok(())
}

/// Checks that the names of a graphics client's engines and memory kinds ascend and are not too many. Returns the
/// error of the first number that cannot be parsed.
fn of_client(client: DrmFdinfo) -> Result<(), TextError> {
    let DrmFdinfo { driver, pci_address, client_id, engines, regions } = client;
    assert!(!driver.is_empty());
    assert!(engines.windows(2).all(|pair| pair[0].name < pair[1].name));
    assert!(regions.windows(2).all(|pair| pair[0].name < pair[1].name));
    assert!(engines.len() <= DrmFdinfo::LIMIT && regions.len() <= DrmFdinfo::LIMIT);
    assert!(
        pci_address.is_none_or(|address| PciAddress::parse(address.to_string().as_bytes()) == pci_address)
    );
    client_id.transpose()?;
    for Engine { name: _, busy_ns, capacity, cycles, total_cycles } in engines {
        each([busy_ns, capacity, cycles, total_cycles])?;
    }
    for Region { name: _, total, resident, memory } in regions {
        each([total, resident, memory])?;
    }
    Ok(())
}

/// Checks that a PCI address is printed as it was read, except for letter case and the length of its domain.
fn pci_address(text: &[u8]) {
    if let Some(address) = PciAddress::parse(text) {
        assert!(address.device < 32 && address.function < 8 && address.packed() < 1 << 48);
        assert_eq!(PciAddress::parse(address.to_string().as_bytes()), Some(address));
    }
}

/// Returns the error of the first interface line of `/proc/net/dev` that cannot be parsed.
fn of_net_dev(dev: NetDev) -> Result<(), TextError> {
    dev.interfaces().iter().try_for_each(|interface| interface.counts.clone().map(drop))
}

fn of_sockstat(sockstat: SockStat) -> Result<(), TextError> {
    let of_protocols = PROTOCOLS.iter().filter_map(|protocol| sockstat.protocol(protocol));
    let numbers = of_protocols.flat_map(|s| [&s.in_use, &s.orphan, &s.tw, &s.alloc, &s.mem, &s.memory]);
    numbers.chain([&sockstat.used]).flatten().cloned().try_for_each(|number| number.map(drop))
}

/// Checks that a name found in `/proc/net/netstat` has a number. Returns the error of the first number that cannot be
/// parsed.
fn of_netstat(netstat: Netstat) -> Result<(), TextError> {
    let mut first = Ok(());
    let mut count = 0;
    while let Some(number) = netstat.number(count) {
        first = first.and(number.map(drop));
        count += 1;
    }
    assert!(netstat.find(b"TcpExtTW").is_none_or(|at| at < count));
    first
}

/// Checks that netlink data about network queues, if read twice, has the same interfaces as when read once.
fn queues(bytes: &[u8]) {
    let mut whole = Qdiscs::default();
    if whole.read(bytes, 7) != Ok(false) {
        return;
    }
    let mut twice = Qdiscs::default();
    assert_eq!((twice.read(bytes, 7), twice.read(bytes, 7)), (Ok(false), Ok(false)));
    for ifindex in 0..8 {
        assert_eq!(twice.waiting(ifindex).is_some(), whole.waiting(ifindex).is_some());
    }
    twice.clear();
    assert_eq!(twice.waiting(2), None);
}

/// Returns the error of the first number of a kernel file that cannot be parsed. All numbers may be missing.
fn any<const N: usize>(numbers: [Number; N]) -> Result<(), TextError> {
    numbers.into_iter().flatten().try_for_each(|number| number.map(drop))
}

/// Returns the error of the first processor line of `/proc/schedstat` that cannot be parsed.
fn of_schedstat(stat: SchedStat) -> Result<(), TextError> {
    assert!(stat.cpus().is_sorted_by_key(|line| line.cpu));
    stat.cpus().iter().try_for_each(|line| {
        assert_eq!(stat.cpu(line.cpu), Some(line));
        line.queue.clone().map(drop)
    })
}

fn of_pressure(pressure: Pressure) -> Result<(), TextError> {
    assert!(pressure.some.is_some() || pressure.full.is_some(), "else it is an error of the whole file");
    [pressure.some, pressure.full].into_iter().flatten().try_for_each(|line| line.map(drop))
}
