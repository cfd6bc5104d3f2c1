//! Tests of the generated tables of countersets against facts that do not come from the generator.

use std::collections::{BTreeMap, BTreeSet};

use perfset_core::likeness::likeness;
use perfset_core::{Attributes, CounterId, CounterType as T, Counterset, DetailLevel, Guid, InstanceType};

use crate::{
    ALL, ValueRange, by_guid, perfset_engine, physical_disk, process_v2, processor, processor_information,
    search_words, value_range,
};

/// Id, name, type and bytes of a value. Source: MS Learn, "Using the PerfLib Functions to Consume Counter Data".
const PROCESSOR_INFORMATION: &[(u32, Option<&str>, T, u32)] = &[
    (0, Some("% Processor Time"), T::PERF_100NSEC_TIMER_INV, 8),
    (1, Some("% User Time"), T::PERF_100NSEC_TIMER, 8),
    (2, Some("% Privileged Time"), T::PERF_100NSEC_TIMER, 8),
    (3, Some("Interrupts/sec"), T::PERF_COUNTER_COUNTER, 4),
    (4, Some("% DPC Time"), T::PERF_100NSEC_TIMER, 8),
    (5, Some("% Interrupt Time"), T::PERF_100NSEC_TIMER, 8),
    (6, Some("DPCs Queued/sec"), T::PERF_COUNTER_COUNTER, 4),
    (7, Some("DPC Rate"), T::PERF_COUNTER_RAWCOUNT, 4),
    (8, Some("% Idle Time"), T::PERF_100NSEC_TIMER, 8),
    (9, Some("% C1 Time"), T::PERF_100NSEC_TIMER, 8),
    (10, Some("% C2 Time"), T::PERF_100NSEC_TIMER, 8),
    (11, Some("% C3 Time"), T::PERF_100NSEC_TIMER, 8),
    (12, Some("C1 Transitions/sec"), T::PERF_COUNTER_BULK_COUNT, 8),
    (13, Some("C2 Transitions/sec"), T::PERF_COUNTER_BULK_COUNT, 8),
    (14, Some("C3 Transitions/sec"), T::PERF_COUNTER_BULK_COUNT, 8),
    (15, Some("% Priority Time"), T::PERF_100NSEC_TIMER_INV, 8),
    (16, Some("Parking Status"), T::PERF_COUNTER_RAWCOUNT, 4),
    (17, Some("Processor Frequency"), T::PERF_COUNTER_RAWCOUNT, 4),
    (18, Some("% of Maximum Frequency"), T::PERF_COUNTER_RAWCOUNT, 4),
    (19, Some("Processor State Flags"), T::PERF_COUNTER_RAWCOUNT, 4),
    (20, Some("Clock Interrupts/sec"), T::PERF_COUNTER_COUNTER, 4),
    (21, Some("Average Idle Time"), T::PERF_PRECISION_100NS_TIMER, 8),
    (22, Some("Average Idle Time Base"), T::PERF_PRECISION_TIMESTAMP, 8),
    (23, Some("Idle Break Events/sec"), T::PERF_COUNTER_BULK_COUNT, 8),
    (24, Some("% Processor Performance"), T::PERF_AVERAGE_BULK, 8),
    (25, Some("% Processor Performance Base"), T::PERF_AVERAGE_BASE, 4),
    (26, Some("% Processor Utility"), T::PERF_AVERAGE_BULK, 8),
    (27, None, T::PERF_AVERAGE_BASE, 4),
    (28, Some("% Privileged Utility"), T::PERF_AVERAGE_BULK, 8),
    (30, Some("% Performance Limit"), T::PERF_COUNTER_RAWCOUNT, 4),
    (31, Some("Performance Limit Flags"), T::PERF_COUNTER_RAWCOUNT, 4),
];

#[test]
fn processor_information_is_as_documented() {
    let set = &processor_information::COUNTERSET;
    assert_eq!(set.guid.to_string(), "b4fc721a-0378-476f-89ba-a5a79f810b36");
    assert_eq!(set.provider.guid.to_string(), "383487a6-3676-4870-a4e7-d45b30c35629");
    assert_eq!((set.instance_type, set.detail()), (InstanceType::Multiple, DetailLevel::NOVICE));
    let found = set.counters.iter();
    let found: Vec<_> =
        found.map(|c| (c.id.0, c.name.as_deref(), c.counter_type, c.counter_type.value_len())).collect();
    assert_eq!(found, PROCESSOR_INFORMATION);

    let bases = set.counters.iter().filter_map(|c| Some((c.id.0, c.base?.0)));
    assert_eq!(bases.collect::<Vec<_>>(), [(21, 22), (24, 25), (26, 27), (28, 27)]);
    let wrapping = set.counters.iter().filter(|c| c.wraps).map(|c| c.id.0);
    assert_eq!(wrapping.collect::<Vec<_>>(), [3, 6, 20, 25, 27]);
}

#[test]
fn constants_name_their_counters() {
    use processor_information as p;
    for (set, id, name) in [
        (&p::COUNTERSET, p::PERCENT_OF_MAXIMUM_FREQUENCY, Some("% of Maximum Frequency")),
        (&p::COUNTERSET, p::DPCS_QUEUED_PER_SEC, Some("DPCs Queued/sec")),
        (&p::COUNTERSET, p::UTILITY_BASE, None),
        (&perfset_engine::COUNTERSET, perfset_engine::MISSING_VALUES, Some("Missing Values")),
    ] {
        assert_eq!(set.counter(id).unwrap().name.as_deref(), name, "{id:?}");
    }
}

#[test]
fn every_counterset_is_found_by_its_guid() {
    for set in ALL {
        assert_eq!(by_guid(set.guid).map(|found| &found.name), Some(&set.name));
    }
    assert_eq!(by_guid(perfset_core::Guid::NIL), None);
}

#[test]
fn names_of_countersets_do_not_look_alike() {
    let names: BTreeSet<String> = ALL.iter().map(|set| likeness(&set.name)).collect();
    assert_eq!(names.len(), ALL.len());
}

#[test]
fn related_counters_exist_and_bases_are_hidden() {
    let related =
        |set: &Counterset, id: Option<CounterId>| id.map(|id| set.counter(id).unwrap().counter_type);
    for set in ALL {
        for c in set.counters.iter() {
            let place = format!("{} {}", set.name, c.id.0);
            assert!(related(set, c.base).is_none_or(T::is_base), "{place}");
            for id in [c.perf_time, c.perf_freq] {
                assert!(related(set, id).is_none_or(|t| t == T::PERF_COUNTER_LARGE_RAWCOUNT), "{place}");
            }
            assert!(related(set, c.multi).is_none_or(|t| t == T::PERF_COUNTER_RAWCOUNT), "{place}");
            assert_eq!(
                c.counter_type.is_base(),
                c.attributes.contains(Attributes::NO_DISPLAYABLE),
                "{place}"
            );
            assert!(c.attributes.is_allowed(), "{place}");
        }
    }
}

#[test]
fn counters_without_source_give_a_reason() {
    for set in ALL {
        for c in set.counters.iter() {
            assert!(!c.source.is_empty() || !c.availability.is_empty(), "{} {}", set.name, c.id.0);
            assert!(c.help.contains(&*c.availability), "{} {}", set.name, c.id.0);
        }
    }
}

#[test]
fn v1_indexes_have_one_name_and_leave_room_for_the_help() {
    let mut names = BTreeMap::new();
    for set in ALL {
        let counters = set.counters.iter().map(|c| (c.v1_index, c.name.clone().unwrap_or_default()));
        let mut in_set = BTreeSet::new();
        for (index, name) in std::iter::once((set.v1_index, set.name.clone())).chain(counters) {
            let index = index.unwrap();
            assert!(index % 2 == 0 && in_set.insert(index), "{} {index}", set.name);
            let known = names.entry(index).or_insert_with(|| name.clone());
            assert_eq!(*known, name, "{} {index}", set.name);
        }
    }
}

/// Never to change: programs and logs hold these numbers.
#[test]
fn perfset_engine_keeps_its_identity() {
    let set = &perfset_engine::COUNTERSET;
    assert_eq!(set.guid.to_string(), "90864ab3-f160-5cda-97c2-67be2a74db10");
    assert_eq!((set.instance_type, set.v1_index), (InstanceType::Single, Some(20064)));
    let ids: Vec<_> = set.counters.iter().map(|c| c.id.0).collect();
    assert_eq!(ids, Vec::from_iter(0..13));
}

#[test]
fn search_words_stand_for_countersets_and_counters() {
    let words = search_words(processor_information::GUID).unwrap();
    assert!(words.counterset.contains(&"cpu"));
    assert!(words.counter(processor_information::PERCENT_PROCESSOR_TIME).contains(&"cpu usage"));
    assert_eq!(words.first, Some(processor_information::PERCENT_PROCESSOR_TIME));
    assert!(words.counter(CounterId(u32::MAX)).is_empty());
    // A view has those of the counters that it shows.
    let view = search_words(processor::GUID).unwrap();
    assert!(view.counter(processor::PERCENT_PROCESSOR_TIME).contains(&"cpu usage"));
    assert!(search_words(Guid::NIL).is_none());
}

#[test]
fn counters_of_one_unit_have_different_ranges() {
    use ValueRange::{Percent, PercentOfProcessors, Unbounded};

    for (set, id, range) in [
        (processor_information::GUID, processor_information::PERCENT_PROCESSOR_TIME, Percent),
        (processor::GUID, processor::PERCENT_PROCESSOR_TIME, Percent),
        (physical_disk::GUID, physical_disk::PERCENT_IDLE_TIME, Percent),
        (physical_disk::GUID, physical_disk::PERCENT_DISK_TIME, Unbounded),
        (process_v2::GUID, process_v2::PERCENT_PROCESSOR_TIME, PercentOfProcessors),
        (processor::GUID, CounterId(u32::MAX), Unbounded),
        (Guid::NIL, CounterId(0), Unbounded),
    ] {
        assert_eq!(value_range(set, id), range, "{set} {id:?}");
    }
    let words = [Unbounded, Percent, PercentOfProcessors].map(ValueRange::keyword);
    assert_eq!(words, ["unbounded", "0..100", "0..100 x CPUs"]);
    // A value that is cut to 100 has a range that ends there.
    for set in ALL {
        for counter in set.counters.iter().filter(|counter| counter.caps) {
            assert_eq!(value_range(set.guid, counter.id), Percent, "{}: {:?}", set.name, counter.name);
        }
    }
}
