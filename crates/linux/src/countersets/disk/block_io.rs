//! Provider of the counterset Block I/O.

use perfset_core::catalogue::block_io as id;
use perfset_core::{CounterId, Counterset, NoValue};

use super::disks::{DeviceKind, Disks};
use super::physical::DiskRows;
use crate::countersets::several::{InstanceKey, InstanceSource};
use crate::countersets::value::MarkedRaw;
use crate::pass::Collection;
use crate::sources::diskstats::Field;

/// Instances of Block I/O, from `/proc/diskstats`; `/sys/block` determines which devices are whole.
#[derive(Debug)]
pub(crate) struct BlockIo {
    disks: Disks,
    found: DiskRows,
}

impl BlockIo {
    pub(crate) fn new(disks: Disks) -> Self {
        Self { disks, found: DiskRows::default() }
    }
}

impl InstanceSource for BlockIo {
    const COUNTERSET: &'static Counterset = &id::COUNTERSET;
    const HAS_TOTAL: bool = false;

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        self.found.find(&self.disks, pass, |kind, disk| kind != DeviceKind::Partition && disk.is_used())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.found.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, _: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let requests = self.found.requests(at)?;
        match counter {
            id::PERCENT_BUSY_TIME => requests.in_100ns(Field::BusyMs),
            id::REQUESTS_IN_FLIGHT => requests.get(Field::InFlight),
            id::AVG_REQUESTS_IN_FLIGHT => requests.in_100ns(Field::AllMs),

            id::READS_PER_SEC | id::AVG_SEC_READ_BASE | id::AVG_SECTORS_READ_BASE => {
                requests.get(Field::Reads)
            }
            id::READS_MERGED_PER_SEC => requests.get(Field::ReadsMerged),
            id::SECTORS_READ_PER_SEC | id::AVG_SECTORS_READ => requests.get(Field::SectorsRead),
            id::PERCENT_READ_TIME => requests.in_100ns(Field::ReadMs),
            id::AVG_SEC_READ => requests.in_perf_time(Field::ReadMs),

            id::WRITES_PER_SEC | id::AVG_SEC_WRITE_BASE | id::AVG_SECTORS_WRITE_BASE => {
                requests.get(Field::Writes)
            }
            id::WRITES_MERGED_PER_SEC => requests.get(Field::WritesMerged),
            id::SECTORS_WRITTEN_PER_SEC | id::AVG_SECTORS_WRITE => requests.get(Field::SectorsWritten),
            id::PERCENT_WRITE_TIME => requests.in_100ns(Field::WriteMs),
            id::AVG_SEC_WRITE => requests.in_perf_time(Field::WriteMs),

            id::DISCARDS_PER_SEC | id::AVG_SEC_DISCARD_BASE | id::AVG_SECTORS_DISCARD_BASE => {
                requests.get(Field::Discards)
            }
            id::DISCARDS_MERGED_PER_SEC => requests.get(Field::DiscardsMerged),
            id::SECTORS_DISCARDED_PER_SEC | id::AVG_SECTORS_DISCARD => requests.get(Field::SectorsDiscarded),
            id::PERCENT_DISCARD_TIME => requests.in_100ns(Field::DiscardMs),
            id::AVG_SEC_DISCARD => requests.in_perf_time(Field::DiscardMs),

            id::FLUSHES_PER_SEC | id::AVG_SEC_FLUSH_BASE => requests.get(Field::Flushes),
            id::PERCENT_FLUSH_TIME => requests.in_100ns(Field::FlushMs),
            id::AVG_SEC_FLUSH => requests.in_perf_time(Field::FlushMs),

            _ => Err(NoValue::NotGiven),
        }
    }
}
