//! Tests of aggregates, sentence by sentence (R-17, R-23, R-46, R-47), over a scripted provider.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use perfset_core::*;
use proptest::prelude::*;

use crate::perflib;
use crate::testing::{FixedClock, ScriptRow, Scripted};
use crate::tests::{collected, counter, lines, set, shapes};
use crate::*;

const ONE: Guid = Guid::from_u128(0x0000_0021);

/// Returns a counterset with counters of all aggregate functions. Counter 2 has 4 bytes; 7 takes a difference; 8 is
/// divided by 9, and 10 by the clock 11 and 12.
fn aggregated(instance_type: InstanceType) -> Counterset {
    type T = CounterType;
    let of = |id, counter_type, base, aggregate| {
        counter(id, "C", counter_type, base).aggregate(aggregate).wraps(false).caps(false)
    };
    let timed = of(10, T::PERF_OBJ_TIME_TIMER, None, Aggregate::Total).clock(CounterId(11), CounterId(12));
    set(ONE, instance_type).counters([
        of(1, T::PERF_COUNTER_LARGE_RAWCOUNT, None, Aggregate::Total),
        of(2, T::PERF_COUNTER_RAWCOUNT, None, Aggregate::Total),
        of(3, T::PERF_COUNTER_LARGE_RAWCOUNT, None, Aggregate::Avg),
        of(4, T::PERF_COUNTER_LARGE_RAWCOUNT, None, Aggregate::Min),
        of(5, T::PERF_COUNTER_LARGE_RAWCOUNT, None, Aggregate::Max),
        of(6, T::PERF_COUNTER_LARGE_RAWCOUNT, None, Aggregate::Undefined),
        of(7, T::PERF_COUNTER_BULK_COUNT, None, Aggregate::Total),
        of(8, T::PERF_AVERAGE_BULK, Some(9), Aggregate::Total),
        of(9, T::PERF_AVERAGE_BASE, None, Aggregate::Total),
        timed,
        of(11, T::PERF_COUNTER_LARGE_RAWCOUNT, None, Aggregate::Max),
        of(12, T::PERF_COUNTER_LARGE_RAWCOUNT, None, Aggregate::Min),
    ])
}

fn machine(instance_type: InstanceType) -> (Machine, Scripted) {
    let machine = Machine::new(Box::new(FixedClock::default()));
    let provider = Scripted::new(vec![aggregated(instance_type)]);
    machine.register(Box::new(provider.clone()));
    (machine, provider)
}

/// Returns a query with one entry.
fn query(machine: &Machine, entry: &Entry) -> Query {
    let mut query = machine.query();
    assert!(query.add(entry).is_success(), "{entry:?}");
    query
}

fn one(counter: u32) -> Entry {
    Entry::one(ONE, CounterId(counter))
}

/// Returns scripted rows with one value each, from names, ids and values.
fn rows(of: &[(&'static str, u32, u64)]) -> Vec<ScriptRow> {
    of.iter().map(|(name, id, value)| (*name, *id, vec![Ok(*value)])).collect()
}

const SINGLE_ROW: [InstanceType; 2] = [InstanceType::SingleAggregate, InstanceType::SingleAggregateHistory];

#[test]
fn functions() {
    const MAX: u64 = u64::MAX;
    let half = 1 << 31;
    for (counter, values, want) in [
        (1, &[2, 3, 5][..], "single U64(10)"),
        (1, &[MAX, 3], "single U64(2)"), // modulo 2^64
        (1, &[7], "single U64(7)"),
        (2, &[2, 3], "single U32(5)"),
        (2, &[half, half, 7], "single U32(7)"), // modulo 2^32
        (3, &[2, 3, 5], "single U64(3)"),       // the floor
        (3, &[MAX, MAX, MAX - 1], "single U64(18446744073709551614)"), // of the sum without wrap
        (4, &[5, 2, 3], "single U64(2)"),
        (4, &[0, 2], "single U64(0)"),
        (5, &[3, 5, 2], "single U64(5)"),
        (6, &[3], "error 232"), // R-20: of one counter the entry fails
    ] {
        for instance_type in SINGLE_ROW {
            let (machine, provider) = machine(instance_type);
            let row = |(id, value): (u32, &u64)| ("a", id, vec![Ok(*value)]);
            provider.with(|s| s.rows = (1..).zip(values).map(row).collect());
            let mut query = query(&machine, &one(counter));
            assert_eq!(shapes(&collected(&mut query)), [want], "{counter} {values:?} {instance_type:?}");
        }
    }
}

/// Aggregates have the width of the counter type, whatever width a provider gives. Raw values that are floating-point
/// numbers have no sum.
#[test]
fn the_type_tells_the_bits() {
    let mut set = aggregated(InstanceType::SingleAggregate);
    set.counters.to_mut().truncate(2);
    set.counters.to_mut()[0].counter_type = CounterType::PERF_DOUBLE_RAW;
    set.counters.to_mut()[1].aggregate = Aggregate::Min;
    let ids = [1, 2].map(CounterId);
    let mut aggregates = super::Aggregates::new(&set, &ids).unwrap();
    let mut rows = Rows::new(&*set.counters);
    rows.start();
    for value in [10, (1 << 32) + 9] {
        let mut row = rows.push("a", InstanceId(0), None);
        row.set(0, 1.5_f64.to_bits());
        row.set_raw(1, RawValue::U64(value));
    }
    let total = aggregates.add_one(&mut rows).next().unwrap();
    rows.end();
    assert_eq!((rows.raw(total, 0), rows.raw(total, 1)), (None, Some(RawValue::U32(9))));
}

#[test]
fn bases_times_and_frequencies_have_functions_of_their_own() {
    let (machine, provider) = machine(InstanceType::SingleAggregate);
    let mut query = query(&machine, &Entry::all(ONE));
    let row = |name, id, ticks: [u64; 5]| -> ScriptRow {
        let zeros = std::iter::repeat_n(Ok(0), 7);
        (name, id, zeros.chain(ticks.into_iter().map(Ok)).collect())
    };
    provider.with(|s| s.rows = vec![row("a", 1, [20, 2, 10, 100, 10]), row("b", 2, [30, 3, 20, 90, 20])]);
    let old = collected(&mut query);
    provider.with(|s| s.rows = vec![row("a", 1, [44, 6, 25, 130, 10]), row("b", 2, [36, 9, 35, 95, 20])]);
    let new = collected(&mut query);
    let all = lines(&new, Some(&old));
    // (44 + 36 - 50) / (15 - 5); (60 - 30) of 130 - 100 ticks.
    assert_eq!((&*all[7], &*all[9]), (" 8=3", " 10=100"));
    assert_eq!(&all[10..], [" 11=130", " 12=10"]);
    // A counter that is requested alone is computed from the others, which are collected with it.
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(5), Ok(1)])]);
    let mut alone = machine.query();
    assert!(alone.add(&one(8)).is_success());
    assert_eq!(shapes(&collected(&mut alone)), ["single U64(5)"]);
}

/// A counterset of instance type 4 or 12 returns one aggregate row, in results like those of a single instance.
#[test]
fn one_aggregate_behaves_as_a_single_instance() {
    for instance_type in SINGLE_ROW {
        let (machine, provider) = machine(instance_type);
        provider.with(|s| s.rows = rows(&[("a", 1, 2), ("b", 2, 3)]));
        let id = |entry: Entry, id| entry.instance_id(InstanceIdFilter::One(InstanceId(id)));
        for (entry, want) in [
            (one(1), "single U64(5)"),
            (one(1).instance(""), "single U64(5)"),
            (one(1).instance("*"), "single U64(5)"), // no table: types of results are those of single instances
            (one(1).instance("_tOTAL"), "single U64(5)"),
            (id(one(1), 0), "single U64(5)"), // over all, whatever their ids are
            (id(one(1), 2), "error 232"),
            (Entry::several(ONE, [CounterId(1), CounterId(2)]), "counters 1,2: U64(5) Empty"),
        ] {
            let mut query = query(&machine, &entry);
            assert_eq!(shapes(&collected(&mut query)), [want], "{entry:?}");
            assert_eq!(query.entries().next().unwrap().instance, None);
        }
        for name in ["a", "_Total*", "?", "**"] {
            let status = machine.query().add(&one(1).instance(name));
            assert_eq!(status, Status::ERROR_INVALID_PARAMETER, "{name}: R-23");
        }
        provider.with(|s| s.rows.clear());
        assert_eq!(shapes(&collected(&mut query(&machine, &one(1)))), ["error 232"]);
        provider.with(|s| s.failure = Some(SourceError::Denied("here".into())));
        assert_eq!(shapes(&collected(&mut query(&machine, &one(1)))), ["error 5"]);
    }
}

/// R-24: all accepted instance names of an aggregate select the same query entry, also after the counterset is gone
/// (R-27).
#[test]
fn all_names_of_one_aggregate_are_the_same() {
    let names = [None, Some(""), Some("*"), Some("_Total"), Some("_TOTAL")];
    let named = |name: Option<&str>| name.map_or_else(|| one(1), |name| one(1).instance(name));
    for added in names {
        for other in names {
            let (machine, provider) = machine(InstanceType::SingleAggregate);
            let mut query = query(&machine, &named(added));
            assert_eq!(query.add(&named(other)), Status::ERROR_ALREADY_EXISTS, "{added:?} {other:?}");
            assert_eq!(query.delete(&named(Some("a"))), Status::ERROR_INVALID_PARAMETER);
            assert_eq!(query.delete(&named(added)), Status::ERROR_SUCCESS);
            assert_eq!(query.add(&named(other)), Status::ERROR_SUCCESS, "{added:?} {other:?}");
            provider.with(|s| s.catalogue = Default::default());
            assert_eq!(query.delete(&named(other)), Status::ERROR_SUCCESS, "{added:?} {other:?}");
            assert_eq!(query.entries().len(), 0);
            assert_eq!(query.delete(&named(other)), Status::ERROR_INVALID_PARAMETER, "{added:?} {other:?}");
        }
    }
    // Of a single instance it is no name.
    let (machine, _) = machine(InstanceType::Single);
    let mut query = query(&machine, &one(1));
    assert_eq!(query.add(&named(Some("_Total"))), Status::ERROR_INVALID_PARAMETER);
    assert_eq!(query.delete(&named(Some("_Total"))), Status::ERROR_INVALID_PARAMETER);
}

/// R-17: an enumeration returns the instances that consumers of each aggregate type see.
#[test]
fn instances_of_each_aggregate_type_are_enumerated() {
    use InstanceType as T;
    for (instance_type, instances, want) in [
        (T::SingleAggregate, &[("a", 3), ("b", 5)][..], "_Total/0"),
        (T::SingleAggregateHistory, &[("a", 3)], "_Total/0"),
        (T::MultiAggregate, &[("b", 3), ("a", 5)], "b/3 a/5 _Total/0"),
        (T::MultiAggregate, &[("b", 3), ("_TOTAL", 5)], "b/3 _TOTAL/5"),
        (T::InstanceAggregate, &[("b", 7), ("a", 5), ("B", 3)], "b/3 a/5"),
        (T::SingleAggregate, &[], "WMI_INSTANCE_NOT_FOUND"),
        (T::MultiAggregate, &[], "WMI_INSTANCE_NOT_FOUND"),
        (T::InstanceAggregate, &[], "WMI_INSTANCE_NOT_FOUND"),
    ] {
        let (machine, provider) = machine(instance_type);
        provider.with(|s| s.rows = instances.iter().map(|(name, id)| (*name, *id, Vec::new())).collect());
        let got = match machine.instances(&ONE) {
            Ok(got) => {
                let got: Vec<_> = got.iter().map(|i| format!("{}/{}", i.name, i.id.0)).collect();
                got.join(" ")
            }
            Err(error) => {
                assert_eq!(error.status(), Status::ERROR_WMI_INSTANCE_NOT_FOUND);
                "WMI_INSTANCE_NOT_FOUND".into()
            }
        };
        assert_eq!(got, want, "{instance_type:?} {instances:?}");
    }
}

/// R-47: results for instance type 6 have a row for each instance, and rows with totals.
#[test]
fn rows_of_type_6() {
    let plain = &[("c1", 1, 2), ("a", 2, 3), ("c2", 0, 5)][..];
    let named = &[("c1", 1, 2), ("_TOTAL", 3, 70), ("a", 2, 3)][..];
    let any = None;
    for (what, instances, name, id, want) in [
        (
            "all, in order of creation, then the total",
            plain,
            "*",
            any,
            "instances c1/1: U64(2) a/2: U64(3) c2/0: U64(5) _Total/0: U64(10)",
        ),
        ("at least one", &[], "*", any, "error 232"),
        ("the name alone is over all", plain, "_total", any, "single U64(10)"),
        ("whatever their ids", plain, "_Total", Some(0), "single U64(10)"),
        ("no other id", plain, "_Total", Some(2), "error 232"),
        ("nothing to be over", &[], "_Total", any, "error 232"),
        ("a name", plain, "A", any, "single U64(3)"),
        ("a pattern that the total does not match", plain, "c*", any, "instances c1/1: U64(2) c2/0: U64(5)"),
        ("one that it does: over what matches", plain, "*a*", any, "instances a/2: U64(3) _Total/0: U64(3)"),
        ("one that only it does", plain, "_*", any, "error 232"),
        ("an id of an instance", plain, "*", Some(2), "instances a/2: U64(3)"),
        ("the id of the total", plain, "*", Some(0), "instances c2/0: U64(5) _Total/0: U64(5)"),
        ("no instance of that id, no total", named, "*", Some(0), "error 232"),
        (
            "a real one takes its place",
            named,
            "*",
            any,
            "instances c1/1: U64(2) _TOTAL/3: U64(70) a/2: U64(3)",
        ),
        ("and is found by name", named, "_Total", any, "single U64(70)"),
        ("and id", named, "_Total", Some(3), "single U64(70)"),
        ("also where its id is not asked", named, "_Total", Some(0), "error 232"),
        ("also in a pattern", named, "*a*", any, "instances _TOTAL/3: U64(70) a/2: U64(3)"),
    ] {
        let (machine, provider) = machine(InstanceType::MultiAggregate);
        provider.with(|s| s.rows = rows(instances));
        let id = id.map_or(InstanceIdFilter::Any, |id| InstanceIdFilter::One(InstanceId(id)));
        let entry = one(1).instance(name).instance_id(id);
        let mut of_one = query(&machine, &entry);
        assert_eq!(shapes(&collected(&mut of_one)), [want], "{what}");
        assert_eq!(shapes(&collected(&mut of_one)), [want], "{what}: again");
        // Beside others, and where rows came and went.
        let mut beside = query(
            &machine,
            &Entry { counters: Counters::these([CounterId(2), CounterId(1)]), ..entry.clone() },
        );
        assert!(beside.add(&entry).is_success() && beside.add(&one(1).instance("c1")).is_success());
        for rows_then in [rows(&[("b", 9, 9), ("_Total", 9, 9), ("x", 9, 9)]), Vec::new(), rows(instances)] {
            provider.with(|s| s.rows = rows_then);
            collected(&mut beside);
        }
        provider.with(|s| s.rows.iter_mut().for_each(|(_, _, values)| values.push(Ok(0))));
        let of_two = want.replace("single", "counters 1,2:").replace("instances", "counterset 1,2");
        let got = shapes(&collected(&mut beside));
        assert_eq!(got[..2], [of_two.replace(')', ") U32(0)"), want.to_owned()], "{what}: beside others");
    }
}

/// After a failed collection, rows have the values of the present instances, whatever instances there were before the
/// failure.
#[test]
fn instances_that_came_with_a_failure() {
    for (instance_type, total) in
        [(InstanceType::Multiple, ""), (InstanceType::MultiAggregate, " _Total/0: U64(3)")]
    {
        let (machine, provider) = machine(instance_type);
        let mut query = query(&machine, &one(1).instance("*"));
        assert!(query.add(&one(1).instance("a")).is_success());
        let mut step = |instances: [&'static str; 2], fails: bool| {
            provider.with(|s| {
                s.rows = rows(&[(instances[0], 1, 1), (instances[1], 2, 2)]);
                s.failure = fails.then_some(SourceError::Late);
            });
            shapes(&collected(&mut query))
        };
        let want = format!("instances a/1: U64(1) b/2: U64(2){total}");
        assert_eq!(step(["a", "b"], false), [want.as_str(), "single U64(1)"]);
        step(["b", "a"], true);
        let want = format!("instances b/1: U64(1) a/2: U64(2){total}");
        assert_eq!(step(["b", "a"], false), [want.as_str(), "single U64(2)"]);
    }
}

/// Instance type 22 is like type 2, with rows of equal name merged into one. The merged row has the lowest id.
#[test]
fn rows_of_equal_name_are_merged() {
    let (machine, provider) = machine(InstanceType::InstanceAggregate);
    let instances = [("b", 7, 2), ("a", 5, 3), ("B", 3, 5), ("c", 2, 11), ("b", 9, 7)];
    for (what, counter, name, id, want) in [
        ("in the order of the first", 1, "*", None, "instances b/3: U64(14) a/5: U64(3) c/2: U64(11)"),
        ("by their functions", 3, "*", None, "instances b/3: U64(4) a/5: U64(3) c/2: U64(11)"),
        ("alone nothing is undefined", 6, "*", None, "instances b/3: Empty a/5: U64(3) c/2: U64(11)"),
        ("a name", 1, "B", None, "single U64(14)"),
        ("the id that it has then", 1, "b", Some(3), "single U64(14)"),
        ("not one that is in it", 1, "b", Some(7), "error 232"),
        ("an id of all", 1, "*", Some(5), "instances a/5: U64(3)"),
        ("no total", 1, "_Total", None, "error 232"),
    ] {
        let row = |(name, id, value): (&'static str, u32, u64)| -> ScriptRow { (name, id, vec![Ok(value)]) };
        provider.with(|s| s.rows = instances.into_iter().map(row).collect());
        let id = id.map_or(InstanceIdFilter::Any, |id| InstanceIdFilter::One(InstanceId(id)));
        let mut query = query(&machine, &one(counter).instance(name).instance_id(id));
        assert_eq!(shapes(&collected(&mut query)), [want], "{what}");
        provider.with(|s| s.rows.reverse());
        collected(&mut query);
        provider.with(|s| s.rows.reverse());
        assert_eq!(shapes(&collected(&mut query)), [want], "{what}: again");
    }
    assert_eq!(machine.query().add(&one(1)), Status::ERROR_INVALID_PARAMETER, "R-23: as type 2");
}

/// Checks the instances that a provider must deliver so that an aggregate is complete.
#[test]
fn the_provider_is_asked_for_all_that_counts() {
    use InstanceType as T;
    let filter = |name: &str, id: Option<u32>| InstanceFilter {
        pattern: Pattern::new(&name.into()),
        id: id.map_or(InstanceIdFilter::Any, |id| InstanceIdFilter::One(InstanceId(id))),
    };
    for (instance_type, asked, want) in [
        (T::SingleAggregate, filter("*", Some(0)), filter("*", None)),
        (T::MultiAggregate, filter("a", None), filter("a", None)),
        (T::MultiAggregate, filter("a*", Some(3)), filter("a*", Some(3))),
        (T::MultiAggregate, filter("*", Some(3)), filter("*", Some(3))),
        (T::MultiAggregate, filter("*", Some(0)), filter("*", None)),
        (T::MultiAggregate, filter("_*", None), filter("_*", None)),
        (T::MultiAggregate, filter("_total", None), filter("*", None)),
        (T::MultiAggregate, filter("_Total", Some(3)), filter("_Total", Some(3))),
        (T::InstanceAggregate, filter("a", Some(3)), filter("a", None)),
    ] {
        let got = super::AggregateView::for_type(instance_type).unwrap().asked(&asked);
        assert_eq!(got, want, "{instance_type:?} {asked:?}");
    }
}

/// Instance type 12: the last values of instances that have ended stay in the aggregate.
#[test]
fn history_keeps_who_has_ended() {
    let (machine, provider) = machine(InstanceType::SingleAggregateHistory);
    let mut query_12 = query(&machine, &one(1));
    let mut steps = Vec::new();
    let mut step = |what: &str, instances: &[(&'static str, u32, u64)], births: &[(u32, u64)], want: u64| {
        provider.with(|s| (s.rows, s.births) = (rows(instances), births.to_vec()));
        assert_eq!(shapes(&collected(&mut query_12)), [format!("single U64({want})")], "{what}");
        steps.push(want);
    };
    step("two", &[("a", 1, 2), ("b", 2, 3)], &[], 5);
    step("they count on", &[("a", 1, 5), ("b", 2, 7)], &[], 12);
    step("one ends", &[("b", 2, 8)], &[], 13);
    step("another begins", &[("c", 3, 1), ("b", 2, 8)], &[], 14);
    step("the one comes back: not twice", &[("a", 1, 6), ("c", 3, 1), ("b", 2, 8)], &[], 15);
    step("another of its name and id", &[("a", 1, 1), ("c", 3, 1), ("b", 2, 8)], &[(1, 77)], 16);
    step("all end", &[], &[], 16);
    step("of one name and id", &[("d", 4, 1), ("d", 4, 2)], &[], 19);
    step("one of these ends", &[("d", 4, 1)], &[], 19);
    assert!(steps.is_sorted(), "never less because one ends");
    // Each query has a history of its own.
    assert_eq!(shapes(&collected(&mut query(&machine, &one(1)))), ["single U64(1)"]);
    // Without one it falls.
    let (machine, provider) = super::tests::machine(InstanceType::SingleAggregate);
    let mut query_4 = query(&machine, &one(1));
    provider.with(|s| s.rows = rows(&[("a", 1, 2), ("b", 2, 3)]));
    assert_eq!(shapes(&collected(&mut query_4)), ["single U64(5)"]);
    provider.with(|s| s.rows = rows(&[("b", 2, 3)]));
    assert_eq!(shapes(&collected(&mut query_4)), ["single U64(3)"]);
}

/// The history of ended instances belongs to the query, and outlives changes of the query's entries.
#[test]
fn history_outlives_changes_of_the_query() {
    let (machine, provider) = machine(InstanceType::SingleAggregateHistory);
    let two = |name, id, first: u64, second: u64| -> ScriptRow { (name, id, vec![Ok(first), Ok(second)]) };
    let mut query = query(&machine, &one(2));
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(2)]), ("b", 2, vec![Ok(3)])]);
    assert_eq!(shapes(&collected(&mut query)), ["single U32(5)"]);
    provider.with(|s| s.rows = vec![two("b", 2, 100, 4)]);
    // Another counter stands before it: of that nothing is known of who has ended, and it says so.
    assert!(query.add(&one(1)).is_success());
    let snapshot = collected(&mut query);
    assert_eq!(shapes(&snapshot), ["single U32(6)", "single U64(100)"]);
    assert_eq!(lines(&snapshot, None), [" 2=6", " 1=100 Partial(1)"]);
    machine.register(Box::new(Scripted::new(vec![set(Guid::from_u128(99), InstanceType::Multiple)])));
    assert_eq!(shapes(&collected(&mut query)), ["single U32(6)", "single U64(100)"], "others register");
    assert!(query.delete(&one(2)).is_success());
    provider.with(|s| s.rows.clear());
    assert_eq!(shapes(&collected(&mut query)), ["single U64(100)"]);
    // A new registration may give the id another meaning.
    provider.with(|s| {
        let countersets = vec![Arc::new(aggregated(InstanceType::SingleAggregateHistory))];
        s.catalogue = Arc::new(Catalogue { countersets, ..Catalogue::default() });
    });
    assert_eq!(shapes(&collected(&mut query)), ["error 232"]);
}

/// Missing values of instances do not count as 0 in an aggregate, and are not hidden.
#[test]
fn instances_without_a_value() {
    use NoValue as N;
    let denied = || Err(N::Denied("here".into()));
    let all = [1, 2, 3, 4, 5, 6].map(CounterId);
    let (machine, provider) = machine(InstanceType::MultiAggregate);
    let mut query = query(&machine, &Entry::several(ONE, all).instance("_Total"));
    for (what, instances, want) in [
        (
            "some have one",
            [vec![Ok(4); 6], vec![denied(); 6]],
            ["4 Partial(1)", "4 Partial(1)", "4 Partial(1)", "4 Partial(1)", "4 Partial(1)", "unavailable"],
        ),
        (
            "none has one: the reason of the first",
            [vec![Err(N::Late); 6], vec![denied(); 6]],
            ["late", "late", "late", "late", "late", "unavailable"],
        ),
        (
            "the first that says why",
            [Vec::new(), vec![denied(); 6]],
            ["denied", "denied", "denied", "denied", "denied", "unavailable"],
        ),
        (
            "nobody says why",
            [Vec::new(), Vec::new()],
            ["not_given", "not_given", "not_given", "not_given", "not_given", "unavailable"],
        ),
        (
            "each by itself",
            [vec![Ok(4), Ok(4), denied()], vec![Ok(5), denied(), denied()]],
            ["9", "4 Partial(1)", "denied", "not_given", "not_given", "unavailable"],
        ),
    ] {
        let [a, b] = instances;
        provider.with(|s| s.rows = vec![("a", 1, a), ("b", 2, b)]);
        let want: Vec<_> = all.iter().zip(want).map(|(id, want)| format!("_Total {}={want}", id.0)).collect();
        let got = lines(&collected(&mut query), None);
        assert_eq!(got, want, "{what}");
    }
    provider.with(|s| {
        s.reasons = vec![(1, N::Unavailable("never".into()))];
        s.rows = vec![("a", 1, vec![Ok(1)]), ("b", 2, vec![Ok(2)])];
    });
    let snapshot = collected(&mut query);
    assert_eq!(
        snapshot.annex()[0].reason(0, 1),
        Some(&N::Unavailable("never".into())),
        "the column's reason"
    );
    assert_eq!(snapshot.annex()[0].reason(0, 5), Some(&super::UNDEFINED));
}

/// Reasons and marks of single cells are aggregated correctly in whichever order a provider sets them.
#[test]
fn notes_in_any_order() {
    use InstanceType as T;
    for instance_type in [T::SingleAggregate, T::SingleAggregateHistory, T::MultiAggregate] {
        let set = aggregated(instance_type);
        let ids = [1, 3, 5].map(CounterId);
        let mut rows = Rows::new(ids.iter().filter_map(|id| set.counter(*id)));
        let mut aggregates = super::Aggregates::new(&set, &ids).unwrap();
        rows.start();
        for id in 0..20 {
            let mut row = rows.push("a", InstanceId(id), None);
            row.set_marked(2, 7, Mark::Held);
            row.set_unavailable(1, NoValue::Late);
            row.set_unavailable(0, NoValue::Unavailable("never".into()));
        }
        let mut totals = match instance_type {
            T::MultiAggregate => aggregates.add(&mut rows, 0..20, 1, None),
            _ => aggregates.add_one(&mut rows),
        };
        let total = totals.next().unwrap();
        rows.end();
        let reasons = [0, 1].map(|column| rows.reason(total, column).cloned());
        assert_eq!(reasons, [Some(NoValue::Unavailable("never".into())), Some(NoValue::Late)]);
        assert_eq!((rows.number(total, 2), rows.mark(total, 2)), (Some(7), Some(Mark::Held)));
    }
}

#[test]
fn marks_of_several() {
    let old = |seconds| Mark::Stale(std::time::Duration::from_secs(seconds));
    for (marks, want) in [
        (vec![], None),
        (vec![(1, Mark::Reused)], Some(Mark::Reused)),
        (vec![(1, Mark::Reused), (2, Mark::Held)], Some(Mark::Held)),
        (vec![(1, old(3)), (2, Mark::Held)], Some(old(3))),
        (vec![(1, old(3)), (2, old(5))], Some(old(5))),
    ] {
        let (machine, provider) = machine(InstanceType::SingleAggregate);
        provider.with(|s| {
            s.rows = rows(&[("a", 1, 2), ("b", 2, 3)]);
            s.marks = marks;
        });
        assert_eq!(collected(&mut query(&machine, &one(1))).annex()[0].mark(0, 0), want);
    }
}

/// Instances of different users are never aggregated together.
#[test]
fn users_are_not_mixed() {
    use InstanceType as T;
    let process = |pid, user| Owner::Process { pid, user };
    let owners =
        vec![(2, process(20, 1000)), (3, process(30, 0)), (4, process(40, 1000)), (6, process(60, 0))];
    let instances = [("a", 1, 1), ("a", 2, 2), ("b", 3, 3), ("b", 4, 4), ("a", 5, 5), ("b", 6, 6)];
    let system_first = 0;
    let process_first = 1;
    for (instance_type, from, name, want, whose) in [
        (T::SingleAggregate, system_first, None, "single U64(6)", vec![Owner::System]),
        (T::SingleAggregate, process_first, None, "single U64(6)", vec![process(0, 1000)]),
        (T::SingleAggregateHistory, process_first, None, "single U64(6)", vec![process(0, 1000)]),
        (T::MultiAggregate, process_first, Some("_Total"), "single U64(6)", vec![process(0, 1000)]),
        (
            T::MultiAggregate,
            process_first,
            Some("*"),
            "instances a/2: U64(2) b/3: U64(3) b/4: U64(4) a/5: U64(5) b/6: U64(6) \
             _Total/0: U64(6) _Total/0: U64(9) _Total/0: U64(5)",
            vec![
                process(20, 1000),
                process(30, 0),
                process(40, 1000),
                Owner::System,
                process(60, 0),
                process(0, 1000),
                process(0, 0),
                Owner::System,
            ],
        ),
        (
            T::InstanceAggregate,
            system_first,
            Some("*"),
            "instances a/1: U64(6) a/2: U64(2) b/3: U64(9) b/4: U64(4)",
            vec![Owner::System, process(20, 1000), process(0, 0), process(40, 1000)],
        ),
    ] {
        let (machine, provider) = machine(instance_type);
        provider.with(|s| (s.rows, s.owners) = (rows(&instances[from..]), owners.clone()));
        let entry = name.map_or_else(|| one(1), |name| one(1).instance(name));
        let snapshot = collected(&mut query(&machine, &entry));
        assert_eq!(shapes(&snapshot), [want], "{instance_type:?}");
        let got: Vec<_> = (0..whose.len()).map(|row| snapshot.annex()[0].owner(row)).collect();
        assert_eq!(got, whose, "{instance_type:?}");
    }
    // With a history the user stays the one that it was.
    let (machine, provider) = machine(T::SingleAggregateHistory);
    provider.with(|s| (s.rows, s.owners) = (rows(&instances[1..3]), owners.clone()));
    let mut query = query(&machine, &one(1));
    assert_eq!(shapes(&collected(&mut query)), ["single U64(2)"]);
    provider.with(|s| s.rows = rows(&instances[2..4]));
    assert_eq!(shapes(&collected(&mut query)), ["single U64(6)"]);
    provider.with(|s| s.rows = rows(&instances[2..3]));
    assert_eq!(shapes(&collected(&mut query)), ["single U64(6)"]);
}

/// An aggregated count continues when instances begin or end. The difference of two counts is what was counted in
/// between.
#[test]
fn counts_go_on() {
    use InstanceType as T;
    type Case = (&'static str, Vec<ScriptRow>, [&'static [(u32, u64)]; 2], &'static str);
    let with = |of: &[(&'static str, u32, Result<u64, NoValue>)]| -> Vec<ScriptRow> {
        of.iter().map(|(name, id, value)| (*name, *id, vec![value.clone()])).collect()
    };
    let two = || with(&[("a", 1, Ok(10)), ("b", 2, Ok(20))]);
    let cases: [Case; 8] = [
        ("the same", with(&[("a", 1, Ok(13)), ("b", 2, Ok(25))]), [&[]; 2], "8"),
        ("in another order", with(&[("b", 2, Ok(25)), ("a", 1, Ok(13))]), [&[]; 2], "8"),
        ("one ended", with(&[("b", 2, Ok(25))]), [&[]; 2], "5"),
        ("one ended that had more than the other", with(&[("a", 1, Ok(13))]), [&[]; 2], "3"),
        (
            "one came, perhaps with a past",
            with(&[("a", 1, Ok(13)), ("b", 2, Ok(25)), ("c", 3, Ok(99))]),
            [&[]; 2],
            "8",
        ),
        ("one took the place of another", two(), [&[(1, 5), (2, 7)], &[(1, 5), (2, 8)]], "0"),
        (
            "one has no value now",
            with(&[("a", 1, Ok(13)), ("b", 2, Err(NoValue::Late))]),
            [&[]; 2],
            "3 Partial(1)",
        ),
        ("one was reset", with(&[("a", 1, Ok(3)), ("b", 2, Ok(25))]), [&[]; 2], "5 Partial(1)"),
    ];
    for (what, then, [births, births_then], want) in cases {
        for instance_type in [T::SingleAggregate, T::SingleAggregateHistory, T::MultiAggregate] {
            let (machine, provider) = machine(instance_type);
            let entry = if instance_type.is_multiple() { one(7).instance("_Total") } else { one(7) };
            let mut query = query(&machine, &entry);
            provider.with(|s| (s.rows, s.births) = (two(), births.to_vec()));
            let old = collected(&mut query);
            provider.with(|s| (s.rows, s.births) = (then.clone(), births_then.to_vec()));
            let new = collected(&mut query);
            let got = lines(&new, Some(&old)).remove(0);
            assert_eq!(got.split_once('=').unwrap().1, want, "{what} {instance_type:?}");
            let newer = collected(&mut query);
            let next = lines(&newer, Some(&new)).remove(0);
            assert_eq!(next.split_once('=').unwrap().1.trim_end_matches(" Partial(1)"), "0", "{what}");
        }
    }
}

/// A mean, minimum or maximum of counts is compared only while it covers the same instances.
#[test]
fn non_sum_rates_need_the_same_instances() {
    use InstanceType as T;
    for function in [Aggregate::Avg, Aggregate::Min, Aggregate::Max] {
        for instance_type in [T::SingleAggregate, T::MultiAggregate] {
            let mut set = aggregated(instance_type);
            set.counters.to_mut()[6].aggregate = function;
            let machine = Machine::new(Box::new(FixedClock::default()));
            let provider = Scripted::new(vec![set]);
            machine.register(Box::new(provider.clone()));
            let entry = if instance_type.is_multiple() { one(7).instance("_Total") } else { one(7) };
            let mut query = query(&machine, &entry);
            let mut step = |of: &[(&'static str, u32, u64)]| {
                provider.with(|s| s.rows = rows(of));
                collected(&mut query)
            };
            let steps = [
                step(&[("a", 1, 10), ("b", 2, 10)]),
                step(&[("a", 1, 14), ("b", 2, 14)]),
                step(&[("a", 1, 20)]),
                step(&[("a", 1, 29)]),
            ];
            let rate = |at: usize| lines(&steps[at], Some(&steps[at - 1])).remove(0);
            let got = [1, 2, 3].map(rate).map(|line| line.split_once('=').unwrap().1.to_owned());
            assert_eq!(got, ["4", "replaced", "9"], "{function:?} {instance_type:?}");
        }
    }
}

/// An aggregated count does not depend on the instances that lack a value in another column.
#[test]
fn counts_beside_columns_that_lack_values() {
    for instance_type in [InstanceType::SingleAggregate, InstanceType::MultiAggregate] {
        for beside in [1, 3, 6] {
            let (machine, provider) = machine(instance_type);
            let entry = Entry::several(ONE, [CounterId(beside), CounterId(7)]);
            let entry = if instance_type.is_multiple() { entry.instance("_Total") } else { entry };
            let mut query = query(&machine, &entry);
            let row = |name, id, other: Result<u64, NoValue>, value| -> ScriptRow {
                (name, id, vec![other, Ok(value)])
            };
            provider.with(|s| s.rows = vec![row("a", 1, Ok(1), 10), row("b", 2, Ok(1), 20)]);
            let old = collected(&mut query);
            provider.with(|s| s.rows = vec![row("a", 1, Ok(1), 13), row("b", 2, Err(NoValue::Late), 25)]);
            let new = collected(&mut query);
            assert_eq!(
                lines(&new, Some(&old))[1].split_once('=').unwrap().1,
                "8",
                "{instance_type:?} {beside}"
            );
        }
    }
}

/// Aggregates as the bytes that C callers receive.
#[test]
fn blocks_of_perflib() {
    let (machine, provider) = machine(InstanceType::MultiAggregate);
    provider.with(|s| s.rows = vec![("0,0", 3, vec![Ok(5000), Ok(7)]), ("1", 1, vec![Ok(4000), Ok(4)])]);
    let mut want = vec![0x10, 0, 0, 0, 3, 0, 0, 0, 0x30, 0, 0x2C, 0, 0x30, 0, 0, 0];
    want.extend([0x10, 0, 0, 0, 1, 0, 0, 0, 0x31, 0, 0, 0, 0, 0, 0, 0]);
    want.extend([
        0x18, 0, 0, 0, 0, 0, 0, 0, 0x5F, 0, 0x54, 0, 0x6F, 0, 0x74, 0, 0x61, 0, 0x6C, 0, 0, 0, 0, 0,
    ]);
    assert_eq!(perflib::enumerate_instances(&machine, &ONE).unwrap(), want);
    let mut query = query(&machine, &one(1).instance("?*a*"));
    assert!(query.add(&one(2).instance("_Total")).is_success());
    assert!(query.add(&Entry::several(ONE, [CounterId(1), CounterId(6)]).instance("_Total")).is_success());
    provider.with(|s| s.rows.iter_mut().for_each(|(.., values)| values.push(Ok(1))));
    let snapshot = collected(&mut query);
    let results = &snapshot.block()[48..];
    let no_data = [0xE8, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(results[..16], no_data, "a total of nothing");
    let single =
        [0, 0, 0, 0, 1, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 16, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(results[16..48], single);
    let mut counters = vec![0, 0, 0, 0, 2, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0];
    counters.extend([16, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0]);
    counters.extend([8, 0, 0, 0, 16, 0, 0, 0, 0x28, 0x23, 0, 0, 0, 0, 0, 0]);
    counters.extend([0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // R-20: no aggregate
    assert_eq!(results[48..], counters);

    // An aggregate is asked with a name and listed without one (R-28).
    let (machine, _) = super::tests::machine(InstanceType::SingleAggregate);
    let mut one_total = Vec::new();
    let identifier = v2::identifier::NewIdentifier {
        counterset: ONE,
        counter: CounterFilter::One(CounterId(1)),
        instance_id: InstanceIdFilter::Any,
        name: Some(&[0x5F, 0x54, 0x6F, 0x74, 0x61, 0x6C]),
        index: 0,
    };
    v2::identifier::write(&mut one_total, &identifier);
    let mut query = machine.query();
    perflib::add_counters(&mut query, &mut one_total).unwrap();
    let mut nameless = Vec::new();
    v2::identifier::write(&mut nameless, &v2::identifier::NewIdentifier { name: None, ..identifier });
    assert_eq!(perflib::counter_info(&query), nameless);
}

/// Counter paths of aggregates: an aggregate has no instances, a total is an instance.
#[test]
fn paths() {
    use crate::path::{BindError, ExpandOptions, PathQuery, expand, object_items};
    let values = |machine: &mut Machine, path: &str| -> Result<Vec<String>, BindError> {
        let mut query = PathQuery::open(machine).unwrap();
        query.add(machine, &path.parse().unwrap())?;
        query.collect().unwrap();
        let value = |v: &crate::path::PathValue<'_>| {
            format!("{}: {:?}", v.pdh_path(None), v.value.raw.map(RawValue::get))
        };
        Ok(query.values().iter().map(value).collect())
    };
    let named = |instance_type| {
        let mut named = aggregated(instance_type);
        named.counters.to_mut().truncate(1);
        let machine = Machine::new(Box::new(FixedClock::default()));
        let provider = Scripted::new(vec![named]);
        provider.with(|s| s.rows = rows(&[("a", 1, 2), ("b", 2, 3)]));
        machine.register(Box::new(provider));
        machine
    };
    for instance_type in SINGLE_ROW {
        let mut machine = named(instance_type);
        for path in [r"\Set\C", r"\Set(_Total)\C", r"\Set(*)\C"] {
            assert_eq!(values(&mut machine, path).unwrap(), [r"\Set\C: Some(5)"], "{path}");
        }
        assert!(matches!(values(&mut machine, r"\Set(a)\C"), Err(BindError::NoInstances { .. })));
        let expanded = expand(&mut machine, &r"\Set\*".parse().unwrap(), ExpandOptions::default()).unwrap();
        assert_eq!(expanded[0].to_string(), r"\Set\C");
        assert_eq!(object_items(&mut machine, "Set", DetailLevel::EXPERT).unwrap().instances, None);
    }
    let mut machine = named(InstanceType::MultiAggregate);
    for (path, want) in [
        (r"\Set(*)\C", &[r"\Set(a)\C: Some(2)", r"\Set(b)\C: Some(3)", r"\Set(_Total)\C: Some(5)"][..]),
        (r"\Set(_Total)\C", &[r"\Set(_Total)\C: Some(5)"]),
        (r"\Set({!_Total})\C", &[r"\Set(a)\C: Some(2)", r"\Set(b)\C: Some(3)"]),
    ] {
        assert_eq!(values(&mut machine, path).unwrap(), want, "{path}");
    }
    let expanded = expand(&mut machine, &r"\Set(*)\C".parse().unwrap(), ExpandOptions::default()).unwrap();
    assert_eq!(expanded.len(), 3);
    let items = object_items(&mut machine, "Set", DetailLevel::EXPERT).unwrap().instances.unwrap();
    assert_eq!(items, ["a", "b", "_Total"]);
}

/// Aggregates as V1 objects: an object without instances, or one whose last instance is the total.
#[test]
fn objects_of_v1() {
    use InstanceType as T;
    for (instance_type, read, instances, values) in [
        (T::SingleAggregate, T::Single, "", [8, 8, 4]),
        (T::MultiAggregate, T::Multiple, "a b _Total", [4, 4, 4]),
        (T::InstanceAggregate, T::Multiple, "a b", [4, 4, 4]),
    ] {
        let machine = Machine::bare(Box::new(FixedClock::default()));
        let provider = Scripted::new(vec![aggregated(instance_type)]);
        provider.with(|s| s.rows = vec![("a", 1, vec![Ok(4); 3]), ("b", 2, vec![Ok(4); 3])]);
        machine.register(Box::new(provider));
        let answer = crate::v1::query(&machine, &"Global".parse().unwrap(), "HERE").unwrap();
        assert_eq!(answer.left_out, []);
        let (mut source, problems) =
            crate::v1::Blocks::new(vec![answer.bytes], None, visit::Mode::Strict).unwrap();
        assert_eq!(problems, []);
        let guid = source.countersets().unwrap()[0];
        assert_eq!(source.machine().counterset(&guid).unwrap().instance_type, read);
        let names: Vec<_> =
            source.machine().instances(&guid).unwrap().iter().map(|i| i.name.to_string()).collect();
        assert_eq!(names.join(" "), instances);
        let all = Entry::all(guid);
        let mut query = source.open().unwrap();
        assert!(query.add(&if read.is_multiple() { all.instance("*") } else { all }).is_success());
        let mut snapshot = Snapshot::default();
        query.next(&mut snapshot).unwrap();
        let got: Vec<_> = snapshot.values(None).take(3).map(|v| v.raw.unwrap().get()).collect();
        assert_eq!(got, values, "{instance_type:?}");
    }
}

/// Provider of two rows, or of one row after a flag is set, that allocates no memory itself.
struct Quiet(Arc<Catalogue>, Arc<AtomicBool>);

impl Provider for Quiet {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.0))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let count = if self.1.load(Relaxed) { 1 } else { 2 };
        for id in (1..=2).take(count) {
            rows.set_owner(Owner::Process { pid: id, user: 7 });
            let mut row = rows.push("a", InstanceId(id), None);
            row.mark(Mark::Reused);
            for (column, counter) in want.counters.iter().enumerate() {
                match counter.0 {
                    5 if id == 1 => row.set_unavailable(column, NoValue::Unavailable("never".into())),
                    n => row.set(column, n.into()),
                }
            }
        }
        Ok(())
    }
}

#[test]
fn a_warm_collection_allocates_nothing() {
    use InstanceType as T;
    for instance_type in
        [T::SingleAggregate, T::SingleAggregateHistory, T::MultiAggregate, T::InstanceAggregate]
    {
        let machine = Machine::new(Box::new(FixedClock::default()));
        let countersets = vec![Arc::new(aggregated(instance_type))];
        let one_ended = Arc::default();
        let catalogue = Arc::new(Catalogue { countersets, ..Catalogue::default() });
        machine.register(Box::new(Quiet(catalogue, Arc::clone(&one_ended))));
        let mut query = machine.query();
        for entry in [Entry::all(ONE), one(1)] {
            let entry = if instance_type.is_multiple() { entry.instance("*") } else { entry };
            assert!(query.add(&entry).is_success());
        }
        if instance_type.is_multiple() {
            assert!(query.add(&one(2).instance("_Total")).is_success());
        }
        let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
        for ended in [false, true] {
            one_ended.store(ended, Relaxed);
            let mut collect = || {
                query.collect(&mut new).unwrap();
                std::mem::swap(&mut old, &mut new);
            };
            (0..3).for_each(|_| collect());
            let counted = allocation_counter::measure(|| (0..10).for_each(|_| collect()));
            assert_eq!(counted.count_total, 0, "{instance_type:?} {ended}");
        }
        assert!(new.values(None).any(|value| value.raw.is_some()));
    }
}

/// Row that a provider may deliver in one collection: name, id, user, birth, values.
type Delivered = (&'static str, u32, u32, u64, Vec<Option<u64>>);

fn delivered() -> impl Strategy<Value = Delivered> {
    let name = prop::sample::select(vec!["a", "A", "ab", "_Total", ""]);
    let value = prop_oneof![any::<u64>().prop_map(Some), (0..9_u64).prop_map(Some), Just(None)];
    (name, 0..4_u32, 0..2_u32, 0..2_u64, prop::collection::vec(value, 5))
}

/// Returns the aggregates of some delivered rows, computed by the reference model.
fn by_the_book(of: &[&Delivered]) -> String {
    let mut text = String::new();
    for (column, function) in ["total", "total 32", "mean", "least", "most"].into_iter().enumerate() {
        let bits = if column == 1 { 32 } else { 64 };
        let all: Vec<u128> =
            of.iter().filter_map(|row| row.4[column]).map(|v| u128::from(v) % (1 << bits)).collect();
        let sum: u128 = all.iter().sum();
        let value = match function {
            _ if all.is_empty() => None,
            "mean" => Some(sum / all.len() as u128),
            "least" => all.iter().min().copied(),
            "most" => all.iter().max().copied(),
            _ => Some(sum % (1 << bits)),
        };
        text += &value.map_or_else(|| " Empty".into(), |value| format!(" U{bits}({value})"));
    }
    text
}

/// Provider that delivers the rows of a shared list.
struct Delivers(Arc<Catalogue>, Arc<Mutex<Vec<Delivered>>>);

impl Provider for Delivers {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.0))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        for (name, id, user, birth, values) in self.1.lock().unwrap().iter() {
            if !want.wants(name, InstanceId(*id)) {
                continue; // what is not asked need not come
            }
            rows.set_owner(Owner::Process { pid: 1, user: *user });
            let mut row = rows.push(name, InstanceId(*id), std::num::NonZeroU64::new(*birth));
            let values = values.iter().enumerate().filter_map(|(column, value)| Some((column, (*value)?)));
            values.for_each(|(column, value)| row.set(column, value));
        }
        Ok(())
    }
}

/// Returns the rows of all five counters in an entry's result, by the reference model: R-46, R-47.
fn rows_by_the_book(rows: &[Delivered], kind: InstanceType, pattern: &str, id: Option<u32>) -> Vec<String> {
    let text = Pattern::new(&pattern.into());
    let matches = |name: &str, of: u32| text.matches(name.encode_utf16()) && id.is_none_or(|id| id == of);
    let line = |name: &str, id: u32, of: &[&Delivered]| format!(" {name}/{id}:{}", by_the_book(of));
    // Of each user one, in the order of their first.
    let totals = |of: &[&Delivered]| {
        let mut users: Vec<u32> = Vec::new();
        for row in of {
            if !users.contains(&row.2) {
                users.push(row.2);
            }
        }
        let total = |user: &u32| {
            let of: Vec<_> = of.iter().filter(|row| row.2 == *user).copied().collect();
            line("_Total", 0, &of)
        };
        users.iter().map(total).collect::<Vec<_>>()
    };
    let all: Vec<&Delivered> = rows.iter().collect();
    match kind {
        InstanceType::MultiAggregate => {
            let selected: Vec<_> = all.iter().filter(|row| matches(row.0, row.1)).copied().collect();
            let mut lines: Vec<_> = selected.iter().map(|row| line(row.0, row.1, &[*row])).collect();
            let is_named = all.iter().any(|row| row.0.eq_ignore_ascii_case("_Total"));
            if matches("_Total", 0) && !is_named {
                lines.extend(totals(if text.has_wildcard() { &selected } else { &all }));
            }
            lines
        }
        InstanceType::InstanceAggregate => {
            let mut merged: Vec<Vec<&Delivered>> = Vec::new();
            for row in all {
                let same =
                    |of: &&mut Vec<&Delivered>| of[0].2 == row.2 && of[0].0.eq_ignore_ascii_case(row.0);
                match merged.iter_mut().find(same) {
                    Some(of) => of.push(row),
                    None => merged.push(vec![row]),
                }
            }
            let least = |of: &[&Delivered]| of.iter().map(|row| row.1).min().unwrap();
            let merged = merged.iter().filter(|of| matches(of[0].0, least(of)));
            merged.map(|of| line(of[0].0, least(of), of)).collect()
        }
        _ => totals(&all).into_iter().take(1).filter(|_| id.is_none_or(|id| id == 0)).collect(),
    }
}

proptest! {
    /// Results of a query equal the reference model, whichever instances begin and end.
    #[test]
    fn aggregates_match_the_reference_model(
        steps in prop::collection::vec(prop::collection::vec(delivered(), 0..7), 1..5),
        entries in prop::collection::vec(
            (
                prop::sample::select(vec!["*", "_Total", "_t*", "a", "a*", "*a*", "?"]),
                prop::option::weighted(0.3, 0..3_u32),
            ),
            1..4,
        ),
    ) {
        use InstanceType as T;
        for kind in [T::SingleAggregate, T::SingleAggregateHistory, T::MultiAggregate, T::InstanceAggregate] {
            let mut set = aggregated(kind);
            set.counters.to_mut().truncate(5);
            let catalogue = Catalogue { countersets: vec![Arc::new(set)], ..Catalogue::default() };
            let told = Arc::<Mutex<Vec<Delivered>>>::default();
            let machine = Machine::bare(Box::new(FixedClock::default()));
            machine.register(Box::new(Delivers(Arc::new(catalogue), Arc::clone(&told))));
            let mut query = machine.query();
            let mut added = Vec::new();
            for (name, id) in &entries {
                let entry = Entry::all(ONE);
                let entry = if kind.is_multiple() { entry.instance(name) } else { entry };
                let filter = id.map_or(InstanceIdFilter::Any, |id| InstanceIdFilter::One(InstanceId(id)));
                if query.add(&entry.instance_id(filter)).is_success() {
                    added.push((*name, *id));
                }
            }
            let mut known: Vec<Delivered> = Vec::new();
            for step in &steps {
                told.lock().unwrap().clone_from(step);
                let got = shapes(&collected(&mut query));
                let mut counted = step.clone();
                if kind == T::SingleAggregateHistory {
                    remember(&mut known, step);
                    counted.clone_from(&known);
                }
                for ((name, id), got) in added.iter().zip(got) {
                    let rows = rows_by_the_book(&counted, kind, name, *id);
                    let is_table = kind.is_multiple() && name.contains(['*', '?']);
                    let want = match rows.first() {
                        None => "error 232".to_owned(),
                        Some(_) if is_table => format!("counterset 1,2,3,4,5{}", rows.concat()),
                        Some(first) => format!("counters 1,2,3,4,5{}", &first[first.rfind(':').unwrap()..]),
                    };
                    prop_assert_eq!(got, want, "{:?} {} {:?} of {:?}", kind, name, id, counted);
                }
            }
        }
    }
}

/// Updates the reference model's history: the last values of each instance of one user. Instances with equal
/// identities are distinguished by their order.
fn remember(known: &mut Vec<Delivered>, step: &[Delivered]) {
    let Some(user) = known.first().or(step.first()).map(|row| row.2) else { return };
    let mut taken = Vec::new();
    for row in step.iter().filter(|row| row.2 == user) {
        let is_it = |(at, of): &(usize, &Delivered)| {
            !taken.contains(at) && (of.0, of.1, of.3) == (row.0, row.1, row.3)
        };
        let at = known.iter().enumerate().find(is_it).map(|(at, _)| at);
        let at = at.unwrap_or_else(|| {
            known.push((row.0, row.1, row.2, row.3, vec![None; 5]));
            known.len() - 1
        });
        taken.push(at);
        for (last, value) in known[at].4.iter_mut().zip(&row.4) {
            *last = value.or(*last);
        }
    }
}
