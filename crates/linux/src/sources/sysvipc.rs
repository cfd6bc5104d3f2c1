//! Parser of `/proc/sysvipc/sem` and `/proc/sysvipc/shm`: a line for each semaphore set, or shared memory segment.
//!
//! Source: `proc(5)`, `sysvipc(7)`.

use crate::sources::text::{Text, TextError};

/// Number of semaphore sets or shared memory segments.
///
/// ```
/// use perfset_linux::sources::sysvipc::IpcObjects;
///
/// let mut sets = IpcObjects::default();
/// sets.parse(b"       key      semid perms      nsems\n         0          3   600          5\n").unwrap();
/// assert_eq!(sets, IpcObjects { count: 1 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IpcObjects {
    /// Number of objects: the lines after the line of column names.
    pub count: u64,
}

impl IpcObjects {
    /// Parses `/proc/sysvipc/sem` or `/proc/sysvipc/shm`, replacing all previous contents.
    ///
    /// # Errors
    /// If the line of column names is missing, or a line is empty or cut.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        *self = Self::default();
        text.skip_blanks();
        if !text.take(b"key ") {
            return Err(text.expected("\"key\""));
        }
        text.line()?;
        let mut count = 0_u64;
        while !text.is_at_end() {
            text.word()?; // the key, which may be negative
            text.number()?;
            text.line()?;
            count = count.saturating_add(1);
        }
        *self = Self { count };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        for (text, want) in [
            ("  key semid\n", Ok(0)),
            ("  key semid\n 0 1 600\n -559038737 2 600\n\t5 3\n", Ok(3)),
            ("", Err((1, "the end of the file"))),
            ("keys semid\n", Err((1, "\"keys\""))),
            ("  key semid", Err((1, "the end of the file"))),
            ("key semid\n 0 1 600\n\n", Err((3, "the end of the line"))),
            ("key semid\n 0 x 600\n", Err((2, "\"x\""))),
            ("key semid\n 0 1 600\n 0 2 60", Err((3, "the end of the file"))),
        ] {
            let mut objects = IpcObjects { count: 7 };
            let got = objects.parse(text.as_bytes()).map(|()| objects.count);
            assert_eq!(got.map_err(|e| (e.line, e.found)), want.map_err(|(l, f)| (l, f.into())), "{text:?}");
        }
    }
}
