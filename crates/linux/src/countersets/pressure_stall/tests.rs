//! Tests of the counterset Pressure Stall, collected from trees of test files.

use std::io;
use std::time::Duration;

use perfset_catalogue::pressure_stall as id;
use perfset_core::{CounterId, CounterType};

use super::{PressureStall, or_off};
use crate::clock::{elapsed_ns, time_100ns_at};
use crate::provider::{
    Collection, InstanceSource, LOOK_AGAIN_NS, MultiInstanceProvider, ReadError, multi_instance,
};
use crate::roots::Roots;
use crate::testing::{CellOutcome, FAULTS, Tree, collect, collect_all, fixture, opened};

use id::*;

fn provider(roots: &Roots) -> MultiInstanceProvider<PressureStall> {
    multi_instance(PressureStall::new(roots))
}

const SOME: [CounterId; 4] = [
    PERCENT_SOME_STALLED_TIME,
    PERCENT_SOME_STALLED_TIME_10_SECONDS,
    PERCENT_SOME_STALLED_TIME_60_SECONDS,
    PERCENT_SOME_STALLED_TIME_300_SECONDS,
];
const FULL: [CounterId; 4] = [
    PERCENT_FULL_STALLED_TIME,
    PERCENT_FULL_STALLED_TIME_10_SECONDS,
    PERCENT_FULL_STALLED_TIME_60_SECONDS,
    PERCENT_FULL_STALLED_TIME_300_SECONDS,
];

/// Numbers in a line of a pressure file: the stalled time and its three averages.
type Known = [u64; 4];

/// Resources with their expected lines `some` and `full` in the fixture `two-nodes`.
const KNOWN: [(&str, Option<Known>, Known); 4] = [
    ("cpu", Some([20_000_030, 503, 509, 521]), [20_000_290, 523, 541, 547]),
    ("memory", Some([20_000_390, 557, 563, 569]), [20_000_810, 571, 577, 587]),
    ("io", Some([20_000_830, 593, 599, 601]), [20_000_930, 607, 613, 617]),
    ("irq", None, [20_001_070, 619, 631, 641]),
];

#[test]
fn every_counter() {
    let collected = collect_all(&mut provider(&fixture("two-nodes")));
    let rows = [("cpu", 0), ("memory", 1), ("io", 2), ("irq", 3)];
    assert_eq!(collected.rows, rows.map(|(name, id)| (name.to_owned(), id, None)));
    for (name, some, full) in KNOWN {
        for (at, (of_some, of_full)) in SOME.into_iter().zip(FULL).enumerate() {
            assert_eq!(*collected.get(name, of_full), CellOutcome::Value(full[at]), "{name}");
            match some {
                Some(some) => {
                    assert_eq!(*collected.get(name, of_some), CellOutcome::Value(some[at]), "{name}")
                }
                None => assert_eq!(
                    collected.missing(name)[&of_some.0],
                    "unavailable: the kernel does not count this time for this resource"
                ),
            }
        }
        assert_eq!(*collected.get(name, STALLED_TIME_BASE), CellOutcome::Value(10_000));
        let CellOutcome::Value(_) = collected.get(name, STALLED_TIME_TIMESTAMP) else {
            panic!("{name}: no time")
        };
    }
}

/// Checks that ids and title indexes of Pressure Stall never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| c.v1_index.unwrap()).collect();
    assert_eq!(indexes, (22_802..=22_818).step_by(2).chain([24_108]).collect::<Vec<_>>());
    assert_eq!(COUNTERSET.counters.iter().map(|c| c.id.0).collect::<Vec<_>>(), Vec::from_iter(0..10));
    assert_eq!(COUNTERSET.v1_index, Some(22_800));
}

#[test]
fn only_what_is_needed_is_read() {
    let tree = Tree::proc_of("two-nodes");
    for (name, counters, patterns, want) in [
        ("nothing", &[][..], "*", &[][..]),
        ("a base", &[STALLED_TIME_BASE], "*", &[]),
        ("no row", &SOME, "disk", &[]),
        ("one row", &SOME, "io", &["proc/pressure/io"]),
        ("two rows", &FULL, "i*", &["proc/pressure/io", "proc/pressure/irq"]),
    ] {
        assert_eq!(opened(&tree, provider, counters, &[patterns]), want, "{name}");
    }
    let mut provider = provider(&tree.roots());
    let both = [SOME, FULL].concat();
    let len = tree.text("proc/pressure/memory").len().try_into().unwrap();
    assert_eq!(collect(&mut provider, &both, &["memory"]).bytes_read, len, "once");
}

/// Checks that a share of stalled time relates to the time between two readings of the pressure file. A collection
/// that reads the file late, as on a machine under pressure, must not make the share larger.
#[test]
fn shares_are_of_the_time_between_readings() {
    for share in [PERCENT_SOME_STALLED_TIME, PERCENT_FULL_STALLED_TIME] {
        let counter = COUNTERSET.counter(share).unwrap();
        assert_eq!(counter.counter_type, CounterType::PERF_PRECISION_100NS_TIMER);
        assert_eq!((counter.base, counter.caps), (Some(STALLED_TIME_TIMESTAMP), true));
    }
    let tree = Tree::proc_of("two-nodes");
    let mut stall = PressureStall::new(&tree.roots());
    let mut pass = Collection::new(1, elapsed_ns());
    stall.find(&mut pass).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let before = time_100ns_at(elapsed_ns());
    stall.value(0, PERCENT_SOME_STALLED_TIME, &mut pass).unwrap();
    let after = time_100ns_at(elapsed_ns());
    std::thread::sleep(Duration::from_millis(20));
    let time = stall.value(0, STALLED_TIME_TIMESTAMP, &mut pass).unwrap().raw;
    assert!((before..=after).contains(&time), "{before} <= {time} <= {after}");
}

#[test]
fn a_fault_costs_only_its_resource() {
    for (fault, cause, is_right) in FAULTS {
        let tree = Tree::proc_of("two-nodes");
        cause(&tree, "proc/pressure/memory");
        let collected = collect_all(&mut provider(&tree.roots()));
        if fault == "missing" {
            assert_eq!(collected.names(), ["cpu", "io", "irq"]);
            continue;
        }
        let missing = collected.missing("memory").into_keys();
        // The file is cut in its second line.
        let all = [&SOME[..], &FULL, &[STALLED_TIME_TIMESTAMP]].concat();
        let lost: &[CounterId] = if fault == "cut" { &FULL } else { &all };
        assert_eq!(missing.filter(|counter| !lost.contains(&CounterId(*counter))).count(), 0, "{fault}");
        for counter in lost {
            let got = collected.get("memory", *counter);
            assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{fault}: {got:?}");
        }
        assert!(collected.missing("io").is_empty(), "{fault}");
    }
}

#[test]
fn reasons_name_file_line_and_what() {
    let tree = Tree::proc_of("two-nodes");
    let text = tree.text("proc/pressure/cpu");
    tree.write("proc/pressure/cpu", &text.replace("avg60=5.41", "avg60=5"));
    let missing = collect_all(&mut provider(&tree.roots())).missing("cpu");
    let path = tree.path("proc/pressure/cpu").display().to_string();
    let why =
        format!("{path}:2: expected a number with two decimals, found \" avg300=5.47 total=2000029\\n\"");
    assert_eq!(missing, FULL.map(|counter| (counter.0, why.clone())).into());
    tree.write("proc/pressure/cpu", "some avg10=0.00\n");
    let missing = collect_all(&mut provider(&tree.roots())).missing("cpu");
    assert_eq!(missing[&PERCENT_SOME_STALLED_TIME.0], "unavailable: this kernel does not report it");
}

#[test]
fn resources_come_and_go() {
    let tree = Tree::proc_of("two-nodes");
    let mut stall = PressureStall::new(&tree.roots());
    let mut found = |number, elapsed_ns| {
        let mut pass = Collection::new(number, elapsed_ns);
        stall.find(&mut pass).unwrap();
        let keys = stall.keys().to_vec();
        let last = keys.len().checked_sub(1).map(|at| stall.value(at, PERCENT_FULL_STALLED_TIME, &mut pass));
        let names = keys.iter().map(|key| (key.name.clone(), key.id.0));
        (names.collect::<Vec<_>>(), last.map(|value| value.unwrap().raw))
    };
    let named = |rows: &[(&str, u32)]| rows.iter().map(|(name, id)| ((*name).to_owned(), *id)).collect();
    let all: Vec<_> = named(&[("cpu", 0), ("memory", 1), ("io", 2), ("irq", 3)]);
    let irq = Some(20_001_070);
    assert_eq!(found(1, 5), (all.clone(), irq));
    let text = tree.text("proc/pressure/memory");
    tree.remove("proc/pressure/memory");
    assert_eq!(found(2, 4 + LOOK_AGAIN_NS), (all.clone(), irq), "not yet looked at again");
    assert_eq!(found(3, 5 + LOOK_AGAIN_NS), (named(&[("cpu", 0), ("io", 2), ("irq", 3)]), irq));
    tree.write("proc/pressure/memory", &text);
    assert_eq!(found(4, 5 + 2 * LOOK_AGAIN_NS), (all, irq));
    std::fs::remove_dir_all(tree.path("proc/pressure")).unwrap();
    assert_eq!(found(5, 5 + 3 * LOOK_AGAIN_NS), (Vec::new(), None));
}

#[test]
fn other_machines() {
    let small = collect_all(&mut provider(&fixture("small-vm")));
    assert_eq!(small.names(), ["cpu", "memory", "io"]);
    assert_eq!(*small.get("io", PERCENT_SOME_STALLED_TIME_300_SECONDS), CellOutcome::Value(23));
    assert_eq!(collect_all(&mut provider(&fixture("old-kernel"))).rows, []);
}

#[test]
fn switched_off() {
    let error = |errno: rustix::io::Errno| ReadError::Io { path: "f".into(), source: io::Error::from(errno) };
    assert_eq!(
        or_off(error(rustix::io::Errno::OPNOTSUPP)).to_string(),
        "unavailable: the kernel does not count it unless it is started with psi=1"
    );
    assert!(or_off(error(rustix::io::Errno::IO)).to_string().starts_with("f: cannot be read: "));
}
