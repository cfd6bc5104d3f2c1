//! Tests of log samples whose numbers are copied, compared with the same samples collected one by one.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use perfset_core::clock::ClockReading;
use perfset_core::{CounterType, Guid, Identity, InstanceId, Name, NoValue, Sample};
use perfset_engine::{
    Catalogue, Clock, CollectRequest, Entry, NextOutcome, Player, Provider, QueryHandle, RecordedSample,
    Replay, Rows, Sampler, Snapshot, SourceError,
};
use proptest::prelude::*;

use crate::blg::building::*;
use crate::source::merged::ONLY;
use crate::source::series::series;
use crate::source::tests::built;
use crate::source::{LogPlayer, Logs};

/// Player of a log that reports no form of its samples, so that no numbers are copied.
#[derive(Clone)]
struct Formless(LogPlayer);

impl Player for Formless {
    fn step(&mut self) -> Result<bool, SourceError> {
        self.0.step()
    }
}

impl Clock for Formless {
    fn read(&mut self) -> ClockReading {
        self.0.read()
    }
}

impl Provider for Formless {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.0.catalogue()
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.0.instances(counterset, rows)
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.0.collect(want, rows)
    }
}

/// Returns everything that a played log's snapshots contain: blocks, metadata, and formatted values.
fn played(logs: &Logs, player: impl Player, paths: &[usize]) -> Vec<String> {
    let mut query = perfset_engine::path::PathQuery::from_handle(Box::new(Replay::new(player)));
    let mut source = logs.clone();
    for path in paths {
        query.add(&mut source, &PATHS[*path].parse().unwrap()).unwrap();
    }
    let mut all = Vec::new();
    while query.collect().unwrap() == NextOutcome::Sample {
        let snapshot: &Snapshot = query.snapshot();
        let annex: Vec<_> = snapshot
            .annex()
            .iter()
            .map(|annex| {
                let reasons: Vec<_> = (0..9)
                    .flat_map(|row| (0..9).map(move |column| (row, column)))
                    .map(|(row, column)| {
                        (
                            annex.reason(row, column).cloned(),
                            annex.mark(row, column),
                            annex.birth_of(row, column),
                        )
                    })
                    .collect();
                format!("{:?} {:?} {reasons:?}", annex.failure(), annex.instance())
            })
            .collect();
        let values = query.values();
        let raw = query.raw_counters(&values);
        let values: Vec<_> =
            values.iter().map(|v| (v.path, v.occurrence, format!("{:?}", v.value))).collect();
        all.push(format!("{:?} {annex:?} {values:?} {raw:?}", snapshot.block()));
    }
    all
}

const PATHS: [&str; 7] = [
    r"\Thing(*)\*",
    r"\Thing(a)\Mean",
    r"\Thing(*)\Busy",
    r"\Thing(b#1)\Busy",
    r"\Single\Queue",
    r"\Single\*",
    r"\Thing(*)\Same",
];

/// Description of a test sample's blocks, without their numbers.
#[derive(Clone, Debug)]
struct BlocksForm {
    names: Vec<String>,
    is_missing: bool,
    is_cut: bool,
    has_other_kind: bool,
}

fn forms() -> impl Strategy<Value = Vec<(Option<BlocksForm>, i64)>> {
    let form = (
        prop::collection::vec("[ab]{1,2}", 0..4),
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(names, is_missing, is_cut, has_other_kind)| BlocksForm {
            names,
            is_missing,
            is_cut,
            has_other_kind,
        });
    // Most samples have the form of the one before.
    prop::collection::vec((prop_oneof![3 => Just(None), 1 => form.prop_map(Some)], -3..100_i64), 1..40)
}

/// Returns a strategy for the first numbers of test logs: ordinary ones, and those at which clocks or halves of a
/// number wrap.
fn firsts() -> impl Strategy<Value = i64> {
    prop_oneof![Just(1 << 40), Just(0), Just(-50), Just(i64::MAX - 50), Just((1 << 32) - 50), any::<i64>()]
}

fn log(samples: &[(Option<BlocksForm>, i64)], contradicts: bool) -> Vec<u8> {
    log_from(1 << 40, 10_000_000, samples, contradicts)
}

/// Returns a binary log whose numbers begin at `first`, with a time base of one counter.
fn log_from(first: i64, time_base: i64, samples: &[(Option<BlocksForm>, i64)], contradicts: bool) -> Vec<u8> {
    let list = [
        entry(0, CounterType::PERF_AVERAGE_BULK, 7, r"\\HOST\Thing(a)\Mean"),
        entry(1, CounterType::PERF_COUNTER_TIMER, time_base, r"\\HOST\Thing(*)\Busy"),
        entry(0, CounterType::PERF_COUNTER_100NS_QUEUELEN_TYPE, 10_000_000, r"\\HOST\Single\Queue"),
        entry(0, CounterType::PERF_COUNTER_RAWCOUNT, 0, r"\\HOST\Single\Short"),
        entry(0, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 0, r"\\HOST\Thing(c)\Same"),
        entry(0, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 0, r"\\HOST\Thing(C)\Same"),
        entry(1, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 0, r"\\HOST\Thing(*)\Many"),
    ];
    let mut form = BlocksForm {
        names: vec!["a".into(), "b".into()],
        is_missing: false,
        is_cut: false,
        has_other_kind: false,
    };
    let mut number = first;
    let samples: Vec<_> = (0..)
        .zip(samples)
        .map(|(second, (other, step))| {
            form = other.clone().unwrap_or_else(|| form.clone());
            number = number.wrapping_add(*step);
            let items: Vec<_> = form
                .names
                .iter()
                .zip(1..)
                .map(|(name, n)| (name.as_str(), number.wrapping_mul(n), number.wrapping_add(n)))
                .collect();
            let status = if form.is_missing { 0x8000_07D1 } else { 0 };
            let other = number.wrapping_add(i64::from(contradicts && step % 3 == 0));
            let mut blocks = vec![
                (1, one(status, number, number / 2, 3)),
                (2, several(&items)),
                (1, one(0, number.wrapping_mul(3), number, 5)),
                (
                    if form.has_other_kind { 5 } else { 1 },
                    one(1, number, 0, u32::try_from(step + 3).unwrap()),
                ),
                (1, one(0, number, 0, 0)),
                (1, one(0, other, 0, 0)),
                (2, several(&items)),
            ];
            if form.is_cut {
                blocks.truncate(3);
            }
            (second, blocks)
        })
        .collect();
    built(&list, &samples)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Checks that copied numbers give the same samples and damage as collections. Forms change, instances come and
    /// go, names are equal, values are missing or contradict, and samples end early.
    #[test]
    fn copies_are_collections(
        first in firsts(),
        samples in forms(),
        contradicts in prop::bool::weighted(0.2),
        paths in prop::collection::vec(0..PATHS.len(), 1..5),
    ) {
        let log = log_from(first, 10_000_000, &samples, contradicts);
        let open = || Logs::from_bytes(&log).unwrap();
        let player = |logs: &Logs| {
            let deck = logs.merged().unwrap().play(&logs.merged().unwrap().selection).unwrap();
            LogPlayer { deck: Arc::new(Mutex::new(deck)), machine: ONLY }
        };
        let (copied, collected) = (open(), open());
        let of_copies = played(&copied, player(&copied), &paths);
        let of_collections = played(&collected, Formless(player(&collected)), &paths);
        prop_assert_eq!(of_copies, of_collections);
        prop_assert_eq!(copied.damages(), collected.damages());
    }
}

/// Returns the samples of each counter of two instances, read as a series or one by one.
fn series_of(logs: &Logs, is_series: bool) -> Vec<String> {
    let mut all = Vec::new();
    let sets: Vec<_> = logs.merged().unwrap().first.catalogue.countersets.clone();
    for (set, name) in sets.iter().flat_map(|set| [(set, "a"), (set, "b"), (set, "")]) {
        let name = wide(name);
        for (counter, id) in set.counters.iter().flat_map(|counter| [(counter, 0), (counter, 1)]) {
            let (counterset, instance) = (set.guid, Name::until_nul(&name));
            let identity = Identity { counterset, instance, instance_id: InstanceId(id), birth: None };
            let mut deck = logs.merged().unwrap().play(&logs.merged().unwrap().selection).unwrap();
            let mut told = |time: i64, sample: &Result<Sample<'_>, NoValue>| {
                all.push(format!("{:?} {instance} {id} {time} {sample:?}", counter.id));
            };
            if is_series {
                let mut each = |batch: &[RecordedSample<'_>]| {
                    batch.iter().for_each(|past| told(past.time, &past.sample));
                    ControlFlow::Continue(())
                };
                series(&mut deck, counter.id, &identity, &mut each).unwrap();
                continue;
            }
            while deck.step(ONLY).unwrap() {
                let mut sampler = Sampler::new(set, counter.id, identity).unwrap();
                let sample = sampler.sample(&deck.clocks(), |want, rows| deck.collect(ONLY, want, rows));
                told(deck.time(), &sample);
            }
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Checks that a series has the samples that are read one by one, and finds the same damage.
    #[test]
    fn series_are_samples(
        first in firsts(),
        samples in forms(),
        contradicts in prop::bool::weighted(0.2),
    ) {
        let log = log_from(first, 10_000_000, &samples, contradicts);
        let [a, b] = [(); 2].map(|()| Logs::from_bytes(&log).unwrap());
        prop_assert_eq!(series_of(&a, true), series_of(&b, false));
        prop_assert_eq!(a.damages(), b.damages());
    }
}

/// Plays logs in turn into the snapshot that `next` selects for a step. Each log has a query of its own; a snapshot
/// with a second number is first replaced by a clone of the one with that number.
fn into_snapshots<P: Player>(
    mut queries: Vec<Replay<P>>,
    entry: &Entry,
    next: impl Fn(usize) -> (usize, Option<usize>),
) -> Vec<String> {
    for query in &mut queries {
        assert!(query.add(entry).is_success());
    }
    let mut snapshots = [Snapshot::default(), Snapshot::default()];
    let mut before = vec![None; queries.len()];
    let mut all = Vec::new();
    for step in 0.. {
        let (into, clone_of) = next(step);
        if let Some(other) = clone_of {
            snapshots[into] = snapshots[other].clone();
        }
        let at = step % queries.len();
        if queries[at].next(&mut snapshots[into]).unwrap() == NextOutcome::End {
            break;
        }
        let snapshot = &snapshots[into];
        let values = snapshot.values(before[at].as_ref()).map(|value| format!("{value:?}"));
        all.push(format!("{step} {:?} {:?}", snapshot.block(), values.collect::<Vec<_>>()));
        before[at] = Some(snapshot.clone());
    }
    all
}

/// Checks that snapshots that another query filled, or that were cloned, are collected again. Only numbers of this
/// query's samples are replaced.
#[test]
fn snapshots_of_others_are_not_taken_for_own() {
    let missing = BlocksForm {
        names: vec!["a".into(), "b".into()],
        is_missing: true,
        is_cut: false,
        has_other_kind: false,
    };
    let whole = BlocksForm { is_missing: false, ..missing.clone() };
    let samples: Vec<_> = (0..40)
        .map(|step| match step % 10 {
            7 => (Some(missing.clone()), step),
            8 => (Some(whole.clone()), step),
            _ => (None, step),
        })
        .collect();
    let logs = [10_000_000, 3_579_545]
        .map(|time_base| Logs::from_bytes(&log_from(1 << 40, time_base, &samples, false)).unwrap());
    let thing =
        logs[0].merged().unwrap().first.catalogue.countersets.iter().find(|set| set.name == "Thing").unwrap();
    let ids = thing.counters.iter().filter(|counter| matches!(&*counter.shown_name(), "Mean" | "Busy"));
    let entry = Entry::several(thing.guid, ids.map(|counter| counter.id)).instance("*");
    let player = |logs: &Logs| {
        let deck = logs.merged().unwrap().play(&logs.merged().unwrap().selection).unwrap();
        LogPlayer { deck: Arc::new(Mutex::new(deck)), machine: ONLY }
    };
    let copies = |logs: &[Logs]| logs.iter().map(|logs| Replay::new(player(logs))).collect::<Vec<_>>();
    let collections =
        |logs: &[Logs]| logs.iter().map(|logs| Replay::new(Formless(player(logs)))).collect::<Vec<_>>();
    // One snapshot for two queries, as several machines are played.
    let shared = |_| (0, None);
    assert_eq!(
        into_snapshots(copies(&logs), &entry, shared),
        into_snapshots(collections(&logs), &entry, shared)
    );
    // A clone takes the sample in which a value is missing, and a later one.
    let cloned = |step: usize| match step % 10 {
        7 => (1, Some(0)),
        9 => (1, None),
        _ => (0, None),
    };
    let one = &logs[..1];
    assert_eq!(into_snapshots(copies(one), &entry, cloned), into_snapshots(collections(one), &entry, cloned));
}

/// Checks that copying of numbers begins after a few collections of samples with one form.
#[test]
fn numbers_are_copied() {
    let samples: Vec<_> = (0..100).map(|step| (None, step)).collect();
    let logs = Logs::from_bytes(&log(&samples, false)).unwrap();
    let deck = Arc::new(Mutex::new(logs.merged().unwrap().play(&logs.merged().unwrap().selection).unwrap()));
    let counting = CountingPlayer(LogPlayer { deck, machine: ONLY }, Arc::default());
    let collections = Arc::clone(&counting.1);
    let mut query = Replay::new(counting);
    let sets: Vec<_> = logs.machine().countersets();
    let is_single = |guid: &&Guid| logs.machine().counterset(guid).unwrap().name == "Single";
    let guid = *sets.iter().find(is_single).unwrap();
    assert!(query.add(&Entry::all(guid)).is_success());
    let (mut a, mut b) = (Snapshot::default(), Snapshot::default());
    while query.next(&mut a).unwrap() == NextOutcome::Sample {
        std::mem::swap(&mut a, &mut b);
    }
    // Two samples of the form, two collections to find the places, and one for the other snapshot.
    assert_eq!(*collections.lock().unwrap(), 5);
}

/// Player of a log that counts the collections.
#[derive(Clone)]
struct CountingPlayer(LogPlayer, Arc<Mutex<u32>>);

impl Player for CountingPlayer {
    fn step(&mut self) -> Result<bool, SourceError> {
        self.0.step()
    }

    fn form(&mut self) -> Option<perfset_engine::SampleForm> {
        self.0.form()
    }

    fn renumber(&mut self, first: Option<u32>) -> bool {
        self.0.renumber(first)
    }

    fn numbers(&mut self, form: u64, read: &mut dyn FnMut(&[u8], &ClockReading)) {
        self.0.numbers(form, read);
    }
}

impl Clock for CountingPlayer {
    fn read(&mut self) -> ClockReading {
        self.0.read()
    }
}

impl Provider for CountingPlayer {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.0.catalogue()
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.0.instances(counterset, rows)
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        *self.1.lock().unwrap() += 1;
        self.0.collect(want, rows)
    }
}
