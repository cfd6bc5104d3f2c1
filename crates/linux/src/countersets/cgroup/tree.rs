//! Directories in the tree of a hierarchy of control groups.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::provider::{Collection, DirReader};

/// Control groups of a hierarchy, parents before their children, and siblings in the order of their names.
#[derive(Debug)]
pub(super) struct GroupTree {
    root: PathBuf,
    nodes: Vec<Node>,
    folder: DirReader,
}

#[derive(Debug)]
struct Node {
    /// Path of the control group's directory, beginning with the path of the hierarchy's root.
    path: PathBuf,
    stamp: DirStamp,
}

/// Identity of a control group's directory, and evidence of changes in its subdirectories.
///
/// The kernel counts a link for each subdirectory, and does not always update the time of change; other file systems
/// do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DirStamp {
    inode: u64,
    links: u64,
    changed: (i64, i64),
}

impl DirStamp {
    /// Reads identity and change stamp of a directory; returns `None` if the path is no directory, or no longer one.
    fn read(path: &Path) -> Option<Self> {
        let folder = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
        let changed = (folder.mtime(), folder.mtime_nsec());
        Some(Self { inode: folder.ino(), links: folder.nlink(), changed })
    }
}

impl GroupTree {
    /// Maximum number of directories in a tree of control groups; [`DEPTH`](Self::DEPTH) limits their depth. Linux
    /// sets no limit by default.
    const LIMIT: usize = 65_536;
    const DEPTH: usize = 64;

    pub(super) fn new(root: PathBuf) -> Self {
        Self { folder: DirReader::new(&root), root, nodes: Vec::new() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path below the root, and the inode, of each control group in the tree.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&Path, u64)> {
        let below = |path| Path::strip_prefix(path, &self.root).unwrap_or(path);
        self.nodes.iter().map(move |node| (below(&node.path), node.stamp.inode))
    }

    /// Finds control groups that were created or removed, and returns `true` if there are any. Lists directories only
    /// if one has changed.
    pub(super) fn refresh(&mut self, pass: &mut Collection) -> bool {
        let is_same = |node: &Node| DirStamp::read(&node.path) == Some(node.stamp);
        if !self.nodes.is_empty() && self.nodes.iter().all(is_same) {
            return false;
        }
        let before = std::mem::take(&mut self.nodes);
        let ids = |nodes: &[Node]| nodes.iter().map(|node| (node.path.clone(), node.stamp.inode)).collect();
        let old: Vec<_> = ids(&before);
        self.walk(before, pass);
        let new: Vec<_> = ids(&self.nodes);
        // A stamp also changes if a group came and went in between. The rows are the same then.
        old != new
    }

    /// Lists the directories of control groups that are new or have changed since `before`, and fills the list of
    /// nodes.
    fn walk(&mut self, before: Vec<Node>, pass: &mut Collection) {
        let mut known: BTreeMap<PathBuf, (DirStamp, Vec<PathBuf>)> = BTreeMap::new();
        // A list that was cut at the limit lacks children, so it must not replace a listing.
        if before.len() < Self::LIMIT {
            for Node { path, stamp, .. } in before {
                if let Some((_, children)) = path.parent().and_then(|parent| known.get_mut(parent)) {
                    children.push(path.clone());
                }
                known.insert(path, (stamp, Vec::new()));
            }
        }
        // A removed directory and a new one leave the number of links as it was.
        let is_there = |child: &PathBuf| DirStamp::read(child).is_some();
        let mut next = vec![(self.root.clone(), 0_usize)];
        while let Some((path, depth)) = next.pop() {
            // It may have been removed since its parent was listed.
            let Some(stamp) = DirStamp::read(&path) else { continue };
            let children = match known.remove(&path) {
                _ if depth >= Self::DEPTH => Vec::new(),
                Some((was, children)) if was == stamp && children.iter().all(is_there) => children,
                _ => self.list(&path, pass),
            };
            let deeper = depth.saturating_add(1);
            // The last element is visited first, so reversed siblings come in the order of their names.
            next.extend(children.into_iter().rev().map(|child| (child, deeper)));
            self.nodes.push(Node { path, stamp });
            if self.nodes.len() >= Self::LIMIT {
                return;
            }
        }
    }

    /// Returns the subdirectories of a control group's directory; none if they may not be listed.
    fn list(&mut self, path: &Path, pass: &mut Collection) -> Vec<PathBuf> {
        let mut children = Vec::new();
        let mut len = 0_usize;
        let _ = self.folder.folders_of(path, |name| {
            len = len.saturating_add(name.len());
            children.push(path.join(OsStr::from_bytes(name)));
        });
        pass.count_bytes_read(len);
        children.sort_unstable();
        children
    }
}
