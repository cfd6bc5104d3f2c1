//! Tests of the countersets NFS Client and NFS Client Operations, collected from trees of test files.

use perfset_catalogue::{nfs_client, nfs_client_operations};

use super::{NfsClient, NfsOperations};
use crate::provider::{
    MultiInstanceProvider, SeqFileKind, SharedFile, SingleInstanceProvider, multi_instance, single_instance,
};
use crate::roots::Roots;
use crate::testing::{CellOutcome, FAULTS, Tree, collect, collect_all, fixture};

fn file(roots: &Roots) -> SharedFile {
    SharedFile::new(roots.net("rpc/nfs"), SeqFileKind::Single)
}

fn client(roots: &Roots) -> SingleInstanceProvider<NfsClient> {
    single_instance(NfsClient::new(file(roots)))
}

fn operations(roots: &Roots) -> MultiInstanceProvider<NfsOperations> {
    multi_instance(NfsOperations::new(file(roots)))
}

#[test]
fn every_counter() {
    use nfs_client::*;
    let known = [
        (CALLS_PER_SEC, 4_329_791),
        (RETRANSMISSIONS_PER_SEC, 101),
        (AUTHENTICATION_REFRESHES_PER_SEC, 4_338_293),
        (PACKETS_PER_SEC, 18_637),
        (UDP_PACKETS_PER_SEC, 11),
        (TCP_PACKETS_PER_SEC, 18_617),
        (TCP_CONNECTIONS_PER_SEC, 7),
    ];
    assert_eq!(collect_all(&mut client(&fixture("servers"))).all_but(&known), []);
    assert_eq!(COUNTERSET.counters.len(), known.len());
    assert!(collect_all(&mut client(&fixture("two-nodes"))).missing("").len() == known.len());
}

#[test]
fn every_operation() {
    use nfs_client_operations::OPERATIONS_PER_SEC;
    let collected = collect_all(&mut operations(&fixture("servers")));
    assert_eq!(collected.names().len(), 22 + 35);
    for (name, id, want) in [
        ("v3 NULL", 300, 2),
        ("v3 READ", 306, 1_000_033),
        ("v3 COMMIT", 321, 1_000_297),
        ("v4 NULL", 400, 3),
        ("v4 READ", 401, 2_000_003),
        ("v4 FS_LOCATIONS", 434, 2_000_581),
    ] {
        let row = collected.rows.iter().find(|row| row.0 == name).unwrap();
        assert_eq!(
            (row.1, collected.get(name, OPERATIONS_PER_SEC)),
            (id, &CellOutcome::Value(want)),
            "{name}"
        );
    }
    assert_eq!(collect_all(&mut operations(&fixture("two-nodes"))).names(), [""; 0]);
    let tree = Tree::proc_of("servers");
    let mut provider = operations(&tree.roots());
    collect(&mut provider, &[], &["*"]);
    tree.write("proc/net/rpc/nfs", "net 1 2 3 4\nrpc 5 6 7\nproc3 2 11 13\nproc4 1 17\n");
    let collected = collect(&mut provider, &[OPERATIONS_PER_SEC], &["*"]);
    assert_eq!(collected.names(), ["v3 NULL", "v3 GETATTR", "v4 NULL"]);
    assert_eq!(*collected.get("v4 NULL", OPERATIONS_PER_SEC), CellOutcome::Value(17));
}

#[test]
fn faults() {
    for (fault, cause, is_right) in FAULTS {
        let tree = Tree::proc_of("servers");
        cause(&tree, "proc/net/rpc/nfs");
        let collected = collect_all(&mut client(&tree.roots()));
        let got = collected.get("", nfs_client::CALLS_PER_SEC);
        assert!(matches!(got, CellOutcome::None(reason) if is_right(reason)), "{fault}: {got:?}");
    }
}

/// Checks that ids and title indexes of the NFS countersets never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let of = |set: &perfset_core::Counterset| -> Vec<u32> {
        set.v1_index.into_iter().chain(set.counters.iter().map(|c| c.v1_index.unwrap())).collect()
    };
    assert_eq!(of(&nfs_client::COUNTERSET), (25_228..25_244).step_by(2).collect::<Vec<_>>());
    assert_eq!(of(&nfs_client_operations::COUNTERSET), [25_244, 25_246]);
}
