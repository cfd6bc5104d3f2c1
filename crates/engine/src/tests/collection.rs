//! Tests of collections: kinds of results, rows and their selection, and the cost of collecting.

use proptest::prelude::*;

use super::*;
use crate::testing::ScriptRow;

#[test]
fn kinds_follow_the_entry() {
    let (machine, _) = machine();
    let mut query = machine.query();
    let one = |guid, id| Entry::one(guid, CounterId(id));
    let several = |guid, ids: &[u32]| Entry::several(guid, ids.iter().copied().map(CounterId));
    let id = |id| InstanceIdFilter::One(InstanceId(id));
    let cases = [
        (one(MULTI, 7).instance("A"), "single U64(100)"),
        (one(MULTI, 3).instance("b"), "single U32(30)"),
        (Entry::all(MULTI).instance("b"), "counters 7,3,5,9: U64(200) U32(30) U64(50) U32(5)"),
        (one(MULTI, 7).instance("*"), "instances a/1: U64(100) b/2: U64(200)"),
        (one(MULTI, 3).instance("?"), "instances a/1: U32(10) b/2: U32(30)"),
        (one(MULTI, 3).instance("B*"), "instances b/2: U32(30)"),
        (
            Entry::all(MULTI).instance("*"),
            "counterset 7,3,5,9 a/1: U64(100) U32(10) U64(20) U32(4) b/2: U64(200) U32(30) U64(50) U32(5)",
        ),
        (
            several(MULTI, &[9, 7, 9]).instance("*"),
            "counterset 7,9 a/1: U64(100) U32(4) b/2: U64(200) U32(5)",
        ),
        (several(MULTI, &[3, 5]).instance("b"), "counters 3,5: U32(30) U64(50)"),
        (several(SINGLE, &[9, 5]), "counters 5,9: U64(20) U32(4)"),
        (one(MULTI, 7).instance("*").instance_id(id(2)), "instances b/2: U64(200)"),
        (one(MULTI, 7).instance("a").instance_id(id(2)), "error 232"),
        (one(MULTI, 7).instance("absent"), "error 232"),
        (one(MULTI, 7).instance("absent*"), "error 232"),
        (Entry::all(SINGLE), "counters 7,3,5,9: U64(100) U32(10) U64(20) U32(4)"),
        (one(SINGLE, 5), "single U64(20)"),
    ];
    for (entry, _) in &cases {
        assert!(query.add(entry).is_success(), "{entry:?}");
    }
    let got = shapes(&collected(&mut query));
    for ((entry, want), got) in cases.iter().zip(&got) {
        assert_eq!(got, want, "{entry:?}");
    }
    let failures: Vec<_> = collected(&mut query).annex().iter().map(|a| a.failure().cloned()).collect();
    assert_eq!(
        failures[11..14],
        [Some(NoValue::NoInstance), Some(NoValue::NoInstance), Some(NoValue::NoInstance)]
    );
}

#[test]
fn instances_come_and_go() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    let entries = ["c", "*"].map(|name| Entry::one(MULTI, CounterId(7)).instance(name));
    assert!(entries.iter().all(|entry| query.add(entry).is_success()));
    let mut snapshot = Snapshot::default();
    let mut step = |change: &dyn Fn(&mut Vec<ScriptRow>)| {
        provider.with(|s| change(&mut s.rows));
        query.collect(&mut snapshot).unwrap();
        read(snapshot.block(), Mode::Strict).unwrap();
        shapes(&snapshot)
    };
    let row = |name, id, value| (name, id, vec![Ok(value)]);
    assert_eq!(step(&|_| {}), ["error 232", "instances a/1: U64(100) b/2: U64(200)"]);
    assert_eq!(
        step(&|rows| rows.insert(1, row("c", 3, 300))),
        ["single U64(300)", "instances a/1: U64(100) c/3: U64(300) b/2: U64(200)"]
    );
    assert_eq!(
        step(&|rows| rows[1] = row("c", 3, 301)),
        ["single U64(301)", "instances a/1: U64(100) c/3: U64(301) b/2: U64(200)"]
    );
    assert_eq!(
        step(&|rows| rows.swap(0, 2)),
        ["single U64(301)", "instances b/2: U64(200) c/3: U64(301) a/1: U64(100)"]
    );
    assert_eq!(
        step(&|rows| rows[1].1 = 4),
        ["single U64(301)", "instances b/2: U64(200) c/4: U64(301) a/1: U64(100)"]
    );
    assert_eq!(step(&|rows| rows.truncate(1)), ["error 232", "instances b/2: U64(200)"]);
    assert_eq!(step(&|rows| rows.clear()), ["error 232", "error 232"]);
    assert_eq!(step(&|rows| rows.push(row("c", 3, 1))), ["single U64(1)", "instances c/3: U64(1)"]);
}

proptest! {
    /// Each query entry selects the rows that a plain search finds, whatever was collected before.
    #[test]
    fn selection_is_a_plain_search(
        asked in prop::collection::btree_set(("[ABÉ*]{1,2}", prop::option::of(0..3_u32)), 0..30),
        steps in prop::collection::vec(
            (prop::bool::weighted(0.2), prop::collection::vec((0_usize..8, 0..3_u32), 0..5)),
            1..6,
        ),
    ) {
        const NAMES: [&str; 8] = ["a", "A", "ab", "aB", "b", "bb", "é", "Éa"];
        let (machine, provider) = machine();
        let mut query = machine.query();
        let id = |id: Option<u32>| id.map_or(InstanceIdFilter::Any, |id| InstanceIdFilter::One(InstanceId(id)));
        for (name, instance) in &asked {
            let entry = Entry::one(MULTI, CounterId(7)).instance(name).instance_id(id(*instance));
            assert!(query.add(&entry).is_success());
        }
        let mut snapshot = Snapshot::default();
        for (fails, rows) in steps {
            provider.with(|s| {
                s.failure = fails.then(|| SourceError::Failed("cut".into()));
                s.rows = rows.iter().map(|(name, id)| (NAMES[*name], *id, vec![Ok(u64::from(*id))])).collect();
            });
            query.collect(&mut snapshot).unwrap();
            let want: Vec<_> = asked
                .iter()
                .map(|(pattern, instance)| {
                    let pattern = Pattern::new(&pattern.as_str().into());
                    let selects = |(name, row): &&(usize, u32)| {
                        instance.is_none_or(|id| id == *row)
                            && pattern.matches(NAMES[*name].encode_utf16())
                    };
                    let mut found = rows.iter().filter(selects);
                    let line = |(name, id): &(usize, u32)| format!(" {}/{id}: U64({id})", NAMES[*name]);
                    match found.next() {
                        _ if fails => format!("error {}", SourceError::Failed("cut".into()).status().0),
                        None => "error 232".to_owned(),
                        Some((_, id)) if !pattern.has_wildcard() => format!("single U64({id})"),
                        Some(first) => {
                            let all = [first].into_iter().chain(found);
                            format!("instances{}", all.map(line).collect::<String>())
                        }
                    }
                })
                .collect();
            prop_assert_eq!(shapes(&snapshot), want);
        }
    }
}

proptest! {
    /// A snapshot that is overwritten equals a snapshot that is laid out from scratch, for any earlier content.
    #[test]
    fn writing_over_is_laying_out(
        steps in prop::collection::vec(
            prop::collection::vec((0_usize..4, prop::option::of(any::<u64>())), 0..4),
            1..6,
        )
    ) {
        let (machine, provider) = machine();
        let mut reused = machine.query();
        for name in ["*", "b", "?", "c"] {
            assert!(reused.add(&Entry::one(MULTI, CounterId(7)).instance(name)).is_success());
        }
        let mut snapshot = Snapshot::default();
        for step in steps {
            let row = |(at, value): (usize, Option<u64>)| {
                (["a", "b", "c", "dd"][at], u32::try_from(at).unwrap(), vec![value.ok_or(NoValue::NotGiven)])
            };
            provider.with(|s| s.rows = step.into_iter().map(row).collect());
            reused.collect(&mut snapshot).unwrap();
            let fresh = collected(&mut reused);
            let text = |s: &Snapshot| shapes(s);
            prop_assert_eq!(text(&snapshot), text(&fresh));
            prop_assert_eq!(&snapshot.block()[48..], &fresh.block()[48..]);
            prop_assert_eq!(lines(&snapshot, None), lines(&fresh, None));
        }
    }
}

#[test]
fn one_collection_asks_each_counterset_once() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    for entry in [
        Entry::one(MULTI, CounterId(5)).instance("a"),
        Entry::one(MULTI, CounterId(3)).instance("b"),
        Entry::one(MULTI, CounterId(3)).instance("*"),
    ] {
        assert!(query.add(&entry).is_success());
    }
    provider.with(|s| {
        s.log.clear();
        s.rows = vec![("a", 1, vec![Ok(10), Ok(20), Ok(4)]), ("b", 2, vec![Ok(30), Ok(50), Ok(5)])];
    });
    assert_eq!(
        shapes(&collected(&mut query)),
        ["single U64(20)", "single U32(30)", "instances a/1: U32(10) b/2: U32(30)"]
    );
    assert_eq!(provider.with(|s| s.log.clone()), ["Collect [3, 5, 9]"], "the union, the base added");
}

#[test]
fn the_engine_counts_itself() {
    let (machine, provider) = machine();
    provider.with(|s| s.rows[0].2[0] = Err(NoValue::NotGiven));
    let mut query = machine.query();
    assert!(query.add(&Entry::all(own::GUID)).is_success());
    assert!(query.add(&Entry::one(MULTI, CounterId(7)).instance("*")).is_success());
    assert!(query.add(&Entry::one(MULTI, CounterId(7)).instance("absent")).is_success());
    let mut old = collected(&mut query);
    let mut new = collected(&mut query);
    query.collect(&mut old).unwrap();
    std::mem::swap(&mut old, &mut new);
    let raw = |id: CounterId| new.values(Some(&old)).find(|v| v.counter.id == id).unwrap().raw.unwrap().get();
    assert_eq!(raw(own::COLLECTIONS_PER_SEC), 2);
    assert_eq!(raw(own::LAST_BLOCK_BYTES), u64::try_from(new.block().len()).unwrap());
    assert_eq!(raw(own::BLOCK_BYTES_PER_SEC), 2 * raw(own::LAST_BLOCK_BYTES));
    assert_eq!((raw(own::MISSING_VALUES), raw(own::FAILED_ENTRIES)), (2, 1), "one is its own Source Layer");
    assert_eq!((raw(own::LATE_PROVIDERS), raw(own::PROVIDER_FAILURES_PER_SEC)), (0, 0));
    assert_eq!(raw(own::LAYOUT_REBUILDS_PER_SEC), 2, "two snapshots, each laid out once");
    assert!(raw(own::AVERAGE_COLLECTION_TIME) >= raw(own::LAST_COLLECTION_NANOSECONDS));
}

#[test]
fn samples_are_pumped_until_told() {
    let (mut machine, _) = machine();
    let mut query = Source::open(&mut machine).unwrap();
    assert!(query.add(&Entry::one(own::GUID, own::COLLECTIONS_PER_SEC)).is_success());
    let mut sink = Remember::default();
    let mut left = 3;
    pump(&mut *query, &mut sink, || {
        left -= 1;
        left > 0
    })
    .unwrap();
    assert_eq!(sink.0, ["begin 1", " 0=needs_two_samples", " 0=1", " 0=1", "finish"]);
}

/// Sink that stores every value as text.
#[derive(Default)]
struct Remember(Vec<String>);

impl Sink for Remember {
    fn begin(&mut self, entries: &[ResolvedEntry]) -> std::io::Result<()> {
        self.0.push(format!("begin {}", entries.len()));
        Ok(())
    }

    fn sample_set(&mut self, set: &SampleSet<'_>) -> std::io::Result<()> {
        self.0.extend(set.values().map(|v| line(&v)));
        Ok(())
    }

    fn finish(&mut self) -> std::io::Result<()> {
        self.0.push("finish".into());
        Ok(())
    }
}

#[test]
fn a_warm_collection_allocates_nothing() {
    let (machine, provider) = machine();
    provider.with(|s| s.rows[0].2[1] = Err(NoValue::Unavailable("not here".into())));
    let quiet = Quiet(
        vec![("a", 1), ("b", 2)],
        Arc::new(Catalogue {
            origin: Text::default(),
            countersets: vec![Arc::new(set(OTHER, InstanceType::Multiple))],
        }),
    );
    machine.register(Box::new(quiet));
    let mut query = machine.query();
    for entry in [
        Entry::all(OTHER).instance("*"),
        Entry::one(OTHER, CounterId(3)).instance("a"),
        Entry::all(own::GUID),
    ] {
        assert!(query.add(&entry).is_success());
    }
    let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
    for _ in 0..3 {
        query.collect(&mut new).unwrap();
        std::mem::swap(&mut old, &mut new);
    }
    let counted = allocation_counter::measure(|| {
        for _ in 0..10 {
            query.collect(&mut new).unwrap();
            std::mem::swap(&mut old, &mut new);
        }
    });
    assert_eq!(counted.count_total, 0);
    assert_eq!(shapes(&old)[1], "single U32(3)");
}

/// Provider that allocates no memory itself.
#[derive(Debug)]
struct Quiet(Vec<(&'static str, u32)>, Arc<Catalogue>);

impl Provider for Quiet {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.1))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        rows.none_in_column(1, NoValue::Unavailable("never".into()));
        for (name, id) in &self.0 {
            let mut row = rows.push(name, InstanceId(*id), None);
            row.mark(Mark::Reused);
            for (column, counter) in want.counters.iter().enumerate() {
                match counter.0 {
                    5 => row.set_unavailable(column, NoValue::Unavailable("never".into())),
                    n => row.set(column, n.into()),
                }
            }
        }
        Ok(())
    }
}
