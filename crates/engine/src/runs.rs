//! Run-length encoded values by row, for many consecutive rows with the same value.

/// Values by row, each stored once for consecutive rows with the same value; rows have the default value at first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Runs<T> {
    /// First row of each run of equal values, with the value, ascending.
    starts: Vec<(usize, T)>,
}

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Self { starts: Vec::new() }
    }
}

impl<T: Copy + Default + PartialEq> Runs<T> {
    /// Resets the values of all rows to the default.
    pub fn clear(&mut self) {
        self.starts.clear();
    }

    /// Sets the value of this row and all later rows. No later row may have been set yet.
    pub fn set(&mut self, row: usize, value: T) {
        // The value of a row can be set again before the row is used, such as its owner.
        if self.starts.last().is_some_and(|(start, _)| *start == row) {
            self.starts.pop();
        }
        let before = self.starts.last().map(|(_, value)| *value);
        if before.unwrap_or_default() != value {
            self.starts.push((row, value));
        }
    }

    /// Removes the run-length encoded values of this row and all later rows.
    pub fn truncate(&mut self, row: usize) {
        while self.starts.last().is_some_and(|(start, _)| *start >= row) {
            self.starts.pop();
        }
    }

    /// Returns the run-length encoded value of a row.
    #[inline]
    pub fn get(&self, row: usize) -> T {
        let behind = self.starts.partition_point(|(start, _)| *start <= row);
        let run = behind.checked_sub(1).and_then(|at| self.starts.get(at));
        run.map(|(_, value)| *value).unwrap_or_default()
    }

    /// Copies the run-length encoded values of `other`.
    pub fn copy(&mut self, other: &Self) {
        self.starts.clone_from(&other.starts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_match_one_value_per_row(rows in prop::collection::vec(prop::collection::vec(0_u8..3, 1..3), 0..20)) {
            let mut runs = Runs::default();
            for _ in 0..2 {
                runs.clear();
                for (row, values) in rows.iter().enumerate() {
                    values.iter().for_each(|value| runs.set(row, *value));
                }
            }
            let want: Vec<_> = rows.iter().map(|values| *values.last().unwrap()).collect();
            let got: Vec<_> = (0..rows.len()).map(|row| runs.get(row)).collect();
            prop_assert_eq!(&got, &want);
            let changes = want.windows(2).filter(|pair| pair[0] != pair[1]).count();
            prop_assert!(runs.starts.len() <= changes + 1);
            let mut other = Runs::default();
            other.set(7, 2);
            other.copy(&runs);
            prop_assert_eq!(&other.starts, &runs.starts);
            for len in (0..rows.len()).rev() {
                runs.truncate(len);
                let got: Vec<_> = (0..len).map(|row| runs.get(row)).collect();
                prop_assert_eq!(&got, &want[..len]);
                prop_assert!(runs.starts.iter().all(|(start, _)| *start < len));
            }
        }
    }
}
