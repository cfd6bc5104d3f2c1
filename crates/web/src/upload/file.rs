//! File of an uploaded log: it has no name, so that no other user can open it, and ends with the process.

use std::fs::File;
use std::io;
use std::path::PathBuf;

/// Creates a file without a name for an upload, which only this process can open.
#[cfg(target_os = "linux")]
pub fn create() -> io::Result<File> {
    create_in(&folder())
}

/// Returns an error: only Linux can open a file without a name again, as reading an uploaded log needs.
#[cfg(not(target_os = "linux"))]
pub fn create() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns the path under which this process can open the file of an upload as long as the file is open.
#[cfg(target_os = "linux")]
pub fn path_of(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Returns an empty path, because no file of an upload is created on this system.
#[cfg(not(target_os = "linux"))]
pub fn path_of(_: &File) -> PathBuf {
    PathBuf::new()
}

/// Returns the directory for files of uploads: TMPDIR, else `/var/tmp`, which is on a disk, while `/tmp` often takes
/// memory.
#[cfg(target_os = "linux")]
fn folder() -> PathBuf {
    let named = std::env::var_os("TMPDIR").filter(|name| !name.is_empty()).map(PathBuf::from);
    let usual = || Some(PathBuf::from("/var/tmp")).filter(|folder| folder.is_dir());
    named.or_else(usual).unwrap_or_else(std::env::temp_dir)
}

#[cfg(target_os = "linux")]
fn create_in(folder: &std::path::Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let owner = Mode::RUSR | Mode::WUSR;
    // With EXCL, no name can be given to the file later.
    let flags = OFlags::TMPFILE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, owner) {
        Ok(file) => Ok(file.into()),
        // Some file systems have no files without names.
        Err(_) => create_unlinked(folder),
    }
}

/// Creates a file of an upload with a random name for its owner alone, and removes the name.
#[cfg(target_os = "linux")]
fn create_unlinked(folder: &std::path::Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let random = crate::Token::random().map_err(|error| io::Error::other(error.to_string()))?;
    let path = folder.join(format!("perfset-{}", random.secret()));
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR)?);
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn files_have_no_name_and_can_be_opened_again() {
        let folder = std::env::temp_dir().join(format!("perfset-upload-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for create in [create_in, create_unlinked] {
            let mut file = create(&folder).unwrap();
            file.write_all(b"text").unwrap();
            let about = file.metadata().unwrap();
            assert_eq!((about.nlink(), about.mode() & 0o777), (0, 0o600));
            assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
            let mut text = String::new();
            File::open(path_of(&file)).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "text");
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(create_in(&folder).is_err());
    }
}
