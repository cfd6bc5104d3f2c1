//! Parser of the rows of `/proc/interrupts`, each with its sum over the CPUs.
//!
//! Source: `proc_interrupts(5)`; `show_interrupts` of the kernel prints the rows.

use crate::sources::text::{Text, TextError};

/// Row of `/proc/interrupts`: an interrupt, or a count of the architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterruptRow {
    /// Number of the interrupt, or name of the architecture's count, such as `LOC`.
    pub name: Vec<u8>,
    /// Sum of the interrupts over the CPUs, modulo 2^32: the kernel counts in 32 bits for each CPU.
    pub count: u32,
    /// Text behind the interrupt counts: chip, line and devices of an interrupt, or the meaning of a count.
    pub about: Vec<u8>,
}

impl InterruptRow {
    /// Returns the devices of an interrupt, as their drivers name them; empty for a count of the architecture, and for
    /// an interrupt that no driver uses.
    ///
    /// ```
    /// use perfset_linux::sources::interrupt_rows::InterruptRow;
    ///
    /// let row = InterruptRow { name: b"9".to_vec(), count: 7, about: b"IO-APIC   9-fasteoi   acpi, x".to_vec() };
    /// assert_eq!(row.devices(), b"acpi, x");
    /// ```
    #[must_use]
    pub fn devices(&self) -> &[u8] {
        if !self.name.iter().all(u8::is_ascii_digit) {
            return &[];
        }
        // The kernel pads what precedes the devices, and prints two blanks before them. Without devices the padding
        // ends the line.
        let gap = self.about.windows(2).rposition(|pair| pair == b"  ");
        let devices = gap.and_then(|at| self.about.get(at.saturating_add(2)..));
        devices.unwrap_or_default().trim_ascii()
    }
}

/// Contents of `/proc/interrupts`: its rows.
///
/// ```
/// use perfset_linux::sources::interrupt_rows::InterruptRows;
///
/// let mut interrupts = InterruptRows::default();
/// interrupts.parse(b"     CPU0 CPU1\n  9:    2    3 IO-APIC   9-edge      acpi\nERR:    5\n").unwrap();
/// let counts: Vec<_> = interrupts.rows.iter().map(|row| row.count).collect();
/// assert_eq!(counts, [5, 5]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterruptRows {
    /// Rows of `/proc/interrupts`, in the kernel's order.
    pub rows: Vec<InterruptRow>,
}

impl InterruptRows {
    /// Parses `/proc/interrupts`, replacing all previous contents.
    ///
    /// # Errors
    /// If the line of the CPUs is missing, or a row has no name or too few counts.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        let mut cpus = 0_usize;
        while !text.is_at_line_end() {
            if !text.word()?.starts_with(b"CPU") {
                return Err(text.expected("names of CPUs"));
            }
            cpus = cpus.saturating_add(1);
        }
        text.line()?;
        let mut count = 0_usize;
        while !text.is_at_end() {
            // Rows of the previous text are overwritten, so that their memory is reused.
            if self.rows.len() <= count {
                self.rows.push(InterruptRow::default());
            }
            if let Some(row) = self.rows.get_mut(count) {
                row.parse(cpus, &mut text)?;
            }
            count = count.saturating_add(1);
        }
        self.rows.truncate(count);
        Ok(())
    }
}

impl InterruptRow {
    fn parse(&mut self, cpus: usize, text: &mut Text<'_>) -> Result<(), TextError> {
        text.skip_blanks();
        self.name.clear();
        self.name.extend_from_slice(text.until_colon()?);
        if self.name.is_empty() {
            return Err(text.expected("the name of an interrupt"));
        }
        self.count = 0;
        for cpu in 0..cpus {
            // Rows such as ERR have one number for the whole machine.
            if cpu == 1 && text.is_at_line_end() {
                break;
            }
            let low = u32::try_from(text.number()? & u64::from(u32::MAX)).unwrap_or(0);
            self.count = self.count.wrapping_add(low);
        }
        text.skip_blanks();
        self.about.clear();
        self.about.extend_from_slice(text.line()?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<(String, u32, String)>, String> {
        let mut interrupts = InterruptRows::default();
        interrupts.parse(b" CPU0\n 1: 2 before\n 2: 3 before\n 3: 4 before\n").unwrap();
        let parsed = interrupts.parse(text.as_bytes()).map_err(|error| error.to_string());
        let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let row = |row: &InterruptRow| (string(&row.name), row.count, string(row.devices()));
        parsed.map(|()| interrupts.rows.iter().map(row).collect())
    }

    #[test]
    fn rows() {
        let head = "           CPU0       CPU2       \n";
        for (line, want) in [
            ("  0:        401        409 IR-IO-APIC    2-edge      timer\n", ("0", 810, "timer")),
            (
                " 16:   1   2   IO-APIC  16-fasteoi   ehci_hcd:usb1, snd x\n",
                ("16", 3, "ehci_hcd:usb1, snd x"),
            ),
            (" 24:   0   3 PCI-MSIX-0000:41:00.0   0-edge    \n", ("24", 3, "")),
            (" 13:   5   7     GICv3  27 Level     arch_timer\n", ("13", 12, "arch_timer")),
            (" 13:   5   7\n", ("13", 12, "")),
            ("LOC:        587        593  Local timer interrupts\n", ("LOC", 1_180, "")),
            ("ERR:        661\n", ("ERR", 661, "")),
            ("IPI0:  11 13  Rescheduling interrupts\n", ("IPI0", 24, "")),
            ("  7: 4294967295 2 x\n", ("7", 1, "")),
        ] {
            let (name, count, devices) = want;
            let want = vec![(name.to_owned(), count, devices.to_owned())];
            assert_eq!(parse(&format!("{head}{line}")), Ok(want), "{line}");
        }
        assert_eq!(parse(" CPU0\n"), Ok(Vec::new()));
    }

    #[test]
    fn invalid_texts() {
        for (text, want) in [
            ("", "line 1: expected a word, found the end of the file"),
            ("x\n", "line 1: expected names of CPUs, found the end of the line"),
            ("CPU0 CPU1\n 7 1 2 x\n", "line 2: expected a name and a colon, found \"7\""),
            ("CPU0 CPU1\n : 1 2\n", "line 2: expected the name of an interrupt, found \" 1 2\\n\""),
            ("CPU0 CPU1\n 7: 1 x\n", "line 2: expected a number, found \"x\""),
            ("CPU0 CPU1\n 7: 1 2 x", "line 2: expected the rest of the line, found the end of the file"),
        ] {
            assert_eq!(parse(text).unwrap_err(), want, "{text:?}");
        }
    }
}
