//! Programs, threads and directories of a check, which are ended or removed however the check goes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{JoinHandle, spawn};

use anyhow::{Context, Result};

/// Program of a check, which is ended with its children when this value is dropped.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.0.id()));
        for pid in children.unwrap_or_default().split_ascii_whitespace() {
            let _ = Command::new("kill").arg(pid).status(); // it says why itself
        }
        let _ = self.0.kill(); // it may have ended
        let _ = self.0.wait();
    }
}

/// Thread of a check; dropping this value stops the thread and waits for its end.
pub struct Background {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts a background thread of a check. Its work must end soon after the flag becomes `true`.
    pub fn start(work: impl FnOnce(&AtomicBool) + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        Self { stop, thread: Some(spawn(move || work(&until))) }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // it cannot panic
        }
    }
}

/// Private directory of a check, removed with its content when this value is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Creates a directory of a check among the temporary files.
    pub fn new(name: &str) -> Result<Self> {
        Self::in_folder(&std::env::temp_dir(), name)
    }

    /// Creates a directory of a check in memory, in `/dev/shm`.
    pub fn in_memory(name: &str) -> Result<Self> {
        Self::in_folder(Path::new("/dev/shm"), name)
    }

    fn in_folder(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(format!("perfset-live-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path); // of an earlier process with this number
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        fs::set_permissions(&path, PermissionsExt::from_mode(0o700))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // left to the system's own cleaning
    }
}

/// Copy of a program for other users, who may not enter the directory in which it was built.
pub struct ForAll {
    _folder: Folder,
    /// Path of the program's copy for other users.
    pub program: PathBuf,
}

impl ForAll {
    pub fn copy_of(program: &Path) -> Result<Self> {
        let name = program.file_name().context("the program has no name")?;
        let folder = Folder::new("for-all")?;
        let copy = folder.0.join(name);
        fs::copy(program, &copy).with_context(|| format!("cannot copy {}", program.display()))?;
        for path in [&copy, &folder.0] {
            fs::set_permissions(path, PermissionsExt::from_mode(0o755))?;
        }
        Ok(Self { _folder: folder, program: copy })
    }
}
