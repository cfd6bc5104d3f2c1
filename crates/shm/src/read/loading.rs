//! Loads headers and values of many publishers' files at once.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use perfset_core::{CounterId, Counterset};

use super::applications::OpenFile;
use super::file::{Definitions, FileAccess};
use crate::guard::{Inside, Ran, run};

/// Maximum number of file headers that are copied by system calls, which is faster than a child; more are loaded in a
/// child.
const FEW: usize = 16;

/// Reads again the words that publishers change in the headers of their files.
pub(crate) fn look_at_all(files: &mut [OpenFile]) {
    // A child costs about as much as copying this number of headers by system calls.
    let looked_at = if files.len() > FEW {
        let done = each(files.len(), |at, inside| {
            if let Some(kept) = files.get(at) {
                kept.file.look_inside(inside);
            }
        });
        for at in done.gone {
            lose(files, at);
        }
        done.count
    } else {
        0
    };
    for (at, kept) in files.iter_mut().enumerate() {
        if at < looked_at { kept.file.recognize() } else { kept.file.look() }
    }
}

/// Loads the values of a counterset from the files that publish it. `place` returns the indexes of the file and of
/// its definition. `prepare` is called for each file before loading.
///
/// Files that were changed by system calls meanwhile are loaded again, and marked as lost if that happens each time.
pub(crate) fn load<T>(
    files: &mut [OpenFile],
    served: &[T],
    place: impl Fn(&T) -> (usize, usize),
    mut prepare: impl FnMut(&mut OpenFile, usize),
) {
    const TRIES: usize = 3;
    for (at, number) in served.iter().map(&place) {
        if let Some(kept) = files.get_mut(at) {
            prepare(kept, number);
            let is_mapped = matches!(kept.file.bytes, FileAccess::Mapped { .. });
            kept.is_to_load = is_mapped && !kept.is_gone;
        }
    }
    // Most files need one attempt; a file that another process keeps changing gets three.
    for last in (0..TRIES).rev() {
        let kept = |at: usize| {
            let (at, number) = place(served.get(at)?);
            Some((files.get(at).filter(|kept| kept.is_to_load && !kept.file.is_lost())?, number))
        };
        if (0..served.len()).all(|at| kept(at).is_none()) {
            return;
        }
        let done = each(served.len(), |at, inside| {
            if let Some((kept, number)) = kept(at) {
                load_one(kept, number, inside);
            }
        });
        for (count, (at, number)) in served.iter().map(&place).enumerate() {
            let Some(kept) = files.get_mut(at).filter(|kept| kept.is_to_load) else { continue };
            // No child could be started for the rest. Those files are copied until one can be.
            if count >= done.count {
                kept.file.copy_for_now();
                kept.is_to_load = false;
            } else if kept.file.is_as_it_was() && !done.gone.contains(&count) {
                kept.is_to_load = false;
                if let Some(index) = kept.indexes.get_mut(&number) {
                    index.confirm();
                }
            } else if last > 0 {
                // The file changed meanwhile: its index may be outdated too.
                prepare(kept, number);
            } else if !kept.file.is_lost() {
                kept.file.lose();
            }
        }
    }
}

fn lose(files: &mut [OpenFile], at: usize) {
    if let Some(kept) = files.get_mut(at) {
        kept.file.lose();
    }
}

impl OpenFile {
    /// Updates a file's segment table and its index of instances, and sets the values to load: those of the wanted
    /// counters.
    pub fn prepare(
        &mut self,
        number: usize,
        wanted: &[CounterId],
        definitions: &mut Definitions,
        now_100ns: Option<u64>,
    ) {
        self.file.map_again();
        self.file.look();
        self.has_new |= self.file.refresh(definitions);
        self.value_indexes.clear();
        if !matches!(self.file.bytes, FileAccess::Mapped { .. }) {
            return; // it is copied row by row
        }
        let Some(set) = self.file.definition(number) else { return };
        if wanted.len() < set.counters.len() {
            self.value_indexes.extend(places(set, wanted));
        }
        let index = self.indexes.entry(number).or_default();
        self.file.index(number, index, now_100ns);
    }
}

/// Returns the indexes that the values of the wanted counters have in an instance.
fn places(set: &Counterset, wanted: &[CounterId]) -> impl Iterator<Item = usize> {
    let mut next = 0;
    wanted.iter().filter_map(move |id| {
        // Counters are usually requested in the order of the definition.
        let rest = set.counters.get(next..).unwrap_or_default();
        let found = rest.iter().position(|counter| counter.id == *id).map(|at| at.saturating_add(next));
        let found = found.or_else(|| set.counters.iter().position(|counter| counter.id == *id))?;
        next = found.saturating_add(1);
        Some(found)
    })
}

/// Loads the values of all known instances of a counterset in a file.
fn load_one(kept: &OpenFile, number: usize, inside: &Inside) {
    let Some(index) = kept.indexes.get(&number) else { return };
    for run in index.rows().chunk_by(|one, next| one.segment == next.segment) {
        let Some(segment) = run.first().and_then(|indexed| kept.file.segment(indexed.segment)) else {
            continue;
        };
        for indexed in run {
            segment.load(indexed.slot, &kept.value_indexes, inside);
        }
    }
}

/// Result of work that child processes did for several files.
struct Done {
    /// Number of files that were processed; fewer than all if no child can be started.
    count: usize,
    /// Indexes of the files whose mapped memory was gone.
    gone: Vec<usize>,
}

/// Runs `work` for each of `count` files, in as few child processes as possible: one, and another for each file that
/// ends a child.
fn each(count: usize, work: impl Fn(usize, &Inside)) -> Done {
    let next = AtomicUsize::new(0);
    let mut gone = Vec::new();
    loop {
        let ran = run(&mut |inside| {
            // The counter is shared memory of parent and child: after the child ended, it shows which file
            // ended it.
            while next.load(Relaxed) < count {
                work(next.load(Relaxed), inside);
                next.fetch_add(1, Relaxed);
            }
        });
        match ran {
            Ran::Whole => return Done { count, gone },
            Ran::Refused => return Done { count: next.load(Relaxed), gone },
            Ran::Gone => gone.push(next.fetch_add(1, Relaxed)),
        }
    }
}
