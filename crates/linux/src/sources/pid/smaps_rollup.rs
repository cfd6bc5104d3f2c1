//! Parser of `/proc/PID/smaps_rollup`: the part of a process in memory that it shares with other processes.
//!
//! Source: Documentation/filesystems/proc.rst. Since Linux 4.14. The kernel visits all pages of the process to print
//! the file. Readable only with permission to trace the process. Gives `ESRCH` for threads of the kernel and for
//! processes that have exited.

use crate::sources::named::{Number, kib, numbers};
use crate::sources::text::{Text, TextError};

/// Line of `/proc/PID/smaps_rollup` that is needed for a counter, `Pss`.
///
/// ```
/// use perfset_linux::sources::pid::smaps_rollup::SmapsRollup;
///
/// let rollup = SmapsRollup::parse(b"0-1 ---p 0 00:00 0   [rollup]\nRss:  7 kB\nPss:  5 kB\n")?;
/// assert_eq!(rollup.pss, Some(Ok(5)));
/// # Ok::<_, perfset_linux::TextError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SmapsRollup {
    /// `Pss`: memory in use, each page divided by the number of processes that use it. Unit: KiB.
    pub pss: Number,
}

impl SmapsRollup {
    /// Parses the text of `/proc/PID/smaps_rollup`; an empty `text` has no number.
    ///
    /// # Errors
    /// If `text` is not empty and does not contain the line.
    pub fn parse(text: &[u8]) -> Result<Self, TextError> {
        let mut rollup = Self::default();
        if !text.is_empty() {
            numbers(&mut Text::new(text), kib, &mut [("Pss:", &mut rollup.pss)])?;
        }
        Ok(rollup)
    }
}
