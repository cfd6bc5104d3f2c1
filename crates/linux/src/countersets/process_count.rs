//! How many processes there are: asked by several countersets, counted once a collection.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use perfset_core::NoValue;

use crate::folder::Folder;
use crate::pass::{Latest, Pass};
use crate::sources::processes::pid;

/// The names in `/proc` that are numbers.
#[derive(Clone, Debug)]
pub(crate) struct ProcessCount {
    latest: Arc<Mutex<(Folder, Latest<u64>)>>,
}

impl ProcessCount {
    /// Those in the folder `proc`.
    pub(crate) fn new(proc: &Path) -> Self {
        Self { latest: Arc::new(Mutex::new((Folder::new(proc), Latest::default()))) }
    }

    /// How many there are. Lists the folder only for the first who asks in a collection.
    pub(crate) fn get(&self, pass: &mut Pass) -> Result<u64, NoValue> {
        // Who panicked while it was locked left a folder that can be listed all the same.
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
