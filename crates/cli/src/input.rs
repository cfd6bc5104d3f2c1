//! Files that the command is given; `-` is standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::anyhow;

use crate::exit::{Exit, Failure};
use crate::text::name_of;

/// Whether it is standard input; or standard output, where a file is to be written.
pub fn is_dash(file: &Path) -> bool {
    file == Path::new("-")
}

/// All bytes of a file.
pub fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    read_up_to(file, u64::MAX)
}

/// Reads a file that must contain a block or a table. The error for an empty file is that it is empty, not cut.
pub fn read_data(file: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = read(file)?;
    if bytes.is_empty() {
        return Err(empty(file));
    }
    Ok(bytes)
}

/// The error for a file without a byte, where some are needed.
pub fn empty(file: &Path) -> Failure {
    Failure::new(Exit::InvalidData, anyhow!("{}: the file is empty", name_of(file)))
}

/// The bytes of a file, so many at most.
pub fn read_up_to(file: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    open(file)?.take(most).read_to_end(&mut bytes).map_err(|error| unreadable(file, error))?;
    Ok(bytes)
}

/// A file, to be read piece by piece.
pub fn open(file: &Path) -> Result<Box<dyn Read>, Failure> {
    if is_dash(file) {
        return Ok(Box::new(io::stdin().lock()));
    }
    match File::open(file) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(unreadable(file, error)),
    }
}

/// What is said of a file that cannot be read.
pub fn unreadable(file: &Path, error: io::Error) -> Failure {
    Failure::new(Exit::SourceFailed, anyhow!(error).context(format!("cannot read {}", name_of(file))))
}
