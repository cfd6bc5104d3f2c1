//! Texts about the command line: helps, the version, and errors of usage.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::anyhow;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use perfset::output::text::escaped;

use crate::exit::{Exit, Failure};

/// Prints the text of a clap result: help, the version, or a usage error. Returns the exit code.
pub fn print(error: clap::Error) -> ExitCode {
    if let Some(text) = third_operand(&error) {
        return crate::failed(&Failure::new(Exit::Usage, anyhow!(text)));
    }
    if error.use_stderr() {
        // Standard error is the last place to report to, so a failure of it is ignored.
        let _ = error.print();
        return Exit::Usage.into();
    }
    match error.print().and_then(|()| io::stdout().flush()).map_err(Failure::from) {
        Ok(()) => Exit::Ok.into(),
        Err(failure) if failure.is_broken_pipe() => Exit::Ok.into(),
        Err(failure) => crate::failed(&failure),
    }
}

/// Returns the error text for an operand after interval and count, which clap mistakes for a command.
fn third_operand(error: &clap::Error) -> Option<String> {
    let (ErrorKind::ArgumentConflict, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    else {
        return None;
    };
    let word = escaped(word);
    Some(match crate::args::is_command(&word) {
        true => format!("options of a command come after its name: perfset {word} [OPTIONS]"),
        false => format!(
            "\"{word}\" is too much: perfset takes an interval and a count, as in perfset 1 3\n  values of counters: \
             perfset get PATH... [INTERVAL [COUNT]]"
        ),
    })
}
