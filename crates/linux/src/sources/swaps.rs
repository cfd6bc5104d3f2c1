//! Parser of `/proc/swaps`: the swap areas.
//!
//! Source: `proc_swaps(5)`.

use crate::sources::escapes::unescape;
use crate::sources::text::{Text, TextError};

/// Size and use of a swap area. Unit: KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwapSpace {
    /// Size of the whole swap area.
    pub size: u64,
    /// Size of the swap area's part in use.
    pub used: u64,
}

/// Swap area: one line of `/proc/swaps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swap {
    /// Path of the swap partition or file, followed by ` (deleted)` if the file was deleted.
    pub path: Vec<u8>,
    /// Size and use of the swap area, or the error in these numbers.
    pub space: Result<SwapSpace, TextError>,
}

/// Contents of `/proc/swaps`. Malformed numbers do not affect the other lines.
///
/// ```
/// use perfset_linux::sources::swaps::Swaps;
///
/// let mut swaps = Swaps::default();
/// swaps.parse(b"Filename Type Size Used Priority\n/a\\040b  file  7  5  -2\n").unwrap();
/// assert_eq!(swaps.areas[0].path, b"/a b");
/// assert_eq!(swaps.areas[0].space.as_ref().unwrap().used, 5);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swaps {
    /// Swap areas in the order in which they were added, except those that filled gaps.
    pub areas: Vec<Swap>,
}

impl Swaps {
    /// Parses `/proc/swaps`, replacing all previous contents. A text with only the column names has no areas.
    ///
    /// # Errors
    /// If the column names are missing, or a line has no path.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        // The kernel prints this line even without swap areas, so an empty text is not a machine without
        // them.
        if !text.take(b"Filename") {
            return Err(text.expected("\"Filename\""));
        }
        text.line()?;
        let mut count = 0_usize;
        while !text.is_at_end() {
            let path = text.word()?;
            let mut line = text;
            let space = SwapSpace::parse(&mut line);
            match self.areas.get_mut(count) {
                Some(area) => {
                    unescape(path, &mut area.path);
                    area.space = space;
                }
                None => {
                    let mut area = Swap { path: Vec::new(), space };
                    unescape(path, &mut area.path);
                    self.areas.push(area);
                }
            }
            count = count.saturating_add(1);
            if text.line().is_err() {
                break; // it was cut there, which its numbers say
            }
        }
        self.areas.truncate(count);
        Ok(())
    }
}

impl SwapSpace {
    fn parse(text: &mut Text<'_>) -> Result<Self, TextError> {
        text.word()?; // partition or file
        let space = Self { size: text.number()?, used: text.number()? };
        text.line()?; // the priority
        Ok(space)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected paths, sizes and used sizes of the swap areas, or the line number of the expected error and the text
    /// found there.
    type Want<'a> = Result<&'a [(&'a str, Result<(u64, u64), &'a str>)], (usize, &'a str)>;

    #[test]
    fn lines() {
        let cases: [(&str, &str, Want<'_>); 9] = [
            ("none", "Filename\tType\n", Ok(&[])),
            ("two", "Filename\n/dev/sda2  partition\t7\t\t5\t\t-2\n/s\tfile 3 0 1\n", {
                Ok(&[("/dev/sda2", Ok((7, 5))), ("/s", Ok((3, 0)))])
            }),
            ("deleted", "Filename\n/s\\040(deleted) file 7 5 -3\n", Ok(&[("/s (deleted)", Ok((7, 5)))])),
            ("no priority", "Filename\n/s file 7 5\n", Ok(&[("/s", Ok((7, 5)))])),
            ("a bad number", "Filename\n/s file 7 x 1\n/t file 3 2 1\n", {
                Ok(&[("/s", Err("\"x\"")), ("/t", Ok((3, 2)))])
            }),
            ("cut", "Filename\n/s file 7 5 -", Ok(&[("/s", Err("the end of the file"))])),
            ("empty", "", Err((1, "the end of the file"))),
            ("no heads", "/s file 7 5 1\n", Err((1, "\"/s\""))),
            ("an empty line", "Filename\n\n", Err((2, "the end of the line"))),
        ];
        for (name, text, want) in cases {
            let mut swaps = Swaps::default();
            swaps.parse(b"Filename\n/before file 1 1 1\n/too file 1 1 1\n/and file 1 1 1\n").unwrap();
            let got = swaps.parse(text.as_bytes()).map(|()| swaps.areas);
            let got = got.map(|areas| {
                let area = |Swap { path, space }: Swap| {
                    let space = space.map(|space| (space.size, space.used)).map_err(|error| error.found);
                    (String::from_utf8(path).unwrap(), space)
                };
                areas.into_iter().map(area).collect::<Vec<_>>()
            });
            let want = want.map(|areas| {
                let area = |(path, space): &(&str, Result<_, &str>)| {
                    ((*path).to_owned(), space.map_err(ToOwned::to_owned))
                };
                areas.iter().map(area).collect::<Vec<_>>()
            });
            assert_eq!(got.map_err(|e| (e.line, e.found)), want.map_err(|(l, f)| (l, f.into())), "{name}");
        }
    }
}
