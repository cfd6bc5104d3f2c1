//! Parser of `/proc/PID/cmdline`: the command line of a process.
//!
//! Source: `proc_pid_cmdline(5)`. The words end with a NUL. A process may overwrite them, with one text for all or
//! with anything else. Threads of the kernel, and processes that have exited, have none.

/// Maximum number of bytes of a command line that are shown. The kernel permits several MiB.
pub const MAX_LEN: usize = 4_096;

/// Returns the words of a command line, separated by blanks; `None` if there are none. A word that is empty, or has
/// blanks or quotes, is quoted as in a shell.
///
/// ```
/// use perfset_linux::sources::pid::cmdline::text;
///
/// assert_eq!(text(b"sh\0-c\0sleep 5\0").as_deref(), Some("sh -c 'sleep 5'"));
/// assert_eq!(text(b"nginx: worker process\0\0\0").as_deref(), Some("nginx: worker process"));
/// assert_eq!(text(b""), None);
/// ```
#[must_use]
pub fn text(bytes: &[u8]) -> Option<String> {
    let is_cut = bytes.len() > MAX_LEN;
    let bytes = bytes.get(..MAX_LEN).unwrap_or(bytes);
    // A process that overwrites its words leaves NULs behind the text.
    let end = bytes.iter().rposition(|byte| *byte != 0)?;
    let all = bytes.get(..=end).unwrap_or_default();
    let mut text = String::new();
    let is_one = !all.contains(&0);
    for word in all.split(|byte| *byte == 0) {
        if !text.is_empty() {
            text.push(' ');
        }
        let word = String::from_utf8_lossy(word);
        // A title that a process gave itself is one word with blanks.
        let is_plain = |c: char| !c.is_whitespace() && c != '\'';
        match !is_one && (word.is_empty() || !word.chars().all(is_plain)) {
            true => text.push_str(&format!("'{}'", word.replace('\'', r"'\''"))),
            false => text.push_str(&word),
        }
    }
    if is_cut {
        text.push_str(" …");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        for (bytes, want) in [
            (&b""[..], None),
            (b"\0", None),
            (b"\0\0\0", None),
            (b"init\0", Some("init")),
            (b"init", Some("init")),
            (b"a\0b c\0\0d\0", Some("a 'b c' '' d")),
            (b"\0a\0", Some("'' a")),
            (b"sh\0it's a\0b'\0", Some(r"sh 'it'\''s a' 'b'\'''")),
            (b"postgres: writer   \0\0\0\0", Some("postgres: writer   ")),
            (b"a\xFF\x1b[2J\0b\n\0", Some("a\u{FFFD}\x1b[2J 'b\n'")),
        ] {
            assert_eq!(text(bytes).as_deref(), want, "{bytes:?}");
        }
    }

    #[test]
    fn long_command_lines_are_cut() {
        let long = [b'x'; MAX_LEN + 1];
        assert_eq!(text(&long[..MAX_LEN]).unwrap().len(), MAX_LEN);
        let cut = text(&long).unwrap();
        assert!(cut.ends_with("x …") && cut.len() < MAX_LEN + 10);
    }

    #[test]
    fn no_bytes_panic() {
        let line = b"sh\0-c\0sleep 5\xE2\x82\0\0".to_vec();
        for at in 0..=line.len() {
            let _ = text(&line[..at]); // any text will do
            for byte in [0, b' ', b'\'', 0x80, 0xFF] {
                let mut changed = line.clone();
                if let Some(place) = changed.get_mut(at) {
                    *place = byte;
                }
                let _ = text(&changed); // as above
            }
        }
    }
}
