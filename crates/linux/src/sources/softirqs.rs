//! `/proc/softirqs`: how often each CPU ran soft interrupts, by kind.
//!
//! Source: `proc(5)`.

use crate::sources::columns::Columns;
use crate::sources::text::{Text, TextError};

/// Sums of the file by CPU, since boot. The columns are those of all *possible* CPUs, online or not.
///
/// ```
/// use perfset_linux::sources::softirqs::Softirqs;
///
/// let mut softirqs = Softirqs::default();
/// softirqs.parse(b"       CPU0  CPU1\n  HI:    2     3\n RCU:    5     7\n").unwrap();
/// assert_eq!(softirqs.of(1), Some(10));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Softirqs {
    all: Columns,
}

impl Softirqs {
    /// Takes everything from `text`; what was there before goes.
    ///
    /// # Errors
    /// If a row is not as documented: the sums would be wrong.
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

    /// Soft interrupts that a CPU ran.
    #[must_use]
    pub fn of(&self, cpu: u32) -> Option<u64> {
        self.all.get(cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        /// What the CPUs 0, 1 and 2 have, or the line of the error and what it found.
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
            let got = softirqs.parse(text.as_bytes()).map(|()| [0, 1, 2].map(|cpu| softirqs.of(cpu)));
            assert_eq!(got.map_err(|e| (e.line, e.found)), want.map_err(|(l, f)| (l, f.into())), "{name}");
        }
    }
}
