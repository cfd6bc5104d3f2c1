//! Names of metrics, made of the names of counterset and counter: `PREFIX_COUNTERSET_COUNTER[_UNIT][_total]`.

use perfset_core::{Counter, CounterId, Counterset, Guid};

use crate::kind::{Metric, MetricType, Role};

/// Returns the generated name of a counter's metric, for counters without a name of another exporter.
pub(crate) fn generated(prefix: &str, set: &Counterset, counter: &Counter, metric: &Metric) -> String {
    let set = set_name(&set.name, &set.guid);
    let mut words = counter.name.as_deref().map(words).unwrap_or_default();
    if words.is_empty() {
        words.push(by_id(counter.id));
    }
    let unit = match metric.role {
        Role::Value(unit) | Role::Base(unit) => unit,
        _ => None,
    };
    if let Some(unit) = unit {
        remove_unit(&mut words, unit.words);
    }
    let mut end: Vec<&str> = Vec::new();
    match metric.role {
        Role::Value(unit) => end.extend(unit.map(|unit| unit.name)),
        Role::Base(unit) => end.extend(unit.map(|unit| unit.name).into_iter().chain(["base"])),
        Role::Active => end.push("seconds"),
        Role::Idle => end.extend(["idle", "seconds"]),
        Role::Queue => end.extend(["queue", "seconds"]),
        Role::Items => end.push("units"),
        Role::Start => end.extend(["start", "time", "seconds"]),
    }
    let spare: &[&str] = match metric.role {
        Role::Active | Role::Idle | Role::Items => &["time", "percent", "percentage"],
        Role::Value(_) | Role::Base(_) if end.contains(&"seconds") => &["time"],
        Role::Queue => &["avg", "average", "queue", "length"],
        Role::Start => &["elapsed", "up", "time"],
        Role::Value(_) | Role::Base(_) => &[],
    };
    words.retain(|word| !spare.contains(&word.as_str()));
    let is_counter = metric.sort == MetricType::Counter;
    if is_counter {
        // The name ends in `total` anyway.
        words.retain(|word| word != "total");
    }
    let mut parts = vec![prefix.to_owned(), set];
    parts.append(&mut words);
    parts.extend(end.into_iter().map(str::to_owned));
    if is_counter {
        parts.push("total".to_owned());
    } else {
        free_of_reserved_ends(&mut parts);
    }
    parts.join("_")
}

/// Returns the part of a metric's name for a counterset: the words of the counterset's name, joined by `_`.
fn set_name(name: &str, guid: &Guid) -> String {
    let words = words(name);
    if words.is_empty() {
        // The name has only letters that metric names cannot have.
        let guid = guid.to_string();
        return format!("set_{}", guid.split('-').next().unwrap_or_default());
    }
    words.join("_")
}

fn by_id(id: CounterId) -> String {
    format!("counter_{}", id.0)
}

/// Splits the name of a counterset or counter into words of small letters and digits.
fn words(name: &str) -> Vec<String> {
    let lower = name.to_ascii_lowercase();
    let without_rate = lower.strip_suffix("/sec").unwrap_or(&lower);
    let spelled = without_rate.replace("i/o", "io").replace('#', " number ").replace('&', " and ");
    let mut words: Vec<String> = Vec::new();
    // "sec/Read" and "Bytes/Read" are a unit and a word, "Sectors/Read" is a ratio.
    let pairs = spelled.split('/').collect::<Vec<_>>();
    for (at, part) in pairs.iter().enumerate() {
        let of_part = part.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        if at > 0 && !words.last().is_none_or(|last| matches!(last.as_str(), "sec" | "bytes")) {
            words.push("per".to_owned());
        }
        words.extend(of_part.map(str::to_owned));
    }
    for word in &mut words {
        if word == "average" {
            "avg".clone_into(word);
        }
    }
    join_durations(&mut words);
    words
}

/// Joins a duration in the words of a name to one word, as `5 minutes` to `5m`. A unit of time other than the base
/// unit must not be a separate word.
fn join_durations(words: &mut Vec<String>) {
    let mut at = 0_usize;
    while at.saturating_add(1) < words.len() {
        let is_number = words.get(at).is_some_and(|word| word.bytes().all(|c| c.is_ascii_digit()));
        let letter = match words.get(at.saturating_add(1)).map(String::as_str) {
            Some("second" | "seconds") => "s",
            Some("minute" | "minutes") => "m",
            Some("hour" | "hours") => "h",
            _ => "",
        };
        at = at.saturating_add(1);
        if is_number && !letter.is_empty() {
            words.remove(at);
            if let Some(number) = words.get_mut(at.saturating_sub(1)) {
                number.push_str(letter);
            }
        }
    }
}

/// Removes the first word of a counter's name that names the unit.
fn remove_unit(words: &mut Vec<String>, of_unit: &[&str]) {
    if let Some(at) = words.iter().position(|word| of_unit.contains(&word.as_str())) {
        words.remove(at);
    }
}

/// Changes a metric name with a reserved ending, such as those of counters and histograms, which other metrics must
/// not have.
fn free_of_reserved_ends(parts: &mut Vec<String>) {
    match parts.last().map(String::as_str) {
        // Only if another word of the counter remains beside prefix and counterset.
        Some("count") if parts.len() > 3 => {
            parts.pop();
            // Without `count`, the plural shows that the metric is a number of things.
            if let Some(last) = parts.last_mut().filter(|last| !last.ends_with('s')) {
                last.push('s');
            }
        }
        // `HugePages_Total`, beside `HugePages_Free`: the whole needs no word.
        Some("total") if parts.len() > 3 => {
            parts.pop();
        }
        Some("total" | "count" | "sum" | "bucket" | "info" | "created") => parts.push("value".to_owned()),
        _ => {}
    }
}

/// Returns `true` if a text can begin the name of a metric.
pub(crate) fn is_prefix(text: &str) -> bool {
    text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
        && !text.bytes().next().is_none_or(|c| c.is_ascii_digit())
}

/// Returns the unit at the end of a metric family's name, as OpenMetrics spells it.
pub(crate) fn unit_of(family: &str) -> Option<&str> {
    const UNITS: &[&str] =
        &["seconds", "bytes", "ratio", "hertz", "celsius", "volts", "amperes", "joules", "watts"];
    let (_, last) = family.rsplit_once('_')?;
    UNITS.contains(&last).then_some(last)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use perfset_catalogue as catalogue;

    use super::*;
    use crate::kind::{CounterTraits, metrics};

    fn names(set: &Counterset, counter: &str) -> String {
        let counter = set.counters.iter().find(|c| c.name.as_deref() == Some(counter)).unwrap();
        let known = crate::catalogue::known(&set.guid, counter.id);
        let names = metrics(counter, known).into_iter().map(|metric| generated("p", set, counter, &metric));
        names.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn names_of_the_catalogue() {
        use catalogue::*;
        for (set, counter, want) in [
            // Percentages of time are seconds in Prometheus; percentages of other things are ratios.
            (&processor_information::COUNTERSET, "% User Time", "p_processor_information_user_seconds_total"),
            (
                &processor_information::COUNTERSET,
                "% Processor Time",
                "p_processor_information_processor_idle_seconds_total",
            ),
            (&processor_information::COUNTERSET, "% Idle Time", "p_processor_information_idle_seconds_total"),
            (
                &processor_information::COUNTERSET,
                "Interrupts/sec",
                "p_processor_information_interrupts_total",
            ),
            (
                &processor_information::COUNTERSET,
                "Processor Frequency",
                "p_processor_information_processor_frequency_hertz",
            ),
            (
                &processor_information::COUNTERSET,
                "% Processor Utility",
                "p_processor_information_processor_utility_ratio_total \
                 p_processor_information_processor_utility_ratio_base_total",
            ),
            (
                &processor_information::COUNTERSET,
                "% of Maximum Frequency",
                "p_processor_information_of_maximum_frequency_ratio",
            ),
            // Counters in bytes, kilobytes and megabytes are one family, in the base unit. Signs are spelled
            // out.
            (&memory::COUNTERSET, "Available Bytes", "p_memory_available_bytes"),
            (&memory::COUNTERSET, "Available KBytes", "p_memory_available_bytes"),
            (&memory::COUNTERSET, "Cache Bytes Peak", "p_memory_cache_peak_bytes"),
            (&memory::COUNTERSET, "% Committed Bytes In Use", "p_memory_committed_bytes_in_use_ratio"),
            (&memory::COUNTERSET, "Free & Zero Page List Bytes", "p_memory_free_and_zero_page_list_bytes"),
            (&memory::COUNTERSET, "Pages/sec", "p_memory_pages_total"),
            (&network_interface::COUNTERSET, "Bytes Total/sec", "p_network_interface_bytes_total"),
            (
                &network_interface::COUNTERSET,
                "Bytes Received/sec",
                "p_network_interface_received_bytes_total",
            ),
            (
                &network_interface::COUNTERSET,
                "Current Bandwidth",
                "p_network_interface_current_bandwidth_bytes_per_second",
            ),
            (
                &network_interface::COUNTERSET,
                "Packets Received Errors",
                "p_network_interface_packets_received_errors_total",
            ),
            (
                &physical_disk::COUNTERSET,
                // An average is two counters, so that a server can divide the rates of both.
                "Avg. Disk sec/Read",
                "p_physicaldisk_avg_disk_read_seconds_total p_physicaldisk_avg_disk_read_seconds_base_total",
            ),
            (
                &physical_disk::COUNTERSET,
                "Avg. Disk Bytes/Read",
                "p_physicaldisk_avg_disk_read_bytes_total p_physicaldisk_avg_disk_read_bytes_base_total",
            ),
            (&physical_disk::COUNTERSET, "% Disk Read Time", "p_physicaldisk_disk_read_seconds_total"),
            (&physical_disk::COUNTERSET, "Split IO/Sec", "p_physicaldisk_split_io_total"),
            (&physical_disk::COUNTERSET, "Avg. Disk Queue Length", "p_physicaldisk_disk_queue_seconds_total"),
            (&logical_disk::COUNTERSET, "Free Megabytes", "p_logicaldisk_free_bytes"),
            (&logical_disk::COUNTERSET, "% Free Space", "p_logicaldisk_free_space_ratio"),
            (
                &block_io::COUNTERSET,
                "Avg. Sectors/Read",
                "p_block_io_avg_sectors_per_read_total p_block_io_avg_sectors_per_read_base_total",
            ),
            // OpenMetrics reserves the ends `_count` and `_total`. Elapsed time is its start time, which does
            // not change between scrapes.
            (&process_v2::COUNTERSET, "Thread Count", "p_process_v2_threads"),
            (&process_v2::COUNTERSET, "Elapsed Time", "p_process_v2_start_time_seconds"),
            (&process_v2::COUNTERSET, "Working Set", "p_process_v2_working_set_bytes"),
            (&system::COUNTERSET, "System Up Time", "p_system_system_start_time_seconds"),
            // A duration that is part of the name is one word, because only base units may stand in names.
            (&linux_system::COUNTERSET, "Load Average 5 Minutes", "p_linux_system_load_avg_5m"),
            (
                &pressure_stall::COUNTERSET,
                "% Some Stalled Time 10 Seconds",
                "p_pressure_stall_some_stalled_time_10s_ratio",
            ),
            (
                &pressure_stall::COUNTERSET,
                "% Some Stalled Time",
                "p_pressure_stall_some_stalled_seconds_total",
            ),
            (&linux_memory::COUNTERSET, "HugePages_Total", "p_linux_memory_hugepages"),
            (&linux_memory::COUNTERSET, "Active(anon)", "p_linux_memory_active_anon_bytes"),
            (
                &perfset_engine::COUNTERSET,
                "Last Collection Nanoseconds",
                "p_perfset_engine_last_collection_seconds",
            ),
            (
                &perfset_engine::COUNTERSET,
                "Average Collection Time",
                "p_perfset_engine_avg_collection_seconds_total \
                 p_perfset_engine_avg_collection_seconds_base_total",
            ),
            (
                &thermal_zone_information::COUNTERSET,
                "Temperature",
                "p_thermal_zone_information_temperature_celsius",
            ),
            (
                &memory::COUNTERSET,
                "Long-Term Average Standby Cache Lifetime (s)",
                "p_memory_long_term_avg_standby_cache_lifetime_seconds",
            ),
            (&gpu_engine::COUNTERSET, "Utilization Percentage", "p_gpu_engine_utilization_seconds_total"),
            (&linux_gpu::COUNTERSET, "Fan Speed", "p_linux_gpu_fan_speed_rpm"),
            (
                &linux_gpu::COUNTERSET,
                "PCIe Receive Throughput",
                "p_linux_gpu_pcie_receive_throughput_bytes_per_second",
            ),
        ] {
            assert_eq!(names(set, counter), want, "{counter}");
        }
    }

    #[test]
    fn names_of_strangers() {
        use perfset_core::CounterType;
        let set = |name: &'static str| {
            Counterset::new(catalogue::memory::GUID, name, perfset_core::InstanceType::Single)
        };
        let counter = |name: &'static str, code| Counter::new(CounterId(7), code).name(name);
        let (count, number) =
            (CounterType::PERF_COUNTER_BULK_COUNT, CounterType::PERF_COUNTER_LARGE_RAWCOUNT);
        for (set_name, name, code, want) in [
            ("A", "B", count, "p_a_b_total"),
            ("A", "# Of Bees", number, "p_a_number_of_bees"),
            ("A", "Bees # 1", number, "p_a_bees_number_1"),
            ("A", "1. \"B\"\n{c=\"d\"} 5", number, "p_a_1_b_c_d_5"),
            ("Пчёлы", "Мёд", number, "p_set_aabbccdd_counter_7"),
            ("A", "", number, "p_a_counter_7"),
            ("A", "Sum", number, "p_a_sum_value"),
            ("A", "Count", number, "p_a_count_value"),
            ("A", "Bus Count", number, "p_a_bus"),
            ("A", "Total", number, "p_a_total_value"),
            ("A", "Total", count, "p_a_total"),
            ("A", "Requests/sec", count, "p_a_requests_total"),
            ("A", "KB/Requests", count, "p_a_kb_per_requests_total"),
        ] {
            let mut set = set(set_name);
            set.guid = "aabbccdd-0000-0000-0000-000000000001".parse().unwrap();
            let counter = counter(name, code);
            let metric = metrics(&counter, CounterTraits::default())[0];
            assert_eq!(generated("p", &set, &counter, &metric), want, "{name:?}");
        }
    }

    /// Checks that metric names are unique within a counterset, except for counters of the same value in another unit.
    #[test]
    fn no_two_counters_of_the_catalogue_share_a_name() {
        for set in catalogue::ALL {
            let mut seen: HashMap<String, String> = HashMap::new();
            for counter in set.counters.iter() {
                let label = counter.name.as_deref().unwrap_or_default();
                let known = crate::catalogue::known(&set.guid, counter.id);
                for metric in metrics(counter, known) {
                    let name = generated("p", set, counter, &metric);
                    assert!(is_prefix(&name), "{name}");
                    if matches!(label, "Available KBytes" | "Available MBytes") {
                        continue;
                    }
                    if let Some(other) = seen.insert(name.clone(), label.to_owned()) {
                        panic!("{}: {other} and {label} are both {name}", set.name);
                    }
                }
            }
        }
    }

    #[test]
    fn prefixes() {
        for (text, good) in [
            ("perf", true),
            ("_", true),
            ("a1", true),
            ("", false),
            ("1a", false),
            ("a:b", false),
            ("a-b", false),
            ("ä", false),
        ] {
            assert_eq!(is_prefix(text), good, "{text}");
        }
    }
}
