//! File of a publisher, as used by a reader.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use perfset_core::Owner;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};

use super::budget::Budget;
use super::lines::{self, Lines};
use super::stamp::Stamp;
use super::table::{FileError, Header, load, word};
use crate::layout::header;
use crate::lock;
use crate::memory::MappedView;

mod limit;
mod segments;
mod whole;

use limit::Limit;
pub(crate) use segments::Definitions;
use segments::SegmentEntry;
use whole::check_len;

/// Maximum size in bytes of a publisher's file that is read: for root and this user, and for other users.
const MOST_BYTES: (u64, u64) = (1 << 30, 64 << 20);

/// Mode bits of a file that other users than its owner may write to.
const OTHERS_WRITE: u32 = 0o022;

/// Access policy of a reader: the users whose files are used, and the reader's namespaces.
#[derive(Clone, Debug)]
pub(crate) struct AccessPolicy {
    pub user: u32,
    pub everybody: bool,
    /// Budget that limits files of users other than root and this one.
    pub budget: Budget,
    /// Inode of the reader's PID namespace.
    pub namespace: u64,
    /// Inode of the reader's time namespace.
    pub time_namespace: u64,
    pub boot_id: [u8; 16],
}

/// File of a running publisher, opened by a reader.
#[derive(Debug)]
pub(crate) struct ProgramFile {
    pub path: PathBuf,
    pub header: Header,
    /// `true` if times in the publisher's file use the reader's clocks.
    pub has_our_clock: bool,
    pub user: u32,
    /// `true` if the publisher's file belongs to another user, who is not trusted.
    pub is_strangers: bool,
    /// Creation time of the publisher's file in seconds and ns of the wall clock. A publisher can write another time
    /// to its header, and cannot set this one back.
    pub made: (i64, u32),
    file_id: (u64, u64),
    /// Open file descriptor of the publisher's file. If `None`, the file is opened again when needed, because there
    /// may be more files than file descriptors.
    kept: Option<OwnedFd>,
    pub bytes: FileAccess,
    /// Entries of the file's segment table that have been read.
    segments: Vec<SegmentEntry>,
    /// Offset in bytes of the end of the file's last segment that was read.
    end: u64,
    /// Problems with entries of the file's segment table: at most one per entry.
    bad: Vec<FileError>,
    /// Problem with the whole publisher's file, as found last.
    problem: Option<FileError>,
    /// Change counter of the file when the segment table was read; another value means that the table is outdated.
    change: u64,
    /// Read limit, if the file belongs to another user.
    limit: Option<Limit>,
    /// Flags of the file's header, as copied last.
    flags: u64,
    /// `true` if the file belongs to root or this user, and no other user may write to it.
    is_trusted: bool,
    /// Time since which the publisher's file is copied because no mapping could be loaded.
    unmapped: Option<Instant>,
    /// Reason why the publisher's file cannot be read now: it was truncated or overwritten.
    lost: Option<FileError>,
    /// Metadata stamp of the publisher's file when it was last checked.
    stamp: Option<Stamp>,
    /// Metadata stamp of the publisher's file when its segment table was last read.
    read_as: Option<Stamp>,
}

/// Access method for the bytes of a publisher's file.
#[derive(Debug)]
pub(crate) enum FileAccess {
    /// Access by loads: values are loaded from a mapping.
    Mapped {
        /// Words of the file's header that change, as they were when the header was last read.
        header: Box<Head>,
    },
    /// Access by copies: values are copied by system calls at each collection.
    Copied,
}

/// First words of a publisher's file header: those that change, and those that identify the file.
#[derive(Debug)]
pub(crate) struct Head {
    view: MappedView,
    words: [AtomicU64; lines::FIRST],
}

impl Head {
    fn words(&self) -> &[AtomicU64] {
        &self.words
    }

    fn take(&self, words: impl IntoIterator<Item = u64>) {
        for (to, word) in self.words.iter().zip(words) {
            to.store(word, Relaxed);
        }
    }
}

impl ProgramFile {
    /// Opens a publisher's file by name, if `has_room` accepts another file of its owner.
    pub fn open(
        folder: BorrowedFd<'_>,
        path: &Path,
        name: &str,
        asker: &AccessPolicy,
        keep: bool,
        has_room: impl FnOnce(u32) -> bool,
        definitions: &mut Definitions,
    ) -> Result<Self, FileError> {
        let file = open_strange(folder, name).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => denied(folder, name, asker, error),
            _ => FileError::io("cannot be opened")(error),
        })?;
        let stat = fstat(&file).map_err(|error| FileError::io("cannot be inspected")(error.into()))?;
        let user = stat.st_uid;
        match FileType::from_raw_mode(stat.st_mode) {
            // A second name could put the file of one user into the directory of another; no name means that
            // it was removed.
            FileType::RegularFile if stat.st_nlink == 1 => {}
            FileType::RegularFile if stat.st_nlink == 0 => {
                return Err(FileError::Kind("the file is removed"));
            }
            FileType::RegularFile => return Err(FileError::Names { inode: stat.st_ino }),
            FileType::Directory => return Err(FileError::Kind("the path is a directory")),
            _ => return Err(FileError::Kind("the path is not a regular file")),
        }
        // The owner comes from the kernel, never from the header, and decides before any contents are read.
        let is_trusted = user == 0 || user == asker.user;
        if !is_trusted && !asker.everybody {
            return Err(FileError::Stranger { owner: user });
        }
        if !has_room(user) {
            return Err(FileError::Kind("its owner has too many files"));
        }
        // The kernel releases the lock however the publisher ends, so the lock is the first proof of life.
        if !lock::is_held(file.as_fd()).map_err(FileError::io("cannot be tested for its lock"))? {
            return Err(FileError::Dead);
        }
        let bytes = copy_of_header(file.as_fd())?;
        let header = Header::parse(&bytes)?;
        // A process of another boot is not running, even if another process holds the lock of its file. An id
        // of 0 is unknown.
        if header.process.boot_id != asker.boot_id
            && asker.boot_id != [0; 16]
            && header.process.boot_id != [0; 16]
        {
            return Err(FileError::Dead);
        }
        // A child of the publisher can still hold the lock of a publisher that has ended.
        if header.process.is_gone(asker.namespace)
            || header.process.is_another(asker.namespace, asker.time_namespace)
        {
            return Err(FileError::Orphaned(header.process.pid));
        }
        // Other users who may write to the file could truncate it under the mapping.
        let is_mapped = is_trusted && stat.st_mode & OTHERS_WRITE == 0;
        let limit = if is_mapped { MOST_BYTES.0 } else { MOST_BYTES.1 };
        let committed = word(&bytes, header::COMMITTED);
        // A file that is shorter than it states, or has holes, would be read as zeros.
        check_len(&stat, committed, limit)?;
        let bytes = if is_mapped {
            let view = MappedView::map(&file, 0, header::BYTES).map_err(FileError::io("cannot be mapped"))?;
            let header = Head { view, words: Default::default() };
            header.take((0..lines::FIRST).map(|at| word(&bytes, at)));
            FileAccess::Mapped { header: Box::new(header) }
        } else {
            FileAccess::Copied
        };
        let mut this = Self {
            path: path.join(name),
            has_our_clock: header.process.has_clock_of(asker.namespace, asker.time_namespace),
            header,
            user,
            is_strangers: !is_trusted,
            made: whole::made(file.as_fd()),
            file_id: (stat.st_dev, stat.st_ino),
            kept: None,
            bytes,
            segments: Vec::new(),
            end: wide(header::BYTES),
            bad: Vec::new(),
            problem: None,
            // Odd, so that the first refresh never takes the table for current.
            change: 1,
            limit: (!is_trusted).then(|| Limit::new(&asker.budget, user)),
            flags: 0,
            is_trusted: is_mapped,
            unmapped: None,
            lost: None,
            stamp: None,
            read_as: None,
        };
        // Invalid entries do not refuse the file: the other countersets stay readable.
        this.read_table(file.as_fd(), definitions);
        this.kept = keep.then_some(file);
        Ok(this)
    }

    /// Returns the publisher's name and pid for messages, with the user if it is another one.
    pub fn program(&self) -> String {
        let process = &self.header.process;
        let user = if self.is_strangers { format!(" of user {}", self.user) } else { String::new() };
        format!("{}[{}]{user}", process.program, process.pid)
    }

    /// Returns the owner of the file's rows: process and user of the publisher.
    pub fn owner(&self) -> Owner {
        Owner::Process { pid: u32::try_from(self.header.process.pid).unwrap_or(u32::MAX), user: self.user }
    }

    /// Returns `true` if requests may be sent to the publisher. Publishers of other users receive none.
    pub fn has_socket(&self) -> bool {
        match &self.bytes {
            FileAccess::Mapped { header } => load(header.words(), header::FLAGS) & header::HAS_SOCKET != 0,
            FileAccess::Copied => self.is_trusted && self.flags & header::HAS_SOCKET != 0,
        }
    }

    /// Returns the prefix of the file's instance names: the user ID and `/`, unless the file is trusted.
    pub fn prefix(&self) -> String {
        if self.is_trusted { String::new() } else { format!("{}/", self.user) }
    }

    /// Returns the change word of the file's header, if the file is mapped.
    pub fn change(&self) -> Option<&AtomicU64> {
        match &self.bytes {
            FileAccess::Mapped { header } => header.words().get(header::CHANGE),
            FileAccess::Copied => None,
        }
    }

    /// Switches the file from mapping to copying for a while, because mappings cannot be loaded now.
    pub fn copy_for_now(&mut self) {
        self.bytes = FileAccess::Copied;
        self.unmapped = Some(Instant::now());
        for known in &mut self.segments {
            if let SegmentEntry::Instances(instances) = known {
                instances.values = None;
            }
        }
    }

    /// Returns `true` while the file is copied because mappings cannot be loaded.
    pub fn is_copied_for_now(&self) -> bool {
        self.unmapped.is_some()
    }

    /// Maps the publisher's file again after it has been copied for a while: a child may be available again.
    pub fn map_again(&mut self) {
        const PAUSE: Duration = Duration::from_secs(1);
        if self.unmapped.is_none_or(|unmapped| unmapped.elapsed() < PAUSE) {
            return;
        }
        self.unmapped = Some(Instant::now());
        let mapped = self.file().and_then(|file| {
            let is_private = fstat(&file)?.st_mode & OTHERS_WRITE == 0;
            Ok(if is_private { Some(MappedView::map(&file, 0, header::BYTES)?) } else { None })
        });
        if let Ok(Some(view)) = mapped {
            self.bytes = FileAccess::Mapped { header: Box::new(Head { view, words: Default::default() }) };
            self.unmapped = None;
        }
    }

    /// Returns the open publisher's file: the kept file descriptor, or the file opened again.
    pub fn file(&self) -> io::Result<OwnedFd> {
        if let Some(kept) = &self.kept {
            return kept.try_clone();
        }
        let file = open_strange(CWD, &self.path)?;
        let stat = fstat(&file)?;
        if (stat.st_dev, stat.st_ino) != self.file_id {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(file)
    }

    /// Returns `true` if the publisher of the file is running.
    pub fn is_alive(&self, asker: &AccessPolicy) -> bool {
        let is_held = match &self.kept {
            Some(kept) => lock::is_held(kept.as_fd()),
            None => self.file().and_then(|file| lock::is_held(file.as_fd())),
        };
        is_held.unwrap_or(false) && !self.header.process.is_gone(asker.namespace)
    }

    /// Returns the problems with the publisher's file and with the file's segments.
    pub fn damage(&self) -> impl Iterator<Item = &FileError> + Clone {
        self.bad.iter().chain(&self.problem).chain(&self.lost)
    }
}

/// Returns the error for a publisher's file that may not be opened, usually because it belongs to another user.
fn denied(folder: BorrowedFd<'_>, name: &str, asker: &AccessPolicy, error: io::Error) -> FileError {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if stat.st_uid != asker.user => FileError::Denied { owner: stat.st_uid },
        _ => FileError::io("cannot be opened")(error),
    }
}

/// Opens a publisher's file that may be untrusted input: follows no link, and never blocks.
fn open_strange(folder: BorrowedFd<'_>, name: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(openat(folder, name, flags, Mode::empty())?)
}

/// Copies the header of a publisher's file, as far as the file has one.
fn copy_of_header(file: BorrowedFd<'_>) -> Result<Vec<u8>, FileError> {
    let mut lines = Lines::default();
    let len = lines.copy(file, 0, header::BYTES).map_err(FileError::io("cannot be read"))?;
    let mut bytes = lines.to_vec();
    bytes.truncate(len);
    Ok(bytes)
}

fn wide(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
