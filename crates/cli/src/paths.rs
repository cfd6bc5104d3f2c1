//! Counter paths that the command is given: as operands, and in files.

use std::path::Path;

use anyhow::anyhow;
use perfset::path::CounterPath;

use crate::exit::{Exit, Failure};
use crate::input;
use crate::text::{escaped, name_of};

/// Those of operands, then those of files.
pub fn paths_of(operands: &[String], files: &[impl AsRef<Path>]) -> Result<Vec<CounterPath>, Failure> {
    let mut paths = Vec::new();
    for text in operands {
        paths.push(parsed(text, "")?);
    }
    for file in files {
        add_file(&mut paths, file.as_ref())?;
    }
    Ok(paths)
}

/// Adds those of a file, one a line; empty lines and those that begin with `;` or `#` are none.
fn add_file(paths: &mut Vec<CounterPath>, file: &Path) -> Result<(), Failure> {
    let bytes = input::read(file)?;
    let text = String::from_utf8_lossy(&bytes);
    for (number, line) in (1_u64..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let line = line.trim().trim_matches('"');
        if !line.is_empty() && !line.starts_with([';', '#']) {
            paths.push(parsed(line, &format!("{}, line {number}: ", name_of(file)))?);
        }
    }
    Ok(())
}

fn parsed(text: &str, place: &str) -> Result<CounterPath, Failure> {
    text.parse().map_err(|error: perfset::path::PathError| {
        Failure::new(Exit::Usage, anyhow!("{place}{}", escaped(&error.to_string())))
    })
}
