//! Fuzz input as a source of small numbers.

/// Numbers from bytes. Behind their end everything is 0, so that every input means something.
#[derive(Debug)]
pub struct Input<'a>(pub &'a [u8]);

impl Input<'_> {
    /// Whether something is left.
    pub fn has_more(&self) -> bool {
        !self.0.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `end`, which is at most 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// Two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// A unit of a name, which is no NUL.
    pub fn unit(&mut self) -> u16 {
        match self.u16() {
            0 => u16::from(b'_'),
            unit => unit,
        }
    }

    /// Four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from(self.u16()) | u32::from(self.u16()) << 16
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> u64 {
        u64::from(self.u32()) | u64::from(self.u32()) << 32
    }
}
