//! Formulas: raw values in, numbers for people out. Pure: the caller passes both samples.
//!
//! [`format()`] finds the [`Formula`] of a counter type in [`FORMULAS`], checks in the fixed order, and computes. A
//! new counter type is a new row there.
//!
//! Source: MS Learn, "Calculating Counter Values" and "Retrieving Counter Data"; the comments of `winperf.h`. Where
//! those are silent or disagree, the order of checks and the edge rules are this project's and stand in the vectors
//! of `testdata/formulas`.

use crate::counter_type::CounterType;
use crate::sample::{Pair, Sample, pair};
use crate::value::{FormattedValue, NoValue, RawValue};

/// What a formula takes from one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The raw value, N.
    pub raw: u64,
    /// What it is divided by: ticks of a clock, or the value of the base.
    pub time: i128,
    /// Ticks a second of that clock, F.
    pub freq: i64,
}

/// How the types of one row become numbers.
#[derive(Clone, Copy, Debug)]
pub struct Formula {
    /// The types computed so.
    pub types: &'static [CounterType],
    /// The formula as people write it: N raw value, B base, D clock, F ticks a second, d difference.
    pub text: &'static str,
    denominator: Denominator,
    compute: Compute,
}

#[derive(Clone, Copy, Debug)]
enum Denominator {
    /// None: a count.
    None,
    /// The clock that the type names.
    Clock,
    /// The base.
    Base,
    /// The base, with PerfTime's frequency: the value is in ticks of PerfTime.
    BaseOfTicks,
}

#[derive(Clone, Copy, Debug)]
enum Compute {
    Newest(fn(Reading) -> Result<f64, NoValue>),
    Difference(fn(Reading, Reading) -> Result<f64, NoValue>),
}

/// Every type that has a formula.
pub const FORMULAS: &[Formula] = &[
    Formula {
        types: &[
            CounterType::PERF_COUNTER_RAWCOUNT,
            CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
            CounterType::PERF_COUNTER_RAWCOUNT_HEX,
            CounterType::PERF_COUNTER_LARGE_RAWCOUNT_HEX,
        ],
        text: "N1",
        denominator: Denominator::None,
        compute: Compute::Newest(raw_count),
    },
    Formula {
        types: &[
            CounterType::PERF_COUNTER_COUNTER,
            CounterType::PERF_COUNTER_BULK_COUNT,
            CounterType::PERF_SAMPLE_COUNTER,
        ],
        text: "dN / (dD / F)",
        denominator: Denominator::Clock,
        compute: Compute::Difference(counter_rate),
    },
    Formula {
        types: &[
            CounterType::PERF_COUNTER_TIMER,
            CounterType::PERF_100NSEC_TIMER,
            CounterType::PERF_OBJ_TIME_TIMER,
        ],
        text: "100 x dN / dD",
        denominator: Denominator::Clock,
        compute: Compute::Difference(timer_share),
    },
    Formula {
        types: &[CounterType::PERF_COUNTER_TIMER_INV, CounterType::PERF_100NSEC_TIMER_INV],
        text: "100 x (1 - dN / dD)",
        denominator: Denominator::Clock,
        compute: Compute::Difference(timer_share_inverse),
    },
    Formula {
        types: &[
            CounterType::PERF_PRECISION_SYSTEM_TIMER,
            CounterType::PERF_PRECISION_100NS_TIMER,
            CounterType::PERF_PRECISION_OBJECT_TIMER,
        ],
        text: "100 x dN / dB",
        denominator: Denominator::Base,
        compute: Compute::Difference(timer_share),
    },
    Formula {
        types: &[CounterType::PERF_AVERAGE_BULK],
        text: "dN / dB",
        denominator: Denominator::Base,
        compute: Compute::Difference(average),
    },
    Formula {
        types: &[CounterType::PERF_AVERAGE_TIMER],
        text: "(dN / F) / dB",
        denominator: Denominator::BaseOfTicks,
        compute: Compute::Difference(average_seconds),
    },
    Formula {
        types: &[CounterType::PERF_RAW_FRACTION, CounterType::PERF_LARGE_RAW_FRACTION],
        text: "100 x N1 / B1",
        denominator: Denominator::Base,
        compute: Compute::Newest(fraction),
    },
    Formula {
        types: &[CounterType::PERF_ELAPSED_TIME],
        text: "(D1 - N1) / F",
        denominator: Denominator::Clock,
        compute: Compute::Newest(elapsed_seconds),
    },
];

/// The formula of a counter type.
#[must_use]
pub fn of(counter_type: CounterType) -> Option<&'static Formula> {
    FORMULAS.iter().find(|formula| formula.types.contains(&counter_type))
}

/// The value of `new`, with the help of `old` where the type takes a difference.
///
/// # Errors
/// The first of these, in this order: not displayable, needs two samples (or they do not belong together), missing
/// base, negative value, negative denominator, negative time base.
pub fn format<'a>(old: Option<&Sample<'a>>, new: &Sample<'a>) -> Result<FormattedValue, NoValue> {
    let formula = of(new.counter_type).ok_or(NoValue::NotDisplayable)?;
    let raw = match formula.compute {
        Compute::Newest(compute) => compute(formula.denominator.reading(new)?)?,
        Compute::Difference(compute) => {
            let Pair { old, new } = pair(old.ok_or(NoValue::NeedsTwoSamples)?, new)?;
            compute(formula.denominator.reading(&old)?, formula.denominator.reading(&new)?)?
        }
    };
    Ok(FormattedValue { raw, counter_type: new.counter_type })
}

impl Denominator {
    fn reading(self, sample: &Sample<'_>) -> Result<Reading, NoValue> {
        let base = || sample.base.map(RawValue::get).map(i128::from).ok_or(NoValue::MissingBase);
        let (time, freq) = match self {
            Self::None => (0, 0),
            Self::Clock => {
                let clock = sample.counter_type.decode().clock;
                let (time, freq) = sample.clocks.read(clock).ok_or(NoValue::NotDisplayable)?;
                (i128::from(time), freq)
            }
            Self::Base => (base()?, 0),
            Self::BaseOfTicks => (base()?, sample.clocks.perf_freq),
        };
        Ok(Reading { raw: sample.raw.get(), time, freq })
    }
}

/// The last value: `N1`.
///
/// # Errors
/// None.
pub fn raw_count(new: Reading) -> Result<f64, NoValue> {
    Ok(real(new.raw.into()))
}

/// Events per second: `(N1 - N0) / ((D1 - D0) / F)`.
///
/// Units: N events, D ticks, F ticks a second. Source: MS Learn, "Calculating Counter Values".
///
/// # Errors
/// [`NoValue::NegativeValue`] if the count fell, [`NoValue::NegativeDenominator`] if no time passed,
/// [`NoValue::NegativeTimebase`] if F is not positive.
pub fn counter_rate(old: Reading, new: Reading) -> Result<f64, NoValue> {
    let events = risen(old, new)?;
    let ticks = passed(old, new)?;
    Ok(events * frequency(new)? / ticks)
}

/// Share of time, in percent: `100 x (N1 - N0) / (D1 - D0)`.
///
/// Units: N and D in the same unit of time.
///
/// # Errors
/// [`NoValue::NegativeValue`] if the value fell, [`NoValue::NegativeDenominator`] if no time passed.
pub fn timer_share(old: Reading, new: Reading) -> Result<f64, NoValue> {
    Ok(100.0 * risen(old, new)? / passed(old, new)?)
}

/// Share of time that was not idle, in percent: `100 x (1 - (N1 - N0) / (D1 - D0))`. May be a little below 0.
///
/// Units: N idle time and D time, in the same unit.
///
/// # Errors
/// As [`timer_share`].
pub fn timer_share_inverse(old: Reading, new: Reading) -> Result<f64, NoValue> {
    Ok(100.0 * (1.0 - risen(old, new)? / passed(old, new)?))
}

/// Amount per operation: `(N1 - N0) / (B1 - B0)`; 0 if there was no operation.
///
/// Units: N amount, B operations.
///
/// # Errors
/// [`NoValue::NegativeValue`] if the amount fell, [`NoValue::NegativeDenominator`] if the operations fell.
pub fn average(old: Reading, new: Reading) -> Result<f64, NoValue> {
    let amount = risen(old, new)?;
    let operations = difference(old, new);
    match operations {
        ..0 => Err(NoValue::NegativeDenominator),
        0 => Ok(0.0),
        1.. => Ok(amount / real(operations)),
    }
}

/// Seconds per operation: `((N1 - N0) / F) / (B1 - B0)`; 0 if there was no operation.
///
/// Units: N ticks of PerfTime, F ticks a second, B operations.
///
/// # Errors
/// As [`average`]; [`NoValue::NegativeTimebase`] if F is not positive.
pub fn average_seconds(old: Reading, new: Reading) -> Result<f64, NoValue> {
    let ticks = average(old, new)?;
    Ok(ticks / frequency(new)?)
}

/// A part of a whole, in percent: `100 x N1 / B1`; 0 if there is no whole. May be above 100.
///
/// Units: N and B in the same unit.
///
/// # Errors
/// None.
pub fn fraction(new: Reading) -> Result<f64, NoValue> {
    Ok(if new.time == 0 { 0.0 } else { 100.0 * real(new.raw.into()) / real(new.time) })
}

/// Seconds since something began: `(D1 - N1) / F`; 0 if the beginning is 0, which means unknown.
///
/// Units: N and D ticks, F ticks a second. Source: MS Learn, "Calculating Counter Values", `PERF_ELAPSED_TIME`.
///
/// # Errors
/// [`NoValue::NegativeTimebase`] if F is not positive, [`NoValue::NegativeValue`] if it has not begun yet.
pub fn elapsed_seconds(new: Reading) -> Result<f64, NoValue> {
    let ticks_a_second = frequency(new)?;
    let elapsed = new.time.saturating_sub(new.raw.into());
    match (new.raw, elapsed) {
        (0, _) => Ok(0.0),
        (from, ..0) => Err(NoValue::NegativeValue { from, to: u64::try_from(new.time).unwrap_or(0) }),
        (_, elapsed) => Ok(real(elapsed) / ticks_a_second),
    }
}

fn risen(old: Reading, new: Reading) -> Result<f64, NoValue> {
    match new.raw.checked_sub(old.raw) {
        Some(rise) => Ok(real(rise.into())),
        None => Err(NoValue::NegativeValue { from: old.raw, to: new.raw }),
    }
}

fn passed(old: Reading, new: Reading) -> Result<f64, NoValue> {
    match difference(old, new) {
        ..=0 => Err(NoValue::NegativeDenominator),
        ticks => Ok(real(ticks)),
    }
}

fn difference(old: Reading, new: Reading) -> i128 {
    new.time.saturating_sub(old.time)
}

fn frequency(new: Reading) -> Result<f64, NoValue> {
    if new.freq <= 0 { Err(NoValue::NegativeTimebase) } else { Ok(real(new.freq.into())) }
}

#[expect(clippy::as_conversions, reason = "rounding to the nearest double is what is wanted")]
fn real(n: i128) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counterset::CounterId;
    use crate::guid::Guid;
    use crate::instance::{Identity, InstanceId};
    use crate::sample::Clocks;
    use crate::utf16::Name;

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

    /// Every vector whose type has a row in [`FORMULAS`]; how many that are is checked too.
    #[test]
    fn vectors() {
        let csv = include_str!("../../../testdata/formulas/counter-type-vectors.csv");
        let mut lines = csv.lines();
        let heads: Vec<_> = lines.next().unwrap().split(',').collect();
        let mut checked = 0;
        for line in lines {
            let cells: Vec<_> = line.split(',').collect();
            let cell = |name: &str| cells[heads.iter().position(|h| *h == name).unwrap()];
            let number = |name: &str| cell(name).parse::<i64>().unwrap();
            let id = cell("id");
            let counter_type = CounterType::from_name(cell("type_name")).unwrap();
            if of(counter_type).is_none() && !counter_type.is_base() {
                continue;
            }
            checked += 1;
            let four_byte_base = !["PRECISION", "LARGE"].iter().any(|part| cell("type_name").contains(part));
            let sample = |n: &str| Sample {
                identity: Identity {
                    counterset: Guid::NIL,
                    instance: Name::default(),
                    instance_id: InstanceId(0),
                    birth: None,
                },
                counter: CounterId(0),
                counter_type,
                raw: stored(cell(&format!("n{n}")), cell("n_size") == "4").unwrap(),
                base: stored(cell(&format!("b{n}")), four_byte_base),
                wraps: cell("wrap32") == "1",
                base_wraps: cell("wrap32") == "1",
                clocks: Clocks {
                    perf_time: number(&format!("perf_time{n}")),
                    perf_freq: number("perf_freq"),
                    time_100ns: number(&format!("time100ns{n}")),
                    object_time: number(&format!("obj_time{n}")),
                    object_freq: number("obj_freq"),
                },
            };
            let old = (cell("samples") == "2").then(|| sample("0"));
            let new = sample("1");
            match format(old.as_ref(), &new) {
                Ok(value) => {
                    assert_eq!(cell("status"), "ok", "{id}: got {value:?}");
                    close(value.raw, cell("value_raw"), id);
                    close(value.nocap(), cell("value_nocap"), id);
                    close(value.capped(), cell("value_default"), id);
                }
                Err(reason) => assert_eq!(reason.keyword(), cell("status"), "{id}"),
            }
        }
        assert_eq!(checked, 162, "vectors of the types that have a formula");
    }

    fn stored(cell: &str, four: bool) -> Option<RawValue> {
        let value: u64 = (!cell.is_empty()).then(|| cell.parse().unwrap())?;
        Some(if four { RawValue::U32(u32::try_from(value).unwrap()) } else { RawValue::U64(value) })
    }

    fn close(got: f64, want: &str, id: &str) {
        let want: f64 = want.parse().unwrap();
        assert!((got - want).abs() <= want.abs() * 1e-12, "{id}: got {got}, want {want}");
    }
}
