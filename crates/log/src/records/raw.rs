//! Records of a record log as bytes, with their offsets.

use std::io::{self, BufRead, BufReader, Read};

use memchr::{memchr, memchr2};

use super::RecordFormat;

/// Byte order mark of UTF-8, which spreadsheets write.
pub const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Iterator over the records of a record log as bytes. Only one record is in memory.
#[derive(Debug)]
pub struct RawRecords<R> {
    input: BufReader<R>,
    format: RecordFormat,
    /// Number of bytes of the record log that were read.
    offset: u64,
    /// Maximum number of bytes of a record in the log.
    limit: usize,
    /// Bytes of the last record with its line end; at most one byte more than the limit.
    bytes: Vec<u8>,
    /// Offset in the file of the last record.
    start: u64,
    /// Bytes of the record log that are read a second time before the rest of the input, and the number of them
    /// already read.
    again: (Vec<u8>, usize),
}

/// Bytes of a record without its line ending.
#[derive(Clone, Copy, Debug)]
pub struct RawRecord<'a> {
    pub text: &'a [u8],
    /// Offset of the record in the file.
    pub offset: u64,
    /// `true` if the record exceeds the limit of bytes; its text is then empty.
    pub is_too_long: bool,
    /// `true` if the file ends in this record, without a line end.
    pub is_cut: bool,
}

impl<R: Read> RawRecords<R> {
    /// Creates an iterator over the records of a log that starts at the beginning of a file.
    pub fn new(input: R, format: RecordFormat, limit: usize) -> Self {
        let input = BufReader::with_capacity(1 << 16, input);
        Self { input, format, offset: 0, limit, bytes: Vec::new(), start: 0, again: (Vec::new(), 0) }
    }

    /// Returns the number of bytes of the record log read so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next record of the log as bytes; `None` at the end of the file. In CSV, a line end inside quotes
    /// belongs to the record.
    pub fn next(&mut self) -> io::Result<Option<RawRecord<'_>>> {
        let Self { input, format, offset, limit, bytes, start, again: (again, again_at) } = self;
        bytes.clear();
        *start = *offset;
        let (mut is_quoted, mut is_too_long, mut has_end) = (false, false, false);
        while !has_end {
            let rest = again.get(*again_at..).unwrap_or_default();
            let is_again = !rest.is_empty();
            let chunk = if is_again { Ok(rest) } else { input.fill_buf() };
            let chunk = match chunk {
                Ok([]) => break,
                Ok(chunk) => chunk,
                // A signal interrupts a read, and is no error of the file.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let room = limit.saturating_sub(bytes.len()).saturating_add(1);
            let end = match format {
                RecordFormat::Csv if !is_too_long => {
                    end_of_csv(chunk.get(..room).unwrap_or(chunk), &mut is_quoted)
                }
                _ => memchr(b'\n', chunk).map(|end| end.saturating_add(1)),
            };
            has_end = end.is_some();
            let used = end.unwrap_or(if is_too_long { chunk.len() } else { chunk.len().min(room) });
            if !is_too_long {
                bytes.extend(chunk.get(..used).unwrap_or_default());
            }
            match is_again {
                true => *again_at = again_at.saturating_add(used),
                false => input.consume(used),
            }
            *offset = offset.saturating_add(u64::try_from(used).unwrap_or(u64::MAX));
            if !is_too_long && bytes.len() > *limit {
                is_too_long = true;
                // Several lines are joined by quotes, and the caller goes on with the second one.
                if memchr(b'\n', bytes).is_some() {
                    break;
                }
                // The stored beginning of a long line would look like a complete one.
                bytes.clear();
            }
        }
        if offset == start {
            return Ok(None);
        }
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = text.strip_prefix(BYTE_ORDER_MARK).filter(|_| *start == 0).unwrap_or(text);
        let text = if is_too_long { &[] } else { text };
        Ok(Some(RawRecord { text, offset: *start, is_too_long, is_cut: !has_end }))
    }

    /// Leaves out only the first line of the last record: a quote too many joins that line with good lines. Returns
    /// the number of bytes left out.
    ///
    /// A line is read twice at most: behind the first one, each line has an even number of quotes and is a record of
    /// its own, except the last one.
    pub fn leave_out_line(&mut self) -> u64 {
        let Self { offset, bytes, start, again: (again, again_at), .. } = self;
        let line = memchr(b'\n', bytes).map_or(bytes.len(), |end| end.saturating_add(1));
        let rest = bytes.get(line..).unwrap_or_default();
        *offset = offset.saturating_sub(u64::try_from(rest.len()).unwrap_or(0));
        if *again_at < again.len() {
            // The whole record came from there.
            *again_at = again_at.saturating_sub(rest.len());
        } else {
            again.clear();
            again.extend(rest);
            *again_at = 0;
        }
        bytes.clear();
        offset.saturating_sub(*start)
    }
}

/// Returns the index after the first line feed of a CSV chunk outside quotes. `is_quoted` is the state between two
/// chunks.
fn end_of_csv(chunk: &[u8], is_quoted: &mut bool) -> Option<usize> {
    let mut from = 0_usize;
    while let Some(found) = chunk.get(from..).and_then(|rest| memchr2(b'"', b'\n', rest)) {
        let at = from.saturating_add(found);
        from = at.saturating_add(1);
        match chunk.get(at) {
            // A doubled quote changes the state twice.
            Some(b'"') => *is_quoted = !*is_quoted,
            _ if !*is_quoted => return Some(from),
            _ => {}
        }
    }
    None
}
