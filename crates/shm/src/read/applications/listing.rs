//! Lists the directories of publishers and opens their files. Directories of other users share a limited time.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::ops::Bound;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::process::{Resource, getrlimit};

use super::{ApplicationProvider, OpenFile};
use crate::read::asking::CallbackClient;
use crate::read::budget::OF_A_STRANGER;
use crate::read::file::{AccessPolicy, ProgramFile};
use crate::read::folder::{Listing, PublisherDir};
use crate::read::table::FileError;

/// Divisor for the part of this process's file descriptor limit that is used to keep publishers' files open. Other
/// files are opened at each use, which costs two to three times as much.
const KEPT: u64 = 4;
/// Maximum number of refused publishers' files that are kept for messages, of each directory of another user.
const MOST_REFUSED_OF_OTHER: usize = 16;
/// Maximum number of refused publishers' files that are kept for messages; beyond it, directories of other users add
/// no more.
const MOST_REFUSED: usize = 4096;

impl ApplicationProvider {
    /// Lists the publishers' directories that changed. Returns `true` if files were added or removed. Directories of
    /// other users take turns while there is time for them.
    pub(super) fn list_all(&mut self) -> bool {
        let mut changed = false;
        // Directories of root and of this user first, without a limit: other users cannot delay them.
        for at in 0..self.folders.len() {
            if self.folders.get(at).is_some_and(|folder| !folder.is_limited()) {
                changed |= self.list(at, None);
            }
        }
        let is_limited = |folder: &PublisherDir| folder.is_limited() && !folder.is_free;
        let left = self.for_others.left();
        if left.is_zero() || !self.folders.iter().any(is_limited) {
            return changed;
        }
        let from = Instant::now();
        let until = from.checked_add(left).unwrap_or(from);
        for _ in 0..self.folders.len() {
            let at = self.next_of_others.checked_rem(self.folders.len()).unwrap_or(0);
            self.next_of_others = at.saturating_add(1);
            if self.folders.get(at).is_some_and(is_limited) {
                changed |= self.list(at, Some(until));
                if Instant::now() >= until {
                    break;
                }
            }
        }
        self.for_others.spend(from.elapsed());
        changed
    }

    /// Lists a publishers' directory if it changed, and examines its files `until` that time; the others are examined
    /// next time. Returns `true` if files were added or removed.
    fn list(&mut self, at: usize, until: Option<Instant>) -> bool {
        let is_trusted = |user: u32| user == 0 || user == self.asker.user;
        let Some(folder) = self.folders.get_mut(at) else { return false };
        let (path, names, opened, mut changed) = if folder.pending.is_empty() {
            let Some(listing) = folder.changed(is_trusted) else { return false };
            let path = folder.path.clone();
            // Files are opened relative to the directory that was listed, so no other directory can take its
            // place.
            let opened = listing.and_then(|listing| {
                let folder = if listing.names.is_empty() { None } else { Some(folder.open()?) };
                Ok((listing, folder))
            });
            match self.compare(at, &path, opened) {
                Some((names, opened, changed)) => (path, names, opened, changed),
                None => return false,
            }
        } else {
            let names = std::mem::take(&mut folder.pending);
            let Ok(opened) = folder.open() else {
                folder.doubt();
                return false;
            };
            (folder.path.clone(), names, Some(opened), false)
        };
        if let Some(opened) = opened {
            changed |= self.examine(at, &path, &opened, names, until);
        }
        changed
    }

    /// Removes from the reader the files that are no longer in a directory. Returns the names that are not in use
    /// yet, and `true` if files were removed; `None` if the directory cannot be listed.
    fn compare(
        &mut self,
        at: usize,
        path: &Path,
        opened: io::Result<(Listing, Option<OwnedFd>)>,
    ) -> Option<(VecDeque<String>, Option<OwnedFd>, bool)> {
        // Every file that is not in use is examined again. Reasons of removed files must not stay.
        self.forget_refused(path);
        let (listing, folder) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let refused = FileError::io("cannot be listed")(error);
                // A lack of memory or file descriptors passes without a change of the directory.
                if refused.is_shortage() {
                    self.doubt(at);
                }
                self.refused.insert(path.to_owned(), refused);
                return None;
            }
        };
        if listing.is_cut {
            self.refused.insert(path.to_owned(), FileError::TooMany);
        }
        let before = self.files.len();
        let there: HashSet<&str> = listing.names.iter().map(String::as_str).collect();
        // Files in use stay open and are not examined again: their state would be lost.
        self.files.retain(|kept| kept.folder != at || there.contains(&*kept.name));
        let changed = self.files.len() != before;
        let had: HashSet<&str> =
            self.files.iter().filter(|kept| kept.folder == at).map(|kept| &*kept.name).collect();
        let names = listing.names.into_iter().filter(|name| !had.contains(&**name)).collect();
        Some((names, folder, changed))
    }

    /// Opens publishers' files by name until that time. Returns `true` if files were added.
    fn examine(
        &mut self,
        at: usize,
        path: &Path,
        folder: &OwnedFd,
        mut names: VecDeque<String>,
        until: Option<Instant>,
    ) -> bool {
        let user = self.asker.user;
        let is_trusted = |of: u32| of == 0 || of == user;
        // Counted over all directories, so that no user gets more by using several.
        let mut of_user: HashMap<u32, usize> = HashMap::new();
        for kept in &self.files {
            let count = of_user.entry(kept.file.user).or_default();
            *count = count.saturating_add(1);
        }
        // Members of the group of a shared directory see the files of all users there, and only there.
        let everybody = self.asker.everybody || self.is_our_groups(folder);
        let asker = AccessPolicy { everybody, ..self.asker.clone() };
        let (mut changed, mut is_short) = (false, false);
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let kept = usize::try_from(limit / KEPT).unwrap_or(usize::MAX);
        let mut told = 0_usize;
        while let Some(name) = names.pop_front() {
            // Beyond that share, files are opened at each use: the program that reads needs file descriptors
            // too.
            let keep = self.files.len() < kept;
            let has_room =
                |user| is_trusted(user) || of_user.get(&user).is_none_or(|count| *count < OF_A_STRANGER);
            let definitions = &mut self.definitions;
            let file = ProgramFile::open(folder.as_fd(), path, &name, &asker, keep, has_room, definitions);
            match file {
                Ok(file) => {
                    let count = of_user.entry(file.user).or_default();
                    *count = count.saturating_add(1);
                    changed = true;
                    self.files.push(OpenFile {
                        asking: CallbackClient::new(&file),
                        file,
                        folder: at,
                        name,
                        indexes: HashMap::new(),
                        copied_instances: HashMap::new(),
                        missed: HashMap::new(),
                        shares: HashMap::new(),
                        value_indexes: Vec::new(),
                        is_to_load: false,
                        is_gone: false,
                        has_new: false,
                    });
                }
                Err(FileError::Dead) => {} // its user's next program takes it away
                Err(refused) => {
                    is_short |= refused.is_shortage();
                    let is_told =
                        until.is_none() || told < MOST_REFUSED_OF_OTHER && self.refused.len() < MOST_REFUSED;
                    if is_told {
                        told = told.saturating_add(1);
                        self.refused.insert(path.join(&name), refused);
                    } else {
                        is_short |= refused.may_pass();
                    }
                }
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
        }
        if let Some(folder) = self.folders.get_mut(at) {
            folder.pending = names;
        }
        if is_short {
            self.doubt(at);
        }
        changed
    }

    /// Removes the stored reasons why a directory and files in it are not used.
    pub(super) fn forget_refused(&mut self, folder: &Path) {
        let from = (Bound::Included(folder), Bound::Unbounded);
        let of_folder = self.refused.range::<Path, _>(from).map(|(path, _)| path);
        let of_folder: Vec<PathBuf> =
            of_folder.take_while(|path| path.starts_with(folder)).cloned().collect();
        for path in of_folder {
            self.refused.remove(&path);
        }
    }
}
