//! Tests of the reader of record logs.

use std::collections::BTreeMap;
use std::io::{self, Read};

use perfset_core::clock::SystemTime;
use perfset_core::{Mark, NoValue};
use proptest::prelude::*;

use super::*;

/// Contents of a record log: samples with a readable time and the values by path, and the damage.
#[derive(Clone, Debug, Default, PartialEq)]
struct Contents {
    samples: Vec<(String, BTreeMap<String, Option<f64>>)>,
    damages: Vec<String>,
}

fn contents<R: Read>(mut reader: RecordLogReader<R>) -> Contents {
    let mut samples = Vec::new();
    while let Some(sample) = reader.next_sample().unwrap() {
        let time = SystemTime::from_100ns(sample.time).to_string();
        let (values, has_record) = (sample.values.to_vec(), sample.has_record.to_vec());
        assert_eq!(values.len(), has_record.len());
        let there = reader.paths().iter().zip(values).zip(has_record).filter(|(_, has_record)| *has_record);
        samples.push((time, there.map(|((path, value), _)| (path.to_string(), value)).collect()));
    }
    Contents { samples, damages: reader.damages().first().iter().map(ToString::to_string).collect() }
}

fn read(log: &[u8]) -> Result<Contents, String> {
    let slow = RecordLogReader::new(Slow(log)).map(contents).map_err(|error| error.to_string());
    let fast = RecordLogReader::new(log).map(contents).map_err(|error| error.to_string());
    assert_eq!(fast, slow);
    assert!(fast.is_err() || is_one(log));
    fast
}

/// Reader that returns its bytes one at a time.
#[derive(Debug)]
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(1);
        self.0.read(&mut buffer[..len])
    }
}

const HEADER: &str =
    "time,path,counterset,instance,instance_id,counter,value,status,raw,base,type,unit,mark,missing\n";

/// CSV lines of two samples in a record log. Fields that no record needs are left out, except in one line.
const CSV: &str = r#"2026-11-21T21:04:30.894Z,\Memory\Pages/sec,Memory,,,Pages/sec,2.5,ok,7,,X,/s,,
2026-11-21T21:04:30.894Z,"\Processor(0,1)\% Time",Processor,"0,1",1,% Time,10.073002736378612,ok,,,X,%,,
2026-11-21T21:04:30.894Z,\Process V2(a)\Priority,Process V2,a,1,Priority,8,ok,8,,X,,,
2026-11-21T21:04:30.894Z,\Process V2(a#1)\Priority,Process V2,a,2,Priority,,denied,,,X,,,
2026-11-21T21:04:31.894Z,\Memory\Pages/sec,Memory,,,Pages/sec,0,ok,7,,PERF_COUNTER_COUNTER,/s,,
2026-11-21T21:04:31.894Z,"\Shop(=""x""
y)\Stock",Shop,"'=""x""
y",5,Stock,-3,ok,,,X,,,
"#;

fn csv() -> String {
    format!("{HEADER}{CSV}")
}

fn json() -> String {
    let record = |second: u32, path: &str, names: [&str; 3], value: &str| {
        let [counterset, instance, counter] = names;
        format!(
            r#"{{"time":"2026-11-21T21:04:{second}.894Z","path":"{path}","counterset":"{counterset}",
            "instance":"{instance}","counter":"{counter}","value":{value},"status":"ok","raw":7}}"#
        )
        .replace('\n', "")
    };
    let process = ["Process V2", "a", "Priority"];
    let left_out = record(30, r"\\Process V2(*)\\Priority", ["Process V2", "*", "Priority"], "null");
    let lines = [
        record(30, r"\\Memory\\Pages/sec", ["Memory", "", "Pages/sec"], "2.5"),
        record(30, r"\\Processor(0,1)\\% Time", ["Processor", "0,1", "% Time"], "10.073002736378612"),
        record(30, r"\\Process V2(a)\\Priority", process, "8"),
        record(30, r"\\Process V2(a#1)\\Priority", process, "null"),
        left_out.replace(r#""raw":7"#, r#""instances":3,"of":9,"reason":"x""#),
        record(31, r"\\Memory\\Pages/sec", ["Memory", "", "Pages/sec"], "0"),
        record(31, r#"\\Shop(=\"x\"\ny)\\Stock"#, ["Shop", r#"=\"x\"\ny"#, "Stock"], "-3"),
    ];
    lines.map(|line| line + "\n").concat()
}

fn expected() -> Contents {
    let first = [
        (r"\Memory\Pages/sec", Some(2.5)),
        (r"\Process V2(a)\Priority", Some(8.0)),
        (r"\Process V2(a#1)\Priority", None),
        (r"\Processor(0,1)\% Time", Some(10.073_002_736_378_612)),
    ];
    let second = [(r"\Memory\Pages/sec", Some(0.0)), ("\\Shop(=\"x\"\ny)\\Stock", Some(-3.0))];
    let sample = |time: &str, values: &[(&str, Option<f64>)]| {
        (time.to_owned(), values.iter().map(|(path, value)| ((*path).to_owned(), *value)).collect())
    };
    Contents {
        samples: vec![sample("2026-11-21 21:04:30.894", &first), sample("2026-11-21 21:04:31.894", &second)],
        damages: vec![],
    }
}

#[test]
fn both_formats_have_the_same_contents() {
    assert_eq!(read(csv().as_bytes()), Ok(expected()));
    assert_eq!(read(json().as_bytes()), Ok(expected()));
}

#[test]
fn other_tools_may_have_changed_the_file() {
    for text in [csv(), json()] {
        let with_mark = [raw::BYTE_ORDER_MARK, text.as_bytes()].concat();
        assert_eq!(read(&with_mark), Ok(expected()), "byte order mark");
    }
    let returns = json().replace('\n', "\r\n");
    assert_eq!(read(returns.as_bytes()), Ok(expected()), "carriage returns");
    let blank_lines = json().replace('\n', "\n\n");
    assert_eq!(read(blank_lines.as_bytes()), Ok(expected()), "blank lines");
    let twice = format!("{}{}", csv(), csv());
    let both = [expected().samples, expected().samples].concat();
    assert_eq!(read(twice.as_bytes()).unwrap().samples, both, "two runs in one file");
    assert_eq!(read(twice.as_bytes()).unwrap().damages, [""; 0]);
}

#[test]
fn columns_are_found_by_their_names() {
    let text = "time,path,counterset,more,counter,instance,value\n\
        2026-11-21T21:04:30.8Z,\\A(b)\\C,A,1,C,b,4\n";
    let want = (r"\A(b)\C".to_owned(), Some(4.0));
    assert_eq!(read(text.as_bytes()).unwrap().samples[0].1.iter().next().unwrap(), (&want.0, &want.1));
    // A value at the end of the file might go on.
    let cut = read(text.trim_end().as_bytes()).unwrap();
    assert_eq!((cut.samples.len(), cut.damages.len()), (0, 1));
    for (header, want) in [
        ("time,path,counterset,instance,counter\n", "at byte 0: the header has no field \"value\""),
        ("time,path,counterset,\"\n", "at byte 0: expected the header of CSV, or a JSON object with a time"),
        ("times,path\n", "at byte 0: expected the header of CSV, or a JSON object with a time"),
        ("", "at byte 0: expected the header of CSV, or a JSON object with a time"),
        ("{\"tim\":1}", "at byte 0: expected the header of CSV, or a JSON object with a time"),
    ] {
        assert_eq!(read(header.as_bytes()), Err(want.to_owned()), "{header:?}");
    }
}

#[test]
fn damaged_lines_are_left_out_alone() {
    let good = "2026-11-21T21:04:30.894Z,\\A(b)\\C,A,b,1,C,4,ok,,,X,,,\n";
    for (line, want) in [
        ("x", "it has 1 of 14 fields"),
        ("\"a\"b,c", "it is no CSV in UTF-8"),
        ("a\"b\",c", "it is no CSV in UTF-8"),
        ("2026-11-21,\\A(b)\\C,A,b,1,C,4,ok,,,X,,,", "it has no valid time"),
        ("2026-13-21T21:04:30.894Z,\\A(b)\\C,A,b,1,C,4,ok,,,X,,,", "it has no valid time"),
        ("2026-11-21T21:04:30.894Z,\\A(b)\\C,A,b,1,C,4x,ok,,,X,,,", "its value is no number"),
        ("2026-11-21T21:04:30.894Z,\\A(c)\\C,A,b,1,C,4,ok,,,X,,,", "its names do not match its path"),
        ("2026-11-21T21:04:30.894Z,\\A(b#x)\\C,A,b,1,C,4,ok,,,X,,,", "its names do not match its path"),
        ("2026-11-21T21:04:30.894Z,\\A\\C,A,b,1,C,4,ok,,,X,,,", "its names do not match its path"),
    ] {
        let got = read(format!("{HEADER}{good}{line}\n{good}").as_bytes()).unwrap();
        let at = HEADER.len() + good.len();
        assert_eq!(got.damages, [format!("at byte {at}: line left out: {want}")], "{line}");
        assert_eq!(got.samples.len(), 1, "{line}");
    }
    let other = good.replace(",4,", ",5,");
    let got = read(format!("{HEADER}{good}{other}{good}").as_bytes()).unwrap();
    assert_eq!(got.samples[0].1.get(r"\A(b)\C"), Some(&Some(4.0)), "the first value counts");
    assert_eq!(got.damages.len(), 1, "{got:?}");
    let got = read(format!("{}{{\"time\":1}}\n{}", json(), json()).as_bytes()).unwrap();
    assert_eq!((got.samples.len(), got.damages.len()), (4, 1), "{got:?}");
    assert!(got.damages[0].contains("line left out: invalid type"), "{got:?}");
}

/// Checks that an unmatched quote in a CSV record log costs its own line only, whether the file or the longest record
/// ends first.
#[test]
fn an_open_quote_takes_its_line_only() {
    let line = |second: u32, names: [&str; 2]| {
        let [path, instance] = names;
        format!("2026-11-21T21:04:{second}.894Z,{path},A,{instance},1,C,{second},ok,,,X,,,\n")
    };
    let plain = |second| line(second, [r"\A(b)\C", "b"]);
    let joined = line(20, ["\"\\A(x\ny)\\C\"", "\"x\ny\""]);
    let wrong = plain(13).replace(",b,", ",b\",");
    for behind in [String::new(), plain(30).repeat(50)] {
        let text = [HEADER, &plain(12), &wrong, &plain(14), &wrong, &plain(15), &joined, &plain(16), &behind]
            .concat();
        for limit in [100, 10_000] {
            let got = contents(RecordLogReader::with_limits(text.as_bytes(), limit).unwrap());
            let seconds: Vec<_> = got
                .samples
                .iter()
                .flat_map(|(_, values)| values.values())
                .map(|value| value.unwrap())
                .collect();
            let more: &[f64] = if behind.is_empty() { &[] } else { &[30.0] };
            assert_eq!(seconds, [&[12.0, 14.0, 15.0, 20.0, 16.0][..], more].concat(), "{limit}: {got:?}");
            let first = HEADER.len() + plain(12).len();
            assert_eq!(got.damages.len(), 2, "{got:?}");
            let want = format!("at byte {first}: {} bytes left out: ", wrong.len());
            assert!(got.damages[0].starts_with(&want), "{want}: {got:?}");
        }
    }
}

#[test]
fn an_open_quote_does_not_take_the_rest() {
    let good = "2026-11-21T21:04:30.894Z,\\A(b)\\C,A,b,1,C,4,ok,,,X,,,\n";
    let text = format!("{HEADER}\"{}{}", "x,\n".repeat(300), good.repeat(30));
    let reader = RecordLogReader::with_limits(text.as_bytes(), 1_000).unwrap();
    let got = contents(reader);
    assert_eq!(got.samples.len(), 1, "{got:?}");
    assert_eq!(got.damages.len(), 300, "each line by itself");
    let first = format!("at byte {}: 4 bytes left out: a record is too long", HEADER.len());
    assert_eq!(got.damages[0], first);
    let long = format!("{HEADER}{}\n{good}", "x".repeat(1_500));
    let got = contents(RecordLogReader::with_limits(long.as_bytes(), 1_000).unwrap());
    let all = format!("at byte {}: 1501 bytes left out: a record is too long", HEADER.len());
    assert_eq!((got.samples.len(), got.damages), (1, vec![all]));
}

/// Value of a record with its mark, or the reason for which it has no value.
type Outcome = Result<(f64, Mark), NoValue>;

/// Returns all values of a record log, by path.
fn outcomes(log: &str) -> Vec<(String, Outcome)> {
    let mut reader = RecordLogReader::new(log.as_bytes()).unwrap();
    let mut all = Vec::new();
    while let Some(sample) = reader.next_sample().unwrap() {
        let (values, notes) = (sample.values.to_vec(), sample.notes.clone());
        let there = sample.has_record.to_vec();
        for (at, path) in reader.paths().iter().enumerate().filter(|(at, _)| there[*at]) {
            let outcome = match (values[at], notes.get(&at)) {
                (Some(value), note) => {
                    Ok((value, note.map_or(Mark::Formatted, |mark| *mark.as_ref().unwrap())))
                }
                (None, note) => Err(note.map_or(NoValue::NotGiven, |reason| reason.clone().unwrap_err())),
            };
            all.push((path.to_string(), outcome));
        }
    }
    assert!(reader.damages().is_empty(), "{:?}", reader.damages());
    all
}

/// Returns two record logs, in CSV and JSON, of records with time, path, value, status, mark and missing.
fn with_remarks(records: &[(u32, &str, &str, &str, &str, &str)]) -> [String; 2] {
    let names = |instance: &str| instance.split('#').next().unwrap().to_owned();
    let csv = records.iter().map(|(second, instance, value, status, mark, missing)| {
        format!(
            "2026-11-21T21:04:{second}.000Z,\\A({instance})\\C,A,{},1,C,{value},{status},,,X,,{mark},{missing}\n",
            names(instance)
        )
    });
    let json = records.iter().map(|(second, instance, value, status, mark, missing)| {
        let or_null = |text: &str| if text.is_empty() { "null".to_owned() } else { text.to_owned() };
        let mark = if mark.is_empty() { "null".to_owned() } else { format!("\"{mark}\"") };
        format!(
            "{{\"time\":\"2026-11-21T21:04:{second}.000Z\",\"path\":\"\\\\A({instance})\\\\C\",\"counterset\":\"A\",\
             \"instance\":\"{}\",\"counter\":\"C\",\"value\":{},\"status\":\"{status}\",\"mark\":{mark},\
             \"missing\":{}}}\n",
            names(instance),
            or_null(value),
            or_null(missing)
        )
    });
    [HEADER.to_owned() + &csv.collect::<String>(), json.collect()]
}

#[test]
fn reasons_and_marks_are_read() {
    let partial = |missing| Mark::Partial(std::num::NonZeroU32::new(missing).unwrap());
    let unknown = "the log does not contain the reason";
    for (value, status, mark, missing, want) in [
        ("5", "ok", "", "", Ok((5.0, Mark::Formatted))),
        ("5", "ok", "formatted", "", Ok((5.0, Mark::Formatted))),
        ("5", "ok", "partial", "12", Ok((5.0, partial(12)))),
        ("5", "ok", "partial", "", Ok((5.0, partial(1)))),
        ("5", "ok", "partial", "5000000000", Ok((5.0, partial(u32::MAX)))),
        ("5", "ok", "held", "", Ok((5.0, Mark::Held))),
        ("5", "ok", "capped", "", Ok((5.0, Mark::Capped))),
        ("5", "ok", "stale", "", Ok((5.0, Mark::Stale(std::time::Duration::ZERO)))),
        ("5", "ok", "of-a-later-version", "", Ok((5.0, Mark::Formatted))),
        ("", "needs_two_samples", "", "", Err(NoValue::NeedsTwoSamples)),
        ("", "new_instance", "", "", Err(NoValue::NewInstance)),
        ("", "unavailable", "", "", Err(NoValue::Unavailable(unknown.into()))),
        ("", "denied", "", "", Err(NoValue::Denied(unknown.into()))),
        ("", "late", "", "", Err(NoValue::Late)),
        ("", "not_given", "", "", Err(NoValue::NotGiven)),
        ("", "of_a_later_version", "", "", Err(NoValue::NotGiven)),
        ("", "", "", "", Err(NoValue::NotGiven)),
    ] {
        for log in with_remarks(&[(10, "b", value, status, mark, missing)]) {
            assert_eq!(outcomes(&log), [(r"\A(b)\C".to_owned(), want.clone())], "{log}");
        }
    }
    // Each keyword of a reason without numbers is kept; others become texts.
    for status in ["not_displayable", "missing_base", "restarted", "time_went_back", "replaced", "failed"] {
        let [log, _] = with_remarks(&[(10, "b", "", status, "", "")]);
        assert_eq!(outcomes(&log)[0].1.as_ref().unwrap_err().keyword(), status);
    }
    for status in ["negative_value", "wrapped", "type_changed", "status"] {
        let [log, _] = with_remarks(&[(10, "b", "", status, "", "")]);
        assert_eq!(outcomes(&log)[0].1.as_ref().unwrap_err().keyword(), "failed", "{status}");
    }
    let reason = "time,path,counterset,instance,counter,value,status,reason\n\
        2026-11-21T21:04:30.8Z,\\A(b)\\C,A,b,C,,denied,denied: needs root\n";
    assert_eq!(outcomes(reason)[0].1, Err(NoValue::Denied("needs root".into())));
}

/// Checks that a record of a pattern that matched no instance adds no instance to the log, and its sample stays. A
/// remark is not kept for the next sample.
#[test]
fn lines_without_an_instance_are_no_instances() {
    for log in with_remarks(&[
        (10, "zzz*", "", "no_instance", "", ""),
        (10, "b", "", "late", "", ""),
        (11, "b", "6", "ok", "partial", "2"),
        (11, "b#1", "7", "ok", "", ""),
        (12, "b", "", "no_instance", "", ""),
        (13, "b", "8", "ok", "", ""),
    ]) {
        let got = read(log.as_bytes()).unwrap();
        let counts: Vec<_> = got.samples.iter().map(|(_, values)| values.len()).collect();
        assert_eq!((counts, got.damages), (vec![1, 2, 0, 1], vec![]), "{log}");
        let all = outcomes(&log);
        let partial = Mark::Partial(2.try_into().unwrap());
        let of = |path: &str, outcome| (path.to_owned(), outcome);
        let want = [
            of(r"\A(b)\C", Err(NoValue::Late)),
            of(r"\A(b)\C", Ok((6.0, partial))),
            of(r"\A(b#1)\C", Ok((7.0, Mark::Formatted))),
            of(r"\A(b)\C", Ok((8.0, Mark::Formatted))),
        ];
        assert_eq!(all, want, "{log}");
    }
}

#[test]
fn wide_output_is_named() {
    let want = "this is output of --wide, which cannot be read back; write it without --wide";
    for text in [
        "time,counterset,instance,instance_id,% User Time,status,mark,missing\n",
        r#"{"time":"2026-11-21T21:04:30.894Z","counterset":"A","instance":"b","values":{}}"#,
        r#"{ "time": "2026-11-21T21:04:30.894Z", "counterset": "A", "instance": "b", "values": {}}"#,
    ] {
        assert_eq!(read(text.as_bytes()), Err(want.to_owned()), "{text}");
        let error = crate::Log::open(text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), want, "{text}");
        assert!(!is_one(text.as_bytes()), "{text}");
    }
}

#[test]
fn json_may_have_blanks() {
    let blanks = json().replace("{\"time\":", "{ \t\"time\" :  ").replace("\",\"", "\", \"");
    assert_ne!(blanks, json());
    assert_eq!(read(blanks.as_bytes()), Ok(expected()));
    assert!(matches!(crate::Log::open(blanks.as_bytes()), Ok(crate::Log::Records(_))));
}

/// Checks that twice as many samples of a record log with twice as many series take twice the work, also if the
/// series are known.
#[test]
fn many_series_that_come_and_go_are_linear() {
    let work = |samples: usize| {
        let line = |at: usize| {
            let (minute, second) = (at / 60, at % 60);
            format!(
                "2026-11-21T21:{minute:02}:{second:02}.000Z,\\A(b{at})\\C,A,b{at},1,C,{at},ok,,,X,,partial,3\n"
            )
        };
        let log = [HEADER.to_owned(), (0..samples).map(line).collect()].concat();
        reader::LOOKED_AT.set(0);
        let mut first = RecordLogReader::new(log.as_bytes()).unwrap();
        while first.next_sample().unwrap().is_some() {}
        assert_eq!(first.paths().len(), samples);
        let mut second = RecordLogReader::new(log.as_bytes()).unwrap();
        second.limit_to(std::sync::Arc::clone(first.series()));
        // As the player does it.
        let mut values = SampleRecords::default();
        while second.next_sample().unwrap().is_some() {
            second.take_values(&mut values);
            assert_eq!(values.has_record.iter().filter(|has_record| **has_record).count(), 1);
            assert_eq!((values.values.iter().flatten().count(), values.notes.len()), (1, 1));
        }
        reader::LOOKED_AT.get()
    };
    let [few, many] = [1_000, 2_000].map(work);
    assert!(few >= 1_000 && many <= few * 2 + 100, "{few} {many}");
}

#[test]
fn values_are_numbers() {
    for (text, want) in
        [("NaN", None), ("inf", None), ("-inf", None), ("1e400", None), ("", None), ("-0", Some(-0.0))]
    {
        let line = format!("{HEADER}2026-11-21T21:04:30.894Z,\\A\\C,A,,,C,{text},ok,,,X,,,\n");
        let got = read(line.as_bytes()).unwrap();
        assert_eq!(got.samples[0].1.get(r"\A\C"), Some(&want), "{text}");
        assert_eq!(got.damages, [""; 0], "{text}");
    }
}

#[test]
fn a_log_that_has_grown_keeps_its_positions() {
    let text = csv();
    let mut first = RecordLogReader::new(text.as_bytes()).unwrap();
    while first.next_sample().unwrap().is_some() {}
    let series = std::sync::Arc::clone(first.series());
    let more = "2026-11-21T21:04:32.894Z,\\New\\C,New,,,C,1,ok,,,X,,,\n\
        2026-11-21T21:04:32.894Z,\\Memory\\Pages/sec,Memory,,,Pages/sec,9,ok,,,X,,,\n";
    let grown = format!("{text}{more}");
    let mut second = RecordLogReader::new(grown.as_bytes()).unwrap();
    second.limit_to(std::sync::Arc::clone(&series));
    let mut last = Vec::new();
    while let Some(sample) = second.next_sample().unwrap() {
        assert_eq!(sample.values.len(), series.paths.len());
        last = sample.values.to_vec();
    }
    assert_eq!(second.paths(), series.paths);
    assert_eq!(last[0], Some(9.0));
    let what = "\\New\\C was not in the log when it was opened: its value is left out";
    assert!(second.damages().first()[0].to_string().ends_with(what), "{:?}", second.damages());
}

/// Checks that a record log cut anywhere has only values of the whole log: half a number is no number.
#[test]
fn every_prefix_has_only_values_of_the_log() {
    let whole = expected();
    let all: BTreeMap<_, _> = whole.samples.iter().map(|(time, values)| (time, values)).collect();
    for text in [csv(), json()] {
        for end in 0..text.len() {
            let Ok(got) = read(&text.as_bytes()[..end]) else { continue };
            for (time, values) in &got.samples {
                for (path, value) in values {
                    assert_eq!(all[time].get(path), Some(value), "{end}: {time} {path}");
                }
            }
            assert!(got.damages.len() <= 3, "each line of a cut record: {end}: {got:?}");
        }
    }
}

#[test]
fn every_changed_byte_is_read_or_reported() {
    for text in [csv(), json()] {
        for at in 0..text.len() {
            for change in [1, 0x20, 0x80, 0xFF] {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= change;
                let Ok(reader) = RecordLogReader::new(&bytes[..]) else { continue };
                let got = contents(reader);
                assert!(got.samples.len() <= 7, "{at}: {got:?}");
                for damage in &got.damages {
                    let offset = damage.strip_prefix("at byte ").unwrap().split(':').next().unwrap();
                    assert!(offset.parse::<usize>().unwrap() < bytes.len(), "{at}: {damage}");
                }
            }
        }
    }
}

/// Returns a text as a CSV cell, as `docs/output.md` describes it.
fn cell(text: &str) -> String {
    let is_guarded = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guard = if is_guarded { "'" } else { "" };
    match is_guarded || text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{guard}{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Record of a test: names of counterset, instance and counter, and the value.
type AnyRecord = (String, String, String, Option<f64>);

fn written(samples: &[Vec<AnyRecord>], is_csv: bool) -> String {
    let mut text = if is_csv { HEADER.to_owned() } else { String::new() };
    for (second, sample) in samples.iter().enumerate() {
        for (set, instance, counter, value) in sample {
            let brackets = if instance.is_empty() { String::new() } else { format!("({instance})") };
            let path = format!("\\{set}{brackets}\\{counter}");
            let time = format!("2026-11-21T21:04:{second:02}.000Z");
            text.push_str(&if is_csv {
                let value = value.map(|value| value.to_string()).unwrap_or_default();
                let [path, set, instance, counter] = [&path, set, instance, counter].map(|name| cell(name));
                format!("{time},{path},{set},{instance},1,{counter},{value},ok,,,X,,,\n")
            } else {
                let record = serde_json::json!({
                    "path": path, "counterset": set, "instance": instance, "counter": counter, "value": value
                });
                format!("{{\"time\":\"{time}\",{}\n", record.to_string().split_at(1).1)
            });
        }
    }
    text
}

fn any_record() -> impl Strategy<Value = AnyRecord> {
    let name = || {
        let c = prop_oneof![
            any::<char>(),
            proptest::sample::select(vec!['"', ',', '\n', '\r', '\\', '(', ')', '#', '=', '\'', '-', '1'])
        ];
        proptest::collection::vec(c, 1..8).prop_map(String::from_iter)
    };
    let value = proptest::option::of(any::<f64>().prop_filter("a number", |value| value.is_finite()));
    (name(), prop_oneof![Just(String::new()), name()], name(), value)
}

proptest! {
    /// Checks that records of a log are read under the names that were written, each value to its last bit.
    #[test]
    fn written_and_read(samples in proptest::collection::vec(proptest::collection::vec(any_record(), 1..6), 0..5)) {
        for is_csv in [true, false] {
            let text = written(&samples, is_csv);
            if text.is_empty() {
                continue;
            }
            let got = read(text.as_bytes()).unwrap();
            // The same names twice in a sample are a contradiction, which is tested above.
            prop_assert_eq!(got.samples.len(), samples.len());
            for ((_, values), sample) in got.samples.iter().zip(&samples) {
                for (set, instance, counter, value) in sample {
                    let brackets = if instance.is_empty() { String::new() } else { format!("({instance})") };
                    let path = format!("\\{set}{brackets}\\{counter}");
                    let known = values.get(&path);
                    prop_assert!(known.is_some(), "{}: {:?}", path, got);
                    let is_same = known.unwrap().map(f64::to_bits) == value.map(f64::to_bits);
                    prop_assert!(is_same || !got.damages.is_empty(), "{}", path);
                }
            }
        }
    }

    /// Checks that the reader of record logs reads any bytes without a panic, after a header or not.
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300), start in 0..3) {
        let start = [HEADER, "{\"time\":\"", ""][start as usize];
        let log = [start.as_bytes(), &bytes].concat();
        if let Ok(reader) = RecordLogReader::new(&log[..]) {
            let got = contents(reader);
            prop_assert!(got.samples.len() <= bytes.len());
        }
    }
}
