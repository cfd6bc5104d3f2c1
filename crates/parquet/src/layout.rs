//! Columns of a counterset's Parquet files: the same for all hosts and times, so that SQL engines see one table.

use std::collections::HashMap;

use perfset_catalogue::by_guid;
use perfset_core::{Counter, CounterId, CounterType, Counterset, Guid, formula};

use crate::names::{ColumnNames, counterset_slug, slug};

/// Physical type of a counter's column in Parquet files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Raw values: 64-bit unsigned numbers, whose bits are stored as signed ones.
    Raw,
    /// Doubles: values that the writer of the log formatted.
    Formatted,
}

/// Column of a counter in Parquet files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CounterColumn {
    /// Name of the counter's column: characters `[a-z0-9_]`.
    pub name: String,
    /// Counter whose values the column has.
    pub counter: Counter,
    /// Physical type of the counter's column.
    pub kind: ColumnKind,
}

/// Columns that the counters of one counterset have in Parquet files.
///
/// A counterset of the catalogue has all columns of the catalogue in every file, also those of counters that were not
/// recorded. Counters that the catalogue does not know, or knows with another formula, follow.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CountersetLayout {
    /// GUID of the exported counterset.
    pub guid: Guid,
    /// Name of the exported counterset.
    pub name: String,
    /// Help text of the exported counterset.
    pub help: String,
    /// Name of the counterset in file paths and of its SQL view: characters `[a-z0-9_]`.
    pub slug: String,
    /// Columns of the counters, in the order of the files.
    pub columns: Vec<CounterColumn>,
    /// Index of the column of each registered counter that has a column.
    by_id: HashMap<CounterId, usize>,
}

impl CountersetLayout {
    /// Creates the columns of a counterset from its registration.
    #[must_use]
    pub fn of(set: &Counterset) -> Self {
        let known = by_guid(set.guid);
        let mut layout = Self {
            guid: set.guid,
            name: known
                .map_or_else(|| set.name.clone().into_owned(), |known| known.name.clone().into_owned()),
            help: known
                .map_or_else(|| set.help.clone().into_owned(), |known| known.help.clone().into_owned()),
            slug: counterset_slug(set),
            columns: Vec::new(),
            by_id: HashMap::new(),
        };
        let mut names = ColumnNames::new();
        if let Some(known) = known {
            for counter in known.counters.iter() {
                layout.add(&mut names, known, counter, "");
            }
        }
        let of_known = std::mem::take(&mut layout.by_id);
        for counter in set.counters.iter() {
            if layout.by_id.contains_key(&counter.id) {
                continue; // a registration can repeat an id
            }
            let same = of_known.get(&counter.id).copied();
            let other = same.and_then(|at| layout.columns.get(at)).map(|column| column.counter.counter_type);
            match (same, other) {
                (Some(at), Some(other)) if is_alike(other, counter.counter_type) => {
                    layout.by_id.insert(counter.id, at);
                }
                (_, Some(_)) if counter.counter_type == CounterType::PERF_DOUBLE_RAW => {
                    layout.add(&mut names, set, counter, "_formatted");
                }
                (_, Some(_)) => {
                    let suffix = format!("_type_{:08x}", counter.counter_type.0);
                    layout.add(&mut names, set, counter, &suffix);
                }
                _ if counter.name.is_none() && is_clock(set, counter.id) => {}
                _ => match layout.base_in_catalogue(known, set, counter, &of_known) {
                    Some(at) => drop(layout.by_id.insert(counter.id, at)),
                    None => layout.add(&mut names, set, counter, ""),
                },
            }
        }
        layout
    }

    fn add(&mut self, names: &mut ColumnNames, set: &Counterset, counter: &Counter, suffix: &str) {
        let of_base = || {
            let user = set.counters.iter().find(|user| user.divisor() == Some(counter.id))?;
            Some(format!("{}_base", slug(&user.shown_name())))
        };
        let name = counter.name.as_deref().map(slug).filter(|name| !name.is_empty());
        let name = name.or_else(of_base).unwrap_or_else(|| format!("counter_{}", counter.id.0));
        let kind = match counter.counter_type {
            CounterType::PERF_DOUBLE_RAW => ColumnKind::Formatted,
            _ => ColumnKind::Raw,
        };
        self.by_id.insert(counter.id, self.columns.len());
        let name = names.give(&format!("{name}{suffix}"), counter.id.0);
        self.columns.push(CounterColumn { name, counter: counter.clone(), kind });
    }

    /// Returns the built-in column for a counter's base if the log has that base under another id: bases of binary
    /// logs have no name.
    fn base_in_catalogue(
        &self,
        known: Option<&Counterset>,
        set: &Counterset,
        base: &Counter,
        of_known: &HashMap<CounterId, usize>,
    ) -> Option<usize> {
        let user = set.counters.iter().find(|user| user.divisor() == Some(base.id))?;
        let divisor = known?.counter(user.id)?.divisor()?;
        of_known.get(&divisor).copied().filter(|_| base.name.is_none() && self.by_id.contains_key(&user.id))
    }

    /// Returns the index of the column that a counter has in Parquet files.
    #[must_use]
    pub fn column_of(&self, id: CounterId) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// Returns the column that a counter has in Parquet files.
    #[must_use]
    pub fn counter_column(&self, id: CounterId) -> Option<&CounterColumn> {
        self.columns.get(self.column_of(id)?)
    }
}

/// Returns `true` if raw values of both types have the same meaning, except for their width.
fn is_alike(a: CounterType, b: CounterType) -> bool {
    let formula = |of| formula::for_type(of).map(|formula| formula.text);
    let is_same = a.decode().clock == b.decode().clock && a.decode().display == b.decode().display;
    a == b || is_same && formula(a) == formula(b) && a.is_base() == b.is_base()
}

/// Returns `true` if a counter of the counterset is the clock of another counter.
fn is_clock(set: &Counterset, id: CounterId) -> bool {
    set.counters.iter().any(|user| user.perf_time == Some(id) || user.perf_freq == Some(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfset_core::InstanceType;

    #[test]
    fn every_counterset_of_the_catalogue_has_its_columns() {
        for set in perfset_catalogue::ALL {
            let layout = CountersetLayout::of(set);
            assert_eq!(layout.columns.len(), set.counters.len(), "{}", set.name);
            for (column, counter) in layout.columns.iter().zip(set.counters.iter()) {
                assert_eq!(layout.counter_column(counter.id).map(|known| &*known.name), Some(&*column.name));
                assert!(
                    column.name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_'),
                    "{}",
                    column.name
                );
                assert_eq!(column.kind, ColumnKind::Raw, "{}", column.name);
            }
        }
    }

    #[test]
    fn a_part_of_the_counters_has_all_columns() {
        let whole = &perfset_catalogue::memory::COUNTERSET;
        let part = Counterset::new(whole.guid, "Memory", whole.instance_type)
            .counters(whole.counters.iter().skip(5).take(2).cloned());
        let (whole, part) = (CountersetLayout::of(whole), CountersetLayout::of(&part));
        let names = |layout: &CountersetLayout| -> Vec<String> {
            layout.columns.iter().map(|column| column.name.clone()).collect()
        };
        assert_eq!(names(&whole), names(&part));
    }

    #[test]
    fn other_meanings_have_other_columns() {
        let memory = &perfset_catalogue::memory::COUNTERSET;
        let first = memory.counters.first().unwrap();
        let typed = |of| Counter::new(first.id, of).name(first.shown_name().into_owned());
        let set = Counterset::new(memory.guid, "Memory", InstanceType::Single).counters([
            typed(CounterType::PERF_DOUBLE_RAW),
            Counter::new(CounterId(90_000), CounterType::PERF_AVERAGE_BULK)
                .name("Mean")
                .base(CounterId(90_001)),
            Counter::new(CounterId(90_001), CounterType::PERF_AVERAGE_BASE),
            Counter::new(CounterId(90_002), CounterType::PERF_COUNTER_LARGE_RAWCOUNT).name("Time"),
        ]);
        let layout = CountersetLayout::of(&set);
        let name = |id| layout.counter_column(id).map(|column| (&*column.name, column.kind));
        assert_eq!(name(first.id), Some(("page_faults_per_sec_formatted", ColumnKind::Formatted)));
        assert_eq!(name(CounterId(90_000)), Some(("mean", ColumnKind::Raw)));
        assert_eq!(name(CounterId(90_001)), Some(("mean_base", ColumnKind::Raw)));
        assert_eq!(name(CounterId(90_002)), Some(("time_90002", ColumnKind::Raw)));
        let narrow = typed(CounterType::PERF_COUNTER_BULK_COUNT);
        let narrow = Counterset::new(memory.guid, "Memory", InstanceType::Single).counters([narrow]);
        let narrow = CountersetLayout::of(&narrow);
        assert_eq!(narrow.counter_column(first.id).map(|column| &*column.name), Some("page_faults_per_sec"));
    }
}
