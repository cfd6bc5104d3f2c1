//! Provider of the counterset CGroup.

use std::num::NonZeroU64;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use perfset_catalogue::cgroup as id;
use perfset_core::{Birth, CounterId, Counterset, InstanceId, NoValue};

use crate::provider::{Collection, InstanceKey, InstanceSource, MarkedRaw, birth_of_total, instance_name};
use crate::roots::Roots;

mod files;
mod mounts;
#[cfg(test)]
mod tests;
mod tree;

use files::CgroupFiles;
use mounts::{Hierarchy, Mounts};

/// Instances of the counterset CGroup, from the files of control groups of version 2 and version 1.
#[derive(Debug)]
pub(crate) struct CGroup {
    mounts: Mounts,
    groups: Vec<ControlGroup>,
    /// Keys of the rows of the control groups, in the order of `groups`.
    keys: Vec<InstanceKey>,
    files: CgroupFiles,
}

/// A control group: a path in one or several hierarchies.
#[derive(Debug)]
struct ControlGroup {
    /// Path of the control group below the roots of the hierarchies.
    path: PathBuf,
    /// Inode of the control group's directory in each hierarchy; `None` where the hierarchy does not have the group.
    inodes: [Option<u64>; Hierarchy::COUNT],
}

impl CGroup {
    /// Creates the provider of the counterset CGroup, which reads below `roots`. Version 1 counts some times in
    /// ticks; `clock_ticks` is their number per second.
    pub(crate) fn new(roots: &Roots, clock_ticks: u64) -> Self {
        let mounts = Mounts::new(roots.sys.join("fs/cgroup"));
        Self { mounts, groups: Vec::new(), keys: Vec::new(), files: CgroupFiles::new(clock_ticks) }
    }
}

impl InstanceSource for CGroup {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        if self.mounts.refresh(pass) {
            self.groups = groups(&self.mounts);
            self.keys = self.groups.iter().map(ControlGroup::key).collect();
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let group = self.groups.get(at).ok_or(NoValue::NotGiven)?;
        self.files.turn_to(at, pass);
        self.files.value(group, &self.mounts, counter, pass).map(MarkedRaw::from)
    }
}

/// Returns the control groups of all hierarchies, parents before their children.
fn groups(mounts: &Mounts) -> Vec<ControlGroup> {
    let mut found: Vec<(&Path, usize, u64)> = mounts.groups().collect();
    // Sorting puts the same path of several hierarchies side by side, and parents before their children.
    found.sort_unstable();
    let same_path = |a: &(&Path, usize, u64), b: &(&Path, usize, u64)| a.0 == b.0;
    let group = |found: &[(&Path, usize, u64)]| {
        let mut inodes = [None; Hierarchy::COUNT];
        for (_, hierarchy, inode) in found {
            if let Some(place) = inodes.get_mut(*hierarchy) {
                *place = Some(*inode);
            }
        }
        Some(ControlGroup { path: found.first()?.0.to_owned(), inodes })
    };
    found.chunk_by(same_path).filter_map(group).collect()
}

impl ControlGroup {
    fn key(&self) -> InstanceKey {
        let name = self.path.as_os_str().as_bytes();
        let name = if name.is_empty() { "/".to_owned() } else { instance_name(name) };
        InstanceKey::new(name, self.id()).birth(self.birth())
    }

    fn inodes(&self) -> impl Iterator<Item = (u32, u64)> {
        (0..).zip(self.inodes).filter_map(|(hierarchy, inode)| Some((hierarchy, inode?)))
    }

    /// Returns the instance id of the control group: the lower half of its inode. Hierarchies of version 1 number their
    /// directories independently; the upper four bits distinguish them.
    fn id(&self) -> InstanceId {
        const VERSION_1: u32 = 28;
        let (hierarchy, inode) = self.inodes().next().unwrap_or_default();
        let low = |bits: u32| u32::try_from(inode & (u64::MAX >> 64_u32.saturating_sub(bits))).unwrap_or(0);
        InstanceId(match hierarchy {
            0 => low(u32::BITS),
            _ => low(VERSION_1) | hierarchy << VERSION_1,
        })
    }

    /// Returns the birth of the control group: its inode, which the kernel gives to no other group. Several inodes
    /// are combined into one number.
    fn birth(&self) -> Birth {
        let mut all = self.inodes();
        match (all.next(), all.next()) {
            (Some((_, inode)), None) => NonZeroU64::new(inode),
            _ => birth_of_total(self.inodes().map(|(hierarchy, inode)| (hierarchy, NonZeroU64::new(inode)))),
        }
    }
}
