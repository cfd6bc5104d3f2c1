//! Provider of the counterset LogicalDisk.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use perfset_catalogue::{logical_disk as id, physical_disk};
use perfset_core::{Birth, CounterId, Counterset, InstanceId, Mark, NoValue, Text};
use perfset_engine::Deadline;
use rustix::fs::StatVfs;
use rustix::io::Errno;

use super::disks::{Disk, Disks};
use super::mounts::{Mounts, Volume};
use super::remote::Remote;
use super::requests::{Requests, mean, never, total_of};
use crate::provider::{
    Collection, CollectionCache, InstanceKey, InstanceSource, KeptFile, MarkedRaw, Parse, ParsedFile,
    SeqFileKind, SharedFile, Total, instance_name, unavailable,
};
use crate::roots::Roots;

/// Instances of the counterset LogicalDisk, from a list of mounts, `/proc/diskstats`, and the file systems
/// themselves.
#[derive(Debug)]
pub(crate) struct LogicalDisk {
    mounts: ParsedFile<Mounts>,
    disks: Disks,
    /// Function that requests the space of a file system; `None` if the mount points are not valid paths for this
    /// process.
    space: Option<AskSpace>,
    /// Maximum time to wait for a file system's response.
    deadline: Duration,
    /// Time at which waiting for file systems ends, if the collection was announced with `Provider::begin`.
    until: Option<Instant>,
    /// Change count of the mount list, [`Mounts::changes`], from which `keys` and `volumes` were built.
    changes: u64,
    keys: Vec<InstanceKey>,
    volumes: Vec<VolumeState>,
}

/// Function that requests the size and the free space of a file system.
pub(crate) type AskSpace = fn(&Path) -> Result<StatVfs, Errno>;

/// Volume, which is a file system on a block device, with its last known state.
#[derive(Debug)]
struct VolumeState {
    volume: Volume,
    /// Major and minor number of the volume's block device, once searched for; the inner value is `None` if there is
    /// no device.
    device: Option<Option<(u32, u32)>>,
    /// Birth of the volume's block device at the last collection.
    birth: Option<Birth>,
    remote: Remote<Space>,
    /// Time of the request to the file system, if it was sent before the collection, at `Provider::begin`.
    requested: Option<Instant>,
    space: CollectionCache<(Space, Option<Mark>)>,
    requests: CollectionCache<Requests>,
}

/// Size and free space of a file system, in bytes.
#[derive(Clone, Copy, Debug)]
struct Space {
    free: u64,
    all: u64,
}

const BYTES_IN_MIB: u64 = 1 << 20;
/// Reason for a missing value of a file system whose space is not requested, because it might never respond.
pub(super) const MAY_BLOCK: &str = "its mount point is in a file system that may never answer";
/// Reason for a missing value of a file system if its mount point is not a valid path for this process.
pub(super) const ANOTHER_TREE: &str = "the mount points are those of another tree";

impl LogicalDisk {
    /// Creates the provider of LogicalDisk, which reads below `roots`. If `roots` belong to another system, the
    /// mounts are those of its process 1. `space` requests the space of a file system at its mount point; `None` if
    /// the mount points are in another tree.
    pub(crate) fn new(roots: &Roots, disks: Disks, space: Option<AskSpace>) -> Self {
        Self {
            mounts: mount_list(roots, Mounts::parse),
            disks,
            space,
            deadline: Deadline::DEFAULT,
            until: None,
            changes: 0,
            keys: Vec::new(),
            volumes: Vec::new(),
        }
    }

    /// Sets a maximum time to wait for file systems other than the default.
    pub(crate) fn within(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Returns a number that `part` selects from the size and the free space of a volume. If its file system is late,
    /// the number is from the previous response, with a mark.
    fn space(
        &mut self,
        at: usize,
        pass: &mut Collection,
        part: impl FnOnce(Space) -> u64,
    ) -> Result<MarkedRaw, NoValue> {
        let ask = self.space.ok_or(unavailable(ANOTHER_TREE))?;
        let (deadline, begun) = (self.deadline, self.until);
        let VolumeState { volume, remote, requested, space, .. } =
            self.volumes.get_mut(at).ok_or(NoValue::NotGiven)?;
        // A request that was sent at the announcement is waited for until the common deadline; otherwise it
        // gets one of its own.
        let got = space.get(pass, |_| match requested.take().zip(begun) {
            Some((since, until)) => remote.get(since, until, deadline),
            None => {
                let since = Instant::now();
                volume.request_space(ask, remote)?;
                remote.get(since, since.checked_add(deadline).unwrap_or(since), deadline)
            }
        });
        got.map(|(space, mark)| MarkedRaw::new(part(*space), *mark))
    }

    fn requests(&mut self, at: usize, pass: &mut Collection) -> Result<&Requests, NoValue> {
        let Self { disks, volumes, keys, .. } = self;
        let VolumeState { volume, device, birth, requests, .. } =
            volumes.get_mut(at).ok_or(NoValue::NotGiven)?;
        let key = keys.get_mut(at).ok_or(NoValue::NotGiven)?;
        requests.get(pass, |pass| {
            disks.with(pass, |disks, sys_block, pass| {
                let device = device.get_or_insert_with(|| volume.device(disks, sys_block, pass));
                let disk = disks.iter().find(|disk| *device == Some((disk.major, disk.minor)));
                let disk = disk.ok_or(unavailable("the kernel does not count what its device does"))?;
                let before = birth.replace(disk.came);
                if before.is_some_and(|before| before != disk.came) {
                    // This collection's row was begun as a row of the other device.
                    key.birth = disk.came;
                    return Err(NoValue::Failed("its device has just been replaced by another".into()));
                }
                disk.requests()
            })
        })
    }
}

impl InstanceSource for LogicalDisk {
    const HAS_TOTAL: bool = true;
    const WAITS: bool = true;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { mounts, changes, keys, volumes, .. } = self;
        let mounts = mounts.get(pass)?;
        if *changes != mounts.changes {
            *changes = mounts.changes;
            let before = std::mem::take(volumes).into_iter().zip(std::mem::take(keys));
            let before: Vec<(VolumeState, InstanceKey)> = before.collect();
            for volume in &mounts.volumes {
                // The device of a volume that is still mounted stays known.
                let same = before.iter().find(|(known, _)| known.volume == *volume);
                let birth = same.and_then(|(known, _)| known.birth);
                let key = volume.key().birth(same.and_then(|(_, key)| key.birth));
                // A file system that has not responded gets no second request because another one was mounted.
                let remote = same.map(|(known, _)| known.remote.clone()).unwrap_or_default();
                volumes.push(VolumeState { birth, remote, ..VolumeState::new(volume) });
                keys.push(key);
            }
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn begin(&mut self, places: &[usize], counters: &[CounterId], until: Instant) {
        // Other counters wait for nothing. Without this, each collection would start requests in vain.
        let Some(ask) = self.space.filter(|_| counters.iter().any(|counter| SPACE.contains(counter))) else {
            return;
        };
        self.until = Some(until);
        for at in places {
            let Some(VolumeState { volume, remote, requested, .. }) = self.volumes.get_mut(*at) else {
                continue;
            };
            let now = Instant::now();
            // A refusal is not kept: the collection requests again and returns its reason.
            *requested = volume.request_space(ask, remote).is_ok().then_some(now);
        }
    }

    fn late(&self) -> Vec<Text> {
        let late = self.volumes.iter().filter_map(|known| {
            let waited = known.remote.late_for(self.deadline)?;
            let point = String::from_utf8_lossy(&known.volume.mount_point);
            Some(format!("mount {point}: no response for {} s", waited.as_secs()).into())
        });
        late.collect()
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        match counter {
            id::PERCENT_FREE_SPACE => self.space(at, pass, |space| space.free),
            id::PERCENT_FREE_SPACE_BASE => self.space(at, pass, |space| space.all),
            id::FREE_MEGABYTES => self.space(at, pass, |space| space.free / BYTES_IN_MIB),
            _ => {
                let counter = of_physical_disk(counter).ok_or(NoValue::NotGiven)?;
                never(counter).map_or(Ok(()), Err)?;
                self.requests(at, pass)?.value(counter)
            }
        }
    }

    /// Returns the method of computing a counter of LogicalDisk in `_Total`: as for PhysicalDisk, except that shares
    /// of time are means.
    fn total_of(&self, counter: CounterId) -> Total {
        if let id::PERCENT_DISK_TIME | id::PERCENT_DISK_READ_TIME | id::PERCENT_DISK_WRITE_TIME = counter {
            return Total::Own;
        }
        let Some(same) = of_physical_disk(counter) else { return Total::Sum(counter) };
        let own = |same: CounterId| CounterId(same.0.saturating_add(FIRST));
        match total_of(same) {
            Total::Sum(a) => Total::Sum(own(a)),
            Total::SumOfTwo(a, b) => Total::SumOfTwo(own(a), own(b)),
            other => other,
        }
    }

    fn total(&mut self, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let count = self.keys.len();
        mean((0..count).map(|at| self.value(at, counter, pass)))
    }
}

/// Returns the parsed list of mounts: that of this process, or that of process 1 if `roots` belong to another system.
pub(super) fn mount_list<T: Default>(roots: &Roots, parse: Parse<T>) -> ParsedFile<T> {
    let (process, absent) = match roots.are_own() {
        true => ("self", "there is no /proc/self/mountinfo"),
        false => ("1", "there is no /proc/1/mountinfo"),
    };
    let file = KeptFile::new(roots.proc.join(process).join("mountinfo"), SeqFileKind::Records);
    ParsedFile::from_file(SharedFile::from_file(file.tells_changes()), absent, parse)
}

/// Requests the size, the free space and the inodes of a file system.
pub(super) fn statistics(path: &Path, ask: AskSpace) -> Result<StatVfs, NoValue> {
    ask(path).map_err(|errno| match errno {
        Errno::ACCESS => {
            let permission = "needs search permission on its parent directories, or CAP_DAC_READ_SEARCH";
            NoValue::Denied(format!("{}: {permission}", path.display()).into())
        }
        errno => NoValue::Failed(format!("{}: cannot be asked: {errno}", path.display()).into()),
    })
}

/// Counters of LogicalDisk whose values are requested from the file system itself.
const SPACE: [CounterId; 3] = [id::PERCENT_FREE_SPACE, id::PERCENT_FREE_SPACE_BASE, id::FREE_MEGABYTES];

/// Number of counters of LogicalDisk that PhysicalDisk lacks: the counters of space, which come first.
const FIRST: u32 = id::CURRENT_DISK_QUEUE_LENGTH.0.saturating_sub(physical_disk::CURRENT_DISK_QUEUE_LENGTH.0);

/// Returns the counter of PhysicalDisk with the same meaning as a counter of LogicalDisk.
fn of_physical_disk(counter: CounterId) -> Option<CounterId> {
    counter.0.checked_sub(FIRST).map(CounterId)
}

impl VolumeState {
    fn new(volume: &Volume) -> Self {
        Self {
            volume: volume.clone(),
            device: None,
            birth: None,
            remote: Remote::default(),
            requested: None,
            space: CollectionCache::default(),
            requests: CollectionCache::default(),
        }
    }
}

impl Volume {
    fn key(&self) -> InstanceKey {
        let id = InstanceId(self.major.wrapping_shl(20) | self.minor);
        InstanceKey::new(instance_name(&self.mount_point), id)
    }

    /// Requests the space of the volume in another thread, because the device of the file system may not respond.
    ///
    /// # Errors
    /// If the path to the file system leads through a program or a network. The kernel may wait for those even while
    /// a process ends, so no deadline would help: a command that sent the request would never end.
    fn request_space(&self, ask: AskSpace, remote: &Remote<Space>) -> Result<(), NoValue> {
        if self.may_block {
            return Err(unavailable(MAY_BLOCK));
        }
        let path = Path::new(OsStr::from_bytes(&self.mount_point)).to_owned();
        remote.request(move || Self::space(&path, ask));
        Ok(())
    }

    fn space(path: &Path, ask: AskSpace) -> Result<Space, NoValue> {
        let stat = statistics(path, ask)?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        // As `df` does: space that is reserved for root is neither free nor part of the size.
        let used = stat.f_blocks.saturating_sub(stat.f_bfree);
        Ok(Space { free: bytes(stat.f_bavail), all: bytes(used.saturating_add(stat.f_bavail)) })
    }

    /// Returns the number of the block device that the volume was mounted from.
    fn device(&self, disks: &[Disk], sys_block: &Path, pass: &mut Collection) -> Option<(u32, u32)> {
        // btrfs has a number of its own, which no block device has. Its device is found by the name in the
        // mount.
        let Some(source) = &self.source else { return Some((self.major, self.minor)) };
        let mapped = source.strip_prefix(b"/dev/mapper/");
        let named = source.strip_prefix(b"/dev/");
        let is_it = |disk: &&Disk| {
            named.is_some_and(|name| name == disk.name)
                || mapped.is_some_and(|name| disk.is_mapped_as(name, sys_block, pass))
        };
        disks.iter().find(is_it).map(|disk| (disk.major, disk.minor))
    }
}
