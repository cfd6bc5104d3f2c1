//! Capabilities for BPF task iterators: long-running commands use them at the start, then drop them.

use perfset::catalogue::{linux_process, process, process_v2, thread};
use perfset::path::CounterPath;

/// Prepares the command for BPF task iterators, as [`settle`] does, if more than 10 samples of counter paths follow.
/// A short command loads a BPF task iterator only if that is faster at once.
pub fn settle_for(paths: &[CounterPath], count: Option<u64>) {
    const SOON: u64 = 10;
    if count.is_none_or(|count| count > SOON) {
        settle(are_asked(paths));
    }
}

/// Returns `true` if counter paths request counters of processes or threads.
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

/// Prepares a long-running command for BPF task iterators, before the command does anything else. Loads the BPF task
/// iterators if processes might be requested, and drops the capabilities that this needed.
#[cfg(target_os = "linux")]
pub fn settle(may_be_asked: bool) {
    use std::io::Write;

    if may_be_asked {
        // Without BPF task iterators, processes are read from files; `perfset doctor` prints the reason.
        let _ = perfset::prepare_walks();
    }
    // Capabilities belong to a thread: after the first thread starts, they could not be dropped any more.
    if let Err(error) = perfset::drop_walk_capabilities() {
        // The command continues with capabilities that it does not need. If standard error fails too, that is
        // ignored.
        let _ = writeln!(std::io::stderr(), "warning: {error}");
    }
}

/// Does nothing on other systems than Linux, which have no BPF capabilities.
#[cfg(not(target_os = "linux"))]
pub fn settle(_may_be_asked: bool) {}
