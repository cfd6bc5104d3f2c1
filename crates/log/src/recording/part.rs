//! Part of a recording, written as one file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::PathBuf;

use perfset_core::Guid;
use perfset_engine::{FactKind, Window};

use super::about::RecordingAbout;
use super::block::{BlockHeader, BlockKind, Codec, Compressor, put_block_of, put_stored};
use super::budget::MOST_STEPS;
use super::bytes::Malformed;
use super::files::{ReachedTick, RecordingError, RecordingFile, WantedContents};
use super::notes::{InstanceNote, put_notes};
use super::registration::{RegistrationTexts, TableDefinition, put_definition};
use super::seal::Payloads;
use super::segment::{MOST_TICKS, SegmentTicks, SegmentWriter, StoredSegment};
use super::source::Recording;
use super::table::{Content, RowIdentity};
use super::tick::{MOST_TABLES, TickState, key};
use super::timeline::{RecordingFiles, ticks_in};
use crate::damage::{Damage, Damages};

/// Options of a part of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartOptions {
    /// `true` to write the recorded command lines of processes. They can contain secrets.
    pub with_command_lines: bool,
}

impl PartOptions {
    /// Sets whether command lines are written.
    #[must_use]
    pub fn with_command_lines(self, with_command_lines: bool) -> Self {
        Self { with_command_lines }
    }
}

/// Summary of a part of a recording that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordingPart {
    /// Number of ticks in the file that the part was written to.
    pub ticks: u64,
    /// Times of the first and the last tick of the part, in 100 ns since 1601 UTC.
    pub span: Option<(i64, i64)>,
    /// Length in bytes of the written part of the recording.
    pub bytes: u64,
    /// Damage of the recording's files that the ticks are from, with the paths of these files.
    pub damages: Vec<(PathBuf, Damages)>,
}

impl Recording {
    /// Writes the ticks in the recording's window as one file, with all help texts, annotations, missed ticks, and
    /// facts about instances. A query over the file has the samples that one over this recording has.
    /// Nothing is written if the window has no tick.
    ///
    /// Segments are copied as they are, except for those at the edges of the window. Only one segment is in memory at a
    /// time. Damaged ticks are left out.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write_part(
        &self,
        out: &mut dyn Write,
        options: PartOptions,
    ) -> Result<RecordingPart, RecordingError> {
        let files = self.files();
        let mut writer = PartWriter::new(files, self.window(), options, out);
        let chosen = ticks_in(files, self.window());
        let mut group = TickGroup::default();
        for (file, tick) in chosen {
            if !group.goes_on(files, (file, tick)) {
                writer.put_group(&std::mem::take(&mut group))?;
            }
            group.file = file;
            group.ticks.push(tick);
        }
        writer.put_group(&group)?;
        writer.finish()
    }
}

/// Ticks of one file that are stored in the same form, and become one segment.
#[derive(Debug, Default)]
struct TickGroup {
    file: usize,
    ticks: Vec<usize>,
}

impl TickGroup {
    /// Returns `true` if a tick can be added to the group that becomes one segment.
    fn goes_on(&self, files: &RecordingFiles, (file, tick): (usize, usize)) -> bool {
        /// Number of ticks in a segment's group from which the next whole tick begins another segment.
        const FEW: usize = 150;
        let (Some(last), Some(of)) = (self.ticks.last(), files.files.get(file)) else { return true };
        let about = |tick: usize| of.ticks().get(tick).map(|tick| tick.about);
        if self.file != file || about(*last) != about(tick) {
            return false;
        }
        match (of.segment_of(*last), of.segment_of(tick)) {
            (Some((segment, _)), Some((other, _))) => std::ptr::eq(segment, other),
            (None, None) => {
                let is_full = self.ticks.len() >= FEW && of.is_whole(tick);
                !is_full && self.ticks.len() < MOST_TICKS
            }
            _ => false,
        }
    }
}

/// Reason for which some ticks of a recording do not become a segment.
enum NoSegment {
    /// Index of a tick that cannot be read, and the reason.
    Damaged(usize, RecordingError),
    /// The ticks are too large for one segment, because they exceed a limit of segments.
    TooLarge(Malformed),
}

impl From<Malformed> for NoSegment {
    fn from(error: Malformed) -> Self {
        Self::TooLarge(error)
    }
}

/// Table of a source file of the recording, and the number that it has in the written part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PartTable {
    number: usize,
    of_source: usize,
    columns: usize,
}

/// Writer of a part of a recording.
struct PartWriter<'a> {
    files: &'a RecordingFiles,
    window: Window,
    options: PartOptions,
    /// Hash of the facts written to the part about each instance, by the hash of the instance.
    noted: HashMap<u64, u64>,
    /// Indexes of the ticks in the source file that were written to the part.
    written: Vec<usize>,
    out: &'a mut dyn Write,
    compressor: Compressor,
    /// Bytes of the part's blocks that are not written yet.
    blocks: Vec<u8>,
    /// Contents of the last written `about` block, and the number of `about` blocks before it, modulo 256.
    about: Option<(RecordingAbout, u8)>,
    /// Definitions of the tables of the written part, by number.
    defined: Vec<Option<TableDefinition>>,
    /// Index of the source file whose tables are in `tables`.
    file: Option<usize>,
    tables: Vec<PartTable>,
    used: HashSet<usize>,
    /// Number that the next tick of the written part gets.
    next: u64,
    done: RecordingPart,
}

impl<'a> PartWriter<'a> {
    fn new(files: &'a RecordingFiles, window: Window, options: PartOptions, out: &'a mut dyn Write) -> Self {
        Self {
            files,
            window,
            options,
            noted: HashMap::new(),
            written: Vec::new(),
            out,
            compressor: Compressor::new(3),
            blocks: Vec::new(),
            about: None,
            defined: Vec::new(),
            file: None,
            tables: Vec::new(),
            used: HashSet::new(),
            next: 0,
            done: RecordingPart::default(),
        }
    }

    /// Writes the ticks of a group to the part as one segment, or as several if one would be too large.
    fn put_group(&mut self, group: &TickGroup) -> Result<(), RecordingError> {
        let Some(file) = self.files.files.get(group.file) else { return Ok(()) };
        let Some(first) = group.ticks.first() else { return Ok(()) };
        self.used.insert(group.file);
        self.begin(file, *first)?;
        self.define_tables(group.file, file)?;
        let segment = file.segment_of(*first).map(|(segment, _)| segment);
        if let Some(segment) = segment.filter(|segment| self.can_copy(segment, &group.ticks)) {
            // A damaged segment is encoded again, so that the part itself is not damaged.
            if let Some(bytes) = segment.whole() {
                return self.put_segment(file, &group.ticks, &bytes);
            }
        }
        let mut left = vec![group.ticks.clone()];
        while let Some(mut ticks) = left.pop() {
            let Some((from, to)) = ticks.first().zip(ticks.last()).map(|(from, to)| (*from, *to)) else {
                continue;
            };
            match self.encoded(group.file, file, &ticks) {
                Ok(bytes) => self.put_segment(file, &ticks, &bytes)?,
                Err(NoSegment::Damaged(tick, error)) => {
                    self.files.damaged((group.file, tick), &error);
                    // Those after it are differences of it, up to the next whole one.
                    let after = tick.saturating_add(1)..to.saturating_add(1);
                    let next = after.clone().find(|tick| file.is_whole(*tick)).unwrap_or(after.end);
                    ticks.retain(|other| !(tick..next).contains(other));
                    left.push(ticks);
                }
                Err(NoSegment::TooLarge(error)) if from == to => {
                    let damage = Damage { offset: file.offset_of(from), what: error.to_string() };
                    self.files.damaged_part(group.file, &damage);
                }
                Err(NoSegment::TooLarge(_)) => {
                    let later = ticks.split_off(ticks.len().div_ceil(2));
                    left.extend([later, ticks]);
                }
            }
        }
        Ok(())
    }

    /// Returns `true` if a segment can be copied: these are all its ticks, and its tables have the same numbers in
    /// the part.
    fn can_copy(&self, segment: &StoredSegment, ticks: &[usize]) -> bool {
        let has_number = |number: usize| {
            self.tables.iter().any(|table| table.number == number && table.of_source == number)
        };
        segment.ticks().len() == ticks.len() && segment.tables().all(|(number, _)| has_number(number))
    }

    /// Writes an `about` block to the part before the ticks of another recorder; the first call also writes
    /// annotations and gaps.
    fn begin(&mut self, file: &RecordingFile, tick: usize) -> Result<(), RecordingError> {
        let Some(tick) = file.ticks().get(tick) else { return Ok(()) };
        let about = file.about_of(tick).cloned().unwrap_or_else(|| {
            // Nobody knows whose the ticks are, so they are not compared with any others.
            let known = |key| self.about.as_ref().and_then(|(about, _)| about.get(key)).unwrap_or_default();
            let run = format!("unknown {}", tick.sequence);
            RecordingAbout::default()
                .with(RecordingAbout::MACHINE, known(RecordingAbout::MACHINE))
                .with(RecordingAbout::BOOT, known(RecordingAbout::BOOT))
                .with(RecordingAbout::RUN, run)
        });
        let number = match &self.about {
            None => 0,
            Some((before, _)) if *before == about => return Ok(()),
            Some((_, before)) => before.wrapping_add(1),
        };
        let is_first = self.about.is_none();
        let mut payload = Vec::new();
        about.put(&mut payload);
        self.about = Some((about, number));
        self.put(BlockKind::About, tick.sequence, &payload)?;
        if !is_first {
            return Ok(());
        }
        let Window { begin, end } = self.window;
        for annotation in self.files.files.iter().flat_map(|file| &file.annotations) {
            if self.window.contains(annotation.time) {
                payload.clear();
                annotation.put(&mut payload);
                self.put(BlockKind::Mark, tick.sequence, &payload)?;
            }
        }
        for missed in self.files.files.iter().flat_map(|file| &file.missed) {
            // Also one of which the window has a part only.
            let is_outside =
                begin.is_some_and(|begin| missed.to < begin) || end.is_some_and(|end| missed.from > end);
            if !is_outside {
                payload.clear();
                missed.put(&mut payload);
                self.put(BlockKind::Gap, tick.sequence, &payload)?;
            }
        }
        Ok(())
    }

    /// Assigns to each table of a source file its number in the written part, and defines new tables there.
    fn define_tables(&mut self, place: usize, file: &RecordingFile) -> Result<(), RecordingError> {
        if self.file == Some(place) {
            return Ok(());
        }
        self.put_notes()?;
        self.file = Some(place);
        let sequence = file.ticks().first().map_or(0, |tick| tick.sequence);
        let sources =
            || file.tables.iter().enumerate().filter_map(|(at, table)| Some((at, table.as_deref()?)));
        let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
        let mut taken = HashSet::new();
        for (of_source, table) in sources() {
            let is_same = |number: &usize| {
                !taken.contains(number) && self.defined.get(*number).and_then(Option::as_ref) == Some(table)
            };
            // The same number if possible: then segments are copied as they are.
            let known = std::iter::once(of_source).chain(0..self.defined.len()).find(is_same);
            let number = match known {
                Some(number) => number,
                None => self.define(of_source, table, sequence)?,
            };
            taken.insert(number);
            numbers.insert(of_source, number);
        }
        // Of several registrations of a counterset the one with the highest number counts, and must be the same one.
        let last: BTreeMap<Guid, usize> = sources().map(|(at, table)| (table.counterset.guid, at)).collect();
        for (guid, of_source) in last {
            let Some(table) = file.tables.get(of_source).and_then(Option::as_deref) else { continue };
            let of_guid = self.defined.iter().flatten().rfind(|table| table.counterset.guid == guid);
            if of_guid.is_some_and(|counts| counts.counterset != table.counterset) {
                numbers.insert(of_source, self.define(usize::MAX, table, sequence)?);
            }
        }
        let part_table = |(of_source, number): (usize, usize)| {
            let columns = file.tables.get(of_source)?.as_ref()?.columns.len();
            Some(PartTable { number, of_source, columns })
        };
        self.tables = numbers.into_iter().filter_map(part_table).collect();
        self.tables.sort_unstable();
        Ok(())
    }

    /// Writes the notes about the instances in the written ticks of the last file, except for those that the part has.
    fn put_notes(&mut self) -> Result<(), RecordingError> {
        let ticks = std::mem::take(&mut self.written);
        let Some(file) = self.file.and_then(|place| self.files.files.get(place)) else { return Ok(()) };
        let (Some(first), Some(last)) =
            (ticks.first(), ticks.last().and_then(|tick| file.ticks().get(*tick)))
        else {
            return Ok(());
        };
        let sequence = file.ticks().get(*first).map_or(0, |tick| tick.sequence);
        let mut all = file.all_notes();
        // Of a part of the file, only some instances are there: nobody wants to send what he has cut off.
        if ticks.len() < file.ticks().len() && !all.is_empty() {
            let there = instances_in(file, &ticks, &all);
            all.iter_mut().for_each(|(counterset, notes)| {
                notes.retain(|note| there.contains(&(*counterset, note.instance.clone())));
            });
        }
        for (counterset, mut notes) in all {
            notes.retain_mut(|note| {
                let is_allowed = |kind| self.options.with_command_lines || kind != FactKind::CommandLine;
                note.facts.retain(|(kind, _)| is_allowed(*kind));
                let hash = |of: &dyn Fn(&mut DefaultHasher)| {
                    let mut hasher = DefaultHasher::new();
                    of(&mut hasher);
                    hasher.finish()
                };
                let instance = hash(&|hasher| (counterset, &note.instance).hash(hasher));
                let facts = hash(&|hasher| note.facts.hash(hasher));
                self.noted.insert(instance, facts) != Some(facts) && !note.facts.is_empty()
            });
            let about = self.about_number();
            let mut blocks = std::mem::take(&mut self.blocks);
            put_notes(
                &mut blocks,
                (sequence.min(last.sequence), about),
                counterset,
                &notes,
                &mut self.compressor,
            )?;
            self.blocks = blocks;
            self.write()?;
        }
        Ok(())
    }

    /// Defines a table of the written part under the number `wanted`, or under a new number if that one is taken.
    /// Returns the number.
    fn define(
        &mut self,
        wanted: usize,
        table: &TableDefinition,
        sequence: u64,
    ) -> Result<usize, RecordingError> {
        let is_free = wanted < MOST_TABLES && self.defined.get(wanted).is_none_or(Option::is_none);
        let number = if is_free { wanted } else { self.defined.len() };
        if number >= MOST_TABLES {
            let what = "the part has too many tables: choose a shorter time";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what).into());
        }
        if self.defined.len() <= number {
            self.defined.resize_with(number.saturating_add(1), || None);
        }
        if let Some(place) = self.defined.get_mut(number) {
            *place = Some(table.clone());
        }
        let mut payload = Vec::new();
        put_definition(&mut payload, number, table, RegistrationTexts::All);
        self.put(BlockKind::Set, sequence, &payload)?;
        Ok(number)
    }

    /// Encodes ticks of a source file as a segment, table by table, so that only one table is in memory at a time.
    fn encoded(&self, place: usize, file: &RecordingFile, ticks: &[usize]) -> Result<Vec<u8>, NoSegment> {
        let mut writer = SegmentWriter::new();
        let first = ticks.first().map_or(0, |first| file.whole_tick_of(*first).unwrap_or(*first));
        let count = ticks.last().map_or(0, |last| last.saturating_sub(first).saturating_add(1));
        let mut payloads = Payloads::new(file, first, count);
        for table in &self.tables {
            writer.begin_table_of((table.number, table.of_source), table.columns);
            self.add_ticks((place, file), ticks, Some(table.of_source), &mut payloads, &mut writer)?;
            writer.finish_tables()?;
        }
        if self.tables.is_empty() {
            self.add_ticks((place, file), ticks, None, &mut payloads, &mut writer)?;
        }
        Ok(writer.finish()?)
    }

    /// Adds ticks of a source file to a segment, each with the contents of one table.
    fn add_ticks(
        &self,
        (place, file): (usize, &RecordingFile),
        ticks: &[usize],
        table: Option<usize>,
        payloads: &mut Payloads<'_>,
        writer: &mut SegmentWriter,
    ) -> Result<(), NoSegment> {
        let is_wanted = |number: usize| Some(number) == table;
        let segment = ticks.first().and_then(|first| file.segment_of(*first)).map(|(segment, _)| segment);
        if let Some(segment) = segment {
            let mut cursor = SegmentTicks::new(segment, &is_wanted, &|_, _| true);
            for (_, tick) in ticks.iter().filter_map(|tick| file.segment_of(*tick)) {
                if let Some(state) = cursor.seek(tick) {
                    writer.add_tick(state)?;
                }
                let damages = cursor.take_damages();
                damages.iter().for_each(|damage| self.files.damaged_part(place, damage));
            }
            return Ok(());
        }
        let mut reached: Option<(usize, TickState)> = None;
        for tick in ticks {
            let whole = file.whole_tick_of(*tick).unwrap_or(*tick);
            let before = reached.take().filter(|(at, _)| *at >= whole);
            let first = before.as_ref().map_or(whole, |(at, _)| at.saturating_add(1));
            let mut state = before.map(|(_, state)| state);
            for next in first..=*tick {
                let sequence = file.ticks().get(next).map_or(0, |tick| tick.sequence);
                let read = payloads.with(next, |payload| match &mut state {
                    Some(state) => state.apply(payload, sequence, &is_wanted),
                    none => key(payload, sequence, &is_wanted).map(|read| *none = Some(read)),
                });
                let read = read.and_then(|read| {
                    let what = |error: Malformed| format!("tick {sequence}: {error}");
                    read.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, what(error)).into())
                });
                read.map_err(|error| NoSegment::Damaged(next, error))?;
            }
            if let Some(state) = state {
                writer.add_tick(&state)?;
                reached = Some((*tick, state));
            }
        }
        Ok(())
    }

    fn put_segment(
        &mut self,
        file: &RecordingFile,
        ticks: &[usize],
        stored: &[u8],
    ) -> Result<(), RecordingError> {
        self.written.extend_from_slice(ticks);
        let places = || ticks.iter().filter_map(|tick| file.ticks().get(*tick));
        let Some((first, last)) = places().next().zip(places().next_back()) else { return Ok(()) };
        let raw = u32::try_from(stored.len()).unwrap_or(u32::MAX);
        let header = BlockHeader {
            kind: BlockKind::Segment,
            codec: Codec::Plain.number(),
            flags: u16::from_le_bytes([0, self.about_number()]),
            stored: 0,
            raw,
            sequence: first.sequence,
            crc: 0,
        };
        put_stored(&mut self.blocks, header, stored)?;
        self.next = last.sequence.saturating_add(1);
        let begin = self.done.span.map_or_else(|| first.clocks.utc_100ns(), |(begin, _)| begin);
        self.done.span = Some((begin, last.clocks.utc_100ns()));
        self.done.ticks = self.done.ticks.saturating_add(u64::try_from(ticks.len()).unwrap_or(0));
        self.write()
    }

    fn about_number(&self) -> u8 {
        self.about.as_ref().map_or(0, |(_, number)| *number)
    }

    fn put(&mut self, kind: BlockKind, sequence: u64, payload: &[u8]) -> Result<(), RecordingError> {
        let about = self.about_number();
        put_block_of(&mut self.blocks, (kind, about), sequence, payload, &mut self.compressor)?;
        self.write()
    }

    fn write(&mut self) -> Result<(), RecordingError> {
        self.out.write_all(&self.blocks)?;
        self.done.bytes = self.done.bytes.saturating_add(u64::try_from(self.blocks.len()).unwrap_or(0));
        self.blocks.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<RecordingPart, RecordingError> {
        self.put_notes()?;
        if self.about.is_some() {
            self.put(BlockKind::End, self.next, &[])?;
        }
        self.out.flush()?;
        let files = &self.files.files;
        // Files whose ticks are all outside the window do not matter. Where a file without ticks belongs, nobody knows.
        let matters = |place: &usize| {
            self.used.contains(place) || files.get(*place).is_none_or(|file| file.ticks().is_empty())
        };
        let damages = self.files.damages().into_iter().enumerate();
        let damages = damages.filter(|(place, (_, damages))| matters(place) && !damages.is_empty());
        self.done.damages = damages.map(|(_, damages)| damages).collect();
        Ok(self.done)
    }
}

/// Returns the instances that some countersets have in some ticks of a recording's file.
fn instances_in(
    file: &RecordingFile,
    ticks: &[usize],
    countersets: &BTreeMap<Guid, Vec<InstanceNote>>,
) -> HashSet<(Guid, RowIdentity)> {
    let guid = |number: usize| {
        let guid = file.tables.get(number)?.as_ref()?.counterset.guid;
        countersets.contains_key(&guid).then_some(guid)
    };
    let is_wanted = |number: usize| guid(number).is_some();
    let last = ticks.last().copied().unwrap_or(usize::MAX);
    let wanted =
        WantedContents { tables: &is_wanted, columns: &|_, _| false, rows: None, last, steps: MOST_STEPS };
    let (mut there, mut reached) = (HashSet::new(), None);
    for tick in ticks {
        // Damage was reported when the ticks were written.
        let _ = file.reach(*tick, &mut reached, wanted);
        let Some(state) = reached.as_ref().and_then(ReachedTick::state) else { continue };
        for (number, table) in state.tables.iter().enumerate() {
            let (Some(guid), Content::Rows(rows)) = (guid(number), &table.content) else { continue };
            there.extend(rows.rows.iter().map(|row| (guid, row.clone())));
        }
    }
    there
}
