//! Number of processes, used by several countersets and counted once per collection.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use perfset_core::NoValue;

use crate::provider::{Collection, CollectionCache, DirReader, ReadFiles};
use crate::sources::processes::pid;

/// Source of the number of processes: the count of names in `/proc` that are pids.
#[derive(Clone, Debug)]
pub(crate) struct ProcessCount {
    latest: Arc<Mutex<(DirReader, CollectionCache<u64>)>>,
}

impl ProcessCount {
    /// Creates the source of the number of processes, which lists the directory `proc`.
    pub(crate) fn new(proc: &Path) -> Self {
        Self { latest: Arc::new(Mutex::new((DirReader::new(proc), CollectionCache::default()))) }
    }

    /// Returns the number of processes in `/proc`. Only the first call in a collection lists the directory.
    pub(crate) fn get(&self, pass: &mut Collection) -> Result<u64, NoValue> {
        // After a panic of another thread the directory can still be listed.
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let (folder, count) = &mut *latest;
        let counted = count.get(pass, |pass| {
            let mut count = 0_u64;
            pass.list(folder, |name| count = count.saturating_add(u64::from(pid(name).is_some())))?;
            Ok(count)
        });
        counted.copied()
    }
}
