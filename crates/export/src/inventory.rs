//! Metrics of the inventory: facts about the machine as labels, and resources of this process.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "the reader needs Linux"))]

use perfset_linux::inventory::{Inventory, ProcessInventory};

use crate::family::line;
use crate::options::{ExpositionFormat, Profile};
use crate::selection::MetricSelection;
use crate::text::{label, real, scaled, whole};
use crate::unit::UnitConversion;

/// Names of metrics of the inventory that a counter's metric must not have, because all profiles export them.
const PROCESS_NAMES: [&str; 7] = [
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
    "process_virtual_memory_max_bytes",
];

/// Text that stands for the NIS domain of a machine if none is set.
const NO_DOMAIN: &str = "(none)";

/// Value of a line of the inventory's metrics.
#[derive(Clone, Copy)]
enum InventoryNumber {
    Whole(u64),
    /// Decimal value: a whole number, divided by ten to this power.
    Over(u64, u8),
    Real(f64),
}

/// Type of a metric family of the inventory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InventoryKind {
    Counter,
    Gauge,
    /// Info metric: facts as labels of a line whose value is 1.
    Info,
}

/// Writer of the inventory's metrics.
#[derive(Debug)]
pub(crate) struct InventoryMetrics {
    profiles: Vec<Profile>,
    /// Name of the metric whose labels are the machine's names.
    machine_info: String,
}

impl InventoryMetrics {
    pub fn new(profiles: &[Profile], prefix: &str) -> Self {
        let profiles = if profiles.is_empty() { vec![Profile::Perf] } else { profiles.to_vec() };
        Self { profiles, machine_info: format!("{prefix}_machine_info") }
    }

    /// Returns `true` if a metric of the inventory has this name.
    pub fn has(&self, name: &str) -> bool {
        PROCESS_NAMES.contains(&name) || self.machine_info == name
    }

    /// Appends the inventory's metrics of all profiles.
    pub fn write(
        &self,
        inventory: &Inventory,
        format: ExpositionFormat,
        part: Option<&MetricSelection>,
        out: &mut Vec<u8>,
    ) {
        let mut text = InventoryText { out, format, part };
        for profile in &self.profiles {
            match profile {
                Profile::Perf => self.perf(&mut text, inventory),
                Profile::WindowsExporter => windows_exporter(&mut text, inventory),
                Profile::NodeExporter => node_exporter(&mut text, inventory),
            }
        }
        process(&mut text, &inventory.process);
    }

    fn perf(&self, text: &mut InventoryText<'_>, inventory: &Inventory) {
        let kernel = &inventory.kernel;
        text.family(
            &self.machine_info,
            InventoryKind::Info,
            "Names and versions of the machine and its system.",
        );
        let labels = [
            ("machine", kernel.machine.as_str()),
            ("nodename", &kernel.host),
            ("product", fact(&inventory.distribution, "pretty_name")),
            ("release", &kernel.release),
            ("sysname", &kernel.system),
            ("version", &kernel.version),
        ];
        text.line(&self.machine_info, labels, InventoryNumber::Whole(1));
    }
}

/// Returns a fact about the machine by its name; an empty text if it is missing.
fn fact<'a>(facts: &'a [(&'static str, String)], name: &str) -> &'a str {
    facts.iter().find(|(key, _)| *key == name).map_or("", |(_, text)| text)
}

/// Text of a scrape that metric families of the inventory are appended to.
struct InventoryText<'a> {
    out: &'a mut Vec<u8>,
    format: ExpositionFormat,
    /// Selected part of the metrics that is written; `None` for all.
    part: Option<&'a MetricSelection>,
}

impl InventoryText<'_> {
    /// Returns `true` if a metric of the inventory is written. The metrics about this process always are.
    fn has(&self, name: &str) -> bool {
        PROCESS_NAMES.contains(&name) || self.part.is_none_or(|part| part.has_name(name))
    }

    /// Appends the head lines of a metric family of the inventory. `name` is that of its lines.
    fn family(&mut self, name: &str, kind: InventoryKind, help: &str) {
        if !self.has(name) {
            return;
        }
        let is_open = self.format == ExpositionFormat::OpenMetrics;
        let (stem, sort) = match kind {
            InventoryKind::Counter if is_open => (name.strip_suffix("_total").unwrap_or(name), "counter"),
            InventoryKind::Info if is_open => (name.strip_suffix("_info").unwrap_or(name), "info"),
            InventoryKind::Counter => (name, "counter"),
            InventoryKind::Gauge | InventoryKind::Info => (name, "gauge"),
        };
        line(self.out, "HELP", stem, |out| out.extend_from_slice(help.as_bytes()));
        line(self.out, "TYPE", stem, |out| out.extend_from_slice(sort.as_bytes()));
        let unit = stem.rsplit('_').next().filter(|unit| ["seconds", "bytes"].contains(unit));
        if let Some(unit) = unit.filter(|_| is_open) {
            line(self.out, "UNIT", stem, |out| out.extend_from_slice(unit.as_bytes()));
        }
    }

    fn line<'t>(
        &mut self,
        name: &str,
        labels: impl IntoIterator<Item = (&'t str, &'t str)>,
        number: InventoryNumber,
    ) {
        if !self.has(name) {
            return;
        }
        self.out.extend_from_slice(name.as_bytes());
        let mut separator = b'{';
        for (key, value) in labels {
            self.out.push(separator);
            self.out.extend_from_slice(key.as_bytes());
            self.out.extend_from_slice(b"=\"");
            label(self.out, value.chars());
            self.out.push(b'"');
            separator = b',';
        }
        self.out.extend_from_slice(if separator == b',' { b"} " } else { b" " });
        match number {
            InventoryNumber::Whole(number) => whole(self.out, number),
            InventoryNumber::Over(number, digits) => scaled(self.out, number, UnitConversion::over(digits)),
            InventoryNumber::Real(number) => real(self.out, number),
        }
        self.out.push(b'\n');
    }

    /// Appends a metric family of one line without labels; nothing if there is no number.
    fn single(&mut self, name: &str, kind: InventoryKind, help: &str, number: Option<InventoryNumber>) {
        if let Some(number) = number {
            self.family(name, kind, help);
            self.line(name, [], number);
        }
    }
}

/// Appends the facts about the machine that node_exporter publishes.
fn node_exporter(text: &mut InventoryText<'_>, inventory: &Inventory) {
    let kernel = &inventory.kernel;
    text.family(
        "node_uname_info",
        InventoryKind::Info,
        "Names and versions that the kernel reports of itself.",
    );
    let labels = [
        ("domainname", kernel.domain.as_str()),
        ("machine", &kernel.machine),
        ("nodename", &kernel.host),
        ("release", &kernel.release),
        ("sysname", &kernel.system),
        ("version", &kernel.version),
    ];
    text.line("node_uname_info", labels, InventoryNumber::Whole(1));
    node_distribution(text, &inventory.distribution);
    if !inventory.firmware.is_empty() {
        text.family("node_dmi_info", InventoryKind::Info, "Firmware and hardware, without serial numbers.");
        let labels = inventory.firmware.iter().map(|(key, value)| (*key, value.as_str()));
        text.line("node_dmi_info", labels, InventoryNumber::Whole(1));
    }
    let now = inventory.now_ns.map(|now| InventoryNumber::Over(now, 9));
    text.single("node_time_seconds", InventoryKind::Gauge, "Wall clock, in seconds since 1970.", now);
    node_clock_sources(text, inventory);
    node_devices(text, inventory);
}

fn node_distribution(text: &mut InventoryText<'_>, facts: &[(&'static str, String)]) {
    const KEYS: [&str; 12] = [
        "build_id",
        "id",
        "id_like",
        "image_id",
        "image_version",
        "name",
        "pretty_name",
        "variant",
        "variant_id",
        "version",
        "version_codename",
        "version_id",
    ];
    if facts.is_empty() {
        return;
    }
    text.family("node_os_info", InventoryKind::Info, "Name and version of the distribution.");
    text.line("node_os_info", KEYS.map(|key| (key, fact(facts, key))), InventoryNumber::Whole(1));
    if let Some(version) = leading_number(fact(facts, "version_id")) {
        text.family(
            "node_os_version",
            InventoryKind::Gauge,
            "Version of the distribution: its first two numbers.",
        );
        let labels = ["id", "id_like", "name"].map(|key| (key, fact(facts, key)));
        text.line("node_os_version", labels, InventoryNumber::Real(version));
    }
}

/// Returns the number at the beginning of a version, with at most one point: 22.04 of `22.04.1`.
fn leading_number(version: &str) -> Option<f64> {
    let is_digit = |c: char| c.is_ascii_digit();
    let whole = version.trim_start_matches(is_digit);
    let behind = whole.strip_prefix('.').map_or(whole, |part| part.trim_start_matches(is_digit));
    version.strip_suffix(behind)?.trim_end_matches('.').parse().ok()
}

fn node_clock_sources(text: &mut InventoryText<'_>, inventory: &Inventory) {
    let Inventory { clock_sources, clock_source, .. } = inventory;
    for (name, help, sources) in [
        ("node_time_clocksource_available_info", "Clock sources of the kernel.", clock_sources.as_slice()),
        ("node_time_clocksource_current_info", "Clock source that the kernel uses.", clock_source.as_slice()),
    ] {
        if sources.is_empty() {
            continue;
        }
        text.family(name, InventoryKind::Info, help);
        for source in sources {
            text.line(name, [("clocksource", source.as_str()), ("device", "0")], InventoryNumber::Whole(1));
        }
    }
}

fn node_devices(text: &mut InventoryText<'_>, inventory: &Inventory) {
    if !inventory.disks.is_empty() {
        text.family("node_disk_info", InventoryKind::Info, "Numbers and model of a disk.");
    }
    for disk in &inventory.disks {
        let (major, minor) = disk.number;
        let labels = [
            ("device", disk.device.as_str()),
            ("major", &major.to_string()),
            ("minor", &minor.to_string()),
            ("model", &disk.model),
            ("revision", &disk.revision),
        ];
        text.line("node_disk_info", labels, InventoryNumber::Whole(1));
    }
    if !inventory.links.is_empty() {
        text.family("node_network_info", InventoryKind::Info, "Addresses and state of a network interface.");
    }
    for link in &inventory.links {
        let labels = [
            ("address", link.address.as_str()),
            ("broadcast", &link.broadcast),
            ("device", &link.device),
            ("duplex", &link.duplex),
            ("ifalias", &link.alias),
            ("operstate", &link.state),
        ];
        text.line("node_network_info", labels, InventoryNumber::Whole(1));
    }
    if !inventory.chips.is_empty() {
        text.family(
            "node_hwmon_chip_names",
            InventoryKind::Gauge,
            "Name that the driver gives to a chip with sensors.",
        );
    }
    for chip in &inventory.chips {
        let labels = [("chip", chip.chip.as_str()), ("chip_name", &chip.name)];
        text.line("node_hwmon_chip_names", labels, InventoryNumber::Whole(1));
    }
    if !inventory.sensors.is_empty() {
        let help = "Label that the driver gives to a sensor.";
        text.family("node_hwmon_sensor_label", InventoryKind::Gauge, help);
    }
    for sensor in &inventory.sensors {
        let labels = [("chip", sensor.chip.as_str()), ("label", &sensor.label), ("sensor", &sensor.sensor)];
        text.line("node_hwmon_sensor_label", labels, InventoryNumber::Whole(1));
    }
}

/// Appends the facts about the machine that windows_exporter publishes.
fn windows_exporter(text: &mut InventoryText<'_>, inventory: &Inventory) {
    let kernel = &inventory.kernel;
    let (host, domain) = match kernel.host.split_once('.') {
        Some((host, domain)) => (host, domain),
        None if kernel.domain == NO_DOMAIN => (kernel.host.as_str(), ""),
        None => (kernel.host.as_str(), kernel.domain.as_str()),
    };
    let full = if domain.is_empty() { host.to_owned() } else { format!("{host}.{domain}") };
    text.family("windows_os_hostname", InventoryKind::Gauge, "Names of the machine.");
    let labels = [("domain", domain), ("fqdn", &full), ("hostname", host)];
    text.line("windows_os_hostname", labels, InventoryNumber::Whole(1));
    // The kernel's release is the version: 6.1.0-18-amd64 is 6.1, with the build number 0.
    let mut numbers = kernel.release.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next().unwrap_or_default();
    let (major, minor, build) = (number(), number(), number());
    text.family("windows_os_info", InventoryKind::Info, "Distribution, and release of the kernel.");
    let labels = [
        ("build_number", build),
        ("major_version", major),
        ("minor_version", minor),
        ("product", fact(&inventory.distribution, "pretty_name")),
        ("version", &kernel.release),
    ];
    text.line("windows_os_info", labels, InventoryNumber::Whole(1));
    let processors = inventory.processors.map(InventoryNumber::Whole);
    let help = "InventoryNumber of processors that are online.";
    text.single("windows_cpu_logical_processor", InventoryKind::Gauge, help, processors);
    if !inventory.links.is_empty() {
        text.family(
            "windows_net_nic_info",
            InventoryKind::Info,
            "Hardware address and other name of a network interface.",
        );
    }
    for link in inventory.links.iter().filter(|link| link.device != "lo") {
        let labels = [("friendly_name", link.alias.as_str()), ("mac", &link.address), ("nic", &link.device)];
        text.line("windows_net_nic_info", labels, InventoryNumber::Whole(1));
    }
}

/// Appends the metrics about resources of this process, under the names that all client libraries of Prometheus use.
fn process(text: &mut InventoryText<'_>, process: &ProcessInventory) {
    let whole = |number: Option<u64>| number.map(InventoryNumber::Whole);
    let [cpu, most_files, files, resident, start, size, most_size] = PROCESS_NAMES;
    let seconds = process.cpu_ns.map(|ns| InventoryNumber::Over(ns, 9));
    text.single(cpu, InventoryKind::Counter, "CPU time of this process.", seconds);
    text.single(
        most_files,
        InventoryKind::Gauge,
        "Maximum number of open files of this process.",
        whole(process.open_files_max),
    );
    text.single(
        files,
        InventoryKind::Gauge,
        "InventoryNumber of open files of this process.",
        whole(process.open_files),
    );
    text.single(
        resident,
        InventoryKind::Gauge,
        "Memory of this process in RAM.",
        whole(process.resident_bytes),
    );
    let begun = process.start_cs.map(|start| InventoryNumber::Over(start, 2));
    text.single(start, InventoryKind::Gauge, "Start time of this process, in seconds since 1970.", begun);
    text.single(
        size,
        InventoryKind::Gauge,
        "Size of this process's address space.",
        whole(process.virtual_bytes),
    );
    let help = "Maximum size of this process's address space; 2^64 - 1 without a limit.";
    text.single(most_size, InventoryKind::Gauge, help, whole(process.virtual_bytes_max));
}
