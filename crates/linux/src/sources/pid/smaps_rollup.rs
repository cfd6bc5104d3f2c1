//! `/proc/PID/smaps_rollup`: what a process's memory is shared with others.
//!
//! Source: Documentation/filesystems/proc.rst. Since Linux 4.14. The kernel goes through all pages of the process to
//! print it. Only for who may trace the process; `ESRCH` for threads of the kernel and for those that have ended.

use crate::sources::named::{Number, kib, numbers};
use crate::sources::text::{Text, TextError};

/// The line that feeds a counter.
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
    /// Takes everything from `text`; from an empty one, nothing.
    ///
    /// # Errors
    /// If there is something, and not that line.
    pub fn parse(text: &[u8]) -> Result<Self, TextError> {
        let mut rollup = Self::default();
        if !text.is_empty() {
            numbers(&mut Text::new(text), kib, &mut [("Pss:", &mut rollup.pss)])?;
        }
        Ok(rollup)
    }
}
