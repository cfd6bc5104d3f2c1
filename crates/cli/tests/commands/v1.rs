//! Tests of `perfset v1` and `perfset dump` on V1 blocks.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::running::{outcome, perfset, scratch, testdata};

fn run_in(folder: &Path, args: &[&str]) -> (i32, String, String) {
    outcome(perfset("small-vm", args).current_dir(folder).output().unwrap())
}

fn good(folder: &Path, args: &[&str]) -> String {
    let (code, out, err) = run_in(folder, args);
    // This machine has not all that there is: what it lacks as a whole is a warning each.
    let warned = err.lines().all(|line| line.starts_with("warning: ") && line.contains(": unavailable: "));
    assert!(code == 0 && warned, "{args:?}: {err}");
    out
}

#[test]
fn a_machine_as_a_block_and_back() {
    let folder = scratch("v1-query");
    assert_eq!(good(&folder, &["v1", "query", "global", "-o", "old.bin", "--names", "names.bin"]), "");
    good(&folder, &["v1", "query", "Global", "-o", "new.bin"]);
    good(&folder, &["v1", "query", "Counter", "009", "-o", "counter.bin"]);
    assert_eq!(fs::read(folder.join("names.bin")).unwrap(), fs::read(folder.join("counter.bin")).unwrap());
    good(&folder, &["v1", "query", "help 009", "-o", "help.bin"]);
    good(&folder, &["v1", "query", "Explain", "9", "-o", "explain.bin"]);
    assert_eq!(fs::read(folder.join("help.bin")).unwrap(), fs::read(folder.join("explain.bin")).unwrap());

    let names = good(&folder, &["v1", "names", "new.bin", "--names", "names.bin"]);
    let lines: Vec<_> = names.lines().collect();
    assert_eq!(lines[0], "  offset  what        index  name");
    assert!(lines.iter().any(|line| line.ends_with("object        238  Processor, instances")), "{names}");
    assert!(names.contains("counter       6  % Processor Time  PERF_100NSEC_TIMER_INV"), "{names}");
    assert!(names.contains("instance         _Total"), "{names}");
    let table = good(&folder, &["v1", "names", "names.bin"]);
    assert!(
        table.contains("\n     238  Processor\n") && table.contains("\n      24  Available Bytes\n"),
        "{table}"
    );
    let helps = good(&folder, &["v1", "names", "help.bin"]);
    assert!(helps.contains("\n       5  Physical memory and its use"), "{helps}");

    // The same numbers as those of the machine itself.
    let values = good(&folder, &["v1", "values", "old.bin", "new.bin", "--format", "json"]);
    let direct = good(&folder, &["get", "/Memory/Available Bytes", "--format", "json"]);
    let direct: Value = serde_json::from_str(direct.trim()).unwrap();
    let rows: Vec<Value> = values.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let row = |path: &str| rows.iter().find(|row| row["path"] == path).unwrap_or_else(|| panic!("{path}"));
    for field in ["value", "raw", "status", "counterset", "counter", "unit", "type"] {
        assert_eq!(row(r"\Memory\Available Bytes")[field], direct[field], "{field}");
    }
    assert_eq!(row(r"\Processor(_Total)\% Processor Time")["value"], 100.0);
    assert_eq!(row(r"\System\Context Switches/sec")["value"], 0.0);
    let one = good(&folder, &["v1", "values", "new.bin", "--format", "json"]);
    assert!(one.contains("needs_two_samples") && !one.contains("null,\"status\":\"ok\""), "{one}");
    let raw = good(&folder, &["v1", "values", "new.bin", "--raw"]);
    assert!(raw.contains("  Available Bytes\n"), "{raw}");
}

#[test]
fn questions_that_have_no_answer() {
    let folder = scratch("v1-questions");
    let (code, _, err) = run_in(&folder, &["v1", "query", "1", "3", "-o", "x.bin"]);
    assert_eq!((code, err.as_str()), (3, "error: no object has such a title index; the block is empty\n"));
    good(&folder, &["dump", "x.bin"]);
    let (code, _, err) = run_in(&folder, &["v1", "query", "38x"]);
    assert!(code == 2 && err.starts_with("error: \"38x\" is neither Global, Costly, a list"), "{err}");
    let (code, _, err) = run_in(&folder, &["v1", "query", "Counter 407"]);
    assert_eq!((code, err.as_str()), (3, "error: language 0x0407 is not installed\n"));
    good(&folder, &["v1", "query", "Costly", "-o", "costly.bin"]);
    let (code, _, err) = run_in(&folder, &["v1", "values", "costly.bin"]);
    assert_eq!((code, err.as_str()), (3, "error: the block has no object\n"));
    fs::write(folder.join("text"), "no table").unwrap();
    let (code, _, err) = run_in(&folder, &["v1", "names", "text"]);
    assert_eq!((code, err.as_str()), (5, "error: text: neither a V1 block nor a name table\n"));
    let (code, _, err) = run_in(&folder, &["v1", "values", "none.bin"]);
    assert!(code == 4 && err.starts_with("error: cannot read none.bin: "), "{err}");
    let (code, ..) = run_in(&folder, &["v1"]);
    assert_eq!(code, 2);
}

#[test]
fn samba_is_read_when_asked_to_be_lenient() {
    let folder = testdata("v1");
    let (code, out, err) = run_in(&folder, &["v1", "values", "samba417_global.bin"]);
    assert_eq!((code, out.as_str()), (5, ""));
    let why = "PERF_DATA_BLOCK.TotalByteLength at byte 20: breaks R5: it counts the header";
    assert_eq!(
        err,
        format!(
            "error: samba417_global.bin: not a valid V1 block: {why}\n  --lenient reads as much as possible\n"
        )
    );
    let args = ["v1", "values", "--lenient", "samba417_global.bin", "--names", "samba417_counter009.bin"];
    let (code, out, err) = run_in(&folder, &args);
    assert_eq!((code, err), (0, format!("warning: samba417_global.bin: {why}\n")));
    assert!(out.contains("             1,234  Load\n     5,000,000,000  Big\n"), "{out}");
}

#[test]
fn unreadable_v1_block_is_reported() {
    let folder = testdata("v1");
    let (code, out, err) = run_in(&folder, &["v1", "values", "--lenient", "wine8_global_as_returned.bin"]);
    assert_eq!((code, out.as_str()), (5, ""));
    let lines: Vec<_> = err.lines().collect();
    assert!(
        lines[0].starts_with("warning: wine8_global_as_returned.bin: PERF_OBJECT_TYPE.TotalByteLength"),
        "{err}"
    );
    assert_eq!(lines[1], "error: no object of the block can be read");
    let (code, _, err) = run_in(&folder, &["v1", "values", "README.md"]);
    assert!(code == 5 && err.ends_with("breaks R2: the signature is PERF in UTF-16\n"), "no hint: {err}");
    let (code, _, err) = run_in(&folder, &["dump", "samba417_counter009.bin"]);
    assert!(code == 5 && err.ends_with("  it looks like a name table: perfset v1 names\n"), "{err}");
    assert_eq!(run_in(&folder, &["v1", "values", "-", "-"]).0, 2);
    assert_eq!(run_in(&folder, &["v1", "query", "Costly", "--names", "-"]).0, 2);
}

#[test]
fn numbers_are_shown_as_their_types_say() {
    use perfset::CounterType as T;
    use perfset::clock::ClockReading;
    use perfset::v1::{BlockBuilder, NewCounter, NewObject};
    let folder = scratch("v1-numbers");
    let mut builder = BlockBuilder::new(&ClockReading::default(), "HOST");
    let counters = [
        NewCounter::new(9_902, T::PERF_COUNTER_RAWCOUNT_HEX),
        NewCounter::new(9_904, T::PERF_COUNTER_LARGE_RAWCOUNT),
        NewCounter::new(9_906, T::PERF_DOUBLE_RAW),
    ];
    builder.single(&NewObject::new(9_998), &counters, [0xDEAD_BEEF, u64::MAX, 2.5_f64.to_bits()]);
    fs::write(folder.join("block.bin"), builder.finish().unwrap()).unwrap();
    let out = good(&folder, &["v1", "values", "block.bin"]);
    let want = "\
1601-01-01 00:00:00.000  #9998
        0xdeadbeef  #9902
18,446,744,073,709,551,615  #9904
               2.5  #9906
";
    assert_eq!(out, want);
}

/// Checks that the time of a V1 block of Windows is UTC. PerfTime100nSec of this block is 2007-08-14 19:41:38.614
/// UTC; its SystemTime is the local time, four hours less.
#[test]
fn times_of_windows_blocks_are_utc() {
    let folder = testdata("v1/windows-vista");
    let values = |format: &str| {
        let files = ["object238-sample0.bin", "object238-sample1.bin"];
        good(&folder, &["v1", "values", files[0], files[1], "--format", format])
    };
    let json = values("json");
    assert!(json.lines().count() > 20, "{json}");
    for line in json.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        assert_eq!(row["time"], "2007-08-14T19:41:38.614Z");
    }
    let csv = values("csv");
    assert!(csv.lines().skip(1).all(|line| line.starts_with("2007-08-14T19:41:38.614Z,")), "{csv}");
    let log = values("pdh-csv");
    assert!(log.lines().nth(1).unwrap().starts_with("\"08/14/2007 19:41:38.614\","), "{log}");
    // The tests run in UTC.
    let table = values("table");
    assert!(table.starts_with("2007-08-14 19:41:38.614 "), "{table}");
    // The header's field stays what the producer wrote.
    let dump = good(&folder, &["dump", "object238-sample1.bin"]);
    assert!(dump.contains("SystemTime = 2007-08-14 15:41:38.614"), "{dump}");
}

#[test]
fn an_empty_file_is_called_empty() {
    let folder = scratch("v1-empty");
    fs::write(folder.join("empty"), []).unwrap();
    let want = (5, String::new(), "error: empty: the file is empty\n".to_owned());
    for args in [
        &["dump", "empty"][..],
        &["dump", "--lenient", "empty"],
        &["dump", "--json", "empty"],
        &["dump", "--as", "v1", "empty"],
        &["v1", "names", "empty"],
        &["v1", "values", "empty"],
    ] {
        assert_eq!(run_in(&folder, args), want, "{args:?}");
    }
}

/// Checks the message for rule R23: of the four definitions of the object at byte 320 one is wrong.
#[test]
fn a_value_outside_its_block_names_its_definition() {
    let folder = scratch("v1-r23");
    let mut bytes = fs::read(testdata("v1/process-thread.bin")).unwrap();
    bytes[384 + 36] = 28; // CounterOffset of the first, whose value has 8 bytes; a counter block has 32
    fs::write(folder.join("block.bin"), &bytes).unwrap();
    let definition = "PERF_COUNTER_DEFINITION 0 at byte 384";
    let (code, _, err) = run_in(&folder, &["dump", "--as", "v1", "block.bin"]);
    assert!(code == 5 && err.contains("R23") && err.contains(definition), "{err}");
    let (code, out, err) = run_in(&folder, &["v1", "values", "--lenient", "block.bin"]);
    assert!(code == 0 && err.contains(definition), "{err}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("PERF_COUNTER_DEFINITION at byte 384: its value is outside"), "{out}");
}

#[test]
fn a_dump_as_json_has_every_field() {
    let folder = testdata("v1");
    let out = good(&folder, &["dump", "--json", "process-thread.bin"]);
    let structures: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text = fs::read_to_string(folder.join("process-thread.txt")).unwrap();
    let fields: usize = structures.iter().map(|s| s["fields"].as_array().unwrap().len()).sum();
    assert_eq!(fields + structures.len(), text.lines().count());
    let object = structures.iter().find(|s| s["structure"] == "PERF_OBJECT_TYPE" && s["index"] == 1).unwrap();
    assert_eq!((&object["at"], &object["depth"]), (&320.into(), &1.into()));
    let field = object["fields"].as_array().unwrap().iter().find(|f| f["name"] == "NumInstances").unwrap();
    assert_eq!((&field["value"], &field["text"], &field["at"]), (&3.into(), &"3".into(), &360.into()));
    let (code, out, _) = run_in(&folder, &["dump", "--json", "--lenient", "wine8_global_as_returned.bin"]);
    let block: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!((code, &block["broken"][0]["rule"]), (0, &"R11".into()));
}

/// Checks the dump of each malformed V1 block against its row of `testdata/v1/malformed.tsv`.
#[test]
fn dump_names_structure_offset_and_rule() {
    let folder = scratch("v1-malformed");
    let rows = fs::read_to_string(testdata("v1/malformed.tsv")).unwrap();
    let mut count = 0;
    for row in rows.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<_> = row.split('\t').collect();
        let (case, rule) = (cells[0], cells[3]);
        let mut bytes = fs::read(testdata("v1").join(cells[1])).unwrap();
        for change in cells[2].split_whitespace() {
            let (place, value) = change.split_once('=').unwrap();
            let value = match (value.strip_prefix("0x"), value.strip_prefix('-')) {
                (Some(hex), _) => u32::from_str_radix(hex, 16).unwrap(),
                (_, Some(below)) => below.parse::<u32>().unwrap().wrapping_neg(),
                _ => value.parse().unwrap(),
            };
            match place {
                "cut" => bytes.truncate(value as usize),
                "append" => bytes.resize(bytes.len() + value as usize, 0),
                at => {
                    let at = usize::from_str_radix(at.trim_start_matches("0x"), 16).unwrap();
                    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
                }
            }
        }
        count += 1;
        if bytes.is_empty() {
            continue; // not called a block at all: see above
        }
        fs::write(folder.join("block.bin"), bytes).unwrap();
        let (code, out, err) = run_in(&folder, &["dump", "--as", "v1", "block.bin"]);
        if rule == "ok" {
            assert_eq!((code, err.as_str()), (0, ""), "{case}");
            continue;
        }
        assert_eq!((code, out.as_str()), (5, ""), "{case}");
        let line = err.lines().next().unwrap();
        assert!(line.starts_with("error: block.bin: not a valid V1 block: PERF_"), "{case}: {line}");
        assert!(line.contains(" at byte "), "{case}: {line}");
        assert!(
            line.ends_with(&format!(", {rule}")) || line.contains(&format!("breaks {rule}: ")),
            "{case}: {line}"
        );
    }
    assert_eq!(count, 73);
}
