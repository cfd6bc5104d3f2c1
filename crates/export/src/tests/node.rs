//! Tests of metrics under the names of node_exporter.

use std::slice;

use perfset_catalogue::{
    block_io, clock_discipline, linux_network_interface, linux_processor, linux_sensors, linux_system,
    network_interface, paging_file, process_states, sockets,
};
use perfset_core::Counterset;
use perfset_engine::testing::Scripted;
use perfset_engine::{Fact, FactKind, SourceError};

use super::checker::read;
use super::machines::scripted;
use super::{open, scraped};
use crate::catalogue::{all_node_metrics, node_labels};
use crate::{ExportOptions, ExpositionFormat, Profile};

fn options(profiles: &[Profile]) -> ExportOptions {
    ExportOptions { profiles: profiles.to_vec(), ..ExportOptions::default() }
}

/// Row of a test: name and id of an instance, and values by the ids of counters.
type Row<'a> = (&'static str, u32, &'a [(u32, u64)]);

/// Returns a script of a built-in counterset with only those counters that a row has a value for.
fn built_in(set: &Counterset, rows: &[Row<'_>]) -> Scripted {
    let is_given = |id: u32| rows.iter().any(|(_, _, values)| values.iter().any(|(of, _)| *of == id));
    let counters: Vec<_> = set.counters.iter().filter(|counter| is_given(counter.id.0)).cloned().collect();
    let ids: Vec<_> = counters.iter().map(|counter| counter.id.0).collect();
    let script = scripted(set.clone().counters(counters));
    let row = |values: &[(u32, u64)]| {
        let value = |id: &u32| values.iter().find(|(of, _)| of == id).map(|(_, value)| *value);
        ids.iter().map(|id| value(id).ok_or(perfset_core::NoValue::NotGiven)).collect()
    };
    let rows = rows.iter().map(|(name, id, values)| (*name, *id, row(values)));
    script.with(|script| script.rows = rows.collect());
    script
}

#[test]
fn processors_have_the_kernels_numbers() {
    let idle = linux_processor::PERCENT_IDLE_TIME.0;
    let rows: [Row<'_>; 4] = [
        ("0,0", 0, &[(idle, 125_000_000)]),
        ("1,0", 3, &[(idle, 75_000_000)]),
        ("1,_Total", 4_000_000, &[(idle, 75_000_000)]),
        ("_Total", 5_000_000, &[(idle, 100_000_000)]),
    ];
    let script = built_in(&linux_processor::COUNTERSET, &rows);
    let path = [r"\Linux Processor(*)\% Idle Time"];
    let mut exporter = open(slice::from_ref(&script), &path, options(&[Profile::NodeExporter])).unwrap();
    let read = scraped(&mut exporter);
    let want = [("mode=idle,cpu=0".to_owned(), "12.5"), ("mode=idle,cpu=3".to_owned(), "7.5")];
    assert_eq!(read.of("node_cpu_seconds_total"), want);
    assert_eq!(read.types["node_cpu_seconds_total"], "counter");
    // A total that a path names has no line either: its parts have the same name.
    let paths = [r"\Linux Processor(*)\% Idle Time", r"\Linux Processor(_Total)\% Idle Time"];
    let mut exporter = open(&[script], &paths, options(&[Profile::NodeExporter])).unwrap();
    assert_eq!(scraped(&mut exporter).of("node_cpu_seconds_total"), want);
}

#[test]
fn instances_that_are_part_of_the_name() {
    let (used, pages) = (sockets::IN_USE.0, sockets::MEMORY_PAGES.0);
    let rows: [Row<'_>; 4] = [
        ("TCP", 0, &[(used, 5), (pages, 7)]),
        ("UDP", 1, &[(used, 11)]),
        ("Other", 2, &[(used, 13)]),
        ("_Total", 9, &[(used, 77)]),
    ];
    let script = built_in(&sockets::COUNTERSET, &rows);
    let paths = [r"\Sockets(*)\In Use", r"\Sockets(*)\Memory Pages"];
    let mut exporter = open(slice::from_ref(&script), &paths, options(&[Profile::NodeExporter])).unwrap();
    let read = scraped(&mut exporter);
    let value = |name: &str| read.value(name, &[]).map(str::to_owned);
    let names = ["TCP_inuse", "UDP_inuse", "TCP_mem", "UDP_mem", "sockets_used", "RAW_inuse"];
    let values = names.map(|name| value(&format!("node_sockstat_{name}")));
    assert_eq!(values, [Some("5"), Some("11"), Some("7"), None, None, None].map(|v| v.map(str::to_owned)));
    // The rows move, and with them the lines. A total has a line if a path names it.
    let paths = [r"\Sockets(*)\*", r"\Sockets(_Total)\*"];
    let mut exporter = open(slice::from_ref(&script), &paths, options(&[Profile::NodeExporter])).unwrap();
    scraped(&mut exporter);
    script.with(|script| script.rows.rotate_left(1));
    let read = scraped(&mut exporter);
    assert_eq!(read.value("node_sockstat_TCP_inuse", &[]), Some("5"));
    assert_eq!(read.value("node_sockstat_sockets_used", &[]), Some("77"));
}

#[test]
fn values_in_base_units() {
    let disk = [(block_io::SECTORS_READ_PER_SEC.0, 3), (block_io::PERCENT_BUSY_TIME.0, 15_000_000)];
    let rows: [Row<'_>; 3] = [("vda", 7, &disk), ("loop11", 8, &disk), ("loopback", 9, &disk)];
    let disks = built_in(&block_io::COUNTERSET, &rows);
    let link = [(network_interface::CURRENT_BANDWIDTH.0, 1_000_000_000)];
    let links = built_in(&network_interface::COUNTERSET, &[("eth0", 2, &link)]);
    let load = [(linux_system::LOAD_AVERAGE_1_MINUTE.0, 407), (linux_system::LOAD_AVERAGE_BASE.0, 10_000)];
    let system = built_in(&linux_system::COUNTERSET, &[("", 0, &load)]);
    let paths = [r"\Block I/O(*)\*", r"\Network Interface(*)\*", r"\Linux System\*"];
    let mut exporter = open(&[disks, links, system], &paths, options(&[Profile::NodeExporter])).unwrap();
    let read = scraped(&mut exporter);
    for (name, labels, want) in [
        ("node_disk_read_bytes_total", &[("device", "vda")][..], "1536"),
        ("node_disk_io_time_seconds_total", &[("device", "vda")], "1.5"),
        ("node_network_speed_bytes", &[("device", "eth0")], "125000000"),
        ("node_load1", &[], "4.07"),
    ] {
        assert_eq!(read.value(name, labels), Some(want), "{name}");
    }
    let devices = ["device=vda", "device=loopback"].map(|label| (label.to_owned(), "1536"));
    assert_eq!(read.of("node_disk_read_bytes_total"), devices, "loop devices are left out");
    assert_eq!(read.value("node_load5", &[]), None, "what has no value has no line");
}

/// Checks that several schemes give a counter several names, and never the same line twice: `scraped` fails on that.
#[test]
fn several_schemes() {
    let link = [(network_interface::CURRENT_BANDWIDTH.0, 8), (network_interface::OUTPUT_QUEUE_LENGTH.0, 3)];
    let links = built_in(&network_interface::COUNTERSET, &[("eth0", 2, &link)]);
    let path = [r"\Network Interface(*)\*"];
    let both = [Profile::NodeExporter, Profile::WindowsExporter];
    let mut exporter = open(slice::from_ref(&links), &path, options(&both)).unwrap();
    let read = scraped(&mut exporter);
    assert_eq!(read.value("node_network_speed_bytes", &[("device", "eth0")]), Some("1"));
    assert_eq!(read.value("windows_net_current_bandwidth_bytes", &[("nic", "eth0")]), Some("1"));
    assert!(read.of("perf_network_interface_current_bandwidth_bytes_per_second").is_empty());
    let all = [Profile::Perf, Profile::NodeExporter, Profile::WindowsExporter];
    let mut exporter = open(&[links], &path, options(&all)).unwrap();
    assert_eq!(
        scraped(&mut exporter).of("perf_network_interface_current_bandwidth_bytes_per_second").len(),
        1
    );
}

/// Checks that the generated table of node_exporter's metrics names existing counters and sources of labels, as the
/// catalogue does.
#[test]
fn the_table_names_counters_and_labels_that_exist() {
    for metric in all_node_metrics() {
        let set = perfset_catalogue::by_guid(metric.set).unwrap();
        assert!(set.counter(metric.counter).is_some(), "{}", metric.name);
        if set.instance_type.is_multiple() && metric.instance.is_empty() {
            let (labels, _) = node_labels(&metric.set).unwrap();
            let is_known =
                |text: &str| ["name", "id"].contains(&text) || FactKind::from_keyword(text).is_some();
            assert!(labels.iter().all(|(_, text)| is_known(text)), "{labels:?}");
            assert!(
                labels.iter().all(|(key, _)| !metric.labels.contains(&format!("{key}="))),
                "{}",
                metric.name
            );
        }
    }
}

#[test]
fn parts_of_the_metrics() {
    let link =
        [(linux_network_interface::BYTES_SENT_PER_SEC.0, 11), (linux_network_interface::MTU_BYTES.0, 8)];
    let links = built_in(&linux_network_interface::COUNTERSET, &[("eth0", 2, &link)]);
    let load = [(linux_system::LOAD_AVERAGE_1_MINUTE.0, 407), (linux_system::LOAD_AVERAGE_BASE.0, 10_000)];
    let system = built_in(&linux_system::COUNTERSET, &[("", 0, &load)]);
    let paths = [r"\Linux Network Interface(*)\*", r"\Linux System\*"];
    let mut exporter = open(&[links, system], &paths, options(&[Profile::NodeExporter])).unwrap();
    for (names, want) in [
        (&["netdev"][..], &["node_network_transmit_bytes_total"][..]),
        (&["netclass", "loadavg"], &["node_load1", "node_network_mtu_bytes"]),
        (&["linux SYSTEM"], &["node_load1"]),
        (&["cpu"], &[]),
    ] {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let part = exporter.selection(&names).unwrap();
        let mut text = Vec::new();
        exporter.scrape_selected(ExpositionFormat::Prometheus, Some(&part), &mut text).unwrap();
        let read = read(&text, ExpositionFormat::Prometheus).unwrap();
        let own = ["node_scrape_", "perf_exporter_"];
        let found = read.types.keys().filter(|name| !own.iter().any(|start| name.starts_with(start)));
        assert_eq!(found.collect::<Vec<_>>(), want, "{names:?}");
    }
    let known = exporter.selection(&["cpus".to_owned()]).unwrap_err();
    assert!(
        known.contains("cpu, cpufreq") && known.ends_with("Linux Network Interface, Linux System"),
        "{known}"
    );
}

/// Checks that sizes of page files are in bytes as in windows_exporter, although the counter is in KiB.
#[test]
fn sizes_of_page_files() {
    let swap = [(paging_file::PERCENT_USAGE.0, 3), (paging_file::PERCENT_USAGE_BASE.0, 7)];
    let files = built_in(&paging_file::COUNTERSET, &[("/swap", 1, &swap)]);
    let path = [r"\Paging File(*)\% Usage"];
    let mut exporter = open(&[files], &path, options(&[Profile::WindowsExporter])).unwrap();
    let value = scraped(&mut exporter);
    assert_eq!(value.value("windows_pagefile_limit_bytes", &[("file", "/swap")]), Some("7168"));
}

/// Checks labels that are facts about instances: rows of one name need no number if their facts differ. A row without
/// its facts has no line until they are there.
#[test]
fn labels_that_are_facts() {
    let temperature = linux_sensors::TEMPERATURE.0;
    let rows: [Row<'_>; 3] = [
        ("nvme/Composite", 1, &[(temperature, 300_000)]),
        ("nvme/Composite", 2, &[(temperature, 310_000)]),
        ("cpu/Core", 3, &[(temperature, 320_000)]),
    ];
    let script = built_in(&linux_sensors::COUNTERSET, &rows);
    let facts = |chip: &str, sensor: &str| {
        let fact = |kind, text: &str| Fact::new(kind, Ok(text.to_owned()));
        Ok(vec![fact(FactKind::Chip, chip), fact(FactKind::Sensor, sensor)])
    };
    let late = || Err(SourceError::Late);
    script.with(|s| s.facts = vec![(1, facts("nvme0", "temp1")), (2, facts("nvme1", "temp1")), (3, late())]);
    let path = [r"\Linux Sensors(*)\Temperature"];
    let mut exporter = open(slice::from_ref(&script), &path, options(&[Profile::NodeExporter])).unwrap();
    let mut lines = || {
        let read = scraped(&mut exporter);
        let lines = read.of("node_hwmon_temp_celsius").into_iter();
        lines.map(|(labels, value)| format!("{labels} {value}")).collect::<Vec<_>>()
    };
    let [first, second] = ["chip=nvme0,sensor=temp1 26.85", "chip=nvme1,sensor=temp1 36.85"];
    assert_eq!(lines(), [first, second]);
    script.with(|s| s.facts[2] = (3, facts("platform_coretemp_0", "temp2")));
    assert_eq!(lines(), [first, second, "chip=platform_coretemp_0,sensor=temp2 46.85"]);
    // Two rows with the same facts do need their numbers.
    script.with(|s| s.facts[1] = (2, facts("nvme0", "temp1")));
    script.with(|s| s.rows.rotate_left(1)); // facts are read when rows change
    let numbered = lines();
    assert_eq!(numbered.len(), 3);
    assert!(numbered.iter().all(|line| line.contains("instance_id=")), "{numbered:?}");
}

/// Checks that labels that differ only in case are different, so that their lines need no further label.
#[test]
fn states_that_differ_in_case() {
    let processes = process_states::PROCESSES.0;
    let rows: [Row<'_>; 2] = [("T", 3, &[(processes, 5)]), ("t", 4, &[(processes, 7)])];
    let states = built_in(&process_states::COUNTERSET, &rows);
    let path = [r"\Process States(*)\*"];
    let mut exporter = open(&[states], &path, options(&[Profile::NodeExporter])).unwrap();
    let want = [("state=T".to_owned(), "5"), ("state=t".to_owned(), "7")];
    assert_eq!(scraped(&mut exporter).of("node_processes_state"), want);
}

/// Checks node_exporter's metrics of the kernel clock: the offset has two counters, as none is below 0; rates are
/// shares of the nominal rate.
#[test]
fn values_of_the_clock() {
    let clock = [
        (clock_discipline::OFFSET_TO_ADD.0, 0),
        (clock_discipline::OFFSET_TO_SUBTRACT.0, 2_500_000),
        (clock_discipline::MAXIMUM_ERROR.0, 16_000_000_000),
        (clock_discipline::PERCENT_FREQUENCY.0, 65_539_276_800),
        (clock_discipline::PERCENT_FREQUENCY_BASE.0, 65_536_000_000),
        (clock_discipline::PERCENT_PPS_FREQUENCY.0, 65_536_000_000),
        (clock_discipline::TICK.0, 10_000_000),
    ];
    let clock = built_in(&clock_discipline::COUNTERSET, &[("", 0, &clock)]);
    let path = [r"\Clock Discipline\*"];
    let mut exporter = open(&[clock], &path, options(&[Profile::NodeExporter])).unwrap();
    let read = scraped(&mut exporter);
    for (name, want) in [
        ("offset_seconds", "-0.0025"),
        ("maxerror_seconds", "16"),
        ("frequency_adjustment_ratio", "1.00005"),
        ("pps_frequency_hertz", "0"),
        ("tick_seconds", "0.01"),
    ] {
        assert_eq!(read.value(&format!("node_timex_{name}"), &[]), Some(want), "{name}");
    }
}
