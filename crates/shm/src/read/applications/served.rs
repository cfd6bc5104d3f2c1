//! Countersets that are served: definitions of all files, assigned to their owners and merged.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, hash_map};
use std::sync::Arc;

use perfset_catalogue as catalogue;
use perfset_core::likeness::likeness;
use perfset_core::{Counterset, Guid};
use perfset_engine::Catalogue;

use super::{ApplicationProvider, OpenFile};
use crate::merge::{Fit, LeftOut, Part, merge};
use crate::read::file::ProgramFile;

/// Counterset that is served, with the files that publish it.
#[derive(Debug)]
pub(super) struct ServedSet {
    pub set: Arc<Counterset>,
    pub files: Vec<Publishing>,
}

/// File that publishes a counterset.
#[derive(Debug)]
pub(super) struct Publishing {
    pub file: usize,
    /// Index of the counterset's definition in the file's segment table.
    pub number: usize,
    pub fit: Arc<Fit>,
}

impl ApplicationProvider {
    /// Assigns each counterset and name to its owner. The order is: registrations, root's publishers, this user's,
    /// those of other users; older files first.
    pub(super) fn rebuild(&mut self) {
        let user = self.asker.user;
        self.files.sort_by_key(|kept| {
            let whose = (kept.file.user != 0, kept.file.user != 0 && kept.file.user != user);
            // File times have a coarse resolution: files with equal times are ordered by the time in their headers.
            (whose, kept.file.made, kept.file.header.created, kept.file.header.id)
        });
        let mut names: HashMap<String, (Guid, Cow<'_, str>)> = HashMap::new();
        for set in catalogue::ALL {
            names.insert(likeness(&set.name), (set.guid, "which is built in".into()));
        }
        // Registration and publishers' definitions by GUID.
        type Said<'a> = (Option<&'a Arc<Counterset>>, Vec<(usize, usize)>);
        let mut said: BTreeMap<Guid, Said<'_>> = BTreeMap::new();
        for set in &self.registered_sets {
            names.insert(likeness(&set.name), (set.guid, "which is registered".into()));
            said.insert(set.guid, (Some(set), Vec::new()));
        }
        self.left_out.clear();
        self.renamed.clear();
        // Templates, which have no name, come last: they belong to countersets that are registered or named by
        // others.
        for has_name in [true, false] {
            for (at, OpenFile { file, .. }) in self.files.iter().enumerate() {
                for (number, set) in file.definitions().filter(|(_, set)| set.name.is_empty() != has_name) {
                    match place(set, file, said.contains_key(&set.guid), &mut names) {
                        Ok(()) => said.entry(set.guid).or_default().1.push((at, number)),
                        Err((shown, why)) => {
                            let all = vec![LeftOut::all_of(set, why)];
                            self.left_out.push((file.path.clone(), shown, all));
                        }
                    }
                }
            }
        }
        let mut sets: BTreeMap<Guid, ServedSet> = BTreeMap::new();
        for (guid, (registered, mut definitions)) in said {
            // In the order of the files again: templates were appended after all others.
            definitions.sort_unstable();
            let definition = |(at, number): &(usize, usize)| {
                let file = &self.files.get(*at)?.file;
                let is_trusted = file.user == 0 || file.user == user;
                Some((file, Part { set: file.definition(*number)?, by: file.program(), is_trusted }))
            };
            let (files, parts): (Vec<_>, Vec<_>) = definitions.iter().filter_map(definition).unzip();
            let Some(merged) = merge(registered, &parts) else { continue };
            let mut publishing = Vec::new();
            for (((file, number), fit), (program, part)) in
                definitions.iter().zip(merged.fits).zip(files.iter().zip(&parts))
            {
                let mut leave = |all: Vec<LeftOut>| self.left_out.push((program.path.clone(), guid, all));
                match fit {
                    Ok(fit) => {
                        let left_out = fit.left_out(part.set);
                        if !left_out.is_empty() {
                            leave(left_out);
                        }
                        let renamed = fit.renamed.iter().map(|text| {
                            let text = format!("counterset \"{}\" {guid}: {text}", part.set.name);
                            (program.path.clone(), guid, text)
                        });
                        self.renamed.extend(renamed);
                        publishing.push(Publishing { file: *file, number: *number, fit });
                    }
                    Err(why) => leave(vec![LeftOut::all_of(part.set, why)]),
                }
            }
            // Keep an unchanged counterset in the same `Arc`, so that callers can compare by pointer.
            let before = self.sets.remove(&guid).map(|served| served.set).filter(|set| **set == *merged.set);
            let set = before.unwrap_or(merged.set);
            sets.insert(guid, ServedSet { set, files: publishing });
        }
        let countersets: Vec<_> = sets.values().map(|served| Arc::clone(&served.set)).collect();
        self.sets = sets;
        if !same(&countersets, &self.catalogue.countersets) {
            self.catalogue = Arc::new(Catalogue::new("applications", countersets));
        }
    }
}

/// Checks that a publisher's file may define a counterset under its GUID and name. The error contains the GUID of the
/// counterset shown instead, and the reason.
fn place(
    set: &Counterset,
    file: &ProgramFile,
    is_known: bool,
    names: &mut HashMap<String, (Guid, Cow<'_, str>)>,
) -> Result<(), (Guid, String)> {
    if catalogue::by_guid(set.guid).is_some() {
        return Err((set.guid, "its GUID is one of the catalogue's".to_owned()));
    }
    // The counterset keeps the name of its first definition, so this definition takes no name.
    if is_known {
        return Ok(());
    }
    let name = likeness(&set.name);
    if name.is_empty() {
        let what = if set.name.is_empty() { "no name" } else { "a name that shows nothing" };
        return Err((set.guid, format!("it has {what} and is not registered")));
    }
    match names.entry(name) {
        hash_map::Entry::Occupied(other) => {
            let (other, whose) = other.get();
            Err((*other, format!("its name is that of {other}, {whose}")))
        }
        hash_map::Entry::Vacant(free) => {
            free.insert((set.guid, format!("which {} published before", file.program()).into()));
            Ok(())
        }
    }
}

/// Returns `true` if two lists contain equal countersets in the same order.
fn same(one: &[Arc<Counterset>], other: &[Arc<Counterset>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| Arc::ptr_eq(a, b) || a == b)
}
