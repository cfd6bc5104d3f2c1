//! Parser of `/proc/cpuinfo`: the frequency of each CPU, where the architecture reports it.
//!
//! Source: `proc_cpuinfo(5)`. Every architecture has its own lines; x86 has these.

use crate::sources::cpulist::CPU_LIMIT;
use crate::sources::text::{Text, TextError};

/// Frequencies of the CPUs in kHz, from the lines "cpu MHz" of `/proc/cpuinfo`.
///
/// ```
/// use perfset_linux::sources::cpuinfo::CpuInfo;
///
/// let mut cpuinfo = CpuInfo::default();
/// cpuinfo.parse(b"processor\t: 3\ncpu MHz\t\t: 2445.430\n").unwrap();
/// assert_eq!(cpuinfo.khz_of(3), Some(2_445_430));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuInfo {
    /// Number and frequency in kHz of each CPU, in ascending order of the CPUs.
    khz: Vec<(u32, u64)>,
}

impl CpuInfo {
    /// Parses `/proc/cpuinfo`, replacing all previous contents.
    ///
    /// # Errors
    /// If a line that is needed is not as documented.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.khz.clear();
        let mut text = Text::new(text);
        let mut cpu = None;
        let mut lowest = 0;
        while !text.is_at_end() {
            if take_key(&mut text, b"processor") {
                let id = text.id(lowest..CPU_LIMIT)?;
                lowest = id.saturating_add(1);
                cpu = Some(id);
                text.end_of_line()?;
            } else if take_key(&mut text, b"cpu MHz") {
                // Taken, not copied: a second frequency of the same CPU is an error, not a second entry.
                let Some(cpu) = cpu.take() else { return Err(text.expected("a line \"processor\" before")) };
                self.khz.push((cpu, khz(&mut text)?));
            } else {
                text.line()?;
            }
        }
        Ok(())
    }

    /// Returns the frequency of a CPU in kHz.
    #[must_use]
    pub fn khz_of(&self, cpu: u32) -> Option<u64> {
        let at = self.khz.binary_search_by_key(&cpu, |of| of.0).ok()?;
        self.khz.get(at).map(|of| of.1)
    }
}

/// Skips the name of a line, `key`, with its colon and the blanks around it. Returns `false` and skips nothing if
/// they do not come next.
fn take_key(text: &mut Text<'_>, key: &[u8]) -> bool {
    let mut behind = *text;
    // The colon must follow: s390 has lines such as `processor 0: version = …`, which mean something else.
    let found = behind.take(key) && {
        behind.skip_blanks();
        behind.take(b":")
    };
    if found {
        behind.skip_blanks();
        *text = behind;
    }
    found
}

/// Parses a number of MHz with a fraction, and skips its line. Returns kHz.
fn khz(text: &mut Text<'_>) -> Result<u64, TextError> {
    let mhz = text.number()?;
    let fraction = if text.take(b".") { text.line()? } else { text.end_of_line().map(|()| &b""[..])? };
    // Computed in whole numbers: the kernel prints three decimals, so the result in kHz is exact.
    let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).chain(std::iter::repeat(&b'0'));
    let thousandths = digits.take(3).fold(0, |sum: u64, digit| {
        sum.saturating_mul(10).saturating_add(u64::from(digit.saturating_sub(b'0')))
    });
    Ok(mhz.saturating_mul(1_000).saturating_add(thousandths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        /// Expected frequencies of the CPUs 0 and 1 in kHz, or the line number of the expected error and the text
        /// found there.
        type Want = Result<[Option<u64>; 2], (usize, &'static str)>;
        let cases: [(&str, &str, Want); 11] = [
            (
                "two of x86",
                "processor\t: 0\nmodel name\t: cpu MHz : 5\ncpu MHz\t\t: 2.003\n\nprocessor\t: 1\ncpu MHz\t\t: 5.7\n",
                Ok([Some(2_003), Some(5_700)]),
            ),
            ("no fraction", "processor : 0\ncpu MHz : 7\n", Ok([Some(7_000), None])),
            ("long fraction", "processor : 0\ncpu MHz : 7.0039999\n", Ok([Some(7_003), None])),
            ("arm64", "processor\t: 0\nBogoMIPS\t: 50.00\n\nprocessor\t: 1\n", Ok([None, None])),
            ("s390", "processor 0: version = FF,  identification = 2\n", Ok([None, None])),
            ("empty", "", Ok([None, None])),
            ("no processor", "cpu MHz : 7\n", Err((1, "\"7\""))),
            ("two frequencies", "processor : 0\ncpu MHz : 7\ncpu MHz : 8\n", Err((3, "\"8\""))),
            ("out of order", "processor : 1\nprocessor : 0\n", Err((2, "\"0\""))),
            ("no number", "processor : 0\ncpu MHz : unknown\n", Err((2, "\"unknown\""))),
            ("cut", "processor : 0\ncpu MHz : 244", Err((2, "the end of the file"))),
        ];
        for (name, text, want) in cases {
            let mut cpuinfo = CpuInfo::default();
            let got = cpuinfo.parse(text.as_bytes()).map(|()| [0, 1].map(|cpu| cpuinfo.khz_of(cpu)));
            assert_eq!(got.map_err(|e| (e.line, e.found)), want.map_err(|(l, f)| (l, f.into())), "{name}");
        }
    }
}
