//! Files that the command is given; `-` is standard input.

use std::io::{self, Read};
use std::path::Path;

use anyhow::Context;

use crate::exit::{Exit, Failure};

/// All bytes of a file.
pub fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = || {
        if file == Path::new("-") {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        std::fs::read(file)
    };
    bytes()
        .with_context(|| format!("cannot read {}", file.display()))
        .map_err(|error| Failure::new(Exit::SourceFailed, error))
}
