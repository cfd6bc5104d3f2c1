//! Logged machine: the registrations of one machine of merged logs, and its values in the current sample.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use perfset_core::visit::Mode;
use perfset_core::{Counter, Counterset, Guid, ProviderIdentity, Text};
use perfset_engine::v1::{ObjectSets, Recording};
use perfset_engine::{Catalogue, CollectRequest, Rows, SourceError};

use super::log_reader::{LogEntry, LogEntryKind, LogReader};
use super::path_countersets::{PathCountersets, TooMany};
use crate::blg::CounterBlock;

/// Maximum number of a machine's listed objects that no sample has shown yet, far more than any machine has.
const OBJECTS: usize = 4_096;

/// Countersets of one machine in merged logs. The log readers belong to the merged logs, and serve all machines.
#[derive(Default)]
pub(super) struct LoggedMachine {
    name: Arc<str>,
    listed: PathCountersets,
    /// Pairs of log reader and counterset whose values are not played, because another log has the counterset as a
    /// whole object.
    hidden: HashSet<(usize, Guid)>,
    /// Objects (countersets of whole blocks) by log reader, because title indexes differ between logs. Log readers
    /// without objects have no entry.
    objects: BTreeMap<usize, ObjectSets>,
    /// Locations of the blocks of each object's counterset: log reader and entry of its list.
    blocks: HashMap<Guid, Vec<(usize, usize)>>,
    /// Listed objects that no sample has shown yet: log reader and entry of its list.
    unseen: Vec<(usize, usize)>,
    catalogue: Arc<Catalogue>,
    /// Index of each counterset of the machine in the catalogue.
    positions: HashMap<Guid, usize>,
}

impl LoggedMachine {
    /// Creates a logged machine without any registered entries. Countersets equal to those of `known` are stored
    /// once.
    pub fn new(name: Arc<str>, known: Arc<Catalogue>) -> Self {
        Self { name, catalogue: known, ..Self::default() }
    }

    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    /// Returns `true` if the machine's instances of a counterset may differ between samples.
    pub fn comes_and_goes(&mut self, counterset: &Guid) -> bool {
        self.blocks.contains_key(counterset)
            || self.listed.get_mut(counterset).is_some_and(|set| set.comes_and_goes())
    }

    /// Returns `true` if all samples of the machine have the same instances, according to the counter lists.
    pub fn is_steady(&mut self) -> bool {
        let guids: Vec<Guid> = self.catalogue.countersets.iter().map(|set| set.guid).collect();
        // An object that no sample has shown yet may turn out to have instances.
        self.unseen.is_empty() && !guids.iter().any(|guid| self.comes_and_goes(guid))
    }

    /// Returns `true` if a listed object of the machine has not appeared in any sample yet.
    pub fn is_any_unseen(&self) -> bool {
        !self.unseen.is_empty()
    }

    /// Removes the machine's registrations that come from a log reader's counter list, because another list follows.
    pub fn forget(&mut self, reader_index: usize) {
        self.listed.forget(reader_index);
        self.unseen.retain(|(of, _)| *of != reader_index);
        self.blocks.values_mut().for_each(|places| places.retain(|(of, _)| *of != reader_index));
    }

    /// Registers the machine's entries of a log reader's counter list, each with its index in the list.
    pub fn register<'a>(
        &mut self,
        readers: &mut [LogReader],
        reader_index: usize,
        own: impl Iterator<Item = (usize, &'a LogEntry)> + Clone,
    ) {
        // A whole object includes its separately listed counters.
        let whole: HashSet<&str> = (own.clone())
            .filter(|(_, listed)| matches!(listed.what, LogEntryKind::Object))
            .map(|(_, listed)| &*listed.path.counterset)
            .collect();
        let mut left_out = Vec::new();
        for (at, listed) in own {
            match listed.what {
                LogEntryKind::Object if self.unseen.len() >= OBJECTS => {
                    left_out.push(format!("{} is left out: there are too many objects", listed.path));
                }
                LogEntryKind::Object => self.unseen.push((reader_index, at)),
                LogEntryKind::Unknown => {}
                _ if whole.contains(&*listed.path.counterset) => {}
                _ => {
                    if let Err(TooMany(what)) = self.listed.add(reader_index, at, listed) {
                        left_out.push(format!("{} is left out: there are too many {what}", listed.path));
                    }
                }
            }
        }
        self.listed.shrink();
        if let Some(reader) = readers.get_mut(reader_index) {
            left_out.into_iter().for_each(|what| reader.damaged(what));
        }
    }

    /// Registers objects of the machine that first appear in a sample: the sample ahead or the current sample.
    /// Returns `true` if there were any.
    pub fn learn(&mut self, readers: &mut [LogReader], is_ahead: bool) -> bool {
        let before = self.unseen.len();
        if before == 0 {
            return false;
        }
        let mut unseen = std::mem::take(&mut self.unseen);
        unseen.retain(|place| !self.learn_one(readers, *place, is_ahead));
        self.unseen = unseen;
        self.unseen.len() < before
    }

    fn learn_one(
        &mut self,
        readers: &mut [LogReader],
        (reader_index, entry): (usize, usize),
        is_ahead: bool,
    ) -> bool {
        // New objects are at the end.
        let known = self.objects.get(&reader_index).map_or(0, |objects| objects.guids().count());
        if self.recording(readers, (reader_index, entry), is_ahead).is_none() {
            return false;
        }
        let Self { objects, blocks, .. } = self;
        let new = objects.get(&reader_index).into_iter().flat_map(|objects| objects.guids().skip(known));
        let mut is_new = false;
        for guid in new {
            is_new = true;
            blocks.entry(guid).or_default().push((reader_index, entry));
        }
        is_new
    }

    /// Returns the recorded block of an object in a sample; `None` if the sample lacks the object.
    fn recording(
        &mut self,
        readers: &mut [LogReader],
        (reader_index, entry): (usize, usize),
        is_ahead: bool,
    ) -> Option<Recording> {
        let objects = self.objects.entry(reader_index).or_default();
        let reader = readers.get_mut(reader_index)?;
        let taken = if is_ahead { reader.ahead() } else { &mut reader.now };
        let bytes = match taken.sample.block(entry) {
            Ok(CounterBlock::Object(bytes)) if !bytes.is_empty() => Ok(bytes.to_vec()),
            // An empty block is no damage: the sample lacks the object (B-11).
            Ok(CounterBlock::Object(_)) => return None,
            Ok(_) => Err(format!("entry {entry} is no object")),
            Err(error) => {
                reader.cut(&error);
                return None;
            }
        };
        let found = bytes.and_then(|bytes| {
            let names = reader.title_names();
            objects.add(bytes, &names, Mode::Tolerant).map_err(|error| error.to_string())
        });
        match found {
            Ok((recording, troubles)) => {
                troubles.iter().for_each(|trouble| reader.damaged(trouble.to_string()));
                Some(recording)
            }
            Err(error) => {
                reader.damaged(format!("an object is left out: {error}"));
                None
            }
        }
    }

    /// Builds the catalogue of the machine's registered countersets.
    pub fn publish(&mut self, readers: &mut [LogReader]) {
        let name: Text = self.name.to_string().into();
        let provider = ProviderIdentity { guid: Guid::NIL, name: name.clone() };
        let mut countersets: Vec<Arc<Counterset>> = Vec::new();
        self.positions.clear();
        let mut add = |set: Arc<Counterset>| match self.positions.entry(set.guid) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(countersets.len());
                countersets.push(set);
                true
            }
        };
        for objects in self.objects.values() {
            for set in objects.catalogue().countersets {
                add(set);
            }
        }
        let known: HashMap<Guid, &Arc<Counterset>> =
            self.catalogue.countersets.iter().map(|set| (set.guid, set)).collect();
        // Objects come first: a block has all counters and instances, a list only the recorded ones.
        for set in self.listed.countersets(&provider) {
            let (guid, name) = (set.guid, set.name.clone());
            let known = known.get(&guid).filter(|known| ****known == set);
            if add(known.map_or_else(|| Arc::new(set), |known| Arc::clone(known))) {
                continue;
            }
            for reader_index in self.listed.reader_indexes(&guid) {
                let Some(of_set) = readers.get_mut(reader_index) else { continue };
                // Catalogues are built again and again, and this is reported once.
                if self.hidden.insert((reader_index, guid)) {
                    of_set.damaged(format!("{name} is left out: another log has the whole object"));
                }
            }
        }
        countersets.shrink_to_fit();
        self.catalogue = Arc::new(Catalogue::new(name, countersets));
    }

    /// Fills in the machine's values of a counterset in the current sample.
    pub fn collect(
        &mut self,
        readers: &mut [LogReader],
        want: &CollectRequest<'_>,
        rows: &mut Rows,
    ) -> Result<(), SourceError> {
        self.object(readers, &want.counterset.guid, |objects, recording| {
            objects.collect(recording, want, rows)
        })
        .unwrap_or_else(|| {
            let set = self.listed.get_mut(&want.counterset.guid);
            let unknown = || SourceError::UnknownCounterset(want.counterset.guid);
            set.ok_or_else(unknown)?.collect(readers, want, rows)
        })
    }

    /// Fills in the machine's instances of a counterset in the current sample.
    pub fn instances(
        &mut self,
        readers: &mut [LogReader],
        counterset: &Guid,
        rows: &mut Rows,
    ) -> Result<(), SourceError> {
        self.object(readers, counterset, |objects, recording| objects.instances(recording, counterset, rows))
            .unwrap_or_else(|| {
                let set = self.listed.get_mut(counterset);
                let unknown = || SourceError::UnknownCounterset(*counterset);
                set.ok_or_else(unknown)?.instances(readers, rows)
            })
    }

    /// Calls `with` for the object of a counterset and its block in the current sample. Returns `None` if the
    /// counterset is not an object.
    fn object<T>(
        &mut self,
        readers: &mut [LogReader],
        counterset: &Guid,
        with: impl FnOnce(&ObjectSets, &Recording) -> Result<T, SourceError>,
    ) -> Option<Result<T, SourceError>> {
        let places = self.blocks.get(counterset)?;
        let is_fresh = |(reader_index, _): &&(usize, usize)| {
            readers.get(*reader_index).is_some_and(|reader| reader.is_fresh)
        };
        // Several logs can have the object at the same time; the first of them is played, so that nothing is
        // counted twice.
        let place = places.iter().find(is_fresh).copied();
        let Some((reader_index, entry)) = place else {
            return Some(Err(SourceError::Failed("no sample of it was taken at that time".into())));
        };
        let others: Vec<_> =
            places.iter().filter(is_fresh).copied().filter(|other| *other != (reader_index, entry)).collect();
        for other in others {
            leave_out(readers, other, (reader_index, entry));
        }
        let Some(recording) = self.recording(readers, (reader_index, entry), false) else {
            return Some(Err(SourceError::Failed("this sample does not have the object".into())));
        };
        let objects = self.objects.get(&reader_index)?;
        let known = self.catalogue.countersets.get(*self.positions.get(counterset)?)?;
        let now = objects.counterset(counterset)?;
        // A later log can have the same object with more counters, as after a Windows update.
        let is_changed = !Arc::ptr_eq(known, now);
        let done = match is_changed && !are_alike(known, now) {
            true => Err(SourceError::Failed("its counters are others than in the log before".into())),
            false => with(objects, &recording),
        };
        // The catalogue takes an object from the first log reader that has it. For any other reader,
        // publishing would change nothing and be repeated at each sample.
        let owner = self.objects.iter().find(|(_, objects)| objects.counterset(counterset).is_some());
        if is_changed && owner.is_some_and(|(owner, _)| *owner == reader_index) {
            self.publish(readers);
        }
        Some(done)
    }
}

/// Returns `true` if all counters of one counterset are the first counters of the other.
fn are_alike(a: &Counterset, b: &Counterset) -> bool {
    let same =
        |(a, b): (&Counter, &Counter)| (a.id, &a.name, a.counter_type) == (b.id, &b.name, b.counter_type);
    a.instance_type == b.instance_type && a.counters.iter().zip(b.counters.iter()).all(same)
}

/// Records damage for an object that is not played, because another log has a different block at the same time.
fn leave_out(readers: &mut [LogReader], (reader_index, entry): (usize, usize), played: (usize, usize)) {
    let mut bytes = |(index, entry): (usize, usize)| match readers.get_mut(index)?.now.sample.block(entry) {
        Ok(CounterBlock::Object(bytes)) => Some(bytes.to_vec()),
        _ => None,
    };
    // Equal bytes lose nothing: the same log was given twice, or two logs overlap.
    let is_other =
        bytes((reader_index, entry)).is_some_and(|own| !own.is_empty() && bytes(played) != Some(own));
    if let Some(reader) = readers.get_mut(reader_index).filter(|_| is_other) {
        reader.damaged("an object is left out: another log has it at the same time".to_owned());
    }
}
