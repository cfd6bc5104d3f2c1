//! Exit codes: all of them.

use std::io;
use std::process::ExitCode;

use anyhow::anyhow;
use perfset::PumpError;

use crate::text::escaped;

/// How the command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All that was asked.
    Ok = 0,
    /// A value is missing, and `--strict` was given.
    ValueMissing = 1,
    /// Wrong usage.
    Usage = 2,
    /// Nothing matched.
    NothingMatched = 3,
    /// The source failed.
    SourceFailed = 4,
    /// The data are invalid, or a log is damaged: its sound part was used.
    InvalidData = 5,
}

/// For `--help`.
pub const HELP: &str = "\
Exit codes:
  0  all that was asked
  1  a value is missing (only with --strict)
  2  wrong usage
  3  nothing matched
  4  the source failed
  5  the data are invalid, or a log is damaged (its sound part is used)";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        #[expect(clippy::as_conversions, reason = "every discriminant is a small constant")]
        Self::from(exit as u8)
    }
}

/// Why the command ends early.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
}

impl Failure {
    pub fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into() }
    }

    /// For what speaks of strangers' things: it and all its causes, as one text, escaped.
    pub fn escaped(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self::new(exit, anyhow!(escaped(&format!("{:#}", error.into()))))
    }

    /// Whether the reader of our output went away.
    pub fn is_broken_pipe(&self) -> bool {
        self.error.chain().any(|cause| {
            cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
        })
    }
}

/// Writing our output failed.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(Exit::SourceFailed, anyhow::Error::new(error).context("cannot write the output"))
    }
}

impl From<PumpError> for Failure {
    fn from(error: PumpError) -> Self {
        match error {
            PumpError::Sink(error) => error.into(),
            error => Self::new(Exit::SourceFailed, error),
        }
    }
}
