//! Sealing: a finished journal becomes a file whose ticks are stored by column.

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::block::{BlockHeader, BlockKind, Codec, Compressor, put_block, put_stored};
use super::bytes::Malformed;
use super::files::{self, RecordingError, RecordingFile};
use super::notes::put_notes;
use super::registration::{RegistrationTexts, put_definition};
use super::segment::{MOST_TICKS, SegmentWriter};
use super::tick::{TickState, TickTrace, key};
use super::writer::create_private;

/// Maximum number of payload bytes of a journal that are kept while it is sealed, so that payloads need not be
/// decompressed again for each table.
const KEPT: usize = 16 << 20;

/// Maximum number of ticks in a segment of a single-file recording: as many as a file of a directory has.
const OF_A_FILE: usize = 300;

/// Seals a finished journal: writes its ticks by column into a file beside it, then removes it. Returns the path of the
/// new file.
///
/// Whenever this ends early, either file has all ticks, or both have. A reader takes each tick once. A journal with
/// damage stays as it is, and one that its recorder has not begun is removed.
///
/// # Errors
/// If the journal cannot be read, is damaged or was not begun, or if the file cannot be written.
pub fn seal(journal: &Path) -> Result<PathBuf, RecordingError> {
    let Some(path) = files::sealed_path(journal) else { return Err(RecordingError::NotARecording) };
    // What a recorder that was ended has left.
    remove(&temporary_path(&path))?;
    let file = match read_file(journal) {
        // It has nothing that could be lost.
        Err(RecordingError::NotBegun) => {
            remove(journal)?;
            return Err(RecordingError::NotBegun);
        }
        read => read?,
    };
    write_sealed(file, &path, (MOST_TICKS, RegistrationTexts::OfCatalogue))?;
    // The directory may have been too large meanwhile.
    remove(journal)?;
    Ok(path)
}

/// Removes a file of a recording; a file that no longer exists is no error.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the temporary path at which a sealed file is written before it gets its name.
fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    path.with_file_name(name)
}

/// Seals a finished recording of a single file: writes its ticks by column into a temporary file, which replaces it.
///
/// Whenever this ends early, the file has all ticks in one form or the other. A file with damage stays as it is.
///
/// # Errors
/// If the file cannot be read or is damaged, or the new one not written.
pub fn seal_file(path: &Path) -> Result<(), RecordingError> {
    write_sealed(read_file(path)?, path, (OF_A_FILE, RegistrationTexts::All))
}

fn read_file(path: &Path) -> Result<RecordingFile, RecordingError> {
    RecordingFile::read(path.to_owned(), Arc::new(files::open_file(path)?))
}

/// Writes the sealed form of a journal to a path, which can be the journal's own path.
fn write_sealed(
    file: RecordingFile,
    path: &Path,
    (most, texts): (usize, RegistrationTexts),
) -> Result<(), RecordingError> {
    let has_one_run = file.abouts() == 1;
    if !file.damages.is_empty()
        || file.tables.iter().all(Option::is_none)
        || file.ticks().is_empty()
        || file.is_sealed()
        || !has_one_run
    {
        return Err(invalid("the journal is damaged, or has no samples: it stays as it is").into());
    }
    let temporary = temporary_path(path);
    // The age of a file is that of its samples.
    let modified = fs::metadata(&file.path)?.modified()?;
    let mut out = SealedFile::create(&temporary)?;
    let written = put_sealed(&file, &mut out, most, texts)
        .and_then(|()| Ok(out.file.set_modified(modified)?))
        .and_then(|()| Ok(out.file.sync_data()?))
        // Only a file that can be read replaces the journal.
        .and_then(|()| check_sealed(&temporary, &file))
        .and_then(|()| Ok(rename(&temporary, path, file)?));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    Ok(synchronize_folder(path)?)
}

/// Gives a sealed file its final name. Windows keeps the name of a removed file for as long as the file is open.
fn rename(from: &Path, to: &Path, replaced: RecordingFile) -> io::Result<()> {
    drop(replaced);
    fs::rename(from, to)
}

/// Checks that a sealed file can be read, and has all ticks of its journal.
fn check_sealed(path: &Path, journal: &RecordingFile) -> Result<(), RecordingError> {
    let sealed = read_file(path)?;
    let sequences = |file: &RecordingFile| file.ticks().iter().map(|tick| tick.sequence).collect::<Vec<_>>();
    match sequences(&sealed) == sequences(journal) && sealed.damages.is_empty() && sealed.check_directories()
    {
        true => Ok(()),
        false => Err(invalid("the sealed file lacks samples: the journal stays as it is").into()),
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// Synchronizes a file's directory, so that the file's new name survives a loss of power.
fn synchronize_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        // Windows has no such call, and needs none.
        _ if !cfg!(unix) => Ok(()),
        // A name alone is in the current directory.
        Some(folder) if folder.as_os_str().is_empty() => File::open(".")?.sync_all(),
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Returns the journals of a recording's directory that can be sealed: all except for one that is written.
///
/// # Errors
/// If the directory cannot be read.
pub fn unsealed(folder: &Path, written: Option<&Path>) -> io::Result<Vec<PathBuf>> {
    let mut all = files::paths(folder)?;
    all.retain(|path| files::sealed_path(path).is_some() && Some(&**path) != written);
    Ok(all)
}

/// Sealed file that is written block by block, so that only one block is in memory.
struct SealedFile {
    file: File,
    out: Vec<u8>,
    compressor: Compressor,
    /// Sequence number of the first tick in the sealed file.
    first: u64,
}

impl SealedFile {
    fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: create_private(path)?, out: Vec::new(), compressor: Compressor::new(3), first: 0 })
    }

    fn put(&mut self, kind: BlockKind, payload: &mut Vec<u8>) -> io::Result<()> {
        put_block(&mut self.out, kind, self.first, payload, &mut self.compressor)?;
        payload.clear();
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        self.file.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }
}

/// Writes the blocks of the sealed file, with segments of at most `most` ticks.
fn put_sealed(
    file: &RecordingFile,
    out: &mut SealedFile,
    most: usize,
    texts: RegistrationTexts,
) -> Result<(), RecordingError> {
    let mut payload = Vec::new();
    out.first = file.ticks().first().map_or(0, |tick| tick.sequence);
    if let Some(about) = file.about() {
        about.put(&mut payload);
    }
    out.put(BlockKind::About, &mut payload)?;
    for (number, table) in file.tables.iter().enumerate() {
        if let Some(table) = table {
            put_definition(&mut payload, number, table, texts);
            out.put(BlockKind::Set, &mut payload)?;
        }
    }
    for annotation in &file.annotations {
        annotation.put(&mut payload);
        out.put(BlockKind::Mark, &mut payload)?;
    }
    for missed in &file.missed {
        missed.put(&mut payload);
        out.put(BlockKind::Gap, &mut payload)?;
    }
    for (counterset, notes) in file.all_notes() {
        put_notes(&mut out.out, (out.first, 0), counterset, &notes, &mut out.compressor)?;
        out.write()?;
    }
    for ticks in parts(file, most) {
        let stored = segment(file, ticks.clone())?;
        let sequence = file.ticks().get(ticks.start).map_or(out.first, |tick| tick.sequence);
        let raw = u32::try_from(stored.len()).unwrap_or(u32::MAX);
        let codec = Codec::Plain.number();
        let header =
            BlockHeader { kind: BlockKind::Segment, codec, flags: 0, stored: 0, raw, sequence, crc: 0 };
        put_stored(&mut out.out, header, &stored)?;
        drop(stored);
        out.write()?;
    }
    if file.is_finished {
        out.put(BlockKind::End, &mut payload)?;
    }
    Ok(())
}

/// Returns the range of a journal's ticks for each segment; each range begins with a whole tick, because other ticks
/// need the one before.
fn parts(file: &RecordingFile, most: usize) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut whole = (0..file.ticks().len()).filter(|tick| file.is_whole(*tick)).peekable();
    while let Some(begin) = whole.next() {
        let end = whole.peek().copied().unwrap_or(file.ticks().len());
        match parts.last_mut() {
            Some(last) if end.saturating_sub(last.start) <= most => last.end = end,
            _ => parts.push(begin..end),
        }
    }
    parts
}

/// Payloads of some ticks of a journal that is sealed; the first ones are kept in memory.
pub(super) struct Payloads<'a> {
    file: &'a RecordingFile,
    /// Index in the journal of the first of the ticks.
    first: usize,
    kept: Vec<Option<Vec<u8>>>,
    room: usize,
}

impl<'a> Payloads<'a> {
    pub fn new(file: &'a RecordingFile, first: usize, count: usize) -> Self {
        Self { file, first, kept: vec![None; count], room: KEPT }
    }

    /// Calls `with` for the payload of a tick of the journal.
    pub fn with<T>(&mut self, tick: usize, with: impl FnOnce(&[u8]) -> T) -> Result<T, RecordingError> {
        let at = tick.checked_sub(self.first).unwrap_or(usize::MAX);
        if let Some(Some(payload)) = self.kept.get(at) {
            return Ok(with(payload));
        }
        let payload = self.file.payload(tick)?;
        let done = with(&payload);
        if let (Some(room), Some(place)) = (self.room.checked_sub(payload.len()), self.kept.get_mut(at)) {
            (*place, self.room) = (Some(payload), room);
        }
        Ok(done)
    }
}

/// Returns the stored payload of a segment that has some ticks of a journal. Each tick is read once, for all tables.
fn segment(file: &RecordingFile, ticks: Range<usize>) -> Result<Vec<u8>, RecordingError> {
    let malformed = |error: Malformed| invalid(&error.to_string());
    let mut writer = SegmentWriter::new();
    for (number, table) in file.tables.iter().enumerate() {
        if let Some(table) = table {
            writer.begin_table(number, table.columns.len());
        }
    }
    let is_wanted = |number: usize| matches!(file.tables.get(number), Some(Some(_)));
    let mut trace = TickTrace::new(file.tables.len());
    let mut state: Option<TickState> = None;
    for tick in ticks {
        let Some(place) = file.ticks().get(tick) else { continue };
        let payload = file.payload(tick)?;
        match &mut state {
            Some(state) if !file.is_whole(tick) => {
                state.apply_traced(&payload, place.sequence, &is_wanted, &mut trace).map_err(malformed)?;
            }
            state => {
                trace.clear();
                *state = Some(key(&payload, place.sequence, &is_wanted).map_err(malformed)?);
            }
        }
        if let Some(state) = &state {
            writer.add_traced_tick(state, &trace).map_err(malformed)?;
        }
    }
    Ok(writer.finish().map_err(malformed)?)
}
