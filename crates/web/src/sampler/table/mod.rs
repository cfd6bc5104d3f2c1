//! Tables for clients: the instances of a counterset as rows, and some of its counters as columns, at one time.

use std::sync::Arc;

use axum::http::StatusCode;
use perfset::path::{CounterPath, PathQuery, resolve};
use perfset::tables::{TreeKind, preset_of, shown_counters};
use perfset::{Counter, CounterId, Counterset, Fact, Identity, Machine};

use crate::answer::ApiError;
use crate::catalogue::named;
use crate::request::{TableRequest, TableTree};

mod json;
mod read;
mod rows;

use json::RefusedColumn;
pub(super) use read::{KeptTable, TableAsk, table_of};

/// Maximum number of columns of a requested table.
const COLUMNS_MOST: usize = 32;
/// Maximum number of rows of a requested table, without the ancestors of other rows.
const ROWS_MOST: usize = 1_000;
/// Number of columns of a table whose counterset has no preset and whose request names no columns.
const COLUMNS: usize = 8;
/// Keyword of a table request for sorting by the names of the instances.
const BY_NAME: &str = "name";

/// Function that reads the facts about an instance.
pub(super) type FactReader<'a> = &'a dyn Fn(&Identity<'_>) -> Vec<Fact>;

/// Request for a table, bound to the counterset of a machine.
#[derive(Debug)]
pub(super) struct BoundTable {
    request: TableRequest,
    set: Arc<Counterset>,
    /// Ids of the counters in the table's columns.
    columns: Vec<CounterId>,
    /// Column by which the table's rows are sorted; `None` for the names of the instances.
    sort: Option<usize>,
    is_ascending: bool,
    /// Relation of the counterset, if each row of the table is below its parent.
    tree: Option<TreeKind>,
    errors: Vec<RefusedColumn>,
}

impl BoundTable {
    /// Binds a table request to the countersets of a machine. A column that does not exist is an error of that column
    /// alone, unless there is no other.
    pub fn new(machine: &Machine, request: &TableRequest) -> Result<Self, ApiError> {
        check(request, request.columns.len())?;
        let set = named(machine, &request.counterset)?;
        let mut machine = machine.clone();
        let mut find = |text: &str| {
            let path = path_of(&set, text.to_owned());
            resolve(&mut machine, &path).map(|found| found.counters).map_err(ApiError::from)
        };
        // Columns: those that are asked for, else the usual ones.
        let (mut columns, mut errors) = (Vec::new(), Vec::new());
        if request.columns.is_empty() {
            columns = usual(&set);
        }
        for text in &request.columns {
            match find(text) {
                Ok(found) => {
                    let is_alone = found.len() == 1;
                    let is_there = |id: &CounterId| set.counter(*id).is_some_and(|one| !one.is_never_there());
                    // A counter that has no value on this system is shown only by its own name.
                    let shown = found.into_iter().filter(|id| is_alone || is_there(id));
                    for id in shown {
                        if !columns.contains(&id) {
                            columns.push(id);
                        }
                    }
                }
                Err(problem) if request.columns.len() == 1 => return Err(problem),
                Err(problem) => errors.push(RefusedColumn::new(text, problem)),
            }
        }
        if let (true, Some(first)) = (columns.is_empty(), errors.first()) {
            return Err(first.problem());
        }
        // The column that sorts; one that was not asked for becomes the last.
        let sort = match request.sort.as_deref() {
            Some(BY_NAME) => None,
            Some(text) => {
                let found = find(text)?.into_iter().next();
                found.map(|id| {
                    columns.iter().position(|known| *known == id).unwrap_or_else(|| {
                        columns.push(id);
                        columns.len().saturating_sub(1)
                    })
                })
            }
            None => (!columns.is_empty()).then_some(0),
        };
        check(request, columns.len())?;
        let is_usual = sort == Some(0) && request.sort.is_none();
        let is_ascending = request.is_ascending.unwrap_or(match sort {
            None => true,
            Some(_) => is_usual && preset_of(&set).is_some_and(|preset| preset.is_ascending),
        });
        // The relation of the rows.
        let tree = match request.tree {
            Some(TableTree::Parent) => {
                let kind = TreeKind::of(&set).ok_or_else(|| {
                    let text = format!("instances of \"{}\" have no parents", set.name);
                    let flat = TableRequest { tree: None, ..request.clone() };
                    ApiError::new(StatusCode::BAD_REQUEST, text)
                        .hint(format!("this fits: {}", flat.address()))
                })?;
                Some(kind)
            }
            Some(TableTree::Cgroup) | None => None,
        };
        Ok(Self { request: request.clone(), set, columns, sort, is_ascending, tree, errors })
    }

    /// Returns the counter paths that the table needs: those of the columns, and those on which the tree depends.
    pub fn paths(&self) -> Vec<CounterPath> {
        let of_tree = self.tree.map(TreeKind::counters).unwrap_or_default();
        let all = self.columns.iter().copied().chain(of_tree);
        all.map(|id| path_of(&self.set, format!("#{}", id.0))).collect()
    }

    /// Returns `true` if a column of the table has values only after a second collection.
    pub fn needs_two_samples(&self) -> bool {
        self.counters().any(|counter| counter.counter_type.needs_two_samples())
    }

    /// Returns the table with the values of a query as JSON. The first paths of the query are those of
    /// [`paths`](Self::paths). Command lines are left out unless `with_command_lines` is `true`.
    pub fn answer(&self, query: &PathQuery, facts: FactReader<'_>, with_command_lines: bool) -> String {
        let rows = rows::ServedRows::read(self, query);
        json::answer(self, query, &rows, facts, with_command_lines)
    }

    /// Returns the table without rows as JSON, for a time at which nothing was recorded.
    pub fn nothing(&self, time: i64, reason: &str) -> String {
        json::nothing(self, time, reason)
    }

    fn counters(&self) -> impl Iterator<Item = &Counter> {
        self.columns.iter().filter_map(|id| self.set.counter(*id))
    }
}

/// Returns the counter path of a counter of all instances of a counterset.
fn path_of(set: &Counterset, counter: String) -> CounterPath {
    CounterPath {
        machine: None,
        counterset: format!("{{{}}}", set.guid),
        instance: set.instance_type.is_multiple().then(|| "*".to_owned()),
        counter,
    }
}

/// Returns the counters that a table of a counterset has if the request names none: those of the preset, else the
/// first ones with a value on this system.
fn usual(set: &Counterset) -> Vec<CounterId> {
    let shown = shown_counters(set, false);
    let named = |name: &str| shown.iter().find(|counter| counter.shown_name() == name).map(|one| one.id);
    let preset = preset_of(set).map(|preset| preset.columns).unwrap_or_default();
    let columns: Vec<_> = preset.iter().filter_map(|(_, name)| named(name)).collect();
    if columns.is_empty() { shown.iter().take(COLUMNS).map(|counter| counter.id).collect() } else { columns }
}

/// Returns an error with a smaller request, if a table request is over a limit.
fn check(request: &TableRequest, columns: usize) -> Result<(), ApiError> {
    let over = |text: String, fitting: TableRequest| {
        Err(ApiError::new(StatusCode::BAD_REQUEST, text).hint(format!("this fits: {}", fitting.address())))
    };
    if request.limit > ROWS_MOST {
        let text = format!("limit is {}, more than {ROWS_MOST} rows", request.limit);
        return over(text, TableRequest { limit: ROWS_MOST, ..request.clone() });
    }
    if columns > COLUMNS_MOST {
        let text = format!("the table has {columns} columns, more than {COLUMNS_MOST}");
        let mut columns = request.columns.clone();
        // A pattern alone can be too many: without columns, the table has the usual ones.
        columns.retain(|text| !text.contains(['*', '?', '{', '!']));
        columns.truncate(COLUMNS_MOST.saturating_sub(1));
        return over(text, TableRequest { columns, ..request.clone() });
    }
    Ok(())
}
