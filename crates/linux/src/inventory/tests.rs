//! Tests of inventories of machines made of files, and of this machine.

use std::os::unix::fs::symlink;

use super::{ChipInventory, DiskInventory, InventoryReader, LinkInventory, SensorInventory};
use crate::testing::Tree;

#[test]
fn facts_of_files() {
    let tree = Tree::proc_of("two-nodes");
    for (file, text) in [
        ("etc/os-release", "NAME=\"Demo Linux\"\nID=demo\nVERSION_ID=7.2\nPRETTY_NAME='Demo 7'\n"),
        ("sys/class/dmi/id/bios_date", "01/02/2030\n"),
        ("sys/class/dmi/id/sys_vendor", "Maker \n"),
        ("sys/class/dmi/id/product_serial", "SECRET\n"),
        ("sys/devices/system/cpu/online", "0-2,5\n"),
        ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc acpi_pm \n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ("sys/block/sda/dev", "8:0\n"),
        ("sys/block/sda/device/model", "Disk 3  \n"),
        ("sys/block/sda/device/rev", "0005\n"),
        ("sys/block/loop11/dev", "7:11\n"),
        ("sys/block/odd/dev", "eight\n"),
        ("sys/class/net/eth7/address", "02:00:00:00:00:07\n"),
        ("sys/class/net/eth7/broadcast", "ff:ff:ff:ff:ff:ff\n"),
        ("sys/class/net/eth7/operstate", "up\n"),
        ("sys/class/net/eth7/duplex", "full\n"),
        ("sys/class/net/eth7/ifalias", "to \"core\"\n"),
        ("sys/class/net/bonding_masters", "\n"),
        ("sys/class/hwmon/hwmon2/name", "core-temp\n"),
        ("sys/devices/platform/coretemp.0/x", ""),
        ("sys/class/hwmon/hwmon2/temp12_label", "Core \"0\"\n"),
        ("sys/class/hwmon/hwmon2/temp12_input", "1\n"),
        ("sys/class/hwmon/hwmon2/x_label", "no sensor\n"),
        ("sys/class/hwmon/hwmon3/name", "nvme\n"),
    ] {
        tree.write(file, text);
    }
    let device = tree.path("sys/devices/platform/coretemp.0");
    symlink(device, tree.path("sys/class/hwmon/hwmon2/device")).unwrap();
    let mut reader = InventoryReader::new(tree.roots());
    let found = reader.read();
    let text = |(name, text): (&'static str, &str)| (name, text.to_owned());
    let distribution =
        [("id", "demo"), ("name", "Demo Linux"), ("pretty_name", "Demo 7"), ("version_id", "7.2")];
    assert_eq!(found.distribution, distribution.map(text));
    assert_eq!(found.firmware, [("bios_date", "01/02/2030"), ("system_vendor", "Maker")].map(text));
    assert_eq!(found.processors, Some(4));
    assert_eq!(found.clock_sources, ["acpi_pm", "tsc"]);
    assert_eq!(found.clock_source.as_deref(), Some("tsc"));
    let disk = DiskInventory {
        device: "sda".into(),
        number: (8, 0),
        model: "Disk 3".into(),
        revision: "0005".into(),
    };
    assert_eq!(found.disks, [disk]);
    let link = LinkInventory {
        device: "eth7".into(),
        address: "02:00:00:00:00:07".into(),
        broadcast: "ff:ff:ff:ff:ff:ff".into(),
        duplex: "full".into(),
        alias: "to \"core\"".into(),
        state: "up".into(),
    };
    assert_eq!(found.links, [link]);
    let chip = |chip: &str, name: &str| ChipInventory { chip: chip.to_owned(), name: name.to_owned() };
    assert_eq!(found.chips, [chip("nvme", "nvme"), chip("platform_coretemp_0", "core_temp")]);
    let sensor = SensorInventory {
        chip: "platform_coretemp_0".into(),
        sensor: "temp12".into(),
        label: "Core \"0\"".into(),
    };
    assert_eq!(found.sensors, [sensor]);
}

#[test]
fn facts_that_are_missing() {
    let tree = Tree::proc_of("two-nodes");
    let mut reader = InventoryReader::new(tree.roots());
    let found = reader.read();
    assert!(found.distribution.is_empty() && found.firmware.is_empty() && found.chips.is_empty());
    assert_eq!((found.processors, &found.clock_source), (None, &None));
    assert!(found.disks.is_empty() && found.links.is_empty() && found.clock_sources.is_empty());
}

#[test]
fn resources_of_this_process() {
    let mut reader = InventoryReader::new(crate::Roots::default());
    let first = reader.read().process;
    let kernel = reader.read().kernel.clone();
    assert_eq!(kernel.host, crate::hostname());
    let second = reader.read().process;
    assert!(second.cpu_ns >= first.cpu_ns && first.cpu_ns > Some(0));
    assert!(first.open_files > Some(2) && first.open_files < first.open_files_max);
    assert!(first.resident_bytes > Some(1 << 16) && first.resident_bytes < first.virtual_bytes);
    assert!(first.virtual_bytes <= first.virtual_bytes_max);
    assert_eq!(first.start_cs, second.start_cs);
    let now_cs = reader.read().now_ns.unwrap() / 10_000_000;
    assert!(first.start_cs.unwrap() <= now_cs && first.start_cs.unwrap() > now_cs - 3_600 * 100);
}
