//! The devices of `/proc/diskstats`, and what `/sys/block` says of them.

use std::io::ErrorKind;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use perfset_core::{Birth, InstanceId, NoValue};

use super::requests::{Now, Requests};
use crate::countersets::several::Key;
use crate::countersets::value::instance_name;
use crate::countersets::value::unavailable;
use crate::kept_file::{KeptFile, Printed, ReadError};
use crate::pass::{Pass, Table};
use crate::roots::Roots;
use crate::sources::attribute;
use crate::sources::diskstats::{Device, DiskStats, Field};

/// All devices, shared by the countersets: the file is read and taken apart once a collection.
#[derive(Clone, Debug)]
pub(crate) struct Disks(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    stats: Table<DiskStats>,
    sys_block: PathBuf,
    time_100ns: fn(u64) -> u64,
    /// The collection that they are of.
    pass: u64,
    /// In the order of the file.
    disks: Vec<Disk>,
}

/// A device or partition.
#[derive(Debug)]
pub(super) struct Disk {
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) name: Vec<u8>,
    /// What it did when its line could last be read.
    requests: Option<Requests>,
    /// Why its line cannot be read now.
    fault: Option<NoValue>,
    /// Its row, where it has one.
    pub(super) key: Key,
    kind: Option<Kind>,
    /// Time at which the device appeared or began anew, as PerfTime100NSec; `None` if this program did not see that.
    /// Serves as its birth if the kernel does not number its devices.
    pub(super) came: Birth,
}

/// What `/sys/block` says of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A part of a device.
    Partition,
    /// A device without hardware of its own.
    Virtual,
    /// A drive without a medium, when it had completed so many requests.
    Empty(u64),
    /// A device that stands for hardware.
    Disk,
}

impl Disks {
    /// Reads below `roots`. `time_100ns` is PerfTime100NSec at a time of the monotonic clock, in ns.
    pub(crate) fn new(roots: &Roots, time_100ns: fn(u64) -> u64) -> Self {
        let file = roots.proc.join("diskstats");
        let absent = "there is no /proc/diskstats";
        let stats = Table::new(file, Printed::InLines, absent, DiskStats::parse);
        let sys_block = roots.sys.join("block");
        Self(Arc::new(Mutex::new(State { stats, sys_block, time_100ns, pass: 0, disks: Vec::new() })))
    }

    /// Gives the devices as they are in this collection, and `/sys/block`.
    pub(super) fn with<T>(
        &self,
        pass: &mut Pass,
        then: impl FnOnce(&mut [Disk], &Path, &mut Pass) -> Result<T, NoValue>,
    ) -> Result<T, NoValue> {
        // Who panicked while it was locked left lines that are read again all the same.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.read(pass)?;
        let State { disks, sys_block, .. } = &mut *state;
        then(disks, sys_block, pass)
    }
}

impl State {
    fn read(&mut self, pass: &mut Pass) -> Result<(), NoValue> {
        if self.pass == pass.number {
            return Ok(());
        }
        let time_100ns = (self.time_100ns)(pass.elapsed_ns);
        let now = Now { time_100ns, up_100ns: time_100ns.saturating_sub((self.time_100ns)(0)) };
        let devices = &self.stats.get(pass)?.devices;
        for (at, device) in devices.iter().enumerate() {
            // Nearly always it is where it was.
            let known = self.disks.get(at..).unwrap_or_default().iter().position(|disk| disk.is(device));
            match known {
                Some(0) => {}
                Some(further) => self.disks.swap(at, at.saturating_add(further)),
                None => {
                    let came = NonZeroU64::new(time_100ns).filter(|_| self.pass != 0);
                    self.disks.insert(at.min(self.disks.len()), Disk::new(device, came));
                }
            }
            if let Some(disk) = self.disks.get_mut(at) {
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
        self.pass = pass.number;
        Ok(())
    }
}

impl Disk {
    fn new(device: &Device, came: Birth) -> Self {
        let id = InstanceId(device.major.wrapping_shl(20) | device.minor);
        Self {
            major: device.major,
            minor: device.minor,
            name: device.name.clone(),
            requests: None,
            fault: None,
            key: Key { name: instance_name(&device.name), id, birth: None },
            kind: None,
            came,
        }
    }

    fn is(&self, device: &Device) -> bool {
        (self.minor, self.major) == (device.minor, device.major) && self.name == device.name
    }

    fn go_on(&mut self, device: &Device, now: Now) {
        let Ok(numbers) = &device.numbers else { return };
        if let Some(requests) = &mut self.requests {
            if requests.go_on(*numbers, now) {
                return;
            }
            self.came = NonZeroU64::new(now.time_100ns); // another under the same name
        }
        self.requests = Some(Requests::new(*numbers, now));
        self.kind = None;
    }

    /// What it did, or why that is not known.
    pub(super) fn requests(&self) -> Result<Requests, NoValue> {
        self.fault.clone().map_or(Ok(()), Err)?;
        self.requests.ok_or(NoValue::NotGiven)
    }

    fn completed(&self) -> u64 {
        let of = |field| self.requests?.get(field).ok().map(|number| number.raw);
        of(Field::Reads).unwrap_or(0).wrapping_add(of(Field::Writes).unwrap_or(0))
    }

    /// Whether it has ever had a request.
    pub(super) fn is_used(&self) -> bool {
        let is_not_0 = |requests: &Requests, field| requests.get(field).is_ok_and(|number| number.raw > 0);
        match &self.requests {
            Some(requests) => Field::ALL.into_iter().any(|field| is_not_0(requests, field)),
            None => true, // nobody knows
        }
    }

    /// What it is. Looks into `/sys/block` the first time, and again when an empty drive has had something to do.
    pub(super) fn kind(&mut self, sys_block: &Path, pass: &mut Pass) -> Result<Kind, NoValue> {
        match self.kind {
            Some(Kind::Empty(before)) if before != self.completed() => {}
            Some(kind) => return Ok(kind),
            None => {}
        }
        let kind = self.look(sys_block, pass)?;
        self.kind = Some(kind);
        Ok(kind)
    }

    fn look(&mut self, sys_block: &Path, pass: &mut Pass) -> Result<Kind, NoValue> {
        let folder = self.folder(sys_block);
        if !is_there(&folder)? {
            let is_known = is_there(sys_block)?;
            return if is_known { Ok(Kind::Partition) } else { Err(unavailable("there is no /sys/block")) };
        }
        // One that cannot be read costs nothing else: the device has a row, as if the file were not there.
        let mut number = |file: &str| {
            let mut file = KeptFile::new(folder.join(file), Printed::AtOnce).keep(false);
            pass.read(&mut file, "", attribute::number).ok()
        };
        // It tells which device it is since Linux 5.15.
        self.key.birth = number("diskseq").and_then(NonZeroU64::new).or(self.came);
        let stands_for_hardware = is_there(&folder.join("device"))? && number("hidden") != Some(1);
        Ok(match stands_for_hardware {
            false => Kind::Virtual,
            true if number("size") == Some(0) => Kind::Empty(self.completed()),
            true => Kind::Disk,
        })
    }

    /// Its folder: sysfs writes `!` where a name has `/`.
    fn folder(&self, sys_block: &Path) -> PathBuf {
        use std::os::unix::ffi::OsStringExt;
        let byte = |byte: &u8| if *byte == b'/' { b'!' } else { *byte };
        sys_block.join(std::ffi::OsString::from_vec(self.name.iter().map(byte).collect()))
    }

    /// Whether the device mapper calls it so.
    pub(super) fn is_mapped_as(&self, name: &[u8], sys_block: &Path, pass: &mut Pass) -> bool {
        if !self.name.starts_with(b"dm-") {
            return false;
        }
        let mut file = KeptFile::new(self.folder(sys_block).join("dm/name"), Printed::AtOnce).keep(false);
        let is_same = pass.read(&mut file, "", |text| Ok(text.strip_suffix(b"\n") == Some(name)));
        is_same.unwrap_or(false)
    }
}

fn is_there(path: &Path) -> Result<bool, NoValue> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(source) => Err(ReadError::Io { path: path.to_owned(), source }.into()),
    }
}
