//! Raw values of counters, with their marks and reasons.

use perfset_core::{Mark, NoValue};

use crate::rows::RowWriter;
use crate::total::Reading;

/// Raw value of a counter, with its mark.
///
/// ```
/// use perfset::Mark;
/// use perfset::provider::MarkedRaw;
///
/// assert_eq!(MarkedRaw::from(7), MarkedRaw::new(7, None));
/// let mut highest = 0;
/// assert_eq!(MarkedRaw::held(&mut highest, 700, 60), MarkedRaw::new(700, None));
/// // A source that counts 5 less than before: the value stays, and is marked.
/// assert_eq!(MarkedRaw::held(&mut highest, 695, 60), MarkedRaw::new(700, Some(Mark::Held)));
/// // A source that was reset: the value is the new one.
/// assert_eq!(MarkedRaw::held(&mut highest, 3, 60), MarkedRaw::new(3, None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MarkedRaw {
    /// Raw value as a number, in the unit that the counter's type requires.
    pub raw: u64,
    /// Mark of a special raw value; `None` if the value is ordinary.
    pub mark: Option<Mark>,
}

impl MarkedRaw {
    /// Creates a raw value with a mark, or without one.
    #[must_use]
    #[inline]
    pub const fn new(raw: u64, mark: Option<Mark>) -> Self {
        Self { raw, mark }
    }

    /// Returns the current raw value, or the highest one so far if the value has fallen by less than `limit`. In the
    /// second case the value is marked [`Held`](Mark::Held).
    ///
    /// For counts that a source can correct downwards a little. A larger fall is a restart of the source.
    #[must_use]
    pub fn held(highest: &mut u64, now: u64, limit: u64) -> Self {
        let step_back = highest.saturating_sub(now);
        let held = step_back > 0 && step_back < limit;
        if !held {
            *highest = now;
        }
        Self { raw: *highest, mark: held.then_some(Mark::Held) }
    }
}

impl From<u64> for MarkedRaw {
    #[inline]
    fn from(raw: u64) -> Self {
        Self { raw, mark: None }
    }
}

/// Fills a cell of a row with a raw value, or with the reason for having none.
#[inline]
pub fn fill(cells: &mut RowWriter<'_>, column: usize, value: Result<MarkedRaw, NoValue>) {
    match value {
        Ok(MarkedRaw { raw, mark: None }) => cells.set(column, raw),
        Ok(MarkedRaw { raw, mark: Some(mark) }) => cells.set_marked(column, raw, mark),
        Err(reason) => cells.set_unavailable(column, reason),
    }
}

/// Converts a raw value, or the reason for having none, to its contribution to a total.
#[inline]
pub fn reading(value: &Result<MarkedRaw, NoValue>) -> Reading<'_> {
    match value {
        Ok(value) => Reading::Value(value.raw, value.mark),
        Err(reason) => Reading::None(reason),
    }
}

/// Converts a name that a source gives to an instance name: `\` and NUL become `_`, bytes that are not UTF-8 become
/// U+FFFD. Two names can become equal, so instances need ids or births that distinguish them.
///
/// ```
/// use perfset::provider::instance_name;
///
/// assert_eq!(instance_name(br"C:\temp"), "C:_temp");
/// ```
#[must_use]
pub fn instance_name(text: &[u8]) -> String {
    // A backslash would split a counter path, and a NUL would end the name for a program in C.
    String::from_utf8_lossy(text).replace(['\\', '\0'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(instance_name(b"\\_TZ.TH\0M (a)\xFF"), "__TZ.TH_M (a)\u{FFFD}");
    }
}
