//! Tests of values read through an index of the sample, against a search through all values of the snapshot.

use std::cell::OnceCell;

use perfset_core::pdh::RawCounter;
use perfset_core::utf16::upper;

use super::*;
use crate::Value;

const PATHS: [&str; 9] = [
    r"\Test Set(*)\*",
    r"\Test Set(*)\Bytes/sec",
    r"\Test Set(a)\Size",
    r"\Test Set(A)\*",
    r"\Test Set(b)\{Mean Size,Bytes/sec}",
    r"\Test Set(a#1)\Bytes/sec",
    r"\Test Set({a,c})\Mean Size",
    r"\Test Set(!b)\{Size,Mean Size}",
    r"\Perfset Engine\Collections/sec",
];

/// Row of a sample: name, id, birth, and the special property of its values.
#[derive(Clone, Debug)]
struct TestRow(&'static str, u32, u64, Oddity);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Oddity {
    Nothing,
    Missing,
    Marked,
    Counted,
}

#[derive(Clone, Debug)]
struct TestSample {
    /// Rows of the sample; `None` repeats those of the sample before.
    rows: Option<Vec<TestRow>>,
    fails: bool,
    step: u64,
}

fn samples() -> impl Strategy<Value = Vec<TestSample>> {
    let special = prop_oneof![
        8 => Just(Oddity::Nothing),
        1 => Just(Oddity::Missing),
        1 => Just(Oddity::Marked),
        1 => Just(Oddity::Counted),
    ];
    let names = prop::sample::select(vec!["a", "A", "b", "c", "a#1", "long name of an instance"]);
    // Duplicates of name and id are possible.
    let row =
        (names, 0_u32..3, 0_u64..3, special).prop_map(|(name, id, birth, s)| TestRow(name, id, birth, s));
    let rows = prop_oneof![
        3 => Just(None),
        2 => prop::collection::vec(row, 0..6).prop_map(Some),
    ];
    let sample = (rows, prop::bool::weighted(0.1), 0_u64..20).prop_map(|(rows, fails, step)| TestSample {
        rows,
        fails,
        step,
    });
    prop::collection::vec(sample, 1..14)
}

fn told(path: usize, value: &Value<'_>, occurrence: usize) -> String {
    let Value { entry, counterset, counter, instance, instance_id, raw, base, value, mark } = value;
    let (set, counter) = (counterset.guid, counter.id);
    format!(
        "{path} {entry} {set} {counter:?} {instance}#{occurrence} {instance_id:?} {raw:?} {base:?} {value:?} {mark:?}"
    )
}

/// Returns the values of the last sample, path by path, by a search through all values for each path.
fn searched(query: &PathQuery) -> Vec<String> {
    let pair = query.pair();
    let all: Vec<Value<'_>> = pair.new.values(pair.old).collect();
    let name_of = |value: &Value<'_>| value.instance.units().map(upper).collect::<Vec<_>>();
    let mut found = Vec::new();
    for (path, bound) in query.paths.iter().enumerate() {
        let entries: Vec<usize> = bound.counters.iter().map(|(_, entry)| *entry).collect();
        let wanted: Vec<_> = match bound.all_counters {
            true => vec![(None, entries[0])],
            false => bound.counters.iter().map(|(id, entry)| (Some(*id), *entry)).collect(),
        };
        for (id, entry) in wanted {
            let of_entry: Vec<_> = all.iter().filter(|value| value.entry == entry).collect();
            let is_wanted = |value: &Value<'_>| match id {
                Some(id) => value.counter.id == id,
                None => !value.counter.attributes.contains(Attributes::NO_DISPLAYABLE),
            };
            let chosen: Vec<_> = of_entry.iter().enumerate().filter(|(_, value)| is_wanted(value)).collect();
            let lines: Vec<String> = chosen
                .iter()
                .filter_map(|(at, value)| {
                    let before = of_entry[..*at].iter().filter(|other| other.counter.id == value.counter.id);
                    let occurrence = before.filter(|other| name_of(other) == name_of(value)).count();
                    let selector = bound.selector.as_ref().filter(|_| value.instance_id.is_some());
                    let is_it = selector.is_none_or(|s| s.matches(value.instance.units(), occurrence));
                    is_it.then(|| told(path, value, occurrence))
                })
                .collect();
            if lines.is_empty() {
                let mut counters: Vec<CounterId> = Vec::new();
                for (_, value) in chosen {
                    if !counters.contains(&value.counter.id) {
                        counters.push(value.counter.id);
                        let (raw, base, mark) = (None, None, None);
                        let (instance, instance_id) = (Name::until_nul(&bound.instance), None);
                        let reason = Err(NoValue::NoInstance);
                        let none = Value {
                            instance,
                            instance_id,
                            raw,
                            base,
                            value: reason,
                            mark,
                            ..(**value).clone()
                        };
                        found.push(told(path, &none, 0));
                    }
                }
            }
            found.extend(lines);
        }
    }
    found
}

/// Returns the query's last sample as text: values, raw counters with statuses, clocks and births, read all at once
/// and one by one.
fn read(query: &PathQuery) -> (Vec<String>, Vec<RawCounter>, Vec<String>) {
    let values = query.values();
    let lines = values.iter().map(|v| told(v.path, &v.value, v.occurrence)).collect();
    let raw = query.raw_counters(&values);
    let single: Vec<_> = (0..query.paths.len()).flat_map(|path| query.raw_array(path).unwrap()).collect();
    for ((of_all, raw), (v, single)) in values.iter().zip(&raw).zip(&single) {
        assert_eq!(told(of_all.path, &of_all.value, of_all.occurrence), told(v.path, &v.value, v.occurrence));
        assert_eq!((raw, query.birth(of_all)), (single, query.birth(v)));
    }
    assert_eq!(single.len(), values.len());
    for path in (0..query.paths.len()).filter(|path| !query.paths[*path].is_several) {
        let first = values.iter().zip(&raw).find(|(v, _)| v.path == path).map(|(_, raw)| *raw);
        assert_eq!(query.raw_value(path).ok(), first);
    }
    let infos = query.infos(&values);
    for (path, infos) in &infos {
        assert_eq!(query.info(*path).as_ref(), Ok(infos));
    }
    (lines, raw, infos.iter().map(|info| format!("{info:?}")).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Values read through a kept index equal values read through a new index, and values found without an index.
    #[test]
    fn an_index_changes_nothing(samples in samples(), paths in prop::collection::vec(0..PATHS.len(), 1..6)) {
        let (mut machine, provider) = machine();
        let mut query = PathQuery::open(&mut machine).unwrap();
        for path in paths {
            query.add(&mut machine, &PATHS[path].parse().unwrap()).unwrap();
        }
        let (mut rows, mut number) = (Vec::new(), 1_000);
        for sample in samples {
            rows = sample.rows.unwrap_or(rows);
            provider.with(|s| {
                let value = |TestRow(_, id, _, special): &TestRow, column: u64| match special {
                    Oddity::Missing if column == 1 => Err(NoValue::Denied("here".into())),
                    _ => Ok(number + u64::from(*id) * 7 + column * sample.step),
                };
                s.rows = rows.iter().map(|row| (row.0, row.1, (0..4).map(|at| value(row, at)).collect())).collect();
                s.births = rows.iter().filter(|row| row.2 > 0).map(|row| (row.1, row.2)).collect();
                let special = |what| rows.iter().filter(move |row: &&TestRow| row.3 == what);
                s.marks = special(Oddity::Marked).map(|row| (row.1, Mark::Held)).collect();
                s.counts = special(Oddity::Counted).map(|row| (row.1, 1, row.2 + 5)).collect();
                s.failure = sample.fails.then(|| crate::SourceError::Failed("cut".into()));
            });
            number += sample.step;
            query.collect().unwrap();
            let kept = read(&query);
            prop_assert_eq!(&kept.0, &searched(&query));
            let pair = query.pair();
            prop_assert_eq!(query.has_same_rows(), pair.old.is_some_and(|old| pair.new.has_rows_of(old)));
            let index = std::mem::replace(&mut query.index, OnceCell::new());
            prop_assert_eq!(&kept, &read(&query));
            query.index = index;
        }
    }
}

/// An index of a sample is reused if the blocks of the new sample and of the sample before have the same structures.
#[test]
fn an_index_is_kept() {
    let (mut machine, provider) = machine();
    let mut query = PathQuery::open(&mut machine).unwrap();
    query.add(&mut machine, &r"\Test Set(*)\*".parse().unwrap()).unwrap();
    let mut is_kept = |names: &[&'static str], number: u64| {
        provider.with(|s| s.rows = names.iter().map(|name| (*name, 1, vec![Ok(number); 4])).collect());
        query.collect().unwrap();
        let is_kept = query.index.get().is_some();
        assert_eq!(query.values().len(), 3 * names.len());
        is_kept
    };
    let steady: Vec<bool> = (0..6).map(|number| is_kept(&["a", "b"], number)).collect();
    assert_eq!(steady, [false, false, false, true, true, true]);
    let grown: Vec<bool> = (6..12).map(|number| is_kept(&["a", "b", "c"], number)).collect();
    assert_eq!(grown, [false, false, false, true, true, true]);
}
