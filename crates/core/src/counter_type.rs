//! `CounterType`: 32 bits that define the width of a raw value, its meaning and its formula.

use std::fmt;

/// Type of a counter: 32 bits that define the width, the meaning and the formula of a raw value.
///
/// **Shape**: bit fields for size, kind, subtype, clock, calculation and display; [`decode`](Self::decode) extracts
/// them. A value without a named constant is legal: its fields can be decoded, and a formula exists if its
/// [`meaning`](Self::meaning) equals that of a type with a formula.
///
/// Source: `winperf.h`; MS Learn, "Counter Types".
///
/// ```
/// use perfset::{CounterType, counter_type::Clock};
/// let timer = CounterType::PERF_100NSEC_TIMER_INV.decode();
/// assert!(timer.delta && timer.inverse);
/// assert_eq!(timer.clock, Clock::Time100Ns);
/// assert_eq!(CounterType(0x20510500).name(), Some("PERF_100NSEC_TIMER"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterType(pub u32);

macro_rules! counter_types {
    ($($name:ident = $value:literal, $what:literal;)*) => {
        impl CounterType {
            $(
                #[doc = concat!($what, ".")]
                pub const $name: Self = Self($value);
            )*

            /// All counter types that have a name, each once, with the name in C.
            pub const ALL: &[(Self, &str)] = &[$((Self($value), stringify!($name)),)*];
        }
    };
}

counter_types! {
    PERF_COUNTER_RAWCOUNT_HEX = 0x0000_0000, "The last value, shown in hexadecimal; 4 bytes";
    PERF_COUNTER_LARGE_RAWCOUNT_HEX = 0x0000_0100, "The last value, shown in hexadecimal; 8 bytes";
    PERF_COUNTER_TEXT = 0x0000_0B00, "A text, UTF-16LE";
    PERF_COUNTER_RAWCOUNT = 0x0001_0000, "The last value; 4 bytes";
    PERF_COUNTER_LARGE_RAWCOUNT = 0x0001_0100, "The last value; 8 bytes";
    PERF_DOUBLE_RAW = 0x0001_2000, "An IEEE double as it is, known from text logs only; 8 bytes";
    PERF_COUNTER_DELTA = 0x0040_0400, "The difference of two samples; 4 bytes";
    PERF_COUNTER_LARGE_DELTA = 0x0040_0500, "The difference of two samples; 8 bytes";
    PERF_SAMPLE_COUNTER = 0x0041_0400, "Events per second; 4 bytes";
    PERF_COUNTER_QUEUELEN_TYPE = 0x0045_0400, "Mean length of a queue over PerfTime; 4 bytes";
    PERF_COUNTER_LARGE_QUEUELEN_TYPE = 0x0045_0500, "Mean length of a queue over PerfTime; 8 bytes";
    PERF_COUNTER_100NS_QUEUELEN_TYPE = 0x0055_0500, "Mean length of a queue over 100 ns time; 8 bytes";
    PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE = 0x0065_0500, "Mean length of a queue over object time; 8 bytes";
    PERF_COUNTER_COUNTER = 0x1041_0400, "Events per second; 4 bytes";
    PERF_COUNTER_BULK_COUNT = 0x1041_0500, "Events per second; 8 bytes";
    PERF_RAW_FRACTION = 0x2002_0400, "Share of the base that follows, in percent; 4 bytes";
    PERF_LARGE_RAW_FRACTION = 0x2002_0500, "Share of the base that follows, in percent; 8 bytes";
    PERF_COUNTER_TIMER = 0x2041_0500, "Share of PerfTime that was active, in percent; 8 bytes";
    PERF_PRECISION_SYSTEM_TIMER = 0x2047_0500, "As PERF_COUNTER_TIMER, over a time stamp of its own; 8 bytes";
    PERF_100NSEC_TIMER = 0x2051_0500, "Share of 100 ns time that was active, in percent; 8 bytes";
    PERF_PRECISION_100NS_TIMER = 0x2057_0500, "As PERF_100NSEC_TIMER, over a time stamp of its own; 8 bytes";
    PERF_OBJ_TIME_TIMER = 0x2061_0500, "Share of object time that was active, in percent; 8 bytes";
    PERF_PRECISION_OBJECT_TIMER = 0x2067_0500, "As PERF_OBJ_TIME_TIMER, over a time stamp of its own; 8 bytes";
    PERF_SAMPLE_FRACTION = 0x20C2_0400, "Share of samples that hit, in percent; 4 bytes";
    PERF_COUNTER_TIMER_INV = 0x2141_0500, "Share of PerfTime that was not idle, in percent; 8 bytes";
    PERF_100NSEC_TIMER_INV = 0x2151_0500, "Share of 100 ns time that was not idle, in percent; 8 bytes";
    PERF_COUNTER_MULTI_TIMER = 0x2241_0500, "Activity of several items over PerfTime, in percent; 8 bytes";
    PERF_100NSEC_MULTI_TIMER = 0x2251_0500, "Activity of several items over 100 ns time, in percent; 8 bytes";
    PERF_COUNTER_MULTI_TIMER_INV = 0x2341_0500, "Activity of several items by idle PerfTime, in percent; 8 bytes";
    PERF_100NSEC_MULTI_TIMER_INV = 0x2351_0500, "Activity of several items by idle 100 ns, in percent; 8 bytes";
    PERF_AVERAGE_TIMER = 0x3002_0400, "Seconds per operation; 8 bytes, though its bits say 4";
    PERF_ELAPSED_TIME = 0x3024_0500, "Seconds since a start time; 8 bytes";
    PERF_COUNTER_NODATA = 0x4000_0200, "A label without a value";
    PERF_AVERAGE_BULK = 0x4002_0500, "Amount per operation; 8 bytes. Shown in spite of its \"do not show\" bits";
    PERF_SAMPLE_BASE = 0x4003_0401, "Base of PERF_SAMPLE_FRACTION; 4 bytes";
    PERF_AVERAGE_BASE = 0x4003_0402, "Base of PERF_AVERAGE_TIMER and PERF_AVERAGE_BULK; 4 bytes";
    PERF_RAW_BASE = 0x4003_0403, "Base of PERF_RAW_FRACTION; 4 bytes";
    PERF_LARGE_RAW_BASE = 0x4003_0500, "Base of PERF_LARGE_RAW_FRACTION, time stamp of precision timers; 8 bytes";
    PERF_COUNTER_MULTI_BASE = 0x4203_0500, "Number of items of a multi timer; 8 bytes";
    PERF_COUNTER_HISTOGRAM_TYPE = 0x8000_0000, "Never defined further";
}

impl CounterType {
    /// Alias of [`PERF_LARGE_RAW_BASE`](Self::PERF_LARGE_RAW_BASE).
    pub const PERF_PRECISION_TIMESTAMP: Self = Self::PERF_LARGE_RAW_BASE;

    /// Returns the name of this counter type in C.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Self::ALL.iter().find(|(known, _)| *known == self).map(|(_, name)| *name)
    }

    /// Returns the counter type with this name in C.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        // `ALL` has each value once, so this second name of a value is not in it.
        if name == "PERF_PRECISION_TIMESTAMP" {
            return Some(Self::PERF_PRECISION_TIMESTAMP);
        }
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(known, _)| *known)
    }

    /// Extracts the bit fields of a counter type. Never fails: undefined subtypes become [`ValueKind::Unknown`].
    #[must_use]
    pub fn decode(self) -> Decoded {
        let bits = self.0;
        let subtype = bits & 0x000F_0000;
        let kind = match (bits & 0x0000_0C00, subtype) {
            (0x000, 0x0_0000) => ValueKind::Number(NumberKind::Hex),
            (0x000, 0x1_0000) => ValueKind::Number(NumberKind::Decimal),
            (0x000, 0x2_0000) => ValueKind::Number(NumberKind::Dec1000),
            (0x400, 0x0_0000) => ValueKind::Counter(CounterKind::Value),
            (0x400, 0x1_0000) => ValueKind::Counter(CounterKind::Rate),
            (0x400, 0x2_0000) => ValueKind::Counter(CounterKind::Fraction),
            (0x400, 0x3_0000) => ValueKind::Counter(CounterKind::Base),
            (0x400, 0x4_0000) => ValueKind::Counter(CounterKind::Elapsed),
            (0x400, 0x5_0000) => ValueKind::Counter(CounterKind::QueueLen),
            (0x400, 0x6_0000) => ValueKind::Counter(CounterKind::Histogram),
            (0x400, 0x7_0000) => ValueKind::Counter(CounterKind::Precision),
            (0x800, 0x0_0000) => ValueKind::Text(TextKind::Unicode),
            (0x800, 0x1_0000) => ValueKind::Text(TextKind::Ascii),
            // winperf.h defines no subtypes of PERF_TYPE_ZERO.
            (0xC00, _) => ValueKind::Zero,
            _ => ValueKind::Unknown,
        };
        Decoded {
            size: match bits & 0x0000_0300 {
                0x000 => Size::Dword,
                0x100 => Size::Large,
                0x200 => Size::Zero,
                _ => Size::Variable,
            },
            kind,
            clock: match bits & 0x0030_0000 {
                0x0_0000 => Clock::PerfTime,
                0x10_0000 => Clock::Time100Ns,
                0x20_0000 => Clock::ObjectTime,
                _ => Clock::Unknown,
            },
            delta: bits & 0x0040_0000 != 0,
            delta_base: bits & 0x0080_0000 != 0,
            inverse: bits & 0x0100_0000 != 0,
            multi: bits & 0x0200_0000 != 0,
            display: match bits & 0x7000_0000 {
                0x0000_0000 => Display::NoSuffix,
                0x1000_0000 => Display::PerSec,
                0x2000_0000 => Display::Percent,
                0x3000_0000 => Display::Seconds,
                0x4000_0000 => Display::NoShow,
                _ => Display::Unknown,
            },
        }
    }

    /// Returns `true` if a counter of this type is only the denominator of another counter.
    ///
    /// This includes every named base and unnamed variants from other vendors, such as 0x40030503.
    #[must_use]
    pub fn is_base(self) -> bool {
        // The whole subtype is compared: a precision timer (7) has both bits of a base (3) (F-3).
        self.decode().kind == ValueKind::Counter(CounterKind::Base)
    }

    /// Returns `true` if a formatted value needs two samples: the delta bit is set, or the type is an average, which
    /// lacks it.
    #[must_use]
    pub fn needs_two_samples(self) -> bool {
        let averages = [Self::PERF_AVERAGE_TIMER, Self::PERF_AVERAGE_BULK];
        self.decode().delta || averages.iter().any(|average| average.meaning() == self.meaning())
    }

    /// Returns `true` if the formula of this counter type divides by a base: a denominator, or a number of items.
    #[must_use]
    pub fn needs_base(self) -> bool {
        let decoded = self.decode();
        match decoded.kind {
            ValueKind::Counter(CounterKind::Fraction | CounterKind::Precision) => true,
            // A multi timer is a rate by its subtype. PERF_SAMPLE_COUNTER is a rate too, and has no base
            // although some sources name one (F-15).
            ValueKind::Counter(CounterKind::Rate) => decoded.multi,
            _ => false,
        }
    }

    /// Returns the bits of a counter type that select its formula: two types with equal bits have the same formula.
    ///
    /// Four fields are removed. The width is stored in the block. The reserved low bits only distinguish bases. The
    /// clock is an operand, except in multi timers, where two clocks have two formulas. The display field is removed
    /// if it is a suffix and no percentage, except in a fraction, where it distinguishes averages from shares.
    #[must_use]
    pub fn meaning(self) -> u32 {
        const WIDTH_AND_RESERVED: u32 = 0x0000_03FF;
        const CLOCK: u32 = 0x0030_0000;
        const DISPLAY: u32 = 0x7000_0000;
        let decoded = self.decode();
        let mut ignored = WIDTH_AND_RESERVED;
        if !decoded.multi {
            ignored |= CLOCK;
        }
        let is_fraction = decoded.kind == ValueKind::Counter(CounterKind::Fraction);
        let is_suffix = !matches!(decoded.display, Display::Percent | Display::Unknown);
        if is_suffix && !is_fraction {
            ignored |= DISPLAY;
        }
        self.0 & !ignored
    }

    /// Returns the number of bytes of a value of this type in a V2 block that perfset writes; 0 for types without a
    /// number.
    ///
    /// A reader takes the width from the block instead, never from this function.
    #[must_use]
    pub fn value_len(self) -> u32 {
        if matches!(self, Self::PERF_AVERAGE_TIMER | Self::PERF_DOUBLE_RAW) {
            return 8; // stored in 8 bytes everywhere, though their size bits say 4
        }
        match self.decode().size {
            Size::Dword => 4,
            Size::Large => 8,
            Size::Zero | Size::Variable => 0,
        }
    }

    /// Returns the unit printed after a formatted value: `/s`, `%`, `s` or nothing.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self.decode().display {
            Display::PerSec => "/s",
            Display::Percent => "%",
            Display::Seconds => "s",
            Display::NoSuffix | Display::NoShow | Display::Unknown => "",
        }
    }
}

impl fmt::Display for CounterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("{:#010x}", self.0)),
        }
    }
}

impl fmt::Debug for CounterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Bit fields of a [`CounterType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Bits 8-9: width of the value by its type; the size field of a block overrides it.
    pub size: Size,
    /// Bits 10-11 and 16-19: kind and subtype of the value.
    pub kind: ValueKind,
    /// Bits 20-21: the clock of the denominator.
    pub clock: Clock,
    /// Bit 22, PERF_DELTA_COUNTER: the formula uses the difference of two samples.
    pub delta: bool,
    /// Bit 23, PERF_DELTA_BASE: the formula uses the difference of the base too.
    pub delta_base: bool,
    /// Bit 24, PERF_INVERSE_COUNTER: the value is shown as one minus the share.
    pub inverse: bool,
    /// Bit 25, PERF_MULTI_COUNTER: the formula divides by a number of items.
    pub multi: bool,
    /// Bits 28-30: suffix of the formatted value.
    pub display: Display,
}

/// Width of a raw value that the counter type defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// PERF_SIZE_DWORD: the raw value has 4 bytes.
    Dword,
    /// PERF_SIZE_LARGE: the raw value has 8 bytes.
    Large,
    /// PERF_SIZE_ZERO: the counter has no raw value.
    Zero,
    /// PERF_SIZE_VARIABLE_LEN: the block contains the length of the raw value.
    Variable,
}

/// Kind of value that a counter type defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// PERF_TYPE_NUMBER: a number without calculation.
    Number(NumberKind),
    /// PERF_TYPE_COUNTER: a value that a formula converts.
    Counter(CounterKind),
    /// PERF_TYPE_TEXT: a text instead of a number.
    Text(TextKind),
    /// PERF_TYPE_ZERO: the value of the counter is always zero.
    Zero,
    /// Kind of value that the header `winperf.h` does not define.
    Unknown,
}

/// Subtypes of the counter types of the kind PERF_TYPE_NUMBER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// PERF_NUMBER_HEX: number that is shown in hexadecimal.
    Hex,
    /// PERF_NUMBER_DECIMAL: number that is shown in decimal.
    Decimal,
    /// PERF_NUMBER_DEC_1000: number that is shown divided by 1000.
    Dec1000,
}

/// Subtypes of the counter types of the kind PERF_TYPE_COUNTER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterKind {
    /// PERF_COUNTER_VALUE: the raw value or its difference, without division.
    Value,
    /// PERF_COUNTER_RATE: the difference of the raw value, divided by time.
    Rate,
    /// PERF_COUNTER_FRACTION: the raw value, divided by a base.
    Fraction,
    /// PERF_COUNTER_BASE: the denominator of another counter.
    Base,
    /// PERF_COUNTER_ELAPSED: the time of the sample minus a start time.
    Elapsed,
    /// PERF_COUNTER_QUEUELEN: a time-weighted queue length.
    QueueLen,
    /// PERF_COUNTER_HISTOGRAM: a subtype that has a name and was never defined further.
    Histogram,
    /// PERF_COUNTER_PRECISION: the difference of the raw value, divided by the difference of its own time stamps.
    Precision,
}

/// Subtypes of the counter types of the kind PERF_TYPE_TEXT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// PERF_TEXT_UNICODE: the text is in UTF-16LE.
    Unicode,
    /// PERF_TEXT_ASCII: the text consists of single bytes.
    Ascii,
}

/// Clock by which the formula of a counter type divides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// PERF_TIMER_TICK: the PerfTime of the block, PerfFreq ticks a second.
    PerfTime,
    /// PERF_TIMER_100NS: the 100 ns time of the block.
    Time100Ns,
    /// PERF_OBJECT_TIMER: the counterset's own clock.
    ObjectTime,
    /// Undefined clock: both clock bits of the type are set.
    Unknown,
}

/// Suffix of a formatted value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Display {
    /// PERF_DISPLAY_NO_SUFFIX: the formatted value has no suffix.
    NoSuffix,
    /// PERF_DISPLAY_PER_SEC: the formatted value has the suffix "/sec".
    PerSec,
    /// PERF_DISPLAY_PERCENT: the formatted value has the suffix "%".
    Percent,
    /// PERF_DISPLAY_SECONDS: the formatted value has the suffix "secs".
    Seconds,
    /// PERF_DISPLAY_NOSHOW: the counter is not shown by itself, except PERF_AVERAGE_BULK.
    NoShow,
    /// Suffix code that the header `winperf.h` does not define.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and values of the counter types equal those of the independent test vectors.
    #[test]
    fn names_agree_with_the_vectors() {
        let csv = include_str!("../../../testdata/formulas/counter-type-vectors.csv");
        let mut seen = std::collections::BTreeSet::new();
        for line in csv.lines().skip(1) {
            let mut cells = line.split(',').skip(1);
            let (name, hex) = (cells.next().unwrap(), cells.next().unwrap());
            let value = u32::from_str_radix(hex.trim_start_matches("0x"), 16).unwrap();
            assert_eq!(CounterType::from_name(name), Some(CounterType(value)), "{name}");
            seen.insert(value);
        }
        assert_eq!(seen.len(), CounterType::ALL.len() - 1, "every name except PERF_DOUBLE_RAW has vectors");
    }

    #[test]
    fn values_and_names_are_unique() {
        for (i, (value, name)) in CounterType::ALL.iter().enumerate() {
            for (other, other_name) in &CounterType::ALL[i + 1..] {
                assert!(value != other && name != other_name, "{name} and {other_name}");
            }
            assert_eq!(value.name(), Some(*name));
            assert_eq!(CounterType::from_name(name), Some(*value));
        }
    }

    #[test]
    fn bits_of_some_types() {
        let inv = CounterType::PERF_100NSEC_TIMER_INV.decode();
        let want = Decoded {
            size: Size::Large,
            kind: ValueKind::Counter(CounterKind::Rate),
            clock: Clock::Time100Ns,
            delta: true,
            delta_base: false,
            inverse: true,
            multi: false,
            display: Display::Percent,
        };
        assert_eq!(inv, want);
        let fraction = CounterType::PERF_SAMPLE_FRACTION.decode();
        assert_eq!((fraction.kind, fraction.delta_base), (ValueKind::Counter(CounterKind::Fraction), true));
        assert_eq!(CounterType::PERF_COUNTER_TEXT.decode().kind, ValueKind::Text(TextKind::Unicode));
        assert!(CounterType::PERF_COUNTER_MULTI_TIMER.decode().multi);
        assert_eq!(CounterType(0x0002_0000).decode().kind, ValueKind::Number(NumberKind::Dec1000));
        assert_eq!(CounterType(0x0008_0400).decode().kind, ValueKind::Unknown);
        assert_eq!(CounterType(0x0030_0000).decode().clock, Clock::Unknown);
    }

    #[test]
    fn bases_are_not_precision_timers() {
        let bases: Vec<_> = CounterType::ALL.iter().filter(|(t, _)| t.is_base()).map(|(_, n)| *n).collect();
        assert_eq!(
            bases,
            [
                "PERF_SAMPLE_BASE",
                "PERF_AVERAGE_BASE",
                "PERF_RAW_BASE",
                "PERF_LARGE_RAW_BASE",
                "PERF_COUNTER_MULTI_BASE"
            ]
        );
        assert!(CounterType(0x4003_0503).is_base(), "third-party tables have this for PERF_LARGE_RAW_BASE");
    }

    #[test]
    fn widths() {
        for (t, len) in [
            (CounterType::PERF_COUNTER_COUNTER, 4),
            (CounterType::PERF_100NSEC_TIMER, 8),
            (CounterType::PERF_AVERAGE_TIMER, 8),
            (CounterType::PERF_DOUBLE_RAW, 8),
            (CounterType::PERF_AVERAGE_BASE, 4),
            (CounterType::PERF_COUNTER_NODATA, 0),
            (CounterType::PERF_COUNTER_TEXT, 0),
        ] {
            assert_eq!(t.value_len(), len, "{t}");
        }
    }
}
