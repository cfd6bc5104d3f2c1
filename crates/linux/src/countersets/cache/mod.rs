//! Provider of the counterset Cache.

use perfset_catalogue::cache as id;
use perfset_core::{CounterId, Counterset, NoValue};

use crate::provider::{Collection, SharedParsedFile, ValueSource, unavailable};
use crate::sources::vmstat::VmStat;

#[cfg(test)]
mod tests;

/// Values of the counterset Cache, from `/proc/vmstat`.
#[derive(Debug)]
pub(crate) struct Cache {
    vmstat: SharedParsedFile<VmStat>,
}

impl Cache {
    /// Creates the values of the counterset Cache from a parsed `/proc/vmstat` that other countersets share.
    pub(crate) fn new(vmstat: SharedParsedFile<VmStat>) -> Self {
        Self { vmstat }
    }
}

impl ValueSource for Cache {
    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        match counter {
            id::DIRTY_PAGES => self.vmstat.lock().number(|vm| &vm.nr_dirty, pass),
            id::DIRTY_PAGE_THRESHOLD => self.vmstat.lock().number(|vm| &vm.nr_dirty_threshold, pass),
            id::DATA_FLUSH_PAGES_PER_SEC => self.vmstat.lock().number(|vm| &vm.nr_written, pass),
            _ => Err(never(counter)),
        }
    }
}

/// Returns the reason why a counter of Cache has no value on any Linux.
fn never(counter: CounterId) -> NoValue {
    unavailable(match counter {
        id::DATA_MAPS_PER_SEC
        | id::SYNC_DATA_MAPS_PER_SEC
        | id::ASYNC_DATA_MAPS_PER_SEC
        | id::DATA_MAP_HITS_PERCENT
        | id::DATA_MAP_HITS_PERCENT_BASE
        | id::DATA_MAP_PINS_PER_SEC => "file systems use pages of the cache where they are, uncounted",
        id::PIN_READS_PER_SEC
        | id::SYNC_PIN_READS_PER_SEC
        | id::ASYNC_PIN_READS_PER_SEC
        | id::PIN_READ_HITS_PERCENT
        | id::PIN_READ_HITS_PERCENT_BASE => "file systems take references to pages, uncounted",
        id::COPY_READS_PER_SEC | id::SYNC_COPY_READS_PER_SEC | id::ASYNC_COPY_READS_PER_SEC => {
            "the kernel does not count reads from its page cache apart from others"
        }
        id::COPY_READ_HITS_PERCENT | id::COPY_READ_HITS_PERCENT_BASE => {
            "the kernel counts neither hits nor misses of its page cache"
        }
        id::MDL_READS_PER_SEC
        | id::SYNC_MDL_READS_PER_SEC
        | id::ASYNC_MDL_READS_PER_SEC
        | id::MDL_READ_HITS_PERCENT
        | id::MDL_READ_HITS_PERCENT_BASE => "the kernel does not count reads without a copy",
        id::READ_AHEADS_PER_SEC => "the kernel does not count what it reads ahead of files",
        id::FAST_READS_PER_SEC
        | id::SYNC_FAST_READS_PER_SEC
        | id::ASYNC_FAST_READS_PER_SEC
        | id::FAST_READ_RESOURCE_MISSES_PER_SEC
        | id::FAST_READ_NOT_POSSIBLES_PER_SEC => "no read goes past the file system",
        id::LAZY_WRITE_FLUSHES_PER_SEC => "the kernel counts pages that were written back, not how often",
        id::LAZY_WRITE_PAGES_PER_SEC => {
            "the kernel counts together what it writes back and what it is asked to"
        }
        id::DATA_FLUSHES_PER_SEC => "the kernel does not count requests to write back",
        _ => return NoValue::NotGiven,
    })
}
