//! Timeline of a recording: the ticks of all its files, in their order.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use perfset_core::{Counterset, Guid, InstanceType, NoValue};
use perfset_engine::{Catalogue, Window};

use super::about::RecordingAbout;
use super::files::{RecordingError, RecordingFile, TickPlace};
use super::registration::TableDefinition;
pub use super::seen::SeenInstance;
use super::seen::SeenInstances;
use super::ticks::SegmentSpan;
use crate::damage::{Damage, Damages};

/// Files of a recording, in the order of their ticks.
#[derive(Debug)]
pub(super) struct RecordingFiles {
    pub files: Vec<RecordingFile>,
    /// Paths of the recording's files that are not read, with the reason.
    refused: Vec<(PathBuf, RecordingError)>,
    pub catalogue: Arc<Catalogue>,
    /// Sequence numbers of the ticks that are not compared with the tick before, each with the reason.
    breaks: Vec<(u64, NoValue)>,
    /// Instances of all ticks of the recording, by counterset, once requested.
    instances: Mutex<Option<SeenInstances>>,
    /// Damage that was found in ticks, by the index of the file.
    damages: Mutex<HashMap<usize, Damages>>,
}

impl RecordingFiles {
    /// Puts the files of a recording in the order of their ticks.
    pub fn new(mut files: Vec<RecordingFile>, refused: Vec<(PathBuf, RecordingError)>) -> Self {
        // By the first tick: names are for people. Of two files that have a tick, the sealed one comes first: it was
        // made of the other.
        files.sort_by_key(|file| (file.known_ticks().first().map(|tick| tick.sequence), !file.is_sealed()));
        let catalogue = Arc::new(catalogue(&files));
        let (breaks, instances, damages) = Default::default();
        let mut all = Self { files, refused, catalogue, breaks, instances, damages };
        all.breaks = self::breaks(&all);
        all
    }

    /// Returns every instance of a counterset that ever had a sample, in the order of first samples.
    pub fn seen_instances(&self, counterset: &Guid) -> Vec<SeenInstance> {
        let mut known = self.instances.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(|| SeenInstances::read(self));
        known.of(counterset).to_vec()
    }

    /// Returns the damage of each file of the recording, with its path, including the damage found in ticks so far.
    pub fn damages(&self) -> Vec<(PathBuf, Damages)> {
        let mut all: Vec<_> =
            self.files.iter().map(|file| (file.path.clone(), file.damages.clone())).collect();
        for (path, error) in &self.refused {
            let mut damages = Damages::default();
            damages.add(0, format!("the file is left out: {error}"));
            all.push((path.clone(), damages));
        }
        for ((_, all), file) in all.iter_mut().zip(&self.files) {
            file.directory_damages().for_each(|damage| all.add(damage.offset, damage.what.clone()));
        }
        let found = self.damages.lock().unwrap_or_else(PoisonError::into_inner);
        for (file, damages) in found.iter() {
            if let Some((_, all)) = all.get_mut(*file) {
                all.take_over(damages);
            }
        }
        all
    }
}

/// Returns the ticks of a recording in a window, each as the index of its file and its index there. Files that have
/// none of them are not read. A tick that two files have is that of the file that is sealed.
pub(super) fn ticks_in(files: &RecordingFiles, window: Window) -> impl Iterator<Item = (usize, usize)> + '_ {
    with_next(files).enumerate().flat_map(move |(at, (file, next))| {
        let ticks = if file.known_ticks().can_be_in(window) { file.ticks() } else { &[] };
        let is_in = move |tick: &TickPlace| tick.sequence >= next && window.contains(tick.time);
        ticks.iter().enumerate().filter(move |(_, tick)| is_in(tick)).map(move |(tick, _)| (at, tick))
    })
}

/// Returns all files of a recording, each with the number of the first tick that no earlier file has.
pub(super) fn with_next(files: &RecordingFiles) -> impl Iterator<Item = (&RecordingFile, u64)> {
    files.files.iter().scan(0_u64, |next, file| {
        let before = *next;
        let last = file.known_ticks().last();
        *next = last.map_or(before, |last| before.max(last.sequence.saturating_add(1)));
        Some((file, before))
    })
}

/// Returns the last tick of a recording in a window, as the index of its file and its index there.
pub(super) fn last_tick_in(files: &RecordingFiles, window: Window) -> Option<(usize, usize)> {
    let all: Vec<_> = with_next(files).enumerate().collect();
    all.iter().rev().find_map(|(at, (file, next))| {
        let ticks = if file.known_ticks().can_be_in(window) { file.ticks() } else { &[] };
        let is_it = |tick: &TickPlace| tick.sequence >= *next && window.contains(tick.time);
        ticks.iter().rposition(is_it).map(|tick| (*at, tick))
    })
}

/// Returns the times of all ticks of a recording, in 100 ns since 1601 UTC, in their order.
pub(super) fn times(files: &RecordingFiles) -> impl Iterator<Item = i64> {
    with_next(files).flat_map(|(file, next)| file.times(next))
}

/// Returns the number of all ticks of a recording.
pub(super) fn tick_count(files: &RecordingFiles) -> usize {
    let of_file = |(file, next): (&RecordingFile, u64)| match file.known_ticks() {
        known if known.first().is_none_or(|first| first.sequence >= next) => known.len(),
        _ => file.ticks().iter().filter(|tick| tick.sequence >= next).count(),
    };
    with_next(files).map(of_file).fold(0, usize::saturating_add)
}

pub(super) fn time_of(files: &RecordingFiles, (file, tick): (usize, usize)) -> i64 {
    let tick = files.files.get(file).and_then(|file| file.ticks().get(tick));
    tick.map_or(0, |tick| tick.time)
}

/// Returns all countersets of a recording's files, in the order of their tables. Of two registrations of one
/// counterset the later one counts.
fn catalogue(files: &[RecordingFile]) -> Catalogue {
    let mut known: Vec<Arc<Counterset>> = Vec::new();
    let mut places: HashMap<Guid, usize> = HashMap::new();
    // The files of a directory mostly share their definitions, and then say nothing new.
    let mut before: &[Option<Arc<TableDefinition>>] = &[];
    let is_same = |pair: (&Option<Arc<TableDefinition>>, &Option<Arc<TableDefinition>>)| match pair {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (a, b) => a.is_none() && b.is_none(),
    };
    let new = files.iter().filter(|file| {
        let before = std::mem::replace(&mut before, &file.tables);
        before.len() != file.tables.len() || !before.iter().zip(&file.tables).all(is_same)
    });
    for table in new.flat_map(|file| file.tables.iter().flatten()) {
        let set = &table.counterset;
        let played = match played_type(set.instance_type) {
            own if own == set.instance_type => Arc::clone(set),
            other => {
                let mut set = Counterset::clone(set);
                set.instance_type = other;
                Arc::new(set)
            }
        };
        let place = *places.entry(set.guid).or_insert(known.len());
        match known.get_mut(place) {
            Some(known) => *known = played,
            None => known.push(played),
        }
    }
    let about = files.last().and_then(RecordingFile::about);
    let name = about.and_then(|about| about.get(RecordingAbout::MACHINE)).unwrap_or_default();
    Catalogue::new(name.to_owned(), known)
}

/// Returns the instance type for playing a recorded counterset: its aggregates are recorded rows, and are not added up
/// again.
fn played_type(recorded: InstanceType) -> InstanceType {
    match recorded {
        InstanceType::SingleAggregate | InstanceType::SingleAggregateHistory => InstanceType::Single,
        InstanceType::MultiAggregate | InstanceType::InstanceAggregate => InstanceType::Multiple,
        plain => plain,
    }
}

impl RecordingFiles {
    /// Records damage of a tick that is left out of the played recording.
    pub fn damaged(&self, (file, tick): (usize, usize), error: &RecordingError) {
        let offset = self.files.get(file).map_or(0, |file| file.offset_of(tick));
        self.add_damage(file, offset, format!("a tick is left out: {error}"));
    }

    /// Records as damage a description of the data that is left out of a file.
    pub fn left_out(&self, file: usize, what: String) {
        self.add_damage(file, 0, what);
    }

    /// Records damage of a part of a recording's file.
    pub fn damaged_part(&self, file: usize, damage: &Damage) {
        self.add_damage(file, damage.offset, format!("a part of a segment is left out: {}", damage.what));
    }

    fn add_damage(&self, file: usize, offset: u64, what: String) {
        let mut damages = self.damages.lock().unwrap_or_else(PoisonError::into_inner);
        let damages = damages.entry(file).or_default();
        // Each query finds it again.
        if !damages.first().iter().any(|known| known.offset == offset && known.what == what) {
            damages.add(offset, what);
        }
    }
}

impl RecordingFiles {
    /// Returns the reason for which two ticks of the recording are not compared, if there is one.
    pub fn between(&self, before: (usize, usize), after: (usize, usize)) -> Option<&NoValue> {
        if self.breaks.is_empty() {
            return None;
        }
        let sequence = |(file, tick): (usize, usize)| {
            self.files.get(file).and_then(|file| file.ticks().get(tick)).map(|tick| tick.sequence)
        };
        let (before, after) = (sequence(before)?, sequence(after)?);
        let at = self.breaks.partition_point(|(sequence, _)| *sequence <= before);
        self.breaks.get(at).filter(|(sequence, _)| *sequence <= after).map(|(_, reason)| reason)
    }
}

/// Finds the ticks of a recording that are not compared with the tick before, by number. Only files in which ticks
/// are missing are read.
fn breaks(files: &RecordingFiles) -> Vec<(u64, NoValue)> {
    let mut breaks = Vec::new();
    let mut before: Option<(&RecordingFile, TickPlace)> = None;
    for (file, next) in with_next(files) {
        let mut go_on = |first: &TickPlace, last: &TickPlace| {
            if let Some((old_file, old)) = before.replace((file, *last)) {
                let reason = break_between((old_file, &old), (file, first));
                breaks.extend(reason.map(|reason| (first.sequence, reason)));
            }
        };
        let is_whole = |span: &SegmentSpan| span.span.is_contiguous && span.span.first.0 >= next;
        match file.known_ticks().spans().filter(|spans| spans.iter().all(is_whole)) {
            Some(spans) => spans.iter().for_each(|span| go_on(&span.first(), &span.last())),
            None => {
                let ticks = file.ticks().iter().filter(|tick| tick.sequence >= next);
                ticks.for_each(|tick| go_on(tick, tick));
            }
        }
    }
    breaks
}

fn break_between(
    (old_file, old): (&RecordingFile, &TickPlace),
    (new_file, new): (&RecordingFile, &TickPlace),
) -> Option<NoValue> {
    let is_same = std::ptr::eq(old_file, new_file) && old.about == new.about;
    let (old_about, new_about) = (old_file.about_of(old), new_file.about_of(new));
    // Where nothing says whose the ticks are, they can be of any recorder.
    let is_known = is_same || (old_about.is_some() && new_about.is_some());
    let text =
        |about: Option<&RecordingAbout>, key| about.and_then(|about| about.get(key)).map(str::to_owned);
    let is_other = |key| !is_same && text(old_about, key) != text(new_about, key);
    if is_known && is_other(RecordingAbout::BOOT) {
        return Some(NoValue::Restarted { value_fell: false });
    }
    // Another recorder has other clocks, and totals without the instances that ended before it.
    let is_next = old.sequence.checked_add(1) == Some(new.sequence);
    let is_missing = !is_known || !is_next || is_other(RecordingAbout::RUN);
    is_missing.then(|| {
        let ms = new.clocks.utc_100ns().saturating_sub(old.clocks.utc_100ns()) / 10_000;
        NoValue::Failed(format!("nothing was recorded in the {ms} ms before this sample").into())
    })
}
