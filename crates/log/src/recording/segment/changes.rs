//! Changes of a segment's cells, sorted by the reading in which they happen.

use super::stream::{RunChange, RunSink};

/// Change of the value or state of a cell, in the row of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CellChange {
    pub run: u32,
    pub column: u32,
    /// Difference of the cell's new value from the old one; for a state, its number plus 1, or 0 for no state.
    pub number: u64,
}

/// Changes of a table's cells, sorted by the reading in which they happen.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Index of the first change of each reading, and the end of the last reading's changes.
    starts: Vec<usize>,
    sorted: Vec<CellChange>,
    /// Changes of cells in the order in which they were decoded; `readings` has their readings.
    pub decoded: Vec<CellChange>,
    readings: Vec<u16>,
}

impl Changes {
    pub fn clear(&mut self) {
        self.decoded.clear();
        self.readings.clear();
    }

    pub fn truncate(&mut self, len: usize) {
        self.decoded.truncate(len);
        self.readings.truncate(len);
    }

    fn push(&mut self, reading: u32, change: CellChange) {
        self.readings.push(u16::try_from(reading).unwrap_or(u16::MAX));
        self.decoded.push(change);
    }

    /// Sorts the decoded changes of cells by their reading.
    pub fn sort(&mut self, readings: usize) {
        self.starts.clear();
        self.starts.resize(readings.saturating_add(2), 0);
        for reading in &self.readings {
            if let Some(count) = self.starts.get_mut(usize::from(*reading).saturating_add(2)) {
                *count = count.saturating_add(1);
            }
        }
        let mut sum = 0_usize;
        for start in &mut self.starts {
            sum = sum.saturating_add(*start);
            *start = sum;
        }
        self.sorted.clear();
        self.sorted.resize(self.decoded.len(), CellChange::default());
        for (reading, change) in self.readings.iter().zip(&self.decoded) {
            let Some(next) = self.starts.get_mut(usize::from(*reading).saturating_add(1)) else { continue };
            if let Some(place) = self.sorted.get_mut(*next) {
                *place = *change;
            }
            *next = next.saturating_add(1);
        }
        self.clear();
    }

    pub fn of(&self, reading: usize) -> &[CellChange] {
        // After sorting each start has become the next one.
        let range = self.starts.get(reading).zip(self.starts.get(reading.saturating_add(1)));
        range.and_then(|(from, until)| self.sorted.get(*from..*until)).unwrap_or_default()
    }
}

/// Receiver of the changes of a column that is decoded.
pub(super) struct Collector<'a> {
    pub values: &'a mut Changes,
    pub states: &'a mut Changes,
    pub run: u32,
    pub column: u32,
    /// First reading whose changes are collected, counted from the start of the window.
    pub begin: u32,
    /// First reading of the current run, counted from the start of the window, modulo 2^32.
    pub base: u32,
    /// Number of states that the segment defines.
    pub known: u64,
    pub lost_states: bool,
    pub unknown: Option<u64>,
}

impl RunSink for Collector<'_> {
    #[inline]
    fn first(&mut self, value: u64) {
        // New rows have zeros.
        if value != 0 {
            self.values.push(self.begin, CellChange { run: self.run, column: self.column, number: value });
        }
    }

    #[inline]
    fn change(&mut self, change: RunChange) {
        let reading = self.base.wrapping_add(change.at);
        self.values.push(reading, CellChange { run: self.run, column: self.column, number: change.delta });
    }

    fn state(&mut self, at: u32, state: u64) {
        let state = if self.lost_states { state.min(1) } else { state };
        if state > self.known {
            self.unknown = Some(state.saturating_sub(1));
        }
        let reading = self.base.wrapping_add(at);
        self.states.push(reading, CellChange { run: self.run, column: self.column, number: state });
    }
}
