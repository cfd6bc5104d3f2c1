//! Published countersets of a program, their instances, and the locations of their values.

use std::any::Any;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use once_cell::race::OnceBox;
use perfset_core::{Counterset, Guid};

use super::error::{CreateError, PublishError, VERSIONS};
use super::file::File;
use super::instance_bytes::NameParts;
use super::slots::{LiveInstance, PublishedSet, Slot, SlotId};
use super::status::PublishStatus;
use crate::folder::Folders;
use crate::fork;
use crate::layout::header;

/// Countersets of a program and their instances, in a file or, if none can be created, in private memory.
#[derive(Debug)]
pub(crate) struct Store {
    file: File,
    folders: Folders,
    /// Directories that were tried first for the publisher's file, each with the reason why it is not used.
    tried: Vec<(PathBuf, String)>,
    generation: u64,
    state: Mutex<StoreState>,
    /// Store of published countersets that replaces this one in a forked child.
    of_child: OnceBox<Arc<Store>>,
}

#[derive(Debug, Default)]
struct StoreState {
    /// Published countersets by GUID, usually one each. Parts of a program may have been built with different
    /// versions of a library; readers merge those versions as they merge different publishers.
    sets: HashMap<Guid, Vec<PublishedSet>>,
    /// Sequence number of the newest published instance. All instances of a file have different, ascending numbers.
    sequence: u64,
    unpublished: u64,
    problem: Option<PublishError>,
}

impl Store {
    /// Creates a store of published countersets in the first of those directories that can be written to.
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
        Ok(Self { file, folders, tried, generation: fork::generation(), state, of_child: OnceBox::new() })
    }

    /// Returns this store of published countersets; in a process that was forked after its creation, the store that
    /// replaces it.
    pub fn current(self: &Arc<Self>) -> Arc<Self> {
        let mut store = self;
        // A child of a child has a store of its own as well.
        while store.generation != fork::generation() {
            let anew = || Self::new(store.folders.clone()).map(Arc::new).ok();
            match store.of_child.get().cloned().or_else(anew) {
                Some(new) => store = store.of_child.get_or_init(|| Box::new(new)),
                None => break, // no memory for a header: it counts where nobody looks
            }
        }
        Arc::clone(store)
    }

    /// Returns `true` if this process was forked after this store of published countersets was created: the thread
    /// that held the lock may not exist here.
    fn is_anothers(&self) -> bool {
        self.generation != fork::generation()
    }

    fn lock(&self) -> MutexGuard<'_, StoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the reason why some counters of the program are not published, if any.
    pub fn problem(&self) -> Option<PublishError> {
        if self.is_anothers() { None } else { self.lock().problem.clone() }
    }

    /// Returns the status of the published data: location of the file, users who can see the file, and known
    /// problems.
    pub fn status(&self) -> PublishStatus {
        let problems = self.problem().into_iter().collect();
        PublishStatus::new(&self.file, &self.folders, &self.tried, problems)
    }

    /// Returns the path of the publisher's file, if other processes see that file.
    pub fn path(&self) -> Option<PathBuf> {
        self.file.path().map(PathBuf::from)
    }

    /// Returns the directories from which the directory of the publisher's file was chosen.
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    /// Returns `true` if other processes see a counterset of this publisher.
    pub fn has_published(&self) -> bool {
        !self.is_anothers()
            && self.lock().sets.values().flatten().any(|published| published.definition.is_some())
    }

    /// Removes the publisher's file of this process, if it has one.
    pub fn unlink_own(&self) {
        if !self.is_anothers() {
            self.file.unlink();
        } else if let Some(of_child) = self.of_child.get() {
            of_child.unlink_own();
        }
    }

    /// Publishes a counterset, unless it is published already.
    pub fn register(&self, set: &Arc<Counterset>, stripes: usize) {
        if !self.is_anothers() {
            let mut state = self.lock();
            let _ = state.published(&self.file, set, stripes);
        }
    }

    /// Returns the published instance of that name and id: the existing one, or a new one that `make` creates from
    /// the location of its values. `make` must not call back.
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

    /// Creates a published instance whose block the program may write to freely. Also returns its sequence number,
    /// unique in the file.
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

    /// Ends a published instance, and frees the instance's slot.
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

/// Reference to an instance in a store of published countersets.
#[derive(Debug)]
pub(crate) struct InstanceRef {
    guid: Guid,
    version: usize,
    key: (Box<[u16]>, u32),
    slot: SlotId,
}

/// Returns memory for the values of an instance that no reader will ever see, for use if not even memory for a
/// segment is available.
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

/// Published counterset that is changed, and state shared by all countersets of the store.
struct Parts<'a> {
    published: &'a mut PublishedSet,
    /// Index of the counterset among the published countersets of the same GUID.
    version: usize,
    sequence: &'a mut u64,
    unpublished: &'a mut u64,
    problem: &'a mut Option<PublishError>,
}

impl Parts<'_> {
    /// Creates an instance of the counterset in a free slot.
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
    /// Returns the published form of a counterset, which is first published if necessary. `None` if too many
    /// countersets of its GUID are published.
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
            versions.push(PublishedSet::new(set, stripes));
        }
        let published = versions.get_mut(version)?;
        published.define(file, &mut self.problem);
        let Self { sequence, unpublished, problem, .. } = self;
        Some(Parts { published, version, sequence, unpublished, problem })
    }
}
