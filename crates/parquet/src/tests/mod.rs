//! Tests of exported recordings of a scripted machine, whose files are read with the parquet crate.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use parquet::basic::{Compression, Encoding};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use perfset_core::clock::{ClockReading, SystemTime};
use perfset_core::sample::Clocks;
use perfset_core::{Counter, CounterId, CounterType, Counterset, Guid, InstanceId, InstanceType, NoValue};
use perfset_engine::{
    Catalogue, CellState, Clock, CollectRequest, Entry, Machine, Provider, Query, Rows, Snapshot, SourceError,
};
use perfset_log::Logs;
use perfset_log::recording::{RecordingAbout, RecordingWriter, TableDefinition, TickPart, WriterOptions};

use super::*;

mod stores;

/// Empty list of files, which an export without a new sample writes.
const NO_FILES: [PathBuf; 0] = [];

/// Row of the scripted machine: instance name, id, birth, and cells with their reasons or marks.
type HostRow = (String, u32, u64, Vec<(u64, Option<CellState>)>);

/// Machine that delivers the clocks and rows that a test sets.
#[derive(Clone)]
struct ScriptedHost(Arc<Mutex<HostScript>>);

/// Clocks and rows of the next sample of a scripted machine.
struct HostScript {
    clocks: ClockReading,
    /// Clocks of the counterset, if they differ from those of the machine.
    own_clocks: Option<Clocks>,
    rows: HostRows,
}

type HostRows = Result<Vec<HostRow>, NoValue>;

fn set() -> Counterset {
    Counterset::new(Guid::from_u128(7), "My I/O", InstanceType::Multiple).counters([
        Counter::new(CounterId(1), CounterType::PERF_COUNTER_BULK_COUNT).name("Reads/sec").unit("/s"),
        Counter::new(CounterId(2), CounterType::PERF_AVERAGE_BULK).name("% Mean").base(CounterId(3)),
        Counter::new(CounterId(3), CounterType::PERF_AVERAGE_BASE),
    ])
}

impl Clock for ScriptedHost {
    fn read(&mut self) -> ClockReading {
        self.0.lock().unwrap().clocks
    }
}

impl Provider for ScriptedHost {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::new(Catalogue::new("scripted", vec![Arc::new(set())])))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, _: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let script = self.0.lock().unwrap();
        if let Some(clocks) = script.own_clocks {
            rows.set_clocks(clocks);
        }
        for (name, id, birth, cells) in script.rows.as_ref().map_err(Clone::clone)? {
            let mut row = rows.push(name, InstanceId(*id), NonZeroU64::new(*birth));
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

/// Time of the first test sample: 2022-06-18 04:26:40 UTC, in 100 ns since 1601.
const BEGIN: i64 = 133_000_000_000_000_000;
const SECOND: i64 = 10_000_000;

fn at(second: i64) -> ClockReading {
    let time_100ns = BEGIN + second * SECOND;
    ClockReading {
        perf_time: second * 1_000_000_000 + 17,
        time_100ns,
        perf_freq: 1_000_000_000,
        system_time: SystemTime::from_100ns(time_100ns),
    }
}

fn cells(values: [u64; 3]) -> Vec<(u64, Option<CellState>)> {
    values.map(|value| (value, None)).into()
}

/// Recorder of the scripted machine in a test.
struct TestRecorder {
    machine: ScriptedHost,
    query: Query,
    writer: RecordingWriter,
    table: usize,
}

impl TestRecorder {
    fn new(folder: &Path, host: &str, boot: &str, run: &str) -> Self {
        let script = HostScript { clocks: at(0), own_clocks: None, rows: Ok(Vec::new()) };
        let scripted = ScriptedHost(Arc::new(Mutex::new(script)));
        let machine = Machine::bare(Box::new(scripted.clone()));
        machine.register(Box::new(scripted.clone()));
        let mut query = machine.query();
        assert!(query.add(&Entry::all(set().guid).instance("*")).is_success());
        let about = RecordingAbout::default()
            .with(RecordingAbout::MACHINE, host)
            .with(RecordingAbout::BOOT, boot)
            .with(RecordingAbout::RUN, run);
        let options = WriterOptions::default().ticks_per_file(4).sync(None);
        let mut writer = RecordingWriter::create(folder, &at(0), about, options).unwrap();
        let table =
            TableDefinition { counterset: Arc::new(set()), columns: vec![0, 1, 2], interval_ms: 1_000 };
        let table = writer.add_table(table).unwrap();
        Self { machine: scripted, query, writer, table }
    }

    fn tick(&mut self, clocks: ClockReading, rows: Vec<HostRow>) {
        self.fallible_tick(clocks, Ok(rows));
    }

    fn fallible_tick(&mut self, clocks: ClockReading, rows: HostRows) {
        let mut script = self.machine.0.lock().unwrap();
        (script.clocks, script.rows) = (clocks, rows);
        drop(script);
        let mut snapshot = Snapshot::default();
        self.query.collect(&mut snapshot).unwrap();
        let part = TickPart { table: self.table, snapshot: &snapshot, entry: 0 };
        self.writer.tick(snapshot.clocks(), &[part]).unwrap();
    }
}

/// Directory of one test of exports, removed at the end of the test.
struct ScratchFolder(PathBuf);

impl ScratchFolder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("perfset-parquet-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn recording(&self) -> PathBuf {
        self.0.join("rec")
    }

    fn root(&self) -> PathBuf {
        self.0.join("lake")
    }

    fn export(&self) -> ExportSummary {
        self.export_with(ExportOptions::default())
    }

    fn export_with(&self, options: ExportOptions) -> ExportSummary {
        export(&Logs::open(&[self.recording()]).unwrap(), self.root(), options, || {}).unwrap()
    }

    /// Returns the paths of all exported files below the root, relative to the root.
    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        below(&self.root(), &mut files);
        files.retain(|path| path.file_name() != Some("lock".as_ref()));
        let mut files: Vec<String> = files
            .iter()
            .map(|path| path.strip_prefix(self.root()).unwrap().to_str().unwrap().replace('\\', "/"))
            .collect();
        files.sort();
        files
    }

    /// Returns the rows of all exported files, in the order of the files.
    fn rows(&self) -> Vec<BTreeMap<String, Field>> {
        self.files().iter().flat_map(|file| rows(&self.root().join(file))).collect()
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { below(&path, files) } else { files.push(path) }
    }
}

fn reader(path: &Path) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(path).unwrap()).unwrap()
}

fn rows(path: &Path) -> Vec<BTreeMap<String, Field>> {
    let rows = reader(path).into_iter().map(Result::unwrap);
    rows.map(|row| row.get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect())
        .collect()
}

/// Returns three fields of each row: time in seconds since the first sample, instance, and value of the first
/// counter.
fn seen(rows: &[BTreeMap<String, Field>]) -> Vec<(i64, String, Option<i64>)> {
    let row = |row: &BTreeMap<String, Field>| {
        let Field::TimestampMicros(time) = row["time"] else { panic!("{row:?}") };
        let Field::Str(instance) = &row["instance"] else { panic!("{row:?}") };
        let reads = match row["reads_per_sec"] {
            Field::Long(reads) => Some(reads),
            Field::Null => None,
            _ => panic!("{row:?}"),
        };
        ((time * 10 + perfset_core::clock::UNIX_EPOCH_100NS - BEGIN) / SECOND, instance.clone(), reads)
    };
    rows.iter().map(row).collect()
}

const FOLDER: &str = "counterset=my_io_00000000000000000000000000000007/date=2022-06-18/host=web1";

#[test]
fn a_recording_has_its_layout_and_values() {
    let scratch = ScratchFolder::new("layout");
    let mut recorder = TestRecorder::new(&scratch.recording(), "web1", "c6274b68-7e5d", "run1");
    let denied = CellState::Missing(NoValue::Denied("needs root".into()));
    recorder
        .tick(at(1), vec![("b".into(), 2, 5, cells([u64::MAX, 2, 3])), ("a".into(), 1, 0, cells([4, 5, 6]))]);
    recorder.tick(
        at(2),
        vec![
            ("b".into(), 2, 5, vec![(7, None), (0, Some(denied)), (9, None)]),
            ("a".into(), 1, 9, cells([8, 9, 1])),
        ],
    );
    let summary = scratch.export();
    assert_eq!((summary.files.len(), summary.rows, summary.samples), (1, 4, 2));
    assert_eq!(scratch.files(), [format!("{FOLDER}/c6274b68-000000.parquet")]);
    let rows = scratch.rows();
    let want = [(1, "a", Some(4)), (2, "a", Some(8)), (1, "b", Some(-1)), (2, "b", Some(7))];
    assert_eq!(seen(&rows), want.map(|(time, instance, reads)| (time, instance.to_owned(), reads)));
    let third = &rows[3];
    for (column, want) in [
        ("perf_time_ns", Field::Long(2_000_000_017)),
        ("interval_ns", Field::Long(1_000_000_000)),
        ("perf_time", Field::Null), // it is `perf_time_ns`
        ("perf_freq", Field::Long(1_000_000_000)),
        ("time_100ns", Field::Long(BEGIN + 2 * SECOND)),
        ("object_time", Field::Null),
        ("instance_id", Field::Int(2)),
        ("birth", Field::Long(5)),
        ("percent_mean", Field::Null),
        ("percent_mean_base", Field::Long(9)),
        ("restarted", Field::Null),
    ] {
        assert_eq!(third[column], want, "{column}");
    }
    assert_eq!(third["missing"].to_string(), "[{counter: \"percent_mean\", reason: \"denied: needs root\"}]");
    assert_eq!(
        (&rows[0]["missing"], &rows[0]["birth"], &rows[0]["interval_ns"]),
        (&Field::Null, &Field::Null, &Field::Null)
    );

    let reader = reader(&scratch.root().join(&scratch.files()[0]));
    let metadata = reader.metadata();
    let facts = metadata.file_metadata().key_value_metadata().unwrap();
    let fact = |key: &str| {
        let fact = facts.iter().find(|fact| fact.key == key);
        fact.and_then(|fact| fact.value.clone()).unwrap_or_default()
    };
    assert_eq!((&*fact("perfset.counterset"), &*fact("perfset.host")), ("My I/O", "web1"));
    let columns: serde_json::Value = serde_json::from_str(&fact("perfset.columns")).unwrap();
    assert_eq!(columns[1]["base"], "percent_mean_base");
    assert_eq!((&columns[0]["unit"], &columns[0]["type"]), (&"/s".into(), &"PERF_COUNTER_BULK_COUNT".into()));
    let group = metadata.row_group(0);
    assert!(group.columns().iter().all(|column| matches!(column.compression(), Compression::ZSTD(_))));
    assert!(group.columns().iter().all(|column| column.offset_index_offset().is_some()));
    for column in group.columns() {
        let has_dictionary = column.encodings().any(|encoding| encoding == Encoding::RLE_DICTIONARY);
        let is_text = ["instance", "missing", "restarted"].contains(&&*column.column_path().parts()[0]);
        assert!(is_text || !has_dictionary, "{}", column.column_path());
    }
    assert_eq!(group.sorting_columns().unwrap().len(), 4);
}

#[test]
fn an_export_goes_on() {
    let scratch = ScratchFolder::new("goes-on");
    let mut recorder = TestRecorder::new(&scratch.recording(), "web1", "c6274b68", "run1");
    let mut want = Vec::new();
    let mut exported = 0;
    for second in 1..=20 {
        let reads = u64::try_from(second).unwrap();
        recorder.tick(at(second), vec![("a".into(), 1, 0, cells([reads, 0, 0]))]);
        want.push((second, "a".to_owned(), Some(second)));
        if second % 7 == 0 {
            assert_eq!(scratch.export().files.len(), 1);
            exported += 1;
        }
    }
    scratch.export();
    assert_eq!(scratch.files().len(), exported + 1);
    assert_eq!(scratch.export().files, NO_FILES, "nothing is new");
    let rows = scratch.rows();
    assert_eq!(seen(&rows), want);
    // Also where one file ends and the next begins.
    let intervals = rows.iter().filter(|row| row["interval_ns"] == Field::Long(1_000_000_000)).count();
    assert_eq!(intervals, 19);
}

#[test]
fn exports_of_the_newest_samples_have_what_one_export_has() {
    let scratch = ScratchFolder::new("newest");
    let mut recorder = TestRecorder::new(&scratch.recording(), "web1", "c6274b68", "run1");
    let since = |since| Some(CellState::Counted(NonZeroU64::new(since).unwrap(), None));
    let mut exported_to = None;
    for second in 1..=30 {
        let reads = u64::try_from(second).unwrap();
        // Counts that begin again, also in the first sample of an export, and an instance that is not always there.
        let state = since(5 + reads / 3);
        let mut rows = vec![("a".into(), 1, 0, vec![(reads, state), (1, None), (2, None)])];
        rows.extend((second % 4 != 0).then(|| ("b".to_owned(), 2, 7, cells([reads, 1, 2]))));
        recorder.tick(at(second), rows);
        if second % 5 == 0 {
            let logs = Logs::open(&[scratch.recording()]).unwrap();
            let last = logs.recording().unwrap().times().last();
            let begin = exported_to.map(|time: i64| time - 2 * SECOND);
            let logs = logs.within(perfset_engine::Window { begin, end: None });
            assert_eq!(
                export(&logs, scratch.root(), ExportOptions::default(), || {}).unwrap().files.len(),
                1
            );
            exported_to = last;
        }
    }
    let sorted = || {
        let mut rows: Vec<_> = scratch.rows().iter().map(|row| format!("{row:?}")).collect();
        rows.sort();
        rows
    };
    let parts = sorted();
    assert_eq!(scratch.export().files, NO_FILES);
    fs::remove_dir_all(scratch.root()).unwrap();
    scratch.export();
    assert_eq!(parts, sorted());
}

#[test]
fn boots_gaps_and_days_are_kept_apart() {
    let scratch = ScratchFolder::new("apart");
    let row = |reads| vec![("a".into(), 1, 0, cells([reads, 0, 0]))];
    let mut recorder = TestRecorder::new(&scratch.recording(), "web1", "aaaaaaaa", "run1");
    recorder.tick(at(1), row(1));
    recorder.tick(at(2), row(2));
    recorder.fallible_tick(at(3), Err(NoValue::Late));
    recorder.tick(at(4), row(4));
    // The instance is not there.
    recorder.tick(at(5), vec![("b".into(), 1, 0, cells([5, 0, 0]))]);
    recorder.tick(at(6), row(6));
    recorder.writer.finish_file();
    // Another recorder of the same boot, another boot, and another day.
    let mut recorder = TestRecorder::new(&scratch.recording(), "web1", "aaaaaaaa", "run2");
    recorder.tick(at(7), row(7));
    recorder.writer.finish_file();
    let mut recorder = TestRecorder::new(&scratch.recording(), "web1", "bbbbbbbb", "run3");
    let later = |second| ClockReading { perf_time: 5 + second, ..at(second) };
    recorder.tick(later(8), row(8));
    recorder.tick(later(90_000), row(9));
    recorder.writer.finish_file();
    assert_eq!(scratch.export().samples, 11, "with the two that separate runs");
    let day = FOLDER.replace("-18", "-19");
    let want = [
        format!("{FOLDER}/aaaaaaaa-000000.parquet"),
        format!("{FOLDER}/aaaaaaaa-000006.parquet"),
        format!("{FOLDER}/bbbbbbbb-000007.parquet"),
        format!("{day}/bbbbbbbb-000008.parquet"),
    ];
    assert_eq!(scratch.files(), want);
    let rows = scratch.rows();
    let intervals: Vec<_> = rows.iter().map(|row| row["interval_ns"].to_string()).collect();
    assert_eq!(seen(&rows).iter().map(|(time, ..)| *time).collect::<Vec<_>>(), [1, 2, 4, 6, 5, 7, 8, 90_000]);
    let second = "1000000000";
    // 6: since the sample without the instance, so it is not the time since the row before.
    assert_eq!(intervals, ["null", second, "null", second, second, "null", "null", "89992"]);
    assert_eq!(scratch.export().files, NO_FILES);
}

#[test]
fn clocks_that_no_other_column_has_are_exported() {
    let scratch = ScratchFolder::new("ticks");
    let mut recorder = TestRecorder::new(&scratch.recording(), "web1", "aaaaaaaa", "run1");
    let clocks = ClockReading { perf_time: 20_000_003, perf_freq: 10_000_000, ..at(2) };
    let (time_100ns, object_time) = (clocks.time_100ns, 4_711);
    recorder.machine.0.lock().unwrap().own_clocks = Some(Clocks {
        perf_time: 20_000_003,
        perf_freq: 10_000_000,
        time_100ns,
        object_time,
        object_freq: 1_000,
    });
    recorder.tick(clocks, vec![("a".into(), 1, 0, cells([1, 2, 3]))]);
    scratch.export();
    let rows = scratch.rows();
    for (column, want) in [
        ("perf_time_ns", 2_000_000_300),
        ("perf_time", 20_000_003),
        ("perf_freq", 10_000_000),
        ("time_100ns", time_100ns),
        ("object_time", object_time),
        ("object_freq", 1_000),
    ] {
        assert_eq!(rows[0][column], Field::Long(want), "{column}");
    }
}

#[test]
fn counts_that_began_anew_are_named() {
    let scratch = ScratchFolder::new("anew");
    let mut recorder = TestRecorder::new(&scratch.recording(), "web1", "aaaaaaaa", "run1");
    let since = |since| Some(CellState::Counted(NonZeroU64::new(since).unwrap(), None));
    let row = |since| vec![("_Total".into(), u32::MAX, 0, vec![(1, since), (2, None), (3, None)])];
    for (second, state) in [(1, since(5)), (2, since(5)), (3, since(6)), (4, None), (5, None)] {
        recorder.tick(at(second), row(state));
    }
    scratch.export();
    let rows = scratch.rows();
    let restarted: Vec<_> = rows.iter().map(|row| row["restarted"].to_string()).collect();
    let named = "[\"reads_per_sec\"]";
    assert_eq!(restarted, ["null", "null", named, named, "null"]);
    assert_eq!(rows[0]["instance_id"], Field::Int(-1));
}

#[test]
fn little_memory_makes_more_row_groups() {
    let scratch = ScratchFolder::new("memory");
    let mut recorder = TestRecorder::new(&scratch.recording(), "web1", "aaaaaaaa", "run1");
    let mut want = Vec::new();
    for second in 1..=60 {
        let rows = (0..50).map(|id| (format!("i{id:02}"), id, 0, cells([u64::from(id), 1, 2])));
        recorder.tick(at(second), rows.collect());
        want.extend((0..50).map(|id| (second, format!("i{id:02}"), Some(id))));
    }
    scratch.export_with(ExportOptions::default().memory(20_000));
    let file = scratch.root().join(&scratch.files()[0]);
    let groups = reader(&file).metadata().num_row_groups();
    assert!((3..=60).contains(&groups), "{groups}");
    let mut found = seen(&scratch.rows());
    found.sort();
    assert_eq!(found, want);
    fs::remove_dir_all(scratch.root()).unwrap();
    scratch.export_with(ExportOptions::default().rows_per_group(1_000));
    assert_eq!(reader(&file).metadata().num_row_groups(), 3);
}

#[test]
fn text_logs_have_formatted_values() {
    let scratch = ScratchFolder::new("text");
    let log = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\WEB 1\\Memory\\Pages/sec\",\"\\\\WEB 1\\Memory\\Mine\"\n\
        \"11/05/2026 10:00:00.000\",\"12.5\",\"1\"\n\"11/05/2026 10:00:01.000\",\" \",\"2.5\"\n";
    let logs = Logs::from_bytes(log.as_bytes()).unwrap();
    let summary = export(&logs, scratch.root(), ExportOptions::default(), || {}).unwrap();
    assert_eq!((summary.rows, summary.samples), (2, 2));
    let file = "counterset=memory/date=2026-11-05/host=WEB%201/00000000-000000.parquet";
    assert_eq!(scratch.files(), [file]);
    let rows = scratch.rows();
    assert_eq!(rows[0]["pages_per_sec_formatted"], Field::Double(12.5));
    assert_eq!((&rows[0]["pages_per_sec"], &rows[0]["mine"]), (&Field::Null, &Field::Double(1.0)));
    assert_eq!((&rows[1]["pages_per_sec_formatted"], &rows[1]["mine"]), (&Field::Null, &Field::Double(2.5)));
    assert!(rows[1]["missing"].to_string().contains("pages_per_sec_formatted"), "{:?}", rows[1]["missing"]);
    assert_eq!(rows[1]["interval_ns"], Field::Long(1_000_000_000));
    let exported = |log: &str| {
        let logs = Logs::from_bytes(log.as_bytes()).unwrap();
        export(&logs, scratch.root(), ExportOptions::default(), || {}).unwrap()
    };
    assert_eq!(exported(log).files, NO_FILES);
    // One sample more; and another log of the same time.
    let more = format!("{log}\"11/05/2026 10:00:02.000\",\"3\",\"4\"\n");
    assert_eq!((exported(&more).rows, exported(&more).rows), (1, 0));
    let other = log.replace("Mine", "Yours");
    assert_eq!((exported(&other).rows, exported(&other).rows), (2, 0));
    assert_eq!(scratch.rows().len(), 5);
}

#[test]
fn dates_have_four_digits() {
    let scratch = ScratchFolder::new("dates");
    let mut recorder = TestRecorder::new(&scratch.recording(), "", "", "");
    let end = ClockReading { perf_time: 1, time_100ns: i64::MAX, ..at(0) };
    let end = ClockReading { system_time: SystemTime::from_100ns(i64::MAX), ..end };
    let row = || vec![("a".into(), 1, 0, cells([1, 0, 0]))];
    recorder.tick(ClockReading { time_100ns: 0, system_time: SystemTime::from_100ns(0), ..at(0) }, row());
    recorder.tick(end, row());
    scratch.export();
    let files = scratch.files();
    let dates: Vec<_> = files.iter().map(|file| file.split('/').nth(1).unwrap()).collect();
    assert_eq!(dates, ["date=1601-01-01", "date=9999-12-31"]);
    assert!(files[0].contains("/host=__HIVE_DEFAULT_PARTITION__/00000000-000000.parquet"), "{files:?}");
}

#[test]
fn a_broken_file_is_named_and_a_failed_export_leaves_none() {
    let scratch = ScratchFolder::new("broken");
    let mut recorder = TestRecorder::new(&scratch.recording(), "../web1", "../../x", "run1");
    recorder.tick(at(1), vec![("a".into(), 1, 0, cells([1, 0, 0]))]);
    let folder = scratch.root().join(FOLDER.replace("web1", "%2E.%2Fweb1"));
    fs::create_dir_all(&folder).unwrap();
    let broken = folder.join("x.parquet");
    fs::write(&broken, "PAR1").unwrap();
    let logs = Logs::open(&[scratch.recording()]).unwrap();
    let failed = || export(&logs, scratch.root(), ExportOptions::default(), || {}).unwrap_err().to_string();
    assert!(failed().contains("x.parquet"), "{}", failed());
    fs::remove_file(&broken).unwrap();
    // A directory where the file would be.
    let taken = folder.join("00000000-000000.parquet");
    fs::create_dir_all(taken.join("x")).unwrap();
    assert!(failed().contains("00000000-000000.parquet"), "{}", failed());
    fs::remove_dir_all(&taken).unwrap();
    assert_eq!(scratch.files(), [""; 0]);
    // Of another process, which was ended. A file with another name stays.
    fs::write(folder.join(".00000000-000000.parquet.0.tmp"), "PAR1").unwrap();
    fs::write(folder.join(".mine.tmp"), "").unwrap();
    scratch.export();
    fs::remove_file(folder.join(".mine.tmp")).unwrap();
    assert_eq!(scratch.files(), [FOLDER.replace("web1", "%2E.%2Fweb1") + "/00000000-000000.parquet"]);
}

#[test]
fn a_second_export_of_a_host_is_refused_with_the_name_of_the_first() {
    let scratch = ScratchFolder::new("locked");
    let mut recorder = TestRecorder::new(&scratch.recording(), "web1", "aaaaaaaa", "run1");
    recorder.tick(at(1), vec![("a".into(), 1, 0, cells([1, 0, 0]))]);
    let logs = Logs::open(&[scratch.recording()]).unwrap();
    let opened = perfset_engine::Source::open(&mut logs.clone()).unwrap();
    let mut query = perfset_engine::path::PathQuery::from_handle(opened);
    for path in logs.paths() {
        query.add(&mut logs.clone(), &path).unwrap();
    }
    query.collect().unwrap();
    let first = |host: &str| {
        let mut exporter = Exporter::new(scratch.root(), host, ExportOptions::default()).unwrap();
        exporter.sample(query.snapshot(), &SampleOrigin::default()).map(|()| exporter)
    };
    let running = first("web1").unwrap();
    let second = first("web1").unwrap_err().to_string();
    assert!(second.contains("host web1") && second.contains("process "), "{second}");
    // Another host goes beside it, and the same one after it.
    first("web2").unwrap().finish().unwrap();
    assert_eq!(running.finish().unwrap().rows, 1);
    assert_eq!(first("web1").unwrap().finish().unwrap().rows, 0);
}

#[test]
fn a_file_is_described_and_its_damage_named() {
    let scratch = ScratchFolder::new("described");
    let mut recorder = TestRecorder::new(&scratch.recording(), "web1", "aaaaaaaa", "run1");
    for second in 1..=40 {
        recorder.tick(
            at(second),
            vec![("a".into(), 1, 0, cells([1, 2, 3])), ("b".into(), 2, 0, cells([4, 5, 6]))],
        );
    }
    scratch.export();
    let path = scratch.root().join(&scratch.files()[0]);
    assert!(is_parquet(&path) && !is_parquet(&scratch.root()));
    let (info, about) = file_info(&path).unwrap();
    assert_eq!(about, "exported My I/O: 80 rows of the run run1 after the boot aaaaaaaa");
    assert_eq!((info.samples, info.span), (40, Some((BEGIN + SECOND, BEGIN + 40 * SECOND))));
    assert!(info.machines.contains(r"\\web1") && info.damages.is_empty(), "{info:?}");
    let paths: Vec<_> = info.counters.iter().map(|counter| &*counter.path).collect();
    assert_eq!(paths, [r"\My I/O(*)\Reads/sec", r"\My I/O(*)\% Mean"]);
    // Cut anywhere, it is damaged. A changed byte is no panic.
    let whole = fs::read(&path).unwrap();
    let changed = scratch.0.join("changed.parquet");
    for len in (4..whole.len()).step_by(97).chain(whole.len() - 20..whole.len()) {
        fs::write(&changed, &whole[..len]).unwrap();
        assert_eq!(file_info(&changed).unwrap().0.damages.count(), 1, "cut at {len}");
    }
    for at in (whole.len().saturating_sub(3_000)..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        fs::write(&changed, &bytes).unwrap();
        let _ = file_info(&changed).unwrap();
    }
    fs::write(&changed, "PAR").unwrap();
    assert!(!is_parquet(&changed));
}
