//! Pieces of an uploaded log: they come in order, and a repeated piece changes nothing.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use axum::http::StatusCode;

use crate::answer::ApiError;
use crate::limits::PIECE_MOST;

/// Piece of an uploaded log that is being received. Its bytes count only when all of them have arrived.
#[derive(Debug)]
pub struct Piece {
    file: Arc<File>,
    /// Offset of the piece's next byte in the file; the next field is the end of the piece.
    at: u64,
    end: u64,
    /// `true` if the piece's bytes are stored already, and are compared.
    is_known: bool,
}

impl Piece {
    /// Begins a piece of an uploaded log, whose file has `stored` bytes so far.
    ///
    /// # Errors
    /// If the piece is empty or too long, begins behind the end, or reaches from stored bytes beyond them.
    pub fn begin(file: Arc<File>, stored: u64, offset: u64, len: u64) -> Result<Self, ApiError> {
        if len == 0 || len > PIECE_MOST {
            let text = format!("a piece has 1 to {PIECE_MOST} bytes, not {len}");
            return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, text));
        }
        let end = offset.checked_add(len).filter(|end| offset == stored || *end <= stored);
        let Some(end) = end else {
            let text = format!("the next piece begins at byte {stored}, and not at {offset}");
            let error = ApiError::new(StatusCode::CONFLICT, text);
            return Err(error.hint(format!("offset={stored}")));
        };
        Ok(Self { file, at: offset, end, is_known: end <= stored })
    }

    /// Stores the next bytes of the piece of an uploaded log.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), ApiError> {
        let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let next = self.at.checked_add(len).filter(|next| *next <= self.end);
        let next = next.ok_or_else(|| {
            ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "the piece is longer than its Content-Length")
        })?;
        match self.is_known {
            true => self.compare(bytes)?,
            false => self.write(bytes).map_err(|error| unwritten(&error))?,
        }
        self.at = next;
        Ok(())
    }

    /// Ends the piece of an uploaded log, and returns the offset behind the piece.
    pub fn finish(self) -> Result<u64, ApiError> {
        if self.at == self.end {
            return Ok(self.end);
        }
        let missing = self.end.saturating_sub(self.at);
        let text = format!("the piece ended {missing} bytes before its Content-Length");
        Err(ApiError::new(StatusCode::BAD_REQUEST, text).hint("send the piece again"))
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(self.at))?;
        file.write_all(bytes)
    }

    fn compare(&self, bytes: &[u8]) -> Result<(), ApiError> {
        let mut stored = vec![0; bytes.len()]; // a part of a piece, as long as the part that arrived
        let mut file = &*self.file;
        let read = file.seek(SeekFrom::Start(self.at)).and_then(|_| file.read_exact(&mut stored));
        read.map_err(|error| unwritten(&error))?;
        match stored == bytes {
            true => Ok(()),
            false => {
                let text = "other bytes have arrived at this offset before";
                Err(ApiError::new(StatusCode::CONFLICT, text).hint("remove the upload and begin again"))
            }
        }
    }
}

/// Returns the error for bytes of an upload that cannot be stored.
pub fn unwritten(error: &io::Error) -> ApiError {
    let text = format!("the server cannot store the log: {error}");
    ApiError::new(StatusCode::INSUFFICIENT_STORAGE, text)
        .hint("TMPDIR of the server names a directory with more room")
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::upload::file;

    /// Stores a piece of an upload in parts of `part` bytes, and returns the status of the refusal if it fails.
    fn store(file: &Arc<File>, stored: &mut u64, offset: u64, bytes: &[u8], part: usize) -> Result<(), u16> {
        let status = |error: ApiError| error.status.as_u16();
        let mut piece =
            Piece::begin(Arc::clone(file), *stored, offset, bytes.len() as u64).map_err(status)?;
        for part in bytes.chunks(part.max(1)) {
            piece.take(part).map_err(status)?;
        }
        *stored = piece.finish().map_err(status)?.max(*stored);
        Ok(())
    }

    fn contents(file: &File) -> Vec<u8> {
        std::fs::read(file::path_of(file)).unwrap_or_default()
    }

    #[test]
    fn pieces_come_in_order() {
        let file = Arc::new(file::create().unwrap());
        let mut stored = 0;
        for (offset, bytes, want, after) in [
            (1, "x", Err(409), 0),
            (0, "", Err(413), 0),
            (0, "abc", Ok(()), 3),
            (0, "abc", Ok(()), 3),
            (1, "bc", Ok(()), 3),
            (1, "bx", Err(409), 3),
            (2, "cd", Err(409), 3),
            (4, "e", Err(409), 3),
            (u64::MAX, "e", Err(409), 3),
            (3, "def", Ok(()), 6),
        ] {
            let got = store(&file, &mut stored, offset, bytes.as_bytes(), 2);
            assert_eq!((got, stored), (want, after), "{offset} {bytes}");
        }
        assert_eq!(contents(&file), b"abcdef");
        let much = vec![0; PIECE_MOST as usize + 1];
        assert_eq!(store(&file, &mut stored, 6, &much, 4096), Err(413));
        // Half a piece is none, and a longer one than announced neither.
        let mut half = Piece::begin(Arc::clone(&file), stored, 6, 4).unwrap();
        half.take(b"gh").unwrap();
        assert_eq!(half.take(b"ijk").unwrap_err().status, 413);
        assert_eq!(half.finish().unwrap_err().error, "the piece ended 2 bytes before its Content-Length");
    }

    /// Checks that pieces in any order and of any size, also lost and repeated ones, give the same bytes or an error.
    #[test]
    fn any_pieces_give_the_same_bytes_or_an_error() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = move |most: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % most.max(1)
        };
        for round in 0..300 {
            let file = Arc::new(file::create().unwrap());
            let whole: Vec<u8> = (0..random(5_000) + 1).map(|n| (n * 7 + n / 256 + round) as u8).collect();
            let mut stored = 0_u64;
            let (mut refused, mut steps) = (0, 0);
            while stored < whole.len() as u64 {
                steps += 1;
                assert!(steps < 100_000);
                let offset = if random(3) > 0 { stored } else { random(whole.len() as u64) };
                let len = random(whole.len() as u64 - offset) + 1;
                let bytes = &whole[offset as usize..(offset + len) as usize];
                let before = stored;
                if random(8) == 0 {
                    // The client goes away within the piece: what it has sent does not count.
                    let begun = Piece::begin(Arc::clone(&file), stored, offset, len);
                    let _ = begun.map(|mut piece| piece.take(&bytes[..bytes.len() / 2]));
                    continue;
                }
                if random(8) == 0 && offset < stored {
                    let wrong: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
                    assert_eq!(store(&file, &mut stored, offset, &wrong, 64), Err(409));
                    assert_eq!(stored, before);
                    continue;
                }
                let got = store(&file, &mut stored, offset, bytes, random(700) as usize);
                let want = if offset == before || offset + len <= before { Ok(()) } else { Err(409) };
                assert_eq!(got, want, "{offset} {len} of {before}");
                refused += usize::from(want.is_err());
            }
            assert_eq!(contents(&file)[..stored as usize], whole, "{refused}");
        }
    }
}
