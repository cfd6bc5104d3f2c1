//! Opened files of a recording, which can be closed between reads.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::block::ReadAt;

/// Opens a file of a recording's directory to read it. A link is refused: it may lead anywhere.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_symlink() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "is a link, which a recording does not have",
        ));
    }
    open_checked(path, &metadata)
}

/// Opens a file of a recording that the user named. A pipe or device is refused, because opening it can wait for
/// ever.
pub(super) fn open_named(path: &Path) -> io::Result<File> {
    open_checked(path, &fs::metadata(path)?)
}

fn open_checked(path: &Path, metadata: &Metadata) -> io::Result<File> {
    let refuse = || io::Error::new(io::ErrorKind::InvalidInput, "is a pipe or device, and not a file");
    if !metadata.is_file() {
        return Err(refuse());
    }
    let file = File::open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refuse()) }
}

/// File of a recording that can be closed, and is then opened for each read. A recording of weeks has more files than
/// a process can open.
#[derive(Debug)]
pub(super) struct ClosableFile {
    path: PathBuf,
    file: Mutex<Option<Arc<File>>>,
}

impl ClosableFile {
    pub fn new(path: &Path, file: File) -> Self {
        Self { path: path.to_owned(), file: Mutex::new(Some(Arc::new(file))) }
    }

    /// Closes the recording's file; each later read opens it only for the time of the read.
    pub fn close(&self) {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn file(&self) -> io::Result<Arc<File>> {
        let open = self.file.lock().unwrap_or_else(PoisonError::into_inner).clone();
        open.map_or_else(|| open_file(&self.path).map(Arc::new), Ok)
    }
}

impl ReadAt for ClosableFile {
    fn length(&self) -> io::Result<u64> {
        self.file()?.length()
    }

    fn read_some_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file()?.read_some_at(into, offset)
    }
}

impl ReadAt for Arc<dyn ReadAt> {
    fn length(&self) -> io::Result<u64> {
        self.as_ref().length()
    }

    fn read_some_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.as_ref().read_some_at(into, offset)
    }
}
