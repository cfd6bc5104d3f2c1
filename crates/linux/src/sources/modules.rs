//! Parser of `/proc/modules`: the loaded modules of the kernel.
//!
//! Source: `proc_modules(5)`.

use crate::sources::text::{Text, TextError};

/// Memory of all loaded modules of the kernel, parsed from `/proc/modules`.
///
/// ```
/// use perfset_linux::sources::modules::Modules;
///
/// let mut modules = Modules::default();
/// modules.parse(b"ext4 2 1 - Live 0x0\njbd2 3 1 ext4, Live 0x0\n").unwrap();
/// assert_eq!(modules.bytes, 5);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modules {
    /// Memory of all kernel modules, in bytes.
    pub bytes: u64,
}

impl Modules {
    /// Parses `/proc/modules`, replacing all previous contents. A text without lines has no modules.
    ///
    /// # Errors
    /// If a line is not as documented, because the sum would be wrong.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        self.bytes = 0;
        while !text.is_at_end() {
            text.word()?;
            self.bytes = self.bytes.saturating_add(text.number()?);
            text.line()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        /// Expected sum of the modules' memory in bytes, or the line number of the expected error and the text found
        /// there.
        type Want = Result<u64, (usize, &'static str)>;
        let cases: [(&str, &str, Want); 8] = [
            ("none", "", Ok(0)),
            ("a sum", "a_1 2 0 - Live 0x0 (O)\n3b 5 7 a_1, Live 0x0\n", Ok(7)),
            ("before there were states", "a 2 0\nb 5 1 [a]\n", Ok(7)),
            ("huge", "a 18446744073709551615 0\nb 5 1\n", Ok(u64::MAX)),
            ("no size", "a 2 0\nb\n", Err((2, "the end of the line"))),
            ("no number", "a x 0\n", Err((1, "\"x\""))),
            ("no name", "\n", Err((1, "the end of the line"))),
            ("cut", "a 2 0\nb 5 1", Err((2, "the end of the file"))),
        ];
        for (name, text, want) in cases {
            let mut modules = Modules { bytes: 11 };
            let got = modules.parse(text.as_bytes()).map(|()| modules.bytes);
            assert_eq!(got.map_err(|e| (e.line, e.found)), want.map_err(|(l, f)| (l, f.into())), "{name}");
        }
    }
}
