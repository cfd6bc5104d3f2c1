//! Removal of publishers' files whose publisher has exited, by the next publisher of the same user.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, fstat, open, openat, statat};

use super::file::{SUFFIX, unlink_with_socket};
use crate::lock;

/// Returns `true` if a file has a name that publishers create: `PID-RANDOM.pfs`, or with a leading dot if the file
/// was never finished. Other files with that extension must not be removed.
fn is_ours(name: &[u8]) -> bool {
    let name = name.strip_prefix(b".").unwrap_or(name);
    let Some((pid, random)) = name.strip_suffix(SUFFIX.as_bytes()).and_then(|name| {
        let at = name.iter().position(|byte| *byte == b'-')?;
        Some((name.get(..at)?, name.get(at.saturating_add(1)..)?))
    }) else {
        return false;
    };
    let is_number = !pid.is_empty() && pid.iter().all(u8::is_ascii_digit);
    is_number && random.len() == 16 && random.iter().all(u8::is_ascii_hexdigit)
}

/// Removes files of this user's publishers that have exited. The lock of a file is taken first, so that two cleaning
/// processes do not remove a file that a third has just created.
pub(crate) fn remove_dead(folder: &Path) {
    let Ok(folder) = open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) else {
        return;
    };
    let user = rustix::process::geteuid().as_raw();
    let mut buffer = Vec::with_capacity(32 << 10);
    let mut entries = RawDir::new(&folder, buffer.spare_capacity_mut());
    while let Some(Ok(found)) = entries.next() {
        let name = found.file_name();
        if !is_ours(name.to_bytes()) {
            continue;
        }
        // The file is opened by name after it was examined. If something else has the name by then, these
        // flags keep the opening harmless: a link is not followed, a FIFO does not block, a terminal is not
        // taken over.
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let Ok(stat) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        if stat.st_uid != user || FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            continue;
        }
        let Ok(file) = openat(&folder, name, flags, Mode::empty()) else { continue };
        // The locked file must be the examined one, and must still have the name. Otherwise another cleaning
        // process has removed it, and the name is that of a new file.
        let is_it =
            fstat(&file).is_ok_and(|opened| (opened.st_dev, opened.st_ino) == (stat.st_dev, stat.st_ino));
        if is_it && lock::take(file.as_fd()).is_ok() {
            let still = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
            if still.is_ok_and(|now| (now.st_dev, now.st_ino) == (stat.st_dev, stat.st_ino)) {
                unlink_with_socket(&folder, Path::new(OsStr::from_bytes(name.to_bytes())));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_programs_are_removed() {
        let folder = std::env::temp_dir().join(format!("perfset-clean-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let ours = ["17-0123456789abcdef.pfs", ".17-0123456789abcdef.pfs"];
        let others = [
            "17-0123456789abcdef.sock",
            "17-0123456789abcdef0.pfs",
            "17-0123456789abcdeg.pfs",
            "-0123456789abcdef.pfs",
            "1x-0123456789abcdef.pfs",
            "..17-0123456789abcdef.pfs",
            "photos.pfs",
            ".pfs",
        ];
        for name in ours.iter().chain(&others[1..]) {
            std::fs::write(folder.join(name), "").unwrap();
        }
        remove_dead(&folder);
        let left = |name: &&&str| folder.join(name).exists();
        assert_eq!(ours.iter().filter(left).count(), 0);
        assert_eq!(others.iter().filter(left).collect::<Vec<_>>(), others[1..].iter().collect::<Vec<_>>());
        assert!(!is_ours(others[0].as_bytes()));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
