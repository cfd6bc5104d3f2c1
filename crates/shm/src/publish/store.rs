//! Published countersets of a program, their instances, and the locations of their values.

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
use crate::layout::{INSTANCE_HEADER, PAGE, SegmentLayout, WORD, entry, header, words};
use crate::memory::{SharedMemory, store_bytes};
use crate::merge::LeftOut;

/// Reason why counters are not published, or not shown by readers.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PublishError {
    /// No directory to publish in was found.
    #[error("no directory to publish counters in: {tried}")]
    NoFolder {
        /// The directories tried, each with the reason why it cannot be used.
        tried: String,
    },
    /// The file cannot be created, or cannot grow.
    #[error("{path}: {what}: {why}")]
    File {
        /// Path of the file, or of the directory in which it should be.
        path: PathBuf,
        /// Description of the operation that failed.
        what: &'static str,
        /// Error text of the operating system.
        why: String,
    },
    /// Counterset rejected because the program already publishes the maximum number of different countersets under its
    /// GUID.
    #[error(
        "counterset \"{name}\" {guid} is not published: this program already publishes {VERSIONS} other definitions of \
         that GUID"
    )]
    Contradiction {
        /// Name of the counterset.
        name: String,
        /// GUID of the counterset.
        guid: Guid,
    },
    /// Readers leave out one counterset or counter: others publish or registered something else under its GUID, id or
    /// name.
    #[error("readers leave out published counters: {0}")]
    LeftOut(LeftOut),
    /// Readers leave out several countersets or counters. [`Publisher::left_out`](super::Publisher::left_out) and
    /// [`PublishStatus::problems`] contain them all.
    #[error("readers leave out published counters: {first}; and {more} more (see PublishStatus::problems)")]
    SeveralLeftOut {
        /// First item that is left out.
        first: LeftOut,
        /// Number of items in addition to the first.
        more: usize,
    },
}

impl PublishError {
    /// Combines all that readers leave out into one problem; `None` if nothing is left out.
    pub(super) fn from_left_out(parts: Vec<LeftOut>) -> Option<Self> {
        let more = parts.len().saturating_sub(1);
        let first = parts.into_iter().next()?;
        Some(if more == 0 { Self::LeftOut(first) } else { Self::SeveralLeftOut { first, more } })
    }
}

/// Maximum number of definitions that a program publishes under one GUID. A program that builds definitions at run time
/// could otherwise fill the table of its file.
const VERSIONS: usize = 8;

/// Reason why an instance cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// An instance of that name and id exists already.
    #[error("an instance with this name and id already exists")]
    Exists,
    /// There is no memory for the instance, not even private memory.
    #[error("no memory for another instance")]
    NoMemory,
}

/// Countersets of a program and their instances, in a file or, if none can be created, in private memory.
#[derive(Debug)]
pub(crate) struct Store {
    file: File,
    folders: Folders,
    /// Directories that were tried first, each with the reason why it is not used.
    tried: Vec<(PathBuf, String)>,
    generation: u64,
    state: Mutex<StoreState>,
    /// Store that replaces this one in a forked child.
    of_child: OnceLock<Arc<Store>>,
}

#[derive(Debug, Default)]
struct StoreState {
    /// Countersets by GUID, usually one each. Parts of a program may have been built with different versions of a
    /// library; readers merge those versions as they merge different publishers.
    sets: HashMap<Guid, Vec<PublishedSet>>,
    /// Sequence number of the newest instance. All instances of a file have different, ascending numbers.
    sequence: u64,
    unpublished: u64,
    problem: Option<PublishError>,
}

/// Published counterset with its segments and instances.
struct PublishedSet {
    set: Arc<Counterset>,
    stripes: usize,
    /// Index of the definition in the file's segment table, once it is there.
    definition: Option<usize>,
    segments: Vec<Segment>,
    classes: [SizeClass; NAME_UNITS.len()],
    /// Existing instances by name and id.
    instances: HashMap<(Box<[u16]>, u32), LiveInstance>,
}

impl std::fmt::Debug for PublishedSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Published");
        debug.field("name", &self.set.name).field("instances", &self.instances.len()).finish_non_exhaustive()
    }
}

struct LiveInstance {
    slot: SlotId,
    /// Holder of the instance, if it can be requested again.
    holder: Option<Weak<dyn Any + Send + Sync>>,
}

/// Size class of slots: room for names up to some length. Each class has segments of its own.
#[derive(Debug, Default)]
struct SizeClass {
    /// Segment with slots that were never used, and the number of its slots used so far.
    fresh: Option<(usize, usize)>,
    /// Free slots that were used before; the one free longest is reused first. So a late write to a released slot
    /// harms no instance for as long as possible.
    free: VecDeque<SlotId>,
    /// Free slots of segments that are not in the file.
    private: VecDeque<SlotId>,
    /// Number of segments in the file so far.
    count: u32,
}

/// Maximum name length in UTF-16 units for the slots of each class. The last class has room for the longest name and
/// its copy in units of 4 bytes.
const NAME_UNITS: [usize; 4] = [31, 127, 1023, 3071];

#[derive(Debug)]
struct Segment {
    memory: SharedMemory,
    shape: SegmentLayout,
    /// `true` if the segment is in the file.
    is_public: bool,
}

/// No instance is held any more. A pointer that C code kept then leads to private memory, where writes are harmless.
impl Drop for Segment {
    fn drop(&mut self) {
        self.memory.leave();
    }
}

/// Slot of a counterset: indexes of its class, its segment, and the slot in that segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SlotId {
    class: usize,
    segment: usize,
    slot: usize,
}

/// Memory of an instance's values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// PERF_COUNTERSET_INSTANCE block of the instance.
    pub block: &'static [AtomicU64],
    /// Values of the instance, one per counter.
    pub values: &'static [AtomicU64],
    /// Rows that threads add to, one behind the other.
    pub rows: &'static [AtomicU64],
    /// Number of words from one row to the next.
    pub row: usize,
}

impl Store {
    /// Creates a store in the first of those directories that can be written to.
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
            // Files of killed programs stay in memory until another program of the user removes them.
            super::clean::remove_dead(&folder);
            match File::in_folder(&folder) {
                Ok(file) => {
                    made = Some(file);
                    break;
                }
                Err(error) => {
                    let (what, why) = ("cannot make a file", error.to_string());
                    tried.push((folder.clone(), format!("{what}: {why}")));
                    // The first problem is that of the preferred directory, which the user would fix.
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
            // Counters must work without a directory: they then count in private memory, and only the problem
            // is visible.
            None => (File::private()?, Some(problem.unwrap_or_else(no_folder))),
        };
        let state = Mutex::new(StoreState { problem, ..StoreState::default() });
        Ok(Self { file, folders, tried, generation: fork::generation(), state, of_child: OnceLock::new() })
    }

    /// Returns this store, or in a process forked since its creation the store that replaces it.
    pub fn current(self: &Arc<Self>) -> Arc<Self> {
        let mut store = self;
        // A child of a child has a store of its own as well.
        while store.generation != fork::generation() {
            let anew = || Self::new(store.folders.clone()).map(Arc::new).ok();
            match store.of_child.get().cloned().or_else(anew) {
                Some(new) => store = store.of_child.get_or_init(|| new),
                None => break, // no memory for a header: it counts where nobody looks
            }
        }
        Arc::clone(store)
    }

    /// Returns `true` if this process was forked after the store was created: the thread that held the lock may not
    /// exist here.
    fn is_anothers(&self) -> bool {
        self.generation != fork::generation()
    }

    fn lock(&self) -> MutexGuard<'_, StoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the reason why some values are not published, if any.
    pub fn problem(&self) -> Option<PublishError> {
        if self.is_anothers() { None } else { self.lock().problem.clone() }
    }

    /// Returns the location of the file, who can see it, and known problems.
    pub fn status(&self) -> PublishStatus {
        let problems = self.problem().into_iter().collect();
        PublishStatus::new(&self.file, &self.folders, &self.tried, problems)
    }

    /// Returns the path of the file, if other processes see it.
    pub fn path(&self) -> Option<PathBuf> {
        self.file.path().map(PathBuf::from)
    }

    /// Returns the directories from which the file's directory was chosen.
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    /// Returns `true` if other processes see a counterset of this store.
    pub fn has_published(&self) -> bool {
        !self.is_anothers()
            && self.lock().sets.values().flatten().any(|published| published.definition.is_some())
    }

    /// Removes the file of this process, if it has one.
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

    /// Returns the instance of that name and id: the one held already, or a new one that `make` creates from the
    /// location of its values. `make` must not call back.
    pub fn instance<T: Any + Send + Sync>(
        &self,
        (set, stripes): (&Arc<Counterset>, usize),
        name: &[u16],
        id: u32,
        make: impl FnOnce(Slot, Option<InstanceRef>) -> Arc<T>,
    ) -> Arc<T> {
        let kept; // dropped after the lock: its last holder may be gone meanwhile
        // After a fork the lock may be held forever by a thread that does not exist here.
        let mut state = if self.is_anothers() { None } else { Some(self.lock()) };
        let parts = state.as_mut().and_then(|state| state.published(&self.file, set, stripes));
        let Some(mut parts) = parts else {
            return make(alone(set.counters.len()), None);
        };
        let published = &parts.published;
        let key = (Box::from(name), id);
        // An instance whose last holder is being dropped in another thread cannot be held again. A new one
        // takes its name.
        if let Some(living) = published.instances.get(&key) {
            kept = living.holder.as_ref().and_then(Weak::upgrade);
            if let Some(Ok(held)) = kept.clone().map(Arc::downcast) {
                return held;
            }
        }
        let name = NameParts { name, own: None, id };
        let Some((slot_id, slot)) = parts.begin(&self.file, name) else {
            return make(alone(set.counters.len()), None);
        };
        let place = InstanceRef { guid: set.guid, version: parts.version, key: key.clone(), slot: slot_id };
        let made = make(slot, Some(place));
        // Weak, because the store must not keep an instance alive.
        let weak = Arc::downgrade(&made);
        let holder: Option<Weak<dyn Any + Send + Sync>> = Some(weak);
        parts.published.instances.insert(key, LiveInstance { slot: slot_id, holder });
        made
    }

    /// Creates an instance whose block the program may write to freely. Also returns its sequence number, unique in
    /// the file.
    ///
    /// # Errors
    /// If an instance of that name and id exists already, or there is no memory for another.
    pub fn create(
        &self,
        set: &Arc<Counterset>,
        name: NameParts<'_>,
    ) -> Result<(Slot, InstanceRef, u64), CreateError> {
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
        parts.published.instances.insert(key.clone(), LiveInstance { slot: slot_id, holder: None });
        Ok((slot, InstanceRef { guid: set.guid, version: parts.version, key, slot: slot_id }, sequence))
    }

    /// Sets the header flag that shows whether the program listens on a socket beside the file.
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

    /// Removes an instance from the store.
    pub fn delete(&self, place: &InstanceRef) {
        if self.is_anothers() {
            return;
        }
        let mut state = self.lock();
        let StoreState { sets, unpublished, .. } = &mut *state;
        let published = sets.get_mut(&place.guid).and_then(|versions| versions.get_mut(place.version));
        let Some(published) = published else { return };
        // The name may belong to a newer instance already: see `instance`.
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

/// Identity of an instance in a store.
#[derive(Debug)]
pub(crate) struct InstanceRef {
    guid: Guid,
    version: usize,
    key: (Box<[u16]>, u32),
    slot: SlotId,
}

/// Returns values that no reader will ever see, for use if not even memory for a segment is available.
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

/// A counterset, and state shared by all countersets of the store.
struct Parts<'a> {
    published: &'a mut PublishedSet,
    /// Index among the countersets of the same GUID.
    version: usize,
    sequence: &'a mut u64,
    unpublished: &'a mut u64,
    problem: &'a mut Option<PublishError>,
}

/// Name and id of an instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameParts<'a> {
    /// Name as readers see it, in UTF-16.
    pub name: &'a [u16],
    /// Name as the program reads it in its block, NUL included, if the program does not use UTF-16.
    pub own: Option<&'a [u8]>,
    pub id: u32,
}

impl NameParts<'_> {
    /// Returns the offset of the program's own name, in bytes from the start of the name.
    fn own_at(&self) -> usize {
        self.name.len().saturating_add(1).saturating_mul(2).next_multiple_of(4)
    }

    /// Returns the number of UTF-16 units, without a NUL, that a name of the same size would have.
    fn units(&self) -> usize {
        match self.own {
            None => self.name.len(),
            Some(own) => (self.own_at().saturating_add(own.len()) / 2).saturating_sub(1),
        }
    }
}

impl Parts<'_> {
    /// Creates an instance in a slot of its own.
    fn begin(&mut self, file: &File, name: NameParts<'_>) -> Option<(SlotId, Slot)> {
        let (slot_id, slot) = self.published.take(file, name.units(), self.problem)?;
        // Even numbers are instances; the odd number after each means that its slot is free.
        *self.sequence = self.sequence.saturating_add(2);
        self.published.write(file, slot_id, &slot, name, *self.sequence);
        if !self.published.is_public(slot_id) {
            count_unpublished(file, self.unpublished, 1);
        }
        Some((slot_id, slot))
    }
}

impl StoreState {
    /// Returns a counterset, and publishes it first if necessary. `None` if there are too many of its GUID.
    fn published(&mut self, file: &File, set: &Arc<Counterset>, stripes: usize) -> Option<Parts<'_>> {
        let versions = self.sets.entry(set.guid).or_default();
        // Pointers first: comparing definitions costs more than everything else here.
        let is_it = |published: &PublishedSet| Arc::ptr_eq(&published.set, set) || published.set == *set;
        let known = versions.iter().position(is_it);
        if known.is_none() && versions.len() >= VERSIONS {
            let name = set.name.to_string();
            self.problem = Some(PublishError::Contradiction { name, guid: set.guid });
            return None;
        }
        let version = known.unwrap_or(versions.len());
        if known.is_none() {
            versions.push(PublishedSet {
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

impl PublishedSet {
    /// Writes the definition to the file, unless it is there already or no other process sees the file.
    fn define(&mut self, file: &File, problem: &mut Option<PublishError>) {
        if self.definition.is_some() || !file.is_public() {
            return;
        }
        let bytes = encode(&self.set);
        // Segments are mapped one by one, so they begin and end on pages.
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

    /// Takes a slot for a name of that length.
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

    /// Takes a free slot, if there is one: preferably one that other processes see.
    fn free_slot(&mut self, class: usize) -> Option<SlotId> {
        let segment = self.classes.get(class)?.fresh.and_then(|(segment, _)| self.segments.get(segment));
        // Slots that were never used come first: an ended instance may still be written to by a program that
        // keeps its address.
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

    /// Adds a segment. Each is twice as large as the previous one, up to 16 MiB.
    fn grow(&mut self, file: &File, class: usize, problem: &mut Option<PublishError>) -> Option<()> {
        const FIRST: usize = 64 << 10;
        const LARGEST_DOUBLINGS: u32 = 8;
        let count = self.classes.get(class)?.count;
        let shape = SegmentLayout::new(self.set.counters.len(), *NAME_UNITS.get(class)?, self.stripes);
        let least = shape.one().next_multiple_of(PAGE);
        let wanted = match self.set.instance_type {
            // A single instance needs no more than the smallest segment.
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
                (SharedMemory::own(len).ok()?, false)
            }
            None => (SharedMemory::own(len).ok()?, false),
        };
        let class = self.classes.get_mut(class)?;
        class.fresh = Some((self.segments.len(), 0));
        // A segment that could not be published does not count, so the next attempt is soon and small.
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

    /// Writes a new instance to a free slot.
    fn write(&self, file: &File, at: SlotId, slot: &Slot, name: NameParts<'_>, sequence: u64) {
        let Some(word) = self.sequence(at) else { return };
        file.change(|| {
            // The slot may have the values of an earlier instance.
            for word in slot.values.iter().chain(slot.rows) {
                word.store(0, Relaxed);
            }
            write_block(slot.block, &self.set.guid, slot.values.len(), name);
            // Last, with release: a reader that sees the number sees the whole block.
            word.store(sequence, Release);
        });
    }

    /// Ends the instance in a slot, and releases the slot.
    fn free(&mut self, file: &File, at: SlotId) {
        if let Some(word) = self.sequence(at) {
            file.change(|| {
                // The fence after it orders this store before any store of the next owner of the slot.
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
/// The name in UTF-16 follows the values, independent of the header. The header belongs to the program, and refers to
/// the name that the program reads.
fn write_block(block: &[AtomicU64], guid: &Guid, counters: usize, called: NameParts<'_>) {
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
    // Zeros to the end of the block: the slot may have had a longer name.
    let padding = zeros(name_words.len().saturating_mul(WORD));
    store_bytes(name_words, name.chain(own.iter().copied()).chain(padding));
}

fn no_room(file: &File, error: &io::Error) -> PublishError {
    let path = file.path().map(PathBuf::from).unwrap_or_default();
    PublishError::File { path, what: "cannot grow", why: error.to_string() }
}
