//! File names in a directory, listed again only when the directory changes.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags, RawDir, lstat, open, stat, statat};
use rustix::time::{ClockId, clock_gettime};

use super::applications::OF_A_STRANGER;
use crate::folder::SearchDir;
use crate::publish::file::SUFFIX;

/// Maximum number of files of one trusted user that are examined per directory.
pub(super) const MOST_NAMES: usize = 4096;
/// Maximum number of files of one other user that are examined per directory: one more than are used, so that the
/// excess is reported.
const MOST_OF_A_USER: usize = OF_A_STRANGER + 1;
/// Maximum number of names that are listed per directory.
const MOST_LISTED: usize = 32_768;
/// Resolution of directory times on some kernels: a directory that changed just before it was listed may have changed
/// again since.
const STEP: Duration = Duration::from_millis(20);

/// Directory that may contain files of publishers.
#[derive(Debug)]
pub(crate) struct PublisherDir {
    pub path: PathBuf,
    may_be_link: bool,
    stamp: Option<DirStamp>,
    /// `true` if the directory was listed so soon after a change that a further change may be invisible.
    is_unsure: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DirStamp {
    dev: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Contents of a directory.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub names: Vec<String>,
    /// `true` if the directory has more names than are examined.
    pub is_cut: bool,
}

impl PublisherDir {
    pub fn new(SearchDir { path, may_be_link }: SearchDir) -> Self {
        Self { path, may_be_link, stamp: None, is_unsure: true }
    }

    /// Returns the contents if the directory changed; an empty listing if it does not exist. If there are too many
    /// names, some of each user are returned.
    pub fn changed(&mut self, is_trusted: impl Fn(u32) -> bool) -> Option<io::Result<Listing>> {
        let found = if self.may_be_link { stat(&self.path) } else { lstat(&self.path) };
        let now = found.ok().map(|stat| DirStamp {
            dev: stat.st_dev,
            inode: stat.st_ino,
            modified: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            changed: (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
        });
        if now == self.stamp && !(self.is_unsure && now.is_some()) {
            return None;
        }
        self.is_unsure = now.is_some_and(|stamp| is_recent(stamp.modified) || is_recent(stamp.changed));
        self.stamp = now;
        match now {
            None => Some(Ok(Listing::default())),
            Some(_) => Some(self.list(is_trusted)),
        }
    }

    /// Marks the directory to be listed next time even if it does not change.
    pub fn doubt(&mut self) {
        self.is_unsure = true;
    }

    /// Opens the directory, for access to its files.
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
        let mut listing = Listing::default();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            // Names that begin with a dot belong to unfinished files.
            if name.starts_with(b".") || !name.ends_with(SUFFIX.as_bytes()) {
                continue;
            }
            if listing.names.len() >= MOST_LISTED {
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

fn is_recent((seconds, ns): (i64, i64)) -> bool {
    let now = clock_gettime(ClockId::Realtime);
    let age = now.tv_sec.saturating_sub(seconds).saturating_mul(1_000_000_000);
    let age = age.saturating_add(now.tv_nsec.saturating_sub(ns));
    age < i64::try_from(STEP.as_nanos()).unwrap_or(i64::MAX)
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
            let mut folder = PublisherDir::new(SearchDir { path: link.clone(), may_be_link });
            folder.changed(|_| true).unwrap().map(|listing| listing.names)
        };
        assert_eq!(changed(true).unwrap(), [""; 0]);
        assert_eq!(changed(false).unwrap_err().kind(), io::ErrorKind::NotADirectory);
        std::fs::remove_file(link).unwrap();
    }
}
