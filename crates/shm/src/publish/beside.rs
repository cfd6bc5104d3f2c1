//! Effect of other publishers and of registrations on a publisher's file: counters that readers leave out.

use std::path::Path;
use std::sync::Arc;

use perfset_core::Counterset;
use perfset_engine::Provider;
use perfset_manifest::store::{Store, system_folders};

use crate::folder::{Folders, has_more_rights};
use crate::merge::LeftOut;
use crate::read::ApplicationProvider;

/// Returns the countersets that are registered on this machine.
pub(super) fn registered() -> Vec<Arc<Counterset>> {
    let mut store = Store::new(system_folders(!has_more_rights()));
    store.refresh();
    store.countersets().cloned().collect()
}

/// Returns the countersets and counters that a reader of the same user leaves out of a publisher's file. The function
/// uses the reader itself, so both always agree.
pub(super) fn left_out(folders: &Folders, file: &Path, registered: Vec<Arc<Counterset>>) -> Vec<LeftOut> {
    let mut registered = Some(registered);
    let mut reader = ApplicationProvider::new(folders, false, Box::new(move || registered.take()));
    match reader.catalogue() {
        Ok(_) => reader.left_out_of(file),
        Err(_) => Vec::new(),
    }
}
