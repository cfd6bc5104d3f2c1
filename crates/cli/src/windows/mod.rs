//! Modes `typeperf` and `relog`: under these names, the program has the options and output of those Windows tools.
//!
//! The options are those of MS Learn, each with `/` or `-`. The output was taken from public descriptions of the
//! tools; exact blanks are UNVERIFIED.

mod options;
mod relog;
mod typeperf;

use std::ffi::OsString;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;

use perfset::output::text::name_of;

use crate::exit::{Exit, Failure};

/// Windows tool, typeperf or relog, whose options and output this program imitates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Typeperf,
    Relog,
}

impl Tool {
    /// Returns the tool by whose name the program was started; `None` for any other name.
    pub fn from_program(program: &Path) -> Option<Self> {
        let name = program.file_name()?.to_str()?.to_lowercase();
        match name.strip_suffix(".exe").unwrap_or(&name) {
            "typeperf" => Some(Self::Typeperf),
            "relog" => Some(Self::Relog),
            _ => None,
        }
    }

    /// Runs the imitated Windows tool with these arguments, and returns its exit code.
    pub fn run(self, args: impl Iterator<Item = OsString>) -> ExitCode {
        let args = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
        let done = match self {
            Self::Typeperf => typeperf::run(args),
            Self::Relog => relog::run(args),
        };
        match done {
            Ok(()) => Exit::Ok.into(),
            Err(failure) if failure.is_broken_pipe() => Exit::Ok.into(),
            Err(failure) => {
                // Standard error is the last place to report to, so a failure of it is ignored.
                let _ = writeln!(io::stderr(), "\nError:\n{}", failure.text());
                failure.exit.into()
            }
        }
    }
}

fn usage(text: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Usage, anyhow!("{text}"))
}

fn no_binary() -> Failure {
    usage("binary logs can be read but not written: choose -f csv or -f tsv")
}

fn completed() -> io::Result<()> {
    writeln!(io::stdout(), "The command completed successfully.")
}

/// Returns an error for an existing output file, unless the user has agreed to overwrite it or answers yes.
fn may_write(file: &Path, says_yes: bool) -> Result<(), Failure> {
    if says_yes || !file.exists() {
        return Ok(());
    }
    let name = name_of(file);
    // A question to a script would wait forever, or take its input as the reply.
    if !io::stdin().is_terminal() {
        return Err(usage(format!("{name} exists; -y overwrites it")));
    }
    write!(io::stderr(), "{name} exists. Overwrite it? [y/n] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim_start().starts_with(['y', 'Y']) {
        true => Ok(()),
        false => Err(usage(format!("{name} is unchanged"))),
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
            assert_eq!(Tool::from_program(Path::new(name)), want, "{name}");
        }
    }
}
