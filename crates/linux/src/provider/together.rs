//! Groups several providers into one: they share a thread and their sources.

use std::sync::Arc;

use perfset_core::{Counterset, Guid};
use perfset_engine::{Catalogue, CollectRequest, Provider, Rows, SourceError};

use super::several::{InstanceSource, MultiInstanceProvider};

/// Provider of the countersets of several providers.
pub(crate) struct ProviderGroup {
    catalogue: Arc<Catalogue>,
    providers: Vec<(Guid, Box<dyn Provider>)>,
}

impl ProviderGroup {
    /// Creates a group without providers.
    pub(crate) fn new() -> Self {
        let catalogue = Catalogue { origin: "Linux".into(), countersets: Vec::new() };
        Self { catalogue: Arc::new(catalogue), providers: Vec::new() }
    }

    /// Adds a provider of these instances.
    pub(crate) fn with<I: InstanceSource + 'static>(mut self, instances: I) -> Self {
        let counterset: &Counterset = I::COUNTERSET;
        Arc::make_mut(&mut self.catalogue).countersets.push(Arc::new(counterset.clone()));
        self.providers.push((counterset.guid, Box::new(MultiInstanceProvider::new(instances))));
        self
    }

    fn provider(&mut self, counterset: Guid) -> Result<&mut dyn Provider, SourceError> {
        match self.providers.iter_mut().find(|(guid, _)| *guid == counterset) {
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

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.provider(want.counterset.guid)?.collect(want, rows)
    }
}
