//! Reader of the inventory of this machine, which caches facts that rarely change.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::time::ClockId;

use super::{ChipInventory, DiskInventory, Inventory, KernelNames, LinkInventory, SensorInventory, process};
use crate::roots::Roots;
use crate::sources::{attribute, cpulist, hwmon, os_release};

/// Maximum number of bytes that are read of a file for the inventory.
const FILE_MAX: u64 = 16 << 10;
/// Maximum number of devices of a kind that are read for the inventory.
const DEVICES_MAX: usize = 4_096;
/// Time for which inventory facts that change with devices are not read again.
const DEVICE_PAUSE: Duration = Duration::from_secs(5);
/// Time for which inventory facts that change with an update or a reboot are not read again.
const MACHINE_PAUSE: Duration = Duration::from_secs(60);

/// Keys of `os-release` that are read, and their names in the inventory.
const DISTRIBUTION: &[(&str, &str)] = &[
    ("BUILD_ID", "build_id"),
    ("ID", "id"),
    ("ID_LIKE", "id_like"),
    ("IMAGE_ID", "image_id"),
    ("IMAGE_VERSION", "image_version"),
    ("NAME", "name"),
    ("PRETTY_NAME", "pretty_name"),
    ("VARIANT", "variant"),
    ("VARIANT_ID", "variant_id"),
    ("VERSION", "version"),
    ("VERSION_CODENAME", "version_codename"),
    ("VERSION_ID", "version_id"),
];

/// Files of `/sys/class/dmi/id` that are read, and their names in the inventory. Serial numbers and the UUID are left
/// out: only root may read them, and metrics are for everyone.
const FIRMWARE: &[(&str, &str)] = &[
    ("bios_date", "bios_date"),
    ("bios_release", "bios_release"),
    ("bios_vendor", "bios_vendor"),
    ("bios_version", "bios_version"),
    ("board_asset_tag", "board_asset_tag"),
    ("board_name", "board_name"),
    ("board_vendor", "board_vendor"),
    ("board_version", "board_version"),
    ("chassis_asset_tag", "chassis_asset_tag"),
    ("chassis_vendor", "chassis_vendor"),
    ("chassis_version", "chassis_version"),
    ("product_family", "product_family"),
    ("product_name", "product_name"),
    ("product_sku", "product_sku"),
    ("product_version", "product_version"),
    ("sys_vendor", "system_vendor"),
];

/// Reader of the inventory of this machine, which stores facts that rarely change.
#[derive(Debug)]
pub struct InventoryReader {
    roots: Roots,
    inventory: Inventory,
    machine_read: Option<Instant>,
    devices_read: Option<Instant>,
}

impl InventoryReader {
    /// Creates an inventory reader of the files below `roots`.
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self { roots, inventory: Inventory::default(), machine_read: None, devices_read: None }
    }

    /// Reads the inventory of the machine. Facts about devices are at most 5 s old, those about the distribution and
    /// the hardware at most a minute.
    pub fn read(&mut self) -> &Inventory {
        let now = Instant::now();
        let is_due = |read: Option<Instant>, pause| read.is_none_or(|read| now.duration_since(read) >= pause);
        if is_due(self.machine_read, MACHINE_PAUSE) {
            self.machine_read = Some(now);
            self.read_machine();
        }
        if is_due(self.devices_read, DEVICE_PAUSE) {
            self.devices_read = Some(now);
            self.inventory.disks = disks(&self.roots.sys.join("block"));
            self.inventory.links = links(&self.roots.sys.join("class/net"));
        }
        self.inventory.kernel = kernel();
        self.inventory.now_ns = process::clock_ns(ClockId::Realtime);
        self.inventory.process = process::read(self.inventory.process.start_cs);
        &self.inventory
    }

    fn read_machine(&mut self) {
        let Self { roots: Roots { proc, sys }, inventory, .. } = self;
        let of_etc = proc.with_file_name("etc").join("os-release");
        let of_usr = proc.with_file_name("usr").join("lib/os-release");
        let text = small_file(&of_etc).or_else(|| small_file(&of_usr)).unwrap_or_default();
        let keys =
            DISTRIBUTION.iter().filter_map(|(key, name)| Some((*name, os_release::value(&text, key)?)));
        inventory.distribution = keys.collect();

        let folder = sys.join("class/dmi/id");
        let files = FIRMWARE.iter().filter_map(|(file, name)| Some((*name, line(&folder.join(file))?)));
        inventory.firmware = files.collect();

        let mut online = Vec::new();
        let text = small_file(&sys.join("devices/system/cpu/online"));
        let parsed = text.and_then(|text| cpulist::parse(&text, cpulist::CPU_LIMIT, &mut online).ok());
        inventory.processors = parsed.and_then(|()| u64::try_from(online.len()).ok());

        let folder = sys.join("devices/system/clocksource/clocksource0");
        let available = line(&folder.join("available_clocksource")).unwrap_or_default();
        inventory.clock_sources = available.split_whitespace().map(str::to_owned).collect();
        inventory.clock_sources.sort_unstable();
        inventory.clock_sources.dedup();
        inventory.clock_source = line(&folder.join("current_clocksource"));
        inventory.chips = chips(&sys.join("class/hwmon"));
        inventory.sensors = sensors(&sys.join("class/hwmon"));
    }
}

fn kernel() -> KernelNames {
    let names = rustix::system::uname();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    KernelNames {
        system: text(names.sysname()),
        host: text(names.nodename()),
        release: text(names.release()),
        version: text(names.version()),
        machine: text(names.machine()),
        domain: text(names.domainname()),
    }
}

/// Reads the whole block devices of a machine, except RAM disks, loop devices and floppy disks.
fn disks(folder: &Path) -> Vec<DiskInventory> {
    let disk = |(device, path): (String, PathBuf)| {
        let is_left_out = ["ram", "loop", "fd"].iter().any(|kind| {
            device.strip_prefix(kind).is_some_and(|number| number.bytes().all(|c| c.is_ascii_digit()))
        });
        if is_left_out {
            return None;
        }
        let number = line(&path.join("dev"))?;
        let (major, minor) = number.split_once(':')?;
        let text = |file: &str| line(&path.join(file)).unwrap_or_default();
        Some(DiskInventory {
            number: (major.parse().ok()?, minor.parse().ok()?),
            model: text("device/model"),
            revision: first_of([text("device/rev"), text("device/firmware_rev")]),
            device,
        })
    };
    entries(folder).into_iter().filter_map(disk).collect()
}

/// Returns the first of two texts that is not empty.
fn first_of(texts: [String; 2]) -> String {
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

/// Reads the network interfaces of a machine.
fn links(folder: &Path) -> Vec<LinkInventory> {
    let link = |(device, path): (String, PathBuf)| {
        let text = |file: &str| line(&path.join(file)).unwrap_or_default();
        // Other entries of the directory, such as `bonding_masters`, are files.
        Some(LinkInventory {
            address: line(&path.join("address"))?,
            broadcast: text("broadcast"),
            duplex: text("duplex"),
            alias: text("ifalias"),
            state: text("operstate"),
            device,
        })
    };
    entries(folder).into_iter().filter_map(link).collect()
}

/// Reads the chips with sensors of a machine.
fn chips(folder: &Path) -> Vec<ChipInventory> {
    let chip = |(_, path): (String, PathBuf)| {
        let name = cleaned(&line(&path.join("name"))?);
        Some(ChipInventory { chip: chip_label(&path), name })
    };
    let mut chips: Vec<_> = entries(folder).into_iter().filter_map(chip).collect();
    // Nothing tells apart equal ones, which would be the same metric twice.
    chips.sort_unstable();
    chips.dedup();
    chips
}

/// Reads the labels of a machine's sensors.
fn sensors(folder: &Path) -> Vec<SensorInventory> {
    let of_chip = |(_, path): (String, PathBuf)| {
        let chip = chip_label(&path);
        entries(&path).into_iter().filter_map(move |(name, path)| {
            let sensor = name.strip_suffix("_label").filter(|sensor| is_sensor(sensor))?.to_owned();
            Some(SensorInventory { chip: chip.clone(), sensor, label: line(&path)? })
        })
    };
    let mut sensors: Vec<_> = entries(folder).into_iter().flat_map(of_chip).collect();
    // Of two with the same names only one can be a metric.
    sensors.sort_unstable();
    sensors.dedup_by(|a, b| (&a.chip, &a.sensor) == (&b.chip, &b.sensor));
    sensors
}

/// Returns `true` if a text is the kernel's name of a sensor that can be measured: a kind and a number.
fn is_sensor(name: &str) -> bool {
    hwmon::sensor(format!("{name}_input").as_bytes()).is_some()
}

/// Returns the label of the sensor chip with this directory: the location of its device, else its name, else the name
/// of the directory.
pub(crate) fn chip_label(path: &Path) -> String {
    let device = fs::canonicalize(path.join("device")).ok();
    let name = || line(&path.join("name")).map(|name| cleaned(&name));
    let entry = || path.file_name().map(|name| name.to_string_lossy().into_owned());
    device.as_deref().and_then(place).or_else(name).or_else(entry).unwrap_or_default()
}

/// Returns the last two parts of a device's path, in the characters of a label: `pci0000:00_0000:00:18_3`.
fn place(device: &Path) -> Option<String> {
    let part = |path: &Path| path.file_name().map(|name| cleaned(&name.to_string_lossy()));
    let (own, parent) = (part(device)?, device.parent().and_then(part));
    Some(parent.map_or(own.clone(), |parent| format!("{parent}_{own}")))
}

/// Returns a device's name in small letters, with `_` in place of all characters except letters, digits, `_` and `:`.
fn cleaned(name: &str) -> String {
    let clean = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() || matches!(c, '_' | ':') => c,
        _ => '_',
    };
    name.trim().chars().map(clean).collect()
}

/// Returns names and paths of the entries of a directory, in the order of their names; none if it cannot be read.
fn entries(folder: &Path) -> Vec<(String, PathBuf)> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten().take(DEVICES_MAX);
    let mut all: Vec<_> =
        all.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect();
    all.sort_unstable();
    all
}

/// Returns the text of a file that has exactly one line, without blanks around the text; `None` for other files.
fn line(path: &Path) -> Option<String> {
    let text = small_file(path)?;
    let line = attribute::line(&text).ok()?;
    Some(String::from_utf8_lossy(line.trim_ascii()).into_owned())
}

/// Returns the contents of a small file; `None` if it cannot be read.
fn small_file(path: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(FILE_MAX).read_to_end(&mut text).ok()?;
    Some(text)
}
