//! Rows of a sample: the values of one instance, with a column for each counter.

use std::cmp::Reverse;
use std::collections::HashMap;

use perfset_core::{Birth, Counter, CounterId, Counterset, Guid, InstanceId};
use perfset_engine::path::{CounterPath, PathValue, Selector};

use crate::form::NumberForm;
use crate::output::MachineValues;

/// Identity of a row in a sample. Instances of one name are distinguished by id, birth, and number among their name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RowKey<'v> {
    counterset: Guid,
    instance: &'v [u8],
    id: Option<InstanceId>,
    occurrence: usize,
    birth: Birth,
}

impl<'v> RowKey<'v> {
    /// Returns the identity of the row that contains a value, without a birth.
    pub fn new(v: &PathValue<'v>) -> Self {
        Self {
            counterset: v.value.counterset.guid,
            instance: v.value.instance.as_bytes(),
            id: v.value.instance_id,
            occurrence: v.occurrence,
            birth: None,
        }
    }
}

/// Values of one counterset in a sample, instance by instance.
#[derive(Debug)]
pub(crate) struct InstanceTable<'a> {
    /// Counterset of all values in the table.
    pub counterset: &'a Counterset,
    /// Counters that are columns of the table, in the order in which the paths name them.
    pub columns: Vec<&'a Counter>,
    /// Rows of the instances, in the order of the source until they are sorted.
    pub rows: Vec<InstanceRow<'a>>,
}

/// Row of a table: the values of one instance.
#[derive(Debug)]
pub(crate) struct InstanceRow<'a> {
    /// Some value of the row, from which the instance's name is taken.
    pub first: &'a PathValue<'a>,
    /// Value of the row in each column; `None` where no path requests that counter of this instance.
    pub cells: Vec<Option<&'a PathValue<'a>>>,
}

/// Order of the rows of instances in a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RowOrder {
    /// Descending order by the values of the first counter.
    #[default]
    FirstCounter,
    /// Descending order by the values of the counter with this name.
    Counter(String),
    /// Ascending order by the names of the instances.
    Instance,
}

impl RowOrder {
    /// Parses the order of a table's rows: the name of a counter, or `instance`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.trim() {
            "instance" => Self::Instance,
            counter => Self::Counter(counter.to_owned()),
        }
    }

    /// Returns the name of the counter that determines the order of the rows, if one was given.
    #[must_use]
    pub fn counter(&self) -> Option<&str> {
        match self {
            Self::Counter(name) => Some(name),
            Self::FirstCounter | Self::Instance => None,
        }
    }
}

/// Finds the counter that a text names: by the whole name, or by a part that occurs in one name only. Case is ignored.
///
/// # Errors
/// The names that contain the text, if there are several; none if no name contains it.
pub fn named_counter<'n>(
    text: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Result<&'n str, Vec<&'n str>> {
    let folded = text.trim().to_lowercase();
    let mut parts: Vec<&str> = Vec::new();
    for name in names {
        let lower = name.to_lowercase();
        if lower == folded {
            return Ok(name);
        }
        if lower.contains(&folded) && !parts.contains(&name) {
            parts.push(name);
        }
    }
    match parts.as_slice() {
        &[only] => Ok(only),
        _ => Err(parts),
    }
}

impl<'a> InstanceTable<'a> {
    /// Returns the tables of the values of a machine, one for each counterset, in order of appearance. If a value is
    /// requested twice, it is in its table once.
    pub fn of_machine(machine: &MachineValues<'a>, paths: &[CounterPath]) -> Vec<Self> {
        let birth = |v: &PathValue<'_>| machine.query.and_then(|query| query.birth(v));
        Self::of_values(machine.values, paths, birth)
    }

    /// Returns the tables of some values, one for each counterset; see [`of_machine`](Self::of_machine).
    pub fn of_values(
        values: &'a [PathValue<'a>],
        paths: &[CounterPath],
        birth: impl Fn(&PathValue<'a>) -> Birth,
    ) -> Vec<Self> {
        let mut tables: Vec<Self> = Vec::new();
        let mut places: HashMap<Guid, usize> = HashMap::new();
        let mut known: HashMap<(Guid, CounterId), (usize, usize)> = HashMap::new();
        // First all columns, because a path selects its counters in the order of the counterset.
        for v in values {
            let (set, counter) = (v.value.counterset, v.value.counter);
            let at = *places.entry(set.guid).or_insert(tables.len());
            if at == tables.len() {
                tables.push(Self { counterset: set, columns: Vec::new(), rows: Vec::new() });
            }
            known.entry((set.guid, counter.id)).or_insert_with(|| {
                if let Some(table) = tables.get_mut(at) {
                    table.columns.push(counter);
                }
                (v.path, alternative(paths.get(v.path), counter))
            });
        }
        let mut columns: HashMap<(Guid, CounterId), usize> = HashMap::new();
        for table in &mut tables {
            let guid = table.counterset.guid;
            table.columns.sort_by_key(|counter| known.get(&(guid, counter.id)).copied());
            columns.extend((0..).zip(&table.columns).map(|(at, counter)| ((guid, counter.id), at)));
        }
        let mut rows: HashMap<RowKey<'a>, usize> = HashMap::new();
        for v in values {
            let guid = v.value.counterset.guid;
            let Some(table) = places.get(&guid).and_then(|at| tables.get_mut(*at)) else { continue };
            let width = table.columns.len();
            let key = RowKey { birth: birth(v), ..RowKey::new(v) };
            let at = *rows.entry(key).or_insert(table.rows.len());
            if at == table.rows.len() {
                table.rows.push(InstanceRow { first: v, cells: vec![None; width] });
            }
            let column = columns.get(&(guid, v.value.counter.id));
            let cell = table.rows.get_mut(at).and_then(|row| row.cells.get_mut(*column?));
            if let Some(cell @ None) = cell {
                *cell = Some(v);
            }
        }
        tables
    }

    /// Sorts the rows of the table in an order. Rows without a value in the column that determines the order come
    /// last; equal rows keep their order.
    pub fn sort(&mut self, order: &RowOrder, form: NumberForm) {
        if *order == RowOrder::Instance {
            let name = |row: &InstanceRow<'_>| row.first.value.instance.to_string();
            return self.rows.sort_by_cached_key(|row| (name(row), row.first.occurrence));
        }
        let column = self.column(order);
        let number = |row: &InstanceRow<'_>| row.number(column, form);
        self.rows.sort_by(|a, b| match (number(a), number(b)) {
            (Some(a), Some(b)) => b.total_cmp(&a),
            (a, b) => Reverse(a.is_some()).cmp(&Reverse(b.is_some())),
        });
    }

    /// Keeps the first `most` rows of the table in an order. Sums over other instances and idle instances are removed
    /// if there are others, and so are rows without a value in the column that decides.
    pub fn keep_first(&mut self, most: usize, order: &RowOrder, form: NumberForm) {
        if self.rows.iter().any(|row| !row.first.sums_up()) {
            self.rows.retain(|row| !row.first.sums_up());
        }
        self.sort(order, form);
        if *order != RowOrder::Instance {
            let column = self.column(order);
            self.rows.retain(|row| row.number(column, form).is_some());
        }
        self.rows.truncate(most);
    }

    /// Returns the index of the table's column that determines an order of rows: the first column if the order names
    /// no other.
    fn column(&self, order: &RowOrder) -> usize {
        let names: Vec<_> = self.columns.iter().map(|counter| counter.shown_name()).collect();
        let named =
            order.counter().and_then(|text| named_counter(text, names.iter().map(|name| &**name)).ok());
        named.and_then(|named| names.iter().position(|name| *name == named)).unwrap_or(0)
    }
}

impl InstanceRow<'_> {
    fn number(&self, column: usize, form: NumberForm) -> Option<f64> {
        self.cells.get(column).copied().flatten().and_then(|v| form.number(v))
    }
}

/// Returns the position of a counter among the alternatives `{a,b}` of its path.
fn alternative(path: Option<&CounterPath>, counter: &Counter) -> usize {
    let inner = path.and_then(|path| path.counter.strip_prefix('{')?.strip_suffix('}'));
    let Some(inner) = inner else { return 0 };
    let name = counter.shown_name();
    inner
        .split(',')
        .position(|text| Selector::new(text).matches(name.encode_utf16(), 0))
        .unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_counters_may_be_shortened() {
        let names = ["% Processor Time", "Working Set", "Working Set Peak", "IO Data Bytes/sec"];
        let named = |text| named_counter(text, names);
        assert_eq!(named("working set"), Ok("Working Set"), "a whole name wins");
        assert_eq!(named("peak"), Ok("Working Set Peak"));
        assert_eq!(named(" IO "), Ok("IO Data Bytes/sec"));
        assert_eq!(named("set"), Err(vec!["Working Set", "Working Set Peak"]));
        assert_eq!(named("x"), Err(vec![]));
    }

    #[test]
    fn orders_are_parsed() {
        assert_eq!(RowOrder::parse("instance"), RowOrder::Instance);
        assert_eq!(RowOrder::parse(" Working Set ").counter(), Some("Working Set"));
    }
}
