//! Tests of the countersets NUMA Node Memory and Linux NUMA, collected from trees of test files.

use perfset_catalogue::{linux_numa, numa_node_memory};
use perfset_core::CounterId;
use perfset_engine::SourceError;

use super::{LinuxNuma, NodeMemory, online};
use crate::provider::{MultiInstanceProvider, TOTAL_NAME, multi_instance};
use crate::roots::Roots;
use crate::testing::{CellOutcome, FAULTS, Tree, collect, collect_all, fixture, opened, try_collect};

fn memory(roots: &Roots) -> MultiInstanceProvider<NodeMemory> {
    multi_instance(NodeMemory::new(roots, online(roots)))
}

fn pages(roots: &Roots) -> MultiInstanceProvider<LinuxNuma> {
    multi_instance(LinuxNuma::new(roots, online(roots)))
}

const NODE_0: &str = "sys/devices/system/node/node0";
const ONLINE: &str = "sys/devices/system/node/online";

/// Counters of NUMA Node Memory with the values of node 0 in the fixture `two-nodes`, in KiB.
const KNOWN: [(CounterId, u64); 5] = {
    use numa_node_memory::*;
    [
        (TOTAL_MBYTES, 9_017_027),
        (FREE_ZERO_PAGE_LIST_MBYTES, 9_034_033),
        (MODIFIED_PAGE_LIST_MBYTES, 9_221_207 + 9_238_231),
        (STANDBY_LIST_MBYTES, 9_170_129 + 9_153_119),
        (AVAILABLE_MBYTES, 9_034_033 + 9_170_129 + 9_153_119 + 9_459_487),
    ]
};

/// Counters of Linux NUMA with the values of nodes 0 and 1 in the fixture `two-nodes`.
const TAKEN: [(CounterId, u64, u64); 6] = {
    use linux_numa::*;
    [
        (NUMA_HIT, 7_011_001, 7_077_113),
        (NUMA_MISS, 7_022_033, 7_088_149),
        (NUMA_FOREIGN, 7_033_049, 7_099_163),
        (INTERLEAVE_HIT, 7_044_061, 7_110_167),
        (LOCAL_NODE, 7_055_071, 7_121_173),
        (OTHER_NODE, 7_066_079, 7_132_187),
    ]
};

#[test]
fn memory_of_each_node() {
    let collected = collect_all(&mut memory(&fixture("two-nodes")));
    let want = [("0", 0), ("1", 1), (TOTAL_NAME, 0xFFFF_FFFE)].map(|(name, id)| (name.to_owned(), id));
    assert!(collected.rows.iter().map(|row| (row.0.clone(), row.1)).eq(want));
    for (counter, kib) in KNOWN {
        assert_eq!(*collected.get("0", counter), CellOutcome::Value(kib / 1_024), "{counter:?}");
        assert_eq!(*collected.get("1", counter), CellOutcome::Value(0), "{counter:?}"); // it has none
        assert_eq!(*collected.get(TOTAL_NAME, counter), CellOutcome::Value(kib / 1_024), "{counter:?}");
    }
}

#[test]
fn a_total_is_cut_off_after_the_sum() {
    let tree = Tree::copy_of("two-nodes");
    for node in ["0", "1"] {
        let text = format!("Node {node} MemTotal: 3583 kB\n"); // 3.5 MiB, nearly
        tree.write(&format!("node/node{node}/meminfo"), &text);
    }
    let total = numa_node_memory::TOTAL_MBYTES;
    let collected = collect(&mut memory(&tree.roots()), &[total], &["*"]);
    assert_eq!(
        (collected.get("0", total), collected.get("1", total)),
        (&CellOutcome::Value(3), &CellOutcome::Value(3))
    );
    assert_eq!(*collected.get(TOTAL_NAME, total), CellOutcome::Value(6));
    tree.write("node/node1/meminfo", "Node 1 MemTotal: 3585 kB\n");
    let collected = collect(&mut memory(&tree.roots()), &[total], &["*"]);
    assert_eq!(*collected.get(TOTAL_NAME, total), CellOutcome::Value(7));
}

#[test]
fn pages_of_each_node() {
    let collected = collect_all(&mut pages(&fixture("two-nodes")));
    assert_eq!(collected.names(), ["0", "1", TOTAL_NAME]);
    for (counter, of_0, of_1) in TAKEN {
        assert_eq!(*collected.get("0", counter), CellOutcome::Value(of_0), "{counter:?}");
        assert_eq!(*collected.get("1", counter), CellOutcome::Value(of_1), "{counter:?}");
        assert_eq!(*collected.get(TOTAL_NAME, counter), CellOutcome::Value(of_0 + of_1), "{counter:?}");
    }
}

/// Checks that ids and title indexes of the NUMA countersets never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let of = |set: &perfset_core::Counterset| {
        let counters = set.counters.iter().map(|c| (c.id.0, c.v1_index.unwrap()));
        (set.guid.to_string(), set.v1_index.unwrap(), counters.collect::<Vec<_>>())
    };
    assert_eq!(
        of(&numa_node_memory::COUNTERSET),
        (
            "98773907-4ee1-5170-a77d-1e38ad1434a5".into(),
            21600,
            vec![(0, 21602), (1, 21604), (2, 21606), (3, 21608), (4, 1382)]
        )
    );
    assert_eq!(
        of(&linux_numa::COUNTERSET),
        (
            "22809462-737e-547f-8e03-a7123fcd5d74".into(),
            21610,
            (0..6).map(|id| (id, 21612 + 2 * id)).collect()
        )
    );
}

#[test]
fn only_what_is_needed_is_opened() {
    let tree = Tree::copy_of("two-nodes");
    let (free, hit) = (numa_node_memory::FREE_ZERO_PAGE_LIST_MBYTES, linux_numa::NUMA_HIT);
    let all = [format!("{NODE_0}/meminfo"), NODE_0.replace('0', "1") + "/meminfo", ONLINE.to_owned()];
    assert_eq!(opened(&tree, memory, &[free], &["*"]), all);
    assert_eq!(opened(&tree, memory, &[free], &["0"]), [&all[0], ONLINE]);
    assert_eq!(opened(&tree, memory, &[], &["*"]), [ONLINE]);
    assert_eq!(opened(&tree, pages, &[hit], &["0"]), [&format!("{NODE_0}/numastat"), ONLINE]);
}

#[test]
fn a_fault_costs_only_the_node() {
    for (fault, cause, is_right) in FAULTS {
        for (file, counters) in [
            ("meminfo", KNOWN.map(|known| known.0).to_vec()),
            ("numastat", { TAKEN.map(|known| known.0).to_vec() }),
        ] {
            let tree = Tree::copy_of("two-nodes");
            cause(&tree, &format!("{NODE_0}/{file}"));
            let collected = match file {
                "meminfo" => collect_all(&mut memory(&tree.roots())),
                _ => collect_all(&mut pages(&tree.roots())),
            };
            for counter in counters {
                let is_kept = match (file, fault) {
                    ("meminfo", "cut") => true, // the last line feeds nothing
                    ("numastat", "cut") => counter != linux_numa::OTHER_NODE,
                    _ => false,
                };
                let got = collected.get("0", counter);
                let is_lost = matches!(got, CellOutcome::None(reason) if is_right(reason));
                assert_eq!(is_lost, !is_kept, "{file} {fault}: {got:?}");
                let total = collected.get(TOTAL_NAME, counter);
                let lacks_one = matches!(total, CellOutcome::Partial(_, 1));
                // A file that is not there is not one that cannot be read.
                assert_eq!(lacks_one, !is_kept && fault != "missing", "{file} {fault}: {total:?}");
                assert!(matches!(collected.get("1", counter), CellOutcome::Value(_)), "{file} {fault}");
            }
        }
    }
}

#[test]
fn a_list_of_nodes_that_makes_no_sense() {
    for (fault, cause, _) in FAULTS {
        let tree = Tree::copy_of("two-nodes");
        cause(&tree, ONLINE);
        let got = try_collect(&mut memory(&tree.roots()), &[], &["*"]).map(|collected| collected.rows.len());
        match fault {
            "missing" => assert_eq!(got, Ok(0)),
            _ => assert!(matches!(got, Err(SourceError::Failed(_))), "{fault}: {got:?}"),
        }
    }
}

#[test]
fn nodes_come_and_go() {
    let tree = Tree::copy_of("two-nodes");
    let mut provider = pages(&tree.roots());
    let hit = linux_numa::NUMA_HIT;
    let before = collect(&mut provider, &[hit], &["*"]);
    tree.write("node/online", "1,1023\n");
    tree.write("node/node1023/numastat", "numa_hit 5\n");
    let after = collect(&mut provider, &[hit], &["*"]);
    assert_eq!(after.names(), ["1", "1023", TOTAL_NAME]);
    assert_eq!(
        (after.get("1", hit), after.get("1023", hit)),
        (&CellOutcome::Value(7_077_113), &CellOutcome::Value(5))
    );
    assert_ne!(before.birth(TOTAL_NAME), after.birth(TOTAL_NAME));
}

#[test]
fn other_machines() {
    let old = fixture("old-kernel");
    assert_eq!(collect_all(&mut memory(&old)).names(), [""; 0]);
    assert_eq!(collect_all(&mut pages(&old)).names(), [""; 0]);
    let small = fixture("small-vm");
    let collected = collect_all(&mut memory(&small));
    assert_eq!(collected.names(), ["0", TOTAL_NAME]);
    assert_eq!(*collected.get("0", numa_node_memory::TOTAL_MBYTES), CellOutcome::Value(24_684_096 / 1_024));
    assert!(collect_all(&mut pages(&small)).missing("0").is_empty());
}
