//! `perfset completions`: completion scripts for shells.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Args, CompletionsArgs};
use crate::exit::{Exit, Failure};

/// Prints the completion script of a shell.
///
/// The scripts of bash, zsh and fish ask `perfset complete` for candidates. Those of other shells are generated, and
/// complete commands and options only.
pub fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let script = match args.shell {
        Shell::Bash => include_bytes!("complete/scripts/perfset.bash").to_vec(),
        Shell::Zsh => include_bytes!("complete/scripts/perfset.zsh").to_vec(),
        Shell::Fish => include_bytes!("complete/scripts/perfset.fish").to_vec(),
        shell => {
            let mut script = Vec::new();
            // Into memory first: clap panics if a write fails, and a closed pipe is no error here.
            clap_complete::generate(shell, &mut Args::command(), "perfset", &mut script);
            script
        }
    };
    let mut out = io::stdout().lock();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Exit::Ok)
}
