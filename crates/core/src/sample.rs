//! Samples: one counter of one instance at one time.

use crate::clock::ClockReading;
use crate::counter_type::{Clock, CounterType};
use crate::counterset::CounterId;
use crate::instance::Identity;
use crate::value::{NoValue, RawValue};

/// Value of one counter of one instance at one time, with everything that its formula needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'a> {
    /// Identity of the counterset's instance to which the value belongs.
    pub identity: Identity<'a>,
    /// Id of the counter to which the sample belongs.
    pub counter: CounterId,
    /// Type of the sampled counter, which selects the formula.
    pub counter_type: CounterType,
    /// Raw value of the counter in this sample.
    pub raw: RawValue,
    /// Raw value of the counter's base in this sample, if the counter has a base and it was delivered.
    pub base: Option<RawValue>,
    /// `true` if the raw value is stored in 4 bytes and can pass zero once between two samples.
    pub wraps: bool,
    /// `true` if the base is stored in 4 bytes and can pass zero once between two samples.
    pub base_wraps: bool,
    /// Readings, at the time of the sample, of the clocks that formulas divide by.
    pub clocks: Clocks,
}

/// Readings of the clocks that formulas divide by, at the time of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// Reading of PerfTime, in ticks.
    pub perf_time: i64,
    /// Ticks of PerfTime per second.
    pub perf_freq: i64,
    /// UTC of the sample, in 100 ns since 1601.
    pub time_100ns: i64,
    /// Reading of the counterset's own clock, in ticks.
    pub object_time: i64,
    /// Ticks per second of the counterset's own clock.
    pub object_freq: i64,
}

impl Clocks {
    /// Returns the reading of a clock and its ticks per second; `None` for an unknown clock.
    #[must_use]
    #[inline]
    pub fn read(&self, clock: Clock) -> Option<(i64, i64)> {
        match clock {
            Clock::PerfTime => Some((self.perf_time, self.perf_freq)),
            Clock::Time100Ns => Some((self.time_100ns, 10_000_000)),
            Clock::ObjectTime => Some((self.object_time, self.object_freq)),
            Clock::Unknown => None,
        }
    }

    /// Returns a copy with another reading of one clock and its ticks per second.
    #[must_use]
    pub fn with(self, clock: Clock, ticks: i64, freq: i64) -> Self {
        match clock {
            Clock::PerfTime => Self { perf_time: ticks, perf_freq: freq, ..self },
            Clock::Time100Ns => Self { time_100ns: ticks, ..self },
            Clock::ObjectTime => Self { object_time: ticks, object_freq: freq, ..self },
            Clock::Unknown => self,
        }
    }
}

/// Converts the clock readings of a collection, with the 100 ns time as the object clock.
impl From<&ClockReading> for Clocks {
    fn from(reading: &ClockReading) -> Self {
        Self {
            perf_time: reading.perf_time,
            perf_freq: reading.perf_freq,
            time_100ns: reading.time_100ns,
            object_time: reading.time_100ns,
            object_freq: 10_000_000,
        }
    }
}

/// Raw value, base and clocks of a sample: the values that a formula needs, without identity and counter type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleValues<'a> {
    /// Raw value of the counter in this sample.
    pub raw: RawValue,
    /// Raw value of the counter's base in this sample, if the counter has a base and it was delivered.
    pub base: Option<RawValue>,
    /// Readings, at the time of the sample, of the clocks that formulas divide by.
    pub clocks: &'a Clocks,
}

/// Raw value, base and clocks of a sample like [`SampleValues`], without the stored widths of raw value and base.
#[doc(hidden)] // for the engine alone
#[derive(Clone, Copy, Debug)]
pub struct PlainSampleValues<'a> {
    /// Raw value of the counter in this sample.
    pub raw: u64,
    /// Raw value of the counter's base in this sample, if the counter has a base and it was delivered.
    pub base: Option<u64>,
    /// Readings, at the time of the sample, of the clocks that formulas divide by.
    pub clocks: &'a Clocks,
}

impl<'a> SampleValues<'a> {
    /// Converts the values of a sample to [`PlainSampleValues`], which drops the widths.
    #[inline]
    pub(crate) fn plain(&self) -> PlainSampleValues<'a> {
        PlainSampleValues { raw: self.raw.get(), base: self.base.map(RawValue::get), clocks: self.clocks }
    }
}

impl Sample<'_> {
    /// Returns raw value, base and clocks of the sample: the values that a formula needs.
    #[must_use]
    pub fn numbers(&self) -> SampleValues<'_> {
        SampleValues { raw: self.raw, base: self.base, clocks: &self.clocks }
    }
}

/// Checks that two samples belong to the same counter of the same instance.
///
/// # Errors
/// [`NoValue::NewInstance`] if the counters or instances differ, [`NoValue::Replaced`] if only the birth differs,
/// [`NoValue::TypeChanged`] if the counter was registered again with another type.
pub fn pair(old: &Sample<'_>, new: &Sample<'_>) -> Result<(), NoValue> {
    let (a, b) = (&old.identity, &new.identity);
    let same_thing = (a.counterset, old.counter, a.instance_id) == (b.counterset, new.counter, b.instance_id)
        && a.instance == b.instance;
    // PDH pairs samples by displayed name, so its value can be the difference of two processes (F-7).
    if !same_thing {
        return Err(NoValue::NewInstance);
    }
    if a.birth != b.birth {
        return Err(NoValue::Replaced);
    }
    if old.counter_type != new.counter_type {
        return Err(NoValue::TypeChanged { from: old.counter_type, to: new.counter_type });
    }
    Ok(())
}

/// Returns the reason why a raw value or clock decreased: the cause that both samples reveal, otherwise `reason`.
pub(crate) fn why_it_fell(
    old: &SampleValues<'_>,
    new: &SampleValues<'_>,
    clock: Clock,
    reason: NoValue,
) -> NoValue {
    if !matches!(reason, NoValue::NegativeValue { .. } | NoValue::NegativeDenominator) {
        return reason;
    }
    let (before, now) = (old.clocks, new.clocks);
    let ticks = |clocks: &Clocks| clocks.read(clock).map(|(ticks, _)| ticks);
    // A wall clock that is set back is no cause, unless the counter's own type divides by it (F-10).
    if now.perf_time < before.perf_time || ticks(now) < ticks(before) {
        return NoValue::TimeWentBack { value_fell: matches!(reason, NoValue::NegativeValue { .. }) };
    }
    match (reason, old.raw, new.raw) {
        (NoValue::NegativeValue { .. }, RawValue::U32(from), RawValue::U32(to)) if may_wrap(from, to) => {
            NoValue::Wrapped { from, to }
        }
        (reason, ..) => reason,
    }
}

/// Returns `true` if the measured machine was restarted between two clock readings: PerfTime decreased, and counted
/// no longer than the time that passed between the readings.
pub(crate) fn restarted(before: &Clocks, now: &Clocks) -> bool {
    if now.perf_time >= before.perf_time {
        return false;
    }
    // A clock that has counted longer than the interval cannot have begun in it: then the samples are in the
    // wrong order, or a block is wrong.
    let passed = i128::from(now.time_100ns).saturating_sub(before.time_100ns.into());
    let counted = i128::from(now.perf_time).saturating_mul(10_000_000);
    passed > 0 && now.perf_freq > 0 && counted <= passed.saturating_mul(now.perf_freq.into())
}

/// Extends the newer of two 4-byte values beyond 32 bits if the counter passed zero.
///
/// A step of 2^31 or more is a reset, not a wrap, and stays as it is.
pub(crate) fn unwrapped(old: RawValue, new: RawValue) -> RawValue {
    let (RawValue::U32(from), RawValue::U32(to)) = (old, new) else { return new };
    if to >= from || !may_wrap(from, to) {
        return new;
    }
    RawValue::U64(u64::from(from).saturating_add(u64::from(to.wrapping_sub(from))))
}

/// Returns `true` if a decrease of a 4-byte value can be a wrap: the wrapped increase is below 2^31, half of its
/// range.
fn may_wrap(from: u32, to: u32) -> bool {
    to < from && to.wrapping_sub(from) < 1 << 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guid::Guid;
    use crate::instance::InstanceId;
    use crate::utf16::Name;
    use std::num::NonZeroU64;

    fn sample(raw: RawValue) -> Sample<'static> {
        Sample {
            identity: Identity {
                counterset: Guid::from_u128(2),
                instance: Name::until_nul(b"a\0"),
                instance_id: InstanceId(3),
                birth: NonZeroU64::new(5),
            },
            counter: CounterId(7),
            counter_type: CounterType::PERF_COUNTER_COUNTER,
            raw,
            base: None,
            wraps: true,
            base_wraps: false,
            clocks: Clocks { perf_time: 11, perf_freq: 13, time_100ns: 17, object_time: 19, object_freq: 23 },
        }
    }

    #[test]
    fn identity_decides() {
        let old = sample(RawValue::U32(1));
        type Change = fn(&mut Sample<'static>);
        let cases: [(&str, Change, NoValue); 7] = [
            ("counterset", |s| s.identity.counterset = Guid::NIL, NoValue::NewInstance),
            ("counter", |s| s.counter = CounterId(8), NoValue::NewInstance),
            ("name", |s| s.identity.instance = Name::until_nul(b"A\0"), NoValue::NewInstance),
            ("id", |s| s.identity.instance_id = InstanceId(4), NoValue::NewInstance),
            ("birth", |s| s.identity.birth = NonZeroU64::new(6), NoValue::Replaced),
            ("birth unknown", |s| s.identity.birth = None, NoValue::Replaced),
            (
                "type",
                |s| s.counter_type = CounterType::PERF_COUNTER_RAWCOUNT,
                NoValue::TypeChanged {
                    from: CounterType::PERF_COUNTER_COUNTER,
                    to: CounterType::PERF_COUNTER_RAWCOUNT,
                },
            ),
        ];
        for (name, change, want) in cases {
            let mut new = old;
            change(&mut new);
            assert_eq!(pair(&old, &new), Err(want), "{name}");
        }
        assert!(pair(&old, &old).is_ok());
    }

    #[test]
    fn decreased_value_has_a_reason() {
        use crate::formula::format;
        const SECOND: i64 = 10_000_000;
        type Change = fn(&mut Sample<'static>);
        let fell = NoValue::NegativeValue { from: 1 << 30, to: 5 };
        let cases: [(&str, Change, NoValue); 8] = [
            // The value fell and the clocks rose: a reset of the counter.
            ("reset", |s| s.raw = RawValue::U32(5), fell),
            (
                "reset or wrapped",
                |s| {
                    s.raw = RawValue::U32(5);
                    s.wraps = false;
                },
                NoValue::NegativeValue { from: 1 << 30, to: 5 }, // 2^32 - 2^30 are more than half of all
            ),
            // The clock did not advance, or was set back: no rate can be computed, even if the value rose.
            ("same sample", |s| s.clocks.perf_time = 1_000, NoValue::NegativeDenominator),
            ("clock set back", |s| s.clocks.perf_time = 999, NoValue::TimeWentBack { value_fell: false }),
            // The clock fell, and has counted no longer than the time between both samples: the machine
            // restarted.
            (
                "restarted",
                |s| {
                    s.clocks.perf_time = 20; // of 100 a second
                    s.raw = RawValue::U32(2);
                },
                NoValue::Restarted { value_fell: true },
            ),
            (
                "restarted, and counted on",
                |s| s.clocks.perf_time = 20,
                NoValue::Restarted { value_fell: false },
            ),
            (
                "no restart: it counts for longer",
                |s| s.clocks.perf_time = 101,
                NoValue::TimeWentBack { value_fell: false },
            ),
            (
                "samples in the wrong order",
                |s| {
                    s.clocks.perf_time = 20;
                    s.clocks.time_100ns = 0;
                },
                NoValue::TimeWentBack { value_fell: false },
            ),
        ];
        // 2^30 is less than half of the 32-bit range, so a fall from there to 5 cannot be a wrap.
        let mut old = sample(RawValue::U32(1 << 30));
        old.clocks = Clocks { perf_time: 1_000, perf_freq: 100, time_100ns: SECOND, ..old.clocks };
        for (name, change, want) in cases {
            let mut new = old;
            new.raw = RawValue::U32((1 << 30) + 1);
            new.clocks.perf_time += 100;
            new.clocks.time_100ns += SECOND;
            change(&mut new);
            assert_eq!(format(Some(&old), &new), Err(want), "{name}");
        }
        // From the end of the range the same fall can be a wrap; without the attribute `wraps` it is only
        // reported.
        let high = Sample { raw: RawValue::U32(u32::MAX), wraps: false, ..old };
        let mut low = Sample { raw: RawValue::U32(5), ..high };
        low.clocks.perf_time += 100;
        assert_eq!(format(Some(&high), &low), Err(NoValue::Wrapped { from: u32::MAX, to: 5 }));
        // The wall clock may be set as it likes where it is not what the counter divides by.
        let mut fine = Sample { raw: RawValue::U32((1 << 30) + 3), ..old };
        fine.clocks.perf_time += 100;
        fine.clocks.time_100ns -= SECOND;
        assert_eq!(format(Some(&old), &fine).unwrap().raw, 3.0);
    }

    #[test]
    fn one_wrap_is_mended() {
        let max = u32::MAX;
        for (name, old, new, want) in [
            ("no wrap", RawValue::U32(5), RawValue::U32(9), RawValue::U32(9)),
            ("wrap", RawValue::U32(max), RawValue::U32(4), RawValue::U64((1 << 32) + 4)),
            ("reset", RawValue::U32(1 << 30), RawValue::U32(7), RawValue::U32(7)),
            ("8 bytes never", RawValue::U64(9), RawValue::U64(7), RawValue::U64(7)),
            ("widths differ", RawValue::U64(9), RawValue::U32(7), RawValue::U32(7)),
        ] {
            assert_eq!(unwrapped(old, new), want, "{name}");
        }
        let difference =
            |old: &Sample<'_>, new: &Sample<'_>| crate::formula::format(Some(old), new).map(|v| v.raw);
        let delta =
            |raw| Sample { counter_type: CounterType::PERF_COUNTER_DELTA, ..sample(RawValue::U32(raw)) };
        assert_eq!(difference(&delta(max), &delta(4)), Ok(5.0));
        let based = |raw, base| Sample {
            base: Some(RawValue::U32(base)),
            base_wraps: true,
            counter_type: CounterType::PERF_AVERAGE_BULK,
            ..sample(RawValue::U64(raw))
        };
        assert_eq!(
            difference(&based(7, max), &based(17, 4)),
            Ok(2.0),
            "a base of 4 bytes under a value of 8"
        );
        let unmarked = Sample { wraps: false, ..delta(4) };
        assert_eq!(
            difference(&delta(max), &unmarked),
            Err(NoValue::Wrapped { from: max, to: 4 }),
            "not marked"
        );
    }
}
