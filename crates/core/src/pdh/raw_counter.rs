//! Raw counters of PDH: a raw value with the divisor of its formula.

use crate::counter_type::CounterType;
use crate::formula::{Denominator, for_type};
use crate::pdh::PdhStatus;
use crate::sample::{Clocks, SampleValues};
use crate::value::RawValue;

/// Raw value in the form of PDH: with its divisor, and without the stored widths of raw value and divisor.
///
/// A [`Calculation`](super::Calculation) takes two raw counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "PDH_RAW_COUNTER")]
pub struct RawCounter {
    /// Status of the raw counter: valid, or the reason why there is no value.
    #[doc(alias = "CStatus")]
    pub c_status: PdhStatus,
    /// Time of the collection, in 100 ns since 1601: local time in logs of Windows, otherwise UTC.
    #[doc(alias = "TimeStamp")]
    pub time: i64,
    /// Raw value of the counter.
    #[doc(alias = "FirstValue")]
    pub first: i64,
    /// Divisor of the formula: the value of the base, or the ticks of a clock; otherwise 0.
    #[doc(alias = "SecondValue")]
    pub second: i64,
    /// Number of items that a multi timer counts together; 1 for other counter types.
    #[doc(alias = "MultiCount")]
    pub multi_count: u32,
}

impl RawCounter {
    /// Converts the values of a sample to a raw counter. If a needed base is missing, the status of the raw counter
    /// is invalid.
    #[must_use]
    pub fn new(counter_type: CounterType, time: i64, numbers: &SampleValues<'_>) -> Self {
        let clock = counter_type.decode().clock;
        let ticks = || numbers.clocks.read(clock).map_or(0, |(ticks, _)| ticks);
        let base = numbers.base.map(RawValue::get);
        let (second, multi_count, is_whole) = match for_type(counter_type).map(|formula| formula.denominator)
        {
            None | Some(Denominator::None) => (0, 1, true),
            Some(Denominator::Clock) => (ticks(), 1, true),
            Some(Denominator::Base | Denominator::BaseOfTicks) => {
                (signed(base.unwrap_or(0)), 1, base.is_some())
            }
            Some(Denominator::ClockAndItems) => {
                // MultiCount is a DWORD, while the number of items can be stored in 8 bytes.
                let items = u32::try_from(base.unwrap_or(0)).unwrap_or(u32::MAX);
                (ticks(), items, base.is_some())
            }
        };
        let c_status = match is_whole {
            true => PdhStatus::PDH_CSTATUS_VALID_DATA,
            false => PdhStatus::PDH_CSTATUS_INVALID_DATA,
        };
        Self { c_status, time, first: signed(numbers.raw.get()), second, multi_count }
    }

    /// Creates a raw counter without a value, with a status and a time of collection.
    #[must_use]
    pub const fn without_value(c_status: PdhStatus, time: i64) -> Self {
        Self { c_status, time, first: 0, second: 0, multi_count: 1 }
    }
}

/// Returns the ticks per second of a counter type's clock: 10,000,000 for 100 ns time; the frequency of PerfTime for
/// types without a clock.
#[must_use]
#[doc(alias = "PdhGetCounterTimeBase")]
pub fn time_base(counter_type: CounterType, clocks: &Clocks) -> i64 {
    clocks.read(counter_type.decode().clock).map_or(clocks.perf_freq, |(_, ticks_a_second)| ticks_a_second)
}

/// Reinterprets the 64 bits of an unsigned raw value as signed, as PDH stores raw values.
fn signed(raw: u64) -> i64 {
    i64::from_ne_bytes(raw.to_ne_bytes())
}

/// Reinterprets the 64 bits of a signed PDH value as an unsigned raw value.
pub(super) fn unsigned(raw: i64) -> RawValue {
    RawValue::U64(u64::from_ne_bytes(raw.to_ne_bytes()))
}
