//! Merged logs of one machine: their registrations and the current sample.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use perfset_core::clock::{ClockReading, SystemTime};
use perfset_core::visit::Mode;
use perfset_core::{Counter, Counterset, Guid, ProviderIdentity, Text, v1};
use perfset_engine::v1::{ObjectSets, Recording, windows_names};
use perfset_engine::{Catalogue, CollectRequest, Rows, SourceError};

use super::OpenError;
use super::log_reader::{LogEntry, LogEntryKind, LogReader};
use super::overlap::Overlaps;
use super::path_countersets::{PathCountersets, TooMany};
use super::selection::{Pick, Selection};
use crate::blg::CounterBlock;
use crate::damage::Damages;

/// Maximum number of objects that no sample has shown yet, far more than any machine has.
const OBJECTS: usize = 4_096;

/// Merged logs of one machine, read sample by sample.
pub(super) struct MergedLogs {
    selection: Arc<Selection>,
    tapes: Vec<LogReader>,
    /// Registered counter list of each log reader.
    lists: Vec<Arc<[LogEntry]>>,
    /// Time at which the last played sample was due, and the number of samples skipped since.
    due: Option<(i64, u64)>,
    listed: PathCountersets,
    overlaps: Overlaps,
    /// Log readers with a counterset that another log contains as a whole object. Their values of that counterset are
    /// not played.
    hidden: HashSet<(usize, Guid)>,
    /// Objects of each log reader, because title indexes differ between logs.
    objects: Vec<ObjectSets>,
    names: Vec<Option<Arc<v1::TitleNames>>>,
    /// Locations of the blocks of an object's counterset: log reader and entry.
    blocks: HashMap<Guid, Vec<(usize, usize)>>,
    /// Entries of objects that no sample has shown yet: log reader and entry.
    unseen: Vec<(usize, usize)>,
    catalogue: Arc<Catalogue>,
    /// Index of each counterset in the catalogue.
    positions: HashMap<Guid, usize>,
    time: i64,
    /// `true` if all samples have the same instances; set only while the logs are not played.
    rests_steady: Option<bool>,
    /// Receives the damage found, when these merged logs are dropped.
    damages: Arc<Mutex<Vec<Damages>>>,
}

impl MergedLogs {
    /// Opens the logs and registers the counters of their machine.
    pub fn open(selection: &Arc<Selection>, damages: Arc<Mutex<Vec<Damages>>>) -> Result<Self, OpenError> {
        let open = |(number, input)| {
            let opened = LogReader::open((number, input), &selection.read, &selection.lists);
            opened.map_err(|error| OpenError { number, error })
        };
        let tapes: Vec<LogReader> =
            selection.inputs.iter().enumerate().map(open).collect::<Result<_, _>>()?;
        let mut deck = Self {
            selection: Arc::clone(selection),
            lists: vec![[].into(); tapes.len()],
            objects: tapes.iter().map(|_| ObjectSets::default()).collect(),
            names: tapes.iter().map(|_| None).collect(),
            tapes,
            due: None,
            listed: PathCountersets::default(),
            overlaps: Overlaps::default(),
            hidden: HashSet::new(),
            blocks: HashMap::new(),
            unseen: Vec::new(),
            catalogue: Arc::default(),
            positions: HashMap::new(),
            time: 0,
            rests_steady: None,
            damages,
        };
        // The lists of the samples ahead: no sample is current yet.
        for tape in 0..deck.tapes.len() {
            let list = deck.tapes.get_mut(tape).map(|tape| Arc::clone(&tape.ahead().list));
            deck.register(tape, &list.unwrap_or_default());
        }
        // The first block of an object describes its counters.
        deck.learn(true);
        deck.publish();
        Ok(deck)
    }

    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    /// Returns the time of the current sample, in UTC.
    pub fn time(&self) -> i64 {
        self.time
    }

    /// Returns the clocks of the current sample. Clocks recorded in the log are stored with its values.
    pub fn clocks(&self) -> ClockReading {
        ClockReading {
            perf_time: self.time,
            time_100ns: self.time,
            perf_freq: 10_000_000,
            system_time: SystemTime::from_100ns(self.time),
        }
    }

    /// Returns `true` if the instances of a counterset may differ between samples.
    pub fn comes_and_goes(&mut self, counterset: &Guid) -> bool {
        self.blocks.contains_key(counterset)
            || self.listed.get_mut(counterset).is_some_and(|set| set.comes_and_goes())
    }

    /// Frees the memory that is only needed for playing. Registrations stay.
    pub fn rest(&mut self) {
        self.rests_steady = Some(self.is_steady());
        self.listed = PathCountersets::default();
        self.tapes = Vec::new();
        self.lists = Vec::new();
    }

    /// Returns `true` if all samples have the same instances, according to the counter lists.
    pub fn is_steady(&mut self) -> bool {
        if let Some(is_steady) = self.rests_steady {
            return is_steady;
        }
        let guids: Vec<Guid> = self.catalogue.countersets.iter().map(|set| set.guid).collect();
        self.unseen.is_empty() && !guids.iter().any(|guid| self.comes_and_goes(guid))
    }

    /// Returns `true` if a listed object has not appeared in any sample yet.
    pub fn is_any_unseen(&self) -> bool {
        !self.unseen.is_empty()
    }

    /// Advances to the next sample in the window. Returns `false` at the end.
    pub fn step(&mut self) -> Result<bool, SourceError> {
        loop {
            // The clock may have been set back: samples in the window may follow samples outside it.
            let Some(time) = self.tapes.iter().filter_map(LogReader::next_time).min() else {
                return Ok(false);
            };
            self.advance(time)?;
            let is_other = |(tape, list): (&LogReader, &Arc<[LogEntry]>)| {
                tape.is_fresh && !Arc::ptr_eq(list, &tape.now.list)
            };
            // Also for samples that are not played: entries of later samples refer to this list.
            if self.tapes.iter().zip(&self.lists).any(is_other) {
                self.register_anew();
            }
            if !self.selection.choice.window.contains(time) || !self.is_chosen(time) {
                continue;
            }
            if !self.unseen.is_empty() && self.learn(false) {
                self.publish();
            }
            self.time = time;
            return Ok(true);
        }
    }

    /// Advances all log readers whose next sample is at `time`, the next time of all logs. Log readers with other
    /// counters also advance if their next sample is at nearly the same time.
    fn advance(&mut self, time: i64) -> Result<(), SourceError> {
        let Self { tapes, overlaps, selection, .. } = self;
        let mut near: Vec<(i64, usize)> = Vec::new();
        for (at, tape) in tapes.iter_mut().enumerate() {
            let next = tape.next_time();
            tape.is_fresh = next == Some(time);
            if tape.is_fresh {
                tape.advance()?;
            } else if let Some(next) = next.filter(|next| next.saturating_sub(time) < selection.tolerance) {
                near.push((next, at));
            }
        }
        // In the order of time, because an earlier log that joins the sample can decide for a later one.
        near.sort_unstable();
        for (next, at) in near {
            let Some(tape) = tapes.get(at) else { continue };
            let (list, has_begun) = (Arc::clone(tape.next_list()), tape.has_begun());
            // A log that continues another log is not beside it. Neither is a log whose sample is nearer to the other
            // log's next sample.
            let is_apart = |(other, tape): (usize, &LogReader)| {
                let of_next =
                    tape.next_time().map(|other| other.saturating_sub(time)).filter(|step| *step > 0);
                let is_nearer = of_next.is_some_and(|step| next.saturating_sub(time) > step / 2);
                let follows = !has_begun && tape.next_time().is_none();
                tape.is_fresh
                    && (follows || is_nearer || overlaps.is_any((at, &list), (other, &tape.now.list)))
            };
            if tapes.iter().enumerate().any(is_apart) {
                continue;
            }
            if let Some(tape) = tapes.get_mut(at) {
                tape.is_fresh = true;
                tape.advance()?;
            }
        }
        Ok(())
    }

    /// Returns `true` if the sample at this time, within the window, is played.
    fn is_chosen(&mut self, time: i64) -> bool {
        let Some((due, passed)) = self.due else {
            self.due = Some((time, 0));
            return true;
        };
        let pick = self.selection.choice.pick;
        let is_chosen = match pick {
            Pick::All => true,
            Pick::Nth(n) => passed.saturating_add(1) >= n.get(),
            // A sample that comes slightly early belongs to its due time. After the clock was set back, the grid
            // starts again.
            Pick::Every(step) => {
                let early = self.selection.tolerance.min(step / 2);
                let next = due.saturating_add(step);
                time < due.saturating_sub(step) || time >= next.saturating_sub(early)
            }
        };
        self.due = Some(match (is_chosen, pick) {
            (false, _) => (due, passed.saturating_add(1)),
            (true, Pick::Every(step)) => {
                // Due times keep their grid unless one was missed.
                let next = due.saturating_add(step);
                (if time.abs_diff(next) < step.unsigned_abs() { next } else { time }, 0)
            }
            (true, _) => (time, 0),
        });
        is_chosen
    }

    /// Registers the new counter lists of log readers whose list changed.
    fn register_anew(&mut self) {
        for tape in 0..self.tapes.len() {
            let now =
                self.tapes.get(tape).filter(|tape| tape.is_fresh).map(|tape| Arc::clone(&tape.now.list));
            let changed = self.lists.get(tape).zip(now).filter(|(known, now)| !Arc::ptr_eq(known, now));
            if let Some((_, list)) = changed {
                self.listed.forget(tape);
                self.unseen.retain(|(of, _)| *of != tape);
                self.blocks.values_mut().for_each(|places| places.retain(|(of, _)| *of != tape));
                self.register(tape, &list);
            }
        }
        self.learn(false);
        self.publish();
    }

    /// Registers the counter list of a log reader.
    fn register(&mut self, tape: usize, list: &Arc<[LogEntry]>) {
        let is_own = |listed: &&LogEntry| {
            let machine = listed.path.machine.as_deref().unwrap_or_default();
            machine.eq_ignore_ascii_case(&self.selection.machine_name)
        };
        let own = || list.iter().enumerate().filter(|(_, listed)| is_own(listed));
        // A whole object includes its separately listed counters.
        let whole: HashSet<&str> = own()
            .filter(|(_, listed)| matches!(listed.what, LogEntryKind::Object))
            .map(|(_, listed)| &*listed.path.counterset)
            .collect();
        let mut left_out = Vec::new();
        for (at, listed) in own() {
            match listed.what {
                LogEntryKind::Object if self.unseen.len() >= OBJECTS => {
                    left_out.push(format!("{} is left out: there are too many objects", listed.path));
                }
                LogEntryKind::Object => self.unseen.push((tape, at)),
                LogEntryKind::Unknown => {}
                _ if whole.contains(&*listed.path.counterset) => {}
                _ => {
                    if let Err(TooMany(what)) = self.listed.add(tape, at, listed) {
                        left_out.push(format!("{} is left out: there are too many {what}", listed.path));
                    }
                }
            }
        }
        if let Some(tape) = self.tapes.get_mut(tape) {
            left_out.into_iter().for_each(|what| tape.damaged(what));
        }
        if let Some(known) = self.lists.get_mut(tape) {
            *known = Arc::clone(list);
        }
    }

    /// Registers objects that first appear in this sample: the sample ahead or the current sample. Returns `true` if
    /// there were any.
    fn learn(&mut self, is_ahead: bool) -> bool {
        let before = self.unseen.len();
        let mut unseen = std::mem::take(&mut self.unseen);
        unseen.retain(|place| !self.learn_one(*place, is_ahead));
        self.unseen = unseen;
        self.unseen.len() < before
    }

    fn learn_one(&mut self, (tape, entry): (usize, usize), is_ahead: bool) -> bool {
        // New objects are at the end.
        let known = self.objects.get(tape).map_or(0, |objects| objects.guids().count());
        if self.recording(tape, entry, is_ahead).is_none() {
            return false;
        }
        let Self { objects, blocks, .. } = self;
        let new = objects.get(tape).into_iter().flat_map(|objects| objects.guids().skip(known));
        let mut is_new = false;
        for guid in new {
            is_new = true;
            blocks.entry(guid).or_default().push((tape, entry));
        }
        is_new
    }

    /// Returns the block of an object in a sample; `None` if the sample lacks the object.
    fn recording(&mut self, tape: usize, entry: usize, is_ahead: bool) -> Option<Recording> {
        let (objects, names) = (self.objects.get_mut(tape)?, self.names.get_mut(tape)?);
        let tape = self.tapes.get_mut(tape)?;
        let taken = if is_ahead { tape.ahead() } else { &mut tape.now };
        let bytes = match taken.sample.block(entry) {
            Ok(CounterBlock::Object(bytes)) if !bytes.is_empty() => Ok(bytes.to_vec()),
            Ok(CounterBlock::Object(_)) => return None,
            Ok(_) => Err(format!("entry {entry} is no object")),
            Err(error) => {
                tape.cut(&error);
                return None;
            }
        };
        let found = bytes.and_then(|bytes| {
            // Title indexes differ between Windows installations, so the log's own names come first.
            let names = names.get_or_insert_with(|| match tape.names() {
                Some(names) => Arc::new(v1::TitleNames::read(names.table()).0),
                None => built_in_names(),
            });
            objects.add(bytes, names, Mode::Tolerant).map_err(|error| error.to_string())
        });
        match found {
            Ok((recording, troubles)) => {
                troubles.iter().for_each(|trouble| tape.damaged(trouble.to_string()));
                Some(recording)
            }
            Err(error) => {
                tape.damaged(format!("an object is left out: {error}"));
                None
            }
        }
    }

    /// Builds the catalogue of everything registered.
    fn publish(&mut self) {
        let name: Text = self.selection.machine_name.to_string().into();
        let provider = ProviderIdentity { guid: Guid::NIL, name: name.clone() };
        let mut countersets: Vec<Arc<Counterset>> = Vec::new();
        self.positions.clear();
        let mut add = |set: &Arc<Counterset>| match self.positions.entry(set.guid) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(countersets.len());
                countersets.push(Arc::clone(set));
                true
            }
        };
        for objects in &self.objects {
            for set in objects.catalogue().countersets {
                add(&set);
            }
        }
        // Objects come first: a block has all counters and instances, a list only the recorded ones.
        for set in self.listed.countersets(&provider) {
            if add(&set) {
                continue;
            }
            for tape in self.listed.tapes(&set.guid) {
                let Some(of_set) = self.tapes.get_mut(tape) else { continue };
                if self.hidden.insert((tape, set.guid)) {
                    of_set.damaged(format!("{} is left out: another log has the whole object", set.name));
                }
            }
        }
        self.catalogue = Arc::new(Catalogue { origin: name, countersets });
    }

    /// Fills in the values of the current sample.
    pub fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.object(&want.counterset.guid, |objects, recording| objects.collect(recording, want, rows))
            .unwrap_or_else(|| {
                let set = self.listed.get_mut(&want.counterset.guid);
                let unknown = || unplayed(self.rests_steady, want.counterset.guid);
                set.ok_or_else(unknown)?.collect(&mut self.tapes, want, rows)
            })
    }

    /// Fills in the instances of the current sample.
    pub fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.object(counterset, |objects, recording| objects.instances(recording, counterset, rows))
            .unwrap_or_else(|| {
                let set = self.listed.get_mut(counterset);
                let unknown = || unplayed(self.rests_steady, *counterset);
                set.ok_or_else(unknown)?.instances(&mut self.tapes, rows)
            })
    }

    /// Records damage for an object that is not played, because another log has a different block at the same time.
    fn leave_out(&mut self, (tape, entry): (usize, usize), played: (usize, usize)) {
        let mut bytes =
            |(tape, entry): (usize, usize)| match self.tapes.get_mut(tape)?.now.sample.block(entry) {
                Ok(CounterBlock::Object(bytes)) => Some(bytes.to_vec()),
                _ => None,
            };
        let is_other = bytes((tape, entry)).is_some_and(|own| !own.is_empty() && bytes(played) != Some(own));
        if let Some(tape) = self.tapes.get_mut(tape).filter(|_| is_other) {
            tape.damaged("an object is left out: another log has it at the same time".to_owned());
        }
    }

    /// Calls `with` for the object of a counterset and its block in the current sample. Returns `None` if the
    /// counterset is not an object.
    fn object<T>(
        &mut self,
        counterset: &Guid,
        with: impl FnOnce(&ObjectSets, &Recording) -> Result<T, SourceError>,
    ) -> Option<Result<T, SourceError>> {
        let places = self.blocks.get(counterset)?;
        let is_fresh = |(tape, _): &&(usize, usize)| self.tapes.get(*tape).is_some_and(|tape| tape.is_fresh);
        // Several logs can have the object at the same time; the first of them is played, so that nothing is
        // counted twice.
        let place = places.iter().find(is_fresh).copied();
        let Some((tape, entry)) = place else {
            return Some(Err(SourceError::Failed("no sample of it was taken at that time".into())));
        };
        let others: Vec<_> =
            places.iter().filter(is_fresh).copied().filter(|other| *other != (tape, entry)).collect();
        for other in others {
            self.leave_out(other, (tape, entry));
        }
        let Some(recording) = self.recording(tape, entry, false) else {
            return Some(Err(SourceError::Failed("this sample does not have the object".into())));
        };
        let objects = self.objects.get(tape)?;
        let known = self.catalogue.countersets.get(*self.positions.get(counterset)?)?;
        let now = objects.counterset(counterset)?;
        // A later log can have the same object with more counters, as after a Windows update.
        let is_changed = !Arc::ptr_eq(known, now);
        let done = match is_changed && !are_alike(known, now) {
            true => Err(SourceError::Failed("its counters are others than in the log before".into())),
            false => with(objects, &recording),
        };
        let is_owner = self.objects.iter().position(|objects| objects.counterset(counterset).is_some());
        if is_changed && is_owner == Some(tape) {
            self.publish();
        }
        Some(done)
    }
}

/// Stores the damage found, unless another reader of the same logs has found more.
impl Drop for MergedLogs {
    fn drop(&mut self) {
        let mut known = self.damages.lock().unwrap_or_else(PoisonError::into_inner);
        // Queries read different parts of the logs, so their results are not added up.
        let count = |damages: &[Damages]| damages.iter().map(Damages::count).sum::<u64>();
        let now: Vec<_> = self.tapes.iter().map(LogReader::damages).collect();
        if known.is_empty() || count(&now) > count(&known) {
            *known = now;
        }
    }
}

/// Returns the error for a counterset that no log contains, or that is not played while the logs are at rest.
fn unplayed(rests: Option<bool>, counterset: Guid) -> SourceError {
    match rests {
        Some(_) => SourceError::Failed("no sample of it was taken at that time".into()),
        None => SourceError::UnknownCounterset(counterset),
    }
}

/// Returns `true` if one counterset has the counters with which the other one begins.
fn are_alike(a: &Counterset, b: &Counterset) -> bool {
    let same =
        |(a, b): (&Counter, &Counter)| (a.id, &a.name, a.counter_type) == (b.id, &b.name, b.counter_type);
    a.instance_type == b.instance_type && a.counters.iter().zip(b.counters.iter()).all(same)
}

/// Returns the names that every Windows has, built once.
fn built_in_names() -> Arc<v1::TitleNames> {
    static NAMES: OnceLock<Arc<v1::TitleNames>> = OnceLock::new();
    Arc::clone(NAMES.get_or_init(|| Arc::new(windows_names())))
}
