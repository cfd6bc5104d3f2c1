//! Comparison of two logs, or of two time ranges of one log: the means of both side by side, and their difference.

use std::collections::BTreeSet;
use std::sync::Arc;

use perfset::output::text::escaped;
use perfset::{Counter, CounterId, CounterType, Counterset, NoValue};

use crate::feed::{Feed, FeedError, TablePlan};
use crate::sample::{RowChange, RowIdentity, SampleRow, TableSample, TableValue};
use crate::spans::{MeanRow, SpanMeans};
use crate::tab::{ColumnPart, TableHeading};

/// Log or time range with which the shown log or range is compared.
#[derive(Debug)]
pub struct Baseline {
    feed: Feed,
    times: Vec<i64>,
    /// Options that make `perfset get` read the baseline's log.
    pub(crate) options: String,
    /// Name of the baseline on the screen, without control characters.
    pub(crate) label: String,
    /// Name of the machine that recorded the baseline, without control characters.
    pub(crate) machine: String,
}

impl Baseline {
    /// Creates a baseline from a feed of logs. `options` are the options with which a command reads these logs, such as
    /// `--log before.csv`, and `label` is their name on the screen.
    ///
    /// # Errors
    /// If the logs cannot be read.
    pub fn new(feed: Feed, options: &str, label: &str) -> Result<Self, FeedError> {
        let machine = feed.logs().map(|logs| escaped(logs.machine_name())).unwrap_or_default();
        let (options, label) = (options.to_owned(), escaped(label));
        Ok(Self { times: feed.times()?, feed, options, label, machine })
    }

    /// Returns `true` if the baseline has no sample to compare with.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Compares a table of another feed with the same table of the baseline. `columns` are the columns of that table.
    ///
    /// # Errors
    /// If a log cannot be read.
    pub(crate) fn compare(
        &self,
        feed: &Feed,
        times: &[i64],
        plan: &TablePlan,
        columns: &[TableHeading],
    ) -> Result<Comparison, FeedError> {
        let rows = RowNames::of(&plan.counterset);
        let after = means(feed, times, plan, rows)?.ok_or(NoMeans::Sample);
        let (before, places) = self.means_like(plan, rows)?;
        let sides = Sides { before, after };
        let paired = PairedColumns { plan, places, sums: rows.sums(plan) };
        let rows_of = sides.names().into_iter().map(|name| Arc::new(sides.row(&name, columns, &paired)));
        let sample = TableSample {
            time: times.last().copied().unwrap_or(0),
            rows: rows_of.collect(),
            ..TableSample::default()
        };
        Ok(Comparison { sample: Arc::new(sample), sides, names: rows })
    }

    /// Returns the means of the same table in the baseline, and the position of each counter of `plan` among the
    /// baseline's columns.
    fn means_like(&self, plan: &TablePlan, rows: RowNames) -> Result<MeansAndPlaces, FeedError> {
        let mut places = vec![None; plan.columns.len()];
        let Some(own) = counterset_like(&plan.counterset, &self.feed.countersets()) else {
            return Ok((Err(NoMeans::Counterset), places));
        };
        let mut own_plan = TablePlan { counterset: Arc::clone(&own), columns: Vec::new(), strip: Vec::new() };
        for (id, place) in plan.columns.iter().zip(&mut places) {
            let Some(found) = counter_like(&plan.counterset, *id, &own) else { continue };
            *place = Some(own_plan.columns.len());
            own_plan.columns.push(found);
        }
        if own_plan.columns.is_empty() {
            return Ok((Err(NoMeans::Counter), places));
        }
        Ok((means(&self.feed, &self.times, &own_plan, rows)?.ok_or(NoMeans::Sample), places))
    }
}

/// Mean values of the baseline's table, and for each counter of the shown table its position among the baseline's
/// columns.
type MeansAndPlaces = (Result<SpanMeans, NoMeans>, Vec<Option<usize>>);

/// Counters of two compared logs that are compared with each other.
struct PairedColumns<'p> {
    /// Counterset and counters of the shown log's table.
    plan: &'p TablePlan,
    /// Position of each counter of `plan` in the other log's table; `None` if the other log lacks it.
    places: Vec<Option<usize>>,
    /// `true` for each counter of the compared tables whose values of several rows are added.
    sums: Vec<bool>,
}

impl PairedColumns<'_> {
    /// Returns the positions of a counter in the baseline's table and in the shown one, and `true` if values of
    /// several rows are added.
    fn of(&self, id: CounterId) -> (Option<usize>, Option<usize>, bool) {
        let at = self.plan.columns.iter().position(|column| *column == id);
        let before = at.and_then(|at| self.places.get(at).copied().flatten());
        (before, at, at.and_then(|at| self.sums.get(at)).copied().unwrap_or(false))
    }
}

/// Value 0 of a program without processes in a compared range, for counters whose values are added.
const NOTHING: TableValue = TableValue::Number { value: 0.0, raw: None };

/// Table that compares the mean values of two time ranges.
#[derive(Debug)]
pub struct Comparison {
    /// Rows of the comparison's table.
    pub sample: Arc<TableSample>,
    /// Mean values of both compared ranges.
    pub sides: Sides,
    /// Rule by which instance names become names of the comparison's rows.
    pub names: RowNames,
}

/// Reason why a compared time range has no mean values of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMeans {
    /// Missing counterset: the log does not have it.
    Counterset,
    /// Missing counters: the log has none of the table's counters.
    Counter,
    /// Missing samples: the range has none of the table's counters.
    Sample,
}

impl NoMeans {
    /// Returns the words about the missing means for the screen, which follow "was" or "mean".
    pub fn words(self) -> &'static str {
        match self {
            Self::Counterset => "not in that log",
            Self::Counter => "without these counters",
            Self::Sample => "without a sample",
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Counterset => "the other log does not have this counterset",
            Self::Counter => "the other log does not have this counter",
            Self::Sample => "the range has no sample of this table",
        }
    }
}

/// Mean values of both compared time ranges, or the reason why a range has none.
#[derive(Debug)]
pub struct Sides {
    /// Mean values of the baseline, with which the shown range is compared.
    pub before: Result<SpanMeans, NoMeans>,
    /// Mean values of the shown range, or the reason why it has none.
    pub after: Result<SpanMeans, NoMeans>,
}

impl Sides {
    fn names(&self) -> BTreeSet<String> {
        let of = |means: &Result<SpanMeans, NoMeans>| {
            means.iter().flat_map(|means| means.rows.keys().cloned()).collect::<Vec<_>>()
        };
        of(&self.before).into_iter().chain(of(&self.after)).collect()
    }

    /// Returns the row of a comparison with a name, with a value for each column.
    fn row(&self, name: &str, columns: &[TableHeading], paired: &PairedColumns<'_>) -> SampleRow {
        let (before, after) = (side(&self.before, name), side(&self.after, name));
        let has_both = self.before.is_ok() && self.after.is_ok();
        let sums_up = before.or(after).is_some_and(|row| row.sums_up);
        // The processes of a program that did not run used nothing: if all processes were recorded.
        let has_all =
            [&self.before, &self.after].into_iter().all(|side| side.as_ref().is_ok_and(has_all_rows));
        let nothing = |absence| match absence {
            Absence::Row if has_all && !sums_up => Ok(&NOTHING),
            absence => Err(absence),
        };
        let value = |column: &TableHeading| {
            let (was_at, is_at, is_sum) = paired.of(column.counter.id);
            let (was, is) = (value_of(before, was_at), value_of(after, is_at));
            match column.part {
                ColumnPart::Before => self.shown(was, &self.before),
                ColumnPart::Whole | ColumnPart::After => self.shown(is, &self.after),
                ColumnPart::Difference if is_sum => difference(was.or_else(nothing), is.or_else(nothing)),
                ColumnPart::Difference => difference(was, is),
            }
        };
        let change = match (before, after, has_both) {
            (None, Some(_), true) => Some(RowChange::Began),
            (Some(_), None, true) => Some(RowChange::Ended),
            _ => None,
        };
        SampleRow {
            identity: RowIdentity { name: name.into(), id: None, birth: None, occurrence: 0 },
            number: 0,
            sums_up,
            change,
            values: columns.iter().map(value).collect(),
        }
    }

    /// Returns a value of a comparison, or the reason why a range does not have the value.
    fn shown(&self, value: Result<&TableValue, Absence>, side: &Result<SpanMeans, NoMeans>) -> TableValue {
        match (value, side) {
            (Ok(value), _) => value.clone(),
            (Err(_), Err(reason)) => missing(reason.reason()),
            (Err(Absence::Row), Ok(_)) => missing("it is in the other range only"),
            (Err(Absence::Column), Ok(_)) => missing(NoMeans::Counter.reason()),
        }
    }

    /// Returns the numbers of rows that only the shown range and only the baseline have; `None` if not all rows are
    /// known.
    #[must_use]
    pub fn changes(&self) -> Option<(usize, usize)> {
        let (Ok(before), Ok(after)) = (&self.before, &self.after) else { return None };
        if before.is_full || after.is_full {
            return None;
        }
        let lacking = |of: &SpanMeans, other: &SpanMeans| {
            of.rows.keys().filter(|name| !other.rows.contains_key(*name)).count()
        };
        Some((lacking(after, before), lacking(before, after)))
    }
}

/// Reason why a compared range has no value for a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absence {
    /// Missing row: the range has no instance of this name.
    Row,
    /// Missing column: the log lacks the counter.
    Column,
}

/// Returns `true` if the mean values of a range include the rows of all instances: the row with their sum is there,
/// and no instance was left out.
fn has_all_rows(means: &SpanMeans) -> bool {
    !means.is_full && means.rows.values().any(|row| row.sums_up)
}

fn side<'s>(means: &'s Result<SpanMeans, NoMeans>, name: &str) -> Option<&'s MeanRow> {
    means.as_ref().ok()?.rows.get(name)
}

fn value_of(row: Option<&MeanRow>, column: Option<usize>) -> Result<&TableValue, Absence> {
    let column = column.ok_or(Absence::Column)?;
    row.ok_or(Absence::Row)?.values.get(column).ok_or(Absence::Column)
}

/// Returns the difference of two compared values; it is inexact if a value is only a lower bound.
fn difference(was: Result<&TableValue, Absence>, is: Result<&TableValue, Absence>) -> TableValue {
    use TableValue::{Missing, Number};
    match (was, is) {
        (Ok(Number { value: was, .. }), Ok(Number { value: is, .. })) => {
            Number { value: exact_difference(*was, *is), raw: None }
        }
        (Ok(Missing(reason)), _) | (_, Ok(Missing(reason))) => Missing(Arc::clone(reason)),
        (Ok(was), Ok(is)) => match (was.number(), is.number()) {
            (Some(was), Some(is)) => TableValue::About(is - was),
            _ => missing("there is no value in one of the ranges"),
        },
        (Err(Absence::Row), _) | (_, Err(Absence::Row)) => missing("it is in one of the ranges only"),
        (Err(Absence::Column), _) | (_, Err(Absence::Column)) => {
            missing("one of the logs does not have this counter")
        }
    }
}

/// Returns the difference of two compared sums, or 0 if it is no larger than their rounding errors.
fn exact_difference(was: f64, is: f64) -> f64 {
    let difference = is - was;
    if difference.abs() <= was.abs().max(is.abs()) * 1e-9 { 0.0 } else { difference }
}

fn missing(reason: &str) -> TableValue {
    TableValue::Missing(Arc::new(NoValue::Failed(reason.into())))
}

/// Returns the mean values of all samples of a table at the given times; `None` if no sample has the table.
fn means(
    feed: &Feed,
    times: &[i64],
    plan: &TablePlan,
    rows: RowNames,
) -> Result<Option<SpanMeans>, FeedError> {
    let last = times.len().saturating_sub(1);
    let totals = feed.range(times, (0, last), plan)?;
    let sums = rows.sums(plan);
    let means = totals.means(|row| rows.name(row), rows.are_programs().then_some(&*sums));
    Ok(means.map(|means| SpanMeans { of: times.len(), ..means }))
}

/// Rule by which instance names become row names of a comparison. All processes of a program are one row, because
/// their ids differ after each start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowNames {
    /// Rule by which instance names are used unchanged as row names.
    Whole,
    /// Rule for process names that end with a colon and the process id, which the row name omits.
    WithIds,
    /// Rule for process names that are numbered if they are equal, such as `name#1`; the row name omits the number.
    Numbered,
}

impl RowNames {
    fn of(set: &Counterset) -> Self {
        match set.name.to_lowercase().as_str() {
            "process v2" | "linux process" => Self::WithIds,
            "process" => Self::Numbered,
            _ => Self::Whole,
        }
    }

    fn are_programs(self) -> bool {
        self != Self::Whole
    }

    /// Returns `true` for each column of a table in whose comparison values of several rows are added.
    fn sums(self, plan: &TablePlan) -> Vec<bool> {
        let can_be_added = |id: &CounterId| plan.counterset.counter(*id).is_some_and(can_be_added);
        plan.columns.iter().map(|id| self.are_programs() && can_be_added(id)).collect()
    }

    fn name(self, row: &SampleRow) -> String {
        let name = &row.identity.name;
        let sign = match self {
            Self::Whole => return row.path_name(),
            Self::WithIds => ':',
            Self::Numbered => '#',
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let program =
            name.rsplit_once(sign).filter(|(_, number)| is_number(number)).map(|(program, _)| program);
        program.unwrap_or(name).to_owned()
    }
}

/// Returns `true` if the values of several processes can be added: shares of time, events per second, bytes and counts
/// of things. Peaks are an exception, because processes reach them at different times.
fn can_be_added(counter: &Counter) -> bool {
    let name = counter.shown_name().to_lowercase();
    let is_rate = [
        CounterType::PERF_100NSEC_TIMER,
        CounterType::PERF_COUNTER_TIMER,
        CounterType::PERF_COUNTER_COUNTER,
        CounterType::PERF_COUNTER_BULK_COUNT,
    ]
    .contains(&counter.counter_type);
    // Logs of text do not say the type.
    let is_amount = counter.unit == "By" || name.ends_with(" count") || name.contains("/sec");
    let is_share = name.starts_with("% ") && name.ends_with(" time");
    (is_rate || is_amount || is_share) && !name.ends_with(" peak")
}

/// Returns the counterset of another log with the same meaning: the one with the same GUID, or else with the same name.
fn counterset_like(set: &Counterset, others: &[Arc<Counterset>]) -> Option<Arc<Counterset>> {
    let name = set.name.to_lowercase();
    let by_guid = others.iter().find(|other| other.guid == set.guid);
    by_guid.or_else(|| others.iter().find(|other| other.name.to_lowercase() == name)).cloned()
}

/// Returns the counter of the `other` counterset that has the same name as a counter of `set`.
fn counter_like(set: &Counterset, id: CounterId, other: &Counterset) -> Option<CounterId> {
    let name = set.counter(id)?.shown_name().to_lowercase();
    // Ids are those of one catalogue or log; names say what is meant.
    let found = other.counters.iter().find(|counter| counter.shown_name().to_lowercase() == name);
    found.map(|counter| counter.id)
}
