//! Recordings as a source: each step of a query is the next tick.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use perfset_core::clock::ClockReading;
use perfset_core::sample::Clocks;
use perfset_core::{
    CounterId, Counterset, Guid, Identity, Instance, InstanceId, InstanceType, Mark, NoValue, Status,
};
use perfset_engine::{
    Catalogue, CellState, Change, Clock, CollectRequest, Entry, Machine, Player, Provider, QueryHandle,
    RecordedSample, RegInfo, RegRequest, Replay, Rows, Sampler, Source, SourceError, SourceKind, Window,
};

use super::about::{Annotation, MissedTicks, RecordingAbout};
use super::block::{BlockHeader, ReadAt};
use super::files::{self, RecordingError, RecordingFile, TickPlace};
use super::table::{Content, RecordedTable, RowIdentity};
use super::tick::{TickState, TickTable};
use crate::damage::Damages;
use crate::pick::Pick;

/// Recording, queried like a machine: a folder that a recorder writes, or a file of one.
///
/// Values are raw, with the identities, reasons and marks that they had when they were collected. Two samples between
/// which the machine started again, or ticks are missing, are never compared: a sample without values is between them.
#[derive(Clone)]
pub struct Recording {
    files: Arc<RecordingFiles>,
    window: Window,
    pick: Pick,
    machine: Machine,
}

/// Files of a recording, in the order of their ticks.
#[derive(Debug)]
struct RecordingFiles {
    files: Vec<RecordingFile>,
    /// Files that are not read, with the reason.
    refused: Vec<(PathBuf, RecordingError)>,
    catalogue: Arc<Catalogue>,
    /// Ticks that are not compared with the one before, by number, each with the reason.
    breaks: Vec<(u64, NoValue)>,
    /// Instances of all ticks, by counterset, once requested.
    instances: Mutex<Option<HashMap<Guid, Vec<SeenInstance>>>>,
    /// Damage that was found in ticks.
    damages: Mutex<Damages>,
}

/// Instance of a recording, with its first and last sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenInstance {
    /// Name and id of the instance.
    pub instance: Instance,
    /// Birth of the instance; 0 = unknown.
    pub birth: u64,
    /// Time of its first sample, in 100 ns since 1601 UTC.
    pub first: i64,
    /// Time of its last sample.
    pub last: i64,
}

/// Returns `true` if a path is that of a recording: of a folder, or of a file that begins with a block.
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
    /// Opens the recording in a folder, or in one file.
    ///
    /// # Errors
    /// If there is no recording, or none of its files can be read.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        if !path.is_dir() {
            let file = RecordingFile::read(path.to_owned(), Arc::new(files::open_named(path)?))?;
            return Ok(Self::of(vec![file], Vec::new()));
        }
        let paths = files::paths(path)?;
        let mut all = Vec::new();
        let mut refused = Vec::new();
        for path in paths {
            let read = files::open_file(&path)
                .map_err(RecordingError::from)
                .and_then(|file| RecordingFile::read(path.clone(), Arc::new(file)));
            match read {
                Ok(file) => all.push(file),
                Err(error) => refused.push((path, error)),
            }
        }
        if all.is_empty() {
            return Err(refused.pop().map_or(RecordingError::Empty, |(_, error)| error));
        }
        Ok(Self::of(all, refused))
    }

    /// Opens a recording of one file in memory.
    ///
    /// # Errors
    /// If the bytes are no recording.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RecordingError> {
        let source: Arc<dyn ReadAt> = Arc::new(bytes.to_vec());
        Ok(Self::of(vec![RecordingFile::read(PathBuf::new(), source)?], Vec::new()))
    }

    fn of(mut all: Vec<RecordingFile>, refused: Vec<(PathBuf, RecordingError)>) -> Self {
        // By the first tick: names are for people.
        all.sort_by_key(|file| file.ticks.first().map(|tick| tick.sequence));
        let catalogue = Arc::new(catalogue(&all));
        let (breaks, instances, found) = Default::default();
        let mut files = RecordingFiles { files: all, refused, catalogue, breaks, instances, damages: found };
        files.breaks = self::breaks(&files);
        let files = Arc::new(files);
        let machine = RecordingPlayer::new(&files, Window::default(), Pick::All).machine();
        Self { files, window: Window::default(), pick: Pick::All, machine }
    }

    /// Returns the same recording, restricted to the ticks in a window.
    #[must_use]
    pub fn within(&self, window: Window) -> Self {
        Self { window, ..self.clone() }
    }

    /// Returns the same recording, restricted to some ticks.
    #[must_use]
    pub fn picking(&self, pick: Pick) -> Self {
        Self { pick, ..self.clone() }
    }

    /// Returns the countersets, with their names.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns the name of the recorded machine.
    #[must_use]
    pub fn machine_name(&self) -> &str {
        self.about().and_then(|about| about.get(RecordingAbout::MACHINE)).unwrap_or_default()
    }

    /// Returns what the newest file says about the recording.
    #[must_use]
    pub fn about(&self) -> Option<&RecordingAbout> {
        self.files.files.last().map(|file| &file.about)
    }

    /// Returns the countersets of the recording.
    #[must_use]
    pub fn countersets(&self) -> &[Arc<Counterset>] {
        &self.files.catalogue.countersets
    }

    /// Returns the times of all ticks, in 100 ns since 1601 UTC, in their order.
    pub fn times(&self) -> impl Iterator<Item = i64> + '_ {
        ticks(&self.files).map(|(file, tick)| time_of(&self.files, (file, tick)))
    }

    /// Returns the annotations, by time.
    #[must_use]
    pub fn annotations(&self) -> Vec<&Annotation> {
        let mut all: Vec<_> = self.files.files.iter().flat_map(|file| &file.annotations).collect();
        all.sort_by_key(|annotation| annotation.time);
        all
    }

    /// Returns the ticks that were due and are missing.
    #[must_use]
    pub fn missed(&self) -> Vec<&MissedTicks> {
        self.files.files.iter().flat_map(|file| &file.missed).collect()
    }

    /// Returns the damage of each file, with its path: also that found by queries so far.
    #[must_use]
    pub fn damages(&self) -> Vec<(PathBuf, Damages)> {
        let mut all: Vec<_> =
            self.files.files.iter().map(|file| (file.path.clone(), file.damages.clone())).collect();
        for (path, error) in &self.files.refused {
            let mut damages = Damages::default();
            damages.add(0, format!("the file is left out: {error}"));
            all.push((path.clone(), damages));
        }
        let found = self.files.damages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, first)) = all.first_mut() {
            first.take_over(&found);
        }
        all
    }

    /// Returns the damage of all files together.
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
        let mut known = self.files.instances.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none() {
            *known = Some(seen(&self.files));
        }
        Ok(known.as_ref().and_then(|known| known.get(counterset).cloned()).unwrap_or_default())
    }

    fn player(&self) -> RecordingPlayer {
        RecordingPlayer::new(&self.files, self.window, self.pick)
    }
}

/// Returns the indexes of all ticks: file and tick. A tick that two files have is that of the file that is finished.
fn ticks(files: &RecordingFiles) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut next = 0;
    let all = files
        .files
        .iter()
        .enumerate()
        .flat_map(|(at, file)| (0..file.ticks.len()).map(move |tick| (at, tick)));
    all.filter(move |(file, tick)| {
        let sequence =
            files.files.get(*file).and_then(|file| file.ticks.get(*tick)).map(|tick| tick.sequence);
        let is_new = sequence.is_some_and(|sequence| sequence >= next);
        if let Some(sequence) = sequence.filter(|_| is_new) {
            next = sequence.saturating_add(1);
        }
        is_new
    })
}

fn time_of(files: &RecordingFiles, (file, tick): (usize, usize)) -> i64 {
    let tick = files.files.get(file).and_then(|file| file.ticks.get(tick));
    tick.map_or(0, |tick| tick.clocks.utc_100ns())
}

/// Returns all countersets of the files. Of two registrations of one counterset the later one counts.
fn catalogue(files: &[RecordingFile]) -> Catalogue {
    let mut known: BTreeMap<Guid, Arc<Counterset>> = BTreeMap::new();
    for table in files.iter().flat_map(|file| file.tables.iter().flatten()) {
        let set = &table.counterset;
        let played = match played_type(set.instance_type) {
            own if own == set.instance_type => Arc::clone(set),
            other => {
                let mut set = Counterset::clone(set);
                set.instance_type = other;
                Arc::new(set)
            }
        };
        known.insert(set.guid, played);
    }
    let name = files.last().and_then(|file| file.about.get(RecordingAbout::MACHINE)).unwrap_or_default();
    Catalogue::new(name.to_owned(), known.into_values().collect())
}

/// Returns the instance type that a recorded counterset is played with: its aggregates are recorded rows, and are not
/// added up again.
fn played_type(recorded: InstanceType) -> InstanceType {
    match recorded {
        InstanceType::SingleAggregate | InstanceType::SingleAggregateHistory => InstanceType::Single,
        InstanceType::MultiAggregate | InstanceType::InstanceAggregate => InstanceType::Multiple,
        plain => plain,
    }
}

/// Finds all instances, with their first and last sample.
fn seen(files: &RecordingFiles) -> HashMap<Guid, Vec<SeenInstance>> {
    let mut found: HashMap<Guid, Vec<SeenInstance>> = HashMap::new();
    let mut places: HashMap<(Guid, RowIdentity), usize> = HashMap::new();
    let mut state = None;
    let mut file_before = usize::MAX;
    for (file, tick) in ticks(files) {
        if file != file_before {
            (state, file_before) = (None, file);
        }
        let Some(of) = files.files.get(file) else { continue };
        if let Err(error) = of.state_at(tick, &mut state, &|_| true) {
            files.damaged(&error);
            state = None;
            continue;
        }
        let Some(state) = &state else { continue };
        let time = state.clocks.utc_100ns();
        for (definition, table) in of.tables.iter().zip(&state.tables) {
            let (Some(definition), Content::Rows(rows)) = (definition, &table.content) else { continue };
            if table.collected != Some(state.sequence) {
                continue;
            }
            let guid = definition.counterset.guid;
            let all = found.entry(guid).or_default();
            for key in &rows.rows {
                let place = match places.get(&(guid, key.clone())) {
                    Some(place) => *place,
                    None => {
                        places.insert((guid, key.clone()), all.len());
                        let instance = Instance { name: key.name.clone(), id: InstanceId(key.id) };
                        all.push(SeenInstance { instance, birth: key.birth, first: time, last: time });
                        continue;
                    }
                };
                if let Some(seen) = all.get_mut(place) {
                    seen.last = time;
                }
            }
        }
    }
    found
}

impl RecordingFiles {
    /// Records damage of a tick that is left out.
    fn damaged(&self, error: &RecordingError) {
        let mut damages = self.damages.lock().unwrap_or_else(PoisonError::into_inner);
        damages.add(0, format!("a tick is left out: {error}"));
    }
}

impl Source for Recording {
    fn countersets(&mut self) -> Result<Vec<Guid>, SourceError> {
        Ok(self.machine.countersets())
    }

    fn registration(&mut self, counterset: &Guid, request: RegRequest) -> Result<RegInfo, SourceError> {
        self.machine.registration(counterset, request)
    }

    /// Returns the instances of all ticks.
    fn instances(&mut self, counterset: &Guid) -> Result<Vec<Instance>, SourceError> {
        self.machine.instances(counterset)
    }

    fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError> {
        Ok(Box::new(Replay::new(self.player())))
    }

    fn series(
        &mut self,
        counter: CounterId,
        instance: &Identity<'_>,
        window: Window,
        each: &mut dyn FnMut(&[RecordedSample<'_>]) -> ControlFlow<()>,
    ) -> Result<SourceKind, SourceError> {
        const BATCH: usize = 256;
        let guid = instance.counterset;
        let set = self.files.catalogue.countersets.iter().find(|set| set.guid == guid);
        let mut sampler = Sampler::new(set.ok_or(SourceError::UnknownCounterset(guid))?, counter, *instance)?;
        let mut player = RecordingPlayer::new(&self.files, self.window.both(window), self.pick);
        player.want(guid);
        let mut batch: Vec<RecordedSample<'_>> = Vec::with_capacity(BATCH);
        while player.step()? {
            let clocks = player.read();
            let sample = sampler.sample(&clocks, |want, rows| player.collect(want, rows));
            batch.push(RecordedSample { time: clocks.utc_100ns(), sample });
            if batch.len() == BATCH {
                if each(&batch).is_break() {
                    return Ok(SourceKind::Log);
                }
                batch.clear();
            }
        }
        if !batch.is_empty() {
            let _ = each(&batch); // it is over anyway
        }
        Ok(SourceKind::Log)
    }
}

/// Player of a recording. Clones play the same tick.
#[derive(Clone)]
struct RecordingPlayer {
    files: Arc<RecordingFiles>,
    played: Arc<Mutex<Played>>,
}

/// Position of a player.
struct Played {
    /// Ticks to play, and those before each of which there is a break.
    ticks: Vec<(usize, usize)>,
    next: usize,
    state: Option<TickState>,
    /// File of the state.
    file: usize,
    /// Reason that the current sample has no values: it separates the ticks before and after it.
    broken: Option<NoValue>,
    clocks: ClockReading,
    /// Countersets that are wanted; `None` = all.
    wanted: Option<HashSet<Guid>>,
    /// `true` if there is a current sample.
    is_begun: bool,
}

impl RecordingPlayer {
    fn new(files: &Arc<RecordingFiles>, window: Window, pick: Pick) -> Self {
        let played = Played {
            ticks: chosen(files, window, pick),
            next: 0,
            state: None,
            file: 0,
            broken: None,
            clocks: ClockReading::recorded(0),
            wanted: Some(HashSet::new()),
            is_begun: false,
        };
        Self { files: Arc::clone(files), played: Arc::new(Mutex::new(played)) }
    }

    fn played(&self) -> MutexGuard<'_, Played> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the tables of a counterset from now on.
    fn want(&self, counterset: Guid) {
        let mut played = self.played();
        let is_new = played.wanted.as_mut().is_some_and(|wanted| wanted.insert(counterset));
        if is_new {
            // The tables that are new have no contents yet: the state is read again.
            played.state = None;
        }
    }
}

/// Returns the ticks of a window that are picked.
fn chosen(files: &RecordingFiles, window: Window, pick: Pick) -> Vec<(usize, usize)> {
    let mut due: Option<(i64, u64)> = None;
    let is_picked = |place: &(usize, usize)| {
        let time = time_of(files, *place);
        if !window.contains(time) {
            return false;
        }
        let Some((from, passed)) = due else {
            due = Some((time, 0));
            return true;
        };
        let is_picked = match pick {
            Pick::All => true,
            Pick::Nth(n) => passed.saturating_add(1) >= n.get(),
            Pick::Every(step) => time.saturating_sub(from) >= step || time < from,
        };
        due = Some(match (is_picked, pick) {
            (false, _) => (from, passed.saturating_add(1)),
            // Due times keep their grid, unless one was missed.
            (true, Pick::Every(step)) if time.abs_diff(from.saturating_add(step)) < step.unsigned_abs() => {
                (from.saturating_add(step), 0)
            }
            (true, _) => (time, 0),
        });
        is_picked
    };
    ticks(files).filter(is_picked).collect()
}

impl RecordingFiles {
    /// Returns the reason that two ticks are not compared, if there is one.
    fn between(&self, before: (usize, usize), after: (usize, usize)) -> Option<&NoValue> {
        let sequence = |(file, tick): (usize, usize)| {
            self.files.get(file).and_then(|file| file.ticks.get(tick)).map(|tick| tick.sequence)
        };
        let (before, after) = (sequence(before)?, sequence(after)?);
        let at = self.breaks.partition_point(|(sequence, _)| *sequence <= before);
        self.breaks.get(at).filter(|(sequence, _)| *sequence <= after).map(|(_, reason)| reason)
    }
}

/// Finds the ticks that are not compared with the tick before, by number.
fn breaks(files: &RecordingFiles) -> Vec<(u64, NoValue)> {
    let mut breaks = Vec::new();
    let mut before: Option<(&RecordingFile, &TickPlace)> = None;
    for (file, tick) in ticks(files) {
        let Some(file) = files.files.get(file) else { continue };
        let Some(tick) = file.ticks.get(tick) else { continue };
        if let Some((old_file, old)) = before.replace((file, tick)) {
            breaks.extend(break_between((old_file, old), (file, tick)).map(|reason| (tick.sequence, reason)));
        }
    }
    breaks
}

fn break_between(
    (old_file, old): (&RecordingFile, &TickPlace),
    (new_file, new): (&RecordingFile, &TickPlace),
) -> Option<NoValue> {
    if old_file.about.get(RecordingAbout::BOOT) != new_file.about.get(RecordingAbout::BOOT) {
        return Some(NoValue::Restarted { value_fell: false });
    }
    let length = new.clocks.time_100ns.saturating_sub(old.clocks.time_100ns);
    // A recorder that is started again continues the numbers.
    let interval = new_file.about.get(RecordingAbout::INTERVAL_MS).and_then(|ms| ms.parse::<i64>().ok());
    let longest = interval.map_or(i64::MAX, |ms| ms.saturating_mul(25_000));
    let is_missing = old.sequence.checked_add(1) != Some(new.sequence) || length > longest;
    is_missing.then(|| {
        let seconds = length / 10_000_000;
        NoValue::Failed(format!("nothing was recorded for {seconds} s before this sample").into())
    })
}

impl Player for RecordingPlayer {
    fn step(&mut self) -> Result<bool, SourceError> {
        let mut played = self.played();
        let played = &mut *played;
        loop {
            let Some(place) = played.ticks.get(played.next).copied() else { return Ok(false) };
            let before = played.next.checked_sub(1).and_then(|at| played.ticks.get(at)).copied();
            let tick = self.files.files.get(place.0).and_then(|file| file.ticks.get(place.1));
            let Some(clocks) = tick.map(|tick| tick.clocks) else { return Ok(false) };
            if played.broken.is_none() {
                if let Some(reason) = before.and_then(|before| self.files.between(before, place)) {
                    // A sample without values: nothing is compared across it.
                    (played.broken, played.clocks, played.is_begun) = (Some(reason.clone()), clocks, true);
                    return Ok(true);
                }
            }
            played.broken = None;
            played.next = played.next.saturating_add(1);
            if std::mem::replace(&mut played.file, place.0) != place.0 {
                played.state = None;
            }
            match played.load(&self.files, place) {
                Ok(()) => {
                    (played.clocks, played.is_begun) = (clocks, true);
                    return Ok(true);
                }
                Err(error) => {
                    self.files.damaged(&error);
                    played.state = None;
                }
            }
        }
    }
}

impl Played {
    /// Reads the wanted tables of a tick.
    fn load(&mut self, files: &RecordingFiles, (file, tick): (usize, usize)) -> Result<(), RecordingError> {
        let Some(of) = files.files.get(file) else { return Ok(()) };
        let Self { state, wanted, .. } = self;
        let is_wanted = |number: usize| {
            let definition = of.tables.get(number).and_then(Option::as_ref);
            definition.is_some_and(|table| {
                wanted.as_ref().is_none_or(|wanted| wanted.contains(&table.counterset.guid))
            })
        };
        of.state_at(tick, state, &is_wanted)
    }
}

impl Clock for RecordingPlayer {
    fn read(&mut self) -> ClockReading {
        self.played().clocks
    }
}

impl Provider for RecordingPlayer {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.files.catalogue))
    }

    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        if change == Change::Added {
            self.want(entry.counterset);
        }
        Status::ERROR_SUCCESS
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        let mut known = self.files.instances.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none() {
            *known = Some(seen(&self.files));
        }
        let mut given = HashSet::new();
        for SeenInstance { instance, .. } in known.iter().flat_map(|known| known.get(counterset)).flatten() {
            if given.insert(instance) {
                rows.push_units(instance.name.units().iter().copied(), instance.id, None);
            }
        }
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.want(want.counterset.guid);
        let mut played = self.played();
        let played = &mut *played;
        if let Some(reason) = &played.broken {
            return Err(reason.clone().into());
        }
        if !played.is_begun {
            return Ok(());
        }
        if played.state.is_none() {
            let place = played.next.checked_sub(1).and_then(|at| played.ticks.get(at)).copied();
            if let Some(place) = place {
                played
                    .load(&self.files, place)
                    .map_err(|error| SourceError::Failed(error.to_string().into()))?;
            }
        }
        let (Some(state), Some(file)) = (&played.state, self.files.files.get(played.file)) else {
            return Err(SourceError::NoInstances(want.counterset.guid));
        };
        collect(state, file, want, rows)
    }
}

/// Fills in the rows of a counterset.
fn collect(
    state: &TickState,
    file: &RecordingFile,
    want: &CollectRequest<'_>,
    rows: &mut Rows,
) -> Result<(), SourceError> {
    let guid = want.counterset.guid;
    let of_set = file.tables.iter().zip(&state.tables).filter_map(|(definition, table)| {
        let definition = definition.as_ref().filter(|definition| definition.counterset.guid == guid)?;
        table.collected.map(|collected| (collected, definition, table))
    });
    // A counterset that was registered again has two tables; the later one is collected.
    let Some((collected, definition, table)) = of_set.max_by_key(|(collected, ..)| *collected) else {
        return Err(SourceError::Failed("it was not recorded at that time".into()));
    };
    let content = match &table.content {
        Content::Failed(reason) => return Err(reason.clone().into()),
        Content::Rows(content) => content,
    };
    let columns: Vec<Option<usize>> = (want.counters.iter())
        .map(|id| want.counterset.counter(*id).and_then(|counter| definition.column(counter)))
        .collect();
    let age = (collected != state.sequence).then(|| age_of(table, state));
    rows.set_clocks(content.clocks.unwrap_or_else(|| Clocks::from(&table.clocks)));
    for (row, key) in content.rows.iter().enumerate() {
        let id = InstanceId(key.id);
        if !want.instances.wants(key.name.units().iter().copied(), id) {
            continue;
        }
        rows.set_owner(key.owner());
        push(rows, content, (row, key), &columns, age, state);
    }
    Ok(())
}

fn age_of(table: &TickTable, state: &TickState) -> Duration {
    let age = state.clocks.time_100ns.saturating_sub(table.clocks.time_100ns);
    Duration::from_nanos(u64::try_from(age).unwrap_or(0).saturating_mul(100))
}

fn push(
    rows: &mut Rows,
    content: &RecordedTable,
    (row, key): (usize, &RowIdentity),
    columns: &[Option<usize>],
    age: Option<Duration>,
    state: &TickState,
) {
    let (values, states) = (content.row(row), content.states_of(row));
    let mut writer = rows.push_units(key.name.units().iter().copied(), InstanceId(key.id), key.birth());
    if let Some(age) = age {
        // The table was not due at this tick.
        writer.mark(Mark::Stale(age));
    }
    for (to, column) in columns.iter().enumerate() {
        let Some(column) = column else {
            let reason = NoValue::Unavailable("this counter was not recorded at that time".into());
            writer.set_unavailable(to, reason);
            continue;
        };
        let Some(value) = values.get(*column).copied() else { continue };
        let note = states.iter().find(|((_, at), _)| usize::try_from(*at) == Ok(*column));
        match note.and_then(|(_, number)| state.states.get(*number)) {
            None => writer.set(to, value),
            Some(CellState::Missing(reason)) => writer.set_unavailable(to, reason.clone()),
            Some(CellState::Marked(mark)) => writer.set_marked(to, value, *mark),
            Some(CellState::Counted(since, mark)) => writer.set_counted(to, value, *mark, *since),
        }
    }
}
