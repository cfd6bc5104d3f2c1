//! File of a publisher: created complete, grown by segments, removed at the end.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};

use rustix::fs::{
    Access, AtFlags, CWD, FallocateFlags, Mode, OFlags, access, fallocate, fchmod, linkat, open, openat,
    renameat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::callback::EXTENSION;
use crate::layout::{entry, header};
use crate::memory::{SharedMemory, store_bytes};
use crate::process::ProcessIdentity;
use crate::random::random;
use crate::{fork, lock, sequence};

/// Suffix of publishers' file names: `PID-RANDOM.pfs`.
pub(crate) const SUFFIX: &str = ".pfs";

/// Published data of a program, header and segments, either in a file that other processes see, or in private memory.
#[derive(Debug)]
pub(crate) struct File {
    header: SharedMemory,
    location: Option<FileLocation>,
}

/// Location of a publisher's file, with its open file descriptors.
#[derive(Debug)]
struct FileLocation {
    /// File descriptor that holds the lock of the publisher's file. Never mapped, because the mapping would hold the
    /// lock as well.
    locked: OwnedFd,
    folder: OwnedFd,
    name: String,
    path: PathBuf,
    /// Fork generation of the process that created the file: a forked child must not remove it.
    generation: u64,
}

impl File {
    /// Creates the header of published data in private memory, without a file.
    pub fn private() -> io::Result<Self> {
        let header = SharedMemory::own(header::BYTES)?;
        write_header(header.words(), &ProcessIdentity::own());
        Ok(Self { header, location: None })
    }

    /// Creates a new publisher's file in a directory. The file gets its final name last, when it is complete and
    /// locked.
    pub fn in_folder(path: &Path) -> io::Result<Self> {
        // A file that needs a name before it is locked may be removed by a cleaning process meanwhile. So retry once.
        match Self::begin(path) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotFound) => {
                Self::begin(path)
            }
            begun => begun,
        }
    }

    fn begin(path: &Path) -> io::Result<Self> {
        // All steps are relative to this directory: a path could lead elsewhere at the next step.
        let folder = open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        // In a directory that several users write to, the file's group may read it: the administrator chose that
        // group.
        let shared = rustix::fs::fstat(&folder)?.st_mode & 0o1000 != 0;
        let mode = Mode::from_bits_truncate(if shared { 0o640 } else { 0o600 });
        let name = format!("{}-{:016x}{SUFFIX}", std::process::id(), random()?);
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let hidden = format!(".{name}");
        // A file without a name can be named only through /proc.
        let unnamed = match access("/proc/self/fd", Access::EXISTS) {
            Ok(()) => openat(&folder, ".", flags | OFlags::TMPFILE, mode),
            Err(_) => Err(Errno::NOENT),
        };
        let (locked, is_named) = match unnamed {
            Ok(file) => (file, false),
            // Some file systems do not support files without a name.
            Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::ISDIR | Errno::NOENT) => {
                (openat(&folder, &hidden, flags | OFlags::CREATE | OFlags::EXCL, mode)?, true)
            }
            Err(error) => return Err(error.into()),
        };
        let result = (|| {
            // A child forked meanwhile must not keep the lock.
            fork::close_in_child(locked.as_fd());
            lock::take(locked.as_fd())?; // first of all: whoever cleans takes away what nobody holds
            // The umask may have removed the group's permission.
            fchmod(&locked, mode)?;
            reserve(locked.as_fd(), 0, header::BYTES)?;
            let header = map(locked.as_fd(), &folder, is_named.then_some(&*hidden), 0, header::BYTES)?;
            // Before the file has its name: readers must never see an incomplete header.
            write_header(header.words(), &ProcessIdentity::own());
            if is_named {
                renameat(&folder, &hidden, &folder, &name)?;
            } else {
                linkat(CWD, descriptor(locked.as_fd()), &folder, &name, AtFlags::SYMLINK_FOLLOW)?;
            }
            Ok(header)
        })();
        match result {
            Ok(header) => {
                let path = path.join(&name);
                let location = FileLocation { locked, folder, name, path, generation: fork::generation() };
                Ok(Self { header, location: Some(location) })
            }
            Err(error) => {
                fork::is_closed(locked.as_fd());
                if is_named {
                    let _ = unlinkat(&folder, &hidden, AtFlags::empty()); // the error is what matters
                }
                Err(error)
            }
        }
    }

    /// Returns the path of the publisher's file, if other processes see that file.
    pub fn path(&self) -> Option<&Path> {
        self.location.as_ref().map(|location| &*location.path)
    }

    /// Returns the current file status of the publisher's file, if other processes see the file.
    pub fn stat(&self) -> Option<rustix::fs::Stat> {
        rustix::fs::fstat(&self.location.as_ref()?.locked).ok()
    }

    /// Returns `true` if other processes see the publisher's file.
    pub fn is_public(&self) -> bool {
        self.location.is_some()
    }

    /// Returns a word of the header of the published data.
    pub fn word(&self, at: usize) -> Option<&'static AtomicU64> {
        self.header.words().get(at)
    }

    /// Runs `work`, which changes instances or segments, and updates the change word for readers. Only one thread may
    /// do this at a time.
    pub fn change<T>(&self, work: impl FnOnce() -> T) -> T {
        match self.word(header::CHANGE) {
            Some(change) => sequence::change(change, work),
            None => work(),
        }
    }

    /// Adds to the file a segment of `len` bytes (a multiple of a page), and fills it before readers see it. Returns
    /// the index of its table entry, and its memory.
    ///
    /// # Errors
    /// If there is no room for the segment. The file is then unchanged.
    pub fn grow(
        &self,
        len: usize,
        kind: u64,
        counterset: usize,
        fill: impl FnOnce(&[AtomicU64]),
    ) -> io::Result<(usize, SharedMemory)> {
        let (Some(committed), Some(segments)) = (self.word(header::COMMITTED), self.word(header::SEGMENTS))
        else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        // Only this process writes the header, and only under the store's lock.
        let at = committed.load(Relaxed);
        let number = usize::try_from(segments.load(Relaxed)).unwrap_or(usize::MAX);
        if number >= header::TABLE_MAX {
            return Err(io::Error::other("the file has as many segments as it can have"));
        }
        let memory = match &self.location {
            None => SharedMemory::own(len)?,
            Some(location) => {
                reserve(location.locked.as_fd(), at, len)?;
                map(location.locked.as_fd(), &location.folder, Some(&*location.name), at, len)?
            }
        };
        // Before the entry exists, so that no reader sees a segment without contents.
        fill(memory.words());
        let from = header::TABLE.saturating_add(number.saturating_mul(entry::WORDS));
        let of_entry = self.header.words().get(from..).unwrap_or_default();
        let wide = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        for (word, value) in of_entry.iter().zip([at, wide(len), kind, wide(counterset)]) {
            word.store(value, Relaxed);
        }
        self.change(|| {
            committed.store(at.saturating_add(wide(len)), Release);
            segments.store(wide(number.saturating_add(1)), Release);
        });
        Ok((number, memory))
    }

    /// Removes the publisher's file. Its contents remain usable in this process alone.
    pub fn unlink(&self) {
        if let Some(location) = &self.location {
            location.unlink();
        }
    }

    /// Returns `true` if this process created the publisher's file; `false` in a forked child.
    fn is_own(&self) -> bool {
        self.location.as_ref().is_none_or(|location| location.generation == fork::generation())
    }
}

impl FileLocation {
    fn unlink(&self) {
        if self.generation == fork::generation() {
            unlink_with_socket(&self.folder, Path::new(&self.name)); // somebody may have cleaned up
        }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if self.is_own() {
            self.unlink();
            if let Some(location) = &self.location {
                fork::is_closed(location.locked.as_fd());
            }
            self.header.leave();
            return;
        }
        // In a child the file descriptor was closed, and its number may have been reused.
        if let Some(location) = self.location.take() {
            // Closing it could close a file of the program that got the same number.
            std::mem::forget(location.locked);
        }
    }
}

/// Removes a publisher's file, and first the socket beside it, if any: a socket must not exist without its file.
pub(crate) fn unlink_with_socket(folder: &OwnedFd, name: &Path) {
    for name in [&name.with_extension(EXTENSION), name] {
        let _ = unlinkat(folder, name, AtFlags::empty()); // another may have been faster
    }
}

/// Allocates a range of the publisher's file: a store to a mapping beyond the end would end the process. Exceeding
/// the process's file size limit (`ulimit -f`) would raise a fatal signal, so that is checked first.
fn reserve(file: BorrowedFd<'_>, at: u64, len: usize) -> io::Result<()> {
    let len = u64::try_from(len).unwrap_or(u64::MAX);
    if getrlimit(Resource::Fsize).current.is_some_and(|most| at.saturating_add(len) > most) {
        return Err(Errno::FBIG.into());
    }
    Ok(fallocate(file, FallocateFlags::empty(), at, len)?)
}

/// Maps a range of a publisher's file through a separate open file description, so that the mapping does not hold the
/// lock.
fn map(
    file: BorrowedFd<'_>,
    folder: &OwnedFd,
    name: Option<&str>,
    at: u64,
    len: usize,
) -> io::Result<SharedMemory> {
    /// Maximum size in bytes of a mapping that is populated at once. Larger segments are touched page by page, when
    /// instances are created.
    const POPULATED: usize = 1 << 20;
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let again = match open(descriptor(file), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        Ok(again) => again,
        Err(error) => match name {
            Some(name) => openat(folder, name, flags, Mode::empty())?, // without /proc
            None => return Err(error.into()),
        },
    };
    // Opened by name, the file could be another one by now.
    let (one, other) = (rustix::fs::fstat(file)?, rustix::fs::fstat(&again)?);
    if (one.st_dev, one.st_ino) != (other.st_dev, other.st_ino) {
        return Err(io::Error::other("the file was replaced by another"));
    }
    SharedMemory::map(&again, at, len, len <= POPULATED)
}

fn descriptor(file: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn write_header(words: &[AtomicU64], process: &ProcessIdentity) {
    let set = |at: usize, value: u64| {
        if let Some(word) = words.get(at) {
            word.store(value, Relaxed);
        }
    };
    let bytes = |at: usize, bytes: &[u8]| {
        store_bytes(words.get(at..).unwrap_or_default(), bytes.iter().copied());
    };
    let program = process.program.as_str();
    // Cut at a character, because readers show the name.
    let cut = (0..=header::PROGRAM_MAX.min(program.len())).rev().find(|at| program.is_char_boundary(*at));
    let program = program.get(..cut.unwrap_or(0)).unwrap_or_default();
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let (seconds, ns) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    set(header::LEN, u64::try_from(header::BYTES).unwrap_or(0));
    set(header::FILE_ID, random().unwrap_or(0));
    set(header::FILE_ID.saturating_add(1), random().unwrap_or(0));
    set(header::PID, process.pid);
    set(header::PID_NAMESPACE, process.namespace);
    set(header::START_TIME, process.start_time);
    set(header::TIME_NAMESPACE, process.time_namespace);
    bytes(header::BOOT_ID, &process.boot_id);
    set(header::CREATED, seconds.unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(ns.unwrap_or(0)));
    set(header::PROGRAM_LEN, u64::try_from(program.len()).unwrap_or(0));
    bytes(header::PROGRAM, program.as_bytes());
    // Even and not 0: a reader that has seen nothing yet has 0 or an odd number.
    set(header::CHANGE, 2);
    set(header::COMMITTED, u64::try_from(header::BYTES).unwrap_or(0));
    // Last: without it, no reader uses the rest.
    set(header::MAGIC, crate::layout::MAGIC);
}
