//! Names in `/proc` itself: a directory for each process.
//!
//! Source: `proc(5)`.

/// Returns the id of the process with a name in `/proc`; `None` if the name belongs to something else.
///
/// ```
/// use perfset_linux::sources::processes::pid;
///
/// assert_eq!(pid(b"4242"), Some(4242));
/// assert_eq!(pid(b"self"), None);
/// ```
#[must_use]
pub fn pid(name: &[u8]) -> Option<u32> {
    let name = std::str::from_utf8(name).ok()?;
    // `parse` also accepts a plus sign.
    if name.bytes().all(|byte| byte.is_ascii_digit()) { name.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, want) in [
            ("1", Some(1)),
            ("4194304", Some(4_194_304)),
            ("4294967295", Some(u32::MAX)),
            ("4294967296", None),
            ("", None),
            (".", None),
            ("+1", None),
            ("1 ", None),
            ("1a", None),
            ("thread-self", None),
            ("\u{661}", None),
        ] {
            assert_eq!(pid(name.as_bytes()), want, "{name:?}");
        }
    }
}
