//! Tab of an interactive screen: a counterset, its columns and their order.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use perfset::output::text::escaped;
use perfset::path::nearest;
use perfset::tables::{TablePreset, TreeKind, shown_counters};
use perfset::{Counter, CounterId, Counterset};

use crate::filter::RowFilter;
use crate::sample::{RowIdentity, SampleRow, TableSample};
use crate::tree::{TreeRow, arranged};

/// Maximum number of columns of a new tab without a preset, if its counterset has several instances.
const COLUMNS: usize = 8;

/// Part of a comparison that a table's column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnPart {
    /// Value in a column of a table that is no comparison.
    Whole,
    /// Value in the baseline, with which the shown value is compared.
    Before,
    /// Value in the shown range, which is compared with the baseline.
    After,
    /// Value in the shown range minus the value in the baseline.
    Difference,
}

/// Heading of a table's column: its counter and its title.
#[derive(Clone, Debug, PartialEq)]
pub struct TableHeading {
    /// Counter that the table column shows.
    pub counter: Counter,
    /// Title of the table column, without control characters.
    pub title: String,
    /// Part of a comparison that the table column shows.
    pub part: ColumnPart,
}

impl TableHeading {
    /// Returns the three columns that a comparison has for this table column.
    fn compared(self) -> [Self; 3] {
        /// Maximum length of a counter's title in characters, so that the words after it remain visible.
        const LONGEST: usize = 18;
        let Self { counter, title, .. } = self;
        let title = match title.chars().count() > LONGEST {
            true => title.chars().take(LONGEST).chain(['~']).collect(),
            false => title,
        };
        let (before, difference) = (format!("{title} was"), format!("{title} diff"));
        let column = |title, part| Self { counter: counter.clone(), title, part };
        [
            column(before, ColumnPart::Before),
            column(title, ColumnPart::After),
            column(difference, ColumnPart::Difference),
        ]
    }
}

/// Tab of the screen with the table of one counterset.
#[derive(Clone, Debug)]
pub struct TableTab {
    /// Title of the screen's tab.
    pub title: String,
    /// Counterset of the tab's table.
    pub counterset: Arc<Counterset>,
    /// Headings of the table's columns, from left to right.
    pub columns: Vec<TableHeading>,
    /// Index of the column by which the table's rows are sorted; `None` to sort by name.
    pub sorted_by: Option<usize>,
    /// `true` if the table's rows are sorted with the greatest value first.
    pub is_descending: bool,
    /// Filter that hides rows of the table; `None` if all rows are shown.
    pub filter: Option<RowFilter>,
    /// Relation between the rows that arranges them as a tree; `None` if they are shown as a list.
    pub tree: Option<TreeKind>,
    /// Rows of the tree whose children are hidden.
    pub folded: HashSet<RowIdentity>,
}

/// Table of an interactive screen that a user has chosen by names of its counterset and counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableChoice {
    /// Title of the chosen table's tab, without control characters.
    pub title: String,
    /// Name of the chosen table's counterset.
    pub counterset: String,
    /// Names of the counters in the chosen table's columns, from left to right; if empty, the columns are those of a
    /// new tab.
    pub columns: Vec<String>,
    /// Name of the counter by which the chosen table's rows are sorted.
    pub sort: Option<String>,
    /// Text of the filter of the chosen table's rows.
    pub filter: Option<String>,
}

impl TableTab {
    /// Creates the tab for a table that a user has chosen.
    ///
    /// # Errors
    /// A sentence that names the counterset, counter or filter that is wrong, and the nearest names.
    pub fn of_choice(choice: &TableChoice, sets: &[Arc<Counterset>]) -> Result<Self, String> {
        let none = |what: &str, name: &str, names: Vec<String>| {
            let near = nearest(name, names.iter().map(String::as_str), 3);
            let hint =
                if near.is_empty() { String::new() } else { format!("; nearest: {}", near.join(", ")) };
            format!("no {what} is called \"{name}\"{hint}")
        };
        let is_named = |name: &str, wanted: &str| name.to_lowercase() == wanted.to_lowercase();
        let set = sets.iter().find(|set| is_named(&set.name, &choice.counterset)).ok_or_else(|| {
            none("counterset", &choice.counterset, sets.iter().map(|set| set.name.to_string()).collect())
        })?;
        let counters = shown_counters(set, true);
        let counter = |name: &String| {
            let found = counters.iter().find(|counter| is_named(&counter.shown_name(), name));
            let names = || counters.iter().map(|counter| counter.shown_name().into_owned()).collect();
            found.map(|counter| heading(counter)).ok_or_else(|| none("counter", name, names()))
        };
        let mut tab = Self::of(set);
        choice.title.clone_into(&mut tab.title);
        if !choice.columns.is_empty() {
            tab.columns = choice.columns.iter().map(counter).collect::<Result<_, _>>()?;
        }
        if let Some(sort) = &choice.sort {
            let wanted = counter(sort)?;
            let at = tab.columns.iter().position(|column| column.counter.id == wanted.counter.id);
            tab.sorted_by = Some(at.unwrap_or(tab.columns.len()));
            tab.columns.extend(at.is_none().then_some(wanted));
        }
        if let Some(filter) = &choice.filter {
            let titles: Vec<&str> = tab.columns.iter().map(|column| &*column.title).collect();
            tab.filter = Some(RowFilter::parse(filter, &titles)?);
        }
        Ok(tab)
    }

    /// Creates the tab for a preset table, if the source has one of its countersets.
    #[must_use]
    pub fn of_preset(preset: &TablePreset, sets: &[Arc<Counterset>]) -> Option<Self> {
        let named = |name: &&str| sets.iter().find(|set| set.name == **name);
        let set = preset.countersets.iter().find_map(named)?;
        let found = |(title, name): &(&str, &str)| {
            let counter =
                shown_counters(set, true).into_iter().find(|counter| counter.shown_name() == *name)?;
            Some(TableHeading { title: (*title).to_owned(), ..heading(counter) })
        };
        let mut columns: Vec<_> = preset.columns.iter().filter_map(found).collect();
        let mut tab = Self::of(set);
        preset.title.clone_into(&mut tab.title);
        tab.is_descending = !preset.is_ascending;
        if tab.is_single() {
            let is_new = |other: &TableHeading| columns.iter().all(|own| own.counter.id != other.counter.id);
            let others: Vec<_> = tab.columns.iter().filter(|other| is_new(other)).cloned().collect();
            columns.extend(others);
        }
        if !columns.is_empty() {
            tab.columns = columns;
        }
        Some(tab)
    }

    /// Creates the tab for any counterset, with its default counter and the first other ones as columns. If the
    /// counterset has only one instance, all counters are included.
    #[must_use]
    pub fn of(set: &Arc<Counterset>) -> Self {
        let mut counters = shown_counters(set, false);
        let is_default = |counter: &Counter| Some(counter.id) == set.default_counter;
        counters.sort_by_key(|counter| !is_default(counter));
        if set.instance_type.is_multiple() {
            counters.truncate(COLUMNS);
        }
        Self {
            title: escaped(&set.name),
            counterset: Arc::clone(set),
            columns: counters.into_iter().map(heading).collect(),
            sorted_by: Some(0),
            is_descending: true,
            filter: None,
            tree: None,
            folded: HashSet::new(),
        }
    }

    /// Returns the ids of the counters in the table's columns, followed by further counters that the tree needs.
    #[must_use]
    pub fn counters(&self) -> Vec<CounterId> {
        let mut ids: Vec<CounterId> = Vec::new();
        for id in self.columns.iter().map(|column| column.counter.id) {
            if !(self.is_compared() && ids.contains(&id)) {
                ids.push(id);
            }
        }
        for id in self.tree.map(TreeKind::counters).unwrap_or_default() {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    /// Returns the rows of a sample that the filter shows, arranged as a tree; nothing if they are shown as a list.
    #[must_use]
    pub fn tree(&self, sample: &TableSample, order: &[usize]) -> Vec<TreeRow> {
        let tree = self.tree.map(|kind| arranged(kind, sample, &self.counters(), order, &self.folded));
        tree.unwrap_or_default()
    }

    /// Returns `true` if the table has a row for each counter, because there is only one instance.
    #[must_use]
    pub fn is_single(&self) -> bool {
        !self.counterset.instance_type.is_multiple()
    }

    /// Returns the lines of a table of one instance: for each counter its columns, with their indexes.
    pub fn lines(&self) -> impl Iterator<Item = Vec<(usize, &TableHeading)>> {
        let size = if self.is_compared() { 3 } else { 1 };
        let columns: Vec<_> = self.columns.iter().enumerate().collect();
        let lines: Vec<_> = columns.chunks(size).map(<[_]>::to_vec).collect();
        lines.into_iter()
    }

    /// Adds the columns of a comparison to the table: the value in the baseline and the difference. The greatest
    /// difference comes first.
    pub fn compare(&mut self) {
        if !self.is_compared() {
            let columns = std::mem::take(&mut self.columns);
            self.columns = columns.into_iter().flat_map(TableHeading::compared).collect();
            self.sorted_by = self.sorted_by.map(|by| by.saturating_mul(3).saturating_add(2));
            self.is_descending = true;
            self.filter =
                self.filter.take().map(|filter| filter.moved(|at| at.saturating_mul(3).saturating_add(1)));
            self.tree = None;
        }
    }

    fn is_compared(&self) -> bool {
        self.columns.iter().any(|column| column.part != ColumnPart::Whole)
    }

    /// Adds the columns of a counter to the table, or removes them if the table has them. The columns of the last
    /// counter stay.
    pub fn toggle(&mut self, counter: &Counter) {
        let is_it = |column: &TableHeading| column.counter.id == counter.id;
        match self.columns.iter().position(is_it) {
            Some(_) if self.columns.iter().all(is_it) => {}
            Some(at) => {
                let before = self.columns.len();
                self.columns.retain(|column| !is_it(column));
                let removed = before.saturating_sub(self.columns.len());
                // Without the column, the first difference or the first column decides.
                let first = if self.is_compared() { 2 } else { 0 };
                self.sorted_by = self.sorted_by.map(|by| match by < at {
                    true => by,
                    false => by.checked_sub(removed).filter(|by| *by >= at).unwrap_or(first),
                });
                self.filter = None; // it may name the column
            }
            None if self.is_compared() => self.columns.extend(heading(counter).compared()),
            None => self.columns.push(heading(counter)),
        }
    }

    /// Returns the positions of a sample's rows that the filter shows, in sorted order. Rows without the number to
    /// sort by come last; sums over other rows come first.
    #[must_use]
    pub fn order(&self, sample: &TableSample) -> Vec<usize> {
        let row = |at: &usize| sample.rows.get(*at);
        let is_shown = |at: &usize| match (&self.filter, row(at)) {
            (Some(filter), Some(row)) => filter.matches(row),
            _ => true,
        };
        let mut rows: Vec<usize> = (0..sample.rows.len()).filter(is_shown).collect();
        let compare = |a: &SampleRow, b: &SampleRow| -> Ordering {
            let by_name = || a.identity.name.cmp(&b.identity.name);
            let Some(column) = self.sorted_by else {
                return if self.is_descending { by_name().reverse() } else { by_name() };
            };
            let number = |row: &SampleRow| row.values.get(column).and_then(|value| value.number());
            match (number(a), number(b)) {
                (Some(a), Some(b)) if self.is_descending => b.total_cmp(&a),
                (Some(a), Some(b)) => a.total_cmp(&b),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => Ordering::Equal,
            }
        };
        rows.sort_by(|a, b| {
            let (Some(a), Some(b)) = (row(a), row(b)) else { return Ordering::Equal };
            b.sums_up.cmp(&a.sums_up).then_with(|| compare(a, b))
        });
        rows
    }
}

fn heading(counter: &Counter) -> TableHeading {
    let title = escaped(&counter.shown_name());
    TableHeading { counter: counter.clone(), title, part: ColumnPart::Whole }
}
