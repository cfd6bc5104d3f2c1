//! Filter of a table's rows: a text, a regular expression, or a test such as `cpu>5`.

use regex_lite::{Regex, RegexBuilder};

use crate::sample::SampleRow;

/// Characters that make a filter text a regular expression.
const REGULAR: [char; 11] = ['^', '$', '*', '+', '?', '[', ']', '(', ')', '|', '\\'];

/// Maximum size of a filter's compiled regular expression, in bytes.
const REGEX_SIZE: usize = 1 << 20;

/// Comparison operator of a filter's test, such as `cpu>5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Above,
    Below,
    AtLeast,
    AtMost,
    Equal,
}

/// Comparison operators and their signs. The longer signs come first, because the shorter ones are parts of them.
const COMPARISONS: [(&str, Comparison); 5] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    (">", Comparison::Above),
    ("<", Comparison::Below),
    ("=", Comparison::Equal),
];

/// Condition on a table's rows; rows that do not fulfil it are hidden.
#[derive(Clone, Debug)]
pub struct RowFilter {
    text: String,
    condition: Condition,
}

#[derive(Clone, Debug)]
enum Condition {
    /// Test that the name of a table row contains a text, which is stored in lower case.
    Contains(String),
    Matches(Regex),
    /// Test that compares the number in a table column with a limit.
    Number {
        column: usize,
        comparison: Comparison,
        limit: f64,
    },
}

impl RowFilter {
    /// Parses the text of a row filter. A test names a column by its title or by a part of it: case, `%` and `/s` do
    /// not matter.
    ///
    /// # Errors
    /// A sentence, if a regular expression is invalid, a column is unknown, or a limit is not a number.
    pub fn parse(text: &str, titles: &[&str]) -> Result<Self, String> {
        let text = text.trim();
        let test = COMPARISONS.iter().find_map(|(sign, comparison)| {
            let (title, limit) = text.split_once(sign)?;
            Some((title.trim(), *comparison, limit.trim()))
        });
        let condition = match test {
            Some((title, comparison, limit)) => {
                let column = column_of(title, titles).ok_or_else(|| {
                    format!("no column is called \"{title}\": there are {}", titles.join(", "))
                })?;
                let limit = number(limit)
                    .ok_or_else(|| format!("\"{limit}\" is not a number such as 5, 1.5k or 20M"))?;
                Condition::Number { column, comparison, limit }
            }
            None if text.contains(REGULAR) => {
                let regex = RegexBuilder::new(text).case_insensitive(true).size_limit(REGEX_SIZE).build();
                Condition::Matches(regex.map_err(|error| format!("not a regular expression: {error}"))?)
            }
            None => Condition::Contains(text.to_lowercase()),
        };
        Ok(Self { text: text.to_owned(), condition })
    }

    /// Returns the row filter for a table whose columns have moved; `place` returns a column's new position.
    #[must_use]
    pub fn moved(mut self, place: impl Fn(usize) -> usize) -> Self {
        if let Condition::Number { column, .. } = &mut self.condition {
            *column = place(*column);
        }
        self
    }

    /// Returns the row filter as the user typed it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns `true` if a table row fulfils the filter's condition. A missing number fulfils no test.
    #[must_use]
    pub fn matches(&self, row: &SampleRow) -> bool {
        match &self.condition {
            Condition::Contains(text) => row.identity.name.to_lowercase().contains(text),
            Condition::Matches(regex) => regex.is_match(&row.identity.name),
            Condition::Number { column, comparison, limit } => {
                let number = row.values.get(*column).and_then(|value| value.number());
                number.is_some_and(|number| match comparison {
                    Comparison::Above => number > *limit,
                    Comparison::Below => number < *limit,
                    Comparison::AtLeast => number >= *limit,
                    Comparison::AtMost => number <= *limit,
                    Comparison::Equal => (number - limit).abs() < f64::EPSILON,
                })
            }
        }
    }
}

/// Returns the table column whose title equals a text, or else the first one whose title contains the text.
fn column_of(text: &str, titles: &[&str]) -> Option<usize> {
    let plain = |text: &str| text.to_lowercase().replace(['%', ' '], "").replace("/s", "");
    let wanted = plain(text);
    let titles: Vec<String> = titles.iter().map(|title| plain(title)).collect();
    let is = |title: &String| *title == wanted;
    titles
        .iter()
        .position(is)
        .or_else(|| titles.iter().position(|title| !wanted.is_empty() && title.contains(&wanted)))
}

/// Parses the number of a filter's test, with an optional size prefix. `Ki`, `Mi` and `Gi` are powers of 1,024; `k`,
/// `M` and `G` are powers of 1,000.
fn number(text: &str) -> Option<f64> {
    const PREFIXES: [(&str, f64); 6] =
        [("ki", 1_024.0), ("mi", 1_048_576.0), ("gi", 1_073_741_824.0), ("k", 1e3), ("m", 1e6), ("g", 1e9)];
    let text = text.trim_end_matches(['%', ' ']).to_lowercase();
    let (digits, factor) = PREFIXES
        .iter()
        .find_map(|(prefix, factor)| Some((text.strip_suffix(prefix)?, *factor)))
        .unwrap_or((&text, 1.0));
    let number: f64 = digits.trim().parse().ok()?;
    number.is_finite().then_some(number * factor)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use perfset::NoValue;

    use super::*;
    use crate::sample::{RowIdentity, TableValue};

    fn row(name: &str, number: Option<f64>) -> SampleRow {
        let value = match number {
            Some(value) => TableValue::Number { value, raw: None },
            None => TableValue::Missing(Arc::new(NoValue::NotGiven)),
        };
        let identity = RowIdentity { name: name.into(), id: None, birth: None, occurrence: 0 };
        SampleRow { identity, number: 0, sums_up: false, change: None, values: [value].into() }
    }

    #[test]
    fn rows_are_filtered() {
        for (filter, name, number, want) in [
            ("rust", "Rustc:7", None, true),
            ("rust", "sh:7", None, false),
            ("", "sh:7", None, true),
            ("^rust|sh", "SH:7", None, true),
            ("^rust", "a rust", None, false),
            ("cpu>5", "a", Some(5.5), true),
            ("cpu > 5", "a", Some(5.0), false),
            ("%CPU>=5", "a", Some(5.0), true),
            ("cpu<=1k", "a", Some(1_000.0), true),
            ("cpu<1Ki", "a", Some(1_000.0), true),
            ("cpu=5", "a", Some(5.0), true),
            ("cpu<5", "a", None, false),
        ] {
            let parsed = RowFilter::parse(filter, &["%CPU"]).unwrap();
            assert_eq!(parsed.matches(&row(name, number)), want, "{filter} {name}");
        }
    }

    #[test]
    fn wrong_filters_are_explained() {
        for (filter, want) in [
            ("mem>5", "no column is called \"mem\": there are %CPU"),
            ("cpu>x", "\"x\" is not a number such as 5, 1.5k or 20M"),
            ("cpu>inf", "\"inf\" is not a number such as 5, 1.5k or 20M"),
        ] {
            assert_eq!(RowFilter::parse(filter, &["%CPU"]).unwrap_err(), want);
        }
        assert!(RowFilter::parse("(", &["%CPU"]).unwrap_err().starts_with("not a regular expression"));
    }
}
