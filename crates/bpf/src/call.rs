//! System call `bpf(2)`, and memory mappings that the kernel writes.
//!
//! Source: `bpf(2)`, and `include/uapi/linux/bpf.h` of the kernel for the offsets in its argument.

#![expect(unsafe_code, reason = "system calls, and memory that is mapped")]

use std::ffi::{CStr, c_int};
use std::io::{self, Error, ErrorKind, Read};
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use crate::asm::Instruction;

/// Argument of a `bpf(2)` call: a union of structures. All unused bytes are zero.
#[repr(align(8))]
struct Argument([u8; Self::LEN]);

impl Argument {
    /// Size of the argument of `bpf(2)` in bytes, enough for the commands used here. An older kernel accepts bytes
    /// that it does not know if they are zero.
    const LEN: usize = 160;

    fn new() -> Self {
        Self([0; Self::LEN])
    }

    fn u32(mut self, at: usize, value: u32) -> Self {
        self.put(at, &value.to_ne_bytes());
        self
    }

    fn descriptor(self, at: usize, value: RawFd) -> Self {
        self.u32(at, u32::from_ne_bytes(value.to_ne_bytes()))
    }

    /// Stores an address in the argument of `bpf(2)`. The address must stay valid until the call is over.
    fn address<T: ?Sized>(mut self, at: usize, of: *const T) -> Self {
        let address = u64::try_from(of.cast::<u8>().addr()).unwrap_or(0);
        self.put(at, &address.to_ne_bytes());
        self
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        let end = at.saturating_add(bytes.len());
        if let Some(place) = self.0.get_mut(at..end) {
            place.copy_from_slice(bytes);
        }
    }

    /// Executes a command of `bpf(2)` with this argument, and returns the result of the system call.
    ///
    /// # Safety
    /// Each address in the argument must refer to as much memory as the command uses, until the call is over.
    unsafe fn call(&mut self, command: c_int) -> io::Result<c_int> {
        // SAFETY: the argument has `LEN` bytes, and the caller guarantees that its addresses are valid.
        let got = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), Self::LEN) };
        match c_int::try_from(got) {
            Ok(got) if got >= 0 => Ok(got),
            _ => Err(Error::last_os_error()),
        }
    }

    /// Executes a command of `bpf(2)` that creates a file descriptor, and returns that descriptor.
    ///
    /// # Safety
    /// The same as for [`call`](Self::call); the command's result must be a new file descriptor.
    unsafe fn open(&mut self, command: c_int) -> io::Result<OwnedFd> {
        // SAFETY: the caller guarantees that its addresses are valid.
        let descriptor = unsafe { self.call(command) }?;
        // SAFETY: the file descriptor is new, so that nothing else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    }
}

/// Type of a BPF map.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MapType {
    /// BPF map with one value, which can be mapped into memory.
    Mapped,
    /// BPF map with a value for each CPU.
    ByCpu,
}

/// Creates a BPF map with one value of `value_size` bytes.
pub(crate) fn new_map(kind: MapType, value_size: u32) -> io::Result<OwnedFd> {
    const MAP_CREATE: c_int = 0;
    let (kind, flags) = match kind {
        // `BPF_MAP_TYPE_ARRAY` with `BPF_F_MMAPABLE`.
        MapType::Mapped => (2, 1 << 10),
        // `BPF_MAP_TYPE_PERCPU_ARRAY`.
        MapType::ByCpu => (6, 0),
    };
    let [key_size, entries] = [4, 1];
    let argument = Argument::new().u32(0, kind).u32(4, key_size).u32(8, value_size).u32(12, entries);
    // SAFETY: the argument contains no addresses, and the command creates a file descriptor.
    unsafe { argument.u32(16, flags).open(MAP_CREATE) }
}

/// Type of a BPF program, given when it is loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProgramType {
    /// BPF program that is started by a system call, with [`run`].
    Called,
    /// BPF program that the kernel calls for the iterator whose function has this type id.
    Iterator(u32),
}

/// Loads a BPF program into the kernel. The kernel writes its messages to `log`, unless `log` is empty.
pub(crate) fn load(
    code: &[Instruction],
    kind: ProgramType,
    licence: &CStr,
    log: &mut [u8],
) -> io::Result<OwnedFd> {
    const PROG_LOAD: c_int = 5;
    const SYSCALL: u32 = 31;
    const SLEEPABLE: u32 = 1 << 4;
    const TRACING: u32 = 26;
    let count = u32::try_from(code.len()).map_err(|_| ErrorKind::InvalidInput)?;
    let mut argument = Argument::new().u32(4, count).address(8, code.as_ptr()).address(16, licence.as_ptr());
    if !log.is_empty() {
        const LEVEL: u32 = 1;
        let len = u32::try_from(log.len()).map_err(|_| ErrorKind::InvalidInput)?;
        argument = argument.u32(24, LEVEL).u32(28, len).address(32, log.as_mut_ptr());
    }
    argument.put(48, b"perfset_walk");
    let mut argument = match kind {
        ProgramType::Called => argument.u32(0, SYSCALL).u32(44, SLEEPABLE),
        ProgramType::Iterator(function) => argument.u32(0, TRACING).u32(68, TRACE_ITER).u32(108, function),
    };
    // SAFETY: the instructions, the licence with its NUL and the log have the given lengths and outlive the call.
    // Only the log is written. The result is a file descriptor.
    unsafe { argument.open(PROG_LOAD) }
}

const TRACE_ITER: u32 = 28;

/// Runs a BPF program once, until it ends.
pub(crate) fn run(program: &OwnedFd) -> io::Result<()> {
    const PROG_TEST_RUN: c_int = 10;
    let mut argument = Argument::new().descriptor(0, program.as_raw_fd());
    // SAFETY: the argument contains no addresses.
    unsafe { argument.call(PROG_TEST_RUN) }.map(drop)
}

/// Attaches a BPF program to its iterator, and returns the link between them.
pub(crate) fn link(program: &OwnedFd) -> io::Result<OwnedFd> {
    const LINK_CREATE: c_int = 28;
    let mut argument = Argument::new().descriptor(0, program.as_raw_fd()).u32(8, TRACE_ITER);
    // SAFETY: the argument contains no addresses, and the command creates a file descriptor.
    unsafe { argument.open(LINK_CREATE) }
}

/// Runs a BPF iterator over all tasks once.
pub(crate) fn iterate(link: &OwnedFd) -> io::Result<()> {
    const ITER_CREATE: c_int = 33;
    /// Maximum number of reads for one run of a BPF iterator. The kernel pauses after a million tasks, and has at
    /// most four million.
    const PAUSES: u32 = 100;
    let mut argument = Argument::new().descriptor(0, link.as_raw_fd());
    // SAFETY: the argument contains no addresses, and the command creates a file descriptor.
    let mut file = std::fs::File::from(unsafe { argument.open(ITER_CREATE) }?);
    for _ in 0..PAUSES {
        // The program prints nothing, so a read returns only at the end or at a pause.
        match file.read(&mut [0; 64]) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::TimedOut.into())
}

/// Separate memory mapping for the contents of a file of some megabytes.
///
/// Not from the allocator: once it has freed a block of that size, it no longer gets such blocks from the kernel, and
/// keeps their memory.
#[derive(Debug)]
pub(crate) struct Buffer {
    start: NonNull<u8>,
    bytes: usize,
    /// Number of bytes of the mapping that the file's contents fill.
    used: usize,
}

impl Buffer {
    /// Maximum size in bytes of a file that is read into a buffer. The files of Debian's kernels have five to ten
    /// megabytes.
    const MOST: u64 = 256 << 20;

    /// Reads a whole file into a new memory mapping.
    pub fn from_file(path: &Path) -> io::Result<Self> {
        // Anything except a regular file, such as a pipe, could block.
        let about = std::fs::metadata(path)?;
        if !about.is_file() || about.len() > Self::MOST {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is no file, or too long"));
        }
        let mut file = std::fs::File::open(path)?;
        let bytes = usize::try_from(about.len()).map_err(|_| ErrorKind::OutOfMemory)?.max(1);
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address that the kernel chooses overlaps no other memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(ErrorKind::OutOfMemory)?;
        let mut buffer = Self { start, bytes, used: 0 };
        // SAFETY: the mapping has `bytes` bytes, all zero, is used only by `buffer`, and lasts as long as `buffer`.
        let room = unsafe { std::slice::from_raw_parts_mut(buffer.start.as_ptr(), buffer.bytes) };
        let mut used = 0_usize;
        while let Some(rest) = room.get_mut(used..).filter(|rest| !rest.is_empty()) {
            match file.read(rest) {
                Ok(0) => break,
                Ok(more) => used = used.saturating_add(more),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        buffer.used = used;
        Ok(buffer)
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the first `used` bytes of the mapping are the file's. It lasts as long as `self`, and is no longer
        // written.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.used.min(self.bytes)) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: `from_file` created the mapping, and no reference to its bytes is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Mapping of the beginning of a BPF map's value into this process's memory.
#[derive(Debug)]
pub(crate) struct MapView {
    start: NonNull<AtomicU64>,
    bytes: usize,
}

// SAFETY: the memory is accessed only as atomics, by any thread.
unsafe impl Send for MapView {}
// SAFETY: as above.
unsafe impl Sync for MapView {}

impl MapView {
    /// Maps the first `bytes` bytes of a BPF map's value, rounded up to whole pages. The value must have as many.
    pub fn new(map: &OwnedFd, bytes: usize) -> io::Result<Self> {
        let bytes = bytes.checked_next_multiple_of(page_size()).ok_or(ErrorKind::InvalidInput)?;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at an address that the kernel chooses overlaps no other memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, map.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }

    /// Returns the mapped words of a BPF map's value. The kernel writes them while the map's program runs.
    pub fn words(&self) -> &[AtomicU64] {
        let count = self.bytes / 8;
        // SAFETY: the mapping has `count` words, begins on a page and lasts as long as `self`. It cannot be
        // shortened, because the memory of a map is as long as the map. Any bits are a valid word.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), count) }
    }
}

impl Drop for MapView {
    fn drop(&mut self) {
        // SAFETY: `of` created the mapping, and no reference to its words is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

fn page_size() -> usize {
    // SAFETY: `sysconf` takes a number and returns a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4_096)
}
