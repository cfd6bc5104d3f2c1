//! PDH-CSV output: a column for each series, named in the first line.

use std::io;

use perfset::log::text::{Header, TextLogWriter, TextNumber};
use perfset::path::PathValue;

use crate::series::{DistinctPaths, SeriesMap};

/// Writer of samples as PDH-CSV. The first line names the columns: all series of a log, which are learned before, or
/// the series of a machine's first sample.
#[derive(Debug, Default)]
pub struct PdhCsv {
    series: SeriesMap,
    /// Columns, indexed by the series number from `series`.
    columns: Vec<CsvColumn>,
    /// Writer, and the series of each column; `None` until the first line is written.
    log: Option<(TextLogWriter<Vec<u8>>, Vec<usize>)>,
    numbers: Vec<Option<TextNumber>>,
    /// Number of values that have no column.
    left_out: u64,
}

/// Column of a series.
#[derive(Debug)]
struct CsvColumn {
    /// Index of the requested path.
    path_index: usize,
    path: String,
    /// `false` while the column stands for a path without any instance so far.
    has_instance: bool,
}

impl PdhCsv {
    /// Adds columns for the series of a sample. `path` returns the path of a value.
    pub fn learn(&mut self, values: &[PathValue<'_>], path: impl Fn(&PathValue<'_>) -> String) {
        for (position, v) in values.iter().enumerate() {
            let number = self.series.number(position, v.path, v);
            let has_instance = v.value.instance_id.is_some();
            match self.columns.get_mut(number) {
                None => self.columns.push(CsvColumn { path_index: v.path, path: path(v), has_instance }),
                // The instance that the path names has appeared, with its own spelling.
                Some(column) if has_instance && !column.has_instance => {
                    (column.path, column.has_instance) = (path(v), true);
                }
                Some(_) => {}
            }
        }
    }

    /// Appends a sample to `text`, at a time in 100 ns since 1601.
    pub fn sample(
        &mut self,
        time: i64,
        values: &[PathValue<'_>],
        path: impl Fn(&PathValue<'_>) -> String,
        number: impl Fn(&PathValue<'_>) -> Option<TextNumber>,
        text: &mut String,
    ) -> io::Result<()> {
        // Later instances of a machine get no column, because the first line is written already.
        if self.columns.is_empty() {
            self.learn(values, path);
        }
        let Self { series, columns, log, numbers, left_out } = self;
        let (writer, order) = match log {
            Some(log) => log,
            none => {
                let order = in_order(columns);
                let mut distinct = DistinctPaths::default();
                let paths = order.iter().filter_map(|at| columns.get(*at));
                let paths = paths.map(|column| distinct.distinct(column.path_index, column.path.clone()));
                none.insert((TextLogWriter::new(Vec::new(), &Header::new(paths.collect()))?, order))
            }
        };
        numbers.clear();
        numbers.resize(columns.len(), None);
        for (position, v) in values.iter().enumerate() {
            let found = series.find(position, v.path, v);
            match (found.and_then(|at| numbers.get_mut(at)), number(v)) {
                (Some(cell), number) => *cell = number,
                (None, Some(_)) => *left_out = left_out.saturating_add(1),
                (None, None) => {}
            }
        }
        writer.line(time, order.iter().map(|at| numbers.get(*at).cloned().flatten()))?;
        text.push_str(&String::from_utf8_lossy(writer.get_mut()));
        writer.get_mut().clear();
        Ok(())
    }

    /// Returns the number of values without a column, because their instances appeared later.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

/// Returns the series that have a column, in the order of the requested paths. The placeholder of a path without
/// instances counts only if the path has no other series.
fn in_order(columns: &[CsvColumn]) -> Vec<usize> {
    let mut order: Vec<(usize, usize)> = columns.iter().map(|column| column.path_index).zip(0..).collect();
    let is_answered = |path_index: usize| {
        columns.iter().any(|column| column.has_instance && column.path_index == path_index)
    };
    order.retain(|(path_index, at)| {
        columns.get(*at).is_some_and(|column| column.has_instance) || !is_answered(*path_index)
    });
    order.sort_unstable();
    order.into_iter().map(|(_, at)| at).collect()
}
