//! Decoder for names in kernel lists that are separated by blanks. Blanks, newlines and backslashes in such names are
//! written as octal numbers.

/// Decodes the octal escapes of a kernel name, `escaped`, into `name`, replacing its contents. A backslash without
/// three octal digits stands for itself.
pub(crate) fn unescape(escaped: &[u8], name: &mut Vec<u8>) {
    name.clear();
    let mut rest = escaped;
    while let Some((byte, behind)) = rest.split_first() {
        let (byte, behind) = match rest {
            // Three octal digits reach 511, but a byte only 255: the first digit is at most 3.
            [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', behind @ ..] => {
                ((high & 3) << 6 | (middle & 7) << 3 | low & 7, behind)
            }
            _ => (*byte, behind),
        };
        name.push(byte);
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        for (escaped, want) in [
            ("/", &b"/"[..]),
            ("", b""),
            (r"/a\040b\011c\012d\134e\043", b"/a b\tc\nd\\e#"),
            (r"\377\000", b"\xFF\0"),
            (r"\400\08\1", br"\400\08\1"),
            (r"\", br"\"),
            (r"\\040", br"\ "),
        ] {
            let mut name = b"before".to_vec();
            unescape(escaped.as_bytes(), &mut name);
            assert_eq!(name, want, "{escaped}");
        }
    }
}
