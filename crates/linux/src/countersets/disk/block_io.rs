//! Provider of the counterset Block I/O.

use perfset_catalogue::block_io as id;
use perfset_core::{CounterId, Counterset, NoValue};
use perfset_engine::Fact;

use super::disks::{DeviceKind, Disks};
use super::physical::DiskRows;
use crate::provider::{Collection, InstanceKey, InstanceSource, MarkedRaw};
use crate::sources::diskstats::DiskStatsField;

/// Instances of the counterset Block I/O, from `/proc/diskstats`; `/sys/block` determines which devices are whole.
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
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        self.found.find(&self.disks, pass, |kind, disk| {
            kind != DeviceKind::Partition && (disk.is_used() || !disk.is_often_unused())
        })
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.found.keys
    }

    fn facts(&mut self, at: usize, pass: &mut Collection) -> Vec<Fact> {
        self.found.keys.get(at).map(|key| self.disks.facts(key, pass)).unwrap_or_default()
    }

    fn value(&mut self, at: usize, counter: CounterId, _: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let requests = self.found.requests(at)?;
        match counter {
            id::PERCENT_BUSY_TIME => requests.in_100ns(DiskStatsField::BusyMs),
            id::REQUESTS_IN_FLIGHT => requests.get(DiskStatsField::InFlight),
            id::AVG_REQUESTS_IN_FLIGHT => requests.in_100ns(DiskStatsField::AllMs),

            id::READS_PER_SEC | id::AVG_SEC_READ_BASE | id::AVG_SECTORS_READ_BASE => {
                requests.get(DiskStatsField::Reads)
            }
            id::READS_MERGED_PER_SEC => requests.get(DiskStatsField::ReadsMerged),
            id::SECTORS_READ_PER_SEC | id::AVG_SECTORS_READ => requests.get(DiskStatsField::SectorsRead),
            id::PERCENT_READ_TIME => requests.in_100ns(DiskStatsField::ReadMs),
            id::AVG_SEC_READ => requests.in_perf_time(DiskStatsField::ReadMs),

            id::WRITES_PER_SEC | id::AVG_SEC_WRITE_BASE | id::AVG_SECTORS_WRITE_BASE => {
                requests.get(DiskStatsField::Writes)
            }
            id::WRITES_MERGED_PER_SEC => requests.get(DiskStatsField::WritesMerged),
            id::SECTORS_WRITTEN_PER_SEC | id::AVG_SECTORS_WRITE => {
                requests.get(DiskStatsField::SectorsWritten)
            }
            id::PERCENT_WRITE_TIME => requests.in_100ns(DiskStatsField::WriteMs),
            id::AVG_SEC_WRITE => requests.in_perf_time(DiskStatsField::WriteMs),

            id::DISCARDS_PER_SEC | id::AVG_SEC_DISCARD_BASE | id::AVG_SECTORS_DISCARD_BASE => {
                requests.get(DiskStatsField::Discards)
            }
            id::DISCARDS_MERGED_PER_SEC => requests.get(DiskStatsField::DiscardsMerged),
            id::SECTORS_DISCARDED_PER_SEC | id::AVG_SECTORS_DISCARD => {
                requests.get(DiskStatsField::SectorsDiscarded)
            }
            id::PERCENT_DISCARD_TIME => requests.in_100ns(DiskStatsField::DiscardMs),
            id::AVG_SEC_DISCARD => requests.in_perf_time(DiskStatsField::DiscardMs),

            id::FLUSHES_PER_SEC | id::AVG_SEC_FLUSH_BASE => requests.get(DiskStatsField::Flushes),
            id::PERCENT_FLUSH_TIME => requests.in_100ns(DiskStatsField::FlushMs),
            id::AVG_SEC_FLUSH => requests.in_perf_time(DiskStatsField::FlushMs),

            _ => Err(NoValue::NotGiven),
        }
    }
}
