//! What an exporter says of itself.

use crate::family::line;
use crate::options::Format;
use crate::table::{Outcome, Table};
use crate::text::{escaped_label, real, whole};

/// What the exporter says of itself.
#[derive(Debug)]
pub(crate) struct Own {
    build: [String; 2],
    took: String,
    success: String,
    dropped: String,
    /// By table: its label.
    labels: Vec<String>,
}

impl Own {
    pub fn new(prefix: &str, tables: &[Table]) -> Self {
        let label = |table: &Table| format!("{{counterset=\"{}\"}} ", escaped_label(&table.set.name));
        Self {
            build: ["_info", ""].map(|end| format!("{prefix}_exporter_build{end}")),
            took: format!("{prefix}_exporter_collector_duration_seconds"),
            success: format!("{prefix}_exporter_collector_success"),
            dropped: format!("{prefix}_exporter_series_dropped"),
            labels: tables.iter().map(label).collect(),
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.build.iter().chain([&self.took, &self.success, &self.dropped])
    }

    pub fn write(&self, tables: &[Table], format: Format, out: &mut Vec<u8>) {
        let [info, build] = &self.build;
        let (family, sort) = if format == Format::OpenMetrics { (build, "info") } else { (info, "gauge") };
        head(out, family, sort, "Which perfset this is.");
        out.extend_from_slice(info.as_bytes());
        out.extend_from_slice(concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1\n").as_bytes());

        head(out, &self.took, "gauge", "How long the collection of a counterset took.");
        if format == Format::OpenMetrics {
            line(out, "UNIT", &self.took, |out| out.extend_from_slice(b"seconds"));
        }
        self.each(&self.took, tables, out, |table, out| real(out, table.took.as_secs_f64()));
        head(out, &self.success, "gauge", "Whether a counterset could be collected.");
        let success = |table: &Table, out: &mut Vec<u8>| whole(out, (table.outcome == Outcome::Good).into());
        self.each(&self.success, tables, out, success);
        head(out, &self.dropped, "gauge", "Series that the limit left out, and such as nothing tells apart.");
        let dropped = |table: &Table, out: &mut Vec<u8>| {
            whole(out, u64::try_from(table.dropped).unwrap_or(u64::MAX));
        };
        self.each(&self.dropped, tables, out, dropped);
    }

    fn each(
        &self,
        name: &str,
        tables: &[Table],
        out: &mut Vec<u8>,
        mut write: impl FnMut(&Table, &mut Vec<u8>),
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
