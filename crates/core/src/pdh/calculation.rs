//! Computes PDH values from raw counters that the caller holds.

use crate::counter_type::CounterType;
use crate::formula::{Computation, Denominator};
use crate::pdh::{Format, Number, PdhStatus, RawCounter, Scale};
use crate::sample::{Clocks, SampleValues};
use crate::value::{FormattedValue, NoValue, RawValue};

use super::raw_counter::unsigned;

/// Calculation of formatted values from the raw counters of one counter.
///
/// ```
/// use perfset::CounterType;
/// use perfset::path::{Calculation, Format, FormatKind, Number, PdhStatus, RawCounter};
///
/// let at = |first, second| RawCounter { first, second, ..RawCounter::without_value(PdhStatus(0), 0) };
/// let rate = CounterType::PERF_COUNTER_BULK_COUNT;
/// let calculation = Calculation::new(rate, 10, Format::new(FormatKind::Double))?; // ten ticks a second
/// let value = calculation.value(&at(15, 20), Some(&at(5, 0)));
/// assert_eq!(value.number, Some(Number::Double(5.0)));
/// assert_eq!(calculation.value(&at(15, 20), None).c_status, PdhStatus::PDH_CSTATUS_INVALID_DATA);
/// # Ok::<_, PdhStatus>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PdhFormatFromRawValue")]
#[doc(alias = "PdhCalculateCounterFromRawValue")]
pub struct Calculation {
    /// Formula of the counter type; `None` if the type has none.
    computation: Option<Computation>,
    time_base: i64,
    format: Format,
    scale: Scale,
}

/// Formatted value of PDH with its status.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(alias = "PDH_FMT_COUNTERVALUE")]
pub struct CounterValue {
    /// Status of a PDH value: valid, or the reason why there is no value.
    pub c_status: PdhStatus,
    /// Formatted number of a PDH value; `None` unless the status is valid.
    pub number: Option<Number>,
}

impl CounterValue {
    /// Creates a PDH value without a number, with this status.
    #[must_use]
    pub const fn without_value(c_status: PdhStatus) -> Self {
        Self { c_status, number: None }
    }
}

impl Calculation {
    /// Creates a calculation for a counter type, the ticks per second of its clock, and a format.
    ///
    /// # Errors
    /// [`PDH_INVALID_ARGUMENT`](PdhStatus::PDH_INVALID_ARGUMENT) for a base, which has no value of its own.
    pub fn new(counter_type: CounterType, time_base: i64, format: Format) -> Result<Self, PdhStatus> {
        if counter_type.is_base() {
            return Err(PdhStatus::PDH_INVALID_ARGUMENT);
        }
        let computation = Computation::for_type(counter_type);
        Ok(Self { computation, time_base, format, scale: Scale::ONE })
    }

    /// Returns a copy of the calculation for a counter with this scale factor.
    #[must_use]
    pub fn scaled(self, scale: Scale) -> Self {
        Self { scale, ..self }
    }

    /// Returns the number format of the computed values.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Computes the formatted value from two raw counters; the older one is ignored if the type takes no difference.
    #[must_use]
    pub fn value(&self, newer: &RawCounter, older: Option<&RawCounter>) -> CounterValue {
        let formatted = match self.formatted(newer, older) {
            Ok(formatted) => formatted,
            Err(c_status) => return CounterValue::without_value(c_status),
        };
        let number = self.format.number(formatted, unsigned(newer.first), self.scale);
        CounterValue { c_status: newer.c_status, number: Some(number) }
    }

    /// Computes the formatted value as a floating-point number, before conversion to an integer; means use this
    /// number.
    ///
    /// # Errors
    /// The status of a raw counter without a value, or the reason why the computation failed.
    pub fn double(&self, newer: &RawCounter, older: Option<&RawCounter>) -> Result<f64, PdhStatus> {
        Ok(self.format.double(self.formatted(newer, older)?, self.scale))
    }

    fn formatted(&self, newer: &RawCounter, older: Option<&RawCounter>) -> Result<FormattedValue, PdhStatus> {
        let none = |reason| PdhStatus::from(&reason);
        let computation = self.computation.as_ref().ok_or_else(|| none(NoValue::NotDisplayable))?;
        if !newer.c_status.has_value() {
            return Err(newer.c_status);
        }
        // An older raw counter without a value counts as missing: its status is not the result's (F-27).
        let older = older.filter(|older| computation.needs_two_samples() && older.c_status.has_value());
        let (now, then) = (self.clocks(newer), older.map(|older| self.clocks(older)));
        let base = |raw: &RawCounter| match computation.denominator() {
            Denominator::None | Denominator::Clock => None,
            Denominator::Base | Denominator::BaseOfTicks => Some(unsigned(raw.second)),
            Denominator::ClockAndItems => Some(RawValue::U32(raw.multi_count)),
        };
        // Raw counters contain no widths, so all are taken for 8 bytes: a 4-byte value that passed zero has
        // decreased here (F-25).
        let with =
            |raw: &RawCounter, clocks| SampleValues { raw: unsigned(raw.first), base: base(raw), clocks };
        let then = older.zip(then.as_ref()).map(|(older, clocks)| with(older, clocks));
        computation.value(then.as_ref(), &with(newer, &now)).map_err(none)
    }

    /// Converts a raw counter to clock readings: its only clock value is the reading of every clock.
    fn clocks(&self, raw: &RawCounter) -> Clocks {
        let divides_by_clock = self.computation.is_some_and(|computation| {
            matches!(computation.denominator(), Denominator::Clock | Denominator::ClockAndItems)
        });
        // SecondValue is a base in other types. If it were used as a clock, a base that decreased would be a
        // clock that was set back.
        let ticks = if divides_by_clock { raw.second } else { 0 };
        Clocks {
            perf_time: ticks,
            perf_freq: self.time_base,
            time_100ns: ticks,
            object_time: ticks,
            object_freq: self.time_base,
        }
    }
}
