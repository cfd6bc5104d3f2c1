//! Groups several providers into one: they share a thread and their sources.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use perfset_core::{Guid, Text};

use super::{Catalogue, CollectRequest, Provider};
use crate::error::SourceError;
use crate::rows::Rows;

/// Provider of the countersets of several providers.
///
/// For providers that share sources and wait for the same device: one [`DeadlineProvider`](crate::DeadlineProvider)
/// around the group runs them all on one thread. The group passes on the requests for countersets; it has no texts of
/// its own except the providers that are [`late`](Provider::late).
#[derive(Default)]
pub struct ProviderGroup {
    catalogue: Arc<Catalogue>,
    providers: Vec<(Vec<Guid>, Box<dyn Provider>)>,
}

impl fmt::Debug for ProviderGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderGroup").field("catalogue", &self.catalogue).finish_non_exhaustive()
    }
}

impl ProviderGroup {
    /// Creates a group without providers. `origin` is the origin of the values, for users.
    #[must_use]
    pub fn new(origin: impl Into<Text>) -> Self {
        let catalogue = Catalogue::new(origin, Vec::new());
        Self { catalogue: Arc::new(catalogue), providers: Vec::new() }
    }

    /// Adds a provider with its present countersets. A provider without a catalogue adds none.
    #[must_use]
    pub fn with(mut self, mut provider: impl Provider + 'static) -> Self {
        if let Ok(catalogue) = provider.catalogue() {
            let guids = catalogue.countersets.iter().map(|set| set.guid).collect();
            Arc::make_mut(&mut self.catalogue).countersets.extend(catalogue.countersets.iter().cloned());
            self.providers.push((guids, Box::new(provider)));
        }
        self
    }

    fn provider(&mut self, counterset: Guid) -> Result<&mut dyn Provider, SourceError> {
        match self.providers.iter_mut().find(|(guids, _)| guids.contains(&counterset)) {
            Some((_, provider)) => Ok(&mut **provider),
            None => Err(SourceError::UnknownCounterset(counterset)),
        }
    }
}

impl Provider for ProviderGroup {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.provider(*counterset)?.instances(counterset, rows)
    }

    fn begin(&mut self, want: &CollectRequest<'_>, until: Instant) {
        if let Ok(provider) = self.provider(want.counterset.guid) {
            provider.begin(want, until);
        }
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.provider(want.counterset.guid)?.collect(want, rows)
    }

    fn late(&mut self) -> Vec<Text> {
        self.providers.iter_mut().flat_map(|(_, provider)| provider.late()).collect()
    }
}
