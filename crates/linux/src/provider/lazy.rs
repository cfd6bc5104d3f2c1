//! Providers whose kernel files or devices may be slow, moved to another thread at the first request.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use perfset_core::{Guid, Identity, Text};
use perfset_engine::{
    Catalogue, CollectRequest, Deadline, DeadlineProvider, Fact, FactOptions, Provider, Rows, SourceError,
};

use super::folder::DirReader;
use super::kept_file::{LOOK_AGAIN_NS, ReadError};
use crate::clock::elapsed_ns;

/// Provider that moves another provider into a [`DeadlineProvider`] at the first request: a program that requests
/// only other countersets needs no thread.
pub(crate) struct LazyProvider {
    catalogue: Result<Arc<Catalogue>, SourceError>,
    provider: Option<Box<dyn Provider>>,
    deadline: Deadline,
    slow: Option<DeadlineProvider>,
    /// Directory with an entry for each instance; while it is empty there are no instances.
    folder: Option<DirReader>,
    /// Time at which the instances' directory was seen to be empty, on the monotonic clock.
    empty_at_ns: Option<u64>,
}

impl LazyProvider {
    /// Creates a [`LazyProvider`] whose instances are the entries of a directory. While the directory is empty, as on
    /// many machines, no request goes to the other thread, which would cost ten times as much as the check.
    pub(crate) fn for_directory(
        folder: PathBuf,
        provider: impl Provider + 'static,
        deadline: &Deadline,
    ) -> Self {
        Self { folder: Some(DirReader::new(folder)), ..Self::waiting(provider, deadline) }
    }

    /// Creates a [`LazyProvider`] that sends every request to the other thread, because there is no directory to
    /// check.
    pub(crate) fn waiting(mut provider: impl Provider + 'static, deadline: &Deadline) -> Self {
        let catalogue = provider.catalogue();
        Self {
            catalogue,
            provider: Some(Box::new(provider)),
            deadline: deadline.clone(),
            slow: None,
            folder: None,
            empty_at_ns: None,
        }
    }

    /// Returns `true` if there can be no instances, because the directory of instances is empty. If their directory
    /// cannot be listed, the request goes to the provider, which returns the reason.
    fn has_none(&mut self, now_ns: u64) -> bool {
        let Some(folder) = &mut self.folder else { return false };
        if self.empty_at_ns.is_some_and(|at| now_ns.saturating_sub(at) < LOOK_AGAIN_NS) {
            return true;
        }
        let mut is_empty = true;
        let is_empty = match folder.names(|name| is_empty &= matches!(name, b"." | b"..")) {
            Ok(()) => is_empty,
            Err(ReadError::Io { source, .. }) => source.kind() == ErrorKind::NotFound,
            Err(_) => false,
        };
        // Only emptiness is remembered. With entries, every request goes to the provider anyway.
        self.empty_at_ns = is_empty.then_some(now_ns);
        is_empty
    }

    fn slow(&mut self) -> Result<&mut DeadlineProvider, SourceError> {
        if let Some(provider) = self.provider.take() {
            self.slow = Some(DeadlineProvider::sharing(provider, &self.deadline));
        }
        self.slow.as_mut().ok_or_else(|| SourceError::Failed("it has no provider".into()))
    }
}

impl Provider for LazyProvider {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.catalogue.clone()
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        if self.has_none(elapsed_ns()) {
            return Ok(());
        }
        self.slow()?.instances(counterset, rows)
    }

    fn begin(&mut self, want: &CollectRequest<'_>, until: Instant) {
        if self.has_none(elapsed_ns()) {
            return;
        }
        if let Ok(slow) = self.slow() {
            slow.begin(want, until);
        }
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        if self.has_none(elapsed_ns()) {
            return Ok(());
        }
        self.slow()?.collect(want, rows)
    }

    fn facts(&mut self, instance: &Identity<'_>, options: FactOptions) -> Result<Vec<Fact>, SourceError> {
        if self.has_none(elapsed_ns()) {
            return Ok(Vec::new());
        }
        self.slow()?.facts(instance, options)
    }

    /// Returns a text that names the countersets and the time waited, if the wrapped provider is late. The wrapped
    /// provider itself may be unable to respond with its own catalogue.
    fn late(&mut self) -> Vec<Text> {
        let Some(waited) = self.slow.as_mut().and_then(DeadlineProvider::late_for) else { return Vec::new() };
        let sets =
            self.catalogue.as_ref().map(|catalogue| catalogue.countersets.as_slice()).unwrap_or_default();
        let names: Vec<&str> = sets.iter().map(|set| &*set.name).collect();
        vec![format!("{}: no response for {} s", names.join(", "), waited.as_secs()).into()]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use perfset_catalogue::linux_numa as id;

    use super::*;
    use crate::countersets::numa::{LinuxNuma, online};
    use crate::provider::multi_instance;
    use crate::testing::{CellOutcome, Tree, collect, fixture};

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn the_thread_starts_when_somebody_asks() {
        let roots = fixture("two-nodes");
        let mut provider = LazyProvider::waiting(
            multi_instance(LinuxNuma::new(&roots, online(&roots))),
            &Deadline::new(LONG),
        );
        assert_eq!(provider.catalogue().unwrap().countersets[0].guid, id::GUID);
        assert!(provider.slow.is_none());
        let collected = collect(&mut provider, &[id::NUMA_MISS], &["0"]);
        assert_eq!(*collected.get("0", id::NUMA_MISS), CellOutcome::Value(7_022_033));
        let mut rows = Rows::default();
        rows.start();
        provider.instances(&id::GUID, &mut rows).unwrap();
        rows.end();
        assert_eq!(rows.len(), 3);
    }

    #[test]
    fn an_empty_folder_is_nobody_s_work() {
        let roots = fixture("two-nodes");
        let all = |folder: &str| {
            let numa = multi_instance(LinuxNuma::new(&roots, online(&roots)));
            let mut provider =
                LazyProvider::for_directory(roots.sys.join(folder), numa, &Deadline::new(LONG));
            let mut rows = Rows::default();
            rows.start();
            provider.instances(&id::GUID, &mut rows).unwrap();
            rows.end();
            (rows.len(), provider.slow.is_some())
        };
        assert_eq!(all("no such folder"), (0, false));
        assert_eq!(all("devices/system/node"), (3, true));
        assert_eq!(
            all("devices/system/node/online"),
            (3, true),
            "what is no folder is the provider's to say"
        );
        let tree = Tree::copy_of("two-nodes");
        let folder = tree.path("sys/new");
        std::fs::create_dir(&folder).unwrap();
        let mut provider = LazyProvider::for_directory(
            folder.clone(),
            multi_instance(LinuxNuma::new(&roots, online(&roots))),
            &Deadline::new(LONG),
        );
        let mut has_none = |at| provider.has_none(at);
        assert!(has_none(7));
        std::fs::write(folder.join("file"), "").unwrap();
        let later = [6 + LOOK_AGAIN_NS, 7 + LOOK_AGAIN_NS].map(&mut has_none);
        std::fs::remove_file(folder.join("file")).unwrap();
        assert_eq!((later, has_none(8 + LOOK_AGAIN_NS)), ([true, false], true));
    }
}
