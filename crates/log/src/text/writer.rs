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
    /// Number of decimals to which values are rounded; `None` for all digits.
    decimals: Option<usize>,
}

impl<W: Write> TextLogWriter<W> {
    /// Writes the header. Quotes (`"`) and control characters in names become `_`, because no rule defines how to
    /// write them.
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

    /// Rounds values to this many decimals, as typeperf does on standard output.
    #[must_use]
    pub fn decimals(self, decimals: Option<usize>) -> Self {
        Self { decimals, ..self }
    }

    /// Writes a line: a time in 100 ns since 1601 in the zone of the log, and a value for each path. The time is
    /// truncated to milliseconds. Values missing at the end are written as blanks.
    ///
    /// # Errors
    /// If there are more values than paths, in which case nothing is written. If writing to the output fails.
    pub fn line<N: Into<TextNumber>>(
        &mut self,
        time: i64,
        values: impl IntoIterator<Item = Option<N>>,
    ) -> io::Result<()> {
        let SystemTime { year, month, day, hour, minute, second, millisecond, .. } =
            SystemTime::from_100ns(time);
        self.line.clear();
        let _ = write!(
            self.line,
            "\"{month:02}/{day:02}/{year:04} {hour:02}:{minute:02}:{second:02}.{millisecond:03}\""
        ); // a String takes everything
        let mut values = values.into_iter();
        for _ in 0..self.path_count {
            self.line.push(self.separator.byte().into());
            // `f64` prints the fewest digits from which it can be restored; a missing value is a blank in
            // quotes, as on Windows.
            let _ = match values.next().flatten().map(Into::into) {
                Some(TextNumber::Real(real)) if real.is_finite() => match self.decimals {
                    Some(decimals) => write!(self.line, "\"{real:.decimals$}\""),
                    None => write!(self.line, "\"{real}\""),
                },
                Some(TextNumber::Count(count)) => write!(self.line, "\"{count}\""),
                _ => write!(self.line, "\" \""),
            };
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

    /// Returns the output. Writing other data to it corrupts the log.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.output
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.line.push_str("\r\n");
        self.output.write_all(self.line.as_bytes())
    }
}

/// Number written for a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TextNumber {
    /// Real number, written with the fewest digits from which it can be restored. NaN and infinite numbers are
    /// written as blanks.
    Real(f64),
    /// Count, written with all digits, even those that a double cannot store.
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

fn name(line: &mut String, name: &str) {
    line.extend(name.chars().map(|c| if c == '"' || c.is_control() { '_' } else { c }));
}
