//! Parser of the file `operstate` of a network interface: one word, the operational state of RFC 2863.
//!
//! Source: `Documentation/networking/operstates.rst` and `Documentation/ABI/testing/sysfs-class-net`.

use crate::sources::text::{Text, TextError};

/// Returns `true` if a network interface is operational: its state is `up`.
///
/// ```
/// use perfset_linux::sources::operstate::is_up;
///
/// assert_eq!(is_up(b"up\n"), Ok(true));
/// assert_eq!(is_up(b"unknown\n"), Ok(false)); // that of the loopback interface
/// ```
///
/// # Errors
/// If `text` is no state that the kernel documents.
pub fn is_up(text: &[u8]) -> Result<bool, TextError> {
    let mut text = Text::new(text);
    let before = text;
    let is_up = match text.word()? {
        b"up" => true,
        b"unknown" | b"notpresent" | b"down" | b"lowerlayerdown" | b"testing" | b"dormant" => false,
        _ => return Err(before.expected("a state of an interface")),
    };
    text.end_of_only_line()?;
    Ok(is_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states() {
        for (text, want) in [
            ("up\n", Ok(true)),
            ("down\n", Ok(false)),
            ("lowerlayerdown\n", Ok(false)),
            ("dormant\n", Ok(false)),
            ("up", Err("the end of the file")),
            ("upx\n", Err("\"upx\"")),
            ("UP\n", Err("\"UP\"")),
            ("up up\n", Err("\"up\"")),
            ("up\nup\n", Err("\"up\"")),
            ("\n", Err("the end of the line")),
            ("", Err("the end of the file")),
        ] {
            assert_eq!(
                is_up(text.as_bytes()).map_err(|error| error.found),
                want.map_err(str::to_owned),
                "{text:?}"
            );
        }
    }
}
