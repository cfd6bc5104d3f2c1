//! Cursor used by all parsers of kernel text, and their common error.

use std::ops::Range;

/// Error in the text of a kernel file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected}, found {found}")]
pub struct TextError {
    /// Number of the line with the error, counted from 1.
    pub line: usize,
    /// Description of the text that was expected.
    pub expected: &'static str,
    /// Text that was found instead: quoted, escaped and cut to 40 characters, or the end of the line or file.
    pub found: String,
}

/// Cursor that parses kernel text from front to back, byte by byte. Fields are one to three bytes long, so that
/// searching would cost more.
///
/// Every line of the kernel ends in a newline. A text that ends elsewhere was cut, and so was its last number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    rest: &'a [u8],
    /// Number of lines before the text cursor. Counted along the way, so that the line of an error is known without
    /// another pass.
    lines: usize,
}

impl<'a> Text<'a> {
    pub(crate) fn new(all: &'a [u8]) -> Self {
        Self { rest: all, lines: 0 }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Skips blanks of a kernel text. Returns `true` if the line ends there.
    pub(crate) fn is_at_line_end(&mut self) -> bool {
        self.skip_blanks();
        self.rest.first() == Some(&b'\n')
    }

    pub(crate) fn is_at_digit(&self) -> bool {
        self.rest.first().is_some_and(u8::is_ascii_digit)
    }

    pub(crate) fn skip_blanks(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Skips `expected` if it comes next in the kernel text. Returns `true` if `expected` was skipped.
    pub(crate) fn take(&mut self, expected: &[u8]) -> bool {
        // The last byte distinguishes most names, at less cost than a comparison of all bytes.
        let last = expected.len().saturating_sub(1);
        if self.rest.get(last) != expected.get(last) {
            return expected.is_empty();
        }
        let rest = self.rest.strip_prefix(expected);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Skips blanks, and parses a number of a kernel text.
    pub(crate) fn number(&mut self) -> Result<u64, TextError> {
        self.skip_blanks();
        self.digits()
    }

    /// Skips blanks, parses a number of a kernel text, and skips the end of its line.
    pub(crate) fn last_number(&mut self) -> Result<u64, TextError> {
        let number = self.number()?;
        self.end_of_line()?;
        Ok(number)
    }

    /// Skips blanks, and parses a word of a kernel text that is a number. The word is skipped even if the number is
    /// malformed.
    pub(crate) fn number_word(&mut self) -> Result<u64, TextError> {
        self.skip_blanks();
        let before = *self;
        let number = self.digits();
        // A word such as `12x` only begins with a number.
        if matches!(self.rest, [b' ' | b'\t' | b'\n', ..]) && number.is_ok() {
            return number;
        }
        *self = before;
        let error = before.expected("a number");
        self.word()?;
        number.and(Err(error))
    }

    /// Skips blanks and a word of a kernel text; returns the word.
    pub(crate) fn word(&mut self) -> Result<&'a [u8], TextError> {
        self.skip_blanks();
        match self.until_blank() {
            [] => Err(self.expected("a word")),
            word => Ok(word),
        }
    }

    /// Skips the kernel text before the next blank or end, and returns that text: a word, or nothing.
    pub(crate) fn until_blank(&mut self) -> &'a [u8] {
        let len = self.rest.iter().take_while(|byte| !matches!(byte, b' ' | b'\t' | b'\n')).count();
        let (word, rest) = self.rest.split_at_checked(len).unwrap_or_default();
        self.rest = rest;
        word
    }

    /// Skips the next `count` words of a kernel text.
    pub(crate) fn words(&mut self, count: usize) -> Result<(), TextError> {
        (0..count).try_for_each(|_| self.word().map(drop))
    }

    /// Skips a letter of a kernel text, and returns it.
    pub(crate) fn letter(&mut self) -> Result<u8, TextError> {
        match self.rest {
            [letter, rest @ ..] if letter.is_ascii_alphabetic() => {
                self.rest = rest;
                Ok(*letter)
            }
            _ => Err(self.expected("a letter")),
        }
    }

    /// Skips blanks, and parses a number below 2^32 of a kernel text.
    pub(crate) fn u32(&mut self) -> Result<u32, TextError> {
        self.skip_blanks();
        let before = *self;
        u32::try_from(self.digits()?).map_err(|_| before.expected("a number below 2^32"))
    }

    /// Skips blanks, and parses a word of a kernel text that is a hexadecimal number below 2^32, in the kernel's
    /// small letters.
    pub(crate) fn hex(&mut self) -> Result<u32, TextError> {
        self.skip_blanks();
        let before = *self;
        let word = self.word()?;
        let number = hex(word).ok_or_else(|| before.expected("a hexadecimal number below 2^32"))?;
        // A number at the end of the text was cut.
        if self.is_at_end() { Err(self.expected("the rest of the line")) } else { Ok(number) }
    }

    /// Skips blanks, and parses a number below 2^8 of a kernel text.
    pub(crate) fn u8(&mut self) -> Result<u8, TextError> {
        self.skip_blanks();
        let before = *self;
        u8::try_from(self.digits()?).map_err(|_| before.expected("a number below 2^8"))
    }

    /// Skips blanks, and parses a number from -128 to 127 of a kernel text.
    pub(crate) fn i8(&mut self) -> Result<i8, TextError> {
        self.skip_blanks();
        let before = *self;
        let negative = self.take(b"-");
        // The size of -128 needs more than 8 bits.
        let size = i16::try_from(self.digits()?).unwrap_or(i16::MAX);
        let number = if negative { size.saturating_neg() } else { size };
        i8::try_from(number).map_err(|_| before.expected("a number from -128 to 127"))
    }

    /// Parses the number whose digits come next in a kernel text.
    pub(crate) fn digits(&mut self) -> Result<u64, TextError> {
        const NEVER_TOO_LARGE: usize = 19; // digits of 2^64 - 1, less one
        let (mut value, short) = up_to_8_digits(self.rest);
        let mut rest = self.rest.get(short..).unwrap_or_default();
        // May wrap: a number of that length is parsed again below, exactly.
        while let [digit @ b'0'..=b'9', behind @ ..] = rest {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit & 0xF));
            rest = behind;
        }
        let len = self.rest.len().saturating_sub(rest.len());
        if len == 0 {
            return Err(self.expected("a number"));
        }
        if len > NEVER_TOO_LARGE {
            let digits = std::str::from_utf8(self.rest.get(..len).unwrap_or_default());
            let exact = digits.ok().and_then(|digits| digits.parse().ok());
            value = exact.ok_or_else(|| self.expected("a number below 2^64"))?;
        }
        self.rest = rest;
        if rest.is_empty() {
            return Err(self.expected("the rest of the line"));
        }
        Ok(value)
    }

    /// Skips blanks, and parses a number with two decimals of a kernel text. Returns hundredths.
    pub(crate) fn hundredths(&mut self) -> Result<u64, TextError> {
        let whole = self.number()?;
        let mut behind = *self;
        let two_digits = match self.rest {
            [b'.', tens @ b'0'..=b'9', ones @ b'0'..=b'9', rest @ ..] => {
                behind.rest = rest;
                u64::from(tens & 0xF).saturating_mul(10).saturating_add(u64::from(ones & 0xF))
            }
            _ => return Err(self.expected("a number with two decimals")),
        };
        *self = behind;
        if self.is_at_digit() {
            return Err(self.expected("a number with two decimals"));
        }
        if self.is_at_end() {
            return Err(self.expected("the rest of the line"));
        }
        Ok(whole.saturating_mul(100).saturating_add(two_digits))
    }

    /// Parses the number of a CPU or NUMA node, which must be in the `allowed` range.
    pub(crate) fn id(&mut self, allowed: Range<u32>) -> Result<u32, TextError> {
        let before = *self;
        let id = u32::try_from(self.digits()?).ok().filter(|id| allowed.contains(id));
        id.ok_or_else(|| before.expected("a number in ascending order and below the limit"))
    }

    /// Skips blanks, the name of a table row and its colon; returns the name.
    pub(crate) fn until_colon(&mut self) -> Result<&'a [u8], TextError> {
        self.skip_blanks();
        // The line's end stops the search, so that a line without a colon does not take the name of the next
        // one.
        let end = self.rest.iter().position(|byte| matches!(byte, b':' | b'\n'));
        let (name, rest) = end.and_then(|at| self.rest.split_at_checked(at)).unwrap_or_default();
        match rest.strip_prefix(b":") {
            Some(rest) => {
                self.rest = rest;
                Ok(name)
            }
            None => Err(self.expected("a name and a colon")),
        }
    }

    /// Skips the name at the beginning of a line of kernel text and the byte that ends it; returns the name. Skips
    /// nothing if there is no such name.
    pub(crate) fn name(&mut self, end: u8) -> Option<&'a [u8]> {
        let len = self.rest.iter().position(|byte| *byte == end || *byte == b'\n')?;
        let (name, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest.strip_prefix(&[end]).filter(|_| !name.is_empty())?;
        Some(name)
    }

    /// Skips blanks, a name and the last colon of a line of kernel text; returns the name, which may contain colons.
    /// Otherwise the same as [`until_colon`](Self::until_colon).
    pub(crate) fn until_last_colon(&mut self) -> Result<&'a [u8], TextError> {
        self.skip_blanks();
        let end = memchr::memchr(b'\n', self.rest).unwrap_or(self.rest.len());
        let line = self.rest.get(..end).unwrap_or_default();
        let colon = memchr::memrchr(b':', line).ok_or_else(|| self.expected("a name and a colon"))?;
        let (name, rest) = self.rest.split_at_checked(colon).unwrap_or_default();
        self.rest = rest.strip_prefix(b":").unwrap_or(rest);
        Ok(name)
    }

    /// Skips the rest of a line of kernel text; returns it without its newline.
    pub(crate) fn line(&mut self) -> Result<&'a [u8], TextError> {
        let newline = memchr::memchr(b'\n', self.rest);
        let (line, rest) = newline.and_then(|at| self.rest.split_at_checked(at)).unwrap_or((self.rest, &[]));
        // Skipped even if the line was cut, so that a loop over lines ends after an error.
        self.rest = rest;
        if self.take_newline() { Ok(line) } else { Err(self.expected("the rest of the line")) }
    }

    /// Skips blanks and a newline of a kernel text.
    pub(crate) fn end_of_line(&mut self) -> Result<(), TextError> {
        self.skip_blanks();
        if self.take_newline() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }

    fn take_newline(&mut self) -> bool {
        let taken = self.take(b"\n");
        self.lines = self.lines.saturating_add(usize::from(taken));
        taken
    }

    /// Skips blanks and a newline of a kernel text, which must be the end of the file.
    pub(crate) fn end_of_only_line(&mut self) -> Result<(), TextError> {
        self.end_of_line()?;
        if self.is_at_end() { Ok(()) } else { Err(self.expected("the end of the file")) }
    }

    /// Returns the error that the next text is not `expected`.
    pub(crate) fn expected(&self, expected: &'static str) -> TextError {
        let found = match self.rest {
            [] => "the end of the file".to_owned(),
            [b'\n', ..] => "the end of the line".to_owned(),
            rest => quote(rest),
        };
        TextError { line: self.lines.saturating_add(1), expected, found }
    }
}

/// Returns the value of up to 8 hexadecimal digits, in small letters.
fn hex(digits: &[u8]) -> Option<u32> {
    let digit = |digit: &u8| match digit {
        b'0'..=b'9' => Some(u32::from(digit & 0xF)),
        b'a'..=b'f' => Some(u32::from(digit & 0xF).saturating_add(9)),
        _ => None,
    };
    let is_short = (1..=8).contains(&digits.len());
    is_short.then(|| digits.iter().try_fold(0, |number, next| Some(number << 4 | digit(next)?)))?
}

/// Parses up to 8 decimal digits; returns their value and number. Returns zeros if fewer than 8 bytes are left.
///
/// Handles all digits at once: most numbers of the kernel are short, and a CPU cannot predict where a loop over the
/// digits ends.
#[inline]
fn up_to_8_digits(text: &[u8]) -> (u64, usize) {
    const fn each(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    // Fewer bytes are left only at the end of a text, where the caller's loop is good enough.
    let Some(bytes) = text.first_chunk::<8>() else { return (0, 0) };
    let bytes = u64::from_le_bytes(*bytes) ^ each(b'0'); // of digits their values
    let others = (bytes.wrapping_add(each(0x80 - 10)) | bytes) & each(0x80); // up to the first of them
    let len = others.trailing_zeros() / 8;
    // Zeros are put in front, so that there are 8 digits. Then pairs of digits are combined, then pairs of these,
    // then both halves.
    let digits = bytes.checked_shl(64_u32.saturating_sub(len.saturating_mul(8))).unwrap_or(0);
    let twos = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = twos.wrapping_mul(100).wrapping_add(twos >> 16) & 0x0000_FFFF_0000_FFFF;
    let eight = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF;
    (eight, usize::try_from(len).unwrap_or(0))
}

/// Returns the first word of a kernel text, quoted, escaped and cut, for an error.
fn quote(text: &[u8]) -> String {
    const CHARACTERS: usize = 40;
    // A character has at most 4 bytes. The word is cut before it is decoded: it may be as long as the file.
    const BYTES: usize = 4 * CHARACTERS;
    let word = text.split(|byte| matches!(byte, b' ' | b'\t' | b'\n')).next().unwrap_or_default();
    let word = if word.is_empty() { text } else { word };
    let word = String::from_utf8_lossy(word.get(..BYTES).unwrap_or(word));
    format!("{:?}", word.chars().take(CHARACTERS).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let wrong = |expected, found: &str| Err(TextError { line: 1, expected, found: found.into() });
        let long = "x".repeat(41);
        let cases = [
            ("0 ", Ok(0)),
            ("\t 7\n", Ok(7)),
            ("007 ", Ok(7)),
            ("18446744073709551615\n", Ok(u64::MAX)),
            ("0000018446744073709551615\n", Ok(u64::MAX)),
            ("18446744073709551616\n", wrong("a number below 2^64", "\"18446744073709551616\"")),
            ("99999999999999999999999999999999999999999999999 ", {
                wrong("a number below 2^64", &format!("\"{}\"", "9".repeat(40)))
            }),
            ("x", wrong("a number", "\"x\"")),
            ("-1\n", wrong("a number", "\"-1\"")),
            ("\u{1b}[2J y", wrong("a number", "\"\\u{1b}[2J\"")),
            (&long, wrong("a number", &format!("\"{}\"", "x".repeat(40)))),
            ("", wrong("a number", "the end of the file")),
            ("  \n5", wrong("a number", "the end of the line")),
            ("12", wrong("the rest of the line", "the end of the file")),
        ];
        for (text, want) in cases {
            assert_eq!(Text::new(text.as_bytes()).number(), want, "{text:?}");
        }
        assert_eq!(Text::new(b"\xFF\xFE\n").number().unwrap_err().found, "\"\u{FFFD}\u{FFFD}\"");
    }

    #[test]
    fn numbers_of_any_length() {
        for digits in 1..=20 {
            for (first, others) in [("1", "0"), ("9", "9"), ("1", "2"), ("0", "7")] {
                let number = format!("{first}{}", others.repeat(digits - 1));
                let want: Option<u64> = number.parse().ok();
                for behind in [" ", "\n", "/1234567", ":1234567", "\u{B9}234567", "x", " 1 2 3 4 5 6"] {
                    let whole = format!("{number}{behind}");
                    let mut text = Text::new(whole.as_bytes());
                    assert_eq!(text.digits().ok(), want, "{whole:?}");
                    let rest = if want.is_some() { behind } else { &whole };
                    assert_eq!(text.rest, rest.as_bytes(), "{whole:?}");
                }
            }
        }
    }

    #[test]
    fn decimals() {
        let wrong = |expected, found: &str| Err(TextError { line: 1, expected, found: found.into() });
        let two = "a number with two decimals";
        for (text, want) in [
            ("0.00\n", Ok(0)),
            (" 7.05 ", Ok(705)),
            ("18446744073709551615.99\n", Ok(u64::MAX)),
            ("7\n", wrong(two, "the end of the line")),
            ("7.5\n", wrong(two, "\".5\"")),
            ("7.512\n", wrong(two, "\"2\"")),
            ("7.51", wrong("the rest of the line", "the end of the file")),
            (".51\n", wrong("a number", "\".51\"")),
        ] {
            assert_eq!(Text::new(text.as_bytes()).hundredths(), want, "{text:?}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        let mut text = Text::new(b"1 2\nthree\n");
        assert_eq!(text.line().unwrap(), b"1 2");
        let error = text.number().unwrap_err();
        assert_eq!(error.to_string(), "line 2: expected a number, found \"three\"");
    }

    #[test]
    fn words() {
        let mut text = Text::new(b" \t0.2 -x\n");
        assert_eq!((text.word(), text.word()), (Ok(&b"0.2"[..]), Ok(&b"-x"[..])));
        assert_eq!(text.until_blank(), b"");
        assert_eq!(
            text.word().unwrap_err().to_string(),
            "line 1: expected a word, found the end of the line"
        );
        assert_eq!(Text::new(b"").word().unwrap_err().found, "the end of the file");
    }

    #[test]
    fn names_with_colons() {
        for (text, want) in [
            (&b"  eth0: 7 2\n"[..], Some((&b"eth0"[..], 7))),
            (b"eth0:7\nlo: 5\n", Some((b"eth0", 7))),
            (b"a:b:7\n", Some((b"a:b", 7))),
            (b"a:b: 7", None),
            (b": 7\n", Some((b"", 7))),
            (b"a 7\nlo: 5\n", None),
            (b"", None),
        ] {
            let mut text = Text::new(text);
            let got = text.until_last_colon().and_then(|name| Ok((name, text.number()?)));
            assert_eq!(got.ok(), want);
        }
    }

    #[test]
    fn ends() {
        let mut text = Text::new(b"5 \t\n");
        assert_eq!(text.number(), Ok(5));
        assert!(text.is_at_line_end());
        assert_eq!(text.end_of_only_line(), Ok(()));
        assert_eq!(Text::new(b" 6\n").end_of_line().unwrap_err().found, "\"6\"");
        assert_eq!(Text::new(b"\n7").end_of_only_line().unwrap_err().found, "\"7\"");
        assert_eq!(Text::new(b"cut").line().unwrap_err().found, "the end of the file");
    }
}
