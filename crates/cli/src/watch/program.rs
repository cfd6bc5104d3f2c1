//! Queue of runs of the program of `watch --run`, on a thread of its own.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use anyhow::anyhow;
use perfset::output::text::{escaped, grouped_digits, name_of};

use crate::exit::{Exit, Failure};
use crate::pace::is_interrupted;

/// Maximum number of runs of the program of `watch --run` that wait in the queue.
const WAITING_MAX: usize = 1_000;

/// Environment variables for one run of the program of `watch --run`, added to those of this process.
pub type Variables = Vec<(&'static str, String)>;

/// Path of the program of the option `--run`, with its arguments.
pub struct RunProgram {
    program: OsString,
    arguments: Vec<OsString>,
}

impl RunProgram {
    /// Finds the program of `watch --run`, whose name is the first word; the other words are its arguments.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn find(words: &[OsString]) -> Result<Self, Failure> {
        let (program, arguments) =
            words.split_first().ok_or_else(|| Failure::new(Exit::Usage, anyhow!("--run needs a program")))?;
        // An alarm that cannot ring is found now and not when it is needed.
        if !is_there(Path::new(program)) {
            let name = name_of(Path::new(program));
            let text = anyhow!("--run: there is no program \"{name}\"");
            return Err(Failure::new(Exit::Usage, text));
        }
        Ok(Self { program: program.clone(), arguments: arguments.to_vec() })
    }
}

/// Queue of runs of the program of `watch --run`, which never overlap.
pub struct RunQueue {
    sender: SyncSender<Variables>,
    runner: JoinHandle<()>,
    /// `true` if the waiting runs of the program are skipped.
    is_cancelled: Arc<AtomicBool>,
    /// Number of runs of the program that were left out because too many wait.
    left_out: u64,
}

impl RunQueue {
    /// Starts the thread that runs the program of `watch --run`. If `is_data` is `true`, standard output contains
    /// data for other programs, and the output of this program goes to standard error.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(program: RunProgram, is_data: bool) -> Result<Self, Failure> {
        let RunProgram { program, arguments } = program;
        let (sender, waiting) = sync_channel(WAITING_MAX);
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let is_skipped = Arc::clone(&is_cancelled);
        let runner = thread::Builder::new()
            .name("watch-run".to_owned())
            .spawn(move || run_all(&program, &arguments, is_data, &waiting, &is_skipped))
            .map_err(|error| Failure::new(Exit::SourceFailed, error))?;
        Ok(Self { sender, runner, is_cancelled, left_out: 0 })
    }

    /// Appends a run of the program to the queue; leaves the run out if the queue is full.
    pub fn push(&mut self, variables: Variables) {
        match self.sender.try_send(variables) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                if self.left_out == 0 {
                    let waiting = grouped_digits(&WAITING_MAX.to_string());
                    warn(&format!("a run of the program was left out: {waiting} are waiting"));
                }
                self.left_out = self.left_out.saturating_add(1);
            }
        }
    }

    /// Ends the queue after the last run of the program. `wait` waits until its argument returns `true`, or until the
    /// user ends the command: then it returns `false`, and the runs that wait are skipped. A program that still runs
    /// goes on.
    pub fn finish(self, wait: impl FnOnce(&mut dyn FnMut() -> bool) -> bool) {
        let Self { sender, runner, is_cancelled, left_out } = self;
        drop(sender); // the runner ends after the last run
        // The first of them was told when it was left out.
        if left_out > 1 {
            let count = grouped_digits(&left_out.to_string());
            warn(&format!("{count} runs of the program were left out"));
        }
        if !wait(&mut || runner.is_finished()) {
            is_cancelled.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs the program of `watch --run` once for each set of variables, until the queue ends.
fn run_all(
    program: &OsString,
    arguments: &[OsString],
    is_data: bool,
    waiting: &Receiver<Variables>,
    is_skipped: &AtomicBool,
) {
    for variables in waiting {
        if is_skipped.load(Ordering::Relaxed) || is_interrupted() {
            return;
        }
        let mut command = Command::new(program);
        command.args(arguments).envs(variables).stdin(Stdio::null());
        // Ctrl+C in a terminal is for all processes of a group; an alarm that is being given is not for it to end.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        if is_data {
            command.stdout(io::stderr());
        }
        let name = name_of(Path::new(program));
        match command.status() {
            Ok(status) if status.success() => {}
            Ok(status) => warn(&format!("{name} ended with {status}")),
            Err(error) => warn(&format!("{name} cannot be started: {}", escaped(&error.to_string()))),
        }
    }
}

/// Prints a warning about the program of `watch --run` to standard error.
pub fn warn(text: &str) {
    // Standard error is the last place to report to, so a failure of it is ignored.
    let _ = writeln!(io::stderr(), "warning: {text}");
}

/// Returns `true` if a program can be started by its name, which is a path or a name in a directory of `PATH`.
fn is_there(program: &Path) -> bool {
    // Windows also tries endings of the name, and other directories.
    if cfg!(windows) {
        return true;
    }
    if program.components().count() > 1 || program.has_root() {
        return is_executable(program);
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    !program.as_os_str().is_empty()
        && env::split_paths(&folders).any(|folder: PathBuf| is_executable(&folder.join(program)))
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    file.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn programs_are_found_as_they_are_started() {
        for (program, want) in [
            ("sh", true),
            ("/bin/sh", true),
            ("/bin/../bin/sh", true),
            ("", false),
            ("/", false),
            ("/bin", false),
            ("/etc/passwd", false),
            ("no-such-program-of-perfset", false),
            ("./no-such-program-of-perfset", false),
        ] {
            assert_eq!(is_there(Path::new(program)), want, "{program:?}");
        }
    }
}
