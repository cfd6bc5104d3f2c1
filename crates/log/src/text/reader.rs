//! Reader of text logs, line by line.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};

use encoding_rs::WINDOWS_1252;
use perfset_core::clock::SystemTime;
use perfset_engine::per_process::PerProcess;

use super::fields::{Field, Fields, Quoting};
use super::lines::{LineOffsets, Lines, RawLine};
use super::{Header, LINE_LIMIT, Line, PATH_LIMIT, Separator, TextLogError, Zone, shown};
use crate::Damages;

/// Reader of a text log, with one line in memory.
///
/// The reader accepts:
///
/// - UTF-8 and UTF-16 with a byte order mark, UTF-8 without one, and Windows-1252 for paths that are not UTF-8;
/// - lines that end in CR LF or LF, and empty lines;
/// - fields with or without quotes;
/// - a time of day with or without a fraction;
/// - other output of typeperf on standard output.
///
/// All other deviations are omitted and recorded in [`damages`](Self::damages).
#[derive(Debug)]
pub struct TextLogReader<R> {
    lines: Lines<R>,
    head: Head,
    values: Vec<Option<f64>>,
    damages: Damages,
    /// Offset in the text log of the last line that was read.
    line_offset: u64,
    is_over: bool,
}

/// Header of a text log, and the facts from it that are needed to read lines.
#[derive(Debug)]
struct Head {
    header: Header,
    /// `true` if a comment may follow the values of a line in the log.
    has_comments: bool,
    /// `true` for typeperf's standard output, which has messages between the lines.
    talks: bool,
    /// Index of the first counter path of the header that might in fact be two paths, because its quotes are unclear.
    doubtful: usize,
    /// Number of counter paths in the header, which is still known after `take_paths` has taken the paths.
    path_count: usize,
    /// Hash of the header's counter paths, to recognize the same header again.
    path_hash: u64,
}

impl<R: Read> TextLogReader<R> {
    /// Creates a reader of a text log, and reads the log's header.
    ///
    /// # Errors
    /// If there is no header, or reading the input fails.
    pub fn new(input: R) -> Result<Self, TextLogError> {
        Self::with_limit(input, LINE_LIMIT)
    }

    pub(super) fn with_limit(input: R, limit: usize) -> Result<Self, TextLogError> {
        let failed = |offset| move |error| TextLogError::Io { offset, error };
        let mut lines = Lines::new(input, limit).map_err(failed(0))?;
        let mut damages = Damages::default();
        let head = loop {
            let offset = lines.offset();
            let Some(line) = lines.next().map_err(failed(offset))? else {
                return Err(TextLogError::NoHeader { offset, found: String::new() });
            };
            if line.is_too_long {
                return Err(TextLogError::LongHeader { offset, limit });
            }
            halved(&line, &mut damages);
            if !line.text.is_empty() {
                let no_header = || TextLogError::NoHeader { offset: line.offset, found: shown(line.text) };
                break Head::parse(&line, &mut damages).ok_or_else(no_header)?;
            }
        };
        Ok(Self { lines, head, values: Vec::new(), damages, line_offset: 0, is_over: false })
    }

    /// Returns the header of the text log.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.head.header
    }

    /// Returns the damage of the text log that was found so far.
    #[must_use]
    pub fn damages(&self) -> &Damages {
        &self.damages
    }

    /// Returns the offset in the text log of the last line read.
    pub(crate) fn line_offset(&self) -> u64 {
        self.line_offset
    }

    /// Moves the counter paths out of the header, and returns them with their hash. There may be many paths, and the
    /// caller stores them in another form.
    pub(crate) fn take_paths(&mut self) -> (Vec<String>, u64) {
        (std::mem::take(&mut self.head.header.paths), self.head.path_hash)
    }

    /// Moves out the values of the last line read, and keeps the memory of `values` for the next line.
    pub(crate) fn take_values(&mut self, values: &mut Vec<Option<f64>>) {
        std::mem::swap(&mut self.values, values);
    }

    /// Returns the next line of the text log; `None` at the end of the log.
    ///
    /// # Errors
    /// If reading the input fails. Then the log is at its end.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, TextLogError> {
        while !self.is_over {
            // Taken before the read, so that an error contains the offset at which reading failed.
            let offset = self.lines.offset();
            match self.read() {
                Ok(Some(time)) => return Ok(Some(Line { time, values: &self.values })),
                Ok(None) => {}
                Err(error) => {
                    self.is_over = true;
                    return Err(TextLogError::Io { offset, error });
                }
            }
        }
        Ok(None)
    }

    /// Reads a line of the text log. For a line of values, stores them in `values` and returns the line's time.
    fn read(&mut self) -> io::Result<Option<i64>> {
        let Self { lines, head, values, damages, line_offset, is_over } = self;
        let Some(line) = lines.next()? else {
            *is_over = true;
            return Ok(None);
        };
        if line.is_too_long {
            damages.add(line.offset, "a line is too long: it is left out");
            return Ok(None);
        }
        *line_offset = line.offset;
        halved(&line, damages);
        let Some(first) = line.text.first() else { return Ok(None) };
        if Separator::from_header(line.text).is_none() {
            // Output of typeperf has messages between the lines, which are no damage.
            let is_talk = head.talks && *first != b'"' && !first.is_ascii_digit();
            return Ok(if is_talk { None } else { head.values(&line, values, damages) });
        }
        // Several runs of a tool may have written to one file.
        // The damage of a repeated header was reported for the first one.
        let is_same = Head::parse(&line, &mut Damages::default()).is_some_and(|other| other.is_same(head));
        if !is_same {
            damages.add(line.offset, "another log begins: it is left out");
            *is_over = true;
        }
        Ok(None)
    }
}

impl Head {
    /// Parses the header line of a text log. Returns `None` if the line is not a header.
    fn parse(line: &RawLine<'_>, damages: &mut Damages) -> Option<Self> {
        let separator = Separator::from_header(line.text)?;
        let mut places = LineOffsets::new(line);
        let mut fields = Fields::new(line.text, separator.byte());
        let first = decoded(fields.next()?.text);
        let zone_text = first.strip_prefix(separator.mark())?.trim();
        let zone = Zone::parse(zone_text);
        if zone.is_none() && !zone_text.is_empty() {
            let at = places.offset(0);
            damages.add(at, format!("a time zone is expected, {:?} is none", shown(zone_text.as_bytes())));
        }
        let header = Header { separator, zone, paths: Vec::new(), caption: None };
        let mut head = Self {
            header,
            has_comments: false,
            talks: zone_text.is_empty(),
            doubtful: usize::MAX,
            path_count: 0,
            path_hash: 0,
        };
        let mut last = None;
        while let Some(field) = fields.next() {
            // A truncated path might name another counter.
            if is_cut(line, &field, &fields) {
                break;
            }
            // A hostile header could otherwise take any amount of memory.
            if head.header.paths.len() == PATH_LIMIT {
                damages.add(places.offset(field.offset), "there are too many paths: the rest is left out");
                // The last path read is not the last field of the header, so it cannot be the caption.
                last = None;
                break;
            }
            let lone = field.form != Quoting::Bare && is_lone_quote_in(field.text);
            if field.form == Quoting::Open || lone {
                head.doubtful = head.doubtful.min(head.header.paths.len());
            }
            if field.form == Quoting::Open {
                damages.add(places.offset(field.offset), "a path has no quote at its end");
            }
            head.header.paths.push(decoded(field.text));
            last = Some(field);
        }
        // A path begins with a backslash, so a last field without one is the caption of the comments that
        // perfmon appends.
        if last.is_some_and(|last| !last.text.starts_with(b"\\")) {
            head.has_comments = true;
            head.header.caption = head.header.paths.pop().filter(|caption| !caption.is_empty());
        }
        if line.is_cut {
            damages.add(line.end_offset, "the file ends in its header: there may be more paths");
        }
        head.path_count = head.header.paths.len();
        head.path_hash = hash_of(&head.header.paths);
        Some(head)
    }

    /// Returns `true` if the other header belongs to the same log. Paths are compared by their hash.
    fn is_same(&self, other: &Self) -> bool {
        let Self { header, has_comments, talks, doubtful, path_count, path_hash } = self;
        let Header { separator, zone, paths: _, caption } = header;
        (separator, zone, caption) == (&other.header.separator, &other.header.zone, &other.header.caption)
            && (*has_comments, *talks, *doubtful) == (other.has_comments, other.talks, other.doubtful)
            && (*path_count, *path_hash) == (other.path_count, other.path_hash)
    }

    /// Parses a line of the text log: stores one value per path and returns its time. Returns `None` for a line
    /// without a time.
    fn values(
        &self,
        line: &RawLine<'_>,
        values: &mut Vec<Option<f64>>,
        damages: &mut Damages,
    ) -> Option<i64> {
        values.clear();
        let mut places = LineOffsets::new(line);
        let mut fields = Fields::new(line.text, self.header.separator.byte());
        let first = fields.next()?;
        // The beginning of a time can be a valid time as well.
        if is_cut(line, &first, &fields) {
            damages.add(line.offset, "the file ends in a time: the line is left out");
            return None;
        }
        let Some(time) = time(first.text) else {
            damages.add(
                line.offset,
                format!("expected a time, found {:?}: the line is left out", shown(first.text)),
            );
            return None;
        };
        let wanted = self.path_count;
        let last = wanted.saturating_sub(1);
        let (mut doubtful, mut first_bare) = (self.doubtful, usize::MAX);
        while values.len() < wanted {
            let Some(field) = fields.next() else { break };
            let value = match number(field.text) {
                _ if is_cut(line, &field, &fields) => Err("the file ends in a value: it is left out".into()),
                _ if field.form == Quoting::Open => {
                    Err("a value has no quote at its end: it is left out".into())
                }
                Some(value) => Ok(value),
                None => Err(format!("expected a number, found {:?}: it is left out", shown(field.text))),
            };
            // A bare field at the end of a short line may be the beginning of a longer number.
            if value.is_err() || field.form == Quoting::Bare && fields.is_at_end() && values.len() < last {
                doubtful = doubtful.min(values.len());
            }
            if field.form == Quoting::Bare {
                first_bare = first_bare.min(values.len());
            }
            values.push(value.unwrap_or_else(|what: String| {
                damages.add(places.offset(field.offset), what);
                None
            }));
        }
        let found = values.len();
        let mut is_as_wanted = found == wanted;
        // A line with another number of fields than the header has values that cannot be assigned safely.
        if !is_as_wanted {
            damages.add(
                places.offset(line.text.len()),
                format!("the line ends behind {found} of {wanted} values"),
            );
        } else if let Some(extra) = fields.next() {
            if is_cut(line, &extra, &fields) {
                damages.add(places.offset(extra.offset), "the file ends in a field behind the values");
            } else if !fields.is_at_end() || !self.has_comments && !extra.text.trim_ascii().is_empty() {
                let count = fields.count().saturating_add(1);
                let what = format!("more fields than the header has, by {count}: they are left out");
                damages.add(places.offset(extra.offset), what);
                is_as_wanted = false;
                doubtful = doubtful.min(first_bare); // `12,5` is two where it has no quotes
            }
        }
        // If fields are missing or extra, a broken field may be two, and later fields may be shifted. The last value
        // of a line that is too short may be incomplete.
        if !is_as_wanted {
            values.truncate(doubtful);
        }
        values.resize(wanted, None);
        Some(time)
    }
}

/// Returns `true` if the text log ends in this field, which may therefore be incomplete.
fn is_cut(line: &RawLine<'_>, field: &Field<'_>, behind: &Fields<'_>) -> bool {
    line.is_cut && field.form != Quoting::Quoted && behind.is_at_end()
}

/// Returns the hash of a header's counter paths. The key is secret to this process, so no file can have other paths
/// with the same hash.
fn hash_of(paths: &[String]) -> u64 {
    static KEY: PerProcess<RandomState> = PerProcess::new();
    KEY.get(RandomState::new).hash_one(paths)
}

fn halved(line: &RawLine<'_>, damages: &mut Damages) {
    if line.is_halved {
        damages.add(line.end_offset.saturating_sub(1), "the file ends in half a unit of UTF-16");
    }
}

/// Decodes a name in a text log's header, and replaces doubled quotes.
fn decoded(text: &[u8]) -> String {
    let text = std::str::from_utf8(text)
        .map_or_else(|_| WINDOWS_1252.decode_without_bom_handling(text).0.into_owned(), str::to_owned);
    if text.contains("\"\"") { text.replace("\"\"", "\"") } else { text }
}

/// Returns `true` if the text of a field contains a quote that is not doubled.
fn is_lone_quote_in(text: &[u8]) -> bool {
    text.split(|byte| *byte != b'"').any(|quotes| quotes.len() % 2 == 1)
}

/// Parses a field as a number: `Some(None)` if the field is blank, `None` if it is not a number.
fn number(text: &[u8]) -> Option<Option<f64>> {
    let text = text.trim_ascii();
    if text.is_empty() {
        return Some(None);
    }
    // Neither `inf` nor `nan` is a number here.
    let is_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    if !text.iter().all(is_number) {
        return None;
    }
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    // `parse` turns a number beyond the range of a double into infinity.
    number.is_finite().then_some(Some(number))
}

/// Parses the time of a line, `MM/dd/yyyy HH:mm:ss` with an optional fraction to 100 ns since 1601.
fn time(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    let (date, clock) = text.split_at_checked(text.iter().position(|byte| *byte == b' ')?)?;
    let [m1, m2, b'/', d1, d2, b'/', year @ ..] = date else { return None };
    let [b' ', h1, h2, b':', n1, n2, b':', s1, s2, fraction @ ..] = clock else { return None };
    // Years have five digits from 10000 on.
    if !(4..=5).contains(&year.len()) {
        return None;
    }
    let whole = SystemTime {
        year: digits(year)?,
        month: digits(&[*m1, *m2])?,
        day: digits(&[*d1, *d2])?,
        hour: digits(&[*h1, *h2])?,
        minute: digits(&[*n1, *n2])?,
        second: digits(&[*s1, *s2])?,
        ..SystemTime::default()
    };
    whole.to_100ns()?.checked_add(in_100ns(fraction)?)
}

/// Parses decimal digits of a line's time to a number.
fn digits(text: &[u8]) -> Option<u16> {
    text.iter().try_fold(0_u16, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}

/// Parses a fraction of a second in units of 100 ns: a point and one to seven digits, or an empty text.
fn in_100ns(fraction: &[u8]) -> Option<i64> {
    let (point, fraction) = match fraction {
        [] => return Some(0),
        [point, fraction @ ..] => (*point, fraction),
    };
    if point != b'.' || !(1..=7).contains(&fraction.len()) {
        return None;
    }
    let unit = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    fraction
        .iter()
        .zip(unit)
        .try_fold(0_i64, |sum, (byte, unit)| sum.checked_add(i64::from(digits(&[*byte])?).checked_mul(unit)?))
}
