//! Parser of `/proc/sys/fs/file-nr`: the number of open files, and its limit.
//!
//! Source: "fs" in the kernel's documents of sysctl.

use crate::sources::text::{Text, TextError};

/// Number of open files of the machine and its limit, parsed from `/proc/sys/fs/file-nr`.
///
/// ```
/// use perfset_linux::sources::file_nr::FileNr;
///
/// let mut files = FileNr::default();
/// files.parse(b"7\t2\t4096\n").unwrap();
/// assert_eq!((files.open(), files.limit()), (5, Some(4096)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileNr {
    allocated: u64,
    unused: u64,
    most: u64,
}

impl FileNr {
    /// Parses `/proc/sys/fs/file-nr`, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` is anything except three numbers.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        *self = Self { allocated: text.number()?, unused: text.number()?, most: text.number()? };
        text.end_of_only_line()
    }

    /// Returns the number of open files of the machine.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.allocated.saturating_sub(self.unused)
    }

    /// Returns the maximum number of open files of the machine. `None` if it is the largest number that the kernel
    /// supports.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        // The kernel accepts at most `LONG_MAX`. systemd sets it at boot to get rid of the limit.
        const LARGEST: u64 = u64::MAX >> 1;
        Some(self.most).filter(|most| *most < LARGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (text, want) in [
            ("7\t2\t11\n", Ok((5, Some(11)))),
            ("2 7 0\n", Ok((0, Some(0)))),
            ("7\t0\t9223372036854775807\n", Ok((7, None))),
            ("7\t2\n", Err("the end of the line")),
            ("7\t2\t11\t13\n", Err("\"13\"")),
            ("7\t2\t11", Err("the end of the file")),
        ] {
            let mut files = FileNr::default();
            let got = files.parse(text.as_bytes()).map(|()| (files.open(), files.limit()));
            assert_eq!(got.map_err(|e| e.found), want.map_err(str::to_owned), "{text:?}");
        }
    }
}
