//! Selection of values before they are written: conditions and rankings, of values and of instances.

use std::collections::{HashMap, HashSet};

use perfset_engine::path::{CounterPath, PathValue, keep_greatest};

use crate::form::NumberForm;
use crate::left_out::LeftOut;
use crate::rows::{InstanceTable, RowKey, RowOrder, named_counter};
use crate::text::escaped;

type Comparison = fn(&f64, &f64) -> bool;

/// Condition that values must fulfil, such as `>5`, or that a counter of an instance must fulfil, such as
/// `Working Set>1e9`.
#[derive(Clone, Debug)]
pub struct ValueFilter {
    counter: Option<String>,
    holds: Comparison,
    number: f64,
}

impl ValueFilter {
    /// Parses a condition on values: a comparison sign and a number, after the name of a counter if the condition is
    /// about that counter.
    ///
    /// # Errors
    /// A sentence for users, if the text has no sign or the rest is no number.
    pub fn parse(text: &str) -> Result<Self, String> {
        // The last sign counts: the name of a counter might contain signs, a number contains none.
        let last = text.rfind(['<', '>', '=']).ok_or("a condition has one of >, >=, <, <=, = and !=")?;
        // The first character of `>=` belongs to the sign, too.
        let is_long = text.get(..last).is_some_and(|before| before.ends_with(['<', '>', '!']));
        let start = if is_long && text.get(last..).is_some_and(|sign| sign.starts_with('=')) {
            last.saturating_sub(1)
        } else {
            last
        };
        let (counter, condition) = text.split_at_checked(start).unwrap_or((text, ""));
        // Longer signs come first, because `>` is a prefix of `>=`.
        let tests: [(&str, Comparison); 6] = [
            (">=", f64::ge),
            ("<=", f64::le),
            ("!=", f64::ne),
            (">", f64::gt),
            ("<", f64::lt),
            ("=", f64::eq),
        ];
        let found = tests.into_iter().find_map(|(sign, holds)| Some((condition.strip_prefix(sign)?, holds)));
        let (number, holds) = found.ok_or("a condition has one of >, >=, <, <=, = and !=")?;
        let number = number.trim();
        let number = number.parse().map_err(|_| format!("\"{}\" is not a number", escaped(number)))?;
        let counter = Some(counter.trim()).filter(|counter| !counter.is_empty()).map(str::to_owned);
        Ok(Self { counter, holds, number })
    }

    /// Returns the name of the counter that the condition on values is about; `None` if it is about each value.
    #[must_use]
    pub fn counter(&self) -> Option<&str> {
        self.counter.as_deref()
    }

    /// Returns `true` if a value fulfils the condition.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        (self.holds)(&value, &self.number)
    }
}

/// Selection of the values of a sample that are written.
#[derive(Debug, Default)]
pub struct ValueSelection {
    /// Form of the numbers that conditions and rankings compare: formatted or raw.
    pub form: NumberForm,
    /// `true` to keep counters that never have a value on this operating system, if a pattern selects them.
    pub all: bool,
    /// Conditions that values must fulfil. A condition about a counter removes all values of the instances for which
    /// it does not hold.
    pub filters: Vec<ValueFilter>,
    /// Maximum number of greatest values that are kept for each counter of a path or, with `rows`, of instances in
    /// each counterset.
    pub top: Option<usize>,
    /// Order of the instances of which `top` keeps the first ones. With `None`, it keeps values of each counter.
    pub rows: Option<RowOrder>,
    /// Counter paths that requested the values.
    pub paths: Vec<CounterPath>,
}

impl ValueSelection {
    /// Removes the values of counters that never have a value on this operating system, unless a path names them.
    pub fn hide(&self, values: &mut Vec<PathValue<'_>>) {
        if self.all {
            return;
        }
        let several: Vec<bool> = self.paths.iter().map(selects_counters).collect();
        let is_named = |v: &PathValue<'_>| !several.get(v.path).copied().unwrap_or(false);
        values.retain(|v| is_named(v) || !v.value.counter.is_never_there());
    }

    /// Returns `true` if any of the values is missing in the selection's form of numbers.
    #[must_use]
    pub fn lacks(&self, values: &[PathValue<'_>]) -> bool {
        values.iter().any(|v| self.form.number(v).is_none())
    }

    /// Applies the selection's conditions and its ranking to values. Returns the missing values that they remove;
    /// `None` if there is no condition and no ranking.
    pub fn apply<'v>(&self, values: &mut Vec<PathValue<'v>>) -> Option<LeftOut<'v>> {
        if self.filters.is_empty() && self.top.is_none() {
            return None;
        }
        let number = |v: &PathValue<'_>| self.form.number(v);
        let is_there = |v: &PathValue<'_>| number(v).is_some();
        let left_out = LeftOut::of_sample(values, &self.paths, self.top.is_some(), is_there);
        // Conditions about counters come first: a condition about values might remove the counter.
        for filter in &self.filters {
            if let Some(counter) = filter.counter() {
                self.keep_instances(values, counter, filter);
            }
        }
        for filter in self.filters.iter().filter(|filter| filter.counter().is_none()) {
            values.retain(|v| number(v).is_some_and(|number| filter.holds(number)));
        }
        match (self.top, &self.rows) {
            (Some(most), Some(order)) => self.keep_rows(values, most, order),
            (Some(most), None) => {
                // A missing value is not among the greatest ones.
                values.retain(is_there);
                keep_greatest(values, most, number);
            }
            (None, _) => {}
        }
        Some(left_out)
    }

    /// Removes all values of the instances for which a condition about a counter does not hold, or whose value is
    /// missing.
    fn keep_instances(&self, values: &mut Vec<PathValue<'_>>, counter: &str, filter: &ValueFilter) {
        let keeps: Vec<bool> = {
            let names: HashSet<_> = values.iter().map(|v| v.value.counter.shown_name()).collect();
            let name = named_counter(counter, names.iter().map(|name| &**name)).ok();
            let holds = |v: &&PathValue<'_>| {
                Some(&*v.value.counter.shown_name()) == name
                    && self.form.number(v).is_some_and(|number| filter.holds(number))
            };
            let rows: HashSet<_> = values.iter().filter(holds).map(RowKey::new).collect();
            values.iter().map(|v| rows.contains(&RowKey::new(v))).collect()
        };
        let mut keeps = keeps.into_iter();
        values.retain(|_| keeps.next().unwrap_or(false));
    }

    /// Keeps the values of the first instances of each counterset, in the order of the instances.
    fn keep_rows(&self, values: &mut Vec<PathValue<'_>>, most: usize, order: &RowOrder) {
        let places: Vec<Option<usize>> = {
            let mut places: HashMap<RowKey<'_>, usize> = HashMap::new();
            for mut table in InstanceTable::of_values(values.as_slice(), &self.paths, |_| None) {
                table.keep_first(most, order, self.form);
                for row in &table.rows {
                    let next = places.len();
                    places.entry(RowKey::new(row.first)).or_insert(next);
                }
            }
            values.iter().map(|v| places.get(&RowKey::new(v)).copied()).collect()
        };
        let mut placed: Vec<_> =
            places.into_iter().zip(values.drain(..)).filter_map(|(at, v)| Some((at?, v))).collect();
        placed.sort_by_key(|(at, _)| *at);
        values.extend(placed.into_iter().map(|(_, v)| v));
    }
}

/// Returns `true` if a path can select several counters.
pub(crate) fn selects_counters(path: &CounterPath) -> bool {
    path.counter.contains(['*', '?', '{', '!'])
}

/// Returns `true` if a path can select several instances, or other ones in each sample.
pub(crate) fn selects_instances(path: &CounterPath) -> bool {
    // One name in braces is all instances of that name.
    let is_list = |text: &str| text.starts_with('{') && text.contains([',', '!']) || text.starts_with('!');
    path.instance.as_deref().is_some_and(|text| text.contains(['*', '?']) || is_list(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_for_values() {
        for (text, value, want) in [
            (">5", 5.0, false),
            (">= 5", 5.0, true),
            ("<5", 4.9, true),
            ("<=5", 5.1, false),
            ("=5", 5.0, true),
            ("!=5", 5.0, false),
            ("> -1.5", -1.0, true),
        ] {
            assert_eq!(ValueFilter::parse(text).unwrap().holds(value), want, "{text} for {value}");
        }
        for bad in ["", "5", ">", ">x", "~5", "A>", "A>5 MB", "5>A", "=>", ">=", "A 5"] {
            assert!(ValueFilter::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(ValueFilter::parse(">x\u{1b}").unwrap_err(), "\"x\\u{1b}\" is not a number");
    }

    #[test]
    fn conditions_may_name_a_counter() {
        for (text, counter, value, want) in [
            ("Working Set>1e9", "Working Set", 1.1e9, true),
            ("Working Set >= 5", "Working Set", 5.0, true),
            ("% Free Space<=30", "% Free Space", 30.1, false),
            ("a<b != -1", "a<b", -1.0, false),
            ("a=b=2", "a=b", 2.0, true),
        ] {
            let filter = ValueFilter::parse(text).unwrap();
            assert_eq!((filter.counter(), filter.holds(value)), (Some(counter), want), "{text}");
        }
        assert_eq!(ValueFilter::parse(" >5").unwrap().counter(), None);
    }
}
