//! Tests of the counterset Network Interface, collected from trees of test files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use perfset_catalogue::network_interface as id;
use perfset_core::{CounterId, Identity, InstanceId, Name};
use perfset_engine::{Fact, FactOptions, Provider};

use super::NetworkInterface;
use crate::provider::{
    Collection, InstanceSource, MultiInstanceProvider, SeqFileKind, SharedFile, multi_instance,
};
use crate::roots::Roots;
use crate::testing::{
    CellOutcome, Collected, FAULTS, Tree, collect, collect_all, fixture, opened, try_collect,
};

use id::*;

fn interfaces(roots: &Roots) -> NetworkInterface {
    NetworkInterface::new(roots.clone(), SharedFile::new(roots.net("dev"), SeqFileKind::Lines))
}

fn provider(roots: &Roots) -> MultiInstanceProvider<NetworkInterface> {
    multi_instance(interfaces(roots))
}

/// Counters of Network Interface that never have a value on Linux.
const NEVER: [CounterId; 7] = [
    PACKETS_SENT_UNICAST_PER_SEC,
    PACKETS_SENT_NON_UNICAST_PER_SEC,
    OFFLOADED_CONNECTIONS,
    TCP_ACTIVE_RSC_CONNECTIONS,
    TCP_RSC_COALESCED_PACKETS_PER_SEC,
    TCP_RSC_EXCEPTIONS_PER_SEC,
    TCP_RSC_AVERAGE_PACKET_SIZE,
];

/// All other counters of Network Interface except Output Queue Length, with their values for eth0 in the fixture
/// `two-nodes`.
const KNOWN: [(CounterId, u64); 14] = [
    (BYTES_TOTAL_PER_SEC, 20_000_213 + 20_000_327),
    (PACKETS_PER_SEC, 20_000_221 + 20_000_329),
    (PACKETS_RECEIVED_PER_SEC, 20_000_221),
    (PACKETS_SENT_PER_SEC, 20_000_329),
    (CURRENT_BANDWIDTH, 40_009_000_000),
    (BYTES_RECEIVED_PER_SEC, 20_000_213),
    (PACKETS_RECEIVED_UNICAST_PER_SEC, 20_000_221 - 10_000_019),
    (PACKETS_RECEIVED_NON_UNICAST_PER_SEC, 10_000_019),
    (PACKETS_RECEIVED_DISCARDED, 20_000_269),
    (PACKETS_RECEIVED_ERRORS, 20_000_243),
    (PACKETS_RECEIVED_UNKNOWN, 61_031),
    (BYTES_SENT_PER_SEC, 20_000_327),
    (PACKETS_OUTBOUND_DISCARDED, 20_000_353),
    (PACKETS_OUTBOUND_ERRORS, 20_000_339),
];

const OF_SYS: [CounterId; 2] = [CURRENT_BANDWIDTH, PACKETS_RECEIVED_UNKNOWN];
const LONG: &str = "a.b-c@x-15bytes";
const DEV: &str = "proc/net/dev";
const HEADS: &str = "Inter-| Receive | Transmit\n face |bytes packets|bytes packets\n";

/// Returns the counters of a network interface that could have a value on Linux and have none.
fn lost(collected: &Collected, name: &str) -> Vec<CounterId> {
    let missing = collected.missing(name).into_keys().map(CounterId);
    missing.filter(|counter| !NEVER.contains(counter) && *counter != OUTPUT_QUEUE_LENGTH).collect()
}

#[test]
fn every_counter() {
    let collected = collect_all(&mut provider(&fixture("two-nodes")));
    assert_eq!(collected.rows, [("eth0".to_owned(), 61_027, None), (LONG.to_owned(), 61_043, None)]);
    for (counter, value) in KNOWN {
        assert_eq!(*collected.get("eth0", counter), CellOutcome::Value(value), "{counter:?}");
    }
    let missing = collected.missing("eth0");
    assert!(missing.values().all(|reason| reason.starts_with("unavailable: ")), "{missing:?}");
    assert_eq!(missing.len(), NEVER.len() + 1);
    assert_eq!(KNOWN.len() + missing.len(), COUNTERSET.counters.len());
    assert_eq!(
        missing[&OUTPUT_QUEUE_LENGTH.0],
        "unavailable: queues can be asked only of the kernel itself, not below another root than /proc"
    );

    assert_eq!(*collected.get(LONG, BYTES_RECEIVED_PER_SEC), CellOutcome::Value(20_000_443));
    assert_eq!(*collected.get(LONG, PACKETS_RECEIVED_UNKNOWN), CellOutcome::Value(61_051));
    assert_eq!(lost(&collected, LONG), [CURRENT_BANDWIDTH]);
    assert_eq!(
        collected.missing(LONG)[&CURRENT_BANDWIDTH.0],
        "unavailable: the driver does not know the speed of this link, or it is down"
    );
}

/// Checks that ids and title indexes of Network Interface never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| c.v1_index.unwrap()).collect();
    let of_microsoft = [388, 400, 266, 452, 520, 264, 524, 526, 528, 530, 532, 506, 536, 538, 540, 542, 544];
    let ours = [21_000, 21_002, 21_004, 21_006, 21_008];
    assert_eq!(indexes, [&of_microsoft[..], &ours].concat());
    assert_eq!(COUNTERSET.counters.iter().map(|c| c.id.0).collect::<Vec<_>>(), Vec::from_iter(0..22));
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("73f14488-4c21-56f6-8c36-3eb41f9331c7", Some(510))
    );
}

#[test]
fn only_the_files_that_are_needed_are_opened() {
    let tree = Tree::copy_of("two-nodes");
    let folder = |name: &str, files: &[&str]| {
        let file = |file: &&str| format!("sys/class/net/{name}/{file}");
        files.iter().map(file).collect::<Vec<_>>()
    };
    let what_they_are =
        || [folder(LONG, &["ifindex", "type"]), folder("eth0", &["ifindex", "type"])].concat();
    let of_lo = || folder("lo", &["ifindex", "type"]);
    for (counters, patterns, more) in [
        (&[][..], "*", vec![]),
        (&NEVER, "*", vec![]),
        (&[BYTES_TOTAL_PER_SEC, PACKETS_OUTBOUND_ERRORS], "*", vec![]),
        (&[OUTPUT_QUEUE_LENGTH], "*", vec![]),
        (&[CURRENT_BANDWIDTH], "eth0", folder("eth0", &["speed"])),
        (&[PACKETS_RECEIVED_UNKNOWN], "a.*", folder(LONG, &["statistics/rx_nohandler"])),
        (&OF_SYS, "*", {
            let of_eth0 = folder("eth0", &["speed", "statistics/rx_nohandler"]);
            [of_eth0, folder(LONG, &["speed", "statistics/rx_nohandler"])].concat()
        }),
    ] {
        let mut want = [vec![DEV.to_owned()], what_they_are(), of_lo(), more].concat();
        want.sort_unstable();
        assert_eq!(opened(&tree, provider, counters, &[patterns]), want, "{counters:?}");
    }
    let mut used = provider(&tree.roots());
    let all = [BYTES_TOTAL_PER_SEC, CURRENT_BANDWIDTH, PACKETS_RECEIVED_UNKNOWN];
    collect(&mut used, &all, &["*"]);
    assert_eq!(tree.opened(|| drop(collect(&mut used, &all, &["*"]))), [""; 0], "all are kept");
}

#[test]
fn a_fault_costs_only_what_the_file_feeds() {
    for (file, counters) in [
        ("speed", &[CURRENT_BANDWIDTH][..]),
        ("statistics/rx_nohandler", &[PACKETS_RECEIVED_UNKNOWN]),
        ("ifindex", &[]),
        ("type", &[]),
    ] {
        for (fault, cause, is_right) in FAULTS {
            let tree = Tree::copy_of("two-nodes");
            cause(&tree, &format!("sys/class/net/eth0/{file}"));
            let collected = collect_all(&mut provider(&tree.roots()));
            assert_eq!(collected.names(), ["eth0", LONG], "{file} {fault}");
            assert_eq!(lost(&collected, "eth0"), counters, "{file} {fault}");
            for counter in counters {
                let got = collected.get("eth0", *counter);
                assert!(
                    matches!(got, CellOutcome::None(reason) if is_right(reason)),
                    "{file} {fault}: {got:?}"
                );
            }
        }
    }
    for (fault, cause, _) in FAULTS {
        let tree = Tree::copy_of("two-nodes");
        cause(&tree, DEV);
        let mut provider = provider(&tree.roots());
        if fault == "cut" {
            let collected = collect_all(&mut provider);
            assert_eq!(lost(&collected, "eth0"), []);
            assert_eq!(lost(&collected, LONG).len(), KNOWN.len() - 1, "all except those in /sys");
        } else {
            let error = try_collect(&mut provider, &[BYTES_TOTAL_PER_SEC], &["*"]).unwrap_err().to_string();
            let want = if fault == "missing" { "there is no /proc/net/dev" } else { "net/dev" };
            assert!(error.contains(want), "{fault}: {error}");
        }
    }
}

#[test]
fn a_line_costs_only_its_interface() {
    let tree = Tree::copy_of("two-nodes");
    tree.write(DEV, &tree.text(DEV).replace("20000269", "x"));
    let collected = collect_all(&mut provider(&tree.roots()));
    let path = tree.path(DEV).display().to_string();
    let why = &collected.missing("eth0")[&BYTES_SENT_PER_SEC.0];
    assert_eq!(*why, format!("{path}:4: expected a number, found \"x\""));
    assert_eq!(lost(&collected, LONG), [CURRENT_BANDWIDTH]);

    tree.write(DEV, &tree.text(DEV).replace("multicast", "others"));
    let collected = collect_all(&mut provider(&tree.roots()));
    let multicast = [PACKETS_RECEIVED_UNICAST_PER_SEC, PACKETS_RECEIVED_NON_UNICAST_PER_SEC];
    assert_eq!(lost(&collected, LONG), [&[CURRENT_BANDWIDTH][..], &multicast].concat());
    let why = &collected.missing(LONG)[&multicast[0].0];
    assert_eq!(why, "unavailable: this kernel does not report it");
}

#[test]
fn names_of_any_bytes() {
    let tree = Tree::copy_of("two-nodes");
    let names =
        [&b"w\xFF\xFEn"[..], b"a\\b", b"caf\xC3\xA9", b"eth0:1", b"..", b"../../x", b"(x)#1", b"\x01"];
    let mut text = HEADS.as_bytes().to_vec();
    for (number, name) in (2_u8..).zip(names) {
        text.extend_from_slice(name);
        text.extend_from_slice(format!(": {number} 1 1 1\n").as_bytes());
        if !name.starts_with(b".") {
            let folder = tree.path("sys/class/net").join(OsStr::from_bytes(name));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("ifindex"), format!("{number}\n")).unwrap();
            fs::write(folder.join("type"), "1\n").unwrap();
        }
    }
    fs::write(tree.path(DEV), text).unwrap();
    let collected =
        collect(&mut provider(&tree.roots()), &[BYTES_RECEIVED_PER_SEC, CURRENT_BANDWIDTH], &["*"]);
    let want = ["w\u{FFFD}\u{FFFD}n", "a_b", "café", "eth0:1", "..", "../../x", "(x)#1", "\u{1}"];
    assert_eq!(collected.names(), want);
    for ((number, name), (_, id, _)) in (2_u32..).zip(want).zip(&collected.rows) {
        assert_eq!(*collected.get(name, BYTES_RECEIVED_PER_SEC), CellOutcome::Value(number.into()), "{name}");
        if name.starts_with('.') {
            assert!(*id >= 0x8000_0000, "{name}: {id}");
            assert_eq!(
                collected.missing(name)[&CURRENT_BANDWIDTH.0],
                "unavailable: /sys/class/net does not have it"
            );
        } else {
            assert_eq!(*id, number, "{name}");
        }
    }
}

#[test]
fn the_loopback_interface_is_known_by_its_kind() {
    let tree = Tree::copy_of("two-nodes");
    tree.write("sys/class/net/lo/type", "1\n");
    tree.write("sys/class/net/eth0/type", "772\n");
    assert_eq!(collect(&mut provider(&tree.roots()), &[], &["*"]).names(), ["lo", LONG]);
    fs::remove_dir_all(tree.path("sys/class/net/eth0")).unwrap();
    fs::remove_dir_all(tree.path("sys/class/net/lo")).unwrap();
    assert_eq!(
        collect(&mut provider(&tree.roots()), &[], &["*"]).names(),
        ["eth0", LONG],
        "else by its name"
    );
}

#[test]
fn hundreds_of_interfaces() {
    let tree = Tree::copy_of("two-nodes");
    let count = 500_u64;
    let line = |n| format!("veth{n:x}: {n} {} {} 1\n", n + 1_000, n + 2_000);
    tree.write(DEV, &format!("{HEADS}{}", (0..count).map(line).collect::<String>()));
    for n in 0..count {
        tree.write(&format!("sys/class/net/veth{n:x}/ifindex"), &format!("{}\n", n + 7));
        tree.write(&format!("sys/class/net/veth{n:x}/statistics/rx_nohandler"), &format!("{}\n", n + 3_000));
    }
    let mut provider = provider(&tree.roots());
    let before = fs::read_dir("/proc/self/fd").unwrap().count();
    let counters = [BYTES_TOTAL_PER_SEC, PACKETS_RECEIVED_UNKNOWN];
    for _ in 0..2 {
        let collected = collect(&mut provider, &counters, &["*"]);
        assert_eq!(collected.rows.len(), 500);
        for n in 0..count {
            let name = format!("veth{n:x}");
            assert_eq!(*collected.get(&name, BYTES_TOTAL_PER_SEC), CellOutcome::Value(2 * n + 2_000));
            assert_eq!(*collected.get(&name, PACKETS_RECEIVED_UNKNOWN), CellOutcome::Value(n + 3_000));
        }
    }
    // Other tests open files meanwhile.
    let kept = fs::read_dir("/proc/self/fd").unwrap().count().saturating_sub(before);
    assert!(kept < 150, "{kept} descriptors are kept");
}

/// Returns the network interfaces that a search at a time finds, and the number of files in `/sys` that the search
/// opens.
fn found(tree: &Tree, interfaces: &mut NetworkInterface, seconds: u64) -> (Vec<(String, u32)>, usize) {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let work = || interfaces.find(&mut Collection::new(number, 1 + seconds * 1_000_000_000)).unwrap();
    let opened = tree.opened(work).into_iter().filter(|file| file.starts_with("sys/")).count();
    (interfaces.keys().iter().map(|key| (key.name.clone(), key.id.0)).collect(), opened)
}

#[test]
fn an_interface_that_is_made_anew_is_another() {
    let tree = Tree::copy_of("two-nodes");
    let dev = |lines: &str| tree.write(DEV, &format!("{HEADS}{lines}"));
    let ifindex = |name: &str, number: u32| {
        tree.write(&format!("sys/class/net/{name}/ifindex"), &format!("{number}\n"))
    };
    let keys =
        |all: &[(&str, u32)]| all.iter().map(|(name, id)| ((*name).to_owned(), *id)).collect::<Vec<_>>();
    let mut interfaces = interfaces(&tree.roots());
    ifindex("tun0", 5);
    tree.write("sys/class/net/tun0/type", "65534\n");
    dev("eth0: 2 2 2 2\ntun0: 70 70 70 70\n");
    assert_eq!(found(&tree, &mut interfaces, 0), (keys(&[("eth0", 61_027), ("tun0", 5)]), 4));
    dev("eth0: 3 3 3 3\ntun0: 71 71 71 71\n");
    assert_eq!(found(&tree, &mut interfaces, 1), (keys(&[("eth0", 61_027), ("tun0", 5)]), 0), "read once");
    ifindex("tun0", 7);
    dev("eth0: 3 3 3 3\ntun0: 71 71 4 71\n");
    assert_eq!(
        found(&tree, &mut interfaces, 2),
        (keys(&[("eth0", 61_027), ("tun0", 7)]), 2),
        "it counts less"
    );
    dev("eth0: 1 3 3 3\ntun0: 71 71 71 71\n");
    assert_eq!(found(&tree, &mut interfaces, 3), (keys(&[("eth0", 61_027), ("tun0", 7)]), 1), "it was reset");
    ifindex("tun0", 8);
    dev("tun0: 71 71 71 71\neth0: 1 3 3 3\n");
    let want = keys(&[("tun0", 8), ("eth0", 61_027)]);
    assert_eq!(found(&tree, &mut interfaces, 4), (want, 3), "the order is another");
    ifindex("tun0", 9);
    let want = keys(&[("tun0", 8), ("eth0", 61_027)]);
    assert_eq!(found(&tree, &mut interfaces, 13), (want, 0));
    let want = keys(&[("tun0", 9), ("eth0", 61_027)]);
    assert_eq!(found(&tree, &mut interfaces, 14), (want, 3), "after 10 s");
    dev("eth0: 1 3 3 3\n");
    assert_eq!(found(&tree, &mut interfaces, 15), (keys(&[("eth0", 61_027)]), 1), "one is gone");
    dev("");
    assert_eq!(found(&tree, &mut interfaces, 16), (Vec::new(), 0));
}

/// Checks that a network interface that is removed and created again is a new instance at once, even if its counts
/// are higher than before.
#[test]
fn an_interface_that_is_made_again_and_counts_more() {
    let tree = Tree::copy_of("two-nodes");
    let begin = |number: u32| tree.write("sys/class/net/tun0/ifindex", &format!("{number}\n"));
    let dev = |count: u32| tree.write(DEV, &format!("{HEADS}tun0: {count} {count} {count} {count}\n"));
    let mut interfaces = interfaces(&tree.roots());
    begin(5);
    dev(70);
    assert_eq!(found(&tree, &mut interfaces, 0).0, [("tun0".to_owned(), 5)]);
    // The old directory stays, so that its inode number is not used again.
    fs::rename(tree.path("sys/class/net/tun0"), tree.path("sys/class/net/old")).unwrap();
    begin(6);
    dev(71);
    assert_eq!(found(&tree, &mut interfaces, 1).0, [("tun0".to_owned(), 6)]);
}

#[test]
fn below_another_root_the_network_is_that_of_the_first_process() {
    let tree = Tree::copy_of("two-nodes");
    tree.write("proc/1/net/dev", &format!("{HEADS}eth0: 2 3 5 7\n"));
    let collected = collect(&mut provider(&tree.roots()), &[BYTES_TOTAL_PER_SEC, CURRENT_BANDWIDTH], &["*"]);
    assert_eq!(collected.names(), ["eth0"]);
    assert_eq!(*collected.get("eth0", BYTES_TOTAL_PER_SEC), CellOutcome::Value(7));
    assert_eq!(*collected.get("eth0", CURRENT_BANDWIDTH), CellOutcome::Value(40_009_000_000));
}

#[test]
fn an_old_kernel() {
    let collected = collect_all(&mut provider(&fixture("old-kernel")));
    assert_eq!(collected.names(), ["eth0", "eth0:1"]);
    assert!(
        collected.rows.iter().all(|row| row.1 >= 0x8000_0000) && collected.rows[0].1 != collected.rows[1].1
    );
    assert_eq!(*collected.get("eth0", BYTES_TOTAL_PER_SEC), CellOutcome::Value(307 + 353));
    assert_eq!(*collected.get("eth0:1", PACKETS_OUTBOUND_DISCARDED), CellOutcome::Value(463));
    assert_eq!(lost(&collected, "eth0"), OF_SYS);
}

#[test]
fn a_small_virtual_machine() {
    let collected = collect_all(&mut provider(&fixture("small-vm")));
    let rows: Vec<_> = collected.rows.iter().map(|row| (row.0.as_str(), row.1)).collect();
    assert_eq!(rows, [("ifb0", 2), ("ifb1", 3), ("eth0", 4)]);
    assert_eq!(lost(&collected, "eth0"), [CURRENT_BANDWIDTH]);
    assert_eq!(*collected.get("eth0", PACKETS_RECEIVED_UNKNOWN), CellOutcome::Value(0));
}

/// Checks the facts about network interfaces, speed and driver: of a device with a driver, one without, and one that
/// is down.
#[test]
fn facts_about_interfaces() {
    let tree = Tree::copy_of("two-nodes");
    fs::create_dir_all(tree.path("sys/class/net/eth0/device")).unwrap();
    let driver = tree.path("sys/class/net/eth0/device/driver");
    let _ = fs::remove_file(&driver); // the fixture may have one
    std::os::unix::fs::symlink("../../../../bus/virtio/drivers/virtio_net", driver).unwrap();
    let mut provider = provider(&tree.roots());
    let keys = |provider: &mut MultiInstanceProvider<NetworkInterface>| {
        let source = provider.source_mut();
        source.find(&mut Collection::enumeration(0)).unwrap();
        source.keys().to_vec()
    };
    let facts = |provider: &mut MultiInstanceProvider<NetworkInterface>, name: &str, id: u32| {
        let bytes: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let identity = Identity {
            counterset: GUID,
            instance: Name::until_nul(&bytes),
            instance_id: InstanceId(id),
            birth: None,
        };
        let facts = provider.facts(&identity, FactOptions::default()).unwrap();
        let text = |fact: Fact| (fact.kind.keyword(), fact.text.map_err(|reason| reason.keyword()));
        facts.into_iter().map(text).collect::<Vec<_>>()
    };
    let eth0 = keys(&mut provider).into_iter().find(|key| key.name == "eth0").unwrap();
    let got = facts(&mut provider, "eth0", eth0.id.0);
    assert_eq!(got, [("speed", Ok("40009 Mbit/s".to_owned())), ("driver", Ok("virtio_net".to_owned()))]);
    // Another interface of that name, and one that does not exist.
    assert_eq!(facts(&mut provider, "eth0", eth0.id.0 + 1), []);
    assert_eq!(facts(&mut provider, "eth9", eth0.id.0), []);
    tree.write("sys/class/net/eth0/speed", "-1\n");
    fs::remove_file(tree.path("sys/class/net/eth0/device/driver")).unwrap();
    assert_eq!(facts(&mut provider, "eth0", eth0.id.0), [("speed", Err("unavailable"))]);
}
