//! Copies of parts of a file, made by system calls into memory that begins on a line of the cache.
//!
//! A copy to another place in a line than it came from tears words at any byte: measured on a processor of AMD, where
//! the two places differ by 8 to 24 bytes. From a line to a line none was seen there, and on others only a word's
//! highest byte was apart from the rest.

use std::io;
use std::ops::Deref;
use std::os::fd::BorrowedFd;

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

use super::file::read_at;
use super::table::word;
use crate::layout::{LINE, WORD};

/// A line of the cache.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

/// Words that [`first_words`] copies.
pub(crate) const FIRST: usize = 32;

/// A copy of the first words of a file; those that it does not have are zero.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn first_words(file: BorrowedFd<'_>) -> io::Result<[u64; FIRST]> {
    let mut lines: [Line; FIRST * WORD / LINE] = FromZeros::new_zeroed();
    read_at(file, lines.as_mut_bytes(), 0)?;
    Ok(std::array::from_fn(|at| word(lines.as_bytes(), at)))
}

/// A copy. What the file does not have is zero.
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
    /// A copy of so many bytes from there on, which is on a line.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of(file: BorrowedFd<'_>, at: u64, len: usize) -> io::Result<Self> {
        let mut lines = Self::default();
        lines.copy(file, at, len)?;
        Ok(lines)
    }

    /// Becomes such a copy; how many of the bytes the file has.
    ///
    /// # Errors
    /// If the file cannot be read, or there is no memory.
    pub fn copy(&mut self, file: BorrowedFd<'_>, at: u64, len: usize) -> io::Result<usize> {
        let count = len.div_ceil(LINE);
        self.lines.clear();
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
