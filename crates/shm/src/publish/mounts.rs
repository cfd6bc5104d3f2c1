//! Mounts of a process, to determine whether other programs have the same directory under the same name.

use std::path::{Path, PathBuf};

/// Location of a directory on its file system, independent of its path in a mount namespace.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Origin {
    device: String,
    path: PathBuf,
    /// Path of the mount point of the mount in which the directory was found.
    pub mount: PathBuf,
}

impl Origin {
    /// Finds a directory in the text of `/proc/PID/mountinfo`; `None` if the text does not contain its mount.
    pub fn find(mountinfo: &str, folder: &Path) -> Option<Self> {
        let mounts: Vec<Mount> = mountinfo.lines().filter_map(Mount::parse).collect();
        let on_the_way = || mounts.iter().filter(|mount| folder.starts_with(&mount.point));
        let is_child =
            |mount: &&Mount| mounts.iter().any(|other| other.id == mount.parent && other.id != mount.id);
        // The mount on `/` whose parent is not listed: in a container the parent lies outside.
        let mut current = on_the_way().find(|mount| mount.point == Path::new("/") && !is_child(mount))?;
        // Follow the mounts down to the directory. Each mount is visited once, because the text may contain cycles.
        for _ in 0..mounts.len() {
            let next = on_the_way().filter(|mount| mount.parent == current.id && mount.id != current.id);
            // Of several children the shortest path is the visible one: it hides older mounts below it.
            let nearest = next.min_by_key(|mount| mount.point.components().count());
            match nearest {
                Some(nearest) => current = nearest,
                None => break,
            }
        }
        let below = folder.strip_prefix(&current.point).ok()?;
        Some(Self {
            device: current.device.to_owned(),
            path: current.root.join(below),
            mount: current.point.clone(),
        })
    }

    /// Returns `true` if two origins are the same directory.
    pub fn is_same(&self, other: &Self) -> bool {
        self.device == other.device && self.path == other.path
    }

    /// Returns `true` if systemd created the directory for one service alone.
    pub fn is_of_a_service(&self) -> bool {
        self.path.iter().any(|part| part.to_string_lossy().starts_with("systemd-private-"))
    }
}

/// Mount of a process: one line of `/proc/PID/mountinfo`. Source: proc_pid_mountinfo(5).
struct Mount<'a> {
    id: u32,
    parent: u32,
    device: &'a str,
    root: PathBuf,
    point: PathBuf,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.split(' ');
        Some(Self {
            id: fields.next()?.parse().ok()?,
            parent: fields.next()?.parse().ok()?,
            device: fields.next()?,
            root: unescaped(fields.next()?).into(),
            point: unescaped(fields.next()?).into(),
        })
    }
}

/// Decodes the escapes that the kernel uses in paths for blanks, line ends and backslashes.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|code| u8::from_str_radix(code, 8).ok());
        match (code, part.get(3..)) {
            (Some(code), Some(rest)) => {
                out.push(char::from(code));
                out.push_str(rest);
            }
            _ => out.extend(["\\", part]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "\
        1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
        20 1 0:20 / /run rw - tmpfs tmpfs rw\n\
        21 20 0:21 / /run/perfset rw - tmpfs tmpfs rw\n\
        22 1 0:22 / /tmp rw - tmpfs tmpfs rw\n";

    fn origin(text: &str, path: &str) -> Origin {
        Origin::find(text, Path::new(path)).unwrap()
    }

    #[test]
    fn a_directory_is_found_in_its_mount() {
        for (path, device, inside, mount) in [
            ("/run/perfset", "0:21", "/", "/run/perfset"),
            ("/run/user/7", "0:20", "/user/7", "/run"),
            ("/tmp/perfset-7", "0:22", "/perfset-7", "/tmp"),
            ("/tmpfoo", "8:1", "/tmpfoo", "/"),
        ] {
            let found = origin(HOST, path);
            let expected = Origin { device: device.into(), path: inside.into(), mount: mount.into() };
            assert_eq!(found, expected, "{path}");
        }
    }

    /// Checks that a mount hides the directory at its mount point, and all mounts below that directory.
    #[test]
    fn the_last_mount_counts() {
        let over =
            format!("{HOST}30 22 0:30 / /tmp rw - tmpfs tmpfs rw\n31 1 0:31 / /run rw - tmpfs tmpfs rw\n");
        assert_eq!(origin(&over, "/tmp/x").device, "0:30");
        // Both are children of the root; /run that was mounted later has no /run/perfset in it.
        let hidden = "1 0 8:1 / / rw - a b c\n2 1 0:2 / /run/perfset rw - a b c\n3 1 0:3 / /run rw - a b c\n";
        assert_eq!(origin(hidden, "/run/perfset").device, "0:3");
    }

    /// Checks that the private `/tmp` of a service is not the machine's `/tmp`, and a directory shared with a service
    /// stays the same one.
    #[test]
    fn services() {
        let service = "\
            90 80 8:1 / / ro - ext4 /dev/sda1 rw\n\
            91 90 0:20 / /run ro - tmpfs tmpfs rw\n\
            92 91 0:21 / /run/perfset rw - tmpfs tmpfs rw\n\
            93 90 0:22 / /tmp rw - tmpfs tmpfs rw\n\
            94 93 0:22 /systemd-private-1-x.service-2/tmp /tmp rw - tmpfs tmpfs rw\n";
        let same = |path: &str| origin(service, path).is_same(&origin(HOST, path));
        assert!(same("/run/perfset") && same("/run/user/7/perfset") && !same("/tmp/perfset-7"));
        let own = origin(service, "/tmp/perfset-7");
        assert!(own.is_of_a_service() && own.mount == Path::new("/tmp"));
        let other_name = "1 0 0:9 / / rw - a b c\n2 1 0:21 / /shared\\040by\\134all rw - a b c\n";
        assert!(origin(other_name, "/shared by\\all").is_same(&origin(HOST, "/run/perfset")));
    }

    #[test]
    fn texts_that_are_none() {
        for text in ["", "x", "1 0 8:1 /", "1 1 8:1 / /run a", "5 6 8:1 / / a\n6 5 8:1 / / a\n"] {
            assert!(Origin::find(text, Path::new("/run/perfset")).is_none(), "{text}");
        }
    }
}
