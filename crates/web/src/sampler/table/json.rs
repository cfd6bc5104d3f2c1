//! Tables of countersets as JSON for clients.

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::http::StatusCode;
use perfset::catalogue::value_range;
use perfset::path::{CounterPath, PathQuery};
use perfset::{Counter, Counterset, Fact, FactKind, Identity, InstanceId, NoValue};
use serde::Serialize;

use super::rows::{ServedRows, ShownRow};
use super::{BY_NAME, BoundTable, FactReader};
use crate::answer::{ApiError, to_json};
use crate::request::TableTree;
use crate::sampler::feed::{number, status};

/// Maximum number of characters of a fact in a table's JSON; the end of a longer one is left out.
const FACT_LEN: usize = 400;

/// Column of a table request that does not exist in the counterset.
#[derive(Clone, Debug, Serialize)]
pub struct RefusedColumn {
    column: String,
    /// HTTP status of the error for a request of the missing column alone.
    status: u16,
    error: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<String>,
}

impl RefusedColumn {
    pub fn new(column: &str, ApiError { status, error, hints }: ApiError) -> Self {
        Self { column: column.to_owned(), status: status.as_u16(), error, hints }
    }

    /// Returns the error for a request of the missing column alone.
    pub fn problem(&self) -> ApiError {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        ApiError { hints: self.hints.clone(), ..ApiError::new(status, self.error.clone()) }
    }
}

#[derive(Serialize)]
struct TableJson<'a> {
    counterset: &'a str,
    /// Time of the table's sample in milliseconds since 1970.
    time: i64,
    columns: Vec<ColumnJson<'a>>,
    /// Column by which the table's rows are sorted, or `name`.
    sort: Cow<'a, str>,
    order: &'static str,
    rows: Vec<RowJson>,
    /// Number of rows of the table that match the filter.
    count: usize,
    /// Number of matching rows that are not returned.
    more: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<GroupJson>>,
    without: Vec<WithoutJson<'a>>,
    errors: &'a [RefusedColumn],
    /// Reason why the table has no rows: a keyword and a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    nothing: Option<NothingJson>,
}

#[derive(Serialize)]
struct ColumnJson<'a> {
    name: Cow<'a, str>,
    unit: &'a str,
    #[serde(rename = "type")]
    counter_type: String,
    range: &'static str,
}

#[derive(Default, Serialize)]
struct RowJson {
    name: String,
    id: Option<u32>,
    /// Counter path of the first column in this row of the table.
    path: String,
    values: Vec<Option<f64>>,
    /// Reasons for missing values of the row, by the index of the column or the kind of the fact.
    missing: BTreeMap<String, &'static str>,
    /// Marks of the row's values, by the index of the column.
    marks: BTreeMap<usize, &'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    total: bool,
    /// Id of the instance in the parent's row.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<usize>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ancestor: bool,
    /// Index of the control group to which the row belongs.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<BTreeMap<&'static str, String>>,
}

#[derive(Serialize)]
struct GroupJson {
    /// Path of the control group; null for the rows without one.
    path: Option<String>,
    rows: usize,
}

/// Number of instances without a value in a table column, for one reason.
#[derive(Serialize)]
struct WithoutJson<'a> {
    counter: Cow<'a, str>,
    status: &'static str,
    instances: usize,
    of: usize,
}

#[derive(Serialize)]
struct NothingJson {
    status: &'static str,
    reason: String,
}

/// Returns a table of a counterset as JSON.
pub fn answer(
    plan: &BoundTable,
    query: &PathQuery,
    rows: &ServedRows<'_>,
    facts: FactReader<'_>,
    with_command_lines: bool,
) -> String {
    let mut shown: Vec<RowJson> = rows.shown.iter().map(|row| row_of(plan, rows, row)).collect();
    let without = add_values(plan, query, rows, &mut shown);
    let is_grouped = plan.request.tree == Some(TableTree::Cgroup);
    if plan.request.has_facts || is_grouped {
        for (json, row) in shown.iter_mut().zip(&rows.shown) {
            let Some(row) = rows.row(row.at) else { continue };
            let identity = Identity {
                counterset: plan.set.guid,
                instance: row.name,
                instance_id: InstanceId(row.id.unwrap_or_default()),
                birth: row.birth,
            };
            add_facts(json, facts(&identity), plan.request.has_facts, with_command_lines);
        }
    }
    let groups = is_grouped.then(|| grouped(&mut shown));
    if !plan.request.has_facts {
        shown.iter_mut().for_each(|row| row.facts = None);
    }
    let nothing = rows
        .nothing
        .as_ref()
        .filter(|_| rows.shown.is_empty())
        .map(|reason| NothingJson { status: reason.keyword(), reason: reason.to_string() });
    to_json(&TableJson {
        rows: shown,
        count: rows.matched,
        more: rows.matched.saturating_sub(rows.returned),
        groups,
        without,
        nothing,
        ..empty(plan, query.snapshot().clocks().unix_ms())
    })
}

/// Returns the JSON of a table without rows, with the reason.
pub fn nothing(plan: &BoundTable, time: i64, reason: &str) -> String {
    let nothing = NothingJson { status: NoValue::NoInstance.keyword(), reason: reason.to_owned() };
    to_json(&TableJson { nothing: Some(nothing), ..empty(plan, time) })
}

fn empty(plan: &BoundTable, time: i64) -> TableJson<'_> {
    let sort = plan.sort.and_then(|at| plan.counters().nth(at)).map(Counter::shown_name);
    TableJson {
        counterset: &plan.set.name,
        time,
        columns: plan.counters().map(|counter| column_of(&plan.set, counter)).collect(),
        sort: sort.unwrap_or(Cow::Borrowed(BY_NAME)),
        order: if plan.is_ascending { "asc" } else { "desc" },
        rows: Vec::new(),
        count: 0,
        more: 0,
        groups: None,
        without: Vec::new(),
        errors: &plan.errors,
        nothing: None,
    }
}

fn column_of<'a>(set: &Counterset, counter: &'a Counter) -> ColumnJson<'a> {
    ColumnJson {
        name: counter.shown_name(),
        unit: &counter.unit,
        counter_type: counter.counter_type.to_string(),
        range: value_range(set.guid, counter.id).keyword(),
    }
}

fn row_of(plan: &BoundTable, rows: &ServedRows<'_>, shown: &ShownRow) -> RowJson {
    let Some(row) = rows.row(shown.at) else { return RowJson::default() };
    let name = row.name.to_string();
    let numbered = if row.occurrence == 0 { name.clone() } else { format!("{name}#{}", row.occurrence) };
    let path = CounterPath {
        machine: None,
        counterset: plan.set.name.to_string(),
        instance: (!name.is_empty()).then_some(numbered),
        counter: plan.counters().next().map(|counter| counter.shown_name().into_owned()).unwrap_or_default(),
    };
    RowJson {
        name,
        id: row.id,
        path: path.to_string(),
        values: vec![None; plan.columns.len()],
        missing: (0..plan.columns.len()).map(|at| (at.to_string(), NoValue::NotGiven.keyword())).collect(),
        total: row.is_total,
        parent: shown.parent.and_then(|parent| rows.row(parent)?.id),
        depth: plan.tree.map(|_| shown.depth),
        ancestor: shown.is_ancestor,
        ..RowJson::default()
    }
}

/// Adds the values of all columns to the table's returned rows. Returns how many of all instances have no value.
fn add_values<'p>(
    plan: &'p BoundTable,
    query: &PathQuery,
    rows: &ServedRows<'_>,
    shown: &mut [RowJson],
) -> Vec<WithoutJson<'p>> {
    let mut place = Vec::new();
    for (at, row) in rows.shown.iter().enumerate() {
        if place.len() <= row.at {
            place.resize(row.at.saturating_add(1), usize::MAX);
        }
        if let Some(place) = place.get_mut(row.at) {
            *place = at;
        }
    }
    let mut without = Vec::new();
    for (column, counter) in plan.counters().enumerate() {
        let (mut of, mut reasons) = (0_usize, BTreeMap::<&'static str, usize>::new());
        query.for_each_value(column, |cell| {
            let Some(at) = rows.at(&cell) else { return };
            let value = number(&cell).ok_or_else(|| status(&cell));
            if !cell.sums_up() {
                of = of.saturating_add(1);
                if let Err(reason) = value {
                    let count = reasons.entry(reason).or_default();
                    *count = count.saturating_add(1);
                }
            }
            let Some(row) = place.get(at).and_then(|at| shown.get_mut(*at)) else { return };
            match value {
                Ok(value) => {
                    if let Some(slot) = row.values.get_mut(column) {
                        *slot = Some(value);
                    }
                    row.missing.remove(&column.to_string());
                }
                Err(reason) => drop(row.missing.insert(column.to_string(), reason)),
            }
            if let Some(mark) = cell.value.mark.and_then(|mark| mark.keyword()) {
                row.marks.insert(column, mark);
            }
        });
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, instances)| std::cmp::Reverse(*instances));
        let one = |(status, instances)| WithoutJson { counter: counter.shown_name(), status, instances, of };
        without.extend(reasons.into_iter().map(one));
    }
    without
}

/// Adds facts about the instance to a table's row: all facts, or only the control group. Command lines contain
/// secrets: without `with_command_lines` they are left out. The paths of executables, which a process of another user
/// may not read either, always are.
fn add_facts(row: &mut RowJson, facts: Vec<Fact>, has_all: bool, with_command_lines: bool) {
    let mut known = BTreeMap::new();
    for Fact { kind, text } in facts {
        let is_shown = match kind {
            FactKind::CommandLine => has_all && with_command_lines,
            FactKind::Executable => false,
            FactKind::Cgroup => true,
            _ => has_all,
        };
        match text {
            _ if !is_shown => {}
            Ok(text) => drop(known.insert(kind.keyword(), text.chars().take(FACT_LEN).collect())),
            Err(reason) => drop(row.missing.insert(kind.keyword().to_owned(), reason.keyword())),
        }
    }
    row.facts = Some(known);
}

/// Sorts the rows of a table so that those of each control group are together, and returns the groups. The groups are
/// in the order of their first rows; totals are in none, and come first.
fn grouped(rows: &mut [RowJson]) -> Vec<GroupJson> {
    let mut groups: Vec<GroupJson> = Vec::new();
    let mut by_path: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for row in rows.iter_mut().filter(|row| !row.total) {
        let path = row.facts.as_ref().and_then(|facts| facts.get(FactKind::Cgroup.keyword()).cloned());
        let at = *by_path.entry(path.clone()).or_insert_with(|| {
            groups.push(GroupJson { path, rows: 0 });
            groups.len().saturating_sub(1)
        });
        row.group = Some(at);
        if let Some(group) = groups.get_mut(at) {
            group.rows = group.rows.saturating_add(1);
        }
    }
    rows.sort_by_key(|row| row.group);
    groups
}
