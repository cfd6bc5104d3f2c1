//! Numbers of one kind as another, where no digit that a picture shows can be lost.

/// A whole number as a double: times and counts of a picture need no more digits than that has.
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "rounding to the nearest double is wanted"
)]
pub fn real(whole: i64) -> f64 {
    whole as f64
}

/// A count as a double.
pub fn real_count(count: usize) -> f64 {
    real(i64::try_from(count).unwrap_or(i64::MAX))
}

/// A double as a whole number, towards zero; what is too large is the largest, NaN is 0.
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "it saturates, which is what is wanted"
)]
pub fn whole(number: f64) -> i64 {
    number as i64
}
