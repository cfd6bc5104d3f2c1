//! Instances of a segment with their first and last sample, without any values.

use super::super::budget::StepBudget;
use super::super::table::{MOST_CELLS, RowIdentity, index};
use super::read::{Decompressor, SegmentTable, StoredSegment};
use super::rows::{cells_of_places, take_key};
use crate::damage::Damage;

/// Run of an instance in a segment, which proves that the instance has samples.
#[derive(Debug)]
pub struct SeenRun {
    /// Number of the table that has the run.
    pub table: usize,
    pub key: RowIdentity,
    /// Index in the segment of the tick with the run's first sample.
    pub first: usize,
    /// Index in the segment of the tick with the run's last sample.
    pub last: usize,
    /// Place of the run's row among the rows of the table.
    place: u32,
}

impl StoredSegment {
    /// Returns the runs of all wanted tables of the segment in the order of their first samples, and the damage that
    /// was found.
    pub fn seen_runs(
        &self,
        wanted: &dyn Fn(usize) -> bool,
        budget: &mut StepBudget,
    ) -> (Vec<SeenRun>, Vec<Damage>) {
        let (mut runs, mut damages) = (Vec::new(), Vec::new());
        let (mut room, mut decompressor) = (MOST_CELLS, Decompressor::default());
        let entries = match self.directory() {
            Ok(directory) => &*directory.tables,
            // It is reported with the file.
            Err(_) => &[],
        };
        for entry in entries.iter().filter(|entry| wanted(entry.number)) {
            if !budget.spend(entry.raw_len(&[])) {
                damages.push(self.too_long());
                break;
            }
            match SegmentTable::read(self, entry, room, &mut decompressor) {
                Ok(table) => {
                    room = room.saturating_sub(cells_of_places(table.runs.len(), table.placements.len()));
                    self.add_runs(table, &mut runs);
                }
                Err(damage) => damages.push(damage),
            }
        }
        runs.sort_by_key(|run| (run.first, run.table, run.place));
        (runs, damages)
    }

    fn add_runs(&self, mut table: SegmentTable, into: &mut Vec<SeenRun>) {
        // Contents from before the tick with which they are stored are no samples.
        let is_sample: Vec<bool> = table
            .collections
            .readings
            .iter()
            .map(|tick| {
                let now = self.ticks().get(usize::from(*tick)).map(|(sequence, _)| *sequence);
                now == Some(table.collections.collection_at(*tick, self).0)
            })
            .collect();
        let tick_of =
            |reading: Option<usize>| table.collections.readings.get(reading?).copied().map(usize::from);
        for (place, placement) in (0_u32..).zip(&table.placements) {
            let Some(run) = table.runs.get_mut(index(placement.run)) else { continue };
            // The first of its places.
            if placement.from != run.first {
                continue;
            }
            let (first, end) = (index(run.first), index(run.end).min(is_sample.len()));
            let samples = is_sample.get(first..end).unwrap_or_default();
            let from = samples.iter().position(|is_sample| *is_sample);
            let to = samples.iter().rposition(|is_sample| *is_sample);
            let at = |offset: Option<usize>| tick_of(offset.map(|offset| first.saturating_add(offset)));
            if let (Some(first), Some(last)) = (at(from), at(to)) {
                let key = take_key(&mut run.key);
                into.push(SeenRun { table: table.number, key, first, last, place });
            }
        }
    }
}
