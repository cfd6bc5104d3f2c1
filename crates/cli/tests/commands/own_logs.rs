//! Tests that the output of `get` and `relog` can be read as a log again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::running::{run, scratch, testdata};

/// Returns the output of a successful command on a fixture.
fn good(args: &[&str]) -> String {
    let (code, out, err) = run("two-nodes", args);
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    out
}

fn saved(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    file
}

/// Returns time, path, value, status, mark and missing of each line of JSON. A value without a mark has that of a
/// log.
fn values(json: &str) -> BTreeSet<[String; 6]> {
    let objects = json.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of = |mut object: Value| {
        if object["mark"].is_null() && !object["value"].is_null() {
            object["mark"] = "formatted".into();
        }
        ["time", "path", "value", "status", "mark", "missing"].map(|name| match &object[name] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    };
    objects.map(of).collect()
}

const PATHS: [&str; 3] =
    [r"\Processor Information(*)\% User Time", "/Memory/Available Bytes", "/Memory/Write Copies/sec"];

#[test]
fn values_of_get_read_back() {
    let folder = scratch("own-logs");
    let get = |more: &[&str]| good(&[&["get"], &PATHS[..], more].concat());
    let json = get(&["20ms", "3", "--warmup", "20ms", "--format", "json"]);
    let file = saved(&folder, "get.jsonl", &json);
    let again = get(&["--log", file.to_str().unwrap(), "--format", "json"]);
    assert_eq!(values(&again), values(&json));
    assert!(values(&json).len() > 9, "{json}");
    // Formatted values are marked, and have no raw value.
    let first: Value = serde_json::from_str(again.lines().next().unwrap()).unwrap();
    assert_eq!((&first["mark"], &first["raw"]), (&Value::from("formatted"), &Value::Null));
    assert_eq!(first["unit"], "%");

    let csv = get(&["20ms", "3", "--warmup", "20ms", "--format", "csv"]);
    let file = saved(&folder, "get.csv", &csv);
    let name = file.to_str().unwrap();
    let again = get(&["--log", name, "--format", "json"]);
    // The same log in JSON: what CSV says, read by another reader, gives the same.
    let columns = |text: &str| text.lines().count();
    assert_eq!(again.lines().count() + 1, columns(&csv));
    for [_, path, value, ..] in values(&again).into_iter().filter(|[.., status, _, _]| status == "ok") {
        let cells = [path.clone(), format!("\"{path}\"")];
        let is_it = |line: &&str| {
            cells.iter().any(|cell| line.contains(cell)) && line.contains(&format!(",{value},ok,"))
        };
        let value = value.strip_suffix(".0").unwrap_or(&value);
        let is_whole = |line: &&str| {
            cells.iter().any(|cell| line.contains(cell)) && line.contains(&format!(",{value},ok,"))
        };
        assert!(csv.lines().any(|line| is_it(&line) || is_whole(&line)), "{path} {value}: {csv}");
    }

    // Every command that reads logs reads these.
    let list = good(&["list", "--log", name]);
    assert!(list.contains("Processor Information") && list.contains("Memory "), "{list}");
    let instances = good(&["instances", "processor inf", "--log", name, "--format", "csv"]);
    assert!(instances.contains(",_Total,") && instances.contains(",\"0,0\","), "{instances}");
    let info = good(&["log", "info", name]);
    assert!(info.starts_with(&format!("{name}: CSV of perfset\nspan ")), "{info}");
    assert!(
        info.contains("\nzone      UTC\nsamples   3")
            && info.contains("formatted  \\Memory\\Available Bytes"),
        "{info}"
    );
    let pdh = good(&["relog", name, "-o", "-", "--format", "csv"]);
    assert!(pdh.starts_with("\"(PDH-CSV 4.0) (UTC)(0)\","), "{pdh}");
    assert_eq!(pdh.lines().count(), 4, "{pdh}");
}

#[test]
fn a_log_of_windows_is_the_same_after_relog() {
    let folder = scratch("own-logs-relog");
    let log = testdata("logs/BasicPerfCounters.blg").display().to_string();
    let json = good(&["relog", &log, "-o", "-", "--format", "json"]);
    let file = saved(&folder, "relog.jsonl", &json);
    let file = file.to_str().unwrap();
    let again = good(&["relog", file, "-o", "-", "--format", "json"]);
    assert_eq!(values(&again), values(&json));
    let machine =
        |text: &str| serde_json::from_str::<Value>(text.lines().next().unwrap()).unwrap()["machine"].clone();
    assert_eq!(machine(&again), machine(&json));
    let busy = good(&["get", "cpu", "--log", file, "--top", "1", "--begin", "2013-02-20 02:59:00"]);
    assert!(busy.contains("% Processor Time"), "{busy}");
}

#[cfg(feature = "sqlite")]
#[test]
fn sqlite_files_of_relog_read_back() {
    let folder = scratch("own-logs-sqlite");
    let log = testdata("logs/BasicPerfCounters.blg").display().to_string();
    let json = good(&["relog", &log, "-o", "-", "--format", "json"]);
    let file = folder.join("log.db");
    let file = file.to_str().unwrap();
    good(&["relog", &log, "-o", file]);
    let again = good(&["relog", file, "-o", "-", "--format", "json"]);
    // SQLite has times in milliseconds, as JSON, and no reasons except that of the first sample.
    assert_eq!(values(&again), values(&json));
    assert!(again.contains("\"needs_two_samples\""), "{again}");
    let info = good(&["log", "info", file]);
    assert!(info.starts_with(&format!("{file}: SQLite of perfset\nmachine   \\\\GEORGIS3\n")), "{info}");
    let table = good(&["get", "cpu", "--log", file, "--top", "1", "--end", "2013-02-20 02:50:20"]);
    assert!(table.contains("% Processor Time"), "{table}");
}

/// Checks that a partial sum stays partial in a log, a reason keeps its keyword, and an empty pattern is no instance.
#[test]
fn reasons_and_marks_read_back() {
    let folder = scratch("own-logs-marks");
    let record = |second: u32, instance: &str, rest: &str| {
        let name = instance.split('#').next().unwrap();
        format!(
            "2026-11-21T21:04:{second:02}.000Z,\\Process V2({instance})\\Working Set,Process V2,{name},1,Working Set,\
             {rest}\n"
        )
    };
    let header =
        "time,path,counterset,instance,instance_id,counter,value,status,raw,base,type,unit,mark,missing\n";
    let text = [
        header.to_owned(),
        record(1, "zzz*", ",no_instance,,,PERF_COUNTER_LARGE_RAWCOUNT,By,,"),
        record(1, "_Total", "300,ok,300,,PERF_COUNTER_LARGE_RAWCOUNT,By,partial,5"),
        record(1, "sleep", "100,ok,100,,PERF_COUNTER_LARGE_RAWCOUNT,By,,"),
        record(1, "sleep#1", "200,ok,200,,PERF_COUNTER_LARGE_RAWCOUNT,By,stale,"),
        record(2, "_Total", "301,ok,301,,PERF_COUNTER_LARGE_RAWCOUNT,By,,"),
        record(2, "sleep", ",denied,,,PERF_COUNTER_LARGE_RAWCOUNT,By,,"),
        record(2, "sleep#1", ",late,,,PERF_COUNTER_LARGE_RAWCOUNT,By,,"),
    ]
    .concat();
    let file = saved(&folder, "marks.csv", &text);
    let file = file.to_str().unwrap();
    let get = |more: &[&str]| good(&[&["get", r"\Process V2(*)\Working Set", "--log", file], more].concat());
    let json = get(&["--format", "json"]);
    let of = |second: u32, instance: &str, rest: [&str; 4]| {
        let place =
            [format!("2026-11-21T21:04:{second:02}.000Z"), format!(r"\Process V2({instance})\Working Set")];
        let all: Vec<_> = place.into_iter().chain(rest.map(str::to_owned)).collect();
        <[String; 6]>::try_from(all).unwrap()
    };
    let want = BTreeSet::from([
        of(1, "_Total", ["300.0", "ok", "partial", "5"]),
        of(1, "sleep", ["100.0", "ok", "formatted", "null"]),
        of(1, "sleep#1", ["200.0", "ok", "stale", "null"]),
        of(2, "_Total", ["301.0", "ok", "formatted", "null"]),
        of(2, "sleep", ["null", "denied", "null", "null"]),
        of(2, "sleep#1", ["null", "late", "null", "null"]),
    ]);
    assert_eq!(values(&json), want, "{json}");
    assert!(json.lines().all(|line| line.contains("\"raw\":null")), "a formatted value has none: {json}");
    // Again through JSON.
    let again = saved(&folder, "marks.jsonl", &json);
    let again =
        good(&["get", r"\Process V2(*)\Working Set", "--log", again.to_str().unwrap(), "--format", "json"]);
    assert_eq!(values(&again), want);
    let table = get(&[]);
    for text in [
        "partial: 5 instances could not be read",
        "stale: its source did not respond in time",
        "denied: the log does not contain the reason",
        "the provider did not respond in time",
    ] {
        assert!(table.contains(text), "{text}: {table}");
    }
    let (code, pdh, err) =
        run("two-nodes", &["get", r"\Process V2(*)\Working Set", "--log", file, "--format", "pdh-csv"]);
    let want = r"1 value of \Process V2(_Total)\Working Set is partial: up to 5 instances could not be read";
    assert!(code == 0 && err.contains(want) && pdh.contains("\"300\""), "{err}{pdh}");
}

/// Checks that the bits of a partial sum in a log do not become a raw number of SQLite tables.
#[cfg(feature = "sqlite")]
#[test]
fn marked_values_have_no_raw_numbers_in_sqlite() {
    let folder = scratch("own-logs-raw");
    let text = "time,path,counterset,instance,counter,value,status,mark,missing\n\
        2026-11-21T21:04:01.000Z,\\Process V2(_Total)\\Working Set,Process V2,_Total,Working Set,300,ok,partial,5\n";
    let (from, to) = (saved(&folder, "marks.csv", text), folder.join("marks.db"));
    let (code, _, err) = run("two-nodes", &["relog", from.to_str().unwrap(), "-o", to.to_str().unwrap()]);
    assert!(code == 0 && err.contains("is partial: up to 5 instances could not be read"), "{err}");
    let file = rusqlite::Connection::open(to).unwrap();
    let sql = "SELECT CounterValue, FirstValueA FROM CounterData";
    let rows: (f64, Option<i64>) = file.query_row(sql, (), |row| row.try_into()).unwrap();
    assert_eq!(rows, (300.0, None));
}

#[test]
fn wide_output_is_no_log() {
    let folder = scratch("own-logs-wide");
    for format in ["csv", "json"] {
        let wide = good(&[
            "get",
            r"\Processor Information(*)\% User Time",
            "20ms",
            "2",
            "--format",
            format,
            "--wide",
        ]);
        let file = saved(&folder, format, &wide);
        let (code, out, err) = run("two-nodes", &["list", "--log", file.to_str().unwrap()]);
        assert_eq!((code, out.as_str()), (5, ""), "{err}");
        assert!(
            err.contains("this is output of --wide, which cannot be read back; write it without --wide"),
            "{err}"
        );
    }
}

/// Checks that instances that end are missing in later samples of a log, and have no rows without values.
#[test]
fn instances_come_and_go() {
    let folder = scratch("own-logs-instances");
    let record = |second: u32, instance: &str, value: u32| {
        format!(
            "2026-11-21T21:04:{second:02}.000Z,\\Process V2({instance})\\Priority,Process V2,{instance},1,\
             Priority,{value},ok,,,X,,,\n"
        )
    };
    let header =
        "time,path,counterset,instance,instance_id,counter,value,status,raw,base,type,unit,mark,missing\n";
    let text =
        [header.to_owned(), record(1, "a", 1), record(1, "b", 2), record(2, "b", 3), record(3, "c", 4)]
            .concat();
    let file = saved(&folder, "comes.csv", &text);
    let file = file.to_str().unwrap();
    let json = good(&["get", r"\Process V2(*)\Priority", "--log", file, "--format", "json"]);
    let names: Vec<_> = json
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|object| format!("{} {}", object["instance"].as_str().unwrap(), object["value"]))
        .collect();
    assert_eq!(names, ["a 1.0", "b 2.0", "b 3.0", "c 4.0"]);
    let pdh = good(&["get", r"\Process V2(*)\Priority", "--log", file, "--format", "pdh-csv"]);
    assert_eq!(pdh.lines().next().unwrap().matches("Process V2(").count(), 3, "{pdh}");
    let (code, _, err) = run("two-nodes", &["get", r"\Process V2(d)\Priority", "--log", file]);
    assert!(code == 3 && err.contains("has no instance \"d\"\n  perfset instances "), "{err}");
}

/// Checks that counts which `get` wrote have no decimals when they are read as a log, whose numbers have no counter
/// types.
#[test]
fn whole_numbers_read_back_whole() {
    let folder = scratch("own-logs-whole");
    let paths = [
        r"\Memory\Available Bytes",
        r"\System\Processes",
        r"\System\Threads",
        r"\NUMA Node Memory(*)\Available MBytes",
        r"\Processor Information(0*)\Processor Frequency",
        r"\PhysicalDisk(*)\Current Disk Queue Length",
    ];
    let get = |more: &[&str]| good(&[&["get"], &paths[..], more].concat());
    let cells = |table: &str| -> Vec<String> {
        // Times differ, and a log has the day too.
        let is_number =
            |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains(['-', ':']);
        let words = table.lines().flat_map(|line| line.split_whitespace().filter(is_number));
        let mut cells: Vec<_> = words.map(str::to_owned).collect();
        cells.sort_unstable();
        cells
    };
    for form in ["--exact", "--human"] {
        let live = get(&[form]);
        assert!(cells(&live).len() > 6 && !live.contains(".0 "), "{live}");
        for format in ["csv", "json"] {
            let file = saved(&folder, &format!("log.{format}"), &get(&["--format", format]));
            let again = get(&["--log", file.to_str().unwrap(), form]);
            assert_eq!(cells(&again), cells(&live), "{format} {form}:\n{live}\n{again}");
        }
    }
}

#[test]
fn damage_has_its_own_code() {
    let folder = scratch("own-logs-damage");
    let json = good(&["get", "/Memory/Available Bytes", "20ms", "2", "--format", "json"]);
    let cut = saved(&folder, "cut.jsonl", &json[..json.len() - 20]);
    let (code, out, err) = run(
        "two-nodes",
        &["get", "/Memory/Available Bytes", "--log", cut.to_str().unwrap(), "--format", "json"],
    );
    assert_eq!((code, out.lines().count()), (5, 1), "{err}");
    assert!(err.contains("line left out: EOF while parsing"), "{err}");
}
