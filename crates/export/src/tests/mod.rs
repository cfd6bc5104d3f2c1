//! Tests of the text of scrapes.

mod checker;
mod hostile;
mod machines;
mod node;
mod stepped;
mod waiting;

use perfset_catalogue::{
    self, linux_process, process, process_v2, processor_information, tcpv4, tcpv6, thread,
};
use perfset_core::{
    Aggregate, Attributes, Counter, CounterId, CounterType, Counterset, InstanceType, NoValue, Owner,
};
use perfset_engine::path::BindError;
use perfset_engine::testing::Scripted;
use perfset_engine::{Catalogue, SourceError};
use std::collections::HashSet;
use std::slice;
use std::sync::Arc;

use self::checker::{Read, read};
use self::machines::{counter, machine, scripted, set};
use crate::{ExportError, ExportOptions, Exporter, ExpositionFormat, Profile};

type T = CounterType;

/// Scrapes an exporter, and reads the text of both formats.
fn scraped(exporter: &mut Exporter) -> Read {
    let mut text = Vec::new();
    exporter.scrape(ExpositionFormat::Prometheus, &mut text).unwrap();
    read(&text, ExpositionFormat::Prometheus)
        .unwrap_or_else(|why| panic!("{why}\n{}", String::from_utf8_lossy(&text)))
}

fn open(scripts: &[Scripted], paths: &[&str], options: ExportOptions) -> Result<Exporter, ExportError> {
    let paths: Vec<_> = paths.iter().map(|path| path.parse().unwrap()).collect();
    let exporter = Exporter::open(machine(scripts), &paths, options)?;
    fn sendable<S: Send>(exporter: S) -> S {
        exporter
    }
    Ok(sendable(exporter))
}

fn opened(scripts: &[Scripted], paths: &[&str]) -> Exporter {
    open(scripts, paths, ExportOptions::default()).unwrap()
}

/// Checks that OpenMetrics has the created time of counts whose source reports it, and of no other count.
#[test]
fn created() {
    let counters = vec![
        counter(2, "Bees/sec", T::PERF_COUNTER_BULK_COUNT),
        counter(7, "Honey", T::PERF_COUNTER_LARGE_RAWCOUNT),
    ];
    let script = scripted(set(0, "Hive", counters));
    let since = u64::try_from(perfset_core::clock::UNIX_EPOCH_100NS).unwrap()
        + 1_700_000_000 * 10_000_000
        + 5_000_000;
    script.with(|script| {
        script.rows = vec![("a", 11, vec![Ok(2), Ok(3)]), ("b", 12, vec![Ok(4), Ok(5)])];
        script.counts = vec![(12, 0, since)];
    });
    let mut exporter = opened(slice::from_ref(&script), &[r"\Hive(*)\*"]);
    let mut scrape = |format| {
        let mut text = Vec::new();
        exporter.scrape(format, &mut text).unwrap();
        read(&text, format).unwrap();
        let text = String::from_utf8(text).unwrap();
        text.lines().filter(|line| line.contains("_created")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(scrape(ExpositionFormat::Prometheus), [""; 0]);
    assert_eq!(
        scrape(ExpositionFormat::OpenMetrics),
        [r#"perf_hive_bees_created{instance_name="b"} 1700000000.5"#]
    );
}

/// Checks that the number of instances that a total lacks is a metric, because a scrape has no marks.
#[test]
fn instances_that_a_total_lacks_are_counted() {
    let counters = vec![counter(2, "Honey", T::PERF_COUNTER_LARGE_RAWCOUNT)];
    let counters = counters.into_iter().map(|counter| counter.aggregate(Aggregate::Total)).collect();
    let mut set = set(0, "Hive", counters);
    set.instance_type = InstanceType::MultiAggregate;
    let script = scripted(set);
    let mut exporter = opened(slice::from_ref(&script), &[r"\Hive(*)\Honey"]);
    let mut missing = |honey: [Result<u64, NoValue>; 3]| {
        let rows = ["a", "b", "c"].into_iter().zip(1..).zip(honey);
        script.with(|script| script.rows = rows.map(|((name, id), honey)| (name, id, vec![honey])).collect());
        let read = scraped(&mut exporter);
        let missing = read.value("perf_exporter_instances_missing", &[("counterset", "Hive")]);
        (missing.unwrap().to_owned(), read.of("perf_hive_honey").len())
    };
    let refused = || Err(NoValue::Failed("refused".into()));
    assert_eq!(missing([Ok(2), Ok(3), Ok(5)]), ("0".to_owned(), 3));
    assert_eq!(missing([Ok(2), refused(), refused()]), ("2".to_owned(), 1));
}

#[test]
fn both_formats_to_the_letter() {
    let counters = vec![
        counter(2, "Bees/sec", T::PERF_COUNTER_BULK_COUNT).help("Bees that \"came\". Of all kinds."),
        counter(3, "Honey KBytes", T::PERF_COUNTER_LARGE_RAWCOUNT).unit("KiBy"),
        counter(5, "% Flight Time", T::PERF_100NSEC_TIMER),
        counter(7, "Bees", T::PERF_COUNTER_LARGE_RAWCOUNT),
    ];
    let script = scripted(set(0, "Hive", counters));
    script.with(|script| {
        script.rows = vec![("a\"b", 11, vec![Ok(2), Ok(3), Ok(123_456_789), Err(NoValue::NotGiven)])];
    });
    let mut exporter = opened(slice::from_ref(&script), &[r"\Hive(*)\*"]);
    let (mut plain, mut open) = (Vec::new(), Vec::new());
    exporter.scrape(ExpositionFormat::Prometheus, &mut plain).unwrap();
    script.with(|script| script.rows[0].2[3] = Ok(13));
    exporter.scrape(ExpositionFormat::OpenMetrics, &mut open).unwrap();
    let upto = |text: Vec<u8>, end: &str| {
        let text = String::from_utf8(text).unwrap();
        let (before, own) = text.split_once(end).unwrap();
        (before.to_owned(), own.lines().count())
    };
    let (plain, own) = upto(plain, "# HELP perf_exporter_");
    assert_eq!(own, 15);
    assert_eq!(
        plain,
        r#"# HELP perf_hive_bees_total \\Hive(*)\\Bees/sec: Bees that "came".
# TYPE perf_hive_bees_total counter
perf_hive_bees_total{instance_name="a\"b"} 2
# HELP perf_hive_honey_bytes \\Hive(*)\\Honey KBytes
# TYPE perf_hive_honey_bytes gauge
perf_hive_honey_bytes{instance_name="a\"b"} 3072
# HELP perf_hive_flight_seconds_total \\Hive(*)\\% Flight Time
# TYPE perf_hive_flight_seconds_total counter
perf_hive_flight_seconds_total{instance_name="a\"b"} 12.3456789
"#
    );
    let (open, own) = upto(open, "# HELP perf_exporter_build");
    assert_eq!(own, 17);
    assert_eq!(
        open,
        r#"# TYPE perf_hive_bees_total unknown
# HELP perf_hive_bees_total \\Hive(*)\\Bees/sec: Bees that \"came\".
perf_hive_bees_total{instance_name="a\"b"} 2
# TYPE perf_hive_honey_bytes gauge
# UNIT perf_hive_honey_bytes bytes
# HELP perf_hive_honey_bytes \\Hive(*)\\Honey KBytes
perf_hive_honey_bytes{instance_name="a\"b"} 3072
# TYPE perf_hive_flight_seconds counter
# UNIT perf_hive_flight_seconds seconds
# HELP perf_hive_flight_seconds \\Hive(*)\\% Flight Time
perf_hive_flight_seconds_total{instance_name="a\"b"} 12.3456789
# TYPE perf_hive_bees gauge
# HELP perf_hive_bees \\Hive(*)\\Bees
perf_hive_bees{instance_name="a\"b"} 13
"#
    );
}

/// Checks exported values of counter types whose metric needs more than one raw value.
#[test]
fn values() {
    let with_base = |id, name, code| counter(id, name, code).base(CounterId(id + 1));
    let hidden = |id, code| counter(id, "", code).hidden();
    let counters = vec![
        with_base(2, "Avg. sec/Call", T::PERF_AVERAGE_TIMER),
        hidden(3, T::PERF_AVERAGE_BASE),
        with_base(4, "% Full", T::PERF_LARGE_RAW_FRACTION),
        hidden(5, T::PERF_LARGE_RAW_BASE),
        counter(6, "Elapsed Time", T::PERF_ELAPSED_TIME),
        counter(7, "Avg. Queue Length", T::PERF_COUNTER_LARGE_QUEUELEN_TYPE),
        counter(8, "% Lane Time", T::PERF_COUNTER_MULTI_TIMER_INV).multi(CounterId(9)),
        hidden(9, T::PERF_COUNTER_LARGE_RAWCOUNT),
        counter(10, "% Lap Time", T::PERF_OBJ_TIME_TIMER).clock(CounterId(11), CounterId(12)),
        hidden(11, T::PERF_COUNTER_LARGE_RAWCOUNT),
        hidden(12, T::PERF_COUNTER_LARGE_RAWCOUNT),
        counter(13, "Lap Elapsed Time", T::PERF_ELAPSED_TIME).clock(CounterId(11), CounterId(12)),
        counter(14, "Real", T::PERF_DOUBLE_RAW),
        counter(15, "Flags", T::PERF_COUNTER_RAWCOUNT_HEX),
    ];
    let script = scripted(set(0, "Set", counters));
    let began = u64::try_from(perfset_core::clock::UNIX_EPOCH_100NS).unwrap() - 5 * 10_000_000 / 2;
    let values = vec![
        3_000_000_007,
        5,
        1,
        8,
        began,
        2_000_000_000,
        4_000_000_000,
        17,
        30,
        900,
        4,
        800,
        2.5_f64.to_bits(),
        19,
    ];
    let row = |values: &[u64]| vec![("a", 1, values.iter().map(|value| Ok(*value)).collect())];
    script.with(|script| script.rows = row(&values));
    let mut exporter = opened(slice::from_ref(&script), &[r"\Set(*)\*"]);
    let say = |read: &Read, name: &str| {
        read.value(&format!("perf_set_{name}"), &[("instance_name", "a")]).map(str::to_owned)
    };
    let first = scraped(&mut exporter); // at 1970-01-01
    for (name, want) in [
        ("avg_call_seconds_total", Some("3.000000007")),
        ("avg_call_seconds_base_total", Some("5")),
        ("full_ratio", Some("0.125")),
        ("start_time_seconds", None), // before 1970
        ("queue_seconds_total", Some("2")),
        ("lane_idle_seconds_total", Some("4")),
        ("lane_units", Some("17")),
        ("lap_seconds_total", Some("7.5")),
        ("lap_start_time_seconds", Some("-25")), // 100 ticks of a quarter of a second ago
        ("real", Some("2.5")),
        ("flags", None), // except for its full name
    ] {
        assert_eq!(say(&first, name).as_deref(), want, "{name}");
    }
    let mut changed = values.clone();
    changed[4] = began + 5 * 10_000_000; // 2.5 s after, by the calendar
    (changed[3], changed[10]) = (0, 0); // nothing to divide by
    script.with(|script| script.rows = row(&changed));
    let second = scraped(&mut exporter);
    assert_eq!(say(&second, "start_time_seconds"), None, "it begins later");
    scraped(&mut exporter);
    for _ in 0..2 {
        let later = scraped(&mut exporter);
        assert_eq!(say(&later, "start_time_seconds").as_deref(), Some("2.5"), "the same at each scrape");
        for name in ["full_ratio", "lap_seconds_total", "lap_start_time_seconds"] {
            assert_eq!(say(&later, name), None, "{name}");
        }
    }
    script.with(|script| script.rows = row(&[19])); // the one that is asked for
    let mut flags = opened(&[script], &[r"\Set(*)\Flags"]);
    assert_eq!(say(&scraped(&mut flags), "flags").as_deref(), Some("19"));
}

#[test]
fn missing_value_has_no_line() {
    let counters = || {
        vec![counter(2, "A/sec", T::PERF_COUNTER_BULK_COUNT), counter(3, "B", T::PERF_COUNTER_LARGE_RAWCOUNT)]
    };
    let (good, bad) = (scripted(set(0, "Good", counters())), scripted(set(1, "Bad", counters())));
    good.with(|script| {
        script.rows =
            vec![("a", 1, vec![Ok(5), Err(NoValue::Late)]), ("b", 2, vec![Err(NoValue::Late), Ok(0)])]
    });
    bad.with(|script| script.rows = vec![("a", 1, vec![Ok(7), Ok(7)])]);
    let mut exporter = opened(&[good.clone(), bad.clone()], &[r"\Good(*)\*", r"\Bad(*)\*"]);
    let success = |read: &Read, set| {
        read.value("perf_exporter_collector_success", &[("counterset", set)]).unwrap().to_owned()
    };
    let all = scraped(&mut exporter);
    assert_eq!(all.of("perf_good_a_total"), [("instance_name=a".to_owned(), "5")]);
    assert_eq!(all.of("perf_good_b"), [("instance_name=b".to_owned(), "0")], "0 is a value");
    assert_eq!(all.of("perf_bad_b").len(), 1);
    bad.with(|script| script.failure = Some(SourceError::Failed("broken".into())));
    good.with(|script| script.rows[1].2[1] = Err(NoValue::Late));
    for _ in 0..2 {
        let some = scraped(&mut exporter);
        assert_eq!((success(&some, "Good"), success(&some, "Bad")), ("1".into(), "0".into()));
        assert!(some.of("perf_bad_b").is_empty() && !some.types.contains_key("perf_bad_b"));
        assert!(!some.types.contains_key("perf_good_b"), "a family without a value has no head");
        assert_eq!(some.of("perf_good_a_total").len(), 1);
    }
    bad.with(|script| (script.failure, script.panics) = (None, true));
    assert_eq!(success(&scraped(&mut exporter), "Bad"), "0");
    bad.with(|script| (script.panics, script.rows) = (false, Vec::new()));
    let none = scraped(&mut exporter);
    assert_eq!(success(&none, "Bad"), "1", "to have no instances is no failure");
    assert!(none.of("perf_bad_b").is_empty());
    bad.with(|script| script.rows = vec![("a", 1, vec![Ok(7), Ok(11)])]);
    assert_eq!(scraped(&mut exporter).of("perf_bad_b"), [("instance_name=a".to_owned(), "11")]);
}

#[test]
fn totals_are_left_out() {
    let script = scripted(set(0, "Set", vec![counter(2, "A", T::PERF_COUNTER_LARGE_RAWCOUNT)]));
    script.with(|script| {
        script.rows = ["0,0", "0,_Total", "_Total", "Total"]
            .into_iter()
            .zip(1..)
            .map(|(name, id)| (name, id, vec![Ok(1)]))
            .collect();
    });
    let names = |paths: &[&str], options: ExportOptions| {
        let read = scraped(&mut open(slice::from_ref(&script), paths, options).unwrap());
        read.of("perf_set_a")
            .into_iter()
            .map(|(label, _)| label.replace("instance_name=", ""))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&[r"\Set(*)\A"], ExportOptions::default()), ["0,0", "Total"]);
    let totals = || ExportOptions { totals: true, ..ExportOptions::default() };
    assert_eq!(names(&[r"\Set(*)\A"], totals()), ["0,0", "0,_Total", "_Total", "Total"]);
    assert_eq!(names(&[r"\Set(_Total)\A"], ExportOptions::default()), ["_Total"], "one that is named");
    assert_eq!(names(&[r"\Set(_Total)\A", r"\Set(0*)\A"], ExportOptions::default()), ["0,0", "_Total"]);
    assert_eq!(names(&[r"\Set({0*,T*})\A"], ExportOptions::default()), ["0,0", "Total"]);
    assert_eq!(names(&[r"\Set(!0,0)\A"], ExportOptions::default()), ["Total"]);
    assert_eq!(
        names(&[r"\Set(*)\A", r"\Set(*)\*", r"\Set(0,0)\A"], ExportOptions::default()),
        ["0,0", "Total"],
        "each once"
    );
}

/// Checks that a path exports only its own counters and instances, even if other paths export more of the counterset.
#[test]
fn paths_of_one_counterset() {
    let counters = vec![
        counter(2, "A", T::PERF_COUNTER_LARGE_RAWCOUNT),
        counter(3, "B", T::PERF_COUNTER_LARGE_RAWCOUNT),
    ];
    let script = scripted(set(0, "Set", counters));
    script.with(|script| {
        script.rows =
            vec![("x", 1, vec![Ok(2), Ok(3)]), ("y", 2, vec![Ok(5), Ok(7)]), ("x", 3, vec![Ok(11), Ok(13)])]
    });
    let mut exporter = opened(&[script], &[r"\Set(y)\A", r"\Set(x#1)\B"]);
    let read = scraped(&mut exporter);
    assert_eq!(read.of("perf_set_a"), [("instance_name=y".to_owned(), "5")]);
    assert_eq!(read.of("perf_set_b"), [("instance_name=x".to_owned(), "13")]);
}

#[test]
fn names_of_windows_exporter() {
    let cpu = scripted(processor_information::COUNTERSET.clone());
    // % DPC Time, % Idle Time, Processor Frequency, % Processor Performance and its base
    cpu.with(|script| script.rows = vec![("0,1", 1, [20_000_000, 30_000_000, 2_800, 5, 7].map(Ok).to_vec())]);
    let (four, six) = (scripted(tcpv4::COUNTERSET.clone()), scripted(tcpv6::COUNTERSET.clone()));
    four.with(|script| script.rows = vec![("", 0, vec![Ok(11), Ok(19)])]);
    six.with(|script| script.rows = vec![("", 0, vec![Ok(13)])]);
    let paths = [
        r"\Processor Information(*)\% DPC Time",
        r"\Processor Information(*)\% Idle Time",
        r"\Processor Information(*)\Processor Frequency",
        r"\Processor Information(*)\% Processor Performance",
        r"\TCPv4\Connections Established",
        r"\TCPv4\Connections Active",
        r"\TCPv6\Connections Established",
    ];
    let options = ExportOptions { profiles: vec![Profile::WindowsExporter], ..ExportOptions::default() };
    let mut exporter = open(&[cpu, four, six], &paths, options).unwrap();
    let read = scraped(&mut exporter);
    for (name, labels, value) in [
        ("windows_cpu_time_total", &[("mode", "dpc"), ("core", "0,1")][..], "2"),
        ("windows_cpu_time_total", &[("mode", "idle"), ("core", "0,1")], "3"),
        ("windows_cpu_core_frequency_mhz", &[("core", "0,1")], "2800"),
        ("windows_cpu_processor_performance_total", &[("core", "0,1")], "5"),
        ("windows_cpu_processor_mperf_total", &[("core", "0,1")], "7"),
        ("windows_tcp_connections_established", &[("af", "ipv4")], "11"),
        ("windows_tcp_connections_established", &[("af", "ipv6")], "13"),
        ("windows_tcp_connections_active_total", &[("af", "ipv4")], "19"),
    ] {
        assert_eq!(read.value(name, labels), Some(value), "{name} {labels:?}");
    }
    let own = |name: &String| name.starts_with("perf_exporter_");
    assert_eq!(read.types.keys().filter(|name| !own(name)).count(), 6);
    assert_eq!(
        read.helps["windows_cpu_time_total"],
        r"\Processor Information(*)\% DPC Time, \Processor Information(*)\% Idle Time"
    );
    let mut text = Vec::new();
    exporter.scrape(ExpositionFormat::OpenMetrics, &mut text).unwrap();
    self::read(&text, ExpositionFormat::OpenMetrics).unwrap();
}

/// Checks that each name of windows_exporter has a path that exports it, in its unit.
#[test]
fn all_names_of_windows_exporter() {
    // A number that is a time as well: when something began.
    let number = u64::try_from(perfset_core::clock::UNIX_EPOCH_100NS).unwrap();
    for (guid, id, name, labels) in crate::windows_exporter::METRICS {
        let set = perfset_catalogue::by_guid(*guid).unwrap();
        // A helper has no path of its own: those of what is divided by it.
        let paths = set.counters.iter().filter(|c| c.id == *id || c.divisor() == Some(*id));
        let shown = paths.filter(|counter| !counter.attributes.contains(Attributes::NO_DISPLAYABLE));
        let is_given = |counter: &Counter| {
            let script = scripted(set.clone());
            let needed: HashSet<_> = counter.needed().collect();
            script.with(|script| script.rows = vec![("a", 1, vec![Ok(number); needed.len()])]);
            let instance = if set.instance_type.is_multiple() { "(*)" } else { "" };
            let path = format!(r"\{}{instance}\{}", set.name, counter.name.as_deref().unwrap());
            let options =
                ExportOptions { profiles: vec![Profile::WindowsExporter], ..ExportOptions::default() };
            let read = scraped(&mut open(&[script], &[&path], options).unwrap());
            let fixed = labels.replace('"', "");
            read.of(name).iter().any(|(labels, _)| labels.contains(&fixed))
        };
        assert!({ shown }.any(is_given), "{} {name}", set.name);
    }
}

#[test]
fn sizes_of_windows_exporter() {
    use perfset_catalogue::logical_disk;
    let disk = scripted(logical_disk::COUNTERSET.clone());
    disk.with(|script| script.rows = vec![("/", 1, vec![Ok(250), Ok(1_000), Ok(3)])]);
    let options = ExportOptions { profiles: vec![Profile::WindowsExporter], ..ExportOptions::default() };
    let paths = [r"\LogicalDisk(*)\% Free Space", r"\LogicalDisk(*)\Free Megabytes"];
    let read = scraped(&mut open(&[disk], &paths, options).unwrap());
    for (name, value) in [
        ("windows_logical_disk_size_bytes", "1000"),
        ("windows_logical_disk_free_bytes", "3145728"),
        ("perf_logicaldisk_free_space_ratio", "0.25"),
    ] {
        assert_eq!(read.value(name, &[("volume", "/")]), Some(value), "{name}");
    }
}

/// Checks that each exported counter has a name in both profiles, and that no two names are equal.
#[test]
fn the_whole_catalogue_can_be_exported() {
    let scripts: Vec<_> = perfset_catalogue::ALL.iter().map(|set| scripted((*set).clone())).collect();
    for (script, set) in scripts.iter().zip(perfset_catalogue::ALL) {
        script.with(|script| script.rows = vec![("a", 1, vec![Ok(1); set.counters.len()])]);
    }
    let paths: Vec<_> = perfset_catalogue::ALL
        .iter()
        .map(|set| format!("\\{}{}\\*", set.name, if set.instance_type.is_multiple() { "(*)" } else { "" }))
        .collect();
    for profile in [Profile::Perf, Profile::WindowsExporter, Profile::NodeExporter] {
        // Views show the counters of other sets, under their names in that profile.
        let is_view = |path: &str| path.starts_with(r"\Process(") || path.starts_with(r"\Processor(");
        let paths: Vec<_> = paths
            .iter()
            .map(String::as_str)
            .filter(|path| profile == Profile::Perf || !is_view(path))
            .collect();
        let options = ExportOptions { profiles: vec![profile], ..ExportOptions::default() };
        let mut exporter = open(&scripts, &paths, options).unwrap();
        let plain = scraped(&mut exporter);
        assert!(plain.series.len() > 900, "{}", plain.series.len());
        let mut text = Vec::new();
        exporter.scrape(ExpositionFormat::OpenMetrics, &mut text).unwrap();
        let open = read(&text, ExpositionFormat::OpenMetrics).unwrap();
        assert_eq!(open.series.len(), plain.series.len());
    }
}

#[test]
fn processes_are_told_apart_by_their_numbers() {
    let counters = |set: &Counterset, id| vec![set.counter(id).unwrap().clone()];
    let of = |set: &Counterset, id| set.clone().counters(counters(set, id));
    let v2 = scripted(of(&process_v2::COUNTERSET, process_v2::THREAD_COUNT));
    v2.with(|script| {
        script.rows = vec![("sh:2", 2, vec![Ok(3)]), ("sh:5", 5, vec![Ok(7)]), ("_Total", 0, vec![Ok(10)])]
    });
    let v1 = scripted(of(&process::COUNTERSET, process::THREAD_COUNT));
    v1.with(|script| script.rows = vec![("sh", 2, vec![Ok(3)]), ("sh", 5, vec![Ok(7)])]);
    let threads = scripted(of(&thread::COUNTERSET, thread::PRIORITY_BASE));
    threads.with(|script| script.rows = vec![("sh/11", 11, vec![Ok(8)]), ("_Total/_Total", 0, vec![Ok(9)])]);
    let linux = scripted(of(&linux_process::COUNTERSET, linux_process::SWAP_BYTES));
    linux.with(|script| script.rows = vec![("sh:2", 2, vec![Ok(13)])]);
    let paths = [r"\Process V2(*)\*", r"\Process(*)\*", r"\Thread(*)\*", r"\Linux Process(*)\*"];
    let read = scraped(&mut opened(&[v2, v1, threads, linux], &paths));
    let two = [("process=sh,process_id=2".to_owned(), "3"), ("process=sh,process_id=5".to_owned(), "7")];
    assert_eq!(read.of("perf_process_v2_threads"), two);
    assert_eq!(read.of("perf_process_threads"), two);
    assert_eq!(read.of("perf_thread_priority_base"), [("parent=sh,instance_name=11".to_owned(), "8")]);
    assert_eq!(read.of("perf_linux_process_swap_bytes"), [("process=sh,process_id=2".to_owned(), "13")]);
}

#[test]
fn instances_of_one_name() {
    let script = scripted(set(0, "Set", vec![counter(2, "A", T::PERF_COUNTER_LARGE_RAWCOUNT)]));
    let show = |rows: &[(&'static str, u32, u64)]| {
        script.with(|script| {
            script.rows = rows.iter().map(|(name, id, value)| (*name, *id, vec![Ok(*value)])).collect()
        });
    };
    let mut exporter = opened(slice::from_ref(&script), &[r"\Set(*)\A"]);
    let mut labels = || {
        let read = scraped(&mut exporter);
        let dropped =
            read.value("perf_exporter_series_dropped", &[("counterset", "Set")]).unwrap().to_owned();
        let lines = read
            .of("perf_set_a")
            .into_iter()
            .map(|(label, value)| format!("{label} {value}"))
            .collect::<Vec<_>>();
        (lines, dropped)
    };
    show(&[("x", 1, 2), ("y", 2, 3)]);
    assert_eq!(labels().0, ["instance_name=x 2", "instance_name=y 3"]);
    show(&[("x", 1, 2), ("y", 2, 3), ("x", 3, 5)]);
    let with_ids = [
        "instance_name=x,instance_id=1 2",
        "instance_name=y,instance_id=2 3",
        "instance_name=x,instance_id=3 5",
    ];
    assert_eq!(labels().0, with_ids);
    show(&[("x", 3, 5)]);
    assert_eq!(
        labels().0,
        ["instance_name=x,instance_id=3 5"],
        "or it would go on with the values of another"
    );
    // The same names and ids of two programs.
    script.with(|script| {
        script.owners =
            vec![(4, Owner::Process { pid: 7, user: 0 }), (5, Owner::Process { pid: 9, user: 0 })];
    });
    show(&[("x", 4, 5), ("x", 4, 6)]);
    assert_eq!(
        labels(),
        (vec!["instance_name=x,instance_id=4,owner_process_id=7 5".to_owned()], "1".to_owned())
    );
    show(&[("x", 4, 5), ("x", 5, 6)]);
    let (lines, dropped) = labels();
    assert_eq!(lines[1], "instance_name=x,instance_id=5,owner_process_id=9 6");
    assert_eq!(dropped, "0");
}

#[test]
fn narrow_counters_are_widened() {
    let counters =
        vec![counter(2, "A/sec", T::PERF_COUNTER_COUNTER), counter(3, "B", T::PERF_COUNTER_RAWCOUNT)];
    let script = scripted(set(0, "Set", counters));
    let show = |rows: &[(&'static str, u32, u64)]| {
        script.with(|script| {
            script.rows = rows.iter().map(|(name, id, a)| (*name, *id, vec![Ok(*a), Ok(*a)])).collect()
        });
    };
    let mut exporter = opened(slice::from_ref(&script), &[r"\Set(*)\*"]);
    let mut values = || {
        let read = scraped(&mut exporter);
        let short = |name| {
            read.of(name)
                .into_iter()
                .map(|(label, value)| format!("{}={value}", &label[14..]))
                .collect::<Vec<_>>()
                .join(" ")
        };
        (short("perf_set_a_total"), short("perf_set_b"))
    };
    const MAX: u64 = u32::MAX as u64;
    show(&[("x", 1, MAX), ("y", 2, 7)]);
    assert_eq!(values().0, "x=4294967295 y=7");
    show(&[("x", 1, 4), ("y", 2, 9)]);
    assert_eq!(values(), ("x=4294967300 y=9".into(), "x=4 y=9".into()), "a gauge may fall");
    show(&[("z", 3, 1), ("y", 2, 10), ("x", 1, 6)]);
    assert_eq!(values().0, "z=1 y=10 x=4294967302", "identity, not position");
    script.with(|script| script.failure = Some(SourceError::Failed("for a while".into())));
    assert_eq!(values().0, "");
    script.with(|script| script.failure = None);
    show(&[("x", 1, 8)]);
    assert_eq!(values().0, "x=4294967304", "a failure forgets nothing");
    script.with(|script| script.births = vec![(1, 3)]);
    show(&[("x", 1, 9)]);
    assert_eq!(values().0, "x=9", "another thing of that name");
    show(&[("x", 1, MAX)]);
    values();
    show(&[("x", 1, 1)]);
    assert_eq!(values().0, "x=4294967297");
    show(&[("y", 2, 1)]);
    values();
    show(&[("x", 1, 2)]);
    assert_eq!(values().0, "x=2", "of what is gone nothing is kept");
}

#[test]
fn the_limit_leaves_small_countersets_whole() {
    let large = scripted(set(
        0,
        "Large",
        vec![counter(2, "A", T::PERF_COUNTER_RAWCOUNT), counter(3, "B", T::PERF_COUNTER_RAWCOUNT)],
    ));
    let small = scripted(set(1, "Small", vec![counter(2, "A", T::PERF_COUNTER_RAWCOUNT)]));
    large.with(|script| script.rows = (0..1_000).map(|id| ("x", id, vec![Ok(1), Ok(2)])).collect());
    small.with(|script| script.rows = (0..5).map(|id| ("x", id, vec![Ok(1)])).collect());
    let options = ExportOptions { series_max: 100, ..ExportOptions::default() };
    let mut exporter = open(&[large, small], &[r"\Large(*)\*", r"\Small(*)\*"], options).unwrap();
    let read = scraped(&mut exporter);
    let count = |name| read.of(name).len();
    assert_eq!((count("perf_large_a"), count("perf_large_b"), count("perf_small_a")), (48, 47, 5));
    let dropped = |set| read.value("perf_exporter_series_dropped", &[("counterset", set)]).unwrap();
    assert_eq!((dropped("Large"), dropped("Small")), ("1905", "0"));
    assert_eq!(count("perf_exporter_collector_success"), 2, "what it says of itself is not limited");
}

/// Checks that the limit of a scrape counts only lines: neither rows that no path requests, nor rows without a value.
#[test]
fn the_limit_is_of_lines() {
    const COUNTERS: u32 = 9;
    let counters =
        (0..COUNTERS).map(|id| counter(id, "ABCDEFGHI".split_at(id as usize).1, T::PERF_COUNTER_RAWCOUNT));
    let script = scripted(set(0, "Set", counters.collect()));
    let row = |name, id| (name, id, vec![Ok(u64::from(id)); COUNTERS as usize]);
    script
        .with(|script| script.rows = (0..180).map(|id| row("other", id)).chain([row("mine", 180)]).collect());
    let mine = ["BCDEFGHI", "CDEFGHI", "DEFGHI", "EFGHI", "FGHI", "GHI", "HI", "I"];
    let all: Vec<_> = mine.iter().map(|name| format!(r"\Set(mine)\{name}")).collect();
    let mut paths = vec![r"\Set(*)\ABCDEFGHI"];
    paths.extend(all.iter().map(String::as_str));
    let lines = |most: usize| {
        let options = ExportOptions { series_max: most, ..ExportOptions::default() };
        let read = scraped(&mut open(slice::from_ref(&script), &paths, options).unwrap());
        let dropped = read.value("perf_exporter_series_dropped", &[("counterset", "Set")]).unwrap();
        let of_mine = mine.iter().map(|name| read.of(&format!("perf_set_{}", name.to_lowercase())).len());
        (read.of("perf_set_abcdefghi").len(), of_mine.sum::<usize>(), dropped.parse::<usize>().unwrap())
    };
    for (most, want) in [
        (10_000, (181, 8, 0)),
        (189, (181, 8, 0)),
        (188, (180, 8, 1)),
        (20, (12, 8, 169)),
        (8, (0, 8, 181)),
        (3, (0, 3, 186)),
        (0, (0, 0, 189)),
    ] {
        assert_eq!(lines(most), want, "{most}");
    }

    // A line that two paths ask for is that of the one that asks for less.
    paths = vec![r"\Set(*)\ABCDEFGHI", r"\Set(mine)\ABCDEFGHI"];
    let options = ExportOptions { series_max: 1, ..ExportOptions::default() };
    let read = scraped(&mut open(slice::from_ref(&script), &paths, options).unwrap());
    let (labels, value) = &read.of("perf_set_abcdefghi")[0];
    assert_eq!((labels.starts_with("instance_name=mine"), *value), (true, "180"), "{labels}");

    // What has no value takes no place.
    script.with(|script| {
        for (_, id, values) in &mut script.rows {
            *values = vec![if *id < 150 { Err(NoValue::NotGiven) } else { Ok(7) }];
        }
    });
    paths = vec![r"\Set(*)\ABCDEFGHI"];
    for (most, kept, dropped) in [(31, 31, "0"), (30, 30, "1")] {
        let options = ExportOptions { series_max: most, ..ExportOptions::default() };
        let read = scraped(&mut open(slice::from_ref(&script), &paths, options).unwrap());
        let said = read.value("perf_exporter_series_dropped", &[("counterset", "Set")]);
        assert_eq!((read.of("perf_set_abcdefghi").len(), said), (kept, Some(dropped)), "{most}");
    }
}

#[test]
fn unexportable_paths_are_rejected() {
    let number = T::PERF_COUNTER_LARGE_RAWCOUNT;
    let by = |id, name, unit: &'static str| counter(id, name, number).unit(unit);
    let counters = vec![
        counter(2, "A B", number),
        counter(3, "A-B", number),
        by(4, "Free MBytes", "MiBy"),
        by(5, "Free Bytes", "By"),
        counter(6, "Text", T::PERF_COUNTER_TEXT),
    ];
    let script = scripted(set(0, "Set", counters));
    let exporter = scripted(set(1, "Exporter", vec![counter(2, "Series Dropped", number)]));
    let error = |paths: &[&str], options| {
        open(&[script.clone(), exporter.clone()], paths, options)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let with = |prefix: &str| ExportOptions { prefix: Some(prefix.into()), ..ExportOptions::default() };
    for (paths, options, want) in [
        (&[r"\Set(*)\A B"][..], ExportOptions::default(), Ok(())),
        (&[r"\Set(*)\A B", r"\set(*)\a b", r"\Set(x)\A B"], ExportOptions::default(), Ok(())),
        (
            &[r"\Set(*)\*"],
            ExportOptions::default(),
            Err(r"\Set(*)\A B and \Set(*)\A-B would both be perf_set_a_b: leave one out"),
        ),
        (&[r"\Set(*)\Text"], ExportOptions::default(), Err(r"\Set(*)\Text has no number to export")),
        (&[r"\Set(*)\T*"], ExportOptions::default(), Err(r"\Set(*)\T* has no number to export")),
        (&[r"\Set(*)\C"], ExportOptions::default(), Err("\\Set(*)\\C: \"Set\" has no counter \"C\"")),
        (
            &[r"\Set\A B"],
            ExportOptions::default(),
            Err("\\Set\\A B: \"Set\" has instances, but the path names none: try '\\Set(*)\\…'"),
        ),
        (
            &[r"\Exporter(*)\Series Dropped"],
            ExportOptions::default(),
            Err(concat!(
                r"what the exporter says of itself and \Exporter(*)\Series Dropped would both be ",
                "perf_exporter_series_dropped: leave one out"
            )),
        ),
        (
            &[r"\Set(*)\A B"],
            with("1"),
            Err("\"1\" cannot begin the name of a metric: use letters, digits and _, with no digit first"),
        ),
        (
            &[r"\Set(*)\A B"],
            with("a:b"),
            Err("\"a:b\" cannot begin the name of a metric: use letters, digits and _, with no digit first"),
        ),
        (&[r"\Set(*)\A B"], with("my_"), Ok(())),
    ] {
        assert_eq!(error(paths, options), want.map_err(str::to_owned), "{paths:?}");
    }
    let paths = [r"\Set(*)\C".parse().unwrap()];
    let got =
        Exporter::open(machine(slice::from_ref(&script)), &paths, ExportOptions::default()).unwrap_err();
    assert!(matches!(&got, ExportError::Path { error: BindError::NoCounter { .. }, .. }), "{got:?}");

    // The same in two units is exported in the finer one.
    script.with(|script| script.rows = vec![("x", 1, vec![Ok(1), Ok(1_048_577)])]);
    let read = scraped(&mut opened(&[script], &[r"\Set(*)\F*"]));
    assert_eq!(read.of("perf_set_free_bytes"), [("instance_name=x".to_owned(), "1048577")]);
}

#[test]
fn a_registration_that_changes() {
    let (a, b) =
        (counter(2, "A", T::PERF_COUNTER_LARGE_RAWCOUNT), counter(3, "B", T::PERF_COUNTER_LARGE_RAWCOUNT));
    let old = set(0, "Set", vec![a.clone(), b.clone()]);
    let script = scripted(old.clone());
    let show = |set: Counterset, values: &[u64]| {
        script.with(|script| {
            script.catalogue = Arc::new(Catalogue::new("Script", vec![Arc::new(set)]));
            script.rows = vec![("x", 1, values.iter().map(|value| Ok(*value)).collect())];
        });
    };
    let mut exporter = opened(slice::from_ref(&script), &[r"\Set(*)\*"]);
    let mut values = || {
        let read = scraped(&mut exporter);
        let one = |name| read.of(name).first().map(|(_, value)| (*value).to_owned());
        (one("perf_set_a"), one("perf_set_b"))
    };
    let some = |text: &str| Some(text.to_owned());
    show(old.clone(), &[5, 7]);
    assert_eq!(values(), (some("5"), some("7")));
    let more = a.clone().unit("MiBy");
    show(set(0, "Set", vec![counter(1, "Z", T::PERF_COUNTER_LARGE_RAWCOUNT), a, b.clone()]), &[11, 13]);
    assert_eq!(values(), (some("11"), some("13")), "by id, not by position");
    show(set(0, "Set", vec![more, b]), &[11, 13]);
    assert_eq!(values(), (None, some("13")), "what it means now has another name");
    show(old, &[5, 7]);
    assert_eq!(values(), (some("5"), some("7")));
}

/// Checks a counterset that loses a counter and gets it again, as when programs of two versions publish it. The
/// counter's metrics come and go, and the others stay.
#[test]
fn counters_that_come_and_go() {
    let (a, b) =
        (counter(2, "A", T::PERF_COUNTER_LARGE_RAWCOUNT), counter(3, "B", T::PERF_COUNTER_LARGE_RAWCOUNT));
    let (few, all) = (set(0, "Set", vec![a.clone()]), set(0, "Set", vec![a, b]));
    let script = scripted(all.clone());
    let show = |set: &Counterset| {
        script.with(|script| {
            script.catalogue = Arc::new(Catalogue::new("Script", vec![Arc::new(set.clone())]));
            script.rows =
                vec![("x", 1, [5, 7].iter().take(set.counters.len()).map(|value| Ok(*value)).collect())];
        });
    };
    show(&all);
    let mut exporter = opened(slice::from_ref(&script), &[r"\Set(*)\*"]);
    let mut last = || {
        let mut values = Vec::new();
        for _ in 0..3 {
            let read = scraped(&mut exporter);
            let one = |name| read.of(name).first().map(|(_, value)| (*value).to_owned());
            values.push((one("perf_set_a"), one("perf_set_b")));
        }
        assert!(values.iter().all(|(a, _)| a.as_deref() == Some("5")), "{values:?}");
        values.pop().and_then(|(_, b)| b)
    };
    assert_eq!(last().as_deref(), Some("7"));
    show(&few);
    assert_eq!(last(), None);
    show(&all);
    assert_eq!(last().as_deref(), Some("7"));
}
