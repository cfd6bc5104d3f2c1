//! Provider of the counterset Software RAID.

use perfset_catalogue::software_raid as id;
use perfset_core::{CounterId, Counterset, NoValue};

use crate::provider::{
    Collection, InstanceKey, InstanceSource, MarkedRaw, ParsedFile, SeqFileKind, id_of_name, instance_name,
    unavailable,
};
use crate::roots::Roots;
use crate::sources::mdstat::{MdArray, MdStat, MdWork};

#[cfg(test)]
mod tests;

/// Instances of the counterset Software RAID, from `/proc/mdstat`.
#[derive(Debug)]
pub(crate) struct SoftwareRaid {
    file: ParsedFile<MdStat>,
    /// Names of the RAID arrays from which `keys` were made.
    names: Vec<Vec<u8>>,
    keys: Vec<InstanceKey>,
}

impl SoftwareRaid {
    /// Creates the provider of the counterset Software RAID, which reads the kernel's files below `roots`.
    pub(crate) fn new(roots: &Roots) -> Self {
        let absent = "this kernel has no software RAID";
        let file = ParsedFile::new(roots.proc.join("mdstat"), SeqFileKind::Records, absent, MdStat::parse);
        Self { file, names: Vec::new(), keys: Vec::new() }
    }
}

fn value(array: &MdArray, counter: CounterId) -> Result<u64, NoValue> {
    let is = |work| u64::from(array.work == Some(work));
    // Kinds without redundancy need all their disks.
    let others = array.listed.saturating_sub(array.failed).saturating_sub(array.spare);
    let no_size = unavailable("the kernel does not show its size");
    Ok(match counter {
        id::ACTIVE => u64::from(array.is_active),
        id::ACTIVE_DISKS | id::REQUIRED_DISKS if !array.is_active => {
            return Err(unavailable("the array does not run"));
        }
        id::ACTIVE_DISKS => array.slots.map_or(others, |(_, working)| working),
        id::REQUIRED_DISKS => array.slots.map_or(array.listed, |(required, _)| required),
        id::FAILED_DISKS => array.failed,
        id::SPARE_DISKS => array.spare,
        id::BLOCKS => array.blocks.ok_or(no_size)?,
        id::BLOCKS_SYNCED => match array.work {
            None => array.blocks.ok_or(no_size)?,
            Some(_) => array.done.ok_or(unavailable("the work on its disks has not begun"))?,
        },
        id::RECOVERING => is(MdWork::Recovery),
        id::RESYNCING => is(MdWork::Resync),
        id::RESHAPING => is(MdWork::Reshape),
        id::CHECKING => is(MdWork::Check),
        _ => return Err(NoValue::NotGiven),
    })
}

impl InstanceSource for SoftwareRaid {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { file, names, keys } = self;
        let arrays = match file.get(pass) {
            Ok(mdstat) => mdstat.arrays.as_slice(),
            Err(NoValue::Unavailable(_)) => &[], // the driver is not loaded
            Err(reason) => return Err(reason),
        };
        if !arrays.iter().map(|array| &array.name).eq(names.iter()) {
            *names = arrays.iter().map(|array| array.name.clone()).collect();
            *keys =
                names.iter().map(|name| InstanceKey::new(instance_name(name), id_of_name(name))).collect();
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let array = self.file.get(pass)?.arrays.get(at).ok_or(NoValue::NotGiven)?;
        value(array, counter).map(MarkedRaw::from)
    }
}
