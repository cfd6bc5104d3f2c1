//! Header and segment table of a publisher's file, parsed and validated.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use thiserror::Error;

use crate::definition::DefinitionError;
use crate::layout::{LayoutError, MAGIC, WORD, entry, header};
use crate::process::ProcessIdentity;

/// Reason why a publisher's file, or a segment of it, is not used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum FileError {
    #[error("{what}: {why}")]
    Io { what: &'static str, why: io::Error },
    #[error("{0}")]
    Kind(&'static str),
    #[error(
        "the file has other names, so it is not read: `find -xdev -inum {inode}` on its file system shows them, and \
         its owner or root may remove the others"
    )]
    Names { inode: u64 },
    #[error("the directory has more files than are read")]
    TooMany,
    #[error("skipped: the file belongs to user {owner}; `--all-users` includes it")]
    Stranger { owner: u32 },
    #[error("permission denied: the file belongs to user {owner}; run as that user or root to read it")]
    Denied { owner: u32 },
    #[error("{0}")]
    Folder(String),
    #[error("the header claims {0} bytes, more than the limit of {1}")]
    TooLarge(u64, u64),
    #[error("the header claims {committed} bytes, but the file has {there}")]
    Holes { committed: u64, there: u64 },
    #[error("{0}")]
    Header(&'static str),
    #[error("the publisher is not running")]
    Dead,
    #[error("publisher {0} has exited, but a process that it forked holds its lock")]
    Orphaned(u64),
    #[error("table entry {number}: {what} is {value}")]
    Entry { number: usize, what: &'static str, value: u64 },
    #[error("table entry {number}: {why}")]
    Shape { number: usize, why: LayoutError },
    #[error("table entry {number}: {why}")]
    Definition { number: usize, why: DefinitionError },
}

impl FileError {
    pub fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |why| Self::Io { what, why }
    }

    /// Returns `true` if the publisher's file may become valid soon without a change of its directory: it may be
    /// truncated only temporarily.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Holes { .. } | Self::Header(_))
    }

    /// Returns `true` if the reason for not using a file is a shortage of file descriptors or memory in this process,
    /// which may end soon.
    pub fn is_shortage(&self) -> bool {
        use rustix::io::Errno;
        let short = [Errno::MFILE, Errno::NFILE, Errno::NOMEM].map(Errno::raw_os_error);
        matches!(self, Self::Io { why, .. } if why.raw_os_error().is_some_and(|code| short.contains(&code)))
    }
}

/// Fields of a publisher's file header that do not change.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub id: [u64; 2],
    pub process: ProcessIdentity,
    /// Creation time of the file: CLOCK_MONOTONIC in ns.
    pub created: u64,
}

impl Header {
    /// Parses a copy of a publisher's file header.
    pub fn parse(bytes: &[u8]) -> Result<Self, FileError> {
        let word = |at: usize| word(bytes, at);
        match word(header::MAGIC) {
            MAGIC => {}
            magic if magic == MAGIC.swap_bytes() => {
                return Err(FileError::Header("the file is in the other byte order"));
            }
            magic if magic.to_ne_bytes().starts_with(b"PERFSET") => {
                return Err(FileError::Header("the file has another version of the layout"));
            }
            _ => return Err(FileError::Header("the file does not begin with PERFSET")),
        }
        if word(header::LEN) != u64::try_from(header::BYTES).unwrap_or(0) {
            return Err(FileError::Header("the header has another length"));
        }
        let at = |word: usize| word.saturating_mul(WORD);
        let boot_id = bytes.get(at(header::BOOT_ID)..).and_then(<[u8]>::first_chunk).copied();
        let len = usize::try_from(word(header::PROGRAM_LEN)).unwrap_or(usize::MAX).min(header::PROGRAM_MAX);
        let program = bytes.get(at(header::PROGRAM)..).and_then(|bytes| bytes.get(..len));
        let process = ProcessIdentity {
            pid: word(header::PID),
            namespace: word(header::PID_NAMESPACE),
            start_time: word(header::START_TIME),
            time_namespace: word(header::TIME_NAMESPACE),
            boot_id: boot_id.unwrap_or_default(),
            program: String::from_utf8_lossy(program.unwrap_or_default()).into_owned(),
        };
        let id = [word(header::FILE_ID), word(header::FILE_ID.saturating_add(1))];
        Ok(Self { id, process, created: word(header::CREATED) })
    }
}

/// Returns a word of a copied file header; 0 beyond its end.
pub(crate) fn word(bytes: &[u8], at: usize) -> u64 {
    let from = bytes.get(at.saturating_mul(WORD)..);
    from.and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_ne_bytes(*word))
}

/// Validated entry of a file's segment table: its bytes exist in the file, and its kind is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableEntry {
    pub offset: u64,
    pub len: usize,
    pub kind: u64,
    /// Index of the entry that defines the counterset, for a segment of instances.
    pub counterset: usize,
}

impl TableEntry {
    /// Validates the words of the segment table's entry `number` in a file of `committed` bytes, in which earlier
    /// segments end at `end`. Segments must not overlap, so that all together cause no more work than the file has
    /// bytes.
    pub fn parse(
        number: usize,
        words: [u64; entry::WORDS],
        end: u64,
        committed: u64,
    ) -> Result<Self, FileError> {
        /// Bit mask of the offset within a page: segments begin and end on multiples of 4096.
        const WITHIN_PAGE: u64 = 0xFFF;
        let [offset, len, kind, counterset] = words;
        let wrong = |what, value| Err(FileError::Entry { number, what, value });
        if offset & WITHIN_PAGE != 0 || offset < end || offset > committed {
            return wrong("the offset", offset);
        }
        // Compared with the rest of the file: the sum of offset and length could overflow.
        if len & WITHIN_PAGE != 0 || len == 0 || len > committed.saturating_sub(offset) {
            return wrong("the length", len);
        }
        let Ok(len) = usize::try_from(len) else { return wrong("the length", len) };
        if kind != entry::DEFINITION && kind != entry::INSTANCES {
            return wrong("the kind", kind);
        }
        match usize::try_from(counterset) {
            Ok(counterset) if counterset < header::TABLE_MAX => Ok(Self { offset, len, kind, counterset }),
            _ => wrong("the counterset index", counterset),
        }
    }
}

/// Loads a word of a mapped or copied file header.
pub(crate) fn load(words: &[std::sync::atomic::AtomicU64], at: usize) -> u64 {
    words.get(at).map_or(0, |word| word.load(Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        for (why, text) in [
            (FileError::Kind("the path is a directory"), "the path is a directory"),
            (FileError::TooMany, "the directory has more files than are read"),
            (
                FileError::Stranger { owner: 7 },
                "skipped: the file belongs to user 7; `--all-users` includes it",
            ),
        ] {
            assert_eq!(why.to_string(), text);
        }
    }

    #[test]
    fn entries() {
        let good = [8192, 4096, 1, 0];
        assert!(TableEntry::parse(0, good, 8192, 12288).is_ok());
        assert!(TableEntry::parse(1, good, 12288, 65536).is_err(), "another has its place");
        for (at, value, what) in [
            (0, 0, "the offset"),
            (0, 4096, "the offset"),
            (0, 8200, "the offset"),
            (0, u64::MAX - 4095, "the offset"),
            (0, 12288, "the length"),
            (1, 0, "the length"),
            (1, 100, "the length"),
            (1, 8192, "the length"),
            (1, u64::MAX - 4095, "the length"),
            (2, 0, "the kind"),
            (2, 3, "the kind"),
            (3, 128, "the counterset index"),
        ] {
            let mut words = good;
            words[at] = value;
            match TableEntry::parse(7, words, 8192, 12288) {
                Err(FileError::Entry { number: 7, what: found, .. }) => assert_eq!(found, what),
                other => panic!("{words:?}: {other:?}"),
            }
        }
    }
}
