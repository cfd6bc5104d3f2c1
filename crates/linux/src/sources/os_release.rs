//! Parser of `/etc/os-release`: name and version of the distribution.
//!
//! Source: `os-release(5)`.

/// Maximum length of a value of `os-release` that is returned, in bytes.
const VALUE_MAX: usize = 1024;

/// Returns the value of a key in `os-release`, without quotation marks and escapes; `None` if the file does not
/// contain the key, or if the value is too long. If the key occurs several times, the last value counts, as in a
/// shell.
///
/// ```
/// use perfset_linux::sources::os_release::value;
///
/// let text = b"NAME=\"Debian GNU/Linux\"\nID=debian\n";
/// assert_eq!(value(text, "NAME").as_deref(), Some("Debian GNU/Linux"));
/// assert_eq!(value(text, "VARIANT"), None);
/// ```
#[must_use]
pub fn value(text: &[u8], key: &str) -> Option<String> {
    let mut lines = text.split(|byte| *byte == b'\n').filter_map(|line| {
        let (name, value) = line.trim_ascii().split_at_checked(key.len())?;
        (name == key.as_bytes()).then(|| value.strip_prefix(b"=")).flatten()
    });
    lines.next_back().and_then(unquoted)
}

/// Returns a value of `os-release` without its quotation marks and escapes.
fn unquoted(value: &[u8]) -> Option<String> {
    let value = String::from_utf8_lossy(value.get(..value.len().min(VALUE_MAX.saturating_add(1)))?);
    let mut quote = None;
    let mut text = String::new();
    let mut rest = value.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' | '\'' if quote.is_none() => quote = Some(c),
            c if quote == Some(c) => quote = None,
            // Between apostrophes a backslash is a character like any other.
            '\\' if quote != Some('\'') => text.extend(rest.next()),
            c => text.push(c),
        }
    }
    (value.len() <= VALUE_MAX).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let text =
            b"# NAME=comment\nNAME=\"A \\\"B\\\" \\$C\"\nID=x\nID=debian\n VERSION_ID='1\\2'\nEMPTY=\n\
                     HALF=\"open\nIDEAL=7\nNOT\nLAST=\xFF";
        for (key, want) in [
            ("NAME", Some("A \"B\" $C")),
            ("ID", Some("debian")),
            ("VERSION_ID", Some("1\\2")),
            ("EMPTY", Some("")),
            ("HALF", Some("open")),
            ("NOT", None),
            ("LAST", Some("\u{FFFD}")),
            ("MISSING", None),
        ] {
            assert_eq!(value(text, key).as_deref(), want, "{key}");
        }
        let long = format!("NAME={}", "a".repeat(VALUE_MAX + 1));
        assert_eq!(value(long.as_bytes(), "NAME"), None);
        assert_eq!(value(&long.as_bytes()[..long.len() - 1], "NAME").map(|text| text.len()), Some(VALUE_MAX));
    }

    #[test]
    fn any_bytes_are_a_value_or_none() {
        let text = b"NAME=\"A \\\"B\\\" \\$C\"\nID='debian'\n";
        for at in 0..text.len() {
            let _ = value(&text[..at], "ID"); // any value will do
            for byte in [0, b'"', b'\'', b'\\', b'\n', b'=', 0xFF] {
                let mut changed = *text;
                changed[at] = byte;
                let _ = (value(&changed, "NAME"), value(&changed, "ID")); // any value will do
            }
        }
    }
}
