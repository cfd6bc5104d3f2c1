//! Tests of the counterset Linux Sensors, collected from trees of test files.

use perfset_catalogue::linux_sensors as id;
use perfset_core::{CounterId, Identity, InstanceId, Name};
use perfset_engine::{FactKind, FactOptions, Provider};

use super::LinuxSensors;
use crate::provider::{MultiInstanceProvider, multi_instance};
use crate::roots::Roots;
use crate::testing::{CellOutcome, FAULTS, Tree, collect, collect_all, fixture, opened};

use id::*;

fn provider(roots: &Roots) -> MultiInstanceProvider<LinuxSensors> {
    multi_instance(LinuxSensors::new(roots))
}

const CLASS: &str = "sys/class/hwmon";

/// Sensors in the fixture `two-nodes`: name and id of the row, counter, and raw value.
const SENSORS: [(&str, u32, CounterId, u64); 13] = [
    ("coretemp/Package id 0", 0x0001, TEMPERATURE, 47_017 + 273_150),
    ("coretemp/Core 0", 0x0002, TEMPERATURE, 46_021 + 273_150),
    ("nct6775/temp7", 0x1_0007, TEMPERATURE, 273_150 - 5_003),
    ("nct6775/fan2", 0x1_1002, FAN_SPEED, 1_213),
    ("nct6775/in0", 0x1_2000, VOLTAGE, 1_103),
    ("nct6775/-12V", 0x1_2005, VOLTAGE, 0), // none: it is negative
    ("nct6775/curr1", 0x1_3001, CURRENT, 2_011),
    ("nct6775/humidity1", 0x1_6001, PERCENT_RELATIVE_HUMIDITY, 41_011),
    ("amdgpu/PPT", 0x2_4001, POWER, 31_000_003),
    ("amdgpu/power2", 0x2_4002, POWER, 37_000_001),
    ("amdgpu/energy1", 0x2_5001, ENERGY, 71_000_000_003),
    ("nvme/Composite", 0xB_0001, TEMPERATURE, 38_839 + 273_150),
    ("nvme/Composite", 0xC_0001, TEMPERATURE, 39_839 + 273_150),
];

/// Checks that facts about a sensor have the names of node_exporter, which are not those of the instance.
#[test]
fn facts_of_a_sensor() {
    let tree = Tree::copy_of("two-nodes");
    tree.write("sys/devices/platform/coretemp.0/uevent", "");
    std::os::unix::fs::symlink(
        "../../../devices/platform/coretemp.0",
        tree.path("sys/class/hwmon/hwmon0/device"),
    )
    .unwrap();
    let mut provider = provider(&tree.roots());
    let mut facts = |name: &str, id: u32| {
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let instance = Identity {
            counterset: id::COUNTERSET.guid,
            instance: Name::until_nul(&name),
            instance_id: InstanceId(id),
            birth: None,
        };
        let facts = provider.facts(&instance, FactOptions::default()).unwrap();
        facts.into_iter().map(|fact| (fact.kind, fact.text.unwrap())).collect::<Vec<_>>()
    };
    let want = |chip: &str, sensor: &str| {
        vec![(FactKind::Chip, chip.to_owned()), (FactKind::Sensor, sensor.to_owned())]
    };
    assert_eq!(facts("coretemp/Core 0", 0x0002), want("platform_coretemp_0", "temp2"));
    assert_eq!(facts("nct6775/-12V", 0x1_2005), want("nct6775", "in5"));
    assert_eq!(facts("amdgpu/PPT", 0x2_4001), want("amdgpu", "power1"));
    assert_eq!(facts("coretemp/Core 1", 0x0003), []);
}

#[test]
fn every_sensor() {
    let tree = Tree::copy_of("two-nodes");
    let rows = collect_all(&mut provider(&tree.roots())).rows;
    assert!(rows.iter().map(|row| (row.0.as_str(), row.1)).eq(SENSORS.map(|sensor| (sensor.0, sensor.1))));
    tree.write("sys/class/hwmon/hwmon12/temp1_label", "Other\n");
    let collected = collect_all(&mut provider(&tree.roots()));
    for ((name, .., measures, value), row) in SENSORS.into_iter().zip(&collected.rows) {
        let got = collected.get(&row.0, measures);
        match name {
            "nct6775/-12V" => {
                let CellOutcome::None(reason) = got else { panic!("{got:?}") };
                assert_eq!(reason.to_string(), "unavailable: it is -11903: counters hold nothing below 0");
            }
            _ => assert_eq!(*got, CellOutcome::Value(value), "{name}"),
        }
        let is_humidity = measures == PERCENT_RELATIVE_HUMIDITY;
        if is_humidity {
            assert_eq!(*collected.get(&row.0, PERCENT_RELATIVE_HUMIDITY_BASE), CellOutcome::Value(100_000));
        }
        let mut missing = collected.missing(&row.0);
        missing.retain(|counter, _| *counter < FIRST_LIMIT && *counter != measures.0);
        assert_eq!(missing.len(), if is_humidity { 6 } else { 7 }, "{name}");
        let reason = "unavailable: this sensor measures something else";
        assert!(missing.values().all(|why| why == reason), "{missing:?}");
    }
}

const FIRST_LIMIT: u32 = MAXIMUM_TEMPERATURE.0;

#[test]
fn limits() {
    let tree = Tree::copy_of("two-nodes");
    let collected = collect_all(&mut provider(&tree.roots()));
    let limits: Vec<_> = COUNTERSET.counters.iter().map(|c| c.id).filter(|id| id.0 >= FIRST_LIMIT).collect();
    let kelvin = |milli_celsius: u64| CellOutcome::Value(milli_celsius + 273_150);
    let none = |why: &'static str| CellOutcome::None(crate::provider::unavailable(why));
    let (lacks, other) =
        (|| none("this sensor has no such limit"), || none("this sensor measures something else"));
    for (sensor, want) in [
        (
            "coretemp/Package id 0",
            [kelvin(83_003), kelvin(100_003), kelvin(95_003), CellOutcome::Value(1), other()],
        ),
        ("coretemp/Core 0", [kelvin(84_011), lacks(), lacks(), CellOutcome::Value(0), other()]),
        ("nct6775/temp7", [lacks(), lacks(), lacks(), lacks(), other()]),
        ("nct6775/fan2", [other(), other(), other(), other(), CellOutcome::Value(307)]),
        ("nct6775/in0", [other(), other(), other(), other(), other()]),
    ] {
        let got: Vec<_> = limits.iter().map(|limit| collected.get(sensor, *limit).clone()).collect();
        assert_eq!(got, want, "{sensor}");
    }
    for (fault, cause, is_right) in FAULTS {
        let tree = Tree::copy_of("two-nodes");
        cause(&tree, "sys/class/hwmon/hwmon1/fan2_min");
        let collected =
            collect(&mut provider(&tree.roots()), &[FAN_SPEED, MINIMUM_FAN_SPEED], &["nct6775/fan2"]);
        let got = collected.get("nct6775/fan2", MINIMUM_FAN_SPEED);
        assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{fault}: {got:?}");
        assert_eq!(*collected.get("nct6775/fan2", FAN_SPEED), CellOutcome::Value(1_213));
    }
}

/// Checks that ids and title indexes of Linux Sensors never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| c.v1_index.unwrap()).collect();
    assert_eq!(indexes[..8], [22184, 22204, 22206, 22208, 22196, 22194, 22210, 22212]);
    assert_eq!(indexes[8..], [25178, 25180, 25182, 25184, 25186]);
    assert_eq!(COUNTERSET.counters.iter().map(|c| c.id.0).collect::<Vec<_>>(), Vec::from_iter(0..13));
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("678b3265-16b9-59fa-bfce-6c94c3c3b1e8", Some(22202))
    );
}

#[test]
fn only_the_sensors_that_are_needed_are_read() {
    let tree = Tree::copy_of("two-nodes");
    let mut provider = provider(&tree.roots());
    collect(&mut provider, &[], &["*"]); // reads the labels
    let opened = tree.opened(|| drop(collect(&mut provider, &[FAN_SPEED, VOLTAGE], &["nct6775/fan2"])));
    let chips = ["hwmon0", "hwmon1", "hwmon11", "hwmon12", "hwmon2"];
    let of_chips = chips.iter().flat_map(|chip| ["", "name"].map(|file| format!("{CLASS}/{chip}/{file}")));
    let mut want: Vec<_> =
        of_chips.chain([format!("{CLASS}/"), format!("{CLASS}/hwmon1/fan2_input")]).collect();
    want.sort();
    assert_eq!(opened, want);
}

#[test]
fn a_fault_costs_only_its_sensor() {
    for (fault, cause, is_right) in FAULTS {
        let tree = Tree::copy_of("two-nodes");
        cause(&tree, "sys/class/hwmon/hwmon1/fan2_input");
        let collected = collect(&mut provider(&tree.roots()), &[FAN_SPEED, VOLTAGE], &["nct6775/*"]);
        if fault == "missing" {
            assert!(!collected.names().contains(&"nct6775/fan2"));
        } else {
            let got = collected.get("nct6775/fan2", FAN_SPEED);
            assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{fault}: {got:?}");
        }
        assert_eq!(*collected.get("nct6775/in0", VOLTAGE), CellOutcome::Value(1_103));
    }
}

#[test]
fn names_and_labels_that_make_no_sense() {
    for (fault, cause, _) in FAULTS {
        let tree = Tree::copy_of("two-nodes");
        for file in ["hwmon0/name", "hwmon1/in5_label", "hwmon11/temp1_label"] {
            cause(&tree, &format!("{CLASS}/{file}"));
        }
        let collected = collect(&mut provider(&tree.roots()), &[TEMPERATURE], &["*"]);
        let names = collected.names();
        if fault == "malformed" {
            assert_eq!((names[0], names[5], names[11]), ("x/Package id 0", "nct6775/x", "nvme/x"));
        } else {
            assert_eq!(
                (names[0], names[5], names[11]),
                ("hwmon0/Package id 0", "nct6775/in5", "nvme/temp1"),
                "{fault}"
            );
        }
        assert_eq!(*collected.get(names[0], TEMPERATURE), CellOutcome::Value(47_017 + 273_150));
    }
}

#[test]
fn chips_and_sensors_come_and_go() {
    let tree = Tree::copy_of("two-nodes");
    let mut provider = provider(&tree.roots());
    assert_eq!(collect(&mut provider, &[], &["*"]).rows.len(), SENSORS.len());
    for chip in ["hwmon1", "hwmon2", "hwmon11"] {
        std::fs::remove_dir_all(tree.path(&format!("{CLASS}/{chip}"))).unwrap();
    }
    tree.remove("sys/class/hwmon/hwmon0/temp2_input");
    tree.write("sys/class/hwmon/hwmon12/name", "another\n");
    tree.write("sys/class/hwmon/hwmon12/temp3_input", "7\n");
    let collected = collect(&mut provider, &[TEMPERATURE], &["*"]);
    assert_eq!(collected.names(), ["coretemp/Package id 0", "another/Composite", "another/temp3"]);
    assert_eq!(*collected.get("another/temp3", TEMPERATURE), CellOutcome::Value(273_157));
    assert_eq!(collect(&mut provider, &[TEMPERATURE], &["*"]).names().len(), 3);
}

#[test]
fn machines_without_sensors() {
    for machine in ["small-vm", "old-kernel"] {
        let roots = fixture(machine);
        assert_eq!(collect_all(&mut provider(&roots)).names(), [""; 0]);
    }
    let tree = Tree::proc_of("old-kernel");
    assert_eq!(opened(&tree, provider, &[TEMPERATURE], &["*"]), [""; 0]);
}
