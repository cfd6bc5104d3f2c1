//! Parser of `/proc/interrupts`: the number of interrupts of each CPU, by cause.
//!
//! Source: `proc_interrupts(5)`; the names of the rows are those of the architectures' `arch_show_interrupts`.

use crate::sources::columns::CpuColumns;
use crate::sources::text::{Text, TextError};

/// Interrupts of each online CPU since boot, as sums over the rows of `/proc/interrupts`.
///
/// ```
/// use perfset_linux::sources::interrupts::Interrupts;
///
/// let mut interrupts = Interrupts::default();
/// interrupts.parse(b"      CPU0  CPU3\n  1:    2     3  IO-APIC 1-edge i8042\nLOC:    5     7  Timer\n").unwrap();
/// assert_eq!(interrupts.for_cpu(3), Some(10));
/// assert_eq!(interrupts.clock_of(3), Some(7));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupts {
    all: CpuColumns,
    clock: CpuColumns,
    has_clock: bool,
}

impl Interrupts {
    /// Parses `/proc/interrupts`, replacing all previous contents.
    ///
    /// # Errors
    /// If a row is not as documented, because the sums would be wrong.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        self.has_clock = false;
        let mut header = text;
        self.clock.start(&mut header)?;
        self.all.start(&mut text)?;
        while !text.is_at_end() {
            text.skip_blanks();
            let by_number = text.is_at_digit();
            let clock_of_x86 = text.take(b"LOC:");
            if !clock_of_x86 && is_left_out(&mut text, self.all.count())? {
                text.line()?;
                continue;
            }
            let mut numbers = text;
            self.all.add(&mut text)?;
            let names = text.line()?.trim_ascii_end();
            // On arm64 the timer is an ordinary interrupt with a number, and the last word of its row names
            // it. There may be several such rows.
            if clock_of_x86 || by_number && names.ends_with(b" arch_timer") {
                self.clock.add(&mut numbers)?;
                self.has_clock = true;
            }
        }
        Ok(())
    }

    /// Returns the number of interrupts that a CPU took.
    #[must_use]
    pub fn for_cpu(&self, cpu: u32) -> Option<u64> {
        self.all.get(cpu)
    }

    /// Returns the number of interrupts of a CPU's own timer. `None` if the CPU has no column, or the file no row for
    /// these timers.
    #[must_use]
    pub fn clock_of(&self, cpu: u32) -> Option<u64> {
        if self.has_clock { self.clock.get(cpu) } else { None }
    }

    /// Returns `true` if there is a row of the CPUs' own timers: `LOC` on x86, `arch_timer` on arm64.
    #[must_use]
    pub fn has_clock(&self) -> bool {
        self.has_clock
    }
}

/// Skips the name of a row of `/proc/interrupts`. Returns `true` if the row must not be added: it has one number for
/// the whole machine, as `ERR` and `MIS` have, or is part of another row.
fn is_left_out(text: &mut Text<'_>, columns: usize) -> Result<bool, TextError> {
    let name = text.until_colon()?;
    // On x86 a TLB shootdown is a function call, and since Linux 4.8 the row CAL counts it, too.
    if name == b"TLB" {
        return Ok(true);
    }
    // With one CPU the only number of such a row looks like that of a column, so the check below does not
    // find it. The case of the letters depends on the architecture.
    if [b"ERR", b"MIS", b"BAD"].iter().any(|total| name.eq_ignore_ascii_case(*total)) {
        return Ok(true);
    }
    let mut first = *text;
    Ok(columns > 1 && first.number().is_ok() && first.is_at_line_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        let two = "           CPU0       CPU2\n";
        let (sum, clock, none) = (Some, Some, None);
        /// Expected interrupts and clock interrupts of the CPUs 0, 1 and 2, or the line number of the expected error
        /// and the text found there.
        type Want = Result<([Option<u64>; 3], [Option<u64>; 3]), (usize, &'static str)>;
        let cases: [(&str, String, Want); 16] = [
            // Rows that are added. CPU 1 is offline: it has no column, and must have no number.
            ("no rows", two.into(), Ok(([sum(0), none, sum(0)], [none; 3]))),
            (
                "by number",
                format!("{two}  7:  2  3  IO-APIC 5-edge 11\n"),
                Ok(([sum(2), none, sum(3)], [none; 3])),
            ),
            (
                // Each architecture names its timers in another way; on arm64 there can be several rows of
                // them.
                "clock of x86",
                format!("{two} 7: 2 3 x\nLOC: 5 7 Local timer interrupts\n"),
                Ok(([sum(7), none, sum(10)], [clock(5), none, clock(7)])),
            ),
            (
                "clocks of arm64",
                format!("{two} 9: 2 3 GICv3 27 Level arch_timer\n 8: 5 7 GICv3 26 Level arch_timer \n"),
                Ok(([sum(7), none, sum(10)], [clock(7), none, clock(10)])),
            ),
            (
                "another timer",
                format!("{two}9: 2 3 GICv3 my_arch_timer\n"),
                Ok(([sum(2), none, sum(3)], [none; 3])),
            ),
            (
                // Rows without a number for each CPU, or with interrupts that another row has counted, would
                // falsify the sums.
                "totals of the machine",
                format!("{two}ERR:  11\nMIS: 13\nErr: 17\nBAD: 19\nNEW: 23\n 5: 2 3\n"),
                Ok(([sum(2), none, sum(3)], [none; 3])),
            ),
            (
                "TLB shootdowns, which are function calls",
                format!("{two}CAL: 5 7 Function call interrupts\nTLB: 2 3 TLB shootdowns\n"),
                Ok(([sum(5), none, sum(7)], [none; 3])),
            ),
            (
                "totals, one CPU",
                "  CPU0\nERR: 11\nMIS: 13\nNMI: 5\n".into(),
                Ok(([sum(5), none, none], [none; 3])),
            ),
            // An incomplete file is an error: a sum over fewer rows would look like a counter that fell.
            ("empty", String::new(), Err((1, "the end of the file"))),
            ("no columns", "x\n".into(), Err((1, "\"x\""))),
            ("columns twice", "CPU0 CPU0\n".into(), Err((1, "\"0\""))),
            ("cut in the first line", "CPU0".into(), Err((1, "the end of the file"))),
            ("cut in a number", format!("{two}5: 2 3"), Err((2, "the end of the file"))),
            ("cut in a name", format!("{two}5: 2 3 IO-A"), Err((2, "the end of the file"))),
            ("too few", format!("{two}5: 2 IO-APIC\n"), Err((2, "\"IO-APIC\""))),
            ("no name", format!("{two}\n5: 2 3\n"), Err((2, "the end of the line"))),
        ];
        for (name, text, want) in cases {
            let mut interrupts = Interrupts::default();
            interrupts.parse(b" CPU0\nLOC: 97\n").unwrap(); // must leave nothing behind
            let got = interrupts.parse(text.as_bytes());
            match want {
                Err(want) => {
                    assert_eq!(got.map_err(|e| (e.line, e.found)), Err((want.0, want.1.into())), "{name}")
                }
                Ok((all, clock)) => {
                    assert_eq!(got, Ok(()), "{name}");
                    assert_eq!([0, 1, 2].map(|cpu| interrupts.for_cpu(cpu)), all, "{name}");
                    assert_eq!([0, 1, 2].map(|cpu| interrupts.clock_of(cpu)), clock, "{name}");
                }
            }
        }
    }
}
