//! Tests of the counts of aggregates, against a model that knows every event of the counted things.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use perfset_core::*;
use proptest::prelude::*;

use crate::testing::FixedClock;
use crate::tests::{collected, counter, set};
use crate::*;

const ONE: Guid = Guid::from_u128(0x0000_0021);
/// Number of tested columns: a level, a count of 64 bits, and a count of 32 bits that wraps around to zero.
const COLUMNS: usize = 3;
const NAMES: [&str; 2] = ["a", "b"];
const SECOND: u64 = 10_000_000;
const DENIED: NoValue = NoValue::Denied(std::borrow::Cow::Borrowed("here"));

#[derive(Clone, Debug)]
enum Event {
    /// Begin of a counted thing that belongs to a user, with a name and a count. `is_late`: it began long before the
    /// first collection that saw it. `is_known`: its start is known.
    Begin {
        user: u32,
        name: usize,
        has: u64,
        is_late: bool,
        is_known: bool,
    },
    Count(usize, u64),
    End(usize),
    /// The values of a counted thing can be read from now on, or not.
    Show(usize, bool),
    /// A column of a counted thing can be read from now on, or not.
    Read(usize, usize, bool),
    /// A counted thing restarts its count at this value.
    Reset(usize, u64),
    Turn,
    Collect,
}

#[derive(Clone, Debug)]
struct Thing {
    number: u32,
    user: u32,
    name: usize,
    began: Option<u64>,
    is_shown: bool,
    values: [u64; COLUMNS],
    can: [bool; COLUMNS],
}

/// Expected aggregate of a column, computed by the tests' model.
#[derive(Clone, Debug, Default)]
struct Expected {
    sum: u64,
    has_value: bool,
    since: u64,
    collected: u64,
    /// Last value of each counted thing in the last collection.
    last: BTreeMap<u32, Option<u64>>,
}

impl Expected {
    fn count(&mut self, things: &[&Thing], column: usize, now: u64) -> (Option<u64>, u32) {
        let mask = if column == 2 { u64::from(u32::MAX) } else { u64::MAX };
        let is_first = self.since == 0;
        if is_first {
            self.since = now;
        }
        let (mut seen, mut missing) = (BTreeMap::new(), 0);
        for thing in things {
            let before = self.last.get(&thing.number).copied();
            if !thing.can[column] {
                missing += 1;
                seen.insert(thing.number, before.flatten());
                continue;
            }
            let value = thing.values[column] & mask;
            let is_young = thing.began.is_some_and(|began| began >= self.collected);
            self.has_value = true;
            self.sum = self.sum.wrapping_add(match before {
                _ if is_first => value,
                None => {
                    if is_young {
                        value
                    } else {
                        0
                    }
                }
                Some(None) => 0,
                Some(Some(last)) if column == 2 => value.wrapping_sub(last) & mask,
                Some(Some(last)) if value < last => {
                    missing += 1;
                    0
                }
                Some(Some(last)) => value - last,
            });
            seen.insert(thing.number, Some(value));
        }
        (self.last, self.collected) = (seen, now);
        (self.has_value.then_some(self.sum & mask), missing)
    }
}

fn level(things: &[&Thing]) -> (Option<u64>, u32) {
    let can = things.iter().filter(|thing| thing.can[0]);
    let sum = can.clone().fold(0, |sum: u64, thing| sum.wrapping_add(thing.values[0]));
    ((can.clone().count() > 0).then_some(sum), u32::try_from(things.len() - can.count()).unwrap())
}

/// Provider that delivers the counted things whose values can be read.
struct World(Arc<Catalogue>, Arc<Mutex<Vec<Thing>>>);

impl Provider for World {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.0))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, _: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        for thing in self.1.lock().unwrap().iter().filter(|thing| thing.is_shown) {
            rows.set_owner(Owner::Process { pid: thing.number, user: thing.user });
            rows.set_began(thing.began);
            let birth = Some(thing.number.into()).filter(|number: &u64| number % 3 > 0);
            let birth = birth.and_then(std::num::NonZeroU64::new);
            let mut row = rows.push(NAMES[thing.name], InstanceId(thing.number), birth);
            for column in 0..COLUMNS {
                match thing.can[column] {
                    true => row.set(column, thing.values[column]),
                    false => row.set_unavailable(column, DENIED),
                }
            }
        }
        Ok(())
    }
}

fn countersets(instance_type: InstanceType) -> Arc<Catalogue> {
    type T = CounterType;
    let of = |id, counter_type, wraps| {
        counter(id, "C", counter_type, None).aggregate(Aggregate::Total).wraps(wraps).caps(false)
    };
    let counters = vec![
        of(1, T::PERF_COUNTER_LARGE_RAWCOUNT, false),
        of(2, T::PERF_COUNTER_BULK_COUNT, false),
        of(3, T::PERF_COUNTER_COUNTER, true),
    ];
    let set = set(ONE, instance_type).counters(counters);
    Arc::new(Catalogue { countersets: vec![Arc::new(set)], ..Catalogue::default() })
}

/// Row of a result: user, and for each column the value, the number of missing instances and the start of counting.
type RowOf = (u32, Vec<(Option<u64>, u32, Option<u64>)>);

/// Model of a query's rows: the expected values of its aggregates.
#[derive(Default)]
struct Book {
    /// Expected counts by user, and by name for the instance type that separates names.
    counts: BTreeMap<(u32, Option<usize>), [Expected; COLUMNS]>,
    /// Owner of the aggregate of instance type 12, which adds up ended instances too.
    user: Option<u32>,
    /// Last known values of all counted things that ever existed, for instance type 12.
    levels: BTreeMap<u32, [Option<u64>; COLUMNS]>,
}

impl Book {
    fn rows(&mut self, kind: InstanceType, is_table: bool, things: &[Thing], now: u64) -> Vec<RowOf> {
        let by_name = kind == InstanceType::InstanceAggregate;
        let shown: Vec<&Thing> = things.iter().filter(|thing| thing.is_shown).collect();
        let mut keys: Vec<(u32, Option<usize>)> = Vec::new();
        for thing in &shown {
            let key = (thing.user, by_name.then_some(thing.name));
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        if by_name {
            self.counts.retain(|key, _| keys.contains(key));
        } else if kind == InstanceType::SingleAggregateHistory {
            self.user = self.user.or(keys.first().map(|key| key.0));
            keys = self.user.iter().map(|user| (*user, None)).collect();
        } else if !is_table {
            keys.truncate(1);
        }
        let row = |key: (u32, Option<usize>)| {
            let is_of = |thing: &&Thing| thing.user == key.0 && key.1.is_none_or(|name| name == thing.name);
            let of: Vec<&Thing> = shown.iter().copied().filter(is_of).collect();
            let counts = self.counts.entry(key).or_default();
            let mut row = vec![(level(&of), None)];
            for (column, count) in counts.iter_mut().enumerate().skip(1) {
                let got = count.count(&of, column, now);
                row.push((got, Some(count.since)));
            }
            if kind == InstanceType::SingleAggregateHistory {
                for thing in &of {
                    let known = self.levels.entry(thing.number).or_default();
                    for column in (0..COLUMNS).filter(|column| thing.can[*column]) {
                        known[column] = Some(thing.values[column]);
                    }
                }
                for (number, known) in &self.levels {
                    for column in 0..COLUMNS {
                        let has_ended = !of.iter().any(|thing| thing.number == *number);
                        row[column].0.1 += u32::from(has_ended && known[column].is_none());
                    }
                }
                let known: Vec<u64> = self.levels.values().filter_map(|known| known[0]).collect();
                row[0].0.0 =
                    (!known.is_empty()).then(|| known.iter().fold(0, |sum: u64, n| sum.wrapping_add(*n)));
            }
            let cell = |((value, missing), since): ((Option<u64>, u32), Option<u64>)| match value {
                Some(_) => (value, missing, since),
                None => (None, 0, None),
            };
            (key.0, row.into_iter().map(cell).collect())
        };
        keys.into_iter().map(row).collect()
    }
}

/// Returns the last `count` rows of a query's result: its aggregates.
fn shown(query: &mut Query, count: usize) -> Vec<RowOf> {
    let snapshot = collected(query);
    let annex = &snapshot.annex()[0];
    let values = snapshot.values(None);
    let values: Vec<_> = values.filter(|value| value.raw.is_some() || value.value.is_err()).collect();
    let rows: Vec<_> = values.chunks(COLUMNS).enumerate().collect();
    let from = rows.len().saturating_sub(count);
    let row = |(at, cells): &(usize, &[Value<'_>])| {
        let Owner::Process { user, .. } = annex.owner(*at) else { panic!("nobody's: {cells:?}") };
        let cell = |(column, value): (usize, &Value<'_>)| {
            let missing = match value.mark {
                Some(Mark::Partial(missing)) => missing.get(),
                None => 0,
                other => panic!("{other:?}"),
            };
            let raw = value.raw.map(RawValue::get);
            let since = annex.birth_of(*at, column).filter(|_| raw.is_some() && column > 0);
            (raw, missing, since.map(std::num::NonZeroU64::get))
        };
        (user, cells.iter().enumerate().map(cell).collect())
    };
    rows[from..].iter().map(row).collect()
}

fn event() -> impl Strategy<Value = Event> {
    let value = prop_oneof![0_u64..1_000, (u32::MAX - 9..=u32::MAX).prop_map(u64::from), any::<u64>()];
    let at = any::<usize>();
    prop_oneof![
        4 => (0..2_u32, 0..NAMES.len(), value.clone(), any::<bool>(), any::<bool>()).prop_map(
            |(user, name, has, is_late, is_known)| Event::Begin { user, name, has, is_late, is_known }
        ),
        6 => (at, 0_u64..1_000_000).prop_map(|(at, counted)| Event::Count(at, counted)),
        2 => at.prop_map(Event::End),
        2 => (at, any::<bool>()).prop_map(|(at, shows)| Event::Show(at, shows)),
        2 => (at, 0..COLUMNS, any::<bool>()).prop_map(|(at, column, can)| Event::Read(at, column, can)),
        1 => (at, value).prop_map(|(at, to)| Event::Reset(at, to)),
        1 => Just(Event::Turn),
        8 => Just(Event::Collect),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Aggregates equal the model, whichever things begin, end, cannot be read and return, for two users.
    #[test]
    fn aggregates_are_what_was_counted(events in prop::collection::vec(event(), 0..60)) {
        use InstanceType as T;
        let queries = [
            (T::SingleAggregate, None),
            (T::SingleAggregateHistory, None),
            (T::MultiAggregate, Some("_Total")),
            (T::MultiAggregate, Some("*")),
            (T::InstanceAggregate, Some("*")),
        ];
        for (kind, name) in queries {
            let told = Arc::<Mutex<Vec<Thing>>>::default();
            let machine = Machine::bare(Box::new(FixedClock::default()));
            machine.register(Box::new(World(countersets(kind), Arc::clone(&told))));
            let mut query = machine.query();
            let entry = name.map_or_else(|| Entry::all(ONE), |name| Entry::all(ONE).instance(name));
            prop_assert!(query.add(&entry).is_success());
            let mut now = u64::try_from(perfset_core::clock::UNIX_EPOCH_100NS).unwrap();
            let (mut things, mut next, mut book) = (Vec::<Thing>::new(), 0, Book::default());
            for event in &events {
                let count = things.len().max(1);
                match *event {
                    Event::Begin { user, name, has, is_late, is_known } => {
                        next += 1;
                        let began = if is_late { SECOND } else { now - SECOND / 2 };
                        things.push(Thing {
                            number: next,
                            user,
                            name,
                            began: Some(began).filter(|_| is_known),
                            is_shown: true,
                            values: [has; COLUMNS],
                            can: [true; COLUMNS],
                        });
                    }
                    Event::Count(at, counted) => {
                        let thing = things.get_mut(at % count);
                        let values = thing.into_iter().flat_map(|thing| &mut thing.values);
                        values.for_each(|value| *value = value.saturating_add(counted));
                    }
                    Event::End(at) => drop((!things.is_empty()).then(|| things.remove(at % count))),
                    Event::Show(at, shows) => {
                        things.get_mut(at % count).into_iter().for_each(|thing| thing.is_shown = shows);
                    }
                    Event::Read(at, column, can) => {
                        things.get_mut(at % count).into_iter().for_each(|thing| thing.can[column] = can);
                    }
                    Event::Reset(at, to) => {
                        // Counts that wrap are not reset, because a reset looks like a wrap.
                        let thing = things.get_mut(at % count);
                        thing.into_iter().for_each(|thing| thing.values[..2].fill(to));
                    }
                    Event::Turn => things.reverse(),
                    Event::Collect => {
                        told.lock().unwrap().clone_from(&things);
                        let is_table = name == Some("*");
                        let want = book.rows(kind, is_table, &things, now);
                        let got = shown(&mut query, want.len());
                        prop_assert_eq!(got, want, "{:?} {:?}: {:?}", kind, name, things);
                        now += SECOND;
                    }
                }
            }
        }
    }
}

/// Counts of an instance name without instances are forgotten.
#[test]
fn counts_of_vanished_names_are_dropped() {
    let told = Arc::<Mutex<Vec<Thing>>>::default();
    let thing = |number, name| Thing {
        number,
        user: 0,
        name,
        began: None,
        is_shown: true,
        values: [5; COLUMNS],
        can: [true; COLUMNS],
    };
    let machine = Machine::bare(Box::new(FixedClock::default()));
    machine.register(Box::new(World(countersets(InstanceType::InstanceAggregate), Arc::clone(&told))));
    let mut query = machine.query();
    assert!(query.add(&Entry::all(ONE).instance("*")).is_success());
    let mut step = |things: Vec<Thing>| {
        *told.lock().unwrap() = things;
        shown(&mut query, 9).into_iter().map(|(_, cells)| (cells[1].0, cells[1].2)).collect::<Vec<_>>()
    };
    let first = step(vec![thing(1, 0), thing(2, 0), thing(3, 1)]);
    assert_eq!(first.iter().map(|cell| cell.0).collect::<Vec<_>>(), [Some(10), Some(5)]);
    assert_eq!(step(vec![thing(1, 0)]), first[..1], "one has ended, the other name is gone");
    let then = step(vec![thing(1, 0), thing(3, 1)]);
    assert_eq!((then[0], then[1].0), (first[0], Some(5)));
    assert!(then[1].1 > first[1].1, "it is kept anew");
}

/// An instance filter that no collection used for a while is forgotten with its counts. A filter in use keeps its
/// counts.
#[test]
fn unused_filters_are_forgotten() {
    let counter = counter(1, "C", CounterType::PERF_COUNTER_BULK_COUNT, None);
    let mut rows = Rows::new([&counter]);
    rows.start();
    rows.push("a", InstanceId(1), None).set(0, 5);
    rows.end();
    let columns = [super::AggregateColumn {
        function: Aggregate::Total,
        mask: u64::MAX,
        tag: 1,
        counter: counter.id,
        count: Some((0, crate::total::Sum::for_counter(&set(ONE, InstanceType::MultiAggregate), &counter))),
    }];
    let filter =
        |name: &str| InstanceFilter { pattern: Pattern::new(&name.into()), id: InstanceIdFilter::Any };
    let mut counts = super::Counts::default();
    let since = |counts: &mut super::Counts, name: &str| {
        let of = (None, std::iter::empty(), Some(&filter(name)));
        let totals = counts.collect(&rows, 0..1, of, &columns).unwrap();
        let mut total = Rows::new([&counter]);
        total.start();
        totals.fill(&[0], &mut total.push("_Total", InstanceId(0), None), 0);
        total.end();
        total.counted_since(0, 0).map(std::num::NonZeroU64::get)
    };
    for now in 1..=1_000 {
        counts.start(now);
        assert_eq!(since(&mut counts, "always"), Some(1));
        assert_eq!(since(&mut counts, &now.to_string()), Some(now));
        // "always", that of now, and those of the rounds before.
        let most = usize::try_from(super::FILTER_ROUNDS + 2).unwrap();
        assert!(counts.filters.len() <= most && counts.totals.len() <= most, "{now}");
    }
    counts.start(1_001);
    assert_eq!(since(&mut counts, "1000"), Some(1_000));
    assert_eq!(since(&mut counts, "2"), Some(1_001), "it is counted anew");
}
