//! Series of a recording: the samples of one counter of one instance.

use std::ops::ControlFlow;
use std::sync::Arc;

use perfset_core::{CounterId, Counterset, Identity, Mark, NoValue, Sample, Utf16};
use perfset_engine::{CellState, Clock, Player, Provider, RecordedSample, Sampler, SourceError, Window};

use super::budget::StepBudget;
use super::files::RecordingFile;
use super::player::{RecordingPlayer, chosen, holds, not_recorded};
use super::registration::TableDefinition;
use super::segment::{Decompressor, FoundRow, InstanceColumns, InstanceTick, StoredSegment, WantedInstance};
use super::timeline::RecordingFiles;
use crate::pick::Pick;

/// Receiver of the samples of a series, called with several samples at a time.
type EachBatch<'e, 'a> = &'e mut dyn FnMut(&[RecordedSample<'a>]) -> ControlFlow<()>;

/// Reader of a series: the samples of one counter of one instance.
///
/// A segment is read directly: only its directory, the runs of one table and the columns of the counter. Where that is
/// not possible, a [`RecordingPlayer`] plays the ticks: those of a journal, of a counterset that has several tables in
/// a file, and of a segment that is damaged.
pub(super) struct SeriesReader<'r, 'e, 'a> {
    files: &'r Arc<RecordingFiles>,
    counter: CounterId,
    instance: Identity<'a>,
    set: Arc<Counterset>,
    sampler: Sampler<'a>,
    wanted: WantedInstance,
    /// `true` if the reader reads segments directly, without a player.
    is_direct: bool,
    decompressor: Decompressor,
    /// Limit of the work steps through all segments of the recording, read directly or played.
    budget: StepBudget,
    batch: SampleBatch<'e, 'a>,
}

/// Samples of a series that are passed on together.
struct SampleBatch<'e, 'a> {
    samples: Vec<RecordedSample<'a>>,
    each: EachBatch<'e, 'a>,
}

impl<'a> SampleBatch<'_, 'a> {
    const LEN: usize = 256;

    #[inline]
    fn push(
        &mut self,
        time: i64,
        sample: Result<Sample<'a>, NoValue>,
        mark: Option<Mark>,
    ) -> ControlFlow<()> {
        self.samples.push(RecordedSample { time, sample, mark });
        if self.samples.len() < Self::LEN { ControlFlow::Continue(()) } else { self.flush() }
    }

    fn flush(&mut self) -> ControlFlow<()> {
        let flow =
            if self.samples.is_empty() { ControlFlow::Continue(()) } else { (self.each)(&self.samples) };
        self.samples.clear();
        flow
    }
}

impl<'r, 'e, 'a> SeriesReader<'r, 'e, 'a> {
    /// Creates a reader of the series of a counter of an instance, for any birth of the instance.
    pub fn new(
        files: &'r Arc<RecordingFiles>,
        counter: CounterId,
        instance: Identity<'a>,
        each: EachBatch<'e, 'a>,
    ) -> Result<Self, SourceError> {
        let guid = instance.counterset;
        let set = files.catalogue.countersets.iter().find(|set| set.guid == guid);
        let set = Arc::clone(set.ok_or(SourceError::UnknownCounterset(guid))?);
        let sampler = Sampler::new(&set, counter, instance)?;
        Ok(Self {
            files,
            counter,
            instance,
            set,
            wanted: WantedInstance::new(&Utf16::from(instance.instance), instance.instance_id.0),
            is_direct: sampler.selects_itself(),
            sampler,
            decompressor: Decompressor::default(),
            budget: StepBudget::new(),
            batch: SampleBatch { samples: Vec::with_capacity(SampleBatch::LEN), each },
        })
    }

    /// Makes the reader of a series play all ticks, and read no segment directly.
    #[cfg(test)]
    pub fn played(mut self) -> Self {
        self.is_direct = false;
        self
    }

    /// Limits the work steps for reading the series in all segments.
    #[cfg(test)]
    pub fn with_budget(mut self, budget: StepBudget) -> Self {
        self.budget = budget;
        self
    }

    /// Reads the samples of the series in a window that `pick` selects.
    pub fn read(mut self, window: Window, pick: Pick) -> Result<(), SourceError> {
        let ticks = chosen(self.files, window, pick);
        let (mut at, mut before) = (0_usize, None);
        while let Some(first) = ticks.get(at).copied() {
            // Ticks that are blocks, or those of one segment.
            let part = |(file, tick): (usize, usize)| {
                let segment = self.files.files.get(file).and_then(|file| file.segment_number_of(tick));
                (file, segment)
            };
            let of = part(first);
            let rest = ticks.get(at..).unwrap_or_default();
            let len = rest.iter().position(|tick| part(*tick) != of).unwrap_or(rest.len());
            let group = rest.get(..len).unwrap_or_default();
            at = at.saturating_add(group.len().max(1));
            if self.read_group(of, group, before)?.is_break() {
                return Ok(());
            }
            before = group.last().copied();
        }
        let _ = self.batch.flush(); // it is over anyway
        Ok(())
    }

    fn read_group(
        &mut self,
        (file, segment): (usize, Option<usize>),
        ticks: &[(usize, usize)],
        before: Option<(usize, usize)>,
    ) -> Result<ControlFlow<()>, SourceError> {
        let files = Arc::clone(self.files);
        let Some(of) = files.files.get(file) else { return Ok(ControlFlow::Continue(())) };
        let segment = segment.and_then(|number| Some((number, of.segment(number)?)));
        let Some((number, segment)) = segment else { return self.play(ticks, before) };
        self.budget.enter((file, number), segment.len());
        let columns = if self.is_direct { self.columns(of, segment) } else { None };
        match columns {
            Some(columns) => Ok(self.pass_on(of, &columns, ticks, before)),
            None if self.budget.left() == 0 => {
                self.files.damaged_part(file, &segment.too_long());
                Ok(ControlFlow::Continue(()))
            }
            None => self.play(ticks, before),
        }
    }

    /// Reads the columns of the series' instance in a segment; `None` if only a player can read them.
    fn columns<'s>(
        &mut self,
        of: &'s RecordingFile,
        segment: &'s StoredSegment,
    ) -> Option<SeriesColumns<'s>> {
        let all = of.tables.iter().enumerate();
        let mut tables = all.filter_map(|(number, table)| Some((number, table.as_deref()?)));
        let mut next = || tables.find(|(_, table)| table.counterset.guid == self.set.guid);
        // Of several tables of a counterset, each has some of the counters or some of the ticks.
        let ((number, definition), None) = (next()?, next()) else { return None };
        let mut columns = Vec::new();
        let mut slots = Vec::new();
        for counter in self.sampler.needed() {
            let column = self.set.counter(*counter).and_then(|counter| definition.column(counter));
            slots.push(column.map(|_| columns.len()));
            columns.extend(column);
        }
        slots.first().copied().flatten()?;
        if !self.budget.spend(segment.raw_len(number, &columns)) {
            return None;
        }
        let columns = segment.instance(number, &columns, &self.wanted, &mut self.decompressor)?;
        Some(SeriesColumns { definition, columns, slots })
    }

    /// Passes on the samples of the series in a segment that was read directly.
    fn pass_on(
        &mut self,
        of: &RecordingFile,
        columns: &SeriesColumns<'_>,
        ticks: &[(usize, usize)],
        mut before: Option<(usize, usize)>,
    ) -> ControlFlow<()> {
        for place in ticks {
            let Some(tick) = of.ticks().get(place.1) else { continue };
            let time = tick.time;
            if let Some(reason) = before.and_then(|before| self.files.between(before, *place)) {
                // Nothing is compared across it.
                self.batch.push(time, Err(SourceError::from(reason.clone()).reason()), None)?;
            }
            before = Some(*place);
            let mut mark = None;
            let sample = match columns.columns.tick(tick.index_in_segment()) {
                InstanceTick::Row(row) => {
                    let state = columns.state(&row);
                    let birth = state.and_then(CellState::counted_since).or_else(|| row.birth());
                    let number = |needed: usize| row.number(columns.slots.get(needed).copied().flatten()?);
                    let sample = self.sampler.sample_of(number, birth, row.clocks);
                    mark = state.and_then(CellState::mark).filter(|_| sample.is_some());
                    sample.ok_or_else(|| match state {
                        Some(CellState::Missing(reason)) => reason.clone(),
                        _ => NoValue::NotGiven,
                    })
                }
                InstanceTick::Absent => Err(NoValue::NoInstance),
                InstanceTick::Failed(reason) => Err(SourceError::from(reason.clone()).reason()),
                // The table was not due: a rate between two samples of one collection would be none.
                InstanceTick::Before(clocks) if holds(columns.definition, &clocks, &tick.clocks) => continue,
                InstanceTick::Before(_) | InstanceTick::Never => Err(not_recorded().reason()),
            };
            self.batch.push(time, sample, mark)?;
        }
        ControlFlow::Continue(())
    }

    /// Plays ticks, and passes on their samples of the series.
    fn play(
        &mut self,
        ticks: &[(usize, usize)],
        before: Option<(usize, usize)>,
    ) -> Result<ControlFlow<()>, SourceError> {
        let player = RecordingPlayer::of_ticks(self.files, ticks.to_vec(), before);
        let mut player = player.with_budget(self.budget);
        player.want(self.set.guid);
        player.want_instance(self.instance.instance, self.instance.instance_id);
        if let Some(counter) = self.set.counter(self.counter) {
            player.want_counters(counter.needed().collect());
        }
        while player.step()? {
            let clocks = player.read();
            let sample = self.sampler.sample(&clocks, |want, rows| player.collect(want, rows));
            if self.batch.push(clocks.utc_100ns(), sample, self.sampler.mark()).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.budget = player.budget();
        Ok(ControlFlow::Continue(()))
    }
}

/// Columns of the series' instance in a segment.
struct SeriesColumns<'s> {
    definition: &'s TableDefinition,
    columns: InstanceColumns<'s>,
    /// Index of the column of each counter that a sample of the series needs; `None` if the table lacks the counter.
    slots: Vec<Option<usize>>,
}

impl SeriesColumns<'_> {
    /// Returns the state of the series' own counter in a row.
    fn state<'r>(&self, row: &FoundRow<'r>) -> Option<&'r CellState> {
        row.state(self.slots.first().copied().flatten()?)
    }
}
