//! Reader of directories whose names are listed repeatedly.

use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;

use super::kept_file::ReadError;

/// Reader of a directory's names, with the buffer for them.
#[derive(Debug)]
pub(crate) struct DirReader {
    path: PathBuf,
    buffer: Vec<u8>,
}

impl DirReader {
    /// Size of the buffer for directory entries, in bytes: about a thousand names of `/proc`.
    const BUFFER: usize = 32 << 10;
    /// Maximum number of names that are listed of a directory, more than the kernel has processes.
    const LIMIT: usize = 1 << 23;

    /// Creates a reader of the directory at `path`, without opening it.
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), buffer: Vec::new() }
    }

    /// Calls `each` with every name in the directory, including `.` and `..`.
    pub(crate) fn names(&mut self, mut each: impl FnMut(&[u8])) -> Result<(), ReadError> {
        let listed = self.list(&mut |name, _| each(name));
        listed.map_err(|errno| ReadError::Io { path: self.path.clone(), source: errno.into() })
    }

    /// Switches to another directory, and calls `each` with the names of its subdirectories. If the file system does
    /// not report types, a name may also be that of another file.
    pub(crate) fn folders_of(&mut self, path: &Path, mut each: impl FnMut(&[u8])) -> Result<(), ReadError> {
        path.clone_into(&mut self.path);
        let listed = self.list(&mut |name, kind| {
            if matches!(kind, FileType::Directory | FileType::Unknown) && name != b"." && name != b".." {
                each(name);
            }
        });
        listed.map_err(|errno| ReadError::Io { path: self.path.clone(), source: errno.into() })
    }

    fn list(&mut self, each: &mut dyn FnMut(&[u8], FileType)) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&self.path, flags, Mode::empty())?;
        self.buffer.reserve_exact(Self::BUFFER); // it stays empty: nothing happens from the second time on
        let mut entries = RawDir::new(&folder, self.buffer.spare_capacity_mut());
        // Below other roots than the usual ones, the file system may be one that lists names without end.
        for _ in 0..Self::LIMIT {
            match entries.next() {
                Some(entry) => {
                    let entry = entry?;
                    each(entry.file_name().to_bytes(), entry.file_type());
                }
                None => return Ok(()),
            }
        }
        Err(Errno::FBIG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_each_time() {
        let root = std::env::temp_dir().join(format!("perfset-linux-names-{}", std::process::id()));
        let long = "x".repeat(255);
        let mut want: Vec<String> = (0..300).map(|n| format!("{n:0200}")).chain([long]).collect(); // two buffers
        std::fs::create_dir_all(&root).unwrap();
        for name in &want {
            std::fs::write(root.join(name), "").unwrap();
        }
        want.extend([".".to_owned(), "..".to_owned()]);
        want.sort_unstable();
        let mut folder = DirReader::new(&root);
        for _ in 0..2 {
            let mut names = Vec::new();
            folder.names(|name| names.push(String::from_utf8(name.to_vec()).unwrap())).unwrap();
            names.sort_unstable();
            assert_eq!(names, want);
        }
        for name in ["of folders", "another"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let (mut folders, mut elsewhere) = (Vec::new(), DirReader::new("/nowhere"));
        elsewhere.folders_of(&root, |name| folders.push(name.to_vec())).unwrap();
        folders.sort_unstable();
        assert_eq!(folders, [&b"another"[..], b"of folders"]);
        std::fs::remove_dir_all(&root).unwrap();
        let error = folder.names(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: cannot be read", root.display()));
    }
}
