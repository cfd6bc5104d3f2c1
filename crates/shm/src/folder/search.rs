//! Search for publishers' directories of users in `/tmp`, where any user can create any number of any names.
//!
//! Directories of root and of the reader's own user are all kept. Other users have limits, and the time for listing
//! has one: a listing that takes longer is continued by later calls. As long as it is incomplete, the running
//! processes of root and of the own user are examined: a publisher keeps its directory open, so its descriptors
//! show the directory.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Dir, FileType, Mode, OFlags, lstat, open, stat};

use super::{DirStamp, Folders, Found, SearchDir, user_of, why_not_own};
use crate::allowance::Allowance;

/// Maximum number of directories `perfset-UID.RANDOM` that are read of one other user, and of all of them together.
pub(crate) const MOST_SPARES: (usize, usize) = (4, 256);
/// Maximum number of directories `perfset-UID` of other users that are read.
const MOST_OF_OTHERS: usize = 4096;
/// Maximum number of reported paths that cannot serve as the directory of the user in their name.
const MOST_PROBLEMS: usize = 16;
/// Maximum number of file descriptors of one process that are examined.
const MOST_DESCRIPTORS: usize = 1024;
/// Shortest and longest interval between the beginnings of two listings of `/tmp`. The longest applies if the
/// directory's times do not change: a change of an entry's mode or owner does not change them.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

/// Users whose publishers' directories are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchScope {
    Own,
    Everybody,
    /// All users except the user of this process.
    Others,
}

/// Limits of one call that continues the search: the times that it may take, and the number of entries that it
/// examines in any case.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Number of directory entries that are examined at the beginning of a listing, however long that takes.
    at_once: usize,
    listing: Duration,
    processes: Duration,
}

const LIMITS: Limits =
    Limits { at_once: 8192, listing: Duration::from_millis(30), processes: Duration::from_millis(20) };

/// State of a search for publishers' directories that is continued from call to call.
#[derive(Debug)]
pub(crate) struct Search {
    folders: Folders,
    wanted: SearchScope,
    at_once: usize,
    /// Time at which the last listing of directories began, with the change stamps of the directories; without stamps
    /// if a directory had just changed.
    last_listing: Option<(Instant, Option<Stamps>)>,
    listing: Option<Dir>,
    /// `true` once a listing of the directories was complete.
    is_complete: bool,
    /// Ids of processes whose open directories are not examined yet.
    processes: VecDeque<u32>,
    for_listing: Allowance,
    for_processes: Allowance,
    /// Publishers' directories that were found, each with its owner.
    owners: BTreeMap<PathBuf, u32>,
    of_others: OfOthers,
    /// Paths that cannot serve as the directory of the user in their name: as of the last complete listing, and of the
    /// current one.
    problems: (BTreeMap<PathBuf, String>, BTreeMap<PathBuf, String>),
}

/// Change stamps ([`DirStamp`]) of the directory for temporary files and of the parent of the session directories.
type Stamps = [Option<DirStamp>; 2];

/// Numbers of found publishers' directories of other users.
#[derive(Debug, Default)]
struct OfOthers {
    usual: usize,
    spares: usize,
    /// Number of directories with random names that each user has, and `true` if more than the kept ones exist.
    of_user: HashMap<u32, (usize, bool)>,
}

impl Search {
    pub fn new(folders: &Folders, wanted: SearchScope) -> Self {
        Self::within(folders, wanted, LIMITS)
    }

    fn within(folders: &Folders, wanted: SearchScope, limits: Limits) -> Self {
        Self {
            folders: folders.clone(),
            wanted,
            at_once: limits.at_once,
            last_listing: None,
            listing: None,
            is_complete: false,
            processes: VecDeque::new(),
            for_listing: Allowance::new(limits.listing),
            for_processes: Allowance::new(limits.processes),
            owners: BTreeMap::new(),
            of_others: OfOthers::default(),
            problems: Default::default(),
        }
    }

    /// Continues the search for directories, or begins a new one if that is due. Returns `None` if nothing was to be
    /// done.
    pub fn look(&mut self) -> Option<Found> {
        if self.folders.only.is_some() {
            self.last_listing = match self.last_listing {
                Some(_) => return None,
                None => Some((Instant::now(), None)),
            };
            return Some(self.found());
        }
        let begins = self.listing.is_none() && self.is_due();
        let at_least = if begins { self.at_once } else { 0 };
        if begins {
            self.begin();
        }
        let mut has_looked = self.list(at_least);
        if self.listing.is_none() {
            self.processes.clear(); // the listing has shown all
        } else if begins {
            self.processes = processes();
        }
        has_looked |= self.examine_processes();
        (begins || has_looked).then(|| self.found())
    }

    /// Returns this user's publishers' directories with random names.
    pub fn spares_of_own(&self) -> impl Iterator<Item = &Path> {
        self.owners.iter().filter(|(_, user)| **user == self.folders.user).map(|(path, _)| &**path)
    }

    /// Returns the found publishers' directories of users other than this process's user.
    pub fn of_others(&self) -> impl Iterator<Item = &Path> {
        self.owners.iter().filter(|(_, user)| **user != self.folders.user).map(|(path, _)| &**path)
    }

    fn is_trusted(&self, user: u32) -> bool {
        user == 0 || user == self.folders.user
    }

    fn is_wanted(&self, user: u32) -> bool {
        match self.wanted {
            SearchScope::Own => user == self.folders.user,
            SearchScope::Everybody => true,
            SearchScope::Others => user != self.folders.user,
        }
    }

    fn is_due(&self) -> bool {
        let Some((start, before)) = self.last_listing else { return true };
        let (shortest, longest) = PAUSE;
        let passed = start.elapsed();
        // A listing that began soon after a change is repeated: times have a coarse resolution.
        passed >= longest || passed >= shortest && (before != Some(self.stamps()))
    }

    fn stamps(&self) -> Stamps {
        let parents = &self.folders.parents;
        [&parents.temporary, &parents.sessions].map(|path| stat(path).ok().as_ref().map(DirStamp::of))
    }

    fn begin(&mut self) {
        let stamps = self.stamps();
        let is_recent = stamps.iter().flatten().any(DirStamp::is_recent);
        self.last_listing = Some((Instant::now(), (!is_recent).then_some(stamps)));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(&self.folders.parents.temporary, flags, Mode::empty());
        self.listing = folder.and_then(Dir::new).ok();
        self.problems.1.clear();
        // What is kept stays kept, so that nothing new displaces it.
        let before = std::mem::take(&mut self.owners);
        self.of_others = OfOthers::default();
        for (path, user) in before {
            self.consider(path, user);
        }
        for user in [self.folders.user, 0] {
            if self.is_wanted(user) {
                self.consider(self.folders.temporary(user), user);
            }
        }
    }

    /// Examines directory entries while there is time, and at least `at_least` of them. Returns `true` if it examined
    /// any.
    fn list(&mut self, at_least: usize) -> bool {
        /// Number of directory entries that are examined between two readings of the clock.
        const STEP: usize = 64;
        let Some(mut listing) = self.listing.take() else { return false };
        let (from, most) = (Instant::now(), self.for_listing.left());
        let mut count = 0_usize;
        loop {
            if count >= at_least && count % STEP == 0 && from.elapsed() >= most {
                self.listing = Some(listing);
                break;
            }
            count = count.saturating_add(1);
            let Some(Ok(entry)) = listing.next() else {
                self.is_complete = true;
                self.problems.0 = std::mem::take(&mut self.problems.1);
                break;
            };
            if let Ok(name) = entry.file_name().to_str() {
                self.consider_name(name);
            }
        }
        self.for_listing.spend(from.elapsed());
        count > 0
    }

    fn consider_name(&mut self, name: &str) {
        if let Some(user) = user_of(name).filter(|user| self.is_wanted(*user)) {
            self.consider(self.folders.parents.temporary.join(name), user);
        }
    }

    /// Keeps a found directory if it belongs to the user in its name, within the limits for directories of other
    /// users.
    fn consider(&mut self, path: PathBuf, user: u32) {
        if self.owners.contains_key(&path) {
            return;
        }
        let is_spare = path.extension().is_some();
        let is_trusted = self.is_trusted(user);
        let OfOthers { usual, spares, of_user } = &mut self.of_others;
        if !is_trusted {
            let (of_one, of_all) = MOST_SPARES;
            let (count, is_over) = of_user.get(&user).copied().unwrap_or_default();
            let is_full =
                if is_spare { count >= of_one || *spares >= of_all } else { *usual >= MOST_OF_OTHERS };
            if is_full {
                // One is examined, because another user can create such names.
                if !is_over && is_own(&path, user) {
                    of_user.insert(user, (count, true));
                }
                return;
            }
        }
        if !is_own(&path, user) {
            // Names with a random part are not reserved for a user, so they are not reported.
            if !is_spare && (user == self.folders.user || self.problems.1.len() < MOST_PROBLEMS) {
                let why = why_not_own(&path, user).map(|why| self.folders.taken_text(&path, user, &why));
                self.problems.1.extend(why.map(|why| (path, why)));
            }
            return;
        }
        match (is_trusted, is_spare) {
            (true, _) => {}
            (false, false) => *usual = usual.saturating_add(1),
            (false, true) => {
                *spares = spares.saturating_add(1);
                let (count, _) = of_user.entry(user).or_default();
                *count = count.saturating_add(1);
            }
        }
        self.owners.insert(path, user);
    }

    /// Examines processes while there is time, to find users with running processes and directories that processes of
    /// root and of this user have open. Returns `true` if it examined any.
    fn examine_processes(&mut self) -> bool {
        let before = self.processes.len();
        if before == 0 {
            return false;
        }
        let (from, most) = (Instant::now(), self.for_processes.left());
        let temporary = &self.folders.parents.temporary;
        // Links of descriptors contain the real path, and `/tmp` may be a link.
        let temporary = std::fs::canonicalize(temporary).unwrap_or_else(|_| temporary.clone());
        while from.elapsed() < most {
            let Some(pid) = self.processes.pop_front() else { break };
            let path = PathBuf::from(format!("/proc/{pid}/fd"));
            // The owner of this directory is the user of the process, or root if the process is not dumpable.
            let Ok(stat) = lstat(&path) else { continue };
            let user = stat.st_uid;
            if !self.is_wanted(user) {
                continue;
            }
            self.consider(self.folders.temporary(user), user);
            if !self.is_trusted(user) {
                continue;
            }
            let descriptors = std::fs::read_dir(&path).into_iter().flatten().flatten();
            for target in
                descriptors.take(MOST_DESCRIPTORS).filter_map(|fd| std::fs::read_link(fd.path()).ok())
            {
                let below = target.strip_prefix(&temporary).ok();
                let name = below.and_then(|path| path.components().next()?.as_os_str().to_str());
                name.into_iter().for_each(|name| self.consider_name(name));
            }
        }
        self.for_processes.spend(from.elapsed());
        self.processes.len() < before
    }

    /// Returns all publishers' directories to read, whether they exist or not: those of root and of this user first.
    fn found(&self) -> Found {
        let mut found = Found::default();
        let folders = &self.folders;
        if let Some(only) = &folders.only {
            found.add(SearchDir { path: only.clone(), may_be_link: true, is_of_other: false });
            return found;
        }
        let strict = |path: PathBuf, user: u32| {
            let is_of_other = !self.is_trusted(user);
            SearchDir { path, may_be_link: false, is_of_other }
        };
        // A link in place of `/run/perfset` was created by root; every user can create links in the other
        // places.
        let machine = folders.parents.machine.clone();
        found.add(SearchDir { path: machine, may_be_link: true, is_of_other: false });
        for path in folders.session.clone().into_iter().chain([folders.session_of(folders.user)]) {
            found.add(strict(path, folders.user));
        }
        // Needed even if another user has the name: it may have been free when a program started that still publishes
        // there.
        found.add(strict(folders.temporary(folders.user), folders.user));
        let known = |is_trusted: bool| {
            self.owners.iter().filter(move |(_, user)| self.is_trusted(**user) == is_trusted)
        };
        known(true).for_each(|(path, user)| found.add(strict(path.clone(), *user)));
        if self.wanted == SearchScope::Everybody {
            found.add(strict(folders.session_of(0), 0));
            folders.users_of_sessions().for_each(|user| found.add(strict(folders.session_of(user), user)));
        }
        known(false).for_each(|(path, user)| found.add(strict(path.clone(), *user)));
        found.problems = self.problems();
        found
    }

    fn problems(&self) -> Vec<(PathBuf, String)> {
        let mut problems = self.problems.0.clone();
        if !self.is_complete {
            problems.extend(self.problems.1.clone());
            let what = "the directory has more entries than were read until now: directories of some users may be \
                        missed";
            problems.insert(self.folders.parents.temporary.clone(), what.into());
        }
        let (of_one, of_all) = MOST_SPARES;
        let over = self.of_others.of_user.iter().filter(|(_, (_, is_over))| *is_over);
        let mut over: Vec<u32> = over.map(|(user, _)| *user).collect();
        over.sort_unstable();
        for user in over.into_iter().take(MOST_PROBLEMS) {
            let path = self.folders.temporary(user);
            let what = format!(
                "some directories of user {user} are left out: at most {of_one} with random names of each other user \
                 are read, and {of_all} of all others together"
            );
            problems.entry(path).or_insert(what);
        }
        problems.into_iter().collect()
    }
}

/// Returns `true` if a path is a directory that `user` owns and only `user` may write to.
fn is_own(path: &Path, user: u32) -> bool {
    lstat(path).is_ok_and(|stat| {
        let is_private = stat.st_mode & 0o022 == 0;
        stat.st_uid == user && is_private && FileType::from_raw_mode(stat.st_mode) == FileType::Directory
    })
}

fn processes() -> VecDeque<u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::{Counterset as _, Publisher};
    use crate::tests::Place;

    const NOTHING: Limits = Limits { at_once: 0, listing: Duration::ZERO, processes: Duration::ZERO };

    fn tree(name: &str) -> (Place, Folders, PathBuf) {
        let place = Place::new(name);
        let user = rustix::process::geteuid().as_raw();
        let folders = Folders::below(place.path(), user);
        std::fs::create_dir(place.path().join("tmp")).unwrap();
        let spare = place.path().join(format!("tmp/perfset-{user}.0123456789abcdef"));
        std::fs::create_dir(&spare).unwrap();
        (place, folders, spare)
    }

    fn has(search: &mut Search, path: &Path) -> bool {
        search.look();
        search.found().to_read.iter().any(|folder| folder.path == path)
    }

    /// Checks that the open files of a running publisher reveal its directory, even if there is no time to list
    /// directories.
    #[test]
    fn processes_show_their_directories() {
        let (_place, folders, spare) = tree("by-process");
        let limits = Limits { processes: Duration::from_secs(10), ..NOTHING };
        let is_found = || has(&mut Search::within(&folders, SearchScope::Own, limits), &spare);
        assert!(!is_found());
        let publisher = Publisher::in_folders(Folders::only(&spare));
        publisher.define(crate::tests::Striped::definition().counterset());
        assert!(publisher.path().is_some() && is_found());
    }

    /// Checks that a listing that takes too long continues in later calls, and is reported as incomplete until then.
    #[test]
    fn a_long_listing_is_continued() {
        let (place, folders, spare) = tree("continued");
        for number in 0..3000 {
            std::fs::write(place.path().join(format!("tmp/{number}")), "").unwrap();
        }
        let limits = Limits { listing: Duration::from_micros(200), ..NOTHING };
        let mut search = Search::within(&folders, SearchScope::Own, limits);
        let _ = search.look();
        let is_cut = |search: &Search| search.problems().iter().any(|(_, what)| what.contains("until now"));
        assert!(is_cut(&search));
        let start = Instant::now();
        while is_cut(&search) {
            assert!(start.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(2));
            let _ = search.look();
        }
        assert!(has(&mut search, &spare));
        assert!(search.look().is_none(), "no reason to list it again");
    }

    /// Checks that a new directory does not displace a kept directory, and a removed directory makes room for a new
    /// one.
    #[test]
    fn other_users_have_a_few_directories_each() {
        let place = Place::new("few-each");
        let tmp = place.path().join("tmp");
        std::fs::create_dir(&tmp).unwrap();
        let own = rustix::process::geteuid().as_raw();
        let user = if own == 0 { 65_533 } else { own };
        let folders = Folders::below(place.path(), user + 1);
        let create = |path: &PathBuf| {
            std::fs::create_dir(path).unwrap();
            std::os::unix::fs::chown(path, Some(user), None).unwrap();
        };
        let paths: Vec<PathBuf> = (0..6).map(|n| tmp.join(format!("perfset-{user}.{n:016x}"))).collect();
        let mut search = Search::new(&folders, SearchScope::Everybody);
        let kept = |search: &mut Search| {
            search.last_listing = None; // it is due
            search.look().unwrap().to_read.iter().filter(|folder| paths.contains(&folder.path)).count()
        };
        paths[2..].iter().for_each(create);
        assert_eq!(kept(&mut search), 4);
        paths[..2].iter().for_each(create);
        assert_eq!(kept(&mut search), 4);
        assert!(paths[2..].iter().all(|path| search.owners.contains_key(path)));
        assert!(search.problems().iter().any(|(_, what)| what.contains("left out")));
        std::fs::remove_dir(&paths[5]).unwrap();
        assert_eq!(kept(&mut search), 4);
        assert!(!search.owners.contains_key(&paths[5]));
    }
}
