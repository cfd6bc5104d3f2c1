//! Tests of the counterset Energy Meter, collected from trees of test files.

use perfset_catalogue::energy_meter as id;

use super::EnergyMeter;
use crate::provider::{MultiInstanceProvider, TOTAL_NAME, multi_instance};
use crate::roots::Roots;
use crate::testing::{CellOutcome, FAULTS, Tree, collect, collect_all, fixture, opened};

use id::*;

fn provider(roots: &Roots) -> MultiInstanceProvider<EnergyMeter> {
    multi_instance(EnergyMeter::new(roots))
}

const CLASS: &str = "sys/class/powercap";

/// Directory, name and energy in µJ of each zone in these tests. Not a fixture, because some systems do not allow `:`
/// in directory names.
const ZONES: [(&str, &str, u64); 8] = [
    ("intel-rapl:0", "package-0", 9_000_011),
    ("intel-rapl:0:0", "core", 18_000_041),
    ("intel-rapl:0:1", "uncore", 27_000_029),
    ("intel-rapl:0:2", "dram", 36_000_007),
    ("intel-rapl:1", "package-1-die-3", 45_000_017),
    ("intel-rapl:1:0", "dram", 54_000_001),
    ("intel-rapl:2", "psys", 63_000_017),
    ("intel-rapl-mmio:0", "package-0", 72_000_007), // the first once more
];

const NAMES: [&str; 7] = [
    "RAPL_Package0_PKG",
    "RAPL_Package0_PP0",
    "RAPL_Package0_PP1",
    "RAPL_Package0_DRAM",
    "RAPL_Package1_Die3_PKG",
    "RAPL_Package1_Die3_DRAM",
    "RAPL_PSYS",
];

fn machine() -> Tree {
    let tree = Tree::proc_of("old-kernel");
    tree.write("sys/class/powercap/intel-rapl/enabled", "1\n");
    for (folder, name, energy) in ZONES {
        tree.write(&format!("{CLASS}/{folder}/name"), &format!("{name}\n"));
        tree.write(&format!("{CLASS}/{folder}/energy_uj"), &format!("{energy}\n"));
    }
    tree
}

#[test]
fn every_zone() {
    let tree = machine();
    let collected = collect_all(&mut provider(&tree.roots()));
    let rows: Vec<_> = collected.rows.iter().map(|row| (row.0.as_str(), row.1)).collect();
    let ids = [0, 1, 2, 3, 0x1_0000, 0x1_0001, 0x2_0000];
    let want: Vec<_> = NAMES.into_iter().zip(ids).chain([(TOTAL_NAME, 0xFFFF_FFFE)]).collect();
    assert_eq!(rows, want);
    for (name, (.., energy)) in NAMES.iter().zip(ZONES) {
        assert_eq!(*collected.get(name, ENERGY), CellOutcome::Value(energy * 2_500 / 9), "{name}");
        for counter in [POWER, POWER_BASE, TIME] {
            assert!(collected.missing(name)[&counter.0].starts_with("unavailable: "));
        }
    }
    // Packages and memory: cores and graphics are in their package, and the machine has them all in it.
    let total: u64 = [0, 3, 4, 5].map(|zone: usize| ZONES[zone].2).iter().sum();
    assert_eq!(*collected.get(TOTAL_NAME, ENERGY), CellOutcome::Value(total * 2_500 / 9));
}

/// Checks that ids and title indexes of Energy Meter never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| (c.id.0, c.v1_index.unwrap())).collect();
    assert_eq!(indexes, [(0, 22194), (1, 22196), (2, 22198), (3, 22200)]);
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("2bc0fb27-63d1-535a-b435-812deee1e558", Some(22192))
    );
}

#[test]
fn only_what_is_needed_is_read() {
    let tree = machine();
    let mut provider = provider(&tree.roots());
    collect(&mut provider, &[], &["*"]);
    let again = |provider: &mut MultiInstanceProvider<EnergyMeter>, instance| {
        tree.opened(|| drop(collect(provider, &[ENERGY], &[instance])))
    };
    let class = format!("{CLASS}/");
    let of_package = format!("{CLASS}/intel-rapl:0/energy_uj");
    assert_eq!(again(&mut provider, NAMES[0]), [class.clone(), of_package]);
    assert_eq!(again(&mut provider, NAMES[0]), [class.as_str()], "its descriptor is kept");
    assert_eq!(again(&mut provider, "no such instance"), [class]);
    let names = ZONES[..7].iter().map(|zone| format!("{CLASS}/{}/name", zone.0));
    let mut want: Vec<_> = names.chain([format!("{CLASS}/")]).collect();
    want.sort();
    assert_eq!(opened(&tree, super::tests::provider, &[POWER, TIME], &["*"]), want);
}

#[test]
fn a_fault_costs_only_its_zone_and_the_total() {
    for (fault, cause, is_right) in FAULTS {
        let tree = machine();
        cause(&tree, "sys/class/powercap/intel-rapl:1:0/energy_uj");
        let collected = collect(&mut provider(&tree.roots()), &[ENERGY], &["*"]);
        for name in NAMES.into_iter().chain([TOTAL_NAME]) {
            let got = collected.get(name, ENERGY);
            let is_lost = name == NAMES[5] || name == TOTAL_NAME;
            let lost = matches!(got, CellOutcome::None(reason) if is_right(reason));
            assert_eq!(lost, is_lost, "{fault} {name}: {got:?}");
        }
        let tree = machine();
        cause(&tree, "sys/class/powercap/intel-rapl:0:0/energy_uj"); // no part of the total
        let collected = collect(&mut provider(&tree.roots()), &[ENERGY], &["*"]);
        assert!(matches!(collected.get(TOTAL_NAME, ENERGY), CellOutcome::Value(_)));
    }
}

#[test]
fn a_counter_that_starts_anew_is_shown_as_it_is() {
    let tree = machine();
    let mut provider = provider(&tree.roots());
    let mut energy = |micro_joules: u64| {
        tree.write("sys/class/powercap/intel-rapl:0/energy_uj", &format!("{micro_joules}\n"));
        collect(&mut provider, &[ENERGY], &["*"]).get(NAMES[0], ENERGY).clone()
    };
    assert_eq!(energy(262_143_328_850), CellOutcome::Value(72_817_591_347_222));
    assert_eq!(energy(5), CellOutcome::Value(1_388));
    assert_eq!(energy(u64::MAX), CellOutcome::Value(u64::MAX));
}

#[test]
fn other_names() {
    let tree = machine();
    tree.write("sys/class/powercap/intel-rapl:0/name", "a\\b\n");
    tree.remove("sys/class/powercap/intel-rapl:2/name");
    let collected = collect(&mut provider(&tree.roots()), &[], &["*"]);
    assert_eq!(collected.names()[..2], ["RAPL_a_b", "RAPL_PP0"]);
    assert_eq!(collected.names()[6], "RAPL_2");
}

#[test]
fn machines_without_meters() {
    for machine in ["two-nodes", "small-vm", "old-kernel"] {
        assert_eq!(collect_all(&mut provider(&fixture(machine))).names(), [""; 0]);
    }
}
