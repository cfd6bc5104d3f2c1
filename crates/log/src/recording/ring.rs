//! Limits of a recording's directory: the oldest files are removed when the recording is too large or too old, or the
//! disk is full.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::files;

/// Limits of a recording directory. Whole files are removed, the oldest first, never the one that is being written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RingLimits {
    /// Maximum number of bytes of all files of a recording directory together.
    pub bytes: Option<u64>,
    /// Greatest age of a file of a recording directory.
    pub age: Option<Duration>,
    /// Least free space of the directory's file system, as a share of its size in percent.
    pub free_percent: Option<f64>,
}

/// File of a recording directory, with its age.
struct AgedFile {
    path: PathBuf,
    len: u64,
    /// Sequence number of the first tick in the file of the recording.
    sequence: u64,
    modified: SystemTime,
}

impl RingLimits {
    /// Removes the oldest files until the recording directory stays within its limits with `more` bytes added.
    /// Returns the removed files.
    ///
    /// # Errors
    /// If the directory cannot be read, or a file not removed.
    pub fn enforce(&self, folder: &Path, written: Option<&Path>, more: u64) -> io::Result<Vec<PathBuf>> {
        let (all, files_bytes) = Self::files(folder, written)?;
        let mut bytes = files_bytes.saturating_add(more);
        let mut removed = Vec::new();
        for file in all {
            let age = file.modified.elapsed().unwrap_or_default();
            let is_too_old = self.age.is_some_and(|most| age > most);
            let is_too_large = self.bytes.is_some_and(|most| bytes > most);
            if !is_too_old && !is_too_large && !self.is_disk_full(folder)? {
                break;
            }
            remove(&file.path)?;
            bytes = bytes.saturating_sub(file.len);
            removed.push(file.path);
        }
        Ok(removed)
    }

    /// Removes the oldest file of a recording directory regardless of the limits, because the disk is full. Returns
    /// `false` if there is no file.
    ///
    /// # Errors
    /// If the directory cannot be read, or the file not removed.
    pub fn remove_oldest(folder: &Path, written: Option<&Path>) -> io::Result<bool> {
        let (all, _) = Self::files(folder, written)?;
        let Some(oldest) = all.first() else { return Ok(false) };
        remove(&oldest.path)?;
        Ok(true)
    }

    /// Returns the files of a recording directory, the oldest first, and the size of all files of the directory.
    fn files(folder: &Path, written: Option<&Path>) -> io::Result<(Vec<AgedFile>, u64)> {
        let ours: HashSet<PathBuf> = files::paths(folder)?.into_iter().collect();
        // Every byte counts, those of temporary files and of the lock included.
        let (mut all, mut bytes) = (Vec::new(), 0_u64);
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            // A file that was sealed meanwhile is counted under its new name.
            let Ok(metadata) = entry.metadata() else { continue };
            if !metadata.is_file() {
                continue;
            }
            bytes = bytes.saturating_add(metadata.len());
            let path = entry.path();
            if ours.contains(&path) && Some(&*path) != written {
                // Not by the clock, which may have been set.
                let sequence = files::first_sequence(&path).unwrap_or(0);
                let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                all.push(AgedFile { path, len: metadata.len(), sequence, modified });
            }
        }
        all.sort_by(|a, b| (a.sequence, &a.path).cmp(&(b.sequence, &b.path)));
        Ok((all, bytes))
    }

    fn is_disk_full(&self, folder: &Path) -> io::Result<bool> {
        let Some(least) = self.free_percent else { return Ok(false) };
        Ok(free_percent(folder)?.is_some_and(|free| free < least))
    }
}

/// Removes a file of a recording; a file that no longer exists is no error.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the free space of a directory's file system in percent; `None` if the system does not report it.
#[cfg(unix)]
fn free_percent(folder: &Path) -> io::Result<Option<f64>> {
    let system = rustix::fs::statvfs(folder)?;
    // Lengths above 2^53 blocks lose only digits that no percentage shows.
    #[expect(clippy::as_conversions, reason = "no exact conversion exists")]
    let (free, all) = (system.f_bavail as f64, system.f_blocks as f64);
    Ok((all > 0.0).then(|| free / all * 100.0))
}

#[cfg(not(unix))]
fn free_percent(_: &Path) -> io::Result<Option<f64>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_files_go_first() {
        let folder = std::env::temp_dir().join(format!("perfset-ring-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (at, name) in (0..).zip(["a.perfset", "b.perfset", "c.perfset", "d.journal", "x.tmp", "lock"]) {
            fs::write(folder.join(name), [0; 1_000]).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + at);
            fs::File::options().write(true).open(folder.join(name)).unwrap().set_modified(time).unwrap();
        }
        let limits = RingLimits { bytes: Some(5_500), ..RingLimits::default() };
        let written = folder.join("d.journal");
        let removed = |limits: RingLimits, more| limits.enforce(&folder, Some(&written), more).unwrap();
        assert_eq!(removed(limits, 0), [folder.join("a.perfset")]);
        assert_eq!(removed(limits, 0), Vec::<PathBuf>::new());
        assert_eq!(removed(limits, 1_000), [folder.join("b.perfset")]);
        // What is written stays, and so do files that are no recording.
        let old = RingLimits { age: Some(Duration::from_secs(60)), ..RingLimits::default() };
        assert_eq!(removed(old, 0), [folder.join("c.perfset")]);
        assert_eq!(removed(old, 0), Vec::<PathBuf>::new());
        assert!(folder.join("x.tmp").exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
