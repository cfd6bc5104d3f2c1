//! Place of exported files: operations that local directories and object stores have in common.

use std::fs::File;
use std::path::PathBuf;

use crate::error::ParquetExportError;
use crate::range::ExportedRange;

/// Place that the exported files of one host are written to: a local directory or an object store. Paths are relative
/// to the root, with `/` between their parts.
pub(crate) trait ExportPlace: Send {
    /// Returns the samples that the exported files in a directory have; none if the directory does not exist.
    fn exported(&mut self, folder: &str) -> Result<Vec<ExportedRange>, ParquetExportError>;

    /// Returns `true` if a file exists, in a directory that [`exported`](Self::exported) has read.
    fn exists(&self, path: &str) -> bool;

    /// Creates a temporary file, where no query finds it, whose contents will be stored under a path.
    fn create(&mut self, path: &str) -> Result<PendingFile, ParquetExportError>;

    /// Stores a completely written file under its final path, entirely or not at all, and returns its path or
    /// address.
    fn keep(&mut self, pending: PendingFile, path: &str) -> Result<PathBuf, ParquetExportError>;
}

/// Local temporary file of an export that is being written; removed unless it is stored under its final path.
#[derive(Debug)]
pub(crate) struct PendingFile {
    pub file: File,
    pub temporary: TemporaryPath,
}

/// Path of a temporary file, which is removed with this value.
#[derive(Debug)]
pub(crate) struct TemporaryPath {
    pub path: PathBuf,
    /// `true` if the temporary path has no file any more, because the file was renamed or removed.
    pub is_gone: bool,
}

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        if !self.is_gone {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
