//! Started as `typeperf` or `relog`: those tools' options, and what they print.
//!
//! Options as MS Learn documents them, each with `/` or `-`. What the tools print was taken from public descriptions of
//! them; exact blanks are UNVERIFIED.

mod options;
mod relog;
mod typeperf;

use std::ffi::OsString;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;

use crate::exit::{Exit, Failure};
use crate::text::name_of;

/// One of the tools of Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Typeperf,
    Relog,
}

impl Tool {
    /// By the name that the program was started with.
    pub fn of(program: &Path) -> Option<Self> {
        let name = program.file_name()?.to_str()?.to_lowercase();
        match name.strip_suffix(".exe").unwrap_or(&name) {
            "typeperf" => Some(Self::Typeperf),
            "relog" => Some(Self::Relog),
            _ => None,
        }
    }

    /// Does what these arguments say.
    pub fn run(self, args: impl Iterator<Item = OsString>) -> ExitCode {
        let args = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
        let done = match self {
            Self::Typeperf => typeperf::run(args),
            Self::Relog => relog::run(args),
        };
        match done {
            Ok(()) => Exit::Ok.into(),
            Err(failure) if failure.is_broken_pipe() => Exit::Ok.into(),
            Err(Failure { exit, error }) => {
                // Nobody is left to tell if this fails too.
                let _ = writeln!(io::stderr(), "\nError:\n{error:#}");
                exit.into()
            }
        }
    }
}

fn usage(text: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Usage, anyhow!("{text}"))
}

fn no_binary() -> Failure {
    usage("binary logs can be read and not written: choose -f csv or -f tsv")
}

fn completed() -> io::Result<()> {
    writeln!(io::stdout(), "The command completed successfully.")
}

/// Whether a file may be written: it does not exist, or somebody said yes.
fn may_write(file: &Path, says_yes: bool) -> Result<(), Failure> {
    if says_yes || !file.exists() {
        return Ok(());
    }
    let name = name_of(file);
    if !io::stdin().is_terminal() {
        return Err(usage(format!("{name} exists: -y writes over it")));
    }
    write!(io::stderr(), "{name} exists. Write over it? [y/n] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim_start().starts_with(['y', 'Y']) {
        true => Ok(()),
        false => Err(usage(format!("{name} is left as it is"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs() {
        for (name, want) in [
            ("typeperf", Some(Tool::Typeperf)),
            ("/usr/bin/relog", Some(Tool::Relog)),
            ("C:/x/TypePerf.EXE", Some(Tool::Typeperf)),
            ("perfset", None),
            ("typeperf2", None),
            ("", None),
        ] {
            assert_eq!(Tool::of(Path::new(name)), want, "{name}");
        }
    }
}
