//! Kernel files that may be too long for memory.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::kept_file::{ReadError, open};
use crate::sources::text::TextError;

/// Kernel file that consists of lines and may have any length. The file is read in chunks, into one buffer.
#[derive(Debug)]
pub(crate) struct ChunkedFile {
    path: PathBuf,
    buffer: Vec<u8>,
}

impl ChunkedFile {
    /// Size in bytes of the chunks in which a kernel file is read: possibly several chunks of the kernel, and more
    /// than any line.
    const PIECE: usize = 64 << 10;
    /// Least number of bytes of a read that does not end the file: the smallest page less a line, because the kernel
    /// fills a page before it ends a read early, except with a line that does not fit.
    const FULL_READ: usize = 3 << 10;
    /// Maximum size of a file that is read in chunks, in MiB, enough for ten million sockets.
    const LIMIT_MIB: usize = 2 << 10;

    /// Creates the reader of the kernel file at `path`, without opening the file.
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), buffer: Vec::new() }
    }

    /// Returns the path of the kernel file that is read in chunks.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Calls `each` with all chunks of the kernel file: whole lines, except for a last line that has no newline.
    /// Returns the number of bytes; `None` if the file does not exist.
    pub(crate) fn read(
        &mut self,
        each: impl FnMut(&[u8]) -> Result<(), TextError>,
    ) -> Result<Option<usize>, ReadError> {
        match open(&self.path) {
            Ok(file) => self.pieces(file, each).map(Some),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(source) => Err(ReadError::Io { path: self.path.clone(), source }),
        }
    }

    fn pieces(
        &mut self,
        mut file: File,
        mut each: impl FnMut(&[u8]) -> Result<(), TextError>,
    ) -> Result<usize, ReadError> {
        self.buffer.resize(Self::PIECE, 0);
        let (mut all, mut len) = (0_usize, 0_usize);
        loop {
            let free = self.buffer.get_mut(len..).unwrap_or_default();
            let free_len = free.len();
            let read = match file.read(free) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(source) => return Err(ReadError::Io { path: self.path.clone(), source }),
            };
            (all, len) = (all.saturating_add(read), len.saturating_add(read));
            let filled = self.buffer.get(..len).unwrap_or_default();
            // Another read to find the end would make the kernel search its table of sockets once more.
            let is_last = free_len > Self::FULL_READ && read < Self::FULL_READ;
            // A parser gets whole lines only: half a number would pass for a number.
            let whole = match memchr::memrchr(b'\n', filled) {
                Some(at) => at.saturating_add(1),
                None if read == 0 || len == Self::PIECE => len, // it was cut, or is no line
                None => 0,
            };
            let piece = filled.get(..whole).unwrap_or_default();
            each(piece).map_err(|text| ReadError::Text { path: self.path.clone(), text })?;
            // What follows the last line end is given to the parser when the next read finds the end.
            if read == 0 || is_last && whole == len {
                return Ok(all);
            }
            // The beginning of a line stays, and the next chunk completes it.
            self.buffer.copy_within(whole..len, 0);
            len = len.saturating_sub(whole);
            // Sockets can be created faster than they are read; without a limit the collection would never
            // end.
            if all >> 20 >= Self::LIMIT_MIB {
                return Err(ReadError::TooLong { path: self.path.clone(), mib: Self::LIMIT_MIB });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes `text` to a file, reads the file in chunks, and returns the lengths of the chunks.
    fn pieces(file: &mut ChunkedFile, text: &[u8]) -> Vec<usize> {
        std::fs::write(file.path(), text).unwrap();
        let (mut all, mut lengths) = (Vec::new(), Vec::new());
        let read = file.read(|piece| {
            all.extend_from_slice(piece);
            lengths.push(piece.len());
            Ok(())
        });
        assert_eq!(read.unwrap(), Some(text.len()));
        assert!(all == text);
        lengths.into_iter().filter(|len| *len != 0).collect()
    }

    #[test]
    fn pieces_end_with_lines() {
        const PIECE: usize = ChunkedFile::PIECE;
        let path = std::env::temp_dir().join(format!("perfset-linux-long-{}", std::process::id()));
        let mut file = ChunkedFile::new(&path);
        assert_eq!(pieces(&mut file, b""), [0; 0]);
        assert_eq!(pieces(&mut file, b"a\nb\n"), [4]);
        assert_eq!(pieces(&mut file, b"a\ncut"), [2, 3]);
        let lines: Vec<u8> = (0..PIECE * 3).map(|n| if n % 150 == 149 { b'\n' } else { b'x' }).collect();
        let whole = PIECE / 150 * 150;
        assert_eq!(pieces(&mut file, &lines[..whole * 2]), [whole, whole]);
        assert_eq!(pieces(&mut file, &lines[..PIECE]), [whole, PIECE - whole]);
        assert_eq!(pieces(&mut file, &vec![b'x'; PIECE + 7]), [PIECE, 7], "no line is so long");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.read(|_| Ok(())).unwrap(), None);
    }

    #[test]
    fn non_regular_files_are_rejected() {
        let folder = std::env::temp_dir();
        let error = ChunkedFile::new(&folder).read(|_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: cannot be read", folder.display()));
        let error = ChunkedFile::new("/dev/zero").read(|_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "/dev/zero: does not end within 2048 MiB");
    }
}
