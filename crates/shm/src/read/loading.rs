//! Headers and values of many files, loaded at once.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use super::applications::Kept;
use super::file::Bytes;
use crate::guard::{Inside, Ran, run};

/// So many headers are copied by calls, which takes less time than a child; more are loaded by a child.
const FEW: usize = 16;

/// Looks at the headers of all files.
pub(crate) fn look_at_all(files: &mut [Kept]) {
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

/// Loads the values of a counterset from files that publish it: which, and which of its definitions that is, says
/// `place`. Of those whose programs are asked first, or of all others.
pub(crate) fn load<T>(files: &mut [Kept], served: &[T], place: impl Fn(&T) -> (usize, usize), asked: bool) {
    let is_meant = |kept: &Kept| {
        let is_mapped = matches!(kept.file.bytes, Bytes::Mapped { .. });
        is_mapped && !kept.is_gone && !kept.file.is_lost() && kept.file.has_socket() == asked
    };
    let kept = |at: usize| {
        let (at, number) = place(served.get(at)?);
        Some((files.get(at).filter(|kept| is_meant(kept))?, number))
    };
    if (0..served.len()).all(|at| kept(at).is_none()) {
        return;
    }
    let done = each(served.len(), |at, inside| {
        if let Some((kept, number)) = kept(at) {
            load_one(kept, number, inside);
        }
    });
    for at in done.gone.iter().filter_map(|at| served.get(*at)).map(|served| place(served).0) {
        lose(files, at);
    }
    for (count, served) in served.iter().enumerate() {
        let Some(kept) = files.get_mut(place(served).0).filter(|kept| is_meant(kept)) else { continue };
        // What was shortened meanwhile may have given zeros before it ended the child.
        if count >= done.count { kept.file.copy_from_now_on() } else { kept.file.check_whole() }
    }
}

fn lose(files: &mut [Kept], at: usize) {
    if let Some(kept) = files.get_mut(at) {
        kept.file.lose();
    }
}

/// Loads the values of all instances that are known of a counterset.
fn load_one(kept: &Kept, number: usize, inside: &Inside) {
    let Some(index) = kept.indexes.get(&number) else { return };
    for run in index.rows().chunk_by(|one, next| one.segment == next.segment) {
        let Some(segment) = run.first().and_then(|indexed| kept.file.segment(indexed.segment)) else { continue };
        for indexed in run {
            segment.load(indexed.slot, &kept.places, inside);
        }
    }
}

/// What was done of some work.
struct Done {
    /// So much of it: nothing, if it cannot be done here.
    count: usize,
    /// For which of that there was no memory to load from.
    gone: Vec<usize>,
}

/// Does work for each of so many files, in as few children as possible: one, and another one for each file that ends
/// it.
fn each(count: usize, work: impl Fn(usize, &Inside)) -> Done {
    let next = AtomicUsize::new(0);
    let mut gone = Vec::new();
    loop {
        let ran = run(&mut |inside| {
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
