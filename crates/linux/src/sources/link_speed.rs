//! Parser of `/sys/class/net/NAME/speed`: the speed of a network link.
//!
//! Source: `Documentation/ABI/testing/sysfs-class-net`.

use crate::sources::attribute;
use crate::sources::text::{Text, TextError};

/// Returns the speed of a network link in Mbit/s (1,000,000 bits a second); `None` if the driver does not know it.
///
/// ```
/// use perfset_linux::sources::link_speed::megabits;
///
/// assert_eq!(megabits(b"2500\n"), Ok(Some(2_500)));
/// assert_eq!(megabits(b"-1\n"), Ok(None));
/// ```
///
/// # Errors
/// If `text` is no number.
pub fn megabits(text: &[u8]) -> Result<Option<u64>, TextError> {
    /// Values that stand for an unknown speed of a network link. Older kernels print -1 as a number of 16 or of 32
    /// bits. Some drivers print 0 for a link that is down.
    const UNKNOWN: [u64; 3] = [0, 0xFFFF, 0xFFFF_FFFF];
    let mut negative = Text::new(text);
    if negative.take(b"-") {
        negative.last_number()?;
        return Ok(None);
    }
    Ok(Some(attribute::number(text)?).filter(|speed| !UNKNOWN.contains(speed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds() {
        for (text, want) in [
            ("10\n", Ok(Some(10))),
            ("800000\n", Ok(Some(800_000))),
            ("-1\n", Ok(None)),
            ("0\n", Ok(None)),
            ("65535\n", Ok(None)),
            ("4294967295\n", Ok(None)),
            ("\n", Err("the end of the line")),
            ("-\n", Err("the end of the line")),
            ("fast\n", Err("\"fast\"")),
            ("100", Err("the end of the file")),
            ("-1", Err("the end of the file")),
        ] {
            assert_eq!(
                megabits(text.as_bytes()).map_err(|e| e.found),
                want.map_err(str::to_owned),
                "{text:?}"
            );
        }
    }
}
