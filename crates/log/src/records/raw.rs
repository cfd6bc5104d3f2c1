//! Records as bytes, with their offsets.

use std::io::{self, BufRead, BufReader, Read};

use memchr::{memchr, memchr2};

use super::RecordFormat;

/// Byte order mark of UTF-8, which spreadsheets write.
pub const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Iterator over the records of an input. Only one record is in memory.
#[derive(Debug)]
pub struct RawRecords<R> {
    input: BufReader<R>,
    format: RecordFormat,
    /// Number of bytes read.
    offset: u64,
    /// Maximum number of bytes of a record.
    limit: usize,
    bytes: Vec<u8>,
}

/// Record without its line ending.
#[derive(Clone, Copy, Debug)]
pub struct RawRecord<'a> {
    pub text: &'a [u8],
    /// Offset of the record in the file.
    pub offset: u64,
    /// `true` if the record exceeds the limit; its text is then empty.
    pub is_too_long: bool,
    /// `true` if the file ends in this record, without a line end.
    pub is_cut: bool,
}

impl<R: Read> RawRecords<R> {
    /// Starts at the beginning of a file.
    pub fn new(input: R, format: RecordFormat, limit: usize) -> Self {
        Self { input: BufReader::with_capacity(1 << 16, input), format, offset: 0, limit, bytes: Vec::new() }
    }

    /// Returns the number of bytes read so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next record; `None` at the end of the file. In CSV, a line end inside quotes belongs to the record.
    pub fn next(&mut self) -> io::Result<Option<RawRecord<'_>>> {
        let Self { input, format, offset, limit, bytes } = self;
        bytes.clear();
        let start = *offset;
        let (mut is_quoted, mut is_too_long, mut has_end) = (false, false, false);
        while !has_end {
            let chunk = match input.fill_buf() {
                Ok([]) => break,
                Ok(chunk) => chunk,
                // A signal interrupts a read, and is no error of the file.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            // Behind the limit, quotes do not count: one that is never closed must not take the rest of the file.
            let room = limit.saturating_sub(bytes.len()).saturating_add(1);
            let end = match format {
                RecordFormat::Csv if !is_too_long => {
                    end_of_csv(chunk.get(..room).unwrap_or(chunk), &mut is_quoted)
                }
                _ => memchr(b'\n', chunk).map(|end| end.saturating_add(1)),
            };
            has_end = end.is_some();
            let used = end.unwrap_or(if is_too_long { chunk.len() } else { chunk.len().min(room) });
            is_too_long |= used > limit.saturating_sub(bytes.len());
            if !is_too_long {
                bytes.extend(chunk.get(..used).unwrap_or_default());
            }
            input.consume(used);
            *offset = offset.saturating_add(u64::try_from(used).unwrap_or(u64::MAX));
        }
        if *offset == start {
            return Ok(None);
        }
        // The stored beginning of such a record would look like a complete one.
        if is_too_long {
            bytes.clear();
        }
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = text.strip_prefix(BYTE_ORDER_MARK).filter(|_| start == 0).unwrap_or(text);
        Ok(Some(RawRecord { text, offset: start, is_too_long, is_cut: !has_end }))
    }
}

/// Returns the index after the first line feed outside quotes. `is_quoted` is the state between two chunks.
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
