//! Liveness lock of a publisher's file. The publisher holds the lock while it runs; the kernel releases it when the
//! process exits.
//!
//! The lock belongs to an open file description, not to a process: closing another file descriptor of the file does
//! not release it. The publisher sets a write lock, and readers test for a conflict with a read lock. The reason: a
//! process that may only read the file can set read locks on it, and no write locks.

#![expect(unsafe_code, reason = "rustix has no locks of open file descriptions")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Takes the write lock of a publisher's file without waiting.
///
/// # Errors
/// `EAGAIN` if another open file description holds it.
pub(crate) fn take(file: BorrowedFd<'_>) -> io::Result<()> {
    ask(file, libc::F_OFD_SETLK, libc::F_WRLCK).map(|_| ())
}

/// Returns `true` if another open file description holds the write lock of a publisher's file.
pub(crate) fn is_held(file: BorrowedFd<'_>) -> io::Result<bool> {
    ask(file, libc::F_OFD_GETLK, libc::F_RDLCK).map(|lock| lock != libc::F_UNLCK)
}

/// Runs a lock command on a file with `fcntl`. Returns the kind of the lock that is set afterwards, or that would
/// conflict.
fn ask(file: BorrowedFd<'_>, command: libc::c_int, kind: libc::c_int) -> io::Result<libc::c_int> {
    let kind = libc::c_short::try_from(kind).unwrap_or_default();
    let whence = libc::c_short::try_from(libc::SEEK_SET).unwrap_or_default();
    // Locks only the first byte. `l_pid` must be 0.
    let mut lock = libc::flock { l_type: kind, l_whence: whence, l_start: 0, l_len: 1, l_pid: 0 };
    // SAFETY: the file descriptor is open, and `lock` is valid memory that the call does not keep.
    let failed = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) } == -1;
    if failed { Err(io::Error::last_os_error()) } else { Ok(lock.l_type.into()) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn held_as_long_as_its_description() {
        let path = std::env::temp_dir().join(format!("perfset-lock-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        let other = File::open(&path).unwrap();
        assert!(!is_held(other.as_fd()).unwrap());
        take(file.as_fd()).unwrap();
        assert!(is_held(other.as_fd()).unwrap());
        drop(File::open(&path).unwrap()); // a lock of the process would be lost now
        let again = file.try_clone().unwrap();
        drop(file);
        assert!(is_held(other.as_fd()).unwrap(), "another descriptor of the same description");
        let second = File::options().write(true).open(&path).unwrap();
        assert_eq!(take(second.as_fd()).unwrap_err().raw_os_error(), Some(libc::EAGAIN));
        drop(again);
        // A child process of another test may have the descriptor, too, until it ends or executes a program.
        let began = std::time::Instant::now();
        while is_held(other.as_fd()).unwrap() {
            assert!(began.elapsed() < std::time::Duration::from_secs(20), "it is still held");
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn readers_cannot_look_alive() {
        let path = std::env::temp_dir().join(format!("perfset-rlock-{}", std::process::id()));
        File::create(&path).unwrap();
        let (reader, other) = (File::open(&path).unwrap(), File::open(&path).unwrap());
        ask(reader.as_fd(), libc::F_OFD_SETLK, libc::F_RDLCK).unwrap();
        assert!(!is_held(other.as_fd()).unwrap());
        assert!(take(reader.as_fd()).is_err(), "it is open for reading only");
        std::fs::remove_file(path).unwrap();
    }
}
