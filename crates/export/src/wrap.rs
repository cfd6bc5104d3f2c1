//! Extension of 32-bit counters to 64 bits. A server takes the fall of a counter for a restart, and a 32-bit overflow
//! is none.

use std::collections::HashMap;

use perfset_core::{Birth, RawValue};

use crate::table::Identities;

/// Tracker of overflows: last values of the 32-bit counters of one counterset, by row and column. Nothing is stored
/// for instances that have ended.
#[derive(Debug, Default)]
pub(crate) struct WrapTracker {
    columns: usize,
    births: Vec<Birth>,
    cells: Vec<Wide>,
}

/// State of a 32-bit counter: its last value and the number of its overflows.
#[derive(Clone, Copy, Debug, Default)]
struct Wide {
    last: Option<u32>,
    turns: u32,
}

impl Wide {
    /// Returns the next value of the 32-bit counter, extended to 64 bits. A fall by more than half the range is an
    /// overflow; any other fall is a restart.
    fn next(&mut self, value: u32) -> u64 {
        match self.last.replace(value) {
            Some(last) if value < last && value.wrapping_sub(last) < 1 << 31 => {
                self.turns = self.turns.saturating_add(1);
            }
            // The value falls for the server too, which is how it recognizes a restart.
            Some(last) if value < last => self.turns = 0,
            _ => {}
        }
        u64::from(self.turns) << 32 | u64::from(value)
    }
}

impl WrapTracker {
    /// Creates a tracker of overflows for a number of columns; for 0 columns nothing is stored.
    pub fn new(columns: usize) -> Self {
        Self { columns, ..Self::default() }
    }

    /// Adapts the tracker to a change of the table's rows: copies the state of the rows that existed before.
    pub fn follow(&mut self, before: &Identities, now: &Identities) {
        if self.columns == 0 {
            return;
        }
        let known: HashMap<_, _> = before.iter().enumerate().map(|(at, row)| (row, at)).collect();
        let old = std::mem::replace(self, Self::new(self.columns));
        for row in now.iter() {
            let at = known.get(&row).copied();
            self.births.push(at.and_then(|at| old.births.get(at).copied().flatten()));
            let cells = at.and_then(|at| old.row(at)).unwrap_or_default();
            self.cells.extend_from_slice(cells);
            self.cells.resize(self.births.len().saturating_mul(self.columns), Wide::default());
        }
    }

    fn row(&self, at: usize) -> Option<&[Wide]> {
        let start = at.checked_mul(self.columns)?;
        self.cells.get(start..start.checked_add(self.columns)?)
    }

    /// Widens the 32-bit values of one row of the table to 64 bits. A new instance that has taken over the name
    /// begins again.
    pub fn widen<'a>(
        &mut self,
        at: usize,
        birth: Birth,
        values: impl Iterator<Item = Option<&'a mut Option<RawValue>>>,
    ) {
        let Some(known) = self.births.get_mut(at) else { return };
        let start = at.saturating_mul(self.columns);
        let Some(cells) = self.cells.get_mut(start..start.saturating_add(self.columns)) else { return };
        if std::mem::replace(known, birth) != birth {
            cells.fill(Wide::default());
        }
        for (cell, value) in cells.iter_mut().zip(values) {
            if let Some(Some(number)) = value {
                if let RawValue::U32(short) = *number {
                    *number = RawValue::U64(cell.next(short));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falls() {
        let max = u32::MAX;
        let table: [(&str, &[u32], u64); 6] = [
            ("first", &[7], 7),
            ("rises", &[7, 11], 11),
            ("passes its end", &[max, 4], (1 << 32) + 4),
            ("twice", &[max, 4, 1 << 31, max, 2], (2 << 32) + 2),
            ("restart", &[1 << 30, 5], 5),
            ("restart after a turn", &[max, 1 << 30, 5], 5),
        ];
        for (name, values, want) in table {
            let mut wide = Wide::default();
            let last = values.iter().map(|value| wide.next(*value)).last();
            assert_eq!(last, Some(want), "{name}");
        }
    }
}
