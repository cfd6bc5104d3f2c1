//! Parser of `/sys/class/net/bonding_masters` and `bonding/slaves`: names of network interfaces.
//!
//! Source: "Linux Ethernet Bonding Driver HOWTO" in the kernel's documents.

use crate::sources::text::{Text, TextError};

/// Returns the names of network interfaces in a file of the bonding driver. An empty file has none.
///
/// ```
/// use perfset_linux::sources::bonding::interfaces;
///
/// assert_eq!(interfaces(b"eth0 eth1\n").unwrap(), [b"eth0", b"eth1"]);
/// assert_eq!(interfaces(b"").unwrap(), [&[0_u8; 0]; 0]);
/// ```
///
/// # Errors
/// If a name cannot be that of a directory, or the only line does not end.
pub fn interfaces(text: &[u8]) -> Result<Vec<&[u8]>, TextError> {
    let mut text = Text::new(text);
    let mut names = Vec::new();
    while !text.is_at_end() && !text.is_at_line_end() {
        let before = text;
        let name = text.word()?;
        // A name becomes a part of a path.
        if name.contains(&b'/') || name.contains(&0) || matches!(name, b"." | b"..") {
            return Err(before.expected("the name of an interface"));
        }
        names.push(name);
    }
    if !(names.is_empty() && text.is_at_end()) {
        text.end_of_only_line()?;
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (text, want) in [
            ("", Ok(vec![])),
            ("\n", Ok(vec![])),
            ("bond0\n", Ok(vec!["bond0"])),
            ("a b  c \n", Ok(vec!["a", "b", "c"])),
            ("a", Err("the end of the file")),
            ("a\nb\n", Err("\"b\"")),
            ("a ../b\n", Err("\"../b\"")),
            ("..\n", Err("\"..\"")),
        ] {
            let got = interfaces(text.as_bytes()).map_err(|error| error.found);
            let got =
                got.map(|names| names.into_iter().map(|name| std::str::from_utf8(name).unwrap()).collect());
            assert_eq!(got, want.map_err(str::to_owned), "{text:?}");
        }
    }
}
