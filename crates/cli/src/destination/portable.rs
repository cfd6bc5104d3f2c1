//! Places of files on systems without the calls that `linux.rs` needs.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Users whose links are followed: here all.
#[derive(Clone, Copy, Debug)]
pub struct Trusted;

impl Trusted {
    /// All users.
    pub fn of_this_process() -> Self {
        Self
    }
}

/// Kind of target that a path leads to.
#[derive(Debug)]
pub enum Found {
    /// A regular file, or none so far: a new file is put in its place.
    Entry(Entry),
    /// What is no regular file: it is opened and written as it is.
    Special(Special),
    /// What is standard output already: never found here.
    #[allow(dead_code, reason = "Linux has it")]
    Standard(File),
}

/// A name in a folder, for a regular file.
#[derive(Debug)]
pub struct Entry {
    file: PathBuf,
    is_there: bool,
}

/// A device or a pipe.
#[derive(Debug)]
pub struct Special {
    file: PathBuf,
}

/// Finds what a path leads to.
pub fn find(path: &Path, _: Trusted) -> io::Result<Found> {
    // Of a device only its name can be opened: what it is a link to may be no path.
    if is_device(path) || fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Ok(Found::Special(Special { file: path.to_owned() }));
    }
    let file = at_the_end_of_links(path);
    let is_there = fs::metadata(&file).is_ok();
    Ok(Found::Entry(Entry { file, is_there }))
}

/// What links point to is replaced, not the links; it need not be there yet.
fn at_the_end_of_links(file: &Path) -> PathBuf {
    /// As many as Linux follows.
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
    cfg!(windows) && super::is_device_of_windows(&file.to_string_lossy())
}

impl Special {
    /// Returns `true` for a regular file: never here.
    pub fn is_regular(&self) -> bool {
        false
    }

    /// Opens it.
    pub fn open(&self) -> io::Result<File> {
        File::options().write(true).open(&self.file)
    }
}

impl Entry {
    /// Returns `true` if there is a file.
    pub fn is_there(&self) -> bool {
        self.is_there
    }

    /// Makes a new file in the folder, with the permissions of the one that it will replace.
    pub fn make(&self, part: &OsStr) -> io::Result<File> {
        let file = File::create_new(self.file.with_file_name(part))?;
        if let Ok(before) = fs::metadata(&self.file) {
            let _ = file.set_permissions(before.permissions()); // else those of a new file
        }
        Ok(file)
    }

    /// Puts a new file in the place.
    pub fn put(&self, part: &OsStr) -> io::Result<()> {
        fs::rename(self.file.with_file_name(part), &self.file)
    }

    /// Puts a new file in the place, unless there is one.
    pub fn put_first(&self, part: &OsStr) -> io::Result<()> {
        match fs::symlink_metadata(&self.file) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => self.put(part),
        }
    }

    /// Takes a new file away, if it is there.
    pub fn remove(&self, part: &OsStr) {
        let _ = fs::remove_file(self.file.with_file_name(part)); // it may be gone already
    }

    /// The name of the file.
    pub fn name(&self) -> &OsStr {
        self.file.file_name().unwrap_or_default()
    }

    /// The path of a file of the folder.
    pub fn path(&self, name: &OsStr) -> io::Result<PathBuf> {
        std::path::absolute(self.file.with_file_name(name))
    }

    /// Returns `true` if strangers can make files in the folder: nobody knows that here.
    pub fn is_in_foreign_folder(&self) -> io::Result<bool> {
        Ok(false)
    }

    /// Holds a file of the folder.
    pub fn hold(&self, name: &OsStr) -> io::Result<Held> {
        Ok(Held { file: self.path(name)? })
    }
}

/// The place of a folder that is to be made.
#[derive(Debug)]
pub struct NewFolder {
    path: PathBuf,
}

impl NewFolder {
    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Finds the place of a folder that is to be made: here it is not looked for.
pub fn find_new_folder(path: &Path, _: Trusted) -> io::Result<NewFolder> {
    Ok(NewFolder { path: path.to_owned() })
}

/// Checks nothing.
pub fn check_links(_: &Path, _: Trusted) -> io::Result<()> {
    Ok(())
}

/// A file that is held: only its path is known here.
#[derive(Debug)]
pub struct Held {
    file: PathBuf,
}

impl Held {
    /// Has the file on the disk.
    pub fn settle(&self) -> io::Result<()> {
        File::options().write(true).open(&self.file)?.sync_all()
    }

    /// Checks nothing.
    pub fn check_open(&self) -> io::Result<()> {
        Ok(())
    }
}
