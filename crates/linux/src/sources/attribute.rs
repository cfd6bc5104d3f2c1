//! Parsers for sysfs attributes that consist of one number or one line.

use crate::sources::text::{Text, TextError};

/// Parses a sysfs attribute that is one number, in the unit that the attribute's documentation states.
///
/// ```
/// use perfset_linux::sources::attribute::number;
///
/// assert_eq!(number(b"2445430\n"), Ok(2_445_430));
/// assert_eq!(number(b"<unknown>\n").unwrap_err().to_string(), r#"line 1: expected a number, found "<unknown>""#);
/// ```
///
/// # Errors
/// If `text` is anything else.
pub fn number(text: &[u8]) -> Result<u64, TextError> {
    let mut text = Text::new(text);
    let number = text.number()?;
    text.end_of_only_line()?;
    Ok(number)
}

/// Parses a sysfs attribute that is one number, which may be negative.
///
/// ```
/// use perfset_linux::sources::attribute::signed;
///
/// assert_eq!(signed(b"-8500\n"), Ok(-8500));
/// assert_eq!(signed(b"45850\n"), Ok(45_850));
/// ```
///
/// # Errors
/// If `text` is anything else.
pub fn signed(text: &[u8]) -> Result<i64, TextError> {
    let mut text = Text::new(text);
    text.skip_blanks();
    let before = text;
    let is_negative = text.take(b"-");
    // The sign is not part of the size, so the least number of 64 bits is refused. No attribute comes near
    // it.
    let number = i64::try_from(text.digits()?).map_err(|_| before.expected("a number below 2^63"))?;
    text.end_of_only_line()?;
    Ok(if is_negative { number.saturating_neg() } else { number })
}

/// Returns the only line of a sysfs attribute, without its newline.
///
/// ```
/// use perfset_linux::sources::attribute::line;
///
/// assert_eq!(line(b"x86_pkg_temp\n").unwrap(), b"x86_pkg_temp");
/// ```
///
/// # Errors
/// If `text` has no line, or more than one.
pub fn line(text: &[u8]) -> Result<&[u8], TextError> {
    let mut text = Text::new(text);
    let line = text.line()?;
    if text.is_at_end() { Ok(line) } else { Err(text.expected("the end of the file")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_either_sign() {
        for (text, want) in [
            ("0\n", Ok(0)),
            ("-0\n", Ok(0)),
            ("9223372036854775807\n", Ok(i64::MAX)),
            ("-9223372036854775807\n", Ok(-i64::MAX)),
            ("9223372036854775808\n", Err("\"9223372036854775808\"")),
            ("--5\n", Err("\"-5\"")),
            ("- 5\n", Err("\" 5\\n\"")),
            ("+5\n", Err("\"+5\"")),
            ("5", Err("the end of the file")),
            ("5\n6\n", Err("\"6\"")),
            ("", Err("the end of the file")),
        ] {
            assert_eq!(signed(text.as_bytes()).map_err(|e| e.found), want.map_err(str::to_owned), "{text:?}");
        }
    }

    #[test]
    fn lines() {
        assert_eq!(line(b"a b\xFF\n").unwrap(), b"a b\xFF");
        assert_eq!(line(b"\n").unwrap(), b"");
        for text in ["", "a", "a\nb\n"] {
            assert!(line(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
