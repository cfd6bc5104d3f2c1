//! Test that no parser panics, whatever the text: every prefix and every changed byte of the fixtures, and arbitrary
//! bytes.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::{
    arcstats, arp, attribute, bonding, cgroup, cppc, cpuidle, cpuinfo, cpulist, diskstats, drm_fdinfo,
    file_nr, interrupt_rows, interrupts, link_speed, loadavg, mdstat, meminfo, modules, mountinfo, net_dev,
    netstat, nfs_client, node_meminfo, numastat, operstate, pid, pressure, proc_stat, schedstat, snmp, snmp6,
    sockstat, softirqs, softnet_stat, swaps, sysvipc, tcp_sockets, udp_sockets, uevent, vmstat, workload,
};
use crate::sources::cpulist::CPU_LIMIT;
use crate::sources::text::TextError;

/// Function that parses the text of a kernel file and reads all data that was found.
type Walk = fn(&[u8]) -> Result<(), TextError>;

const PARSERS: &[(&str, Walk)] = &[
    ("proc/stat", |text| {
        let mut stat = proc_stat::ProcStat::default();
        stat.parse(text)?;
        for line in &stat.cpus {
            let ticks = stat.cpu(line.cpu).unwrap().ticks.clone().unwrap_or_default();
            let _ = (ticks.resting(), ticks.privileged()); // any answer will do
        }
        Ok(())
    }),
    ("proc/stat", |text| proc_stat::SystemTotals::default().parse(text)),
    ("proc/meminfo", |text| meminfo::MemInfo::default().parse(text)),
    ("proc/vmstat", |text| vmstat::VmStat::default().parse(text)),
    ("proc/meminfo", |text| meminfo::AllLines::default().parse(text)),
    ("proc/modules", |text| modules::Modules::default().parse(text)),
    ("../processes/proc/300/stat", |text| {
        let stat = pid::stat::Stat::parse(text)?;
        let _ = stat.lasting_name(pid::stat::comm(text)?).len();
        Ok(())
    }),
    ("../../cgroup-paths/proc/300/cgroup", |text| {
        let path = pid::cgroup::path(text)?;
        let _ = workload::Workload::from_path(&String::from_utf8_lossy(path)); // any answer will do
        Ok(())
    }),
    ("../processes/proc/300/statm", |text| pid::statm::Statm::parse(text).map(drop)),
    ("../processes/proc/300/io", |text| pid::io::Io::parse(text).map(drop)),
    ("../processes/proc/300/status", |text| pid::status::Status::parse(text).map(drop)),
    ("../processes/proc/300/smaps_rollup", |text| pid::smaps_rollup::SmapsRollup::parse(text).map(drop)),
    ("../processes/proc/300/schedstat", |text| pid::schedstat::SchedStat::parse(text).map(drop)),
    ("proc/loadavg", |text| loadavg::LoadAvg::default().parse(text)),
    ("proc/net/snmp", |text| snmp::Tcp::default().parse(text)), // the other sections differ in names only
    ("proc/net/snmp", |text| snmp::Udp::default().parse(text)),
    ("proc/net/snmp", |text| snmp::TcpLimit::default().parse(text)),
    ("proc/net/snmp6", |text| snmp6::Udp6::default().parse(text)),
    ("proc/net/tcp6", |text| {
        let mut sockets = tcp_sockets::TcpSockets::default();
        sockets.add(text)?;
        sockets.connections().map(drop)
    }),
    ("proc/net/udp", |text| {
        let mut sockets = udp_sockets::UdpSockets::default();
        sockets.add(text)?;
        sockets.queues().map(drop)
    }),
    ("proc/sysvipc/sem", |text| sysvipc::IpcObjects::default().parse(text)),
    ("proc/sysvipc/shm", |text| sysvipc::IpcObjects::default().parse(text)),
    ("proc/loadavg", |text| loadavg::Loads::default().parse(text)),
    ("proc/sys/fs/file-nr", |text| file_nr::FileNr::default().parse(text)),
    ("proc/schedstat", |text| {
        let mut stat = schedstat::SchedStat::default();
        stat.parse(text)?;
        for line in stat.cpus() {
            let _ = stat.cpu(line.cpu).unwrap(); // any answer will do
        }
        Ok(())
    }),
    ("proc/softirqs", |text| {
        let mut kinds = softirqs::SoftirqKinds::default();
        kinds.parse(text)?;
        let _ = kinds.for_kind(softirqs::SoftirqKind::Rcu, 7); // any answer will do
        Ok(())
    }),
    ("proc/pressure/memory", |text| pressure::Pressure::default().parse(text)),
    ("sys/fs/cgroup/app.slice/cpu.stat", |text| cgroup::CpuStat::default().parse(text)),
    ("sys/fs/cgroup/app.slice/memory.stat", |text| cgroup::MemoryStat::default().parse(text)),
    ("sys/fs/cgroup/app.slice/memory.events", |text| cgroup::MemoryEvents::default().parse(text)),
    ("sys/fs/cgroup/app.slice/memory.max", |text| cgroup::limit(text).map(drop)),
    ("sys/fs/cgroup/app.slice/io.stat", |text| cgroup::IoSums::default().parse(text)),
    ("sys/fs/cgroup/cgroup.controllers", |text| cgroup::Controllers::parse(text).map(drop)),
    ("proc/interrupts", |text| {
        let mut interrupts = interrupts::Interrupts::default();
        interrupts.parse(text)?;
        for cpu in 0..10 {
            let _ = (interrupts.for_cpu(cpu), interrupts.clock_of(cpu)); // any answer will do
        }
        Ok(())
    }),
    ("proc/interrupts", |text| {
        let mut interrupts = interrupt_rows::InterruptRows::default();
        interrupts.parse(text)?;
        assert!(interrupts.rows.iter().all(|row| row.devices().len() <= row.about.len()));
        Ok(())
    }),
    ("../servers/proc/mdstat", |text| mdstat::MdStat::default().parse(text)),
    ("../servers/proc/net/rpc/nfs", |text| nfs_client::NfsClient::default().parse(text)),
    ("../servers/proc/spl/kstat/zfs/arcstats", |text| {
        let mut stats = arcstats::ArcStats::default();
        stats.parse(text)?;
        let _ = stats.get("size"); // any answer will do
        Ok(())
    }),
    ("../servers/sys/class/net/bond0/bonding/slaves", |text| {
        // An empty file has no names, which is no error of the file.
        attribute::line(text).and(bonding::interfaces(text).map(drop))
    }),
    ("proc/softirqs", |text| {
        let mut softirqs = softirqs::Softirqs::default();
        softirqs.parse(text)?;
        for cpu in 0..10 {
            let _ = softirqs.for_cpu(cpu); // any answer will do
        }
        Ok(())
    }),
    ("proc/net/softnet_stat", |text| {
        let mut stat = softnet_stat::SoftnetStat::default();
        stat.parse(text)?;
        let _ = stat.cpu(7, &[0, 7]); // any answer will do
        Ok(())
    }),
    ("proc/cpuinfo", |text| {
        let mut cpuinfo = cpuinfo::CpuInfo::default();
        cpuinfo.parse(text)?;
        for cpu in 0..10 {
            let _ = cpuinfo.khz_of(cpu); // any answer will do
        }
        Ok(())
    }),
    ("../small-vm/proc/diskstats", |text| {
        let mut stats = diskstats::DiskStats::default();
        stats.parse(text)?;
        for device in &stats.devices {
            // Any field will do.
            let _ = device.numbers.as_ref().map(|numbers| numbers.get(diskstats::DiskStatsField::FlushMs));
        }
        Ok(())
    }),
    ("../old-disks/proc/1/mountinfo", |text| mountinfo::MountInfo::default().parse(text)),
    ("../old-disks/proc/swaps", |text| swaps::Swaps::default().parse(text)),
    ("sys/devices/system/node/node0/meminfo", |text| node_meminfo::NodeMemInfo::default().parse(text)),
    ("sys/devices/system/node/node0/numastat", |text| numastat::NumaStat::default().parse(text)),
    ("proc/net/dev", |text| {
        let mut dev = net_dev::NetDev::default();
        dev.parse(text)?;
        assert!(dev.interfaces().iter().all(|interface| interface.name.len() <= text.len()));
        Ok(())
    }),
    ("proc/net/arp", |text| {
        let mut table = arp::ArpTable::default();
        table.add(text, |device| assert!(!device.is_empty()))?;
        table.entries().map(drop)
    }),
    ("sys/class/net/eth0/operstate", |text| operstate::is_up(text).map(drop)),
    // That of two-nodes has twenty times as many names.
    ("../old-kernel/proc/net/netstat", |text| {
        let mut netstat = netstat::Netstat::default();
        netstat.parse(text)?;
        let place = netstat.find(b"TcpExtTW").unwrap_or(usize::MAX);
        let _ = netstat.number(place); // any answer will do
        Ok(())
    }),
    ("proc/net/sockstat", |text| sockstat::SockStat::default().parse(text)),
    ("proc/net/sockstat6", |text| sockstat::SockStat::default().parse(text)),
    ("sys/class/net/eth0/speed", |text| link_speed::megabits(text).map(drop)),
    ("sys/devices/system/cpu/online", |text| cpulist::parse(text, CPU_LIMIT, &mut Vec::new())),
    ("sys/devices/system/node/node1/cpulist", |text| cpulist::parse(text, CPU_LIMIT, &mut Vec::new())),
    ("sys/devices/system/cpu/cpu3/cpuidle/state2/name", |text| {
        cpuidle::depth(text).map(|depth| drop(cpuidle::classes(&[depth])))
    }),
    ("sys/devices/system/cpu/cpu3/cpufreq/base_frequency", |text| attribute::number(text).map(drop)),
    ("sys/class/thermal/thermal_zone2/temp", |text| attribute::signed(text).map(drop)),
    ("sys/class/hwmon/hwmon0/temp1_label", |text| attribute::line(text).map(drop)),
    ("sys/devices/system/cpu/cpu3/acpi_cppc/feedback_ctrs", |text| {
        cppc::FeedbackCounters::parse(text).map(drop)
    }),
    ("../gpu-desktop/proc/1301/fdinfo/5", |text| drm_fdinfo::DrmFdinfo::default().parse(text)),
    ("../gpu-desktop/sys/class/drm/card1/device/uevent", |text| uevent::Uevent::default().parse(text)),
];

fn text(file: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/linux/two-nodes");
    fs::read(root.join(file)).unwrap()
}

/// Kernel files whose lines can be parsed one by one: a cut file keeps the values of its whole lines.
const BY_LINE: &[&str] = &[
    "cpu.stat",
    "memory",
    "memory.events",
    "memory.stat",
    "schedstat",
    "softirqs",
    "stat",
    "meminfo",
    "numastat",
    "vmstat",
    "snmp",
    "snmp6",
    "diskstats",
    "swaps",
    "io",
    "statm",
    "status",
    "smaps_rollup",
];

#[test]
fn every_prefix() {
    for &(file, walk) in PARSERS {
        let text = text(file);
        assert_eq!(walk(&text), Ok(()), "{file}");
        for len in 0..text.len() {
            let cut = walk(&text[..len]);
            // A file of lines may end after any of them; some give up single lines, not themselves.
            let name = file.rsplit('/').next().unwrap();
            // A client is one as soon as its driver is named.
            let is_client =
                file.contains("/fdinfo/") && text[..len].windows(6).any(|text| text == b"\ti915\n");
            let of_lines = file.contains("proc/") || ["uevent", "io.stat"].contains(&name);
            let whole_lines = of_lines && (len == 0 || text[len - 1] == b'\n');
            let may_live = (BY_LINE.contains(&name) || file.contains("proc/net/")) && len > 0
                || whole_lines
                || is_client;
            assert!(may_live || cut.is_err(), "{file}, the first {len} bytes");
        }
    }
}

/// Length of the part of a kernel file that gets every change at every byte. Later lines look like those before them,
/// so there each byte gets one of the changes in turn.
const CHANGED_IN_EVERY_WAY: usize = 400;

#[test]
fn every_changed_byte() {
    for &(file, walk) in PARSERS {
        let mut text = text(file);
        for at in 0..text.len() {
            let byte = text[at];
            let changes = [0, b'\n', b' ', b':', b'-', b'9', b'x', 0x80, 0xFF, byte ^ 1, byte ^ 0x10];
            let in_turn = at % changes.len();
            let wanted = if at < CHANGED_IN_EVERY_WAY { &changes[..] } else { &changes[in_turn..=in_turn] };
            for &changed in wanted {
                text[at] = changed;
                if let Err(error) = walk(&text) {
                    assert!(error.found.chars().count() < 400, "{file}: {error}"); // 40, each escaped
                }
            }
            text[at] = byte;
        }
    }
}

/// Pattern of the words that generated kernel files are made of.
const WORD: &str = concat!(
    "cpu[0-9]{0,6}|CPU[0-9]|[0-9]{1,22}|[-,:./ \n\t]|kB",
    "|intr|ctxt|LOC:|ERR:|processor|cpu MHz|ref:|del:|MemFree:|pgfault |Live",
    "|[(]x[)] S|rchar:|Uid:|VmHWM:|Pss:",
    "|TcpExt|TCP|sockets|inuse |mem |Receive|bytes",
    "|Tcp:|InSegs|Ip6InReceives |sl ",
    "|drm-driver:|drm-engine-|drm-total-|ns|KiB|DRIVER=",
    "|sda|Filename|partition|\\\\040|8:1| - ",
);

proptest! {
    #[test]
    fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..200)) {
        for &(_, walk) in PARSERS {
            let _ = walk(&text); // any answer will do
        }
    }

    #[test]
    fn any_words(words in prop::collection::vec(WORD, 0..60)) {
        let text = words.concat();
        for &(_, walk) in PARSERS {
            let _ = walk(text.as_bytes()); // any answer will do
        }
    }
}
