//! Parser of `/proc/spl/kstat/zfs/arcstats`: the cache of ZFS.
//!
//! Source: `arcstats` in OpenZFS's `zfs(4)` and `arcstat(1)`; the format is that of all kstats.

use crate::sources::text::{Text, TextError};

/// Numbers of the cache of ZFS by name, parsed from `/proc/spl/kstat/zfs/arcstats`.
///
/// ```
/// use perfset_linux::sources::arcstats::ArcStats;
///
/// let mut stats = ArcStats::default();
/// stats.parse(b"13 1 0x01 2 544 7 9\nname type data\nhits 4 123\nmisses 4 45\n").unwrap();
/// assert_eq!((stats.get("misses"), stats.get("size")), (Some(45), None));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArcStats {
    /// Names and numbers of `arcstats`, in the order of the file.
    rows: Vec<(Vec<u8>, u64)>,
}

impl ArcStats {
    /// Parses `arcstats`, replacing all previous contents.
    ///
    /// # Errors
    /// If the two lines of the heading are missing, or a row is not a name and two numbers.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        text.number()?; // the id of the kstat
        text.line()?;
        if !text.take(b"name") {
            return Err(text.expected("\"name\""));
        }
        text.line()?;
        let mut count = 0_usize;
        while !text.is_at_end() {
            let name = text.word()?;
            text.number()?; // its type
            let number = text.last_number()?;
            // Rows of the previous text are overwritten, so that their memory is reused.
            match self.rows.get_mut(count) {
                Some(row) => {
                    name.clone_into(&mut row.0);
                    row.1 = number;
                }
                None => self.rows.push((name.to_vec(), number)),
            }
            count = count.saturating_add(1);
        }
        self.rows.truncate(count);
        Ok(())
    }

    /// Returns the number with a name in `arcstats`; `None` if this version of ZFS has none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.rows.iter().find(|(known, _)| known == name.as_bytes()).map(|(_, number)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        let mut stats = ArcStats::default();
        stats.parse(b"1 1\nname\nhits 4 5\nc 4 7\nsize 4 9\n").unwrap();
        assert_eq!([stats.get("hits"), stats.get("c"), stats.get("size")], [Some(5), Some(7), Some(9)]);
        stats.parse(b"1 1\nname\nc 4 8\n").unwrap();
        assert_eq!([stats.get("hits"), stats.get("c")], [None, Some(8)]);
    }

    #[test]
    fn invalid_texts() {
        for (text, want) in [
            ("", "line 1: expected a number, found the end of the file"),
            ("1 1\nhits 4 5\n", "line 2: expected \"name\", found \"hits\""),
            ("1 1\nname\nhits 4\n", "line 3: expected a number, found the end of the line"),
            ("1 1\nname\nhits 4 -5\n", "line 3: expected a number, found \"-5\""),
            ("1 1\nname\nhits 4 5 6\n", "line 3: expected the end of the line, found \"6\""),
        ] {
            assert_eq!(ArcStats::default().parse(text.as_bytes()).unwrap_err().to_string(), want, "{text:?}");
        }
    }
}
