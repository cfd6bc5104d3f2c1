//! Check of an uploaded log in a process of its own, which limits its memory and its processor time.
//!
//! Readers of logs are written for untrusted input: damage is left out, and no count of the input allocates memory. A
//! defect or a log that expands a thousandfold could all the same take the memory or the time of the server, which
//! other clients and the metrics need. A thread cannot be limited, and a failed allocation ends the whole process. A
//! process can be limited by the kernel, and its end costs nobody else anything. It therefore reads the log first, in
//! every way in which requests do. The server opens the log only if that process ended well within the limits, and
//! then does the same work on the same bytes, which nobody can change any more.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use perfset::log::{Logs, Pick};
use perfset::overview::Overview;
use perfset::path::PathQuery;
use perfset::{NextOutcome, Source, SourceError, Window};
use serde::{Deserialize, Serialize};

use crate::answer::{ApiError, to_json};
use crate::limits::Limits;
use crate::log::{ServedLog, in_100ns};

/// Maximum memory of the checking process, in addition to what it has when it starts.
pub const MEMORY_MOST: u64 = 512 << 20;
/// Maximum processor time of the process that checks an uploaded log.
#[cfg(unix)]
const PROCESSOR_MOST: Duration = Duration::from_secs(20);
/// Maximum time until the checking process has ended, whatever it waits for.
const TIME_MOST: Duration = Duration::from_secs(60);
/// Pause between two looks at the state of the checking process.
const PAUSE: Duration = Duration::from_millis(10);
/// Maximum length of the report that the checking process writes, in bytes.
const REPORT_MOST: u64 = 4 << 10;
/// Number of samples of a checked log whose values are read; the others are only passed over.
const SAMPLES_READ: u32 = 100;
/// Path of the checked log in the checking process, which has it as its standard input.
const INPUT: &str = "/proc/self/fd/0";

/// Environment variable of the checking process with the name of the machine in the log that is shown.
const MACHINE: &str = "PERFSET_CHECK_MACHINE";

/// Report of the checking process about an uploaded log.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Reason why the uploaded log cannot be read; `None` if it can.
    pub error: Option<String>,
    /// Maximum memory that reading the uploaded log took, in bytes.
    pub memory: u64,
}

/// Runs the check of an uploaded log in a process with limits. `stop` ends it early.
///
/// # Errors
/// If the log cannot be read, or not within the limits, or no process can be started.
pub fn run(
    checker: &[OsString],
    file: &File,
    machine: Option<&str>,
    stop: &AtomicBool,
) -> Result<CheckReport, ApiError> {
    let failed = |error: io::Error| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the log cannot be checked: {error}"))
    };
    let mut child = start(checker, file, machine).map_err(failed)?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        let is_late = began.elapsed() > TIME_MOST;
        if is_late || stop.load(Relaxed) {
            let _ = child.kill(); // it may just have ended
            let _ = child.wait();
            return Err(if is_late { too_late() } else { removed() });
        }
        std::thread::sleep(PAUSE);
    };
    if !status.success() {
        return Err(unfinished(status));
    }
    let mut text = String::new();
    if let Some(output) = child.stdout.take() {
        // Not longer than a pipe holds, so the process never waits for a reader.
        output.take(REPORT_MOST).read_to_string(&mut text).map_err(failed)?;
    }
    // Behind what a test writes before it.
    let report = text.lines().rev().find_map(|line| serde_json::from_str::<CheckReport>(line).ok());
    match report {
        Some(CheckReport { error: Some(error), .. }) => Err(unreadable(&error)),
        Some(report) => Ok(report),
        None => Err(failed(io::ErrorKind::InvalidData.into())),
    }
}

/// Returns the error for an uploaded log that is removed while it is opened.
pub fn removed() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "the log was removed while it was opened")
}

/// Returns the error for uploaded bytes that are no log that can be shown.
pub fn unreadable(error: &str) -> ApiError {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, format!("the log cannot be shown: {error}"))
        .hint("perfset log info FILE says more about it")
}

fn start(checker: &[OsString], file: &File, machine: Option<&str>) -> io::Result<Child> {
    let (program, args) = checker.split_first().ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.args(args).env_clear().stdin(file.try_clone()?).stdout(Stdio::piped()).stderr(Stdio::null());
    command.envs(machine.map(|name| (MACHINE, name)));
    command.spawn()
}

#[cfg(unix)]
fn too_long() -> ApiError {
    let text = format!("reading the log takes longer than {} s of processor time", PROCESSOR_MOST.as_secs());
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, text)
        .hint("perfset serve --compare FILE shows it, and perfset relog --begin cuts it")
}

fn too_late() -> ApiError {
    let text = format!("reading the log takes longer than {} s", TIME_MOST.as_secs());
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, text)
        .hint("try again when the machine is less busy; perfset serve --compare FILE shows it, too")
}

/// Returns the error for a checking process that did not end by itself.
fn unfinished(status: std::process::ExitStatus) -> ApiError {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        let by_time = [rustix::process::Signal::XCPU, rustix::process::Signal::KILL];
        if status.signal().is_some_and(|signal| by_time.iter().any(|by| by.as_raw() == signal)) {
            return too_long();
        }
    }
    let text =
        format!("reading the log needs more than {} MiB of memory, or fails: {status}", MEMORY_MOST >> 20);
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, text)
        .hint("perfset serve --compare FILE shows it without that limit")
}

/// Checks the log on standard input, with limits for this process, and writes the report to standard output. It is
/// the whole work of a process that a server starts for a sent log.
#[must_use]
pub fn check_log() -> ExitCode {
    if let Err(error) = limit() {
        // The reason is in the exit code of this process, whose standard error nobody reads.
        let _ = writeln!(io::stderr(), "error: cannot limit this process: {error}");
        return ExitCode::FAILURE;
    }
    let before = memory("VmHWM:").unwrap_or(0);
    let error = read_all().err().map(|error| error.chars().take(1_000).collect());
    let memory = memory("VmHWM:").unwrap_or(MEMORY_MOST).saturating_sub(before);
    let report = to_json(&CheckReport { error, memory });
    let mut output = io::stdout().lock();
    // On a line of its own, whatever was written before.
    match writeln!(output, "\n{report}").and_then(|()| output.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Limits the memory, the processor time and the files of the current process.
#[cfg(target_os = "linux")]
fn limit() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
    // A server that is killed must not leave the process behind.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let limit = |what, most| setrlimit(what, Rlimit { current: Some(most), maximum: Some(most) });
    let room = memory("VmSize:").unwrap_or(0).saturating_add(MEMORY_MOST);
    limit(Resource::As, room)?;
    limit(Resource::Cpu, PROCESSOR_MOST.as_secs())?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Core, 0)?;
    Ok(())
}

/// Returns an error, because no process can be limited on this system.
#[cfg(not(target_os = "linux"))]
fn limit() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns a size of the memory of the current process, in bytes, by its name in `/proc/self/status`.
fn memory(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let text = status.lines().find_map(|line| line.strip_prefix(name))?;
    text.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Reads the uploaded log in every way in which requests do.
fn read_all() -> Result<(), String> {
    let logs =
        Logs::open(&[PathBuf::from(INPUT)]).map_err(|error| SourceError::from(error.error).to_string())?;
    let logs = of_machine(logs, std::env::var(MACHINE).ok().as_deref())?;
    if logs.machine().countersets().is_empty() {
        let damages = logs.damages();
        let first = damages.iter().find_map(|damages| damages.first().first());
        let why = first.map_or(String::new(), |damage| format!(": {damage}"));
        return Err(format!("the log has no usable counter{why}"));
    }
    let parse_instant = |_: &Logs, _: &str| Err(String::new()); // no request asks here
    let window = Window { begin: None, end: Some(i64::MAX) };
    let served = ServedLog { logs, files: Vec::new(), window, parse_instant: Arc::new(parse_instant) };
    let span = served.span(Duration::from_secs(1), &Limits::default()).map_err(|error| error.to_string())?;
    let reads = read_values(&served, &span.times);
    reads.map_err(|error| error.to_string())
}

/// Returns the logs with the counters of a machine; without a name, of the first machine that the logs name.
pub fn of_machine(logs: Logs, name: Option<&str>) -> Result<Logs, String> {
    let Some(name) = name.map(|name| name.trim_start_matches('\\')) else { return Ok(logs) };
    if logs.machines().iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return logs.for_machine(name).map_err(|error| SourceError::from(error.error).to_string());
    }
    let names: Vec<_> = logs.machines().iter().cloned().collect();
    Err(format!("it has no counters of a machine \"{name}\"; it has: {}", names.join(", ")))
}

fn read_values(served: &ServedLog, times: &[i64]) -> Result<(), SourceError> {
    let mut logs = served.logs.clone();
    for counterset in logs.countersets()? {
        // A counterset that cannot be listed is an error of its own requests only.
        let _ = logs.instances(&counterset);
    }
    let whole = times.last().zip(times.first()).map_or(0, |(last, first)| last.saturating_sub(*first));
    let spacing = crate::log::duration(whole).checked_div(SAMPLES_READ).unwrap_or_default();
    let mut picked = served.logs.picking(Pick::Every(in_100ns(spacing)));
    let mut query = PathQuery::open(&mut picked)?;
    for path in served.logs.paths() {
        let _ = query.add(&mut picked, &path); // a path without a counter is an error of its own requests only
    }
    while query.collect()? == NextOutcome::Sample {
        let _ = query.values();
    }
    let mut picked = served.logs.picking(Pick::Every(in_100ns(spacing)));
    let mut overview = Overview::open_log(&mut picked)?;
    while overview.collect()? == NextOutcome::Sample {}
    let _ = overview.state(1);
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Takes more memory than the check of an uploaded log may, in a process that another test starts.
    #[test]
    #[ignore = "runs as a child of a_process_that_takes_too_much_memory_ends, which expects it to be stopped"]
    fn hog() {
        limit().unwrap();
        let much = vec![1_u8; usize::try_from(MEMORY_MOST).unwrap() + (64 << 20)];
        assert!(much.iter().all(|byte| *byte == 1));
        // With exit code 0, if nothing has stopped it.
    }

    #[test]
    fn a_process_that_takes_too_much_memory_ends() {
        let program = std::env::current_exe().unwrap().into_os_string();
        let args = ["--exact", "upload::check::tests::hog", "--ignored"].map(OsString::from);
        let checker: Vec<_> = [program].into_iter().chain(args).collect();
        let file = super::super::file::create().unwrap();
        let error = run(&checker, &file, None, &AtomicBool::new(false)).unwrap_err();
        assert!(error.error.contains("needs more than 512 MiB of memory, or fails: signal: 6"), "{error:?}");
    }
}
