//! Fields of a PDH raw value, which are counters of their own.

use perfset_core::counter_type::Clock;
use perfset_core::formula::{self, Denominator};
use perfset_core::pdh::{PdhStatus, RawCounter};
use perfset_core::{Counter, CounterId, CounterType, NoValue, RawValue};

use super::PathCounter;

/// First counter id for the additional fields of PDH raw values; each counter of the log has [`PARTS`] such ids.
const PART_IDS: u32 = 0x4000_0000;
const PARTS: u32 = 4;

/// Field of a PDH raw value that is a counter of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RawField {
    First,
    /// Second number of the PDH raw value: the base, or the time of the clock by which the counter type divides.
    Second,
    /// Number of counted items in the PDH raw value, by which some counter types also divide.
    Items,
    /// Frequency of the clock whose time is the field `Second`, in ticks per second.
    TimeBase,
}

impl RawField {
    /// Returns the id of the counter that contains this field of a PDH raw value.
    pub fn id(self, counter: &PathCounter, at: usize) -> CounterId {
        let of = |n: u32| {
            let at = u32::try_from(at).unwrap_or(0); // there are few
            CounterId(PART_IDS.saturating_add(at.saturating_mul(PARTS)).saturating_add(n))
        };
        match self {
            Self::First => counter.id,
            Self::Second => of(1),
            Self::Items => of(2),
            Self::TimeBase => of(3),
        }
    }
}

/// Fields of a PDH raw value that a counter type uses as base, item count, clock and clock frequency.
#[derive(Default)]
pub(super) struct Roles {
    pub base: Option<RawField>,
    pub items: Option<RawField>,
    pub clock: Option<RawField>,
    pub freq: Option<RawField>,
}

impl Roles {
    /// Returns the fields that the formula of a counter type uses.
    pub fn for_type(counter_type: CounterType) -> Self {
        let (second, time_base) = (Some(RawField::Second), Some(RawField::TimeBase));
        // A clock in units of 100 ns has a fixed frequency, whatever the log states.
        let freq = time_base.filter(|_| counter_type.decode().clock != Clock::Time100Ns);
        match formula::for_type(counter_type).map(|formula| formula.denominator) {
            None | Some(Denominator::None) => Self::default(),
            Some(Denominator::Base) => Self { base: second, ..Self::default() },
            Some(Denominator::BaseOfTicks) => Self { base: second, freq: time_base, ..Self::default() },
            Some(Denominator::Clock) => Self { clock: second, freq, ..Self::default() },
            Some(Denominator::ClockAndItems) => {
                Self { clock: second, freq, items: Some(RawField::Items), ..Self::default() }
            }
        }
    }

    pub fn all(&self) -> impl Iterator<Item = RawField> + use<> {
        let mut parts: Vec<RawField> = Vec::new();
        for part in [self.base, self.items, self.clock, self.freq].into_iter().flatten() {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts.into_iter()
    }
}

/// Returns the hidden counter that contains an additional field of a PDH raw value.
pub(super) fn part_registration(id: CounterId) -> Counter {
    Counter::new(id, CounterType::PERF_LARGE_RAW_BASE).hidden().source("raw value of PDH")
}

/// Returns a field of a PDH raw value; the first field has the width of the counter's type.
pub(super) fn value_of(raw: &RawCounter, part: RawField, counter: &PathCounter) -> Result<RawValue, NoValue> {
    let bits = |number: i64| u64::from_le_bytes(number.to_le_bytes());
    if !raw.c_status.has_value() {
        return Err(missing(raw.c_status));
    }
    Ok(match part {
        // PDH stores every raw value in 64 bits. A type of 4 bytes uses the low half: B-17.
        RawField::First if counter.counter_type.value_len() == 4 => {
            let [a, b, c, d, ..] = raw.first.to_le_bytes();
            RawValue::U32(u32::from_le_bytes([a, b, c, d]))
        }
        RawField::First => RawValue::U64(bits(raw.first)),
        RawField::Second => RawValue::U64(bits(raw.second)),
        RawField::Items => RawValue::U64(raw.multi_count.into()),
        RawField::TimeBase => RawValue::U64(bits(counter.time_base)),
    })
}

/// Returns the reason for which PDH could not record a value.
fn missing(c_status: PdhStatus) -> NoValue {
    match c_status {
        PdhStatus::PDH_CSTATUS_NO_INSTANCE => NoValue::NoInstance,
        other => NoValue::Failed(format!("recorded without a value: {other}").into()),
    }
}
