//! Parser of `/proc/softirqs`: the number of soft interrupts of each CPU, by kind.
//!
//! Source: `proc(5)`.

use crate::sources::columns::CpuColumns;
use crate::sources::text::{Text, TextError};

/// Soft interrupts of each CPU since boot, as sums over the rows of `/proc/softirqs`. The file has columns for all
/// *possible* CPUs, online or not.
///
/// ```
/// use perfset_linux::sources::softirqs::Softirqs;
///
/// let mut softirqs = Softirqs::default();
/// softirqs.parse(b"       CPU0  CPU1\n  HI:    2     3\n RCU:    5     7\n").unwrap();
/// assert_eq!(softirqs.for_cpu(1), Some(10));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Softirqs {
    all: CpuColumns,
}

impl Softirqs {
    /// Parses `/proc/softirqs`, replacing all previous contents.
    ///
    /// # Errors
    /// If a row is not as documented, because the sums would be wrong.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        self.all.start(&mut text)?;
        while !text.is_at_end() {
            text.until_colon()?;
            self.all.add(&mut text)?;
            text.end_of_line()?;
        }
        Ok(())
    }

    /// Returns the number of soft interrupts that a CPU ran.
    #[must_use]
    pub fn for_cpu(&self, cpu: u32) -> Option<u64> {
        self.all.get(cpu)
    }
}

/// Kind of a soft interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftirqKind {
    /// `HI`: soft interrupts for tasklets with high priority.
    Hi,
    /// `TIMER`: soft interrupts for timers of the kernel.
    Timer,
    /// `NET_TX`: soft interrupts for the sending of packets.
    NetTx,
    /// `NET_RX`: soft interrupts for the receiving of packets.
    NetRx,
    /// `BLOCK`: soft interrupts for the completion of block I/O.
    Block,
    /// `IRQ_POLL`, `BLOCK_IOPOLL` before Linux 4.5: soft interrupts for the polling of block devices.
    IrqPoll,
    /// `TASKLET`: soft interrupts for tasklets with normal priority.
    Tasklet,
    /// `SCHED`: soft interrupts for load balancing of the scheduler.
    Sched,
    /// `HRTIMER`: soft interrupts for timers of high resolution.
    HrTimer,
    /// `RCU`: soft interrupts for callbacks of read-copy-update.
    Rcu,
}

impl SoftirqKind {
    /// All kinds of soft interrupts, in the order of the rows in [`SoftirqKinds`].
    const ALL: [Self; 10] = [
        Self::Hi,
        Self::Timer,
        Self::NetTx,
        Self::NetRx,
        Self::Block,
        Self::IrqPoll,
        Self::Tasklet,
        Self::Sched,
        Self::HrTimer,
        Self::Rcu,
    ];

    fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"HI" => Self::Hi,
            b"TIMER" => Self::Timer,
            b"NET_TX" => Self::NetTx,
            b"NET_RX" => Self::NetRx,
            b"BLOCK" => Self::Block,
            b"IRQ_POLL" | b"BLOCK_IOPOLL" => Self::IrqPoll,
            b"TASKLET" => Self::Tasklet,
            b"SCHED" => Self::Sched,
            b"HRTIMER" => Self::HrTimer,
            b"RCU" => Self::Rcu,
            _ => return None,
        })
    }
}

/// Numbers of soft interrupts by kind and CPU. A malformed row does not affect the others.
///
/// ```
/// use perfset_linux::sources::softirqs::{SoftirqKind, SoftirqKinds};
///
/// let mut kinds = SoftirqKinds::default();
/// kinds.parse(b"       CPU0  CPU1\n  HI:    2     3\n RCU:    5     7\n").unwrap();
/// assert_eq!(kinds.for_kind(SoftirqKind::Rcu, 1), Some(7));
/// assert_eq!(kinds.row(SoftirqKind::Block), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SoftirqKinds {
    columns: CpuColumns,
    rows: [KindRow; SoftirqKind::ALL.len()],
}

/// Numbers of one row of `/proc/softirqs`, by column; `found` is `None` if the file has no such row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct KindRow {
    found: Option<Result<(), TextError>>,
    counts: Vec<u64>,
}

impl SoftirqKinds {
    /// Parses `/proc/softirqs`, replacing all previous contents.
    ///
    /// # Errors
    /// If the line with the columns is not as documented.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        for row in &mut self.rows {
            row.found = None;
            row.counts.clear();
        }
        let mut text = Text::new(text);
        self.columns.start(&mut text)?;
        while !text.is_at_end() {
            let mut line = text;
            let cut = text.line().is_err();
            let Ok(name) = line.until_colon() else { continue };
            // A newer kernel may have kinds for which there is no counter.
            let Some(row) = SoftirqKind::from_name(name).and_then(|kind| self.rows.get_mut(place(kind)))
            else {
                continue;
            };
            row.counts.clear();
            row.found = Some(row.read(&mut line, self.columns.count()));
            if cut {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the error in the row of that kind of soft interrupt, or `Ok` if the row is valid; `None` if there is
    /// no such row.
    #[must_use]
    pub fn row(&self, kind: SoftirqKind) -> Option<&Result<(), TextError>> {
        self.rows.get(place(kind))?.found.as_ref()
    }

    /// Returns the number of soft interrupts of one kind that a CPU ran.
    #[must_use]
    pub fn for_kind(&self, kind: SoftirqKind, cpu: u32) -> Option<u64> {
        self.rows.get(place(kind))?.counts.get(self.columns.index(cpu)?).copied()
    }
}

impl KindRow {
    fn read(&mut self, line: &mut Text<'_>, columns: usize) -> Result<(), TextError> {
        for _ in 0..columns {
            self.counts.push(line.number()?);
        }
        line.end_of_line()
    }
}

fn place(kind: SoftirqKind) -> usize {
    SoftirqKind::ALL.iter().position(|it| *it == kind).unwrap_or(SoftirqKind::ALL.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        let text = "CPU0 CPU2\n HI: 2 3\n BLOCK_IOPOLL: 5 7\n NEW: 1 1\n RCU: 11\n";
        let mut kinds = SoftirqKinds::default();
        kinds.parse(b"CPU0\nSCHED: 97\n").unwrap(); // must leave nothing behind
        kinds.parse(text.as_bytes()).unwrap();
        assert_eq!([0, 1, 2].map(|cpu| kinds.for_kind(SoftirqKind::Hi, cpu)), [Some(2), None, Some(3)]);
        assert_eq!([0, 1, 2].map(|cpu| kinds.for_kind(SoftirqKind::IrqPoll, cpu)), [Some(5), None, Some(7)]);
        assert_eq!((kinds.row(SoftirqKind::Sched), kinds.for_kind(SoftirqKind::Sched, 0)), (None, None));
        assert_eq!(kinds.row(SoftirqKind::Rcu).unwrap().clone().unwrap_err().line, 5);
        kinds.parse(b"CPU0\nHI: 2\nTIMER: 3").unwrap();
        assert_eq!(
            (kinds.row(SoftirqKind::Hi), kinds.for_kind(SoftirqKind::Hi, 0)),
            (Some(&Ok(())), Some(2))
        );
        assert!(kinds.row(SoftirqKind::Timer).unwrap().is_err(), "cut");
        assert!(kinds.parse(b"HI: 2\n").is_err());
    }

    #[test]
    fn rows() {
        /// Expected sums of the CPUs 0, 1 and 2, or the line number of the expected error and the text found there.
        type Want = Result<[Option<u64>; 3], (usize, &'static str)>;
        let cases: [(&str, &str, Want); 7] = [
            ("sums", "CPU0 CPU2\n HI: 2 3\n NET_TX: 5 7\n", Ok([Some(7), None, Some(10)])),
            ("wrapping", "CPU0\nHI: 18446744073709551615\nRCU: 3\n", Ok([Some(2), None, None])),
            ("empty", "", Err((1, "the end of the file"))),
            ("too few", "CPU0 CPU2\n HI: 2\n", Err((2, "the end of the line"))),
            ("too many", "CPU0 CPU2\n HI: 2 3 5\n", Err((2, "\"5\""))),
            ("cut", "CPU0 CPU2\n HI: 2 3\n RCU: 5 7", Err((3, "the end of the file"))),
            ("no name", "CPU0 CPU2\n 2 3\n", Err((2, "\"2\""))),
        ];
        for (name, text, want) in cases {
            let mut softirqs = Softirqs::default();
            let got = softirqs.parse(text.as_bytes()).map(|()| [0, 1, 2].map(|cpu| softirqs.for_cpu(cpu)));
            assert_eq!(got.map_err(|e| (e.line, e.found)), want.map_err(|(l, f)| (l, f.into())), "{name}");
        }
    }
}
