//! Metrics of an exporter about itself.

use std::collections::HashSet;

use perfset_engine::path::CounterPath;

use crate::binding::Binding;
use crate::family::line;
use crate::options::{ExpositionFormat, Profile};
use crate::table::{CountersetTable, Outcome};
use crate::text::{escaped_label, real, whole};

/// Names and labels of the metrics about the exporter itself.
#[derive(Debug)]
pub(crate) struct ExporterMetrics {
    names: OwnNames,
    /// Label value that names the counterset, for each exported table.
    labels: Vec<String>,
    /// Label values that name the counterset, for countersets that do not exist yet.
    waiting: Vec<String>,
}

/// Names of the metrics about the exporter itself.
#[derive(Clone, Debug)]
pub(crate) struct OwnNames {
    /// Names of the metric with the version: the name of its line, and the name of its family in OpenMetrics.
    build: [String; 2],
    /// Names of the metrics with duration and success of a counterset's collection, and the label with the
    /// counterset, for each scheme.
    collected: Vec<(String, String, &'static str)>,
    /// Name of the metric with the number of series left out of a counterset.
    dropped: String,
    /// Name of the metric with the number of instances that totals of a counterset lack.
    missing: String,
}

impl OwnNames {
    pub fn new(profiles: &[Profile], prefix: &str) -> Self {
        let own = |end: &str| format!("{prefix}_exporter_{end}");
        let mut collected = Vec::new();
        if profiles.is_empty() || profiles.iter().any(|profile| *profile != Profile::NodeExporter) {
            collected.push((own("collector_duration_seconds"), own("collector_success"), "counterset"));
        }
        if profiles.contains(&Profile::NodeExporter) {
            let name = |end: &str| format!("node_scrape_collector_{end}");
            collected.push((name("duration_seconds"), name("success"), "collector"));
        }
        let build = [own("build_info"), own("build")];
        Self { build, collected, dropped: own("series_dropped"), missing: own("instances_missing") }
    }

    /// Returns `true` if a metric about the exporter itself has this name.
    pub fn has(&self, name: &str) -> bool {
        let is_collected = self.collected.iter().any(|(took, success, _)| took == name || success == name);
        is_collected || self.build.iter().chain([&self.dropped, &self.missing]).any(|own| own == name)
    }
}

impl ExporterMetrics {
    pub fn new(bound: &Binding, waiting: &[CounterPath]) -> Self {
        let labels: Vec<_> = bound.tables.iter().map(|table| escaped_label(&table.set.name)).collect();
        let mut seen: HashSet<_> = labels.iter().cloned().collect();
        let waiting = waiting.iter().map(|path| escaped_label(&path.counterset));
        // Several paths can wait for one counterset: two lines would be the same series twice.
        let waiting = waiting.filter(|label| seen.insert(label.clone())).collect();
        Self { names: bound.own_names.clone(), labels, waiting }
    }

    pub fn write(&self, tables: &[CountersetTable], format: ExpositionFormat, out: &mut Vec<u8>) {
        let OwnNames { build: [info, build], collected, dropped, missing } = &self.names;
        // OpenMetrics has a type for such metrics, whose family lacks the `_info` of its sample's name.
        // Prometheus text does not have it.
        let (family, sort) =
            if format == ExpositionFormat::OpenMetrics { (build, "info") } else { (info, "gauge") };
        head(out, family, sort, "Version of perfset.");
        out.extend_from_slice(info.as_bytes());
        out.extend_from_slice(concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1\n").as_bytes());

        for (took, success, label) in collected {
            head(out, took, "gauge", "Time that the collection of a counterset took.");
            if format == ExpositionFormat::OpenMetrics {
                line(out, "UNIT", took, |out| out.extend_from_slice(b"seconds"));
            }
            self.each(took, label, tables, out, |table, out| real(out, table.took.as_secs_f64()));
            head(out, success, "gauge", "1 if a counterset was collected, 0 if that failed.");
            let is_good = |table: &CountersetTable, out: &mut Vec<u8>| {
                whole(out, (table.outcome == Outcome::Good).into());
            };
            self.each(success, label, tables, out, is_good);
            // A missing counterset has no table. Without this line, an alert on 0 would not notice it.
            for waiting in &self.waiting {
                one(out, success, label, waiting);
                out.extend_from_slice(b"0\n");
            }
        }
        let help =
            "Series that are left out because of the limit, or because another series has the same labels.";
        head(out, dropped, "gauge", help);
        let count = |table: &CountersetTable, out: &mut Vec<u8>| {
            whole(out, u64::try_from(table.dropped).unwrap_or(u64::MAX));
        };
        self.each(dropped, "counterset", tables, out, count);
        let help = "Instances that could not be read, so that totals of the counterset do not include them.";
        head(out, missing, "gauge", help);
        self.each(missing, "counterset", tables, out, |table, out| whole(out, table.missing.into()));
    }

    fn each(
        &self,
        name: &str,
        label: &str,
        tables: &[CountersetTable],
        out: &mut Vec<u8>,
        mut write: impl FnMut(&CountersetTable, &mut Vec<u8>),
    ) {
        for (table, counterset) in tables.iter().zip(&self.labels) {
            one(out, name, label, counterset);
            write(table, out);
            out.push(b'\n');
        }
    }
}

/// Appends a line of a metric about the exporter, up to its value.
fn one(out: &mut Vec<u8>, name: &str, label: &str, counterset: &str) {
    for part in [name, "{", label, "=\"", counterset, "\"} "] {
        out.extend_from_slice(part.as_bytes());
    }
}

fn head(out: &mut Vec<u8>, family: &str, sort: &str, help: &str) {
    line(out, "HELP", family, |out| out.extend_from_slice(help.as_bytes()));
    line(out, "TYPE", family, |out| out.extend_from_slice(sort.as_bytes()));
}
