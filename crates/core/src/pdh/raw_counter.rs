//! Raw counters: a raw value with the one other number that its formula divides by.

use crate::counter_type::CounterType;
use crate::formula::{Denominator, of};
use crate::pdh::PdhStatus;
use crate::sample::{Clocks, Numbers};
use crate::value::RawValue;

/// A raw value as PDH has it: with one number that it is divided by, and without the widths of either.
///
/// Two of them are what a [`Calculation`](super::Calculation) takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "PDH_RAW_COUNTER")]
pub struct RawCounter {
    /// Whether there is a value.
    #[doc(alias = "CStatus")]
    pub c_status: PdhStatus,
    /// When it was collected, in 100 ns since 1601: in logs of Windows local time, elsewhere UTC.
    #[doc(alias = "TimeStamp")]
    pub time: i64,
    /// The counter's own number.
    #[doc(alias = "FirstValue")]
    pub first: i64,
    /// What its type divides by: the value of the base, or the ticks of a clock; else 0.
    #[doc(alias = "SecondValue")]
    pub second: i64,
    /// How many items are counted together, of the types that say it; else 1.
    #[doc(alias = "MultiCount")]
    pub multi_count: u32,
}

impl RawCounter {
    /// Of the numbers of a sample. If the base that they take is not there, there is no value.
    #[must_use]
    pub fn new(counter_type: CounterType, time: i64, numbers: &Numbers<'_>) -> Self {
        let clock = counter_type.decode().clock;
        let ticks = || numbers.clocks.read(clock).map_or(0, |(ticks, _)| ticks);
        let base = numbers.base.map(RawValue::get);
        let (second, multi_count, is_whole) = match of(counter_type).map(|formula| formula.denominator) {
            None | Some(Denominator::None) => (0, 1, true),
            Some(Denominator::Clock) => (ticks(), 1, true),
            Some(Denominator::Base | Denominator::BaseOfTicks) => {
                (signed(base.unwrap_or(0)), 1, base.is_some())
            }
            Some(Denominator::ClockAndItems) => {
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

    /// Of what has no value.
    #[must_use]
    pub const fn none(c_status: PdhStatus, time: i64) -> Self {
        Self { c_status, time, first: 0, second: 0, multi_count: 1 }
    }
}

/// The ticks a second of the clock that a type names: 10,000,000 for 100 ns time, PerfTime's for types that name none.
#[must_use]
#[doc(alias = "PdhGetCounterTimeBase")]
pub fn time_base(counter_type: CounterType, clocks: &Clocks) -> i64 {
    clocks.read(counter_type.decode().clock).map_or(clocks.perf_freq, |(_, ticks_a_second)| ticks_a_second)
}

/// The same 64 bits: raw values have no sign, and those of PDH have one.
fn signed(raw: u64) -> i64 {
    i64::from_ne_bytes(raw.to_ne_bytes())
}

/// The way back.
pub(super) fn unsigned(raw: i64) -> RawValue {
    RawValue::U64(u64::from_ne_bytes(raw.to_ne_bytes()))
}
