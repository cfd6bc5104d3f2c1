//! Stamps of publishers' files: metadata that shows that a file may have changed.

use rustix::fs::Stat;

/// File metadata that changes when a file is truncated, gets a hole or is written by system calls, even if it is
/// complete again soon. Rarely, it also changes when the file grows or a page is stored to for the first time.
pub(super) type Stamp = [i128; 5];

pub(super) fn stamp(stat: &Stat) -> Stamp {
    // Size and both times: a file can have its length back before it is examined, and not its change time.
    [
        stat.st_size.into(),
        stat.st_mtime.into(),
        stat.st_mtime_nsec.into(),
        stat.st_ctime.into(),
        stat.st_ctime_nsec.into(),
    ]
}
