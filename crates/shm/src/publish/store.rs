//! What a program publishes: its countersets, their instances, and where the values of each are.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use perfset_core::{Counterset, Guid, InstanceType};
use thiserror::Error;

use super::file::File;
use super::status::PublishStatus;
use crate::definition::encode;
use crate::folder::Folders;
use crate::fork;
use crate::layout::{INSTANCE_HEADER, PAGE, Shape, WORD, entry, header, words};
use crate::memory::{Memory, store_bytes};
use crate::merge::LeftOut;

/// Counters count in this process alone, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PublishError {
    /// There is no folder to publish in.
    #[error("there is no folder to publish counters in: {tried}")]
    NoFolder {
        /// The folders, each with what is wrong with it.
        tried: String,
    },
    /// The file cannot be made, or not grow.
    #[error("{path}: {what}: {why}")]
    File {
        /// The file, or the folder that it should be in.
        path: PathBuf,
        /// What could not be done.
        what: &'static str,
        /// What the operating system says.
        why: String,
    },
    /// Parts of a program publish so many different countersets under one GUID that this one has no place.
    #[error("counterset \"{name}\" {guid} is published already, with other counters")]
    Contradiction {
        /// The counterset's name.
        name: String,
        /// The counterset's GUID.
        guid: Guid,
    },
    /// Readers do not show all of it: others publish or registered something else under its GUIDs, ids or names.
    #[error("readers do not show all that is published: {0}")]
    LeftOut(LeftOut),
    /// Readers leave out several parts of it. [`Publisher::left_out`](super::Publisher::left_out) returns them all, and
    /// so does [`PublishStatus::problems`].
    #[error("readers do not show all that is published: {first}; and {more} more")]
    SeveralLeftOut {
        /// The first part.
        first: LeftOut,
        /// Number of parts beside the first one.
        more: usize,
    },
}

impl PublishError {
    /// What readers leave out, as one problem; `None` if that is nothing.
    pub(super) fn of_left_out(parts: Vec<LeftOut>) -> Option<Self> {
        let more = parts.len().saturating_sub(1);
        let first = parts.into_iter().next()?;
        Some(if more == 0 { Self::LeftOut(first) } else { Self::SeveralLeftOut { first, more } })
    }
}

/// An instance cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// There is one of that name and id.
    #[error("there is an instance of that name and id already")]
    Exists,
    /// There is no memory for it, not even private.
    #[error("there is no memory for another instance")]
    NoMemory,
}

/// The countersets of a program and their instances, in a file or, if there can be none, in memory of its own.
#[derive(Debug)]
pub(crate) struct Store {
    file: File,
    folders: Folders,
    /// Directories that were tried first, and why they are not used.
    tried: Vec<(PathBuf, String)>,
    generation: u64,
    state: Mutex<State>,
    /// What a forked child has in its place.
    of_child: OnceLock<Arc<Store>>,
}

#[derive(Debug, Default)]
struct State {
    /// By GUID: as a rule one. Parts of a program may have been built with different versions of a library; readers
    /// put them together as they do those of programs.
    sets: HashMap<Guid, Vec<Published>>,
    /// Of the instance that was made last: all of a file have different ones, ascending.
    sequence: u64,
    unpublished: u64,
    problem: Option<PublishError>,
}

/// A counterset.
struct Published {
    set: Arc<Counterset>,
    stripes: usize,
    /// Which entry of the file's table has its definition, once it has a place there.
    definition: Option<usize>,
    segments: Vec<Segment>,
    classes: [Class; NAME_UNITS.len()],
    /// What exists, by name and id.
    instances: HashMap<(Box<[u16]>, u32), Living>,
}

impl std::fmt::Debug for Published {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Published");
        debug.field("name", &self.set.name).field("instances", &self.instances.len()).finish_non_exhaustive()
    }
}

struct Living {
    slot: SlotId,
    /// Whoever holds it, if that can be asked for.
    holder: Option<Weak<dyn Any + Send + Sync>>,
}

/// Segments have slots for names up to some length; each length has segments of its own.
#[derive(Debug, Default)]
struct Class {
    /// The segment that has slots which were never taken, and how many were.
    fresh: Option<(usize, usize)>,
    /// Slots that are free again, the one longest so first: what still writes to a slot that it gave up then harms
    /// nobody for as long as possible.
    free: VecDeque<SlotId>,
    /// The same of segments that are not in the file.
    private: VecDeque<SlotId>,
    /// Segments so far.
    count: u32,
}

/// UTF-16 units of the names that slots of each class have room for; the last has room for the longest name and its
/// copy in units of 4 bytes.
const NAME_UNITS: [usize; 4] = [31, 127, 1023, 3071];

#[derive(Debug)]
struct Segment {
    memory: Memory,
    shape: Shape,
    /// Whether it is in the file.
    is_public: bool,
}

/// Nobody holds an instance any more; a pointer that C kept leads to memory that harms nobody.
impl Drop for Segment {
    fn drop(&mut self) {
        self.memory.leave();
    }
}

/// A slot of a counterset: which of its segments, and which place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SlotId {
    class: usize,
    segment: usize,
    slot: usize,
}

/// Where the values of an instance are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// Its PERF_COUNTERSET_INSTANCE block.
    pub block: &'static [AtomicU64],
    /// Its values, one a counter.
    pub values: &'static [AtomicU64],
    /// Its rows, one behind the other: what threads add to.
    pub rows: &'static [AtomicU64],
    /// Words from one row to the next.
    pub row: usize,
}

impl Store {
    /// A store in the first of those folders that can be written to.
    pub fn new(folders: Folders) -> io::Result<Self> {
        let mut tried = Vec::new();
        let mut problem = None;
        let mut made = None;
        for folder in folders.to_write() {
            let folder = match folder {
                Ok(folder) => folder,
                Err((folder, error)) => {
                    tried.push((folder, error.to_string()));
                    continue;
                }
            };
            super::clean::remove_dead(&folder);
            match File::in_folder(&folder) {
                Ok(file) => {
                    made = Some(file);
                    break;
                }
                Err(error) => {
                    let (what, why) = ("cannot make a file", error.to_string());
                    tried.push((folder.clone(), format!("{what}: {why}")));
                    problem.get_or_insert(PublishError::File { path: folder, what, why });
                }
            }
        }
        let no_folder = || {
            let tried: Vec<_> =
                tried.iter().map(|(path, why)| format!("{}: {why}", path.display())).collect();
            PublishError::NoFolder { tried: tried.join("; ") }
        };
        let (file, problem) = match made {
            Some(file) => (file, None),
            None => (File::private()?, Some(problem.unwrap_or_else(no_folder))),
        };
        let state = Mutex::new(State { problem, ..State::default() });
        Ok(Self { file, folders, tried, generation: fork::generation(), state, of_child: OnceLock::new() })
    }

    /// This store, or in a process that was forked since it was made the one in its place.
    pub fn of_this_process(self: &Arc<Self>) -> Arc<Self> {
        let mut store = self;
        while store.generation != fork::generation() {
            let anew = || Self::new(store.folders.clone()).map(Arc::new).ok();
            match store.of_child.get().cloned().or_else(anew) {
                Some(new) => store = store.of_child.get_or_init(|| new),
                None => break, // no memory for a header: it counts where nobody looks
            }
        }
        Arc::clone(store)
    }

    /// Whether this process was forked since: then whoever held the lock is not here to free it.
    fn is_anothers(&self) -> bool {
        self.generation != fork::generation()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why values are not published, or some of them.
    pub fn problem(&self) -> Option<PublishError> {
        if self.is_anothers() { None } else { self.lock().problem.clone() }
    }

    /// Where its file is, and who can see it.
    pub fn status(&self) -> PublishStatus {
        let problems = self.problem().into_iter().collect();
        PublishStatus::of(&self.file, &self.folders, &self.tried, problems)
    }

    /// The file that others see.
    pub fn path(&self) -> Option<PathBuf> {
        self.file.path().map(PathBuf::from)
    }

    /// The folders that it is in one of.
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    /// Whether others see a counterset of it.
    pub fn has_published(&self) -> bool {
        !self.is_anothers()
            && self.lock().sets.values().flatten().any(|published| published.definition.is_some())
    }

    /// Takes the file of this process away from others, if it has one.
    pub fn unlink_own(&self) {
        if !self.is_anothers() {
            self.file.unlink();
        } else if let Some(of_child) = self.of_child.get() {
            of_child.unlink_own();
        }
    }

    /// Publishes a counterset, if it is not published yet.
    pub fn register(&self, set: &Arc<Counterset>, stripes: usize) {
        if !self.is_anothers() {
            let mut state = self.lock();
            let _ = state.published(&self.file, set, stripes);
        }
    }

    /// The instance of that name and id: whoever holds it already, or a new one, made by `make` from where its
    /// values are. `make` must not call back.
    pub fn instance<T: Any + Send + Sync>(
        &self,
        (set, stripes): (&Arc<Counterset>, usize),
        name: &[u16],
        id: u32,
        make: impl FnOnce(Slot, Option<Place>) -> Arc<T>,
    ) -> Arc<T> {
        let kept; // dropped after the lock: its last holder may be gone meanwhile
        let mut state = if self.is_anothers() { None } else { Some(self.lock()) };
        let parts = state.as_mut().and_then(|state| state.published(&self.file, set, stripes));
        let Some(mut parts) = parts else {
            return make(alone(set.counters.len()), None);
        };
        let published = &parts.published;
        let key = (Box::from(name), id);
        if let Some(living) = published.instances.get(&key) {
            kept = living.holder.as_ref().and_then(Weak::upgrade);
            if let Some(Ok(held)) = kept.clone().map(Arc::downcast) {
                return held;
            }
        }
        let name = Called { name, own: None, id };
        let Some((slot_id, slot)) = parts.begin(&self.file, name) else {
            return make(alone(set.counters.len()), None);
        };
        let place = Place { guid: set.guid, version: parts.version, key: key.clone(), slot: slot_id };
        let made = make(slot, Some(place));
        let weak = Arc::downgrade(&made);
        let holder: Option<Weak<dyn Any + Send + Sync>> = Some(weak);
        parts.published.instances.insert(key, Living { slot: slot_id, holder });
        made
    }

    /// A new instance, whose block a program writes to as it likes, and the number that no other instance of the file
    /// has.
    ///
    /// # Errors
    /// If there is one of that name and id already, or no memory for another.
    pub fn create(&self, set: &Arc<Counterset>, name: Called<'_>) -> Result<(Slot, Place, u64), CreateError> {
        if self.is_anothers() {
            return Err(CreateError::NoMemory); // of this process there is none
        }
        let mut state = self.lock();
        let mut parts = state.published(&self.file, set, 0).ok_or(CreateError::Exists)?;
        let key = (Box::from(name.name), name.id);
        if parts.published.instances.contains_key(&key) {
            return Err(CreateError::Exists);
        }
        let (slot_id, slot) = parts.begin(&self.file, name).ok_or(CreateError::NoMemory)?;
        let sequence = *parts.sequence;
        parts.published.instances.insert(key.clone(), Living { slot: slot_id, holder: None });
        Ok((slot, Place { guid: set.guid, version: parts.version, key, slot: slot_id }, sequence))
    }

    /// Says in the file whether the program listens on a socket beside it.
    pub fn says_it_listens(&self, listens: bool) {
        if !self.is_anothers() {
            let _state = self.lock();
            self.file.change(|| {
                let Some(flags) = self.file.word(header::FLAGS) else { return };
                match listens {
                    true => flags.fetch_or(header::HAS_SOCKET, Relaxed),
                    false => flags.fetch_and(!header::HAS_SOCKET, Relaxed),
                };
            });
        }
    }

    /// Ends an instance.
    pub fn delete(&self, place: &Place) {
        if self.is_anothers() {
            return;
        }
        let mut state = self.lock();
        let State { sets, unpublished, .. } = &mut *state;
        let published = sets.get_mut(&place.guid).and_then(|versions| versions.get_mut(place.version));
        let Some(published) = published else { return };
        let is_it = published.instances.get(&place.key).is_some_and(|living| living.slot == place.slot);
        if is_it {
            published.instances.remove(&place.key);
        }
        if !published.is_public(place.slot) {
            count_unpublished(&self.file, unpublished, u64::MAX);
        }
        published.free(&self.file, place.slot);
    }
}

/// Which instance of a store it is.
#[derive(Debug)]
pub(crate) struct Place {
    guid: Guid,
    version: usize,
    key: (Box<[u16]>, u32),
    slot: SlotId,
}

/// Values that nobody else will ever see: where even memory for a segment cannot be had.
pub(crate) fn alone(counters: usize) -> Slot {
    let values: Vec<AtomicU64> = (0..counters).map(|_| AtomicU64::new(0)).collect();
    Slot { block: &[], values: values.leak(), rows: &[], row: 0 }
}

fn count_unpublished(file: &File, count: &mut u64, more: u64) {
    *count = count.wrapping_add(more);
    if let Some(word) = file.word(header::UNPUBLISHED) {
        word.store(*count, Relaxed);
    }
}

/// A counterset, and what all of them share.
struct Parts<'a> {
    published: &'a mut Published,
    /// Which of its GUID.
    version: usize,
    sequence: &'a mut u64,
    unpublished: &'a mut u64,
    problem: &'a mut Option<PublishError>,
}

/// What an instance is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called<'a> {
    /// As readers read it.
    pub name: &'a [u16],
    /// As the program reads it in its block, NUL included, if it does not want it in UTF-16.
    pub own: Option<&'a [u8]>,
    pub id: u32,
}

impl Called<'_> {
    /// Where the program's own name stands, in bytes from the beginning of the name.
    fn own_at(&self) -> usize {
        self.name.len().saturating_add(1).saturating_mul(2).next_multiple_of(4)
    }

    /// UTF-16 units that it takes room like, without a NUL.
    fn units(&self) -> usize {
        match self.own {
            None => self.name.len(),
            Some(own) => (self.own_at().saturating_add(own.len()) / 2).saturating_sub(1),
        }
    }
}

impl Parts<'_> {
    /// A new instance in a slot of its own.
    fn begin(&mut self, file: &File, name: Called<'_>) -> Option<(SlotId, Slot)> {
        let (slot_id, slot) = self.published.take(file, name.units(), self.problem)?;
        *self.sequence = self.sequence.saturating_add(2);
        self.published.write(file, slot_id, &slot, name, *self.sequence);
        if !self.published.is_public(slot_id) {
            count_unpublished(file, self.unpublished, 1);
        }
        Some((slot_id, slot))
    }
}

impl State {
    /// A counterset, published now if it was not; none if there are too many of its GUID.
    fn published(&mut self, file: &File, set: &Arc<Counterset>, stripes: usize) -> Option<Parts<'_>> {
        const VERSIONS: usize = 8;
        let versions = self.sets.entry(set.guid).or_default();
        let is_it = |published: &Published| Arc::ptr_eq(&published.set, set) || published.set == *set;
        let known = versions.iter().position(is_it);
        if known.is_none() && versions.len() >= VERSIONS {
            let name = set.name.to_string();
            self.problem = Some(PublishError::Contradiction { name, guid: set.guid });
            return None;
        }
        let version = known.unwrap_or(versions.len());
        if known.is_none() {
            versions.push(Published {
                set: Arc::clone(set),
                stripes,
                definition: None,
                segments: Vec::new(),
                classes: Default::default(),
                instances: HashMap::new(),
            });
        }
        let published = versions.get_mut(version)?;
        published.define(file, &mut self.problem);
        let Self { sequence, unpublished, problem, .. } = self;
        Some(Parts { published, version, sequence, unpublished, problem })
    }
}

impl Published {
    /// Puts the definition into the file, if it is not there and others see the file.
    fn define(&mut self, file: &File, problem: &mut Option<PublishError>) {
        if self.definition.is_some() || !file.is_public() {
            return;
        }
        let bytes = encode(&self.set);
        let len = bytes.len().saturating_add(WORD).next_multiple_of(PAGE);
        let body_len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let fill = |words: &[AtomicU64]| {
            if let Some((first, rest)) = words.split_first() {
                first.store(body_len, Relaxed);
                store_bytes(rest, bytes);
            }
        };
        match file.grow(len, entry::DEFINITION, 0, fill) {
            Ok((number, memory)) => {
                self.definition = Some(number);
                memory.leave(); // nobody writes to it again, and what is mapped takes space when the file is gone
            }
            Err(error) => *problem = Some(no_room(file, &error)),
        }
    }

    fn is_public(&self, at: SlotId) -> bool {
        self.segments.get(at.segment).is_some_and(|segment| segment.is_public)
    }

    /// A slot for a name of that length.
    fn take(
        &mut self,
        file: &File,
        name_units: usize,
        problem: &mut Option<PublishError>,
    ) -> Option<(SlotId, Slot)> {
        let class = NAME_UNITS.iter().position(|units| name_units <= *units)?;
        let at = match self.free_slot(class) {
            Some(at) => at,
            None => {
                self.grow(file, class, problem)?;
                self.fresh(class)?
            }
        };
        Some((at, self.slot(at)?))
    }

    /// A slot that is free, if there is one: where others see it, if that can be.
    fn free_slot(&mut self, class: usize) -> Option<SlotId> {
        let segment = self.classes.get(class)?.fresh.and_then(|(segment, _)| self.segments.get(segment));
        let fresh = if segment.is_some_and(|segment| segment.is_public) { self.fresh(class) } else { None };
        fresh
            .or_else(|| self.classes.get_mut(class)?.free.pop_front())
            .or_else(|| self.fresh(class))
            .or_else(|| self.classes.get_mut(class)?.private.pop_front())
    }

    fn fresh(&mut self, class: usize) -> Option<SlotId> {
        let (segment, taken) = self.classes.get_mut(class)?.fresh.as_mut()?;
        let (segment, slot) = (*segment, *taken);
        if slot >= self.segments.get(segment)?.shape.slots {
            return None;
        }
        *taken = taken.saturating_add(1);
        Some(SlotId { class, segment, slot })
    }

    /// Another segment: each twice as large as the one before, up to 16 MiB.
    fn grow(&mut self, file: &File, class: usize, problem: &mut Option<PublishError>) -> Option<()> {
        const FIRST: usize = 64 << 10;
        const LARGEST_DOUBLINGS: u32 = 8;
        let count = self.classes.get(class)?.count;
        let shape = Shape::new(self.set.counters.len(), *NAME_UNITS.get(class)?, self.stripes);
        let least = shape.one().next_multiple_of(PAGE);
        let wanted = match self.set.instance_type {
            InstanceType::Single => 0,
            _ => FIRST.wrapping_shl(count.min(LARGEST_DOUBLINGS)),
        };
        let len = wanted.max(least);
        let shape = shape.filling(len);
        let fill = |words: &[AtomicU64]| {
            for (word, value) in words.iter().zip(shape.head()) {
                word.store(value, Relaxed);
            }
        };
        let public = self.definition.map(|definition| file.grow(len, entry::INSTANCES, definition, fill));
        let (memory, is_public) = match public {
            Some(Ok((_, memory))) => (memory, true),
            Some(Err(error)) => {
                *problem = Some(no_room(file, &error));
                (Memory::own(len).ok()?, false)
            }
            None => (Memory::own(len).ok()?, false),
        };
        let class = self.classes.get_mut(class)?;
        class.fresh = Some((self.segments.len(), 0));
        // What could not be published is tried again soon, in small steps.
        class.count = class.count.saturating_add(u32::from(is_public));
        self.segments.push(Segment { memory, shape, is_public });
        Some(())
    }

    fn slot(&self, at: SlotId) -> Option<Slot> {
        let Segment { memory, shape, .. } = self.segments.get(at.segment)?;
        let words = memory.words();
        Some(Slot {
            block: words.get(shape.block(at.slot))?,
            values: words.get(shape.values(at.slot))?,
            rows: words.get(shape.rows(at.slot))?,
            row: shape.row,
        })
    }

    fn sequence(&self, at: SlotId) -> Option<&'static AtomicU64> {
        let segment = self.segments.get(at.segment)?;
        segment.memory.words().get(segment.shape.sequence(at.slot))
    }

    /// Makes an instance of a free slot.
    fn write(&self, file: &File, at: SlotId, slot: &Slot, name: Called<'_>, sequence: u64) {
        let Some(word) = self.sequence(at) else { return };
        file.change(|| {
            for word in slot.values.iter().chain(slot.rows) {
                word.store(0, Relaxed);
            }
            write_block(slot.block, &self.set.guid, slot.values.len(), name);
            word.store(sequence, Release);
        });
    }

    /// Ends what is in a slot, and gives it free.
    fn free(&mut self, file: &File, at: SlotId) {
        if let Some(word) = self.sequence(at) {
            file.change(|| {
                word.store(word.load(Relaxed) | 1, Relaxed);
                fence(Release);
            });
        }
        let is_public = self.is_public(at);
        if let Some(class) = self.classes.get_mut(at.class) {
            if is_public { &mut class.free } else { &mut class.private }.push_back(at);
        }
    }
}

/// Writes a PERF_COUNTERSET_INSTANCE block, without its values.
///
/// Behind the values stands the name in UTF-16, whatever the header says: that is the program's, and says where the
/// program finds the name that it reads.
fn write_block(block: &[AtomicU64], guid: &Guid, counters: usize, called: Called<'_>) {
    let name_at = INSTANCE_HEADER.saturating_add(counters.saturating_mul(WORD));
    let name_len = called.name.len().saturating_add(1).saturating_mul(2);
    let own = called.own.unwrap_or_default();
    let (own_at, own_len) = match called.own {
        None => (name_at, name_len),
        Some(own) => (name_at.saturating_add(called.own_at()), own.len()),
    };
    let size = own_at.saturating_add(own_len).next_multiple_of(WORD);
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    let fields = [number(size), called.id.to_le_bytes(), number(own_at), number(own_len)];
    store_bytes(block, guid.to_wire().into_iter().chain(fields.into_iter().flatten()));
    let name_words = block.get(words(name_at)..).unwrap_or_default();
    let zeros = |len: usize| std::iter::repeat_n(0, len);
    let gap = called.own_at().saturating_sub(called.name.len().saturating_mul(2));
    let name = called.name.iter().flat_map(|unit| unit.to_le_bytes()).chain(zeros(gap));
    // Zeros behind it as far as there is room: the slot may have had a longer one.
    let padding = zeros(name_words.len().saturating_mul(WORD));
    store_bytes(name_words, name.chain(own.iter().copied()).chain(padding));
}

fn no_room(file: &File, error: &io::Error) -> PublishError {
    let path = file.path().map(PathBuf::from).unwrap_or_default();
    PublishError::File { path, what: "cannot grow", why: error.to_string() }
}
