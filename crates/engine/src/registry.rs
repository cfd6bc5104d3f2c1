//! Registry of a machine: its providers and their countersets, with the clock, language and deadline that all of them
//! share.

use std::sync::Arc;

use perfset_core::{Counterset, Guid, Language, Text};

use crate::clock::Clock;
use crate::deadline::Deadline;
use crate::engine_counters::CollectionTotals;
use crate::error::SourceError;
use crate::provider::{Catalogue, Provider, guarded};

/// Reason that a counterset, or a part of a counterset, was not registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationProblem {
    /// The GUID of the counterset is already registered by another provider.
    #[error("counterset {guid} of \"{rejected}\" belongs to \"{owner}\"")]
    Taken {
        /// GUID of the counterset that was not registered.
        guid: Guid,
        /// Name of the provider that registered the GUID first.
        owner: String,
        /// Name of the provider whose registration was rejected.
        rejected: String,
    },
    /// The provider's catalogue is unavailable.
    #[error("a provider has no catalogue: {0}")]
    NoCatalogue(SourceError),
    /// Problem that a provider reported as text, such as an unusable file.
    #[error("{0}")]
    Unusable(Text),
}

pub(crate) struct Shared {
    pub clock: Box<dyn Clock>,
    pub ledger: Arc<CollectionTotals>,
    pub slots: Vec<Slot>,
    /// Registered countersets by GUID, ascending.
    pub registry: Vec<RegistryEntry>,
    pub problems: Vec<RegistrationProblem>,
    /// Revision number of the registry, which changes whenever the registry changes.
    pub revision: u64,
    pub language: Language,
    /// Maximum time that a collection waits for slow sources such as publishers.
    pub deadline: Deadline,
}

pub(crate) struct Slot {
    pub provider: Box<dyn Provider>,
    pub last: Option<Arc<Catalogue>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("registry", &self.registry).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct RegistryEntry {
    pub set: Arc<Counterset>,
    pub slot: usize,
}

impl Shared {
    /// Checks every provider for a changed catalogue, and registers the changes.
    pub fn fresh(&mut self) -> &mut Self {
        let mut changed = false;
        let mut missing = Vec::new();
        for slot in &mut self.slots {
            let now = guarded(&mut *slot.provider, |provider| provider.catalogue());
            match (&slot.last, now) {
                (Some(last), Ok(now)) if Arc::ptr_eq(last, &now) => {}
                // A provider without a catalogue before changes nothing: the revision and all plans stay.
                (None, Err(error)) => missing.push(RegistrationProblem::NoCatalogue(error)),
                (_, now) => {
                    changed = true;
                    match now {
                        Ok(now) => slot.last = Some(now),
                        Err(error) => {
                            slot.last = None;
                            missing.push(RegistrationProblem::NoCatalogue(error));
                        }
                    }
                }
            }
        }
        if changed {
            self.rebuild();
        }
        if changed || !missing.is_empty() {
            self.problems.retain(|problem| !matches!(problem, RegistrationProblem::NoCatalogue(_)));
            self.problems.append(&mut missing);
        }
        self
    }

    fn rebuild(&mut self) {
        self.revision = self.revision.wrapping_add(1);
        self.registry.clear();
        self.problems.clear();
        for (slot, Slot { last, .. }) in self.slots.iter().enumerate() {
            for set in last.iter().flat_map(|catalogue| &catalogue.countersets) {
                let guid = set.guid;
                match self.registry.binary_search_by_key(&guid, |r| r.set.guid) {
                    Err(at) => self.registry.insert(at, RegistryEntry { set: Arc::clone(set), slot }),
                    Ok(at) => {
                        let owner = self.registry.get(at).map(|r| r.set.provider.name.to_string());
                        self.problems.push(RegistrationProblem::Taken {
                            guid,
                            owner: owner.unwrap_or_default(),
                            rejected: set.provider.name.to_string(),
                        });
                    }
                }
            }
        }
    }

    /// Returns a registered counterset and the slot of its provider.
    pub fn find(&self, guid: &Guid) -> Result<(&Arc<Counterset>, usize), SourceError> {
        let at = self.registry.binary_search_by_key(guid, |r| r.set.guid);
        let found = at.ok().and_then(|at| self.registry.get(at));
        found.map(|r| (&r.set, r.slot)).ok_or(SourceError::UnknownCounterset(*guid))
    }

    /// Calls a function of a provider in the registry. A panic of the provider fails that call only.
    pub fn with_provider<T>(
        &mut self,
        slot: usize,
        call: impl FnOnce(&mut dyn Provider) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        match self.slots.get_mut(slot) {
            Some(slot) => guarded(&mut *slot.provider, call),
            None => Err(SourceError::Failed("the provider is gone".into())),
        }
    }
}
