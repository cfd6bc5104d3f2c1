//! Tests of recordings of a real machine, of a generated day, and under clocks that jump, against the collected
//! values.
//!
//! The tests that are ignored take minutes: `cargo xtask live --only recording` runs them, with the counts of the
//! variables `PERFSET_TEST_SECONDS`, `PERFSET_TEST_TICKS`, `PERFSET_TEST_ROUNDS` and the directory
//! `PERFSET_TEST_FOLDER`.
#![cfg(target_os = "linux")]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use perfset::clock::{ClockReading, SystemTime, UNIX_EPOCH_100NS};
use perfset::log::recording::{
    Recording, RecordingAbout, RecordingWriter, RingLimits, TableDefinition, TickPart, WriterOptions, seal,
};
use perfset::path::PathQuery;
use perfset::sample::Clocks;
use perfset::v2::{Block, Body};
use perfset::{
    Catalogue, Clock, CollectRequest, Counter, CounterId, CounterType, Counterset, Entry, Guid, InstanceId,
    InstanceType, Machine, NextOutcome, NoValue, Provider, Rows, Snapshot, Source, SourceError, Window,
};

const SECOND: i64 = 10_000_000;

/// Directory of a test that is removed in the end.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("perfset-recordings-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }

    fn files(&self) -> Vec<PathBuf> {
        std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the count in an environment variable, or `otherwise` if the variable is not set.
fn count(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap())
}

fn about() -> RecordingAbout {
    RecordingAbout::default()
        .with(RecordingAbout::MACHINE, "test")
        .with(RecordingAbout::BOOT, "boot")
        .with(RecordingAbout::RUN, "run")
        .with(RecordingAbout::INTERVAL_MS, "1000")
}

/// Returns a digest of the rows of each result in a snapshot: clocks, cells, births, reasons and marks.
fn digests(snapshot: &Snapshot) -> Vec<u64> {
    let block = Block::parse(snapshot.block()).unwrap();
    let all = block.results().zip(snapshot.annex()).map(|(result, annex)| {
        let (mut hasher, result) = (DefaultHasher::new(), result.unwrap());
        let clocks = annex.clocks().unwrap_or_else(|| Clocks::from(snapshot.clocks()));
        let mut row = |at: usize, name: String, id: u32, values: Vec<Option<u64>>| {
            let text =
                format!("{name} {id} {:?} {:?} {values:?} {clocks:?}", annex.birth(at), annex.owner(at));
            text.hash(&mut hasher);
            for (column, value) in values.iter().enumerate() {
                let reason = value.is_none().then(|| annex.reason(at, column));
                // Whether a value was read again is not recorded.
                let mark = value.and(annex.mark(at, column)).filter(|mark| *mark != perfset::Mark::Reused);
                format!("{reason:?} {mark:?}").hash(&mut hasher);
            }
        };
        match result.body {
            Body::Counterset(_, table) => {
                for (at, instance) in table.rows().enumerate() {
                    let instance = instance.unwrap();
                    let values = instance.values().iter().map(|value| value.number().map(|n| n.get()));
                    row(at, instance.name().to_string(), instance.id().0, values.collect());
                }
            }
            Body::MultipleCounters(_, values) => {
                let values = values.iter().map(|value| value.number().map(|n| n.get()));
                row(0, String::new(), 0, values.collect());
            }
            _ => {}
        }
        hasher.finish()
    });
    all.collect()
}

/// Processes that begin and end while a machine is recorded.
struct Churn {
    children: Vec<Child>,
    most: usize,
}

impl Churn {
    /// Starts some processes and ends the oldest ones.
    fn step(&mut self, some: usize) {
        for _ in 0..some {
            if self.children.len() >= self.most {
                let mut oldest = self.children.remove(0);
                let _ = oldest.kill();
                let _ = oldest.wait();
            }
            self.children.push(Command::new("sleep").arg("1000").spawn().unwrap());
        }
    }
}

impl Drop for Churn {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Every counterset of this machine is replayed as it was collected, cell by cell, while processes come and go.
#[test]
#[ignore = "takes PERFSET_TEST_SECONDS, 600 s"]
fn this_machine_is_replayed_as_it_was_collected() {
    let (seconds, processes) = (count("PERFSET_TEST_SECONDS", 600), count("PERFSET_TEST_ROUNDS", 1_000));
    let folder = TestFolder::new("machine");
    let machine = perfset::local();
    let mut query = machine.query();
    let mut sets = machine.countersets();
    // The engine's own counters change with each collection, also with those of the replay.
    sets.retain(|guid| machine.counterset(guid).is_ok_and(|set| set.name != "Perfset Engine"));
    for guid in &sets {
        let is_multiple = machine.counterset(guid).unwrap().instance_type.is_multiple();
        let entry = if is_multiple { Entry::all(*guid).instance("*") } else { Entry::all(*guid) };
        assert!(query.add(&entry).is_success());
    }
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    let entries: Vec<Entry> = query.entries().cloned().collect();
    let options = WriterOptions::default().ticks_per_file(20);
    let mut writer = RecordingWriter::create(&folder.0, snapshot.clocks(), about(), options).unwrap();
    let tables: Vec<usize> = snapshot
        .entries()
        .iter()
        .map(|entry| writer.add_table(TableDefinition::of(entry, 1_000).unwrap()).unwrap())
        .collect();
    let mut churn = Churn { children: Vec::new(), most: usize::try_from(processes).unwrap() };
    let (begin, mut wanted, mut cells) = (Instant::now(), Vec::new(), 0);
    while begin.elapsed() < Duration::from_secs(seconds) {
        churn.step(20);
        query.collect(&mut snapshot).unwrap();
        let parts: Vec<_> = tables
            .iter()
            .map(|table| TickPart { table: *table, snapshot: &snapshot, entry: *table })
            .collect();
        if let Some(finished) = writer.tick(snapshot.clocks(), &parts).unwrap() {
            seal(&finished.path).unwrap();
        }
        wanted.push(digests(&snapshot));
        cells += snapshot.block().len() / 16;
    }
    drop((writer, churn));
    let mut recording = Recording::open(&folder.0).unwrap();
    let mut replay = recording.open().unwrap();
    for entry in &entries {
        assert!(replay.add(entry).is_success());
    }
    for (tick, wanted) in wanted.iter().enumerate() {
        assert_eq!(replay.next(&mut snapshot).unwrap(), NextOutcome::Sample);
        for ((read, wanted), entry) in digests(&snapshot).iter().zip(wanted).zip(&entries) {
            assert_eq!(
                read,
                wanted,
                "tick {tick}, {:?}",
                machine.counterset(&entry.counterset).map(|set| set.name.clone())
            );
        }
    }
    assert_eq!(replay.next(&mut snapshot).unwrap(), NextOutcome::End);
    assert!(recording.all_damages().is_empty());
    println!("figure: {} ticks of about {} values each are equal", wanted.len(), cells / wanted.len());
}

/// Machine of 1,000 processes whose values follow from the time, with clocks that a test sets.
#[derive(Clone)]
struct Generator(Arc<Mutex<ClockReading>>);

/// Number of processes of the generated machine.
const PROCESSES: u64 = 1_000;
/// Number of ticks for which a generated process lives.
const LIFE: u64 = 900;

/// Returns the birth, processor time and memory of a generated process in a slot at a tick.
fn generated(slot: u64, tick: u64) -> (u64, [u64; 2]) {
    let birth = (tick + slot * 37) / LIFE;
    let born = (birth * LIFE).saturating_sub(slot * 37);
    // A twentieth of them works, for 300 ticks at a time.
    let worked = |until: u64| {
        let rounds = until / 300;
        let whole = rounds / 20 + u64::from(rounds % 20 > slot % 20);
        whole * 300 + if rounds % 20 == slot % 20 { until % 300 } else { 0 }
    };
    (birth, [(worked(tick) - worked(born)) * 100_003, 4_096 * (100 + slot + birth)])
}

fn set() -> Counterset {
    let types = [CounterType::PERF_100NSEC_TIMER, CounterType::PERF_COUNTER_LARGE_RAWCOUNT];
    let counters =
        (1..).zip(types).map(|(id, of)| Counter::new(CounterId(id), of).name(format!("Counter {id}")));
    Counterset::new(Guid::from_u128(7), "Generated", InstanceType::Multiple).counters(counters)
}

impl Generator {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(reading(0, 0))))
    }

    fn machine(&self) -> Machine {
        let machine = Machine::bare(Box::new(self.clone()));
        machine.register(Box::new(self.clone()));
        machine
    }
}

/// Returns clock readings after a number of seconds, with a wall clock that is `ahead` seconds ahead.
fn reading(second: i64, ahead: i64) -> ClockReading {
    let time_100ns = UNIX_EPOCH_100NS + 1_000_000_000 * SECOND + second * SECOND;
    ClockReading {
        perf_time: second * 1_000_000_000,
        time_100ns,
        perf_freq: 1_000_000_000,
        system_time: SystemTime::from_100ns(time_100ns + ahead * SECOND),
    }
}

impl Clock for Generator {
    fn read(&mut self) -> ClockReading {
        *self.0.lock().unwrap()
    }
}

impl Provider for Generator {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::new(Catalogue::new("generator", vec![Arc::new(set())])))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let second = self.0.lock().unwrap().perf_time / 1_000_000_000;
        let tick = u64::try_from(second).unwrap();
        for slot in 0..PROCESSES {
            let (birth, values) = generated(slot, tick);
            let id = u32::try_from(slot + PROCESSES * (birth % 20)).unwrap();
            let mut row = rows.push(&format!("process {slot}"), InstanceId(id), NonZeroU64::new(birth + 1));
            for (column, counter) in want.counters.iter().enumerate() {
                row.set(column, values[usize::try_from(counter.0).unwrap() - 1]);
            }
        }
        Ok(())
    }
}

/// Recorder of the generated machine.
struct GeneratedRecorder {
    generator: Generator,
    query: perfset::Query,
    writer: RecordingWriter,
    snapshot: Snapshot,
}

impl GeneratedRecorder {
    fn new(folder: &Path) -> Self {
        let generator = Generator::new();
        let mut query = generator.machine().query();
        assert!(query.add(&Entry::all(Guid::from_u128(7)).instance("*")).is_success());
        let mut snapshot = Snapshot::default();
        query.collect(&mut snapshot).unwrap();
        let options = WriterOptions::default().sync(None);
        let mut writer = RecordingWriter::create(folder, snapshot.clocks(), about(), options).unwrap();
        writer.add_table(TableDefinition::of(&snapshot.entries()[0], 1_000).unwrap()).unwrap();
        Self { generator, query, writer, snapshot }
    }

    /// Writes a tick of the generated machine to the recording. Returns `true` if it finished a file, which is sealed
    /// then.
    fn tick(&mut self, clocks: ClockReading) -> bool {
        *self.generator.0.lock().unwrap() = clocks;
        self.query.collect(&mut self.snapshot).unwrap();
        let parts = [TickPart { table: 0, snapshot: &self.snapshot, entry: 0 }];
        let finished = self.writer.tick(&clocks, &parts).unwrap();
        if let Some(file) = &finished {
            seal(&file.path).unwrap();
        }
        finished.is_some()
    }
}

/// Returns the memory of this test process in kilobytes.
fn resident_kb() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4
}

/// A recorded day stays within the size limit, needs no more memory at its end, and has the generator's values at
/// every tick.
#[test]
#[ignore = "takes PERFSET_TEST_TICKS ticks, 86,400"]
fn a_generated_day_is_right_at_every_instant() {
    let ticks = i64::try_from(count("PERFSET_TEST_TICKS", 86_400)).unwrap();
    let folder = TestFolder::new("day");
    let mut recorder = GeneratedRecorder::new(&folder.0);
    let limits =
        RingLimits { bytes: Some(if ticks > 20_000 { 3_000_000 } else { 200_000 }), ..Default::default() };
    let (mut settled, mut most, mut removed) = (0, 0, 0);
    for tick in 0..ticks {
        if recorder.tick(reading(tick, 0)) {
            removed += limits.enforce(&folder.0, recorder.writer.written_file(), 0).unwrap().len();
            let size: u64 = folder.files().iter().map(|file| file.metadata().unwrap().len()).sum();
            assert!(size <= limits.bytes.unwrap(), "{size} bytes at tick {tick}");
        }
        match tick {
            _ if tick == ticks / 4 => settled = resident_kb(),
            _ if tick > ticks / 4 && tick % 1_000 == 0 => most = resident_kb().max(most),
            _ => {}
        }
    }
    // A short run can fit the ring.
    assert!(removed > 0 || ticks <= 20_000, "the ring was never full");
    assert!(most <= settled + 4_096, "{settled} kB after a quarter, later {most} kB");
    let recording = Recording::open(&folder.0).unwrap();
    let times: Vec<i64> = recording.times().collect();
    assert_eq!(times.last().copied(), Some(reading(ticks - 1, 0).utc_100ns()));
    let (mut chosen, instants) = (1_u64, (ticks / 20).min(1_000));
    for _ in 0..instants {
        chosen = chosen.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let time = times[usize::try_from(chosen >> 33).unwrap() % times.len()];
        let mut instant = recording.within(Window { begin: Some(time), end: Some(time) });
        let mut query = instant.open().unwrap();
        assert!(query.add(&Entry::all(Guid::from_u128(7)).instance("*")).is_success());
        let mut snapshot = Snapshot::default();
        assert_eq!(query.next(&mut snapshot).unwrap(), NextOutcome::Sample);
        let tick = u64::try_from((time - reading(0, 0).utc_100ns()) / SECOND).unwrap();
        let Body::Counterset(_, table) =
            Block::parse(snapshot.block()).unwrap().results().next().unwrap().unwrap().body
        else {
            panic!("no table at tick {tick}");
        };
        let mut rows = 0;
        for (at, row) in table.rows().enumerate() {
            let row = row.unwrap();
            let slot: u64 = row.name().to_string().strip_prefix("process ").unwrap().parse().unwrap();
            let (birth, values) = generated(slot, tick);
            let read: Vec<u64> = row.values().iter().map(|value| value.number().unwrap().get()).collect();
            assert_eq!(read, values, "slot {slot} at tick {tick}");
            assert_eq!(
                snapshot.annex()[0].birth(at),
                NonZeroU64::new(birth + 1),
                "slot {slot} at tick {tick}"
            );
            rows += 1;
        }
        assert_eq!(rows, PROCESSES, "tick {tick}");
    }
    assert!(recording.all_damages().is_empty());
    println!(
        "figure: {ticks} ticks, {removed} files removed, {} left, {instants} instants are right, {settled} kB and \
         later {most} kB",
        folder.files().len()
    );
}

/// A recording that is being written can be read again and again, without damage, and never with fewer samples than
/// before.
#[test]
#[ignore = "needs a recorder of the folder PERFSET_TEST_FOLDER"]
fn a_reader_beside_a_recorder_finds_all_samples() {
    let folder = PathBuf::from(std::env::var_os("PERFSET_TEST_FOLDER").unwrap());
    let rounds = count("PERFSET_TEST_ROUNDS", 100_000);
    let (mut before, mut grown, mut round) = (0, 0_u64, 0);
    let deadline = Instant::now() + Duration::from_secs(60);
    // On a fast machine the rounds end before many samples are new.
    while round < rounds || (grown < 100 && Instant::now() < deadline) {
        let recording = Recording::open(&folder).unwrap_or_else(|error| panic!("round {round}: {error}"));
        let damages = recording.all_damages();
        assert!(damages.is_empty(), "round {round}: {:?}", damages.first());
        let last = recording.times().last().unwrap();
        assert!(last >= before, "round {round}: the last sample is of {last}, and was of {before}");
        grown += u64::from(last > before);
        before = last;
        if round % 100 == 0 {
            let times = recording.times().collect::<Vec<_>>();
            assert!(times.is_sorted_by(|a, b| a < b), "round {round}: a tick is there twice");
        }
        round += 1;
    }
    assert!(grown >= 100, "it did not grow: {grown} of {round} rounds");
    println!("figure: {round} rounds, {grown} with new samples");
}

/// Returns rates of `process 3` by the time of their sample, in seconds since the first tick by the clock that never
/// jumps.
fn rates(recording: &mut Recording) -> Vec<(i64, Result<f64, NoValue>)> {
    let mut query = PathQuery::open(recording).unwrap();
    query.add(recording, &r"\Generated(process 3)\Counter 1".parse().unwrap()).unwrap();
    let mut found = Vec::new();
    while query.collect().unwrap() == NextOutcome::Sample {
        let second = query.snapshot().clocks().perf_time / 1_000_000_000;
        let value = query.values()[0].value.value.clone().map(|value| value.raw);
        found.push((second, value));
    }
    found
}

/// A wall clock that is set an hour ahead or back, or a machine that sleeps, causes no wrong rate in a recording.
#[test]
fn clocks_that_jump_cause_no_wrong_rate() {
    // Slot 3 works in ticks 900 to 1,199 of each 6,000.
    for (name, jump) in [("ahead", 3_600), ("back", -3_600), ("none", 0)] {
        let folder = TestFolder::new(name);
        let mut recorder = GeneratedRecorder::new(&folder.0);
        for tick in 1_000..1_020 {
            recorder.tick(reading(tick, 0));
        }
        // From here on by the new clock; and ten minutes of sleep at the end.
        for tick in (1_020..1_040).chain(1_640..1_650) {
            recorder.tick(reading(tick, jump));
        }
        drop(recorder.writer.finish_file());
        let mut recording = Recording::open(&folder.0).unwrap();
        let all = rates(&mut recording);
        assert_eq!(all.len(), 50, "{name}");
        for (second, rate) in &all {
            let wanted = match second {
                1_000 => Err(NoValue::NeedsTwoSamples),
                // It worked in 161 of the 601 seconds since the sample before.
                1_640 => Ok(0.27),
                second if *second >= 1_640 => Ok(0.0),
                _ => Ok(1.0),
            };
            let rate = rate.clone().map(|percent| (percent * 100.0).round() / 100.0);
            assert_eq!(rate, wanted, "{name}: {second}");
        }
        // Windows are of the wall clock, by which some times are there twice, or not at all.
        for (from, until) in [(1_005, 1_010), (1_025, 1_030), (1_018, 1_022)] {
            for ahead in [0, jump] {
                let begin = reading(from, ahead).utc_100ns();
                let end = reading(until, ahead).utc_100ns();
                let window = Window { begin: Some(begin), end: Some(end) };
                let found: Vec<i64> =
                    rates(&mut recording.within(window)).into_iter().map(|(second, _)| second).collect();
                let wall = |second: &i64| {
                    let jumped = if *second >= 1_020 { jump } else { 0 };
                    window.contains(reading(*second, jumped).utc_100ns())
                };
                let wanted: Vec<i64> = (1_000..1_040).chain(1_640..1_650).filter(wall).collect();
                assert_eq!(found, wanted, "{name}: {from} to {until}, {ahead} s ahead");
            }
        }
    }
}
