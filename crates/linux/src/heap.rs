//! Control of the freed memory that the C library's allocator keeps.

/// Gives freed memory that the allocator keeps for later back to the system, in whole free pages. Only glibc has a
/// function for that; elsewhere nothing happens.
pub fn release_memory() {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: it takes a number and no pointer, locks what it changes, and changes nothing that is in use.
        #[expect(unsafe_code, reason = "no crate of ours in use has this call")]
        let _ = unsafe { libc::malloc_trim(0) };
    }
}

/// Makes the allocator return each large block of memory to the system when it is freed, for the rest of the process.
///
/// By default glibc does so until a larger block is freed, and from then on keeps blocks up to that size. A server
/// that once wrote a response of many MiB would keep that much memory forever. Elsewhere nothing happens.
pub fn return_large_pieces() {
    #[cfg(target_env = "gnu")]
    {
        /// Minimum size of an allocated block, in bytes, that gets a memory mapping of its own.
        const LARGE: libc::c_int = 256 << 10;
        // SAFETY: it takes two numbers and no pointer, and changes what later calls of the allocator do.
        #[expect(unsafe_code, reason = "no crate of ours in use has this call")]
        let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    }
}

#[cfg(test)]
#[cfg(target_env = "gnu")]
mod tests {
    use super::*;

    /// Returns the resident memory of this process, in bytes.
    fn resident() -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * rustix::param::page_size()
    }

    /// Checks that freed pages between blocks in use are returned to the system: without the call they stay resident.
    #[test]
    fn pages_between_living_pieces_are_returned() {
        const PIECES: usize = 20_000;
        let mut pieces: Vec<_> = (0..PIECES).map(|_| Some(vec![1_u8; 3_000])).collect();
        for piece in pieces.iter_mut().enumerate().filter(|(at, _)| at % 16 != 0).map(|(_, piece)| piece) {
            *piece = None;
        }
        let before = resident();
        release_memory();
        let returned = before.saturating_sub(resident());
        assert!(returned > 30 << 20, "{returned} of {before} bytes");
        assert!(pieces.iter().flatten().all(|piece| piece.iter().all(|byte| *byte == 1)));
    }
}
