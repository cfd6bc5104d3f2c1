//! Local directories that exported Parquet files are written to.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use perfset_log::recording::{FolderLock, LockError};

use crate::error::ParquetExportError;
use crate::names::host_partition;
use crate::place::{ExportPlace, PendingFile, TemporaryPath};
use crate::range::ExportedRange;

/// Directory of the locks below the root. Queries do not find it, because its name begins with a dot.
const LOCKS: &str = ".perfset-locks";

/// Local directory for the exported files of one host, which only one export at a time may write.
pub(crate) struct FolderPlace {
    root: PathBuf,
    host: String,
    lock: Option<FolderLock>,
}

impl FolderPlace {
    /// Creates the value for a local directory. Nothing is locked or created before the first file is looked for.
    pub fn new(root: &Path, host: &str) -> Self {
        Self { root: root.to_owned(), host: host.to_owned(), lock: None }
    }

    fn path(&self, path: &str) -> PathBuf {
        path.split('/').fold(self.root.clone(), |whole, part| whole.join(part))
    }

    /// Locks the exported files of the host: two exports at the same time would write the same samples.
    fn lock(&mut self) -> Result<(), ParquetExportError> {
        if self.lock.is_some() {
            return Ok(());
        }
        let folder = self.root.join(LOCKS).join(format!("host={}", host_partition(&self.host)));
        let owner = format!("process {}", std::process::id());
        let lock = FolderLock::take(&folder, &owner).map_err(|error| match error {
            LockError::Held { owner, .. } => {
                ParquetExportError::Locked { root: self.root.clone(), host: self.host.clone(), owner }
            }
            LockError::Io { error, .. } => ParquetExportError::io(&folder)(error),
            error => ParquetExportError::io(&folder)(io::Error::other(error)),
        })?;
        self.lock = Some(lock);
        Ok(())
    }
}

impl ExportPlace for FolderPlace {
    fn exported(&mut self, folder: &str) -> Result<Vec<ExportedRange>, ParquetExportError> {
        self.lock()?;
        exported(&self.path(folder))
    }

    fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    fn create(&mut self, path: &str) -> Result<PendingFile, ParquetExportError> {
        let path = self.path(path);
        let folder = path.parent().unwrap_or(&self.root);
        create_folders(folder).map_err(ParquetExportError::io(folder))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let path = folder.join(format!(".{name}{}", temporary_end()));
        let file = create_private(&path).map_err(ParquetExportError::io(&path))?;
        Ok(PendingFile { file, temporary: TemporaryPath { path, is_gone: false } })
    }

    fn keep(&mut self, pending: PendingFile, path: &str) -> Result<PathBuf, ParquetExportError> {
        let PendingFile { file, mut temporary } = pending;
        file.sync_all().map_err(ParquetExportError::io(&temporary.path))?;
        drop(file);
        let path = self.path(path);
        fs::rename(&temporary.path, &path).map_err(ParquetExportError::io(&path))?;
        temporary.is_gone = true;
        if let Some(folder) = path.parent() {
            sync_folder(folder).map_err(ParquetExportError::io(folder))?;
        }
        Ok(path)
    }
}

/// Returns the samples that the Parquet files in a directory have; none if the directory does not exist.
fn exported(folder: &Path) -> Result<Vec<ExportedRange>, ParquetExportError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ParquetExportError::io(folder)(error)),
    };
    let mut ranges = Vec::new();
    for entry in entries {
        let path = entry.map_err(ParquetExportError::io(folder))?.path();
        if is_left_over(&path) {
            // Of an export that was ended; its rows are exported again.
            fs::remove_file(&path).map_err(ParquetExportError::io(&path))?;
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "parquet") {
            continue;
        }
        let file = File::open(&path).map_err(ParquetExportError::io(&path))?;
        // A file that cannot be read has unknown samples: to go on could repeat them.
        let reader = SerializedFileReader::new(file).map_err(ParquetExportError::parquet(&path))?;
        ranges.extend(ExportedRange::of(reader.metadata()));
    }
    Ok(ranges)
}

/// Returns `true` if a file still has the temporary name that another export process gave it.
fn is_left_over(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let own = temporary_end();
    name.starts_with('.') && name.contains(".parquet.") && name.ends_with(".tmp") && !name.ends_with(&own)
}

/// Returns the ending of the temporary file names that this process gives.
fn temporary_end() -> String {
    format!(".{}.tmp", std::process::id())
}

/// Creates directories for exported files, readable for their owner alone, as recordings are.
fn create_folders(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Creates a temporary file that only its owner can read. An existing file was left by an ended process of the same
/// id.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            options.open(path)
        }
        opened => opened,
    }
}

/// Synchronizes a directory with the disk, so that a rename in it is durable. Only Unix opens directories.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
