//! The lines of a file, whatever its encoding, with the places of what is in them.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use memchr::memchr;

/// How characters are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 or a code page: ASCII is itself.
    Narrow,
    /// UTF-16, least byte first.
    Utf16Le,
    /// UTF-16, greatest byte first.
    Utf16Be,
}

impl Encoding {
    /// From a byte order mark, which is so many bytes long.
    pub fn of(first_bytes: &[u8]) -> (Self, usize) {
        match first_bytes {
            [0xEF, 0xBB, 0xBF, ..] => (Self::Narrow, 3),
            [0xFF, 0xFE, ..] => (Self::Utf16Le, 2),
            [0xFE, 0xFF, ..] => (Self::Utf16Be, 2),
            _ => (Self::Narrow, 0),
        }
    }

    /// The text, with something else for characters that are not ASCII.
    pub fn ascii(self, text: &[u8]) -> impl Iterator<Item = u8> {
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

/// The lines of an input. Memory is one line.
#[derive(Debug)]
pub struct Lines<R> {
    input: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    encoding: Encoding,
    /// How many bytes were taken.
    at: u64,
    /// So many bytes a line may have.
    limit: usize,
    bytes: Vec<u8>,
    /// The line, if it had to be written anew.
    text: String,
}

/// A line without what ends it, and without blanks or a byte order mark before it.
#[derive(Clone, Copy, Debug)]
pub struct RawLine<'a> {
    /// A line of a UTF-16 file is UTF-8 here.
    pub text: &'a [u8],
    /// Where it begins in the file.
    pub at: u64,
    /// Where it ends in the file.
    pub end_at: u64,
    /// The file ends in it.
    pub is_cut: bool,
    /// Half a unit of UTF-16 was left at the end.
    pub is_halved: bool,
    /// It is longer than the limit, and not here.
    pub is_too_long: bool,
    encoding: Encoding,
}

impl<R: Read> Lines<R> {
    /// Reads the byte order mark.
    pub fn new(mut input: R, limit: usize) -> io::Result<Self> {
        let mut first = Vec::new();
        (&mut input).take(3).read_to_end(&mut first)?;
        let (encoding, mark_len) = Encoding::of(&first);
        let mut first = Cursor::new(first);
        first.set_position(u64_of(mark_len));
        Ok(Self {
            input: BufReader::with_capacity(1 << 16, first.chain(input)),
            encoding,
            at: u64_of(mark_len),
            limit,
            bytes: Vec::new(),
            text: String::new(),
        })
    }

    /// How many bytes were taken so far.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The next line; none at the end of the file.
    pub fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        self.bytes.clear();
        let at = self.at;
        let (mut has_end, mut is_too_long) = (false, false);
        let mut half = None;
        while !has_end {
            let chunk = match self.input.fill_buf() {
                Ok([]) => break,
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = match self.encoding {
                Encoding::Narrow => memchr(b'\n', chunk).map(|i| i.saturating_add(1)),
                wide => end_of_wide(wide, chunk, &mut half),
            };
            has_end = end.is_some();
            let used = end.unwrap_or(chunk.len());
            is_too_long |= used > self.limit.saturating_sub(self.bytes.len());
            if !is_too_long {
                self.bytes.extend(chunk.get(..used).unwrap_or_default());
            }
            self.input.consume(used);
            self.at = self.at.saturating_add(u64_of(used));
        }
        if self.at == at {
            return Ok(None);
        }
        if is_too_long {
            self.bytes.clear();
        }
        let mut line = RawLine {
            text: &[],
            at,
            end_at: self.at,
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
                let chars = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
                self.text.clear();
                self.text.extend(chars);
                self.text.as_bytes()
            }
        };
        let text = line.text.strip_suffix(b"\n").unwrap_or(line.text);
        let without_return = text.strip_suffix(b"\r").unwrap_or(text);
        line.is_cut = !has_end && without_return.len() == text.len();
        line.text = without_return;
        let text = line.text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line.text).trim_ascii_start();
        line.at = Places::new(&line).of(line.text.len().saturating_sub(text.len()));
        line.text = text;
        Ok(Some(line))
    }
}

/// Behind the first line feed of a chunk. `half` is the first byte of a unit whose second is in the next chunk.
fn end_of_wide(encoding: Encoding, chunk: &[u8], half: &mut Option<u8>) -> Option<usize> {
    chunk.iter().zip(1..).find_map(|(byte, end)| match half.take() {
        None => {
            *half = Some(*byte);
            None
        }
        Some(first) => (encoding.unit(first, *byte) == u16::from(b'\n')).then_some(end),
    })
}

/// Where in the file the parts of a line are. They are asked for in ascending order.
#[derive(Debug)]
pub struct Places<'a> {
    /// What was not passed yet.
    rest: &'a [u8],
    passed: usize,
    at: u64,
    encoding: Encoding,
}

impl<'a> Places<'a> {
    /// Of this line.
    pub fn new(line: &RawLine<'a>) -> Self {
        Self { rest: line.text, passed: 0, at: line.at, encoding: line.encoding }
    }

    /// The place in the file of that byte of the line.
    pub fn of(&mut self, position: usize) -> u64 {
        let (part, rest) =
            self.rest.split_at_checked(position.saturating_sub(self.passed)).unwrap_or((self.rest, &[]));
        let len = match self.encoding {
            Encoding::Narrow => part.len(),
            // A character that takes four bytes of UTF-8 takes two units of UTF-16.
            _ => part.iter().fold(0, |len: usize, byte| match byte {
                0x80..=0xBF => len,
                0xF0.. => len.saturating_add(4),
                _ => len.saturating_add(2),
            }),
        };
        self.rest = rest;
        self.passed = self.passed.saturating_add(part.len());
        self.at = self.at.saturating_add(u64_of(len));
        self.at
    }
}

fn u64_of(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
