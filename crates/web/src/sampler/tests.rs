//! Tests of series and their stored values.

use perfset::clock::{ClockReading, SystemTime};
use perfset::path::PathQuery;
use perfset::testing::{FixedClock, Script, Scripted};
use perfset::{Clock as _, Counter, CounterId, CounterType, Counterset, Guid, InstanceType, Machine};

use super::series::{SeriesId, SeriesTable};

/// Scripted machine with one counter, whose samples are stored in a table of series.
struct Samples {
    provider: Scripted,
    query: PathQuery,
    table: SeriesTable,
    clock: FixedClock,
}

impl Samples {
    fn new(most: usize, depth: usize) -> Self {
        let counter = Counter::new(CounterId(2), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
            .name("Size")
            .source("a test");
        let set = Counterset::new(Guid::from_u128(7), "Set", InstanceType::Multiple).counters([counter]);
        let mut machine = Machine::new(Box::new(FixedClock::default()));
        let provider = Scripted::new(vec![set]);
        machine.register(Box::new(provider.clone()));
        let mut query = PathQuery::open(&mut machine).unwrap();
        query.add(&mut machine, &r"\Set(*)\Size".parse().unwrap()).unwrap();
        let mut clock = FixedClock::default();
        clock.read(); // the first sample is of the first second
        Self { provider, query, table: SeriesTable::new(most, depth), clock }
    }

    /// Takes a sample of the scripted machine, and returns the ids of its series, 0 for series that found no space.
    fn take(&mut self, change: impl FnOnce(&mut Script)) -> Vec<SeriesId> {
        self.provider.with(change);
        self.query.collect().unwrap();
        self.table.begin(&self.clock.read());
        let mut ids = Vec::new();
        for v in self.query.values().iter().filter(|v| v.value.instance_id.is_some()) {
            let id = self.table.series(v, self.query.birth(v));
            let value = v.value.value.as_ref().ok().map(|value| value.raw);
            id.into_iter().for_each(|id| self.table.keep(id, value));
            ids.push(id.unwrap_or(0));
        }
        ids
    }

    /// Returns the stored values of a series since a time.
    fn kept(&self, id: SeriesId, since: i64) -> Vec<Option<f32>> {
        self.table
            .samples_after(since, 99)
            .into_iter()
            .map(|(sample, _)| self.table.value(id, sample))
            .collect()
    }
}

fn one(name: &'static str, id: u32, value: u64) -> impl FnOnce(&mut Script) {
    move |script| script.rows = vec![(name, id, vec![Ok(value)])]
}

#[test]
fn the_last_values_are_kept_and_gaps_stay_gaps() {
    let mut samples = Samples::new(9, 4);
    assert_eq!(samples.take(one("a", 1, 2)), [1]);
    assert_eq!(samples.take(one("a", 1, 3)), [1]);
    assert_eq!(samples.take(one("b", 2, 5)), [2]);
    assert_eq!(samples.take(one("a", 1, 7)), [1]);
    assert_eq!(samples.kept(1, 0), [Some(2.0), Some(3.0), None, Some(7.0)]);
    assert_eq!(samples.kept(2, 0), [None, None, Some(5.0), None]);
    assert_eq!(samples.kept(1, 2_000), [None, Some(7.0)]);
    assert_eq!(samples.table.samples_after(0, 2), [(3, 3_000), (4, 4_000)], "the newest");
    samples.take(one("a", 1, 11));
    assert_eq!(samples.kept(1, 0), [Some(3.0), None, Some(7.0), Some(11.0)]);
    // A series that was absent for longer than the history starts again, with the same number.
    (0..6).for_each(|n| drop(samples.take(one("b", 2, n))));
    assert_eq!(samples.take(one("a", 1, 13)), [1]);
    assert_eq!(samples.kept(1, 0), [None, None, None, Some(13.0)]);
}

#[test]
fn a_number_is_of_one_thing() {
    let mut samples = Samples::new(9, 4);
    let born = |birth| {
        move |script: &mut Script| {
            script.rows = vec![("a", 1, vec![Ok(2)])];
            script.births = vec![(1, birth)];
        }
    };
    assert_eq!(samples.take(born(3)), [1]);
    assert_eq!(samples.take(born(5)), [2], "another one of that name and id");
    assert_eq!(samples.take(born(5)), [2]);
    assert_eq!(samples.take(one("a", 2, 7)), [3], "another id");
    assert_eq!(samples.take(one("A", 2, 7)), [4], "another name");
}

#[test]
fn ended_series_makes_room_for_new_ones() {
    let mut samples = Samples::new(2, 9);
    let rows = |names: &'static [&'static str]| {
        move |script: &mut Script| {
            script.rows = (0..).zip(names).map(|(id, name)| (*name, id, vec![Ok(1)])).collect();
        }
    };
    assert_eq!(samples.take(rows(&["a", "b", "c"])), [1, 2, 0]);
    assert_eq!((samples.table.len(), samples.table.refused()), (2, 1));
    assert_eq!(samples.take(rows(&["a", "b"])), [1, 2]);
    assert_eq!(samples.table.refused(), 0);
    // One that lives is never given up for one that comes.
    assert_eq!(samples.take(rows(&["a"])), [1]);
    assert_eq!(samples.take(rows(&["a", "x", "y"])), [1, 3, 0]);
    assert!(samples.table.has(1) && !samples.table.has(2) && samples.table.has(3));
}

#[test]
fn long_ended_series_is_dropped() {
    let mut samples = Samples::new(9, 4);
    samples.take(one("a", 1, 2));
    (0..200).for_each(|_| drop(samples.take(one("b", 2, 3))));
    assert!(!samples.table.has(1) && samples.table.has(2));
    assert_eq!(samples.table.len(), 1);
}

#[test]
fn numbers_that_are_none_are_not_kept() {
    let mut samples = Samples::new(9, 4);
    let id = samples.take(one("a", 1, 2))[0];
    samples.table.begin(&samples.clock.read());
    samples.table.keep(id, Some(f64::INFINITY));
    samples.table.begin(&samples.clock.read());
    samples.table.keep(id, None);
    samples.table.keep(id, Some(3.0)); // a second path that means it adds nothing
    assert_eq!(samples.kept(id, 0), [Some(2.0), None, None]);
}

#[test]
fn a_stepped_wall_clock_leaves_samples_as_old_as_they_are() {
    let mut samples = Samples::new(9, 3);
    let times = |samples: &Samples| -> Vec<_> {
        samples.table.samples_after(i64::MIN, 9).into_iter().map(|(_, time)| time).collect()
    };
    samples.take(one("a", 1, 2));
    samples.take(one("a", 1, 3));
    assert_eq!(times(&samples), [1_000, 2_000]);
    for (step, want) in [(3_600_000, [1_000, 2_000, 3_000]), (-500, [2_000, 3_000, 4_000])] {
        let time = samples.clock.read();
        let wall = time.time_100ns + step * 10_000;
        samples.table.begin(&ClockReading { system_time: SystemTime::from_100ns(wall), ..time });
        assert_eq!(times(&samples), want.map(|time| time + step), "{step}");
    }
}
