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
    let created = File::create(file).map(|file| BufWriter::with_capacity(BUFFER, file));
    created.map_err(|error| unwritable(file, error))
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
    /// As it was named.
    name: PathBuf,
    /// Where it is.
    file: PathBuf,
    /// Where it is written, if not at its place.
    part: Option<PathBuf>,
}

impl Destination {
    pub fn new(file: &Path) -> Self {
        let name = file.to_owned();
        // Of a device only its name can be opened: what it is a link to may be no path.
        if is_dash(file) || is_device(file) || fs::metadata(file).is_ok_and(|found| !found.is_file()) {
            return Self { file: name.clone(), name, part: None };
        }
        let file = at_the_end_of_links(file);
        let part = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let part = file.with_file_name(format!(".{part}.{}.part", std::process::id()));
        Self { name, file, part: Some(part) }
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
            Some(part) => File::create_new(part),
            None => File::options().write(true).open(&self.file),
        };
        let opened = opened.map(|file| BufWriter::with_capacity(BUFFER, file));
        opened.map_err(|error| unwritable(&self.name, error))
    }

    /// Puts what was written at its place.
    pub fn keep(self) -> Result<(), Failure> {
        let Some(part) = &self.part else { return Ok(()) };
        fs::rename(part, &self.file).map_err(|error| unwritable(&self.name, error))
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
    at
}

/// Whether Windows takes a path for a device's: there a device has no kind that could be asked for.
fn is_device(file: &Path) -> bool {
    cfg!(windows) && is_device_of_windows(&file.to_string_lossy())
}

/// Source: MS Learn, "Naming Files, Paths, and Namespaces".
fn is_device_of_windows(path: &str) -> bool {
    let name = path.rsplit(['\\', '/']).next().unwrap_or_default();
    let name = name.split(['.', ':']).next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let is_numbered = |kind: &str| name.strip_prefix(kind).is_some_and(|rest| rest.chars().count() == 1);
    path.replace('/', "\\").starts_with(r"\\.\")
        || ["NUL", "CON", "CONIN$", "CONOUT$", "PRN", "AUX"].contains(&&*name)
        || is_numbered("COM")
        || is_numbered("LPT")
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
    fn devices_of_windows() {
        for name in [
            "NUL",
            "nul",
            "NUL.txt",
            r"C:\a\con",
            "a/Prn ",
            "COM1",
            "lpt²",
            "CONOUT$",
            r"\\.\pipe\x",
            "//./y",
        ] {
            assert!(is_device_of_windows(name), "{name}");
        }
        for name in [
            "",
            "-",
            "NULL",
            "nul1",
            "a.nul",
            "COM",
            "COM10",
            "COMA.d/x",
            r"\\host\share",
            "con/x",
            "/dev/null",
        ] {
            assert!(!is_device_of_windows(name), "{name}");
        }
    }

    #[test]
    fn what_is_no_file_is_written_by_its_name() {
        let (mut reader, writer) = io::pipe().unwrap();
        let name = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        let destination = Destination::new(Path::new(&name));
        destination.check().unwrap();
        destination.writer().unwrap().write_all(b"text").unwrap();
        destination.keep().unwrap();
        drop(writer);
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "text");
        // And what cannot be written is called what it was called.
        let link = std::env::temp_dir().join(format!("perfset-destination-link-{}", std::process::id()));
        std::os::unix::fs::symlink("no/such/folder", &link).unwrap();
        let error = Destination::new(&link).check().unwrap_err().error;
        assert_eq!(error.to_string(), format!("cannot write {}", link.display()));
        fs::remove_file(&link).unwrap();
    }

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
