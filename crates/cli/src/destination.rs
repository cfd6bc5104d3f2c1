//! Files that the command writes; `-` is standard output.
//!
//! A file is made beside its place under a name that nobody can guess, and moved there once it is whole: nobody sees
//! half of it, and nobody else's file is written into. A symbolic link is followed only if its owner is the user who
//! runs the command, or root. What is no regular file is opened and written, never replaced.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;

use crate::exit::{Exit, Failure};
use crate::input::is_dash;
use crate::terminal;
use crate::text::name_of;
use place::{Entry, Found, Special, Trusted};
pub use place::{Held, NewFolder};

#[cfg_attr(target_os = "linux", path = "destination/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "destination/portable.rs")]
mod place;

const BUFFER: usize = 1 << 16;

/// Writes a whole file, over one that exists; no file is standard output.
pub fn write(file: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    let destination = Destination::new(file.unwrap_or(Path::new("-")))?;
    let mut writer = destination.writer()?;
    writer.write_all(bytes)?;
    writer.flush()?;
    drop(writer);
    destination.keep()
}

/// Makes a file that is at its place from its beginning, to be written piece by piece.
pub fn create(file: &Path) -> Result<Box<dyn Write>, Failure> {
    // Windows moves no file that somebody else may have open.
    if cfg!(windows) {
        let created = File::create(file).map_err(|error| unwritable(file, error))?;
        return Ok(Box::new(BufWriter::with_capacity(BUFFER, created)));
    }
    let destination = Destination::new(file)?;
    let writer = destination.open()?;
    destination.keep()?;
    Ok(writer)
}

/// The error for a file that cannot be written.
fn unwritable(file: &Path, error: io::Error) -> Failure {
    Failure::new(Exit::SourceFailed, anyhow!(error).context(format!("cannot write {}", name_of(file))))
}

/// Refuses a file that exists, over which nobody said to write.
pub fn refuse_existing(file: &Path) -> Result<(), Failure> {
    let is_there = match &Destination::new(file)?.target {
        Target::File(entry, _) => entry.is_there(),
        Target::Special(special, _) => special.is_regular(),
        Target::Stdout | Target::Standard(_) => false,
    };
    if is_there {
        let error = anyhow!("{} exists; --force writes over it", name_of(file));
        return Err(Failure::new(Exit::Usage, error));
    }
    Ok(())
}

/// Finds the place of a folder that is to be made. What is there already is an error.
pub fn new_folder(folder: &Path) -> Result<NewFolder, Failure> {
    place::find_new_folder(folder, Trusted::of_this_process()).map_err(|error| unwritable(folder, error))
}

/// Refuses a path to a folder that has a link in it that is not followed.
pub fn refuse_foreign_links(folder: &Path) -> Result<(), Failure> {
    place::check_links(folder, Trusted::of_this_process()).map_err(|error| unwritable(folder, error))
}

/// A file that is there whole or not at all; a device or a pipe is written as it is.
#[derive(Debug)]
pub struct Destination {
    /// Path as the user named it.
    name: PathBuf,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Stdout,
    /// Standard output or standard error, by another name.
    Standard(File),
    /// With the file, once it was opened: opening a pipe twice would end it for its reader.
    Special(Special, RefCell<Option<File>>),
    /// With the name under which it is written.
    File(Arc<Entry>, OsString),
}

impl Destination {
    /// Finds the place of a file.
    pub fn new(file: &Path) -> Result<Self, Failure> {
        Self::of(file, Trusted::of_this_process())
    }

    fn of(file: &Path, trusted: Trusted) -> Result<Self, Failure> {
        let name = file.to_owned();
        if is_dash(file) {
            return Ok(Self { name, target: Target::Stdout });
        }
        let target = match place::find(file, trusted).map_err(|error| unwritable(file, error))? {
            Found::Entry(entry) => {
                // Nobody is to know the name before the file is there.
                let part = format!(".perfset-{:016x}.part", RandomState::new().hash_one(file));
                Target::File(Arc::new(entry), part.into())
            }
            Found::Special(special) => Target::Special(special, RefCell::default()),
            Found::Standard(file) => Target::Standard(file),
        };
        Ok(Self { name, target })
    }

    /// Sees that it can be written, before anyone waits for what is to be in it.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.target {
            Target::Stdout | Target::Standard(_) => {}
            Target::Special(special, opened) => {
                *opened.borrow_mut() = Some(special.open().map_err(|error| unwritable(&self.name, error))?);
            }
            Target::File(entry, part) => {
                entry.make(part).map_err(|error| unwritable(&self.name, error))?;
                entry.remove(part); // it is made anew
            }
        }
        Ok(())
    }

    /// Opens it. Ctrl+C leaves nothing of a new file.
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
            Target::File(entry, part) => entry.make(part).map_err(unwritable)?,
        };
        Ok(Box::new(BufWriter::with_capacity(BUFFER, terminal::escaping(file))))
    }

    /// Makes an empty file for a program that opens paths only. Returns its path, and what tells it from another file
    /// of its name; `None` for what is no regular file.
    pub fn part(&self) -> Result<Option<(PathBuf, Held)>, Failure> {
        let Target::File(entry, part) = &self.target else { return Ok(None) };
        let made = entry.make(part).and_then(|_| Ok((entry.path(part)?, entry.hold(part)?)));
        self.remove_if_given_up();
        made.map(Some).map_err(|error| unwritable(&self.name, error))
    }

    /// Returns the path of the file that is there, without links, and what tells it from another file of its name;
    /// `None` if there is none, or it is no regular file.
    pub fn existing(&self) -> Result<Option<(PathBuf, Held)>, Failure> {
        let Target::File(entry, _) = &self.target else { return Ok(None) };
        if !entry.is_there() {
            return Ok(None);
        }
        let found = entry.path(entry.name()).and_then(|path| Ok((path, entry.hold(entry.name())?)));
        found.map(Some).map_err(|error| unwritable(&self.name, error))
    }

    /// Refuses a file beside which strangers can put others.
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

    /// Returns the path as the user named it.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The error for this file.
    pub fn failed(&self, error: io::Error) -> Failure {
        unwritable(&self.name, error)
    }

    /// Leaves nothing of a file that is given up half.
    fn remove_if_given_up(&self) {
        let Target::File(entry, part) = &self.target else { return };
        let (entry, part) = (Arc::clone(entry), part.clone());
        // Else somebody listens to Ctrl+C already.
        let _ = ctrlc::set_handler(move || {
            entry.remove(&part);
            std::process::exit(130);
        });
    }

    /// Puts what was written at its place.
    pub fn keep(self) -> Result<(), Failure> {
        let Target::File(entry, part) = &self.target else { return Ok(()) };
        entry.put(part).map_err(|error| unwritable(&self.name, error))
    }

    /// Puts what was written at its place, unless a file is there by now.
    pub fn keep_first(self) -> Result<(), Failure> {
        let Target::File(entry, part) = &self.target else { return Ok(()) };
        entry.put_first(part).map_err(|error| unwritable(&self.name, error))
    }
}

/// Returns `true` for a path that Windows takes for a device's.
///
/// Source: MS Learn, "Naming Files, Paths, and Namespaces".
#[cfg_attr(target_os = "linux", allow(dead_code, reason = "a test checks it on all systems"))]
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
        if let Target::File(entry, part) = &self.target {
            entry.remove(part); // it is there only if writing failed
        }
    }
}

#[cfg(test)]
mod tests;
