//! Memory that other processes see too, word by word.
//!
//! Only loads and stores of whole words are whole: copies by system calls tear values apart (measured), and so do
//! `memcpy` and its kin in a mapping. So nobody gets at the bytes but through [`AtomicU64`].

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

/// A writer's memory, of a file or its own. It stays where it is as long as the process lives: whoever holds a
/// counter of it may use it at any time, also when nobody reads it any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory(&'static [AtomicU64]);

impl Memory {
    /// A part of a file, which must be there: it is allocated, and never taken away. `at` and `len` are multiples of
    /// a page.
    pub fn of_file(file: impl AsFd, at: u64, len: usize, populate: bool) -> io::Result<Self> {
        let flags = if populate { MapFlags::SHARED | MapFlags::POPULATE } else { MapFlags::SHARED };
        // SAFETY: a new mapping at a place that the kernel chooses touches no memory of anybody.
        let start =
            unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, flags, file, at) }?;
        Self::mapped(start, len)
    }

    /// Memory of this process alone, all zero.
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
        // SAFETY: the mapping has `len` bytes, begins on a page, is zero or what the file has (any bits are a word),
        // is only used through atomics, and is never unmapped: at most it is replaced by other memory.
        Ok(Self(unsafe { std::slice::from_raw_parts(start.cast().as_ptr(), words(len)) }))
    }

    /// Its words.
    pub fn words(self) -> &'static [AtomicU64] {
        self.0
    }

    /// Leaves the file: from now on it is memory of this process alone, all zero, at the same place.
    pub fn leave(self) {
        let start: *const AtomicU64 = self.0.as_ptr();
        fork::keep_in_child(start.cast());
        replace(start.cast_mut().cast(), self.0.len().saturating_mul(WORD));
    }
}

/// Puts memory of this process in the place of a mapping. Makes system calls and nothing else.
pub(crate) fn replace(start: *mut c_void, len: usize) {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
    // SAFETY: only `Memory` asks for that, of mappings of its own: what holds pointers there goes on with zeros, as if
    // another process had stored them. If there is no memory for a mapping the old one stays, which harms readers only.
    let _ = unsafe { mmap_anonymous(start, len, ProtFlags::READ | ProtFlags::WRITE, flags) };
}

/// A reader's mapping of a part of a file, which may change at any time, also to nonsense, or be gone: so it is loaded
/// from [in a child](crate::guard) only.
#[derive(Debug)]
pub(crate) struct View {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: it is memory that nobody but atomics reads, and it is unmapped when its only owner goes.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    /// So many bytes of a file from there on; both are multiples of a page.
    pub fn of_file(file: impl AsFd, at: u64, len: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at a place that the kernel chooses touches no memory of anybody.
        let start = unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, file, at) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, words: words(len) })
    }

    /// Its words, to be loaded and nothing else: a store ends the child.
    pub fn words(&self, _: &Inside) -> &[AtomicU64] {
        // SAFETY: the mapping has so many words, begins on a page, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: the mapping is whole, and `words` lent it no longer than `self` lived.
        let _ = unsafe { munmap(self.start.cast().as_ptr(), self.words.saturating_mul(WORD)) };
    }
}

/// Writes bytes from a word on; the last word is filled up with zeros.
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

/// Appends a copy of those words.
#[cfg(test)]
pub(crate) fn load_bytes(from: &[AtomicU64], to: &mut Vec<u8>) {
    to.extend(from.iter().flat_map(|word| word.load(Relaxed).to_ne_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_words() {
        let memory = Memory::own(4096).unwrap();
        store_bytes(&memory.words()[1..], *b"ninebytes");
        let mut bytes = Vec::new();
        load_bytes(&memory.words()[..4], &mut bytes);
        assert_eq!(bytes[..8], [0; 8]);
        assert_eq!(&bytes[8..17], b"ninebytes");
        assert_eq!(bytes[17..], [0; 15]);
    }

    #[test]
    fn memory_that_left_its_file_is_zero_and_stays() {
        let memory = Memory::own(8192).unwrap();
        memory.words()[1000].store(7, Relaxed);
        memory.leave();
        assert_eq!(memory.words()[1000].load(Relaxed), 0);
        memory.words()[1000].store(8, Relaxed);
        assert_eq!(memory.words()[1000].load(Relaxed), 8);
    }
}
