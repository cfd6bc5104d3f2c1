//! Names of publishers' files in a directory, listed again only when the directory changes.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, Stat, lstat, open, stat, statat};

use super::budget::OF_A_STRANGER;
use crate::folder::{DirStamp, SearchDir};
use crate::publish::file::SUFFIX;

/// Maximum number of publishers' files of one trusted user that are examined per directory.
pub(super) const MOST_NAMES: usize = 4096;
/// Maximum number of publishers' files of one other user that are examined per directory: one more than are used, so
/// that the excess is reported.
const MOST_OF_A_USER: usize = OF_A_STRANGER + 1;
/// Maximum number of file names that are listed per directory of publishers.
const MOST_LISTED: usize = 32_768;
/// Maximum number of file names that are listed per publishers' directory of another user.
const MOST_OF_OTHER: usize = 1024;
/// Shortest interval between two listings of a publishers' directory of another user.
const PAUSE: Duration = Duration::from_secs(1);

/// Mode bits of a directory in which other users than its owner may create files.
const OTHERS_WRITE: u32 = 0o022;

/// Directory that may contain files of publishers.
#[derive(Debug)]
pub(crate) struct PublisherDir {
    pub path: PathBuf,
    may_be_link: bool,
    /// `true` if all files in the publishers' directory belong to one user, who is neither root nor the user of this
    /// process.
    is_of_other: bool,
    /// `true` if another user owns the path of a directory of root or of this process's user, or may write to it.
    is_taken: bool,
    /// `true` if the publishers' directory is searched no longer. Its index remains, because files refer to their
    /// directory by index, and is that of the next new directory.
    pub is_free: bool,
    /// Names of files in the directory that were listed and not examined yet.
    pub pending: VecDeque<String>,
    /// Time of the last listing of the directory.
    listed: Option<Instant>,
    stamp: Option<DirStamp>,
    /// `true` if the publishers' directory was listed so soon after a change that a further change may be invisible.
    is_unsure: bool,
}

/// Contents of a publishers' directory: names of its files.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub names: Vec<String>,
    /// `true` if the directory has more file names than are examined.
    pub is_cut: bool,
}

impl PublisherDir {
    pub fn new(SearchDir { path, may_be_link, is_of_other }: SearchDir) -> Self {
        Self {
            path,
            may_be_link,
            is_of_other,
            is_taken: false,
            is_free: false,
            pending: VecDeque::new(),
            listed: None,
            stamp: None,
            is_unsure: true,
        }
    }

    /// Returns `true` if the search found the directory as one of another user.
    pub fn is_of_other(&self) -> bool {
        self.is_of_other
    }

    /// Returns `true` if another user may create files in the directory, so that the time for the directory is
    /// limited.
    pub fn is_limited(&self) -> bool {
        self.is_of_other || self.is_taken
    }

    /// Returns `true` if files of the publishers' directory were not examined yet.
    pub fn is_unread(&self) -> bool {
        !self.is_free && (!self.pending.is_empty() || self.is_limited() && self.listed.is_none())
    }

    /// Returns the contents of the directory if it changed; an empty listing if it does not exist. If there are too
    /// many names, some of each user are returned. A directory of another user is not listed again before a pause.
    pub fn changed(&mut self, is_trusted: impl Fn(u32) -> bool) -> Option<io::Result<Listing>> {
        if self.is_limited() && self.listed.is_some_and(|listed| listed.elapsed() < PAUSE) {
            return None;
        }
        let found = if self.may_be_link { stat(&self.path) } else { lstat(&self.path) };
        // Another user can create `/tmp/perfset-UID` first. The directory shared by all users is the one that
        // may be a link, and every user may write to it by design.
        if !self.is_of_other && !self.may_be_link {
            let is_dir = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            let is_open = |stat: &Stat| is_dir(stat) && stat.st_mode & OTHERS_WRITE != 0;
            let is_others = |stat: &Stat| !is_trusted(stat.st_uid) || is_open(stat);
            let is_taken = found.as_ref().is_ok_and(is_others);
            if is_taken && !self.is_taken {
                (self.is_taken, self.listed, self.stamp) = (true, None, None);
                return None; // it waits for its turn among those of other users
            }
            self.is_taken = is_taken;
        }
        let now = found.ok().as_ref().map(DirStamp::of);
        if now == self.stamp && !(self.is_unsure && now.is_some()) {
            // Also if nothing was listed: a directory that does not exist counts as read.
            self.listed = self.listed.or_else(|| Some(Instant::now()));
            return None;
        }
        self.listed = Some(Instant::now());
        self.is_unsure = now.as_ref().is_some_and(DirStamp::is_recent);
        self.stamp = now;
        match now {
            None => Some(Ok(Listing::default())),
            Some(_) => Some(self.list(is_trusted)),
        }
    }

    /// Marks the publishers' directory to be listed next time even if it does not change.
    pub fn doubt(&mut self) {
        self.is_unsure = true;
    }

    /// Opens the publishers' directory, for access to its files.
    pub fn open(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let link = if self.may_be_link { OFlags::empty() } else { OFlags::NOFOLLOW };
        Ok(open(&self.path, flags | link, Mode::empty())?)
    }

    fn list(&self, is_trusted: impl Fn(u32) -> bool) -> io::Result<Listing> {
        let folder = self.open()?;
        let mut buffer = Vec::with_capacity(32 << 10);
        let mut entries = RawDir::new(&folder, buffer.spare_capacity_mut());
        let owner =
            |name: &str| statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| stat.st_uid);
        let most = if self.is_limited() { MOST_OF_OTHER } else { MOST_LISTED };
        let mut listing = Listing::default();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            // Names that begin with a dot belong to unfinished files.
            if name.starts_with(b".") || !name.ends_with(SUFFIX.as_bytes()) {
                continue;
            }
            if listing.names.len() >= most {
                listing.is_cut = true;
                break;
            }
            let Ok(name) = std::str::from_utf8(name) else { continue }; // ours are ASCII
            listing.names.push(name.to_owned());
        }
        if listing.names.len() > MOST_NAMES {
            // Limit each user, so that a user with many files cannot hide those of others.
            let listed = listing.names.len();
            let mut of_user: HashMap<u32, usize> = HashMap::new();
            listing.names.retain(|name| {
                let Some(user) = owner(name) else { return false };
                let count = of_user.entry(user).or_default();
                *count = count.saturating_add(1);
                *count <= if is_trusted(user) { MOST_NAMES } else { MOST_OF_A_USER }
            });
            listing.is_cut |= listing.names.len() < listed;
        }
        Ok(listing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_followed_where_nobody_else_could_have_made_it() {
        let place = crate::tests::Place::new("linked-folder");
        let link = place.path().with_extension("link");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(place.path(), &link).unwrap();
        let changed = |may_be_link| {
            let mut folder =
                PublisherDir::new(SearchDir { path: link.clone(), may_be_link, is_of_other: false });
            folder.changed(|_| true).unwrap().map(|listing| listing.names)
        };
        assert_eq!(changed(true).unwrap(), [""; 0]);
        assert_eq!(changed(false).unwrap_err().kind(), io::ErrorKind::NotADirectory);
        std::fs::remove_file(link).unwrap();
    }
}
