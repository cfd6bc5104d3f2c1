//! Tests of the counterset Linux UDP, collected from trees of test files.

use perfset_catalogue::linux_udp::*;
use perfset_core::CounterId;

use super::LinuxUdp;
use crate::provider::{SeqFileKind, SharedFile, SingleInstanceProvider, single_instance};
use crate::roots::Roots;
use crate::testing::{CellOutcome, Collected, FAULTS, Tree, check_line, collect_all, fixture, opened};

fn provider(roots: &Roots) -> SingleInstanceProvider<LinuxUdp> {
    let file = |name| SharedFile::new(roots.net(name), SeqFileKind::Single);
    single_instance(LinuxUdp::new(roots, file("snmp"), file("snmp6")))
}

/// All counters of Linux UDP with their raw values in the fixture `two-nodes`.
const KNOWN: [(CounterId, u64); 10] = [
    (UDPRCVBUFERRORS, 9_274_871),
    (UDPSNDBUFERRORS, 9_275_869),
    (UDPLITEINERRORS, 9_281_953),
    (UDP6RCVBUFERRORS, 9_368_999),
    (UDP6SNDBUFERRORS, 9_370_019),
    (UDPLITE6INERRORS, 9_376_049),
    (IPV4_TRANSMIT_QUEUE_BYTES, 10_000_121 + 10_000_139),
    (IPV4_RECEIVE_QUEUE_BYTES, 10_000_141 + 10_000_169),
    (IPV6_TRANSMIT_QUEUE_BYTES, 10_000_189),
    (IPV6_RECEIVE_QUEUE_BYTES, 10_000_223),
];

fn lost(collected: &Collected) -> Vec<CounterId> {
    collected.missing("").into_keys().map(CounterId).collect()
}

#[test]
fn every_counter() {
    assert_eq!(collect_all(&mut provider(&fixture("two-nodes"))).all_but(&KNOWN), []);
    assert_eq!(COUNTERSET.counters.len(), KNOWN.len());
}

/// Checks that ids and title indexes of the counterset Linux UDP never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let ids: Vec<_> = COUNTERSET.counters.iter().map(|c| (c.id.0, c.v1_index.unwrap())).collect();
    assert_eq!(ids, (0..10).map(|id| (id, 24_174 + 2 * id)).collect::<Vec<_>>());
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("c4e48645-c955-5b63-88eb-ef4481cf957b", Some(24_172))
    );
}

/// Files of `/proc/net`, each with the counters of Linux UDP that it feeds.
const FILES: [(&str, &[CounterId]); 4] = [
    ("proc/net/snmp", &[UDPRCVBUFERRORS, UDPSNDBUFERRORS, UDPLITEINERRORS]),
    ("proc/net/snmp6", &[UDP6RCVBUFERRORS, UDP6SNDBUFERRORS, UDPLITE6INERRORS]),
    ("proc/net/udp", &[IPV4_TRANSMIT_QUEUE_BYTES, IPV4_RECEIVE_QUEUE_BYTES]),
    ("proc/net/udp6", &[IPV6_TRANSMIT_QUEUE_BYTES, IPV6_RECEIVE_QUEUE_BYTES]),
];

#[test]
fn only_the_files_that_are_needed_are_opened() {
    let tree = Tree::proc_of("two-nodes");
    assert_eq!(opened(&tree, provider, &[], &["*"]), [""; 0]);
    for (file, counters) in FILES {
        for counter in counters {
            assert_eq!(opened(&tree, provider, &[*counter], &["*"]), [file], "{counter:?}");
        }
    }
}

#[test]
fn a_fault_costs_only_the_counters_that_the_file_feeds() {
    for (file, counters) in FILES {
        for (fault, cause, is_right) in FAULTS {
            let tree = Tree::proc_of("two-nodes");
            cause(&tree, file);
            let collected = collect_all(&mut provider(&tree.roots()));
            let want = match (file, fault) {
                ("proc/net/snmp", "cut") => &[UDPLITEINERRORS][..],
                ("proc/net/snmp6", "cut") => &[], // the last line feeds nothing
                _ => counters,
            };
            assert_eq!(lost(&collected), want, "{file} {fault}");
            for counter in want {
                let got = collected.get("", *counter);
                assert!(
                    matches!(got, CellOutcome::None(reason) if is_right(reason)),
                    "{file} {fault}: {got:?}"
                );
            }
        }
    }
}

#[test]
fn a_line_costs_only_the_counters_that_it_feeds() {
    let not_reported = "unavailable: this kernel does not report it";
    for case in [
        ("net/snmp", "9281953", "x", &[UDPLITEINERRORS][..], ":12: expected a number, found \"x\""),
        (
            "net/snmp",
            "UdpLite: ",
            "UdpLight: ",
            &[UDPLITEINERRORS],
            ":13: expected another section, found the end of the file",
        ),
        ("net/snmp6", "UdpLite6InErrors ", "UdpLite6InFaults ", &[UDPLITE6INERRORS], not_reported),
    ] {
        check_line(case, provider, lost);
    }
}

#[test]
fn a_kernel_without_ipv6() {
    let missing = collect_all(&mut provider(&fixture("old-kernel"))).missing("");
    let no_ipv6 = "unavailable: this kernel has no IPv6, or has it turned off";
    for counter in [UDP6RCVBUFERRORS, UDPLITE6INERRORS, IPV6_RECEIVE_QUEUE_BYTES] {
        assert_eq!(missing[&counter.0], no_ipv6);
    }
    assert_eq!(missing[&UDPRCVBUFERRORS.0], "unavailable: this kernel does not report it");
}
