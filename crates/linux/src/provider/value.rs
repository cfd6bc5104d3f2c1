//! Raw values of counters, with their marks and reasons.

use perfset_core::{Mark, NoValue};
use perfset_engine::RowWriter;
use perfset_engine::total::Reading;

/// A raw value, with its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MarkedRaw {
    pub(crate) raw: u64,
    /// Mark of a special value; `None` if it is ordinary.
    pub(crate) mark: Option<Mark>,
}

impl From<u64> for MarkedRaw {
    fn from(raw: u64) -> Self {
        Self { raw, mark: None }
    }
}

/// Maximum idle time that the kernel may step back by, in seconds. A larger step is a restart: a CPU went offline or
/// came online.
pub(crate) const HOLD_SECONDS: u64 = 60;

/// Returns the current value, or the highest so far if it has fallen by less than `limit`.
pub(crate) fn hold(highest: &mut u64, now: u64, limit: u64) -> MarkedRaw {
    let step_back = highest.saturating_sub(now);
    let held = step_back > 0 && step_back < limit;
    if !held {
        *highest = now;
    }
    MarkedRaw { raw: *highest, mark: held.then_some(Mark::Held) }
}

/// Fills a cell with a value or a reason.
pub(crate) fn fill(cells: &mut RowWriter<'_>, column: usize, value: Result<MarkedRaw, NoValue>) {
    match value {
        Ok(MarkedRaw { raw, mark: None }) => cells.set(column, raw),
        Ok(MarkedRaw { raw, mark: Some(mark) }) => cells.set_marked(column, raw, mark),
        Err(reason) => cells.set_unavailable(column, reason),
    }
}

/// Converts a value to its contribution to a total.
pub(crate) fn reading(value: &Result<MarkedRaw, NoValue>) -> Reading<'_> {
    match value {
        Ok(value) => Reading::Value(value.raw, value.mark),
        Err(reason) => Reading::None(reason),
    }
}

/// Returns the reason that a counter has no value, on any Linux or on this machine.
pub(crate) fn unavailable(why: &'static str) -> NoValue {
    NoValue::Unavailable(why.into())
}

/// Converts a name of the kernel to an instance name: `\` and NUL become `_`, bytes that are not UTF-8 become U+FFFD.
pub(crate) fn instance_name(text: &[u8]) -> String {
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
