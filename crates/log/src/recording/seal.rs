//! Sealing: a finished journal becomes a file whose ticks are stored by column.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::block::{BlockHeader, BlockKind, Codec, Compressor, put_block, put_stored};
use super::files::{self, RecordingError, RecordingFile};
use super::notes::put_notes;
use super::registration::{RegistrationTexts, put_definition};
use super::segment::{MOST_TICKS, SegmentWriter};
use super::tick::{TickState, key};
use super::writer::create_private;

/// Most bytes of payloads that are kept, so that they need not be decompressed for each table.
const KEPT: usize = 16 << 20;

/// Seals a finished journal: writes its ticks by column into a file beside it, then removes it. Returns the path of the
/// new file.
///
/// Whenever this ends early, either file has all ticks, or both have. A reader takes each tick once. A journal with
/// damage stays as it is.
///
/// # Errors
/// If the journal cannot be read or is damaged, or the file not written.
pub fn seal(journal: &Path) -> Result<PathBuf, RecordingError> {
    let Some(path) = files::sealed_path(journal) else { return Err(RecordingError::NotARecording) };
    let file = RecordingFile::read(journal.to_owned(), Arc::new(files::open_file(journal)?))?;
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let has_one_run = file.abouts() == 1;
    if !file.damages.is_empty()
        || file.tables.iter().all(Option::is_none)
        || file.ticks().is_empty()
        || !has_one_run
    {
        return Err(invalid("the journal is damaged, or has no samples: it stays as it is").into());
    }
    let temporary = path.with_extension("tmp");
    // What a recorder that was ended has left.
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let bytes = sealed(&file)?;
    let mut out = create_private(&temporary)?;
    // The age of a file is that of its samples.
    let modified = fs::metadata(journal)?.modified()?;
    let written = out
        .write_all(&bytes)
        .and_then(|()| out.set_modified(modified))
        .and_then(|()| out.sync_data())
        .and_then(|()| fs::rename(&temporary, &path));
    if let Err(error) = written {
        let _ = fs::remove_file(&temporary);
        return Err(error.into());
    }
    synchronize_folder(&path)?;
    // Only a file that can be read replaces the journal.
    let sealed = RecordingFile::read(path.clone(), Arc::new(files::open_file(&path)?))?;
    let has_all =
        sealed.ticks().iter().map(|tick| tick.sequence).eq(file.ticks().iter().map(|tick| tick.sequence));
    if !has_all || !sealed.damages.is_empty() || !sealed.check_directories() {
        fs::remove_file(&path)?;
        return Err(invalid("the sealed file lacks samples: the journal stays as it is").into());
    }
    // Windows keeps the name of a removed file for as long as the file is open.
    drop(file);
    match fs::remove_file(journal) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        // The folder may have been too large meanwhile.
        _ => Ok(path),
    }
}

/// Makes sure that the new name of a file survives a loss of power.
fn synchronize_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        // Windows has no such call, and needs none.
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Returns the journals of a folder that can be sealed: all except for one that is written.
///
/// # Errors
/// If the folder cannot be read.
pub fn unsealed(folder: &Path, written: Option<&Path>) -> io::Result<Vec<PathBuf>> {
    let mut all = files::paths(folder)?;
    all.retain(|path| files::sealed_path(path).is_some() && Some(&**path) != written);
    Ok(all)
}

/// Returns the bytes of the sealed file.
fn sealed(file: &RecordingFile) -> Result<Vec<u8>, RecordingError> {
    let mut compressor = Compressor::new(3);
    let (mut out, mut payload) = (Vec::new(), Vec::new());
    let first = file.ticks().first().map_or(0, |tick| tick.sequence);
    let mut put = |out: &mut Vec<u8>, kind: BlockKind, payload: &mut Vec<u8>| {
        let done = put_block(out, kind, first, payload, &mut compressor);
        payload.clear();
        done
    };
    if let Some(about) = file.about() {
        about.put(&mut payload);
    }
    put(&mut out, BlockKind::About, &mut payload)?;
    for (number, table) in file.tables.iter().enumerate() {
        if let Some(table) = table {
            put_definition(&mut payload, number, table, RegistrationTexts::OfCatalogue);
            put(&mut out, BlockKind::Set, &mut payload)?;
        }
    }
    for annotation in &file.annotations {
        annotation.put(&mut payload);
        put(&mut out, BlockKind::Mark, &mut payload)?;
    }
    for missed in &file.missed {
        missed.put(&mut payload);
        put(&mut out, BlockKind::Gap, &mut payload)?;
    }
    for (counterset, notes) in file.all_notes() {
        put_notes(&mut out, (first, 0), counterset, &notes, &mut Compressor::new(3))?;
    }
    let mut payloads = Payloads::new(file, 0, file.ticks().len());
    let ticks: Vec<usize> = (0..file.ticks().len()).collect();
    for ticks in ticks.chunks(MOST_TICKS) {
        let stored = segment(file, ticks, &mut payloads)?;
        let sequence =
            ticks.first().and_then(|tick| file.ticks().get(*tick)).map_or(first, |tick| tick.sequence);
        let raw = u32::try_from(stored.len()).unwrap_or(u32::MAX);
        let codec = Codec::Plain.number();
        let header =
            BlockHeader { kind: BlockKind::Segment, codec, flags: 0, stored: 0, raw, sequence, crc: 0 };
        put_stored(&mut out, header, &stored)?;
    }
    if file.is_finished {
        put(&mut out, BlockKind::End, &mut payload)?;
    }
    Ok(out)
}

/// Payloads of some ticks of a journal, the first ones of which are kept.
pub(super) struct Payloads<'a> {
    file: &'a RecordingFile,
    /// Index of the first of the ticks.
    first: usize,
    kept: Vec<Option<Vec<u8>>>,
    room: usize,
}

impl<'a> Payloads<'a> {
    pub fn new(file: &'a RecordingFile, first: usize, count: usize) -> Self {
        Self { file, first, kept: vec![None; count], room: KEPT }
    }

    /// Calls `with` for the payload of a tick.
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

/// Returns the stored payload of a segment of some ticks, table by table: so only one is in memory at a time.
fn segment(
    file: &RecordingFile,
    ticks: &[usize],
    payloads: &mut Payloads<'_>,
) -> Result<Vec<u8>, RecordingError> {
    let invalid =
        |error: super::bytes::Malformed| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
    let mut writer = SegmentWriter::new();
    for (number, table) in file.tables.iter().enumerate() {
        let Some(table) = table else { continue };
        writer.begin_table(number, table.columns.len());
        let mut state: Option<TickState> = None;
        for tick in ticks {
            let Some(place) = file.ticks().get(*tick) else { continue };
            let is_wanted = |other: usize| other == number;
            let read = payloads.with(*tick, |payload| match &mut state {
                Some(state) if !file.is_whole(*tick) => state.apply(payload, place.sequence, &is_wanted),
                state => key(payload, place.sequence, &is_wanted).map(|read| *state = Some(read)),
            })?;
            read.map_err(invalid)?;
            if let Some(state) = &state {
                writer.add_tick(state).map_err(invalid)?;
            }
        }
        writer.finish_table().map_err(invalid)?;
    }
    Ok(writer.finish().map_err(invalid)?)
}
