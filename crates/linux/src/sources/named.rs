//! What `/proc/meminfo`, `/proc/vmstat` and the end of `/proc/stat` share: lines of a name and a number.

use crate::sources::text::{Text, TextError};

/// The number of a line, or what is wrong with it; `None` if there is no such line: this kernel does not report it.
pub type Number = Option<Result<u64, TextError>>;

/// A line that is wanted: what it begins with, and where its number goes.
pub(crate) type Wanted<'a> = (&'static str, &'a mut Number);

/// Reads lines up to the last that is wanted. A faulty line does not lose the others.
///
/// `wanted` is in the kernel's order, which may change: a line is compared with all names that are still missing, and
/// those at the front are left behind as they are found.
///
/// # Errors
/// If no line at all is a wanted one.
pub(crate) fn numbers<'t>(
    text: &mut Text<'t>,
    number: fn(&mut Text<'t>) -> Result<u64, TextError>,
    wanted: &mut [Wanted<'_>],
) -> Result<(), TextError> {
    numbers_behind(text, |_| (), number, wanted)
}

/// The same, where something stands before each name, which `skip` leaves behind.
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
        if let Err(cut) = text.line() {
            for (_, place) in wanted.iter_mut() {
                place.get_or_insert_with(|| Err(cut.clone()));
            }
        }
        while let [(_, Some(_)), rest @ ..] = wanted {
            wanted = rest;
        }
    }
    if none_found { Err(text.expected("a line with a known name")) } else { Ok(()) }
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
    fn what_is_left_of_a_cut_file_is_right() {
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
}
