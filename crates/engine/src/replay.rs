//! Replay of recorded data: a machine whose data changes only when a player advances to the next sample.

use std::ops::Range;
use std::sync::Arc;

use perfset_core::Status;
use perfset_core::clock::ClockReading;
use perfset_core::v2::set_clocks;

use crate::clock::Clock;
use crate::entry::Entry;
use crate::error::SourceError;
use crate::machine::Machine;
use crate::provider::Provider;
use crate::query::Query;
use crate::snapshot::{ResolvedEntry, Snapshot};
use crate::source::{NextOutcome, QueryHandle};

/// Player of recorded data: the provider and the clock of a machine. Clones play the same sample.
pub trait Player: Provider + Clock + Clone + 'static {
    /// Advances to the next recorded sample, in the first call to the first sample. Returns `false` at the end.
    ///
    /// # Errors
    /// If the next sample cannot be read.
    fn step(&mut self) -> Result<bool, SourceError>;

    /// Returns a machine that contains only the recorded data.
    fn machine(&self) -> Machine {
        let machine = Machine::bare(Box::new(self.clone()));
        machine.register(Box::new(self.clone()));
        machine
    }

    /// Returns the form of the current sample, if the numbers in its bytes have fixed positions. For a later sample
    /// of the same form, only [`numbers`](Self::numbers) must be copied, and nothing else is read.
    fn form(&mut self) -> Option<SampleForm> {
        None
    }

    /// Replaces the numbers of the current sample by `first`, `first + 1` and so on, in the order of the form's places,
    /// so that a collection shows the place of each number in the block. `None` restores the numbers, and must follow
    /// before the next step. Returns `false` if the sample cannot be renumbered, or if a renumbered collection found
    /// damage.
    fn renumber(&mut self, first: Option<u32>) -> bool {
        let _ = first;
        false
    }

    /// Passes the bytes of the current sample and its clocks to `read`, if the sample has the form that `form`
    /// identifies.
    fn numbers(&mut self, form: u64, read: &mut dyn FnMut(&[u8], &ClockReading)) {
        let _ = (form, read);
    }
}

/// Form of a recorded sample: everything in the sample except the numbers.
#[derive(Clone, Debug)]
pub struct SampleForm {
    /// Number that identifies the sample form among the forms of a player.
    pub number: u64,
    /// Byte ranges of the numbers in the sample, of 4 or 8 bytes, little-endian.
    pub places: Arc<[Range<usize>]>,
}

/// Query over recorded data: each call reads the next recorded sample.
///
/// Samples mostly differ in their numbers alone. Of a sample with the form of an earlier one, only the numbers are
/// copied, to the places in the block where those of the other are.
#[derive(Debug)]
pub struct Replay<P> {
    player: P,
    query: Query,
    /// Plan for copying the numbers of later samples. It is boxed to save memory, because thousands of queries can
    /// exist, and few logs have samples of equal form.
    copying: Option<Box<Copying>>,
    /// Number that identifies the previous sample's form, if that sample was collected and copying is not prepared
    /// for its form.
    form_before: Option<u64>,
    /// Number of samples to collect before the next attempt at copying, and the number before the attempt after it.
    /// The pause grows, because samples of many logs never have equal forms.
    pause: (u32, u32),
}

/// Plan for copying the numbers of a sample of one form into the block of its collection.
#[derive(Debug)]
struct Copying {
    form: u64,
    copies: Vec<NumberCopy>,
    /// Snapshot of the collection from which the copying plan was made. In the results of other samples of the form,
    /// the numbers have the same places.
    model: Snapshot,
    /// Numbers that identify the last block structures equal to the plan's snapshot except for values, newest first.
    structures: Vec<u64>,
    /// Number of samples of the form, up to [`SETTLED`], that were collected since the last sample of another form.
    collected: u32,
}

/// Number of samples of a form that are collected before the numbers of later ones are copied. A player may keep ended
/// instances, and their order, until it has read the next sample; from the second sample on, they no longer change.
const SETTLED: u32 = 2;

/// Maximum number of block structures that are remembered: callers alternate between two snapshots.
const KEPT: usize = 4;

/// Copy of one number, from an offset in the sample to an offset in the block.
#[derive(Clone, Copy, Debug)]
struct NumberCopy {
    from: usize,
    to: usize,
    is_long: bool,
}

impl<P: Player> Replay<P> {
    /// Creates an empty query over the player's recorded data.
    #[must_use]
    pub fn new(player: P) -> Self {
        Self { query: player.machine().query(), player, copying: None, form_before: None, pause: (0, 1) }
    }

    /// Copies the numbers of the current sample into a snapshot of the same form. Returns `false` if that is not
    /// possible.
    fn copy(&mut self, snapshot: &mut Snapshot) -> bool {
        let Some(copying) = &self.copying else { return false };
        // Another query may have filled the snapshot since: then its entries are of that query.
        if copying.collected < SETTLED
            || !copying.structures.contains(&snapshot.structure)
            || !Arc::ptr_eq(&copying.model.entries, &snapshot.entries)
        {
            return false;
        }
        let mut is_copied = false;
        self.player.numbers(copying.form, &mut |bytes, clocks| {
            is_copied = copying.copy(bytes, &mut snapshot.block);
            set_clocks(&mut snapshot.block, clocks);
            snapshot.clocks = *clocks;
        });
        is_copied
    }

    /// Prepares copying for later samples, after the current sample was collected into a snapshot.
    fn prepare(&mut self, snapshot: &Snapshot) {
        let before = self.form_before.take();
        if let Some(copying) = &mut self.copying {
            // The metadata of the snapshot may be others now, although its block has the same structure.
            copying.structures.retain(|structure| *structure != snapshot.structure);
            let mut is_like = false;
            self.player.numbers(copying.form, &mut |bytes, _| is_like = copying.is_like(bytes, snapshot));
            if is_like {
                // A caller that passes a new snapshot each time never copies.
                copying.structures.truncate(KEPT - 1);
                copying.structures.insert(0, snapshot.structure);
                copying.collected = copying.collected.saturating_add(1).min(SETTLED);
                return;
            }
            copying.collected = 0;
        }
        /// Maximum number of samples between two attempts at copying numbers.
        const LONGEST: u32 = 1 << 10;
        let (left, next) = &mut self.pause;
        if let Some(fewer) = left.checked_sub(1) {
            *left = fewer;
            return;
        }
        let form = self.player.form().map(|form| form.number);
        if before.is_none() && form.is_some() {
            self.form_before = form;
            return;
        }
        (*left, *next) = (*next, next.saturating_mul(2).min(LONGEST));
        if form.is_some() && form == before {
            if let Some(copying) = self.traced(snapshot) {
                self.copying = Some(Box::new(copying));
            }
        }
    }

    /// Finds the offset in the block of each number of the current sample, by collecting the sample twice more with
    /// other numbers.
    fn traced(&mut self, collected: &Snapshot) -> Option<Copying> {
        const FIRST: [u32; 2] = [1 << 30, 1 << 31];
        // Rows that are added depend on earlier samples as well.
        if self.query.has_aggregates() {
            return None;
        }
        let SampleForm { number, places } = self.player.form()?;
        let mut traces = [Snapshot::default(), Snapshot::default()];
        let mut is_traced = true;
        for (first, trace) in FIRST.into_iter().zip(&mut traces) {
            is_traced &= self.player.renumber(Some(first)) && self.query.collect(trace).is_ok();
        }
        // Also after a failure: its own numbers must be back.
        is_traced &= self.player.renumber(None);
        let [a, b] = &traces;
        let copies = copies(FIRST, [&a.block, &b.block], &places).filter(|_| is_traced)?;
        let model = collected.clone();
        let structures = vec![collected.structure];
        let copying = Copying { form: number, copies, model, structures, collected: SETTLED };
        let mut is_like = false;
        self.player.numbers(number, &mut |bytes, _| is_like = copying.is_like(bytes, collected));
        is_like.then_some(copying)
    }
}

/// Finds the copies of numbers by comparing two blocks that differ only in the numbers, which count up from `first` in
/// the order of `places`.
fn copies(first: [u32; 2], blocks: [&[u8]; 2], places: &[Range<usize>]) -> Option<Vec<NumberCopy>> {
    const WORD: usize = 8; // values begin at multiples of it
    let [a, b] = blocks.map(|block| block.chunks_exact(WORD));
    if a.len() != b.len() {
        return None;
    }
    let [start, other_start] = first.map(u64::from);
    let mut copies = Vec::new();
    let mut header = 0;
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
    // Behind the clocks, which are not copied.
    for (at, (a, b)) in a.zip(b).enumerate().skip(HEADER / WORD) {
        let (a, b) = (word(a)?, word(b)?);
        if a == b {
            header = a;
            continue;
        }
        let number = a.checked_sub(start).filter(|number| b.checked_sub(other_start) == Some(*number))?;
        let place = places.get(usize::try_from(number).ok()?)?;
        let to = at.checked_mul(WORD)?;
        // The size of the value is in the header before it.
        let is_long = place.len() == WORD && header & 0xFFFF_FFFF == 8;
        copies.push(NumberCopy { from: place.start, to, is_long });
    }
    Some(copies)
}

/// Length of PERF_DATA_HEADER, which contains the clocks.
const HEADER: usize = 48;

impl Copying {
    /// Copies the numbers of a sample into a block. Returns `false` if the sample or the block is too short for a
    /// number.
    fn copy(&self, sample: &[u8], block: &mut [u8]) -> bool {
        let mut is_there = true;
        for NumberCopy { from, to, is_long } in &self.copies {
            is_there &= match is_long {
                true => copy_number::<8>(sample, *from, block, *to),
                false => copy_number::<4>(sample, *from, block, *to),
            };
        }
        is_there
    }

    /// Returns `true` if a snapshot equals that of the copying plan after the numbers of this sample are copied into
    /// it.
    fn is_like(&self, sample: &[u8], snapshot: &Snapshot) -> bool {
        let mut block = self.model.block.clone();
        self.copy(sample, &mut block)
            && block.get(HEADER..) == snapshot.block.get(HEADER..)
            && Arc::ptr_eq(&self.model.entries, &snapshot.entries)
            && self.model.annex.is_lasting(&snapshot.annex)
    }
}

#[inline]
fn copy_number<const LEN: usize>(sample: &[u8], from: usize, block: &mut [u8], to: usize) -> bool {
    let number = sample.get(from..).and_then(<[u8]>::first_chunk::<LEN>);
    let place = block.get_mut(to..).and_then(<[u8]>::first_chunk_mut::<LEN>);
    number.zip(place).map(|(number, place)| *place = *number).is_some()
}

impl<P: Player> QueryHandle for Replay<P> {
    fn add(&mut self, entry: &Entry) -> Status {
        self.copying = None;
        self.query.add(entry)
    }

    fn delete(&mut self, entry: &Entry) -> Status {
        self.copying = None;
        self.query.delete(entry)
    }

    fn info(&mut self) -> Arc<[ResolvedEntry]> {
        self.query.infos()
    }

    fn next(&mut self, snapshot: &mut Snapshot) -> Result<NextOutcome, SourceError> {
        if !self.player.step()? {
            return Ok(NextOutcome::End);
        }
        if self.copy(snapshot) {
            let (left, next) = self.pause;
            self.pause = (left.saturating_sub(1), next.saturating_sub(1).max(1));
        } else {
            let collected = self.query.collect(snapshot);
            if collected.is_err() {
                self.copying = None;
            }
            collected?;
            self.prepare(snapshot);
        }
        Ok(NextOutcome::Sample)
    }
}
