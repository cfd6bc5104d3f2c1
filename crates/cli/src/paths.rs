//! Counter paths from operands and from files.

use std::path::Path;

use perfset::output::text::name_of;
use perfset::path::{CounterPath, PathError, QueryFileError, query_paths};

use crate::exit::{Exit, Failure};
use crate::input;

/// Parses the counter paths of operands, then those in files.
pub fn paths_of(operands: &[String], files: &[impl AsRef<Path>]) -> Result<Vec<CounterPath>, Failure> {
    let mut paths = Vec::new();
    for text in operands {
        paths.push(parsed(text)?);
    }
    for file in files {
        add_file(&mut paths, file.as_ref())?;
    }
    Ok(paths)
}

/// Adds the counter paths of a file, which may be empty.
fn add_file(paths: &mut Vec<CounterPath>, file: &Path) -> Result<(), Failure> {
    match query_paths(&name_of(file), &input::read_small(file, "file of counter paths")?) {
        Ok(of_file) => paths.extend(of_file),
        Err(QueryFileError::Empty { .. }) => {}
        Err(error) => return Err(Failure::escaped(Exit::Usage, error)),
    }
    Ok(())
}

fn parsed(text: &str) -> Result<CounterPath, Failure> {
    text.parse().map_err(|error: PathError| Failure::escaped(Exit::Usage, error))
}
