//! Data that the V2 provider shares with the V1 provider.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perfset_core::{Counterset, Guid};
use perfset_engine::Catalogue;

/// Set of the countersets that V2 has. V1 leaves them out, because the system also shows each of them as an object.
#[derive(Clone, Debug, Default)]
pub struct V2Guids(Arc<Mutex<Sets>>);

#[derive(Debug, Default)]
struct Sets {
    guids: HashSet<Guid>,
    /// Names of V2's countersets, in lower case.
    names: HashSet<String>,
    /// Revision of V2's countersets: a number that changes whenever they change.
    revision: u64,
}

impl V2Guids {
    /// Replaces the stored V2 countersets by those that are registered now.
    pub fn set(&self, catalogue: &Catalogue) {
        let guids = catalogue.countersets.iter().map(|set| set.guid).collect();
        let names = catalogue.countersets.iter().map(|set| set.name.to_lowercase()).collect();
        let mut sets = self.lock();
        if (&guids, &names) != (&sets.guids, &sets.names) {
            *sets = Sets { guids, names, revision: sets.revision.wrapping_add(1) };
        }
    }

    /// Returns `true` if V2 has a counterset of that GUID or name.
    #[must_use]
    pub fn has(&self, set: &Counterset) -> bool {
        let sets = self.lock();
        sets.guids.contains(&set.guid) || sets.names.contains(&set.name.to_lowercase())
    }

    /// Returns a number that changes whenever the stored V2 countersets change.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.lock().revision
    }

    fn lock(&self) -> MutexGuard<'_, Sets> {
        // No code that holds the lock panics; even then the sets would be valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
