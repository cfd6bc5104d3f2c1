//! Resolves output paths on Linux one directory at a time, so that no other user can insert a link meanwhile.
//!
//! Each directory is opened relative to the one before, without following links. A link is read through the same file
//! descriptor that was checked. The kernel's `fs.protected_symlinks` does not cover links in the middle of a path,
//! and covers nothing where it is off. Here a link is followed at any position of the path only if one of these rules
//! applies:
//!
//! 1. Its owner is root or the user who runs the command.
//! 2. It is the kernel's: it lies in the root of procfs (`/proc/self`), or in the directory of this process, reached
//!    by `/proc/self` or `/proc/thread-self`. Links of other processes are not included, because those choose the
//!    target: their working directory, or an open file.
//! 3. It lies in `/`, `/dev` or `/var`, reached without links, and its owner has no uid in this user namespace. Group
//!    and others must not have write permission for that directory. Its owner provides the whole system.
//!
//! In a user namespace all users without a uid there appear under one uid, the overflow uid. So the owner with that
//! uid is unknown: it is neither root nor the user who runs the command, even if that user appears under it too
//! (`unshare -U`). Rule 3 is for containers without root, where the system belongs to such an owner.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, RenameFlags, Stat, fchmod, fstat, fstatfs,
    ftruncate, openat, readlinkat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;

/// Users whose symbolic links are followed in the path of an output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trusted {
    /// User id of the user who runs the command; `None` if that user has none in this user namespace. Root is trusted
    /// as well.
    me: Option<u32>,
    /// User id that the kernel shows for all users without a uid in this user namespace; `None` if all users have
    /// one.
    unmapped: Option<u32>,
}

impl Trusted {
    /// Returns the trusted users of this process: the user who runs the command, and root.
    pub fn current() -> Self {
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        let (map, overflow) = (read("/proc/self/uid_map"), read("/proc/sys/kernel/overflowuid"));
        Self::new(rustix::process::geteuid().as_raw(), &map, &overflow)
    }

    /// Returns the trusted users of a user namespace with these `uid_map` and `overflowuid`. Without them, users are
    /// assumed to lack a uid.
    fn new(me: u32, map: &str, overflow: &str) -> Self {
        /// Number of user ids that the first user namespace maps: all 32-bit ids except -1.
        const ALL: u64 = 0xFFFF_FFFF;
        /// User id that stands for users without a uid, unless the system sets another one (`overflowuid`).
        const OVERFLOW: u32 = 65_534;
        // A line of `uid_map` has the first uid inside, the first outside, and the number of uids.
        let count = |line: &str| line.split_ascii_whitespace().nth(2)?.parse::<u64>().ok();
        let mapped = map.lines().filter_map(count).fold(0, u64::saturating_add);
        let unmapped = (mapped < ALL).then(|| overflow.trim().parse().unwrap_or(OVERFLOW));
        Self { me: Some(me).filter(|_| Some(me) != unmapped), unmapped }
    }

    #[cfg(test)]
    pub fn user(me: u32) -> Self {
        Self { me: Some(me), unmapped: None }
    }

    #[cfg(test)]
    pub fn in_namespace(me: Option<u32>, unmapped: u32) -> Self {
        Self { me, unmapped: Some(unmapped) }
    }

    fn includes(self, user: u32) -> bool {
        !self.is_unmapped(user) && (user == 0 || self.is_me(user))
    }

    fn is_me(self, user: u32) -> bool {
        !self.is_unmapped(user) && self.me == Some(user)
    }

    /// Returns `true` if a user id is the one that stands for all users without a uid in this namespace.
    fn is_unmapped(self, user: u32) -> bool {
        self.unmapped == Some(user)
    }
}

/// Returns the uid of the user who runs the command, and the uid that stands for all users without one.
#[cfg(test)]
pub fn trusted(me: u32, map: &str, overflow: &str) -> (Option<u32>, Option<u32>) {
    let Trusted { me, unmapped } = Trusted::new(me, map, overflow);
    (me, unmapped)
}

/// Kind of file to which an output path leads.
#[derive(Debug)]
pub enum Found {
    /// Regular file at an output path, or a path without a file: the output becomes a new file, which replaces an
    /// existing one.
    Entry(Entry),
    /// Output target that is not a regular file, or is open in a process: it is opened and written in place.
    Special(Special),
    /// Standard output or standard error of this process, to which an output path leads.
    Standard(File),
}

/// Directory and name of a regular output file, which can be new.
#[derive(Debug)]
pub struct Entry {
    folder: OwnedFd,
    name: OsString,
    /// Metadata of the existing output file; `None` if there is none.
    before: Option<Stat>,
    trusted: Trusted,
}

/// Device, pipe, or file that a process has open, as the target of an output.
#[derive(Debug)]
pub struct Special {
    folder: OwnedFd,
    name: OsString,
    stat: Stat,
    /// `true` for a kernel link to an open file (`/proc/PID/fd/N`), whose path might no longer exist.
    is_open_file: bool,
}

/// Resolves an output path to its target.
pub fn find(path: &Path, trusted: Trusted) -> io::Result<Found> {
    /// Maximum number of symbolic links that are followed in a path, the same as the kernel's.
    const LINKS: usize = 40;
    let path = path.as_os_str().as_bytes();
    if path.is_empty() {
        return Err(Errno::NOENT.into());
    }
    let mut folder = beginning(path)?;
    // The components that are left form a stack, because a link puts its target in front of them.
    let mut left = parts(path);
    let mut passed = PathBuf::from(if path.starts_with(b"/") { "/" } else { "" });
    let mut links = 0_usize;
    // `true` while the directory is that of this process in procfs, or below it.
    let mut is_own_process = false;
    while let Some(name) = left.pop() {
        let is_last = left.is_empty();
        // `.` and `..` are never links. The kernel resolves them from the open directory, so a renamed parent
        // cannot mislead the path.
        if name == "." || name == ".." {
            folder = openat(&folder, &name, FOLDER, Mode::empty())?;
            passed.push(&name);
            // `..` may lead out of the directory of this process.
            is_own_process &= name == ".";
            continue;
        }
        // Most components are directories. One call opens and checks each of them, because `O_NOFOLLOW`
        // refuses a link.
        if !is_last {
            match openat(&folder, &name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(next) => {
                    folder = next;
                    passed.push(&name);
                    continue;
                }
                Err(Errno::NOTDIR | Errno::LOOP) => {} // a link, or not a directory
                Err(error) => return Err(error.into()),
            }
        }
        // Opened before it is examined: owner, type and target then belong to one file, even if another
        // process replaces the name meanwhile.
        let file = match openat(&folder, &name, THE_FILE | OFlags::NOFOLLOW, Mode::empty()) {
            Err(Errno::NOENT) if is_last => {
                return Ok(Found::Entry(Entry { folder, name, before: None, trusted }));
            }
            file => file?,
        };
        let stat = fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                links = links.saturating_add(1);
                passed.push(&name);
                let is_on_procfs = fstatfs(&folder)?.f_type == PROC_SUPER_MAGIC;
                let is_in_its_root = is_on_procfs && fstat(&folder)?.st_ino == PROC_ROOT;
                let is_of_kernel = is_in_its_root || is_on_procfs && is_own_process;
                // Checked at every position: `fs.protected_symlinks` covers only the last component of a
                // path, in sticky directories.
                let is_trusted = trusted.includes(stat.st_uid)
                    || is_of_kernel
                    || trusted.is_unmapped(stat.st_uid) && is_of_system(&folder, &passed)?;
                if !is_trusted {
                    return Err(not_followed(&passed, stat.st_uid, trusted));
                }
                if links > LINKS {
                    return Err(Errno::LOOP.into());
                }
                // A kernel link below `/proc` leads to a file, not to a path.
                if is_on_procfs {
                    if is_last {
                        return open_file(folder, name);
                    }
                    folder = openat(&folder, &name, FOLDER, Mode::empty())?;
                    is_own_process = is_in_its_root && (name == "self" || name == "thread-self");
                    continue;
                }
                // The empty path reads the link that was checked, not the file that has its name by now.
                let target = readlinkat(&file, "", Vec::new())?.into_bytes();
                if target.starts_with(b"/") {
                    folder = beginning(&target)?;
                    passed = PathBuf::from("/");
                } else {
                    passed.pop();
                }
                left.extend(parts(&target));
                is_own_process = false;
            }
            FileType::Directory if is_last => return Err(Errno::ISDIR.into()),
            _ if !is_last => return Err(Errno::NOTDIR.into()),
            FileType::RegularFile => {
                return Ok(Found::Entry(Entry { folder, name, before: Some(stat), trusted }));
            }
            FileType::Fifo => {
                passed.push(&name);
                // Another user could create a pipe under the expected name in `/tmp`, and read the output.
                refuse_foreign_pipe(&folder, &passed, &stat, trusted)?;
                return Ok(Found::Special(Special { folder, name, stat, is_open_file: false }));
            }
            _ => return Ok(Found::Special(Special { folder, name, stat, is_open_file: false })),
        }
    }
    Err(Errno::ISDIR.into())
}

const THE_FILE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const FOLDER: OFlags = THE_FILE.union(OFlags::DIRECTORY);
/// Inode of the root of every procfs. Source: `include/linux/proc_fs.h`, `PROC_ROOT_INO`.
const PROC_ROOT: u64 = 1;
/// Flags with which a new output file is opened.
const NEW: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens the directory in which the resolution of an output path starts.
fn beginning(path: &[u8]) -> io::Result<OwnedFd> {
    let from = if path.starts_with(b"/") { "/" } else { "." };
    Ok(openat(CWD, from, FOLDER, Mode::empty())?)
}

/// Returns the components of a file path, the last one first. A path that ends in a slash names a directory.
fn parts(path: &[u8]) -> Vec<OsString> {
    let part = |part: &[u8]| OsString::from_vec(part.to_vec());
    let mut parts: Vec<_> =
        path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).map(part).collect();
    if path.ends_with(b"/") {
        parts.push(".".into());
    }
    parts.reverse();
    parts
}

/// Returns `true` if a link is in a directory of the system, where only the directory's owner can create files.
fn is_of_system(folder: &OwnedFd, link: &Path) -> io::Result<bool> {
    // Group and others: a user who may write there could put a link in the place of the system's.
    const OTHERS_WRITE: u32 = 0o022;
    let is_system = |folder: &Path| ["/", "/dev", "/var"].iter().any(|known| folder == Path::new(known));
    // The components up to here were directories, so the path is the directory's own.
    Ok(link.parent().is_some_and(is_system) && fstat(folder)?.st_mode & OTHERS_WRITE == 0)
}

/// Returns the error for an output path with a symbolic link of another user, which is not followed.
fn not_followed(link: &Path, owner: u32, trusted: Trusted) -> io::Error {
    let link = perfset::output::text::name_of(link);
    let unmapped = match trusted.is_unmapped(owner) {
        true => " of all users without a uid in this user namespace",
        false => "",
    };
    let text = format!(
        "{link} is a symbolic link of another user (uid {owner}{unmapped}), who could lead it anywhere; only links of \
         your own and of root are followed: name the file that is meant"
    );
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

/// Refuses a pipe of another user in a directory where all users can create files, as the kernel's
/// `fs.protected_fifos` does.
fn refuse_foreign_pipe(folder: &OwnedFd, path: &Path, pipe: &Stat, trusted: Trusted) -> io::Result<()> {
    const STICKY: u32 = 0o1000;
    const OTHERS_WRITE: u32 = 0o022;
    let of_folder = fstat(folder)?;
    let is_shared = of_folder.st_mode & STICKY != 0 && of_folder.st_mode & OTHERS_WRITE != 0;
    // The sticky bit protects nothing from the owner of the directory, so a pipe of that owner adds no risk.
    let is_of_owner = pipe.st_uid == of_folder.st_uid && !trusted.is_unmapped(pipe.st_uid);
    if !is_shared || trusted.includes(pipe.st_uid) || is_of_owner {
        return Ok(());
    }
    let (path, owner) = (perfset::output::text::name_of(path), pipe.st_uid);
    let text = format!(
        "{path} is a pipe of another user (uid {owner}) in a directory where all users can create files"
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

/// Returns the target of an output path that is a kernel link to an open file.
fn open_file(folder: OwnedFd, name: OsString) -> io::Result<Found> {
    let stat = fstat(openat(&folder, &name, THE_FILE, Mode::empty())?)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        return Err(Errno::ISDIR.into());
    }
    // Duplicates of these file descriptors append to existing output, and work for a socket, which cannot be opened
    // by path.
    for standard in [io::stdout().as_fd(), io::stderr().as_fd()] {
        if fstat(standard).is_ok_and(|known| is_same(&known, &stat)) {
            return Ok(Found::Standard(standard.try_clone_to_owned()?.into()));
        }
    }
    Ok(Found::Special(Special { folder, name, stat, is_open_file: true }))
}

fn is_same(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}

impl Special {
    /// Returns `true` if the output target is a regular file, whose contents are lost on opening.
    pub fn is_regular(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::RegularFile
    }

    /// Opens the device, pipe or open file for writing. Opening a pipe waits for its reader.
    pub fn open(&self) -> io::Result<File> {
        // A terminal that is opened must not become the controlling terminal of this process.
        let mut flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
        // A kernel link to an open file is followed on purpose; its path may no longer exist.
        flags.set(OFlags::NOFOLLOW, !self.is_open_file);
        let file = openat(&self.folder, &self.name, flags, Mode::empty())?;
        // Opened by name once more, so another file may have come into its place since it was examined.
        if !is_same(&fstat(&file)?, &self.stat) {
            return Err(replaced());
        }
        // Not `O_TRUNC` above: it would empty the wrong file before the check.
        if self.is_regular() {
            ftruncate(&file, 0)?;
        }
        Ok(file.into())
    }
}

fn replaced() -> io::Error {
    io::Error::other("another file came into its place meanwhile")
}

impl Entry {
    /// Returns `true` if the output file exists already.
    pub fn is_there(&self) -> bool {
        self.before.is_some()
    }

    /// Creates a new file in the directory of the output file. No user may read it who could not read the file that
    /// it will replace.
    pub fn make(&self, part: &OsStr) -> io::Result<File> {
        const PERMISSIONS: u32 = 0o777;
        let before = self.before.as_ref().map(|stat| stat.st_mode & PERMISSIONS);
        let mode = Mode::from_raw_mode(before.unwrap_or(0o666));
        // Another user's file must not make the new one executable, nor grant more than the umask allows.
        let file = openat(&self.folder, part, NEW, mode & Mode::from_raw_mode(0o666))?;
        if self.before.as_ref().is_some_and(|stat| self.trusted.is_me(stat.st_uid)) {
            let _ = fchmod(&file, mode); // else those of a new file
        }
        Ok(file.into())
    }

    /// Renames a new, complete output file to its final name.
    pub fn put(&self, part: &OsStr) -> io::Result<()> {
        // The open directory makes this independent of its path: a renamed parent cannot redirect it.
        Ok(renameat(&self.folder, part, &self.folder, &self.name)?)
    }

    /// Renames a new, complete output file to its final name, unless a file of that name exists.
    pub fn put_first(&self, part: &OsStr) -> io::Result<()> {
        let Self { folder, name, .. } = self;
        match renameat_with(folder, part, folder, name, RenameFlags::NOREPLACE) {
            // Some file systems do not support a rename that fails on an existing file.
            Err(Errno::INVAL | Errno::NOSYS) => {
                // Two steps can overwrite a file that is created in between, which cannot be avoided there.
                match openat(folder, name, THE_FILE | OFlags::NOFOLLOW, Mode::empty()) {
                    Err(Errno::NOENT) => self.put(part),
                    Ok(_) => Err(Errno::EXIST.into()),
                    Err(error) => Err(error.into()),
                }
            }
            done => Ok(done?),
        }
    }

    /// Removes the new, incomplete output file, if it exists.
    pub fn remove(&self, part: &OsStr) {
        let _ = unlinkat(&self.folder, part, AtFlags::empty()); // it may be gone already
    }

    /// Returns the name of the output file in its directory.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Returns the path of a file in the output's directory, free of links, for a program that can open only paths.
    pub fn path(&self, name: &OsStr) -> io::Result<PathBuf> {
        // The kernel prints the path of an open directory without links.
        Ok(std::fs::read_link(format!("/proc/self/fd/{}", self.folder.as_raw_fd()))?.join(name))
    }

    /// Returns `true` if all users can create files in the output's directory, or its owner is not trusted.
    pub fn is_in_foreign_folder(&self) -> io::Result<bool> {
        const ALL_WRITE: u32 = 0o002;
        let stat = fstat(&self.folder)?;
        Ok(stat.st_mode & ALL_WRITE != 0 || !self.trusted.includes(stat.st_uid))
    }

    /// Returns a handle of a file in the output's directory, opened without I/O access, so that another file of the
    /// same name is detected.
    pub fn hold(&self, name: &OsStr) -> io::Result<HeldFile> {
        let file = openat(&self.folder, name, THE_FILE | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(HeldFile { stat: fstat(&file)?, file })
    }
}

/// Resolved path of a directory that is to be created.
#[derive(Debug)]
pub struct NewFolder {
    /// Parent directory of the new directory, kept open because the path goes through its file descriptor.
    _around: OwnedFd,
    path: PathBuf,
}

impl NewFolder {
    /// Returns the path of the directory to create. It is valid while this value exists, and no other user can redirect
    /// it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Resolves the path of a directory that is to be created.
pub fn find_new_folder(path: &Path, trusted: Trusted) -> io::Result<NewFolder> {
    // Without a slash at the end, which would name a directory that must exist already.
    match find(path.components().as_path(), trusted) {
        Ok(Found::Entry(Entry { folder, name, before: None, .. })) => {
            let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
            Ok(NewFolder { _around: folder, path })
        }
        Ok(_) => Err(Errno::EXIST.into()),
        // An existing directory, `/` and `.` end in this error.
        Err(error) if error.raw_os_error() == Some(Errno::ISDIR.raw_os_error()) => Err(Errno::EXIST.into()),
        Err(error) => Err(error),
    }
}

/// Fails if the existing part of a path contains a symbolic link that is not followed.
pub fn check_links(path: &Path, trusted: Trusted) -> io::Result<()> {
    match find(path, trusted) {
        // Every other error is reported when the file is opened.
        // Refusals of this module are the only errors without an errno.
        Err(error) if error.raw_os_error().is_none() => Err(error),
        _ => Ok(()),
    }
}

/// Handle of an output file: a file descriptor that is not open for I/O, so closing the descriptor releases no lock.
#[derive(Debug)]
pub struct HeldFile {
    file: OwnedFd,
    stat: Stat,
}

impl HeldFile {
    /// Writes the data of the held file to the disk.
    pub fn settle(&self) -> io::Result<()> {
        // Reopening through `/proc/self/fd` is the only way to open exactly this file.
        File::options().write(true).open(format!("/proc/self/fd/{}", self.file.as_raw_fd()))?.sync_all()
    }

    /// Checks that the held file is the one that this process has open elsewhere, and no other file of the same name.
    pub fn check_open(&self) -> io::Result<()> {
        for entry in std::fs::read_dir("/proc/self/fd")? {
            let name = entry?.file_name();
            // The descriptor of `HeldFile` is the file itself and proves nothing.
            if name == OsStr::new(&self.file.as_raw_fd().to_string()) {
                continue;
            }
            let path = Path::new("/proc/self/fd").join(&name);
            let is_it = rustix::fs::stat(&path).is_ok_and(|stat| is_same(&stat, &self.stat));
            if is_it {
                return Ok(());
            }
        }
        Err(replaced())
    }
}
