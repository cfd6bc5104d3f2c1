//! Selection of values before they are written: conditions and rankings.

use perfset_engine::path::{CounterPath, PathValue, keep_greatest};

use crate::form::NumberForm;
use crate::left_out::LeftOut;

type Comparison = fn(&f64, &f64) -> bool;

/// Condition that values must fulfil, such as `>5`.
#[derive(Clone, Copy, Debug)]
pub struct ValueFilter {
    holds: Comparison,
    number: f64,
}

impl ValueFilter {
    /// Parses a condition: a sign and a number.
    ///
    /// # Errors
    /// A sentence for users, if the text begins with no sign or the rest is no number.
    pub fn parse(text: &str) -> Result<Self, String> {
        // Longer signs come first, because `>` is a prefix of `>=`.
        let tests: [(&str, Comparison); 6] = [
            (">=", f64::ge),
            ("<=", f64::le),
            ("!=", f64::ne),
            (">", f64::gt),
            ("<", f64::lt),
            ("=", f64::eq),
        ];
        let found =
            tests.into_iter().find_map(|(sign, holds)| Some((text.trim().strip_prefix(sign)?, holds)));
        let (number, holds) = found.ok_or("a condition begins with >, >=, <, <=, = or !=")?;
        let number = number.trim().parse().map_err(|_| format!("\"{number}\" is not a number"))?;
        Ok(Self { holds, number })
    }

    /// Returns `true` if the condition holds for a value.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        (self.holds)(&value, &self.number)
    }
}

/// Selection of the values of a sample that are written.
#[derive(Debug, Default)]
pub struct ValueSelection {
    /// Form of the numbers that are compared.
    pub form: NumberForm,
    /// `true` to keep counters that no machine of this system has, even if only a pattern selects them.
    pub all: bool,
    /// Condition that values must fulfil.
    pub filter: Option<ValueFilter>,
    /// Maximum number of values for each counter of a path, the greatest ones.
    pub top: Option<usize>,
    /// Paths that requested the values.
    pub paths: Vec<CounterPath>,
}

impl ValueSelection {
    /// Removes the values of counters that no machine of this system has, unless a path names them.
    pub fn hide(&self, values: &mut Vec<PathValue<'_>>) {
        if self.all {
            return;
        }
        let several: Vec<bool> = self.paths.iter().map(selects_counters).collect();
        let is_named = |v: &PathValue<'_>| !several.get(v.path).copied().unwrap_or(false);
        values.retain(|v| is_named(v) || !v.value.counter.is_never_there());
    }

    /// Returns `true` if a value is missing.
    #[must_use]
    pub fn lacks(&self, values: &[PathValue<'_>]) -> bool {
        values.iter().any(|v| self.form.number(v).is_none())
    }

    /// Applies condition and ranking. Returns the missing values that they remove; `None` without both.
    pub fn apply<'v>(&self, values: &mut Vec<PathValue<'v>>) -> Option<LeftOut<'v>> {
        if self.filter.is_none() && self.top.is_none() {
            return None;
        }
        let number = |v: &PathValue<'_>| self.form.number(v);
        let is_there = |v: &PathValue<'_>| number(v).is_some();
        let left_out = LeftOut::of_sample(values, &self.paths, self.top.is_some(), is_there);
        if let Some(filter) = self.filter {
            values.retain(|v| number(v).is_some_and(|number| filter.holds(number)));
        }
        if let Some(most) = self.top {
            // A missing value is not among the greatest ones.
            values.retain(is_there);
            keep_greatest(values, most, number);
        }
        Some(left_out)
    }
}

/// Returns `true` if a path can select several counters.
pub(crate) fn selects_counters(path: &CounterPath) -> bool {
    path.counter.contains(['*', '?', '{', '!'])
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
        for bad in ["", "5", ">", ">x", "~5"] {
            assert!(ValueFilter::parse(bad).is_err(), "{bad}");
        }
    }
}
