//! Tables of a report: processes, disks, volumes and network interfaces over the whole range.

use std::collections::HashMap;

use perfset::log::Logs;
use perfset::path::{CounterPath, resolve};

use super::charts::ChartPlan;
use super::reading::{ReportSeries, SeriesBook};

/// Maximum number of rows of a report's table.
const ROWS_MOST: usize = 20;

/// Calculation of a table's number from the values of a report's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellCalculation {
    /// Mean of a counter over the time in which there are values.
    Mean,
    /// Share of busy time, from the mean of an idle share in percent.
    Busy,
    Greatest,
    Least,
    Last,
    /// Total over the range, for a counter per second.
    Total,
    /// Seconds of processor time, calculated from a share of one processor in percent.
    ProcessorTime,
}

/// Specification of a column in a report's table.
#[derive(Clone, Copy, Debug)]
struct ColumnSpec {
    head: &'static str,
    /// Explanation of the column's head.
    title: &'static str,
    counter: &'static str,
    calculation: CellCalculation,
}

/// Specification of a report's table with the instances of a counterset.
#[derive(Clone, Copy, Debug)]
struct TableSpec {
    title: &'static str,
    rows: &'static str,
    /// Names of countersets with the same meaning; the first one that the log has is used.
    countersets: &'static [&'static str],
    columns: &'static [ColumnSpec],
    /// `true` if the table's rows are sorted with the least value of the first column first.
    is_ascending: bool,
    /// Columns whose greatest rows the table shows, with the number of these rows.
    shown: &'static [(usize, usize)],
}

const fn column(
    head: &'static str,
    title: &'static str,
    counter: &'static str,
    calculation: CellCalculation,
) -> ColumnSpec {
    ColumnSpec { head, title, counter, calculation }
}

const TABLES: &[TableSpec] = &[
    TableSpec {
        title: "Processes",
        rows: "process",
        countersets: &["Process V2", "Process"],
        columns: &[
            column(
                "CPU time",
                "processor time in the range",
                "% Processor Time",
                CellCalculation::ProcessorTime,
            ),
            column(
                "CPU, mean",
                "mean while it ran, in percent of one processor",
                "% Processor Time",
                CellCalculation::Mean,
            ),
            column("Memory, greatest", "greatest working set", "Working Set", CellCalculation::Greatest),
            column("Read", "bytes read in the range", "IO Read Bytes/sec", CellCalculation::Total),
            column("Written", "bytes written in the range", "IO Write Bytes/sec", CellCalculation::Total),
        ],
        is_ascending: false,
        shown: &[(0, 10), (2, 5), (3, 3), (4, 3)],
    },
    TableSpec {
        title: "Disks",
        rows: "disk",
        countersets: &["PhysicalDisk"],
        columns: &[
            column(
                "Busy, mean",
                "mean share of the time in which it had a request",
                "% Idle Time",
                CellCalculation::Busy,
            ),
            column("Read, mean", "mean per second", "Disk Read Bytes/sec", CellCalculation::Mean),
            column(
                "Read, greatest",
                "greatest of a sample",
                "Disk Read Bytes/sec",
                CellCalculation::Greatest,
            ),
            column("Written, mean", "mean per second", "Disk Write Bytes/sec", CellCalculation::Mean),
            column(
                "Written, greatest",
                "greatest of a sample",
                "Disk Write Bytes/sec",
                CellCalculation::Greatest,
            ),
            column(
                "Latency, greatest",
                "greatest mean time of a request in a sample",
                "Avg. Disk sec/Transfer",
                CellCalculation::Greatest,
            ),
        ],
        is_ascending: false,
        shown: &[(0, ROWS_MOST)],
    },
    TableSpec {
        title: "Volumes",
        rows: "volume",
        countersets: &["LogicalDisk"],
        columns: &[
            column("Free, last", "free share at the end", "% Free Space", CellCalculation::Last),
            column("Free, least", "least free share", "% Free Space", CellCalculation::Least),
            column("Free space, last", "free space at the end", "Free Megabytes", CellCalculation::Last),
            column("Read, mean", "mean per second", "Disk Read Bytes/sec", CellCalculation::Mean),
            column("Written, mean", "mean per second", "Disk Write Bytes/sec", CellCalculation::Mean),
        ],
        is_ascending: true,
        shown: &[(0, ROWS_MOST)],
    },
    TableSpec {
        title: "Network interfaces",
        rows: "interface",
        countersets: &["Network Interface"],
        columns: &[
            column("Received, mean", "mean per second", "Bytes Received/sec", CellCalculation::Mean),
            column(
                "Received, greatest",
                "greatest of a sample",
                "Bytes Received/sec",
                CellCalculation::Greatest,
            ),
            column("Received", "bytes received in the range", "Bytes Received/sec", CellCalculation::Total),
            column("Sent, mean", "mean per second", "Bytes Sent/sec", CellCalculation::Mean),
            column("Sent, greatest", "greatest of a sample", "Bytes Sent/sec", CellCalculation::Greatest),
            column("Sent", "bytes sent in the range", "Bytes Sent/sec", CellCalculation::Total),
        ],
        is_ascending: false,
        shown: &[(0, ROWS_MOST)],
    },
];

/// Table of a report as it is planned before the log is read.
#[derive(Clone, Debug)]
pub struct PlannedTable {
    spec: &'static TableSpec,
    /// Index of the counter path of each table column in the report's list; `None` if the log has no such counter.
    paths: Vec<Option<usize>>,
}

/// Cell of a report's table: a number or the reason for a missing one.
#[derive(Clone, Debug, PartialEq)]
pub enum TableCell {
    /// Number of a table cell with its unit.
    Number(f64, String),
    /// Lower bound in a table cell with its unit: some values of the range are missing.
    AtLeast(f64, String),
    /// Reason why a table cell has no number.
    Missing(String),
}

/// Table of a report with its numbers.
#[derive(Clone, Debug)]
pub struct ReportTable {
    pub title: &'static str,
    /// Name of the table's first column, which has the names of instances.
    pub rows: &'static str,
    /// Heads and explanations of the table's other columns.
    pub heads: Vec<(&'static str, &'static str)>,
    /// Names of the table's rows, and their numbers.
    pub body: Vec<(String, Vec<TableCell>)>,
    /// Number of all instances that the table could show.
    pub of: usize,
}

/// Plans the tables of a report, and adds their counter paths to the plan.
pub fn plan(logs: &Logs, plan: &mut ChartPlan) -> Vec<PlannedTable> {
    let mut tables = Vec::new();
    for spec in TABLES {
        let path_of = |set: &str, counter: &str| {
            let path = CounterPath {
                machine: None,
                counterset: set.to_owned(),
                instance: Some("*".to_owned()),
                counter: counter.to_owned(),
            };
            resolve(&mut logs.machine().clone(), &path).ok().map(|_| path)
        };
        let bound = |set: &&str| {
            let paths: Vec<_> = spec.columns.iter().map(|column| path_of(set, column.counter)).collect();
            paths.iter().any(Option::is_some).then_some(paths)
        };
        let Some(paths) = spec.countersets.iter().find_map(bound) else { continue };
        let paths = paths.into_iter().map(|path| path.map(|path| plan.index_of(path))).collect();
        tables.push(PlannedTable { spec, paths });
    }
    tables
}

impl PlannedTable {
    /// Returns the table with numbers from the totals of all series; `None` if no instance has any value.
    pub fn table(&self, book: &SeriesBook) -> Option<ReportTable> {
        let mut rows: Vec<(&str, Vec<Option<&ReportSeries>>)> = Vec::new();
        let mut of_row = HashMap::<&[u8], usize>::new();
        for series in book.series.iter().filter(|series| !series.is_total) {
            if !self.paths.contains(&Some(series.asked)) {
                continue;
            }
            let at = *of_row.entry(&series.row).or_insert_with(|| {
                rows.push((&series.instance, vec![None; self.paths.len()]));
                rows.len().saturating_sub(1)
            });
            let Some((_, cells)) = rows.get_mut(at) else { continue };
            for (cell, _) in
                cells.iter_mut().zip(&self.paths).filter(|(_, path)| **path == Some(series.asked))
            {
                *cell = Some(series);
            }
        }
        let columns = self.spec.columns;
        let seconds = |series: &ReportSeries| book.seconds.get(&series.asked).copied().unwrap_or_default();
        let mut all: Vec<(String, Vec<TableCell>)> = Vec::new();
        for (name, series) in rows {
            let cells = series.iter().zip(&self.paths).zip(columns);
            let cells: Vec<TableCell> = cells
                .map(|((series, path), column)| match (series, path) {
                    (Some(series), _) => cell(series, column.calculation, seconds(series)),
                    (None, None) => TableCell::Missing("the log does not have this counter".to_owned()),
                    (None, Some(_)) => TableCell::Missing("there is no value in the range".to_owned()),
                })
                .collect();
            all.push((name.to_owned(), cells));
        }
        let has_number =
            |(_, cells): &(String, Vec<TableCell>)| cells.iter().any(|cell| cell.number().is_some());
        all.retain(has_number);
        let of = all.len();
        let body = self.largest(all);
        let heads = columns.iter().map(|column| (column.head, column.title)).collect();
        let (title, rows) = (self.spec.title, self.spec.rows);
        (!body.is_empty()).then_some(ReportTable { title, rows, heads, body, of })
    }

    /// Returns the rows that the table shows, sorted by the first column.
    fn largest(&self, all: Vec<(String, Vec<TableCell>)>) -> Vec<(String, Vec<TableCell>)> {
        let order = |at: usize, (a, b): (&[TableCell], &[TableCell])| {
            let number = |cells: &[TableCell]| cells.get(at).and_then(TableCell::number);
            match (number(a), number(b)) {
                (Some(a), Some(b)) if self.spec.is_ascending => a.total_cmp(&b),
                (Some(a), Some(b)) => b.total_cmp(&a),
                // Rows without a number come last.
                (a, b) => b.is_some().cmp(&a.is_some()),
            }
        };
        let mut is_shown = vec![false; all.len()];
        for (column, most) in self.spec.shown {
            let mut places: Vec<usize> = (0..all.len()).collect();
            let cells = |at: &usize| all.get(*at).map_or(&[][..], |(_, cells)| cells.as_slice());
            places.sort_by(|a, b| order(*column, (cells(a), cells(b))));
            for at in places.into_iter().take(*most) {
                if let Some(is_shown) = is_shown.get_mut(at) {
                    *is_shown = true;
                }
            }
        }
        let shown = all.into_iter().zip(is_shown).filter(|(_, is_shown)| *is_shown);
        let mut shown: Vec<_> = shown.map(|(row, _)| row).collect();
        shown.sort_by(|(a_name, a), (b_name, b)| order(0, (a, b)).then_with(|| a_name.cmp(b_name)));
        shown
    }
}

impl TableCell {
    /// Returns the number of the table cell, also if it is a lower bound.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number, _) | Self::AtLeast(number, _) => Some(*number),
            Self::Missing(_) => None,
        }
    }
}

/// Calculates the number of a table cell from the values of a series. A sum is a lower bound if there are not values
/// of all `seconds` of the range: what an instance used before its first rate and after its last one is not known.
fn cell(series: &ReportSeries, calculation: CellCalculation, seconds: f64) -> TableCell {
    let totals = &series.totals;
    // A sum of many parts is not exact to the last digit.
    let is_partial = totals.has_gap || totals.seconds < seconds * (1.0 - 1e-9);
    let sum = || (totals.seconds > 0.0).then_some(totals.sum);
    let (number, unit) = match calculation {
        CellCalculation::Mean => (totals.mean(), &*series.unit),
        CellCalculation::Busy => (totals.mean().map(|idle| (100.0 - idle).max(0.0)), "%"),
        CellCalculation::Greatest => (totals.ends.map(|(_, greatest)| greatest), &*series.unit),
        CellCalculation::Least => (totals.ends.map(|(least, _)| least), &*series.unit),
        CellCalculation::Last => (totals.last, &*series.unit),
        CellCalculation::Total => (sum(), series.unit.strip_suffix("/s").unwrap_or(&series.unit)),
        CellCalculation::ProcessorTime => (sum().map(|sum| sum / 100.0), "s"),
    };
    let is_sum = matches!(calculation, CellCalculation::Total | CellCalculation::ProcessorTime);
    match number.filter(|number| number.is_finite()) {
        Some(number) if is_sum && is_partial => TableCell::AtLeast(number, unit.to_owned()),
        Some(number) => TableCell::Number(number, unit.to_owned()),
        None => TableCell::Missing(
            totals
                .reason
                .as_ref()
                .map_or_else(|| "there is no value in the range".to_owned(), ToString::to_string),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfset::NoValue;

    use crate::report::reading::SeriesTotals;

    fn series(totals: SeriesTotals, unit: &str) -> ReportSeries {
        ReportSeries {
            asked: 0,
            row: Box::default(),
            path: String::new(),
            counterset: String::new(),
            counter: String::new(),
            instance: String::new(),
            unit: unit.to_owned(),
            range: "",
            is_total: false,
            totals,
        }
    }

    #[test]
    fn numbers_of_a_range() {
        let totals = SeriesTotals {
            sum: 500.0,
            seconds: 10.0,
            count: 5,
            ends: Some((1.0, 90.0)),
            last: Some(7.0),
            ..SeriesTotals::default()
        };
        let number = |number, unit: &str| TableCell::Number(number, unit.to_owned());
        for (calculation, unit, want) in [
            (CellCalculation::Mean, "%", number(50.0, "%")),
            (CellCalculation::Busy, "%", number(50.0, "%")),
            (CellCalculation::Greatest, "By/s", number(90.0, "By/s")),
            (CellCalculation::Least, "By/s", number(1.0, "By/s")),
            (CellCalculation::Last, "MiBy", number(7.0, "MiBy")),
            (CellCalculation::Total, "By/s", number(500.0, "By")),
            (CellCalculation::ProcessorTime, "%", number(5.0, "s")),
        ] {
            assert_eq!(cell(&series(totals.clone(), unit), calculation, 10.0), want, "{calculation:?}");
        }
        let at_least = TableCell::AtLeast(500.0, "By".to_owned());
        // It ended before the range did, or there was a gap.
        assert_eq!(cell(&series(totals.clone(), "By/s"), CellCalculation::Total, 11.0), at_least);
        let gap = SeriesTotals { has_gap: true, ..totals };
        assert_eq!(cell(&series(gap, "By/s"), CellCalculation::Total, 10.0), at_least);
    }

    #[test]
    fn unknown_is_never_zero() {
        let totals = SeriesTotals { missing: 3, reason: Some(NoValue::Late), ..SeriesTotals::default() };
        for calculation in
            [CellCalculation::Mean, CellCalculation::Busy, CellCalculation::Last, CellCalculation::Total]
        {
            let TableCell::Missing(reason) = cell(&series(totals.clone(), "By/s"), calculation, 10.0) else {
                panic!("{calculation:?}")
            };
            assert_eq!(reason, NoValue::Late.to_string());
        }
        assert!(matches!(
            cell(&series(SeriesTotals::default(), "%"), CellCalculation::Mean, 10.0),
            TableCell::Missing(_)
        ));
    }
}
