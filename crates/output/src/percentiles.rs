//! Percentiles of a series in bounded memory.

use std::collections::BTreeMap;

/// Number of values of a series that are stored exactly. Percentiles of longer series are estimates.
pub(crate) const EXACT: usize = 4_096;

/// Ratio of the bounds of a class of values: the middle of a class differs by half a percent from its bounds.
const RATIO: f64 = 1.01;

/// Values of a series, from which percentiles are computed.
#[derive(Clone, Debug)]
pub(crate) enum Percentiles {
    /// All values of the series, in order of appearance.
    Exact(Vec<f64>),
    /// Number of the series' values in each class of similar values. Memory grows with the orders of magnitude of the
    /// values, not with their number.
    Classes(BTreeMap<ValueClass, u64>),
}

/// Class of values of about the same size; the order of classes is that of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ValueClass {
    Negative(std::cmp::Reverse<i32>),
    Zero,
    Positive(i32),
}

impl Default for Percentiles {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

impl ValueClass {
    fn new(value: f64) -> Self {
        // Infinity is greater than the logarithm of any number, and NaN has none.
        let exponent = |size: f64| -> i32 {
            let exponent = (size.ln() / RATIO.ln()).ceil();
            #[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it saturates")]
            let exponent = exponent as i32;
            exponent
        };
        if value > 0.0 {
            Self::Positive(exponent(value))
        } else if value < 0.0 {
            Self::Negative(std::cmp::Reverse(exponent(-value)))
        } else {
            Self::Zero
        }
    }

    /// Returns the value in the middle of the class of values.
    fn middle(self) -> f64 {
        let size = |exponent: i32| RATIO.powf(f64::from(exponent) - 0.5);
        match self {
            Self::Negative(std::cmp::Reverse(exponent)) => -size(exponent),
            Self::Zero => 0.0,
            Self::Positive(exponent) => size(exponent),
        }
    }
}

impl Percentiles {
    /// Adds a value to the series. NaN has no place among other numbers and is ignored.
    pub fn add(&mut self, value: f64) {
        if value.is_nan() {
            return;
        }
        match self {
            Self::Exact(values) if values.len() < EXACT => values.push(value),
            Self::Exact(values) => {
                let mut classes = BTreeMap::new();
                for value in values.iter().chain([&value]) {
                    count(&mut classes, *value);
                }
                *self = Self::Classes(classes);
            }
            Self::Classes(classes) => count(classes, value),
        }
    }

    /// Returns `true` if the percentiles are values of the series, not estimates.
    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    /// Returns a percentile: the smallest value that at least `percent` percent of the values do not exceed; `None`
    /// without values.
    pub fn get(&self, percent: u64) -> Option<f64> {
        match self {
            Self::Exact(values) => {
                let mut sorted = values.clone();
                sorted.sort_by(f64::total_cmp);
                let len = u64::try_from(sorted.len()).unwrap_or(u64::MAX);
                let at = usize::try_from(rank(len, percent)?.saturating_sub(1)).ok()?;
                sorted.get(at).copied()
            }
            Self::Classes(classes) => {
                let len = classes.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
                let mut left = rank(len, percent)?;
                let found = classes.iter().find(|(_, count)| {
                    let is_here = left <= **count;
                    left = left.saturating_sub(**count);
                    is_here
                });
                found.map(|(class, _)| class.middle())
            }
        }
    }
}

/// Returns the rank of a percentile among `len` values, from 1; `None` without values.
fn rank(len: u64, percent: u64) -> Option<u64> {
    let rank = u128::from(len).saturating_mul(u128::from(percent)).div_ceil(100).max(1);
    (len > 0).then(|| u64::try_from(rank).unwrap_or(u64::MAX))
}

fn count(classes: &mut BTreeMap<ValueClass, u64>, value: f64) {
    let of = classes.entry(ValueClass::new(value)).or_default();
    *of = of.saturating_add(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = f64>) -> Percentiles {
        let mut all = Percentiles::default();
        values.into_iter().for_each(|value| all.add(value));
        all
    }

    #[test]
    fn percentiles_of_few_values_are_values() {
        assert_eq!(of([]).get(50), None);
        assert_eq!(of([7.0]).get(95), Some(7.0));
        assert_eq!(of([3.0, 1.0]).get(50), Some(1.0));
        assert_eq!(of([3.0, 1.0, 2.0]).get(50), Some(2.0));
        let hundred = of((1..=100).rev().map(f64::from));
        assert_eq!((hundred.get(50), hundred.get(95)), (Some(50.0), Some(95.0)));
        assert_eq!((hundred.get(0), hundred.get(100)), (Some(1.0), Some(100.0)));
        assert_eq!(of([f64::NAN, 2.0]).get(50), Some(2.0));
    }

    #[test]
    fn estimates_differ_by_half_a_percent() {
        let many = of((0..100_000).map(|n| f64::from(n) - 20_000.0));
        assert!(!many.is_exact());
        for (percent, want) in [(1, -19_001.0), (10, -10_001.0), (50, 29_999.0), (95, 74_999.0)] {
            let is = many.get(percent).unwrap();
            assert!((is / want - 1.0_f64).abs() < 0.005_1, "{percent}: {is}, not {want}");
        }
        assert_eq!(of((0..9_000).map(|_| 0.0)).get(50), Some(0.0));
        let Percentiles::Classes(classes) = many else { panic!("exact") };
        assert!(classes.len() < 3_000, "{}", classes.len());
    }

    #[test]
    fn extreme_values_have_classes() {
        let all = [f64::MIN, -5e-324, 0.0, 5e-324, f64::MAX, f64::INFINITY, f64::NEG_INFINITY];
        let many = of(all.into_iter().cycle().take(7 * 1_000));
        assert!(!many.is_exact());
        for percent in 0..=100 {
            assert!(!many.get(percent).unwrap().is_nan());
        }
        assert_eq!(many.get(50), Some(0.0));
    }
}
