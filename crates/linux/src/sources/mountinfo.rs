//! Parser of `/proc/PID/mountinfo`: the mounts that a process sees.
//!
//! Source: `proc_pid_mountinfo(5)`.

use crate::sources::escapes::unescape;
use crate::sources::text::{Text, TextError};

/// Mount point of a file system: one line of `/proc/PID/mountinfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// Id of the mount, which may be used again after the mount is removed.
    pub id: u64,
    /// Id of the parent mount. For the topmost mount, its own id or one that no line has.
    pub parent: u64,
    /// First half of the device number of the mounted file system. 0 if the device is no block device.
    pub major: u32,
    /// Second half of the device number of the mounted file system.
    pub minor: u32,
    /// Path of the mount point, as seen from the root directory of the process.
    pub mount_point: Vec<u8>,
    /// Type of the mounted file system, such as `ext4` or `fuse.sshfs`.
    pub fs_type: Vec<u8>,
    /// Device or other source of the mount, as it was passed to the kernel.
    pub source: Vec<u8>,
    /// `true` if nothing can be written through this mount: the mount or its file system is read-only.
    pub is_read_only: bool,
}

/// Mounts of a process, parsed from `/proc/PID/mountinfo`.
///
/// ```
/// use perfset_linux::sources::mountinfo::MountInfo;
///
/// let mut mountinfo = MountInfo::default();
/// mountinfo.parse(b"36 35 98:0 /mnt1 /mnt\\0402 rw master:1 - ext3 /dev/root rw\n").unwrap();
/// assert_eq!(mountinfo.mounts[0].mount_point, b"/mnt 2");
/// assert_eq!(mountinfo.mounts[0].source, b"/dev/root");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountInfo {
    /// Mounts that the process sees, in the kernel's order.
    pub mounts: Vec<Mount>,
}

impl MountInfo {
    /// Parses `/proc/PID/mountinfo`, replacing all previous contents.
    ///
    /// # Errors
    /// If a line is not as documented, because a mount may hide any other.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        let mut count = 0_usize;
        while !text.is_at_end() {
            // Mounts of the previous text are overwritten, so that their memory is reused.
            if self.mounts.len() <= count {
                self.mounts.push(Mount::default());
            }
            if let Some(mount) = self.mounts.get_mut(count) {
                mount.parse(&mut text)?;
            }
            count = count.saturating_add(1);
        }
        self.mounts.truncate(count);
        Ok(())
    }
}

impl Mount {
    fn parse(&mut self, text: &mut Text<'_>) -> Result<(), TextError> {
        (self.id, self.parent) = (text.number()?, text.number()?);
        text.skip_blanks();
        self.major = half(text)?;
        if !text.take(b":") {
            return Err(text.expected("\":\""));
        }
        self.minor = half(text)?;
        text.word()?; // what of the file system is mounted
        unescape(text.word()?, &mut self.mount_point);
        let is_mount_read_only = is_read_only(text.word()?);
        while text.word()? != b"-" {} // how it is shared with other namespaces
        unescape(text.word()?, &mut self.fs_type);
        // The source may be empty, so that two blanks follow each other.
        if !text.take(b" ") {
            return Err(text.expected("a blank"));
        }
        unescape(text.until_blank(), &mut self.source);
        // One file system can be mounted for reading at one place and for writing at another.
        self.is_read_only = is_read_only(text.line()?.trim_ascii_start()) || is_mount_read_only;
        Ok(())
    }
}

/// Returns `true` if mount options, separated by commas, contain `ro`.
fn is_read_only(options: &[u8]) -> bool {
    options.split(|byte| *byte == b',').any(|option| option == b"ro")
}

fn half(text: &mut Text<'_>) -> Result<u32, TextError> {
    let before = *text;
    u32::try_from(text.digits()?).map_err(|_| before.expected("half of a device number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Mount>, String> {
        let mut mountinfo = MountInfo::default();
        let before = "1 2 3:4 / /before rw - ext4 /dev/before rw\n".repeat(3);
        mountinfo.parse(before.as_bytes()).unwrap();
        let parsed = mountinfo.parse(text.as_bytes()).map_err(|error| error.to_string());
        parsed.map(|()| mountinfo.mounts)
    }

    #[test]
    fn lines() {
        let mount = |mount_point: &str, fs_type: &str, source: &str| Mount {
            id: 22,
            parent: 1,
            major: 254,
            minor: 3,
            mount_point: mount_point.into(),
            fs_type: fs_type.into(),
            source: source.into(),
            is_read_only: false,
        };
        for (text, want) in [
            ("/ / rw - ext4 /dev/vda rw,discard", mount("/", "ext4", "/dev/vda")),
            ("/a /b rw shared:1 master:2 x - xfs /dev/c rw", mount("/b", "xfs", "/dev/c")),
            (r"/ /a\040b\134 rw - ext4 /c\011d rw", mount("/a b\\", "ext4", "/c\td")),
            ("/ /-/- rw - fuse.- - rw", mount("/-/-", "fuse.-", "-")),
            ("/ /a rw - tmpfs  rw", mount("/a", "tmpfs", "")),
            ("/ /a rw - tmpfs none", mount("/a", "tmpfs", "none")),
        ] {
            let line = format!("22 1 254:3 {text}\n");
            assert_eq!(parse(&line.repeat(2)), Ok(vec![want.clone(), want]), "{text}");
        }
        assert_eq!(parse(""), Ok(Vec::new()));
    }

    #[test]
    fn read_only_by_the_mount_or_by_the_file_system() {
        for (mount, file_system, want) in [
            ("rw,relatime", "rw,data=ordered", false),
            ("ro,relatime", "rw", true),
            ("rw", "ro,data=ordered", true),
            ("rw", "rw,ro", true),
            ("rw,root", "rw,errors=remount-ro", false),
            ("rw", "", false),
        ] {
            let line = format!("22 1 254:3 / /a {mount} - ext4 /dev/a {file_system}\n");
            assert_eq!(parse(&line).unwrap()[0].is_read_only, want, "{line}");
        }
    }

    #[test]
    fn invalid_mount_lines_are_rejected() {
        let head = "1 2 3:4 / /a rw";
        for (text, want) in [
            ("x\n", "line 1: expected a number, found \"x\""),
            ("1 2 3 / /a\n", "line 1: expected \":\", found \" / /a\\n\""),
            ("1 2 3:4294967296 / /a\n", "line 1: expected half of a device number, found \"4294967296\""),
            (&format!("{head} - ext4 /dev/a rw\n{head} ext4\n"), {
                "line 2: expected a word, found the end of the line"
            }),
            (&format!("{head} - ext4\n"), "line 1: expected a blank, found the end of the line"),
            (&format!("{head} - ext4 /dev/a"), {
                "line 1: expected the rest of the line, found the end of the file"
            }),
        ] {
            assert_eq!(parse(text).unwrap_err(), want, "{text:?}");
        }
    }
}
