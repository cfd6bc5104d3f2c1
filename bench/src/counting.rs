//! A counterset of many instances that only benches have.

use std::sync::Arc;

use perfset_core::{
    Aggregate, Attributes, Counter, CounterId, CounterType, Counterset, DetailLevel, Guid, InstanceType,
    ProviderIdentity,
};
use perfset_engine::Catalogue;

/// With counters of these types, numbered from 0; one that needs a base is followed by it.
pub fn catalogue(guid: Guid, types: impl IntoIterator<Item = CounterType>) -> Arc<Catalogue> {
    let counter = |(at, counter_type): (usize, CounterType)| Counter {
        id: CounterId(at as u32),
        name: Some(format!("Counter {at}").into()),
        help: "".into(),
        counter_type,
        attributes: Attributes::default(),
        detail: DetailLevel::NOVICE,
        default_scale: 0,
        base: counter_type.needs_base().then_some(CounterId(at as u32 + 1)),
        perf_time: None,
        perf_freq: None,
        multi: None,
        aggregate: Aggregate::Undefined,
        unit: "".into(),
        wraps: false,
        source: "".into(),
        availability: "".into(),
        v1_index: None,
    };
    let set = Counterset {
        guid,
        name: "Counting".into(),
        help: "".into(),
        scope: "".into(),
        provider: ProviderIdentity { guid, name: "bench".into() },
        instance_type: InstanceType::Multiple,
        counters: types.into_iter().enumerate().map(counter).collect(),
        translations: Vec::new().into(),
        v1_index: None,
        view_of: None,
    };
    Arc::new(Catalogue { origin: "bench".into(), countersets: vec![Arc::new(set)] })
}
