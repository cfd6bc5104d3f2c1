//! Groups several providers into one: they share a thread and their sources.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use perfset_core::{Guid, Identity, Status, Text};

use super::{Catalogue, Change, CollectRequest, Provider};
use crate::entry::Entry;
use crate::error::SourceError;
use crate::facts::{Fact, FactOptions};
use crate::rows::Rows;

/// Provider of the countersets of several providers.
///
/// For providers that share sources and wait for the same device: one [`DeadlineProvider`](crate::DeadlineProvider)
/// around the group runs them all on one thread. The group passes on all requests, and its texts for users are those
/// of its providers.
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
    /// Creates a group without providers. `origin` is the origin of the providers' values, as a text for users.
    #[must_use]
    pub fn new(origin: impl Into<Text>) -> Self {
        let catalogue = Catalogue::new(origin, Vec::new());
        Self { catalogue: Arc::new(catalogue), providers: Vec::new() }
    }

    /// Adds a provider to the group, with its present countersets. A provider without a catalogue adds none.
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

    fn each(&mut self) -> impl Iterator<Item = &mut (dyn Provider + 'static)> {
        self.providers.iter_mut().map(|(_, provider)| &mut **provider)
    }
}

impl Provider for ProviderGroup {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.provider(*counterset)?.instances(counterset, rows)
    }

    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        match self.provider(entry.counterset) {
            Ok(provider) => provider.entry(change, entry),
            Err(error) => error.status(),
        }
    }

    fn begin(&mut self, want: &CollectRequest<'_>, until: Instant) {
        if let Ok(provider) = self.provider(want.counterset.guid) {
            provider.begin(want, until);
        }
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.provider(want.counterset.guid)?.collect(want, rows)
    }

    fn facts(&mut self, instance: &Identity<'_>, options: FactOptions) -> Result<Vec<Fact>, SourceError> {
        self.provider(instance.counterset)?.facts(instance, options)
    }

    /// Returns the origin of a counterset's values that its provider returns; `None` if the origin of the group
    /// applies.
    fn origin(&mut self, counterset: &Guid) -> Option<Text> {
        self.provider(*counterset).ok()?.origin(counterset)
    }

    fn describe(&mut self) -> Vec<(Text, Text)> {
        self.each().flat_map(Provider::describe).collect()
    }

    fn not_shown(&mut self, counterset: Option<&Guid>) -> Vec<Text> {
        self.each().flat_map(|provider| provider.not_shown(counterset)).collect()
    }

    fn late(&mut self) -> Vec<Text> {
        self.each().flat_map(Provider::late).collect()
    }

    fn problems(&mut self) -> Vec<Text> {
        self.each().flat_map(Provider::problems).collect()
    }

    fn left_out(&mut self) -> Vec<(Guid, Text)> {
        self.each().flat_map(Provider::left_out).collect()
    }
}

#[cfg(test)]
mod tests {
    use perfset_catalogue::{perfset_engine as own, processor_information as cpu};
    use perfset_core::Counterset;

    use super::*;
    use crate::testing::{Script, Scripted};

    /// Checks that each request to a group reaches the provider that it concerns, and that no text of a provider is
    /// lost.
    #[test]
    fn requests_reach_their_provider() {
        let [first, second] =
            [&own::COUNTERSET, &cpu::COUNTERSET].map(|set| Scripted::new(vec![Counterset::clone(set)]));
        let change = |script: &mut Script, name: &'static str| {
            script.about = vec![(name.into(), "as usual".into())];
            script.problems = vec![format!("{name}: a problem").into()];
            script.not_shown = vec![format!("{name}: not shown").into()];
            script.origins = vec![(script.catalogue.countersets[0].guid, format!("origin of {name}").into())];
            script.left_out =
                vec![(script.catalogue.countersets[0].guid, format!("{name}: left out").into())];
        };
        first.with(|script| change(script, "first"));
        second.with(|script| change(script, "second"));
        second.with(|script| script.answer = Some(Status::ERROR_ACCESS_DENIED));
        let mut group = ProviderGroup::new("both").with(first.clone()).with(second.clone());

        assert_eq!(group.entry(Change::Added, &Entry::all(own::GUID)), Status::ERROR_SUCCESS);
        assert_eq!(group.entry(Change::Added, &Entry::all(cpu::GUID)), Status::ERROR_ACCESS_DENIED);
        let unknown = Guid::from_u128(7);
        assert_eq!(group.entry(Change::Added, &Entry::all(unknown)), Status::ERROR_WMI_GUID_NOT_FOUND);
        assert_eq!((first.with(|s| s.log.len()), second.with(|s| s.log.len())), (1, 1));

        assert_eq!(group.origin(&cpu::GUID), Some("origin of second".into()));
        assert_eq!(group.origin(&unknown), None);
        assert_eq!(group.describe().len(), 2);
        assert_eq!(group.problems(), ["first: a problem", "second: a problem"].map(Text::from));
        assert_eq!(group.not_shown(None), ["first: not shown", "second: not shown"].map(Text::from));
        let left_out = [(own::GUID, "first: left out".into()), (cpu::GUID, "second: left out".into())];
        assert_eq!(group.left_out(), left_out);
    }
}
