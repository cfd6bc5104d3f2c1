//! Inventory of a machine: facts that no counter has, such as the kernel's release and the models of disks.
//!
//! Exporters publish these facts as labels of metrics. The types compile on every system; the reader needs Linux.

#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod reader;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests;

#[cfg(target_os = "linux")]
pub use reader::InventoryReader;
#[cfg(target_os = "linux")]
pub(crate) use reader::chip_label;

/// Facts about a machine, and about the process that reads them. A fact that cannot be read is `None` or missing.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Inventory {
    /// Names and versions that the kernel reports of itself.
    pub kernel: KernelNames,
    /// Distribution's name and version, from `os-release`; each key is in lower case: `pretty_name`.
    pub distribution: Vec<(&'static str, String)>,
    /// Facts about firmware and hardware, from `/sys/class/dmi/id`; serial numbers are never read.
    pub firmware: Vec<(&'static str, String)>,
    /// Number of processors of the machine that are online.
    pub processors: Option<u64>,
    /// Names of the clock sources that the kernel may use.
    pub clock_sources: Vec<String>,
    /// Name of the clock source that the kernel uses.
    pub clock_source: Option<String>,
    /// Whole block devices of the machine, in the order of their names.
    pub disks: Vec<DiskInventory>,
    /// Network interfaces of the machine, in the order of their names.
    pub links: Vec<LinkInventory>,
    /// Chips of the machine that have sensors, in the order of their names.
    pub chips: Vec<ChipInventory>,
    /// Sensors of the machine that have a label, in the order of their chips.
    pub sensors: Vec<SensorInventory>,
    /// Time of the wall clock when the facts were read, in nanoseconds since 1970.
    pub now_ns: Option<u64>,
    /// Resources that this process uses.
    pub process: ProcessInventory,
}

/// Names and versions that the kernel reports of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelNames {
    /// Name of the kernel: `Linux`.
    pub system: String,
    /// Host name of the machine.
    pub host: String,
    /// Release of the kernel, such as `6.1.0-18-amd64`.
    pub release: String,
    /// Version of the kernel: number and options of the build.
    pub version: String,
    /// Type of the machine's processors, such as `x86_64`.
    pub machine: String,
    /// NIS domain of the machine; `(none)` if none is set.
    pub domain: String,
}

/// Whole block device in an inventory, with its model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskInventory {
    /// Name that the kernel gives to the block device.
    pub device: String,
    /// Major and minor number of the block device.
    pub number: (u32, u32),
    /// Model that the block device reports.
    pub model: String,
    /// Revision of the firmware that the block device reports.
    pub revision: String,
}

/// Network interface in an inventory, with its addresses and state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkInventory {
    /// Name of the network interface.
    pub device: String,
    /// Hardware address of the network interface, such as a MAC address.
    pub address: String,
    /// Hardware address for broadcasts on the network interface.
    pub broadcast: String,
    /// Duplex mode of the interface: `full`, `half` or `unknown`; empty if the driver does not say.
    pub duplex: String,
    /// Name that an administrator has given to the network interface.
    pub alias: String,
    /// Operational state of the network interface: `up`, `down`, `unknown` and others.
    pub state: String,
}

/// Chip that has sensors, with its names, in an inventory.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChipInventory {
    /// Name of the chip's device, made of the location of the device: `platform_coretemp_0`.
    pub chip: String,
    /// Name that the driver gives to the sensor chip: `coretemp`.
    pub name: String,
}

/// Sensor that has a label, in an inventory.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SensorInventory {
    /// Name of the sensor's chip, as in [`ChipInventory`].
    pub chip: String,
    /// Name that the kernel gives to the sensor: `temp1`.
    pub sensor: String,
    /// Label that the driver gives to the sensor: `Core 0`.
    pub label: String,
}

/// Resources that the process uses which reads the inventory, and their limits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessInventory {
    /// CPU time of all threads of this process, in nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Number of open file descriptors of this process.
    pub open_files: Option<u64>,
    /// Maximum number of open file descriptors of this process; `u64::MAX` if there is no limit.
    pub open_files_max: Option<u64>,
    /// Size of this process's address space in bytes.
    pub virtual_bytes: Option<u64>,
    /// Maximum size of this process's address space in bytes; `u64::MAX` if there is no limit.
    pub virtual_bytes_max: Option<u64>,
    /// Memory of this process that is in RAM, in bytes.
    pub resident_bytes: Option<u64>,
    /// Start time of this process in hundredths of a second since 1970.
    pub start_cs: Option<u64>,
}
