//! Parser of `/etc/passwd`: names of users.
//!
//! Source: `passwd(5)`. Users of a directory service are not in the file.

/// Returns the name of the user with this id; `None` if `/etc/passwd` has no such user.
///
/// ```
/// use perfset_linux::sources::passwd::name_of;
///
/// assert_eq!(name_of(b"root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/:/bin/sh\n", 1000), Some(&b"ada"[..]));
/// ```
#[must_use]
pub fn name_of(text: &[u8], uid: u32) -> Option<&[u8]> {
    text.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let name = fields.next().filter(|name| !name.is_empty() && !name.starts_with(b"#"))?;
        let id = fields.nth(1)?; // behind the password
        let is_id = std::str::from_utf8(id).ok()?.parse() == Ok(uid) && id.iter().all(u8::is_ascii_digit);
        is_id.then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let text = b"root:x:0:0:root:/root:/bin/sh\n# 7:x:7:\n:x:8:\nbad\nplus:x:+9:\nshort:x:5\n\
                     ada:x:1000:100:::\ntwin:x:1000:::\n\xFF:x:6:\nlast:x:4294967295:";
        for (uid, want) in [
            (0, Some(&b"root"[..])),
            (1000, Some(b"ada")),
            (5, Some(b"short")),
            (6, Some(b"\xFF")),
            (u32::MAX, Some(b"last")),
            (7, None),
            (8, None),
            (9, None),
            (10, None),
        ] {
            assert_eq!(name_of(text, uid), want, "{uid}");
        }
        for at in 0..text.len() {
            let _ = name_of(&text[..at], 0); // any name will do
        }
    }
}
