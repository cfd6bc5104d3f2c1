//! Users whose published files are read, limits for these users, and messages about files that are not read.

use std::collections::{BTreeMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use perfset_core::Guid;
use rustix::fs::{AtFlags, fstat, statat};

use super::{ApplicationProvider, OpenFile, counted};
use crate::folder::{MOST_SPARES, has_more_rights};
use crate::merge::OF_STRANGERS;
use crate::read::asking::MOST_HELD;
use crate::read::budget::{OF_A_STRANGER, Share};
use crate::read::file::{AccessPolicy, ProgramFile};
use crate::read::folder::{MOST_NAMES, PublisherDir};
use crate::read::table::FileError;
use crate::users::group_name;

/// Sticky bit: users may remove only their own files in the directory.
const STICKY: u32 = 0o1000;

/// Mode bit of a file that its group may read.
const GROUP_READS: u32 = 0o040;
/// Interval between searches for unreadable publishers' directories. Long, because the result is used only in
/// messages.
const FINDING: Duration = Duration::from_secs(10);

/// Returns `true` if a user sees the files of all users without requesting it: root. A program with elevated
/// privileges must request it.
pub(super) fn sees_everybody(user: u32) -> bool {
    user == 0 && !has_more_rights()
}

/// Returns the user groups of this process; none if it has elevated privileges.
pub(super) fn groups() -> Vec<u32> {
    // Otherwise a program with the set-group-ID bit would show its caller what only that group may see.
    if has_more_rights() {
        return Vec::new();
    }
    // POSIX does not require that `getgroups` contains the effective group.
    let own = rustix::process::getegid();
    let all = rustix::process::getgroups().unwrap_or_default();
    all.into_iter().chain([own]).map(rustix::process::Gid::as_raw).collect()
}

/// Describes the limits of a reader that [`ApplicationProvider::scope`] does not describe.
pub(super) fn limits() -> String {
    let number = |number: usize| grouped(u64::try_from(number).unwrap_or(u64::MAX));
    format!(
        "{} programs of each other user in a directory, {} of root and of this user; {} directories with random \
         names of each other user in /tmp, {} of all other users; {} counters added to a \
         counterset by all other users, {} values by reference of all programs",
        number(OF_A_STRANGER),
        number(MOST_NAMES),
        number(MOST_SPARES.0),
        number(MOST_SPARES.1),
        number(OF_STRANGERS),
        number(MOST_HELD),
    )
}

/// Share of the instance limit for one counterset of another user's file.
#[derive(Debug)]
pub(super) struct Rationed {
    share: Share,
    read: u64,
    unread: u64,
}

impl ApplicationProvider {
    /// Adds publishers' directories that are new since the last search, and removes those of other users that are no
    /// longer searched. Returns `true` if files were removed.
    pub(super) fn look_for_folders(&mut self) -> bool {
        let Some(found) = self.search.look() else { return false };
        self.not_folders =
            found.problems.into_iter().map(|(path, what)| (path, FileError::Folder(what))).collect();
        let wanted: HashSet<&Path> = found.to_read.iter().map(|folder| &*folder.path).collect();
        let mut free = Vec::new();
        for (at, folder) in self.folders.iter_mut().enumerate().filter(|(_, folder)| folder.is_of_other()) {
            if !folder.is_free && !wanted.contains(&*folder.path) {
                folder.is_free = true;
                free.push((at, folder.path.clone()));
            }
        }
        let before = self.files.len();
        if !free.is_empty() {
            // Before the indexes are reused below, because files refer to their directory by index.
            let freed: HashSet<usize> = free.iter().map(|(at, _)| *at).collect();
            self.files.retain(|kept| !freed.contains(&kept.folder));
            free.iter().for_each(|(_, path)| self.forget_refused(path));
        }
        let known = self.folders.iter().filter(|folder| !folder.is_free);
        let known: HashSet<PathBuf> = known.map(|folder| folder.path.clone()).collect();
        let mut new =
            found.to_read.into_iter().filter(|new| !known.contains(&new.path)).map(PublisherDir::new);
        let is_free = |folder: &&mut PublisherDir| folder.is_free;
        for (folder, new) in self.folders.iter_mut().filter(is_free).zip(new.by_ref()) {
            *folder = new;
        }
        self.folders.extend(new);
        self.files.len() != before
    }

    /// Returns `true` if a publishers' directory is shared by users and its group is one of this process's: then all
    /// files in it are shown.
    pub(super) fn is_our_groups(&self, folder: impl AsFd) -> bool {
        fstat(folder).is_ok_and(|stat| stat.st_mode & STICKY != 0 && self.groups.contains(&stat.st_gid))
    }

    /// Describes the users whose published instances are shown, and the limits for them.
    pub(super) fn scope(&self) -> String {
        let whose = if self.asker.everybody {
            "instances of all users are shown".to_owned()
        } else {
            let of_group =
                self.folders.iter().find(|folder| folder.open().is_ok_and(|open| self.is_our_groups(open)));
            let and_all = of_group.map(|folder| format!(", and of all users in {}", folder.path.display()));
            format!("instances of root and user {} are shown{}", self.asker.user, and_all.unwrap_or_default())
        };
        let (instances, bytes) = self.read_of_others();
        format!(
            "{whose}; files of other users: at most {} and {} instances are read, now {} and {instances}",
            size(self.asker.budget.bytes.most()),
            grouped(self.asker.budget.instances.most()),
            size(bytes),
            instances = grouped(instances),
        )
    }

    fn read_of_others(&self) -> (u64, u64) {
        let limited = || self.files.iter().filter(|kept| kept.file.is_limited());
        let instances = limited().flat_map(|kept| kept.shares.values()).map(|part| part.read);
        let bytes = limited().map(|kept| kept.file.read_bytes());
        (instances.fold(0, u64::saturating_add), bytes.fold(0, u64::saturating_add))
    }

    /// Describes published instances that are not shown, of one counterset or of all.
    pub(super) fn not_shown(&mut self, counterset: Option<&Guid>) -> Vec<String> {
        let is_wanted = |guid: &Guid| counterset.is_none_or(|wanted| wanted == guid);
        let (mut instances, mut bytes) = (0_u64, 0_u64);
        for kept in &self.files {
            let wanted = kept.file.definitions().filter(|(_, set)| is_wanted(&set.guid));
            let unread = wanted.filter_map(|(number, _)| kept.shares.get(&number));
            instances = unread.fold(instances, |sum, part| sum.saturating_add(part.unread));
            let concerns = kept.file.definitions().any(|(_, set)| is_wanted(&set.guid));
            bytes =
                bytes.saturating_add(if concerns || counterset.is_none() { kept.file.unread() } else { 0 });
        }
        let mut said = Vec::new();
        if instances > 0 || bytes > 0 {
            let mut what = Vec::new();
            if instances > 0 {
                what.push(many(instances, "instance"));
            }
            if bytes > 0 {
                what.push(size(bytes));
            }
            said.push(format!(
                "{} of other users are left out: at most {} and {} instances of all other users together are read, \
                 divided among them",
                what.join(" and "),
                size(self.asker.budget.bytes.most()),
                grouped(self.asker.budget.instances.most()),
            ));
        }
        // Without a given counterset, these are reported by `left_out`.
        let missed = self.missed().filter(|(_, guid, _)| counterset == Some(guid));
        said.extend(missed.map(|(.., why)| format!("an unknown number of instances is left out: {why}")));
        said.extend(self.unread());
        let hidden = self.count_hidden(&is_wanted);
        if hidden > 0 {
            said.push(format!("{} of other users; --all-users includes them", many(hidden, "instance")));
        }
        // It is unknown whether invisible publishers publish a counterset. That matters only if no other publisher
        // does.
        let is_seen = |guid| self.sets.get(guid).is_none_or(|served| !served.files.is_empty());
        if counterset.is_none_or(|guid| !is_seen(guid)) {
            said.extend(self.denied());
            said.extend(self.private());
        }
        said
    }

    /// Describes the publishers' directories of other users for which there was no time yet.
    fn unread(&self) -> Option<String> {
        let count = self.folders.iter().filter(|folder| folder.is_unread()).count();
        let ies = if count == 1 { "y" } else { "ies" };
        let text = || format!("programs in {count} director{ies} of other users, which are read next time");
        (count > 0).then(text)
    }

    /// Describes the publishers' directories of other users that this user may not read.
    fn private(&mut self) -> Option<String> {
        const NAMED: usize = 3;
        if self.unreadable.as_ref().is_none_or(|(found, _)| found.elapsed() > FINDING) {
            self.unreadable = Some((Instant::now(), self.search_folders.unreadable()));
        }
        let (_, folders) = self.unreadable.as_ref()?;
        private_text(folders, NAMED, self.asker.user)
    }

    /// Counts the instances in readable files of other users that were not requested.
    fn count_hidden(&mut self, is_wanted: &dyn Fn(&Guid) -> bool) -> u64 {
        let Self { folders, refused, definitions, asker, .. } = self;
        let asker = AccessPolicy { everybody: true, ..asker.clone() };
        let mut count = 0_u64;
        for folder in folders {
            let skipped = |(path, why): &(&std::path::PathBuf, &FileError)| {
                matches!(why, FileError::Stranger { .. }) && path.parent() == Some(&*folder.path)
            };
            let mut skipped = refused.iter().filter(skipped).peekable();
            if skipped.peek().is_none() {
                continue;
            }
            let Ok(open) = folder.open() else { continue };
            for name in skipped.filter_map(|(path, _)| path.file_name()?.to_str()) {
                let file =
                    ProgramFile::open(open.as_fd(), &folder.path, name, &asker, true, |_| true, definitions);
                let Ok(mut file) = file else { continue };
                file.refresh(definitions); // it announced its bytes only
                let Ok(bytes) = file.file() else { continue };
                let of_file = file.definitions().filter(|(_, set)| is_wanted(&set.guid));
                let counts = of_file.map(|(number, _)| file.count(number, bytes.as_fd()));
                count = counts.fold(count, u64::saturating_add);
            }
        }
        count
    }

    /// Describes the directories with publishers' files that this user may not open, and who may open them.
    fn denied(&self) -> Vec<String> {
        let mut counts: BTreeMap<(&Path, Option<u32>), usize> = BTreeMap::new();
        for (path, _) in self.refused.iter().filter(|(_, why)| matches!(why, FileError::Denied { .. })) {
            let Some(folder) = path.parent() else { continue };
            let count = counts.entry((folder, self.group_that_sees(folder, path))).or_default();
            *count = count.saturating_add(1);
        }
        let said = |((folder, group), count): ((&Path, Option<u32>), usize)| {
            let or_join = group.map_or_else(String::new, |group| {
                format!(", or join group {}", group_name(group).unwrap_or_else(|| group.to_string()))
            });
            let (programs, them) = (counted(count, "program"), if count == 1 { "it" } else { "them" });
            format!("{programs} of other users in {}; to see {them}, run as root{or_join}", folder.display())
        };
        counts.into_iter().map(said).collect()
    }

    /// Returns the group whose members see a publisher's file in a directory.
    fn group_that_sees(&self, folder: &Path, file: &Path) -> Option<u32> {
        let known = self.folders.iter().find(|known| known.path == *folder)?;
        let open = known.open().ok()?;
        let of_file = statat(&open, file.file_name()?, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let folder = fstat(&open).ok()?;
        group_of((folder.st_mode, folder.st_gid), (of_file.st_mode, of_file.st_gid))
    }
}

/// Returns the group whose members see a publisher's file, by mode and group of its directory and of the file. In a
/// shared directory this is the directory's group. Root's group is never returned, because users should not join it.
fn group_of((folder_mode, folder_group): (u32, u32), (mode, group): (u32, u32)) -> Option<u32> {
    let is_shared = folder_mode & STICKY != 0 && folder_group == group;
    (is_shared && mode & GROUP_READS != 0 && group != 0).then_some(group)
}

/// Describes publishers' directories that this user cannot read: up to `named` of them by name, and the number of the
/// others.
fn private_text(folders: &[PathBuf], named: usize, user: u32) -> Option<String> {
    let names = folders.iter().take(named).map(|path| path.display().to_string());
    let names = names.reduce(|all, one| format!("{all}, {one}"))?;
    let more = match folders.len().saturating_sub(named) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (s, verb) = if folders.len() == 1 { ("y", "is") } else { ("ies", "are") };
    let what_to_do = if user == 0 {
        "root may not read file systems that users mount (FUSE): unmount them, or let the programs"
    } else {
        "to see them, run as root, or let them"
    };
    Some(format!(
        "{} director{s} of other users {verb} private, and programs might publish there: {names}{more}; \
         {what_to_do} publish in /run/perfset",
        folders.len()
    ))
}

impl OpenFile {
    /// Announces the number of instances in a file of another user, so that files read together each get only their
    /// fair share.
    pub(super) fn announce(&mut self) {
        if !self.file.is_limited() {
            return;
        }
        let Ok(file) = self.file.file() else { return };
        let numbers: Vec<usize> = self.file.definitions().map(|(number, _)| number).collect();
        for number in numbers {
            let count = self.file.count(number, file.as_fd());
            if let Some(part) = self.part(number) {
                part.share.want(count);
            }
        }
    }

    fn part(&mut self, number: usize) -> Option<&mut Rationed> {
        let pool = self.file.instance_pool()?;
        let share = || Rationed { share: pool.share(self.file.user), read: 0, unread: 0 };
        Some(self.shares.entry(number).or_insert_with(share))
    }

    /// Returns the number of instances of a counterset that may be read from another user's file.
    pub(super) fn room(&mut self, number: usize, file: BorrowedFd<'_>) -> u64 {
        if !self.file.is_limited() {
            return u64::MAX;
        }
        let count = self.file.count(number, file);
        let Some(part) = self.part(number) else { return u64::MAX };
        part.read = part.share.ask(count);
        part.unread = count.saturating_sub(part.read);
        part.read
    }
}

fn many(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Formats a number for messages with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digits.len().saturating_sub(at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a size in bytes for messages, rounded up to a tenth, so that a nonzero size is never shown as 0.
fn size(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    let tenths = bytes.saturating_mul(10).div_ceil(MIB);
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{} MiB", grouped(whole)),
        (whole, part) => format!("{}.{part} MiB", grouped(whole)),
    }
}

#[cfg(test)]
impl ApplicationProvider {
    /// Creates a reader of publishers' files in one directory that acts as another user.
    pub(crate) fn for_user(folder: &Path, user: u32, everybody: bool) -> Self {
        let mut this = Self::new(&crate::Folders::only(folder), everybody, Box::new(|| None));
        this.asker = AccessPolicy { user, everybody, ..this.asker };
        this.groups.clear();
        this
    }

    /// Makes the reader of publishers' files a member of `groups`, with a separate budget.
    pub(crate) fn limited(mut self, groups: &[u32], budget: &crate::read::budget::Budget) -> Self {
        self.groups = groups.to_vec();
        self.asker.budget = budget.clone();
        self
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use perfset_engine::Provider;

    use super::*;
    use crate::publish::Counterset;
    use crate::tests::{Place, Striped};

    /// Checks that a user who requests a counterset without visible publishers learns where programs of other users
    /// may publish it.
    #[test]
    fn programs_that_cannot_be_seen_are_said() {
        let place = Place::new("unseen");
        let set = Arc::clone(Striped::definition().counterset());
        let mut known = Some(vec![Arc::clone(&set)]);
        let registered = Box::new(move || known.take());
        let mut reader = ApplicationProvider::new(&crate::Folders::only(place.path()), false, registered);
        let _ = reader.catalogue().unwrap();
        let file = place.path().join("denied.pfs");
        reader.unreadable = Some((Instant::now(), vec!["/tmp/perfset-7".into()]));
        reader.refused.insert(file, FileError::Denied { owner: 7 });
        let want = ["1 program of other users in ", "1 directory of other users is private"];
        for guid in [None, Some(&set.guid)] {
            let said = reader.not_shown(guid);
            assert_eq!(said.len(), 2, "{said:?}");
            assert!(said.iter().zip(want).all(|(said, want)| said.starts_with(want)), "{said:?}");
        }
        assert_eq!(reader.not_shown(Some(&Guid::from_u128(1))), [""; 0], "it is not of programs");
        reader.refused.clear();
        let publisher = place.publisher();
        let _instance = publisher.instance::<Striped>("a");
        let _ = reader.catalogue().unwrap();
        assert_eq!(reader.not_shown(Some(&set.guid)), [""; 0], "a program is seen");
    }

    #[test]
    fn the_group_that_sees_a_file() {
        for (folder, file, group) in [
            ((0o3777, 998), (0o640, 998), Some(998)),
            ((0o3777, 998), (0o600, 998), None),
            ((0o2777, 998), (0o640, 998), None),
            // Without the bit that hands on the group, files have another one, of which no member sees more.
            ((0o1777, 998), (0o640, 65_534), None),
            ((0o1777, 0), (0o640, 65_534), None),
            ((0o3777, 0), (0o640, 0), None),
        ] {
            assert_eq!(group_of(folder, file), group, "{folder:?} {file:?}");
        }
    }

    #[test]
    fn private_directories() {
        let text = |count: usize| {
            let folders: Vec<_> = (1..=count).map(|n| PathBuf::from(format!("/tmp/perfset-{n}"))).collect();
            private_text(&folders, 3, 7)
        };
        assert_eq!(text(0), None);
        assert_eq!(
            text(1).unwrap(),
            "1 directory of other users is private, and programs might publish there: /tmp/perfset-1; to see them, \
             run as root, or let them publish in /run/perfset"
        );
        let said = text(5).unwrap();
        assert!(said.starts_with("5 directories of other users are private, and"), "{said}");
        assert!(
            said.contains(": /tmp/perfset-1, /tmp/perfset-2, /tmp/perfset-3 and 2 more; to see"),
            "{said}"
        );
        // What root may not read is on a file system of that user.
        assert_eq!(
            private_text(&["/tmp/perfset-1".into()], 3, 0).unwrap(),
            "1 directory of other users is private, and programs might publish there: /tmp/perfset-1; root may not \
             read file systems that users mount (FUSE): unmount them, or let the programs publish in /run/perfset"
        );
    }

    #[test]
    fn numbers_for_people() {
        for (bytes, text) in [(0, "0 MiB"), (1, "0.1 MiB"), (64 << 20, "64 MiB"), (3 << 19, "1.5 MiB")] {
            assert_eq!(size(bytes), text);
        }
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
