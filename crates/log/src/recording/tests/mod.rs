//! Tests of recordings of a scripted machine, compared with the samples that this machine delivered.

use std::collections::HashMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use perfset_core::clock::{ClockReading, SystemTime};
use perfset_core::sample::Clocks;
use perfset_core::v2::Block;
use perfset_core::{
    Counter, CounterId, CounterType, Counterset, FormattedValue, Guid, Identity, InstanceId, InstanceType,
    Mark, Name, NoValue, Owner,
};
use perfset_engine::{
    Catalogue, CellState, Clock, CollectRequest, Entry, Fact, FactKind, FactOptions, Machine, NextOutcome,
    Provider, Query, RecordedSample, Rows, SeriesValues, Snapshot, Source, SourceError, Window,
};
use proptest::prelude::*;

use super::state::tests::reasons;
use super::*;

mod hostile;
mod notes;
mod part;
mod series;

/// Instance of a scripted machine: name, id, birth, owner, and cells with their states.
type ScriptedRow = (String, u32, Option<NonZeroU64>, Owner, Vec<(u64, Option<CellState>)>);

/// Response that the scripted machine gives for a counterset in a collection.
#[derive(Clone, Debug)]
pub(super) struct ScriptedSet {
    failure: Option<NoValue>,
    clocks: Option<Clocks>,
    rows: Vec<ScriptedRow>,
}

/// Machine that delivers the clocks and countersets that a test sets.
#[derive(Clone)]
struct ScriptedMachine(Arc<Mutex<(ClockReading, Vec<ScriptedSet>)>>);

const COLUMNS: usize = 3;

fn sets() -> Vec<Arc<Counterset>> {
    let counters = || {
        let types = [
            CounterType::PERF_COUNTER_BULK_COUNT,
            CounterType::PERF_COUNTER_COUNTER,
            CounterType::PERF_100NSEC_TIMER,
        ];
        (1..)
            .zip(types)
            .map(|(id, kind)| Counter::new(CounterId(id), kind).name(format!("Counter {id}")).caps(id == 3))
    };
    let types = [InstanceType::Multiple, InstanceType::Single];
    (1..)
        .zip(types)
        .map(|(n, of)| {
            Arc::new(Counterset::new(Guid::from_u128(n), format!("Set {n}"), of).counters(counters()))
        })
        .collect()
}

impl Clock for ScriptedMachine {
    fn read(&mut self) -> ClockReading {
        self.0.lock().unwrap().0
    }
}

impl Provider for ScriptedMachine {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::new(Catalogue::new("scripted", sets())))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let all = self.0.lock().unwrap();
        let scripted = &all.1[usize::try_from(want.counterset.guid.to_u128()).unwrap() - 1];
        if let Some(reason) = &scripted.failure {
            return Err(reason.clone().into());
        }
        if let Some(clocks) = scripted.clocks {
            rows.set_clocks(clocks);
        }
        for (name, id, birth, owner, cells) in &scripted.rows {
            rows.set_owner(*owner);
            let mut row = rows.push(name, InstanceId(*id), *birth);
            for (column, (value, state)) in cells.iter().enumerate() {
                match state {
                    None => row.set(column, *value),
                    Some(CellState::Missing(reason)) => row.set_unavailable(column, reason.clone()),
                    Some(CellState::Marked(mark)) => row.set_marked(column, *value, *mark),
                    Some(CellState::Counted(since, mark)) => row.set_counted(column, *value, *mark, *since),
                }
            }
        }
        Ok(())
    }
}

impl ScriptedMachine {
    fn new() -> Self {
        let empty = ScriptedSet { failure: None, clocks: None, rows: Vec::new() };
        Self(Arc::new(Mutex::new((ClockReading::default(), vec![empty; 2]))))
    }

    fn machine(&self) -> Machine {
        let machine = Machine::bare(Box::new(self.clone()));
        machine.register(Box::new(self.clone()));
        machine
    }
}

fn query(machine: &Machine) -> Query {
    let mut query = machine.query();
    assert!(query.add(&Entry::all(Guid::from_u128(1)).instance("*")).is_success());
    assert!(query.add(&Entry::all(Guid::from_u128(2))).is_success());
    query
}

fn at(second: i64) -> ClockReading {
    let time_100ns = 133_000_000_000_000_000 + second * 10_000_000;
    ClockReading {
        perf_time: second * 1_000_000_000 + 17,
        time_100ns,
        perf_freq: 1_000_000_000,
        system_time: SystemTime::from_100ns(time_100ns),
    }
}

/// Returns everything that a snapshot contains as text.
fn said(snapshot: &Snapshot) -> String {
    let mut said = format!("{:?}\n", snapshot.clocks());
    let block = Block::parse(snapshot.block()).unwrap();
    for ((result, annex), entry) in block.results().zip(snapshot.annex()).zip(snapshot.entries()) {
        let result = result.unwrap();
        let of_set = Clocks::from(snapshot.clocks());
        let clocks = annex.clocks().unwrap_or(of_set);
        said += &format!("{:?} {:?} {:?} {clocks:?}\n", result.status, annex.failure(), annex.instance());
        let mut row = |at: usize, name: String, id: u32, values: Vec<Option<u64>>| {
            said += &format!(" {name} {id} {:?} {:?}:", annex.birth(at), annex.owner(at));
            for (column, value) in values.iter().enumerate() {
                let reason = value.is_none().then(|| annex.reason(at, column).cloned());
                let mark = value.and(annex.mark(at, column)).filter(|mark| *mark != Mark::Reused);
                let since = value.and(annex.counted_since(at, column));
                said += &format!(" {value:?} {reason:?} {mark:?} {since:?},");
            }
            said += "\n";
        };
        match result.body {
            perfset_core::v2::Body::Counterset(_, table) => {
                for (at, instance) in table.rows().enumerate() {
                    let instance = instance.unwrap();
                    let values =
                        instance.values().iter().map(|value| value.number().map(|n| n.get())).collect();
                    row(at, instance.name().to_string(), instance.id().0, values);
                }
            }
            perfset_core::v2::Body::MultipleCounters(_, values) => {
                row(
                    0,
                    String::new(),
                    0,
                    values.iter().map(|value| value.number().map(|n| n.get())).collect(),
                );
            }
            perfset_core::v2::Body::Error => {}
            other => panic!("{other:?} of {entry:?}"),
        }
    }
    said
}

/// Directory of a test, which is removed when it is dropped.
pub(super) struct TestFolder(pub PathBuf);

impl TestFolder {
    pub fn new(name: &str) -> Self {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("perfset-{name}-{}-{number}", std::process::id())))
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn about((boot, run): (&str, &str)) -> RecordingAbout {
    RecordingAbout::default()
        .with(RecordingAbout::MACHINE, "web1")
        .with(RecordingAbout::BOOT, boot)
        .with(RecordingAbout::RUN, run)
        .with(RecordingAbout::INTERVAL_MS, "1000")
}

/// Records samples of a scripted machine, and returns the text of each.
pub(super) fn record(
    folder: &TestFolder,
    samples: &[(i64, Vec<ScriptedSet>)],
    boot: &str,
    ticks_per_file: u32,
) -> Vec<String> {
    record_run(folder, samples, (boot, "run"), ticks_per_file)
}

/// Records samples of a scripted machine as one run of a recorder.
fn record_run(
    folder: &TestFolder,
    samples: &[(i64, Vec<ScriptedSet>)],
    boot_and_run: (&str, &str),
    ticks_per_file: u32,
) -> Vec<String> {
    let scripted = ScriptedMachine::new();
    let machine = scripted.machine();
    let mut query = query(&machine);
    let options = WriterOptions { ticks_per_file, ..WriterOptions::default() };
    let mut writer = RecordingWriter::create(&folder.0, &at(0), about(boot_and_run), options).unwrap();
    let mut snapshot = Snapshot::default();
    let mut said_all = Vec::new();
    let mut tables = Vec::new();
    for (second, sample) in samples {
        *scripted.0.lock().unwrap() = (at(*second), sample.clone());
        query.collect(&mut snapshot).unwrap();
        if tables.is_empty() {
            for entry in snapshot.entries() {
                tables.push(writer.add_table(TableDefinition::of(entry, 1_000).unwrap()).unwrap());
            }
        }
        let parts: Vec<_> = tables
            .iter()
            .enumerate()
            .map(|(entry, table)| TickPart { table: *table, snapshot: &snapshot, entry })
            .collect();
        writer.tick(snapshot.clocks(), &parts).unwrap();
        let mut facts = |of: &Identity<'_>| {
            let text = format!("{boot_and_run:?} {} {second}", of.instance_id.0);
            let secret = Fact::new(FactKind::CommandLine, Ok("secret".to_owned()));
            vec![Fact::new(FactKind::User, Ok(text)), secret]
        };
        writer.note_new(&Guid::from_u128(1), 100, &mut facts);
        said_all.push(said(&snapshot));
    }
    writer.finish_file();
    said_all
}

/// Plays all samples of a recording, and returns the text of each.
fn play(recording: &Recording) -> Vec<String> {
    let mut source = recording.clone();
    let mut handle = source.open().unwrap();
    assert!(handle.add(&Entry::all(Guid::from_u128(1)).instance("*")).is_success());
    assert!(handle.add(&Entry::all(Guid::from_u128(2))).is_success());
    let mut snapshot = Snapshot::default();
    let mut all = Vec::new();
    while handle.next(&mut snapshot).unwrap() == NextOutcome::Sample {
        all.push(said(&snapshot));
    }
    all
}

/// Records samples, one of which is lost. Returns the texts of the others.
fn record_with(
    writer: &mut RecordingWriter,
    samples: &[(i64, Vec<ScriptedSet>)],
    lost: Option<usize>,
) -> Vec<String> {
    let scripted = ScriptedMachine::new();
    let mut query = query(&scripted.machine());
    let mut snapshot = Snapshot::default();
    let (mut said_all, mut tables) = (Vec::new(), Vec::new());
    for (number, (second, sample)) in samples.iter().enumerate() {
        *scripted.0.lock().unwrap() = (at(*second), sample.clone());
        query.collect(&mut snapshot).unwrap();
        if tables.is_empty() {
            for entry in snapshot.entries() {
                tables.push(writer.add_table(TableDefinition::of(entry, 1_000).unwrap()).unwrap());
            }
        }
        let part = |(entry, table): (usize, &usize)| TickPart { table: *table, snapshot: &snapshot, entry };
        let parts: Vec<_> = tables.iter().enumerate().map(part).collect();
        if lost == Some(number) {
            writer.lose_tick(snapshot.clocks());
            continue;
        }
        writer.tick(snapshot.clocks(), &parts).unwrap();
        said_all.push(said(&snapshot));
    }
    said_all
}

/// Checks that a recording of a single file is sealed in place, in segments that begin with whole ticks, and has its
/// annotations.
#[test]
fn single_files_are_sealed() {
    let folder = TestFolder::new("single-file");
    std::fs::create_dir(&folder.0).unwrap();
    // A name that ends as temporary files do.
    let path = folder.0.join("one.tmp");
    let samples: Vec<_> = (0..250)
        .flat_map(|round| some_samples().into_iter().map(move |(second, sets)| (round * 6 + second, sets)))
        .collect();
    let mut writer =
        RecordingWriter::create_file(&path, &at(0), about(("boot", "run")), WriterOptions::default())
            .unwrap();
    let mark = Annotation { time: 7, is_of_recorder: true, text: "recorder started".into() };
    writer.annotate(&mark).unwrap();
    // A lost tick makes the one after it a whole one, so that segments begin at other places.
    let want = record_with(&mut writer, &samples, Some(40));
    writer.finish_file().unwrap();
    let played = play(&Recording::open(&path).unwrap());
    let before = std::fs::metadata(&path).unwrap().len();
    seal_file(&path).unwrap();
    let recording = Recording::open(&path).unwrap();
    assert_eq!(play(&recording), played);
    assert_eq!(played.iter().filter(|said| !said.contains("nothing was recorded")).count(), want.len());
    assert_eq!(recording.annotations(), [&mark]);
    assert_eq!(recording.missed().len(), 1);
    assert!(recording.all_damages().is_empty());
    assert!(std::fs::metadata(&path).unwrap().len() < before);
    let mut walker = BlockWalker::new(std::fs::read(&path).unwrap()).unwrap();
    let mut kinds = Vec::new();
    while let Some(block) = walker.next_block().unwrap() {
        kinds.push(block.header.kind);
    }
    assert_eq!(kinds.iter().filter(|kind| **kind == BlockKind::Segment).count(), 5);
    assert!(!kinds.iter().any(|kind| matches!(kind, BlockKind::Key | BlockKind::Tick)));
    assert_eq!(kinds.last(), Some(&BlockKind::End));
    // It is sealed once, and nothing else is in the directory.
    assert!(seal_file(&path).is_err());
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
    // A file of that name is not the recorder's: the recording stays as it is.
    let other = folder.0.join("two.perfset");
    let mut writer =
        RecordingWriter::create_file(&other, &at(0), about(("boot", "run")), WriterOptions::default())
            .unwrap();
    record_with(&mut writer, &samples[..9], None);
    writer.finish_file().unwrap();
    let bytes = std::fs::read(&other).unwrap();
    std::fs::write(folder.0.join("two.perfset.tmp"), "mine").unwrap();
    assert!(seal_file(&other).is_err());
    assert_eq!(std::fs::read(&other).unwrap(), bytes);
    assert_eq!(std::fs::read(folder.0.join("two.perfset.tmp")).unwrap(), b"mine");
}

/// Checks that a journal that has only an annotation keeps the annotation if its first tick is lost.
#[test]
fn annotations_survive_a_lost_tick() {
    let folder = TestFolder::new("lost-after-mark");
    let mut writer =
        RecordingWriter::create(&folder.0, &at(0), about(("boot", "run")), WriterOptions::default()).unwrap();
    let mark = Annotation { time: 7, is_of_recorder: true, text: "recorder started".into() };
    writer.annotate(&mark).unwrap();
    let want = record_with(&mut writer, &some_samples(), Some(0));
    let finished = writer.finish_file().unwrap().path;
    for is_sealed in [false, true] {
        if is_sealed {
            seal(&finished).unwrap();
        }
        let recording = Recording::open(&folder.0).unwrap();
        assert_eq!(recording.annotations(), [&mark]);
        assert_eq!((recording.times().count(), recording.missed().len()), (want.len(), 1));
        assert_eq!(play(&recording), want);
    }
}

/// Returns every series of a recording's first counterset, as text.
fn all_series(recording: &Recording) -> Vec<String> {
    let counterset = Guid::from_u128(1);
    let mut all = Vec::new();
    for SeenInstance { instance, .. } in recording.seen_instances(&counterset).unwrap() {
        let units = instance.name.units().iter().chain(&[0]);
        let name: Vec<u8> = units.flat_map(|unit| unit.to_le_bytes()).collect();
        let instance =
            Identity { counterset, instance: Name::until_nul(&name), instance_id: instance.id, birth: None };
        for counter in (1..=3).map(CounterId) {
            let mut each = |batch: &[RecordedSample<'_>]| {
                all.extend(batch.iter().map(|past| format!("{past:?}")));
                ControlFlow::Continue(())
            };
            recording.clone().series(counter, &instance, Window::default(), &mut each).unwrap();
        }
    }
    all
}

/// Key of a value in a test: time, instance name, instance id and counter.
type ValueKey = (i64, String, u32, u32);

/// Value and mark that a query returned; `None` if two instances have the key.
type MarkedValue = Option<(Result<f64, NoValue>, Option<Mark>)>;

/// Returns a value for comparison, without the reason "new instance", which a query of one instance cannot know.
fn compared(value: Result<FormattedValue, NoValue>) -> Result<f64, NoValue> {
    value.map(|value| value.raw).map_err(|reason| match reason {
        NoValue::NewInstance => NoValue::NeedsTwoSamples,
        reason => reason,
    })
}

/// Checks that the values of each series are those that a query computes, marks included. An instance whose name and id
/// are in a sample twice has no series of its own.
fn assert_series_are_values(recording: &Recording) {
    let guid = Guid::from_u128(1);
    let set = Arc::clone(recording.countersets().iter().find(|set| set.guid == guid).unwrap());
    let mut source = recording.clone();
    let mut handle = source.open().unwrap();
    assert!(handle.add(&Entry::all(guid).instance("*")).is_success());
    let mut want: HashMap<ValueKey, MarkedValue> = HashMap::new();
    let [mut old, mut new] = [Snapshot::default(), Snapshot::default()];
    while handle.next(&mut new).unwrap() == NextOutcome::Sample {
        let time = new.clocks().utc_100ns();
        for v in new.values(Some(&old)).filter(|v| v.instance_id.is_some()) {
            let key = (time, v.instance.to_string(), v.instance_id.unwrap().0, v.counter.id.0);
            // A query of one instance does not know whether the sample before had others.
            let value = (compared(v.value), v.mark);
            want.entry(key).and_modify(|twice| *twice = None).or_insert(Some(value));
        }
        std::mem::swap(&mut old, &mut new);
    }
    for SeenInstance { instance, .. } in recording.seen_instances(&guid).unwrap() {
        let units = instance.name.units().iter().chain(&[0]);
        let name: Vec<u8> = units.flat_map(|unit| unit.to_le_bytes()).collect();
        let name = Name::until_nul(&name);
        let identity = Identity { counterset: guid, instance: name, instance_id: instance.id, birth: None };
        for counter in set.counters.iter() {
            let mut values = SeriesValues::new(&set, counter, identity);
            let mut is_sure = true;
            let mut each = |batch: &[RecordedSample<'_>]| {
                for past in batch {
                    let (value, mark) = values.next(&past.sample, past.mark);
                    let key = (past.time, name.to_string(), instance.id.0, counter.id.0);
                    let known = want.get(&key);
                    // Which of two rows the sample is of, and then the next value, is not known.
                    let was_sure = std::mem::replace(&mut is_sure, !matches!(known, Some(None)));
                    if let (Some(Some(known)), true) = (known, was_sure) {
                        assert_eq!((&compared(value), &mark), (&known.0, &known.1), "{key:?}");
                    }
                }
                ControlFlow::Continue(())
            };
            recording.clone().series(counter.id, &identity, Window::default(), &mut each).unwrap();
        }
    }
}

fn any_row() -> impl Strategy<Value = ScriptedRow> {
    let state = prop_oneof![
        proptest::sample::select(reasons()).prop_map(CellState::Missing),
        Just(CellState::Marked(Mark::Held)),
        any::<NonZeroU32>().prop_map(|missing| CellState::Marked(Mark::Partial(missing))),
        (1..3_u64, any::<bool>()).prop_map(|(since, is_held)| {
            CellState::Counted(NonZeroU64::new(since).unwrap(), is_held.then_some(Mark::Held))
        }),
    ];
    let value = prop_oneof![3 => 0..4_u64, 1 => any::<u64>()];
    let cells = proptest::collection::vec((value, proptest::option::weighted(0.2, state)), COLUMNS);
    let owner = prop_oneof![
        Just(Owner::System),
        (0..3_u32, 0..3_u32).prop_map(|(pid, user)| Owner::Process { pid, user })
    ];
    let birth = prop_oneof![Just(None), (1..3_u64).prop_map(NonZeroU64::new)];
    ("[a-c]{1,2}", 0..3_u32, birth, owner, cells)
}

fn any_scripted(most: usize) -> impl Strategy<Value = ScriptedSet> {
    let failure = proptest::option::weighted(0.1, proptest::sample::select(reasons()));
    let clocks = proptest::option::weighted(0.2, (0..1_000_i64).prop_map(|second| Clocks::from(&at(second))));
    (failure, clocks, proptest::collection::vec(any_row(), 1..=most))
        .prop_map(|(failure, clocks, rows)| ScriptedSet { failure, clocks, rows })
}

fn any_samples() -> impl Strategy<Value = Vec<Vec<ScriptedSet>>> {
    let sample = (any_scripted(5), any_scripted(1)).prop_map(|(multiple, single)| vec![multiple, single]);
    proptest::collection::vec(sample, 1..8)
}

proptest! {
    // Files are slow under Wine, where this ran a minute.
    #![proptest_config(ProptestConfig::with_cases(if cfg!(windows) { 8 } else { 64 }))]

    /// Checks that played samples equal the collected ones, in whatever files they are: in journals, sealed, or both.
    #[test]
    fn played_samples_equal_collected_ones(
        samples in any_samples(), ticks_per_file in 1..5_u32, sealed in any::<[bool; 8]>()
    ) {
        let folder = TestFolder::new("recording");
        let samples: Vec<_> = (0..).zip(samples).collect();
        let want = record(&folder, &samples, "boot", ticks_per_file);
        let recording = Recording::open(&folder.0).unwrap();
        prop_assert_eq!(play(&recording), &want[..]);
        prop_assert!(recording.damages().iter().all(|(_, damages)| damages.is_empty()));
        prop_assert_eq!(recording.times().count(), samples.len());
        let series = all_series(&recording);
        // Windows keeps the name of a removed file for as long as the file is open.
        drop(recording);
        for (journal, is_sealed) in unsealed(&folder.0, None).unwrap().iter().zip(sealed) {
            if is_sealed {
                let copy = std::fs::read(journal).unwrap();
                seal(journal).unwrap();
                prop_assert!(!journal.exists());
                if ticks_per_file % 2 == 0 {
                    // As if the recorder had been ended before it removed the journal.
                    std::fs::write(journal, copy).unwrap();
                }
            }
        }
        let recording = Recording::open(&folder.0).unwrap();
        // Of a segment only the rows of the instance are read, and of an instant only the ticks before it.
        prop_assert_eq!(all_series(&recording), series);
        assert_series_are_values(&recording);
        for (time, want) in recording.times().zip(&want) {
            let instant = recording.within(Window { begin: Some(time), end: Some(time) });
            prop_assert_eq!(&play(&instant), std::slice::from_ref(want));
        }
        prop_assert_eq!(play(&recording), want);
        prop_assert!(recording.all_damages().is_empty(), "{:?}", recording.all_damages());
    }
}

/// Returns samples for a recording whose instances begin and end.
pub(super) fn some_samples() -> Vec<(i64, Vec<ScriptedSet>)> {
    let row = |name: &str, value: u64| {
        let cells = vec![(value, None), (value * 1_000, None), (0, Some(CellState::Missing(NoValue::Late)))];
        (name.to_owned(), 7, NonZeroU64::new(5), Owner::System, cells)
    };
    let set = |rows| ScriptedSet { failure: None, clocks: None, rows };
    (0..6)
        .map(|second: i64| {
            let value = second.unsigned_abs();
            let names = ["a", "b", "c", "d"].iter().skip(usize::try_from(second % 3).unwrap());
            let rows = names.map(|name| row(name, value)).collect();
            (second, vec![set(rows), set(vec![row("", value * value)])])
        })
        .collect()
}

/// Checks that a recording's file plays collected samples only. Returns their number; 0 if the file is refused.
fn intact_samples(bytes: &[u8], want: &[String]) -> usize {
    let Ok(recording) = Recording::from_bytes(bytes) else { return 0 };
    if recording.countersets().len() < 2 {
        return 0; // a definition is lost
    }
    let played = play(&recording);
    // A sample that separates others has no values.
    let real: Vec<_> = played.iter().filter(|said| !said.contains("nothing was recorded")).collect();
    for said in &real {
        // Parts of a sealed file can be lost: each cell is one of those that were collected at that time.
        let at = said.lines().next().unwrap();
        let of_time = want.iter().find(|want| want.starts_with(at)).expect("a time that was not collected");
        let cells = |said: &str| said.split([',', ':']).map(str::to_owned).collect::<Vec<_>>();
        let known = cells(of_time);
        let is_known = |cell: &String| !cell.starts_with(" Some(") || known.contains(cell);
        assert!(*of_time == **said || said.contains("damaged"), "{said} instead of {of_time}");
        assert!(cells(said).iter().all(is_known), "{said} instead of {of_time}");
    }
    real.len()
}

/// Checks that no cut and no changed byte of a journal or its sealed copy causes a panic or another value.
#[test]
fn cut_and_changed_files() {
    let folder = TestFolder::new("damaged-recording");
    let want = record(&folder, &some_samples(), "boot", 100);
    let journal = unsealed(&folder.0, None).unwrap().remove(0);
    let whole = std::fs::read(&journal).unwrap();
    let sealed = std::fs::read(seal(&journal).unwrap()).unwrap();
    for bytes in [whole, sealed] {
        assert_eq!(intact_samples(&bytes, &want), want.len());
        let mut before = 0;
        for len in 0..bytes.len() {
            let now = intact_samples(&bytes[..len], &want);
            assert!(now >= before, "{len}");
            before = now;
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x5A;
            intact_samples(&changed, &want);
        }
    }
}

/// Checks that a recording's journal cut at any byte is no damage, and that a longer part of it never has fewer
/// ticks. Sealing removes a journal that was not begun.
#[test]
fn journals_that_end_at_any_byte() {
    let folder = TestFolder::new("begun-recording");
    let samples = some_samples();
    let (earlier, later) = samples.split_at(3);
    record(&folder, earlier, "boot", 100);
    seal(&unsealed(&folder.0, None).unwrap().remove(0)).unwrap();
    record_run(&folder, later, ("boot", "later run"), 100);
    let journal = unsealed(&folder.0, None).unwrap().remove(0);
    let whole = std::fs::read(&journal).unwrap();
    let mut before = earlier.len();
    for len in 0..=whole.len() {
        std::fs::write(&journal, &whole[..len]).unwrap();
        let recording = Recording::open(&folder.0).unwrap();
        assert!(recording.all_damages().is_empty(), "{len}: {:?}", recording.all_damages());
        let now = recording.times().count();
        assert!(now >= before, "{len}");
        before = now;
    }
    assert_eq!(before, samples.len());
    for (bytes, is_damaged) in [(&b"PFS1"[..], false), (b"PF", false), (b"", false), (b"PFX1", true)] {
        std::fs::write(&journal, bytes).unwrap();
        assert_eq!(Recording::open(&folder.0).unwrap().all_damages().is_empty(), !is_damaged);
        assert!(seal(&journal).is_err());
        assert_eq!(journal.exists(), is_damaged, "{bytes:?}");
    }
}

/// Checks that samples of two boots, or of two recorders, are separated by a sample without values.
#[test]
fn samples_of_two_boots_are_separated() {
    for (boots, reason) in [(["one", "two"], "Restarted"), (["one", "one"], "nothing was recorded")] {
        let folder = TestFolder::new("two-boots");
        let samples = some_samples();
        let mut want = record(&folder, &samples[..3], boots[0], 100);
        let later: Vec<_> = samples[3..].iter().map(|(second, sets)| (second + 100, sets.clone())).collect();
        for journal in unsealed(&folder.0, None).unwrap() {
            seal(&journal).unwrap();
        }
        let run = std::process::id().to_string() + reason;
        want.extend(record_run(&folder, &later, (boots[1], &run), 100));
        let recording = Recording::open(&folder.0).unwrap();
        let played = play(&recording);
        assert_eq!(played.len(), want.len() + 1);
        assert!(played[3].contains(reason), "{}", played[3]);
        assert_eq!([&played[..3], &played[4..]].concat(), want);
        let last = at(later.last().unwrap().0).utc_100ns();
        let ends = if boots[0] == boots[1] { vec![last] } else { vec![at(samples[2].0).utc_100ns(), last] };
        assert_eq!(recording.boot_ends(), ends);
    }
}
