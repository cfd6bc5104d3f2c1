//! Tests of the whole way from a fixture's kernel files to values: query, block, decoding, formulas.

#![cfg(target_os = "linux")]

use perfset::catalogue::processor_information as cpu;
use perfset::v2::{Block, Body, read};
use perfset::visit::Mode;
use perfset::{Entry, InstanceId, NoValue, Snapshot};

use crate::fixture::machine;

#[test]
fn all_counters_of_all_instances() {
    let mut query = machine("two-nodes").query();
    assert!(query.add(&Entry::all(cpu::GUID).instance("*")).is_success());
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    let (block, _) = read(snapshot.block(), Mode::Strict).unwrap();
    let result = block.results().next().unwrap().unwrap();
    let Body::Counterset(ids, table) = result.body else { panic!("{result:?}") };
    assert_eq!(
        ids.iter().collect::<Vec<_>>(),
        cpu::COUNTERSET.counters.iter().map(|c| c.id).collect::<Vec<_>>()
    );
    let names: Vec<_> = table.rows().map(|row| row.unwrap().name().to_string()).collect();
    assert_eq!(names[..2], ["_Total", "0,0"]);
    assert_eq!(names.len(), 10, "seven processors, two nodes, the machine: {names:?}");
    let missing: Vec<_> = snapshot.values(None).filter(|v| v.raw.is_none()).map(|v| v.counter.id.0).collect();
    let never: Vec<_> = names.iter().flat_map(|_| [7, 16, 19, 31]).collect();
    assert_eq!(missing, never, "what Linux does not have, and nothing else");
}

#[test]
fn processor_is_a_view_of_processor_information() {
    use perfset::catalogue::processor;
    let machine = machine("two-nodes");
    let mut query = machine.query();
    assert!(query.add(&Entry::all(processor::GUID).instance("*")).is_success());
    assert!(query.add(&Entry::all(cpu::GUID).instance("*")).is_success());
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    let values: Vec<_> = snapshot.values(None).collect();
    let (view, base): (Vec<_>, Vec<_>) = values.iter().partition(|v| v.entry == 0);
    let mut names: Vec<_> = view.iter().map(|v| v.instance.to_string()).collect();
    names.dedup();
    assert_eq!(names, ["0", "1", "2", "3", "4", "6", "7", "_Total"], "one is offline");
    for v in &view {
        let same =
            base.iter().find(|b| b.instance_id == v.instance_id && b.counter.name == v.counter.name).unwrap();
        // The view has 8 bytes where Processor Information has 4, which wrap.
        assert_eq!(
            v.raw.map(|raw| raw.get() & 0xFFFF_FFFF),
            same.raw.map(|raw| raw.get() & 0xFFFF_FFFF),
            "{v:?}"
        );
        assert_eq!(
            v.value.as_ref().err().map(NoValue::keyword),
            same.value.as_ref().err().map(NoValue::keyword)
        );
    }
    assert_eq!(view.len(), 8 * processor::COUNTERSET.counters.len());
    assert_eq!(processor::COUNTERSET.view_of, Some(cpu::GUID));
}

/// A kernel file that three countersets need, `/proc/stat`, is read once in a collection, and again in the next.
#[test]
fn a_file_is_read_once_a_collection() {
    use perfset::catalogue::{perfset_engine as own, processor, system};
    let machine = machine("small-vm");
    let source_bytes = |entries: &[Entry]| {
        let mut query = machine.query();
        for entry in entries {
            assert!(query.add(entry).is_success());
        }
        assert!(query.add(&Entry::one(own::GUID, own::SOURCE_BYTES_READ_PER_SEC)).is_success());
        let mut sums = Vec::new();
        let mut snapshot = Snapshot::default();
        for _ in 0..3 {
            query.collect(&mut snapshot).unwrap();
            sums.push(snapshot.values(None).last().unwrap().raw.unwrap().get());
        }
        sums[2] - sums[1]
    };
    let busy = Entry::one(cpu::GUID, cpu::PERCENT_PROCESSOR_TIME).instance("_Total");
    let alone = source_bytes(std::slice::from_ref(&busy));
    let of_view = Entry::one(processor::GUID, processor::PERCENT_USER_TIME).instance("_Total");
    let of_system = Entry::one(system::GUID, system::CONTEXT_SWITCHES_PER_SEC);
    assert_eq!(source_bytes(&[busy, of_view, of_system]), alone);
}

#[test]
fn unsupported_counters_are_unavailable() {
    let mut query = machine("old-kernel").query();
    for id in
        [cpu::PERCENT_PROCESSOR_TIME, cpu::PERCENT_DPC_TIME, cpu::PERCENT_C1_TIME, cpu::PROCESSOR_FREQUENCY]
    {
        assert!(query.add(&Entry::one(cpu::GUID, id).instance("_Total")).is_success());
    }
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    let reasons: Vec<_> = snapshot.values(None).map(|v| v.value.unwrap_err()).collect();
    assert_eq!(reasons[0], NoValue::NeedsTwoSamples);
    for reason in &reasons[1..] {
        assert!(matches!(reason, NoValue::Unavailable(_)), "{reason:?}");
    }
}

#[test]
fn instances_are_enumerated_without_values() {
    let instances = machine("small-vm").instances(&cpu::GUID).unwrap();
    let ids: Vec<_> = instances.iter().map(|i| (i.name.to_string(), i.id)).collect();
    let want = [("_Total", 0xFFFF_FFFE), ("0,0", 0), ("0,1", 1), ("0,_Total", 0xFFFF_0000)];
    assert_eq!(ids, want.map(|(name, id)| (name.to_string(), InstanceId(id))));
}

/// Repeated collections allocate no memory, neither in the engine nor for the kernel's files.
#[test]
fn a_warm_collection_allocates_nothing() {
    for fixture in ["two-nodes", "small-vm", "old-kernel"] {
        let mut query = machine(fixture).query();
        assert!(query.add(&Entry::all(cpu::GUID).instance("*")).is_success());
        assert!(
            query.add(&Entry::one(cpu::GUID, cpu::PERCENT_PROCESSOR_TIME).instance("_Total")).is_success()
        );
        let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
        let mut numbers = 0;
        let mut round = || {
            query.collect(&mut new).unwrap();
            let block = Block::parse(new.block()).unwrap();
            for result in block.results() {
                if let Body::Counterset(_, table) = result.unwrap().body {
                    for row in table.rows() {
                        numbers +=
                            row.unwrap().values().into_iter().filter_map(|value| value.number()).count();
                    }
                }
            }
            std::mem::swap(&mut old, &mut new);
        };
        // A file that is not there is looked for again now and then: warm is what comes between.
        for _ in 0..3 {
            round();
        }
        let counted = allocation_counter::measure(|| {
            for _ in 0..10 {
                round();
            }
        });
        assert_eq!(counted.count_total, 0, "{fixture}");
        assert!(numbers > 0, "{fixture}");
    }
}
