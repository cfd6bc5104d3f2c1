//! Tests of the registry, queries and collection, rule by rule, over a scripted provider.

use std::sync::Arc;

use perfset_catalogue::perfset_engine as own;
use perfset_core::v2::{Block, Body, read};
use perfset_core::visit::Mode;
use perfset_core::*;

use crate::testing::{FixedClock, Scripted};
use crate::values::Value;
use crate::*;

mod collection;
mod pairing;
mod providers;
mod queries;
mod reasons;
mod registration;
mod values;

const MULTI: Guid = Guid::from_u128(0x0000_0002);
const SINGLE: Guid = Guid::from_u128(0x0000_0001);
const OTHER: Guid = Guid::from_u128(0x0000_0003);
const UNKNOWN: Guid = Guid::from_u128(0x0000_0004);

pub fn counter(id: u32, name: &'static str, counter_type: CounterType, base: Option<u32>) -> Counter {
    Counter::new(CounterId(id), counter_type)
        .name(name)
        .base(base.map(CounterId))
        .wraps(counter_type.value_len() == 4)
}

/// Returns a counterset with the counters 7 (8 bytes), 3 (4 bytes), and 5 with its base 9, in this order.
pub fn set(guid: Guid, instance_type: InstanceType) -> Counterset {
    Counterset::new(guid, "Set", instance_type).provider(Guid::from_u128(11), "Scripted").counters([
        counter(7, "Total", CounterType::PERF_COUNTER_LARGE_RAWCOUNT, None),
        counter(3, "Events/sec", CounterType::PERF_COUNTER_COUNTER, None),
        counter(5, "Mean", CounterType::PERF_AVERAGE_BULK, Some(9)),
        counter(9, "", CounterType::PERF_AVERAGE_BASE, None),
    ])
}

fn machine_with(sets: Vec<Counterset>) -> (Machine, Scripted) {
    let machine = Machine::new(Box::new(FixedClock::default()));
    let provider = Scripted::new(sets);
    machine.register(Box::new(provider.clone()));
    (machine, provider)
}

/// Returns a machine with two scripted countersets: one with the instances a/1 and b/2, and one with a single
/// instance.
fn machine() -> (Machine, Scripted) {
    let (machine, provider) =
        machine_with(vec![set(MULTI, InstanceType::Multiple), set(SINGLE, InstanceType::Single)]);
    provider.with(|s| {
        s.rows = vec![
            ("a", 1, vec![Ok(100), Ok(10), Ok(20), Ok(4)]),
            ("b", 2, vec![Ok(200), Ok(30), Ok(50), Ok(5)]),
        ];
    });
    (machine, provider)
}

pub fn collected(query: &mut Query) -> Snapshot {
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    read(snapshot.block(), Mode::Strict).unwrap();
    snapshot
}

/// Returns the results of a snapshot's block, one line each: type, instances and values.
pub fn shapes(snapshot: &Snapshot) -> Vec<String> {
    let block = Block::parse(snapshot.block()).unwrap();
    let values = |values: v2::Values<'_>| values.iter().map(|v| format!(" {v:?}")).collect::<String>();
    block
        .results()
        .map(|result| {
            let result = result.unwrap();
            let rows = |table: v2::InstanceTable<'_>| {
                let row = |row: v2::Instance<'_>| {
                    format!(" {}/{}:{}", row.name(), row.id().0, values(row.values()))
                };
                table.rows().map(|r| row(r.unwrap())).collect::<String>()
            };
            let ids = |ids: v2::Ids<'_>| ids.iter().map(|id| id.0.to_string()).collect::<Vec<_>>().join(",");
            match result.body {
                Body::Error => format!("error {}", result.status.0),
                Body::SingleCounter(value) => format!("single {value:?}"),
                Body::MultipleCounters(i, v) => format!("counters {}:{}", ids(i), values(v)),
                Body::MultipleInstances(table) => format!("instances{}", rows(table)),
                Body::Counterset(i, table) => format!("counterset {}{}", ids(i), rows(table)),
            }
        })
        .collect()
}

fn line(v: &Value<'_>) -> String {
    let value = match &v.value {
        Ok(value) => value.raw.to_string(),
        Err(reason) => reason.keyword().to_string(),
    };
    let mark = v.mark.map(|mark| format!(" {mark:?}")).unwrap_or_default();
    format!("{} {}={value}{mark}", v.instance, v.counter.id.0)
}

pub fn lines(new: &Snapshot, old: Option<&Snapshot>) -> Vec<String> {
    new.values(old).map(|v| line(&v)).collect()
}
