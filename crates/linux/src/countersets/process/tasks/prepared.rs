//! Walks that were loaded before they are needed, so that the right to load them can be given up.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Tasks;
use crate::countersets::process::source::ProcessSource;
use crate::roots::Roots;

static PREPARED: Mutex<Option<(Roots, Tasks)>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<(Roots, Tasks)>> {
    // Nothing is half done while it is locked.
    PREPARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Loads the walks over processes and threads that any query can need, with room for 65,536 tasks: the next provider
/// of processes below these roots, once it is asked, takes them over and loads none itself.
///
/// # Errors
/// Why processes will be read from files.
pub fn prepare_walks(roots: &Roots, source: ProcessSource) -> Result<(), String> {
    if matches!(source, ProcessSource::Gate | ProcessSource::Proc) {
        return Err("files were asked for".to_owned());
    }
    let tasks = Tasks::prepare(roots)?;
    *lock() = Some((roots.clone(), tasks));
    Ok(())
}

pub(in super::super) fn is_there(roots: &Roots) -> bool {
    lock().as_ref().is_some_and(|(of, _)| of == roots)
}

pub(in super::super) fn take(roots: &Roots) -> Option<Tasks> {
    let mut prepared = lock();
    let (_, tasks) = prepared.take_if(|(of, _)| of == roots)?;
    Some(tasks)
}
