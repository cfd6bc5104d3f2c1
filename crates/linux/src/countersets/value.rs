//! What a counterset says of one counter of one instance.

use perfset_core::{Mark, NoValue};
use perfset_engine::Row;

/// A raw value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) raw: u64,
    /// What is special about it.
    pub(crate) mark: Option<Mark>,
}

impl From<u64> for Value {
    fn from(raw: u64) -> Self {
        Self { raw, mark: None }
    }
}

/// Fills a cell.
pub(crate) fn fill(cells: &mut Row<'_>, column: usize, value: Result<Value, NoValue>) {
    match value {
        Ok(Value { raw, mark: None }) => cells.set(column, raw),
        Ok(Value { raw, mark: Some(mark) }) => cells.set_marked(column, raw, mark),
        Err(reason) => cells.none(column, reason),
    }
}

/// That a counter has no value, on any Linux or on this machine.
pub(crate) fn unavailable(why: &'static str) -> NoValue {
    NoValue::Unavailable(why.into())
}

/// The name of an instance, as the kernel writes it: `\` and NUL become `_`, what is not UTF-8 becomes U+FFFD.
pub(crate) fn instance_name(text: &[u8]) -> String {
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
