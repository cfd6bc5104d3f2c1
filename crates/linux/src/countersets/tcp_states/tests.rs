//! Tests of the counterset TCP States, collected from trees of test files.

use perfset_catalogue::tcp_states::*;

use super::TcpStates;
use crate::provider::{MultiInstanceProvider, TOTAL_NAME, multi_instance};
use crate::roots::Roots;
use crate::sources::tcp_sockets::STATES;
use crate::testing::{CellOutcome, FAULTS, Tree, collect, collect_all, fixture, opened};

fn provider(roots: &Roots) -> MultiInstanceProvider<TcpStates> {
    multi_instance(TcpStates::new(roots))
}

/// Number of TCP sockets in each state over IPv4, and over IPv6, in the fixture `two-nodes`.
const KNOWN: [(&str, u64, u64); 11] = [
    ("established", 9, 4),
    ("syn_sent", 1, 1),
    ("syn_recv", 2, 1),
    ("fin_wait1", 3, 1),
    ("fin_wait2", 4, 1),
    ("time_wait", 5, 1),
    ("close", 1, 0),
    ("close_wait", 5, 2),
    ("last_ack", 7, 1),
    ("listen", 6, 3),
    ("closing", 9, 1),
];

#[test]
fn every_state() {
    let collected = collect_all(&mut provider(&fixture("two-nodes")));
    let ids: Vec<_> = collected.rows.iter().map(|row| row.1).collect();
    assert_eq!(ids, (1..=11).chain([0xFFFF_FFFE]).collect::<Vec<_>>());
    assert_eq!(collected.names(), [&STATES[..], &[TOTAL_NAME]].concat());
    for (name, of_v4, of_v6) in KNOWN {
        assert_eq!(*collected.get(name, CONNECTIONS), CellOutcome::Value(of_v4 + of_v6), "{name}");
    }
    assert_eq!(*collected.get(TOTAL_NAME, CONNECTIONS), CellOutcome::Value(52 + 16));
    assert_eq!(KNOWN.map(|(name, ..)| name), STATES);
    assert_eq!(COUNTERSET.counters.len(), 1);
}

/// Checks that ids and title indexes of TCP States never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let ids: Vec<_> = COUNTERSET.counters.iter().map(|c| (c.id.0, c.v1_index.unwrap())).collect();
    assert_eq!(ids, [(0, 24_196)]);
    assert_eq!(
        (GUID.to_string().as_str(), COUNTERSET.v1_index),
        ("d8631d44-f930-5731-a01e-39073d602c8f", Some(24_194))
    );
}

#[test]
fn files_are_read_only_for_values_and_once() {
    let tree = Tree::proc_of("two-nodes");
    assert_eq!(opened(&tree, provider, &[], &["*"]), [""; 0]);
    assert_eq!(opened(&tree, provider, &[CONNECTIONS], &["other"]), [""; 0]);
    assert_eq!(opened(&tree, provider, &[CONNECTIONS], &["listen"]), ["proc/net/tcp", "proc/net/tcp6"]);
    let len = |name: &str| tree.text(name).len() as u64;
    let read = collect(&mut provider(&tree.roots()), &[CONNECTIONS], &["*"]).bytes_read;
    assert_eq!(read, len("proc/net/tcp") + len("proc/net/tcp6"), "once for all states");
}

#[test]
fn a_fault_of_either_file_costs_all_states() {
    for file in ["proc/net/tcp", "proc/net/tcp6"] {
        for (fault, cause, is_right) in FAULTS {
            let tree = Tree::proc_of("two-nodes");
            cause(&tree, file);
            let collected = collect_all(&mut provider(&tree.roots()));
            for (name, of_v4, _) in KNOWN {
                let got = collected.get(name, CONNECTIONS);
                if (file, fault) == ("proc/net/tcp6", "missing") {
                    assert_eq!(*got, CellOutcome::Value(of_v4), "{name}: a kernel without IPv6");
                } else {
                    assert!(
                        matches!(got, CellOutcome::None(reason) if is_right(reason)),
                        "{file} {fault}: {got:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn more_sockets_than_fit_into_a_piece() {
    let tree = Tree::proc_of("two-nodes");
    let line =
        |at: u32| format!("{at:>4}: 0100007F:0016 0200007F:C350 {:02X} 00000000:00000000\n", 1 + at % 11);
    let lines: String = (0..22_000).map(line).collect();
    tree.write("proc/net/tcp", &format!("  sl  local_address rem_address   st tx_queue\n{lines}"));
    tree.remove("proc/net/tcp6");
    let collected = collect_all(&mut provider(&tree.roots()));
    assert!(STATES.iter().all(|name| *collected.get(name, CONNECTIONS) == CellOutcome::Value(2_000)));
}
