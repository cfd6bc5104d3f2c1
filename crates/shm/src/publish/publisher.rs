//! Publisher of countersets: one file and its instances.

use std::path::PathBuf;
use std::sync::Arc;

use once_cell::race::OnceBox;

use super::beside;
use super::block::InstanceBlock;
use super::error::{CreateError, PublishError};
use super::instance::{Counterset, PublishedInstance};
use super::instance_bytes::NameParts;
use super::status::PublishStatus;
use super::store::Store;
use crate::callback::{CallbackReply, RequestMessage, Server};
use crate::folder::Folders;
use crate::merge::LeftOut;

/// Publisher of countersets in one file. A process has [one of its own](Self::current), which is usually enough.
///
/// The file is removed when the publisher and the last of its instances are dropped, or when the process ends.
#[derive(Clone, Debug)]
pub struct Publisher {
    store: Option<Arc<Store>>,
}

impl Publisher {
    /// Returns the publisher of this process. A forked child gets a different one from its parent's.
    #[must_use]
    pub fn current() -> Self {
        // Without a lock, which a forked process might wait for. If threads race, the other file is removed at once.
        static OWN: OnceBox<Publisher> = OnceBox::new();
        let own = OWN.get_or_init(|| {
            let own = Self::in_folders(Folders::from_env());
            at_exit::unlink_own();
            Box::new(own)
        });
        own.clone()
    }

    /// Creates a publisher in the first of those directories that can be written to.
    #[must_use]
    pub fn in_folders(folders: Folders) -> Self {
        Self { store: Store::new(folders).map(Arc::new).ok() }
    }

    fn store(&self) -> Option<Arc<Store>> {
        self.store.as_ref().map(Store::current)
    }

    /// Returns the published instance of that name with the process id: a new one, or the existing one.
    #[must_use]
    pub fn instance<T: Counterset>(&self, name: &str) -> PublishedInstance<T> {
        self.instance_with_id(name, std::process::id())
    }

    /// Returns the published instance of that name and id: a new one, or the existing one.
    #[must_use]
    pub fn instance_with_id<T: Counterset>(&self, name: &str, id: u32) -> PublishedInstance<T> {
        PublishedInstance::new(self.store().as_ref(), name, id)
    }

    /// Publishes a counterset before it has instances.
    pub fn register<T: Counterset>(&self) {
        let definition = T::definition();
        if let Some(store) = self.store() {
            store.register(&definition.counterset, definition.stripes);
        }
    }

    /// Publishes a counterset that is not a Rust struct, before it has instances.
    pub fn define(&self, counterset: &Arc<perfset_core::Counterset>) {
        if let Some(store) = self.store() {
            store.register(counterset, 0);
        }
    }

    /// Creates an instance of a counterset that is not a Rust struct, as a block that C code writes to through its
    /// address.
    ///
    /// `own_name` is the name that the program finds in the block, NUL included, in place of the name in UTF-16.
    ///
    /// # Errors
    /// If an instance of that name and id exists already, or there is no memory for another.
    pub fn create(
        &self,
        counterset: &Arc<perfset_core::Counterset>,
        name: &[u16],
        own_name: Option<&[u8]>,
        id: u32,
    ) -> Result<InstanceBlock, CreateError> {
        let store = self.store().ok_or(CreateError::NoMemory)?;
        let (slot, place, sequence) = store.create(counterset, NameParts { name, own: own_name, id })?;
        Ok(InstanceBlock::new(store, slot, place, sequence))
    }

    /// Starts a server that responds to readers with `answer` until the returned server is dropped; `None` if no
    /// other process sees the file.
    ///
    /// # Errors
    /// If the socket or the thread cannot be created.
    pub fn answer(
        &self,
        answer: impl FnMut(RequestMessage<'_>) -> CallbackReply + Send + 'static,
    ) -> std::io::Result<Option<Server>> {
        let Some((store, file)) = self.store().and_then(|store| store.path().map(|path| (store, path)))
        else {
            return Ok(None);
        };
        // Weak, because the server must not keep the file in existence.
        let ended = Arc::downgrade(&store);
        let server = Server::start(file.with_extension(crate::callback::EXTENSION), answer, move || {
            if let Some(store) = ended.upgrade() {
                store.says_it_listens(false);
            }
        })?;
        // After the socket exists: readers connect as soon as they see the flag.
        store.says_it_listens(true);
        Ok(Some(server))
    }

    /// Removes the publisher's file, as at process exit. Its contents remain usable in this process alone.
    pub fn unlink(&self) {
        if let Some(store) = &self.store {
            store.unlink_own();
        }
    }

    /// Returns the reason why some counters are invisible to readers, if any. Expensive, because it examines all
    /// files in the directory: do not call it every second.
    #[must_use]
    pub fn problem(&self) -> Option<PublishError> {
        match self.store() {
            Some(store) => store.problem().or_else(|| PublishError::from_left_out(self.left_out())),
            None => Some(PublishError::NoFolder { tried: "no memory for a file header".into() }),
        }
    }

    /// Returns where counters are published, who can see them, and all problems. As expensive as
    /// [`problem`](Self::problem).
    #[must_use]
    pub fn status(&self) -> PublishStatus {
        match self.store() {
            Some(store) => {
                let mut status = store.status();
                status.problems.extend(self.left_out().into_iter().map(PublishError::LeftOut));
                status
            }
            None => PublishStatus::nowhere(self.problem()),
        }
    }

    /// Returns counters and countersets that readers currently leave out, because others publish or registered
    /// something else under their GUIDs, ids or names. Expensive, because it examines all files in the directory.
    #[must_use]
    pub fn left_out(&self) -> Vec<LeftOut> {
        self.left_out_beside(beside::registered)
    }

    /// Returns counters and countersets that readers leave out, given the registered countersets.
    pub(crate) fn left_out_beside(
        &self,
        registered: impl FnOnce() -> Vec<Arc<perfset_core::Counterset>>,
    ) -> Vec<LeftOut> {
        let store = self.store().filter(|store| store.has_published());
        let Some((store, file)) = store.and_then(|store| store.path().map(|path| (store, path))) else {
            return Vec::new();
        };
        beside::left_out(store.folders(), &file, registered())
    }

    /// Returns the path of the publisher's file that other processes see.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        self.store()?.path()
    }
}

/// Returns the first reason why some or all counters of this process are not published; `None` if all are.
#[must_use]
pub fn problem() -> Option<PublishError> {
    Publisher::current().problem()
}

/// Returns where this process publishes its counters, who can see them, and all problems.
///
/// ```
/// println!("{}", perfset::publish::status());
/// // /run/perfset: only user 1000, root and members of group perfset see these counters
/// // /tmp/perfset-990: private /tmp: no other program sees these counters; …
/// ```
#[must_use]
pub fn status() -> PublishStatus {
    Publisher::current().status()
}

/// Removal of the publisher's file at process exit, because statics are never dropped.
mod at_exit {
    #![expect(unsafe_code, reason = "std has no handlers of exits")]

    pub(super) fn unlink_own() {
        // SAFETY: the handler has the right signature, and exists as long as the process.
        let registered = unsafe { libc::atexit(unlink) };
        debug_assert_eq!(registered, 0, "there is memory for a handler");
    }

    extern "C" fn unlink() {
        super::Publisher::current().unlink();
    }
}
