//! Selects the mounted file systems that have a row in LogicalDisk, and their mount points.

use crate::sources::mountinfo::{Mount, MountInfo};
use crate::sources::text::TextError;

/// Mounted file systems on block devices, each with a mount point at which it can be reached.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    /// Text of the kernel's mount list from which `volumes` was parsed.
    text: Vec<u8>,
    all: MountInfo,
    /// Volumes (file systems on block devices) in the order in which they were mounted.
    pub(super) volumes: Vec<Volume>,
    /// Number of changes in the kernel's list of mounts so far.
    pub(super) changes: u64,
}

/// Mounted file system on a block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Volume {
    /// Major number of the device that the volume's file system is on.
    pub(super) major: u32,
    pub(super) minor: u32,
    /// Source of the mount, such as `/dev/sda1`, if its device number is not that of a block device.
    pub(super) source: Option<Vec<u8>>,
    /// Mount point at which the volume can be reached.
    pub(super) mount_point: Vec<u8>,
    /// `true` if the path to the mount point leads through a file system that may never respond.
    pub(super) may_block: bool,
}

impl Mounts {
    /// Maximum number of nested mounts that are followed on the path to a mount point.
    const DEPTH: usize = 100;

    /// Parses the kernel's mount list in `text`, if it differs from the previous text.
    ///
    /// # Errors
    /// If the text is invalid.
    pub(super) fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        if self.changes > 0 && self.text == text {
            return Ok(());
        }
        // An invalid text must not become the known one: the next reading has to report its error again.
        self.text.clear();
        self.changes = self.changes.saturating_add(1);
        self.volumes.clear();
        self.all.parse(text)?;
        self.text.extend_from_slice(text);
        self.find();
        Ok(())
    }

    fn find(&mut self) {
        let Self { all, volumes, .. } = self;
        let mounts = all.mounts.as_slice();
        let mut candidates: Vec<_> =
            mounts.iter().enumerate().filter(|(_, m)| m.is_on_block_device()).collect();
        // The shortest mount point of each device comes first; if that is hidden, the next one represents the
        // device.
        candidates.sort_by_key(|(at, m)| (m.major, m.minor, m.mount_point.len(), *at));
        let mut chosen: Vec<(usize, Volume)> = Vec::new();
        for (at, mount) in candidates {
            let Mount { major, minor, .. } = *mount;
            let has_row = chosen.last().is_some_and(|(_, last)| (last.major, last.minor) == (major, minor));
            if has_row {
                continue;
            }
            if let Some(way) = way_to(mount, mounts) {
                let source = (major == 0).then(|| mount.source.clone());
                let mount_point = mount.mount_point.clone();
                chosen.push((at, Volume { major, minor, source, mount_point, may_block: way.may_block }));
            }
        }
        chosen.sort_by_key(|(at, _)| *at);
        volumes.extend(chosen.into_iter().map(|(_, volume)| volume));
    }
}

/// Path through the mounted file systems that leads to a mount point.
pub(super) struct Way {
    /// `true` if the path leads through a file system that may never respond.
    pub(super) may_block: bool,
}

/// Returns the path that leads to a mount; `None` if the path leads into another mount that hides this one.
pub(super) fn way_to(mount: &Mount, mounts: &[Mount]) -> Option<Way> {
    // A file system that was mounted on top of this one, at the same point, is its child.
    let is_covered = mounts.iter().any(|other| {
        other.parent == mount.id && other.id != mount.id && other.mount_point == mount.mount_point
    });
    if is_covered {
        return None;
    }
    let mut way = Way { may_block: false };
    let mut inner = mount;
    // The list is read while mounts change, so parents may even form a cycle.
    for _ in 0..Mounts::DEPTH {
        // A mount with the same parent, at a directory above, was made later. Had it been there before, it
        // would be the parent.
        let hides = |other: &Mount| {
            other.parent == inner.parent && other.id != inner.id && inner.is_at_or_below(&other.mount_point)
        };
        let outer = mounts.iter().find(|outer| outer.id == inner.parent && outer.id != inner.id);
        let Some(outer) = outer else { return Some(way) }; // the root
        if mounts.iter().any(hides) {
            return None;
        }
        // If the root does not respond, nothing does.
        way.may_block |= outer.mount_point != b"/" && !outer.answers_at_once();
        inner = outer;
    }
    None
}

impl Mount {
    fn is_fuse(&self) -> bool {
        // These are `fuse`, `fuse.NAME` and `fuseblk`. Type `fusectl` is the kernel's own.
        self.fs_type.starts_with(b"fuse") && matches!(self.fs_type.get(4), None | Some(b'.' | b'b'))
    }

    /// Returns `true` if the file system is on a block device of this machine, and not implemented by a program.
    /// btrfs may be on several devices and has a number of its own.
    fn is_on_block_device(&self) -> bool {
        match self.major {
            0 => self.fs_type == b"btrfs",
            _ => !self.is_fuse(),
        }
    }

    /// Returns `true` if a path through the mounted file system needs no response from a network or a program.
    pub(super) fn answers_at_once(&self) -> bool {
        // A list of the harmless types: a file system that is not known here counts as one that may block.
        const OF_THE_KERNEL: [&[u8]; 13] = [
            b"autofs",
            b"bcachefs",
            b"cgroup",
            b"cgroup2",
            b"devtmpfs",
            b"efivarfs",
            b"overlay",
            b"proc",
            b"ramfs",
            b"rootfs",
            b"sysfs",
            b"tmpfs",
            b"zfs",
        ];
        self.is_on_block_device() || OF_THE_KERNEL.contains(&self.fs_type.as_slice())
    }

    pub(super) fn is_at_or_below(&self, folder: &[u8]) -> bool {
        let rest = self.mount_point.strip_prefix(folder);
        rest.is_some_and(|rest| matches!(rest, [] | [b'/', ..]) || folder == b"/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mount points of the volumes in `mounts` (id, parent id, device, mount point, type), each with
    /// `true` if it may block.
    fn volumes(mounts: &[(u64, u64, &str, &str, &str)]) -> Vec<(String, bool)> {
        let line = |(id, parent, device, point, fs_type): &(u64, u64, &str, &str, &str)| {
            format!("{id} {parent} {device} / {point} rw - {fs_type} /dev/x rw\n")
        };
        let mut found = Mounts::default();
        found.parse(mounts.iter().map(line).collect::<String>().as_bytes()).unwrap();
        let of = |volume: &Volume| (String::from_utf8(volume.mount_point.clone()).unwrap(), volume.may_block);
        found.volumes.iter().map(of).collect()
    }

    const ROOT: (u64, u64, &str, &str, &str) = (1, 0, "8:1", "/", "ext4");

    fn beside_root(mounts: &[(u64, u64, &str, &str, &str)]) -> Vec<(String, bool)> {
        let mut found = volumes(&[&[ROOT], mounts].concat());
        assert_eq!(found.remove(0), ("/".to_owned(), false));
        found
    }

    #[test]
    fn only_block_device_file_systems_are_volumes() {
        for (device, fs_type, want) in [
            ("8:2", "ext4", true),
            ("8:2", "fuseblk", false),
            ("8:2", "fuse", false),
            ("8:2", "fuse.ntfs", false),
            ("8:2", "fusefs9", true),
            ("0:44", "btrfs", true),
            ("0:44", "tmpfs", false),
            ("0:44", "nfs4", false),
            ("0:44", "overlay", false),
        ] {
            let found = beside_root(&[(2, 1, device, "/a", fs_type)]);
            assert_eq!(!found.is_empty(), want, "{device} {fs_type}");
        }
    }

    #[test]
    fn the_shortest_mount_point_that_can_be_reached() {
        let one = |point: &str| vec![(point.to_owned(), false)];
        let bound = [(2, 1, "8:2", "/a/long", "xfs"), (3, 1, "8:2", "/b", "xfs"), (4, 1, "8:2", "/c", "xfs")];
        assert_eq!(beside_root(&bound), one("/b"));
        let covered = [bound[0], bound[1], (9, 3, "0:50", "/b", "tmpfs")];
        assert_eq!(beside_root(&covered), one("/a/long"));
        let within = [(2, 1, "8:2", "/a/b", "xfs"), (3, 1, "0:50", "/a", "tmpfs")];
        assert_eq!(beside_root(&within), []);
        let in_a_hidden_one =
            [(2, 1, "0:50", "/a", "tmpfs"), (3, 2, "8:2", "/a/b", "xfs"), (4, 2, "0:51", "/a", "nfs")];
        assert_eq!(beside_root(&in_a_hidden_one), []);
        let a_like_name = [(2, 1, "8:2", "/ab", "xfs"), (3, 1, "0:50", "/a", "tmpfs")];
        assert_eq!(beside_root(&a_like_name), one("/ab"));
        let above = [(2, 1, "0:50", "/a", "tmpfs"), (3, 2, "8:2", "/a", "xfs")];
        assert_eq!(beside_root(&above), one("/a"));
    }

    #[test]
    fn volumes_below_network_mounts_may_block() {
        for (fs_type, want) in
            [("nfs4", true), ("fuse.sshfs", true), ("tmpfs", false), ("autofs", false), ("9p", true)]
        {
            let found = beside_root(&[(2, 1, "0:50", "/a", fs_type), (3, 2, "8:2", "/a/b", "xfs")]);
            assert_eq!(found, [("/a/b".to_owned(), want)], "{fs_type}");
        }
        let network_root = [(1, 0, "0:20", "/", "nfs"), (2, 1, "8:2", "/a", "xfs")];
        assert_eq!(volumes(&network_root), [("/a".to_owned(), false)]);
    }

    #[test]
    fn a_circle_ends() {
        assert_eq!(volumes(&[(1, 2, "8:1", "/a", "xfs"), (2, 1, "8:2", "/b", "xfs")]), []);
        assert_eq!(volumes(&[(1, 1, "8:1", "/", "xfs")]), [("/".to_owned(), false)]);
    }

    #[test]
    fn unchanged_mountinfo_is_not_parsed_again() {
        let mut mounts = Mounts::default();
        let texts =
            ["", "", "1 0 8:1 / / rw - ext4 /dev/x rw\n", "1 0 8:1 / / rw - ext4 /dev/x rw\n", "x\n", "x\n"];
        let changes = texts.map(|text| {
            let _ = mounts.parse(text.as_bytes()); // the last make no sense
            (mounts.changes, mounts.volumes.len())
        });
        assert_eq!(changes, [(1, 0), (1, 0), (2, 1), (2, 1), (3, 0), (4, 0)]);
    }
}
