//! Tests of the counterset Thermal Zone Information, collected from trees of test files.

use perfset_catalogue::thermal_zone_information as id;
use perfset_core::NoValue;

use super::ThermalZones;
use crate::provider::{MultiInstanceProvider, multi_instance};
use crate::roots::Roots;
use crate::testing::{CellOutcome, Collected, FAULTS, Tree, collect, collect_all, fixture, opened};

use id::*;

fn provider(roots: &Roots) -> MultiInstanceProvider<ThermalZones> {
    multi_instance(ThermalZones::new(roots))
}

const CLASS: &str = "sys/class/thermal";

/// Returns a counter's value or error in each row, in order. The rows must have different names.
fn column(collected: &Collected, counter: perfset_core::CounterId) -> Vec<Result<u64, String>> {
    collected
        .rows
        .iter()
        .map(|row| match collected.get(&row.0, counter) {
            CellOutcome::Value(value) => Ok(*value),
            other => Err(format!("{other:?}")),
        })
        .collect()
}

/// Returns a copy of the fixture in which each thermal zone has a type of its own.
fn named_apart() -> Tree {
    let tree = Tree::copy_of("two-nodes");
    tree.write("sys/class/thermal/thermal_zone2/type", "outside\n");
    tree
}

#[test]
fn every_counter() {
    let tree = named_apart();
    let collected = collect_all(&mut provider(&tree.roots()));
    let rows: Vec<_> = collected.rows.iter().map(|(name, id, birth)| (name.as_str(), *id, *birth)).collect();
    assert_eq!(rows, [("acpitz", 0, None), ("outside", 2, None), ("x86_pkg_temp", 10, None)]);
    assert_eq!(column(&collected, TEMPERATURE), [Ok(45 + 273), Ok(273 - 9), Ok(61 + 273)]);
    assert_eq!(column(&collected, HIGH_PRECISION_TEMPERATURE), [Ok(3_190), Ok(2_645), Ok(3_350)]);
    let limits = column(&collected, PERCENT_PASSIVE_LIMIT);
    let reasons = column(&collected, THROTTLE_REASONS);
    // Of 27 % and 53 % taken; the fan takes nothing.
    assert_eq!((&limits[0], &reasons[0]), (&Ok(47), &Ok(1)));
    assert_eq!((&limits[2], &reasons[2]), (&Ok(100), &Ok(0)));
    for counter in [PERCENT_PASSIVE_LIMIT, THROTTLE_REASONS] {
        assert_eq!(collected.missing("outside")[&counter.0], "unavailable: this zone slows no processor");
    }
}

/// Checks a cooling device at rest, for which `intel_powerclamp` prints -1.
#[test]
fn a_device_at_rest() {
    let tree = named_apart();
    for device in ["cdev0", "cdev1", "cdev2"] {
        tree.write(&format!("{CLASS}/thermal_zone0/{device}/cur_state"), "-1\n");
    }
    let collected = collect_all(&mut provider(&tree.roots()));
    assert_eq!(*collected.get("acpitz", PERCENT_PASSIVE_LIMIT), CellOutcome::Value(100));
    assert_eq!(*collected.get("acpitz", THROTTLE_REASONS), CellOutcome::Value(0));
}

#[test]
fn zones_of_one_type_differ_by_id() {
    let collected = collect(&mut provider(&fixture("two-nodes")), &[], &["acpitz"]);
    assert_eq!(collected.rows, [("acpitz".to_owned(), 0, None), ("acpitz".to_owned(), 2, None)]);
}

/// Checks that ids and title indexes of Thermal Zone Information never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| (c.id.0, c.v1_index.unwrap())).collect();
    assert_eq!(indexes, [(0, 22184), (1, 22186), (2, 22188), (3, 22190)]);
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("52bc5412-dac2-449c-8bc2-96443888fe6b", Some(22182))
    );
}

#[test]
fn only_what_is_needed_is_opened() {
    let tree = named_apart();
    let types =
        ["thermal_zone0", "thermal_zone10", "thermal_zone2"].map(|zone| format!("{CLASS}/{zone}/type"));
    let of = |counters: &[perfset_core::CounterId], more: &[&str]| {
        let mut want: Vec<_> =
            types.iter().cloned().chain(more.iter().map(|m| format!("{CLASS}/{m}"))).collect();
        want.push(format!("{CLASS}/"));
        want.sort();
        assert_eq!(opened(&tree, provider, counters, &["x86_pkg_temp"]), want);
    };
    of(&[], &[]);
    of(&[TEMPERATURE, HIGH_PRECISION_TEMPERATURE], &["thermal_zone10/temp"]);
    let cooling =
        ["", "cdev0/cur_state", "cdev0/max_state", "cdev0/type"].map(|file| format!("thermal_zone10/{file}"));
    of(&[PERCENT_PASSIVE_LIMIT, THROTTLE_REASONS], &cooling.each_ref().map(String::as_str));
}

#[test]
fn a_fault_costs_only_its_zone() {
    for (file, counters) in [
        ("temp", [TEMPERATURE, HIGH_PRECISION_TEMPERATURE]),
        ("cdev0/cur_state", [PERCENT_PASSIVE_LIMIT, THROTTLE_REASONS]),
        ("cdev2/max_state", [PERCENT_PASSIVE_LIMIT, THROTTLE_REASONS]),
    ] {
        for (fault, cause, is_right) in FAULTS {
            let tree = named_apart();
            cause(&tree, &format!("{CLASS}/thermal_zone0/{file}"));
            let collected = collect_all(&mut provider(&tree.roots()));
            let missing: Vec<_> = collected.missing("acpitz").into_keys().collect();
            let mut want = counters.map(|counter| counter.0);
            want.sort_unstable();
            assert_eq!(missing, want, "{file} {fault}");
            for counter in counters {
                let got = collected.get("acpitz", counter);
                assert!(
                    matches!(got, CellOutcome::None(reason) if is_right(reason)),
                    "{file} {fault}: {got:?}"
                );
            }
            assert!(collected.missing("x86_pkg_temp").is_empty());
        }
    }
}

#[test]
fn temperature_below_absolute_zero_is_unavailable() {
    let tree = named_apart();
    for (temp, want) in [
        ("-273150", Some((0, 0))),
        ("-273000", Some((0, 1))),
        ("-273151", None),
        ("-9223372036854775807", None),
        ("9223372036854775807", None),
        ("0", Some((273, 2_731))),
    ] {
        tree.write("sys/class/thermal/thermal_zone0/temp", &format!("{temp}\n"));
        let collected = collect_all(&mut provider(&tree.roots()));
        let tenths = collected.get("acpitz", HIGH_PRECISION_TEMPERATURE);
        match want {
            Some((_, want)) => assert_eq!(*tenths, CellOutcome::Value(want), "{temp}"),
            None => {
                assert!(matches!(tenths, CellOutcome::None(NoValue::Unavailable(_))), "{temp}: {tenths:?}")
            }
        }
        if let Some((want, _)) = want.filter(|_| temp != "-273150") {
            assert_eq!(*collected.get("acpitz", TEMPERATURE), CellOutcome::Value(want), "{temp}");
        }
    }
}

#[test]
fn zones_without_a_name_and_with_a_hostile_one() {
    let tree = named_apart();
    tree.write("sys/class/thermal/thermal_zone0/type", "\\_TZ.THRM (a)\n");
    tree.write("sys/class/thermal/thermal_zone2/type", "\n");
    tree.remove("sys/class/thermal/thermal_zone10/type");
    let mut provider = provider(&tree.roots());
    for _ in 0..2 {
        let collected = collect(&mut provider, &[TEMPERATURE], &["*"]);
        assert_eq!(collected.names(), ["__TZ.THRM (a)", "thermal_zone2", "thermal_zone10"]);
    }
}

#[test]
fn zones_come_and_go() {
    let tree = named_apart();
    let mut provider = provider(&tree.roots());
    assert_eq!(collect(&mut provider, &[], &["*"]).rows.len(), 3);
    std::fs::remove_dir_all(tree.path("sys/class/thermal/thermal_zone0")).unwrap();
    tree.write("sys/class/thermal/thermal_zone10/type", "another\n");
    let collected = collect(&mut provider, &[TEMPERATURE], &["*"]);
    assert_eq!(collected.names(), ["outside", "another"]);
    assert_eq!(*collected.get("another", TEMPERATURE), CellOutcome::Value(61 + 273));
}

#[test]
fn machines_without_zones() {
    for machine in ["small-vm", "old-kernel"] {
        assert_eq!(collect_all(&mut provider(&fixture(machine))).names(), [""; 0]);
    }
}

mod cooling_devices {
    use perfset_catalogue::cooling_device::{COUNTERSET, MAXIMUM_STATE, STATE};

    use super::super::CoolingDevices;
    use crate::provider::{MultiInstanceProvider, multi_instance};
    use crate::roots::Roots;
    use crate::testing::{CellOutcome, FAULTS, Tree, collect_all, fixture};

    fn provider(roots: &Roots) -> MultiInstanceProvider<CoolingDevices> {
        multi_instance(CoolingDevices::new(roots))
    }

    #[test]
    fn every_counter() {
        let tree = Tree::copy_of("two-nodes");
        let device = "sys/class/thermal/cooling_device12";
        for (file, text) in [("type", "Fan\n"), ("cur_state", "-1\n"), ("max_state", "255\n")] {
            tree.write(&format!("{device}/{file}"), text);
        }
        let collected = collect_all(&mut provider(&tree.roots()));
        let rows: Vec<_> = collected.rows.iter().map(|row| (row.0.as_str(), row.1)).collect();
        assert_eq!(rows, [("Processor", 0), ("Fan", 12)]);
        assert_eq!(*collected.get("Processor", STATE), CellOutcome::Value(3));
        assert_eq!(*collected.get("Processor", MAXIMUM_STATE), CellOutcome::Value(11));
        assert_eq!(*collected.get("Fan", MAXIMUM_STATE), CellOutcome::Value(255));
        assert_eq!(collected.missing("Fan")[&STATE.0], "unavailable: it is -1: the device is not turned on");
        assert_eq!(collect_all(&mut provider(&fixture("small-vm"))).names(), [""; 0]);
    }

    #[test]
    fn a_fault_costs_only_its_value() {
        for (fault, cause, is_right) in FAULTS {
            let tree = Tree::copy_of("two-nodes");
            cause(&tree, "sys/class/thermal/cooling_device0/cur_state");
            let collected = collect_all(&mut provider(&tree.roots()));
            let got = collected.get("Processor", STATE);
            assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{fault}: {got:?}");
            assert_eq!(*collected.get("Processor", MAXIMUM_STATE), CellOutcome::Value(11));
            let tree = Tree::copy_of("two-nodes");
            cause(&tree, "sys/class/thermal/cooling_device0/type");
            let collected = collect_all(&mut provider(&tree.roots()));
            let name = if fault == "malformed" { "x" } else { "cooling_device0" };
            assert_eq!(collected.names(), [name], "{fault}");
        }
    }

    /// Checks that ids and title indexes of Cooling Device never change: programs and logs hold these numbers.
    #[test]
    fn ids_and_title_indexes() {
        let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| (c.id.0, c.v1_index.unwrap())).collect();
        assert_eq!(indexes, [(0, 25_190), (1, 25_192)]);
        assert_eq!(COUNTERSET.v1_index, Some(25_188));
    }
}
