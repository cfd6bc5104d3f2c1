//! What one provider knows and the other needs.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perfset_core::{Counterset, Guid};
use perfset_engine::Catalogue;

/// The countersets that V2 has: V1 leaves them to it, for the system shows each of them as an object, too.
#[derive(Clone, Debug, Default)]
pub struct Registered(Arc<Mutex<Sets>>);

#[derive(Debug, Default)]
struct Sets {
    guids: HashSet<Guid>,
    /// In lower case.
    names: HashSet<String>,
    /// Changes whenever the rest does.
    revision: u64,
}

impl Registered {
    /// Takes over what is registered now.
    pub fn set(&self, catalogue: &Catalogue) {
        let guids = catalogue.countersets.iter().map(|set| set.guid).collect();
        let names = catalogue.countersets.iter().map(|set| set.name.to_lowercase()).collect();
        let mut sets = self.lock();
        if (&guids, &names) != (&sets.guids, &sets.names) {
            *sets = Sets { guids, names, revision: sets.revision.wrapping_add(1) };
        }
    }

    /// Whether V2 has a counterset of that GUID or name.
    #[must_use]
    pub fn has(&self, set: &Counterset) -> bool {
        let sets = self.lock();
        sets.guids.contains(&set.guid) || sets.names.contains(&set.name.to_lowercase())
    }

    /// Another number whenever something changed.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.lock().revision
    }

    fn lock(&self) -> MutexGuard<'_, Sets> {
        // Nothing in here panics; what would be left is still a list.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
