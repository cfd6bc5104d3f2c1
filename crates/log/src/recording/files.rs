//! Files of a recording: their names, what is in each, and the order of their ticks.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use perfset_core::clock::{ClockReading, SystemTime};

use super::about::{Annotation, MissedTicks, RecordingAbout};
use super::block::{BlockHeader, BlockKind, ReadAt};
use super::bytes::Malformed;
use super::registration::{TableDefinition, definition};
use super::tick::{TickState, WantedTables, clocks_of, key};
use super::walk::{Block, BlockWalker};
use super::writer::create_private;
use crate::damage::Damages;

/// Ending of the name of a file that was finished.
const FINISHED: &str = "perfset";
/// Ending of the name of a file that is being written, or was when its writer ended.
const JOURNAL: &str = "journal";

/// Creates a folder for its owner alone, if it is missing.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Creates the file whose first tick has this number. Names are for people, and no reader trusts them.
pub(super) fn create_journal(
    folder: &Path,
    clocks: &ClockReading,
    boot: &str,
    sequence: u64,
) -> io::Result<(File, PathBuf)> {
    let boot: String = boot.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    let path = folder.join(format!("{}-{boot}-{sequence:08}.{JOURNAL}", time_of(clocks)));
    Ok((create_private(&path)?, path))
}

/// Creates a file without ticks.
pub(super) fn create_finished(
    folder: &Path,
    clocks: &ClockReading,
    name: &str,
) -> io::Result<(File, PathBuf)> {
    let path = folder.join(format!("{}-{name}.{FINISHED}", time_of(clocks)));
    Ok((create_private(&path)?, path))
}

fn time_of(clocks: &ClockReading) -> String {
    let SystemTime { year, month, day, hour, minute, second, .. } = clocks.system_time;
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Returns the number of the next tick of a folder: one more than that of the last.
pub(super) fn next_sequence(folder: &Path) -> io::Result<u64> {
    let mut next = 0;
    for path in paths(folder)? {
        // A file that cannot be read has no ticks that a new one could repeat.
        let Ok(file) = open_file(&path) else { continue };
        let Ok(mut walker) = BlockWalker::new(file) else { continue };
        let Ok(Some(first)) = walker.next_block() else { continue };
        let mut last = first.header.sequence;
        while let Ok(Some(block)) = walker.next_block() {
            if matches!(block.header.kind, BlockKind::Key | BlockKind::Tick) {
                last = last.max(block.header.sequence.saturating_add(1));
            }
        }
        next = next.max(last);
    }
    Ok(next)
}

/// Returns the files of a recording in a folder, by name.
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

/// Opens a file of a folder to read it. A link is refused: it may lead anywhere.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path)?.is_symlink() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "is a link, which a recording does not have",
        ));
    }
    open_named(path)
}

/// Opens a file that the user named. A pipe or device is refused, because opening it can wait for ever.
pub(super) fn open_named(path: &Path) -> io::Result<File> {
    let refuse = || io::Error::new(io::ErrorKind::InvalidInput, "is a pipe or device, and not a file");
    if !fs::metadata(path)?.is_file() {
        return Err(refuse());
    }
    let file = File::open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refuse()) }
}

/// Tick of a file: its place, and its clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct TickPlace {
    pub sequence: u64,
    pub clocks: ClockReading,
    offset: u64,
    /// Index of the whole tick that this one follows, among the ticks of the file.
    key: usize,
}

/// File of a recording, and what its blocks say.
pub(super) struct RecordingFile {
    pub path: PathBuf,
    source: Arc<dyn ReadAt>,
    pub about: RecordingAbout,
    /// Definitions of its tables, by number.
    pub tables: Vec<Option<TableDefinition>>,
    pub ticks: Vec<TickPlace>,
    pub annotations: Vec<Annotation>,
    pub missed: Vec<MissedTicks>,
    pub damages: Damages,
    /// Number of bytes after the last whole block.
    pub torn: u64,
    /// `true` if its writer finished it.
    pub is_finished: bool,
}

impl std::fmt::Debug for RecordingFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordingFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Reason that a file is not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file or folder cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file does not begin as a recording does.
    #[error("no recording: it does not begin with a block that says whose it is")]
    NotARecording,
    /// The file is of a later version.
    #[error(
        "written by {writer}, which is later than this program: block {kind} at byte {offset} is unknown"
    )]
    LaterVersion {
        /// Name and version of the program that wrote the file.
        writer: String,
        /// Number of the block's kind.
        kind: u8,
        /// Offset of the block.
        offset: u64,
    },
    /// The folder has no recording.
    #[error("no recording: no file of the folder ends in .perfset or .journal")]
    Empty,
}

impl RecordingFile {
    /// Reads all blocks of a file, except for the values in its ticks.
    pub fn read(path: PathBuf, source: Arc<dyn ReadAt>) -> Result<Self, RecordingError> {
        let mut walker = BlockWalker::new(Arc::clone(&source))?;
        let about = match walker.next_block()? {
            Some(block) if block.header.kind == BlockKind::About => block.into_payload(),
            _ => return Err(RecordingError::NotARecording),
        };
        let about = about.and_then(|payload| RecordingAbout::read(&payload));
        let about = about.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        let mut file = Self {
            path,
            source,
            about,
            tables: Vec::new(),
            ticks: Vec::new(),
            annotations: Vec::new(),
            missed: Vec::new(),
            damages: Damages::default(),
            torn: 0,
            is_finished: false,
        };
        let mut key = None;
        while let Some(block) = walker.next_block()? {
            let BlockHeader { kind, flags, .. } = block.header;
            let offset = block.offset;
            match kind {
                BlockKind::Unknown(kind) if flags & BlockHeader::SKIPPABLE == 0 => {
                    let writer =
                        file.about.get(RecordingAbout::WRITER).unwrap_or("an unknown program").to_owned();
                    return Err(RecordingError::LaterVersion { writer, kind, offset });
                }
                BlockKind::End => file.is_finished = true,
                _ => {
                    if let Err(error) = file.take(block, &mut key) {
                        walker.damaged(offset, format!("a block is left out: {error}"));
                    }
                }
            }
        }
        file.torn = walker.torn()?;
        file.damages = walker.damages().clone();
        Ok(file)
    }

    /// Takes what a block says.
    fn take(&mut self, block: Block, key: &mut Option<usize>) -> Result<(), Malformed> {
        let BlockHeader { kind, sequence, .. } = block.header;
        let offset = block.offset;
        match kind {
            BlockKind::Set => {
                let (number, table) = definition(&block.into_payload()?)?;
                if self.tables.len() <= number {
                    self.tables.resize_with(number.saturating_add(1), || None);
                }
                if let Some(place) = self.tables.get_mut(number) {
                    *place = Some(table);
                }
            }
            BlockKind::Key | BlockKind::Tick => {
                let is_key = kind == BlockKind::Key;
                let before = self.ticks.last().copied().filter(|_| !is_key);
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
                self.ticks.push(TickPlace { sequence, clocks, offset, key });
            }
            BlockKind::Mark => self.annotations.push(Annotation::read(&block.into_payload()?)?),
            BlockKind::Gap => self.missed.push(MissedTicks::read(&block.into_payload()?)?),
            _ => {}
        }
        Ok(())
    }

    /// Reads the contents of a tick. `state` is that of an earlier tick of this file, or of none: ticks after it are
    /// applied to it.
    pub fn state_at(
        &self,
        tick: usize,
        state: &mut Option<TickState>,
        wanted: WantedTables<'_>,
    ) -> Result<(), RecordingError> {
        let Some(place) = self.ticks.get(tick) else { return Ok(()) };
        let mut walker = BlockWalker::new(Arc::clone(&self.source))?;
        // What is known is used if it is on the way from the whole tick to this one.
        let begin = self.ticks.get(place.key).map_or(0, |key| key.sequence);
        let known = state.as_ref().map(|state| state.sequence);
        let known = known.filter(|known| (begin..=place.sequence).contains(known));
        let mut next = match known {
            Some(known) => self.ticks.partition_point(|tick| tick.sequence <= known),
            None => {
                *state = None;
                place.key
            }
        };
        while next <= tick {
            let Some(at) = self.ticks.get(next) else { break };
            walker.seek(at.offset);
            let invalid = |error: Malformed| {
                let what = format!("tick {} at byte {}: {error}", at.sequence, at.offset);
                io::Error::new(io::ErrorKind::InvalidData, what)
            };
            let block = walker.next_block()?;
            let block = block.filter(|block| block.offset == at.offset).ok_or_else(|| {
                let what = format!("tick {} at byte {} has changed since", at.sequence, at.offset);
                io::Error::new(io::ErrorKind::InvalidData, what)
            })?;
            let payload = block.into_payload().map_err(invalid)?;
            match state {
                Some(state) => state.apply(&payload, at.sequence, wanted).map_err(invalid)?,
                None => *state = Some(key(&payload, at.sequence, wanted).map_err(invalid)?),
            }
            next = next.saturating_add(1);
        }
        Ok(())
    }
}

impl ReadAt for Arc<dyn ReadAt> {
    fn length(&self) -> io::Result<u64> {
        self.as_ref().length()
    }

    fn read_some_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.as_ref().read_some_at(into, offset)
    }
}
