use perfset_catalogue::perfset_engine as id;
use perfset_core::Mark;

use super::*;
use crate::facts::FactKind;
use crate::filters::{InstanceFilter, InstanceFilters};
use crate::pattern::Pattern;

/// Scripted instances of a counterset; any counterset would do.
#[derive(Debug, Default)]
struct Scripted {
    keys: Vec<InstanceKey>,
    values: Vec<Result<MarkedRaw, NoValue>>,
    failure: Option<NoValue>,
}

impl InstanceSource for Scripted {
    const HAS_TOTAL: bool = true;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, collection: &mut Collection) -> Result<(), NoValue> {
        collection.count_bytes_read(7);
        self.failure.clone().map_or(Ok(()), Err)
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn facts(&mut self, at: usize, _: &mut Collection) -> Vec<Fact> {
        vec![Fact::new(FactKind::Model, Ok(format!("model {at}")))]
    }

    fn value(&mut self, at: usize, _: CounterId, _: &mut Collection) -> Result<MarkedRaw, NoValue> {
        self.values[at].clone()
    }
}

/// Rows of a collection, and the counters that are their columns.
struct Collected {
    rows: Rows,
    counters: Vec<CounterId>,
}

#[derive(Clone, Debug, PartialEq)]
enum CellOutcome {
    Value(u64),
    Held(u64),
    Partial(u64, u32),
    None(NoValue),
}

impl Collected {
    fn names(&self) -> Vec<String> {
        (0..self.rows.len()).map(|row| self.rows.name(row).to_string()).collect()
    }

    fn row(&self, name: &str) -> usize {
        self.names().iter().position(|other| other == name).unwrap()
    }

    fn column(&self, counter: CounterId) -> usize {
        self.counters.iter().position(|other| *other == counter).unwrap()
    }

    fn birth(&self, name: &str) -> Birth {
        self.rows.birth(self.row(name))
    }

    fn since(&self, name: &str, counter: CounterId) -> Option<NonZeroU64> {
        self.rows.counted_since(self.row(name), self.column(counter))
    }

    fn get(&self, name: &str, counter: CounterId) -> CellOutcome {
        let (row, column) = (self.row(name), self.column(counter));
        match (self.rows.number(row, column), self.rows.mark(row, column)) {
            (None, _) => CellOutcome::None(self.rows.reason(row, column).unwrap().clone()),
            (Some(raw), None) => CellOutcome::Value(raw),
            (Some(raw), Some(Mark::Held)) => CellOutcome::Held(raw),
            (Some(raw), Some(Mark::Partial(missing))) => CellOutcome::Partial(raw, missing.get()),
            (Some(_), Some(other)) => panic!("{other:?}"),
        }
    }
}

fn try_collect(
    provider: &mut dyn Provider,
    counters: &[CounterId],
    patterns: &[&str],
) -> Result<Collected, SourceError> {
    let filter =
        |name: &&str| InstanceFilter { pattern: Pattern::new(&(*name).into()), ..InstanceFilter::any() };
    let instances: InstanceFilters = patterns.iter().map(filter).collect();
    let want = CollectRequest::new(&id::COUNTERSET, counters, &instances);
    let mut rows = want.rows();
    provider.collect(&want, &mut rows)?;
    rows.end();
    Ok(Collected { rows, counters: counters.to_vec() })
}

fn collect(provider: &mut dyn Provider, counters: &[CounterId], patterns: &[&str]) -> Collected {
    try_collect(provider, counters, patterns).unwrap()
}

fn scripted(values: Vec<Result<MarkedRaw, NoValue>>) -> MultiInstanceProvider<Scripted> {
    let ids = 0..u32::try_from(values.len()).unwrap();
    let keys =
        ids.map(|id| InstanceKey::new(format!("n{id}"), InstanceId(id)).birth(NonZeroU64::new(5))).collect();
    MultiInstanceProvider::new(Scripted { keys, values, failure: None })
}

const COUNTER: CounterId = id::COLLECTIONS_PER_SEC;

#[test]
fn totals() {
    let marked = MarkedRaw::new(3, Some(Mark::Held));
    let none = NoValue::Denied("why".into());
    for (values, want) in [
        (vec![Ok(2.into()), Ok(3.into())], CellOutcome::Value(5)),
        (vec![Ok(2.into()), Ok(marked)], CellOutcome::Held(5)),
        (vec![Ok(2.into()), Err(none.clone()), Ok(3.into())], CellOutcome::Partial(5, 1)),
        (vec![Ok(2.into()), Err(NoValue::Unavailable("no such thing".into()))], CellOutcome::Value(2)),
        (vec![Err(NoValue::Unavailable("no such thing".into())), Err(none.clone())], CellOutcome::None(none)),
        (vec![Ok(u64::MAX.into()), Ok(3.into())], CellOutcome::Value(2)),
    ] {
        let mut provider = scripted(values.clone());
        let collected = collect(&mut provider, &[COUNTER], &["*"]);
        assert_eq!(collected.names().len(), values.len() + 1);
        assert_eq!(collected.names().last(), Some(&TOTAL_NAME.to_owned()));
        assert_eq!(collected.get(TOTAL_NAME, COUNTER), want);
        assert_eq!(collected.rows.bytes_read(), 7);
        let alone = collect(&mut provider, &[COUNTER], &[TOTAL_NAME]);
        assert_eq!(
            (alone.names(), alone.get(TOTAL_NAME, COUNTER)),
            (vec![TOTAL_NAME.to_owned()], want.clone())
        );
    }
    assert_eq!(collect(&mut scripted(Vec::new()), &[COUNTER], &["*"]).names(), [""; 0]);
}

#[test]
fn a_total_over_others_is_another() {
    let birth = |values| collect(&mut scripted(values), &[], &["*"]).birth(TOTAL_NAME);
    let (two, three) = (vec![Ok(0.into()); 2], vec![Ok(0.into()); 3]);
    assert_eq!(birth(two.clone()), birth(two.clone()));
    assert_ne!(birth(two.clone()), birth(three));
    let mut reborn = scripted(two.clone());
    reborn.instances.keys[0].birth = NonZeroU64::new(6);
    assert_ne!(collect(&mut reborn, &[], &["*"]).birth(TOTAL_NAME), birth(two));
}

/// Checks that the birth of `_Total` identifies its instances also if they have neither ids nor starts.
#[test]
fn totals_of_unnumbered_instances() {
    let birth = |names: &[&str]| {
        let mut provider = scripted(vec![Ok(0.into()); names.len()]);
        provider.instances.keys = names.iter().map(|name| InstanceKey::new(*name, InstanceId(0))).collect();
        collect(&mut provider, &[], &["*"]).birth(TOTAL_NAME)
    };
    assert_ne!(birth(&["a", "b"]), birth(&["a", "c"]));
    assert_ne!(birth(&["a"]), birth(&["b"]));
    assert_eq!(birth(&["a", "b"]), birth(&["b", "a"]));
}

#[test]
fn births_of_totals() {
    let birth = |covered: &[(u32, u64)]| {
        birth_of_total(covered.iter().map(|(id, birth)| (*id, NonZeroU64::new(*birth))))
    };
    assert_eq!(birth(&[(1, 70), (2, 80)]), birth(&[(2, 80), (1, 70)]));
    let sets = [&[(1, 70), (2, 80)][..], &[(1, 80), (2, 70)], &[(1, 70)], &[(1, 70); 2], &[(1, 0)], &[]];
    for (at, set) in sets.iter().enumerate() {
        assert!(birth(set).is_some());
        assert!(sets[..at].iter().all(|other| birth(other) != birth(set)), "{set:?}");
    }
}

/// A total of counts stays unchanged when an instance ends, and grows only by counts since a new instance began.
#[test]
fn instances_come_and_go() {
    type Step = (fn(&mut Scripted), u64);
    let mut provider = scripted(vec![Ok(20.into()), Ok(300.into())]);
    let mut total = |change: fn(&mut Scripted)| {
        change(&mut provider.instances);
        let collected = collect(&mut provider, &[COUNTER], &[TOTAL_NAME]);
        (collected.get(TOTAL_NAME, COUNTER), collected.since(TOTAL_NAME, COUNTER))
    };
    let (first, since) = total(|_| {});
    assert_eq!(first, CellOutcome::Value(320));
    let steps: [Step; 5] = [
        (|all| all.values[0] = Ok(21.into()), 321),
        (|all| drop((all.keys.pop(), all.values.pop())), 321),
        (|all| all.values[0] = Ok(25.into()), 325),
        (
            |all| {
                all.keys.push(InstanceKey::new("new", InstanceId(9)));
                all.values.push(Ok(7_000.into()));
            },
            325,
        ),
        (|all| all.values[1] = Ok(7_004.into()), 329),
    ];
    for (change, want) in steps {
        assert_eq!(total(change), (CellOutcome::Value(want), since));
    }
    assert!(since.is_some());
}

/// Checks that an instance that gets a birth counts as a new one: its earlier count is not added to the total.
#[test]
fn an_instance_without_a_birth_is_replaced() {
    let mut provider = scripted(vec![Ok(20.into()), Ok(300.into())]);
    provider.instances.keys[0].birth = None;
    let mut total = |birth: Option<u64>, raw: u64| {
        provider.instances.keys[0].birth = birth.and_then(NonZeroU64::new);
        provider.instances.values[0] = Ok(raw.into());
        collect(&mut provider, &[COUNTER], &[TOTAL_NAME]).get(TOTAL_NAME, COUNTER)
    };
    for (birth, raw, want) in
        [(None, 20, 320), (None, 21, 321), (Some(7), 9_000, 321), (Some(7), 9_004, 325), (Some(8), 5, 325)]
    {
        assert_eq!(total(birth, raw), CellOutcome::Value(want), "{birth:?} {raw}");
    }
}

#[test]
fn list_failure_fails_the_collection() {
    let unavailable = NoValue::Unavailable("there is no spool".into());
    for (reason, want) in [
        (NoValue::Denied("by law".into()), SourceError::Denied("by law".into())),
        (NoValue::Failed("cut".into()), SourceError::Failed("cut".into())),
        (NoValue::Late, SourceError::Late),
        (unavailable.clone(), SourceError::NoValue(unavailable)),
    ] {
        let kind = reason.clone();
        let mut provider = scripted(Vec::new());
        provider.instances.failure = Some(reason);
        assert_eq!(try_collect(&mut provider, &[COUNTER], &["*"]).err().unwrap(), want);
        assert_eq!(provider.instances(&id::GUID, &mut Rows::default()), Err(want.clone()));
        assert_eq!(want.reason(), kind, "users see the same reason as for one instance");
    }
    let other = Guid::from_u128(7);
    let error = scripted(Vec::new()).instances(&other, &mut Rows::default());
    assert_eq!(error, Err(SourceError::UnknownCounterset(other)));
}

/// Facts belong to the instance with that name, id and birth; an unknown birth matches every birth.
#[test]
fn facts_of_an_instance() {
    let birth = NonZeroU64::new;
    let keys = vec![
        InstanceKey::new("a", InstanceId(1)).birth(birth(3)),
        InstanceKey::new("a", InstanceId(2)).birth(birth(3)),
        InstanceKey::new("b", InstanceId(1)),
    ];
    let mut provider = MultiInstanceProvider::new(Scripted { keys, ..Scripted::default() });
    let mut facts = |name: &str, id: u32, born: u64| {
        let bytes: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let identity = Identity {
            counterset: id::GUID,
            instance: perfset_core::Name::until_nul(&bytes),
            instance_id: InstanceId(id),
            birth: birth(born),
        };
        provider.facts(&identity, FactOptions::default()).unwrap()
    };
    let model = |at: usize| vec![Fact::new(FactKind::Model, Ok(format!("model {at}")))];
    for (name, id, born, want) in [
        ("a", 1, 3, model(0)),
        ("a", 2, 3, model(1)),
        ("a", 1, 0, model(0)),
        ("b", 1, 7, model(2)),
        ("a", 1, 4, vec![]),
        ("A", 1, 3, vec![]),
        ("a", 3, 3, vec![]),
        ("c", 1, 3, vec![]),
        (TOTAL_NAME, TOTAL_ID.0, 0, vec![]),
    ] {
        assert_eq!(facts(name, id, born), want, "{name} {id} {born}");
    }
    let other = Identity {
        counterset: perfset_catalogue::memory::GUID,
        instance: perfset_core::Name::default(),
        instance_id: InstanceId(1),
        birth: None,
    };
    assert!(provider.facts(&other, FactOptions::default()).is_err());
    provider.source_mut().failure = Some(NoValue::Late);
    let known = Identity { counterset: id::GUID, ..other };
    assert!(provider.facts(&known, FactOptions::default()).is_err());
}
