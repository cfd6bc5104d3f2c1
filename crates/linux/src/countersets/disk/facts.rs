//! Facts about a disk as text: its model, and the mount points of the file systems on it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use perfset_core::NoValue;
use perfset_engine::{Fact, FactKind};

use crate::provider::{Collection, KeptFile, ReadFiles, SeqFileKind, unavailable};
use crate::sources::attribute;
use crate::sources::mountinfo::MountInfo;

/// Maximum number of block devices that are followed from a disk: its partitions, and the devices on top of these.
const DEVICES_MAX: usize = 1_000;
/// Maximum number of mount points in the text that lists the mount points of a disk.
const SHOWN: usize = 20;

/// Returns the facts about the block device with this directory in `/sys/block`. `name` is that of its device file.
pub(super) fn facts(name: &[u8], folder: &Path, mountinfo: &Path, pass: &mut Collection) -> Vec<Fact> {
    let model = model(folder, pass);
    let points = mount_points(name, folder, mountinfo, pass);
    let mut facts: Vec<_> = model.map(|model| Fact::new(FactKind::Model, Ok(model))).into_iter().collect();
    facts.push(Fact::new(FactKind::MountPoints, points));
    facts
}

/// Returns vendor and model of a disk, or the name that the device mapper uses; `None` if the device has neither.
fn model(folder: &Path, pass: &mut Collection) -> Option<String> {
    let mut line = |file: &str| {
        let mut file = KeptFile::new(folder.join(file), SeqFileKind::Single).keep(false);
        let text = pass.read(&mut file, "", |text| attribute::line(text).map(<[u8]>::to_vec)).ok()?;
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        Some(text).filter(|text| !text.is_empty())
    };
    match (line("device/vendor"), line("device/model")) {
        // The vendor of a virtio disk is a number, and SATA disks all have this one.
        (Some(vendor), Some(model)) if vendor != "ATA" && !vendor.starts_with("0x") => {
            Some(format!("{vendor} {model}"))
        }
        (_, Some(model)) => Some(model),
        _ => line("dm/name"),
    }
}

/// Returns the mount points of the file systems on a disk, also on its partitions and on volumes that lie on these.
fn mount_points(
    name: &[u8],
    folder: &Path,
    mountinfo: &Path,
    pass: &mut Collection,
) -> Result<String, NoValue> {
    let mut file = KeptFile::new(mountinfo, SeqFileKind::Records).keep(false);
    let mut mounts = MountInfo::default();
    pass.read(&mut file, "the list of mounts is missing", |text| mounts.parse(text))?;
    let mut devices = Devices::default();
    devices.add(name, folder, pass);
    let mut points: Vec<String> = Vec::new();
    for mount in &mounts.mounts {
        let source = mount.source.strip_prefix(b"/dev/").unwrap_or_default();
        // btrfs has a device number of its own.
        let is_on_it = match mount.major {
            0 => devices.names.contains(source),
            major => devices.numbers.contains(&(major, mount.minor)),
        };
        let point = String::from_utf8_lossy(&mount.mount_point).into_owned();
        if is_on_it && !points.contains(&point) {
            points.push(point);
        }
    }
    let more = points.len().saturating_sub(SHOWN);
    points.truncate(SHOWN);
    if more > 0 {
        points.push(format!("and {more} more"));
    }
    match points.is_empty() {
        true => Err(unavailable("no file system on it is mounted here")),
        false => Ok(points.join(", ")),
    }
}

/// Block devices on a disk: the disk itself, its partitions, and the devices that use these.
#[derive(Debug, Default)]
struct Devices {
    numbers: BTreeSet<(u32, u32)>,
    names: BTreeSet<Vec<u8>>,
}

impl Devices {
    fn add(&mut self, name: &[u8], folder: &Path, pass: &mut Collection) {
        if self.names.len() >= DEVICES_MAX || !self.names.insert(name.to_vec()) {
            return;
        }
        let mut file = KeptFile::new(folder.join("dev"), SeqFileKind::Single).keep(false);
        let number = pass.read(&mut file, "", |text| attribute::line(text).map(number)).ok().flatten();
        self.numbers.extend(number);
        // A partition has a directory with the file `partition` in that of its disk.
        for (name, child) in entries(folder) {
            if child.join("partition").exists() {
                self.add(&name, &child, pass);
            }
        }
        // Links to the directories of devices that use this one.
        for (name, child) in entries(&folder.join("holders")) {
            self.add(&name, &child, pass);
        }
    }
}

/// Returns the names and paths in a directory, sorted; none if the directory is unreadable.
fn entries(folder: &Path) -> Vec<(Vec<u8>, std::path::PathBuf)> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten().take(DEVICES_MAX);
    let mut found: Vec<_> =
        found.map(|entry| (entry.file_name().as_os_str().as_bytes().to_vec(), entry.path())).collect();
    found.sort_unstable();
    found
}

/// Parses a block device's number, `MAJOR:MINOR`.
fn number(line: &[u8]) -> Option<(u32, u32)> {
    let (major, minor) = OsStr::from_bytes(line).to_str()?.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::clock::elapsed_ns;
    use crate::testing::Tree;

    /// Returns the model and the mount points of a disk with two partitions, one of which is below a mapped volume.
    fn facts_of(change: impl FnOnce(&Tree)) -> (Option<String>, String) {
        let tree = Tree::proc_of("small-vm");
        for (file, text) in [
            ("sys/block/sdx/dev", "8:16\n"),
            ("sys/block/sdx/device/vendor", "ATA     \n"),
            ("sys/block/sdx/device/model", "Samsung SSD 870 \n"),
            ("sys/block/sdx/sdx1/dev", "8:17\n"),
            ("sys/block/sdx/sdx1/partition", "1\n"),
            ("sys/block/sdx/sdx2/dev", "8:18\n"),
            ("sys/block/sdx/sdx2/partition", "2\n"),
            ("sys/block/sdx/queue/dev", "8:99\n"),
            ("sys/block/dm-0/dev", "253:0\n"),
            ("sys/block/dm-0/dm/name", "vg-home\n"),
            (
                "proc/self/mountinfo",
                "1 0 8:17 / / rw - ext4 /dev/sdx1 rw\n2 1 253:0 / /home rw - xfs /dev/mapper/vg-home rw\n\
                 3 1 8:99 / /no rw - ext4 /dev/x rw\n4 1 8:17 /a /bound\\040here rw - ext4 /dev/sdx1 rw\n\
                 5 1 0:44 / /pool rw - btrfs /dev/sdx2 rw\n6 1 0:45 / /run rw - tmpfs tmpfs rw\n\
                 7 1 8:17 / / rw - ext4 /dev/sdx1 rw\n",
            ),
        ] {
            tree.write(file, text);
        }
        fs::create_dir_all(tree.path("sys/block/sdx/sdx2/holders")).unwrap();
        symlink("../../../dm-0", tree.path("sys/block/sdx/sdx2/holders/dm-0")).unwrap();
        change(&tree);
        let (folder, mountinfo) = (tree.path("sys/block/sdx"), tree.path("proc/self/mountinfo"));
        let mut found = facts(b"sdx", &folder, &mountinfo, &mut Collection::enumeration(elapsed_ns()));
        let points = found.pop().unwrap();
        assert_eq!(points.kind, FactKind::MountPoints);
        let model = found.pop().map(|fact| fact.text.unwrap());
        (model, points.text.unwrap_or_else(|reason| format!("- {reason}")))
    }

    #[test]
    fn facts_of_a_disk() {
        let (model, points) = facts_of(|_| ());
        assert_eq!(model.as_deref(), Some("Samsung SSD 870"));
        assert_eq!(points, "/, /home, /bound here, /pool");
    }

    #[test]
    fn models() {
        for (vendor, model, want) in [
            (Some("ATA"), Some("X 1"), Some("X 1")),
            (Some("Intel "), Some(" X"), Some("Intel X")),
            (Some("0x1af4"), Some("X"), Some("X")),
            (Some("0x1af4"), None, None),
            (None, Some("X"), Some("X")),
            (None, Some("  "), None),
            (None, None, None),
        ] {
            let (got, _) = facts_of(|tree| {
                for (file, text) in [("vendor", vendor), ("model", model)] {
                    let file = format!("sys/block/sdx/device/{file}");
                    tree.remove(&file);
                    text.iter().for_each(|text| tree.write(&file, &format!("{text}\n")));
                }
            });
            assert_eq!(got.as_deref(), want, "{vendor:?} {model:?}");
        }
    }

    #[test]
    fn missing_and_broken_files() {
        let (_, points) = facts_of(|tree| tree.write("proc/self/mountinfo", ""));
        assert_eq!(points, "- unavailable: no file system on it is mounted here");
        let (model, points) = facts_of(|tree| tree.write("proc/self/mountinfo", "x\n"));
        assert!(model.is_some() && points.starts_with("- "), "{points}");
        let (_, points) = facts_of(|tree| tree.write("sys/block/sdx/sdx1/dev", "8:x\n"));
        assert_eq!(points, "/home, /pool");
        // A circle of holders ends.
        let (_, points) = facts_of(|tree| {
            fs::create_dir_all(tree.path("sys/block/dm-0/holders")).unwrap();
            symlink("../../sdx", tree.path("sys/block/dm-0/holders/sdx")).unwrap();
        });
        assert_eq!(points, "/, /home, /bound here, /pool");
    }

    #[test]
    fn many_mount_points_are_counted() {
        let lines = (0..25).map(|at| format!("{at} 0 8:17 / /m{at} rw - ext4 /dev/sdx1 rw\n"));
        let lines: String = lines.collect();
        let (_, points) = facts_of(|tree| tree.write("proc/self/mountinfo", &lines));
        assert!(points.starts_with("/m0, /m1, ") && points.ends_with("/m19, and 5 more"), "{points}");
    }
}
