//! Functions of the formulas: from the operands of one or two samples to a number.

use crate::value::NoValue;

/// Operands that a formula takes from one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Raw value of the counter: N in the formulas.
    pub raw: u64,
    /// Divisor of a formula: ticks of a clock, or the value of the base.
    pub time: i128,
    /// Ticks per second of the clock that divides: F in the formulas.
    pub freq: i64,
}

/// Returns the raw value of the newer sample: `N1`.
///
/// # Errors
/// None.
pub fn raw_count(new: Reading) -> Result<f64, NoValue> {
    Ok(real(new.raw.into()))
}

/// Returns the raw value of the newer sample, an IEEE double: `N1`.
///
/// # Errors
/// [`NoValue::NotDisplayable`] if the value is infinite or not a number.
pub fn raw_double(new: Reading) -> Result<f64, NoValue> {
    let value = f64::from_bits(new.raw);
    if value.is_finite() { Ok(value) } else { Err(NoValue::NotDisplayable) }
}

/// Converts the raw value of the newer sample from thousandths: `N1 / 1000`. UNVERIFIED: no document shows a counter of
/// that kind.
///
/// # Errors
/// None.
pub fn raw_thousandths(new: Reading) -> Result<f64, NoValue> {
    Ok(real(new.raw.into()) / 1000.0)
}

/// Returns the increase of a raw value between two samples: `N1 - N0`.
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
