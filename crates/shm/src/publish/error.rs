//! Reasons why counters are not published, and why an instance cannot be created.

use std::path::PathBuf;

use perfset_core::Guid;
use thiserror::Error;

use crate::merge::LeftOut;

/// Reason why counters are not published, or not shown by readers.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PublishError {
    /// No directory was found in which a program can publish counters.
    #[error("no directory to publish counters in: {tried}")]
    NoFolder {
        /// List of the directories that were tried, each with the reason why it cannot be used.
        tried: String,
    },
    /// The publisher's file cannot be created, or cannot grow.
    #[error("{path}: {what}: {why}")]
    File {
        /// Path of the publisher's file, or of the directory in which it should be.
        path: PathBuf,
        /// Description of the operation on the publisher's file that failed.
        what: &'static str,
        /// Error text of the operating system for the failed operation.
        why: String,
    },
    /// Counterset rejected because the program already publishes the maximum number of different countersets under its
    /// GUID.
    #[error(
        "counterset \"{name}\" {guid} is not published: this program already publishes {VERSIONS} other definitions of \
         that GUID"
    )]
    Contradiction {
        /// Name of the counterset that is rejected.
        name: String,
        /// GUID of the counterset that is rejected.
        guid: Guid,
    },
    /// Readers leave out one counterset or counter: others publish or registered something else under its GUID, id or
    /// name.
    #[error("readers leave out published counters: {0}")]
    LeftOut(LeftOut),
    /// Readers leave out several countersets or counters. [`Publisher::left_out`](super::Publisher::left_out) and
    /// [`PublishStatus::problems`](super::PublishStatus::problems) contain them all.
    #[error("readers leave out published counters: {first}; and {more} more (see PublishStatus::problems)")]
    SeveralLeftOut {
        /// First counterset or counter that readers leave out.
        first: LeftOut,
        /// Number of left-out countersets and counters in addition to the first.
        more: usize,
    },
}

impl PublishError {
    /// Combines all countersets and counters that readers leave out into one error; `None` if nothing is left out.
    pub(super) fn from_left_out(parts: Vec<LeftOut>) -> Option<Self> {
        let more = parts.len().saturating_sub(1);
        let first = parts.into_iter().next()?;
        Some(if more == 0 { Self::LeftOut(first) } else { Self::SeveralLeftOut { first, more } })
    }
}

/// Maximum number of definitions that a program publishes under one GUID. A program that builds definitions at run time
/// could otherwise fill the table of its file.
pub(super) const VERSIONS: usize = 8;

/// Reason why an instance of a published counterset cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// An instance of that name and id is published already.
    #[error("an instance with this name and id already exists")]
    Exists,
    /// There is no memory for the instance, not even private memory.
    #[error("no memory for another instance")]
    NoMemory,
}
