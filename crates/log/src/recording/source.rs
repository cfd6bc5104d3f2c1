//! Recordings as a source: each step of a query is the next tick.

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use perfset_core::clock::ClockReading;
use perfset_core::{CounterId, Counterset, Guid, Identity, Instance};
use perfset_engine::{
    Fact, FactOptions, Machine, Player, QueryHandle, RecordedSample, RegInfo, RegRequest, Replay, Source,
    SourceError, SourceKind, Window,
};

use super::about::{Annotation, MissedTicks, RecordingAbout};
use super::block::{BlockHeader, ReadAt};
use super::closable::ClosableFile;
use super::files::{self, RecordingError, RecordingFile};
use super::notes::NotesIndex;
use super::opening::OpeningMemory;
use super::player::RecordingPlayer;
use super::series::SeriesReader;
use super::timeline::{RecordingFiles, SeenInstance, last_tick_in, tick_count, ticks_in, time_of, times};
use crate::damage::Damages;
use crate::pick::Pick;

/// Number of the newest files of a recording that stay open: fewer than a process can open.
const OPEN: usize = 200;

/// Opened recording, queried like a machine: a directory that a recorder writes, or a single file.
///
/// Values are raw, with the identities, reasons and marks that they had when they were collected. Two samples between
/// which the machine started again, or ticks are missing, are never compared: a sample without values is between them.
#[derive(Clone)]
pub struct Recording {
    files: Arc<RecordingFiles>,
    window: Window,
    pick: Pick,
    machine: Machine,
    notes: Arc<Mutex<NotesIndex>>,
}

/// Tick of a recording, without its values.
#[derive(Clone, Copy, Debug)]
pub struct RecordedTick<'a> {
    /// Sequence number of the tick since the recording began.
    pub sequence: u64,
    /// Clock readings at the time of the tick.
    pub clocks: ClockReading,
    /// Description of the machine and the recorder that the tick is from; `None` if it is damaged.
    pub about: Option<&'a RecordingAbout>,
}

/// Returns `true` if a path is that of a recording: of a directory, or of a file that begins with a block.
#[must_use]
pub fn is_recording(path: &Path) -> bool {
    let mut magic = BlockHeader::MAGIC.map(|_| 0);
    let mut read = || files::open_named(path).and_then(|file| file.read_at_most(&mut magic, 0));
    path.is_dir() || (read().is_ok() && magic == BlockHeader::MAGIC)
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Recording {
    /// Opens the recording in a directory, or in one file.
    ///
    /// # Errors
    /// If there is no recording, or none of its files can be read.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        if !path.is_dir() {
            let file = RecordingFile::read(path.to_owned(), Arc::new(files::open_named(path)?))?;
            return Ok(Self::of(vec![file], Vec::new()));
        }
        let paths = files::paths(path)?;
        let first_open = paths.len().saturating_sub(OPEN);
        let (mut all, mut refused) = (Vec::new(), Vec::new());
        let mut memory = OpeningMemory::of_folder();
        for (at, path) in paths.into_iter().enumerate() {
            match Self::read_file(&path, at >= first_open, &mut memory) {
                Ok(file) => all.push(file),
                // The recorder has sealed it, or removed it as the oldest.
                Err(RecordingError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                    let sealed =
                        files::sealed_path(&path).map(|path| Self::read_file(&path, true, &mut memory));
                    all.extend(sealed.and_then(Result::ok));
                }
                Err(error) => refused.push((path, error)),
            }
        }
        // A recorder can be ended before it has written the first block of its journal: that is no damage.
        let is_begun = |path: &Path, error: &RecordingError| {
            files::sealed_path(path).is_none() || !matches!(error, RecordingError::NotBegun)
        };
        if all.is_empty() {
            // Damage says more than a journal that was not begun.
            refused.sort_by_key(|(path, error)| is_begun(path, error));
            return Err(refused.pop().map_or(RecordingError::Empty, |(_, error)| error));
        }
        refused.retain(|(path, error)| is_begun(path, error));
        Ok(Self::of(all, refused))
    }

    fn read_file(
        path: &Path,
        stays_open: bool,
        memory: &mut OpeningMemory,
    ) -> Result<RecordingFile, RecordingError> {
        let source = Arc::new(ClosableFile::new(path, files::open_file(path)?));
        let file = RecordingFile::read_one_of(path.to_owned(), Arc::<ClosableFile>::clone(&source), memory)?;
        // A journal disappears when it is sealed.
        if !stays_open && files::sealed_path(path).is_none() {
            source.close();
        }
        Ok(file)
    }

    /// Opens a recording of one file in memory.
    ///
    /// # Errors
    /// If the bytes are no recording.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RecordingError> {
        let source: Arc<dyn ReadAt> = Arc::new(bytes.to_vec());
        Ok(Self::of(vec![RecordingFile::read(PathBuf::new(), source)?], Vec::new()))
    }

    fn of(all: Vec<RecordingFile>, refused: Vec<(PathBuf, RecordingError)>) -> Self {
        let files = Arc::new(RecordingFiles::new(all, refused));
        let machine = RecordingPlayer::of_ticks(&files, Vec::new(), None).machine();
        Self { files, window: Window::default(), pick: Pick::All, machine, notes: Arc::default() }
    }

    /// Returns the same recording, restricted to the ticks in a window.
    #[must_use]
    pub fn within(&self, window: Window) -> Self {
        Self { window, notes: Arc::default(), ..self.clone() }
    }

    /// Returns the same recording, restricted to the ticks that `pick` selects.
    #[must_use]
    pub fn picking(&self, pick: Pick) -> Self {
        Self { pick, ..self.clone() }
    }

    /// Returns the recorded machine, with its countersets and their names.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns the name of the recorded machine.
    #[must_use]
    pub fn machine_name(&self) -> &str {
        self.about().and_then(|about| about.get(RecordingAbout::MACHINE)).unwrap_or_default()
    }

    /// Returns the offset that turns local times of the machine into UTC, in 100 ns, as it was when the newest file was
    /// begun.
    #[must_use]
    pub fn offset(&self) -> i64 {
        /// Greatest offset of a time zone from UTC, in seconds.
        const MOST: i32 = 26 * 3_600;
        let text = self.about().and_then(|about| about.get(RecordingAbout::UTC_OFFSET_S));
        let east =
            text.and_then(|text| text.parse::<i32>().ok()).filter(|east| (-MOST..=MOST).contains(east));
        i64::from(east.unwrap_or(0)).saturating_mul(-10_000_000)
    }

    /// Returns the facts about the recording in its newest file.
    #[must_use]
    pub fn about(&self) -> Option<&RecordingAbout> {
        self.files.files.last().and_then(RecordingFile::about)
    }

    /// Returns the countersets of the recording.
    #[must_use]
    pub fn countersets(&self) -> &[Arc<Counterset>] {
        &self.files.catalogue.countersets
    }

    /// Returns the times of all ticks of the recording, in 100 ns since 1601 UTC, in their order.
    pub fn times(&self) -> impl Iterator<Item = i64> + '_ {
        times(&self.files)
    }

    /// Returns all ticks of the recording, in their order, with the description of their recorder.
    pub fn ticks(&self) -> impl Iterator<Item = RecordedTick<'_>> {
        ticks_in(&self.files, Window::default()).filter_map(|(file, tick)| {
            let file = self.files.files.get(file)?;
            let tick = file.ticks().get(tick)?;
            Some(RecordedTick { sequence: tick.sequence, clocks: tick.clocks, about: file.about_of(tick) })
        })
    }

    /// Returns the number of ticks of the recording. Unlike [`times`](Self::times), it mostly takes no reading.
    #[must_use]
    pub fn tick_count(&self) -> usize {
        tick_count(&self.files)
    }

    /// Returns the time of the newest tick in the recording's window, in 100 ns since 1601 UTC. Only the file that
    /// has it is read.
    #[must_use]
    pub fn newest_time(&self) -> Option<i64> {
        last_tick_in(&self.files, self.window).map(|place| time_of(&self.files, place))
    }

    /// Returns all annotations of the recording, sorted by time.
    #[must_use]
    pub fn annotations(&self) -> Vec<&Annotation> {
        let mut all: Vec<_> = self.files.files.iter().flat_map(|file| &file.annotations).collect();
        all.sort_by_key(|annotation| annotation.time);
        all
    }

    /// Returns the ticks of the recording that were due and are missing.
    #[must_use]
    pub fn missed(&self) -> Vec<&MissedTicks> {
        self.files.files.iter().flat_map(|file| &file.missed).collect()
    }

    /// Returns the time of the recording's last tick of each boot, ascending.
    #[must_use]
    pub fn boot_ends(&self) -> Vec<i64> {
        let mut ends = Vec::new();
        let mut before: Option<(Option<&str>, i64)> = None;
        for place in ticks_in(&self.files, Window::default()) {
            let file = self.files.files.get(place.0);
            let about = file.and_then(|file| file.about_of(file.ticks().get(place.1)?));
            let boot = about.and_then(|about| about.get(RecordingAbout::BOOT));
            ends.extend(before.filter(|(known, _)| *known != boot).map(|(_, time)| time));
            before = Some((boot, time_of(&self.files, place)));
        }
        ends.extend(before.map(|(_, time)| time));
        ends.sort_unstable();
        ends
    }

    /// Returns the number of bytes at the end of the recording's files that are no whole block. A recorder was ended
    /// while it wrote them, or is writing them now. A journal that ends in its first block is not counted.
    #[must_use]
    pub fn torn_bytes(&self) -> u64 {
        self.files.files.iter().map(|file| file.torn).fold(0, u64::saturating_add)
    }

    /// Returns the damage of each file of the recording, with its path, including the damage found by queries so far.
    #[must_use]
    pub fn damages(&self) -> Vec<(PathBuf, Damages)> {
        self.files.damages()
    }

    /// Returns the damage of all files of the recording together.
    #[must_use]
    pub fn all_damages(&self) -> Damages {
        let mut all = Damages::default();
        self.damages().iter().for_each(|(_, damages)| all.take_over(damages));
        all
    }

    /// Returns every instance of a counterset that ever had a sample, in the order of first samples.
    ///
    /// # Errors
    /// If a tick cannot be read.
    pub fn seen_instances(&self, counterset: &Guid) -> Result<Vec<SeenInstance>, SourceError> {
        Ok(self.files.seen_instances(counterset))
    }

    pub(super) fn files(&self) -> &RecordingFiles {
        &self.files
    }

    #[cfg(test)]
    pub(super) fn shared_files(&self) -> &Arc<RecordingFiles> {
        &self.files
    }

    pub(super) fn window(&self) -> Window {
        self.window
    }

    pub(super) fn player(&self) -> RecordingPlayer {
        RecordingPlayer::new(&self.files, self.window, self.pick)
    }
}

impl Source for Recording {
    fn countersets(&mut self) -> Result<Vec<Guid>, SourceError> {
        Ok(self.machine.countersets())
    }

    fn registration(&mut self, counterset: &Guid, request: RegRequest) -> Result<RegInfo, SourceError> {
        self.machine.registration(counterset, request)
    }

    /// Returns the instances that a counterset has in any tick of the recording.
    fn instances(&mut self, counterset: &Guid) -> Result<Vec<Instance>, SourceError> {
        self.machine.instances(counterset)
    }

    fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError> {
        Ok(Box::new(Replay::new(self.player())))
    }

    /// Returns the facts that were recorded about an instance, the newest ones up to the end of the window.
    fn facts(&mut self, instance: &Identity<'_>, _: FactOptions) -> Result<Vec<Fact>, SourceError> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let files = &self.files.files;
        // The last tick of the window: instances of another boot can have its ids and births.
        let last = *notes.last.get_or_insert_with(|| last_tick_in(&self.files, self.window));
        let place = |(file, tick): (usize, usize)| {
            let of = files.get(file)?;
            Some((file, of, of.ticks().get(tick)?))
        };
        let Some((last_file, of, tick)) = last.and_then(place) else { return Ok(Vec::new()) };
        let boot = of.about_of(tick).and_then(|about| about.get(RecordingAbout::BOOT));
        let read = |file: usize, from_end| {
            let file = files.get(file)?;
            let is_same = file.about().and_then(|about| about.get(RecordingAbout::BOOT)) == boot;
            file.notes(from_end, tick.sequence).filter(|_| is_same)
        };
        let found = notes.facts(instance, last_file.saturating_add(1), read);
        let facts = found.into_iter().flatten();
        Ok(facts.map(|(kind, text)| Fact::new(*kind, Ok(text.clone()))).collect())
    }

    fn series(
        &mut self,
        counter: CounterId,
        instance: &Identity<'_>,
        window: Window,
        each: &mut dyn FnMut(&[RecordedSample<'_>]) -> ControlFlow<()>,
    ) -> Result<SourceKind, SourceError> {
        let reader = SeriesReader::new(&self.files, counter, *instance, each)?;
        reader.read(self.window.both(window), self.pick)?;
        Ok(SourceKind::Log)
    }
}
