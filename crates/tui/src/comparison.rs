//! Comparison of two logs, or of two ranges of one: the means of both side by side, and their difference.

use std::collections::BTreeSet;
use std::sync::Arc;

use perfset::output::text::escaped;
use perfset::{Counter, CounterId, CounterType, Counterset, NoValue};

use crate::feed::{Feed, FeedError, TablePlan};
use crate::sample::{RowChange, RowIdentity, SampleRow, TableSample, TableValue};
use crate::spans::{MeanRow, SpanMeans};
use crate::tab::{ColumnPart, TableHeading};
use crate::tree::TreeKind;

/// Log or range with which the shown one is compared.
#[derive(Debug)]
pub struct Baseline {
    feed: Feed,
    times: Vec<i64>,
    /// Options that make `perfset get` read it.
    pub(crate) options: String,
    /// Name of the machine, without control characters.
    pub(crate) machine: String,
}

impl Baseline {
    /// Creates a baseline of a feed of logs. `options` are those with which a command reads them, such as
    /// `--log before.csv`.
    ///
    /// # Errors
    /// If the logs cannot be read.
    pub fn new(feed: Feed, options: &str) -> Result<Self, FeedError> {
        let machine = feed.logs().map(|logs| escaped(logs.machine_name())).unwrap_or_default();
        Ok(Self { times: feed.times()?, feed, options: options.to_owned(), machine })
    }

    /// Returns `true` if there is no sample to compare with.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Compares a table of another feed with the same one of this log. `columns` are those of the table.
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
        let after = means(feed, times, plan, &rows)?;
        let (before, places) = self.means_like(plan, &rows)?;
        let sides = Sides { before, after };
        let paired = PairedColumns { plan, places, sums: rows.sums(plan) };
        let rows_of = sides.names().into_iter().map(|name| Arc::new(sides.row(&name, columns, &paired)));
        let sample = TableSample {
            time: times.last().copied().unwrap_or(0),
            rows: rows_of.collect(),
            ..TableSample::default()
        };
        Ok(Comparison { sample: Arc::new(sample), sides, has_programs: rows.are_programs })
    }

    /// Returns the means of the same table in this log, and the places of the plan's counters among its columns.
    fn means_like(
        &self,
        plan: &TablePlan,
        rows: &RowNames,
    ) -> Result<(Option<SpanMeans>, Vec<Option<usize>>), FeedError> {
        let mut places = vec![None; plan.columns.len()];
        let Some(own) = counterset_like(&plan.counterset, &self.feed.countersets()) else {
            return Ok((None, places));
        };
        let mut own_plan = TablePlan { counterset: Arc::clone(&own), columns: Vec::new(), strip: Vec::new() };
        for (id, place) in plan.columns.iter().zip(&mut places) {
            let Some(found) = counter_like(&plan.counterset, *id, &own) else { continue };
            *place = Some(own_plan.columns.len());
            own_plan.columns.push(found);
        }
        Ok((means(&self.feed, &self.times, &own_plan, rows)?, places))
    }
}

/// Counters of both logs that are compared with each other.
struct PairedColumns<'p> {
    /// Counters of the shown log.
    plan: &'p TablePlan,
    /// For each of them its place in the other log.
    places: Vec<Option<usize>>,
    /// `true` for each whose values of several rows are added.
    sums: Vec<bool>,
}

impl PairedColumns<'_> {
    /// Returns the places of a counter in the other log and in the shown one, and whether it is added.
    fn of(&self, id: CounterId) -> (Option<usize>, Option<usize>, bool) {
        let at = self.plan.columns.iter().position(|column| *column == id);
        let before = at.and_then(|at| self.places.get(at).copied().flatten());
        (before, at, at.and_then(|at| self.sums.get(at)).copied().unwrap_or(false))
    }
}

/// Mean of the sum over no process.
const NOTHING: TableValue = TableValue::Number { value: 0.0, raw: None };

/// Table that compares two ranges.
#[derive(Debug)]
pub struct Comparison {
    /// Rows of the table.
    pub sample: Arc<TableSample>,
    /// Means of both ranges.
    pub sides: Sides,
    /// `true` if each row is of the processes of one program.
    pub has_programs: bool,
}

/// Means of both ranges; a range that has no sample of the table has none.
#[derive(Debug)]
pub struct Sides {
    /// Means of the range with which the shown one is compared.
    pub before: Option<SpanMeans>,
    /// Means of the shown range.
    pub after: Option<SpanMeans>,
}

impl Sides {
    fn names(&self) -> BTreeSet<String> {
        let of = |means: &Option<SpanMeans>| {
            means.iter().flat_map(|means| means.rows.keys().cloned()).collect::<Vec<_>>()
        };
        of(&self.before).into_iter().chain(of(&self.after)).collect()
    }

    /// Returns the row of a name, with a value for each column.
    fn row(&self, name: &str, columns: &[TableHeading], paired: &PairedColumns<'_>) -> SampleRow {
        let (before, after) = (side(&self.before, name), side(&self.after, name));
        let has_both = self.before.is_some() && self.after.is_some();
        // The processes of a program that did not run used nothing.
        let nothing = |absence| match absence {
            Absence::Row if has_both => Ok(&NOTHING),
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
            sums_up: before.or(after).is_some_and(|row| row.sums_up),
            change,
            values: columns.iter().map(value).collect(),
        }
    }

    /// Returns a value, or the reason that a range does not have it.
    fn shown(&self, value: Result<&TableValue, Absence>, side: &Option<SpanMeans>) -> TableValue {
        match (value, side) {
            (Ok(value), _) => value.clone(),
            (Err(_), None) => missing("the range has no sample of this table"),
            (Err(Absence::Row), Some(_)) => missing("it is in the other range only"),
            (Err(Absence::Column), Some(_)) => missing("the other log does not have this counter"),
        }
    }

    /// Returns the number of rows that are in the shown range only, and of those in the other one only.
    #[must_use]
    pub fn changes(&self) -> (usize, usize) {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return (0, 0) };
        let lacking = |of: &SpanMeans, other: &SpanMeans| {
            of.rows.keys().filter(|name| !other.rows.contains_key(*name)).count()
        };
        (lacking(after, before), lacking(before, after))
    }
}

/// Reason that a range has no value of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absence {
    /// The range lacks the row.
    Row,
    /// The log lacks the counter.
    Column,
}

fn side<'s>(means: &'s Option<SpanMeans>, name: &str) -> Option<&'s MeanRow> {
    means.as_ref()?.rows.get(name)
}

fn value_of(row: Option<&MeanRow>, column: Option<usize>) -> Result<&TableValue, Absence> {
    let column = column.ok_or(Absence::Column)?;
    row.ok_or(Absence::Row)?.values.get(column).ok_or(Absence::Column)
}

/// Returns the difference of two values. That of lower bounds is not exact.
fn difference(was: Result<&TableValue, Absence>, is: Result<&TableValue, Absence>) -> TableValue {
    use TableValue::{Missing, Number};
    match (was, is) {
        (Ok(Number { value: was, .. }), Ok(Number { value: is, .. })) => {
            Number { value: is - was, raw: None }
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

fn missing(reason: &str) -> TableValue {
    TableValue::Missing(Arc::new(NoValue::Failed(reason.into())))
}

/// Returns the means of all samples; `None` if none has the table.
fn means(
    feed: &Feed,
    times: &[i64],
    plan: &TablePlan,
    rows: &RowNames,
) -> Result<Option<SpanMeans>, FeedError> {
    let last = times.len().saturating_sub(1);
    let totals = feed.range(times, (0, last), plan)?;
    let sums = rows.sums(plan);
    let means = totals.means(|row| rows.name(row), rows.are_programs.then_some(&*sums));
    Ok(means.map(|means| SpanMeans { of: times.len(), ..means }))
}

/// Names of the rows of a comparison.
struct RowNames {
    /// `true` to put the processes of a program together: their ids differ after each start.
    are_programs: bool,
}

impl RowNames {
    fn of(set: &Counterset) -> Self {
        /// Countersets of processes. Logs of text can lack the counters that a tree is made of.
        const PROCESSES: [&str; 3] = ["Process V2", "Process", "Linux Process"];
        let has_parents = matches!(TreeKind::of(set), Some(TreeKind::Parents { .. }));
        Self { are_programs: has_parents || PROCESSES.iter().any(|name| set.name == **name) }
    }

    /// Returns `true` for each column whose values of several rows are added.
    fn sums(&self, plan: &TablePlan) -> Vec<bool> {
        let can_be_added = |id: &CounterId| plan.counterset.counter(*id).is_some_and(can_be_added);
        plan.columns.iter().map(|id| self.are_programs && can_be_added(id)).collect()
    }

    fn name(&self, row: &SampleRow) -> String {
        if !self.are_programs {
            return row.path_name();
        }
        let name = &row.identity.name;
        let is_id = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        let program = name.rsplit_once(':').filter(|(_, id)| is_id(id)).map(|(program, _)| program);
        program.unwrap_or(name).to_owned()
    }
}

/// Returns `true` if the values of several processes can be added: shares of time, events per second, bytes and numbers
/// of things, except for peaks, which they do not reach at the same time.
fn can_be_added(counter: &Counter) -> bool {
    let name = counter.shown_name();
    let is_rate = [
        CounterType::PERF_100NSEC_TIMER,
        CounterType::PERF_COUNTER_TIMER,
        CounterType::PERF_COUNTER_COUNTER,
        CounterType::PERF_COUNTER_BULK_COUNT,
    ]
    .contains(&counter.counter_type);
    // Logs of text do not say the type.
    let is_amount = counter.unit == "By" || name.ends_with(" Count") || name.contains("/sec");
    let is_share = name.starts_with("% ") && name.ends_with(" Time");
    (is_rate || is_amount || is_share) && !name.ends_with(" Peak")
}

/// Returns the counterset of another log that has the same meaning: that with the same GUID, else that of the name.
fn counterset_like(set: &Counterset, others: &[Arc<Counterset>]) -> Option<Arc<Counterset>> {
    let by_guid = others.iter().find(|other| other.guid == set.guid);
    by_guid.or_else(|| others.iter().find(|other| other.name == set.name)).cloned()
}

/// Returns the counter with the name of a counter of a counterset.
fn counter_like(set: &Counterset, id: CounterId, other: &Counterset) -> Option<CounterId> {
    let name = set.counter(id)?.shown_name();
    // Ids are those of one catalogue or log; names say what is meant.
    other.counters.iter().find(|counter| counter.shown_name() == name).map(|counter| counter.id)
}
