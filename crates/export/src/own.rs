//! Metrics of an exporter about itself.

use std::collections::HashSet;

use perfset_engine::path::CounterPath;

use crate::binding::Binding;
use crate::family::line;
use crate::options::ExpositionFormat;
use crate::table::{CountersetTable, Outcome};
use crate::text::{escaped_label, real, whole};

/// Names and labels of the metrics about the exporter itself.
#[derive(Debug)]
pub(crate) struct ExporterMetrics {
    build: [String; 2],
    took: String,
    success: String,
    dropped: String,
    missing: String,
    /// Label with the counterset of each table.
    labels: Vec<String>,
    /// Labels of the countersets that do not exist yet.
    waiting: Vec<String>,
}

/// Returns the names of the metrics about the exporter itself: its version, in two forms, and four for each
/// counterset. These are the duration of the collection, its success, and the numbers of series left out and of
/// instances that totals lack.
pub(crate) fn own_names(prefix: &str) -> [String; 6] {
    [
        "build_info",
        "build",
        "collector_duration_seconds",
        "collector_success",
        "series_dropped",
        "instances_missing",
    ]
    .map(|end| format!("{prefix}_exporter_{end}"))
}

impl ExporterMetrics {
    pub fn new(bound: &Binding, waiting: &[CounterPath]) -> Self {
        let label = |name: &str| format!("{{counterset=\"{}\"}} ", escaped_label(name));
        let labels: Vec<_> = bound.tables.iter().map(|table| label(&table.set.name)).collect();
        let mut seen: HashSet<_> = labels.iter().cloned().collect();
        let waiting = waiting.iter().map(|path| label(&path.counterset));
        // Several paths can wait for one counterset: two lines would be the same series twice.
        let waiting = waiting.filter(|label| seen.insert(label.clone())).collect();
        let [info, build, took, success, dropped, missing] = bound.own_names.clone();
        Self { build: [info, build], took, success, dropped, missing, labels, waiting }
    }

    pub fn write(&self, tables: &[CountersetTable], format: ExpositionFormat, out: &mut Vec<u8>) {
        let [info, build] = &self.build;
        // OpenMetrics has a type for such metrics, whose family lacks the `_info` of its sample's name.
        // Prometheus text does not have it.
        let (family, sort) =
            if format == ExpositionFormat::OpenMetrics { (build, "info") } else { (info, "gauge") };
        head(out, family, sort, "Which perfset this is.");
        out.extend_from_slice(info.as_bytes());
        out.extend_from_slice(concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1\n").as_bytes());

        head(out, &self.took, "gauge", "How long the collection of a counterset took.");
        if format == ExpositionFormat::OpenMetrics {
            line(out, "UNIT", &self.took, |out| out.extend_from_slice(b"seconds"));
        }
        self.each(&self.took, tables, out, |table, out| real(out, table.took.as_secs_f64()));
        head(out, &self.success, "gauge", "Whether a counterset could be collected.");
        let success =
            |table: &CountersetTable, out: &mut Vec<u8>| whole(out, (table.outcome == Outcome::Good).into());
        self.each(&self.success, tables, out, success);
        // A missing counterset has no table. Without this line, an alert on 0 would not notice it.
        for label in &self.waiting {
            for part in [&self.success, label, "0\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        }
        head(out, &self.dropped, "gauge", "Series that the limit left out, and such as nothing tells apart.");
        let dropped = |table: &CountersetTable, out: &mut Vec<u8>| {
            whole(out, u64::try_from(table.dropped).unwrap_or(u64::MAX));
        };
        self.each(&self.dropped, tables, out, dropped);
        head(
            out,
            &self.missing,
            "gauge",
            "Instances that could not be read and that totals of a counterset lack.",
        );
        self.each(&self.missing, tables, out, |table, out| whole(out, table.missing.into()));
    }

    fn each(
        &self,
        name: &str,
        tables: &[CountersetTable],
        out: &mut Vec<u8>,
        mut write: impl FnMut(&CountersetTable, &mut Vec<u8>),
    ) {
        for (table, label) in tables.iter().zip(&self.labels) {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(label.as_bytes());
            write(table, out);
            out.push(b'\n');
        }
    }
}

fn head(out: &mut Vec<u8>, family: &str, sort: &str, help: &str) {
    line(out, "HELP", family, |out| out.extend_from_slice(help.as_bytes()));
    line(out, "TYPE", family, |out| out.extend_from_slice(sort.as_bytes()));
}
