//! Shared parser for `/proc/meminfo`, `/proc/vmstat` and the end of `/proc/stat`: lines of a name and a number.

use crate::sources::text::{Text, TextError};

/// Number in a line of a kernel file, or the error in the line; `None` if this kernel prints no such line.
pub type Number = Option<Result<u64, TextError>>;

/// Requested line of a kernel file: the text at its beginning, and the variable for its number.
pub(crate) type Wanted<'a> = (&'static str, &'a mut Number);

/// Parses lines of a kernel file until all `wanted` lines are found. A malformed line does not affect the others.
///
/// `wanted` is in the kernel's order, which may change. Each line is compared with all names that are still missing.
/// Names at the front are dropped as they are found.
///
/// # Errors
/// If no line is a requested one.
pub(crate) fn numbers<'t>(
    text: &mut Text<'t>,
    number: fn(&mut Text<'t>) -> Result<u64, TextError>,
    wanted: &mut [Wanted<'_>],
) -> Result<(), TextError> {
    numbers_behind(text, |_| (), number, wanted)
}

/// Parses lines of a kernel file as [`numbers`] does, if they have a prefix before the name, which `skip` skips.
pub(crate) fn numbers_behind<'t>(
    text: &mut Text<'t>,
    skip: impl Fn(&mut Text<'t>),
    number: fn(&mut Text<'t>) -> Result<u64, TextError>,
    mut wanted: &mut [Wanted<'_>],
) -> Result<(), TextError> {
    let mut none_found = true;
    while !wanted.is_empty() && !text.is_at_end() {
        let mut line = *text;
        skip(&mut line);
        let mut missing = wanted.iter_mut().filter(|(_, found)| found.is_none());
        if let Some((_, place)) = missing.find(|(name, _)| line.take(name.as_bytes())) {
            **place = Some(number(&mut line));
            none_found = false;
        }
        // The text was cut here. A line that was not found may have followed, so it is not one that the
        // kernel lacks.
        if let Err(cut) = text.line() {
            for (_, place) in wanted.iter_mut() {
                place.get_or_insert_with(|| Err(cut.clone()));
            }
        }
        // In the usual order most lines are then compared with one name only.
        while let [(_, Some(_)), rest @ ..] = wanted {
            wanted = rest;
        }
    }
    if none_found { Err(text.expected("a line with a known name")) } else { Ok(()) }
}

/// Parses a number of KiB in a kernel file, which calls them kB, and skips the end of its line.
pub(crate) fn kib(text: &mut Text<'_>) -> Result<u64, TextError> {
    let number = text.number()?;
    text.skip_blanks();
    if !text.take(b"kB") {
        return Err(text.expected("\"kB\""));
    }
    text.end_of_line()?;
    Ok(number)
}

/// All lines of a kernel file that has a name and a number in each line, whatever the names.
///
/// Names need to be looked up only once: the number found at an [`index`](Self::index) stays there as long as the file
/// has the same lines in the same order. Parsing such a file again allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct NamedLines {
    /// Names of all lines of the kernel file in sequence, each with the byte that ends it.
    names: Vec<u8>,
    lines: Vec<NamedLine>,
    /// Errors of malformed lines of the kernel file, by index of the line.
    faults: Vec<(usize, TextError)>,
    /// Error of the last line of the kernel file, if the text was cut there.
    cut: Option<TextError>,
    layout: u64,
    /// Indexes of the [chosen](Self::choose) lines of the kernel file, and the layout in which they were found.
    chosen: (Vec<Option<usize>>, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NamedLine {
    /// Offset in `names` at which the name of this line ends.
    name_end: usize,
    /// Number in a line of the kernel file; 0 if the line is malformed.
    number: u64,
}

impl PartialEq for NamedLines {
    /// Returns `true` if both contents of a kernel file have the same lines.
    fn eq(&self, other: &Self) -> bool {
        (&self.names, &self.lines, &self.faults) == (&other.names, &other.lines, &other.faults)
    }
}

impl Eq for NamedLines {}

impl NamedLines {
    /// Returns a number that increases whenever names of lines changed, appeared or disappeared. Line indexes that
    /// were found before are invalid then.
    #[must_use]
    pub fn layout(&self) -> u64 {
        self.layout
    }

    /// Returns the index of the line with that name in the kernel file.
    #[must_use]
    pub fn index(&self, name: &[u8]) -> Option<usize> {
        let mut name_at = 0;
        self.lines.iter().position(|line| {
            let known = self.names.get(name_at..line.name_end).and_then(<[u8]>::split_last);
            name_at = line.name_end;
            known.is_some_and(|(_, known)| known == name)
        })
    }

    /// Returns the number in the line at an index of the kernel file.
    #[must_use]
    #[inline]
    pub fn number(&self, place: usize) -> Number {
        let line = self.lines.get(place)?;
        // Without faults, which is the usual case, no search is needed. This is called for every counter at
        // each collection.
        if self.faults.is_empty() {
            return Some(Ok(line.number));
        }
        match self.faults.binary_search_by_key(&place, |(at, _)| *at) {
            Ok(fault) => self.faults.get(fault).map(|(_, error)| Err(error.clone())),
            Err(_) => Some(Ok(line.number)),
        }
    }

    /// Copies the numbers of the `wanted` lines of the kernel file, which must be the same in each call. If the text
    /// was cut, missing lines get the error of the cut.
    pub(super) fn choose<const N: usize>(&mut self, wanted: [Wanted<'_>; N]) {
        if self.chosen.1 != self.layout || self.chosen.0.len() != N {
            let place = |(name, _): &Wanted<'_>| self.index(name.as_bytes().split_last()?.1);
            self.chosen = (wanted.iter().map(place).collect(), self.layout);
        }
        for ((_, number), place) in wanted.into_iter().zip(&self.chosen.0) {
            let found = place.and_then(|place| self.number(place));
            *number = found.or_else(|| self.cut.clone().map(Err));
        }
    }

    /// Parses the text of a kernel file, replacing all previous contents. A line consists of a name, the byte `end`,
    /// and a text that `number` parses. A malformed line does not affect the others.
    ///
    /// # Errors
    /// If `text` has no line of that kind.
    pub(super) fn parse<'t>(
        &mut self,
        text: &mut Text<'t>,
        end: u8,
        number: fn(&mut Text<'t>) -> Result<u64, TextError>,
    ) -> Result<(), TextError> {
        let (mut at, mut name_at) = (0_usize, 0_usize);
        let before = self.lines.len();
        let mut changed = false;
        self.faults.clear();
        self.cut = None;
        while !text.is_at_end() {
            let mut line = *text;
            // Usually this is the same line as in the previous text.
            let known = self
                .lines
                .get_mut(at)
                .filter(|known| self.names.get(name_at..known.name_end).is_some_and(|name| line.take(name)));
            let is_known = known.is_some();
            if let Some(known) = known {
                if let Ok(number) = number(&mut line) {
                    (known.number, name_at) = (number, known.name_end);
                    at = at.saturating_add(1);
                    *text = line;
                    continue;
                }
            }
            // The line is new, or its number is malformed. Both are rare: the line is parsed once more, from
            // its beginning.
            let mut line = *text;
            let whole = text.line();
            self.cut = whole.as_ref().err().cloned();
            let Some(name) = line.name(end) else { continue };
            if !is_known {
                changed = true;
                // All lines behind a new one have moved, so they are found again.
                self.lines.truncate(at);
                self.names.truncate(name_at);
                self.names.extend_from_slice(name);
                self.names.push(end);
                self.lines.push(NamedLine { name_end: self.names.len(), number: 0 });
            }
            let number = whole.and_then(|_| number(&mut line));
            if let Some(known) = self.lines.get_mut(at) {
                known.number = *number.as_ref().unwrap_or(&0);
                name_at = known.name_end;
            }
            if let Err(fault) = number {
                self.faults.push((at, fault));
            }
            at = at.saturating_add(1);
        }
        self.lines.truncate(at);
        self.names.truncate(name_at);
        // A text that ends earlier has no other lines, and yet its layout has changed.
        if changed || at != before {
            self.layout = self.layout.wrapping_add(1);
        }
        if at == 0 { Err(text.expected("a line of a name and a number")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<[Number; 3], TextError> {
        let mut found = [None, None, None];
        let [a, b, c] = &mut found;
        let wanted: &mut [Wanted<'_>] = &mut [("a ", a), ("aa ", b), ("c:", c)];
        numbers(&mut Text::new(text.as_bytes()), Text::last_number, wanted)?;
        Ok(found)
    }

    #[test]
    fn lines_in_any_order() {
        let some = |n| Some(Ok(n));
        for (name, text, want) in [
            ("the kernel's order", "a 2\naa 3\nc: 5\n", [some(2), some(3), some(5)]),
            ("another order", "c:5\naa 3\na 2\n", [some(2), some(3), some(5)]),
            ("others between", "x 7\na 2\nab 7\n\naaa 7\naa 3\n c: 7\nc 7\nc: 5\ny\n", {
                [some(2), some(3), some(5)]
            }),
            ("some missing", "aa 3\n", [None, some(3), None]),
            ("twice", "a 2\na 7\n", [some(2), None, None]),
            ("nothing more is wanted", "a 2\naa 3\nc:5\ncut", [some(2), some(3), some(5)]),
        ] {
            assert_eq!(read(text), Ok(want), "{name}");
        }
    }

    #[test]
    fn one_bad_line_does_not_lose_the_others() {
        let wrong =
            |line, expected, found: &str| Some(Err(TextError { line, expected, found: found.into() }));
        let number = wrong(2, "a number", "\"x\"");
        assert_eq!(read("c: 5\na x\naa 3\n"), Ok([number, Some(Ok(3)), Some(Ok(5))]));
        let more = wrong(1, "the end of the line", "\"kB\"");
        assert_eq!(read("a 2 kB\n"), Ok([more, None, None]));
        let cut = || wrong(2, "the rest of the line", "the end of the file");
        assert_eq!(read("aa 3\na 2"), Ok([cut(), Some(Ok(3)), cut()]));
        assert_eq!(read("aa 3\nc"), Ok([cut(), Some(Ok(3)), cut()]));
        let nowhere = wrong(2, "a number", "the end of the file");
        assert_eq!(read("aa 3\nc:"), Ok([cut(), Some(Ok(3)), nowhere]));
    }

    #[test]
    fn truncated_file_yields_no_wrong_values() {
        let whole = "x 7\naa 31\na 37\ny 7\nc:41\n";
        let right = [37, 31, 41];
        for len in 0..whole.len() {
            for (number, right) in read(&whole[..len]).unwrap_or_default().into_iter().zip(right) {
                assert!(matches!(number, None | Some(Err(_))) || number == Some(Ok(right)), "{len}");
            }
        }
    }

    #[test]
    fn no_sense_as_a_whole() {
        for (text, line) in [("", 1), ("x\n", 2), ("a", 1), ("x 2\nb 3\n", 3)] {
            let error = read(text).unwrap_err();
            assert_eq!((error.line, error.expected), (line, "a line with a known name"), "{text:?}");
        }
    }

    #[test]
    fn every_line() {
        let mut lines = NamedLines::default();
        let mut parse = |text: &str| {
            let parsed = lines.parse(&mut Text::new(text.as_bytes()), b' ', Text::last_number);
            let of = |name: &str| lines.index(name.as_bytes()).and_then(|place| lines.number(place));
            parsed.map(|()| (lines.layout(), ["a", "b", "aa"].map(of)))
        };
        let some = |n| Some(Ok(n));
        assert_eq!(parse("a 2\nb 3\n"), Ok((1, [some(2), some(3), None])));
        assert_eq!(parse("a 5\nb 7\n"), Ok((1, [some(5), some(7), None])), "the same layout");
        assert_eq!(parse("a 5\naa 11\nb 7\n"), Ok((2, [some(5), some(7), some(11)])));
        assert_eq!(parse("b 7\n"), Ok((3, [None, some(7), None])), "nothing is left of longer texts");
        let (layout, [a, b, _]) = parse("a x\nb 7").unwrap();
        assert_eq!((layout, a.unwrap().unwrap_err().found), (4, "\"x\"".to_owned()));
        assert_eq!(b.unwrap().unwrap_err().found, "the end of the file");
        assert_eq!(parse("a\n\n 5\nb 3\n"), Ok((5, [None, some(3), None])), "what has no name is no line");
        assert_eq!(parse("a\n").unwrap_err().expected, "a line of a name and a number");
        assert_eq!(parse("").unwrap_err().line, 1);
    }
}
