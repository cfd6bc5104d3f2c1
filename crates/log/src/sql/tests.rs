use std::fs;
use std::path::{Path, PathBuf};

use perfset_core::pdh::{PdhStatus, RawCounter};
use proptest::prelude::*;
use rusqlite::types::FromSql;
use rusqlite::{Connection, OpenFlags};

use super::*;

/// Directory of one test of SQL logs.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("perfset-sql-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn log(&self) -> PathBuf {
        self.0.join("log.db")
    }

    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns all rows of a query, each as a text that distinguishes NULL, numbers and texts.
fn rows(path: &Path, sql: &str) -> Vec<String> {
    let file = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut query = file.prepare(sql).unwrap();
    let count = query.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        let cell = |at| match rusqlite::types::Value::column_result(row.get_ref(at).unwrap()).unwrap() {
            rusqlite::types::Value::Null => "-".to_string(),
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Real(number) => format!("{number:?}"),
            rusqlite::types::Value::Text(text) => format!("{text:?}"),
            rusqlite::types::Value::Blob(bytes) => format!("{bytes:?}"),
        };
        Ok((0..count).map(cell).collect::<Vec<_>>().join(" "))
    };
    query.query_map((), row).unwrap().map(Result::unwrap).collect()
}

const MEMORY: Detail<'_> = Detail {
    machine: r"\\HOST",
    object: "Memory",
    counter: "Available MBytes",
    counter_type: CounterType(0x0001_0100),
    default_scale: -3,
    instance: None,
    parent: None,
    time_base: 10_000_000,
};

fn raw(first: i64, second: i64, multi_count: u32) -> RawCounter {
    RawCounter { c_status: PdhStatus::PDH_CSTATUS_NEW_DATA, time: 1, first, second, multi_count }
}

/// Time of the test records, 2017-10-29 01:59:44.562 UTC, in 100 ns since 1601.
const TIME: i64 = 131_537_159_845_620_000;
const SECOND: i64 = 10_000_000;

/// Writes a log set of one record that has one value.
fn small(path: &Path, name: &str, existing: Existing, value: f64) -> Result<(), SqlError> {
    let mut log = SqlWriter::create(path, LogSet::new(name, Zone::utc()), existing)?;
    let id = log.counter(&MEMORY)?;
    log.record(TIME, [(id, Some(value), None)])?;
    log.finish()
}

#[test]
fn three_tables() {
    let folder = Folder::new("tables");
    let guid = "8cc8de9e-1aaa-4f3b-8d27-51f2e5a63b20";
    let zone = Zone { name: "Romance Standard Time".into(), minutes: -60 };
    let set = LogSet { guid: guid.parse().unwrap(), name: "a".into(), zone };
    let mut log = SqlWriter::create(folder.log(), set, Existing::Refuse).unwrap();
    let memory = log.counter(&MEMORY).unwrap();
    let thread = log
        .counter(&Detail {
            machine: r"\\OTHER",
            object: "Thread",
            counter: "% Processor Time",
            counter_type: CounterType(0xA051_0500),
            default_scale: 2,
            instance: Some(InstanceRow { name: "1/0", index: 7 }),
            parent: Some("svchost"),
            time_base: 0x0000_0003_FFFF_FFFE,
        })
        .unwrap();
    assert_eq!(log.counter(&MEMORY).unwrap(), memory, "each once");
    let numbers = raw(0x0000_0005_8000_0000, -2, 11);
    let failed = RawCounter::without_value(PdhStatus::PDH_CSTATUS_NO_INSTANCE, TIME);
    log.record(TIME, [(memory, Some(2048.5), None), (thread, None, Some(&numbers))]).unwrap();
    log.record(TIME + SECOND, [(thread, None, Some(&failed)), (memory, Some(f64::NAN), None)]).unwrap();
    log.record(TIME + 2 * SECOND, [(thread, Some(17.25), Some(&raw(i64::MIN, i64::MAX, u32::MAX)))]).unwrap();
    log.record(TIME + 3 * SECOND, [(memory, Some(f64::INFINITY), Some(&raw(3, 0, 1)))]).unwrap();
    assert_eq!(folder.files(), ["log.db.part0"], "not there before it is whole");
    log.finish().unwrap();
    assert_eq!(folder.files(), ["log.db"]);

    let select = |sql: &str| rows(&folder.log(), sql);
    assert_eq!(
        select("SELECT * FROM CounterDetails"),
        [
            r#"1 "\\\\HOST" "Memory" "Available MBytes" 65792 -3 - - - - 10000000 0"#,
            // 0xA0510500 and 0xFFFFFFFE as signed numbers.
            r#"2 "\\\\OTHER" "Thread" "% Processor Time" -1605303040 2 "1/0" 7 "svchost" - -2 3"#,
        ]
    );
    assert_eq!(
        select(
            "SELECT RecordIndex, CounterID, CounterDateTime, CounterValue, FirstValueA, FirstValueB, SecondValueA,
                SecondValueB, MultiCount FROM CounterData"
        ),
        [
            r#"1 1 "2017-10-29 01:59:44.562" 2048.5 - - - - -"#,
            r#"1 2 "2017-10-29 01:59:44.562" - -2147483648 5 -2 -1 11"#,
            r#"3 2 "2017-10-29 01:59:46.562" 17.25 0 -2147483648 -1 2147483647 -1"#,
            r#"4 1 "2017-10-29 01:59:47.562" - 3 0 0 0 1"#,
        ]
    );
    assert_eq!(
        select("SELECT * FROM DisplayToID"),
        [format!(
            r#""{guid}" - "a" "2017-10-29 01:59:44.562" "2017-10-29 01:59:47.562" 4 -60 "Romance Standard Time""#
        )]
    );
    assert_eq!(select("SELECT DISTINCT GUID FROM CounterData"), [format!("{guid:?}")]);
    assert_eq!(
        select("SELECT strftime('%s', CounterDateTime) FROM CounterData LIMIT 1"),
        [r#""1509242384""#],
        "a time that SQLite understands"
    );
    assert_eq!(select("PRAGMA integrity_check"), [r#""ok""#]);
}

#[test]
fn an_empty_log() {
    let folder = Folder::new("empty");
    SqlWriter::create(folder.log(), LogSet::new("nothing", Zone::utc()), Existing::Append)
        .unwrap()
        .finish()
        .unwrap();
    let set = rows(
        &folder.log(),
        "SELECT DisplayString, LogStartTime, LogStopTime, NumberOfRecords FROM DisplayToID",
    );
    assert_eq!(set, [r#""nothing" - - 0"#]);
}

#[test]
fn a_guid_of_the_name() {
    let guid = |name: &str| LogSet::new(name, Zone::utc()).guid;
    assert_eq!(guid("a"), guid("a"));
    assert_ne!(guid("a"), guid("b"));
    assert_eq!(guid("a").to_string().as_bytes()[14], b'5', "its version");
}

#[test]
fn each_detail_distinguishes_counters() {
    let folder = Folder::new("apart");
    let long = "x".repeat(2_000);
    let instance = |name, index| Some(InstanceRow { name, index });
    let cases = [
        ("the first", MEMORY),
        ("machine", Detail { machine: r"\\host", ..MEMORY }),
        ("object", Detail { object: "Memory ", ..MEMORY }),
        ("counter", Detail { counter: "", ..MEMORY }),
        ("type", Detail { counter_type: CounterType(0), ..MEMORY }),
        ("scale", Detail { default_scale: 0, ..MEMORY }),
        ("an instance", Detail { instance: instance("", 0), ..MEMORY }),
        ("its index", Detail { instance: instance("", 1), ..MEMORY }),
        ("a number for a name", Detail { instance: instance("1", 0), ..MEMORY }),
        ("the same number", Detail { instance: instance("1.0", 0), ..MEMORY }),
        ("a NUL", Detail { instance: instance("1\0", 0), ..MEMORY }),
        ("what is after it", Detail { instance: instance("1\0a", 0), ..MEMORY }),
        ("quotes", Detail { instance: instance("'); DROP TABLE CounterData; --\"", 0), ..MEMORY }),
        ("beyond ASCII", Detail { instance: instance("ä\u{1F41E}\u{202e}", 0), ..MEMORY }),
        ("long", Detail { instance: instance(&long, 0), ..MEMORY }),
        ("a parent", Detail { parent: Some(""), ..MEMORY }),
        ("time base", Detail { time_base: 10_000_000 << 32, ..MEMORY }),
    ];
    for existing in [Existing::Refuse, Existing::Append] {
        let set = LogSet::new(format!("{existing:?}"), Zone::utc());
        let mut log = SqlWriter::create(folder.log(), set, existing).unwrap();
        let ids: Vec<i64> = cases.iter().map(|(_, detail)| log.counter(detail).unwrap().0).collect();
        assert_eq!(ids, (1..=i64::try_from(cases.len()).unwrap()).collect::<Vec<_>>(), "{existing:?}");
        log.finish().unwrap();
    }
    let names = rows(
        &folder.log(),
        "SELECT InstanceName FROM CounterDetails WHERE InstanceName IS NOT NULL ORDER BY CounterID",
    );
    let want = cases.iter().filter_map(|(_, detail)| Some(format!("{:?}", detail.instance?.name)));
    assert_eq!(names, want.collect::<Vec<_>>());
}

#[test]
fn existing_database_follows_the_given_option() {
    let folder = Folder::new("existing");
    let path = folder.log();
    let state = || {
        let sql = "SELECT DisplayString, NumberOfRecords, CounterValue, CounterName FROM DisplayToID
            NATURAL JOIN CounterData NATURAL JOIN CounterDetails ORDER BY DisplayString";
        (folder.files(), rows(&path, sql))
    };
    let row = |name: &str, value: &str| format!(r#"{name:?} 1 {value} "Available MBytes""#);
    let only_log = vec!["log.db".to_string()];

    fs::write(folder.0.join("log.db.part0"), "of a crash").unwrap();
    small(&path, "a", Existing::Refuse, 2.0).unwrap();
    assert_eq!(
        fs::read_to_string(folder.0.join("log.db.part0")).unwrap(),
        "of a crash",
        "nor is that touched"
    );
    fs::remove_file(folder.0.join("log.db.part0")).unwrap();
    assert_eq!(state(), (only_log.clone(), vec![row("a", "2.0")]));

    let error = small(&path, "b", Existing::Refuse, 3.0).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: the file already exists", path.display()));
    small(&path, "b", Existing::Append, 5.0).unwrap();
    assert_eq!(state(), (only_log.clone(), vec![row("a", "2.0"), row("b", "5.0")]));

    let error = small(&path, "a", Existing::Append, 7.0).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: the database already has a log set \"a\"", path.display()));
    let set = LogSet { name: "c".into(), ..LogSet::new("a", Zone::utc()) };
    let error = SqlWriter::create(&path, set, Existing::Append).unwrap_err();
    assert!(matches!(error, SqlError::Taken { .. }), "the GUID: {error}");
    assert_eq!(state(), (only_log.clone(), vec![row("a", "2.0"), row("b", "5.0")]));

    for existing in [Existing::Append, Existing::Replace] {
        let mut log = SqlWriter::create(&path, LogSet::new("c", Zone::utc()), existing).unwrap();
        let id = log.counter(&Detail { counter: "Another", ..MEMORY }).unwrap();
        log.record(TIME, [(id, Some(11.0), None)]).unwrap();
        drop(log);
        assert_eq!(
            state(),
            (only_log.clone(), vec![row("a", "2.0"), row("b", "5.0")]),
            "{existing:?}, dropped"
        );
    }
    assert_eq!(rows(&path, "SELECT count(*) FROM CounterDetails"), ["1"]);

    small(&path, "a", Existing::Replace, 13.0).unwrap();
    assert_eq!(state(), (only_log.clone(), vec![row("a", "13.0")]));
}

#[test]
fn a_file_comes_between() {
    for existing in [Existing::Refuse, Existing::Append] {
        let folder = Folder::new("between");
        let log = SqlWriter::create(folder.log(), LogSet::new("a", Zone::utc()), existing).unwrap();
        fs::write(folder.log(), "another's").unwrap();
        assert!(matches!(log.finish(), Err(SqlError::Exists { .. })), "{existing:?}");
        assert_eq!(folder.files(), ["log.db"]);
        assert_eq!(fs::read_to_string(folder.log()).unwrap(), "another's");
    }
}

#[test]
fn sql_write_errors_name_the_failed_step() {
    let folder = Folder::new("cannot");
    let fails = |name: &str, path: &Path, existing, want: &str, why: &str| {
        let error = small(path, "a", existing, 2.0).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: cannot {want}", path.display()), "{name}");
        let source = error.source().unwrap().to_string();
        assert!(source.contains(why), "{name}: {source}");
    };
    let text = folder.0.join("text");
    fs::write(&text, "this is no database, and long enough to tell ".repeat(100)).unwrap();
    fails("no database", &text, Existing::Append, "create the tables", "not a database");
    let other = folder.0.join("other");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE DisplayToID (x int)").unwrap();
    fails("other tables", &other, Existing::Append, "create the tables", "no such column");
    let missing = folder.0.join("missing").join("log.db");
    fails("no folder", &missing, Existing::Refuse, "create a file beside it", "");
    fails("a folder", &folder.0, Existing::Append, "open it", "unable to open");
    fails("a folder to replace", &folder.0, Existing::Replace, "move the new file to this path", "");
    let log = folder.log();
    small(&log, "other", Existing::Refuse, 2.0).unwrap();
    let held = Connection::open(&log).unwrap();
    let trigger = "CREATE TRIGGER t BEFORE INSERT ON CounterData BEGIN SELECT RAISE(FAIL, 'refused'); END";
    held.execute_batch(trigger).unwrap();
    fails("a trigger", &log, Existing::Append, "write a record", "refused");
    drop(held);
    assert_eq!(folder.files(), ["log.db", "other", "text"], "no part is left");
    assert_eq!(rows(&other, "SELECT name FROM sqlite_master"), [r#""DisplayToID""#], "rolled back");
    let error = SqlWriter::create("", LogSet::new("a", Zone::utc()), Existing::Refuse).unwrap_err();
    assert_eq!(error.to_string(), ": cannot find the directory of the file");
}

#[test]
fn a_failure_gives_up() {
    let folder = Folder::new("failure");
    let mut log = SqlWriter::create(folder.log(), LogSet::new("a", Zone::utc()), Existing::Refuse).unwrap();
    let id = log.counter(&MEMORY).unwrap();
    let error = log.record(TIME, [(id, Some(2.0), None), (id, Some(3.0), None)]).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: cannot write a record", folder.log().display()));
    assert!(error.source().unwrap().to_string().contains("UNIQUE"), "{:?}", error.source());
    assert_eq!(folder.files(), Vec::<String>::new());
    assert!(matches!(log.counter(&MEMORY), Err(SqlError::GivenUp { .. })));
    assert!(matches!(log.record(TIME, []), Err(SqlError::GivenUp { .. })));
    assert!(matches!(log.finish(), Err(SqlError::GivenUp { .. })));
}

/// Returns the 64-bit number that is stored as a low and a high half.
fn whole(low: Option<i32>, high: Option<i32>) -> Option<i64> {
    Some(i64::from(high?) << 32 | i64::from(low? as u32))
}

/// Row that a test finds in a SQL log: record, instance, bits of the value, raw numbers.
type Found = (i64, String, Option<u64>, Option<(i64, i64)>);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Checks that a SQL log is read as it was written: any names, any numbers, any status.
    #[test]
    fn anything_reads_back(
        name in any::<String>(),
        instances in prop::collection::btree_set(any::<String>(), 1..8),
        records in prop::collection::vec(
            (any::<i64>(), prop::collection::vec(any::<Option<(Option<f64>, Option<(bool, i64, i64)>)>>(), 8)), 0..12),
    ) {
        let folder = Folder::new("any");
        let mut log = SqlWriter::create(folder.log(), LogSet::new(&*name, Zone::utc()), Existing::Refuse).unwrap();
        let ids: Vec<CounterId> = instances
            .iter()
            .map(|name| log.counter(&Detail { instance: Some(InstanceRow { name, index: 0 }), ..MEMORY }).unwrap())
            .collect();
        let mut want = Vec::new();
        for (index, (time, values)) in (1_i64..).zip(&records) {
            let raws: Vec<Option<RawCounter>> = values.iter().map(|value| {
                let (has_value, first, second) = value.as_ref()?.1?;
                let c_status = PdhStatus(if has_value { 0 } else { 0xC000_0BBA });
                Some(RawCounter { c_status, time: *time, first, second, multi_count: 1 })
            }).collect();
            let given = values.iter().zip(&raws).zip(ids.iter().zip(&instances));
            let given: Vec<_> = given.filter_map(|((value, raw), of)| Some((value.as_ref()?.0, raw, of))).collect();
            log.record(*time, given.iter().map(|(value, raw, (id, _))| (**id, *value, raw.as_ref()))).unwrap();
            for (value, raw, (_, name)) in given {
                let value = value.filter(|value| value.is_finite());
                let raw = raw.filter(|raw| raw.c_status == PdhStatus(0)).map(|raw| (raw.first, raw.second));
                if value.is_some() || raw.is_some() {
                    want.push((index, name.clone(), value.map(f64::to_bits), raw));
                }
            }
        }
        log.finish().unwrap();

        let file = Connection::open(folder.log()).unwrap();
        let sql = "SELECT RecordIndex, InstanceName, CounterValue, FirstValueA, FirstValueB, SecondValueA, SecondValueB
            FROM CounterData NATURAL JOIN CounterDetails ORDER BY RecordIndex, CounterID";
        let mut query = file.prepare(sql).unwrap();
        let found = query.query_map((), |row| {
            let first = whole(row.get(3)?, row.get(4)?);
            let second = whole(row.get(5)?, row.get(6)?);
            Ok((row.get(0)?, row.get(1)?, row.get::<_, Option<f64>>(2)?.map(f64::to_bits), first.zip(second)))
        });
        let found: Vec<Found> = found.unwrap().map(Result::unwrap).collect();
        // SQLite stores no sign of zero.
        let unsigned_zero = |bits: u64| if f64::from_bits(bits) == 0.0 { 0 } else { bits };
        for (_, _, value, _) in &mut want {
            *value = value.map(unsigned_zero);
        }
        prop_assert_eq!(found, want);
        let set: (String, i64) =
            file.query_row("SELECT DisplayString, NumberOfRecords FROM DisplayToID", (), |row| row.try_into()).unwrap();
        prop_assert_eq!(set, (name, i64::try_from(records.len()).unwrap()));
    }
}

/// Samples of a SQL log as texts: time and values of each.
type Samples = Vec<(String, String)>;

/// Reads a SQL log, and returns its samples with readable times and values by path, and its damage.
fn read(path: &Path) -> Result<(Samples, Vec<String>), String> {
    let text = |error: crate::LogError| {
        let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |&error| error.source());
        causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    };
    let crate::Log::Records(mut log) = crate::Log::open_file(path).map_err(text)? else {
        return Err("it is another log".to_owned());
    };
    let mut samples = Vec::new();
    while let Some(sample) = log.next_sample().map_err(|error| text(error.into()))? {
        let time = perfset_core::clock::SystemTime::from_100ns(sample.time).to_string();
        let (values, has_record) = (sample.values.to_vec(), sample.has_record.to_vec());
        let all = log.paths().iter().zip(values).zip(has_record).filter(|(_, has_record)| *has_record);
        let all = all.map(|((path, value), _)| format!("{path} {value:?}"));
        samples.push((time, all.collect::<Vec<_>>().join(", ")));
    }
    Ok((samples, log.damages().first().iter().map(ToString::to_string).collect()))
}

/// Writes two log sets with instances, a parent, and a value that is missing.
fn two_sets(path: &Path) {
    let worker = |index| Detail {
        object: "Thread",
        counter: "Priority",
        instance: Some(InstanceRow { name: "worker", index }),
        parent: Some("app"),
        ..MEMORY
    };
    for (name, start, existing) in
        [("b", TIME + 60 * SECOND, Existing::Refuse), ("a", TIME, Existing::Append)]
    {
        let mut log = SqlWriter::create(path, LogSet::new(name, Zone::utc()), existing).unwrap();
        let ids = [MEMORY, worker(0), worker(1)].map(|detail| log.counter(&detail).unwrap());
        let numbers = raw(1, 2, 3);
        log.record(start, [(ids[0], Some(2048.0), None), (ids[1], None, Some(&numbers))]).unwrap();
        log.record(start + SECOND, [(ids[0], Some(0.5), None), (ids[2], Some(-8.0), None)]).unwrap();
        log.finish().unwrap();
    }
}

#[test]
fn log_sets_read_back_as_a_log() {
    let folder = Folder::new("read");
    two_sets(&folder.log());
    let sample = |time: &str, values: &str| (time.to_owned(), values.to_owned());
    let first = r"\\HOST\Memory\Available MBytes Some(2048.0), \\HOST\Thread(app/worker)\Priority None";
    let second = r"\\HOST\Memory\Available MBytes Some(0.5), \\HOST\Thread(app/worker#1)\Priority Some(-8.0)";
    let want = vec![
        sample("2017-10-29 01:59:44.562", first),
        sample("2017-10-29 01:59:45.562", second),
        sample("2017-10-29 02:00:44.562", first),
        sample("2017-10-29 02:00:45.562", second),
    ];
    assert_eq!(read(&folder.log()), Ok((want, vec![])));
    // More rows than are read at once.
    let many = folder.0.join("many.db");
    let mut log = SqlWriter::create(&many, LogSet::new("many", Zone::utc()), Existing::Refuse).unwrap();
    let id = log.counter(&MEMORY).unwrap();
    for second in 0..3_000 {
        log.record(TIME + second * SECOND, [(id, Some(second as f64), None)]).unwrap();
    }
    log.finish().unwrap();
    let samples = read(&many).unwrap().0;
    assert_eq!(samples.len(), 3_000);
    assert!(samples.iter().enumerate().all(|(n, (_, text))| text.ends_with(&format!("Some({n}.0)"))));
}

#[test]
fn hostile_databases_are_refused_or_reported() {
    let folder = Folder::new("hostile");
    let path = folder.log();
    let change = |sql: &str| {
        let _ = fs::remove_file(&path);
        two_sets(&path);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        read(&path)
    };
    // A view can compute without end.
    let endless = "DROP TABLE CounterData; CREATE VIEW CounterData AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL
        SELECT i + 1 FROM n) SELECT '' GUID, i RecordIndex, 1 CounterID, '' CounterDateTime, 1.0 CounterValue FROM n;";
    assert!(change(endless).unwrap_err().contains("no table is named CounterData"));
    assert!(change("DROP TABLE DisplayToID").unwrap_err().contains("no table is named DisplayToID"));
    // A generated column takes any time and memory for each row.
    for generated in ["(hex(zeroblob(300000000)))", "('a') STORED"] {
        let sql = format!(
            "ALTER TABLE CounterDetails RENAME TO Old; CREATE TABLE CounterDetails (CounterID, MachineName, ObjectName,
            CounterName, ParentName, InstanceName AS {generated}, InstanceIndex); INSERT INTO CounterDetails SELECT
            CounterID, MachineName, ObjectName, CounterName, ParentName, 0 FROM Old"
        );
        assert!(
            change(&sql).unwrap_err().contains("the table CounterDetails has a generated column"),
            "{sql}"
        );
    }
    // A long row is an error, and is not read into memory.
    let long = "UPDATE CounterDetails SET CounterName = CAST(zeroblob(2000000) AS TEXT)";
    assert!(change(long).unwrap_err().contains("too big"), "{:?}", change(long));
    for (sql, want) in [
        ("UPDATE CounterData SET CounterDateTime = 'x' WHERE RecordIndex = 1", "record 1 has no valid time"),
        ("DELETE FROM CounterDetails WHERE CounterName = 'Priority'", "of the unknown counter"),
        (
            "UPDATE CounterDetails SET ObjectName = x'ff' WHERE CounterName = 'Priority'",
            "of the unknown counter",
        ),
    ] {
        let (samples, damages) = change(sql).unwrap();
        assert!(
            !samples.is_empty() && damages.iter().all(|damage| damage.contains(want)),
            "{sql}: {damages:?}"
        );
        assert!(!damages.is_empty(), "{sql}");
    }
    for sql in [
        "UPDATE CounterData SET CounterValue = 'text'",
        "UPDATE CounterData SET CounterValue = 9e999",
        "UPDATE CounterDetails SET InstanceIndex = -5",
        "UPDATE CounterDetails SET InstanceName = x'00'",
        "DELETE FROM DisplayToID",
        "DELETE FROM CounterData",
    ] {
        let (_, damages) = change(sql).unwrap();
        assert!(damages.is_empty(), "{sql}: {damages:?}");
    }
}

/// Checks that a cut or changed SQL log is an error, damage or a log, and that reading ends soon.
#[test]
fn every_cut_and_every_changed_byte_ends_soon() {
    let folder = Folder::new("sweep");
    two_sets(&folder.log());
    let whole = fs::read(folder.log()).unwrap();
    let other = folder.0.join("other.db");
    let mut good = 0;
    for at in (0..whole.len()).step_by(whole.len() / 300).chain(0..100) {
        fs::write(&other, &whole[..at]).unwrap();
        good += usize::from(read(&other).is_ok());
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        fs::write(&other, &bytes).unwrap();
        good += usize::from(read(&other).is_ok());
    }
    assert!(good > 10, "some bytes belong to no value: {good}");
}
