//! Exit codes of the command.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::anyhow;
use perfset::output::OutputError;
use perfset::output::text::escaped;

use crate::terminal::is_refused;

/// Result of a command of `perfset`, as exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Exit code of success: all requested data were delivered.
    Ok = 0,
    /// Exit code for a missing value, if `--strict` or `watch --exit-code` was given.
    ValueMissing = 1,
    /// Exit code for wrong usage of the command line.
    Usage = 2,
    /// Exit code for a request that matched nothing.
    NothingMatched = 3,
    /// Exit code for a failed source of data.
    SourceFailed = 4,
    /// Exit code for invalid data, or for a damaged log whose intact part was used.
    InvalidData = 5,
    /// Exit code for a watched condition that was met, if `watch --exit-code` was given.
    ConditionMet = 6,
}

/// Help text about the exit codes, for `--help`.
pub const HELP: &str = "\
Exit codes:
  0  success
  1  a value is missing (only with --strict, or watch --exit-code)
  2  wrong usage
  3  nothing matched
  4  the source failed
  5  the data are invalid, or a log is damaged (its intact part is used)
  6  a watched condition was met (only with watch --exit-code)";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        #[expect(clippy::as_conversions, reason = "every discriminant is a small constant")]
        Self::from(exit as u8)
    }
}

/// Reason why a command ended early, with its exit code.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
}

impl Failure {
    pub fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into() }
    }

    /// Returns a failure for an error whose text contains untrusted input. The error and all its causes become one
    /// escaped text.
    pub fn escaped(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self::new(exit, anyhow!(escaped(&format!("{:#}", error.into()))))
    }

    /// Returns the text of the error with all its causes, in one line unless the error has hints.
    pub fn text(&self) -> String {
        let text = format!("{:#}", self.error);
        // Its cause is the error of the device that stands for the closed output.
        match is_refused() && self.error.to_string() == NOT_WRITTEN {
            true => format!("{NOT_WRITTEN}: standard output is closed"),
            false => text,
        }
    }

    /// Prints the error of the failed command to standard error.
    pub fn print(&self) {
        // Standard error is the last place to report to, so a failure of it is ignored.
        let _ = writeln!(io::stderr(), "error: {}", self.text());
    }

    /// Returns `true` if the command failed because the reader of its output has closed the pipe.
    pub fn is_broken_pipe(&self) -> bool {
        // A broken pipe can lie below any context that was added on the way.
        self.error.chain().any(|cause| {
            cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
        })
    }
}

/// Error text about a failed write of the output.
const NOT_WRITTEN: &str = "cannot write the output";

/// Converts an I/O error to the failure of a command whose output cannot be written.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(Exit::SourceFailed, anyhow::Error::new(error).context(NOT_WRITTEN))
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        match error {
            // A closed pipe must stay recognizable.
            OutputError::Output(error) => error.into(),
            error => Self::new(Exit::SourceFailed, error),
        }
    }
}
