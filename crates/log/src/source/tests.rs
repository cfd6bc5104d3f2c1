//! Tests of logs played as a source: a real log compared with an independent calculation, and built logs.

use std::collections::HashMap;
use std::io::Read;
use std::ops::ControlFlow;

use perfset_core::formula::format;
use perfset_core::{CounterType, Mark, Name, NoValue, Sample};
use perfset_engine::NextOutcome;
use perfset_engine::path::{CounterPath, PathQuery};
use proptest::prelude::*;

use std::path::Path;

use super::*;
use crate::blg::building::*;

const LIST: u8 = 0x20;
const SAMPLE: u8 = 0x22;
const SECOND: i64 = 10_000_000;
/// Local time of the first sample in the built test logs, in 100 ns since 1601.
const START: i64 = 130_057_734_178_440_000;
/// Time by which the real log's time zone is behind UTC, in 100 ns.
const BEHIND: i64 = 8 * 3_600 * SECOND;

/// Returns the values of paths for each sample: instance, and value or keyword of the reason for a missing one.
fn played(logs: &mut Logs, paths: &[&str]) -> Vec<Vec<String>> {
    let mut query = PathQuery::open(logs).unwrap();
    for path in paths {
        query.add(logs, &path.parse().unwrap()).unwrap();
    }
    let mut all = Vec::new();
    while query.collect().unwrap() == NextOutcome::Sample {
        let line = |v: perfset_engine::path::PathValue<'_>| {
            let value = match &v.value.value {
                Ok(value) => format!("{:.3}", value.nocap()),
                Err(reason) => reason.keyword().to_owned(),
            };
            format!("{}={value}", v.value.instance)
        };
        all.push(query.values().into_iter().map(line).collect());
    }
    all
}

/// Blocks of a binary log's sample, each as kind and body.
type Blocks = Vec<(u8, Vec<u8>)>;

/// Returns a binary log with these entries of the counter list, with samples at these seconds after the start.
pub(super) fn built(list: &[Vec<u8>], samples: &[(i64, Blocks)]) -> Vec<u8> {
    let mut builder = Builder::new().record(LIST, &list_of(list));
    for (seconds, blocks) in samples {
        let blocks: Vec<(u8, &[u8])> = blocks.iter().map(|(kind, body)| (*kind, &**body)).collect();
        builder = builder.at(START + seconds * SECOND).record(SAMPLE, &sample(&blocks));
    }
    builder.finish()
}

/// Returns the raw values that an independent decoder found in the real log: by path, the values of each sample.
fn table() -> HashMap<String, (u32, Vec<(i64, i64)>)> {
    let mut text = String::new();
    let compressed = testdata("logs/BasicPerfCounters.raw.tsv.gz");
    flate2::read::GzDecoder::new(&*compressed).read_to_string(&mut text).unwrap();
    let mut all: HashMap<String, (u32, Vec<(i64, i64)>)> = HashMap::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let counter_type = u32::from_str_radix(cells[3].trim_start_matches("0x"), 16).unwrap();
        let (_, values) = all.entry(cells[2].to_owned()).or_insert((counter_type, Vec::new()));
        values.push((cells[5].parse().unwrap(), cells[6].parse().unwrap()));
    }
    all
}

/// Returns a value by Microsoft's formulas for three counter types, written without the formulas of this project.
fn by_hand(counter_type: u32, before: (i64, i64), now: (i64, i64)) -> Option<f64> {
    let (first, second) = ((now.0 - before.0) as f64, (now.1 - before.1) as f64);
    match counter_type {
        0x2151_0500 => Some((100.0 * (1.0 - first / second)).max(0.0)),
        0x4002_0500 => Some(if second == 0.0 { 0.0 } else { first / second }),
        0x0055_0500 => Some(first / second),
        _ => None,
    }
}

#[test]
fn a_real_log_agrees_with_an_independent_calculation() {
    let mut logs = Logs::from_bytes(&basic()).unwrap();
    assert_eq!(logs.machine_name(), "GEORGIS3");
    let mut query = PathQuery::open(&mut logs).unwrap();
    for path in [r"\PhysicalDisk(*)\*", r"\Processor(*)\*"] {
        query.add(&mut logs, &path.parse().unwrap()).unwrap();
    }
    let table = table();
    let (mut samples, mut checked) = (0, 0);
    while query.collect().unwrap() == NextOutcome::Sample {
        let values = query.values();
        assert_eq!(values.len(), 10);
        for v in values {
            let (set, counter) = (&v.value.counterset.name, v.value.counter.name.as_deref().unwrap());
            let path = format!(r"\\GEORGIS3\{set}({})\{counter}", v.value.instance);
            let (counter_type, raw) = &table[&path];
            let now = raw[samples];
            assert_eq!(v.value.raw.unwrap().get(), u64::try_from(now.0).unwrap(), "{path}");
            let Some(before) = samples.checked_sub(1).map(|at| raw[at]) else {
                assert_eq!(v.value.value, Err(NoValue::NeedsTwoSamples));
                continue;
            };
            let want = by_hand(*counter_type, before, now).unwrap();
            let got = v.value.value.as_ref().unwrap().nocap();
            assert!((got - want).abs() <= 1e-9 * want.abs(), "{path}, sample {samples}: {got}, not {want}");
            checked += 1;
        }
        samples += 1;
    }
    assert_eq!((samples, checked), (601, 6_000));
    assert!(logs.damages().iter().all(Damages::is_empty));
}

#[test]
fn times_are_utc() {
    let mut logs = Logs::from_bytes(&basic()).unwrap();
    assert_eq!(logs.offset(), BEHIND);
    let mut query = PathQuery::open(&mut logs).unwrap();
    query.add(&mut logs, &r"\Processor(0)\% Processor Time".parse().unwrap()).unwrap();
    query.collect().unwrap();
    let clocks = *query.snapshot().clocks();
    assert_eq!(clocks.time_100ns, START + BEHIND);
    assert_eq!(clocks.system_time.to_string(), "2013-02-20 02:50:17.844");
}

#[test]
fn logged_countersets_are_registered() {
    let logs = Logs::from_bytes(&basic()).unwrap();
    let machine = logs.machine();
    let sets: Vec<_> = machine.countersets().iter().map(|guid| machine.counterset(guid).unwrap()).collect();
    let mut names: Vec<_> = sets.iter().map(|set| set.name.to_string()).collect();
    names.sort();
    assert_eq!(names, ["PhysicalDisk", "Processor"]);
    let processor = sets.iter().find(|set| set.name == "Processor").unwrap();
    let known = perfset_catalogue::ALL.iter().find(|set| set.name == "Processor").unwrap();
    assert_eq!(processor.guid, known.guid);
    let busy = &processor.counters[0];
    assert_eq!(busy.id, known.counters.iter().find(|c| c.name == busy.name).unwrap().id);
    assert_eq!((&*busy.unit, busy.counter_type), ("%", CounterType::PERF_100NSEC_TIMER_INV));
    let instances: Vec<_> =
        machine.instances(&processor.guid).unwrap().iter().map(|i| i.name.to_string()).collect();
    assert_eq!(instances, ["0", "1", "2", "3", "_Total"]);
}

/// Checks one counter for each kind of second value in a PDH raw value: base, each clock, number of items, ticks of
/// an average.
#[test]
fn every_role_of_the_second_value() {
    for (counter_type, base, before, now, want) in [
        (CounterType::PERF_COUNTER_COUNTER, 50, (10, 1_000, 1), (30, 1_100, 1), "10.000"),
        (CounterType::PERF_COUNTER_BULK_COUNT, 50, (10, 1_000, 1), (30, 1_100, 1), "10.000"),
        (CounterType::PERF_COUNTER_TIMER, 50, (10, 1_000, 1), (30, 1_100, 1), "20.000"),
        (CounterType::PERF_100NSEC_TIMER, SECOND, (10, 1_000, 1), (30, 1_100, 1), "20.000"),
        (CounterType::PERF_OBJ_TIME_TIMER, 50, (10, 1_000, 1), (30, 1_100, 1), "20.000"),
        (CounterType::PERF_COUNTER_100NS_QUEUELEN_TYPE, SECOND, (10, 1_000, 1), (60, 1_100, 1), "0.500"),
        (CounterType::PERF_ELAPSED_TIME, 50, (900, 1_000, 1), (900, 1_100, 1), "4.000"),
        (CounterType::PERF_AVERAGE_TIMER, 50, (0, 2, 1), (300, 6, 1), "1.500"),
        (CounterType::PERF_AVERAGE_BULK, 50, (0, 2, 1), (300, 6, 1), "75.000"),
        (CounterType::PERF_RAW_FRACTION, 50, (1, 4, 1), (3, 4, 1), "75.000"),
        (CounterType::PERF_SAMPLE_FRACTION, 50, (1, 4, 1), (3, 8, 1), "50.000"),
        (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 0, (1, 0, 1), (3, 0, 1), "3.000"),
        (CounterType::PERF_COUNTER_RAWCOUNT, 0, (-1, 0, 1), (-1, 0, 1), "4294967295.000"),
        (CounterType::PERF_COUNTER_DELTA, 0, (5, 0, 1), (9, 0, 1), "4.000"),
        (CounterType::PERF_PRECISION_100NS_TIMER, SECOND, (10, 1_000, 1), (30, 1_100, 1), "20.000"),
        (CounterType::PERF_100NSEC_MULTI_TIMER, SECOND, (10, 1_000, 2), (30, 1_100, 2), "10.000"),
        (CounterType::PERF_COUNTER_MULTI_TIMER, 50, (10, 1_000, 2), (30, 1_100, 2), "500.000"),
    ] {
        let block = |(first, second, items)| vec![(1, one(0, first, second, items))];
        let log = built(
            &[entry(0, counter_type, base, r"\\HOST\Thing\Number")],
            &[(0, block(before)), (1, block(now))],
        );
        let mut logs = Logs::from_bytes(&log).unwrap();
        let all = played(&mut logs, &[r"\Thing\Number"]);
        assert_eq!(all[1], [format!("={want}")], "{counter_type}: {all:?}");
    }
}

/// Checks that counters recorded without a value have a reason, and the counters next to them their values.
#[test]
fn unrecorded_counters_have_reasons() {
    let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let list = ["a", "b", "c"].map(|name| entry(0, raw, 0, &format!(r"\\HOST\Thing({name})\Number")));
    let log = built(
        &list,
        &[
            (0, vec![(1, one(0x8000_07D1, 0, 0, 1)), (1, one(0xC000_0BBA, 0, 0, 1)), (1, one(1, 7, 0, 1))]),
            (1, vec![(1, one(0, 5, 0, 1)), (2, several(&[]))]),
        ],
    );
    let mut logs = Logs::from_bytes(&log).unwrap();
    let all = played(&mut logs, &[r"\Thing(*)\Number"]);
    assert_eq!(all[0], ["a=no_instance", "b=failed", "c=7.000"]);
    assert_eq!(all[1], ["a=5.000", "b=failed"], "the sample ends there");
    assert_eq!(logs.damages()[0].count(), 1, "{:?}", logs.damages());
}

/// Checks that an error names the log that it is about, also after the log was opened.
#[cfg(unix)] // elsewhere a file that is open stays
#[test]
fn a_log_that_has_gone() {
    let file = std::env::temp_dir().join(format!("perfset-log-gone-{}.csv", std::process::id()));
    std::fs::write(&file, CSV).unwrap();
    let inputs = vec![Input::Bytes(CSV.as_bytes().into()), Input::File(file.clone())];
    let logs = Logs::from_inputs(inputs).unwrap();
    std::fs::remove_file(&file).unwrap();
    let error = logs.for_machine("HOST").unwrap_err();
    assert_eq!((error.number, error.error.is_io()), (1, true));
    let Err(SourceError::Failed(why)) = logs.clone().open() else { panic!("it is gone") };
    assert!(why.starts_with("cannot read the log: No such file"), "{why}");
}

/// Checks that only damage in the requested samples is reported, though the search for instances reads more of the
/// log.
#[test]
fn only_what_was_played_tells_damage() {
    let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let list = [entry(0, raw, 0, r"\\HOST\Thing\Number"), entry(1, raw, 0, r"\\HOST\Other(*)\Number")];
    let log = built(&list, &[(0, vec![(1, one(0, 5, 0, 1)), (1, one(0, 5, 0, 1))])]);
    let mut logs = Logs::from_bytes(&log).unwrap();
    let found = |logs: &Logs| logs.damages().iter().map(Damages::count).sum::<u64>();
    let machine = logs.within(Window::default()).machine().clone();
    for guid in machine.countersets() {
        let _ = machine.instances(&guid);
    }
    drop(machine);
    assert_eq!(found(&logs), 0);
    assert_eq!(played(&mut logs, &[r"\Thing\Number"]), [["=5.000"]]);
    assert_eq!(found(&logs), 0);
    played(&mut logs, &[r"\Other(*)\Number"]);
    assert_eq!(found(&logs), 1);
}

/// Checks logs whose instances come and go, with equal names, and an instance that the counter list names.
#[test]
fn instances_come_and_go() {
    let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let rate = CounterType::PERF_COUNTER_BULK_COUNT;
    let log = built(
        &[entry(0, raw, 0, r"\\HOST\Thing(b)\Number"), entry(1, rate, SECOND, r"\\HOST\Thing(*)\Rate")],
        &[
            (0, vec![(1, one(0, 5, 0, 1)), (2, several(&[("a", 10, 0), ("b", 20, 0), ("b", 30, 0)]))]),
            (
                1,
                vec![
                    (1, one(0, 6, 0, 1)),
                    (2, several(&[("b", 21, SECOND), ("b", 32, SECOND), ("c", 1, SECOND)])),
                ],
            ),
            (2, vec![(1, one(0, 7, 0, 1)), (2, several(&[("c", 4, 2 * SECOND), ("b", 24, 2 * SECOND)]))]),
        ],
    );
    let mut logs = Logs::from_bytes(&log).unwrap();
    assert_eq!(
        played(&mut logs, &[r"\Thing(*)\Rate"]),
        [
            vec!["b=needs_two_samples", "a=needs_two_samples", "b=needs_two_samples"],
            vec!["b=1.000", "b=2.000", "c=new_instance"],
            vec!["b=3.000", "c=3.000"],
        ]
    );
    assert_eq!(played(&mut logs, &[r"\Thing(b)\Number"]), [["b=5.000"], ["b=6.000"], ["b=7.000"]]);
    let guid = logs.machine().countersets()[0];
    let names: Vec<_> =
        logs.machine().instances(&guid).unwrap().iter().map(|i| format!("{}/{}", i.name, i.id.0)).collect();
    assert_eq!(names, ["b/0", "a/0", "b/1", "c/0"]);
}

/// Checks that a name too long for a row belongs to the same row in every sample.
#[test]
fn long_names_keep_their_rows() {
    let rate = CounterType::PERF_COUNTER_BULK_COUNT;
    let long = "x".repeat(2_000);
    let samples: Vec<_> = (0..4)
        .map(|n| (n, vec![(2, several(&[(&*long, 5 * n, n * SECOND), ("b", n, n * SECOND)]))]))
        .collect();
    let log = built(&[entry(1, rate, SECOND, r"\\HOST\Thing(*)\Rate")], &samples);
    let mut logs = Logs::from_bytes(&log).unwrap();
    let all = played(&mut logs, &[r"\Thing(*)\Rate"]);
    let want = [format!("{}=5.000", "x".repeat(1_023)), "b=1.000".to_owned()];
    assert_eq!(all[1..], [want.clone(), want.clone(), want]);
}

/// Checks that a log of whole objects is read by the rules of V1 blocks, each object with the clocks of its own
/// block.
#[test]
fn objects_of_a_real_machine() {
    let objects = [2, 230];
    let blocks = |sample: u32| {
        objects.map(|index| (5, testdata(&format!("v1/windows-vista/object{index}-sample{sample}.bin"))))
    };
    let list = [(r"\\ZACH-PC\System\*"), (r"\\ZACH-PC\Process(*)\*")]
        .map(|path| entry(0x10, CounterType(0x10), 0, path));
    let log = built(&list, &[(0, blocks(0).to_vec()), (60, blocks(1).to_vec())]);
    let mut logs = Logs::from_bytes(&log).unwrap();
    let mut query = PathQuery::open(&mut logs).unwrap();
    for path in [r"\System\*", r"\Process(*)\*"] {
        query.add(&mut logs, &path.parse().unwrap()).unwrap();
    }
    query.collect().unwrap();
    query.collect().unwrap();
    let got: Vec<_> = query.values();
    // The same blocks without a log around them, object by object.
    let mut want = Vec::new();
    for index in objects {
        let of = |sample| testdata(&format!("v1/windows-vista/object{index}-sample{sample}.bin"));
        let (mut source, _) =
            perfset_engine::v1::Blocks::new(vec![of(0), of(1)], None, perfset_core::visit::Mode::Strict)
                .unwrap();
        let mut query = PathQuery::open(&mut source).unwrap();
        let path = if index == 2 { r"\System\*" } else { r"\Process(*)\*" };
        query.add(&mut source, &path.parse().unwrap()).unwrap();
        query.collect().unwrap();
        query.collect().unwrap();
        for v in query.values() {
            want.push((v.value.instance.to_string(), v.value.counter.name.clone(), v.value.value));
        }
    }
    let got: Vec<_> = got
        .into_iter()
        .map(|v| (v.value.instance.to_string(), v.value.counter.name.clone(), v.value.value))
        .collect();
    assert!(want.len() > 1_000 && want.iter().filter(|(.., value)| value.is_ok()).count() > 1_000);
    assert_eq!(got, want);
}

const CSV: &str = "\"(PDH-CSV 4.0) (X)(60)\",\"\\\\HOST\\Thing(a)\\Number\",\"\\\\HOST\\Thing(a#1)\\Number\",\
                   \"\\\\HOST\\Other\\Rate\"\r\n\
                   \"11/05/2026 10:00:00.000\",\"1.5\",\" \",\"-3\"\r\n\
                   \"11/05/2026 10:00:01.000\",\"2\",\"4\",\"5\"\r\n";

#[test]
fn text_is_formatted_already() {
    let mut logs = Logs::from_bytes(CSV.as_bytes()).unwrap();
    let mut query = PathQuery::open(&mut logs).unwrap();
    query.add(&mut logs, &r"\Thing(*)\Number".parse().unwrap()).unwrap();
    query.collect().unwrap();
    assert_eq!(query.snapshot().clocks().system_time.to_string(), "2026-11-05 11:00:00.000");
    let values = query.values();
    let shown: Vec<_> = values
        .iter()
        .map(|v| (v.value.instance.to_string(), v.value.value.as_ref().map(|v| v.raw), v.value.mark))
        .collect();
    assert_eq!(
        shown,
        [("a".to_owned(), Ok(1.5), Some(Mark::Formatted)), ("a#1".to_owned(), Err(&NoValue::NotGiven), None)]
    );
    assert_eq!(
        played(&mut logs, &[r"\Thing(a#1)\Number", r"\Other\Rate"]),
        [["a#1=not_given", "=-3.000"], ["a#1=4.000", "=5.000"]]
    );
}

#[test]
fn windows_of_time() {
    let mut logs = Logs::from_bytes(CSV.as_bytes()).unwrap();
    let first = 134_383_500_000_000_000; // 2026-11-05 11:00:00 UTC
    let count = |window: Window| played(&mut logs.within(window), &[r"\Other\Rate"]).len();
    for (begin, end, want) in [
        (None, None, 2),
        (Some(0), Some(i64::MAX), 2),
        (Some(first), Some(first), 1),
        (Some(first + 1), None, 1),
        (None, Some(first - 1), 0),
    ] {
        assert_eq!(count(Window { begin, end }), want, "{begin:?} {end:?}");
    }
    assert_eq!(played(&mut logs, &[r"\Other\Rate"]).len(), 2, "the source itself is as it was");
}

/// Checks that rates are computed from one played sample to the next, if only some are played.
#[test]
fn some_samples_only() {
    let rate = CounterType::PERF_COUNTER_BULK_COUNT;
    let samples: Vec<_> = (0..7).map(|n| (n, vec![(1, one(0, n * n, n * SECOND, 1))])).collect();
    let log = built(&[entry(0, rate, SECOND, r"\\HOST\Thing\A")], &samples);
    let logs = Logs::from_bytes(&log).unwrap();
    let third = Pick::Nth(std::num::NonZeroU64::new(3).unwrap());
    for (pick, want) in [
        (third, &["needs_two_samples", "3.000", "9.000"][..]),
        (Pick::Every(3 * SECOND), &["needs_two_samples", "3.000", "9.000"]),
        (Pick::Every(2 * SECOND + SECOND / 2), &["needs_two_samples", "2.000", "7.000"]),
        (Pick::Every(1), &["needs_two_samples", "1.000", "3.000", "5.000", "7.000", "9.000", "11.000"]),
    ] {
        let got = played(&mut logs.picking(pick), &[r"\Thing\A"]).concat();
        let want: Vec<_> = want.iter().map(|value| format!("={value}")).collect();
        assert_eq!(got, want, "{pick:?}");
    }
}

/// Checks that logs of the same time are merged side by side, and logs that follow one another become one.
#[test]
fn several_logs_as_one() {
    let rate = CounterType::PERF_COUNTER_BULK_COUNT;
    let log = |counter: &str, from: i64, offset: i64| {
        let samples: Vec<_> =
            (0..3).map(|n| (from + n, vec![(1, one(0, 10 * n * n, n * SECOND, 1))])).collect();
        let mut builder = Builder::new()
            .record(LIST, &list_of(&[entry(0, rate, SECOND, &format!(r"\\HOST\Thing\{counter}"))]));
        for (seconds, blocks) in samples {
            let blocks: Vec<(u8, &[u8])> = blocks.iter().map(|(kind, body)| (*kind, &**body)).collect();
            builder = builder.at(START + seconds * SECOND + offset).record(SAMPLE, &sample(&blocks));
        }
        Input::Bytes(builder.finish().into())
    };
    let both = [r"\Thing\A", r"\Thing\B"];
    let mut beside = Logs::from_inputs(vec![log("A", 0, 0), log("B", 0, SECOND / 3)]).unwrap();
    assert_eq!(played(&mut beside, &both), [["=needs_two_samples"; 2], ["=10.000"; 2], ["=30.000"; 2]]);
    let mut behind = Logs::from_inputs(vec![log("A", 100, 0), log("A", 0, 0)]).unwrap();
    let one_after_the_other = played(&mut behind, &both[..1]);
    assert_eq!(one_after_the_other[..3], [["=needs_two_samples"], ["=10.000"], ["=30.000"]]);
    assert_eq!(one_after_the_other.len(), 6);
    let mut apart = Logs::from_inputs(vec![log("A", 0, 0), log("B", 100, 0)]).unwrap();
    let all = played(&mut apart, &both);
    assert_eq!(
        (all.len(), all[2][0].as_str(), all[2][1].as_str()),
        (6, "=30.000", "=unavailable"),
        "{all:?}"
    );
    // The first log says what both have.
    let mut twice = Logs::from_inputs(vec![log("A", 0, 0), log("A", 0, 0)]).unwrap();
    assert_eq!(played(&mut twice, &both[..1]).len(), 3);
}

/// Checks that logs with different intervals are merged by their nearest samples.
#[test]
fn slow_and_fast_logs_as_one() {
    let csv = |counter: &str, seconds: &[i64]| {
        let mut text = format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\H\\Thing\\{counter}\"\n");
        for second in seconds {
            text += &format!("\"11/05/2026 10:{:02}:{:02}.000\",\"{second}\"\n", second / 60, second % 60);
        }
        Input::Bytes(text.into_bytes().into())
    };
    let fast: Vec<i64> = (0..70).collect();
    let mut logs = Logs::from_inputs(vec![csv("Slow", &[0, 60]), csv("Fast", &fast)]).unwrap();
    let all = played(&mut logs, &[r"\Thing\Slow", r"\Thing\Fast"]);
    assert_eq!((all.len(), &all[60]), (70, &vec!["=60.000".to_owned(), "=60.000".to_owned()]));
    assert_eq!(all[30], ["=unavailable", "=30.000"]);
    // A first step that is longer than the others says nothing.
    let gap: Vec<i64> = [0].into_iter().chain(60..70).collect();
    let mut logs = Logs::from_inputs(vec![csv("Gap", &gap), csv("Fast", &fast)]).unwrap();
    assert_eq!(played(&mut logs, &[r"\Thing\Gap", r"\Thing\Fast"])[61], ["=61.000", "=61.000"]);
    let every = |step: i64| -> Vec<String> {
        let logs = Logs::from_inputs(vec![csv("Fast", &fast[..7])]).unwrap();
        let pick = Pick::Every(step * SECOND / 10);
        played(&mut logs.picking(pick), &[r"\Thing\Fast"]).concat()
    };
    assert_eq!(every(15), ["=0.000", "=1.000", "=3.000", "=4.000", "=6.000"]);
    assert_eq!(every(20), ["=0.000", "=2.000", "=4.000", "=6.000"]);
}

/// Checks that names in a log's counter paths are the same in capitals, and that a text that is no path belongs to no
/// machine.
#[test]
fn names_in_capitals_and_words_that_are_no_path() {
    let csv = "\"(PDH-CSV 4.0) (UTC)(0)\",\"Comment\",\"\\\\H\\Memory\\Pages/sec\",\"\\\\h\\memory\\pages/SEC\",\
               \"\\\\H\\memory\\Other\"\n\"11/05/2026 10:00:00.000\",\"x\",\"1\",\"2\",\"3\"\n";
    let mut logs = Logs::from_bytes(csv.as_bytes()).unwrap();
    assert_eq!(logs.machines().len(), 1);
    assert_eq!(played(&mut logs, &[r"\Memory\*"]), [["=1.000", "=3.000"]]);
    assert_eq!(logs.for_machine("h").unwrap().machine_name(), "H");
}

#[test]
fn machines_apart() {
    let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let log = built(
        &[entry(0, raw, 0, r"\\ONE\Thing\Number"), entry(0, raw, 0, r"\\TWO\Thing\Number")],
        &[(0, vec![(1, one(0, 1, 0, 1)), (1, one(0, 2, 0, 1))])],
    );
    let mut logs = Logs::from_bytes(&log).unwrap();
    assert_eq!(logs.machines().iter().map(String::as_str).collect::<Vec<_>>(), ["ONE", "TWO"]);
    assert_eq!(played(&mut logs, &[r"\Thing\Number"]), [["=1.000"]]);
    let mut other = logs.for_machine("two").unwrap();
    assert_eq!(played(&mut other, &[r"\Thing\Number"]), [["=2.000"]]);
}

/// Checks a counter list in the middle of a log, as in a log that was appended to.
#[test]
fn another_list_begins() {
    let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let (a, b) = (entry(0, raw, 0, r"\\HOST\Thing\A"), entry(0, raw, 0, r"\\HOST\Thing\B"));
    let value = |n| one(0, n, 0, 1);
    let log = Builder::new()
        .record(LIST, &list_of(std::slice::from_ref(&a)))
        .at(START)
        .record(SAMPLE, &sample(&[(1, &value(1))]))
        .record(LIST, &list_of(&[b, a]))
        .at(START + SECOND)
        .record(SAMPLE, &sample(&[(1, &value(2)), (1, &value(3))]))
        .finish();
    let mut logs = Logs::from_bytes(&log).unwrap();
    assert_eq!(played(&mut logs, &[r"\Thing\A"]), [["=1.000"], ["=3.000"]]);
}

/// Checks that a series of a log has the samples from which a query computes its values.
#[test]
fn series_and_steps_agree() {
    let mut logs = Logs::from_bytes(&basic()).unwrap();
    for (path, instance) in [
        (r"\PhysicalDisk(0 C:)\Avg. Disk Bytes/Read", "0 C:"),
        (r"\PhysicalDisk(0 C:)\Avg. Disk Queue Length", "0 C:"),
        (r"\Processor(_Total)\% Processor Time", "_Total"),
    ] {
        let parsed: CounterPath = path.parse().unwrap();
        let machine = logs.machine().clone();
        let mut sets = machine.countersets().into_iter().map(|guid| machine.counterset(&guid).unwrap());
        let set = sets.find(|set| set.name == parsed.counterset).unwrap();
        let counter = set.counters.iter().find(|c| c.name.as_deref() == Some(&parsed.counter)).unwrap().id;
        let units: Vec<u8> = instance.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
        let identity = Identity {
            counterset: set.guid,
            instance: Name::until_nul(&units),
            instance_id: perfset_core::InstanceId(0),
            birth: None,
        };
        let mut got = Vec::new();
        let mut before: Option<Sample<'_>> = None;
        let mut each = |samples: &[RecordedSample<'_>]| {
            for sample in samples.iter().map(|past| past.sample.as_ref().unwrap()) {
                let value = format(before.as_ref(), sample).map(|value| format!("{:.3}", value.nocap()));
                got.push(format!(
                    "{instance}={}",
                    value.unwrap_or_else(|reason| reason.keyword().to_owned())
                ));
                before = Some(Sample { identity, ..*sample });
            }
            ControlFlow::Continue(())
        };
        assert_eq!(logs.series(counter, &identity, Window::default(), &mut each), Ok(SourceKind::Log));
        let want: Vec<String> = played(&mut logs, &[path]).concat();
        assert_eq!((got.len(), &got), (601, &want), "{path}");
        let mut batches = 0;
        let mut stop = |_: &[RecordedSample<'_>]| {
            batches += 1;
            ControlFlow::Break(())
        };
        logs.series(counter, &identity, Window::default(), &mut stop).unwrap();
        assert_eq!(batches, 1);
    }
}

/// Sends requests of every kind to a log with any contents, each of which must return.
fn ask_everything(bytes: &[u8]) {
    let Ok(mut logs) = Logs::from_bytes(bytes) else { return };
    let machine = logs.machine().clone();
    let mut query = PathQuery::open(&mut logs).unwrap();
    for guid in machine.countersets() {
        let set = machine.counterset(&guid).unwrap();
        let _ = machine.instances(&guid);
        let instance = (set.instance_type == perfset_core::InstanceType::Multiple).then(|| "*".to_owned());
        let path = CounterPath { machine: None, counterset: guid.to_string(), instance, counter: "*".into() };
        let _ = query.add(&mut logs, &path);
    }
    while let Ok(NextOutcome::Sample) = query.collect() {
        let _ = query.values();
    }
}

/// Returns a small binary log with every kind of list entry, with an object or without.
fn small(object: Option<Vec<u8>>) -> Vec<u8> {
    let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let blocks = |n: i64| {
        let mut blocks = vec![(1, one(0, n, 0, 1)), (2, several(&[("a", n, 1), ("b", 2, n)]))];
        blocks.extend(object.clone().map(|object| (5, object)));
        blocks
    };
    built(
        &[
            entry(0, raw, 0, r"\\HOST\Thing(x/y#2)\Number"),
            entry(1, CounterType::PERF_COUNTER_BULK_COUNT, 50, r"\\HOST\Thing(*)\Rate"),
            entry(0x10, CounterType(0x10), 0, r"\\HOST\System\*"),
        ],
        &[(0, blocks(1)), (1, blocks(2)), (2, blocks(3))],
    )
}

/// Checks that the fuzzing corpus has a log of every kind of entry. `UPDATE_SNAPSHOTS=1` writes it.
#[test]
fn the_corpus_has_a_log_of_every_kind() {
    let log = small(Some(testdata("v1/windows-vista/object2-sample0.bin")));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/log_source/every-kind");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, &log).unwrap();
    }
    assert!(std::fs::read(&file).unwrap_or_default() == log, "UPDATE_SNAPSHOTS=1 cargo test writes it");
}

#[test]
fn every_byte_changed_and_every_cut() {
    let object = testdata("v1/windows-vista/object2-sample0.bin");
    for (log, step) in [(small(None), 1), (small(Some(object)), 211)] {
        ask_everything(&log);
        let used = log.len() - log.iter().rev().take_while(|byte| **byte == 0xFF).count();
        for at in (BUFFER..used).step_by(step) {
            let mut changed = log.clone();
            changed[at] ^= 0xFF;
            ask_everything(&changed);
            ask_everything(&log[..at]);
        }
    }
    for end in 0..CSV.len() {
        ask_everything(&CSV.as_bytes()[..end]);
    }
}

proptest! {
    #[test]
    fn any_numbers_and_names(
        firsts in proptest::collection::vec((any::<i64>(), any::<i64>(), any::<u32>()), 1..6),
        counter_type in any::<u32>(), time_base in any::<i64>(),
        names in proptest::collection::vec("[a-c]{0,2}", 0..5),
    ) {
        let samples: Vec<_> = (0..).zip(&firsts).map(|(n, (first, second, status))| {
            let items: Vec<_> = names.iter().map(|name| (name.as_str(), *first, *second)).collect();
            (n, vec![(1, one(*status & 1, *first, *second, *status)), (2, several(&items))])
        }).collect();
        let counter_type = CounterType(counter_type);
        ask_everything(&built(
            &[
                entry(0, counter_type, time_base, r"\\HOST\Thing(a)\One"),
                entry(1, counter_type, time_base, r"\\HOST\Thing(*)\Many"),
            ],
            &samples,
        ));
    }
}

/// Checks that a log of many columns costs as much per column as one of few: visited rows, allocations and memory.
#[test]
fn columns_cost_the_same_however_many_there_are() {
    /// Maximum memory in bytes for each column of a log, which is 100 MB for 100,000 columns; how full the tables are
    /// is the same.
    const MOST: u64 = 1_000;
    const COLUMNS: u64 = 6_250;
    let cost = |columns: u64, counters: u64, samples: u64, pattern: &str| {
        let path =
            |n: u64| format!(r"\\H\Group Cpu({}:vm-of-somebody)\% Used {}", n / counters, n % counters);
        let mut log = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
        log.extend((0..columns).map(|n| format!(",\"{}\"", path(n))));
        for second in 0..samples {
            log.push_str(&format!("\r\n\"11/05/2026 10:00:{second:02}.000\""));
            log.extend((0..columns).map(|n| format!(",\"{n}\"")));
        }
        table::LOOKED_AT.set(0);
        let mut values = Vec::new();
        let taken = allocation_counter::measure(|| {
            let mut logs = Logs::from_bytes(log.as_bytes()).unwrap();
            values = played(&mut logs, &[pattern]);
        });
        assert_eq!(values.len() as u64, samples);
        (table::LOOKED_AT.get(), taken.count_total, taken.bytes_max)
    };
    for counters in [1, 25] {
        for pattern in [r"\Group Cpu(5:vm-of-somebody)\% Used 0", r"\Group Cpu(*)\% Used 0"] {
            let [small, large] = [COLUMNS / 2, COLUMNS].map(|columns| cost(columns, counters, 2, pattern));
            let twice = |small: u64| small * 2 + small / 10 + 500;
            let what = format!("{pattern}, {counters} counters: {small:?}, of twice as many {large:?}");
            assert!(
                large.0 <= twice(small.0) && large.1 <= twice(small.1) && large.2 <= twice(small.2),
                "{what}"
            );
            if !pattern.contains('*') {
                assert!(large.2 <= COLUMNS * MOST, "{what}");
                let longer = cost(COLUMNS, counters, 4, pattern);
                let more = format!("{what}, of twice as long {longer:?}");
                assert!(
                    longer.1 <= large.1 + 100 && longer.2 <= large.2 + large.2 / 10 + 60_000 * 2,
                    "{more}"
                );
            }
        }
    }
}
