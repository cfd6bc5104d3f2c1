//! State of an interactive screen, and its changes by keys and samples.

use std::sync::Arc;
use std::time::{Duration, Instant};

use perfset::log::recording::{Annotation, Recording};
use perfset::output::text::escaped;
use perfset::path::CounterPath;
use perfset::tables::TABLES;
use perfset::{Counterset, Fact, FactOptions, Window};

use crate::comparison::{Baseline, Comparison, RowNames};
use crate::feed::{Feed, FeedError, TablePlan};
use crate::presets::STRIP;
use crate::sample::{RowIdentity, TableSample, TableValue};
use crate::spans::{SpanTable, TableSpan};
use crate::tab::{TableChoice, TableTab};
use crate::timeline::Timeline;
use crate::tree::TreeRow;

mod compare;
mod keys;
mod prompt;
mod span;
#[cfg(test)]
pub mod tests;

pub use keys::KeyOutcome;
pub use prompt::{Prompt, PromptKind};
use span::SpanSource;

/// Maximum number of counters on the chart strip; the next constant is the usual number on a new screen's chart
/// strip.
pub const STRIP_MOST: usize = 6;
const STRIP_USUAL: usize = 3;

/// Numbers of samples of a log that the chart strip reads before and after the shown instant.
const AROUND: (usize, usize) = (400, 200);

/// Maximum time to read samples of a running recorder in one call; the next constant is the number of samples per
/// read.
const PAST_PATIENCE: Duration = Duration::from_millis(300);
const PAST_PART: usize = 16;

/// Counter on the chart strip above the table, with its label and unit.
#[derive(Clone, Debug, PartialEq)]
pub struct StripCounter {
    /// Label on the chart strip before the counter's values.
    pub label: String,
    /// Counter path of the chart strip's counter, which selects one value.
    pub path: CounterPath,
    /// UCUM unit of the chart strip's counter.
    pub unit: String,
}

/// List or details that cover the table on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Overlay {
    /// State without an overlay: the table is not covered.
    #[default]
    None,
    /// List of the keys and their functions, as an overlay.
    Help,
    /// Details about the table cell under the cursor, as an overlay.
    Detail {
        /// Facts about the instance of the details.
        facts: Vec<Fact>,
        /// Instance that the facts of the details are about.
        of: Option<RowIdentity>,
    },
    /// List of counters in which the user chooses the table's columns, with the index of the selected one.
    Columns(usize),
}

/// State of an interactive screen over a live source or logs: tables, a strip of charts above them, and a time
/// cursor.
#[derive(Debug)]
pub struct Viewer {
    feed: Feed,
    /// Countersets of the screen's source, sorted by name.
    pub(crate) countersets: Vec<Arc<Counterset>>,
    pub(crate) tabs: Vec<TableTab>,
    pub(crate) tab: usize,
    pub(crate) strip: Vec<StripCounter>,
    pub(crate) timeline: Timeline,
    /// Positions of the shown rows in the table's sample, in the order of the screen.
    pub(crate) order: Vec<usize>,
    /// Positions of the shown rows in a tree; empty if they are shown as a list.
    pub(crate) tree: Vec<TreeRow>,
    /// Number of the selected table row among the shown ones.
    pub(crate) row: usize,
    /// Identity of the instance at which the cursor stays while rows move; `None` if the cursor stays at its row
    /// number.
    selected: Option<RowIdentity>,
    pub(crate) column: usize,
    pub(crate) is_raw: bool,
    pub(crate) has_units: bool,
    pub(crate) overlay: Overlay,
    pub(crate) prompt: Option<Prompt>,
    /// Message on the screen's last line, shown until the next key press.
    pub(crate) message: Option<String>,
    /// Marks of the user and of the recording on the time line, sorted by time: time and text.
    pub(crate) marks: Vec<(i64, String)>,
    /// Span of time that the table shows instead of an instant.
    pub(crate) span: Option<TableSpan>,
    /// Last computed table of a span, and the state that it was computed from; no table if the span has no sample of
    /// it.
    spanned: Option<(SpanSource, Option<SpanTable>)>,
    /// `true` while further key presses are waiting, so that tables of spans are not computed yet.
    holds_spans: bool,
    /// Log or time range with which the shown log or range is compared.
    baseline: Option<Baseline>,
    /// Computed comparisons of the tabs' tables, or the reasons why they could not be computed.
    compared: Vec<(compare::ComparedTable, Result<Comparison, String>)>,
    /// `true` if no further earlier samples of the running recorder can be loaded for the table.
    has_all_past: bool,
    /// `true` if the user changed the columns and the table was not read with the new ones yet.
    has_new_columns: bool,
    /// Number of table rows that fit on the screen, by which the page keys move.
    pub(crate) page: usize,
    zone: jiff::tz::TimeZone,
    /// Name of the machine that the screen shows, without control characters.
    pub(crate) machine: String,
    /// Options that make `perfset get` read the shown log; empty for a live source.
    log_options: String,
}

impl Viewer {
    /// Creates the viewer of a live machine.
    ///
    /// # Errors
    /// If the machine has no counterset.
    pub fn live(feed: Feed, machine: &str) -> Result<Self, FeedError> {
        Self::new(feed, Timeline::live(), jiff::tz::TimeZone::system(), machine)
    }

    /// Creates the viewer of logs, which shows their last sample. `options` are those with which a command reads
    /// them, such as `--log rec`.
    ///
    /// # Errors
    /// If the logs cannot be read.
    pub fn of_logs(feed: Feed, zone: jiff::tz::TimeZone, options: &str) -> Result<Self, FeedError> {
        let (mut times, mut marks, mut machine) = (Vec::new(), Vec::new(), String::new());
        if let Some(logs) = feed.logs() {
            times = feed.times()?;
            let all: Vec<&Annotation> = logs.recording().map(Recording::annotations).unwrap_or_default();
            marks = all.iter().map(|mark| (mark.time, escaped(&mark.text))).collect();
            machine = escaped(logs.machine_name());
        }
        let at = times.len().saturating_sub(1);
        let timeline = Timeline::Log { times, at, sample: Arc::default(), strip: Vec::new() };
        let mut viewer = Self::new(feed, timeline, zone, &machine)?;
        (viewer.marks, viewer.log_options) = (marks, options.to_owned());
        viewer.go_to(at);
        Ok(viewer)
    }

    fn new(
        feed: Feed,
        timeline: Timeline,
        zone: jiff::tz::TimeZone,
        machine: &str,
    ) -> Result<Self, FeedError> {
        let countersets = feed.countersets();
        let mut tabs: Vec<_> =
            TABLES.iter().filter_map(|preset| TableTab::of_preset(preset, &countersets)).collect();
        if tabs.is_empty() {
            tabs.extend(countersets.first().map(TableTab::of));
        }
        let mut viewer = Self {
            feed,
            countersets,
            tabs,
            tab: 0,
            strip: Vec::new(),
            timeline,
            order: Vec::new(),
            tree: Vec::new(),
            row: 0,
            selected: None,
            column: 0,
            is_raw: false,
            has_units: true,
            overlay: Overlay::None,
            prompt: None,
            message: None,
            marks: Vec::new(),
            span: None,
            spanned: None,
            holds_spans: false,
            baseline: None,
            compared: Vec::new(),
            has_all_past: false,
            has_new_columns: false,
            page: 1,
            zone,
            machine: machine.to_owned(),
            log_options: String::new(),
        };
        viewer.add_presets(STRIP_USUAL);
        Ok(viewer)
    }

    /// Adds to the chart strip those of the first `count` preset counters that it lacks.
    fn add_presets(&mut self, count: usize) {
        for (label, paths) in STRIP.into_iter().take(count) {
            if self.strip.iter().all(|counter| counter.label != label) {
                let found = paths.iter().find_map(|text| self.strip_counter(label, text.parse().ok()?));
                self.strip.extend(found);
            }
        }
    }

    /// Adds the preset counters to the chart strip, up to six, for a terminal that has space for them.
    pub fn fill_strip(&mut self) {
        self.add_presets(STRIP_MOST);
        self.show_new_strip();
    }

    /// Reads the values of the chart strip's counters from a log again, after the chart strip has changed.
    fn show_new_strip(&mut self) {
        if let Timeline::Log { at, .. } = self.timeline {
            self.timeline.change_strip(|_| {});
            self.go_to(at);
        }
    }

    /// Returns a counter for the chart strip with this label and counter path, if the source has the counter.
    fn strip_counter(&self, label: &str, path: CounterPath) -> Option<StripCounter> {
        let is = |name: &str, wanted: &str| name.to_lowercase() == wanted.to_lowercase();
        let set = self.countersets.iter().find(|set| is(&set.name, &path.counterset))?;
        let counter = set.counters.iter().find(|counter| is(&counter.shown_name(), &path.counter))?;
        Some(StripCounter { label: label.to_owned(), path, unit: counter.unit.to_string() })
    }

    /// Returns `true` if the screen has no sample to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.timeline.end().is_none()
    }

    /// Returns the tab that the screen shows, if the source has any counterset.
    #[must_use]
    pub fn shown_tab(&self) -> Option<&TableTab> {
        self.tabs.get(self.tab)
    }

    /// Returns the sample that the screen shows: that of the instant, or one computed from a span of time or a
    /// comparison.
    #[must_use]
    pub fn sample(&self) -> Option<&TableSample> {
        if self.baseline.is_some() {
            return self.comparison().map(|comparison| &*comparison.sample);
        }
        self.span_table()
            .map(|table| &table.sample)
            .or_else(|| self.timeline.sample())
            .map(|sample| &**sample)
    }

    /// Returns the number of rows that the table shows. The rows are instances, or counters if there is one instance.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self.shown_tab() {
            Some(tab) if tab.is_single() => tab.lines().count(),
            _ => self.order.len(),
        }
    }

    /// Returns the positions of the table cell under the cursor: its row in the sample, and its column.
    #[must_use]
    pub(crate) fn cell(&self) -> Option<(usize, usize)> {
        match self.shown_tab()? {
            tab if tab.is_single() => Some((0, tab.lines().nth(self.row)?.last()?.0)),
            _ => Some((*self.order.get(self.row)?, self.column)),
        }
    }

    /// Returns the value of the table cell under the cursor.
    #[must_use]
    pub fn value(&self) -> Option<&TableValue> {
        let (row, column) = self.cell()?;
        self.sample()?.rows.get(row)?.values.get(column)
    }

    /// Returns the counter path of the table cell under the cursor.
    #[must_use]
    pub fn path(&self) -> Option<CounterPath> {
        let (row, column) = self.cell()?;
        let tab = self.shown_tab()?;
        let instance = match tab.is_single() {
            true => None,
            false => {
                let name = self.sample()?.rows.get(row)?.path_name();
                let names = self.comparison().map(|comparison| comparison.names);
                // Sums and idle time have no id in their names.
                let has_id = names == Some(RowNames::WithIds) && !self.is_sum(row);
                Some(if has_id { format!("{name}:*") } else { name })
            }
        };
        let counter = tab.columns.get(column)?.counter.shown_name().into_owned();
        Some(CounterPath { machine: None, counterset: tab.counterset.name.to_string(), instance, counter })
    }

    /// Returns `true` if a row of the shown sample is a sum over other rows, or idle time.
    fn is_sum(&self, row: usize) -> bool {
        self.sample().and_then(|sample| sample.rows.get(row)).is_some_and(|row| row.sums_up)
    }

    /// Returns the `perfset get` command that prints the table cell under the cursor.
    #[must_use]
    pub fn command(&self) -> Option<String> {
        let quoted = format!("'{}'", self.path()?.to_string().replace('\'', "'\\''"));
        let options = self.options_of_cell();
        Some(match options.is_empty() {
            true => format!("perfset get {quoted}"),
            false => format!("perfset get {options} {quoted}"),
        })
    }

    fn plan(&self) -> Option<TablePlan> {
        let tab = self.shown_tab()?;
        Some(TablePlan {
            counterset: Arc::clone(&tab.counterset),
            columns: tab.counters(),
            strip: self.strip.iter().map(|counter| counter.path.clone()).collect(),
        })
    }

    /// Collects a sample of a live source for the screen; does nothing over a log.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn collect(&mut self) -> Result<(), FeedError> {
        let Some(plan) = self.plan() else { return Ok(()) };
        if let Timeline::Live { .. } = self.timeline {
            let before = self.timeline.newest().cloned();
            if let Some(sample) = self.feed.collect(&plan, before.as_deref())? {
                self.timeline.push(sample);
            }
            self.arrange();
        }
        Ok(())
    }

    /// Reads earlier samples of a running recorder into the screen's history, for about 0.3 s. Returns `false` if
    /// there are no further ones.
    pub fn load_past(&mut self) -> bool {
        let is_live = matches!(self.timeline, Timeline::Live { .. }) && !self.has_all_past;
        let Some(plan) = self.plan().filter(|_| is_live) else { return false };
        let read = self.feed.open_past().and_then(|past| {
            let Some(past) = past else { return Ok(false) };
            // Opening a large recording can take as long.
            let begun = Instant::now();
            while begun.elapsed() < PAST_PATIENCE {
                let Some(first) = self.timeline.times().first().copied() else { return Ok(true) };
                let samples = past.before(first, PAST_PART, &plan)?;
                if samples.is_empty() || !self.timeline.prepend(samples) {
                    return Ok(false);
                }
            }
            Ok(true)
        });
        if let Err(error) = &read {
            self.message = Some(escaped(&error.to_string()));
        }
        self.has_all_past = !matches!(read, Ok(true));
        !self.has_all_past
    }

    /// Reads earlier samples of a running recorder until one is not later than the given time, within a time limit.
    pub(crate) fn load_past_to(&mut self, time: i64) {
        let begun = Instant::now();
        let is_later = |viewer: &Self| viewer.timeline.times().first().is_some_and(|first| *first > time);
        while is_later(self) && begun.elapsed() < PAST_PATIENCE.saturating_mul(5) {
            if !self.load_past() {
                break;
            }
        }
    }

    /// Collects a sample like [`collect`](Self::collect), except that an error becomes the screen's message.
    pub fn collect_or_say(&mut self) {
        if let Err(error) = self.collect() {
            self.message = Some(escaped(&error.to_string()));
        }
    }

    /// Returns `true` while the newest sample of a live source is the first one of its query, which has no rates.
    #[must_use]
    pub fn warms_up(&self) -> bool {
        self.timeline.newest().is_some_and(|sample| sample.begins)
    }

    /// Returns `true` if the source is a log, so that the screen changes only after a key.
    #[must_use]
    pub fn waits_for_keys(&self) -> bool {
        matches!(self.timeline, Timeline::Log { .. })
    }

    /// Shows the sample with this number on the screen. An error becomes the message.
    pub(crate) fn go_to(&mut self, number: usize) {
        // A comparison shows no instant.
        let plan = self.plan().filter(|_| !self.is_comparison());
        let result = match (&mut self.timeline, plan) {
            (Timeline::Live { .. }, _) => {
                self.timeline.show(number);
                Ok(())
            }
            (Timeline::Log { times, at, sample, strip }, Some(plan)) => {
                let number = number.min(times.len().saturating_sub(1));
                let read = self.feed.at(times, number, &plan);
                let is_near = strip.first().zip(strip.last()).is_some_and(|((first, _), (last, _))| {
                    times.get(number).is_some_and(|time| (first..=last).contains(&time))
                });
                let around = match is_near {
                    true => Ok(None),
                    false => {
                        let begin = times.get(number.saturating_sub(AROUND.0)).copied();
                        let last = times.len().saturating_sub(1);
                        let end = times.get(number.saturating_add(AROUND.1).min(last)).copied();
                        self.feed.strip(Window { begin, end }, &plan.strip).map(Some)
                    }
                };
                read.and_then(|read| {
                    (*at, *sample) = (number, Arc::new(read));
                    around.map(|found| found.into_iter().for_each(|found| *strip = found))
                })
            }
            (Timeline::Log { .. }, None) => Ok(()),
        };
        if let Err(error) = result {
            self.message = Some(escaped(&error.to_string()));
        }
        self.arrange();
    }

    /// Shows the last sample on the screen that is not later than a time, in 100 ns since 1601 UTC.
    pub fn go_to_time(&mut self, time: i64) {
        self.load_past_to(time);
        self.go_to(self.timeline.number_at(time));
    }

    /// Selects the first tab to show, by its title, or by the name of a counterset or a part of the name; case does
    /// not matter.
    ///
    /// # Errors
    /// A sentence, if there is none.
    pub fn begin_with(&mut self, name: &str) -> Result<(), String> {
        let wanted = name.trim().to_lowercase();
        if let Some(at) = self.tabs.iter().position(|tab| tab.title.to_lowercase() == wanted) {
            self.tab = at;
        } else {
            let found = self.candidates_of(name).into_iter().next();
            let name = found.ok_or_else(|| format!("no counterset contains \"{name}\""))?;
            self.add_tab(&name);
        }
        if self.waits_for_keys() {
            self.show_tab(self.tab);
        }
        Ok(())
    }

    /// Selects a table that the user has chosen, in a new tab of the screen after all others.
    ///
    /// # Errors
    /// A sentence, if the source has no such counterset or counter, or the filter is wrong.
    pub fn begin_with_table(&mut self, choice: &TableChoice) -> Result<(), String> {
        self.tabs.push(TableTab::of_choice(choice, &self.countersets)?);
        self.tab = self.tabs.len().saturating_sub(1);
        self.compare_tabs();
        self.column = self.shown_tab().and_then(|tab| tab.sorted_by).unwrap_or(0);
        if self.waits_for_keys() {
            self.reload();
        }
        Ok(())
    }

    /// Replaces the counters on the chart strip by others, at most six. Counters that the source lacks are left out.
    ///
    /// # Errors
    /// A sentence, if a path has a machine, or is that of several values.
    pub fn set_strip(&mut self, paths: &[CounterPath]) -> Result<(), String> {
        self.strip.clear();
        if paths.len() > STRIP_MOST {
            return Err(format!("the strip has room for {STRIP_MOST} counters, not {}", paths.len()));
        }
        for path in paths {
            let is_pattern = |text: &str| text.contains(['*', '?', '{', '}', '!', '|']);
            if path.instance.as_deref().is_some_and(is_pattern) || is_pattern(&path.counter) {
                return Err(format!("{path} can have several values, and the strip shows one"));
            }
            if path.machine.is_some() {
                return Err(format!("{path} names a machine, and the strip shows this one"));
            }
            let instance = path.instance.as_deref().filter(|name| *name != "_Total").map(escaped);
            let label = instance.map_or_else(
                || escaped(&path.counter),
                |instance| format!("{instance} {}", escaped(&path.counter)),
            );
            let counter = self.strip_counter(&label, path.clone());
            self.strip.extend(counter);
        }
        self.show_new_strip();
        Ok(())
    }

    /// Filters and sorts the shown rows again, and keeps the cursor at its instance.
    pub(crate) fn arrange(&mut self) {
        match self.baseline {
            Some(_) => self.compute_comparison(),
            None => self.compute_span(),
        }
        (self.order, self.tree) = match (self.shown_tab(), self.sample()) {
            (Some(tab), Some(sample)) => {
                let order = tab.order(sample);
                let tree = tab.tree(sample, &order);
                (if tab.tree.is_some() { tree.iter().map(|row| row.at).collect() } else { order }, tree)
            }
            _ => Default::default(),
        };
        let identity =
            |at: &usize| self.sample().and_then(|sample| sample.rows.get(*at)).map(|row| &row.identity);
        let found = self.selected.as_ref().and_then(|selected| {
            self.order.iter().position(|at| identity(at).is_some_and(|identity| identity == selected))
        });
        self.row = found.unwrap_or(self.row).min(self.rows().saturating_sub(1));
    }

    /// Selects a table row by its number among the shown ones.
    pub(crate) fn select(&mut self, row: usize) {
        self.row = row.min(self.rows().saturating_sub(1));
        // The first row is a place, not an instance: the first instance is selected, whichever it is.
        self.selected = self.selected_identity().filter(|_| self.row > 0);
    }

    /// Shows another tab on the screen, or the same tab again, from its first row.
    pub(crate) fn show_tab(&mut self, tab: usize) {
        if tab >= self.tabs.len() {
            return;
        }
        (self.tab, self.row, self.column, self.selected) = (tab, 0, 0, None);
        if self.baseline.is_some() {
            // The column that decides is the difference, and it must be seen.
            self.column = self.shown_tab().and_then(|tab| tab.sorted_by).unwrap_or(0);
        }
        self.reload();
    }

    /// Reads the table again, with the current columns and the current counters of the chart strip.
    pub(crate) fn reload(&mut self) {
        match &mut self.timeline {
            Timeline::Live { .. } => {
                self.timeline.forget_table();
                self.has_all_past = false;
                self.collect_or_say();
            }
            Timeline::Log { at, sample, .. } => {
                // If it cannot be read, the values of the old table must not stand below the new heads.
                *sample = Arc::default();
                let at = *at;
                self.go_to(at);
            }
        }
        self.arrange();
    }

    /// Keeps the cursor at its instance when rows move, even if it is in the first row.
    pub(super) fn keep_selected(&mut self) {
        self.selected = self.selected_identity();
    }

    /// Returns the identity of the table row's instance under the cursor.
    pub(crate) fn selected_identity(&self) -> Option<RowIdentity> {
        let (row, _) = self.cell()?;
        Some(self.sample()?.rows.get(row)?.identity.clone())
    }

    /// Returns facts about the instance of the selected table row.
    fn facts(&self) -> Vec<Fact> {
        let found = || {
            let (row, _) = self.cell()?;
            let row = self.sample()?.rows.get(row)?;
            Some(self.feed.facts(&self.shown_tab()?.counterset, &row.identity, FactOptions::default()))
        };
        found().unwrap_or_default()
    }

    /// Formats a time, in 100 ns since 1601 UTC, in the time zone of the screen.
    #[must_use]
    pub fn shown_time(&self, time: i64, format: &str) -> String {
        let ms = time.saturating_sub(perfset::clock::UNIX_EPOCH_100NS).div_euclid(10_000);
        let timestamp = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        timestamp.to_zoned(self.zone.clone()).strftime(format).to_string()
    }

    /// Parses a time that a user enters at the prompt: `14:03:07`, `-10m`, `+30s`, `begin`, `end`, or `mark TEXT`.
    ///
    /// # Errors
    /// A sentence, if it is none of these.
    fn instant(&self, text: &str) -> Result<i64, String> {
        let times = self.timeline.times();
        let (Some(first), Some(last)) = (times.first().copied(), times.last().copied()) else {
            return Err("there is no sample yet".to_owned());
        };
        let now = self.timeline.now().unwrap_or(last);
        let text = text.trim();
        if let Some(mark) = text.strip_prefix("mark") {
            let wanted = mark.trim().to_lowercase();
            let found = self.marks.iter().rev().find(|(_, text)| text.to_lowercase().contains(&wanted));
            return found
                .map(|(time, _)| *time)
                .ok_or_else(|| format!("no mark contains \"{}\"", mark.trim()));
        }
        if let Some(span) = text.strip_prefix('-').and_then(prompt::span) {
            return Ok(now.saturating_sub(span));
        }
        if let Some(span) = text.strip_prefix('+').and_then(prompt::span) {
            return Ok(now.saturating_add(span));
        }
        match text {
            "begin" | "boot" => return Ok(first),
            "end" | "now" => return Ok(last),
            _ => {}
        }
        prompt::time(text, &self.zone, now).ok_or_else(|| {
            "a time is like 14:03:07, 2026-11-22 14:03, -10m, +30s, begin, end or mark TEXT".to_owned()
        })
    }
}
