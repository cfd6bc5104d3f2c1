//! Formulas of counter types, which convert raw values to formatted values. Pure: the caller passes both samples.
//!
//! [`format()`] finds the [`Formula`] of a counter type in [`FORMULAS`], checks in a fixed order, and computes the
//! value. A new counter type is a new row of that table. A type that no row lists uses the row with the same bits,
//! except for width and clock; if no such row exists, the type has no formula.
//!
//! Source: MS Learn, "Calculating Counter Values" and "Retrieving Counter Data"; the comments of `winperf.h`. Where
//! these are silent or disagree, this project defines the order of checks and the edge cases: see the vectors of
//! `testdata/formulas`.

use crate::counter_type::{Clock, CounterType, Size};
use crate::sample::{
    Clocks, PlainSampleValues, Sample, SampleValues, pair, restarted, unwrapped, why_it_fell,
};
use crate::value::{FormattedValue, NoValue, RawValue};

mod functions;

pub use functions::{
    Reading, average, average_seconds, counter_rate, delta, elapsed_seconds, fraction, multi_timer,
    multi_timer_100ns, multi_timer_inverse, queue_length, raw_count, raw_double, raw_thousandths,
    sample_fraction, timer_share, timer_share_inverse,
};

/// Formula of several counter types, as a text and as a function.
#[derive(Clone, Copy, Debug)]
pub struct Formula {
    /// Counter types with this formula.
    pub types: &'static [CounterType],
    /// Formula in usual notation: N raw value, B base, D clock, F ticks a second, d difference.
    pub text: &'static str,
    /// Divisor that the formula takes.
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
    /// No divisor: the formatted value is a count.
    None,
    /// Clock of the counter type as the divisor of a formula.
    Clock,
    /// Base of the counter as the divisor of a formula.
    Base,
    /// Base of a value in PerfTime ticks as the divisor; the formula also needs the frequency of PerfTime.
    BaseOfTicks,
    /// Clock of the counter type as the divisor; the base is a number of items.
    ClockAndItems,
}

#[derive(Clone, Copy, Debug)]
enum FormulaFn {
    Newest(fn(Reading) -> Result<f64, NoValue>),
    Difference(fn(Reading, Reading) -> Result<f64, NoValue>),
    /// Formula function of two samples and a number of items, which is taken from the newer sample.
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

/// Computes the formatted value of the sample `new`; the older sample `old` is needed if the formula takes a
/// difference.
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

    /// Returns a copy of the computation for a counter whose raw values or bases of 4 bytes can pass zero once
    /// between two samples.
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

    /// Returns the divisor of the counter's formula.
    pub(crate) fn denominator(&self) -> Denominator {
        self.formula.denominator
    }

    /// Combines the formula with the clocks of two samples, once for all instances; `None` if the formula cannot use
    /// those clocks.
    #[must_use]
    #[doc(hidden)] // for the engine alone: its values are not checked
    pub fn at(&self, old: &Clocks, new: &Clocks) -> Option<ClockedComputation> {
        let reading = |clocks| self.reading(&PlainSampleValues { raw: 0, base: Some(0), clocks }).ok();
        Some(ClockedComputation {
            compute: self.formula.compute,
            divides_by_base: matches!(self.denominator(), Denominator::Base | Denominator::BaseOfTicks),
            own_clock: match (self.denominator(), self.clock) {
                (Denominator::Clock | Denominator::ClockAndItems, Clock::Time100Ns) => OwnClockUse::Ticks,
                (Denominator::Clock | Denominator::ClockAndItems, _) => OwnClockUse::TicksAndFrequency,
                (Denominator::BaseOfTicks, Clock::PerfTime) => OwnClockUse::Frequency,
                _ => OwnClockUse::Unused,
            },
            old: reading(old)?,
            new: reading(new)?,
        })
    }

    /// Returns `true` if the counter type uses PerfTime, which a clock of the counter itself can replace.
    #[must_use]
    #[doc(hidden)] // for the engine alone
    pub fn uses_perf_time(&self) -> bool {
        self.clock == Clock::PerfTime
    }

    /// Computes the formatted value of `new`; `old`, an older sample of the same instance, is needed if the formula
    /// takes a difference.
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

    /// Returns the raw value and base of the newer sample, extended beyond 32 bits if they wrapped around to zero.
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

/// Formula of one counter with the clocks of two samples: the operands that are the same for all instances.
///
/// The caller guarantees that both samples belong together, PerfTime did not decrease, no value passes zero, and the
/// width does not matter. [`Computation::value`] returns the same values, or the reason why there is none.
#[doc(hidden)] // for the engine alone: it takes for granted what value() checks
#[derive(Clone, Copy, Debug)]
pub struct ClockedComputation {
    compute: FormulaFn,
    divides_by_base: bool,
    own_clock: OwnClockUse,
    /// Formula operands of the older sample that are equal for all instances; `new` has the operands of the newer
    /// sample.
    old: Reading,
    new: Reading,
}

/// Operands of a formula that the counter's own clock replaces: the ticks, the frequency, both or none.
#[derive(Clone, Copy, Debug)]
enum OwnClockUse {
    Unused,
    Ticks,
    Frequency,
    TicksAndFrequency,
}

/// Raw value and base of one sample.
type RawAndBase = (u64, Option<u64>);

impl ClockedComputation {
    /// Computes the formatted value from the raw values and bases of two samples of one instance; `None` if there is no
    /// value.
    #[must_use]
    #[inline]
    pub fn value(&self, old: Option<RawAndBase>, new: RawAndBase) -> Option<f64> {
        self.value_of([self.old, self.new], old, new)
    }

    /// Computes the formatted value of a counter with a clock of its own, like [`value`](Self::value). Takes the
    /// clock's ticks in both samples, and its ticks per second.
    ///
    /// The caller guarantees that PerfTime did not decrease, with this clock in its place.
    #[must_use]
    #[inline]
    pub fn value_by_own_clock(
        &self,
        [then, now]: [(i64, i64); 2],
        old: Option<RawAndBase>,
        new: RawAndBase,
    ) -> Option<f64> {
        let by = |reading: Reading, (ticks, freq): (i64, i64)| match self.own_clock {
            OwnClockUse::Unused => reading,
            OwnClockUse::Ticks => Reading { time: ticks.into(), ..reading },
            OwnClockUse::Frequency => Reading { freq, ..reading },
            OwnClockUse::TicksAndFrequency => Reading { time: ticks.into(), freq, ..reading },
        };
        self.value_of([by(self.old, then), by(self.new, now)], old, new)
    }

    #[inline]
    fn value_of(&self, [then, now]: [Reading; 2], old: Option<RawAndBase>, new: RawAndBase) -> Option<f64> {
        match self.compute {
            FormulaFn::Newest(compute) => compute(self.with(now, new)?).ok(),
            FormulaFn::Difference(compute) => compute(self.with(then, old?)?, self.with(now, new)?).ok(),
            FormulaFn::OfItems(compute) => compute(self.with(then, old?)?, self.with(now, new)?, new.1?).ok(),
        }
    }

    #[inline]
    fn with(&self, reading: Reading, (raw, base): RawAndBase) -> Option<Reading> {
        let time = if self.divides_by_base { base?.into() } else { reading.time };
        Some(Reading { raw, time, ..reading })
    }
}

#[cfg(test)]
mod tests;
