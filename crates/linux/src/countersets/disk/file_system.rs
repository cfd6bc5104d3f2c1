//! Provider of the counterset File System.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use perfset_catalogue::file_system as id;
use perfset_core::{CounterId, Counterset, InstanceId, Mark, NoValue, Text};
use perfset_engine::{Deadline, Fact, FactKind};

use super::logical::{ANOTHER_TREE, AskSpace, MAY_BLOCK, mount_list, statistics};
use super::mount_points::{MountPoint, MountPoints};
use super::remote::Remote;
use crate::provider::{
    Collection, CollectionCache, InstanceKey, InstanceSource, MarkedRaw, ParsedFile, instance_name,
    unavailable,
};
use crate::roots::Roots;

/// Instances of the counterset File System, from a list of mounts and the file systems themselves.
#[derive(Debug)]
pub(crate) struct FileSystem {
    mounts: ParsedFile<MountPoints>,
    /// Function that requests the space of a file system; `None` if the mount points are not valid paths for this
    /// process.
    ask: Option<AskSpace>,
    /// Maximum time to wait for a file system's response.
    deadline: Duration,
    /// Time at which waiting for file systems ends, if the collection was announced with `Provider::begin`.
    until: Option<Instant>,
    /// Change count of the mount list, [`MountPoints::changes`], from which `keys` and `mounted` were built.
    changes: u64,
    keys: Vec<InstanceKey>,
    mounted: Vec<Mounted>,
}

/// Mount point with the last statistics of its file system.
#[derive(Debug)]
struct Mounted {
    point: MountPoint,
    remote: Remote<Statistics>,
    /// Time of the request to the file system, if it was sent before the collection, at `Provider::begin`.
    requested: Option<Instant>,
    latest: CollectionCache<(Statistics, Option<Mark>)>,
}

/// Size and free space of a file system in bytes, and the counts of all inodes and of free inodes.
#[derive(Clone, Copy, Debug)]
struct Statistics {
    size: u64,
    free: u64,
    available: u64,
    inodes: u64,
    inodes_free: u64,
}

impl FileSystem {
    /// Creates the provider of File System, which reads below `roots` and requests the space of file systems by
    /// `ask`.
    pub(crate) fn new(roots: &Roots, ask: Option<AskSpace>) -> Self {
        Self {
            mounts: mount_list(roots, MountPoints::parse),
            ask,
            deadline: Deadline::DEFAULT,
            until: None,
            changes: 0,
            keys: Vec::new(),
            mounted: Vec::new(),
        }
    }

    /// Sets a maximum time to wait for file systems other than the default.
    pub(crate) fn within(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Returns the statistics of a file system. If its response is late, they are from the previous response, with a
    /// mark.
    fn statistics(
        &mut self,
        at: usize,
        pass: &mut Collection,
    ) -> Result<(Statistics, Option<Mark>), NoValue> {
        let ask = self.ask.ok_or(unavailable(ANOTHER_TREE))?;
        let (deadline, begun) = (self.deadline, self.until);
        let Mounted { point, remote, requested, latest } =
            self.mounted.get_mut(at).ok_or(NoValue::NotGiven)?;
        let got = latest.get(pass, |_| match requested.take().zip(begun) {
            Some((since, until)) => remote.get(since, until, deadline),
            None => {
                let since = Instant::now();
                point.request(ask, remote)?;
                remote.get(since, since.checked_add(deadline).unwrap_or(since), deadline)
            }
        });
        got.copied()
    }

    /// Returns 1 if a file system fails or is late, and 0 if it responds.
    fn has_error(&mut self, at: usize, pass: &mut Collection) -> Result<u64, NoValue> {
        match self.statistics(at, pass) {
            Ok((_, mark)) => Ok(u64::from(mark.is_some())),
            Err(NoValue::Failed(_) | NoValue::Late) => Ok(1),
            Err(reason) => Err(reason),
        }
    }
}

impl MountPoint {
    fn key(&self) -> InstanceKey {
        let id = InstanceId(self.major.wrapping_shl(20) | self.minor);
        InstanceKey::new(instance_name(&self.path), id)
    }

    /// Requests the space of the file system in another thread, because its device may not respond.
    ///
    /// # Errors
    /// If the kernel may wait for it even while this process ends, as for a program that implements a file system.
    fn request(&self, ask: AskSpace, remote: &Remote<Statistics>) -> Result<(), NoValue> {
        if self.may_block {
            return Err(unavailable(MAY_BLOCK));
        }
        let path = Path::new(OsStr::from_bytes(&self.path)).to_owned();
        remote.request(move || {
            let stat = statistics(&path, ask)?;
            let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
            Ok(Statistics {
                size: bytes(stat.f_blocks),
                free: bytes(stat.f_bfree),
                available: bytes(stat.f_bavail),
                inodes: stat.f_files,
                inodes_free: stat.f_ffree,
            })
        });
        Ok(())
    }
}

impl InstanceSource for FileSystem {
    const HAS_TOTAL: bool = false;
    const WAITS: bool = true;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { mounts, changes, keys, mounted, .. } = self;
        let mounts = mounts.get(pass)?;
        if *changes != mounts.changes {
            *changes = mounts.changes;
            let before = std::mem::take(mounted);
            keys.clear();
            for point in &mounts.all {
                // A file system that has not responded gets no second request because another one was mounted.
                let same = before.iter().find(|known| known.point == *point);
                let remote = same.map(|known| known.remote.clone()).unwrap_or_default();
                let latest = CollectionCache::default();
                mounted.push(Mounted { point: point.clone(), remote, requested: None, latest });
                keys.push(point.key());
            }
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn begin(&mut self, places: &[usize], counters: &[CounterId], until: Instant) {
        let Some(ask) = self.ask.filter(|_| counters.iter().any(|counter| *counter != id::READ_ONLY)) else {
            return;
        };
        self.until = Some(until);
        for at in places {
            let Some(Mounted { point, remote, requested, .. }) = self.mounted.get_mut(*at) else {
                continue;
            };
            let now = Instant::now();
            // A refusal is not kept: the collection requests again and returns its reason.
            *requested = point.request(ask, remote).is_ok().then_some(now);
        }
    }

    fn late(&self) -> Vec<Text> {
        let late = self.mounted.iter().filter_map(|known| {
            let waited = known.remote.late_for(self.deadline)?;
            let point = String::from_utf8_lossy(&known.point.path);
            Some(format!("mount {point}: no response for {} s", waited.as_secs()).into())
        });
        late.collect()
    }

    fn facts(&mut self, at: usize, _: &mut Collection) -> Vec<Fact> {
        let Some(Mounted { point, .. }) = self.mounted.get(at) else { return Vec::new() };
        let fact = |kind, text: &[u8]| Fact::new(kind, Ok(String::from_utf8_lossy(text).into_owned()));
        vec![fact(FactKind::Device, &point.source), fact(FactKind::FileSystemType, &point.fs_type)]
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        match counter {
            id::READ_ONLY => {
                let known = self.mounted.get(at).ok_or(NoValue::NotGiven)?;
                return Ok(u64::from(known.point.is_read_only).into());
            }
            id::DEVICE_ERROR => return self.has_error(at, pass).map(MarkedRaw::from),
            _ => {}
        }
        let (stat, mark) = self.statistics(at, pass)?;
        let raw = match counter {
            id::SIZE_BYTES => stat.size,
            id::FREE_BYTES => stat.free,
            id::AVAILABLE_BYTES => stat.available,
            // btrfs and FAT create inodes as they need them, and report none at all.
            id::INODES | id::INODES_FREE if stat.inodes == 0 => {
                return Err(unavailable("this file system has no fixed number of inodes"));
            }
            id::INODES => stat.inodes,
            id::INODES_FREE => stat.inodes_free,
            _ => return Err(NoValue::NotGiven),
        };
        Ok(MarkedRaw::new(raw, mark))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use perfset_core::{Identity, Name};
    use perfset_engine::{FactOptions, Provider};
    use rustix::fs::{StatVfs, StatVfsMountFlags};
    use rustix::io::Errno;

    use super::*;
    use crate::provider::{MultiInstanceProvider, multi_instance};
    use crate::testing::{CellOutcome, FAULTS, Tree, collect, collect_all, fixture, opened, try_collect};

    use id::*;

    /// Deadline that never passes in a test, because no test depends on how quickly another thread runs.
    const LONG: Duration = Duration::from_secs(3600);

    const MOUNTS: &str = "\
1 0 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
2 1 0:20 / /proc rw - proc proc rw\n\
3 1 8:2 / /srv/two\\040words ro,nosuid - xfs /dev/sdb rw\n\
4 1 0:44 / /pool rw - btrfs /dev/sdc ro,subvol=/\n\
5 1 0:45 / /net rw - nfs4 server:/export rw\n\
6 1 0:46 / /fuse rw - fuse.sshfs me@there: rw\n\
7 1 0:47 / /run rw - tmpfs tmpfs rw\n\
8 7 8:1 /x /run/x rw - ext4 /dev/sda1 rw\n";

    const POINTS: [&str; 7] = ["/", "/srv/two words", "/pool", "/net", "/fuse", "/run", "/run/x"];

    fn stat(f_frsize: u64, f_blocks: u64, f_files: u64) -> StatVfs {
        StatVfs {
            f_bsize: 7,
            f_frsize,
            f_blocks,
            f_bfree: f_blocks - 11,
            f_bavail: f_blocks - 29,
            f_files,
            f_ffree: f_files.saturating_sub(5),
            f_favail: 17,
            f_fsid: 19,
            f_flag: StatVfsMountFlags::empty(),
            f_namemax: 255,
        }
    }

    const ASK: AskSpace = |path| match path.to_str().unwrap() {
        "/" | "/run/x" => Ok(stat(4_096, 1_009, 401)),
        "/srv/two words" => Ok(stat(512, 1_013, 409)),
        "/pool" => Ok(stat(16_384, 1_019, 0)),
        "/net" => Err(Errno::STALE),
        "/run" => Err(Errno::ACCESS),
        other => panic!("{other} was asked"),
    };

    fn tree() -> Tree {
        let tree = Tree::proc_of("small-vm");
        tree.write("proc/1/mountinfo", MOUNTS);
        tree
    }

    fn provider(roots: &Roots) -> MultiInstanceProvider<FileSystem> {
        multi_instance(FileSystem::new(roots, Some(ASK)).within(LONG))
    }

    #[test]
    fn every_counter() {
        let collected = collect_all(&mut provider(&tree().roots()));
        assert_eq!(collected.names(), POINTS);
        let ids: Vec<u32> = collected.rows.iter().map(|row| row.1).collect();
        assert_eq!(ids, [8 << 20 | 1, 8 << 20 | 2, 44, 45, 46, 47, 8 << 20 | 1]);
        for (point, size, blocks, files) in [
            ("/", 4_096, 1_009, 401),
            ("/run/x", 4_096, 1_009, 401),
            ("/srv/two words", 512, 1_013, 409),
            ("/pool", 16_384, 1_019, 0),
        ] {
            let got = |counter| collected.get(point, counter).clone();
            assert_eq!(got(SIZE_BYTES), CellOutcome::Value(size * blocks));
            assert_eq!(got(FREE_BYTES), CellOutcome::Value(size * (blocks - 11)));
            assert_eq!(got(AVAILABLE_BYTES), CellOutcome::Value(size * (blocks - 29)));
            assert_eq!(got(DEVICE_ERROR), CellOutcome::Value(0));
            match files {
                0 => assert_eq!(
                    collected.missing(point)[&INODES_FREE.0],
                    "unavailable: this file system has no fixed number of inodes"
                ),
                _ => {
                    let inodes = [got(INODES), got(INODES_FREE)];
                    assert_eq!(inodes, [CellOutcome::Value(files), CellOutcome::Value(files - 5)]);
                }
            }
        }
        let read_only = POINTS.map(|point| collected.get(point, READ_ONLY) == &CellOutcome::Value(1));
        assert_eq!(read_only, [false, true, true, false, false, false, false]);
    }

    #[test]
    fn file_systems_without_an_answer() {
        let collected = collect_all(&mut provider(&tree().roots()));
        let reason = |point, counter: CounterId| collected.missing(point).remove(&counter.0);
        let failed = reason("/net", SIZE_BYTES).unwrap();
        assert!(failed.starts_with("/net: cannot be asked: "), "{failed}");
        assert_eq!(*collected.get("/net", DEVICE_ERROR), CellOutcome::Value(1));
        for counter in [SIZE_BYTES, DEVICE_ERROR] {
            let denied = reason("/run", counter).unwrap();
            assert!(denied.starts_with("denied: /run: "), "{denied}");
            assert_eq!(reason("/fuse", counter).unwrap(), format!("unavailable: {MAY_BLOCK}"));
        }
        assert_eq!(collected.missing("/fuse").len(), 6);
        let tree = tree();
        let elsewhere = FileSystem::new(&tree.roots(), None);
        let collected = collect_all(&mut multi_instance(elsewhere));
        assert_eq!(collected.missing("/")[&DEVICE_ERROR.0], format!("unavailable: {ANOTHER_TREE}"));
        assert_eq!(*collected.get("/pool", READ_ONLY), CellOutcome::Value(1));
    }

    #[test]
    fn one_that_hangs_has_a_device_error() {
        static GATE: Mutex<()> = Mutex::new(());
        static IS_CLOSED: AtomicBool = AtomicBool::new(true);
        let closed = GATE.lock().unwrap();
        let ask: AskSpace = |path| {
            if IS_CLOSED.load(Ordering::SeqCst) && path == "/net" {
                drop(GATE.lock());
            }
            Ok(stat(4_096, 1_009, 401))
        };
        let tree = tree();
        let short = FileSystem::new(&tree.roots(), Some(ask)).within(Duration::from_millis(20));
        let mut provider = multi_instance(short);
        let mut outcome = || {
            let collected = collect(&mut provider, &[SIZE_BYTES, DEVICE_ERROR], &["/net"]);
            (collected.get("/net", SIZE_BYTES).clone(), collected.get("/net", DEVICE_ERROR).clone())
        };
        assert_eq!(outcome(), (CellOutcome::None(NoValue::Late), CellOutcome::Value(1)));
        IS_CLOSED.store(false, Ordering::SeqCst);
        drop(closed);
        let well = (CellOutcome::Value(4_096 * 1_009), CellOutcome::Value(0));
        while outcome() != well {}
    }

    #[test]
    fn device_and_type_are_facts() {
        let tree = tree();
        let mut provider = provider(&tree.roots());
        let rows = collect(&mut provider, &[], &["*"]).rows;
        let facts = |name: &str, provider: &mut MultiInstanceProvider<FileSystem>| {
            let (_, id, birth) = rows.iter().find(|row| row.0 == name).unwrap();
            let bytes: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let identity = Identity {
                counterset: GUID,
                instance: Name::until_nul(&bytes),
                instance_id: InstanceId(*id),
                birth: *birth,
            };
            let facts = provider.facts(&identity, FactOptions::default()).unwrap();
            facts.into_iter().map(|fact| (fact.kind, fact.text.unwrap())).collect::<Vec<_>>()
        };
        for (name, device, fs_type) in
            [("/", "/dev/sda1", "ext4"), ("/net", "server:/export", "nfs4"), ("/run", "tmpfs", "tmpfs")]
        {
            let want = [(FactKind::Device, device.into()), (FactKind::FileSystemType, fs_type.into())];
            assert_eq!(facts(name, &mut provider), want, "{name}");
        }
    }

    #[test]
    fn only_what_is_needed_is_read_and_asked() {
        let tree = tree();
        let of = |roots: &Roots| multi_instance(FileSystem::new(roots, Some(|_| panic!("asked"))));
        assert_eq!(opened(&tree, of, &[READ_ONLY], &["*"]), ["proc/1/mountinfo"]);
        let mut provider = of(&tree.roots());
        assert_eq!(collect(&mut provider, &[READ_ONLY], &["/pool"]).missing("/pool").len(), 0);
    }

    #[test]
    fn faults_of_the_list() {
        for (fault, cause, _) in FAULTS {
            let tree = tree();
            cause(&tree, "proc/1/mountinfo");
            let got = try_collect(&mut provider(&tree.roots()), &[READ_ONLY], &["*"]);
            match fault {
                "empty" => assert_eq!(got.unwrap().names(), [""; 0]),
                _ => assert!(got.is_err(), "{fault}: {got:?}"),
            }
        }
    }

    #[test]
    fn other_machines() {
        let many = collect(&mut multi_instance(FileSystem::new(&fixture("many-disks"), None)), &[], &["*"]);
        // Those of the kernel, those that are hidden, overlay and squashfs are left out.
        assert_eq!(many.names().len(), 14);
        assert!(many.names().contains(&"/a_b") && !many.names().contains(&"/snap/core/1"));
        let small = collect(&mut multi_instance(FileSystem::new(&fixture("small-vm"), None)), &[], &["*"]);
        assert_eq!(small.names(), ["/"]);
    }

    #[test]
    fn this_machine() {
        let roots = Roots::default();
        let ask: AskSpace = |path| rustix::fs::statvfs(path);
        let mut provider = multi_instance(FileSystem::new(&roots, Some(ask)).within(LONG));
        let collected = collect(&mut provider, &[SIZE_BYTES], &["/"]);
        for name in collected.names() {
            assert!(matches!(collected.get(name, SIZE_BYTES), CellOutcome::Value(_)), "{name}");
        }
    }

    /// Checks that ids and title indexes of the counterset File System never change: programs and logs hold these
    /// numbers.
    #[test]
    fn ids_and_title_indexes() {
        let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| c.v1_index.unwrap()).collect();
        assert_eq!(indexes, (25_112..25_126).step_by(2).collect::<Vec<_>>());
        assert_eq!(COUNTERSET.counters.iter().map(|c| c.id.0).collect::<Vec<_>>(), Vec::from_iter(0..7));
        assert_eq!(COUNTERSET.v1_index, Some(25_110));
    }
}
