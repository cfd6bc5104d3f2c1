//! File of a publisher, as used by a reader.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU64, fence};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use perfset_core::{Counterset, Owner};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};

use super::budget::Budget;
use super::index::{self, Index, Part, Segment};
use super::lines::{self, Lines};
use super::table::{FileError, Header, TableEntry, load, word};
use crate::definition;
use crate::layout::{SegmentLayout, WORD, entry, header};
use crate::lock;
use crate::memory::MappedView;

mod limit;
mod whole;

use limit::Limit;
pub(super) use whole::Stamp;
use whole::{check_len, stamp};

/// Maximum size of a file that is read: for root and this user, and for other users.
const MOST_BYTES: (u64, u64) = (1 << 30, 64 << 20);

/// Mode bits of a file that other users than its owner may write to.
const OTHERS_WRITE: u32 = 0o022;

/// Memory for a decoded definition, as a multiple of its size in bytes.
const DECODED: u64 = 8;

/// Access policy of a reader: the users whose files are used, and the reader's namespaces.
#[derive(Clone, Debug)]
pub(crate) struct AccessPolicy {
    pub user: u32,
    pub everybody: bool,
    /// Limits for files of users other than root and this one.
    pub budget: Budget,
    /// Inode of the reader's PID namespace.
    pub namespace: u64,
    /// Inode of the reader's time namespace.
    pub time_namespace: u64,
    pub boot_id: [u8; 16],
}

/// File of a running publisher.
#[derive(Debug)]
pub(crate) struct ProgramFile {
    pub path: PathBuf,
    pub header: Header,
    /// `true` if times in the file use the reader's clocks.
    pub has_our_clock: bool,
    pub user: u32,
    /// `true` if the file belongs to another user, who is not trusted.
    pub is_strangers: bool,
    /// Creation time of the file in seconds and ns of the wall clock. A publisher can write another time to its
    /// header, and cannot set this one back.
    pub made: (i64, u32),
    file_id: (u64, u64),
    /// Open file descriptor. If `None`, the file is opened again when needed, because there may be more files than
    /// file descriptors.
    kept: Option<OwnedFd>,
    pub bytes: FileAccess,
    /// Entries of the segment table that have been read.
    segments: Vec<SegmentEntry>,
    /// End of the last segment read, in bytes.
    end: u64,
    /// Problems with entries of the table: at most one per entry.
    bad: Vec<FileError>,
    /// Problem with the whole file, as found last.
    problem: Option<FileError>,
    /// Change word at the time the table was read.
    change: u64,
    /// Read limit, in a file of another user.
    limit: Option<Limit>,
    /// Flags of the header, as copied last.
    flags: u64,
    /// `true` if the file belongs to root or this user, and no other user may write to it.
    is_trusted: bool,
    /// Time since which the file is copied because no mapping could be loaded.
    unmapped: Option<Instant>,
    /// Reason why the file cannot be read now: it was truncated or overwritten.
    lost: Option<FileError>,
    /// Stamp of the file at the last look.
    stamp: Option<Stamp>,
    /// Stamp of the file when its table was last read.
    read_as: Option<Stamp>,
}

/// Access method for the bytes of a file.
#[derive(Debug)]
pub(crate) enum FileAccess {
    /// Values are loaded from a mapping.
    Mapped {
        /// The words of the header that change, as of the last look.
        header: Box<Head>,
    },
    /// Values are copied by system calls at each collection.
    Copied,
}

/// First words of a header: those that change, and those that identify the file.
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

/// Entry of the segment table, after validation.
#[derive(Debug)]
enum SegmentEntry {
    Definition(Arc<Counterset>),
    Instances(InstancesSegment),
    /// Invalid entry; `end` is the end of the previous segments, in bytes.
    Bad {
        end: u64,
    },
}

/// Segment of instances, with its location in the file.
#[derive(Debug)]
pub(crate) struct InstancesSegment {
    pub counterset: usize,
    pub offset: u64,
    pub len: usize,
    pub shape: SegmentLayout,
    values: Option<Segment>,
}

/// Cache of definitions by their bytes, for all files: many publishers have the same definition.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    sets: HashMap<Box<[u8]>, Weak<Counterset>>,
    /// Number of definitions in use when unused ones were last removed.
    used: usize,
}

impl Definitions {
    fn get(&mut self, number: usize, bytes: &[u8]) -> Result<Arc<Counterset>, FileError> {
        if let Some(known) = self.sets.get(bytes).and_then(Weak::upgrade) {
            return Ok(known);
        }
        let set = definition::decode(bytes).map_err(|why| FileError::Definition { number, why })?;
        let set = Arc::new(set);
        if self.sets.len() >= self.used.saturating_mul(2) {
            self.sets.retain(|_, known| known.strong_count() > 0);
            self.used = self.sets.len().max(64);
        }
        self.sets.insert(bytes.into(), Arc::downgrade(&set));
        Ok(set)
    }
}

impl ProgramFile {
    /// Opens a file by name, if `has_room` accepts another file of its owner.
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

    /// Returns the owner of the file's rows.
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

    /// Returns the change word of the header, if the file is mapped.
    pub fn change(&self) -> Option<&AtomicU64> {
        match &self.bytes {
            FileAccess::Mapped { header } => header.words().get(header::CHANGE),
            FileAccess::Copied => None,
        }
    }

    /// Switches to copying for a while, because mappings cannot be loaded now.
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

    /// Maps the file again after it has been copied for a while: a child may be available again.
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

    /// Reads new entries of the table, if the file changed. Returns `true` if there are new definitions.
    pub fn refresh(&mut self, definitions: &mut Definitions) -> bool {
        let change = self.change().map(|change| change.load(Relaxed));
        let is_mended = !self.bad.is_empty() && self.stamp != self.read_as && change.is_some();
        let is_current = change.is_some_and(|change| change == self.change && change & 1 == 0);
        if is_current && !is_mended || change.is_some() && self.is_lost() {
            return false;
        }
        let before = self.definitions().count();
        let has_new = match &self.bytes {
            FileAccess::Mapped { header } => {
                load(header.words(), header::SEGMENTS) != wide(self.segments.len())
            }
            FileAccess::Copied => true,
        };
        let has_new = has_new || is_mended;
        if has_new {
            match self.file() {
                Ok(file) => self.read_table(file.as_fd(), definitions),
                Err(_) => return false, // it is gone, which the next listing or question tells
            }
        } else {
            self.problem = None;
        }
        // If the file could not be read, the next refresh must read it again even without a change.
        self.change = change.filter(|_| self.problem.is_none()).unwrap_or(1);
        self.definitions().count() != before
    }

    /// Forgets the entries of the table from the first invalid one on.
    fn forget_from_the_first_bad_one(&mut self) {
        let bad = |(at, known): (usize, &SegmentEntry)| match known {
            SegmentEntry::Bad { end } => Some((at, *end)),
            _ => None,
        };
        if let Some((at, end)) = self.segments.iter().enumerate().find_map(bad) {
            self.segments.truncate(at);
            self.bad.clear();
            self.end = end;
        }
    }

    /// Returns the open file: the kept file descriptor, or the file opened again.
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

    /// Returns `true` if the publisher is running.
    pub fn is_alive(&self, asker: &AccessPolicy) -> bool {
        let is_held = match &self.kept {
            Some(kept) => lock::is_held(kept.as_fd()),
            None => self.file().and_then(|file| lock::is_held(file.as_fd())),
        };
        is_held.unwrap_or(false) && !self.header.process.is_gone(asker.namespace)
    }

    /// Returns the problems with the file and with its segments.
    pub fn damage(&self) -> impl Iterator<Item = &FileError> + Clone {
        self.bad.iter().chain(&self.problem).chain(&self.lost)
    }

    /// Reads the entries of the table that were not read yet.
    fn read_table(&mut self, file: BorrowedFd<'_>, definitions: &mut Definitions) {
        self.problem = self.take_over(file, definitions).err();
    }

    fn take_over(&mut self, file: BorrowedFd<'_>, definitions: &mut Definitions) -> Result<(), FileError> {
        // Copy the number of entries first, and then the entries: within one copy there is no order.
        let count = usize::try_from(word(&copy_of_header(file)?, header::SEGMENTS)).unwrap_or(usize::MAX);
        fence(Acquire);
        let bytes = copy_of_header(file)?;
        let committed = word(&bytes, header::COMMITTED);
        self.flags = word(&bytes, header::FLAGS);
        let limit = if self.change().is_some() { MOST_BYTES.0 } else { MOST_BYTES.1 };
        let stat = fstat(file).map_err(|error| FileError::io("cannot be inspected")(error.into()))?;
        check_len(&stat, committed, limit)?;
        let now = Some(stamp(&stat));
        if self.read_as != now {
            self.forget_from_the_first_bad_one(); // it may have been a hole
        }
        self.read_as = now;
        let count = count.min(header::TABLE_MAX);
        let in_table = |number: usize| -> [u64; entry::WORDS] {
            let from = header::TABLE.saturating_add(number.saturating_mul(entry::WORDS));
            std::array::from_fn(|at| word(&bytes, from.saturating_add(at)))
        };
        if let Some(limit) = &mut self.limit {
            limit.ask((0..count).map(in_table));
        }
        for number in self.segments.len()..count {
            if !self.may_read(number) {
                break; // it is looked at again next time
            }
            let words = in_table(number);
            let end = self.end;
            let known = TableEntry::parse(number, words, self.end, committed).and_then(|entry| {
                self.end = entry.offset.saturating_add(wide(entry.len));
                known(file, number, &entry, &self.segments, definitions)
            });
            self.segments.push(known.unwrap_or_else(|refused| {
                self.bad.push(refused);
                SegmentEntry::Bad { end }
            }));
        }
        Ok(())
    }

    /// Returns the countersets that the file defines, with the index of each definition.
    pub fn definitions(&self) -> impl Iterator<Item = (usize, &Arc<Counterset>)> {
        self.segments.iter().enumerate().filter_map(|(number, known)| match known {
            SegmentEntry::Definition(set) => Some((number, set)),
            _ => None,
        })
    }

    /// Returns the counterset of a definition.
    pub fn definition(&self, number: usize) -> Option<&Arc<Counterset>> {
        match self.segments.get(number)? {
            SegmentEntry::Definition(set) => Some(set),
            _ => None,
        }
    }

    /// Returns the segments of instances of a counterset, each with its index.
    pub fn instances(&self, counterset: usize) -> impl Iterator<Item = (usize, &InstancesSegment)> + Clone {
        self.segments.iter().enumerate().filter_map(move |(number, known)| match known {
            SegmentEntry::Instances(instances)
                if instances.counterset == counterset && self.may_read(number) =>
            {
                Some((number, instances))
            }
            _ => None,
        })
    }

    /// Returns the values of a segment, if it contains instances and is mapped.
    #[inline]
    pub fn segment(&self, number: usize) -> Option<&Segment> {
        match self.segments.get(number)? {
            SegmentEntry::Instances(instances) => instances.values.as_ref(),
            _ => None,
        }
    }

    /// Maps the segments of a counterset that are not mapped yet. Returns `true` if all are mapped now.
    fn map(&mut self, counterset: usize) -> bool {
        let is_missing = |instances: &InstancesSegment| instances.values.is_none();
        if !self.instances(counterset).any(|(_, instances)| is_missing(instances)) {
            return true;
        }
        let Ok(file) = self.file() else { return false };
        let mut is_whole = true;
        for known in &mut self.segments {
            let SegmentEntry::Instances(instances) = known else { continue };
            if instances.counterset != counterset || instances.values.is_some() {
                continue;
            }
            let view = MappedView::map(&file, instances.offset, instances.len);
            match view.and_then(|view| Segment::new(view, instances.shape)) {
                Ok(values) => instances.values = Some(values),
                Err(error) => {
                    is_whole = false;
                    self.problem = Some(FileError::io("cannot be mapped")(error));
                }
            }
        }
        is_whole
    }

    /// Updates the index of a counterset's instances. `now_100ns` is a PerfTime100NSec before the update.
    pub fn index(&mut self, counterset: usize, index: &mut Index, now_100ns: Option<u64>) {
        let is_whole = self.map(counterset);
        let Some(change) = self.change().map(|change| change.load(Relaxed)) else { return };
        // Otherwise there may be segments that are not known yet.
        let is_current = self.change & 1 == 0 && change == self.change;
        let now_100ns = now_100ns.filter(|_| is_whole && is_current);
        if self.is_lost() || index.is_current(change, self.stamp, now_100ns) {
            return;
        }
        let Some(SegmentEntry::Definition(set)) = self.segments.get(counterset) else { return };
        let guid = set.guid;
        let segments = self.instances(counterset).filter(|(_, instances)| instances.values.is_some());
        let parts = segments.map(|(number, instances)| (number, instances.part()));
        let Ok(file) = self.file() else { return index.doubt() };
        let after = || {
            let words = lines::first_words(file.as_fd()).unwrap_or_default();
            words.get(header::CHANGE).copied().unwrap_or(1)
        };
        let before = (change, self.stamp);
        let looked = index.refresh(&guid, parts, file.as_fd(), before, after, now_100ns);
        if !is_whole || looked.is_err() {
            index.doubt(); // there may be a descriptor next time, though nothing changes
        }
    }
}

impl InstancesSegment {
    /// Returns the location of the segment.
    fn part(&self) -> Part {
        Part { offset: self.offset, shape: self.shape }
    }
}

/// Returns the error for a file that may not be opened, usually because it belongs to another user.
fn denied(folder: BorrowedFd<'_>, name: &str, asker: &AccessPolicy, error: io::Error) -> FileError {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if stat.st_uid != asker.user => FileError::Denied { owner: stat.st_uid },
        _ => FileError::io("cannot be opened")(error),
    }
}

/// Opens a file that may be untrusted input: follows no link, and never blocks.
fn open_strange(folder: BorrowedFd<'_>, name: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(openat(folder, name, flags, Mode::empty())?)
}

/// Copies the header, as far as the file has one.
fn copy_of_header(file: BorrowedFd<'_>) -> Result<Vec<u8>, FileError> {
    let mut lines = Lines::default();
    let len = lines.copy(file, 0, header::BYTES).map_err(FileError::io("cannot be read"))?;
    let mut bytes = lines.to_vec();
    bytes.truncate(len);
    Ok(bytes)
}

/// Reads as many bytes from an offset as there are. Returns their number.
pub(crate) fn read_at(file: BorrowedFd<'_>, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let mut len = 0_usize;
    while let Some(rest) = bytes.get_mut(len..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(file, rest, at.saturating_add(wide(len))) {
            Ok(0) => break,
            Ok(more) => len = len.saturating_add(more),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(len)
}

fn known(
    file: BorrowedFd<'_>,
    number: usize,
    found: &TableEntry,
    before: &[SegmentEntry],
    definitions: &mut Definitions,
) -> Result<SegmentEntry, FileError> {
    if found.kind == entry::DEFINITION {
        let mut bytes = vec![0; found.len.min(definition::MAX_LEN)];
        let len = read_at(file, &mut bytes, found.offset).map_err(FileError::io("cannot be read"))?;
        bytes.truncate(len);
        let len = usize::try_from(word(&bytes, 0)).unwrap_or(usize::MAX);
        let Some(body) = bytes.get(WORD..).and_then(|body| body.get(..len)) else {
            return Err(FileError::Entry { number, what: "the length of the definition", value: wide(len) });
        };
        return definitions.get(number, body).map(SegmentEntry::Definition);
    }
    let mut head = [0; SegmentLayout::HEAD * WORD];
    read_at(file, &mut head, found.offset).map_err(FileError::io("cannot be read"))?;
    let shape = index::shape(&head, found.len).map_err(|why| FileError::Shape { number, why })?;
    let set = match before.get(found.counterset) {
        Some(SegmentEntry::Definition(set)) => set,
        _ => {
            return Err(FileError::Entry {
                number,
                what: "the counterset index",
                value: wide(found.counterset),
            });
        }
    };
    if shape.counters != set.counters.len() {
        return Err(FileError::Entry { number, what: "the number of counters", value: wide(shape.counters) });
    }
    let (offset, len, counterset) = (found.offset, found.len, found.counterset);
    Ok(SegmentEntry::Instances(InstancesSegment { counterset, offset, len, shape, values: None }))
}

fn wide(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
