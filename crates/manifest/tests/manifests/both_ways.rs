//! Tests that written and exported manifests are read with the same contents.

use std::path::Path;

use perfset_catalogue as catalogue;
use perfset_core::{
    Aggregate, Attributes, Counter, CounterId, CounterType as T, Counterset, DetailLevel, Guid, InstanceType,
};
use perfset_manifest::{ExportError, Manifest};
use proptest::prelude::*;

fn no_problem(text: &str) -> Manifest {
    let (manifest, problems) = Manifest::check(text.as_bytes());
    assert!(problems.is_empty(), "{problems}\n{text}");
    manifest.unwrap()
}

#[test]
fn samples_are_written_as_they_were_read() {
    for name in ["waves.man", "orders.man", "driver.man", "bakery.man"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/manifests").join(name);
        let manifest = Manifest::parse(&std::fs::read(file).unwrap()).unwrap();
        assert_eq!(no_problem(&manifest.write()), manifest, "{name}");
    }
}

/// Returns a counterset with only the properties that a manifest can express.
fn expressible(set: &Counterset) -> Counterset {
    let counters = set.counters.iter().map(|counter| {
        let Counter { unit, wraps, caps, cost_class, source, availability, v1_index, .. } =
            Counter::published(counter.id, counter.counter_type);
        let detail = counter.detail.min(DetailLevel::ADVANCED);
        counter
            .clone()
            .unit(unit)
            .wraps(wraps)
            .caps(caps)
            .cost_class(cost_class)
            .source(source)
            .availability(availability)
            .v1_index(v1_index)
            .detail(detail)
    });
    set.clone()
        .counters(counters)
        .translations(Vec::new())
        .v1_index(None)
        .default_counter(None)
        .view_of(None)
        .scope("")
}

/// Checks that each built-in counterset can be exported, with the clocks that it lacks.
#[test]
fn the_catalogue_is_exported() {
    let mut with_clocks = Vec::new();
    for set in catalogue::ALL {
        let manifest = Manifest::export(std::slice::from_ref(*set)).unwrap();
        assert_eq!(no_problem(&manifest.write()), manifest, "{}", set.name);
        let [again] = &manifest.countersets()[..] else { panic!() };
        let mut again = again.clone();
        let added = again.counters.to_mut().split_off(set.counters.len());
        for counter in again.counters.to_mut() {
            let is_elapsed = counter.counter_type == T::PERF_ELAPSED_TIME;
            assert_eq!(counter.perf_time.is_some(), is_elapsed, "{}: {}", set.name, counter.id.0);
            assert_eq!(counter.perf_freq.is_some(), is_elapsed, "{}: {}", set.name, counter.id.0);
            (counter.perf_time, counter.perf_freq) = (None, None);
        }
        assert_eq!(again, expressible(set));
        if !added.is_empty() {
            assert_eq!(added.len(), 2);
            assert!(added.iter().all(|clock| set.counter(clock.id).is_none()));
            assert!(
                added
                    .iter()
                    .all(|clock| clock.attributes == Attributes::NO_DISPLAYABLE && clock.name.is_none())
            );
            with_clocks.push(set.name.to_string());
        }
    }
    assert!(
        with_clocks.contains(&"System".to_owned()) && with_clocks.len() < catalogue::ALL.len(),
        "{with_clocks:?}"
    );
}

#[test]
fn symbols_are_spelled_as_the_catalogue_spells_them() {
    let manifest =
        Manifest::export(std::slice::from_ref(&catalogue::processor_information::COUNTERSET)).unwrap();
    let set = &manifest.provider.sets[0];
    let user =
        set.counters.iter().find(|counter| counter.counter.name.as_deref() == Some("% User Time")).unwrap();
    assert_eq!(manifest.provider.symbol.as_deref(), Some("ProcessorProvider"));
    assert_eq!(set.symbol, "ProcessorInformation");
    assert_eq!(user.symbol.as_deref(), Some("PROCESSOR_INFORMATION_PERCENT_USER_TIME"));
    assert_eq!(user.uri, "ProcessorProvider.ProcessorInformation.1");
}

fn simple(id: u32) -> Counter {
    Counter::published(CounterId(id), T::PERF_COUNTER_RAWCOUNT)
        .name(format!("Counter {id}"))
        .help("What it counts.")
}

fn of_type(id: u32, counter_type: T) -> Counter {
    let mut counter = simple(id);
    counter.counter_type = counter_type;
    counter
}

fn set(guid: u128, counters: Vec<Counter>) -> Counterset {
    Counterset::new(Guid::from_u128(guid), format!("Set {guid}"), InstanceType::Single)
        .provider(Guid::from_u128(7), "Tests")
        .counters(counters)
}

#[test]
fn unexportable_countersets_are_rejected() {
    let error = |sets: &[Counterset]| Manifest::export(sets).unwrap_err().to_string();
    assert_eq!(Manifest::export(&[]), Err(ExportError::Empty));
    let mut other = set(2, vec![simple(1)]);
    other.provider.guid = Guid::NIL;
    assert_eq!(
        error(&[set(1, vec![simple(1)]), other]),
        "\"Set 1\" and \"Set 2\" have different providers, but a manifest has only one"
    );
    let mut merged = set(1, vec![simple(1)]);
    merged.instance_type = InstanceType::InstanceAggregate;
    assert_eq!(error(&[merged]), "\"Set 1\" merges instances of one name, which a manifest cannot express");
    let typed = |counter_type| set(1, vec![of_type(1, counter_type)]);
    assert_eq!(
        error(&[typed(T::PERF_DOUBLE_RAW)]),
        "\"Set 1\", counter 1: a manifest cannot express the type PERF_DOUBLE_RAW"
    );
    assert_eq!(error(&[typed(T(3))]), "\"Set 1\", counter 1: a manifest cannot express the type 0x00000003");
    assert!(error(&[typed(T::PERF_AVERAGE_BULK)]).contains("counter has no baseID"));
    assert!(error(&[set(1, vec![simple(1), simple(1)])]).contains("id 1 belongs to a counter above"));
    assert!(error(&[set(1, Vec::new())]).contains("counterSet has no counter"));
}

#[test]
fn clocks_have_ids_that_are_free() {
    let elapsed = |id| of_type(id, T::PERF_ELAPSED_TIME);
    for (ids, want) in [(&[1, 5][..], [6, 7]), (&[0xFFFF_FFFE, 0, 2], [1, 3])] {
        let counters = ids.iter().map(|id| elapsed(*id)).collect();
        let again = &Manifest::export(&[set(1, counters)]).unwrap().countersets()[0];
        let clocks = |c: &Counter| [c.perf_time.unwrap().0, c.perf_freq.unwrap().0];
        assert!(again.counters.iter().take(ids.len()).all(|counter| clocks(counter) == want), "{ids:?}");
    }
}

/// Returns a strategy for any text that XML permits and that is not too long for a name.
fn text() -> impl Strategy<Value = String> {
    let c = prop_oneof![
        any::<char>(),
        prop::sample::select(vec!['&', '<', '>', '"', '\'', '\n', '\r', '\t', ' ', '\u{FFFD}', '𝄞', ']']),
        prop::char::range('a', 'z'),
    ];
    let is_xml = |c: &char| match *c {
        '\t' | '\n' | '\r' => true,
        c => c >= ' ' && !('\u{FFFE}'..='\u{FFFF}').contains(&c),
    };
    prop::collection::vec(c.prop_filter("XML", is_xml), 0..20).prop_map(|chars| chars.into_iter().collect())
}

/// Returns a strategy for counters of all types, each followed by the counters that it needs.
fn counters() -> impl Strategy<Value = Vec<Counter>> {
    let types: Vec<T> = T::ALL.iter().map(|(known, _)| *known).collect();
    let no = [T::PERF_COUNTER_NODATA, T::PERF_COUNTER_HISTOGRAM_TYPE, T::PERF_DOUBLE_RAW];
    let types = types.into_iter().filter(|known| !no.contains(known)).collect::<Vec<_>>();
    let allowed: Vec<u64> = (0..32).filter(|bits| Attributes(*bits).is_allowed()).collect();
    let detail = prop::sample::select(vec![DetailLevel::NOVICE, DetailLevel::ADVANCED]);
    let one = (
        prop::sample::select(types),
        text(),
        text(),
        prop::sample::select(allowed),
        detail,
        -10..=10,
        0..5_u32,
        1..9_u32,
    );
    prop::collection::vec(one, 1..12).prop_map(|all| {
        let mut counters: Vec<Counter> = Vec::new();
        let (mut id, mut clock) = (0, None);
        for (counter_type, name, help, bits, detail, default_scale, aggregate, step) in all {
            let mut next = || {
                id += step;
                CounterId(id)
            };
            let attributes = Attributes(bits);
            let is_hidden = attributes.contains(Attributes::NO_DISPLAYABLE);
            let mut counter = of_type(next().0, counter_type)
                .attributes(attributes)
                .detail(detail)
                .default_scale(default_scale)
                .aggregate(Aggregate::from_wire(aggregate).unwrap())
                .help(help);
            counter.name = match (is_hidden, name.is_empty()) {
                (true, true) => None,
                // Names are unique, also without their capitals.
                _ => Some(format!("{} {name}", counter.id.0).into()),
            };
            let mut other = |counter_type| {
                let other = of_type(next().0, counter_type).hidden().name("").help("");
                counters.push(other);
                counters.last().unwrap().id
            };
            match counter_type {
                T::PERF_AVERAGE_TIMER | T::PERF_AVERAGE_BULK => {
                    counter.base = Some(other(T::PERF_AVERAGE_BASE))
                }
                T::PERF_SAMPLE_FRACTION => counter.base = Some(other(T::PERF_SAMPLE_BASE)),
                T::PERF_RAW_FRACTION => counter.base = Some(other(T::PERF_RAW_BASE)),
                T::PERF_LARGE_RAW_FRACTION
                | T::PERF_PRECISION_SYSTEM_TIMER
                | T::PERF_PRECISION_100NS_TIMER => {
                    counter.base = Some(other(T::PERF_LARGE_RAW_BASE));
                }
                T::PERF_COUNTER_MULTI_TIMER
                | T::PERF_COUNTER_MULTI_TIMER_INV
                | T::PERF_100NSEC_MULTI_TIMER
                | T::PERF_100NSEC_MULTI_TIMER_INV => {
                    counter.multi = Some(other(T::PERF_COUNTER_RAWCOUNT));
                }
                T::PERF_ELAPSED_TIME
                | T::PERF_OBJ_TIME_TIMER
                | T::PERF_PRECISION_OBJECT_TIMER
                | T::PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE => {
                    let shared = *clock.get_or_insert_with(|| other(T::PERF_COUNTER_LARGE_RAWCOUNT));
                    (counter.perf_time, counter.perf_freq) = (Some(shared), Some(shared));
                }
                _ => {}
            }
            counters.push(counter);
        }
        counters
    })
}

fn countersets() -> impl Strategy<Value = Vec<Counterset>> {
    let instances = prop::sample::select(vec![
        InstanceType::SingleAggregate,
        InstanceType::MultiAggregate,
        InstanceType::SingleAggregateHistory,
    ]);
    let one = (text(), text(), instances, counters());
    (text(), prop::collection::vec(one, 1..4)).prop_map(|(provider, all)| {
        let sets = all.into_iter().zip(1..).map(|((name, help, instance_type, counters), number)| {
            Counterset::new(Guid::from_u128(number), format!("{name}{number}"), instance_type)
                .help(help)
                .provider(Guid::from_u128(9), format!("P{provider}"))
                .counters(counters)
        });
        sets.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn countersets_come_back(sets in countersets()) {
        let manifest = Manifest::export(&sets).unwrap();
        let expected: Vec<_> = sets.iter().map(expressible).collect();
        prop_assert_eq!(manifest.countersets(), expected);
        prop_assert_eq!(no_problem(&manifest.write()), manifest);
    }

    #[test]
    fn any_bytes_can_be_checked(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let (manifest, problems) = Manifest::check(&bytes);
        prop_assert!(manifest.is_none() && problems.errors().count() > 0);
    }
}
