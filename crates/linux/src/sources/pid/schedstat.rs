//! `/proc/PID/schedstat`: how one thread was scheduled, of a process its first.
//!
//! Source: Documentation/scheduler/sched-stats.rst. Needs CONFIG_SCHED_INFO.

use crate::sources::text::{Text, TextError};

/// The three numbers.
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
    /// Ran. Unit: ns.
    pub run_ns: u64,
    /// Could have run and waited for a processor. Unit: ns.
    pub wait_ns: u64,
    /// How often it was given a processor.
    pub timeslices: u64,
}

impl SchedStat {
    /// Takes everything from `text`.
    ///
    /// # Errors
    /// If it is not one line of three numbers.
    pub fn parse(text: &[u8]) -> Result<Self, TextError> {
        let mut text = Text::new(text);
        let stat = Self { run_ns: text.number()?, wait_ns: text.number()?, timeslices: text.number()? };
        text.end_of_only_line()?;
        Ok(stat)
    }
}
