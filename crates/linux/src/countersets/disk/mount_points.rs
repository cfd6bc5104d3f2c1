//! Selects the mount points that File System lists: all except those of the kernel's own file systems.

use crate::countersets::disk::mounts::way_to;
use crate::sources::mountinfo::{Mount, MountInfo};
use crate::sources::text::TextError;

/// Mount points, each with the file system that is visible there.
#[derive(Debug, Default)]
pub(super) struct MountPoints {
    /// Text of the kernel's mount list from which `all` was parsed.
    text: Vec<u8>,
    mounts: MountInfo,
    /// Mount points in the order in which they were mounted.
    pub(super) all: Vec<MountPoint>,
    /// Number of changes in the kernel's list of mounts so far.
    pub(super) changes: u64,
}

/// Mount point, and the file system that is visible there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MountPoint {
    /// Major number of the device that the mounted file system is on.
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) path: Vec<u8>,
    /// Type of the file system, such as `ext4`.
    pub(super) fs_type: Vec<u8>,
    /// Source of the mount: a device, or the text that the file system takes for one.
    pub(super) source: Vec<u8>,
    pub(super) is_read_only: bool,
    /// `true` if a request to the file system may never return, not even when the process ends.
    pub(super) may_block: bool,
}

/// Types of file systems without a row in File System: they have no space, or none of their own. Dashboards know this
/// list from other exporters.
const WITHOUT_ROW: [&[u8]; 24] = [
    b"autofs",
    b"binfmt_misc",
    b"bpf",
    b"cgroup",
    b"cgroup2",
    b"configfs",
    b"debugfs",
    b"devpts",
    b"devtmpfs",
    b"fusectl",
    b"hugetlbfs",
    b"iso9660",
    b"mqueue",
    b"nsfs",
    b"overlay",
    b"proc",
    b"procfs",
    b"pstore",
    b"rpc_pipefs",
    b"securityfs",
    b"selinuxfs",
    b"squashfs",
    b"sysfs",
    b"tracefs",
];

/// Directories below which no mount has a row in File System, each with `true` if a mount at the directory itself may
/// have a row.
const HIDDEN: [(&[u8], bool); 6] = [
    (b"/dev", false),
    (b"/proc", false),
    (b"/sys", false),
    (b"/run/credentials", true),
    (b"/var/lib/docker", true),
    (b"/var/lib/containers/storage", true),
];

/// Network file systems for which the kernel stops waiting when the process is killed.
const END_WITH_THE_PROCESS: [&[u8]; 4] = [b"nfs", b"nfs4", b"cifs", b"smb3"];

impl MountPoints {
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
        self.all.clear();
        self.mounts.parse(text)?;
        self.text.extend_from_slice(text);
        let mounts = self.mounts.mounts.as_slice();
        self.all.extend(mounts.iter().filter(|mount| has_row(mount)).filter_map(|mount| {
            let way = way_to(mount, mounts)?;
            // Without the root nothing can be read at all.
            let may_block = mount.mount_point != b"/"
                && !mount.answers_at_once()
                && !END_WITH_THE_PROCESS.contains(&mount.fs_type.as_slice());
            Some(MountPoint {
                major: mount.major,
                minor: mount.minor,
                path: mount.mount_point.clone(),
                fs_type: mount.fs_type.clone(),
                source: mount.source.clone(),
                is_read_only: mount.is_read_only,
                may_block: may_block || way.may_block,
            })
        }));
        Ok(())
    }
}

fn has_row(mount: &Mount) -> bool {
    let is_hidden = |(folder, is_shown): &(&[u8], bool)| {
        mount.is_at_or_below(folder) && !(*is_shown && mount.mount_point == *folder)
    };
    !WITHOUT_ROW.contains(&mount.fs_type.as_slice()) && !HIDDEN.iter().any(is_hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mount points of `mounts` (id, parent id, mount point, type), each with `true` if a request to the
    /// file system may block.
    fn points(mounts: &[(u64, u64, &str, &str)]) -> Vec<(String, bool)> {
        let line = |(id, parent, point, fs_type): &(u64, u64, &str, &str)| {
            let device = if fs_type.contains("ext") { "8:2" } else { "0:50" };
            format!("{id} {parent} {device} / {point} rw - {fs_type} /dev/x rw\n")
        };
        let mut found = MountPoints::default();
        let root = "1 0 8:1 / / rw - ext4 /dev/r rw\n".to_owned();
        let text = root + &mounts.iter().map(line).collect::<String>();
        found.parse(text.as_bytes()).unwrap();
        let of = |point: &MountPoint| (String::from_utf8(point.path.clone()).unwrap(), point.may_block);
        let mut found: Vec<_> = found.all.iter().map(of).collect();
        assert_eq!(found.remove(0), ("/".to_owned(), false));
        found
    }

    #[test]
    fn types_and_places_without_a_row() {
        for (point, fs_type, want) in [
            ("/tmp", "tmpfs", true),
            ("/run/user/7", "tmpfs", true),
            ("/a", "overlay", false),
            ("/a", "cgroup2", false),
            ("/a", "cgroup3", true),
            ("/snap/a", "squashfs", false),
            ("/dev/shm", "tmpfs", false),
            ("/dev", "tmpfs", false),
            ("/device", "ext4", true),
            ("/proc/x", "ext4", false),
            ("/sys/fs/x", "ext4", false),
            ("/run/credentials/a.service", "ramfs", false),
            ("/run/credentials", "ramfs", true),
            ("/var/lib/docker", "ext4", true),
            ("/var/lib/docker/x/y", "ext4", false),
            ("/var/lib/containers/storage/x", "ext4", false),
            ("/var/lib/containers", "ext4", true),
        ] {
            assert_eq!(!points(&[(2, 1, point, fs_type)]).is_empty(), want, "{point} {fs_type}");
        }
    }

    #[test]
    fn each_mount_point_has_what_is_visible_there() {
        let is_at = |point: &str| vec![(point.to_owned(), false)];
        assert_eq!(points(&[(2, 1, "/a", "ext4"), (3, 2, "/a", "tmpfs")]), is_at("/a"));
        assert_eq!(points(&[(2, 1, "/a/b", "ext4"), (3, 1, "/a", "tmpfs")]), is_at("/a"));
        // One file system at two places has two rows.
        assert_eq!(points(&[(2, 1, "/a", "ext4"), (3, 1, "/b", "ext4")]).len(), 2);
    }

    #[test]
    fn only_what_can_be_killed_is_asked() {
        for (fs_type, want) in [
            ("ext4", false),
            ("tmpfs", false),
            ("nfs4", false),
            ("cifs", false),
            ("fuse.x", true),
            ("9p", true),
        ] {
            assert_eq!(points(&[(2, 1, "/a", fs_type)]), [("/a".to_owned(), want)], "{fs_type}");
        }
        let below = points(&[(2, 1, "/a", "nfs4"), (3, 2, "/a/b", "ext4")]);
        assert_eq!(below[1], ("/a/b".to_owned(), true));
    }

    #[test]
    fn an_unchanged_list_is_not_parsed_again() {
        let mut points = MountPoints::default();
        let line = "1 0 8:1 / / ro - ext4 /dev/x rw\n";
        let changes = ["", line, line, "x\n", "x\n"].map(|text| {
            let _ = points.parse(text.as_bytes()); // the last make no sense
            (points.changes, points.all.len())
        });
        assert_eq!(changes, [(1, 0), (2, 1), (2, 1), (3, 0), (4, 0)]);
    }
}
