//! Parser of `/sys/devices/system/cpu/cpuN/acpi_cppc`: the real speed of a CPU.
//!
//! Source: "Collaborative Processor Performance Control (CPPC)" in the kernel's admin guide.

use crate::sources::text::{Text, TextError};

/// Pair of counters in a CPU's `feedback_ctrs`, which run while the CPU is not idle.
///
/// ```
/// use perfset_linux::sources::cppc::FeedbackCounters;
///
/// let counters = FeedbackCounters::parse(b"ref:2 del:3\n").unwrap();
/// assert_eq!(counters, FeedbackCounters { reference: 2, delivered: 3 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedbackCounters {
    /// Number of cycles at the CPU's fixed reference speed.
    pub reference: u64,
    /// Number of cycles at the CPU's real speed.
    pub delivered: u64,
}

impl FeedbackCounters {
    /// Parses the text of `feedback_ctrs`.
    ///
    /// # Errors
    /// If `text` is anything except "ref:N del:N", with or without blanks.
    pub fn parse(text: &[u8]) -> Result<Self, TextError> {
        let mut text = Text::new(text);
        let mut labelled = |label: &[u8], expected| {
            text.skip_blanks();
            if text.take(label) { text.number() } else { Err(text.expected(expected)) }
        };
        let reference = labelled(b"ref:", "\"ref:\"")?;
        let delivered = labelled(b"del:", "\"del:\"")?;
        text.end_of_only_line()?;
        Ok(Self { reference, delivered })
    }
}

/// Speed of a CPU's reference counter: `nominal_freq` MHz x `reference_perf` / `nominal_perf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceSpeed {
    /// Number of cycles that the reference counter counts in the time `ns`.
    cycles: u128,
    /// Time in which the reference counter counts `cycles` cycles, in ns.
    ns: u128,
}

impl ReferenceSpeed {
    /// Returns the reference speed for the values of the sysfs attributes that the arguments are named after; `None`
    /// if a value is 0, which means unknown.
    #[must_use]
    pub fn new(reference_perf: u64, nominal_perf: u64, nominal_freq: u64) -> Option<Self> {
        let cycles = u128::from(reference_perf).saturating_mul(u128::from(nominal_freq));
        let ns = u128::from(nominal_perf).saturating_mul(1_000); // 1 MHz is 1 cycle in 1,000 ns
        // Kept as a fraction. A speed that was rounded here would be off by more and more cycles as the
        // uptime grows.
        (cycles != 0 && ns != 0).then_some(Self { cycles, ns })
    }

    /// Returns the number of cycles that the CPU's reference counter counts in `elapsed_ns` if the CPU never idles.
    #[must_use]
    pub fn cycles_in(self, elapsed_ns: u64) -> u128 {
        u128::from(elapsed_ns).saturating_mul(self.cycles).checked_div(self.ns).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feedback_counters() {
        let counters = |reference, delivered| Ok(FeedbackCounters { reference, delivered });
        let cases = [
            ("ref:19 del:23\n", counters(19, 23)),
            (" ref: 19  del:\t23 \n", counters(19, 23)),
            ("del:23 ref:19\n", Err("\"del:23\"")),
            ("ref:19\n", Err("the end of the line")),
            ("ref:19 del:\n", Err("the end of the line")),
            ("ref:19 del:23", Err("the end of the file")),
            ("ref:19 del:23 x\n", Err("\"x\"")),
            ("", Err("the end of the file")),
        ];
        for (text, want) in cases {
            let got = FeedbackCounters::parse(text.as_bytes());
            assert_eq!(got.map_err(|e| e.found), want.map_err(str::to_owned), "{text:?}");
        }
    }

    #[test]
    fn reference_speed() {
        // 2,100 MHz at 30, so 700 MHz at 10.
        let speed = ReferenceSpeed::new(10, 30, 2_100).unwrap();
        assert_eq!(speed.cycles_in(1_000_000_000), 700_000_000);
        assert_eq!(speed.cycles_in(3), 2);
        for unknown in [(0, 30, 2_100), (10, 0, 2_100), (10, 30, 0)] {
            assert_eq!(ReferenceSpeed::new(unknown.0, unknown.1, unknown.2), None);
        }
        let huge = ReferenceSpeed::new(u64::MAX, 1, u64::MAX).unwrap();
        assert!(huge.cycles_in(u64::MAX) > 0);
    }
}
