//! Selection of a report's charts, and of the lines in each of them.

use std::collections::HashMap;

use perfset::log::Logs;
use perfset::path::{CounterPath, Selector, resolve};
use perfset::{Attributes, CostClass};

use super::reading::{ReportSeries, SeriesBook};
use crate::overview::{ChartKind, charts};

/// Maximum number of charts of a report that are chosen without a request; requested ones come in addition.
pub const CHARTS_MOST: usize = 24;

/// Maximum number of charts of a report that a user requests: a pattern can select thousands.
const REQUESTED_MOST: usize = 100;

/// Minimum number of the overview's charts with which a report has no further charts, except requested ones.
const OVERVIEW_LEAST: usize = 4;

/// Maximum number of lines of a report's chart; the next constants are those of charts of similar things and of
/// charts of the greatest values.
const LINES_MOST: usize = 16;
const ROWS_MOST: usize = 128;
const RANKED: usize = 10;

/// Maximum number of names that a report lists of counters without a chart.
const LEFT_OUT_MOST: usize = 300;

/// Counters that most readers want to see, the first ones first. Logs of other programs have only some of them.
const PREFERRED: &[(&str, &str)] = &[
    ("Processor Information", "% Processor Time"),
    ("Processor", "% Processor Time"),
    ("Memory", "Available Bytes"),
    ("Memory", "Available MBytes"),
    ("Memory", "% Committed Bytes In Use"),
    ("Memory", "Pages/sec"),
    ("PhysicalDisk", "% Idle Time"),
    ("PhysicalDisk", "Avg. Disk sec/Read"),
    ("PhysicalDisk", "Avg. Disk sec/Write"),
    ("PhysicalDisk", "Disk Bytes/sec"),
    ("PhysicalDisk", "Disk Transfers/sec"),
    ("PhysicalDisk", "Current Disk Queue Length"),
    ("LogicalDisk", "% Free Space"),
    ("LogicalDisk", "Disk Bytes/sec"),
    ("Network Interface", "Bytes Total/sec"),
    ("Network Interface", "Output Queue Length"),
    ("System", "Processor Queue Length"),
    ("System", "Context Switches/sec"),
    ("Process V2", "% Processor Time"),
    ("Process", "% Processor Time"),
    ("Process V2", "Working Set"),
    ("Process", "Working Set"),
];

/// Chart of a report as it is planned before the log is read.
#[derive(Clone, Debug)]
pub struct PlannedChart {
    pub title: String,
    pub kind: ChartKind,
    /// Indexes of the chart's counter paths in the report's list.
    pub paths: Vec<usize>,
    /// `true` if the user requested the chart.
    pub is_requested: bool,
}

/// Planned charts of a report, and the counters that it does not show.
#[derive(Clone, Debug, Default)]
pub struct ChartPlan {
    pub paths: Vec<CounterPath>,
    pub charts: Vec<PlannedChart>,
    /// Paths of counters in the log that no chart shows; the next field is the number of all of them.
    pub left_out: Vec<String>,
    pub left_out_count: usize,
}

/// Chart of a report with its chosen lines.
#[derive(Clone, Debug)]
pub struct ChosenChart {
    pub title: String,
    pub kind: ChartKind,
    /// Counter paths of the chart, as the report shows them.
    pub paths: Vec<String>,
    /// Indexes of the chart's series, in the order of the lines.
    pub series: Vec<usize>,
    /// Names of counters and instances that the chart does not show, each with the reason.
    pub notes: Vec<(String, String)>,
    /// `true` if the user requested the chart, so that it is shown even without a value.
    pub is_requested: bool,
}

impl ChosenChart {
    /// Returns a chart without lines for a requested counter that the log does not have, with the reason.
    pub fn missing((path, reason): &(String, String)) -> Self {
        Self {
            title: path.clone(),
            kind: ChartKind::Lines,
            paths: vec![path.clone()],
            series: Vec::new(),
            notes: vec![(path.clone(), reason.clone())],
            is_requested: true,
        }
    }
}

impl ChartPlan {
    /// Plans the charts of a report: those of the overview, or a selection of the log's counters; and the requested
    /// ones.
    pub fn new(logs: &Logs, requested: &[CounterPath]) -> Self {
        let mut plan = Self::default();
        for path in requested.iter().flat_map(|path| counters_of(logs, path)).take(REQUESTED_MOST) {
            let title = format!("{}: {}", path.counterset, path.counter);
            let paths = vec![plan.index_of(path)];
            plan.charts.push(PlannedChart { title, kind: ChartKind::Lines, paths, is_requested: true });
        }
        let most = plan.charts.len().saturating_add(CHARTS_MOST);
        let overview = charts(logs.machine());
        let is_overview = overview.len() >= OVERVIEW_LEAST;
        for chart in overview {
            let paths = chart.paths.iter().filter_map(|path| path.parse().ok());
            let paths = paths.map(|path| plan.index_of(path)).collect();
            let (title, kind) = (chart.title.clone().into_owned(), chart.kind);
            plan.charts.push(PlannedChart { title, kind, paths, is_requested: false });
        }
        for path in candidates(logs) {
            if plan.shows(&path) {
                continue;
            }
            // A name with a character of patterns may mean no counter.
            let is_bound = || resolve(&mut logs.machine().clone(), &path).is_ok();
            if !is_overview && plan.charts.len() < most && is_bound() {
                let title = format!("{}: {}", path.counterset, path.counter);
                let paths = vec![plan.index_of(path)];
                plan.charts.push(PlannedChart { title, kind: ChartKind::Lines, paths, is_requested: false });
                continue;
            }
            plan.left_out_count = plan.left_out_count.saturating_add(1);
            if plan.left_out.len() < LEFT_OUT_MOST {
                plan.left_out.push(path.to_string());
            }
        }
        plan
    }

    /// Returns the index of a counter path in the report's list, to which it is added if it is new.
    pub fn index_of(&mut self, path: CounterPath) -> usize {
        self.paths.iter().position(|known| *known == path).unwrap_or_else(|| {
            self.paths.push(path);
            self.paths.len().saturating_sub(1)
        })
    }

    /// Returns `true` if a planned chart shows the counter of a path, at least of some instances.
    fn shows(&self, path: &CounterPath) -> bool {
        let is_same = |known: &CounterPath| {
            known.counterset.eq_ignore_ascii_case(&path.counterset)
                && Selector::new(&known.counter).matches(path.counter.encode_utf16(), 0)
        };
        let mut shown = self.charts.iter().flat_map(|chart| &chart.paths);
        shown.any(|at| self.paths.get(*at).is_some_and(is_same))
    }
}

/// Returns a counter path for each counter that a path selects. A path that selects none is returned as it is.
fn counters_of(logs: &Logs, path: &CounterPath) -> Vec<CounterPath> {
    let Ok(resolved) = resolve(&mut logs.machine().clone(), path) else { return vec![path.clone()] };
    let counters = resolved.counters.iter().filter_map(|id| resolved.set.counter(*id));
    let one = |counter: &perfset::Counter| CounterPath {
        counterset: resolved.set.name.to_string(),
        counter: counter.shown_name().into_owned(),
        ..path.clone()
    };
    match resolved.counters.as_slice() {
        [_] => vec![path.clone()],
        _ => counters.filter(is_shown).map(one).collect(),
    }
}

/// Returns `true` if a report shows a counter that only a pattern selects: it has a name, and a cheap value on this
/// system.
fn is_shown(counter: &&perfset::Counter) -> bool {
    counter.name.is_some()
        && !counter.is_never_there()
        && !counter.attributes.contains(Attributes::NO_DISPLAYABLE)
        && counter.cost_class <= CostClass::Moderate
}

/// Returns a counter path for each counter of a log: the preferred ones first, then one of each counterset in turn.
fn candidates(logs: &Logs) -> Vec<CounterPath> {
    let machine = logs.machine();
    let mut sets = Vec::new();
    for guid in machine.countersets() {
        let Ok(set) = machine.counterset(&guid) else { continue };
        let path = |counter: &perfset::Counter| CounterPath {
            machine: None,
            counterset: set.name.to_string(),
            instance: set.instance_type.is_multiple().then(|| "*".to_owned()),
            counter: counter.shown_name().into_owned(),
        };
        let paths: Vec<CounterPath> = set.counters.iter().filter(is_shown).map(path).collect();
        sets.push(paths.into_iter());
    }
    let mut turns = Vec::new();
    loop {
        let before = turns.len();
        turns.extend(sets.iter_mut().filter_map(Iterator::next));
        if turns.len() == before {
            break;
        }
    }
    let rank = |path: &CounterPath| {
        let is_it = |(set, counter): &(&str, &str)| *set == path.counterset && *counter == path.counter;
        PREFERRED.iter().position(is_it).unwrap_or(PREFERRED.len())
    };
    // Stable, so that the others keep their turns.
    turns.sort_by_cached_key(rank);
    turns
}

impl PlannedChart {
    /// Chooses the lines of a report's chart from the series that the log has. The chart has no line if none has a
    /// value.
    pub fn choose(&self, paths: &[CounterPath], book: &SeriesBook) -> ChosenChart {
        let is_ranked = self.kind == ChartKind::Rank;
        let most = match self.kind {
            ChartKind::Cores => ROWS_MOST,
            ChartKind::Rank => RANKED,
            ChartKind::Stack | ChartKind::Lines => LINES_MOST,
        };
        let (mut chosen, mut notes) = (Vec::new(), Vec::new());
        for asked in &self.paths {
            let found = || book.series.iter().enumerate().filter(move |(_, series)| series.asked == *asked);
            let has_value = |series: &ReportSeries| series.totals.count > 0;
            let mut list: Vec<(usize, &ReportSeries)> =
                found().filter(|(_, series)| has_value(series)).collect();
            if list.is_empty() {
                let path = paths.get(*asked).map(ToString::to_string).unwrap_or_default();
                let reason = found().find_map(|(_, series)| series.totals.reason.as_ref());
                let reason = reason.or_else(|| book.nothing.get(asked)).map(ToString::to_string);
                notes.push((path, reason.unwrap_or_else(|| "no value in this time".to_owned())));
                continue;
            }
            // Totals of other lines are left out where lines are added up, ranked or too many.
            let has_parts = list.iter().any(|(_, series)| !series.is_total);
            let is_plain = self.kind == ChartKind::Lines && list.len() <= most;
            if has_parts && !is_plain {
                list.retain(|(_, series)| !series.is_total);
            }
            let share = most.checked_div(self.paths.len().max(1)).unwrap_or(1).max(1);
            if list.len() > share || is_ranked {
                list.sort_by(|(_, a), (_, b)| b.totals.size().total_cmp(&a.totals.size()));
                let rest = list.split_off(share.min(list.len()));
                if !rest.is_empty() {
                    let text =
                        if is_ranked { "not among the largest" } else { "smaller than these, and not drawn" };
                    notes.push((format!("{} more", rest.len()), text.to_owned()));
                }
            }
            chosen.extend(list.into_iter().map(|(at, _)| at));
        }
        let title = self.title.clone();
        let paths = self.paths.iter().filter_map(|at| paths.get(*at)).map(ToString::to_string).collect();
        let is_requested = self.is_requested;
        ChosenChart { title, kind: self.kind, paths, series: chosen, notes, is_requested }
    }
}

/// Returns the series in all charts of a report, each once, and the index of the line of each series.
pub fn lines_of(charts: &[ChosenChart]) -> (Vec<usize>, HashMap<usize, usize>) {
    let (mut all, mut line_of) = (Vec::new(), HashMap::new());
    for series in charts.iter().flat_map(|chart| &chart.series) {
        line_of.entry(*series).or_insert_with(|| {
            all.push(*series);
            all.len().saturating_sub(1)
        });
    }
    (all, line_of)
}
