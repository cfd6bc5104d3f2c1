//! Provider of the counterset Memory.

use perfset_catalogue::memory as id;
use perfset_core::{CounterId, Counterset, NoValue};

use crate::provider::{Collection, ParsedFile, SeqFileKind, SharedFile, SharedParsedFile, ValueSource};
use crate::roots::Roots;
use crate::sources::meminfo::MemInfo;
use crate::sources::modules::Modules;
use crate::sources::named::Number;
use crate::sources::vmstat::VmStat;

#[cfg(test)]
mod tests;

/// Values of the counterset Memory, from `/proc/meminfo`, `/proc/vmstat` and `/proc/modules`.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Size of a memory page, in bytes.
    page_size: u64,
    meminfo: ParsedFile<MemInfo>,
    vmstat: SharedParsedFile<VmStat>,
    modules: ParsedFile<Modules>,
}

const BYTES_IN_KIB: u64 = 1_024;
const KIB_IN_MIB: u64 = 1_024;

impl Memory {
    /// Creates the values of the counterset Memory from files below `roots`, and files that other countersets share.
    /// `page_size` is in bytes.
    pub(crate) fn new(
        roots: &Roots,
        meminfo: SharedFile,
        vmstat: SharedParsedFile<VmStat>,
        page_size: u64,
    ) -> Self {
        let (modules, no_modules) = (roots.proc.join("modules"), "there is no /proc/modules");
        Self {
            page_size,
            meminfo: ParsedFile::from_file(meminfo, "there is no /proc/meminfo", MemInfo::parse),
            vmstat,
            modules: ParsedFile::new(modules, SeqFileKind::Records, no_modules, Modules::parse),
        }
    }

    fn kib(&mut self, of: fn(&MemInfo) -> &Number, pass: &mut Collection) -> Result<u64, NoValue> {
        self.meminfo.number(of, pass)
    }

    fn bytes(&mut self, of: fn(&MemInfo) -> &Number, pass: &mut Collection) -> Result<u64, NoValue> {
        Ok(self.kib(of, pass)?.saturating_mul(BYTES_IN_KIB))
    }

    fn events(&mut self, of: fn(&VmStat) -> &Number, pass: &mut Collection) -> Result<u64, NoValue> {
        self.vmstat.lock().number(of, pass)
    }

    fn pages(&self, kib: u64) -> u64 {
        kib.saturating_mul(BYTES_IN_KIB).checked_div(self.page_size).unwrap_or(0)
    }

    /// Returns the size of the page cache in bytes, without shared memory.
    fn page_cache(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        // `Cached` includes shared memory and tmpfs, which are not cached contents of disks.
        let cached = self.bytes(|mi| &mi.cached, pass)?;
        let all = cached.saturating_add(self.bytes(|mi| &mi.buffers, pass)?);
        Ok(all.saturating_sub(self.bytes(|mi| &mi.shmem, pass)?))
    }

    fn pages_input(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        let kib = self.events(|vm| &vm.pgpgin, pass)?;
        Ok(self.pages(kib))
    }

    fn pages_output(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        let kib = self.events(|vm| &vm.pgpgout, pass)?;
        Ok(self.pages(kib))
    }
}

impl ValueSource for Memory {
    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        Ok(match counter {
            // Page lists of Windows, by the nearest number of the kernel. `MemAvailable` is its own estimate,
            // and may be below `MemFree`, because some free memory is a reserve.
            id::AVAILABLE_BYTES => self.bytes(|mi| &mi.mem_available, pass)?,
            id::AVAILABLE_KBYTES => self.kib(|mi| &mi.mem_available, pass)?,
            id::AVAILABLE_MBYTES => self.kib(|mi| &mi.mem_available, pass)? / KIB_IN_MIB,
            id::FREE_ZERO_PAGE_LIST_BYTES => self.bytes(|mi| &mi.mem_free, pass)?,
            id::STANDBY_CACHE_NORMAL_PRIORITY_BYTES => {
                let available = self.bytes(|mi| &mi.mem_available, pass)?;
                available.saturating_sub(self.bytes(|mi| &mi.mem_free, pass)?)
            }
            id::MODIFIED_PAGE_LIST_BYTES => {
                let dirty = self.bytes(|mi| &mi.dirty, pass)?;
                dirty.saturating_add(self.bytes(|mi| &mi.writeback, pass)?)
            }
            id::SYSTEM_CACHE_RESIDENT_BYTES => self.page_cache(pass)?,
            id::CACHE_BYTES => {
                let pool = self.bytes(|mi| &mi.s_reclaimable, pass)?;
                self.page_cache(pass)?.saturating_add(pool)
            }

            // Commit charge. A percentage and its base are two counters, because PerfLib divides them in the
            // consumer.
            id::COMMITTED_BYTES | id::PERCENT_COMMITTED_BYTES_IN_USE => {
                self.bytes(|mi| &mi.committed_as, pass)?
            }
            id::COMMIT_LIMIT | id::PERCENT_COMMITTED_BYTES_IN_USE_BASE => {
                self.bytes(|mi| &mi.commit_limit, pass)?
            }

            // Pools. Linux never writes kernel memory to disk: what it can give up takes the place of the
            // paged pool, the rest that of the nonpaged pool.
            id::POOL_PAGED_BYTES | id::POOL_PAGED_RESIDENT_BYTES => {
                self.bytes(|mi| &mi.s_reclaimable, pass)?
            }
            id::POOL_NONPAGED_BYTES => {
                let slab = self.bytes(|mi| &mi.s_unreclaim, pass)?;
                let stacks = self.bytes(|mi| &mi.kernel_stack, pass)?;
                let tables = self.bytes(|mi| &mi.page_tables, pass)?;
                let percpu = self.bytes(|mi| &mi.percpu, pass)?;
                slab.saturating_add(stacks).saturating_add(tables).saturating_add(percpu)
            }
            id::FREE_SYSTEM_PAGE_TABLE_ENTRIES => {
                let total = self.kib(|mi| &mi.vmalloc_total, pass)?;
                let used = self.kib(|mi| &mi.vmalloc_used, pass)?;
                self.pages(total.saturating_sub(used))
            }
            id::SYSTEM_DRIVER_TOTAL_BYTES => self.modules.get(pass)?.bytes,

            // Faults and paging. `pgpgin` and `pgpgout` count KiB, although their names say pages.
            id::PAGE_FAULTS_PER_SEC => self.events(|vm| &vm.pgfault, pass)?,
            id::PAGE_READS_PER_SEC => self.events(|vm| &vm.pgmajfault, pass)?,
            id::TRANSITION_PAGES_REPURPOSED_PER_SEC => {
                let in_background = self.events(|vm| &vm.pgsteal_kswapd, pass)?;
                let by_programs = self.events(|vm| &vm.pgsteal_direct, pass)?;
                let for_huge_pages = or_none(self.events(|vm| &vm.pgsteal_khugepaged, pass))?;
                let proactive = or_none(self.events(|vm| &vm.pgsteal_proactive, pass))?;
                let parts = [by_programs, for_huge_pages, proactive];
                parts.into_iter().fold(in_background, u64::saturating_add)
            }
            id::PAGES_INPUT_PER_SEC => self.pages_input(pass)?,
            id::PAGES_OUTPUT_PER_SEC => self.pages_output(pass)?,
            id::PAGES_PER_SEC => self.pages_input(pass)?.saturating_add(self.pages_output(pass)?),

            _ => return Err(never(counter)),
        })
    }
}

/// Returns the number in a line of a kernel file, or 0 for a missing line, whose number this kernel includes in
/// another line.
fn or_none(part: Result<u64, NoValue>) -> Result<u64, NoValue> {
    match part {
        Err(NoValue::Unavailable(_)) => Ok(0),
        part => part,
    }
}

/// Returns the reason why a counter of Memory has no value on any Linux.
fn never(counter: CounterId) -> NoValue {
    let why = match counter {
        id::WRITE_COPIES_PER_SEC | id::TRANSITION_FAULTS_PER_SEC | id::DEMAND_ZERO_FAULTS_PER_SEC => {
            "the kernel does not count them apart from other faults"
        }
        id::CACHE_FAULTS_PER_SEC => "the kernel does not count misses of its page cache",
        id::PAGE_WRITES_PER_SEC => "the kernel counts what was written, not in how many writes",
        id::POOL_PAGED_ALLOCS | id::POOL_NONPAGED_ALLOCS => "no file counts pieces by this division",
        id::CACHE_BYTES_PEAK => "the kernel keeps no such maximum",
        id::SYSTEM_CODE_TOTAL_BYTES | id::SYSTEM_CODE_RESIDENT_BYTES => {
            "the kernel does not publish the size of its code"
        }
        id::SYSTEM_DRIVER_RESIDENT_BYTES => "the kernel's modules are never paged out",
        id::STANDBY_CACHE_RESERVE_BYTES | id::STANDBY_CACHE_CORE_BYTES => {
            "the kernel's caches have no such priority"
        }
        id::LONG_TERM_AVERAGE_STANDBY_CACHE_LIFETIME => {
            "the kernel does not note when contents came into its cache"
        }
        _ => return NoValue::NotGiven,
    };
    NoValue::Unavailable(why.into())
}
