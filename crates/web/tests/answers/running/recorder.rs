//! Recorder of the shop's counters, whose recording a test's server shows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use perfset::log::Logs;
use perfset::log::recording::{RecordingAbout, RecordingWriter, TableDefinition, TickPart, WriterOptions};
use perfset::testing::{FixedClock, Scripted};
use perfset::{
    Counter, CounterId, CounterType, Counterset, Entry, Guid, InstanceType, Machine, Query, Snapshot, Window,
};
use perfset_web::ServedLog;

use super::shop;

/// Recorder of a shop, and of weather that is read less often: second `n` has `10 n` orders of tea, and
/// `100 + n` of them in stock.
pub struct Recorder {
    pub folder: PathBuf,
    writer: RecordingWriter,
    query: Query,
    providers: [Scripted; 2],
    second: u64,
    /// Number of seconds between two readings of the weather.
    every: u64,
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Recorder {
    pub fn new(name: &str, seconds: u64) -> Self {
        Self::with(name, seconds, 5, 0)
    }

    /// Records the shop with other intervals of the weather, and with a clock that is later by a time in 100 ns.
    pub fn with(name: &str, seconds: u64, every: u64, later: i64) -> Self {
        let folder = std::env::temp_dir().join(format!("perfset-web-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let (_, shop) = shop();
        let rain = Counter::new(CounterId(1), CounterType::PERF_COUNTER_BULK_COUNT).name("Drops/sec");
        let weather = Counterset::new(Guid::from_u128(6), "Weather", InstanceType::Multiple)
            .provider(Guid::NIL, "Test")
            .counters([rain]);
        let weather = Scripted::new(vec![weather]);
        let mut clock = FixedClock::default();
        clock.0.time_100ns += later;
        let machine = Machine::bare(Box::new(clock));
        let mut query = machine.query();
        for (n, provider) in [(5, &shop), (6, &weather)] {
            machine.register(Box::new(provider.clone()));
            assert!(query.add(&Entry::all(Guid::from_u128(n)).instance("*")).is_success());
        }
        let mut first = Snapshot::default();
        query.collect(&mut first).unwrap();
        let about = RecordingAbout::default()
            .with(RecordingAbout::MACHINE, "web1")
            .with(RecordingAbout::SYSTEM, "Linux 6.1")
            .with(RecordingAbout::INTERVAL_MS, "1000");
        let options = WriterOptions::default().ticks_per_file(7);
        let mut writer = RecordingWriter::create(&folder, first.clocks(), about, options).unwrap();
        for (entry, interval_ms) in first.entries().iter().zip([1_000, 1_000 * every]) {
            writer.add_table(TableDefinition::of(entry, interval_ms).unwrap()).unwrap();
        }
        let mut recorder = Self { folder, writer, query, providers: [shop, weather], second: 0, every };
        (0..seconds).for_each(|_| recorder.tick());
        recorder
    }

    pub fn tick(&mut self) {
        self.second += 1;
        let n = self.second;
        let [shop, weather] = &self.providers;
        shop.with(|script| {
            script.rows = vec![("tea", 3, vec![Ok(10 * n), Ok(100 + n)]), ("milk", 5, vec![Ok(0), Ok(1)])];
        });
        weather.with(|script| script.rows = vec![("here", 0, vec![Ok(1_000 * n)])]);
        let mut snapshot = Snapshot::default();
        self.query.collect(&mut snapshot).unwrap();
        let is_due = |table: &usize| *table == 0 || (n - 1) % self.every == 0;
        let tables = (0..2).filter(is_due);
        let parts: Vec<_> =
            tables.map(|table| TickPart { table, snapshot: &snapshot, entry: table }).collect();
        self.writer.tick(snapshot.clocks(), &parts).unwrap();
    }

    pub fn served(&self, window: Window) -> ServedLog {
        served(&self.folder, window)
    }
}

/// Returns the log of a directory for a server, whose requests may name times as `+N`: N seconds after its first
/// sample.
pub fn served(folder: &Path, window: Window) -> ServedLog {
    let parse = |logs: &Logs, text: &str| {
        let seconds = text.strip_prefix('+').and_then(|text| text.parse::<i64>().ok());
        let first = logs.times().unwrap().first().copied().unwrap();
        seconds.map(|seconds| first + seconds * 10_000_000).ok_or_else(|| format!("{text} is no time"))
    };
    ServedLog {
        logs: Logs::open(&[folder]).unwrap(),
        files: vec![folder.to_owned()],
        window,
        parse_instant: Arc::new(parse),
    }
}
