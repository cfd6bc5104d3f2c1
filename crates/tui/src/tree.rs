//! Trees of table rows: processes below their parents, control groups below those that contain them.

use std::collections::{HashMap, HashSet};

use perfset::CounterId;
use perfset::tables::{self, NumberedRow, TreeKind};

use crate::sample::{RowChange, RowIdentity, TableSample};

/// Position of a table row in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// Position of the tree's row in its sample.
    pub at: usize,
    /// Number of the tree row's ancestors, up to the root.
    pub depth: usize,
    /// `true` if the tree has rows below this row.
    pub has_children: bool,
    /// `true` if the rows below this row of the tree are hidden.
    pub is_folded: bool,
}

/// Arranges table rows as a tree: each row below its parent, and rows with the same parent in the given order.
/// `columns` are the counters of the sample's values.
#[must_use]
pub fn arranged(
    kind: TreeKind,
    sample: &TableSample,
    columns: &[CounterId],
    order: &[usize],
    folded: &HashSet<RowIdentity>,
) -> Vec<TreeRow> {
    let parents = match kind {
        TreeKind::Parents { number, parent } => parents_by_number(sample, columns, order, (number, parent)),
        TreeKind::Paths => parents_by_path(sample, order),
    };
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    for at in order.iter().rev() {
        if let Some(parent) = parents.get(at) {
            children.entry(*parent).or_default().push(*at);
        }
    }
    let roots = order.iter().filter(|at| !parents.contains_key(at));
    let (mut rows, mut seen) = (Vec::new(), HashSet::new());
    // Processes of a malformed log can be parents of each other: those have no root, and come last.
    for root in roots.chain(order) {
        let mut waiting = vec![(*root, 0_usize)];
        while let Some((at, depth)) = waiting.pop() {
            if !seen.insert(at) {
                continue;
            }
            let below = children.get(&at).map(Vec::as_slice).unwrap_or_default();
            let is_folded =
                !below.is_empty() && sample.rows.get(at).is_some_and(|row| folded.contains(&row.identity));
            rows.push(TreeRow { at, depth, has_children: !below.is_empty(), is_folded });
            if is_folded {
                hide(&children, at, &mut seen);
            } else {
                waiting.extend(below.iter().map(|child| (*child, depth.saturating_add(1))));
            }
        }
    }
    rows
}

/// Marks all rows of the tree below the row `root` as seen.
fn hide(children: &HashMap<usize, Vec<usize>>, root: usize, seen: &mut HashSet<usize>) {
    let mut waiting = vec![root];
    while let Some(at) = waiting.pop() {
        let below = children.get(&at).map(Vec::as_slice).unwrap_or_default();
        waiting.extend(below.iter().filter(|child| seen.insert(**child)));
    }
}

/// Returns the position of each process row's parent, found by process ids.
fn parents_by_number(
    sample: &TableSample,
    columns: &[CounterId],
    order: &[usize],
    (number, parent): (CounterId, CounterId),
) -> HashMap<usize, usize> {
    let column = |id: CounterId| columns.iter().position(|column| *column == id);
    let (Some(number), Some(parent)) = (column(number), column(parent)) else { return HashMap::new() };
    let numbered = |at: &usize| {
        // The sum of all processes has a number, too: that of none.
        let Some(row) = sample.rows.get(*at).filter(|row| !row.sums_up) else {
            return NumberedRow::default();
        };
        let value = |column: usize| row.values.get(column)?.number();
        let has_ended = matches!(row.change, Some(RowChange::Ended | RowChange::BeganAndEnded));
        NumberedRow { number: value(number), parent: value(parent), birth: row.identity.birth, has_ended }
    };
    placed(order, tables::parents_by_number(&order.iter().map(numbered).collect::<Vec<_>>()))
}

/// Returns the position of each control-group row's parent, found by names.
fn parents_by_path(sample: &TableSample, order: &[usize]) -> HashMap<usize, usize> {
    let name = |at: &usize| sample.rows.get(*at).map_or("", |row| &*row.identity.name);
    placed(order, tables::parents_by_path(&order.iter().map(name).collect::<Vec<_>>()))
}

/// Converts the parents of rows from indexes in the shown order to positions in the sample.
fn placed(order: &[usize], parents: Vec<Option<usize>>) -> HashMap<usize, usize> {
    let found = |(at, parent): (&usize, Option<usize>)| Some((*at, *order.get(parent?)?));
    order.iter().zip(parents).filter_map(found).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sample::{SampleRow, TableValue};

    /// Returns a sample of processes with the given rows: name, process id and parent's process id.
    fn sample(rows: &[(&str, f64, f64)]) -> TableSample {
        let row = |(name, number, parent): &(&str, f64, f64)| {
            let identity = RowIdentity { name: (*name).into(), id: None, birth: None, occurrence: 0 };
            let value = |value: f64| TableValue::Number { value, raw: None };
            let values = [value(*number), value(*parent)].into();
            Arc::new(SampleRow { identity, number: 0, sums_up: *name == "_Total", change: None, values })
        };
        TableSample { rows: rows.iter().map(row).collect(), ..TableSample::default() }
    }

    /// Returns the row names of a tree, with a blank before a name for each ancestor.
    fn drawn(kind: TreeKind, sample: &TableSample, folded: &[&str]) -> Vec<String> {
        let order: Vec<usize> = (0..sample.rows.len()).collect();
        let is_folded = |name: &str| folded.contains(&name);
        let rows = sample.rows.iter().filter(|row| is_folded(&row.identity.name));
        let folded: HashSet<RowIdentity> = rows.map(|row| row.identity.clone()).collect();
        let tree = arranged(kind, sample, &[CounterId(1), CounterId(2)], &order, &folded);
        let name = |row: &TreeRow| format!("{}{}", " ".repeat(row.depth), sample.rows[row.at].identity.name);
        tree.iter().map(name).collect()
    }

    const PARENTS: TreeKind = TreeKind::Parents { number: CounterId(1), parent: CounterId(2) };

    #[test]
    fn processes_are_below_their_parents() {
        let all = [
            ("_Total", 0.0, 0.0),
            ("sh", 7.0, 1.0),
            ("init", 1.0, 0.0),
            ("rustc", 9.0, 8.0),
            ("cargo", 8.0, 7.0),
            ("orphan", 5.0, 99.0),
            ("kthreadd", 2.0, 0.0),
        ];
        let want = ["_Total", "init", " sh", "  cargo", "   rustc", "orphan", "kthreadd"];
        assert_eq!(drawn(PARENTS, &sample(&all), &[]), want);
        assert_eq!(drawn(PARENTS, &sample(&all), &["sh"]), ["_Total", "init", " sh", "orphan", "kthreadd"]);
    }

    #[test]
    fn numbers_that_were_used_before_are_no_parents() {
        let mut all = sample(&[("later", 7.0, 1.0), ("orphan", 9.0, 7.0), ("ended", 7.0, 1.0)]);
        for (row, birth) in all.rows.iter_mut().zip([20, 10, 5]) {
            let mut own = SampleRow::clone(row);
            own.identity.birth = std::num::NonZeroU64::new(birth);
            own.change = (&*own.identity.name == "ended").then_some(RowChange::Ended);
            *row = Arc::new(own);
        }
        assert_eq!(drawn(PARENTS, &all, &[]), ["later", "orphan", "ended"]);
    }

    #[test]
    fn parents_of_each_other_are_there_once() {
        let all = [("a", 1.0, 2.0), ("b", 2.0, 1.0), ("self", 3.0, 3.0), ("c", 4.0, 2.0)];
        assert_eq!(drawn(PARENTS, &sample(&all), &[]), ["self", "a", " b", "  c"]);
        assert_eq!(drawn(PARENTS, &sample(&all), &["a"]), ["self", "a"]);
    }

    #[test]
    fn a_deep_tree_is_arranged() {
        let names: Vec<String> = (0..20_000).map(|at| format!("p{at}")).collect();
        let all: Vec<(&str, f64, f64)> =
            names.iter().zip(1..).map(|(name, at)| (&**name, f64::from(at), f64::from(at - 1))).collect();
        assert_eq!(drawn(PARENTS, &sample(&all), &[]).last().unwrap().len(), 19_999 + names[19_999].len());
    }

    #[test]
    fn groups_are_below_those_that_they_are_in() {
        let names = ["/", "a/b/c", "a", "user", "a/x", "user/1/2"];
        let all: Vec<(&str, f64, f64)> = names.iter().map(|name| (*name, 0.0, 0.0)).collect();
        let want = ["/", " a", "  a/b/c", "  a/x", " user", "  user/1/2"];
        assert_eq!(drawn(TreeKind::Paths, &sample(&all), &[]), want);
    }
}
