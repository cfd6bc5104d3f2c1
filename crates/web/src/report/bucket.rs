//! Values of a line in one row of a report: one value, or the summary of several samples.

/// Summary of the values of a line in one row of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowBucket {
    /// Least value of the row's samples.
    pub least: f64,
    /// Greatest value of the row's samples.
    pub greatest: f64,
    /// Mean of the row's values, each counted once.
    pub mean: f64,
    /// Last value of the row's samples.
    pub last: f64,
    /// Number of values in the row; if it is 0, the other fields have no meaning.
    pub count: u32,
    /// Reason of the row's last missing value, as a number of [`Keywords`].
    pub reason: u8,
    /// Mark of the row's last marked value, as a number of [`Keywords`].
    pub mark: u8,
}

impl RowBucket {
    /// Summary of a row that has no value.
    pub const EMPTY: Self =
        Self { least: 0.0, greatest: 0.0, mean: 0.0, last: 0.0, count: 0, reason: 0, mark: 0 };

    /// Adds a later value to the row.
    pub fn add(&mut self, value: f64) {
        self.count = self.count.saturating_add(1);
        if self.count == 1 {
            (self.least, self.greatest, self.mean, self.last) = (value, value, value, value);
            return;
        }
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
        self.last = value;
        // The mean is updated without a sum, which might be too large for a double.
        self.mean += (value - self.mean) / f64::from(self.count);
    }

    /// Returns `true` if the row of the line has a value.
    pub fn has_value(&self) -> bool {
        self.count > 0
    }
}

/// Keywords of reasons and marks in a report, each with a small number; 0 is none.
#[derive(Clone, Debug, Default)]
pub struct Keywords(Vec<&'static str>);

impl Keywords {
    /// Returns the number of a reason's or mark's keyword, which is added if it is new.
    pub fn number(&mut self, keyword: &'static str) -> u8 {
        let at = self.0.iter().position(|known| *known == keyword).unwrap_or_else(|| {
            self.0.push(keyword);
            self.0.len().saturating_sub(1)
        });
        // There are about 25 of them.
        u8::try_from(at.saturating_add(1)).unwrap_or(u8::MAX)
    }

    /// Returns the keyword of a reason or mark by its number.
    pub fn get(&self, number: u8) -> Option<&'static str> {
        self.0.get(usize::from(number).checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the summary of a row's values by a slow and simple calculation: least, greatest, mean, last.
    fn simple(values: &[f64]) -> (f64, f64, f64, f64) {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (sorted[0], sorted[sorted.len() - 1], mean, values[values.len() - 1])
    }

    #[test]
    fn buckets_agree_with_a_simple_calculation() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / 1e4 - 500.0
        };
        for len in [1, 2, 3, 10, 1_000] {
            let values: Vec<f64> = (0..len).map(|_| random()).collect();
            let mut bucket = RowBucket::EMPTY;
            values.iter().for_each(|value| bucket.add(*value));
            let (least, greatest, mean, last) = simple(&values);
            assert_eq!((bucket.least, bucket.greatest, bucket.last), (least, greatest, last));
            assert!((bucket.mean - mean).abs() < 1e-9, "{len}: {} {mean}", bucket.mean);
            assert_eq!(usize::try_from(bucket.count).unwrap(), len);
        }
        assert!(!RowBucket::EMPTY.has_value());
    }

    #[test]
    fn large_values_have_a_mean() {
        let mut bucket = RowBucket::EMPTY;
        (0..10).for_each(|_| bucket.add(1e308));
        assert_eq!(bucket.mean, 1e308);
    }

    #[test]
    fn keywords_have_numbers() {
        let mut keywords = Keywords::default();
        let numbers = ["late", "denied", "late"].map(|word| keywords.number(word));
        assert_eq!(numbers, [1, 2, 1]);
        assert_eq!([0, 1, 2, 3].map(|n| keywords.get(n)), [None, Some("late"), Some("denied"), None]);
    }
}
