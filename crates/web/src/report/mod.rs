//! Report about a part of a log: one HTML file that shows everything without a network.
//!
//! The file has the findings of the range, charts, tables and the commands that repeat it. It contains the modules of
//! the server's page, and its content security policy forbids every request. Names of the log are text in it, whatever
//! they contain.
//!
//! ```no_run
//! use perfset::log::Logs;
//! use perfset_web::report::{ReportOptions, report};
//!
//! let logs = Logs::open(&["customer.blg"])?;
//! let options = ReportOptions { files: vec!["customer.blg".into()], ..ReportOptions::default() };
//! let report = report(&logs, perfset::Window::default(), &options)?;
//! std::fs::write("customer.html", report.html)?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod axis;
mod bucket;
mod charts;
mod commands;
mod data;
mod findings;
mod html;
mod lines;
mod page;
mod reading;
mod scripts;
mod tables;
#[cfg(test)]
mod tests;

use std::time::Instant;

use perfset::log::Logs;
use perfset::log::recording::Recording;
use perfset::path::{BindError, CounterPath};
use perfset::{SourceError, Window};

use crate::log::to_unix_ms;
use axis::TimeAxis;
use charts::{ChartPlan, ChosenChart, lines_of};
use commands::LogOptions;
use data::{DataJson, MarkJson};
use findings::{FindingsReport, findings};
use lines::ReportLines;
use page::ReportPage;
use reading::{LogReader, SeriesBook};

/// Maximum number of marks that the charts of a report show.
const MARKS_MOST: usize = 200;

/// Options of a report about a part of a log.
#[derive(Clone, Debug, Default)]
pub struct ReportOptions {
    /// Title of the report; the default is the name of the machine.
    pub title: Option<String>,
    /// Counter paths with a chart of their own, in addition to the usual charts of the report.
    pub counters: Vec<CounterPath>,
    /// Requested counters that the log does not have, each with the reason: the report has charts without a line for
    /// them.
    pub missing: Vec<(String, String)>,
    /// Names of the log's files, as a reader of the report names them in commands.
    pub files: Vec<String>,
    /// Descriptions of the log's files, such as their formats; can be shorter than `files`.
    pub about: Vec<String>,
    /// Name of the machine, if commands need it to select one of several in the log.
    pub machine: Option<String>,
    /// Time at which the report must be complete; after it, [`report`] returns an error.
    pub due: Option<Instant>,
}

/// Report about a part of a log.
#[derive(Clone, Debug)]
pub struct Report {
    /// HTML text of the report's file.
    pub html: String,
    /// Number of samples in the report's range.
    pub samples: usize,
    /// Number of charts in the report.
    pub charts: usize,
    /// Number of findings of the report, over all instants.
    pub findings: usize,
}

/// Reason why a report cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// Error for a log that has no sample in the report's range.
    #[error("the log has no sample in that time")]
    NoSample,
    /// Error for a counter path that selects no counter of the log.
    #[error("{path}: {error}")]
    Path {
        /// Counter path as the caller requested it.
        path: String,
        /// Reason why the path selects no counter.
        error: BindError,
    },
    /// Error for a log that cannot be read.
    #[error("the log cannot be read: {0}")]
    Source(#[from] SourceError),
    /// Error for a log that takes longer to read than permitted.
    #[error("reading the log takes too long: choose a shorter time")]
    TooLong,
    /// Error of a system that returns no random numbers, which the content security policy needs.
    #[error("the system returned no random numbers: {0}")]
    NoRandom(String),
}

/// Writes a report about the samples of a log in a window. The log is read in several passes; memory does not grow with
/// its length, except by the times of its samples.
///
/// # Errors
/// If the log has no sample in the window or no counter for a requested path, or cannot be read.
pub fn report(logs: &Logs, window: Window, options: &ReportOptions) -> Result<Report, ReportError> {
    let mut times = logs.times()?;
    times.sort_unstable();
    times.dedup();
    let from = times.partition_point(|time| window.begin.is_some_and(|begin| *time < begin));
    let until = times.partition_point(|time| window.end.is_none_or(|end| *time <= end));
    let in_range = times.get(from..until).unwrap_or_default().to_vec();
    let axis = TimeAxis::new(in_range).ok_or(ReportError::NoSample)?;
    let marks = marks(logs, &axis);
    let mark_times: Vec<i64> = marks.iter().map(|(time, _)| *time).collect();
    let found = findings(logs, &times, ((from, until), &mark_times), options.due)?;
    drop(times);
    let content = content(logs, window, &axis, (options, &marks))?;
    let log = LogOptions::new(&options.files, options.machine.as_deref());
    let is_whole = window.begin.is_none() && window.end.is_none();
    let page = ReportPage {
        logs,
        options,
        axis: &axis,
        log: &log,
        range: (!is_whole).then_some(axis.span),
        found: &found,
        content: &content,
    };
    let html = page.html()?;
    let (charts, findings) = (content.charts.len(), found_count(&found));
    Ok(Report { html, samples: axis.samples, charts, findings })
}

/// Returns `true` if each sample of a log has all counters, as in a single log of other programs. A recorder reads
/// some countersets less often than others, and several logs can have different intervals.
fn has_all_in_each_sample(logs: &Logs) -> bool {
    logs.recording().is_none() && logs.damages().len() == 1
}

fn found_count(found: &FindingsReport) -> usize {
    found.found.len().saturating_add(found.more)
}

/// Charts and tables of a report with their values.
struct ReportContent {
    charts: Vec<ChosenChart>,
    /// Charts that the report could have, and that have no value in the range.
    without: Vec<ChosenChart>,
    plan: ChartPlan,
    tables: Vec<tables::ReportTable>,
    data: DataJson,
    /// Number of values whose series were not counted, because the log has too many series.
    refused: u64,
}

/// Reads the log for the charts and tables of a report: first the totals of all series, then the rows of the chosen
/// series.
fn content(
    logs: &Logs,
    window: Window,
    axis: &TimeAxis,
    (options, marks): (&ReportOptions, &[(i64, String)]),
) -> Result<ReportContent, ReportError> {
    let mut plan = ChartPlan::new(logs, &options.counters);
    let planned = tables::plan(logs, &mut plan);
    let reader = LogReader::new(logs, window, &plan.paths, options.due)?;
    let mut book = SeriesBook::default();
    reader.each(&|_| true, &mut |sample| book.count(sample))?;
    let chosen = plan.charts.iter().map(|chart| chart.choose(&plan.paths, &book));
    let is_shown = |chart: &ChosenChart| !chart.series.is_empty() || chart.is_requested;
    let (chosen, without): (Vec<_>, Vec<_>) = chosen.partition(is_shown);
    let charts: Vec<_> = options.missing.iter().map(ChosenChart::missing).chain(chosen).collect();
    let (all, line_of) = lines_of(&charts);
    // A recording has some countersets at some of its samples only.
    let holds = logs.recording().is_some();
    let lines = ReportLines::read(&reader, &mut book, &all, (axis, holds))?;
    let mark = |(time, text): &(i64, String)| MarkJson { time: to_unix_ms(*time), text: text.clone() };
    let marks = marks.iter().take(MARKS_MOST).map(mark).collect();
    let data = DataJson::new(axis, (&charts, &book), (&all, &line_of, &lines), marks);
    let tables = planned.iter().filter_map(|table| table.table(&book)).collect();
    Ok(ReportContent { charts, without, tables, data, refused: book.refused, plan })
}

/// Returns the marks of users in the report's range, with their texts.
fn marks(logs: &Logs, axis: &TimeAxis) -> Vec<(i64, String)> {
    let marks = logs.recording().map(Recording::annotations).unwrap_or_default();
    let (first, last) = axis.span;
    let in_range = marks.iter().filter(|mark| !mark.is_of_recorder && (first..=last).contains(&mark.time));
    in_range.map(|mark| (mark.time, mark.text.clone())).collect()
}
