//! `perfset serve`: shows this machine's counters in the browser.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use perfset::log::Logs;
use perfset::output::text::{escaped, name_of};
use perfset::path::BindError;
use perfset::path::{QueryFileError, query_file};
use perfset_export::ExportError;
use perfset_web::{Limits, ServeError, ServedLog, Server, ServerOptions, Token, is_privileged};

use crate::args::ServeArgs;
use crate::bpf_capabilities;
use crate::exit::{Exit, Failure};
use crate::query_source::{instant_of, opened, window_of};
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
    let limits = Limits { history: args.history, ..Limits::default() };
    let mut options = ServerOptions {
        listen,
        interval: args.interval,
        hosts: args.hosts.clone(),
        token,
        limits,
        names: perfset_export::ExportOptions {
            profile: args.profile.into(),
            prefix: args.prefix.clone(),
            series_max: args.series_max,
            ..perfset_export::ExportOptions::default()
        },
        ..ServerOptions::default()
    };
    if let Some(file) = &args.query {
        options.metrics = query_file(file).map_err(|error| match error {
            QueryFileError::File { .. } => Failure::escaped(Exit::SourceFailed, error),
            error => Failure::escaped(Exit::Usage, error),
        })?;
    }
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
    server.run().map_err(failed)?;
    Ok(Exit::Ok)
}

/// Opens the log that the server shows.
fn log(args: &ServeArgs) -> Result<ServedLog, Failure> {
    let logs = opened(&args.log, args.machine.as_deref(), false)?;
    let window = window_of(&logs, args.window.begin.as_ref(), args.window.end.as_ref())?;
    let parse_instant = |logs: &Logs, text: &str| {
        let instant: InstantArg = text.parse().map_err(str::to_owned)?;
        instant_of(logs, &instant)
    };
    Ok(ServedLog { logs, files: args.log.clone(), window, parse_instant: Arc::new(parse_instant) })
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

/// Returns `true`, because permissions are checked only on Unix.
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

/// Returns the token that clients must send, if one is required.
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
        (false, false) if args.log.iter().any(|log| is_private(log)) => "other users may not read the log",
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

/// Prints the addresses of the server, and the counter paths that have no counterset yet.
fn tell(server: &Server, args: &ServeArgs) {
    let mut text = String::new();
    for (page, metrics) in server.pages().zip(server.metrics()) {
        text.push_str(&format!("page     {page}\n"));
        // Those of a log would be taken for values of now.
        if args.log.is_empty() {
            text.push_str(&format!("metrics  {metrics}\n"));
        }
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

    /// A log is readable for other users only if they can read all its data files and enter all directories around
    /// them.
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
