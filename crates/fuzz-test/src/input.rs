//! Readers of fuzz input: as a sequence of small numbers, and byte by byte.

use std::io::{self, Read};

/// Reader of numbers from fuzz input. After the last byte every number is 0, so that every input is valid.
#[derive(Debug)]
pub struct InputBytes<'a>(pub &'a [u8]);

impl InputBytes<'_> {
    /// Returns `true` if bytes of the fuzz input are left.
    pub fn has_more(&self) -> bool {
        !self.0.is_empty()
    }

    /// Reads the next byte of the fuzz input.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Reads a number below `end`, which is at most 256, from the fuzz input.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// Reads a number of two bytes from the fuzz input.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// Reads a UTF-16 unit of a name, which is not NUL, from the fuzz input.
    pub fn unit(&mut self) -> u16 {
        match self.u16() {
            0 => u16::from(b'_'),
            unit => unit,
        }
    }

    /// Reads a number of four bytes from the fuzz input.
    pub fn u32(&mut self) -> u32 {
        u32::from(self.u16()) | u32::from(self.u16()) << 16
    }

    /// Reads a number of eight bytes from the fuzz input.
    pub fn u64(&mut self) -> u64 {
        u64::from(self.u32()) | u64::from(self.u32()) << 32
    }
}

/// Reader that returns a byte at a time of the fuzz input.
#[derive(Debug)]
pub struct OneByOne<'a>(pub &'a [u8]);

impl Read for OneByOne<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(1);
        self.0.read(&mut buffer[..len])
    }
}
