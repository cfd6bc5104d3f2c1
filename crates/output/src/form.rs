//! Form of displayed numbers.

use std::fmt::Write as _;

use perfset_core::counter_type::{Display, NumberKind, ValueKind};
use perfset_core::{Counter, CounterType, RawValue};
use perfset_engine::path::PathValue;
use perfset_log::text::TextNumber;

use crate::text::{grouped_digits, push_grouped, push_measured};

/// Form of displayed numbers: formatted values, or the raw values that they are computed from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumberForm {
    /// Formatted values of the counters.
    #[default]
    Formatted,
    /// Raw values of the counters.
    Raw,
}

impl NumberForm {
    /// Returns the displayed number of a value; `None` if it is missing.
    #[must_use]
    pub fn number(self, v: &PathValue<'_>) -> Option<f64> {
        match (self, &v.value.value) {
            (Self::Raw, _) => v.value.counted().map(real),
            (Self::Formatted, value) => value.as_ref().ok().map(|value| value.nocap()),
        }
    }

    /// Returns the displayed number with all its digits.
    #[must_use]
    pub fn digits(self, v: &PathValue<'_>) -> Option<TextNumber> {
        match self {
            Self::Raw => v.value.counted().map(|raw| raw.get().into()),
            Self::Formatted => self.number(v).map(TextNumber::from),
        }
    }

    /// Appends the number for users: `-` if it is missing.
    pub fn push_cell(self, v: &PathValue<'_>, out: &mut String) {
        let counter = v.value.counter;
        match (v.value.counted(), counter.counter_type.decode().kind) {
            (Some(raw), ValueKind::Number(NumberKind::Hex)) => {
                let _ = write!(out, "{:#x}", raw.get()); // a String takes everything
                return;
            }
            // All digits of an integer, which an `f64` might not hold.
            (Some(raw), ValueKind::Number(NumberKind::Decimal)) if !self.is_real(counter) => {
                return out.push_str(&grouped_digits(&raw.get().to_string()));
            }
            (Some(raw), _) if self == Self::Raw => {
                return out.push_str(&grouped_digits(&raw.get().to_string()));
            }
            _ => {}
        }
        match self.number(v) {
            None => out.push('-'),
            Some(number) if self.is_measured(counter) => {
                push_measured(out, number, is_share_or_rate(counter));
            }
            Some(number) => push_grouped(out, number, 0),
        }
    }

    /// Returns `true` if the raw value is a double and not a count.
    fn is_real(self, counter: &Counter) -> bool {
        counter.counter_type == CounterType::PERF_DOUBLE_RAW && self == Self::Formatted
    }

    /// Returns `true` if a value has decimals: it is the result of a division. Counts are integers.
    fn is_measured(self, counter: &Counter) -> bool {
        let decoded = counter.counter_type.decode();
        let divided = counter.counter_type.needs_two_samples() || counter.divisor().is_some();
        self == Self::Formatted && (divided || decoded.display == Display::Percent || self.is_real(counter))
    }
}

/// Returns `true` for percentages and rates per second: one decimal is enough for them, unless it is 0.
pub(crate) fn is_share_or_rate(counter: &Counter) -> bool {
    let display = counter.counter_type.decode().display;
    matches!(display, Display::Percent | Display::PerSec) || counter.unit == "%" || counter.unit.contains('/')
}

fn real(raw: RawValue) -> f64 {
    #[expect(clippy::as_conversions, reason = "rounding to the nearest double is what is wanted")]
    let number = raw.get() as f64;
    number
}
