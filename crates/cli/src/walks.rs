//! The rights to load walks over processes: used at the start by commands that go on, then given up.

use perfset::catalogue::{linux_process, process, process_v2, thread};
use perfset::path::CounterPath;

/// [`settle`], before so many samples of paths are taken. What is over soon loads a walk only if that pays at once.
pub fn settle_for(paths: &[CounterPath], count: Option<u64>) {
    const SOON: u64 = 10;
    if count.is_none_or(|count| count > SOON) {
        settle(are_asked(paths));
    }
}

/// Whether paths ask for processes or threads.
fn are_asked(paths: &[CounterPath]) -> bool {
    let sets =
        [&process_v2::COUNTERSET, &process::COUNTERSET, &linux_process::COUNTERSET, &thread::COUNTERSET];
    let is_named = |path: &CounterPath| {
        let guid = |set: &perfset::Counterset| format!("{{{}}}", set.guid);
        sets.iter().any(|set| {
            path.counterset.eq_ignore_ascii_case(&set.name)
                || path.counterset.eq_ignore_ascii_case(&guid(set))
        })
    };
    paths.iter().any(is_named)
}

/// What a command that goes on does before anything else: loads walks, if processes may be asked for, and gives up
/// the rights that this took.
#[cfg(target_os = "linux")]
pub fn settle(may_be_asked: bool) {
    use std::io::Write;

    if may_be_asked {
        // Without walks processes are read from files; `perfset doctor` says why.
        let _ = perfset::prepare_walks();
    }
    if let Err(error) = perfset::drop_walk_capabilities() {
        // It goes on with rights that it does not need. Nobody is left to tell if this fails too.
        let _ = writeln!(std::io::stderr(), "warning: {error}");
    }
}

/// Other systems have no such rights.
#[cfg(not(target_os = "linux"))]
pub fn settle(_may_be_asked: bool) {}
