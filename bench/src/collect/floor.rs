//! Lower bound ("floor") of a collection: bare readings of open files, and parsers that check nothing. The parsers
//! know the position of every number.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead};
use std::os::unix::fs::FileExt;

use super::kernel_file::{KernelFile, Kind};

/// Lower bound of a collection: open kernel files, and a buffer that is large enough for each of them.
#[derive(Debug)]
pub struct Floor {
    files: Vec<OpenFile>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    kind: Kind,
    in_records: bool,
}

impl Floor {
    /// Opens the given kernel files for the lower bound of a collection.
    pub fn open(files: &BTreeSet<KernelFile>) -> io::Result<Self> {
        let open = |file: &KernelFile| {
            Ok(OpenFile {
                file: File::open(&file.path)?,
                kind: file.kind(),
                in_records: file.is_in_records(),
            })
        };
        Ok(Self { files: files.iter().map(open).collect::<io::Result<_>>()?, buffer: vec![0; 1 << 20] })
    }

    /// Reads and parses each kernel file once, and returns the sum of all parsed numbers.
    pub fn collect(&mut self) -> io::Result<u64> {
        self.collect_with(parse)
    }

    /// Reads each kernel file once, parses it with `parse`, and returns the sum of all results.
    pub fn collect_with(&mut self, parse: impl Fn(Kind, &[u8]) -> u64) -> io::Result<u64> {
        let mut sum = 0_u64;
        for file in &self.files {
            let text = file.read(&mut self.buffer)?;
            sum = sum.wrapping_add(parse(file.kind, text));
        }
        Ok(sum)
    }

    /// Reads each kernel file once without parsing, and returns the number of bytes.
    pub fn read(&mut self) -> io::Result<u64> {
        self.files.iter().try_fold(0, |sum, file| Ok(sum + file.read(&mut self.buffer)?.len() as u64))
    }
}

impl OpenFile {
    fn read<'a>(&self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let mut len = self.file.read_at(buffer, 0)?;
        if self.in_records {
            loop {
                match self.file.read_at(&mut buffer[len..], len as u64)? {
                    0 => break,
                    piece => len += piece,
                }
            }
        }
        Ok(&buffer[..len])
    }
}

/// Returns the sum of the numbers in a kernel file: for `/proc/stat` those of the CPU lines, for other files all
/// numbers.
pub fn parse(kind: Kind, text: &[u8]) -> u64 {
    match kind {
        Kind::Stat => cpu_lines(text),
        Kind::Columns => columns(text),
        Kind::Named => named(text),
        Kind::Online | Kind::Numbers => numbers(text),
    }
}

/// Adds up the numbers of the `cpuN` lines of `/proc/stat`, which follow its first line.
fn cpu_lines(text: &[u8]) -> u64 {
    cpu_lines_and_rest(text).0
}

/// Adds up the numbers of the `cpuN` lines of `/proc/stat`, and returns the sum and the text after these lines.
pub fn cpu_lines_and_rest(text: &[u8]) -> (u64, &[u8]) {
    let mut rest = after_line(text);
    let mut sum = 0_u64;
    while let [b'c', b'p', b'u', line @ ..] = rest {
        rest = line;
        while !matches!(rest, [] | [b'\n', ..]) {
            let (number, behind) = number(rest);
            sum = sum.wrapping_add(number);
            rest = after_blanks(behind);
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    (sum, rest)
}

/// Adds up the number of each line in a kernel file, which follows the name and some blanks.
fn named(text: &[u8]) -> u64 {
    let mut rest = text;
    let mut sum = 0_u64;
    while let Some(blank) = rest.iter().position(|byte| *byte == b' ') {
        let (number, behind) = number(after_blanks(&rest[blank..]));
        sum = sum.wrapping_add(number);
        rest = after_line(behind);
    }
    sum
}

/// Adds up the numbers of all CPUs in a kernel file, which follow the colon of each line.
fn columns(text: &[u8]) -> u64 {
    let mut rest = text;
    let cpus = text
        .split(|byte| *byte == b'\n')
        .next()
        .map_or(0, |line| line.iter().filter(|b| **b == b'C').count());
    let mut sum = 0_u64;
    loop {
        rest = after_line(rest);
        let Some(colon) = rest.iter().position(|byte| *byte == b':') else { return sum };
        rest = &rest[colon + 1..];
        for _ in 0..cpus {
            let (number, behind) = number(after_blanks(rest));
            sum = sum.wrapping_add(number);
            rest = behind;
        }
    }
}

/// Adds up all numbers in the text of a kernel attribute.
fn numbers(text: &[u8]) -> u64 {
    let mut rest = text;
    let mut sum = 0_u64;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        if byte.is_ascii_digit() {
            let (number, behind) = number_from(u64::from(byte & 0xF), rest);
            sum = sum.wrapping_add(number);
            rest = behind;
        }
    }
    sum
}

/// Returns the number at the start of a kernel file's text, and the text after that number.
pub fn number(text: &[u8]) -> (u64, &[u8]) {
    number_from(0, text)
}

fn number_from(mut value: u64, mut text: &[u8]) -> (u64, &[u8]) {
    while let [digit @ b'0'..=b'9', behind @ ..] = text {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit & 0xF));
        text = behind;
    }
    (value, text)
}

/// Returns the text of a kernel file without the blanks at its start.
pub fn after_blanks(mut text: &[u8]) -> &[u8] {
    while let [b' ', behind @ ..] = text {
        text = behind;
    }
    text
}

/// Returns the text of a kernel file without its first line.
pub fn after_line(mut text: &[u8]) -> &[u8] {
    let _ = text.skip_until(b'\n'); // reading a slice never fails
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let cases = [
            (Kind::Stat, "cpu  97 97 97 97\ncpu0 2 3 5 7\ncpu1 11 13 17 19\nintr 97 97\n", 78),
            (Kind::Columns, "  CPU0  CPU2\nHI:  2  3\n 7:  5  7  IO-APIC 97-edge\nERR: 11\n", 28),
            (Kind::Named, "a:   2 kB\nb(7):  3 kB\nc 5\n", 10),
            (Kind::Online, "2-3,5\n", 10),
            (Kind::Numbers, "ref:7 del:11\n", 18),
        ];
        for (kind, text, want) in cases {
            assert_eq!(parse(kind, text.as_bytes()), want, "{kind:?}");
        }
    }
}
