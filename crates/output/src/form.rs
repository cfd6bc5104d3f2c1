//! Form of numbers that outputs display: formatted or raw values.

use std::fmt::Write as _;

use perfset_core::counter_type::{Display, NumberKind, ValueKind};
use perfset_core::{Attributes, Counter, CounterType, RawValue};
use perfset_engine::path::PathValue;
use perfset_log::text::TextNumber;

use crate::human::{push_human, unit_name};
use crate::text::{escaped, grouped_digits, push_grouped, push_measured};

/// Form of displayed numbers: formatted values, or the raw values that they are computed from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumberForm {
    /// Formatted values of the counters.
    #[default]
    Formatted,
    /// Raw values of the counters, as collected.
    Raw,
}

impl NumberForm {
    /// Returns the displayed number of a counter's value; `None` if it is missing.
    #[must_use]
    pub fn number(self, v: &PathValue<'_>) -> Option<f64> {
        match (self, &v.value.value) {
            (Self::Raw, _) => v.value.counted().map(real),
            (Self::Formatted, value) => value.as_ref().ok().map(|value| value.nocap()),
        }
    }

    /// Returns the displayed number of a counter's value with all its digits.
    #[must_use]
    pub fn digits(self, v: &PathValue<'_>) -> Option<TextNumber> {
        match self {
            Self::Raw => v.value.counted().map(|raw| raw.get().into()),
            Self::Formatted => self.number(v).map(TextNumber::from),
        }
    }

    /// Appends the displayed number of a value for users, or `-` if the number is missing.
    pub fn push_cell(self, v: &PathValue<'_>, out: &mut String) {
        let counter = v.value.counter;
        match (v.value.counted(), counter.counter_type.decode().kind) {
            (Some(raw), ValueKind::Number(NumberKind::Hex)) => {
                let _ = write!(out, "{:#x}", raw.get()); // a String takes everything
                return;
            }
            // An identifier is a name, and names have no thousands.
            (Some(raw), _) if is_identifier(counter) => {
                let _ = write!(out, "{}", raw.get()); // as above
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
            Some(number) if is_identifier(counter) => {
                let _ = write!(out, "{number}"); // as above
            }
            Some(number) if self.is_measured(counter) && !self.is_whole(counter, number) => {
                push_measured(out, number, is_share_or_rate(counter));
            }
            Some(number) => push_grouped(out, number, 0),
        }
    }

    /// Returns `true` if the displayed number of a counter is a double and not a count.
    fn is_real(self, counter: &Counter) -> bool {
        counter.counter_type == CounterType::PERF_DOUBLE_RAW && self == Self::Formatted
    }

    /// Returns `true` for a whole number of a text log that was probably a count when it was written.
    fn is_whole(self, counter: &Counter, number: f64) -> bool {
        /// Bound below which a double can store every integer: 2^53.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        number.fract() == 0.0 && number.abs() < EXACT && self.is_recorded_count(counter)
    }

    /// Returns `true` for a counter of a text log whose values are probably counts. Such a log has no counter types, so
    /// the unit and the name decide.
    pub(crate) fn is_recorded_count(self, counter: &Counter) -> bool {
        let is_quotient = |name: &str| {
            name.starts_with(['%'])
                || name.starts_with("Avg. ")
                || name.ends_with("/sec")
                || name.contains(" sec/")
        };
        self.is_real(counter)
            && counter.unit != "s"
            && !is_share_or_rate(counter)
            && !counter.name.as_deref().is_some_and(is_quotient)
    }

    /// Returns `true` if the values of a counter have decimals, because they are results of a division. Counts are
    /// integers.
    pub(crate) fn is_measured(self, counter: &Counter) -> bool {
        let decoded = counter.counter_type.decode();
        let divided = counter.counter_type.needs_two_samples() || counter.divisor().is_some();
        self == Self::Formatted && (divided || decoded.display == Display::Percent || self.is_real(counter))
    }
}

/// Form of a cell in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CellForm {
    /// Form of the cell's numbers: formatted or raw values.
    pub form: NumberForm,
    /// `true` to print numbers in short form, with prefixes that fit their units.
    pub is_human: bool,
}

impl CellForm {
    /// Appends the text of a value, or `-` if the value is missing. With `has_unit`, the unit is printed beside the
    /// number, so that a short form needs its unit only if it has a prefix.
    pub fn push_cell(self, v: &PathValue<'_>, has_unit: bool, out: &mut String) {
        let counter = v.value.counter;
        // The exact form comes first, because logs have many numbers.
        if !self.is_short() {
            return self.form.push_cell(v, out);
        }
        let is_hex = counter.counter_type.decode().kind == ValueKind::Number(NumberKind::Hex);
        let number = self.form.number(v).filter(|_| !is_hex && !is_identifier(counter));
        match number {
            None => self.form.push_cell(v, out),
            Some(number) if has_unit && counter.unit == "%" => push_measured(out, number, true),
            // Counts are integers, and other numbers without a unit have decimals.
            Some(number)
                if counter.unit.is_empty()
                    && self.form.is_measured(counter)
                    && !self.form.is_whole(counter, number)
                    && number.abs() < 1_000.0 =>
            {
                push_measured(out, number, false);
            }
            Some(number) => {
                let mut text = String::new();
                push_human(&mut text, number, &counter.unit);
                out.push_str(&escaped(&text)); // publishers choose their units
            }
        }
    }

    /// Returns the name of the unit of a counter's numbers: raw values have none.
    pub fn unit(self, counter: &Counter) -> String {
        match self.form {
            NumberForm::Raw => String::new(),
            NumberForm::Formatted => escaped(unit_name(&counter.unit)),
        }
    }

    /// Returns `true` if numbers are printed in short form. Raw values are always exact.
    pub fn is_short(self) -> bool {
        self.is_human && self.form == NumberForm::Formatted
    }
}

/// Returns `true` if the values of a counter identify things, such as processes and users. Such a counter forbids
/// thousands separators, or it has a plain number and a name such as `Process ID` or `ID Process`.
pub(crate) fn is_identifier(counter: &Counter) -> bool {
    let has_name = |name: &str| {
        let is_id = |word: Option<&str>| word.is_some_and(|word| word.eq_ignore_ascii_case("id"));
        is_id(name.split(' ').next()) || is_id(name.rsplit(' ').next())
    };
    let is_plain = counter.unit.is_empty() && !counter.counter_type.needs_two_samples();
    counter.attributes.contains(Attributes::NO_GROUP_SEPARATOR)
        || is_plain && counter.name.as_deref().is_some_and(has_name)
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

#[cfg(test)]
mod tests {
    use perfset_core::CounterId;

    use super::*;

    #[test]
    fn identifiers_are_found_by_name_and_attribute() {
        let counter = |name: &'static str, counter_type| Counter::new(CounterId(1), counter_type).name(name);
        let raw = |name| counter(name, CounterType::PERF_COUNTER_LARGE_RAWCOUNT);
        for name in ["Process ID", "ID Process", "Creating Process ID", "User ID", "id"] {
            assert!(is_identifier(&raw(name)), "{name}");
        }
        for name in ["Process ID Limit", "Idle", "Thread Count", "Grid", "% Process IDs In Use"] {
            assert!(!is_identifier(&raw(name)), "{name}");
        }
        assert!(!is_identifier(&counter("ID", CounterType::PERF_COUNTER_BULK_COUNT)), "a rate");
        assert!(is_identifier(&raw("Colour").attributes(Attributes::NO_GROUP_SEPARATOR)));
    }
}
