//! Problems with files of publishers, and their order in messages.

use std::collections::{BTreeMap, VecDeque};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use perfset_core::{Guid, InstanceType, Text};
use perfset_engine::{Rows, SourceError};

use super::ApplicationProvider;
use super::served::{Publishing, ServedSet};
use crate::merge::LeftOut;
use crate::read::table::FileError;

/// Maximum number of problems with files of root and this user that are reported individually.
const MOST_OF_OWN: usize = 100;
/// Maximum number of problems with files of all other users together that are reported individually.
const MOST_OF_OTHERS: usize = 20;

/// Maximum number of lines about the damage of one publisher's file; if there are more problems, the last line
/// contains their count.
const MOST_OF_FILE: usize = 10;

/// Message about a file, with the user who owns the file; `None` for root and this user.
type Told<T> = (Option<u32>, T);

impl ApplicationProvider {
    /// Returns messages about everything that is left out of files, and about files that are not used. Beyond a
    /// limit, only the number of further problems is given.
    pub(super) fn told_problems(&mut self) -> Vec<Text> {
        let left_out = self.told_left_out().into_iter().map(|(user, (_, text))| (user, text));
        let mut all: Vec<Told<Text>> = left_out.collect();
        // These two are no faults, and `not_shown` reports them as numbers.
        let is_told = |why: &FileError| !matches!(why, FileError::Stranger { .. } | FileError::Denied { .. });
        let refused = self.refused.iter().filter(|(_, why)| is_told(why));
        let not_folders = self.not_folders.iter().map(|(path, why)| (path, why));
        let unused = not_folders.chain(refused);
        // If another user occupies a directory name, the user who should own it is informed first.
        let own = self.search_folders.temporary_of_user();
        let owner = |path: &Path| if path == own { None } else { self.stranger(owner_of(path)) };
        all.extend(unused.map(|(path, why)| (owner(path), format!("{}: {why}", path.display()).into())));
        for kept in &self.files {
            let user = self.stranger(kept.file.user);
            let text = |why| (user, format!("{}: {why}", kept.file.path.display()).into());
            all.extend(damage_of_file(kept.file.damage()).into_iter().map(text));
        }
        cut(in_turn(all))
    }

    /// Returns messages about everything that is left out of files or shown differently, by counterset.
    pub(super) fn told_left_out(&mut self) -> Vec<Told<(Guid, Text)>> {
        let behind = self.behind_others();
        let parts = self.left_out.iter().chain(&behind);
        let parts = parts.map(|(path, guid, parts)| (path, guid, LeftOut::text(parts)));
        let renamed = self.renamed.iter().map(|(path, guid, text)| (path, guid, text.clone()));
        let missed = self
            .missed()
            .map(|(path, guid, why)| (path, guid, format!("its instances of {guid} are not known: {why}")));
        let missed: Vec<_> = missed.collect();
        let users: BTreeMap<&Path, u32> =
            self.files.iter().map(|kept| (&*kept.file.path, kept.file.user)).collect();
        let told = |(path, guid, text): (&Path, &Guid, String)| {
            let user = users.get(path).and_then(|user| self.stranger(*user));
            let of_user = user.map(|user| format!(" of user {user}")).unwrap_or_default();
            (user, (*guid, Text::from(format!("{}{of_user}: {text}", path.display()))))
        };
        let parts = parts.chain(renamed).map(|(path, guid, text)| (&**path, guid, text));
        in_turn(parts.chain(missed).map(told).collect())
    }

    /// Returns a user ID, unless it is that of root or of the current user.
    fn stranger(&self, user: u32) -> Option<u32> {
        (user != 0 && user != self.asker.user).then_some(user)
    }

    /// Returns the countersets and counters that readers leave out of a publisher's file.
    pub(crate) fn left_out_of(&mut self, path: &Path) -> Vec<LeftOut> {
        let behind = self.behind_others();
        let parts = self.left_out.iter().chain(&behind);
        parts.filter(|(of, ..)| of == path).flat_map(|(.., parts)| parts.iter().cloned()).collect()
    }

    /// Returns an error if a counterset has no rows and one of its files could not be read.
    pub(super) fn unless_missed(&self, guid: &Guid, rows: &Rows) -> Result<(), SourceError> {
        match self.missed().find(|(_, of, _)| *of == guid).filter(|_| rows.is_empty()) {
            Some((.., why)) => Err(SourceError::Failed(Arc::clone(why))),
            None => Ok(()),
        }
    }

    /// Returns the publishers' files whose instances of a counterset are unknown because the last read failed, with
    /// the reason.
    pub(super) fn missed(&self) -> impl Iterator<Item = (&Path, &Guid, &Arc<str>)> {
        self.sets.iter().flat_map(move |(guid, served)| {
            served.files.iter().filter_map(move |publishing| {
                let kept = self.files.get(publishing.file).filter(|kept| !kept.is_gone)?;
                Some((&*kept.file.path, guid, kept.missed.get(&publishing.number)?))
            })
        })
    }

    /// Returns the instances of single-instance countersets that are not shown, because an older publisher has the
    /// instance.
    fn behind_others(&mut self) -> Vec<(PathBuf, Guid, Vec<LeftOut>)> {
        let mut behind = Vec::new();
        let Self { files, sets, asker, .. } = self;
        for (guid, ServedSet { set, files: publishing }) in sets.iter() {
            if set.instance_type != InstanceType::Single || publishing.len() < 2 {
                continue;
            }
            let mut shown: Option<String> = None;
            for Publishing { file, number, .. } in publishing {
                let Some(kept) = files.get_mut(*file) else { continue };
                if !kept.file.is_alive(asker) || !kept.has_instances(*number) {
                    continue;
                }
                match &shown {
                    None => shown = Some(kept.file.program()),
                    Some(other) => {
                        let why = format!(
                            "it has one instance, and that of {other}, which began earlier, is shown"
                        );
                        behind.push((kept.file.path.clone(), *guid, vec![LeftOut::all_of(set, why)]));
                    }
                }
            }
        }
        behind
    }
}

/// Formats the damage of one publisher's file. A broken table has a problem for each of its entries; these must not
/// displace problems of other files.
fn damage_of_file(all: impl Iterator<Item = impl ToString> + Clone) -> Vec<String> {
    let count = all.clone().count();
    if count <= MOST_OF_FILE {
        return all.map(|why| why.to_string()).collect();
    }
    let shown = MOST_OF_FILE - 1;
    let rest = format!("and {} more problems with this file", count.saturating_sub(shown));
    all.take(shown).map(|why| why.to_string()).chain([rest]).collect()
}

/// Returns the user ID of a file's owner, or `u32::MAX` if the file no longer exists.
fn owner_of(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).map_or(u32::MAX, |found| found.uid())
}

/// Puts messages about files of root and the current user first. Other users follow alternately, users with the
/// fewest messages first, so that no user can displace messages about others.
fn in_turn<T>(all: Vec<Told<T>>) -> Vec<Told<T>> {
    let mut first = Vec::new();
    let mut others: BTreeMap<u32, VecDeque<T>> = BTreeMap::new();
    for (user, what) in all {
        match user {
            None => first.push((None, what)),
            Some(user) => others.entry(user).or_default().push_back(what),
        }
    }
    let mut others: Vec<_> = others.into_iter().collect();
    others.sort_by_key(|(_, of_user)| of_user.len());
    while !others.is_empty() {
        for (user, of_user) in &mut others {
            first.extend(of_user.pop_front().map(|what| (Some(*user), what)));
        }
        others.retain(|(_, of_user)| !of_user.is_empty());
    }
    first
}

/// Truncates the list of messages to the limits, and adds the number of those omitted.
fn cut(all: Vec<Told<Text>>) -> Vec<Text> {
    let (mut own, mut of_others, mut told) = (0_usize, 0_usize, Vec::new());
    for (user, text) in all {
        let (count, most) =
            if user.is_none() { (&mut own, MOST_OF_OWN) } else { (&mut of_others, MOST_OF_OTHERS) };
        if *count < most {
            told.push(text);
        }
        *count = count.saturating_add(1);
    }
    for (count, most, whose) in
        [(own, MOST_OF_OWN, "of root and this user"), (of_others, MOST_OF_OTHERS, "of other users")]
    {
        match count.saturating_sub(most) {
            0 => {}
            1 => told.push(format!("and 1 more problem with files {whose}").into()),
            more => told.push(format!("and {more} more problems with files {whose}").into()),
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use perfset_core::InstanceType;
    use perfset_engine::Provider;

    use super::*;
    use crate::publish::{CounterInfo, Definition, Gauge};
    use crate::tests::Place;

    fn told(users: &[(Option<u32>, usize)]) -> Vec<Told<Text>> {
        let of_user = |(user, count): &(Option<u32>, usize)| {
            let name = user.map_or("own".to_owned(), |user| user.to_string());
            let user = *user;
            (0..*count).map(move |n| (user, Text::from(format!("{name}.{n}"))))
        };
        users.iter().flat_map(of_user).collect()
    }

    #[test]
    fn users_with_fewest_problems_come_first() {
        let order = |users: &[_]| -> Vec<String> {
            in_turn(told(users)).into_iter().map(|(_, text)| text.into_owned()).collect()
        };
        let users = [(Some(7), 3), (None, 2), (Some(9), 1), (Some(8), 2)];
        assert_eq!(order(&users), ["own.0", "own.1", "9.0", "8.0", "7.0", "8.1", "7.1", "7.2"]);
        assert_eq!(order(&[]), [""; 0]);
    }

    #[test]
    fn problems_over_the_limit_are_counted() {
        let lines = |users: &[_]| -> Vec<String> {
            cut(in_turn(told(users))).into_iter().map(Text::into_owned).collect()
        };
        let few = lines(&[(Some(7), MOST_OF_OTHERS), (None, MOST_OF_OWN)]);
        assert_eq!(few.len(), MOST_OF_OTHERS + MOST_OF_OWN);
        let many = lines(&[(Some(7), 300), (None, MOST_OF_OWN + 1), (Some(8), 1)]);
        assert_eq!(many.len(), MOST_OF_OTHERS + MOST_OF_OWN + 2);
        assert!(many.contains(&"8.0".to_owned()), "another user's many lines do not push it out");
        let end = [
            "and 1 more problem with files of root and this user",
            "and 281 more problems with files of other users",
        ];
        assert_eq!(many[many.len() - 2..], end);
    }

    #[test]
    fn a_broken_table_takes_ten_lines() {
        let lines = |count: usize| damage_of_file((0..count).map(|entry| format!("entry {entry}")));
        assert_eq!(lines(0), [""; 0]);
        assert_eq!(lines(MOST_OF_FILE).last().unwrap(), "entry 9");
        let many = lines(1000);
        assert_eq!(many.len(), MOST_OF_FILE);
        assert_eq!(many[MOST_OF_FILE - 2..], ["entry 8", "and 991 more problems with this file"]);
    }

    /// Checks that a user with many left-out countersets does not displace the message about another user's file.
    #[test]
    fn junk_hides_no_problem() {
        if rustix::process::geteuid().as_raw() != 0 {
            return; // only root can make files of two users
        }
        let place = Place::new("junk");
        let [junk, victim] = [place.publisher(), place.publisher()];
        let memory = |number: u128| {
            let guid = Guid::from_u128(0x6a75_6e6b_0000_4000_8000_0000_0000_0000 + number);
            let set = Definition::new(guid, "Memory", "", (guid, "Junk"), InstanceType::Multiple, 0);
            Arc::clone(set.field::<Gauge>(CounterInfo::new(1)).counterset())
        };
        (0..12).for_each(|number| junk.define(&memory(number)));
        victim.define(&memory(99));
        let path = |publisher: &crate::publish::Publisher| publisher.path().unwrap();
        for (publisher, user) in [(&junk, 65_534), (&victim, 65_533)] {
            std::os::unix::fs::chown(path(publisher), Some(user), None).unwrap();
        }
        let mut reader = ApplicationProvider::for_user(place.path(), 0, true);
        let _ = reader.catalogue().unwrap();
        let problems = reader.problems();
        let victims = path(&victim).display().to_string();
        let of_victim = problems.iter().position(|problem| problem.starts_with(&victims));
        assert!(of_victim.is_some_and(|at| at < 10), "{problems:?}");
    }
}
