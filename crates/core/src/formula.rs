//! Formulas: convert raw values to formatted values. Pure: the caller passes both samples.
//!
//! [`format()`] finds the [`Formula`] of a counter type in [`FORMULAS`], checks in a fixed order, and computes the
//! value. A new counter type is a new row of that table. A type that no row lists uses the row with the same bits,
//! except for width and clock; if no such row exists, the type has no formula.
//!
//! Source: MS Learn, "Calculating Counter Values" and "Retrieving Counter Data"; the comments of `winperf.h`. Where
//! these are silent or disagree, this project defines the order of checks and the edge cases: see the vectors of
//! `testdata/formulas`.

use crate::counter_type::{Clock, CounterType, Size};
use crate::sample::{PlainSampleValues, Sample, SampleValues, pair, restarted, unwrapped, why_it_fell};
use crate::value::{FormattedValue, NoValue, RawValue};

/// Operands that a formula takes from one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The raw value, N.
    pub raw: u64,
    /// Divisor: ticks of a clock, or the value of the base.
    pub time: i128,
    /// Ticks per second of that clock, F.
    pub freq: i64,
}

/// Formula of several counter types.
#[derive(Clone, Copy, Debug)]
pub struct Formula {
    /// Counter types with this formula.
    pub types: &'static [CounterType],
    /// Formula in usual notation: N raw value, B base, D clock, F ticks a second, d difference.
    pub text: &'static str,
    /// Divisor of the formula.
    pub denominator: Denominator,
    compute: FormulaFn,
}

impl Formula {
    /// Returns `true` if the formatted value equals the raw value.
    #[must_use]
    pub fn gives_raw_value(&self) -> bool {
        self.types.contains(&CounterType::PERF_COUNTER_RAWCOUNT)
    }
}

/// Divisor of a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denominator {
    /// No divisor: the value is a count.
    None,
    /// Clock of the counter type.
    Clock,
    /// Base of the counter.
    Base,
    /// Base of a value in PerfTime ticks; the formula also needs the frequency of PerfTime.
    BaseOfTicks,
    /// Clock of the counter type; the base is a number of items.
    ClockAndItems,
}

#[derive(Clone, Copy, Debug)]
enum FormulaFn {
    Newest(fn(Reading) -> Result<f64, NoValue>),
    Difference(fn(Reading, Reading) -> Result<f64, NoValue>),
    /// Takes the number of items from the newer sample.
    OfItems(fn(Reading, Reading, u64) -> Result<f64, NoValue>),
}

/// Formulas of all counter types that have one.
pub const FORMULAS: &[Formula] = &[
    Formula {
        types: &[
            CounterType::PERF_COUNTER_RAWCOUNT,
            CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
            CounterType::PERF_COUNTER_RAWCOUNT_HEX,
            CounterType::PERF_COUNTER_LARGE_RAWCOUNT_HEX,
            CounterType(0x0000_0400), // PERF_COUNTER_VALUE without a difference, of which no named type is made
        ],
        text: "N1",
        denominator: Denominator::None,
        compute: FormulaFn::Newest(raw_count),
    },
    Formula {
        types: &[CounterType::PERF_DOUBLE_RAW],
        text: "N1, a double",
        denominator: Denominator::None,
        compute: FormulaFn::Newest(raw_double),
    },
    Formula {
        types: &[CounterType(0x0002_0000)], // PERF_NUMBER_DEC_1000, of which no named type is made
        text: "N1 / 1000",
        denominator: Denominator::None,
        compute: FormulaFn::Newest(raw_thousandths),
    },
    Formula {
        types: &[CounterType::PERF_COUNTER_DELTA, CounterType::PERF_COUNTER_LARGE_DELTA],
        text: "dN",
        denominator: Denominator::None,
        compute: FormulaFn::Difference(delta),
    },
    Formula {
        types: &[
            CounterType::PERF_COUNTER_QUEUELEN_TYPE,
            CounterType::PERF_COUNTER_LARGE_QUEUELEN_TYPE,
            CounterType::PERF_COUNTER_100NS_QUEUELEN_TYPE,
            CounterType::PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE,
        ],
        text: "dN / dD",
        denominator: Denominator::Clock,
        compute: FormulaFn::Difference(queue_length),
    },
    Formula {
        types: &[
            CounterType::PERF_COUNTER_COUNTER,
            CounterType::PERF_COUNTER_BULK_COUNT,
            // Four sources document a rate over PerfTime, two others name a base (F-15).
            CounterType::PERF_SAMPLE_COUNTER,
        ],
        text: "dN / (dD / F)",
        denominator: Denominator::Clock,
        compute: FormulaFn::Difference(counter_rate),
    },
    Formula {
        types: &[
            CounterType::PERF_COUNTER_TIMER,
            CounterType::PERF_100NSEC_TIMER,
            CounterType::PERF_OBJ_TIME_TIMER,
        ],
        text: "100 x dN / dD",
        denominator: Denominator::Clock,
        compute: FormulaFn::Difference(timer_share),
    },
    Formula {
        types: &[CounterType::PERF_COUNTER_TIMER_INV, CounterType::PERF_100NSEC_TIMER_INV],
        text: "100 x (1 - dN / dD)",
        denominator: Denominator::Clock,
        compute: FormulaFn::Difference(timer_share_inverse),
    },
    Formula {
        types: &[CounterType::PERF_COUNTER_MULTI_TIMER],
        text: "100 x (dN / (dD / F)) / B1",
        denominator: Denominator::ClockAndItems,
        compute: FormulaFn::OfItems(multi_timer),
    },
    Formula {
        types: &[CounterType::PERF_100NSEC_MULTI_TIMER],
        text: "100 x (dN / dD) / B1",
        denominator: Denominator::ClockAndItems,
        compute: FormulaFn::OfItems(multi_timer_100ns),
    },
    Formula {
        // The Platform SDK also uses F and divides by the items. MS Learn and the Kit do neither (F-16).
        types: &[CounterType::PERF_COUNTER_MULTI_TIMER_INV, CounterType::PERF_100NSEC_MULTI_TIMER_INV],
        text: "100 x (B1 - dN / dD)",
        denominator: Denominator::ClockAndItems,
        compute: FormulaFn::OfItems(multi_timer_inverse),
    },
    Formula {
        types: &[
            CounterType::PERF_PRECISION_SYSTEM_TIMER,
            CounterType::PERF_PRECISION_100NS_TIMER,
            CounterType::PERF_PRECISION_OBJECT_TIMER,
        ],
        text: "100 x dN / dB",
        denominator: Denominator::Base,
        compute: FormulaFn::Difference(timer_share),
    },
    Formula {
        types: &[CounterType::PERF_SAMPLE_FRACTION],
        text: "100 x dN / dB",
        denominator: Denominator::Base,
        compute: FormulaFn::Difference(sample_fraction),
    },
    Formula {
        types: &[CounterType::PERF_AVERAGE_BULK],
        text: "dN / dB",
        denominator: Denominator::Base,
        compute: FormulaFn::Difference(average),
    },
    Formula {
        types: &[CounterType::PERF_AVERAGE_TIMER],
        text: "(dN / F) / dB",
        denominator: Denominator::BaseOfTicks,
        compute: FormulaFn::Difference(average_seconds),
    },
    Formula {
        types: &[CounterType::PERF_RAW_FRACTION, CounterType::PERF_LARGE_RAW_FRACTION],
        text: "100 x N1 / B1",
        denominator: Denominator::Base,
        compute: FormulaFn::Newest(fraction),
    },
    Formula {
        types: &[CounterType::PERF_ELAPSED_TIME],
        text: "(D1 - N1) / F",
        denominator: Denominator::Clock,
        compute: FormulaFn::Newest(elapsed_seconds),
    },
];

/// Returns the formula of a counter type: by listed type, otherwise by equal [`meaning`](CounterType::meaning).
#[must_use]
pub fn for_type(counter_type: CounterType) -> Option<&'static Formula> {
    let named = FORMULAS.iter().find(|formula| formula.types.contains(&counter_type));
    named.or_else(|| {
        if counter_type.decode().size == Size::Zero {
            return None; // a label
        }
        // Width and clock are options of a formula, so an unnamed combination of bits can still be computed.
        let alike = |known: &CounterType| known.meaning() == counter_type.meaning();
        FORMULAS.iter().find(|formula| formula.types.iter().any(alike))
    })
}

/// Computes the value of `new`; `old` is needed if the type takes a difference.
///
/// # Errors
/// The first of these, in this order: not displayable, needs two samples (or the samples do not belong together),
/// missing base, negative value, negative denominator, negative time base. If a value or a clock decreased and the
/// samples reveal the cause, the error is that cause: [`NoValue::Restarted`], [`NoValue::TimeWentBack`],
/// [`NoValue::Wrapped`].
pub fn format(old: Option<&Sample<'_>>, new: &Sample<'_>) -> Result<FormattedValue, NoValue> {
    let computation = Computation::for_type(new.counter_type).ok_or(NoValue::NotDisplayable)?;
    let computation = computation.wrapping(new.wraps, new.base_wraps);
    let Some(old) = old.filter(|_| computation.needs_two_samples()) else {
        return computation.value(None, &new.numbers());
    };
    // Only formulas with two samples compare them; others ignore what the earlier one was.
    pair(old, new)?;
    computation.value(Some(&old.numbers()), &new.numbers())
}

/// Formula and options of one counter, resolved once to format many values.
#[derive(Clone, Copy, Debug)]
pub struct Computation {
    formula: &'static Formula,
    counter_type: CounterType,
    clock: Clock,
    wraps: bool,
    base_wraps: bool,
}

impl Computation {
    /// Resolves the formula of a counter type; `None` if the type has none.
    #[must_use]
    pub fn for_type(counter_type: CounterType) -> Option<Self> {
        let clock = counter_type.decode().clock;
        Some(Self { formula: for_type(counter_type)?, counter_type, clock, wraps: false, base_wraps: false })
    }

    /// Returns a copy in which raw values or bases of 4 bytes can pass zero once between two samples.
    #[must_use]
    pub fn wrapping(self, wraps: bool, base_wraps: bool) -> Self {
        Self { wraps, base_wraps, ..self }
    }

    /// Returns `true` if the formula takes a difference of two samples.
    #[must_use]
    #[inline]
    pub fn needs_two_samples(&self) -> bool {
        !matches!(self.formula.compute, FormulaFn::Newest(_))
    }

    /// Returns the divisor of the formula.
    pub(crate) fn denominator(&self) -> Denominator {
        self.formula.denominator
    }

    /// Computes the value without checks; `None` if there is none. The caller guarantees that both samples belong
    /// together, PerfTime did not decrease, no value passes zero, and the width does not matter.
    /// [`value`](Self::value) returns the same value, or the reason why there is none.
    #[must_use]
    #[doc(hidden)] // for the engine alone: it takes for granted what value() checks
    #[inline]
    pub fn usual(&self, old: Option<&PlainSampleValues<'_>>, new: &PlainSampleValues<'_>) -> Option<f64> {
        match self.formula.compute {
            FormulaFn::Newest(compute) => compute(self.reading(new).ok()?).ok(),
            FormulaFn::Difference(compute) => compute(self.reading(old?).ok()?, self.reading(new).ok()?).ok(),
            FormulaFn::OfItems(compute) => {
                compute(self.reading(old?).ok()?, self.reading(new).ok()?, new.base?).ok()
            }
        }
    }

    /// Computes the value of `new`; `old`, a sample of the same instance, is needed if the type takes a difference.
    ///
    /// # Errors
    /// Same as [`format()`].
    #[inline]
    pub fn value(
        &self,
        old: Option<&SampleValues<'_>>,
        new: &SampleValues<'_>,
    ) -> Result<FormattedValue, NoValue> {
        let raw = match self.formula.compute {
            FormulaFn::Newest(compute) => match (self.counter_type, new.raw) {
                (CounterType::PERF_DOUBLE_RAW, RawValue::U32(_)) => Err(NoValue::NotDisplayable), // half of one
                _ => compute(self.reading(&new.plain())?),
            },
            FormulaFn::Difference(compute) => self.difference(old, new, compute),
            FormulaFn::OfItems(compute) => {
                let items = new.base.map(RawValue::get);
                self.difference(old, new, |old, new| compute(old, new, items.ok_or(NoValue::MissingBase)?))
            }
        };
        Ok(FormattedValue { raw: raw?, counter_type: self.counter_type })
    }

    #[inline]
    fn difference(
        &self,
        old: Option<&SampleValues<'_>>,
        new: &SampleValues<'_>,
        compute: impl FnOnce(Reading, Reading) -> Result<f64, NoValue>,
    ) -> Result<f64, NoValue> {
        let old = old.ok_or(NoValue::NeedsTwoSamples)?;
        let mended;
        // Before the checks, because a wrapped value is smaller than the one before.
        let new = if self.wraps || self.base_wraps {
            mended = self.mended(old, new);
            &mended
        } else {
            new
        };
        // Before the formula: after a restart every count has begun again, even one that seems to have risen.
        if restarted(old.clocks, new.clocks) {
            return Err(NoValue::Restarted { value_fell: new.raw.get() < old.raw.get() });
        }
        let value = compute(self.reading(&old.plain())?, self.reading(&new.plain())?);
        value.map_err(|reason| why_it_fell(old, new, self.clock, reason))
    }

    /// Returns the newer numbers, extended beyond 32 bits if they passed zero.
    fn mended<'n>(&self, old: &SampleValues<'_>, new: &SampleValues<'n>) -> SampleValues<'n> {
        let mut mended = *new;
        // Only if the registration says so: after a reset, any other counter would show a spike.
        if self.wraps {
            mended.raw = unwrapped(old.raw, new.raw);
        }
        if let (true, Some(from), Some(to)) = (self.base_wraps, old.base, new.base) {
            mended.base = Some(unwrapped(from, to));
        }
        mended
    }

    #[inline]
    fn reading(&self, numbers: &PlainSampleValues<'_>) -> Result<Reading, NoValue> {
        let base = || numbers.base.map(i128::from).ok_or(NoValue::MissingBase);
        let (time, freq) = match self.formula.denominator {
            Denominator::None => (0, 0),
            Denominator::Clock | Denominator::ClockAndItems => {
                let (time, freq) = numbers.clocks.read(self.clock).ok_or(NoValue::NotDisplayable)?;
                (i128::from(time), freq)
            }
            Denominator::Base => (base()?, 0),
            Denominator::BaseOfTicks => (base()?, numbers.clocks.perf_freq),
        };
        Ok(Reading { raw: numbers.raw, time, freq })
    }
}

/// Returns the last value: `N1`.
///
/// # Errors
/// None.
pub fn raw_count(new: Reading) -> Result<f64, NoValue> {
    Ok(real(new.raw.into()))
}

/// Returns the last value, an IEEE double: `N1`.
///
/// # Errors
/// [`NoValue::NotDisplayable`] if the value is infinite or not a number.
pub fn raw_double(new: Reading) -> Result<f64, NoValue> {
    let value = f64::from_bits(new.raw);
    if value.is_finite() { Ok(value) } else { Err(NoValue::NotDisplayable) }
}

/// Converts the last value from thousandths: `N1 / 1000`. UNVERIFIED: no document shows a counter of that kind.
///
/// # Errors
/// None.
pub fn raw_thousandths(new: Reading) -> Result<f64, NoValue> {
    Ok(real(new.raw.into()) / 1000.0)
}

/// Returns the increase between two samples: `N1 - N0`.
///
/// # Errors
/// [`NoValue::NegativeValue`] if the value decreased.
pub fn delta(old: Reading, new: Reading) -> Result<f64, NoValue> {
    risen(old, new)
}

/// Computes the mean length of a queue: `(N1 - N0) / (D1 - D0)`.
///
/// Units: N length times time, in the unit of D. Source: `winperf.h`, PERF_COUNTER_QUEUELEN_TYPE.
///
/// # Errors
/// [`NoValue::NegativeValue`] if the value decreased, [`NoValue::NegativeDenominator`] if no time passed.
pub fn queue_length(old: Reading, new: Reading) -> Result<f64, NoValue> {
    Ok(risen(old, new)? / passed(old, new)?)
}

/// Computes events per second: `(N1 - N0) / ((D1 - D0) / F)`.
///
/// Units: N events, D ticks, F ticks a second. Source: MS Learn, "Calculating Counter Values".
///
/// # Errors
/// [`NoValue::NegativeValue`] if the count decreased, [`NoValue::NegativeDenominator`] if no time passed,
/// [`NoValue::NegativeTimebase`] if F is not positive.
pub fn counter_rate(old: Reading, new: Reading) -> Result<f64, NoValue> {
    // The order of these checks decides the reason if several fail: value, divisor, frequency (F-8).
    let events = risen(old, new)?;
    let ticks = passed(old, new)?;
    Ok(events * frequency(new)? / ticks)
}

/// Computes a share of time, in percent: `100 x (N1 - N0) / (D1 - D0)`.
///
/// Units: N and D in the same unit of time.
///
/// # Errors
/// [`NoValue::NegativeValue`] if the value decreased, [`NoValue::NegativeDenominator`] if no time passed.
pub fn timer_share(old: Reading, new: Reading) -> Result<f64, NoValue> {
    Ok(100.0 * risen(old, new)? / passed(old, new)?)
}

/// Computes the share of time that was not idle, in percent: `100 x (1 - (N1 - N0) / (D1 - D0))`. The result can be
/// slightly negative.
///
/// Units: N idle time and D time, in the same unit.
///
/// # Errors
/// Same as [`timer_share`].
pub fn timer_share_inverse(old: Reading, new: Reading) -> Result<f64, NoValue> {
    Ok(100.0 * (1.0 - risen(old, new)? / passed(old, new)?))
}

/// Computes the activity of several items, in percent: `100 x ((N1 - N0) / ((D1 - D0) / F)) / B1`; 0 without items.
/// Not limited to 100.
///
/// Units: N and D ticks, F ticks a second, B items. The formula follows the documents, although with N in ticks the
/// result is F times too large. No counter in any Windows is known to use it.
///
/// # Errors
/// Same as [`counter_rate`].
pub fn multi_timer(old: Reading, new: Reading, items: u64) -> Result<f64, NoValue> {
    // The other checks come first: a value that decreased is an error also without items (F-8).
    let per_second = counter_rate(old, new)?;
    Ok(if items == 0 { 0.0 } else { 100.0 * per_second / real(items.into()) })
}

/// Computes the activity of several items, in percent: `100 x ((N1 - N0) / (D1 - D0)) / B1`; 0 without items. Not
/// limited to 100.
///
/// Units: N and D 100 ns, B items.
///
/// # Errors
/// Same as [`timer_share`].
pub fn multi_timer_100ns(old: Reading, new: Reading, items: u64) -> Result<f64, NoValue> {
    let share = timer_share(old, new)?;
    Ok(if items == 0 { 0.0 } else { share / real(items.into()) })
}

/// Computes the activity of several items from their idle time, in percent: `100 x (B1 - (N1 - N0) / (D1 - D0))`; 0
/// without items. The result can be slightly negative and is not limited to 100.
///
/// Units: N idle time of all items and D time, in the same unit, B items.
///
/// # Errors
/// Same as [`timer_share`].
pub fn multi_timer_inverse(old: Reading, new: Reading, items: u64) -> Result<f64, NoValue> {
    let idle = risen(old, new)? / passed(old, new)?;
    Ok(if items == 0 { 0.0 } else { 100.0 * (real(items.into()) - idle) })
}

/// Computes the share of samples that hit, in percent: `100 x (N1 - N0) / (B1 - B0)`; 0 if nothing was sampled.
///
/// Units: N hits, B samples.
///
/// # Errors
/// [`NoValue::NegativeValue`] if the hits decreased, [`NoValue::NegativeDenominator`] if the samples decreased.
pub fn sample_fraction(old: Reading, new: Reading) -> Result<f64, NoValue> {
    Ok(100.0 * average(old, new)?)
}

/// Computes the amount per operation: `(N1 - N0) / (B1 - B0)`; 0 if there was no operation.
///
/// Units: N amount, B operations.
///
/// # Errors
/// [`NoValue::NegativeValue`] if the amount decreased, [`NoValue::NegativeDenominator`] if the operations decreased.
pub fn average(old: Reading, new: Reading) -> Result<f64, NoValue> {
    let amount = risen(old, new)?;
    let operations = difference(old, new);
    match operations {
        ..0 => Err(NoValue::NegativeDenominator),
        // Nothing happened, so there is nothing to divide by: winperf.h requires this check (F-12).
        0 => Ok(0.0),
        1.. => Ok(amount / real(operations)),
    }
}

/// Computes the seconds per operation: `((N1 - N0) / F) / (B1 - B0)`; 0 if there was no operation.
///
/// Units: N ticks of PerfTime, F ticks a second, B operations.
///
/// # Errors
/// Same as [`average`]; [`NoValue::NegativeTimebase`] if F is not positive.
pub fn average_seconds(old: Reading, new: Reading) -> Result<f64, NoValue> {
    let ticks = average(old, new)?;
    Ok(ticks / frequency(new)?)
}

/// Computes a part of a whole, in percent: `100 x N1 / B1`; 0 if the whole is 0. The result can exceed 100.
///
/// Units: N and B in the same unit.
///
/// # Errors
/// None.
pub fn fraction(new: Reading) -> Result<f64, NoValue> {
    Ok(if new.time == 0 { 0.0 } else { 100.0 * real(new.raw.into()) / real(new.time) })
}

/// Computes the seconds since a start time: `(D1 - N1) / F`; 0 if the start time is 0, which means unknown.
///
/// Units: N and D ticks, F ticks a second. Source: MS Learn, "Calculating Counter Values", `PERF_ELAPSED_TIME`.
///
/// # Errors
/// [`NoValue::NegativeTimebase`] if F is not positive, [`NoValue::BeginsLater`] if the start time is in the future.
pub fn elapsed_seconds(new: Reading) -> Result<f64, NoValue> {
    let ticks_a_second = frequency(new)?;
    let elapsed = new.time.saturating_sub(new.raw.into());
    match (new.raw, elapsed) {
        // A start of 0 is the year 1601: without this line an unknown start is an age of centuries (F-14).
        (0, _) => Ok(0.0),
        (_, ..0) => Err(NoValue::BeginsLater),
        (_, elapsed) => Ok(real(elapsed) / ticks_a_second),
    }
}

fn risen(old: Reading, new: Reading) -> Result<f64, NoValue> {
    // Unsigned: a value above 2^63 is large, not negative. Microsoft's sample and .NET overflow there (F-19).
    match new.raw.checked_sub(old.raw) {
        Some(rise) => Ok(real(rise.into())),
        None => Err(NoValue::NegativeValue { from: old.raw, to: new.raw }),
    }
}

fn passed(old: Reading, new: Reading) -> Result<f64, NoValue> {
    match difference(old, new) {
        // No time is no infinite rate, which Microsoft's sample prints (F-11).
        ..=0 => Err(NoValue::NegativeDenominator),
        ticks => Ok(real(ticks)),
    }
}

fn difference(old: Reading, new: Reading) -> i128 {
    // 128 bits, because bases are unsigned 64-bit numbers and clocks are signed ones.
    new.time.saturating_sub(old.time)
}

fn frequency(new: Reading) -> Result<f64, NoValue> {
    if new.freq <= 0 { Err(NoValue::NegativeTimebase) } else { Ok(real(new.freq.into())) }
}

#[expect(clippy::as_conversions, reason = "rounding to the nearest double is what is wanted")]
#[inline]
fn real(n: i128) -> f64 {
    match i64::try_from(n) {
        Ok(n) => n as f64, // nearly always, and then it is one instruction and not a call
        Err(_) => real_of_large(n),
    }
}

#[expect(clippy::as_conversions, reason = "rounding to the nearest double is what is wanted")]
#[cold]
#[inline(never)]
fn real_of_large(n: i128) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        let s = |raw, time| Reading { raw, time, freq: 10 };
        let cases = [
            ("ten events in two seconds", s(5, 0), s(15, 20), Ok(5.0)),
            ("provider restarted", s(15, 0), s(5, 20), Err(NoValue::NegativeValue { from: 15, to: 5 })),
            ("same sample twice", s(5, 20), s(5, 20), Err(NoValue::NegativeDenominator)),
            ("time went back", s(5, 20), s(6, 19), Err(NoValue::NegativeDenominator)),
        ];
        for (name, old, new, want) in cases {
            assert_eq!(counter_rate(old, new), want, "{name}");
        }
    }

    #[test]
    fn types_without_a_name_are_computed_by_their_bits() {
        for (bits, want) in [
            (0x20C2_0500, Some("100 x dN / dB")),       // a sample fraction of 8 bytes
            (0x2161_0500, Some("100 x (1 - dN / dD)")), // idle object time
            (0x1061_0500, Some("dN / (dD / F)")),       // events per second of object time
            (0x3041_0500, Some("dN / (dD / F)")),       // a rate with another suffix
            (0x1041_0700, Some("dN / (dD / F)")),       // a rate whose width only the block knows
            (0x3002_0500, Some("(dN / F) / dB")),       // an average timer whose bits say 8 bytes
            (0x4002_0400, Some("dN / dB")),             // an average of 4 bytes
            (0x0002_0000, Some("N1 / 1000")),           // PERF_NUMBER_DEC_1000
            (0x0000_0500, Some("N1")),                  // PERF_COUNTER_VALUE
            (0x1001_0100, Some("N1")),                  // a number with a suffix
            (0x2261_0500, None),                        // multi timers have a formula for each clock
            (0x0002_0400, None),                        // a fraction that says not of what
            (0x2051_2500, None),                        // a bit that nothing defines
            (0x0046_0500, None),                        // a histogram
            (0x4003_0503, None),                        // a base
            (0x0000_0C00, None),                        // PERF_TYPE_ZERO
            (0x8041_0500, None),
        ] {
            assert_eq!(for_type(CounterType(bits)).map(|formula| formula.text), want, "{bits:#010x}");
        }
    }

    #[test]
    fn bits_say_what_the_formula_takes() {
        for (counter_type, name) in CounterType::ALL {
            let Some(formula) = for_type(*counter_type) else { continue };
            let two = !matches!(formula.compute, FormulaFn::Newest(_));
            assert_eq!(counter_type.needs_two_samples(), two, "{name}");
            let base = !matches!(formula.denominator, Denominator::None | Denominator::Clock);
            assert_eq!(counter_type.needs_base(), base, "{name}");
        }
    }

    #[test]
    fn doubles_that_are_no_numbers_have_no_value() {
        let reading = |value: f64| Reading { raw: value.to_bits(), time: 0, freq: 0 };
        assert_eq!(raw_double(reading(-1.5)), Ok(-1.5));
        assert_eq!(raw_double(reading(f64::NAN)), Err(NoValue::NotDisplayable));
        assert_eq!(raw_double(reading(f64::INFINITY)), Err(NoValue::NotDisplayable));
    }

    #[test]
    fn vectors() {
        let csv = include_str!("../../../testdata/formulas/counter-type-vectors.csv");
        let report = crate::vectors::check(csv).unwrap();
        assert_eq!(report.mismatches, Vec::<String>::new());
        assert_eq!(report.checked, 243);
    }
}
