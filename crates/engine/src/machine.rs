//! Machine of the engine: registry, providers and clock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use perfset_core::{Counterset, Guid, Identity, Instance, InstanceType, Language, Text};

use crate::clock::Clock;
use crate::deadline::Deadline;
use crate::engine_counters::{CollectionTotals, EngineCounters};
use crate::error::SourceError;
use crate::facts::{Fact, FactOptions};
use crate::group::Group;
use crate::provider::{Provider, guarded};
use crate::query::Query;
use crate::registration::{RegInfo, RegRequest, answer};
use crate::registry::{Shared, Slot};

pub use crate::registry::RegistrationProblem;

/// Source of countersets on this computer: registry, providers and clock, shared by all its queries.
///
/// Cloning gives another handle to the same machine.
#[derive(Clone, Debug)]
pub struct Machine {
    shared: Arc<Mutex<Shared>>,
}

impl Machine {
    /// Creates a machine with a clock and with the engine's own counterset.
    #[must_use]
    pub fn new(clock: Box<dyn Clock>) -> Self {
        let machine = Self::bare(clock);
        let own = EngineCounters::new(Arc::clone(&machine.lock().ledger));
        machine.register(Box::new(own));
        machine
    }

    /// Creates a machine with a clock and no counterset: for recorded data, to which this process's own cost is
    /// irrelevant.
    #[must_use]
    pub fn bare(clock: Box<dyn Clock>) -> Self {
        let ledger = Arc::new(CollectionTotals::default());
        let shared = Shared {
            clock,
            ledger,
            slots: Vec::new(),
            registry: Vec::new(),
            problems: Vec::new(),
            revision: 0,
            language: Language::ENGLISH,
            deadline: Deadline::default(),
        };
        Self { shared: Arc::new(Mutex::new(shared)) }
    }

    /// Adds a provider to the machine. Its countersets exist from the next call on; GUIDs that are already registered
    /// stay with their owner.
    ///
    /// A provider is called under the machine's lock: it must not call back.
    pub fn register(&self, provider: Box<dyn Provider>) {
        self.lock().slots.push(Slot { provider, last: None });
    }

    /// Sets the language that language id 0 requests.
    pub fn set_language(&self, language: Language) {
        self.lock().language = language;
    }

    /// Sets the maximum time that a collection waits for slow sources such as publishers, [`Deadline::DEFAULT`] unless
    /// this is called.
    ///
    /// Sources that share the deadline are created afterwards: those created before keep the former one.
    pub fn set_deadline(&self, deadline: Duration) {
        self.lock().deadline = Deadline::new(deadline);
    }

    /// Returns the deadline of this machine, for sources that share it: the maximum time that a collection waits for
    /// slow sources.
    ///
    /// ```
    /// use perfset::{DeadlineProvider, Machine, provider::Provider};
    ///
    /// fn register_slow(machine: &Machine, provider: Box<dyn Provider>) {
    ///     let slow = DeadlineProvider::sharing(provider, &machine.deadline());
    ///     machine.register(Box::new(slow));
    /// }
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        self.lock().deadline.clone()
    }

    /// Returns texts for users: a line for each source that did not respond before the deadline and is not waited for
    /// now.
    #[must_use]
    pub fn late(&self) -> Vec<Text> {
        let mut shared = self.lock();
        let ask = |slot: &mut Slot| guarded(&mut *slot.provider, |provider| Ok(provider.late()));
        shared.slots.iter_mut().flat_map(|slot| ask(slot).unwrap_or_default()).collect()
    }

    /// Returns the GUIDs of all registered countersets, ascending.
    #[must_use]
    #[doc(alias = "PerfEnumerateCounterSet")]
    pub fn countersets(&self) -> Vec<Guid> {
        self.lock().fresh().registry.iter().map(|r| r.set.guid).collect()
    }

    /// Returns a registered counterset.
    ///
    /// # Errors
    /// [`SourceError::UnknownCounterset`].
    pub fn counterset(&self, guid: &Guid) -> Result<Arc<Counterset>, SourceError> {
        self.lock().fresh().find(guid).map(|(set, _)| Arc::clone(set))
    }

    /// Returns a text for users: the origin of a counterset's values.
    ///
    /// # Errors
    /// [`SourceError::UnknownCounterset`].
    pub fn origin(&self, guid: &Guid) -> Result<Text, SourceError> {
        let mut shared = self.lock();
        let shared = shared.fresh();
        let (_, slot) = shared.find(guid)?;
        if let Some(origin) = shared.with_provider(slot, |provider| Ok(provider.origin(guid)))? {
            return Ok(origin);
        }
        let catalogue = shared.slots.get(slot).and_then(|slot| slot.last.as_ref());
        Ok(catalogue.map(|catalogue| catalogue.origin.clone()).unwrap_or_default())
    }

    /// Returns the countersets, and the parts of countersets, that were not registered, with the reasons.
    #[must_use]
    pub fn problems(&self) -> Vec<RegistrationProblem> {
        let mut shared = self.lock();
        let mut problems = shared.fresh().problems.clone();
        let ask = |slot: &mut Slot| guarded(&mut *slot.provider, |provider| Ok(provider.problems()));
        let unusable = shared.slots.iter_mut().flat_map(|slot| ask(slot).unwrap_or_default());
        problems.extend(unusable.map(RegistrationProblem::Unusable));
        problems
    }

    /// Returns the problems of registered countersets, by GUID: their omitted parts, and other data that was omitted
    /// because a counterset already has its name or GUID.
    #[must_use]
    pub fn left_out(&self) -> Vec<(Guid, Text)> {
        let mut shared = self.lock();
        let ask = |slot: &mut Slot| guarded(&mut *slot.provider, |provider| Ok(provider.left_out()));
        shared.fresh().slots.iter_mut().flat_map(|slot| ask(slot).unwrap_or_default()).collect()
    }

    /// Returns texts for users: topics, and sentences on how the providers collect their values.
    #[must_use]
    pub fn describe(&self) -> Vec<(Text, Text)> {
        let mut shared = self.lock();
        let ask = |slot: &mut Slot| guarded(&mut *slot.provider, |provider| Ok(provider.describe()));
        shared.slots.iter_mut().flat_map(|slot| ask(slot).unwrap_or_default()).collect()
    }

    /// Returns sentences for users about existing data that is not delivered: how much, why, and how to see it. They
    /// concern one counterset, or all.
    #[must_use]
    pub fn not_shown(&self, counterset: Option<&Guid>) -> Vec<Text> {
        let mut shared = self.lock();
        let ask =
            |slot: &mut Slot| guarded(&mut *slot.provider, |provider| Ok(provider.not_shown(counterset)));
        shared.slots.iter_mut().flat_map(|slot| ask(slot).unwrap_or_default()).collect()
    }

    /// Returns the requested part of a counterset's registration.
    ///
    /// # Errors
    /// [`SourceError::UnknownCounterset`], [`UnknownCounter`](SourceError::UnknownCounter),
    /// [`NoHelp`](SourceError::NoHelp), [`LanguageNotFound`](SourceError::LanguageNotFound).
    #[doc(alias = "PerfQueryCounterSetRegistrationInfo")]
    pub fn registration(&self, guid: &Guid, request: RegRequest) -> Result<RegInfo, SourceError> {
        let mut shared = self.lock();
        let shared = shared.fresh();
        let (set, _) = shared.find(guid)?;
        answer(set, request, shared.language)
    }

    /// Returns the active instances of a counterset, in the provider's order; for aggregate types the instances that
    /// consumers see (R-17).
    ///
    /// # Errors
    /// [`SourceError::UnknownCounterset`], [`NoInstances`](SourceError::NoInstances),
    /// [`InvalidRegistration`](SourceError::InvalidRegistration), or the provider's error.
    #[doc(alias = "PerfEnumerateCounterSetInstances")]
    pub fn instances(&self, guid: &Guid) -> Result<Vec<Instance>, SourceError> {
        let mut shared = self.lock();
        let (set, slot) = shared.fresh().find(guid)?;
        let (single, group) = (set.instance_type == InstanceType::Single, Group::new(set, slot));
        let instances = group.instances(&mut shared)?;
        match instances.len() {
            0 => Err(SourceError::NoInstances(*guid)),
            // Only a listing fails: a collection takes the first of them (R-17).
            2.. if single => Err(SourceError::InvalidRegistration(*guid)),
            _ => Ok(instances),
        }
    }

    /// Returns facts about an instance as text, read now; see [`Source::facts`](crate::Source::facts).
    ///
    /// ```
    /// use perfset::{FactOptions, Identity, Machine, SourceError};
    ///
    /// fn print_facts(machine: &Machine, process: &Identity<'_>) -> Result<(), SourceError> {
    ///     for fact in machine.facts(process, FactOptions::default())? {
    ///         match fact.text {
    ///             Ok(text) => println!("{}: {}", fact.kind.keyword(), text.escape_debug()),
    ///             Err(reason) => println!("{}: - ({reason})", fact.kind.keyword()),
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`SourceError::UnknownCounterset`], or the provider's error.
    pub fn facts(&self, instance: &Identity<'_>, options: FactOptions) -> Result<Vec<Fact>, SourceError> {
        let mut shared = self.lock();
        let shared = shared.fresh();
        let (_, slot) = shared.find(&instance.counterset)?;
        shared.with_provider(slot, |provider| provider.facts(instance, options))
    }

    /// Returns an empty query over the machine's countersets. No provider is called.
    #[must_use]
    #[doc(alias = "PerfOpenQueryHandle")]
    pub fn query(&self) -> Query {
        Query::new(self.clone())
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared> {
        // A provider's panic is caught inside. After any other panic the registry is still valid.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
