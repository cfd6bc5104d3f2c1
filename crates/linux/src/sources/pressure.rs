//! Parser of `/proc/pressure/*` and `*.pressure` of cgroups: time that tasks lost to waiting.
//!
//! Source: "PSI - Pressure Stall Information" in the kernel's documents of accounting.

use crate::sources::text::{Text, TextError};

/// Lines of a pressure file; a field is `None` if there is no such line. A malformed line does not affect the other
/// one.
///
/// ```
/// use perfset_linux::sources::pressure::Pressure;
///
/// let mut pressure = Pressure::default();
/// pressure.parse(b"some avg10=0.02 avg60=1.03 avg300=100.00 total=5\n").unwrap();
/// let some = pressure.some.unwrap().unwrap();
/// assert_eq!((some.avg60, some.avg300, some.total), (Some(103), Some(10_000), Some(5)));
/// assert_eq!(pressure.full, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// `some`: times in which at least one task waited for the resource.
    pub some: Option<Result<Stall, TextError>>,
    /// `full`: times in which all tasks that had something to do waited for the resource.
    pub full: Option<Result<Stall, TextError>>,
}

/// Averages and total of one line of a pressure file; `None` if the line has no such field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// Average share of time lost to waiting over 10 s, in hundredths of a percent.
    pub avg10: Option<u64>,
    /// Average share of time lost to waiting over 60 s, in hundredths of a percent.
    pub avg60: Option<u64>,
    /// Average share of time lost to waiting over 300 s, in hundredths of a percent.
    pub avg300: Option<u64>,
    /// Total time lost to waiting since the machine started or the cgroup was created, in µs.
    pub total: Option<u64>,
}

impl Pressure {
    /// Parses a pressure file, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut text = Text::new(text);
        while !text.is_at_end() {
            let mut line = text;
            let place = if line.take(b"some ") {
                Some(&mut self.some)
            } else if line.take(b"full ") {
                Some(&mut self.full)
            } else {
                None
            };
            // An unfinished line is an error even if its last number is whole: more digits may have followed.
            let cut = text.line().err();
            if let Some(place) = place {
                *place = Some(cut.map_or_else(|| Stall::parse(&mut line), Err));
            }
        }
        if self.some.is_none() && self.full.is_none() {
            return Err(text.expected("a line \"some\" or \"full\""));
        }
        Ok(())
    }
}

impl Stall {
    fn parse(line: &mut Text<'_>) -> Result<Self, TextError> {
        let mut stall = Self::default();
        while !line.is_at_line_end() {
            if line.take(b"avg10=") {
                stall.avg10 = Some(line.hundredths()?);
            } else if line.take(b"avg60=") {
                stall.avg60 = Some(line.hundredths()?);
            } else if line.take(b"avg300=") {
                stall.avg300 = Some(line.hundredths()?);
            } else if line.take(b"total=") {
                stall.total = Some(line.digits()?);
            } else {
                line.word()?; // a field that is yet to come
            }
        }
        Ok(stall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Pressure, TextError> {
        let mut pressure = Pressure { some: None, full: Some(Ok(Stall::default())) };
        pressure.parse(text.as_bytes()).map(|()| pressure)
    }

    #[test]
    fn lines_and_fields_in_any_order() {
        let stall = |avg10, avg60, avg300, total| Some(Ok(Stall { avg10, avg60, avg300, total }));
        let some = stall(Some(203), Some(507), Some(1_113), Some(17));
        for (name, text, want) in [
            ("the kernel's", "some avg10=2.03 avg60=5.07 avg300=11.13 total=17\n", (some.clone(), None)),
            (
                "other fields",
                "some total=17 max=3 avg300=11.13 x avg60=5.07 avg10=2.03 \n",
                (some.clone(), None),
            ),
            ("other lines", "most avg10=1.00\nfull total=19\nsome total=23\n\n", {
                (stall(None, None, None, Some(23)), stall(None, None, None, Some(19)))
            }),
            ("no field", "full \n", (None, stall(None, None, None, None))),
        ] {
            let got = parse(text).unwrap();
            assert_eq!((got.some, got.full), want, "{name}");
        }
    }

    #[test]
    fn one_bad_line_does_not_lose_the_other() {
        let good = "full total=19\n";
        for (line, expected, found) in [
            ("some avg10=2\n", "a number with two decimals", "the end of the line"),
            ("some avg10=2.5 total=3\n", "a number with two decimals", "\".5\""),
            ("some avg10=2.505 total=3\n", "a number with two decimals", "\"5\""),
            ("some avg60=x\n", "a number", "\"x\""),
            ("some total=-1\n", "a number", "\"-1\""),
        ] {
            let got = parse(&[line, good].concat()).unwrap();
            let error = got.some.unwrap().unwrap_err();
            assert_eq!((error.line, error.expected, error.found.as_str()), (1, expected, found), "{line:?}");
            assert_eq!(got.full.unwrap().unwrap().total, Some(19), "{line:?}");
        }
        let cut = parse("full total=19\nsome total=2").unwrap();
        assert_eq!(cut.some.unwrap().unwrap_err().line, 2);
        for text in ["", "x\n", "some\n", "some"] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.expected, "a line \"some\" or \"full\"", "{text:?}");
        }
    }
}
