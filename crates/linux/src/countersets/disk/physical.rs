//! Provider of the counterset PhysicalDisk.

use perfset_catalogue::physical_disk as id;
use perfset_core::{CounterId, Counterset, NoValue};
use perfset_engine::Fact;

use super::disks::{DeviceKind, Disk, Disks};
use super::requests::{Requests, mean, never, total_of};
use crate::provider::{Collection, InstanceKey, InstanceSource, MarkedRaw, Total};

/// Instances of the counterset PhysicalDisk, from `/proc/diskstats`; `/sys/block` determines which devices are disks.
#[derive(Debug)]
pub(crate) struct PhysicalDisk {
    disks: Disks,
    found: DiskRows,
}

impl PhysicalDisk {
    pub(crate) fn new(disks: Disks) -> Self {
        Self { disks, found: DiskRows::default() }
    }
}

impl InstanceSource for PhysicalDisk {
    const HAS_TOTAL: bool = true;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        self.found.find(&self.disks, pass, |kind, _| kind == DeviceKind::Disk)
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.found.keys
    }

    fn facts(&mut self, at: usize, pass: &mut Collection) -> Vec<Fact> {
        self.found.keys.get(at).map(|key| self.disks.facts(key, pass)).unwrap_or_default()
    }

    fn value(&mut self, at: usize, counter: CounterId, _: &mut Collection) -> Result<MarkedRaw, NoValue> {
        never(counter).map_or(Ok(()), Err)?;
        self.found.requests(at)?.value(counter)
    }

    fn total_of(&self, counter: CounterId) -> Total {
        total_of(counter)
    }

    fn total(&mut self, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let count = self.found.keys.len();
        mean((0..count).map(|at| self.value(at, counter, pass)))
    }
}

/// Block devices that have a row in a counterset.
#[derive(Debug, Default)]
pub(super) struct DiskRows {
    pub(super) keys: Vec<InstanceKey>,
    requests: Vec<Result<Requests, NoValue>>,
}

impl DiskRows {
    /// Selects the block devices for which `is_wanted` returns `true`.
    pub(super) fn find(
        &mut self,
        disks: &Disks,
        pass: &mut Collection,
        is_wanted: fn(DeviceKind, &Disk) -> bool,
    ) -> Result<(), NoValue> {
        let Self { keys, requests } = self;
        requests.clear();
        disks.with(pass, |disks, sys_block, pass| {
            for disk in disks {
                let kind = disk.kind(sys_block, pass)?;
                if !is_wanted(kind, disk) {
                    continue;
                }
                match keys.get_mut(requests.len()) {
                    Some(key) if *key == disk.key => {}
                    Some(key) => key.clone_from(&disk.key),
                    None => keys.push(disk.key.clone()),
                }
                requests.push(disk.requests());
            }
            Ok(())
        })?;
        keys.truncate(requests.len());
        Ok(())
    }

    pub(super) fn requests(&self, at: usize) -> Result<&Requests, NoValue> {
        self.requests.get(at).ok_or(NoValue::NotGiven)?.as_ref().map_err(NoValue::clone)
    }
}
