//! I/O counters of this process, although its `/proc/self/io` belongs to root.
//!
//! Before a BPF task iterator is loaded, this process is made not dumpable, and can then no longer open that file. It
//! can still read the file through a file descriptor that it opened before.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use once_cell::race::OnceBox;

use super::files::io;
use super::table::LineValues;
use crate::provider::Collection;

/// File descriptor of this process's I/O file, and the id of the process that opened it. After a fork it is still the
/// file of the parent.
static OPEN: OnceBox<(u32, File)> = OnceBox::new();

/// Opens the I/O file `self/io` below `proc`, unless it is open already. A refusal is no error: reading the file
/// reports the reason.
pub(super) fn keep(proc: &Path) {
    if OPEN.get().is_none() {
        if let Ok(file) = File::open(proc.join("self/io")) {
            let _ = OPEN.set(Box::new((std::process::id(), file))); // if another thread has: the same file
        }
    }
}

/// Returns the I/O counters of process `pid`, if that is this process and its I/O file is open.
pub(super) fn read(pid: u32, pass: &mut Collection) -> Option<LineValues<7>> {
    /// Size of the buffer for the I/O file, in bytes. The kernel prints seven lines of at most 43 bytes.
    const ROOM: usize = 512;
    let (_, file) = OPEN.get().filter(|(of, _)| *of == pid && pid == std::process::id())?;
    let mut text = [0; ROOM];
    let len = file.read_at(&mut text, 0).ok()?;
    pass.count_bytes_read(len);
    io(text.get(..len)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::elapsed_ns;

    #[test]
    fn the_file_is_read_through_the_descriptor_of_this_process_alone() {
        let mut pass = Collection::enumeration(elapsed_ns());
        let own = std::process::id();
        keep(Path::new("/proc"));
        let before = std::fs::read("/proc/self/io").map(|text| io(&text).unwrap()).unwrap();
        let kept = read(own, &mut pass).unwrap();
        assert!(kept.get(0).unwrap().unwrap() >= before.get(0).unwrap().unwrap(), "rchar never falls");
        assert!(
            read(own, &mut pass).unwrap().get(2).unwrap().unwrap() > kept.get(2).unwrap().unwrap(),
            "syscr"
        );
        assert!(read(own + 1, &mut pass).is_none());
    }
}
