//! Counterset of many instances that only benches have.

use std::sync::Arc;

use perfset_core::{Counter, CounterId, CounterType, Counterset, Guid, InstanceType};
use perfset_engine::Catalogue;

/// Creates a catalogue with one counterset that has counters of these types, numbered from 0. Each counter that needs a
/// base is followed by it.
pub fn catalogue(guid: Guid, types: impl IntoIterator<Item = CounterType>) -> Arc<Catalogue> {
    let counter = |(at, counter_type): (usize, CounterType)| {
        Counter::new(CounterId(at as u32), counter_type)
            .name(format!("Counter {at}"))
            .base(counter_type.needs_base().then_some(CounterId(at as u32 + 1)))
    };
    let set = Counterset::new(guid, "Counting", InstanceType::Multiple)
        .provider(guid, "bench")
        .counters(types.into_iter().enumerate().map(counter));
    Arc::new(Catalogue::new("bench", vec![Arc::new(set)]))
}
