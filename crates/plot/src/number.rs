//! Conversions between number types that lose no digit which a picture shows.

/// Converts a whole number to a double. Times and counts of a picture need no more digits than a double has.
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "rounding to the nearest double is wanted"
)]
pub fn real(whole: i64) -> f64 {
    whole as f64
}

/// Converts the count of some items to a double.
pub fn real_count(count: usize) -> f64 {
    real(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Converts a double to a whole number, rounded towards zero; too large values saturate and NaN becomes 0.
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "it saturates, which is what is wanted"
)]
pub fn whole(number: f64) -> i64 {
    number as i64
}
