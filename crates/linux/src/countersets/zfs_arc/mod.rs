//! Provider of the counterset ZFS ARC.

use perfset_catalogue::zfs_arc as id;
use perfset_core::{CounterId, Counterset, NoValue};

use crate::provider::{Collection, ParsedFile, SeqFileKind, ValueSource, unavailable};
use crate::roots::Roots;
use crate::sources::arcstats::ArcStats;

#[cfg(test)]
mod tests;

/// Values of the counterset ZFS ARC, from `/proc/spl/kstat/zfs/arcstats`.
#[derive(Debug)]
pub(crate) struct ZfsArc {
    file: ParsedFile<ArcStats>,
}

/// Counters of ZFS ARC, each with the name of its line in `arcstats`.
const ROWS: [(CounterId, &str); 31] = [
    (id::HITS_PER_SEC, "hits"),
    (id::MISSES_PER_SEC, "misses"),
    (id::DEMAND_DATA_HITS_PER_SEC, "demand_data_hits"),
    (id::DEMAND_DATA_MISSES_PER_SEC, "demand_data_misses"),
    (id::DEMAND_METADATA_HITS_PER_SEC, "demand_metadata_hits"),
    (id::DEMAND_METADATA_MISSES_PER_SEC, "demand_metadata_misses"),
    (id::PREFETCH_DATA_HITS_PER_SEC, "prefetch_data_hits"),
    (id::PREFETCH_DATA_MISSES_PER_SEC, "prefetch_data_misses"),
    (id::PREFETCH_METADATA_HITS_PER_SEC, "prefetch_metadata_hits"),
    (id::PREFETCH_METADATA_MISSES_PER_SEC, "prefetch_metadata_misses"),
    (id::MRU_HITS_PER_SEC, "mru_hits"),
    (id::MRU_GHOST_HITS_PER_SEC, "mru_ghost_hits"),
    (id::MFU_HITS_PER_SEC, "mfu_hits"),
    (id::MFU_GHOST_HITS_PER_SEC, "mfu_ghost_hits"),
    (id::DELETED_PER_SEC, "deleted"),
    (id::SIZE_BYTES, "size"),
    (id::TARGET_SIZE_BYTES, "c"),
    (id::MINIMUM_TARGET_SIZE_BYTES, "c_min"),
    (id::MAXIMUM_TARGET_SIZE_BYTES, "c_max"),
    (id::MRU_SIZE_BYTES, "mru_size"),
    (id::MFU_SIZE_BYTES, "mfu_size"),
    (id::DATA_SIZE_BYTES, "data_size"),
    (id::METADATA_SIZE_BYTES, "metadata_size"),
    (id::HEADER_SIZE_BYTES, "hdr_size"),
    (id::L2_HITS_PER_SEC, "l2_hits"),
    (id::L2_MISSES_PER_SEC, "l2_misses"),
    (id::L2_READ_BYTES_PER_SEC, "l2_read_bytes"),
    (id::L2_WRITE_BYTES_PER_SEC, "l2_write_bytes"),
    (id::L2_SIZE_BYTES, "l2_size"),
    (id::L2_COMPRESSED_SIZE_BYTES, "l2_asize"),
    (id::MEMORY_THROTTLES_PER_SEC, "memory_throttle_count"),
];

impl ZfsArc {
    /// Creates the values of ZFS ARC from a file below `roots`.
    pub(crate) fn new(roots: &Roots) -> Self {
        let path = roots.proc.join("spl/kstat/zfs/arcstats");
        Self { file: ParsedFile::new(path, SeqFileKind::Records, "there is no ZFS", ArcStats::parse) }
    }
}

impl ValueSource for ZfsArc {
    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        let row = ROWS.iter().find(|(known, _)| *known == counter);
        let (_, name) = row.ok_or(NoValue::NotGiven)?;
        self.file.get(pass)?.get(name).ok_or(unavailable("this version of ZFS does not report it"))
    }
}
