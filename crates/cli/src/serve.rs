//! `perfset serve`: shows this machine's counters in the browser.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use perfset::Window;
use perfset::log::Logs;
use perfset::log::recording::FolderLock;
use perfset::output::text::{escaped, name_of};
use perfset::output::utc_text;
use perfset::path::BindError;
use perfset::path::{QueryFileError, query_file};
use perfset_export::{ExportError, Profile};
use perfset_web::{
    Limits, ServeError, ServedLog, Server, ServerOptions, Token, UploadOptions, is_privileged,
};

use crate::args::ServeArgs;
use crate::bpf_capabilities;
use crate::exit::{Exit, Failure};
use crate::pace::BRIEFLY;
use crate::query_source::{instant_of, opened, window_of};
use crate::record::default_folder;
use crate::when::InstantArg;

pub fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    args.processes.apply()?;
    #[cfg(target_os = "linux")]
    perfset::return_large_pieces();
    // First of all: other threads would keep the capabilities. A log needs none.
    bpf_capabilities::settle(args.log.is_empty());
    let listen = if args.listen.is_empty() { vec![ServerOptions::LISTEN] } else { args.listen.clone() };
    let is_exposed = listen.iter().any(|address| !address.ip().is_loopback());
    let token = token(args, is_exposed)?;
    let profiles: Vec<Profile> = args.profile.iter().copied().map(Profile::from).collect();
    let limits = Limits { history: args.history, ..Limits::default() };
    let mut options = ServerOptions {
        listen,
        interval: args.interval,
        hosts: args.hosts.clone(),
        token,
        limits,
        names: perfset_export::ExportOptions {
            profiles: profiles.clone(),
            prefix: args.prefix.clone(),
            series_max: args.series_max,
            ..perfset_export::ExportOptions::default()
        },
        metrics: perfset_export::default_paths(&profiles),
        ..ServerOptions::default()
    };
    if let Some(file) = &args.query {
        options.metrics = query_file(file).map_err(|error| match error {
            QueryFileError::File { .. } => Failure::escaped(Exit::SourceFailed, error),
            error => Failure::escaped(Exit::Usage, error),
        })?;
    }
    let recorder = if args.record { Some(RunningRecorder::start(args)?) } else { None };
    if args.log.is_empty() {
        options.recording = recording(args, options.token.is_some())?;
    }
    options.compare = compared(args)?;
    options.uploads = uploads(args, is_exposed);
    // The addresses are bound here, so an address in use is reported before anything is printed.
    let server = match args.log.is_empty() {
        true if args.all_users => Server::open(perfset::all_users(), options),
        true => Server::open(perfset::local(), options),
        false => Server::open_log(log(args)?, options),
    };
    let server = server.map_err(failed)?;
    let stopper = server.stopper();
    ctrlc::set_handler(move || stopper.stop()).map_err(|error| Failure::new(Exit::SourceFailed, error))?;
    tell(&server, args);
    if let Some(text) = unencrypted(server.addresses(), args.insecure) {
        let _ = writeln!(io::stderr(), "{text}"); // nobody is left to tell if this fails
    }
    let ended = server.run().map_err(failed);
    drop(recorder);
    ended?;
    Ok(Exit::Ok)
}

/// Returns the directory of the recording that the server's options name; `None` if they name none.
fn asked_folder(args: &ServeArgs) -> Option<PathBuf> {
    args.recording.clone().or_else(|| default_folder().ok().filter(|_| args.record))
}

/// Returns the recording of this machine from which the server answers requests about the past, if there is one.
/// `is_guarded` is `true` if clients need a token.
fn recording(args: &ServeArgs, is_guarded: bool) -> Result<Option<ServedLog>, Failure> {
    if let Some(folder) = asked_folder(args) {
        return of_this_machine(&folder).map(Some);
    }
    // What a recorder of this user has written; without one, the page has no past.
    let Some(folder) = default_folder().ok().filter(|folder| folder.is_dir()) else { return Ok(None) };
    if !is_guarded && is_private(&folder) {
        let text = "past     not shown: other users may not read the recording; \
                    perfset serve --record shows it, with a token";
        let _ = writeln!(io::stderr(), "{text}"); // the server works even if this cannot be printed
        return Ok(None);
    }
    // One that cannot be read, or has no sample yet, takes nothing from the page of now.
    let found = of_this_machine(&folder).ok();
    Ok(found.filter(|log| log.logs.times().is_ok_and(|times| !times.is_empty())))
}

/// Opens a recording for the server, which must be of this machine: its values stand beside those of now.
fn of_this_machine(folder: &Path) -> Result<ServedLog, Failure> {
    let files = [folder.to_owned()];
    let log = served(&files, None, Window::default())?;
    let (own, recorded) = (perfset::own_name(), log.logs.machine_name().to_owned());
    if recorded.eq_ignore_ascii_case(&own) {
        return Ok(log);
    }
    let [folder, recorded] = [name_of(folder), escaped(&recorded)];
    let error = anyhow!(
        "the recording {folder} is of the machine \"{recorded}\", and this one is \"{own}\"\n  \
         hint: perfset serve --log {folder} shows it alone"
    );
    Err(Failure::new(Exit::NothingMatched, error))
}

/// Process of a recorder that the server has started and that runs as long as the server.
struct RunningRecorder(Option<Child>);

impl RunningRecorder {
    /// Starts a recorder as a process of its own, and waits for its first sample; does nothing if a recorder runs
    /// already.
    fn start(args: &ServeArgs) -> Result<Self, Failure> {
        /// Maximum time until the started recorder has written its first sample.
        const FIRST: Duration = Duration::from_secs(10);
        let failed = |error: anyhow::Error| Failure::new(Exit::SourceFailed, error);
        let folder = args.recording.clone().map_or_else(default_folder, Ok)?;
        if FolderLock::is_held(&folder).unwrap_or(false) {
            return Ok(Self(None));
        }
        let program = std::env::current_exe().map_err(|error| failed(error.into()))?;
        let mut command = Command::new(program);
        command
            .arg("record")
            .arg("--dir")
            .arg(&folder)
            .args(args.keep.iter().flat_map(|keep| ["--keep", keep]));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let mut recorder = Self(Some(child.context("cannot start a recorder").map_err(failed)?));
        let began = Instant::now();
        while Logs::open(&[&folder]).map_or(0, |logs| logs.times().map_or(0, |times| times.len())) == 0 {
            let ended = recorder.0.as_mut().and_then(|child| child.try_wait().ok().flatten());
            if let Some(status) = ended {
                recorder.0 = None;
                return Err(failed(anyhow!("the recorder ended: {status}")));
            }
            if began.elapsed() > FIRST {
                return Err(failed(anyhow!("the recorder has no sample after {} s", FIRST.as_secs())));
            }
            std::thread::sleep(BRIEFLY);
        }
        Ok(recorder)
    }
}

impl Drop for RunningRecorder {
    fn drop(&mut self) {
        let Some(child) = &mut self.0 else { return };
        // Asked first, so that it says in the recording that it ended.
        #[cfg(unix)]
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            let began = Instant::now();
            while began.elapsed() < ENDING && matches!(child.try_wait(), Ok(None)) {
                std::thread::sleep(BRIEFLY);
            }
        }
        // What was written survives.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Maximum time that the recorder takes to end after the server.
#[cfg(unix)]
const ENDING: Duration = Duration::from_secs(5);

/// Opens the log that the server shows.
fn log(args: &ServeArgs) -> Result<ServedLog, Failure> {
    let mut log = served(&args.log, args.machine.as_deref(), Window::default())?;
    log.window = window_of(&log.logs, args.window.begin.as_ref(), args.window.end.as_ref())?;
    Ok(log)
}

/// Opens the logs that the server shows beside its machine or its log, with their names. A log of several machines is
/// opened once for each of them.
fn compared(args: &ServeArgs) -> Result<Vec<(String, ServedLog)>, Failure> {
    /// Maximum number of machines of a compared log: the server has a thread for each.
    const MACHINES_MOST: usize = 16;
    let mut logs = Vec::new();
    for file in &args.compare {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        let files = std::slice::from_ref(file);
        let machines: Vec<_> = opened(files, None, true)?.machines().iter().cloned().collect();
        if machines.len() > MACHINES_MOST {
            let (count, first) = (machines.len(), escaped(machines.first().map_or("", String::as_str)));
            return Err(Failure::new(
                Exit::Usage,
                anyhow!(
                    "{}: the log has counters of {count} machines, and the page compares at most {MACHINES_MOST}\n  \
                     show one of them with --log and --machine {first}",
                    escaped(&name)
                ),
            ));
        }
        match machines.as_slice() {
            [] | [_] => logs.push((name, served(files, None, Window::default())?)),
            several => {
                for machine in several {
                    logs.push((name.clone(), served(files, Some(machine), Window::default())?));
                }
            }
        }
    }
    Ok(logs)
}

/// Returns the options for logs that clients upload; `None` if they may upload none.
fn uploads(args: &ServeArgs, is_exposed: bool) -> Option<UploadOptions> {
    /// Maximum size in bytes of all logs that clients have uploaded, unless the user sets another one.
    const MOST: u64 = 64_000_000;
    // Their files have no names, which works on Linux only.
    let usual = if is_exposed || !cfg!(target_os = "linux") { 0 } else { MOST };
    let most = args.upload_max.unwrap_or(usual);
    // This program, also if its file was replaced since.
    let checker = ["/proc/self/exe", "check-log"].map(OsString::from).to_vec();
    (most > 0).then(|| UploadOptions::new(most, checker, Arc::new(parse_instant)))
}

/// Parses a text that names an instant of logs, and returns its time in 100 ns since 1601 UTC.
fn parse_instant(logs: &Logs, text: &str) -> Result<i64, String> {
    let instant: InstantArg = text.parse().map_err(str::to_owned)?;
    instant_of(logs, &instant)
}

/// Opens the part of a log in a window of time for a server.
fn served(files: &[PathBuf], machine: Option<&str>, window: Window) -> Result<ServedLog, Failure> {
    let logs = opened(files, machine, false)?;
    Ok(ServedLog { logs, files: files.to_vec(), window, parse_instant: Arc::new(parse_instant) })
}

/// Returns `true` if other users have no permission to read a log: a file, or the directory of a recording with all its
/// files.
#[cfg(unix)]
fn is_private(log: &Path) -> bool {
    !others_can_read(log).unwrap_or(false)
}

#[cfg(unix)]
fn others_can_read(log: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    const READ: u32 = 0o004;
    const SEARCH: u32 = 0o001;
    let has = |path: &Path, wanted: u32| {
        std::fs::metadata(path).map(|found| found.permissions().mode() & wanted == wanted)
    };
    // The directories in which it lies, and not those of a link to it.
    let log = std::fs::canonicalize(log)?;
    for parent in log.ancestors().skip(1) {
        if !has(parent, SEARCH)? {
            return Ok(false);
        }
    }
    if !log.is_dir() {
        return has(&log, READ);
    }
    if !has(&log, READ | SEARCH)? {
        return Ok(false);
    }
    for entry in std::fs::read_dir(&log)? {
        let file = entry?.path();
        let is_part = file.extension().is_some_and(|kind| kind == "perfset" || kind == "journal");
        if is_part && !has(&file, READ)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns `true`, because permissions of logs are checked only on Unix.
#[cfg(not(unix))]
fn is_private(_: &Path) -> bool {
    true
}

fn failed(error: ServeError) -> Failure {
    let exit = match &error {
        ServeError::Log(_) => Exit::NothingMatched,
        ServeError::Metrics(ExportError::Path { error, .. }) if !matches!(error, BindError::Source(_)) => {
            Exit::NothingMatched
        }
        ServeError::Metrics(ExportError::Source(_) | ExportError::Path { .. }) => Exit::SourceFailed,
        ServeError::Metrics(_) | ServeError::History { .. } => Exit::Usage,
        _ => Exit::SourceFailed,
    };
    Failure::escaped(exit, error)
}

/// Returns the token that clients of the server must send, if one is required.
fn token(args: &ServeArgs, is_exposed: bool) -> Result<Option<Token>, Failure> {
    // A token file is a choice of the user and applies on loopback too.
    if let Some(file) = &args.token_file {
        let token = Token::from_file(file);
        let token = token.with_context(|| format!("cannot use the token in {}", name_of(file)));
        return token.map(Some).map_err(|error| Failure::new(Exit::SourceFailed, error));
    }
    let why = match (is_exposed, is_privileged()) {
        (true, _) => "other machines can connect",
        (false, true) => "the server can read data that its clients may not",
        (false, false) if args.log.iter().chain(&args.compare).any(|log| is_private(log)) => {
            "other users may not read the log"
        }
        (false, false) if asked_folder(args).is_some_and(|folder| is_private(&folder)) => {
            "other users may not read the recording"
        }
        (false, false) => return Ok(None),
    };
    if args.insecure {
        // Standard error is the last place to report to, so a failure of it is ignored.
        let _ = writeln!(io::stderr(), "warning: no token is required, and {why}");
        return Ok(None);
    }
    Token::random().map(Some).map_err(|error| Failure::new(Exit::SourceFailed, anyhow!(error)))
}

/// Returns the warning that sent data is not encrypted, if other machines can reach the server.
fn unencrypted(addresses: &[SocketAddr], is_insecure: bool) -> Option<String> {
    let address = addresses.iter().find(|address| !address.ip().is_loopback())?;
    let port = address.port();
    let what = if is_insecure {
        "all values are sent in clear text to anyone who can connect"
    } else {
        "the token and all values cross the network in clear text"
    };
    Some(format!(
        "warning: {address} is plain HTTP: {what}\n\
         hint: listen on loopback and use ssh -L {port}:localhost:{port} HOST, or use a proxy with TLS"
    ))
}

/// Prints the addresses of the server, and the counter paths whose counterset does not exist yet.
fn tell(server: &Server, args: &ServeArgs) {
    let mut text = String::new();
    for (page, metrics) in server.pages().zip(server.metrics()) {
        text.push_str(&format!("page     {page}\n"));
        // Those of a log would be taken for values of now.
        if args.log.is_empty() {
            text.push_str(&format!("metrics  {metrics}\n"));
        }
    }
    if let Some([begin, _]) = server.recorded() {
        text.push_str(&format!("past     since {}\n", utc_text(begin)));
    }
    if let Some(file) = args.token_file.as_deref() {
        text.push_str(&format!("token    from {}\n", name_of(file))); // not itself: this may be a log
    }
    for path in server.waiting() {
        text.push_str(&format!("waiting  {}: no such counterset yet\n", escaped(&path.to_string())));
    }
    // The server works even if this text cannot be printed.
    let _ = io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a log counts as readable for other users only if they can read all its files and enter all
    /// directories.
    #[test]
    #[cfg(unix)]
    fn logs_that_others_cannot_read_are_private() {
        use std::fs::{Permissions, set_permissions};
        use std::os::unix::fs::PermissionsExt;
        let top = std::env::temp_dir().join(format!("perfset-private-{}", std::process::id()));
        let (log, alone) = (top.join("around/log"), top.join("around/alone.perfset"));
        std::fs::create_dir_all(&log).unwrap();
        let files = [log.join("1.perfset"), log.join("2.journal"), log.join("notes.txt")];
        for file in files.iter().chain([&alone]) {
            std::fs::write(file, "").unwrap();
        }
        let around = top.join("around");
        let [sealed, journal, notes] = &files;
        let open = |path: &Path| {
            set_permissions(path, Permissions::from_mode(if path.is_dir() { 0o755 } else { 0o644 })).unwrap();
        };
        let all = [&top, &around, &log, &alone, sealed, journal, notes];
        all.into_iter().for_each(|path| open(path));
        assert!(!is_private(&log) && !is_private(&alone));
        for (path, mode, log_is, alone_is) in [
            (&log, 0o750, true, false),
            (&log, 0o754, true, false),
            (&log, 0o751, true, false),
            (sealed, 0o640, true, false),
            (journal, 0o600, true, false),
            (notes, 0o600, false, false),
            (&alone, 0o640, false, true),
            (&around, 0o750, true, true),
            (&around, 0o754, true, true),
            (&around, 0o711, false, false),
            (&top, 0o700, true, true),
        ] {
            set_permissions(path, Permissions::from_mode(mode)).unwrap();
            let found = (is_private(&log), is_private(&alone));
            assert_eq!(found, (log_is, alone_is), "{} {mode:o}", path.display());
            open(path);
        }
        assert!(is_private(&top.join("none")));
        std::fs::remove_dir_all(&top).unwrap();
    }

    #[test]
    fn clear_text_beyond_loopback_is_said() {
        for (addresses, is_insecure, want) in [
            (&["127.0.0.1:9182", "[::1]:9182"][..], false, None),
            (
                &["127.0.0.1:9182", "192.0.2.7:9183"],
                false,
                Some("warning: 192.0.2.7:9183 is plain HTTP: the token"),
            ),
            (&["0.0.0.0:9182"], false, Some("ssh -L 9182:localhost:9182 HOST")),
            (&["[2001:db8::7]:9182"], false, Some("clear text\nhint: listen on loopback")),
            (&["127.0.0.1:9182"], true, None),
            (
                &["0.0.0.0:9182"],
                true,
                Some("0.0.0.0:9182 is plain HTTP: all values are sent in clear text to anyone"),
            ),
        ] {
            let parsed: Vec<SocketAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
            let got = unencrypted(&parsed, is_insecure);
            assert_eq!(got.is_some(), want.is_some(), "{addresses:?} {is_insecure}");
            assert!(want.is_none_or(|want| got.is_some_and(|got| got.contains(want))), "{addresses:?}");
        }
    }
}
