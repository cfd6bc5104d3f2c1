//! Writer of recordings: one tick after the other, into a directory of files.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use perfset_core::clock::ClockReading;
use perfset_core::sample::Clocks;
use perfset_core::{Guid, Identity};
use perfset_engine::{Fact, Snapshot};

use super::about::{Annotation, MissedTicks, RecordingAbout};
use super::block::{BlockHeader, BlockKind, Compressor, put_block};
use super::files;
use super::notes::RecorderNotes;
use super::registration::{RegistrationTexts, TableDefinition, put_definition};
use super::table::{Content, RowIdentity, StateList};
use super::tick::{MOST_TABLES, TickState, TickTable, put_key, put_tick};

/// Options of the writer of a recording.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Longest time between two synchronizations with the disk; `None` leaves that to the system.
    pub sync: Option<Duration>,
    /// Number of ticks in each file of the recording.
    pub ticks_per_file: u32,
    /// Length in bytes from which a file of the recording is finished, regardless of its number of ticks.
    pub bytes_per_file: Option<u64>,
    /// `true` to write the help texts of built-in countersets too, for a file that is sent to other people.
    pub with_texts: bool,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            sync: Some(Duration::from_secs(10)),
            ticks_per_file: 300,
            bytes_per_file: None,
            with_texts: false,
        }
    }
}

impl WriterOptions {
    /// Sets the longest time between two synchronizations of the recording with the disk.
    #[must_use]
    pub fn sync(self, sync: Option<Duration>) -> Self {
        Self { sync, ..self }
    }

    /// Sets whether the recording contains help texts of built-in countersets too.
    #[must_use]
    pub fn with_texts(self, with_texts: bool) -> Self {
        Self { with_texts, ..self }
    }

    /// Sets the length in bytes from which a file of the recording is finished.
    #[must_use]
    pub fn bytes_per_file(self, bytes_per_file: Option<u64>) -> Self {
        Self { bytes_per_file, ..self }
    }

    /// Sets the number of ticks in each file of the recording.
    #[must_use]
    pub fn ticks_per_file(self, ticks_per_file: u32) -> Self {
        Self { ticks_per_file, ..self }
    }
}

/// Part of a tick that is written: a table, and the entry of a snapshot that has its rows.
#[derive(Clone, Copy, Debug)]
pub struct TickPart<'a> {
    /// Number of the table, from [`RecordingWriter::add_table`].
    pub table: usize,
    /// Snapshot that has the table's rows.
    pub snapshot: &'a Snapshot,
    /// Index in the snapshot of the entry that has the table's rows.
    pub entry: usize,
}

/// Directory or file that a recording is written to.
#[derive(Debug)]
enum WriterTarget {
    /// Directory, to which files are written one after the other.
    Folder(PathBuf),
    /// Single file, of any length.
    File(PathBuf),
}

/// Writer of a recording into a directory or a file.
///
/// Each tick is one write. If one fails, as on a full disk, the tick is lost and counted, and a later write says when
/// ticks were lost and why. What was written before stays readable.
#[derive(Debug)]
pub struct RecordingWriter {
    target: WriterTarget,
    about: RecordingAbout,
    options: WriterOptions,
    journal: Option<Journal>,
    /// Sequence number of the next tick that is written.
    sequence: u64,
    tables: Vec<TableSlot>,
    /// Numbers of the tables whose definition is not in the journal yet.
    undefined: Vec<usize>,
    clocks: ClockReading,
    states: StateList,
    /// Number of cell states that the journal has.
    written_states: usize,
    compressor: Compressor,
    /// Bytes of blocks that are prepared for the next write.
    out: Vec<u8>,
    missed: Option<MissedTicks>,
    notes: RecorderNotes,
    bytes_written: u64,
    ticks_written: u64,
    bytes_of_last_file: u64,
}

/// Table of the written recording, with its contents at the last collection and at the one before.
#[derive(Debug)]
struct TableSlot {
    definition: TableDefinition,
    now: TickTable,
    before: Option<Content>,
}

impl TableSlot {
    fn rows(&self) -> &[RowIdentity] {
        match &self.now.content {
            Content::Rows(table) => &table.rows,
            Content::Failed(_) => &[],
        }
    }
}

/// Returns the instances that a recorded counterset had at its last collection.
fn instances(tables: &[TableSlot], counterset: &Guid) -> HashSet<RowIdentity> {
    let of_set = tables.iter().filter(|slot| slot.definition.counterset.guid == *counterset);
    of_set.flat_map(|slot| slot.rows().iter().cloned()).collect()
}

/// Journal that is being written: the newest file of the recording.
#[derive(Debug)]
struct Journal {
    file: File,
    path: PathBuf,
    /// Number of bytes of the journal that were written completely.
    len: u64,
    ticks: u32,
    last_sync: Instant,
    /// `true` if the next tick must be a whole one, because the tick before is not in the journal.
    is_broken: bool,
    /// `true` if the journal has an annotation, which is useful even without a tick.
    has_marks: bool,
}

/// File of a recording that was finished, and will not be written again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedFile {
    /// Path of the finished file.
    pub path: PathBuf,
}

impl RecordingWriter {
    /// Begins to write a recording into a directory, which is created for its owner alone if it is missing. Ticks
    /// continue those that are in it. `now` is in the name of the first file.
    ///
    /// # Errors
    /// If the directory cannot be created or read.
    pub fn create(
        folder: &Path,
        now: &ClockReading,
        about: RecordingAbout,
        options: WriterOptions,
    ) -> io::Result<Self> {
        files::create_folder(folder)?;
        let sequence = files::next_sequence(folder)?;
        Ok(Self::new(WriterTarget::Folder(folder.to_owned()), now, about, options, sequence))
    }

    /// Begins to write a recording into a new file.
    ///
    /// # Errors
    /// If the file exists, or cannot be created.
    pub fn create_file(
        path: &Path,
        now: &ClockReading,
        about: RecordingAbout,
        options: WriterOptions,
    ) -> io::Result<Self> {
        Self::fill_file(create_private(path)?, path, now, about, options)
    }

    /// Begins to write a recording into an empty file that is open.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn fill_file(
        file: File,
        path: &Path,
        now: &ClockReading,
        about: RecordingAbout,
        options: WriterOptions,
    ) -> io::Result<Self> {
        let mut writer = Self::new(WriterTarget::File(path.to_owned()), now, about, options, 0);
        writer.begin_blocks(file, path.to_owned(), 0)?;
        writer.append()?;
        writer.out.clear();
        Ok(writer)
    }

    fn new(
        target: WriterTarget,
        now: &ClockReading,
        about: RecordingAbout,
        options: WriterOptions,
        sequence: u64,
    ) -> Self {
        Self {
            target,
            about,
            options,
            journal: None,
            sequence,
            tables: Vec::new(),
            undefined: Vec::new(),
            clocks: *now,
            states: StateList::default(),
            written_states: 0,
            compressor: Compressor::new(1),
            out: Vec::new(),
            missed: None,
            notes: RecorderNotes::default(),
            bytes_written: 0,
            ticks_written: 0,
            bytes_of_last_file: 0,
        }
    }

    /// Writes an annotation into a separate file of a recording's directory, to which a recorder may be writing.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn annotate_folder(
        folder: &Path,
        now: &ClockReading,
        about: &RecordingAbout,
        annotation: &Annotation,
    ) -> io::Result<()> {
        // Ticks of this number are in other files, so the file has a name of its own.
        let (mut out, mut payload) = (Vec::new(), Vec::new());
        let mut compressor = Compressor::new(1);
        about.put(&mut payload);
        // As old as the newest file, so that both are removed at the same time.
        let sequence = files::paths(folder)?.iter().filter_map(|path| files::first_sequence(path)).max();
        let sequence = sequence.unwrap_or(0);
        put_block(&mut out, BlockKind::About, sequence, &payload, &mut compressor)?;
        payload.clear();
        annotation.put(&mut payload);
        put_block(&mut out, BlockKind::Mark, sequence, &payload, &mut compressor)?;
        put_block(&mut out, BlockKind::End, sequence, &[], &mut compressor)?;
        // Several can be written in one second, and in several containers by processes of one number.
        let name = format!("mark-{}-{}", std::process::id(), now.perf_time);
        files::write_finished(folder, now, &name, &out)
    }

    /// Returns the path of the directory or file that the recording is written to.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.target {
            WriterTarget::Folder(path) | WriterTarget::File(path) => path,
        }
    }

    /// Returns `true` if the recording is written into a directory.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        matches!(self.target, WriterTarget::Folder(_))
    }

    /// Returns the path of the recording's file that is written now.
    #[must_use]
    pub fn written_file(&self) -> Option<&Path> {
        self.journal.as_ref().map(|journal| &*journal.path)
    }

    /// Returns the length in bytes of the recording's last file that was finished.
    #[must_use]
    pub fn bytes_of_last_file(&self) -> u64 {
        self.bytes_of_last_file
    }

    /// Returns the number of ticks that the writer has written.
    #[must_use]
    pub fn ticks_written(&self) -> u64 {
        self.ticks_written
    }

    /// Returns the sequence number of the next tick that the writer writes.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns the number of bytes that the writer has written.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    /// Returns the ticks that were lost since the last successful write.
    #[must_use]
    pub fn missed(&self) -> Option<&MissedTicks> {
        self.missed.as_ref()
    }

    /// Adds a table to the recording, and returns the table's number.
    ///
    /// # Errors
    /// If there are too many tables.
    pub fn add_table(&mut self, definition: TableDefinition) -> io::Result<usize> {
        let number = self.tables.len();
        if number >= MOST_TABLES {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a recording has too many tables"));
        }
        self.tables.push(TableSlot { definition, now: TickTable::default(), before: None });
        self.undefined.push(number);
        Ok(number)
    }

    /// Stores facts that `read` returns, about at most `most` instances of a counterset that are new in the last
    /// tick. They are written with the next tick, and again into each file while the instance is there.
    pub fn note_new(
        &mut self,
        counterset: &Guid,
        most: usize,
        read: &mut dyn FnMut(&Identity<'_>) -> Vec<Fact>,
    ) {
        let last = self.sequence.saturating_sub(1);
        let of_last = |slot: &&TableSlot| slot.now.collected == Some(last);
        for slot in self.tables.iter().filter(of_last) {
            if slot.definition.counterset.guid == *counterset {
                self.notes.add_new(*counterset, slot.rows().iter(), most, read);
            }
        }
    }

    /// Writes a tick of the recording. Returns the file that it finished, if any.
    ///
    /// # Errors
    /// If the tick could not be written. It is counted as missed, and the next one can be tried.
    pub fn tick(
        &mut self,
        clocks: &ClockReading,
        parts: &[TickPart<'_>],
    ) -> io::Result<Option<FinishedFile>> {
        let sequence = self.sequence;
        // A tick that is lost has a number too: then a reader sees that it is missing.
        self.sequence = self.sequence.saturating_add(1);
        let before = std::mem::replace(&mut self.clocks, *clocks);
        for part in parts {
            let Self { tables, states, .. } = self;
            let Some(slot) = tables.get_mut(part.table) else { continue };
            let spare = slot.before.take().unwrap_or_default();
            let was = std::mem::replace(&mut slot.now.content, spare);
            slot.before = slot.now.collected.is_some().then_some(was);
            slot.now.content.take(part.snapshot, part.entry, states);
            let own = part.snapshot.clocks();
            if let Content::Rows(table) = &mut slot.now.content {
                // Queries of one tick are collected one after the other.
                if own != clocks && table.clocks.is_none() {
                    table.clocks = Some(Clocks::from(own));
                }
            }
            slot.now.collected = Some(sequence);
            slot.now.clocks = *clocks;
        }
        match self.write(sequence, &before) {
            Ok(()) => Ok(self.finish_if_full()),
            Err(error) => {
                self.lose(sequence, &before, &error);
                Err(error)
            }
        }
    }

    fn write(&mut self, sequence: u64, before: &ClockReading) -> io::Result<()> {
        self.out.clear();
        if self.journal.is_none() {
            self.begin_file(sequence)?;
        }
        let is_broken = self.journal.as_ref().is_some_and(|journal| journal.is_broken);
        let is_whole = is_broken || self.states.len() >= STATES;
        self.put_definitions(sequence)?;
        self.notes.put(&mut self.out, sequence, &mut self.compressor)?;
        if let Some(missed) = &self.missed {
            let missed = MissedTicks { to: self.clocks.utc_100ns(), ..missed.clone() };
            let mut payload = Vec::new();
            missed.put(&mut payload);
            put_block(&mut self.out, BlockKind::Gap, sequence, &payload, &mut self.compressor)?;
        }
        let mut payload = Vec::new();
        if is_whole {
            self.renumber_states();
        }
        let slots = self.tables.iter_mut().map(|slot| std::mem::take(&mut slot.now)).collect();
        let states = std::mem::take(&mut self.states);
        let now = TickState { sequence, clocks: self.clocks, tables: slots, states };
        match is_whole {
            true => put_key(&mut payload, &now),
            false => {
                let old = |number: usize| self.tables.get(number)?.before.as_ref();
                put_tick(&mut payload, &now, before, &old, self.written_states);
            }
        }
        self.states = now.states;
        self.tables.iter_mut().zip(now.tables).for_each(|(slot, now)| slot.now = now);
        let kind = if is_whole { BlockKind::Key } else { BlockKind::Tick };
        put_block(&mut self.out, kind, sequence, &payload, &mut self.compressor)?;
        self.append()?;
        self.written_states = self.states.len();
        self.undefined.clear();
        self.notes.written();
        self.missed = None;
        self.ticks_written = self.ticks_written.saturating_add(1);
        if let Some(journal) = &mut self.journal {
            journal.ticks = journal.ticks.saturating_add(1);
            journal.is_broken = false;
        }
        Ok(())
    }

    /// Writes an annotation into the recording, after the last tick.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn annotate(&mut self, annotation: &Annotation) -> io::Result<()> {
        self.out.clear();
        match &self.target {
            // A journal without a tick would stay.
            WriterTarget::Folder(folder) if self.journal.is_none() && self.ticks_written > 0 => {
                return Self::annotate_folder(folder, &self.clocks, &self.about, annotation);
            }
            _ if self.journal.is_none() => self.begin_file(self.sequence)?,
            _ => {}
        }
        let mut payload = Vec::new();
        annotation.put(&mut payload);
        let last = self.sequence.saturating_sub(1);
        put_block(&mut self.out, BlockKind::Mark, last, &payload, &mut self.compressor)?;
        self.append()?;
        if let Some(journal) = &mut self.journal {
            journal.has_marks = true;
        }
        Ok(())
    }

    /// Begins a file of the recording's directory: its first blocks are prepared, and all tables are defined again.
    fn begin_file(&mut self, sequence: u64) -> io::Result<()> {
        let WriterTarget::Folder(folder) = &self.target else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the file of the recording was finished"));
        };
        let boot = self.about.get(RecordingAbout::BOOT).unwrap_or_default();
        let (file, path) = files::create_journal(folder, &self.clocks, boot, sequence)?;
        self.begin_blocks(file, path, sequence)
    }

    fn begin_blocks(&mut self, file: File, path: PathBuf, sequence: u64) -> io::Result<()> {
        self.journal = Some(Journal {
            file,
            path,
            len: 0,
            ticks: 0,
            last_sync: Instant::now(),
            is_broken: true,
            has_marks: false,
        });
        let mut payload = Vec::new();
        self.about.put(&mut payload);
        put_block(&mut self.out, BlockKind::About, sequence, &payload, &mut self.compressor)?;
        self.undefined = (0..self.tables.len()).collect();
        self.notes.begin_file(|counterset| instances(&self.tables, counterset));
        Ok(())
    }

    fn put_definitions(&mut self, sequence: u64) -> io::Result<()> {
        let texts =
            if self.options.with_texts { RegistrationTexts::All } else { RegistrationTexts::OfCatalogue };
        for number in &self.undefined {
            let Some(slot) = self.tables.get(*number) else { continue };
            let mut payload = Vec::new();
            put_definition(&mut payload, *number, &slot.definition, texts);
            put_block(&mut self.out, BlockKind::Set, sequence, &payload, &mut self.compressor)?;
        }
        Ok(())
    }

    /// Renumbers the cell states of all tables, because a whole tick begins a new list of states.
    fn renumber_states(&mut self) {
        let old = std::mem::take(&mut self.states);
        self.written_states = 0;
        for slot in &mut self.tables {
            for content in [Some(&mut slot.now.content), slot.before.as_mut()].into_iter().flatten() {
                let Content::Rows(table) = content else { continue };
                table.states.retain_mut(|(_, number)| {
                    let Some(state) = old.get(*number) else { return false };
                    *number = self.states.number(state.clone());
                    true
                });
            }
        }
    }

    /// Writes the prepared bytes of blocks to the journal in one piece.
    fn append(&mut self) -> io::Result<()> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        if let Err(error) = journal.file.write_all(&self.out) {
            // What was written of it must not stay: the blocks after it would not begin at multiples of 8.
            let end = io::SeekFrom::Start(journal.len);
            let is_cut = journal.file.set_len(journal.len).and_then(|()| journal.file.seek(end)).is_ok();
            journal.is_broken = true;
            if journal.len == 0 && matches!(self.target, WriterTarget::Folder(_)) {
                let _ = fs::remove_file(&journal.path);
                self.journal = None;
            } else if !is_cut {
                self.journal = None;
            }
            return Err(error);
        }
        let written = u64::try_from(self.out.len()).unwrap_or(u64::MAX);
        journal.len = journal.len.saturating_add(written);
        self.bytes_written = self.bytes_written.saturating_add(written);
        if self.options.sync.is_some_and(|sync| journal.last_sync.elapsed() >= sync) {
            // The samples are written, so a failure loses none. The next attempt follows after the same time.
            let _ = journal.file.sync_data();
            journal.last_sync = Instant::now();
        }
        Ok(())
    }

    /// Counts a tick as lost, as if it could not be written.
    #[cfg(test)]
    pub(super) fn lose_tick(&mut self, clocks: &ClockReading) {
        let sequence = self.sequence;
        self.sequence = sequence.saturating_add(1);
        let before = std::mem::replace(&mut self.clocks, *clocks);
        self.lose(sequence, &before, &io::ErrorKind::StorageFull.into());
    }

    /// Counts a tick that could not be written.
    fn lose(&mut self, sequence: u64, before: &ClockReading, error: &io::Error) {
        let to = self.clocks.utc_100ns();
        let from = if sequence == 0 { to } else { before.utc_100ns() };
        let missed = self.missed.get_or_insert(MissedTicks { from, to, ticks: 0, reason: error.to_string() });
        missed.ticks = missed.ticks.saturating_add(1);
        if let Some(journal) = &mut self.journal {
            journal.is_broken = true;
            // A file without a tick or a mark is of no use, and its name would be taken.
            if journal.ticks == 0 && !journal.has_marks && matches!(self.target, WriterTarget::Folder(_)) {
                let _ = fs::remove_file(&journal.path);
                self.journal = None;
            }
        }
    }

    fn finish_if_full(&mut self) -> Option<FinishedFile> {
        let WriterOptions { ticks_per_file, bytes_per_file, .. } = self.options;
        let is_full = |journal: &&mut Journal| {
            journal.ticks >= ticks_per_file || bytes_per_file.is_some_and(|most| journal.len >= most)
        };
        let journal = self.journal.as_mut().filter(is_full)?;
        if matches!(self.target, WriterTarget::File(_)) {
            // Damage in the middle costs at most the ticks up to the next whole one.
            (journal.ticks, journal.is_broken) = (0, true);
            self.notes.forget(|counterset| instances(&self.tables, counterset));
            return None;
        }
        self.finish_file()
    }

    /// Finishes the file of the recording that is written. The next tick begins another one.
    pub fn finish_file(&mut self) -> Option<FinishedFile> {
        let mut journal = self.journal.take()?;
        self.out.clear();
        let mut payload = Vec::new();
        if let Some(missed) = self.missed.take() {
            missed.put(&mut payload);
            // Without it the ticks are missing all the same: their numbers are.
            let _ = put_block(&mut self.out, BlockKind::Gap, self.sequence, &payload, &mut self.compressor);
        }
        // As good without them: the next file has them again.
        let _ = self.notes.put(&mut self.out, self.sequence, &mut self.compressor);
        // If the end cannot be written, the file is as good as one whose writer was ended.
        if put_block(&mut self.out, BlockKind::End, self.sequence, &[], &mut self.compressor).is_ok() {
            let _ = journal.file.write_all(&self.out);
        }
        if self.options.sync.is_some() {
            let _ = journal.file.sync_data();
        }
        self.bytes_of_last_file = journal.len;
        Some(FinishedFile { path: journal.path })
    }
}

/// Maximum number of cell states of a journal between two whole ticks. Ages of late values are states of their own.
const STATES: usize = 1 << 16;
const _: () = assert!(STATES < StateList::MOST && BlockHeader::LEN == 28);

/// Creates a file of a recording that only its owner can read and write.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
