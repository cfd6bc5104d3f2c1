//! Number formats of PDH values and the adjustments before conversion.

use crate::formula::{Formula, for_type};
use crate::pdh::PdhStatus;
use crate::value::{FormattedValue, RawValue};

/// Number format of a PDH value, with the adjustments made before conversion.
///
/// ```
/// use perfset::path::{Format, Number, PdhStatus, Scale};
/// use perfset::{CounterType, FormattedValue, RawValue};
///
/// let percent = FormattedValue { raw: 123.456, counter_type: CounterType::PERF_100NSEC_TIMER };
/// let number = |bits| Ok(Format::from_bits(bits)?.number(percent, RawValue::U64(7), Scale::ONE));
/// assert_eq!(number(0x0200), Ok(Number::Double(100.0))); // PDH_FMT_DOUBLE
/// assert_eq!(number(0x8100), Ok(Number::Long(123))); // PDH_FMT_LONG | PDH_FMT_NOCAP100
/// assert_eq!(number(0x0300), Err(PdhStatus::PDH_INVALID_ARGUMENT)); // two kinds
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Type of the formatted number: an integer of 32 or 64 bits, or floating point.
    pub kind: FormatKind,
    /// `true` if the scale factor of the counter is not applied.
    #[doc(alias = "PDH_FMT_NOSCALE")]
    pub no_scale: bool,
    /// `true` if the value is multiplied by 1,000 before conversion to an integer.
    #[doc(alias = "PDH_FMT_1000")]
    pub thousandfold: bool,
    /// `true` if formatted percentages can exceed 100.
    #[doc(alias = "PDH_FMT_NOCAP100")]
    pub no_cap: bool,
}

/// Type of a formatted PDH number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FormatKind {
    /// Formatted number as an integer of 32 bits.
    #[doc(alias = "PDH_FMT_LONG")]
    Long,
    /// Formatted number as a floating-point number of 64 bits.
    #[doc(alias = "PDH_FMT_DOUBLE")]
    Double,
    /// Formatted number as an integer of 64 bits.
    #[doc(alias = "PDH_FMT_LARGE")]
    Large,
}

impl Format {
    const LONG: u32 = 0x0100;
    const DOUBLE: u32 = 0x0200;
    const LARGE: u32 = 0x0400;
    const NOSCALE: u32 = 0x1000;
    const THOUSANDFOLD: u32 = 0x2000;
    const NOCAP100: u32 = 0x8000;

    /// Creates a PDH format with the default adjustments: the counter's scale applies, and percentages are limited to
    /// 100.
    #[must_use]
    pub const fn new(kind: FormatKind) -> Self {
        Self { kind, no_scale: false, thousandfold: false, no_cap: false }
    }

    /// Creates a PDH format from the `PDH_FMT_*` bits of the C API.
    ///
    /// # Errors
    /// [`PDH_INVALID_ARGUMENT`](PdhStatus::PDH_INVALID_ARGUMENT) unless exactly one number type is set, and no
    /// undefined bit.
    pub const fn from_bits(bits: u32) -> Result<Self, PdhStatus> {
        const FLAGS: u32 = Format::NOSCALE | Format::THOUSANDFOLD | Format::NOCAP100;
        let kind = match bits & !FLAGS {
            Self::LONG => FormatKind::Long,
            Self::DOUBLE => FormatKind::Double,
            Self::LARGE => FormatKind::Large,
            // This includes the obsolete bits 0x0010, 0x0020, 0x0040 and 0x4000 of pdh.h (F-29).
            _ => return Err(PdhStatus::PDH_INVALID_ARGUMENT),
        };
        Ok(Self {
            kind,
            no_scale: bits & Self::NOSCALE != 0,
            thousandfold: bits & Self::THOUSANDFOLD != 0,
            no_cap: bits & Self::NOCAP100 != 0,
        })
    }

    /// Returns the `PDH_FMT_*` bits of this format for the C API.
    #[must_use]
    pub fn bits(self) -> u32 {
        let kind = match self.kind {
            FormatKind::Long => Self::LONG,
            FormatKind::Double => Self::DOUBLE,
            FormatKind::Large => Self::LARGE,
        };
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        kind | flag(self.no_scale, Self::NOSCALE)
            | flag(self.thousandfold, Self::THOUSANDFOLD)
            | flag(self.no_cap, Self::NOCAP100)
    }

    /// Converts a formatted value to the number type of this format; `raw` is the raw value that it was computed from.
    /// If the formula returns the raw value, integers are taken from `raw`, since a double has too few digits.
    #[must_use]
    pub fn number(self, value: FormattedValue, raw: RawValue, scale: Scale) -> Number {
        const FEW_DIGITS: f64 = 9_007_199_254_740_992.0; // 2^53
        let double = self.double(value, scale);
        // A value that was limited to 100 differs from its raw value, so the raw value must not replace it.
        let is_inexact =
            self.kind != FormatKind::Double && value.raw >= FEW_DIGITS && value.raw == value.capped();
        match is_inexact && for_type(value.counter_type).is_some_and(Formula::gives_raw_value) {
            true => self.count(raw.get(), scale),
            false => self.kind.number(double),
        }
    }

    fn count(self, count: u64, scale: Scale) -> Number {
        let (factor, divisor) = self.factors(scale);
        let scaled = i128::from(count).saturating_mul(factor).checked_div(divisor).unwrap_or(0);
        // Saturates: raw values are unsigned, and the integers of PDH are signed (F-31).
        let large = i64::try_from(scaled).unwrap_or(i64::MAX);
        match self.kind {
            FormatKind::Long => Number::Long(i32::try_from(large).unwrap_or(i32::MAX)),
            FormatKind::Double => Number::Double(real(scaled)),
            FormatKind::Large => Number::Large(large),
        }
    }

    /// Limits and scales a formatted value without conversion to an integer. The result is never infinite.
    pub(super) fn double(self, value: FormattedValue, scale: Scale) -> f64 {
        // The limit comes before the scale: 100 % with a scale factor of ten is 1,000 (F-31).
        let value = if self.no_cap { value.nocap() } else { value.capped() };
        let (factor, divisor) = self.factors(scale);
        (value * real(factor) / real(divisor)).clamp(f64::MIN, f64::MAX)
    }

    /// Returns the factor and the divisor by which a formatted value is scaled.
    fn factors(self, scale: Scale) -> (i128, i128) {
        // Two integers instead of one double: a negative power of ten is not an exact double.
        let power = if self.no_scale { 0 } else { scale.0 };
        let ten = |power: i8| 10_i128.saturating_pow(u32::try_from(power).unwrap_or(0));
        let thousand = if self.thousandfold { 1_000 } else { 1 };
        (ten(power).saturating_mul(thousand), ten(power.saturating_neg()))
    }
}

impl FormatKind {
    /// Converts a floating-point number to this PDH number type: truncated towards zero, limited to the range of the
    /// type.
    #[expect(clippy::as_conversions, reason = "cuts towards zero and saturates, which is what is wanted")]
    #[must_use]
    pub fn number(self, value: f64) -> Number {
        match self {
            Self::Long => Number::Long(value as i32),
            Self::Double => Number::Double(value),
            Self::Large => Number::Large(value as i64),
        }
    }
}

/// Formatted PDH number of one of three types.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Formatted number of 32 bits: `longValue`.
    Long(i32),
    /// Formatted floating-point number of 64 bits: `doubleValue`.
    Double(f64),
    /// Formatted number of 64 bits: `largeValue`.
    Large(i64),
}

impl Number {
    /// Returns the formatted number as a floating-point number.
    #[must_use]
    pub fn as_double(self) -> f64 {
        match self {
            Self::Long(value) => value.into(),
            Self::Double(value) => value,
            Self::Large(value) => real(value.into()),
        }
    }
}

/// Scale factor of a PDH counter: a power of ten, -7 to 7, by which its values are multiplied.
///
/// Set by the consumer of the values. The default scale in a counter's registration is a hint for charts and is never
/// applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[doc(alias = "lScale")]
pub struct Scale(i8);

impl Scale {
    /// Scale factor 1: the values of the counter stay unchanged.
    pub const ONE: Self = Self(0);

    /// Returns the power of ten of the scale factor.
    #[must_use]
    pub fn power(self) -> i32 {
        self.0.into()
    }
}

/// Converts a power of ten to a scale factor; [`PDH_INVALID_ARGUMENT`](PdhStatus::PDH_INVALID_ARGUMENT) outside -7 to
/// 7.
impl TryFrom<i32> for Scale {
    type Error = PdhStatus;

    fn try_from(power: i32) -> Result<Self, PdhStatus> {
        let power = i8::try_from(power).ok().filter(|power| (-7..=7).contains(power));
        power.map(Self).ok_or(PdhStatus::PDH_INVALID_ARGUMENT)
    }
}

#[expect(clippy::as_conversions, reason = "rounding to the nearest double is what is wanted")]
fn real(n: i128) -> f64 {
    n as f64
}
