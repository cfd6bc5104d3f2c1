use std::sync::OnceLock;

use perfset_core::{Attributes, CounterId, Guid, InstanceType, NoValue};
use perfset_engine::{Entry, Query, Snapshot};

use crate::publish::{
    Cells, Counter64, CounterField, CounterInfo, Counterset, Definition, PublishedInstance,
};
use crate::tests::{Place, Striped, query};

/// Counterset of five counters, with rows for threads or without; the middle counter cannot be read.
struct Five<const STRIPES: usize>([Counter64; 5]);

impl<const STRIPES: usize> Five<STRIPES> {
    const GUID: Guid = Guid::from_u128(0x9c1f_11f4_5a5c_4a3e_8e0d_5c6b_7a89_0000 + STRIPES as u128);
}

impl<const STRIPES: usize> Counterset for Five<STRIPES> {
    fn definition() -> &'static Definition {
        static DEFINITIONS: [OnceLock<Definition>; 2] = [OnceLock::new(), OnceLock::new()];
        DEFINITIONS[STRIPES.min(1)].get_or_init(|| {
            let name: &str = if STRIPES > 0 { "Test Five, striped" } else { "Test Five" };
            let set =
                Definition::new(Self::GUID, name, "", (Self::GUID, "Test"), InstanceType::Multiple, STRIPES);
            (1..=5).fold(set, |set, id| {
                let attributes = if id == 3 { Attributes::BY_REFERENCE } else { Attributes::default() };
                set.field::<Counter64>(CounterInfo {
                    attributes,
                    name: Some("of five"),
                    ..CounterInfo::new(id)
                })
            })
        })
    }

    fn attach(cells: &mut Cells) -> Self {
        Self(std::array::from_fn(|_| Counter64::attach(cells)))
    }
}

/// Collects, and returns each counter with its value, or the reason for a missing value.
fn values(query: &mut Query) -> Vec<(u32, Result<u64, String>)> {
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    let value = |value: perfset_engine::Value<'_>| {
        let raw = value.raw.map(perfset_core::RawValue::get);
        let reason = value.value.err().map(|reason: NoValue| reason.to_string());
        (value.counter.id.0, raw.ok_or_else(|| reason.unwrap_or_default()))
    };
    snapshot.values(None).map(value).collect()
}

fn whichever_counters_are_wanted<const STRIPES: usize>(name: &str) {
    let place = Place::new(name);
    let publisher = place.publisher();
    let all: [PublishedInstance<Five<STRIPES>>; 2] = ["a", "b"].map(|name| publisher.instance(name));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for (row, instance) in (1..).zip(&all) {
                    let counters = (1..).zip(&instance.0);
                    counters.for_each(|(id, counter)| counter.add(row * 1000 + id));
                }
            });
        }
    });
    let machine = place.machine();
    for wanted in [&[1, 2, 3, 4, 5][..], &[1, 2], &[4, 5], &[2], &[1, 4], &[3], &[2, 3], &[1, 2, 4, 5]] {
        let mut query = machine.query();
        let ids = wanted.iter().map(|id| CounterId(*id));
        let entry = Entry::several(Five::<STRIPES>::GUID, ids).instance("*");
        assert!(query.add(&entry).is_success());
        for _ in 0..2 {
            let expected: Vec<_> = (1..=2_u64)
                .flat_map(|row| wanted.iter().map(move |id| (*id, 3 * (row * 1000 + u64::from(*id)))))
                .map(|(id, value)| match id {
                    3 => (id, Err("unavailable: the program did not say it".to_owned())),
                    _ => (id, Ok(value)),
                })
                .collect();
            assert_eq!(values(&mut query), expected, "{wanted:?} of {STRIPES} stripes");
        }
    }
}

#[test]
fn counter_subsets_without_stripes() {
    whichever_counters_are_wanted::<0>("wanted");
}

#[test]
fn counter_subsets_with_stripes() {
    whichever_counters_are_wanted::<2>("wanted-striped");
}

/// Checks that a warm collection allocates no memory, from few files or from many.
#[test]
fn a_warm_collection_allocates_nothing() {
    let place = Place::new("allocations");
    let published: Vec<_> = (0..50)
        .map(|n| {
            let publisher = place.publisher();
            let instances = ["a", "b"].map(|name| publisher.instance_with_id::<Striped>(name, n));
            (publisher, instances)
        })
        .collect();
    let machine = place.machine();
    let mut query = query(&machine, Striped::GUID);
    let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
    let mut round = || {
        query.collect(&mut new).unwrap();
        std::mem::swap(&mut old, &mut new);
    };
    // A directory that changed a moment ago is listed again.
    std::thread::sleep(std::time::Duration::from_millis(50));
    for _ in 0..3 {
        round();
    }
    let counted = allocation_counter::measure(|| {
        for _ in 0..10 {
            published[7].1[0].events.add(1);
            round();
        }
    });
    assert_eq!(counted.count_total, 0);
    assert_eq!(old.values(None).filter(|value| value.raw.is_some()).count(), 50 * 2 * 4);
}
