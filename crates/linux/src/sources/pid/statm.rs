//! Parser of `/proc/PID/statm`: memory use of a process in pages.
//!
//! Source: `proc_pid_statm(5)`. All numbers are 0 for threads of the kernel and for processes that have exited.

use crate::sources::text::{Text, TextError};

/// Fields of `/proc/PID/statm` that are needed for counters. Unit: pages.
///
/// ```
/// use perfset_linux::sources::pid::statm::Statm;
///
/// let statm = Statm::parse(b"13 7 5 1 0 2 0\n")?;
/// assert_eq!((statm.resident, statm.shared), (7, 5));
/// # Ok::<_, perfset_linux::TextError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statm {
    /// Field 2: resident memory of the process.
    pub resident: u64,
    /// Field 3: the part of [`resident`](Self::resident) memory that belongs to files and shared memory.
    pub shared: u64,
}

impl Statm {
    /// Parses the text of `/proc/PID/statm`.
    ///
    /// # Errors
    /// If `text` does not begin with three numbers.
    pub fn parse(text: &[u8]) -> Result<Self, TextError> {
        let mut text = Text::new(text);
        text.number()?; // size
        Ok(Self { resident: text.number()?, shared: text.number()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sense() {
        for (text, want) in [
            ("", "expected a number, found the end of the file"),
            ("1 2\n", "expected a number, found the end of the line"),
            ("1 2 3", "expected the rest of the line, found the end of the file"),
            ("1 -2 3\n", "expected a number, found \"-2\""),
        ] {
            assert_eq!(Statm::parse(text.as_bytes()).unwrap_err().to_string(), format!("line 1: {want}"));
        }
    }
}
