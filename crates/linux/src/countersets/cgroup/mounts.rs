//! Hierarchies of control groups at their usual mount points.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::tree::GroupTree;
use crate::provider::{Collection, KeptFile, LOOK_AGAIN_NS, ReadFiles, SeqFileKind};
use crate::sources::cgroup::Controllers;

/// Hierarchy of control groups: the one of version 2, or that of a controller of version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hierarchy {
    Unified,
    Cpu,
    CpuAcct,
    Memory,
    BlkIo,
    Pids,
}

impl Hierarchy {
    pub(super) const COUNT: usize = 6;

    /// Returns the index of the control-group hierarchy in arrays with one element for each hierarchy.
    fn index(self) -> usize {
        match self {
            Self::Unified => 0,
            Self::Cpu => 1,
            Self::CpuAcct => 2,
            Self::Memory => 3,
            Self::BlkIo => 4,
            Self::Pids => 5,
        }
    }
}

/// Possible names of the directory of each version 1 control-group hierarchy, indexed by [`Hierarchy`]. Controllers
/// that share a hierarchy have a directory with both names, and links with each name, except on a system that makes
/// none.
const FOLDERS: [&[&str]; Hierarchy::COUNT] = [
    &[],
    &["cpu", "cpu,cpuacct", "cpuacct,cpu"],
    &["cpuacct", "cpu,cpuacct", "cpuacct,cpu"],
    &["memory"],
    &["blkio"],
    &["pids"],
];

/// Control-group hierarchies mounted below a directory: one of version 2, several of version 1, or both.
#[derive(Debug)]
pub(super) struct Mounts {
    folder: PathBuf,
    /// Mount points of the control-group hierarchies, by [`Hierarchy::index`].
    found: [Option<PathBuf>; Hierarchy::COUNT],
    /// Time of the last search for mount points of control-group hierarchies, on the monotonic clock.
    found_at_ns: Option<u64>,
    /// Trees of control groups: one for each root directory, which several hierarchies may share.
    trees: Vec<GroupTree>,
    /// Index in `trees` of each hierarchy's tree of control groups.
    tree_of: [Option<usize>; Hierarchy::COUNT],
    /// Controllers that are enabled in version 2 of control groups.
    pub(super) controllers: Controllers,
}

impl Mounts {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            found: Default::default(),
            found_at_ns: None,
            trees: Vec::new(),
            tree_of: Default::default(),
            controllers: Controllers::default(),
        }
    }

    /// Finds the current control groups. Returns `true` if they differ from the groups found before.
    pub(super) fn refresh(&mut self, pass: &mut Collection) -> bool {
        let is_new = self.find(pass);
        let mut changed = is_new;
        for tree in &mut self.trees {
            changed |= tree.refresh(pass);
        }
        changed
    }

    /// Returns the path, the hierarchy's index and the inode of every control group. If hierarchies share a tree, the
    /// index is that of the first.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&Path, usize, u64)> {
        let hierarchy = |tree: usize| self.tree_of.iter().position(|of| *of == Some(tree)).unwrap_or(0);
        let trees = self.trees.iter().enumerate();
        trees.flat_map(move |(at, tree)| tree.groups().map(move |(path, inode)| (path, hierarchy(at), inode)))
    }

    /// Returns the root directory of a hierarchy, if that hierarchy has the control group with these inodes.
    pub(super) fn root(
        &self,
        hierarchy: Hierarchy,
        inodes: &[Option<u64>; Hierarchy::COUNT],
    ) -> Option<&Path> {
        let tree = self.tree_of.get(hierarchy.index()).copied().flatten()?;
        // The inodes of a shared tree are stored only for its first hierarchy.
        let shared = self.tree_of.iter().position(|of| *of == Some(tree))?;
        inodes.get(shared).copied().flatten()?;
        self.trees.get(tree).map(GroupTree::root)
    }

    /// Finds the mount points of the control-group hierarchies. Returns `true` if they have changed.
    fn find(&mut self, pass: &mut Collection) -> bool {
        let is_young = |at: u64| pass.elapsed_ns().saturating_sub(at) < LOOK_AGAIN_NS;
        if !self.trees.is_empty() && self.found_at_ns.is_some_and(is_young) {
            return false;
        }
        self.found_at_ns = Some(pass.elapsed_ns());
        // Version 1 has no file of this name.
        let is_unified = |folder: &Path| folder.join("cgroup.controllers").exists();
        let hybrid = self.folder.join("unified");
        let found = if is_unified(&self.folder) {
            let mut found: [Option<PathBuf>; Hierarchy::COUNT] = Default::default();
            found[0] = Some(self.folder.clone());
            found
        } else {
            // Only a mounted hierarchy has this file: the directory alone may be an unused mount point.
            let of = |name: &&str| Some(self.folder.join(name)).filter(|it| it.join("cgroup.procs").exists());
            let mut found = FOLDERS.map(|names| names.iter().find_map(of));
            found[0] = Some(hybrid).filter(|it| is_unified(it));
            found
        };
        let [unified, ..] = &found;
        self.controllers = match unified {
            Some(root) => {
                let mut file =
                    KeptFile::new(root.join("cgroup.controllers"), SeqFileKind::Single).keep(false);
                // Without the list no controller counts as one of version 2, and files of version 1 are used.
                pass.read(&mut file, "", Controllers::parse).unwrap_or_default()
            }
            None => Controllers::default(),
        };
        if found == self.found {
            return false;
        }
        self.found = found;
        self.plant();
        true
    }

    /// Creates one tree of control groups for each directory; hierarchies with the same directory share a tree.
    fn plant(&mut self) {
        let Self { found, trees, tree_of, .. } = self;
        trees.clear();
        let mut known = Vec::new();
        for (path, place) in found.iter().zip(tree_of) {
            *place = path.as_ref().and_then(|path| {
                let folder = fs::metadata(path).ok()?;
                // Compared by identity, not by path: `cpu` and `cpuacct` are often links to the same
                // directory, which is then visited once.
                let folder = (folder.dev(), folder.ino());
                Some(known.iter().position(|it| *it == folder).unwrap_or_else(|| {
                    known.push(folder);
                    trees.push(GroupTree::new(path.clone()));
                    trees.len().saturating_sub(1)
                }))
            });
        }
    }
}
