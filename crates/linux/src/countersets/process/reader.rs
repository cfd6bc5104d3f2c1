//! Reader of the files of processes, which keeps none of them open.

use std::ffi::CStr;
use std::io::Write;
use std::path::{Path, PathBuf};

use perfset_core::NoValue;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, RawDir};
use rustix::io::Errno;

use crate::provider::{Collection, unavailable};
use crate::sources::processes::pid;
use crate::sources::text::TextError;

/// Reader that opens, reads and closes files of processes below a `/proc`.
#[derive(Debug)]
pub(super) struct ProcDirReader {
    root: PathBuf,
    /// Descriptor of the directory `root`, opened at the last listing of the processes.
    folder: Option<OwnedFd>,
    /// Path `PID/file` of a process's file, followed by a NUL.
    path: Vec<u8>,
    text: Vec<u8>,
    names: Vec<u8>,
    /// `true` if the directory `root` is a procfs of the kernel, not a directory of other files.
    pub(super) is_procfs: bool,
    /// `true` if this kernel reports the number of open files of a process without listing the files: since Linux 6.2.
    counts_files: bool,
}

impl ProcDirReader {
    /// Maximum size of a process's file, in bytes. The longest file that is read has 2 KiB.
    const LIMIT: usize = 64 << 10;
    /// Size of the buffer for the names in a directory, in bytes.
    const NAMES: usize = 64 << 10;
    /// Maximum number of names in a directory that are listed, more than the kernel has processes.
    const MOST: usize = 1 << 23;

    pub(super) fn new(root: &Path) -> Self {
        let (path, names) = (Vec::new(), Vec::new());
        let text = vec![0; Self::LIMIT];
        let is_procfs = is_procfs(root);
        Self { root: root.into(), folder: None, path, text, names, is_procfs, counts_files: false }
    }

    /// Lists the pids of all processes, ascending.
    pub(super) fn pids(&mut self, pids: &mut Vec<u32>, pass: &mut Collection) -> Result<(), NoValue> {
        pids.clear();
        self.path.clear(); // an error is about the root
        let listed = open(&self.root).and_then(|folder| {
            let listed = list(&folder, &mut self.names, pass, |name| pids.extend(pid(name)));
            // Opened again with each listing: another file system may be mounted at this path by now.
            self.folder = Some(folder);
            listed
        });
        listed.map_err(|errno| self.refused("", errno))?;
        sort(pids);
        Ok(())
    }

    /// Lists the ids of a process's threads, ascending; returns `None` if the process has ended.
    pub(super) fn tids(
        &mut self,
        of: u32,
        tids: &mut Vec<u32>,
        pass: &mut Collection,
    ) -> Result<Option<()>, NoValue> {
        tids.clear();
        self.set_path(of, None, "task");
        let Some(folder) = self.open_folder().transpose() else { return Ok(None) };
        let listed =
            folder.and_then(|folder| list(&folder, &mut self.names, pass, |name| tids.extend(pid(name))));
        listed.map_err(|errno| self.refused("task", errno))?;
        sort(tids);
        Ok(Some(()))
    }

    /// Reads and parses a file of a process or thread. Returns `None` if the file does not exist: the process has
    /// ended, or the kernel has no such file.
    pub(super) fn read<T>(
        &mut self,
        (of, thread): (u32, Option<u32>),
        file: &'static str,
        pass: &mut Collection,
        parse: impl FnOnce(&[u8]) -> Result<T, TextError>,
    ) -> Result<Option<T>, NoValue> {
        self.set_path(of, thread, file);
        let len = match self.fill() {
            Ok(len) => len,
            // `ENOENT` if the process ended before the file was opened, `ESRCH` if it ended between opening
            // and reading.
            Err(Errno::NOENT | Errno::SRCH) => return Ok(None),
            Err(errno) => return Err(self.refused(file, errno)),
        };
        pass.count_bytes_read(len);
        // A file that fills the buffer may be longer, and its end would be missing.
        let Some(text) = self.text.get(..len).filter(|_| len < Self::LIMIT) else {
            let path = self.shown_path();
            return Err(NoValue::Failed(
                format!("{path}: does not end within {} KiB", Self::LIMIT >> 10).into(),
            ));
        };
        parse(text).map(Some).map_err(|error| {
            let TextError { line, expected, found } = error;
            NoValue::Failed(
                format!("{}:{line}: expected {expected}, found {found}", self.shown_path()).into(),
            )
        })
    }

    /// Returns the number of open files of a process; `None` if the process has ended.
    pub(super) fn open_files(&mut self, of: u32, pass: &mut Collection) -> Result<Option<u64>, NoValue> {
        self.set_path(of, None, "fd");
        let size = self.with_path(|folder, path| rustix::fs::statat(folder, path, AtFlags::empty()));
        let size = match size {
            Ok(stat) => u64::try_from(stat.st_size).unwrap_or(0),
            Err(Errno::NOENT | Errno::SRCH) => return Ok(None),
            Err(errno) => return Err(self.refused("fd", errno)),
        };
        // Older kernels always report 0. A positive size of any process shows that 0 means no open files.
        self.counts_files |= size > 0 && self.is_procfs;
        if self.counts_files {
            return Ok(Some(size));
        }
        let Some(folder) = self.open_folder().transpose() else { return Ok(None) };
        let mut count = 0_u64;
        let one = |name: &[u8]| count = count.saturating_add(u64::from(pid(name).is_some()));
        let listed = folder.and_then(|folder| list(&folder, &mut self.names, pass, one));
        listed.map_err(|errno| self.refused("fd", errno))?;
        Ok(Some(count))
    }

    fn set_path(&mut self, of: u32, thread: Option<u32>, file: &str) {
        self.path.clear();
        let written = match thread {
            None => write!(self.path, "{of}/{file}\0"),
            Some(thread) => write!(self.path, "{of}/task/{thread}/{file}\0"),
        };
        drop(written); // into memory: it cannot fail
    }

    fn with_path<T>(&mut self, call: impl FnOnce(&OwnedFd, &CStr) -> Result<T, Errno>) -> Result<T, Errno> {
        // Paths below an open directory are short: the kernel need not resolve the root for each file.
        let folder = match &mut self.folder {
            Some(folder) => folder,
            none => none.insert(open(&self.root)?), // nobody has listed it
        };
        call(folder, CStr::from_bytes_with_nul(&self.path).map_err(|_| Errno::INVAL)?)
    }

    fn open_folder(&mut self) -> Result<Option<OwnedFd>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match self.with_path(|folder, path| rustix::fs::openat(folder, path, flags, Mode::empty())) {
            Err(Errno::NOENT | Errno::SRCH) => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Reads the process's file at `path` into the buffer, and returns the length of its text.
    fn fill(&mut self) -> Result<usize, Errno> {
        // Opening a FIFO must not block.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = self.with_path(|folder, path| rustix::fs::openat(folder, path, flags, Mode::empty()))?;
        loop {
            match rustix::io::read(&file, &mut *self.text) {
                Err(Errno::INTR) => {}
                // The kernel prints each of these files at once.
                read => return read,
            }
        }
    }

    fn shown_path(&self) -> String {
        let path = self.path.strip_suffix(b"\0").unwrap_or(&self.path);
        self.root.join(String::from_utf8_lossy(path).as_ref()).display().to_string()
    }

    /// Returns the reason for an error of reading the process file `file`. If permission is denied, the reason is the
    /// same for all processes.
    fn refused(&self, file: &'static str, errno: Errno) -> NoValue {
        let why = match (errno, file) {
            (Errno::ACCESS | Errno::PERM, "io") => {
                "/proc/PID/io: run as its user, or grant CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"
            }
            (Errno::ACCESS | Errno::PERM, "fd") => "/proc/PID/fd: run as its user, or grant CAP_SYS_PTRACE",
            (Errno::ACCESS | Errno::PERM, "smaps_rollup") => {
                "/proc/PID/smaps_rollup: run as its user, or grant CAP_SYS_PTRACE"
            }
            (Errno::ACCESS | Errno::PERM, _) => {
                "files of the process: run as its user, or grant CAP_SYS_PTRACE and mount /proc without hidepid"
            }
            _ => {
                let error = std::io::Error::from(errno);
                return NoValue::Failed(format!("{}: cannot be read: {error}", self.shown_path()).into());
            }
        };
        NoValue::Denied(why.into())
    }
}

fn open(root: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(root, flags, Mode::empty())
}

/// Returns `true` if the path is in a procfs of the kernel, not in a directory of other files.
pub(super) fn is_procfs(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|fs| fs.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

/// Returns the reason for a missing value if a file of a process is absent.
pub(super) fn gone() -> NoValue {
    unavailable("the process has just ended, or this kernel has no such file")
}

/// Calls `each` with every name in a directory.
fn list(
    folder: impl AsFd,
    names: &mut Vec<u8>,
    pass: &mut Collection,
    mut each: impl FnMut(&[u8]),
) -> Result<(), Errno> {
    names.reserve_exact(ProcDirReader::NAMES); // it stays empty: nothing happens from the second time on
    let mut entries = RawDir::new(folder, names.spare_capacity_mut());
    for _ in 0..ProcDirReader::MOST {
        let Some(entry) = entries.next() else { return Ok(()) };
        match entry {
            Ok(entry) => {
                let name = entry.file_name().to_bytes();
                pass.count_bytes_read(name.len());
                each(name);
            }
            Err(Errno::NOENT) => return Ok(()), // of a process that ended meanwhile
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::FBIG)
}

fn sort(ids: &mut Vec<u32>) {
    ids.sort_unstable(); // as good as sorted: the kernel lists them so
    ids.dedup();
}
