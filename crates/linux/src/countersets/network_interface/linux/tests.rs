//! Tests of the counterset Linux Network Interface, collected from trees of test files.

use std::fs;

use perfset_catalogue::linux_network_interface::*;
use perfset_core::CounterId;

use super::LinuxNetworkInterface;
use crate::provider::{MultiInstanceProvider, SeqFileKind, SharedFile, multi_instance};
use crate::roots::Roots;
use crate::testing::{
    CellOutcome, Collected, FAULTS, Tree, collect, collect_all, fixture, opened, try_collect,
};

fn provider(roots: &Roots) -> MultiInstanceProvider<LinuxNetworkInterface> {
    let dev = SharedFile::new(roots.net("dev"), SeqFileKind::Lines);
    multi_instance(LinuxNetworkInterface::new(roots.clone(), dev))
}

/// All counters of Linux Network Interface, with their raw values for eth0 in the fixture `two-nodes`.
const KNOWN: [(CounterId, u64); 24] = [
    (UP, 1),
    (CARRIER, 1),
    (CARRIER_CHANGES, 61_169),
    (CARRIER_UPS, 61_211),
    (CARRIER_DOWNS, 61_223),
    (MTU_BYTES, 61_153),
    (ARP_ENTRIES, 7),
    (BYTES_RECEIVED_PER_SEC, 20_000_213),
    (PACKETS_RECEIVED_PER_SEC, 20_000_221),
    (PACKETS_RECEIVED_ERRORS, 20_000_243),
    (PACKETS_RECEIVED_DISCARDED, 20_000_269),
    (PACKETS_RECEIVED_MULTICAST_PER_SEC, 10_000_019),
    (PACKETS_RECEIVED_WITHOUT_HANDLER, 61_031),
    (RECEIVE_FIFO_ERRORS, 20_000_287),
    (RECEIVE_FRAME_ERRORS, 20_000_297),
    (RECEIVED_COMPRESSED_PACKETS, 20_000_303),
    (BYTES_SENT_PER_SEC, 20_000_327),
    (PACKETS_SENT_PER_SEC, 20_000_329),
    (PACKETS_OUTBOUND_ERRORS, 20_000_339),
    (PACKETS_OUTBOUND_DISCARDED, 20_000_353),
    (TRANSMIT_FIFO_ERRORS, 20_000_359),
    (COLLISIONS, 20_000_377),
    (CARRIER_LOSSES, 20_000_389),
    (SENT_COMPRESSED_PACKETS, 20_000_429),
];

/// Files of a network interface in `/sys`, each with the counter that it feeds.
const OF_SYS: [(&str, CounterId); 7] = [
    ("operstate", UP),
    ("carrier", CARRIER),
    ("carrier_changes", CARRIER_CHANGES),
    ("carrier_up_count", CARRIER_UPS),
    ("carrier_down_count", CARRIER_DOWNS),
    ("mtu", MTU_BYTES),
    ("statistics/rx_nohandler", PACKETS_RECEIVED_WITHOUT_HANDLER),
];

const LONG: &str = "a.b-c@x-15bytes";
const DEV: &str = "proc/net/dev";
const ARP: &str = "proc/net/arp";

fn lost(collected: &Collected, name: &str) -> Vec<CounterId> {
    collected.missing(name).into_keys().map(CounterId).collect()
}

#[test]
fn every_counter() {
    let collected = collect_all(&mut provider(&fixture("two-nodes")));
    let rows = [("lo", 61_001), ("eth0", 61_027), (LONG, 61_043)];
    assert_eq!(collected.rows, rows.map(|(name, id)| (name.to_owned(), id, None)));
    for (counter, value) in KNOWN {
        assert_eq!(*collected.get("eth0", counter), CellOutcome::Value(value), "{counter:?}");
    }
    assert_eq!(KNOWN.map(|(counter, _)| counter.0).to_vec(), Vec::from_iter(0..24));
    assert_eq!(KNOWN.len(), COUNTERSET.counters.len());
    for (name, counter, value) in [
        ("lo", UP, 0),
        ("lo", CARRIER, 1),
        ("lo", MTU_BYTES, 61_231),
        ("lo", ARP_ENTRIES, 0),
        ("lo", BYTES_RECEIVED_PER_SEC, 20_000_003),
        ("lo", SENT_COMPRESSED_PACKETS, 20_000_171),
        (LONG, UP, 0),
        (LONG, CARRIER, 0),
        (LONG, ARP_ENTRIES, 3),
        (LONG, COLLISIONS, 20_000_641),
    ] {
        assert_eq!(*collected.get(name, counter), CellOutcome::Value(value), "{name} {counter:?}");
    }
    assert!(["lo", LONG].iter().all(|name| lost(&collected, name).is_empty()));
}

/// Checks that ids and title indexes of Linux Network Interface never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| c.v1_index.unwrap()).collect();
    let shared = [264, 266, 530, 528, 506, 452, 542, 540];
    let ours: Vec<_> = indexes.iter().copied().filter(|index| !shared.contains(index)).collect();
    assert_eq!(ours, (24_112..=24_142).step_by(2).collect::<Vec<_>>());
    assert_eq!(indexes.len(), ours.len() + shared.len());
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("004ae59f-95f7-536f-8458-df339418dc27", Some(24_110))
    );
}

#[test]
fn only_the_files_that_are_needed_are_opened() {
    let tree = Tree::copy_of("two-nodes");
    let identity: Vec<_> = ["lo", "eth0", LONG]
        .iter()
        .flat_map(|name| ["ifindex", "type"].map(|file| format!("sys/class/net/{name}/{file}")))
        .chain([DEV.to_owned()])
        .collect();
    let mut cases = vec![
        (vec![], vec![]),
        (vec![BYTES_RECEIVED_PER_SEC, CARRIER_LOSSES], vec![]),
        (vec![ARP_ENTRIES], vec![ARP.to_owned()]),
    ];
    cases.extend(OF_SYS.map(|(file, counter)| (vec![counter], vec![format!("sys/class/net/eth0/{file}")])));
    for (counters, more) in cases {
        let mut want = [identity.clone(), more].concat();
        want.sort_unstable();
        assert_eq!(opened(&tree, provider, &counters, &["eth0"]), want, "{counters:?}");
    }
}

#[test]
fn a_fault_costs_only_what_the_file_feeds() {
    for (file, counter) in OF_SYS {
        for (fault, cause, is_right) in FAULTS {
            let tree = Tree::copy_of("two-nodes");
            cause(&tree, &format!("sys/class/net/eth0/{file}"));
            let collected = collect_all(&mut provider(&tree.roots()));
            assert_eq!(lost(&collected, "eth0"), [counter], "{file} {fault}");
            let got = collected.get("eth0", counter);
            assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{file} {fault}: {got:?}");
            assert_eq!(lost(&collected, LONG), [], "{file} {fault}");
        }
    }
    for (fault, cause, is_right) in FAULTS {
        let tree = Tree::copy_of("two-nodes");
        cause(&tree, ARP);
        let collected = collect_all(&mut provider(&tree.roots()));
        for name in ["lo", "eth0", LONG] {
            assert_eq!(lost(&collected, name), [ARP_ENTRIES], "{fault}");
            let got = collected.get(name, ARP_ENTRIES);
            assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{fault}: {got:?}");
        }

        let tree = Tree::copy_of("two-nodes");
        cause(&tree, DEV);
        let result = try_collect(&mut provider(&tree.roots()), &[BYTES_RECEIVED_PER_SEC], &["*"]);
        assert_eq!(result.is_ok(), fault == "cut", "{fault}: a cut file has lost one line");
    }
}

/// Checks that the carrier state of an interface that is down is unavailable: the kernel refuses to read the state,
/// which is no fault.
#[test]
fn the_carrier_of_an_interface_that_is_down() {
    let collected = collect_all(&mut provider(&Roots::default()));
    for name in collected.names() {
        let is_off = fs::read(format!("/sys/class/net/{name}/carrier")).is_err();
        let got = collected.get(name, CARRIER);
        match got {
            CellOutcome::None(reason) => {
                assert!(is_off && reason.to_string().starts_with("unavailable: "), "{name}: {got:?}");
            }
            _ => assert!(!is_off, "{name}: {got:?}"),
        }
    }
}

#[test]
fn entries_of_arp_after_interfaces_changed() {
    let tree = Tree::copy_of("two-nodes");
    let mut provider = provider(&tree.roots());
    let entries = |provider: &mut MultiInstanceProvider<_>| {
        let collected = collect(provider, &[ARP_ENTRIES], &["*"]);
        let of = |name: &&str| (name.to_string(), collected.get(name, ARP_ENTRIES).clone());
        collected.names().iter().map(of).collect::<Vec<_>>()
    };
    let value = |name: &str, count| (name.to_owned(), CellOutcome::Value(count));
    assert_eq!(entries(&mut provider), [value("lo", 0), value("eth0", 7), value(LONG, 3)]);
    let dev = tree.text(DEV);
    tree.write(
        DEV,
        &format!("{}gone0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", dev.replace("  eth0:", "  eth1:")),
    );
    let want = [value("lo", 0), value("eth1", 0), value(LONG, 3), value("gone0", 1)];
    assert_eq!(entries(&mut provider), want);
    tree.write(ARP, &tree.text(ARP).replace("*        eth0", "*        eth1"));
    assert_eq!(entries(&mut provider)[1], value("eth1", 7));
}

#[test]
fn an_old_kernel() {
    let collected = collect_all(&mut provider(&fixture("old-kernel")));
    assert_eq!(collected.names(), ["lo", "eth0", "eth0:1"]);
    assert_eq!(*collected.get("lo", SENT_COMPRESSED_PACKETS), CellOutcome::Value(293));
    assert_eq!(*collected.get("eth0", RECEIVE_FRAME_ERRORS), CellOutcome::Value(337));
    let missing = collected.missing("eth0");
    assert_eq!(missing.len(), OF_SYS.len() + 1);
    assert!(missing.values().all(|reason| reason.starts_with("unavailable: ")), "{missing:?}");
}

#[test]
fn a_small_virtual_machine() {
    let collected = collect_all(&mut provider(&fixture("small-vm")));
    assert_eq!(collected.names(), ["lo", "ifb0", "ifb1", "eth0"]);
    for (name, up, mtu) in [("lo", 0, 65_536), ("ifb0", 0, 1_500), ("eth0", 1, 1_400)] {
        assert_eq!(*collected.get(name, UP), CellOutcome::Value(up));
        assert_eq!(*collected.get(name, MTU_BYTES), CellOutcome::Value(mtu));
    }
    assert_eq!(lost(&collected, "ifb0"), [CARRIER]);
    assert_eq!(lost(&collected, "eth0"), []);
    assert_eq!(*collected.get("eth0", ARP_ENTRIES), CellOutcome::Value(1));
}
