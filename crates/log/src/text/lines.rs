//! Lines of a text log in any supported encoding, with their offsets.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use memchr::memchr;

/// Character encoding of a text log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 or a code page: ASCII characters are single bytes.
    Narrow,
    /// UTF-16 in little-endian byte order.
    Utf16Le,
    /// UTF-16 in big-endian byte order.
    Utf16Be,
}

impl Encoding {
    /// Detects the encoding of a text log by the byte order mark. Returns the encoding and the length of the mark.
    pub fn detect(first_bytes: &[u8]) -> (Self, usize) {
        match first_bytes {
            [0xEF, 0xBB, 0xBF, ..] => (Self::Narrow, 3),
            [0xFF, 0xFE, ..] => (Self::Utf16Le, 2),
            [0xFE, 0xFF, ..] => (Self::Utf16Be, 2),
            _ => (Self::Narrow, 0),
        }
    }

    /// Returns one byte for each code unit of a text in this encoding: the exact byte for an ASCII character, any
    /// byte for others.
    pub fn ascii(self, text: &[u8]) -> impl Iterator<Item = u8> {
        // Only ASCII decides whether a file is a log, so other characters need no decoding.
        let step = if self == Self::Narrow { 1 } else { 2 };
        text.chunks_exact(step).map(move |unit| match *unit {
            [byte] => byte,
            [a, b] => u8::try_from(self.unit(a, b)).unwrap_or(u8::MAX),
            _ => u8::MAX,
        })
    }

    fn unit(self, first: u8, second: u8) -> u16 {
        match self {
            Self::Utf16Be => u16::from_be_bytes([first, second]),
            Self::Narrow | Self::Utf16Le => u16::from_le_bytes([first, second]),
        }
    }
}

/// Iterator over the lines of a text log. Only one line is in memory.
#[derive(Debug)]
pub struct Lines<R> {
    input: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    encoding: Encoding,
    /// Number of bytes of the text log read so far.
    offset: u64,
    /// Maximum number of bytes of a line in the text log.
    limit: usize,
    bytes: Vec<u8>,
    /// Text of the current line, if the line had to be converted to UTF-8.
    text: String,
}

/// Line of a text log without its line ending, and without blanks or a byte order mark before it.
#[derive(Clone, Copy, Debug)]
pub struct RawLine<'a> {
    /// Text of the line; UTF-16 is converted to UTF-8.
    pub text: &'a [u8],
    /// Offset of the line in the file of the text log.
    pub offset: u64,
    /// Offset of the line's end in the file of the text log.
    pub end_offset: u64,
    /// `true` if the file ends within this line.
    pub is_cut: bool,
    /// `true` if half a UTF-16 unit remains at the end of the file.
    pub is_halved: bool,
    /// `true` if the line exceeds the limit of bytes; its text is then empty.
    pub is_too_long: bool,
    encoding: Encoding,
}

impl<R: Read> Lines<R> {
    /// Creates an iterator over the lines of a text log, and reads the byte order mark of the input.
    pub fn new(mut input: R, limit: usize) -> io::Result<Self> {
        let mut first = Vec::new();
        // The longest mark, that of UTF-8, has three bytes.
        (&mut input).take(3).read_to_end(&mut first)?;
        let (encoding, mark_len) = Encoding::detect(&first);
        let mut first = Cursor::new(first);
        first.set_position(u64_of(mark_len));
        Ok(Self {
            input: BufReader::with_capacity(1 << 16, first.chain(input)),
            encoding,
            offset: u64_of(mark_len),
            limit,
            bytes: Vec::new(),
            text: String::new(),
        })
    }

    /// Returns the number of bytes of the text log read so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next line of the text log; `None` at the end of the file.
    pub fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        self.bytes.clear();
        let offset = self.offset;
        let (mut has_end, mut is_too_long) = (false, false);
        let mut half = None;
        while !has_end {
            let chunk = match self.input.fill_buf() {
                Ok([]) => break,
                Ok(chunk) => chunk,
                // A signal interrupts a read, and is no error of the file.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = match self.encoding {
                Encoding::Narrow => memchr(b'\n', chunk).map(|i| i.saturating_add(1)),
                wide => end_of_wide(wide, chunk, &mut half),
            };
            has_end = end.is_some();
            let used = end.unwrap_or(chunk.len());
            // A line above the limit is skipped to its end without being stored: a hostile file may have no
            // line feed at all.
            is_too_long |= used > self.limit.saturating_sub(self.bytes.len());
            if !is_too_long {
                self.bytes.extend(chunk.get(..used).unwrap_or_default());
            }
            self.input.consume(used);
            self.offset = self.offset.saturating_add(u64_of(used));
        }
        if self.offset == offset {
            return Ok(None);
        }
        // The stored beginning of such a line would look like a complete line.
        if is_too_long {
            self.bytes.clear();
        }
        let mut line = RawLine {
            text: &[],
            offset,
            end_offset: self.offset,
            is_cut: false,
            is_halved: half.is_some(),
            is_too_long,
            encoding: self.encoding,
        };
        line.text = match self.encoding {
            Encoding::Narrow => &self.bytes,
            wide => {
                let units = self.bytes.chunks_exact(2).map(|unit| match *unit {
                    [a, b] => wide.unit(a, b),
                    _ => 0,
                });
                // A lone surrogate is replaced, so that one bad character does not cost the line.
                let chars = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
                self.text.clear();
                self.text.extend(chars);
                self.text.as_bytes()
            }
        };
        let text = line.text.strip_suffix(b"\n").unwrap_or(line.text);
        let without_return = text.strip_suffix(b"\r").unwrap_or(text);
        // A carriage return at the end of the file shows that the line is complete.
        line.is_cut = !has_end && without_return.len() == text.len();
        line.text = without_return;
        // Files that were joined have a byte order mark in the middle, before the header of the next file.
        let text = line.text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line.text).trim_ascii_start();
        line.offset = LineOffsets::new(&line).offset(line.text.len().saturating_sub(text.len()));
        line.text = text;
        Ok(Some(line))
    }
}

/// Returns the index after the first UTF-16 line feed of a chunk. `half` is the first byte of a unit whose second byte
/// is in the next chunk.
fn end_of_wide(encoding: Encoding, chunk: &[u8], half: &mut Option<u8>) -> Option<usize> {
    chunk.iter().zip(1..).find_map(|(byte, end)| match half.take() {
        None => {
            *half = Some(*byte);
            None
        }
        Some(first) => (encoding.unit(first, *byte) == u16::from(b'\n')).then_some(end),
    })
}

/// Converter from positions in a line to file offsets. Positions must ascend.
#[derive(Debug)]
pub struct LineOffsets<'a> {
    /// Part of the line after the last converted position.
    rest: &'a [u8],
    passed: usize,
    offset: u64,
    encoding: Encoding,
}

impl<'a> LineOffsets<'a> {
    /// Creates a converter of positions in a line to file offsets.
    pub fn new(line: &RawLine<'a>) -> Self {
        Self { rest: line.text, passed: 0, offset: line.offset, encoding: line.encoding }
    }

    /// Returns the file offset of a byte of the line.
    pub fn offset(&mut self, position: usize) -> u64 {
        let (part, rest) =
            self.rest.split_at_checked(position.saturating_sub(self.passed)).unwrap_or((self.rest, &[]));
        let len = match self.encoding {
            Encoding::Narrow => part.len(),
            // A character with four bytes in UTF-8 has two UTF-16 units.
            _ => part.iter().fold(0, |len: usize, byte| match byte {
                0x80..=0xBF => len,
                0xF0.. => len.saturating_add(4),
                _ => len.saturating_add(2),
            }),
        };
        self.rest = rest;
        self.passed = self.passed.saturating_add(part.len());
        self.offset = self.offset.saturating_add(u64_of(len));
        self.offset
    }
}

fn u64_of(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
