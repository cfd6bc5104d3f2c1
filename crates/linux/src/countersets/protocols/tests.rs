//! Tests of the countersets of network protocols, collected from trees of test files.

use std::fs;

use perfset_catalogue::{icmp, icmpv6, ipv4, ipv6, tcpv4, tcpv6, udpv4, udpv6};
use perfset_core::{CounterId, Counterset, Guid};
use perfset_engine::{CollectRequest, Provider, Rows, SourceError};

use super::Providers;
use crate::provider::{SeqFileKind, SharedFile};
use crate::roots::Roots;
use crate::testing::{
    CellOutcome, ChangedLine, Collected, FAULTS, Tree, all_instances, check_line, collect, collect_all,
    fixture, opened,
};

fn all_of(roots: &Roots) -> Providers {
    let file = |name| SharedFile::new(roots.net(name), SeqFileKind::Single);
    Providers::new(roots, file("snmp"), file("snmp6"))
}

/// Counters of TCPv4 with their raw values in the fixture `two-nodes`.
const TCPV4: [(CounterId, u64); 9] = [
    (tcpv4::SEGMENTS_PER_SEC, 9_264_667 + 9_265_679),
    (tcpv4::CONNECTIONS_ESTABLISHED, 9_263_647),
    (tcpv4::CONNECTIONS_ACTIVE, 9_259_619),
    (tcpv4::CONNECTIONS_PASSIVE, 9_260_621),
    (tcpv4::CONNECTION_FAILURES, 9_261_619),
    (tcpv4::CONNECTIONS_RESET, 9_262_639),
    (tcpv4::SEGMENTS_RECEIVED_PER_SEC, 9_264_667),
    (tcpv4::SEGMENTS_SENT_PER_SEC, 9_265_679),
    (tcpv4::SEGMENTS_RETRANSMITTED_PER_SEC, 9_266_729),
];

/// Counters of UDPv4 with their raw values in the fixture `two-nodes`.
const UDPV4: [(CounterId, u64); 5] = [
    (udpv4::DATAGRAMS_PER_SEC, 9_270_853 + 9_273_871),
    (udpv4::DATAGRAMS_RECEIVED_PER_SEC, 9_270_853),
    (udpv4::DATAGRAMS_NO_PORT_PER_SEC, 9_271_859),
    (udpv4::DATAGRAMS_RECEIVED_ERRORS, 9_272_863),
    (udpv4::DATAGRAMS_SENT_PER_SEC, 9_273_871),
];

/// Counters of UDPv6 with their raw values in the fixture `two-nodes`.
const UDPV6: [(CounterId, u64); 5] = [
    (udpv6::DATAGRAMS_PER_SEC, 9_364_963 + 9_367_991),
    (udpv6::DATAGRAMS_RECEIVED_PER_SEC, 9_364_963),
    (udpv6::DATAGRAMS_NO_PORT_PER_SEC, 9_365_977),
    (udpv6::DATAGRAMS_RECEIVED_ERRORS, 9_366_979),
    (udpv6::DATAGRAMS_SENT_PER_SEC, 9_367_991),
];

/// Counters of IPv4 with their raw values in the fixture `two-nodes`.
const IPV4: [(CounterId, u64); 17] = [
    (ipv4::DATAGRAMS_PER_SEC, 9_202_051 + 9_209_141),
    (ipv4::DATAGRAMS_RECEIVED_PER_SEC, 9_202_051),
    (ipv4::DATAGRAMS_RECEIVED_HEADER_ERRORS, 9_203_071),
    (ipv4::DATAGRAMS_RECEIVED_ADDRESS_ERRORS, 9_204_073),
    (ipv4::DATAGRAMS_FORWARDED_PER_SEC, 9_205_073),
    (ipv4::DATAGRAMS_RECEIVED_UNKNOWN_PROTOCOL, 9_206_083),
    (ipv4::DATAGRAMS_RECEIVED_DISCARDED, 9_207_089),
    (ipv4::DATAGRAMS_RECEIVED_DELIVERED_PER_SEC, 9_208_123),
    (ipv4::DATAGRAMS_SENT_PER_SEC, 9_209_141),
    (ipv4::DATAGRAMS_OUTBOUND_DISCARDED, 9_210_161),
    (ipv4::DATAGRAMS_OUTBOUND_NO_ROUTE, 9_211_171),
    (ipv4::FRAGMENTS_RECEIVED_PER_SEC, 9_213_181),
    (ipv4::FRAGMENTS_RE_ASSEMBLED_PER_SEC, 9_214_181),
    (ipv4::FRAGMENT_RE_ASSEMBLY_FAILURES, 9_215_231),
    (ipv4::FRAGMENTED_DATAGRAMS_PER_SEC, 9_216_239),
    (ipv4::FRAGMENTATION_FAILURES, 9_217_237),
    (ipv4::FRAGMENTS_CREATED_PER_SEC, 9_218_257),
];

/// Counters of IPv6 with their raw values in the fixture `two-nodes`.
const IPV6: [(CounterId, u64); 17] = [
    (ipv6::DATAGRAMS_PER_SEC, 9_289_099 + 9_299_219),
    (ipv6::DATAGRAMS_RECEIVED_PER_SEC, 9_289_099),
    (ipv6::DATAGRAMS_RECEIVED_HEADER_ERRORS, 9_290_101),
    (ipv6::DATAGRAMS_RECEIVED_ADDRESS_ERRORS, 9_293_159),
    (ipv6::DATAGRAMS_FORWARDED_PER_SEC, 9_298_213),
    (ipv6::DATAGRAMS_RECEIVED_UNKNOWN_PROTOCOL, 9_294_179),
    (ipv6::DATAGRAMS_RECEIVED_DISCARDED, 9_296_207),
    (ipv6::DATAGRAMS_RECEIVED_DELIVERED_PER_SEC, 9_297_209),
    (ipv6::DATAGRAMS_SENT_PER_SEC, 9_299_219),
    (ipv6::DATAGRAMS_OUTBOUND_DISCARDED, 9_300_223),
    (ipv6::DATAGRAMS_OUTBOUND_NO_ROUTE, 9_301_247 + 9_292_147),
    (ipv6::FRAGMENTS_RECEIVED_PER_SEC, 9_303_257),
    (ipv6::FRAGMENTS_RE_ASSEMBLED_PER_SEC, 9_304_271),
    (ipv6::FRAGMENT_RE_ASSEMBLY_FAILURES, 9_305_281),
    (ipv6::FRAGMENTED_DATAGRAMS_PER_SEC, 9_306_287),
    (ipv6::FRAGMENTATION_FAILURES, 9_307_303),
    (ipv6::FRAGMENTS_CREATED_PER_SEC, 9_308_311),
];

/// Counters of ICMP with their raw values in the fixture `two-nodes`.
const ICMP: [(CounterId, u64); 27] = [
    (icmp::MESSAGES_PER_SEC, 9_220_261 + 9_234_413),
    (icmp::MESSAGES_RECEIVED_PER_SEC, 9_220_261),
    (icmp::MESSAGES_RECEIVED_ERRORS, 9_221_297),
    (icmp::RECEIVED_DEST_UNREACHABLE, 9_223_307),
    (icmp::RECEIVED_TIME_EXCEEDED, 9_224_321),
    (icmp::RECEIVED_PARAMETER_PROBLEM, 9_225_319),
    (icmp::RECEIVED_SOURCE_QUENCH, 9_226_319),
    (icmp::RECEIVED_REDIRECT_PER_SEC, 9_227_321),
    (icmp::RECEIVED_ECHO_PER_SEC, 9_228_337),
    (icmp::RECEIVED_ECHO_REPLY_PER_SEC, 9_229_349),
    (icmp::RECEIVED_TIMESTAMP_PER_SEC, 9_230_357),
    (icmp::RECEIVED_TIMESTAMP_REPLY_PER_SEC, 9_231_371),
    (icmp::RECEIVED_ADDRESS_MASK, 9_232_373),
    (icmp::RECEIVED_ADDRESS_MASK_REPLY, 9_233_407),
    (icmp::MESSAGES_SENT_PER_SEC, 9_234_413),
    (icmp::MESSAGES_OUTBOUND_ERRORS, 9_235_433),
    (icmp::SENT_DESTINATION_UNREACHABLE, 9_238_457),
    (icmp::SENT_TIME_EXCEEDED, 9_239_467),
    (icmp::SENT_PARAMETER_PROBLEM, 9_240_467),
    (icmp::SENT_SOURCE_QUENCH, 9_241_471),
    (icmp::SENT_REDIRECT_PER_SEC, 9_242_473),
    (icmp::SENT_ECHO_PER_SEC, 9_243_473),
    (icmp::SENT_ECHO_REPLY_PER_SEC, 9_244_483),
    (icmp::SENT_TIMESTAMP_PER_SEC, 9_245_491),
    (icmp::SENT_TIMESTAMP_REPLY_PER_SEC, 9_246_491),
    (icmp::SENT_ADDRESS_MASK, 9_247_489),
    (icmp::SENT_ADDRESS_MASK_REPLY, 9_248_501),
];

/// Counters of ICMPv6 with their raw values in the fixture `two-nodes`.
const ICMPV6: [(CounterId, u64); 33] = [
    (icmpv6::MESSAGES_PER_SEC, 9_322_501 + 9_324_541),
    (icmpv6::MESSAGES_RECEIVED_PER_SEC, 9_322_501),
    (icmpv6::MESSAGES_RECEIVED_ERRORS, 9_323_513),
    (icmpv6::RECEIVED_DEST_UNREACHABLE, 9_328_589),
    (icmpv6::RECEIVED_PACKET_TOO_BIG, 9_329_597),
    (icmpv6::RECEIVED_TIME_EXCEEDED, 9_330_619),
    (icmpv6::RECEIVED_PARAMETER_PROBLEM, 9_331_627),
    (icmpv6::RECEIVED_ECHO_PER_SEC, 9_332_627),
    (icmpv6::RECEIVED_ECHO_REPLY_PER_SEC, 9_333_637),
    (icmpv6::RECEIVED_MEMBERSHIP_QUERY, 9_334_639),
    (icmpv6::RECEIVED_MEMBERSHIP_REPORT, 9_335_647),
    (icmpv6::RECEIVED_MEMBERSHIP_REDUCTION, 9_336_661),
    (icmpv6::RECEIVED_ROUTER_SOLICIT, 9_337_661),
    (icmpv6::RECEIVED_ROUTER_ADVERT, 9_338_663),
    (icmpv6::RECEIVED_NEIGHBOR_SOLICIT, 9_339_661),
    (icmpv6::RECEIVED_NEIGHBOR_ADVERT, 9_340_673),
    (icmpv6::RECEIVED_REDIRECT_PER_SEC, 9_341_681),
    (icmpv6::MESSAGES_SENT_PER_SEC, 9_324_541),
    (icmpv6::MESSAGES_OUTBOUND_ERRORS, 9_325_543),
    (icmpv6::SENT_DESTINATION_UNREACHABLE, 9_343_703),
    (icmpv6::SENT_PACKET_TOO_BIG, 9_344_707),
    (icmpv6::SENT_TIME_EXCEEDED, 9_345_709),
    (icmpv6::SENT_PARAMETER_PROBLEM, 9_346_723),
    (icmpv6::SENT_ECHO_PER_SEC, 9_347_747),
    (icmpv6::SENT_ECHO_REPLY_PER_SEC, 9_348_761),
    (icmpv6::SENT_MEMBERSHIP_QUERY, 9_349_787),
    (icmpv6::SENT_MEMBERSHIP_REPORT, 9_350_797),
    (icmpv6::SENT_MEMBERSHIP_REDUCTION, 9_351_821),
    (icmpv6::SENT_ROUTER_SOLICIT, 9_352_841),
    (icmpv6::SENT_ROUTER_ADVERT, 9_353_849),
    (icmpv6::SENT_NEIGHBOR_SOLICIT, 9_354_869),
    (icmpv6::SENT_NEIGHBOR_ADVERT, 9_355_873),
    (icmpv6::SENT_REDIRECT_PER_SEC, 9_356_891),
];

/// Counters of TCPv6 with their raw values: sockets of the fixture `two-nodes` in the states 01 and 08.
const TCPV6: [(CounterId, u64); 1] = [(tcpv6::CONNECTIONS_ESTABLISHED, 4 + 2)];

/// Counterset with its provider, and its counters with their raw values in the fixture `two-nodes`.
type Set = (&'static Counterset, fn(Providers) -> Box<dyn Provider>, &'static [(CounterId, u64)]);

/// Countersets of network protocols in the order of the files that feed them, each from one file.
const SETS: [Set; 8] = [
    (&tcpv4::COUNTERSET, |all| Box::new(all.tcpv4), &TCPV4),
    (&udpv4::COUNTERSET, |all| Box::new(all.udpv4), &UDPV4),
    (&ipv4::COUNTERSET, |all| Box::new(all.ipv4), &IPV4),
    (&icmp::COUNTERSET, |all| Box::new(all.icmp), &ICMP),
    (&udpv6::COUNTERSET, |all| Box::new(all.udpv6), &UDPV6),
    (&ipv6::COUNTERSET, |all| Box::new(all.ipv6), &IPV6),
    (&icmpv6::COUNTERSET, |all| Box::new(all.icmpv6), &ICMPV6),
    (&tcpv6::COUNTERSET, |all| Box::new(all.tcpv6), &TCPV6),
];

/// Returns the path of the file that feeds a counterset of a network protocol.
fn file_of(counterset: &Counterset) -> &'static str {
    match &*counterset.name {
        "TCPv6" => "proc/net/tcp6",
        name if name.ends_with("v6") => "proc/net/snmp6",
        _ => "proc/net/snmp",
    }
}

fn collected(roots: &Roots, set: Set) -> Collected {
    collect_all(&mut *set.1(all_of(roots)))
}

fn ids(known: &[(CounterId, u64)]) -> Vec<CounterId> {
    known.iter().map(|known| known.0).collect()
}

fn missing(collected: &Collected) -> Vec<CounterId> {
    collected.missing("").into_keys().map(CounterId).collect()
}

#[test]
fn every_counter() {
    for set in SETS {
        let (counterset, _, known) = set;
        let collected = collected(&fixture("two-nodes"), set);
        assert_eq!(collected.rows, [(String::new(), 0, None)]);
        for (counter, value) in known {
            assert_eq!(
                *collected.get("", *counter),
                CellOutcome::Value(*value),
                "{} {counter:?}",
                counterset.name
            );
        }
        let others = collected.missing("");
        assert_eq!(known.len() + others.len(), counterset.counters.len(), "{}", counterset.name);
        let why = "unavailable: the kernel counts TCP over IPv4 and IPv6 together: TCPv4 has the sum";
        assert!(others.values().all(|reason| reason == why), "{others:?}");
        assert_eq!(others.is_empty(), counterset.guid != tcpv6::GUID);
    }
}

/// Checks that ids and title indexes of the protocol countersets never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let tcp: Vec<u32> = (640..=656).step_by(2).collect();
    let udp = [438, 446, 664, 666, 442];
    let ip = [438, 446, 552, 554, 556, 558, 560, 562, 442, 566, 568, 570, 572, 574, 576, 578, 580];
    let icmp: Vec<u32> = (584..=636).step_by(2).collect();
    let icmpv6 = [
        584, 586, 588, 590, 1536, 592, 594, 600, 602, 1538, 1540, 1542, 1544, 1546, 1550, 1552, 598, 612,
        614, 616, 1554, 618, 620, 626, 628, 1556, 1558, 1560, 1562, 1564, 1566, 1568, 624,
    ];
    for ((counterset, ..), (guid, index, want)) in SETS.into_iter().zip([
        ("5e35c696-7267-53fa-8777-6fd80ded503f", 638, &tcp[..]),
        ("201bb63c-d962-52a9-88c1-3a755bd76bb5", 658, &udp),
        ("a6cc06ab-e885-52e5-b59a-df43c0ed4219", 546, &ip),
        ("2f677d2f-5319-5b50-9e77-ecc63395b56c", 582, &icmp),
        ("4df5c645-210d-52ea-ac99-b7727365aa83", 1532, &udp),
        ("d7438784-b910-5a21-a5b0-243c90ff2507", 548, &ip),
        ("404e1b4c-f675-50a7-b6df-99b0a67f5456", 1534, &icmpv6),
        ("387be3c0-365b-5f15-98ca-dfc1fb373017", 1530, &tcp),
    ]) {
        assert_eq!((counterset.guid.to_string().as_str(), counterset.v1_index), (guid, Some(index)));
        assert_eq!(counterset.counters.iter().map(|c| c.v1_index.unwrap()).collect::<Vec<_>>(), want);
        let numbers = 0..u32::try_from(want.len()).unwrap();
        assert!(counterset.counters.iter().map(|c| c.id.0).eq(numbers), "{}", counterset.name);
    }
}

#[test]
fn one_instance_without_a_name() {
    for (counterset, provider, known) in SETS {
        let mut provider = provider(all_of(&fixture("two-nodes")));
        let mut rows = Rows::new([]);
        rows.start();
        provider.instances(&counterset.guid, &mut rows).unwrap();
        rows.end();
        assert_eq!((rows.len(), rows.name(0).is_empty(), rows.bytes_read()), (1, true, 0));
        assert_eq!(collect(&mut *provider, &ids(known), &["x*"]).names(), [""; 0]);
        let other = Guid::from_u128(7);
        assert_eq!(provider.instances(&other, &mut rows), Err(SourceError::UnknownCounterset(other)));
    }
}

#[test]
fn only_the_files_that_are_needed_are_opened() {
    let tree = Tree::proc_of("two-nodes");
    let udp = |roots: &Roots| all_of(roots).udpv4;
    assert_eq!(opened(&tree, udp, &ids(&UDPV4), &["*"]), ["proc/net/snmp"]);
    assert_eq!(opened(&tree, udp, &ids(&UDPV4), &["no such instance"]), [""; 0]);
    assert_eq!(opened(&tree, udp, &[], &["*"]), [""; 0]);
    let icmpv6 = |roots: &Roots| all_of(roots).icmpv6;
    assert_eq!(opened(&tree, icmpv6, &ids(&ICMPV6), &["*"]), ["proc/net/snmp6"]);
    let tcpv6 = |roots: &Roots| all_of(roots).tcpv6;
    let others: Vec<_> = tcpv6::COUNTERSET.counters.iter().map(|c| c.id).collect();
    assert_eq!(opened(&tree, tcpv6, &others[2..], &["*"]), [""; 0], "the dear file is not for the others");
    assert_eq!(opened(&tree, tcpv6, &others, &["*"]), ["proc/net/tcp6"]);
}

#[test]
fn a_file_is_read_once_for_all() {
    let tree = Tree::proc_of("two-nodes");
    let mut providers = all_of(&tree.roots());
    let len = |file: &str| fs::metadata(tree.path(file)).unwrap().len();
    for time in 1..=2 {
        assert_eq!(collect_all(&mut providers.ipv6).bytes_read, len("proc/net/snmp6"), "time {time}");
        assert_eq!(collect_all(&mut providers.tcpv6).bytes_read, len("proc/net/tcp6"), "time {time}");
    }
    // As the engine collects: several countersets with the number of one collection.
    let mut read = |collection| {
        let ids = (ids(&UDPV4), ids(&IPV4));
        let of_udp = bytes_read(&mut providers.udpv4, &udpv4::COUNTERSET, &ids.0, collection);
        of_udp + bytes_read(&mut providers.ipv4, &ipv4::COUNTERSET, &ids.1, collection)
    };
    const ANY: u64 = u64::MAX / 2; // other tests are far from there
    assert_eq!([read(ANY), read(ANY + 1)], [len("proc/net/snmp"); 2]);
}

fn bytes_read(
    provider: &mut dyn Provider,
    counterset: &Counterset,
    counters: &[CounterId],
    collection: u64,
) -> u64 {
    let of = |id| counterset.counter(id).unwrap();
    let mut rows = Rows::new(counters.iter().map(|id| of(*id)));
    rows.start();
    let all = all_instances();
    provider
        .collect(&CollectRequest::new(counterset, counters, &all).collection(collection), &mut rows)
        .unwrap();
    rows.end();
    rows.bytes_read()
}

#[test]
fn a_fault_costs_only_the_counters_that_the_file_feeds() {
    for file in ["proc/net/snmp", "proc/net/snmp6", "proc/net/tcp6"] {
        for (fault, cause, is_right) in FAULTS {
            let tree = Tree::proc_of("two-nodes");
            cause(&tree, file);
            for set in SETS {
                let (counterset, _, known) = set;
                let collected = collected(&tree.roots(), set);
                // In snmp the last section, in snmp6 the last line, feed nothing.
                let is_hit = file_of(counterset) == file && (fault != "cut" || file == "proc/net/tcp6");
                for (counter, value) in known {
                    let got = collected.get("", *counter);
                    let as_wanted = match got {
                        CellOutcome::None(reason) => is_hit && is_right(reason),
                        got => !is_hit && *got == CellOutcome::Value(*value),
                    };
                    assert!(as_wanted, "{file} {fault}, {} {counter:?}: {got:?}", counterset.name);
                }
            }
        }
    }
}

#[test]
fn a_section_costs_only_itself() {
    for (name, from, to, why) in [
        (
            "a number too few",
            "\nTcp: 9255601 ",
            "\nTcp: ",
            ":8: expected a number for each name, found the end of the line",
        ),
        ("a number too many", "\nTcp: 9255601 ", "\nTcp: 9255601 7 ", {
            ":8: expected as many numbers as names, found \"9269833\""
        }),
        (
            "no numbers",
            "\nTcp: 9255601 ",
            "\nTCP: ",
            ":8: expected the numbers of the section, found \"TCP:\"",
        ),
        ("no section", "Tcp: ", "TCP: ", ":13: expected another section, found the end of the file"),
    ] {
        let tree = Tree::proc_of("two-nodes");
        tree.write("proc/net/snmp", &tree.text("proc/net/snmp").replace(from, to));
        for set in SETS {
            let collected = collected(&tree.roots(), set);
            if set.0.guid != tcpv4::GUID {
                let lost = missing(&collected).into_iter().filter(|id| ids(set.2).contains(id));
                assert_eq!(lost.count(), 0, "{name}, {}", set.0.name);
                continue;
            }
            let path = tree.path("proc/net/snmp");
            let why = format!("{}{why}", path.display());
            assert_eq!(missing(&collected), ids(&TCPV4), "{name}");
            assert!(
                collected.missing("").values().all(|reason| reason.ends_with(&why)),
                "{name}: {collected:?}"
            );
        }
    }
}

#[test]
fn a_number_costs_only_the_counters_that_it_feeds() {
    let unknown = "unavailable: this kernel does not report it";
    let of_tcp: [ChangedLine<'_>; 3] = [
        ("net/snmp", "9264667", "x", &[tcpv4::SEGMENTS_PER_SEC, tcpv4::SEGMENTS_RECEIVED_PER_SEC], {
            ":8: expected a number, found \"x\""
        }),
        (
            "net/snmp",
            "9263647",
            "-1",
            &[tcpv4::CONNECTIONS_ESTABLISHED],
            ":8: expected a number, found \"-1\"",
        ),
        ("net/snmp", "EstabResets", "Others", &[tcpv4::CONNECTIONS_RESET], unknown),
    ];
    for case in of_tcp {
        check_line(case, |roots| all_of(roots).tcpv4, missing);
    }
    let of_icmpv6: [ChangedLine<'_>; 3] = [
        ("net/snmp6", "Icmp6OutErrors", "Icmp6OutOthers", &[icmpv6::MESSAGES_OUTBOUND_ERRORS], unknown),
        ("net/snmp6", "Icmp6InEchos", "Icmp6InEcho", &[icmpv6::RECEIVED_ECHO_PER_SEC], unknown),
        (
            "net/snmp6",
            "Icmp6InMsgs",
            "\nIcmp6InMsgs x",
            { &[icmpv6::MESSAGES_PER_SEC, icmpv6::MESSAGES_RECEIVED_PER_SEC] },
            ":35: expected a number, found \"x\"",
        ),
    ];
    for case in of_icmpv6 {
        check_line(case, |roots| all_of(roots).icmpv6, missing);
    }
    let of_ipv6: [ChangedLine<'_>; 2] = [
        ("net/snmp6", "Ip6InNoRoutes", "Ip6InNoWay", &[ipv6::DATAGRAMS_OUTBOUND_NO_ROUTE], unknown),
        ("net/snmp6", "Ip6FragOKs ", "Ip6FragOKs 7 ", &[ipv6::FRAGMENTED_DATAGRAMS_PER_SEC], {
            ":18: expected the end of the line, found \"9306287\""
        }),
    ];
    for case in of_ipv6 {
        check_line(case, |roots| all_of(roots).ipv6, missing);
    }
}

#[test]
fn another_order_of_lines() {
    let tree = Tree::proc_of("two-nodes");
    let snmp = tree.text("proc/net/snmp");
    let mut sections: Vec<_> = snmp.lines().collect::<Vec<_>>();
    sections.reverse();
    let pairs: String = sections.chunks(2).map(|pair| format!("{}\n{}\n", pair[1], pair[0])).collect();
    tree.write("proc/net/snmp", &pairs);
    let snmp6 = tree.text("proc/net/snmp6");
    tree.write("proc/net/snmp6", &snmp6.lines().rev().map(|line| format!("{line}\n")).collect::<String>());
    for set in SETS {
        let collected = collected(&tree.roots(), set);
        for (counter, value) in set.2 {
            assert_eq!(
                *collected.get("", *counter),
                CellOutcome::Value(*value),
                "{} {counter:?}",
                set.0.name
            );
        }
    }
}

#[test]
fn values_are_those_of_now() {
    let tree = Tree::proc_of("two-nodes");
    let mut all = all_of(&tree.roots());
    collect_all(&mut all.ipv4);
    collect_all(&mut all.udpv6);
    collect_all(&mut all.tcpv6);
    tree.write("proc/net/snmp", &tree.text("proc/net/snmp").replace("9202051", "40000000003"));
    tree.write("proc/net/snmp6", "Udp6InDatagrams 5\nUdp6OutDatagrams 7\n");
    let sockets = tree.text("proc/net/tcp6");
    let rows: Vec<_> = sockets.split_inclusive('\n').collect();
    let many = rows[1..].concat().repeat(5_000);
    tree.write("proc/net/tcp6", &format!("{}{many}", rows[0]));
    let ip = collect_all(&mut all.ipv4);
    assert_eq!(*ip.get("", ipv4::DATAGRAMS_RECEIVED_PER_SEC), CellOutcome::Value(40_000_000_003));
    let udp = collect_all(&mut all.udpv6);
    assert_eq!(*udp.get("", udpv6::DATAGRAMS_PER_SEC), CellOutcome::Value(5 + 7));
    let tcp = collect_all(&mut all.tcpv6);
    assert_eq!(*tcp.get("", tcpv6::CONNECTIONS_ESTABLISHED), CellOutcome::Value(6 * 5_000));
    assert_eq!(tcp.bytes_read, fs::metadata(tree.path("proc/net/tcp6")).unwrap().len());
}

#[test]
fn a_fault_far_behind_names_its_line() {
    let tree = Tree::proc_of("two-nodes");
    let sockets = tree.text("proc/net/tcp6");
    let many = sockets.lines().last().unwrap().to_owned() + "\n";
    tree.write("proc/net/tcp6", &format!("{sockets}{}x\n", many.repeat(3_000)));
    let reason = &collected(&tree.roots(), SETS[7]).missing("")[&tcpv6::CONNECTIONS_ESTABLISHED.0];
    assert!(reason.ends_with("/tcp6:3018: expected a word, found the end of the line"), "{reason}");
}

#[test]
fn hostile_numbers_saturate() {
    let tree = Tree::proc_of("two-nodes");
    let max = u64::MAX;
    tree.write("proc/net/snmp", &format!("Ip: InReceives OutRequests\nIp: {max} 2\n"));
    let collected = collected(&tree.roots(), SETS[2]);
    assert_eq!(*collected.get("", ipv4::DATAGRAMS_PER_SEC), CellOutcome::Value(max));
}

/// Checks the protocol counters on an old kernel, which has no IPv6, and fewer numbers in the sections of
/// `/proc/net/snmp`.
#[test]
fn an_old_kernel() {
    for set in SETS {
        let collected = collected(&fixture("old-kernel"), set);
        if file_of(set.0) == "proc/net/snmp" {
            assert_eq!(missing(&collected), [], "{}", set.0.name);
            continue;
        }
        let reasons = collected.missing("");
        for counter in ids(set.2) {
            assert_eq!(reasons[&counter.0], "unavailable: this kernel has no IPv6, or has it turned off");
        }
    }
    let ip = collected(&fixture("old-kernel"), SETS[2]);
    assert_eq!(*ip.get("", ipv4::FRAGMENTS_CREATED_PER_SEC), CellOutcome::Value(313));
    let icmp = collected(&fixture("old-kernel"), SETS[3]);
    assert_eq!(*icmp.get("", icmp::SENT_ADDRESS_MASK_REPLY), CellOutcome::Value(467));
}

#[test]
fn a_small_virtual_machine() {
    for set in SETS {
        let collected = collected(&fixture("small-vm"), set);
        assert!(
            ids(set.2).into_iter().all(|counter| !missing(&collected).contains(&counter)),
            "{}",
            set.0.name
        );
    }
    let tcp = collected(&fixture("small-vm"), SETS[0]);
    assert_eq!(*tcp.get("", tcpv4::SEGMENTS_SENT_PER_SEC), CellOutcome::Value(417_927));
}
