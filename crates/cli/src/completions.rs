//! `perfset completions`: scripts for shells, generated from the option definitions.

use std::io::{self, Write};

use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs};
use crate::exit::{Exit, Failure};

/// Prints the completion script of a shell.
pub fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    // Into memory first: clap panics if a write fails, and a closed pipe is no error here.
    clap_complete::generate(args.shell, &mut Args::command(), "perfset", &mut script);
    let mut out = io::stdout().lock();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Exit::Ok)
}
