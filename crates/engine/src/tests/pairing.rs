//! Tests of the rows of two collections, paired by identity.

use proptest::prelude::*;

use super::*;

#[test]
fn values_pair_by_identity() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    assert!(query.add(&Entry::all(MULTI).instance("*")).is_success());
    let old = collected(&mut query);
    provider.with(|s| {
        let values = |n: [u64; 4]| n.map(Ok).to_vec();
        s.rows = vec![
            ("b", 2, values([1, 37, 80, 11])),
            ("a", 3, values([2, 11, 22, 5])),
            ("a", 1, values([3, 9, 22, 3])),
        ];
    });
    let new = collected(&mut query);
    assert_eq!(
        lines(&new, Some(&old)),
        [
            "b 7=1",
            "b 3=7",
            "b 5=5",
            "b 9=not_displayable",
            "a 7=2",
            "a 3=new_instance",
            "a 5=new_instance",
            "a 9=not_displayable",
            "a 7=3",
            "a 3=negative_value",
            "a 5=negative_denominator",
            "a 9=not_displayable",
        ]
    );
}

/// A counterset that is registered with fewer counters keeps the older values of the remaining counters.
#[test]
fn counters_that_come_and_go() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    assert!(query.add(&Entry::several(MULTI, [CounterId(7), CounterId(3)]).instance("*")).is_success());
    let register = |counters: usize| {
        provider.with(|s| {
            let all = set(MULTI, InstanceType::Multiple);
            let counters: Vec<_> = all.counters.iter().take(counters).cloned().collect();
            let countersets = vec![Arc::new(all.counters(counters))];
            s.catalogue = Arc::new(Catalogue { origin: Text::default(), countersets });
            s.births = vec![(1, 77)];
            s.rows = vec![("a", 1, vec![Ok(5), Ok(6)]), ("b", 2, vec![Ok(7), Ok(8)])];
        });
    };
    register(2);
    let few = collected(&mut query);
    register(4);
    let more = collected(&mut query);
    assert_eq!(
        lines(&more, Some(&few)),
        ["a 7=5", "a 3=needs_two_samples", "b 7=7", "b 3=needs_two_samples"]
    );
    register(1);
    let fewer = collected(&mut query);
    assert_eq!(lines(&fewer, Some(&more)), ["a 7=5", "b 7=7"]);
    register(2);
    assert_eq!(lines(&collected(&mut query), None).len(), 4);
}

/// A registration by another provider changes the layout of the block, and no value is missing in that interval.
/// Earlier snapshots still pair with later ones.
#[test]
fn a_new_registration_costs_no_interval() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    assert!(query.add(&Entry::all(MULTI).instance("a")).is_success());
    let old = collected(&mut query);
    machine.register(Box::new(Scripted::new(vec![set(OTHER, InstanceType::Multiple)])));
    let new = collected(&mut query);
    assert_eq!(lines(&new, Some(&old))[1], "a 3=0");
    provider.with(|s| {
        let changed = vec![Arc::new(set(MULTI, InstanceType::Multiple))];
        s.catalogue = Arc::new(Catalogue { origin: Text::default(), countersets: changed });
    });
    let anew = collected(&mut query);
    assert_eq!(
        lines(&anew, Some(&new))[1],
        "a 3=needs_two_samples",
        "registered anew, it may mean something else"
    );
}

#[test]
fn owners_and_births_travel_beside_the_block() {
    let owner = Owner::Process { pid: 2, user: 3 };
    let machine = Machine::new(Box::new(FixedClock::default()));
    let countersets = vec![Arc::new(set(MULTI, InstanceType::Multiple))];
    machine.register(Box::new(Owned(owner, Arc::new(Catalogue { origin: Text::default(), countersets }))));
    let mut query = machine.query();
    assert!(query.add(&Entry::one(MULTI, CounterId(7)).instance("b*")).is_success());
    let snapshot = collected(&mut query);
    let annex = &snapshot.annex()[0];
    assert_eq!((annex.owner(0), annex.birth(0)), (owner, std::num::NonZeroU64::new(5)));
    assert_eq!((annex.owner(1), annex.birth(1)), (Owner::System, None), "no such row");
}

/// Provider of two rows: one of the system, then one of a program, with the birth 5.
#[derive(Debug)]
struct Owned(Owner, Arc<Catalogue>);

impl Provider for Owned {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.1))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, _: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        rows.push("a", InstanceId(1), None).set(0, 1);
        rows.set_owner(self.0);
        rows.push("b", InstanceId(2), std::num::NonZeroU64::new(5)).set(0, 2);
        Ok(())
    }
}

/// A count with its own birth is compared only with a count since the same birth, and so is its base.
#[test]
fn counts_pair_by_their_own_birth() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    let _ = query.add(&Entry::all(MULTI).instance("*"));
    let mut at = |counts: &[(u32, usize, u64)], marks: &[(u32, Mark)]| {
        provider.with(|s| {
            (s.counts, s.marks) = (counts.to_vec(), marks.to_vec());
            s.rows
                .iter_mut()
                .flat_map(|row| &mut row.2)
                .for_each(|value| *value = value.clone().map(|v| v + 5));
        });
        collected(&mut query)
    };
    let all = |since| [(1, 0, since), (1, 1, since), (1, 2, since), (1, 3, since)];
    let partial = [(1, Mark::Partial(std::num::NonZeroU32::new(3).unwrap()))];
    let values = |new: &Snapshot, old: &Snapshot| lines(new, Some(old));
    let (first, second) = (at(&all(7), &[]), at(&all(7), &[]));
    let (third, fourth) = (at(&all(8), &[]), at(&[], &[]));
    let same = values(&second, &first);
    assert!(!same.iter().any(|line| line.contains("replaced") || line.contains("Partial")), "{same:?}");
    for (new, old) in [(&third, &second), (&fourth, &third), (&third, &fourth)] {
        for (line, same) in values(new, old).iter().zip(&same) {
            let takes_difference = line.starts_with("a ") && (line.contains("replaced") || same != line);
            let is_gauge = line.starts_with("a ") && !line.contains("replaced");
            assert!(takes_difference || is_gauge || line.starts_with("b "), "{line}");
            assert!(!(line.starts_with("b ") && line.contains("replaced")), "{line}");
        }
        assert!(values(new, old).iter().any(|line| line.contains("replaced")));
    }
    // Of one that lacks instances at either end the difference lacks them.
    let (whole, lacks, again) = (at(&all(9), &[]), at(&all(9), &partial), at(&all(9), &[]));
    let of = |lines: Vec<String>| lines.iter().filter(|line| line.ends_with(" Partial(3)")).count();
    assert_eq!(of(values(&lacks, &whole)), 4, "all values of that row");
    let behind = of(values(&again, &lacks));
    assert!(behind > 0 && behind < 4, "those that take a difference: {behind}");
    assert_eq!(of(values(&again, &whole)), 0);
}

/// A name without wildcards selects the next instance of that name when the first is gone: the two are not compared.
#[test]
fn a_fixed_name_is_no_identity() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    for entry in [Entry::one(MULTI, CounterId(3)).instance("a"), Entry::all(MULTI).instance("a")] {
        assert!(query.add(&entry).is_success());
    }
    let values = |n: u64| [n, n, n, n].map(Ok).to_vec();
    provider.with(|s| s.rows = vec![("a", 1, values(100)), ("a", 2, values(1_000_000))]);
    let old = collected(&mut query);
    provider.with(|s| s.rows = vec![("a", 2, values(1_000_001))]);
    let new = collected(&mut query);
    let got = lines(&new, Some(&old));
    assert_eq!((got[0].as_str(), got[2].as_str()), ("a 3=new_instance", "a 3=new_instance"));
    assert_eq!(new.values(None).next().unwrap().instance_id, Some(InstanceId(2)));
}

/// A 4-byte base wraps around zero under an 8-byte value that does not.
#[test]
fn a_base_wraps_by_itself() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    assert!(query.add(&Entry::all(MULTI).instance("a")).is_success());
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(0), Ok(0), Ok(5_000), Ok(0xFFFF_FFF0)])]);
    let old = collected(&mut query);
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(0), Ok(0), Ok(6_000), Ok(0x10)])]);
    let new = collected(&mut query);
    assert_eq!(lines(&new, Some(&old))[2], "a 5=31.25");
}

#[test]
fn other_entries_cost_no_interval() {
    let (machine, _) = machine();
    let mut query = machine.query();
    let entry = |id| Entry::one(MULTI, CounterId(id)).instance("*");
    assert!(query.add(&entry(7)).is_success() && query.add(&entry(3)).is_success());
    let old = collected(&mut query);
    assert!(query.delete(&entry(7)).is_success() && query.add(&entry(5)).is_success());
    let new = collected(&mut query);
    assert_eq!(lines(&new, Some(&old))[..3], ["a 3=90", "b 3=170", "a 5=needs_two_samples"]);
}

/// An instance that had a row without a value is not new.
#[test]
fn an_old_instance_is_not_new() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    assert!(query.add(&Entry::one(MULTI, CounterId(3)).instance("*")).is_success());
    provider.with(|s| s.rows = vec![("a", 1, vec![Err(NoValue::NotGiven)])]);
    let old = collected(&mut query);
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(1)]), ("b", 2, vec![Ok(1)])]);
    let new = collected(&mut query);
    assert_eq!(lines(&new, Some(&old)), ["a 3=needs_two_samples", "b 3=new_instance"]);
    provider.with(|s| s.rows.clear());
    let none = collected(&mut query);
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(1)])]);
    assert_eq!(lines(&collected(&mut query), Some(&none)), ["a 3=needs_two_samples"], "the entry had failed");
}

proptest! {
    /// Rows of any order and number are paired as a search through all of them pairs them.
    #[test]
    fn rows_of_any_order_pair_by_name_and_id(
        old in row_keys(),
        new in row_keys(),
        shuffled in any::<u64>(),
        repeats in any::<bool>(),
    ) {
        let (machine, provider) = machine();
        let mut query = machine.query();
        prop_assert!(query.add(&Entry::several(MULTI, [CounterId(7), CounterId(3)]).instance("*")).is_success());
        // The same rows in another order, or others.
        let mut new = if repeats { old.clone() } else { new };
        new.sort_by_key(|(name, id)| (u64::from(*id) + 1).wrapping_mul(shuffled) ^ u64::from(name.as_bytes()[0]));
        let rows = |keys: &[(&'static str, u32)], first: u64| -> Vec<_> {
            keys.iter().zip(first..).map(|((name, id), value)| (*name, *id, vec![Ok(value), Ok(value)])).collect()
        };
        provider.with(|s| s.rows = rows(&old, 1_000));
        let before = collected(&mut query);
        provider.with(|s| s.rows = rows(&new, 5_000));
        let after = collected(&mut query);
        let values: Vec<_> =
            after.values(Some(&before)).filter(|value| value.counter.id == CounterId(3)).collect();
        prop_assert_eq!(values.len(), new.len());
        for (at, (value, key)) in values.iter().zip(&new).enumerate() {
            match old.iter().position(|other| other == key) {
                Some(older) => prop_assert_eq!(&value.value.as_ref().map(|v| v.raw), &Ok((4_000 + at - older) as f64)),
                None => prop_assert_eq!(&value.value.as_ref().map(|v| v.raw), &Err(&NoValue::NewInstance)),
            }
        }
    }
}

/// Returns distinct keys of rows, some with the same name or the same id.
fn row_keys() -> impl Strategy<Value = Vec<(&'static str, u32)>> {
    let names = prop::sample::select(vec!["a", "b", "ab", "abc", "zz", "instance"]);
    prop::collection::btree_set((names, 0_u32..12), 1..40).prop_map(Vec::from_iter).prop_shuffle()
}
