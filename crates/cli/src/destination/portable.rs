//! Output paths on systems without the system calls that `linux.rs` needs.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Users whose symbolic links in an output path are followed: here all users.
#[derive(Clone, Copy, Debug)]
pub struct Trusted;

impl Trusted {
    /// Returns a value that trusts all users, because links are not checked on this system.
    pub fn current() -> Self {
        Self
    }
}

/// Kind of file to which an output path leads.
#[derive(Debug)]
pub enum Found {
    /// Regular file at an output path, or a path without a file: the output becomes a new file, which replaces an
    /// existing one.
    Entry(Entry),
    /// Output target that is not a regular file: it is opened and written in place.
    Special(Special),
    /// Standard output or standard error of this process: never found on this system.
    #[allow(dead_code, reason = "Linux has it")]
    Standard(File),
}

/// Path of a regular output file, which can be new.
#[derive(Debug)]
pub struct Entry {
    file: PathBuf,
    is_there: bool,
}

/// Device or pipe as the target of an output, which is written in place.
#[derive(Debug)]
pub struct Special {
    file: PathBuf,
}

/// Resolves an output path to its target.
pub fn find(path: &Path, _: Trusted) -> io::Result<Found> {
    // A device can be opened only by the given name: a link to it might have no path as its target.
    if is_device(path) || fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Ok(Found::Special(Special { file: path.to_owned() }));
    }
    let file = at_the_end_of_links(path);
    let is_there = fs::metadata(&file).is_ok();
    Ok(Found::Entry(Entry { file, is_there }))
}

/// Resolves the symbolic links of an output path, so that their target is replaced and not the links. The target need
/// not exist yet.
fn at_the_end_of_links(file: &Path) -> PathBuf {
    /// Maximum number of symbolic links that are followed in a path, the same as Linux's.
    const LINKS: usize = 40;
    let mut at = file.to_owned();
    for _ in 0..LINKS {
        let Ok(target) = fs::read_link(&at) else { break };
        at = at.parent().map_or_else(|| target.clone(), |folder| folder.join(&target));
    }
    at
}

/// Returns `true` if Windows treats a path as a device. Windows reports no file type for a device that could be
/// checked.
fn is_device(file: &Path) -> bool {
    cfg!(windows) && super::is_device_of_windows(&file.to_string_lossy())
}

impl Special {
    /// Returns `false`, because a device or a pipe that is an output target is never a regular file on this system.
    pub fn is_regular(&self) -> bool {
        false
    }

    /// Opens the device or pipe for writing.
    pub fn open(&self) -> io::Result<File> {
        File::options().write(true).open(&self.file)
    }
}

impl Entry {
    /// Returns `true` if the output file exists already.
    pub fn is_there(&self) -> bool {
        self.is_there
    }

    /// Creates a new file in the output's directory, with the permissions of the file that it will replace.
    pub fn make(&self, part: &OsStr) -> io::Result<File> {
        // Never an existing file, which another user may have created under this name.
        let file = File::create_new(self.file.with_file_name(part))?;
        if let Ok(before) = fs::metadata(&self.file) {
            let _ = file.set_permissions(before.permissions()); // else those of a new file
        }
        Ok(file)
    }

    /// Renames a new, complete output file to its final name.
    pub fn put(&self, part: &OsStr) -> io::Result<()> {
        fs::rename(self.file.with_file_name(part), &self.file)
    }

    /// Renames a new, complete output file to its final name, unless a file of that name exists.
    pub fn put_first(&self, part: &OsStr) -> io::Result<()> {
        // No portable rename fails on an existing file, so a file created in between is overwritten.
        match fs::symlink_metadata(&self.file) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => self.put(part),
        }
    }

    /// Removes the new, incomplete output file, if it exists.
    pub fn remove(&self, part: &OsStr) {
        let _ = fs::remove_file(self.file.with_file_name(part)); // it may be gone already
    }

    /// Returns the name of the output file in its directory.
    pub fn name(&self) -> &OsStr {
        self.file.file_name().unwrap_or_default()
    }

    /// Returns the path of a file in the output's directory.
    pub fn path(&self, name: &OsStr) -> io::Result<PathBuf> {
        std::path::absolute(self.file.with_file_name(name))
    }

    /// Returns `false`, because this system does not tell if other users can create files in the output's directory.
    pub fn is_in_foreign_folder(&self) -> io::Result<bool> {
        Ok(false)
    }

    /// Returns a handle of a file in the output's directory. On this system, the handle has only the file's path.
    pub fn hold(&self, name: &OsStr) -> io::Result<HeldFile> {
        Ok(HeldFile { file: self.path(name)? })
    }
}

/// Path of a directory that is to be created.
#[derive(Debug)]
pub struct NewFolder {
    path: PathBuf,
}

impl NewFolder {
    /// Returns the path of the new directory, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns the path of a directory that is to be created, without looking at the file system.
pub fn find_new_folder(path: &Path, _: Trusted) -> io::Result<NewFolder> {
    Ok(NewFolder { path: path.to_owned() })
}

/// Does nothing: symbolic links of all users are followed on this system.
pub fn check_links(_: &Path, _: Trusted) -> io::Result<()> {
    Ok(())
}

/// Handle of a file in the output's directory. On this system, it has only the file's path.
#[derive(Debug)]
pub struct HeldFile {
    file: PathBuf,
}

impl HeldFile {
    /// Writes the data of the held file to the disk.
    pub fn settle(&self) -> io::Result<()> {
        File::options().write(true).open(&self.file)?.sync_all()
    }

    /// Does nothing: open files cannot be compared on this system.
    pub fn check_open(&self) -> io::Result<()> {
        Ok(())
    }
}
