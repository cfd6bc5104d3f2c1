//! `/proc/PID/statm`: pages of a process.
//!
//! Source: `proc_pid_statm(5)`. Zeros for threads of the kernel and for processes that have ended.

use crate::sources::text::{Text, TextError};

/// The fields that feed counters. Unit: pages.
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
    /// 2: in memory.
    pub resident: u64,
    /// 3: of those, pages of files and of shared memory.
    pub shared: u64,
}

impl Statm {
    /// Takes everything from `text`.
    ///
    /// # Errors
    /// If it does not begin with three numbers.
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
