//! Lock of a recording's directory, which only one recorder at a time can hold.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Lock of a recording's directory, held until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

/// Reason for which a recorder could not lock its directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The recording's directory is locked by another recorder.
    #[error("{} is recorded into by another recorder: {owner}", folder.display())]
    Held {
        /// Directory of the recording that is locked.
        folder: PathBuf,
        /// Description that the other recorder wrote about itself.
        owner: String,
    },
    /// The lock file of the directory cannot be created or locked.
    #[error("cannot lock {}", folder.display())]
    Io {
        /// Directory of the recording that could not be locked.
        folder: PathBuf,
        /// Error of the system that prevented the lock.
        #[source]
        error: io::Error,
    },
}

/// Name of the lock file in a recording's directory.
const NAME: &str = "lock";
/// Maximum number of bytes that are read of a recorder's description in the lock file.
const LONGEST: u64 = 500;
/// Number of further attempts to lock the lock file; `PAUSE` is the time before each attempt.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(50);

impl FolderLock {
    /// Locks a recording's directory, and writes the description `owner` into the lock file for others to read.
    ///
    /// # Errors
    /// If another recorder has the directory, or the file cannot be created.
    pub fn take(folder: &Path, owner: &str) -> Result<Self, LockError> {
        let failed = |error| LockError::Io { folder: folder.to_owned(), error };
        super::files::create_folder(folder).map_err(failed)?;
        let mut locked = try_lock(&folder.join(NAME)).map_err(failed)?;
        // Who looks whether a recorder runs has the lock for a moment.
        for _ in 0..ATTEMPTS {
            if locked.is_some() {
                break;
            }
            std::thread::sleep(PAUSE);
            locked = try_lock(&folder.join(NAME)).map_err(failed)?;
        }
        let Some(mut file) = locked else {
            let owner = Self::owner(folder).unwrap_or_else(|| "it does not say which".to_owned());
            return Err(LockError::Held { folder: folder.to_owned(), owner });
        };
        file.set_len(0).and_then(|()| file.write_all(owner.as_bytes())).map_err(failed)?;
        Ok(Self { _file: file })
    }

    /// Returns the description that a recorder left in the lock file of a directory, even if it no longer runs.
    #[must_use]
    pub fn owner(folder: &Path) -> Option<String> {
        let mut text = Vec::new();
        let file = open(&folder.join(NAME), OpenOptions::new().read(true)).ok()?;
        file.take(LONGEST).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns `true` if a recorder holds the lock of the directory now.
    ///
    /// # Errors
    /// If the lock cannot be tried.
    pub fn is_held(folder: &Path) -> io::Result<bool> {
        let path = folder.join(NAME);
        if !path.exists() {
            return Ok(false);
        }
        // Dropped at once: it is held only while this tries.
        Ok(try_lock(&path)?.is_none())
    }

    /// Returns the path of the lock file in a recording's directory.
    #[must_use]
    pub fn path(folder: &Path) -> PathBuf {
        folder.join(NAME)
    }
}

/// Opens the lock file, and neither follows a link nor waits for the other end of a pipe.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;

        use rustix::fs::OFlags;

        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        options.mode(0o600).custom_flags(i32::try_from(flags).unwrap_or(0));
    }
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "the lock is a link, pipe or device")),
    }
}

/// Opens and locks the lock file; `None` if another process has locked it.
#[cfg(unix)]
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{FlockOperation, flock};

    let file = open(path, OpenOptions::new().read(true).write(true).create(true).truncate(false))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens the lock file so that no other process can write it; `None` if another process has it open.
#[cfg(windows)]
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    use std::os::windows::fs::OpenOptionsExt;

    const FILE_SHARE_READ: u32 = 1;
    const ERROR_SHARING_VIOLATION: i32 = 32;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).share_mode(FILE_SHARE_READ);
    match open(path, &mut options) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the lock file of a hostile directory neither harms another file nor makes its reader wait.
    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_refused() {
        let folder = std::env::temp_dir().join(format!("perfset-hostile-lock-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let victim = folder.join("victim");
        std::fs::write(&victim, "text").unwrap();
        std::os::unix::fs::symlink(&victim, folder.join(NAME)).unwrap();
        assert!(FolderLock::take(&folder, "me").is_err());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "text");
        assert_eq!(FolderLock::owner(&folder), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_second_recorder_is_refused_with_the_name_of_the_first() {
        let folder = std::env::temp_dir().join(format!("perfset-lock-{}", std::process::id()));
        assert!(!FolderLock::is_held(&folder).unwrap());
        let first = FolderLock::take(&folder, "process 7").unwrap();
        let second = FolderLock::take(&folder, "process 8").unwrap_err().to_string();
        assert!(second.ends_with("is recorded into by another recorder: process 7"), "{second}");
        assert!(FolderLock::is_held(&folder).unwrap());
        drop(first);
        assert!(!FolderLock::is_held(&folder).unwrap());
        assert_eq!(FolderLock::owner(&folder).unwrap(), "process 7");
        FolderLock::take(&folder, "9").unwrap();
        assert_eq!(FolderLock::owner(&folder).unwrap(), "9");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
