//! Parser of `/proc/meminfo`: use of the physical memory.
//!
//! Source: `proc_meminfo(5)`.

use crate::sources::named::{NamedLines, Number, kib, numbers};
use crate::sources::text::{Text, TextError};

/// Lines of `/proc/meminfo` that are needed for counters. Unit: KiB, which the kernel calls kB.
///
/// ```
/// use perfset_linux::sources::meminfo::MemInfo;
///
/// let mut meminfo = MemInfo::default();
/// meminfo.parse(b"MemTotal:  7 kB\nMemFree:   2 kB\nMemAvailable:  3 kB\n").unwrap();
/// assert_eq!(meminfo.mem_available, Some(Ok(3)));
/// assert_eq!(meminfo.cached, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemInfo {
    /// `MemFree`: memory that is not used.
    pub mem_free: Number,
    /// `MemAvailable`: memory that is available without swapping, as the kernel estimates. Since Linux 3.14.
    pub mem_available: Number,
    /// `Buffers`: cached blocks of disks.
    pub buffers: Number,
    /// `Cached`: cached contents of files, shared memory included.
    pub cached: Number,
    /// `Active(file)`: cached contents of files that were used lately.
    pub active_file: Number,
    /// `Inactive(file)`: cached contents of files that were not used lately.
    pub inactive_file: Number,
    /// `Dirty`: memory that waits to be written to disk.
    pub dirty: Number,
    /// `Writeback`: memory that is being written to disk.
    pub writeback: Number,
    /// `Shmem`: shared memory, tmpfs included.
    pub shmem: Number,
    /// `SReclaimable`: slab caches that can be freed.
    pub s_reclaimable: Number,
    /// `SUnreclaim`: slab caches that cannot be freed.
    pub s_unreclaim: Number,
    /// `KernelStack`: kernel stacks of threads.
    pub kernel_stack: Number,
    /// `PageTables`: page tables of processes.
    pub page_tables: Number,
    /// `CommitLimit`: memory that can be promised to programs so that every promise can be kept.
    pub commit_limit: Number,
    /// `Committed_AS`: memory that was promised to programs.
    pub committed_as: Number,
    /// `VmallocTotal`: size of the kernel's address range for its own larger allocations.
    pub vmalloc_total: Number,
    /// `VmallocUsed`: the used part of the kernel's address range for its own larger allocations. 0 in Linux 4.4 to
    /// 5.2.
    pub vmalloc_used: Number,
    /// `Percpu`: memory that exists separately for each processor. After Linux 4.18.
    pub percpu: Number,
}

impl MemInfo {
    /// Parses `/proc/meminfo`, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut wanted = [
            ("MemFree:", &mut self.mem_free),
            ("MemAvailable:", &mut self.mem_available),
            ("Buffers:", &mut self.buffers),
            ("Cached:", &mut self.cached),
            ("Active(file):", &mut self.active_file),
            ("Inactive(file):", &mut self.inactive_file),
            ("Dirty:", &mut self.dirty),
            ("Writeback:", &mut self.writeback),
            ("Shmem:", &mut self.shmem),
            ("SReclaimable:", &mut self.s_reclaimable),
            ("SUnreclaim:", &mut self.s_unreclaim),
            ("KernelStack:", &mut self.kernel_stack),
            ("PageTables:", &mut self.page_tables),
            ("CommitLimit:", &mut self.commit_limit),
            ("Committed_AS:", &mut self.committed_as),
            ("VmallocTotal:", &mut self.vmalloc_total),
            ("VmallocUsed:", &mut self.vmalloc_used),
            ("Percpu:", &mut self.percpu),
        ];
        numbers(&mut Text::new(text), kib, &mut wanted)
    }
}

/// All lines of `/proc/meminfo`, under the kernel's names. Unit: bytes; numbers of huge pages have no unit.
///
/// ```
/// use perfset_linux::sources::meminfo::AllLines;
///
/// let mut all = AllLines::default();
/// all.parse(b"Slab:   7 kB\nHugePages_Free:  2\n").unwrap();
/// let number = |name: &[u8]| all.lines.index(name).and_then(|place| all.lines.number(place));
/// assert_eq!(number(b"Slab"), Some(Ok(7 * 1_024)));
/// assert_eq!(number(b"HugePages_Free"), Some(Ok(2)));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllLines {
    /// Lines of `/proc/meminfo`, in the kernel's order.
    pub lines: NamedLines,
}

impl AllLines {
    /// Parses `/proc/meminfo`, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` has no line of a name, a colon and a number.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.lines.parse(&mut Text::new(text), b':', bytes)
    }
}

/// Parses a number of `/proc/meminfo` with its unit, or without a unit if it is a count, and skips the end of its
/// line. Returns bytes or the count.
fn bytes(text: &mut Text<'_>) -> Result<u64, TextError> {
    let number = text.number()?;
    text.skip_blanks();
    let unit = if text.take(b"kB") { 1_024 } else { 1 };
    text.end_of_line()?;
    Ok(number.saturating_mul(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        for (line, want) in [
            ("Dirty:  2 kB\n", Ok(2)),
            ("Dirty:2\tkB \n", Ok(2)),
            ("Dirty:  2\n", Err("the end of the line")),
            ("Dirty:  2 MB\n", Err("\"MB\"")),
            ("Dirty:  2 kB 3\n", Err("\"3\"")),
            ("Dirty:\n", Err("the end of the line")),
            ("Dirty:  2 kB", Err("the end of the file")),
        ] {
            let mut meminfo = MemInfo::default();
            meminfo.parse(line.as_bytes()).unwrap();
            let got = meminfo.dirty.unwrap();
            assert_eq!(got.map_err(|e| e.found), want.map_err(str::to_owned), "{line:?}");
        }
    }

    #[test]
    fn sizes_and_counts() {
        for (line, want) in [
            ("Slab:  2 kB\n", Ok(2_048)),
            ("Slab:2\n", Ok(2)),
            ("Slab:  18446744073709551615 kB\n", Ok(u64::MAX)),
            ("Slab:  2 MB\n", Err("\"MB\"")),
            ("Slab:  x kB\n", Err("\"x\"")),
            ("Slab:  2 kB", Err("the end of the file")),
        ] {
            let mut all = AllLines::default();
            all.parse(line.as_bytes()).unwrap();
            let got = all.lines.number(0).unwrap();
            assert_eq!(got.map_err(|e| e.found), want.map_err(str::to_owned), "{line:?}");
        }
    }

    #[test]
    fn names_that_contain_others() {
        let mut meminfo = MemInfo::default();
        meminfo.parse(b"SwapCached: 2 kB\nWritebackTmp: 3 kB\nInactive: 5 kB\nMemFree: 7 kB\n").unwrap();
        assert_eq!(meminfo, MemInfo { mem_free: Some(Ok(7)), ..MemInfo::default() });
    }
}
