//! Providers whose sources may be slow, on threads that start when somebody asks.

use std::sync::Arc;
use std::time::Duration;

use perfset_core::Guid;
use perfset_engine::{Catalogue, Provider, Rows, Slow, SourceError, Want};

/// Puts a provider on a thread of its own, with a deadline, as [`Slow`] does, when it is asked for the first time: a
/// program that asks for other countersets has no such thread.
pub(crate) struct WhenAsked {
    catalogue: Result<Arc<Catalogue>, SourceError>,
    provider: Option<Box<dyn Provider>>,
    deadline: Duration,
    slow: Option<Slow>,
}

impl WhenAsked {
    /// Longer than most firmware takes, shorter than people notice.
    const DEADLINE: Duration = Duration::from_millis(100);

    pub(crate) fn new(provider: impl Provider + 'static) -> Self {
        Self::waiting(provider, Self::DEADLINE)
    }

    /// The same with another deadline.
    pub(crate) fn waiting(mut provider: impl Provider + 'static, deadline: Duration) -> Self {
        let catalogue = provider.catalogue();
        Self { catalogue, provider: Some(Box::new(provider)), deadline, slow: None }
    }

    fn slow(&mut self) -> Result<&mut Slow, SourceError> {
        if let Some(provider) = self.provider.take() {
            self.slow = Some(Slow::new(provider, self.deadline));
        }
        self.slow.as_mut().ok_or_else(|| SourceError::Failed("it has no provider".into()))
    }
}

impl Provider for WhenAsked {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.catalogue.clone()
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.slow()?.instances(counterset, rows)
    }

    fn collect(&mut self, want: &Want<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.slow()?.collect(want, rows)
    }
}

#[cfg(test)]
mod tests {
    use perfset_core::catalogue::linux_numa as id;

    use super::*;
    use crate::countersets::numa::{LinuxNuma, online};
    use crate::countersets::several::Several;
    use crate::testing::{Got, collect, fixture};

    #[test]
    fn the_thread_starts_when_somebody_asks() {
        let roots = fixture("two-nodes");
        let mut provider = WhenAsked::new(Several::new(LinuxNuma::new(&roots, online(&roots))));
        assert_eq!(provider.catalogue().unwrap().countersets[0].guid, id::GUID);
        assert!(provider.slow.is_none());
        provider.slow = Some(Slow::new(provider.provider.take().unwrap(), Duration::from_secs(3600)));
        let collected = collect(&mut provider, &[id::NUMA_MISS], &["0"]);
        assert_eq!(*collected.get("0", id::NUMA_MISS), Got::Value(7_022_033));
        let mut rows = Rows::default();
        rows.start();
        provider.instances(&id::GUID, &mut rows).unwrap();
        rows.end();
        assert_eq!(rows.len(), 3);
    }
}
