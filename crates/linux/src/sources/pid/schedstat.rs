//! Parser of `/proc/PID/schedstat`: scheduling of one thread; for a process, of its first thread.
//!
//! Source: Documentation/scheduler/sched-stats.rst. Needs CONFIG_SCHED_INFO.

use crate::sources::text::{Text, TextError};

/// Scheduling times of one thread.
///
/// ```
/// use perfset_linux::sources::pid::schedstat::SchedStat;
///
/// let schedstat = SchedStat::parse(b"2 3 5\n")?;
/// assert_eq!(schedstat, SchedStat { run_ns: 2, wait_ns: 3, timeslices: 5 });
/// # Ok::<_, perfset_linux::TextError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedStat {
    /// Time that the thread ran. Unit: ns.
    pub run_ns: u64,
    /// Time that the thread could have run and waited for a processor. Unit: ns.
    pub wait_ns: u64,
    /// Number of times that the thread was given a processor.
    pub timeslices: u64,
}

impl SchedStat {
    /// Parses the text of `/proc/PID/schedstat`.
    ///
    /// # Errors
    /// If `text` is not one line of three numbers.
    pub fn parse(text: &[u8]) -> Result<Self, TextError> {
        let mut text = Text::new(text);
        let stat = Self { run_ns: text.number()?, wait_ns: text.number()?, timeslices: text.number()? };
        text.end_of_only_line()?;
        Ok(stat)
    }
}
