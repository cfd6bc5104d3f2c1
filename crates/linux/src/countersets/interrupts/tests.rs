//! Tests of the counterset Interrupts, collected from trees of test files.

use perfset_catalogue::interrupts::{COUNTERSET, INTERRUPTS_PER_SEC};
use perfset_engine::{FactKind, Provider};

use super::Interrupts;
use crate::provider::{Collection, InstanceSource, MultiInstanceProvider, multi_instance};
use crate::roots::Roots;
use crate::testing::{CellOutcome, FAULTS, Tree, collect, collect_all, fixture, opened, try_collect};

fn provider(roots: &Roots) -> MultiInstanceProvider<Interrupts> {
    multi_instance(Interrupts::new(roots))
}

#[test]
fn every_row() {
    let collected = collect_all(&mut provider(&fixture("two-nodes")));
    let known = [
        ("0 timer", 401 + 409 + 419 + 421 + 431 + 433 + 439),
        ("8 rtc0", 443 + 449 + 457 + 461 + 463 + 467 + 479),
        ("24 nvme0q0", 487 + 491 + 499 + 503 + 509 + 521 + 523),
        ("NMI", 541 + 547 + 557 + 563 + 569 + 571 + 577),
        ("LOC", 587 + 593 + 599 + 601 + 607 + 613 + 617),
        ("RES", 619 + 631 + 641 + 643 + 647 + 653 + 659),
        ("ERR", 661),
        ("MIS", 673),
        ("PIN", 677 + 683 + 691 + 701 + 709 + 719 + 727),
    ];
    assert_eq!(collected.names(), known.map(|(name, _)| name));
    for (name, count) in known {
        assert_eq!(*collected.get(name, INTERRUPTS_PER_SEC), CellOutcome::Value(count), "{name}");
    }
    assert_eq!(collected.rows[2].1, 24, "the id is the number of the interrupt");
}

#[test]
fn an_interrupt_of_another_device_is_another_instance() {
    let tree = Tree::proc_of("two-nodes");
    let mut provider = provider(&tree.roots());
    collect(&mut provider, &[], &["*"]);
    tree.write("proc/interrupts", "  CPU0\n 24: 7 PCI-MSIX-0000:41:00.0   0-edge      nvme1q0\nLOC: 5 x\n");
    let collected = collect(&mut provider, &[INTERRUPTS_PER_SEC], &["*"]);
    assert_eq!(collected.names(), ["24 nvme1q0", "LOC"]);
    assert_eq!(*collected.get("LOC", INTERRUPTS_PER_SEC), CellOutcome::Value(5));
}

#[test]
fn each_row_has_a_fact() {
    let mut source = Interrupts::new(&fixture("two-nodes"));
    let mut pass = Collection::new(7, 0);
    source.find(&mut pass).unwrap();
    let mut about = |at| {
        let mut facts = source.facts(at, &mut pass);
        let fact = facts.remove(0);
        assert_eq!((fact.kind, facts.len()), (FactKind::Device, 0));
        fact.text.unwrap()
    };
    assert_eq!(about(0), "IR-IO-APIC    2-edge      timer");
    assert_eq!(about(4), "Local timer interrupts");
}

#[test]
fn faults() {
    for (fault, cause, _) in FAULTS {
        let tree = Tree::proc_of("two-nodes");
        cause(&tree, "proc/interrupts");
        assert!(try_collect(&mut provider(&tree.roots()), &[], &["*"]).is_err(), "{fault}");
    }
    let tree = Tree::proc_of("two-nodes");
    assert_eq!(opened(&tree, provider, &[INTERRUPTS_PER_SEC], &["LOC"]), ["proc/interrupts"]);
    assert!(provider(&tree.roots()).catalogue().is_ok());
}

/// Checks that ids and title indexes of the counterset Interrupts never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| (c.id.0, c.v1_index.unwrap())).collect();
    assert_eq!(indexes, [(0, 25_202)]);
    assert_eq!(COUNTERSET.v1_index, Some(25_200));
}
