//! Files with counter paths: one path a line, with or without quotation marks; a line that begins with `#` or `;` is
//! a comment.

use std::io::Read;
use std::path::Path;

use super::grammar::{CounterPath, PathError};

/// Maximum number of bytes in a file of counter paths.
const MOST: usize = 1 << 20;

/// Reason why a file with counter paths cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryFileError {
    /// The file with counter paths cannot be opened or read.
    #[error("cannot read {file}")]
    File {
        /// Name of the unreadable file, as the caller gave it.
        file: String,
        /// Reason why the file cannot be opened or read.
        #[source]
        error: std::io::Error,
    },
    /// A line of the file with counter paths is not UTF-8.
    #[error("{file}:{line}: the line is not UTF-8")]
    Text {
        /// Name of the file with the faulty line, as the caller gave it.
        file: String,
        /// Number of the faulty line, from 1.
        line: usize,
    },
    /// A line of the file is not a counter path.
    #[error("{file}:{line}: {error}")]
    Path {
        /// Name of the file with the faulty line, as the caller gave it.
        file: String,
        /// Number of the faulty line, from 1.
        line: usize,
        /// Reason why the line is not a counter path.
        error: PathError,
    },
    /// The file contains no counter path.
    #[error("{file}: the file contains no counter path")]
    Empty {
        /// Name of the empty file, as the caller gave it.
        file: String,
    },
    /// The file is larger than a file of counter paths can sensibly be.
    #[error("{file}: the file has more than {most} bytes")]
    TooLarge {
        /// Name of the file that is too large, as the caller gave it.
        file: String,
        /// Maximum number of bytes of a file that are read.
        most: usize,
    },
}

/// Reads a file of counter paths.
///
/// # Errors
/// If the file cannot be read or contains no path, or a line is not a path: the error contains file and line.
pub fn query_file(path: &Path) -> Result<Vec<CounterPath>, QueryFileError> {
    let file = || path.display().to_string();
    let unreadable = |error| QueryFileError::File { file: file(), error };
    // One byte more than permitted shows that the file is too large. Its metadata do not: a FIFO has no
    // length.
    let limit = u64::try_from(MOST).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    std::fs::File::open(path).map_err(unreadable)?.take(limit).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MOST {
        return Err(QueryFileError::TooLarge { file: file(), most: MOST });
    }
    query_paths(&file(), &bytes)
}

/// Parses the counter paths in the content of a file with the given name.
///
/// # Errors
/// Same as [`query_file`].
pub fn query_paths(file: &str, bytes: &[u8]) -> Result<Vec<CounterPath>, QueryFileError> {
    let file = || file.to_owned();
    let mut paths = Vec::new();
    // Windows editors write this mark at the beginning of UTF-8 files.
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line_number = at.saturating_add(1);
        let text = std::str::from_utf8(line)
            .map_err(|_| QueryFileError::Text { file: file(), line: line_number })?
            .trim()
            .trim_matches('"');
        if text.is_empty() || text.starts_with(['#', ';']) {
            continue;
        }
        let path =
            text.parse().map_err(|error| QueryFileError::Path { file: file(), line: line_number, error })?;
        paths.push(path);
    }
    if paths.is_empty() {
        return Err(QueryFileError::Empty { file: file() });
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        type Case<'a> = (&'a [u8], Result<&'a [&'a str], &'a str>);
        let table: [Case<'_>; 10] = [
            (b"; a\n\"\\A\\B\"\r\n", Ok(&["\\A\\B"])),
            (b"\\A\\B", Ok(&["\\A\\B"])),
            (
                b"\xEF\xBB\xBF# a\r\n\r\n  /A(b c)/D/sec \r\n\\A\\# of B\n",
                Ok(&["\\A(b c)\\D/sec", "\\A\\# of B"]),
            ),
            (b"", Err("q: the file contains no counter path")),
            (b"# a\n\n", Err("q: the file contains no counter path")),
            (b"\\A\\B\nA\\B\n", Err("q:2: \"A\\B\" does not begin with \\ or /")),
            (b"\\A\n", Err("q:1: \"\\A\" names a counterset but no counter")),
            (b"\\A\\B\n\xFF\n", Err("q:2: the line is not UTF-8")),
            (b"\\A\0\\B", Ok(&["\\A\0\\B"])),
            (b"#\n#\n\\A(\\B", Err("q:3: \"\\A(\\B\" has a bracket that is not closed before the counter")),
        ];
        for (text, want) in table {
            let got =
                query_paths("q", text).map(|paths| paths.iter().map(ToString::to_string).collect::<Vec<_>>());
            let got = got.map_err(|error| error.to_string());
            let want = want.map(|paths| paths.iter().map(|path| path.to_string()).collect());
            assert_eq!(got, want.map_err(str::to_owned), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn files() {
        let error = query_file(Path::new("/nonexistent/q")).unwrap_err();
        assert_eq!(error.to_string(), "cannot read /nonexistent/q");
        assert!(std::error::Error::source(&error).is_some());
        let endless = query_file(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(endless.to_string(), "/dev/zero: the file has more than 1048576 bytes");
    }
}
