//! Default counters, which are exported if the user names none.

use std::collections::HashSet;

use perfset_catalogue as catalogue;
use perfset_engine::path::CounterPath;

use crate::catalogue::all_node_metrics;
use crate::options::Profile;

/// Countersets, instances and counters that are exported by default. They are the usual ones for a machine, without
/// any that cost much or grow with the number of processes.
const DEFAULTS: &[(&str, Option<&str>, &[&str])] = &[
    (
        "Processor Information",
        Some("*"),
        &[
            "% User Time",
            "% Privileged Time",
            "% Interrupt Time",
            "% DPC Time",
            "% Idle Time",
            "Processor Frequency",
        ],
    ),
    (
        "Linux Processor",
        Some("*"),
        &[
            "% User Time",
            "% Nice Time",
            "% System Time",
            "% Idle Time",
            "% I/O Wait Time",
            "% IRQ Time",
            "% SoftIRQ Time",
            "% Steal Time",
            "% Guest Time",
        ],
    ),
    // Without Processes, for which the kernel lists all of them.
    ("System", None, &["Context Switches/sec", "System Up Time", "Processor Queue Length", "Threads"]),
    ("Linux System", None, &["*"]),
    ("Memory", None, &["*"]),
    (
        "Linux Memory",
        None,
        &[
            "MemTotal",
            "MemFree",
            "MemAvailable",
            "Buffers",
            "Cached",
            "SwapCached",
            "Active",
            "Inactive",
            "Active(anon)",
            "Inactive(anon)",
            "Active(file)",
            "Inactive(file)",
            "Unevictable",
            "Mlocked",
            "SwapTotal",
            "SwapFree",
            "Dirty",
            "Writeback",
            "AnonPages",
            "Mapped",
            "Shmem",
            "Slab",
            "SReclaimable",
            "SUnreclaim",
            "KernelStack",
            "PageTables",
            "CommitLimit",
            "Committed_AS",
            "VmallocUsed",
            "Percpu",
            "HardwareCorrupted",
            "AnonHugePages",
            "HugePages_Total",
            "HugePages_Free",
            "pgpgin",
            "pgpgout",
            "pswpin",
            "pswpout",
            "pgfault",
            "pgmajfault",
            "oom_kill",
        ],
    ),
    ("Cache", None, &["*"]),
    ("Paging File", Some("*"), &["*"]),
    ("Pressure Stall", Some("*"), &["% Some Stalled Time", "% Full Stalled Time"]),
    (
        "LogicalDisk",
        Some("*"),
        &[
            "% Free Space",
            "Free Megabytes",
            "Disk Reads/sec",
            "Disk Writes/sec",
            "Disk Read Bytes/sec",
            "Disk Write Bytes/sec",
            "% Disk Read Time",
            "% Disk Write Time",
            "% Idle Time",
            "Current Disk Queue Length",
        ],
    ),
    (
        "PhysicalDisk",
        Some("*"),
        &[
            "Disk Reads/sec",
            "Disk Writes/sec",
            "Disk Read Bytes/sec",
            "Disk Write Bytes/sec",
            "Avg. Disk sec/Read",
            "Avg. Disk sec/Write",
            "% Disk Read Time",
            "% Disk Write Time",
            "% Idle Time",
            "Avg. Disk Queue Length",
            "Current Disk Queue Length",
        ],
    ),
    (
        "Network Interface",
        Some("*"),
        &[
            "Bytes Total/sec",
            "Bytes Received/sec",
            "Bytes Sent/sec",
            "Packets/sec",
            "Packets Received/sec",
            "Packets Sent/sec",
            "Packets Received Discarded",
            "Packets Received Errors",
            "Packets Received Unknown",
            "Packets Received Non-Unicast/sec",
            "Packets Outbound Discarded",
            "Packets Outbound Errors",
            "Current Bandwidth",
        ],
    ),
    ("Sockets", Some("*"), &["*"]),
    ("IPv4", None, &["*"]),
    // Without TCPv6: Linux counts nearly everything in TCPv4 for both protocols, and the one value of TCPv6
    // costs a line of text for each socket.
    ("TCPv4", None, &["*"]),
    ("UDPv4", None, &["*"]),
    ("UDPv6", None, &["*"]),
    (
        "Linux TCP",
        None,
        &[
            "TcpExtListenOverflows",
            "TcpExtListenDrops",
            "TcpExtTCPSynRetrans",
            "TcpExtTCPTimeouts",
            "TcpExtSyncookiesSent",
            "TcpExtSyncookiesFailed",
            "TcpExtTCPRcvQDrop",
            "TcpExtTCPOFOQueue",
            "TcpExtTW",
        ],
    ),
    ("Thermal Zone Information", Some("*"), &["High Precision Temperature", "% Passive Limit"]),
    ("Linux Sensors", Some("*"), &["Temperature", "Fan Speed", "Voltage", "Current", "Power", "Energy"]),
    ("Perfset Engine", None, &["*"]),
];

/// Counters that are exported by default only under the names of windows_exporter, each with its counterset.
const WINDOWS_DEFAULTS: &[(&str, &str)] = &[("System", "Processes")];

/// Returns the counter paths that these naming schemes export if the user names none: processors, memory, disks,
/// network, pressure, and the engine itself. Processes are not included; they need an explicit path. The names of
/// node_exporter include what node_exporter exports by itself. On Windows, countersets that exist only on Linux are
/// left out.
#[must_use]
pub fn default_paths(profiles: &[Profile]) -> Vec<CounterPath> {
    let mut paths = Vec::new();
    if profiles.is_empty() || profiles.iter().any(|profile| *profile != Profile::NodeExporter) {
        paths.extend(paths_of(|set| cfg!(not(windows)) || !is_of_linux(set)));
    }
    if profiles.contains(&Profile::WindowsExporter) {
        paths.extend(WINDOWS_DEFAULTS.iter().map(|(set, counter)| path(set, None, counter)));
    }
    if profiles.contains(&Profile::NodeExporter) {
        paths.extend(node_paths());
    }
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(path.to_string()));
    paths
}

/// Returns the counter paths of the metrics that node_exporter exports by default.
fn node_paths() -> impl Iterator<Item = CounterPath> {
    all_node_metrics().iter().filter(|metric| metric.is_default).filter_map(|metric| {
        let set = catalogue::by_guid(metric.set)?;
        let counter = set.counter(metric.counter)?.name.as_deref()?;
        // A total is exported only if a path names it.
        let instance = if metric.instance == "_Total" { "_Total" } else { "*" };
        Some(path(&set.name, set.instance_type.is_multiple().then_some(instance), counter))
    })
}

/// Returns `true` if a counterset of this name exists only on Linux, now and in future.
fn is_of_linux(set: &str) -> bool {
    set.starts_with("Linux ") || ["Pressure Stall", "Sockets"].contains(&set)
}

fn path(set: &str, instance: Option<&str>, counter: &str) -> CounterPath {
    CounterPath {
        machine: None,
        counterset: set.to_owned(),
        instance: instance.map(str::to_owned),
        counter: counter.to_owned(),
    }
}

fn paths_of(is_there: impl Fn(&str) -> bool) -> Vec<CounterPath> {
    let of_set =
        |(set, instance, counters): &(&'static str, Option<&'static str>, &'static [&'static str])| {
            let (set, instance) = (*set, *instance);
            counters.iter().map(move |counter| path(set, instance, counter))
        };
    DEFAULTS.iter().filter(|(set, ..)| is_there(set)).flat_map(of_set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the catalogue contains every default path: an unknown path would prevent every exporter from
    /// starting.
    #[test]
    fn the_catalogue_has_all_of_them() {
        let profiles = [Profile::Perf, Profile::WindowsExporter, Profile::NodeExporter];
        for path in paths_of(|_| true).into_iter().chain(default_paths(&profiles)) {
            let set = catalogue::ALL.iter().find(|set| set.name == path.counterset);
            let set = set.unwrap_or_else(|| panic!("{path}"));
            assert_eq!(set.instance_type.is_multiple(), path.instance.is_some(), "{path}");
            let mut names = set.counters.iter().filter_map(|counter| counter.name.as_deref());
            assert!(path.counter == "*" || names.any(|name| name == path.counter), "{path}");
        }
    }
    /// Checks that the default paths of Windows lack exactly the countersets that exist only on Linux.
    #[test]
    fn windows_is_not_asked_for_what_linux_has() {
        let sets = |is_there: fn(&str) -> bool| {
            let mut sets: Vec<_> = paths_of(is_there).into_iter().map(|path| path.counterset).collect();
            sets.dedup();
            sets
        };
        let of_linux = [
            "Linux Processor",
            "Linux System",
            "Linux Memory",
            "Pressure Stall",
            "Sockets",
            "Linux TCP",
            "Linux Sensors",
        ];
        assert_eq!(sets(is_of_linux), of_linux);
        let everywhere = sets(|set| !is_of_linux(set));
        assert!(everywhere.contains(&"Memory".into()) && everywhere.contains(&"Perfset Engine".into()));
        assert_eq!(default_paths(&[]).iter().any(|path| is_of_linux(&path.counterset)), cfg!(not(windows)));
    }
}
