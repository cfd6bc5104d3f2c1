//! Writer of text logs.

use std::fmt::Write as _;
use std::io::{self, Write};

use perfset_core::clock::SystemTime;

use super::{Header, Separator};

/// Writer of text logs as perfmon and relog read them: UTF-8, every field in quotes, lines that end in CR LF.
///
/// ```
/// use perfset::log::text::{Header, TextLogWriter};
///
/// let mut log = TextLogWriter::new(Vec::new(), &Header::new(vec![r"\\HOST\Memory\Available MBytes".into()]))?;
/// log.line(131_537_159_845_620_000, [Some(2048.5)])?;
/// assert_eq!(
///     String::from_utf8_lossy(log.get_mut()),
///     "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\HOST\\Memory\\Available MBytes\"\r\n\
///      \"10/29/2017 01:59:44.562\",\"2048.5\"\r\n"
/// );
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct TextLogWriter<W> {
    output: W,
    separator: Separator,
    path_count: usize,
    line: String,
    /// Number of decimals to which the writer's values are rounded; `None` for all digits.
    decimals: Option<usize>,
}

impl<W: Write> TextLogWriter<W> {
    /// Creates a writer of a text log, and writes the log's header. Quotes (`"`) and control characters in names
    /// become `_`, because no rule defines how to write them.
    ///
    /// # Errors
    /// If writing to the output fails.
    pub fn new(output: W, header: &Header) -> io::Result<Self> {
        let Header { separator, zone, paths, caption } = header;
        let mut line = format!("\"{}", separator.mark());
        if let Some(zone) = zone {
            line.push_str(" (");
            name(&mut line, &zone.name);
            line.push_str(")(");
            line.push_str(&zone.minutes.to_string());
            line.push(')');
        }
        line.push('"');
        for path in paths.iter().chain(caption) {
            line.push(separator.byte().into());
            line.push('"');
            name(&mut line, path);
            line.push('"');
        }
        let mut writer =
            Self { output, separator: *separator, path_count: paths.len(), line, decimals: None };
        writer.end_line()?;
        Ok(writer)
    }

    /// Sets the number of decimals to which values are rounded, as typeperf does on standard output.
    #[must_use]
    pub fn decimals(self, decimals: Option<usize>) -> Self {
        Self { decimals, ..self }
    }

    /// Writes a line of a text log: a time and a value for each path. The time is in 100 ns since 1601, in the zone
    /// of the log. The time is truncated to milliseconds. Values missing at the end are written as blanks.
    ///
    /// # Errors
    /// If there are more values than paths, in which case nothing is written. If writing to the output fails.
    pub fn line<N: Into<TextNumber>>(
        &mut self,
        time: i64,
        values: impl IntoIterator<Item = Option<N>>,
    ) -> io::Result<()> {
        self.line.clear();
        push_time(&mut self.line, &SystemTime::from_100ns(time));
        let mut values = values.into_iter();
        for _ in 0..self.path_count {
            self.line.push(self.separator.byte().into());
            self.line.push('"');
            match values.next().flatten().map(Into::into) {
                Some(TextNumber::Real(real)) if real.is_finite() => match self.decimals {
                    Some(decimals) => {
                        let _ = write!(self.line, "{real:.decimals$}"); // a String takes everything
                    }
                    None => push_real(&mut self.line, real),
                },
                Some(TextNumber::Count(count)) => {
                    let _ = write!(self.line, "{count}"); // as above
                }
                // A missing value is a blank in quotes, as on Windows.
                _ => self.line.push(' '),
            }
            self.line.push('"');
        }
        // A reader cannot assign the values of a line that has more fields than the header.
        if values.next().is_some() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a line has more values than the log has paths",
            ));
        }
        self.end_line()
    }

    /// Returns the output of the writer. Writing other data to it corrupts the log.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.output
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.line.push_str("\r\n");
        self.output.write_all(self.line.as_bytes())
    }
}

/// Number that is written to a text log as a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TextNumber {
    /// Real number as a value, written with the fewest digits from which it can be restored. NaN and infinite numbers
    /// are written as blanks.
    Real(f64),
    /// Count as a value, written with all digits, even those that a double cannot store.
    Count(u64),
}

impl From<f64> for TextNumber {
    fn from(real: f64) -> Self {
        Self::Real(real)
    }
}

impl From<u64> for TextNumber {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

/// Appends the time of a text log's line in quotes, as `"10/29/2017 01:59:44.562"`.
fn push_time(line: &mut String, time: &SystemTime) {
    let SystemTime { year, month, day, hour, minute, second, millisecond, .. } = *time;
    // Without the machinery of `write!`, which takes as long as the numbers of a line.
    line.push('"');
    let parts =
        [(month, 2, '/'), (day, 2, '/'), (year, 4, ' '), (hour, 2, ':'), (minute, 2, ':'), (second, 2, '.')];
    for (number, width, behind) in parts {
        push_padded(line, number, width);
        line.push(behind);
    }
    push_padded(line, millisecond, 3);
    line.push('"');
}

/// Appends a number with leading zeros up to this width, at most 5. A number that is wider has all of its digits.
fn push_padded(line: &mut String, number: u16, width: usize) {
    let digits = [number / 10_000, number / 1_000 % 10, number / 100 % 10, number / 10 % 10, number % 10];
    let is_leading =
        |(place, digit): &(usize, u16)| *digit == 0 && place.saturating_add(width) < digits.len();
    for (_, digit) in digits.into_iter().enumerate().skip_while(is_leading) {
        line.push(u8::try_from(digit).map_or('0', |digit| char::from(b'0'.wrapping_add(digit))));
    }
}

/// Appends a finite number with the fewest digits from which it can be restored, and never with an exponent. The text
/// is the same as that of `{real}`, except that it is made faster.
fn push_real(line: &mut String, real: f64) {
    /// Minimum length of a number's text that has 16 digits.
    const LONG: usize = 17;
    /// Factor 2^24, by which numbers with at most 24 binary places after the point become integers.
    const FRACTIONS: f64 = 16_777_216.0;
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(real);
    // Exactly between two texts of that length, the standard library takes the greater one. Only a number whose digits
    // end, after one more, is: a multiple of a small power of two.
    let is_between = text.len() >= LONG && (real * FRACTIONS).fract() == 0.0;
    match is_between || text.contains('e') {
        // Or very large or very small.
        true => {
            let _ = write!(line, "{real}"); // a String takes everything
        }
        false => line.push_str(text.strip_suffix(".0").unwrap_or(text)),
    }
}

fn name(line: &mut String, name: &str) {
    line.extend(name.chars().map(|c| if c == '"' || c.is_control() { '_' } else { c }));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text_of(real: f64) -> String {
        let mut text = String::new();
        push_real(&mut text, real);
        text
    }

    /// Checks the text of real numbers at the bounds of the writer's fast conversion against that of the standard
    /// library.
    #[test]
    fn numbers_have_the_text_of_the_standard_library() {
        let whole = (0..400).map(|power| 10_f64.powi(power - 330));
        let halves = (0..2_000).map(|power| 2_f64.powi(power - 1_074));
        let odd =
            [0.0, f64::MIN_POSITIVE, f64::MAX, f64::EPSILON, 0.1 + 0.2, 1e15 + 0.5, 9_007_199_254_740_993.0];
        for real in whole.chain(halves).chain(odd).filter(|real| real.is_finite()) {
            let bits = real.to_bits();
            for real in [bits, bits.saturating_sub(1), bits + 1].map(f64::from_bits) {
                for real in [real, -real].into_iter().filter(|real| real.is_finite()) {
                    assert_eq!(text_of(real), real.to_string());
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_number_has_the_text_of_the_standard_library(bits in any::<u64>(), count in any::<u32>()) {
            let dyadic = (bits >> (bits % 64)) as f64 / 2_f64.powi((count % 32) as i32);
            for real in [f64::from_bits(bits), f64::from(count) / 1_000.0, f64::from(count), dyadic] {
                if real.is_finite() {
                    prop_assert_eq!(text_of(real), real.to_string());
                }
            }
        }
    }

    #[test]
    fn times_have_the_text_of_format() {
        for (number, width) in [0, 1, 9, 10, 99, 100, 999, 1_601, 9_999, 10_000, 30_828, u16::MAX]
            .into_iter()
            .flat_map(|number| [(number, 2), (number, 3), (number, 4)])
        {
            let mut text = String::new();
            push_padded(&mut text, number, width);
            assert_eq!(text, format!("{number:0width$}"));
        }
        let time = SystemTime::from_100ns(131_537_159_845_620_000);
        let mut text = String::new();
        push_time(&mut text, &time);
        assert_eq!(text, "\"10/29/2017 01:59:44.562\"");
    }
}
