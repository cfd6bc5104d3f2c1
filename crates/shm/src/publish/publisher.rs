//! Where a program publishes.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::beside;
use super::block::Block;
use super::instance::{Counterset, Instance};
use super::status::PublishStatus;
use super::store::{Called, CreateError, PublishError, Store};
use crate::callback::{Answer, Request, Server};
use crate::folder::Folders;
use crate::merge::LeftOut;

/// One file with countersets. A process has [one of its own](Self::of_process), which is enough as a rule.
///
/// The file is gone when the publisher and the last of its instances are dropped, and when the process ends.
#[derive(Clone, Debug)]
pub struct Publisher {
    store: Option<Arc<Store>>,
}

impl Publisher {
    /// This process's own. A forked child has another one than its parent.
    #[must_use]
    pub fn of_process() -> Self {
        static OWN: OnceLock<Publisher> = OnceLock::new();
        let own = OWN.get_or_init(|| {
            let own = Self::in_folders(Folders::from_env());
            at_exit::unlink_own();
            own
        });
        own.clone()
    }

    /// One in the first of those folders that can be written to.
    #[must_use]
    pub fn in_folders(folders: Folders) -> Self {
        Self { store: Store::new(folders).map(Arc::new).ok() }
    }

    fn store(&self) -> Option<Arc<Store>> {
        self.store.as_ref().map(Store::of_this_process)
    }

    /// The instance of that name under the process id: a new one, or the one that is held already.
    #[must_use]
    pub fn instance<T: Counterset>(&self, name: &str) -> Instance<T> {
        self.instance_with_id(name, std::process::id())
    }

    /// The instance of that name and id: a new one, or the one that is held already.
    #[must_use]
    pub fn instance_with_id<T: Counterset>(&self, name: &str, id: u32) -> Instance<T> {
        Instance::new(self.store().as_ref(), name, id)
    }

    /// Publishes a counterset before it has instances.
    pub fn register<T: Counterset>(&self) {
        let definition = T::definition();
        if let Some(store) = self.store() {
            store.register(&definition.counterset, definition.stripes);
        }
    }

    /// Publishes a counterset that is no struct, before it has instances.
    pub fn define(&self, counterset: &Arc<perfset_core::Counterset>) {
        if let Some(store) = self.store() {
            store.register(counterset, 0);
        }
    }

    /// A new instance of a counterset that is no struct, as a block that is written to through its address.
    ///
    /// `own_name` is what the program finds in the block in place of the name in UTF-16, NUL included.
    ///
    /// # Errors
    /// If there is an instance of that name and id already, or no memory for another.
    pub fn create(
        &self,
        counterset: &Arc<perfset_core::Counterset>,
        name: &[u16],
        own_name: Option<&[u8]>,
        id: u32,
    ) -> Result<Block, CreateError> {
        let store = self.store().ok_or(CreateError::NoMemory)?;
        let (slot, place, sequence) = store.create(counterset, Called { name, own: own_name, id })?;
        Ok(Block::new(store, slot, place, sequence))
    }

    /// Answers readers from now on, until what is returned is dropped; none if nobody sees the file.
    ///
    /// # Errors
    /// If there can be no socket or no thread.
    pub fn answer(
        &self,
        answer: impl FnMut(Request<'_>) -> Answer + Send + 'static,
    ) -> std::io::Result<Option<Server>> {
        let Some((store, file)) = self.store().and_then(|store| store.path().map(|path| (store, path)))
        else {
            return Ok(None);
        };
        let ended = Arc::downgrade(&store);
        let server = Server::start(file.with_extension(crate::callback::EXTENSION), answer, move || {
            if let Some(store) = ended.upgrade() {
                store.says_it_listens(false);
            }
        })?;
        store.says_it_listens(true);
        Ok(Some(server))
    }

    /// Takes the file away from others, as the end of the process does. What it holds goes on in this process alone.
    pub fn unlink(&self) {
        if let Some(store) = &self.store {
            store.unlink_own();
        }
    }

    /// Why something counts where nobody sees it. Looks at all that is published there: not for every second.
    #[must_use]
    pub fn problem(&self) -> Option<PublishError> {
        match self.store() {
            Some(store) => store.problem().or_else(|| PublishError::of_left_out(self.left_out())),
            None => Some(PublishError::NoFolder { tried: "there is no memory for a header".into() }),
        }
    }

    /// Where it publishes, who can see that, and what is wrong. Looks at all that is published there, as
    /// [`problem`](Self::problem) does.
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

    /// Counters and countersets that readers leave out now, because others publish or registered something else under
    /// their GUIDs, ids or names. Looks at all that is published there.
    #[must_use]
    pub fn left_out(&self) -> Vec<LeftOut> {
        self.left_out_beside(beside::registered)
    }

    /// The same, where that is registered.
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

    /// The file that others see.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        self.store()?.path()
    }
}

/// Why counters of this process are not published, or not all of them; `None` if they are.
#[must_use]
pub fn problem() -> Option<PublishError> {
    Publisher::of_process().problem()
}

/// Where this process publishes its counters, who can see them, and what is wrong.
///
/// ```
/// println!("{}", perfset_shm::publish::status());
/// // /run/perfset: only user 1000, root and members of group perfset see these counters
/// // /tmp/perfset-990: private /tmp: no other program sees these counters; …
/// ```
#[must_use]
pub fn status() -> PublishStatus {
    Publisher::of_process().status()
}

/// Nothing drops what a process has as long as it runs: its file is taken away when it exits.
mod at_exit {
    #![expect(unsafe_code, reason = "std has no handlers of exits")]

    pub(super) fn unlink_own() {
        // SAFETY: the handler is a function of the right kind that lives as long as the process.
        let registered = unsafe { libc::atexit(unlink) };
        debug_assert_eq!(registered, 0, "there is memory for a handler");
    }

    extern "C" fn unlink() {
        super::Publisher::of_process().unlink();
    }
}
