//! Selection of a part of the metrics by the names of collectors and countersets.

use crate::family::Family;
use crate::table::CountersetTable;

/// Names of collectors in node_exporter and windows_exporter, each with the beginnings of their metrics' names.
const COLLECTORS: &[(&str, &[&str])] = &[
    ("arp", &["node_arp_"]),
    ("bonding", &["node_bonding_"]),
    ("cache", &["windows_cache_"]),
    ("conntrack", &["node_nf_conntrack_"]),
    ("cpu", &["node_cpu_seconds_", "node_cpu_guest_", "node_cpu_info", "windows_cpu_"]),
    ("cpufreq", &["node_cpu_scaling_", "node_cpu_frequency_"]),
    ("diskstats", &["node_disk_"]),
    ("dmi", &["node_dmi_"]),
    ("entropy", &["node_entropy_"]),
    ("filefd", &["node_filefd_"]),
    ("filesystem", &["node_filesystem_"]),
    ("hwmon", &["node_hwmon_"]),
    ("interrupts", &["node_interrupts_"]),
    ("kernel_hung", &["node_kernel_hung_"]),
    ("loadavg", &["node_load"]),
    ("logical_disk", &["windows_logical_disk_"]),
    ("mdadm", &["node_md_"]),
    ("meminfo", &["node_memory_"]),
    ("memory", &["windows_memory_"]),
    ("net", &["windows_net_"]),
    ("netclass", NETCLASS),
    ("netdev", &["node_network_receive_", "node_network_transmit_"]),
    ("netstat", &["node_netstat_"]),
    ("nfs", &["node_nfs_"]),
    ("os", &["node_os_", "windows_os_"]),
    ("pagefile", &["windows_pagefile_"]),
    ("physical_disk", &["windows_physical_disk_"]),
    ("powersupplyclass", &["node_power_supply_"]),
    ("pressure", &["node_pressure_"]),
    ("process", &["windows_process_"]),
    ("processes", &["node_processes_"]),
    ("schedstat", &["node_schedstat_"]),
    ("sockstat", &["node_sockstat_"]),
    ("softnet", &["node_softnet_"]),
    ("stat", &["node_boot_time_", "node_context_switches_", "node_forks_", "node_intr_", "node_procs_"]),
    ("system", &["windows_system_"]),
    ("tcp", &["windows_tcp_"]),
    ("tcpstat", &["node_tcp_connection_states"]),
    ("thermal_zone", &["node_thermal_zone_", "node_cooling_device_"]),
    ("thermalzone", &["windows_thermalzone_"]),
    ("time", &["node_time_"]),
    ("timex", &["node_timex_"]),
    ("udp", &["windows_udp_"]),
    ("udp_queues", &["node_udp_queues"]),
    ("uname", &["node_uname_"]),
    ("vmstat", &["node_vmstat_"]),
    ("zfs", &["node_zfs_"]),
];

/// Names of node_exporter's collectors that have no counters in perfset. A configuration that names them gets the
/// metrics of the others, as on a machine without such devices.
const WITHOUT_COUNTERS: &[&str] = &[
    "bcache",
    "btrfs",
    "edac",
    "fibrechannel",
    "infiniband",
    "ipvs",
    "nfsd",
    "nvme",
    "rapl",
    "selinux",
    "systemd",
    "tapestats",
    "textfile",
    "xfs",
];

/// Names of the metrics about a network interface, except its counts.
const NETCLASS: &[&str] = &[
    "node_network_address_",
    "node_network_carrier",
    "node_network_device_",
    "node_network_dormant",
    "node_network_flags",
    "node_network_iface_",
    "node_network_info",
    "node_network_mtu_",
    "node_network_name_",
    "node_network_net_",
    "node_network_protocol_",
    "node_network_speed_",
    "node_network_up",
];

/// Part of the metrics of an exporter, which is written alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricSelection {
    /// Beginnings of the metric names that are selected.
    starts: Vec<&'static str>,
    /// Names of the countersets whose metrics are selected.
    countersets: Vec<String>,
}

impl MetricSelection {
    /// Creates the selection of metrics from names of collectors and countersets. `countersets` are those of the
    /// exporter.
    ///
    /// # Errors
    /// The names of all collectors and countersets if one of the names is that of none.
    pub(crate) fn new(names: &[String], countersets: &[&str]) -> Result<Self, String> {
        let mut selection = Self::default();
        for name in names {
            let collector = COLLECTORS.iter().find(|(collector, _)| collector == name);
            let set = countersets.iter().find(|set| set.eq_ignore_ascii_case(name));
            selection.starts.extend(collector.into_iter().flat_map(|(_, starts)| *starts));
            selection.countersets.extend(set.map(|set| (*set).to_owned()));
            if collector.is_none() && set.is_none() && !WITHOUT_COUNTERS.contains(&name.as_str()) {
                let collectors = COLLECTORS.iter().map(|(collector, _)| *collector);
                let known: Vec<_> = collectors.chain(countersets.iter().copied()).collect();
                return Err(known.join(", "));
            }
        }
        Ok(selection)
    }

    /// Returns `true` if a metric family is selected, by its own name or by the countersets of its counters.
    pub(crate) fn has_family(&self, family: &Family, tables: &[CountersetTable]) -> bool {
        let mut of_family = family.members.iter().filter_map(|member| tables.get(member.table));
        self.has_name(&family.name) || of_family.any(|table| self.has_table(table))
    }

    /// Returns `true` if a metric is selected by its name.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.starts.iter().any(|start| name.starts_with(start))
    }

    /// Returns `true` if all metrics of a counterset are selected.
    fn has_table(&self, table: &CountersetTable) -> bool {
        self.countersets.iter().any(|set| **set == *table.set.name)
    }
}
