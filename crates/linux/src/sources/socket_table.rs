//! Parser of the socket tables of `/proc/net`: a line for each socket, after a line of column names.

use super::text::{Text, TextError};

/// Position in a socket table of `/proc/net` that is parsed chunk by chunk, because it may have millions of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SocketTable {
    /// Number of lines of the socket table that were parsed.
    lines: usize,
}

impl SocketTable {
    /// Parses the lines of the next chunk of a socket table. `parse` gets the part of each line behind the socket's
    /// number and its addresses.
    pub(super) fn add(
        &mut self,
        piece: &[u8],
        mut parse: impl FnMut(&mut Text<'_>) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        let mut text = Text::new(piece);
        let before = self.lines;
        let all = self.parse_lines(&mut text, &mut parse);
        // The cursor counts the lines of this chunk only.
        all.map_err(|error| TextError { line: error.line.saturating_add(before), ..error })
    }

    fn parse_lines(
        &mut self,
        text: &mut Text<'_>,
        parse: &mut impl FnMut(&mut Text<'_>) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        while !text.is_at_end() {
            text.skip_blanks();
            if self.lines == 0 {
                if !text.take(b"sl ") {
                    return Err(text.expected("the heads of the columns"));
                }
            } else {
                text.words(3)?; // number, and both addresses
                parse(text)?;
            }
            text.line()?;
            self.lines = self.lines.saturating_add(1);
        }
        Ok(())
    }

    /// Returns an error if the socket table had not even column names.
    pub(super) fn heads(&self) -> Result<(), TextError> {
        if self.lines == 0 { Err(Text::new(b"").expected("the heads of the columns")) } else { Ok(()) }
    }
}

/// Returns the value of hexadecimal digits, at most 16, in the capitals that the kernel prints in socket tables.
pub(super) fn hexadecimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, digit| match digit {
        b'0'..=b'9' => Some(number << 4 | u64::from(digit & 0xF)),
        b'A'..=b'F' => Some(number << 4 | u64::from(digit & 0xF).saturating_add(9)),
        _ => None,
    })
}
