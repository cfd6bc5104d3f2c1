//! `perfset serve`: this machine's counters in the browser.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, anyhow};
use perfset::path::BindError;
use perfset_export::{ExportError, QueryFileError, query_file};
use perfset_web::{Limits, Options, ServeError, Server, Token, is_privileged};

use crate::args::ServeArgs;
use crate::exit::{Exit, Failure};
use crate::text::{escaped, name_of};
use crate::walks;

pub fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    args.processes.apply();
    walks::settle(true);
    let listen = if args.listen.is_empty() { vec![Options::LISTEN] } else { args.listen.clone() };
    let is_exposed = listen.iter().any(|address| !address.ip().is_loopback());
    let token = token(args, is_exposed)?;
    let machine = if args.all_users { perfset::all_users() } else { perfset::local() };
    let limits = Limits { history: args.history, ..Limits::default() };
    let mut options = Options {
        listen,
        interval: args.interval,
        hosts: args.hosts.clone(),
        token,
        limits,
        names: perfset_export::Options {
            profile: args.profile.into(),
            prefix: args.prefix.clone(),
            series_max: args.series_max,
            ..perfset_export::Options::default()
        },
        ..Options::default()
    };
    if let Some(file) = &args.query {
        options.metrics = query_file(file).map_err(|error| match error {
            QueryFileError::File { .. } => Failure::escaped(Exit::SourceFailed, error),
            error => Failure::escaped(Exit::Usage, error),
        })?;
    }
    let server = Server::open(machine, options).map_err(failed)?;
    let stopper = server.stopper();
    ctrlc::set_handler(move || stopper.stop()).map_err(|error| Failure::new(Exit::SourceFailed, error))?;
    tell(&server, args.token_file.as_deref());
    server.run().map_err(failed)?;
    Ok(Exit::Ok)
}

fn failed(error: ServeError) -> Failure {
    let exit = match &error {
        ServeError::Metrics(ExportError::Path { error, .. }) if !matches!(error, BindError::Source(_)) => {
            Exit::NothingMatched
        }
        ServeError::Metrics(ExportError::Source(_) | ExportError::Path { .. }) => Exit::SourceFailed,
        ServeError::Metrics(_) | ServeError::History { .. } => Exit::Usage,
        _ => Exit::SourceFailed,
    };
    Failure::escaped(exit, error)
}

/// The token that readers must know, if there is to be one.
fn token(args: &ServeArgs, is_exposed: bool) -> Result<Option<Token>, Failure> {
    if let Some(file) = &args.token_file {
        let token = Token::from_file(file);
        let token = token.with_context(|| format!("cannot take the token of {}", name_of(file)));
        return token.map(Some).map_err(|error| Failure::new(Exit::SourceFailed, error));
    }
    let why = match (is_exposed, is_privileged()) {
        (true, _) => "others than this machine can reach it",
        (false, true) => "it may read what its readers may not",
        (false, false) => return Ok(None),
    };
    if args.insecure {
        // Nobody is left to tell if this fails.
        let _ = writeln!(io::stderr(), "warning: no token is asked, and {why}");
        return Ok(None);
    }
    Token::random().map(Some).map_err(|error| Failure::new(Exit::SourceFailed, anyhow!(error)))
}

/// Says where it listens, and what it does not have yet.
fn tell(server: &Server, token_file: Option<&Path>) {
    let mut text = String::new();
    for (page, metrics) in server.pages().zip(server.metrics()) {
        text.push_str(&format!("page     {page}\nmetrics  {metrics}\n"));
    }
    if let Some(file) = token_file {
        text.push_str(&format!("token    that of {}\n", name_of(file))); // not itself: this may be a log
    }
    for path in server.waiting() {
        text.push_str(&format!("waiting  {}: no such counterset yet\n", escaped(&path.to_string())));
    }
    // It serves even if nobody hears where.
    let _ = io::stderr().write_all(text.as_bytes());
}
