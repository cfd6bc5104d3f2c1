//! Runs and some columns of one instance of a table in a segment, without the other rows.

use std::num::NonZeroU64;

use perfset_core::clock::ClockReading;
use perfset_core::sample::Clocks;
use perfset_core::{Birth, NoValue, Utf16};
use perfset_engine::CellState;

use super::super::bytes::{Malformed, PayloadCursor};
use super::super::table::{StateList, index, position};
use super::super::tick::put_name;
use super::read::{Collected, Collections, Decompressor, StoredSegment};
use super::rows::LEAST_RUN;
use super::stream::{ColumnReader, RunChange, RunSink};
use crate::damage::Damage;

/// Instance that a reader wants, identified by name and id.
#[derive(Debug)]
pub struct WantedInstance {
    /// Name of the wanted instance, encoded as in a segment.
    name: Vec<u8>,
    id: u32,
}

impl WantedInstance {
    pub fn new(name: &Utf16, id: u32) -> Self {
        let mut stored = Vec::new();
        put_name(&mut stored, name);
        Self { name: stored, id }
    }
}

/// Run of the wanted instance in a segment's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FoundRun {
    /// Index of this run among the runs of the table.
    number: usize,
    birth: u64,
    first: u32,
    end: u32,
}

/// Values and states of a column in the readings of a table; zeros where the instance is not there.
#[derive(Debug, Default)]
struct InstanceColumn {
    values: Vec<u64>,
    /// Numbers of the column's cell states plus 1, or 0 for no state; empty if no cell has a state.
    states: Vec<u32>,
}

/// Some columns of one instance in a segment, reading by reading.
#[derive(Debug)]
pub struct InstanceColumns<'a> {
    segment: &'a StoredSegment,
    collections: Collections,
    clocks: Option<Vec<Option<Clocks>>>,
    /// Runs of the wanted instance, sorted by their first reading; they do not overlap.
    runs: Vec<FoundRun>,
    columns: Vec<InstanceColumn>,
    states: Option<&'a StateList>,
}

/// Contents of a table for one instance at a tick.
#[derive(Debug)]
pub enum InstanceTick<'a> {
    /// The table was not collected up to this tick.
    Never,
    /// The table was collected before, at these clocks.
    Before(ClockReading),
    /// The table has no rows, for this reason.
    Failed(&'a NoValue),
    /// The table has no row of the instance.
    Absent,
    /// The table has a row of the instance.
    Row(FoundRow<'a>),
}

/// Row of the wanted instance at a tick.
#[derive(Clone, Copy, Debug)]
pub struct FoundRow<'a> {
    of: &'a InstanceColumns<'a>,
    reading: usize,
    birth: u64,
    /// Clocks of the table's collection at the tick.
    pub clocks: Clocks,
}

impl StoredSegment {
    /// Reads the wanted columns of an instance from a segment. `None` if parts of the segment are damaged, or if the
    /// instance has two rows at a time: such a segment is read by a cursor.
    pub fn instance(
        &self,
        table: usize,
        columns: &[usize],
        wanted: &WantedInstance,
        decompressor: &mut Decompressor,
    ) -> Option<InstanceColumns<'_>> {
        self.read_instance(table, columns, wanted, decompressor).ok().flatten()
    }

    fn read_instance(
        &self,
        table: usize,
        columns: &[usize],
        wanted: &WantedInstance,
        decompressor: &mut Decompressor,
    ) -> Result<Option<InstanceColumns<'_>>, Damage> {
        let entries = &self.directory()?.tables;
        let mut read = InstanceColumns {
            segment: self,
            collections: Collections::default(),
            clocks: None,
            runs: Vec::new(),
            columns: Vec::new(),
            states: None,
        };
        let entry =
            entries.binary_search_by_key(&table, |entry| entry.number).ok().and_then(|at| entries.get(at));
        let Some(entry) = entry else { return Ok(Some(read)) };
        read.collections = Collections::new(entry, self.ticks());
        let readings = position(read.collections.readings.len());
        let failed = |info| move |error: Malformed| self.damage(info, "instance", error);
        let stream = self.stream(&entry.runs, "rows", decompressor)?;
        let found = FoundRuns::read(&stream, readings, wanted).map_err(failed(&entry.runs))?;
        read.runs.clone_from(&found.runs);
        read.runs.sort_by_key(|run| run.first);
        if read.runs.windows(2).any(|pair| matches!(pair, [a, b] if b.first < a.end)) {
            return Ok(None);
        }
        if let Some(info) = &entry.clocks {
            let stream = self.stream(info, "clocks", decompressor)?;
            read.clocks = Some(read.collections.own_clocks(&stream, self).map_err(failed(info))?);
        }
        if read.runs.is_empty() {
            return Ok(Some(read));
        }
        for column in columns {
            let Some(info) = entry.columns.get(*column) else { return Ok(None) };
            let stream = self.stream(info, "column", decompressor)?;
            let column = InstanceColumn::read(&stream, &found, readings).map_err(failed(info))?;
            if !column.states.is_empty() && read.states.is_none() {
                read.states = Some(self.states()?);
            }
            let known = position(read.states.map_or(0, StateList::len));
            if column.states.iter().any(|state| *state > known) {
                return Ok(None);
            }
            read.columns.push(column);
        }
        Ok(Some(read))
    }
}

/// Runs of the wanted instance, with the data about other runs that reading a column needs.
#[derive(Debug, Default)]
struct FoundRuns {
    /// Runs of the wanted instance, in the order of the table.
    runs: Vec<FoundRun>,
    /// Number of readings of each run of the table, up to the last run of the instance's name.
    lengths: Vec<u32>,
    /// Number of all runs of the table, of all its instances.
    count: usize,
}

impl FoundRuns {
    /// Finds the runs of the wanted instance in the data that `put_runs` writes. The places of rows after them are
    /// not read.
    fn read(stream: &[u8], readings: u32, wanted: &WantedInstance) -> Result<Self, Malformed> {
        let from = &mut PayloadCursor::new(stream);
        let count = from.count(LEAST_RUN, "runs")?;
        let named = from.find_names(count, &wanted.name)?;
        let mut found = Self { runs: Vec::new(), lengths: Vec::new(), count };
        // The numbers are differences from the run before: those up to the last run of the name are added up.
        let Some(end) = named.last().map(|last| last.saturating_add(1)) else { return Ok(found) };
        let rest = count.saturating_sub(end);
        let (mut id, mut next) = (0_u64, 0_usize);
        for number in named {
            let step = number.saturating_add(1).saturating_sub(next);
            id = id.wrapping_add(from.sum_of_ints(step, "ids of instances")?);
            next = number.saturating_add(1);
            if id == u64::from(wanted.id) {
                found.runs.push(FoundRun { number, birth: 0, first: 0, end: 0 });
            }
        }
        from.skip_uints(rest, "ids")?;
        let (mut birth, mut next) = (0_u64, 0_usize);
        for run in &mut found.runs {
            let step = run.number.saturating_add(1).saturating_sub(next);
            birth = birth.wrapping_add(from.sum_of_ints(step, "births of instances")?);
            (run.birth, next) = (birth, run.number.saturating_add(1));
        }
        from.skip_uints(count.saturating_sub(next), "births")?;
        for _ in 0..count {
            match from.byte("owner of an instance")? {
                0 => {}
                1 => from.skip_uints(2, "owner")?,
                number => return Err(from.error(format!("owner of the unknown kind {number}"))),
            }
        }
        let mut firsts = Vec::with_capacity(end);
        for _ in 0..end {
            firsts.push(from.small("first reading of a run")?);
        }
        from.skip_uints(rest, "first readings")?;
        let mut next = found.runs.iter_mut().peekable();
        for (number, first) in firsts.iter_mut().enumerate() {
            let after: u32 = from.small("readings after a run")?;
            let end = readings.checked_sub(after).filter(|end| *first < *end);
            let end = end.ok_or_else(|| from.error("run that is empty, or ends before its table begins"))?;
            if let Some(run) = next.next_if(|run| run.number == number) {
                (run.first, run.end) = (*first, end);
            }
            // From here on its length.
            *first = end.saturating_sub(*first);
        }
        found.lengths = firsts;
        Ok(found)
    }
}

impl InstanceColumn {
    /// Reads the values and states of an instance from the stream of a column.
    fn read(stream: &[u8], found: &FoundRuns, readings: u32) -> Result<Self, Malformed> {
        let mut column = Self { values: vec![0; index(readings)], states: Vec::new() };
        let mut reader = ColumnReader::new(stream, found.count)?;
        let mut next = found.runs.iter().peekable();
        for (number, length) in found.lengths.iter().enumerate() {
            let length = index(*length);
            let Some(run) = next.next_if(|run| run.number == number) else {
                reader.next_run(length, 0..0, &mut SkippedRun)?;
                continue;
            };
            let first = index(run.first);
            let mut sink = RunFiller { column: &mut column, first, value: (first, 0), state: (first, 0) };
            reader.next_run(length, 0..length, &mut sink)?;
            sink.fill_values(index(run.end));
            sink.fill_states(index(run.end));
        }
        Ok(column)
    }
}

/// Receiver of decoded cells that ignores the runs of other instances.
struct SkippedRun;

impl RunSink for SkippedRun {
    fn first(&mut self, _: u64) {}

    fn change(&mut self, _: RunChange) {}

    fn state(&mut self, _: u32, _: u64) {}
}

/// Receiver of decoded cells in a run of the wanted instance. Numbers are filled in up to the next change.
struct RunFiller<'a> {
    column: &'a mut InstanceColumn,
    /// First reading of the filled run.
    first: usize,
    /// Reading since which the last decoded value holds, and that value.
    value: (usize, u64),
    /// Reading since which the last decoded cell state holds, and that state.
    state: (usize, u32),
}

impl RunFiller<'_> {
    fn fill_values(&mut self, until: usize) {
        let (from, value) = self.value;
        self.column.values.get_mut(from..until).unwrap_or_default().fill(value);
        self.value.0 = until;
    }

    fn fill_states(&mut self, until: usize) {
        let (from, state) = self.state;
        if state != 0 && self.column.states.is_empty() {
            self.column.states.resize(self.column.values.len(), 0);
        }
        self.column.states.get_mut(from..until).unwrap_or_default().fill(state);
        self.state.0 = until;
    }
}

impl RunSink for RunFiller<'_> {
    fn first(&mut self, value: u64) {
        self.value.1 = value;
    }

    #[inline]
    fn change(&mut self, change: RunChange) {
        self.fill_values(self.first.saturating_add(index(change.at)));
        self.value.1 = self.value.1.wrapping_add(change.delta);
    }

    fn state(&mut self, at: u32, state: u64) {
        self.fill_states(self.first.saturating_add(index(at)));
        // Larger ones are not known either.
        self.state.1 = u32::try_from(state).unwrap_or(u32::MAX);
    }
}

impl InstanceColumns<'_> {
    /// Returns the contents of the table for the instance at a tick.
    pub fn tick(&self, tick: usize) -> InstanceTick<'_> {
        let Some(collection) = self.collections.at(tick) else { return InstanceTick::Never };
        let of = self.collections.ticks.get(collection).copied().unwrap_or(0);
        let (sequence, clocks) = self.collections.collection_at(of, self.segment);
        if self.segment.ticks().get(tick).is_none_or(|(now, _)| *now != sequence) {
            return InstanceTick::Before(clocks);
        }
        let reading = match self.collections.collected(collection) {
            Some(Collected::Reading(reading)) => usize::from(reading),
            Some(Collected::Failed(failure)) => return InstanceTick::Failed(&failure.reason),
            None => return InstanceTick::Never,
        };
        let after = self.runs.partition_point(|run| index(run.first) <= reading);
        let run = after.checked_sub(1).and_then(|at| self.runs.get(at));
        let Some(run) = run.filter(|run| reading < index(run.end)) else { return InstanceTick::Absent };
        let own = self.clocks.as_ref().and_then(|clocks| clocks.get(reading).copied().flatten());
        let clocks = own.unwrap_or_else(|| Clocks::from(&clocks));
        InstanceTick::Row(FoundRow { of: self, reading, birth: run.birth, clocks })
    }
}

impl<'a> FoundRow<'a> {
    /// Returns the state of the row's cell in a column, if it has one.
    pub fn state(&self, column: usize) -> Option<&'a CellState> {
        let state = *self.of.columns.get(column)?.states.get(self.reading)?;
        self.of.states?.get(state.checked_sub(1)?)
    }

    /// Returns the raw value of the row's cell in a column, if it has one.
    pub fn number(&self, column: usize) -> Option<u64> {
        let value = *self.of.columns.get(column)?.values.get(self.reading)?;
        (!matches!(self.state(column), Some(CellState::Missing(_)))).then_some(value)
    }

    /// Returns the birth of the row's instance.
    pub fn birth(&self) -> Birth {
        NonZeroU64::new(self.birth)
    }
}
