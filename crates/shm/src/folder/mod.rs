//! Directories in which publishers create their files, and which readers search.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, Mode, OFlags, Stat, access, open};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::random::random;

mod search;

pub(crate) use search::{MOST_SPARES, Search, SearchScope};

/// Maximum number of session directories (`/run/user/UID`) that are searched for publishers. Only root creates these.
const MOST_SESSIONS: usize = 4096;
/// Resolution of directory times on some kernels: a directory that changed just before it was listed may have changed
/// again since.
const STEP: Duration = Duration::from_millis(20);

/// Directories in which publishers create their files, and which readers search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// Path of the only directory to use for publishers' files, if one was specified.
    only: Option<PathBuf>,
    /// Publishers' directory in the session directory of the user, which is created at login.
    session: Option<PathBuf>,
    user: u32,
    parents: ParentDirs,
}

/// Parent directories of the publishers' directories.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ParentDirs {
    /// Directory shared by all users of the machine: a file system of its own with limits. Every user may create
    /// files in it; no user may remove those of others. `packaging/systemd` contains the unit that mounts it.
    machine: PathBuf,
    /// Parent directory of the session directories, each named by its user's ID. Only root creates them.
    sessions: PathBuf,
    /// Directory for temporary files (`/tmp`), in which every user may create anything.
    temporary: PathBuf,
}

/// Directory that a reader searches for publishers' files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchDir {
    pub path: PathBuf,
    /// `true` if a symbolic link in place of the directory is followed; `false` where any user can create one.
    pub may_be_link: bool,
    /// `true` if a user other than root and this process's user can create any number of files in the directory, and
    /// no other user can. The time for such directories is limited.
    pub is_of_other: bool,
}

/// Identity and times of a directory, which change if an entry is added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirStamp {
    dev: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl DirStamp {
    pub fn of(stat: &Stat) -> Self {
        Self {
            dev: stat.st_dev,
            inode: stat.st_ino,
            modified: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            changed: (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
        }
    }

    /// Returns `true` if the stamped directory changed so recently that a further change may leave the stamp the
    /// same.
    pub fn is_recent(&self) -> bool {
        let now = clock_gettime(ClockId::Realtime);
        [self.modified, self.changed].into_iter().any(|(seconds, ns)| {
            let age = now.tv_sec.saturating_sub(seconds).saturating_mul(1_000_000_000);
            let age = age.saturating_add(now.tv_nsec.saturating_sub(ns));
            // A time in the future counts as recent too: the clock may have been set back.
            age < i64::try_from(STEP.as_nanos()).unwrap_or(i64::MAX)
        })
    }
}

/// Result of a search for publishers' directories: directories that readers search, and paths that cannot serve as
/// the directory of the user in their name.
#[derive(Debug, Default)]
pub(crate) struct Found {
    paths: HashSet<PathBuf>,
    pub to_read: Vec<SearchDir>,
    /// Paths that cannot serve as the directory of the user in their name, each with a message for the user.
    pub problems: Vec<(PathBuf, String)>,
}

impl Found {
    fn add(&mut self, folder: SearchDir) {
        if self.paths.insert(folder.path.clone()) {
            self.to_read.push(folder);
        }
    }
}

impl Folders {
    /// Returns the publishers' directories of this user: only `PERFSET_RUNTIME_DIR` if that is set, else
    /// `/run/perfset`, `$XDG_RUNTIME_DIR/perfset`, and `/tmp/perfset-UID`. Readers also search
    /// `/run/user/UID/perfset`, because programs of `cron`, `su` and `docker exec` do not have that variable. The
    /// variables are ignored in a program with [elevated privileges](has_more_rights).
    #[must_use]
    pub fn from_env() -> Self {
        if has_more_rights() {
            return Self::without_env();
        }
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { only: variable("PERFSET_RUNTIME_DIR"), ..Self::for_session(variable("XDG_RUNTIME_DIR")) }
    }

    /// Returns the publishers' directories of this user, ignoring the environment.
    #[must_use]
    pub fn without_env() -> Self {
        Self::for_session(None)
    }

    /// Returns a set of publishers' directories that consists of a single directory.
    #[must_use]
    pub fn only(folder: impl Into<PathBuf>) -> Self {
        Self { only: Some(folder.into()), ..Self::for_session(None) }
    }

    fn for_session(session: Option<PathBuf>) -> Self {
        // A relative path would mean another directory in each process. The XDG specification says to ignore
        // it.
        let session = session.filter(|path| path.is_absolute()).map(|path| path.join("perfset"));
        let parents = ParentDirs {
            machine: "/run/perfset".into(),
            sessions: "/run/user".into(),
            temporary: "/tmp".into(),
        };
        Self { only: None, session, user: rustix::process::geteuid().as_raw(), parents }
    }

    /// Returns the publishers' directories of a user in a tree below `root` that has the structure of the machine's
    /// directories.
    #[cfg(test)]
    pub(crate) fn below(root: &Path, user: u32) -> Self {
        let parents = ParentDirs {
            machine: root.join("run/perfset"),
            sessions: root.join("run/user"),
            temporary: root.join("tmp"),
        };
        Self { only: None, session: None, user, parents }
    }

    /// Returns the name of the environment variable that readers need to find files of a directory, if they need one.
    pub(crate) fn variable_for(&self, folder: &Path) -> Option<&'static str> {
        let is_session = self.session.as_deref() == Some(folder);
        match &self.only {
            Some(_) => Some("PERFSET_RUNTIME_DIR"),
            None if is_session && folder != self.session_of(self.user) => Some("XDG_RUNTIME_DIR"),
            None => None,
        }
    }

    /// Returns `true` if a directory is the publishers' directory that all users of the machine share.
    pub(crate) fn is_of_machine(&self, folder: &Path) -> bool {
        self.only.is_none() && self.parents.machine == *folder
    }

    fn session_of(&self, user: u32) -> PathBuf {
        self.parents.sessions.join(user.to_string()).join("perfset")
    }

    /// Returns the publishers' directory of this user below `/tmp`.
    pub(crate) fn temporary_of_user(&self) -> PathBuf {
        self.temporary(self.user)
    }

    fn temporary(&self, user: u32) -> PathBuf {
        self.parents.temporary.join(format!("perfset-{user}"))
    }

    /// Returns the ids of the users who have session directories. Only root creates directories there, so their names
    /// are trusted.
    fn users_of_sessions(&self) -> impl Iterator<Item = u32> {
        let users = std::fs::read_dir(&self.parents.sessions).into_iter().flatten().flatten();
        users.take(MOST_SESSIONS).filter_map(|entry| entry.file_name().to_str()?.parse().ok())
    }

    /// Finds the directories that a reader searches, whether they exist or not. Without `everybody`: the shared
    /// directories and this user's own, for files of this user and root; else those of all users.
    #[cfg(test)]
    pub(crate) fn to_read(&self, everybody: bool) -> Found {
        let wanted = if everybody { SearchScope::Everybody } else { SearchScope::Own };
        Search::new(self, wanted).look().unwrap()
    }

    /// Finds directories of other users that publishers write to and that this process may not read.
    #[must_use]
    pub(crate) fn unreadable(&self) -> Vec<PathBuf> {
        if self.only.is_some() {
            return Vec::new();
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let is_refused = |path: &Path| open(path, flags, Mode::empty()).err() == Some(Errno::ACCESS);
        let sessions = self.users_of_sessions().filter(|user| *user != self.user);
        let sessions = sessions.map(|user| self.session_of(user));
        // If names in a directory cannot be looked up, it is unknown whether the publishers' directory exists in it.
        let mut unreadable: Vec<PathBuf> = sessions.filter(|path| is_refused(path)).collect();
        let mut search = Search::new(self, SearchScope::Others);
        let _ = search.look();
        unreadable.extend(search.of_others().filter(|path| is_refused(path)).map(Path::to_owned));
        unreadable.sort_unstable();
        unreadable
    }

    /// Describes a path that programs of a user cannot use as their directory, so that they use another one instead.
    fn taken_text(&self, path: &Path, user: u32, why: &str) -> String {
        let spare = format!("{}.*", path.display());
        // The owner can fix it, unless that is another user.
        let is_own = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == user);
        let what_to_do = if is_own { "its owner may run chmod 700" } else { "remove it as root" };
        format!("{why}: programs of user {user} publish in {spare} instead; {what_to_do}")
    }

    /// Returns the directories for a publisher's file, the preferred one first. Each is created when the iterator
    /// reaches it, if necessary; an item is an error if the directory cannot be used.
    pub(crate) fn to_write(&self) -> impl Iterator<Item = Result<PathBuf, (PathBuf, io::Error)>> {
        type Usable = fn(&Path, u32) -> io::Result<()>;
        // A directory that the user named may be one that several users share; the others must be the user's
        // own.
        let only_own: Usable = own_folder;
        let either: Usable = |path, user| own_folder(path, user).or_else(|_| writable(path));
        let folders: Vec<(PathBuf, Usable)> = match &self.only {
            Some(only) => vec![(only.clone(), either)],
            None => {
                let machine: (PathBuf, Usable) = (self.parents.machine.clone(), |path, _| writable(path));
                let own = self.session.iter().cloned().chain([self.temporary(self.user)]);
                [machine].into_iter().chain(own.map(|folder| (folder, only_own))).collect()
            }
        };
        // Only if another user has the usual name: readers would otherwise search more directories than
        // necessary.
        let spare = || match &self.only {
            None if is_taken(&self.temporary(self.user), self.user) => Some(self.spare()),
            _ => None,
        };
        let usable = |(path, is_usable): (PathBuf, Usable)| match is_usable(&path, self.user) {
            Ok(()) => Ok(path),
            Err(error) => Err((path, error)),
        };
        folders.into_iter().map(usable).chain(std::iter::once_with(spare).flatten())
    }

    /// Returns a substitute for the user's publishers' directory in `/tmp` if another user has taken its name. It is
    /// an earlier substitute, or a new one with a random name that other users cannot guess.
    fn spare(&self) -> Result<PathBuf, (PathBuf, io::Error)> {
        let mut search = Search::new(self, SearchScope::Own);
        let _ = search.look();
        if let Some(earlier) = search.spares_of_own().next() {
            return Ok(earlier.to_owned());
        }
        let of_random =
            |random: u64| PathBuf::from(format!("{}.{random:016x}", self.temporary(self.user).display()));
        let path = random().map(of_random).map_err(|error| (self.temporary(self.user), error))?;
        match own_folder(&path, self.user) {
            Ok(()) => Ok(path),
            Err(error) => Err((path, error)),
        }
    }
}

/// Returns the id of the user whose publishers' directory in `/tmp` has that name: `perfset-UID`, or
/// `perfset-UID.RANDOM`.
fn user_of(name: &str) -> Option<u32> {
    let name = name.strip_prefix("perfset-")?;
    let (user, random) = name.split_once('.').map_or((name, None), |(user, random)| (user, Some(random)));
    let is_random = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    // One spelling for each user, so that no two directories are those of the same user.
    let is_number = user == "0" || !user.starts_with(['0', '+']);
    user.parse().ok().filter(|_| is_number && random.is_none_or(is_random))
}

/// Returns `true` if another user occupies the path of a publishers' directory of this user.
fn is_taken(folder: &Path, user: u32) -> bool {
    why_not_own(folder, user).is_some()
}

/// Returns the reason why a path is not a directory of that user that only the user may write to. `None` if it is
/// one, or does not exist.
fn why_not_own(folder: &Path, user: u32) -> Option<String> {
    let found = std::fs::symlink_metadata(folder).ok()?;
    if !found.is_dir() {
        return Some(format!("the path belongs to user {} and is not a directory", found.uid()));
    }
    if found.uid() != user {
        return Some(format!("the directory belongs to user {}", found.uid()));
    }
    let mode = found.mode() & 0o7777;
    (mode & 0o022 != 0).then(|| format!("other users may write to the directory (mode {mode:o})"))
}

/// Returns `true` if the program runs with elevated privileges (`AT_SECURE`): then its environment is not trusted.
#[must_use]
pub fn has_more_rights() -> bool {
    #![expect(unsafe_code, reason = "rustix has it for programs without libc only")]
    // SAFETY: it reads what the kernel passed to the process at its start.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Checks that a publishers' directory exists and that this process may create files in it.
fn writable(folder: &Path) -> io::Result<()> {
    // `access` uses the real user; a program with another effective user fails here, or at the creation of
    // the file.
    access(folder, Access::WRITE_OK | Access::EXEC_OK)?;
    if folder.is_dir() { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// Creates a publishers' directory that only this user may write to, or checks that an existing one is such a
/// directory.
fn own_folder(folder: &Path, user: u32) -> io::Result<()> {
    // Created first and checked afterwards: a check before could be outdated at once.
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Another user may have created the directory, or a link in its place.
    match why_not_own(folder, user) {
        None => Ok(()),
        Some(why) => Err(io::Error::new(io::ErrorKind::PermissionDenied, why)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("perfset-folder-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        folder
    }

    fn paths(folders: &Folders, everybody: bool) -> Vec<PathBuf> {
        folders.to_read(everybody).to_read.into_iter().map(|folder| folder.path).collect()
    }

    fn first_to_write(folders: &Folders) -> PathBuf {
        folders.to_write().find_map(Result::ok).unwrap()
    }

    #[test]
    fn a_folder_that_was_named_is_the_only_one() {
        let scratch = scratch("only");
        let folders = Folders::only(scratch.join("new"));
        assert_eq!(paths(&folders, true), [scratch.join("new")]);
        assert_eq!(first_to_write(&folders), scratch.join("new"));
        assert_eq!(std::fs::metadata(scratch.join("new")).unwrap().mode() & 0o7777, 0o700);
        assert_eq!(first_to_write(&folders), scratch.join("new"), "it is there already");
        assert_eq!(folders.variable_for(&scratch.join("new")), Some("PERFSET_RUNTIME_DIR"));
        let nowhere = Folders::only(scratch.join("a/b"));
        let refused: Vec<_> = nowhere.to_write().map(|folder| folder.unwrap_err().0).collect();
        assert_eq!(refused, [scratch.join("a/b")]);
        std::fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn unsafe_user_directory_is_rejected() {
        let scratch = scratch("own");
        let user = rustix::process::geteuid().as_raw();
        std::fs::write(scratch.join("file"), "").unwrap();
        symlink(&scratch, scratch.join("link")).unwrap();
        std::fs::create_dir(scratch.join("open")).unwrap();
        std::fs::set_permissions(scratch.join("open"), PermissionsExt::from_mode(0o777)).unwrap();
        for name in ["file", "link", "open"] {
            assert!(own_folder(&scratch.join(name), user).is_err(), "{name}");
        }
        assert!(own_folder(&scratch.join("new"), user + 1).is_err(), "another user's");
        std::fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn readers_look_into_all_of_them() {
        let folders =
            Folders { session: Some("/run/user/7/x/perfset".into()), ..Folders::below(Path::new("/"), 7) };
        let own = ["/run/perfset", "/run/user/7/x/perfset", "/run/user/7/perfset", "/tmp/perfset-7"];
        let own = own.map(PathBuf::from);
        assert_eq!(paths(&folders, false), own);
        assert_eq!(paths(&folders, true)[..4], own);
        let may_be_links: Vec<_> =
            folders.to_read(false).to_read.into_iter().map(|f| f.may_be_link).collect();
        assert_eq!(may_be_links, [true, false, false, false]);
        assert_eq!(folders.variable_for(&own[1]), Some("XDG_RUNTIME_DIR"));
        for path in [&own[0], &own[2], &own[3]] {
            assert_eq!(folders.variable_for(path), None, "{}", path.display());
        }
    }

    /// Checks that a program without `XDG_RUNTIME_DIR`, such as one started by cron, searches the session directory
    /// of its user, too.
    #[test]
    fn the_session_is_found_without_its_variable() {
        let folders = Folders::below(Path::new("/nowhere"), 7);
        assert!(paths(&folders, false).contains(&"/nowhere/run/user/7/perfset".into()));
    }

    #[test]
    fn names_of_users_folders() {
        for (name, user) in [
            ("perfset-0", Some(0)),
            ("perfset-1000", Some(1000)),
            ("perfset-1000.0123456789abcdef", Some(1000)),
            ("perfset-1000.0123456789abcdeg", None),
            ("perfset-1000.", None),
            ("perfset-01000", None),
            ("perfset-+1", None),
            ("perfset-", None),
            ("perfset-4294967296", None),
            ("perfset", None),
        ] {
            assert_eq!(user_of(name), user, "{name}");
        }
    }

    /// Checks that a file of another user at the path of the user's own directory hides no counters and is reported.
    #[test]
    fn a_name_that_is_taken_is_not_needed() {
        let scratch = scratch("taken");
        std::fs::create_dir(scratch.join("tmp")).unwrap();
        let user = rustix::process::geteuid().as_raw();
        let folders = Folders::below(&scratch, user);
        let own = scratch.join(format!("tmp/perfset-{user}"));
        symlink("/nowhere", &own).unwrap(); // as somebody else's, whom a test cannot be
        let first = first_to_write(&folders);
        assert!(first != own && first.starts_with(scratch.join("tmp")), "{}", first.display());
        assert_eq!(first_to_write(&folders), first, "the next program takes the same");
        for everybody in [false, true] {
            let found = folders.to_read(everybody);
            assert!(found.to_read.iter().any(|folder| folder.path == first), "{found:?}");
            let [(path, what)] = &*found.problems else { panic!("{found:?}") };
            assert_eq!(*path, own);
            assert!(
                what.contains("not a directory: programs of user") && what.ends_with("remove it as root"),
                "{what}"
            );
        }
        std::fs::remove_file(&own).unwrap();
        for everybody in [false, true] {
            let found = folders.to_read(everybody);
            let is_read = |path: &Path| found.to_read.iter().any(|folder| folder.path == path);
            assert!(is_read(&first) && is_read(&own), "whoever publishes there is not hidden: {found:?}");
        }
        assert_eq!(first_to_write(&folders), own);
        std::fs::remove_dir_all(scratch).unwrap();
    }

    /// Checks that the list of unreadable directories contains exactly those directories of other users that cannot
    /// be read.
    #[test]
    fn private_directories_of_others() {
        let scratch = scratch("private");
        let user = rustix::process::geteuid().as_raw();
        let [session, temporary] = ["run/user/7", "tmp/perfset-7"].map(|path| scratch.join(path));
        for path in
            [&session, &temporary, &scratch.join("run/user/5/perfset"), &scratch.join("tmp/perfset-5")]
        {
            std::fs::create_dir_all(path).unwrap();
        }
        let folders = Folders::below(&scratch, user + 1);
        assert_eq!(folders.unreadable(), [""; 0].map(PathBuf::from), "those of one's own rights can be read");
        if user == 0 {
            // Of three users, whom only root can be.
            std::os::unix::fs::chown(scratch.join("tmp/perfset-5"), Some(5), None).unwrap();
            for path in [&session, &temporary] {
                std::os::unix::fs::chown(path, Some(7), None).unwrap();
                std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap();
            }
            assert_eq!(folders.unreadable(), [""; 0].map(PathBuf::from), "root reads all");
            let found = std::thread::spawn(move || {
                let user = rustix::process::Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(user, user, user).unwrap(); // of this thread alone
                folders.unreadable()
            });
            assert_eq!(found.join().unwrap(), [session.join("perfset"), temporary]);
        }
        std::fs::remove_dir_all(scratch).unwrap();
    }

    /// Checks that the message about a directory with a wrong mode tells its owner to run chmod, which needs no root
    /// rights.
    #[test]
    fn the_owner_can_mend_a_directory() {
        let scratch = scratch("mended");
        let user = rustix::process::geteuid().as_raw();
        let own = scratch.join(format!("tmp/perfset-{user}"));
        std::fs::create_dir_all(&own).unwrap();
        std::fs::set_permissions(&own, PermissionsExt::from_mode(0o777)).unwrap();
        let found = Folders::below(&scratch, user).to_read(false);
        let [(path, what)] = &*found.problems else { panic!("{found:?}") };
        assert!(*path == own && what.ends_with("; its owner may run chmod 700"), "{what}");
        std::fs::remove_dir_all(scratch).unwrap();
    }

    /// Checks that a directory named after a user counts as that user's only if the user owns it.
    #[test]
    fn a_folder_belongs_to_the_user_in_its_name() {
        let scratch = scratch("named");
        let user = rustix::process::geteuid().as_raw();
        let [mine, other] = [user, user + 1].map(|user| scratch.join(format!("tmp/perfset-{user}")));
        for path in [&mine, &other] {
            std::fs::create_dir_all(path).unwrap();
        }
        let found = Folders::below(&scratch, user + 2).to_read(true);
        let has = |path: &Path| found.to_read.iter().any(|folder| folder.path == path);
        assert!(has(&mine) && !has(&other), "{found:?}");
        let [(path, what)] = &*found.problems else { panic!("{found:?}") };
        assert!(
            *path == other && what.starts_with(&format!("the directory belongs to user {user}: programs of")),
            "{what}"
        );
        std::fs::remove_dir_all(scratch).unwrap();
    }
}
