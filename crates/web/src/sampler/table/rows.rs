//! Rows of a table for clients: selection, order and tree.

use std::cmp::Ordering;
use std::collections::HashMap;

use perfset::path::{PathQuery, PathValue};
use perfset::tables::{NumberedRow, TreeKind, parents_by_number, parents_by_path};
use perfset::{Birth, Name, NoValue};

use super::BoundTable;
use crate::sampler::feed::number;

/// Maximum number of rows in a table's response with the ancestors that are kept for the tree.
const WITH_ANCESTORS_MOST: usize = 4_000;

/// Rows of a table for a client: all rows, and those that are returned.
#[derive(Debug, Default)]
pub struct ServedRows<'q> {
    /// Rows of all instances of the counterset.
    all: Vec<ServedRow<'q>>,
    /// Returned rows of the table, in order.
    pub shown: Vec<ShownRow>,
    /// Number of rows of the table that match the filter.
    pub matched: usize,
    /// Number of returned rows of the table that match the filter, and are not there only as ancestors.
    pub returned: usize,
    /// Reason why the table has no rows.
    pub nothing: Option<NoValue>,
    /// Index of each table row by its position in the result of the query.
    places: Vec<usize>,
    entry: Option<usize>,
}

/// Row of a table for a client, without its values.
#[derive(Debug)]
pub struct ServedRow<'q> {
    pub name: Name<'q>,
    pub id: Option<u32>,
    /// Index of the row's instance among those of the same name.
    pub occurrence: usize,
    pub birth: Birth,
    /// `true` for a row with a sum over other rows, or with idle time.
    pub is_total: bool,
    /// Name of the row's instance in small letters, for the filter.
    folded: String,
    /// Value of the row in the column by which the rows are sorted.
    key: Option<f64>,
    tree: NumberedRow,
}

/// Returned row of a table, with its position in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownRow {
    /// Index of the returned row among all rows of the table.
    pub at: usize,
    /// Index of the parent's row among all rows of the table.
    pub parent: Option<usize>,
    /// Number of the row's ancestors among the returned rows.
    pub depth: usize,
    /// `true` if the row is returned only because another returned row is below it.
    pub is_ancestor: bool,
}

impl<'q> ServedRows<'q> {
    /// Reads the rows of a table from a query's last sample, and chooses those that are returned.
    pub fn read(plan: &BoundTable, query: &'q PathQuery) -> Self {
        let mut rows = Self::default();
        let of_tree = match plan.tree {
            Some(TreeKind::Parents { .. }) => [plan.columns.len(), plan.columns.len().saturating_add(1)],
            _ => [usize::MAX; 2],
        };
        for path in 0..plan.paths().len() {
            let is_key = plan.sort == Some(path);
            if path > 0 && !is_key && !of_tree.contains(&path) {
                continue;
            }
            query.for_each_value(path, |cell| {
                let Some(at) = rows.place(query, &cell) else { return };
                let Some(row) = rows.all.get_mut(at) else { return };
                let value = number(&cell);
                if is_key {
                    row.key = value;
                }
                // The sum of all processes has a number, too: that of none.
                let [own, parent] = of_tree.map(|of| of == path && !row.is_total);
                if own {
                    row.tree.number = value;
                }
                if parent {
                    row.tree.parent = value;
                }
            });
        }
        rows.choose(plan);
        rows
    }

    /// Returns the index of the table row to which a value belongs; adds a new row if no earlier column had it. A
    /// value without an instance id is only the reason for having no rows.
    fn place(&mut self, query: &PathQuery, cell: &PathValue<'q>) -> Option<usize> {
        let Some(id) = cell.value.instance_id else {
            self.nothing = cell.value.value.as_ref().err().cloned();
            return None;
        };
        // Rows of another entry could be those of other instances.
        if *self.entry.get_or_insert(cell.value.entry) != cell.value.entry {
            return None;
        }
        if let Some(known) = self.at(cell) {
            return Some(known);
        }
        let (birth, name) = (query.birth(cell), cell.value.instance);
        let at = self.all.len();
        self.all.push(ServedRow {
            name,
            id: cell.value.counterset.instance_type.is_multiple().then_some(id.0),
            occurrence: cell.occurrence,
            birth,
            is_total: cell.sums_up(),
            folded: name.to_string().to_lowercase(),
            key: None,
            tree: NumberedRow { birth, ..NumberedRow::default() },
        });
        if self.places.len() <= cell.row() {
            self.places.resize(cell.row().saturating_add(1), usize::MAX);
        }
        if let Some(place) = self.places.get_mut(cell.row()) {
            *place = at;
        }
        Some(at)
    }

    /// Returns the index of the table row to which a value belongs.
    pub fn at(&self, cell: &PathValue<'_>) -> Option<usize> {
        if self.entry != Some(cell.value.entry) {
            return None;
        }
        self.places.get(cell.row()).copied().filter(|at| *at < self.all.len())
    }

    /// Returns a row of the table by its index.
    pub fn row(&self, at: usize) -> Option<&ServedRow<'q>> {
        self.all.get(at)
    }

    /// Chooses the returned rows of the table: the first ones that match, and with a tree their ancestors.
    fn choose(&mut self, plan: &BoundTable) {
        let filter = plan.request.filter.as_deref().map(|text| text.trim().to_lowercase());
        let matches = |row: &ServedRow<'_>| {
            let Some(filter) = &filter else { return true };
            row.folded.contains(filter) || row.id.is_some_and(|id| id.to_string() == *filter)
        };
        let mut chosen: Vec<usize> =
            (0..self.all.len()).filter(|at| self.row(*at).is_some_and(matches)).collect();
        self.matched = chosen.len();
        chosen.sort_by(|a, b| self.compare(plan, *a, *b));
        chosen.truncate(plan.request.limit);
        self.returned = chosen.len();
        let Some(kind) = plan.tree else {
            let flat = |at| ShownRow { at, parent: None, depth: 0, is_ancestor: false };
            self.shown = chosen.into_iter().map(flat).collect();
            return;
        };
        let parents = self.parents(kind);
        // Ancestors, until there are too many: malformed logs can have very deep trees.
        let mut is_ancestor: HashMap<usize, bool> = chosen.iter().map(|at| (*at, false)).collect();
        for at in &chosen {
            let mut at = *at;
            while let Some(parent) = parents.get(at).copied().flatten() {
                if is_ancestor.contains_key(&parent) || is_ancestor.len() >= WITH_ANCESTORS_MOST {
                    break;
                }
                is_ancestor.insert(parent, true);
                at = parent;
            }
        }
        let mut kept: Vec<usize> = is_ancestor.keys().copied().collect();
        kept.sort_by(|a, b| self.compare(plan, *a, *b));
        self.shown = arranged(&kept, &parents, &is_ancestor);
    }

    /// Compares two rows of the table: totals come first, rows without a value last, and others as the request sorts
    /// them.
    fn compare(&self, plan: &BoundTable, a: usize, b: usize) -> Ordering {
        let (Some(first), Some(second)) = (self.row(a), self.row(b)) else { return a.cmp(&b) };
        let directed = |order: Ordering| if plan.is_ascending { order } else { order.reverse() };
        let by_key = match (plan.sort, first.key, second.key) {
            (None, ..) => directed(first.folded.cmp(&second.folded)),
            (_, Some(first), Some(second)) => directed(first.total_cmp(&second)),
            (_, first, second) => second.is_some().cmp(&first.is_some()),
        };
        second.is_total.cmp(&first.is_total).then(by_key).then(a.cmp(&b))
    }

    fn parents(&self, kind: TreeKind) -> Vec<Option<usize>> {
        match kind {
            TreeKind::Parents { .. } => {
                parents_by_number(&self.all.iter().map(|row| row.tree).collect::<Vec<_>>())
            }
            TreeKind::Paths => {
                let names: Vec<_> = self.all.iter().map(|row| row.name.to_string()).collect();
                parents_by_path(&names.iter().map(String::as_str).collect::<Vec<_>>())
            }
        }
    }
}

/// Arranges table rows as a tree: each row below its parent, and rows with the same parent in the given order.
fn arranged(order: &[usize], parents: &[Option<usize>], is_ancestor: &HashMap<usize, bool>) -> Vec<ShownRow> {
    let parent_of = |at: usize| parents.get(at).copied().flatten();
    let shown_parent = |at: usize| parent_of(at).filter(|parent| is_ancestor.contains_key(parent));
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    for at in order.iter().rev() {
        if let Some(parent) = shown_parent(*at) {
            children.entry(parent).or_default().push(*at);
        }
    }
    let roots = order.iter().filter(|at| shown_parent(**at).is_none());
    let (mut rows, mut seen) = (Vec::with_capacity(order.len()), std::collections::HashSet::new());
    // Processes of a malformed log can be parents of each other: those have no root, and come last.
    for root in roots.chain(order) {
        let mut waiting = vec![(*root, 0_usize)];
        while let Some((at, depth)) = waiting.pop() {
            if !seen.insert(at) {
                continue;
            }
            let is_ancestor = is_ancestor.get(&at).copied().unwrap_or_default();
            rows.push(ShownRow { at, parent: parent_of(at), depth, is_ancestor });
            let below = children.get(&at).map(Vec::as_slice).unwrap_or_default();
            waiting.extend(below.iter().map(|child| (*child, depth.saturating_add(1))));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rows of a tree as texts: a blank for each ancestor before the index of each row.
    fn drawn(order: &[usize], parents: &[Option<usize>]) -> Vec<String> {
        let is_ancestor = order.iter().map(|at| (*at, false)).collect();
        let rows = arranged(order, parents, &is_ancestor);
        rows.iter().map(|row| format!("{}{}", " ".repeat(row.depth), row.at)).collect()
    }

    #[test]
    fn rows_are_below_their_parents() {
        let parents = [None, Some(0), Some(0), Some(2), None];
        assert_eq!(drawn(&[4, 3, 2, 1, 0], &parents), ["4", "0", " 2", "  3", " 1"]);
        // A parent that is not returned.
        assert_eq!(drawn(&[3, 1], &parents), ["3", "1"]);
        // Parents of each other.
        assert_eq!(drawn(&[0, 1, 2], &[Some(1), Some(0), Some(1)]), ["0", " 1", "  2"]);
    }

    #[test]
    fn a_deep_tree_is_arranged() {
        let order: Vec<usize> = (0..20_000).collect();
        let parents: Vec<_> = order.iter().map(|at| at.checked_sub(1)).collect();
        let rows = arranged(&order, &parents, &order.iter().map(|at| (*at, false)).collect());
        assert_eq!(rows.last().map(|row| row.depth), Some(19_999));
    }
}
