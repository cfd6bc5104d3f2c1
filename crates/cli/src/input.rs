//! Input files of the command; `-` is standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::anyhow;

use perfset::output::text::name_of;

use crate::exit::{Exit, Failure};

/// Returns `true` if a file name is `-`: standard input, or standard output for an output file.
pub fn is_dash(file: &Path) -> bool {
    file == Path::new("-")
}

/// Reads a small file that users write by hand, such as settings: at most 1 MiB, because a device may have no end. An
/// error contains the kind of file.
pub fn read_small(file: &Path, kind: &str) -> Result<Vec<u8>, Failure> {
    const MOST: u64 = 1 << 20;
    let bytes = read_up_to(file, MOST.saturating_add(1))?;
    match u64::try_from(bytes.len()) {
        Ok(..=MOST) => Ok(bytes),
        _ => {
            let error = anyhow!("{}: the {kind} has more than {MOST} bytes", name_of(file));
            Err(Failure::new(Exit::Usage, error))
        }
    }
}

/// Reads all bytes of an input file.
pub fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    read_up_to(file, u64::MAX)
}

/// Reads an input file that must contain a block or a table. An empty file is reported as empty, not as truncated.
pub fn read_data(file: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = read(file)?;
    if bytes.is_empty() {
        return Err(empty(file));
    }
    Ok(bytes)
}

/// Returns the error for an empty input file that must have contents.
pub fn empty(file: &Path) -> Failure {
    Failure::new(Exit::InvalidData, anyhow!("{}: the file is empty", name_of(file)))
}

/// Reads at most `most` bytes of an input file.
pub fn read_up_to(file: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // Limited while reading, because a pipe has no size that could be checked before.
    open(file)?.take(most).read_to_end(&mut bytes).map_err(|error| unreadable(file, error))?;
    Ok(bytes)
}

/// Opens an input file that is read in chunks.
pub fn open(file: &Path) -> Result<Box<dyn Read>, Failure> {
    if is_dash(file) {
        return Ok(Box::new(io::stdin().lock()));
    }
    match File::open(file) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(unreadable(file, error)),
    }
}

/// Returns the error for an input file that cannot be read.
pub fn unreadable(file: &Path, error: io::Error) -> Failure {
    Failure::new(Exit::SourceFailed, anyhow!(error).context(format!("cannot read {}", name_of(file))))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn files_written_by_hand_have_an_end() {
        let endless = Path::new("/dev/zero");
        let failure = crate::paths::paths_of(&[], &[endless]).unwrap_err();
        let want = "/dev/zero: the file of counter paths has more than 1048576 bytes";
        assert_eq!((failure.exit, failure.error.to_string().as_str()), (Exit::Usage, want));
        let file = std::env::temp_dir().join(format!("perfset-input-{}", std::process::id()));
        std::fs::write(&file, vec![b'#'; 1 << 20]).unwrap();
        assert_eq!(read_small(&file, "file").unwrap().len(), 1 << 20);
        std::fs::remove_file(file).unwrap();
    }
}
