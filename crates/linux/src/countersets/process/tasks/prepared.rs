//! BPF task iterators that are loaded in advance, after which the capabilities to load them can be given up.

use std::sync::{Mutex, MutexGuard, PoisonError};

use perfset_engine::per_process::PerProcess;

use super::TaskIterCollector;
use crate::countersets::process::source::ProcessSource;
use crate::roots::Roots;

/// Task iterators that are loaded in advance. A forked process has none: a thread that it does not have might hold
/// the lock of its parent.
static PREPARED: PerProcess<Mutex<Option<(Roots, TaskIterCollector)>>> = PerProcess::new();

fn lock() -> MutexGuard<'static, Option<(Roots, TaskIterCollector)>> {
    // The value is never in an intermediate state while locked.
    PREPARED.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Loads the task iterators over processes and threads that any query can need, with space for 65,536 tasks. The next
/// provider of processes below these roots takes them at its first request and loads none itself.
///
/// # Errors
/// The reason why processes will be read from files.
pub fn prepare_walks(roots: &Roots, source: ProcessSource) -> Result<(), String> {
    if matches!(source, ProcessSource::Gate | ProcessSource::Proc) {
        return Err("files were requested".to_owned());
    }
    let tasks = TaskIterCollector::prepare(roots)?;
    *lock() = Some((roots.clone(), tasks));
    Ok(())
}

pub(in super::super) fn is_there(roots: &Roots) -> bool {
    lock().as_ref().is_some_and(|(of, _)| of == roots)
}

pub(in super::super) fn take(roots: &Roots) -> Option<TaskIterCollector> {
    let mut prepared = lock();
    // Iterators for other roots stay, for a provider of those.
    let (_, tasks) = prepared.take_if(|(of, _)| of == roots)?;
    Some(tasks)
}
