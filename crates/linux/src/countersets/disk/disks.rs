//! Block devices of `/proc/diskstats`, with their properties from `/sys/block`.

use std::io::ErrorKind;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use perfset_core::{Birth, InstanceId, NoValue};
use perfset_engine::Fact;

use super::facts;
use super::requests::{ReadTime, Requests};
use crate::provider::{
    Collection, InstanceKey, KeptFile, ParsedFile, ReadError, ReadFiles, SeqFileKind, instance_name,
    unavailable,
};
use crate::roots::Roots;
use crate::sources::attribute;
use crate::sources::diskstats::{Device, DiskStats, DiskStatsField};

/// Block devices of `/proc/diskstats`, shared by several countersets. The file is read and parsed once per collection.
#[derive(Clone, Debug)]
pub(crate) struct Disks(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    stats: ParsedFile<DiskStats>,
    sys_block: PathBuf,
    /// Path of the kernel's list of mounts, for facts about disks.
    mountinfo: PathBuf,
    time_100ns: fn(u64) -> u64,
    /// Number of the collection in which the list `disks` was read.
    pass: u64,
    /// Block devices in the order of `/proc/diskstats`.
    disks: Vec<Disk>,
}

/// Block device or partition, with its request counts.
#[derive(Debug)]
pub(super) struct Disk {
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) name: Vec<u8>,
    /// Request counts of the block device when its line of `/proc/diskstats` could last be read.
    requests: Option<Requests>,
    /// Error in the block device's line of `/proc/diskstats`, if the line cannot be read now.
    fault: Option<NoValue>,
    /// Key of the block device's row, if it has a row.
    pub(super) key: InstanceKey,
    kind: Option<DeviceKind>,
    /// Time at which the block device appeared or restarted, as PerfTime100NSec; `None` if this program did not see
    /// that. Serves as its birth if the kernel does not number its devices.
    pub(super) came: Birth,
}

/// Kind of a block device according to `/sys/block`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceKind {
    /// Partition of a block device.
    Partition,
    /// Block device without hardware of its own.
    Virtual,
    /// Drive without a medium, with the number of requests completed when it was examined.
    Empty(u64),
    /// Block device that stands for hardware, such as a disk.
    Disk,
}

impl Disks {
    /// Creates the list of block devices below `roots`. `time_100ns` converts a time of the monotonic clock, in ns,
    /// to PerfTime100NSec.
    pub(crate) fn new(roots: &Roots, time_100ns: fn(u64) -> u64) -> Self {
        let file = roots.proc.join("diskstats");
        let absent = "there is no /proc/diskstats";
        let stats = ParsedFile::new(file, SeqFileKind::Lines, absent, DiskStats::parse);
        let sys_block = roots.sys.join("block");
        let mountinfo = roots.proc.join(if roots.are_own() { "self" } else { "1" }).join("mountinfo");
        let state = State { stats, sys_block, mountinfo, time_100ns, pass: 0, disks: Vec::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Returns the facts about the block device whose row has this key.
    pub(super) fn facts(&self, key: &InstanceKey, pass: &mut Collection) -> Vec<Fact> {
        let found = self.with(pass, |disks, sys_block, _| {
            let disk = disks.iter().find(|disk| disk.key == *key);
            Ok(disk.map(|disk| (disk.name.clone(), disk.folder(sys_block))))
        });
        let Some((name, folder)) = found.ok().flatten() else { return Vec::new() };
        let mountinfo = self.0.lock().unwrap_or_else(PoisonError::into_inner).mountinfo.clone();
        facts::facts(&name, &folder, &mountinfo, pass)
    }

    /// Calls `then` with the block devices of this collection, and the path of `/sys/block`.
    pub(super) fn with<T>(
        &self,
        pass: &mut Collection,
        then: impl FnOnce(&mut [Disk], &Path, &mut Collection) -> Result<T, NoValue>,
    ) -> Result<T, NoValue> {
        // After a panic of another thread the state is usable: the lines are read again.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.read(pass)?;
        let State { disks, sys_block, .. } = &mut *state;
        then(disks, sys_block, pass)
    }
}

impl State {
    fn read(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        if self.pass == pass.number() {
            return Ok(());
        }
        let time_100ns = (self.time_100ns)(pass.elapsed_ns());
        let now = ReadTime { time_100ns, up_100ns: time_100ns.saturating_sub((self.time_100ns)(0)) };
        let devices = &self.stats.get(pass)?.devices;
        for (at, device) in devices.iter().enumerate() {
            // A device nearly always keeps its index.
            let known = self.disks.get(at..).unwrap_or_default().iter().position(|disk| disk.is(device));
            match known {
                Some(0) => {}
                // Those in between are found later, or are gone and cut off at the end.
                Some(further) => self.disks.swap(at, at.saturating_add(further)),
                None => {
                    // At the first reading all devices are new to this program, and none has just appeared.
                    let came = NonZeroU64::new(time_100ns).filter(|_| self.pass != 0);
                    self.disks.insert(at.min(self.disks.len()), Disk::new(device, came));
                }
            }
            if let Some(disk) = self.disks.get_mut(at) {
                // Follows the counts at every collection, so that no overflow of a 32-bit count is missed.
                disk.go_on(device, now);
            }
        }
        let count = devices.len();
        self.disks.truncate(count);
        for (at, disk) in self.disks.iter_mut().enumerate() {
            let text = self.stats.get(pass)?.devices.get(at).and_then(|line| line.numbers.as_ref().err());
            let text = text.cloned();
            disk.fault = text.map(|text| self.stats.fault(text));
        }
        self.pass = pass.number();
        Ok(())
    }
}

impl Disk {
    fn new(device: &Device, came: Birth) -> Self {
        // As in the kernel's `dev_t`: 12 bits of the major number, 20 of the minor one.
        let id = InstanceId(device.major.wrapping_shl(20) | device.minor);
        Self {
            major: device.major,
            minor: device.minor,
            name: device.name.clone(),
            requests: None,
            fault: None,
            key: InstanceKey::new(instance_name(&device.name), id),
            kind: None,
            came,
        }
    }

    fn is(&self, device: &Device) -> bool {
        (self.minor, self.major) == (device.minor, device.major) && self.name == device.name
    }

    fn go_on(&mut self, device: &Device, now: ReadTime) {
        let Ok(numbers) = &device.numbers else { return };
        if let Some(requests) = &mut self.requests {
            if requests.go_on(*numbers, now) {
                return;
            }
            self.came = NonZeroU64::new(now.time_100ns); // another under the same name
        }
        self.requests = Some(Requests::new(*numbers, now));
        // The other device may be of another kind.
        self.kind = None;
    }

    /// Returns the request counts of the block device, or the reason why they are unknown.
    pub(super) fn requests(&self) -> Result<Requests, NoValue> {
        self.fault.clone().map_or(Ok(()), Err)?;
        self.requests.ok_or(NoValue::NotGiven)
    }

    fn completed(&self) -> u64 {
        let of = |field| self.requests?.get(field).ok().map(|number| number.raw);
        of(DiskStatsField::Reads).unwrap_or(0).wrapping_add(of(DiskStatsField::Writes).unwrap_or(0))
    }

    /// Returns `true` if the block device has ever had a request.
    pub(super) fn is_used(&self) -> bool {
        let is_not_0 = |requests: &Requests, field| requests.get(field).is_ok_and(|number| number.raw > 0);
        match &self.requests {
            Some(requests) => DiskStatsField::ALL.into_iter().any(|field| is_not_0(requests, field)),
            None => true, // nobody knows
        }
    }

    /// Returns `true` if the kernel creates many block devices of this kind in advance. Unused ones would only fill
    /// lists.
    pub(super) fn is_often_unused(&self) -> bool {
        ["loop", "ram", "nbd", "fd"].iter().any(|kind| {
            let number = self.name.strip_prefix(kind.as_bytes());
            number.is_some_and(|number| number.iter().all(u8::is_ascii_digit))
        })
    }

    /// Returns the kind of the block device. Reads `/sys/block` the first time, and again when an empty drive has
    /// completed requests.
    pub(super) fn kind(&mut self, sys_block: &Path, pass: &mut Collection) -> Result<DeviceKind, NoValue> {
        match self.kind {
            Some(DeviceKind::Empty(before)) if before != self.completed() => {}
            Some(kind) => return Ok(kind),
            None => {}
        }
        let kind = self.look(sys_block, pass)?;
        self.kind = Some(kind);
        Ok(kind)
    }

    fn look(&mut self, sys_block: &Path, pass: &mut Collection) -> Result<DeviceKind, NoValue> {
        let folder = self.folder(sys_block);
        // Partitions have no directory of their own in `/sys/block`.
        if !is_there(&folder)? {
            // Without `/sys/block` a disk would pass for a partition.
            let is_known = is_there(sys_block)?;
            return if is_known {
                Ok(DeviceKind::Partition)
            } else {
                Err(unavailable("there is no /sys/block"))
            };
        }
        // A file that cannot be read affects nothing else: the device has a row, as if the file did not exist.
        let mut number = |file: &str| {
            let mut file = KeptFile::new(folder.join(file), SeqFileKind::Single).keep(false);
            pass.read(&mut file, "", attribute::number).ok()
        };
        // `diskseq` identifies the device since Linux 5.15.
        self.key.birth = number("diskseq").and_then(NonZeroU64::new).or(self.came);
        // Multipath hides the paths of a disk; counting them would count each request several times.
        let stands_for_hardware = is_there(&folder.join("device"))? && number("hidden") != Some(1);
        Ok(match stands_for_hardware {
            false => DeviceKind::Virtual,
            true if number("size") == Some(0) => DeviceKind::Empty(self.completed()),
            true => DeviceKind::Disk,
        })
    }

    /// Returns the block device's directory in `/sys/block`: sysfs writes `!` where a name has `/`.
    fn folder(&self, sys_block: &Path) -> PathBuf {
        use std::os::unix::ffi::OsStringExt;
        let byte = |byte: &u8| if *byte == b'/' { b'!' } else { *byte };
        sys_block.join(std::ffi::OsString::from_vec(self.name.iter().map(byte).collect()))
    }

    /// Returns `true` if `name` is the device mapper's name of this block device.
    pub(super) fn is_mapped_as(&self, name: &[u8], sys_block: &Path, pass: &mut Collection) -> bool {
        if !self.name.starts_with(b"dm-") {
            return false;
        }
        let mut file = KeptFile::new(self.folder(sys_block).join("dm/name"), SeqFileKind::Single).keep(false);
        let is_same = pass.read(&mut file, "", |text| Ok(text.strip_suffix(b"\n") == Some(name)));
        is_same.unwrap_or(false)
    }
}

fn is_there(path: &Path) -> Result<bool, NoValue> {
    // The entries are links. Whether an entry exists does not depend on where it leads.
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(source) => Err(ReadError::Io { path: path.to_owned(), source }.into()),
    }
}
