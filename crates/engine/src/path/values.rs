//! Values of a query's counter paths in the last sample.

use perfset_core::{Attributes, Counter, Name};

use super::query::{BoundPath, PathQuery, PathValue};
use crate::values::{Column, EntryReader, RowPosition, SampleReader, Value};

impl PathQuery {
    /// Returns the values of the last sample, path by path, and in each path counter by counter.
    #[must_use]
    pub fn values(&self) -> Vec<PathValue<'_>> {
        // Exact for paths of one value: the values of thousands of such queries can be held at the same time.
        let mut all = Vec::with_capacity(self.paths.len().max(self.len.get()));
        let mut reader = self.reader();
        for path in 0..self.paths.len() {
            self.each_value(path, &mut reader, |value| all.push(value));
        }
        self.len.set(all.len());
        all
    }

    /// Passes the values of a path to `each` in the order of [`values`](Self::values), without storing them: for
    /// rankings and sums over many instances, of which few are needed.
    ///
    /// ```
    /// # use perfset::{Machine, path::PathQuery, testing::FixedClock};
    /// # let mut machine = Machine::new(Box::new(FixedClock::default()));
    /// let mut query = PathQuery::open(&mut machine)?;
    /// let path = query.add(&mut machine, &r"\Perfset Engine\Last Block Bytes".parse()?)?;
    /// query.collect()?;
    /// let mut rows = Vec::new();
    /// query.for_each_value(path, |v| rows.push(v.row()));
    /// let value = query.value_in_row(path, rows[0]).unwrap();
    /// assert_eq!(value.value.value.clone()?.raw, query.values()[0].value.value.clone()?.raw);
    /// assert!(query.value_in_row(path, 1).is_none());
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_each_value<'a>(&'a self, path: usize, each: impl FnMut(PathValue<'a>)) {
        self.each_value(path, &mut self.reader(), each);
    }

    /// Returns the value of a path with one counter in a [row](PathValue::row); `None` if the path has no value in that
    /// row.
    #[must_use]
    pub fn value_in_row(&self, path: usize, row: usize) -> Option<PathValue<'_>> {
        let bound = self.paths.get(path).filter(|_| self.samples > 0)?;
        let [(counter, entry)] = bound.counters.as_slice() else { return None };
        let mut reader = self.reader();
        let entry = reader.entry(*entry)?;
        let at = entry.info().column(*counter)?;
        let column = entry.column(at)?;
        if row >= entry.len() {
            return None;
        }
        entry.go_to(row);
        let with = |value, RowPosition { row, column, occurrence }| PathValue {
            path,
            value,
            occurrence,
            cell: (row, column),
        };
        bound.selects(entry).then(|| entry.value(at, &column, with))
    }

    /// Passes the values of a counter path to `each`; passes none before the first sample.
    pub(super) fn each_value<'a>(
        &'a self,
        path: usize,
        reader: &mut SampleReader<'a>,
        mut each: impl FnMut(PathValue<'a>),
    ) {
        let Some(bound) = self.paths.get(path).filter(|_| self.samples > 0) else { return };
        let with = |value, position: RowPosition| {
            let RowPosition { row, column, occurrence } = position;
            PathValue { path, value, occurrence, cell: (row, column) }
        };
        if bound.all_counters {
            let entry = bound.counters.first().and_then(|(_, entry)| reader.entry(*entry));
            let Some(entry) = entry else { return };
            // Helpers are in the entry as well: nearly half of a log's counters have clocks of their own.
            let is_shown = |counter: &Counter| !counter.attributes.contains(Attributes::NO_DISPLAYABLE);
            let counters = (0..).map_while(|at| Some((at, entry.counter(at)?)));
            let shown = counters.filter(|(_, counter)| is_shown(counter));
            let mut columns = Vec::with_capacity(entry.info().counters.len());
            columns.extend(shown.filter_map(|(at, _)| Some((at, entry.column(at)?))));
            return bound.choose(entry, &columns, |value, position| each(with(value, position)));
        }
        for (counter, entry) in &bound.counters {
            let Some(entry) = reader.entry(*entry) else { continue };
            let column = entry.info().column(*counter);
            let Some(column) = column.and_then(|at| Some((at, entry.column(at)?))) else { continue };
            bound.choose(entry, &[column], |value, position| each(with(value, position)));
        }
    }
}

impl BoundPath {
    /// Passes to `each`, row by row, the values in some columns of the instances that the path selects.
    fn choose<'a>(
        &'a self,
        entry: &mut EntryReader<'a>,
        columns: &[(usize, Column<'a>)],
        mut each: impl FnMut(Value<'a>, RowPosition),
    ) {
        let mut is_any = false;
        // A failed entry has one value for each counter: the reason.
        for row in 0..entry.len().max(1) {
            entry.go_to(row);
            if self.selects(entry) {
                is_any = true;
                columns.iter().for_each(|(at, column)| entry.value(*at, column, &mut each));
            }
        }
        // As if the entry had found no instance.
        for (column, Column { counter, .. }) in columns.iter().filter(|_| !is_any) {
            let position = RowPosition { row: 0, column: *column, occurrence: 0 };
            each(entry.nothing(counter, Name::until_nul(&self.instance)), position);
        }
    }

    fn selects(&self, entry: &EntryReader<'_>) -> bool {
        // An entry that failed as a whole has no instances to choose from.
        let (Some(selector), Some((name, occurrence))) = (&self.selector, entry.instance()) else {
            return true;
        };
        selector.matches(name.units(), occurrence)
    }
}
