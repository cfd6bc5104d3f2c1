//! Tests of rows that are written directly into the block, compared with rows that are stored and copied.

use std::sync::Arc;

use perfset_catalogue::perfset_engine as own;
use perfset_core::*;
use proptest::prelude::*;

use crate::testing::{FixedClock, ScriptRow, Scripted};
use crate::tests::{collected, lines, set, shapes};
use crate::*;

const FIRST: Guid = Guid::from_u128(0x0000_0002);
const SECOND: Guid = Guid::from_u128(0x0000_0003);
const BETWEEN: Guid = Guid::from_u128(0x0000_0005);

/// Returns a machine with three countersets, each of a provider of its own.
fn machine() -> (Machine, [Scripted; 3]) {
    let machine = Machine::new(Box::new(FixedClock::default()));
    let providers =
        [FIRST, BETWEEN, SECOND].map(|guid| Scripted::new(vec![set(guid, InstanceType::Multiple)]));
    for provider in &providers {
        machine.register(Box::new(provider.clone()));
    }
    (machine, providers)
}

fn query(machine: &Machine, entries: impl IntoIterator<Item = Entry>) -> Query {
    let mut query = machine.query();
    for entry in entries {
        assert!(query.add(&entry).is_success());
    }
    query
}

/// Returns query entries: tables of all rows of the first and of the last counterset, and others in between.
fn entries() -> [Entry; 4] {
    [
        Entry::all(FIRST).instance("*"),
        Entry::one(BETWEEN, CounterId(7)).instance("b"),
        Entry::one(BETWEEN, CounterId(3)).instance("*"),
        Entry::one(SECOND, CounterId(7)).instance("*"),
    ]
}

fn row() -> impl Strategy<Value = ScriptRow> {
    let name = prop::sample::select(vec!["a", "b", "cc", "a name of more than sixteen units", ""]);
    let value =
        prop_oneof![any::<u64>().prop_map(Ok), Just(Err(NoValue::NotGiven)), Just(Err(NoValue::Late))];
    (name, 0..3_u32, prop::collection::vec(value, 0..5))
}

proptest! {
    /// Writing rows directly into the block gives the same results as copying them, whichever snapshot is overwritten
    /// and whatever failed before.
    #[test]
    fn at_once_is_in_two_steps(
        steps in prop::collection::vec(
            (prop::collection::vec((prop::bool::weighted(0.2), prop::collection::vec(row(), 0..4)), 3), 0..3_usize),
            1..7,
        ),
        again in any::<bool>(),
    ) {
        let (machine, providers) = machine();
        let mut at_once = query(&machine, entries());
        let others = [FIRST, SECOND].map(|guid| Entry::one(guid, CounterId(7)).instance("no such instance"));
        let mut in_two_steps = query(&machine, entries().into_iter().chain(others));
        let mut of_others = query(&machine, entries().into_iter().rev());
        let mut snapshots = [Snapshot::default(), Snapshot::default(), Snapshot::default()];
        for (scripts, which) in steps {
            for (provider, (fails, rows)) in providers.iter().zip(scripts) {
                provider.with(|s| {
                    s.marks = rows.iter().step_by(2).map(|(_, id, _)| (*id, Mark::Reused)).collect();
                    s.reasons = vec![(0, NoValue::Denied(format!("{}", rows.len()).into()))];
                    s.failure = fails.then(|| SourceError::Failed("cut".into()));
                    s.rows = rows;
                });
            }
            let snapshot = &mut snapshots[which];
            if which == 2 {
                of_others.collect(snapshot).unwrap();
            }
            for _ in 0..=usize::from(again) {
                at_once.collect(snapshot).unwrap();
                let want = collected(&mut in_two_steps);
                prop_assert_eq!(&shapes(snapshot)[..], &shapes(&want)[..4]);
                let len = snapshot.block().len();
                prop_assert_eq!(&snapshot.block()[48..], &want.block()[48..len]);
                let got = lines(snapshot, None);
                prop_assert_eq!(&got[..], &lines(&want, None)[..got.len()]);
                for (got, want) in snapshot.annex().iter().zip(want.annex()) {
                    prop_assert_eq!(got.failure(), want.failure());
                    for row in 0..5 {
                        prop_assert_eq!(got.mark(row, 0), want.mark(row, 0));
                        prop_assert_eq!((got.birth(row), got.owner(row)), (want.birth(row), want.owner(row)));
                        prop_assert_eq!(got.reason(row, 0), want.reason(row, 0));
                    }
                }
            }
        }
    }
}

/// Provider that panics or fails after this number of rows, if a number is set.
#[derive(Debug)]
struct Half(Arc<Catalogue>, Arc<std::sync::Mutex<(Option<usize>, bool)>>);

impl Provider for Half {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.0))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, _: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let (most, panics) = *self.1.lock().unwrap();
        for (row, name) in ["x", "y", "z"].into_iter().enumerate() {
            let mut filled = rows.push(name, InstanceId(5), None);
            filled.set(0, 11);
            if most == Some(row) {
                assert!(!panics, "as told");
                return Err(SourceError::Denied("here".into()));
            }
            filled.set(3, 13);
        }
        Ok(())
    }
}

#[test]
fn partly_filled_entry_is_not_delivered() {
    let (machine, [first, ..]) = machine();
    first.with(|s| s.rows = vec![("a", 1, vec![Ok(7)])]);
    let guid = Guid::from_u128(6);
    let catalogue =
        Catalogue { countersets: vec![Arc::new(set(guid, InstanceType::Multiple))], ..Catalogue::default() };
    let told = Arc::default();
    machine.register(Box::new(Half(Arc::new(catalogue), Arc::clone(&told))));
    let of_first = || Entry::one(FIRST, CounterId(7)).instance("*");
    let mut query = query(&machine, [Entry::all(guid).instance("*"), of_first()]);
    let good = "counterset 7,3,5,9 x/5: U64(11) Empty Empty U32(13) y/5: U64(11) Empty Empty U32(13) \
                z/5: U64(11) Empty Empty U32(13)";
    let other = "instances a/1: U64(7)";
    let (mut kept, mut seldom) = (Snapshot::default(), Snapshot::default());
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut got = Vec::new();
    for most in [None, Some(0), Some(1), None, Some(2), None] {
        for panics in [false, true] {
            *told.lock().unwrap() = (most, panics);
            query.collect(&mut kept).unwrap();
            got.push((
                most,
                panics,
                shapes(&kept),
                kept.block()[48..] == collected(&mut query).block()[48..],
            ));
        }
        query.collect(&mut seldom).unwrap();
        assert_eq!(seldom.block()[48..], kept.block()[48..]);
    }
    std::panic::set_hook(hook);
    for (most, panics, shapes, is_same) in got {
        let want = match (most, panics) {
            (None, _) => good,
            (_, false) => "error 5",
            (_, true) => "error 13",
        };
        assert_eq!(shapes, [want, other], "{most:?} {panics}");
        assert!(is_same, "{most:?} {panics}");
    }
}

#[test]
fn unchanged_layout_is_not_rebuilt() {
    let (machine, [first, between, second]) = machine();
    let rows = |n: u64, names: &[&'static str]| -> Vec<ScriptRow> {
        names.iter().map(|name| (*name, 1, vec![Ok(n); 4])).collect()
    };
    for (provider, names) in [(&first, &["a", "b"][..]), (&between, &["b"]), (&second, &["x"])] {
        provider.with(|s| s.rows = rows(2, names));
    }
    let rebuilds = Entry::one(own::GUID, own::LAYOUT_REBUILDS_PER_SEC);
    let mut query = query(&machine, entries().into_iter().chain([rebuilds]));
    let (mut new, mut old) = (Snapshot::default(), Snapshot::default());
    let mut step = |change: &dyn Fn()| {
        change();
        // Each of both, and once more, which tells of what came before.
        for _ in 0..2 {
            query.collect(&mut new).unwrap();
            std::mem::swap(&mut new, &mut old);
        }
        query.collect(&mut new).unwrap();
        std::mem::swap(&mut new, &mut old);
        old.values(None).last().unwrap().raw.unwrap().get()
    };
    assert_eq!(step(&|| ()), 2, "two snapshots");
    assert_eq!(step(&|| first.with(|s| s.rows = rows(3, &["a", "b"]))), 2, "other values");
    assert_eq!(step(&|| first.with(|s| s.rows = rows(3, &["a"]))), 4, "one less");
    assert_eq!(step(&|| second.with(|s| s.rows = rows(5, &["x", "y"]))), 6, "one more");
    assert_eq!(step(&|| between.with(|s| s.rows = rows(5, &["b", "c"]))), 8, "one that is copied");
    assert_eq!(step(&|| second.with(|s| s.failure = Some(SourceError::Failed("cut".into())))), 10);
    assert_eq!(step(&|| ()), 10, "it fails as it did");
    assert_eq!(step(&|| second.with(|s| s.failure = None)), 12);
    assert_eq!(step(&|| second.with(|s| s.rows = rows(7, &["x", "y"]))), 12);
}

/// Names, ids, births and owners of the rows that a provider delivers.
type Things = Vec<(&'static str, u32, u64, Owner)>;

/// Query of the counterset [`FIRST`] whose rows reach the block in a certain way, and the rows that the query
/// selects.
struct Way {
    name: &'static str,
    entries: Vec<Entry>,
    in_block: bool,
    selects: fn(&Things) -> Things,
}

fn ways() -> [Way; 6] {
    let one = || Entry::one(FIRST, CounterId(7));
    let all = || Entry::all(FIRST);
    let every: fn(&Things) -> Things = Things::clone;
    let named_b: fn(&Things) -> Things =
        |things| things.iter().filter(|(name, ..)| name.eq_ignore_ascii_case("b")).take(1).copied().collect();
    let from_b: fn(&Things) -> Things =
        |things| things.iter().filter(|(name, ..)| name.to_lowercase().starts_with('b')).copied().collect();
    let way = |name, entries, in_block, selects| Way { name, entries, in_block, selects };
    [
        way("single counter", vec![one().instance("b")], false, named_b),
        way("counters of one", vec![all().instance("b")], false, named_b),
        way("at once, one counter", vec![one().instance("*")], true, every),
        way("at once, all counters", vec![all().instance("*")], true, every),
        way("copied", vec![all().instance("*"), one().instance("no such instance")], false, every),
        way("copied in part", vec![all().instance("b*")], false, from_b),
    ]
}

/// A change of any row's identity is detected, whichever way the rows got into the block; a change of values alone is
/// no such change.
#[test]
fn rows_are_those_of_the_sample_before() {
    let process = |pid| Owner::Process { pid, user: 0 };
    let base: Things = vec![
        ("a", 1, 11, Owner::System),
        ("b", 2, 12, process(5)),
        ("bb", 3, 0, process(6)),
        ("b", 4, 14, Owner::System),
    ];
    let with = |row: usize, thing| {
        let mut things = base.clone();
        things[row] = thing;
        things
    };
    let swapped = |a, b| {
        let mut things = base.clone();
        things.swap(a, b);
        things
    };
    let longer = [&base[..], &[("bc", 5, 0, Owner::System)]].concat();
    let changes: [(&str, Things); 15] = [
        ("nothing", base.clone()),
        ("a name", with(1, ("c", 2, 12, process(5)))),
        ("the case of a name", with(1, ("B", 2, 12, process(5)))),
        ("an id", with(1, ("b", 7, 12, process(5)))),
        ("a birth", with(1, ("b", 2, 13, process(5)))),
        ("a birth of which nothing was known", with(2, ("bb", 3, 13, process(6)))),
        ("a birth of which nothing is known", with(3, ("b", 4, 0, Owner::System))),
        ("an owner", with(1, ("b", 2, 12, process(7)))),
        ("the last owner", with(3, ("b", 4, 14, process(6)))),
        ("the first row for another", with(0, ("x", 9, 19, Owner::System))),
        ("the last row for another", with(3, ("bx", 9, 19, Owner::System))),
        ("the order", swapped(0, 1)),
        ("the order of one name", swapped(1, 3)),
        ("one more", longer),
        ("one less", base[..3].to_vec()),
    ];
    for Way { name: way, entries, in_block, selects } in ways() {
        let (machine, [first, ..]) = machine();
        let set = |things: &Things, n: u64| {
            first.with(|s| {
                s.rows = things.iter().map(|(name, id, ..)| (*name, *id, vec![Ok(n), Ok(n)])).collect();
                s.births = things.iter().map(|(_, id, birth, _)| (*id, *birth)).collect();
                s.owners = things.iter().map(|(_, id, _, owner)| (*id, *owner)).collect();
                s.marks = vec![(u32::try_from(n % 3).unwrap(), Mark::Reused)];
                s.reasons = vec![(2, NoValue::Denied(format!("{n}").into()))];
            });
        };
        let mut query = query(&machine, entries);
        let (mut new, mut old) = (Snapshot::default(), Snapshot::default());
        let (mut seen, mut unseen, mut kept_layout, mut number) = (0, 0, 0, 0);
        let mut before: Option<Things> = None;
        // Each change, and back; each of them twice, so that both snapshots have been written over.
        for (change, things) in &changes {
            for (things, what) in
                [(things, "to"), (things, "still"), (&base, "back from"), (&base, "still back from")]
            {
                number += 1;
                set(things, number);
                std::mem::swap(&mut new, &mut old);
                query.collect(&mut new).unwrap();
                let selected = selects(things);
                let want = before.as_ref() == Some(&selected);
                assert_eq!(new.has_rows_of(&old), want, "{way}: {what} {change}");
                assert_eq!(old.has_rows_of(&new), want, "{way}: {what} {change}");
                match want {
                    true => unseen += 1,
                    false => {
                        seen += 1;
                        let names =
                            |things: &Things| things.iter().map(|(name, id, ..)| (*name, *id)).collect();
                        let others = before.as_ref().map(names) != Some::<Vec<_>>(names(&selected));
                        kept_layout += usize::from(others && new.layout == old.layout);
                    }
                }
                before = Some(selected);
            }
        }
        assert_eq!(kept_layout > 0, in_block, "{way}: {kept_layout} changes of names left the layout");
        assert!(seen > 10 && unseen > 2 * changes.len(), "{way}: {seen} changes, {unseen} without one");
        // A provider that fails has no rows; when it is back they are those of before that.
        first.with(|s| s.failure = Some(SourceError::Failed("cut".into())));
        std::mem::swap(&mut new, &mut old);
        query.collect(&mut new).unwrap();
        assert!(!new.has_rows_of(&old), "{way}: it fails");
        first.with(|s| s.failure = None);
        query.collect(&mut new).unwrap();
        assert!(new.has_rows_of(&old), "{way}: it is back");
        assert!(!new.has_rows_of(&Snapshot::default()), "{way}: nothing was collected there");
    }
}
