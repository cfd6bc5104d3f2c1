//! Place of exported files: what a local directory and an object store have in common.

use std::fs::File;
use std::path::PathBuf;

use crate::error::ParquetExportError;
use crate::range::ExportedRange;

/// Place of the files of one host. Paths are relative to the root, with `/` between their parts.
pub(crate) trait ExportPlace: Send {
    /// Returns the samples of the files in a directory; none if it does not exist.
    fn exported(&mut self, folder: &str) -> Result<Vec<ExportedRange>, ParquetExportError>;

    /// Returns `true` if a file of a directory that [`exported`](Self::exported) has read exists.
    fn exists(&self, path: &str) -> bool;

    /// Creates a file for what will be stored under a path, where no query finds it.
    fn create(&mut self, path: &str) -> Result<PendingFile, ParquetExportError>;

    /// Stores a file that is written to its end, complete or not at all, and returns its path or address.
    fn keep(&mut self, pending: PendingFile, path: &str) -> Result<PathBuf, ParquetExportError>;
}

/// Local file that is being written; it is removed unless it was kept.
#[derive(Debug)]
pub(crate) struct PendingFile {
    pub file: File,
    pub temporary: TemporaryPath,
}

/// Path of a temporary file, which is removed with this value.
#[derive(Debug)]
pub(crate) struct TemporaryPath {
    pub path: PathBuf,
    /// `true` if the file has another name now, or none.
    pub is_gone: bool,
}

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        if !self.is_gone {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
