//! Output files of the command; `-` is standard output.
//!
//! A new file is written in the same directory under an unpredictable name, and renamed once it is complete. So no
//! reader sees half a file, and no file of another user is written into. A symbolic link is followed only if its
//! owner is root or the user who runs the command, or if it is the kernel's or the system's; `linux.rs` has the rules.
//! A target that is not a regular file is opened and written, never replaced.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;

use perfset::output::text::name_of;

use crate::exit::{Exit, Failure};
use crate::input::is_dash;
use crate::terminal;
use place::{Entry, Found, Special, Trusted};
pub use place::{HeldFile, NewFolder};

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "portable.rs")]
mod place;

const BUFFER: usize = 1 << 16;

/// Writes all bytes of an output file, and replaces an existing file. Without a file, writes to standard output.
pub fn write(file: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    let destination = Destination::new(file.unwrap_or(Path::new("-")))?;
    let mut writer = destination.writer()?;
    writer.write_all(bytes)?;
    writer.flush()?;
    drop(writer);
    destination.keep()
}

/// Creates an output file under its final name from the start, to be written in chunks.
pub fn create(file: &Path) -> Result<Box<dyn Write>, Failure> {
    // Windows cannot rename a file that another process might have open.
    if cfg!(windows) {
        let created = File::create(file).map_err(|error| unwritable(file, error))?;
        return Ok(Box::new(BufWriter::with_capacity(BUFFER, created)));
    }
    let destination = Destination::new(file)?;
    // Not `writer`, because Ctrl+C ends a recording and must not remove its file.
    let writer = destination.open()?;
    // Renamed while it is empty, so that users can follow the file while it grows.
    destination.keep()?;
    Ok(writer)
}

/// Returns the error for an output file that cannot be written.
fn unwritable(file: &Path, error: io::Error) -> Failure {
    Failure::new(Exit::SourceFailed, anyhow!(error).context(format!("cannot write {}", name_of(file))))
}

/// Returns an error if an output file exists, because the user did not allow it to be overwritten.
pub fn refuse_existing(file: &Path) -> Result<(), Failure> {
    let is_there = match &Destination::new(file)?.target {
        Target::File(entry, _) => entry.is_there(),
        // A file that a process has open loses its contents as well.
        Target::Special(special, _) => special.is_regular(),
        Target::Stdout | Target::Standard(_) => false,
    };
    if is_there {
        let error = anyhow!("{} exists; --force overwrites it", name_of(file));
        return Err(Failure::new(Exit::Usage, error));
    }
    Ok(())
}

/// Resolves the path of a directory that is to be created. An existing file or directory is an error.
pub fn new_folder(folder: &Path) -> Result<NewFolder, Failure> {
    place::find_new_folder(folder, Trusted::current()).map_err(|error| unwritable(folder, error))
}

/// Returns an error if the path to a directory contains a symbolic link that is not followed.
pub fn refuse_foreign_links(folder: &Path) -> Result<(), Failure> {
    place::check_links(folder, Trusted::current()).map_err(|error| unwritable(folder, error))
}

/// Output file that appears complete or not at all; a device or a pipe is written in place.
#[derive(Debug)]
pub struct Destination {
    /// Path of the output file, as the user wrote it.
    name: PathBuf,
    target: Target,
    /// `true` if only the owner of a new output file may read it.
    is_private: bool,
}

#[derive(Debug)]
enum Target {
    Stdout,
    /// Standard output or standard error, reached by a path such as `/dev/stdout`.
    Standard(File),
    /// Device or pipe as an output, with the opened file: opening a pipe twice would end the pipe for its reader.
    Special(Special, RefCell<Option<File>>),
    /// Regular output file, with the temporary name under which it is written.
    File(Arc<Entry>, OsString),
}

impl Destination {
    /// Resolves the path of an output file.
    pub fn new(file: &Path) -> Result<Self, Failure> {
        Self::with_trusted(file, Trusted::current())
    }

    fn with_trusted(file: &Path, trusted: Trusted) -> Result<Self, Failure> {
        let name = file.to_owned();
        if is_dash(file) {
            return Ok(Self { name, target: Target::Stdout, is_private: false });
        }
        let target = match place::find(file, trusted).map_err(|error| unwritable(file, error))? {
            Found::Entry(entry) => {
                // Other users must not be able to predict the name before the file exists.
                let part = format!(".perfset-{:016x}.part", RandomState::new().hash_one(file));
                Target::File(Arc::new(entry), part.into())
            }
            Found::Special(special) => Target::Special(special, RefCell::default()),
            Found::Standard(file) => Target::Standard(file),
        };
        Ok(Self { name, target, is_private: false })
    }

    /// Sets that only the owner of a new output file can read it. A file that exists keeps its permissions.
    #[must_use]
    pub fn private(mut self) -> Self {
        self.is_private = true;
        self
    }

    /// Checks that the output file can be written, before the user waits for its contents.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.target {
            Target::Stdout | Target::Standard(_) => {}
            Target::Special(special, opened) => {
                *opened.borrow_mut() = Some(special.open().map_err(|error| unwritable(&self.name, error))?);
            }
            Target::File(entry, part) => {
                // Creating the file is the only reliable check: quotas and read-only mounts decide too.
                entry.make(part).map_err(|error| unwritable(&self.name, error))?;
                entry.remove(part); // created again by `open`
            }
        }
        Ok(())
    }

    /// Opens the output file for writing. Ctrl+C removes a new, incomplete file.
    pub fn writer(&self) -> Result<Box<dyn Write>, Failure> {
        let writer = self.open()?;
        self.remove_if_given_up();
        Ok(writer)
    }

    fn open(&self) -> Result<Box<dyn Write>, Failure> {
        let unwritable = |error| unwritable(&self.name, error);
        let file = match &self.target {
            Target::Stdout => return Ok(Box::new(BufWriter::new(terminal::stdout()))),
            Target::Standard(file) => file.try_clone().map_err(unwritable)?,
            Target::Special(special, opened) => match opened.borrow_mut().take() {
                Some(file) => file,
                None => special.open().map_err(unwritable)?,
            },
            Target::File(entry, part) => self.make(entry, part).map_err(unwritable)?,
        };
        Ok(Box::new(BufWriter::with_capacity(BUFFER, terminal::escaping(file))))
    }

    /// Creates the new output file under its temporary name.
    fn make(&self, entry: &Entry, part: &OsStr) -> io::Result<File> {
        let file = entry.make(part)?;
        // The file is empty so far.
        #[cfg(unix)]
        if self.is_private && !entry.is_there() {
            use std::os::unix::fs::PermissionsExt;

            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
        Ok(file)
    }

    /// Creates an empty output file for a program that can open only paths. Returns its path, and its identity;
    /// `None` if the target is not a regular file.
    pub fn part(&self) -> Result<Option<(PathBuf, HeldFile)>, Failure> {
        let Target::File(entry, part) = &self.target else { return Ok(None) };
        let made = self.make(entry, part).and_then(|_| Ok((entry.path(part)?, entry.hold(part)?)));
        // Also after an error, because the file may have been created before it failed.
        self.remove_if_given_up();
        made.map(Some).map_err(|error| unwritable(&self.name, error))
    }

    /// Returns the path of the existing output file, without links, and the file itself, held open. Returns `None` if
    /// there is none, or if it is not a regular file.
    pub fn existing(&self) -> Result<Option<(PathBuf, HeldFile)>, Failure> {
        let Target::File(entry, _) = &self.target else { return Ok(None) };
        if !entry.is_there() {
            return Ok(None);
        }
        let found = entry.path(entry.name()).and_then(|path| Ok((path, entry.hold(entry.name())?)));
        found.map(Some).map_err(|error| unwritable(&self.name, error))
    }

    /// Returns an error if the output file is in a directory where other users can create files.
    pub fn refuse_foreign_folder(&self, why: &str) -> Result<(), Failure> {
        let Target::File(entry, _) = &self.target else { return Ok(()) };
        match entry.is_in_foreign_folder() {
            Ok(false) => Ok(()),
            Ok(true) => {
                Err(unwritable(&self.name, io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned())))
            }
            Err(error) => Err(unwritable(&self.name, error)),
        }
    }

    /// Returns the path of the output file, as the user wrote it.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns the failure of the command for an I/O error of this output file.
    pub fn failed(&self, error: io::Error) -> Failure {
        unwritable(&self.name, error)
    }

    /// Removes the incomplete output file when the user ends the command by Ctrl+C.
    fn remove_if_given_up(&self) {
        let Target::File(entry, part) = &self.target else { return };
        let (entry, part) = (Arc::clone(entry), part.clone());
        // An error means that another handler for Ctrl+C is set already.
        let _ = ctrlc::set_handler(move || {
            entry.remove(&part);
            // 128 + SIGINT, the code that shells report for Ctrl+C.
            std::process::exit(130);
        });
    }

    /// Moves the complete output file to its final name.
    pub fn keep(self) -> Result<(), Failure> {
        let Target::File(entry, part) = &self.target else { return Ok(()) };
        entry.put(part).map_err(|error| unwritable(&self.name, error))
    }

    /// Moves the complete output file to its final name, unless a file of that name exists by now.
    pub fn keep_first(self) -> Result<(), Failure> {
        let Target::File(entry, part) = &self.target else { return Ok(()) };
        entry.put_first(part).map_err(|error| unwritable(&self.name, error))
    }
}

/// Returns `true` for a path that Windows treats as a device.
///
/// Source: MS Learn, "Naming Files, Paths, and Namespaces".
#[cfg_attr(target_os = "linux", allow(dead_code, reason = "a test checks it on all systems"))]
fn is_device_of_windows(path: &str) -> bool {
    // A device keeps its meaning with any directory, extension or stream: `C:\x\nul.txt` is NUL.
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
        if let Target::File(entry, part) = &self.target {
            entry.remove(part); // it is there only if writing failed
        }
    }
}

#[cfg(test)]
mod tests;
