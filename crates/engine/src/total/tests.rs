//! Tests of totals, against a model that knows every event of the counted things.

use std::collections::BTreeMap;

use perfset_core::{Birth, CounterType, InstanceId};
use proptest::prelude::*;

use super::*;
use crate::rows::Rows;

const WIDTHS: [Option<Width>; 4] = [None, Some(Width::Wide), Some(Width::Narrow), Some(Width::Wrapping)];
const SECOND: u64 = 10_000_000;

/// Event in the life of the counted things.
#[derive(Clone, Debug)]
enum Event {
    /// Begin of a counted thing, with a count. `is_late`: it began long before the first collection that saw it.
    Begin {
        has: u64,
        is_late: bool,
        has_birth: bool,
    },
    /// A counted thing counts this much in each column.
    Count(usize, u64),
    End(usize),
    Rename(usize),
    /// A counted thing restarts its count at this value.
    Reset(usize, u64),
    /// A column of a counted thing can be read, cannot be read, or does not exist.
    Read(usize, usize, Can),
    /// All counted things change their order.
    Turn,
    /// Some columns of the counted things are collected.
    Collect([bool; WIDTHS.len()]),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Can {
    Yes,
    No,
    Never,
}

/// Counted thing in the model: an instance with its counts.
#[derive(Clone, Debug)]
struct Thing {
    /// Id of the counted thing, which no other counted thing ever has.
    number: u32,
    name: u64,
    birth: Birth,
    began: Option<u64>,
    values: [u64; WIDTHS.len()],
    can: [Can; WIDTHS.len()],
}

/// Expected total of a column, computed by the tests' model.
#[derive(Clone, Debug, Default)]
struct Expected {
    sum: u64,
    has_value: bool,
    collected: Option<u64>,
    /// Last value of each counted thing in the last collection.
    last: BTreeMap<u32, Option<u64>>,
}

fn mask(width: Option<Width>) -> u64 {
    width.map_or(u64::MAX, Width::mask)
}

impl Expected {
    /// Returns the expected total of a column and the number of things whose value is missing.
    fn collect(&mut self, column: usize, things: &[Thing], now: u64) -> (Option<u64>, u32) {
        let width = WIDTHS[column];
        let mut missing = things.iter().filter(|thing| thing.can[column] == Can::No).count();
        let readable = || things.iter().filter(|thing| thing.can[column] == Can::Yes);
        if width.is_none() {
            let sum = readable().fold(0, |sum: u64, thing| sum.wrapping_add(thing.values[column]));
            return (
                (readable().count() > 0 || things.is_empty()).then_some(sum),
                missing.try_into().unwrap(),
            );
        }
        let mut seen = BTreeMap::new();
        for thing in things {
            let before = self.last.get(&thing.number).copied();
            let value = thing.values[column] & mask(width);
            let is_young =
                self.collected.is_none_or(|at| thing.began.is_none_or(|began| began + SECOND / 10 > at));
            missing += usize::from(thing.can[column] == Can::Never && before.flatten().is_some());
            let counted = match (before, thing.can[column]) {
                (_, Can::No | Can::Never) => None,
                (None, Can::Yes) => Some(if is_young { value } else { 0 }),
                (Some(None), Can::Yes) => Some(0),
                (Some(Some(last)), Can::Yes) if value >= last => Some(value - last),
                (Some(Some(last)), Can::Yes) if width == Some(Width::Wrapping) => {
                    Some(value + (1 << 32) - last)
                }
                (Some(Some(_)), Can::Yes) => {
                    missing += 1;
                    None
                }
            };
            if let Some(counted) = counted {
                self.sum = self.sum.wrapping_add(counted);
                self.has_value = true;
            }
            let can = thing.can[column] == Can::Yes;
            seen.insert(thing.number, if can { Some(value) } else { before.flatten() });
        }
        (self.last, self.collected) = (seen, Some(now));
        ((self.has_value || things.is_empty()).then_some(self.sum), missing.try_into().unwrap())
    }
}

fn event() -> impl Strategy<Value = Event> {
    let value = prop_oneof![
        0_u64..1_000,
        any::<u32>().prop_map(u64::from),
        (u32::MAX - 9..=u32::MAX).prop_map(u64::from)
    ];
    prop_oneof![
        3 => (value.clone(), any::<bool>(), any::<bool>())
            .prop_map(|(has, is_late, has_birth)| Event::Begin { has, is_late, has_birth }),
        6 => (any::<usize>(), 0_u64..1_000_000).prop_map(|(at, counted)| Event::Count(at, counted)),
        2 => any::<usize>().prop_map(Event::End),
        1 => any::<usize>().prop_map(Event::Rename),
        1 => (any::<usize>(), value).prop_map(|(at, to)| Event::Reset(at, to)),
        3 => (any::<usize>(), 0..WIDTHS.len(), prop_oneof![Just(Can::Yes), Just(Can::No), Just(Can::Never)])
            .prop_map(|(at, column, can)| Event::Read(at, column, can)),
        1 => Just(Event::Turn),
        8 => any::<[bool; WIDTHS.len()]>().prop_map(Event::Collect),
    ]
}

/// Collects the totals of some columns and returns for each the value, the mark and the time since which it is
/// counted.
fn collect(
    totals: &mut Totals<usize>,
    things: &[Thing],
    columns: &[usize],
    now: u64,
) -> Vec<(Option<u64>, Option<Mark>, Option<NonZeroU64>)> {
    let counters: Vec<_> = columns
        .iter()
        .map(|column| match WIDTHS[*column] {
            None | Some(Width::Wide) => CounterType::PERF_COUNTER_BULK_COUNT,
            _ => CounterType::PERF_COUNTER_COUNTER,
        })
        .map(|counter_type| crate::tests::counter(1, "C", counter_type, None))
        .collect();
    let mut rows = Rows::new(&counters);
    totals.start(now);
    for column in columns {
        totals.want(*column, WIDTHS[*column].map_or(Sum::Level, Sum::Count));
    }
    for thing in things {
        let id = if thing.birth.is_some() { 0 } else { thing.number };
        totals.row(Member { birth: thing.birth, id, name: thing.name, parent: 0 }, thing.began);
        for (at, column) in columns.iter().enumerate() {
            let (denied, never) = (NoValue::Denied("".into()), NoValue::Unavailable("".into()));
            totals.add(
                at,
                match thing.can[*column] {
                    Can::Yes => Reading::Value(thing.values[*column], None),
                    Can::No => Reading::None(&denied),
                    Can::Never => Reading::None(&never),
                },
            );
        }
    }
    totals.end();
    rows.start();
    let mut row = rows.push("_Total", InstanceId(0), None);
    (0..columns.len()).for_each(|at| totals.fill(&[at], &mut row, at));
    rows.end();
    (0..columns.len()).map(|at| (rows.number(0, at), rows.mark(0, at), rows.counted_since(0, at))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// A total equals the model's count, whatever happens and whichever columns are collected at which time.
    #[test]
    fn a_total_is_what_was_counted(events in prop::collection::vec(event(), 0..80)) {
        let mut totals = Totals::default();
        let (mut things, mut next) = (Vec::<Thing>::new(), 0_u32);
        let mut expected: [Expected; WIDTHS.len()] = Default::default();
        let mut since = [None; WIDTHS.len()];
        for (at, event) in events.into_iter().enumerate() {
            let now = (1_000 + u64::try_from(at).unwrap()) * SECOND;
            let count = things.len().max(1);
            match event {
                Event::Begin { has, is_late, has_birth } => {
                    next += 1;
                    things.push(Thing {
                        number: next,
                        name: next.into(),
                        birth: NonZeroU64::new(next.into()).filter(|_| has_birth),
                        began: Some(if is_late { SECOND } else { now }),
                        values: [has; WIDTHS.len()],
                        can: [Can::Yes; WIDTHS.len()],
                    });
                }
                Event::Count(at, counted) => {
                    if let Some(thing) = things.get_mut(at % count) {
                        thing.values.iter_mut().for_each(|value| *value += counted);
                    }
                }
                Event::End(at) if !things.is_empty() => drop(things.remove(at % count)),
                Event::Rename(at) => {
                    if let Some(thing) = things.get_mut(at % count).filter(|thing| thing.birth.is_some()) {
                        thing.name += 1_000;
                    }
                }
                Event::Reset(at, to) => {
                    if let Some(thing) = things.get_mut(at % count) {
                        // Counts that may wrap are not reset, because a reset looks like a wrap.
                        let [level, wide, narrow, _] = &mut thing.values;
                        (*level, *wide, *narrow) = (to, to, to);
                    }
                }
                Event::Read(at, column, can) => {
                    if let Some(thing) = things.get_mut(at % count) {
                        thing.can[column] = can;
                    }
                }
                Event::Turn => things.reverse(),
                Event::Collect(columns) => {
                    let columns: Vec<usize> = (0..WIDTHS.len()).filter(|column| columns[*column]).collect();
                    let got = collect(&mut totals, &things, &columns, now);
                    for (column, (value, mark, counted_since)) in columns.into_iter().zip(got) {
                        let before = expected[column].sum;
                        let (want, missing) = expected[column].collect(column, &things, now);
                        let want = want.map(|value| if matches!(WIDTHS[column], None | Some(Width::Wide)) {
                            value
                        } else {
                            value & u64::from(u32::MAX)
                        });
                        prop_assert_eq!(value, want);
                        let missing = NonZeroU32::new(missing).filter(|_| want.is_some());
                        prop_assert_eq!(mark, missing.map(Mark::Partial));
                        prop_assert!(expected[column].sum >= before);
                        if WIDTHS[column].is_some() {
                            let first = *since[column].get_or_insert(now);
                            prop_assert_eq!(counted_since, NonZeroU64::new(first).filter(|_| want.is_some()));
                        }
                    }
                }
                Event::End(_) => {}
            }
        }
    }
}

/// A total without requests is forgotten after a day and starts again at 0.
#[test]
fn unrequested_total_is_dropped_after_a_day() {
    let mut totals = Totals::default();
    let thing = Thing {
        number: 1,
        name: 1,
        birth: None,
        began: None,
        values: [5; WIDTHS.len()],
        can: [Can::Yes; WIDTHS.len()],
    };
    let things = [thing.clone(), thing];
    let mut at = |column, now| collect(&mut totals, &things, &[column], now)[0].2.map(NonZeroU64::get);
    assert_eq!(at(1, 1), Some(1));
    assert_eq!(at(1, Totals::<usize>::KEPT_100NS), Some(1));
    assert_eq!(at(2, Totals::<usize>::KEPT_100NS + 9), Some(Totals::<usize>::KEPT_100NS + 9));
    assert_eq!(at(1, 2 * Totals::<usize>::KEPT_100NS), Some(1));
    assert_eq!(at(2, 3 * Totals::<usize>::KEPT_100NS), Some(3 * Totals::<usize>::KEPT_100NS));
    assert_eq!(totals.kept.len(), 2);
    totals.forget(|key| *key == 2);
    assert_eq!(totals.kept.len(), 1);
}

/// A count that an instance handed on when it ended is not added to the total again. A count that no row took over
/// stays.
#[test]
fn handed_on() {
    let mut totals = Totals::default();
    let mut collect = |now: u64, rows: &[(u32, u64)]| {
        totals.start(now);
        totals.want(0, Sum::HandedOn);
        for (id, value) in rows {
            let parent = if *id == 1 { 0 } else { 1 };
            let birth = NonZeroU64::new((*id).into());
            totals.row(Member { birth, id: *id, name: 3, parent }, Some(now));
            totals.add(0, Reading::Value(*value, None));
        }
        totals.end();
        totals.kept[0].sum
    };
    assert_eq!(collect(1, &[(1, 100), (2, 50), (3, 20)]), 170);
    assert_eq!(collect(2, &[(1, 100), (2, 57), (3, 20)]), 177);
    assert_eq!(
        collect(3, &[(1, 161), (3, 20)]),
        181,
        "2 ended with 60, 57 of them known, and 1 rose by 1 itself"
    );
    assert_eq!(collect(4, &[(1, 165)]), 185, "nobody took over the 20");
    assert_eq!(collect(5, &[(1, 175), (4, 10)]), 205);
    assert_eq!(collect(6, &[(1, 186)]), 206, "10 of 11 were counted before");
}

/// Checks that only a parent takes over a count: increases of other rows are their own. A parent that does not wait
/// for its children takes over nothing.
#[test]
fn only_a_parent_takes_over_a_count() {
    let mut totals = Totals::default();
    let refused = NoValue::Failed("".into());
    let mut collect = |now: u64, rows: &[(u32, u32, Option<u64>)]| {
        totals.start(now);
        totals.want(0, Sum::HandedOn);
        for (id, parent, value) in rows {
            let member = Member { birth: NonZeroU64::new((*id).into()), id: *id, name: 3, parent: *parent };
            totals.row(member, Some(now));
            totals.add(0, value.map_or(Reading::None(&refused), |value| Reading::Value(value, None)));
        }
        totals.end();
        totals.kept[0].sum
    };
    let (no, yes) = (None, |value| Some(value));
    assert_eq!(collect(1, &[(5, 1, yes(10)), (6, 5, yes(50)), (7, 1, yes(100)), (8, 1, yes(0))]), 160);
    assert_eq!(
        collect(2, &[(5, 1, yes(10)), (7, 1, yes(200)), (8, 1, yes(0))]),
        260,
        "6 ended unnoticed, 7 read 100"
    );
    assert_eq!(collect(3, &[(5, 1, yes(10)), (7, 1, yes(300)), (8, 1, yes(0))]), 360);
    // A parent that cannot be read is looked at when it has a value.
    assert_eq!(collect(4, &[(5, 1, no), (8, 1, yes(0)), (9, 5, yes(40))]), 400, "7 ended unnoticed");
    assert_eq!(collect(5, &[(5, 1, no), (8, 1, yes(70))]), 470);
    assert_eq!(collect(6, &[(5, 1, no), (8, 1, yes(170))]), 570);
    assert_eq!(collect(7, &[(5, 1, yes(53)), (8, 1, yes(170))]), 573, "40 of 43 are those of 9");
    // A child that ends between the reading of its parent and its own is taken over in the next collection.
    assert_eq!(collect(8, &[(5, 1, yes(53)), (8, 1, yes(170)), (10, 5, yes(30))]), 603);
    assert_eq!(collect(9, &[(5, 1, yes(53)), (8, 1, yes(170))]), 603);
    assert_eq!(collect(10, &[(5, 1, yes(84)), (8, 1, yes(170))]), 604);
    // Parent and child end together: their counts are the grandparent's.
    assert_eq!(collect(11, &[(5, 1, yes(84)), (8, 5, yes(170)), (11, 8, yes(9))]), 613);
    assert_eq!(collect(12, &[(5, 1, yes(84 + 170 + 9 + 2))]), 615);
    // A parent that never had a value ends long after its child: what it took over is the grandparent's.
    assert_eq!(collect(13, &[(5, 1, yes(265)), (12, 5, no), (13, 12, yes(40))]), 655);
    assert_eq!(collect(14, &[(5, 1, yes(265)), (12, 5, no)]), 655);
    assert_eq!(collect(15, &[(5, 1, yes(265)), (12, 5, no)]), 655);
    assert_eq!(collect(16, &[(5, 1, yes(265)), (12, 5, no)]), 655);
    assert_eq!(collect(17, &[(5, 1, yes(265 + 40 + 3))]), 658);
    // Of two children a parent waits for one: the larger one that fits is taken back.
    assert_eq!(collect(18, &[(5, 1, yes(308)), (14, 5, yes(30)), (15, 5, yes(40))]), 728);
    assert_eq!(collect(19, &[(5, 1, yes(308 + 45))]), 733);
}

/// An instance that had a count still has a count: without a reading the total is partial, whatever the reason.
#[test]
fn a_lost_count_is_missing() {
    let mut totals = Totals::default();
    let gone = NoValue::Unavailable("".into());
    let mut collect = |now: u64, known: Reading<'_>, never: Reading<'_>| {
        totals.start(now);
        totals.want(0, Sum::Count(Width::Wide));
        for (id, reading) in [(1, known), (2, never)] {
            totals.row(Member { birth: NonZeroU64::new(id), id: 1, name: 3, parent: 0 }, Some(now));
            totals.add(0, reading);
        }
        totals.end();
        (totals.kept[0].sum, totals.wanted[0].missing)
    };
    let (value, none) = (|value| Reading::Value(value, None), Reading::None(&gone));
    assert_eq!(collect(1, value(100), none), (100, 0), "2 has no such count");
    assert_eq!(collect(2, none, none), (100, 1));
    assert_eq!(collect(3, value(170), none), (170, 0));
}

/// Collections of totals over the same instances allocate nothing.
#[test]
fn the_same_things() {
    let mut totals = Totals::default();
    let reason = NoValue::Denied("".into());
    let mut collect = |now: u64| {
        totals.start(now);
        (0..3).for_each(|key| totals.want(key, Sum::Count(Width::Wide)));
        for id in 0..1_000 {
            totals.row(
                Member { birth: NonZeroU64::new(1_000_u64 - u64::from(id)), id, name: 3, parent: 0 },
                None,
            );
            (0..3).for_each(|column| totals.add(column, Reading::Value(now, None)));
        }
        totals.row(Member::default(), None);
        (0..3).for_each(|column| totals.add(column, Reading::None(&reason)));
        totals.end();
    };
    (1..4).for_each(&mut collect);
    assert_eq!(allocation_counter::measure(|| (4..9).for_each(&mut collect)).count_total, 0);
}
