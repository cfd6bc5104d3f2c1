//! Copies of ranges of publishers' files, made by system calls into memory aligned to a cache line.
//!
//! A copy to another offset in a cache line than its source tears words at any byte. This was measured on an AMD
//! processor, where the two offsets differ by 8 to 24 bytes. From line to line no tear was seen there, and on other
//! processors only a word's highest byte was separate from the rest.

use std::io;
use std::ops::Deref;
use std::os::fd::BorrowedFd;

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

use super::table::word;
use crate::layout::{LINE, WORD};

/// Bytes of a copied file range, aligned and sized as a cache line.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

/// Number of words that [`first_words`] copies.
pub(crate) const FIRST: usize = 32;

/// Copies the first words of a publisher's file; words beyond its end are zero.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn first_words(file: BorrowedFd<'_>) -> io::Result<[u64; FIRST]> {
    let mut lines: [Line; FIRST * WORD / LINE] = FromZeros::new_zeroed();
    read_at(file, lines.as_mut_bytes(), 0)?;
    Ok(std::array::from_fn(|at| word(lines.as_bytes(), at)))
}

/// Copy of a range of a publisher's file. Bytes beyond the end of the file are zero.
#[derive(Default)]
pub(crate) struct Lines {
    lines: Vec<Line>,
    len: usize,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines").field("len", &self.len).finish_non_exhaustive()
    }
}

impl Lines {
    /// Copies `len` bytes of a file from offset `at`, which is aligned to a line.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(file: BorrowedFd<'_>, at: u64, len: usize) -> io::Result<Self> {
        let mut lines = Self::default();
        lines.copy(file, at, len)?;
        Ok(lines)
    }

    /// Replaces the contents by a copy of `len` bytes of a file from offset `at`. Returns the number of bytes that
    /// the file has.
    ///
    /// # Errors
    /// If the file cannot be read, or there is no memory.
    pub fn copy(&mut self, file: BorrowedFd<'_>, at: u64, len: usize) -> io::Result<usize> {
        let count = len.div_ceil(LINE);
        self.lines.clear();
        // The length comes from a file: a failed allocation must not end the reader.
        self.lines.try_reserve(count).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.lines.resize(count, Line::new_zeroed());
        self.len = len;
        read_at(file, self.lines.as_mut_bytes(), at).map(|there| there.min(len))
    }
}

impl Deref for Lines {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.lines.as_bytes().get(..self.len).unwrap_or_default()
    }
}

/// Reads bytes of a file at an offset until the buffer is full or the file ends. Returns their number.
pub(crate) fn read_at(file: BorrowedFd<'_>, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let mut len = 0_usize;
    while let Some(rest) = bytes.get_mut(len..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(file, rest, at.saturating_add(u64::try_from(len).unwrap_or(u64::MAX))) {
            Ok(0) => break,
            Ok(more) => len = len.saturating_add(more),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(len)
}
