//! Files that the command writes; `-` is standard output.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::exit::{Exit, Failure};
use crate::input::is_dash;
use crate::text::name_of;

const BUFFER: usize = 1 << 16;

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
    Ok(BufWriter::with_capacity(BUFFER, File::create(file)?))
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
        let file = at_the_end_of_links(file);
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
        let opened = match &self.part {
            // Nobody is to have put a link there.
            Some(part) => File::create_new(part).map(|file| BufWriter::with_capacity(BUFFER, file)),
            None => created(&self.file),
        };
        opened.map_err(|error| unwritable(&self.file, error))
    }

    /// Puts what was written at its place.
    pub fn keep(self) -> Result<(), Failure> {
        let Some(part) = &self.part else { return Ok(()) };
        fs::rename(part, &self.file).map_err(|error| unwritable(&self.file, error))
    }
}

/// What links point to is replaced, not the links; it need not be there yet.
fn at_the_end_of_links(file: &Path) -> PathBuf {
    /// As many as the kernel follows.
    const LINKS: usize = 40;
    let mut at = file.to_owned();
    for _ in 0..LINKS {
        let Ok(target) = fs::read_link(&at) else { break };
        at = at.parent().map_or_else(|| target.clone(), |folder| folder.join(&target));
    }
    fs::canonicalize(&at).unwrap_or(at)
}

impl Drop for Destination {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let _ = fs::remove_file(part); // it is there only if writing failed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_and_nobody_puts_one_in_the_way() {
        let folder = std::env::temp_dir().join(format!("perfset-destination-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let [dangling, other] = ["dangling", "other"].map(|name| folder.join(name));
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
        std::os::unix::fs::symlink(&dangling, &other).unwrap();
        let destination = Destination::new(&other);
        destination.writer().unwrap().write_all(b"text").unwrap();
        destination.keep().unwrap();
        assert!(fs::read_link(&other).is_ok() && fs::read_link(&dangling).is_ok());
        assert_eq!(fs::read(folder.join("nowhere")).unwrap(), b"text");

        let destination = Destination::new(&folder.join("file"));
        let part = destination.part.clone().unwrap();
        std::os::unix::fs::symlink("nowhere", &part).unwrap();
        assert!(destination.check().is_err() && destination.writer().is_err());
        drop(destination);
        assert_eq!(fs::read(folder.join("nowhere")).unwrap(), b"text");
        fs::remove_dir_all(&folder).unwrap();
    }
}
