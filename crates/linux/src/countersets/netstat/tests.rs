//! Tests of the countersets Linux TCP and Linux IP, collected from trees of test files.

use std::collections::BTreeMap;

use perfset_catalogue::{linux_ip, linux_tcp};
use perfset_core::{CounterId, Counterset};

use super::{LinuxIp, LinuxTcp};
use crate::provider::{SeqFileKind, SharedFile, SingleInstanceProvider, single_instance};
use crate::roots::Roots;
use crate::testing::{
    CellOutcome, Collected, FAULTS, Tree, all_instances, check_line, collect, collect_all, fixture, opened,
};

use linux_tcp::*;

fn shared(roots: &Roots, name: &str) -> SharedFile {
    SharedFile::new(roots.net(name), SeqFileKind::Single)
}

fn tcp(roots: &Roots) -> SingleInstanceProvider<LinuxTcp> {
    let [netstat, snmp, sockstat] = ["netstat", "snmp", "sockstat"].map(|name| shared(roots, name));
    single_instance(LinuxTcp::new(netstat, snmp, sockstat))
}

fn ip(roots: &Roots) -> SingleInstanceProvider<LinuxIp> {
    let [netstat, snmp, snmp6] = ["netstat", "snmp", "snmp6"].map(|name| shared(roots, name));
    single_instance(LinuxIp::new(netstat, snmp, snmp6))
}

/// Returns the numbers in `/proc/net/netstat`, parsed in the simplest way; the keys are group and name in one word.
fn numbers(text: &str) -> BTreeMap<String, u64> {
    let lines: Vec<_> = text.lines().collect();
    let mut numbers = BTreeMap::new();
    for pair in lines.chunks(2) {
        let words = pair.iter().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect::<Vec<_>>();
        assert_eq!((words[0][0], words[0].len()), (words[1][0], words[1].len()));
        for (name, number) in words[0].iter().zip(&words[1]).skip(1) {
            numbers.insert(format!("{}{name}", words[0][0].trim_end_matches(':')), number.parse().unwrap());
        }
    }
    numbers
}

/// Returns the values of a counterset's counters by the counter's name, without missing values.
fn values(counterset: &Counterset, collected: &Collected) -> BTreeMap<String, u64> {
    let value = |counter: &perfset_core::Counter| match collected.get("", counter.id) {
        CellOutcome::Value(value) => Some((counter.name.as_deref().unwrap().to_owned(), *value)),
        _ => None,
    };
    counterset.counters.iter().filter_map(value).collect()
}

/// Counters of Linux TCP from `/proc/net/snmp`, except the limit of connections, which no kernel has.
const OF_SNMP: [CounterId; 2] = [TCPINERRS, TCPOUTRSTS];

/// Counter of Linux TCP that only older kernels have.
const OLD: CounterId = MPTCPEXTRCVPRUNED;

#[test]
fn every_counter() {
    let roots = fixture("two-nodes");
    let mut want = numbers(&std::fs::read_to_string(roots.net("netstat")).unwrap());
    let of_ip = want.split_off("IpExt");
    let mut of_mptcp = of_ip.clone();
    of_mptcp.retain(|name, _| !name.starts_with("IpExt"));
    want.extend(of_mptcp);
    want.insert("Memory Pages".into(), 20_004_773);
    want.insert("TcpInErrs".into(), 9_267_761);
    want.insert("TcpOutRsts".into(), 9_268_811);
    let collected = collect_all(&mut tcp(&roots));
    assert_eq!(collected.rows, [(String::new(), 0, None)]);
    assert_eq!(values(&COUNTERSET, &collected), want);
    assert_eq!(collected.missing("").into_keys().collect::<Vec<_>>(), [OLD.0, TCPMAXCONN.0]);
    assert_eq!(collected.missing("")[&TCPMAXCONN.0], "unavailable: the kernel has no limit of connections");
    assert_eq!(collected.missing("")[&OLD.0], "unavailable: this kernel does not report it");

    let mut want: BTreeMap<_, _> = of_ip.into_iter().filter(|(name, _)| name.starts_with("IpExt")).collect();
    for (name, value) in
        [("IpForwarding", 9_200_017), ("Ip6InOctets", 9_311_371), ("Ip6OutOctets", 9_312_377)]
    {
        want.insert(name.to_owned(), value);
    }
    let collected = collect_all(&mut ip(&roots));
    assert_eq!(values(&linux_ip::COUNTERSET, &collected), want);
    assert_eq!(want.len(), linux_ip::COUNTERSET.counters.len());
}

/// Checks that ids and title indexes of Linux TCP and Linux IP never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    for (counterset, guid, first, count, later) in [
        (&COUNTERSET, "8bcaffd8-dd8e-55cd-b054-7d94a84aa677", 21_010, 213, [24_160, 24_162, 24_164]),
        (&linux_ip::COUNTERSET, "c6a915b4-e0e0-5784-9ea1-ac4e13e59324", 21_450, 18, [24_166, 24_168, 24_170]),
    ] {
        assert_eq!((counterset.guid.to_string().as_str(), counterset.v1_index), (guid, Some(first)));
        let ids: Vec<_> = counterset.counters.iter().map(|counter| counter.id.0).collect();
        assert_eq!(ids, Vec::from_iter(0..count + 3));
        let indexes: Vec<_> = counterset.counters.iter().map(|counter| counter.v1_index.unwrap()).collect();
        assert_eq!(indexes, (1..=count).map(|n| first + 2 * n).chain(later).collect::<Vec<_>>());
    }
}

#[test]
fn only_the_files_that_are_needed_are_opened() {
    let tree = Tree::proc_of("two-nodes");
    let (netstat, snmp, sockstat) = ("proc/net/netstat", "proc/net/snmp", "proc/net/sockstat");
    for (counters, want) in [
        (&[][..], &[][..]),
        (&[MEMORY_PAGES], &[sockstat]),
        (&[TCPEXTTW, MPTCPEXTWINPROBE], &[netstat]),
        (&[MEMORY_PAGES, OLD], &[netstat, sockstat]),
        (&[TCPMAXCONN, TCPOUTRSTS], &[snmp]),
    ] {
        assert_eq!(opened(&tree, tcp, counters, &["*"]), want, "{counters:?}");
    }
    assert_eq!(opened(&tree, ip, &[linux_ip::IPEXTINOCTETS], &["*"]), [netstat]);
    assert_eq!(opened(&tree, ip, &[linux_ip::IPFORWARDING], &["*"]), [snmp]);
    assert_eq!(opened(&tree, ip, &[linux_ip::IP6INOCTETS], &["*"]), ["proc/net/snmp6"]);
}

#[test]
fn a_file_that_both_read_is_read_once() {
    use perfset_engine::{CollectRequest, Rows};

    let roots = fixture("two-nodes");
    let netstat = shared(&roots, "netstat");
    let file = |name| shared(&roots, name);
    let mut tcp = single_instance(LinuxTcp::new(netstat.clone(), file("snmp"), file("sockstat")));
    let mut ip = single_instance(LinuxIp::new(netstat, file("snmp"), file("snmp6")));
    let instances = all_instances();
    let bytes_read =
        |provider: &mut dyn perfset_engine::Provider, counterset: &Counterset, counter, collection| {
            let mut rows = Rows::new(counterset.counters.iter().filter(|c| c.id == counter));
            rows.start();
            let counters = [counter];
            let want = CollectRequest::new(counterset, &counters, &instances).collection(collection);
            provider.collect(&want, &mut rows).unwrap();
            rows.end();
            rows.bytes_read()
        };
    let len = std::fs::metadata(roots.net("netstat")).unwrap().len();
    assert_eq!(bytes_read(&mut tcp, &COUNTERSET, TCPEXTTW, 1_000_001), len);
    assert_eq!(bytes_read(&mut ip, &linux_ip::COUNTERSET, linux_ip::IPEXTINOCTETS, 1_000_001), 0);
    assert_eq!(bytes_read(&mut ip, &linux_ip::COUNTERSET, linux_ip::IPEXTINOCTETS, 1_000_002), len);
}

/// Returns the counters of Linux TCP without a value in a collection, except counters that current kernels lack.
fn lost(collected: &Collected) -> Vec<CounterId> {
    let missing = collected.missing("").into_keys().map(CounterId);
    missing.filter(|counter| ![OLD, TCPMAXCONN].contains(counter)).collect()
}

#[test]
fn a_fault_costs_only_the_counters_that_the_file_feeds() {
    for (file, is_of) in [
        (
            "proc/net/netstat",
            (|counter| counter != MEMORY_PAGES && !OF_SNMP.contains(&counter)) as fn(CounterId) -> bool,
        ),
        ("proc/net/snmp", |counter| OF_SNMP.contains(&counter)),
        ("proc/net/sockstat", |counter| counter == MEMORY_PAGES),
    ] {
        for (fault, cause, is_right) in FAULTS {
            let tree = Tree::proc_of("two-nodes");
            cause(&tree, file);
            let collected = collect_all(&mut tcp(&tree.roots()));
            let all = COUNTERSET.counters.iter().map(|counter| counter.id);
            let of_file = all.filter(|counter| is_of(*counter) && ![OLD, TCPMAXCONN].contains(counter));
            let want: Vec<_> = match (file, fault) {
                // The last line feeds nothing.
                ("proc/net/sockstat" | "proc/net/snmp", "cut") => Vec::new(),
                ("proc/net/netstat", "cut") => {
                    of_file.filter(|counter| *counter >= MPTCPEXTMPCAPABLESYNRX).collect()
                }
                _ => of_file.collect(),
            };
            assert_eq!(lost(&collected), want, "{file} {fault}");
            for counter in want {
                let got = collected.get("", counter);
                assert!(
                    matches!(got, CellOutcome::None(reason) if is_right(reason)),
                    "{file} {fault}: {got:?}"
                );
            }
        }
    }
}

#[test]
fn a_number_costs_only_the_counter_that_it_feeds() {
    let tree = Tree::proc_of("two-nodes");
    let names = numbers(&tree.text("proc/net/netstat"));
    let tw = names["TcpExtTW"].to_string();
    for case in [
        ("net/netstat", tw.as_str(), "-1", &[TCPEXTTW][..], ":2: expected a number, found \"-1\""),
        ("net/netstat", " TW ", " Tw ", &[TCPEXTTW], "unavailable: this kernel does not report it"),
        ("net/snmp", "9267761", "x", &[TCPINERRS], ":8: expected a number, found \"x\""),
        ("net/sockstat", " mem ", " men ", &[MEMORY_PAGES], "unavailable: this kernel does not report it"),
        ("net/sockstat", "20004773", "x", &[MEMORY_PAGES], ":2: expected a number, found \"x\""),
    ] {
        check_line(case, tcp, lost);
    }
}

#[test]
fn names_may_move_between_collections() {
    let tree = Tree::proc_of("two-nodes");
    let mut provider = tcp(&tree.roots());
    let counters = [TCPEXTTW, TCPEXTDELAYEDACKS, MPTCPEXTWINPROBE];
    for (text, want) in [
        ("TcpExt: TW x DelayedACKs\nTcpExt: 2 3 5\n", [Some(2), Some(5), None]),
        ("TcpExt: TW x DelayedACKs\nTcpExt: 7 3 11\n", [Some(7), Some(11), None]),
        ("MPTcpExt: WinProbe TW\nMPTcpExt: 2 3\nTcpExt: DelayedACKs\nTcpExt: 5\n", [None, Some(5), Some(2)]),
        ("nothing\n", [None; 3]),
        ("TcpExt: DelayedACKs TW\nTcpExt: 2 3\n", [Some(3), Some(2), None]),
    ] {
        tree.write("proc/net/netstat", text);
        let collected = collect(&mut provider, &counters, &["*"]);
        let got = counters.map(|counter| match collected.get("", counter) {
            CellOutcome::Value(value) => Some(*value),
            _ => None,
        });
        assert_eq!(got, want, "{text:?}");
    }
}

#[test]
fn an_old_kernel() {
    let roots = fixture("old-kernel");
    let collected = collect_all(&mut tcp(&roots));
    for (counter, want) in
        [(TCPEXTTW, 571), (TCPEXTPAWSACTIVE, 599), (TCPEXTTCPHPHITS, 643), (MEMORY_PAGES, 677)]
    {
        assert_eq!(*collected.get("", counter), CellOutcome::Value(want), "{counter:?}");
    }
    assert_eq!(*collected.get("", TCPOUTRSTS), CellOutcome::Value(571));
    assert_eq!(values(&COUNTERSET, &collected).len(), 22 + OF_SNMP.len());
    let collected = collect_all(&mut ip(&roots));
    assert_eq!(*collected.get("", linux_ip::IPFORWARDING), CellOutcome::Value(211));
    let missing = collected.missing("");
    assert_eq!(missing.len(), 20);
    let not_reported = "unavailable: this kernel does not report it";
    let no_ipv6 = "unavailable: this kernel has no IPv6, or has it turned off";
    let is_of_v6 = |id: &u32| [linux_ip::IP6INOCTETS.0, linux_ip::IP6OUTOCTETS.0].contains(id);
    assert!(missing.iter().all(|(id, why)| why == if is_of_v6(id) { no_ipv6 } else { not_reported }));
}

#[test]
fn a_small_virtual_machine() {
    let roots = fixture("small-vm");
    let collected = collect_all(&mut tcp(&roots));
    assert_eq!(lost(&collected), []);
    let numbers = numbers(&std::fs::read_to_string(roots.net("netstat")).unwrap());
    assert_eq!(
        *collected.get("", TCPEXTTCPORIGDATASENT),
        CellOutcome::Value(numbers["TcpExtTCPOrigDataSent"])
    );
    assert_eq!(collect_all(&mut ip(&roots)).missing("").len(), 0);
}

#[test]
fn below_another_root_the_network_is_that_of_the_first_process() {
    let tree = Tree::proc_of("two-nodes");
    tree.write("proc/1/net/netstat", "TcpExt: TW\nTcpExt: 7\n");
    let collected = collect(&mut tcp(&tree.roots()), &[TCPEXTTW, MEMORY_PAGES], &["*"]);
    assert_eq!(*collected.get("", TCPEXTTW), CellOutcome::Value(7));
    assert_eq!(collected.missing("")[&MEMORY_PAGES.0], "unavailable: there is no /proc/net/sockstat");
}
