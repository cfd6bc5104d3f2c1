//! Files of a recording: their names, what is in each, and the order of their ticks.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use perfset_core::Guid;
use perfset_core::clock::{ClockReading, SystemTime};

use super::about::{Annotation, MissedTicks, RecordingAbout};
use super::block::{BlockHeader, BlockKind, ReadAt};
use super::bytes::Malformed;
pub(super) use super::closable::{open_file, open_named};
use super::notes::{self, InstanceNote};
use super::opening::{KnownDefinitions, OpeningMemory};
use super::registration::TableDefinition;
use super::segment::{DirectoryHead, SegmentTicks, StoredSegment};
use super::table::RowIdentity;
use super::tick::{TickState, WantedTables, clocks_of, key};
pub(super) use super::ticks::{FileTicks, TickLocation, TickPlace};
use super::walk::{Block, BlockWalker};
use super::writer::create_private;
use crate::damage::{Damage, Damages};

/// Name ending of a recording's file that was finished.
const FINISHED: &str = "perfset";
/// File name ending of a journal: a file that is being written, or that was not sealed.
const JOURNAL: &str = "journal";

/// Creates a recording's directory for its owner alone, if it is missing.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Creates a recording's journal whose first tick is number `sequence`. Names are for people; no reader trusts them.
pub(super) fn create_journal(
    folder: &Path,
    clocks: &ClockReading,
    boot: &str,
    sequence: u64,
) -> io::Result<(File, PathBuf)> {
    let boot: String = boot.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    let name = format!("{}-{boot}-{sequence:08}", time_of(clocks));
    let mut path = folder.join(format!("{name}.{JOURNAL}"));
    // Another recorder can have begun, without a tick, in the same second.
    for again in 2..100 {
        match create_private(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                path = folder.join(format!("{name}-{again}.{JOURNAL}"));
            }
            created => return Ok((created?, path)),
        }
    }
    Ok((create_private(&path)?, path))
}

/// Writes a recording's file without ticks, which gets its final name only when it is complete.
pub(super) fn write_finished(
    folder: &Path,
    clocks: &ClockReading,
    name: &str,
    bytes: &[u8],
) -> io::Result<()> {
    let mut path = folder.join(format!("{}-{name}.{FINISHED}", time_of(clocks)));
    // Two marks can be of one moment.
    for again in 2..1_000 {
        if !path.exists() {
            break;
        }
        path = folder.join(format!("{}-{name}-{again}.{FINISHED}", time_of(clocks)));
    }
    let temporary = path.with_extension("tmp");
    let mut file = create_private(&temporary)?;
    let written =
        file.write_all(bytes).and_then(|()| file.sync_data()).and_then(|()| fs::rename(&temporary, &path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Returns the number of the first tick in a recording's file, from its first block.
pub(super) fn first_sequence(path: &Path) -> Option<u64> {
    let file = open_file(path).ok()?;
    let mut bytes = [0; BlockHeader::LEN];
    let len = file.read_at_most(&mut bytes, 0).ok()?;
    (len == bytes.len()).then(|| BlockHeader::from_bytes(&bytes)).flatten().map(|header| header.sequence)
}

fn time_of(clocks: &ClockReading) -> String {
    let SystemTime { year, month, day, hour, minute, second, .. } = clocks.system_time;
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Returns the number of the next tick of a recording's directory: one more than the number of its last tick.
pub(super) fn next_sequence(folder: &Path) -> io::Result<u64> {
    // A file that cannot be read has no ticks that a new one could repeat.
    let firsts = paths(folder)?.into_iter().filter_map(|path| Some((first_sequence(&path)?, path)));
    let firsts: Vec<(u64, PathBuf)> = firsts.collect();
    let Some(newest) = firsts.iter().map(|(first, _)| *first).max() else { return Ok(0) };
    // Files follow each other, so only the newest are read to their end: a journal and its sealed copy can be two.
    let mut next = newest;
    for (_, path) in firsts.into_iter().filter(|(first, _)| *first == newest) {
        let Ok(file) = open_file(&path) else { continue };
        let Ok(file) = RecordingFile::read(path, Arc::new(file)) else { continue };
        let last = file.known_ticks().last().map_or(newest, |tick| tick.sequence.saturating_add(1));
        next = next.max(last);
    }
    Ok(next)
}

/// Returns `true` if a recording's file begins with a block, or ends within the magic number of its first block.
fn has_begin_of_block(source: &dyn ReadAt) -> io::Result<bool> {
    let mut magic = BlockHeader::MAGIC.map(|_| 0);
    let len = source.read_at_most(&mut magic, 0)?;
    Ok(magic.get(..len) == BlockHeader::MAGIC.get(..len))
}

/// Returns the path of the file that replaces a journal when it is sealed; `None` if it is no journal.
pub(super) fn sealed_path(journal: &Path) -> Option<PathBuf> {
    (journal.extension()?.to_str()? == JOURNAL).then(|| journal.with_extension(FINISHED))
}

/// Returns the files of a recording in a directory, by name.
pub(super) fn paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if matches!(ending, Some(FINISHED | JOURNAL)) {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Maximum number of ticks in a recording's file: three weeks with one tick per second. In a segment, a tick can take
/// less than a byte.
const MOST_TICKS: usize = 2_000_000;

/// Maximum number of bytes of the table definitions, annotations and gaps of a recording's file.
const MOST_TEXTS: u64 = 64 << 20;

/// Function that selects the columns that a reader wants, by table number and column number.
pub(super) type WantedColumns<'a> = &'a dyn Fn(usize, usize) -> bool;

/// Parts of a tick's contents that a reader wants; other parts may be left out, or have other values.
#[derive(Clone, Copy)]
pub(super) struct WantedContents<'a> {
    pub tables: WantedTables<'a>,
    pub columns: WantedColumns<'a>,
    /// Function that selects the wanted rows by their instances; `None` = all.
    pub rows: Option<&'a dyn Fn(&RowIdentity) -> bool>,
    /// Index of the last tick that is expected to be requested.
    pub last: usize,
    /// Maximum number of work steps to read through a segment of the recording.
    pub steps: usize,
}

/// Contents of a tick that was read, from which the ticks after it can be reached.
#[derive(Debug)]
pub(super) enum ReachedTick {
    Block(TickState),
    Segment {
        segment: usize,
        ticks: SegmentTicks,
    },
    /// Tick that cannot be read, like all ticks after it up to the next whole tick.
    Lost {
        key: usize,
        tick: usize,
        error: RecordingError,
    },
}

impl ReachedTick {
    /// Returns the contents of all tables at the tick; `None` if the tick cannot be read.
    pub fn state(&self) -> Option<&TickState> {
        match self {
            Self::Block(state) => Some(state),
            Self::Segment { ticks, .. } => Some(ticks.state()),
            Self::Lost { .. } => None,
        }
    }
}

/// Opened file of a recording, with the contents of its blocks.
pub(super) struct RecordingFile {
    pub path: PathBuf,
    source: Arc<dyn ReadAt>,
    /// Contents of the `about` blocks: facts about machine and recorder of the ticks; `None` where a block is damaged.
    abouts: Vec<Option<RecordingAbout>>,
    /// Definitions of the file's tables, by table number.
    pub tables: Vec<Option<Arc<TableDefinition>>>,
    /// Numbers of tables that have two definitions, so that their contents are unknown.
    ambiguous: HashSet<usize>,
    ticks: FileTicks,
    segments: Vec<Arc<StoredSegment>>,
    pub annotations: Vec<Annotation>,
    pub missed: Vec<MissedTicks>,
    /// Offset of each block with notes about instances, and the number of its tick. The notes are read on request.
    notes: Vec<(u64, u64)>,
    pub damages: Damages,
    /// Number of bytes that further table definitions, annotations and gaps of the file may take.
    room: u64,
    /// Number of bytes of the file after its last whole block.
    pub torn: u64,
    /// `true` if the recorder finished the file.
    pub is_finished: bool,
}

impl std::fmt::Debug for RecordingFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordingFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Reason for which a file of a recording is not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file or directory of the recording cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file does not begin like a file of a recording.
    #[error("no recording: it does not begin with a block that says whose it is")]
    NotARecording,
    /// The file ends within its first block: a recorder is about to write that block, or was ended while it wrote it.
    #[error("no recording yet: the file ends in its first block")]
    NotBegun,
    /// The file has a block that only a later version of perfset can read.
    #[error(
        "written by {writer}, which is later than this program: block {kind} at byte {offset} is unknown"
    )]
    LaterVersion {
        /// Name and version of the later program that wrote the file.
        writer: String,
        /// Number of the kind of the block that cannot be read.
        kind: u8,
        /// Offset in the file of the block that cannot be read.
        offset: u64,
    },
    /// The directory has no file of a recording.
    #[error("no recording: no file of the directory ends in .perfset or .journal")]
    Empty,
}

impl RecordingFile {
    /// Reads all blocks of a recording's file, except for the values in its ticks.
    pub fn read(path: PathBuf, source: Arc<dyn ReadAt>) -> Result<Self, RecordingError> {
        Self::read_one_of(path, source, &mut OpeningMemory::default())
    }

    /// Reads a file of a recording's directory as [`RecordingFile::read`] does.
    pub fn read_one_of(
        path: PathBuf,
        source: Arc<dyn ReadAt>,
        memory: &mut OpeningMemory,
    ) -> Result<Self, RecordingError> {
        // A file that begins otherwise is none.
        let mut walker = BlockWalker::with_window(Arc::clone(&source), memory.take_window())?;
        let (about, mut number) = match walker.next_block()? {
            Some(block) if block.header.kind == BlockKind::About => {
                let number = block.header.about_number();
                (block.into_payload(), number)
            }
            None if walker.damages().is_empty() && has_begin_of_block(&*source)? => {
                return Err(RecordingError::NotBegun);
            }
            _ => return Err(RecordingError::NotARecording),
        };
        let about = about.and_then(|payload| RecordingAbout::read(&payload));
        let about = about.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        let mut file = Self {
            path,
            source,
            abouts: vec![Some(about)],
            tables: Vec::new(),
            ambiguous: HashSet::new(),
            ticks: FileTicks::default(),
            segments: Vec::new(),
            annotations: Vec::new(),
            missed: Vec::new(),
            notes: Vec::new(),
            damages: Damages::default(),
            room: MOST_TEXTS,
            torn: 0,
            is_finished: false,
        };
        let mut key = None;
        while let Some(block) = walker.next_block()? {
            let BlockHeader { kind, flags, .. } = block.header;
            let offset = block.offset;
            if kind != BlockKind::About && block.header.about_number() != number {
                // Nothing says whose the ticks from here on are, so they are not compared with those before.
                (number, key) = (block.header.about_number(), None);
                file.abouts.push(None);
                walker.damaged(offset, "the block is missing that says whose the samples from here on are");
            }
            match kind {
                BlockKind::Unknown(kind) if flags & BlockHeader::SKIPPABLE == 0 => {
                    let writer = file.about().and_then(|about| about.get(RecordingAbout::WRITER));
                    let writer = writer.unwrap_or("an unknown program").to_owned();
                    return Err(RecordingError::LaterVersion { writer, kind, offset });
                }
                BlockKind::End => file.is_finished = true,
                BlockKind::About => {
                    // A difference is never one from a tick of another recorder.
                    (number, key) = (block.header.about_number(), None);
                    let about = file.take_about(block);
                    if let Err(error) = &about {
                        walker
                            .damaged(offset, format!("nothing says whose the samples after it are: {error}"));
                    }
                    file.abouts.push(about.ok());
                }
                _ => {
                    if let Err(error) = file.take(block, &mut key, &mut memory.definitions) {
                        walker.damaged(offset, format!("a block is left out: {error}"));
                    }
                }
            }
        }
        (file.damages, file.torn, memory.window) = walker.into_parts();
        Ok(file)
    }

    /// Returns all ticks of the recording's file; the first call reads the directories of segments.
    pub fn ticks(&self) -> &[TickPlace] {
        self.ticks.all(&self.segments)
    }

    /// Returns the times of the file's ticks from number `next` on. The ticks of segments do not stay in memory.
    pub fn times(&self, next: u64) -> Vec<i64> {
        let is_new = self.ticks.first().is_none_or(|first| first.sequence >= next);
        match self.ticks.spans() {
            Some(_) if is_new => self.segments.iter().flat_map(|segment| segment.times()).collect(),
            _ => {
                let ticks = self.ticks().iter().filter(|tick| tick.sequence >= next);
                ticks.map(|tick| tick.time).collect()
            }
        }
    }

    /// Returns the list of the file's ticks as far as it is known without reading the segments.
    pub fn known_ticks(&self) -> &FileTicks {
        &self.ticks
    }

    /// Returns the damage of directories of segments that was found since the file was opened.
    pub fn directory_damages(&self) -> impl Iterator<Item = &Damage> {
        self.segments.iter().filter_map(|segment| segment.directory_damage())
    }

    /// Reads the directories of all segments of the file. Returns `true` if none is damaged.
    pub fn check_directories(&self) -> bool {
        self.segments.iter().all(|segment| segment.directory().is_ok())
    }

    /// Returns the contents of the file's last `about` block that is not damaged.
    pub fn about(&self) -> Option<&RecordingAbout> {
        self.abouts.iter().rev().flatten().next()
    }

    /// Returns the facts about the machine and the recorder that a tick is from, if they are known.
    pub fn about_of(&self, tick: &TickPlace) -> Option<&RecordingAbout> {
        self.abouts.get(tick.about).and_then(Option::as_ref)
    }

    /// Returns the number of `about` blocks in the file.
    pub fn abouts(&self) -> usize {
        self.abouts.len()
    }

    fn take_about(&mut self, block: Block) -> Result<RecordingAbout, Malformed> {
        self.reserve(&block)?;
        RecordingAbout::read(&block.into_payload()?)
    }

    /// Counts the bytes of a block whose contents stay in memory against the file's limit.
    fn reserve(&mut self, block: &Block) -> Result<(), Malformed> {
        let left = self.room.checked_sub(u64::from(block.header.raw).saturating_add(64));
        let what = || Malformed { offset: 0, what: "too many definitions or marks".to_owned() };
        self.room = left.ok_or_else(what)?;
        Ok(())
    }

    /// Stores the definition of a table of the file; a second, different definition is an error and removes both.
    fn define(&mut self, number: usize, table: Arc<TableDefinition>) -> Result<(), Malformed> {
        if self.tables.len() <= number {
            self.tables.resize_with(number.saturating_add(1), || None);
        }
        let is_ambiguous = self.ambiguous.contains(&number);
        let Some(place) = self.tables.get_mut(number) else { return Ok(()) };
        if is_ambiguous || place.as_ref().is_some_and(|known| *known != table) {
            *place = None;
            self.ambiguous.insert(number);
            let what = format!("table {number} has two definitions, so it is left out");
            return Err(Malformed { offset: 0, what });
        }
        *place = Some(table);
        Ok(())
    }

    /// Stores the contents of a block of the recording's file.
    fn take(
        &mut self,
        block: Block,
        key: &mut Option<usize>,
        known: &mut KnownDefinitions,
    ) -> Result<(), Malformed> {
        let BlockHeader { kind, sequence, raw, .. } = block.header;
        let offset = block.offset;
        let about = self.abouts.len().saturating_sub(1);
        if matches!(kind, BlockKind::Set | BlockKind::Mark | BlockKind::Gap) {
            self.reserve(&block)?;
        }
        if kind == BlockKind::Notes {
            // Their texts are read on demand.
            let left = self.room.checked_sub(64).filter(|_| raw <= notes::MOST_BYTES);
            self.room = left.ok_or_else(|| Malformed { offset: 0, what: "too many notes".to_owned() })?;
            self.notes.push((offset, sequence));
        }
        match kind {
            BlockKind::Set => {
                let (number, table) = known.definition(block)?;
                self.define(number, table)?;
            }
            BlockKind::Key | BlockKind::Tick => {
                let is_key = kind == BlockKind::Key;
                let last = self.ticks.last();
                if last.is_some_and(|last| last.sequence >= sequence) || self.ticks.len() >= MOST_TICKS {
                    *key = None;
                    let what = "tick that does not follow those before".to_owned();
                    return Err(Malformed { offset: 0, what });
                }
                let before = last.filter(|_| !is_key);
                // After damage the differences have nothing to be added to, until the next whole tick.
                let is_next = before.is_none_or(|before| before.sequence.checked_add(1) == Some(sequence));
                if !is_key && (before.is_none() || key.is_none() || !is_next) {
                    *key = None;
                    let what = "tick whose tick before is missing".to_owned();
                    return Err(Malformed { offset: 0, what });
                }
                let payload = block.into_payload()?;
                let clocks = clocks_of(&payload, before.as_ref().map(|before| &before.clocks))?;
                let at = self.ticks.len();
                let key = if is_key { *key.insert(at) } else { key.unwrap_or(at) };
                let place = TickLocation::Block { offset, key };
                let time = clocks.utc_100ns();
                self.ticks.push(TickPlace { sequence, clocks, time, about, place }, &self.segments);
            }
            BlockKind::Segment => {
                let (stored_offset, stored_len) = (block.stored_offset(), block.header.stored);
                let source = Arc::clone(&self.source);
                let stored = block.into_payload()?;
                let (opened, head) = StoredSegment::open_head(&stored, source, (stored_offset, stored_len))?;
                self.check(&head)?;
                self.segments.push(opened);
                if let Some(span) = head.span {
                    self.ticks.push_segment(about, span, &self.segments);
                }
                // A difference needs the contents of its tick before, which is not in a block.
                *key = None;
            }
            BlockKind::Mark => self.annotations.push(Annotation::read(&block.into_payload()?)?),
            BlockKind::Gap => self.missed.push(MissedTicks::read(&block.into_payload()?)?),
            _ => {}
        }
        Ok(())
    }

    /// Checks that a segment fits the file: its ticks follow the earlier ones, and its tables have the defined columns.
    fn check(&self, head: &DirectoryHead) -> Result<(), Malformed> {
        let wrong = |what: String| Err(Malformed { offset: 0, what });
        if let Some(span) = &head.span {
            if self.ticks.last().is_some_and(|last| last.sequence >= span.first.0) {
                return wrong("segment whose ticks do not follow those before".to_owned());
            }
            if self.ticks.len().saturating_add(span.count) > MOST_TICKS {
                return wrong(format!("more than {MOST_TICKS} ticks in a file"));
            }
        }
        for (number, columns) in head.tables.iter().copied() {
            let defined = self.tables.get(number).and_then(Option::as_ref).map(|table| table.columns.len());
            if defined.is_some_and(|defined| defined != columns) {
                return wrong(format!("table {number} has {columns} columns, and another number is defined"));
            }
        }
        Ok(())
    }

    /// Returns `true` if the ticks of the file are in segments, which are read faster than blocks.
    pub fn is_sealed(&self) -> bool {
        !self.segments.is_empty()
    }

    /// Reads the contents of a tick. `reached` is an earlier tick of this file that was read for the same contents,
    /// or none. Returns damage that was found, which costs parts of the contents.
    pub fn reach(
        &self,
        tick: usize,
        reached: &mut Option<ReachedTick>,
        wanted: WantedContents<'_>,
    ) -> Result<Vec<Damage>, RecordingError> {
        let Some(place) = self.ticks().get(tick) else { return Ok(Vec::new()) };
        match place.place {
            TickLocation::Block { key, .. } => {
                self.reach_block((key, tick), reached, wanted.tables)?;
                Ok(Vec::new())
            }
            TickLocation::Segment { segment, tick } => {
                if !matches!(reached, Some(ReachedTick::Segment { segment: known, .. }) if *known == segment)
                {
                    *reached = self.segments.get(segment).map(|opened| ReachedTick::Segment {
                        segment,
                        ticks: self.cursor(segment, opened, wanted),
                    });
                }
                let Some(ReachedTick::Segment { ticks, .. }) = reached else { return Ok(Vec::new()) };
                ticks.seek(tick);
                Ok(ticks.take_damages())
            }
        }
    }

    fn cursor(&self, number: usize, opened: &Arc<StoredSegment>, wanted: WantedContents<'_>) -> SegmentTicks {
        let mut ticks = SegmentTicks::new(opened, wanted.tables, wanted.columns).with_steps(wanted.steps);
        if let Some(rows) = wanted.rows {
            ticks = ticks.with_rows(rows);
        }
        match self.ticks().get(wanted.last).map(|tick| tick.place) {
            Some(TickLocation::Segment { segment, tick }) if segment == number => ticks.with_last(tick),
            _ => ticks,
        }
    }

    fn reach_block(
        &self,
        (key, tick): (usize, usize),
        reached: &mut Option<ReachedTick>,
        wanted: WantedTables<'_>,
    ) -> Result<(), RecordingError> {
        let sequence = |tick: usize| self.ticks().get(tick).map_or(0, |tick| tick.sequence);
        // Only a tick on the way from the whole tick to this one is of use.
        let is_on_the_way = |state: &TickState| (sequence(key)..=sequence(tick)).contains(&state.sequence);
        let mut state = match reached.take() {
            Some(ReachedTick::Block(state)) if is_on_the_way(&state) => Some(state),
            Some(ReachedTick::Lost { key: of, tick: lost, error }) if of == key && lost <= tick => {
                // Without this, each of many ticks would be read up to the one that is lost.
                let what = io::Error::new(io::ErrorKind::InvalidData, error.to_string());
                *reached = Some(ReachedTick::Lost { key, tick: lost, error });
                return Err(what.into());
            }
            _ => None,
        };
        let known = state.as_ref().map(|state| state.sequence);
        let first = known.map_or(key, |known| {
            let from = self.ticks().get(key..).unwrap_or_default();
            key.saturating_add(from.partition_point(|tick| tick.sequence <= known))
        });
        for next in first..=tick {
            if let Err(error) = self.apply(next, &mut state, wanted) {
                let what = io::Error::new(io::ErrorKind::InvalidData, error.to_string());
                *reached = Some(ReachedTick::Lost { key, tick: next, error });
                return Err(what.into());
            }
        }
        *reached = state.map(ReachedTick::Block);
        Ok(())
    }

    /// Applies a tick stored as a block to `state`, the contents at the tick before; without a state, the tick must be
    /// whole.
    fn apply(
        &self,
        tick: usize,
        state: &mut Option<TickState>,
        wanted: WantedTables<'_>,
    ) -> Result<(), RecordingError> {
        let payload = self.payload(tick)?;
        let sequence = self.ticks().get(tick).map_or(0, |tick| tick.sequence);
        let invalid = |error: Malformed| {
            io::Error::new(io::ErrorKind::InvalidData, format!("tick {sequence}: {error}"))
        };
        match state {
            Some(state) => state.apply(&payload, sequence, wanted).map_err(invalid)?,
            None => *state = Some(key(&payload, sequence, wanted).map_err(invalid)?),
        }
        Ok(())
    }

    /// Returns the offset in the file of the block that contains a tick.
    pub fn offset_of(&self, tick: usize) -> u64 {
        match self.ticks().get(tick).map(|tick| tick.place) {
            Some(TickLocation::Block { offset, .. }) => offset,
            Some(TickLocation::Segment { segment, .. }) => {
                self.segments.get(segment).map_or(0, |segment| segment.offset())
            }
            None => 0,
        }
    }

    /// Returns `true` if the file defines a table with this number.
    pub fn has_table(&self, number: usize) -> bool {
        self.tables.get(number).is_some_and(Option::is_some)
    }

    /// Returns a segment of the file by its index.
    pub fn segment(&self, number: usize) -> Option<&StoredSegment> {
        self.segments.get(number).map(|segment| &**segment)
    }

    /// Returns the index of the segment that contains a tick; `None` if the tick is a block.
    pub fn segment_number_of(&self, tick: usize) -> Option<usize> {
        match self.ticks().get(tick)?.place {
            TickLocation::Block { .. } => None,
            TickLocation::Segment { segment, .. } => Some(segment),
        }
    }

    /// Returns the segment that contains a tick, with the index of the tick in it; `None` if the tick is a block.
    pub fn segment_of(&self, tick: usize) -> Option<(&Arc<StoredSegment>, usize)> {
        match self.ticks().get(tick)?.place {
            TickLocation::Block { .. } => None,
            TickLocation::Segment { segment, tick } => Some((self.segments.get(segment)?, tick)),
        }
    }

    /// Returns the whole tick from which the differences up to a tick begin; `None` if the tick is in a segment.
    pub fn whole_tick_of(&self, tick: usize) -> Option<usize> {
        match self.ticks().get(tick)?.place {
            TickLocation::Block { key, .. } => Some(key),
            TickLocation::Segment { .. } => None,
        }
    }

    /// Returns `true` if a tick is whole, so that no earlier tick is needed to read it.
    pub fn is_whole(&self, tick: usize) -> bool {
        matches!(self.ticks().get(tick), Some(TickPlace { place: TickLocation::Block { key, .. }, .. }) if *key == tick)
    }

    /// Reads all notes about instances in the file, by counterset, in their order.
    pub fn all_notes(&self) -> BTreeMap<Guid, Vec<InstanceNote>> {
        let mut all: BTreeMap<Guid, Vec<InstanceNote>> = BTreeMap::new();
        let mut room = usize::try_from(MOST_TEXTS).unwrap_or(usize::MAX);
        for from_end in (0..self.notes.len()).rev() {
            for (counterset, note) in self.notes(from_end, u64::MAX).unwrap_or_default() {
                // A recorder begins another file long before.
                let Some(left) = room.checked_sub(note.len()) else { return all };
                room = left;
                all.entry(counterset).or_default().push(note);
            }
        }
        all
    }

    /// Reads the notes about instances in one block of the file, counted from the last block, with their counterset.
    /// Returns `None` if there is no such block. Damaged notes are left out. An instance without a birth can be
    /// another one later, so its notes from after the tick `last` are left out too.
    pub fn notes(&self, from_end: usize, last: u64) -> Option<Vec<(Guid, InstanceNote)>> {
        let (offset, sequence) = *self.notes.iter().rev().nth(from_end)?;
        let read = || {
            let mut walker = BlockWalker::new(Arc::clone(&self.source)).ok()?;
            walker.seek(offset);
            let block = walker.next_block().ok()?.filter(|block| block.offset == offset);
            let payload = block.filter(|block| block.header.raw <= notes::MOST_BYTES)?.into_payload().ok()?;
            notes::notes(&payload).ok()
        };
        let Some((counterset, notes)) = read() else { return Some(Vec::new()) };
        // A fact that is read after a tick is written with the next one.
        let is_early = sequence <= last.saturating_add(1);
        let notes = notes.into_iter().filter(|note| is_early || note.instance.birth != 0);
        Some(notes.map(|note| (counterset, note)).collect())
    }

    /// Reads the payload of the tick with this index in the file, which must have a block of its own.
    pub fn payload(&self, tick: usize) -> Result<Vec<u8>, RecordingError> {
        let failed = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        let Some(TickPlace { sequence, place: TickLocation::Block { offset, .. }, .. }) =
            self.ticks().get(tick)
        else {
            return Err(failed(format!("tick {tick} is no block")).into());
        };
        let mut walker = BlockWalker::new(Arc::clone(&self.source))?;
        walker.seek(*offset);
        let block = walker.next_block()?.filter(|block| block.offset == *offset);
        let block =
            block.ok_or_else(|| failed(format!("tick {sequence} at byte {offset} has changed since")))?;
        let payload = block.into_payload();
        Ok(payload.map_err(|error| failed(format!("tick {sequence} at byte {offset}: {error}")))?)
    }
}
