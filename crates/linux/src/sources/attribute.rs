//! A sysfs attribute that is one number.

use crate::sources::text::{Text, TextError};

/// The number, in the unit that the attribute's document says.
///
/// ```
/// use perfset_linux::sources::attribute::number;
///
/// assert_eq!(number(b"2445430\n"), Ok(2_445_430));
/// assert_eq!(number(b"<unknown>\n").unwrap_err().to_string(), r#"line 1: expected a number, found "<unknown>""#);
/// ```
///
/// # Errors
/// If it is anything else.
pub fn number(text: &[u8]) -> Result<u64, TextError> {
    let mut text = Text::new(text);
    let number = text.number()?;
    text.end_of_only_line()?;
    Ok(number)
}
