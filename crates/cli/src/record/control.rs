//! Control of the recorder of a directory: functions that show its state and the data that it has written, and that
//! end it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use perfset::clock::SystemTime;
use perfset::log::recording::{Annotation, FolderLock, Recording};
use perfset::output::human;
use perfset::output::text::{escaped, name_of};

use super::{BUDGET, STARTED};
use crate::exit::{Exit, Failure};

/// Prints a line about the running recorder to standard error.
pub fn say(text: &str) {
    // Standard error is the last place to report to, so a failure of it is ignored.
    let _ = writeln!(io::stderr(), "{}", escaped(text));
}

/// Returns the description of this process for the lock of the directory that it records into.
pub fn owner() -> String {
    let since = time(perfset::now().utc_100ns());
    format!("process {}, since {since} UTC", std::process::id())
}

fn time(time: i64) -> String {
    let SystemTime { year, month, day, hour, minute, second, .. } = SystemTime::from_100ns(time);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// Returns the directory below which recordings are stored, if the user has one.
pub fn base_folder() -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    if rustix::process::geteuid().is_root() {
        return Some(PathBuf::from("/var/lib"));
    }
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    folder("XDG_STATE_HOME")
        .or_else(|| folder("HOME").map(|home| home.join(".local/state")))
        .or_else(|| folder("LOCALAPPDATA"))
}

/// Prints the state of a directory's recorder, and a summary of the data that it has written.
pub fn status(folder: &Path) -> Result<Exit, Failure> {
    let failed = |error: anyhow::Error| Failure::new(Exit::SourceFailed, error);
    let is_held = FolderLock::is_held(folder).map_err(|error| failed(error.into()))?;
    let mut out = io::stdout().lock();
    let recorder = match (is_held, FolderLock::owner(folder)) {
        (true, owner) => format!("recording: {}", owner.unwrap_or_else(|| "another recorder".to_owned())),
        (false, Some(owner)) => format!("no recorder runs; the last was {owner}"),
        (false, None) => "no recorder runs".to_owned(),
    };
    writeln!(out, "directory  {}", name_of(folder))?;
    writeln!(out, "recorder   {}", escaped(&recorder))?;
    if !folder.is_dir() {
        writeln!(out, "the directory does not exist yet")?;
        return Ok(Exit::NothingMatched);
    }
    match Recording::open(folder) {
        Ok(recording) => {
            let mut times = recording.times();
            let first = times.next();
            let count = times.by_ref().count().saturating_add(usize::from(first.is_some()));
            let last = recording.times().last();
            if let (Some(first), Some(last)) = (first, last) {
                writeln!(out, "samples    {count}, from {} to {} UTC", time(first), time(last))?;
            }
            for change in budget_changes(&recording) {
                writeln!(out, "budget     {} UTC: {}", time(change.time), escaped(&change.text))?;
            }
            let bytes = size(folder).map_err(|error| failed(error.into()))?;
            writeln!(out, "size       {}", human_size(bytes))?;
        }
        Err(error) => writeln!(out, "samples    none: {}", escaped(&error.to_string()))?,
    }
    out.flush()?;
    Ok(if is_held { Exit::Ok } else { Exit::NothingMatched })
}

/// Returns the newest annotations about interval changes by the CPU budget, since the recorder started last.
fn budget_changes(recording: &Recording) -> Vec<&Annotation> {
    /// Maximum number of interval changes by the CPU budget that are shown.
    const SHOWN: usize = 5;
    let all = recording.annotations().into_iter().filter(|annotation| annotation.is_of_recorder);
    let all: Vec<&Annotation> = all.collect();
    let started = all.iter().rposition(|annotation| annotation.text == STARTED).unwrap_or(0);
    let changes = all.into_iter().skip(started).filter(|annotation| annotation.text.starts_with(BUDGET));
    let changes: Vec<&Annotation> = changes.collect();
    let first = changes.len().saturating_sub(SHOWN);
    changes.into_iter().skip(first).collect()
}

/// Returns the total size of all files in the directory of a recording.
fn size(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0_u64;
    for entry in std::fs::read_dir(folder)? {
        bytes = bytes.saturating_add(entry?.metadata()?.len());
    }
    Ok(bytes)
}

/// Formats a size in bytes as a short text with a unit.
#[expect(clippy::as_conversions, reason = "sizes above 2^53 lose only digits that nobody sees")]
pub fn human_size(bytes: u64) -> String {
    human(bytes as f64, "By")
}

/// Requests the recorder of a directory to end, and waits until it has.
pub fn stop(folder: &Path) -> Result<Exit, Failure> {
    let is_held = FolderLock::is_held(folder).map_err(|error| Failure::new(Exit::SourceFailed, error))?;
    if !is_held {
        let error = anyhow!("no recorder runs in {}", name_of(folder));
        return Err(Failure::new(Exit::NothingMatched, error));
    }
    end(folder)
}

#[cfg(target_os = "linux")]
fn end(folder: &Path) -> Result<Exit, Failure> {
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

    /// Maximum time that a recorder takes to end.
    const LONGEST: Duration = Duration::from_secs(10);
    let failed = |error: anyhow::Error| Failure::new(Exit::SourceFailed, error);
    let owner = FolderLock::owner(folder).unwrap_or_default();
    let number = owner.strip_prefix("process ").and_then(|rest| rest.split(',').next());
    let pid = number.and_then(|number| number.parse().ok()).and_then(Pid::from_raw);
    let pid =
        pid.ok_or_else(|| failed(anyhow!("the lock of the directory does not say which process has it")))?;
    // Opened before the process is checked, so that no other one can get its number in between. Kernels before 5.3 and
    // some containers do not have this call.
    let handle = pidfd_open(pid, PidfdFlags::empty()).ok();
    // The text may be that of another recorder: in a container processes have other numbers, and numbers are reused.
    if !has_open(pid, &FolderLock::path(folder)).unwrap_or(false) {
        return Err(failed(anyhow!("{} is no recorder here: end it where it runs", escaped(&owner))));
    }
    let asked = match &handle {
        Some(handle) => pidfd_send_signal(handle, Signal::TERM),
        None => kill_process(pid, Signal::TERM),
    };
    asked.map_err(|error| failed(anyhow!(error).context("cannot end the recorder")))?;
    let begin = Instant::now();
    while begin.elapsed() < LONGEST {
        if !FolderLock::is_held(folder).map_err(|error| failed(error.into()))? {
            return Ok(Exit::Ok);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(failed(anyhow!("the recorder was asked to end, and has not ended after 10 s")))
}

/// Returns `true` if a process has opened a file.
#[cfg(target_os = "linux")]
fn has_open(pid: rustix::process::Pid, file: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;

    let wanted = std::fs::metadata(file)?;
    let is_it = |opened: std::fs::Metadata| (opened.dev(), opened.ino()) == (wanted.dev(), wanted.ino());
    let folder = std::fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero()))?;
    Ok(folder.flatten().any(|opened| std::fs::metadata(opened.path()).is_ok_and(is_it)))
}

#[cfg(not(target_os = "linux"))]
fn end(_: &Path) -> Result<Exit, Failure> {
    let error = anyhow!("this system has no signal that ends a recorder: press Ctrl+C in its window");
    Err(Failure::new(Exit::Usage, error))
}
