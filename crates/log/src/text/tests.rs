//! Tests of text logs of all writers, and of the values that are left of damaged logs.

use std::io::Read;
use std::path::PathBuf;

use perfset_core::clock::SystemTime;
use proptest::prelude::*;

use super::*;

/// Contents of a text log: header, lines with a readable time, and damage.
#[derive(Debug, PartialEq)]
struct Log {
    header: Header,
    lines: Vec<(String, Vec<Option<f64>>)>,
    damages: Vec<String>,
}

fn read_from<R: Read>(mut reader: TextLogReader<R>) -> Log {
    let mut lines = Vec::new();
    while let Some(line) = reader.next_line().unwrap() {
        lines.push((SystemTime::from_100ns(line.time).to_string(), line.values.to_vec()));
    }
    let damages = reader.damages().first().iter().map(ToString::to_string).collect();
    Log { header: reader.header().clone(), lines, damages }
}

fn read(log: &[u8]) -> Log {
    assert!(is_one(log));
    let slow = read_from(TextLogReader::new(Slow(log)).unwrap());
    let fast = read_from(TextLogReader::new(log).unwrap());
    assert_eq!(fast, slow);
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

fn file(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/logs").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn zone(name: &str, minutes: i32) -> Option<Zone> {
    Some(Zone { name: name.into(), minutes })
}

#[test]
fn logs_of_all_writers() {
    use Separator::{Comma, Tab};
    type Lines<'a> = &'a [(&'a str, &'a [Option<f64>])];
    type Case<'a> = (&'a str, Separator, Option<Zone>, &'a [&'a str], Option<&'a str>, Lines<'a>);
    let cases: [Case<'_>; 8] = [
        (
            "perfmon.csv",
            Comma,
            zone("GMT Standard Time", -60),
            &[
                r"\\WEB01\Processor(_Total)\% Processor Time",
                r"\\WEB01\Memory\Available MBytes",
                r"\\WEB01\PhysicalDisk(0 C:)\Avg. Disk sec/Read",
            ],
            None,
            &[
                ("2017-10-29 01:59:43.547", &[None, Some(2048.0), None]),
                (
                    "2017-10-29 01:59:44.562",
                    &[Some(88.35934067458557), Some(2047.0), Some(0.0010274499999999999)],
                ),
                ("2017-10-29 01:00:45.578", &[Some(3.141592653589793e-5), Some(2039.0), Some(0.0)]),
            ],
        ),
        (
            "relog.tsv",
            Tab,
            zone("Pacific Daylight Time", 420),
            &[
                r"\\WEB01\Processor Information(0,_Total)\% Processor Time",
                r"\\WEB01\Network Interface(Intel[R] Ethernet, 2)\Bytes Total/sec",
            ],
            Some("nightly build"),
            &[
                ("2024-07-04 23:00:00.125", &[Some(12.5), Some(1_048_576.0)]),
                ("2024-07-04 23:00:15.125", &[Some(25.25), None]),
            ],
        ),
        (
            "typeperf.txt",
            Comma,
            None,
            &[r"\\WEB01\System\Processor Queue Length", r"\\WEB01\Processor(0)\% Idle Time"],
            None,
            &[
                ("2024-02-29 00:00:00.001", &[Some(5.0), Some(97.265625)]),
                ("2024-02-29 00:00:01.004", &[Some(7.0), Some(-1.0)]),
            ],
        ),
        (
            "typeperf-utf16.txt",
            Comma,
            None,
            &[r"\\BÜRO-7\Prozessor(_Total)\Prozessorzeit (%)"],
            None,
            &[("1999-12-31 23:59:59.999", &[Some(2.375)])],
        ),
        (
            "logman-german.csv",
            Comma,
            zone("Mitteleuropäische Sommerzeit", -120),
            &[
                r"\\BÜRO-7\Arbeitsspeicher\Verfügbare MB",
                r"\\BÜRO-7\Physikalischer Datenträger(_Total)\Zeit (%)",
            ],
            None,
            &[("2021-08-13 14:15:16.170", &[Some(4099.0), Some(0.5)])],
        ),
        (
            "french.csv",
            Comma,
            zone("Paris, Madrid (heure d’été)", -120),
            &["\\\\PORTABLE\\Interface réseau(Wi\u{2011}Fi)\\Total des octets/s"],
            None,
            &[("2021-08-13 14:15:16.170", &[Some(1234.5)])],
        ),
        (
            "esxtop.csv",
            Comma,
            Some(Zone::utc()),
            &[
                r"\\esx01.example.com\Memory\Memory Overcommit (1 Minute Avg)",
                r"\\esx01.example.com\Physical Cpu(_Total)\% Util Time",
                r"\\esx01.example.com\Group Cpu(1:system)\Members",
                r"\\esx01.example.com\Virtual Disk(vm one:scsi0:0)\Average MilliSec/Write",
            ],
            None,
            &[
                ("2018-05-15 02:13:06.000", &[Some(0.0), Some(2.19), Some(131.0), Some(0.53)]),
                ("2018-05-15 02:13:11.000", &[Some(0.0), Some(3.07), Some(131.0), Some(0.59)]),
            ],
        ),
        (
            "bare.csv",
            Comma,
            zone("Eastern Daylight Time", 240),
            &[r"\\SQL01\Memory\Pages/sec", r"\\SQL01\PhysicalDisk(0 D:)\% Disk Time"],
            None,
            &[
                ("2002-09-08 12:35:45.166", &[Some(11.296813511113458), Some(7.0625001143654654)]),
                ("2002-09-08 12:36:00.167", &[None, Some(2.8829087316668804)]),
            ],
        ),
    ];
    for (name, separator, zone, paths, caption, lines) in cases {
        let log = read(&file(name));
        let header = Header {
            separator,
            zone,
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            caption: caption.map(str::to_owned),
        };
        assert_eq!(log.header, header, "{name}");
        let lines: Vec<_> =
            lines.iter().map(|(time, values)| ((*time).to_owned(), values.to_vec())).collect();
        assert_eq!(log.lines, lines, "{name}");
        assert_eq!(log.damages, [""; 0], "{name}");
    }
}

#[test]
fn utc_is_local_time_and_the_minutes() {
    let local = 131_537_159_845_620_000;
    for (minutes, utc) in [(-60, "00:59:44.562"), (0, "01:59:44.562"), (300, "06:59:44.562")] {
        let zone = Zone { name: "GMT Standard Time".into(), minutes };
        let found = SystemTime::from_100ns(zone.to_utc(local)).to_string();
        assert_eq!(found, format!("2017-10-29 {utc}"));
        assert_eq!(zone.from_utc(zone.to_utc(local)), local);
    }
    assert_eq!(Zone { name: String::new(), minutes: i32::MAX }.to_utc(i64::MAX), i64::MAX);
}

#[test]
fn first_fields() {
    for (text, want, damages) in [
        ("(PDH-CSV 4.0) (UTC)(0)", zone("UTC", 0), 0),
        ("(PDH-CSV 4.0) (Romance Standard Time)(-60)", zone("Romance Standard Time", -60), 0),
        ("(PDH-CSV 4.0) (a)(b)(7)", zone("a)(b", 7), 0),
        ("(PDH-CSV 4.0) ()(11)", zone("", 11), 0),
        ("(PDH-CSV 4.0)", None, 0),
        ("(PDH-CSV 4.0) ", None, 0),
        ("(PDH-CSV 4.0) (", None, 1),
        ("(PDH-CSV 4.0) (UTC)", None, 1),
        ("(PDH-CSV 4.0) (UTC)(x)", None, 1),
        ("(PDH-CSV 4.0) (UTC)(99999999999)", None, 1),
    ] {
        let log = read(format!("\"{text}\",\"\\\\H\\A\\B\"\r\n").as_bytes());
        assert_eq!((log.header.zone, log.damages.len()), (want, damages), "{text}: {:?}", log.damages);
        assert_eq!(log.header.paths, [r"\\H\A\B"], "{text}");
    }
}

#[test]
fn text_without_pdh_header_is_rejected() {
    for (name, bytes) in [
        ("nothing", &b""[..]),
        ("empty lines", b"\r\n\n \r\n"),
        ("a plain table", b"\"time\",\"value\"\r\n\"1\",\"2\"\r\n"),
        ("another version", b"\"(PDH-CSV 5.0) (UTC)(0)\"\r\n"),
        ("a header cut short", b"\"(PDH-CSV 4.0"),
        ("a header behind words", b"hello\r\n\"(PDH-CSV 4.0) (UTC)(0)\"\r\n"),
        ("UTF-16 that is none", b"\xFF\xFE\"\0x\0"),
    ] {
        assert!(!is_one(bytes), "{name}");
        assert!(matches!(TextLogReader::new(bytes), Err(TextLogError::NoHeader { .. })), "{name}");
    }
    let error = TextLogReader::new(&b"\r\n\"time\",\"value\"\r\n"[..]).unwrap_err();
    let want =
        "at byte 2: expected \"(PDH-CSV 4.0)\" or \"(PDH-TSV 4.0)\", found \"\\\"time\\\",\\\"value\\\"\"";
    assert_eq!(error.to_string(), want);
}

/// Reads a text log that has a header of three paths, and these lines.
fn three(lines: &str) -> Log {
    read(format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\H\\A\",\"\\\\H\\B\",\"\\\\H\\C\"\n{lines}").as_bytes())
}

#[test]
fn broken_lines() {
    type Values = [Option<f64>; 3];
    let (all, none): (Values, Values) = ([Some(2.0), Some(3.0), Some(5.0)], [None; 3]);
    // The header has 49 bytes, a time with its quotes 25.
    let cases: [(&str, &str, Option<Values>, &[&str]); 25] = [
        ("whole", r#"T,"2","3","5"~"#, Some(all), &[]),
        ("no line end", r#"T,"2","3","5""#, Some(all), &[]),
        ("half a line end", "T,\"2\",\"3\",\"5\"\r", Some(all), &[]),
        ("bare, with a line end", "T,2,3,5~", Some(all), &[]),
        (
            "bare, without",
            "T,2,3,5",
            Some([Some(2.0), Some(3.0), None]),
            &["at byte 79: the file ends in a value: it is left out"],
        ),
        (
            "cut in a value",
            r#"T,"2","3","5"#,
            Some([Some(2.0), Some(3.0), None]),
            &["at byte 83: the file ends in a value: it is left out"],
        ),
        (
            "cut before a value",
            r#"T,"2","3""#,
            Some([Some(2.0), Some(3.0), None]),
            &["at byte 82: the line ends behind 2 of 3 values"],
        ),
        (
            "cut behind a separator",
            r#"T,"2","3","#,
            Some([Some(2.0), Some(3.0), None]),
            &["at byte 83: the file ends in a value: it is left out"],
        ),
        ("cut behind the time", "T", Some(none), &["at byte 74: the line ends behind 0 of 3 values"]),
        (
            "cut in the time",
            r#""01/02/2003 04:05"#,
            None,
            &["at byte 49: the file ends in a time: the line is left out"],
        ),
        (
            "fewer values",
            r#"T,"2","3"~"#,
            Some([Some(2.0), Some(3.0), None]),
            &["at byte 82: the line ends behind 2 of 3 values"],
        ),
        (
            "fewer, the last perhaps cut",
            "T,2,3~",
            Some([Some(2.0), None, None]),
            &["at byte 78: the line ends behind 2 of 3 values"],
        ),
        (
            "more values",
            r#"T,"2","3","5","7","11"~"#,
            Some(all),
            &["at byte 87: more fields than the header has, by 2: they are left out"],
        ),
        (
            "more values, without quotes",
            "T,2,3,5,7~",
            Some(none),
            &["at byte 81: more fields than the header has, by 1: they are left out"],
        ),
        ("an empty one more", r#"T,"2","3","5",~"#, Some(all), &[]),
        (
            "no number",
            r#"T,"2","x","5"~"#,
            Some([Some(2.0), None, Some(5.0)]),
            &["at byte 79: expected a number, found \"x\": it is left out"],
        ),
        (
            "what C writes",
            r#"T,"2","1.#QNAN","5"~"#,
            Some([Some(2.0), None, Some(5.0)]),
            &["at byte 79: expected a number, found \"1.#QNAN\": it is left out"],
        ),
        (
            "infinite",
            r#"T,"2","inf","1e999"~"#,
            Some([Some(2.0), None, None]),
            &[
                "at byte 79: expected a number, found \"inf\": it is left out",
                "at byte 85: expected a number, found \"1e999\": it is left out",
            ],
        ),
        (
            "two in one field",
            r#"T,"2";"3","5"~"#,
            Some(none),
            &[
                "at byte 75: expected a number, found \"2\\\";\\\"3\": it is left out",
                "at byte 86: the line ends behind 2 of 3 values",
            ],
        ),
        (
            "no quote at the end",
            r#"T,"2","3","5~"#,
            Some([Some(2.0), Some(3.0), None]),
            &["at byte 83: a value has no quote at its end: it is left out"],
        ),
        (
            "no time",
            r#""yesterday","2","3","5"~"#,
            None,
            &["at byte 49: expected a time, found \"yesterday\": the line is left out"],
        ),
        (
            "no such day",
            r#""02/30/2003 04:05:06","2","3","5"~"#,
            None,
            &["at byte 49: expected a time, found \"02/30/2003 04:05:06\": the line is left out"],
        ),
        (
            "words where there is a zone",
            "Exiting, please wait...~",
            None,
            &["at byte 49: expected a time, found \"Exiting\": the line is left out"],
        ),
        ("empty lines", "~ ~\n\nT,\"2\",\"3\",\"5\"~~", Some(all), &[]),
        ("blanks", r#"T," 2 ","3",5 ~"#, Some(all), &[]),
    ];
    for (name, text, values, damages) in cases {
        let text = text.replace('T', "\"01/02/2003 04:05:06.007\"").replace('~', "\r\n");
        let log = three(&text);
        let values: Vec<_> = values.into_iter().map(|values| values.to_vec()).collect();
        let times = values.iter().map(|_| "2003-01-02 04:05:06.007".to_owned());
        let lines: Vec<_> = times.zip(values.clone()).collect();
        assert_eq!(
            (log.lines, log.damages.iter().map(String::as_str).collect()),
            (lines, damages.to_vec()),
            "{name}"
        );
    }
}

#[test]
fn times() {
    let line =
        |time: &str| three(&format!("\"{time}\",\"2\",\"3\",\"5\"\r\n")).lines.pop().map(|(time, _)| time);
    for (text, want) in [
        ("05/15/2018 02:13:06", Some("2018-05-15 02:13:06.000")),
        ("05/15/2018 02:13:06.5", Some("2018-05-15 02:13:06.500")),
        ("05/15/2018 02:13:06.123", Some("2018-05-15 02:13:06.123")),
        ("05/15/2018 02:13:06.1234567", Some("2018-05-15 02:13:06.123")),
        (" 05/15/2018 02:13:06 ", Some("2018-05-15 02:13:06.000")),
        ("05/15/12018 02:13:06", Some("12018-05-15 02:13:06.000")),
        ("05/15/2018 02:13:06.", None),
        ("05/15/2018 02:13:06.12345678", None),
        ("05/15/2018 02:13:06.12x", None),
        ("05/15/2018 02:13", None),
        ("05/15/2018", None),
        ("15/05/2018 02:13:06", None),
        ("05-15-2018 02:13:06", None),
        ("05/15/2018 02:13:60", None),
        ("05/15/1599 02:13:06", None),
        ("5/15/2018 02:13:06", None),
        ("", None),
    ] {
        assert_eq!(line(text).as_deref(), want, "{text}");
    }
}

#[test]
fn names_with_quotes() {
    let log =
        read(b"\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\H\\P(say \"\"x\"\")\\A\",\"\\\\H\\P(12\" disk)\\B\"\r\n");
    assert_eq!(log.header.paths, [r#"\\H\P(say "x")\A"#, r#"\\H\P(12" disk)\B"#]);
}

#[test]
fn logs_one_behind_the_other() {
    for (name, mut log, at) in [
        ("narrow", file("esxtop.csv"), ""),
        ("with a mark in the middle", [b"\xEF\xBB\xBF", &file("esxtop.csv")[..]].concat(), ""),
        ("no zone", file("typeperf.txt"), ""),
        ("UTF-16", file("typeperf-utf16.txt"), ""),
        ("another", file("perfmon.csv"), "at byte 384: another log begins: it is left out"),
    ] {
        let one = read(&log);
        let more = if at.is_empty() { log.clone() } else { file("esxtop.csv") };
        let len = log.len();
        log.extend(more);
        let both = read(&log);
        if at.is_empty() {
            let [twice, once] = [&both, &one].map(|log| log.lines.len());
            assert_eq!((twice, both.damages), (2 * once, vec![]), "{name}");
        } else {
            assert_eq!(
                (both.lines, both.damages),
                (one.lines, vec![at.replace("384", &len.to_string())]),
                "{name}"
            );
        }
    }
}

/// Returns `text` as UTF-16 with its byte order mark.
fn wide(text: &[u8], unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = std::str::from_utf8(text).unwrap();
    std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(unit).collect()
}

/// Returns text logs of two lines that differ in every value, in all encodings.
fn small_logs() -> Vec<(&'static str, Vec<u8>)> {
    let header = Header {
        separator: Separator::Comma,
        zone: zone("Mitteleuropäische Zeit", -60),
        paths: vec![r"\\Hä\A".into(), r"\\H😀\B".into(), r"\\H\C".into()],
        caption: None,
    };
    let mut log = TextLogWriter::new(Vec::new(), &header).unwrap();
    for (time, values) in
        [(20_000_000, [1133.5, 4466.25, 7788.125]), (30_000_000, [-2211.75, -5544.5, -8877.625])]
    {
        log.line(time, values.map(Some)).unwrap();
    }
    let narrow = log.get_mut().clone();
    let marked = [b"\xEF\xBB\xBF", &narrow[..]].concat();
    let [le, be] = [u16::to_le_bytes, u16::to_be_bytes].map(|unit| wide(&narrow, unit));
    vec![("narrow", narrow), ("marked", marked), ("UTF-16, least first", le), ("UTF-16, greatest first", be)]
}

#[test]
fn cut_at_every_byte() {
    for (name, log) in small_logs() {
        let whole = read(&log);
        assert_eq!((whole.lines.len(), whole.damages.len()), (2, 0), "{name}: {:?}", whole.damages);
        // Where a line is whole: behind its last quote, its CR and its LF.
        let unit = if name.starts_with("UTF-16") { 2 } else { 1 };
        let low = if name.ends_with("greatest first") { 1 } else { 0 };
        let feeds: Vec<usize> = (0..log.len())
            .filter(|i| log[*i] == b'\n' && (unit == 1 || *i % 2 == low))
            .map(|i| i - low + unit)
            .collect();
        assert_eq!(feeds.len(), 3, "{name}");
        for len in 0..log.len() {
            let cut = &log[..len];
            let Ok(reader) = TextLogReader::new(cut) else {
                assert!(!is_one(cut), "{name}, {len}");
                continue;
            };
            assert!(is_one(cut), "{name}, {len}");
            let got = read_from(reader);
            let is_whole = feeds.iter().zip(0..).any(|(end, line)| {
                let without_feed = len + unit == *end;
                let without_both = len + 2 * unit == *end && line > 0;
                len == *end || without_feed || without_both
            });
            assert_eq!(got.damages.is_empty(), is_whole, "{name}, {len}: {:?}", got.damages);
            let paths = &got.header.paths;
            assert!(whole.header.paths.starts_with(paths), "{name}, {len}: {paths:?}");
            assert!(len < feeds[0] - 2 * unit || paths.len() == 3, "{name}, {len}: {paths:?}");
            let before = feeds.iter().skip(1).filter(|end| **end <= len).count();
            assert!((before..=before + 1).contains(&got.lines.len()), "{name}, {len}");
            for (i, (line, of_whole)) in got.lines.iter().zip(&whole.lines).enumerate() {
                assert_eq!(line.0, of_whole.0, "{name}, {len}");
                let is_value = |(value, of_whole): (&Option<f64>, &Option<f64>)| value == of_whole;
                let is_value_or_none =
                    |pair: (&Option<f64>, &Option<f64>)| pair.0.is_none() || is_value(pair);
                let mut pairs = line.1.iter().zip(&of_whole.1);
                assert!(
                    if i < before { pairs.all(is_value) } else { pairs.all(is_value_or_none) },
                    "{name}, {len}"
                );
            }
        }
    }
}

/// Checks that a flipped bit of a text log loses or changes a value, moves no value to another counter, and is little
/// work.
#[test]
fn every_byte_flipped() {
    for (name, log) in small_logs() {
        let whole = read(&log);
        for at in 0..log.len() {
            let flips = (0..8).map(|bit| log[at] ^ 1 << bit);
            for byte in flips.chain([0, b',', b'"', b'\r', b'\n', b'\t', b'0', 0xFF]) {
                let mut log = log.clone();
                log[at] = byte;
                let Ok(reader) = TextLogReader::new(&log[..]) else { continue };
                let got = read_from(reader);
                assert!(got.lines.len() <= 3 && got.damages.len() <= 10, "{name}, {at}, {byte}: {got:?}");
                for (_, values) in &got.lines {
                    assert_eq!(values.len(), got.header.paths.len());
                    for (i, value) in values.iter().enumerate() {
                        let place =
                            |line: &(String, Vec<Option<f64>>)| line.1.iter().position(|v| v == value);
                        let places: Vec<_> = whole.lines.iter().filter_map(place).collect();
                        let is_shifted = value.is_some() && places.iter().any(|place| *place != i);
                        assert!(!is_shifted, "{name}, {at}, {byte}: {got:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn long_lines_are_left_out() {
    let log = b"\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\H\\A\"\n\
        \"01/02/2003 04:05:06\",\"2\"\n\
        \"01/02/2003 04:05:07\",\"00000000000000000000000000000000000000000003\"\n\
        \"01/02/2003 04:05:08\",\"5\"\n";
    let log = read_from(TextLogReader::with_limit(Slow(log), 60).unwrap());
    let values: Vec<_> = log.lines.iter().map(|(_, values)| values[0]).collect();
    assert_eq!(values, [Some(2.0), Some(5.0)]);
    assert_eq!(log.damages, ["at byte 59: a line is too long: it is left out"]);
    let error = TextLogReader::with_limit(Slow(b"\"(PDH-CSV 4.0) (UTC)(0)\""), 20).unwrap_err();
    assert_eq!(error.to_string(), "at byte 0: the header is longer than 20 bytes");
}

#[test]
fn a_failing_input_is_an_error() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::TimedOut.into())
        }
    }
    let log = &b"\"(PDH-CSV 4.0) (UTC)(0)\"\r\n\"01/02/2003 04:05:06.007\"\r\n"[..];
    let mut reader = TextLogReader::new(log.chain(Failing)).unwrap();
    assert!(reader.next_line().unwrap().is_some());
    assert_eq!(reader.next_line().unwrap_err().to_string(), "cannot read the log from byte 53 on");
    assert!(reader.next_line().unwrap().is_none());
}

/// Checks that reading and writing a line of a text log allocates no memory if an equal line came before.
#[test]
fn a_warm_line_allocates_nothing() {
    let line = "\"01/02/2003 04:05:06.007\",\"2.5\",\" \",\"-5e-3\"\r\n";
    let text =
        format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\H\\A\",\"\\\\H\\B\",\"\\\\H\\C\"\r\n{}", line.repeat(9));
    for log in [text.clone().into_bytes(), wide(text.as_bytes(), u16::to_be_bytes)] {
        let mut reader = TextLogReader::new(&log[..]).unwrap();
        assert!(reader.next_line().unwrap().is_some());
        let taken = allocation_counter::measure(|| while reader.next_line().unwrap().is_some() {});
        assert_eq!((taken.count_total, reader.damages().count()), (0, 0));
    }
    let mut log = TextLogWriter::new(io::sink(), &Header::new(vec![String::new(); 2])).unwrap();
    log.line(3, [Some(2.5), Some(1e9)]).unwrap();
    let taken = allocation_counter::measure(|| log.line(5, [None, Some(0.1)]).unwrap());
    assert_eq!(taken.count_total, 0);
}

#[test]
fn writer_output_matches_exactly() {
    let header = Header {
        separator: Separator::Tab,
        zone: zone("Pacific \"Daylight\" Time", 420),
        paths: ["\\\\H\\P(a\"b\r\nc\td)\\% A", r"\\H\B", r"\\H\C", r"\\H\D"].map(str::to_owned).to_vec(),
        caption: Some("my log".into()),
    };
    let mut log = TextLogWriter::new(Vec::new(), &header).unwrap();
    log.line(131_537_159_845_629_999, [Some(88.35934067458557), Some(f64::NAN), None, Some(f64::INFINITY)])
        .unwrap();
    log.line(0, [Some(u64::MAX)]).unwrap();
    let error = log.line(0, [Some(1.0); 5]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    let want = "\"(PDH-TSV 4.0) (Pacific _Daylight_ Time)(420)\"\t\"\\\\H\\P(a_b__c_d)\\% A\"\t\"\\\\H\\B\"\t\
        \"\\\\H\\C\"\t\"\\\\H\\D\"\t\"my log\"\r\n\
        \"10/29/2017 01:59:44.562\"\t\"88.35934067458557\"\t\" \"\t\" \"\t\" \"\r\n\
        \"01/01/1601 00:00:00.000\"\t\"18446744073709551615\"\t\" \"\t\" \"\t\" \"\r\n";
    assert_eq!(String::from_utf8_lossy(log.get_mut()), want);
    let header = Header { zone: None, paths: vec![], ..Header::new(vec![]) };
    assert_eq!(TextLogWriter::new(Vec::new(), &header).unwrap().get_mut(), b"\"(PDH-CSV 4.0)\"\r\n");
}

fn any_header() -> impl Strategy<Value = Header> {
    let name = proptest::collection::vec(any::<char>(), 0..12).prop_map(String::from_iter);
    let name = name.prop_map(|name| name.replace(|c: char| c == '"' || c.is_control(), "_"));
    let path = name.clone().prop_map(|name| format!("\\\\{name}"));
    let zone = (name.clone(), any::<i32>()).prop_map(|(name, minutes)| Zone { name, minutes });
    let caption = name.prop_map(|name| format!("- {name}"));
    let separator = prop_oneof![Just(Separator::Comma), Just(Separator::Tab)];
    let paths = proptest::collection::vec(path, 0..9);
    (separator, proptest::option::of(zone), paths, proptest::option::of(caption))
        .prop_map(|(separator, zone, paths, caption)| Header { separator, zone, paths, caption })
}

proptest! {
    /// Checks that a written text log is read with each value to its last bit.
    #[test]
    fn written_and_read(
        header in any_header(),
        lines in proptest::collection::vec(
            (0..i64::MAX, proptest::collection::vec(proptest::option::of(any::<u64>()), 9)), 0..5),
    ) {
        let mut log = TextLogWriter::new(Vec::new(), &header).unwrap();
        let lines: Vec<(i64, Vec<Option<f64>>)> = lines
            .into_iter()
            .map(|(time, mut values)| {
                values.truncate(header.paths.len());
                (time.saturating_sub(time % 10_000), values.into_iter().map(|bits| bits.map(f64::from_bits)).collect())
            })
            .collect();
        for (time, values) in &lines {
            log.line(*time, values.iter().copied()).unwrap();
        }
        let log = std::mem::take(log.get_mut());
        prop_assert!(is_one(&log));
        for log in [log.clone(), wide(&log, u16::to_le_bytes)] {
            let mut reader = TextLogReader::new(&log[..]).unwrap();
            prop_assert_eq!(reader.header(), &header);
            for (time, values) in &lines {
                let bits = |value: &Option<f64>| value.filter(|value| value.is_finite()).map(f64::to_bits);
                let line = reader.next_line().unwrap().unwrap();
                prop_assert_eq!(line.time, *time);
                prop_assert_eq!(
                    line.values.iter().map(bits).collect::<Vec<_>>(),
                    values.iter().map(bits).collect::<Vec<_>>()
                );
            }
            prop_assert!(reader.next_line().unwrap().is_none());
            prop_assert!(reader.damages().is_empty(), "{:?}", reader.damages());
        }
    }

    /// Checks that the reader of text logs reads any bytes without a panic, after a header or not.
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300), has_header in any::<bool>()) {
        let header = if has_header { &b"(PDH-CSV 4.0) (UTC)(0),\\a,\\b\n"[..] } else { &[] };
        let log = [header, &bytes].concat();
        if let Ok(reader) = TextLogReader::new(&log[..]) {
            let got = read_from(reader);
            prop_assert!(got.lines.len() <= bytes.len());
        }
    }
}
