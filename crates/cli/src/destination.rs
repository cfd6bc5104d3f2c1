//! Files that the command writes; `-` is standard output.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::exit::{Exit, Failure};
use crate::input::is_dash;
use crate::text::name_of;

/// Writes a whole file, over one that exists; no file is standard output.
pub fn write(file: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    match file.filter(|file| !is_dash(file)) {
        Some(file) => fs::write(file, bytes).map_err(|error| unwritable(file, error)),
        None => {
            let mut out = io::stdout().lock();
            out.write_all(bytes)?;
            Ok(out.flush()?)
        }
    }
}

/// A new file, to be written piece by piece.
pub fn create(file: &Path) -> Result<BufWriter<File>, Failure> {
    created(file).map_err(|error| unwritable(file, error))
}

fn created(file: &Path) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::with_capacity(1 << 16, File::create(file)?))
}

/// What is said of a file that cannot be written.
fn unwritable(file: &Path, error: io::Error) -> Failure {
    Failure::new(Exit::SourceFailed, anyhow!(error).context(format!("cannot write {}", name_of(file))))
}

/// Refuses a file that exists, over which nobody said to write.
pub fn refuse_existing(file: &Path) -> Result<(), Failure> {
    if !is_dash(file) && fs::metadata(file).is_ok_and(|found| found.is_file()) {
        let error = anyhow!("{} exists; --force writes over it", name_of(file));
        return Err(Failure::new(Exit::Usage, error));
    }
    Ok(())
}

/// A file that is there whole or not at all; a device or a pipe is written as it is.
pub struct Destination {
    file: PathBuf,
    /// Where it is written, if not at its place.
    part: Option<PathBuf>,
}

impl Destination {
    pub fn new(file: &Path) -> Self {
        if is_dash(file) {
            return Self { file: file.to_owned(), part: None };
        }
        // What a link points to is replaced, not the link.
        let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let is_special = fs::metadata(&file).is_ok_and(|found| !found.is_file());
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let part = file.with_file_name(format!(".{name}.{}.part", std::process::id()));
        Self { part: (!is_special).then_some(part), file }
    }

    /// Sees that it can be written, before anyone waits for what is to be in it.
    pub fn check(&self) -> Result<(), Failure> {
        let Some(part) = &self.part else { return Ok(()) };
        self.open()?;
        let _ = fs::remove_file(part); // it is made anew
        Ok(())
    }

    pub fn writer(&self) -> Result<Box<dyn Write>, Failure> {
        if is_dash(&self.file) {
            return Ok(Box::new(BufWriter::new(io::stdout())));
        }
        let writer = self.open()?;
        if let Some(part) = self.part.clone() {
            if let Ok(before) = fs::metadata(&self.file) {
                let _ = writer.get_ref().set_permissions(before.permissions()); // else those of a new file
            }
            // Nothing is left of a file that is given up half.
            let _ = ctrlc::set_handler(move || {
                let _ = fs::remove_file(&part);
                std::process::exit(130);
            });
        }
        Ok(Box::new(writer))
    }

    fn open(&self) -> Result<BufWriter<File>, Failure> {
        let place = self.part.as_ref().unwrap_or(&self.file);
        created(place).map_err(|error| unwritable(&self.file, error))
    }

    /// Puts what was written at its place.
    pub fn keep(self) -> Result<(), Failure> {
        let Some(part) = &self.part else { return Ok(()) };
        fs::rename(part, &self.file).map_err(|error| unwritable(&self.file, error))
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let _ = fs::remove_file(part); // it is there only if writing failed
        }
    }
}
