//! Memory shared with other processes, accessed word by word.
//!
//! Only loads and stores of whole words are atomic. Copies by system calls tear values (measured), and so do `memcpy`
//! and similar functions in a mapping. So all access goes through [`AtomicU64`].

#![expect(unsafe_code, reason = "shared memory")]

use std::ffi::c_void;
use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::fork;
use crate::guard::Inside;
use crate::layout::{WORD, words};

/// Memory of a publisher: mapped from a file, or private. It stays mapped at its address as long as the process runs.
/// Holders of its counters may use them at any time, even when no process reads them any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedMemory(&'static [AtomicU64]);

impl SharedMemory {
    /// Maps a range of a publisher's file, which must be allocated already and never removed. `at` and `len` are
    /// multiples of a page.
    pub fn map(file: impl AsFd, at: u64, len: usize, populate: bool) -> io::Result<Self> {
        let flags = if populate { MapFlags::SHARED | MapFlags::POPULATE } else { MapFlags::SHARED };
        // SAFETY: a new mapping at an address chosen by the kernel touches no existing memory.
        let start =
            unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, flags, file, at) }?;
        Self::mapped(start, len)
    }

    /// Maps private memory of this process, all zero.
    pub fn own(len: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: as above.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, flags) }?;
        Self::mapped(start, len)
    }

    fn mapped(start: *mut c_void, len: usize) -> io::Result<Self> {
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        fork::replace_in_child(start.as_ptr(), len);
        // SAFETY: the mapping has `len` bytes and begins on a page. It is zero or has the contents of the file, and
        // any bits are a valid word. It is used only through atomics, and never unmapped: at most it is replaced by
        // other memory.
        Ok(Self(unsafe { std::slice::from_raw_parts(start.cast().as_ptr(), words(len)) }))
    }

    /// Returns the words of the publisher's memory.
    pub fn words(self) -> &'static [AtomicU64] {
        self.0
    }

    /// Replaces the mapping of the file by memory of this process alone, all zero, at the same address.
    pub fn leave(self) {
        let start: *const AtomicU64 = self.0.as_ptr();
        fork::keep_in_child(start.cast());
        replace(start.cast_mut().cast(), self.0.len().saturating_mul(WORD));
    }
}

/// Replaces a mapping by private memory of this process. Makes only system calls.
pub(crate) fn replace(start: *mut c_void, len: usize) {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
    // SAFETY: only `SharedMemory` calls this, for its own mappings. Holders of pointers continue with zeros, as
    // if another process had stored them. If there is no memory for a mapping, the old one stays, which harms
    // readers only.
    let _ = unsafe { mmap_anonymous(start, len, ProtFlags::READ | ProtFlags::WRITE, flags) };
}

/// Reader's mapping of a range of a file. Its contents may change at any time, become invalid or vanish: so they are
/// loaded only [in a child](crate::guard).
#[derive(Debug)]
pub(crate) struct MappedView {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the memory is read only through atomics, and unmapped when its only owner is dropped.
unsafe impl Send for MappedView {}
// SAFETY: as above.
unsafe impl Sync for MappedView {}

impl MappedView {
    /// Maps `len` bytes of a publisher's file for reading, from offset `at` on; both are multiples of a page.
    pub fn map(file: impl AsFd, at: u64, len: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address chosen by the kernel touches no existing memory.
        let start = unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, file, at) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, words: words(len) })
    }

    /// Returns the words of the mapped range, which may only be loaded: a store ends the child.
    pub fn words(&self, _: &Inside) -> &[AtomicU64] {
        // SAFETY: the mapping has that many words, begins on a page, and exists as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for MappedView {
    fn drop(&mut self) {
        // SAFETY: the whole mapping, whose words were borrowed no longer than `self` existed.
        let _ = unsafe { munmap(self.start.cast().as_ptr(), self.words.saturating_mul(WORD)) };
    }
}

/// Writes bytes to consecutive words of shared memory; the last word is padded with zeros.
pub(crate) fn store_bytes(to: &[AtomicU64], bytes: impl IntoIterator<Item = u8>) {
    let mut bytes = bytes.into_iter().peekable();
    for word in to {
        if bytes.peek().is_none() {
            break;
        }
        let piece: [u8; WORD] = std::array::from_fn(|_| bytes.next().unwrap_or(0));
        word.store(u64::from_ne_bytes(piece), Relaxed);
    }
}

/// Appends a copy of the bytes of shared words.
#[cfg(test)]
pub(crate) fn load_bytes(from: &[AtomicU64], to: &mut Vec<u8>) {
    to.extend(from.iter().flat_map(|word| word.load(Relaxed).to_ne_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_words() {
        let memory = SharedMemory::own(4096).unwrap();
        store_bytes(&memory.words()[1..], *b"ninebytes");
        let mut bytes = Vec::new();
        load_bytes(&memory.words()[..4], &mut bytes);
        assert_eq!(bytes[..8], [0; 8]);
        assert_eq!(&bytes[8..17], b"ninebytes");
        assert_eq!(bytes[17..], [0; 15]);
    }

    #[test]
    fn memory_that_left_its_file_is_zero_and_stays() {
        let memory = SharedMemory::own(8192).unwrap();
        memory.words()[1000].store(7, Relaxed);
        memory.leave();
        assert_eq!(memory.words()[1000].load(Relaxed), 0);
        memory.words()[1000].store(8, Relaxed);
        assert_eq!(memory.words()[1000].load(Relaxed), 8);
    }
}
